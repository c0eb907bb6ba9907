//! What can go wrong on the way to a vector, each as a sentence that says what to do.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an encoder cannot be used, or a file not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// There are no weights where they should be.
    #[error(
        "there are no weights of {encoder} at `{}`: give a `model.safetensors`, a `pytorch_model.bin`, a `.pth` file or a \
         folder that holds one; {source_of_weights}",
        path.display()
    )]
    NoWeights {
        /// Where they were looked for.
        path: PathBuf,
        /// The encoder that was asked for.
        encoder: &'static str,
        /// Where people get them.
        source_of_weights: &'static str,
    },
    /// A picture that cannot be read.
    #[error("`{}` cannot be read as a picture: {reason}", path.display())]
    BadImage {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of weights that is not what it should be.
    #[error("`{}` cannot be used as weights: {reason}", path.display())]
    BadWeights {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A tensor that the encoder needs is not in the file, or has another shape.
    #[error("`{}` holds no weights of {encoder}: {reason}", path.display())]
    OtherWeights {
        /// The file.
        path: PathBuf,
        /// The encoder that was asked for.
        encoder: &'static str,
        /// Which tensor is missing or has which shape.
        reason: String,
    },
    /// A file beside the weights that is missing or is not what it should be.
    #[error("`{}` {reason}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// A record of a file of sequences that cannot be read.
    #[error("`{}`, line {line}: {reason}", path.display())]
    BadRecord {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Options that an encoder does not have, or that are of another kind.
    #[error("the options cannot be used: {reason}")]
    BadSettings {
        /// Which, and what is wrong with it.
        reason: String,
    },
    /// The items leave nothing to learn from.
    #[error("{reason}")]
    NothingLearned {
        /// What is missing, and what to do.
        reason: String,
    },
    /// The items make more columns than is likely meant, unless an option says so.
    #[error("{reason}")]
    TooManyColumns {
        /// How many there are, and which option keeps fewer.
        reason: String,
    },
    /// A parameter out of its range.
    #[error("`{name}` must be {need}, got {got}")]
    BadOption {
        /// The parameter.
        name: &'static str,
        /// What it must be.
        need: String,
        /// What it is.
        got: String,
    },
}

impl EncodeError {
    /// The error for weights that are not there.
    pub(crate) fn no_weights(path: &Path, encoder: &'static str) -> Self {
        let source_of_weights = crate::named(encoder).and_then(|e| e.weights()).unwrap_or_default();
        Self::NoWeights { path: path.to_path_buf(), encoder, source_of_weights }
    }
}

/// Why one item has no vector; the others go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ItemError(pub String);

/// A vector of numbers, or the error for one that damaged weights have spoilt.
pub(crate) fn finite(vector: Vec<f32>) -> Result<Vec<f32>, ItemError> {
    if vector.iter().all(|v| v.is_finite()) {
        return Ok(vector);
    }
    Err(ItemError("its vector is not finite; the weights are damaged".into()))
}
