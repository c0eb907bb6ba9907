//! Dense linear algebra in `f64` (products also in `f32`), and the few largest eigenpairs of a large symmetric operator.
//!
//! Matrices here are plain row-major buffers; everything runs on the calling thread unless it says
//! otherwise, so that callers decide what is parallel and results never depend on it.
//!
//! | function | computes | cost |
//! |---|---|---|
//! | [`product`], [`par_product`] | A·B of strided views | m n k |
//! | [`Panels`](crate::simd::Panels) | A·B for many A and a thin B that is packed once | m n k |
//! | [`scatter`] | Σ w (x − c)(x − c)ᵀ, in parallel | n d² |
//! | [`cholesky`], [`invert_lower`], [`solve_cholesky`] | A = L Lᵀ, L⁻¹, A⁻¹ B | n³/3, n³/6, n² m |
//! | [`symmetric_eigen`] | every eigenpair of a dense matrix | about 9 n³ |
//! | [`largest_eigenpairs`] | a few of a large operator, by block Krylov spaces | see there |
//! | [`pca`] | principal components | n d · min(n, d) |
//! | [`polar`] | the nearest map that keeps lengths and angles | r q · min(r, q) |
//!
//! Decompositions are those of faer with `Par::Seq`; products are those of gemm.

mod krylov;
mod pca;
mod polar;

pub use krylov::{Krylov, KrylovEigen, krylov_memory, largest_eigenpairs};
pub use pca::{Pca, pca, pca_memory};
pub use polar::polar;

use crate::cancel::{carry, checkpoint, interruptible};
use crate::chunks;
use crate::matrix::MatrixRef;
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{MatMut, MatRef, Par};
use gemm::Parallelism;
use rayon::prelude::*;
use std::fmt;
use std::ops::Range;

/// What a product can be made of: `f32` or `f64`.
pub trait Scalar: Copy + Send + Sync + 'static {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
}

impl Scalar for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
}

impl Scalar for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
}

/// A borrowed matrix with any strides.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T = f64> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> From<MatrixRef<'a>> for View<'a, f32> {
    fn from(m: MatrixRef<'a>) -> Self {
        Self::new(m.data(), m.rows(), m.cols())
    }
}

impl<'a, T> View<'a, T> {
    /// A row-major buffer.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Self {
        Self::with_stride(data, rows, cols, cols)
    }

    /// The first `cols` numbers of rows that begin `stride` numbers apart.
    ///
    /// # Panics
    /// If the buffer is too short.
    pub fn with_stride(data: &'a [T], rows: usize, cols: usize, stride: usize) -> Self {
        assert!(
            rows == 0 || cols == 0 || (rows - 1) * stride + cols <= data.len(),
            "a view of {rows} rows of {cols}, {stride} apart, needs more than {} numbers",
            data.len()
        );
        Self { data, rows, cols, row_stride: stride, col_stride: 1 }
    }

    /// The transpose, without a copy.
    pub fn t(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// Some of its rows, without a copy.
    pub fn rows(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.rows, "rows of the view");
        let start = (range.start * self.row_stride).min(self.data.len());
        Self { data: &self.data[start..], rows: range.len(), ..self }
    }
}

/// What a product does with what is already in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accum {
    /// Overwrites it.
    Replace,
    /// Adds to it.
    Add,
}

