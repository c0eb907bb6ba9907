//! A table on its way out: names that would collide, and cells that a spreadsheet would run.

use crate::options::usage;
use crate::printer::{self, say};
use crate::progress::Talk;
use anyhow::Result;
use bridged_io::answers::{self, Renamed};
use bridged_io::source::STANDARD_INPUT;
use bridged_io::{Column, Format, Layout, Table, extensions, spreadsheet};
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
    let (columns, renamed) = answers::beside(input, ours);
    for Renamed { from, to } in renamed.iter().filter(|_| !talk.quiet) {
        say(&format!("note: column `{from}` of the input is `{to}` in the output"));
    }
    columns
}
