//! Sources that were opened: their columns are chosen, and their rows are in memory or stay where they are.
//!
//! What fits is held, by the rule of the command: the rows of all pools and the work on the largest, within what may be
//! taken. What does not is read in passes.

use crate::arrays::array;
use crate::errors::{Failure, in_python};
use crate::host::Host;
use crate::params;
use crate::source::{Raised, Source};
use bridged::cluster::Clusterer;
use bridged::columns::{Fitted, Missing, taken_note};
use bridged::scale::Scale;
use bridged::settings::{Count, SideSpec};
use bridged::{BridgedClustering, Keep, Names, RowsAt, StoredPool, TextColumn, memory};
use bridged_io::{Pool, ReadOptions, Select, StoredRows};
use bridged_math::Rows;
use bridged_math::rows::RowsError;
use numpy::PyArray2;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

/// Files of fewer bytes than this share of the memory are read without a look at what they hold.
const SURELY_SMALL: u64 = 32;

/// Which columns the user named: id, vector, columns, exclude; missing; sep and decimal.
#[derive(FromPyObject)]
pub struct Wanted(
    Option<String>,
    Option<String>,
    Vec<String>,
    Vec<String>,
    String,
    Option<String>,
    Option<String>,
);

impl Wanted {
    pub fn select<'a>(
        &'a self,
        likely: &'a [String],
        fitted: Option<Fitted<'a>>,
    ) -> PyResult<Select<'a>> {
        let missing = Missing::named(&self.4).ok_or_else(|| {
            let known = Missing::NAMES.map(|name| format!("{name:?}")).join(", ");
            PyValueError::new_err(format!("`missing` must be one of {known}; got {:?}", self.4))
        })?;
        Ok(Select {
            id: self.0.as_deref(),
            vector: self.1.as_deref(),
            likely,
            columns: &self.2,
            exclude: &self.3,
            fitted,
            missing,
        })
    }

    pub fn options(&self) -> PyResult<ReadOptions<'static>> {
        let one = |name: &str, text: &Option<String>| match text.as_deref().map(str::as_bytes) {
            None => Ok(None),
            Some(&[byte]) if byte.is_ascii() => Ok(Some(byte)),
            Some(_) => {
                let message = format!("`{name}` must be one character such as ';'; got {text:?}");
                Err(PyValueError::new_err(message))
            }
        };
        let separator = one("sep", &self.5)?;
        let decimal = one("decimal", &self.6)?.map(char::from);
        Ok(ReadOptions { separator, decimal, ..ReadOptions::default() })
    }
}

/// A pool that was opened.
#[pyclass(frozen, module = "bridged._native")]
pub struct OpenPool {
    state: Mutex<State>,
    pub nameless: bool,
    pub raised: Raised,
    #[pyo3(get)]
    rows: usize,
    #[pyo3(get)]
    cols: usize,
    /// With the rows that were left out.
    #[pyo3(get)]
    all_rows: usize,
    /// Whether its rows stay where they are.
    #[pyo3(get)]
    in_passes: bool,
    /// What to know about how it is read.
    #[pyo3(get)]
    notes: Vec<String>,
    /// The columns of the vector; empty if they have no names.
    #[pyo3(get)]
    pub names: Vec<String>,
}

pub enum State {
    /// In memory.
    Held(Box<Pool>),
    /// Where they were.
    Stored(Box<StoredRows>),
    /// In a model.
    Given,
}

#[pymethods]
impl OpenPool {
    /// The row of each id; none where no row has it.
    fn find(&self, py: Python<'_>, ids: Vec<String>, host: Host) -> PyResult<Vec<Option<usize>>> {
        let state = self.state();
        let wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
        let found: PyResult<HashMap<String, usize>> = host.run(py, |_| match &*state {
            State::Stored(rows) => {
                rows.check_ids()?;
                Ok::<_, Failure>(rows.find_ids(&wanted)?)
            }
            State::Held(pool) => {
                let all = pool.ids.iter().enumerate();
                let found = all.filter(|(_, id)| wanted.contains(id.as_str()));
                Ok(found.map(|(row, id)| (id.clone(), row)).collect())
            }
            State::Given => Ok(HashMap::new()),
        });
        let found = self.raised.instead(found)?;
        Ok(ids.iter().map(|id| found.get(id).copied()).collect())
    }

