//! Mini-batch k-means: k-means that looks at a few random rows at a time.
//!
//! ```text
//! for each step:  draw b rows, label each by its nearest centre,
//!                 c_j ← (N_j c_j + Σ rows of j) / (N_j + n_j),   N_j ← N_j + n_j
//! ```
//!
//! so that every centre is the running mean of the rows that it ever got, and its learning rate
//! falls as 1/N_j. Centres that get hardly any rows are moved to random rows of the batch. A step
//! costs O(b k d) whatever the number of rows; one pass over all rows labels them at the end.
//!
//! Choose it when even one pass of k-means takes too long; its sum of squares is a few per cent
//! higher. Labels are those of the nearest learned centre, which stays the rule for new rows;
//! the centroids reported are the means of the labelled rows.
//!
//! Sculley 2010; early stopping and reassignment as in scikit-learn.

use super::assign::AssignRule;
use super::clustering::{check_shape, unit_rows};
use super::kmeans::{furthest, mean_variance};
use super::state::{States, bits};
use crate::cluster::{ClusterError, Clusterer, Clustering, Init, Metric};
use crate::settings::{ITERATIONS, Limits, RESTARTS, TOLERANCE};
use bridged_math::distance::{Centres, argmin, nearest, squared_distance};
use bridged_math::rows::{Mapped, select_in_order};
use bridged_math::seed::Rng;
use bridged_math::{Matrix, MatrixRef, Rows, RowsError, Seed, Stage, Watch, chunks};
use rand::RngExt;
use rand::seq::index;
use serde::{Deserialize, Serialize};

/// k-means on random batches of rows.
///
/// ```
/// use bridged::cluster::{Clusterer, MiniBatchKMeans};
/// use bridged::{Matrix, Seed, Silent};
///
/// let x = Matrix::from_fn(3000, 1, |i, _| (i % 3) as f32 * 10.0 + (i % 7) as f32 * 0.1);
/// let spec = MiniBatchKMeans { k: 3, ..MiniBatchKMeans::default() };
/// let clustering = spec.fit(x.view(), Seed(0), &Silent)?;
/// assert_eq!(clustering.sizes, [1000, 1000, 1000]);
/// # Ok::<(), bridged::cluster::ClusterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MiniBatchKMeans {
    /// The number of clusters.
    pub k: usize,
    /// Rows of a batch, drawn with replacement; more make each step better and dearer.
    pub batch_size: usize,
    /// The most passes: `max_iter` × rows are drawn at most.
    pub max_iter: u32,
    /// The most steps, instead of `max_iter`.
    pub steps: Option<u32>,
    /// Where the centres start.
    pub init: Init,
    /// Starts that are tried; the one that fits a sample best is taken.
    pub restarts: u32,
    /// Stop when Σ ‖shift of a centre‖² of a step falls to `tol` × the mean variance of the
    /// columns; 0 switches this off.
    pub tol: f64,
    /// Stop after this many steps without a lower smoothed inertia; none never stops for this.
    pub max_no_improvement: Option<u32>,
    /// Centres with fewer rows than this part of the most frequent centre's are moved to random
    /// rows; 0 switches this off.
    pub reassignment_ratio: f64,
    /// Euclidean, or cosine for spherical k-means.
    pub metric: Metric,
}

impl Default for MiniBatchKMeans {
    fn default() -> Self {
        Self {
            k: 8,
            batch_size: 1024,
            max_iter: 100,
            steps: None,
            init: Init::PlusPlus,
            restarts: 3,
            tol: 0.0,
            max_no_improvement: Some(10),
            reassignment_ratio: 0.01,
            metric: Metric::Euclidean,
        }
    }
}

crate::limits!(MiniBatchKMeans {
    k: Limits::at_least(1),
    batch_size: Limits::at_least(1),
    max_iter: ITERATIONS,
    steps: ITERATIONS,
    restarts: RESTARTS,
    tol: TOLERANCE,
    max_no_improvement: ITERATIONS,
    reassignment_ratio: Limits::From(0.0, 1.0),
});

