//! Tables in and out: Parquet, Arrow IPC, npy, CSV and TSV; with the feature `xlsx`, Excel out.
//!
//! [`read`] gives a [`Table`] of named columns, [`Table::into_pool`] picks the vectors and the ids
//! out of it and checks them, [`read_pairs`] reads which ids belong together, and [`write()`] writes
//! a table whole or not at all. The extension of a file names its format.
//!
//! | module | what it holds |
//! |---|---|
//! | [`table`] | the columns and what a cell may be |
//! | [`select`] | the vectors and the ids of a table |
//! | [`texts`] | which column is to be encoded |
//! | [`source`] | rows in many files, near or far |
//! | [`pairs`] | tables of two ids |
//! | [`answers`] | predictions as columns |
//! | [`spreadsheet`] | texts that a spreadsheet would take for formulas |
//! | [`atomic`] | whole files or none |
//! | [`error`] | everything that can be wrong with a file |
//!
//! A new format is a new file with its [`Format`], and its name in [`FORMATS`].
//!
//! ```
//! use bridged_io::{Select, read, write};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("x.csv");
//! std::fs::write(&path, "id,width,height,name\na,1,2,left\nb,3,4,right\n")?;
//! let table = read(&path)?;
//! write(&directory.path().join("x.parquet"), &table)?;
//!
//! let pool = table.into_pool(Select::default())?;
//! assert_eq!(pool.ids, ["a", "b"]);
//! assert_eq!(pool.rows.row(1), [3.0, 4.0]);
//! assert_eq!(pool.vector_names, ["width", "height"]);
//! assert_eq!(pool.texts()[0].values[0].as_deref(), Some("left"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod answers;
mod arrow;
pub mod atomic;
mod batches;
mod cells;
mod convert;
mod delimited;
mod dialect;
pub mod error;
mod format;
mod magic;
mod mixed;
mod npy;
mod pair_answers;
pub mod pairs;
mod parquet;
mod parts;
mod pass;
mod room;
pub mod select;
pub mod source;
pub mod spreadsheet;
mod stored;
pub mod table;
pub mod texts;
mod to_rows;
mod vectors;
#[cfg(feature = "xlsx")]
mod xlsx;

pub use atomic::{Sink, TABLE_FILE, WriteError, replace};
pub use error::TableError;
pub use format::{
    Columns, Format, Layout, extensions, format_named, format_names, format_of, known_format,
};
pub use pairs::PairsTable;
pub use parts::{Journal, Parts};
pub use select::{Missing, Pool, ROW_NUMBER, Select};
pub use source::{
    Batches, EachBatch, Part, Source, SourceError, Spill, Stamp, batch_bytes, is_url,
};
pub use stored::{StoredRows, check_scratch, memory_of_a_pass};
pub use table::{Column, ColumnData, Table, TextCells, Times};
pub use texts::Texts;
pub use vectors::DoubleRows;

use arrow_schema::{ArrowError, Schema};
use bridged::columns::ColumnKind;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// Every format there is: reading and writing, help and error messages follow from this list.
pub const FORMATS: &[Format] = &[
    parquet::FORMAT,
    arrow::FORMAT,
    npy::FORMAT,
    delimited::CSV,
    delimited::TSV,
    #[cfg(feature = "xlsx")]
    xlsx::FORMAT,
];

/// An open file on its way into a table.
pub(crate) struct Input<'a> {
    path: &'a Path,
    file: &'a File,
    len: u64,
    options: &'a ReadOptions<'a>,
    /// Brings the bytes of `file` from where they are, if they are not there yet.
    fetch: Option<Arc<dyn source::Fetch>>,
}

/// What the user says about text files and tables of pairs; nothing means what the file looks like.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions<'a> {
    /// Between the cells of CSV and TSV, one byte.
    pub separator: Option<u8>,
    /// Before the decimals in CSV and TSV: `.` or `,`.
    pub decimal: Option<char>,
    /// The column of pairs that holds ids of x.
    pub pairs_x: Option<&'a str>,
    /// The column of pairs that holds ids of y.
    pub pairs_y: Option<&'a str>,
}

impl Input<'_> {
    fn damaged(&self, format: &'static str, detail: String) -> TableError {
        TableError::Damaged { path: self.path.to_path_buf(), format, detail }
    }

    /// The bytes from the beginning, expanded if the file is compressed by gzip.
    fn content(&self) -> io::Result<Box<dyn Read + '_>> {
        let mut file = self.file;
        io::Seek::rewind(&mut file)?;
        Ok(match format::is_gzip(self.path) {
            true => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file))),
            false => Box::new(file),
        })
    }

    /// Batches that do not fit the memory, or not each other.
    fn not_collected(&self, format: &'static str, error: ArrowError) -> TableError {
        match error {
            ArrowError::MemoryError(refusal) => {
                TableError::Grew { path: self.path.to_path_buf(), refusal }
            }
            other => self.damaged(format, other.to_string()),
        }
    }
}

