//! Rows that are visited in a fixed order, as often as an algorithm needs them, in memory or not.
//!
//! A pass over [`Rows`] sees them in parts, one after the other. Where one part ends and the next begins
//! is up to the source: a row group of a Parquet file, a few thousand lines of a memory-mapped array, or
//! all of a matrix at once. **Nothing that is computed may depend on these borders.** A sum is taken row
//! by row in row order, or in the blocks of [`chunks`] whose borders follow from the
//! number of rows alone ([`BlockSums`]). Then a fit from files has the bytes of the fit in memory.
//!
//! ```
//! use bridged_math::rows::{InParts, Rows};
//! use bridged_math::Matrix;
//!
//! let x = Matrix::from_rows(&[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
//! let rows = InParts::new(x.view(), 2);
//! let mut parts = Vec::new();
//! rows.scan(&mut |first, part| {
//!     parts.push((first, part.rows()));
//!     Ok(())
//! })?;
//! assert_eq!(parts, [(0, 2), (2, 1)]);
//! assert_eq!(rows.select(&[0, 2])?.row(1), [5.0, 6.0]);
//! # Ok::<(), bridged_math::rows::RowsError>(())
//! ```

use crate::cancel::checkpoint;
use crate::{Matrix, MatrixRef, chunks};
use std::fmt;
use std::ops::{ControlFlow, Range};

/// What a pass calls with the number of the first row of a part, and the part.
pub type Visit<'a> = dyn FnMut(usize, MatrixRef<'_>) -> Result<(), RowsError> + 'a;

/// Rows of one width in a fixed order. How many there are is known before the first pass.
pub trait Rows: Send + Sync {
    /// The number of rows.
    fn rows(&self) -> usize;

    /// The number of columns.
    fn cols(&self) -> usize;

    /// Hands out all rows, in order. An error of the source or of the visitor ends the pass.
    fn scan(&self, visit: &mut Visit<'_>) -> Result<(), RowsError>;

    /// Hands out these rows, whose numbers ascend, in order and in parts. The visitor is told the place of the first
    /// row of a part in `rows`.
    fn scan_some(&self, rows: &[usize], visit: &mut Visit<'_>) -> Result<(), RowsError> {
        debug_assert!(rows.is_sorted());
        let mut next = 0;
        self.scan(&mut |first, part| {
            let here = rows[next..].partition_point(|&row| row < first + part.rows());
            if here == 0 {
                return Ok(());
            }
            let found = part.select(rows[next..next + here].iter().map(|row| row - first));
            next += here;
            visit(next - here, found.view())
        })
    }

    /// Copies these rows, whose numbers ascend.
    fn select(&self, rows: &[usize]) -> Result<Matrix, RowsError> {
        let mut data = Vec::with_capacity(rows.len() * self.cols());
        self.scan_some(rows, &mut |_, part| {
            data.extend_from_slice(part.data());
            Ok(())
        })?;
        Ok(Matrix::new(rows.len(), self.cols(), data).expect("every row that was named is there"))
    }

    /// All of them, if they are in memory.
    fn in_memory(&self) -> Option<MatrixRef<'_>> {
        None
    }
}

/// Why rows could not be read: a sentence that names the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsError(pub String);

impl fmt::Display for RowsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RowsError {}

impl Rows for MatrixRef<'_> {
    fn rows(&self) -> usize {
        MatrixRef::rows(*self)
    }

    fn cols(&self) -> usize {
        MatrixRef::cols(*self)
    }

    fn scan(&self, visit: &mut Visit<'_>) -> Result<(), RowsError> {
        visit(0, *self)
    }

    fn select(&self, rows: &[usize]) -> Result<Matrix, RowsError> {
        Ok(MatrixRef::select(*self, rows.iter().copied()))
    }

    fn in_memory(&self) -> Option<MatrixRef<'_>> {
        Some(*self)
    }
}

