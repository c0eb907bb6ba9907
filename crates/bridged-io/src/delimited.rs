//! CSV and TSV: a header, then one line per row; quoted cells, CRLF and a byte-order mark are fine.
//!
//! A first pass finds out what each column holds, a second one fills it, so that no more than the
//! finished table is in memory. A column is
//! - **vectors** if every cell looks like `[0.1, 0.2]` (commas or blanks, as JSON and NumPy print),
//! - **numeric** if every cell is a number; cells that are empty or say `NA`, `N/A`, `null` or
//!   `None` are gaps,
//! - **text** otherwise; empty cells are gaps.

use crate::Input;
use crate::atomic::{Sink, WriteError};
use crate::error::TableError;
use crate::format::{Format, Layout};
use crate::pairs::from_cells;
use crate::table::{Column, ColumnData, Table, Times};
use crate::vectors::VectorBuilder;
use arrow_schema::DataType;
use csv::ByteRecord;
use std::io::{BufReader, Seek};

/// CSV in the list of formats.
pub(crate) const CSV: Format = Format {
    name: "CSV",
    extensions: &["csv"],
    about: "Text with commas and a header; one column per entry, or vectors as [0.1, 0.2].",
    layout: Layout::Text,
    beginnings: &[],
    never_text: false,
    reads: true,
    read: |input| read(input, b','),
    read_pairs: |input| from_cells(input.path, read_cells(input, b',')?),
    write: |sink, table| write(sink, table, b','),
    write_pieces: None,
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
    read: |input| read(input, b'\t'),
    read_pairs: |input| from_cells(input.path, read_cells(input, b'\t')?),
    write: |sink, table| write(sink, table, b'\t'),
    write_pieces: None,
};

fn read(input: &Input<'_>, separator: u8) -> Result<Table, TableError> {
    let mut header = Vec::new();
    let mut guesses: Vec<Guess> = Vec::new();
    let mut rows = 0;
    let mut odd = None;
    records(input, separator, |cells| {
        if header.is_empty() {
            header = cells.iter().map(|name| name.trim().to_owned()).collect();
            guesses = header.iter().map(|_| Guess::default()).collect();
            return;
        }
        if rows == 0 && header.len() == 1 {
            odd = other_separator(&header[0], cells[0], separator);
        }
        for (guess, cell) in guesses.iter_mut().zip(cells) {
            guess.see(cell.trim());
        }
        rows += 1;
    })?;
    if let Some(found) = odd {
        let expected = if separator == b',' { "a comma" } else { "a tab" };
        return Err(TableError::Separator { path: input.path.to_path_buf(), found, expected });
    }
    let mut fills: Vec<Fill> = guesses.iter().map(|guess| guess.fill(rows)).collect();
    let mut first = true;
    records(input, separator, |cells| {
        if !std::mem::take(&mut first) {
            for (fill, cell) in fills.iter_mut().zip(cells) {
                fill.push(cell);
            }
        }
    })?;
    let columns: Vec<Column> = (header.into_iter().zip(fills))
        .map(|(name, fill)| Column::new(name, fill.finish()))
        .collect();
    // A file that grew between the passes has columns of one length still, but of another.
    let mut table = Table::new(input.path, columns)?;
    if table.columns.iter().all(|c| c.data.len().is_none()) {
        table = Table::with_rows(table.source, table.columns, rows);
    }
    Ok(table)
}

/// The cells as they are, the header's among them: one vector per column.
fn read_cells(input: &Input<'_>, separator: u8) -> Result<Vec<Vec<String>>, TableError> {
    let mut columns: Vec<Vec<String>> = Vec::new();
    records(input, separator, |cells| {
        columns.resize(cells.len(), Vec::new());
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell.trim().to_owned());
        }
    })?;
    Ok(columns)
}

