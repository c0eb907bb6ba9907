//! Rows that lie in one file or in many, on this machine or on a server, read as one table.
//!
//! A [`Source`] is what a user may name wherever rows are asked for: a file, several, a folder, a pattern such as
//! `parts/*.parquet`, `-` for standard input, and with the feature `remote` a URL (`s3://`, `gs://`, `az://`,
//! `https://`). It is a list of [parts](Part) in a fixed order, of one format and with the same columns. Folders such
//! as `date=2026-01-01` become a column of all rows below them.
//!
//! [`Source::read`] gives all of it as one [`Table`]; [`Source::stored`] leaves it where it is and reads it in passes
//! of a few megabytes ([`StoredRows`]). A part that changes or disappears between two passes is an
//! error that names it.
//!
//! ```
//! use bridged_io::{ReadOptions, Select, Source};
//!
//! let folder = tempfile::tempdir()?;
//! for (day, rows) in [("1", "a,1,2\n"), ("2", "b,3,4\n")] {
//!     let part = folder.path().join(format!("day={day}"));
//!     std::fs::create_dir(&part)?;
//!     std::fs::write(part.join("rows.csv"), format!("id,width,height\n{rows}"))?;
//! }
//! let source = Source::find(&[folder.path()])?;
//! let pool = source.read_pool(&ReadOptions::default(), Select::default())?;
//! assert_eq!(pool.ids, ["a", "b"]);
//! assert_eq!(pool.rows.row(1), [3.0, 4.0]);
//! assert_eq!(pool.texts()[0].name, "day");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ahead;
mod batches;
pub mod error;
mod find;
pub(crate) mod part;
mod partition;
#[cfg(feature = "remote")]
mod remote;
mod spill;
mod stack;
mod told;

pub(crate) use ahead::read_ahead;
pub use batches::{Batches, EachBatch};
pub use error::SourceError;
pub use find::{STANDARD_INPUT, is_url};
pub(crate) use part::Fetch;
pub use part::{Part, Stamp};
pub(crate) use partition::Partition;
pub use spill::{Spill, batch_bytes};
pub(crate) use stack::Stack;

use crate::error::TableError;
use crate::format::Format;
use crate::pass::{Pass, Schema, Survey};
use crate::room::require;
use crate::select::{Pool, Select};
use crate::table::Table;
use crate::{ReadOptions, StoredRows};
use bridged_math::cancel::checkpoint;
use bridged_math::words::plural;
use find::Found;
use part::Place;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that are read as one table. A copy is cheap.
#[derive(Clone, Debug)]
pub struct Source {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// What the user named.
    name: PathBuf,
    parts: Vec<Part>,
    partitions: Vec<Partition>,
    notes: Vec<String>,
}

/// What is known of all parts before their rows are read.
#[derive(Clone, Debug)]
pub(crate) struct Surveyed {
    pub schema: Schema,
    /// The rows of each part.
    pub rows: Vec<usize>,
    /// What all of it takes in memory as a table.
    pub bytes: u64,
}

impl Surveyed {
    pub fn total(&self) -> usize {
        self.rows.iter().sum()
    }
}

impl Source {
    /// Finds the files that these names stand for, in the order of the names. Nothing is read but standard input.
    pub fn find<P: AsRef<Path>>(names: &[P]) -> Result<Self, TableError> {
        let (mut found, mut notes) = (Vec::new(), Vec::new());
        for name in names.iter().map(AsRef::as_ref) {
            if name == Path::new(STANDARD_INPUT) && names.len() > 1 {
                return Err(SourceError::StandardInput.into());
            }
            let (files, others) = find::find(name)?;
            found.extend(files);
            if others > 0 {
                let files = plural(others, "file");
                notes.push(format!("left out {files} of `{}` that are no tables", name.display()));
            }
        }
        let Some(first) = found.first() else { return Err(find::no_tables(Path::new(""))) };
        if let Some(other) = found.iter().find(|file| file.format.name != first.format.name) {
            return Err(SourceError::MixedFormats {
                first: first.name.clone(),
                first_format: first.format.name,
                other: other.name.clone(),
                other_format: other.format.name,
                extension: first.format.extensions[0],
            }
            .into());
        }
        let (partitions, values) = partition::of_files(found.iter().map(|f| f.name.as_path()))?;
        let name = match names {
            [only] if found.len() == 1 && found[0].name != only.as_ref() => found[0].name.clone(),
            [only] => only.as_ref().to_path_buf(),
            _ => {
                let rest = plural(found.len() - 1, "more file");
                format!("{} and {rest}", found[0].name.display()).into()
            }
        };
        let parts = found.into_iter().zip(values);
        let parts = parts.map(|(Found { name, place, format, stamp }, values)| Part {
            name,
            place,
            format,
            stamp,
            values,
        });
        let parts = parts.collect();
        Ok(Self { inner: Arc::new(Inner { name, parts, partitions, notes }) })
    }

    /// What messages call all of it.
    pub fn name(&self) -> &Path {
        &self.inner.name
    }

    /// The files in order.
    pub fn parts(&self) -> &[Part] {
        &self.inner.parts
    }

    /// The files of this machine, which nothing may be written over.
    pub fn files(&self) -> Vec<&Path> {
        self.parts().iter().filter_map(Part::file).collect()
    }

