//! npy, the format of one NumPy array: a magic number, a Python dictionary as text, the numbers.
//!
//! Reads two dimensions (rows × entries) and one (rows × 1) of floats, integers and truth values in
//! either byte order and either memory order, straight into the matrix. The header is parsed here
//! rather than by a Python-literal parser: its three keys are all there is to know, no nesting in a
//! crafted header can exhaust the stack, and pickled objects are refused, never loaded.

use crate::Input;
use crate::atomic::{Sink, WriteError};
use crate::error::{TableError, list};
use crate::format::{Format, Layout};
use crate::pairs::{PairsTable, vector_pairs};
use crate::pass::{Each, Pass, Schema, Survey, runs};
use crate::room::require;
use crate::table::{Column, ColumnData, Table};
use crate::vectors::DoubleRows;
use bridged_math::Matrix;
use bridged_math::cancel::checkpoint;
use half::f16;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

const NAME: &str = "npy";

/// In the list of formats.
pub(crate) const FORMAT: Format = Format {
    name: NAME,
    extensions: &["npy"],
    about: "One NumPy array of numbers, one vector per row; no ids, no texts.",
    layout: Layout::Array,
    beginnings: &[(b"\x93NUMPY", NAME)],
    never_text: true,
    reads: true,
    asks_for_ranges: false,
    read,
    read_pairs,
    peek: |_| Ok(Vec::new()),
    survey,
    pass,
    write,
    write_pieces: None,
    write_stream: None,
};

/// The name of the only column of an npy table.
pub(crate) const COLUMN: &str = "value";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Float,
    Int,
    Uint,
    Bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Header {
    kind: Kind,
    size: usize,
    big_endian: bool,
    fortran: bool,
    rows: usize,
    cols: usize,
}

impl Header {
    /// Whether `f32` holds every number exactly.
    fn fits_single(&self) -> bool {
        match self.kind {
            Kind::Float => self.size <= 4,
            Kind::Int | Kind::Uint => self.size <= 2,
            Kind::Bool => true,
        }
    }
}

/// Reads an npy file as a table of one vector column.
fn read(input: &Input<'_>) -> Result<Table, TableError> {
    let damaged = |detail: String| input.damaged(NAME, detail);
    let mut reader = BufReader::with_capacity(1 << 16, input.file);
    let (header, start) = read_header(&mut reader).map_err(damaged)?;
    let Header { rows, cols, .. } = header;
    check_size(&header, input.len.saturating_sub(start)).map_err(damaged)?;
    let entry = if header.fits_single() { 4 } else { 8 };
    // Rows without an id are numbered.
    let bytes = (rows as u64).saturating_mul((cols as u64).saturating_mul(entry) + 32);
    require(input.path, rows as u64, bytes)?;
    let data = if header.fits_single() {
        let data = load(&mut reader, &header, |v| v as f32).map_err(damaged)?;
        let values = Matrix::new(rows, cols, data).map_err(|e| damaged(e.to_string()))?;
        ColumnData::Vector(values)
    } else {
        let data = load(&mut reader, &header, |v| v).map_err(damaged)?;
        let values = DoubleRows::new(rows, cols, data).expect("one number per entry was read");
        ColumnData::DoubleVector { values, valid: Vec::new() }
    };
    let column = Column::new(COLUMN, data);
    Ok(Table::with_rows(input.path.to_path_buf(), vec![column], rows))
}

/// What the header says.
fn survey(input: &Input<'_>) -> Result<Survey, TableError> {
    let (header, _) = checked_header(input)?;
    let Header { rows, cols, .. } = header;
    let single = header.fits_single();
    let entry = if single { 4 } else { 8 };
    let bytes = (rows as u64).saturating_mul((cols as u64).saturating_mul(entry) + 32);
    Ok(Survey { schema: Schema::Array { cols, single }, rows, bytes })
}