impl Clusterer for MiniBatchKMeans {
    fn memory(&self, rows: usize, cols: usize) -> u64 {
        let (n, d, k) = (rows as f64, cols as f64, self.k.min(rows) as f64);
        let copy = if self.metric == Metric::Cosine { 4.0 * n * d } else { 0.0 };
        let batch = self.batch_size.min(rows) as f64;
        let sample = (3.0 * batch.max(k)).min(n);
        let start = sample * (8.0 * d + 4.0 * (4.0 + k.ln()));
        (copy + start + batch * (4.0 * d + 24.0) + k * d * 48.0 + 5.0 * k * k + 28.0 * n) as u64
    }

    fn uses_origin(&self) -> bool {
        self.metric == Metric::Cosine || matches!(self.init, Init::Given(_))
    }

    fn memory_of_passes(&self, rows: usize, cols: usize) -> Option<u64> {
        let (n, d, k) = (rows as f64, cols as f64, self.k.min(rows) as f64);
        let batch = self.batch_size.min(rows) as f64;
        let sample = (3.0 * batch.max(k)).min(n);
        let gathered = (AHEAD as f64).max(batch).min(n.max(batch)) * 4.0 * d;
        Some((4.0 * sample * d * 2.0 + gathered + k * d * 48.0 + 5.0 * k * k + 12.0 * n) as u64)
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

impl MiniBatchKMeans {
    /// Clusters `rows`, which the metric sees as `seen`.
    fn fit_seen(
        &self,
        rows: &dyn Rows,
        seen: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        check_shape(rows, self.k)?;
        let n = rows.rows();
        let batch = self.batch_size.min(n);
        let states = States::of(NAME, self, (rows, seed), watch);
        let resumed: Option<BatchState> = states.resume();
        let least_shift = match &resumed {
            Some(state) => state.least_shift,
            None if self.tol > 0.0 => self.tol * mean_variance(seen)?,
            None => 0.0,
        };
        let steps = match self.steps {
            Some(steps) => u64::from(steps),
            None => u64::from(self.max_iter) * n as u64 / batch as u64,
        };
        let stage = Stage::begin(watch, NAME, Some(steps))?;
        let mut batches = Batches::new(seen, batch, seed);
        let mut rng = seed.child("reassignment").rng();
        let (mut learner, mut progress, mut done) = match resumed {
            Some(state) => {
                batches.rng.set_word_pos(state.drawn.into());
                rng.set_word_pos(state.reassigned.into());
                (state.learner, state.progress, state.done)
            }
            None => {
                let start = self.start(seen, batch, seed)?;
                (Learner::new(start, self.metric), Progress::default(), 0)
            }
        };
        let mut converged = false;
        while done < steps && !converged {
            // Between two passes; batches that are drawn ahead would be lost.
            if batches.ahead.len() == 0 && states.are_wanted() {
                states.save(&BatchState {
                    least_shift,
                    learner: learner.clone(),
                    progress: progress.clone(),
                    done,
                    drawn: batches.rng.get_word_pos().into(),
                    reassigned: rng.get_word_pos().into(),
                });
            }
            let drawn = batches.draw(steps - done)?;
            let Step { inertia, shift } = learner.step(drawn.view());
            learner.reassign(drawn.view(), self.reassignment_ratio, &mut rng);
            done += 1;
            stage.step(done)?;
            let weight = (2.0 * batch as f64 / (n as f64 + 1.0)).min(1.0);
            // The first batch measures the start, not the progress.
            let stuck = done > 1 && progress.stuck(inertia, weight, self.max_no_improvement);
            converged = stuck || (done > 1 && self.tol > 0.0 && shift <= least_shift);
        }
        let mut clustering = self.finish(rows, seen, learner.centres)?;
        clustering.iterations = done as u32;
        clustering.converged = converged;
        Ok(clustering)
    }
}

/// The name of the stage, and of its state.
const NAME: &str = "minibatch";

/// Where the work is between two passes.
#[derive(Serialize, Deserialize)]
struct BatchState {
    least_shift: f64,
    learner: Learner,
    progress: Progress,
    done: u64,
    drawn: WordPosition,
    reassigned: WordPosition,
}

/// How far a stream of random numbers is.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct WordPosition {
    high: u64,
    low: u64,
}

impl From<u128> for WordPosition {
    fn from(words: u128) -> Self {
        Self { high: (words >> 64) as u64, low: words as u64 }
    }
}

impl From<WordPosition> for u128 {
    fn from(at: WordPosition) -> Self {
        u128::from(at.high) << 64 | u128::from(at.low)
    }
}

/// Rows that are drawn ahead at once where every look at the rows is a pass over files.
const AHEAD: usize = 131_072;

/// Random batches of rows, drawn with replacement.
struct Batches<'a> {
    rows: &'a dyn Rows,
    batch: usize,
    rng: Rng,
    ahead: std::vec::IntoIter<Matrix>,
}

