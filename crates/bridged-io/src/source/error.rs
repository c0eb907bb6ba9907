//! What can go wrong with rows that lie in several files, near or far.

use bridged::columns::shown;
use bridged_math::memory::shown as shown_size;
use std::path::PathBuf;
use thiserror::Error;

/// Why a source cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A pattern that fits nothing.
    #[error("`{}` matches no file; is it quoted, and spelled as the files are?", pattern.display())]
    NothingMatches {
        /// The pattern.
        pattern: PathBuf,
    },
    /// A pattern that cannot be read.
    #[error("`{}` is no pattern: {detail}", pattern.display())]
    BadPattern {
        /// The pattern.
        pattern: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A folder without a table.
    #[error("`{}` holds no table: no file in it ends in {known}", path.display())]
    NoTables {
        /// The folder.
        path: PathBuf,
        /// The extensions that are read.
        known: String,
    },
    /// Files of several formats.
    #[error(
        "`{}` is {first_format} and `{}` is {other_format}: rows that are read together have one format; name \
         those of one, as in '*.{extension}'",
        first.display(), other.display()
    )]
    MixedFormats {
        /// The first file.
        first: PathBuf,
        /// Its format.
        first_format: &'static str,
        /// The first file of another format.
        other: PathBuf,
        /// Its format.
        other_format: &'static str,
        /// How files of the first format end.
        extension: &'static str,
    },
    /// A part with other columns than the first.
    #[error("`{}` does not fit `{}`: {detail}", other.display(), first.display())]
    OtherSchema {
        /// The first part.
        first: PathBuf,
        /// The part that differs.
        other: PathBuf,
        /// What differs.
        detail: String,
    },
    /// Partition folders of different names.
    #[error(
        "`{}` lies in folders that name {first_keys}, `{}` in folders that name {other_keys}: all parts need the same",
        first.display(), other.display()
    )]
    OtherPartition {
        /// The first part.
        first: PathBuf,
        /// Its names.
        first_keys: String,
        /// The part that differs.
        other: PathBuf,
        /// Its names.
        other_keys: String,
    },
    /// A part that was there when the work began.
    #[error("`{}` was there when the work began and is gone now; nothing goes on without it", path.display())]
    Gone {
        /// The part.
        path: PathBuf,
    },
    /// A part that is not what it was when the work began.
    #[error(
        "`{}` has changed since the work began ({detail}); leave the files as they are until it is done, and begin again",
        path.display()
    )]
    Changed {
        /// The part.
        path: PathBuf,
        /// What changed.
        detail: String,
    },
    /// One id in two parts.
    #[error(
        "the id `{id}` (column `{column}`) occurs in `{}`, row {first_row}, and again in `{}`, row {second_row} (both \
         counted from 0); ids must differ, or name `#row` as the id to number the rows",
        first.display(), second.display(), id = shown(id), column = shown(column)
    )]
    DuplicateId {
        /// The id column.
        column: String,
        /// The id.
        id: String,
        /// The part that has it first.
        first: PathBuf,
        /// The row there.
        first_row: usize,
        /// The part that has it next.
        second: PathBuf,
        /// The row there.
        second_row: usize,
    },
    /// Standard input, and something else.
    #[error("`-` is standard input, which can be read for one table only")]
    StandardInput,
    /// Standard input could not be kept.
    #[error("standard input could not be kept in a temporary file: {0}")]
    NotKept(std::io::Error),
    /// Batches that came from another library of this process.
    #[error("`{name}`: {detail}")]
    Batches {
        /// What they are called.
        name: String,
        /// What is wrong, and what to do.
        detail: String,
    },
    /// Batches that can be read only once could not be kept.
    #[error(
        "the rows of `{name}` can be read only once, and after {} they could not be kept in a temporary file in `{}`: \
         {source}; set TMPDIR to a folder with more room, or write the rows to Parquet files and name those",
        shown_size(*bytes), folder.display()
    )]
    NotSpilled {
        /// What they are called.
        name: String,
        /// Where temporary files are.
        folder: PathBuf,
        /// What had come.
        bytes: u64,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A scratch folder that cannot take the rows.
    #[error(
        "the scratch folder `{}` cannot take the rows, {} in all: {detail}; name another folder, or leave --scratch out",
        folder.display(), shown_size(*needs)
    )]
    NoScratch {
        /// The folder.
        folder: PathBuf,
        /// The bytes of the rows.
        needs: u64,
        /// What is wrong.
        detail: String,
    },
    /// A URL that this build cannot read.
    #[error("`{url}`: {detail}")]
    Remote {
        /// The URL, without what may be secret in it.
        url: String,
        /// What is wrong, and what to do.
        detail: String,
    },
    /// The thread that reads ahead could not be had.
    #[error("the system gives no thread to read with: {0}")]
    NoThread(std::io::Error),
    /// Whoever asked for the rows wants no more of them.
    #[error("the reading was ended")]
    Ended,
}
