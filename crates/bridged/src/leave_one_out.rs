//! How well the pairs predict each other: each in turn is left out of the vote and predicted.
//!
//! Beside it stand the two constants that anybody could predict without a model: the mean of the
//! output pool, and the mean of the other paired outputs. The clusterings are kept, since they
//! never see which rows belong together; but the row that is left out is taken out of all means
//! that predict it (unless pairs are apart: then it never was in them).
//!
//! The error is the mean squared error over all entries. A prediction with refinement is linear in
//! α, so the error is a parabola in α and its best α in [0, 1] is known in closed form.

use crate::bridge::{BridgeRule, Means, Reading, Votes};
use crate::confidence::Expected;
use crate::refine::{Alpha, Anchor, Refine, RefineKind};
use crate::residual::Residual;
use crate::route::{Answer, Examples, Source, blend, centroid_pairs, dense, local_map, towards};
use crate::side::Side;
use crate::spec::{BridgedClustering, PairRows};
use bridged_math::Matrix;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// With more pairs than this, so many of them, evenly spaced, are left out in turn.
const MOST: usize = 500;

/// Errors of predicting each pair from the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaveOneOut {
    /// Pairs that were left out in turn.
    pub pairs: usize,
    /// Those for which there was an answer; the errors are over these.
    pub answered: usize,
    /// Mean squared error of the bridge.
    pub bridge: f64,
    /// Mean squared error of the mean of the output pool.
    pub pool_mean: f64,
    /// Mean squared error of the mean of the other paired outputs.
    pub paired_mean: f64,
    /// Squared error ÷ expected squared error of each answered pair, ascending.
    #[serde(default)]
    pub scores: Vec<f64>,
    /// How much likelier its output is by the other pairs than by chance, of each pair that was left
    /// out; of rules that know every link. Below 1 it contradicts them.
    #[serde(default)]
    pub agreement: Vec<f64>,
}

impl LeaveOneOut {
    /// The better of the two constants: its name and its error.
    pub fn best_constant(&self) -> (&'static str, f64) {
        if self.paired_mean < self.pool_mean {
            ("the mean of the paired rows", self.paired_mean)
        } else {
            ("the mean of the pool", self.pool_mean)
        }
    }
}

/// What all trials showed: the errors, the α that was used or chosen, and the map of what the bridge
/// leaves unexplained.
pub(crate) struct Checked {
    pub check: LeaveOneOut,
    pub alpha: f64,
    pub residual: Option<Residual>,
}

/// What leaving one pair out showed.
struct Trial {
    pair: usize,
    // What the bridge says and by how much the maps would change it; `None` if there was no answer.
    said: Option<Said>,
    pool_mean: f64,
    paired_mean: f64,
}

struct Said {
    error: Vec<f64>,  // y − base
    offset: Vec<f64>, // f − base
    expected: f64,    // the expected squared error of an entry
}

impl Said {
    /// The squared error with α of the offset ÷ what was expected.
    fn score(&self, alpha: f64) -> f64 {
        let left = |(e, o): (&f64, &f64)| (e - alpha * o).powi(2);
        let squared: f64 = self.error.iter().zip(&self.offset).map(left).sum();
        let entries = self.error.len().max(1) as f64;
        if self.expected > 0.0 { squared / entries / self.expected } else { 0.0 }
    }
}

/// The pairs that are left out in turn.
pub(crate) fn left_out(pairs: usize) -> Vec<usize> {
    match pairs {
        0 | 1 => Vec::new(),
        2..=MOST => (0..pairs).collect(),
        _ => (0..MOST).map(|i| i * pairs / MOST).collect(),
    }
}

