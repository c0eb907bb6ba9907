//! Bridging accuracy: the share of latent classes whose link is right; see [`bridging`](mod@super::bridging).

use super::{Better, Score, Scorer};

pub(super) const SCORER: Scorer = Scorer {
    name: "accuracy",
    title: "bridging accuracy",
    about: "bridging accuracy: the share of classes whose link is right",
    better: Better::Higher,
    score: Score::Links(|links| links.scores.accuracy),
};
