//! Where a verb may write, in the words of the command line. The rule itself is [`bridged::files::Output`]:
//! never over an input, over a file of another kind only with --force, into a folder that is there.
//! A verb asks before it does any work.
//!
//! A table is of the kind of a verb if it has the columns that this verb writes: pairs, notes or vectors under the same
//! name are another kind. An npy file has no columns that could tell.

use crate::options::usage;
use crate::table_out::is_standard;
use anyhow::Result;
use bridged::columns::ColumnKind;
use bridged::files::{FileError, Kind, Output, Overwrite};
use bridged_io::Layout;
use std::path::{Path, PathBuf};

/// A model will be written there.
pub fn model<P: AsRef<Path>>(path: &Path, inputs: &[P], force: bool) -> Result<()> {
    let inputs: Vec<&Path> = inputs.iter().map(AsRef::as_ref).collect();
    check(path, bridged::MODEL_FILE, &inputs, Overwrite::forced(force))
}

/// What `predict` writes.
pub const PREDICTIONS: Kind = Kind {
    name: "a table of predictions",
    extension: None,
    holds: |path| {
        has_columns(path, &["cluster", "linked", "expected_error", "support", "status", "answer"])
    },
};

/// What `inspect` writes.
pub const LINKS: Kind = Kind {
    name: "a table of links",
    extension: None,
    holds: |path| {
        has_columns(path, &["direction", "cluster", "linked", "share", "expected_error", "status"])
    },
};

/// What `suggest` writes, as long as nobody has written an answer into it.
pub const QUESTIONS: Kind = Kind {
    name: "a table of questions without answers",
    extension: None,
    holds: |path| {
        let is_empty = |cells: &[Option<String>]| cells.iter().flatten().all(String::is_empty);
        has_columns(path, &["x_id", "y_id", "answer", "gain", "why"])
            && bridged_io::read(path).is_ok_and(|table| {
                let columns = table.text_columns();
                columns.iter().filter(|c| c.name == "answer").all(|c| is_empty(&c.values))
            })
    },
};

/// What `cluster` writes: ids and numbers of clusters, and nothing else. Classes that a person wrote down are words.
pub const LABELS: Kind = Kind {
    name: "a table of labels",
    extension: None,
    holds: |path| {
        let columns = bridged_io::peek(path).unwrap_or_default();
        let sheet = bridged_io::known_format(path).is_some_and(|f| f.layout == Layout::Sheet);
        matches!(&columns[..], [_, (name, kind)]
            if name == "label" && (sheet || *kind == ColumnKind::Integer))
    },
};

/// What `lab curate` writes.
#[cfg(feature = "lab")]
pub const DATA_SET: Kind = Kind {
    name: "a data set",
    extension: None,
    holds: |path| has_columns(path, &["x", "y", "group"]),
};

/// Whether an existing table has columns of all these names.
fn has_columns(path: &Path, names: &[&str]) -> bool {
    let columns = bridged_io::peek(path).unwrap_or_default();
    names.iter().all(|name| columns.iter().any(|(column, _)| column == name))
}

/// A table of that kind will be written there, in the format of its extension; standard output needs no look.
pub fn table<P: AsRef<Path>>(path: &Path, kind: Kind, inputs: &[P], force: bool) -> Result<()> {
    if is_standard(path) {
        return Ok(());
    }
    let inputs: Vec<&Path> = inputs.iter().map(AsRef::as_ref).collect();
    let format = bridged_io::format_of(path).map_err(|e| usage(e.to_string()))?;
    let overwrite = match format.layout {
        Layout::Array if !force => Overwrite::Nothing,
        _ => Overwrite::forced(force),
    };
    check(path, kind, &inputs, overwrite)
}

/// A table that is written into a folder of rows would be one of them the next time.
pub fn not_among_rows(path: &Path, rows: &[PathBuf]) -> Result<()> {
    if is_standard(path) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(folder) = folder.unwrap_or(Path::new(".")).canonicalize() else { return Ok(()) };
    let holds = |name: &&PathBuf| {
        name.is_dir() && name.canonicalize().is_ok_and(|rows| folder.starts_with(rows))
    };
    match rows.iter().find(holds) {
        Some(rows) => Err(usage(format!(
            "`{}` is in the folder of rows `{}` and would be read with it the next time; write it elsewhere",
            path.display(),
            rows.display()
        ))),
        None => Ok(()),
    }
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
#[cfg(any(feature = "encode", feature = "lab", feature = "man"))]
pub fn beside(path: &Path, kind: Kind, inputs: &[&Path]) -> Result<()> {
    Output::check(path, kind, inputs, Overwrite::SameKind).map_err(failed)?;
    Ok(())
}
