//! The graph of nearest neighbours, symmetric and weighted, as compressed rows.
//!
//! ```text
//! A = (N + Nᵀ)/2,   N_ij = w(‖x_i − x_j‖²) if j is among the nearest neighbours of i, else 0
//! D = diag(Σ_j A_ij);   D^{-1/2} A D^{-1/2} is what spectral methods and graph networks apply
//! ```
//!
//! Memory O(n · neighbours); building costs O(n² d) at the speed of a matrix product.

use crate::chunks::map_blocks_mut;
use crate::matrix::MatrixRef;
use crate::neighbors::{Nearest, Neighbors, Own};

/// A symmetric weighted graph, and D^{-1/2}.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    weights: Vec<f64>,
    scale: Vec<f64>, // 1/√degree; 1 for a node without edges
}

impl Graph {
    /// Joins every row to its `others` nearest others with a weight of their squared distance: in
    /// full where that is mutual, by half where not.
    pub fn nearest_neighbors(x: MatrixRef<'_>, others: usize, weight: impl Fn(f64) -> f64) -> Self {
        let nearest = Neighbors::new(x).nearest_of_own(others, Own::Excluded);
        Self::of_neighbors(x.rows(), &nearest, |_, squared| weight(squared))
    }

    /// Joins every row i to its neighbours with a weight of i and their squared distance: in full
    /// where that is mutual (the mean of both weights), by half where not.
    pub fn of_neighbors(
        rows: usize,
        nearest: &Nearest,
        weight: impl Fn(usize, f64) -> f64,
    ) -> Self {
        let mut joined = vec![Vec::new(); rows];
        for i in 0..rows {
            for (&j, &squared) in nearest.rows_of(i).iter().zip(nearest.squared_of(i)) {
                let half = 0.5 * weight(i, squared);
                joined[i].push((j, half));
                joined[j as usize].push((i as u32, half));
            }
        }
        Self::from_lists(joined)
    }

    /// The bytes that [`nearest_neighbors`](Self::nearest_neighbors) takes at most.
    pub fn memory(rows: usize, cols: usize, others: usize) -> f64 {
        let (n, edges) = (rows as f64, 2.0 * rows as f64 * others.min(rows) as f64);
        // Lists grow by doubling; the graph is built beside them.
        let lists = 24.0 * n + 16.0 * 1.5 * edges;
        Neighbors::memory(rows, cols, 0, 0) + 14.0 * edges + lists + 12.0 * edges
    }

    /// A graph from the edges of each node; edges to the same node add up. The lists must be
    /// symmetric.
    pub fn from_lists(lists: Vec<Vec<(u32, f64)>>) -> Self {
        let mut graph =
            Self { offsets: vec![0], columns: Vec::new(), weights: Vec::new(), scale: Vec::new() };
        for mut row in lists {
            row.sort_by_key(|&(j, _)| j);
            let mut degree = 0.0;
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                let weight = same.iter().map(|&(_, w)| w).sum::<f64>();
                degree += weight;
                graph.columns.push(same[0].0);
                graph.weights.push(weight);
            }
            graph.offsets.push(graph.columns.len());
            graph.scale.push(if degree > 0.0 { degree.sqrt().recip() } else { 1.0 });
        }
        graph
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.scale.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.scale.is_empty()
    }

    /// D^{-1/2} of each node; 1 where a node has no edge.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// The nodes that node `i` is joined to, ascending, and the weights of the edges.
    pub fn edges_of(&self, i: usize) -> impl ExactSizeIterator<Item = (usize, f64)> {
        let range = self.offsets[i]..self.offsets[i + 1];
        self.columns[range.clone()]
            .iter()
            .map(|&j| j as usize)
            .zip(self.weights[range].iter().copied())
    }

    /// `out` = D^{-1/2} A D^{-1/2} `v` for blocks (n, width), in parallel.
    pub fn apply(&self, width: usize, v: &[f64], out: &mut [f64]) {
        map_blocks_mut(out, width, |rows, part| {
            for (i, out) in rows.zip(part.chunks_exact_mut(width)) {
                out.fill(0.0);
                for (j, weight) in self.edges_of(i) {
                    let weight = weight * self.scale[i] * self.scale[j];
                    for (o, value) in out.iter_mut().zip(&v[j * width..(j + 1) * width]) {
                        *o += weight * value;
                    }
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::seed::Seed;
    use rand::RngExt;

    #[test]
    fn the_graph_is_symmetric_and_its_largest_eigenvalue_is_one() {
        let mut rng = Seed(3).rng();
        let x = Matrix::from_fn(300, 3, |_, _| rng.random());
        for weight in [|_| 1.0, |squared: f64| (-squared).exp()] {
            let graph = Graph::nearest_neighbors(x.view(), 9, weight);
            let degrees: Vec<f64> = graph.scale().iter().map(|s| s.recip()).collect();
            let mut out = vec![0.0; 300];
            graph.apply(1, &degrees, &mut out);
            for (o, d) in out.iter().zip(&degrees) {
                assert!((o - d).abs() < 1e-12);
            }
            for i in 0..300 {
                assert!(graph.edges_of(i).len() >= 9);
                for (j, weight) in graph.edges_of(i) {
                    let back = graph.edges_of(j).find(|&(b, _)| b == i);
                    assert_eq!(back.map(|(_, w)| w), Some(weight));
                }
            }
        }
    }
}
