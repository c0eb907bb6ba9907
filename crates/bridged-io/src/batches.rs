//! Between Arrow's record batches and the columns of a [`Table`], for both Arrow and Parquet.
//!
//! Reading appends batch after batch to one buffer per column; writing builds one batch at a time
//! from slices of the columns. Vectors become `FixedSizeList<Float32>`, or `Float64` where they are held
//! so; numbers, truth values and times keep the type that their file gave them.

use crate::atomic::WriteError;
use crate::convert::{doubles, integers, push_texts, singles, unpack};
use crate::room::Room;
use crate::table::{Column, ColumnData, Table, Times};
use crate::vectors::{Entry, VectorBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeListArray, Float32Array,
    Float64Array, GenericListViewArray, Int64Array, OffsetSizeTrait, PrimitiveArray, RecordBatch,
    StringArray, new_empty_array,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::concat::{concat, concat_batches};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Collects the batches of a file.
pub(crate) struct Collector {
    fields: Vec<FieldFill>,
    rows: usize,
    expected: usize,
    room: Room,
}

struct FieldFill {
    name: String,
    stored: Option<DataType>,
    fill: Fill,
}

/// A column that is being filled.
enum Fill {
    Vector(VectorBuilder<f32>),
    /// Of numbers that `f32` may not tell apart.
    Double(VectorBuilder<f64>),
    Number(Vec<f64>),
    Integer(Vec<Option<i64>>),
    /// Until one is too large for `i64`, these are integers.
    Unsigned(Vec<Option<u64>>),
    Text(Vec<Option<String>>),
    Bool(Vec<Option<bool>>),
    /// The texts, the pieces of the file, and their type.
    Time(Vec<Option<String>>, Vec<ArrayRef>, DataType),
    Other(String),
}

impl Collector {
    /// For tables of that schema; `expected` rows are promised, not guaranteed.
    pub fn new(schema: &Schema, expected: usize) -> Self {
        let fields = schema.fields().iter().map(|field| FieldFill {
            name: field.name().clone(),
            stored: is_narrow(field.data_type()).then(|| field.data_type().clone()),
            fill: fill_for(field.data_type()),
        });
        Self { fields: fields.collect(), rows: 0, expected, room: Room::default() }
    }

    /// Notes that this many bytes were asked for and granted before anything was read.
    pub fn granted(&mut self, bytes: u64) {
        self.room = Room::granted(bytes);
    }

    /// The bytes that a cell of a wanted column takes, texts and lists apart.
    pub fn cell_bytes(&self, at: usize) -> CellBytes {
        match self.fields[at].fill {
            Fill::Vector(_) => CellBytes::Entry(4),
            Fill::Double(_) => CellBytes::Entry(8),
            Fill::Text(_) | Fill::Time(..) => CellBytes::Text,
            Fill::Other(_) => CellBytes::Row(0),
            // A number becomes an entry of a row besides.
            Fill::Number(_) => CellBytes::Row(12),
            _ => CellBytes::Row(20),
        }
    }

    /// The bytes that a row of a wanted column takes besides its letters and entries.
    pub fn row_bytes(&self, at: usize) -> u64 {
        match self.cell_bytes(at) {
            CellBytes::Entry(_) => 1,
            CellBytes::Row(bytes) => bytes,
            CellBytes::Text => CellBytes::TEXT,
        }
    }

    /// The columns that are worth decoding.
    pub fn wanted(&self) -> Vec<usize> {
        let skipped = |at: &usize| matches!(self.fields[*at].fill, Fill::Other(_));
        (0..self.fields.len()).filter(|at| !skipped(at)).collect()
    }

    /// Adds a batch that holds the wanted columns only.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let wanted = self.wanted();
        if batch.num_columns() != wanted.len() {
            return Err(ArrowError::SchemaError("a batch does not fit the schema".to_owned()));
        }
        let mut bytes = 0u64;
        for (&at, array) in wanted.iter().zip(batch.columns()) {
            bytes += self.cell_bytes(at).of(array.as_ref());
        }
        self.room.take(bytes).map_err(|e| ArrowError::MemoryError(e.to_string()))?;
        for (at, array) in wanted.into_iter().zip(batch.columns()) {
            self.fields[at].fill.push(array, self.expected)?;
        }
        self.rows += batch.num_rows();
        Ok(())
    }

    /// The finished table.
    pub fn finish(self, source: PathBuf) -> Table {
        let columns = self.fields.into_iter().map(|FieldFill { name, stored, fill }| Column {
            stored,
            ..Column::new(name, fill.finish())
        });
        Table::with_rows(source, columns.collect(), self.rows)
    }
}

