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
//! Names with `*` choose among the numeric columns (`columns`, `exclude`).
//!
//! **A model** knows the columns that it was fitted on ([`Fitted`]). A table is then read by their names, in whatever
//! order they are: a column that is not there is an error that names it, one that the model does not know is left out
//! and told. Only where a table or the model has no names for the entries (one list) do places decide.
//!
//! **Id**: the column given; else that of the model; else `id`; else the only column that ends in `_id`; else the row's number from 0. Upper
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

use crate::offset::Offset;
use bridged_math::words::{count, plural};
use std::collections::{HashMap, HashSet};
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
    fn can_be_vector(&self) -> bool {
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

/// What the user named; nothing means the rules of this module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
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
    fn names_entries(&self) -> bool {
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

/// Whether a name is that of a pattern in which `*` stands for any letters.
pub fn fits_pattern(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|start| name.strip_prefix(start)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(end) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(end)
}

/// The error for a name that is not among those.
pub fn no_such_column<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> ColumnError {
    ColumnError::NoSuchColumn { name: name.to_owned(), similar: similar(name, known) }
}

/// The name that is spelled most like the one given, if one is.
pub fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // What nobody types is not compared: it costs the product of the lengths.
    if name.len() > 200 {
        return None;
    }
    // `Photo-ID` is `photo_id`.
    let plain = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(name);
    let like = known.filter(|k| !k.is_empty() && k.len() <= 200 && *k != name);
    let score = |k: &str| {
        let k = plain(k);
        // One slip of a finger, as in `fti`, weighs much in a short name.
        let slip = wanted.len() > 2 && strsim::osa_distance(&k, &wanted) == 1;
        strsim::jaro_winkler(&k, &wanted).max(if slip { 0.9 } else { 0.0 })
    };
    let like = like.map(|k| (score(k), k));
    let best = like.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score > 0.8);
    best.map(|(_, k)| k.to_owned())
}

/// The end of a sentence that names an unknown column.
pub fn did_you_mean(similar: &Option<String>) -> String {
    similar.as_ref().map_or(String::new(), |name| format!("; did you mean `{}`?", shown(name)))
}

/// A name or an id as messages show it: at most 80 letters of it.
pub fn shown(name: &str) -> std::borrow::Cow<'_, str> {
    match name.char_indices().nth(80) {
        None => name.into(),
        Some((end, _)) => format!("{}… ({} bytes)", &name[..end], name.len()).into(),
    }
}

/// The first few of those names, and how many there are.
pub fn some_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const FEW: usize = 6;
    let mut names = names.into_iter();
    let first: Vec<String> =
        names.by_ref().take(FEW).map(|name| format!("`{}`", shown(name))).collect();
    match names.count() {
        0 => first.join(", "),
        more => format!("{}, … ({} in all)", first.join(", "), count(FEW + more)),
    }
}

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

fn likely_vector(
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
fn fitted_vector(
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
        return Err(no_such_column(name, table.iter().map(|c| c.name)));
    }
    // A part that is not numeric has a bad cell; leaving it out would shift the others.
    if let Some(&(_, at)) = parts.iter().find(|(_, at)| !table[*at].kind.is_numeric()) {
        return Err(ColumnError::NotAVector(at));
    }
    parts.sort_unstable();
    Ok(VectorColumns::Numbers(parts.into_iter().map(|(_, at)| at).collect()))
}

/// What was taken of a table with one column per number, for a note.
pub fn taken_note<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let columns = plural(names.len(), "numeric column");
    format!("took {columns} as the vector: {}", some_names(names))
}

/// Numeric columns that a model was not fitted on, for a note.
pub fn unknown_note<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    format!("left out what the model was not fitted on: {}", some_names(names))
}

/// Columns that look like ids or counters, for a note: each with why.
pub fn suspicious_note(columns: &[(&str, Look)]) -> String {
    const FEW: usize = 6;
    let one = |(name, look): &(&str, Look)| format!("`{}` ({look})", shown(name));
    let mut named = columns.iter().take(FEW).map(one).collect::<Vec<_>>().join(", ");
    if columns.len() > FEW {
        named += &format!(", … ({} in all)", count(columns.len()));
    }
    let rest = match columns.len() {
        1 => {
            "looks like an id, a counter or a place in time or space, and was taken as a measurement; \
             exclude it if it is none"
        }
        _ => {
            "look like ids, counters or places in time or space, and were taken as measurements; \
             exclude them if they are none"
        }
    };
    format!("{named} {rest}")
}

/// Why a column does not look like a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Each number is the one before plus one.
    Counter,
    /// Whole numbers of which no two are equal.
    Id,
    /// By its name.
    Name,
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counts the rows",
            Self::Id => "whole numbers, all different",
            Self::Name => "by its name",
        })
    }
}

/// Fewer rows than this say nothing about a column.
const ROWS_THAT_TELL: usize = 10;

/// Why a numeric column does not look like a measurement, if it does not.
pub fn look(name: &str, values: impl Iterator<Item = f64> + Clone) -> Option<Look> {
    let whole = values.clone().all(|v| v == v.trunc());
    if whole && values.clone().nth(ROWS_THAT_TELL - 1).is_some() {
        let next = values.clone().skip(1);
        if values.clone().zip(next).all(|(a, b)| b == a + 1.0) {
            return Some(Look::Counter);
        }
        let mut seen = HashSet::new();
        if values.clone().all(|v| seen.insert(v.to_bits())) {
            return Some(Look::Id);
        }
    }
    const NAMES: &[&str] = &[
        "year",
        "month",
        "day",
        "hour",
        "date",
        "time",
        "timestamp",
        "datetime",
        "lat",
        "latitude",
        "lon",
        "lng",
        "long",
        "longitude",
        "index",
        "idx",
        "row",
        "rownum",
        "row_number",
        "number",
        "no",
        "nr",
        "rank",
        "order",
        "id",
        "key",
        "code",
        "zip",
        "postcode",
    ];
    let lower = name.to_lowercase();
    let mut words = lower.split([' ', '_', '-', '.']);
    let named = NAMES.contains(&lower.as_str())
        || words.any(|word| {
            ["year", "latitude", "longitude", "timestamp", "index", "id"].contains(&word)
        });
    named.then_some(Look::Name)
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

    #[test]
    fn a_running_number_does_not_look_like_a_measurement() {
        let counter = (1..=20).map(f64::from);
        assert_eq!(look("n", counter.clone()), Some(Look::Counter));
        assert_eq!(look("n", counter.clone().rev()), Some(Look::Id));
        assert_eq!(look("n", counter.map(|v| v / 7.0)), None);
        assert_eq!(look("n", [0.0, 1.0, 1.0, 3.0].into_iter()), None);
        assert_eq!(look("birth_year", [0.5].into_iter()), Some(Look::Name));
        assert_eq!(look("width", [0.5].into_iter()), None);
    }

    #[test]
    fn long_names_are_cut_in_messages() {
        let long = "é".repeat(5_000_000);
        let error = no_such_column(&long, ["a"].into_iter()).to_string();
        assert!(error.len() < 300, "{}", error.len());
        assert!(error.contains("(10000000 bytes)"), "{error}");
        assert_eq!(some_names(["a", "b"]), "`a`, `b`");
        let many: Vec<String> = (0..1000).map(|i| format!("f{i}")).collect();
        let shown = some_names(many.iter().map(String::as_str));
        assert_eq!(shown, "`f0`, `f1`, `f2`, `f3`, `f4`, `f5`, … (1,000 in all)");
    }

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
