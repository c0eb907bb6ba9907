//! The core's errors as Python's: `ValueError` with the core's sentence, `MemoryError` for what is too
//! large, `OSError` for files.

use bridged::cluster::ClusterError;
use bridged::metrics::MetricError;
use bridged::{Error, MethodError};
use bridged_io::{SourceError, TableError};
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyValueError};
use std::io::{self, ErrorKind};

/// Why work ended without a result.
pub enum Failure {
    /// The watch asked for it.
    Stopped,
    /// The core says why.
    Sentence(String),
    /// It would take more memory than there is.
    Memory(String),
    /// A file could not be read or written.
    File(std::io::Error),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stopped => PyKeyboardInterrupt::new_err(()),
            Failure::Sentence(sentence) => PyValueError::new_err(sentence),
            Failure::Memory(sentence) => PyMemoryError::new_err(sentence),
            Failure::File(error) => error.into(),
        }
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        match error {
            ClusterError::Cancelled(_) => Failure::Stopped,
            ClusterError::TooLarge(_) => Failure::Memory(error.to_string()),
            other => Failure::Sentence(other.to_string()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let sentence = error.to_string();
        match error {
            Error::Cancelled(_) => Failure::Stopped,
            Error::TooLarge(_) | Error::Cluster { source: ClusterError::TooLarge(_), .. } => {
                Failure::Memory(sentence)
            }
            Error::Io { source, .. } => Failure::File(std::io::Error::new(source.kind(), sentence)),
            Error::File(error) => Failure::File(std::io::Error::new(error.kind(), sentence)),
            Error::Rows(_) => Failure::Sentence(in_python(&sentence)),
            _ => Failure::Sentence(sentence),
        }
    }
}

impl From<MethodError> for Failure {
    fn from(error: MethodError) -> Self {
        match error {
            MethodError::Cancelled(_) => Failure::Stopped,
            MethodError::TooLarge(_) => Failure::Memory(error.to_string()),
            MethodError::Problem(error) => error.into(),
            other => Failure::Sentence(other.to_string()),
        }
    }
}

impl From<MetricError> for Failure {
    fn from(error: MetricError) -> Self {
        Failure::Sentence(error.to_string())
    }
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        let sentence = in_python(&error.to_string());
        let kind = match &error {
            TableError::TooLarge(_) | TableError::Grew { .. } => return Failure::Memory(sentence),
            TableError::Missing { .. }
            | TableError::Source(SourceError::NothingMatches { .. } | SourceError::Gone { .. }) => {
                ErrorKind::NotFound
            }
            TableError::Unreadable { source, .. } => source.kind(),
            TableError::Source(SourceError::NotSpilled { source, .. }) => source.kind(),
            _ => return Failure::Sentence(sentence),
        };
        Failure::File(io::Error::new(kind, sentence))
    }
}

/// What the command calls its flags, and what Python calls them.
const WORDS: [(&str, &str); 13] = [
    ("`--missing drop`", "`missing=\"drop\"`"),
    ("`--missing mean`", "`missing=\"mean\"`"),
    ("`--vector NAME`", "`vector=`"),
    ("`--x-vector NAME`", "`x_vector=`"),
    ("`--y-vector NAME`", "`y_vector=`"),
    ("`--id NAME`", "`id=`"),
    ("`--x-id NAME`", "`x_id=`"),
    ("`--y-id NAME`", "`y_id=`"),
    ("`--exclude` (`--x-exclude`, `--y-exclude`)", "`exclude=` (`x_exclude=`, `y_exclude=`)"),
    ("`--sep`", "`sep=`"),
    ("`--decimal ,`", "`decimal=\",\"`"),
    ("`--memory`", "`memory=`"),
    (
        "this build reads files of this machine only; build it with `--features remote`",
        "the package reads files of this machine only; give what pyarrow.dataset.dataset makes of it",
    ),
];

/// A sentence about files with Python's words for the flags of the command.
pub fn in_python(sentence: &str) -> String {
    let words = WORDS.iter();
    words.fold(sentence.to_owned(), |sentence, (flag, word)| sentence.replace(flag, word))
}
