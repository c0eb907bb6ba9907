//! The pool of a table: its vectors, its ids, and what is carried along.
//!
//! Which column is which, [`bridged::columns`] decides. Ids are compared as texts: 12, 12.0 and "12" are one id.

use crate::delimited::is_gap;
use crate::dialect::number_with_comma;
use crate::error::{TableError, list};
use crate::format::{Layout, known_format};
use crate::table::{Column, ColumnData, Table, TextCells, render_number};
use crate::vectors::DoubleRows;
use bridged::columns::{
    self, ColumnError, ColumnInfo, Columns, Fitted, Look, VectorColumns, Wanted,
};
pub use bridged::columns::{Missing, ROW_NUMBER};
use bridged::offset::{ColumnSums, Offset};
use bridged::range::check_largest;
use bridged_math::words::{count, plural};
use bridged_math::{Matrix, memory};
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
    /// Only columns that one of these names fits; `*` stands for any letters.
    pub columns: &'a [String],
    /// No column that one of these names fits.
    pub exclude: &'a [String],
    /// What a model was fitted on: the table is read by its columns, offset and mean.
    pub fitted: Option<Fitted<'a>>,
    /// What is done where a number is missing.
    pub missing: Missing,
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
    /// What was taken off the columns of the rows.
    pub offset: Offset,
    /// The ids of rows that were left out because numbers were missing.
    pub dropped: Vec<String>,
    /// What to know about how it was read, each in a sentence.
    pub notes: Vec<String>,
}

impl Pool {
    /// The columns that are carried along, as texts.
    pub fn texts(&self) -> Vec<TextCells> {
        self.carried.iter().filter_map(Column::to_text).collect()
    }

    /// The ids as a column: as the file has them, or the numbers of the rows under the name `id`.
    pub fn take_ids(&mut self) -> Column {
        self.id_column.take().unwrap_or_else(|| {
            // Rows that were left out keep their numbers.
            let numbers = self.ids.iter().map(|id| id.parse().ok()).collect();
            Column::new("id", ColumnData::Integer(numbers))
        })
    }
}

/// A column of texts of which this share are numbers is a measurement with bad cells.
const SURELY_NUMERIC: f64 = 0.9;
/// One of which this share are may be one.
const PERHAPS_NUMERIC: f64 = 0.5;
/// Columns that a note names.
const NAMED: usize = 6;

/// What somebody needs who is told of a cell that is no number.
#[derive(Clone, Copy)]
enum Need {
    /// The cell: the column is that of a model, or was named.
    Cell,
    /// The column, or none.
    Column,
}

/// A column of texts some of which are numbers, all with a decimal point or all with a decimal comma.
struct Mixed {
    /// The cells that are not empty.
    cells: usize,
    /// Those that are no numbers.
    odd: usize,
    /// The first of those, or the first of all.
    row: usize,
    cell: String,
}

impl Mixed {
    fn of(cells: &[Option<String>]) -> Option<Self> {
        let with_point = |cell: &str| cell.parse::<f64>().is_ok();
        let with_comma = |cell: &str| number_with_comma(cell).is_some();
        let (point, comma) = (Self::by(cells, with_point)?, Self::by(cells, with_comma)?);
        let best = if comma.odd < point.odd { comma } else { point };
        (best.odd < best.cells).then_some(best)
    }

    fn by(cells: &[Option<String>], is_number: impl Fn(&str) -> bool) -> Option<Self> {
        let texts =
            cells.iter().enumerate().filter_map(|(row, cell)| Some((row, cell.as_ref()?.trim())));
        let mut texts = texts.filter(|(_, cell)| !cell.is_empty() && !is_gap(cell)).peekable();
        let (mut row, mut cell) = *texts.peek()?;
        let (mut all, mut odd) = (0, 0);
        for (at, text) in texts {
            all += 1;
            if !is_number(text) {
                odd += 1;
                if odd == 1 {
                    (row, cell) = (at, text);
                }
            }
        }
        Some(Self { cells: all, odd, row, cell: cell.to_owned() })
    }

    /// The share of numbers.
    fn share(&self) -> f64 {
        (self.cells - self.odd) as f64 / self.cells as f64
    }

