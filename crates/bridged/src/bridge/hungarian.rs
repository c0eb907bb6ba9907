//! Hungarian voting (App. B): the one-to-one links that agree with the most pairs.
//!
//! ```text
//! maximise  Σ_a votes(a, Â(a))   over one-to-one Â
//! ```
//!
//! Among matchings with equally many votes the one with more evidence wins, then the one whose
//! links lie in larger clusters; what is equal even then is shared. A matching may put a cluster on an output cluster for which it has
//! no vote: that is no evidence, and no link is made of it — but where exactly one cluster is left
//! on each side of a square problem, one-to-one itself is the evidence. O(k³).

use super::{Bridge, BridgeRule, Link, LinkStatus, Target, VoteCount, Votes};
use crate::Error;
use bridged_math::assignment::{Goal, assign};
use serde::{Deserialize, Serialize};

/// The best one-to-one links.
///
/// ```
/// use bridged::bridge::{BridgeRule, Hungarian, LinkStatus, PairVote, Votes};
///
/// let vote = |x, y| PairVote { x, y, x_depth: 1.0, y_depth: 1.0 };
/// // Both input clusters prefer output 0; one-to-one gives it to the one with more votes.
/// let pairs = vec![vote(0, 0), vote(0, 0), vote(0, 0), vote(1, 0), vote(1, 0), vote(1, 1)];
/// let votes = Votes::hard(pairs, vec![6, 6, 6], vec![6, 6, 6]);
/// let bridge = Hungarian.link(&votes)?;
/// assert_eq!(bridge.best(), [Some(0), Some(1), Some(2)]);
/// assert_eq!(bridge.links[2].status, LinkStatus::Eliminated);   // no vote, but one place left
/// # Ok::<(), bridged::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hungarian;

crate::limits!(Hungarian {});

impl BridgeRule for Hungarian {
    fn memory(&self, kx: usize, ky: usize, pairs: usize) -> u64 {
        let side = kx.max(ky) as f64;
        // Two square tables, and what tells whether another assignment is as good.
        (8.0 * 5.0 * side * side + 8.0 * pairs as f64 * (kx + ky) as f64) as u64
    }

    fn link(&self, votes: &Votes) -> Result<Bridge, Error> {
        let (kx, ky) = (votes.x_sizes.len(), votes.y_sizes.len());
        let side = kx.max(ky); // padded to a square: a place in the padding is no link
        let rows = votes.rows();
        let counts = square(&rows, side, |c| f64::from(c.count));
        let by_count = assign(&counts, side, side, Goal::Maximise);
        let unique = by_count.unique_links(&counts);
        let preferred = square(&rows, side, |c| f64::from(c.count) + preference(c, votes));
        let matching = assign(&preferred, side, side, Goal::Maximise);

        let decided = matching.unique_links(&preferred);

        let mut links: Vec<Link> = Vec::with_capacity(kx);
        for (x, row) in rows.iter().enumerate() {
            let place = matching.row_to_col[x].expect("a square problem matches every row");
            let winners: Vec<VoteCount> = row
                .iter()
                .filter(|c| match decided[x] {
                    true => c.y as usize == place,
                    false => is_optimal(&preferred, side, c, matching.total),
                })
                .copied()
                .collect();
            links.push(decide(row, &winners, unique[x]));
        }
        eliminate(&mut links, ky);
        Ok(Bridge::of(links))
    }
}

/// Whether some best matching contains the cell: taking it out of the problem costs its own value.
fn is_optimal(values: &[f64], side: usize, cell: &VoteCount, best: f64) -> bool {
    let (x, y) = (cell.x as usize, cell.y as usize);
    let rest: Vec<f64> = (0..side * side)
        .filter(|at| at / side != x && at % side != y)
        .map(|at| values[at])
        .collect();
    let total = assign(&rest, side - 1, side - 1, Goal::Maximise).total + values[x * side + y];
    (total - best).abs() <= 1e-9 * best.abs().max(1.0)
}

