//! What is decided of a source before its rows are used.

use super::batch::{Bad, take};
use super::{Narrow, StoredRows};
use crate::ReadOptions;
use crate::error::TableError;
use crate::mixed::Mixed;
use crate::pass::{Pass, Schema};
use crate::select::{Select, dropped_note, entry_place, filled_note};
use crate::source::{Source, Surveyed};
use crate::table::{ColumnData, Table};
use crate::to_rows::Vectors;
use arrow_schema::DataType;
use bridged::columns::{Missing, VectorColumns};
use bridged::offset::{ColumnSums, Offset};
use bridged::range::check_largest;

/// The rows that columns are chosen by.
const HEAD: usize = 4096;

impl StoredRows {
    /// Opens a source: chooses its columns by its first rows, and looks at all rows if something depends on them.
    pub(crate) fn open(
        source: Source,
        options: &ReadOptions<'_>,
        select: Select<'_>,
    ) -> Result<Self, TableError> {
        let surveyed = source.survey(options)?;
        let head = head(&source, &surveyed, options)?;
        let mixed = |at: usize| all_texts(&source, &surveyed, options, &head, at);
        let (mut chosen, _) = head.choose(&select, &mixed)?;
        let mut notes = std::mem::take(&mut chosen.notes);
        notes.extend(source.notes().iter().cloned());
        let mut firsts = vec![0];
        for rows in &surveyed.rows {
            firsts.push(firsts[firsts.len() - 1] + rows);
        }
        let cols = match &chosen.vector {
            VectorColumns::Numbers(places) => places.len(),
            VectorColumns::List(at) => width(&head.columns[*at].data),
        };
        let mut stored = Self {
            source,
            separator: options.separator,
            decimal: options.decimal,
            surveyed,
            firsts,
            chosen,
            cols,
            offset: select.fitted.map_or_else(Offset::default, |f| f.offset.clone()),
            missing: select.missing,
            means: Vec::new(),
            dropped: Vec::new(),
            notes,
            scratch: None,
        };
        let known = select.fitted.is_some() || stored.are_singles();
        if cols == 0 || !known || stored.missing != Missing::Refuse {
            stored.look_at_all(known, select.fitted.map(|f| f.mean))?;
        }
        if stored.cols == 0 {
            let (path, column) = (stored.source.name().into(), stored.chosen.vector_names.concat());
            return Err(TableError::NoEntries { path, column });
        }
        Ok(stored)
    }

    /// Whether `f32` holds all numbers of the vector exactly, whatever they are.
    fn are_singles(&self) -> bool {
        use DataType as D;
        let exact = |kind: &DataType| {
            let small = matches!(kind, D::Int8 | D::Int16 | D::UInt8 | D::UInt16);
            small || matches!(kind, D::Float16 | D::Float32)
        };
        match &self.surveyed.schema {
            Schema::Typed(schema) => self.chosen.vector.places().iter().all(|&at| {
                schema.fields().get(at).is_some_and(|field| match field.data_type() {
                    D::List(item)
                    | D::LargeList(item)
                    | D::FixedSizeList(item, _)
                    | D::ListView(item)
                    | D::LargeListView(item) => exact(item.data_type()),
                    kind => exact(kind),
                })
            }),
            Schema::Array { single, .. } => *single,
            Schema::Text(_) => false,
        }
    }

    /// A pass for what follows from all rows: their offset, the mean of each column, and which are left out.
    fn look_at_all(&mut self, known: bool, mean: Option<&[f32]>) -> Result<(), TableError> {
        let narrow = self.narrow(self.chosen.vector.places().iter().copied());
        let mut look =
            Look { cols: self.cols, sums: ColumnSums::new(self.cols), ..Look::default() };
        let drops = self.missing == Missing::Drop;
        self.passes(&narrow, self.piece_rows(), &mut |piece| {
            let (part, mut table) = (piece.part, piece.table);
            let (first, rows) = (table.first, table.rows());
            let name = |row: usize| self.name_row(part, first + row);
            let cols = Some(look.cols).filter(|&cols| cols > 0);
            let (vectors, valid) = take(&mut table, &self.chosen.vector, &narrow, cols)
                .map_err(|bad| self.bad(bad, &name))?;
            if let Some(row) = valid.iter().position(|valid| !valid).filter(|_| !drops) {
                return Err(self.bad(Bad::Missing { row }, &name));
            }
            look.see(&vectors, &valid, rows, self.firsts[part] + first);
            Ok(())
        })?;
        let all = self.surveyed.total();
        self.cols = look.cols;
        if !known {
            self.offset = look.sums.offset();
            // A column that is moved has numbers of ordinary size.
            if self.offset.is_none() && look.largest < 1e-15 {
                check_largest(look.largest).map_err(|problem| TableError::OutOfRange {
                    path: self.source.name().to_path_buf(),
                    problem: problem.to_string(),
                })?;
            }
        }
        match self.missing {
            Missing::Refuse => {}
            Missing::Drop => {
                self.dropped = look.gaps;
                if self.dropped.len() == all {
                    let path = self.source.name().to_path_buf();
                    return Err(TableError::AllDropped { path, rows: all });
                }
                if !self.dropped.is_empty() {
                    self.notes.push(dropped_note(self.dropped.len(), all));
                }
            }
            Missing::Mean if look.missing > 0 => {
                self.means = match mean.filter(|mean| mean.len() == self.cols) {
                    Some(mean) => mean.to_vec(),
                    None => self.means_of_rows(&narrow)?,
                };
                if let Some(at) = self.means.iter().position(|mean| mean.is_nan()) {
                    let is_list = matches!(self.chosen.vector, VectorColumns::List(_));
                    let place = entry_place(&self.chosen.vector_names, is_list, at);
                    let path = self.source.name().to_path_buf();
                    return Err(TableError::NoValues { path, place });
                }
                self.notes.extend(filled_note(look.missing));
            }
            Missing::Mean => {}
        }
        Ok(())
    }

