//! The exact end of passes: rows in doubt are solved in memory, and all others are checked.
//!
//! With labels that are cheapest at prices p, and margins, take any set of rows that holds those of small
//! margins. Solve the transport problem for this set alone, with what the others leave of the bounds;
//! its prices are q. A row outside with label a and margin g is still in its cheapest column if
//!
//! ```text
//! (q_a − p_a) − min_{j ≠ a} (q_j − p_j)  ≤  g
//! ```
//!
//! If that holds for all, labels and q satisfy the optimality conditions of the whole problem. What is
//! lacking for a row is at most the difference of both sides, and all that is lacking is at least the gap
//! to the optimum. Margins become bounds by this; where they are too careful, a pass measures them again.

use super::priced::{CLASSES, class};
use super::read::{Reader, respond, write_costs};
use super::steps::moved;
use super::walls::Walls;
use super::{Finish, Large, LargeError, Pricing};
use crate::cancel::checkpoint;
use crate::chunks::{map_blocks, map_blocks_mut};
use crate::distance::Centres;
use crate::rows::Rows;
use crate::transport::pass::{self, Choice, PricesF32};
use crate::transport::{Capacity, Imbalance, TransportError, paths, prices, surplus};

/// Steps of prices over the rows in doubt.
const STEPS: usize = 24;
/// Rounds after which a gap that is still too large stays, once all sizes are right.
const ROUNDS: usize = 24;

pub(super) fn finish(
    large: &mut Large,
    rows: &dyn Rows,
    centres: &Centres,
    room: usize,
    enough: f64,
) -> Result<Finish, LargeError> {
    let (n, k) = (large.rows.len(), large.pricing.capacity.columns());
    let most = (room / k).max(1024).min(n);
    let mut doubt_in_all = 0;
    let mut target = (8 * large.wrong()).max(8 * k).max(1024);
    let mut measured = true;
    let mut complete = false;
    let mut doubt: Vec<u32> = Vec::new();
    for round in 0.. {
        checkpoint();
        let imbalance = large.pricing.level();
        let gap = large.gap();
        let feasible = large.pricing.is_feasible();
        if feasible && (gap <= enough || complete) {
            return Ok(Finish { gap, doubt: doubt_in_all });
        }
        if !measured && (large.lacking() > most / 2 || round >= ROUNDS) {
            measure(large, rows, centres)?;
            measured = true;
            continue;
        }
        if feasible && round > ROUNDS {
            return Ok(Finish { gap, doubt: doubt_in_all });
        }
        doubt = choose(large, &imbalance, &doubt, target.min(most), most);
        complete = doubt.len() == n;
        doubt_in_all += doubt.len();
        solve(large, rows, centres, &doubt)?;
        measured = complete;
        target = (2 * target).min(n);
    }
    unreachable!("rounds are counted without end");
}

impl Large {
    /// How many rows are not known to be in their cheapest column.
    fn lacking(&self) -> usize {
        self.rows.iter().filter(|r| r.margin < 0.0).count()
    }

    /// At least the gap to the optimum, for sizes within the bounds; the same on any thread count.
    fn gap(&self) -> f64 {
        let of_rows: f64 = map_blocks(self.rows.len(), |range| {
            self.rows[range].iter().map(|r| f64::from(-r.margin.min(0.0))).sum::<f64>()
        })
        .into_iter()
        .sum();
        of_rows + self.pricing.shortfall_at(0.0)
    }
}

impl Pricing {
    /// Brings the price of the sink to zero, and says where rows are too many.
    fn level(&mut self) -> Imbalance {
        let imbalance = self.imbalance();
        self.state.prices.iter_mut().for_each(|p| *p -= imbalance.sink);
        self.imbalance()
    }

    /// Whether all sizes are within their bounds.
    pub fn is_feasible(&self) -> bool {
        let bounds = self.capacity.lower.iter().zip(&self.capacity.upper);
        self.sizes.iter().zip(bounds).all(|(s, (l, u))| (l..=u).contains(&s))
    }
}