    /// The first few ids, to show what they look like.
    fn like(&self, py: Python<'_>, host: Host) -> PyResult<Vec<String>> {
        let state = self.state();
        let first: PyResult<Vec<String>> = host.run(py, |_| match &*state {
            State::Stored(rows) => Ok::<_, Failure>(rows.first_ids(3)?),
            State::Held(pool) => Ok(pool.ids.iter().take(3).cloned().collect()),
            State::Given => Ok(Vec::new()),
        });
        self.raised.instead(first)
    }

    /// Its rows as an array, which it gives away.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        match self.give() {
            State::Held(pool) => Ok(array(py, pool.rows)),
            _ => Err(PyValueError::new_err("the rows are not in memory")),
        }
    }
}

impl OpenPool {
    pub fn held(pool: Pool, nameless: bool, raised: Raised) -> Self {
        let names = if nameless { Vec::new() } else { pool.vector_names.clone() };
        let is_list = names.len() == 1 && pool.rows.cols() != 1;
        let notes = notes(&pool.notes, &pool.vector_names);
        let (rows, cols) = (pool.rows.rows(), pool.rows.cols());
        let all_rows = rows + pool.dropped.len();
        let state = Mutex::new(State::Held(Box::new(pool)));
        let names = if is_list { Vec::new() } else { names };
        Self { state, nameless, raised, rows, cols, all_rows, in_passes: false, notes, names }
    }

    fn stored(stored: StoredRows, nameless: bool, raised: Raised) -> Self {
        let of_vector = stored.vector_names().to_vec();
        let notes = notes(stored.notes(), &of_vector);
        let (rows, cols) = (stored.rows(), stored.cols());
        let all_rows = rows + stored.dropped();
        let names = if nameless || of_vector.len() != cols { Vec::new() } else { of_vector };
        let state = Mutex::new(State::Stored(Box::new(stored)));
        Self { state, nameless, raised, rows, cols, all_rows, in_passes: true, notes, names }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the lock")
    }

    /// Takes the rows out.
    pub fn give(&self) -> State {
        std::mem::replace(&mut *self.state(), State::Given)
    }
}

/// What to know besides which columns were taken.
fn notes(notes: &[String], names: &[String]) -> Vec<String> {
    let taken = taken_note(names.iter().map(String::as_str));
    notes.iter().filter(|note| **note != taken).map(|note| in_python(note)).collect()
}

/// What is opened together, and what is done with it.
struct Opening<'a> {
    source: &'a Source,
    wanted: &'a Wanted,
    likely: Vec<String>,
    fitted: Option<Fitted<'a>>,
}

