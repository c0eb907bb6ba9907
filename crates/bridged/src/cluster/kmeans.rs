//! k-means: k centroids such that the rows are close to the nearest of them.
//!
//! ```text
//! minimise  Σ_i ‖x_i − c_{a(i)}‖²   over labels a and centroids c
//! ```
//!
//! Lloyd's iteration alternates two steps, each of which can only lower the sum: every row takes
//! its nearest centroid, every centroid becomes the mean of its rows. It stops when no row moves,
//! or when the centroids move by less than `tol`. A full pass costs O(n k d); the default skips the
//! rows that provably stay (`bounds`), with the same labels at the end. Whatever ends a run, its
//! labels are those of the nearest centre that it keeps. From several starts the run with the lowest
//! sum is kept, whole. Where one pass takes long, the starts are compared on a sample (`start`).
//!
//! Choose it when clusters are round and of any size; where sizes are known to be equal,
//! balanced k-means finds them better.
//!
//! Lloyd 1982; Arthur & Vassilvitskii 2007 (k-means++); Hornik et al. 2012 (spherical k-means).

mod run;
mod start;

use super::assign::AssignRule;
use super::bounds::{bounds_memory, least_memory};
use super::clustering::{check_shape, for_each_distance, unit_rows};
use super::state::States;
use crate::cluster::{ClusterError, Clusterer, Clustering, Init, Metric};
use crate::settings::{ITERATIONS, Limits, RESTARTS, TOLERANCE};
use bridged_math::cancel::carry;
use bridged_math::distance::squared_distance;
use bridged_math::rows::{BlockSums, Mapped, mean_row};
use bridged_math::{Matrix, MatrixRef, Rows, RowsError, Seed, Stage, Watch, chunks};
use rayon::prelude::*;
use run::{Ended, EndedState, Run, RunState};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// k-means with restarts.
///
/// ```
/// use bridged::cluster::{Clusterer, KMeans};
/// use bridged::{Matrix, Seed, Silent};
///
/// let x = Matrix::from_rows(&[[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]]);
/// let clustering = KMeans { k: 2, ..KMeans::default() }.fit(x.view(), Seed(0), &Silent)?;
/// assert_eq!(clustering.labels[0], clustering.labels[1]);
/// assert_ne!(clustering.labels[0], clustering.labels[2]);
/// assert_eq!(clustering.inertia, 1.0);
/// # Ok::<(), bridged::cluster::ClusterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KMeans {
    /// The number of clusters.
    pub k: usize,
    /// Whether rows that provably stay are skipped; the result is the same.
    pub algorithm: Algorithm,
    /// Where a run starts.
    pub init: Init,
    /// The most iterations of a run.
    pub max_iter: u32,
    /// A run ends when Σ ‖shift of a centroid‖² falls to `tol` × the mean variance of the columns;
    /// 0 goes on until no row moves.
    pub tol: f64,
    /// Runs from different starts, of which the best is kept. Where rows × columns × `k` is beyond 4 · 10⁹, starts
    /// are compared on a sample, and the best of them gets the one run over all rows.
    pub restarts: u32,
    /// Euclidean, or cosine for spherical k-means.
    pub metric: Metric,
}

/// How the assignment step is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Bounds on the distances skip rows that cannot move.
    #[default]
    Pruned,
    /// Every row meets every centroid in every iteration.
    Lloyd,
}

impl Default for KMeans {
    fn default() -> Self {
        Self {
            k: 8,
            algorithm: Algorithm::Pruned,
            init: Init::PlusPlus,
            max_iter: 100,
            tol: 1e-4,
            restarts: 10,
            metric: Metric::Euclidean,
        }
    }
}

/// Below this many numbers, restarts run side by side; above it, each run uses all threads.
const SMALL: usize = 4_000_000;
/// The name of the stage, and of its state.
const NAME: &str = "kmeans";
/// What the watch hears of the number of starts as that were compared on a sample.
pub const SAMPLED_STARTS: &str = "sampled_starts";

