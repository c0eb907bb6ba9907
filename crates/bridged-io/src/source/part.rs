//! One file of a source: where it is, and whether it is still what it was.

use super::error::SourceError;
use super::partition::Values;
use crate::error::TableError;
use crate::format::Format;
use crate::{Input, ReadOptions};
use bridged_math::memory::shown as shown_size;
use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A file of a source.
#[derive(Clone, Debug)]
pub struct Part {
    /// As messages call it: the path or the URL.
    pub(crate) name: PathBuf,
    pub(crate) place: Place,
    pub(crate) format: &'static Format,
    pub(crate) stamp: Stamp,
    /// One value per partition of the source.
    pub(crate) values: Values,
}

impl Part {
    /// Whether it came from standard input, and is gone when it was read.
    pub fn is_temporary(&self) -> bool {
        matches!(self.place, Place::Kept(_))
    }
}

/// Where the bytes are.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A file of the user.
    File(PathBuf),
    /// What came from standard input; gone with the last part that holds it.
    Kept(Arc<tempfile::TempPath>),
    /// No file: batches of another library of this process.
    Batches(Arc<dyn super::Batches>),
    /// On a server.
    #[cfg(feature = "remote")]
    Remote(super::remote::Object),
}

/// What tells whether a file is still the same: its size, and its time or the tag that its server gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: Option<SystemTime>,
    /// What a server calls this version of it.
    pub tag: Option<String>,
}

impl Stamp {
    /// Of a file on this machine.
    pub fn of(metadata: &Metadata) -> Self {
        Self { size: metadata.len(), modified: metadata.modified().ok(), tag: None }
    }

    /// What differs between this, the earlier one, and a later one.
    fn difference(&self, later: &Self) -> Option<String> {
        if self.size != later.size {
            let (before, now) = (shown_size(self.size), shown_size(later.size));
            let same = before == now;
            let (before, now) = match same {
                true => (format!("{} bytes", self.size), format!("{} bytes", later.size)),
                false => (before, now),
            };
            return Some(format!("it had {before} and has {now}"));
        }
        (self != later).then(|| "it was written again".to_owned())
    }
}

/// The tag of its server, or when it was last written, in seconds since 1970.
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        match (&self.tag, since) {
            (Some(tag), _) => f.write_str(tag),
            (None, Some(since)) => write!(f, "{}.{:09}", since.as_secs(), since.subsec_nanos()),
            (None, None) => Ok(()),
        }
    }
}

/// Bytes that are not there until they are asked for.
pub(crate) trait Fetch: Send + Sync {
    /// Makes these bytes of the file readable.
    fn ensure(&self, range: Range<u64>) -> io::Result<()>;
}

impl Part {
    /// The path or the URL.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The file on this machine, if it is a file of the user.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            _ => None,
        }
    }

    /// What tells whether it is still the same.
    pub fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// What `then` makes of the part, which is what it was when the source was found: before and after.
    pub(crate) fn open<T>(
        &self,
        options: &ReadOptions<'_>,
        then: impl FnOnce(&Input<'_>) -> Result<T, TableError>,
    ) -> Result<T, TableError> {
        let path: &Path = match &self.place {
            Place::File(path) => path,
            Place::Kept(path) => path,
            Place::Batches(_) => return Err(self.unreadable(io::Error::other("it is no file"))),
            #[cfg(feature = "remote")]
            Place::Remote(object) => {
                let spool = object.spool(&self.name, self.stamp.size)?;
                let file = spool.file();
                let (len, fetch) = (self.stamp.size, Some(spool.clone() as Arc<dyn Fetch>));
                let input = Input { path: &self.name, file: &file, len, options, fetch };
                let result =
                    spool.ensure_for(self.format).map_err(|source| self.unreadable(source));
                let result = result.and_then(|()| crate::sniffed(self.format, &input, then));
                // What the server said is said first: a decoder only knows that bytes are missing.
                return spool.failure().map_or(result, Err);
            }
        };
        let file = File::open(path).map_err(|source| self.unreadable(source))?;
        self.check(&file)?;
        let (len, fetch) = (self.stamp.size, None);
        let input = Input { path: &self.name, file: &file, len, options, fetch };
        let result = crate::sniffed(self.format, &input, then);
        // A file that was changed meanwhile may look damaged, and says nothing if it does not.
        self.check(&file)?;
        result
    }

    fn unreadable(&self, source: io::Error) -> TableError {
        match source.kind() {
            io::ErrorKind::NotFound => SourceError::Gone { path: self.name.clone() }.into(),
            _ => TableError::Unreadable { path: self.name.clone(), source },
        }
    }

    /// That an open file is still the one that was found.
    fn check(&self, file: &File) -> Result<(), TableError> {
        let metadata = file.metadata().map_err(|source| self.unreadable(source))?;
        if !metadata.is_file() {
            return Ok(()); // a device tells neither
        }
        match self.stamp.difference(&Stamp::of(&metadata)) {
            Some(detail) => Err(SourceError::Changed { path: self.name.clone(), detail }.into()),
            None => Ok(()),
        }
    }
}
