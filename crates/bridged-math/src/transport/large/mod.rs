//! The cheapest assignment of rows to centres where the n × k costs have no room: passes over the rows.
//!
//! The cost of row x in column j is the score of centre j ([`Centres`]), half a squared distance less a
//! part that is the same for all columns. It is computed again in every pass and never kept.
//!
//! 1. [`pass`](Large::pass): every row takes its cheapest column at the prices as they are. Kept are its
//!    label and its *margin*, by how much the next best costs more: 8 bytes a row. Rows near a wall
//!    between two columns are counted.
//! 2. [`improve`](Large::improve): the walls say which prices would balance the sizes (`walls`).
//!    [`balance`](Large::balance) alternates both for centres that stay.
//! 3. [`finish`](Large::finish): once few rows are in the wrong place, the costs of those with the least
//!    margins are taken into memory and assigned exactly, to what the other rows leave of the bounds
//!    (`repair`). The prices move a little by that, and a row that was left out is still where it is
//!    cheapest if its margin is larger than what its column gained on the others. That is checked for
//!    every row, and rows for which it fails are taken in too. In the end the labels are optimal for
//!    all n rows, and [`Finish::gap`] proves it.
//!
//! Cost: O(n k d) a pass; mostly one pass and one solution of a few thousand rows for centres that moved
//! little since the prices were found. Memory: 8 n bytes, the costs of the rows in doubt, O(k²).
//!
//! Labels, prices and sizes are the same whatever the parts in which rows come and however many threads.

mod repair;
#[cfg(test)]
mod tests;
mod walls;

use super::pass::{Choice, PricesF32, exact};
use super::{Capacity, Imbalance, TransportError, pass, paths, prices, surplus};
use crate::chunks::{map_blocks, map_blocks_mut};
use crate::distance::{Centres, squared_distance};
use crate::matrix::MatrixRef;
use crate::rows::{Rows, RowsError};
use serde::{Deserialize, Serialize};
use std::fmt;
use walls::Walls;

/// Rows whose scores are held at once by each thread.
const TILE: usize = 120;
/// About so many rows near walls are counted in a pass; more are sampled.
const HITS: f64 = 1_000_000.0;
/// More rows than one in this many are many to be in the wrong place.
const MANY: usize = 50;
/// Parts of one in which gains are counted.
const UNIT: f64 = 4_294_967_296.0;
/// Passes that are spent at most on prices for the same centres.
const PASSES: usize = 16;

/// What the passes learn and hand on to the next: all that is needed to go on from here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// The price of each column.
    pub prices: Vec<f64>,
    /// Margins up to this are counted at the walls.
    reach: f64,
    /// Of the rows near walls, one in this many is counted.
    every: usize,
    /// How much of a step is made.
    damping: f64,
    /// How many rows were in the wrong place after the last pass.
    wrong: Option<usize>,
}

/// Assigns rows to centres, pass by pass.
#[derive(Clone, Debug)]
pub struct Large {
    capacity: Capacity,
    state: Prices,
    rows: Vec<Choice>,
    sizes: Vec<u32>,
    /// What the rows that changed their column in the last pass gained by it, in units of 2⁻³².
    gained: i128,
    /// Rows near walls in the last pass, within `reach`, one in `every`.
    hits: Vec<u64>,
    reach: f64,
    every: usize,
}

/// What a row adds to the cost of the column that it had before the pass.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    /// The part of half its squared distance that is added, for each column.
    pub rates: &'a [f32],
}

/// How far the prices of a sample are brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// Until few of its rows are in the wrong place.
    Roughly,
    /// To its optimum, which also finds prices that leave many equal rows to several columns.
    Exactly,
}

/// What the exact end comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Finish {
    /// The labels cost at most this much more than the cheapest ones, on the scale of half squared
    /// distances.
    pub gap: f64,
    /// Rows that were solved exactly, in all rounds.
    pub doubt: usize,
}

