//! CSV and TSV: a header, then one line per row; quoted cells, CRLF and a byte-order mark are fine.
//!
//! A first pass finds out what each column holds, a second one fills it, so that no more than the
//! finished table is in memory, and what that takes is known before. A column is
//! - **vectors** if every cell looks like `[0.1, 0.2]` (commas or blanks, as JSON and NumPy print),
//! - **numeric** if every cell is a number; cells that are empty or say `NA`, `N/A`, `null` or
//!   `None` are gaps,
//! - **text** otherwise; empty cells are gaps.
//!
//! How cells are separated and decimals are written, [`crate::dialect`] finds out.

use crate::Input;
use crate::atomic::{Sink, WriteError};
use crate::cells::{Fill, Guess};
use crate::dialect::{self, Dialect};
use crate::error::TableError;
use crate::format::{Format, Layout, is_gzip};
use crate::pairs::{PairsTable, from_cells};
use crate::pass::{Each, Pass, Schema, Survey};
use crate::room::{Room, longest_line, most_expanded, require};
use crate::table::{Column, ColumnData, Table, Times};
use arrow_schema::DataType;
use bridged::columns::ColumnKind;
use bridged_math::cancel::checkpoint;
use bridged_math::memory::TooLarge;
use csv::ByteRecord;
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// CSV in the list of formats.
pub(crate) const CSV: Format = Format {
    name: "CSV",
    extensions: &["csv"],
    about: "Text with commas and a header; one column per entry, or vectors as [0.1, 0.2].",
    layout: Layout::Text,
    beginnings: &[],
    never_text: false,
    reads: true,
    asks_for_ranges: false,
    read: |input| read(input, b','),
    read_pairs: |input| read_pairs(input, b','),
    peek: |input| peek(input, b','),
    survey: |input| survey(input, b','),
    pass,
    write: |sink, table| write(sink, table, &mut std::iter::empty(), b','),
    write_pieces: Some(|sink, first, rest| write(sink, first, rest, b',')),
    write_stream: Some(|sink, first, rest| write(sink, first, rest, b',')),
};

/// TSV in the list of formats.
pub(crate) const TSV: Format = Format {
    name: "TSV",
    extensions: &["tsv"],
    about: "Text with tabs and a header; otherwise like CSV.",
    layout: Layout::Text,
    beginnings: &[],
    never_text: false,
    reads: true,
    asks_for_ranges: false,
    read: |input| read(input, b'\t'),
    read_pairs: |input| read_pairs(input, b'\t'),
    peek: |input| peek(input, b'\t'),
    survey: |input| survey(input, b'\t'),
    pass,
    write: |sink, table| write(sink, table, &mut std::iter::empty(), b'\t'),
    write_pieces: Some(|sink, first, rest| write(sink, first, rest, b'\t')),
    write_stream: Some(|sink, first, rest| write(sink, first, rest, b'\t')),
};

fn read(input: &Input<'_>, usual: u8) -> Result<Table, TableError> {
    let (schema, rows) = look(input, usual)?;
    require(input.path, rows as u64, schema.bytes(rows))?;
    let mut fills: Vec<Fill> = schema.guesses.iter().map(|guess| guess.fill(rows)).collect();
    let mut first = true;
    records(input, &schema.dialect, |cells| {
        if !std::mem::take(&mut first) {
            for (fill, cell) in fills.iter_mut().zip(cells) {
                fill.push(cell);
            }
        }
        Ok(())
    })?;
    let columns: Vec<Column> = (schema.header.iter().zip(fills))
        .map(|(name, fill)| Column::new(name.as_str(), fill.finish()))
        .collect();
    // A file that grew between the passes has columns of one length still, but of another.
    let mut table = Table::new(input.path, columns)?;
    if table.columns.iter().all(|c| c.data.len().is_none()) {
        table = Table::with_rows(table.source, table.columns, rows);
    }
    table.guessed = true;
    table.notes.extend(schema.note());
    Ok(table)
}

/// The columns of a text file and what all their cells have in common.
#[derive(Clone, Debug)]
pub(crate) struct TextSchema {
    pub header: Vec<String>,
    guesses: Vec<Guess>,
    dialect: Dialect,
}

impl TextSchema {
    /// What this and another file have in common; the header is the same. An error says what differs.
    pub fn merge(&mut self, other: Self) -> Result<(), String> {
        if self.dialect.separator != other.dialect.separator {
            return Err("it separates its cells by another character".to_owned());
        }
        self.guesses.iter_mut().zip(other.guesses).for_each(|(guess, other)| guess.merge(other));
        Ok(())
    }

