//! The pass over all rows: which column is cheapest at the current prices, and by how much.

use super::TransportError;
use crate::chunks::{map_blocks, map_blocks_mut, par_map};
use crate::simd::{Kernel, LANES, Lanes, dispatch};

/// The column that a row takes, and how much more its next best column costs. The margin is rounded down, so
/// that leaving out rows of a larger margin leaves out none of a smaller one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Choice {
    /// The column.
    pub label: u32,
    /// How much more the next best column costs, or a lower bound of it.
    pub margin: f32,
}

/// Gives every row its cheapest column, of equals the first, and returns the sizes.
pub(super) fn assign(
    costs: &[f32],
    prices: &[f64],
    rows: &mut [Choice],
) -> Result<Vec<u32>, TransportError> {
    let k = prices.len();
    let prices_f32 = PricesF32::new(prices);
    let blocks = map_blocks_mut(rows, 1, |range, rows| {
        let costs = &costs[range.start * k..range.end * k];
        let mut sizes = vec![0u32; k];
        let mut poison = 0.0f32;
        for (row, costs) in rows.iter_mut().zip(costs.chunks_exact(k)) {
            let quick = prices_f32.two_least(costs);
            poison += quick.check;
            *row = match prices_f32.certain_margin(&quick) {
                Some(margin) => Choice { label: quick.first as u32, margin },
                None => exact(costs, prices),
            };
            sizes[row.label as usize] += 1;
        }
        (sizes, !poison.is_nan())
    });
    if blocks.iter().any(|(_, finite)| !*finite) {
        return Err(TransportError::NotFinite);
    }
    Ok(total(blocks.into_iter().map(|(sizes, _)| sizes), k))
}

/// The cheapest column in double precision, and by how much, rounded down.
pub(super) fn exact(costs: &[f32], prices: &[f64]) -> Choice {
    let (mut label, mut least, mut next) = (0, f64::INFINITY, f64::INFINITY);
    for (j, (&c, p)) in costs.iter().zip(prices).enumerate() {
        let v = f64::from(c) + p;
        if v < least {
            (label, next, least) = (j as u32, least, v);
        } else if v < next {
            next = v;
        }
    }
    Choice { label, margin: ((next - least) * (1.0 - 1e-6)) as f32 }
}

/// The prices at which all columns cost the same on average.
pub(super) fn levelling(costs: &[f32], k: usize) -> Vec<f64> {
    let blocks = map_blocks(costs.len() / k, |range| {
        let mut sums = vec![0.0f64; k];
        for row in costs[range.start * k..range.end * k].chunks_exact(k) {
            sums.iter_mut().zip(row).for_each(|(s, &c)| *s += f64::from(c));
        }
        sums
    });
    let n = (costs.len() / k).max(1) as f64;
    (0..k).map(|j| -blocks.iter().map(|sums| sums[j]).sum::<f64>() / n).collect()
}

/// A lower bound of c(i, b) − c(i, a) over the rows i of column a, (k, k); `members` are the rows of each
/// column.
pub(super) fn least_moves(costs: &[f32], members: &[Vec<u32>], k: usize) -> Vec<f64> {
    let of_column = |a: usize| {
        let mut least = vec![f32::INFINITY; k];
        for &i in &members[a] {
            let costs = &costs[i as usize * k..(i as usize + 1) * k];
            for (l, c) in least.iter_mut().zip(costs) {
                let cost = c - costs[a];
                *l = if cost < *l { cost } else { *l };
            }
        }
        least
    };
    let least = par_map(k, of_column);
    // A difference may have been rounded up by half a unit in its last place, or to infinity.
    let down = |l: f32| {
        let l = f64::from(l.min(f32::MAX));
        l - l.abs() * f64::powi(2.0, -23)
    };
    least.into_iter().flatten().map(down).collect()
}

/// Bins of a histogram of margins; each is twice as wide as the one before.
const BINS: usize = 16;

/// How many rows of column a are how near to moving to b: cumulative counts, (k, k, BINS), of the
/// margins up to reach · 2^(bin − BINS + 1).
#[derive(Clone, Debug)]
pub(super) struct Walls {
    k: usize,
    reach: f64,
    within: Vec<u32>,
}