/// Why rows could not be assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LargeError {
    /// A part could not be read.
    Rows(RowsError),
    /// There is no such assignment.
    Transport(TransportError),
}

impl fmt::Display for LargeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(error) => error.fmt(f),
            Self::Transport(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LargeError {}

impl From<RowsError> for LargeError {
    fn from(error: RowsError) -> Self {
        Self::Rows(error)
    }
}

impl From<TransportError> for LargeError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

/// What a pass calls with each part: its first row, the part, and what its rows chose.
pub type Visit<'a> = dyn FnMut(usize, MatrixRef<'_>, &[Choice]) + 'a;

impl Large {
    /// `rows` rows, no prices yet.
    pub fn new(rows: usize, capacity: Capacity) -> Result<Self, TransportError> {
        let k = capacity.columns();
        let state = Prices {
            prices: vec![0.0; k],
            reach: f64::MAX,
            every: (rows as f64 / HITS).ceil().max(1.0) as usize,
            damping: 1.0,
            wrong: None,
        };
        Self::resume(rows, capacity, state)
    }

    /// Goes on from what passes over these or similar rows have learned.
    pub fn resume(rows: usize, capacity: Capacity, state: Prices) -> Result<Self, TransportError> {
        capacity.check(rows)?;
        assert_eq!(state.prices.len(), capacity.columns(), "one price per column");
        let sizes = vec![0; capacity.columns()];
        let (reach, every) = (state.reach, state.every);
        let rows = vec![Choice::default(); rows];
        Ok(Self { capacity, state, rows, sizes, gained: 0, hits: Vec::new(), reach, every })
    }

    /// Begins with what passes over a sample of the rows have learned.
    pub fn adopt(
        rows: usize,
        capacity: Capacity,
        mut state: Prices,
    ) -> Result<Self, TransportError> {
        state.every = (rows as f64 / HITS).ceil().max(1.0) as usize;
        state.wrong = None;
        Self::resume(rows, capacity, state)
    }

    /// What is known so far.
    pub fn state(&self) -> &Prices {
        &self.state
    }

    /// The price of each column.
    pub fn prices(&self) -> &[f64] {
        &self.state.prices
    }

    /// How many rows each column has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// By how much the rows that changed their column in the last pass lowered their costs and prices, as
    /// `own` has them.
    pub fn gained(&self) -> f64 {
        self.gained as f64 / UNIT
    }

    /// What each row chose.
    pub fn choices(&self) -> &[Choice] {
        &self.rows
    }

    /// The column of each row.
    pub fn into_labels(self) -> Vec<u32> {
        self.rows.into_iter().map(|row| row.label).collect()
    }

    /// How many rows are in the wrong place.
    pub fn wrong(&self) -> usize {
        Imbalance::new(&self.capacity, &self.state.prices, &self.sizes).total() as usize
    }

    /// What the bounds would cost or save at the prices beyond what the sizes do: Σ_j max(l p, u p) − size p.
    /// The cost of the labels of a pass less this is at most the optimum.
    pub fn shortfall(&self) -> f64 {
        let sink = Imbalance::new(&self.capacity, &self.state.prices, &self.sizes).sink;
        let columns = self.state.prices.iter().map(|p| p - sink).enumerate();
        columns
            .map(|(j, p)| {
                let full = if p > 0.0 { self.capacity.upper[j] } else { self.capacity.lower[j] };
                (f64::from(full) - f64::from(self.sizes[j])) * p
            })
            .sum()
    }