/// Opens sources: all are held if their rows and the work on them fit, or else none. `work` tells what a pool of so many
/// rows and columns takes besides.
fn open_all(
    py: Python<'_>,
    openings: &[Opening<'_>],
    work: impl Fn(usize, usize, usize) -> u64 + Sync,
    in_passes: bool,
    host: &Host,
) -> PyResult<Vec<OpenPool>> {
    let mut selects = Vec::new();
    for opening in openings {
        let select = opening.wanted.select(&opening.likely, opening.fitted)?;
        selects.push((&opening.source.source, opening.wanted.options()?, select));
    }
    let is_small = {
        let parts = selects.iter().flat_map(|(source, ..)| source.parts());
        let bytes = parts.fold(0u64, |sum, part| sum.saturating_add(part.stamp().size));
        !in_passes && bytes.saturating_mul(SURELY_SMALL) <= memory::budget()
    };
    let opened = host.run(py, |_| -> Result<Vec<State>, Failure> {
        let read =
            |(source, options, select): &(&bridged_io::Source, ReadOptions<'_>, Select<'_>)| {
                Ok::<_, Failure>(State::Held(Box::new(source.read_pool(options, *select)?)))
            };
        if is_small {
            return selects.iter().map(read).collect();
        }
        let mut stored = Vec::new();
        for (source, options, select) in &selects {
            stored.push(source.stored(options, *select)?);
        }
        let rows = stored.iter().fold(0u64, |sum, rows| sum.saturating_add(rows.pool_bytes()));
        let work = (stored.iter().enumerate()).map(|(at, s)| work(at, s.rows(), s.cols())).max();
        if in_passes || rows.saturating_add(work.unwrap_or(0)) > memory::budget() {
            return Ok(stored.into_iter().map(|rows| State::Stored(Box::new(rows))).collect());
        }
        drop(stored);
        selects.iter().map(read).collect()
    });
    // Whichever of them raised, it is told as it was.
    let raised = openings.iter().map(|opening| &opening.source.raised);
    let opened = raised.fold(opened, |opened, raised| raised.instead(opened))?;
    Ok(opened
        .into_iter()
        .zip(openings)
        .map(|(state, Opening { source, .. })| match state {
            State::Held(pool) => OpenPool::held(*pool, source.nameless, source.raised.clone()),
            State::Stored(rows) => OpenPool::stored(*rows, source.nameless, source.raised.clone()),
            State::Given => unreachable!("what is opened has rows"),
        })
        .collect())
}

/// A side of a model: a source with the columns that were named, or rows that are in memory already.
type Side = (Option<Py<Source>>, Wanted, (usize, usize));

/// Opens the pools of a model as far as they are sources.
#[pyfunction]
pub fn open_pair(
    py: Python<'_>,
    spec: &str,
    sides: (Side, Side),
    in_passes: bool,
    host: Host,
) -> PyResult<(Option<OpenPool>, Option<OpenPool>)> {
    let spec: BridgedClustering = params::read(spec)?;
    let of = |side: &SideSpec, (rows, cols): (usize, usize)| {
        side.cluster.memory(side.sample.map_or(rows, |most| rows.min(most)), cols)
    };
    // Rows that are in memory are there; the work on them is still to come.
    let beside = [(&sides.0, &spec.x), (&sides.1, &spec.y)].map(|(side, spec)| match side.0 {
        Some(_) => 0,
        None => of(spec, side.2),
    });
    let (mut openings, mut specs) = (Vec::new(), Vec::new());
    for (name, (source, wanted, _), side) in [("x", &sides.0, &spec.x), ("y", &sides.1, &spec.y)] {
        if let Some(source) = source {
            let likely = vec![name.to_owned()];
            openings.push(Opening { source: source.get(), wanted, likely, fitted: None });
            specs.push(side);
        }
    }
    let work = |at: usize, rows, cols| of(specs[at], (rows, cols)).max(beside[0]).max(beside[1]);
    let mut opened = open_all(py, &openings, work, in_passes, &host)?.into_iter();
    let mut next = |source: &Option<Py<Source>>| source.as_ref().and_then(|_| opened.next());
    let x = next(&sides.0.0);
    Ok((x, next(&sides.1.0)))
}

/// Ids of x and of y.
type IdPairs = Vec<(String, String)>;

/// The header of a table of pairs, which may be a pair itself; its lines, those of rows that do not belong together, and what
/// to know about how they were read.
type PairTable = ((String, String), IdPairs, IdPairs, Vec<String>);

/// Reads a table of pairs of ids.
#[pyfunction]
pub fn read_pairs(py: Python<'_>, path: PathBuf) -> PyResult<PairTable> {
    let table = py.detach(|| bridged_io::read_pairs(&path)).map_err(Failure::from)?;
    let [x, y] = table.names;
    Ok(((x, y), table.rows, table.negatives, table.notes))
}

/// How many bytes rows and work on them should take.
#[pyfunction]
pub fn memory_budget() -> u64 {
    memory::budget()
}

/// Opens rows that are to be clustered by this.
#[pyfunction]
pub fn open_to_cluster(
    py: Python<'_>,
    method: (String, String),
    source: Py<Source>,
    wanted: Wanted,
    in_passes: bool,
    host: Host,
) -> PyResult<OpenPool> {
    let spec = params::clustering(&method.0, &method.1)?;
    let opening =
        Opening { source: source.get(), wanted: &wanted, likely: Vec::new(), fitted: None };
    let work = |_: usize, rows, cols| spec.memory(rows, cols);
    let opened = open_all(py, &[opening], work, in_passes, &host)?;
    Ok(opened.into_iter().next().expect("one was opened"))
}

/// Opens rows that something fitted is to see, all in memory; an error if they do not fit.
pub fn open_all_at_once(
    py: Python<'_>,
    source: &Source,
    wanted: &Wanted,
    fitted: Fitted<'_>,
    host: &Host,
) -> PyResult<OpenPool> {
    let opening = Opening { source, wanted, likely: Vec::new(), fitted: Some(fitted) };
    // Answers take about as much as the rows, and so does what tells why.
    let work = |_: usize, rows: usize, cols: usize| 8 * (rows as u64).saturating_mul(cols as u64);
    let opened = open_all(py, &[opening], work, false, host)?;
    let opened = opened.into_iter().next().expect("one was opened");
    if opened.in_passes {
        let size = memory::shown(4 * (opened.rows as u64).saturating_mul(opened.cols as u64));
        return Err(PyMemoryError::new_err(format!(
            "the rows of {} take {size}, which does not fit into memory; predict_batches answers them a few at a time",
            source.source.name().display()
        )));
    }
    Ok(opened)
}

/// A clustering as `bridged cluster` runs it on rows, in memory or in passes.
pub fn to_cluster(spec: bridged::cluster::ClusterSpec) -> SideSpec {
    SideSpec { cluster: spec, scale: Scale::None, count: Count::Told, sample: None }
}

/// What rows are called whose numbers ascend.
type NamesOf<'a> = dyn Fn(&[usize]) -> Result<Names, RowsError> + Sync + 'a;

/// What a model keeps of some rows of a pool that it was not given whole.
pub struct Kept<'a> {
    names_of: Box<NamesOf<'a>>,
    at: RowsAt,
}

