//! Where the numbers of a pool are counted from, so that 32-bit rows lose nothing that matters.
//!
//! Rows are `f32`. A column of 64-bit numbers that lie far from zero and close together (seconds since
//! 1970, coordinates in metres, identifiers of a sensor) would lose its differences: 1.7e9 and 1.7e9 + 60
//! are neighbours in `f32`. Such a column is counted from its mean m instead: the row holds v − m, taken
//! in `f64`, and whatever leaves the model has m added again, in `f64`.
//!
//! **Rule**: a column has an offset if rounding costs more than a ten-thousandth of its spread,
//! max |v − f32(v)| > 10⁻⁴ σ. So rows that were `f32` to begin with, ordinary embeddings in `f64` and
//! constant columns have none, and their models are the same bytes as ever.
//!
//! Distances, means and clusters do not change when all rows are moved alike. What does depend on
//! where zero is (lengths and angles of rows, centroids that are given) is told by
//! [`Clusterer::uses_origin`](crate::cluster::Clusterer::uses_origin); such a side is not moved.
//!
//! ```
//! use bridged::offset::{ColumnSums, Offset};
//!
//! let rows = [[1.7e9, 0.5], [1.7e9 + 60.0, 0.25]];
//! let mut sums = ColumnSums::new(2);
//! rows.iter().for_each(|row| sums.push(row));
//! let offset = sums.offset();
//! assert_eq!(offset.get(), [1.7e9 + 30.0, 0.0]);
//! assert_eq!(offset.lower(0, 1.7e9), -30.0);
//! assert_eq!(offset.raise(0, -30.0), 1.7e9);
//! ```

use bridged_math::{Matrix, MatrixRef};

/// What was taken off each column of a pool; nothing for ordinary data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offset(Vec<f64>);

impl Offset {
    /// The loss by rounding that is accepted, in standard deviations of the column.
    const ACCEPTED: f64 = 1e-4;

    /// These numbers, one per column; none if all are zero.
    pub fn new(columns: Vec<f64>) -> Self {
        if columns.iter().all(|&m| m == 0.0) { Self::default() } else { Self(columns) }
    }

    /// Whether nothing was taken off.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// One number per column; empty if nothing was taken off.
    pub fn get(&self) -> &[f64] {
        &self.0
    }

    fn at(&self, column: usize) -> f64 {
        self.0.get(column).copied().unwrap_or(0.0)
    }

    /// A number of that column as a row holds it.
    pub fn lower(&self, column: usize, value: f64) -> f32 {
        (value - self.at(column)) as f32
    }

    /// A number of a row in the units of the data.
    pub fn raise(&self, column: usize, value: f32) -> f64 {
        f64::from(value) + self.at(column)
    }

    /// Rows in the units of the data, row by row.
    pub fn raise_rows(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let raised = rows.iter_rows().flat_map(|row| row.iter().enumerate());
        raised.map(|(column, &value)| self.raise(column, value)).collect()
    }

    /// Rows in the units of the data as far as `f32` can tell them apart.
    pub fn undo(&self, mut rows: Matrix) -> Matrix {
        if !self.is_none() {
            for i in 0..rows.rows() {
                for (column, value) in rows.row_mut(i).iter_mut().enumerate() {
                    *value = self.raise(column, *value) as f32;
                }
            }
        }
        rows
    }
}

/// What the rule needs to know of the columns, gathered row by row. Numbers that are missing or not
/// finite play no part.
#[derive(Clone, Debug)]
pub struct ColumnSums {
    counts: Vec<u64>,
    /// The first number of each column: sums around it lose no digits.
    first: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
    losses: Vec<f64>,
}

impl ColumnSums {
    /// For rows of that many columns.
    pub fn new(columns: usize) -> Self {
        let zeros = || vec![0.0; columns];
        Self {
            counts: vec![0; columns],
            first: zeros(),
            sums: zeros(),
            squares: zeros(),
            losses: zeros(),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[f64]) {
        for (column, &value) in row.iter().enumerate() {
            self.see(column, value);
        }
    }

    /// Adds a number of one column.
    pub fn see(&mut self, column: usize, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.counts[column] == 0 {
            self.first[column] = value;
        }
        self.counts[column] += 1;
        let from_first = value - self.first[column];
        self.sums[column] += from_first;
        self.squares[column] += from_first * from_first;
        let loss = (value - f64::from(value as f32)).abs();
        self.losses[column] = self.losses[column].max(loss);
    }

    /// The mean of each column; NaN for a column without numbers.
    pub fn means(&self) -> Vec<f64> {
        let mean = |c: usize| self.first[c] + self.sums[c] / self.counts[c] as f64;
        (0..self.counts.len()).map(mean).collect()
    }

    /// The offset that the rule of this module gives.
    pub fn offset(&self) -> Offset {
        let means = self.means();
        let columns = (0..means.len()).map(|c| {
            let mean = self.sums[c] / self.counts[c] as f64;
            let variance = self.squares[c] / self.counts[c] as f64 - mean * mean;
            let deviation = variance.max(0.0).sqrt();
            // What f32 cannot hold at all is told as such later, not moved.
            let moved = deviation > 0.0
                && self.losses[c].is_finite()
                && self.losses[c] > Offset::ACCEPTED * deviation;
            if moved { means[c] } else { 0.0 }
        });
        Offset::new(columns.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(rows: &[[f64; 1]]) -> Vec<f64> {
        let mut sums = ColumnSums::new(1);
        rows.iter().for_each(|row| sums.push(row));
        sums.offset().get().to_vec()
    }

    #[test]
    fn only_columns_that_would_lose_their_differences_are_moved() {
        assert_eq!(offset(&[[1.7e9], [1.7e9 + 60.0]]), [1.7e9 + 30.0]);
        // Ordinary numbers in f64, numbers that are f32, and constants stay.
        assert!(offset(&[[0.1], [0.7], [-0.3]]).is_empty());
        assert!(offset(&[[f64::from(16_777_216.0f32)], [f64::from(16_777_218.0f32)]]).is_empty());
        assert!(offset(&[[0.1], [0.1], [0.1]]).is_empty());
        assert!(offset(&[[1.7e9 + 1.0], [1.7e9 + 1.0]]).is_empty());
        // Too large for f32: nothing to move.
        assert!(offset(&[[1e300], [2e300]]).is_empty());
    }

    #[test]
    fn gaps_and_the_order_of_the_rows_do_not_matter() {
        let mut rows = [[f64::NAN], [1.7e9], [1.7e9 + 60.0], [f64::INFINITY]];
        assert_eq!(offset(&rows), [1.7e9 + 30.0]);
        rows.reverse();
        assert_eq!(offset(&rows), [1.7e9 + 30.0]);
        assert!(offset(&[[f64::NAN]]).is_empty());
    }

    #[test]
    fn rows_that_are_raised_again_lose_nothing() {
        let offset = Offset::new(vec![1.7e9, 0.0]);
        let rows = Matrix::from_rows(&[[60.5, 0.25], [-1.0, 2.0]]);
        assert_eq!(offset.raise_rows(rows.view()), [1.7e9 + 60.5, 0.25, 1.7e9 - 1.0, 2.0]);
        assert_eq!(offset.undo(rows).row(1), [1.7e9, 2.0]);
        assert_eq!(offset.lower(1, 0.25), 0.25);
    }
}
