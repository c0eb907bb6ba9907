//! Columns that do not look like measurements: counters, ids, places in time or space.

use std::collections::HashSet;
use std::fmt;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