    /// The bytes that this many rows will take.
    fn bytes(&self, rows: usize) -> u64 {
        self.guesses.iter().map(|guess| guess.bytes(rows as u64)).sum()
    }

    /// What was found out without being told.
    pub fn note(&self) -> Option<String> {
        self.dialect.note(self.guesses.iter().any(Guess::has_commas))
    }
}

/// The first pass: what the columns hold, and how many rows there are.
fn look(input: &Input<'_>, usual: u8) -> Result<(TextSchema, usize), TableError> {
    let dialect = Dialect::of(input, usual)?;
    let mut header = Vec::new();
    let mut guesses: Vec<Guess> = Vec::new();
    let mut rows = 0;
    let mut odd = None;
    records(input, &dialect, |cells| {
        if header.is_empty() {
            header = cells.iter().map(|name| name.trim().to_owned()).collect();
            guesses = header.iter().map(|_| Guess::new(dialect.decimals)).collect();
            return Ok(());
        }
        if rows == 0 && header.len() == 1 && input.options.separator.is_none() {
            odd = other_separator(&header[0], cells[0], dialect.separator);
        }
        for (guess, cell) in guesses.iter_mut().zip(cells) {
            guess.see(cell.trim());
        }
        rows += 1;
        Ok(())
    })?;
    if let Some(found) = odd {
        let expected = if usual == b',' { "a comma" } else { "a tab" };
        return Err(TableError::Separator { path: input.path.to_path_buf(), found, expected });
    }
    Ok((TextSchema { header, guesses, dialect }, rows))
}

fn survey(input: &Input<'_>, usual: u8) -> Result<Survey, TableError> {
    let (schema, rows) = look(input, usual)?;
    let bytes = schema.bytes(rows);
    Ok(Survey { schema: Schema::Text(schema), rows, bytes })
}

/// Reads lines a few at a time.
fn pass(
    input: &Input<'_>,
    schema: &Schema,
    pass: Pass<'_>,
    each: &mut Each<'_>,
) -> Result<(), TableError> {
    let Schema::Text(schema) = schema else {
        return Err(input.damaged("text", "it is of another format".to_owned()));
    };
    let new = || -> Vec<Fill> {
        pass.columns.iter().map(|&at| schema.guesses[at].fill(pass.rows.min(1 << 14))).collect()
    };
    let finish = |fills: Vec<Fill>, rows: usize| -> Table {
        let columns = pass.columns.iter().zip(fills);
        let columns =
            columns.map(|(&at, fill)| Column::new(schema.header[at].as_str(), fill.finish()));
        let columns: Vec<Column> = columns.collect();
        let mut table = Table::with_rows(input.path.to_path_buf(), columns, rows);
        table.guessed = true;
        table
    };
    let (mut fills, mut held, mut line) = (new(), 0, 0);
    let mut wanted = pass.only.map(|only| only.iter().copied().peekable());
    // What stops a pass early, and is not the fault of the file.
    let mut stopped: Option<Result<(), TableError>> = None;
    let result = records(input, &schema.dialect, |cells| {
        line += 1;
        if line == 1 {
            return Ok(()); // the header
        }
        if let Some(wanted) = &mut wanted {
            match wanted.peek() {
                None => {
                    stopped = Some(Ok(()));
                    return Err(stop());
                }
                Some(&row) if row != line - 2 => return Ok(()),
                Some(_) => {
                    wanted.next();
                }
            }
        }
        for (fill, &at) in fills.iter_mut().zip(pass.columns) {
            fill.push(cells.get(at).copied().unwrap_or_default());
        }
        held += 1;
        if held == pass.rows.max(1) {
            let full = finish(std::mem::replace(&mut fills, new()), held);
            held = 0;
            if let Err(error) = each(full) {
                stopped = Some(Err(error));
                return Err(stop());
            }
        }
        Ok(())
    });
    match stopped {
        Some(Err(error)) => return Err(error),
        Some(Ok(())) => {}
        None => result?,
    }
    if held > 0 { each(finish(fills, held)) } else { Ok(()) }
}

/// Ends a walk over the lines of a file.
fn stop() -> TooLarge {
    TooLarge { what: "nothing".to_owned(), needs: 0, free: 0, limit: None }
}

