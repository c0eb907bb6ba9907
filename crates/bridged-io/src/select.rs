//! The pool of a table: its vectors, its ids, and what is carried along.
//!
//! Which column is which, [`bridged::columns`] decides. Ids are compared as texts: 12, 12.0 and "12" are one id.

use crate::error::{TableError, list};
use crate::mixed::Mixed;
use crate::source::SourceError;
use crate::table::{Column, ColumnData, Table, TextCells, render_number};
use crate::to_rows::{Vectors, fill};
use bridged::Names;
use bridged::columns::{
    self, ColumnError, ColumnInfo, Columns, Fitted, Look, VectorColumns, Wanted,
};
pub use bridged::columns::{Missing, ROW_NUMBER};
use bridged::offset::Offset;
use bridged_math::words::{count, plural};
use bridged_math::{Matrix, memory};
use std::collections::HashMap;
use std::path::PathBuf;

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

    /// What a model keeps of a pool besides its rows.
    pub fn names(&self) -> Names {
        let texts = self.texts().into_iter().map(Into::into).collect();
        // Rows without ids are called by their numbers, which are not their places where rows were left out.
        let placed = |(at, id): (usize, &String)| id.parse() == Ok(at);
        let plain = self.id_name.is_none() && self.ids.iter().enumerate().all(placed);
        let ids = if plain { Vec::new() } else { self.ids.clone() };
        Names { ids, texts, vector: self.vector_names.clone(), id: self.id_name.clone() }
    }
}

/// As a model takes it.
impl From<Pool> for bridged::Pool {
    fn from(pool: Pool) -> Self {
        let names = pool.names();
        Self { rows: pool.rows, names, offset: pool.offset }
    }
}

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

/// Looks at a column of texts, by its place.
pub(crate) type LookAtTexts<'a> = dyn Fn(usize) -> Result<Option<Mixed>, TableError> + 'a;

/// The columns that were chosen, and what to know about it.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub id: Option<usize>,
    pub vector: VectorColumns,
    pub carried: Vec<usize>,
    pub vector_names: Vec<String>,
    pub id_name: Option<String>,
    pub notes: Vec<String>,
}

/// The error for one id in two rows, each told by its file and its number there.
pub(crate) fn duplicate_id(
    column: &str,
    id: &str,
    first: (PathBuf, usize),
    second: (PathBuf, usize),
) -> TableError {
    let (column, id) = (column.to_owned(), id.to_owned());
    let ((path, first), (other, second)) = (first, second);
    if path == other {
        return TableError::DuplicateId { path, column, id, first, second };
    }
    let (first_row, second_row, first, second) = (first, second, path, other);
    SourceError::DuplicateId { column, id, first, first_row, second, second_row }.into()
}

/// Where an entry of a vector is.
pub(crate) fn entry_place(names: &[String], is_list: bool, at: usize) -> String {
    match is_list {
        true => format!("column `{}`, position {at} (counted from 0)", columns::shown(&names[0])),
        false => format!("column `{}`", columns::shown(&names[at])),
    }
}

/// What is wrong with a number that is not finite, and what to do.
pub(crate) fn not_finite(value: f32) -> &'static str {
    match value.is_nan() {
        true => {
            "missing or not a number; repair or remove that row, or say what to do with \
             `--missing drop` or `--missing mean`"
        }
        false => "infinite or too large for a 32-bit float; remove or repair that row",
    }
}

/// How many gaps were filled.
pub(crate) fn filled_note(filled: usize) -> Option<String> {
    let are = if filled == 1 { "is" } else { "are" };
    let values = plural(filled, "missing value");
    (filled > 0).then(|| format!("{values} {are} the mean of their column"))
}

/// How many rows were left out.
pub(crate) fn dropped_note(left: usize, of: usize) -> String {
    let (out, of) = (count(left), plural(of, "row"));
    format!("left out {out} of {of}: numbers are missing in them")
}

