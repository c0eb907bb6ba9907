//! The ids of rows that stay in their files: found and compared without holding all of them.
//!
//! Whether all ids differ is decided by their hashes of 128 bits, 16 bytes per row. Where those do not fit what may be
//! taken, the ids are read several times, and each time only those are looked at whose hash falls into one range. Two
//! hashes that are equal are looked at again as texts, so no id is called a duplicate that is none; that two
//! different ids have one hash, and are then told apart, has a chance of n² / 2¹²⁹.

use super::{Named, StoredRows};
use crate::error::TableError;
use crate::select::duplicate_id;
use crate::source::read_ahead;
use bridged_math::memory;
use bridged_math::rows::Rows;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};

/// Ids that are read at a time.
const PIECE: usize = 1 << 14;

/// What hashes may take at once if nothing says how much memory there is.
const ROOM: u64 = 1 << 30;

impl StoredRows {
    /// Calls `visit` with the ids of all rows in order, a few at a time, with the number of the first of them.
    pub fn scan_ids<E: From<TableError>>(
        &self,
        mut visit: impl FnMut(usize, &[String]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(place) = self.chosen.id else {
            let mut first = 0;
            while first < self.rows() {
                let end = (first + PIECE).min(self.rows());
                let ids: Vec<String> = (first..end).map(|row| self.raw(row).to_string()).collect();
                visit(first, &ids)?;
                first = end;
            }
            return Ok(());
        };
        let narrow = self.narrow([place]);
        let produce =
            |hand_over: &mut dyn FnMut((usize, Vec<String>)) -> Result<(), TableError>| {
                self.passes(&narrow, PIECE, &mut |piece| {
                    let mut ids = piece.table.ids(0)?;
                    let (first, end) = (piece.table.first, piece.table.first + ids.len());
                    let raw = self.firsts[piece.part] + first;
                    let dropped = self.dropped_in(piece.part, first..end);
                    if !dropped.is_empty() {
                        let mut row = raw;
                        ids.retain(|_| {
                            row += 1;
                            dropped.binary_search(&(row - 1)).is_err()
                        });
                    }
                    hand_over((self.kept(raw), ids))
                })
            };
        read_ahead(produce, |(first, ids): (usize, Vec<String>)| visit(first, &ids))
    }

    /// The numbers of the rows that have these ids; an id that no row has is not in it, one that two rows have is an
    /// error. One pass over the ids; in memory are those that were asked for.
    pub fn find_ids(&self, wanted: &HashSet<&str>) -> Result<HashMap<String, usize>, TableError> {
        let mut found: HashMap<String, usize> = HashMap::with_capacity(wanted.len());
        self.scan_ids(|first, ids| {
            for (at, id) in ids.iter().enumerate() {
                if wanted.contains(id.as_str())
                    && let Some(before) = found.insert(id.clone(), first + at)
                {
                    return Err(self.duplicate(id, before, first + at));
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The first few ids.
    pub fn first_ids(&self, count: usize) -> Result<Vec<String>, TableError> {
        let rows: Vec<usize> = (0..self.rows().min(count)).collect();
        Ok(self.pool_of(&rows)?.ids)
    }

    /// Refuses ids of which two are equal. Nothing is read if rows are numbered.
    pub fn check_ids(&self) -> Result<(), TableError> {
        let room = memory::free().map_or(ROOM, |free| free / 4).clamp(1 << 20, ROOM * 8);
        self.check_ids_within(room)
    }

    /// The same with at most about this many bytes for their hashes.
    pub(crate) fn check_ids_within(&self, bytes: u64) -> Result<(), TableError> {
        if self.chosen.id.is_none() {
            return Ok(());
        }
        let rounds = (self.rows() as u64 * 16).div_ceil(bytes.max(1)).max(1);
        for round in 0..rounds {
            let in_round = |hash: u128| ((hash >> 64) as u64) % rounds == round;
            let mut hashes: Vec<u128> = Vec::new();
            self.scan_ids(|_, ids| -> Result<(), TableError> {
                hashes.extend(ids.iter().map(|id| hash(id)).filter(|&hash| in_round(hash)));
                Ok(())
            })?;
            hashes.sort_unstable();
            let twice = hashes.windows(2).filter(|pair| pair[0] == pair[1]);
            let twice: HashSet<u128> = twice.map(|pair| pair[0]).collect();
            drop(hashes);
            if twice.is_empty() {
                continue;
            }
            let mut seen: HashMap<String, usize> = HashMap::new();
            self.scan_ids(|first, ids| {
                for (at, id) in ids.iter().enumerate().filter(|(_, id)| twice.contains(&hash(id))) {
                    if let Some(before) = seen.insert(id.clone(), first + at) {
                        return Err(self.duplicate(id, before, first + at));
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn duplicate(&self, id: &str, first: usize, second: usize) -> TableError {
        let place = |row: usize| {
            let (part, row) = self.part_of(self.raw(row));
            (self.source.parts()[part].name().to_path_buf(), row)
        };
        duplicate_id(self.id_name().unwrap_or("id"), id, place(first), place(second))
    }

    /// What a row of a part is called in messages.
    pub(super) fn name_row(&self, part: usize, row: usize) -> Named {
        let path = self.source.parts()[part].name().to_path_buf();
        let id = self.chosen.id.and_then(|place| {
            let narrow = self.narrow([place]);
            let mut found = None;
            // A row whose id cannot be read either is told by its number.
            let read = self.pass(part, &narrow, 1, Some(&[row]), &mut |piece| {
                found = piece.table.ids(0)?.pop();
                Ok(())
            });
            read.ok().and(found)
        });
        (path, id.unwrap_or_else(|| row.to_string()))
    }
}

/// A hash of 128 bits, the same in every run.
fn hash(id: &str) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(salt);
        hasher.write(id.as_bytes());
        hasher.finish()
    };
    (u128::from(half(1)) << 64) | u128::from(half(2))
}
