//! How sharp the softmax is and how far the value goes from the mean, by pairs that are left out.
//!
//! ```text
//! r_s(β) = Σ_j w_j(x_s) y_j − ȳ      scores learned without pair s, its own output not among the y_j
//! t_s    = y_s − ȳ
//! α(β)   = Σ_s ⟨t_s, r_s⟩ / (Σ_s |r_s|² + mean |r_s|²)   within 0 … 1
//! β      = the one of a grid with the least Σ_s |t_s − α r_s|²
//! ```
//!
//! A row that is asked for later has no partner in the pool, so a pair that is left out must not find
//! its own. The added mean is one more pair that nothing can be said of: three lucky pairs do not earn
//! full trust.

use super::{BAND, Outputs, Scores};
use bridged::{Problem, ProblemSize, Seed};
use rand::seq::SliceRandom;

/// The values of β that are tried: from the mean of all rows to almost the best row alone.
const SHARPNESS: [f64; 13] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0];

/// β and α.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Softness {
    pub sharpness: f64,
    pub alpha: f64,
}

/// With nothing left out to learn from: the best few rows, half trusted.
const UNKNOWN: Softness = Softness { sharpness: 4.0, alpha: 0.5 };

/// Which pairs are left out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folds {
    /// Each alone where there are at most 30, else 10 folds: for methods that are learned in no time.
    Each,
    /// Each alone where there are at most 4, else 4 folds: for methods that take long.
    Few,
}

impl Folds {
    /// The folds of so many pairs, of which `need` must be left; none if that cannot be.
    pub fn of(self, pairs: usize, need: usize, seed: Seed) -> Vec<Vec<usize>> {
        let count = match self {
            Folds::Each if pairs <= 30 => pairs,
            Folds::Each => 10,
            Folds::Few => pairs.min(4),
        };
        if count < 2 || pairs - pairs.div_ceil(count) < need {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..pairs).collect();
        order.shuffle(&mut seed.rng());
        (0..count).map(|f| order.iter().copied().skip(f).step_by(count).collect()).collect()
    }
}

/// The pairs that were left out, with the scores that were learned without them.
pub(super) struct LeftOut<'a> {
    problem: Problem<'a>,
    outputs: &'a Outputs,
    /// (pairs so far, m); −∞ for a pair's own output.
    scores: Vec<f64>,
    /// The rows of the outputs of the pairs so far.
    truth: Vec<usize>,
}

impl<'a> LeftOut<'a> {
    pub fn new(problem: Problem<'a>, outputs: &'a Outputs) -> Self {
        Self { problem, outputs, scores: Vec::new(), truth: Vec::new() }
    }

    /// Adds the pairs of a fold, with the scores that were learned without them.
    pub fn add(&mut self, fold: &[usize], scores: &dyn Scores) {
        let pairs: Vec<(usize, usize)> = fold.iter().map(|&i| self.problem.pairs.get(i)).collect();
        let rows = self.problem.x.select(pairs.iter().map(|p| p.0));
        let m = self.outputs.rows;
        let mut all = scores.scores(rows.view());
        for (row, &(_, own)) in all.chunks_exact_mut(m).zip(&pairs) {
            if m > 1 {
                row[own] = f64::NEG_INFINITY;
            }
        }
        self.scores.append(&mut all);
        self.truth.extend(pairs.iter().map(|p| p.1));
    }

    /// Σ ⟨t, r⟩ and Σ |r|² at one β.
    fn sums(&self, sharpness: f64) -> (f64, f64) {
        let mut sums = (0.0, 0.0);
        let m = self.outputs.rows;
        for (scores, truth) in self.scores.chunks(BAND * m).zip(self.truth.chunks(BAND)) {
            let found = self.outputs.soft_mean(scores.to_vec(), sharpness, truth.len());
            for (s, &own) in truth.iter().enumerate() {
                let truth = self.problem.y.row(own);
                for ((&v, &t), &mean) in found.row(s).iter().zip(truth).zip(&self.outputs.mean) {
                    let (r, t) = (f64::from(v) - f64::from(mean), f64::from(t) - f64::from(mean));
                    sums.0 += t * r;
                    sums.1 += r * r;
                }
            }
        }
        sums
    }

    /// The softness with the least error.
    pub fn best(self) -> Softness {
        if self.truth.is_empty() {
            return UNKNOWN;
        }
        let shrunk = |(along, square): (f64, f64)| {
            let with = square * (1.0 + 1.0 / self.truth.len() as f64);
            if with > 0.0 { (along / with).clamp(0.0, 1.0) } else { 0.0 }
        };
        let mut best = (0.0, Softness { sharpness: 0.0, alpha: 0.0 });
        for &sharpness in &SHARPNESS {
            let sums = self.sums(sharpness);
            let alpha = shrunk(sums);
            // Σ|t − α r|² without Σ|t|², which is the same for all.
            let error = alpha * alpha * sums.1 - 2.0 * alpha * sums.0;
            if error < best.0 {
                best = (error, Softness { sharpness, alpha });
            }
        }
        best.1
    }
}

/// The bytes that choosing takes: the scores of all pairs, and again those of a fold.
pub(super) fn memory(size: ProblemSize) -> f64 {
    let pairs = size.pairs as f64;
    8.0 * pairs * (2.5 * size.y.0 as f64 + size.x.1 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_share_no_pair_and_leave_enough() {
        for (folds, pairs, count) in
            [(Folds::Each, 7, 7), (Folds::Each, 95, 10), (Folds::Few, 3, 3), (Folds::Few, 30, 4)]
        {
            let made = folds.of(pairs, 2, Seed(1));
            assert_eq!(made.len(), count);
            let mut all: Vec<usize> = made.concat();
            all.sort_unstable();
            assert_eq!(all, (0..pairs).collect::<Vec<_>>());
        }
        assert!(Folds::Each.of(1, 1, Seed(1)).is_empty());
        assert!(Folds::Each.of(2, 2, Seed(1)).is_empty());
    }
}