impl Walls {
    /// Rows of a that move to b for each unit by which the difference of their prices grows, on
    /// average over a growth of `difference`.
    pub fn secant(&self, a: usize, b: usize, difference: f64) -> f64 {
        let pair = a * self.k + b;
        let within = &self.within[pair * BINS..(pair + 1) * BINS];
        let edge = |bin: usize| self.reach * f64::powi(2.0, bin as i32 - (BINS as i32 - 1));
        // The first bin that holds the difference; below a row or two, counts are but noise.
        let at = (0..BINS - 1).find(|&bin| difference <= edge(bin) && within[bin] >= 4);
        let at = at.unwrap_or(BINS - 1);
        let (high, count) = (edge(at), f64::from(within[at]));
        if at == 0 || difference >= high || difference <= edge(at - 1) {
            return count / high;
        }
        let (low, below) = (edge(at - 1), f64::from(within[at - 1]));
        (below + (count - below) * (difference - low) / (high - low)) / difference
    }
}

/// The sizes that the rows named by `subset` make at `prices`, and their walls up to `reach`, both
/// in single precision.
pub(super) fn respond(
    costs: &[f32],
    prices: &[f64],
    subset: &[u32],
    reach: f64,
) -> (Vec<u32>, Walls) {
    let k = prices.len();
    let prices_f32 = PricesF32::new(prices);
    let blocks = map_blocks(subset.len(), |range| {
        let mut sizes = vec![0u32; k];
        let mut hits = Vec::new();
        for &i in &subset[range] {
            let costs = &costs[i as usize * k..(i as usize + 1) * k];
            let Least { first, least, next, .. } = prices_f32.two_least(costs);
            sizes[first] += 1;
            let margin = f64::from(next - least);
            if margin <= reach {
                let pair = first * k + prices_f32.second(costs, first, next);
                hits.push((pair * BINS + bin(margin / reach)) as u32);
            }
        }
        (sizes, hits)
    });
    let (sizes, hits): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
    let mut within = vec![0u32; k * k * BINS];
    hits.into_iter().flatten().for_each(|hit| within[hit as usize] += 1);
    for bins in within.chunks_exact_mut(BINS) {
        (1..BINS).for_each(|b| bins[b] += bins[b - 1]);
    }
    (total(sizes.into_iter(), k), Walls { k, reach, within })
}

/// The bin of a margin that is `part` of the reach, from 0 to 1.
fn bin(part: f64) -> usize {
    // The exponent of a number in (½, 1] halves with each bin.
    let halvings = -(part.max(f64::MIN_POSITIVE)).log2();
    (BINS - 1).saturating_sub(halvings as usize)
}

fn total(parts: impl Iterator<Item = Vec<u32>>, len: usize) -> Vec<u32> {
    parts.fold(vec![0; len], |mut sum, part| {
        sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        sum
    })
}

/// The two least of c + p.
#[derive(Clone, Copy, Debug)]
pub(super) struct Least {
    /// The first position of the least.
    pub first: usize,
    pub least: f32,
    /// The next value, infinite if there is but one.
    pub next: f32,
    /// NaN if a cost is not finite, otherwise zero.
    pub check: f32,
}

/// PricesF32 precision decides most rows at several times the speed; the others are told apart by
/// their margin.
#[derive(Clone, Debug)]
pub(super) struct PricesF32 {
    prices: Vec<f32>, // (k), and infinity up to a multiple of eight
    largest: f32,
}

impl PricesF32 {
    pub fn new(prices: &[f64]) -> Self {
        let mut prices: Vec<f32> = prices.iter().map(|&p| p as f32).collect();
        let largest = prices.iter().fold(0.0f32, |m, p| m.max(p.abs()));
        prices.resize(prices.len().next_multiple_of(LANES), f32::INFINITY);
        Self { prices, largest }
    }

    pub fn two_least(&self, costs: &[f32]) -> Least {
        assert!(costs.len() <= self.prices.len(), "one price per column");
        dispatch(TwoLeast { costs, prices: &self.prices })
    }

