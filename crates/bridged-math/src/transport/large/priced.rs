//! Centres with a price each: which of them is the cheapest for a row, and by how much.

use super::pricing::Tally;
use super::read::Reader;
use crate::chunks::map_blocks_mut;
use crate::distance::Centres;
use crate::matrix::MatrixRef;
use crate::transport::pass::{Choice, PricesF32};

/// Classes of margins.
pub const CLASSES: usize = 2 + 512;

/// The class of a margin: below zero, zero, and two for each power of two.
pub fn class(margin: f32) -> usize {
    match margin {
        m if m > 0.0 => 2 + (m.to_bits() >> 22) as usize,
        m if m < 0.0 => 0,
        _ => 1,
    }
}

/// The least margin of a class; the margins of the classes before it are below.
pub fn least_of_class(class: usize) -> f32 {
    match class {
        0 => f32::NEG_INFINITY,
        1 => 0.0,
        // The least that is above zero.
        2 => f32::from_bits(1),
        _ => f32::from_bits(((class - 2).min(510) as u32) << 22),
    }
}

/// Centres and their prices, ready for a pass over some rows.
#[derive(Clone, Debug)]
pub struct PricedCentres {
    centres: Centres,
    prices: Vec<f64>,
    prices_f32: PricesF32,
    reach: f64,
    every: usize,
}

impl PricedCentres {
    /// Counts rows whose margin is at most `reach` as near to a wall, one in `every` of them.
    pub fn new(centres: Centres, prices: Vec<f64>, (reach, every): (f64, usize)) -> Self {
        assert_eq!(prices.len(), centres.len(), "one price per centre");
        let prices_f32 = PricesF32::new(&prices);
        Self { centres, prices, prices_f32, reach, every: every.max(1) }
    }

    /// The cheapest centre for each row, of equals the first. The tally grows by them; `first` is the number of
    /// the first row among those that are counted together. False if a cost is no number.
    pub fn choose(
        &self,
        first: usize,
        rows: MatrixRef<'_>,
        chosen: &mut [Choice],
        tally: &mut Tally,
    ) -> bool {
        let reader = Reader {
            centres: &self.centres,
            prices: &self.prices,
            prices_f32: &self.prices_f32,
            own: None,
            reach: self.reach,
            every: self.every,
        };
        let blocks = map_blocks_mut(chosen, 1, |range, chosen| {
            reader.read(first + range.start, rows.slice(range), chosen)
        });
        let mut finite = true;
        for block in blocks {
            tally.sizes.iter_mut().zip(block.sizes).for_each(|(s, b)| *s += u64::from(b));
            tally.hits.extend(block.hits);
            finite &= block.finite;
        }
        chosen.iter().for_each(|c| tally.margins[class(c.margin)] += 1);
        finite
    }

    /// Calls `f` for each row with how much more the column that it chose costs at other prices than its cheapest
    /// one then, row by row.
    pub fn lacking(
        &self,
        rows: MatrixRef<'_>,
        chosen: &[Choice],
        prices: &[f64],
        mut f: impl FnMut(f64),
    ) {
        self.centres.for_each_scores(rows, |i, costs| {
            let priced = |j: usize| f64::from(costs[j]) + prices[j];
            let least = (0..prices.len()).map(priced).fold(f64::INFINITY, f64::min);
            f(priced(chosen[i].label as usize) - least);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_begin_at_their_least_margin() {
        for at in 1..CLASSES - 1 {
            assert_eq!(class(least_of_class(at)), at);
        }
        for margin in [-1.0f32, 0.0, 1e-40, 1e-30, 0.3, 1.0, 7.5, f32::MAX, f32::INFINITY] {
            let at = class(margin);
            assert!(least_of_class(at) <= margin, "{margin}");
            assert!(at >= 512 || margin < least_of_class(at + 1), "{margin}");
        }
    }
}
