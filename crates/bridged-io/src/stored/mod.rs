//! Rows that stay in their files and are read in passes: [`bridged_math::Rows`] over a [`Source`].
//!
//! What [`Table::into_pool`] decides of a table in memory is decided here once, when the source is opened: which
//! column is the id and which hold the vector, what is taken off the columns, what stands in for gaps and which rows
//! are left out. Then every pass gives the rows that the pool in memory would have, to the bit.
//!
//! **Cost.** Opening reads footers and headers alone if rows are 32-bit floats without gaps to look for; text files
//! are read once, and 64-bit numbers once more, because what is taken off a column follows from all of it. A pass
//! decodes only the columns of the vector, a few megabytes at a time, on a thread that is at most two pieces ahead of
//! whoever computes. In memory are those pieces, eight bytes per row that is left out, and nothing else.

mod batch;
mod ids;
mod open;
mod scratch;

use crate::ReadOptions;
use crate::error::TableError;
use crate::pass::Pass;
use crate::select::{Chosen, Pool};
use crate::source::part::Place;
use crate::source::{Part, Source, SourceError, Stack, Surveyed, read_ahead};
use crate::table::Table;
use bridged::columns::Missing;
use bridged::offset::Offset;
use bridged::{PartAt, RowsAt};
use bridged_math::rows::{Rows, RowsError, Visit};
use bridged_math::{Matrix, MatrixRef, memory};
pub use scratch::check_scratch;
use scratch::{Scratch, Writing};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The bytes of a piece that a pass hands out, where there is no limit of memory; else this part of it. About five
/// pieces are held at once: the one that is computed with, one that waits, and three shapes of the next.
const PIECE: usize = 8 << 20;
const PART_OF_LIMIT: u64 = 64;

/// The rows of a piece at most: a kernel has enough to do with them.
const PIECE_ROWS: usize = 1 << 16;

/// Vectors of a source, left where they are. See the [module](crate::source) for an example.
#[derive(Debug)]
pub struct StoredRows {
    source: Source,
    separator: Option<u8>,
    decimal: Option<char>,
    surveyed: Surveyed,
    /// The first row of each part, and the end.
    firsts: Vec<usize>,
    chosen: Chosen,
    cols: usize,
    offset: Offset,
    missing: Missing,
    /// What stands in for gaps, one number per column; empty if nothing does.
    means: Vec<f32>,
    /// The rows that are left out, ascending.
    dropped: Vec<usize>,
    notes: Vec<String>,
    /// Where rows are kept after the first pass, if they are.
    scratch: Option<Scratch>,
}

/// Which columns a pass reads, and where they are in the tables that it gives.
struct Narrow {
    /// Places in the files, ascending.
    of_files: Vec<usize>,
    /// Places among the partitions.
    of_folders: Vec<usize>,
    /// The place in a piece of each column of the whole table.
    at: Vec<Option<usize>>,
}

/// A few rows of one part, as they are in the file.
struct Piece {
    part: usize,
    /// The number of the first row in its part; of selected rows, the first of those.
    table: Table,
}

impl StoredRows {
    /// Where the rows are.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The name of the list column, or the names of the numeric columns.
    pub fn vector_names(&self) -> &[String] {
        &self.chosen.vector_names
    }

    /// The id column; none if rows are numbered.
    pub fn id_name(&self) -> Option<&str> {
        self.chosen.id_name.as_deref()
    }

    /// What is taken off the columns of the rows.
    pub fn offset(&self) -> &Offset {
        &self.offset
    }

    /// How many rows are left out because numbers are missing in them.
    pub fn dropped(&self) -> usize {
        self.dropped.len()
    }

    /// What to know about how it is read, each in a sentence.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Where the rows are, with what tells whether they have changed, for a model to remember.
    pub fn rows_at(&self) -> RowsAt {
        // What is no file of the user is gone when the fit is over.
        let lasting = |part: &Part| !matches!(part.place, Place::Kept(_) | Place::Batches(_));
        let parts = self.source.parts().iter().zip(&self.surveyed.rows);
        let parts = parts.filter(|(part, _)| lasting(part)).map(|(part, &rows)| PartAt {
            name: absolute(part.name()),
            rows: rows as u64,
            bytes: part.stamp().size,
            stamp: part.stamp().to_string(),
            fingerprint: None,
        });
        let parts: Vec<PartAt> = parts.collect();
        let names = match parts.is_empty() {
            true => vec![self.source.name().to_string_lossy().into_owned()],
            false => parts.iter().map(|part| part.name.clone()).collect(),
        };
        let missing = (self.missing != Missing::Refuse).then(|| self.missing.name().to_owned());
        RowsAt { names, parts, missing }
    }

