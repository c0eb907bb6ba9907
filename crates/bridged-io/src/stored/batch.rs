//! From a piece of a file to rows and pools, by what was chosen when the source was opened.

use super::{Named, Narrow, Piece, StoredRows};
use crate::error::TableError;
use crate::select::{Pool, entry_place, not_finite};
use crate::table::{Column, ColumnData, Table};
use crate::to_rows::Vectors;
use bridged::columns::{Missing, VectorColumns};
use bridged_math::Matrix;

/// The vectors of a piece, and which rows have one; empty if all do.
type Taken<'a> = (Vectors<'a>, Vec<bool>);

/// A row of a piece that cannot be used.
pub(super) enum Bad {
    /// It has no vector.
    Missing { row: usize },
    /// Its vector has another length.
    Ragged { row: usize, expected: usize, got: usize },
    /// The column holds no vectors.
    NotAVector { kind: String },
}

/// Takes the vectors of a piece, each of `cols` numbers if that is known.
pub(super) fn take<'a>(
    table: &'a mut Table,
    vector: &VectorColumns,
    narrow: &Narrow,
    cols: Option<usize>,
) -> Result<Taken<'a>, Bad> {
    let at = |place: usize| narrow.at[place].expect("the vector is among the columns of the pass");
    let rows = table.rows();
    let (vectors, valid, width) = match vector {
        VectorColumns::Numbers(places) => {
            let columns: Vec<_> = places.iter().map(|&p| &table.columns[at(p)].data).collect();
            let width = columns.len();
            (Vectors::Columns(columns), Vec::new(), width)
        }
        VectorColumns::List(place) => {
            let data = &mut table.columns[at(*place)].data;
            match std::mem::replace(data, ColumnData::Other(String::new())) {
                ColumnData::Vector(m) => {
                    let width = m.cols();
                    (Vectors::Singles(m), Vec::new(), width)
                }
                ColumnData::OptionalVector { values, valid } => {
                    let width = values.cols();
                    (Vectors::Singles(values), valid, width)
                }
                ColumnData::DoubleVector { values, valid } => {
                    let width = values.cols();
                    (Vectors::Doubles(values), valid, width)
                }
                ColumnData::Ragged { row, expected, got } => {
                    return Err(Bad::Ragged { row, expected, got });
                }
                other => return Err(Bad::NotAVector { kind: other.kind().to_string() }),
            }
        }
    };
    let expected = cols.unwrap_or(width);
    let none = rows == 0 || (!valid.is_empty() && valid.iter().all(|valid| !valid));
    if none && width != expected {
        // Not one vector to tell the width by.
        return Ok((Vectors::Singles(gaps(rows, expected)), valid));
    }
    if width != expected {
        let row = valid.iter().position(|valid| *valid).unwrap_or(0);
        return Err(Bad::Ragged { row, expected, got: width });
    }
    Ok((vectors, valid))
}

fn gaps(rows: usize, cols: usize) -> Matrix {
    Matrix::from_fn(rows, cols, |_, _| f32::NAN)
}

/// The rows of vectors, and the places of those that are left if some are left out.
struct Usable {
    rows: Matrix,
    kept: Option<Vec<usize>>,
}

impl StoredRows {
    /// The rows of a piece that are left, all finite.
    pub(super) fn rows_of(&self, piece: Piece, narrow: &Narrow) -> Result<Matrix, TableError> {
        let Piece { part, mut table } = piece;
        let first = table.first;
        Ok(self.usable(&mut table, narrow, &|row| self.name_row(part, first + row))?.rows)
    }