    /// Finds prices from nowhere, by the costs (m, k) of a sample of the rows.
    pub fn estimate(&mut self, costs: &[f32], sample: Sample) -> Result<(), TransportError> {
        let k = self.capacity.columns();
        let m = costs.len() / k;
        let capacity = self.capacity.scaled(m, self.rows.len());
        let mut rows = vec![Choice::default(); m];
        let wrong = |prices: &[f64], rows: &mut [Choice]| {
            let sizes = pass::assign(costs, prices, rows)?;
            Ok(Imbalance::new(&capacity, prices, &sizes).total())
        };
        let mut best = std::mem::replace(&mut self.state.prices, vec![0.0; k]);
        let mut least = wrong(&best, &mut rows)?;
        if least as usize > m / 8 {
            for other in [vec![0.0; k], pass::levelling(costs, k)] {
                let now = wrong(&other, &mut rows)?;
                if now < least {
                    (best, least) = (other, now);
                }
            }
            wrong(&best, &mut rows)?;
            if least as usize > m / 8 {
                surplus::reduce(costs, &capacity, &mut best, &rows, m / 64);
            }
        }
        let sizes = pass::assign(costs, &best, &mut rows)?;
        let sizes = repair::improve(costs, &capacity, &mut best, &mut rows, sizes, m / 64);
        if sample == Sample::Exactly {
            paths::finish(costs, &capacity, &mut best, &mut rows, &sizes);
            pass::assign(costs, &best, &mut rows)?;
        }
        self.state.prices = best;
        // Sizes of so few rows are off by some tenths on all of them.
        self.look(&rows, 0.2);
        self.state.wrong = None;
        Ok(())
    }

    /// Gives every row its cheapest column at the prices as they are. `own` makes the column that a row
    /// had before cost more.
    pub fn pass(
        &mut self,
        rows: &dyn Rows,
        centres: &Centres,
        own: Option<Own<'_>>,
        visit: &mut Visit<'_>,
    ) -> Result<(), LargeError> {
        let k = self.capacity.columns();
        let prices_f32 = PricesF32::new(&self.state.prices);
        (self.reach, self.every) = (self.state.reach, self.state.every);
        let reader = Reader {
            centres,
            prices: &self.state.prices,
            prices_f32: &prices_f32,
            own,
            reach: self.reach,
            every: self.every,
        };
        let (choices, sizes, hits) = (&mut self.rows, &mut self.sizes, &mut self.hits);
        sizes.fill(0);
        hits.clear();
        let mut gained = 0;
        let mut finite = true;
        rows.scan(&mut |first, part| {
            let chosen = &mut choices[first..first + part.rows()];
            let blocks = map_blocks_mut(chosen, 1, |range, chosen| {
                reader.read(first + range.start, part.slice(range), chosen)
            });
            for block in blocks {
                sizes.iter_mut().zip(block.sizes).for_each(|(s, b)| *s += b);
                hits.extend(block.hits);
                finite &= block.finite;
                gained += block.gained;
            }
            visit(first, part, &choices[first..first + part.rows()]);
            Ok(())
        })?;
        debug_assert_eq!(sizes.iter().map(|&s| s as usize).sum::<usize>(), choices.len());
        if !finite {
            return Err(TransportError::NotFinite.into());
        }
        debug_assert_eq!(sizes.len(), k);
        self.gained = gained;
        let wrong = self.wrong();
        self.look_for(wrong);
        Ok(())
    }

    /// Prices that, as the walls of the last pass say, bring the sizes nearer their bounds. Returns how
    /// many rows were in the wrong place.
    pub fn improve(&mut self) -> usize {
        let imbalance = Imbalance::new(&self.capacity, &self.state.prices, &self.sizes);
        let wrong = imbalance.total() as usize;
        let state = &mut self.state;
        state.damping = match state.wrong {
            Some(before) if wrong > before + before / 2 => (state.damping / 2.0).max(0.125),
            _ => (state.damping * 2.0).min(1.0),
        };
        state.wrong = Some(wrong);
        if wrong == 0 {
            return 0;
        }
        let step = self.step(&imbalance);
        let damping = self.state.damping;
        let from = std::mem::take(&mut self.state.prices);
        self.state.prices = self.moved(&from, &imbalance, &step, damping);
        wrong
    }