/// Where the work is between two passes.
#[derive(Serialize, Deserialize)]
struct KMeansState {
    least_shift: f64,
    restart: usize,
    /// The best of the restarts before it.
    best: Option<EndedState>,
    run: RunState,
}

crate::limits!(KMeans {
    k: Limits::at_least(1),
    max_iter: ITERATIONS,
    tol: TOLERANCE,
    restarts: RESTARTS,
});

impl Clusterer for KMeans {
    fn memory(&self, rows: usize, cols: usize) -> u64 {
        let (n, d, k) = (rows as f64, cols as f64, self.k.min(rows) as f64);
        let copy = if self.metric == Metric::Cosine { 4.0 * n * d } else { 0.0 };
        let at_once =
            if rows.saturating_mul(cols) <= SMALL { side_by_side(self.restarts) } else { 1.0 };
        (copy + at_once * run_memory(rows, cols, self.k.min(rows)) + 12.0 * n + 8.0 * k * d) as u64
    }

    fn uses_origin(&self) -> bool {
        self.metric == Metric::Cosine || matches!(self.init, Init::Given(_))
    }

    fn memory_of_passes(&self, rows: usize, cols: usize) -> Option<u64> {
        let k = self.k.min(rows);
        let start = match self.starts_on_sample(rows, cols) {
            true => {
                let sample = super::init::sample_of(k);
                4.0 * (sample * cols) as f64 + run_memory(sample, cols, k)
            }
            false => 0.0,
        };
        Some((start.max(least_memory(rows)) + start_memory(rows, cols, k)) as u64)
    }

    fn memory_wanted(&self, rows: usize, cols: usize, free: u64) -> Option<u64> {
        let least = self.memory_of_passes(rows, cols)?;
        let bounds = match self.algorithm {
            Algorithm::Pruned => bounds_memory(rows, cols, self.k.min(rows)) as u64,
            Algorithm::Lloyd => 0,
        };
        Some(least + bounds.min(run::bounds_within(rows, free)))
    }

    fn cluster(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        let unit = (self.metric == Metric::Cosine).then(|| unit_rows(x));
        match &unit {
            Some(unit) => self.fit_seen(&x, &unit.view(), seed, watch),
            None => self.fit_seen(&x, &x, seed, watch),
        }
    }

    fn cluster_rows(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        match (rows.in_memory(), self.metric) {
            (Some(x), _) => self.cluster(x, seed, watch),
            (None, Metric::Euclidean) => self.fit_seen(rows, rows, seed, watch),
            (None, Metric::Cosine) => {
                let unit = Mapped::new(rows, rows.cols(), unit_rows);
                self.fit_seen(rows, &unit, seed, watch)
            }
        }
    }
}

/// How many of these restarts run at the same time.
fn side_by_side(restarts: u32) -> f64 {
    f64::from(restarts).min(rayon::current_num_threads() as f64)
}

/// The bytes of a start from a sample, of the centres, and of the labels, where rows come in passes.
fn start_memory(rows: usize, cols: usize, k: usize) -> f64 {
    let (n, d) = (rows as f64, cols as f64);
    let sample = super::init::sample_of(k).min(rows) as f64;
    let remembered = 8.0 * 4.0 * k as f64 * d;
    let centres = k as f64 * d * 40.0 + 5.0 * (k * k) as f64;
    sample * (4.0 * d + 4.0 * (4.0 + (k as f64).ln())) + remembered + centres + 4.0 * n
}

