//! A dense row-major matrix of `f32`, owned or borrowed: one row is one observation.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An owned row-major matrix; row `i` is `data[i * cols .. (i + 1) * cols]`.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f32>,
}

/// A borrowed row-major matrix; what every algorithm takes.
#[derive(Clone, Copy, PartialEq)]
pub struct MatrixRef<'a> {
    rows: usize,
    cols: usize,
    data: &'a [f32],
}

/// The buffer's length is not `rows × cols`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// Rows that were asked for.
    pub rows: usize,
    /// Columns that were asked for.
    pub cols: usize,
    /// Numbers in the buffer.
    pub len: usize,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, cols, len } = self;
        write!(f, "a buffer of {len} numbers is not a {rows} × {cols} matrix")
    }
}

impl std::error::Error for ShapeError {}

impl Matrix {
    /// Wraps a row-major buffer.
    pub fn new(rows: usize, cols: usize, data: Vec<f32>) -> Result<Self, ShapeError> {
        match rows.checked_mul(cols) {
            Some(len) if len == data.len() => Ok(Self { rows, cols, data }),
            _ => Err(ShapeError { rows, cols, len: data.len() }),
        }
    }

    /// All zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![0.0; rows * cols] }
    }

    /// Entry `(i, j)` is `f(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> f32) -> Self {
        let mut data = Vec::with_capacity(rows * cols);
        for i in 0..rows {
            data.extend((0..cols).map(|j| f(i, j)));
        }
        Self { rows, cols, data }
    }

    /// Copies rows of equal length.
    ///
    /// # Panics
    /// If the rows differ in length; for literals in tests and examples.
    pub fn from_rows<R: AsRef<[f32]>>(rows: &[R]) -> Self {
        let cols = rows.first().map_or(0, |r| r.as_ref().len());
        let mut data = Vec::with_capacity(rows.len() * cols);
        for row in rows {
            assert_eq!(row.as_ref().len(), cols, "rows of a matrix have one length");
            data.extend_from_slice(row.as_ref());
        }
        Self { rows: rows.len(), cols, data }
    }

    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, to write into.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// The whole buffer.
    #[inline]
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// The whole buffer, to write into.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }

    /// Gives the buffer away.
    pub fn into_data(self) -> Vec<f32> {
        self.data
    }

    /// Borrows it.
    #[inline]
    pub fn view(&self) -> MatrixRef<'_> {
        MatrixRef { rows: self.rows, cols: self.cols, data: &self.data }
    }
}

impl<'a> MatrixRef<'a> {
    /// Wraps a borrowed row-major buffer.
    pub fn new(rows: usize, cols: usize, data: &'a [f32]) -> Result<Self, ShapeError> {
        match rows.checked_mul(cols) {
            Some(len) if len == data.len() => Ok(Self { rows, cols, data }),
            _ => Err(ShapeError { rows, cols, len: data.len() }),
        }
    }

    /// The number of rows.
    #[inline]
    pub fn rows(self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[inline]
    pub fn cols(self) -> usize {
        self.cols
    }

    /// Row `i`.
    #[inline]
    pub fn row(self, i: usize) -> &'a [f32] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// The whole buffer.
    #[inline]
    pub fn data(self) -> &'a [f32] {
        self.data
    }

    /// All rows in order (a matrix without columns has rows that are empty).
    pub fn iter_rows(self) -> impl ExactSizeIterator<Item = &'a [f32]> {
        (0..self.rows).map(move |i| self.row(i))
    }

    /// Rows `from..to` without a copy.
    #[inline]
    pub fn slice(self, range: std::ops::Range<usize>) -> MatrixRef<'a> {
        let data = &self.data[range.start * self.cols..range.end * self.cols];
        MatrixRef { rows: range.len(), cols: self.cols, data }
    }

    /// Copies the named rows, in the given order.
    pub fn select<I>(self, indices: I) -> Matrix
    where
        I: IntoIterator<Item = usize>,
    {
        let mut data = Vec::new();
        let mut rows = 0;
        for i in indices {
            data.extend_from_slice(self.row(i));
            rows += 1;
        }
        Matrix { rows, cols: self.cols, data }
    }

    /// Copies it.
    pub fn to_matrix(self) -> Matrix {
        Matrix { rows: self.rows, cols: self.cols, data: self.data.to_vec() }
    }

    /// The first entry that is NaN or infinite, as (row, column).
    pub fn first_non_finite(self) -> Option<(usize, usize)> {
        let bad = crate::chunks::map_blocks(self.rows, |range| {
            let rows = self.slice(range.clone());
            // Without an early exit, it vectorises.
            let is_bad = rows.data.iter().fold(false, |bad, v| bad | !v.is_finite());
            is_bad.then_some(range.start)
        });
        let start = bad.into_iter().flatten().next()? * self.cols;
        let at = start + self.data[start..].iter().position(|v| !v.is_finite())?;
        Some((at / self.cols, at % self.cols))
    }

    /// The mean of all rows, summed in `f64`.
    pub fn mean_row(self) -> Vec<f64> {
        let partials = crate::chunks::map_blocks(self.rows, |range| {
            let mut sum = vec![0.0f64; self.cols];
            for i in range {
                for (s, &v) in sum.iter_mut().zip(self.row(i)) {
                    *s += f64::from(v);
                }
            }
            sum
        });
        let mut mean = vec![0.0f64; self.cols];
        for partial in partials {
            for (m, p) in mean.iter_mut().zip(partial) {
                *m += p;
            }
        }
        let n = self.rows.max(1) as f64;
        mean.iter_mut().for_each(|m| *m /= n);
        mean
    }
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

impl fmt::Debug for MatrixRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} ", self.rows, self.cols)?;
        f.debug_list().entries(self.iter_rows().take(4)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_the_wrong_length_is_refused() {
        assert_eq!(Matrix::new(2, 3, vec![0.0; 5]), Err(ShapeError { rows: 2, cols: 3, len: 5 }));
        assert!(MatrixRef::new(usize::MAX, 2, &[]).is_err());
    }

    #[test]
    fn the_first_non_finite_entry_is_named_by_row_and_column() {
        let mut m = Matrix::zeros(3000, 3);
        assert_eq!(m.view().first_non_finite(), None);
        m.row_mut(2999)[1] = f32::INFINITY;
        assert_eq!(m.view().first_non_finite(), Some((2999, 1)));
        m.row_mut(7)[2] = f32::NAN;
        assert_eq!(m.view().first_non_finite(), Some((7, 2)));
    }

    #[test]
    fn select_takes_rows_in_the_order_asked_for() {
        let m = Matrix::from_rows(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        assert_eq!(m.view().select([2, 0]), Matrix::from_rows(&[[5.0, 6.0], [1.0, 2.0]]));
    }

    #[test]
    fn the_mean_is_summed_in_double_precision() {
        let m = Matrix::from_fn(1 << 20, 1, |_, _| 0.1);
        assert!((m.view().mean_row()[0] - f64::from(0.1f32)).abs() < 1e-12);
    }
}
