//! What ridge, PLS and CCA share: a PCA of the pool before anything else, the pairs around their mean
//! in a basis of their own, and the map that comes out.
//!
//! ```text
//! X = U diag(s) V     the pairs' inputs around their mean x̄, projected onto the pool's components
//! ŷ(x) = ȳ + Cᵀ V (x − x̄),   V: (r, d),   C: (r, outputs)
//! ```
//!
//! Every linear method that is blind to rotations has its answer in the r ≤ pairs − 1 directions
//! along which the pairs differ; the methods choose C. Pairs are few and columns many, so a map is
//! kept as V and C, never as a (d, outputs) matrix. PCA costs O(n d · min(n, d)), the decomposition
//! of m pairs O(m d · min(m, d)), a prediction O(r (d + outputs)) a row.

use crate::subspace::{Components, Subspace, centred, times};
use bridged::{Matrix, MatrixRef};
use bridged::{MethodError, Predictor, ProblemSize};
use bridged_math::linalg::{Accum, View, par_product, product, symmetric_eigen};

/// The bytes that a linear method takes for its pairs: both sides centred, decomposed and mapped.
pub(crate) fn linear_memory(size: ProblemSize) -> f64 {
    let pairs = size.pairs as f64;
    let side = |cols: usize| {
        let small = pairs.min(cols as f64);
        8.0 * (4.0 * pairs * cols as f64 + 6.0 * small * small)
    };
    side(size.x.1) + side(size.y.1) + 8.0 * (size.x.1 + size.y.1) as f64 * pairs
}

/// One side of the pairs, ready for a linear method.
pub(crate) struct Reduced {
    /// The mean of the pairs' rows, (d).
    mean: Vec<f64>,
    /// V in the columns of the data, (rank, d).
    directions: Vec<f64>,
    /// The mean squared distance of the pool's rows from their mean, inside the subspace: the unit
    /// of penalties. 1 for a pool of equal rows.
    pub spread: f64,
    /// The pairs inside the subspace.
    pub thin: Thin,
    /// Their coordinates around their mean, (pairs, components of the pool).
    rows: Vec<f64>,
    /// Variances up to this are the rounding of the mean.
    rounding: f64,
}

/// Some of the pairs without others, in coordinates of the same subspace.
pub(crate) struct Fold {
    /// The pairs that are kept.
    pub thin: Thin,
    /// The others along the directions of those that are kept, (others, rank).
    pub others: Vec<f64>,
}

impl Reduced {
    /// The rows of the pairs, projected onto the components of their pool.
    pub fn of(pool: MatrixRef<'_>, pairs: MatrixRef<'_>, components: Components) -> Self {
        let subspace = Subspace::of(pool, components);
        let mean = pairs.mean_row();
        let rows = subspace.project(centred(pairs, &mean));
        // Single precision cannot express a variation this small: it is the rounding of the mean.
        let rounding = 1e-26 * mean.iter().map(|m| m * m).sum::<f64>();
        let thin = Thin::of(&rows, (pairs.rows(), subspace.len()), rounding);
        let directions = subspace.lift(&thin.right);
        let spread = if subspace.spread > rounding { subspace.spread } else { 1.0 };
        Self { mean, directions, spread, thin, rows, rounding }
    }

    /// The pairs `kept`, decomposed on their own, and the `others` in their directions.
    pub fn fold(&self, kept: &[usize], others: &[usize]) -> Fold {
        let width = self.rows.len() / (kept.len() + others.len());
        let row = |i: usize| &self.rows[i * width..(i + 1) * width];
        let mut mean = vec![0.0; width];
        for &i in kept {
            mean.iter_mut().zip(row(i)).for_each(|(m, v)| *m += v / kept.len() as f64);
        }
        let around = |rows: &[usize]| -> Vec<f64> {
            rows.iter().flat_map(|&i| row(i).iter().zip(&mean).map(|(v, m)| v - m)).collect()
        };
        let thin = Thin::of(&around(kept), (kept.len(), width), self.rounding);
        let directions = View::new(&thin.right, thin.rank, width);
        let mut coordinates = vec![0.0; others.len() * thin.rank];
        let away = around(others);
        product(
            View::new(&away, others.len(), width),
            directions.t(),
            Accum::Replace,
            &mut coordinates,
        );
        Fold { thin, others: coordinates }
    }

    /// Uᵀ Y for the paired outputs around their mean, (rank, outputs): all that a linear map can
    /// know of them.
    pub fn targets(&self, y: MatrixRef<'_>, intercept: &[f64]) -> Vec<f64> {
        self.thin.targets(&centred(y, intercept), y.cols())
    }

