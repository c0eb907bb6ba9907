//! Batches that are seen once, kept so that they can be read again: in memory up to a limit, beyond it in a temporary file.
//!
//! The file is an Arrow file without compression, on the disk that `TMPDIR` names, and goes when the source does.

use super::Source;
use super::batches::Held;
use super::error::SourceError;
use super::part::{Place, Stamp};
use crate::convert::unpack;
use crate::error::TableError;
use crate::pass::Schema;
use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, Field, Schema as ArrowSchema, SchemaRef};
use bridged_math::words::count;
use std::io::{self, BufWriter};
use std::sync::Arc;
use tempfile::NamedTempFile;

/// Keeps batches that come one after the other.
pub struct Spill {
    name: String,
    most: u64,
    schema: Option<SchemaRef>,
    /// How many batches came.
    batches: usize,
    rows: usize,
    bytes: u64,
    held: Vec<RecordBatch>,
    file: Option<FileWriter<BufWriter<NamedTempFile>>>,
}

impl Spill {
    /// Keeps at most this many bytes in memory. `name` is what messages call the rows.
    pub fn new(name: &str, most: u64) -> Self {
        let (name, held) = (name.to_owned(), Vec::new());
        Self { name, most, schema: None, batches: 0, rows: 0, bytes: 0, held, file: None }
    }

    /// How many batches it has seen.
    pub fn batches(&self) -> usize {
        self.batches
    }

    /// Whether a temporary file holds them.
    pub fn is_on_disk(&self) -> bool {
        self.file.is_some()
    }

    /// Keeps a batch, which must have the columns of the first.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let number = self.batches;
        self.batches += 1;
        let batch = plain(batch).map_err(|e| self.failed(e.to_string()))?;
        let schema = Arc::clone(self.schema.get_or_insert_with(|| batch.schema()));
        // A field that may be empty in one batch may be full in the next.
        let same = schema.fields().len() == batch.num_columns()
            && (schema.fields().iter().zip(batch.schema().fields()))
                .all(|(a, b)| a.name() == b.name() && a.data_type().equals_datatype(b.data_type()));
        if !same {
            let mut first = Schema::Typed(schema);
            let detail = first.merge(Schema::Typed(batch.schema())).err();
            let detail = detail.unwrap_or_else(|| "its columns have other types".to_owned());
            return Err(self.failed(format!(
                "batch {}: {detail}; give all batches the columns and types of the first",
                count(number)
            )));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(schema, batch.columns().to_vec(), &options)
            .map_err(|e| self.failed(e.to_string()))?;
        self.rows += batch.num_rows();
        self.bytes = self.bytes.saturating_add(batch_bytes(&batch));
        if self.file.is_none() && self.bytes > self.most {
            self.spill().map_err(|e| self.no_room(e))?;
        }
        match &mut self.file {
            Some(file) => file.write(&batch).map_err(|e| self.no_room(e)),
            None => {
                self.held.push(batch);
                Ok(())
            }
        }
    }

    /// What was kept, as a source. The rows are gone with it.
    pub fn finish(mut self) -> Result<Source, TableError> {
        let Some(schema) = self.schema.take().filter(|_| self.rows > 0) else {
            return Err(TableError::NoRows { path: self.name.into() });
        };
        let Some(file) = self.file.take() else {
            let held = Held { schema, batches: self.held, bytes: self.bytes };
            return Ok(Source::of_batches(&self.name, Arc::new(held)));
        };
        let closed = (|| {
            let mut file = file;
            file.finish()?;
            let file =
                file.into_inner()?.into_inner().map_err(|e| ArrowError::from(e.into_error()))?;
            let stamp = Stamp::of(&file.as_file().metadata()?);
            Ok::<_, ArrowError>((file.into_temp_path(), stamp))
        })();
        let (path, stamp) = closed.map_err(|e| self.no_room(e))?;
        Ok(Source::of_place(&self.name, Place::Kept(Arc::new(path)), stamp))
    }

