//! Files on servers: `s3://`, `gs://`, `az://`, `https://` and `http://`.
//!
//! What a user of those services has in the environment is used as it is (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`,
//! `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME` and so on). A bucket is listed below a folder or for a
//! pattern; a plain web server cannot be listed, so there a file is named.
//!
//! Bytes come in ranges of a few megabytes as they are asked for, and are kept in a temporary file while a part is
//! read ([`Spool`]): of a Parquet file those of the columns that are wanted, of other formats all. Answers that a
//! server calls temporary (5xx, 429) are asked for again with growing pauses; every request names the version of the
//! object that was found first.
//!
//! The asynchronous runtime that `object_store` needs lives here and nowhere else.

mod service;
mod spool;

use super::error::SourceError;
use super::find::{Found, MATCHING, is_left_out, no_tables};
use super::part::{Place, Stamp};
use crate::error::TableError;
use crate::format::{known_format, read_format};
use bridged_math::cancel::{TICK, checkpoint, is_stopped};
use futures_util::TryStreamExt;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use service::{Service, Url};
use spool::Spool;
use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;
use tokio::runtime::{Builder, Runtime};

/// An object of a server.
#[derive(Clone)]
pub(crate) struct Object {
    store: Arc<dyn ObjectStore>,
    key: Key,
    service: Service,
    /// What must not be shown: the part of a URL that may hold a signature.
    secret: Option<String>,
    stamp: Stamp,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Object {
    /// A temporary file that fills as its bytes are asked for.
    pub fn spool(&self, name: &Path, size: u64) -> Result<Arc<Spool>, TableError> {
        Spool::new(self.clone(), name, size).map(Arc::new)
    }

    /// The error in words, under the name of the object.
    fn said(&self, name: &Path, error: object_store::Error) -> TableError {
        if matches!(error, object_store::Error::Precondition { .. }) {
            let detail = "its server has another version of it".to_owned();
            return SourceError::Changed { path: name.to_path_buf(), detail }.into();
        }
        let url = name.display().to_string();
        let detail = self.service.explain(error, self.secret.as_deref());
        SourceError::Remote { url, detail }.into()
    }
}

/// One runtime for the process: two threads that mostly wait.
fn runtime() -> Result<&'static Runtime, std::io::Error> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let mut builder = Builder::new_multi_thread();
    let made = builder.worker_threads(2).thread_name("bridged-remote").enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

/// Waits for an answer; unwinds when the work is stopped.
fn wait<T>(answer: impl Future<Output = T>) -> Result<T, TableError> {
    let runtime = runtime().map_err(|e| TableError::from(SourceError::NoThread(e)))?;
    let answered = runtime.block_on(async {
        let mut answer = pin!(answer);
        loop {
            match tokio::time::timeout(TICK, &mut answer).await {
                Ok(answer) => return Some(answer),
                Err(_) if is_stopped() => return None,
                Err(_) => {}
            }
        }
    });
    if answered.is_none() {
        checkpoint();
    }
    Ok(answered.expect("work that is stopped unwinds at the checkpoint"))
}

/// What a URL stands for, in order; and how many other files its folder holds.
pub(crate) fn find(url: &str) -> Result<(Vec<Found>, usize), TableError> {
    let url = Url::parse(url)?;
    let store = url.store()?;
    let place = Listing { url, store };
    if place.url.is_pattern() {
        return place.pattern();
    }
    let named = PathBuf::from(place.url.shown());
    if known_format(&named).is_some() || !place.url.service.can_list() {
        read_format(&named)?;
        let key = place.url.key.clone();
        return match place.stamp(&key) {
            Ok(stamp) => Ok((vec![place.found(key, stamp)?], 0)),
            // A folder may be called so: Spark writes `rows.parquet/part-0.parquet`.
            Err(error @ object_store::Error::NotFound { .. }) if place.url.service.can_list() => {
                place.folder().map_err(|_| place.object(key, nothing()).said(&named, error))
            }
            Err(error) => Err(place.object(key, nothing()).said(&named, error)),
        };
    }
    place.folder()
}

fn nothing() -> Stamp {
    Stamp { size: 0, modified: None, tag: None }
}

fn stamp_of(meta: &ObjectMeta) -> Stamp {
    let modified = Some(SystemTime::from(meta.last_modified));
    // A server that sends no time gives the beginning of time.
    let modified = modified.filter(|time| *time > SystemTime::UNIX_EPOCH);
    Stamp { size: meta.size, modified, tag: meta.e_tag.clone() }
}

/// A URL and who answers for it.
struct Listing {
    url: Url,
    store: Arc<dyn ObjectStore>,
}

impl Listing {
    fn object(&self, key: Key, stamp: Stamp) -> Object {
        let (store, service) = (Arc::clone(&self.store), self.url.service);
        Object { store, key, service, secret: self.url.secret.clone(), stamp }
    }

