//! The pool of a table: its vectors, its ids, and what is carried along.
//!
//! Which column is which, [`bridged::columns`] decides. Ids are compared as texts: 12, 12.0 and "12" are one id.

use crate::error::{TableError, list};
use crate::table::{Column, ColumnData, Table, TextCells, render_number};
pub use bridged::columns::ROW_NUMBER;
use bridged::columns::{self, ColumnError, ColumnInfo, Columns, VectorColumns, Wanted};
use bridged_math::Matrix;
use std::collections::HashMap;

/// What the user named; nothing means the rules of [`bridged::columns`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Select<'a> {
    /// The id column, or [`ROW_NUMBER`].
    pub id: Option<&'a str>,
    /// The list column, a numeric column, or the common start of numeric columns.
    pub vector: Option<&'a str>,
    /// Among several list columns, the first of these names is taken.
    pub likely: &'a [String],
}

/// The rows of one side with their names: all finite, ids unique.
#[derive(Clone, Debug)]
pub struct Pool {
    /// One vector per row.
    pub rows: Matrix,
    /// One id per row.
    pub ids: Vec<String>,
    /// The columns that are carried along, as the file has them.
    pub carried: Vec<Column>,
    /// The name of the list column, or the names of the numeric columns.
    pub vector_names: Vec<String>,
    /// The id column; none if rows are numbered.
    pub id_name: Option<String>,
    /// The id column as the file has it; none if rows are numbered.
    pub id_column: Option<Column>,
}

impl Pool {
    /// The columns that are carried along, as texts.
    pub fn texts(&self) -> Vec<TextCells> {
        self.carried.iter().filter_map(Column::to_text).collect()
    }

    /// The ids as a column: as the file has them, or the numbers of the rows under the name `id`.
    pub fn take_ids(&mut self) -> Column {
        self.id_column.take().unwrap_or_else(|| {
            let numbers = (0..self.rows.rows() as i64).map(Some).collect();
            Column::new("id", ColumnData::Integer(numbers))
        })
    }
}

impl Table {
    /// Picks the vectors and ids and checks both.
    pub fn into_pool(mut self, select: Select<'_>) -> Result<Pool, TableError> {
        let Select { id, vector, likely } = select;
        // Bad ids are told before a choice among vectors is asked for.
        let (_, ids) = self.unique_ids(id)?;
        let infos = self.infos();
        let chosen = Columns::choose(&infos, Wanted { id, vector, likely });
        let Columns { id, vector, carried } = chosen.map_err(|e| self.column_error(e))?;
        let id_name = id.map(|at| self.columns[at].name.clone());
        let used = vector.places().to_vec();
        let vector_names: Vec<String> =
            used.iter().map(|&at| self.columns[at].name.clone()).collect();
        let rows = match &vector {
            VectorColumns::List(at) => self.take_list(*at, &ids)?,
            VectorColumns::Numbers(at) => self.gather_numbers(at),
        };
        if rows.cols() == 0 {
            let column = vector_names.concat();
            return Err(TableError::NoEntries { path: self.source, column });
        }
        if let Some((row, at)) = rows.view().first_non_finite() {
            let place = match vector_names.as_slice() {
                [list] if self.columns[used[0]].data.kind().is_list() => {
                    format!("column `{list}`, position {at} (counted from 0)")
                }
                names => format!("column `{}`", names[at]),
            };
            let problem = if rows.row(row)[at].is_nan() {
                "missing or not a number"
            } else {
                "infinite or too large for a 32-bit float"
            };
            let id = ids[row].clone();
            return Err(TableError::NotFinite { path: self.source, place, id, problem });
        }
        let mut columns: Vec<Option<Column>> = self.columns.into_iter().map(Some).collect();
        let carried = carried.into_iter().filter_map(|at| columns[at].take()).collect();
        let id_column = id.and_then(|at| columns[at].take());
        Ok(Pool { rows, ids, carried, vector_names, id_name, id_column })
    }

    /// The id column, if there is one, and the ids, all different.
    pub(crate) fn unique_ids(
        &self,
        given: Option<&str>,
    ) -> Result<(Option<usize>, Vec<String>), TableError> {
        let found = columns::id_column(&self.infos(), given).map_err(|e| self.column_error(e))?;
        let Some(at) = found else {
            return Ok((None, (0..self.rows()).map(|i| i.to_string()).collect()));
        };
        let ids = self.ids(at)?;
        self.check_unique(at, &ids)?;
        Ok((Some(at), ids))
    }