impl<'a> Batches<'a> {
    fn new(rows: &'a dyn Rows, batch: usize, seed: Seed) -> Self {
        Self { rows, batch, rng: seed.child("batches").rng(), ahead: Vec::new().into_iter() }
    }

    /// The next batch, of which at most `most` are still wanted.
    fn draw(&mut self, most: u64) -> Result<Matrix, RowsError> {
        if let Some(next) = self.ahead.next() {
            return Ok(next);
        }
        let n = self.rows.rows();
        let mut draw = || (0..self.batch).map(|_| self.rng.random_range(0..n)).collect::<Vec<_>>();
        if let Some(x) = self.rows.in_memory() {
            return Ok(x.select(draw()));
        }
        let several = (AHEAD / self.batch).max(1).min(usize::try_from(most).unwrap_or(usize::MAX));
        let drawn: Vec<usize> = (0..several).flat_map(|_| draw()).collect();
        let found = select_in_order(self.rows, &drawn)?;
        let of = |b: usize| found.view().slice(b * self.batch..(b + 1) * self.batch).to_matrix();
        self.ahead = (0..several).map(of).collect::<Vec<_>>().into_iter();
        Ok(self.ahead.next().expect("at least one batch was drawn"))
    }
}

impl MiniBatchKMeans {
    /// Of several starts, each found on a sample, the one that fits another sample best.
    fn start(&self, x: &dyn Rows, batch: usize, seed: Seed) -> Result<Matrix, ClusterError> {
        let size = (3 * batch).max(3 * self.k).min(x.rows());
        let sample = |seed: Seed| {
            let mut rows = index::sample(&mut seed.rng(), x.rows(), size).into_vec();
            rows.sort_unstable();
            x.select(&rows)
        };
        let seed = seed.child("start");
        let judges = sample(seed.child("judges"))?;
        let mut best: Option<(f64, Matrix)> = None;
        for r in 0..self.init.useful_restarts(self.restarts) as usize {
            let rows = sample(seed.child("sample").nth(r))?;
            let centres = self.init.centroids(&rows.view(), self.k, seed.nth(r))?;
            let centres = on_sphere(centres, self.metric);
            let inertia = label(judges.view(), &Centres::new(centres.view())).1;
            if best.as_ref().is_none_or(|(least, _)| inertia < *least) {
                best = Some((inertia, centres));
            }
        }
        Ok(best.expect("at least one start is made").1)
    }

