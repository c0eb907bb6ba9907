//! Balanced k-means by passes: every cluster has a price, and prices are moved until the sizes are right.
//!
//! 1. **Start.** Balanced k-means on a sample that the driver holds gives centroids, and the sample prices for them.
//! 2. **Iterations.** In one pass every row takes the cluster of least ½‖x − c‖² + price and is added to its sum. The
//!    driver hears the sizes, and how many rows are how near to the walls between clusters; this says which prices
//!    would make the sizes right ([`Pricing`]). Sizes are right up to a few rows in a hundred at first, in a thousand
//!    later.
//! 3. **End.** When the centroids rest, few rows are in the wrong place. Those with the least margins, some ten
//!    thousand, travel to the driver and are assigned exactly, to what all others leave of the bounds. The prices move a
//!    little by that; where a bound does not show that no other row is drawn elsewhere by them, a pass measures it. Sizes
//!    are within the bounds, and the duality gap says how far the labels are from the cheapest that there are.
//!
//! That is the method for rows in memory beyond 20 million distances, except that no label is kept: the cluster of a row
//! follows from centroids and prices, but for the rows that the driver has assigned ([`Labelling`]). Rows are not
//! corrected for their own weight (Hartigan), which clusters so large do not notice.
//!
//! Passes: a look, a sample, one an iteration, two to ten at the end. Memory of the driver: the sample, the costs of the
//! rows in doubt (128 MB), a million counts, whatever the number of rows.

use super::kmeans::ByPasses;
use super::look::sample;
use super::partial::{Partial, Prices as Found};
use super::pass::{Doubt, Of, Pass, Priced, View, Work};
use super::wire::{Reader, Writer};
use super::{Look, Partitions, PassError};
use crate::cluster::balanced::large::sample_len;
use crate::cluster::state::bits;
use crate::cluster::{BalancedKMeans, ClusterError, Clusterer, Init, Metric, unit_rows};
use crate::settings::Check;
use bridged_math::distance::{Centres, squared_distance};
use bridged_math::transport::large::{
    CLASSES, PricedCentres, Prices, Pricing, Sample, Tally, gains, least_of_class, settle,
};
use bridged_math::transport::{Capacity, Choice, TransportError};
use bridged_math::{Matrix, MatrixRef, Seed, Silent, chunks};
use serde::{Deserialize, Serialize};

/// Iterations on the sample.
const SAMPLE_ITER: u32 = 60;
/// Rounds of exact assignments of rows in doubt.
const ROUNDS: usize = 8;
/// Bytes that the rows in doubt and their costs take on the driver.
const ROOM: usize = 128 << 20;
/// By then sizes are nearly right where they ever are.
const CALM: u32 = 8;
/// The largest gap that is left, as a part of the sum of squares, before more rows are taken into doubt.
const ENOUGH: f64 = 1e-9;

/// Balanced k-means over partitions.
#[derive(Clone, Debug, PartialEq)]
pub struct BalancedByPasses {
    /// Clusters, bounds and when iterations end. Restarts are made on the sample.
    pub spec: BalancedKMeans,
    /// Where chance comes from.
    pub seed: Seed,
}

/// Where a run is between two iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BalancedState {
    /// The centroids, as distances see them.
    #[serde(with = "bits")]
    pub centroids: Matrix,
    /// The prices of the clusters, and what the passes know of their walls.
    pub prices: Prices,
    /// Iterations that are done.
    pub iterations: u32,
    /// Whether the centroids came to rest.
    pub converged: bool,
    /// For how many iterations in a row the sizes were far off.
    unsettled: u32,
    /// The point that distances are counted from.
    #[serde(with = "bits")]
    shift: Vec<f32>,
    /// Of which rows: how many, and the sum of their means and scatters.
    rows: u64,
    moments: f64,
    seed: u64,
}

/// Balanced clusters of rows that lie on many machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Balanced {
    /// The clusters.
    pub clusters: ByPasses,
    /// Which row is in which.
    pub labels: Labelling,
    /// The sum of squares of the labels, for the centroids that came to rest, is at most this part above the least
    /// within the bounds.
    pub relative_gap: f64,
}

/// What hears of the state after every iteration.
pub type SaveBalanced<'a> = dyn FnMut(&BalancedState) -> Result<(), PassError> + 'a;

