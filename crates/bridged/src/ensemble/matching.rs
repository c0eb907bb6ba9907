//! Members that match a row with rows of the other pool, and predict the mean of those that match.
//!
//! ```text
//! ŷ(x) = Σ_j w_j(x) y_j,   w(x) = softmax(β z(x)),   β = 2 for walks, 2 P/(P + 3) for a rotation from P pairs
//! ```
//!
//! z brings the scores of x with all [`Nodes`] of the other side to mean 0 and deviation 1. Scores are those of a
//! [`rotation`](super::rotation) or of a [`walk`](super::walk).

use super::nodes::{Nodes, unit};
use super::walk::{WALKS, surprise};
use bridged_math::linalg::{Accum, View, product};
use bridged_math::neighbors::Neighbors;
use bridged_math::simd::{exp, vectorize_wide};
use bridged_math::{Matrix, MatrixRef};

/// β: the best matching rows count e² to e⁴ times as much as a row like any other.
const SHARPNESS: f64 = 2.0;
/// So many pairs make a rotation half as sharp as many do: it always finds rows that match, also when it is wrong.
/// Walks from few pairs are much alike, and blur by themselves.
const HALF: f64 = 3.0;

/// What a row is matched by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum By {
    /// W, (r, r').
    Rotation(Matrix),
    /// Which of [`WALKS`].
    Walk(usize),
}

/// A member that matches rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matching {
    pub by: By,
    /// v.
    pub weight: f64,
}

impl By {
    /// β with this many pairs.
    pub fn sharpness(&self, pairs: usize) -> f64 {
        match self {
            By::Rotation(_) => SHARPNESS * pairs as f64 / (pairs as f64 + HALF),
            By::Walk(_) => SHARPNESS,
        }
    }

    pub fn about(&self) -> String {
        match self {
            By::Rotation(_) => "rows matched by a rotation".to_string(),
            By::Walk(walk) => {
                format!("rows matched by walks among {} neighbours", WALKS[*walk].neighbours)
            }
        }
    }
}

/// Two sides, ready for rows of the one to be matched with some of the other.
pub(super) struct Matcher<'a> {
    from: &'a Nodes,
    origin: Vec<f32>,
    neighbours: Neighbors<'a>,
    /// What rows are matched with.
    candidates: Candidates,
}

/// Rows of the other side as each member sees them.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    count: usize,
    /// Directions, (count, r').
    directions: Vec<f64>,
    /// u of each walk, (count, landmarks).
    surprise: Vec<Vec<f64>>,
}

impl Candidates {
    /// The nodes themselves.
    pub fn nodes(to: &Nodes) -> Self {
        let of =
            |ends: &Matrix| surprise(ends.data().iter().map(|&e| f64::from(e)), to.rows.rows());
        Self {
            count: to.rows.rows(),
            directions: unit(to.rows.view()),
            surprise: to.ends.iter().map(of).collect(),
        }
    }