/// The header of a file that is as long as it says, and where the numbers begin.
fn checked_header(input: &Input<'_>) -> Result<(Header, u64), TableError> {
    let damaged = |detail: String| input.damaged(NAME, detail);
    let mut file = input.file;
    let unreadable = |source| TableError::Unreadable { path: input.path.to_path_buf(), source };
    file.rewind().map_err(unreadable)?;
    let (header, start) =
        read_header(&mut BufReader::with_capacity(1 << 12, file)).map_err(damaged)?;
    check_size(&header, input.len.saturating_sub(start)).map_err(damaged)?;
    Ok((header, start))
}

/// Reads slices of rows.
fn pass(
    input: &Input<'_>,
    schema: &Schema,
    pass: Pass<'_>,
    each: &mut Each<'_>,
) -> Result<(), TableError> {
    let (header, start) = checked_header(input)?;
    let single = matches!(schema, Schema::Array { single: true, .. }) && header.fits_single();
    let wanted: Vec<Range<usize>> = match pass.only {
        Some(only) => runs(only).collect(),
        None => std::iter::once(0..header.rows).collect(),
    };
    for range in wanted {
        for first in range.clone().step_by(pass.rows.max(1)) {
            checkpoint();
            let rows = first..(first + pass.rows.max(1)).min(range.end);
            let count = rows.len();
            let slice = Slice { header: &header, file: input.file, start, rows };
            let failed = |e: io::Error| input.damaged(NAME, e.to_string());
            let data = if single {
                let data = slice.load(|v| v as f32).map_err(failed)?;
                let values = Matrix::new(count, header.cols, data);
                ColumnData::Vector(values.expect("one number per entry was read"))
            } else {
                let data = slice.load(|v| v).map_err(failed)?;
                let values = DoubleRows::new(count, header.cols, data);
                let values = values.expect("one number per entry was read");
                ColumnData::DoubleVector { values, valid: Vec::new() }
            };
            let columns = vec![Column::new(COLUMN, data)];
            each(Table::with_rows(input.path.to_path_buf(), columns, count))?;
        }
    }
    Ok(())
}

/// Some rows of an array in a file.
struct Slice<'a> {
    header: &'a Header,
    file: &'a File,
    /// Where the numbers begin.
    start: u64,
    rows: Range<usize>,
}

impl Slice<'_> {
    /// Their numbers, row by row.
    fn load<T: Copy + Default>(&self, convert: fn(f64) -> T) -> io::Result<Vec<T>> {
        let &Header { rows, cols, size, fortran, .. } = self.header;
        let held = self.rows.len();
        if !fortran {
            let bytes = self.read(self.rows.start * cols, held * cols)?;
            let mut data = Vec::with_capacity(held * cols);
            decode(self.header, &bytes, |v| data.push(convert(v)));
            return Ok(data);
        }
        // Column by column in the file.
        let mut data = vec![T::default(); held * cols];
        let mut bytes = vec![0; held * size];
        for j in 0..cols {
            self.read_into(j * rows + self.rows.start, &mut bytes)?;
            let mut i = 0;
            decode(self.header, &bytes, |v| {
                data[i * cols + j] = convert(v);
                i += 1;
            });
        }
        Ok(data)
    }

    fn read(&self, first: usize, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count * self.header.size];
        self.read_into(first, &mut bytes)?;
        Ok(bytes)
    }

    fn read_into(&self, first: usize, bytes: &mut [u8]) -> io::Result<()> {
        let mut file = self.file;
        file.seek(SeekFrom::Start(self.start + first as u64 * self.header.size as u64))?;
        file.read_exact(bytes)
    }
}

/// Reads an n × 2 array of whole numbers as pairs; in `f64`, since ids need more than 24 bits.
fn read_pairs(input: &Input<'_>) -> Result<PairsTable, TableError> {
    let damaged = |detail: String| input.damaged(NAME, detail);
    let mut reader = BufReader::with_capacity(1 << 16, input.file);
    let (header, start) = read_header(&mut reader).map_err(damaged)?;
    check_size(&header, input.len.saturating_sub(start)).map_err(damaged)?;
    let (rows, cols) = (header.rows as u64, header.cols);
    require(input.path, rows, rows.saturating_mul(16 * cols as u64))?;
    if cols != 2 {
        let known = format!("{cols} columns");
        return Err(TableError::NotPairs { path: input.path.to_path_buf(), known });
    }
    let data = load(&mut reader, &header, |v| v).map_err(damaged)?;
    vector_pairs(input.path, data.into_iter())
}

