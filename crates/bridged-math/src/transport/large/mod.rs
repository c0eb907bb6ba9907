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

mod read;
mod repair;
mod steps;
#[cfg(test)]
mod tests;
mod walls;

use super::pass::{Choice, PricesF32};
use super::{Capacity, Imbalance, TransportError};
use crate::chunks::map_blocks_mut;
use crate::distance::Centres;
use crate::matrix::MatrixRef;
use crate::rows::{Rows, RowsError};
use read::{Reader, UNIT};
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
