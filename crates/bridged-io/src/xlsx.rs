//! Excel workbooks, written and not read: one sheet with a header.
//!
//! Texts are written as texts, so none becomes a formula; numbers, truth values, dates and times are what they are.
//! What Excel would round (whole numbers of more than 15 digits, instants finer than a millisecond) is written as
//! text. What a sheet cannot hold is an error. Rows go to a temporary file one by one, so a large table needs no more
//! memory than it has already.

use crate::Input;
use crate::atomic::{Sink, WriteError};
use crate::error::TableError;
use crate::format::{Format, Layout};
use crate::pairs::PairsTable;
use crate::table::{Column, ColumnData, Table, Times};
use arrow_schema::DataType;
use bridged::columns::ColumnKind;
use bridged_math::words::count;
use rust_xlsxwriter::{
    DocProperties, ExcelDateTime, Format as Style, Workbook, Worksheet, XlsxError,
};
use std::io::Read;
use zip::ZipArchive;

const NAME: &str = "Excel";

/// In the list of formats.
pub(crate) const FORMAT: Format = Format {
    name: NAME,
    extensions: &["xlsx"],
    about: "Excel workbooks, written and not read; texts are never formulas.",
    layout: Layout::Sheet,
    beginnings: &[],
    never_text: true,
    reads: false,
    asks_for_ranges: false,
    read,
    read_pairs,
    peek,
    survey: |input| Err(unread(input)),
    pass: |input, _, _, _| Err(unread(input)),
    write,
    write_pieces: None,
    write_stream: None,
};

/// Rows of a sheet, the header among them.
const ROWS: usize = 1_048_576;

/// Columns of a sheet.
const COLUMNS: usize = 16_384;

/// As much of a sheet as is looked at for its header.
const HEADER: u64 = 1 << 20;

/// Characters of a cell, counted as UTF-16 does.
const CHARACTERS: usize = 32_767;

/// Excel holds 15 digits of a number.
const EXACT: i64 = 999_999_999_999_999;

fn unread(input: &Input<'_>) -> TableError {
    input.damaged(NAME, "workbooks are written, not read".to_owned())
}

fn read(input: &Input<'_>) -> Result<Table, TableError> {
    Err(unread(input))
}

fn read_pairs(input: &Input<'_>) -> Result<PairsTable, TableError> {
    Err(unread(input))
}

/// The header of a workbook as [`write`] makes it. Excel itself keeps texts elsewhere, so a workbook that somebody has
/// saved in it gives no columns.
fn peek(input: &Input<'_>) -> Result<crate::Columns, TableError> {
    let damaged = |detail: String| input.damaged(NAME, detail);
    let mut archive = ZipArchive::new(input.file).map_err(|e| damaged(e.to_string()))?;
    let sheet = archive.by_name("xl/worksheets/sheet1.xml").map_err(|e| damaged(e.to_string()))?;
    let mut bytes = Vec::new();
    sheet.take(HEADER).read_to_end(&mut bytes).map_err(|e| damaged(e.to_string()))?;
    let text = String::from_utf8_lossy(&bytes);
    let row = text.split_once("<row ").and_then(|(_, rest)| rest.split_once("</row>"));
    let cells = row.map_or("", |(cells, _)| cells).split("<is><t").skip(1);
    let name = |cell: &str| {
        let name = cell.split_once('>')?.1.split_once("</t>")?.0;
        let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
        Some(plain.iter().fold(name.to_owned(), |name, (from, to)| name.replace(from, to)))
    };
    Ok(cells.filter_map(name).map(|name| (name, ColumnKind::Text)).collect())
}

fn write(sink: &mut Sink<'_>, table: &Table) -> Result<(), WriteError> {
    let header = table.flat_names();
    check(table, &header)?;
    let bytes = workbook(table, &header).map_err(|e| WriteError::Failed(Box::new(e)))?;
    sink.write_all(&bytes)?;
    Ok(())
}

/// Refuses what a sheet cannot hold.
fn check(table: &Table, header: &[String]) -> Result<(), WriteError> {
    let instead = "write `.parquet` or `.csv` instead";
    let refuse = |reason: String| Err(WriteError::Refused(format!("{reason}; {instead}")));
    let (rows, columns) = (table.rows(), header.len());
    if rows >= ROWS {
        return refuse(format!(
            "a sheet of Excel holds {} rows below its header, this table has {}",
            count(ROWS - 1),
            count(rows)
        ));
    }
    if columns > COLUMNS {
        return refuse(format!(
            "a sheet of Excel holds {} columns, this table has {}",
            count(COLUMNS),
            count(columns)
        ));
    }
    let long = |text: &str| text.len() > CHARACTERS && text.encode_utf16().count() > CHARACTERS;
    if header.iter().any(|name| long(name)) {
        return refuse(format!("a cell of Excel holds {CHARACTERS} characters, a name has more"));
    }
    for column in &table.columns {
        let (ColumnData::Text(cells) | ColumnData::Code { text: cells, .. }) = &column.data else {
            continue;
        };
        if let Some(row) = cells.iter().position(|cell| cell.as_deref().is_some_and(long)) {
            return refuse(format!(
                "a cell of Excel holds {CHARACTERS} characters, row {row} (counted from 0) of \
                 column `{}` has more",
                column.name
            ));
        }
    }
    Ok(())
}

