//! FASTA and FASTQ, plain or gzip, record after record.
//!
//! An id is what follows `>` or `@` up to white space. Sequences may run over lines, lines may end as on Windows, and
//! lines that begin with `;` are comments. A record without letters is a record: its encoder says that it is empty. The
//! memory is that of one record, and a record has at most [`MAX_LETTERS`], or as many as [`Records::at_most`] allows:
//! gzip makes a gigabyte of letters out of a megabyte.
//!
//! Cock et al. 2010, *The Sanger FASTQ file format*.

use crate::{EncodeError, ItemError};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Letters of the longest sequence or text that is read unless an option says otherwise.
pub const MAX_LETTERS: usize = 100_000_000;

/// The longest line with an id.
const LONGEST_HEAD: u64 = 1 << 20;

/// One sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its letters as they stand in the file, or why they are not read.
    pub sequence: Result<String, ItemError>,
    /// The line of its id, from 1.
    pub line: usize,
}

/// The records of a file.
pub struct Records {
    path: PathBuf,
    input: Box<dyn BufRead + Send>,
    /// The lines that were read.
    line: usize,
    most: usize,
    done: bool,
}

/// Opens a file; its first letter says what it is, whatever its name.
pub fn open(path: &Path) -> Result<Records, EncodeError> {
    let bad = |e: std::io::Error| EncodeError::BadFile {
        path: path.to_path_buf(),
        reason: format!("cannot be read: {e}"),
    };
    read(path, BufReader::new(File::open(path).map_err(bad)?)).map_err(bad)
}

/// The records of what is read from `input`, plain or gzip; `path` is named in errors.
pub fn read(path: &Path, mut input: impl BufRead + Send + 'static) -> std::io::Result<Records> {
    let zipped = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let input: Box<dyn BufRead + Send> =
        if zipped { Box::new(BufReader::new(MultiGzDecoder::new(input))) } else { Box::new(input) };
    Ok(Records { path: path.to_path_buf(), input, line: 0, most: MAX_LETTERS, done: false })
}

/// The error for an item of more letters than are read.
pub fn too_long(what: &str, most: usize) -> ItemError {
    ItemError(format!(
        "the {what} has more than {most} letters, the most that are read; raise --max-letters to read it"
    ))
}

/// The letters of a record, of which no more than `most` are kept.
struct Letters {
    kept: Vec<u8>,
    total: usize,
    most: usize,
}

impl Letters {
    fn new(most: usize) -> Self {
        Self { kept: Vec::new(), total: 0, most }
    }

    fn push(&mut self, part: &[u8]) {
        self.total = self.total.saturating_add(part.len());
        if self.total <= self.most {
            self.kept.extend_from_slice(part);
        } else {
            self.kept = Vec::new();
        }
    }

    /// Takes white space back that ended a line.
    fn drop_last(&mut self, len: usize) {
        self.total -= len;
        self.kept.truncate(self.kept.len().saturating_sub(len));
    }

    fn finish(self) -> Result<String, ItemError> {
        if self.total > self.most || self.kept.len() < self.total {
            return Err(too_long("sequence", self.most));
        }
        Ok(String::from_utf8(self.kept)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }
}

impl Records {
    /// Reads at most this many letters of a record; one that has more is an error of its own.
    pub fn at_most(mut self, letters: usize) -> Self {
        self.most = letters;
        self
    }

    /// The first byte of the next line that is not a comment; none at the end.
    fn first(&mut self) -> Result<Option<u8>, EncodeError> {
        loop {
            match self.peek()? {
                Some(b';') => {
                    self.line += 1;
                    let skipped = self.input.skip_until(b'\n');
                    skipped.map_err(|e| self.broken(self.line, e))?;
                }
                first => return Ok(first),
            }
        }
    }

    /// The next byte; none at the end.
    fn peek(&mut self) -> Result<Option<u8>, EncodeError> {
        let first = self.input.fill_buf().map(|bytes| bytes.first().copied());
        first.map_err(|e| self.broken(self.line + 1, e))
    }

    /// Adds the rest of a line to `letters`, without the white space at its end.
    fn letters(&mut self, letters: &mut Letters) -> Result<(), EncodeError> {
        self.line += 1;
        let mut white = 0;
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(e) => return Err(self.broken(self.line, e)),
            };
            let end = bytes.iter().position(|b| *b == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let last = bytes.is_empty() || end.is_some();
            letters.push(part);
            let trailing = part.iter().rev().take_while(|b| b.is_ascii_whitespace()).count();
            white = if trailing == part.len() { white + trailing } else { trailing };
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if last {
                letters.drop_last(white);
                return Ok(());
            }
        }
    }