/// The bytes that one run takes at most: the start, the bounds of rows, where the centres were, and
/// the centres as the kernels want them with their distances from each other.
pub(super) fn run_memory(rows: usize, cols: usize, k: usize) -> f64 {
    let (n, d) = (rows as f64, cols as f64);
    let start = n * (4.0 * (3.0 + (k as f64).ln()) + 4.0);
    let remembered = (4.0 * n * d / 4.0).max(8.0 * 4.0 * k as f64 * d);
    let centres = k as f64 * d * 40.0 + 5.0 * (k * k) as f64;
    start.max(bounds_memory(rows, cols, k) + remembered) + centres + 24.0 * n
}

/// Keeps only the best so far, so that large data never hold several runs.
pub(super) fn best_of(
    runs: impl Iterator<Item = Result<KMeansRun, ClusterError>>,
) -> Result<Vec<KMeansRun>, ClusterError> {
    let mut best: Option<KMeansRun> = None;
    for run in runs {
        let run = run?;
        best = Some(match best {
            Some(b) => b.better(run),
            None => run,
        });
    }
    Ok(best.into_iter().collect())
}

/// One run from one start.
pub(super) struct KMeansRun {
    pub labels: Vec<u32>,
    pub centroids: Matrix,
    pub inertia: f64,
    pub iterations: u32,
    pub converged: bool,
    /// Whether the centroids are the means of the labels as well: another iteration changes nothing.
    pub at_rest: bool,
}

impl KMeansRun {
    /// The run with the lower inertia; of equals the earlier.
    pub fn better(self, other: KMeansRun) -> KMeansRun {
        if other.inertia < self.inertia { other } else { self }
    }
}

impl KMeans {
    /// Clusters `rows`, which the metric sees as `seen`.
    fn fit_seen(
        &self,
        rows: &dyn Rows,
        seen: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        check_shape(rows, self.k)?;
        let on_sample = self.starts_on_sample(rows.rows(), rows.cols());
        let restarts =
            if on_sample { 1 } else { self.init.useful_restarts(self.restarts) as usize };
        let stage = Stage::begin(watch, NAME, Some(restarts as u64 * u64::from(self.max_iter)))?;
        let states = States::of(NAME, self, (rows, seed), watch);
        let resumed: Option<KMeansState> = states.resume();
        let least_shift = match &resumed {
            Some(state) => state.least_shift,
            None => self.tol * mean_variance(seen)?,
        };
        let done = AtomicU64::new(0);
        let tick = |steps: u32| {
            stage.step(done.fetch_add(u64::from(steps), Ordering::Relaxed) + u64::from(steps))
        };
        let start = |r: usize| match on_sample {
            true => self.start_on_sample(seen, seed, &stage),
            false => self.init.centroids(seen, self.k, seed.nth(r)),
        };
        let is_small = rows.in_memory().is_some_and(|x| x.data().len() <= SMALL);
        if is_small && !on_sample {
            let run = |r: usize| -> Result<KMeansRun, ClusterError> {
                let run = Run::begin(self, seen, start(r)?)?;
                let ended = run.finish(least_shift, &mut |_| tick(1))?.run;
                tick(self.max_iter.saturating_sub(ended.iterations))?;
                Ok(ended)
            };
            let runs: Vec<KMeansRun> =
                (0..restarts).into_par_iter().map(carry(run)).collect::<Result<_, _>>()?;
            let best = runs.into_iter().reduce(KMeansRun::better);
            return self.finish(rows, best.expect("at least one restart is made"));
        }
        if on_sample {
            watch.figure(SAMPLED_STARTS, f64::from(self.restarts.max(1)));
        }
        let (mut first, mut best, mut going) = (0, None, None);
        if let Some(KMeansState { restart, best: ended, run, .. }) = resumed {
            tick(restart as u32 * self.max_iter + run.iterations.saturating_sub(1))?;
            best = ended.map(|ended| Ended::restore(self, seen, ended)).transpose()?;
            (first, going) = (restart, Some(Run::resume(self, seen, run)?));
        }
        for restart in first..restarts {
            let run = match going.take() {
                Some(run) => run,
                None => Run::begin(self, seen, start(restart)?)?,
            };
            let ended = run.finish(least_shift, &mut |run| {
                if states.are_wanted() {
                    let best = best.as_ref().map(Ended::state);
                    states.save(&KMeansState { least_shift, restart, best, run: run.state() });
                }
                tick(1)
            })?;
            tick(self.max_iter.saturating_sub(ended.run.iterations))?;
            // Only the best so far, so that large data never hold several runs.
            best = Some(match best {
                Some(best) => Ended::better(best, ended),
                None => ended,
            });
        }
        self.finish(rows, best.expect("at least one restart is made").run)
    }

