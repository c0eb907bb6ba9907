//! Files that a user could lose by us: each appears whole or not at all, in a place that was checked
//! before the work, and is written by one process at a time.
//!
//! | file | idea |
//! |---|---|
//! | `output.rs` | where a command may write: never over an input, nor over a file of another kind |
//! | `replace.rs` | a file appears whole or not at all |
//! | `temporary.rs` | what a killed process left is removed, what a living one holds is not |
//! | `lock.rs` | one process at a time |
//! | `identity.rs` | whether two paths are one file |
//! | `fingerprint.rs` | whether two files have the same content |

mod error;
mod fingerprint;
mod identity;
mod lock;
mod output;
mod replace;
mod temporary;

pub use error::{FileError, WriteError};
pub use fingerprint::fingerprint;
pub use identity::same_file;
pub use lock::{FileLock, lock_open_file};
pub use output::{Kind, Output, Overwrite};
pub use replace::{Replacement, Sink, replace};
