//! Prices that bring the sizes nearer their bounds: from a sample, and by the walls of a pass.

use super::read::costs_of;
use super::walls::Walls;
use super::{Pricing, Sample, repair};
use crate::distance::Centres;
use crate::matrix::MatrixRef;
use crate::transport::pass::{self, Choice};
use crate::transport::{Capacity, Imbalance, TransportError, paths, prices, surplus};

/// About so many rows near walls are counted in a pass; more are sampled.
pub(super) const HITS: f64 = 1_000_000.0;
/// More rows than one in this many are many to be in the wrong place.
const MANY: usize = 50;
/// Passes that are spent at most on prices for the same centres.
const PASSES: usize = 16;

impl Pricing {
    /// Finds prices from nowhere, by the costs (m, k) of a sample of the rows.
    pub fn estimate(&mut self, costs: &[f32], sample: Sample) -> Result<(), TransportError> {
        let k = self.capacity.columns();
        let m = costs.len() / k;
        let capacity = self.capacity.scaled(m, self.total);
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
        let (n, k) = (self.total, self.capacity.columns());
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
    /// walls; a step after which more are in the wrong place is taken back. `pass` is to be a pass at the
    /// prices as they are, which [`hear`](Pricing::hear) was told of.
    pub fn balance<E: From<TransportError>>(
        &mut self,
        some: MatrixRef<'_>,
        centres: &Centres,
        goal: usize,
        pass: &mut dyn FnMut(&mut Pricing) -> Result<(), E>,
    ) -> Result<(), E> {
        pass(self)?;
        let n = self.total;
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
            pass(self)?;
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
            pass(self)?;
        }
        Ok(())
    }

    fn sight(&self) -> Sight {
        let prices = self.state.prices.clone();
        let imbalance = Imbalance::new(&self.capacity, &prices, &self.sizes);
        Sight { prices, wrong: imbalance.total() as usize, imbalance }
    }

    /// Chooses how near to a wall the rows are that the next pass counts, several times those that must
    /// move: a row seldom moves straight to where it is missing.
    pub(super) fn look_for(&mut self, wrong: usize, rows: &[Choice]) {
        self.look(rows, self.share_for(wrong));
    }

    pub(super) fn share_for(&self, wrong: usize) -> f64 {
        (16.0 * wrong as f64 / self.total as f64).clamp(0.02, 0.999)
    }

    fn look(&mut self, rows: &[Choice], share: f64) {
        let largest = rows.iter().map(|r| f64::from(r.margin.abs())).fold(0.0, f64::max);
        self.look_within(prices::quantile(rows, share), largest, share);
        self.state.every = every(self.total.max(rows.len()), share);
    }

    /// Counts rows whose margin is up to `reach`, which is a `share` of all.
    pub(super) fn look_within(&mut self, reach: f64, largest: f64, share: f64) {
        // Where many rows are as near to two columns, none is nearer.
        let reach = reach.max(largest * 1e-6);
        self.state.reach = reach.clamp(f64::from(f32::MIN_POSITIVE), f64::MAX);
        self.state.every = every(self.total, share);
    }
}

/// Of so many rows near walls, one in this many is counted.
fn every(rows: usize, share: f64) -> usize {
    ((rows as f64 * share / HITS).ceil() as usize).max(1)
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
pub(super) fn moved(
    capacity: &Capacity,
    imbalance: &Imbalance,
    j: usize,
    price: f64,
    step: f64,
) -> f64 {
    let sink = imbalance.sink;
    let room = i64::from(capacity.upper[j]) - i64::from(capacity.lower[j]);
    let crosses = (price - sink) * (price + step - sink) < 0.0;
    if crosses && room > imbalance.excess[j].abs() { sink } else { price + step }
}
