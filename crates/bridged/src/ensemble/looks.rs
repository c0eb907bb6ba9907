//! How the rows of the output pool look on the input side: of those that are paired it is known.
//!
//! ```text
//! E ‖x − X(y)‖² = ‖x − x_s‖²                   of the row y_s of a pair
//!               = ‖x − x̂(y)‖² + e r²           of another, x̂ predicted the other way round
//! ```
//!
//! r is the radius of the input pool, and e the share of its variance that the other direction leaves unexplained on
//! pairs that were left out. Where one side says little of the other, e is near 1, and a row whose partner is at hand
//! tells more than a row that merely fits: a table of colours may know the kind of a thing when its place in
//! the picture does not.

use super::answer::{BAND, Oriented};
use crate::check::LeaveOneOut;
use bridged_math::linalg::{Accum, View, product};
use bridged_math::{Matrix, MatrixRef};

/// What looks count with many pairs, and how many pairs make it half of that.
const MOST: f64 = 3.0;
const HALF: f64 = 300.0;
/// The prior of e weighs so many pairs, and says that nothing is explained.
const PRIOR: f64 = 4.0;
/// How far a pair is believed when rows are compared through it: it may be a wrong one.
const BELIEF: f64 = 0.5;

/// The rows of an output pool as the input side sees them.
#[derive(Clone, Debug)]
pub(crate) struct Looks {
    /// The row of each pair in the pool.
    pairs: Vec<u32>,
    /// p(i|x_s)/σ_i of the pairs in each cut, (k, pairs).
    likely: Vec<Vec<f64>>,
    /// Looks of all rows, then of the pairs, around the origin; (rows + pairs, d).
    looks: Matrix,
    /// ‖looks‖², and what is expected on top of it.
    squares: Vec<f64>,
    origin: Vec<f32>,
}

/// The share of the variance that is expected to stay unexplained.
pub(super) fn unexplained(check: Option<&LeaveOneOut>) -> f64 {
    let Some(check) = check.filter(|c| c.pool_mean > 0.0) else { return 1.0 };
    let pairs = check.answered as f64;
    let share = (pairs * check.bridge / check.pool_mean + PRIOR) / (pairs + PRIOR);
    if share.is_finite() { share.min(1.0) } else { 1.0 }
}

impl Looks {
    /// Of a pool whose rows are `predicted` to look so (scaled) with `unexplained` variance; `pairs` are the rows of the pairs
    /// that were learned from. `None` without pairs.
    pub fn new(
        oriented: &Oriented<'_>,
        predicted: MatrixRef<'_>,
        unexplained: f64,
        pairs: Vec<u32>,
    ) -> Option<Self> {
        let (side, of) = oriented.from;
        let paired = of.paired.view();
        if pairs.is_empty() || pairs.len() != paired.rows() {
            return None;
        }
        let likely = oriented.from_cuts.iter().map(|cut| {
            let (k, shares, members) = (cut.k(), cut.shares(), cut.memberships(paired));
            let of = |i: usize| members.iter().skip(i).step_by(k).map(move |p| (i, *p));
            (0..k).flat_map(of).map(|(i, p)| p / shares[i]).collect()
        });
        let likely = likely.collect();
        let (origin, rows) = (side.origin(), predicted.rows());
        let looks = Matrix::from_fn(rows + pairs.len(), origin.len(), |at, c| {
            let row = if at < rows { predicted.row(at) } else { paired.row(at - rows) };
            row[c] - origin[c]
        });
        let doubt = unexplained * side.radius().powi(2);
        let square = |(at, row)| square(row) + if at < rows { doubt } else { 0.0 };
        let squares = looks.view().iter_rows().enumerate().map(square).collect();
        Some(Self { pairs, likely, looks, squares, origin })
    }

    /// What they count.
    pub fn weight(&self) -> f64 {
        let pairs = self.pairs.len() as f64;
        MOST * pairs / (pairs + HALF)
    }