    /// Keeps the rows of the first whole pass in a file without a name in `folder`, where later passes read them. Later
    /// changes of the files are not noticed by these.
    pub fn keep_in(&mut self, folder: &Path) -> Result<(), TableError> {
        check_scratch(folder, self.scratch_bytes())?;
        self.scratch = Some(Scratch::new(folder, self.rows(), self.cols));
        Ok(())
    }

    /// How many bytes [`keep_in`](Self::keep_in) takes on the disk.
    pub fn scratch_bytes(&self) -> u64 {
        scratch::bytes_of(self.rows(), self.cols)
    }

    /// About how many bytes all of it takes as a [`Pool`] in memory: rows, ids and what is carried along.
    pub fn pool_bytes(&self) -> u64 {
        let rows = self.surveyed.total() as u64;
        let vectors = rows.saturating_mul(4 * self.cols as u64);
        // The table holds the ids as cells, and the pool as texts besides.
        self.surveyed.bytes.max(vectors).saturating_add(rows.saturating_mul(40))
    }

    fn options(&self) -> ReadOptions<'static> {
        let (separator, decimal) = (self.separator, self.decimal);
        ReadOptions { separator, decimal, ..ReadOptions::default() }
    }

    /// The rows of a piece of this many bytes per row.
    fn piece_rows(&self) -> usize {
        (piece_bytes() / (4 * self.cols.max(1))).clamp(1, PIECE_ROWS)
    }

    /// For passes that read these columns of the whole table.
    fn narrow(&self, places: impl IntoIterator<Item = usize>) -> Narrow {
        let wide = self.surveyed.schema.len();
        let partitions = self.source.partitions(&self.surveyed.schema);
        let mut places: Vec<usize> = places.into_iter().collect();
        places.sort_unstable();
        places.dedup();
        let mut at = vec![None; wide + partitions.len()];
        places.iter().enumerate().for_each(|(narrow, &place)| at[place] = Some(narrow));
        let split = places.partition_point(|&place| place < wide);
        let of_folders = places[split..].iter().map(|place| partitions[place - wide].0).collect();
        places.truncate(split);
        Narrow { of_files: places, of_folders, at }
    }

    /// Reads rows of one part, all or some, a few at a time.
    fn pass(
        &self,
        part: usize,
        narrow: &Narrow,
        rows: usize,
        only: Option<&[usize]>,
        each: &mut dyn FnMut(Piece) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let mut first = 0;
        let (values, expected) = (&self.source.parts()[part].values, self.surveyed.rows[part]);
        // Folders alone tell nothing of the rows, so one column of the file is read with them.
        let some = narrow.of_files.is_empty().then(|| self.surveyed.schema.readable());
        let columns = some.as_ref().map_or(&narrow.of_files[..], |all| &all[..all.len().min(1)]);
        let pass = Pass { columns, rows, only };
        let schema = &self.surveyed.schema;
        self.source.pass(part, schema, &self.options(), pass, &mut |mut table| {
            table.columns.truncate(narrow.of_files.len());
            for &at in &narrow.of_folders {
                let column = self.source.partition(at).column(&values[at], table.rows());
                table.columns.push(column);
            }
            table.first = only.map_or(first, |only| only.get(first).copied().unwrap_or(0));
            first += table.rows();
            each(Piece { part, table })
        })?;
        let expected = only.map_or(expected, <[usize]>::len);
        if first != expected {
            let path = self.source.parts()[part].name().to_path_buf();
            let detail = format!("it had {expected} rows and has {first}");
            return Err(SourceError::Changed { path, detail }.into());
        }
        Ok(())
    }

    /// All rows of all parts, a few at a time.
    fn passes(
        &self,
        narrow: &Narrow,
        rows: usize,
        each: &mut dyn FnMut(Piece) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        (0..self.source.parts().len())
            .try_for_each(|part| self.pass(part, narrow, rows, None, each))
    }

    /// The number among the rows that are left of the first row of `raw` that is.
    fn kept(&self, raw: usize) -> usize {
        raw - self.dropped.partition_point(|&row| row < raw)
    }

    /// The number among all rows of a row that is left.
    fn raw(&self, kept: usize) -> usize {
        // The k-th row that is left out stands before every row that is left from `dropped[k] - k` on.
        let (mut low, mut high) = (0, self.dropped.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.dropped[middle] - middle <= kept {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        kept + low
    }

    /// The rows of a part that are left out, counted from its first.
    fn dropped_in(&self, part: usize, range: Range<usize>) -> &[usize] {
        let first = self.firsts[part];
        let start = self.dropped.partition_point(|&row| row < first + range.start);
        let end = self.dropped.partition_point(|&row| row < first + range.end);
        &self.dropped[start..end]
    }

    /// Rows whose numbers ascend, each once, by part and by their numbers there.
    fn by_part(&self, rows: &[usize]) -> Vec<(usize, Vec<usize>)> {
        let mut parts: Vec<(usize, Vec<usize>)> = Vec::new();
        for &row in rows {
            let (part, there) = self.part_of(self.raw(row));
            match parts.last_mut() {
                Some((last, rows)) if *last == part => rows.push(there),
                _ => parts.push((part, vec![there])),
            }
        }
        parts
    }

    /// The part that holds a row of all, and its number there.
    fn part_of(&self, raw: usize) -> (usize, usize) {
        let part = self.firsts.partition_point(|&first| first <= raw) - 1;
        (part, raw - self.firsts[part])
    }

    /// These rows, whose numbers ascend, with their ids and what is carried along.
    pub fn pool_of(&self, rows: &[usize]) -> Result<Pool, TableError> {
        let narrow = self.narrow_pool();
        let mut stack = Stack::new(rows.len());
        for (part, rows) in self.by_part(rows) {
            stack.begin(self.source.parts()[part].name());
            self.pass(part, &narrow, self.piece_rows(), Some(&rows), &mut |piece| {
                stack.push(piece.table);
                Ok(())
            })?;
        }
        let table = stack.finish(self.source.name());
        self.pool_from(table, &narrow, &|row| self.raw(rows[row]))
    }

    /// All rows in order as pools of at most `rows` rows, each with the number of its first row. Ids are not compared
    /// with each other: see [`Self::check_ids`]. The next pools are read while `each` works.
    pub fn for_each_pool<E: From<TableError>>(
        &self,
        rows: usize,
        each: impl FnMut(usize, Pool) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_pool_from(0, rows, each)
    }

    /// The same from row `start` on; parts before it are not read.
    pub fn for_each_pool_from<E: From<TableError>>(
        &self,
        start: usize,
        rows: usize,
        mut each: impl FnMut(usize, Pool) -> Result<(), E>,
    ) -> Result<(), E> {
        if start >= self.rows() {
            return Ok(());
        }
        let narrow = self.narrow_pool();
        let (begin, before) = self.part_of(self.raw(start));
        let produce = |hand_over: &mut dyn FnMut((usize, Pool)) -> Result<(), TableError>| {
            let mut hand_on = |piece: Piece| {
                let first = self.firsts[piece.part] + piece.table.first;
                let pool = self.pool_from(piece.table, &narrow, &|row| first + row)?;
                match pool.rows.rows() + pool.dropped.len() {
                    0 => Ok(()),
                    _ => hand_over((self.kept(first), pool)),
                }
            };
            for part in begin..self.source.parts().len() {
                let rest = (part == begin && before > 0)
                    .then(|| (before..self.surveyed.rows[part]).collect::<Vec<_>>());
                self.pass(part, &narrow, rows.max(1), rest.as_deref(), &mut hand_on)?;
            }
            Ok(())
        };
        read_ahead(produce, |(first, pool)| each(first, pool))
    }
}

impl Rows for StoredRows {
    fn rows(&self) -> usize {
        self.surveyed.total() - self.dropped.len()
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn scan(&self, visit: &mut Visit<'_>) -> Result<(), RowsError> {
        if let Some(scratch) = self.scratch.as_ref().filter(|scratch| scratch.is_complete()) {
            let (n, most) = (self.rows(), self.piece_rows());
            let produce = |hand_over: &mut dyn FnMut((usize, Matrix)) -> Result<(), TableError>| {
                (0..n).step_by(most).try_for_each(|first| {
                    hand_over((first, scratch.read(first..(first + most).min(n))?))
                })
            };
            return read_ahead(produce, |(first, rows): (usize, Matrix)| visit(first, rows.view()));
        }
        let narrow = self.narrow(self.chosen.vector.places().iter().copied());
        let mut writing = self.scratch.as_ref().map(Scratch::begin).transpose()?;
        let produce = |hand_over: &mut dyn FnMut((usize, Matrix)) -> Result<(), TableError>| {
            self.passes(&narrow, self.piece_rows(), &mut |piece| {
                let first = self.kept(self.firsts[piece.part] + piece.table.first);
                let rows = self.rows_of(piece, &narrow)?;
                if rows.rows() == 0 {
                    return Ok(());
                }
                writing.as_mut().map_or(Ok(()), |writing| writing.push(rows.view()))?;
                hand_over((first, rows))
            })
        };
        read_ahead(produce, |(first, rows): (usize, Matrix)| visit(first, rows.view()))?;
        Ok(writing.map_or(Ok(()), Writing::finish)?)
    }

    fn scan_some(&self, rows: &[usize], visit: &mut Visit<'_>) -> Result<(), RowsError> {
        if let Some(scratch) = self.scratch.as_ref().filter(|scratch| scratch.is_complete()) {
            let mut at = 0;
            return rows.chunks(self.piece_rows()).try_for_each(|some| {
                visit(at, scratch.read_some(some)?.view())?;
                at += some.len();
                Ok(())
            });
        }
        let narrow = self.narrow(self.chosen.vector.places().iter().copied());
        let mut once = rows.to_vec();
        once.dedup();
        // The place in `rows` of the next row, which may be named more than once.
        let (mut next, mut seen) = (0, 0);
        for (part, there) in self.by_part(&once) {
            let mut failed = None;
            let read = self.pass(part, &narrow, self.piece_rows(), Some(&there), &mut |piece| {
                let found = self.rows_of(piece, &narrow)?;
                let of_piece = &once[seen..seen + found.rows()];
                seen += found.rows();
                let named = rows[next..].partition_point(|row| Some(row) <= of_piece.last());
                let handed = if named == found.rows() {
                    visit(next, found.view())
                } else {
                    let places = rows[next..next + named]
                        .iter()
                        .map(|row| of_piece.partition_point(|other| other < row));
                    visit(next, found.view().select(places.collect::<Vec<_>>()).view())
                };
                next += named;
                handed.map_err(|error| {
                    failed = Some(error);
                    TableError::from(SourceError::Ended)
                })
            });
            match (failed, read) {
                (Some(error), _) => return Err(error),
                (None, read) => read?,
            }
        }
        Ok(())
    }

    fn in_memory(&self) -> Option<MatrixRef<'_>> {
        None
    }
}

/// The bytes of a piece.
fn piece_bytes() -> usize {
    let part = memory::limit().map_or(PIECE as u64, |limit| limit / PART_OF_LIMIT);
    part.clamp(1 << 18, PIECE as u64) as usize
}

/// About how many bytes a pass takes, whoever computes.
pub fn memory_of_a_pass() -> u64 {
    6 * piece_bytes() as u64 + PAGES
}

/// What decoders hold beside the rows: pages and their dictionaries.
const PAGES: u64 = 8 << 20;

/// The path from the root, so that a model finds it from any folder; an address as it is.
fn absolute(name: &Path) -> String {
    let text = name.to_string_lossy();
    match crate::source::is_url(&text) {
        true => text.into_owned(),
        false => std::path::absolute(name)
            .map_or_else(|_| text.into_owned(), |path| path.to_string_lossy().into_owned()),
    }
}

/// The sentence, which names the file.
impl From<TableError> for RowsError {
    fn from(error: TableError) -> Self {
        Self(error.to_string())
    }
}

/// What a row is called in messages: the file that holds it, and its id or number.
type Named = (PathBuf, String);
