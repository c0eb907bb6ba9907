//! What a table may take of the memory: asked before it is read where the file tells, and while it
//! grows where it does not.

use crate::error::TableError;
use bridged_math::memory::{self, TooLarge};
use bridged_math::words::plural;
use std::path::Path;

/// A table that grows by less than this is not looked at.
const STEP: u64 = 64 << 20;

/// The longest line of a text file, unless a memory limit of more than eight times as much was set.
const LINE: u64 = 256 << 20;

/// What a compressed text file may expand to, however small it is.
const EXPANDED: u64 = 1 << 30;

/// How many times its size it may expand to. Text shrinks to a fifth; only one that repeats itself shrinks further.
const RATIO: u64 = 100;

/// Refuses a table that needs more bytes than may be taken.
pub(crate) fn require(path: &Path, rows: u64, bytes: u64) -> Result<(), TableError> {
    let rows = plural(rows as usize, "row");
    let what = format!("`{}`, a table of {rows}", path.display());
    memory::require(what, bytes).map_err(TableError::TooLarge)
}

/// The most bytes that a line of a text file may have.
pub(crate) fn longest_line() -> u64 {
    memory::limit().map_or(LINE, |limit| LINE.max(limit / 8))
}

/// The most bytes that a compressed text file of that size may expand to; a memory limit that was set allows as much.
pub(crate) fn most_expanded(size: u64) -> u64 {
    size.saturating_mul(RATIO).max(EXPANDED).max(memory::limit().unwrap_or(0))
}

/// Counts what a table takes while it grows.
#[derive(Debug, Default)]
pub(crate) struct Room {
    taken: u64,
    granted: u64,
}

impl Room {
    /// This much was granted before.
    pub fn granted(bytes: u64) -> Self {
        Self { taken: 0, granted: bytes }
    }

    /// Takes more; an error if that is not free.
    pub fn take(&mut self, bytes: u64) -> Result<(), TooLarge> {
        self.taken = self.taken.saturating_add(bytes);
        if self.taken > self.granted {
            let more = (self.taken - self.granted).max(STEP);
            memory::require("a table that grows while it is read", more)?;
            self.granted = self.granted.saturating_add(more);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_text_may_expand_a_hundredfold_and_a_small_one_to_a_gigabyte() {
        assert_eq!(most_expanded(15_000_000), 1_500_000_000);
        assert_eq!(most_expanded(1000), 1 << 30);
    }
}
