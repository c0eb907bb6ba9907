//! Temporary files beside their targets.
//!
//! Each is locked by the process that writes it. A process that is killed leaves its file behind, but
//! not its lock: whoever next makes one in that folder removes the files that nobody holds.

use super::identity::is_at;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = ".bridged-";
const SUFFIX: &str = ".tmp";

/// Numbers the files of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// An empty file that is removed when it is dropped, unless it was moved to its place.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
    file: File, // locked until it is closed
    moved: bool,
}

impl Temporary {
    /// A new file in a folder, after a look for those that were left there.
    pub fn new_in(folder: &Path) -> io::Result<Self> {
        remove_stale(folder);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{PREFIX}{}-{number}{SUFFIX}", std::process::id()));
            let file = match OpenOptions::new().read(true).write(true).create_new(true).open(&path)
            {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                file => file?,
            };
            // A file system without locks is no reason to stop: nobody removes what cannot be locked.
            let _ = file.lock();
            let made = Self { path, file, moved: false };
            // Another process may have taken it for one that was left, before it was locked.
            if is_at(&made.file, &made.path) {
                return Ok(made);
            }
        }
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn file_mut(&mut self) -> &mut File {
        &mut self.file
    }

    /// Moves it over `target`.
    pub fn move_to(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.moved = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.moved {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the temporary files of a folder that no living process holds. What cannot be looked at is
/// left alone.
fn remove_stale(folder: &Path) {
    let ours =
        |name: &OsStr| name.to_str().is_some_and(|n| n.starts_with(PREFIX) && n.ends_with(SUFFIX));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok).filter(|e| ours(&e.file_name())) {
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Writing must be asked for: some network file systems lock no other files.
        let Ok(file) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
        if file.try_lock().is_ok() && is_at(&file, &path) {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_held_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".bridged-AbCdEf.tmp");
        let other = folder.path().join(".another.tmp");
        fs::write(&left, "half of a model").unwrap();
        fs::write(&other, "of somebody else").unwrap();
        let held = Temporary::new_in(folder.path()).unwrap();
        assert!(!left.exists() && other.exists());
        let second = Temporary::new_in(folder.path()).unwrap();
        assert!(held.path.exists() && second.path.exists());
        let path = held.path.clone();
        drop(held);
        assert!(!path.exists() && second.path.exists());
    }
}