/// What the cells of a column take in memory.
#[derive(Clone, Copy)]
pub(crate) enum CellBytes {
    /// Bytes per entry of a list.
    Entry(u64),
    /// Bytes per row.
    Row(u64),
    /// A text: its letters, and what holds them.
    Text,
}

impl CellBytes {
    /// What holds a text besides its letters.
    pub const TEXT: u64 = 40;

    /// The bytes of an array's cells; a dictionary or runs are told by what they unpack to.
    fn of(self, array: &dyn Array) -> u64 {
        let rows = array.len() as u64;
        match self {
            Self::Row(bytes) => rows * bytes,
            Self::Text => match array.data_type() {
                // Each row repeats a text of the dictionary: not fewer letters than the mean of those.
                DataType::Dictionary(_, _) | DataType::RunEndEncoded(_, _) => {
                    let distinct = match array.data_type() {
                        DataType::Dictionary(_, _) => array.as_any_dictionary().values().len(),
                        _ => array.len(),
                    };
                    let letters = array.get_buffer_memory_size() as u64;
                    rows.saturating_mul(Self::TEXT + letters / (distinct.max(1) as u64))
                }
                _ => rows * Self::TEXT + array.get_buffer_memory_size() as u64,
            },
            Self::Entry(bytes) => match array.data_type() {
                DataType::FixedSizeList(_, width) => rows * (*width).max(0) as u64 * bytes,
                DataType::List(_) => array.as_list::<i32>().values().len() as u64 * bytes,
                DataType::LargeList(_) => array.as_list::<i64>().values().len() as u64 * bytes,
                _ => array.get_buffer_memory_size() as u64,
            },
        }
    }
}

/// Whether numbers of this type are held in another one.
fn is_narrow(kind: &DataType) -> bool {
    use DataType as D;
    let whole = matches!(kind, D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16 | D::UInt32);
    whole || matches!(kind, D::UInt64 | D::Float32)
}

fn fill_for(kind: &DataType) -> Fill {
    use DataType as D;
    match kind {
        D::Dictionary(_, values) => fill_for(values),
        D::RunEndEncoded(_, values) => fill_for(values.data_type()),
        D::List(item)
        | D::LargeList(item)
        | D::FixedSizeList(item, _)
        | D::ListView(item)
        | D::LargeListView(item)
            if item.data_type().is_numeric() =>
        {
            match item.data_type() {
                D::Float16 | D::Float32 | D::Int8 | D::Int16 | D::UInt8 | D::UInt16 => {
                    Fill::Vector(VectorBuilder::default())
                }
                _ => Fill::Double(VectorBuilder::default()),
            }
        }
        D::UInt64 => Fill::Unsigned(Vec::new()),
        kind if kind.is_integer() => Fill::Integer(Vec::new()),
        kind if kind.is_numeric() => Fill::Number(Vec::new()),
        D::Boolean => Fill::Bool(Vec::new()),
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Null => Fill::Text(Vec::new()),
        D::Interval(_) => Fill::Text(Vec::new()), // Parquet cannot hold every kind of them
        kind if kind.is_temporal() => Fill::Time(Vec::new(), Vec::new(), kind.clone()),
        kind => Fill::Other(kind.to_string()),
    }
}

impl Fill {
    fn push(&mut self, array: &ArrayRef, expected: usize) -> Result<(), ArrowError> {
        let plain = unpack(array)?;
        match self {
            Self::Vector(builder) => push_lists(builder, &plain, expected)?,
            Self::Double(builder) => push_lists(builder, &plain, expected)?,
            Self::Number(out) => {
                out.extend(doubles(&plain)?.iter().map(|v| v.unwrap_or(f64::NAN)));
            }
            Self::Integer(out) => out.extend(integers(&plain)?.iter()),
            Self::Unsigned(out) => out.extend(plain.as_primitive::<UInt64Type>().iter()),
            Self::Text(out) => push_texts(out, &plain)?,
            Self::Bool(out) => match plain.as_boolean_opt() {
                Some(cells) => out.extend(cells.iter()),
                None => return Err(ArrowError::SchemaError("truth values expected".to_owned())),
            },
            Self::Time(out, pieces, _) => {
                push_texts(out, &plain)?;
                pieces.push(plain);
            }
            Self::Other(_) => {}
        }
        Ok(())
    }

