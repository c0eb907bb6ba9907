//! What can go wrong while clustering, each with what to do about it.

use super::Clusterer;
use crate::settings::BadParameter;
use bridged_math::memory::{self, TooLarge};
use bridged_math::words::plural;
use bridged_math::{Cancelled, Rows, RowsError};
use thiserror::Error;

/// Why a clustering could not be made.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// There is nothing to cluster.
    #[error("there are no rows to cluster")]
    NoRows,
    /// Rows without columns.
    #[error("the rows have no columns to cluster by")]
    NoColumns,
    /// More clusters than rows, or none.
    #[error("`k` must be between 1 and {rows} (the number of rows), got {k}")]
    BadK {
        /// The clusters asked for.
        k: usize,
        /// The rows there are.
        rows: usize,
    },
    /// Fewer distinct rows than clusters.
    #[error(
        "there {} {distinct} distinct row{}, and {k} clusters need at least {k}; ask for {distinct} \
         cluster{}",
        if *distinct == 1 { "is" } else { "are" },
        if *distinct == 1 { "" } else { "s" },
        if *distinct == 1 { "" } else { "s or fewer" },
    )]
    TooFewDistinct {
        /// The distinct rows there are.
        distinct: usize,
        /// The clusters asked for.
        k: usize,
    },
    /// NaN or infinity in the rows.
    #[error("row {row} holds NaN or infinity in column {column}; remove or repair that row")]
    NotFinite {
        /// The first such row.
        row: usize,
        /// Its first such column.
        column: usize,
    },
    /// Rows whose distances do not fit 32-bit floats.
    #[error("the data {0}")]
    OutOfRange(crate::range::OutOfRange),
    /// Size bounds that no clustering can satisfy.
    #[error(
        "{rows} rows cannot be split into {k} clusters of {min} to {max} rows each; \
         the bounds must satisfy {k} × min ≤ {rows} ≤ {k} × max"
    )]
    BadSizes {
        /// The rows there are.
        rows: usize,
        /// The clusters asked for.
        k: usize,
        /// The lower bound.
        min: usize,
        /// The upper bound.
        max: usize,
    },
    /// Given initial centroids of the wrong shape.
    #[error(
        "the initial centroids are {got_rows} × {got_cols}, but {rows} × {cols} are needed \
         (`k` × the columns of the data)"
    )]
    BadInit {
        /// Rows given.
        got_rows: usize,
        /// Columns given.
        got_cols: usize,
        /// Rows needed.
        rows: usize,
        /// Columns needed.
        cols: usize,
    },
    /// A parameter out of its limits.
    #[error(transparent)]
    BadParameter(#[from] BadParameter),
    /// More memory is needed than may be taken.
    #[error("{0}; take fewer rows, or the clustering that needs least, `minibatch`")]
    TooLarge(#[from] TooLarge),
    /// The data does not allow it.
    #[error("{0}")]
    Unfit(String),
    /// Rows that could not be read.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// An algorithm that needs all rows in memory, and rows that are not.
    #[error(
        "this clustering needs all rows in memory, {} in all, and {} are free, enough for about {}; kmeans, \
         balanced, minibatch and gmm (diagonal or spherical) read rows in passes, and --sample N clusters N rows and assigns the others",
        memory::shown(*needs),
        memory::shown(*free),
        plural(*most, "row")
    )]
    NeedsMemory {
        /// The bytes of the rows and of the algorithm.
        needs: u64,
        /// The bytes that may be taken.
        free: u64,
        /// How many of the rows that is enough for.
        most: usize,
    },
    /// Stopped by the watch.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<crate::range::OutOfRange> for ClusterError {
    fn from(error: crate::range::OutOfRange) -> Self {
        Self::OutOfRange(error)
    }
}

impl ClusterError {
    /// What a clustering says of rows that it would need in memory.
    pub(crate) fn needs_memory(clusterer: &(impl Clusterer + ?Sized), rows: &dyn Rows) -> Self {
        let free = memory::free().unwrap_or(u64::MAX);
        let needs = |n: usize| {
            let held = 4 * (n as u64).saturating_mul(rows.cols() as u64);
            clusterer.memory(n, rows.cols()).saturating_add(held)
        };
        let (mut most, mut too_many) = (0, rows.rows() + 1);
        while most + 1 < too_many {
            let middle = most.midpoint(too_many);
            if needs(middle) <= free { most = middle } else { too_many = middle }
        }
        Self::NeedsMemory { needs: needs(rows.rows()), free, most }
    }
}
