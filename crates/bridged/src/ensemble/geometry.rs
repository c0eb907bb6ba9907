//! How alike centroids are to each other and to the rows of the pairs, on one side.
//!
//! Centroids and paired rows are projected onto the span of the centroids, taken from the mean of the pool,
//! brought to length 1, and centred together. K is the linear kernel of these directions, divided by its
//! Frobenius norm, so that both sides are measured alike. Two clusterings of the same world should look alike
//! through it: Σ K_ii' L_A(i)A(i') + 2 Σ K_is L_A(i)s is large for a map A that is right.

use super::partition::Cut;
use bridged_math::distance::dot;
use bridged_math::linalg::{Accum, View, product, symmetric_eigen};
use bridged_math::{Matrix, MatrixRef};

/// Directions of centroids, then of all pairs; centred and normed for the pairs that are used.
pub(super) struct Directions {
    rows: Vec<Vec<f64>>,
    k: usize,
}

impl Directions {
    /// Of a cut whose pool has the scaled mean `mean`, and of the scaled rows of the pairs.
    pub fn new(cut: Cut<'_>, mean: &[f32], paired: MatrixRef<'_>) -> Self {
        let (k, centroids) = (cut.k(), &cut.clustering.centroids);
        let away = |row: &[f32]| -> Vec<f32> { row.iter().zip(mean).map(|(a, m)| a - m).collect() };
        let centred = Matrix::from_fn(k, centroids.cols(), |i, c| centroids.row(i)[c] - mean[c]);
        let gram: Vec<f64> =
            (0..k * k).map(|at| dot(centred.row(at / k), centred.row(at % k))).collect();
        let eigen = symmetric_eigen(&gram, k);
        let top = eigen.values.iter().fold(0.0, |a: f64, &b| a.max(b));
        let axes: Vec<Vec<f64>> = (0..k)
            .filter(|&a| eigen.values[a] > 1e-6 * top)
            .map(|a| {
                let scale = eigen.values[a].sqrt();
                eigen.vectors[a * k..(a + 1) * k].iter().map(|u| u / scale).collect()
            })
            .collect();
        let direction = |row: &[f32]| -> Vec<f64> {
            let row = away(row);
            let products: Vec<f64> = centred.view().iter_rows().map(|c| dot(&row, c)).collect();
            let along =
                |axis: &Vec<f64>| axis.iter().zip(&products).map(|(a, p)| a * p).sum::<f64>();
            let mut z: Vec<f64> = axes.iter().map(along).collect();
            let length = z.iter().map(|v| v * v).sum::<f64>().sqrt();
            if length > 0.0 {
                z.iter_mut().for_each(|v| *v /= length);
            }
            z
        };
        let rows = centroids.view().iter_rows().chain(paired.iter_rows()).map(direction).collect();
        Self { rows, k }
    }

    /// The kernel over the centroids and some of the pairs.
    pub fn kernel(&self, pairs: &[usize]) -> Alikeness {
        let chosen: Vec<&Vec<f64>> =
            (0..self.k).chain(pairs.iter().map(|s| self.k + s)).map(|at| &self.rows[at]).collect();
        let (n, rank) = (chosen.len(), self.rows.first().map_or(0, Vec::len));
        let mean: Vec<f64> =
            (0..rank).map(|c| chosen.iter().map(|z| z[c]).sum::<f64>() / n as f64).collect();
        let centred: Vec<f64> =
            chosen.iter().flat_map(|z| z.iter().zip(&mean).map(|(v, m)| v - m)).collect();
        let all = View::new(&centred, n, rank);
        let mut values = vec![0.0; self.k * n];
        product(all.rows(0..self.k), all.t(), Accum::Replace, &mut values);
        // ‖Z Zᵀ‖ = ‖Zᵀ Z‖, which is small.
        let mut inner = vec![0.0; rank * rank];
        product(all.t(), all, Accum::Replace, &mut inner);
        let norm = inner.iter().map(|v| v * v).sum::<f64>().sqrt();
        if norm > 0.0 {
            values.iter_mut().for_each(|v| *v /= norm);
        }
        Alikeness { values, n, k: self.k }
    }
}

/// K of the clusters of one side to clusters and pairs, (k, k + pairs).
pub(super) struct Alikeness {
    values: Vec<f64>,
    n: usize,
    k: usize,
}

impl Alikeness {
    /// Of two clusters.
    pub fn of(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.n + j]
    }

    /// Of a cluster to all others.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.n..][..self.k]
    }

    /// Of a cluster to the pairs.
    pub fn to_pairs(&self, i: usize) -> &[f64] {
        &self.values[i * self.n + self.k..(i + 1) * self.n]
    }
}