    fn finish(self) -> ColumnData {
        match self {
            Self::Vector(builder) => builder.finish(),
            Self::Double(builder) => builder.finish(),
            Self::Number(v) => ColumnData::Number(v),
            Self::Integer(v) => ColumnData::Integer(v),
            Self::Unsigned(v) if v.iter().flatten().all(|v| i64::try_from(*v).is_ok()) => {
                ColumnData::Integer(v.into_iter().map(|v| v.map(|v| v as i64)).collect())
            }
            Self::Unsigned(v) => ColumnData::Code {
                text: v.iter().map(|v| v.map(|v| v.to_string())).collect(),
                numbers: v.iter().map(|v| v.map_or(f64::NAN, |v| v as f64)).collect(),
            },
            Self::Text(v) => ColumnData::Text(v),
            Self::Bool(v) => ColumnData::Bool(v),
            Self::Time(text, pieces, kind) => {
                let parts: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
                match concat(&parts) {
                    Ok(cells) => ColumnData::Time(Times { text, cells }),
                    Err(_) if text.is_empty() => {
                        ColumnData::Time(Times { text, cells: new_empty_array(&kind) })
                    }
                    Err(_) => ColumnData::Text(text), // pieces of different types
                }
            }
            Self::Other(name) => ColumnData::Other(name),
        }
    }
}

/// The numbers inside lists: a gap becomes NaN; what `f32` cannot hold becomes infinite there.
trait ListEntry: Entry + ArrowNativeType {
    type Arrow: ArrowPrimitiveType<Native = Self>;

    fn read(values: &ArrayRef) -> Result<PrimitiveArray<Self::Arrow>, ArrowError>;

    fn cells(values: &ArrayRef) -> Result<PrimitiveArray<Self::Arrow>, ArrowError> {
        let cells = Self::read(values)?;
        if cells.null_count() == 0 {
            return Ok(cells);
        }
        let filled = cells.iter().map(|v| v.unwrap_or(Self::NAN));
        Ok(PrimitiveArray::from_iter_values(filled))
    }
}

impl ListEntry for f32 {
    type Arrow = Float32Type;

    fn read(values: &ArrayRef) -> Result<PrimitiveArray<Float32Type>, ArrowError> {
        singles(values)
    }
}

impl ListEntry for f64 {
    type Arrow = Float64Type;

    fn read(values: &ArrayRef) -> Result<PrimitiveArray<Float64Type>, ArrowError> {
        doubles(values)
    }
}

fn push_lists<T: ListEntry>(
    builder: &mut VectorBuilder<T>,
    array: &ArrayRef,
    expected: usize,
) -> Result<(), ArrowError> {
    match array.data_type() {
        DataType::FixedSizeList(_, _) => {
            let lists = array.as_fixed_size_list();
            let width = lists.value_length().max(0) as usize;
            // `values` of a slice begins with the slice's first row.
            let values = T::cells(lists.values())?;
            builder.expect_rows(expected, width);
            if lists.null_count() == 0 {
                builder.push_block(lists.len(), width, &values.values()[..lists.len() * width]);
            } else {
                for i in 0..lists.len() {
                    if lists.is_null(i) {
                        builder.push_null();
                    } else {
                        builder.push(&values.values()[i * width..(i + 1) * width]);
                    }
                }
            }
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let offsets = lists.offsets().iter().map(|&o| o as usize).collect();
            push_offset_lists(builder, offsets, lists.values(), lists.nulls(), expected)?;
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            let offsets = lists.offsets().iter().map(|&o| o as usize).collect();
            push_offset_lists(builder, offsets, lists.values(), lists.nulls(), expected)?;
        }
        DataType::ListView(_) => push_list_views(builder, array.as_list_view::<i32>(), expected)?,
        DataType::LargeListView(_) => {
            push_list_views(builder, array.as_list_view::<i64>(), expected)?;
        }
        other => return Err(ArrowError::SchemaError(format!("{other} is not a list"))),
    }
    Ok(())
}

fn push_offset_lists<T: ListEntry>(
    builder: &mut VectorBuilder<T>,
    offsets: Vec<usize>,
    values: &ArrayRef,
    nulls: Option<&NullBuffer>,
    expected: usize,
) -> Result<(), ArrowError> {
    let (Some(&start), Some(&end)) = (offsets.first(), offsets.last()) else { return Ok(()) };
    let values = T::cells(&values.slice(start, end - start))?;
    let rows = offsets.len() - 1;
    for i in 0..rows {
        if nulls.is_some_and(|n| n.is_null(i)) {
            builder.push_null();
        } else {
            let row = &values.values()[offsets[i] - start..offsets[i + 1] - start];
            builder.expect_rows(expected, row.len());
            builder.push(row);
        }
    }
    Ok(())
}

