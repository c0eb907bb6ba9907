//! Balanced k-means by passes over the rows, which need not fit into memory; nor do the n × k distances.
//!
//! 1. **Start.** k-means++ on a sample of rows, and balanced iterations on the sample; from several
//!    starts the best is kept.
//! 2. **Iterations.** One pass over all rows: each takes the column of least ½‖x − c‖² + price, and is
//!    added to its sum. The walls between the columns then say which prices would make the sizes right
//!    ([`Large`]), the centroids become means, and both go into the next pass. Sizes are right up to a
//!    few rows in a hundred at first, in a thousand later.
//! 3. **End.** When the centroids rest, the rows are assigned to them exactly: sizes within the bounds,
//!    labels optimal, which the duality gap proves.
//!
//! With a tolerance below [`ROUGH`], and where sizes stay far off because there is nothing between the
//! clusters, exact assignments alternate with means, as in memory.
//!
//! Cost: O(n k d) an iteration, about what a pass of plain k-means without pruning costs, and one exact
//! assignment of a few thousand rows. Memory: 12 n bytes, a sample, the costs of the rows in doubt
//! (`room`): 64 MB for up to four million rows and 500 clusters, at most 256 MB.
//!
//! Parts and threads change no bit. The state between two iterations is small ([`BalancedState`]), and a run
//! that goes on from it ends as if it had not been interrupted.
//!
//! Hartigan's correction ([`Descent`](super::Descent)) is applied as in memory, except that a step which
//! gains nothing is not taken back: from then on there is none.

mod means;
#[cfg(test)]
mod tests;

use super::BalancedKMeans;
use super::hartigan::{Correction, Step};
use crate::cluster::assign::AssignRule;
use crate::cluster::clustering::{inertia_of, unit_rows};
use crate::cluster::state::{States, bits};
use crate::cluster::{ClusterError, Clusterer, Clustering, Init, Metric};
use crate::settings::Check;
use bridged_math::cancel::cancellable;
use bridged_math::distance::{Centres, squared_distance};
use bridged_math::rows::Mapped;
use bridged_math::transport::Capacity;
use bridged_math::transport::large::{Large, LargeError, Own, Prices, Sample as SampleOf};
use bridged_math::words::plural;
use bridged_math::{Matrix, MatrixRef, Rows, Seed, Stage, Watch, chunks, memory};
use means::{Running, Scatter, complete};
use rand::seq::index;
use serde::{Deserialize, Serialize};

/// Beyond this many distances, passes take the place of the iteration in memory.
const DISTANCES: usize = 20_000_000;
/// Beyond this many numbers as well: so many are not read into memory.
const NUMBERS: usize = 64_000_000;
/// Costs that are held at once, at least and at most: 64 and 256 MB.
const ROOM: (usize, usize) = (16_000_000, 64_000_000);
/// Iterations are rough while centroids move by more than this part of the variance.
const ROUGH: f64 = 1e-4;
/// While rows are corrected for their own weight, the state is saved after so many iterations: the next
/// goes without the labels before it.
const SAVE_EVERY: u32 = 8;
/// By then sizes are nearly right where they ever are.
const CALM: u32 = 8;
/// The most iterations on a sample.
const SAMPLE_ITER: u32 = 60;

/// The name of the stage, and of its state.
const NAME: &str = "balanced";
/// What the watch hears of the gap as.
pub const RELATIVE_GAP: &str = "relative_gap";

/// Whether so many rows are clustered by passes even if they are in memory. Where they are does not matter: the
/// result must not depend on it.
pub(super) fn is_large(rows: usize, cols: usize, k: usize) -> bool {
    rows.saturating_mul(k) > DISTANCES || rows.saturating_mul(cols) > NUMBERS
}

/// How many costs are held at once. More rows bring more that are in doubt, and take more memory themselves; many
/// clusters have some rows each. What memory is free must not matter: it would matter to the last bits of the result.
fn room(rows: usize, k: usize) -> usize {
    rows.saturating_mul(4).max(k.saturating_mul(64 * k)).clamp(ROOM.0, ROOM.1)
}

