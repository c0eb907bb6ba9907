//! Which columns have moved.
//!
//! ```text
//! u_ij = (v_ij − mean_j) / deviation_j, cut at ±4        of old and new rows together
//! T_j  = |Σ over chosen rows of u_ij|,   S_j = the same of |u_ij| less its mean
//! p_j  = the share of relabellings in which the largest of all T and S reaches that of column j
//! ```
//!
//! T sees a column whose mean has moved, S one whose spread has. The largest over all columns is compared, so that a
//! thousand columns raise no more false alarms than one (Westfall and Young 1993). Numbers are cut because one extreme row
//! would otherwise hide what the others show; a rare mark of one row in a thousand stays within its own variance. The sums of all
//! relabellings are one product: O(draws · rows · columns), with at most 2,000 rows of each sample.

use super::permute::Relabellings;
use super::{spaced, view_rows};
use bridged_math::linalg::{Accum, View, par_product};
use bridged_math::{MatrixRef, chunks};
use serde::Serialize;

/// Rows of each sample that columns are tested by.
pub(super) const MOST_ROWS: usize = 2_000;
/// Where standardised numbers are cut.
const CUT: f64 = 4.0;
/// Columns that vary less than this after they were cut are not blown up.
const LEAST: f64 = 0.25;
/// Relabellings whose sums are computed at once.
const BATCH: usize = 128;

/// What the columns were like in the fit.
pub(super) struct Columns {
    pub rows: usize,
    pub means: Vec<f64>,
    pub deviations: Vec<f64>,
    /// The largest |v − mean| of each column.
    pub farthest: Vec<f64>,
}

impl Columns {
    pub fn of(rows: MatrixRef<'_>) -> Self {
        let means = rows.mean_row();
        let d = rows.cols();
        let parts = chunks::map_blocks(rows.rows(), |range| {
            let mut part = vec![(0.0f64, 0.0f64); d];
            for i in range {
                for ((sum, &v), mean) in part.iter_mut().zip(rows.row(i)).zip(&means) {
                    let away = f64::from(v) - mean;
                    *sum = (sum.0 + away * away, sum.1.max(away.abs()));
                }
            }
            part
        });
        let mut sums = vec![(0.0f64, 0.0f64); d];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(s, p)| *s = (s.0 + p.0, s.1.max(p.1)));
        }
        let n = rows.rows() as f64;
        let deviations = sums.iter().zip(&means).map(|((squares, _), mean)| {
            let deviation = (squares / n).sqrt();
            // Rounding of a constant is no spread.
            if deviation <= 1e-6 * mean.abs() { 0.0 } else { deviation }
        });
        let deviations = deviations.collect();
        let farthest = sums.iter().map(|s| s.1).collect();
        Self { rows: rows.rows(), deviations, farthest, means }
    }
}

/// A column of the new rows beside the fit, in the units of the data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnDrift {
    /// Its place in the vector, from 0.
    pub column: usize,
    /// Its name; a column of a list has its place in brackets.
    pub name: String,
    /// Its mean in the fit.
    pub fit_mean: f64,
    /// Its mean in the new rows.
    pub new_mean: f64,
    /// Its standard deviation in the fit; `None` of a model without rows.
    pub fit_deviation: Option<f64>,
    /// Its standard deviation in the new rows.
    pub new_deviation: f64,
    /// The probability that chance moves any column as far, among at most 2,000 rows of each; `None` where nothing was
    /// tested.
    pub p: Option<f64>,
}

impl ColumnDrift {
    /// How far it has moved: in deviations of the fit, and by the logarithm of their ratio.
    pub(super) fn moved(&self) -> f64 {
        let unit = self.fit_deviation.unwrap_or(self.new_deviation);
        let away = (self.new_mean - self.fit_mean).abs();
        let by_mean = match unit {
            _ if away == 0.0 => 0.0,
            0.0 => f64::MAX,
            unit => away / unit,
        };
        let by_spread = match self.fit_deviation {
            Some(fit) if fit > 0.0 && self.new_deviation > 0.0 => {
                (self.new_deviation / fit).ln().abs()
            }
            _ => 0.0,
        };
        by_mean + by_spread
    }
}

