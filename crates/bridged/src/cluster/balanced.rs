//! Balanced k-means: k-means whose clusters have sizes within bounds, the clustering of the paper.
//!
//! ```text
//! minimise  Σ_i ‖x_i − c_{a(i)}‖²   over labels a and centroids c
//! with      min ≤ |{i : a(i) = j}| ≤ max   for every cluster j
//! ```
//!
//! Lloyd's iteration alternates two steps, each of which can only lower the sum: the rows take the
//! cheapest labels whose sizes are within the bounds, every centroid becomes the mean of its rows.
//! The first step is solved to optimality ([`Transport`]) from the prices of the iteration before;
//! it costs little more than the distances, O(n k d). Memory: the rows and 4 n k bytes of
//! distances. From several starts the run with the lowest sum is kept, whole.
//!
//! Choose it when the groups are known to be of similar size. New rows take the nearest centroid:
//! the bounds are about the training rows.
//!
//! Bradley, Bennett & Demiriz 2000 (constrained k-means); Malinen & Fränti 2014 (balanced k-means).

use super::assign::AssignRule;
use super::clustering::{check, inertia_of, unit_rows};
use super::kmeans::{Run, best_of, mean_variance};
use super::sums::{Move, Sums};
use crate::cluster::{ClusterError, Clusterer, Clustering, Init, Metric};
use bridged_math::distance::{Centres, squared_distance};
use bridged_math::transport::{Bounds, Transport};
use bridged_math::{Cancelled, Matrix, MatrixRef, Seed, Stage, Watch, chunks};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// k-means with bounds on the sizes of the clusters.
///
/// ```
/// use bridged::cluster::{BalancedKMeans, Clusterer};
/// use bridged::math::{Matrix, Seed, Silent};
///
/// // Plain k-means would leave the last row alone.
/// let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [50.0]]);
/// let spec = BalancedKMeans { k: 2, ..BalancedKMeans::default() };
/// let clustering = spec.fit(x.view(), Seed(0), &Silent)?;
/// assert_eq!(clustering.sizes, [2, 2]);
/// assert_eq!(clustering.labels[2], clustering.labels[3]);
/// # Ok::<(), bridged::cluster::ClusterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BalancedKMeans {
    /// The number of clusters.
    pub k: usize,
    /// The least rows of a cluster. With neither bound given, sizes are ⌊n/k⌋ to ⌈n/k⌉; with only
    /// `max_size` given, 1.
    pub min_size: Option<usize>,
    /// The most rows of a cluster; with only `min_size` given, there is no such bound.
    pub max_size: Option<usize>,
    /// Where a run starts.
    pub init: Init,
    /// The most iterations of a run.
    pub max_iter: u32,
    /// A run ends when Σ ‖shift of a centroid‖² falls to `tol` × the mean variance of the columns;
    /// 0 goes on until no row moves.
    pub tol: f64,
    /// Runs from different starts, of which the best is kept.
    pub restarts: u32,
    /// Euclidean, or cosine for spherical k-means.
    pub metric: Metric,
}

impl Default for BalancedKMeans {
    fn default() -> Self {
        Self {
            k: 8,
            min_size: None,
            max_size: None,
            init: Init::PlusPlus,
            max_iter: 100,
            tol: 1e-4,
            restarts: 10,
            metric: Metric::Euclidean,
        }
    }
}

/// Up to this many distances, restarts run side by side; above it, each run uses all threads.
const SMALL: usize = 1_000_000;
/// Rows whose distances are computed at once, so that they stay in cache.
const TILE: usize = 256;

impl Clusterer for BalancedKMeans {
    fn fit(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        check(x, self.k)?;
        let bounds = self.bounds(x.rows())?;
        let unit = (self.metric == Metric::Cosine).then(|| unit_rows(x));
        let rows = unit.as_ref().map_or(x, Matrix::view);
        let least_shift = self.tol * mean_variance(rows);
        let restarts = self.init.useful_restarts(self.restarts) as usize;

        let total = restarts as u64 * u64::from(self.max_iter);
        let stage = Stage::begin(watch, "balanced", Some(total))?;
        let done = AtomicU64::new(0);
        let tick = |steps: u32| {
            stage.step(done.fetch_add(u64::from(steps), Ordering::Relaxed) + u64::from(steps))
        };
        let run = |r: usize| -> Result<Run, ClusterError> {
            let start = self.init.centroids(rows, self.k, seed.nth(r))?;
            let run = self.run(rows, start, &bounds, least_shift, &tick)?;
            tick(self.max_iter.saturating_sub(run.iterations))?;
            Ok(run)
        };
        let runs: Vec<Run> = if x.rows() * self.k <= SMALL {
            (0..restarts).into_par_iter().map(run).collect::<Result<_, _>>()?
        } else {
            best_of((0..restarts).map(run))?
        };
        let best = runs.into_iter().reduce(Run::better).expect("at least one restart is made");
        Ok(self.finish(x, best))
    }
}

