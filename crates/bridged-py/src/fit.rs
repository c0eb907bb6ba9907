//! A fit of pools of which at least one is not an array: in memory, or in passes as the command does it.

use crate::arrays::{Rows, view};
use crate::host::Host;
use crate::model::{Called, names};
use crate::open::{Kept, OpenPool, State};
use bridged::offset::Offset;
use bridged::settings::SideSpec;
use bridged::{BridgedClustering, BridgedModel, Error, Names, Pairs, Problem};
use bridged_io::{Pool, StoredRows};
use bridged_math::rows::{InMemory, Rows as AllRows};
use bridged_math::{MatrixRef, Seed};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A pool as Python gives it.
#[derive(FromPyObject)]
pub enum Given<'py> {
    #[pyo3(transparent)]
    Opened(Py<OpenPool>),
    /// Its rows, what they are called, what was taken off their columns.
    Array(Rows<'py>, Called, Option<Vec<f64>>),
}

/// The rows of a side.
enum Side<'a> {
    /// Where they were, and whether their columns have no names.
    Stored(Box<StoredRows>, bool),
    Held(bridged::Pool),
    Array(MatrixRef<'a>, Names, Offset),
}

impl<'a> Side<'a> {
    fn of(given: &'a Given<'_>) -> PyResult<Self> {
        match given {
            Given::Opened(opened) => {
                let opened = opened.get();
                match opened.give() {
                    State::Stored(rows) => Ok(Self::Stored(rows, opened.nameless)),
                    State::Held(pool) => Ok(Self::Held(plain(*pool, opened.nameless))),
                    State::Given => Err(PyValueError::new_err("the rows are in another model")),
                }
            }
            Given::Array(rows, called, offset) => {
                let offset = Offset::new(offset.clone().unwrap_or_default());
                Ok(Self::Array(view(rows)?, names(called.clone()), offset))
            }
        }
    }

    /// For a fit that looks at the rows where they are.
    fn seen(self, spec: &SideSpec) -> Seen<'a> {
        match self {
            Self::Stored(rows, nameless) => {
                let offset = rows.offset().clone();
                Seen { rows: Place::Stored(rows, nameless), names: Names::default(), offset }
            }
            Self::Array(rows, names, offset) => {
                Seen { rows: Place::Memory(Box::new(rows)), names, offset }
            }
            Self::Held(bridged::Pool { mut rows, names, mut offset }) => {
                if spec.uses_origin() {
                    rows = std::mem::take(&mut offset).undo(rows);
                }
                Seen { rows: Place::Memory(Box::new(InMemory(rows))), names, offset }
            }
        }
    }
}

/// Rows that a fit looks at, and what they are called if they are in memory.
struct Seen<'a> {
    rows: Place<'a>,
    names: Names,
    offset: Offset,
}

enum Place<'a> {
    Stored(Box<StoredRows>, bool),
    Memory(Box<dyn AllRows + 'a>),
}

impl Seen<'_> {
    fn rows(&self) -> &dyn AllRows {
        match &self.rows {
            Place::Stored(rows, _) => rows.as_ref(),
            Place::Memory(rows) => rows.as_ref(),
        }
    }

    fn kept(&self) -> Result<Kept<'_>, Error> {
        match &self.rows {
            Place::Stored(rows, nameless) => Ok(Kept::of_stored(rows, *nameless)?),
            Place::Memory(_) => Ok(Kept::of_names(&self.names)),
        }
    }
}

/// As the core takes it.
fn plain(pool: Pool, nameless: bool) -> bridged::Pool {
    let mut pool = bridged::Pool::from(pool);
    if nameless {
        pool.names.vector.clear();
    }
    pool
}

/// A pool that is in memory, as the core takes it.
pub fn pool(given: &Given<'_>) -> PyResult<bridged::Pool> {
    match Side::of(given)? {
        Side::Held(pool) => Ok(pool),
        Side::Array(rows, names, offset) => {
            Ok(bridged::Pool { rows: rows.to_matrix(), names, offset })
        }
        Side::Stored(..) => Err(PyValueError::new_err("the rows are not in memory")),
    }
}

/// Clusters the pools and links them.
pub fn fit(
    py: Python<'_>,
    spec: &BridgedClustering,
    pools: &(Given<'_>, Given<'_>),
    pairs: Pairs<'_>,
    seed: Seed,
    host: &Host,
) -> PyResult<BridgedModel> {
    let (x, y) = (Side::of(&pools.0)?, Side::of(&pools.1)?);
    let fitted = host.run(py, |watch| match (x, y) {
        (Side::Held(x), Side::Held(y)) => spec.fit_pools(x, y, pairs, seed, watch),
        (x, y) => {
            let (x, y) = (x.seen(&spec.x), y.seen(&spec.y));
            if let (Some(x_rows), Some(y_rows)) = (x.rows().in_memory(), y.rows().in_memory()) {
                let model = spec.fit(Problem { x: x_rows, y: y_rows, pairs }, seed, watch)?;
                return Ok(model.with_names(x.names, y.names)?.with_offsets(x.offset, y.offset));
            }
            let (x_kept, y_kept) = (x.kept()?, y.kept()?);
            let x_pool = x_kept.pool(x.rows(), x.offset.clone());
            let y_pool = y_kept.pool(y.rows(), y.offset.clone());
            spec.fit_stored(x_pool, y_pool, pairs, seed, watch)
        }
    });
    [&pools.0, &pools.1].into_iter().fold(fitted, |fitted, given| match given {
        Given::Opened(opened) => opened.get().raised.instead(fitted),
        Given::Array(..) => fitted,
    })
}
