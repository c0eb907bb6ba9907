//! A pool as a graph of nearest neighbours whose weights follow its density, and how a row that was
//! not in it joins: what SPUD, MASH and SUE share.
//!
//! ```text
//! K = (N + Nᵀ)/2,   N_ij = exp(−(‖x_i − x_j‖/σ_i)^α) if j is among the k nearest others of i, else 0
//! p_j(x) = exp(−(‖x − x_j‖/σ_x)^α) / Σ    over the k nearest rows of the pool
//! σ = the distance to the k-th nearest row
//! ```
//!
//! Rows are taken as they are, as the published code of all three takes them: columns in unlike units
//! are for the caller to scale. Building costs O(n² d), joining O(n d) a row.

use bridged::MatrixRef;
use bridged_math::cancel::carry;
use bridged_math::graph::Graph;
use bridged_math::neighbors::{Nearest, NeighborIndex, Neighbors, Own};
use rayon::prelude::*;
use std::sync::Arc;

/// The rows of a pool, to be searched, and how many neighbours each has.
pub(crate) struct Pool {
    index: NeighborIndex,
    rows: usize,
    k: usize,
}

impl Pool {
    pub fn new(pool: MatrixRef<'_>, k: usize) -> Self {
        let index = NeighborIndex::new(Arc::new(pool.to_matrix()));
        Self { index, rows: pool.rows(), k }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// The k nearest others of each row of the pool.
    pub fn neighbors(&self) -> Nearest {
        self.index.neighbors().nearest_of_own(self.k, Own::Excluded)
    }

    /// K for α = `decay`.
    pub fn kernel(&self, decay: f64) -> Graph {
        let nearest = self.neighbors();
        let weight =
            |i: usize, squared: f64| adaptive(squared, widest(nearest.squared_of(i)), decay);
        Graph::of_neighbors(self.rows, &nearest, weight)
    }

    /// The k nearest rows of the pool to each of some rows. A row of the pool finds itself.
    pub fn join(&self, rows: MatrixRef<'_>) -> Nearest {
        self.index.neighbors().nearest(rows, self.k)
    }

    /// Σ_j p_j(x) v_j for each row, with values v (n, width) at the rows of the pool.
    pub fn average(&self, rows: MatrixRef<'_>, decay: f64, values: &[f64]) -> Vec<f64> {
        let width = values.len() / self.rows;
        let joined = self.join(rows);
        let mut out = vec![0.0; rows.rows() * width];
        let row = |(i, out): (usize, &mut [f64])| {
            let squared = joined.squared_of(i);
            let sigma = widest(squared);
            let weights = || squared.iter().map(|&s| adaptive(s, sigma, decay));
            let total: f64 = weights().sum();
            for (&j, weight) in joined.rows_of(i).iter().zip(weights()) {
                let value = &values[j as usize * width..][..width];
                out.iter_mut().zip(value).for_each(|(o, v)| *o += weight / total * v);
            }
        };
        out.par_chunks_mut(width.max(1)).enumerate().for_each(carry(row));
        out
    }

    /// The bytes of a pool with this many rows and columns, and of its graph while it is made.
    pub fn memory((rows, cols): (usize, usize), k: usize) -> f64 {
        let own = 4.0 * rows as f64 * cols as f64;
        own + Graph::memory(rows, cols, k) + Neighbors::memory(rows, 0, rows, k)
    }
}

/// σ² of a row: the largest of its squared distances.
fn widest(squared: &[f64]) -> f64 {
    squared.last().copied().unwrap_or(0.0)
}

/// exp(−(d/σ)^α) of squared lengths; 1 among rows that are all equal.
fn adaptive(squared: f64, sigma: f64, decay: f64) -> f64 {
    if sigma > 0.0 { (-(squared / sigma).powf(0.5 * decay)).exp() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::{Matrix, Seed};
    use rand::RngExt;

    fn rows(n: usize) -> Matrix {
        let mut rng = Seed(4).rng();
        Matrix::from_fn(n, 2, |_, _| rng.random())
    }

    /// The k nearest of `rows` to a point, with N of each.
    fn weights(rows: &Matrix, of: &[f32], k: usize, skip: usize) -> Vec<(usize, f64)> {
        let away = |i: usize| {
            rows.row(i).iter().zip(of).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
        };
        let mut order: Vec<usize> = (0..rows.rows()).filter(|&i| i != skip).collect();
        order.sort_by(|&a, &b| away(a).total_cmp(&away(b)));
        let sigma = away(order[k - 1]);
        order[..k].iter().map(|&i| (i, (-(away(i) / sigma).powf(3.0)).exp())).collect()
    }

    #[test]
    fn the_kernel_is_that_of_the_formula() {
        let (x, k) = (rows(30), 4);
        let graph = Pool::new(x.view(), k).kernel(3.0);
        let mut expected = vec![0.0; 900];
        for i in 0..30 {
            for (j, weight) in weights(&x, x.row(i), k, i) {
                expected[i * 30 + j] += 0.5 * weight;
                expected[j * 30 + i] += 0.5 * weight;
            }
        }
        for i in 0..30 {
            let mut row = vec![0.0; 30];
            graph.edges_of(i).for_each(|(j, w)| row[j] = w);
            for (a, b) in row.iter().zip(&expected[i * 30..]) {
                assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_row_that_joins_averages_its_neighbours() {
        let (x, k) = (rows(30), 5);
        let values: Vec<f64> = (0..60).map(f64::from).collect();
        let row = Matrix::from_rows(&[[0.4, 0.6]]);
        let found = Pool::new(x.view(), k).average(row.view(), 3.0, &values);
        let weights = weights(&x, row.row(0), k, usize::MAX);
        let total: f64 = weights.iter().map(|w| w.1).sum();
        for c in 0..2 {
            let exact: f64 = weights.iter().map(|&(j, w)| w / total * values[2 * j + c]).sum();
            assert!((found[c] - exact).abs() < 1e-5, "{found:?} {exact}");
        }
    }

    #[test]
    fn equal_rows_count_the_same() {
        let x = Matrix::from_rows(&[[1.0], [1.0], [1.0], [9.0]]);
        let pool = Pool::new(x.view(), 2);
        assert!(pool.kernel(40.0).edges_of(0).all(|(j, w)| j == 3 || w == 1.0));
        let mean = pool.average(x.view().slice(0..1), 40.0, &[2.0, 4.0, 100.0, 100.0]);
        assert_eq!(mean, [3.0]);
        let alone = Pool::new(x.view().slice(0..1), 5);
        assert_eq!(alone.kernel(2.0).edges_of(0).len(), 0);
        assert_eq!(alone.average(x.view().slice(3..4), 2.0, &[7.0]), [7.0]);
    }
}
