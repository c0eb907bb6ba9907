//! Reading a table a few rows at a time: what is known of a file before a pass, and what a pass is to give.
//!
//! A table in many files is read as one table, so all files share a [`Schema`]. The first file gives it; each
//! further one must agree, and the [difference](Schema::merge) is told by name. In text files a schema is what the
//! cells of **all** files have in common, so a column of whole numbers with one real number in the last file holds
//! real numbers in every one.

use crate::batches::Collector;
use crate::delimited::TextSchema;
use crate::error::TableError;
use crate::table::{Column, ColumnData, Table};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use bridged::columns::shown;
use bridged_math::words::count;
use std::ops::Range;
use std::path::Path;

/// What a pass over the rows of a file is to give.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass<'a> {
    /// The columns by their place in the schema, ascending; an array has only one.
    pub columns: &'a [usize],
    /// At most this many rows at a time.
    pub rows: usize,
    /// The rows that are wanted, ascending and each once; all if none.
    pub only: Option<&'a [usize]>,
}

/// What a pass calls with the wanted columns of the next rows.
pub(crate) type Each<'a> = dyn FnMut(Table) -> Result<(), TableError> + 'a;

/// What is known of a file before its rows are read.
#[derive(Debug)]
pub(crate) struct Survey {
    pub schema: Schema,
    pub rows: usize,
    /// What all of it takes in memory as a table.
    pub bytes: u64,
}

/// The columns of a table and how their cells are held.
#[derive(Clone, Debug)]
pub(crate) enum Schema {
    /// As Parquet and Arrow files tell it.
    Typed(SchemaRef),
    /// As the cells of text files look.
    Text(TextSchema),
    /// One array of numbers.
    Array {
        /// The entries of a row.
        cols: usize,
        /// Whether `f32` holds all of them exactly.
        single: bool,
    },
}

impl Schema {
    /// What both have in common; an error says what `other` has that differs, to follow the name of its file.
    pub fn merge(&mut self, other: Self) -> Result<(), String> {
        match (self, other) {
            (Self::Typed(first), Self::Typed(other)) => {
                let names = |schema: &SchemaRef| -> Vec<String> {
                    schema.fields().iter().map(|field| field.name().clone()).collect()
                };
                same_names(&names(first), &names(&other))?;
                for (a, b) in first.fields().iter().zip(other.fields()) {
                    if !alike(a.data_type(), b.data_type()) {
                        let (name, a, b) = (shown(a.name()), a.data_type(), b.data_type());
                        return Err(format!("its column `{name}` holds {b}, not {a}"));
                    }
                }
                Ok(())
            }
            (Self::Text(first), Self::Text(other)) => {
                same_names(&first.header, &other.header)?;
                first.merge(other)
            }
            (Self::Array { cols, single }, Self::Array { cols: other, single: fits }) => {
                if *cols != other {
                    let (cols, other) = (count(*cols), count(other));
                    return Err(format!("its rows have {other} entries, not {cols}"));
                }
                *single &= fits;
                Ok(())
            }
            _ => Err("it is of another format".to_owned()),
        }
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        match self {
            Self::Typed(schema) => schema.fields().len(),
            Self::Text(text) => text.header.len(),
            Self::Array { .. } => 1,
        }
    }

    /// Whether there is a column of that name.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Typed(schema) => schema.fields().iter().any(|field| field.name() == name),
            Self::Text(text) => text.header.iter().any(|column| column == name),
            Self::Array { .. } => name == crate::npy::COLUMN,
        }
    }

    /// The columns that a table can hold.
    pub fn readable(&self) -> Vec<usize> {
        match self {
            Self::Typed(schema) => Collector::new(schema, 0).wanted(),
            _ => (0..self.len()).collect(),
        }
    }

    /// A table of all columns from one of the readable ones: the others are there by the name of their type.
    pub fn widen(&self, table: Table) -> Table {
        let Self::Typed(schema) = self else { return table };
        let rows = table.rows();
        let Table { source, columns, notes, guessed, parts, .. } = table;
        let mut readable = self.readable().into_iter().zip(columns).peekable();
        let columns = schema.fields().iter().enumerate().map(|(at, field)| {
            let held = readable.next_if(|(place, _)| *place == at).map(|(_, column)| column);
            let other = || ColumnData::Other(field.data_type().to_string());
            held.unwrap_or_else(|| Column::new(field.name(), other()))
        });
        let columns = columns.collect();
        let mut table = Table::with_rows(source, columns, rows);
        (table.notes, table.guessed, table.parts) = (notes, guessed, parts);
        table
    }
}

/// What differs between two headers.
fn same_names(first: &[String], other: &[String]) -> Result<(), String> {
    if first == other {
        return Ok(());
    }
    if let Some(name) = first.iter().find(|name| !other.contains(name)) {
        return Err(format!("it has no column `{}`", shown(name)));
    }
    if let Some(name) = other.iter().find(|name| !first.contains(name)) {
        return Err(format!("it has a column `{}` more", shown(name)));
    }
    Err("its columns are in another order".to_owned())
}

