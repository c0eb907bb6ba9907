//! What is done so far, in a file beside the output: `x.parquet.part`.
//!
//! ```text
//! {"bridged encode":1,"encoder":"kmer",…}                            what was asked for
//! {"ids":[…],"failed":[[3,"…"]],"texts":[…],"bytes":n,"check":c}     a block, and then
//! n bytes                                                            its vectors, f32
//! ```
//!
//! Blocks are only appended. One that a crash cut off is known by its length or its check, and is dropped when
//! the work goes on.

use anyhow::{Context, Result, anyhow, bail};
use bridged::files::{self, Kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Some items in order, and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub ids: Vec<String>,
    /// Which of them have no vector, and why.
    pub failed: Vec<(usize, String)>,
    /// Those that have one, as texts, where items are texts.
    pub texts: Vec<String>,
    /// One row for each that has one.
    #[serde(skip)]
    pub vectors: Vec<f32>,
}

impl Block {
    /// The ids of those that have a vector.
    pub fn encoded(&self) -> impl Iterator<Item = &String> {
        let failed = |at: &usize| self.failed.iter().any(|(failed, _)| failed == at);
        self.ids.iter().enumerate().filter(move |(at, _)| !failed(at)).map(|(_, id)| id)
    }

    /// Whether its parts fit each other: every failure is of an item, in order, and what is left has vectors of one
    /// length and all or no texts.
    fn is_sound(&self, bytes: usize) -> bool {
        let in_order = self.failed.is_sorted_by(|a, b| a.0 < b.0);
        let inside = self.failed.last().is_none_or(|(last, _)| *last < self.ids.len());
        let Some(encoded) = self.ids.len().checked_sub(self.failed.len()) else { return false };
        let rows = if encoded == 0 { bytes == 0 } else { bytes.is_multiple_of(4 * encoded) };
        in_order && inside && rows && [0, encoded].contains(&self.texts.len())
    }
}

#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(flatten)]
    block: Block,
    bytes: usize,
    check: u32,
}

/// The kind of file that this is.
pub const FILE: Kind = Kind {
    name: "the log of a `bridged encode` that was stopped",
    extension: None,
    holds: |path| {
        let mut line = Vec::new();
        let read = File::open(path).and_then(|f| BufReader::new(f).read_until(b'\n', &mut line));
        read.is_ok() && begins_log(&line)
    },
};

/// Whether a file that begins with this line is a log, be it that the line was cut off.
fn begins_log(line: &[u8]) -> bool {
    match line.ends_with(b"\n") {
        true => {
            let begun = serde_json::from_slice::<Value>(line);
            begun.is_ok_and(|begun| begun.get(KEY).is_some())
        }
        false => {
            let start = &line[..line.len().min(2)];
            line.len() < 1 << 16 && b"{\"".starts_with(start)
        }
    }
}

/// The key that every log begins with.
const KEY: &str = "bridged encode";

/// From where to encode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// From the first item.
    Anew,
    /// After the items that are in the log.
    WhereItStopped,
}

/// The open file, locked.
pub struct ResumeLog {
    path: PathBuf,
    file: File,
}

impl ResumeLog {
    /// Where the work for an output is kept.
    pub fn path_for(output: &Path) -> PathBuf {
        let mut name = output.as_os_str().to_owned();
        name.push(".part");
        PathBuf::from(name)
    }