    /// The step that the walls of the last pass ask for, no longer than they reach.
    fn step(&mut self, imbalance: &Imbalance) -> Vec<f64> {
        let hits = std::mem::take(&mut self.hits);
        let walls = Walls::new(self.capacity.columns(), self.reach, self.every, hits);
        let mut step = walls.equilibrium(&self.state.prices, imbalance);
        let most = 0.5 * self.reach;
        step.iter_mut().for_each(|s| *s = s.clamp(-most, most));
        step
    }

    fn moved(&self, from: &[f64], imbalance: &Imbalance, step: &[f64], share: f64) -> Vec<f64> {
        let columns = from.iter().zip(step).enumerate();
        columns.map(|(j, (p, s))| moved(&self.capacity, imbalance, j, *p, share * s)).collect()
    }

    /// Better prices for the centres of the last pass, by the costs (m, k) of a sample of the rows. How far
    /// the sizes are off is known of all rows; the sample only says by which prices so many would move.
    pub fn reprice(&mut self, costs: &[f32]) -> Result<(), TransportError> {
        let (n, k) = (self.rows.len(), self.capacity.columns());
        let m = costs.len() / k;
        let imbalance = Imbalance::new(&self.capacity, &self.state.prices, &self.sizes);
        let mut prices = self.state.prices.clone();
        let mut rows = vec![Choice::default(); m];
        let mut sizes = pass::assign(costs, &prices, &mut rows)?;
        let part = m as f64 / n as f64;
        let wanted: Vec<f64> = (sizes.iter().zip(&imbalance.excess))
            .map(|(&s, &e)| (f64::from(s) - part * e as f64).max(0.0))
            .collect();
        let wanted = apportion(&wanted, m);
        let capacity = Capacity::new(wanted.clone(), wanted);
        if Imbalance::new(&capacity, &prices, &sizes).total() as usize > m / 8 {
            surplus::reduce(costs, &capacity, &mut prices, &rows, m / 64);
            sizes = pass::assign(costs, &prices, &mut rows)?;
        }
        repair::improve(costs, &capacity, &mut prices, &mut rows, sizes, m / 256);
        self.state.prices = prices;
        Ok(())
    }

    /// Passes over the same centres until at most `goal` rows are in the wrong place, or no prices are
    /// found that leave fewer there. While many are, prices are found on `some` of the rows, later by the
    /// walls; a step after which more are in the wrong place is taken back.
    pub fn balance(
        &mut self,
        rows: &dyn Rows,
        some: MatrixRef<'_>,
        centres: &Centres,
        goal: usize,
    ) -> Result<(), LargeError> {
        let nothing: &mut Visit<'_> = &mut |_, _, _| ();
        self.pass(rows, centres, None, nothing)?;
        let n = self.rows.len();
        let mut best = self.sight();
        let mut samples = Some(Sample::Roughly);
        let mut step: Option<(Vec<f64>, Imbalance)> = None;
        let mut share = 1.0;
        for _ in 0..PASSES {
            if best.wrong <= goal {
                break;
            }
            // The walls of the best prices so far; a pass at others has replaced them.
            if step.is_none() && self.state.prices == best.prices {
                step = Some((self.step(&best.imbalance), best.imbalance.clone()));
                share = 1.0;
            }
            let stuck = share < 0.1;
            match (samples, &step) {
                (Some(Sample::Roughly), _) if best.wrong > n / MANY => {
                    samples = Some(Sample::Exactly);
                    self.state.prices.clone_from(&best.prices);
                    self.reprice(&costs_of(some, centres))?;
                }
                (Some(Sample::Roughly | Sample::Exactly), _) if stuck => {
                    samples = None;
                    self.state.prices.clone_from(&best.prices);
                    self.estimate(&costs_of(some, centres), Sample::Exactly)?;
                }
                (_, Some((step, imbalance))) if !stuck => {
                    self.state.prices = self.moved(&best.prices, imbalance, step, share);
                    share *= 0.35;
                }
                _ => break,
            }
            self.pass(rows, centres, None, nothing)?;
            let now = self.sight();
            if now.wrong < best.wrong {
                if 2 * now.wrong < best.wrong && samples == Some(Sample::Exactly) {
                    samples = Some(Sample::Roughly);
                }
                (best, step, share) = (now, None, 1.0);
            }
        }
        if self.state.prices != best.prices {
            self.state.prices = best.prices;
            self.pass(rows, centres, None, nothing)?;
        }
        Ok(())
    }

