//! One direction of a model: from the clusters of one side to values of the other.

use crate::bridge::{Bridge, Link, LinkStatus, Means, PairVote, Reading, Target};
use crate::cluster::NOISE;
use crate::confidence::{Confidence, Expected};
use crate::leave_one_out::LeaveOneOut;
use crate::refine::{Anchor, LocalMap, RefineKind};
use crate::residual::{Residual, to_f32};
use crate::side::Side;
use crate::spec::Uncovered;
use bridged_math::distance::squared_distance;
use bridged_math::{Matrix, MatrixRef, chunks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Predicts `to` from `from`.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// What the votes say.
    pub bridge: Bridge,
    /// How predictions read it.
    pub reading: Reading,
    /// What is predicted: one answer for each input cluster, then those for noise.
    pub answers: Vec<Answer>,
    /// Cluster-wise maps by (input cluster, output cluster).
    pub maps: BTreeMap<(u32, u32), LocalMap>,
    /// The map of what the bridge leaves unexplained.
    pub residual: Option<Residual>,
    /// How far predictions follow the maps.
    pub alpha: f64,
    /// How well the pairs predict each other; `None` with fewer than two.
    pub check: Option<LeaveOneOut>,
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
fn nearest_linked(bridge: &Bridge, centroids: &Matrix, point: &[f32]) -> Option<u32> {
    let linked = (0..bridge.links.len()).filter(|&a| !bridge.links[a].targets.is_empty());
    let away = |a: &usize| squared_distance(point, centroids.row(*a));
    linked.min_by(|a, b| away(a).total_cmp(&away(b))).map(|a| a as u32)
}

/// All answers of a route: k for the clusters, one for noise, k for noise answered by a cluster.
pub(crate) fn answers(bridge: &Bridge, uncovered: Uncovered, from: &Side) -> Vec<Answer> {
    let k = bridge.links.len() as u32;
    let of_clusters = (0..k).map(|a| Answer::of(bridge, a, uncovered, from));
    let of_noise = std::iter::once(Answer::of(bridge, NOISE, uncovered, from));
    let by_nearest = bridge
        .links
        .iter()
        .enumerate()
        .map(|(a, link)| Answer::by(link, LinkStatus::Noise, Source::Nearest(a as u32)));
    of_clusters.chain(of_noise).chain(by_nearest).collect()
}

/// The pairs of a fit from one direction: rows in the space of the maps, and votes.
pub(crate) struct Examples<'a> {
    /// Scaled inputs, one row a pair.
    pub from: MatrixRef<'a>,
    /// Outputs in the units of the data, one row a pair.
    pub to: MatrixRef<'a>,
    /// Their clusters.
    pub votes: &'a [PairVote],
}

/// The map of one pair of clusters, fitted without the pair `left_out`.
pub(crate) fn local_map(
    kind: RefineKind,
    ridge: f64,
    anchor: Anchor<'_>,
    cell: (u32, u32),
    examples: &Examples<'_>,
    left_out: Option<usize>,
    centroids: &[(Vec<f32>, Vec<f32>)],
) -> Option<LocalMap> {
    if matches!(kind, RefineKind::None | RefineKind::Residual) {
        return None;
    }
    let in_cell =
        |s: &usize| Some(*s) != left_out && (examples.votes[*s].x, examples.votes[*s].y) == cell;
    let mut chosen: Vec<(&[f32], &[f32])> = (0..examples.votes.len())
        .filter(in_cell)
        .map(|s| (examples.from.row(s), examples.to.row(s)))
        .collect();
    if kind == RefineKind::SupervisedCentroid {
        chosen.extend(centroids.iter().map(|(a, b)| (&a[..], &b[..])));
    }
    LocalMap::fit(anchor, &chosen, ridge)
}

/// The linked centroids of every linked cluster: inputs in scaled space, outputs blended from
/// `values`, the means of the output clusters in data units.
pub(crate) fn centroid_pairs(
    bridge: &Bridge,
    from: &Side,
    values: &Matrix,
) -> Vec<(Vec<f32>, Vec<f32>)> {
    bridge
        .links
        .iter()
        .enumerate()
        .filter(|(_, link)| !link.targets.is_empty())
        .map(|(a, link)| {
            let centroid = from.clustering.centroids.row(a).to_vec();
            (centroid, blend(&link.targets, values))
        })
        .collect()
}

/// Σ_j w_j · row j.
pub(crate) fn blend(targets: &[Target], values: &Matrix) -> Vec<f32> {
    if let [only] = targets {
        return values.row(only.cluster as usize).to_vec(); // exactly the centroid, no rounding
    }
    let mut sum = vec![0.0f64; values.cols()];
    for t in targets {
        for (s, &v) in sum.iter_mut().zip(values.row(t.cluster as usize)) {
            *s += t.weight * f64::from(v);
        }
    }
    sum.into_iter().map(|v| v as f32).collect()
}