    /// A whole line, as long as it is one with an id.
    fn head(&mut self) -> Result<String, EncodeError> {
        self.line += 1;
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(LONGEST_HEAD + 1).read_until(b'\n', &mut bytes);
        read.map_err(|e| self.broken(self.line, e))?;
        if bytes.len() as u64 > LONGEST_HEAD && matches!(bytes[0], b'>' | b'@') {
            let reason =
                format!("the line of its id is longer than {LONGEST_HEAD} bytes; shorten it");
            return Err(self.bad(self.line, reason));
        }
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_string())
    }

    fn bad(&self, line: usize, reason: impl Into<String>) -> EncodeError {
        EncodeError::BadRecord { path: self.path.clone(), line, reason: reason.into() }
    }

    fn broken(&self, line: usize, error: std::io::Error) -> EncodeError {
        self.bad(line, format!("the file cannot be read further: {error}"))
    }

    fn record(&mut self) -> Result<Option<Record>, EncodeError> {
        let head = loop {
            if self.first()?.is_none() {
                return Ok(None);
            }
            let line = self.head()?;
            if !line.is_empty() {
                break line;
            }
        };
        let at = self.line;
        let id = |rest: &str| rest.split_whitespace().next().map(str::to_string);
        let unnamed =
            || self.bad(at, "the record has no id; write one after the first letter of its line");
        if let Some(rest) = head.strip_prefix('>') {
            let id = id(rest).ok_or_else(unnamed)?;
            self.fasta(id, at).map(Some)
        } else if let Some(rest) = head.strip_prefix('@') {
            let id = id(rest).ok_or_else(unnamed)?;
            self.fastq(id, at).map(Some)
        } else {
            let found: String = head.chars().take(20).collect();
            let what = "a record begins with > (FASTA) or @ (FASTQ), and this line does not";
            Err(self.bad(at, format!("{what}: `{found}`")))
        }
    }

    fn fasta(&mut self, id: String, line: usize) -> Result<Record, EncodeError> {
        let mut letters = Letters::new(self.most);
        while self.first()?.is_some_and(|first| first != b'>') {
            self.letters(&mut letters)?;
        }
        Ok(Record { id, sequence: letters.finish(), line })
    }

    fn fastq(&mut self, id: String, line: usize) -> Result<Record, EncodeError> {
        let mut letters = Letters::new(self.most);
        loop {
            match self.first()? {
                Some(b'+') => break,
                Some(_) => self.letters(&mut letters)?,
                None => {
                    let reason = format!("the record `{}` ends before its line with +", short(&id));
                    return Err(self.bad(line, reason));
                }
            }
        }
        let mut quality = Letters::new(0);
        self.letters(&mut quality)?; // the line with +
        quality.total = 0;
        // A quality may begin with any sign, also with the one that begins a comment.
        while quality.total < letters.total && self.peek()?.is_some() {
            self.letters(&mut quality)?;
        }
        if quality.total != letters.total {
            let (letters, quality, id) = (letters.total, quality.total, short(&id));
            let reason = format!("the record `{id}` has {letters} letters and {quality} qualities");
            return Err(self.bad(line, reason));
        }
        Ok(Record { id, sequence: letters.finish(), line })
    }
}

/// An id as a message shows it.
fn short(id: &str) -> String {
    match id.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &id[..end]),
        None => id.to_string(),
    }
}

impl Iterator for Records {
    type Item = Result<Record, EncodeError>;

