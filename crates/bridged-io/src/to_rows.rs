//! The vectors of a table on their way to rows of 32-bit floats.

use crate::table::ColumnData;
use crate::vectors::DoubleRows;
use bridged::offset::{ColumnSums, Offset};
use bridged::range::check_largest;
use bridged_math::Matrix;

/// The vectors of a table before they are rows.
pub(crate) enum Vectors<'a> {
    Singles(Matrix),
    Doubles(DoubleRows),
    /// One column per entry.
    Columns(Vec<&'a ColumnData>),
}

impl Vectors<'_> {
    /// The offset that the numbers need.
    pub fn offset(&self, rows: usize) -> Offset {
        match self {
            Self::Singles(_) => Offset::default(),
            Self::Doubles(values) => values.sums().offset(),
            Self::Columns(columns) => {
                let mut sums = ColumnSums::new(columns.len());
                for (j, column) in columns.iter().enumerate() {
                    (0..rows).for_each(|i| sums.see(j, column.number(i)));
                }
                sums.offset()
            }
        }
    }

    /// As rows without the offset.
    pub fn into_rows(self, rows: usize, offset: &Offset) -> Matrix {
        match self {
            Self::Singles(values) if offset.is_none() => values,
            Self::Singles(values) => {
                let lowered = |i: usize, j: usize| offset.lower(j, f64::from(values.row(i)[j]));
                Matrix::from_fn(values.rows(), values.cols(), lowered)
            }
            Self::Doubles(values) => values.into_singles(offset),
            Self::Columns(columns) => {
                let lowered = |i: usize, j: usize| offset.lower(j, columns[j].number(i));
                Matrix::from_fn(rows, columns.len(), lowered)
            }
        }
    }

    /// The entries of a row.
    pub fn cols(&self) -> usize {
        match self {
            Self::Singles(values) => values.cols(),
            Self::Doubles(values) => values.cols(),
            Self::Columns(columns) => columns.len(),
        }
    }

    /// Calls `each` with every row in order.
    pub fn for_each_row(&self, rows: usize, each: &mut dyn FnMut(usize, &[f64])) {
        let mut held = vec![0.0; self.cols()];
        match self {
            Self::Singles(values) => {
                for (i, row) in values.view().iter_rows().enumerate() {
                    held.iter_mut().zip(row).for_each(|(to, v)| *to = f64::from(*v));
                    each(i, &held);
                }
            }
            Self::Doubles(values) => {
                values.iter_rows().enumerate().for_each(|(i, row)| each(i, row));
            }
            Self::Columns(columns) => {
                for i in 0..rows {
                    held.iter_mut().zip(columns).for_each(|(to, column)| *to = column.number(i));
                    each(i, &held);
                }
            }
        }
    }

    /// Refuses numbers that would all vanish in `f32`.
    pub fn check_small(
        &self,
        rows: usize,
        offset: &Offset,
    ) -> Result<(), bridged::range::OutOfRange> {
        let by = offset.get();
        let mut largest = 0.0f64;
        let mut see = |j: usize, v: f64| {
            let v = (v - by.get(j).copied().unwrap_or(0.0)).abs();
            if v.is_finite() {
                largest = largest.max(v);
            }
            // Numbers of ordinary size end the search.
            v >= 1e-15
        };
        let ordinary = match self {
            Self::Singles(_) => true,
            Self::Doubles(values) => {
                let mut numbers = values.iter_rows().flat_map(|row| row.iter().enumerate());
                numbers.any(|(j, &v)| see(j, v))
            }
            Self::Columns(columns) => (columns.iter().enumerate())
                .any(|(j, column)| (0..rows).any(|i| see(j, column.number(i)))),
        };
        if ordinary { Ok(()) } else { check_largest(largest) }
    }
}

impl ColumnData {
    /// The number in a row of a numeric column; NaN where there is none.
    pub(crate) fn number(&self, row: usize) -> f64 {
        match self {
            Self::Number(v) | Self::Code { numbers: v, .. } => v[row],
            Self::Integer(v) => v[row].map_or(f64::NAN, |v| v as f64),
            _ => f64::NAN,
        }
    }
}

/// Puts the mean of each column where it has a gap; gives how many, or the column without a number.
pub(crate) fn fill(rows: &mut Matrix, mean: Option<&[f32]>) -> Result<usize, usize> {
    let gaps = |rows: &Matrix| rows.data().iter().filter(|v| v.is_nan()).count();
    let count = gaps(rows);
    if count == 0 {
        return Ok(0);
    }
    let mean: Vec<f32> = match mean {
        Some(mean) => mean.to_vec(),
        None => {
            let mut sums = ColumnSums::new(rows.cols());
            for row in rows.view().iter_rows() {
                for (column, &value) in row.iter().enumerate() {
                    sums.see(column, f64::from(value));
                }
            }
            sums.means().into_iter().map(|mean| mean as f32).collect()
        }
    };
    for i in 0..rows.rows() {
        for (value, mean) in rows.row_mut(i).iter_mut().zip(&mean) {
            if value.is_nan() {
                *value = *mean;
            }
        }
    }
    match mean.iter().position(|mean| mean.is_nan()) {
        Some(column) => Err(column),
        None => Ok(count),
    }
}
