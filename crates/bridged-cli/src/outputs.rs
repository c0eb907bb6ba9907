//! Where a verb may write, in the words of the command line. The rule itself is [`bridged::files::Output`]:
//! never over an input, over a file of another kind only with --force, into a folder that is there.
//! A verb asks before it does any work.

use crate::options::usage;
use anyhow::Result;
use bridged::files::{FileError, Kind, Output, Overwrite};
use std::path::Path;

/// A model will be written there.
pub fn model(path: &Path, inputs: &[&Path], force: bool) -> Result<()> {
    check(path, bridged::MODEL_FILE, inputs, Overwrite::forced(force))
}

/// A table will be written there, in the format of its extension.
pub fn table(path: &Path, inputs: &[&Path], force: bool) -> Result<()> {
    bridged_io::format_of(path)?;
    check(path, bridged_io::TABLE_FILE, inputs, Overwrite::forced(force))
}

/// A file of that kind will be written there.
pub fn check(path: &Path, kind: Kind, inputs: &[&Path], overwrite: Overwrite) -> Result<()> {
    match Output::check(path, kind, inputs, overwrite) {
        Ok(_) => Ok(()),
        Err(error @ FileError::Extension { .. }) => {
            Err(usage(format!("{error}; --force takes any name")))
        }
        Err(error) if error.can_be_forced() => {
            Err(usage(format!("{error}, or write over it with --force")))
        }
        Err(error) => Err(failed(error)),
    }
}

/// A mistake of whoever chose the path, or a failure of the system.
fn failed(error: FileError) -> anyhow::Error {
    match error {
        FileError::IsInput { .. } | FileError::OtherKind { .. } => usage(error.to_string()),
        error => error.into(),
    }
}

/// The results of a study will be written into that folder, if it is there already: whether they belong
/// to it is looked at when they are begun.
#[cfg(feature = "lab")]
pub fn results(folder: &Path, inputs: &[&Path]) -> Result<()> {
    const RESULTS: Kind = Kind { name: "results", extension: None, holds: |_| true };
    if !folder.exists() {
        return Ok(());
    }
    let files = bridged_lab::results::FILES.iter();
    files
        .map(|file| folder.join(file))
        .try_for_each(|path| check(&path, RESULTS, inputs, Overwrite::SameKind))
}

/// As [`check`], for a file that is added to or comes with an output: never written over if it is not ours.
#[cfg(any(feature = "encode", feature = "lab"))]
pub fn beside(path: &Path, kind: Kind, inputs: &[&Path]) -> Result<()> {
    Output::check(path, kind, inputs, Overwrite::SameKind).map_err(failed)?;
    Ok(())
}