fn push_list_views<T: ListEntry, O: OffsetSizeTrait>(
    builder: &mut VectorBuilder<T>,
    lists: &GenericListViewArray<O>,
    expected: usize,
) -> Result<(), ArrowError> {
    let values = T::cells(lists.values())?;
    for i in 0..lists.len() {
        if lists.is_null(i) {
            builder.push_null();
        } else {
            let start = lists.value_offset(i).as_usize();
            let row = &values.values()[start..start + lists.value_size(i).as_usize()];
            builder.expect_rows(expected, row.len());
            builder.push(row);
        }
    }
    Ok(())
}

/// The schema under which a table is written.
pub(crate) fn schema(table: &Table) -> Result<SchemaRef, WriteError> {
    let mut fields = Vec::with_capacity(table.columns.len());
    for column in &table.columns {
        let (kind, nullable) = match &column.data {
            ColumnData::Vector(m) => (vector_type(m.cols()), false),
            ColumnData::OptionalVector { values, .. } => (vector_type(values.cols()), true),
            ColumnData::DoubleVector { values, valid } => {
                (list_type(DataType::Float64, values.cols()), !valid.is_empty())
            }
            ColumnData::Number(_) => {
                let stored = column.stored.clone().filter(DataType::is_floating);
                (stored.unwrap_or(DataType::Float64), true)
            }
            ColumnData::Integer(_) => {
                let stored = column.stored.clone().filter(DataType::is_integer);
                (stored.unwrap_or(DataType::Int64), true)
            }
            ColumnData::Code { .. } if column.stored == Some(DataType::UInt64) => {
                (DataType::UInt64, true)
            }
            ColumnData::Text(_) | ColumnData::Words { .. } | ColumnData::Code { .. } => {
                (DataType::Utf8, true)
            }
            ColumnData::Bool(_) => (DataType::Boolean, true),
            ColumnData::Time(times) => (times.cells.data_type().clone(), true),
            ColumnData::Ragged { .. } | ColumnData::Other(_) => {
                let (name, kind) = (&column.name, column.data.kind());
                return Err(WriteError::Refused(format!("column `{name}` holds {kind}")));
            }
        };
        fields.push(Field::new(&column.name, kind, nullable));
    }
    Ok(Arc::new(Schema::new(fields)))
}

fn vector_type(width: usize) -> DataType {
    list_type(DataType::Float32, width)
}

fn list_type(entry: DataType, width: usize) -> DataType {
    DataType::FixedSizeList(Arc::new(Field::new("element", entry, false)), width as i32)
}

/// The rows of that range as a batch.
pub(crate) fn batch(
    table: &Table,
    schema: &SchemaRef,
    range: Range<usize>,
) -> Result<RecordBatch, ArrowError> {
    let mut arrays = Vec::with_capacity(table.columns.len());
    for (column, field) in table.columns.iter().zip(schema.fields()) {
        let array: ArrayRef = match &column.data {
            ColumnData::Vector(m) => {
                let values = &m.data()[range.start * m.cols()..range.end * m.cols()];
                lists::<Float32Type>(field, values.to_vec(), None)?
            }
            ColumnData::OptionalVector { values: m, valid } => {
                let mut values = m.data()[range.start * m.cols()..range.end * m.cols()].to_vec();
                let valid = &valid[range.clone()];
                // What stands in for a missing row must not show in the bytes of the file.
                for (row, valid) in values.chunks_exact_mut(m.cols().max(1)).zip(valid) {
                    if !valid {
                        row.fill(0.0);
                    }
                }
                lists::<Float32Type>(field, values, Some(NullBuffer::from(valid)))?
            }
            ColumnData::DoubleVector { values: rows, valid } => {
                let mut values = rows.slice(range.clone());
                let nulls = (!valid.is_empty()).then(|| NullBuffer::from(&valid[range.clone()]));
                for (i, row) in values.chunks_exact_mut(rows.cols().max(1)).enumerate() {
                    if nulls.as_ref().is_some_and(|nulls| nulls.is_null(i)) {
                        row.fill(0.0);
                    }
                }
                lists::<Float64Type>(field, values, nulls)?
            }
            ColumnData::Number(v) => {
                let cells = v[range.clone()].iter().map(|&v| (!v.is_nan()).then_some(v));
                match field.data_type() {
                    DataType::Float32 => {
                        Arc::new(cells.map(|v| v.map(|v| v as f32)).collect::<Float32Array>())
                    }
                    _ => Arc::new(cells.collect::<Float64Array>()),
                }
            }
            ColumnData::Integer(v) => whole_numbers(&v[range.clone()], field.data_type())?,
            ColumnData::Bool(v) => {
                Arc::new(v[range.clone()].iter().copied().collect::<BooleanArray>())
            }
            ColumnData::Time(times) => times.cells.slice(range.start, range.len()),
            ColumnData::Code { text, .. } if field.data_type() == &DataType::UInt64 => {
                let cells = text[range.clone()].iter().map(|v| v.as_ref()?.parse().ok());
                Arc::new(cells.collect::<PrimitiveArray<UInt64Type>>())
            }
            ColumnData::Text(v) | ColumnData::Code { text: v, .. } => {
                Arc::new(v[range.clone()].iter().map(Option::as_deref).collect::<StringArray>())
            }
            ColumnData::Words { words, at } => {
                let cells =
                    at[range.clone()].iter().map(|at| Some(words[(*at)? as usize].as_str()));
                Arc::new(cells.collect::<StringArray>())
            }
            ColumnData::Ragged { .. } | ColumnData::Other(_) => {
                return Err(ArrowError::SchemaError("refused by `schema`".to_owned()));
            }
        };
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::clone(schema), arrays)
}