    /// Labels all rows by their nearest centre, and gives every cluster at least one.
    fn finish(
        &self,
        rows: &dyn Rows,
        seen: &dyn Rows,
        mut centres: Matrix,
    ) -> Result<Clustering, RowsError> {
        let mut labels = nearest_of(seen, &centres)?;
        // A centre that got no row moves to the row that is worst off, which may draw others.
        for _ in 0..=self.k {
            let empty = empty_clusters(&labels, self.k);
            if empty.is_empty() {
                break;
            }
            let worst = furthest(seen, &labels, &centres, empty.len())?;
            let worst = select_in_order(seen, &worst)?;
            for (at, &j) in empty.iter().take(worst.rows()).enumerate() {
                centres.row_mut(j).copy_from_slice(worst.row(at));
            }
            labels = nearest_of(seen, &centres)?;
        }
        // With fewer distinct rows than clusters, equals must part.
        let empty = empty_clusters(&labels, self.k);
        if !empty.is_empty() {
            let mut sizes = vec![0u32; self.k];
            labels.iter().for_each(|&l| sizes[l as usize] += 1);
            // At most k of them are alone in their clusters.
            let mut candidates = furthest(seen, &labels, &centres, 2 * self.k)?.into_iter();
            for j in empty {
                let i = candidates
                    .find(|&i| sizes[labels[i] as usize] > 1)
                    .expect("k is at most the number of rows, so some cluster has two");
                sizes[labels[i] as usize] -= 1;
                labels[i] = j as u32;
                sizes[j] = 1;
                centres.row_mut(j).copy_from_slice(seen.select(&[i])?.row(0));
            }
        }
        let rule = AssignRule::Nearest { centres, metric: self.metric };
        Clustering::from_labels_of(rows, labels, self.k, rule)
    }
}

/// The nearest centre of every row.
fn nearest_of(rows: &dyn Rows, centres: &Matrix) -> Result<Vec<u32>, RowsError> {
    let mut labels = Vec::with_capacity(rows.rows());
    rows.scan(&mut |_, part| {
        labels.extend(nearest(part, centres.view()));
        Ok(())
    })?;
    Ok(labels)
}

fn on_sphere(centres: Matrix, metric: Metric) -> Matrix {
    match metric {
        Metric::Euclidean => centres,
        Metric::Cosine => unit_rows(centres.view()),
    }
}

fn empty_clusters(labels: &[u32], k: usize) -> Vec<usize> {
    let mut used = vec![false; k];
    labels.iter().for_each(|&l| used[l as usize] = true);
    (0..k).filter(|&j| !used[j]).collect()
}

/// The nearest centre of each row, and Σ ‖row − its centre‖².
fn label(x: MatrixRef<'_>, centres: &Centres) -> (Vec<u32>, f64) {
    let parts = chunks::map_blocks(x.rows(), |range| {
        let rows = x.slice(range);
        let (mut labels, mut inertia) = (Vec::with_capacity(rows.rows()), 0.0);
        centres.for_each_scores(rows, |i, scores| {
            let j = argmin(scores);
            let base = squared_distance(rows.row(i), centres.shift());
            inertia += (base + 2.0 * f64::from(scores[j])).max(0.0);
            labels.push(j as u32);
        });
        (labels, inertia)
    });
    let inertia = parts.iter().map(|(_, inertia)| inertia).sum();
    (parts.into_iter().flat_map(|(labels, _)| labels).collect(), inertia)
}

/// Centres that learn.
#[derive(Clone, Serialize, Deserialize)]
struct Learner {
    #[serde(with = "bits")]
    centres: Matrix, // (k, d)
    counts: Vec<f64>, // (k), the rows that each centre got so far
    sums: Vec<f64>,   // (k, d), of the batch
    since_reassignment: usize,
    metric: Metric,
}

/// What a step did.
struct Step {
    /// Σ ‖row − nearest centre‖² over the batch before the step, for each row.
    inertia: f64,
    /// Σ ‖shift of a centre‖².
    shift: f64,
}

impl Learner {
    fn new(centres: Matrix, metric: Metric) -> Self {
        let (k, d) = (centres.rows(), centres.cols());
        let (counts, sums) = (vec![0.0; k], vec![0.0; k * d]);
        Self { centres, counts, sums, since_reassignment: 0, metric }
    }

