//! The posterior bridge: every link with its probability, and how reliable the bridge is at all.
//!
//! ```text
//! A         the link, an unknown map of input to output clusters that uses each output alike
//! q         the reliability of the bridge: a pair follows A with probability q, else says nothing
//! m_s(A)  = Σ_i p(i|x_s) · p(A(i)|y_s) / ρ_{A(i)}        agreement of pair s with A, 1 by chance
//! P(A, q | pairs) ∝ P(q) · Π_s (1 − q + q · m_s(A))
//! P(j|i)  = E[q · 1(A(i) = j)] + (1 − E[q]) · ρ_j         ρ_j the share of output cluster j
//! ```
//!
//! Memberships p(i|x), p(j|y) are soft ([`Spread`](crate::cluster::Spread)); both unknowns are integrated
//! over. So a prediction slides to the mean of the outputs where the pairs carry no evidence,
//! contradicting pairs lower q, and a cluster without a pair is resolved by elimination.
//!
//! | file | idea |
//! |---|---|
//! | `evidence.rs` | the pairs as factors of the likelihood |
//! | `reliability.rs` | the prior of q: how clear both clusterings are |
//! | `sums.rs` | sums over maps: links, reliability, and the same without each pair |
//! | `enumerate.rs` | all maps that matter, where they are few |
//! | `sample.rs` | a Markov chain over maps, where they are many |

mod enumerate;
mod evidence;
mod reliability;
mod sample;
mod sums;

use super::{Bridge, BridgeRule, Link, LinkStatus, LinkedHeldOut, Reading, Target, Votes, same};
use crate::Error;
use crate::cluster::Spread;
use crate::settings::{Check, Limits};
pub(crate) use reliability::{GRID, Reliability};
pub(crate) use sample::{pick, running_sums};
pub(crate) use sums::likelihood;

use evidence::Evidence;
use serde::{Deserialize, Serialize};
use sums::PosteriorSums;

/// Links by their posterior probability.
///
/// ```
/// use bridged::bridge::{BridgeRule, LinkStatus, PairVote, Posterior, Votes};
///
/// let vote = |x, y| PairVote { x, y, x_depth: 1.0, y_depth: 1.0 };
/// let pairs = vec![vote(0, 1), vote(0, 1), vote(1, 0), vote(1, 0), vote(1, 2)];
/// let bridge = Posterior::default().link(&Votes::hard(pairs, vec![9; 3], vec![9; 3]))?;
///
/// assert_eq!(bridge.best(), [Some(1), Some(0), Some(2)]);
/// assert_eq!(bridge.links[2].status, LinkStatus::Eliminated);      // no pair, but one place left
/// assert!(bridge.links[0].targets[0].weight > bridge.links[2].targets[0].weight);
/// assert!(bridge.reliability.unwrap() < 0.9);                      // one pair contradicts the others
/// # Ok::<(), bridged::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Posterior {
    /// τ, the temperature of memberships. 4 doubles the deviation that is measured inside clusters:
    /// those were cut at their borders, so it is measured too small. 0 makes memberships hard.
    pub temperature: f64,
    /// ν, how many pairs the prior of q weighs.
    pub prior: f64,
    /// The mean of that prior; by default the product of the clarity of both clusterings.
    pub reliability: Option<f64>,
    /// What stands for an output cluster.
    pub means: Means,
}

/// What stands for an output cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// Its mean, shrunk towards that of the pool by its own uncertainty.
    #[default]
    Shrunk,
    /// Its mean.
    Plain,
}

impl Means {
    /// How much of μ_j − m stays of each cluster.
    pub(crate) fn kept(self, spread: &Spread) -> Vec<f64> {
        match self {
            Means::Shrunk => spread.shrink.clone(),
            Means::Plain => vec![1.0; spread.shrink.len()],
        }
    }
}

impl Default for Posterior {
    fn default() -> Self {
        Self { temperature: 4.0, prior: 4.0, reliability: None, means: Means::Shrunk }
    }
}

crate::limits!(Posterior {
    temperature: Limits::From(0.0, 1e6),
    prior: Limits::From(0.0, 1e6),
    reliability: Limits::From(0.0, 1.0),
});

