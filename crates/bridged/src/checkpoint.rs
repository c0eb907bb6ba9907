//! A folder in which work keeps its states, so that it can go on after it was stopped or killed.
//!
//! ```text
//! m.bridged.checkpoint/
//!   x-kmeans.state     what it is of, a checksum, and the state
//! ```
//!
//! A state is written whole or not at all, in place of the one before it. It is taken by work with the same settings
//! over the same files alone, and by the release that wrote it: anything else begins anew and says so. A file of
//! that name that is no state is left as it is.

use crate::files;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How a state begins.
const MAGIC: &[u8] = b"bridged state 1\n";
/// How the files of states end.
const EXTENSION: &str = "state";

/// What work is: the parameters and whatever else is set, and the rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkId {
    /// Parameters, seed, columns.
    pub settings: String,
    /// Files with what tells whether they have changed.
    pub rows: String,
}

/// The first line after the magic one.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    release: String,
    work: WorkId,
    name: String,
    checksum: u32,
}

/// What is in the folder when the work begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// No state.
    Nothing,
    /// States of this work, which goes on from there.
    Same,
    /// States of other work, in half a sentence.
    Other(&'static str),
}

/// The states of one piece of work. The folder appears with the first of them.
#[derive(Debug)]
pub struct Checkpoint {
    folder: PathBuf,
    work: WorkId,
    every: Duration,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    last: Instant,
    failed: Option<String>,
    written: bool,
}

