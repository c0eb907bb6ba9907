//! What can be wrong with public files and vectors, each with what to do about it.

use bridged::Cancelled;
use bridged::cluster::ClusterError;
use bridged_io::TableError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a data set could not be curated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CurateError {
    /// A table could not be read or made.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A file could not be read.
    #[error("`{}` could not be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A column that the format has is not there.
    #[error("`{}` has no column `{column}`; it has {known}; {remedy}", path.display())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// The columns there are, as a list to show.
        known: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A line that does not follow the format.
    #[error("`{}`, line {line}: {reason}; {remedy}", path.display())]
    BadLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Nothing of a file is of use.
    #[error("`{}` {reason}; {remedy}", path.display())]
    Nothing {
        /// The file.
        path: PathBuf,
        /// What it lacks.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// Rows without a vector.
    #[error(transparent)]
    NoVectors(Box<NoVectors>),
    /// No group has enough rows, or too few have.
    #[error(
        "{got} of {all} groups have at least {need} rows, {asked}; the largest is {largest}; \
         {remedy}"
    )]
    TooSmall {
        /// Groups that are large enough.
        got: usize,
        /// All groups.
        all: usize,
        /// Rows that a group must have.
        need: usize,
        /// How many groups were asked for.
        asked: String,
        /// The largest group and its rows.
        largest: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A parameter out of its range.
    #[error("{name} must be {need}, got {got}")]
    BadOption {
        /// The option.
        name: &'static str,
        /// What it must be.
        need: String,
        /// What it was.
        got: String,
    },
    /// The clustering of titles failed.
    #[error("the titles could not be clustered: {0}")]
    Cluster(ClusterError),
    /// Stopped by the watch.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Rows without a vector, and what the table has instead.
#[derive(Debug, Error)]
#[error(
    "{option} `{}` has no vector for {missing} of {of} rows: {examples}; its ids look like {like} \
     and are compared with the {keys} of a row; add those vectors, or leave the rows out with \
     --skip-missing",
    path.display()
)]
pub struct NoVectors {
    /// The option that named the table.
    pub option: &'static str,
    /// The table.
    pub path: PathBuf,
    /// Rows without a vector.
    pub missing: usize,
    /// Rows that need one.
    pub of: usize,
    /// Some of them, as a list to show.
    pub examples: String,
    /// Some ids of the table, as a list to show.
    pub like: String,
    /// What they are compared with.
    pub keys: String,
}

impl CurateError {
    /// What reading `path` gave; a watch that asked to stop speaks through the reader.
    pub(super) fn reading(path: &Path, source: io::Error) -> Self {
        match source.get_ref().and_then(|inner| inner.downcast_ref::<Cancelled>()) {
            Some(&cancelled) => Self::Cancelled(cancelled),
            None => Self::Io { path: path.to_path_buf(), source },
        }
    }
}

impl From<ClusterError> for CurateError {
    fn from(error: ClusterError) -> Self {
        match error {
            ClusterError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Cluster(other),
        }
    }
}

/// The first few in backquotes.
pub(super) fn a_few<'a>(names: impl IntoIterator<Item = &'a str>, most: usize) -> String {
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names.by_ref().take(most).map(|n| format!("`{n}`")).collect();
    if names.next().is_some() {
        shown.push("…".to_string());
    }
    shown.join(", ")
}
