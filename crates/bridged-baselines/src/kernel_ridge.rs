//! Kernel ridge regression with weighted examples and many outputs.
//!
//! ```text
//! minimise Σ_i w_i ‖y_i − b − f(x_i)‖² + λ ‖f‖²_K,   f(x) = Σ_i k(x, x_i) α_i,   b = Σ w_i y_i / Σ w_i
//! α = (K + λ diag(1/w))⁻¹ (Y − b) = S (S K S + λ I)⁻¹ S (Y − b),   S = diag(√w)
//! ```
//!
//! The second form stays symmetric and needs no division by a weight: an example of weight 0 has
//! coefficient 0. All outputs share one Cholesky factor: O(n³/3 + n² outputs). Without weights this
//! is scikit-learn's `KernelRidge(alpha=λ)` on centred outputs, with them the same with
//! `sample_weight`.

use bridged::{Matrix, MatrixRef};
use bridged_math::linalg::{Accum, NotPositiveDefinite, View, cholesky, par_product};
use bridged_math::linalg::{product, solve_cholesky};

/// A fitted expansion f(x) = b + Σ_i k(x, x_i) α_i.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRidge {
    /// α, row-major (examples, outputs).
    pub coefficients: Vec<f64>,
    /// b, the weighted mean of the outputs.
    pub mean: Vec<f64>,
}

/// Fits to `kernel` = K, row-major (n, n), and outputs `y`, (n, outputs).
///
/// Without `weights` every example has weight 1; if all weights are 0 the answer is the plain mean.
/// `lambda` must be positive unless S K S is positive definite by itself.
///
/// # Panics
/// If the shapes do not fit.
pub fn fit(
    kernel: &[f64],
    n: usize,
    weights: Option<&[f64]>,
    lambda: f64,
    y: MatrixRef<'_>,
) -> Result<KernelRidge, NotPositiveDefinite> {
    assert_eq!((kernel.len(), y.rows()), (n * n, n), "K is n × n and y has n rows");
    let weights = weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
    assert_eq!(weights.len(), n, "one weight an example");
    let mean = weighted_mean(y, &weights);
    let root: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
    let mut system = kernel.to_vec();
    for (i, row) in system.chunks_exact_mut(n.max(1)).enumerate() {
        row.iter_mut().zip(&root).for_each(|(v, r)| *v *= root[i] * r);
        row[i] += lambda;
    }
    let factor = cholesky(&system, n)?;
    let centred = |i: usize| y.row(i).iter().zip(&mean).map(|(&v, m)| f64::from(v) - m);
    let mut coefficients: Vec<f64> =
        (0..n).flat_map(|i| centred(i).map(|v| root[i] * v).collect::<Vec<_>>()).collect();
    solve_cholesky(&factor, n, &mut coefficients, y.cols());
    for (row, r) in coefficients.chunks_exact_mut(y.cols().max(1)).zip(&root) {
        row.iter_mut().for_each(|v| *v *= r);
    }
    Ok(KernelRidge { coefficients, mean })
}

impl KernelRidge {
    /// Predicts from k(x, x_i), row-major (rows, examples), in parallel.
    pub fn predict(&self, kernel: &[f64], rows: usize) -> Matrix {
        let outputs = self.mean.len();
        let n = self.coefficients.len() / outputs.max(1);
        let mut values = self.mean.repeat(rows);
        let (kernel, alpha) =
            (View::new(kernel, rows, n), View::new(&self.coefficients, n, outputs));
        par_product(kernel, alpha, Accum::Add, &mut values);
        let values = values.into_iter().map(|v| v as f32).collect();
        Matrix::new(rows, outputs, values).expect("one value a row and output")
    }
}

/// Σ w y / Σ w; the plain mean if all weights are 0.
fn weighted_mean(y: MatrixRef<'_>, weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return y.mean_row();
    }
    let values: Vec<f64> = y.data().iter().map(|&v| f64::from(v)).collect();
    let mut mean = vec![0.0; y.cols()];
    let (weights, values) =
        (View::new(weights, 1, y.rows()), View::new(&values, y.rows(), y.cols()));
    product(weights, values, Accum::Replace, &mut mean);
    mean.iter_mut().for_each(|m| *m /= total);
    mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::rbf;
    use serde_json::Value;

    fn matrix(value: &Value) -> Matrix {
        Matrix::from_rows(&serde_json::from_value::<Vec<Vec<f32>>>(value.clone()).unwrap())
    }

    #[test]
    fn weighted_and_plain_fits_are_those_of_scikit_learn() {
        let golden = include_str!("../../../tests/golden/baselines_linear.json");
        let golden = &serde_json::from_str::<Value>(golden).unwrap()["kernel_ridge"];
        let (x, y, rows) = (matrix(&golden["x"]), matrix(&golden["y"]), matrix(&golden["rows"]));
        let weights: Vec<f64> = serde_json::from_value(golden["weights"].clone()).unwrap();
        let (gamma, lambda) =
            (golden["gamma"].as_f64().unwrap(), golden["lambda"].as_f64().unwrap());
        let kernel = rbf(x.view(), x.view(), gamma);
        let at = rbf(rows.view(), x.view(), gamma);
        for (name, weights) in [("plain", None), ("weighted", Some(&weights[..]))] {
            let fitted = fit(&kernel, x.rows(), weights, lambda, y.view()).unwrap();
            let predicted = fitted.predict(&at, rows.rows());
            let expected = matrix(&golden[name]);
            for (a, b) in predicted.data().iter().zip(expected.data()) {
                assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{name}: {a} {b}");
            }
        }
    }

    #[test]
    fn an_example_of_weight_zero_is_as_good_as_absent() {
        let x = Matrix::from_rows(&[[0.0], [1.0], [2.5]]);
        let y = Matrix::from_rows(&[[1.0, 0.0], [3.0, 1.0], [99.0, 7.0]]);
        let kernel = |n: usize| rbf(x.view().slice(0..n), x.view().slice(0..n), 0.7);
        let all = fit(&kernel(3), 3, Some(&[1.0, 2.0, 0.0]), 0.1, y.view()).unwrap();
        let two = fit(&kernel(2), 2, Some(&[1.0, 2.0]), 0.1, y.view().slice(0..2)).unwrap();
        assert_eq!(all.mean, two.mean);
        for (a, b) in all.coefficients.iter().zip(two.coefficients.iter().chain(&[0.0, 0.0])) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn degenerate_weights_give_the_mean_and_a_singular_system_is_reported() {
        let y = Matrix::from_rows(&[[1.0], [3.0]]);
        let fitted = fit(&[1.0; 4], 2, Some(&[0.0, 0.0]), 0.5, y.view()).unwrap();
        assert_eq!(fitted.predict(&[1.0, 1.0], 1).data(), [2.0]);
        assert_eq!(fit(&[1.0; 4], 2, None, 0.0, y.view()), Err(NotPositiveDefinite));
    }
}