/// That the file holds as many numbers as its header says.
fn check_size(header: &Header, held: u64) -> Result<(), String> {
    let Header { rows, cols, size, .. } = header;
    // Two sides of 64 bits fit into 128, but not times the size of an entry.
    let needed = ((*rows as u128) * (*cols as u128)).checked_mul(*size as u128);
    let needed = needed.ok_or_else(|| format!("its header claims {rows} × {cols} entries"))?;
    if *rows > 0 && *cols == 0 {
        return Err(format!("its header claims {rows} rows without entries"));
    }
    if u128::from(held) < needed {
        return Err(format!(
            "it is cut off: {rows} × {cols} entries need {needed} bytes, it holds {held}"
        ));
    }
    if u128::from(held) > needed {
        return Err(format!(
            "it holds {held} bytes of numbers, but {rows} × {cols} entries are only {needed}"
        ));
    }
    Ok(())
}

fn load<T: Copy + Default>(
    reader: &mut impl Read,
    header: &Header,
    convert: fn(f64) -> T,
) -> Result<Vec<T>, String> {
    let &Header { rows, cols, size, .. } = header;
    let total = rows * cols;
    let mut data = vec![T::default(); total];
    let mut buffer = vec![0u8; size * (1 << 14)];
    let mut done = 0;
    while done < total {
        checkpoint();
        let count = (total - done).min(1 << 14);
        let bytes = &mut buffer[..count * size];
        reader.read_exact(bytes).map_err(|e| e.to_string())?;
        let mut at = done;
        decode(header, bytes, |v| {
            let place = if header.fortran { (at % rows) * cols + at / rows } else { at };
            data[place] = convert(v);
            at += 1;
        });
        done += count;
    }
    Ok(data)
}

/// The header and the offset of the first number.
fn read_header(reader: &mut impl Read) -> Result<(Header, u64), String> {
    let mut take = |n: usize| -> Result<Vec<u8>, String> {
        let mut bytes = vec![0u8; n];
        reader.read_exact(&mut bytes).map_err(|_| "its header is cut off".to_owned())?;
        Ok(bytes)
    };
    let start = take(8)?;
    if &start[..6] != b"\x93NUMPY" {
        return Err("it does not begin like one".to_owned());
    }
    let (text_len, start) = match start[6] {
        1 => {
            let len = take(2)?;
            (usize::from(u16::from_le_bytes([len[0], len[1]])), 10)
        }
        2 | 3 => {
            let len = take(4)?;
            (u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize, 12)
        }
        version => return Err(format!("version {version} of the format is not known")),
    };
    // NumPy itself stops at 10,000 characters.
    if text_len > 1 << 20 {
        return Err(format!("its header claims {text_len} bytes"));
    }
    let text = String::from_utf8(take(text_len)?).map_err(|_| "its header is not text")?;
    Ok((parse_header(&text)?, (start + text_len) as u64))
}

fn parse_header(text: &str) -> Result<Header, String> {
    let value = |key: &str| -> Result<&str, String> {
        let quoted = [format!("'{key}'"), format!("\"{key}\"")];
        let after = quoted.iter().find_map(|q| text.split_once(q.as_str())).map(|(_, rest)| rest);
        let after = after.and_then(|rest| rest.trim_start().strip_prefix(':'));
        after.map(str::trim_start).ok_or_else(|| format!("its header has no `{key}`"))
    };
    let (kind, size, big_endian) = parse_type(value("descr")?)?;
    let fortran = match value("fortran_order")? {
        v if v.starts_with("False") => false,
        v if v.starts_with("True") => true,
        _ => return Err("its header's `fortran_order` is neither True nor False".to_owned()),
    };
    let shape = value("shape")?.strip_prefix('(').and_then(|v| v.split_once(')'));
    let (shape, _) = shape.ok_or("its header's `shape` is not a tuple")?;
    let sides: Vec<usize> = (shape.split(',').map(str::trim).filter(|s| !s.is_empty()))
        .map(|s| s.trim_end_matches('L').parse())
        .collect::<Result<_, _>>()
        .map_err(|_| format!("its header's `shape` ({shape}) is not a tuple of sizes"))?;
    let (rows, cols) = match sides.as_slice() {
        [rows] => (*rows, 1),
        [rows, cols] => (*rows, *cols),
        sides => {
            return Err(format!(
                "the array has {} dimensions; one vector per row needs 2 (or 1 for single numbers)",
                sides.len()
            ));
        }
    };
    Ok(Header { kind, size, big_endian, fortran, rows, cols })
}