/// A matrix that is owned by whoever goes over it.
pub struct InMemory(pub Matrix);

impl Rows for InMemory {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn cols(&self) -> usize {
        self.0.cols()
    }

    fn scan(&self, visit: &mut Visit<'_>) -> Result<(), RowsError> {
        visit(0, self.0.view())
    }

    fn in_memory(&self) -> Option<MatrixRef<'_>> {
        Some(self.0.view())
    }
}

/// A matrix that is handed out a few rows at a time, as a file would be.
#[derive(Clone, Copy)]
pub struct InParts<'a> {
    rows: MatrixRef<'a>,
    len: usize,
}

impl<'a> InParts<'a> {
    /// Parts of at most `len` rows.
    pub fn new(rows: MatrixRef<'a>, len: usize) -> Self {
        Self { rows, len: len.max(1) }
    }
}

impl Rows for InParts<'_> {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn cols(&self) -> usize {
        self.rows.cols()
    }

    fn scan(&self, visit: &mut Visit<'_>) -> Result<(), RowsError> {
        for first in (0..self.rows.rows()).step_by(self.len) {
            checkpoint();
            visit(first, self.rows.slice(first..(first + self.len).min(self.rows.rows())))?;
        }
        Ok(())
    }
}

/// Rows of another source, each changed on its own while they are handed out: scaled, or brought to
/// length 1.
pub struct Mapped<'a> {
    rows: &'a dyn Rows,
    cols: usize,
    map: Box<dyn Fn(MatrixRef<'_>) -> Matrix + Send + Sync + 'a>,
}

impl<'a> Mapped<'a> {
    /// `map` changes a part into as many rows of `cols` columns.
    pub fn new(
        rows: &'a dyn Rows,
        cols: usize,
        map: impl Fn(MatrixRef<'_>) -> Matrix + Send + Sync + 'a,
    ) -> Self {
        Self { rows, cols, map: Box::new(map) }
    }
}

impl Rows for Mapped<'_> {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn scan(&self, visit: &mut Visit<'_>) -> Result<(), RowsError> {
        self.rows.scan(&mut |first, part| visit(first, (self.map)(part).view()))
    }

    fn scan_some(&self, rows: &[usize], visit: &mut Visit<'_>) -> Result<(), RowsError> {
        self.rows.scan_some(rows, &mut |at, part| visit(at, (self.map)(part).view()))
    }

    fn select(&self, rows: &[usize]) -> Result<Matrix, RowsError> {
        Ok((self.map)(self.rows.select(rows)?.view()))
    }
}

/// Rows of another source without some of them.
pub struct Without<'a> {
    rows: &'a dyn Rows,
    left_out: Vec<usize>,
}

impl<'a> Without<'a> {
    /// Leaves out rows whose numbers ascend, each named once.
    pub fn new(rows: &'a dyn Rows, left_out: Vec<usize>) -> Self {
        debug_assert!(left_out.is_sorted_by(|a, b| a < b));
        Self { rows, left_out }
    }

    /// The number that the row has in the source.
    fn in_source(&self, row: usize) -> usize {
        // The l-th row that is left out has l rows before it that are too.
        let (mut low, mut high) = (0, self.left_out.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.left_out[middle] - middle <= row { low = middle + 1 } else { high = middle }
        }
        row + low
    }
}

