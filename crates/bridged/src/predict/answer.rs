//! What the rows of an input cluster are answered with: its link, the nearest one, the mean, nothing.

use crate::bridge::{Bridge, Link, LinkStatus, Target};
use crate::cluster::NOISE;
use crate::settings::Uncovered;
use crate::side::Side;
use bridged_math::Matrix;
use bridged_math::distance::squared_distance;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a row of one input cluster is answered with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Output clusters with weights that sum to 1; empty for the mean of the pool or for nothing.
    pub targets: Vec<Target>,
    /// How the link of the cluster was decided.
    pub status: LinkStatus,
    /// Where the answer comes from.
    pub source: Source,
    /// Pairs that voted for the targets.
    pub support: u32,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The link of the cluster.
    Link,
    /// The link of the nearest cluster that has one.
    Nearest(u32),
    /// The mean of the other pool.
    Mean,
    /// There is none.
    Abstain,
}

impl Answer {
    /// The answer of input cluster `cluster`, which may be [`NOISE`], of a `bridge` from `from`.
    pub(crate) fn of(bridge: &Bridge, cluster: u32, uncovered: Uncovered, from: &Side) -> Self {
        let Some(link) = bridge.links.get(cluster as usize) else {
            return Self::without_link(LinkStatus::Noise, uncovered);
        };
        if !link.targets.is_empty() {
            return Self::by(link, link.status, Source::Link);
        }
        let centroids = &from.clustering.centroids;
        let nearest = (uncovered == Uncovered::Nearest)
            .then(|| nearest_linked(bridge, centroids, centroids.row(cluster as usize)))
            .flatten();
        match nearest {
            Some(n) => Self::by(&bridge.links[n as usize], link.status, Source::Nearest(n)),
            None => Self::without_link(link.status, uncovered),
        }
    }

    /// The answer of one row: that of its cluster, except that noise may ask the linked cluster
    /// that is nearest to the row itself.
    pub(crate) fn of_row(
        bridge: &Bridge,
        cluster: u32,
        row: &[f32],
        uncovered: Uncovered,
        from: &Side,
    ) -> Self {
        let nearest = (cluster == NOISE && uncovered == Uncovered::Nearest)
            .then(|| nearest_linked(bridge, &from.clustering.centroids, row))
            .flatten();
        match nearest {
            Some(n) => Self::by(&bridge.links[n as usize], LinkStatus::Noise, Source::Nearest(n)),
            None => Self::of(bridge, cluster, uncovered, from),
        }
    }

    fn by(link: &Link, status: LinkStatus, source: Source) -> Self {
        Self { targets: link.targets.clone(), status, source, support: link.support }
    }

    fn without_link(status: LinkStatus, uncovered: Uncovered) -> Self {
        let source = if uncovered == Uncovered::Abstain { Source::Abstain } else { Source::Mean };
        Self { targets: Vec::new(), status, source, support: 0 }
    }
}

/// The linked cluster whose centroid is nearest to a point.
pub(super) fn nearest_linked(bridge: &Bridge, centroids: &Matrix, point: &[f32]) -> Option<u32> {
    let linked = (0..bridge.links.len()).filter(|&a| !bridge.links[a].targets.is_empty());
    let away = |a: &usize| squared_distance(point, centroids.row(*a));
    linked.min_by(|a, b| away(a).total_cmp(&away(b))).map(|a| a as u32)
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Link => f.write_str("link"),
            Source::Nearest(cluster) => write!(f, "nearest cluster {cluster}"),
            Source::Mean => f.write_str("mean"),
            Source::Abstain => f.write_str("abstain"),
        }
    }
}

/// Which answer a row gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerOf {
    /// That of its cluster.
    Cluster(u32),
    /// That of all rows outside the clusters.
    Noise,
    /// That of the linked cluster nearest to a row outside the clusters.
    NoiseNear(u32),
}

/// Every answer that a direction can give.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answers {
    clusters: Vec<Answer>,
    noise: Answer,
    noise_near: Vec<Answer>,
}

impl Answers {
    /// The answers of a bridge from `from`.
    pub fn new(bridge: &Bridge, uncovered: Uncovered, from: &Side) -> Self {
        let k = bridge.links.len() as u32;
        let near = |(a, link): (usize, &Link)| {
            Answer::by(link, LinkStatus::Noise, Source::Nearest(a as u32))
        };
        Self {
            clusters: (0..k).map(|a| Answer::of(bridge, a, uncovered, from)).collect(),
            noise: Answer::of(bridge, NOISE, uncovered, from),
            noise_near: bridge.links.iter().enumerate().map(near).collect(),
        }
    }

    /// The answer of each input cluster.
    pub fn clusters(&self) -> &[Answer] {
        &self.clusters
    }

    pub(super) fn get(&self, of: AnswerOf) -> &Answer {
        match of {
            AnswerOf::Cluster(a) => &self.clusters[a as usize],
            AnswerOf::Noise => &self.noise,
            AnswerOf::NoiseNear(a) => &self.noise_near[a as usize],
        }
    }

    /// Something for every answer, found by the same [`AnswerOf`].
    pub(super) fn map<T>(&self, f: impl Fn(&Answer) -> T) -> ForAnswers<T> {
        ForAnswers {
            clusters: self.clusters.iter().map(&f).collect(),
            noise: f(&self.noise),
            noise_near: self.noise_near.iter().map(&f).collect(),
        }
    }
}

/// One value for each of the [`Answers`].
pub(super) struct ForAnswers<T> {
    clusters: Vec<T>,
    noise: T,
    noise_near: Vec<T>,
}

impl<T> ForAnswers<T> {
    pub fn get(&self, of: AnswerOf) -> &T {
        match of {
            AnswerOf::Cluster(a) => &self.clusters[a as usize],
            AnswerOf::Noise => &self.noise,
            AnswerOf::NoiseNear(a) => &self.noise_near[a as usize],
        }
    }
}
