//! Parquet: the columnar file that data frames are exchanged in.
//!
//! Only columns that a table can hold are decoded. Written files are zstd-compressed, in row groups
//! of 131,072 rows or 128 MB, with a fixed `created_by`, so equal tables give equal bytes.

use crate::Input;
use crate::atomic::{Sink, WriteError};
use crate::batches::{CellBytes, Collector, EvenBatches, schema};
use crate::error::TableError;
use crate::format::{Format, Layout};
use crate::pass::{Each, Pass, Schema, Survey, batch_table, runs};
use crate::room::require;
use crate::source::Fetch;
use crate::table::Table;
use ::parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection};
use ::parquet::arrow::{ArrowWriter, ProjectionMask};
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::reader::{ChunkReader, Length};
use ::parquet::schema::types::ColumnPath;
use arrow_array::RecordBatch;
use bridged_math::cancel::checkpoint;
use bridged_math::guard::quietly;
use bytes::Bytes;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

const NAME: &str = "Parquet";

/// In the list of formats.
pub(crate) const FORMAT: Format = Format {
    name: NAME,
    extensions: &["parquet", "pq"],
    about: "Columns with types, compressed; vectors as lists. The best choice for large tables.",
    layout: Layout::Columns,
    beginnings: &[(b"PAR1", NAME)],
    never_text: true,
    reads: true,
    asks_for_ranges: true,
    read,
    read_pairs: |input| read(input)?.into_pairs(input.options),
    peek,
    survey,
    pass,
    write,
    write_pieces: Some(write_pieces),
    write_stream: None,
};

/// Rows decoded at a time: with 1,024 entries per vector, 32 MB.
const BATCH: usize = 8192;

/// A row group ends when it is larger than this.
const ROW_GROUP_BYTES: usize = 128 << 20;

/// Reads a Parquet file.
fn read(input: &Input<'_>) -> Result<Table, TableError> {
    opened(input, |file| decode(file, input))
}

/// The columns of a Parquet file.
fn peek(input: &Input<'_>) -> Result<crate::Columns, TableError> {
    opened(input, |file| {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file);
        let builder = builder.map_err(|e| input.damaged(NAME, e.to_string()))?;
        Ok(crate::peek_schema(builder.schema()))
    })
}

/// What `then` makes of a file with a beginning and an end.
fn opened<T>(
    input: &Input<'_>,
    then: impl FnOnce(Chunks) -> Result<T, TableError>,
) -> Result<T, TableError> {
    let damaged = |detail: String| input.damaged(NAME, detail);
    let fetch = input.fetch.clone();
    if let Some(fetch) = &fetch {
        let failed = |source| TableError::Unreadable { path: input.path.into(), source };
        fetch.ensure(0..4).map_err(failed)?;
        fetch.ensure(input.len.saturating_sub(4)..input.len).map_err(failed)?;
    }
    let mut ends = [[0u8; 4]; 2];
    let mut file = input.file;
    for (end, at) in ends.iter_mut().zip([SeekFrom::Start(0), SeekFrom::End(-4)]) {
        let got = file.seek(at).and_then(|_| file.read_exact(end));
        got.map_err(|_| damaged("it is too short to be one".to_owned()))?;
    }
    if &ends[0] != b"PAR1" {
        return Err(damaged("it does not begin like one".to_owned()));
    }
    if &ends[1] != b"PAR1" || input.len < 12 {
        return Err(damaged("its end is missing; it was cut off while being written".to_owned()));
    }
    let file = file.try_clone();
    let file = file.map_err(|source| TableError::Unreadable { path: input.path.into(), source })?;
    let len = input.len;
    match quietly(|| then(Chunks { file, len, fetch })) {
        Ok(decoded) => decoded,
        Err(panic) => Err(damaged(panic)),
    }
}

/// The bytes of a file, which may have to come from far.
struct Chunks {
    file: File,
    len: u64,
    fetch: Option<Arc<dyn Fetch>>,
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<Chunk>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let (file, fetch) = (self.file.try_clone()?, self.fetch.clone());
        Ok(BufReader::new(Chunk { file, fetch, at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.len) {
            let detail = format!("{length} bytes from {start} on are not in it");
            return Err(ParquetError::EOF(detail));
        }
        if let Some(fetch) = &self.fetch {
            fetch.ensure(start..start + length as u64)?;
        }
        self.file.get_bytes(start, length)
    }
}

/// The bytes from some place on.
struct Chunk {
    file: File,
    fetch: Option<Arc<dyn Fetch>>,
    at: u64,
}

impl Read for Chunk {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(fetch) = &self.fetch {
            fetch.ensure(self.at..self.at + buffer.len() as u64)?;
        }
        // All readers of a file share one place in it.
        self.file.seek(SeekFrom::Start(self.at))?;
        let count = self.file.read(buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}

fn decode(file: Chunks, input: &Input<'_>) -> Result<Table, TableError> {
    let damaged = |e: ParquetError| input.damaged(NAME, e.to_string());
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
    let rows = builder.metadata().file_metadata().num_rows();
    let mut collector = Collector::new(builder.schema(), usize::try_from(rows).unwrap_or(0));
    let bytes = promised(builder.metadata(), &collector);
    require(input.path, u64::try_from(rows).unwrap_or(0), bytes)?;
    collector.granted(bytes);
    let mask = ProjectionMask::roots(builder.parquet_schema(), collector.wanted());
    let batches = builder.with_projection(mask).with_batch_size(BATCH).build().map_err(damaged)?;
    for batch in batches {
        checkpoint();
        let batch = batch.map_err(|e| damaged(e.into()))?;
        collector.push(&batch).map_err(|e| input.not_collected(NAME, e))?;
    }
    Ok(collector.finish(input.path.to_path_buf()))
}

/// What the footer of a Parquet file says.
fn survey(input: &Input<'_>) -> Result<Survey, TableError> {
    opened(input, |file| {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file);
        let builder = builder.map_err(|e| input.damaged(NAME, e.to_string()))?;
        let rows = usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        let bytes = promised(builder.metadata(), &Collector::new(builder.schema(), rows));
        Ok(Survey { schema: Schema::Typed(builder.schema().clone()), rows, bytes })
    })
}

/// Decodes some columns, and of some rows only the row groups that hold them.
fn pass(
    input: &Input<'_>,
    _: &Schema,
    pass: Pass<'_>,
    each: &mut Each<'_>,
) -> Result<(), TableError> {
    opened(input, |file| {
        let damaged = |e: ParquetError| input.damaged(NAME, e.to_string());
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), pass.columns.iter().copied());
        let mut builder = builder.with_projection(mask).with_batch_size(pass.rows.max(1));
        if let Some(only) = pass.only {
            let (groups, selection) = groups_of(builder.metadata(), only);
            builder = builder.with_row_groups(groups).with_row_selection(selection);
        }
        for batch in builder.build().map_err(damaged)? {
            checkpoint();
            let batch = batch.map_err(|e| damaged(e.into()))?;
            each(batch_table(&batch, input.path).map_err(|e| input.not_collected(NAME, e))?)?;
        }
        Ok(())
    })
}

