//! What to know about the columns that were taken, in a sentence each.

use super::look::Look;
use super::names::{shown, some_names};
use bridged_math::words::{count, plural};

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
