//! Which column of a table is the id, which hold the vector, and which are carried along.
//!
//! The rule sees descriptions of columns only, so it is the same for files and for data frames, whatever library holds
//! the cells.
//!
//! **Vector**: the list column if there is one; otherwise all numeric columns but the id, in the order of the table,
//! whatever they are called: a column `label` of numbers counts as a measurement, so store it as text or name the
//! vector. Columns without a name and pandas' `__index_level_0__` are numberings, not measurements. Among several list
//! columns the first that the caller calls likely is taken. A given name may be that of a list column, of one numeric
//! column, or the common start of `name_0`, `name_1`, … (or `name0`, `name1`, …).
//!
//! **Id**: the column given; else `id`; else the only column that ends in `_id`; else the row's number from 0. Upper
//! and lower case are alike.
//!
//! **Carried**: every other column that can be shown as text: texts, numbers and truth values.
//!
//! ```
//! use bridged::columns::{ColumnInfo, ColumnKind, Columns, VectorColumns, Wanted};
//!
//! let column = |name, kind| ColumnInfo { name, kind };
//! let table = [
//!     column("photo_id", ColumnKind::Integer),
//!     column("width", ColumnKind::Float),
//!     column("name", ColumnKind::Text),
//!     column("height", ColumnKind::Float),
//! ];
//! let chosen = Columns::choose(&table, Wanted::default())?;
//! assert_eq!(chosen.id, Some(0));
//! assert_eq!(chosen.vector, VectorColumns::Numbers(vec![1, 3]));
//! assert_eq!(chosen.carried, [2]);
//! # Ok::<(), bridged::columns::ColumnError>(())
//! ```

use std::fmt;

/// As the name of the id column: take no column, number the rows from 0.
pub const ROW_NUMBER: &str = "#row";

/// A column, without its cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo<'a> {
    /// Its name; empty if it has none.
    pub name: &'a str,
    /// What it holds.
    pub kind: ColumnKind,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Texts, and what is shown as text, such as times.
    Text,
    /// Whole numbers.
    Integer,
    /// Real numbers.
    Float,
    /// Truth values, which are shown as text.
    Bool,
    /// Lists of numbers: of one length, or of several if it is none.
    List(Option<usize>),
    /// Anything else, by the name of its type; it is skipped.
    Other(String),
}

impl ColumnKind {
    /// Whether a cell is a list of numbers.
    pub fn is_list(&self) -> bool {
        matches!(self, Self::List(_))
    }

    /// Whether a cell is a number.
    pub fn is_numeric(&self) -> bool {
        matches!(self, Self::Integer | Self::Float)
    }

    /// Whether a cell can be shown as text.
    pub fn is_shown(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Other(_))
    }
}

/// In a few words, to follow "it holds".
impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("texts"),
            Self::Integer => f.write_str("whole numbers"),
            Self::Float => f.write_str("numbers"),
            Self::Bool => f.write_str("truth values"),
            Self::List(Some(width)) => write!(f, "vectors of {width} entries"),
            Self::List(None) => f.write_str("lists of different lengths"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// What the user named; nothing means the rules of this module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The id column, or [`ROW_NUMBER`].
    pub id: Option<&'a str>,
    /// The list column, a numeric column, or the common start of numeric columns.
    pub vector: Option<&'a str>,
    /// Among several list columns, the first of these names is taken.
    pub likely: &'a [String],
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

/// Why columns cannot be chosen. Front ends add the name of the table and what their users can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnError {
    /// A column that was asked for is not there.
    NoSuchColumn(String),
    /// A name that two columns share.
    SameName(String),
    /// More than one column could be the id: their places.
    SeveralIds(Vec<usize>),
    /// More than one list column and none was named: their places.
    SeveralVectors(Vec<usize>),
    /// No list column and no numeric column.
    NoVector,
    /// A column that cannot serve as a vector: its place.
    NotAVector(usize),
}

/// In a sentence without names of columns; front ends know more.
impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchColumn(name) => write!(f, "there is no column `{name}`"),
            Self::SameName(name) => write!(f, "several columns are called `{name}`"),
            Self::SeveralIds(_) => f.write_str("several columns could be the id"),
            Self::SeveralVectors(_) => f.write_str("several columns hold vectors"),
            Self::NoVector => f.write_str("no column holds vectors or numbers"),
            Self::NotAVector(_) => f.write_str("a column that was named holds no vectors"),
        }
    }
}

impl std::error::Error for ColumnError {}

impl Columns {
    /// Chooses among the columns of a table.
    pub fn choose(table: &[ColumnInfo<'_>], wanted: Wanted<'_>) -> Result<Self, ColumnError> {
        let id = id_column(table, wanted.id)?;
        let vector = match wanted.vector {
            Some(name) => named_vector(table, name)?,
            None => likely_vector(table, id, wanted.likely)?,
        };
        let carried = (0..table.len())
            .filter(|at| Some(*at) != id && !vector.places().contains(at))
            .filter(|&at| table[at].kind.is_shown())
            .collect();
        Ok(Self { id, vector, carried })
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
        return found.map(Some).ok_or_else(|| ColumnError::NoSuchColumn(name.to_owned()));
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

fn likely_vector(
    table: &[ColumnInfo<'_>],
    id: Option<usize>,
    likely: &[String],
) -> Result<VectorColumns, ColumnError> {
    let which = |fits: fn(&ColumnInfo<'_>) -> bool| -> Vec<usize> {
        (0..table.len()).filter(|&at| Some(at) != id && fits(&table[at])).collect()
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

fn named_vector(table: &[ColumnInfo<'_>], name: &str) -> Result<VectorColumns, ColumnError> {
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
        return Err(ColumnError::NoSuchColumn(name.to_owned()));
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

/// The columns of a table of pairs, that of x first: `x_id` and `y_id`, or `x` and `y`, in any order and among any
/// others; else the only two there are. None if that cannot be told.
pub fn pair_columns(names: &[&str]) -> Option<[usize; 2]> {
    for wanted in [["x_id", "y_id"], ["x", "y"]] {
        let found = wanted.map(|w| {
            let mut fits = (0..names.len()).filter(|&at| names[at].eq_ignore_ascii_case(w));
            // Two columns of the name say nothing.
            fits.next().filter(|_| fits.next().is_none())
        });
        if let [Some(x), Some(y)] = found {
            return Some([x, y]);
        }
    }
    (names.len() == 2).then_some([0, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_column_is_x_before_the_order_does() {
        assert_eq!(pair_columns(&["a", "b"]), Some([0, 1]));
        assert_eq!(pair_columns(&["y_id", "x_id"]), Some([1, 0]));
        assert_eq!(pair_columns(&["note", "Y", "X"]), Some([2, 1]));
        assert_eq!(pair_columns(&["a", "b", "c"]), None);
        assert_eq!(pair_columns(&["a"]), None);
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