impl Route {
    /// Values for rows (already scaled) that lie in the given input clusters, the position of each
    /// row's answer, and how sure it is.
    pub(crate) fn predict(
        &self,
        from: &Side,
        to: &Side,
        scaled: MatrixRef<'_>,
        clusters: &[u32],
        uncovered: Uncovered,
    ) -> (Matrix, Vec<(u32, Confidence)>) {
        let k = from.k() as u32;
        let expected = self.expected(to);
        let of_answers: Vec<Confidence> =
            self.answers.iter().map(|a| expected.of(&dense(&a.targets, to.k()))).collect();
        let bases: Vec<Vec<f32>> = self
            .answers
            .iter()
            .map(|answer| match answer.source {
                Source::Abstain => vec![f32::NAN; to.cols()],
                _ if answer.targets.is_empty() => to.mean.clone(),
                _ => blend(&answer.targets, &to.values),
            })
            .collect();
        let answer_of = |i: usize| match clusters[i] {
            NOISE if uncovered == Uncovered::Nearest => {
                nearest_linked(&self.bridge, &from.clustering.centroids, scaled.row(i))
                    .map_or(k, |a| k + 1 + a)
            }
            NOISE => k,
            cluster => cluster,
        };
        let mixed = self.mixed(to);
        let mut values = Matrix::zeros(clusters.len(), to.cols());
        let positions = chunks::map_blocks_mut(values.data_mut(), to.cols(), |range, out| {
            let mut positions = Vec::with_capacity(range.len());
            for (i, row) in range.zip(out.chunks_exact_mut(to.cols())) {
                let position = answer_of(i);
                let answer = &self.answers[position as usize];
                let confidence = match self.reading {
                    Reading::Mixture { temperature, .. } if answer.source == Source::Link => {
                        let (clustering, label) = (&from.clustering, clusters[i]);
                        let mut members = Vec::with_capacity(mixed.len());
                        let x = scaled.row(i);
                        from.blur.push_members(clustering, x, label, temperature, &mut members);
                        mix(&members, &mixed, row);
                        expected.of(&self.shares(&members, to.k()))
                    }
                    _ => {
                        row.copy_from_slice(&bases[position as usize]);
                        of_answers[position as usize]
                    }
                };
                self.refine(from, to, scaled.row(i), clusters[i], answer, row);
                positions.push((position, confidence));
            }
            positions
        });
        (values, positions.concat())
    }

    /// Σ_i p_i P(j|i).
    fn shares(&self, members: &[f64], k: usize) -> Vec<f64> {
        let mut shares = vec![0.0; k];
        for (p, link) in members.iter().zip(&self.bridge.links).filter(|(p, _)| **p > 0.0) {
            link.targets.iter().for_each(|t| shares[t.cluster as usize] += p * t.weight);
        }
        shares
    }

    /// What expected errors of this direction are computed from.
    fn expected(&self, to: &Side) -> Expected {
        let means = match self.reading {
            Reading::Cluster => Means::Plain,
            Reading::Mixture { means, .. } => means,
        };
        let scores = self.check.as_ref().map_or(&[][..], |c| &c.scores);
        Expected::new(to, means).calibrated(scores)
    }

    /// What each input cluster is answered with where rows belong to several, (kx, d'):
    /// Σ_j P(j|i) (m + kept_j (μ_j − m)).
    fn mixed(&self, to: &Side) -> Vec<Vec<f64>> {
        let Reading::Mixture { means, .. } = self.reading else { return Vec::new() };
        let kept = to.blur.kept(means);
        let mix = |link: &Link| {
            let shares = link.targets.iter().map(|t| (t.cluster as usize, t.weight));
            towards(&to.mean, shares.map(|(j, w)| (to.values.row(j), w * kept[j])))
        };
        self.bridge.links.iter().map(mix).collect()
    }

    /// Adds α Σ_j w_j (f_ij(x) − μ_j), and α g(x).
    fn refine(
        &self,
        from: &Side,
        to: &Side,
        x: &[f32],
        cluster: u32,
        answer: &Answer,
        value: &mut [f32],
    ) {
        if self.alpha == 0.0 || answer.source == Source::Abstain {
            return;
        }
        if let Some(map) = &self.residual {
            for (v, o) in value.iter_mut().zip(map.offset(x)) {
                *v = to_f32(f64::from(*v) + self.alpha * o);
            }
        }
        for t in &answer.targets {
            if let Some(map) = self.maps.get(&(cluster, t.cluster)) {
                let offset = map.offset(anchor(from, to, cluster, t.cluster), x);
                for (v, o) in value.iter_mut().zip(offset) {
                    *v += (self.alpha * t.weight * o) as f32;
                }
            }
        }
    }
}

/// The weight of each of k clusters; empty where there is no target.
pub(crate) fn dense(targets: &[Target], k: usize) -> Vec<f64> {
    let mut weights = vec![0.0; if targets.is_empty() { 0 } else { k }];
    targets.iter().for_each(|t| weights[t.cluster as usize] = t.weight);
    weights
}

/// m + Σ_j w_j (μ_j − m) for values μ_j with their weights.
pub(crate) fn towards<'a>(
    mean: &[f32],
    shares: impl Iterator<Item = (&'a [f32], f64)>,
) -> Vec<f64> {
    let mut sum: Vec<f64> = mean.iter().map(|&m| f64::from(m)).collect();
    for (value, weight) in shares {
        for (s, (&v, &m)) in sum.iter_mut().zip(value.iter().zip(mean)) {
            *s += weight * (f64::from(v) - f64::from(m));
        }
    }
    sum
}

/// Σ_i p_i · row i.
fn mix(members: &[f64], rows: &[Vec<f64>], out: &mut [f32]) {
    let mut sum = vec![0.0; out.len()];
    for (p, row) in members.iter().zip(rows).filter(|(p, _)| **p > 0.0) {
        sum.iter_mut().zip(row).for_each(|(s, v)| *s += p * v);
    }
    out.iter_mut().zip(sum).for_each(|(o, s)| *o = to_f32(s));
}

/// Where the map between two clusters is anchored.
pub(crate) fn anchor<'a>(from: &'a Side, to: &'a Side, i: u32, j: u32) -> Anchor<'a> {
    Anchor {
        from: from.clustering.centroids.row(i as usize),
        radius: from.radii[i as usize],
        to: to.values.row(j as usize),
    }
}