/// Rows of the sample that a run starts on.
pub(crate) fn sample_len(rows: usize, k: usize) -> usize {
    let wanted = 16_384.max(64 * k);
    if 2 * wanted >= rows { rows } else { wanted }
}

/// About how many bytes passes take at their peak, beside the rows themselves.
pub(crate) fn memory_by_passes(spec: &BalancedKMeans, rows: usize, cols: usize) -> u64 {
    let (n, d, k) = (rows as f64, cols as f64, spec.k.min(rows) as f64);
    let sample = sample_len(rows, spec.k) as f64;
    let some = (8192.0f64).max(16.0 * k).min(sample);
    let start =
        sample * (4.0 * d + 4.0 * (3.0 + k.ln()) + 20.0) + some * (4.0 * d + 4.0 * k + 32.0);
    let in_doubt = (room(rows, spec.k) as f64 / k).max(1024.0).min(n);
    // Costs; offers, which are at most half of them or a few for each pair of columns; choices, some twice.
    let doubt =
        in_doubt * (6.0 * k + 56.0) + k * k * (60.0 + 32.0 * (4096.0 / k).clamp(8.0, 128.0));
    let walls = 24e6 + (k * k / 2.0).min(500_000.0) * 136.0;
    (12.0 * n + start.max(doubt) + walls + 80.0 * k * d) as u64
}

/// Where a run is between two iterations: enough to go on with the same result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BalancedState {
    /// The centroids as they are.
    #[serde(with = "bits")]
    pub centroids: Matrix,
    /// The prices of the clusters, and what the passes know of their walls.
    pub prices: Prices,
    /// Iterations that are done.
    pub iterations: u32,
    /// Whether the centroids came to rest.
    pub converged: bool,
    /// How much of Hartigan's correction is applied.
    correction: Correction,
    /// Whether assignments are exact from here on.
    pub exact: bool,
    /// For how many iterations in a row the sizes were far off.
    unsettled: u32,
    /// The point that distances are counted from.
    #[serde(with = "bits")]
    pub shift: Vec<f32>,
    /// Σ ‖row − shift‖², and around the mean.
    pub scatter: (f64, f64),
}

/// A clustering and how good its labels are.
#[derive(Clone, Debug, PartialEq)]
pub struct BalancedFit {
    /// The clustering.
    pub clustering: Clustering,
    /// The sum of squares of the labels, for the centroids that came to rest, is at most this part above
    /// the least within the bounds.
    pub relative_gap: f64,
}

/// Clusters rows that come in parts: few of them as in memory, many by passes.
pub(crate) fn cluster_rows(
    spec: &BalancedKMeans,
    rows: &dyn Rows,
    seed: Seed,
    watch: &dyn Watch,
) -> Result<Clustering, ClusterError> {
    let n = rows.rows();
    if !is_large(n, rows.cols(), spec.k) {
        let held = match rows.in_memory() {
            Some(x) => return spec.cluster(x, seed, watch),
            None => rows.select(&(0..n).collect::<Vec<usize>>())?,
        };
        return spec.cluster(held.view(), seed, watch);
    }
    cluster_by_passes(spec, rows, seed, watch)
}

/// Clusters rows by passes, and goes on from the state that the watch has kept of an earlier run.
pub(in crate::cluster) fn cluster_by_passes(
    spec: &BalancedKMeans,
    rows: &dyn Rows,
    seed: Seed,
    watch: &dyn Watch,
) -> Result<Clustering, ClusterError> {
    let states = States::of(NAME, spec, (rows, seed), watch);
    let mut save = |state: &BalancedState| {
        states.save(state);
        Ok(())
    };
    let BalancedFit { clustering, relative_gap } =
        fit_by_passes(spec, rows, seed, watch, states.resume(), &mut save)?;
    watch.figure(RELATIVE_GAP, relative_gap);
    Ok(clustering)
}

