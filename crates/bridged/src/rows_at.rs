//! Where the rows of a pool are of which a model holds only some.
//!
//! A model of pools that were read in passes keeps the rows of the pairs and others, evenly spaced, with their names:
//! what a table of links shows, and real rows to answer with. Of all other rows it keeps where they are, so that
//! whoever wants the nearest of all can read them again, and be told when they have changed.

use crate::files::fingerprint;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// The most rows that are kept beside those of the pairs.
pub(crate) const MOST_KEPT: usize = 10_000;

/// Where all rows of a pool are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsAt {
    /// What the pool was named by: files, folders, patterns or addresses.
    pub names: Vec<String>,
    /// The files that this was at the time of the fit, in order.
    pub parts: Vec<PartAt>,
    /// What was done where numbers were missing, by its name; none if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl RowsAt {
    /// The same with a fingerprint of the content of every file on this machine, for which all of it is read.
    pub fn with_fingerprints(mut self) -> io::Result<Self> {
        for part in &mut self.parts {
            if !part.name.contains("://") {
                part.fingerprint = Some(fingerprint(Path::new(&part.name))?);
            }
        }
        Ok(self)
    }
}

/// One file of a pool, and what tells whether it has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartAt {
    /// Its path or address.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was last changed, or the tag of its content, as its store says it; empty if it does not.
    pub stamp: String,
    /// The [fingerprint](crate::files::fingerprint) of its content; none if it was not read for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// Which rows of a pool a model holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// How many rows the pool has.
    pub total: u64,
    /// The numbers of the rows that are held, ascending.
    pub rows: Vec<u64>,
    /// Where all are.
    pub at: RowsAt,
}

impl Kept {
    /// The rows that are kept of `total`: these, and others evenly spaced.
    pub fn choose(total: usize, wanted: impl Iterator<Item = usize>) -> Vec<usize> {
        let spaced = total.min(MOST_KEPT);
        let mut rows: Vec<usize> =
            (0..spaced).map(|at| at * total / spaced).chain(wanted).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_pairs_are_kept_among_others_that_are_evenly_spaced() {
        assert_eq!(Kept::choose(4, [2, 2].into_iter()), [0, 1, 2, 3]);
        let rows = Kept::choose(1_000_000, [777_777, 100].into_iter());
        assert_eq!(rows.len(), MOST_KEPT + 1, "100 is one of those that are evenly spaced");
        assert!(rows.is_sorted() && rows.contains(&777_777));
    }
}
