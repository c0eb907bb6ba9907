//! Margin-based voting (App. B): a pair votes with the margin by which it belongs to its clusters.
//!
//! ```text
//! Â(a) = argmax_b  Σ over pairs (x', y') in (a, b) of depth(x') · depth(y')
//! ```
//!
//! with [`depth`](super::depth) from 0 on a border between clusters to 1 on a centroid. The paper
//! names the mechanism without a formula; this is the reading that uses a margin for what a margin
//! measures. Where all of a cluster's pairs lie on borders, their number decides. O(pairs).

use super::{Bridge, BridgeRule, VoteCount, Votes, decide, largest};
use crate::Error;
use serde::{Deserialize, Serialize};

/// The output cluster with the most evidence.
///
/// ```
/// use bridged::bridge::{BridgeRule, Margin, PairVote, Votes};
///
/// let vote = |x, y, x_depth| PairVote { x, y, x_depth, y_depth: 1.0 };
/// let pairs = vec![vote(0, 1, 0.1), vote(0, 1, 0.1), vote(0, 0, 0.9)];
/// let votes = Votes::hard(pairs, vec![5], vec![5, 5]);
/// assert_eq!(Margin.link(&votes)?.best(), [Some(0)]);   // one clear pair beats two doubtful ones
/// # Ok::<(), bridged::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Margin;

crate::limits!(Margin {});

impl BridgeRule for Margin {
    fn memory(&self, kx: usize, ky: usize, pairs: usize) -> u64 {
        // Rows and columns of the pairs' memberships, and links to the clusters that were voted for.
        (64.0 * (kx + ky) as f64 + 96.0 * pairs as f64 + 8.0 * pairs as f64 * (kx + ky) as f64)
            as u64
    }

    fn link(&self, votes: &Votes) -> Result<Bridge, Error> {
        let link = |row: &Vec<VoteCount>| {
            let winners = largest(&largest(row, |c| c.evidence), |c| f64::from(c.count));
            decide(row, &winners, votes)
        };
        Ok(Bridge::of(votes.rows().iter().map(link).collect()))
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
        assert_eq!(Margin.link(&v).unwrap().best(), [Some(1)]);
    }
}