    /// Moves what is held into a file.
    fn spill(&mut self) -> Result<(), ArrowError> {
        let schema = self.schema.as_ref().expect("a batch has come");
        let file = BufWriter::with_capacity(1 << 20, NamedTempFile::new()?);
        let mut file = FileWriter::try_new(file, schema)?;
        for batch in self.held.drain(..) {
            file.write(&batch)?;
        }
        self.file = Some(file);
        Ok(())
    }

    fn failed(&self, detail: String) -> TableError {
        SourceError::Batches { name: self.name.clone(), detail }.into()
    }

    fn no_room(&self, error: ArrowError) -> TableError {
        let source = match error {
            ArrowError::IoError(_, source) => source,
            other => io::Error::other(other.to_string()),
        };
        let (name, folder) = (self.name.clone(), std::env::temp_dir());
        SourceError::NotSpilled { name, folder, bytes: self.bytes, source }.into()
    }
}

/// The same without dictionaries and runs: those of several batches need not agree.
fn plain(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns: Result<Vec<_>, _> = batch.columns().iter().map(unpack).collect();
    let columns = columns?;
    let schema = batch.schema();
    let fields = schema.fields().iter().zip(&columns);
    let fields: Vec<Field> = fields
        .map(|(field, array)| Field::new(field.name(), array.data_type().clone(), true))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)
}

/// What the rows of a batch take; a slice does not take what it was cut from.
pub fn batch_bytes(batch: &RecordBatch) -> u64 {
    let of = |array: &dyn Array| {
        let sliced = array.to_data().get_slice_memory_size();
        sliced.unwrap_or_else(|_| array.get_array_memory_size()) as u64
    };
    batch.columns().iter().map(|array| of(array.as_ref())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Select};
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, Float32Array, Int64Array};

    fn batch(rows: std::ops::Range<usize>) -> RecordBatch {
        let words: DictionaryArray<Int32Type> =
            rows.clone().map(|i| if i % 2 == 0 { "even" } else { "odd" }).collect();
        let a = Float32Array::from_iter_values(rows.map(|i| i as f32));
        let columns: [(&str, ArrayRef); 2] = [("a", Arc::new(a)), ("word", Arc::new(words))];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn kept(most: u64) -> Source {
        let mut spill = Spill::new("the batches", most);
        for rows in [0..2, 2..2, 2..3, 3..9] {
            spill.push(&batch(rows)).unwrap();
        }
        assert_eq!((spill.batches(), spill.is_on_disk()), (4, most < 1000));
        spill.finish().unwrap()
    }

    #[test]
    fn batches_give_the_same_rows_from_memory_and_from_a_file() {
        let options = ReadOptions::default();
        for most in [0, 30, 1000] {
            let source = kept(most);
            let pool = source.read_pool(&options, Select::default()).unwrap();
            assert_eq!(pool.rows.data(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "{most}");
            assert_eq!(pool.texts()[0].values[3].as_deref(), Some("odd"));
        }
    }

    #[test]
    fn the_file_goes_with_the_source() {
        let source = kept(0);
        let Place::Kept(path) = &source.parts()[0].place else { panic!("it is in a file") };
        let path = path.to_path_buf();
        assert!(path.exists());
        drop(source);
        assert!(!path.exists());
    }

    #[test]
    fn a_batch_with_other_columns_is_told_by_its_number() {
        let mut spill = Spill::new("x", 1000);
        spill.push(&batch(0..2)).unwrap();
        let other: [(&str, ArrayRef); 1] = [("a", Arc::new(Float32Array::from(vec![1.0])))];
        let error = spill.push(&RecordBatch::try_from_iter(other).unwrap()).unwrap_err();
        let expected = "`x`: batch 1: it has no column `word`; give all batches the columns and types of the first";
        assert_eq!(error.to_string(), expected);
        let whole: [(&str, ArrayRef); 2] = [
            ("a", Arc::new(Int64Array::from(vec![1]))),
            ("word", Arc::clone(plain(&batch(0..1)).unwrap().column(1))),
        ];
        let error =
            spill.push(&RecordBatch::try_from_iter(whole).unwrap()).unwrap_err().to_string();
        assert!(error.contains("batch 2: its column `a` holds Int64, not Float32"), "{error}");
        let error = Spill::new("x", 1).finish().unwrap_err().to_string();
        assert_eq!(error, "`x` has columns but no rows");
    }
}
