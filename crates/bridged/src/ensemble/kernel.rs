//! Kernels between rows of a side, and ridge regression on the pairs with them.
//!
//! ```text
//! clusters   K(x, x') = mean over all cuts of cos(p(·|x), p(·|x'))
//! wide       K(x, x') = exp(−‖x − x'‖² / 2 r²)             r the root mean square radius of the pool
//! close      the same, fitted closely: λ = 0.03
//! local      K(x, x') = exp(−‖x − x'‖² / 2 · 0.3 r²)
//! a = (K + λ I)⁻¹ Y,   λ = 0.3
//! ```
//!
//! `clusters` knows the shape of the pool: rows are alike if they fall into the same clusters at every level.
//! `clusters` and `wide` learn smoothed outputs, Y_s = mean over all cuts of Σ_j p(j|y_s) (m_j − ȳ): what is
//! common to the outputs around y_s. `close` and `local` learn the outputs themselves: `close` leads where tables have
//! few columns that depend on each other smoothly, `local` where pairs are many.

use super::partition::Cut;
use bridged_math::distance::squared_distance;
use bridged_math::linalg::{
    Accum, View, cholesky, invert_lower, par_product, product, solve_cholesky,
};
use bridged_math::simd::{exp, vectorize_wide};
use bridged_math::{MatrixRef, chunks};
use serde::{Deserialize, Serialize};

/// λ, in pairs at the same place.
const RIDGE: f64 = 0.3;
/// λ of a regression that follows the pairs closely.
const CLOSE: f64 = 0.03;
/// It takes so many pairs: of fewer, those that are left out cannot tell whether it is any good.
const CLOSE_FROM: usize = 10;

/// How alike two rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kernel {
    Clusters,
    Wide,
    Local,
    Close,
}

impl Kernel {
    /// Those that learn from this many pairs.
    pub fn of(pairs: usize) -> Vec<Self> {
        let mut all = vec![Self::Clusters, Self::Wide, Self::Local];
        if pairs >= CLOSE_FROM {
            all.push(Self::Close);
        }
        all
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Clusters => "rows in the same clusters",
            Self::Wide => "wide neighbourhood",
            Self::Local => "near neighbourhood",
            Self::Close => "wide neighbourhood, fitted closely",
        }
    }

    /// Whether it learns outputs that were smoothed over the output pool.
    pub fn smooths(self) -> bool {
        matches!(self, Self::Clusters | Self::Wide)
    }

    /// λ.
    pub fn ridge(self) -> f64 {
        if self == Self::Close { CLOSE } else { RIDGE }
    }

    /// ‖x − x'‖² / 2 of this many squared radii.
    fn width(self) -> f64 {
        match self {
            Self::Local => 0.3,
            _ => 1.0,
        }
    }
}

/// Rows as kernels see them.
pub(super) struct Seen<'a> {
    rows: MatrixRef<'a>,
    /// Memberships in every cut, each of length 1, one after the other; (rows, width).
    members: Vec<f64>,
    width: usize,
    cuts: f64,
    /// r².
    radius: f64,
}

