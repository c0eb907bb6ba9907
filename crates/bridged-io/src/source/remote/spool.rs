//! A temporary file that fills with the bytes of an object as they are asked for.

use super::{Object, stamp_of, wait};
use crate::error::TableError;
use crate::format::Format;
use crate::source::SourceError;
use crate::source::part::Fetch;
use bridged_math::cancel::checkpoint;
use futures_util::TryStreamExt;
use object_store::{GetOptions, GetRange, GetResult};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Bytes are fetched in whole blocks.
const BLOCK: u64 = 1 << 20;

/// The blocks of a request: fewer at the end of what is missing.
const REQUEST: usize = 8;

pub(crate) struct Spool {
    object: Object,
    name: PathBuf,
    size: u64,
    file: File,
    state: Mutex<State>,
}

struct State {
    /// Which blocks are there.
    there: Vec<bool>,
    /// Why no more come.
    failure: Option<TableError>,
}

impl Spool {
    pub fn new(object: Object, name: &Path, size: u64) -> Result<Self, TableError> {
        let file = tempfile::tempfile().and_then(|file| {
            file.set_len(size)?; // holes take no room
            Ok(file)
        });
        let name = name.to_path_buf();
        let file = file.map_err(|e| no_room(&name, &e))?;
        let blocks = size.div_ceil(BLOCK) as usize;
        let state = Mutex::new(State { there: vec![false; blocks], failure: None });
        Ok(Self { object, name, size, file, state })
    }

    /// The file; what was not asked for is zeros.
    pub fn file(&self) -> File {
        self.file.try_clone().expect("a file that is open can be opened again")
    }

    /// What a format needs before it begins: nothing if it asks for ranges itself.
    pub fn ensure_for(&self, format: &Format) -> io::Result<()> {
        if format.asks_for_ranges {
            return Ok(());
        }
        self.ensure(0..self.size)
    }

    /// Why bytes did not come, if they did not.
    pub fn failure(&self) -> Option<TableError> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failure.take()
    }

    /// Fetches blocks that follow each other.
    fn fetch(&self, blocks: Range<usize>, there: &mut [bool]) -> Result<(), TableError> {
        let range = blocks.start as u64 * BLOCK..(blocks.end as u64 * BLOCK).min(self.size);
        let (store, key) = (&self.object.store, &self.object.key);
        // A tag that begins so does not stand for the same bytes, and must not be asked for.
        let tag = self.object.stamp.tag.clone().filter(|tag| !tag.starts_with("W/"));
        let options = |range| GetOptions { if_match: tag.clone(), range, ..GetOptions::default() };
        let part = options(Some(GetRange::Bounded(range.clone())));
        let got = match wait(store.get_opts(key, part))? {
            // A server that knows no ranges sends everything.
            Err(object_store::Error::NotSupported { .. }) => {
                wait(store.get_opts(key, options(None)))?
            }
            got => got,
        };
        let got = got.map_err(|e| self.object.said(&self.name, e))?;
        self.check(&got)?;
        let (mut at, end) = (got.range.start, got.range.end);
        let mut file = &self.file;
        let mut stream = got.into_stream();
        file.seek(SeekFrom::Start(at)).map_err(|e| no_room(&self.name, &e))?;
        while let Some(bytes) =
            wait(stream.try_next())?.map_err(|e| self.object.said(&self.name, e))?
        {
            checkpoint();
            file.write_all(&bytes).map_err(|e| no_room(&self.name, &e))?;
            at += bytes.len() as u64;
        }
        if at < end.min(range.end) {
            let url = self.name.display().to_string();
            let detail = format!("its server ended after {at} of {} bytes", self.size);
            return Err(SourceError::Remote { url, detail }.into());
        }
        there[blocks].fill(true);
        if end == self.size && range.end < end {
            there.fill(true); // it sent everything
        }
        Ok(())
    }

    /// That the object is still the one that was found.
    fn check(&self, got: &GetResult) -> Result<(), TableError> {
        let (before, now) = (&self.object.stamp, stamp_of(&got.meta));
        let same = before.size == now.size
            && match (&before.tag, &now.tag) {
                (Some(before), Some(now)) => before == now,
                _ => before.modified == now.modified,
            };
        if same {
            return Ok(());
        }
        let detail = match before.size == now.size {
            true => "its server has another version of it".to_owned(),
            false => format!("it had {} bytes and has {}", before.size, now.size),
        };
        Err(SourceError::Changed { path: self.name.clone(), detail }.into())
    }
}

impl Fetch for Spool {
    fn ensure(&self, range: Range<u64>) -> io::Result<()> {
        let end = range.end.min(self.size);
        if range.start >= end {
            return Ok(());
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { there, failure } = &mut *state;
        let (mut at, last) = ((range.start / BLOCK) as usize, end.div_ceil(BLOCK) as usize);
        while at < last {
            if there[at] {
                at += 1;
                continue;
            }
            let most = (at + REQUEST).min(there.len());
            let missing = (at..most).find(|&block| there[block]).unwrap_or(most);
            if let Err(error) = self.fetch(at..missing, there) {
                let text = error.to_string();
                *failure = Some(error);
                return Err(io::Error::other(text));
            }
            at = missing;
        }
        Ok(())
    }
}

fn no_room(name: &Path, error: &io::Error) -> TableError {
    let (url, folder) = (name.display().to_string(), std::env::temp_dir());
    let detail = format!(
        "its bytes could not be kept in `{}` while it is read: {error}; name a folder with room in TMPDIR",
        folder.display()
    );
    SourceError::Remote { url, detail }.into()
}
