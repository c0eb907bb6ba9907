//! Where `--nearest` looks for real rows: among those that a model holds, or among all rows of a pool that stayed in its
//! files, which are read again.

use crate::options::usage;
use crate::passes;
use crate::pools::Columns;
use crate::printer::count;
use anyhow::Result;
use bridged::{BridgedModel, Direction, Names, Side, TextColumn};
use bridged_io::answers::{Carried, Spelled, nearest};
use bridged_io::{Column, ColumnData, Missing, ReadOptions, Source, StoredRows};
use bridged_math::{MatrixRef, Rows};
use std::path::{Path, PathBuf};

/// The rows that are looked among.
pub enum Among {
    /// None are asked for.
    Nothing,
    /// Those that the model holds.
    Held,
    /// All rows of the pool, in their files.
    Stored(Box<StoredRows>),
}

impl Among {
    /// The rows of an output side; `all` asks for those in files where the model does not hold all.
    pub fn open(
        model: &Path,
        side: &Side,
        direction: Direction,
        all: bool,
        read: ReadOptions<'_>,
    ) -> Result<Self> {
        let Some(at) = side.rows_at().filter(|_| all && side.len() < side.total()) else {
            return Ok(Self::Held);
        };
        let held = format!(
            "--among held looks among the {} of {} rows of {} that the model holds",
            count(side.len()),
            count(side.total()),
            direction.output()
        );
        let failed =
            |what: String| usage(format!("`{}`: --nearest: {what}; {held}", model.display()));
        if let Some(changed) = passes::changes(at).into_iter().next() {
            return Err(failed(format!("{changed} since the fit")));
        }
        let names: Vec<PathBuf> = at.parts.iter().map(|part| part.name.clone().into()).collect();
        let missing = at.missing.as_deref().and_then(Missing::named).unwrap_or_default();
        let columns = Columns {
            id: side.names().id.as_deref(),
            fitted: Some(side.fitted()),
            missing,
            read,
            ..Columns::default()
        };
        let open = || -> Result<StoredRows> {
            Ok(Source::find(&names)?.stored(&columns.read, columns.select(&[]))?)
        };
        let rows = open().map_err(|error| failed(format!("{error:#}")))?;
        if rows.rows() != side.total() {
            let (got, fitted) = (count(rows.rows()), count(side.total()));
            return Err(failed(format!(
                "its files have {got} rows now, and had {fitted} in the fit"
            )));
        }
        Ok(Self::Stored(Box::new(rows)))
    }

    /// How many rows there are to look among.
    pub fn count(&self, side: &Side) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Held => side.len(),
            Self::Stored(rows) => rows.rows(),
        }
    }

    /// The columns that name the n best rows for some rows and their predicted values.
    pub fn columns(
        &self,
        model: &BridgedModel,
        direction: Direction,
        (rows, values): (MatrixRef<'_>, MatrixRef<'_>),
        n: usize,
    ) -> Result<Vec<Column>> {
        let side = model.to(direction);
        match self {
            _ if n == 0 => Ok(Vec::new()),
            Self::Nothing => Ok(Vec::new()),
            Self::Held => {
                let found = model.retrieve(direction, rows, values, n)?;
                let texts = side.names().texts.iter();
                let carried: Vec<(&str, Carried<'_>)> =
                    texts.map(|t| (t.name.as_str(), Carried::new(&t.values))).collect();
                Ok(nearest(side.names(), &carried, &found, n))
            }
            Self::Stored(stored) => {
                let mut found = model.nearest_in(direction, stored.as_ref(), values, n)?;
                let mut wanted: Vec<usize> =
                    found.iter().flatten().map(|neighbor| neighbor.row as usize).collect();
                wanted.sort_unstable();
                wanted.dedup();
                if wanted.is_empty() {
                    wanted.push(0); // for the names of the columns
                }
                for neighbor in found.iter_mut().flatten() {
                    let at = wanted.binary_search(&(neighbor.row as usize));
                    neighbor.row = at.expect("all rows that were found are wanted") as u32;
                }
                let pool = stored.pool_of(&wanted)?;
                let texts =
                    |column: &Column| Some((TextColumn::from(column.to_text()?), spelled(column)));
                let texts: Vec<(TextColumn, Spelled)> =
                    pool.carried.iter().filter_map(texts).collect();
                let carried: Vec<(&str, Carried<'_>)> = (texts.iter())
                    .map(|(t, kind)| (t.name.as_str(), Carried::typed(&t.values, *kind)))
                    .collect();
                // Ids of rows that are numbered are their numbers in the whole pool.
                let names = Names { ids: pool.ids.clone(), ..Names::default() };
                Ok(nearest(&names, &carried, &found, n))
            }
        }
    }
}

/// The type of a column that its file gives a type.
fn spelled(column: &Column) -> Spelled {
    match &column.data {
        ColumnData::Integer(_) => Spelled::Integer,
        ColumnData::Number(_) => Spelled::Number,
        ColumnData::Bool(_) => Spelled::Bool,
        _ => Spelled::Text,
    }
}