/// Rows by column and class of margin.
struct Classes {
    counts: Vec<u32>, // (k, CLASSES)
}

impl Classes {
    fn new(rows: &[Choice], k: usize) -> Self {
        let mut counts = vec![0u32; k * CLASSES];
        for row in rows {
            counts[row.label as usize * CLASSES + class(row.margin)] += 1;
        }
        Self { counts }
    }

    /// How many rows column `j` has in the classes below `end`.
    fn below(&self, j: usize, end: usize) -> usize {
        self.counts[j * CLASSES..j * CLASSES + end].iter().map(|&c| c as usize).sum()
    }

    /// The first class below which column `j` has `wanted` rows; past the last if it has fewer.
    fn with(&self, j: usize, wanted: usize) -> usize {
        let mut sum = 0;
        let column = &self.counts[j * CLASSES..(j + 1) * CLASSES];
        let enough = |&c: &u32| {
            sum += c as usize;
            sum >= wanted
        };
        column.iter().position(enough).map_or(CLASSES, |at| at + 1)
    }
}

/// The rows of least margin, about `target` of them, those of the round `before`, and of columns with
/// rows too many at least twice what is too much; but never more than `most`. In order.
fn choose(
    large: &Large,
    imbalance: &Imbalance,
    before: &[u32],
    target: usize,
    most: usize,
) -> Vec<u32> {
    let k = large.pricing.capacity.columns();
    let classes = Classes::new(&large.rows, k);
    // Rows of a column below this class are in doubt whatever the others are.
    let of_column: Vec<usize> = (0..k)
        .map(|j| match imbalance.excess[j] {
            excess if excess > 0 => classes.with(j, 2 * excess as usize + 8),
            _ => 0,
        })
        .collect();
    let below = |end: usize| -> usize {
        of_column.iter().enumerate().map(|(j, &c)| classes.below(j, c.max(end))).sum()
    };
    let before = if below(1) + before.len() <= most { before } else { &[] };
    let room = most - before.len();
    let mut end = 0;
    while end < CLASSES && below(end) < target.min(room) && below(end + 1) <= room {
        end += 1;
    }
    // Of the class that does not fit, or of all if not even the least fits, some, spread over all rows.
    let certain = below(end);
    let (every_certain, left) = match certain <= room {
        true => (1, target.min(room).saturating_sub(certain)),
        false => (certain.div_ceil(room), 0),
    };
    let partial = if end < CLASSES { below(end + 1) - certain } else { 0 };
    let every_partial = if left == 0 { usize::MAX } else { partial.div_ceil(left).max(1) };
    let (mut seen_certain, mut seen_partial) = (0, 0);
    let mut before = before.iter().peekable();
    let mut doubt = Vec::with_capacity(most.min(certain + left + before.len()));
    for (i, row) in (0u32..).zip(&large.rows) {
        let again = before.next_if_eq(&&i).is_some();
        let class = class(row.margin);
        let taken = if class < of_column[row.label as usize].max(end) {
            seen_certain += 1;
            (seen_certain - 1usize).is_multiple_of(every_certain)
        } else if class == end && left > 0 {
            seen_partial += 1;
            (seen_partial - 1usize).is_multiple_of(every_partial)
        } else {
            false
        };
        if taken || again {
            doubt.push(i);
        }
    }
    doubt
}

