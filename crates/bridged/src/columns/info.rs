//! What the rules of choosing see of a column: its name and what its cells are.

use std::fmt;

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
    /// Not a single value.
    Empty,
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

    /// Whether it can be a vector or a part of one.
    pub(super) fn can_be_vector(&self) -> bool {
        self.is_list() || self.is_numeric() || *self == Self::Empty
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
            Self::Empty => f.write_str("no values"),
            Self::Integer => f.write_str("whole numbers"),
            Self::Float => f.write_str("numbers"),
            Self::Bool => f.write_str("truth values"),
            Self::List(Some(width)) => write!(f, "vectors of {width} entries"),
            Self::List(None) => f.write_str("lists of different lengths"),
            Self::Other(name) => f.write_str(name),
        }
    }
}
