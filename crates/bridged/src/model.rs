//! The fitted model: both sides, the votes, and a regressor in each direction.

use crate::Error;
use crate::bridge::Votes;
use crate::ensemble::{Ensemble, Ranker};
use crate::history::Event;
use crate::kept::Cached;
use crate::offset::Offset;
use crate::predict::Regressor;
use crate::settings::BridgedClustering;
use crate::side::{Names, Side};
use bridged_math::Seed;
use serde::{Deserialize, Serialize};

/// Which side is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// y from x.
    #[default]
    Forward,
    /// x from y.
    Reverse,
}

impl Direction {
    /// Both directions, y from x first.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    /// The name of the side that is given.
    pub fn input(self) -> &'static str {
        match self {
            Direction::Forward => "x",
            Direction::Reverse => "y",
        }
    }

    /// The name of the side that is predicted.
    pub fn output(self) -> &'static str {
        match self {
            Direction::Forward => "y",
            Direction::Reverse => "x",
        }
    }
}

/// A fitted bridge between two pools.
///
/// What a model knows about itself is asked for by methods: predictions and the reasons for them
/// ([`predict`](Self::predict), [`link_table`](Self::link_table), [`nearest`](Self::nearest)), what to
/// expect of it ([`verdict`](Self::verdict), [`warnings`](Self::warnings),
/// [`contradictions`](Self::contradictions)), scores ([`evaluate`](Self::evaluate)) and everything
/// that is not a vector ([`describe`](Self::describe)).
#[derive(Clone, Debug, PartialEq)]
pub struct BridgedModel {
    pub(crate) settings: BridgedClustering,
    pub(crate) seed: Seed,
    pub(crate) x: Side,
    pub(crate) y: Side,
    pub(crate) pairs: Vec<(u32, u32)>,
    pub(crate) negatives: Vec<(u32, u32)>,
    pub(crate) votes: Votes,
    pub(crate) forward: Regressor,
    pub(crate) reverse: Regressor,
    pub(crate) ensemble: Option<Ensemble>,
    pub(crate) rankers: [Cached<Ranker>; 2],
    pub(crate) history: Vec<Event>,
}

impl BridgedModel {
    /// The parameters that it was fitted with.
    pub fn settings(&self) -> &BridgedClustering {
        &self.settings
    }

    /// The same model with names for the rows of both pools; an error if they do not fit.
    pub fn with_names(mut self, x: Names, y: Names) -> Result<Self, Error> {
        x.check("x", self.x.len())?;
        y.check("y", self.y.len())?;
        (self.x.names, self.y.names) = (x, y);
        (self.x.label_column, self.y.label_column) = (Cached::default(), Cached::default());
        Ok(self)
    }

    /// The same model of pools whose columns had this taken off.
    pub fn with_offsets(mut self, x: Offset, y: Offset) -> Self {
        (self.x.offset, self.y.offset) = (x, y);
        self
    }

    /// The version of its file: of what earlier releases do not know, one that they do not read.
    pub(crate) fn version(&self) -> u32 {
        let moved = !(self.x.offset.is_none() && self.y.offset.is_none());
        match (&self.ensemble, moved) {
            (Some(_), _) => crate::ENSEMBLE_VERSION,
            (None, true) => crate::OFFSET_VERSION,
            (None, false) => crate::MODEL_VERSION,
        }
    }

    /// What was done to it, from the fit on; empty if nobody wrote it down.
    pub fn history(&self) -> &[Event] {
        &self.history
    }

    /// The same model after something that was done to it.
    pub fn with_event(mut self, event: Event) -> Self {
        self.history.push(event);
        self
    }

    /// The same model without what was written down of its making.
    pub fn without_history(mut self) -> Self {
        self.history.clear();
        self
    }

    /// Whether both are the same model, however they were made.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let Self { settings, seed, x, y, pairs, negatives, .. } = self;
        let Self { votes, forward, reverse, ensemble, .. } = self;
        (settings, seed, pairs, votes) == (&other.settings, &other.seed, &other.pairs, &other.votes)
            && (x, y, ensemble) == (&other.x, &other.y, &other.ensemble)
            && negatives == &other.negatives
            && (forward, reverse) == (&other.forward, &other.reverse)
    }

    /// The seed that it was fitted with.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The input side.
    pub fn x(&self) -> &Side {
        &self.x
    }

    /// The output side.
    pub fn y(&self) -> &Side {
        &self.y
    }

    /// The side that predictions in this direction start from.
    pub fn from(&self, direction: Direction) -> &Side {
        match direction {
            Direction::Forward => &self.x,
            Direction::Reverse => &self.y,
        }
    }

    /// The side that is predicted.
    pub fn to(&self, direction: Direction) -> &Side {
        match direction {
            Direction::Forward => &self.y,
            Direction::Reverse => &self.x,
        }
    }

    /// The rows of the pairs, (row of x, row of y).
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// The rows of negative answers, (row of x, row of y): they belong to different groups.
    pub fn negatives(&self) -> &[(u32, u32)] {
        &self.negatives
    }

    /// What the pairs said, seen from the side that a direction starts from.
    pub fn votes(&self, direction: Direction) -> std::borrow::Cow<'_, Votes> {
        match direction {
            Direction::Forward => std::borrow::Cow::Borrowed(&self.votes),
            Direction::Reverse => std::borrow::Cow::Owned(self.votes.flip()),
        }
    }

    /// What predicts in a direction: links, answers, maps.
    pub fn regressor(&self, direction: Direction) -> &Regressor {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }
}
