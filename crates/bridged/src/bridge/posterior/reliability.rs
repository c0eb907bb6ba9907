//! The prior of q: Beta with the mean that both clusterings suggest, worth ν pairs.
//!
//! ```text
//! P(q) ∝ q^(νc − 1) · (1 − q)^(ν(1 − c) − 1),   c = clarity of x · clarity of y
//! ```
//!
//! c is the chance that a row of each side is where its clustering puts it, as far as the pools
//! alone can tell. Where it is small, a few pairs that happen to agree prove little; where it is
//! near 1, a single pair suffices. The density is held on a grid that is fine at both ends, where
//! it may be steep, so that no value of q is ever certain.

use std::f64::consts::PI;

/// Points of the grid.
pub(crate) const GRID: usize = 20;

/// Logarithms of weights of which even the largest is below this are shifted.
const UNDERFLOW: f64 = -500.0;

/// q on a grid with prior weights.
pub(crate) struct Reliability {
    /// q.
    pub values: [f64; GRID],
    /// P(q), sums to 1.
    pub weights: [f64; GRID],
}

impl Reliability {
    /// The prior with that mean, worth this many pairs.
    pub fn new(mean: f64, pairs: f64) -> Self {
        let mean = mean.clamp(0.0, 1.0);
        let angle = |g: usize| PI * (g as f64 + 0.5) / GRID as f64;
        let values: [f64; GRID] = std::array::from_fn(|g| 0.5 - 0.5 * angle(g).cos());
        // dq = ½ sin(angle) d(angle) = √(q (1 − q)) d(angle), hence −½ instead of −1.
        let logs = values.map(|q| {
            let up = (pairs * mean - 0.5) * q.ln();
            let down = (pairs * (1.0 - mean) - 0.5) * (1.0 - q).ln();
            up + down
        });
        // A prior that weighs many pairs is taken relative to its largest value, or all of it would
        // underflow. Others keep the digits that models have been fitted with.
        let top = logs.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        let top = if top < UNDERFLOW { top } else { 0.0 };
        let mut weights = logs.map(|log| (log - top).exp());
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        Self { values, weights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(prior: &Reliability) -> f64 {
        prior.values.iter().zip(&prior.weights).map(|(q, w)| q * w).sum()
    }

    #[test]
    fn the_prior_has_the_mean_that_it_was_given() {
        for wanted in [0.2, 0.5, 0.9] {
            assert!((mean(&Reliability::new(wanted, 4.0)) - wanted).abs() < 0.01);
        }
        assert!((mean(&Reliability::new(0.5, 2.0)) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn no_reliability_is_certain_before_a_pair_was_seen() {
        for sure in [1.0, 0.0] {
            let prior = Reliability::new(sure, 4.0);
            assert!(prior.weights.iter().all(|w| w.is_finite() && *w > 0.0));
            assert!((mean(&prior) - sure).abs() < 0.1);
        }
    }
}