fn parse_type(value: &str) -> Result<(Kind, usize, bool), String> {
    let Some(quoted) = value.strip_prefix(['\'', '"']) else {
        return Err("it is a structured array; save a plain array of numbers".to_owned());
    };
    let name = quoted.split(['\'', '"']).next().unwrap_or_default();
    let (order, rest) = match name.chars().next() {
        Some(c @ ('<' | '>' | '|' | '=')) => (c, &name[1..]),
        _ => ('=', name),
    };
    let big_endian = order == '>' || (order == '=' && cfg!(target_endian = "big"));
    let (kind, size) = match rest {
        "f2" | "f4" | "f8" => (Kind::Float, &rest[1..]),
        "i1" | "i2" | "i4" | "i8" => (Kind::Int, &rest[1..]),
        "u1" | "u2" | "u4" | "u8" => (Kind::Uint, &rest[1..]),
        "b1" => (Kind::Bool, "1"),
        _ => {
            let what = match rest.chars().next() {
                Some('O') => "Python objects, which are never loaded",
                Some('c') => "complex numbers",
                Some('S' | 'U' | 'a' | 'T') => "texts",
                Some('M' | 'm') => "times",
                _ => "entries of an unknown type",
            };
            return Err(format!(
                "it holds {what} (dtype {name}); save it as float32 with `.astype(\"float32\")`"
            ));
        }
    };
    Ok((kind, usize::from(size.as_bytes()[0] - b'0'), big_endian))
}

fn decode(header: &Header, bytes: &[u8], mut out: impl FnMut(f64)) {
    macro_rules! each {
        ($type:ty, $to:expr) => {
            for chunk in bytes.chunks_exact(size_of::<$type>()) {
                let raw = chunk.try_into().expect("a chunk has the size of the type");
                let v = if header.big_endian {
                    <$type>::from_be_bytes(raw)
                } else {
                    <$type>::from_le_bytes(raw)
                };
                #[allow(clippy::redundant_closure_call)] // the closure says how to widen
                out($to(v));
            }
        };
    }
    match (header.kind, header.size) {
        (Kind::Float, 2) => each!(f16, f16::to_f64),
        (Kind::Float, 4) => each!(f32, f64::from),
        (Kind::Float, _) => each!(f64, |v| v),
        (Kind::Int, 1) => each!(i8, f64::from),
        (Kind::Int, 2) => each!(i16, f64::from),
        (Kind::Int, 4) => each!(i32, f64::from),
        (Kind::Int, _) => each!(i64, |v| v as f64),
        (Kind::Uint, 1) => each!(u8, f64::from),
        (Kind::Uint, 2) => each!(u16, f64::from),
        (Kind::Uint, 4) => each!(u32, f64::from),
        (Kind::Uint, _) => each!(u64, |v| v as f64),
        (Kind::Bool, _) => each!(u8, |v| f64::from(u8::from(v != 0))),
    }
}

