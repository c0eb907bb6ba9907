//! What a format of tables is, and which one a file has.

use crate::atomic::{Sink, WriteError};
use crate::error::TableError;
use crate::pairs::PairsTable;
use crate::pass::{Each, Pass, Schema, Survey};
use crate::table::Table;
use crate::{FORMATS, Input};
use bridged::columns::ColumnKind;
use std::io;
use std::path::Path;

/// The names of the columns of a table, and what they hold.
pub type Columns = Vec<(String, ColumnKind)>;

/// A format of tables: its name, its files, and the functions that read and write them.
#[derive(Debug)]
pub struct Format {
    /// What people call it.
    pub name: &'static str,
    /// The endings of its files, without the dot; the first is the usual one.
    pub extensions: &'static [&'static str],
    /// What it is good for, in a sentence.
    pub about: &'static str,
    /// What its files can hold.
    pub layout: Layout,
    /// With which bytes its files begin, and what such a file is called; none if they begin with anything.
    pub(crate) beginnings: &'static [(&'static [u8], &'static str)],
    /// Whether a file that begins with plain text cannot be one of it.
    pub(crate) never_text: bool,
    /// Whether its files can be read, not only written.
    pub reads: bool,
    /// Whether its reader asks for the bytes that it needs, so that not all of a file must be near.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "all files are near"))]
    pub(crate) asks_for_ranges: bool,
    pub(crate) read: fn(&Input<'_>) -> Result<Table, TableError>,
    pub(crate) read_pairs: fn(&Input<'_>) -> Result<PairsTable, TableError>,
    /// The columns without their cells, from the beginning or the end of a file alone.
    pub(crate) peek: fn(&Input<'_>) -> Result<Columns, TableError>,
    /// What is known before the rows are read; a text file is read once for it.
    pub(crate) survey: fn(&Input<'_>) -> Result<Survey, TableError>,
    /// Reads rows a few at a time.
    pub(crate) pass: ReadPass,
    pub(crate) write: fn(&mut Sink<'_>, &Table) -> Result<(), WriteError>,
    /// Writes tables with the same columns one after the other, if the format can be written so.
    pub(crate) write_pieces: Option<WritePieces>,
    /// The same into a pipe, if whoever reads needs no more than what came so far.
    pub(crate) write_stream: Option<WritePieces>,
}

/// Reads a file whose schema is known.
pub(crate) type ReadPass =
    fn(&Input<'_>, &Schema, Pass<'_>, &mut Each<'_>) -> Result<(), TableError>;

/// Writes a first table and those that follow it.
pub(crate) type WritePieces = fn(
    &mut Sink<'_>,
    &Table,
    &mut dyn Iterator<Item = io::Result<Table>>,
) -> Result<(), WriteError>;

/// What the files of a format can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Columns with types; a vector is one cell.
    Columns,
    /// Columns of text; a vector is one column per entry.
    Text,
    /// Columns of a spreadsheet: texts, numbers and dates; a vector is one column per entry.
    Sheet,
    /// One array of numbers, without names.
    Array,
}

impl Format {
    /// Whether a table can be written piece by piece with [`crate::write_pieces`].
    pub fn writes_pieces(&self) -> bool {
        self.write_pieces.is_some()
    }

    /// Whether a table can be written into a pipe with [`crate::write_stream`].
    pub fn writes_streams(&self) -> bool {
        self.write_stream.is_some()
    }

    /// What a file with these first bytes is called, if it is one of this format.
    pub(crate) fn sniff(&self, head: &[u8]) -> Option<&'static str> {
        self.beginnings.iter().find(|(start, _)| head.starts_with(start)).map(|&(_, name)| name)
    }
}

/// The format that the extension of a file names, if it names one. CSV and TSV may be compressed:
/// `.csv.gz`.
pub fn known_format(path: &Path) -> Option<&'static Format> {
    let (plain, compressed) = match is_gzip(path) {
        true => (path.with_extension(""), true),
        false => (path.to_path_buf(), false),
    };
    let extension = plain.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
    let mut fits = FORMATS.iter().filter(|format| !compressed || format.layout == Layout::Text);
    fits.find(|format| format.extensions.contains(&extension.as_str()))
}

/// Whether the name of a file says that it is compressed by gzip.
pub(crate) fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"))
}

/// The format that the extension of a file names.
pub fn format_of(path: &Path) -> Result<&'static Format, TableError> {
    known_format(path).ok_or_else(|| {
        let known = extensions(|_| true).join(", ");
        TableError::UnknownExtension { path: path.to_path_buf(), known }
    })
}

/// The same for a file that is to be read.
pub(crate) fn read_format(path: &Path) -> Result<&'static Format, TableError> {
    let known = || extensions(|format| format.reads).join(", ");
    match known_format(path) {
        Some(format) if format.reads => Ok(format),
        Some(Format { name: format, .. }) => {
            Err(TableError::WrittenOnly { path: path.to_path_buf(), format, known: known() })
        }
        None => Err(TableError::UnknownExtension { path: path.to_path_buf(), known: known() }),
    }
}

/// The format that has this name or extension, in upper or lower case: `arrow`, `CSV`, `.parquet`.
pub fn format_named(name: &str) -> Option<&'static Format> {
    let name = name.strip_prefix('.').unwrap_or(name).to_lowercase();
    let is = |format: &&Format| {
        format.name.to_lowercase() == name || format.extensions.contains(&name.as_str())
    };
    FORMATS.iter().find(is)
}

/// The extensions of the formats of which that holds, each with its dot.
pub fn extensions(fits: impl Fn(&Format) -> bool) -> Vec<String> {
    let formats = FORMATS.iter().filter(|format| fits(format));
    formats.flat_map(|format| format.extensions).map(|e| format!(".{e}")).collect()
}

/// The names of all formats that are read, as a list to show: `Parquet, … or TSV`.
pub fn format_names() -> String {
    let names: Vec<&str> = FORMATS.iter().filter(|f| f.reads).map(|format| format.name).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_formats_share_a_name_an_extension_or_a_beginning() {
        for (at, format) in FORMATS.iter().enumerate() {
            for other in &FORMATS[..at] {
                assert_ne!(format.name, other.name);
                assert!(format.extensions.iter().all(|e| !other.extensions.contains(e)));
                for (start, _) in format.beginnings {
                    assert_eq!(other.sniff(start), None, "{} and {}", format.name, other.name);
                }
            }
        }
    }

    #[test]
    fn the_extension_tells_the_format_in_upper_and_lower_case() {
        for format in FORMATS {
            for extension in format.extensions {
                for name in [extension.to_lowercase(), extension.to_uppercase()] {
                    let found = known_format(Path::new(&format!("t.{name}"))).unwrap();
                    assert_eq!(found.name, format.name);
                }
            }
        }
        assert!(known_format(Path::new("parquet")).is_none());
        assert_eq!(known_format(Path::new("t.CSV.gz")).unwrap().name, "CSV");
        assert_eq!(known_format(Path::new("t.tsv.GZ")).unwrap().name, "TSV");
        assert!(known_format(Path::new("t.parquet.gz")).is_none());
        assert!(known_format(Path::new("t.gz")).is_none());
        assert_eq!(format_names(), "Parquet, Arrow IPC, npy, CSV or TSV");
    }
}