/// Reads a table; at least one row and one column. Its extension tells the format.
pub fn read(path: &Path) -> Result<Table, TableError> {
    read_with(path, &ReadOptions::default())
}

/// The same with what the user says about it.
pub fn read_with(path: &Path, options: &ReadOptions<'_>) -> Result<Table, TableError> {
    not_empty(open(path, options, |format, input| (format.read)(input))?)
}

/// Reads a table from the bytes of a file in that format, which errors call `name`: a body that came over a network.
/// They are checked as a file is.
pub fn read_bytes(format: &Format, name: &Path, bytes: &[u8]) -> Result<Table, TableError> {
    let options = ReadOptions::default();
    let unreadable = |source| TableError::Unreadable { path: name.to_path_buf(), source };
    if bytes.is_empty() {
        return Err(TableError::Empty { path: name.to_path_buf() });
    }
    // Decoders go back and forth in files.
    let mut file = tempfile::tempfile().map_err(unreadable)?;
    io::Write::write_all(&mut file, bytes).map_err(unreadable)?;
    io::Seek::rewind(&mut file).map_err(unreadable)?;
    let len = bytes.len() as u64;
    let input = Input { path: name, file: &file, len, options: &options, fetch: None };
    not_empty(sniffed(format, &input, |input| (format.read)(input))?)
}

/// Refuses a table without rows or columns.
fn not_empty(table: Table) -> Result<Table, TableError> {
    if table.columns.is_empty() {
        return Err(TableError::NoColumns { path: table.source });
    }
    if table.rows() == 0 {
        return Err(TableError::NoRows { path: table.source });
    }
    Ok(table)
}

/// Reads a table of pairs of ids; see [`pairs`] for which columns. It may have no rows.
pub fn read_pairs(path: &Path) -> Result<PairsTable, TableError> {
    read_pairs_with(path, &ReadOptions::default())
}

/// The same with what the user says about it.
pub fn read_pairs_with(path: &Path, options: &ReadOptions<'_>) -> Result<PairsTable, TableError> {
    open(path, options, |format, input| (format.read_pairs)(input))
}

/// The columns of a table without their cells, whatever the size of its file: what a text column holds, by its first
/// lines. An npy file has no names, and gives no columns.
pub fn peek(path: &Path) -> Result<Columns, TableError> {
    let options = ReadOptions::default();
    match known_format(path) {
        Some(format) if !format.reads => {
            let unreadable = |source| TableError::Unreadable { path: path.to_path_buf(), source };
            let file = File::open(path).map_err(unreadable)?;
            let len = file.metadata().map_err(unreadable)?.len();
            (format.peek)(&Input { path, file: &file, len, options: &options, fetch: None })
        }
        _ => open(path, &options, |format, input| (format.peek)(input)),
    }
}

/// Writes a table, whole or not at all. The extension tells the format.
///
/// Equal tables give equal bytes. A row of [`ColumnData::OptionalVector`] that is not valid is a
/// null in Parquet and Arrow, empty cells in CSV and TSV, and NaN in npy. In CSV and TSV a vector
/// column `value` becomes the columns `value_0`, `value_1`, … A name that ends in `.csv.gz` or
/// `.tsv.gz` is compressed.
pub fn write(path: &Path, table: &Table) -> Result<(), TableError> {
    let format = format_of(path)?;
    check(path, table)?;
    if !format::is_gzip(path) {
        return replace(path, |sink| (format.write)(sink, table));
    }
    replace(path, |sink| {
        let mut compressed = GzEncoder::new(sink, Compression::default());
        (format.write)(&mut compressed, table)?;
        compressed.finish()?;
        Ok(())
    })
}

/// Writes a file whose rows come in tables with the same columns, whole or not at all. Of those, one
/// at a time is in memory. The extension tells the format, which must be one that
/// [`Format::writes_pieces`].
pub fn write_pieces(
    path: &Path,
    mut pieces: impl Iterator<Item = io::Result<Table>>,
) -> Result<(), TableError> {
    let unreadable = |source| TableError::Unreadable { path: path.to_path_buf(), source };
    let format = format_of(path)?;
    let Some(write) = format.write_pieces else {
        let (name, known) = (format.name, extensions(Format::writes_pieces).join(", "));
        let reason = format!("{name} cannot be written piece by piece; use one of {known}");
        return Err(TableError::Refused { path: path.to_path_buf(), reason });
    };
    let Some(first) = pieces.next() else {
        return Err(TableError::NoRows { path: path.to_path_buf() });
    };
    let first = first.map_err(unreadable)?;
    check(path, &first)?;
    if !format::is_gzip(path) {
        return replace(path, |sink| write(sink, &first, &mut pieces));
    }
    replace(path, |sink| {
        let mut compressed = GzEncoder::new(sink, Compression::default());
        write(&mut compressed, &first, &mut pieces)?;
        compressed.finish()?;
        Ok(())
    })
}

