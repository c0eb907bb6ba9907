//! The x pool as a graph: Â of the nodes, and how a row that was not there joins them.

use crate::kernel::Width;
use crate::nn::Sparse;
use crate::prepare::Standard;
use bridged::{Matrix, MatrixRef};
use bridged_math::graph::Graph;
use bridged_math::neighbors::Neighbors;

/// The pool as a graph: its rows as standard scores, Â, and what unseen rows need to join it.
pub(super) struct Nodes {
    standard: Standard,
    pub(super) rows: Matrix,
    gamma: f64,
    /// D̃^{-1/2} of every node.
    scale: Vec<f64>,
    pub(super) adjacency: Sparse,
}

impl Nodes {
    pub(super) fn new(x: MatrixRef<'_>, k: usize) -> Self {
        let standard = Standard::fit(x);
        let rows = unit(standard.apply(x));
        let gamma = Width::Median.gamma(rows.view());
        let plain = Graph::nearest_neighbors(rows.view(), k, |s| (-gamma * s).exp());
        let looped =
            |i: usize| plain.edges_of(i).map(|(j, w)| (j as u32, w)).chain([(i as u32, 1.0)]);
        let graph = Graph::from_lists((0..x.rows()).map(|i| looped(i).collect()).collect());
        let scale = graph.scale().to_vec();
        let normalised = (0..x.rows()).map(|i| {
            let scale = &scale;
            graph.edges_of(i).map(move |(j, w)| (j, (w * scale[i] * scale[j]) as f32))
        });
        let adjacency = Sparse::from_rows(normalised, x.rows());
        Self { standard, rows, gamma, scale, adjacency }
    }

    /// Unseen rows as standard scores of the pool.
    pub(super) fn scores(&self, rows: MatrixRef<'_>) -> Matrix {
        unit(self.standard.apply(rows))
    }

    /// Â V for values at the nodes.
    pub(super) fn propagate(&self, values: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(values.rows(), values.cols());
        self.adjacency.apply(values.cols(), values.data(), out.data_mut());
        out
    }

    /// The rows of Â that unseen rows would have, each joined alone: its k edges into the pool, and
    /// the weight of its own loop.
    pub(super) fn join(&self, rows: &Matrix, k: usize) -> (Sparse, Vec<f32>) {
        let nearest = Neighbors::new(self.rows.view()).nearest(rows.view(), k);
        let mut loops = Vec::with_capacity(rows.rows());
        let edges = (0..rows.rows()).map(|i| {
            let weight = |s: &f64| (-self.gamma * s).exp();
            let degree = 1.0 + nearest.squared_of(i).iter().map(weight).sum::<f64>();
            loops.push((1.0 / degree) as f32);
            let edge = move |(&j, s): (&u32, &f64)| {
                let j = j as usize;
                (j, (weight(s) * self.scale[j] / degree.sqrt()) as f32)
            };
            nearest.rows_of(i).iter().zip(nearest.squared_of(i)).map(edge).collect::<Vec<_>>()
        });
        let edges = Sparse::from_rows(edges, self.rows.rows());
        (edges, loops)
    }
}

/// Scores ÷ √d, so that a row has a length of about 1 however many columns there are: the authors
/// bring the rows of their features to a sum of 1.
fn unit(mut scores: Matrix) -> Matrix {
    let factor = 1.0 / (scores.cols() as f32).sqrt();
    scores.data_mut().iter_mut().for_each(|v| *v *= factor);
    scores
}

/// Edges · pool + loops ∘ own: the propagation of rows that joined.
pub(super) fn gathered((edges, loops): &(Sparse, Vec<f32>), pool: &Matrix, own: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(own.rows(), own.cols());
    edges.apply(own.cols(), pool.data(), out.data_mut());
    for (i, l) in loops.iter().enumerate() {
        out.row_mut(i).iter_mut().zip(own.row(i)).for_each(|(o, v)| *o += l * v);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Seed;
    use bridged_math::distance::squared_distance;
    use rand::RngExt;

    fn nodes(n: usize, k: usize) -> Nodes {
        let mut rng = Seed(1).rng();
        Nodes::new(
            Matrix::from_fn(n, 3, |_, j| rng.random::<f32>() * 10f32.powi(j as i32)).view(),
            k,
        )
    }

    #[test]
    fn the_adjacency_is_that_of_the_formula() {
        let (n, k) = (40, 5);
        let nodes = nodes(n, k);
        let squared = |i: usize, j: usize| squared_distance(nodes.rows.row(i), nodes.rows.row(j));
        let near = |i: usize, j: usize| {
            i != j && (0..n).filter(|&o| o != i && squared(i, o) < squared(i, j)).count() < k
        };
        let weight = |i: usize, j: usize| {
            let both = f64::from(u8::from(near(i, j)) + u8::from(near(j, i)));
            f64::from(u8::from(i == j)) + 0.5 * both * (-nodes.gamma * squared(i, j)).exp()
        };
        let degrees: Vec<f64> = (0..n).map(|i| (0..n).map(|j| weight(i, j)).sum()).collect();
        for i in 0..n {
            let mut row = vec![0.0; n];
            nodes.adjacency.row(i).for_each(|(j, w)| row[j] = f64::from(w));
            for j in 0..n {
                let exact = weight(i, j) / (degrees[i] * degrees[j]).sqrt();
                assert!((row[j] - exact).abs() < 1e-6, "{i} {j}");
            }
        }
    }

    #[test]
    fn a_row_that_joins_is_weighted_by_its_own_and_the_fixed_degrees() {
        let nodes = nodes(30, 4);
        let row = Matrix::from_rows(&[[0.3, -0.2, 0.1]]);
        let (edges, loops) = nodes.join(&row, 4);
        let weights: Vec<(usize, f64)> = edges
            .row(0)
            .map(|(j, _)| {
                (j, (-nodes.gamma * squared_distance(row.row(0), nodes.rows.row(j))).exp())
            })
            .collect();
        assert_eq!(weights.len(), 4);
        let degree = 1.0 + weights.iter().map(|w| w.1).sum::<f64>();
        assert!((f64::from(loops[0]) - 1.0 / degree).abs() < 1e-6);
        for ((j, w), (_, found)) in weights.into_iter().zip(edges.row(0)) {
            let exact = w * nodes.scale[j] / degree.sqrt();
            assert!((f64::from(found) - exact).abs() < 1e-6);
        }
        let ones = gathered(&(edges, loops.clone()), &Matrix::zeros(30, 3), &row);
        assert_eq!(ones.row(0)[0], 0.3 * loops[0]);
    }
}
