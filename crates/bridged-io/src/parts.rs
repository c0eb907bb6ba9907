//! Tables written as several files of a chosen number of rows: `part-00000.parquet`, `part-00001.parquet`, …
//!
//! Their names sort in the order of their rows, so the folder is a [`Source`](crate::Source) again. Each file appears
//! whole or not at all. Of Parquet one piece is in memory at a time, of other formats one file.

use crate::error::TableError;
use crate::source::Stack;
use crate::table::Table;
use crate::{Format, format_of, write, write_pieces};
use std::io;
use std::path::{Path, PathBuf};

/// Where files of a number of rows each go.
#[derive(Clone, Debug)]
pub struct Parts {
    folder: PathBuf,
    extension: String,
    rows: usize,
}

impl Parts {
    /// Files of at most `rows` rows in a folder, which is made if it is not there; `extension` names the format.
    pub fn new(folder: &Path, extension: &str, rows: usize) -> Result<Self, TableError> {
        let parts = Self { folder: folder.into(), extension: extension.into(), rows: rows.max(1) };
        format_of(&parts.path(0))?;
        let unwritable = |source: io::Error| bridged::files::FileError::Unwritable {
            path: folder.to_path_buf(),
            source: source.into(),
        };
        std::fs::create_dir_all(folder).map_err(unwritable)?;
        Ok(parts)
    }

    /// The file of that number.
    pub fn path(&self, number: usize) -> PathBuf {
        self.folder.join(format!("part-{number:05}.{}", self.extension))
    }

    /// The rows of each file but the last.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Writes tables with the same columns one after the other, into the files from number `first` on; gives those.
    /// An error of a piece ends it: files that are full by then stay.
    pub fn write(
        &self,
        first: usize,
        pieces: impl Iterator<Item = io::Result<Table>>,
        journal: &mut dyn Journal,
    ) -> Result<Vec<PathBuf>, TableError> {
        let mut feed = Feed { pieces, held: None };
        let mut written = Vec::new();
        loop {
            let path = self.path(first + written.len());
            let unreadable = |source| TableError::Unreadable { path: path.clone(), source };
            if !feed.has_more().map_err(unreadable)? {
                return Ok(written);
            }
            journal.begin(&path)?;
            let mut left = self.rows;
            let part = std::iter::from_fn(|| feed.take(&mut left));
            if format_of(&path).is_ok_and(Format::writes_pieces) {
                write_pieces(&path, part)?;
            } else {
                let mut stack = Stack::new(0);
                for piece in part {
                    stack.push(piece.map_err(unreadable)?);
                }
                write(&path, &stack.finish(&path))?;
            }
            journal.complete(&path, self.rows - left)?;
            written.push(path);
        }
    }
}

/// Hears of the files of a folder as they come, for instance to go on after the last one that is complete.
pub trait Journal {
    /// Before a file is begun; an error leaves it alone.
    fn begin(&mut self, path: &Path) -> Result<(), TableError>;

    /// A file of so many rows is in its place.
    fn complete(&mut self, path: &Path, rows: usize) -> Result<(), TableError>;
}

/// Nobody hears.
impl Journal for () {
    fn begin(&mut self, _: &Path) -> Result<(), TableError> {
        Ok(())
    }

    fn complete(&mut self, _: &Path, _: usize) -> Result<(), TableError> {
        Ok(())
    }
}

/// Pieces, of which the next may have been begun.
struct Feed<I> {
    pieces: I,
    held: Option<Table>,
}

impl<I: Iterator<Item = io::Result<Table>>> Feed<I> {
    fn has_more(&mut self) -> io::Result<bool> {
        while self.held.is_none() {
            match self.pieces.next() {
                None => return Ok(false),
                Some(piece) => self.held = Some(piece?).filter(|piece| piece.rows() > 0),
            }
        }
        Ok(true)
    }

    /// The next rows, at most `left`, which are taken off it.
    fn take(&mut self, left: &mut usize) -> Option<io::Result<Table>> {
        if *left == 0 {
            return None;
        }
        match self.has_more() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(e) => {
                *left = 0;
                return Some(Err(e));
            }
        }
        let mut piece = self.held.take()?;
        if piece.rows() > *left {
            let mut rest = piece.clone();
            rest.keep_rows(&(*left..piece.rows()).collect::<Vec<_>>());
            piece.keep_rows(&(0..*left).collect::<Vec<_>>());
            self.held = Some(rest);
        }
        *left -= piece.rows();
        Some(Ok(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, ColumnData, ReadOptions, Source};

    fn piece(rows: std::ops::Range<i64>) -> io::Result<Table> {
        let cells = rows.map(Some).collect();
        Ok(Table::new("p", vec![Column::new("n", ColumnData::Integer(cells))]).unwrap())
    }

    #[test]
    fn every_file_but_the_last_is_full_and_the_folder_is_the_table_again() {
        for extension in ["parquet", "csv", "arrow"] {
            let folder = tempfile::tempdir().unwrap();
            let parts = Parts::new(&folder.path().join("out"), extension, 10).unwrap();
            let pieces = [0..3, 3..3, 3..25, 25..26, 26..30, 30..33];
            let written = parts.write(0, pieces.into_iter().map(piece), &mut ()).unwrap();
            assert_eq!(written.len(), 4);
            assert!(written[3].ends_with(format!("part-00003.{extension}")));
            let table = Source::find(&[folder.path().join("out")]).unwrap();
            let table = table.read(&ReadOptions::default()).unwrap();
            let ColumnData::Integer(cells) = &table.columns[0].data else {
                panic!("whole numbers")
            };
            assert_eq!(*cells, (0..33).map(Some).collect::<Vec<_>>());
            assert_eq!(crate::read(&written[1]).unwrap().rows(), 10);
            let more = parts.write(4, std::iter::once(piece(33..34)), &mut ()).unwrap();
            assert!(more[0].ends_with(format!("part-00004.{extension}")));
        }
    }

    #[test]
    fn a_piece_that_fails_leaves_the_files_that_are_full() {
        let folder = tempfile::tempdir().unwrap();
        let parts = Parts::new(folder.path(), "parquet", 10).unwrap();
        let pieces = [piece(0..15), Err(io::Error::other("stopped"))];
        let error = parts.write(0, pieces.into_iter(), &mut ()).unwrap_err().to_string();
        assert!(error.contains("stopped"), "{error}");
        assert!(parts.path(0).exists() && !parts.path(1).exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(Parts::new(folder.path(), "doc", 10).is_err());
    }
}
