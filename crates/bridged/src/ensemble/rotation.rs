//! One rotation of the directions of x onto those of y.
//!
//! ```text
//! W = polar(M/‖M‖ ‖C‖ + C)      C = mean over pairs of u_s v_sᵀ,   M = Σ_cuts Σ_ij σ_i P(j|i) a_i b_jᵀ
//! score(x, y) = ⟨u W, v⟩        u, v: rows around the mean of their pool, of length 1
//! ```
//!
//! a_i and b_j are the mean directions of the clusters, P(j|i) the links that the pairs and geometry gave them:
//! clusters say roughly what belongs together, and the rotation carries it to the single row. After Rosetta (Schnaus et
//! al. 2026, *arXiv 2610.09411*), whose further rounds of matching rows one-to-one did not help here.

use bridged_math::linalg::{Accum, View, polar, product};

/// What one side brings to a rotation.
pub(super) struct Side<'a> {
    /// The mean direction of each cluster of each cut, (k, r).
    pub centres: &'a [Vec<f64>],
    /// The directions of the pairs, (pairs, r).
    pub pairs: &'a [f64],
    /// r.
    pub cols: usize,
}

/// The links of a cut: its number, the shares σ of its input clusters, and P(j|i).
pub(super) struct Linked<'a> {
    pub cut: usize,
    pub shares: &'a [f64],
    pub links: &'a [f64],
}

/// W, (r, r'), from links and those of the pairs that are `used`.
pub(super) fn rotation(
    x: &Side<'_>,
    y: &Side<'_>,
    linked: &[Linked<'_>],
    used: &[usize],
) -> Vec<f64> {
    let (r, q) = (x.cols, y.cols);
    let mut clusters = vec![0.0; r * q];
    for Linked { cut, shares, links } in linked {
        let (a, b) = (&x.centres[*cut], &y.centres[*cut]);
        let (kx, ky) = (shares.len(), links.len() / shares.len().max(1));
        let mut partners = vec![0.0; kx * q];
        product(View::new(links, kx, ky), View::new(b, ky, q), Accum::Replace, &mut partners);
        for (row, share) in partners.chunks_exact_mut(q.max(1)).zip(*shares) {
            row.iter_mut().for_each(|v| *v *= share);
        }
        product(View::new(a, kx, r).t(), View::new(&partners, kx, q), Accum::Add, &mut clusters);
    }
    let rows = |all: &[f64], cols: usize| -> Vec<f64> {
        used.iter().flat_map(|s| &all[s * cols..(s + 1) * cols]).copied().collect()
    };
    let (u, v) = (rows(x.pairs, r), rows(y.pairs, q));
    let mut both = vec![0.0; r * q];
    let n = used.len();
    product(View::new(&u, n, r).t(), View::new(&v, n, q), Accum::Replace, &mut both);
    both.iter_mut().for_each(|c| *c /= n.max(1) as f64);
    let length = |m: &[f64]| m.iter().map(|v| v * v).sum::<f64>().sqrt();
    let (of_clusters, of_pairs) = (length(&clusters), length(&both));
    if of_clusters > 0.0 {
        // Without a pair, clusters alone speak.
        let factor = if of_pairs > 0.0 { of_pairs / of_clusters } else { 1.0 };
        both.iter_mut().zip(&clusters).for_each(|(c, m)| *c += factor * m);
    }
    polar(&both, r, q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_that_are_linked_turn_the_one_side_onto_the_other() {
        // Three clusters along the axes; y is x turned by a quarter in the first two coordinates.
        let axes = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let turned = vec![0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let links = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let linked = [Linked { cut: 0, shares: &[1.0 / 3.0; 3], links: &links }];
        let side =
            |centres: &Vec<f64>| -> (Vec<Vec<f64>>, Vec<f64>) { (vec![centres.clone()], vec![]) };
        let (x, y) = (side(&axes), side(&turned));
        let x = Side { centres: &x.0, pairs: &x.1, cols: 3 };
        let y = Side { centres: &y.0, pairs: &y.1, cols: 3 };
        for (found, wanted) in rotation(&x, &y, &linked, &[]).iter().zip(&turned) {
            assert!((found - wanted).abs() < 1e-9);
        }
    }

    #[test]
    fn pairs_alone_give_the_rotation_between_them() {
        let (u, v) = ([1.0, 0.0, 0.0, 1.0], [0.6, 0.8, -0.8, 0.6]);
        let x = Side { centres: &[], pairs: &u, cols: 2 };
        let y = Side { centres: &[], pairs: &v, cols: 2 };
        for (found, wanted) in rotation(&x, &y, &[], &[0, 1]).iter().zip(&v) {
            assert!((found - wanted).abs() < 1e-9);
        }
        assert!(rotation(&x, &y, &[], &[]).iter().all(|w| *w == 0.0));
    }
}
