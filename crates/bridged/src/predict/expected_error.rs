//! How sure a prediction is: its output cluster, its expected error, and a ball around it.
//!
//! ```text
//! w_j(x)  = Σ_i p(i|x) P(j|i)                                the weight of output cluster j
//! e(x)    = (t + Σ_j w_j ‖μ_j − ŷ‖²) / d'                    expected squared error per entry
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
//! e uses the inner products of the μ_j alone: O(k²) after O(k² d') once. Many rows are answered by `mixture.rs`, where
//! e follows from sums that a value needs anyway.

use crate::bridge::Means;
use crate::check::calibration;
use crate::side::Side;

/// Where the output of one row most likely lies, and how far off its prediction is expected to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Likeliest {
    /// The output cluster with the largest weight; `None` where there is no link.
    pub cluster: Option<u32>,
    /// That weight: the probability that the output lies there.
    pub probability: f64,
    /// The expected squared error of an entry, in the units of the data.
    pub error: f64,
}

/// What expected errors of a direction are computed from.
pub(crate) struct ExpectedErrors {
    gram: Vec<f64>, // (k, k), ⟨μ_j − m, μ_l − m⟩
    kept: Vec<f64>,
    within: f64,
    entries: f64,
    masses: Vec<f64>,
    factor: f64,
    sureness: f64,
}

impl ExpectedErrors {
    pub fn new(to: &Side, means: Means) -> Self {
        let (k, kept) = (to.k(), means.kept(&to.spread));
        let away: Vec<Vec<f64>> = (to.values.view().iter_rows())
            .map(|row| {
                row.iter().zip(&to.mean).map(|(&v, &m)| f64::from(v) - f64::from(m)).collect()
            })
            .collect();
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
        let gram = (0..k * k).map(|at| dot(&away[at / k], &away[at % k])).collect();
        let total: f64 = to.clustering.sizes.iter().map(|&n| f64::from(n)).sum();
        let masses = to.clustering.sizes.iter().map(|&n| f64::from(n) / total).collect();
        let (within, entries) = (to.spread.within, to.cols() as f64);
        Self { gram, kept, within, entries, masses, factor: 1.0, sureness: 1.0 }
    }

    /// The same with errors as the scores of the pairs say.
    pub fn calibrated(mut self, scores: &[f64]) -> Self {
        self.factor = calibration(scores);
        self
    }

    /// The same with probabilities that are believed so far.
    pub fn believed(mut self, sureness: f64) -> Self {
        self.sureness = sureness;
        self
    }

    /// The confidence in m + Σ_j w_j kept_j (μ_j − m); no weights stand for the mean of the pool.
    pub fn of(&self, weights: &[f64]) -> Likeliest {
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
        let likeliest = self.of_sums(weights, spread);
        Likeliest { cluster: likeliest.cluster.filter(|_| !none), ..likeliest }
    }

    /// The same for weights w of which Σ_j w_j ‖μ_j − ŷ‖² is known.
    pub fn of_sums(&self, weights: &[f64], spread: f64) -> Likeliest {
        let top = (0..weights.len()).fold(0, |a, b| if weights[b] > weights[a] { b } else { a });
        Likeliest {
            cluster: Some(top as u32),
            probability: weights
                .get(top)
                .map_or(0.0, |w| self.sureness * w + (1.0 - self.sureness) * self.masses[top]),
            error: self.factor * (self.within + spread.max(0.0)) / self.entries,
        }
    }

    /// ‖μ_j − m‖².
    pub fn squared(&self, j: usize) -> f64 {
        self.gram[j * self.kept.len() + j]
    }
}
