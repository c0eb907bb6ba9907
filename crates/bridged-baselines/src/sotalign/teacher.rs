//! The teacher of SOTAlign: ridge CCA of the pairs.
//!
//! ```text
//! S = X̃ᵀX̃/p + ρ,   S' = ỸᵀỸ/p + ρ      the pairs around their mean
//! U diag(c) Vᵀ = S^{-1/2} (X̃ᵀỸ/p) S'^{-1/2}
//! W_x = Uᵀ S^{-1/2},   W_y = Vᵀ S'^{-1/2}      min(d, d', p − 1) rows
//! ```

use crate::linear::left_singular;
use bridged_math::linalg::{Accum, View, product, symmetric_eigen};

/// No eigenvalue counts as less.
const FLOOR: f64 = 1e-12;

/// W_x (k, d) and W_y (k, d') of pairs (p, d) and (p, d'). Where no direction of x goes with one of y,
/// one row of zeros each.
pub(super) fn ridge_cca(x: &[f64], y: &[f64], p: usize, ridge: f64) -> (Vec<f64>, Vec<f64>) {
    let (d, e) = (x.len() / p, y.len() / p);
    let (x, y) = (around_mean(x, d), around_mean(y, e));
    let (root_x, root_y) = (inverse_root(&x, d, ridge), inverse_root(&y, e, ridge));
    let mut cross = vec![0.0; d * e];
    product(View::new(&x, p, d).t(), View::new(&y, p, e), Accum::Replace, &mut cross);
    cross.iter_mut().for_each(|v| *v /= p as f64);
    let half = multiply(&root_x, &cross, d);
    let correlation = multiply(&half, &root_y, e);
    let left = left_singular(&correlation, d, e, d.min(e).min(p - 1)); // (k, d)
    if left.is_empty() {
        return (vec![0.0; d], vec![0.0; e]);
    }
    let mut right = multiply(&left, &correlation, d); // (k, d')
    for row in right.chunks_exact_mut(e) {
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v /= length);
    }
    (multiply(&left, &root_x, d), multiply(&right, &root_y, e))
}

/// A · B for A with `shared` columns.
fn multiply(a: &[f64], b: &[f64], shared: usize) -> Vec<f64> {
    let (rows, cols) = (a.len() / shared, b.len() / shared);
    let mut out = vec![0.0; rows * cols];
    let (a, b) = (View::new(a, rows, shared), View::new(b, shared, cols));
    product(a, b, Accum::Replace, &mut out);
    out
}

fn around_mean(rows: &[f64], d: usize) -> Vec<f64> {
    let n = (rows.len() / d) as f64;
    let mut mean = vec![0.0; d];
    for row in rows.chunks_exact(d) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / n);
    }
    rows.chunks_exact(d).flat_map(|r| r.iter().zip(&mean).map(|(v, m)| v - m)).collect()
}

/// (ZᵀZ/n + ρ)^{-1/2}, (d, d).
fn inverse_root(z: &[f64], d: usize, ridge: f64) -> Vec<f64> {
    let n = z.len() / d;
    let view = View::new(z, n, d);
    let mut covariance = vec![0.0; d * d];
    product(view.t(), view, Accum::Replace, &mut covariance);
    covariance.iter_mut().for_each(|v| *v /= n as f64);
    let eigen = symmetric_eigen(&covariance, d);
    let mut scaled = eigen.vectors.clone();
    for (row, value) in scaled.chunks_exact_mut(d).zip(&eigen.values) {
        let factor = (value + ridge).max(FLOOR).sqrt().recip();
        row.iter_mut().for_each(|v| *v *= factor);
    }
    let mut out = vec![0.0; d * d];
    let (a, b) = (View::new(&scaled, d, d), View::new(&eigen.vectors, d, d));
    product(a.t(), b, Accum::Replace, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::{golden, rows};
    use super::*;
    use crate::students::{Student, inner};

    #[test]
    fn its_cosines_are_those_of_numpy() {
        for case in golden()["ridge_cca"].as_array().unwrap() {
            let (x, y) = (rows(&case["x"]), rows(&case["y"]));
            let (d, e) = (x[0].len(), y[0].len());
            let ridge = case["ridge"].as_f64().unwrap();
            let (wx, wy) = ridge_cca(&x.concat(), &y.concat(), x.len(), ridge);
            let k = wx.len() / d;
            assert_eq!(k, d.min(e).min(x.len() - 1));
            let a = Student::linear(wx, d).embed(&rows(&case["rows_x"]).concat()).unit;
            let b = Student::linear(wy, e).embed(&rows(&case["rows_y"]).concat()).unit;
            for (f, e) in inner(&a, &b, k).iter().zip(rows(&case["cosines"]).concat()) {
                assert!((f - e).abs() < 1e-8, "{f} {e}");
            }
        }
    }

    #[test]
    fn pairs_that_do_not_differ_give_zeros() {
        let (wx, wy) = ridge_cca(&[0.5; 6], &[0.25; 4], 2, 0.1);
        assert_eq!((wx, wy), (vec![0.0; 3], vec![0.0; 2]));
    }
}
