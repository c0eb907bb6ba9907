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

use crate::cluster::soft::BAND;
use bridged_math::distance::dot;
use bridged_math::linalg::{Accum, View, cholesky, invert_lower, product, solve_cholesky};
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

/// A map that was made ready for many rows. g is linear, so the pairs need not be looked at again if they are many:
/// `x B ᵀA` is `x (Bᵀ A)`.
pub(crate) struct ResidualBands<'a> {
    map: &'a ResidualMap,
    /// Bᵀ (d, pairs) and A (pairs, d'), or Bᵀ A (d, d') alone.
    factors: Vec<(Vec<f64>, usize)>,
}

impl<'a> ResidualBands<'a> {
    pub fn new(map: &'a ResidualMap) -> Self {
        let wide = |m: &Matrix| m.data().iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let (basis, coefficients) = (wide(&map.basis), wide(&map.coefficients));
        let (pairs, d, columns) = (map.basis.rows(), map.basis.cols(), map.coefficients.cols());
        let factors = if d * columns <= pairs * (d + columns) {
            let mut dense = vec![0.0; d * columns];
            let (basis, coefficients) =
                (View::new(&basis, pairs, d).t(), View::new(&coefficients, pairs, columns));
            product(basis, coefficients, Accum::Replace, &mut dense);
            vec![(dense, columns)]
        } else {
            let turned = (0..d).flat_map(|c| (0..pairs).map(move |s| (s, c)));
            let turned = turned.map(|(s, c)| basis[s * d + c]).collect();
            vec![(turned, pairs), (coefficients, columns)]
        };
        Self { map, factors }
    }

    /// g of at most [`BAND`] rows, (BAND, d'). A band is filled up with zeros, so what is said of a row depends on the row
    /// alone.
    pub fn offsets(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let ResidualMap { origin, radius, .. } = self.map;
        let mut band: Vec<f64> = (rows.iter_rows())
            .flat_map(|row| deviation(origin, *radius, row).into_iter().map(f64::from))
            .collect();
        band.resize(BAND * rows.cols(), 0.0);
        for (factor, columns) in &self.factors {
            let depth = band.len() / BAND;
            let mut next = vec![0.0; BAND * columns];
            let rows = View::new(&band, BAND, depth);
            product(rows, View::new(factor, depth, *columns), Accum::Replace, &mut next);
            band = next;
        }
        band
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
    fn many_rows_are_told_what_each_is_told() {
        for (m, width) in [(6, 2), (6, 40), (200, 2)] {
            let x = inputs(m);
            let errors: Vec<f64> = (0..m * width).map(|c| ((c * 5) % 7) as f64 - 3.0).collect();
            let map = ResidualMap::fit(vec![0.5; 3], 2.0, x.view(), &errors, 1.0).unwrap().map;
            let bands = ResidualBands::new(&map);
            let rows = inputs(BAND);
            let all = bands.offsets(rows.view());
            for (row, told) in rows.view().iter_rows().zip(all.chunks_exact(width)) {
                for (a, b) in told.iter().zip(map.offset(row)) {
                    assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{m} {width}: {a} {b}");
                }
            }
            assert_eq!(
                bands.offsets(rows.view().slice(5..9))[..4 * width],
                all[5 * width..9 * width]
            );
        }
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