impl BalancedByPasses {
    /// Clusters all rows as `view` shows them. Goes on from the state of an earlier run over the same rows if
    /// there is one, with the result that it would have had.
    ///
    /// ```
    /// use bridged::cluster::BalancedKMeans;
    /// use bridged::passes::{BalancedByPasses, Local, View, look};
    /// use bridged::{Matrix, Seed};
    ///
    /// // Plain k-means would leave the last row alone.
    /// let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [50.0]]);
    /// let rows = Local::new(x.view(), 2);
    /// let spec = BalancedKMeans { k: 2, ..BalancedKMeans::default() };
    /// let spec = BalancedByPasses { spec, seed: Seed(0) };
    /// let found = spec.fit(&rows, &look(&rows)?, &View::default(), None, &mut |_| Ok(()))?;
    /// assert_eq!(found.clusters.sizes, [2, 2]);
    /// assert!(found.relative_gap < 1e-6);
    /// # Ok::<(), bridged::passes::PassError>(())
    /// ```
    pub fn fit(
        &self,
        rows: &dyn Partitions,
        look: &Look,
        view: &View,
        resume: Option<BalancedState>,
        save: &mut SaveBalanced<'_>,
    ) -> Result<Balanced, PassError> {
        self.spec.check().map_err(|e| PassError::BadParameter(e.to_string()))?;
        let n = look.moments.rows();
        let too_many = || PassError::BadParameter("there are more rows than can be counted".into());
        let n = usize::try_from(n).map_err(|_| too_many())?;
        if self.spec.k == 0 || self.spec.k > n {
            return Err(PassError::BadK { k: self.spec.k, distinct: n });
        }
        let capacity = self.spec.bounds(n).map_err(unfit)?;
        let cols = view.cols(look.moments.mean.len());
        Run { of: self, rows, look, view, capacity, n, cols }.fit(resume, save)
    }
}

struct Run<'a> {
    of: &'a BalancedByPasses,
    rows: &'a dyn Partitions,
    look: &'a Look,
    view: &'a View,
    capacity: Capacity,
    n: usize,
    cols: usize,
}

/// What a pass is told beside centroids and prices.
struct Told<'a> {
    doubt: Doubt,
    sums: Of,
    after: &'a [f64],
}

impl Told<'_> {
    const NOTHING: Told<'static> = Told { doubt: NONE, sums: Of::Seen, after: &[] };
}

/// No row is in doubt.
const NONE: Doubt =
    Doubt { below: f32::NEG_INFINITY, some_below: f32::NEG_INFINITY, share: 0.0, seed: 0 };