impl<'a> Kept<'a> {
    /// Of rows that stay where they are, whose files are read once more for their fingerprints.
    pub fn of_stored(stored: &'a StoredRows, nameless: bool) -> Result<Self, RowsError> {
        let names_of = move |rows: &[usize]| {
            let mut names = stored.pool_of(rows)?.names();
            if nameless {
                names.vector.clear();
            }
            Ok(names)
        };
        let at = stored
            .rows_at()
            .with_fingerprints()
            .map_err(|e| RowsError(format!("`{}`: {e}", stored.source().name().display())))?;
        Ok(Self { names_of: Box::new(names_of), at })
    }

    /// Of rows in memory.
    pub fn of_names(names: &'a Names) -> Self {
        let some = |values: &[String], rows: &[usize]| -> Vec<String> {
            if values.is_empty() {
                Vec::new()
            } else {
                rows.iter().map(|&r| values[r].clone()).collect()
            }
        };
        let names_of = move |rows: &[usize]| {
            let texts = names.texts.iter().map(|text| TextColumn {
                name: text.name.clone(),
                values: some(&text.values, rows),
            });
            Ok(Names {
                ids: some(&names.ids, rows),
                texts: texts.collect(),
                vector: names.vector.clone(),
                id: names.id.clone(),
            })
        };
        let at = RowsAt { names: vec!["memory".to_owned()], ..RowsAt::default() };
        Self { names_of: Box::new(names_of), at }
    }

    /// The pool with these rows.
    pub fn pool(&'a self, rows: &'a dyn Rows, offset: bridged::offset::Offset) -> StoredPool<'a> {
        let keep = Keep { names_of: self.names_of.as_ref(), at: self.at.clone() };
        StoredPool { rows, names: Names::default(), offset, keep: Some(keep) }
    }
}
