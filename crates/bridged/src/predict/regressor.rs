//! One direction of a model: from the clusters of one side to values of the other.

use super::answer::{Answer, AnswerOf, Answers, ForAnswers, Source, nearest_linked};
use super::expected_error::{ExpectedErrors, Likeliest};
use super::mixture::Mixture;
use crate::bridge::{Bridge, Reading, Target};
use crate::check::LeaveOneOut;
use crate::cluster::NOISE;
use crate::cluster::soft::BAND;
use crate::fit::local_map::{Anchor, LocalMap, blend};
use crate::fit::residual_map::{ResidualBands, ResidualMap, to_f32};
use crate::settings::Uncovered;
use crate::side::Side;
use bridged_math::{Matrix, MatrixRef, chunks};
use std::collections::BTreeMap;
use std::sync::Arc;

/// From this probability on a cluster is taken to have no partner.
pub(crate) const ALONE: f64 = 0.5;

/// Predicts one side from the other: links, answers, maps.
#[derive(Clone, Debug, PartialEq)]
pub struct Regressor {
    pub(crate) bridge: Bridge,
    pub(crate) reading: Reading,
    pub(crate) answers: Answers,
    pub(crate) maps: BTreeMap<(u32, u32), LocalMap>,
    pub(crate) residual: Option<ResidualMap>,
    pub(crate) alpha: f64,
    pub(crate) sureness: f64,
    /// For each input cluster the probability that it has no partner; empty of a model of one member.
    pub(crate) partnerless: Vec<f64>,
    pub(crate) check: Option<LeaveOneOut>,
}

/// The predicted values of rows, the answer that each gets, and how sure it is.
pub(super) struct Predicted {
    pub values: Matrix,
    pub rows: Vec<(AnswerOf, Likeliest)>,
}

impl Regressor {
    /// What the votes say: one link for each input cluster.
    pub fn bridge(&self) -> &Bridge {
        &self.bridge
    }

    /// What each input cluster is answered with.
    pub fn answers(&self) -> &[Answer] {
        self.answers.clusters()
    }

    /// Cluster-wise maps by (input cluster, output cluster).
    pub fn maps(&self) -> &BTreeMap<(u32, u32), LocalMap> {
        &self.maps
    }

    /// The map of what the bridge leaves unexplained.
    pub fn residual(&self) -> Option<&ResidualMap> {
        self.residual.as_ref()
    }

    /// How far predictions follow the maps, 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// How well the pairs predict each other; `None` with fewer than two.
    pub fn leave_one_out(&self) -> Option<&LeaveOneOut> {
        self.check.as_ref()
    }

    /// For each input cluster the probability that no output cluster belongs to it; empty of a model of one
    /// member, which does not ask.
    pub fn partnerless(&self) -> &[f64] {
        &self.partnerless
    }

    /// How likely a row with these memberships lies in a cluster that is taken to have no partner.
    pub(crate) fn alone(&self, members: &[f64]) -> f64 {
        self.taken_alone().map(|(i, q)| members[i] * q).sum()
    }

    /// The clusters that are taken to have no partner, and the probability of it.
    pub(super) fn taken_alone(&self) -> impl Iterator<Item = (usize, f64)> {
        self.partnerless.iter().copied().enumerate().filter(|(_, q)| *q > ALONE)
    }

    /// Whether its bridge knows how likely its links are.
    pub fn knows_probabilities(&self) -> bool {
        self.bridge.reliability.is_some()
    }

    /// The scores of the pairs that were left out, ascending.
    pub(crate) fn scores(&self) -> &[f64] {
        self.check.as_ref().map_or(&[][..], |c| &c.scores)
    }