/// The names of the columns, and what the first lines hold.
fn peek(input: &Input<'_>, usual: u8) -> Result<crate::Columns, TableError> {
    let dialect = Dialect::of(input, usual)?;
    let sample = dialect::sample(input)?;
    let builder = &mut csv::ReaderBuilder::new();
    let builder = builder.delimiter(dialect.separator).has_headers(false).flexible(true);
    let mut lines =
        builder.from_reader(sample.as_slice()).into_byte_records().map_while(Result::ok);
    let text = |cell: &[u8]| String::from_utf8_lossy(cell).trim().to_owned();
    let names: Vec<String> = lines.next().iter().flatten().map(text).collect();
    let mut guesses: Vec<Guess> = names.iter().map(|_| Guess::new(dialect.decimals)).collect();
    for line in lines {
        guesses.iter_mut().zip(&line).for_each(|(guess, cell)| guess.see(&text(cell)));
    }
    let kinds = guesses.iter().map(|guess| match guess.fill(0) {
        Fill::Integer(_) => ColumnKind::Integer,
        Fill::Number(..) => ColumnKind::Float,
        _ => ColumnKind::Text,
    });
    Ok(names.into_iter().zip(kinds).collect())
}

/// Reads pairs of ids, spelled as in the file.
fn read_pairs(input: &Input<'_>, usual: u8) -> Result<PairsTable, TableError> {
    let dialect = Dialect::of(input, usual)?;
    let mut pairs = from_cells(input, read_cells(input, &dialect)?)?;
    pairs.notes.extend(dialect.note(false));
    Ok(pairs)
}

/// The cells as they are, the header's among them: one vector per column.
fn read_cells(input: &Input<'_>, dialect: &Dialect) -> Result<Vec<Vec<String>>, TableError> {
    let mut columns: Vec<Vec<String>> = Vec::new();
    let mut room = Room::default();
    records(input, dialect, |cells| {
        room.take(cells.iter().map(|cell| cell.len() as u64 + 40).sum())?;
        columns.resize(cells.len(), Vec::new());
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell.trim().to_owned());
        }
        Ok(())
    })?;
    Ok(columns)
}

/// Ends a file whose line has no end, such as a device, and one that expands without end; and ends where the
/// work was stopped.
struct Limited<R> {
    inner: R,
    read: u64,
    /// The most bytes since the last line began.
    longest: u64,
    /// The most bytes of all.
    most: u64,
    /// Where the line began.
    began: Rc<Cell<u64>>,
    /// Which limit was reached.
    reached: Rc<Cell<Option<Reached>>>,
}

#[derive(Clone, Copy)]
enum Reached {
    Line,
    Size,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        checkpoint();
        let of_line = self.read.saturating_sub(self.began.get());
        if of_line > self.longest || self.read > self.most {
            let reached = if self.read > self.most { Reached::Size } else { Reached::Line };
            self.reached.set(Some(reached));
            return Err(io::Error::other("it is too long"));
        }
        let count = self.inner.read(buffer)?;
        self.read += count as u64;
        Ok(count)
    }
}

/// Calls `each` with the cells of the header and of every line; all have one length.
fn records(
    input: &Input<'_>,
    dialect: &Dialect,
    mut each: impl FnMut(&[&str]) -> Result<(), TooLarge>,
) -> Result<(), TableError> {
    let path = || input.path.to_path_buf();
    let unreadable = |source| TableError::Unreadable { path: path(), source };
    let (began, reached) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(None)));
    let longest = longest_line();
    let most = if is_gzip(input.path) { most_expanded(input.len) } else { u64::MAX };
    let limited = Limited {
        inner: input.content().map_err(unreadable)?,
        read: 0,
        longest,
        most,
        began: Rc::clone(&began),
        reached: Rc::clone(&reached),
    };
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(dialect.separator)
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(1 << 16)
        .from_reader(limited);
    let mut record = ByteRecord::new();
    let mut expected = None;
    loop {
        began.set(reader.position().byte());
        let line = reader.position().line();
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                return Err(match reached.get() {
                    Some(Reached::Line) => TableError::LongLine { path: path(), line, longest },
                    Some(Reached::Size) => {
                        TableError::Expands { path: path(), size: input.len, most }
                    }
                    None => unreadable(error.into()),
                });
            }
        }
        let line = record.position().map_or(0, csv::Position::line);
        let mut cells = Vec::with_capacity(record.len());
        for cell in &record {
            match std::str::from_utf8(cell) {
                Ok(cell) => cells.push(cell),
                Err(_) => return Err(TableError::NotUtf8 { path: path(), line }),
            }
        }
        let got = cells.len();
        let expected = *expected.get_or_insert(got);
        if got != expected {
            return Err(TableError::RaggedLine { path: path(), line, expected, got });
        }
        each(&cells).map_err(|e| TableError::Grew { path: path(), refusal: e.to_string() })?;
    }
}

