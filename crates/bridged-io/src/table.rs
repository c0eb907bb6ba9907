//! A table: named columns of one length, with the file they came from.
//!
//! A cell is a vector, a number, a truth value, a time or a text. What a file holds beyond that is kept
//! as a name of its type only, so that a table with pictures in it can still be used for its vectors.

use crate::error::{TableError, list};
use crate::vectors::DoubleRows;
use arrow_array::{ArrayRef, UInt64Array};
use arrow_schema::DataType;
use arrow_select::take::take;
use bridged::TextColumn;
use bridged::columns::ColumnKind;
use bridged::offset::Offset;
use bridged_math::Matrix;
use std::path::PathBuf;

/// Columns of one length and where they came from.
#[derive(Clone, Debug)]
pub struct Table {
    /// The file, for error messages.
    pub source: PathBuf,
    /// The columns in the order of the file.
    pub columns: Vec<Column>,
    /// What to know about how it was read, each in a sentence.
    pub notes: Vec<String>,
    /// Whether the types of its columns are guessed from their cells, as of a text file.
    pub(crate) guessed: bool,
    /// The files that it was put together from, each with its first row; none if it is one file.
    pub(crate) parts: Vec<(usize, PathBuf)>,
    /// The number of its first row in `source`.
    pub(crate) first: usize,
    rows: usize,
}

/// A named column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name; may be empty for a column without one.
    pub name: String,
    /// Its cells.
    pub data: ColumnData,
    /// The type that its file gave the cells, if it is narrower than `data`: numbers of a `float32`
    /// column are written as such again.
    pub(crate) stored: Option<DataType>,
    /// Whether the name of a folder gives its cells, as in `date=2026-01-01`.
    pub(crate) of_folder: bool,
}

/// The cells of a column.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ColumnData {
    /// A vector in every row; entries may be NaN or infinite until [`Table::into_pool`] has looked.
    Vector(Matrix),
    /// A vector in some rows, as for predictions that abstain.
    OptionalVector {
        /// One row each; those that are not valid mean nothing.
        values: Matrix,
        /// Which rows hold a vector.
        valid: Vec<bool>,
    },
    /// A vector of 64-bit numbers in every row, or in those that are valid.
    DoubleVector {
        /// One row each; those that are not valid mean nothing.
        values: DoubleRows,
        /// Which rows hold a vector; empty if all do.
        valid: Vec<bool>,
    },
    /// Lists that differ in length: readable, but of no use as vectors.
    Ragged {
        /// The first row that differs.
        row: usize,
        /// The length of the rows before it.
        expected: usize,
        /// Its length.
        got: usize,
    },
    /// Real numbers; NaN where there is none.
    Number(Vec<f64>),
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Whole numbers whose spelling matters, such as `007` or more digits than an `i64` holds: the
    /// text is what they are called, the number what they measure (NaN where there is none).
    Code {
        /// As spelled in the file.
        text: Vec<Option<String>>,
        /// As a number.
        numbers: Vec<f64>,
    },
    /// Texts.
    Text(Vec<Option<String>>),
    /// Texts of which there are few, each held once.
    Words {
        /// The texts.
        words: Vec<String>,
        /// The place of each cell's text among them.
        at: Vec<Option<u32>>,
    },
    /// Truth values.
    Bool(Vec<Option<bool>>),
    /// Dates and times.
    Time(Times),
    /// Something else, by the name of its type; it is skipped.
    Other(String),
}

/// Dates, times of day, instants or durations: as texts, and as the file holds them.
#[derive(Clone, Debug)]
pub struct Times {
    /// As texts, in ISO 8601.
    pub text: Vec<Option<String>>,
    /// As Parquet and Arrow hold them, one entry per text.
    pub(crate) cells: ArrayRef,
}

impl Times {
    /// The rows at those places.
    fn keep_rows(&mut self, rows: &[usize]) {
        self.text = rows.iter().map(|&row| self.text[row].clone()).collect();
        let places = UInt64Array::from_iter_values(rows.iter().map(|&row| row as u64));
        self.cells = take(&self.cells, &places, None).expect("the places are those of rows");
    }
}

/// The cells of a column as texts, to be carried along with vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextCells {
    /// Its name.
    pub name: String,
    /// One text per row, none where the cell was empty.
    pub values: Vec<Option<String>>,
}

