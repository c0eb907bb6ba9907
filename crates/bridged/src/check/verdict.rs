//! Will it work? A verdict from what the fit itself shows, with the numbers behind it.
//!
//! | evidence | what it is |
//! |---|---|
//! | error | leaving out one pair at a time, error of the bridge ÷ error of the better constant |
//! | chance | the share of shuffled pairings whose clusters agree as much as those of the pairs; of several members, the share of shuffled outputs that the predictions of left-out pairs fit as well ([`super::chance`]) |
//! | settled | the share of the pairs whose input is nearer to its own centre than to any other |
//! | covered | the share of input rows whose cluster has a pair |
//! | clarity | how surely rows belong to their clusters, of both sides |
//!
//! Agreement is Σ over cells of votes² / (votes of the row · votes of the column), Pearson's
//! statistic up to constants; one pair per cluster agrees with every pairing, so that pairs without any
//! repetition never prove themselves. O(999 · pairs).
//!
//! A pair that is not settled lies in its cluster because the sizes are balanced, or because equal rows
//! had to part: a new row like it may get another. Where most are, the pairs show nothing about new
//! rows, unless several members predict, which do not hang on one clustering. An output that does not vary beyond rounding is nothing to predict.

use super::chance::SHUFFLES;
use crate::bridge::Votes;
use crate::cluster::{AssignRule, NOISE};
use crate::model::{BridgedModel, Direction};
use bridged_math::Seed;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An error of at most this share of a constant's is worth having.
const CLEAR_GAIN: f64 = 0.9;
/// Agreement that this share of shuffles reaches is no accident.
const CHANCE: f64 = 0.05;
/// With fewer settled pairs than this share, the pairs say nothing about new rows.
const SETTLED: f64 = 0.5;
/// A row that is nearer to its own centre by no more than this share is as near to another.
const DEPTH: f64 = 1e-6;
/// A mean squared error below this share of the mean square of the data is rounding.
const ROUNDING: f64 = 1e-13;

/// What to expect of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Clearly better than a constant, and the pairs prove that they are no accident.
    Good,
    /// Better than a constant, but not by much or not beyond chance.
    Weak,
    /// Not better than a constant as far as the pairs can tell.
    None,
}

impl Grade {
    /// The grade as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Good => "good",
            Grade::Weak => "weak",
            Grade::None => "none",
        }
    }
}

/// The verdict on one direction with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What to expect.
    pub grade: Grade,
    /// Error of left-out pairs ÷ that of the better constant; `None` with fewer than two pairs.
    pub error: Option<f64>,
    /// The share of shuffled pairings that agree as much, or that predictions of left-out pairs fit as well.
    pub chance: f64,
    /// The share of input rows whose cluster has a pair.
    pub covered: f64,
    /// How surely rows belong to their clusters, of the input and of the output side; of bridges
    /// with soft memberships.
    pub clarity: Option<(f64, f64)>,
    /// How reliable the pairs are, of bridges that estimate it.
    pub reliability: Option<f64>,
}

/// A pair that the others speak against.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contradiction {
    /// Its place in the list of pairs.
    pub pair: usize,
    /// How much likelier its output is by the other pairs than by chance: below 1.
    pub agreement: f64,
}

