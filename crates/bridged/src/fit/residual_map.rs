//! What the bridge leaves unexplained, learned from the pairs: one linear map for all clusters.
//!
//! ```text
//! g(x) = Σ_s ⟨(x − m)/r, (x_s − m)/r⟩ a_s,   a = (K + λ I)⁻¹ E,   K_st = ⟨(x_s − m)/r, (x_t − m)/r⟩
//! ```
//!
//! m and r are the mean and the root mean square radius of the input pool, and E holds the errors of
//! the bridge on pairs that were left out of it, so that g never learns what the bridge knew already.
//! K_ss is about 1: λ = 4 says that the prior g = 0 weighs four pairs at the same place. The error of
//! g on a pair that it did not see is a_s / (K + λ I)⁻¹_ss without another fit. From these the share α
//! of g that is used is found by least squares, again against a prior α = 0 that weighs λ pairs; so it
//! fades out where it does not help. O(m² (m + d + d')), m at most 500 pairs.

use bridged_math::distance::dot;
use bridged_math::linalg::{cholesky, invert_lower, solve_cholesky};
use bridged_math::{Matrix, MatrixRef};

/// The map g.
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualMap {
    /// m.
    pub origin: Vec<f32>,
    /// r; 0 for a pool whose rows are all equal.
    pub radius: f64,
    /// (x_s − m) / r, one row per pair.
    pub basis: Matrix,
    /// a_s, one row per pair.
    pub coefficients: Matrix,
}

/// A map with what it says of each of its own pairs when fitted to the others, (pairs, d').
pub(crate) struct Learned {
    pub map: ResidualMap,
    pub left_out: Vec<f64>,
}

impl ResidualMap {
    /// Fits the map to inputs (m, d) and errors (m, d'); `None` without any.
    pub(crate) fn fit(
        origin: Vec<f32>,
        radius: f64,
        inputs: MatrixRef<'_>,
        errors: &[f64],
        ridge: f64,
    ) -> Option<Learned> {
        let m = inputs.rows();
        if m == 0 {
            return None;
        }
        let width = errors.len() / m;
        let basis: Vec<Vec<f32>> =
            inputs.iter_rows().map(|x| deviation(&origin, radius, x)).collect();
        let mut gram = vec![0.0; m * m];
        for s in 0..m {
            for t in 0..=s {
                let value = dot(&basis[s], &basis[t]);
                gram[s * m + t] = value;
                gram[t * m + s] = value;
            }
            gram[s * m + s] += ridge;
        }
        let factor = cholesky(&gram, m).expect("a Gram matrix plus a positive ridge");
        let inverse = invert_lower(&factor, m);
        let mut solved = errors.to_vec();
        solve_cholesky(&factor, m, &mut solved, width);
        let mut left_out = errors.to_vec();
        for s in 0..m {
            let own: f64 = (s..m).map(|t| inverse[t * m + s].powi(2)).sum(); // (K + λ I)⁻¹_ss
            for c in s * width..(s + 1) * width {
                left_out[c] -= solved[c] / own;
            }
        }
        let coefficients = Matrix::from_fn(m, width, |s, c| solved[s * width + c] as f32);
        Some(Learned {
            map: Self { origin, radius, basis: Matrix::from_rows(&basis), coefficients },
            left_out,
        })
    }

    /// g(x).
    pub fn offset(&self, x: &[f32]) -> Vec<f64> {
        let x = deviation(&self.origin, self.radius, x);
        let mut offset = vec![0.0; self.coefficients.cols()];
        for s in 0..self.basis.rows() {
            let weight = dot(&x, self.basis.row(s));
            for (o, &a) in offset.iter_mut().zip(self.coefficients.row(s)) {
                *o += weight * f64::from(a);
            }
        }
        offset
    }
}

fn deviation(origin: &[f32], radius: f64, x: &[f32]) -> Vec<f32> {
    let scale = if radius > f64::from(f32::MIN_POSITIVE) { 1.0 / radius } else { 0.0 };
    let away = |(a, m): (&f32, &f32)| to_f32((f64::from(*a) - f64::from(*m)) * scale);
    x.iter().zip(origin).map(away).collect()
}

/// As `f32`, at most its largest number: what is finite stays finite.
pub(crate) fn to_f32(value: f64) -> f32 {
    value.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(m: usize) -> Matrix {
        Matrix::from_fn(m, 3, |i, j| ((i * 7 + j * 5) % 11) as f32 - 5.0)
    }

    #[test]
    fn what_a_pair_is_told_when_left_out_is_what_a_fit_without_it_says() {
        let x = inputs(6);
        let errors: Vec<f64> = (0..12).map(|c| ((c * 5) % 7) as f64 - 3.0).collect();
        let fit = |rows: &[usize]| {
            let picked = x.view().select(rows.iter().copied());
            let errors: Vec<f64> =
                rows.iter().flat_map(|r| &errors[r * 2..r * 2 + 2]).copied().collect();
            ResidualMap::fit(vec![0.0; 3], 5.0, picked.view(), &errors, 4.0).unwrap()
        };
        let all = fit(&[0, 1, 2, 3, 4, 5]);
        let rest = fit(&[0, 1, 3, 4, 5]).map.offset(x.row(2));
        for c in 0..2 {
            assert!((all.left_out[2 * 2 + c] - rest[c]).abs() < 1e-5);
        }
    }

    #[test]
    fn four_pairs_at_one_place_are_believed_by_half() {
        let x = Matrix::from_fn(4, 2, |_, j| if j == 0 { 3.0 } else { 0.0 });
        let map = ResidualMap::fit(vec![0.0; 2], 3.0, x.view(), &[8.0; 4], 4.0).unwrap().map;
        assert!((map.offset(&[3.0, 0.0])[0] - 4.0).abs() < 1e-5);
        assert!(map.offset(&[0.0, 3.0])[0].abs() < 1e-9);
    }

    #[test]
    fn a_pool_of_equal_rows_has_nothing_to_learn_from() {
        let x = Matrix::from_fn(2, 2, |_, _| 1.0);
        let map = ResidualMap::fit(vec![1.0; 2], 0.0, x.view(), &[1.0, 2.0], 4.0).unwrap().map;
        assert_eq!(map.offset(&[1.0, 1.0]), [0.0]);
        assert!(ResidualMap::fit(vec![], 1.0, x.view().slice(0..0), &[], 4.0).is_none());
    }
}