impl Run<'_> {
    fn fit(
        &self,
        resume: Option<BalancedState>,
        save: &mut SaveBalanced<'_>,
    ) -> Result<Balanced, PassError> {
        let some = self.sample()?;
        let mut state = match resume {
            Some(state) => self.resumed(state)?,
            None => {
                let state = self.start(&some)?;
                save(&state)?;
                state
            }
        };
        let prices = state.prices.clone();
        let mut pricing =
            Pricing::resume(self.n, self.capacity.clone(), prices).map_err(infeasible)?;
        let least = self.of.spec.tol * self.variance(&some);
        // Few rows of the sample are enough to find prices.
        let every = some.rows().div_ceil(8192.max(16 * self.of.spec.k));
        let few = some.view().select((0..some.rows()).step_by(every.max(1)));
        while !state.converged && state.iterations < self.of.spec.max_iter {
            let mut found = self.hear(&state, &mut pricing)?;
            let wrong = pricing.wrong();
            if wrong > self.n / 16 {
                // Means of such sizes lead nowhere.
                found = self.balance(&state, &mut pricing, few.view(), self.n / 32)?;
            }
            pricing.improve();
            let next = self.on_sphere(means(&found, &state.centroids));
            let moved = squared_distance(next.data(), state.centroids.data());
            state.iterations += 1;
            let far_off = state.iterations > CALM && wrong > self.n / 64;
            state.unsettled = if far_off { state.unsettled + 1 } else { 0 };
            state.converged = moved <= least;
            (state.centroids, state.prices) = (next, pricing.state().clone());
            save(&state)?;
            if state.unsettled >= 3 {
                // Clusters with nothing between them: prices that are a little off move very many rows.
                break;
            }
        }
        self.end(&state, pricing, few.view())
    }

    fn sample(&self) -> Result<Matrix, PassError> {
        let (wanted, seed) = (sample_len(self.n, self.of.spec.k), self.of.seed.child("sample"));
        let some = sample(self.rows, self.look, wanted, seed.0)?.matrix();
        Ok(self.seen(some.view()))
    }

    /// Rows of the data as distances see them.
    fn seen(&self, rows: MatrixRef<'_>) -> Matrix {
        let seen = self.view.of(rows).into_owned();
        Matrix::new(rows.rows(), self.cols, seen).expect("one row for each")
    }

    /// Under the cosine metric, centroids are directions.
    fn on_sphere(&self, centroids: Matrix) -> Matrix {
        match self.view.metric {
            Metric::Euclidean => centroids,
            Metric::Cosine => unit_rows(centroids.view()),
        }
    }

    /// The mean over the columns of their variance.
    fn variance(&self, some: &Matrix) -> f64 {
        if *self.view == View::default() {
            return self.look.variance();
        }
        let mean: Vec<f32> = some.view().mean_row().into_iter().map(|v| v as f32).collect();
        let sum: f64 = some.view().iter_rows().map(|row| squared_distance(row, &mean)).sum();
        sum / some.data().len().max(1) as f64
    }

    /// What tells rows from others.
    fn moments(&self) -> f64 {
        let all = &self.look.moments;
        all.mean.iter().chain(&all.scatter).sum::<f64>() + all.weight
    }

    /// Centroids of the sample, and prices for them.
    fn start(&self, some: &Matrix) -> Result<BalancedState, PassError> {
        let (spec, seed) = (&self.of.spec, self.of.seed);
        let capacity = self.capacity.scaled(some.rows(), self.n);
        let centroids = match &spec.init {
            Init::Given(given) if (given.rows(), given.cols()) == (spec.k, self.cols) => {
                self.on_sphere(given.clone())
            }
            Init::Given(given) => {
                let got = (given.rows(), given.cols());
                return Err(PassError::BadStart { got, need: (spec.k, self.cols) });
            }
            _ => {
                let (least, most) = capacity.bounds(0);
                let of_sample = BalancedKMeans {
                    min_size: Some(least.max(1) as usize),
                    max_size: Some(most.max(1) as usize),
                    max_iter: spec.max_iter.min(SAMPLE_ITER),
                    tol: spec.tol.max(1e-4),
                    metric: self.view.metric,
                    ..spec.clone()
                };
                let found = of_sample.fit(some.view(), seed.child("start"), &Silent);
                self.on_sphere(found.map_err(unfit)?.centroids)
            }
        };
        let shift: Vec<f32> = some.view().mean_row().into_iter().map(|v| v as f32).collect();
        let centres = Centres::with_shift(centroids.clone(), shift.clone());
        let costs = costs(some.view(), &centres);
        let mut pricing = Pricing::new(self.n, self.capacity.clone()).map_err(infeasible)?;
        pricing.estimate(&costs, Sample::Exactly).map_err(infeasible)?;
        Ok(BalancedState {
            centroids,
            prices: pricing.state().clone(),
            iterations: 0,
            converged: false,
            unsettled: 0,
            shift,
            rows: self.look.moments.rows(),
            moments: self.moments(),
            seed: seed.0,
        })
    }

    fn resumed(&self, state: BalancedState) -> Result<BalancedState, PassError> {
        let shape = (state.centroids.rows(), state.centroids.cols());
        let what = if state.rows != self.look.moments.rows() || state.moments != self.moments() {
            "its rows"
        } else if shape != (self.of.spec.k, self.cols)
            || state.prices.prices.len() != shape.0
            || state.shift.len() != shape.1
        {
            "its clusters or columns"
        } else if state.seed != self.of.seed.0 {
            "the seeds"
        } else {
            return Ok(state);
        };
        Err(PassError::OtherCheckpoint { what })
    }

    /// A pass with prices.
    fn pass(
        &self,
        state: &BalancedState,
        pricing: &Pricing,
        told: Told<'_>,
    ) -> Result<Found, PassError> {
        let pass = self.priced(state, pricing, told);
        match Partial::merged(self.rows.run(&pass)?)? {
            Partial::Prices(found) => {
                self.look.check(found.count())?;
                Ok(found)
            }
            _ => Err(PassError::OtherVersion),
        }
    }

    fn priced(&self, state: &BalancedState, pricing: &Pricing, told: Told<'_>) -> Pass {
        let (reach, every) = pricing.counted();
        let work = Priced {
            centroids: state.centroids.clone(),
            shift: state.shift.clone(),
            prices: pricing.prices().to_vec(),
            reach,
            every: every as u64,
            doubt: told.doubt,
            sums: told.sums,
            after: told.after.to_vec(),
        };
        Pass { view: self.view.clone(), work: Work::Price(work) }
    }

    /// A pass of which the prices hear.
    fn hear(&self, state: &BalancedState, pricing: &mut Pricing) -> Result<Found, PassError> {
        let mut found = self.pass(state, pricing, Told::NOTHING)?;
        let hits = std::mem::take(&mut found.tally.hits);
        pricing.hear(Tally { hits, ..found.tally.clone() }).map_err(infeasible)?;
        Ok(found)
    }

    /// Passes over the same centroids until the sizes are nearly right; what the last of them came to.
    fn balance(
        &self,
        state: &BalancedState,
        pricing: &mut Pricing,
        some: MatrixRef<'_>,
        goal: usize,
    ) -> Result<Found, PassError> {
        let centres = Centres::with_shift(state.centroids.clone(), state.shift.clone());
        let mut last = None;
        pricing.balance(some, &centres, goal, &mut |pricing| -> Result<(), Balancing> {
            last = Some(self.hear(state, pricing).map_err(Balancing::Pass)?);
            Ok(())
        })?;
        Ok(last.expect("at least one pass is made"))
    }

    /// Exact sizes for the centroids as they are.
    fn end(
        &self,
        state: &BalancedState,
        mut pricing: Pricing,
        some: MatrixRef<'_>,
    ) -> Result<Balanced, PassError> {
        let k = self.of.spec.k;
        let most = most_in_doubt(k, self.cols.max(self.look.moments.mean.len())).min(self.n);
        let mut margins = self.balance(state, &mut pricing, some, most / 32)?.tally.margins;
        let mut target = (8 * pricing.wrong()).max(8 * k).max(1024);
        for round in 1..=ROUNDS {
            let doubt = self.doubt(&margins, target.min(most), most, round);
            let settled = self.settle(state, &pricing, doubt)?;
            if settled.is_feasible && (settled.relative_gap <= ENOUGH || round == ROUNDS) {
                return self.finish(state, &pricing, settled);
            }
            if round < ROUNDS {
                pricing.set_prices(settled.prices);
                target *= 4;
                margins = self.hear(state, &mut pricing)?.tally.margins;
            }
        }
        Err(PassError::BadParameter(format!(
            "sizes cannot be made exact: more than {most} rows are as near to several clusters; leave out rows that \
             repeat, widen the bounds, or choose fewer clusters"
        )))
    }

    /// Which rows are in doubt: about `target` of least margins, never many more than `most`.
    fn doubt(&self, margins: &[u64], target: usize, most: usize, round: usize) -> Doubt {
        let seed = self.of.seed.child("doubt").nth(round).0;
        let (mut end, mut certain) = (0, 0usize);
        while end < CLASSES && certain < target && certain + margins[end] as usize <= most {
            certain += margins[end] as usize;
            end += 1;
        }
        let edge = |class: usize| match class < CLASSES {
            true => least_of_class(class),
            false => f32::INFINITY,
        };
        let partial = margins.get(end).map_or(0, |&m| m as usize);
        let left = target.saturating_sub(certain);
        let share = if partial > 0 { (left as f64 / partial as f64).min(1.0) } else { 0.0 };
        // Margins without end belong to a single cluster.
        Doubt { below: edge(end), some_below: edge(end + 1), share, seed }
    }

    /// Assigns the rows in doubt to what the others leave of the bounds.
    fn settle(
        &self,
        state: &BalancedState,
        pricing: &Pricing,
        doubt: Doubt,
    ) -> Result<Settled, PassError> {
        let k = self.of.spec.k;
        let told = Told { doubt, sums: Of::Seen, after: &[] };
        let found = self.pass(state, pricing, told)?;
        let rows = self.seen(found.doubt.matrix().view());
        let centres = Centres::with_shift(state.centroids.clone(), state.shift.clone());
        let costs = costs(rows.view(), &centres);
        // The sizes that the other rows make.
        let mut sizes = found.tally.sizes.clone();
        let before = self.choices(state, pricing, rows.view());
        before.iter().for_each(|c| sizes[c.label as usize] -= 1);
        let counted =
            |s: &u64| u32::try_from(*s).map_err(|_| infeasible(TransportError::TooManyRows));
        let stay: Vec<u32> = sizes.iter().map(counted).collect::<Result<_, _>>()?;
        let (chosen, prices) = match rows.rows() {
            0 => (Vec::new(), pricing.prices().to_vec()),
            m => {
                let left = self.capacity.left_by(&stay, m);
                settle(&costs, &left, pricing.prices()).map_err(infeasible)?
            }
        };
        chosen.iter().for_each(|c| sizes[c.label as usize] += 1);
        // Whether the rows that stay are still where they are the cheapest: by their margins, or by a pass.
        let safe = gains(&prices, pricing.prices()).into_iter().fold(f64::NEG_INFINITY, f64::max);
        let mut lacking = 0.0;
        if safe > f64::from(doubt.below).max(0.0) {
            let told = Told { doubt, sums: Of::Seen, after: &prices };
            lacking = self.pass(state, pricing, told)?.lacking;
        }
        for (choice, costs) in chosen.iter().zip(costs.chunks_exact(k)) {
            let priced = |j: usize| f64::from(costs[j]) + prices[j];
            lacking +=
                priced(choice.label as usize) - (0..k).map(priced).fold(f64::INFINITY, f64::min);
        }
        let mut after = Pricing::new(self.n, self.capacity.clone()).map_err(infeasible)?;
        after.set_prices(prices.clone());
        after.hear(Tally { sizes, ..Tally::new(k) }).map_err(infeasible)?;
        let own = |(row, choice): (&[f32], &Choice)| {
            squared_distance(row, state.centroids.row(choice.label as usize))
        };
        let cost = found.costs.iter().sum::<f64>()
            + rows.view().iter_rows().zip(&chosen).map(own).sum::<f64>();
        // A gap of costs, which are half squares; equal rows cost nothing.
        let gap = 2.0 * (lacking + after.shortfall()).max(0.0);
        let relative_gap = if gap > 0.0 { gap / cost } else { 0.0 };
        let is_feasible = after.is_feasible();
        Ok(Settled { doubt, found, rows, chosen, prices, is_feasible, relative_gap })
    }

    fn choices(
        &self,
        state: &BalancedState,
        pricing: &Pricing,
        rows: MatrixRef<'_>,
    ) -> Vec<Choice> {
        let centres = Centres::with_shift(state.centroids.clone(), state.shift.clone());
        let centres = PricedCentres::new(centres, pricing.prices().to_vec(), (0.0, usize::MAX));
        let mut chosen = vec![Choice::default(); rows.rows()];
        centres.choose(0, rows, &mut chosen, &mut Tally::new(self.of.spec.k));
        chosen
    }

    fn finish(
        &self,
        state: &BalancedState,
        pricing: &Pricing,
        settled: Settled,
    ) -> Result<Balanced, PassError> {
        let Settled { doubt, mut found, rows, chosen, relative_gap, .. } = settled;
        let (k, d) = (self.of.spec.k, self.cols);
        let before = self.choices(state, pricing, rows.view());
        let sizes = &mut found.tally.sizes;
        before.iter().for_each(|c| sizes[c.label as usize] -= 1);
        for (row, choice) in rows.view().iter_rows().zip(&chosen) {
            let j = choice.label as usize;
            sizes[j] += 1;
            found.costs[j] += squared_distance(row, state.centroids.row(j));
            found.sums.resize(k * d, 0.0);
            let sum = &mut found.sums[j * d..(j + 1) * d];
            sum.iter_mut().zip(row).for_each(|(s, &v)| *s += f64::from(v));
        }
        let told = Told { doubt, ..Told::NOTHING };
        let mut labels: Vec<((u64, u64), u32)> =
            found.doubt.at.iter().copied().zip(chosen.iter().map(|c| c.label)).collect();
        labels.sort_unstable();
        let labels = Labelling { pass: self.priced(state, pricing, told), settled: labels };
        let means = mean_rows(&found.sums, &found.tally.sizes, &state.centroids);
        let mut costs = found.costs;
        let centroids = match self.view.metric {
            Metric::Cosine => state.centroids.clone(),
            Metric::Euclidean => {
                // Around the means: what the centroids are off of it less.
                for (j, cost) in costs.iter_mut().enumerate() {
                    let off = squared_distance(means.row(j), state.centroids.row(j));
                    *cost = (*cost - found.tally.sizes[j] as f64 * off).max(0.0);
                }
                means.clone()
            }
        };
        let sizes = found.tally.sizes;
        let clusters = ByPasses {
            centroids,
            means,
            weights: sizes.iter().map(|&s| s as f64).collect(),
            sizes,
            costs,
            iterations: state.iterations,
            converged: state.converged,
        };
        Ok(Balanced { clusters, labels, relative_gap })
    }
}