/// The row groups that hold these rows, and where in those groups they are.
fn groups_of(metadata: &ParquetMetaData, rows: &[usize]) -> (Vec<usize>, RowSelection) {
    let (mut groups, mut places) = (Vec::new(), Vec::with_capacity(rows.len()));
    // Where a group begins in the file, and among the groups that are read.
    let (mut first, mut start, mut next) = (0, 0, 0);
    for (at, group) in metadata.row_groups().iter().enumerate() {
        let held = usize::try_from(group.num_rows()).unwrap_or(0);
        let end = next + rows[next..].partition_point(|&row| row < first + held);
        if end > next {
            groups.push(at);
            places.extend(rows[next..end].iter().map(|row| row - first + start));
            (start, next) = (start + held, end);
        }
        first += held;
    }
    let selection = RowSelection::from_consecutive_ranges(runs(&places), start);
    (groups, selection)
}

/// The bytes that the table will take, by what the file says of itself.
fn promised(metadata: &ParquetMetaData, collector: &Collector) -> u64 {
    let schema = metadata.file_metadata().schema_descr();
    let wanted: HashSet<usize> = collector.wanted().into_iter().collect();
    let positive = |n: i64| u64::try_from(n).unwrap_or(0);
    let mut bytes = positive(metadata.file_metadata().num_rows()).saturating_mul(CellBytes::TEXT);
    for group in metadata.row_groups() {
        let rows = positive(group.num_rows());
        for (leaf, chunk) in group.columns().iter().enumerate() {
            let root = schema.get_column_root_idx(leaf);
            if !wanted.contains(&root) {
                continue;
            }
            bytes = bytes.saturating_add(match collector.cell_bytes(root) {
                CellBytes::Entry(bytes) => positive(chunk.num_values()).saturating_mul(bytes),
                CellBytes::Row(bytes) => rows.saturating_mul(bytes),
                CellBytes::Text => {
                    let held = rows.saturating_mul(CellBytes::TEXT);
                    held.saturating_add(positive(chunk.uncompressed_size()))
                }
            });
        }
    }
    bytes
}

/// Writes a Parquet file.
fn write(sink: &mut Sink<'_>, table: &Table) -> Result<(), WriteError> {
    write_pieces(sink, table, &mut std::iter::empty())
}

/// Writes a Parquet file of tables with the same columns, one after the other.
fn write_pieces(
    sink: &mut Sink<'_>,
    first: &Table,
    rest: &mut dyn Iterator<Item = io::Result<Table>>,
) -> Result<(), WriteError> {
    let failed = |e: ParquetError| WriteError::Failed(Box::new(e));
    let schema = schema(first)?;
    let properties = Some(properties(first));
    let mut writer = ArrowWriter::try_new(sink, schema.clone(), properties).map_err(failed)?;
    let mut write = |batch: &RecordBatch| -> Result<(), ParquetError> {
        writer.write(batch)?;
        // A row group is held in memory until it is complete.
        if writer.in_progress_size() > ROW_GROUP_BYTES {
            writer.flush()?;
        }
        Ok(())
    };
    let mut batches = EvenBatches::new(schema, BATCH);
    batches.push(first, &mut write).map_err(failed)?;
    for piece in rest {
        batches.push(&piece?, &mut write).map_err(failed)?;
    }
    batches.finish(&mut write).map_err(failed)?;
    writer.close().map_err(failed)?;
    Ok(())
}

fn properties(table: &Table) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by("bridged".to_owned())
        .set_max_row_group_row_count(Some(1 << 17));
    for column in &table.columns {
        if column.data.kind().is_list() {
            // The entries of vectors hardly repeat and nobody filters by them.
            let parts = [column.name.as_str(), "list", "element"];
            let path = ColumnPath::new(parts.map(str::to_owned).to_vec());
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    properties.build()
}