/// Whether cells of both types become the same column.
pub(crate) fn alike(a: &DataType, b: &DataType) -> bool {
    use DataType as D;
    fn plain(kind: &DataType) -> &DataType {
        match kind {
            D::Dictionary(_, values) => plain(values),
            D::RunEndEncoded(_, values) => plain(values.data_type()),
            D::LargeUtf8 | D::Utf8View => &D::Utf8,
            kind => kind,
        }
    }
    let item = |kind: &DataType| match kind {
        D::List(item) | D::LargeList(item) | D::ListView(item) | D::LargeListView(item) => {
            Some((item.data_type().clone(), None))
        }
        D::FixedSizeList(item, width) => Some((item.data_type().clone(), Some(*width))),
        _ => None,
    };
    let (a, b) = (plain(a), plain(b));
    match (item(a), item(b)) {
        (Some((a, wide)), Some((b, width))) => {
            a == b && (wide.is_none() || width.is_none() || wide == width)
        }
        _ => a == b,
    }
}

/// A batch of a file as a table.
pub(crate) fn batch_table(batch: &RecordBatch, path: &Path) -> Result<Table, ArrowError> {
    let mut collector = Collector::new(&batch.schema(), batch.num_rows());
    // A few rows that are decoded already. To refuse their copy would end work of hours because the memory is
    // nearly full, as it should be.
    collector.granted(4 * batch.get_array_memory_size() as u64 + (1 << 20));
    collector.push(batch)?;
    Ok(collector.finish(path.to_path_buf()))
}

/// Rows that ascend, as ranges of neighbours.
pub(crate) fn runs(rows: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let groups = rows.chunk_by(|a, b| a + 1 == *b);
    groups.map(|group| group[0]..group[group.len() - 1] + 1)
}

/// What a pass wants of a batch whose first row has this number: ranges of its rows, none longer than the pass allows.
pub(crate) fn wanted_ranges(first: usize, rows: usize, pass: &Pass<'_>) -> Vec<Range<usize>> {
    let (end, most) = (first + rows, pass.rows.max(1));
    let whole = std::iter::once(first..end).filter(|range| !range.is_empty());
    let wanted: Vec<Range<usize>> = match pass.only {
        None => whole.collect(),
        Some(only) => {
            let start = only.partition_point(|&row| row < first);
            let stop = only.partition_point(|&row| row < end);
            runs(&only[start..stop]).collect()
        }
    };
    let pieces = wanted.into_iter().flat_map(|range| {
        let stop = range.end;
        range.step_by(most).map(move |at| at..stop.min(at + most))
    });
    pieces.map(|range| range.start - first..range.end - first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{Field, Schema as ArrowSchema};
    use std::sync::Arc;

    fn typed(fields: &[(&str, DataType)]) -> Schema {
        let fields: Vec<Field> =
            fields.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect();
        Schema::Typed(Arc::new(ArrowSchema::new(fields)))
    }

    #[test]
    fn what_differs_between_two_parts_is_told_by_name() {
        let mut first = typed(&[("id", DataType::Utf8), ("f", DataType::Float32)]);
        let mut say = |fields: &[(&str, DataType)]| first.merge(typed(fields)).unwrap_err();
        assert_eq!(say(&[("id", DataType::Utf8)]), "it has no column `f`");
        assert_eq!(
            say(&[("id", DataType::Utf8), ("f", DataType::Float64)]),
            "its column `f` holds Float64, not Float32"
        );
        assert_eq!(
            say(&[("f", DataType::Float32), ("id", DataType::Utf8)]),
            "its columns are in another order"
        );
        assert_eq!(
            say(&[("id", DataType::Utf8), ("f", DataType::Float32), ("g", DataType::Float32)]),
            "it has a column `g` more"
        );
        first.merge(typed(&[("id", DataType::LargeUtf8), ("f", DataType::Float32)])).unwrap();
        let mut array = Schema::Array { cols: 3, single: true };
        array.merge(Schema::Array { cols: 3, single: false }).unwrap();
        assert!(matches!(array, Schema::Array { single: false, .. }));
        let error = array.merge(Schema::Array { cols: 4, single: true }).unwrap_err();
        assert_eq!(error, "its rows have 4 entries, not 3");
    }

    #[test]
    fn a_pass_takes_its_rows_of_a_batch_a_few_at_a_time() {
        let only = [3, 4, 5, 6, 7, 11, 20];
        let pass = |only| Pass { columns: &[], rows: 3, only };
        assert_eq!(wanted_ranges(4, 9, &pass(Some(&only))), [0..3, 3..4, 7..8]);
        assert_eq!(wanted_ranges(4, 4, &pass(None)), [0..3, 3..4]);
        assert_eq!(wanted_ranges(4, 0, &pass(None)), []);
    }

    #[test]
    fn rows_become_ranges_of_neighbours() {
        let ranges: Vec<_> = runs(&[0, 1, 2, 7, 9, 10]).collect();
        assert_eq!(ranges, [0..3, 7..8, 9..11]);
        assert_eq!(runs(&[]).count(), 0);
    }
}
