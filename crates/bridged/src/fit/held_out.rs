//! What each pair is answered by the others.
//!
//! The clusterings are kept, since they never see which rows belong together; but the row that is
//! left out is taken out of all means that predict it (unless pairs are apart: then it never was in
//! them).

use super::local_map::{Anchor, Examples, blend, centroid_pairs, local_map};
use super::residual_map::ResidualMap;
use crate::Error;
use crate::bridge::{BridgeRule, Reading, Votes};
use crate::check::{Trial, TrialAnswer};
use crate::ensemble::OnPairs;
use crate::predict::{Answer, ExpectedErrors, Source, dense, towards};
use crate::settings::{BridgedClustering, PairRows};
use crate::side::Side;
use bridged_math::Matrix;
use bridged_math::cancel::carry;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// With more pairs than this, this many of them, evenly spaced, are left out in turn.
const MOST: usize = 500;

/// The pairs that are left out in turn; none if there is only one.
pub(crate) fn left_out(pairs: usize) -> Vec<usize> {
    match pairs {
        0 | 1 => Vec::new(),
        2..=MOST => (0..pairs).collect(),
        _ => (0..MOST).map(|i| i * pairs / MOST).collect(),
    }
}

/// What every trial sees.
#[derive(Clone, Copy)]
pub(super) struct HeldOutPairs<'a> {
    pub settings: &'a BridgedClustering,
    pub votes: &'a Votes,
    pub from: &'a Side,
    pub to: &'a Side,
    pub examples: &'a Examples<'a>,
}

impl HeldOutPairs<'_> {
    /// Predicts each of `pairs` from the others. `shares` are the weights of the output clusters
    /// that a rule with soft memberships gives each of them.
    pub fn predict(self, pairs: &[usize], shares: &[Vec<f64>]) -> Result<Vec<Trial>, Error> {
        let Self { settings, to, examples, .. } = self;
        let paired_sum = column_sums(examples.to.data(), to.cols());
        let expected = ExpectedErrors::new(to, settings.bridge.reading().means());
        let shares = |at: usize| shares.get(at).map_or(&[][..], |w| w);
        pairs
            .par_iter()
            .enumerate()
            .map(carry(|(at, &pair)| self.trial(&expected, &paired_sum, pair, shares(at))))
            .collect()
    }

    fn trial(
        self,
        expected: &ExpectedErrors,
        paired_sum: &[f64],
        pair: usize,
        shares: &[f64],
    ) -> Result<Trial, Error> {
        let Self { settings, votes, to, examples, .. } = self;
        let vote = votes.pairs[pair];
        let truth = examples.to.row(pair);
        let (mean, values) = match settings.pair_rows {
            PairRows::Pooled => {
                (without_row(&to.mean, to.len() as f64, truth), values_without(to, vote.y, truth))
            }
            PairRows::Apart => (to.mean.clone(), to.values.clone()),
        };
        let others = (examples.votes.len() - 1) as f64;
        let paired: Vec<f32> = paired_sum
            .iter()
            .zip(truth)
            .map(|(s, &y)| ((s - f64::from(y)) / others) as f32)
            .collect();
        let answer = match settings.bridge.reading() {
            Reading::Mixture { means, .. } => {
                let kept = means.kept(&to.spread);
                let used = shares.iter().enumerate().filter(|(_, w)| **w > 0.0);
                let base = towards(&mean, used.map(|(j, w)| (values.row(j), w * kept[j])));
                let error: Vec<f64> =
                    truth.iter().zip(base).map(|(&y, b)| f64::from(y) - b).collect();
                let (offset, expected) = (vec![0.0; error.len()], expected.of(shares).error);
                Some(TrialAnswer { error, offset, expected })
            }
            Reading::Cluster => self.by_cluster(expected, &mean, &values, pair)?,
        };
        Ok(Trial {
            pair,
            answer,
            pool_mean: squared_error(&mean, truth),
            paired_mean: squared_error(&paired, truth),
        })
    }

    /// What the cluster of a pair is answered with, from the other pairs.
    fn by_cluster(
        self,
        expected: &ExpectedErrors,
        mean: &[f32],
        values: &Matrix,
        pair: usize,
    ) -> Result<Option<TrialAnswer>, Error> {
        let Self { settings, votes, from, to, examples } = self;
        let (vote, truth, input) =
            (votes.pairs[pair], examples.to.row(pair), examples.from.row(pair));
        let bridge = settings.bridge.link(&votes.without(pair))?;
        let answer = Answer::of_row(&bridge, vote.x, input, settings.uncovered, from);
        if answer.source == Source::Abstain {
            return Ok(None);
        }
        let error = |base: &[f32]| -> Vec<f64> {
            truth.iter().zip(base).map(|(&y, &b)| f64::from(y) - f64::from(b)).collect()
        };
        let mut offset = vec![0.0f64; truth.len()];
        let expected = expected.of(&dense(&answer.targets, to.k())).error;
        if answer.targets.is_empty() {
            return Ok(Some(TrialAnswer { error: error(mean), offset, expected }));
        }
        let centroids = centroid_pairs(&bridge, from, values);
        // A cluster that borrows another's answer has no map of its own.
        let own = if answer.source == Source::Link { &answer.targets[..] } else { &[] };
        for t in own {
            let anchor = Anchor {
                to: values.row(t.cluster as usize),
                ..Anchor::between(from, to, vote.x, t.cluster)
            };
            let cell = (vote.x, t.cluster);
            let map = local_map(&settings.refine, anchor, cell, examples, Some(pair), &centroids);
            if let Some(map) = map {
                for (o, f) in offset.iter_mut().zip(map.offset(anchor, input)) {
                    *o += t.weight * f;
                }
            }
        }
        Ok(Some(TrialAnswer { error: error(&blend(&answer.targets, values)), offset, expected }))
    }
}

