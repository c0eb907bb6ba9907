//! Margin-based voting (App. B): a pair votes with the margin by which it belongs to its clusters.
//!
//! ```text
//! Â(a) = argmax_b  Σ over pairs (x', y') in (a, b) of depth(x') · depth(y')
//! ```
//!
//! with [`depth`](super::depth) from 0 on a border between clusters to 1 on a centroid. The paper
//! names the mechanism without a formula; this is the reading that uses a margin for what a margin
//! measures. Where all of a cluster's pairs lie on borders, their number decides. O(pairs).

use super::{Bridge, BridgeRule, Cell, Link, LinkStatus, Votes, break_tie, largest};
use serde::{Deserialize, Serialize};

/// The output cluster with the most evidence.
///
/// ```
/// use bridged::bridge::{BridgeRule, Margin, PairVote, Votes};
///
/// let vote = |x, y, x_depth| PairVote { x, y, x_depth, y_depth: 1.0 };
/// let pairs = vec![vote(0, 1, 0.1), vote(0, 1, 0.1), vote(0, 0, 0.9)];
/// let votes = Votes { pairs, x_sizes: vec![5], y_sizes: vec![5, 5] };
/// assert_eq!(Margin.link(&votes).best(), [Some(0)]);   // one clear pair beats two doubtful ones
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Margin;

impl BridgeRule for Margin {
    fn link(&self, votes: &Votes) -> Bridge {
        Bridge { links: votes.rows().iter().map(|row| decide(row, votes)).collect() }
    }
}

fn decide(row: &[Cell], votes: &Votes) -> Link {
    let pairs = row.iter().map(|c| c.count).sum();
    let by_evidence = largest(row, |c| c.evidence);
    let winners = largest(&by_evidence, |c| f64::from(c.count));
    match winners.len() {
        0 => Link::none(LinkStatus::NoEvidence, pairs),
        1 => Link::shared(&winners, LinkStatus::Linked, pairs),
        _ => Link::shared(&break_tie(&winners, &votes.y_sizes), LinkStatus::Tied, pairs),
    }
}

#[cfg(test)]
mod tests {
    use super::super::votes::tests::votes;
    use super::*;

    #[test]
    fn pairs_on_borders_are_counted() {
        let mut v = votes(1, 2, &[(0, 1), (0, 0), (0, 1)]);
        v.pairs.iter_mut().for_each(|p| p.x_depth = 0.0);
        assert_eq!(Margin.link(&v).best(), [Some(1)]);
    }
}
