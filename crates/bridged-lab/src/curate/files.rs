//! Public files as they come: text with columns, lines or JSON, plain or compressed by gzip.
//!
//! Everything is streamed; the bytes that were read are the progress, and the watch can stop a read
//! at any of them.

use super::error::{CurateError, a_few};
use bridged::{Stage, Watch};
use csv::ByteRecord;
use flate2::bufread::MultiGzDecoder;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A file that tells how much of it was read.
struct Counted<'w> {
    file: File,
    done: u64,
    stage: Stage<'w>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.done += read as u64;
        self.stage.step(self.done).map_err(io::Error::other)?;
        Ok(read)
    }
}

/// Opens a file under a stage of that name; its first bytes tell whether it is compressed.
fn open<'w>(
    path: &Path,
    stage: &'w str,
    watch: &'w dyn Watch,
) -> Result<Box<dyn BufRead + 'w>, CurateError> {
    let failed = |source| CurateError::reading(path, source);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::Error::other("it is a directory; name the file inside it")));
    }
    let stage = Stage::begin(watch, stage, Some(metadata.len()))?;
    let mut plain = BufReader::with_capacity(1 << 17, Counted { file, done: 0, stage });
    Ok(match plain.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]) {
        true => Box::new(BufReader::with_capacity(1 << 17, MultiGzDecoder::new(plain))),
        false => Box::new(plain),
    })
}

/// Text with a header and separated cells, of which some columns are wanted.
pub(super) struct Delimited<'w> {
    path: &'w Path,
    reader: csv::Reader<Box<dyn BufRead + 'w>>,
    record: ByteRecord,
    width: usize,
    at: Vec<usize>,
    remedy: &'static str,
}

impl<'w> Delimited<'w> {
    /// Opens a file and finds the columns; `remedy` says what the file should be.
    pub fn open(
        path: &'w Path,
        separator: u8,
        columns: &[&'static str],
        remedy: &'static str,
        watch: &'w dyn Watch,
    ) -> Result<Self, CurateError> {
        let reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .has_headers(false)
            .flexible(true)
            .from_reader(open(path, "read rows", watch)?);
        let record = ByteRecord::new();
        let mut file = Self { path, reader, record, width: 0, at: Vec::new(), remedy };
        if !file.advance()? {
            let (path, reason) = (path.to_path_buf(), "is empty".to_string());
            return Err(CurateError::Nothing { path, reason, remedy: remedy.to_string() });
        }
        let header: Vec<String> =
            file.record.iter().map(|c| String::from_utf8_lossy(c).trim().to_string()).collect();
        file.width = header.len();
        for &column in columns {
            let at = header.iter().position(|name| name == column).ok_or_else(|| {
                let known = a_few(header.iter().map(String::as_str), 40);
                CurateError::NoColumn { path: path.to_path_buf(), column, known, remedy }
            })?;
            file.at.push(at);
        }
        Ok(file)
    }

    /// Goes to the next row; false at the end.
    pub fn next(&mut self) -> Result<bool, CurateError> {
        if !self.advance()? {
            return Ok(false);
        }
        if self.record.len() != self.width {
            let (got, expected) = (self.record.len(), self.width);
            return Err(self.bad(format!("{got} cells, but the header has {expected}")));
        }
        Ok(true)
    }

    /// The cell of the n-th column that was asked for.
    pub fn cell(&self, n: usize) -> Result<&str, CurateError> {
        let cell = std::str::from_utf8(&self.record[self.at[n]]);
        cell.map(str::trim).map_err(|_| self.bad("the text is not UTF-8".to_string()))
    }

    fn advance(&mut self) -> Result<bool, CurateError> {
        self.reader.read_byte_record(&mut self.record).map_err(|e| match e.into_kind() {
            csv::ErrorKind::Io(source) => CurateError::reading(self.path, source),
            other => CurateError::reading(self.path, io::Error::other(format!("{other:?}"))),
        })
    }

    fn bad(&self, reason: String) -> CurateError {
        let line = self.record.position().map_or(0, csv::Position::line);
        bad_line(self.path, line, reason, self.remedy)
    }
}

/// The error for a line that does not follow the format.
pub(super) fn bad_line(
    path: &Path,
    line: u64,
    reason: impl Into<String>,
    remedy: &'static str,
) -> CurateError {
    CurateError::BadLine { path: path.to_path_buf(), line, reason: reason.into(), remedy }
}

/// Calls `each` with the number, from 1, and the text of every line; it says whether to go on.
pub(super) fn lines(
    path: &Path,
    remedy: &'static str,
    watch: &dyn Watch,
    mut each: impl FnMut(u64, &str) -> Result<bool, CurateError>,
) -> Result<(), CurateError> {
    let mut file = open(path, "read lines", watch)?;
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        if file.read_until(b'\n', &mut bytes).map_err(|e| CurateError::reading(path, e))? == 0 {
            break;
        }
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| bad_line(path, line, "the text is not UTF-8", remedy))?;
        if !each(line, text.trim_end_matches(['\r', '\n']))? {
            break;
        }
    }
    Ok(())
}

/// Reads a JSON file of which only the fields of `T` are kept.
pub(super) fn json<T: DeserializeOwned>(
    path: &Path,
    stage: &str,
    remedy: &'static str,
    watch: &dyn Watch,
) -> Result<T, CurateError> {
    let file = open(path, stage, watch)?;
    serde_json::from_reader(file).map_err(|error| {
        if error.is_io() {
            return CurateError::reading(path, error.into());
        }
        let line = error.line() as u64;
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or(&text);
        let reason = format!("{reason} (column {})", error.column());
        bad_line(path, line, reason, remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::{Event, Silent};
    use std::io::Write;
    use std::ops::ControlFlow;

    fn write(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn compressed_and_plain_files_read_alike() {
        let text = "a\tb\n1\t\"two\nlines\"\n3\t4\n";
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(text.as_bytes()).unwrap();
        for bytes in [text.as_bytes().to_vec(), gz.finish().unwrap()] {
            let file = write(&bytes);
            let mut rows = Delimited::open(file.path(), b'\t', &["b"], "r", &Silent).unwrap();
            let mut cells = Vec::new();
            while rows.next().unwrap() {
                cells.push(rows.cell(0).unwrap().to_string());
            }
            assert_eq!(cells, ["two\nlines", "4"]);
        }
    }

    #[test]
    fn the_watch_can_stop_a_read() {
        struct Stop;
        impl Watch for Stop {
            fn on(&self, event: Event<'_>) -> ControlFlow<()> {
                match event {
                    Event::Step { .. } => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            }
        }
        let file = write(b"{\"a\": 1}");
        let read = json::<serde_json::Value>(file.path(), "read", "r", &Stop);
        assert!(matches!(read, Err(CurateError::Cancelled(_))), "{read:?}");
        let read = lines(file.path(), "r", &Stop, |_, _| Ok(true));
        assert!(matches!(read, Err(CurateError::Cancelled(_))), "{read:?}");
    }

    #[test]
    fn damage_is_named_by_its_line() {
        let file = write(b"a,b\n1,2\n3\n");
        let mut rows =
            Delimited::open(file.path(), b',', &["a"], "export it again", &Silent).unwrap();
        assert!(rows.next().unwrap());
        let error = rows.next().unwrap_err().to_string();
        assert!(
            error.ends_with("line 3: 1 cells, but the header has 2; export it again"),
            "{error}"
        );
        let file = write(b"{\"a\":\n [1, 2\n");
        let error = json::<serde_json::Value>(file.path(), "read", "download it again", &Silent);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("line 3: EOF while parsing a list"), "{error}");
    }
}
