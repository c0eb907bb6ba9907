//! What it costs to send a row of x to a row of y: how far the ridge map of the pairs ends from it.
//!
//! ```text
//! R(x) = ȳ + (x − x̄)ᵀ W,   W = Xᵀ (X Xᵀ + α I)⁻¹ Y      (X, Y: the pairs around their means)
//! c(x, y) = ‖R(x) − y‖² / median_ij ‖R(x_i) − y_j‖²
//! ```
//!
//! x in standard scores of its pool, y centred and of unit scale. The median is taken over the two
//! pools, so a cost of 1 is a typical one whatever the data. A single pair makes R constant.

use crate::kernel::squared_distances;
use crate::prepare::{Centred, Paired, Standard};
use bridged::{Matrix, MatrixRef};
use bridged::{MethodError, Problem, ProblemSize};
use bridged_math::linalg::{Accum, View, cholesky, par_product, product, solve_cholesky};

pub(crate) struct RidgeCost {
    standard: Standard,
    /// The standard scores of the pairs around their mean, (pairs, d), and that mean.
    x: Vec<f64>,
    mean: Vec<f64>,
    /// (X Xᵀ + α I)⁻¹ Y, (pairs, d'), and the mean of the paired y.
    dual: Vec<f64>,
    offset: Vec<f64>,
    y: Matrix,
    unit: f64,
}

impl RidgeCost {
    /// Learns R from the pairs with a positive α. Returns it with the costs of the x pool, (n, m).
    pub(crate) fn fit(
        method: &'static str,
        problem: Problem<'_>,
        alpha: f64,
    ) -> Result<(Self, Vec<f64>), MethodError> {
        let (standard, centred) = (Standard::fit(problem.x), Centred::fit(problem.y));
        let pairs = Paired::of(problem);
        let (x, mean) = around_mean(standard.apply(pairs.x.view()).view());
        let (mut dual, offset) = around_mean(centred.encode(pairs.y.view()).view());
        let k = problem.pairs.len();
        let mut gram = vec![0.0; k * k];
        let view = View::new(&x, k, mean.len());
        product(view, view.t(), Accum::Replace, &mut gram);
        (0..k).for_each(|i| gram[i * k + i] += alpha);
        let factor = cholesky(&gram, k).map_err(|_| MethodError::NoSolution {
            method,
            reason: "the paired inputs are too alike for so small a `ridge_alpha`".into(),
            remedy: "make it larger".into(),
        })?;
        solve_cholesky(&factor, k, &mut dual, offset.len());
        let y = centred.encode(problem.y);
        let mut cost = Self { standard, x, mean, dual, offset, y, unit: 1.0 };
        let mut pool = cost.of(problem.x);
        cost.unit = typical(&pool);
        pool.iter_mut().for_each(|c| *c /= cost.unit);
        Ok((cost, pool))
    }

    /// The bytes that [`fit`](Self::fit) takes beside the costs: rows and mapped rows in double
    /// precision, and a copy of the costs of which the median is taken.
    pub(crate) fn memory(size: ProblemSize) -> f64 {
        let ((n, d), (m, e)) = (size.x, size.y);
        let (n, d, m, e) = (n as f64, d as f64, m as f64, e as f64);
        let k = size.pairs as f64;
        n * (12.0 * d + 8.0 * k + 20.0 * e) + m * 12.0 * e + 8.0 * (k * (d + e) + 3.0 * k * k)
    }

    /// The costs of these rows to every row of the y pool, (rows, m).
    pub(crate) fn of(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let (n, k, d) = (rows.rows(), self.x.len() / self.mean.len(), self.mean.len());
        let scores = self.standard.apply(rows);
        let centred: Vec<f64> = scores
            .view()
            .iter_rows()
            .flat_map(|row| row.iter().zip(&self.mean).map(|(&v, m)| f64::from(v) - m))
            .collect();
        let mut inner = vec![0.0; n * k];
        let x = View::new(&self.x, k, d);
        par_product(View::new(&centred, n, d), x.t(), Accum::Replace, &mut inner);
        let width = self.offset.len();
        let mut mapped = vec![0.0; n * width];
        let dual = View::new(&self.dual, k, width);
        par_product(View::new(&inner, n, k), dual, Accum::Replace, &mut mapped);
        let mapped =
            Matrix::from_fn(n, width, |i, j| (mapped[i * width + j] + self.offset[j]) as f32);
        let mut costs = squared_distances(mapped.view(), self.y.view());
        costs.iter_mut().for_each(|c| *c /= self.unit);
        costs
    }
}

fn around_mean(m: MatrixRef<'_>) -> (Vec<f64>, Vec<f64>) {
    let mean = m.mean_row();
    let rows = m.iter_rows();
    let centred = rows.flat_map(|row| row.iter().zip(&mean).map(|(&v, m)| f64::from(v) - m));
    (centred.collect(), mean)
}

/// The median of numbers that are not negative; their mean where it is 0, and 1 where all are 0.
pub(crate) fn typical(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    let middle = sorted.len() / 2;
    let median = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    [median, mean].into_iter().find(|v| *v > 1e-30).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_ridge_map_is_exact_a_pair_costs_nothing() {
        let x = Matrix::from_fn(9, 2, |i, j| ((i * 5 + j * 3) % 7) as f32);
        let y = Matrix::from_fn(9, 2, |i, j| 3.0 * x.row(i)[j] - x.row(i)[1 - j] + 4.0);
        let pairs: Vec<(u32, u32)> = (0..5).map(|i| (i, i)).collect();
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let (cost, pool) = RidgeCost::fit("eot", problem, 1e-9).unwrap();
        assert!((0..9).all(|i| pool[i * 9 + i] < 1e-9));
        assert_eq!(typical(&pool), 1.0);
        assert_eq!(cost.of(x.view().slice(3..4)), pool[27..36]);
    }

    #[test]
    fn ridge_agrees_with_its_normal_equation_in_one_dimension() {
        // Standard scores of x are ±1, y is ±1 around its mean: w = 2/(2 + α).
        let (x, y) = (Matrix::from_rows(&[[3.0], [5.0]]), Matrix::from_rows(&[[10.0], [30.0]]));
        let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 1)]);
        let (_, costs) = RidgeCost::fit("eot", problem, 2.0).unwrap();
        assert!((costs[0] / costs[1] - 0.25 / 2.25).abs() < 1e-6, "{costs:?}");
    }

    #[test]
    fn what_is_typical_of_zeros_is_one() {
        assert_eq!(typical(&[0.0, 0.0]), 1.0);
        assert_eq!(typical(&[0.0, 0.0, 0.0, 4.0]), 1.0);
        assert_eq!(typical(&[1.0, 5.0, 2.0]), 2.0);
    }
}