impl Checkpoint {
    /// States of `work` in a folder, which need not be there, at most one after each such time.
    pub fn new(folder: &Path, work: WorkId, every: Duration) -> Self {
        let kept = Kept { last: Instant::now(), failed: None, written: false };
        Self { folder: folder.to_path_buf(), work, every, kept: Mutex::new(kept) }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether an earlier run has left states here, and of what.
    pub fn found(&self) -> Found {
        let mut found = Found::Nothing;
        for path in self.states() {
            let Some((header, _)) = read(&path) else { continue };
            if header.release != env!("CARGO_PKG_VERSION") {
                found = Found::Other("is of another release");
            } else if header.work.settings != self.work.settings {
                found = Found::Other("is of other settings");
            } else if header.work.rows != self.work.rows {
                found = Found::Other("is of other files, or they have changed");
            } else {
                return Found::Same;
            }
        }
        found
    }

    /// The state of that name, if it is of this work and as it was written.
    pub fn resume(&self, name: &str) -> Option<Vec<u8>> {
        let (header, state) = read(&self.path(name))?;
        (header == self.header(name, &state)).then_some(state)
    }

    /// Whether it is time for a state.
    pub fn is_due(&self) -> bool {
        let kept = self.lock();
        kept.failed.is_none() && kept.last.elapsed() >= self.every
    }

    /// Writes a state. Once that has failed there are no more: see [`failure`](Self::failure).
    pub fn save(&self, name: &str, state: &[u8]) {
        let written = self.write(name, state);
        let mut kept = self.lock();
        kept.last = Instant::now();
        match written {
            Ok(()) => kept.written = true,
            Err(reason) => kept.failed = Some(reason),
        }
    }

    /// Why a state could not be written, if that is so; told once.
    pub fn failure(&self) -> Option<String> {
        let mut kept = self.lock();
        let reason = kept.failed.clone().filter(|reason| !reason.is_empty());
        if reason.is_some() {
            kept.failed = Some(String::new());
        }
        reason
    }

    /// Whether there are states of this work now.
    pub fn is_kept(&self) -> bool {
        self.lock().written || self.found() == Found::Same
    }

    /// Removes the states, of whatever work they are, and the folder if nothing else is in it and `with_folder`.
    pub fn remove(&self, with_folder: bool) {
        for path in self.states().into_iter().filter(|path| is_state(path)) {
            // What cannot be removed is not taken by other work either.
            let _ = fs::remove_file(path);
        }
        if with_folder {
            let _ = fs::remove_dir(&self.folder);
        }
    }

    fn write(&self, name: &str, state: &[u8]) -> Result<(), String> {
        let path = self.path(name);
        if path.exists() && !is_state(&path) {
            return Err(format!("`{}` is there already and is no state", path.display()));
        }
        if let Err(error) = fs::create_dir_all(&self.folder) {
            return Err(format!("`{}`: {error}", self.folder.display()));
        }
        let header = serde_json::to_vec(&self.header(name, state)).map_err(|e| e.to_string())?;
        let written = files::replace(&path, |sink| {
            for part in [MAGIC, &header, b"\n", state] {
                sink.write_all(part)?;
            }
            Ok(())
        });
        written.map_err(|error| error.to_string())
    }

    fn header(&self, name: &str, state: &[u8]) -> Header {
        Header {
            release: env!("CARGO_PKG_VERSION").to_owned(),
            work: self.work.clone(),
            name: name.to_owned(),
            checksum: crc32fast::hash(state),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = name.chars().map(plain).collect();
        self.folder.join(name).with_extension(EXTENSION)
    }

    /// The files in the folder that are called like states.
    fn states(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        let mut paths: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
        paths.sort();
        paths
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn is_state(path: &Path) -> bool {
    use std::io::Read;
    let mut beginning = vec![0; MAGIC.len()];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == MAGIC
}

/// The header of a state and the state.
fn read(path: &Path) -> Option<(Header, Vec<u8>)> {
    let mut bytes = fs::read(path).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?;
    let end = rest.iter().position(|&b| b == b'\n')?;
    let header = serde_json::from_slice(&rest[..end]).ok()?;
    let state = bytes.split_off(MAGIC.len() + end + 1);
    Some((header, state))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(settings: &str, rows: &str) -> WorkId {
        WorkId { settings: settings.into(), rows: rows.into() }
    }

    #[test]
    fn a_state_is_taken_by_the_same_work_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("m.checkpoint");
        let checkpoint = Checkpoint::new(&at, work("k = 3", "a b"), Duration::ZERO);
        assert_eq!((checkpoint.found(), checkpoint.resume("x/kmeans")), (Found::Nothing, None));
        assert!(checkpoint.is_due() && !at.exists());
        checkpoint.save("x/kmeans", b"one");
        checkpoint.save("x/kmeans", b"two");
        assert_eq!(checkpoint.resume("x/kmeans").as_deref(), Some(&b"two"[..]));
        assert_eq!(checkpoint.resume("y/kmeans"), None);
        for (settings, rows) in [("k = 4", "a b"), ("k = 3", "a c")] {
            let other = Checkpoint::new(&at, work(settings, rows), Duration::ZERO);
            assert!(matches!(other.found(), Found::Other(_)));
            assert_eq!(other.resume("x/kmeans"), None);
        }
        let again = Checkpoint::new(&at, work("k = 3", "a b"), Duration::from_secs(60));
        assert_eq!(again.found(), Found::Same);
        assert!(again.is_kept() && !again.is_due());
        again.remove(true);
        assert!(!at.exists());
    }

    #[test]
    fn a_damaged_state_is_not_taken_and_a_file_of_another_kind_stays() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Checkpoint::new(folder.path(), work("k", "a"), Duration::ZERO);
        checkpoint.save("kmeans", b"a state");
        let path = folder.path().join("kmeans.state");
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert_eq!(checkpoint.resume("kmeans"), None, "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(checkpoint.resume("kmeans"), None, "cut off at {at}");
        }
        fs::write(&path, "the state of the union").unwrap();
        checkpoint.save("kmeans", b"another");
        let failure = checkpoint.failure().expect("it is not written over");
        assert!(failure.ends_with("is there already and is no state"), "{failure}");
        assert_eq!(checkpoint.failure(), None, "told once");
        checkpoint.remove(true);
        assert_eq!(fs::read_to_string(&path).unwrap(), "the state of the union");
    }
}
