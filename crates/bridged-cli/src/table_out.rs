//! A table on its way out: names that would collide, and cells that a spreadsheet would run.

use crate::options::usage;
use crate::printer::{self, say};
use crate::progress::Talk;
use anyhow::Result;
use bridged_io::source::STANDARD_INPUT;
use bridged_io::{Column, ColumnData, Format, Layout, Table, extensions, spreadsheet};
use std::io::{self, Write};
use std::path::Path;

/// How a table is written.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TableOut {
    /// In CSV and TSV, put an apostrophe before texts that a spreadsheet would take for formulas (= + - @)
    #[arg(long)]
    safe_csv: bool,
    /// The format where no name of a file tells it, as in -o -: csv, tsv or arrow [default: csv]
    #[arg(long, value_name = "FORMAT", value_parser = format_named)]
    format: Option<&'static Format>,
}

fn format_named(name: &str) -> Result<&'static Format, String> {
    let known = || extensions(|format| format.writes_pieces()).join(", ");
    bridged_io::format_named(name)
        .ok_or_else(|| format!("unknown format; use one of {}", known().replace('.', "")))
}

/// Whether this names standard output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

impl TableOut {
    /// The format of a table that goes there, or what is wrong with the flags.
    pub fn format_of(&self, path: &Path) -> Result<&'static Format> {
        match (is_standard(path), self.format) {
            (true, format) => {
                let format = format
                    .unwrap_or_else(|| bridged_io::format_named("csv").expect("CSV is listed"));
                if format.writes_streams() {
                    return Ok(format);
                }
                let (name, known) = (format.name, extensions(|format| format.writes_streams()));
                let known = known.join(", ").replace('.', "");
                Err(usage(format!(
                    "--format: {name} cannot be written into a pipe; use one of {known}"
                )))
            }
            (false, None) => bridged_io::format_of(path).map_err(|e| usage(e.to_string())),
            (false, Some(_)) => Err(usage(format!(
                "--format: the extension of `{}` tells its format; --format is for -o - and for --rows-per-file",
                path.display()
            ))),
        }
    }

    /// The format of the files of a folder.
    pub fn format_of_parts(&self) -> Result<&'static Format> {
        let format = self
            .format
            .unwrap_or_else(|| bridged_io::format_named("parquet").expect("Parquet is listed"));
        match format.writes_pieces() {
            true => Ok(format),
            false => Err(usage(format!(
                "--format: {} cannot be written some rows at a time; use one of {}",
                format.name,
                extensions(|format| format.writes_pieces()).join(", ").replace('.', "")
            ))),
        }
    }

    /// Refuses a summary in JSON where the table goes.
    pub fn check_json(&self, path: &Path, json: bool) -> Result<()> {
        match is_standard(path) && json {
            true => Err(usage(
                "--json prints on standard output, where the table goes; write the table to a file",
            )),
            false => Ok(()),
        }
    }

    /// Says what was done: on standard output, or beside it where the table goes there.
    pub fn say(&self, path: &Path, text: &str) -> Result<()> {
        match is_standard(path) {
            true => say(text),
            false => writeln!(printer::out(), "{text}")?,
        }
        Ok(())
    }

    /// Whether texts are kept from being read as formulas.
    pub fn is_safe(&self) -> bool {
        self.safe_csv
    }

    /// Writes columns to a file, whole or not at all, or to standard output.
    pub fn write(&self, path: &Path, columns: Vec<Column>) -> Result<()> {
        let format = self.format_of(path)?;
        match is_standard(path) {
            true => self.write_pieces(path, std::iter::once(Ok(columns))),
            false => Ok(bridged_io::write(path, &self.table(format, path, columns)?)?),
        }
    }

    /// Writes columns that come piece by piece: into a file whole or not at all, to standard output as they come.
    pub fn write_pieces(
        &self,
        path: &Path,
        pieces: impl Iterator<Item = io::Result<Vec<Column>>>,
    ) -> Result<()> {
        let format = self.format_of(path)?;
        let pieces =
            pieces.map(|columns| self.table(format, path, columns?).map_err(io::Error::other));
        if !is_standard(path) {
            return Ok(bridged_io::write_pieces(path, pieces)?);
        }
        let mut out = Standard { to: printer::table_out(), closed: false };
        let name = Path::new("standard output");
        let written = bridged_io::write_stream(&mut out, format, name, pieces);
        match out.closed {
            // Whoever read has seen enough, as in `| head`.
            true => Err(io::Error::from(io::ErrorKind::BrokenPipe).into()),
            false => Ok(written?),
        }
    }

    /// The table that is written of columns.
    pub fn table(&self, format: &Format, path: &Path, columns: Vec<Column>) -> Result<Table> {
        let mut table = Table::new(path, columns)?;
        if self.safe_csv && format.layout == Layout::Text {
            spreadsheet::without_formulas(&mut table);
        }
        Ok(table)
    }
}

/// Standard output, which knows whether its reader has gone.
struct Standard {
    to: Box<dyn Write + Send>,
    closed: bool,
}

impl Standard {
    fn note<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.closed |= done.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::BrokenPipe);
        done
    }
}

