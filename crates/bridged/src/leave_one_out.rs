//! How well the pairs predict each other: each in turn is left out of the vote and predicted.
//!
//! Beside it stand the two constants that anybody could predict without a model: the mean of the
//! output pool, and the mean of the other paired outputs. The clusterings are kept, since they
//! never see which rows belong together; but the row that is left out is taken out of all means
//! that predict it (unless pairs are apart: then it never was in them).
//!
//! The error is the mean squared error over all entries. A prediction with refinement is linear in
//! α, so the error is a parabola in α and its best α in [0, 1] is known in closed form.

use crate::bridge::{BridgeRule, Votes};
use crate::refine::{Alpha, Anchor};
use crate::route::{Answer, Examples, Source, blend, centroid_pairs, local_map};
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

/// What leaving one pair out showed.
struct Trial {
    // ‖base − y‖², 2 (f − base)·(base − y), ‖f − base‖²; `None` if there was no answer.
    parabola: Option<[f64; 3]>,
    pool_mean: f64,
    paired_mean: f64,
}

/// The errors and the α that was used or chosen; `None` with fewer than two pairs.
pub(crate) fn leave_one_out(
    spec: &BridgedClustering,
    votes: &Votes,
    from: &Side,
    to: &Side,
    examples: &Examples<'_>,
) -> Option<(LeaveOneOut, f64)> {
    let n = votes.pairs.len();
    if n < 2 {
        return None;
    }
    let chosen: Vec<usize> = match n {
        0..=MOST => (0..n).collect(),
        _ => (0..MOST).map(|i| i * n / MOST).collect(),
    };
    let paired_sum = column_sums(examples.to.data(), to.cols());
    let trials: Vec<Trial> = chosen
        .par_iter()
        .map(|&pair| trial(spec, votes, from, to, examples, &paired_sum, pair))
        .collect();

    let mut sums = [0.0f64; 3];
    let (mut answered, mut pool_mean, mut paired_mean) = (0usize, 0.0, 0.0);
    for t in &trials {
        if let Some(parabola) = t.parabola {
            sums.iter_mut().zip(parabola).for_each(|(s, p)| *s += p);
            answered += 1;
            pool_mean += t.pool_mean;
            paired_mean += t.paired_mean;
        }
    }
    let alpha = match spec.refine.alpha {
        Alpha::Fixed(alpha) => alpha,
        // Two errors can agree by luck on any α; three are the least that argue with each other.
        Alpha::Auto if sums[2] > 0.0 && answered >= 3 => (-0.5 * sums[1] / sums[2]).clamp(0.0, 1.0),
        Alpha::Auto => 0.0,
    };
    let entries = (answered.max(1) * to.cols()) as f64;
    let check = LeaveOneOut {
        pairs: trials.len(),
        answered,
        bridge: (sums[0] + alpha * sums[1] + alpha * alpha * sums[2]) / entries,
        pool_mean: pool_mean / entries,
        paired_mean: paired_mean / entries,
    };
    Some((check, alpha))
}

fn trial(
    spec: &BridgedClustering,
    votes: &Votes,
    from: &Side,
    to: &Side,
    examples: &Examples<'_>,
    paired_sum: &[f64],
    pair: usize,
) -> Trial {
    let vote = votes.pairs[pair];
    let truth = examples.to.row(pair);
    let rest = votes.without(pair);
    let bridge = spec.bridge.link(&rest);
    let input = examples.from.row(pair);
    let answer = Answer::of_row(&bridge, vote.x, input, spec.uncovered, from);

    let pool_rows = to.clustering.labels.len() as f64;
    let (mean, values) = match spec.pair_rows {
        PairRows::Pooled => {
            (without_row(&to.mean, pool_rows, truth), values_without(to, vote.y, truth))
        }
        PairRows::Apart => (to.mean.clone(), to.values.clone()),
    };
    let others = (examples.votes.len() - 1) as f64;
    let paired: Vec<f32> =
        paired_sum.iter().zip(truth).map(|(s, &y)| ((s - f64::from(y)) / others) as f32).collect();

    let parabola = (answer.source != Source::Abstain).then(|| {
        if answer.targets.is_empty() {
            return [squared_error(&mean, truth), 0.0, 0.0];
        }
        let base = blend(&answer.targets, &values);
        let mut offset = vec![0.0f64; to.cols()];
        let centroids = centroid_pairs(&bridge, from, &values);
        // A cluster that borrows another's answer has no map of its own.
        let own = if answer.source == Source::Link { &answer.targets[..] } else { &[] };
        for t in own {
            let anchor = Anchor {
                from: from.clustering.centroids.row(vote.x as usize),
                radius: from.radii[vote.x as usize],
                to: values.row(t.cluster as usize),
            };
            let cell = (vote.x, t.cluster);
            let refine = &spec.refine;
            let map = local_map(
                refine.kind,
                refine.ridge,
                anchor,
                cell,
                examples,
                Some(pair),
                &centroids,
            );
            if let Some(map) = map {
                for (o, f) in offset.iter_mut().zip(map.offset(anchor, input)) {
                    *o += t.weight * f;
                }
            }
        }
        let cross: f64 =
            offset.iter().zip(base.iter().zip(truth)).map(|(o, (b, y))| o * f64::from(b - y)).sum();
        [squared_error(&base, truth), 2.0 * cross, offset.iter().map(|o| o * o).sum()]
    });
    Trial {
        parabola,
        pool_mean: squared_error(&mean, truth),
        paired_mean: squared_error(&paired, truth),
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

fn column_sums(data: &[f32], cols: usize) -> Vec<f64> {
    let mut sums = vec![0.0; cols];
    for row in data.chunks_exact(cols) {
        sums.iter_mut().zip(row).for_each(|(s, &v)| *s += f64::from(v));
    }
    sums
}
