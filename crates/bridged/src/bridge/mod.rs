//! Bridges: which output cluster an input cluster is linked to, and why.
//!
//! A [`BridgeRule`] turns [`Votes`] into a [`Bridge`]. What the paper leaves open is an explicit
//! state here: a cluster without a pair has [no evidence](LinkStatus::NoEvidence), a cluster whose
//! best links have equally many votes is [tied](LinkStatus::Tied). Ties are broken by evidence
//! (how deep the pairs sit in their clusters), then by the size of the output cluster, and shared
//! where even those are equal; never by index.
//!
//! [`BridgeSpec`] is the one list of rules.

mod hungarian;
mod majority;
mod margin;
mod posterior;
mod soft;
mod votes;

pub use hungarian::Hungarian;
pub use majority::Majority;
pub use margin::Margin;
pub(crate) use posterior::{GRID, Reliability, likelihood, pick, running_sums};
pub use posterior::{Means, Posterior};
pub use soft::Soft;
pub use votes::{Negative, PairVote, VoteCount, Votes, depth};

use crate::Error;
use crate::cluster::Entry;
use crate::settings::{BadParameter, Check, Limits};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};

/// Decides the links of one direction. The reverse direction is the rule on [`Votes::flip`].
pub trait BridgeRule: Check + Debug + Send + Sync {
    /// About how many bytes linking so many clusters by so many pairs takes at its peak.
    fn memory(&self, kx: usize, ky: usize, pairs: usize) -> u64;

    /// One link for each input cluster.
    fn link(&self, votes: &Votes) -> Result<Bridge, Error>;

    /// How predictions read its links.
    fn reading(&self) -> Reading {
        Reading::Cluster
    }

    /// The links, and what each of `pairs` would be answered without it: a weight for every output
    /// cluster, or nothing where the others say nothing.
    fn link_held_out(&self, votes: &Votes, pairs: &[usize]) -> Result<LinkedHeldOut, Error> {
        let held_out = pairs.iter().map(|&pair| {
            let links = self.link(&votes.without(pair))?.links;
            let link = links.get(votes.pairs[pair].x as usize);
            let targets = link.map_or(&[][..], |l| &l.targets);
            let mut shares = vec![0.0; if targets.is_empty() { 0 } else { votes.y_sizes.len() }];
            targets.iter().for_each(|t| shares[t.cluster as usize] = t.weight);
            Ok(shares)
        });
        let held_out = held_out.collect::<Result<_, Error>>()?;
        Ok(LinkedHeldOut { bridge: self.link(votes)?, held_out })
    }
}

/// The links, and what each of some pairs is answered by the others.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkedHeldOut {
    /// The links by all pairs.
    pub bridge: Bridge,
    /// For each of the pairs the weights of the output clusters without it; empty where the others
    /// say nothing.
    pub held_out: Vec<Vec<f64>>,
}

/// How predictions read the links of a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// A row is answered by the link of the cluster that it is in.
    #[default]
    Cluster,
    /// A row is answered by the links of all clusters, as far as it belongs to them.
    Mixture {
        /// τ of its memberships.
        temperature: f64,
        /// What stands for an output cluster.
        means: Means,
    },
}

impl Reading {
    /// τ of soft memberships; `None` where a row is in one cluster.
    pub fn temperature(self) -> Option<f64> {
        match self {
            Reading::Cluster => None,
            Reading::Mixture { temperature, .. } => Some(temperature),
        }
    }

    /// What stands for an output cluster.
    pub fn means(self) -> Means {
        match self {
            Reading::Cluster => Means::Plain,
            Reading::Mixture { means, .. } => means,
        }
    }

    /// Whether rows are answered by the links of several clusters.
    pub fn is_mixture(self) -> bool {
        self != Reading::Cluster
    }
}

/// The links of every input cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bridge {
    /// One entry for each input cluster.
    pub links: Vec<Link>,
    /// How reliable the pairs are, 0 to 1, of rules that estimate it.
    #[serde(default)]
    pub reliability: Option<f64>,
}

/// Where one input cluster leads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Output clusters with weights that sum to 1, the heaviest first; empty without a link.
    pub targets: Vec<Target>,
    /// How it was decided.
    pub status: LinkStatus,
    /// Pairs that voted for one of the targets.
    pub support: u32,
    /// Pairs in this input cluster.
    pub pairs: u32,
}

/// An output cluster and its share of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The output cluster.
    pub cluster: u32,
    /// Its weight.
    pub weight: f64,
}

