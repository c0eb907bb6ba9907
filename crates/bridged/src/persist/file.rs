//! The bytes of a model: the header is read at once, arrays when they are asked for.

use super::Problem;
use crate::Error;
use safetensors::Dtype;
use safetensors::tensor::Metadata;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A header that is longer than this is none of ours.
const LONGEST_HEADER: u64 = 1 << 30;

/// An opened model.
#[derive(Clone)]
pub(super) struct ModelBytes {
    source: Arc<Source>,
    raw: Arc<Vec<u8>>, // everything before the arrays
    metadata: Arc<Metadata>,
}

enum Source {
    // The file stays open: a model that is replaced on the disk is still the one that was opened.
    File { file: Mutex<File>, path: PathBuf },
    Memory { bytes: Arc<Vec<u8>>, path: PathBuf },
}

impl Source {
    fn path(&self) -> &Path {
        match self {
            Source::File { path, .. } | Source::Memory { path, .. } => path,
        }
    }

    fn read(&self, start: u64, length: u64) -> std::io::Result<Vec<u8>> {
        let cut_off = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        match self {
            Source::File { file, .. } => {
                let mut file = file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                file.seek(SeekFrom::Start(start))?;
                let mut bytes = vec![0; usize::try_from(length).map_err(|_| cut_off())?];
                file.read_exact(&mut bytes)?;
                Ok(bytes)
            }
            Source::Memory { bytes, .. } => {
                let (start, length) = (start as usize, length as usize);
                bytes.get(start..start + length).map(<[u8]>::to_vec).ok_or_else(cut_off)
            }
        }
    }
}

/// An array of the file: what it is and where.
pub(super) struct Array {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    start: u64,
    length: u64,
}

impl ModelBytes {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let io = |source| Error::Io { path: path.to_path_buf(), source };
        let file = File::open(path).map_err(io)?;
        Self::of_file(file, path)
    }

    /// Reads the header of an open file; `path` is named in errors.
    pub fn of_file(file: File, path: &Path) -> Result<Self, Error> {
        let io = |source| Error::Io { path: path.to_path_buf(), source };
        let about = file.metadata().map_err(io)?;
        if about.is_dir() {
            return Err(io(std::io::Error::other("is a directory; name a file in it")));
        }
        let source = Source::File { file: Mutex::new(file), path: path.to_path_buf() };
        Self::new(source, about.len()).map_err(|problem| problem.of(path))
    }

    /// The bytes of a file in memory.
    pub fn in_memory(bytes: Arc<Vec<u8>>, path: &Path) -> Result<Self, Problem> {
        let length = bytes.len() as u64;
        Self::new(Source::Memory { bytes, path: path.to_path_buf() }, length)
    }

    fn new(source: Source, total: u64) -> Result<Self, Problem> {
        let broken = |why: &str| format!("it is damaged, cut off, or of another kind ({why})");
        let read = |start, length| source.read(start, length).map_err(Problem::Io);
        if total < 8 {
            return Err(broken("it is shorter than any model").into());
        }
        let length = read(0, 8)?;
        let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
        if length > LONGEST_HEADER || length > total - 8 {
            return Err(broken("its header does not fit into it").into());
        }
        let raw = read(0, 8 + length)?;
        let text = std::str::from_utf8(&raw[8..]).map_err(|e| broken(&e.to_string()))?;
        let metadata: Metadata = serde_json::from_str(text).map_err(|e| broken(&e.to_string()))?;
        check_layout(&metadata, total - 8 - length).map_err(|why| broken(&why))?;
        let (source, raw, metadata) = (Arc::new(source), Arc::new(raw), Arc::new(metadata));
        Ok(Self { source, raw, metadata })
    }

    /// Everything before the arrays.
    pub fn raw_header(&self) -> &[u8] {
        &self.raw
    }

    /// What is not an array, as JSON.
    pub fn header(&self) -> Result<&str, String> {
        let header = self.metadata.metadata().as_ref().and_then(|m| m.get("bridged"));
        let none = "it is a safetensors file, but one without a bridged header";
        header.map(String::as_str).ok_or_else(|| none.to_string())
    }

    /// The array of that name.
    pub fn array(&self, name: &str) -> Result<Array, String> {
        let info = self.metadata.info(name).ok_or_else(|| format!("it has no `{name}`"))?;
        let (start, end) = info.data_offsets;
        Ok(Array {
            dtype: info.dtype,
            shape: info.shape.clone(),
            start: (self.raw.len() + start) as u64,
            length: (end - start) as u64,
        })
    }

    /// Its bytes.
    pub fn read(&self, array: &Array) -> Result<Vec<u8>, std::io::Error> {
        self.source.read(array.start, array.length)
    }

    /// The CRC-32 of its bytes, of which few are in memory at a time.
    pub fn checksum(&self, array: &Array) -> Result<u32, std::io::Error> {
        const PIECE: u64 = 1 << 20;
        let mut hasher = crc32fast::Hasher::new();
        for from in (0..array.length).step_by(PIECE as usize) {
            let length = PIECE.min(array.length - from);
            hasher.update(&self.source.read(array.start + from, length)?);
        }
        Ok(hasher.finalize())
    }

    /// The name of the file, for errors.
    pub fn path(&self) -> &Path {
        self.source.path()
    }
}

/// Arrays lie one after the other, each as long as its shape says, up to the end of the file.
fn check_layout(metadata: &Metadata, data: u64) -> Result<(), String> {
    let mut end = 0;
    for name in metadata.offset_keys() {
        let info = metadata.info(&name).ok_or("a name without an array")?;
        let (from, to) = info.data_offsets;
        let entries = info.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let bits = entries.and_then(|n| n.checked_mul(info.dtype.bitsize()));
        let fits =
            from == end && to >= from && bits.is_some_and(|b| b % 8 == 0 && b / 8 == to - from);
        if !fits {
            return Err(format!("`{name}` is not where it should be"));
        }
        end = to;
    }
    match end as u64 == data {
        true => Ok(()),
        false => Err(format!("it has {data} bytes of arrays instead of {end}")),
    }
}