    /// The same made ready to predict rows, of sides that it belongs to.
    pub(super) fn ready<'a>(
        &'a self,
        from: &'a Side,
        to: &'a Side,
        uncovered: Uncovered,
    ) -> ReadyRegressor<'a> {
        let expected = Arc::new(self.expected(to));
        let bases = self.answers.map(|answer| match answer.source {
            Source::Abstain => vec![f32::NAN; to.cols()],
            _ if answer.targets.is_empty() => to.mean.clone(),
            _ => blend(&answer.targets, &to.values),
        });
        ReadyRegressor {
            regressor: self,
            from,
            to,
            uncovered,
            sure: self.answers.map(|a| expected.of(&dense(&a.targets, to.k()))),
            bases,
            mixture: Mixture::new(self, from, to, &expected),
            residual: self.residual.as_ref().filter(|_| self.alpha != 0.0).map(ResidualBands::new),
        }
    }

    /// How sure rows are that are answered as every row of each cluster is.
    pub(super) fn likeliest_of_clusters(&self, to: &Side) -> Vec<Likeliest> {
        let expected = self.expected(to);
        let of = |(i, answer): (usize, &Answer)| {
            let mut likeliest = expected.of(&dense(&answer.targets, to.k()));
            let alone = self.partnerless.get(i).copied().filter(|q| *q > ALONE);
            likeliest.probability *= 1.0 - alone.unwrap_or(0.0);
            likeliest
        };
        self.answers().iter().enumerate().map(of).collect()
    }

    /// What expected errors of this direction are computed from.
    fn expected(&self, to: &Side) -> ExpectedErrors {
        ExpectedErrors::new(to, self.reading.means())
            .calibrated(self.scores())
            .believed(self.sureness)
    }

    /// Adds α Σ_j w_j (f_ij(x) − μ_j).
    fn refine(
        &self,
        from: &Side,
        to: &Side,
        x: &[f32],
        cluster: u32,
        answer: &Answer,
        value: &mut [f32],
    ) {
        if self.alpha == 0.0 || self.maps.is_empty() {
            return;
        }
        for t in &answer.targets {
            if let Some(map) = self.maps.get(&(cluster, t.cluster)) {
                let offset = map.offset(Anchor::between(from, to, cluster, t.cluster), x);
                for (v, o) in value.iter_mut().zip(offset) {
                    *v += (self.alpha * t.weight * o) as f32;
                }
            }
        }
    }
}

/// A regressor with everything made that does not depend on the rows.
pub(super) struct ReadyRegressor<'a> {
    regressor: &'a Regressor,
    from: &'a Side,
    to: &'a Side,
    uncovered: Uncovered,
    /// How sure each answer is that has no memberships.
    sure: ForAnswers<Likeliest>,
    /// And its value.
    bases: ForAnswers<Vec<f32>>,
    mixture: Option<Mixture<'a>>,
    residual: Option<ResidualBands<'a>>,
}

impl ReadyRegressor<'_> {
    /// Predicts rows (already scaled) that lie in the given input clusters.
    pub fn predict(&self, scaled: MatrixRef<'_>, clusters: &[u32]) -> Predicted {
        let Self { regressor, from, to, .. } = *self;
        let answered_by = |i: usize| match clusters[i] {
            NOISE if self.uncovered == Uncovered::Nearest => {
                nearest_linked(&regressor.bridge, &from.clustering.centroids, scaled.row(i))
                    .map_or(AnswerOf::Noise, AnswerOf::NoiseNear)
            }
            NOISE => AnswerOf::Noise,
            cluster => AnswerOf::Cluster(cluster),
        };
        let mut values = Matrix::zeros(clusters.len(), to.cols());
        let cols = to.cols();
        let rows = chunks::map_blocks_mut(values.data_mut(), cols, |range, out| {
            let mut rows = Vec::with_capacity(range.len());
            let mut bench = self.mixture.as_ref().map(Mixture::bench);
            for (start, out) in range.clone().step_by(BAND).zip(out.chunks_mut(BAND * cols)) {
                let band = start..(start + BAND).min(range.end);
                let mixed = self.mixture.as_ref().zip(bench.as_mut()).map(|(mixture, bench)| {
                    let (x, labels) = (scaled.slice(band.clone()), &clusters[band.clone()]);
                    mixture.answer(x, labels, bench, out)
                });
                let offsets =
                    self.residual.as_ref().map(|map| map.offsets(scaled.slice(band.clone())));
                for (i, row) in band.clone().zip(out.chunks_exact_mut(cols)) {
                    let answer_of = answered_by(i);
                    let answer = regressor.answers.get(answer_of);
                    let likeliest = match &mixed {
                        Some(mixed) if answer.source == Source::Link => mixed[i - start],
                        _ => {
                            row.copy_from_slice(self.bases.get(answer_of));
                            *self.sure.get(answer_of)
                        }
                    };
                    if answer.source != Source::Abstain {
                        if let Some(offsets) = &offsets {
                            let at = (i - start) * cols;
                            for (v, o) in row.iter_mut().zip(&offsets[at..at + cols]) {
                                *v = to_f32(f64::from(*v) + regressor.alpha * o);
                            }
                        }
                        regressor.refine(from, to, scaled.row(i), clusters[i], answer, row);
                    }
                    rows.push((answer_of, likeliest));
                }
            }
            rows
        });
        Predicted { values, rows: rows.concat() }
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
