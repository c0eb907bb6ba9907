//! More pairs, new rows and rows to forget for a model that is there.

use crate::arrays::{PairRows, pairs};
use crate::errors::Failure;
use crate::fit::{Given, pool};
use crate::host::Host;
use crate::model::Model;
use crate::params::{read, write};
use bridged::update::{NewPool, Update};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// A pool as it is after rows came and went.
#[pyclass(frozen, module = "bridged._native")]
pub struct ChangedPool {
    pool: Mutex<Option<NewPool>>,
    ids: Vec<String>,
}

#[pymethods]
impl ChangedPool {
    #[getter]
    fn rows(&self) -> usize {
        self.ids.len()
    }

    /// The row of each id; none where no row has it.
    fn find(&self, ids: Vec<String>, _host: Host) -> Vec<Option<usize>> {
        let wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
        let all = self.ids.iter().enumerate();
        let found: HashMap<&str, usize> = all
            .filter(|(_, id)| wanted.contains(id.as_str()))
            .map(|(row, id)| (id.as_str(), row))
            .collect();
        ids.iter().map(|id| found.get(id.as_str()).copied()).collect()
    }

    /// The first few ids, to show what they look like.
    fn like(&self, _host: Host) -> Vec<String> {
        self.ids.iter().take(3).cloned().collect()
    }
}

impl ChangedPool {
    fn give(&self) -> PyResult<NewPool> {
        let mut pool = self.pool.lock().expect("nothing panics while it holds the lock");
        pool.take().ok_or_else(|| PyValueError::new_err("the rows are in another model"))
    }
}

/// A side of a model with new rows and without those of these numbers.
#[pyfunction]
pub fn change(
    model: &Model,
    side: &str,
    added: Option<Given<'_>>,
    forget: Vec<usize>,
) -> PyResult<ChangedPool> {
    let (name, of) = match side {
        "y" => ("y", model.model().y()),
        _ => ("x", model.model().x()),
    };
    let added = added.as_ref().map(pool).transpose()?;
    let pool = of.changed(name, added, &forget).map_err(Failure::from)?;
    let rows = of.len() + pool.added() - pool.forgotten();
    let ids = (0..rows).map(|row| pool.names().id(row)).collect();
    Ok(ChangedPool { pool: Mutex::new(Some(pool)), ids })
}

/// The model with these pools and with these pairs as well, and what has changed, as JSON. The model that is given stays as
/// it is.
#[pyfunction]
pub fn update(
    py: Python<'_>,
    model: &Model,
    pools: (Py<ChangedPool>, Py<ChangedPool>),
    known: (PairRows<'_>, PairRows<'_>),
    how: (f64, bool),
    files: &str,
    host: Host,
) -> PyResult<(Model, String)> {
    let (x, y) = (pools.0.get().give()?, pools.1.get().give()?);
    let (pairs, negatives) = (pairs(&known.0)?, pairs(&known.1)?);
    let (forgetting, new_clusters) = how;
    let model = model.model();
    let updated = host.run(py, |watch| {
        let update =
            Update { pairs, negatives, forgetting, new_clusters, ..model.begin_update(x, y) };
        model.update(update, watch)
    })?;
    let event = updated.event(env!("CARGO_PKG_VERSION"), read(files)?);
    Ok((Model::of(updated.model.with_event(event)), write(&updated.changes)?))
}