impl BridgedModel {
    /// What to expect of a direction.
    pub fn verdict(&self, direction: Direction) -> Verdict {
        let regressor = self.regressor(direction);
        let (from, votes) = (self.from(direction), self.votes(direction));
        let error = regressor.leave_one_out().filter(|c| c.answered > 0).map(|check| {
            let (_, constant) = check.best_constant();
            let mean = &self.to(direction).mean;
            let square = mean.iter().map(|&m| f64::from(m).powi(2)).sum::<f64>();
            let rounding = ROUNDING * square / mean.len().max(1) as f64;
            if constant > rounding { check.bridge / constant } else { 1.0 }
        });
        let settled = match from.clustering.rule {
            AssignRule::Nearest { .. } => {
                let settled = votes.pairs.iter().filter(|p| p.x_depth > DEPTH).count();
                settled as f64 / votes.pairs.len().max(1) as f64
            }
            // Depth is about centroids, which these rules do not ask.
            AssignRule::Mixture(_) | AssignRule::Neighbors { .. } => 1.0,
        };
        let of_members = regressor.leave_one_out().and_then(|check| check.chance);
        let chance = of_members.unwrap_or_else(|| chance(&votes));
        let sizes = &from.clustering.sizes;
        let with_pair = votes.rows().into_iter().zip(sizes).filter(|(row, _)| !row.is_empty());
        let covered: f64 = with_pair.map(|(_, &n)| f64::from(n)).sum();
        let grade = match error {
            _ if settled < SETTLED && of_members.is_none() => Grade::None,
            Some(error) if error <= CLEAR_GAIN && chance <= CHANCE => Grade::Good,
            Some(error) if error < 1.0 => Grade::Weak,
            _ => Grade::None,
        };
        Verdict {
            grade,
            error,
            chance,
            covered: covered / from.total().max(1) as f64,
            clarity: regressor
                .reading
                .is_mixture()
                .then_some((votes.x_members.clarity, votes.y_members.clarity)),
            reliability: regressor.bridge.reliability,
        }
    }

    /// The pairs that the others contradict, the worst first, at most this many.
    pub fn contradictions(&self, most: usize) -> Vec<Contradiction> {
        let of =
            |direction| self.regressor(direction).leave_one_out().map_or(&[][..], |c| &c.agreement);
        let (forward, reverse) = (of(Direction::Forward), of(Direction::Reverse));
        let left_out = crate::fit::held_out::left_out(self.pairs.len());
        let mut found: Vec<Contradiction> = left_out
            .into_iter()
            .zip(forward.iter().zip(reverse))
            .map(|(pair, (a, b))| Contradiction { pair, agreement: (a * b).sqrt() })
            .filter(|c| c.agreement < 1.0)
            .collect();
        found.sort_by(|a, b| a.agreement.total_cmp(&b.agreement).then(a.pair.cmp(&b.pair)));
        found.truncate(most);
        found
    }
}

/// The share of shuffled pairings that agree at least as much, counting the pairs as one of them.
fn chance(votes: &Votes) -> f64 {
    let speaks = |p: &&crate::bridge::PairVote| p.x != NOISE && p.y != NOISE;
    let mut cells: Vec<(u32, u32)> =
        votes.pairs.iter().filter(speaks).map(|p| (p.x, p.y)).collect();
    cells.sort_unstable(); // the shuffles must not depend on the order of the pairs
    let (x, mut y): (Vec<u32>, Vec<u32>) = cells.into_iter().unzip();
    let agreed = agreement(&x, &y);
    let mut rng = Seed(0).child("shuffled pairs").rng();
    let reached = (0..SHUFFLES).filter(|_| {
        y.shuffle(&mut rng);
        agreement(&x, &y) >= agreed - 1e-9
    });
    (1 + reached.count()) as f64 / (1 + SHUFFLES) as f64
}

fn agreement(x: &[u32], y: &[u32]) -> f64 {
    let count = |labels: &[u32]| {
        let mut counts = BTreeMap::new();
        labels.iter().for_each(|l| *counts.entry(*l).or_insert(0.0) += 1.0);
        counts
    };
    let (of_x, of_y) = (count(x), count(y));
    let mut cells: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    x.iter().zip(y).for_each(|(&a, &b)| *cells.entry((a, b)).or_insert(0.0) += 1.0);
    cells.iter().map(|((a, b), n)| n * n / (of_x[a] * of_y[b])).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::PairVote;

    fn votes(pairs: &[(u32, u32)]) -> Votes {
        let vote = |&(x, y): &(u32, u32)| PairVote { x, y, x_depth: 1.0, y_depth: 1.0 };
        Votes::hard(pairs.iter().map(vote).collect(), vec![9; 3], vec![9; 3])
    }

    #[test]
    fn repeated_agreement_is_beyond_chance_and_single_pairs_never_are() {
        let once = [(0, 1), (1, 2), (2, 0)];
        assert_eq!(chance(&votes(&once)), 1.0);
        assert!(chance(&votes(&[once, once, once].concat())) < 0.05);
        let mixed = [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)];
        assert!(chance(&votes(&mixed)) > 0.3);
    }
}
