//! One process at a time: locks of the operating system, which end with their process however it ends.

use super::error::FileError;
use super::identity::is_at;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// Locks an open file, or says that another process has it. False if the file was removed or replaced
/// before it was locked: whoever asks opens it again. On a file system without locks, work goes on without.
pub fn lock_open_file(file: &File, path: &Path) -> Result<bool, FileError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(FileError::Locked { path: path.to_path_buf() }),
        Err(TryLockError::Error(_)) => Ok(true),
        Ok(()) => Ok(is_at(file, path)),
    }
}

/// A lock file that is held: `path` exists until this is dropped.
///
/// A killed process leaves the file but not the lock, so the next one takes it over. A file that holds something is
/// somebody's own: it is locked, and stays.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    file: File, // holds the lock
}

impl FileLock {
    /// Takes the lock, or says that another process has it: `what` is what it locks.
    pub fn acquire(path: &Path, what: &Path) -> Result<Self, FileError> {
        let unwritable = |e: std::io::Error| FileError::Unwritable {
            path: path.to_path_buf(),
            source: e.into(),
        };
        loop {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).open(path);
            let file = file.map_err(unwritable)?;
            // Whoever had it may have removed it between the two calls.
            if lock_open_file(&file, path)
                .map_err(|_| FileError::Locked { path: what.to_path_buf() })?
            {
                return Ok(Self { path: path.to_path_buf(), file });
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // While it is still locked, so that no other process can hold it now.
        if self.file.metadata().is_ok_and(|about| about.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_by_one_and_leaves_no_file_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        let lock = FileLock::acquire(&path, folder.path()).unwrap();
        let error = FileLock::acquire(&path, folder.path()).unwrap_err();
        assert!(error.to_string().starts_with("another process is writing"), "{error}");
        drop(lock);
        assert!(!path.exists());
        fs::write(&path, "").unwrap(); // as a killed process leaves it
        FileLock::acquire(&path, folder.path()).unwrap();
        assert!(!path.exists());
        fs::write(&path, "mine").unwrap();
        FileLock::acquire(&path, folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
