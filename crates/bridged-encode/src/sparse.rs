//! Sparse rows: of most entries that are zero nothing is kept.
//!
//! Rows are stored one after the other (compressed sparse rows). A row costs its entries; a transpose costs all of them.

use bridged_math::Matrix;

/// Rows of which most entries are zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    cols: usize,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Sparse {
    /// Rows of (column, value), columns ascending.
    pub fn from_rows(cols: usize, rows: impl IntoIterator<Item = Vec<(u32, f32)>>) -> Self {
        let mut sparse = Self { cols, offsets: vec![0], columns: Vec::new(), values: Vec::new() };
        for row in rows {
            debug_assert!(row.is_sorted_by_key(|(c, _)| *c));
            sparse.columns.extend(row.iter().map(|(c, _)| c));
            sparse.values.extend(row.iter().map(|(_, v)| v));
            sparse.offsets.push(sparse.columns.len());
        }
        sparse
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many columns there are.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The entries of a row that are not zero, columns ascending.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f32)> {
        let range = self.offsets[i]..self.offsets[i + 1];
        self.columns[range.clone()]
            .iter()
            .map(|&c| c as usize)
            .zip(self.values[range].iter().copied())
    }

    /// Columns as rows.
    pub fn transpose(&self) -> Self {
        let mut offsets = vec![0; self.cols + 1];
        self.columns.iter().for_each(|&c| offsets[c as usize + 1] += 1);
        (0..self.cols).for_each(|c| offsets[c + 1] += offsets[c]);
        let mut next = offsets.clone();
        let mut columns = vec![0; self.columns.len()];
        let mut values = vec![0.0; self.values.len()];
        for i in 0..self.rows() {
            for (c, v) in self.row(i) {
                columns[next[c]] = i as u32;
                values[next[c]] = v;
                next[c] += 1;
            }
        }
        Self { cols: self.rows(), offsets, columns, values }
    }

    /// With the zeros.
    pub fn to_dense(&self) -> Matrix {
        let mut dense = Matrix::zeros(self.rows(), self.cols);
        for i in 0..self.rows() {
            let out = dense.row_mut(i);
            self.row(i).for_each(|(c, v)| out[c] = v);
        }
        dense
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transpose_of_a_transpose_is_the_same() {
        let held =
            |i: u32| (0..12).filter(move |c| i % 7 != 3 && (i * i + 3 * c).is_multiple_of(5));
        let row = |i: u32| held(i).map(move |c| (c, (i + c) as f32));
        let rows = Sparse::from_rows(12, (0..50).map(|i| row(i).collect()));
        assert_eq!(rows.transpose().transpose(), rows);
        let (dense, turned) = (rows.to_dense(), rows.transpose().to_dense());
        assert!((0..50).all(|i| (0..12).all(|j| dense.row(i)[j] == turned.row(j)[i])));
        assert!((0..50).any(|i| rows.row(i).next().is_none()), "some rows are empty");
    }
}