/// Rows in doubt, assigned.
struct Settled {
    doubt: Doubt,
    /// What the pass came to that handed them back.
    found: Found,
    /// The rows, as distances see them.
    rows: Matrix,
    chosen: Vec<Choice>,
    prices: Vec<f64>,
    is_feasible: bool,
    relative_gap: f64,
}

/// Which row is in which cluster: the cheapest one, except for rows that the driver has assigned.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelling {
    pass: Pass,
    /// Rows, (partition, row), in order, and their clusters.
    settled: Vec<((u64, u64), u32)>,
}

impl Labelling {
    /// The clusters of rows of the data that follow each other in a partition, from number `first` on.
    pub fn labels(
        &self,
        (part, first): (u64, u64),
        rows: MatrixRef<'_>,
    ) -> Result<Vec<u32>, PassError> {
        self.labels_at(&|i| (part, first + i as u64), rows)
    }

    /// The clusters of any rows of the data, of which `at` says (partition, row).
    pub(super) fn labels_at(
        &self,
        at: &dyn Fn(usize) -> (u64, u64),
        rows: MatrixRef<'_>,
    ) -> Result<Vec<u32>, PassError> {
        let Work::Price(work) = &self.pass.work else { return Err(PassError::OtherVersion) };
        let width = self.pass.view.cols(rows.cols());
        if width != work.centroids.cols() {
            let ((part, row), need) = (at(0), work.centroids.cols());
            let why = format!("has {width} columns, but {need} are needed");
            return Err(PassError::BadRow { part, row, why });
        }
        let seen = self.pass.view.of(rows);
        let seen = MatrixRef::new(rows.rows(), width, &seen).expect("one row for each");
        let mut chosen = vec![Choice::default(); rows.rows()];
        work.centres().choose(0, seen, &mut chosen, &mut Tally::new(work.prices.len()));
        let label = |(i, choice): (usize, &Choice)| match self
            .settled
            .binary_search_by_key(&at(i), |(at, _)| *at)
        {
            Ok(found) => self.settled[found].1,
            Err(_) => choice.label,
        };
        Ok(chosen.iter().enumerate().map(label).collect())
    }

