//! Pairs that are asked for, one batch after the other, of a collection as it comes.
//!
//! ```text
//! 3 pairs by chance ─► model ─► rows whose partner is asked for ─► 3 + b pairs ─► model ─► … ─► P pairs
//! ```
//!
//! Everything begins as in `natural.rs` with three pairs. A row of the x pool that is asked for gets its partner: the
//! output joins the y pool, and the two are a pair. Which rows, the model says (`suggested`), or chance (`chance`), for
//! comparison: both begin with the same pools, pairs and test rows, and so do all numbers of pairs of one run.

use super::division::Division;
use super::{Draw, Pairing, Protocol, StudyCell};
use crate::{Dataset, LabError};
use bridged::Seed;
use rand::seq::SliceRandom;
use std::collections::HashSet;

/// Pairs to begin with.
pub(crate) const START: usize = 3;
/// Rows that are asked for at once: at least so many, and a quarter of the pairs so far.
const LEAST: usize = 3;

/// Says which rows of the x pool of a draw to ask for next, at most so many.
pub(crate) type Ask<'a> = dyn FnMut(&Draw, usize) -> Result<Vec<usize>, LabError> + 'a;

impl Pairing {
    /// Whether pairs are asked for one batch after the other.
    pub fn is_asked(self) -> bool {
        matches!(self, Pairing::Suggested | Pairing::Chance)
    }
}

impl StudyCell {
    /// What its draws begin with.
    pub(crate) fn start(self) -> Self {
        Self { pairs: START.min(self.pairs), ..self }
    }
}

impl Protocol {
    /// An error where there are not rows enough to ask for.
    pub(crate) fn check_asked(
        &self,
        data: &Dataset,
        allowed: &[u32],
        cell: StudyCell,
        seed: Seed,
    ) -> Result<(), LabError> {
        self.check(cell)?;
        let division = self.divide_naturally(data, allowed, cell.start(), seed)?;
        let entities = division.pairs.len() + division.input.len();
        match cell.pairs < entities {
            true => Ok(()),
            false => Err(LabError::TooManyPairs {
                dataset: data.name.clone(),
                pairs: cell.pairs,
                entities,
                most: entities - 1,
            }),
        }
    }

    /// The rows of the data set that are asked for, in order, until a run has the pairs of its cell.
    pub(crate) fn rows_asked_for(
        &self,
        data: &Dataset,
        allowed: &[u32],
        cell: StudyCell,
        seed: Seed,
        ask: &mut Ask<'_>,
    ) -> Result<Vec<usize>, LabError> {
        let mut division = self.divide_naturally(data, allowed, cell.start(), seed)?;
        let mut by_chance = division.input.clone();
        by_chance.sort_unstable();
        by_chance.shuffle(&mut seed.child("rows asked for by chance").rng());
        let mut all = Vec::new();
        while division.pairs.len() < cell.pairs {
            let pairs = division.pairs.len();
            let many = LEAST.max(pairs / 4).min(cell.pairs - pairs);
            let mut asked: Vec<usize> = match self.pairing {
                Pairing::Suggested => {
                    let draw = self.draw_divided(data, std::slice::from_ref(&division), cell, seed);
                    ask(&draw, many)?.into_iter().map(|row| draw.x_rows[row]).collect()
                }
                _ => Vec::new(),
            };
            // Where no row is worth asking for, any row is.
            let left: HashSet<usize> = division.input.iter().copied().collect();
            let others = by_chance.iter().filter(|row| left.contains(row) && !asked.contains(row));
            let others: Vec<usize> = others.take(many - asked.len()).copied().collect();
            asked.extend(others);
            division.answer(&asked);
            all.extend(asked);
        }
        Ok(all)
    }

    /// A run in which the first of these rows got their partners, as many as its cell has pairs.
    pub(crate) fn draw_asked(
        &self,
        data: &Dataset,
        allowed: &[u32],
        cell: StudyCell,
        seed: Seed,
        asked: &[usize],
    ) -> Result<Draw, LabError> {
        let mut division = self.divide_naturally(data, allowed, cell.start(), seed)?;
        division.answer(&asked[..cell.pairs - cell.start().pairs]);
        Ok(self.draw_divided(data, std::slice::from_ref(&division), cell, seed))
    }
}

impl Division {
    /// Gives these rows of the x pool their partners.
    fn answer(&mut self, rows: &[usize]) {
        self.input.retain(|row| !rows.contains(row));
        self.pairs.extend(rows);
    }
}
