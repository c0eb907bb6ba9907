//! Collects rows of lists into one matrix while a file is read, batch after batch.
//!
//! The rows go straight into the buffer that becomes the [`Matrix`]; nothing is copied twice. Rows
//! that do not fit together are noted, not refused: the column may not be the one that is wanted.

use crate::table::ColumnData;
use bridged_math::Matrix;

/// A growing column of vectors.
#[derive(Debug, Default)]
pub(crate) struct VectorBuilder {
    width: Option<usize>,
    data: Vec<f32>,
    rows: usize,
    /// Empty until the first missing row.
    valid: Vec<bool>,
    ragged: Option<ColumnData>,
}

impl VectorBuilder {
    /// Makes room for this many more rows once the width is known; a promise of a file that is not
    /// to be trusted, so failing to find the room is no error.
    pub fn expect_rows(&mut self, rows: usize, width: usize) {
        if self.data.capacity() == 0 {
            let _ = self.data.try_reserve_exact(rows.saturating_mul(width));
        }
    }

    /// Adds one row.
    pub fn push(&mut self, row: &[f32]) {
        self.push_block(1, row.len(), row);
    }

    /// Adds `rows` rows of one width at once.
    pub fn push_block(&mut self, rows: usize, width: usize, values: &[f32]) {
        debug_assert_eq!(values.len(), rows * width);
        if rows == 0 || self.ragged.is_some() {
            return;
        }
        match self.width {
            Some(expected) if expected != width => {
                self.ragged = Some(ColumnData::Ragged { row: self.rows, expected, got: width });
                self.data = Vec::new();
                return;
            }
            Some(_) => {}
            None => {
                self.width = Some(width);
                self.data.resize(self.rows * width, f32::NAN);
            }
        }
        self.data.extend_from_slice(values);
        if !self.valid.is_empty() {
            self.valid.resize(self.rows + rows, true);
        }
        self.rows += rows;
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
            self.data.resize(self.rows * width, f32::NAN);
        }
    }

    /// The finished column.
    pub fn finish(self) -> ColumnData {
        if let Some(ragged) = self.ragged {
            return ragged;
        }
        let values = Matrix::new(self.rows, self.width.unwrap_or(0), self.data)
            .expect("every push adds `width` numbers per row");
        if self.valid.is_empty() {
            ColumnData::Vector(values)
        } else {
            ColumnData::OptionalVector { values, valid: self.valid }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_missing_before_the_width_is_known_keep_their_place() {
        let mut builder = VectorBuilder::default();
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
        let mut builder = VectorBuilder::default();
        builder.push_block(2, 3, &[0.0; 6]);
        builder.push(&[0.0; 2]);
        builder.push(&[0.0; 5]);
        builder.push_null();
        let ragged = builder.finish();
        assert!(matches!(ragged, ColumnData::Ragged { row: 2, expected: 3, got: 2 }));
    }
}
