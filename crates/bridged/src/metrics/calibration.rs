//! Whether what predictions say of themselves comes true: the expected calibration error of their
//! probabilities, and the share of balls that hold the true output.
//!
//! ```text
//! ECE = Σ_b (n_b / n) |mean probability in bin b − share of bin b that came true|
//! ```
//!
//! over ten bins of equally many claims (Naeini et al. 2015 and Nguyen & O'Connor 2015), fewer where
//! claims are few. With few claims per bin chance alone makes it positive: over 40 claims of perfect
//! probabilities it is about .16, over 400 about .05.

use super::{Better, Score, Scorer};

pub(super) const ECE: Scorer = Scorer {
    name: "ece",
    title: "calibration error",
    about: "the expected calibration error of the probability of the linked cluster",
    better: Better::Lower,
    score: Score::Confidence(|confidence| expected_calibration_error(confidence.claims)),
};

pub(super) const COVERAGE_80: Scorer = Scorer {
    name: "coverage_80",
    title: "coverage at .8",
    about: "the share of balls at level .8 that hold the true output",
    better: Better::Near(0.8),
    score: Score::Confidence(|confidence| coverage(confidence.balls_80)),
};

pub(super) const COVERAGE_90: Scorer = Scorer {
    name: "coverage_90",
    title: "coverage at .9",
    about: "the share of balls at level .9 that hold the true output",
    better: Better::Near(0.9),
    score: Score::Confidence(|confidence| coverage(confidence.balls_90)),
};

/// A probability that was stated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// That something is so.
    pub probability: f64,
    /// Whether it was.
    pub came_true: bool,
}

/// What predictions say of themselves, beside what came true.
#[derive(Clone, Copy, Debug)]
pub struct Confidence<'a> {
    /// That the output lies in the linked cluster, for each row that has such a probability.
    pub claims: &'a [Claim],
    /// Whether each ball at level .8 holds the true output.
    pub balls_80: &'a [bool],
    /// The same at level .9.
    pub balls_90: &'a [bool],
}

/// The expected calibration error; `None` without claims.
pub fn expected_calibration_error(claims: &[Claim]) -> Option<f64> {
    const BINS: usize = 10;
    let mut sorted = claims.to_vec();
    sorted.sort_by(|a, b| a.probability.total_cmp(&b.probability));
    let n = sorted.len();
    let bins = BINS.min(n);
    let gap = |b: usize| {
        let bin = &sorted[b * n / bins..(b + 1) * n / bins];
        let said: f64 = bin.iter().map(|c| c.probability).sum();
        let true_ = bin.iter().filter(|c| c.came_true).count() as f64;
        (said - true_).abs()
    };
    (n > 0).then(|| (0..bins).map(gap).sum::<f64>() / n as f64)
}

/// The share of balls that hold the true output; `None` without balls.
fn coverage(balls: &[bool]) -> Option<f64> {
    let inside = balls.iter().filter(|&&inside| inside).count();
    (!balls.is_empty()).then(|| inside as f64 / balls.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(of: &[(f64, bool)]) -> Vec<Claim> {
        of.iter().map(|&(probability, came_true)| Claim { probability, came_true }).collect()
    }

    #[test]
    fn probabilities_that_come_true_as_often_as_they_say_have_no_error() {
        let mut right = vec![(0.75, true); 75];
        right.extend(vec![(0.75, false); 25]);
        // Equal claims keep their order, so mix them before they are binned.
        let mixed: Vec<_> = (0..100).map(|i| right[i * 37 % 100]).collect();
        let error = expected_calibration_error(&claims(&mixed)).unwrap();
        assert!(error < 0.1, "{error}");
        let sure = claims(&[(1.0, true), (0.0, false), (1.0, true)]);
        assert_eq!(expected_calibration_error(&sure), Some(0.0));
    }

    #[test]
    fn claims_that_are_too_bold_are_off_by_what_they_add() {
        let bold = claims(&vec![(0.9, false); 50]);
        assert!((expected_calibration_error(&bold).unwrap() - 0.9).abs() < 1e-12);
        assert_eq!(expected_calibration_error(&[]), None);
    }

    #[test]
    fn coverage_is_the_share_of_balls_that_hold_the_truth() {
        assert_eq!(coverage(&[true, true, false, true]), Some(0.75));
        assert_eq!(coverage(&[]), None);
    }
}
