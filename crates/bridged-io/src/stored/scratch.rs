//! The rows of a source in one file, for passes after the first: 32-bit floats, row by row, as passes hand them out.
//!
//! Decoding Parquet, fetching from a server and parsing text are done once then, and a row is found by its number. The
//! file has no name, so that it is gone when the command ends, however it ends.

use crate::error::TableError;
use crate::source::SourceError;
use bridged_math::{Matrix, MatrixRef};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of wanted rows that lie this near to each other, those between are read with them.
const SPARSE: usize = 8;

/// Where the rows of one source are kept.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
    rows: usize,
    cols: usize,
    /// All rows; none until a pass has come to its end.
    file: Mutex<Option<File>>,
}

/// A pass that writes what it hands out.
pub(super) struct Writing<'a> {
    scratch: &'a Scratch,
    file: BufWriter<File>,
    bytes: Vec<u8>,
}

/// The bytes of rows in a scratch folder.
pub(super) fn bytes_of(rows: usize, cols: usize) -> u64 {
    4 * (rows as u64).saturating_mul(cols as u64)
}

/// Whether a folder can take so many bytes.
pub fn check_scratch(folder: &Path, needs: u64) -> Result<(), TableError> {
    let failed = |source| no_room(folder, needs, Some(source));
    tempfile::tempfile_in(folder).map_err(failed)?;
    match free_bytes(folder).map_err(failed)? {
        Some(free) if free < needs => Err(no_room(folder, needs, None)),
        _ => Ok(()),
    }
}

/// What a folder has room for, where the system tells.
fn free_bytes(folder: &Path) -> io::Result<Option<u64>> {
    #[cfg(unix)]
    {
        let found = rustix::fs::statvfs(folder)?;
        Ok(Some(found.f_bavail.saturating_mul(found.f_frsize)))
    }
    #[cfg(not(unix))]
    {
        _ = folder;
        Ok(None)
    }
}

fn no_room(folder: &Path, needs: u64, source: Option<io::Error>) -> TableError {
    let detail = match source {
        Some(source) => source.to_string(),
        None => match free_bytes(folder) {
            Ok(Some(free)) => format!("{} are free", bridged_math::memory::shown(free)),
            _ => "there is no room".to_string(),
        },
    };
    SourceError::NoScratch { folder: folder.to_path_buf(), needs, detail }.into()
}

impl Scratch {
    /// For so many rows.
    pub fn new(folder: &Path, rows: usize, cols: usize) -> Self {
        Self { folder: folder.to_path_buf(), rows, cols, file: Mutex::default() }
    }

    /// Whether all rows are there.
    pub fn is_complete(&self) -> bool {
        self.lock().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<File>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, source: io::Error) -> TableError {
        no_room(&self.folder, bytes_of(self.rows, self.cols), Some(source))
    }

    /// Begins to write.
    pub fn begin(&self) -> Result<Writing<'_>, TableError> {
        let file = tempfile::tempfile_in(&self.folder).map_err(|e| self.failed(e))?;
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(Writing { scratch: self, file, bytes: Vec::new() })
    }

    /// Rows that follow each other.
    pub fn read(&self, range: Range<usize>) -> Result<Matrix, TableError> {
        let width = 4 * self.cols;
        let mut bytes = vec![0u8; range.len() * width];
        let mut held = self.lock();
        let file = held.as_mut().expect("a pass has written all rows");
        let at = (range.start as u64).saturating_mul(width as u64);
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut bytes));
        drop(held);
        read.map_err(|e| self.failed(e))?;
        let values = bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        Ok(Matrix::new(range.len(), self.cols, values).expect("whole rows"))
    }

    /// Any rows whose numbers ascend, each as often as it is named.
    pub fn read_some(&self, rows: &[usize]) -> Result<Matrix, TableError> {
        let mut values = Vec::with_capacity(rows.len() * self.cols);
        let near = |a: &usize, b: &usize| b - a <= SPARSE;
        for run in rows.chunk_by(near) {
            let (first, last) = (run[0], run[run.len() - 1]);
            let found = self.read(first..last + 1)?;
            run.iter().for_each(|row| values.extend_from_slice(found.row(row - first)));
        }
        Ok(Matrix::new(rows.len(), self.cols, values).expect("whole rows"))
    }
}

impl Writing<'_> {
    /// The next rows.
    pub fn push(&mut self, rows: MatrixRef<'_>) -> Result<(), TableError> {
        self.bytes.clear();
        rows.data().iter().for_each(|v| self.bytes.extend_from_slice(&v.to_le_bytes()));
        self.file.write_all(&self.bytes).map_err(|e| self.scratch.failed(e))
    }

    /// All rows came: later passes read them here.
    pub fn finish(self) -> Result<(), TableError> {
        let scratch = self.scratch;
        let file = self.file.into_inner().map_err(|e| scratch.failed(e.into_error()))?;
        *scratch.lock() = Some(file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_went_in() {
        let folder = tempfile::tempdir().unwrap();
        let x = Matrix::from_fn(500, 3, |i, c| match c {
            0 => -0.0,
            1 => f32::MIN_POSITIVE / 2.0,
            _ => (i * 7) as f32 + 0.1,
        });
        let scratch = Scratch::new(folder.path(), 500, 3);
        let mut writing = scratch.begin().unwrap();
        for first in (0..500).step_by(70) {
            writing.push(x.view().slice(first..(first + 70).min(500))).unwrap();
        }
        assert!(!scratch.is_complete());
        writing.finish().unwrap();
        assert!(scratch.is_complete());
        let bits = |m: &Matrix| m.data().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&scratch.read(0..500).unwrap()), bits(&x));
        let some = [3, 3, 4, 9, 200, 201, 499];
        assert_eq!(bits(&scratch.read_some(&some).unwrap()), bits(&x.view().select(some)));
        // The file has no name.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    #[cfg(unix)]
    fn a_disk_that_is_too_small_is_told_with_both_sizes() {
        let folder = tempfile::tempdir().unwrap();
        check_scratch(folder.path(), 1_000).unwrap();
        let error = check_scratch(folder.path(), 1 << 60).unwrap_err().to_string();
        assert!(error.contains("cannot take the rows,") && error.contains(" are free;"), "{error}");
    }
}
