//! A model as a weighted list of members, for whoever does not know the number of clusters.
//!
//! ```text
//! ŷ(x) = ȳ + Σ_m v_m Σ_i p_m(i|x) Σ_j P_m(j|i) (m_j − ȳ)          links between clusterings
//!          + Σ_r v_r Σ_s K_r(x, x_s) a_rs                          regression on the pairs
//!          + Σ_q v_q Σ_n w_q(n|x) (y_n − ȳ)                        rows matched with rows
//! v ≥ 0, Σ v ≤ 1
//! ```
//!
//! Both pools are cut at several levels of detail, k = √n · {½, 1, 2}, by balanced and by plain k-means.
//! Every pair of cuts up to √n is linked by what the pairs say with the [`geometry`] of both pools as a prior; the one
//! that is read also by the pairs alone. A [`rotation`] of one pool onto the other carries the links to single
//! rows, [`walk`]s on the graph of each pool carry the pairs to rows far from them, and four kernel regressions
//! on the pairs take over as pairs become many.
//! How much each member counts is learned by [`stack`]ing what they say of pairs that were left out; with few
//! pairs it is the prior, which prefers coarse cuts. No single number of clusters has to be right.
//!
//! | file | idea |
//! |---|---|
//! | `partition.rs` | one cut of one pool: memberships, means |
//! | `geometry.rs` | how alike centroids are, and how alike they are to the pairs |
//! | `chain.rs` | links by a Markov chain over maps, one-to-one or many-to-one |
//! | `nodes.rs` | rows that stand for a pool where rows are matched with rows |
//! | `rotation.rs` `walk.rs` | how well two rows match |
//! | `matching.rs` | the mean of the rows that match |
//! | `kernel.rs` | kernels on rows and on memberships, and ridge regression with them |
//! | `stack.rs` | how much each member counts |
//! | `partnerless.rs` | clusters whose partner is missing |
//! | `learn.rs` | all of this, from two sides and their pairs |
//! | `answer.rs` | values for rows |
//! | `looks.rs` | how the rows of one pool look on the other side, where it is known and where not |
//! | `rank.rs` | the real rows of the other pool that belong to a row best |
//!
//! The clustering that a person reads, the model's own sides, is one of the cuts.

mod answer;
mod chain;
mod geometry;
mod kernel;
mod learn;
mod looks;
mod matching;
mod nodes;
mod partition;
mod partnerless;
mod rank;
mod rotation;
mod stack;
mod walk;

pub(crate) use answer::Together;
pub(crate) use kernel::Kernel;
pub(crate) use learn::{Input, Levels, OnPairs};
pub(crate) use matching::{By, Matching};
pub(crate) use nodes::Nodes;
pub(crate) use partition::{Cut, Partition};
pub(crate) use rank::Ranker;
pub(crate) use walk::WALKS;

use bridged_math::Matrix;

/// What several clusterings and regressions learned together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ensemble {
    pub x: EnsembleSide,
    pub y: EnsembleSide,
    pub forward: Stack,
    pub reverse: Stack,
}

/// What one side adds to the clustering that is read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EnsembleSide {
    /// The other cuts of the pool.
    pub partitions: Vec<Partition>,
    /// The rows of the pairs that were learned from, scaled, one per pair.
    pub paired: Matrix,
    /// The rows that stand for it where rows are matched; none without such members.
    pub nodes: Option<Nodes>,
}

/// The members of one direction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stack {
    pub bridges: Vec<BridgeMember>,
    pub regressions: Vec<Regression>,
    pub matchings: Vec<Matching>,
}

/// Links between a cut of the input pool and the cut of the output pool that belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BridgeMember {
    /// Which cut: 0 is the clustering that is read.
    pub partition: usize,
    /// Whether geometry had a say.
    pub geometry: bool,
    /// P(j|i), (kx, ky).
    pub links: Vec<f64>,
    /// v.
    pub weight: f64,
}

/// A kernel regression on the pairs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Regression {
    pub kernel: Kernel,
    /// a_s, one row per pair, in the units of the data.
    pub coefficients: Matrix,
    /// v.
    pub weight: f64,
}

/// A member of a model, and how much of its predictions it stands for.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MemberShare {
    /// What it is.
    pub member: String,
    /// Its clusters on the input side; `None` for one that has none.
    pub clusters: Option<usize>,
    /// Whether it is read off the clusters of the printed table.
    pub shown: bool,
    /// Its share of the prediction, 0 to 1. What is missing to 1 is the mean of the pool.
    pub weight: f64,
}

impl Stack {
    /// The members with their shares; `clusters` are those of each cut of the input pool.
    pub fn shares(&self, clusters: &[usize], balanced: &[bool]) -> Vec<MemberShare> {
        let bridge = |m: &BridgeMember| MemberShare {
            member: format!(
                "{}, {}",
                if balanced[m.partition] { "balanced clusters" } else { "plain clusters" },
                if m.geometry { "pairs and geometry" } else { "pairs alone" }
            ),
            clusters: Some(clusters[m.partition]),
            shown: m.partition == 0,
            weight: m.weight,
        };
        let regression = |r: &Regression| MemberShare {
            member: format!("regression, {}", r.kernel.about()),
            clusters: None,
            shown: false,
            weight: r.weight,
        };
        let matching = |m: &Matching| MemberShare {
            member: m.by.about(),
            clusters: None,
            shown: false,
            weight: m.weight,
        };
        let bridges = self.bridges.iter().map(bridge);
        let regressions = self.regressions.iter().map(regression);
        bridges.chain(regressions).chain(self.matchings.iter().map(matching)).collect()
    }
}
