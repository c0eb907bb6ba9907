//! Prices of columns, found from what passes over the rows tell: sizes, and which rows are near walls.
//!
//! Nothing here sees all rows, so they may lie on other machines: each part of them answers a pass with
//! a [`Tally`], and the tallies of all parts are added.

use super::priced::{CLASSES, least_of_class};
use super::{HITS, Prices};
use crate::transport::{Capacity, Imbalance, TransportError};

/// The bounds of the sizes, the prices, and what the last pass saw.
#[derive(Clone, Debug)]
pub struct Pricing {
    pub(super) capacity: Capacity,
    pub(super) state: Prices,
    /// How many rows there are.
    pub(super) total: usize,
    pub(super) sizes: Vec<u32>,
    /// Rows near walls in the last pass, within `reach`, one in `every`.
    pub(super) hits: Vec<u64>,
    pub(super) reach: f64,
    pub(super) every: usize,
}

/// What a pass saw of some rows, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// How many rows each column has, (k).
    pub sizes: Vec<u64>,
    /// Rows near walls, as [`PricedCentres`](super::PricedCentres) writes them; their order does not matter.
    pub hits: Vec<u64>,
    /// How many rows have a margin of each [`class`](super::class).
    pub margins: Vec<u64>,
}

impl Tally {
    /// Of no rows yet, for `k` columns.
    pub fn new(k: usize) -> Self {
        Self { sizes: vec![0; k], hits: Vec::new(), margins: vec![0; CLASSES] }
    }

    /// Adds what other rows came to.
    pub fn add(&mut self, other: Tally) {
        self.sizes.iter_mut().zip(other.sizes).for_each(|(s, o)| *s += o);
        self.margins.iter_mut().zip(other.margins).for_each(|(m, o)| *m += o);
        self.hits.extend(other.hits);
    }
}

impl Pricing {
    /// `rows` rows, no prices yet.
    pub fn new(rows: usize, capacity: Capacity) -> Result<Self, TransportError> {
        let state = Prices {
            prices: vec![0.0; capacity.columns()],
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
        Ok(Self { capacity, state, total: rows, sizes, hits: Vec::new(), reach, every })
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

    /// The bounds of the sizes.
    pub fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// Up to which margin the next pass counts rows near walls, and one in how many of them.
    pub fn counted(&self) -> (f64, usize) {
        (self.state.reach, self.state.every)
    }

    /// Other prices, of which no pass has told anything.
    pub fn set_prices(&mut self, prices: Vec<f64>) {
        assert_eq!(prices.len(), self.capacity.columns(), "one price per column");
        self.state.prices = prices;
    }

    /// Hears what a pass over all rows saw at the prices as they are, counting as [`counted`](Self::counted) says.
    pub fn hear(&mut self, tally: Tally) -> Result<(), TransportError> {
        (self.reach, self.every) = (self.state.reach, self.state.every);
        let size = |s: u64| u32::try_from(s).map_err(|_| TransportError::TooManyRows);
        self.sizes = tally.sizes.into_iter().map(size).collect::<Result<_, _>>()?;
        self.hits = tally.hits;
        let share = self.share_for(self.wrong());
        let wanted = (share * self.total as f64) as u64;
        let mut seen = 0;
        let enough = |&n: &u64| {
            seen += n;
            seen > wanted
        };
        let edge = |class: usize| f64::from(least_of_class(class).min(f32::MAX));
        let reach = tally.margins.iter().position(enough).map_or(f64::MAX, |c| edge(c + 1));
        let last = tally.margins.iter().rposition(|&n| n > 0).unwrap_or(0);
        self.look_within(reach, edge(last), share);
        Ok(())
    }

    /// How many rows are in the wrong place.
    pub fn wrong(&self) -> usize {
        self.imbalance().total() as usize
    }

    pub(super) fn imbalance(&self) -> Imbalance {
        Imbalance::new(&self.capacity, &self.state.prices, &self.sizes)
    }

    /// What the bounds would cost or save at the prices beyond what the sizes do: Σ_j max(l p, u p) − size p.
    /// The cost of the labels of a pass less this is at most the optimum.
    pub fn shortfall(&self) -> f64 {
        self.shortfall_at(self.imbalance().sink)
    }

    /// The same for a price of the sink.
    pub(super) fn shortfall_at(&self, sink: f64) -> f64 {
        let columns = self.state.prices.iter().map(|p| p - sink).enumerate();
        columns
            .map(|(j, p)| {
                let full = if p > 0.0 { self.capacity.upper[j] } else { self.capacity.lower[j] };
                (f64::from(full) - f64::from(self.sizes[j])) * p
            })
            .sum()
    }
}
