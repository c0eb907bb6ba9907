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
//! Beyond 20 million distances the same is done by passes (`balanced/large.rs`), which hold neither the
//! distances nor, where they come from files, the rows.
//!
//! That alone stops early where clusters are small and columns many, because every row draws its own
//! centroid towards itself; by default that is corrected (`balanced/hartigan.rs`, [`Descent`]).
//!
//! Choose it when the groups are known to be of similar size. New rows take the nearest centroid:
//! the bounds are about the training rows.
//!
//! Bradley, Bennett & Demiriz 2000 (constrained k-means); Malinen & Fränti 2014 (balanced k-means).

mod hartigan;
pub(crate) mod large;
mod lloyd;

use super::assign::AssignRule;
use super::clustering::{check_shape, unit_rows};
use super::kmeans::{KMeansRun, Scatter};
use crate::cluster::{ClusterError, Clusterer, Clustering, Init, Metric};
use crate::settings::{ITERATIONS, Limits, RESTARTS, TOLERANCE};
use bridged_math::cancel::carry;
use bridged_math::transport::{Capacity, Transport};
use bridged_math::{Matrix, MatrixRef, Rows, Seed, Stage, Watch, chunks};
use lloyd::{Lloyd, Restart};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// k-means with bounds on the sizes of the clusters.
///
/// ```
/// use bridged::cluster::{BalancedKMeans, Clusterer};
/// use bridged::{Matrix, Seed, Silent};
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
    /// How a run goes down.
    pub descent: Descent,
}

/// How the sum of squares is lowered from iteration to iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Descent {
    /// A row is not held back by its own weight in its centroid: lower sums of squares, most of all
    /// where rows are far from all centroids, in about as many iterations. Under the cosine metric,
    /// the same as Lloyd.
    #[default]
    Hartigan,
    /// The nearest centroids as they are: what the paper ran.
    Lloyd,
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
            descent: Descent::default(),
        }
    }
}

/// Up to this many distances, restarts advance side by side: one product with the centroids of all
/// of them is faster than many narrow ones, and their assignments run in parallel.
const SIDE_BY_SIDE: usize = 4_000_000;
/// Groups of restarts that advance side by side.
const GROUPS: usize = 2;

crate::limits!(BalancedKMeans {
    k: Limits::at_least(1),
    min_size: Limits::at_least(0),
    max_size: Limits::at_least(1),
    max_iter: ITERATIONS,
    tol: TOLERANCE,
    restarts: RESTARTS,
});

impl Clusterer for BalancedKMeans {
    fn memory(&self, rows: usize, cols: usize) -> u64 {
        if large::is_large(rows, cols, self.k) {
            return large::memory_by_passes(self, rows, cols);
        }
        let (n, d, k) = (rows as f64, cols as f64, self.k.min(rows) as f64);
        let copy = if self.metric == Metric::Cosine { 4.0 * n * d } else { 0.0 };
        let at_once = (SIDE_BY_SIDE as f64 / (n * k).max(1.0)).clamp(1.0, f64::from(self.restarts));
        // Of each restart the costs; of all that run at once a product, and the offers of columns.
        let costs = 4.0 * n * k * at_once * if at_once > 1.0 { 2.0 } else { 1.0 };
        let start = n * 4.0 * (3.0 + k.ln()) * at_once;
        let columns = at_once.min(GROUPS as f64) * k * k * 60.0;
        (copy + costs + start + columns + at_once * (40.0 * k * d + 48.0 * n)) as u64
    }

    fn uses_origin(&self) -> bool {
        self.metric == Metric::Cosine || matches!(self.init, Init::Given(_))
    }

    fn memory_of_passes(&self, rows: usize, cols: usize) -> Option<u64> {
        Some(match large::is_large(rows, cols, self.k) {
            true => large::memory_by_passes(self, rows, cols),
            false => 4 * (rows * cols) as u64 + self.memory(rows, cols),
        })
    }

    fn cluster_rows(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        large::cluster_rows(self, rows, seed, watch)
    }