    /// What is wrong with the column, and where.
    fn sentence(&self, ids: &[String]) -> String {
        let Self { cells, odd, row, cell } = self;
        let (id, cell) = (columns::shown(&ids[*row]), columns::shown(cell));
        let (cells, count) = (count(*cells), count(*odd));
        match odd {
            0 => format!("its numbers are written as `{cell}` in row `{id}`"),
            1 => format!("1 of {cells} cells is no number: `{cell}` in row `{id}`"),
            _ => format!(
                "{count} of {cells} cells are no numbers, the first is `{cell}` in row `{id}`"
            ),
        }
    }
}

/// The vectors of a table before they are rows.
enum Vectors<'a> {
    Singles(Matrix),
    Doubles(DoubleRows),
    /// One column per entry.
    Columns(Vec<&'a ColumnData>),
}

impl Table {
    /// Picks the vectors and ids and checks both.
    pub fn into_pool(mut self, select: Select<'_>) -> Result<Pool, TableError> {
        let Select { id, vector, likely, columns, exclude, fitted, missing } = select;
        let wanted = Wanted { id, vector, likely, columns, exclude, fitted };
        // Bad ids are told before a choice among vectors is asked for.
        let id = columns::chosen_id(&self.infos(), &wanted).map_err(|e| self.column_error(e))?;
        let mut ids = self.ids_of(id)?;
        let left_out = self.check_passed_over(&wanted, &ids)?;
        let chosen = Columns::choose(&self.infos(), wanted).map_err(|e| match e {
            ColumnError::NotAVector(at) => self.not_a_vector(at, &ids),
            e => self.column_error(e),
        })?;
        let Columns { vector, carried, unknown, .. } = chosen;
        let id_name = id.map(|at| self.columns[at].name.clone());
        let used = vector.places().to_vec();
        let vector_names: Vec<String> =
            used.iter().map(|&at| self.columns[at].name.clone()).collect();
        let is_list = matches!(vector, VectorColumns::List(_));
        let mut notes = std::mem::take(&mut self.notes);
        if fitted.is_none() && !is_list {
            notes.push(columns::taken_note(vector_names.iter().map(String::as_str)));
            let odd: Vec<(&str, Look)> = used.iter().filter_map(|&at| self.look(at)).collect();
            if !odd.is_empty() {
                notes.push(columns::suspicious_note(&odd));
            }
        }
        notes.extend(left_out);
        if !unknown.is_empty() {
            let names = unknown.iter().map(|&at| self.columns[at].name.as_str());
            notes.push(columns::unknown_note(names));
        }

        let (vectors, valid) = match &vector {
            VectorColumns::List(at) => self.take_list(*at, &ids)?,
            VectorColumns::Numbers(places) => {
                let columns = places.iter().map(|&at| &self.columns[at].data).collect();
                (Vectors::Columns(columns), Vec::new())
            }
        };
        let without = valid.iter().position(|valid| !valid);
        if let Some(row) = without.filter(|_| missing != Missing::Drop) {
            let (column, id) = (vector_names.concat(), ids[row].clone());
            return Err(TableError::MissingVector { path: self.source, column, id });
        }
        let (rows, offset) = vectors.into_rows(self.rows(), fitted.map(|f| f.offset));
        let mut rows = rows.map_err(|problem| TableError::OutOfRange {
            path: self.source.clone(),
            problem: problem.to_string(),
        })?;
        if rows.cols() == 0 {
            let column = vector_names.concat();
            return Err(TableError::NoEntries { path: self.source, column });
        }
        let place = |at: usize| match is_list {
            true => format!(
                "column `{}`, position {at} (counted from 0)",
                columns::shown(&vector_names[0])
            ),
            false => format!("column `{}`", columns::shown(&vector_names[at])),
        };
        let mut dropped = Vec::new();
        match missing {
            Missing::Refuse => {}
            Missing::Mean => {
                let mean = fitted.map(|f| f.mean).filter(|mean| mean.len() == rows.cols());
                let filled = fill(&mut rows, mean).map_err(|at| TableError::NoValues {
                    path: self.source.clone(),
                    place: place(at),
                })?;
                if filled > 0 {
                    let (values, are) =
                        (plural(filled, "missing value"), if filled == 1 { "is" } else { "are" });
                    notes.push(format!("{values} {are} the mean of their column"));
                }
            }
            Missing::Drop => {
                let whole = |row: usize| !rows.row(row).iter().any(|v| v.is_nan());
                let (kept, left): (Vec<usize>, Vec<usize>) =
                    (0..rows.rows()).partition(|&row| whole(row));
                if kept.is_empty() {
                    return Err(TableError::AllDropped { path: self.source, rows: left.len() });
                }
                if !left.is_empty() {
                    let (out, of) = (count(left.len()), plural(rows.rows(), "row"));
                    notes.push(format!("left out {out} of {of}: numbers are missing in them"));
                    dropped = left.iter().map(|&row| std::mem::take(&mut ids[row])).collect();
                    ids = kept.iter().map(|&row| std::mem::take(&mut ids[row])).collect();
                    rows = rows.view().select(kept.iter().copied());
                    self.keep_rows(&kept);
                }
            }
        }
        if let Some((row, at)) = rows.view().first_non_finite() {
            let problem = if rows.row(row)[at].is_nan() {
                "missing or not a number; repair or remove that row, or say what to do with \
                 `--missing drop` or `--missing mean`"
            } else {
                "infinite or too large for a 32-bit float; remove or repair that row"
            };
            let (id, place) = (ids[row].clone(), place(at));
            return Err(TableError::NotFinite { path: self.source, place, id, problem });
        }
        let mut columns: Vec<Option<Column>> = self.columns.into_iter().map(Some).collect();
        let carried = carried.into_iter().filter_map(|at| columns[at].take()).collect();
        let id_column = id.and_then(|at| columns[at].take());
        Ok(Pool { rows, ids, carried, vector_names, id_name, id_column, offset, dropped, notes })
    }