    fn usable(
        &self,
        table: &mut Table,
        narrow: &Narrow,
        name: &dyn Fn(usize) -> Named,
    ) -> Result<Usable, TableError> {
        let count = table.rows();
        let vector = &self.chosen.vector;
        let (vectors, valid) =
            take(table, vector, narrow, Some(self.cols)).map_err(|bad| self.bad(bad, name))?;
        let without = valid.iter().position(|valid| !valid);
        if let Some(row) = without.filter(|_| self.missing != Missing::Drop) {
            return Err(self.bad(Bad::Missing { row }, name));
        }
        let mut rows = vectors.into_rows(count, &self.offset);
        let mut kept = None;
        match self.missing {
            Missing::Refuse => {}
            Missing::Mean => {
                for i in 0..rows.rows() {
                    for (value, mean) in rows.row_mut(i).iter_mut().zip(&self.means) {
                        if value.is_nan() {
                            *value = *mean;
                        }
                    }
                }
            }
            Missing::Drop => {
                let whole = |row: &usize| !rows.row(*row).iter().any(|v| v.is_nan());
                let left: Vec<usize> = (0..rows.rows()).filter(whole).collect();
                if left.len() < rows.rows() {
                    rows = rows.view().select(left.iter().copied());
                    kept = Some(left);
                }
            }
        }
        if let Some((row, at)) = rows.view().first_non_finite() {
            let problem = not_finite(rows.row(row)[at]);
            let is_list = matches!(vector, VectorColumns::List(_));
            let place = entry_place(&self.chosen.vector_names, is_list, at);
            let (path, id) = name(kept.as_ref().map_or(row, |kept| kept[row]));
            return Err(TableError::NotFinite { path, place, id, problem });
        }
        Ok(Usable { rows, kept })
    }

    /// The error for a row that cannot be used.
    pub(super) fn bad(&self, bad: Bad, name: &dyn Fn(usize) -> Named) -> TableError {
        let column = self.chosen.vector_names.concat();
        match bad {
            Bad::Missing { row } => {
                let (path, id) = name(row);
                TableError::MissingVector { path, column, id }
            }
            Bad::Ragged { row, expected, got } => {
                let (path, id) = name(row);
                TableError::RaggedVector { path, column, id, expected, got }
            }
            Bad::NotAVector { kind } => {
                TableError::NotAVector { path: self.source.name().to_path_buf(), column, kind }
            }
        }
    }

    /// The columns of a pool.
    pub(super) fn narrow_pool(&self) -> Narrow {
        let places = self.chosen.vector.places().iter().chain(&self.chosen.carried).copied();
        self.narrow(places.chain(self.chosen.id))
    }

    /// A pool from some columns of some rows; `number` gives the number of each among all rows.
    pub(super) fn pool_from(
        &self,
        mut table: Table,
        narrow: &Narrow,
        number: &dyn Fn(usize) -> usize,
    ) -> Result<Pool, TableError> {
        let at = |place: usize| narrow.at[place].expect("a column of the pool is read for it");
        let mut ids = match self.chosen.id {
            Some(place) => table.ids(at(place))?,
            None => (0..table.rows()).map(|row| number(row).to_string()).collect(),
        };
        let name = |row: usize| -> Named {
            let (part, row_there) = self.part_of(number(row));
            let path = self.source.parts()[part].name().to_path_buf();
            (path, if self.chosen.id.is_some() { ids[row].clone() } else { row_there.to_string() })
        };
        let Usable { rows, kept } = self.usable(&mut table, narrow, &name)?;
        let mut dropped = Vec::new();
        if let Some(kept) = &kept {
            let mut left = kept.iter().copied().peekable();
            let mut whole = Vec::with_capacity(kept.len());
            for (row, id) in ids.into_iter().enumerate() {
                match left.next_if_eq(&row) {
                    Some(_) => whole.push(id),
                    None => dropped.push(id),
                }
            }
            ids = whole;
            table.keep_rows(kept);
        }
        let mut columns: Vec<Option<Column>> = table.columns.into_iter().map(Some).collect();
        let carried = self.chosen.carried.iter().filter_map(|&place| columns[at(place)].take());
        let carried = carried.collect();
        let id_column = self.chosen.id.and_then(|place| columns[at(place)].take());
        let mut pool = Pool {
            rows,
            ids,
            carried,
            vector_names: self.chosen.vector_names.clone(),
            id_name: self.chosen.id_name.clone(),
            id_column,
            offset: self.offset.clone(),
            dropped,
            notes: Vec::new(),
        };
        self.source.finish_partitions(&mut pool);
        Ok(pool)
    }
}
