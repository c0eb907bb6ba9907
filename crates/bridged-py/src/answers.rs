//! Predictions of rows that come a few at a time, for Python and as a stream of Arrow batches.

use crate::arrays::array;
use crate::arrow::{Made, for_each_batch};
use crate::errors::Failure;
use crate::host::Host;
use crate::model::explain;
use crate::open::{OpenPool, Wanted};
use crate::source::{Raised, Source};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch,
    StringArray,
};
use arrow_schema::{ArrowError, Field, Schema};
use bridged::columns::Fitted;
use bridged::offset::Offset;
use bridged::{Explanation, Prediction};
use bridged_io::{Pool, SourceError, Spill, TableError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyIterator};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long Ctrl-C may go unnoticed while rows are waited for.
const TICK: Duration = Duration::from_millis(10);

/// Pools of a source, which a thread of its own reads ahead.
#[pyclass(frozen, module = "bridged._native")]
pub struct Reader {
    pools: Mutex<Receiver<Result<Pool, Failure>>>,
    nameless: bool,
    raised: Raised,
    /// What to know about how they are read.
    #[pyo3(get)]
    notes: Vec<String>,
}

impl Reader {
    pub fn open(
        py: Python<'_>,
        source: &Source,
        wanted: &Wanted,
        fitted: Fitted<'_>,
        batch: usize,
        host: &Host,
    ) -> PyResult<Self> {
        let (options, select) = (wanted.options()?, wanted.select(&[], Some(fitted))?);
        let opened = host.run(py, |_| {
            let stored = source.stored(&options, select)?;
            stored.check_ids()?;
            Ok::<_, Failure>(stored)
        });
        let stored = source.raised.instead(opened)?;
        let notes = stored.notes().to_vec();
        let (send, pools) = sync_channel(1);
        let read = move || {
            let all = stored.for_each_pool(batch, |_, pool| {
                send.send(Ok(pool)).map_err(|_| TableError::from(SourceError::Ended))
            });
            if let Err(error) = all {
                // Nobody waits for what a reader says that was left.
                _ = send.send(Err(error.into()));
            }
        };
        let spawned = thread::Builder::new().name("bridged-rows".into()).spawn(read);
        spawned.map_err(|e| Failure::from(TableError::from(SourceError::NoThread(e))))?;
        let (nameless, raised) = (source.nameless, source.raised.clone());
        Ok(Self { pools: Mutex::new(pools), nameless, raised, notes })
    }
}