/// Checks a direction with what each pair of [`left_out`] is answered without it; `None` with fewer
/// than two pairs.
pub(crate) fn leave_one_out(
    spec: &BridgedClustering,
    votes: &Votes,
    from: &Side,
    to: &Side,
    examples: &Examples<'_>,
    held_out: &[Vec<f64>],
) -> Option<Checked> {
    let chosen = left_out(votes.pairs.len());
    if chosen.is_empty() {
        return None;
    }
    let paired_sum = column_sums(examples.to.data(), to.cols());
    let means = match spec.bridge.reading() {
        Reading::Cluster => Means::Plain,
        Reading::Mixture { means, .. } => means,
    };
    let expected = Expected::new(to, means);
    let shares = |at: usize| held_out.get(at).map_or(&[][..], |w| w);
    let mut trials: Vec<Trial> = chosen
        .par_iter()
        .enumerate()
        .map(|(at, &pair)| {
            let task = Task { spec, votes, from, to, examples, expected: &expected };
            task.trial(&paired_sum, pair, shares(at))
        })
        .collect();
    let residual = match spec.refine.kind {
        RefineKind::Residual => learn(&mut trials, from, examples, spec.refine.ridge),
        _ => None,
    };

    let mut sums = [0.0f64; 3];
    let (mut answered, mut pool_mean, mut paired_mean) = (0usize, 0.0, 0.0);
    for t in &trials {
        if let Some(Said { error, offset, .. }) = &t.said {
            sums[0] += dot(error, error);
            sums[1] -= 2.0 * dot(error, offset);
            sums[2] += dot(offset, offset);
            answered += 1;
            pool_mean += t.pool_mean;
            paired_mean += t.paired_mean;
        }
    }
    // A prior α = 0, worth λ pairs, for a map that is not tied to clusters.
    let belief = match spec.refine.kind {
        RefineKind::Residual => answered as f64 / (answered as f64 + spec.refine.ridge),
        _ => 1.0,
    };
    let alpha = match spec.refine.alpha {
        Alpha::Fixed(alpha) => alpha,
        // Two errors can agree by luck on any α; three are the least that argue with each other.
        Alpha::Auto if sums[2] > 0.0 && answered >= 3 => {
            belief * (-0.5 * sums[1] / sums[2]).clamp(0.0, 1.0)
        }
        Alpha::Auto => 0.0,
    };
    let mut scores: Vec<f64> =
        trials.iter().filter_map(|t| t.said.as_ref()).map(|s| s.score(alpha)).collect();
    scores.sort_by(f64::total_cmp);
    let entries = (answered.max(1) * to.cols()) as f64;
    let check = LeaveOneOut {
        pairs: trials.len(),
        answered,
        bridge: (sums[0] + alpha * sums[1] + alpha * alpha * sums[2]) / entries,
        pool_mean: pool_mean / entries,
        paired_mean: paired_mean / entries,
        scores,
        agreement: chosen.iter().zip(held_out).map(|(&s, w)| votes.agreement(s, w)).collect(),
    };
    Some(Checked { check, alpha, residual })
}

/// Learns what the trials left unexplained, and notes what each pair would be told by the others.
fn learn(
    trials: &mut [Trial],
    from: &Side,
    examples: &Examples<'_>,
    ridge: f64,
) -> Option<Residual> {
    let answered: Vec<&mut Trial> = trials.iter_mut().filter(|t| t.said.is_some()).collect();
    let inputs = examples.from.select(answered.iter().map(|t| t.pair));
    let errors: Vec<f64> =
        answered.iter().flat_map(|t| &t.said.as_ref().expect("answered").error).copied().collect();
    let learned = Residual::fit(from.origin(), from.radius(), inputs.view(), &errors, ridge)?;
    let width = errors.len() / answered.len();
    for (trial, offset) in answered.into_iter().zip(learned.left_out.chunks_exact(width)) {
        trial.said.as_mut().expect("answered").offset = offset.to_vec();
    }
    Some(learned.map)
}

/// What every trial sees.
#[derive(Clone, Copy)]
struct Task<'a> {
    spec: &'a BridgedClustering,
    votes: &'a Votes,
    from: &'a Side,
    to: &'a Side,
    examples: &'a Examples<'a>,
    expected: &'a Expected,
}