impl Write for Standard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.to.write(bytes);
        self.note(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.to.flush();
        self.note(done)
    }
}

/// The columns of the input before our own. One that has the name of ours is renamed, and that is said.
pub fn before_ours(input: Vec<Column>, ours: Vec<Column>, talk: &Talk) -> Vec<Column> {
    let mut taken: Vec<String> = ours.iter().map(|column| column.name.clone()).collect();
    let vectors: Vec<String> =
        ours.iter().filter(|c| is_vector(c)).map(|c| c.name.clone()).collect();
    // `value_3` is one of ours where vectors are a column per entry.
    let is_entry = |name: &str| vectors.iter().any(|v| entry_of(name, v));
    let mut columns = Vec::with_capacity(input.len() + ours.len());
    for column in input {
        let mut name = column.name.clone();
        while taken.contains(&name) || is_entry(&name) {
            name.push_str("_input");
        }
        if name != column.name && !talk.quiet {
            say(&format!("note: column `{}` of the input is `{name}` in the output", column.name));
        }
        taken.push(name.clone());
        columns.push(column.renamed(name));
    }
    columns.extend(ours);
    columns
}

fn is_vector(column: &Column) -> bool {
    column.data.kind().is_list()
}

fn entry_of(name: &str, vector: &str) -> bool {
    let digits = name.strip_prefix(vector).and_then(|rest| rest.strip_prefix('_'));
    digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
}

/// What a model carries along as texts, with the type that all of them spell: whole numbers, numbers, truth values or
/// texts. Empty is missing.
pub struct Carried<'a> {
    texts: &'a [String],
    spelled: Spelled,
}

/// The type of cells that are kept as texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spelled {
    Integer,
    Number,
    Bool,
    Text,
}

impl<'a> Carried<'a> {
    /// Looks at all of them once.
    pub fn new(texts: &'a [String]) -> Self {
        let all = |fits: fn(&str) -> bool| {
            let mut cells = texts.iter().filter(|t| !t.is_empty()).peekable();
            cells.peek().is_some() && cells.all(|t| fits(t))
        };
        let spelled = if all(|t| t.parse::<i64>().is_ok_and(|v| v.to_string() == t)) {
            Spelled::Integer
        } else if all(is_number) {
            Spelled::Number
        } else if all(|t| t == "true" || t == "false") {
            Spelled::Bool
        } else {
            Spelled::Text
        };
        Self { texts, spelled }
    }

    /// Texts whose type is known.
    pub fn typed(texts: &'a [String], spelled: Spelled) -> Self {
        Self { texts, spelled }
    }

    /// Those of some rows, as a column.
    pub fn of(&self, rows: impl Iterator<Item = Option<usize>>) -> ColumnData {
        let cells = rows.map(|row| Some(self.texts[row?].as_str()).filter(|t| !t.is_empty()));
        match self.spelled {
            Spelled::Integer => ColumnData::Integer(cells.map(|t| t?.parse().ok()).collect()),
            Spelled::Bool => ColumnData::Bool(cells.map(|t| t?.parse().ok()).collect()),
            Spelled::Text => ColumnData::Text(cells.map(|t| t.map(str::to_string)).collect()),
            Spelled::Number => {
                let number = |t: Option<&str>| t.and_then(|t| t.parse().ok()).unwrap_or(f64::NAN);
                ColumnData::Number(cells.map(number).collect())
            }
        }
    }
}

/// A number as tables are read: with a point or an exponent where it is not whole, and no more zeros than needed.
fn is_number(text: &str) -> bool {
    let plain = text.strip_prefix('-').unwrap_or(text);
    let spelled = plain == "0" || !plain.starts_with('0') || plain.starts_with("0.");
    spelled && plain.starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_carries_has_the_type_that_all_of_it_spells() {
        let spelled = |cells: &[&str]| {
            let cells: Vec<String> = cells.iter().map(|c| c.to_string()).collect();
            Carried::new(&cells).spelled
        };
        assert_eq!(spelled(&["1", "", "-20"]), Spelled::Integer);
        assert_eq!(spelled(&["007", "12"]), Spelled::Text);
        assert_eq!(spelled(&["1.5", "2", "1e-7", ""]), Spelled::Number);
        assert_eq!(spelled(&["1.5", "inf"]), Spelled::Text);
        assert_eq!(spelled(&["true", "", "false"]), Spelled::Bool);
        assert_eq!(spelled(&["", ""]), Spelled::Text);
    }

    #[test]
    fn a_column_of_the_input_never_hides_one_of_ours() {
        let text = |name: &str| Column::new(name, ColumnData::Text(vec![None]));
        let value = ColumnData::Vector(bridged_math::Matrix::zeros(1, 3));
        let input = ["status", "status_input", "name", "value_7", "value_x"].map(text).to_vec();
        let ours = vec![text("status"), Column::new("value", value)];
        let columns = before_ours(input, ours, &Talk::new(true));
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let expected = ["status_input", "status_input_input", "name", "value_7_input", "value_x"];
        assert_eq!(names[..5], expected);
        assert_eq!(names[5..], ["status", "value"]);
    }
}
