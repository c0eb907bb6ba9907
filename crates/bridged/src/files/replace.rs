//! Writes a file whole or not at all.
//!
//! The content goes to a temporary file in the target's directory, is flushed to the disk, and is
//! renamed over the target at the end; whoever looks sees the old file or the new one. On any error
//! the temporary file is removed and the target is as it was.

use super::error::{FileError, WriteError};
use super::temporary::Temporary;
use bridged_math::Cancelled;
use bridged_math::cancel::{checkpoint, is_stopped};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where content goes.
pub type Sink<'a> = dyn Write + Send + 'a;

/// Replaces `path` by what `content` writes.
///
/// A symbolic link is followed; a device or pipe is written to directly, since it cannot be
/// replaced. The mode and the owner of an existing file are kept.
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("report.txt");
/// bridged::files::replace(&path, |sink| Ok(sink.write_all(b"done\n")?))?;
/// assert_eq!(std::fs::read(&path)?, b"done\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replace(
    path: &Path,
    content: impl FnOnce(&mut Sink<'_>) -> Result<(), WriteError>,
) -> Result<(), FileError> {
    let mut replacement = Replacement::begin(path)?;
    replacement.write(content)?;
    replacement.finish()
}

/// A file on its way to its place. Dropped before [`finish`](Self::finish), it leaves everything as
/// it was.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// Something that is written to directly.
    Device(File),
    /// A new file, and where it goes.
    File { temporary: Temporary, target: PathBuf, parent: PathBuf },
}

impl Replacement {
    /// Makes room for a new file at `path`, or says why there cannot be one.
    pub fn begin(path: &Path) -> Result<Self, FileError> {
        let unwritable = |e: io::Error| unwritable(path, e);
        let Target { target, parent, existing } = Target::of(path)?;
        if existing.as_ref().is_some_and(|m| !m.is_file()) {
            let device = OpenOptions::new().write(true).open(&target).map_err(unwritable)?;
            return Ok(Self { path: path.to_path_buf(), place: Place::Device(device) });
        }
        let temporary = Temporary::new_in(&parent).map_err(unwritable)?;
        if let Some(metadata) = &existing {
            keep_owner(temporary.file(), metadata);
            temporary.file().set_permissions(metadata.permissions()).map_err(unwritable)?;
        }
        let place = Place::File { temporary, target, parent };
        Ok(Self { path: path.to_path_buf(), place })
    }

    /// Writes the content, and flushes it to the disk.
    pub fn write(
        &mut self,
        content: impl FnOnce(&mut Sink<'_>) -> Result<(), WriteError>,
    ) -> Result<(), FileError> {
        let path = &self.path;
        let file = match &mut self.place {
            Place::Device(device) => device,
            Place::File { temporary, .. } => temporary.file_mut(),
        };
        let mut sink = BufWriter::with_capacity(1 << 16, Stoppable(file));
        content(&mut sink).map_err(|error| {
            checkpoint();
            match error {
                WriteError::Refused(reason) => FileError::Refused { path: path.clone(), reason },
                WriteError::Failed(source) => FileError::Unwritable { path: path.clone(), source },
            }
        })?;
        sink.flush().map_err(|e| unwritable(path, e))?;
        drop(sink);
        match &self.place {
            Place::Device(_) => Ok(()),
            Place::File { temporary, .. } => {
                temporary.file().sync_all().map_err(|e| unwritable(path, e))
            }
        }
    }

    /// What was written, to be read back before it takes its place; none of a device.
    pub fn written(&self) -> Option<io::Result<File>> {
        match &self.place {
            Place::Device(_) => None,
            Place::File { temporary, .. } => Some(temporary.file().try_clone()),
        }
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<(), FileError> {
        let Place::File { temporary, target, parent } = self.place else { return Ok(()) };
        temporary.move_to(&target).map_err(|e| unwritable(&self.path, e))?;
        // The rename itself reaches the disk with its directory; some file systems cannot do that.
        if let Ok(directory) = File::open(&parent) {
            let _ = directory.sync_all();
        }
        Ok(())
    }
}

/// Fails once the work was asked to stop. It does not unwind by itself: what compresses may write when it is dropped.
struct Stoppable<'a>(&'a mut File);

impl Write for Stoppable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if is_stopped() {
            return Err(io::Error::other(Cancelled));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn unwritable(path: &Path, error: io::Error) -> FileError {
    FileError::Unwritable { path: path.to_path_buf(), source: error.into() }
}

/// Where a path leads: links followed, also one to a file that is not there yet.
pub(super) struct Target {
    pub target: PathBuf,
    pub parent: PathBuf,
    pub existing: Option<Metadata>,
}

/// The longest chain of links that leads to a file that is not there yet.
const LINKS: usize = 40;

impl Target {
    pub fn of(path: &Path) -> Result<Self, FileError> {
        let unwritable = |e: io::Error| unwritable(path, e);
        let (target, existing) = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(FileError::Directory { path: path.to_path_buf() });
            }
            Ok(metadata) if metadata.is_file() && metadata.permissions().readonly() => {
                return Err(FileError::Protected { path: path.to_path_buf() });
            }
            // The canonical path of a pipe, as behind `/dev/stdout`, leads nowhere.
            Ok(metadata) if !metadata.is_file() => (path.to_path_buf(), Some(metadata)),
            Ok(metadata) => (fs::canonicalize(path).map_err(unwritable)?, Some(metadata)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => (end_of_links(path), None),
            Err(e) => return Err(unwritable(e)),
        };
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        if !parent.is_dir() {
            return Err(FileError::NoParent { path: path.to_path_buf(), parent });
        }
        Ok(Self { target, parent, existing })
    }
}

/// Where links lead that end at no file.
fn end_of_links(path: &Path) -> PathBuf {
    let mut target = path.to_path_buf();
    for _ in 0..LINKS {
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    target
}

/// Gives a new file the owner of the one that it replaces, where that is allowed.
fn keep_owner(file: &File, of: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let differs = |own: Metadata| (own.uid(), own.gid()) != (of.uid(), of.gid());
        if file.metadata().is_ok_and(differs) {
            let _ = std::os::unix::fs::fchown(file, Some(of.uid()), Some(of.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, of);
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
        assert!(matches!(error, FileError::Directory { .. }));
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

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_file_that_is_not_there_yet_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("data")).unwrap();
        let link = directory.path().join("latest.csv");
        std::os::unix::fs::symlink("data/first.csv", &link).unwrap();
        replace(&link, |sink| Ok(sink.write_all(b"new")?)).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(directory.path().join("data/first.csv")).unwrap(), "new");
    }

    #[test]
    fn a_write_protected_file_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        fs::write(&path, "old").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        let error = replace(&path, |sink| Ok(sink.write_all(b"new")?)).unwrap_err();
        assert!(error.to_string().contains("is write-protected"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
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
