//! What the user and a model ask of a table, and the columns that are chosen for it.

use super::error::{ColumnError, no_such_column};
use super::id::chosen_id;
use super::info::{ColumnInfo, ColumnKind};
use super::names::fits_pattern;
use super::vector::{fitted_vector, likely_vector, named_vector};
use crate::offset::Offset;
use std::collections::HashSet;

/// What the user named; nothing means the rules of this module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The id column, or [`ROW_NUMBER`](super::ROW_NUMBER).
    pub id: Option<&'a str>,
    /// The list column, a numeric column, or the common start of numeric columns.
    pub vector: Option<&'a str>,
    /// Among several list columns, the first of these names is taken.
    pub likely: &'a [String],
    /// Only columns that one of these names fits; `*` stands for any letters.
    pub columns: &'a [String],
    /// No column that one of these names fits.
    pub exclude: &'a [String],
    /// What a model was fitted on.
    pub fitted: Option<Fitted<'a>>,
}

/// What a model knows of the pool of a side, for the next table of that side.
#[derive(Clone, Copy, Debug)]
pub struct Fitted<'a> {
    /// The id column.
    pub id: Option<&'a str>,
    /// The columns of the vector: one for a list; empty if they had no names.
    pub vector: &'a [String],
    /// The entries of a vector.
    pub cols: usize,
    /// What was taken off the columns.
    pub offset: &'a Offset,
    /// The mean of the pool without that offset.
    pub mean: &'a [f32],
}

impl Fitted<'_> {
    /// Whether each entry has a name of its own.
    pub(super) fn names_entries(&self) -> bool {
        self.vector.len() == self.cols && !self.vector.is_empty()
    }
}

/// What is done where a number is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// It is an error.
    #[default]
    Refuse,
    /// The row is left out.
    Drop,
    /// The mean of the column stands in: of the table at a fit, of the model's pool afterwards.
    Mean,
}

impl Missing {
    /// What a choice can be called.
    pub const NAMES: [&str; 3] = ["refuse", "drop", "mean"];

    /// The choice of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "refuse" => Some(Self::Refuse),
            "drop" => Some(Self::Drop),
            "mean" => Some(Self::Mean),
            _ => None,
        }
    }

    /// What this one is called.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The columns that were chosen, by their place in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The id; none if rows are numbered.
    pub id: Option<usize>,
    /// The vector.
    pub vector: VectorColumns,
    /// Those that are carried along as text.
    pub carried: Vec<usize>,
    /// Numeric columns that the model was not fitted on.
    pub unknown: Vec<usize>,
}

/// Where the vectors are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VectorColumns {
    /// In one column of lists.
    List(usize),
    /// In one column per entry, in this order.
    Numbers(Vec<usize>),
}

impl VectorColumns {
    /// The columns in order.
    pub fn places(&self) -> &[usize] {
        match self {
            Self::List(at) => std::slice::from_ref(at),
            Self::Numbers(places) => places,
        }
    }
}