    /// Learns from the rows `drawn`.
    fn step(&mut self, drawn: MatrixRef<'_>) -> Step {
        let (k, d) = (self.centres.rows(), self.centres.cols());
        let (labels, inertia) = label(drawn, &Centres::new(self.centres.view()));
        self.sums.fill(0.0);
        let mut got = vec![0.0f64; k];
        for (row, &j) in drawn.iter_rows().zip(&labels) {
            let j = j as usize;
            got[j] += 1.0;
            for (s, &v) in self.sums[j * d..(j + 1) * d].iter_mut().zip(row) {
                *s += f64::from(v);
            }
        }
        let mut next = self.centres.clone();
        for j in (0..k).filter(|&j| got[j] > 0.0) {
            let count = self.counts[j] + got[j];
            for (c, s) in next.row_mut(j).iter_mut().zip(&self.sums[j * d..]) {
                *c = ((f64::from(*c) * self.counts[j] + s) / count) as f32;
            }
            self.counts[j] = count;
        }
        let next = on_sphere(next, self.metric);
        let shift = squared_distance(next.data(), self.centres.data());
        self.centres = next;
        Step { inertia: inertia / drawn.rows() as f64, shift }
    }

    /// Moves centres that starve to random rows of the batch, once every 10 k rows or when a
    /// centre never got any.
    fn reassign(&mut self, drawn: MatrixRef<'_>, ratio: f64, rng: &mut Rng) {
        self.since_reassignment += drawn.rows();
        let k = self.counts.len();
        let due = self.since_reassignment >= 10 * k || self.counts.contains(&0.0);
        if !due || ratio <= 0.0 {
            return;
        }
        self.since_reassignment = 0;
        let most = self.counts.iter().copied().fold(0.0, f64::max);
        let mut starving: Vec<usize> = (0..k).filter(|&j| self.counts[j] < ratio * most).collect();
        starving.sort_by(|&a, &b| self.counts[a].total_cmp(&self.counts[b]).then(a.cmp(&b)));
        starving.truncate(drawn.rows() / 2);
        if starving.is_empty() {
            return;
        }
        // A count like the least of the others keeps it from being moved again at once.
        let others = (0..k).filter(|j| !starving.contains(j)).map(|j| self.counts[j]);
        let count = others.fold(f64::INFINITY, f64::min);
        let rows = index::sample(rng, drawn.rows(), starving.len());
        for (&j, at) in starving.iter().zip(rows) {
            self.centres.row_mut(j).copy_from_slice(drawn.row(at));
            self.counts[j] = if count.is_finite() { count } else { 0.0 };
        }
    }
}

/// The smoothed inertia of the batches, and how long it has not fallen.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Progress {
    smoothed: Option<f64>,
    least: Option<f64>,
    without_improvement: u32,
}