/// Calls `each` with the cells of the header and of every line; all have one length.
fn records(
    input: &Input<'_>,
    separator: u8,
    mut each: impl FnMut(&[&str]),
) -> Result<(), TableError> {
    let path = || input.path.to_path_buf();
    let unreadable = |source| TableError::Unreadable { path: path(), source };
    let mut file = input.file;
    file.rewind().map_err(unreadable)?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .from_reader(BufReader::new(file));
    let mut record = ByteRecord::new();
    let mut expected = None;
    while reader.read_byte_record(&mut record).map_err(|e| unreadable(e.into()))? {
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
        each(&cells);
    }
    Ok(())
}

/// A separator that both lines of a table of one column contain.
fn other_separator(header: &str, row: &str, separator: u8) -> Option<&'static str> {
    let candidates = [(b';', ";", "semicolons"), (b'\t', "\t", "tabs"), (b',', ",", "commas")];
    // A list such as `[1, 2]` has commas of its own.
    let fits = |c: &str| header.contains(c) && row.contains(c) && !row.trim().starts_with('[');
    candidates.iter().find(|(byte, c, _)| *byte != separator && fits(c)).map(|&(_, _, name)| name)
}

/// What the cells of a column have had in common so far.
struct Guess {
    any: bool,
    list: bool,
    number: bool,
    integer: bool,
    /// Every whole number is spelled as it would be printed.
    plain: bool,
}

impl Default for Guess {
    fn default() -> Self {
        Self { any: false, list: true, number: true, integer: true, plain: true }
    }
}

impl Guess {
    fn see(&mut self, cell: &str) {
        if cell.is_empty() || (!self.list && !self.number) {
            return;
        }
        if self.list && parse_list(cell, |_| ()).is_none() {
            self.list = is_gap(cell);
        }
        if self.number && !is_gap(cell) {
            self.any = true;
            let digits = cell.strip_prefix(['-', '+']).unwrap_or(cell);
            if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
                self.plain &= cell.parse::<i64>().is_ok_and(|v| v.to_string() == cell);
            } else {
                self.integer = false;
                self.number = cell.parse::<f64>().is_ok();
            }
        }
    }

    fn fill(&self, rows: usize) -> Fill {
        match self {
            Self { any: false, .. } => Fill::Text(Vec::with_capacity(rows)),
            Self { list: true, .. } => Fill::List(VectorBuilder::default(), Vec::new()),
            Self { number: false, .. } => Fill::Text(Vec::with_capacity(rows)),
            Self { integer: false, .. } => Fill::Number(Vec::with_capacity(rows)),
            Self { plain: true, .. } => Fill::Integer(Vec::with_capacity(rows)),
            _ => Fill::Code(Vec::with_capacity(rows), Vec::with_capacity(rows)),
        }
    }
}

/// A column that is being filled. A cell that does not fit what the first pass saw (the file has
/// changed meanwhile) becomes a gap.
enum Fill {
    List(VectorBuilder, Vec<f32>),
    Number(Vec<f64>),
    Integer(Vec<Option<i64>>),
    Code(Vec<Option<String>>, Vec<f64>),
    Text(Vec<Option<String>>),
}

impl Fill {
    fn push(&mut self, raw: &str) {
        let cell = raw.trim();
        let text = |cell: &str| (!cell.is_empty()).then(|| cell.to_owned());
        match self {
            Self::List(builder, row) => {
                row.clear();
                match parse_list(cell, |v| row.push(v)) {
                    Some(()) => builder.push(row),
                    None => builder.push_null(),
                }
            }
            Self::Number(v) => v.push(cell.parse().unwrap_or(f64::NAN)),
            Self::Integer(v) => v.push(cell.parse().ok()),
            Self::Code(texts, numbers) => {
                texts.push(text(cell).filter(|cell| !is_gap(cell)));
                numbers.push(cell.parse().unwrap_or(f64::NAN));
            }
            Self::Text(v) => v.push(text(raw)),
        }
    }

    fn finish(self) -> ColumnData {
        match self {
            Self::List(builder, _) => builder.finish(),
            Self::Number(v) => ColumnData::Number(v),
            Self::Integer(v) => ColumnData::Integer(v),
            Self::Code(text, numbers) => ColumnData::Code { text, numbers },
            Self::Text(v) => ColumnData::Text(v),
        }
    }
}