impl<'a> Seen<'a> {
    /// Scaled rows with their memberships in each cut, of a pool with the squared radius `radius`.
    pub fn new(
        rows: MatrixRef<'a>,
        cuts: &[Cut<'_>],
        memberships: &[Vec<f64>],
        radius: f64,
    ) -> Self {
        let width: usize = cuts.iter().map(|c| c.k()).sum();
        let mut members = Vec::with_capacity(rows.rows() * width);
        for s in 0..rows.rows() {
            for (cut, all) in cuts.iter().zip(memberships) {
                let row = &all[s * cut.k()..(s + 1) * cut.k()];
                let length = row.iter().map(|p| p * p).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
                members.extend(row.iter().map(|p| p / length));
            }
        }
        Self { rows, members, width, cuts: cuts.len() as f64, radius }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.rows()
    }

    /// Memberships in every cut, each of length 1, one after the other: (rows, width).
    pub fn members(&self) -> (&[f64], usize) {
        (&self.members, self.width)
    }

    /// Σ_s members of s ⊗ a_s ÷ cuts for coefficients a (rows, columns): what [`Kernel::Clusters`] of any row with these
    /// comes to with its memberships alone, (width, columns).
    pub fn through(&self, coefficients: &[f64]) -> Vec<f64> {
        let (n, columns) = (self.len(), coefficients.len() / self.len().max(1));
        let mut out = vec![0.0; self.width * columns];
        let members = View::new(&self.members, n, self.width);
        product(members.t(), View::new(coefficients, n, columns), Accum::Replace, &mut out);
        out.iter_mut().for_each(|v| *v /= self.cuts);
        out
    }

    /// How far every row of these is from every row of those.
    pub fn apart(&self, other: &Seen<'_>) -> Apart {
        let m = other.len();
        let blocks = chunks::map_blocks(self.len(), |range| {
            let row = |a: usize| {
                (0..m).map(move |b| squared_distance(self.rows.row(a), other.rows.row(b)))
            };
            range.flat_map(row).collect::<Vec<f64>>()
        });
        Apart { squared: blocks.concat(), radius: self.radius }
    }

    /// The same among each other.
    pub fn apart_from_each_other(&self) -> Apart {
        let n = self.len();
        let blocks = chunks::map_blocks(n, |range| {
            let row = |a: usize| {
                (0..a).map(move |b| squared_distance(self.rows.row(a), self.rows.row(b)))
            };
            range.flat_map(row).collect::<Vec<f64>>()
        });
        let mut squared = vec![0.0; n * n];
        let mut below = blocks.concat().into_iter();
        for a in 0..n {
            for b in 0..a {
                let value = below.next().expect("a distance for each two rows");
                squared[a * n + b] = value;
                squared[b * n + a] = value;
            }
        }
        Apart { squared, radius: self.radius }
    }

    /// K of every row of these with every row of those, which are so far apart.
    pub fn kernels(&self, kernel: Kernel, other: &Seen<'_>, apart: &Apart) -> Vec<f64> {
        if kernel != Kernel::Clusters {
            return apart.gaussians(kernel.width());
        }
        let (n, m) = (self.len(), other.len());
        let mut out = vec![0.0; n * m];
        let those = View::new(&other.members, m, self.width);
        par_product(View::new(&self.members, n, self.width), those.t(), Accum::Replace, &mut out);
        out.iter_mut().for_each(|k| *k /= self.cuts);
        out
    }
}

/// How far rows are apart, which all Gaussian kernels share.
pub(super) struct Apart {
    squared: Vec<f64>,
    /// r².
    radius: f64,
}

impl Apart {
    /// Of squared distances (rows, others) in a pool with the squared radius `radius`.
    pub fn new(squared: Vec<f64>, radius: f64) -> Self {
        Self { squared, radius }
    }

    /// exp(−‖x − x'‖² / 2 · `width` r²).
    pub fn gaussians(&self, width: f64) -> Vec<f64> {
        if self.radius <= 0.0 {
            return vec![1.0; self.squared.len()];
        }
        let factor = -1.0 / (2.0 * width * self.radius);
        let mut out = self.squared.clone();
        vectorize_wide(
            #[inline(always)]
            || out.iter_mut().for_each(|s| *s = exp(factor * *s)),
        );
        out
    }
}

/// (K + λ I)⁻¹ of the pairs, factored.
pub(super) struct Ridge {
    factor: Vec<f64>,
    n: usize,
}

impl Ridge {
    /// Of K (n, n) and λ.
    pub fn new(mut gram: Vec<f64>, n: usize, ridge: f64) -> Self {
        (0..n).for_each(|i| gram[i * n + i] += ridge);
        let factor = cholesky(&gram, n).expect("a kernel plus a positive ridge");
        Self { factor, n }
    }

    /// (K + λ I)⁻¹ B for B (n, columns).
    pub fn solve(&self, mut b: Vec<f64>) -> Vec<f64> {
        let columns = b.len() / self.n.max(1);
        solve_cholesky(&self.factor, self.n, &mut b, columns);
        b
    }

