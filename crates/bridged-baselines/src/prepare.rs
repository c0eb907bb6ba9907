//! What most methods do to the numbers first: the pairs as two aligned matrices, inputs as standard
//! scores of their pool, outputs centred and brought to unit scale.

use crate::subspace::centred;
use bridged::scale::{Scale, Scaler};
use bridged::{Matrix, MatrixRef};
use bridged::{Problem, ProblemSize};

/// The rows of the pairs: row i of `x` belongs to row i of `y`.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// Their inputs, (pairs, d).
    pub x: Matrix,
    /// Their outputs, (pairs, d').
    pub y: Matrix,
}

impl Paired {
    /// The pairs of a problem, in its order.
    pub fn of(problem: Problem<'_>) -> Self {
        Self {
            x: problem.x.select(problem.pairs.iter().map(|(x, _)| x)),
            y: problem.y.select(problem.pairs.iter().map(|(_, y)| y)),
        }
    }
}

/// The bytes of [`Paired`].
pub(crate) fn pairs_memory(size: ProblemSize) -> f64 {
    4.0 * size.pairs as f64 * (size.x.1 + size.y.1) as f64
}

/// The bytes of [`Prepared`] while it is made.
pub(crate) fn prepared_memory(size: ProblemSize) -> f64 {
    4.0 * size.x.0 as f64 * size.x.1 as f64 + 3.0 * pairs_memory(size) + 64.0 * size.x.0 as f64
}

/// Columns to mean 0 and standard deviation 1 over the rows that it was fitted on; a constant
/// column becomes 0. The core's [`Scale::Standardize`], which cannot fail.
///
/// No row of a pool of n rows has a score beyond √(n − 1). Scores of rows that were not in it are
/// held within that: a column that hardly varied in the pool says of an unseen row that it is
/// unusual, not that it is a million times as far away as all others.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    scaler: Scaler,
    cols: usize,
    limit: f32,
}

impl Standard {
    /// Learns means and deviations.
    pub fn fit(x: MatrixRef<'_>) -> Self {
        let scaler = Scale::Standardize.fit(x, "x").expect("every pool has standard scores");
        let limit = (x.rows().saturating_sub(1) as f32).sqrt();
        Self { scaler, cols: x.cols(), limit }
    }

    /// The columns that it was fitted on.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// (x − mean) / deviation, within what a row of the pool can have.
    pub fn apply(&self, x: MatrixRef<'_>) -> Matrix {
        let mut scores = self.scaler.apply(x).into_matrix();
        scores.data_mut().iter_mut().for_each(|z| *z = z.clamp(-self.limit, self.limit));
        scores
    }
}

/// Rows around the mean of a pool, of unit length: only where they point counts. A row at the mean
/// stays zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    mean: Vec<f64>,
}

impl Unit {
    /// Learns the mean.
    pub fn fit(pool: MatrixRef<'_>) -> Self {
        Self { mean: pool.mean_row() }
    }

    /// (x − mean) / |x − mean|, row-major.
    pub fn apply(&self, x: MatrixRef<'_>) -> Vec<f64> {
        let mut rows = centred(x, &self.mean);
        to_unit_length(&mut rows, x);
        rows
    }
}

/// Divides each row by its length, in place. `rows` are rows of `given`, moved and perhaps in other
/// columns: what is shorter than single precision could tell from 0 there points nowhere and becomes 0.
pub(crate) fn to_unit_length(rows: &mut [f64], given: MatrixRef<'_>) {
    let cols = (rows.len() / given.rows().max(1)).max(1);
    for (row, given) in rows.chunks_exact_mut(cols).zip(given.iter_rows()) {
        let size = given.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        let factor = if length > 1e-7 * size { 1.0 / length } else { 0.0 };
        row.iter_mut().for_each(|v| *v *= factor);
    }
}

/// Outputs around their mean, divided by one common number so that their entries have a mean
/// square of 1: relative errors of the columns stay what they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Centred {
    mean: Vec<f32>,
    unit: f32,
}

impl Centred {
    /// Learns the mean and the scale. Of rows that are all equal the scale is 0: they encode to 0,
    /// and whatever is decoded is their mean.
    pub fn fit(y: MatrixRef<'_>) -> Self {
        let mean = y.mean_row();
        let square = |row: &[f32]| {
            row.iter().zip(&mean).map(|(&v, m)| (f64::from(v) - m).powi(2)).sum::<f64>()
        };
        let total: f64 = y.iter_rows().map(square).sum();
        let unit = (total / (y.rows() * y.cols()).max(1) as f64).sqrt();
        let unit = if unit > 1e-30 { unit as f32 } else { 0.0 };
        Self { mean: mean.into_iter().map(|m| m as f32).collect(), unit }
    }