    fn cluster(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        check_shape(&x, self.k)?;
        if large::is_large(x.rows(), x.cols(), self.k) {
            return large::cluster_rows(self, &x, seed, watch);
        }
        let bounds = self.bounds(x.rows())?;
        let unit = (self.metric == Metric::Cosine).then(|| unit_rows(x));
        let rows = unit.as_ref().map_or(x, Matrix::view);
        let scatter = chunks::in_pool(|| Scatter::of(rows));
        let lloyd = Lloyd {
            x: rows,
            scatter: &scatter,
            least_shift: self.tol * scatter.sum / rows.data().len() as f64,
            max_iter: self.max_iter,
            metric: self.metric,
            // Directions have another sum of squares.
            descent: match self.metric {
                Metric::Euclidean => self.descent,
                Metric::Cosine => Descent::Lloyd,
            },
        };
        let restarts = self.init.useful_restarts(self.restarts) as usize;
        let stage =
            Stage::begin(watch, "balanced", Some(restarts as u64 * u64::from(self.max_iter)))?;
        let at_once = (SIDE_BY_SIDE / (x.rows() * self.k)).clamp(1, restarts);
        let mut best: Option<KMeansRun> = None;
        for from in (0..restarts).step_by(at_once) {
            let seeds: Vec<Seed> =
                (from..(from + at_once).min(restarts)).map(|r| seed.nth(r)).collect();
            let before = from as u64 * u64::from(self.max_iter);
            let done = AtomicU64::new(0);
            // Two groups that need not wait for each other. Which there are does not depend on the
            // threads: the last bit of a cost depends on which others are in the product.
            let groups: Vec<&[Seed]> = seeds.chunks(seeds.len().div_ceil(GROUPS)).collect();
            let run_group = |seeds: &&[Seed]| {
                let starts = self.init.starts(rows, &scatter, self.k, seeds)?;
                let restarts_of_group = starts
                    .into_iter()
                    .map(|start| Restart::new(start, self.metric, Transport::new(bounds.clone())));
                lloyd.run(restarts_of_group.collect(), |steps| {
                    stage.step(before + done.fetch_add(steps, Ordering::Relaxed) + steps)
                })
            };
            let runs: Result<Vec<Vec<KMeansRun>>, ClusterError> =
                chunks::in_pool(|| groups.par_iter().map(carry(run_group)).collect());
            best = best.into_iter().chain(runs?.into_iter().flatten()).reduce(KMeansRun::better);
        }
        Ok(self.finish(x, best.expect("at least one restart is made")))
    }
}

impl BalancedKMeans {
    /// The bounds for `n` rows; no cluster is ever empty.
    pub(crate) fn bounds(&self, n: usize) -> Result<Capacity, ClusterError> {
        let (min, max) = match (self.min_size, self.max_size) {
            (None, None) => (n / self.k, n.div_ceil(self.k)),
            (min, max) => (min.unwrap_or(1).max(1), max.unwrap_or(n)),
        };
        let least = min.checked_mul(self.k);
        let most = max.saturating_mul(self.k);
        if min > max || least.is_none_or(|least| least > n) || n > most {
            return Err(ClusterError::BadSizes { rows: n, k: self.k, min, max });
        }
        Ok(Capacity::uniform(self.k, min as u32, max.min(n) as u32))
    }