    /// The means of the clusters in the units of the data, by a pass.
    pub(super) fn means_of_data(
        &self,
        rows: &dyn Partitions,
        look: &Look,
    ) -> Result<Matrix, PassError> {
        let mut pass = self.pass.clone();
        let Work::Price(work) = &mut pass.work else { return Err(PassError::OtherVersion) };
        work.sums = Of::Data;
        let (k, d) = (work.prices.len(), look.moments.mean.len());
        let Partial::Prices(mut found) = Partial::merged(rows.run(&pass)?)? else {
            return Err(PassError::OtherVersion);
        };
        look.check(found.count())?;
        if found.doubt.at.iter().ne(self.settled.iter().map(|(at, _)| at)) {
            return Err(PassError::Engine("a partition gave other rows than before".into()));
        }
        found.sums.resize(k * d, 0.0);
        let mut chosen = vec![Choice::default(); found.doubt.len()];
        let data = found.doubt.matrix();
        if !chosen.is_empty() {
            let seen = self.pass.view.of(data.view());
            let width = self.pass.view.cols(d);
            let seen = MatrixRef::new(chosen.len(), width, &seen).expect("one row for each");
            let Work::Price(work) = &pass.work else { return Err(PassError::OtherVersion) };
            work.centres().choose(0, seen, &mut chosen, &mut Tally::new(k));
        }
        for ((i, choice), (_, label)) in chosen.iter().enumerate().zip(&self.settled) {
            let (from, to) = (choice.label as usize, *label as usize);
            found.tally.sizes[from] -= 1;
            found.tally.sizes[to] += 1;
            let sum = &mut found.sums[to * d..(to + 1) * d];
            sum.iter_mut().zip(data.row(i)).for_each(|(s, &v)| *s += f64::from(v));
        }
        Ok(mean_rows(&found.sums, &found.tally.sizes, &Matrix::zeros(k, d)))
    }

