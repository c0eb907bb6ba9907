//! Which column is the id.

use super::choose::{Fitted, Wanted};
use super::error::{ColumnError, no_such_column};
use super::info::ColumnInfo;

/// As the name of the id column: take no column, number the rows from 0.
pub const ROW_NUMBER: &str = "#row";

/// The id column: the one given, the model's if it is there, or the one that its name tells.
pub fn chosen_id(
    table: &[ColumnInfo<'_>],
    wanted: &Wanted<'_>,
) -> Result<Option<usize>, ColumnError> {
    if let (None, Some(Fitted { id: Some(name), .. })) = (wanted.id, wanted.fitted)
        && let Some(at) = position(table, name)?
    {
        return Ok(Some(at));
    }
    let found = id_column(table, wanted.id)?;
    // What was named as the vector is not the id because of its name.
    let is_vector = |at: &usize| wanted.id.is_none() && wanted.vector == Some(table[*at].name);
    Ok(found.filter(|at| !is_vector(at)))
}

/// The id column: the one given, or the one that its name tells.
pub fn id_column(
    table: &[ColumnInfo<'_>],
    given: Option<&str>,
) -> Result<Option<usize>, ColumnError> {
    if let Some(name) = given {
        if name == ROW_NUMBER {
            return Ok(None);
        }
        let found = position(table, name)?;
        return found.map(Some).ok_or_else(|| no_such_column(name, table.iter().map(|c| c.name)));
    }
    if let Some(at) = position(table, "id")? {
        return Ok(Some(at));
    }
    let named = |fits: fn(&str) -> bool| -> Vec<usize> {
        (0..table.len()).filter(|&at| fits(&table[at].name.to_lowercase())).collect()
    };
    let mut found = named(|name| name == "id");
    if found.is_empty() {
        found = named(|name| name.ends_with("_id"));
    }
    match found.as_slice() {
        [] => Ok(None),
        [at] => Ok(Some(*at)),
        _ => Err(ColumnError::SeveralIds(found)),
    }
}

/// The place of the column of that name; an error if more than one has it.
pub fn position(table: &[ColumnInfo<'_>], name: &str) -> Result<Option<usize>, ColumnError> {
    let mut found = (0..table.len()).filter(|&at| table[at].name == name);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(ColumnError::SameName(name.to_owned())),
        (first, _) => Ok(first),
    }
}