impl Task<'_> {
    fn trial(self, paired_sum: &[f64], pair: usize, shares: &[f64]) -> Trial {
        let Self { spec, votes, to, examples, expected, .. } = self;
        let vote = votes.pairs[pair];
        let truth = examples.to.row(pair);
        let pool_rows = to.clustering.labels.len() as f64;
        let (mean, values) = match spec.pair_rows {
            PairRows::Pooled => {
                (without_row(&to.mean, pool_rows, truth), values_without(to, vote.y, truth))
            }
            PairRows::Apart => (to.mean.clone(), to.values.clone()),
        };
        let others = (examples.votes.len() - 1) as f64;
        let paired: Vec<f32> = paired_sum
            .iter()
            .zip(truth)
            .map(|(s, &y)| ((s - f64::from(y)) / others) as f32)
            .collect();
        let said = match spec.bridge.reading() {
            Reading::Mixture { means, .. } => {
                let kept = to.blur.kept(means);
                let used = shares.iter().enumerate().filter(|(_, w)| **w > 0.0);
                let base = towards(&mean, used.map(|(j, w)| (values.row(j), w * kept[j])));
                let error: Vec<f64> =
                    truth.iter().zip(base).map(|(&y, b)| f64::from(y) - b).collect();
                let (offset, expected) = (vec![0.0; error.len()], expected.of(shares).error);
                Some(Said { error, offset, expected })
            }
            Reading::Cluster => self.by_cluster(&mean, &values, pair),
        };
        Trial {
            pair,
            said,
            pool_mean: squared_error(&mean, truth),
            paired_mean: squared_error(&paired, truth),
        }
    }

    /// What the cluster of a pair is answered with, from the other pairs.
    fn by_cluster(self, mean: &[f32], values: &Matrix, pair: usize) -> Option<Said> {
        let Self { spec, votes, from, to, examples, expected } = self;
        let (vote, truth, input) =
            (votes.pairs[pair], examples.to.row(pair), examples.from.row(pair));
        let bridge = spec.bridge.link(&votes.without(pair));
        let answer = Answer::of_row(&bridge, vote.x, input, spec.uncovered, from);
        if answer.source == Source::Abstain {
            return None;
        }
        let error = |base: &[f32]| -> Vec<f64> {
            truth.iter().zip(base).map(|(&y, &b)| f64::from(y) - f64::from(b)).collect()
        };
        let mut offset = vec![0.0f64; truth.len()];
        let expected = expected.of(&dense(&answer.targets, to.k())).error;
        if answer.targets.is_empty() {
            return Some(Said { error: error(mean), offset, expected });
        }
        let centroids = centroid_pairs(&bridge, from, values);
        // A cluster that borrows another's answer has no map of its own.
        let own = if answer.source == Source::Link { &answer.targets[..] } else { &[] };
        for t in own {
            let anchor = Anchor {
                from: from.clustering.centroids.row(vote.x as usize),
                radius: from.radii[vote.x as usize],
                to: values.row(t.cluster as usize),
            };
            let cell = (vote.x, t.cluster);
            let Refine { kind, ridge, .. } = spec.refine;
            if let Some(map) =
                local_map(kind, ridge, anchor, cell, examples, Some(pair), &centroids)
            {
                for (o, f) in offset.iter_mut().zip(map.offset(anchor, input)) {
                    *o += t.weight * f;
                }
            }
        }
        Some(Said { error: error(&blend(&answer.targets, values)), offset, expected })
    }
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

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn column_sums(data: &[f32], cols: usize) -> Vec<f64> {
    let mut sums = vec![0.0; cols];
    for row in data.chunks_exact(cols) {
        sums.iter_mut().zip(row).for_each(|(s, &v)| *s += f64::from(v));
    }
    sums
}