#[pymethods]
impl Reader {
    /// The next rows; none after the last.
    fn next(&self, py: Python<'_>) -> PyResult<Option<OpenPool>> {
        loop {
            let next = py.detach(|| {
                let pools = self.pools.lock().expect("nothing panics while it holds the lock");
                pools.recv_timeout(TICK)
            });
            match next {
                Ok(Ok(pool)) => {
                    return Ok(Some(OpenPool::held(pool, self.nameless, self.raised.clone())));
                }
                Ok(Err(failure)) => return self.raised.instead(Err(failure.into())),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }
}

/// The rows of one batch of what messages call `named`, as pools of at most so many rows; its number begins them.
pub fn pools(
    py: Python<'_>,
    named: (&str, usize),
    item: &Bound<'_, PyAny>,
    wanted: &Wanted,
    fitted: Fitted<'_>,
    most: usize,
) -> PyResult<Vec<OpenPool>> {
    let (options, select) = (wanted.options()?, wanted.select(&[], Some(fitted))?);
    let name = format!("batch {} of {}", named.1, named.0);
    let nameless = item.hasattr("__array_interface__")?;
    let mut pools = Vec::new();
    for_each_batch(item, |batch| {
        for first in (0..batch.num_rows()).step_by(most.max(1)) {
            let part = batch.slice(first, most.min(batch.num_rows() - first));
            let pool = py.detach(|| {
                let mut spill = Spill::new(&name, u64::MAX);
                spill.push(&part)?;
                spill.finish()?.read_pool(&options, select)
            });
            let pool = pool.map_err(Failure::from)?;
            pools.push(OpenPool::held(pool, nameless, Raised::default()));
        }
        Ok(())
    })?;
    Ok(pools)
}

/// The predictions of some rows.
#[pyclass(frozen, module = "bridged._native")]
pub struct Answer {
    found: Prediction,
    ids: Vec<String>,
    offset: Offset,
    #[pyo3(get)]
    rows: usize,
}

impl Answer {
    pub fn new(found: Prediction, pool: Pool, first: usize, offset: Offset) -> Self {
        let numbered = pool.id_name.is_none();
        // Rows of a batch that has no ids are called by their number among all.
        let number = |id: String| id.parse::<usize>().map_or(id, |row| (first + row).to_string());
        let ids = pool.ids.into_iter().map(|id| if numbered { number(id) } else { id }).collect();
        Self { rows: found.len(), found, ids, offset }
    }

    /// As columns, with the names and types of those that the command writes.
    fn columns(&self) -> Result<RecordBatch, ArrowError> {
        let why: Vec<Explanation<'_>> = self.found.explanations().collect();
        let whole = |of: &dyn Fn(&Explanation<'_>) -> Option<i64>| -> ArrayRef {
            Arc::new(why.iter().map(of).collect::<Int64Array>())
        };
        let number = |of: &dyn Fn(&Explanation<'_>) -> Option<f64>| -> ArrayRef {
            Arc::new(why.iter().map(|w| of(w).filter(|v| !v.is_nan())).collect::<Float64Array>())
        };
        let text = |of: &dyn Fn(usize) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values((0..why.len()).map(of)))
        };
        let values = &self.found.values;
        let numbers: ArrayRef = match self.offset.is_none() {
            true => Arc::new(Float32Array::from(values.data().to_vec())),
            false => Arc::new(Float64Array::from(self.offset.raise_rows(values.view()))),
        };
        let item = Arc::new(Field::new("item", numbers.data_type().clone(), true));
        let answered = (0..why.len()).map(|i| self.found.answered(i)).collect::<Vec<bool>>();
        let lists = FixedSizeListArray::try_new(
            item,
            values.cols() as i32,
            numbers,
            Some(answered.into()),
        )?;
        let columns: [(&str, ArrayRef); 11] = [
            ("id", text(&|i| self.ids[i].clone())),
            ("cluster", whole(&|w| w.cluster.map(i64::from))),
            ("linked", whole(&|w| w.linked.map(i64::from))),
            ("probability", number(&|w| w.probability)),
            ("expected_error", number(&|w| Some(w.expected_error))),
            ("novelty", number(&|w| w.novelty)),
            ("weight", number(&|w| w.weight())),
            ("support", whole(&|w| Some(i64::from(w.support)))),
            ("status", text(&|i| why[i].status.to_string())),
            ("answer", text(&|i| why[i].source.to_string())),
            ("value", Arc::new(lists)),
        ];
        let field =
            |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
        let fields: Vec<Field> = columns.iter().map(field).collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    }
}

#[pymethods]
impl Answer {
    /// What the rows are called, and a dict with `value` and what says why.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<(Vec<String>, Bound<'py, PyDict>)> {
        let report = PyDict::new(py);
        explain(&report, &self.found)?;
        report.set_item("value", array(py, self.found.values.clone()))?;
        Ok((self.ids.clone(), report))
    }
}

/// Predictions that an iterator gives, as an Arrow stream.
#[pyfunction]
pub fn answer_stream<'py>(answers: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    let py = answers.py();
    let answers: Py<PyIterator> = answers.try_iter()?.unbind();
    let next = move || {
        let next = Python::attach(|py| -> PyResult<Option<Py<Answer>>> {
            let Some(answer) = answers.bind(py).clone().next() else { return Ok(None) };
            Ok(Some(answer?.extract()?))
        });
        let answer = next.transpose()?;
        let broken = |e: ArrowError| PyValueError::new_err(e.to_string());
        Some(answer.and_then(|answer| answer.get().columns().map_err(broken)))
    };
    let Some(first) = next().transpose()? else {
        return Err(PyValueError::new_err("there are no rows to predict from"));
    };
    Made { schema: first.schema(), first: Some(first), next }.capsule(py)
}
