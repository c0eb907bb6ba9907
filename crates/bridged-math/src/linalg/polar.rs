//! The polar factor of a matrix: the nearest map that keeps lengths and angles.
//!
//! ```text
//! A = U diag(σ) Vᵀ,   polar(A) = U Vᵀ = argmax_W Tr(Wᵀ A)   over W with orthonormal rows or columns
//! ```
//!
//! From the eigenvectors of the smaller Gram matrix: O(r q · min(r, q)). Directions of which A says
//! nothing (σ below 1e-5 of the largest) are mapped to 0 rather than anywhere.

use super::{Accum, View, product, symmetric_eigen};

/// σ² below this share of the largest is rounding.
const RANK_TOL: f64 = 1e-10;

/// The polar factor of `a` (r, q), row-major.
pub fn polar(a: &[f64], r: usize, q: usize) -> Vec<f64> {
    let small = r.min(q);
    let view = View::new(a, r, q);
    // Always as wide as it is high, or wider.
    let wide = if r <= q { view } else { view.t() };
    let large = r.max(q);
    let mut gram = vec![0.0; small * small];
    product(wide, wide.t(), Accum::Replace, &mut gram);
    let eigen = symmetric_eigen(&gram, small);
    let least = (eigen.values.last().copied().unwrap_or(0.0) * RANK_TOL).max(f64::MIN_POSITIVE);
    let kept = eigen.values.iter().rev().take_while(|&&v| v > least).count();
    let left = &eigen.vectors[(small - kept) * small..]; // (kept, small)
    let left = View::new(left, kept, small);
    let mut right = vec![0.0; kept * large];
    product(left, wide, Accum::Replace, &mut right);
    for row in right.chunks_exact_mut(large) {
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v /= length);
    }
    let right = View::new(&right, kept, large);
    let mut out = vec![0.0; r * q];
    let (a, b) = if r <= q { (left.t(), right) } else { (right.t(), left) };
    product(a, b, Accum::Replace, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use rand::RngExt;

    fn random(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = Seed(seed).rng();
        (0..n).map(|_| rng.random::<f64>() - 0.5).collect()
    }

    fn times_transposed(a: &[f64], r: usize, q: usize) -> Vec<f64> {
        let mut out = vec![0.0; r * r];
        let view = View::new(a, r, q);
        product(view, view.t(), Accum::Replace, &mut out);
        out
    }

    #[test]
    fn its_shorter_side_is_orthonormal() {
        for (r, q) in [(4, 4), (3, 7), (7, 3), (1, 5)] {
            let w = polar(&random(r * q, 5), r, q);
            let small = r.min(q);
            let transposed: Vec<f64> = (0..r * q).map(|at| w[at % r * q + at / r]).collect();
            let square = if r <= q {
                times_transposed(&w, r, q)
            } else {
                times_transposed(&transposed, q, r)
            };
            for (at, v) in square.iter().enumerate() {
                let expected = if at / small == at % small { 1.0 } else { 0.0 };
                assert!((v - expected).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn what_the_matrix_says_nothing_about_goes_to_zero() {
        assert!(polar(&[0.0; 6], 2, 3).iter().all(|&v| v == 0.0));
        // Rank one: 3 · (0.6, 0.8)ᵀ (1, 0).
        let w = polar(&[1.8, 0.0, 2.4, 0.0], 2, 2);
        for (f, e) in w.iter().zip([0.6, 0.0, 0.8, 0.0]) {
            assert!((f - e).abs() < 1e-12);
        }
    }
}
