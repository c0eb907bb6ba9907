//! Rows that need not be in memory: files, batches that were kept, and objects that can be gone over again.

use crate::arrow::for_each_batch;
use crate::errors::Failure;
use crate::host::Host;
use crate::params::write;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bridged_io::{
    Batches, EachBatch, ReadOptions, Select, SourceError, Spill, TableError, batch_bytes,
};
use bridged_math::cancel::checkpoint;
use bridged_math::memory;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Rows of files or of another library, which can be read as often as a fit needs them.
#[pyclass(frozen, module = "bridged._native")]
pub struct Source {
    pub source: bridged_io::Source,
    /// They came as arrays, whose columns have no names.
    pub nameless: bool,
    pub raised: Raised,
}

/// What Python code raised inside of a pass, to be raised again as it was.
#[derive(Clone, Debug, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn put(&self, error: PyErr) {
        *self.0.lock().expect("nothing panics while it holds the lock") = Some(error);
    }

    /// The result, or instead of an error what Python code raised.
    pub fn instead<T>(&self, result: PyResult<T>) -> PyResult<T> {
        let raised = self.0.lock().expect("nothing panics while it holds the lock").take();
        match (result, raised) {
            (Err(_), Some(raised)) => Err(raised),
            (result, _) => result,
        }
    }
}

#[pymethods]
impl Source {
    /// Files, folders and patterns.
    #[staticmethod]
    fn files(py: Python<'_>, names: Vec<PathBuf>, host: Host) -> PyResult<Self> {
        let source = host.run(py, |_| bridged_io::Source::find(&names))?;
        Ok(Self { source, nameless: false, raised: Raised::default() })
    }

    /// Its files for the history of a model, as JSON; `role` is what they hold.
    fn files_read(&self, py: Python<'_>, role: &str, host: Host) -> PyResult<String> {
        write(&host.run(py, |_| self.source.files_read(role))?)
    }

    /// What `open(columns)` iterates over: batches with these columns, or with all; the first batch, and how many rows
    /// there are in all.
    #[staticmethod]
    fn again(
        py: Python<'_>,
        name: &str,
        open: Py<PyAny>,
        first: Bound<'_, PyAny>,
        rows: usize,
    ) -> PyResult<Self> {
        let mut batch = None;
        for_each_batch(&first, |b| {
            batch.get_or_insert(b);
            Ok(())
        })?;
        let Some(batch) = batch.filter(|_| rows > 0) else { return Err(no_rows(name)) };
        let raised = Raised::default();
        let per_row = batch_bytes(&batch) as f64 / batch.num_rows().max(1) as f64;
        let bytes = (per_row * rows as f64) as u64;
        let again = Again {
            name: name.to_owned(),
            open: open.clone_ref(py),
            schema: batch.schema(),
            rows,
            bytes,
            raised: raised.clone(),
        };
        let nameless = is_array(&first);
        Ok(Self { source: bridged_io::Source::of_batches(name, Arc::new(again)), nameless, raised })
    }
}

impl Source {
    /// What is decided of it once.
    pub fn stored(
        &self,
        options: &ReadOptions<'_>,
        select: Select<'_>,
    ) -> Result<bridged_io::StoredRows, TableError> {
        self.source.stored(options, select)
    }
}

fn is_array(item: &Bound<'_, PyAny>) -> bool {
    item.hasattr("__array_interface__").unwrap_or(false)
}

fn no_rows(name: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{name} gives no rows; what can be read only once gives none the second time: make it again, or write the rows to \
         files and name those"
    ))
}

/// An object of Python that can be gone over several times.
#[derive(Debug)]
struct Again {
    name: String,
    open: Py<PyAny>,
    schema: SchemaRef,
    rows: usize,
    bytes: u64,
    raised: Raised,
}

impl Again {
    fn failed(&self, error: PyErr) -> TableError {
        let detail = error.to_string();
        self.raised.put(error);
        SourceError::Batches { name: self.name.clone(), detail }.into()
    }
}

impl Batches for Again {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn scan(&self, columns: &[usize], each: &mut EachBatch<'_>) -> Result<(), TableError> {
        let names: Vec<&str> =
            columns.iter().map(|&at| self.schema.field(at).name().as_str()).collect();
        let opened = Python::attach(|py| -> PyResult<Py<PyIterator>> {
            Ok(self.open.bind(py).call1((names,))?.try_iter()?.unbind())
        });
        let opened = opened.map_err(|e| self.failed(e))?;
        loop {
            checkpoint();
            // The interpreter is held for one batch at a time, and never while somebody computes.
            let next = Python::attach(|py| -> PyResult<Option<Vec<RecordBatch>>> {
                let Some(item) = opened.bind(py).clone().next() else { return Ok(None) };
                let mut batches = Vec::new();
                for_each_batch(&item?, |batch| {
                    batches.push(batch);
                    Ok(())
                })?;
                Ok(Some(batches))
            });
            let Some(batches) = next.map_err(|e| self.failed(e))? else { return Ok(()) };
            for batch in batches {
                if each(batch)?.is_break() {
                    return Ok(());
                }
            }
        }
    }
}

/// Keeps what can be read only once: in memory as far as that goes, beyond it in a temporary file.
#[pyclass(frozen, module = "bridged._native")]
pub struct Spool {
    name: String,
    spill: Mutex<Option<Spill>>,
    nameless: Mutex<bool>,
}

#[pymethods]
impl Spool {
    /// With at most this many bytes in memory, or else a third of what may be taken: the rows take as much again.
    #[new]
    #[pyo3(signature = (name, most=None))]
    fn new(name: String, most: Option<u64>) -> Self {
        let spill = Spill::new(&name, most.unwrap_or_else(|| memory::budget() / 3));
        Self { name, spill: Mutex::new(Some(spill)), nameless: Mutex::new(false) }
    }

    /// Keeps a batch; gives how many batches there were before it.
    fn push(&self, py: Python<'_>, item: Bound<'_, PyAny>) -> PyResult<usize> {
        let mut spill = self.spill.lock().expect("nothing panics while it holds the lock");
        let Some(spill) = spill.as_mut() else {
            return Err(PyValueError::new_err(format!("{}: the rows were taken", self.name)));
        };
        let before = spill.batches();
        *self.nameless.lock().expect("nothing panics while it holds the lock") = is_array(&item);
        for_each_batch(&item, |batch| {
            Ok(py.detach(|| spill.push(&batch)).map_err(Failure::from)?)
        })?;
        Ok(before)
    }

    /// All that was kept.
    fn finish(&self, py: Python<'_>) -> PyResult<Source> {
        let spill = self.spill.lock().expect("nothing panics while it holds the lock").take();
        let Some(spill) = spill.filter(|spill| spill.batches() > 0) else {
            return Err(no_rows(&self.name));
        };
        let source = py.detach(|| spill.finish()).map_err(|error| match error {
            TableError::NoRows { .. } => no_rows(&self.name),
            other => Failure::from(other).into(),
        })?;
        let nameless = *self.nameless.lock().expect("nothing panics while it holds the lock");
        Ok(Source { source, nameless, raised: Raised::default() })
    }
}