/// Assigns these rows exactly, and lowers the margins of all others by what the prices did.
fn solve(
    large: &mut Large,
    rows: &dyn Rows,
    centres: &Centres,
    doubt: &[u32],
) -> Result<(), LargeError> {
    let k = large.pricing.capacity.columns();
    let m = doubt.len();
    let numbers: Vec<usize> = doubt.iter().map(|&i| i as usize).collect();
    // The rows themselves pass by: with few columns they would take more room than their costs.
    let mut costs = vec![0.0f32; m * k];
    rows.scan_some(&numbers, &mut |at, part| {
        write_costs(part, centres, &mut costs[at * k..(at + part.rows()) * k]);
        Ok(())
    })?;
    let mut settled = large.pricing.sizes.clone();
    numbers.iter().for_each(|&i| settled[large.rows[i].label as usize] -= 1);
    let capacity = large.pricing.capacity.left_by(&settled, m);

    let (chosen, prices) = settle(&costs, &capacity, large.pricing.prices())?;

    let lower = gains(&prices, large.pricing.prices());
    let mut next = doubt.iter().peekable();
    for (i, row) in (0u32..).zip(&mut large.rows) {
        if next.next_if_eq(&&i).is_none() {
            row.margin = lowered(row.margin, lower[row.label as usize]);
        }
    }
    for ((&i, choice), costs) in numbers.iter().zip(&chosen).zip(costs.chunks_exact(k)) {
        large.rows[i] =
            Choice { label: choice.label, margin: margin(costs, &prices, choice.label as usize) };
    }
    large.pricing.sizes = settled;
    chosen.iter().for_each(|c| large.pricing.sizes[c.label as usize] += 1);
    large.pricing.state.prices = prices;
    Ok(())
}

/// Assigns some rows exactly, whose costs (m, k) are in memory: the cheapest columns within the bounds, and
/// prices at which they are the cheapest. Better `prices` to begin with make it faster.
pub fn settle(
    costs: &[f32],
    capacity: &Capacity,
    prices: &[f64],
) -> Result<(Vec<Choice>, Vec<f64>), TransportError> {
    let k = capacity.columns();
    let m = costs.len() / k;
    let mut prices = prices.to_vec();
    let mut chosen = vec![Choice::default(); m];
    let mut sizes = pass::assign(costs, &prices, &mut chosen)?;
    if Imbalance::new(capacity, &prices, &sizes).total() as usize > m / 4 {
        surplus::reduce(costs, capacity, &mut prices, &chosen, m / 64);
        sizes = pass::assign(costs, &prices, &mut chosen)?;
    }
    let sizes = improve(costs, capacity, &mut prices, &mut chosen, sizes, k.min(m / 64));
    paths::finish(costs, capacity, &mut prices, &mut chosen, &sizes);
    Ok((chosen, prices))
}

/// How much each column gained on the one that gained least of the others: a row stays in its cheapest
/// column if its margin is no less than that.
pub fn gains(prices: &[f64], before: &[f64]) -> Vec<f64> {
    let gains: Vec<f64> = prices.iter().zip(before).map(|(q, p)| q - p).collect();
    let mut least = [f64::INFINITY; 2];
    for &g in &gains {
        if g < least[0] {
            least = [g, least[0]];
        } else if g < least[1] {
            least[1] = g;
        }
    }
    gains.iter().map(|&g| g - if g == least[0] { least[1] } else { least[0] }).collect()
}

impl Capacity {
    /// What settled rows leave to `m` others. Columns that have too many already take none; lower bounds
    /// that so few rows cannot fill are filled as far as they go.
    pub fn left_by(&self, settled: &[u32], m: usize) -> Capacity {
        let left = |bounds: &[u32]| -> Vec<u32> {
            bounds.iter().zip(settled).map(|(b, s)| b.saturating_sub(*s)).collect()
        };
        let mut lower = left(&self.lower);
        let needed: u64 = lower.iter().map(|&l| u64::from(l)).sum();
        if needed > m as u64 {
            lower.iter_mut().for_each(|l| *l = (u64::from(*l) * m as u64 / needed) as u32);
        }
        Capacity::new(lower, left(&self.upper))
    }
}

/// A lower bound of the difference in single precision.
fn lowered(margin: f32, by: f64) -> f32 {
    if by == 0.0 {
        return margin;
    }
    let exact = f64::from(margin) - by;
    (exact - exact.abs() * f64::powi(2.0, -23)) as f32
}