/// Writes rows that come in tables with the same columns into a pipe, as they come; `name` is what errors call it. The
/// format must be one that [`Format::writes_streams`]: an Arrow stream, CSV or TSV.
pub fn write_stream(
    sink: &mut Sink<'_>,
    format: &Format,
    name: &Path,
    mut pieces: impl Iterator<Item = io::Result<Table>>,
) -> Result<(), TableError> {
    let path = name.to_path_buf();
    let Some(write) = format.write_stream else {
        let (format, known) = (format.name, extensions(Format::writes_streams).join(", "));
        let reason = format!("{format} cannot be written into a pipe; use one of {known}");
        return Err(TableError::Refused { path, reason });
    };
    let Some(first) = pieces.next() else { return Err(TableError::NoRows { path }) };
    let first = first.map_err(|source| TableError::Unreadable { path: path.clone(), source })?;
    check(name, &first)?;
    let written = write(sink, &first, &mut pieces);
    let written = written.and_then(|()| Ok(sink.flush()?));
    written.map_err(|error| match error {
        WriteError::Refused(reason) => TableError::Refused { path, reason },
        WriteError::Failed(source) => bridged::files::FileError::Unwritable { path, source }.into(),
    })
}

/// Refuses what no format can hold.
fn check(path: &Path, table: &Table) -> Result<(), TableError> {
    let refused = |reason| TableError::Refused { path: path.to_path_buf(), reason };
    let mut names = HashSet::with_capacity(table.columns.len());
    for column in &table.columns {
        if !names.insert(column.name.as_str()) {
            return Err(refused(format!("two columns are called `{}`", column.name)));
        }
        let width = match &column.data {
            ColumnData::Vector(m) | ColumnData::OptionalVector { values: m, .. } => m.cols(),
            ColumnData::DoubleVector { values, .. } => values.cols(),
            ColumnData::Ragged { .. } | ColumnData::Other(_) => {
                let kind = column.data.kind();
                return Err(refused(format!("column `{}` holds {kind}", column.name)));
            }
            _ => 1,
        };
        if width == 0 {
            return Err(refused(format!(
                "the vectors of column `{}` have no entries",
                column.name
            )));
        }
    }
    if table.columns.is_empty() {
        return Err(refused("the table has no columns".to_owned()));
    }
    Ok(())
}

/// Opens a file, looks at its first bytes, and hands it to its format.
fn open<T>(
    path: &Path,
    options: &ReadOptions<'_>,
    then: impl FnOnce(&Format, &Input<'_>) -> Result<T, TableError>,
) -> Result<T, TableError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => TableError::Missing { path: path.to_path_buf() },
        _ => TableError::Unreadable { path: path.to_path_buf(), source },
    };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(TableError::Directory { path: path.to_path_buf() });
    }
    let format = format::read_format(path)?;
    let file = File::open(path).map_err(unreadable)?;
    let input = Input { path, file: &file, len: metadata.len(), options, fetch: None };
    sniffed(format, &input, |input| then(format, input))
}

/// What `then` makes of an open file that begins as its format does.
pub(crate) fn sniffed<T>(
    format: &Format,
    input: &Input<'_>,
    then: impl FnOnce(&Input<'_>) -> Result<T, TableError>,
) -> Result<T, TableError> {
    let Input { path, mut file, len, .. } = *input;
    let unreadable = |source| TableError::Unreadable { path: path.to_path_buf(), source };
    let is_file = file.metadata().map_err(unreadable)?.is_file();
    if is_file && len == 0 {
        return Err(TableError::Empty { path: path.to_path_buf() });
    }
    if let Some(fetch) = &input.fetch {
        fetch.ensure(0..len.min(16)).map_err(unreadable)?;
        io::Seek::rewind(&mut file).map_err(unreadable)?;
    }
    let mut head = Vec::new();
    file.take(16).read_to_end(&mut head).map_err(unreadable)?;
    let found = match format.sniff(&head) {
        _ if format::is_gzip(path) => (!head.starts_with(b"\x1f\x8b")).then_some("text"),
        Some(_) => None,
        None => magic::sniff(&head)
            .or_else(|| (format.never_text && looks_like_text(&head)).then_some("text")),
    };
    if let Some(found) = found {
        let path = path.to_path_buf();
        let expected = if format::is_gzip(&path) { "a gzip file" } else { format.name };
        return Err(TableError::Mismatch { path, expected, found });
    }
    io::Seek::rewind(&mut file).map_err(unreadable)?;
    then(input)
}

/// The names of the fields, and which hold whole numbers.
pub(crate) fn peek_schema(schema: &Schema) -> Columns {
    let kind = |kind: &arrow_schema::DataType| match kind {
        kind if kind.is_integer() => ColumnKind::Integer,
        kind => ColumnKind::Other(kind.to_string()),
    };
    schema.fields().iter().map(|f| (f.name().clone(), kind(f.data_type()))).collect()
}

fn looks_like_text(head: &[u8]) -> bool {
    head.iter().all(|b| (0x20..0x7f).contains(b) || matches!(b, b'\t' | b'\n' | b'\r'))
}
