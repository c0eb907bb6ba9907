//! Tables with the same columns, one below the other.

use crate::table::{Column, ColumnData, Table, Times};
use crate::vectors::DoubleRows;
use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;
use bridged_math::Matrix;
use std::path::{Path, PathBuf};

/// A table that grows by the rows of others.
pub(crate) struct Stack {
    columns: Vec<Column>,
    /// The pieces of each column of times: put together once.
    pieces: Vec<Vec<ArrayRef>>,
    expected: usize,
    rows: usize,
    parts: Vec<(usize, PathBuf)>,
    guessed: bool,
}

impl Stack {
    /// For that many rows.
    pub fn new(expected: usize) -> Self {
        let (columns, pieces, parts) = (Vec::new(), Vec::new(), Vec::new());
        Self { columns, pieces, expected, rows: 0, parts, guessed: false }
    }

    /// The next rows are those of that file.
    pub fn begin(&mut self, part: &Path) {
        self.parts.push((self.rows, part.to_path_buf()));
    }

    /// Adds rows.
    pub fn push(&mut self, table: Table) {
        let more = table.rows();
        self.guessed |= table.guessed;
        if self.pieces.is_empty() {
            self.pieces = table.columns.iter().map(|_| Vec::new()).collect();
        }
        let first = self.columns.is_empty();
        for (at, mut column) in table.columns.into_iter().enumerate() {
            if let ColumnData::Time(times) = &column.data {
                self.pieces[at].push(times.cells.clone());
            }
            if first {
                reserve(&mut column.data, self.expected);
                self.columns.push(column);
            } else {
                let held = &mut self.columns[at].data;
                let before = std::mem::replace(held, ColumnData::Other(String::new()));
                *held = append(before, self.rows, column.data, more);
            }
        }
        self.rows += more;
    }

    /// The whole table.
    pub fn finish(mut self, source: &Path) -> Table {
        for (column, pieces) in self.columns.iter_mut().zip(self.pieces) {
            if let ColumnData::Time(Times { text, cells }) = &mut column.data {
                let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
                match concat(&pieces) {
                    Ok(all) => *cells = all,
                    Err(_) => column.data = ColumnData::Text(std::mem::take(text)),
                }
            }
        }
        let mut table = Table::with_rows(source.to_path_buf(), self.columns, self.rows);
        (table.guessed, table.parts) = (self.guessed, self.parts);
        table
    }
}

/// Makes room for all rows at once, so that a large column is not copied as it grows.
fn reserve(data: &mut ColumnData, rows: usize) {
    match data {
        ColumnData::Vector(m) => *m = roomy(std::mem::take(m), rows),
        ColumnData::OptionalVector { values, valid } => {
            *values = roomy(std::mem::take(values), rows);
            valid.reserve_exact(rows.saturating_sub(valid.len()));
        }
        ColumnData::Number(v) => v.reserve_exact(rows.saturating_sub(v.len())),
        ColumnData::Integer(v) => v.reserve_exact(rows.saturating_sub(v.len())),
        ColumnData::Text(v) => v.reserve_exact(rows.saturating_sub(v.len())),
        _ => {}
    }
}

fn roomy(matrix: Matrix, rows: usize) -> Matrix {
    let (held, cols) = (matrix.rows(), matrix.cols());
    let mut data = matrix.into_data();
    // A promise of a file; without the room, it grows step by step.
    let _ = data.try_reserve_exact(rows.saturating_sub(held).saturating_mul(cols));
    Matrix::new(held, cols, data).expect("the same numbers")
}

/// `more` cells below `rows` cells.
fn append(above: ColumnData, rows: usize, below: ColumnData, more: usize) -> ColumnData {
    use ColumnData as D;
    match (above, below) {
        (D::Ragged { row, expected, got }, _) => D::Ragged { row, expected, got },
        (_, D::Ragged { row, expected, got }) => D::Ragged { row: rows + row, expected, got },
        (D::Number(mut a), D::Number(b)) => {
            a.extend(b);
            D::Number(a)
        }
        (D::Integer(mut a), D::Integer(b)) => {
            a.extend(b);
            D::Integer(a)
        }
        (D::Bool(mut a), D::Bool(b)) => {
            a.extend(b);
            D::Bool(a)
        }
        (D::Text(mut a), D::Text(b)) => {
            a.extend(b);
            D::Text(a)
        }
        (D::Time(mut a), D::Time(b)) => {
            a.text.extend(b.text);
            D::Time(a)
        }
        (a @ (D::Code { .. } | D::Integer(_)), b @ (D::Code { .. } | D::Integer(_))) => {
            let ((mut text, mut numbers), (more_text, more_numbers)) = (code(a), code(b));
            text.extend(more_text);
            numbers.extend(more_numbers);
            D::Code { text, numbers }
        }
        (
            D::DoubleVector { values: a, valid: a_valid },
            D::DoubleVector { values: b, valid: b_valid },
        ) => match fitting((a.cols(), &a_valid, rows), (b.cols(), &b_valid, more)) {
            Err(ragged) => ragged,
            Ok(cols) => {
                let mut values = a.widened(cols);
                values.append(b.widened(cols));
                D::DoubleVector { values, valid: both_valid(a_valid, rows, b_valid, more) }
            }
        },
        (
            a @ (D::Vector(_) | D::OptionalVector { .. }),
            b @ (D::Vector(_) | D::OptionalVector { .. }),
        ) => {
            let ((a, a_valid), (b, b_valid)) = (singles(a), singles(b));
            match fitting((a.cols(), &a_valid, rows), (b.cols(), &b_valid, more)) {
                Err(ragged) => ragged,
                Ok(cols) => {
                    let mut data = widened(a, cols);
                    data.extend(widened(b, cols));
                    let values = Matrix::new(rows + more, cols, data).expect("rows of one width");
                    match both_valid(a_valid, rows, b_valid, more) {
                        valid if valid.is_empty() => D::Vector(values),
                        valid => D::OptionalVector { values, valid },
                    }
                }
            }
        }
        (a, _) => a, // of the same schema, so neither is anything
    }
}