/// By how much the next best column costs more than column `a`, rounded down; below zero if another
/// is cheaper by more than rounding.
fn margin(costs: &[f32], prices: &[f64], a: usize) -> f32 {
    let priced = |j: usize| f64::from(costs[j]) + prices[j];
    let own = priced(a);
    let others = (0..costs.len()).filter(|&j| j != a).map(priced);
    let margin = others.fold(f64::INFINITY, f64::min) - own;
    // Sums of two numbers of 53 digits.
    let doubt = (own.abs() + prices[a].abs()) * f64::powi(2.0, -50);
    if margin.abs() <= doubt { 0.0 } else { lowered(margin as f32, margin.abs() * 1e-7) }
}

/// Measures the margins of all rows in the columns that they have.
fn measure(large: &mut Large, rows: &dyn Rows, centres: &Centres) -> Result<(), LargeError> {
    let prices_f32 = PricesF32::new(&large.pricing.state.prices);
    let reader = Reader {
        centres,
        prices: &large.pricing.state.prices,
        prices_f32: &prices_f32,
        own: None,
        reach: 0.0,
        every: usize::MAX,
    };
    let choices = &mut large.rows;
    rows.scan(&mut |first, part| {
        map_blocks_mut(&mut choices[first..first + part.rows()], 1, |range, chosen| {
            reader.measure(part.slice(range), chosen);
        });
        Ok(())
    })?;
    Ok(())
}

impl Reader<'_> {
    fn measure(&self, part: crate::MatrixRef<'_>, chosen: &mut [Choice]) {
        self.centres.for_each_scores(part, |i, costs| {
            let quick = self.prices_f32.two_least(costs);
            let choice = &mut chosen[i];
            choice.margin = match self.prices_f32.certain_margin(&quick) {
                Some(margin) if quick.first as u32 == choice.label => margin,
                _ => margin(costs, self.prices, choice.label as usize),
            };
        });
    }
}

/// Improves prices by rows whose costs are in memory, gives each its cheapest column and returns the
/// sizes. A step is taken only if fewer rows are in the wrong place after it.
pub(super) fn improve(
    costs: &[f32],
    capacity: &Capacity,
    prices: &mut Vec<f64>,
    rows: &mut [Choice],
    mut sizes: Vec<u32>,
    enough: usize,
) -> Vec<u32> {
    let (n, k) = (rows.len(), prices.len());
    for _ in 0..STEPS {
        checkpoint();
        let imbalance = Imbalance::new(capacity, prices, &sizes);
        let wrong = imbalance.total();
        if wrong as usize <= enough {
            break;
        }
        let reach = prices::quantile(rows, (16.0 * wrong as f64 / n as f64).clamp(0.02, 0.999));
        if !(reach > 0.0 && reach.is_finite()) {
            break; // Rows that are equally near to two columns are left to paths.
        }
        let (_, hits) = respond(costs, prices, reach);
        let step = Walls::new(k, reach, 1, hits).equilibrium(prices, &imbalance);
        let mut share = 1.0;
        let better = loop {
            let next: Vec<f64> = (0..k)
                .map(|j| {
                    let s = share * step[j].clamp(-0.5 * reach, 0.5 * reach);
                    moved(capacity, &imbalance, j, prices[j], s)
                })
                .collect();
            let mut chosen = rows.to_vec();
            let sizes =
                pass::assign(costs, &next, &mut chosen).expect("costs were found to be finite");
            let now = Imbalance::new(capacity, &next, &sizes).total();
            if now < wrong {
                break Some((next, chosen, sizes, now));
            }
            share *= 0.5;
            if share < 0.2 {
                break None;
            }
        };
        let Some((next, chosen, new_sizes, now)) = better else { break };
        *prices = next;
        rows.copy_from_slice(&chosen);
        sizes = new_sizes;
        if 8 * (wrong - now) < wrong {
            break;
        }
    }
    sizes
}
