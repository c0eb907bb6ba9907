//! The barycentric map of an entropic plan, for the rows of the plan and for any others.
//!
//! ```text
//! ŷ(x) = Σ_j w_j(x) y_j,    w(x) = softmax_j((g_j − c(x, y_j))/ε)
//! ```
//!
//! For a row of the plan this is Σ_j P_ij y_j / Σ_j P_ij: its own potential f_i cancels. So the map
//! that g defines is the barycentric one on the pool and extends it everywhere (the entropic map of
//! Seguy et al. 2018 and Pooladian & Niles-Weed 2021). The weights b_j are part of g.

use bridged::{Matrix, MatrixRef};
use bridged_math::cancel::carry;
use bridged_math::linalg::{Accum, View, par_product};
use bridged_math::simd::{exp, vectorize_wide};
use rayon::prelude::*;

/// Outputs, their potentials, and how sharp the softmax is.
pub(crate) struct Barycentre {
    y: Vec<f64>,
    cols: usize,
    g: Vec<f64>,
    eps: f64,
}

impl Barycentre {
    pub(crate) fn new(y: MatrixRef<'_>, g: Vec<f64>, eps: f64) -> Self {
        let cols = y.cols();
        Self { y: y.data().iter().map(|&v| f64::from(v)).collect(), cols, g, eps }
    }

    /// The map of rows with these costs to every y, row-major; a constant added to a row of costs
    /// changes nothing.
    pub(crate) fn map(&self, mut costs: Vec<f64>) -> Matrix {
        let m = self.g.len();
        let rows = costs.len() / m;
        let softmax = |row: &mut [f64]| softmax(row, &self.g, 1.0 / self.eps);
        costs.par_chunks_mut(m).for_each(carry(softmax));
        let mut out = vec![0.0; rows * self.cols];
        let y = View::new(&self.y, m, self.cols);
        par_product(View::new(&costs, rows, m), y, Accum::Replace, &mut out);
        Matrix::from_fn(rows, self.cols, |i, j| out[i * self.cols + j] as f32)
    }
}

/// Runs `predict` on rows that are filled up with zeros to whole bands, and cuts that off again.
///
/// A product of matrices may sum in another order for one row than for many; in whole bands a row
/// is summed in one way, so the bits of its prediction do not depend on what is asked with it.
pub(crate) fn in_full_bands(
    rows: MatrixRef<'_>,
    predict: impl FnOnce(MatrixRef<'_>) -> Matrix,
) -> Matrix {
    const BAND: usize = 128;
    let mut full = rows.data().to_vec();
    full.resize(rows.rows().next_multiple_of(BAND) * rows.cols(), 0.0);
    let height = full.len() / rows.cols();
    let full = Matrix::new(height, rows.cols(), full).expect("whole rows were added");
    predict(full.view()).view().slice(0..rows.rows()).to_matrix()
}

/// From costs to weights that sum to 1.
fn softmax(row: &mut [f64], g: &[f64], inverse: f64) {
    vectorize_wide(
        #[inline(always)]
        || {
            let mut best = f64::NEG_INFINITY;
            for (c, g) in row.iter_mut().zip(g) {
                *c = g - *c;
                best = best.max(*c);
            }
            for v in row.iter_mut() {
                *v = exp((*v - best) * inverse);
            }
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|v| *v /= total);
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::sinkhorn::Sinkhorn;

    #[test]
    fn on_the_rows_of_a_plan_it_is_the_mean_that_the_plan_weighs() {
        let (n, m) = (5, 4);
        let costs: Vec<f64> = (0..n * m).map(|at| f64::from((at * 7 % 11) as u32) / 11.0).collect();
        let sinkhorn = Sinkhorn { eps: 0.05, ..Default::default() };
        let found = sinkhorn.solve(&costs, &[0.2; 5], &[0.1, 0.2, 0.3, 0.4]).unwrap();
        let y = Matrix::from_rows(&[[1.0, 0.0], [2.0, 1.0], [4.0, 0.0], [8.0, 5.0]]);
        let plan = found.plan();
        let mapped = Barycentre::new(y.view(), found.g, 0.05).map(costs);
        for i in 0..n {
            for d in 0..2 {
                let sum: f64 = (0..m).map(|j| plan[i * m + j] * f64::from(y.row(j)[d])).sum();
                assert!((f64::from(mapped.row(i)[d]) - sum / 0.2).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn the_sharpest_softmax_takes_the_cheapest_output() {
        let y = Matrix::from_rows(&[[1.0], [2.0]]);
        let map = Barycentre::new(y.view(), vec![0.0, 0.0], 1e-300);
        assert_eq!(map.map(vec![3.0, 2.0, 1e9, 1e9 + 1.0]).data(), [2.0, 1.0]);
    }
}
