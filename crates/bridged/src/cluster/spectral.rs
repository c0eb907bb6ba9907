//! Spectral clustering: k-means on the smoothest functions of a neighbour graph.
//!
//! ```text
//! A = (N + Nᵀ)/2,  N_ij = 1 if j is among the nearest neighbours of i;  D = diag(Σ_j A_ij)
//! the k largest eigenpairs of  D^{-1/2} A D^{-1/2},  u_1 … u_k;   row i becomes (u_1i … u_ki)/√D_ii
//! ```
//!
//! Rows that are joined by many short steps come to lie together, whatever the shape of their
//! cluster; pieces of the graph that are not joined at all lie in single points. Neighbours cost
//! O(n² d) at the speed of a matrix product, the eigenpairs O(n · neighbors · k) a product. A row
//! that was not seen is assigned by a vote of its ten nearest training rows, which the model keeps.
//!
//! Choose it for curved or nested clusters; where clusters are round, k-means gives the same much
//! faster.
//!
//! Ng, Jordan & Weiss 2001; von Luxburg 2007. As scikit-learn's `SpectralClustering` with
//! `affinity="nearest_neighbors"`.

use super::assign::AssignRule;
use super::clustering::{check_shape, relabel_by_first_appearance};
use crate::cluster::{ClusterError, Clusterer, Clustering, Init, KMeans, Metric};
use crate::settings::{ITERATIONS, Limits, RESTARTS};
use bridged_math::graph::Graph;
use bridged_math::linalg::{Krylov, krylov_memory, largest_eigenpairs};
use bridged_math::{Matrix, MatrixRef, Scope, Seed, Stage, Watch};
use serde::{Deserialize, Serialize};

/// Spectral clustering of the graph of nearest neighbours.
///
/// ```
/// use bridged::cluster::{Clusterer, Spectral};
/// use bridged::{Matrix, Seed, Silent};
///
/// // Two rings, one inside the other, which no straight line separates.
/// let x = Matrix::from_fn(80, 2, |i, c| {
///     let (angle, radius) = (i as f32 * 0.3927, if i < 20 { 1.0 } else { 4.0 });
///     radius * if c == 0 { angle.cos() } else { angle.sin() } + i as f32 * 1e-3
/// });
/// let spectral = Spectral { k: 2, neighbors: 8, ..Spectral::default() };
/// let clustering = spectral.fit(x.view(), Seed(0), &Silent)?;
/// assert_eq!(clustering.sizes, [20, 60]);
/// # Ok::<(), bridged::cluster::ClusterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spectral {
    /// The number of clusters.
    pub k: usize,
    /// How many neighbours a row is joined to; as in scikit-learn, the row itself is counted, so
    /// at least 2.
    pub neighbors: usize,
    /// Where the k-means runs on the eigenvectors start.
    pub init: Init,
    /// The most iterations of each.
    pub max_iter: u32,
    /// How many there are, of which the best is kept.
    pub restarts: u32,
    /// How near is measured.
    pub metric: Metric,
}

impl Default for Spectral {
    fn default() -> Self {
        Self {
            k: 8,
            neighbors: 10,
            init: Init::PlusPlus,
            max_iter: 100,
            restarts: 10,
            metric: Metric::Euclidean,
        }
    }
}

/// How many training rows vote on the cluster of a new one.
const VOTERS: usize = 10;
/// How exact the eigenvectors are: far below what moves a row to another cluster.
const TOLERANCE: f64 = 1e-7;

crate::limits!(Spectral {
    k: Limits::at_least(1),
    neighbors: Limits::at_least(2),
    max_iter: ITERATIONS,
    restarts: RESTARTS,
});

impl Clusterer for Spectral {
    fn memory(&self, rows: usize, cols: usize) -> u64 {
        let (n, d) = (rows as f64, cols as f64);
        let graph = Graph::memory(rows, cols, self.neighbors - 1);
        let edges = 24.0 * n * self.neighbors.min(rows) as f64;
        let k = self.k.min(rows);
        let eigen = edges + krylov_memory(rows, k);
        let inner = KMeans { k, restarts: self.restarts, ..KMeans::default() };
        let kmeans = edges + 12.0 * n * k as f64 + inner.memory(rows, k) as f64;
        (4.0 * n * d + graph.max(eigen).max(kmeans) + 24.0 * n) as u64
    }

    fn uses_origin(&self) -> bool {
        self.metric == Metric::Cosine
    }