impl BridgeRule for Posterior {
    fn memory(&self, kx: usize, ky: usize, pairs: usize) -> u64 {
        let (cells, seats) =
            (kx as f64 * ky as f64, kx as f64 * (ky * kx.div_ceil(ky.max(1))) as f64);
        // Sums, votes and links of all cells, the assignment over seats; memberships of the pairs by
        // rows, by columns and as running sums, and those of pairs that are held out.
        (cells * (3.0 * 8.0 + 2.0 * 16.0)
            + seats * 8.0 * 3.0
            + 8.0 * pairs as f64 * 6.0 * (kx + ky) as f64) as u64
    }

    fn link(&self, votes: &Votes) -> Result<Bridge, Error> {
        Ok(self.link_held_out(votes, &[])?.bridge)
    }

    fn reading(&self) -> Reading {
        Reading::Mixture { temperature: self.temperature, means: self.means }
    }

    fn link_held_out(&self, votes: &Votes, pairs: &[usize]) -> Result<LinkedHeldOut, Error> {
        self.check()?;
        let evidence = Evidence::new(votes, pairs);
        let clarity = votes.x_members.clarity * votes.y_members.clarity;
        let prior = Reliability::new(self.reliability.unwrap_or(clarity), self.prior);
        let mut sums = PosteriorSums::new(&evidence, &prior);
        if evidence.maps_are_few() {
            enumerate::all_maps(&evidence, &mut sums);
        } else {
            sample::maps(&evidence, &prior, &mut sums);
        }
        let (shares, reliability) = sums.links();
        let rows = votes.rows();
        let links = rows.iter().zip(shares.chunks_exact(evidence.ky)).map(|(row, shares)| {
            match evidence.is_empty() {
                true => Link::none(LinkStatus::NoEvidence, 0),
                false => link_of(row, shares),
            }
        });
        let bridge = Bridge { links: links.collect(), reliability: Some(reliability) };
        Ok(LinkedHeldOut { bridge, held_out: sums.held_out() })
    }
}

/// The link of a cluster with the votes `row` whose outputs have the given shares.
fn link_of(row: &[super::VoteCount], shares: &[f64]) -> Link {
    let total: f64 = shares.iter().sum();
    let target = |(j, s): (usize, &f64)| Target { cluster: j as u32, weight: s / total };
    let mut targets: Vec<Target> = shares.iter().enumerate().map(target).collect();
    // The number only orders what the prediction does not depend on.
    targets.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.cluster.cmp(&b.cluster)));
    let pairs = row.iter().map(|c| c.count).sum();
    let top = targets[0];
    let votes_of = |t: &Target| row.iter().find(|c| c.y == t.cluster).map_or(0, |c| c.count);
    let tied = |t: &&Target| same(t.weight, top.weight);
    let support = targets.iter().take_while(tied).map(votes_of).sum();
    let status = match targets.get(1) {
        _ if pairs == 0 => LinkStatus::Eliminated,
        Some(second) if same(second.weight, top.weight) => LinkStatus::Tied,
        _ if support == 0 => LinkStatus::Outvoted,
        _ => LinkStatus::Linked,
    };
    Link { targets, status, support, pairs }
}

#[cfg(test)]
mod tests {
    use super::super::Negative;
    use super::super::votes::tests::votes;
    use super::*;

    fn link(kx: usize, ky: usize, pairs: &[(u32, u32)]) -> Bridge {
        Posterior::default().link(&votes(kx, ky, pairs)).unwrap()
    }

    #[test]
    fn without_evidence_every_output_has_its_share() {
        // One pair of two whose memberships are even on the input side says nothing.
        let mut v = votes(2, 2, &[(0, 1)]);
        v.x_members.weights = vec![0.5, 0.5];
        let bridge = Posterior::default().link(&v).unwrap();
        assert!(
            bridge.links.iter().flat_map(|l| &l.targets).all(|t| (t.weight - 0.5).abs() < 1e-9)
        );
    }

    #[test]
    fn repeated_pairs_raise_the_reliability_and_contradictions_lower_it() {
        let q = |pairs: &[(u32, u32)]| link(3, 3, pairs).reliability.unwrap();
        let once = [(0, 0), (1, 1), (2, 2)];
        let against = [once, [(0, 1), (1, 2), (2, 0)]].concat();
        assert!(q(&[once, once].concat()) > q(&once));
        assert!(q(&against) < q(&once) - 0.2, "{} {}", q(&against), q(&once));
    }

