//! Which column is the vector, which the id, and which are carried along.
//!
//! **Vector**: the list column if there is one; otherwise all numeric columns but the id, in the
//! order of the file, whatever they are called: a column `label` of numbers counts as a
//! measurement, so store it as text or name the vector. Columns without a name and pandas'
//! `__index_level_0__` are numberings, not measurements. A given name may be that of a list column,
//! of one numeric column, or the common start of `name_0`, `name_1`, … (or `name0`, `name1`, …).
//!
//! **Id**: the column given; else `id`; else the only column that ends in `_id`; else the row's
//! number from 0. Upper and lower case are alike. Ids are compared as texts: 12, 12.0 and "12" are
//! one id.
//!
//! **Carried**: every other column that can be shown as text.

use crate::error::{TableError, list};
use crate::table::{Column, ColumnData, Table, TextColumn, render_number};
use bridged_math::Matrix;
use std::collections::HashMap;

/// As the name of the id column: take no column, number the rows from 0.
pub const ROW_NUMBER: &str = "#row";

/// What the user named; nothing means the rules above.
#[derive(Clone, Copy, Debug, Default)]
pub struct Select<'a> {
    /// The id column, or [`ROW_NUMBER`].
    pub id: Option<&'a str>,
    /// The list column, a numeric column, or the common start of numeric columns.
    pub vector: Option<&'a str>,
}

/// The rows of one side with their names: all finite, ids unique.
#[derive(Clone, Debug)]
pub struct Pool {
    /// One vector per row.
    pub rows: Matrix,
    /// One id per row.
    pub ids: Vec<String>,
    /// The columns that are carried along.
    pub texts: Vec<TextColumn>,
    /// The name of the list column, or the names of the numeric columns.
    pub vector_names: Vec<String>,
    /// The id column; none if rows are numbered.
    pub id_name: Option<String>,
}

/// Where the vectors are, by the number of the column.
enum Vectors {
    List(usize),
    Numbers(Vec<usize>),
}

