//! Hartigan's correction: a row draws its own centroid towards itself, so it looks nearer than it is.
//!
//! When row x leaves cluster a of n_a rows for b, both means move, and the sum of squares changes by
//!
//! ```text
//! n_b / (n_b + 1) ‖x − c_b‖²  −  n_a / (n_a − 1) ‖x − c_a‖²
//! ```
//!
//! which may be negative although c_a is the nearer centroid. Where rows are far from all centroids
//! and clusters are small, as in many columns, Lloyd's iteration stops at the first labels that
//! it comes to because of that. Here the own cluster of a row costs more by the correction
//!
//! ```text
//! ½ ‖x − c_a‖² · 2 n_a / (n_a² − 1)
//! ```
//!
//! the above for clusters of one size and distances that are about equal. That is exact, to this
//! extent, for one row; of many that move at once, some undo what others gain. So the sum of squares
//! is looked at after every step, as in a trust region: a step that does not lower it is taken back,
//! and after one that gains less than half of what was expected, half the correction is applied.
//!
//! Labels that do not change under the correction are optimal without it too, so that runs end in an optimum
//! of Lloyd's iteration.
//!
//! Hartigan & Wong 1979; Telgarsky & Vattani 2010 (Hartigan's method: k-means clustering without
//! Voronoi).

use serde::{Deserialize, Serialize};

/// How much of the correction is applied.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    share: f64,
}

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Accept,
    Reject,
}

/// The share is halved when less than this part of the expected gain was made.
const ENOUGH: f64 = 0.5;
/// A smaller share counts as none.
const LEAST: f64 = 0.125;

impl Default for Correction {
    fn default() -> Self {
        Self { share: 1.0 }
    }
}

impl Correction {
    /// Whether any of it is applied.
    pub fn is_active(&self) -> bool {
        self.share > 0.0
    }

    /// The part of half its squared distance that a row's own cluster costs more, for each cluster.
    pub fn rates(&self, sizes: &[u32]) -> Vec<f32> {
        let of_size = |&n: &u32| match f64::from(n) {
            n if n > 1.0 => (self.share * 2.0 * n / (n * n - 1.0)) as f32,
            _ => 0.0, // A row that is its own centroid.
        };
        sizes.iter().map(of_size).collect()
    }

    /// None of it from here on.
    pub fn off() -> Self {
        Self { share: 0.0 }
    }

    /// Makes the own cluster of every row cost more; returns what it cost before.
    /// Half of `squares` is the part of half a squared distance that the costs (n, k) leave out.
    pub fn apply(
        &self,
        costs: &mut [f32],
        labels: &[u32],
        sizes: &[u32],
        squares: &[f64],
    ) -> Vec<f32> {
        let k = sizes.len();
        let rates = self.rates(sizes);
        let rows = costs.chunks_exact_mut(k).zip(labels).zip(squares);
        rows.map(|((costs, &label), square)| {
            let own = &mut costs[label as usize];
            let before = *own;
            *own += rates[label as usize] * ((0.5 * square) as f32 + before).max(0.0);
            before
        })
        .collect()
    }

    /// Learns from what a step gained and was expected to gain, and says what becomes of it.
    pub fn update(&mut self, expected: f64, gained: f64) -> Step {
        if gained < ENOUGH * expected {
            self.share = if self.share > LEAST { self.share / 2.0 } else { 0.0 };
        }
        if gained > 0.0 { Step::Accept } else { Step::Reject }
    }
}

/// Takes back what [`Correction::apply`] did.
pub fn restore(costs: &mut [f32], labels: &[u32], before: &[f32]) {
    let k = costs.len() / labels.len().max(1);
    for (i, (&label, &before)) in labels.iter().zip(before).enumerate() {
        costs[i * k + label as usize] = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_cluster_costs_more_by_what_leaving_it_gains() {
        // Two clusters of three rows in one column; costs are half distances to the means 1 and 6.
        let (x, labels) = ([0.0f32, 0.0, 3.0, 4.0, 6.0, 8.0], [0u32, 0, 0, 1, 1, 1]);
        let half = |x: f32, c: f32| 0.5 * (x - c).powi(2);
        let mut costs: Vec<f32> = x.iter().flat_map(|&x| [half(x, 1.0), half(x, 6.0)]).collect();
        let before = costs.clone();
        let own = Correction::default().apply(&mut costs, &labels, &[3, 3], &[0.0; 6]);
        // 2 n / (n² − 1) = ¾ of the own cost; other clusters cost what they did.
        for i in 0..6 {
            let (a, b) = (2 * i + labels[i] as usize, 2 * i + 1 - labels[i] as usize);
            assert_eq!((own[i], costs[a], costs[b]), (before[a], 1.75 * before[a], before[b]));
        }
        restore(&mut costs, &labels, &own);
        assert_eq!(costs, before);
    }

    #[test]
    fn a_row_that_is_its_own_centroid_is_not_corrected() {
        let mut costs = [0.0, 5.0, 7.0, 2.0];
        Correction::default().apply(&mut costs, &[0, 1], &[1, 1], &[0.0; 2]);
        assert_eq!(costs, [0.0, 5.0, 7.0, 2.0]);
    }

    #[test]
    fn steps_that_gain_little_halve_the_correction_until_it_is_off() {
        let mut correction = Correction::default();
        assert_eq!(correction.update(10.0, 6.0), Step::Accept);
        assert_eq!(correction.share, 1.0);
        assert_eq!(correction.update(10.0, 4.0), Step::Accept);
        assert_eq!(correction.share, 0.5);
        for _ in 0..3 {
            assert!(correction.is_active());
            assert_eq!(correction.update(10.0, -1.0), Step::Reject);
        }
        assert!(!correction.is_active());
    }
}