    /// Under the cosine metric, centroids are directions.
    pub(super) fn on_sphere(&self, centroids: Matrix) -> Matrix {
        match self.metric {
            Metric::Euclidean => centroids,
            Metric::Cosine => unit_rows(centroids.view()),
        }
    }

    fn finish(&self, rows: &dyn Rows, run: KMeansRun) -> Result<Clustering, ClusterError> {
        let rule = AssignRule::Nearest { centres: run.centroids, metric: self.metric };
        let mut clustering = Clustering::from_labels_of(rows, run.labels, self.k, rule)?;
        if let (AssignRule::Nearest { centres, .. }, Metric::Euclidean, true) =
            (&mut clustering.rule, self.metric, run.at_rest)
        {
            // The running sums and a sum from scratch may differ in the last bit.
            *centres = clustering.centroids.clone();
        }
        clustering.iterations = run.iterations;
        clustering.converged = run.converged;
        Ok(clustering)
    }
}

/// The `most` rows that are furthest from their own centroids, the furthest first; of equals the first.
pub(super) fn furthest(
    rows: &dyn Rows,
    labels: &[u32],
    centroids: &Matrix,
    most: usize,
) -> Result<Vec<usize>, RowsError> {
    let mut found: Vec<(f64, usize)> = Vec::new();
    let order = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    let own = |i: usize| Some(centroids.row(labels[i] as usize));
    for_each_distance(rows, own, |first, squared| {
        found.extend(squared.iter().enumerate().map(|(i, &s)| (s, first + i)));
        if found.len() > most {
            found.select_nth_unstable_by(most, order);
            found.truncate(most);
        }
    })?;
    found.sort_unstable_by(order);
    Ok(found.into_iter().map(|(_, i)| i).collect())
}

/// How far rows lie from their mean.
pub(super) struct Scatter {
    pub mean: Vec<f32>,
    /// ‖row − mean‖² of every row.
    pub squares: Vec<f64>,
    /// Σ ‖row − mean‖².
    pub sum: f64,
}

impl Scatter {
    pub fn of(x: MatrixRef<'_>) -> Self {
        let mean: Vec<f32> = x.mean_row().into_iter().map(|v| v as f32).collect();
        let squares = chunks::map_blocks(x.rows(), |range| {
            range.map(|i| squared_distance(x.row(i), &mean)).collect::<Vec<f64>>()
        });
        let sum = squares.iter().map(|block| block.iter().sum::<f64>()).sum();
        Self { mean, squares: squares.concat(), sum }
    }
}

/// The mean over the columns of their variance.
pub(super) fn mean_variance(rows: &dyn Rows) -> Result<f64, RowsError> {
    let (n, d) = (rows.rows(), rows.cols());
    if let Some(x) = rows.in_memory() {
        return Ok(Scatter::of(x).sum / x.data().len() as f64);
    }
    let mean: Vec<f32> = mean_row(rows)?.into_iter().map(|v| v as f32).collect();
    let mut sum = BlockSums::new(n, 1);
    for_each_distance(
        rows,
        |_| Some(&mean),
        |first, squared| {
            sum.add(first, squared.len(), |range, sum| {
                squared[range].iter().for_each(|s| sum[0] += s);
            });
        },
    )?;
    Ok(sum.total()[0] / (n * d) as f64)
}

