//! What can go wrong with a table, each as a sentence that names the file, the place in it, and
//! what to do.

use bridged::columns::{did_you_mean, shown};
use bridged_math::memory::shown as shown_size;
use bridged_math::words::{count, plural};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a table could not be read, used or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// No such file.
    #[error("`{}` does not exist", path.display())]
    Missing {
        /// The file asked for.
        path: PathBuf,
    },
    /// A directory where a file was expected.
    #[error("`{}` is a directory, not a file", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("`{}` could not be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file's name does not say what it holds.
    #[error("`{}` has no extension that is known; use one of {known}", path.display())]
    UnknownExtension {
        /// The file.
        path: PathBuf,
        /// All extensions, as a list to show.
        known: String,
    },
    /// A format that is written but not read.
    #[error(
        "`{}` is {format}, which is written but not read; save the table as one of {known}",
        path.display()
    )]
    WrittenOnly {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: &'static str,
        /// The extensions that are read, as a list to show.
        known: String,
    },
    /// Nothing in it at all.
    #[error("`{}` is empty (0 bytes)", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The content is of another kind than the name says.
    #[error(
        "`{}` is named like {expected}, but this looks like {found}; give it the extension \
         that fits what it holds, or convert it",
        path.display()
    )]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// What the extension promises.
        expected: &'static str,
        /// What the first bytes say.
        found: &'static str,
    },
    /// The bytes do not follow the format.
    #[error("`{}` is not a readable {format} file: {detail}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The format it was read as.
        format: &'static str,
        /// What is wrong.
        detail: String,
    },
    /// Text that is not UTF-8.
    #[error("`{}`, line {line}: the text is not UTF-8; save the file as UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
    },
    /// A line with more or fewer cells than the header.
    #[error(
        "`{}`, line {line}: {got} cells, but the header has {expected}; quote cells that \
         contain the separator",
        path.display()
    )]
    RaggedLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Cells of the header.
        expected: usize,
        /// Cells of this line.
        got: usize,
    },
    /// Cells seem to be separated by something else.
    #[error(
        "`{}` seems to separate its cells by {found}, but {expected} is what its extension \
         stands for; write commas in `.csv` and tabs in `.tsv`, or name the separator with `--sep`",
        path.display()
    )]
    Separator {
        /// The file.
        path: PathBuf,
        /// The separator it seems to use.
        found: &'static str,
        /// The separator it should use.
        expected: &'static str,
    },
    /// A line without an end.
    #[error(
        "`{}`, line {line} is longer than {}; is it a table of text? If it is, a larger `--memory` \
         allows longer lines",
        path.display(),
        shown_size(*longest)
    )]
    LongLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The most bytes it may have.
        longest: u64,
    },
    /// A compressed file that expands without end.
    #[error(
        "`{}`, a file of {}, expands to more than {}; is it a table? If it is, expand it by `gunzip` \
         first, or give a `--memory` that it fits into",
        path.display(),
        shown_size(*size),
        shown_size(*most)
    )]
    Expands {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        size: u64,
        /// The most bytes that it may expand to.
        most: u64,
    },
    /// A table without columns.
    #[error("`{}` has no columns", path.display())]
    NoColumns {
        /// The file.
        path: PathBuf,
    },
    /// A table without rows.
    #[error("`{}` has columns but no rows", path.display())]
    NoRows {
        /// The file.
        path: PathBuf,
    },
    /// Columns of one table that differ in length.
    #[error("column `{column}` has {got} rows, but the table has {expected}", column = shown(column))]
    UnequalColumns {
        /// The column.
        column: String,
        /// Rows of the columns before it.
        expected: usize,
        /// Its rows.
        got: usize,
    },
    /// A column that was asked for is not there.
    #[error(
        "`{}` has no column `{column}`{}",
        path.display(),
        it_has(similar, known),
        column = shown(column)
    )]
    NoSuchColumn {
        /// The file.
        path: PathBuf,
        /// The column asked for.
        column: String,
        /// The one that is spelled most like it.
        similar: Option<String>,
        /// The columns there are, as a list to show.
        known: String,
    },
    /// A name that two columns share.
    #[error("`{}` has several columns called `{column}`; rename one of them", path.display(), column = shown(column))]
    SameName {
        /// The file.
        path: PathBuf,
        /// The shared name.
        column: String,
    },
    /// Nothing to use as a vector.
    #[error(
        "`{}` has no list column and no numeric column to use as vectors; it has {known}",
        path.display()
    )]
    NoVector {
        /// The file.
        path: PathBuf,
        /// The columns there are with their kinds, as a list to show.
        known: String,
    },
    /// More than one list column and none was named.
    #[error(
        "`{}` has several vector columns: {names}; name one with the vector option \
         (`--vector NAME`, or `--x-vector NAME` and `--y-vector NAME`)",
        path.display()
    )]
    SeveralVectors {
        /// The file.
        path: PathBuf,
        /// Those columns, as a list to show.
        names: String,
    },
    /// A column that cannot serve as a vector.
    #[error(
        "`{}`, column `{column}` holds {kind}, which is not a vector; name a list column or \
         numeric columns",
        path.display(), column = shown(column))]
    NotAVector {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// What it holds.
        kind: String,
    },
    /// A column of numbers in which some cells are none.
    #[error("`{}`, column `{column}`: {detail}; {advice}", path.display(), column = shown(column))]
    NotNumbers {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Which cell, and how many.
        detail: String,
        /// What to do.
        advice: String,
    },
    /// Vectors of length zero.
    #[error("`{}`, column `{column}`: the vectors have no entries", path.display(), column = shown(column))]
    NoEntries {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A row without a vector.
    #[error(
        "`{}`, column `{column}`, row `{id}`: the vector is missing; repair or remove that row, or \
         leave it out with `--missing drop`",
        path.display(), column = shown(column), id = shown(id))]
    MissingVector {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The row's id.
        id: String,
    },
    /// Vectors of different lengths.
    #[error(
        "`{}`, column `{column}`, row `{id}`: the vector has {got} entries, but the rows \
         before it have {expected}; all vectors must have one length",
        path.display(), column = shown(column), id = shown(id))]
    RaggedVector {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The id of the first row that differs.
        id: String,
        /// The length of the rows before.
        expected: usize,
        /// The length of this row.
        got: usize,
    },
    /// NaN, infinite or missing inside a vector.
    #[error(
        "`{}`, {place}, row `{id}`: the value is {problem}",
        path.display(), id = shown(id))]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The column, and the position for a list column.
        place: String,
        /// The row's id.
        id: String,
        /// Missing or infinite, and what to do.
        problem: &'static str,
    },
    /// A column without a single number, where its mean is to stand in.
    #[error(
        "`{}`, {place}: no row has a number, so there is no mean to stand in; leave the column out",
        path.display()
    )]
    NoValues {
        /// The file.
        path: PathBuf,
        /// The column, and the position for a list column.
        place: String,
    },
    /// Every row was left out.
    #[error("`{}`: numbers are missing in each of its {}, so none is left", path.display(), plural(*rows, "row"))]
    AllDropped {
        /// The file.
        path: PathBuf,
        /// Its rows.
        rows: usize,
    },
    /// Numbers between which distances do not fit 32-bit floats.
    #[error("`{}` {problem}", path.display())]
    OutOfRange {
        /// The file.
        path: PathBuf,
        /// The numbers, and what to do.
        problem: String,
    },
    /// Columns other than those that the model was fitted on.
    #[error("`{}`: {detail}; the file has {known}", path.display())]
    NotAsFitted {
        /// The file.
        path: PathBuf,
        /// What is missing.
        detail: String,
        /// The columns there are, as a list to show.
        known: String,
    },
    /// More than one column could be the id.
    #[error(
        "`{}` has several columns that may be the id: {names}; name one with the id option \
         (`--id NAME`, or `--x-id NAME` and `--y-id NAME`)",
        path.display()
    )]
    SeveralIds {
        /// The file.
        path: PathBuf,
        /// Those columns, as a list to show.
        names: String,
    },
    /// A column that cannot serve as the id.
    #[error(
        "`{}`, column `{column}` cannot be the id: {detail}; ids are texts or whole numbers",
        path.display(), column = shown(column))]
    NotAnId {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Why not.
        detail: String,
    },
    /// A row without an id.
    #[error(
        "`{}`, column `{column}`: row {row} (counted from 0) has no id; every row needs one",
        path.display(), column = shown(column))]
    NullId {
        /// The file.
        path: PathBuf,
        /// The id column.
        column: String,
        /// The row, counted from 0.
        row: usize,
    },
    /// Two rows with one id.
    #[error(
        "`{}`, column `{column}`: the id `{id}` occurs in row {first} and again in row {second} \
         (counted from 0); ids must differ, or name `#row` as the id to number the rows",
        path.display(), column = shown(column), id = shown(id))]
    DuplicateId {
        /// The file.
        path: PathBuf,
        /// The id column.
        column: String,
        /// The id.
        id: String,
        /// The first row that has it.
        first: usize,
        /// The next row that has it.
        second: usize,
    },
    /// A table that needs more memory than may be taken.
    #[error("{0}")]
    TooLarge(bridged_math::memory::TooLarge),
    /// A table that grew beyond the memory that may be taken.
    #[error("`{}`: {refusal}", path.display())]
    Grew {
        /// The file.
        path: PathBuf,
        /// What it needs and what there is.
        refusal: String,
    },
    /// No column holds texts.
    #[error("`{}` has no column of texts besides its ids; it has {known}", path.display())]
    NoTexts {
        /// The file.
        path: PathBuf,
        /// Its columns.
        known: String,
    },
    /// Several columns hold texts.
    #[error("`{}` has several columns of texts ({names}): name one with --column", path.display())]
    SeveralTexts {
        /// The file.
        path: PathBuf,
        /// Their names.
        names: String,
    },
    /// The column of texts holds something else.
    #[error("`{}`, column `{column}`: it holds {kind}, not texts", path.display(), column = shown(column))]
    NotTexts {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// What it holds.
        kind: String,
    },
    /// A table of pairs whose two columns cannot be told.
    #[error(
        "`{}` is not a table of pairs: it has {known}; give it two columns of ids, or columns \
         named `x_id` and `y_id`, or name them with `--pairs-x` and `--pairs-y`",
        path.display()
    )]
    NotPairs {
        /// The file.
        path: PathBuf,
        /// The columns there are, as a list to show.
        known: String,
    },
    /// An answer that is none.
    #[error(
        "`{}`, column `answer`: row {row} (counted from 0) holds `{cell}`; an answer is yes, no or unsure",
        path.display(), cell = shown(cell))]
    NotAnAnswer {
        /// The file.
        path: PathBuf,
        /// The row, counted from 0.
        row: usize,
        /// What it holds.
        cell: String,
    },
    /// The format cannot hold this table.
    #[error("`{}` cannot be written: {reason}", path.display())]
    Refused {
        /// The file to write.
        path: PathBuf,
        /// Why, and what to do instead.
        reason: String,
    },
    /// Something about several files, or files that are far.
    #[error(transparent)]
    Source(#[from] crate::source::SourceError),
    /// Writing failed; the target is as it was.
    #[error(transparent)]
    File(#[from] bridged::files::FileError),
}

/// The end of a sentence about a column that is not there.
fn it_has(similar: &Option<String>, known: &str) -> String {
    match similar {
        Some(_) => format!("{} It has {known}", did_you_mean(similar)),
        None => format!("; it has {known}"),
    }
}

/// Names in backquotes, separated by commas; of many, the first.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let mut names = names.into_iter();
    let quoted: Vec<String> =
        names.by_ref().take(MOST).map(|name| format!("`{}`", shown(name))).collect();
    match names.count() {
        0 if quoted.is_empty() => "none".to_owned(),
        0 => quoted.join(", "),
        more => format!("{}, … ({} in all)", quoted.join(", "), count(MOST + more)),
    }
}