    fn cluster(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        check_shape(&x, self.k)?;
        let stage = Stage::begin(watch, "spectral", Some(3))?;
        let inner = Scope::new(watch, "spectral");
        let n = x.rows();
        let rows = Matrix::new(n, x.cols(), self.metric.view(x).into_owned())
            .expect("the metric keeps the shape");
        let graph = Graph::nearest_neighbors(rows.view(), self.neighbors - 1, |_| 1.0);
        stage.step(1)?;
        let options = Krylov { tol: TOLERANCE, ..Krylov::default() };
        let apply = |width: usize, v: &[f64], out: &mut [f64]| graph.apply(width, v, out);
        let scale = graph.scale();
        let found =
            largest_eigenpairs(n, self.k, apply, options, seed.child("eigenvectors"), &inner)?;
        stage.step(2)?;
        let embedding =
            Matrix::from_fn(n, self.k, |i, j| (found.eigen.vectors[j * n + i] * scale[i]) as f32);
        let kmeans = KMeans {
            k: self.k,
            init: self.init.clone(),
            max_iter: self.max_iter,
            restarts: self.restarts,
            ..KMeans::default()
        };
        let grouped = kmeans.fit(embedding.view(), seed.child("kmeans"), &inner)?;
        stage.step(3)?;

        let mut labels = grouped.labels;
        relabel_by_first_appearance(&mut labels, self.k);
        let rule = AssignRule::Neighbors {
            rows,
            labels: labels.clone(),
            neighbors: VOTERS,
            radius: None,
            metric: self.metric,
        };
        let mut clustering = Clustering::from_labels(x, labels, self.k, rule);
        clustering.iterations = found.iterations + grouped.iterations;
        clustering.converged = found.converged && grouped.converged;
        Ok(clustering)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::testing::{self, on_threads};
    use bridged_math::Silent;

    fn fit(x: &Matrix, k: usize) -> Clustering {
        Spectral { k, ..Spectral::default() }.fit(x.view(), Seed(1), &Silent).unwrap()
    }

    #[test]
    fn two_moons_are_told_apart() {
        for n in [200, 1500] {
            let (x, truth) = testing::moons(n);
            let c = fit(&x, 2);
            assert!(testing::same_partition(&c.labels, &truth), "{n} rows");
            assert!(c.converged);
            assert_eq!(c.assign(x.view()), c.labels);
        }
    }

    #[test]
    fn a_graph_in_several_pieces_is_clustered_by_them() {
        let (x, truth) = testing::blobs(1200, 3, 5, 1.0);
        assert!(testing::same_partition(&fit(&x, 5).labels, &truth));
        // More pieces than clusters: no piece is cut.
        let c = fit(&x, 3);
        for piece in 0..5 {
            let mut labels = (0..1200).filter(|&i| truth[i] == piece).map(|i| c.labels[i]);
            let first = labels.next();
            assert!(labels.all(|l| Some(l) == first), "piece {piece} was cut");
        }
    }

    #[test]
    fn edge_cases_give_every_cluster_a_row() {
        for (x, k) in testing::edge_cases() {
            testing::check_clustering(&x, k, &fit(&x, k));
        }
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let (x, _) = testing::moons(1500);
        assert_eq!(on_threads(1, || fit(&x, 3)), on_threads(4, || fit(&x, 3)));
    }

    #[test]
    fn under_the_cosine_metric_length_does_not_matter() {
        let x = Matrix::from_fn(90, 2, |i, c| {
            let angle = (i % 3) as f32 * 2.0 + (i / 3) as f32 * 0.01;
            (1.0 + i as f32) * if c == 0 { angle.cos() } else { angle.sin() }
        });
        let spectral = Spectral { k: 3, metric: Metric::Cosine, ..Spectral::default() };
        let c = spectral.fit(x.view(), Seed(0), &Silent).unwrap();
        assert!(c.labels.iter().enumerate().all(|(i, &l)| l as usize == i % 3));
    }

    #[test]
    fn too_few_neighbours_are_refused_and_the_watch_can_stop_it() {
        let x = Matrix::zeros(5, 1);
        let spectral = Spectral { k: 2, neighbors: 1, ..Spectral::default() };
        let error = spectral.fit(x.view(), Seed(0), &Silent).unwrap_err();
        let need = "`neighbors` must be a whole number of at least 2, got 1";
        assert_eq!(error.to_string(), need);
        let spectral = Spectral { k: 2, ..Spectral::default() };
        testing::check_cancellation(&spectral, "spectral");
        testing::check_cancellation(&spectral, "spectral/kmeans");
    }
}
