//! The mis-bridging rate ε_B: the share of input rows whose class has a wrong link; see
//! [`bridging`](mod@super::bridging).

use super::{Better, Score, Scorer};

pub(super) const SCORER: Scorer = Scorer {
    name: "epsilon_b",
    title: "ε_B",
    about: "mis-bridging rate: the share of rows whose class has a wrong link",
    better: Better::Lower,
    score: Score::Links(|links| links.scores.epsilon_b),
};