    /// The columns without their cells.
    fn infos(&self) -> Vec<ColumnInfo<'_>> {
        (self.columns.iter())
            .map(|column| ColumnInfo { name: &column.name, kind: column.data.kind() })
            .collect()
    }

    /// The number of the column of that name; an error if there is none or more than one.
    pub(crate) fn position(&self, name: &str) -> Result<usize, TableError> {
        let found = columns::position(&self.infos(), name).map_err(|e| self.column_error(e))?;
        found.ok_or_else(|| self.column_error(ColumnError::NoSuchColumn(name.to_owned())))
    }

    /// The same with the file, the names of its columns and what to do.
    fn column_error(&self, error: ColumnError) -> TableError {
        let path = self.source.clone();
        let names =
            |places: &[usize]| list(places.iter().map(|&at| self.columns[at].name.as_str()));
        match error {
            ColumnError::NoSuchColumn(column) => {
                TableError::NoSuchColumn { path, column, known: self.known() }
            }
            ColumnError::SameName(column) => TableError::SameName { path, column },
            ColumnError::SeveralIds(places) => {
                TableError::SeveralIds { path, names: names(&places) }
            }
            ColumnError::SeveralVectors(places) => {
                TableError::SeveralVectors { path, names: names(&places) }
            }
            ColumnError::NoVector => {
                let known: Vec<String> = (self.columns.iter())
                    .map(|c| format!("`{}` ({})", c.name, c.data.kind()))
                    .collect();
                TableError::NoVector { path, known: known.join(", ") }
            }
            ColumnError::NotAVector(at) => {
                let column = &self.columns[at];
                let kind = column.data.kind().to_string();
                TableError::NotAVector { path, column: column.name.clone(), kind }
            }
        }
    }

    /// The cells of a column as ids.
    pub(crate) fn ids(&self, at: usize) -> Result<Vec<String>, TableError> {
        let column = &self.columns[at];
        let not_an_id = |detail: String| TableError::NotAnId {
            path: self.source.clone(),
            column: column.name.clone(),
            detail,
        };
        if let ColumnData::Number(values) = &column.data {
            if let Some(v) = values.iter().find(|v| !v.is_nan() && **v != v.trunc()) {
                return Err(not_an_id(format!("it holds the number {v}")));
            }
            if let Some(v) = values.iter().find(|v| v.abs() > 9_007_199_254_740_992.0) {
                let shown = render_number(*v).unwrap_or_default();
                return Err(not_an_id(format!("a float does not hold {shown} exactly")));
            }
        }
        let Some(texts) = column.to_text() else {
            return Err(not_an_id(format!("it holds {}", column.data.kind())));
        };
        let mut ids = Vec::with_capacity(texts.values.len());
        for (row, text) in texts.values.into_iter().enumerate() {
            match text {
                Some(id) if !id.is_empty() => ids.push(id),
                _ => {
                    let (path, column) = (self.source.clone(), column.name.clone());
                    return Err(TableError::NullId { path, column, row });
                }
            }
        }
        Ok(ids)
    }

    fn check_unique(&self, at: usize, ids: &[String]) -> Result<(), TableError> {
        let mut seen = HashMap::with_capacity(ids.len());
        for (second, id) in ids.iter().enumerate() {
            if let Some(first) = seen.insert(id.as_str(), second) {
                return Err(TableError::DuplicateId {
                    path: self.source.clone(),
                    column: self.columns[at].name.clone(),
                    id: id.clone(),
                    first,
                    second,
                });
            }
        }
        Ok(())
    }

    fn take_list(&mut self, at: usize, ids: &[String]) -> Result<Matrix, TableError> {
        let (path, column) = (self.source.clone(), self.columns[at].name.clone());
        // Takes the matrix rather than copying it; what stays behind is still a list.
        let nothing = ColumnData::Vector(Matrix::zeros(self.rows(), 0));
        match std::mem::replace(&mut self.columns[at].data, nothing) {
            ColumnData::Vector(rows) => Ok(rows),
            ColumnData::OptionalVector { values, valid } => {
                match valid.iter().position(|valid| !valid) {
                    None => Ok(values),
                    Some(row) => {
                        Err(TableError::MissingVector { path, column, id: ids[row].clone() })
                    }
                }
            }
            ColumnData::Ragged { row, expected, got } => {
                let id = ids[row].clone();
                Err(TableError::RaggedVector { path, column, id, expected, got })
            }
            other => Err(TableError::NotAVector { path, column, kind: other.kind().to_string() }),
        }
    }

    fn gather_numbers(&self, at: &[usize]) -> Matrix {
        Matrix::from_fn(self.rows(), at.len(), |i, j| match &self.columns[at[j]].data {
            ColumnData::Number(v) | ColumnData::Code { numbers: v, .. } => v[i] as f32,
            ColumnData::Integer(v) => v[i].map_or(f32::NAN, |v| v as f32),
            _ => f32::NAN,
        })
    }
}
