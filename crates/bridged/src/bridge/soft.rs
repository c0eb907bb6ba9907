//! Soft bridging (§6): every output cluster that has a vote, weighted by its share.
//!
//! ```text
//! ŷ(x) = Σ_j w_ij ȳ_j,   w_ij = the share of input cluster i's pairs whose output lies in j
//! ```

use super::{Bridge, BridgeRule, Link, LinkStatus, Target, Votes};
use crate::Error;
use serde::{Deserialize, Serialize};

/// All output clusters with a vote, by share.
///
/// ```
/// use bridged::bridge::{BridgeRule, PairVote, Soft, Votes};
///
/// let vote = |x, y| PairVote { x, y, x_depth: 1.0, y_depth: 1.0 };
/// let votes = Votes::hard(vec![vote(0, 1), vote(0, 1), vote(0, 0), vote(0, 1)], vec![9], vec![4, 5]);
/// let targets = &Soft.link(&votes)?.links[0].targets;
/// assert_eq!((targets[0].cluster, targets[0].weight), (1, 0.75));
/// assert_eq!((targets[1].cluster, targets[1].weight), (0, 0.25));
/// # Ok::<(), bridged::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Soft;

crate::limits!(Soft {});

impl BridgeRule for Soft {
    fn memory(&self, kx: usize, ky: usize, pairs: usize) -> u64 {
        // Rows and columns of the pairs' memberships, and links to the clusters that were voted for.
        (64.0 * (kx + ky) as f64 + 96.0 * pairs as f64 + 8.0 * pairs as f64 * (kx + ky) as f64)
            as u64
    }

    fn link(&self, votes: &Votes) -> Result<Bridge, Error> {
        let links = votes.rows().into_iter().map(|mut row| {
            let pairs: u32 = row.iter().map(|c| c.count).sum();
            if pairs == 0 {
                return Link::none(LinkStatus::NoEvidence, 0);
            }
            // The heaviest first; the number only orders what the sum does not depend on.
            row.sort_by(|a, b| b.count.cmp(&a.count).then(a.y.cmp(&b.y)));
            let weight = |count: u32| f64::from(count) / f64::from(pairs);
            let targets =
                row.iter().map(|c| Target { cluster: c.y, weight: weight(c.count) }).collect();
            Link { targets, status: LinkStatus::Linked, support: pairs, pairs }
        });
        Ok(Bridge::of(links.collect()))
    }
}
