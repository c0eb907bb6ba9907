//! How far the probabilities of links can be believed, as far as pairs that were left out can tell.
//!
//! ```text
//! P(j|x)' = λ P(j|x) + (1 − λ) ρ_j          ρ_j the share of output cluster j
//! P(λ) ∝ λ^(νc − 1) (1 − λ)^(ν(1 − c) − 1) · Π_s P_λ(j_s|x_s),    ν = 4
//! ```
//!
//! j_s is the cluster that the output of pair s lies in, and P(·|x_s) is from the other pairs. The posterior of
//! the links is right if clusters belong to clusters; where they do so only roughly, it is too sure, and the
//! pairs show it. λ is the mean of its own posterior, on a grid. c = 0.7, or 0.95 where somebody said how many clusters there
//! are: then clusters are more likely to be groups.

use crate::bridge::{Reliability, Votes, likelihood};

/// c, with and without a number of clusters that somebody said, and ν.
const MEAN: f64 = 0.7;
const TOLD: f64 = 0.95;
const PRIOR: f64 = 4.0;

/// λ, from what the others say of each pair (a weight for every output cluster).
pub(crate) fn sureness(
    votes: &Votes,
    pairs: &[usize],
    held_out: &[Vec<f64>],
    told_count: bool,
) -> f64 {
    let total: f64 = votes.y_sizes.iter().map(|&n| f64::from(n)).sum();
    // How much likelier the cluster of a pair is than by its share: 1 + λ (m − 1) of it is what λ gives.
    let gains: Vec<f64> = pairs
        .iter()
        .zip(held_out)
        .filter_map(|(&s, weights)| {
            let label = votes.pairs[s].y as usize;
            let share = f64::from(*votes.y_sizes.get(label)?) / total;
            Some(weights.get(label)? / share)
        })
        .collect();
    let prior = Reliability::new(if told_count { TOLD } else { MEAN }, PRIOR);
    let (weights, _) = likelihood(&prior, &gains);
    let sum: f64 = weights.iter().sum();
    weights.iter().zip(&prior.values).map(|(w, q)| w * q).sum::<f64>() / sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::PairVote;

    fn of(right: usize, pairs: usize) -> f64 {
        let vote = |s: usize| PairVote { x: 0, y: (s % 4) as u32, x_depth: 1.0, y_depth: 1.0 };
        let votes = Votes::hard((0..pairs).map(vote).collect(), vec![10; 4], vec![10; 4]);
        let said = |s: usize| {
            let at = if s < right { s % 4 } else { (s + 1) % 4 };
            (0..4).map(|j| if j == at { 0.97 } else { 0.01 }).collect()
        };
        let held_out: Vec<Vec<f64>> = (0..pairs).map(said).collect();
        sureness(&votes, &(0..pairs).collect::<Vec<_>>(), &held_out, false)
    }

    #[test]
    fn links_are_believed_as_far_as_left_out_pairs_bear_them_out() {
        assert!(of(100, 100) > 0.95, "{}", of(100, 100));
        // Of 100 pairs half are right where .97 was said: λ .97 + (1 − λ) / 4 should be a half.
        assert!((of(50, 100) - 0.35).abs() < 0.08, "{}", of(50, 100));
        assert!(of(25, 100) < 0.15, "{}", of(25, 100));
    }

    #[test]
    fn without_pairs_the_prior_decides() {
        assert!((of(0, 0) - 0.7).abs() < 0.01);
    }
}