    /// Refuses a column of a text file that is left out of the vector because of a few cells; gives a note about
    /// those of which many cells are numbers.
    fn check_passed_over(
        &self,
        wanted: &Wanted<'_>,
        ids: &[String],
    ) -> Result<Option<String>, TableError> {
        // Elsewhere the file says what is a text.
        if known_format(&self.source).is_none_or(|format| format.layout != Layout::Text) {
            return Ok(None);
        }
        let texts = columns::passed_over(&self.infos(), wanted);
        let mut named = Vec::new();
        for at in texts.map_err(|e| self.column_error(e))? {
            let Some(mixed) = self.mixed(at) else { continue };
            if mixed.share() >= SURELY_NUMERIC {
                return Err(self.not_numbers(at, &mixed, ids, Need::Column));
            }
            if mixed.share() >= PERHAPS_NUMERIC {
                let (name, odd) = (columns::shown(&self.columns[at].name), mixed.sentence(ids));
                named.push(format!("`{name}` ({odd})"));
            }
        }
        let all = named.len();
        named.truncate(NAMED);
        let more = if all > NAMED { format!(", … ({all} in all)") } else { String::new() };
        Ok((all > 0).then(|| format!("left out of the vector: {}{more}", named.join(", "))))
    }

    /// The error for a column that was asked for and holds no numbers.
    fn not_a_vector(&self, at: usize, ids: &[String]) -> TableError {
        match self.mixed(at).filter(|mixed| mixed.share() >= PERHAPS_NUMERIC) {
            Some(mixed) => self.not_numbers(at, &mixed, ids, Need::Cell),
            None => self.column_error(ColumnError::NotAVector(at)),
        }
    }

    fn not_numbers(&self, at: usize, mixed: &Mixed, ids: &[String], need: Need) -> TableError {
        let repair = "correct the file, or empty such cells and say what to do there with \
                      `--missing drop` or `--missing mean`";
        let advice = match (mixed.odd, need) {
            (0, _) => "if that is a decimal comma, say `--decimal ,`".to_owned(),
            (_, Need::Cell) => repair.to_owned(),
            (_, Need::Column) => format!(
                "{repair}; if the column is no measurement, leave it out with `--exclude` \
                 (`--x-exclude`, `--y-exclude`)"
            ),
        };
        let (path, column) = (self.source.clone(), self.columns[at].name.clone());
        TableError::NotNumbers { path, column, detail: mixed.sentence(ids), advice }
    }

