//! What a pass does with a block of rows: scores, the two least, and which rows are near a wall.

use super::{Own, walls};
use crate::chunks::{for_each_part_mut, map_blocks};
use crate::distance::{Centres, squared_distance};
use crate::matrix::MatrixRef;
use crate::transport::pass::{Choice, PricesF32, exact};

/// Rows whose scores are held at once by each thread.
const TILE: usize = 120;
/// Parts of one in which gains are counted.
pub(super) const UNIT: f64 = 4_294_967_296.0;

/// What a block of rows comes to.
pub(super) struct Block {
    pub sizes: Vec<u32>,
    pub hits: Vec<u64>,
    pub finite: bool,
    pub gained: i128,
}

/// What all blocks of a pass share.
pub(super) struct Reader<'a> {
    pub centres: &'a Centres,
    pub prices: &'a [f64],
    pub prices_f32: &'a PricesF32,
    pub own: Option<Own<'a>>,
    pub reach: f64,
    pub every: usize,
}

impl Reader<'_> {
    pub fn read(&self, first: usize, part: MatrixRef<'_>, chosen: &mut [Choice]) -> Block {
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
pub(super) fn costs_of(rows: MatrixRef<'_>, centres: &Centres) -> Vec<f32> {
    let mut costs = vec![0.0f32; rows.rows() * centres.len()];
    write_costs(rows, centres, &mut costs);
    costs
}

/// The same into a place for them.
pub(super) fn write_costs(rows: MatrixRef<'_>, centres: &Centres, costs: &mut [f32]) {
    for_each_part_mut(costs, centres.len(), |range, out| centres.scores(rows.slice(range), out));
}

/// The sizes that rows make at `prices`, and those of them that are near walls, in single precision.
pub(super) fn respond(costs: &[f32], prices: &[f64], reach: f64) -> (Vec<u32>, Vec<u64>) {
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
