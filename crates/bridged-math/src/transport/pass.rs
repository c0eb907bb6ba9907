//! The pass over all rows: which column is cheapest at the current prices, and by how much.

use super::TransportError;
use crate::chunks::{map_blocks, map_blocks_mut};

/// A row's column, and how much dearer its next best column is. The margin is rounded down, so
/// that leaving out rows of a larger margin leaves out none of a smaller one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub label: u32,
    pub margin: f32,
}

/// Gives every row its cheapest column, of equals the first, and returns the sizes.
pub(super) fn assign(
    costs: &[f32],
    prices: &[f64],
    rows: &mut [Row],
) -> Result<Vec<u32>, TransportError> {
    let k = prices.len();
    let two_least = kernel();
    let blocks = map_blocks_mut(rows, 1, |range, rows| {
        let costs = &costs[range.start * k..range.end * k];
        let mut sizes = vec![0u32; k];
        let mut poison = 0.0f64;
        for (row, costs) in rows.iter_mut().zip(costs.chunks_exact(k)) {
            let Least { first, least, next, check } = two_least(costs, prices);
            poison += check;
            sizes[first] += 1;
            *row = Row { label: first as u32, margin: round_down(next - least) };
        }
        (sizes, !poison.is_nan())
    });
    if blocks.iter().any(|(_, finite)| !*finite) {
        return Err(TransportError::NotFinite);
    }
    Ok(total(blocks.into_iter().map(|(sizes, _)| sizes), k))
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

/// The sizes that the rows named by `subset` make at `prices`, and their walls up to `reach`.
pub(super) fn respond(
    costs: &[f32],
    prices: &[f64],
    subset: &[u32],
    reach: f64,
) -> (Vec<u32>, Walls) {
    let k = prices.len();
    let two_least = kernel();
    let blocks = map_blocks(subset.len(), |range| {
        let mut sizes = vec![0u32; k];
        let mut hits = Vec::new();
        for &i in &subset[range] {
            let costs = &costs[i as usize * k..(i as usize + 1) * k];
            let Least { first, least, next, .. } = two_least(costs, prices);
            sizes[first] += 1;
            let margin = next - least;
            if margin <= reach {
                let pair = first * k + second(costs, prices, first, next);
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

fn round_down(margin: f64) -> f32 {
    (margin * (1.0 - 1e-6)) as f32
}

/// The first other column at which c + p is `next`.
fn second(costs: &[f32], prices: &[f64], first: usize, next: f64) -> usize {
    (0..costs.len())
        .find(|&j| j != first && f64::from(costs[j]) + prices[j] == next)
        .unwrap_or(first)
}

/// The two least of c + p.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// The first position of the least.
    first: usize,
    least: f64,
    /// The next value, infinite if there is but one.
    next: f64,
    /// NaN if a cost is not finite, otherwise zero.
    check: f64,
}

type Kernel = fn(&[f32], &[f64]) -> Least;

/// The fastest kernel of this machine; all give the same bits.
fn kernel() -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn two_least_avx2(costs: &[f32], prices: &[f64]) -> Least {
            two_least(costs, prices)
        }
        // SAFETY: AVX2 was just found.
        return |costs, prices| unsafe { two_least_avx2(costs, prices) };
    }
    |costs, prices| two_least(costs, prices)
}

#[inline(always)]
fn two_least(costs: &[f32], prices: &[f64]) -> Least {
    const LANES: usize = 8;
    let (mut least, mut next) = ([f64::INFINITY; LANES], [f64::INFINITY; LANES]);
    let mut check = [0.0f64; LANES];
    let (c, p) = (costs.chunks_exact(LANES), prices.chunks_exact(LANES));
    let (c_rest, p_rest) = (c.remainder(), p.remainder());
    // Independent lanes without branches: the compiler turns them into vector minima.
    for (c, p) in c.zip(p) {
        for l in 0..LANES {
            let v = f64::from(c[l]) + p[l];
            check[l] += v * 0.0;
            next[l] = min(next[l], max(least[l], v));
            least[l] = min(least[l], v);
        }
    }
    for (l, (&c, p)) in c_rest.iter().zip(p_rest).enumerate() {
        let v = f64::from(c) + p;
        check[l] += v * 0.0;
        next[l] = min(next[l], max(least[l], v));
        least[l] = min(least[l], v);
    }
    let (mut a, mut b) = (least[0], next[0]);
    for l in 1..LANES {
        b = min(min(b, next[l]), max(a, least[l]));
        a = min(a, least[l]);
    }
    let check = check.iter().sum();
    Least { first: position(costs, prices, a), least: a, next: b, check }
}

/// The first position at which c + p is `value`.
#[inline(always)]
fn position(costs: &[f32], prices: &[f64], value: f64) -> usize {
    const LANES: usize = 8;
    for (at, (c, p)) in costs.chunks(LANES).zip(prices.chunks(LANES)).enumerate() {
        let hit = c.iter().zip(p).fold(false, |hit, (&c, p)| hit | (f64::from(c) + p == value));
        if hit {
            let within = c.iter().zip(p).position(|(&c, p)| f64::from(c) + p == value);
            return at * LANES + within.unwrap_or(0);
        }
    }
    0
}

#[inline(always)]
fn min(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[inline(always)]
fn max(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