    /// Begins the work, or goes on with it: the ids of the items that are done come with it.
    pub fn open(output: &Path, asked: &Value, begin: Begin) -> Result<(Self, Vec<String>)> {
        let path = Self::path_for(output);
        let failed = || format!("`{}` cannot be written", path.display());
        let mut file = loop {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).open(&path);
            let file = file.with_context(failed)?;
            let locked = files::lock_open_file(&file, &path);
            let another =
                || format!("`{}` is being written by another `bridged encode`", path.display());
            // Whoever had it may have ended, and removed it, before it was locked here.
            if locked.map_err(|_| anyhow!(another()))? {
                break file;
            }
        };
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).with_context(failed)?;
        if !begins_log(&line) {
            bail!("`{}` is not {}; move it away", path.display(), FILE.name);
        }
        let mut done = Vec::new();
        let end = match serde_json::from_slice::<Value>(&line) {
            Ok(begun) if line.ends_with(b"\n") && begin == Begin::WhereItStopped => {
                if let Some(reason) = difference(&begun, asked) {
                    bail!(
                        "`{}` was begun by another command: {reason}; finish it with that command, or begin anew with --force",
                        path.display()
                    );
                }
                let mut end = line.len() as u64;
                while let Ok(Some((block, len))) = read_block(&mut reader) {
                    done.extend(block.ids);
                    end += len;
                }
                end
            }
            _ => 0,
        };
        file.set_len(end).with_context(failed)?;
        file.seek(SeekFrom::Start(end)).with_context(failed)?;
        if end == 0 {
            writeln!(file, "{asked}").with_context(failed)?;
        }
        Ok((Self { path, file }, done))
    }

    /// Keeps a block.
    pub fn append(&mut self, block: Block) -> Result<()> {
        let bytes: Vec<u8> = block.vectors.iter().flat_map(|v| v.to_le_bytes()).collect();
        let head = Head { block, bytes: bytes.len(), check: crc32fast::hash(&bytes) };
        let mut whole = serde_json::to_vec(&head)?;
        whole.push(b'\n');
        whole.extend(bytes);
        self.file.write_all(&whole).with_context(|| {
            format!("`{}` cannot be written further; what it holds is kept", self.path.display())
        })
    }

    /// All blocks, from the first.
    pub fn blocks(&self) -> Result<impl Iterator<Item = io::Result<Block>>> {
        let mut reader = BufReader::with_capacity(1 << 20, File::open(&self.path)?);
        reader.skip_until(b'\n')?;
        Ok(std::iter::from_fn(move || {
            read_block(&mut reader).map(|b| b.map(|(b, _)| b)).transpose()
        }))
    }

    /// Removes the file: the output is complete.
    pub fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path)
            .with_context(|| format!("`{}` cannot be removed", self.path.display()))
    }
}

/// The next block and its length in the file.
fn read_block(reader: &mut impl BufRead) -> io::Result<Option<(Block, u64)>> {
    let mut line = Vec::new();
    if reader.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let head: Head = serde_json::from_slice(&line)?;
    let mut bytes = Vec::new();
    reader.take(head.bytes as u64).read_to_end(&mut bytes)?;
    if bytes.len() != head.bytes
        || crc32fast::hash(&bytes) != head.check
        || !head.block.is_sound(bytes.len())
    {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a block is damaged"));
    }
    let vectors = bytes.as_chunks().0.iter().map(|&v| f32::from_le_bytes(v)).collect();
    let len = (line.len() + bytes.len()) as u64;
    Ok(Some((Block { vectors, ..head.block }, len)))
}