/// What the test of the columns gives.
pub(super) struct Tested {
    /// Of all columns together.
    pub p: f64,
    /// Of each.
    pub of_columns: Vec<f64>,
}

/// Whether any column has moved.
pub(super) fn test(old: MatrixRef<'_>, new: MatrixRef<'_>, relabellings: usize) -> Tested {
    let (old, new) = (
        view_rows(old, &spaced(old.rows(), MOST_ROWS)),
        view_rows(new, &spaced(new.rows(), MOST_ROWS)),
    );
    let (n, d) = (old.rows() + new.rows(), old.cols());
    let row = |i: usize| if i < old.rows() { old.row(i) } else { new.row(i - old.rows()) };
    let features = features(n, d, row);
    let draws = Relabellings::new(old.rows(), new.rows(), relabellings);
    let observed: Vec<u32> = match new.rows() <= old.rows() {
        true => (old.rows() as u32..n as u32).collect(),
        false => (0..old.rows() as u32).collect(),
    };
    let sums = |choices: &[Vec<u32>]| -> Vec<f32> {
        let mut chosen = vec![0.0f32; choices.len() * n];
        for (row, choice) in chosen.chunks_exact_mut(n).zip(choices) {
            choice.iter().for_each(|&i| row[i as usize] = 1.0);
        }
        let mut sums = vec![0.0f32; choices.len() * 2 * d];
        let (chosen, features) =
            (View::new(&chosen, choices.len(), n), View::new(&features, n, 2 * d));
        par_product(chosen, features, Accum::Replace, &mut sums);
        sums
    };
    let found = sums(&[observed]);
    let mut largest: Vec<f32> = Vec::with_capacity(draws.count());
    for first in (0..draws.count()).step_by(BATCH) {
        let many = BATCH.min(draws.count() - first);
        let choices = chunks::par_map(many, |i| draws.draw(first + i));
        let of_batch = sums(&choices);
        let most = |row: &[f32]| row.iter().fold(0.0f32, |most, v| most.max(v.abs()));
        largest.extend(of_batch.chunks_exact(2 * d).map(most));
    }
    largest.sort_by(f32::total_cmp);
    let p = |value: f32| {
        let least = value - 1e-5 * value.abs();
        let reached = largest.len() - largest.partition_point(|most| *most < least);
        (1 + reached) as f64 / (1 + largest.len()) as f64
    };
    let of_columns: Vec<f64> = (0..d).map(|j| p(found[j].abs().max(found[d + j].abs()))).collect();
    Tested { p: of_columns.iter().copied().fold(1.0, f64::min), of_columns }
}

/// u and |u| − mean |u| of every row, (n, 2d).
fn features<'a>(n: usize, d: usize, row: impl Fn(usize) -> &'a [f32] + Sync) -> Vec<f32> {
    let mut features = vec![0.0f32; n * 2 * d];
    let means: Vec<f64> = column_means(n, d, |i, j| f64::from(row(i)[j]));
    let squares = column_means(n, d, |i, j| (f64::from(row(i)[j]) - means[j]).powi(2));
    let units: Vec<f64> = squares
        .iter()
        .zip(&means)
        .map(|(square, mean)| {
            let deviation = square.sqrt();
            if deviation <= 1e-6 * mean.abs() || deviation <= 0.0 { 0.0 } else { 1.0 / deviation }
        })
        .collect();
    let cut = |i: usize, j: usize| ((f64::from(row(i)[j]) - means[j]) * units[j]).clamp(-CUT, CUT);
    chunks::map_blocks_mut(&mut features, 2 * d, |range, out| {
        for (i, out) in range.zip(out.chunks_exact_mut(2 * d)) {
            for j in 0..d {
                let u = cut(i, j);
                (out[j], out[d + j]) = (u as f32, u.abs() as f32);
            }
        }
    });
    // Centred again, and every column in units of its own spread.
    let at = |i: usize, c: usize| f64::from(features[i * 2 * d + c]);
    let means = column_means(n, 2 * d, at);
    let squares = column_means(n, 2 * d, |i, c| (at(i, c) - means[c]).powi(2));
    chunks::map_blocks_mut(&mut features, 2 * d, |_, out| {
        for row in out.chunks_exact_mut(2 * d) {
            for ((v, mean), square) in row.iter_mut().zip(&means).zip(&squares) {
                *v = ((f64::from(*v) - mean) / square.sqrt().max(LEAST)) as f32;
            }
        }
    });
    features
}