    /// −E ‖x − X(y)‖² of a band of scaled rows with all rows, (BAND, rows).
    pub fn scores(&self, band: MatrixRef<'_>) -> Vec<f64> {
        let (all, d) = (self.squares.len(), self.origin.len());
        let rows = all - self.pairs.len();
        let band = Matrix::from_fn(BAND, d, |i, c| band.row(i)[c] - self.origin[c]);
        let mut products = vec![0.0f32; BAND * all];
        let looks = View::from(self.looks.view());
        product(band.view().into(), looks.t(), Accum::Replace, &mut products);
        let mut scores = Vec::with_capacity(BAND * rows);
        let mut known = Vec::with_capacity(BAND * self.pairs.len());
        for (x, products) in band.view().iter_rows().zip(products.chunks_exact(all)) {
            let own = square(x);
            let score =
                |at: usize| -(own + self.squares[at] - 2.0 * f64::from(products[at])).max(0.0);
            scores.extend((0..rows).map(score));
            known.extend((rows..all).map(score));
        }
        self.replace(&mut scores, &known);
        scores
    }

    /// Puts in the `logs` of likelihoods of a band with all rows, under the links of a cut, what is known of paired rows:
    /// ln(½ + ½ Σ_i p(i|x) p(i|x_s)/σ_i). `members` are those of the band.
    pub fn link(&self, cut: usize, members: &[f64], logs: &mut [f64]) {
        let (k, pairs) = (members.len() / BAND, self.pairs.len());
        let mut known = vec![0.0; BAND * pairs];
        let likely = View::new(&self.likely[cut], k, pairs);
        product(View::new(members, BAND, k), likely, Accum::Replace, &mut known);
        known.iter_mut().for_each(|l| *l = (1.0 - BELIEF + BELIEF * *l).ln());
        self.replace(logs, &known);
    }

    /// Replaces the scores of a band (BAND, rows) for paired rows by those that are known, (BAND, pairs): the best of a
    /// row with several pairs.
    fn replace(&self, scores: &mut [f64], known: &[f64]) {
        let rows = scores.len() / BAND;
        let bands = scores.chunks_exact_mut(rows.max(1));
        for (scores, known) in bands.zip(known.chunks_exact(self.pairs.len())) {
            self.pairs.iter().for_each(|&row| scores[row as usize] = f64::NEG_INFINITY);
            for (&row, &score) in self.pairs.iter().zip(known) {
                let place = &mut scores[row as usize];
                *place = place.max(score);
            }
        }
    }
}

fn square(row: &[f32]) -> f64 {
    row.iter().map(|&v| f64::from(v) * f64::from(v)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of a pool with one input column; pairs of the first, with 3 and with −1.
    fn looks() -> Looks {
        let looks = Matrix::from_rows(&[[0.0], [1.0], [3.0], [-1.0]]);
        let squares = vec![0.0 + 2.0, 1.0 + 2.0, 9.0, 1.0];
        let likely = vec![vec![4.0, 0.0, 0.0, 2.0]];
        Looks { pairs: vec![0, 0], likely, looks, squares, origin: vec![10.0] }
    }

    fn band(first: f32) -> Matrix {
        Matrix::from_fn(BAND, 1, |i, _| if i == 0 { first } else { 0.0 })
    }

    #[test]
    fn a_paired_row_looks_as_its_nearest_partner_and_another_as_predicted_with_doubt() {
        let scores = looks().scores(band(12.0).view());
        assert_eq!(&scores[..2], [-1.0, -(1.0 + 2.0)]);
        assert_eq!(scores.len(), BAND * 2);
    }

    #[test]
    fn a_paired_row_is_as_likely_as_its_partner_is_in_the_same_clusters() {
        let mut members = vec![0.0; 2 * BAND];
        members[..2].copy_from_slice(&[1.0, 0.0]);
        let mut logs = vec![-7.0; 2 * BAND];
        looks().link(0, &members, &mut logs);
        assert!((logs[0] - 2.5f64.ln()).abs() < 1e-12 && logs[1] == -7.0);
        assert!((logs[2] - 0.5f64.ln()).abs() < 1e-12, "in no cluster of theirs");
    }

    #[test]
    fn nothing_is_explained_until_left_out_pairs_show_it() {
        assert_eq!(unexplained(None), 1.0);
        let check = |answered, bridge| LeaveOneOut {
            pairs: answered,
            answered,
            bridge,
            pool_mean: 2.0,
            paired_mean: 2.0,
            scores: Vec::new(),
            agreement: Vec::new(),
            chance: None,
        };
        assert_eq!(unexplained(Some(&check(4, 1.0))), 0.75);
        assert!(unexplained(Some(&check(1000, 1.0))) < 0.51);
        assert_eq!(unexplained(Some(&check(9, 5.0))), 1.0);
    }
}
