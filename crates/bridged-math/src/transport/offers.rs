//! What it costs to move a row from one column to another, and the cheapest such moves of a pair.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A row that can leave a column for another, at a cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub cost: f64,
    pub row: u32,
}

impl Offer {
    /// Dearer than any.
    pub const NONE: Offer = Offer { cost: f64::INFINITY, row: u32::MAX };
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Offer {}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cost.total_cmp(&other.cost).then(self.row.cmp(&other.row))
    }
}

/// Keeps the cheapest offers, a few more than `keep`, and returns the cost below which none is
/// missing.
pub(super) fn keep_cheapest(offers: &mut Vec<Reverse<Offer>>, keep: usize) -> f64 {
    offers.select_nth_unstable_by(keep, |x, y| x.0.cmp(&y.0));
    offers.truncate(keep + 1);
    offers[keep].0.cost
}

/// A bound in single precision that no difference rounded to single precision exceeds if the
/// difference is at most `cost`.
pub(super) fn round_up(cost: f64) -> f32 {
    (cost + cost.abs() * f64::powi(2.0, -22)) as f32
}

/// The cheapest offers of one column to another.
#[derive(Clone, Debug)]
pub(super) struct Offers {
    /// Those of rows that have left the column since are dropped when they come to the top.
    pub heap: BinaryHeap<Reverse<Offer>>,
    /// Every offer below this cost is in the heap.
    pub complete: f64,
}