    /// For the way to another machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::new(0);
        to.bytes(&self.pass.to_bytes());
        to.u64s(&self.settled.iter().map(|s| s.0.0).collect::<Vec<_>>());
        to.u64s(&self.settled.iter().map(|s| s.0.1).collect::<Vec<_>>());
        to.u64s(&self.settled.iter().map(|s| u64::from(s.1)).collect::<Vec<_>>());
        to.finish()
    }

    /// What [`Labelling::to_bytes`] gave.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PassError> {
        let (_, mut from) = Reader::new(bytes)?;
        let pass = Pass::from_bytes(from.bytes()?)?;
        let (parts, rows, labels) = (from.u64s()?, from.u64s()?, from.u64s()?);
        from.end()?;
        let Work::Price(work) = &pass.work else { return Err(PassError::OtherVersion) };
        let known = |&label: &u64| label < work.prices.len() as u64;
        if rows.len() != parts.len() || labels.len() != parts.len() || !labels.iter().all(known) {
            return Err(PassError::CutOff);
        }
        let at = parts.into_iter().zip(rows).zip(labels.into_iter().map(|l| l as u32));
        Ok(Self { pass, settled: at.collect() })
    }
}

/// Why prices were not found.
enum Balancing {
    Pass(PassError),
    Transport(TransportError),
}