    /// The dimension of the outputs.
    pub fn cols(&self) -> usize {
        self.mean.len()
    }

    /// One in these units is that much in the units of the data.
    pub fn unit(&self) -> f32 {
        self.unit
    }

    /// (y − mean) / unit.
    pub fn encode(&self, y: MatrixRef<'_>) -> Matrix {
        let factor = if self.unit > 0.0 { 1.0 / self.unit } else { 0.0 };
        Matrix::from_fn(y.rows(), y.cols(), |i, j| (y.row(i)[j] - self.mean[j]) * factor)
    }

    /// mean + unit · y, in place.
    pub fn decode(&self, y: &mut Matrix) {
        for i in 0..y.rows() {
            for (v, m) in y.row_mut(i).iter_mut().zip(&self.mean) {
                *v = m + self.unit * *v;
            }
        }
    }
}

/// A problem as a network sees it: standard scores in, centred outputs out.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Of the x pool.
    pub standard: Standard,
    /// Of the paired outputs.
    pub centred: Centred,
    /// The x pool.
    pub pool: Matrix,
    /// The inputs of the pairs.
    pub labelled: Matrix,
    /// The outputs of the pairs.
    pub answers: Matrix,
}

impl Prepared {
    /// Learns both scales and applies them.
    pub fn of(problem: Problem<'_>) -> Self {
        let (standard, paired) = (Standard::fit(problem.x), Paired::of(problem));
        let centred = Centred::fit(paired.y.view());
        Self {
            pool: standard.apply(problem.x),
            labelled: standard.apply(paired.x.view()),
            answers: centred.encode(paired.y.view()),
            standard,
            centred,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_columns_have_mean_zero_and_deviation_one_and_a_constant_one_is_zero() {
        let x = Matrix::from_fn(50, 3, |i, j| [i as f32, 1e4 + (i % 2) as f32, 0.1][j]);
        let s = Standard::fit(x.view()).apply(x.view());
        for (j, expected) in [1.0, 1.0, 0.0].into_iter().enumerate() {
            let column: Vec<f64> = (0..50).map(|i| f64::from(s.row(i)[j])).collect();
            let mean = column.iter().sum::<f64>() / 50.0;
            let square = column.iter().map(|v| v * v).sum::<f64>() / 50.0;
            assert!(mean.abs() < 1e-3 && (square - expected).abs() < 1e-3, "{j}: {mean} {square}");
        }
    }

    #[test]
    fn scores_of_unseen_rows_stay_within_what_a_pool_can_have() {
        let x = Matrix::from_fn(10, 1, |i, _| if i == 0 { 1e-4 } else { 0.0 });
        let standard = Standard::fit(x.view());
        let farthest = standard.apply(x.view()).row(0)[0];
        assert!((farthest - 3.0).abs() < 1e-5, "alone against nine others: √(10 − 1)");
        let unseen = Matrix::from_rows(&[[5.0], [-5.0]]);
        assert_eq!(standard.apply(unseen.view()).data(), [3.0, -3.0]);
    }

    #[test]
    fn unit_rows_have_length_one_and_the_mean_has_none() {
        let x = Matrix::from_rows(&[[1.0, 5.0], [3.0, 5.0], [2.0, 8.0], [2.0, 2.0], [2.0, 5.0]]);
        let unit = Unit::fit(x.view()).apply(x.view());
        assert_eq!(unit, [-1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0]);
    }

    #[test]
    fn centred_outputs_come_back() {
        let y = Matrix::from_fn(6, 2, |i, j| (i * (j + 2)) as f32 - 3.0);
        let centred = Centred::fit(y.view());
        let mut z = centred.encode(y.view());
        let square = z.data().iter().map(|v| v * v).sum::<f32>() / 12.0;
        assert!((square - 1.0).abs() < 1e-5);
        centred.decode(&mut z);
        assert!(z.data().iter().zip(y.data()).all(|(a, b)| (a - b).abs() < 1e-5));
        let equal = Matrix::from_rows(&[[2.0], [2.0]]);
        let centred = Centred::fit(equal.view());
        assert_eq!(centred.encode(equal.view()).data(), [0.0, 0.0]);
        let mut noise = Matrix::from_rows(&[[0.7]]);
        centred.decode(&mut noise);
        assert_eq!(noise.data(), [2.0]);
    }
}