impl Rows for Without<'_> {
    fn rows(&self) -> usize {
        self.rows.rows() - self.left_out.len()
    }

    fn cols(&self) -> usize {
        self.rows.cols()
    }

    fn scan(&self, visit: &mut Visit<'_>) -> Result<(), RowsError> {
        let mut gone = 0;
        self.rows.scan(&mut |first, part| {
            let mut from = 0;
            while let Some(&row) = self.left_out.get(gone).filter(|&&row| row < first + part.rows())
            {
                if row - first > from {
                    visit(first + from - gone, part.slice(from..row - first))?;
                }
                from = row - first + 1;
                gone += 1;
            }
            match from < part.rows() {
                true => visit(first + from - gone, part.slice(from..part.rows())),
                false => Ok(()),
            }
        })
    }

    fn scan_some(&self, rows: &[usize], visit: &mut Visit<'_>) -> Result<(), RowsError> {
        let in_source: Vec<usize> = rows.iter().map(|&row| self.in_source(row)).collect();
        self.rows.scan_some(&in_source, visit)
    }

    fn select(&self, rows: &[usize]) -> Result<Matrix, RowsError> {
        self.rows.select(&rows.iter().map(|&row| self.in_source(row)).collect::<Vec<_>>())
    }
}

/// Like [`Rows::scan`], until the visitor has seen enough.
pub fn scan_until(
    rows: &dyn Rows,
    visit: &mut dyn FnMut(usize, MatrixRef<'_>) -> ControlFlow<()>,
) -> Result<(), RowsError> {
    let mut enough = false;
    let result = rows.scan(&mut |first, part| {
        enough = visit(first, part).is_break();
        // An error ends a pass; this one is not handed on.
        if enough { Err(RowsError(String::new())) } else { Ok(()) }
    });
    if enough { Ok(()) } else { result }
}

/// What [`scan_tiles`] calls with the number of the first row of a run, the run, and whether a block ends with it.
pub type VisitRun<'a> = dyn FnMut(usize, MatrixRef<'_>, bool) -> Result<(), RowsError> + 'a;

/// Hands out all rows in runs that begin a whole number of tiles after the first row of a block of
/// [`chunks`], and end so or with the block. So work that is done tile by tile meets the tiles that it
/// would meet in memory. At most a tile of rows is copied for each part.
pub fn scan_tiles(rows: &dyn Rows, tile: usize, visit: &mut VisitRun<'_>) -> Result<(), RowsError> {
    let (n, d, block) = (rows.rows(), rows.cols(), chunks::block_len(rows.rows()));
    let end_of_block = |row: usize| ((row / block + 1) * block).min(n);
    // The rows of a tile whose end is in another part.
    let mut begun: Vec<f32> = Vec::new();
    rows.scan(&mut |first, part| {
        let (mut at, end) = (first, first + part.rows());
        let slice = |from: usize, to: usize| part.slice(from - first..to - first);
        while at < end {
            let missing = match begun.len() / d.max(1) {
                0 => 0,
                have => (tile - have).min(end_of_block(at) - at),
            };
            if missing > 0 {
                let to = end.min(at + missing);
                begun.extend_from_slice(slice(at, to).data());
                at = to;
                let have = begun.len() / d;
                if have == tile || at == end_of_block(at - 1) {
                    let run = MatrixRef::new(have, d, &begun).expect("whole rows");
                    visit(at - have, run, at == end_of_block(at - 1))?;
                    begun.clear();
                }
                continue;
            }
            let block_ends = end_of_block(at);
            let to = match block_ends <= end {
                true => block_ends,
                false => at + (end - at) / tile * tile,
            };
            if to > at {
                visit(at, slice(at, to), to == block_ends)?;
                at = to;
            } else {
                begun.extend_from_slice(slice(at, end).data());
                at = end;
            }
        }
        Ok(())
    })
}

/// These rows in any order, each as often as it is named.
pub fn select_in_order(rows: &dyn Rows, wanted: &[usize]) -> Result<Matrix, RowsError> {
    let mut ascending = wanted.to_vec();
    ascending.sort_unstable();
    ascending.dedup();
    let found = rows.select(&ascending)?;
    let at = |row: &usize| ascending.binary_search(row).expect("one of them");
    Ok(found.view().select(wanted.iter().map(at)))
}

/// Sums over rows that come in parts, with the bytes of a sum over the blocks of
/// [`chunks::map_blocks`]: one partial sum per block, and the partial sums added in order.
#[derive(Clone, Debug)]
pub struct BlockSums {
    block: usize,
    partial: Vec<f64>,
    total: Vec<f64>,
    divisor: f64,
    empty: bool,
}