impl Table {
    /// Picks the vectors and ids and checks both.
    pub fn into_pool(mut self, select: Select<'_>) -> Result<Pool, TableError> {
        let Select { fitted, missing, .. } = select;
        let (chosen, mut ids) = self.choose(&select, &|at| Ok(self.mixed(at)))?;
        let Chosen { id, vector, carried, vector_names, id_name, mut notes } = chosen;
        let is_list = matches!(vector, VectorColumns::List(_));
        let (vectors, valid) = match &vector {
            VectorColumns::List(at) => self.take_list(*at, &ids)?,
            VectorColumns::Numbers(places) => {
                let columns = places.iter().map(|&at| &self.columns[at].data).collect();
                (Vectors::Columns(columns), Vec::new())
            }
        };
        let without = valid.iter().position(|valid| !valid);
        if let Some(row) = without.filter(|_| missing != Missing::Drop) {
            let (path, id) = self.named(row, &ids, id.is_some());
            return Err(TableError::MissingVector { path, column: vector_names.concat(), id });
        }
        let offset = fitted.map_or_else(|| vectors.offset(self.rows()), |f| f.offset.clone());
        vectors.check_small(self.rows(), &offset).map_err(|problem| TableError::OutOfRange {
            path: self.source.clone(),
            problem: problem.to_string(),
        })?;
        let mut rows = vectors.into_rows(self.rows(), &offset);
        if rows.cols() == 0 {
            let column = vector_names.concat();
            return Err(TableError::NoEntries { path: self.source, column });
        }
        let place = |at: usize| entry_place(&vector_names, is_list, at);
        // Where the rows that are left were in the table.
        let mut kept_rows = None;
        let mut dropped = Vec::new();
        match missing {
            Missing::Refuse => {}
            Missing::Mean => {
                let mean = fitted.map(|f| f.mean).filter(|mean| mean.len() == rows.cols());
                let filled = fill(&mut rows, mean).map_err(|at| TableError::NoValues {
                    path: self.source.clone(),
                    place: place(at),
                })?;
                notes.extend(filled_note(filled));
            }
            Missing::Drop => {
                let whole = |row: usize| !rows.row(row).iter().any(|v| v.is_nan());
                let (kept, left): (Vec<usize>, Vec<usize>) =
                    (0..rows.rows()).partition(|&row| whole(row));
                if kept.is_empty() {
                    return Err(TableError::AllDropped { path: self.source, rows: left.len() });
                }
                if !left.is_empty() {
                    notes.push(dropped_note(left.len(), rows.rows()));
                    dropped = left.iter().map(|&row| std::mem::take(&mut ids[row])).collect();
                    ids = kept.iter().map(|&row| std::mem::take(&mut ids[row])).collect();
                    rows = rows.view().select(kept.iter().copied());
                    self.keep_rows(&kept);
                    kept_rows = Some(kept);
                }
            }
        }
        if let Some((row, at)) = rows.view().first_non_finite() {
            let problem = not_finite(rows.row(row)[at]);
            let was = kept_rows.as_ref().map_or(row, |kept: &Vec<usize>| kept[row]);
            let (path, number) = self.place_of(was);
            let id = if id.is_some() { ids[row].clone() } else { number.to_string() };
            return Err(TableError::NotFinite { path, place: place(at), id, problem });
        }
        let mut columns: Vec<Option<Column>> = self.columns.into_iter().map(Some).collect();
        let carried = carried.into_iter().filter_map(|at| columns[at].take()).collect();
        let id_column = id.and_then(|at| columns[at].take());
        Ok(Pool { rows, ids, carried, vector_names, id_name, id_column, offset, dropped, notes })
    }