/// A separator that both lines of a table of one column contain.
fn other_separator(header: &str, row: &str, separator: u8) -> Option<&'static str> {
    let candidates = [(b';', ";", "semicolons"), (b'\t', "\t", "tabs"), (b',', ",", "commas")];
    // A list such as `[1, 2]` has commas of its own.
    let fits = |c: &str| header.contains(c) && row.contains(c) && !row.trim().starts_with('[');
    candidates.iter().find(|(byte, c, _)| *byte != separator && fits(c)).map(|&(_, _, name)| name)
}

/// Writes a first table with its header, and those that follow it.
fn write(
    sink: &mut Sink<'_>,
    first: &Table,
    rest: &mut dyn Iterator<Item = io::Result<Table>>,
    separator: u8,
) -> Result<(), WriteError> {
    let failed = |e: csv::Error| WriteError::Failed(Box::new(e));
    let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(sink);
    let header = first.flat_names();
    let mut sorted: Vec<&str> = header.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
        return Err(WriteError::Refused(format!("two columns would be called `{}`", twice[0])));
    }
    writer.write_record(&header).map_err(failed)?;
    let mut line = ByteRecord::new();
    let mut push = |table: &Table| -> Result<(), WriteError> {
        for i in 0..table.rows() {
            line.clear();
            for column in &table.columns {
                push_cells(&mut line, column, i);
            }
            writer.write_byte_record(&line).map_err(failed)?;
        }
        Ok(())
    };
    push(first)?;
    for piece in rest {
        push(&piece?)?;
    }
    writer.flush()?;
    Ok(())
}

/// Debug formatting is the shortest text that reads back as the same number, and keeps the point
/// in 12.0, so that a column of reals is one again.
fn push_cells(line: &mut ByteRecord, column: &Column, i: usize) {
    let mut vector = |row: &[f32], valid: bool| {
        for v in row {
            if valid && !v.is_nan() {
                line.push_field(format!("{v:?}").as_bytes());
            } else {
                line.push_field(b"");
            }
        }
    };
    match &column.data {
        ColumnData::Vector(m) => vector(m.row(i), true),
        ColumnData::OptionalVector { values, valid } => vector(values.row(i), valid[i]),
        ColumnData::DoubleVector { values, valid } => {
            let valid = valid.get(i).is_none_or(|valid| *valid);
            for v in values.slice(i..i + 1) {
                match valid && !v.is_nan() {
                    true => line.push_field(format!("{v:?}").as_bytes()),
                    false => line.push_field(b""),
                }
            }
        }
        ColumnData::Number(v) if v[i].is_nan() => line.push_field(b""),
        // A single has the digits of one: 0.1, not 0.10000000149011612.
        ColumnData::Number(v) if column.stored == Some(DataType::Float32) => {
            line.push_field(format!("{:?}", v[i] as f32).as_bytes());
        }
        ColumnData::Number(v) => line.push_field(format!("{:?}", v[i]).as_bytes()),
        ColumnData::Integer(v) => {
            line.push_field(v[i].map(|v| v.to_string()).unwrap_or_default().as_bytes());
        }
        ColumnData::Text(v)
        | ColumnData::Code { text: v, .. }
        | ColumnData::Time(Times { text: v, .. }) => {
            line.push_field(v[i].as_deref().unwrap_or_default().as_bytes());
        }
        ColumnData::Words { words, at } => {
            line.push_field(at[i].map_or("", |at| &words[at as usize]).as_bytes());
        }
        ColumnData::Bool(v) => {
            line.push_field(v[i].map(|v| v.to_string()).unwrap_or_default().as_bytes());
        }
        ColumnData::Ragged { .. } | ColumnData::Other(_) => line.push_field(b""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_and_a_file_without_an_end_are_told_apart() {
        let read = |longest, most| {
            let reached = Rc::new(Cell::new(None));
            let (inner, began) = (io::repeat(b'x'), Rc::new(Cell::new(0)));
            let mut limited =
                Limited { inner, read: 0, longest, most, began, reached: Rc::clone(&reached) };
            let error = io::copy(&mut limited, &mut io::sink());
            assert!(error.is_err());
            reached.get().expect("a limit was reached")
        };
        assert!(matches!(read(1 << 20, u64::MAX), Reached::Line));
        assert!(matches!(read(u64::MAX, 1 << 20), Reached::Size));
    }
}