    /// By how much each fold of the pairs is missed by a regression on the others, given the coefficients `a` (n,
    /// columns) of all: (B_ff)⁻¹ a_f, where B = (K + λ I)⁻¹. Rows of pairs in no fold are zero.
    pub fn left_out(&self, a: &[f64], folds: &[Vec<usize>]) -> Vec<f64> {
        let (n, columns) = (self.n, a.len() / self.n.max(1));
        let inverse = invert_lower(&self.factor, n); // B = inverseᵀ inverse
        let missed = chunks::par_map(folds.len(), |f| {
            let (fold, m) = (&folds[f], folds[f].len());
            // The columns of the fold, (n, m).
            let part: Vec<f64> = (0..n)
                .flat_map(|i| fold.iter().map(move |&s| (i, s)))
                .map(|(i, s)| inverse[i * n + s])
                .collect();
            let mut block = vec![0.0; m * m];
            product(View::new(&part, n, m).t(), View::new(&part, n, m), Accum::Replace, &mut block);
            let mut missed: Vec<f64> =
                fold.iter().flat_map(|s| &a[s * columns..(s + 1) * columns]).copied().collect();
            let factor = cholesky(&block, m).expect("a part of a positive definite matrix");
            solve_cholesky(&factor, m, &mut missed, columns);
            missed
        });
        let mut out = vec![0.0; a.len()];
        for (fold, missed) in folds.iter().zip(&missed) {
            for (s, row) in fold.iter().zip(missed.chunks_exact(columns)) {
                out[s * columns..(s + 1) * columns].copy_from_slice(row);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::Matrix;

    #[test]
    fn what_a_fold_is_told_is_what_a_regression_without_it_says() {
        let x = Matrix::from_fn(7, 2, |i, c| ((i * 5 + c * 3) % 7) as f32);
        let seen = Seen::new(x.view(), &[], &[], 4.0);
        let gram = seen.kernels(Kernel::Wide, &seen, &seen.apart_from_each_other());
        let y = [1.0, -2.0, 0.5, 3.0, 1.5, -1.0, 2.0];
        let ridge = Ridge::new(gram.clone(), 7, RIDGE);
        let missed = ridge.left_out(&ridge.solve(y.to_vec()), &[vec![1, 4]]);
        let rest = [0, 2, 3, 5, 6];
        let cells = rest.iter().flat_map(|a| rest.iter().map(move |b| a * 7 + b));
        let part = cells.map(|at| gram[at]).collect();
        let solved = Ridge::new(part, 5, RIDGE).solve(rest.iter().map(|&s| y[s]).collect());
        for s in [1, 4] {
            let told: f64 = rest.iter().zip(&solved).map(|(t, a)| gram[s * 7 + t] * a).sum();
            assert!((y[s] - told - missed[s]).abs() < 1e-12);
        }
        assert_eq!(missed[0], 0.0);
    }

    #[test]
    fn few_pairs_are_not_followed_closely() {
        assert_eq!(Kernel::of(9), [Kernel::Clusters, Kernel::Wide, Kernel::Local]);
        assert_eq!(Kernel::of(10).last(), Some(&Kernel::Close));
    }

    #[test]
    fn rows_are_as_far_from_each_other_as_from_the_same_rows() {
        let x = Matrix::from_fn(5, 3, |i, c| ((i * 7 + c * 2) % 5) as f32);
        let seen = Seen::new(x.view(), &[], &[], 2.0);
        let (own, those) = (seen.apart_from_each_other(), seen.apart(&seen));
        assert_eq!(own.squared, those.squared);
        let near = own.gaussians(0.3);
        for (k, squared) in near.iter().zip(&own.squared) {
            assert!((k - (-squared / 1.2f64).exp()).abs() < 1e-12);
        }
        let flat = Seen::new(x.view(), &[], &[], 0.0).apart(&seen).gaussians(0.3);
        assert!(flat.iter().all(|k| *k == 1.0), "a pool without a radius is one place");
    }
}
