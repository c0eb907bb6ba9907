//! The models that are served, each by its name, and what happens when one is replaced on disk.
//!
//! A request holds the model that it began with. The new one is read beside the old one and takes its place when it is
//! whole; one that cannot be read changes nothing but what `/health` says.

use crate::failure::Failure;
use crate::predictor::Predictor;
use crate::question::direction_name;
use crate::{Log, ServeError};
use bridged::{BridgedModel, Direction};
use bridged_io::answers::{Carried, Spelled};
use bytes::Bytes;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Instant, SystemTime};

/// The longest name of a model.
const LONGEST_NAME: usize = 64;

/// A model file and the name that requests call it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// As in `/v1/models/NAME`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

impl Named {
    /// What `name=file` or `file` names; of a file alone, the name is that of the file without `.bridged`.
    pub fn parse(word: &Path) -> Self {
        if let Some(text) = word.to_str()
            && let Some((name, path)) = text.split_once('=')
            && is_name(name)
            && !path.is_empty()
        {
            return Self { name: name.to_owned(), path: path.into() };
        }
        let stem = word.file_stem().unwrap_or_default().to_string_lossy();
        Self { name: stem.into_owned(), path: word.to_path_buf() }
    }
}

fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(plain)
        && name.bytes().any(|b| b != b'.')
}

/// A model in memory.
pub struct Loaded {
    model: Arc<BridgedModel>,
    read_at: SystemTime,
    predictors: [OnceLock<Predictor>; 2],
    spelled: [OnceLock<Vec<Spelled>>; 2],
    description: OnceLock<Bytes>,
}

impl Loaded {
    fn new(model: BridgedModel) -> Self {
        Self {
            model: Arc::new(model),
            read_at: SystemTime::now(),
            predictors: Default::default(),
            spelled: Default::default(),
            description: OnceLock::new(),
        }
    }

    /// The model.
    pub fn model(&self) -> &Arc<BridgedModel> {
        &self.model
    }

    /// When it was read.
    pub(crate) fn read_at(&self) -> SystemTime {
        self.read_at
    }

    /// The thread that predicts few rows in this direction.
    pub(crate) fn predictor(&self, direction: Direction) -> Result<&Predictor, Failure> {
        let slot = &self.predictors[direction as usize];
        if let Some(started) = slot.get() {
            return Ok(started);
        }
        let started = Predictor::start(Arc::clone(&self.model), direction)
            .map_err(|e| Failure::busy(format!("the system gives no thread: {e}")))?;
        // Of two that were started at once, one ends with its sender.
        Ok(slot.get_or_init(|| started))
    }

    /// The columns that the output rows of a direction carry along, with their types.
    pub(crate) fn carried(&self, direction: Direction) -> Vec<(&str, Carried<'_>)> {
        let texts = &self.model.to(direction).names().texts;
        let spelled = self.spelled[direction as usize]
            .get_or_init(|| texts.iter().map(|t| Spelled::of(&t.values)).collect());
        let typed = texts.iter().zip(spelled);
        typed.map(|(t, &kind)| (t.name.as_str(), Carried::typed(&t.values, kind))).collect()
    }

    /// What `make` gives, made once.
    pub(crate) fn description(&self, make: impl FnOnce(&BridgedModel) -> Bytes) -> Bytes {
        self.description.get_or_init(|| make(&self.model)).clone()
    }
}

/// What tells two states of a file apart without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// Of a file that took the place of another.
    identity: (u64, u64),
}

impl Stamp {
    fn of(path: &Path) -> std::io::Result<Self> {
        let about = std::fs::metadata(path)?;
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            (about.dev(), about.ino())
        };
        #[cfg(not(unix))]
        let identity = (0, 0);
        Ok(Self { size: about.len(), modified: about.modified().ok(), identity })
    }
}

/// A served model.
pub struct Entry {
    name: String,
    path: PathBuf,
    current: RwLock<Arc<Loaded>>,
    state: Mutex<State>,
    /// Rows that were answered in each direction.
    rows: [AtomicU64; 2],
}

/// What became of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// When it was last looked into; none if it was not there.
    seen: Option<Stamp>,
    /// Why what is on disk now is not served.
    pub problem: Option<String>,
    /// How often it was read, and how often that failed.
    pub loads: u64,
    pub failures: u64,
}

