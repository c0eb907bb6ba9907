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

mod priced;
mod pricing;
mod read;
mod repair;

mod steps;
#[cfg(test)]
mod tests;
mod walls;

use super::pass::{Choice, PricesF32};
use super::{Capacity, TransportError};
use crate::chunks::map_blocks_mut;
use crate::distance::Centres;
use crate::matrix::MatrixRef;
use crate::rows::{Rows, RowsError};
pub use priced::{CLASSES, PricedCentres, class, least_of_class};
pub use pricing::{Pricing, Tally};
use read::{Reader, UNIT};
pub use repair::{gains, settle};
use serde::{Deserialize, Serialize};
use std::fmt;
use steps::HITS;

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
    pricing: Pricing,
    rows: Vec<Choice>,
    /// What the rows that changed their column in the last pass gained by it, in units of 2⁻³².
    gained: i128,
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
        Ok(Self::of(Pricing::new(rows, capacity)?, rows))
    }

    /// Goes on from what passes over these or similar rows have learned.
    pub fn resume(rows: usize, capacity: Capacity, state: Prices) -> Result<Self, TransportError> {
        Ok(Self::of(Pricing::resume(rows, capacity, state)?, rows))
    }

    /// Begins with what passes over a sample of the rows have learned.
    pub fn adopt(rows: usize, capacity: Capacity, state: Prices) -> Result<Self, TransportError> {
        Ok(Self::of(Pricing::adopt(rows, capacity, state)?, rows))
    }

    fn of(pricing: Pricing, rows: usize) -> Self {
        Self { pricing, rows: vec![Choice::default(); rows], gained: 0 }
    }

    /// What is known so far.
    pub fn state(&self) -> &Prices {
        self.pricing.state()
    }

    /// The price of each column.
    pub fn prices(&self) -> &[f64] {
        self.pricing.prices()
    }

    /// How many rows each column has.
    pub fn sizes(&self) -> &[u32] {
        &self.pricing.sizes
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
        self.pricing.wrong()
    }

    /// What the bounds would cost or save at the prices: see [`Pricing::shortfall`].
    pub fn shortfall(&self) -> f64 {
        self.pricing.shortfall()
    }

    /// Finds prices from nowhere: see [`Pricing::estimate`].
    pub fn estimate(&mut self, costs: &[f32], sample: Sample) -> Result<(), TransportError> {
        self.pricing.estimate(costs, sample)
    }

    /// Moves the prices by what the last pass saw: see [`Pricing::improve`].
    pub fn improve(&mut self) -> usize {
        self.pricing.improve()
    }

    /// Passes over the same centres: see [`Pricing::balance`].
    pub fn balance(
        &mut self,
        rows: &dyn Rows,
        some: MatrixRef<'_>,
        centres: &Centres,
        goal: usize,
    ) -> Result<(), LargeError> {
        let Self { pricing, rows: choices, .. } = self;
        pricing.balance(some, centres, goal, &mut |pricing| {
            pass(pricing, choices, (rows, centres), None, &mut |_, _, _| ()).map(|_| ())
        })
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
        let Self { pricing, rows: choices, gained } = self;
        *gained = pass(pricing, choices, (rows, centres), own, visit)?;
        Ok(())
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
}

/// A pass at the prices as they are; what the rows that changed their column gained by it.
fn pass(
    pricing: &mut Pricing,
    choices: &mut [Choice],
    (rows, centres): (&dyn Rows, &Centres),
    own: Option<Own<'_>>,
    visit: &mut Visit<'_>,
) -> Result<i128, LargeError> {
    let prices_f32 = PricesF32::new(&pricing.state.prices);
    (pricing.reach, pricing.every) = (pricing.state.reach, pricing.state.every);
    let reader = Reader {
        centres,
        prices: &pricing.state.prices,
        prices_f32: &prices_f32,
        own,
        reach: pricing.reach,
        every: pricing.every,
    };
    let (sizes, hits) = (&mut pricing.sizes, &mut pricing.hits);
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
    let wrong = pricing.wrong();
    pricing.look_for(wrong, choices);
    Ok(gained)
}