impl BlockSums {
    /// `width` sums over `rows` rows, all of them zero.
    pub fn new(rows: usize, width: usize) -> Self {
        let (block, zeros) = (chunks::block_len(rows), || vec![0.0; width]);
        Self { block, partial: zeros(), total: zeros(), divisor: 1.0, empty: true }
    }

    /// The same, with the sum of every block divided by `divisor` before it is added.
    pub fn divided(rows: usize, width: usize, divisor: f64) -> Self {
        Self { divisor, ..Self::new(rows, width) }
    }

    /// Adds a part: `add` is called for runs of its rows, each within one block, in row order, with the
    /// sums of that block. Ranges count from the first row of the part.
    pub fn add(
        &mut self,
        first: usize,
        rows: usize,
        mut add: impl FnMut(Range<usize>, &mut [f64]),
    ) {
        let mut at = first;
        while at < first + rows {
            let end = ((at / self.block + 1) * self.block).min(first + rows);
            add(at - first..end - first, &mut self.partial);
            self.empty = false;
            if end.is_multiple_of(self.block) {
                self.fold();
            }
            at = end;
        }
    }

    fn fold(&mut self) {
        for (total, partial) in self.total.iter_mut().zip(&mut self.partial) {
            *total += std::mem::take(partial) / self.divisor;
        }
        self.empty = true;
    }

    /// The sums of all parts that were added.
    pub fn total(mut self) -> Vec<f64> {
        if !self.empty {
            self.fold();
        }
        self.total
    }
}