/// Puts what several members say of each pair in the place of what the links of one say; a pair that they were
/// not asked for is not answered.
pub(super) fn as_told(
    trials: &mut [Trial],
    told: &OnPairs,
    to: &Side,
    examples: &Examples<'_>,
    pair_rows: PairRows,
) {
    // A row that is left out is no part of the mean either: y − m⁻ = n / (n − 1) · (y − m).
    let n = to.len() as f64;
    let without = if pair_rows == PairRows::Pooled && n > 1.0 { n / (n - 1.0) } else { 1.0 };
    let place: BTreeMap<usize, usize> =
        told.pairs.iter().enumerate().map(|(at, &pair)| (pair, at)).collect();
    let cols = to.cols();
    for trial in trials {
        let Some(&at) = place.get(&trial.pair) else {
            trial.answer = None;
            continue;
        };
        let said = &told.said[at * cols..(at + 1) * cols];
        let truth = examples.to.row(trial.pair).iter().zip(&to.mean).zip(said);
        if let Some(answer) = &mut trial.answer {
            let error =
                |((y, m), s): ((&f32, &f32), &f64)| without * (f64::from(*y) - f64::from(*m)) - s;
            answer.error = truth.map(error).collect();
        }
    }
}

/// The outputs of some pairs less the mean of the pool, (pairs, cols).
pub(super) fn outputs(pairs: &[usize], to: &Side, examples: &Examples<'_>) -> Vec<f64> {
    let row = |&pair: &usize| {
        let row = examples.to.row(pair).iter().zip(&to.mean);
        row.map(|(&y, &m)| f64::from(y) - f64::from(m))
    };
    pairs.iter().flat_map(row).collect()
}

/// Learns what the trials left unexplained, and notes what each pair would be told by the others.
pub(super) fn learn_residual(
    trials: &mut [Trial],
    from: &Side,
    examples: &Examples<'_>,
    ridge: f64,
) -> Option<ResidualMap> {
    let mut answered: Vec<(usize, &mut TrialAnswer)> =
        trials.iter_mut().filter_map(|t| t.answer.as_mut().map(|a| (t.pair, a))).collect();
    let inputs = examples.from.select(answered.iter().map(|(pair, _)| *pair));
    let errors: Vec<f64> = answered.iter().flat_map(|(_, a)| &a.error).copied().collect();
    let learned = ResidualMap::fit(from.origin(), from.radius(), inputs.view(), &errors, ridge)?;
    let width = errors.len() / answered.len();
    for ((_, answer), offset) in answered.iter_mut().zip(learned.left_out.chunks_exact(width)) {
        answer.offset = offset.to_vec();
    }
    Some(learned.map)
}

/// The output clusters' means as they would be without one row of cluster `label`.
fn values_without(to: &Side, label: u32, row: &[f32]) -> Matrix {
    let mut values = to.values.clone();
    let Some(&size) = to.clustering.sizes.get(label as usize) else { return values };
    let mean = without_row(values.row(label as usize), f64::from(size), row);
    values.row_mut(label as usize).copy_from_slice(&mean);
    values
}

/// The mean of n rows as it would be without one of them; a lone row stays.
fn without_row(mean: &[f32], n: f64, row: &[f32]) -> Vec<f32> {
    if n <= 1.0 {
        return mean.to_vec();
    }
    let out = |(m, y): (&f32, &f32)| ((n * f64::from(*m) - f64::from(*y)) / (n - 1.0)) as f32;
    mean.iter().zip(row).map(out).collect()
}

fn squared_error(a: &[f32], b: &[f32]) -> f64 {
    bridged_math::distance::squared_distance(a, b)
}

fn column_sums(data: &[f32], cols: usize) -> Vec<f64> {
    let mut sums = vec![0.0; cols];
    for row in data.chunks_exact(cols) {
        sums.iter_mut().zip(row).for_each(|(s, &v)| *s += f64::from(v));
    }
    sums
}
