//! Writes a file whole or not at all.
//!
//! The content goes to a temporary file in the target's directory, is flushed to the disk, and is
//! renamed over the target at the end; whoever looks sees the old file or the new one. On any error
//! the temporary file is removed and the target is as it was.

use crate::error::TableError;
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use thiserror::Error as ThisError;

/// Where content goes.
pub type Sink<'a> = dyn Write + Send + 'a;

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

/// Replaces `path` by what `content` writes.
///
/// A symbolic link is followed; a device or pipe is written to directly, since it cannot be
/// replaced.
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("report.txt");
/// bridged_io::replace(&path, |sink| Ok(sink.write_all(b"done\n")?))?;
/// assert_eq!(std::fs::read(&path)?, b"done\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replace(
    path: &Path,
    content: impl FnOnce(&mut Sink<'_>) -> Result<(), WriteError>,
) -> Result<(), TableError> {
    let failed = |source: Box<dyn Error + Send + Sync>| TableError::Unwritable {
        path: path.to_path_buf(),
        source,
    };
    let refused = |error: WriteError| match error {
        WriteError::Refused(reason) => TableError::Refused { path: path.to_path_buf(), reason },
        WriteError::Failed(source) => failed(source),
    };
    let (target, existing) = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(TableError::Directory { path: path.to_path_buf() });
        }
        Ok(metadata) => {
            let target = fs::canonicalize(path).map_err(|e| failed(e.into()))?;
            (target, Some(metadata))
        }
        Err(_) => (path.to_path_buf(), None),
    };
    if existing.as_ref().is_some_and(|m| !m.is_file()) {
        let device = OpenOptions::new().write(true).open(&target).map_err(|e| failed(e.into()))?;
        let mut sink = BufWriter::new(device);
        content(&mut sink).map_err(refused)?;
        return sink.flush().map_err(|e| failed(e.into()));
    }
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    if !parent.is_dir() {
        return Err(TableError::NoParent { path: path.to_path_buf(), parent });
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".bridged-").suffix(".tmp");
    // Temporary files are private by default; this one is to become an ordinary file.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = builder.tempfile_in(&parent).map_err(|e| failed(e.into()))?;
    if let Some(metadata) = &existing {
        temporary
            .as_file()
            .set_permissions(metadata.permissions())
            .map_err(|e| failed(e.into()))?;
    }
    let mut sink = BufWriter::with_capacity(1 << 16, temporary);
    content(&mut sink).map_err(refused)?;
    let temporary = sink.into_inner().map_err(|e| failed(e.into_error().into()))?;
    temporary.as_file().sync_all().map_err(|e| failed(e.into()))?;
    temporary.persist(&target).map_err(|e| failed(e.error.into()))?;
    // The rename itself reaches the disk with its directory; some file systems cannot do that.
    if let Ok(directory) = File::open(&parent) {
        let _ = directory.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        fs::write(&path, "old").unwrap();
        let error = replace(&path, |sink| {
            sink.write_all(b"half of the new")?;
            Err(io::Error::other("disk full").into())
        });
        assert!(error.unwrap_err().to_string().ends_with("could not be written: disk full"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(directory.path()), ["t.csv"]);
    }

    #[test]
    fn a_directory_and_a_missing_parent_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let error = replace(directory.path(), |_| Ok(())).unwrap_err();
        assert!(matches!(error, TableError::Directory { .. }));
        let error = replace(&directory.path().join("no/t.csv"), |_| Ok(())).unwrap_err();
        assert!(error.to_string().ends_with("does not exist; create it first"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_and_the_mode_kept() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real.csv"), directory.path().join("link.csv"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        replace(&link, |sink| Ok(sink.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_an_error_and_stays_a_device() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("full.csv");
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let error = replace(&link, |sink| Ok(sink.write_all(&[b'x'; 1 << 20])?)).unwrap_err();
        assert!(error.to_string().contains("No space left"), "{error}");
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }
}