/// Writes the only column of a table: `<f4` (or `<f8`) for vectors, `<f8` for numbers, `<i8` for whole ones.
fn write(sink: &mut Sink<'_>, table: &Table) -> Result<(), WriteError> {
    let refuse = |what: String| {
        let hint = "write `.parquet`, `.arrow` or `.csv` instead";
        Err(WriteError::Refused(format!("an npy file holds {what}; {hint}")))
    };
    let [column] = table.columns.as_slice() else {
        let names = list(table.columns.iter().map(|c| c.name.as_str()));
        return refuse(format!("one column of vectors or numbers, this table has {names}"));
    };
    let rows = table.rows();
    match &column.data {
        ColumnData::Vector(m) => {
            write_header(sink, "<f4", &format!("({rows}, {})", m.cols()))?;
            write_all(sink, m.data().iter().map(|v| v.to_le_bytes()))
        }
        ColumnData::OptionalVector { values, valid } => {
            write_header(sink, "<f4", &format!("({rows}, {})", values.cols()))?;
            let value =
                |k: usize| if valid[k / values.cols()] { values.data()[k] } else { f32::NAN };
            write_all(sink, (0..values.data().len()).map(|k| value(k).to_le_bytes()))
        }
        ColumnData::DoubleVector { values, valid } => {
            write_header(sink, "<f8", &format!("({rows}, {})", values.cols()))?;
            let numbers = values.iter_rows().enumerate().flat_map(|(i, row)| {
                let valid = valid.get(i).is_none_or(|valid| *valid);
                row.iter().map(move |&v| if valid { v } else { f64::NAN })
            });
            write_all(sink, numbers.map(f64::to_le_bytes))
        }
        ColumnData::Number(v) => {
            write_header(sink, "<f8", &format!("({rows},)"))?;
            write_all(sink, v.iter().map(|v| v.to_le_bytes()))
        }
        ColumnData::Integer(v) if v.iter().all(Option::is_some) => {
            write_header(sink, "<i8", &format!("({rows},)"))?;
            write_all(sink, v.iter().flatten().map(|v| v.to_le_bytes()))
        }
        ColumnData::Integer(_) => refuse("no gaps between whole numbers".to_owned()),
        other => refuse(format!("vectors or numbers, `{}` holds {}", column.name, other.kind())),
    }
}

fn write_header(sink: &mut Sink<'_>, descr: &str, shape: &str) -> Result<(), WriteError> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // Numbers begin at a multiple of 64 so that they can be mapped into memory.
    let padded = (10 + text.len() + 1).next_multiple_of(64) - 10;
    sink.write_all(b"\x93NUMPY\x01\x00")?;
    sink.write_all(&(padded as u16).to_le_bytes())?;
    sink.write_all(format!("{text:<width$}\n", width = padded - 1).as_bytes())?;
    Ok(())
}

fn write_all<const N: usize>(
    sink: &mut Sink<'_>,
    numbers: impl Iterator<Item = [u8; N]>,
) -> Result<(), WriteError> {
    let mut buffer = Vec::with_capacity(1 << 16);
    for bytes in numbers {
        buffer.extend_from_slice(&bytes);
        if buffer.len() + N > 1 << 16 {
            sink.write_all(&buffer)?;
            buffer.clear();
        }
    }
    sink.write_all(&buffer)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_numpy_writes_is_understood() {
        let text = "{'descr': '>f8', 'fortran_order': True, 'shape': (3, 4), }   \n";
        let header = parse_header(text).unwrap();
        let expected = Header {
            kind: Kind::Float,
            size: 8,
            big_endian: true,
            fortran: true,
            rows: 3,
            cols: 4,
        };
        assert_eq!(header, expected);
    }

    #[test]
    fn what_is_not_an_array_of_numbers_is_named() {
        let error = |descr: &str, shape: &str| {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
            parse_header(&text).unwrap_err()
        };
        assert!(error("'|O'", "(3,)").contains("Python objects, which are never loaded"));
        assert!(error("'<c16'", "(3,)").contains("complex numbers"));
        assert!(error("'<U5'", "(3,)").contains("texts"));
        assert!(error("'<M8[ns]'", "(3,)").contains("times"));
        assert!(error("[('a', '<f4')]", "(3,)").contains("structured"));
        assert!(error("'<f4'", "(3, 4, 5)").contains("3 dimensions"));
        assert!(error("'<f4'", "()").contains("0 dimensions"));
        assert!(error("'<f4'", "(-1, 2)").contains("not a tuple of sizes"));
        assert!(error("'<f4'", "3").contains("not a tuple"));
    }
}
