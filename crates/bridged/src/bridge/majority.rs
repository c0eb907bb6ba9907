//! Majority vote: Â(a) = argmax_b #{pairs with input in a and output in b} (§4 of the paper).
//!
//! Several input clusters may link to one output cluster. O(pairs).

use super::{Bridge, BridgeRule, VoteCount, Votes, decide, largest};
use crate::Error;
use serde::{Deserialize, Serialize};

/// The output cluster with the most pairs.
///
/// ```
/// use bridged::bridge::{BridgeRule, LinkStatus, Majority, PairVote, Votes};
///
/// let vote = |x, y, x_depth| PairVote { x, y, x_depth, y_depth: 1.0 };
/// let pairs = vec![vote(0, 1, 0.2), vote(0, 1, 0.2), vote(0, 0, 0.9), vote(1, 0, 0.3), vote(1, 2, 0.6)];
/// let votes = Votes::hard(pairs, vec![5, 5, 5], vec![5, 5, 5]);
/// let bridge = Majority.link(&votes)?;
///
/// assert_eq!(bridge.best(), [Some(1), Some(2), None]);
/// assert_eq!(bridge.links[0].status, LinkStatus::Linked);      // two votes to one
/// assert_eq!(bridge.links[1].status, LinkStatus::Tied);        // one each: the deeper pair decides
/// assert_eq!(bridge.links[2].status, LinkStatus::NoEvidence);  // no pair at all
/// # Ok::<(), bridged::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Majority;

crate::limits!(Majority {});

impl BridgeRule for Majority {
    fn memory(&self, kx: usize, ky: usize, pairs: usize) -> u64 {
        // Rows and columns of the pairs' memberships, and links to the clusters that were voted for.
        (64.0 * (kx + ky) as f64 + 96.0 * pairs as f64 + 8.0 * pairs as f64 * (kx + ky) as f64)
            as u64
    }

    fn link(&self, votes: &Votes) -> Result<Bridge, Error> {
        let link = |row: &Vec<VoteCount>| decide(row, &largest(row, |c| f64::from(c.count)), votes);
        Ok(Bridge::of(votes.rows().iter().map(link).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinkStatus;
    use super::super::votes::tests::votes;
    use super::*;

    #[test]
    fn a_tie_without_any_difference_is_shared() {
        let link = &Majority.link(&votes(1, 3, &[(0, 2), (0, 1)])).unwrap().links[0];
        assert_eq!(link.status, LinkStatus::Tied);
        let targets: Vec<_> = link.targets.iter().map(|t| (t.cluster, t.weight)).collect();
        assert_eq!(targets, [(1, 0.5), (2, 0.5)]);
        assert_eq!((link.support, link.pairs), (2, 2));
    }

    #[test]
    fn a_tie_of_equal_depth_goes_to_the_larger_cluster() {
        let mut v = votes(1, 3, &[(0, 2), (0, 1)]);
        v.y_sizes = vec![99, 10, 11];
        let link = &Majority.link(&v).unwrap().links[0];
        assert_eq!((link.best(), link.status), (Some(2), LinkStatus::Tied));
    }

    #[test]
    fn many_input_clusters_may_share_an_output_cluster() {
        let bridge = Majority.link(&votes(3, 2, &[(0, 1), (1, 1), (2, 1)])).unwrap();
        assert_eq!(bridge.best(), [Some(1); 3]);
    }
}
