//! Collects rows of lists into one matrix while a file is read, batch after batch.
//!
//! Rows of `f32` go straight into the buffer that becomes the [`Matrix`]; nothing is copied twice. Rows
//! of `f64` stay as they are, in blocks, until somebody says what is to be taken off their columns
//! ([`DoubleRows`]). Rows that do not fit together are noted, not refused: the column may not be the one
//! that is wanted.

use crate::table::ColumnData;
use bridged::offset::{ColumnSums, Offset};
use bridged_math::Matrix;

/// A number that lists are made of.
pub(crate) trait Entry: Copy {
    /// Stands in for what is missing.
    const NAN: Self;
    /// A block that holds this many is full.
    const BLOCK: usize;
}

impl Entry for f32 {
    const NAN: Self = f32::NAN;
    const BLOCK: usize = usize::MAX;
}

impl Entry for f64 {
    const NAN: Self = f64::NAN;
    const BLOCK: usize = 1 << 20;
}

/// Rows of 64-bit numbers, in blocks that are given back one by one as they become rows of `f32`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DoubleRows {
    rows: usize,
    cols: usize,
    /// Whole rows each.
    blocks: Vec<Vec<f64>>,
}

impl DoubleRows {
    /// Rows of that many columns, one after the other; `None` if the numbers do not fill them.
    pub fn new(rows: usize, cols: usize, data: Vec<f64>) -> Option<Self> {
        (rows.checked_mul(cols) == Some(data.len())).then(|| Self {
            rows,
            cols,
            blocks: vec![data],
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The rows in order; none if they have no columns.
    pub fn iter_rows(&self) -> impl Iterator<Item = &[f64]> {
        let cols = self.cols.max(1);
        self.blocks.iter().flat_map(move |block| block.chunks_exact(cols))
    }

    /// The numbers of a range of rows.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Vec<f64> {
        let (mut at, end) = (range.start * self.cols, range.end * self.cols);
        let (mut start, mut numbers) = (0, Vec::with_capacity(end - at));
        for block in &self.blocks {
            let stop = start + block.len();
            if at < stop && at < end {
                numbers.extend_from_slice(&block[at - start..end.min(stop) - start]);
                at = end.min(stop);
            }
            start = stop;
        }
        numbers
    }

    /// Adds rows of the same width below.
    pub(crate) fn append(&mut self, mut below: Self) {
        self.rows += below.rows;
        self.blocks.append(&mut below.blocks);
    }

    /// The rows at those places, which rise.
    pub(crate) fn keep_rows(&mut self, rows: &[usize]) {
        let mut wanted = rows.iter().copied().peekable();
        let (cols, mut first) = (self.cols.max(1), 0);
        for block in &mut self.blocks {
            let (held, mut kept) = (block.len() / cols, Vec::new());
            while let Some(row) = wanted.next_if(|row| *row < first + held) {
                kept.extend_from_slice(&block[(row - first) * cols..(row - first + 1) * cols]);
            }
            (first, *block) = (first + held, kept);
        }
        self.rows = rows.len();
    }

    /// What is to be taken off their columns, and the mean of each.
    pub(crate) fn sums(&self) -> ColumnSums {
        let mut sums = ColumnSums::new(self.cols);
        self.iter_rows().for_each(|row| sums.push(row));
        sums
    }

    /// As rows of `f32`, with that taken off.
    pub fn into_singles(self, offset: &Offset) -> Matrix {
        let mut data = Vec::with_capacity(self.rows * self.cols);
        for block in self.blocks {
            if offset.is_none() {
                data.extend(block.iter().map(|&v| v as f32));
            } else {
                let numbers = block.iter().enumerate();
                data.extend(numbers.map(|(i, &v)| offset.lower(i % self.cols, v)));
            }
        }
        Matrix::new(self.rows, self.cols, data).expect("blocks hold whole rows")
    }
}

/// A growing column of vectors.
#[derive(Debug)]
pub(crate) struct VectorBuilder<T> {
    width: Option<usize>,
    blocks: Vec<Vec<T>>,
    rows: usize,
    /// Empty until the first missing row.
    valid: Vec<bool>,
    ragged: Option<ColumnData>,
}

impl<T> Default for VectorBuilder<T> {
    fn default() -> Self {
        Self { width: None, blocks: Vec::new(), rows: 0, valid: Vec::new(), ragged: None }
    }
}

impl<T: Entry> VectorBuilder<T> {
    /// Makes room for this many more rows once the width is known; a promise of a file that is not
    /// to be trusted, so failing to find the room is no error.
    pub fn expect_rows(&mut self, rows: usize, width: usize) {
        if self.blocks.is_empty() {
            let mut block = Vec::new();
            if T::BLOCK == usize::MAX {
                let _ = block.try_reserve_exact(rows.saturating_mul(width));
            }
            self.blocks.push(block);
        }
    }

    /// Adds one row.
    pub fn push(&mut self, row: &[T]) {
        self.push_block(1, row.len(), row);
    }

    /// Adds `rows` rows of one width at once.
    pub fn push_block(&mut self, rows: usize, width: usize, values: &[T]) {
        debug_assert_eq!(values.len(), rows * width);
        if rows == 0 || self.ragged.is_some() {
            return;
        }
        match self.width {
            Some(expected) if expected != width => {
                self.ragged = Some(ColumnData::Ragged { row: self.rows, expected, got: width });
                self.blocks = Vec::new();
                return;
            }
            Some(_) => {}
            None => {
                self.width = Some(width);
                self.gaps(self.rows * width);
            }
        }
        self.block().extend_from_slice(values);
        if !self.valid.is_empty() {
            self.valid.resize(self.rows + rows, true);
        }
        self.rows += rows;
    }

    /// The block that is being filled.
    fn block(&mut self) -> &mut Vec<T> {
        if self.blocks.last().is_none_or(|block| block.len() >= T::BLOCK) {
            self.blocks.push(Vec::new());
        }
        self.blocks.last_mut().expect("there is one now")
    }

    fn gaps(&mut self, count: usize) {
        self.block().extend(std::iter::repeat_n(T::NAN, count));
    }

    /// Adds a row that has no vector; NaN stands in for it, so that ignoring the gap shows.
    pub fn push_null(&mut self) {
        if self.ragged.is_some() {
            return;
        }
        self.valid.resize(self.rows, true);
        self.valid.push(false);
        self.rows += 1;
        if let Some(width) = self.width {
            self.gaps(width);
        }
    }
}

impl VectorBuilder<f32> {
    /// The finished column.
    pub fn finish(mut self) -> ColumnData {
        if let Some(ragged) = self.ragged {
            return ragged;
        }
        let data = self.blocks.pop().unwrap_or_default();
        let values = Matrix::new(self.rows, self.width.unwrap_or(0), data)
            .expect("every push adds `width` numbers per row");
        if self.valid.is_empty() {
            ColumnData::Vector(values)
        } else {
            ColumnData::OptionalVector { values, valid: self.valid }
        }
    }
}

impl VectorBuilder<f64> {
    /// The finished column.
    pub fn finish(self) -> ColumnData {
        if let Some(ragged) = self.ragged {
            return ragged;
        }
        let Self { rows, blocks, valid, .. } = self;
        let values = DoubleRows { rows, cols: self.width.unwrap_or(0), blocks };
        ColumnData::DoubleVector { values, valid }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_missing_before_the_width_is_known_keep_their_place() {
        let mut builder = VectorBuilder::<f32>::default();
        builder.push_null();
        builder.push(&[1.0, 2.0]);
        builder.push_null();
        let ColumnData::OptionalVector { values, valid } = builder.finish() else {
            panic!("two rows are missing")
        };
        assert_eq!(valid, [false, true, false]);
        assert_eq!((values.rows(), values.row(1)), (3, &[1.0f32, 2.0][..]));
        assert!(values.row(0).iter().chain(values.row(2)).all(|v| v.is_nan()));
    }

    #[test]
    fn the_first_row_of_another_length_is_remembered() {
        let mut builder = VectorBuilder::<f64>::default();
        builder.push_block(2, 3, &[0.0; 6]);
        builder.push(&[0.0; 2]);
        builder.push(&[0.0; 5]);
        builder.push_null();
        let ragged = builder.finish();
        assert!(matches!(ragged, ColumnData::Ragged { row: 2, expected: 3, got: 2 }));
    }

    #[test]
    fn rows_of_doubles_are_the_same_in_any_number_of_blocks() {
        let data: Vec<f64> = (0..12).map(|i| 1.7e9 + f64::from(i)).collect();
        let one = DoubleRows::new(6, 2, data.clone()).unwrap();
        let blocks = vec![data[..2].to_vec(), data[2..8].to_vec(), Vec::new(), data[8..].to_vec()];
        let many = DoubleRows { rows: 6, cols: 2, blocks };
        assert!(one.iter_rows().eq(many.iter_rows()));
        for (start, end) in [(0, 6), (1, 2), (2, 5), (3, 3)] {
            assert_eq!(one.slice(start..end), many.slice(start..end));
        }
        let offset = many.sums().offset();
        assert_eq!(offset.get(), [1.7e9 + 5.0, 1.7e9 + 6.0]);
        assert_eq!(one.into_singles(&offset), many.clone().into_singles(&offset));
        assert_eq!(many.into_singles(&offset).row(0), [-5.0, -5.0]);
        assert!(DoubleRows::new(2, 3, data).is_none());
    }
}
