//! What can go wrong on the way to a vector, each as a sentence that says what to do.

use std::path::PathBuf;
use thiserror::Error;

/// Why something could not be encoded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EncodeError {
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
}