/// The width of two lists of vectors; a list without a single vector fits any.
fn fitting(
    (a, a_valid, rows): (usize, &[bool], usize),
    (b, b_valid, more): (usize, &[bool], usize),
) -> Result<usize, ColumnData> {
    let none =
        |valid: &[bool], rows: usize| rows == 0 || valid.iter().all(|v| !v) && !valid.is_empty();
    match (none(a_valid, rows), none(b_valid, more)) {
        (true, _) => Ok(b),
        (_, true) => Ok(a),
        _ if a == b => Ok(a),
        _ => {
            let first = b_valid.iter().position(|valid| *valid).unwrap_or(0);
            Err(ColumnData::Ragged { row: rows + first, expected: a, got: b })
        }
    }
}

fn both_valid(mut a: Vec<bool>, rows: usize, b: Vec<bool>, more: usize) -> Vec<bool> {
    if a.is_empty() && b.is_empty() {
        return a;
    }
    a.resize(rows, true);
    a.extend(if b.is_empty() { vec![true; more] } else { b });
    a
}

fn singles(data: ColumnData) -> (Matrix, Vec<bool>) {
    match data {
        ColumnData::Vector(values) => (values, Vec::new()),
        ColumnData::OptionalVector { values, valid } => (values, valid),
        _ => (Matrix::zeros(0, 0), Vec::new()),
    }
}

/// The numbers of rows that have `cols` entries; of rows without a vector, gaps.
fn widened(rows: Matrix, cols: usize) -> Vec<f32> {
    match rows.cols() == cols {
        true => rows.into_data(),
        false => vec![f32::NAN; rows.rows() * cols],
    }
}

fn code(data: ColumnData) -> (Vec<Option<String>>, Vec<f64>) {
    match data {
        ColumnData::Code { text, numbers } => (text, numbers),
        ColumnData::Integer(v) => (
            v.iter().map(|v| v.map(|v| v.to_string())).collect(),
            v.iter().map(|v| v.map_or(f64::NAN, |v| v as f64)).collect(),
        ),
        _ => (Vec::new(), Vec::new()),
    }
}

impl DoubleRows {
    /// The same with that many columns: rows without a vector become gaps.
    fn widened(self, cols: usize) -> Self {
        if self.cols() == cols {
            return self;
        }
        let gaps = vec![f64::NAN; self.rows() * cols];
        Self::new(self.rows(), cols, gaps).expect("one gap per entry")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(pieces: Vec<ColumnData>) -> ColumnData {
        let mut stack = Stack::new(4);
        for (i, data) in pieces.into_iter().enumerate() {
            stack.begin(Path::new(&format!("p{i}")));
            stack.push(Table::new("p", vec![Column::new("c", data)]).unwrap());
        }
        stack.finish(Path::new("all")).columns.remove(0).data
    }

    fn vectors(rows: &[[f32; 2]]) -> ColumnData {
        ColumnData::Vector(Matrix::from_rows(rows))
    }

    #[test]
    fn vectors_below_vectors_keep_their_gaps() {
        let gaps =
            ColumnData::OptionalVector { values: Matrix::zeros(2, 0), valid: vec![false; 2] };
        let all = stack(vec![gaps, vectors(&[[1.0, 2.0]]), vectors(&[[3.0, 4.0]])]);
        let ColumnData::OptionalVector { values, valid } = all else { panic!("two are missing") };
        assert_eq!(valid, [false, false, true, true]);
        assert_eq!(values.row(3), [3.0, 4.0]);
        let all = stack(vec![vectors(&[[1.0, 2.0]]), vectors(&[[3.0, 4.0]])]);
        assert!(matches!(all, ColumnData::Vector(m) if m.rows() == 2));
    }

    #[test]
    fn vectors_of_another_length_are_told_by_their_row() {
        let other = ColumnData::Vector(Matrix::from_rows(&[[1.0f32]]));
        let all = stack(vec![vectors(&[[1.0, 2.0], [1.0, 2.0]]), other]);
        assert!(matches!(all, ColumnData::Ragged { row: 2, expected: 2, got: 1 }));
    }

    #[test]
    fn doubles_and_codes_go_below_each_other() {
        let doubles = |v: f64| ColumnData::DoubleVector {
            values: DoubleRows::new(1, 2, vec![v, v]).unwrap(),
            valid: Vec::new(),
        };
        let all = stack(vec![doubles(1.0), doubles(2.0)]);
        let ColumnData::DoubleVector { values, valid } = all else { panic!("doubles") };
        assert!(valid.is_empty() && values.slice(0..2) == [1.0, 1.0, 2.0, 2.0]);
        let code = ColumnData::Code { text: vec![Some("007".into())], numbers: vec![7.0] };
        let all = stack(vec![ColumnData::Integer(vec![Some(1)]), code]);
        let ColumnData::Code { text, numbers } = all else { panic!("codes") };
        assert_eq!(text, [Some("1".to_owned()), Some("007".to_owned())]);
        assert_eq!(numbers, [1.0, 7.0]);
    }
}