    fn sight(&self) -> Sight {
        let prices = self.state.prices.clone();
        let imbalance = Imbalance::new(&self.capacity, &prices, &self.sizes);
        Sight { prices, wrong: imbalance.total() as usize, imbalance }
    }

    /// Moves the rows that remain in the wrong place, exactly. To be called after a [`pass`](Large::pass),
    /// with the same rows and centres and no `own`. Holds at most about `room` costs at once, and goes
    /// on until the gap is at most `enough`, or nothing more can be gained in that room.
    pub fn finish(
        &mut self,
        rows: &dyn Rows,
        centres: &Centres,
        room: usize,
        enough: f64,
    ) -> Result<Finish, LargeError> {
        repair::finish(self, rows, centres, room, enough)
    }

    /// Chooses how near to a wall the rows are that the next pass counts, several times those that must
    /// move: a row seldom moves straight to where it is missing.
    fn look_for(&mut self, wrong: usize) {
        let rows = std::mem::take(&mut self.rows);
        self.look(&rows, (16.0 * wrong as f64 / rows.len() as f64).clamp(0.02, 0.999));
        self.rows = rows;
    }

    fn look(&mut self, rows: &[Choice], share: f64) {
        let reach = prices::quantile(rows, share);
        // Where many rows are as near to two columns, none is nearer.
        let least = rows.iter().map(|r| f64::from(r.margin.abs())).fold(0.0, f64::max) * 1e-6;
        self.state.reach = reach.max(least).clamp(f64::from(f32::MIN_POSITIVE), f64::MAX);
        self.state.every = (self.rows.len().max(rows.len()) as f64 * share / HITS).ceil() as usize;
        self.state.every = self.state.every.max(1);
    }
}

/// Prices and what the rows made of them.
struct Sight {
    prices: Vec<f64>,
    imbalance: Imbalance,
    wrong: usize,
}

/// Whole numbers near these, which add up to `sum`: rounded down, and one more where most was lost.
fn apportion(wanted: &[f64], sum: usize) -> Vec<u32> {
    let scale = sum as f64 / wanted.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut whole: Vec<u32> = wanted.iter().map(|w| (w * scale) as u32).collect();
    let lost = |j: usize, whole: &[u32]| wanted[j] * scale - f64::from(whole[j]);
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| lost(b, &whole).total_cmp(&lost(a, &whole)).then(a.cmp(&b)));
    let mut left = sum.saturating_sub(whole.iter().map(|&w| w as usize).sum());
    for &j in order.iter().cycle().take(2 * wanted.len()) {
        if left == 0 {
            break;
        }
        whole[j] += 1;
        left -= 1;
    }
    whole
}

/// A column whose bounds leave it much room stops at the price of the sink, where it may have any size.
fn moved(capacity: &Capacity, imbalance: &Imbalance, j: usize, price: f64, step: f64) -> f64 {
    let sink = imbalance.sink;
    let room = i64::from(capacity.upper[j]) - i64::from(capacity.lower[j]);
    let crosses = (price - sink) * (price + step - sink) < 0.0;
    if crosses && room > imbalance.excess[j].abs() { sink } else { price + step }
}

/// What a block of rows comes to.
struct Block {
    sizes: Vec<u32>,
    hits: Vec<u64>,
    finite: bool,
    gained: i128,
}