/// Less than one vote over all links together: evidence first, then the size of the clusters.
fn preference(cell: &VoteCount, votes: &Votes) -> f64 {
    let total: f64 = votes.pairs.iter().map(|p| p.evidence()).sum();
    let rows = |sizes: &[u32]| sizes.iter().map(|&s| f64::from(s)).sum::<f64>();
    let size = f64::from(votes.x_sizes[cell.x as usize]) / rows(&votes.x_sizes)
        + f64::from(votes.y_sizes[cell.y as usize]) / rows(&votes.y_sizes);
    let evidence = if total > 0.0 { cell.evidence / total } else { 0.0 };
    0.5 * evidence + 1e-6 * size
}

fn square(rows: &[Vec<VoteCount>], side: usize, value: impl Fn(&VoteCount) -> f64) -> Vec<f64> {
    let mut matrix = vec![0.0; side * side];
    for cell in rows.iter().flatten() {
        matrix[cell.x as usize * side + cell.y as usize] = value(cell);
    }
    matrix
}

fn decide(row: &[VoteCount], winners: &[VoteCount], unique: bool) -> Link {
    let pairs = row.iter().map(|c| c.count).sum();
    match (winners, pairs) {
        ([], 0) => Link::none(LinkStatus::NoEvidence, 0),
        ([], _) => Link::none(LinkStatus::Outvoted, pairs),
        _ if unique => Link::shared(winners, LinkStatus::Linked, pairs),
        _ => Link::shared(winners, LinkStatus::Tied, pairs),
    }
}

/// If one input and one output cluster are left in a square problem, and all others can have places
/// of their own, they belong together. Where clusters draw for one place, any of them may be last.
fn eliminate(links: &mut [Link], ky: usize) {
    let open: Vec<usize> = (0..links.len()).filter(|&x| links[x].targets.is_empty()).collect();
    let taken: Vec<u32> = links.iter().flat_map(|l| &l.targets).map(|t| t.cluster).collect();
    let free: Vec<u32> = (0..ky as u32).filter(|y| !taken.contains(y)).collect();
    if let ([x], [y]) = (open.as_slice(), free.as_slice())
        && links.len() == ky
        && can_all_be_placed(links, ky)
    {
        links[*x].targets = vec![Target { cluster: *y, weight: 1.0 }];
        links[*x].status = LinkStatus::Eliminated;
    }
}

/// Whether every linked cluster can have one of its targets for itself.
fn can_all_be_placed(links: &[Link], ky: usize) -> bool {
    let mut wanted = vec![0.0; links.len() * ky];
    for (x, link) in links.iter().enumerate() {
        link.targets.iter().for_each(|t| wanted[x * ky + t.cluster as usize] = 1.0);
    }
    let linked = links.iter().filter(|l| !l.targets.is_empty()).count();
    assign(&wanted, links.len(), ky, Goal::Maximise).total == linked as f64
}

#[cfg(test)]
mod tests {
    use super::super::votes::tests::votes;
    use super::*;

    #[test]
    fn an_output_cluster_is_never_linked_twice() {
        let bridge = Hungarian.link(&votes(3, 4, &[(0, 1), (0, 1), (1, 1), (2, 3)])).unwrap();
        assert_eq!(bridge.best(), [Some(1), None, Some(3)]);
        assert_eq!(bridge.links[1].status, LinkStatus::Outvoted);
    }

    #[test]
    fn with_more_input_than_output_clusters_some_stay_without_a_link() {
        let bridge = Hungarian.link(&votes(3, 1, &[(0, 0), (1, 0), (1, 0)])).unwrap();
        assert_eq!(bridge.best(), [None, Some(0), None]);
        assert_eq!(bridge.links[0].status, LinkStatus::Outvoted);
        assert_eq!(bridge.links[2].status, LinkStatus::NoEvidence);
    }

    #[test]
    fn an_exchange_that_costs_no_vote_is_a_tie() {
        let bridge = Hungarian.link(&votes(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)])).unwrap();
        assert!(bridge.links.iter().all(|l| l.status == LinkStatus::Tied && l.targets.len() == 2));
        let bridge = Hungarian.link(&votes(2, 2, &[(0, 0), (1, 1)])).unwrap();
        assert!(bridge.links.iter().all(|l| l.status == LinkStatus::Linked));
    }
}
