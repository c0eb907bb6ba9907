//! A sparse matrix between dense layers: what a graph network propagates with.

use super::Real;
use bridged_math::chunks::map_blocks_mut;

/// Compressed rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse<T = f32> {
    offsets: Vec<usize>,
    entries: Vec<(u32, T)>,
    cols: usize,
}

impl<T: Real> Sparse<T> {
    /// Rows of (column, value), of `cols` columns.
    ///
    /// # Panics
    /// If a column is out of range.
    pub fn from_rows<R: IntoIterator<Item = (usize, T)>>(
        rows: impl IntoIterator<Item = R>,
        cols: usize,
    ) -> Self {
        let (mut offsets, mut entries) = (vec![0], Vec::new());
        for row in rows {
            entries.extend(row.into_iter().map(|(column, value)| {
                assert!(column < cols, "a column of the matrix");
                (column as u32, value)
            }));
            offsets.push(entries.len());
        }
        Self { offsets, entries, cols }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many columns it has.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The entries of a row.
    pub fn row(&self, i: usize) -> impl ExactSizeIterator<Item = (usize, T)> {
        let range = self.offsets[i]..self.offsets[i + 1];
        self.entries[range].iter().map(|&(column, value)| (column as usize, value))
    }

    /// `out` (rows, width) = S `x` (cols, width), blocks of rows in parallel.
    pub fn apply(&self, width: usize, x: &[T], out: &mut [T]) {
        assert_eq!(out.len(), self.rows() * width, "a row of outputs for each row");
        map_blocks_mut(out, width, |rows, part| {
            for (i, out) in rows.zip(part.chunks_exact_mut(width)) {
                out.fill(T::ZERO);
                for (j, weight) in self.row(i) {
                    let x = &x[j * width..(j + 1) * width];
                    out.iter_mut().zip(x).for_each(|(o, &v)| *o += weight * v);
                }
            }
        });
    }

    /// `out` (cols, width) = Sᵀ `d` (rows, width).
    pub fn apply_transposed(&self, width: usize, d: &[T], out: &mut [T]) {
        assert_eq!(out.len(), self.cols * width, "a row of outputs for each column");
        out.fill(T::ZERO);
        for (i, d) in d.chunks_exact(width).enumerate() {
            for (j, weight) in self.row(i) {
                let out = &mut out[j * width..(j + 1) * width];
                out.iter_mut().zip(d).for_each(|(o, &v)| *o += weight * v);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_multiplies_from_either_side() {
        let s = Sparse::from_rows([vec![(1, 2.0), (2, 1.0)], vec![], vec![(0, 3.0)]], 4);
        let mut out = [9.0; 6];
        s.apply(2, &[1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0], &mut out);
        assert_eq!(out, [7.0, 70.0, 0.0, 0.0, 3.0, 30.0]);
        let mut back = [9.0; 4];
        s.apply_transposed(1, &[1.0, 5.0, 2.0], &mut back);
        assert_eq!(back, [6.0, 2.0, 1.0, 0.0]);
    }
}