/// What was asked for then and now, where it differs.
fn difference(begun: &Value, asked: &Value) -> Option<String> {
    let (begun, asked) = (begun.as_object()?, asked.as_object()?);
    let of = |map: &serde_json::Map<String, Value>, key: &String| {
        map.get(key).cloned().unwrap_or_default()
    };
    let differs = |key: &&String| of(begun, key) != of(asked, key);
    let key = asked.keys().chain(begun.keys()).find(differs)?;
    Some(format!("`{key}` was {} and is {}", of(begun, key), of(asked, key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn block(first: usize) -> Block {
        Block {
            ids: (first..first + 3).map(|i| i.to_string()).collect(),
            failed: vec![(1, "broken\nlines".into())],
            texts: vec!["ä".into(), "\n".into()],
            vectors: vec![first as f32, 0.5, -0.0, 1e30],
        }
    }

    #[test]
    fn wherever_it_is_cut_the_whole_blocks_stay_and_the_work_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.parquet");
        let asked = json!({KEY: 1, "encoder": "kmer", "k": 5});
        let (mut log, done) = ResumeLog::open(&output, &asked, Begin::WhereItStopped).unwrap();
        assert!(done.is_empty());
        log.append(block(0)).unwrap();
        log.append(block(3)).unwrap();
        drop(log);
        let path = ResumeLog::path_for(&output);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (mut log, done) = ResumeLog::open(&output, &asked, Begin::WhereItStopped).unwrap();
            assert!(done.len() % 3 == 0 && (cut < whole.len() || done.len() == 6), "{cut}");
            for first in (done.len()..6).step_by(3) {
                log.append(block(first)).unwrap();
            }
            drop(log);
            assert_eq!(std::fs::read(&path).unwrap(), whole, "{cut}");
        }
        let (log, _) = ResumeLog::open(&output, &asked, Begin::WhereItStopped).unwrap();
        let blocks: Vec<Block> = log.blocks().unwrap().map(Result::unwrap).collect();
        assert_eq!(blocks, [block(0), block(3)]);
        assert_eq!(blocks[0].encoded().collect::<Vec<_>>(), ["0", "2"]);
    }

    #[test]
    fn a_block_whose_parts_do_not_fit_each_other_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.parquet");
        let asked = json!({KEY: 1, "encoder": "kmer", "k": 5});
        let lost = [
            Block { failed: vec![(3, "beyond the last".into())], ..block(3) },
            Block { failed: vec![(1, "twice".into()), (1, "twice".into())], ..block(3) },
            Block { vectors: vec![1.0; 3], ..block(3) },
            Block { texts: vec!["one of two".into()], ..block(3) },
            Block { ids: vec![], ..block(3) },
        ];
        for other in lost {
            let (mut log, _) = ResumeLog::open(&output, &asked, Begin::WhereItStopped).unwrap();
            log.append(block(0)).unwrap();
            log.append(other.clone()).unwrap();
            drop(log);
            let (log, done) = ResumeLog::open(&output, &asked, Begin::WhereItStopped).unwrap();
            assert_eq!(done, ["0", "1", "2"], "{other:?}");
            log.remove().unwrap();
        }
    }

    #[test]
    fn another_command_and_a_second_one_at_the_same_time_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.parquet");
        let (log, _) = ResumeLog::open(
            &output,
            &json!({KEY: 1, "encoder": "kmer", "k": 5}),
            Begin::WhereItStopped,
        )
        .unwrap();
        let error = ResumeLog::open(
            &output,
            &json!({KEY: 1, "encoder": "kmer", "k": 5}),
            Begin::WhereItStopped,
        )
        .err()
        .unwrap();
        assert!(
            error.to_string().ends_with("is being written by another `bridged encode`"),
            "{error}"
        );
        drop(log);
        let error = ResumeLog::open(
            &output,
            &json!({KEY: 1, "encoder": "kmer", "k": 6}),
            Begin::WhereItStopped,
        )
        .err()
        .unwrap();
        assert!(error.to_string().contains("`k` was 5 and is 6"), "{error}");
    }

    #[test]
    fn a_file_of_somebody_else_is_left_alone_and_begun_work_only_begun_anew_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.parquet");
        let path = ResumeLog::path_for(&output);
        let asked = json!({KEY: 1, "encoder": "kmer", "k": 5});
        for content in ["half of a download", "{\"a\": 1}\n", "\n"] {
            std::fs::write(&path, content).unwrap();
            for begin in [Begin::Anew, Begin::WhereItStopped] {
                assert!(ResumeLog::open(&output, &asked, begin).is_err(), "{content}");
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
            assert!(!(FILE.holds)(&path));
        }
        std::fs::remove_file(&path).unwrap();
        let (mut log, _) = ResumeLog::open(&output, &asked, Begin::WhereItStopped).unwrap();
        log.append(block(0)).unwrap();
        assert!(ResumeLog::open(&output, &asked, Begin::Anew).is_err(), "it is being written");
        drop(log);
        assert!((FILE.holds)(&path));
        let (log, done) = ResumeLog::open(&output, &asked, Begin::Anew).unwrap();
        assert!(done.is_empty() && log.blocks().unwrap().next().is_none());
    }
}