/// As a model keeps them: empty where there was none.
impl From<TextCells> for TextColumn {
    fn from(TextCells { name, values }: TextCells) -> Self {
        Self { name, values: values.into_iter().map(Option::unwrap_or_default).collect() }
    }
}

impl Table {
    /// A table of columns of one length; `source` is what error messages call it.
    pub fn new(source: impl Into<PathBuf>, columns: Vec<Column>) -> Result<Self, TableError> {
        let mut rows = None;
        for column in &columns {
            let Some(got) = column.data.len() else { continue };
            let expected = *rows.get_or_insert(got);
            if got != expected {
                let column = column.name.clone();
                return Err(TableError::UnequalColumns { column, expected, got });
            }
        }
        let (source, rows) = (source.into(), rows.unwrap_or(0));
        Ok(Self::with_rows(source, columns, rows))
    }

    /// For readers, which know the number of rows even if no column tells it.
    pub(crate) fn with_rows(source: PathBuf, columns: Vec<Column>, rows: usize) -> Self {
        debug_assert!(columns.iter().all(|c| c.data.len().is_none_or(|len| len == rows)));
        let (notes, parts) = (Vec::new(), Vec::new());
        Self { source, columns, notes, guessed: false, parts, first: 0, rows }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The first column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// The same with all vectors in 32 bits.
    pub fn in_singles(mut self) -> Self {
        for column in &mut self.columns {
            if let ColumnData::DoubleVector { values, valid } = &mut column.data {
                let values = std::mem::take(values).into_singles(&Offset::default());
                column.data = match std::mem::take(valid) {
                    valid if valid.is_empty() => ColumnData::Vector(values),
                    valid => ColumnData::OptionalVector { values, valid },
                };
            }
        }
        self
    }

    /// The rows at those places, in that order.
    pub(crate) fn keep_rows(&mut self, rows: &[usize]) {
        self.columns.iter_mut().for_each(|column| column.data.keep_rows(rows));
        self.rows = rows.len();
    }

    /// All columns that can be rendered as text: texts, whole and real numbers, not vectors.
    pub fn text_columns(&self) -> Vec<TextCells> {
        self.columns.iter().filter_map(Column::to_text).collect()
    }

    /// The column names where a vector has a column for each entry: `value_0`, `value_1`, …
    pub(crate) fn flat_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for column in &self.columns {
            match column.data.kind() {
                ColumnKind::List(Some(entries)) => {
                    names.extend((0..entries).map(|j| format!("{}_{j}", column.name)));
                }
                _ => names.push(column.name.clone()),
            }
        }
        names
    }

    /// The file that holds a row, and its number there.
    pub(crate) fn place_of(&self, row: usize) -> (PathBuf, usize) {
        let at = self.parts.partition_point(|(first, _)| *first <= row);
        match at.checked_sub(1).map(|at| &self.parts[at]) {
            Some((first, path)) => (path.clone(), row - first),
            None => (self.source.clone(), self.first + row),
        }
    }

    /// The column names, as a list to show.
    pub(crate) fn known(&self) -> String {
        list(self.columns.iter().map(|c| c.name.as_str()))
    }
}

impl Column {
    /// A column of that name.
    pub fn new(name: impl Into<String>, data: ColumnData) -> Self {
        Self { name: name.into(), data, stored: None, of_folder: false }
    }