impl Columns {
    /// Chooses among the columns of a table.
    pub fn choose(table: &[ColumnInfo<'_>], wanted: Wanted<'_>) -> Result<Self, ColumnError> {
        let id = chosen_id(table, &wanted)?;
        let allowed = allowed(table, &wanted)?;
        let candidates = |at: &usize| Some(*at) != id && allowed[*at];
        let mut unknown = Vec::new();
        let vector = match (wanted.vector, wanted.fitted) {
            (Some(name), _) => named_vector(table, name)?,
            (None, Some(fitted)) if wanted.columns.is_empty() && !fitted.vector.is_empty() => {
                let (vector, rest) = fitted_vector(table, &candidates, &wanted, fitted)?;
                unknown = rest;
                vector
            }
            _ => likely_vector(table, &candidates, wanted.likely)?,
        };
        let used: HashSet<usize> = vector.places().iter().copied().collect();
        let carried = (0..table.len())
            .filter(|at| Some(*at) != id && !used.contains(at))
            .filter(|&at| table[at].kind.is_shown())
            .collect();
        Ok(Self { id, vector, carried, unknown })
    }
}

/// Columns of texts that would belong to the vector if they held numbers: none where the vector is a list, is named, or
/// is that of a model. Of a file whose types are guessed from its cells, such a column may be one with a bad cell.
pub fn passed_over(
    table: &[ColumnInfo<'_>],
    wanted: &Wanted<'_>,
) -> Result<Vec<usize>, ColumnError> {
    let of_model = wanted.fitted.is_some_and(|f| f.names_entries()) && wanted.columns.is_empty();
    if wanted.vector.is_some() || of_model {
        return Ok(Vec::new());
    }
    let (id, allowed) = (chosen_id(table, wanted)?, allowed(table, wanted)?);
    let candidates = || (0..table.len()).filter(|at| Some(*at) != id && allowed[*at]);
    if candidates().any(|at| table[at].kind.is_list()) {
        return Ok(Vec::new());
    }
    Ok(candidates().filter(|&at| table[at].kind == ColumnKind::Text).collect())
}

/// Which columns may belong to the vector by the names that choose and exclude; a name that fits no
/// column is an error.
fn allowed(table: &[ColumnInfo<'_>], wanted: &Wanted<'_>) -> Result<Vec<bool>, ColumnError> {
    let mut fits = vec![wanted.columns.is_empty(); table.len()];
    for (patterns, value) in [(wanted.columns, true), (wanted.exclude, false)] {
        for pattern in patterns {
            let mut found = false;
            for (at, column) in table.iter().enumerate() {
                if fits_pattern(column.name, pattern) {
                    (fits[at], found) = (value, true);
                    // Asked for by its whole name, it must be what can be taken.
                    if value && column.name == pattern && !column.kind.can_be_vector() {
                        return Err(ColumnError::NotAVector(at));
                    }
                }
            }
            if !found {
                return Err(no_such_column(pattern, table.iter().map(|c| c.name)));
            }
        }
    }
    Ok(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::similar;

    fn floats<'a>(names: &[&'a str]) -> Vec<ColumnInfo<'a>> {
        names.iter().map(|name| ColumnInfo { name, kind: ColumnKind::Float }).collect()
    }

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_with_stars_choose_and_exclude_columns() {
        let table = floats(&["id", "f1", "f2", "year", "g1"]);
        let choose = |columns: &[&str], exclude: &[&str]| {
            let (columns, exclude) = (strings(columns), strings(exclude));
            let wanted = Wanted { columns: &columns, exclude: &exclude, ..Wanted::default() };
            Columns::choose(&table, wanted).map(|found| found.vector.places().to_vec())
        };
        assert_eq!(choose(&["f*"], &[]), Ok(vec![1, 2]));
        assert_eq!(choose(&["g1", "f*"], &["*2"]), Ok(vec![1, 4]));
        assert_eq!(choose(&[], &["year"]), Ok(vec![1, 2, 4]));
        let typo = choose(&[], &["yaer"]).unwrap_err().to_string();
        assert_eq!(typo, "there is no column `yaer`; did you mean `year`?");
        assert_eq!(similar("photoid", ["f1", "Photo_ID"].into_iter()).as_deref(), Some("Photo_ID"));
        assert!(choose(&["q*"], &[]).is_err());
        for (name, pattern) in [("abc", "a*c"), ("abc", "*"), ("abc", "*b*"), ("ac", "a*c")] {
            assert!(fits_pattern(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("abc", "ab"), ("abc", "b*"), ("a", "a*a"), ("abc", "*d*")] {
            assert!(!fits_pattern(name, pattern), "{name} {pattern}");
        }
    }

    #[test]
    fn the_vector_that_was_named_is_not_the_id() {
        let column = |name| ColumnInfo { name, kind: ColumnKind::Integer };
        let table = [column("f_id"), column("g")];
        let choose =
            |id, vector| Columns::choose(&table, Wanted { id, vector, ..Wanted::default() });
        assert_eq!(choose(None, None).unwrap().id, Some(0));
        assert_eq!(choose(None, Some("f_id")).unwrap().id, None);
        assert_eq!(choose(None, Some("g")).unwrap().id, Some(0));
        assert_eq!(choose(Some("f_id"), Some("f_id")).unwrap().id, Some(0), "as was said");
    }
}