    fn finish(&self, x: MatrixRef<'_>, run: KMeansRun) -> Clustering {
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

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::distance::Centres;
    use bridged_math::{Event, Silent};
    use rand::RngExt;
    use std::ops::ControlFlow;

    fn blobs(n: usize, d: usize, k: usize, spread: f32, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        let means = Matrix::from_fn(k, d, |_, _| 10.0 * rng.random::<f32>());
        Matrix::from_fn(n, d, |i, j| {
            means.row((i * i) % k)[j] + spread * (rng.random::<f32>() - 0.5)
        })
    }

    fn fit(spec: &BalancedKMeans, x: &Matrix) -> Clustering {
        let clustering = spec.fit(x.view(), Seed(1), &Silent).unwrap();
        assert_eq!(clustering.labels.len(), x.rows());
        assert_eq!(clustering.k(), spec.k);
        let mut sizes = vec![0u32; spec.k];
        clustering.labels.iter().for_each(|&l| sizes[l as usize] += 1);
        assert_eq!(clustering.sizes, sizes);
        assert!(sizes.iter().all(|&s| s > 0), "{sizes:?}");
        clustering
    }

    #[test]
    fn one_cluster_is_the_mean_of_all_rows() {
        let x = blobs(100, 3, 4, 1.0, 1);
        let clustering = fit(&BalancedKMeans { k: 1, ..BalancedKMeans::default() }, &x);
        let mean: Vec<f32> = x.view().mean_row().into_iter().map(|v| v as f32).collect();
        assert_eq!(clustering.centroids.row(0), mean);
    }

    #[test]
    fn as_many_clusters_as_rows_are_the_rows() {
        let x = blobs(20, 2, 20, 1.0, 2);
        let clustering = fit(&BalancedKMeans { k: 20, ..BalancedKMeans::default() }, &x);
        assert_eq!(clustering.inertia, 0.0);
    }

    #[test]
    fn one_column_constant_rows_and_duplicates_are_clustered() {
        let line = Matrix::from_fn(50, 1, |i, _| (i * i) as f32);
        fit(&BalancedKMeans { k: 7, ..BalancedKMeans::default() }, &line);
        let constant = Matrix::from_fn(30, 3, |_, j| j as f32);
        assert_eq!(
            fit(&BalancedKMeans { k: 4, ..BalancedKMeans::default() }, &constant).inertia,
            0.0
        );
        let pairs = Matrix::from_fn(60, 2, |i, j| (i % 3 * (j + 1)) as f32);
        fit(&BalancedKMeans { k: 5, ..BalancedKMeans::default() }, &pairs);
    }

    #[test]
    fn the_result_does_not_depend_on_the_threads() {
        let x = blobs(3_000, 20, 6, 12.0, 3);
        for metric in [Metric::Euclidean, Metric::Cosine] {
            let spec = BalancedKMeans { k: 6, restarts: 3, metric, ..BalancedKMeans::default() };
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| fit(&spec, &x))
            };
            assert_eq!(on(1), on(4));
        }
    }

    #[test]
    fn a_watch_can_stop_it() {
        struct Stop;
        impl Watch for Stop {
            fn on(&self, event: Event<'_>) -> ControlFlow<()> {
                match event {
                    Event::Step { .. } => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            }
        }
        let x = blobs(200, 3, 4, 5.0, 4);
        let result =
            BalancedKMeans { k: 4, ..BalancedKMeans::default() }.fit(x.view(), Seed(0), &Stop);
        assert_eq!(result.unwrap_err(), ClusterError::Cancelled(bridged_math::Cancelled));
    }

    #[test]
    fn sizes_are_even_by_default() {
        let x = blobs(103, 4, 3, 4.0, 5);
        let mut sizes = fit(&BalancedKMeans { k: 7, ..BalancedKMeans::default() }, &x).sizes;
        sizes.sort_unstable();
        assert_eq!(sizes, [14, 14, 15, 15, 15, 15, 15]);
    }

    #[test]
    fn given_bounds_hold_and_the_other_side_is_open() {
        let x = blobs(200, 2, 3, 1.0, 6);
        let with = |min_size, max_size| {
            fit(&BalancedKMeans { k: 5, min_size, max_size, ..BalancedKMeans::default() }, &x).sizes
        };
        assert!(with(Some(30), None).iter().all(|&s| s >= 30));
        assert!(with(None, Some(45)).iter().all(|&s| s <= 45));
        assert!(with(Some(20), Some(60)).iter().all(|&s| (20..=60).contains(&s)));
        // Bounds that bind nothing leave plain k-means.
        let descent = Descent::Lloyd;
        let free = BalancedKMeans { k: 3, min_size: Some(0), descent, ..BalancedKMeans::default() };
        let free = fit(&free, &x);
        let plain = crate::cluster::KMeans { k: 3, ..Default::default() };
        let plain = plain.fit(x.view(), Seed(1), &Silent).unwrap();
        assert_eq!(free.inertia, plain.inertia);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let x = Matrix::zeros(10, 1);
        for (min_size, max_size) in
            [(Some(4), None), (None, Some(3)), (Some(4), Some(2)), (Some(usize::MAX), None)]
        {
            let spec = BalancedKMeans { k: 3, min_size, max_size, ..BalancedKMeans::default() };
            let error = spec.fit(x.view(), Seed(0), &Silent).unwrap_err();
            assert!(matches!(error, ClusterError::BadSizes { rows: 10, k: 3, .. }), "{error}");
        }
        let none = BalancedKMeans { k: 3, max_size: Some(0), ..BalancedKMeans::default() };
        let error = none.fit(x.view(), Seed(0), &Silent).unwrap_err().to_string();
        assert_eq!(error, "`max_size` must be a whole number of at least 1, got 0");
    }

    #[test]
    fn labels_are_optimal_for_centroids_that_are_their_means() {
        let x = blobs(300, 5, 4, 9.0, 7);
        for metric in [Metric::Euclidean, Metric::Cosine] {
            let clustering =
                fit(&BalancedKMeans { k: 6, tol: 0.0, metric, ..BalancedKMeans::default() }, &x);
            assert!(clustering.converged);
            let AssignRule::Nearest { centres, .. } = &clustering.rule else { unreachable!() };
            let rows = Matrix::new(300, 5, metric.view(x.view()).into_owned()).unwrap();
            let costs = Centres::new(centres.view()).squared_distances(rows.view());
            let mut transport = Transport::new(Capacity::even(300, 6));
            transport.solve(&costs).unwrap();
            let cost = |labels: &mut dyn Iterator<Item = u32>| -> f64 {
                labels.enumerate().map(|(i, l)| f64::from(costs[i * 6 + l as usize])).sum()
            };
            let (ours, best) =
                (cost(&mut clustering.labels.iter().copied()), cost(&mut transport.labels()));
            assert!(ours <= best * (1.0 + 1e-5), "{ours} {best}");
        }
    }

    /// Rows that are far from all centroids: what noise in many columns does.
    fn noise(n: usize, d: usize, k: usize, spread: f32, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        let mut normal = || (0..12).map(|_| rng.random::<f32>() - 0.5).sum::<f32>();
        let means = Matrix::from_fn(k, d, |_, _| spread * normal());
        Matrix::from_fn(n, d, |i, j| means.row(i % k)[j] + normal())
    }

    #[test]
    fn rows_that_are_not_held_back_by_their_own_pull_end_lower() {
        for seed in 0..4 {
            let x = noise(600, 200, 6, 0.15, seed);
            let with = |descent| {
                let spec =
                    BalancedKMeans { k: 6, restarts: 2, descent, ..BalancedKMeans::default() };
                fit(&spec, &x)
            };
            let (hartigan, lloyd) = (with(Descent::Hartigan), with(Descent::Lloyd));
            let (lower, than) = (hartigan.inertia, lloyd.inertia);
            assert!(lower < than * 0.998, "{lower} {than}");
            assert!(hartigan.converged && hartigan.sizes == [100; 6]);
        }
    }

    #[test]
    fn few_exchanges_of_two_rows_are_left_that_would_lower_the_sum() {
        let x = noise(90, 60, 3, 0.3, 9);
        let left = |descent| {
            let clustering =
                fit(&BalancedKMeans { k: 3, tol: 0.0, descent, ..BalancedKMeans::default() }, &x);
            // Every exchange of two rows, with both means moved.
            let exchanges = (0..90).flat_map(|a| (0..a).map(move |b| (a, b)));
            let is_better = |&(a, b): &(usize, usize)| {
                let mut labels = clustering.labels.clone();
                labels.swap(a, b);
                let rule = clustering.rule.clone();
                let other = Clustering::from_labels(x.view(), labels, 3, rule);
                other.inertia < clustering.inertia * (1.0 - 1e-9)
            };
            exchanges.filter(is_better).count()
        };
        let (hartigan, lloyd) = (left(Descent::Hartigan), left(Descent::Lloyd));
        assert!(hartigan <= 3 && lloyd >= 20, "{hartigan} {lloyd}");
    }

    #[test]
    fn more_restarts_are_never_worse() {
        let x = blobs(400, 3, 9, 6.0, 8);
        let with = |restarts| {
            fit(&BalancedKMeans { k: 9, restarts, ..BalancedKMeans::default() }, &x).inertia
        };
        assert!(with(8) <= with(2) && with(2) <= with(1));
    }

    #[derive(Deserialize)]
    struct Golden {
        assignments: Vec<GoldenAssignment>,
        clusterings: Vec<GoldenClustering>,
    }

    #[derive(Deserialize)]
    struct GoldenAssignment {
        k: usize,
        sizes: Vec<u32>,
        costs: Vec<f32>,
        optimum: f64,
    }

    #[derive(Deserialize)]
    struct GoldenClustering {
        n: usize,
        d: usize,
        k: usize,
        min_size: usize,
        max_size: usize,
        x: Vec<f32>,
        start: Vec<f32>,
        inertia: f64,
    }

    fn golden() -> Golden {
        serde_json::from_str(include_str!("../../../../tests/golden/balanced.json")).unwrap()
    }

    #[test]
    fn assignments_cost_what_scipy_finds() {
        for case in golden().assignments {
            let bounds = Capacity::new(case.sizes.clone(), case.sizes);
            let mut transport = Transport::new(bounds);
            transport.solve(&case.costs).unwrap();
            let rows = transport.labels().zip(case.costs.chunks_exact(case.k));
            let cost: f64 = rows.map(|(l, row)| f64::from(row[l as usize])).sum();
            assert!((cost - case.optimum).abs() < 1e-9, "{cost} {}", case.optimum);
        }
    }

    #[test]
    fn the_objective_is_not_worse_than_that_of_k_means_constrained() {
        for (at, case) in golden().clusterings.into_iter().enumerate() {
            let x = Matrix::new(case.n, case.d, case.x).unwrap();
            let spec = BalancedKMeans {
                k: case.k,
                min_size: Some(case.min_size),
                max_size: Some(case.max_size),
                init: Init::Given(Matrix::new(case.k, case.d, case.start).unwrap()),
                ..BalancedKMeans::default()
            };
            let inertia = fit(&spec, &x).inertia;
            assert!(inertia <= case.inertia * (1.0 + 1e-5), "case {at}: {inertia}");
        }
    }
}