/// A word that stands for no number.
fn is_gap(cell: &str) -> bool {
    ["na", "n/a", "null", "none"].iter().any(|gap| cell.eq_ignore_ascii_case(gap))
}

/// The numbers of `[0.1, 0.2]` or `[0.1 0.2]`; nothing if the cell is anything else.
fn parse_list(cell: &str, mut each: impl FnMut(f32)) -> Option<()> {
    let inner = cell.strip_prefix('[')?.strip_suffix(']')?;
    for part in inner.split([',', ' ', '\t', '\n', '\r']).filter(|part| !part.is_empty()) {
        each(if is_gap(part) { f32::NAN } else { part.parse::<f64>().ok()? as f32 });
    }
    Some(())
}

fn write(sink: &mut Sink<'_>, table: &Table, separator: u8) -> Result<(), WriteError> {
    let failed = |e: csv::Error| WriteError::Failed(Box::new(e));
    let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(sink);
    let mut header = Vec::new();
    for column in &table.columns {
        match &column.data {
            ColumnData::Vector(m) | ColumnData::OptionalVector { values: m, .. } => {
                header.extend((0..m.cols()).map(|j| format!("{}_{j}", column.name)));
            }
            _ => header.push(column.name.clone()),
        }
    }
    let mut sorted: Vec<&str> = header.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
        return Err(WriteError::Refused(format!("two columns would be called `{}`", twice[0])));
    }
    writer.write_record(&header).map_err(failed)?;
    let mut line = ByteRecord::new();
    for i in 0..table.rows() {
        line.clear();
        for column in &table.columns {
            push_cells(&mut line, column, i);
        }
        writer.write_byte_record(&line).map_err(failed)?;
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
        ColumnData::Bool(v) => {
            line.push_field(v[i].map(|v| v.to_string()).unwrap_or_default().as_bytes());
        }
        ColumnData::Ragged { .. } | ColumnData::Other(_) => line.push_field(b""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(cells: &[&str]) -> &'static str {
        let mut guess = Guess::default();
        cells.iter().for_each(|cell| guess.see(cell));
        match guess.fill(0) {
            Fill::List(..) => "list",
            Fill::Number(_) => "number",
            Fill::Integer(_) => "integer",
            Fill::Code(..) => "code",
            Fill::Text(_) => "text",
        }
    }

    #[test]
    fn a_column_is_what_all_its_cells_are() {
        assert_eq!(kind(&["1", "-2", ""]), "integer");
        assert_eq!(kind(&["1", "2.0", "NA"]), "number");
        assert_eq!(kind(&["1e5", "nan", "inf"]), "number");
        assert_eq!(kind(&["007", "12"]), "code");
        assert_eq!(kind(&["18446744073709551615"]), "code");
        assert_eq!(kind(&["1", "x"]), "text");
        assert_eq!(kind(&["", ""]), "text");
        assert_eq!(kind(&["None", "null"]), "text");
        assert_eq!(kind(&["[1, 2]", "", "[3 4]"]), "list");
        assert_eq!(kind(&["[1, 2]", "3"]), "text");
        assert_eq!(kind(&["[[1], [2]]"]), "text");
        assert_eq!(kind(&["[0.1 ... 0.9]"]), "text");
        assert_eq!(kind(&["true", "false"]), "text");
        assert_eq!(kind(&["-"]), "text");
    }

    #[test]
    fn a_list_may_be_written_by_json_or_by_numpy() {
        let parse = |cell: &str| {
            let mut row = Vec::new();
            parse_list(cell, |v| row.push(v)).map(|()| row)
        };
        assert_eq!(parse("[0.5, -1e3]"), Some(vec![0.5, -1000.0]));
        assert_eq!(parse("[ 0.5\n -2. ]"), Some(vec![0.5, -2.0]));
        assert_eq!(parse("[]"), Some(vec![]));
        assert!(parse("[null]").unwrap()[0].is_nan());
        assert_eq!(parse("[a]"), None);
        assert_eq!(parse("["), None);
    }
}
