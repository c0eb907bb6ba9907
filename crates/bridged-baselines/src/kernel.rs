//! Radial kernels: k(a, b) = exp(−γ ‖a − b‖²), and how wide they should be.
//!
//! ```text
//! γ = 1/(2σ²);   median heuristic: σ² = half the median of ‖a − b‖² over pairs of different rows
//! scale (scikit-learn): γ = 1/(d · variance of all entries)
//! ```
//!
//! A width that is fixed once for all data is the classic mistake: between standard scores in
//! 1,280 dimensions squared distances are about 2,560, and with σ = 1 every kernel value is 0.

use bridged::settings::Number;
use bridged::{MatrixRef, Seed};
use bridged_math::cancel::carry;
use bridged_math::linalg::{Accum, View, par_product};
use rand::seq::index::sample;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How wide a radial kernel is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// The median heuristic.
    #[default]
    Median,
    /// scikit-learn's `gamma="scale"`.
    Scale,
    /// σ in exp(−‖a − b‖²/2σ²).
    Sigma(f64),
    /// γ in exp(−γ ‖a − b‖²).
    Gamma(f64),
}

impl Number for Width {
    fn number(&self) -> Option<f64> {
        match self {
            Width::Median | Width::Scale => None,
            Width::Sigma(v) | Width::Gamma(v) => Some(*v),
        }
    }
}

impl Width {
    /// γ for these rows. Rows that are all equal give 1.
    pub fn gamma(self, x: MatrixRef<'_>) -> f64 {
        let gamma = match self {
            Width::Median => 1.0 / median_squared_distance(x),
            Width::Scale => {
                let values = x.data().iter().map(|&v| f64::from(v));
                let mean = values.clone().sum::<f64>() / x.data().len() as f64;
                let square = values.map(|v| (v - mean).powi(2)).sum::<f64>();
                x.rows() as f64 / square
            }
            Width::Sigma(sigma) => 0.5 / (sigma * sigma),
            Width::Gamma(gamma) => gamma,
        };
        if gamma.is_finite() { gamma } else { 1.0 }
    }

    /// γ for these rows where a given σ is in units of the median heuristic: 1 is that heuristic.
    ///
    /// So a σ means the same in any unit and dimension: at the median distance the kernel is e⁻¹ for
    /// 1 and e⁻⁴ for ½.
    pub fn relative_gamma(self, x: MatrixRef<'_>) -> f64 {
        match self {
            Width::Sigma(sigma) => (Width::Median.gamma(x) / (sigma * sigma)).min(f64::MAX),
            other => other.gamma(x),
        }
    }
}

/// Rows that the median is taken over; more do not move it.
const SAMPLE: usize = 1000;

/// The median of ‖a − b‖² over pairs of different rows, of a sample of them where there are many.
fn median_squared_distance(x: MatrixRef<'_>) -> f64 {
    let picked;
    let x = if x.rows() > SAMPLE {
        picked = x.select(sample(&mut Seed(0).child("median").rng(), x.rows(), SAMPLE));
        picked.view()
    } else {
        x
    };
    let n = x.rows();
    let all = squared_distances(x, x);
    let mut different: Vec<f64> =
        (0..n).flat_map(|i| all[i * n..i * n + i].iter().copied()).collect();
    if different.is_empty() {
        return 0.0;
    }
    let middle = different.len() / 2;
    *different.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// ‖a_i − b_j‖² in `f64`, row-major (rows of a, rows of b), in parallel.
///
/// By one matrix product around a common mean; never negative, and 0 between equal rows up to
/// 1e-12 of their size.
pub fn squared_distances(a: MatrixRef<'_>, b: MatrixRef<'_>) -> Vec<f64> {
    let mean = b.mean_row();
    let centred = |m: MatrixRef<'_>| -> Vec<f64> {
        m.iter_rows().flat_map(|r| r.iter().zip(&mean).map(|(&v, c)| f64::from(v) - c)).collect()
    };
    let (d, m) = (a.cols(), b.rows());
    let (left, right) = (centred(a), centred(b));
    let norms = |rows: &[f64]| -> Vec<f64> {
        rows.chunks_exact(d).map(|r| r.iter().map(|v| v * v).sum()).collect()
    };
    let (left_norms, right_norms) = (norms(&left), norms(&right));
    let mut out = vec![0.0; a.rows() * m];
    par_product(
        View::new(&left, a.rows(), d),
        View::new(&right, m, d).t(),
        Accum::Replace,
        &mut out,
    );
    let finish = |(row, l): (&mut [f64], &f64)| {
        for (v, r) in row.iter_mut().zip(&right_norms) {
            *v = (l + r - 2.0 * *v).max(0.0);
        }
    };
    out.par_chunks_mut(m).zip(&left_norms).for_each(carry(finish));
    out
}

/// exp(−γ ‖a_i − b_j‖²), row-major (rows of a, rows of b), in parallel.
pub fn rbf(a: MatrixRef<'_>, b: MatrixRef<'_>, gamma: f64) -> Vec<f64> {
    let mut out = squared_distances(a, b);
    let raise = |row: &mut [f64]| row.iter_mut().for_each(|v| *v = (-gamma * *v).exp());
    out.par_chunks_mut(b.rows().max(1)).for_each(carry(raise));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Matrix;
    use bridged_math::distance::squared_distance;
    use rand::RngExt;

    fn random(rows: usize, cols: usize, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        Matrix::from_fn(rows, cols, |_, _| 100.0 + rng.random::<f32>())
    }

    #[test]
    fn distances_agree_with_plain_loops_far_from_the_origin() {
        let (a, b) = (random(150, 7, 1), random(33, 7, 2));
        let found = squared_distances(a.view(), b.view());
        for i in 0..150 {
            for j in 0..33 {
                let exact = squared_distance(a.row(i), b.row(j));
                assert!((found[i * 33 + j] - exact).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn the_median_heuristic_gives_kernel_values_of_one_over_e_at_the_median() {
        let x = random(1300, 50, 3);
        let gamma = Width::Median.gamma(x.view());
        let mut values = rbf(x.view(), x.view(), gamma);
        values.sort_by(f64::total_cmp);
        let median = values[values.len() / 2];
        assert!((median - (-1.0f64).exp()).abs() < 0.01, "{median}");
        assert_eq!(Width::Sigma(2.0).gamma(x.view()), 0.125);
        assert_eq!(Width::Sigma(1.0).relative_gamma(x.view()), gamma);
        assert_eq!(Width::Sigma(0.5).relative_gamma(x.view()), 4.0 * gamma);
    }

    #[test]
    fn equal_rows_have_a_finite_width() {
        let x = Matrix::zeros(4, 3);
        for width in [Width::Median, Width::Scale] {
            assert_eq!(width.gamma(x.view()), 1.0);
        }
        assert_eq!(Width::Sigma(2.0).relative_gamma(x.view()), 0.25);
        assert!(Width::Sigma(1e-300).relative_gamma(x.view()).is_finite());
        assert_eq!(Width::Median.gamma(Matrix::zeros(1, 3).view()), 1.0);
    }
}