#[cfg(test)]
mod tests {
    use super::super::bounds::{Assigner, Pruning};
    use super::super::clustering::inertia_of;
    use super::super::sums::Sums;
    use super::run::follow;
    use super::*;
    use bridged_math::Silent;
    use proptest::prelude::*;
    use rand::RngExt;

    fn blobs(n: usize, d: usize, centres: usize, spread: f32, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        let means = Matrix::from_fn(centres, d, |_, _| 10.0 * rng.random::<f32>());
        Matrix::from_fn(n, d, |i, j| {
            means.row(i % centres)[j] + spread * (rng.random::<f32>() + rng.random::<f32>() - 1.0)
        })
    }

    /// Lloyd's iteration as the text book has it, in f64.
    fn text_book(x: &Matrix, start: &Matrix, max_iter: u32) -> (Vec<u32>, f64) {
        let mut centroids = start.clone();
        let mut labels = vec![u32::MAX; x.rows()];
        for _ in 0..max_iter {
            let next: Vec<u32> = (0..x.rows())
                .map(|i| {
                    let to = |j: &usize| squared_distance(x.row(i), centroids.row(*j));
                    (0..centroids.rows()).min_by(|a, b| to(a).total_cmp(&to(b))).unwrap() as u32
                })
                .collect();
            if next == labels {
                break;
            }
            labels = next;
            centroids = super::super::clustering::means_of(x.view(), &labels, start.rows()).0;
        }
        let inertia = inertia_of(&x.view(), &labels, &centroids).unwrap();
        (labels, inertia)
    }