    /// Whether both are the same files of this machine in the same order.
    pub fn is_same(&self, other: &Self) -> bool {
        let same = |a: &Part, b: &Part| match (a.file(), b.file()) {
            (Some(a), Some(b)) => bridged::files::same_file(a, b),
            _ => false,
        };
        self.parts().len() == other.parts().len()
            && self.parts().iter().zip(other.parts()).all(|(a, b)| same(a, b))
    }

    /// The format of all parts.
    pub fn format(&self) -> &'static Format {
        self.inner.parts[0].format
    }

    /// What to know about how it was found, each in a sentence.
    pub fn notes(&self) -> &[String] {
        &self.inner.notes
    }

    /// Whether it is one file as it is.
    fn is_plain(&self) -> bool {
        let is_file = |part: &Part| !matches!(part.place, Place::Batches(_));
        self.parts().len() == 1
            && self.inner.partitions.is_empty()
            && self.parts().iter().all(is_file)
    }

    /// The partitions that are columns: those of which the files have no column.
    pub(crate) fn partitions(&self, schema: &Schema) -> Vec<(usize, &Partition)> {
        let all = self.inner.partitions.iter().enumerate();
        all.filter(|(_, partition)| !schema.has(&partition.name)).collect()
    }

    /// The partition at that place.
    pub(crate) fn partition(&self, at: usize) -> &Partition {
        &self.inner.partitions[at]
    }

    /// What is known without reading the rows, except for text files, which are read once.
    pub(crate) fn survey(&self, options: &ReadOptions<'_>) -> Result<Surveyed, TableError> {
        let mut surveyed: Option<Surveyed> = None;
        for part in self.parts() {
            checkpoint();
            let Survey { schema, rows, bytes } = match &part.place {
                Place::Batches(batches) => batches::survey(batches.as_ref()),
                _ => part.open(options, |input| (part.format.survey)(input))?,
            };
            if schema.len() == 0 {
                return Err(TableError::NoColumns { path: part.name.clone() });
            }
            match &mut surveyed {
                None => surveyed = Some(Surveyed { schema, rows: vec![rows], bytes }),
                Some(known) => {
                    known.schema.merge(schema).map_err(|detail| SourceError::OtherSchema {
                        first: self.parts()[0].name.clone(),
                        other: part.name.clone(),
                        detail,
                    })?;
                    known.rows.push(rows);
                    known.bytes = known.bytes.saturating_add(bytes);
                }
            }
        }
        let surveyed = surveyed.expect("a source has at least one part");
        if surveyed.total() == 0 {
            return Err(TableError::NoRows { path: self.name().to_path_buf() });
        }
        Ok(surveyed)
    }

    /// Reads rows of one part a few at a time.
    pub(crate) fn pass(
        &self,
        at: usize,
        schema: &Schema,
        options: &ReadOptions<'_>,
        pass: Pass<'_>,
        each: &mut crate::pass::Each<'_>,
    ) -> Result<(), TableError> {
        let part = &self.parts()[at];
        match &part.place {
            Place::Batches(batches) => {
                batches::pass(batches.as_ref(), &part.name, schema, pass, each)
            }
            _ => part.open(options, |input| (part.format.pass)(input, schema, pass, each)),
        }
    }

    /// Reads all of it into memory; at least one row and one column.
    pub fn read(&self, options: &ReadOptions<'_>) -> Result<Table, TableError> {
        if self.is_plain() {
            let part = &self.parts()[0];
            let table = part.open(options, |input| (part.format.read)(input))?;
            return crate::not_empty(table);
        }
        let surveyed = self.survey(options)?;
        let total = surveyed.total();
        require(self.name(), total as u64, surveyed.bytes)?;
        let columns = surveyed.schema.readable();
        let mut stack = Stack::new(total);
        for (at, part) in self.parts().iter().enumerate() {
            stack.begin(&part.name);
            let pass = Pass { columns: &columns, rows: 1 << 13, only: None };
            self.pass(at, &surveyed.schema, options, pass, &mut |mut table| {
                for (place, partition) in self.partitions(&surveyed.schema) {
                    let column = partition.column(&part.values[place], table.rows());
                    table.columns.push(column);
                }
                stack.push(table);
                Ok(())
            })?;
        }
        let mut table = stack.finish(self.name());
        let partitions = table.columns.split_off(columns.len().min(table.columns.len()));
        let mut table = surveyed.schema.widen(table);
        table.columns.extend(partitions);
        if let Schema::Text(text) = &surveyed.schema {
            table.notes.extend(text.note());
        }
        crate::not_empty(table)
    }

    /// Reads all of it into memory and picks the vectors and the ids.
    pub fn read_pool(
        &self,
        options: &ReadOptions<'_>,
        select: Select<'_>,
    ) -> Result<Pool, TableError> {
        let mut pool = self.read(options)?.into_pool(select)?;
        self.finish_partitions(&mut pool);
        pool.notes.extend(self.notes().iter().cloned());
        Ok(pool)
    }

    /// Gives the columns of partitions their types.
    pub(crate) fn finish_partitions(&self, pool: &mut Pool) {
        for partition in &self.inner.partitions {
            let of_it = pool.carried.iter_mut().filter(|column| column.name == partition.name);
            of_it.for_each(|column| partition.finish(column));
        }
    }

    /// Rows that stay where they are and are read in passes.
    pub fn stored(
        &self,
        options: &ReadOptions<'_>,
        select: Select<'_>,
    ) -> Result<StoredRows, TableError> {
        StoredRows::open(self.clone(), options, select)
    }
}