    /// The margin, rounded down, if it is beyond all rounding. A sum near the least has a cost
    /// below |least| + |price|, and is off by a few units in its last place, 2⁻²⁴ of that.
    pub fn certain_margin(&self, quick: &Least) -> Option<f32> {
        let doubt = (quick.least.abs() + 2.0 * self.largest) * f32::powi(2.0, -20);
        let margin = quick.next - quick.least - doubt;
        (margin > doubt).then_some(margin * (1.0 - 1e-6))
    }

    /// The first other column at which c + p is `next`.
    pub fn second(&self, costs: &[f32], first: usize, next: f32) -> usize {
        let sums = costs.iter().zip(&self.prices).map(|(c, p)| c + p);
        sums.enumerate().position(|(j, v)| j != first && v == next).unwrap_or(first)
    }
}

/// The two least of `costs` + `prices`, the latter padded to whole vectors with infinity. Minima do
/// not round, so that the bytes are the same at every level.
struct TwoLeast<'a> {
    costs: &'a [f32],
    prices: &'a [f32],
}

impl Kernel for TwoLeast<'_> {
    type Out = Least;

    #[inline(always)]
    fn run<V: Lanes>(self) -> Least {
        let Self { costs, prices } = self;
        let (prices, _) = prices.as_chunks::<LANES>();
        let (mut least, zero) = (V::splat(f32::INFINITY), V::splat(0.0));
        let (mut next, mut check) = (least, zero);
        for (c, p) in costs.chunks(LANES).zip(prices) {
            let c = V::load_part(c);
            let v = c.add(V::load(p));
            check = c.mul(zero).add(check);
            next = next.min(least.max(v));
            least = least.min(v);
        }
        let (least, next) = V::two_least(least, next);
        let wanted = V::splat(least);
        let mut first = 0;
        for (at, (c, p)) in costs.chunks(LANES).zip(prices).enumerate() {
            let hits = V::load_part(c).add(V::load(p)).equal(wanted);
            if hits != 0 {
                first = at * LANES + hits.trailing_zeros() as usize;
                break;
            }
        }
        Least { first, least, next, check: check.sum() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::simd::{Level, dispatch_at};
    use rand::RngExt;

    #[test]
    fn levelled_columns_cost_the_same_on_average() {
        let costs = [1.0, 20.0, 3.0, 40.0, 5.0, 60.0f32];
        assert_eq!(levelling(&costs, 2), [-3.0, -40.0]);
        let mut rows = vec![Choice::default(); 3];
        let sizes = |prices: &[f64], rows: &mut [Choice]| assign(&costs, prices, rows).unwrap();
        assert_eq!(sizes(&[0.0; 2], &mut rows), [3, 0]);
        assert_eq!(sizes(&levelling(&costs, 2), &mut rows), [2, 1]);
    }

    #[test]
    fn every_level_gives_the_same_two_least() {
        let (mut rng, levels) = (Seed(1).rng(), Level::available());
        for case in 0..2000 {
            let k = 1 + case % 40;
            let costs: Vec<f32> = (0..k).map(|_| rng.random_range(0..9) as f32).collect();
            let prices: Vec<f64> = (0..k).map(|_| f64::from(rng.random_range(0..9))).collect();
            let prices_f32 = PricesF32::new(&prices);
            let exact = exact(&costs, &prices);
            let mut sums: Vec<f32> = costs
                .iter()
                .zip(&prices)
                .map(|(c, &p)| c + p as f32)
                .chain([f32::INFINITY])
                .collect();
            sums.sort_by(f32::total_cmp);
            for &level in &levels {
                let at = |costs: &[f32]| {
                    dispatch_at(level, TwoLeast { costs, prices: &prices_f32.prices })
                };
                let fast = at(&costs);
                assert_eq!((fast.least, fast.next), (sums[0], sums[1]), "{level}");
                assert_eq!(fast.first, exact.label as usize, "{level}");
                assert!(!fast.check.is_nan());
                for bad in [f32::NAN, f32::INFINITY] {
                    let mut costs = costs.clone();
                    costs[k / 2] = bad;
                    assert!(at(&costs).check.is_nan(), "{level}");
                }
            }
        }
    }
}
