//! Which columns hold the vector: those that were named, those of a model, or those that look like it.

use super::choose::{Fitted, VectorColumns, Wanted};
use super::error::{ColumnError, no_such_column};
use super::id::position;
use super::info::{ColumnInfo, ColumnKind};
use super::names::similar;
use std::collections::{HashMap, HashSet};

/// The only list column or a likely one; without any, all numeric columns.
pub(super) fn likely_vector(
    table: &[ColumnInfo<'_>],
    candidates: &dyn Fn(&usize) -> bool,
    likely: &[String],
) -> Result<VectorColumns, ColumnError> {
    let which = |fits: fn(&ColumnInfo<'_>) -> bool| -> Vec<usize> {
        (0..table.len()).filter(|at| candidates(at) && fits(&table[*at])).collect()
    };
    let lists = which(|c| c.kind.is_list());
    match lists.as_slice() {
        [] => {}
        [at] => return Ok(VectorColumns::List(*at)),
        several => {
            let is_one = |name: &&String| several.iter().any(|&at| table[at].name == **name);
            return match likely.iter().find(is_one) {
                Some(name) => named_vector(table, name),
                None => Err(ColumnError::SeveralVectors(lists)),
            };
        }
    }
    let numbers = which(|c| c.kind.is_numeric() && !is_numbering(c.name));
    if numbers.is_empty() {
        return Err(ColumnError::NoVector);
    }
    Ok(VectorColumns::Numbers(numbers))
}

/// The columns that a model was fitted on, and the numeric columns that it does not know.
pub(super) fn fitted_vector(
    table: &[ColumnInfo<'_>],
    candidates: &dyn Fn(&usize) -> bool,
    wanted: &Wanted<'_>,
    fitted: Fitted<'_>,
) -> Result<(VectorColumns, Vec<usize>), ColumnError> {
    let likely: Vec<String> = fitted.vector.iter().chain(wanted.likely).cloned().collect();
    let by_place = || -> Result<(VectorColumns, Vec<usize>), ColumnError> {
        let vector = likely_vector(table, candidates, &likely)?;
        let got = match &vector {
            VectorColumns::List(at) => match table[*at].kind {
                ColumnKind::List(Some(width)) => width,
                // Its lengths differ or are not known yet; whoever takes the rows tells.
                _ => fitted.cols,
            },
            VectorColumns::Numbers(places) => places.len(),
        };
        match got == fitted.cols {
            true => Ok((vector, Vec::new())),
            false => Err(ColumnError::Width { got, need: fitted.cols }),
        }
    };
    if !fitted.names_entries() {
        // The model saw one list. Its parts may be columns here, as CSV has them.
        let [name] = fitted.vector else { return by_place() };
        return match position(table, name)? {
            Some(at) if table[at].kind.is_list() => Ok((VectorColumns::List(at), Vec::new())),
            None if table.iter().any(|c| part_number(c.name, name).is_some()) => {
                Ok((named_vector(table, name)?, Vec::new()))
            }
            _ => by_place(),
        };
    }
    let mut places = HashMap::with_capacity(table.len());
    let mut twice = HashSet::new();
    for (at, column) in table.iter().enumerate() {
        if places.insert(column.name, at).is_some() {
            twice.insert(column.name);
        }
    }
    let known = |name: &String| places.contains_key(name.as_str());
    let has_list = (0..table.len()).any(|at| candidates(&at) && table[at].kind.is_list());
    if has_list && !fitted.vector.iter().any(known) {
        return by_place();
    }
    let missing: Vec<&String> = fitted.vector.iter().filter(|name| !known(name)).collect();
    if !missing.is_empty() {
        let names: HashSet<&str> = fitted.vector.iter().map(String::as_str).collect();
        let others: Vec<&str> =
            table.iter().map(|c| c.name).filter(|name| !names.contains(name)).collect();
        // Hints for the few that are shown.
        let hint = |(i, name): (usize, &&String)| {
            let like =
                (i < 6 && others.len() < 10_000).then(|| similar(name, others.iter().copied()));
            ((*name).clone(), like.flatten())
        };
        let missing = missing.iter().enumerate().map(hint).collect();
        return Err(ColumnError::NotAsFitted { missing, of: fitted.vector.len() });
    }
    let mut chosen = Vec::with_capacity(fitted.vector.len());
    for name in fitted.vector {
        if twice.contains(name.as_str()) {
            return Err(ColumnError::SameName(name.clone()));
        }
        let at = places[name.as_str()];
        if !table[at].kind.is_numeric() && table[at].kind != ColumnKind::Empty {
            // A single entry may be a list of one.
            if fitted.cols == 1 && table[at].kind.is_list() {
                return Ok((VectorColumns::List(at), Vec::new()));
            }
            return Err(ColumnError::NotAVector(at));
        }
        chosen.push(at);
    }
    let used: HashSet<usize> = chosen.iter().copied().collect();
    let unknown = (0..table.len())
        .filter(|at| candidates(at) && !used.contains(at))
        .filter(|&at| table[at].kind.is_numeric() && !is_numbering(table[at].name))
        .collect();
    Ok((VectorColumns::Numbers(chosen), unknown))
}

/// The column of that name, or the numbered parts that begin with it.
pub(super) fn named_vector(
    table: &[ColumnInfo<'_>],
    name: &str,
) -> Result<VectorColumns, ColumnError> {
    if let Some(at) = position(table, name)? {
        return match &table[at].kind {
            kind if kind.is_list() => Ok(VectorColumns::List(at)),
            kind if kind.is_numeric() => Ok(VectorColumns::Numbers(vec![at])),
            _ => Err(ColumnError::NotAVector(at)),
        };
    }
    let mut parts: Vec<(u64, usize)> = (table.iter().enumerate())
        .filter_map(|(at, column)| Some((part_number(column.name, name)?, at)))
        .collect();
    if parts.is_empty() {
        return Err(no_such_column(name, table.iter().map(|c| c.name)));
    }
    // A part that is not numeric has a bad cell; leaving it out would shift the others.
    if let Some(&(_, at)) = parts.iter().find(|(_, at)| !table[*at].kind.is_numeric()) {
        return Err(ColumnError::NotAVector(at));
    }
    parts.sort_unstable();
    Ok(VectorColumns::Numbers(parts.into_iter().map(|(_, at)| at).collect()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Columns;
    use crate::offset::Offset;

    fn floats<'a>(names: &[&'a str]) -> Vec<ColumnInfo<'a>> {
        names.iter().map(|name| ColumnInfo { name, kind: ColumnKind::Float }).collect()
    }

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn fitted_choice(table: &[ColumnInfo<'_>], vector: &[&str]) -> Result<Columns, ColumnError> {
        let (vector, offset, cols) = (strings(vector), Offset::default(), vector.len());
        let fitted = Fitted { id: None, vector: &vector, cols, offset: &offset, mean: &[] };
        Columns::choose(table, Wanted { fitted: Some(fitted), ..Wanted::default() })
    }

    #[test]
    fn a_model_finds_its_columns_by_name_in_any_order() {
        let found = fitted_choice(&floats(&["c", "extra", "a", "b"]), &["a", "b", "c"]).unwrap();
        assert_eq!(found.vector, VectorColumns::Numbers(vec![2, 3, 0]));
        assert_eq!((found.unknown, found.carried), (vec![1], vec![1]));
    }

    #[test]
    fn a_column_of_the_model_that_is_missing_is_named_with_the_nearest_spelling() {
        let error = fitted_choice(&floats(&["a", "width_mm", "c"]), &["a", "width", "c"]);
        assert_eq!(
            error.unwrap_err().to_string(),
            "the model was fitted on 3 columns, of which `width` is not there; is `width_mm` your \
             `width`?"
        );
    }

    #[test]
    fn where_there_are_no_names_places_and_the_width_decide() {
        let list = [ColumnInfo { name: "value", kind: ColumnKind::List(Some(3)) }];
        let found = fitted_choice(&list, &["a", "b", "c"]).unwrap();
        assert_eq!(found.vector, VectorColumns::List(0));
        let error = fitted_choice(&list, &["a", "b"]).unwrap_err();
        assert_eq!(error, ColumnError::Width { got: 3, need: 2 });
        // A model of lists reads their parts in the order of their numbers.
        let parts = floats(&["value_1", "value_0"]);
        let (vector, offset) = (strings(&["value"]), Offset::default());
        let fitted = Fitted { id: None, vector: &vector, cols: 2, offset: &offset, mean: &[] };
        let wanted = Wanted { fitted: Some(fitted), ..Wanted::default() };
        let found = Columns::choose(&parts, wanted).unwrap();
        assert_eq!(found.vector, VectorColumns::Numbers(vec![1, 0]));
    }

    #[test]
    fn numbered_parts_are_known_by_their_start() {
        assert_eq!(part_number("value_7", "value"), Some(7));
        assert_eq!(part_number("value12", "value"), Some(12));
        assert_eq!(part_number("value_", "value"), None);
        assert_eq!(part_number("value_x", "value"), None);
        assert_eq!(part_number("other_7", "value"), None);
    }
}