/// The mean row, with the bytes of [`MatrixRef::mean_row`].
pub fn mean_row(rows: &dyn Rows) -> Result<Vec<f64>, RowsError> {
    if let Some(x) = rows.in_memory() {
        return Ok(x.mean_row());
    }
    let mut sums = BlockSums::new(rows.rows(), rows.cols());
    rows.scan(&mut |first, part| {
        sums.add(first, part.rows(), |range, sums| {
            for i in range {
                sums.iter_mut().zip(part.row(i)).for_each(|(s, &v)| *s += f64::from(v));
            }
        });
        Ok(())
    })?;
    let n = rows.rows().max(1) as f64;
    Ok(sums.total().into_iter().map(|s| s / n).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use rand::RngExt;

    fn rows(n: usize) -> Matrix {
        let mut rng = Seed(1).rng();
        Matrix::from_fn(n, 3, |_, _| rng.random::<f32>() - 0.3)
    }

    #[test]
    fn any_parts_give_the_sums_of_blocks_in_memory() {
        for n in [1, 255, 256, 257, 20_000] {
            let x = rows(n);
            let in_memory = chunks::map_blocks(n, |range| {
                range
                    .map(|i| f64::from(x.row(i)[0]).sqrt().abs())
                    .filter(|v| v.is_finite())
                    .sum::<f64>()
            });
            let expected: f64 = in_memory.into_iter().sum();
            for len in [1, 7, 256, 5_000, 30_000] {
                let mut sums = BlockSums::new(n, 1);
                let parts = InParts::new(x.view(), len);
                parts
                    .scan(&mut |first, part| {
                        sums.add(first, part.rows(), |range, sum| {
                            for i in range {
                                let v = f64::from(part.row(i)[0]).sqrt().abs();
                                sum[0] += if v.is_finite() { v } else { 0.0 };
                            }
                        });
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(sums.total()[0].to_bits(), expected.to_bits(), "{n} rows by {len}");
                assert_eq!(mean_row(&parts).unwrap(), x.view().mean_row());
            }
        }
    }

    #[test]
    fn runs_begin_with_whole_tiles_of_their_block() {
        for n in [1, 255, 256, 700, 20_000] {
            let (x, block) = (rows(n), chunks::block_len(n));
            for (len, tile) in [(1, 16), (7, 5), (256, 100), (300, 256), (5_000, 64), (30_000, 512)]
            {
                let parts = InParts::new(x.view(), len);
                let mut next = 0;
                scan_tiles(&parts, tile, &mut |first, run, ends| {
                    assert_eq!(first, next, "{n} rows by {len}");
                    assert!((first % block).is_multiple_of(tile));
                    assert_eq!(run.data(), x.view().slice(first..first + run.rows()).data());
                    next += run.rows();
                    assert_eq!(ends, next.is_multiple_of(block) || next == n);
                    assert!(ends || (next % block).is_multiple_of(tile));
                    assert!((first..next).all(|row| row / block == first / block));
                    Ok(())
                })
                .unwrap();
                assert_eq!(next, n);
            }
        }
    }

    #[test]
    fn rows_that_are_named_come_from_whatever_part_holds_them() {
        let x = rows(100);
        let wanted = [0, 1, 1, 32, 33, 99];
        for len in [1, 33, 100] {
            let parts = InParts::new(x.view(), len);
            assert_eq!(parts.select(&wanted).unwrap(), x.view().select(wanted));
            let mut places = Vec::new();
            parts
                .scan_some(&wanted, &mut |at, part| {
                    for i in 0..part.rows() {
                        assert_eq!(part.row(i), x.row(wanted[at + i]));
                        places.push(at + i);
                    }
                    Ok(())
                })
                .unwrap();
            assert_eq!(places, [0, 1, 2, 3, 4, 5]);
        }
        let twice =
            |part: MatrixRef<'_>| Matrix::from_fn(part.rows(), 1, |i, _| 2.0 * part.row(i)[2]);
        let parts = InParts::new(x.view(), 9);
        let mapped = Mapped::new(&parts, 1, twice);
        assert_eq!(mapped.select(&[7]).unwrap().row(0)[0], 2.0 * x.row(7)[2]);
        assert_eq!((mapped.rows(), mapped.cols()), (100, 1));
    }

    #[test]
    fn rows_that_are_left_out_are_gone_from_passes_and_from_numbers() {
        let x = rows(50);
        let gone = vec![0, 7, 8, 20, 49];
        let kept: Vec<usize> = (0..50).filter(|i| !gone.contains(i)).collect();
        let expected = x.view().select(kept.iter().copied());
        for len in [1, 4, 8, 21, 100] {
            let parts = InParts::new(x.view(), len);
            let without = Without::new(&parts, gone.clone());
            let mut seen = Matrix::zeros(45, 3);
            without
                .scan(&mut |first, part| {
                    assert!(part.rows() > 0);
                    (0..part.rows())
                        .for_each(|i| seen.row_mut(first + i).copy_from_slice(part.row(i)));
                    Ok(())
                })
                .unwrap();
            assert_eq!(seen, expected);
            let all: Vec<usize> = (0..45).collect();
            assert_eq!(without.select(&all).unwrap(), expected);
            assert_eq!(
                select_in_order(&without, &[9, 0, 9]).unwrap(),
                expected.view().select([9, 0, 9])
            );
        }
    }

    #[test]
    fn a_pass_ends_when_enough_is_seen() {
        let x = rows(10);
        let mut seen = 0;
        let parts = InParts::new(x.view(), 2);
        scan_until(&parts, &mut |first, part| {
            seen += part.rows();
            if first >= 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!(seen, 6);
    }

    #[test]
    fn an_error_ends_the_pass() {
        let x = rows(10);
        let mut seen = 0;
        let stopped = InParts::new(x.view(), 2).scan(&mut |first, _| {
            seen += 1;
            if first >= 4 { Err(RowsError("part 3 is gone".into())) } else { Ok(()) }
        });
        assert_eq!((stopped, seen), (Err(RowsError("part 3 is gone".into())), 3));
    }
}