impl Progress {
    fn stuck(&mut self, inertia: f64, weight: f64, patience: Option<u32>) -> bool {
        let smoothed = self.smoothed.map_or(inertia, |s| s * (1.0 - weight) + inertia * weight);
        self.smoothed = Some(smoothed);
        if self.least.is_none_or(|least| smoothed < least) {
            self.least = Some(smoothed);
            self.without_improvement = 0;
        } else {
            self.without_improvement += 1;
        }
        patience.is_some_and(|patience| self.without_improvement >= patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::{Event, Silent};
    use std::ops::ControlFlow;

    fn blobs(n: usize, d: usize, k: usize, spread: f32, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        let means = Matrix::from_fn(k, d, |_, _| 10.0 * rng.random::<f32>());
        Matrix::from_fn(n, d, |i, j| {
            means.row((i * i) % k)[j] + spread * (rng.random::<f32>() - 0.5)
        })
    }

    fn fit(spec: &MiniBatchKMeans, x: &Matrix) -> Clustering {
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
        let clustering = fit(&MiniBatchKMeans { k: 1, ..MiniBatchKMeans::default() }, &x);
        let mean: Vec<f32> = x.view().mean_row().into_iter().map(|v| v as f32).collect();
        assert_eq!(clustering.centroids.row(0), mean);
    }

    #[test]
    fn as_many_clusters_as_rows_are_the_rows() {
        let x = blobs(20, 2, 20, 1.0, 2);
        let clustering = fit(&MiniBatchKMeans { k: 20, ..MiniBatchKMeans::default() }, &x);
        assert_eq!(clustering.inertia, 0.0);
    }

    #[test]
    fn one_column_constant_rows_and_duplicates_are_clustered() {
        let line = Matrix::from_fn(50, 1, |i, _| (i * i) as f32);
        fit(&MiniBatchKMeans { k: 7, ..MiniBatchKMeans::default() }, &line);
        let constant = Matrix::from_fn(30, 3, |_, j| j as f32);
        assert_eq!(
            fit(&MiniBatchKMeans { k: 4, ..MiniBatchKMeans::default() }, &constant).inertia,
            0.0
        );
        let pairs = Matrix::from_fn(60, 2, |i, j| (i % 3 * (j + 1)) as f32);
        fit(&MiniBatchKMeans { k: 5, ..MiniBatchKMeans::default() }, &pairs);
    }

    #[test]
    fn the_result_does_not_depend_on_the_threads() {
        let x = blobs(3_000, 20, 6, 12.0, 3);
        for metric in [Metric::Euclidean, Metric::Cosine] {
            let spec = MiniBatchKMeans { k: 6, restarts: 3, metric, ..MiniBatchKMeans::default() };
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
            MiniBatchKMeans { k: 4, ..MiniBatchKMeans::default() }.fit(x.view(), Seed(0), &Stop);
        assert_eq!(result.unwrap_err(), ClusterError::Cancelled(bridged_math::Cancelled));
    }

    #[test]
    fn labels_are_those_of_the_rule_and_centroids_their_means() {
        let x = blobs(5_000, 8, 10, 6.0, 5);
        let clustering = fit(&MiniBatchKMeans { k: 10, ..MiniBatchKMeans::default() }, &x);
        assert_eq!(clustering.assign(x.view()), clustering.labels);
        let (means, _) = super::super::clustering::means_of(x.view(), &clustering.labels, 10);
        assert_eq!(clustering.centroids, means);
    }

    #[test]
    fn it_comes_close_to_k_means() {
        let x = blobs(20_000, 8, 10, 6.0, 6);
        let clustering = fit(&MiniBatchKMeans { k: 10, ..MiniBatchKMeans::default() }, &x);
        let full = crate::cluster::KMeans { k: 10, ..Default::default() };
        let full = full.fit(x.view(), Seed(1), &Silent).unwrap();
        assert!(clustering.inertia < 1.1 * full.inertia, "{} {}", clustering.inertia, full.inertia);
    }

    #[test]
    fn the_steps_asked_for_are_made() {
        let x = blobs(2_000, 4, 5, 6.0, 7);
        let spec = MiniBatchKMeans {
            k: 5,
            steps: Some(17),
            max_no_improvement: None,
            ..MiniBatchKMeans::default()
        };
        let clustering = fit(&spec, &x);
        assert_eq!((clustering.iterations, clustering.converged), (17, false));
    }

    #[test]
    fn a_starved_centre_moves_to_a_row() {
        let x = blobs(2_000, 2, 3, 1.0, 8);
        let mut start = x.view().select([0, 1, 2]);
        start.row_mut(2).fill(1e6);
        let spec = MiniBatchKMeans { k: 3, init: Init::Given(start), ..MiniBatchKMeans::default() };
        let clustering = fit(&spec, &x);
        assert!(clustering.centroids.data().iter().all(|v| v.abs() < 1e3));
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let x = Matrix::zeros(4, 1);
        let error =
            |spec: MiniBatchKMeans| spec.fit(x.view(), Seed(0), &Silent).unwrap_err().to_string();
        let spec = MiniBatchKMeans { k: 2, ..MiniBatchKMeans::default() };
        assert_eq!(
            error(MiniBatchKMeans { batch_size: 0, ..spec.clone() }),
            "`batch_size` must be a whole number of at least 1, got 0"
        );
        assert_eq!(
            error(MiniBatchKMeans { reassignment_ratio: 2.0, ..spec }),
            "`reassignment_ratio` must be between 0 and 1, got 2"
        );
    }
}
