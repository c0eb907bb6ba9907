//! What `bridged-io` promises, through its public functions only.

mod columns;
mod damage;
mod golden;
mod hostile;
mod out;
mod pairs;
mod reading;
mod real;
mod round_trip;
mod select;
mod source;

use bridged_io::{ColumnData, Pool, Select, Table, TableError, read};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file in a directory of its own, gone with the directory.
struct Scratch {
    directory: TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// A file that Python wrote.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Reads a file and picks by the rules.
fn pool(path: &Path) -> Result<Pool, TableError> {
    read(path)?.into_pool(Select::default())
}

/// The error of a file with that name and content, without the directory.
fn complaint(name: &str, content: impl AsRef<[u8]>) -> String {
    let scratch = Scratch::new();
    let error = pool(&scratch.file(name, content)).unwrap_err().to_string();
    error.replace(&format!("{}/", scratch.directory.path().display()), "")
}

/// The texts of a column; dashes for gaps.
fn texts(table: &Table, name: &str) -> Vec<String> {
    let column = table.column(name).unwrap_or_else(|| panic!("no column {name}"));
    let texts = column.to_text().unwrap_or_else(|| panic!("{name}: {}", column.data.kind()));
    texts.values.into_iter().map(|v| v.unwrap_or_else(|| "-".to_owned())).collect()
}

/// The cells as something that compares by bits: NaN equals NaN, and gaps are gaps.
fn bits(data: &ColumnData) -> Vec<Option<String>> {
    match data {
        ColumnData::Vector(m) => m.view().iter_rows().map(|r| Some(format!("{r:?}"))).collect(),
        ColumnData::OptionalVector { values, valid } => (values.view().iter_rows().zip(valid))
            .map(|(r, valid)| valid.then(|| format!("{r:?}")))
            .collect(),
        ColumnData::DoubleVector { values, valid } => (values.iter_rows().enumerate())
            .map(|(i, r)| valid.get(i).is_none_or(|v| *v).then(|| format!("{r:?}")))
            .collect(),
        ColumnData::Number(v) => {
            v.iter().map(|v| (!v.is_nan()).then(|| format!("{v:?}"))).collect()
        }
        ColumnData::Integer(v) => v.iter().map(|v| v.map(|v| v.to_string())).collect(),
        ColumnData::Text(v) => v.clone(),
        ColumnData::Bool(v) => v.iter().map(|v| v.map(|v| v.to_string())).collect(),
        ColumnData::Time(times) => times.text.clone(),
        ColumnData::Code { text, .. } => text.clone(),
        other => panic!("{}", other.kind()),
    }
}