/// What all blocks of a pass share.
struct Reader<'a> {
    centres: &'a Centres,
    prices: &'a [f64],
    prices_f32: &'a PricesF32,
    own: Option<Own<'a>>,
    reach: f64,
    every: usize,
}

impl Reader<'_> {
    fn read(&self, first: usize, part: MatrixRef<'_>, chosen: &mut [Choice]) -> Block {
        let k = self.prices.len();
        let mut scores = vec![0.0f32; TILE.min(part.rows()) * k];
        let mut block = Block { sizes: vec![0; k], hits: Vec::new(), finite: true, gained: 0 };
        let mut poison = 0.0f32;
        for start in (0..part.rows()).step_by(TILE) {
            let tile = part.slice(start..(start + TILE).min(part.rows()));
            let scores = &mut scores[..tile.rows() * k];
            self.centres.scores(tile, scores);
            let rows = scores.chunks_exact_mut(k).zip(&mut chosen[start..]);
            for (i, (costs, choice)) in rows.enumerate() {
                let before = choice.label as usize;
                if let Some(own) = self.own {
                    let half = 0.5 * squared_distance(tile.row(i), self.centres.shift());
                    let cost = &mut costs[before];
                    *cost += own.rates[before] * (half as f32 + *cost).max(0.0);
                }
                let quick = self.prices_f32.two_least(costs);
                poison += quick.check;
                *choice = match self.prices_f32.certain_margin(&quick) {
                    Some(margin) => Choice { label: quick.first as u32, margin },
                    None => exact(costs, self.prices),
                };
                block.sizes[choice.label as usize] += 1;
                if self.own.is_some() && choice.label as usize != before {
                    let priced = |j: usize| f64::from(costs[j]) + self.prices[j];
                    // Whole numbers: their sum does not depend on the order.
                    let gain = priced(before) - priced(choice.label as usize);
                    block.gained += (gain * UNIT) as i128;
                }
                let margin = f64::from(quick.next - quick.least);
                if margin <= self.reach && (first + start + i).is_multiple_of(self.every) {
                    let to = self.prices_f32.second(costs, quick.first, quick.next);
                    if to != quick.first {
                        block.hits.push(walls::hit(k, quick.first, to, margin / self.reach));
                    }
                }
            }
        }
        block.finite = !poison.is_nan();
        block
    }
}

/// The costs of some rows, (m, k).
fn costs_of(rows: MatrixRef<'_>, centres: &Centres) -> Vec<f32> {
    let mut costs = vec![0.0f32; rows.rows() * centres.len()];
    crate::chunks::for_each_part_mut(&mut costs, centres.len(), |range, out| {
        centres.scores(rows.slice(range), out);
    });
    costs
}

/// The sizes that rows make at `prices`, and those of them that are near walls, in single precision.
fn respond(costs: &[f32], prices: &[f64], reach: f64) -> (Vec<u32>, Vec<u64>) {
    let k = prices.len();
    let prices_f32 = PricesF32::new(prices);
    let blocks = map_blocks(costs.len() / k, |range| {
        let (mut sizes, mut hits) = (vec![0u32; k], Vec::new());
        for costs in costs[range.start * k..range.end * k].chunks_exact(k) {
            let quick = prices_f32.two_least(costs);
            sizes[quick.first] += 1;
            let margin = f64::from(quick.next - quick.least);
            if margin <= reach {
                let to = prices_f32.second(costs, quick.first, quick.next);
                if to != quick.first {
                    hits.push(walls::hit(k, quick.first, to, margin / reach));
                }
            }
        }
        (sizes, hits)
    });
    let (mut sizes, mut hits) = (vec![0u32; k], Vec::new());
    for (block_sizes, block_hits) in blocks {
        sizes.iter_mut().zip(block_sizes).for_each(|(s, b)| *s += b);
        hits.extend(block_hits);
    }
    (sizes, hits)
}
