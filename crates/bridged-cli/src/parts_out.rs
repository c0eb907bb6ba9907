//! A table written as a folder of files of so many rows, and how a run that was stopped goes on.
//!
//! Beside `part-00000.parquet`, `part-00001.parquet`, … lies `_bridged.json`: what the files were made of (model, rows,
//! settings) and which of them are complete. A file is named there before it is begun and once it is in its place, so a
//! file that is not named is somebody else's and is never written over, and the same command goes on after the last
//! complete file. What it then writes has the same bytes, since an answer depends on its row alone.

use crate::options::usage;
use crate::outputs;
use crate::passes::Pieces;
use crate::printer::{self, count, plural};
use crate::progress::{Kept, was_stopped};
use crate::table_out::{TableOut, is_standard};
use anyhow::{Context, Result, anyhow, bail};
use bridged::files::{FileLock, Kind};
use bridged_io::{Column, Format, Journal, Parts, StoredRows, Table, TableError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Begins with `_`, so that the folder is read as a table without it.
const MANIFEST: &str = "_bridged.json";

/// Held while files are written.
const LOCK: &str = ".bridged.lock";

/// How many rows a file has.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct PartsFlags {
    /// Write a folder of files of so many rows each; the same command goes on where it was stopped
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub rows_per_file: Option<u64>,
}

impl PartsFlags {
    /// Refuses an output that may not be written, a file of that kind or a folder of files, and tells its format.
    pub fn check_output(
        self,
        (out, output): (&TableOut, &Path),
        kind: Kind,
        (rows, inputs): (&[PathBuf], &[PathBuf]),
        force: bool,
    ) -> Result<&'static Format> {
        if self.rows_per_file.is_some() {
            check(output, rows)?;
            return out.format_of_parts();
        }
        let format = out.format_of(output)?;
        outputs::table(output, kind, inputs, force)?;
        outputs::not_among_rows(output, rows)?;
        Ok(format)
    }
}

/// What a folder of files says of itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    about: String,
    /// What the files are made of, by name.
    made_of: serde_json::Map<String, Value>,
    /// Files that are complete, in order.
    files: Vec<Complete>,
    /// The file that is being written.
    writing: Option<String>,
    finished: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Complete {
    name: String,
    rows: usize,
    bytes: u64,
}

/// What is to be done in a folder.
pub enum Folder {
    /// Nothing: everything is there.
    Finished { files: usize, rows: usize },
    /// Files are to be written from row `start` on.
    Open(PartsOut),
}

/// A folder that is being filled.
pub struct PartsOut {
    folder: PathBuf,
    parts: Parts,
    manifest: Manifest,
    _lock: FileLock,
}