/// What hears of every state from which a run can go on.
pub type SaveState<'a> = dyn FnMut(&BalancedState) -> Result<(), ClusterError> + Send + 'a;

/// Clusters rows by passes whatever their number, from the beginning or from where a run was, and hands
/// out every state from which it can go on.
fn fit_by_passes(
    spec: &BalancedKMeans,
    rows: &dyn Rows,
    seed: Seed,
    watch: &dyn Watch,
    resume: Option<BalancedState>,
    save: &mut SaveState<'_>,
) -> Result<BalancedFit, ClusterError> {
    let (n, d, k) = (rows.rows(), rows.cols(), spec.k);
    if n == 0 {
        return Err(ClusterError::NoRows);
    }
    if d == 0 {
        return Err(ClusterError::NoColumns);
    }
    if k == 0 || k > n {
        return Err(ClusterError::BadK { k, rows: n });
    }
    let capacity = spec.bounds(n)?;
    let stage = Stage::begin(watch, NAME, Some(u64::from(spec.max_iter)))?;
    let unit = Mapped::new(rows, d, unit_rows);
    let seen: &dyn Rows = match spec.metric {
        Metric::Euclidean => rows,
        Metric::Cosine => &unit,
    };
    let run = Run { spec, rows: seen, capacity, stage: &stage };
    chunks::in_pool(|| {
        let mut sample = Sample::of(seen, k, seed)?;
        let state = match resume {
            Some(state) => state,
            None => run.start(&sample, seed)?,
        };
        sample.all = Matrix::zeros(0, d);
        let (state, large, gap) = run.iterate(state, sample.some.view(), save)?;
        let BalancedState { centroids, iterations, converged, .. } = state;
        let rule = AssignRule::Nearest { centres: centroids, metric: spec.metric };
        let mut clustering = complete(rows, large.into_labels(), k, rule)?;
        if let (AssignRule::Nearest { centres, .. }, Metric::Euclidean) =
            (&mut clustering.rule, spec.metric)
        {
            *centres = clustering.centroids.clone();
        }
        (clustering.iterations, clustering.converged) = (iterations, converged);
        Ok(BalancedFit { clustering, relative_gap: gap })
    })
}

impl BalancedKMeans {
    /// Clusters rows by passes, whatever their number, in memory or not: see
    /// [`Rows`](bridged_math::Rows). Goes on from the state of an earlier run over the same rows if there
    /// is one, with the result that it would have had; `save` is called with every such state.
    ///
    /// ```
    /// use bridged::cluster::BalancedKMeans;
    /// use bridged::{Matrix, Seed, Silent};
    /// use bridged_math::rows::InParts;
    ///
    /// let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [50.0]]);
    /// let rows = InParts::new(x.view(), 3); // three rows, then one
    /// let spec = BalancedKMeans { k: 2, ..BalancedKMeans::default() };
    /// let fit = spec.fit_by_passes(&rows, Seed(0), &Silent, None, &mut |_| Ok(()))?;
    /// assert_eq!(fit.clustering.sizes, [2, 2]);
    /// assert!(fit.relative_gap < 1e-6);
    /// # Ok::<(), bridged::cluster::ClusterError>(())
    /// ```
    pub fn fit_by_passes(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
        resume: Option<BalancedState>,
        save: &mut SaveState<'_>,
    ) -> Result<BalancedFit, ClusterError> {
        self.check()?;
        let (n, d) = (rows.rows(), rows.cols());
        let what = format!("clustering {} of {}", plural(n, "row"), plural(d, "column"));
        memory::require(what, memory_by_passes(self, n, d))?;
        cancellable(watch, || fit_by_passes(self, rows, seed, watch, resume, save))?
    }
}

struct Run<'a> {
    spec: &'a BalancedKMeans,
    rows: &'a dyn Rows,
    capacity: Capacity,
    stage: &'a Stage<'a>,
}