impl Table {
    /// Picks the vectors and ids and checks both.
    pub fn into_pool(mut self, select: Select<'_>) -> Result<Pool, TableError> {
        let (id_at, ids) = self.unique_ids(select.id)?;
        let id_name = id_at.map(|at| self.columns[at].name.clone());
        let vectors = self.find_vectors(select.vector, id_at)?;
        let used = match &vectors {
            Vectors::List(at) => vec![*at],
            Vectors::Numbers(at) => at.clone(),
        };
        let vector_names: Vec<String> =
            used.iter().map(|&at| self.columns[at].name.clone()).collect();
        let rows = match vectors {
            Vectors::List(at) => self.take_list(at, &ids)?,
            Vectors::Numbers(at) => self.gather_numbers(&at),
        };
        if rows.cols() == 0 {
            let column = vector_names.concat();
            return Err(TableError::NoEntries { path: self.source, column });
        }
        if let Some((row, at)) = rows.view().first_non_finite() {
            let place = match vector_names.as_slice() {
                [list] if self.columns[used[0]].data.is_list() => {
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
        let texts = (self.columns.iter().enumerate())
            .filter(|(at, _)| Some(*at) != id_at && !used.contains(at))
            .filter_map(|(_, column)| column.to_text())
            .collect();
        Ok(Pool { rows, ids, texts, vector_names, id_name })
    }

    /// The id column, if there is one, and the ids, all different.
    pub(crate) fn unique_ids(
        &self,
        given: Option<&str>,
    ) -> Result<(Option<usize>, Vec<String>), TableError> {
        let Some(at) = self.find_id(given)? else {
            return Ok((None, (0..self.rows()).map(|i| i.to_string()).collect()));
        };
        let ids = self.ids(at)?;
        self.check_unique(at, &ids)?;
        Ok((Some(at), ids))
    }

    /// The number of the column of that name; an error if there is none or more than one.
    pub(crate) fn position(&self, name: &str) -> Result<Option<usize>, TableError> {
        let mut found = (0..self.columns.len()).filter(|&at| self.columns[at].name == name);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => {
                Err(TableError::SameName { path: self.source.clone(), column: name.to_owned() })
            }
            (first, _) => Ok(first),
        }
    }

    pub(crate) fn no_such_column(&self, name: &str) -> TableError {
        let (path, column) = (self.source.clone(), name.to_owned());
        TableError::NoSuchColumn { path, column, known: self.known() }
    }

    fn find_id(&self, given: Option<&str>) -> Result<Option<usize>, TableError> {
        if let Some(name) = given {
            if name == ROW_NUMBER {
                return Ok(None);
            }
            return self.position(name)?.map(Some).ok_or_else(|| self.no_such_column(name));
        }
        if let Some(at) = self.position("id")? {
            return Ok(Some(at));
        }
        let named = |fits: fn(&str) -> bool| -> Vec<usize> {
            let lower = |at: usize| self.columns[at].name.to_lowercase();
            (0..self.columns.len()).filter(|&at| fits(&lower(at))).collect()
        };
        let mut found = named(|name| name == "id");
        if found.is_empty() {
            found = named(|name| name.ends_with("_id"));
        }
        match found.as_slice() {
            [] => Ok(None),
            [at] => Ok(Some(*at)),
            several => {
                let names = list(several.iter().map(|&at| self.columns[at].name.as_str()));
                Err(TableError::SeveralIds { path: self.source.clone(), names })
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

    fn find_vectors(&self, given: Option<&str>, id: Option<usize>) -> Result<Vectors, TableError> {
        if let Some(name) = given {
            return self.named_vectors(name);
        }
        let which = |fits: fn(&Column) -> bool| -> Vec<usize> {
            let all = 0..self.columns.len();
            all.filter(|&at| Some(at) != id && fits(&self.columns[at])).collect()
        };
        match which(|c| c.data.is_list()).as_slice() {
            [] => {}
            [at] => return Ok(Vectors::List(*at)),
            several => {
                let names = list(several.iter().map(|&at| self.columns[at].name.as_str()));
                return Err(TableError::SeveralVectors { path: self.source.clone(), names });
            }
        }
        let numbers = which(|c| c.data.is_numeric() && !is_numbering(&c.name));
        if numbers.is_empty() {
            let known: Vec<String> = (self.columns.iter())
                .map(|c| format!("`{}` ({})", c.name, c.data.kind()))
                .collect();
            return Err(TableError::NoVector {
                path: self.source.clone(),
                known: known.join(", "),
            });
        }
        Ok(Vectors::Numbers(numbers))
    }

    fn named_vectors(&self, name: &str) -> Result<Vectors, TableError> {
        let not_a_vector = |at: usize| TableError::NotAVector {
            path: self.source.clone(),
            column: self.columns[at].name.clone(),
            kind: self.columns[at].data.kind(),
        };
        if let Some(at) = self.position(name)? {
            return match &self.columns[at].data {
                data if data.is_list() => Ok(Vectors::List(at)),
                data if data.is_numeric() => Ok(Vectors::Numbers(vec![at])),
                _ => Err(not_a_vector(at)),
            };
        }
        let mut parts: Vec<(u64, usize)> = (self.columns.iter().enumerate())
            .filter_map(|(at, column)| Some((part_number(&column.name, name)?, at)))
            .collect();
        if parts.is_empty() {
            return Err(self.no_such_column(name));
        }
        // A part that is not numeric has a bad cell; leaving it out would shift the others.
        if let Some(&(_, at)) = parts.iter().find(|p| !self.columns[p.1].data.is_numeric()) {
            return Err(not_a_vector(at));
        }
        parts.sort_unstable();
        Ok(Vectors::Numbers(parts.into_iter().map(|(_, at)| at).collect()))
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
            other => Err(TableError::NotAVector { path, column, kind: other.kind() }),
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

/// A numbering of the rows rather than a measurement: what pandas writes for its index.
fn is_numbering(name: &str) -> bool {
    name.is_empty() || name.starts_with("Unnamed: ") || name.starts_with("__index_level_")
}

/// `7` for `value_7` or `value7` and the start `value`.
fn part_number(column: &str, start: &str) -> Option<u64> {
    let rest = column.strip_prefix(start)?;
    let digits = rest.strip_prefix('_').unwrap_or(rest);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}