    /// Chooses the columns, and gives the ids of the rows, all different. `mixed` looks at a column of texts.
    pub(crate) fn choose(
        &self,
        select: &Select<'_>,
        mixed: &LookAtTexts<'_>,
    ) -> Result<(Chosen, Vec<String>), TableError> {
        let &Select { id, vector, likely, columns, exclude, fitted, .. } = select;
        // `row` means the row number, unless a column is called so.
        let id = match id {
            Some("row") if self.column("row").is_none() => Some(ROW_NUMBER),
            id => id,
        };
        let wanted = Wanted { id, vector, likely, columns, exclude, fitted };
        // Bad ids are told before a choice among vectors is asked for.
        let id = columns::chosen_id(&self.infos(), &wanted).map_err(|e| self.column_error(e))?;
        let ids = self.ids_of(id)?;
        let left_out = self.check_passed_over(&wanted, &ids, mixed)?;
        let chosen = match Columns::choose(&self.infos(), wanted) {
            Ok(chosen) => chosen,
            Err(ColumnError::NotAVector(at)) => return Err(self.not_a_vector(at, &ids, mixed)?),
            Err(e) => return Err(self.column_error(e)),
        };
        let Columns { vector, carried, unknown, .. } = chosen;
        let id_name = id.map(|at| self.columns[at].name.clone());
        let used = vector.places();
        let vector_names: Vec<String> =
            used.iter().map(|&at| self.columns[at].name.clone()).collect();
        let mut notes = self.notes.clone();
        if fitted.is_none() && !matches!(vector, VectorColumns::List(_)) {
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
        Ok((Chosen { id, vector, carried, vector_names, id_name, notes }, ids))
    }

    /// The file that holds a row, and what the row is called: its id, or its number there.
    fn named(&self, row: usize, ids: &[String], has_ids: bool) -> (PathBuf, String) {
        let (path, number) = self.place_of(row);
        (path, if has_ids { ids[row].clone() } else { number.to_string() })
    }

    /// Refuses a column of a text file that is left out of the vector because of a few cells; gives a note about
    /// those of which many cells are numbers.
    fn check_passed_over(
        &self,
        wanted: &Wanted<'_>,
        ids: &[String],
        mixed: &LookAtTexts<'_>,
    ) -> Result<Option<String>, TableError> {
        // Elsewhere the file says what is a text.
        if !self.guessed {
            return Ok(None);
        }
        let texts = columns::passed_over(&self.infos(), wanted);
        let mut named = Vec::new();
        for at in texts.map_err(|e| self.column_error(e))? {
            let Some(mixed) = mixed(at)? else { continue };
            if mixed.is_sure() {
                return Err(self.not_numbers(at, &mixed, ids, Need::Column));
            }
            if mixed.is_likely() {
                let name = columns::shown(&self.columns[at].name);
                let odd = mixed.sentence(&self.source, ids);
                named.push(format!("`{name}` ({odd})"));
            }
        }
        let all = named.len();
        named.truncate(NAMED);
        let more = if all > NAMED { format!(", … ({all} in all)") } else { String::new() };
        Ok((all > 0).then(|| format!("left out of the vector: {}{more}", named.join(", "))))
    }

    /// The error for a column that was asked for and holds no numbers.
    fn not_a_vector(
        &self,
        at: usize,
        ids: &[String],
        mixed: &LookAtTexts<'_>,
    ) -> Result<TableError, TableError> {
        Ok(match mixed(at)?.filter(Mixed::is_likely) {
            Some(mixed) => self.not_numbers(at, &mixed, ids, Need::Cell),
            None => self.column_error(ColumnError::NotAVector(at)),
        })
    }

    fn not_numbers(&self, at: usize, mixed: &Mixed, ids: &[String], need: Need) -> TableError {
        let repair = "correct the file, or empty such cells and say what to do there with \
                      `--missing drop` or `--missing mean`";
        let advice = match (mixed.is_all_numbers(), need) {
            (true, _) => "if that is a decimal comma, say `--decimal ,`".to_owned(),
            (_, Need::Cell) => repair.to_owned(),
            (_, Need::Column) => format!(
                "{repair}; if the column is no measurement, leave it out with `--exclude` \
                 (`--x-exclude`, `--y-exclude`)"
            ),
        };
        let path = mixed.path().unwrap_or(&self.source).to_path_buf();
        let (column, detail) = (self.columns[at].name.clone(), mixed.sentence(&self.source, ids));
        TableError::NotNumbers { path, column, detail, advice }
    }

    /// How many cells of a column of texts are numbers; none if no cell is, or it is no column of texts.
    pub(crate) fn mixed(&self, at: usize) -> Option<Mixed> {
        let Column { data: ColumnData::Text(cells), of_folder: false, .. } = &self.columns[at]
        else {
            return None;
        };
        let mut mixed = Mixed::default();
        if self.parts.is_empty() {
            mixed.add(cells, &self.source, self.first);
        }
        for (part, (first, path)) in self.parts.iter().enumerate() {
            let end = self.parts.get(part + 1).map_or(cells.len(), |(first, _)| *first);
            mixed.add(&cells[*first..end], path, 0);
        }
        mixed.is_likely().then_some(mixed)
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
        self.ids_where(at, |_| true)
    }

    /// The cells of some rows of a column as ids; the others need not have one.
    pub(crate) fn ids_where(
        &self,
        at: usize,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Vec<String>, TableError> {
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
        for (row, text) in texts.values.into_iter().enumerate().filter(|(row, _)| wanted(*row)) {
            match text {
                Some(id) if !id.is_empty() => ids.push(id),
                _ => {
                    let (path, row) = self.place_of(row);
                    return Err(TableError::NullId { path, column: column.name.clone(), row });
                }
            }
        }
        Ok(ids)
    }

    fn check_unique(&self, at: usize, ids: &[String]) -> Result<(), TableError> {
        let mut seen = HashMap::with_capacity(ids.len());
        for (second, id) in ids.iter().enumerate() {
            if let Some(first) = seen.insert(id.as_str(), second) {
                return Err(duplicate_id(
                    &self.columns[at].name,
                    id,
                    self.place_of(first),
                    self.place_of(second),
                ));
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
                let (path, id) = (self.place_of(row).0, ids[row].clone());
                Err(TableError::RaggedVector { path, column, id, expected, got })
            }
            other => Err(TableError::NotAVector { path, column, kind: other.kind().to_string() }),
        }
    }
}