/// Iterations over some rows, rough in the sizes.
struct Descent<'a> {
    rows: &'a dyn Rows,
    /// A sample of them, to find prices on.
    some: MatrixRef<'a>,
    shift: &'a [f32],
    metric: Metric,
}

/// What an iteration came to.
struct Iterated {
    next: Matrix,
    /// Σ ‖shift of a centroid‖².
    moved: f64,
    sums: Running,
    /// Rows that the pass found in the wrong place.
    wrong: usize,
}

impl Descent<'_> {
    fn centres(&self, centroids: &Matrix) -> Centres {
        Centres::with_shift(centroids.clone(), self.shift.to_vec())
    }

    /// One pass at the prices as they are; afterwards they are better. Where the sums `before` it are
    /// known, the labels are still those, and rows are corrected for their own weight.
    fn step(
        &self,
        large: &mut Large,
        centroids: &Matrix,
        before: Option<&Running>,
        correction: &mut Correction,
    ) -> Result<Iterated, ClusterError> {
        let centres = self.centres(centroids);
        let before = before.filter(|_| correction.is_active());
        let rates = before.map(|sums| correction.rates(sums.sizes()));
        let mut sums = Running::new(centroids.rows(), centroids.cols());
        let own = rates.as_deref().map(|rates| Own { rates });
        let pass = large.pass(self.rows, &centres, own, &mut |_, part, chosen| {
            sums.add(part, chosen);
        });
        pass.map_err(unfit)?;
        if let Some(before) = before {
            // What the sum of squares and the prices gained by the rows that moved.
            let explained = 0.5 * (sums.spread(self.shift) - before.spread(self.shift));
            let sizes = before.sizes().iter().zip(sums.sizes()).zip(large.prices());
            let paid: f64 = sizes.map(|((&b, &a), p)| (f64::from(b) - f64::from(a)) * p).sum();
            if correction.update(large.gained(), explained + paid) == Step::Reject {
                *correction = Correction::off();
            }
        }
        let wrong = large.wrong();
        if wrong > self.rows.rows() / 16 {
            // Means of such sizes lead nowhere.
            let goal = self.rows.rows() / 32;
            large.balance(self.rows, self.some, &centres, goal).map_err(unfit)?;
            sums = self.sums(large, centroids)?;
        }
        large.improve();
        Ok(self.moved(sums, wrong, centroids))
    }

    fn sums(&self, large: &Large, centroids: &Matrix) -> Result<Running, ClusterError> {
        let mut sums = Running::new(centroids.rows(), centroids.cols());
        self.rows.scan(&mut |first, part| {
            sums.add(part, &large.choices()[first..first + part.rows()]);
            Ok(())
        })?;
        Ok(sums)
    }

    fn moved(&self, sums: Running, wrong: usize, centroids: &Matrix) -> Iterated {
        let next = on_sphere(sums.means(centroids), self.metric);
        let moved = squared_distance(next.data(), centroids.data());
        Iterated { next, moved, sums, wrong }
    }

    /// The least that labels within the bounds can cost, as the prices show: half the sum of squares, and
    /// what the sizes lack.
    fn dual_value(
        &self,
        x: MatrixRef<'_>,
        large: &mut Large,
        centroids: &Matrix,
    ) -> Result<f64, ClusterError> {
        let pass = large.pass(self.rows, &self.centres(centroids), None, &mut |_, _, _| ());
        pass.map_err(unfit)?;
        let labels: Vec<u32> = large.choices().iter().map(|c| c.label).collect();
        Ok(0.5 * inertia_of(&x, &labels, centroids)? - large.shortfall())
    }

    /// Prices for centroids that come from nowhere.
    fn first_prices(&self, large: &mut Large, centroids: &Matrix) -> Result<(), ClusterError> {
        let k = centroids.rows();
        let mut costs = vec![0.0f32; self.some.rows() * k];
        let centres = self.centres(centroids);
        chunks::for_each_part_mut(&mut costs, k, |range, out| {
            centres.scores(self.some.slice(range), out);
        });
        large.estimate(&costs, SampleOf::Roughly).map_err(|e| unfit(LargeError::Transport(e)))
    }
}

