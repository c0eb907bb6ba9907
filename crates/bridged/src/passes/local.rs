//! Partitions of rows in memory: what an engine does, without one.

use super::{Kernel, Partial, Partitions, Pass, PassError};
use bridged_math::MatrixRef;
use std::ops::Range;

/// Rows in memory, divided into partitions that come in batches.
///
/// ```
/// use bridged::passes::{Local, look};
/// use bridged::Matrix;
///
/// let x = Matrix::from_rows(&[[1.0], [2.0], [6.0]]);
/// let found = look(&Local::new(x.view(), 2))?;
/// assert_eq!((found.moments.rows(), found.moments.mean[0]), (3, 3.0));
/// # Ok::<(), bridged::passes::PassError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Local<'a> {
    rows: MatrixRef<'a>,
    weights: Option<&'a [f64]>,
    borders: Vec<usize>,
    batch: usize,
}

impl<'a> Local<'a> {
    /// So many partitions of about the same length.
    pub fn new(rows: MatrixRef<'a>, partitions: usize) -> Self {
        let (n, parts) = (rows.rows(), partitions.max(1));
        let borders = (0..=parts).map(|p| p * n / parts).collect();
        Self { rows, weights: None, borders, batch: n.max(1) }
    }

    /// The same rows, each with a weight.
    pub fn weighted(self, weights: &'a [f64]) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// The same in batches of at most so many rows.
    pub fn in_batches(self, batch: usize) -> Self {
        Self { batch: batch.max(1), ..self }
    }

    fn partition(
        &self,
        pass: &Pass,
        part: usize,
        range: Range<usize>,
    ) -> Result<Partial, PassError> {
        let mut kernel = Kernel::new(pass.clone(), part as u64);
        for first in range.clone().step_by(self.batch) {
            let batch = first..(first + self.batch).min(range.end);
            let weights = self.weights.map(|w| &w[batch.clone()]);
            kernel.add(self.rows.slice(batch), weights).map_err(|bad| PassError::BadRow {
                part: part as u64,
                row: bad.row,
                why: bad.why,
            })?;
        }
        Ok(kernel.finish())
    }
}

impl Partitions for Local<'_> {
    fn run(&self, pass: &Pass) -> Result<Vec<Partial>, PassError> {
        let ranges = self.borders.windows(2).map(|b| b[0]..b[1]).enumerate();
        ranges
            .filter(|(_, range)| !range.is_empty())
            .map(|(part, range)| self.partition(pass, part, range))
            .collect()
    }
}