    fn found(&self, key: Key, stamp: Stamp) -> Result<Found, TableError> {
        let name = PathBuf::from(self.url.shown_key(&key));
        let format = read_format(&name)?;
        let place = Place::Remote(self.object(key, stamp.clone()));
        Ok(Found { name, place, format, stamp })
    }

    /// Size and version of an object.
    fn stamp(&self, key: &Key) -> Result<Stamp, object_store::Error> {
        let ask = async {
            if self.url.service.can_list() {
                return self.store.head(key).await;
            }
            // A signed URL allows nothing but to read.
            let range = Some(GetRange::Bounded(0..1));
            let options = GetOptions { range, ..GetOptions::default() };
            match self.store.get_opts(key, options).await {
                Err(object_store::Error::NotSupported { .. }) => {
                    self.store.get_opts(key, GetOptions::default()).await.map(|got| got.meta)
                }
                got => got.map(|got| got.meta),
            }
        };
        let meta = wait(ask).map_err(|e| object_store::Error::Generic {
            store: "runtime",
            source: Box::new(e),
        })??;
        Ok(stamp_of(&meta))
    }

    /// All objects below a key.
    fn below(&self, key: &Key) -> Result<Vec<ObjectMeta>, TableError> {
        let listed = wait(self.store.list(Some(key)).try_collect::<Vec<_>>())?;
        let name = PathBuf::from(self.url.shown());
        let mut listed =
            listed.map_err(|error| self.object(key.clone(), nothing()).said(&name, error))?;
        // Folder by folder, as on a disk.
        listed.sort_by(|a, b| a.location.as_ref().split('/').cmp(b.location.as_ref().split('/')));
        Ok(listed)
    }

    fn folder(&self) -> Result<(Vec<Found>, usize), TableError> {
        let key = self.url.key.clone();
        let (mut found, mut others) = (Vec::new(), 0);
        for meta in self.below(&key)? {
            let rest = meta.location.as_ref().strip_prefix(key.as_ref()).unwrap_or_default();
            let hidden = rest.split('/').any(|name| is_left_out(Path::new(name)));
            if hidden || meta.size == 0 && rest.is_empty() {
                continue;
            }
            match known_format(Path::new(rest)).filter(|format| format.reads) {
                Some(_) => found.push(self.found(meta.location.clone(), stamp_of(&meta))?),
                None => others += 1,
            }
        }
        if found.is_empty() {
            return Err(no_tables(Path::new(&self.url.shown())));
        }
        Ok((found, others))
    }

    fn pattern(&self) -> Result<(Vec<Found>, usize), TableError> {
        let shown = PathBuf::from(self.url.shown());
        let bad = |detail: String| SourceError::BadPattern { pattern: shown.clone(), detail };
        if !self.url.service.can_list() {
            let url = self.url.shown();
            let detail =
                "a web server cannot be asked which files it has; name each of them".to_owned();
            return Err(SourceError::Remote { url, detail }.into());
        }
        let pattern = glob::Pattern::new(&self.url.path).map_err(|e| bad(e.to_string()))?;
        let mut found = Vec::new();
        for meta in self.below(&self.url.fixed())? {
            if pattern.matches_with(meta.location.as_ref(), MATCHING) {
                found.push(self.found(meta.location.clone(), stamp_of(&meta))?);
            }
        }
        if found.is_empty() {
            return Err(SourceError::NothingMatches { pattern: shown }.into());
        }
        Ok((found, 0))
    }
}
