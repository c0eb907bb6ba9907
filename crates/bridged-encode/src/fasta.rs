//! FASTA and FASTQ, plain or gzip, record after record.
//!
//! An id is what follows `>` or `@` up to white space. Sequences may run over lines, lines may end as on Windows, and
//! lines that begin with `;` are comments. A record without letters is a record: its encoder says that it is empty. The
//! memory is that of one record.
//!
//! Cock et al. 2010, *The Sanger FASTQ file format*.

use crate::EncodeError;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// One sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its letters as they stand in the file.
    pub sequence: String,
    /// The line of its id, from 1.
    pub line: usize,
}

/// The records of a file.
pub struct Records {
    path: PathBuf,
    input: Box<dyn BufRead + Send>,
    line: usize,
    /// The line that was read but belongs to the next record.
    next: Option<String>,
    done: bool,
}

/// Opens a file; its first letter says what it is, whatever its name.
pub fn open(path: &Path) -> Result<Records, EncodeError> {
    let bad = |e: std::io::Error| EncodeError::BadFile {
        path: path.to_path_buf(),
        reason: format!("cannot be read: {e}"),
    };
    let mut file = BufReader::new(File::open(path).map_err(bad)?);
    let zipped = file.fill_buf().map_err(bad)?.starts_with(&[0x1f, 0x8b]);
    let input: Box<dyn BufRead + Send> =
        if zipped { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) };
    Ok(Records { path: path.to_path_buf(), input, line: 0, next: None, done: false })
}

impl Records {
    /// The next line that is not a comment, without its end.
    fn line(&mut self) -> Result<Option<String>, EncodeError> {
        if let Some(line) = self.next.take() {
            return Ok(Some(line));
        }
        loop {
            let mut bytes = Vec::new();
            let read = self.input.read_until(b'\n', &mut bytes);
            self.line += 1;
            match read {
                Ok(0) => return Ok(None),
                Ok(_) if bytes[0] == b';' => {}
                Ok(_) => return Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_string())),
                Err(e) => {
                    return Err(
                        self.bad(self.line, format!("the file cannot be read further: {e}"))
                    );
                }
            }
        }
    }

    fn bad(&self, line: usize, reason: impl Into<String>) -> EncodeError {
        EncodeError::BadRecord { path: self.path.clone(), line, reason: reason.into() }
    }

    fn record(&mut self) -> Result<Option<Record>, EncodeError> {
        let head = loop {
            match self.line()? {
                None => return Ok(None),
                Some(line) if line.is_empty() => {}
                Some(line) => break line,
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
        let mut sequence = String::new();
        while let Some(next) = self.line()? {
            if next.starts_with('>') {
                self.next = Some(next);
                break;
            }
            sequence.push_str(&next);
        }
        Ok(Record { id, sequence, line })
    }

    fn fastq(&mut self, id: String, line: usize) -> Result<Record, EncodeError> {
        let mut sequence = String::new();
        loop {
            match self.line()? {
                Some(next) if next.starts_with('+') => break,
                Some(next) => sequence.push_str(&next),
                None => {
                    return Err(
                        self.bad(line, format!("the record `{id}` ends before its line with +"))
                    );
                }
            }
        }
        let mut quality = 0;
        while quality < sequence.len() {
            match self.line()? {
                Some(next) => quality += next.len(),
                None => break,
            }
        }
        if quality != sequence.len() {
            let letters = sequence.len();
            let reason = format!("the record `{id}` has {letters} letters and {quality} qualities");
            return Err(self.bad(line, reason));
        }
        Ok(Record { id, sequence, line })
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
        let records = open(file.path()).unwrap().map(|r| r.map(|r| (r.id, r.sequence, r.line)));
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
    }

    #[test]
    fn zipped_files_are_read_in_all_their_parts() {
        let zip = |text: &[u8]| {
            let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
            zip.write_all(text).unwrap();
            zip.finish().unwrap()
        };
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
}
