//! The pairs after an update, and the rows of which somebody said that they do not belong together.

use super::changes::PairChange;
use super::pool::NewPool;
use crate::Error;
use crate::model::BridgedModel;
use std::collections::HashSet;

/// What is known of pairs of rows, by their numbers in the pools as they are now.
pub(super) struct Answers {
    /// They belong together.
    pub yes: Vec<(u32, u32)>,
    /// They do not.
    pub no: Vec<(u32, u32)>,
    /// What became of the pairs.
    pub change: PairChange,
}

impl Answers {
    /// What a model knows, without the rows that went.
    pub fn of(model: &BridgedModel, (x, y): (&NewPool, &NewPool)) -> Self {
        let now = |&(a, b): &(u32, u32)| {
            Some((x.number_of(a as usize)? as u32, y.number_of(b as usize)? as u32))
        };
        let (yes, no): (Vec<_>, Vec<_>) = (
            model.pairs.iter().filter_map(now).collect(),
            model.negatives.iter().filter_map(now).collect(),
        );
        let before = model.pairs.len();
        let change = PairChange { before, forgotten: before - yes.len(), ..PairChange::default() };
        Self { yes, no, change }
    }

    /// With new ones, each once; what contradicts an earlier answer is refused.
    pub fn with(
        mut self,
        yes: &[(u32, u32)],
        no: &[(u32, u32)],
        (x, y): (&NewPool, &NewPool),
    ) -> Result<Self, Error> {
        let mut known: HashSet<(u32, u32)> = self.yes.iter().copied().collect();
        let mut denied: HashSet<(u32, u32)> = self.no.iter().copied().collect();
        let contradicts = |(a, b): (u32, u32), now, before| Error::AnswerContradicts {
            x: x.names().id(a as usize),
            y: y.names().id(b as usize),
            now,
            before,
        };
        for &pair in yes {
            if denied.contains(&pair) {
                return Err(contradicts(pair, "yes", "no"));
            }
            match known.insert(pair) {
                true => self.yes.push(pair),
                false => self.change.known += 1,
            }
        }
        for &pair in no {
            if known.contains(&pair) {
                return Err(contradicts(pair, "no", "yes"));
            }
            if denied.insert(pair) {
                self.no.push(pair);
            }
        }
        self.change.after = self.yes.len();
        self.change.added = self.yes.len() + self.change.forgotten - self.change.before;
        self.change.denied = self.no.len();
        Ok(self)
    }
}
