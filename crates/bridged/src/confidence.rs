//! How sure a prediction is: its output cluster, its expected error, and a ball around it.
//!
//! ```text
//! w_j(x)  = Σ_i p(i|x) P(j|i)                                the weight of output cluster j
//! e(x)    = (t + Σ_j w_j ‖μ_j − ŷ‖²) / d'                    expected squared error, an entry
//! r²(x)   = d' · e(x) · Q_{1−a},   P(‖y − ŷ‖ ≤ r) ≥ 1 − a    a conformal ball
//! ```
//!
//! t is the variance inside output clusters. Q is the ⌈(n + 1)(1 − a)⌉-th smallest of the scores
//! ‖y_s − ŷ_s‖² / d' e(x_s) of the n pairs, each predicted from the others; the claim holds whatever
//! the model got wrong, as long as new rows come like the pairs did (Vovk et al. 2005; leaving one out
//! as in Barber et al. 2021). With n pairs no ball can promise more than n / (n + 1).
//!
//! The expected error that is shown is e times the mean score, held near 1 as by four more pairs: where
//! clusters are cut from one cloud, e alone is too small.
//!
//! e uses the inner products of the μ_j alone: O(k²) a row after O(k² d') once.

use crate::bridge::Means;
use crate::side::Side;
use bridged_math::Matrix;

/// How sure the prediction of one row is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// The output cluster with the largest weight; `None` where there is no link.
    pub cluster: Option<u32>,
    /// That weight: the probability that the output lies there.
    pub probability: f64,
    /// The expected squared error of an entry, in the units of the data.
    pub error: f64,
}

/// What expected errors of a direction are computed from.
pub(crate) struct Expected {
    gram: Vec<f64>, // (k, k), ⟨μ_j − m, μ_l − m⟩
    kept: Vec<f64>,
    within: f64,
    entries: f64,
    masses: Vec<f64>,
    factor: f64,
}

impl Expected {
    pub fn new(to: &Side, means: Means) -> Self {
        let (k, kept) = (to.k(), to.blur.kept(means));
        let away = Matrix::from_fn(k, to.cols(), |j, c| to.values.row(j)[c] - to.mean[c]);
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
        };
        let gram = (0..k * k).map(|at| dot(away.row(at / k), away.row(at % k))).collect();
        let total: f64 = to.clustering.sizes.iter().map(|&n| f64::from(n)).sum();
        let masses = to.clustering.sizes.iter().map(|&n| f64::from(n) / total).collect();
        let (within, entries) = (to.blur.within, to.cols() as f64);
        Self { gram, kept, within, entries, masses, factor: 1.0 }
    }

    /// The same with errors as the scores of the pairs say.
    pub fn calibrated(mut self, scores: &[f64]) -> Self {
        self.factor = calibration(scores);
        self
    }

    /// The confidence in m + Σ_j w_j kept_j (μ_j − m); no weights stand for the mean of the pool.
    pub fn of(&self, weights: &[f64]) -> Confidence {
        let k = self.kept.len();
        let none = weights.is_empty();
        let weights = if none { &self.masses } else { weights };
        let moved = |j: usize| if none { 0.0 } else { weights[j] * self.kept[j] };
        let mut spread = 0.0;
        for (j, &w) in weights.iter().enumerate() {
            let row = &self.gram[j * k..(j + 1) * k];
            let along: f64 = (0..k).map(|l| row[l] * moved(l)).sum(); // ⟨μ_j − m, ŷ − m⟩
            spread += w * (row[j] - 2.0 * along) + moved(j) * along;
        }
        let top = (0..k).fold(0, |a, b| if weights[b] > weights[a] { b } else { a });
        Confidence {
            cluster: (!none).then_some(top as u32),
            probability: weights.get(top).copied().unwrap_or(0.0),
            error: self.factor * (self.within + spread.max(0.0)) / self.entries,
        }
    }
}

/// Pairs that the prior of the calibration weighs.
const PRIOR: f64 = 4.0;

/// By how much errors are larger than expected.
pub(crate) fn calibration(scores: &[f64]) -> f64 {
    (scores.iter().sum::<f64>() + PRIOR) / (scores.len() as f64 + PRIOR)
}

/// The factor Q of the balls at a level, from the scores of pairs that were left out, ascending; or
/// the highest level that so many scores allow.
pub fn quantile(scores: &[f64], level: f64) -> Result<f64, f64> {
    let n = scores.len();
    let place = ((n as f64 + 1.0) * level - 1e-9).ceil().max(1.0) as usize;
    match scores.get(place - 1) {
        Some(&score) if level > 0.0 => Ok(score),
        _ => Err(n as f64 / (n as f64 + 1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_takes_its_place_among_the_scores_or_is_said_to_be_too_high() {
        let scores = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&scores, 0.8), Ok(4.0));
        assert_eq!(quantile(&scores, 0.5), Ok(3.0));
        assert_eq!(quantile(&scores, 0.4), Ok(2.0));
        assert_eq!(quantile(&scores, 0.81), Err(0.8));
        assert_eq!(quantile(&[], 0.5), Err(0.0));
    }
}
