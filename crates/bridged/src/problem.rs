//! The task: two pools that nobody linked, and a few known pairs.

use crate::cluster::{ClusterError, largest_of_finite};
use crate::offset::Offset;
use crate::rows_at::RowsAt;
use crate::side::Names;
use crate::{Error, range};
use bridged_math::{Matrix, MatrixRef, Rows, RowsError};
use std::collections::HashSet;

/// A pool that is given away with a fit, so that the model can keep its rows without a copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// The rows, (n, d).
    pub rows: Matrix,
    /// What they are called.
    pub names: Names,
    /// What was taken off their columns.
    pub offset: Offset,
}

impl Pool {
    /// The same in the units of the data, for what depends on where zero is.
    pub(crate) fn unmoved(mut self) -> Self {
        self.rows = std::mem::take(&mut self.offset).undo(self.rows);
        self
    }
}

/// A pool that need not be in memory.
pub struct StoredPool<'a> {
    /// The rows, (n, d).
    pub rows: &'a dyn Rows,
    /// What they are called: ids and texts of all rows, or none.
    pub names: Names,
    /// What was taken off their columns.
    pub offset: Offset,
    /// What the model keeps of them; none for neither rows nor their names.
    pub keep: Option<Keep<'a>>,
}

/// How a model comes to the rows that it keeps of a pool that is not in memory.
pub struct Keep<'a> {
    /// What rows are called whose numbers ascend.
    pub names_of: &'a (dyn Fn(&[usize]) -> Result<Names, RowsError> + Sync),
    /// Where all rows are.
    pub at: RowsAt,
}

/// An input pool, an output pool, and pairs of their rows.
///
/// The pools may differ in size and in dimension. A pair names one row of each pool: the rows of
/// the pairs belong to the pools and are clustered with them.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The input pool, (n_X, d).
    pub x: MatrixRef<'a>,
    /// The output pool, (n_Y, d').
    pub y: MatrixRef<'a>,
    /// Rows of `x` and rows of `y` that belong together.
    pub pairs: Pairs<'a>,
}

/// Known pairs, seen from either side without a copy; and pairs of which somebody said that they do not belong together.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    pairs: &'a [(u32, u32)],
    negatives: &'a [(u32, u32)],
    flipped: bool,
}

impl<'a> From<&'a [(u32, u32)]> for Pairs<'a> {
    fn from(pairs: &'a [(u32, u32)]) -> Self {
        Self::new(pairs)
    }
}

impl<'a> From<&'a Vec<(u32, u32)>> for Pairs<'a> {
    fn from(pairs: &'a Vec<(u32, u32)>) -> Self {
        Self::new(pairs)
    }
}

impl<'a, const N: usize> From<&'a [(u32, u32); N]> for Pairs<'a> {
    fn from(pairs: &'a [(u32, u32); N]) -> Self {
        Self::new(pairs)
    }
}

impl<'a> Pairs<'a> {
    /// Pairs of (row of x, row of y).
    pub fn new(pairs: &'a [(u32, u32)]) -> Self {
        Self { pairs, negatives: &[], flipped: false }
    }

    /// The same with rows, (row of x, row of y), that belong to different groups.
    pub fn with_negatives(self, negatives: &'a [(u32, u32)]) -> Self {
        Self { negatives, ..self }
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.pairs.len()
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.pairs.is_empty()
    }

    /// The rows of pair `i`: (input, output).
    pub fn get(self, i: usize) -> (usize, usize) {
        let (x, y) = self.pairs[i];
        let (x, y) = (x as usize, y as usize);
        if self.flipped { (y, x) } else { (x, y) }
    }

    /// All of them: (input, output).
    pub fn iter(self) -> impl ExactSizeIterator<Item = (usize, usize)> + 'a {
        (0..self.len()).map(move |i| self.get(i))
    }

    /// The rows that do not belong together: (input, output).
    pub fn negatives(self) -> impl ExactSizeIterator<Item = (usize, usize)> + 'a {
        let flipped = self.flipped;
        self.negatives.iter().map(move |&(x, y)| {
            let (x, y) = (x as usize, y as usize);
            if flipped { (y, x) } else { (x, y) }
        })
    }
}

/// How large a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemSize {
    /// The rows and columns of x.
    pub x: (usize, usize),
    /// The rows and columns of y.
    pub y: (usize, usize),
    /// The pairs.
    pub pairs: usize,
}

impl<'a> Problem<'a> {
    /// How large it is.
    pub fn size(&self) -> ProblemSize {
        let of = |pool: MatrixRef<'_>| (pool.rows(), pool.cols());
        ProblemSize { x: of(self.x), y: of(self.y), pairs: self.pairs.len() }
    }

    /// A task from pools and pairs of (row of x, row of y).
    pub fn new(x: MatrixRef<'a>, y: MatrixRef<'a>, pairs: &'a [(u32, u32)]) -> Self {
        Self { x, y, pairs: Pairs::new(pairs) }
    }