/// How dates, times of day and instants are shown.
struct Styles {
    date: Style,
    time: Style,
    instant: Style,
}

fn workbook(table: &Table, header: &[String]) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    // Equal tables give equal bytes, whenever they are written.
    let epoch = ExcelDateTime::from_ymd(2000, 1, 1)?;
    workbook.set_properties(&DocProperties::new().set_creation_datetime(&epoch));
    let sheet = workbook.add_worksheet_with_constant_memory()?;
    sheet.set_freeze_panes(1, 0)?;
    let bold = Style::new().set_bold();
    for (at, name) in header.iter().enumerate() {
        sheet.write_string_with_format(0, at as u16, name, &bold)?;
    }
    let styles = Styles {
        date: Style::new().set_num_format("yyyy-mm-dd"),
        time: Style::new().set_num_format("hh:mm:ss"),
        instant: Style::new().set_num_format("yyyy-mm-dd hh:mm:ss"),
    };
    for i in 0..table.rows() {
        let mut at = 0;
        for column in &table.columns {
            at += write_cells(sheet, (i as u32 + 1, at), column, i, &styles)?;
        }
    }
    workbook.save_to_buffer()
}

/// Writes what a column has in row `i`; gives the number of cells.
fn write_cells(
    sheet: &mut Worksheet,
    (row, at): (u32, u16),
    column: &Column,
    i: usize,
    styles: &Styles,
) -> Result<u16, XlsxError> {
    match &column.data {
        ColumnData::Vector(m) | ColumnData::OptionalVector { values: m, .. } => {
            let valid = match &column.data {
                ColumnData::OptionalVector { valid, .. } => valid[i],
                _ => true,
            };
            for (j, &v) in m.row(i).iter().enumerate().filter(|_| valid) {
                number(sheet, (row, at + j as u16), single(v))?;
            }
            return Ok(m.cols() as u16);
        }
        ColumnData::DoubleVector { values, valid } => {
            let valid = valid.get(i).is_none_or(|valid| *valid);
            let numbers = values.slice(i..i + 1).into_iter().enumerate();
            for (j, v) in numbers.filter(|_| valid) {
                number(sheet, (row, at + j as u16), v)?;
            }
            return Ok(values.cols() as u16);
        }
        ColumnData::Number(v) if column.stored == Some(DataType::Float32) => {
            number(sheet, (row, at), single(v[i] as f32))?;
        }
        ColumnData::Number(v) => number(sheet, (row, at), v[i])?,
        ColumnData::Integer(v) => match v[i] {
            Some(v) if v.abs() <= EXACT => {
                sheet.write_number(row, at, v as f64)?;
            }
            Some(v) => {
                sheet.write_string(row, at, v.to_string())?;
            }
            None => {}
        },
        ColumnData::Bool(v) => {
            if let Some(v) = v[i] {
                sheet.write_boolean(row, at, v)?;
            }
        }
        ColumnData::Time(Times { text, .. }) => {
            if let Some(text) = &text[i] {
                time(sheet, (row, at), text, styles)?;
            }
        }
        ColumnData::Text(v) | ColumnData::Code { text: v, .. } => {
            if let Some(text) = v[i].as_deref().filter(|text| !text.is_empty()) {
                sheet.write_string(row, at, text)?;
            }
        }
        ColumnData::Words { words, at: cells } => {
            if let Some(word) = cells[i] {
                sheet.write_string(row, at, &words[word as usize])?;
            }
        }
        ColumnData::Ragged { .. } | ColumnData::Other(_) => {}
    }
    Ok(1)
}

/// The double that is written like the single: 0.1, not 0.10000000149011612.
fn single(v: f32) -> f64 {
    v.to_string().parse().unwrap_or_else(|_| f64::from(v))
}

/// NaN is an empty cell; infinity, which Excel does not know, is a text.
fn number(sheet: &mut Worksheet, (row, at): (u32, u16), v: f64) -> Result<(), XlsxError> {
    if v.is_finite() {
        sheet.write_number(row, at, v)?;
    } else if !v.is_nan() {
        sheet.write_string(row, at, v.to_string())?;
    }
    Ok(())
}

/// A date or time where Excel can hold it to its last digit, else its text.
fn time(
    sheet: &mut Worksheet,
    (row, at): (u32, u16),
    text: &str,
    styles: &Styles,
) -> Result<(), XlsxError> {
    let digits = text.split_once('.').map_or("", |(_, rest)| rest.trim_end_matches('Z'));
    let style = match (text.contains('-'), text.contains(':')) {
        (true, true) => &styles.instant,
        (true, false) => &styles.date,
        _ => &styles.time,
    };
    let known = text.starts_with(|c: char| c.is_ascii_digit()) && digits.len() <= 3;
    match known.then(|| ExcelDateTime::parse_from_str(text)) {
        Some(Ok(time)) => {
            sheet.write_datetime_with_format(row, at, &time, style)?;
        }
        _ => {
            sheet.write_string(row, at, text)?;
        }
    }
    Ok(())
}