impl From<TransportError> for Balancing {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

impl From<Balancing> for PassError {
    fn from(error: Balancing) -> Self {
        match error {
            Balancing::Pass(error) => error,
            Balancing::Transport(error) => infeasible(error),
        }
    }
}

/// How many rows the driver assigns at most, by their clusters and columns.
fn most_in_doubt(k: usize, cols: usize) -> usize {
    // As they came and as distances see them, their costs, and where they lie.
    (ROOM / (8 * cols + 4 * k + 48)).max(1024)
}

/// The costs of rows, (m, k).
fn costs(rows: MatrixRef<'_>, centres: &Centres) -> Vec<f32> {
    let mut costs = vec![0.0f32; rows.rows() * centres.len()];
    if rows.rows() > 0 {
        chunks::for_each_part_mut(&mut costs, centres.len(), |range, out| {
            centres.scores(rows.slice(range), out);
        });
    }
    costs
}

/// The means of all rows of a pass; a cluster without rows stays where it is.
fn means(found: &Found, before: &Matrix) -> Matrix {
    mean_rows(&found.sums, &found.tally.sizes, before)
}

fn mean_rows(sums: &[f64], sizes: &[u64], before: &Matrix) -> Matrix {
    let d = before.cols();
    Matrix::from_fn(before.rows(), d, |j, c| match sizes[j] > 0 {
        true => (sums[j * d + c] / sizes[j] as f64) as f32,
        false => before.row(j)[c],
    })
}

fn infeasible(error: TransportError) -> PassError {
    PassError::BadParameter(error.to_string())
}

fn unfit(error: ClusterError) -> PassError {
    match error {
        ClusterError::BadK { k, rows } => PassError::BadK { k, distinct: rows },
        other => PassError::BadParameter(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Local, look};
    use super::*;
    use bridged_math::transport::Transport;
    use rand::RngExt;

    /// Groups of which some are many times as large as others.
    fn blobs(n: usize, d: usize, groups: usize, spread: f32, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        let means = Matrix::from_fn(groups, d, |_, _| 10.0 * rng.random::<f32>());
        let own: Vec<usize> =
            (0..n).map(|_| (rng.random::<f64>().powi(2) * groups as f64) as usize).collect();
        Matrix::from_fn(n, d, |i, j| {
            means.row(own[i])[j] + spread * (rng.random::<f32>() + rng.random::<f32>() - 1.0)
        })
    }

    fn spec(k: usize) -> BalancedByPasses {
        let spec = BalancedKMeans { k, restarts: 2, max_iter: 40, ..BalancedKMeans::default() };
        BalancedByPasses { spec, seed: Seed(3) }
    }

    fn fit(spec: &BalancedByPasses, rows: &dyn Partitions) -> Result<Balanced, PassError> {
        spec.fit(rows, &look(rows)?, &View::default(), None, &mut |_| Ok(()))
    }

    fn labels(found: &Balanced, x: &Matrix, parts: usize, batch: usize) -> Vec<u32> {
        let n = x.rows();
        let labelling = Labelling::from_bytes(&found.labels.to_bytes()).unwrap();
        assert_eq!(labelling, found.labels);
        let mut all = Vec::new();
        for part in 0..parts {
            let range = part * n / parts..(part + 1) * n / parts;
            for first in range.clone().step_by(batch) {
                let rows = x.view().slice(first..(first + batch).min(range.end));
                let at = (part as u64, (first - range.start) as u64);
                all.extend(labelling.labels(at, rows).unwrap());
            }
        }
        all
    }

    #[test]
    fn sizes_are_exact_and_labels_the_cheapest_within_them() {
        for (n, k, room) in [(3_000, 7, "all rows"), (30_011, 12, "a few rows")] {
            let x = blobs(n, 6, 9, 5.0, 1);
            let found = fit(&spec(k), &Local::new(x.view(), 5)).unwrap();
            let labels = labels(&found, &x, 5, 999);
            let mut sizes = vec![0u64; k];
            labels.iter().for_each(|&l| sizes[l as usize] += 1);
            assert_eq!(found.clusters.sizes, sizes, "{room} in doubt");
            let (least, most) = ((n / k) as u64, n.div_ceil(k) as u64);
            assert!(sizes.iter().all(|s| (least..=most).contains(s)), "{sizes:?}");
            assert!(found.relative_gap < 1e-6, "{}", found.relative_gap);
            assert!(found.clusters.converged);
            // The transport problem for the centroids at rest, all costs in memory.
            let Work::Price(work) = &found.labels.pass.work else { panic!() };
            let cost = |i: usize, j: usize| 0.5 * squared_distance(x.row(i), work.centroids.row(j));
            let all: Vec<f32> =
                (0..n).flat_map(|i| (0..k).map(move |j| cost(i, j) as f32)).collect();
            let mut transport = Transport::new(Capacity::even(n, k));
            transport.solve(&all).unwrap();
            let sum = |labels: &mut dyn Iterator<Item = u32>| -> f64 {
                labels.enumerate().map(|(i, l)| cost(i, l as usize)).sum()
            };
            let (own, best) = (sum(&mut labels.iter().copied()), sum(&mut transport.labels()));
            assert!((own - best).abs() < 1e-6 * best, "{own} {best}");
            let (means, _) = crate::cluster::means_of(x.view(), &labels, k);
            for (a, b) in means.data().iter().zip(found.clusters.centroids.data()) {
                assert!((a - b).abs() < 1e-4);
            }
            let inertia: f64 = labels
                .iter()
                .enumerate()
                .map(|(i, &l)| squared_distance(x.row(i), means.row(l as usize)))
                .sum();
            assert!((found.clusters.inertia() - inertia).abs() < 1e-6 * inertia);
        }
    }

    #[test]
    fn it_is_as_good_as_the_fit_in_memory() {
        let x = blobs(30_000, 8, 10, 4.0, 2);
        let restarts = BalancedKMeans { restarts: 10, ..spec(20).spec };
        let spec = BalancedByPasses { spec: restarts, seed: Seed(0) };
        let found = fit(&spec, &Local::new(x.view(), 4)).unwrap();
        let in_memory = spec.spec.fit(x.view(), Seed(0), &Silent).unwrap();
        let (far, near) = (found.clusters.inertia(), in_memory.inertia);
        assert!(far < 1.03 * near, "{far} {near}");
    }

    #[test]
    fn batches_change_nothing_and_bounds_hold() {
        let x = blobs(9_000, 4, 5, 3.0, 3);
        let sizes = BalancedKMeans { min_size: Some(900), max_size: Some(2_000), ..spec(6).spec };
        let spec = BalancedByPasses { spec: sizes, seed: Seed(1) };
        let whole = fit(&spec, &Local::new(x.view(), 3)).unwrap();
        assert_eq!(fit(&spec, &Local::new(x.view(), 3).in_batches(70)).unwrap(), whole);
        assert!(whole.clusters.sizes.iter().all(|s| (900..=2_000).contains(s)));
        assert_eq!(whole.clusters.sizes.iter().sum::<u64>(), 9_000);
    }

    #[test]
    fn a_fit_goes_on_from_every_state_to_the_same_result() {
        let x = blobs(6_000, 5, 6, 6.0, 4);
        let rows = Local::new(x.view(), 4);
        let found = look(&rows).unwrap();
        let mut states = Vec::new();
        let mut keep = |state: &BalancedState| {
            states.push(serde_json::to_string(state).unwrap());
            Ok(())
        };
        let to_rest = BalancedKMeans { tol: 0.0, max_iter: 9, ..spec(9).spec };
        let spec = BalancedByPasses { spec: to_rest, ..spec(9) };
        let whole = spec.fit(&rows, &found, &View::default(), None, &mut keep).unwrap();
        assert!(states.len() > 3);
        for text in states.iter().step_by(2) {
            let state: BalancedState = serde_json::from_str(text).unwrap();
            let again = spec.fit(&rows, &found, &View::default(), Some(state), &mut |_| Ok(()));
            assert_eq!(again.unwrap(), whole);
        }
        let state: BalancedState = serde_json::from_str(&states[0]).unwrap();
        let other = BalancedByPasses { seed: Seed(8), ..spec };
        let error = other.fit(&rows, &found, &View::default(), Some(state), &mut |_| Ok(()));
        assert_eq!(error.unwrap_err(), PassError::OtherCheckpoint { what: "the seeds" });
    }

    #[test]
    fn one_cluster_has_all_rows_and_as_many_as_rows_have_one_each() {
        let x = blobs(40, 3, 4, 2.0, 5);
        let rows = Local::new(x.view(), 2);
        assert_eq!(fit(&spec(1), &rows).unwrap().clusters.sizes, [40]);
        let all = fit(&spec(40), &rows).unwrap();
        assert_eq!(
            (all.clusters.sizes, all.clusters.costs.iter().sum::<f64>()),
            (vec![1; 40], 0.0)
        );
        let error = fit(&spec(41), &rows).unwrap_err().to_string();
        assert_eq!(error, "`k` must be between 1 and 40 (different rows that were found), got 41");
        let sizes = BalancedKMeans { max_size: Some(3), ..spec(4).spec };
        let error = fit(&BalancedByPasses { spec: sizes, seed: Seed(0) }, &rows).unwrap_err();
        assert!(matches!(error, PassError::BadParameter(_)), "{error}");
    }

    #[test]
    fn equal_rows_are_divided_where_the_driver_can_hold_them() {
        let x = Matrix::from_fn(600, 2, |i, j| (i % 3 * (j + 1)) as f32);
        let found = fit(&spec(5), &Local::new(x.view(), 3)).unwrap();
        assert_eq!(found.clusters.sizes, [120; 5]);
    }

    #[test]
    fn angles_are_compared_without_lengths() {
        let x = Matrix::from_rows(&[[1.0, 0.1], [100.0, 9.0], [0.1, 1.0], [0.2, 50.0]]);
        let view = View { metric: Metric::Cosine, ..View::default() };
        let rows = Local::new(x.view(), 2);
        let found =
            spec(2).fit(&rows, &look(&rows).unwrap(), &view, None, &mut |_| Ok(())).unwrap();
        let labels = labels(&found, &x, 2, 2);
        assert_eq!((labels[0], labels[2]), (labels[1], labels[3]));
        assert_ne!(labels[0], labels[2]);
    }

    #[test]
    fn what_the_driver_holds_is_bounded() {
        for (k, cols) in [(2, 4), (100, 64), (1_000, 1_000)] {
            let most = most_in_doubt(k, cols);
            assert!(most * (8 * cols + 4 * k) <= ROOM && most >= 10 * k, "{k} {cols} {most}");
        }
    }
}