    fn all_agree(n: usize, d: usize, k: usize, spread: f32, seed: u64) {
        let x = blobs(n, d, 7, spread, seed);
        let start = Init::PlusPlus.centroids(&x.view(), k, Seed(seed)).unwrap();
        let fit = |algorithm| {
            let init = Init::Given(start.clone());
            let spec = KMeans { k, algorithm, init, tol: 0.0, max_iter: 200, ..KMeans::default() };
            spec.fit(x.view(), Seed(0), &Silent).unwrap()
        };
        let (pruned, lloyd) = (fit(Algorithm::Pruned), fit(Algorithm::Lloyd));
        assert_eq!(&pruned, &lloyd);
        let (labels, inertia) = text_book(&x, &start, 200);
        if labels.iter().collect::<std::collections::HashSet<_>>().len() == k {
            assert!((pruned.inertia - inertia).abs() <= 1e-3 * inertia.max(1e-9));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn pruned_and_lloyd_and_the_text_book_agree(
            n in 30usize..400, d in 1usize..40, k in 1usize..28, spread in 0.1f32..8.0, seed in 0u64..10_000,
        ) {
            all_agree(n, d, k, spread, seed);
        }
    }

    #[test]
    fn centres_that_f32_cannot_tell_apart_are_measured_again() {
        all_agree(317, 32, 17, 0.316_744_45, 3573);
        all_agree(214, 13, 18, 0.261_786_85, 5692);
    }

    #[test]
    fn far_from_the_origin_pruning_changes_nothing() {
        for seed in 0..40 {
            let mut x = blobs(400, 24, 7, 3.0, seed);
            x.data_mut().iter_mut().for_each(|v| *v += 3e3);
            let start = Init::Random.centroids(&x.view(), 20, Seed(seed)).unwrap();
            let fit = |algorithm| {
                let init = Init::Given(start.clone());
                let spec = KMeans { k: 20, algorithm, init, tol: 0.0, ..KMeans::default() };
                spec.fit(x.view(), Seed(0), &Silent).unwrap()
            };
            assert_eq!(fit(Algorithm::Pruned), fit(Algorithm::Lloyd), "seed {seed}");
        }
    }

    #[test]
    fn pruning_skips_rows_and_changes_nothing_on_larger_data() {
        let x = blobs(20_000, 24, 60, 4.0, 1);
        let start = Init::Random.centroids(&x.view(), 90, Seed(2)).unwrap();
        let fit = |algorithm| {
            let init = Init::Given(start.clone());
            let spec = KMeans { k: 90, algorithm, init, tol: 0.0, ..KMeans::default() };
            spec.fit(x.view(), Seed(0), &Silent).unwrap()
        };
        let (pruned, lloyd) = (fit(Algorithm::Pruned), fit(Algorithm::Lloyd));
        assert!(pruned.iterations > 10);
        assert_eq!(pruned, lloyd);
    }

    #[test]
    fn an_empty_cluster_gets_the_furthest_row() {
        let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [50.0]]);
        let init = Init::Given(Matrix::from_rows(&[[0.0], [1e6], [1e6]]));
        let spec = KMeans { k: 3, init, ..KMeans::default() };
        let clustering = spec.fit(x.view(), Seed(0), &Silent).unwrap();
        assert!(clustering.sizes.iter().all(|&s| s > 0));
        assert_eq!(clustering.labels.iter().filter(|&&l| l == clustering.labels[3]).count(), 1);
    }

    #[test]
    fn cosine_ignores_length() {
        let x = Matrix::from_rows(&[[1.0, 0.1], [100.0, 9.0], [0.1, 1.0], [0.2, 50.0]]);
        let spec = KMeans { k: 2, metric: Metric::Cosine, ..KMeans::default() };
        let clustering = spec.fit(x.view(), Seed(0), &Silent).unwrap();
        assert_eq!(clustering.labels[0], clustering.labels[1]);
        assert_eq!(clustering.labels[2], clustering.labels[3]);
        assert_ne!(clustering.labels[0], clustering.labels[2]);
        let lone = Matrix::from_rows(&[[1e-3, 0.0]]);
        assert_eq!(clustering.assign(lone.view()), clustering.labels[..1]);
        // Centroids stay the means of the rows themselves, not of their directions.
        assert_eq!(clustering.centroids.row(clustering.labels[0] as usize), [50.5, 4.55]);
    }

    #[derive(Deserialize)]
    struct Golden {
        x: Vec<Vec<f32>>,
        init: Vec<Vec<f32>>,
        labels: Vec<u32>,
        centroids: Vec<Vec<f32>>,
        inertia: f64,
        iterations: u32,
    }

    #[test]
    fn from_given_centres_it_agrees_with_scikit_learn() {
        let cases = include_str!("../../../../tests/golden/kmeans.json");
        let cases: Vec<Golden> = serde_json::from_str(cases).unwrap();
        assert_eq!(cases.len(), 5);
        for case in cases {
            let x = Matrix::from_rows(&case.x);
            let init = Init::Given(Matrix::from_rows(&case.init));
            let k = case.init.len();
            let spec = KMeans { k, init, tol: 0.0, ..KMeans::default() };
            let clustering = spec.fit(x.view(), Seed(0), &Silent).unwrap();
            assert_eq!(clustering.labels, case.labels);
            assert_eq!(clustering.iterations, case.iterations);
            assert!((clustering.inertia - case.inertia).abs() < 1e-4 * case.inertia);
            let centroids = Matrix::from_rows(&case.centroids);
            for (a, b) in clustering.centroids.data().iter().zip(centroids.data()) {
                assert!((a - b).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn rows_in_parts_give_the_bytes_of_rows_in_memory() {
        use bridged_math::rows::InParts;
        let x = blobs(3_000, 5, 7, 3.0, 1);
        let few = Matrix::from_fn(40, 2, |i, _| (i % 4) as f32); // clusters run empty
        for metric in [Metric::Euclidean, Metric::Cosine] {
            for (x, k) in [(&x, 9), (&few, 6)] {
                for algorithm in [Algorithm::Pruned, Algorithm::Lloyd] {
                    let spec = KMeans { k, metric, algorithm, restarts: 2, ..KMeans::default() };
                    let whole = spec.fit(x.view(), Seed(3), &Silent).unwrap();
                    for len in [1, 37, 700, 5_000] {
                        let parts = InParts::new(x.view(), len);
                        assert_eq!(spec.fit_rows(&parts, Seed(3), &Silent).unwrap(), whole);
                    }
                }
            }
        }
        let ties = Matrix::from_fn(900, 2, |i, j| ((i * (j + 3)) % 5) as f32);
        let spec = KMeans { k: 8, restarts: 2, ..KMeans::default() };
        let parts = InParts::new(ties.view(), 70);
        assert_eq!(
            spec.fit_rows(&parts, Seed(3), &Silent).unwrap(),
            spec.fit(ties.view(), Seed(3), &Silent).unwrap()
        );
        let random = KMeans { k: 8, init: Init::Random, restarts: 2, ..KMeans::default() };
        let parts = InParts::new(x.view(), 100);
        assert_eq!(
            random.fit_rows(&parts, Seed(3), &Silent).unwrap(),
            random.fit(x.view(), Seed(3), &Silent).unwrap()
        );
        let mut bad = x.clone();
        bad.row_mut(250)[3] = f32::NAN;
        let error = random.fit_rows(&InParts::new(bad.view(), 100), Seed(0), &Silent).unwrap_err();
        assert_eq!(error, ClusterError::NotFinite { row: 250, column: 3 });
    }

    #[test]
    fn starts_for_very_many_rows_are_compared_on_a_sample() {
        use bridged_math::rows::InParts;
        let x = blobs(40_000, 20, 40, 3.0, 5);
        let spec = KMeans { k: 60, restarts: 3, max_iter: 2, ..KMeans::default() };
        assert!(spec.starts_on_sample(40_000, 20));
        assert!(!spec.starts_on_sample(40_000, 10) && !spec.starts_on_sample(30_000, 200));
        let given = KMeans { init: Init::Given(Matrix::zeros(60, 20)), ..spec.clone() };
        assert!(!given.starts_on_sample(40_000, 20));
        let whole = spec.fit(x.view(), Seed(3), &Silent).unwrap();
        for len in [999, 30_000] {
            let parts = InParts::new(x.view(), len);
            assert_eq!(spec.fit_rows(&parts, Seed(3), &Silent).unwrap(), whole);
        }
        let start = Init::PlusPlus.centroids(&x.view(), 60, Seed(3).nth(0)).unwrap();
        let one = KMeans { init: Init::Given(start), ..spec };
        let one = one.fit(x.view(), Seed(3), &Silent).unwrap();
        assert!(whole.inertia < one.inertia, "{} {}", whole.inertia, one.inertia);
    }

    #[test]
    fn little_room_for_bounds_changes_no_label() {
        little_room(&blobs(4_000, 6, 20, 2.0, 3));
        // Whole numbers are as far from several centres.
        little_room(&Matrix::from_fn(4_000, 6, |i, j| ((i * i + 3 * j * i) % 4) as f32));
    }

    fn little_room(x: &Matrix) {
        let start = x.view().select((0..40).map(|i| i * 91));
        let labels = |room: u64| {
            let mut assigner = Assigner::new(4_000, start.view(), Pruning::On, room);
            let (mut sums, mut centroids) = (Sums::zeros(40, 6), start.clone());
            assigner
                .assign(&x.view(), centroids.view(), &mut |assigner, part| {
                    sums.join(part.rows, &assigner.labels_of(0..4_000));
                })
                .unwrap();
            for _ in 0..6 {
                centroids = sums.means();
                follow(&x.view(), &mut assigner, &mut sums, &centroids).unwrap();
            }
            (assigner.labels(), centroids)
        };
        let all = labels(u64::MAX);
        for room in [0, 5 * 4_000, 60_000] {
            assert_eq!(labels(room), all, "{room} bytes");
        }
    }
}