/// Refuses an output that cannot be a folder of files of these rows, before any work is done.
fn check(folder: &Path, rows: &[PathBuf]) -> Result<()> {
    if is_standard(folder) {
        return Err(usage("--rows-per-file writes a folder; name one with -o"));
    }
    outputs::not_among_rows(folder, rows)?;
    outputs::not_among_rows(&folder.join(MANIFEST), rows)?;
    if folder.exists() && !folder.is_dir() {
        let text = folder.display();
        return Err(usage(format!(
            "`{text}` is a file; --rows-per-file writes a folder: name a new or an empty one"
        )));
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    match parent.filter(|parent| !parent.is_dir()) {
        Some(parent) => {
            bail!(
                "`{}` cannot be made: the folder `{}` does not exist",
                folder.display(),
                parent.display()
            )
        }
        None => Ok(()),
    }
}

/// Says that there is nothing to do.
pub fn say_finished(folder: &Path, files: usize, rows: usize, json: bool) -> Result<()> {
    let mut out = printer::out();
    if json {
        let report = json!({"rows": 0, "rows_before": rows, "files": files, "output": folder, "finished_before": true});
        return printer::print_json(&report, &mut out);
    }
    let (files, rows, folder) = (plural(files, "file"), plural(rows, "row"), folder.display());
    Ok(writeln!(out, "`{folder}` is finished: {rows} in {files}; --force writes them again")?)
}

/// The files that rows are read from, and what tells whether they have changed.
pub fn rows_of(rows: &StoredRows) -> Value {
    json!(rows.rows_at().parts)
}

impl Folder {
    /// Looks at a folder for files of `rows` rows that are made of that; `force` writes them again.
    pub fn open(
        folder: &Path,
        format: &Format,
        rows: u64,
        made_of: serde_json::Map<String, Value>,
        force: bool,
    ) -> Result<Self> {
        let parts = Parts::new(folder, format.extensions[0], rows as usize)?;
        let lock = FileLock::acquire(&folder.join(LOCK), folder)?;
        let new = Manifest {
            about: "Which files of this folder `bridged` has written, and of what. The same command goes on where it \
                    was stopped."
                .to_owned(),
            made_of,
            files: Vec::new(),
            writing: None,
            finished: false,
        };
        let manifest = match read(folder)? {
            None => {
                empty(folder)?;
                new
            }
            Some(old) if force => {
                // Until all are gone, the old list says whose they are.
                for name in old.files.iter().map(|file| &file.name).chain(&old.writing) {
                    remove(&folder.join(name))?;
                }
                new
            }
            Some(old) => {
                same(folder, &old, &new)?;
                old.files.iter().try_for_each(|file| unchanged(folder, file))?;
                if old.finished {
                    let rows = old.files.iter().map(|file| file.rows).sum();
                    return Ok(Self::Finished { files: old.files.len(), rows });
                }
                old
            }
        };
        let open = PartsOut { folder: folder.to_path_buf(), parts, manifest, _lock: lock };
        open.save()?;
        Ok(Self::Open(open))
    }
}

impl PartsOut {
    /// The rows that are in complete files already.
    pub fn start(&self) -> usize {
        self.manifest.files.iter().map(|file| file.rows).sum()
    }

    /// The files that are complete.
    pub fn files(&self) -> usize {
        self.manifest.files.len()
    }

    /// Writes columns that come after the complete files, in order.
    pub fn write_columns(&mut self, out: &TableOut, pieces: Pieces) -> Result<()> {
        let (format, folder) = (out.format_of_parts()?, self.folder.clone());
        let table = |columns: io::Result<Vec<Column>>| {
            out.table(format, &folder, columns?).map_err(io::Error::other)
        };
        self.write(pieces.map(table))
    }

    /// Writes what comes after the complete files, in order.
    pub fn write(&mut self, pieces: impl Iterator<Item = io::Result<Table>>) -> Result<()> {
        let (parts, first) = (self.parts.clone(), self.manifest.files.len());
        let written = parts.write(first, pieces, self);
        if was_stopped() {
            let (files, folder) = (self.manifest.files.len(), self.folder.display());
            let kept = format!(
                "{} of `{folder}` are complete, the same command goes on after them",
                plural(files, "file")
            );
            return Err(anyhow!(Kept(kept)));
        }
        written?;
        self.manifest.finished = true;
        self.save()
    }

    fn save(&self) -> Result<()> {
        let text = serde_json::to_vec_pretty(&self.manifest)?;
        let path = self.folder.join(MANIFEST);
        Ok(bridged::files::replace(&path, |sink| Ok(sink.write_all(&text)?))?)
    }

    /// The list on the disk is that of memory.
    fn note(&self, path: &Path) -> Result<(), TableError> {
        self.save().map_err(|e| refused(path, format!("{e:#}")))
    }
}

impl Journal for PartsOut {
    fn begin(&mut self, path: &Path) -> Result<(), TableError> {
        let name = name_of(path);
        if self.manifest.writing.as_ref() == Some(&name) {
            return Ok(());
        }
        if path.exists() {
            return Err(refused(
                path,
                "it is there already and not one of this command's; move it away".to_owned(),
            ));
        }
        self.manifest.writing = Some(name);
        self.note(path)
    }

    fn complete(&mut self, path: &Path, rows: usize) -> Result<(), TableError> {
        let metadata = fs::metadata(path).map_err(|e| refused(path, e.to_string()))?;
        self.manifest.files.push(Complete { name: name_of(path), rows, bytes: metadata.len() });
        self.manifest.writing = None;
        self.note(path)
    }
}

fn refused(path: &Path, reason: String) -> TableError {
    TableError::Refused { path: path.to_path_buf(), reason }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read(folder: &Path) -> Result<Option<Manifest>> {
    let path = folder.join(MANIFEST);
    let shown = || format!("`{}`", path.display());
    match fs::read(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).with_context(shown),
        Ok(bytes) => {
            let manifest = serde_json::from_slice(&bytes);
            let damaged =
                "it is not a list of files that this command has written; name another folder";
            Ok(Some(manifest.context(damaged).with_context(shown)?))
        }
    }
}

/// Refuses a folder with files that nobody knows of.
fn empty(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if name != LOCK {
            return Err(usage(format!(
                "`{}` holds `{}`, which this command has not made; name a new or an empty folder",
                folder.display(),
                name.display()
            )));
        }
    }
    Ok(())
}

/// Refuses files that were made of something else.
fn same(folder: &Path, old: &Manifest, new: &Manifest) -> Result<()> {
    let names = old.made_of.keys().chain(new.made_of.keys());
    let mut differ: Vec<&str> = names
        .filter(|name| old.made_of.get(*name) != new.made_of.get(*name))
        .map(String::as_str)
        .collect();
    differ.sort_unstable();
    differ.dedup();
    if differ.is_empty() {
        return Ok(());
    }
    let files = plural(old.files.len(), "file");
    Err(usage(format!(
        "`{}` holds {files} that were written with other {}; name another folder, or write them again with --force",
        folder.display(),
        differ.join(" and ")
    )))
}