    /// The map with these coefficients C, (rank, outputs).
    pub fn map(
        self,
        method: &'static str,
        coefficients: Vec<f64>,
        intercept: Vec<f64>,
    ) -> LinearMap {
        LinearMap { method, mean: self.mean, directions: self.directions, coefficients, intercept }
    }
}

/// The thin decomposition of centred rows, X = U diag(s) V; only directions along which they vary.
pub(crate) struct Thin {
    /// How many directions there are: at most n − 1, and at most d.
    pub rank: usize,
    /// U, (n, rank), with orthonormal columns.
    pub left: Vec<f64>,
    /// s, descending and positive.
    pub singular: Vec<f64>,
    /// V, (rank, d), with orthonormal rows.
    pub right: Vec<f64>,
}

/// A direction that holds less than this share of the largest variance is rounding.
const RANK_TOL: f64 = 1e-12;

impl Thin {
    /// From the smaller of the two Gram matrices: O(n d · min(n, d)). Variances up to `rounding`
    /// count as none.
    pub fn of(x: &[f64], (n, d): (usize, usize), rounding: f64) -> Self {
        let view = View::new(x, n, d);
        let small = n.min(d);
        let mut gram = vec![0.0; small * small];
        let (a, b) = if n <= d { (view, view.t()) } else { (view.t(), view) };
        product(a, b, Accum::Replace, &mut gram);
        let eigen = symmetric_eigen(&gram, small);
        let largest = eigen.values.last().copied().unwrap_or(0.0);
        let least = (largest * RANK_TOL * small as f64).max(rounding * n as f64);
        let kept = eigen.values.iter().rev().take_while(|&&v| v > least);
        let singular: Vec<f64> = kept.map(|v| v.sqrt()).collect();
        let rank = singular.len();
        let vectors = eigen.vectors.chunks_exact(small.max(1)).rev().take(rank);
        let vectors: Vec<f64> = vectors.flatten().copied().collect(); // (rank, small)
        let basis = View::new(&vectors, rank, small);
        let (mut left, mut right) = (vec![0.0; n * rank], vec![0.0; rank * d]);
        if n <= d {
            (0..n * rank).for_each(|at| left[at] = vectors[(at % rank) * n + at / rank]);
            product(basis, view, Accum::Replace, &mut right);
            for (row, s) in right.chunks_exact_mut(d).zip(&singular) {
                row.iter_mut().for_each(|v| *v /= s);
            }
        } else {
            product(view, basis.t(), Accum::Replace, &mut left);
            for row in left.chunks_exact_mut(rank.max(1)) {
                row.iter_mut().zip(&singular).for_each(|(v, s)| *v /= s);
            }
            right = vectors;
        }
        Self { rank, left, singular, right }
    }

    /// Uᵀ Y for centred outputs Y (n, columns), (rank, columns).
    pub fn targets(&self, outputs: &[f64], columns: usize) -> Vec<f64> {
        let n = outputs.len() / columns;
        let left = View::new(&self.left, n, self.rank);
        let mut out = vec![0.0; self.rank * columns];
        product(left.t(), View::new(outputs, n, columns), Accum::Replace, &mut out);
        out
    }

    /// Uᵀ U' diag(s') of two sides of the same pairs, (rank, rank of the other): the other side's
    /// rows in the basis of this one.
    pub fn scaled_overlap(&self, other: &Thin) -> Vec<f64> {
        let n = self.left.len() / self.rank.max(1);
        let mut out = vec![0.0; self.rank * other.rank];
        let (a, b) = (View::new(&self.left, n, self.rank), View::new(&other.left, n, other.rank));
        if !out.is_empty() {
            product(a.t(), b, Accum::Replace, &mut out);
        }
        for row in out.chunks_exact_mut(other.rank.max(1)) {
            row.iter_mut().zip(&other.singular).for_each(|(v, s)| *v *= s);
        }
        out
    }
}

/// The first left singular vectors of a matrix (r, q) by falling singular value, one a row; those of
/// singular value 0 are left out. From the smaller Gram matrix: O(r q · min(r, q)).
pub(crate) fn left_singular(matrix: &[f64], r: usize, q: usize, count: usize) -> Vec<f64> {
    let small = r.min(q);
    if small == 0 {
        return Vec::new();
    }
    let matrix = View::new(matrix, r, q);
    let mut gram = vec![0.0; small * small];
    let (a, b) = if r <= q { (matrix, matrix.t()) } else { (matrix.t(), matrix) };
    product(a, b, Accum::Replace, &mut gram);
    let eigen = symmetric_eigen(&gram, small);
    let least = (eigen.values[small - 1] * RANK_TOL * small as f64).max(f64::MIN_POSITIVE);
    let kept = eigen.values.iter().rev().take(count).take_while(|&&v| v > least).count();
    let vectors = eigen.vectors.chunks_exact(small).rev().take(kept);
    let vectors: Vec<f64> = vectors.flatten().copied().collect();
    if r <= q {
        return vectors;
    }
    let mut left = vec![0.0; kept * r];
    product(View::new(&vectors, kept, q), matrix.t(), Accum::Replace, &mut left);
    for row in left.chunks_exact_mut(r) {
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v /= length);
    }
    left
}