fn column_means(n: usize, d: usize, at: impl Fn(usize, usize) -> f64 + Sync) -> Vec<f64> {
    let parts = chunks::map_blocks(n, |range| {
        let mut sums = vec![0.0f64; d];
        range.for_each(|i| sums.iter_mut().enumerate().for_each(|(j, sum)| *sum += at(i, j)));
        sums
    });
    let mut means = vec![0.0f64; d];
    for part in parts {
        means.iter_mut().zip(part).for_each(|(mean, sum)| *mean += sum / n as f64);
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::{Matrix, Seed};
    use rand::RngExt;

    fn noise(n: usize, d: usize, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        Matrix::from_fn(n, d, |_, _| (0..6).map(|_| rng.random::<f32>() - 0.5).sum())
    }

    #[test]
    fn the_column_that_moved_or_spread_is_named() {
        let old = noise(300, 20, 1);
        for change in [|v: f32| v + 0.4, |v: f32| 1.8 * v, |v: f32| 0.4 * v] {
            let mut new = noise(200, 20, 2);
            (0..200).for_each(|i| new.row_mut(i)[7] = change(new.row(i)[7]));
            let tested = test(old.view(), new.view(), 199);
            assert_eq!(tested.p, 1.0 / 200.0);
            let moved: Vec<usize> = (0..20).filter(|&j| tested.of_columns[j] <= 0.05).collect();
            assert_eq!(moved, [7]);
        }
    }

    #[test]
    fn constant_and_rare_columns_raise_no_alarm() {
        let mut old = noise(400, 30, 3);
        let mut new = noise(50, 30, 4);
        for i in 0..400 {
            old.row_mut(i)[0] = 5.0;
            old.row_mut(i)[1..20].fill(0.0);
        }
        for i in 0..50 {
            new.row_mut(i)[0] = 5.0;
            new.row_mut(i)[1..20].fill(0.0);
            // One mark in one row of each of ten columns that the fit never saw marked.
            if (1..11).contains(&i) {
                new.row_mut(i)[i] = 1.0;
            }
        }
        let tested = test(old.view(), new.view(), 199);
        assert!(tested.of_columns[0] == 1.0 && tested.p > 0.05, "{}", tested.p);
    }

    #[test]
    fn p_is_that_of_the_largest_sum_one_by_one() {
        let (old, new) = (noise(30, 4, 5), noise(11, 4, 6));
        let tested = test(old.view(), new.view(), 99);
        let row = |i: usize| if i < 30 { old.row(i) } else { new.row(i - 30) };
        let features = features(41, 4, row);
        let largest = |chosen: &[u32]| {
            let sum = |c: usize| {
                chosen.iter().map(|&i| f64::from(features[i as usize * 8 + c])).sum::<f64>()
            };
            (0..8).map(|c| sum(c).abs()).fold(0.0, f64::max)
        };
        let found = largest(&(30..41).collect::<Vec<u32>>());
        let drawn = Relabellings::new(30, 11, 99).map(largest);
        assert_eq!(tested.p, super::super::permute::p_value(found, drawn));
    }

    #[test]
    fn columns_of_the_fit_are_measured_as_in_the_text_book() {
        let x = Matrix::from_rows(&[[1.0f32, 7.0], [2.0, 7.0], [6.0, 7.0]]);
        let columns = Columns::of(x.view());
        assert_eq!((columns.means.as_slice(), columns.rows), (&[3.0, 7.0][..], 3));
        assert!((columns.deviations[0] - (14.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!((columns.deviations[1], columns.farthest.as_slice()), (0.0, &[3.0, 0.0][..]));
    }
}