/// Refuses a complete file that is no longer what it was.
fn unchanged(folder: &Path, file: &Complete) -> Result<()> {
    let path = folder.join(&file.name);
    let what = match fs::metadata(&path) {
        Ok(metadata) if metadata.len() == file.bytes => return Ok(()),
        Ok(metadata) => {
            let (got, bytes) = (count(metadata.len() as usize), count(file.bytes as usize));
            format!("has {got} bytes and was written with {bytes}")
        }
        Err(_) => "is gone".to_owned(),
    };
    Err(usage(format!(
        "`{}` {what}; put it back, or write all files again with --force",
        path.display()
    )))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(e).with_context(|| format!("`{}` could not be removed", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_io::ColumnData;

    fn made_of(level: f64) -> serde_json::Map<String, Value> {
        [("settings".to_owned(), json!({"level": level}))].into_iter().collect()
    }

    fn open(folder: &Path, level: f64, force: bool) -> Result<Folder> {
        let csv = bridged_io::format_named("csv").unwrap();
        Folder::open(folder, csv, 2, made_of(level), force)
    }

    fn piece(rows: std::ops::Range<i64>) -> io::Result<Table> {
        let cells = rows.map(Some).collect();
        Ok(Table::new("p", vec![Column::new("n", ColumnData::Integer(cells))]).unwrap())
    }

    fn begun(folder: &Path, level: f64, force: bool) -> PartsOut {
        match open(folder, level, force).unwrap() {
            Folder::Open(open) => open,
            Folder::Finished { .. } => panic!("finished"),
        }
    }

    fn said(folder: &Path, level: f64) -> String {
        open(folder, level, false).err().expect("refused").to_string()
    }

    #[test]
    fn a_run_goes_on_after_the_last_complete_file() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("out");
        let mut out = begun(&folder, 0.5, false);
        let broken = [piece(0..3), Err(io::Error::other("broken"))];
        assert!(out.write(broken.into_iter()).is_err());
        assert_eq!((out.start(), out.files()), (2, 1));
        assert!(open(&folder, 0.5, false).is_err(), "another process is writing");
        drop(out);
        // As a process leaves it that is killed between a file and its line in the list.
        fs::write(folder.join("part-00001.csv"), "half").unwrap();
        assert!(said(&folder, 0.6).contains("other settings"));
        let mut out = begun(&folder, 0.5, false);
        assert_eq!(out.start(), 2);
        out.write([piece(2..5)].into_iter()).unwrap();
        drop(out);
        assert_eq!(fs::read_to_string(folder.join("part-00001.csv")).unwrap(), "n\n2\n3\n");
        assert_eq!(fs::read_to_string(folder.join("part-00002.csv")).unwrap(), "n\n4\n");
        assert!(matches!(
            open(&folder, 0.5, false).unwrap(),
            Folder::Finished { files: 3, rows: 5 }
        ));
        assert_eq!(begun(&folder, 0.6, true).start(), 0);
        assert!(!folder.join("part-00002.csv").exists());
    }

    #[test]
    fn files_of_others_are_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("part-00000.csv"), "mine").unwrap();
        for force in [false, true] {
            let error = open(folder.path(), 0.5, force).err().expect("refused").to_string();
            assert!(error.contains("`part-00000.csv`, which this command has not made"), "{error}");
        }
        fs::remove_file(folder.path().join("part-00000.csv")).unwrap();
        let mut out = begun(folder.path(), 0.5, false);
        fs::write(folder.path().join("part-00001.csv"), "mine").unwrap();
        let error = out.write([piece(0..4)].into_iter()).unwrap_err().to_string();
        assert!(error.contains("not one of this command's"), "{error}");
        drop(out);
        assert_eq!(fs::read_to_string(folder.path().join("part-00001.csv")).unwrap(), "mine");
        drop(begun(folder.path(), 0.5, true));
        assert_eq!(fs::read_to_string(folder.path().join("part-00001.csv")).unwrap(), "mine");
    }

    #[test]
    fn a_complete_file_that_changes_is_named() {
        let folder = tempfile::tempdir().unwrap();
        begun(folder.path(), 0.5, false).write([piece(0..4)].into_iter()).unwrap();
        fs::write(folder.path().join("part-00001.csv"), "n\n").unwrap();
        assert!(said(folder.path(), 0.5).contains("part-00001.csv` has 2 bytes"));
        fs::remove_file(folder.path().join("part-00000.csv")).unwrap();
        assert!(said(folder.path(), 0.5).contains("part-00000.csv` is gone"));
        fs::write(folder.path().join(MANIFEST), "{}").unwrap();
        assert!(said(folder.path(), 0.5).contains(MANIFEST));
    }
}