    /// How many cells of a column of texts are numbers; none if no cell is, or it is no column of texts.
    fn mixed(&self, at: usize) -> Option<Mixed> {
        match &self.columns[at].data {
            ColumnData::Text(cells) => Mixed::of(cells),
            _ => None,
        }
    }

    /// Why a numeric column does not look like a measurement, with its name.
    fn look(&self, at: usize) -> Option<(&str, Look)> {
        let column = &self.columns[at];
        let look = match &column.data {
            ColumnData::Number(v) | ColumnData::Code { numbers: v, .. } => {
                columns::look(&column.name, v.iter().copied())
            }
            ColumnData::Integer(v) => {
                let number = |v: &Option<i64>| v.map_or(f64::NAN, |v| v as f64);
                columns::look(&column.name, v.iter().map(number))
            }
            _ => None,
        };
        look.map(|look| (column.name.as_str(), look))
    }

    /// The id column, if there is one, and the ids, all different.
    pub(crate) fn unique_ids(
        &self,
        given: Option<&str>,
    ) -> Result<(Option<usize>, Vec<String>), TableError> {
        let found = columns::id_column(&self.infos(), given).map_err(|e| self.column_error(e))?;
        Ok((found, self.ids_of(found)?))
    }

    /// The ids in that column, all different; the numbers of the rows if there is none.
    fn ids_of(&self, column: Option<usize>) -> Result<Vec<String>, TableError> {
        // A file can claim many rows that take no room in it.
        let what =
            format!("`{}`, the ids of {}", self.source.display(), plural(self.rows(), "row"));
        memory::require(what, self.rows() as u64 * 32).map_err(TableError::TooLarge)?;
        let Some(at) = column else {
            return Ok((0..self.rows()).map(|i| i.to_string()).collect());
        };
        let ids = self.ids(at)?;
        self.check_unique(at, &ids)?;
        Ok(ids)
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
        let known = self.columns.iter().map(|c| c.name.as_str());
        found.ok_or_else(|| self.column_error(columns::no_such_column(name, known)))
    }