/// Whole numbers in the type of their column.
fn whole_numbers(cells: &[Option<i64>], kind: &DataType) -> Result<ArrayRef, ArrowError> {
    fn narrow<T: ArrowPrimitiveType>(cells: &[Option<i64>]) -> Result<ArrayRef, ArrowError>
    where
        T::Native: TryFrom<i64>,
    {
        let fits = |v: &i64| T::Native::try_from(*v).ok();
        if let Some(v) = cells.iter().flatten().find(|v| fits(v).is_none()) {
            return Err(ArrowError::CastError(format!("{v} does not fit {}", T::DATA_TYPE)));
        }
        let cells = cells.iter().map(|v| v.as_ref().and_then(fits));
        Ok(Arc::new(cells.collect::<PrimitiveArray<T>>()))
    }
    match kind {
        DataType::Int8 => narrow::<Int8Type>(cells),
        DataType::Int16 => narrow::<Int16Type>(cells),
        DataType::Int32 => narrow::<Int32Type>(cells),
        DataType::UInt8 => narrow::<UInt8Type>(cells),
        DataType::UInt16 => narrow::<UInt16Type>(cells),
        DataType::UInt32 => narrow::<UInt32Type>(cells),
        DataType::UInt64 => narrow::<UInt64Type>(cells),
        _ => Ok(Arc::new(cells.iter().copied().collect::<Int64Array>())),
    }
}

fn lists<T: ArrowPrimitiveType>(
    field: &Field,
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let DataType::FixedSizeList(item, width) = field.data_type() else {
        return Err(ArrowError::SchemaError("a vector column is a fixed-size list".to_owned()));
    };
    let values = Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None));
    Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *width, values, nulls)?))
}

/// Cuts tables that come one after the other into batches of one size, wherever the tables end: what an encoder makes
/// of rows depends on the borders of its batches, and equal rows are to give equal bytes.
pub(crate) struct EvenBatches {
    schema: SchemaRef,
    size: usize,
    /// The pieces of a batch that is not full yet, and their rows.
    held: Vec<RecordBatch>,
    rows: usize,
}

impl EvenBatches {
    /// Batches of so many rows.
    pub fn new(schema: SchemaRef, size: usize) -> Self {
        Self { schema, size, held: Vec::new(), rows: 0 }
    }

    /// Adds the rows of a table, and calls `each` with the batches that are full.
    pub fn push<E: From<ArrowError>>(
        &mut self,
        table: &Table,
        mut each: impl FnMut(&RecordBatch) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut start = 0;
        while start < table.rows() {
            let end = table.rows().min(start + self.size - self.rows);
            self.held.push(batch(table, &self.schema, start..end)?);
            self.rows += end - start;
            start = end;
            if self.rows == self.size {
                self.finish(&mut each)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with the last rows, if there are any.
    pub fn finish<E: From<ArrowError>>(
        &mut self,
        mut each: impl FnMut(&RecordBatch) -> Result<(), E>,
    ) -> Result<(), E> {
        self.rows = 0;
        match &std::mem::take(&mut self.held)[..] {
            [] => Ok(()),
            [one] => each(one),
            some => each(&concat_batches(&self.schema, some)?),
        }
    }
}