    /// The same task with rows, (row of x, row of y), that belong to different groups. Bridged Clustering uses them;
    /// baselines know nothing of them.
    pub fn with_negatives(self, negatives: &'a [(u32, u32)]) -> Self {
        Self { pairs: self.pairs.with_negatives(negatives), ..self }
    }

    /// The reverse task: predict x from y.
    pub fn flip(self) -> Self {
        let pairs = Pairs { flipped: !self.pairs.flipped, ..self.pairs };
        Self { x: self.y, y: self.x, pairs }
    }

    /// Pools with rows and columns and finite numbers; at least one pair, each within the pools and
    /// named once.
    pub fn check(self) -> Result<(), Error> {
        self.pools(|pools| pools.check())
    }

    /// Calls `with` with the same task for pools that need not be in memory.
    pub(crate) fn pools<T>(self, with: impl FnOnce(Pools<'_>) -> T) -> T {
        with(Pools { x: &self.x, y: &self.y, pairs: self.pairs })
    }
}

/// A task whose pools need not be in memory.
#[derive(Clone, Copy)]
pub(crate) struct Pools<'a> {
    pub x: &'a dyn Rows,
    pub y: &'a dyn Rows,
    pub pairs: Pairs<'a>,
}

impl Pools<'_> {
    /// As [`Problem::check`] says.
    pub fn check(self) -> Result<(), Error> {
        for (side, pool) in [("x", self.x), ("y", self.y)] {
            if pool.rows() == 0 || pool.cols() == 0 {
                let (rows, cols) = (pool.rows(), pool.cols());
                return Err(Error::EmptyPool { side, rows, cols });
            }
            let largest = largest_of_finite(pool).map_err(|error| match error {
                ClusterError::NotFinite { row, column } => Error::NotFinite { side, row, column },
                ClusterError::Rows(error) => Error::Rows(error),
                source => Error::Cluster { side, source },
            })?;
            range::check_largest(largest).map_err(|problem| Error::OutOfRange { side, problem })?;
        }
        if self.pairs.is_empty() {
            return Err(Error::NoPairs);
        }
        let mut seen = HashSet::with_capacity(self.pairs.len());
        for (pair, (x, y)) in self.pairs.iter().enumerate() {
            for (side, row, pool) in [("x", x, self.x), ("y", y, self.y)] {
                if row >= pool.rows() {
                    return Err(Error::PairOutside { pair, side, row, rows: pool.rows() });
                }
            }
            if !seen.insert((x, y)) {
                return Err(Error::PairTwice { pair, x, y });
            }
        }
        for (negative, (x, y)) in self.pairs.negatives().enumerate() {
            for (side, row, pool) in [("x", x, self.x), ("y", y, self.y)] {
                if row >= pool.rows() {
                    let rows = pool.rows();
                    return Err(Error::NegativeOutside { negative, side, row, rows });
                }
            }
            if seen.contains(&(x, y)) {
                let pair = self.pairs.iter().position(|pair| pair == (x, y)).unwrap_or(0);
                return Err(Error::Contradicted { pair, negative, x, y });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::Matrix;

    #[test]
    fn flipping_swaps_the_pools_and_every_pair() {
        let (x, y) = (Matrix::zeros(4, 2), Matrix::zeros(3, 5));
        let pairs = [(3, 0), (1, 2)];
        let p = Problem::new(x.view(), y.view(), &pairs);
        assert!(p.check().is_ok());
        let flipped = p.flip();
        assert_eq!((flipped.x.cols(), flipped.y.cols()), (5, 2));
        assert_eq!(flipped.pairs.iter().collect::<Vec<_>>(), [(0, 3), (2, 1)]);
        assert_eq!(flipped.flip().pairs.get(0), (3, 0));
    }

    #[test]
    fn what_is_wrong_with_a_problem_is_said_in_a_sentence() {
        let (x, y) = (Matrix::zeros(4, 2), Matrix::zeros(3, 5));
        let error = |pairs: &[(u32, u32)]| {
            Problem::new(x.view(), y.view(), pairs).check().unwrap_err().to_string()
        };
        assert_eq!(
            error(&[]),
            "there are no pairs: at least one known pair is needed to link the pools"
        );
        assert_eq!(error(&[(0, 3)]), "pair 0 names row 3 of y, which has 3 rows (0 to 2)");
        assert_eq!(error(&[(0, 1), (0, 1)]), "pair 1 (row 0 of x, row 1 of y) was already named");
        let mut bad = x.clone();
        bad.row_mut(2)[1] = f32::NAN;
        let error = Problem::new(bad.view(), y.view(), &[(0, 0)]).check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "x holds NaN or infinity in row 2, column 1; remove or repair that row"
        );
    }
}