impl BalancedKMeans {
    /// The bounds for `n` rows; no cluster is ever empty.
    fn bounds(&self, n: usize) -> Result<Bounds, ClusterError> {
        let (min, max) = match (self.min_size, self.max_size) {
            (None, None) => (n / self.k, n.div_ceil(self.k)),
            (min, max) => (min.unwrap_or(1).max(1), max.unwrap_or(n)),
        };
        let least = min.checked_mul(self.k);
        let most = max.saturating_mul(self.k);
        if min > max || least.is_none_or(|least| least > n) || n > most {
            return Err(ClusterError::BadSizes { rows: n, k: self.k, min, max });
        }
        Ok(Bounds::uniform(self.k, min as u32, max.min(n) as u32))
    }

    fn run(
        &self,
        x: MatrixRef<'_>,
        start: Matrix,
        bounds: &Bounds,
        least_shift: f64,
        tick: &(dyn Fn(u32) -> Result<(), Cancelled> + Sync),
    ) -> Result<Run, ClusterError> {
        let mut costs = vec![0.0f32; x.rows() * self.k]; // (n, k)
        let mut transport = Transport::new(bounds.clone());
        let mut centroids = self.on_sphere(start);
        let mut labels = Vec::new();
        let mut sums: Option<Sums> = None;
        let (mut iterations, mut converged) = (0, false);
        loop {
            assign(x, &centroids, &mut transport, &mut costs)?;
            iterations += 1;
            tick(1)?;
            let sums = match &mut sums {
                None => {
                    labels = transport.labels().collect();
                    sums.insert(Sums::new(x, &labels, self.k))
                }
                Some(sums) => {
                    let moves = moves(&labels, &transport);
                    if gain(&costs, self.k, &moves) <= 0.0 {
                        // The labels are still optimal, and the centroids are their means.
                        converged = true;
                        break;
                    }
                    moves.iter().for_each(|m| labels[m.row as usize] = m.to);
                    sums.apply(x, &moves);
                    sums
                }
            };
            let next = self.on_sphere(sums.means());
            let shift = squared_distance(next.data(), centroids.data());
            centroids = next;
            // Once the centroids rest, the rows are assigned to them one last time.
            if converged || iterations >= self.max_iter {
                converged |= shift <= least_shift;
                break;
            }
            converged = shift <= least_shift;
        }
        let inertia = inertia_of(x, &labels, &centroids);
        Ok(Run { labels, centroids, inertia, iterations, converged })
    }

    /// Under the cosine metric, centroids are directions.
    fn on_sphere(&self, centroids: Matrix) -> Matrix {
        match self.metric {
            Metric::Euclidean => centroids,
            Metric::Cosine => unit_rows(centroids.view()),
        }
    }

    fn finish(&self, x: MatrixRef<'_>, run: Run) -> Clustering {
        let rule = AssignRule::Nearest { centres: run.centroids, metric: self.metric };
        let mut clustering = Clustering::from_labels(x, run.labels, self.k, rule);
        if let (AssignRule::Nearest { centres, .. }, Metric::Euclidean) =
            (&mut clustering.rule, self.metric)
        {
            // The running sums and a sum from scratch may differ in the last bit.
            *centres = clustering.centroids.clone();
        }
        clustering.iterations = run.iterations;
        clustering.converged = run.converged;
        clustering
    }
}

/// Solves for the labels that are optimal for these centroids.
fn assign(
    x: MatrixRef<'_>,
    centroids: &Matrix,
    transport: &mut Transport,
    costs: &mut [f32],
) -> Result<(), ClusterError> {
    let centres = Centres::new(centroids.view());
    let k = centroids.rows();
    chunks::map_blocks_mut(costs, k, |range, costs| {
        // Half the squared distance, less a part that is the same for all centroids of a row.
        for (t, costs) in costs.chunks_mut(TILE * k).enumerate() {
            let from = range.start + t * TILE;
            centres.scores(x.slice(from..from + costs.len() / k), costs);
        }
    });
    transport.solve(costs).map_err(|e| {
        ClusterError::Unfit(format!("the rows are too far apart to compare ({e}); scale them"))
    })
}

/// The rows whose label the solution changes, in row order.
fn moves(labels: &[u32], transport: &Transport) -> Vec<Move> {
    let rows = labels.iter().zip(transport.labels()).enumerate();
    rows.filter(|(_, (from, to))| *from != to)
        .map(|(i, (&from, to))| Move { row: i as u32, from, to })
        .collect()
}

/// By how much the moves lower the cost; at most zero if that is nothing but rounding.
fn gain(costs: &[f32], k: usize, moves: &[Move]) -> f64 {
    let (mut gain, mut scale) = (0.0, 0.0);
    for m in moves {
        let row = &costs[m.row as usize * k..(m.row as usize + 1) * k];
        let (from, to) = (f64::from(row[m.from as usize]), f64::from(row[m.to as usize]));
        gain += from - to;
        scale += from.abs() + to.abs();
    }
    gain - 1e-12 * scale
}