/// `out = a · b` or `out += a · b`, row-major, on the calling thread.
///
/// # Panics
/// If the shapes do not fit.
pub fn product<T: Scalar>(a: View<'_, T>, b: View<'_, T>, accum: Accum, out: &mut [T]) {
    assert_eq!(a.cols, b.rows, "the inner sizes of a product agree");
    assert_eq!(out.len(), a.rows * b.cols, "the product is (rows of a) × (columns of b)");
    if out.is_empty() {
        return;
    }
    let add = accum == Accum::Add;
    // SAFETY: both views checked on construction that their strides stay inside their buffers;
    // `out` is a row-major buffer of the right length and is borrowed exclusively.
    unsafe {
        gemm::gemm(
            a.rows,
            b.cols,
            a.cols,
            out.as_mut_ptr(),
            1,
            b.cols as isize,
            add,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            if add { T::ONE } else { T::ZERO },
            T::ONE,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// Rows of the output that one task of [`par_product`] fills.
const BAND: usize = 128;

/// Like [`product`], over bands of the output's rows in parallel: the same bits on any number of
/// threads.
///
/// # Panics
/// If the shapes do not fit.
pub fn par_product<T: Scalar>(a: View<'_, T>, b: View<'_, T>, accum: Accum, out: &mut [T]) {
    assert_eq!(out.len(), a.rows * b.cols, "the product is (rows of a) × (columns of b)");
    if out.is_empty() {
        return;
    }
    let band = |(band, part): (usize, &mut [T])| {
        let start = band * BAND;
        product(a.rows(start..start + part.len() / b.cols), b, accum, part);
    };
    out.par_chunks_mut(BAND * b.cols).enumerate().for_each(carry(band));
}

/// Columns of the scatter matrix that one task fills.
const STRIP: usize = 128;
/// Rows that a task centres at a time.
const TILE: usize = 256;

/// Σ_i w_i (x_i − c)(x_i − c)ᵀ, (d, d), in parallel; without weights, every w is 1.
pub fn scatter(x: MatrixRef<'_>, centre: &[f64], weights: Option<&[f64]>) -> Vec<f64> {
    let (n, d) = (x.rows(), x.cols());
    // Tasks are strips of columns times groups of rows. Both follow from the shape alone, and the
    // groups are few enough for their partial sums to stay below 64 MB.
    let groups = (8_000_000 / (d * d).max(1)).clamp(1, 16).min(n.div_ceil(2 * TILE).max(1));
    let group_len = n.div_ceil(groups);
    let strips = d.div_ceil(STRIP);
    let parts: Vec<Vec<f64>> = chunks::par_map(strips * groups, |task| {
        let (strip, group) = (task / groups, task % groups);
        let columns = strip * STRIP..((strip + 1) * STRIP).min(d);
        let rows = (group * group_len).min(n)..((group + 1) * group_len).min(n);
        let mut sum = vec![0.0; columns.len() * d];
        let mut centred = Vec::with_capacity(TILE * d);
        let mut weighted = Vec::with_capacity(TILE * columns.len());
        for start in rows.clone().step_by(TILE) {
            checkpoint();
            let tile = start..(start + TILE).min(rows.end);
            centred.clear();
            weighted.clear();
            for i in tile.clone() {
                let at = centred.len();
                centred.extend(x.row(i).iter().zip(centre).map(|(&v, c)| f64::from(v) - c));
                let w = weights.map_or(1.0, |w| w[i]);
                weighted.extend(centred[at..][columns.clone()].iter().map(|v| w * v));
            }
            let left = View::new(&weighted, tile.len(), columns.len()).t();
            product(left, View::new(&centred, tile.len(), d), Accum::Add, &mut sum);
        }
        sum
    });
    let mut total = Vec::with_capacity(d * d);
    for strip in parts.chunks(groups.max(1)) {
        let at = total.len();
        total.extend_from_slice(&strip[0]);
        for part in &strip[1..] {
            total[at..].iter_mut().zip(part).for_each(|(t, p)| *t += p);
        }
    }
    total
}

/// The matrix is not positive definite: it has no Cholesky factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPositiveDefinite;

impl fmt::Display for NotPositiveDefinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the matrix is not positive definite; add a little to its diagonal")
    }
}

impl std::error::Error for NotPositiveDefinite {}

/// The lower triangular L with A = L Lᵀ of a symmetric positive definite `a` (n, n). Nothing is
/// added to the diagonal: a matrix that is not positive definite is reported.
pub fn cholesky(a: &[f64], n: usize) -> Result<Vec<f64>, NotPositiveDefinite> {
    assert_eq!(a.len(), n * n, "the matrix is n × n");
    let factor = a.to_vec();
    if is_long(cubed(n) / 3.0) {
        return interruptible(move || factor_in_place(factor, n));
    }
    factor_in_place(factor, n)
}

fn factor_in_place(mut factor: Vec<f64>, n: usize) -> Result<Vec<f64>, NotPositiveDefinite> {
    // A symmetric matrix reads the same by columns, which faer prefers.
    let view = MatMut::from_column_major_slice_mut(&mut factor, n, n);
    let request = cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default());
    let mut buffer = MemBuffer::new(request);
    let stack = MemStack::new(&mut buffer);
    cholesky_in_place(view, Default::default(), Par::Seq, stack, Default::default())
        .map_err(|_| NotPositiveDefinite)?;
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            l[i * n + j] = factor[j * n + i];
        }
    }
    // NaN in, NaN out: a comparison with it never fails inside the factorisation.
    let definite = (0..n).all(|i| l[i * n + i] > 0.0) && l.iter().all(|v| v.is_finite());
    if definite { Ok(l) } else { Err(NotPositiveDefinite) }
}

/// L⁻¹ of a lower triangular `l` (n, n) with a diagonal free of zeros.
pub fn invert_lower(l: &[f64], n: usize) -> Vec<f64> {
    assert_eq!(l.len(), n * n, "the matrix is n × n");
    let invert = move |l: &[f64]| {
        let mut inverse = vec![0.0; n * n];
        invert_lower_triangular(
            MatMut::from_row_major_slice_mut(&mut inverse, n, n),
            MatRef::from_row_major_slice(l, n, n),
            Par::Seq,
        );
        inverse
    };
    if is_long(cubed(n) / 6.0) {
        let l = l.to_vec();
        return interruptible(move || invert(&l));
    }
    invert(l)
}