    /// The mean of each column of the rows as they are used, gaps apart.
    fn means_of_rows(&self, narrow: &Narrow) -> Result<Vec<f32>, TableError> {
        let mut sums = ColumnSums::new(self.cols);
        self.passes(narrow, self.piece_rows(), &mut |piece| {
            let mut table = piece.table;
            let count = table.rows();
            let taken = take(&mut table, &self.chosen.vector, narrow, Some(self.cols));
            let (vectors, _) =
                taken.map_err(|bad| self.bad(bad, &|row| self.name_row(piece.part, row)))?;
            for row in vectors.into_rows(count, &self.offset).view().iter_rows() {
                row.iter().enumerate().for_each(|(at, &v)| sums.see(at, f64::from(v)));
            }
            Ok(())
        })?;
        Ok(sums.means().into_iter().map(|mean| mean as f32).collect())
    }
}

/// What is found out about all rows.
struct Look {
    cols: usize,
    sums: ColumnSums,
    /// The largest magnitude of a finite number.
    largest: f64,
    /// The rows in which a number is missing.
    gaps: Vec<usize>,
    /// How many numbers are.
    missing: usize,
}

impl Default for Look {
    fn default() -> Self {
        Self { cols: 0, sums: ColumnSums::new(0), largest: 0.0, gaps: Vec::new(), missing: 0 }
    }
}

impl Look {
    fn see(&mut self, vectors: &Vectors<'_>, valid: &[bool], rows: usize, first: usize) {
        let width = vectors.cols();
        if self.cols == 0 && width > 0 && rows > 0 {
            (self.cols, self.sums) = (width, ColumnSums::new(width));
        }
        vectors.for_each_row(rows, &mut |i, row| {
            let gaps = match valid.get(i) {
                Some(false) => row.len(),
                _ => row.iter().filter(|v| v.is_nan()).count(),
            };
            self.missing += gaps;
            if gaps > 0 || (valid.get(i) == Some(&false)) {
                self.gaps.push(first + i);
            }
            for (at, &v) in row.iter().enumerate() {
                self.sums.see(at, v);
                if v.is_finite() {
                    self.largest = self.largest.max(v.abs());
                }
            }
        });
    }
}

fn width(data: &ColumnData) -> usize {
    match data {
        ColumnData::Vector(m) | ColumnData::OptionalVector { values: m, .. } => m.cols(),
        ColumnData::DoubleVector { values, .. } => values.cols(),
        _ => 0,
    }
}

/// The first rows of the first part that has any, with all columns.
fn head(
    source: &Source,
    surveyed: &Surveyed,
    options: &ReadOptions<'_>,
) -> Result<Table, TableError> {
    let part = surveyed.rows.iter().position(|&rows| rows > 0).expect("some part has rows");
    let first: Vec<usize> = (0..surveyed.rows[part].min(HEAD)).collect();
    let columns = surveyed.schema.readable();
    let pass = Pass { columns: &columns, rows: HEAD, only: Some(&first) };
    let mut head = crate::source::Stack::new(first.len());
    source.pass(part, &surveyed.schema, options, pass, &mut |table| {
        head.push(table);
        Ok(())
    })?;
    let mut head = surveyed.schema.widen(head.finish(source.parts()[part].name()));
    for (at, partition) in source.partitions(&surveyed.schema) {
        let column = partition.column(&source.parts()[part].values[at], head.rows());
        head.columns.push(column);
    }
    if let Schema::Text(text) = &surveyed.schema {
        head.notes.extend(text.note());
    }
    Ok(head)
}

/// How many cells of a column of texts are numbers, in all parts if many of its first ones are.
fn all_texts(
    source: &Source,
    surveyed: &Surveyed,
    options: &ReadOptions<'_>,
    head: &Table,
    at: usize,
) -> Result<Option<Mixed>, TableError> {
    let Some(mixed) = head.mixed(at) else { return Ok(None) };
    if surveyed.total() == head.rows() || at >= surveyed.schema.len() {
        return Ok(Some(mixed));
    }
    let mut mixed = Mixed::default();
    for (at_part, part) in source.parts().iter().enumerate() {
        let pass = Pass { columns: &[at], rows: HEAD, only: None };
        let mut first = 0;
        source.pass(at_part, &surveyed.schema, options, pass, &mut |table| {
            if let ColumnData::Text(cells) = &table.columns[0].data {
                mixed.add(cells, part.name(), first);
            }
            first += table.rows();
            Ok(())
        })?;
    }
    Ok(Some(mixed))
}
