//! How well the pairs predict each other: each in turn is left out of the vote and predicted.
//!
//! Beside it stand the two constants that anybody could predict without a model: the mean of the
//! output pool, and the mean of the other paired outputs. The error is the mean squared error over
//! all entries.

use serde::{Deserialize, Serialize};

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
    /// The share of shuffled outputs that the predictions of left-out pairs fit as well; of models with several
    /// members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
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

    /// What trials show when predictions follow the maps by `alpha`; `None` without any.
    pub(crate) fn of(
        trials: &[Trial],
        alpha: f64,
        columns: usize,
        agreement: Vec<f64>,
    ) -> Option<Self> {
        if trials.is_empty() {
            return None;
        }
        let mut sums = [0.0f64; 3];
        let (mut answered, mut pool_mean, mut paired_mean) = (0usize, 0.0, 0.0);
        for t in trials {
            if let Some(TrialAnswer { error, offset, .. }) = &t.answer {
                sums[0] += dot(error, error);
                sums[1] -= 2.0 * dot(error, offset);
                sums[2] += dot(offset, offset);
                answered += 1;
                pool_mean += t.pool_mean;
                paired_mean += t.paired_mean;
            }
        }
        let mut scores: Vec<f64> =
            trials.iter().filter_map(|t| t.answer.as_ref()).map(|a| a.score(alpha)).collect();
        scores.sort_by(f64::total_cmp);
        let entries = (answered.max(1) * columns) as f64;
        Some(Self {
            pairs: trials.len(),
            answered,
            bridge: (sums[0] + alpha * sums[1] + alpha * alpha * sums[2]) / entries,
            pool_mean: pool_mean / entries,
            paired_mean: paired_mean / entries,
            scores,
            agreement,
            chance: None,
        })
    }
}

/// What leaving one pair out showed.
pub(crate) struct Trial {
    /// The pair.
    pub pair: usize,
    /// What the others say of it; `None` if there was no answer.
    pub answer: Option<TrialAnswer>,
    /// The squared error of the mean of the pool.
    pub pool_mean: f64,
    /// The squared error of the mean of the other paired outputs.
    pub paired_mean: f64,
}

/// What a pair that was left out is answered.
pub(crate) struct TrialAnswer {
    /// y − base.
    pub error: Vec<f64>,
    /// By how much the maps would change it: f − base.
    pub offset: Vec<f64>,
    /// The expected squared error of an entry.
    pub expected: f64,
}

impl TrialAnswer {
    /// The squared error with α of the offset ÷ what was expected.
    fn score(&self, alpha: f64) -> f64 {
        let left = |(e, o): (&f64, &f64)| (e - alpha * o).powi(2);
        let squared: f64 = self.error.iter().zip(&self.offset).map(left).sum();
        let entries = self.error.len().max(1) as f64;
        if self.expected > 0.0 { squared / entries / self.expected } else { 0.0 }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