impl Entry {
    fn open(Named { name, path }: Named) -> Result<Self, ServeError> {
        if !is_name(&name) {
            return Err(ServeError::BadName { name, path });
        }
        let seen = Stamp::of(&path).ok(); // before it is read: what comes later is seen as a change
        let current = RwLock::new(Arc::new(Loaded::new(load(&path)?)));
        let state = Mutex::new(State { seen, loads: 1, ..State::default() });
        Ok(Self { name, path, current, state, rows: Default::default() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The model as it is now; a request asks once.
    pub fn current(&self) -> Arc<Loaded> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn count_rows(&self, direction: Direction, rows: usize) {
        self.rows[direction as usize].fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Rows that were answered in each direction.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let count = |direction: Direction| self.rows[direction as usize].load(Ordering::Relaxed);
        Direction::BOTH.into_iter().map(move |d| (direction_name(d), count(d)))
    }

    /// What became of its file.
    pub(crate) fn state(&self) -> State {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks whether the file has changed, and if so reads it.
    fn look(&self, log: &Log) {
        let seen = Stamp::of(&self.path);
        let mut state = self.lock();
        match (seen, &state.seen) {
            (Ok(now), Some(before)) if now == *before => {}
            (Ok(now), _) => {
                state.seen = Some(now);
                drop(state); // requests ask for it while the file is read
                self.reload(log);
            }
            (Err(_), None) => {}
            (Err(error), Some(_)) => {
                state.seen = None;
                let problem = format!("{}: {error}", self.path.display());
                state.problem = Some(problem.clone());
                drop(state);
                log(&format!(
                    "model {}: {problem}; the model that was read is served on",
                    self.name
                ));
            }
        }
    }

    fn reload(&self, log: &Log) {
        let start = Instant::now();
        match load(&self.path) {
            Ok(model) => {
                let loaded = Arc::new(Loaded::new(model));
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = loaded;
                let mut state = self.lock();
                state.problem = None;
                state.loads += 1;
                drop(state);
                let seconds = start.elapsed().as_secs_f64();
                log(&format!(
                    "model {}: {} read again in {seconds:.2} s",
                    self.name,
                    self.path.display()
                ));
            }
            Err(error) => {
                let problem = error.to_string();
                let mut state = self.lock();
                state.problem = Some(problem.clone());
                state.failures += 1;
                drop(state);
                log(&format!("model {}: {problem}; the model before it is served on", self.name));
            }
        }
    }
}

/// Reads a model with the rows of its pools, so that all of its checksums are checked and nothing is read from the file later.
fn load(path: &Path) -> Result<BridgedModel, bridged::Error> {
    let model = BridgedModel::load(path)?;
    for side in [model.x(), model.y()] {
        if side.keeps_rows() {
            side.rows()?;
        }
    }
    Ok(model)
}

/// All models that are served.
pub struct Shelf {
    entries: Vec<Entry>,
}

impl Shelf {
    /// Reads all of them.
    pub(crate) fn open(models: Vec<Named>) -> Result<Self, ServeError> {
        let mut entries: Vec<Entry> = Vec::with_capacity(models.len());
        for named in models {
            if entries.iter().any(|entry| entry.name == named.name) {
                return Err(ServeError::NameTwice { name: named.name, path: named.path });
            }
            entries.push(Entry::open(named)?);
        }
        match entries.is_empty() {
            true => Err(ServeError::NoModels),
            false => Ok(Self { entries }),
        }
    }

    /// The models in the order in which they were named.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The model of that name.
    pub fn find(&self, name: &str) -> Result<&Entry, Failure> {
        self.entries.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.entries.iter().map(Entry::name).collect();
            let known = format!("there is no model of that name; there is {}", names.join(", "));
            Failure::new(axum::http::StatusCode::NOT_FOUND, known)
        })
    }

    /// Looks at every file once.
    pub(crate) fn look(&self, log: &Log) {
        self.entries.iter().for_each(|entry| entry.look(log));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_file_and_perhaps_a_name() {
        let of = |word: &str| {
            let Named { name, path } = Named::parse(Path::new(word));
            (name, path.display().to_string())
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(of("models/emoji.bridged"), pair("emoji", "models/emoji.bridged"));
        assert_eq!(of("today=models/emoji.bridged"), pair("today", "models/emoji.bridged"));
        assert_eq!(of("models/a=b.bridged"), pair("a=b", "models/a=b.bridged"));
        assert_eq!(of("v=models/a=b.bridged"), pair("v", "models/a=b.bridged"));
        assert!(!is_name("a=b") && !is_name("") && !is_name("..") && !is_name("a/b"));
        assert!(is_name("v1.2_a-b") && !is_name(&"a".repeat(65)));
    }
}
