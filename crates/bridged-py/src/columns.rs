//! Which columns of a table are the id and the vector: the core's rule, on names and kinds alone.

use bridged::columns::{
    self, ColumnError, ColumnInfo, ColumnKind, Columns, Fitted, Look, ROW_NUMBER, Wanted,
};
use bridged::offset::Offset;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The places of the id, of the vector's columns and of the columns that are carried along, and a note
/// on columns that the model was not fitted on.
type Chosen = (Option<usize>, Vec<usize>, Vec<usize>, Option<String>);

/// What a model was fitted on: the names of the vector's columns, and its width.
type FittedOn = (Vec<String>, usize);

/// `text`, `integer`, `float`, `bool` or `list`; whatever else is the name of a type that is skipped.
fn kind(name: &str) -> ColumnKind {
    match name {
        "text" => ColumnKind::Text,
        "integer" => ColumnKind::Integer,
        "float" => ColumnKind::Float,
        "bool" => ColumnKind::Bool,
        "list" => ColumnKind::List(None),
        other => ColumnKind::Other(other.to_owned()),
    }
}

/// Chooses the columns of one side, given as (name, kind). Without `numbered` a column may be the id.
#[pyfunction]
pub fn choose_columns(
    table: Vec<(String, String)>,
    side: String,
    numbered: bool,
    fitted: Option<FittedOn>,
) -> PyResult<Chosen> {
    let infos: Vec<ColumnInfo<'_>> =
        table.iter().map(|(name, k)| ColumnInfo { name, kind: kind(k) }).collect();
    let likely = [side];
    let offset = Offset::default();
    let fitted = fitted.as_ref().map(|(vector, cols)| Fitted {
        id: None,
        vector,
        cols: *cols,
        offset: &offset,
        mean: &[],
    });
    let wanted =
        Wanted { id: numbered.then_some(ROW_NUMBER), likely: &likely, fitted, ..Wanted::default() };
    let Columns { id, vector, carried, unknown } =
        Columns::choose(&infos, wanted).map_err(|e| sentence(&e, &infos, &likely[0]))?;
    let names = unknown.iter().map(|&at| infos[at].name);
    let note = (!unknown.is_empty()).then(|| columns::unknown_note(names));
    Ok((id, vector.places().to_vec(), carried, note))
}

/// A note on numeric columns that look like ids or counters, if there are such.
#[pyfunction]
pub fn suspicious_note(table: Vec<(String, PyReadonlyArray1<'_, f64>)>) -> Option<String> {
    let look = |(name, values): &(String, PyReadonlyArray1<'_, f64>)| {
        columns::look(name, values.as_array().iter().copied())
    };
    let found: Vec<(&str, Look)> =
        table.iter().filter_map(|column| Some((column.0.as_str(), look(column)?))).collect();
    (!found.is_empty()).then(|| columns::suspicious_note(&found))
}

/// The error in a sentence for people who hold a table in memory.
fn sentence(error: &ColumnError, table: &[ColumnInfo<'_>], side: &str) -> PyErr {
    let names =
        |places: &[usize]| places.iter().map(|&at| table[at].name).collect::<Vec<_>>().join(", ");
    PyValueError::new_err(match error {
        ColumnError::SeveralIds(places) => {
            let names = names(places);
            format!("{side}: several columns could be the id: {names}; give the ids by name")
        }
        ColumnError::SeveralVectors(places) => {
            format!("{side} has several columns of vectors: {}; leave one", names(places))
        }
        ColumnError::NoVector => {
            let all: Vec<usize> = (0..table.len()).collect();
            format!("{side} has no column of numbers or vectors; it has {}", names(&all))
        }
        other => format!("{side}: {other}"),
    })
}

/// The places of the columns of x and y in a table of pairs; none if that cannot be told.
#[pyfunction]
pub fn pair_columns(names: Vec<String>) -> Option<(usize, usize)> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    columns::pair_columns(&names).map(|[x, y]| (x, y))
}