    #[test]
    fn the_reverse_link_of_a_square_problem_is_the_transpose() {
        let v = votes(4, 4, &[(0, 3), (1, 2), (1, 2), (2, 3), (3, 0)]);
        let link = |v: &Votes| Posterior::default().link(v).unwrap();
        let (a, b) = (link(&v), link(&v.flip()));
        for i in 0..4 {
            for t in &a.links[i].targets {
                let back = &b.links[t.cluster as usize].targets;
                let back = back.iter().find(|u| u.cluster as usize == i).unwrap();
                assert!((t.weight - back.weight).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_cluster_whose_only_vote_another_holds_twice_is_outvoted() {
        let bridge = link(2, 2, &[(0, 0), (0, 0), (0, 0), (1, 0)]);
        assert_eq!(bridge.best(), [Some(0), Some(1)]);
        assert_eq!(bridge.links[1].status, LinkStatus::Outvoted);
    }

    #[test]
    fn more_input_than_output_clusters_share_outputs() {
        let bridge = link(4, 2, &[(0, 0), (1, 0), (2, 1)]);
        assert_eq!(bridge.best(), [Some(0), Some(0), Some(1), Some(1)]);
        let bridge = link(2, 5, &[(0, 4), (1, 2)]);
        assert_eq!(bridge.best(), [Some(4), Some(2)]);
    }

    #[test]
    fn what_is_held_out_is_what_the_other_pairs_say() {
        let v = votes(4, 4, &[(0, 3), (0, 3), (1, 2), (2, 1), (2, 3), (3, 0)]);
        let linked = Posterior::default().link_held_out(&v, &[1, 4]).unwrap();
        for (held, pair) in linked.held_out.iter().zip([1, 4]) {
            let rest = Posterior::default().link(&v.without(pair)).unwrap();
            let targets = &rest.links[v.pairs[pair].x as usize].targets;
            for t in targets {
                assert!((held[t.cluster as usize] - t.weight).abs() < 1e-9, "{held:?} {targets:?}");
            }
        }
    }

    /// P(j|i) and E[q] by all one-to-one maps of three clusters to three, with the probability of each answer as it is.
    fn by_hand(v: &Votes) -> (Vec<f64>, f64) {
        let total: f64 = v.y_sizes.iter().map(|&n| f64::from(n)).sum();
        let share: Vec<f64> = v.y_sizes.iter().map(|&n| f64::from(n) / total).collect();
        let prior = Reliability::new(v.x_members.clarity * v.y_members.clarity, 4.0);
        let (mut links, mut reliable, mut all) = (vec![0.0; 9], 0.0, 0.0);
        let maps = (0..27).map(|c| [c / 9, c / 3 % 3, c % 3]);
        for map in maps.filter(|m| m[0] != m[1] && m[1] != m[2] && m[0] != m[2]) {
            for (q, p) in prior.values.iter().zip(&prior.weights) {
                let lies = |x: &[f64], y: &[f64]| {
                    let chance: f64 = y.iter().zip(&share).map(|(y, r)| y * r).sum();
                    let linked: f64 = (0..3).map(|i| x[i] * y[map[i]]).sum();
                    (chance, (1.0 - q) * chance + q * linked)
                };
                let mut weight = *p;
                for s in 0..v.pairs.len() {
                    let (x, y) = (v.x_members.row(s), v.y_members.row(s));
                    let m: f64 = (0..3).map(|i| x[i] * y[map[i]] / share[map[i]]).sum();
                    weight *= 1.0 - q + q * m;
                }
                for no in &v.negatives {
                    weight *= 1.0 - lies(&no.x, &no.y).1;
                }
                all += weight;
                reliable += weight * q;
                (0..3).for_each(|i| links[i * 3 + map[i]] += weight * q);
            }
        }
        let rest = 1.0 - reliable / all;
        let links = links.iter().enumerate().map(|(at, l)| l / all + rest * share[at % 3]);
        (links.collect(), reliable / all)
    }

    fn no(x: [f64; 3], y: [f64; 3]) -> Negative {
        Negative { x: x.to_vec(), y: y.to_vec() }
    }

    #[test]
    fn links_with_negative_answers_are_the_sum_over_all_maps() {
        let mut v = votes(3, 3, &[(0, 1), (1, 0)]);
        v.y_sizes = vec![5, 10, 15];
        v.x_members.weights = vec![0.8, 0.1, 0.1, 0.2, 0.7, 0.1];
        v.y_members.weights = vec![0.1, 0.9, 0.0, 0.6, 0.2, 0.2];
        (v.x_members.clarity, v.y_members.clarity) = (0.8, 0.7);
        let answers = [
            vec![],
            vec![no([0.0, 0.1, 0.9], [0.7, 0.1, 0.2])],
            vec![no([0.9, 0.1, 0.0], [0.0, 1.0, 0.0]), no([0.2, 0.3, 0.5], [0.3, 0.3, 0.4])],
        ];
        for negatives in answers {
            v.negatives = negatives;
            let (links, q) = by_hand(&v);
            let bridge = Posterior::default().link(&v).unwrap();
            assert!((bridge.reliability.unwrap() - q).abs() < 1e-6);
            for (i, link) in bridge.links.iter().enumerate() {
                for t in &link.targets {
                    let exact = links[i * 3 + t.cluster as usize];
                    assert!((t.weight - exact).abs() < 1e-6, "{i} {t:?} {exact}");
                }
            }
        }
    }

    #[test]
    fn a_no_moves_the_link_away_and_the_order_of_answers_does_not_matter() {
        let mut v = votes(3, 3, &[(0, 0)]);
        let weight = |v: &Votes, i: usize, j: u32| {
            let links = Posterior::default().link(v).unwrap().links;
            links[i].targets.iter().find(|t| t.cluster == j).map_or(0.0, |t| t.weight)
        };
        let (to_1, to_2) = (weight(&v, 1, 1), weight(&v, 1, 2));
        assert!((to_1 - to_2).abs() < 1e-9);
        v.negatives = vec![no([0.0, 1.0, 0.0], [0.0, 1.0, 0.0])];
        assert!(weight(&v, 1, 1) < to_1 - 0.05 && weight(&v, 1, 2) > to_2 + 0.05);
        assert!(weight(&v, 2, 1) > to_1, "what the second does not take is left to the third");
        v.negatives.push(no([0.5, 0.5, 0.0], [0.2, 0.2, 0.6]));
        let mut turned = v.clone();
        turned.negatives.reverse();
        let link = |v: &Votes| Posterior::default().link(v).unwrap();
        assert_eq!(link(&v), link(&turned));
    }

    #[test]
    fn a_no_against_what_pairs_say_lowers_the_reliability() {
        let mut v = votes(3, 3, &[(0, 0), (1, 1), (2, 2)]);
        let q = |v: &Votes| Posterior::default().link(v).unwrap().reliability.unwrap();
        let before = q(&v);
        v.negatives = vec![no([1.0, 0.0, 0.0], [1.0, 0.0, 0.0])];
        assert!(q(&v) < before - 0.05, "{} {before}", q(&v));
        v.negatives = vec![no([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])];
        assert!(q(&v) > before);
    }

    #[test]
    fn many_clusters_are_told_apart_by_negative_answers_too() {
        // Too many maps to sum over; cluster 7 may belong to 7, 8 or 9, and not to 8 or 9.
        let pairs: Vec<(u32, u32)> =
            (0..12).filter(|i| !(7..10).contains(i)).map(|i| (i, i)).collect();
        let pairs = [pairs.clone(), pairs].concat();
        let mut v = votes(12, 12, &pairs);
        let at = |k: usize| (0..12).map(|i| f64::from(u8::from(i == k))).collect::<Vec<f64>>();
        let weight = |v: &Votes| {
            let link = &Posterior::default().link(v).unwrap().links[7];
            link.targets.iter().find(|t| t.cluster == 7).map_or(0.0, |t| t.weight)
        };
        let before = weight(&v);
        v.negatives = [8, 9].map(|j| Negative { x: at(7), y: at(j) }).to_vec();
        assert!(before < 0.5 && weight(&v) > before + 0.2, "{before} {}", weight(&v));
    }

    #[test]
    fn two_hundred_clusters_with_wrong_pairs_among_them_are_linked() {
        let right = |x: u32| (x + 31) % 200;
        let pair = |s: u32| (s % 200, if s % 11 == 3 { s * 29 % 200 } else { right(s % 200) });
        let bridge = link(200, 200, &(0..800).map(pair).collect::<Vec<_>>());
        let found = bridge.best().into_iter().zip(0..).filter(|(b, x)| *b == Some(right(*x)));
        assert!(found.count() >= 198);
        let q = bridge.reliability.unwrap();
        assert!((0.85..0.97).contains(&q), "{q}");
    }
}
