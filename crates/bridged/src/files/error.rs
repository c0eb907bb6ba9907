//! Why a file could not be written, each with what to do about it.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use thiserror::Error as ThisError;

/// Why content could not be written.
#[derive(Debug, ThisError)]
pub enum WriteError {
    /// The format cannot hold it; the text says why and what to do instead.
    #[error("{0}")]
    Refused(String),
    /// The disk or an encoder failed.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// Why a file was not written; what was there is as it was.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum FileError {
    /// A directory where a file was expected.
    #[error("`{}` is a directory; name a file in it", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The directory to write into is not there.
    #[error(
        "`{}` cannot be written: the directory `{}` does not exist; create it first",
        path.display(),
        parent.display()
    )]
    NoParent {
        /// The file to write.
        path: PathBuf,
        /// Its directory.
        parent: PathBuf,
    },
    /// A file that nobody may write to.
    #[error(
        "`{}` is write-protected; choose another name, or allow writing to it first",
        path.display()
    )]
    Protected {
        /// The file.
        path: PathBuf,
    },
    /// The content cannot be written in this format.
    #[error("`{}` cannot be written: {reason}", path.display())]
    Refused {
        /// The file to write.
        path: PathBuf,
        /// Why, and what to do instead.
        reason: String,
    },
    /// The system failed.
    #[error("`{}` could not be written: {source}", path.display())]
    Unwritable {
        /// The file to write.
        path: PathBuf,
        /// What went wrong.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The output is also an input.
    #[error(
        "`{}` would be written over, but it is the input `{}`; choose another output",
        path.display(),
        input.display()
    )]
    IsInput {
        /// The output, as it was named.
        path: PathBuf,
        /// The input, as it was named.
        input: PathBuf,
    },
    /// Something else is there.
    #[error("`{}` is there already and is not {kind}; choose another name", path.display())]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What would be written.
        kind: &'static str,
    },
    /// A file that must not be there.
    #[error("`{}` is there already; choose another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The name does not say what the file will hold.
    #[error("`{}` should end in `.{extension}`, as it will hold {kind}", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
        /// What would be written.
        kind: &'static str,
        /// How such files are named.
        extension: &'static str,
    },
    /// Another process works there.
    #[error("another process is writing `{}`; wait until it ends, or stop it", path.display())]
    Locked {
        /// The file or folder.
        path: PathBuf,
    },
}

impl FileError {
    /// The nearest kind of the standard library, for front ends that have errors of their own.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Directory { .. } => io::ErrorKind::IsADirectory,
            Self::NoParent { .. } => io::ErrorKind::NotFound,
            Self::Protected { .. } => io::ErrorKind::PermissionDenied,
            Self::Refused { .. } | Self::Extension { .. } => io::ErrorKind::InvalidInput,
            Self::IsInput { .. } | Self::OtherKind { .. } | Self::Exists { .. } => {
                io::ErrorKind::AlreadyExists
            }
            Self::Locked { .. } => io::ErrorKind::ResourceBusy,
            Self::Unwritable { source, .. } => {
                source.downcast_ref::<io::Error>().map_or(io::ErrorKind::Other, io::Error::kind)
            }
        }
    }

    /// Whether [`Overwrite::AnyKind`](super::Overwrite::AnyKind) would allow it.
    pub fn can_be_forced(&self) -> bool {
        matches!(self, Self::OtherKind { .. } | Self::Exists { .. } | Self::Extension { .. })
    }
}