    /// The same under another name.
    pub fn renamed(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The cells as texts; none for vectors and for what is skipped.
    pub fn to_text(&self) -> Option<TextCells> {
        let values = match &self.data {
            ColumnData::Text(v) | ColumnData::Code { text: v, .. } => v.clone(),
            ColumnData::Words { words, at } => {
                at.iter().map(|at| at.map(|at| words[at as usize].clone())).collect()
            }
            ColumnData::Integer(v) => v.iter().map(|v| v.map(|v| v.to_string())).collect(),
            ColumnData::Number(v) => v.iter().map(|&v| render_number(v)).collect(),
            ColumnData::Bool(v) => v.iter().map(|v| v.map(|v| v.to_string())).collect(),
            ColumnData::Time(times) => times.text.clone(),
            _ => return None,
        };
        Some(TextCells { name: self.name.clone(), values })
    }
}

impl ColumnData {
    /// The number of cells; none where it is not known.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Self::Vector(m) | Self::OptionalVector { values: m, .. } => Some(m.rows()),
            Self::DoubleVector { values, .. } => Some(values.rows()),
            Self::Number(v) => Some(v.len()),
            Self::Integer(v) => Some(v.len()),
            Self::Code { text, .. } | Self::Text(text) => Some(text.len()),
            Self::Words { at, .. } => Some(at.len()),
            Self::Bool(v) => Some(v.len()),
            Self::Time(times) => Some(times.text.len()),
            Self::Ragged { .. } | Self::Other(_) => None,
        }
    }

    fn keep_rows(&mut self, rows: &[usize]) {
        fn pick<T: Clone>(cells: &mut Vec<T>, rows: &[usize]) {
            *cells = rows.iter().map(|&row| cells[row].clone()).collect();
        }
        match self {
            Self::Vector(m) => *m = m.view().select(rows.iter().copied()),
            Self::OptionalVector { values, valid } => {
                *values = values.view().select(rows.iter().copied());
                pick(valid, rows);
            }
            Self::DoubleVector { values, valid } => {
                values.keep_rows(rows);
                if !valid.is_empty() {
                    pick(valid, rows);
                }
            }
            Self::Number(v) => pick(v, rows),
            Self::Integer(v) => pick(v, rows),
            Self::Code { text, numbers } => {
                pick(text, rows);
                pick(numbers, rows);
            }
            Self::Text(v) => pick(v, rows),
            Self::Words { at, .. } => pick(at, rows),
            Self::Bool(v) => pick(v, rows),
            Self::Time(times) => times.keep_rows(rows),
            Self::Ragged { .. } | Self::Other(_) => {}
        }
    }

    /// What it holds.
    pub fn kind(&self) -> ColumnKind {
        match self {
            Self::Vector(m) | Self::OptionalVector { values: m, .. } => {
                ColumnKind::List(Some(m.cols()))
            }
            Self::DoubleVector { values, .. } => ColumnKind::List(Some(values.cols())),
            Self::Ragged { .. } => ColumnKind::List(None),
            Self::Number(_) => ColumnKind::Float,
            Self::Integer(_) | Self::Code { .. } => ColumnKind::Integer,
            Self::Text(v) if v.iter().all(Option::is_none) => ColumnKind::Empty,
            Self::Text(_) | Self::Words { .. } | Self::Time(_) => ColumnKind::Text,
            Self::Bool(_) => ColumnKind::Bool,
            Self::Other(name) => ColumnKind::Other(name.clone()),
        }
    }
}

/// The shortest text for a number; none for NaN. A number that came from an `f32` is shown with
/// an `f32`'s digits: 0.1, not 0.10000000149011612.
pub(crate) fn render_number(v: f64) -> Option<String> {
    if v.is_nan() {
        return None;
    }
    if v.abs() < 1e15 && v == v.trunc() {
        return Some(format!("{}", v as i64));
    }
    let short = v as f32;
    Some(if f64::from(short) == v { format!("{short:?}") } else { format!("{v:?}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_different_length_are_refused() {
        let columns = vec![
            Column::new("a", ColumnData::Number(vec![1.0, 2.0])),
            Column::new("b", ColumnData::Integer(vec![Some(1)])),
        ];
        let error = Table::new("t", columns).unwrap_err().to_string();
        assert_eq!(error, "column `b` has 1 rows, but the table has 2");
    }

    #[test]
    fn numbers_are_shown_with_as_few_digits_as_tell_them_apart() {
        let show = |v| render_number(v).unwrap();
        assert_eq!(show(12.0), "12");
        assert_eq!(show(-0.0), "0");
        assert_eq!(show(f64::from(0.1f32)), "0.1");
        assert_eq!(show(0.1), "0.1");
        assert_eq!(show(1e300), "1e300");
        assert_eq!(show(f64::INFINITY), "inf");
        assert_eq!(render_number(f64::NAN), None);
    }

    #[test]
    fn what_cannot_be_text_is_not_carried() {
        let columns = vec![
            Column::new("v", ColumnData::Vector(Matrix::zeros(1, 2))),
            Column::new("o", ColumnData::Other("Binary".to_owned())),
            Column::new("n", ColumnData::Integer(vec![None])),
        ];
        let texts = Table::new("t", columns).unwrap().text_columns();
        assert_eq!(texts, [TextCells { name: "n".to_owned(), values: vec![None] }]);
    }
}
