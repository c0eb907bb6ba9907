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

/// Keeps the labels and measures by how much each row's next best column is dearer.
pub(super) fn measure(costs: &[f32], prices: &[f64], rows: &mut [Row]) {
    let k = prices.len();
    let two_least = kernel();
    map_blocks_mut(rows, 1, |range, rows| {
        let costs = &costs[range.start * k..range.end * k];
        for (row, costs) in rows.iter_mut().zip(costs.chunks_exact(k)) {
            let Least { first, least, next, .. } = two_least(costs, prices);
            // A label that is not the first of the cheapest is as cheap as it, up to rounding.
            let margin = if first == row.label as usize { next - least } else { 0.0 };
            row.margin = round_down(margin);
        }
    });
}

/// What a subset of the rows does at other prices.
#[derive(Clone, Debug)]
pub(super) struct Response {
    /// Rows of each column.
    pub sizes: Vec<u32>,
    /// How many rows of column a are within `width` of moving to b, (k, k).
    pub walls: Vec<u32>,
}

/// Asks the rows named by `subset` for their column at `prices`.
pub(super) fn respond(costs: &[f32], prices: &[f64], subset: &[u32], width: f64) -> Response {
    let k = prices.len();
    let two_least = kernel();
    let blocks = map_blocks(subset.len(), |range| {
        let (mut sizes, mut walls) = (vec![0u32; k], vec![0u32; k * k]);
        for &i in &subset[range] {
            let costs = &costs[i as usize * k..(i as usize + 1) * k];
            let Least { first, least, next, .. } = two_least(costs, prices);
            sizes[first] += 1;
            if next - least <= width {
                walls[first * k + second(costs, prices, first, next)] += 1;
            }
        }
        (sizes, walls)
    });
    let (sizes, walls): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
    Response { sizes: total(sizes.into_iter(), k), walls: total(walls.into_iter(), k * k) }
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
