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
use super::clustering::{check, unit_rows};
use super::init::Start;
use super::kmeans::{Run, Scatter};
use super::sums::{Move, Sums};
use crate::cluster::{ClusterError, Clusterer, Clustering, Init, Metric};
use bridged_math::distance::{Centres, squared_distance};
use bridged_math::transport::{Bounds, Transport};
use bridged_math::{Cancelled, Matrix, MatrixRef, Seed, Stage, Watch, chunks};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

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

/// Up to this many distances, restarts advance side by side: one product with the centroids of all
/// of them is faster than many narrow ones, and their assignments run in parallel.
const SIDE_BY_SIDE: usize = 4_000_000;

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
        let Scatter { mean, sum: scatter } = chunks::in_pool(|| Scatter::of(rows));
        let lloyd = Lloyd {
            x: rows,
            mean,
            scatter,
            least_shift: self.tol * scatter / rows.data().len() as f64,
            max_iter: self.max_iter,
            metric: self.metric,
        };
        let restarts = self.init.useful_restarts(self.restarts) as usize;
        let stage =
            Stage::begin(watch, "balanced", Some(restarts as u64 * u64::from(self.max_iter)))?;
        let at_once = (SIDE_BY_SIDE / (x.rows() * self.k)).clamp(1, restarts);
        let mut best: Option<Run> = None;
        for from in (0..restarts).step_by(at_once) {
            let seeds: Vec<Seed> =
                (from..(from + at_once).min(restarts)).map(|r| seed.nth(r)).collect();
            let starts = chunks::in_pool(|| self.init.starts(rows, self.k, &seeds))?;
            let trials = starts
                .into_iter()
                .map(|start| Trial::new(start, self.metric, Transport::new(bounds.clone())));
            let before = from as u64 * u64::from(self.max_iter);
            let runs = lloyd.run(trials.collect(), |done| stage.step(before + done))?;
            best = best.into_iter().chain(runs).reduce(Run::better);
        }
        Ok(self.finish(x, best.expect("at least one restart is made")))
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

/// Under the cosine metric, centroids are directions.
fn on_sphere(centroids: Matrix, metric: Metric) -> Matrix {
    match metric {
        Metric::Euclidean => centroids,
        Metric::Cosine => unit_rows(centroids.view()),
    }
}

/// What the iterations of all runs share.
struct Lloyd<'a> {
    x: MatrixRef<'a>,
    mean: Vec<f32>, // (d), of all rows
    /// Σ ‖row − mean‖².
    scatter: f64,
    least_shift: f64,
    max_iter: u32,
    metric: Metric,
}

/// One run under way.
struct Trial {
    centroids: Matrix,
    /// Which centroids the costs do not know yet.
    moved: Vec<bool>,
    costs: Vec<f32>, // (n, k)
    transport: Transport,
    labels: Vec<u32>,
    sums: Option<Sums>,
    iterations: u32,
    converged: bool,
    finished: bool,
}

impl Trial {
    fn new(start: Start, metric: Metric, transport: Transport) -> Self {
        Self {
            moved: vec![start.half_distances.is_none(); start.centroids.rows()],
            costs: start.half_distances.unwrap_or_default(),
            centroids: on_sphere(start.centroids, metric),
            transport,
            labels: Vec::new(),
            sums: None,
            iterations: 0,
            converged: false,
            finished: false,
        }
    }

    fn append_moved(&self, out: &mut Vec<f32>) {
        let rows = self.centroids.view().iter_rows().zip(&self.moved);
        rows.filter(|(_, moved)| **moved).for_each(|(row, _)| out.extend_from_slice(row));
    }
}