    /// The same with the file, the names of its columns and what to do.
    fn column_error(&self, error: ColumnError) -> TableError {
        let path = self.source.clone();
        let names =
            |places: &[usize]| list(places.iter().map(|&at| self.columns[at].name.as_str()));
        match error {
            ColumnError::NoSuchColumn { name: column, similar } => {
                TableError::NoSuchColumn { path, column, similar, known: self.known() }
            }
            error @ (ColumnError::NotAsFitted { .. } | ColumnError::Width { .. }) => {
                TableError::NotAsFitted { path, detail: error.to_string(), known: self.known() }
            }
            ColumnError::SameName(column) => TableError::SameName { path, column },
            ColumnError::SeveralIds(places) => {
                TableError::SeveralIds { path, names: names(&places) }
            }
            ColumnError::SeveralVectors(places) => {
                TableError::SeveralVectors { path, names: names(&places) }
            }
            ColumnError::NoVector => {
                let known: Vec<String> = (self.columns.iter().take(20))
                    .map(|c| format!("`{}` ({})", columns::shown(&c.name), c.data.kind()))
                    .collect();
                let more = if self.columns.len() > 20 { ", …" } else { "" };
                TableError::NoVector { path, known: known.join(", ") + more }
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

    /// The vectors of a list column, and which rows have one; empty if all do.
    fn take_list(
        &mut self,
        at: usize,
        ids: &[String],
    ) -> Result<(Vectors<'static>, Vec<bool>), TableError> {
        let (path, column) = (self.source.clone(), self.columns[at].name.clone());
        // Takes the matrix rather than copying it; what stays behind is still a list.
        let nothing = ColumnData::Vector(Matrix::zeros(self.rows(), 0));
        match std::mem::replace(&mut self.columns[at].data, nothing) {
            ColumnData::Vector(rows) => Ok((Vectors::Singles(rows), Vec::new())),
            ColumnData::OptionalVector { values, valid } => Ok((Vectors::Singles(values), valid)),
            ColumnData::DoubleVector { values, valid } => Ok((Vectors::Doubles(values), valid)),
            ColumnData::Ragged { row, expected, got } => {
                let id = ids[row].clone();
                Err(TableError::RaggedVector { path, column, id, expected, got })
            }
            other => Err(TableError::NotAVector { path, column, kind: other.kind().to_string() }),
        }
    }
}

impl Vectors<'_> {
    /// As rows without the offset: that of a model, or the one that the numbers need.
    fn into_rows(
        self,
        rows: usize,
        known: Option<&Offset>,
    ) -> (Result<Matrix, bridged::range::OutOfRange>, Offset) {
        let offset = match (known, &self) {
            (Some(known), _) => known.clone(),
            (None, Self::Singles(_)) => Offset::default(),
            (None, Self::Doubles(values)) => values.sums().offset(),
            (None, Self::Columns(columns)) => {
                let mut sums = ColumnSums::new(columns.len());
                for (j, column) in columns.iter().enumerate() {
                    (0..rows).for_each(|i| sums.see(j, column.number(i)));
                }
                sums.offset()
            }
        };
        let fits = self.check_small(rows, &offset);
        let rows = match self {
            Self::Singles(values) if offset.is_none() => values,
            Self::Singles(values) => {
                let lowered = |i: usize, j: usize| offset.lower(j, f64::from(values.row(i)[j]));
                Matrix::from_fn(values.rows(), values.cols(), lowered)
            }
            Self::Doubles(values) => values.into_singles(&offset),
            Self::Columns(columns) => {
                let lowered = |i: usize, j: usize| offset.lower(j, columns[j].number(i));
                Matrix::from_fn(rows, columns.len(), lowered)
            }
        };
        (fits.map(|()| rows), offset)
    }

    /// Refuses numbers that would all vanish in `f32`.
    fn check_small(&self, rows: usize, offset: &Offset) -> Result<(), bridged::range::OutOfRange> {
        let by = offset.get();
        let mut largest = 0.0f64;
        let mut see = |j: usize, v: f64| {
            let v = (v - by.get(j).copied().unwrap_or(0.0)).abs();
            if v.is_finite() {
                largest = largest.max(v);
            }
            // Numbers of ordinary size end the search.
            v >= 1e-15
        };
        let ordinary = match self {
            Self::Singles(_) => true,
            Self::Doubles(values) => {
                let mut numbers = values.iter_rows().flat_map(|row| row.iter().enumerate());
                numbers.any(|(j, &v)| see(j, v))
            }
            Self::Columns(columns) => (columns.iter().enumerate())
                .any(|(j, column)| (0..rows).any(|i| see(j, column.number(i)))),
        };
        if ordinary { Ok(()) } else { check_largest(largest) }
    }
}

impl ColumnData {
    /// The number in a row of a numeric column; NaN where there is none.
    fn number(&self, row: usize) -> f64 {
        match self {
            Self::Number(v) | Self::Code { numbers: v, .. } => v[row],
            Self::Integer(v) => v[row].map_or(f64::NAN, |v| v as f64),
            _ => f64::NAN,
        }
    }
}

/// Puts the mean of each column where it has a gap; gives how many, or the column without a number.
fn fill(rows: &mut Matrix, mean: Option<&[f32]>) -> Result<usize, usize> {
    let gaps = |rows: &Matrix| rows.data().iter().filter(|v| v.is_nan()).count();
    let count = gaps(rows);
    if count == 0 {
        return Ok(0);
    }
    let mean: Vec<f32> = match mean {
        Some(mean) => mean.to_vec(),
        None => {
            let mut sums = ColumnSums::new(rows.cols());
            for row in rows.view().iter_rows() {
                for (column, &value) in row.iter().enumerate() {
                    sums.see(column, f64::from(value));
                }
            }
            sums.means().into_iter().map(|mean| mean as f32).collect()
        }
    };
    for i in 0..rows.rows() {
        for (value, mean) in rows.row_mut(i).iter_mut().zip(&mean) {
            if value.is_nan() {
                *value = *mean;
            }
        }
    }
    match mean.iter().position(|mean| mean.is_nan()) {
        Some(column) => Err(column),
        None => Ok(count),
    }
}