    /// The next record; after an error there are none.
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let record = self.record().transpose();
        self.done = !matches!(record, Some(Ok(_)));
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn read(bytes: &[u8]) -> Result<Vec<(String, String, usize)>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let name = format!("`{}`, ", file.path().display());
        let records =
            open(file.path()).unwrap().map(|r| r.map(|r| (r.id, r.sequence.unwrap(), r.line)));
        records.collect::<Result<_, _>>().map_err(|e| e.to_string().replace(&name, ""))
    }

    fn record(id: &str, sequence: &str, line: usize) -> (String, String, usize) {
        (id.into(), sequence.into(), line)
    }

    #[test]
    fn fasta_runs_over_lines_and_ends_as_it_likes() {
        let expected = vec![record("a|1", "ACgt--AC", 2), record("b", "", 6), record("c", "TT", 7)];
        let text = b"; made by hand\n>a|1 a beetle\nACgt\n--\nAC\n>b\n>c\nTT";
        assert_eq!(read(text), Ok(expected.clone()));
        let windows = String::from_utf8_lossy(text).replace('\n', "\r\n");
        assert_eq!(read(windows.as_bytes()), Ok(expected));
        assert_eq!(read(b""), Ok(vec![]));
        assert_eq!(read(b"\n\n"), Ok(vec![]));
    }

    #[test]
    fn fastq_may_have_a_quality_that_looks_like_a_record() {
        let text = b"@a x\nACGT\n+\n@@@@\n@b\nAC\nGT\n+b\n>>\n>>\n";
        assert_eq!(read(text), Ok(vec![record("a", "ACGT", 1), record("b", "ACGT", 5)]));
        // A semicolon is a quality of 26, not a comment.
        let text = b"@a\nACGT\n+\n;;;;\n; a comment\n@b\nA\n+\n;\n";
        assert_eq!(read(text), Ok(vec![record("a", "ACGT", 1), record("b", "A", 6)]));
    }

    #[test]
    fn zipped_files_are_read_in_all_their_parts() {
        let parts = [zip(b">a\nAC\n"), zip(b"GT\n>b\nTT\n")].concat();
        assert_eq!(read(&parts), Ok(vec![record("a", "ACGT", 1), record("b", "TT", 4)]));
        assert!(read(&parts[..30]).unwrap_err().contains("cannot be read further"));
    }

    #[test]
    fn a_broken_record_is_named_by_its_line() {
        let start = |bytes: &[u8], with: &str| {
            let error = read(bytes).unwrap_err();
            assert!(error.starts_with(with), "{error}");
        };
        start(
            b"\nACGT\n",
            "line 2: a record begins with > (FASTA) or @ (FASTQ), and this line does not: `ACGT`",
        );
        start(b">a\nAC\n> \nGT\n", "line 3: the record has no id");
        start(b"@a\nACGT\n", "line 1: the record `a` ends before its line with +");
        start(b"@a\nACGT\n+\n!!!\n", "line 1: the record `a` has 4 letters and 3 qualities");
        start(b"@a\nAC\n+\n!!!\n", "line 1: the record `a` has 2 letters and 3 qualities");
    }
    fn zip(text: &[u8]) -> Vec<u8> {
        let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
        zip.write_all(text).unwrap();
        zip.finish().unwrap()
    }

    #[test]
    fn a_record_has_at_most_so_many_letters_and_the_others_go_on() {
        let text = b">a\nACGTACGT  \nAC\n>b\nACGTACGTACG\n>c\nACGTA\nCGTAC\n@d\nACGTACGTACG\n+\n!!!!!!!!!!!\n@e\nA\n+\n!\n";
        // FASTA records do not end at an @, so the FASTQ part is a file of its own.
        let (fasta, fastq) = text.split_at(text.iter().position(|b| *b == b'@').unwrap());
        let long = Err(too_long("sequence", 10));
        for (text, expected) in [
            (fasta, vec![Ok("ACGTACGTAC".to_string()), long.clone(), Ok("ACGTACGTAC".into())]),
            (fastq, vec![long, Ok("A".into())]),
        ] {
            for bytes in [text.to_vec(), zip(text)] {
                let records = super::read(Path::new("s.fa"), std::io::Cursor::new(bytes)).unwrap();
                let found: Vec<_> = records.at_most(10).map(|r| r.unwrap().sequence).collect();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn a_gzip_bomb_takes_no_more_memory_than_the_longest_record_that_is_read() {
        // Half a gigabyte of As in half a megabyte of file; at most 1,000 letters are read.
        struct Endless(u64);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let len = (buffer.len() as u64).min(self.0) as usize;
                buffer[..len].fill(b'A');
                self.0 -= len as u64;
                Ok(len)
            }
        }
        let mut bytes = GzEncoder::new(Vec::new(), Compression::fast());
        bytes.write_all(b">a\n").unwrap();
        std::io::copy(&mut Endless(1 << 29), &mut bytes).unwrap();
        bytes.write_all(b"\n>b\nACGT\n").unwrap();
        let bytes = bytes.finish().unwrap();
        let records = super::read(Path::new("s.fa.gz"), std::io::Cursor::new(bytes)).unwrap();
        let found: Vec<_> = records.at_most(1000).map(|r| r.unwrap().sequence).collect();
        assert_eq!(found, [Err(too_long("sequence", 1000)), Ok("ACGT".into())]);
        // The id, too, is not read to its end.
        let head = [b">".as_slice(), &vec![b'a'; 2 << 20], b"\nACGT\n"].concat();
        let mut records = super::read(Path::new("s.fa"), std::io::Cursor::new(head)).unwrap();
        let error = records.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("longer than 1048576 bytes"), "{error}");
    }
}