impl Lloyd<'_> {
    /// Iterates all trials to their end.
    fn run(
        &self,
        mut trials: Vec<Trial>,
        tick: impl Fn(u64) -> Result<(), Cancelled>,
    ) -> Result<Vec<Run>, ClusterError> {
        let mut scratch = Vec::new();
        let mut done = 0;
        loop {
            let mut active: Vec<&mut Trial> = trials.iter_mut().filter(|t| !t.finished).collect();
            if active.is_empty() {
                break;
            }
            done += active.len() as u64;
            chunks::in_pool(|| self.step(&mut active, &mut scratch))?;
            tick(done)?;
        }
        Ok(trials.into_iter().map(|trial| self.conclude(trial)).collect())
    }

    /// One iteration of all trials.
    fn step(&self, trials: &mut [&mut Trial], scratch: &mut Vec<f32>) -> Result<(), ClusterError> {
        self.score(trials, scratch);
        trials.par_iter_mut().try_for_each(|trial| self.assign(trial))?;
        if trials[0].sums.is_none() {
            self.first_sums(trials);
        }
        trials.par_iter_mut().for_each(|trial| self.recentre(trial));
        Ok(())
    }

    /// Brings the costs of all trials up to date: half the squared distance of every row to each
    /// centroid, less a part that is the same for all centroids of a row. Late iterations leave
    /// many centroids where they are; only the others are multiplied with the rows, those of all
    /// trials at once.
    fn score(&self, trials: &mut [&mut Trial], scratch: &mut Vec<f32>) {
        let (n, d) = (self.x.rows(), self.x.cols());
        let mut moved = Vec::new();
        trials.iter().for_each(|t| t.append_moved(&mut moved));
        let width = moved.len() / d;
        if width == 0 {
            return; // The start came with its distances.
        }
        let moved = Matrix::new(width, d, moved).expect("whole centroids");
        // A fixed shift: a cost does not depend on which other centroids are in the product.
        let centres = Centres::with_shift(moved, self.mean.clone());
        if let [trial] = trials {
            trial.costs.resize(n * trial.moved.len(), 0.0);
            return self.refresh(&centres, &trial.moved, &mut trial.costs);
        }
        scratch.resize(n * width, 0.0);
        self.product(&centres, scratch);
        let mut next = 0;
        let from: Vec<usize> = trials
            .iter()
            .map(|t| {
                let from = next;
                next += t.moved.iter().filter(|&&moved| moved).count();
                from
            })
            .collect();
        trials.par_iter_mut().zip(from).for_each(|(trial, from)| {
            let k = trial.moved.len();
            let columns: Vec<usize> = (0..k).filter(|&j| trial.moved[j]).collect();
            trial.costs.resize(n * k, 0.0);
            let rows = trial.costs.chunks_exact_mut(k).zip(scratch.chunks_exact(width));
            for (costs, new) in rows {
                columns.iter().zip(&new[from..]).for_each(|(&j, &v)| costs[j] = v);
            }
        });
    }

    /// Puts the scores of all rows into the columns of `costs` whose centroids moved; a few rows at a
    /// time, because large data have no room for a second matrix of costs.
    fn refresh(&self, centres: &Centres, moved: &[bool], costs: &mut [f32]) {
        let k = moved.len();
        let columns: Vec<usize> = (0..k).filter(|&j| moved[j]).collect();
        if columns.len() == k {
            return self.product(centres, costs);
        }
        chunks::map_blocks_mut(costs, k, |range, costs| {
            centres.for_each_scores(self.x.slice(range), |i, scores| {
                let costs = &mut costs[i * k..(i + 1) * k];
                columns.iter().zip(scores).for_each(|(&j, &v)| costs[j] = v);
            });
        });
    }

    /// The scores of all rows, (n, centres).
    fn product(&self, centres: &Centres, out: &mut [f32]) {
        let k = centres.len();
        chunks::map_blocks_mut(out, k, |range, out| centres.scores(self.x.slice(range), out));
    }

    /// Gives the rows the cheapest labels, and says whether that is the end.
    fn assign(&self, trial: &mut Trial) -> Result<(), ClusterError> {
        let k = trial.centroids.rows();
        trial.transport.solve(&trial.costs).map_err(|e| {
            ClusterError::Unfit(format!("the rows are too far apart to compare ({e}); scale them"))
        })?;
        trial.iterations += 1;
        let Some(sums) = &mut trial.sums else {
            trial.labels = trial.transport.labels().collect();
            return Ok(());
        };
        let moves = moves(&trial.labels, &trial.transport);
        if gain(&trial.costs, k, &moves) <= 0.0 {
            // The labels are still optimal, and the centroids are their means.
            trial.converged = true;
            trial.finished = true;
            return Ok(());
        }
        moves.iter().for_each(|m| trial.labels[m.row as usize] = m.to);
        sums.apply(self.x, &moves);
        Ok(())
    }

    /// The sums of the first labels of all trials, in one pass over the rows.
    fn first_sums(&self, trials: &mut [&mut Trial]) {
        let labellings: Vec<&[u32]> = trials.iter().map(|t| &t.labels[..]).collect();
        let all = Sums::of_each(self.x, &labellings, trials[0].centroids.rows());
        trials.iter_mut().zip(all).for_each(|(trial, sums)| trial.sums = Some(sums));
    }

    /// Moves the centroids of a trial that goes on to the means.
    fn recentre(&self, trial: &mut Trial) {
        if trial.finished {
            return;
        }
        let sums = trial.sums.as_ref().expect("a trial that was assigned has sums");
        let next = on_sphere(sums.means(), self.metric);
        let rests = squared_distance(next.data(), trial.centroids.data()) <= self.least_shift;
        for (j, moved) in trial.moved.iter_mut().enumerate() {
            *moved = next.row(j) != trial.centroids.row(j);
        }
        trial.centroids = next;
        // Once the centroids rest, the rows are assigned to them one last time.
        let still = !trial.moved.contains(&true);
        trial.finished = still || trial.converged || trial.iterations >= self.max_iter;
        trial.converged |= rests || still;
    }

    /// Σ ‖row − c‖² = Σ ‖row − m‖² + Σ_j n_j (‖c_j − m‖² − 2 (mean_j − m)·(c_j − m)), which needs no
    /// look at the rows.
    fn conclude(&self, trial: Trial) -> Run {
        let Trial { centroids, labels, sums, iterations, converged, .. } = trial;
        let sums = sums.expect("every trial makes a step");
        let (means, m) = (sums.means(), &self.mean);
        let mut inertia = self.scatter;
        for (j, &size) in sums.sizes().iter().enumerate() {
            let columns = centroids.row(j).iter().zip(means.row(j)).zip(m);
            let sum: f64 = columns
                .map(|((&c, &mean), &m)| {
                    let (c, mean) = (f64::from(c) - f64::from(m), f64::from(mean) - f64::from(m));
                    c * (c - 2.0 * mean)
                })
                .sum();
            inertia += f64::from(size) * sum;
        }
        Run { labels, centroids, inertia, iterations, converged }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
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
        let free =
            fit(&BalancedKMeans { k: 3, min_size: Some(0), ..BalancedKMeans::default() }, &x);
        let plain = crate::cluster::KMeans { k: 3, ..Default::default() };
        let plain = plain.fit(x.view(), Seed(1), &Silent).unwrap();
        assert_eq!(free.inertia, plain.inertia);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let x = Matrix::zeros(10, 1);
        for (min_size, max_size) in [
            (Some(4), None),
            (None, Some(3)),
            (Some(4), Some(2)),
            (Some(usize::MAX), None),
            (None, Some(0)),
        ] {
            let spec = BalancedKMeans { k: 3, min_size, max_size, ..BalancedKMeans::default() };
            let error = spec.fit(x.view(), Seed(0), &Silent).unwrap_err();
            assert!(matches!(error, ClusterError::BadSizes { rows: 10, k: 3, .. }), "{error}");
        }
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
            let mut transport = Transport::new(Bounds::even(300, 6));
            transport.solve(&costs).unwrap();
            let cost = |labels: &mut dyn Iterator<Item = u32>| -> f64 {
                labels.enumerate().map(|(i, l)| f64::from(costs[i * 6 + l as usize])).sum()
            };
            let (ours, best) =
                (cost(&mut clustering.labels.iter().copied()), cost(&mut transport.labels()));
            assert!(ours <= best * (1.0 + 1e-5), "{ours} {best}");
        }
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
            let bounds = Bounds::new(case.sizes.clone(), case.sizes);
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