/// Rows of a sample.
struct Sample {
    all: Matrix,
    /// Fewer of them, to find prices on.
    some: Matrix,
}

impl Sample {
    /// The same for the same seed.
    fn of(rows: &dyn Rows, k: usize, seed: Seed) -> Result<Self, ClusterError> {
        let n = rows.rows();
        let mut numbers =
            index::sample(&mut seed.child("large").rng(), n, sample_len(n, k)).into_vec();
        numbers.sort_unstable();
        let all = rows.select(&numbers)?;
        let every = all.rows().div_ceil(8192.max(16 * k));
        let some = all.view().select((0..all.rows()).step_by(every));
        Ok(Self { all, some })
    }
}

impl Run<'_> {
    /// The best of several runs on a sample.
    fn start(&self, sample: &Sample, seed: Seed) -> Result<BalancedState, ClusterError> {
        let (n, k) = (self.rows.rows(), self.spec.k);
        let Sample { all: sample, some } = sample;
        let len = sample.rows();
        let shift: Vec<f32> = sample.view().mean_row().into_iter().map(|v| v as f32).collect();
        let scatter = Scatter::of(self.rows, &shift)?;
        let of_sample = Scatter::of(&sample.view(), &shift)?;
        let least = self.spec.tol.max(ROUGH) * of_sample.own / sample.data().len() as f64;
        let descent = Descent {
            rows: &sample.view(),
            some: some.view(),
            shift: &shift,
            metric: self.spec.metric,
        };
        let mut best: Option<(f64, Matrix, Prices)> = None;
        for restart in 0..self.spec.init.useful_restarts(self.spec.restarts) as usize {
            self.stage.step(0)?;
            let given = matches!(self.spec.init, Init::Given(_));
            let first = self.spec.init.centroids(&sample.view(), k, seed.nth(restart))?;
            let mut centroids = on_sphere(first, self.spec.metric);
            let capacity = self.capacity.scaled(len, n);
            let mut large = Large::new(len, capacity).map_err(infeasible)?;
            descent.first_prices(&mut large, &centroids)?;
            // A start that is given is a start for all rows.
            let most = if given { 0 } else { SAMPLE_ITER };
            let mut correction = self.correction();
            let mut before = None;
            for _ in 0..most {
                let step =
                    descent.step(&mut large, &centroids, before.as_ref(), &mut correction)?;
                let Iterated { next, moved, sums, .. } = step;
                before = Some(sums);
                centroids = next;
                self.stage.step(0)?;
                if moved <= least {
                    break;
                }
            }
            let value = descent.dual_value(sample.view(), &mut large, &centroids)?;
            if best.as_ref().is_none_or(|(least, ..)| value < *least) {
                best = Some((value, centroids, large.state().clone()));
            }
        }
        let (_, centroids, prices) = best.expect("at least one restart is made");
        let large = Large::adopt(n, self.capacity.clone(), prices).map_err(infeasible)?;
        Ok(BalancedState {
            centroids,
            prices: large.state().clone(),
            iterations: 0,
            converged: false,
            correction: self.correction(),
            exact: false,
            unsettled: 0,
            shift,
            scatter: (scatter.around, scatter.own),
        })
    }

    /// Directions have another sum of squares.
    fn correction(&self) -> Correction {
        match (self.spec.descent, self.spec.metric) {
            (super::Descent::Hartigan, Metric::Euclidean) => Correction::default(),
            _ => Correction::off(),
        }
    }

    /// Iterates over all rows to the end. Returns also the relative gap of the labels.
    fn iterate(
        &self,
        mut state: BalancedState,
        some: MatrixRef<'_>,
        save: &mut SaveState<'_>,
    ) -> Result<(BalancedState, Large, f64), ClusterError> {
        let n = self.rows.rows();
        let prices = state.prices.clone();
        let mut large = Large::resume(n, self.capacity.clone(), prices).map_err(infeasible)?;
        let variance = state.scatter.1 / (n as f64 * self.rows.cols() as f64);
        let (least, rough) = (self.spec.tol * variance, self.spec.tol.max(ROUGH) * variance);
        let shift = state.shift.clone();
        let metric = self.spec.metric;
        let descent = Descent { rows: self.rows, some, shift: &shift, metric };
        // Known between two iterations unless the run may go on from here, which must then be the same.
        let mut before: Option<Running> = None;
        loop {
            self.stage.step(u64::from(state.iterations))?;
            state.iterations += 1;
            let last = state.converged || state.iterations >= self.spec.max_iter;
            if !last && !state.exact {
                let (centroids, correction) = (&state.centroids, &mut state.correction);
                let step = descent.step(&mut large, centroids, before.as_ref(), correction)?;
                let Iterated { next, moved, sums, wrong } = step;
                before = Some(sums);
                state.centroids = next;
                // Clusters with nothing between them: prices that are a little off move very many rows.
                let far_off = state.iterations > CALM && wrong > n / 64;
                state.unsettled = if far_off { state.unsettled + 1 } else { 0 };
                state.exact = moved <= rough || state.unsettled >= 3;
                // Rough sizes that rest are not the end if it is to be the very end.
                state.converged = least > 0.0 && moved <= least;
            } else {
                let gap = self.assign_exactly(&descent, &mut large, &state)?;
                let sums = descent.sums(&large, &state.centroids)?;
                let Iterated { next, moved, sums, .. } = descent.moved(sums, 0, &state.centroids);
                state.converged |= moved <= least;
                if last || moved == 0.0 {
                    let cost = (state.scatter.0 - sums.spread(&shift)).max(0.0);
                    // A gap of costs, which are half squares; equal rows cost nothing.
                    let relative = if gap > 0.0 { 2.0 * gap / cost } else { 0.0 };
                    return Ok((state, large, relative));
                }
                state.centroids = next;
            }
            if !state.correction.is_active() || state.iterations.is_multiple_of(SAVE_EVERY) {
                before = None;
                state.prices = large.state().clone();
                save(&state)?;
            }
        }
    }

    /// Labels that are optimal for the centroids as they are. Returns the gap.
    fn assign_exactly(
        &self,
        descent: &Descent<'_>,
        large: &mut Large,
        state: &BalancedState,
    ) -> Result<f64, ClusterError> {
        let centres = descent.centres(&state.centroids);
        let n = self.rows.rows();
        let room = room(n, self.spec.k);
        let most = (room / self.spec.k).min(n);
        large.balance(self.rows, descent.some, &centres, most / 32).map_err(unfit)?;
        let sums = descent.sums(large, &state.centroids)?;
        let cost = (state.scatter.0 - sums.spread(&state.shift)).max(0.0);
        let enough = (1e-9 * 0.5 * cost).max(1e-15 * state.scatter.1);
        Ok(large.finish(self.rows, &centres, room, enough).map_err(unfit)?.gap)
    }
}

/// Under the cosine metric, centroids are directions.
fn on_sphere(centroids: Matrix, metric: Metric) -> Matrix {
    match metric {
        Metric::Euclidean => centroids,
        Metric::Cosine => unit_rows(centroids.view()),
    }
}

fn unfit(error: LargeError) -> ClusterError {
    match error {
        LargeError::Rows(error) => ClusterError::Rows(error),
        LargeError::Transport(error) => ClusterError::Unfit(format!(
            "the rows are too far apart to compare ({error}); scale them"
        )),
    }
}

fn infeasible(error: bridged_math::transport::TransportError) -> ClusterError {
    ClusterError::Unfit(error.to_string())
}
