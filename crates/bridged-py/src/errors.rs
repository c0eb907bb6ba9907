//! The core's errors as Python's: `ValueError` with the core's sentence, `MemoryError` for what is too
//! large, `OSError` for files.

use bridged::cluster::ClusterError;
use bridged::metrics::MetricError;
use bridged::{Error, MethodError};
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyValueError};

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