/// Solves L Lᵀ X = B in place, for the factor of [`cholesky`] and B (n, columns).
pub fn solve_cholesky(l: &[f64], n: usize, b: &mut [f64], columns: usize) {
    assert_eq!((l.len(), b.len()), (n * n, n * columns), "L is n × n and B is n × columns");
    let solve = move |l: &[f64], b: &mut [f64]| {
        let l = MatRef::from_row_major_slice(l, n, n);
        let mut b = MatMut::from_row_major_slice_mut(b, n, columns);
        solve_lower_triangular_in_place(l, b.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(l.transpose(), b.as_mut(), Par::Seq);
    };
    if is_long(2.0 * (n * n) as f64 * columns as f64) {
        let (l, mut owned) = (l.to_vec(), b.to_vec());
        let solved = interruptible(move || {
            solve(&l, &mut owned);
            owned
        });
        return b.copy_from_slice(&solved);
    }
    solve(l, b);
}

/// Multiplications from which on a decomposition takes so long that somebody may want to stop it:
/// some tenths of a second.
const LONG: f64 = 1e9;

fn is_long(multiplications: f64) -> bool {
    multiplications >= LONG
}

fn cubed(n: usize) -> f64 {
    (n as f64).powi(3)
}

/// Eigenpairs of a symmetric matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// The eigenvalues.
    pub values: Vec<f64>,
    /// The unit eigenvectors, one a row; the entry of largest magnitude is positive.
    pub vectors: Vec<f64>,
}

/// Every eigenpair of a symmetric `a` (n, n), of which the lower triangle is read; ascending.
///
/// # Panics
/// If an entry is not finite.
pub fn symmetric_eigen(a: &[f64], n: usize) -> Eigen {
    assert_eq!(a.len(), n * n, "the matrix is n × n");
    if is_long(9.0 * cubed(n)) {
        let a = a.to_vec();
        return interruptible(move || eigen_of(&a, n));
    }
    eigen_of(a, n)
}

fn eigen_of(a: &[f64], n: usize) -> Eigen {
    let (mut values, mut vectors) = (vec![0.0; n], vec![0.0; n * n]);
    let request =
        self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let mut buffer = MemBuffer::new(request);
    self_adjoint_evd(
        MatRef::from_row_major_slice(a, n, n),
        DiagMut::from_slice_mut(&mut values),
        // Column j of a column-major matrix is row j of ours: one eigenvector a row.
        Some(MatMut::from_column_major_slice_mut(&mut vectors, n, n)),
        Par::Seq,
        MemStack::new(&mut buffer),
        Default::default(),
    )
    .expect("the iteration converges on every finite symmetric matrix");
    vectors.chunks_exact_mut(n.max(1)).for_each(fix_sign);
    Eigen { values, vectors }
}

