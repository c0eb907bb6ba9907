//! Rows that come as Arrow batches from elsewhere than a file: another library of this process.
//!
//! [`Batches`] can be gone over as often as a fit needs them. [`Source::of_batches`] makes a source of them that is read like
//! any other: the same rules choose its columns, and every pass checks that it gives what the first one gave.

use super::error::SourceError;
use super::part::{Part, Place, Stamp};
use super::{Inner, Source};
use crate::batches::Collector;
use crate::error::TableError;
use crate::pass::{Each, Pass, Schema, Survey, alike, batch_table, wanted_ranges};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bridged::columns::shown;
use bridged_math::cancel::checkpoint;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a scan calls with each batch; it breaks when no more are wanted.
pub type EachBatch<'a> = dyn FnMut(RecordBatch) -> Result<ControlFlow<()>, TableError> + 'a;

/// Batches with the same columns, which can be gone over several times.
pub trait Batches: Debug + Send + Sync {
    /// The columns of every batch.
    fn schema(&self) -> SchemaRef;

    /// The rows of all batches.
    fn rows(&self) -> usize;

    /// About how many bytes all of them take in memory.
    fn bytes(&self) -> u64;

    /// Hands out all batches in order, with the columns at these places alone, or with all of them.
    fn scan(&self, columns: &[usize], each: &mut EachBatch<'_>) -> Result<(), TableError>;
}

/// Batches that are in memory.
#[derive(Debug)]
pub(crate) struct Held {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
    pub bytes: u64,
}

impl Batches for Held {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn scan(&self, _: &[usize], each: &mut EachBatch<'_>) -> Result<(), TableError> {
        for batch in &self.batches {
            if each(batch.clone())?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Source {
    /// Batches as a source that messages call by this name.
    pub fn of_batches(name: &str, batches: Arc<dyn Batches>) -> Self {
        let stamp = Stamp { size: batches.bytes(), modified: None, tag: None };
        Self::of_place(name, Place::Batches(batches), stamp)
    }

    /// One part that is no file of the user, in the format of Arrow.
    pub(crate) fn of_place(name: &str, place: Place, stamp: Stamp) -> Self {
        let name = PathBuf::from(name);
        let format = &crate::arrow::FORMAT;
        let part = Part { name: name.clone(), place, format, stamp, values: Vec::new() };
        let (parts, partitions, notes) = (vec![part], Vec::new(), Vec::new());
        Self { inner: Arc::new(Inner { name, parts, partitions, notes }) }
    }
}

/// What is known of batches before a pass.
pub(super) fn survey(batches: &dyn Batches) -> Survey {
    let (schema, rows) = (batches.schema(), batches.rows());
    let collector = Collector::new(&schema, 0);
    let cells: u64 = collector.wanted().iter().map(|&at| collector.row_bytes(at)).sum();
    let bytes = (rows as u64).saturating_mul(cells).saturating_add(batches.bytes());
    Survey { schema: Schema::Typed(schema), rows, bytes }
}

/// Hands out some columns of batches, of all rows or some.
pub(super) fn pass(
    batches: &dyn Batches,
    path: &Path,
    schema: &Schema,
    pass: Pass<'_>,
    each: &mut Each<'_>,
) -> Result<(), TableError> {
    let Schema::Typed(schema) = schema else {
        unreachable!("the schema of batches is told by Arrow types");
    };
    let mut first = 0;
    batches.scan(pass.columns, &mut |batch| {
        checkpoint();
        let batch = narrow(batch, schema, pass.columns)
            .map_err(|detail| SourceError::Changed { path: path.to_path_buf(), detail })?;
        for range in wanted_ranges(first, batch.num_rows(), &pass) {
            let table = batch_table(&batch.slice(range.start, range.len()), path);
            each(table.map_err(|e| SourceError::Batches {
                name: path.display().to_string(),
                detail: e.to_string(),
            })?)?;
        }
        first += batch.num_rows();
        let is_over = pass.only.is_some_and(|only| only.last().is_none_or(|&last| last < first));
        Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })
}

/// The columns at these places of a batch that has all or just these; an error says what it has instead.
fn narrow(
    batch: RecordBatch,
    schema: &SchemaRef,
    columns: &[usize],
) -> Result<RecordBatch, String> {
    let batch = match batch.num_columns() == columns.len() {
        true => batch,
        false => batch.project(columns).map_err(|_| {
            let (had, has) = (schema.fields().len(), batch.num_columns());
            format!("it had {had} columns and has {has}")
        })?,
    };
    for (field, &at) in batch.schema().fields().iter().zip(columns) {
        let first = &schema.fields()[at];
        let (name, before) = (shown(first.name()), first.data_type());
        if field.name() != first.name() {
            return Err(format!("where column `{name}` was there is `{}`", shown(field.name())));
        }
        if !alike(before, field.data_type()) {
            let now = field.data_type();
            return Err(format!("its column `{name}` held {before} and holds {now}"));
        }
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Select};
    use arrow_array::{ArrayRef, Float32Array, StringArray};
    use bridged_math::rows::Rows;
    use std::sync::Mutex;

    fn batch(rows: std::ops::Range<usize>) -> RecordBatch {
        let ids = StringArray::from_iter_values(rows.clone().map(|i| format!("r{i}")));
        let a = Float32Array::from_iter_values(rows.clone().map(|i| i as f32));
        let b = Float32Array::from_iter_values(rows.map(|i| -(i as f32)));
        let columns: [(&str, ArrayRef); 3] =
            [("id", Arc::new(ids)), ("a", Arc::new(a)), ("b", Arc::new(b))];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn held(parts: &[std::ops::Range<usize>]) -> Arc<dyn Batches> {
        let batches: Vec<RecordBatch> = parts.iter().cloned().map(batch).collect();
        Arc::new(Held { schema: batches[0].schema(), batches, bytes: 1000 })
    }

    #[test]
    fn batches_are_read_as_a_file_is() {
        let source = Source::of_batches("x", held(&[0..3, 3..3, 3..10]));
        let options = ReadOptions::default();
        let pool = source.read_pool(&options, Select::default()).unwrap();
        assert_eq!(pool.rows.row(7), [7.0, -7.0]);
        assert_eq!((pool.ids[9].as_str(), pool.vector_names.len()), ("r9", 2));
        let stored = source.stored(&options, Select::default()).unwrap();
        assert_eq!((stored.rows(), stored.cols()), (10, 2));
        assert_eq!(stored.select(&[2, 3, 9]).unwrap(), pool.rows.view().select([2, 3, 9]));
        assert_eq!(stored.pool_of(&[8]).unwrap().ids, ["r8"]);
        let mut rows = Vec::new();
        let scan = stored.scan(&mut |first, part| {
            assert_eq!(first, rows.len() / 2);
            rows.extend_from_slice(part.data());
            Ok(())
        });
        scan.unwrap();
        assert_eq!(rows, pool.rows.data());
    }

    #[test]
    fn batches_that_change_between_two_passes_are_refused() {
        #[derive(Debug)]
        struct Changing(Mutex<usize>, Vec<RecordBatch>);
        impl Batches for Changing {
            fn schema(&self) -> SchemaRef {
                self.1[0].schema()
            }
            fn rows(&self) -> usize {
                5
            }
            fn bytes(&self) -> u64 {
                100
            }
            fn scan(&self, _: &[usize], each: &mut EachBatch<'_>) -> Result<(), TableError> {
                let mut pass = self.0.lock().unwrap();
                let at = (*pass).min(self.1.len() - 1);
                *pass += 1;
                each(self.1[at].clone()).map(|_| ())
            }
        }
        let scan = |later: RecordBatch| {
            let batches = Changing(Mutex::new(0), vec![batch(0..5), later]);
            let source = Source::of_batches("the rows", Arc::new(batches));
            let stored = source.stored(&ReadOptions::default(), Select::default()).unwrap();
            stored.scan(&mut |_, _| Ok(())).unwrap_err().to_string()
        };
        let fewer = scan(batch(0..4));
        assert!(
            fewer.starts_with(
                "`the rows` has changed since the work began (it had 5 rows and has 4)"
            ),
            "{fewer}"
        );
        let renamed = batch(0..5).project(&[0, 2, 1]).unwrap();
        let renamed = scan(renamed);
        assert!(renamed.contains("where column `a` was there is `b`"), "{renamed}");
    }
}
