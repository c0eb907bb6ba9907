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

/// The two cheapest columns of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best {
    pub first: usize,
    pub second: usize,
    pub margin: f64,
}

/// Gives every row its cheapest column, of equals the first, and returns the sizes.
pub(super) fn assign(
    costs: &[f32],
    prices: &[f64],
    rows: &mut [Row],
) -> Result<Vec<u32>, TransportError> {
    let k = prices.len();
    let blocks = map_blocks_mut(rows, 1, |range, rows| {
        let mut sizes = vec![0u32; k];
        let mut poison = 0.0f32;
        let costs = &costs[range.start * k..range.end * k];
        for (row, costs) in rows.iter_mut().zip(costs.chunks_exact(k)) {
            // Zero times a number is NaN exactly if the number is not finite.
            poison += costs.iter().fold(0.0, |s, c| s + c * 0.0);
            let (first, least, next) = two_least(costs, prices);
            sizes[first] += 1;
            *row = Row { label: first as u32, margin: round_down(next - least) };
        }
        (sizes, poison.is_nan())
    });
    if blocks.iter().any(|(_, bad)| *bad) {
        return Err(TransportError::NotFinite);
    }
    Ok(total(blocks.into_iter().map(|(sizes, _)| sizes), k))
}

/// Keeps the labels and measures by how much each row's next best column is dearer.
pub(super) fn measure(costs: &[f32], prices: &[f64], rows: &mut [Row]) {
    let k = prices.len();
    map_blocks_mut(rows, 1, |range, rows| {
        let costs = &costs[range.start * k..range.end * k];
        for (row, costs) in rows.iter_mut().zip(costs.chunks_exact(k)) {
            let (first, least, next) = two_least(costs, prices);
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
    let blocks = map_blocks(subset.len(), |range| {
        let (mut sizes, mut walls) = (vec![0u32; k], vec![0u32; k * k]);
        for &i in &subset[range] {
            let best = two_best(&costs[i as usize * k..(i as usize + 1) * k], prices);
            sizes[best.first] += 1;
            if best.margin <= width {
                walls[best.first * k + best.second] += 1;
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

/// The first cheapest column and the second, which is itself if there is but one.
fn two_best(costs: &[f32], prices: &[f64]) -> Best {
    let (first, least, next) = two_least(costs, prices);
    let priced = |j: usize| f64::from(costs[j]) + prices[j];
    let second = (0..costs.len()).find(|&j| j != first && priced(j) == next).unwrap_or(first);
    Best { first, second, margin: next - least }
}

/// The position of the least of c + p, that value, and the next value (infinite if k = 1).
fn two_least(costs: &[f32], prices: &[f64]) -> (usize, f64, f64) {
    const LANES: usize = 8;
    let (mut least, mut next) = ([f64::INFINITY; LANES], [f64::INFINITY; LANES]);
    let (c, p) = (costs.chunks_exact(LANES), prices.chunks_exact(LANES));
    let (c_rest, p_rest) = (c.remainder(), p.remainder());
    // Independent lanes without branches: the compiler turns them into vector minima.
    for (c, p) in c.zip(p) {
        for l in 0..LANES {
            let v = f64::from(c[l]) + p[l];
            next[l] = min(next[l], max(least[l], v));
            least[l] = min(least[l], v);
        }
    }
    for (l, (&c, p)) in c_rest.iter().zip(p_rest).enumerate() {
        let v = f64::from(c) + p;
        next[l] = min(next[l], max(least[l], v));
        least[l] = min(least[l], v);
    }
    let (mut a, mut b) = (least[0], next[0]);
    for l in 1..LANES {
        b = min(min(b, next[l]), max(a, least[l]));
        a = min(a, least[l]);
    }
    let at = costs.iter().zip(prices).position(|(&c, p)| f64::from(c) + p == a);
    (at.unwrap_or(0), a, b)
}

fn min(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

fn max(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