/// ŷ(x) = ȳ + Cᵀ V (x − x̄).
pub(crate) struct LinearMap {
    method: &'static str,
    mean: Vec<f64>,
    directions: Vec<f64>,
    coefficients: Vec<f64>,
    intercept: Vec<f64>,
}

impl Predictor for LinearMap {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        let (n, d, outputs) = (rows.rows(), self.mean.len(), self.intercept.len());
        MethodError::check_rows(self.method, rows, d)?;
        let rank = self.coefficients.len() / outputs;
        let directions = View::new(&self.directions, rank, d);
        let scores = times(&centred(rows, &self.mean), n, directions.t(), rank);
        let mut values = self.intercept.repeat(n);
        let coefficients = View::new(&self.coefficients, rank, outputs);
        par_product(View::new(&scores, n, rank), coefficients, Accum::Add, &mut values);
        let values = values.into_iter().map(|v| v as f32).collect();
        Ok(Matrix::new(n, outputs, values).expect("one value a row and output"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Seed;
    use rand::RngExt;

    fn random(rows: usize, cols: usize, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        Matrix::from_fn(rows, cols, |_, j| rng.random::<f32>() / (j + 1) as f32)
    }

    #[test]
    fn a_thin_decomposition_gives_the_rows_back_and_knows_their_rank() {
        for (n, d) in [(5, 9), (30, 4), (1, 3), (6, 1)] {
            let x = random(n, d, 1);
            let x = centred(x.view(), &x.view().mean_row());
            let thin = Thin::of(&x, (n, d), 0.0);
            assert_eq!(thin.rank, (n - 1).min(d), "{n} {d}");
            for i in 0..n {
                for c in 0..d {
                    let entry: f64 = (0..thin.rank)
                        .map(|j| {
                            thin.left[i * thin.rank + j] * thin.singular[j] * thin.right[j * d + c]
                        })
                        .sum();
                    assert!((entry - x[i * d + c]).abs() < 1e-9);
                }
            }
        }
        assert_eq!(Thin::of(&[0.0; 6], (2, 3), 0.0).rank, 0);
    }
}

/// What the tests of the linear methods share.
#[cfg(test)]
pub(crate) mod testing {
    use crate::subspace::spread;
    use bridged::Matrix;
    use serde_json::Value;

    /// One case of a golden file.
    pub struct Case {
        pub x: Matrix,
        pub y: Matrix,
        pub rows: Matrix,
        pub number: f64,
        pub predicted: Matrix,
    }

    /// The cases of a method in `tests/golden/baselines_linear.json`.
    pub fn golden(method: &str, number: &str) -> Vec<Case> {
        let golden = include_str!("../../../tests/golden/baselines_linear.json");
        let golden: Value = serde_json::from_str(golden).unwrap();
        let matrix = |case: &Value, name: &str| {
            Matrix::from_rows(&serde_json::from_value::<Vec<Vec<f32>>>(case[name].clone()).unwrap())
        };
        let case = |case: &Value| Case {
            x: matrix(case, "x"),
            y: matrix(case, "y"),
            rows: matrix(case, "rows"),
            number: case[number].as_f64().unwrap(),
            predicted: matrix(case, "predicted"),
        };
        golden[method].as_array().unwrap().iter().map(case).collect()
    }

    /// Row i of one pool with row i of the other.
    pub fn all_pairs(x: &Matrix) -> Vec<(u32, u32)> {
        (0..x.rows() as u32).map(|i| (i, i)).collect()
    }

    /// The unit of penalties.
    pub fn spread_of(x: &Matrix) -> f64 {
        spread(x.view())
    }

    /// Equal up to `tol`, relative to 1 and to the value.
    pub fn assert_close(found: &Matrix, expected: &Matrix, tol: f32) {
        assert_eq!((found.rows(), found.cols()), (expected.rows(), expected.cols()));
        for (a, b) in found.data().iter().zip(expected.data()) {
            assert!((a - b).abs() <= tol * (1.0 + b.abs()), "{a} {b}");
        }
    }
}