/// How a link was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkStatus {
    /// The votes decided.
    Linked,
    /// Two or more output clusters have equally many votes; deeper pairs, then the larger cluster,
    /// decided, or the link is shared.
    Tied,
    /// One-to-one rules only: it has no vote of its own, and one output cluster was left.
    Eliminated,
    /// One-to-one rules only: its votes are for output clusters that others took.
    Outvoted,
    /// No pair lies in it.
    NoEvidence,
    /// Several members only: no pair lies in it although many would if it had a partner.
    NoPartner,
    /// Of a row, not of a cluster: the clustering leaves it outside all clusters.
    Noise,
}

impl LinkStatus {
    /// The status as tables print it.
    pub fn name(self) -> &'static str {
        match self {
            LinkStatus::Linked => "linked",
            LinkStatus::Tied => "tied",
            LinkStatus::Eliminated => "eliminated",
            LinkStatus::Outvoted => "outvoted",
            LinkStatus::NoEvidence => "no evidence",
            LinkStatus::NoPartner => "no partner",
            LinkStatus::Noise => "noise",
        }
    }
}

impl fmt::Display for LinkStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Link {
    /// The heaviest target, if there is one.
    pub fn best(&self) -> Option<u32> {
        self.targets.first().map(|t| t.cluster)
    }

    fn none(status: LinkStatus, pairs: u32) -> Self {
        Self { targets: Vec::new(), status, support: 0, pairs }
    }

    /// A link shared equally by the given cells of one input cluster with `pairs` votes.
    fn shared(winners: &[VoteCount], status: LinkStatus, pairs: u32) -> Self {
        let weight = 1.0 / winners.len() as f64;
        let targets = winners.iter().map(|c| Target { cluster: c.y, weight }).collect();
        Self { targets, status, support: winners.iter().map(|c| c.count).sum(), pairs }
    }
}

impl Bridge {
    fn of(links: Vec<Link>) -> Self {
        Self { links, reliability: None }
    }

    /// The heaviest target of each input cluster.
    pub fn best(&self) -> Vec<Option<u32>> {
        self.links.iter().map(Link::best).collect()
    }
}

macro_rules! bridges {
    ($($variant:ident($name:literal, $about:literal),)+) => {
        /// Any of the bridge rules.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "rule")]
        pub enum BridgeSpec {
            $(#[doc = $about] #[serde(rename = $name)] $variant($variant),)+
        }

        impl BridgeSpec {
            /// Every rule, in the order in which `bridged list` shows them.
            pub const ALL: &[Entry] = &[$(Entry { name: $name, about: $about },)+];

            /// The rule of that name with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant($variant::default())),)+
                    _ => None,
                }
            }

            /// Its name in commands, TOML and Python.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }
        }

        impl Check for BridgeSpec {
            fn limits(&self) -> &'static [(&'static str, Limits)] {
                match self { $(Self::$variant(rule) => rule.limits(),)+ }
            }

            fn check(&self) -> Result<(), BadParameter> {
                match self { $(Self::$variant(rule) => rule.check(),)+ }
            }
        }

        impl BridgeRule for BridgeSpec {
            fn link(&self, votes: &Votes) -> Result<Bridge, Error> {
                match self { $(Self::$variant(rule) => rule.link(votes),)+ }
            }

            fn reading(&self) -> Reading {
                match self { $(Self::$variant(rule) => rule.reading(),)+ }
            }

            fn memory(&self, kx: usize, ky: usize, pairs: usize) -> u64 {
                match self { $(Self::$variant(rule) => rule.memory(kx, ky, pairs),)+ }
            }

            fn link_held_out(&self, votes: &Votes, pairs: &[usize]) -> Result<LinkedHeldOut, Error> {
                match self { $(Self::$variant(rule) => rule.link_held_out(votes, pairs),)+ }
            }
        }
    };
}

bridges! {
    Posterior("posterior", "every link with its probability, and how reliable the pairs are"),
    Majority("majority", "the output cluster with the most pairs (the paper's rule)"),
    Margin("margin", "the same, each pair weighted by how deep it sits in both clusters"),
    Hungarian("hungarian", "the one-to-one links with the most pairs in all"),
    Soft("soft", "all output clusters, weighted by their share of the pairs"),
}

impl Default for BridgeSpec {
    fn default() -> Self {
        Self::Posterior(Posterior::default())
    }
}

/// Equal up to rounding: sums of the same evidence in another order count as a tie.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// The cells whose `key` is the largest, up to rounding.
fn largest(cells: &[VoteCount], key: impl Fn(&VoteCount) -> f64) -> Vec<VoteCount> {
    let top = cells.iter().map(&key).fold(f64::NEG_INFINITY, f64::max);
    cells.iter().filter(|c| same(key(c), top)).copied().collect()
}

/// Breaks a tie by evidence, then by the size of the output cluster; what is still equal stays.
fn break_tie(cells: &[VoteCount], y_sizes: &[u32]) -> Vec<VoteCount> {
    largest(&largest(cells, |c| c.evidence), |c| f64::from(y_sizes[c.y as usize]))
}