    /// Any rows, given in the coordinates of the nodes.
    pub fn rows(to: &Nodes, rows: MatrixRef<'_>) -> Self {
        let (neighbours, nodes) = (Neighbors::new(to.rows.view()), to.rows.rows());
        let of = |walk| surprise(to.ends_of(&neighbours, walk, rows).into_iter(), nodes);
        Self {
            count: rows.rows(),
            directions: unit(rows),
            surprise: (0..to.ends.len()).map(of).collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// Their directions, (count, r').
    pub fn directions(&self) -> &[f64] {
        &self.directions
    }
}

impl<'a> Matcher<'a> {
    pub fn new(from: &'a Nodes, origin: Vec<f32>, candidates: Candidates) -> Self {
        Self { from, origin, neighbours: Neighbors::new(from.rows.view()), candidates }
    }

    /// How many candidates there are.
    pub fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// Scaled rows as members see them.
    pub fn seen(&self, scaled: MatrixRef<'_>) -> Matrix {
        self.from.coordinates(&self.origin, scaled)
    }

    /// Scores of rows that were [`seen`](Self::seen) with all candidates, (rows, candidates), each row brought to
    /// mean 0 and deviation 1.
    pub fn scores(&self, by: &By, seen: MatrixRef<'_>) -> Vec<f64> {
        let mut scores = match by {
            By::Rotation(map) => {
                let map: Vec<f64> = map.data().iter().map(|&v| f64::from(v)).collect();
                self.candidates.by_rotation(&map, &unit(seen), seen.cols())
            }
            By::Walk(walk) => {
                let ends = self.from.ends_of(&self.neighbours, *walk, seen);
                let from = surprise(ends.into_iter(), self.from.rows.rows());
                self.candidates.by_walk(*walk, &from, None)
            }
        };
        scores.chunks_exact_mut(self.candidates().max(1)).for_each(standardise);
        scores
    }
}

impl Candidates {
    /// ⟨u W, v⟩ for directions u, (rows, r).
    pub fn by_rotation(&self, map: &[f64], directions: &[f64], r: usize) -> Vec<f64> {
        let (rows, q) = (directions.len() / r.max(1), map.len() / r.max(1));
        let mut moved = vec![0.0; rows * q];
        product(View::new(directions, rows, r), View::new(map, r, q), Accum::Replace, &mut moved);
        let mut scores = vec![0.0; rows * self.count];
        let to = View::new(&self.directions, self.count, q);
        product(View::new(&moved, rows, q), to.t(), Accum::Replace, &mut scores);
        scores
    }

    /// −‖u(x) − u(y)‖ for u(x), (rows, landmarks), over all landmarks or those that are `kept`.
    pub fn by_walk(&self, walk: usize, from: &[f64], kept: Option<&[usize]>) -> Vec<f64> {
        let landmarks = self.surprise[walk].len() / self.count.max(1);
        let pick = |all: &[f64]| -> Vec<f64> {
            match kept {
                None => all.to_vec(),
                Some(kept) => all
                    .chunks_exact(landmarks.max(1))
                    .flat_map(|row| kept.iter().map(|&l| row[l]))
                    .collect(),
            }
        };
        let width = kept.map_or(landmarks, <[usize]>::len);
        let (from, to) = (pick(from), pick(&self.surprise[walk]));
        let rows = from.len() / width.max(1);
        let square = |all: &[f64]| -> Vec<f64> {
            all.chunks_exact(width.max(1)).map(|u| u.iter().map(|v| v * v).sum()).collect()
        };
        let (own, others) = (square(&from), square(&to));
        let mut scores = vec![0.0; rows * self.count];
        let to = View::new(&to, self.count, width);
        product(View::new(&from, rows, width), to.t(), Accum::Replace, &mut scores);
        for (row, own) in scores.chunks_exact_mut(self.count.max(1)).zip(own) {
            for (s, other) in row.iter_mut().zip(&others) {
                *s = -(own + other - 2.0 * *s).max(0.0).sqrt();
            }
        }
        scores
    }
}

/// Mean 0 and deviation 1; scores that are all alike prefer nobody.
pub(super) fn standardise(scores: &mut [f64]) {
    let n = scores.len().max(1) as f64;
    let mean = scores.iter().sum::<f64>() / n;
    let deviation = (scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n).sqrt();
    let factor = if deviation > 1e-12 * mean.abs() { 1.0 / deviation } else { 0.0 };
    scores.iter_mut().for_each(|s| *s = (*s - mean) * factor);
}

/// Standardised scores of one row → weights that sum to 1, for β = `sharpness`; `without` is a candidate that must not
/// count.
pub(super) fn soften(scores: &mut [f64], sharpness: f64, without: Option<usize>) {
    vectorize_wide(
        #[inline(always)]
        || {
            let best = scores.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            scores.iter_mut().for_each(|s| *s = exp(sharpness * (*s - best)));
        },
    );
    if let Some(own) = without {
        scores[own] = 0.0;
    }
    let total: f64 = scores.iter().sum();
    // Of a single candidate that must not count nothing is left.
    let factor = if total > 0.0 { 1.0 / total } else { 0.0 };
    scores.iter_mut().for_each(|s| *s *= factor);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_the_best_counts_most() {
        let mut scores = [1.0, 3.0, -2.0, 3.5];
        standardise(&mut scores);
        let mut without = scores;
        soften(&mut scores, 2.0, None);
        assert!((scores.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(scores[3] > scores[1] && scores[1] > scores[0] && scores[0] > scores[2]);
        soften(&mut without, 2.0, Some(3));
        assert!(without[3] == 0.0 && (without.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn scores_that_are_all_alike_weigh_all_alike() {
        let mut scores = [7.0; 5];
        standardise(&mut scores);
        soften(&mut scores, 2.0, None);
        assert!(scores.iter().all(|w| (w - 0.2).abs() < 1e-12));
        let mut one = [1.0];
        soften(&mut one, 2.0, Some(0));
        assert_eq!(one, [0.0]);
    }

    #[test]
    fn a_walk_without_a_landmark_is_the_walk_over_the_others() {
        let all = Candidates {
            count: 2,
            directions: Vec::new(),
            surprise: vec![vec![1.0, 5.0, 2.0, 4.0, 9.0, 0.0]],
        };
        let fewer = Candidates {
            count: 2,
            directions: Vec::new(),
            surprise: vec![vec![1.0, 2.0, 4.0, 0.0]],
        };
        let found = all.by_walk(0, &[3.0, 8.0, 1.0], Some(&[0, 2]));
        assert_eq!(found, fewer.by_walk(0, &[3.0, 1.0], None));
        assert!((found[0] + 5f64.sqrt()).abs() < 1e-12);
    }
}