/// Turns a vector such that its entry of largest magnitude is positive. Of entries that are as
/// large up to rounding the first decides, so that rounding does not choose the sign.
pub(crate) fn fix_sign(v: &mut [f64]) {
    let largest = v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let decides = v.iter().find(|x| x.abs() >= largest * (1.0 - 1e-6));
    if decides.is_some_and(|&x| x < 0.0) {
        v.iter_mut().for_each(|x| *x = -*x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::seed::Seed;
    use proptest::prelude::*;
    use rand::RngExt;

    fn random(len: usize, seed: u64) -> Vec<f64> {
        let mut rng = Seed(seed).rng();
        (0..len).map(|_| rng.random::<f64>() - 0.5).collect()
    }

    fn plain(a: &[f64], b: &[f64], (m, k, n): (usize, usize, usize)) -> Vec<f64> {
        let entry = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
        (0..m * n).map(|at| entry(at / n, at % n)).collect()
    }

    fn close(a: &[f64], b: &[f64], tol: f64) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tol)
    }

    proptest! {
        #[test]
        fn products_agree_with_plain_loops(m in 1usize..40, k in 1usize..40, n in 1usize..40) {
            let (a, b) = (random(m * k, 1), random(k * n, 2));
            let mut out = vec![f64::NAN; m * n];
            product(View::new(&a, m, k), View::new(&b, k, n), Accum::Replace, &mut out);
            let expected = plain(&a, &b, (m, k, n));
            prop_assert!(close(&out, &expected, 1e-13));
            product(View::new(&b, k, n).t(), View::new(&a, m, k).t(), Accum::Replace, &mut out);
            let transposed: Vec<f64> =
                (0..n * m).map(|at| expected[(at % m) * n + at / m]).collect();
            prop_assert!(close(&out, &transposed, 1e-13));
        }

        #[test]
        fn a_cholesky_factor_gives_the_matrix_its_inverse_and_its_solutions(n in 1usize..40) {
            let b = random(n * n, 3);
            let mut a = plain(&b, &transpose(&b, n), (n, n, n));
            (0..n).for_each(|i| a[i * n + i] += 0.1);
            let l = cholesky(&a, n).unwrap();
            prop_assert!(close(&plain(&l, &transpose(&l, n), (n, n, n)), &a, 1e-12));
            let mut identity = vec![0.0; n * n];
            (0..n).for_each(|i| identity[i * n + i] = 1.0);
            prop_assert!(close(&plain(&invert_lower(&l, n), &l, (n, n, n)), &identity, 1e-10));
            let mut x = identity.clone();
            solve_cholesky(&l, n, &mut x, n);
            prop_assert!(close(&plain(&a, &x, (n, n, n)), &identity, 1e-10));
        }

        #[test]
        fn eigenpairs_satisfy_their_equation(n in 1usize..60) {
            let b = random(n * n, 4);
            let a: Vec<f64> = b.iter().zip(transpose(&b, n)).map(|(x, y)| x + y).collect();
            let eigen = symmetric_eigen(&a, n);
            prop_assert!(eigen.values.is_sorted());
            for (value, vector) in eigen.values.iter().zip(eigen.vectors.chunks(n)) {
                let scaled: Vec<f64> = vector.iter().map(|v| v * value).collect();
                prop_assert!(close(&plain(&a, vector, (n, n, 1)), &scaled, 1e-11));
                prop_assert!((vector.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-11);
            }
        }

        #[test]
        fn a_scatter_matrix_agrees_with_plain_loops(n in 1usize..1200, d in 1usize..9) {
            let mut rng = Seed(5).rng();
            let x = Matrix::from_fn(n, d, |_, _| 5.0 + rng.random::<f32>());
            let (centre, weights) = (x.view().mean_row(), random(n, 6));
            let s = scatter(x.view(), &centre, Some(&weights));
            for a in 0..d {
                for b in 0..d {
                    let c = |i: usize, j: usize| f64::from(x.row(i)[j]) - centre[j];
                    let exact: f64 = (0..n).map(|i| weights[i] * c(i, a) * c(i, b)).sum();
                    prop_assert!((s[a * d + b] - exact).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn a_product_in_bands_is_the_product_in_either_precision() {
        let (m, k, n) = (300, 40, 7);
        let (a, b) = (random(m * k, 8), random(k * n, 9));
        let expected = plain(&a, &b, (m, k, n));
        let mut out = vec![0.0; m * n];
        par_product(View::new(&a, m, k), View::new(&b, k, n), Accum::Replace, &mut out);
        assert!(close(&out, &expected, 1e-13));
        let narrow = |v: &[f64]| v.iter().map(|&x| x as f32).collect::<Vec<_>>();
        // As a transposed factor: row i of the view is column i of the buffer.
        let a32 = narrow(&(0..k * m).map(|at| a[(at % m) * k + at / m]).collect::<Vec<_>>());
        let b32 = narrow(&b);
        let mut out = vec![1.0f32; m * n];
        par_product(View::new(&a32, k, m).t(), View::new(&b32, k, n), Accum::Add, &mut out);
        assert!(out.iter().zip(&expected).all(|(x, y)| (f64::from(*x) - y - 1.0).abs() < 1e-5));
    }

    fn transpose(a: &[f64], n: usize) -> Vec<f64> {
        (0..n * n).map(|at| a[(at % n) * n + at / n]).collect()
    }

    #[test]
    fn a_scatter_matrix_wider_than_a_strip_is_symmetric() {
        let mut rng = Seed(7).rng();
        let x = Matrix::from_fn(600, 300, |_, _| rng.random::<f32>());
        let s = scatter(x.view(), &x.view().mean_row(), None);
        assert!(close(&s, &transpose(&s, 300), 1e-10));
        let trace: f64 = (0..300).map(|i| s[i * 300 + i]).sum();
        assert!((trace / (600.0 * 300.0) - 1.0 / 12.0).abs() < 1e-3, "{trace}");
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_reported() {
        assert_eq!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2), Err(NotPositiveDefinite));
        assert_eq!(cholesky(&[0.0], 1), Err(NotPositiveDefinite));
        assert_eq!(cholesky(&[f64::NAN], 1), Err(NotPositiveDefinite));
        assert_eq!(cholesky(&[4.0], 1), Ok(vec![2.0]));
    }

    #[test]
    fn the_largest_entry_of_an_eigenvector_is_positive() {
        let mut v = [0.1, -0.9, 0.3];
        fix_sign(&mut v);
        assert_eq!(v, [-0.1, 0.9, -0.3]);
    }
}