/// The link of an input cluster whose votes are `row`, of which `winners` are the best.
fn decide(row: &[VoteCount], winners: &[VoteCount], votes: &Votes) -> Link {
    let pairs = row.iter().map(|c| c.count).sum();
    match winners.len() {
        0 => Link::none(LinkStatus::NoEvidence, pairs),
        1 => Link::shared(winners, LinkStatus::Linked, pairs),
        _ => Link::shared(&break_tie(winners, &votes.y_sizes), LinkStatus::Tied, pairs),
    }
}

#[cfg(test)]
mod tests {
    use super::votes::tests::votes;
    use super::*;
    use proptest::prelude::*;

    fn all_rules() -> impl Iterator<Item = BridgeSpec> {
        BridgeSpec::ALL.iter().map(|e| BridgeSpec::named(e.name).expect("listed by this name"))
    }

    #[test]
    fn every_listed_rule_is_found_by_its_name_and_survives_json() {
        for rule in all_rules() {
            let json = serde_json::to_string(&rule).unwrap();
            assert_eq!(serde_json::from_str::<BridgeSpec>(&json).unwrap(), rule);
            assert_eq!(BridgeSpec::named(rule.name()), Some(rule));
        }
    }

    #[test]
    fn no_rule_invents_a_link_for_a_cluster_without_a_pair() {
        // The published code sends such a cluster to output cluster 0. What the votes leave open
        // is shared by all that are left, or there is no link.
        for rule in all_rules() {
            let bridge = rule.link(&votes(4, 4, &[(0, 3), (1, 2)])).unwrap();
            for empty in [2, 3] {
                let link = &bridge.links[empty];
                if rule.reading() == Reading::Cluster {
                    assert_eq!(link.status, LinkStatus::NoEvidence, "{rule:?}");
                    assert!(link.targets.is_empty(), "{rule:?}");
                } else {
                    assert_eq!(link.status, LinkStatus::Eliminated, "{rule:?}");
                    assert!(same(link.targets[0].weight, link.targets[1].weight), "{rule:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn rules_conform(
            kx in 1usize..7, ky in 1usize..7, raw in prop::collection::vec((0u32..7, 0u32..7, 0.0f64..1.0, 0.0f64..1.0), 0..20),
            turn in 0u32..7,
        ) {
            let pairs = raw.iter().map(|&(x, y, x_depth, y_depth)| PairVote { x: x % kx as u32, y: y % ky as u32, x_depth, y_depth }).collect();
            let v = Votes::hard(pairs, vec![10; kx], (0..ky as u32).map(|j| 10 + j).collect());
            for rule in all_rules() {
                let bridge = rule.link(&v).unwrap();
                prop_assert_eq!(bridge.links.len(), kx);
                for (x, link) in bridge.links.iter().enumerate() {
                    prop_assert!(link.targets.iter().all(|t| (t.cluster as usize) < ky && t.weight > 0.0));
                    let sum: f64 = link.targets.iter().map(|t| t.weight).sum();
                    prop_assert!(link.targets.is_empty() || (sum - 1.0).abs() < 1e-12);
                    let pairs = v.pairs.iter().filter(|p| p.x as usize == x).count() as u32;
                    prop_assert_eq!(link.pairs, pairs);
                    prop_assert!(link.support <= pairs);
                    prop_assert_eq!(link.status == LinkStatus::NoEvidence, link.targets.is_empty() && pairs == 0);
                }
                // The order of the pairs does not matter.
                let reversed = v.pairs.iter().rev().copied().collect();
                let reversed = Votes::hard(reversed, v.x_sizes.clone(), v.y_sizes.clone());
                prop_assert_eq!(&rule.link(&reversed).unwrap(), &bridge);
                // Nor does the numbering of the output clusters.
                let renumber = |y: u32| (y + turn) % ky as u32;
                let pairs = v.pairs.iter().map(|p| PairVote { y: renumber(p.y), ..*p }).collect();
                let mut y_sizes = v.y_sizes.clone();
                for y in 0..ky as u32 {
                    y_sizes[renumber(y) as usize] = v.y_sizes[y as usize];
                }
                let turned = rule.link(&Votes::hard(pairs, v.x_sizes.clone(), y_sizes)).unwrap();
                for (a, b) in bridge.links.iter().zip(&turned.links) {
                    let mut from: Vec<u32> = a.targets.iter().map(|t| renumber(t.cluster)).collect();
                    let mut to: Vec<u32> = b.targets.iter().map(|t| t.cluster).collect();
                    from.sort_unstable();
                    to.sort_unstable();
                    prop_assert_eq!(from, to, "{:?}", rule);
                    prop_assert_eq!(a.status, b.status);
                }
            }
        }
    }
}
