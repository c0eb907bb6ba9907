//! Why columns cannot be chosen, in sentences.

use super::names::{did_you_mean, shown, similar, some_names};
use bridged_math::words::{count, plural};
use std::fmt;

/// Why columns cannot be chosen. Front ends add the name of the table and what their users can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnError {
    /// A column that was asked for is not there.
    NoSuchColumn {
        /// Its name, or a name with `*` that fits none.
        name: String,
        /// The column that is spelled most like it.
        similar: Option<String>,
    },
    /// Columns that the model was fitted on are not there.
    NotAsFitted {
        /// Their names, each with the column that is spelled most like it.
        missing: Vec<(String, Option<String>)>,
        /// How many the model was fitted on.
        of: usize,
    },
    /// A table of another width than the model's, and no names to go by.
    Width {
        /// Its numeric columns, or the entries of its lists.
        got: usize,
        /// Those of the model.
        need: usize,
    },
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
            Self::NoSuchColumn { name, similar } => {
                write!(f, "there is no column `{}`{}", shown(name), did_you_mean(similar))
            }
            Self::NotAsFitted { missing, of } => f.write_str(&not_as_fitted(missing, *of)),
            Self::Width { got, need } => {
                let (got, need) = (plural(*got, "number"), count(*need));
                write!(f, "its rows have {got}, but the model was fitted on {need}")
            }
            Self::SameName(name) => write!(f, "several columns are called `{}`", shown(name)),
            Self::SeveralIds(_) => f.write_str("several columns could be the id"),
            Self::SeveralVectors(_) => f.write_str("several columns hold vectors"),
            Self::NoVector => f.write_str("no column holds vectors or numbers"),
            Self::NotAVector(_) => f.write_str("a column that was named holds no vectors"),
        }
    }
}

impl std::error::Error for ColumnError {}

fn not_as_fitted(missing: &[(String, Option<String>)], of: usize) -> String {
    let named = some_names(missing.iter().map(|(name, _)| name.as_str()));
    let is = if missing.len() == 1 { "is" } else { "are" };
    let hint = missing.iter().find_map(|(name, similar)| {
        let (name, similar) = (shown(name), similar.as_deref()?);
        Some(format!("; is `{}` your `{name}`?", shown(similar)))
    });
    let hint = hint.unwrap_or_default();
    let of = plural(of, "column");
    format!("the model was fitted on {of}, of which {named} {is} not there{hint}")
}

/// The error for a name that is not among those.
pub fn no_such_column<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> ColumnError {
    ColumnError::NoSuchColumn { name: name.to_owned(), similar: similar(name, known) }
}
