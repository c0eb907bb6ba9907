//! A fitted bridge between two pools.

use crate::answers::{self, Answer, Reader};
use crate::arrays::{PairRows, Rows, array, from_labels, labels, pairs, view};
use crate::errors::Failure;
use crate::fit::{self, Given};
use crate::host::Host;
use crate::open::{OpenPool, State, Wanted, open_all_at_once};
use crate::params::{read, write};
use crate::source;
use bridged::Seed;
use bridged::history::{Event, FileRead, date, source_date};
use bridged::offset::Offset;
use bridged::{
    Ask, BridgedClustering, BridgedModel, DiffRows, Direction, DriftAsk, Explanation, LinkRow,
    MatrixRef, Names, NewPairs, NewRows, Prediction, Problem, Side, Source, TextColumn,
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The rows of a side, how far each is from a value: (n, wanted).
type Found<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>);

/// How pickle makes it again: a function and its arguments.
type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

#[pyclass(frozen, module = "bridged._native")]
pub struct Model {
    model: BridgedModel,
}

/// What a pool is called: ids, carried columns (name, values), names of the vector's columns, name of
/// the id column.
pub type Called = (Vec<String>, Vec<(String, Vec<String>)>, Vec<String>, Option<String>);

pub fn names((ids, texts, vector, id): Called) -> Names {
    let texts = texts.into_iter().map(|(name, values)| TextColumn { name, values }).collect();
    Names { ids, texts, vector, id }
}

/// New rows of a side, and what they are compared with.
type BesideRows<'py> = (Option<Rows<'py>>, Option<Rows<'py>>);

/// The same, borrowed.
type BesideViews<'a> = (Option<MatrixRef<'a>>, Option<MatrixRef<'a>>);

fn views<'a>((rows, against): &'a BesideRows<'_>) -> PyResult<BesideViews<'a>> {
    let rows = rows.as_ref().map(view).transpose()?;
    Ok((rows, against.as_ref().map(view).transpose()?))
}

/// The same as the core takes them.
fn new_rows<'a>((rows, against): &'a BesideViews<'a>) -> Option<NewRows<'a>> {
    let against = against.as_ref().map(|rows| rows as &dyn bridged_math::Rows);
    rows.as_ref().map(|rows| NewRows { rows, against })
}

/// What was taken off the columns of both pools.
type Offsets = (Option<Vec<f64>>, Option<Vec<f64>>);

fn direction(reverse: bool) -> Direction {
    if reverse { Direction::Reverse } else { Direction::Forward }
}

#[pymethods]
impl Model {
    /// Clusters both pools and links them.
    #[staticmethod]
    fn fit(
        py: Python<'_>,
        spec: &str,
        pools: (Rows<'_>, Rows<'_>),
        known: (PairRows<'_>, PairRows<'_>),
        called: (Called, Called, Offsets),
        seed: u64,
        host: Host,
    ) -> PyResult<Self> {
        let spec: BridgedClustering = read(spec)?;
        let (x, y) = (view(&pools.0)?, view(&pools.1)?);
        let (known, denied) = (pairs(&known.0)?, pairs(&known.1)?);
        let problem = Problem::new(x, y, &known).with_negatives(&denied);
        let names = (names(called.0), names(called.1));
        let model = host
            .run(py, |watch| spec.fit(problem, Seed(seed), watch)?.with_names(names.0, names.1))?;
        let offset = |taken: Option<Vec<f64>>| Offset::new(taken.unwrap_or_default());
        let (x, y) = called.2;
        Ok(Self { model: model.with_offsets(offset(x), offset(y)) })
    }

    /// The same for pools of which at least one was opened from a source.
    #[staticmethod]
    fn fit_opened(
        py: Python<'_>,
        spec: &str,
        pools: (Given<'_>, Given<'_>),
        known: (PairRows<'_>, PairRows<'_>),
        files: &str,
        seed: u64,
        host: Host,
    ) -> PyResult<Self> {
        let (spec, known, denied) = (read(spec)?, pairs(&known.0)?, pairs(&known.1)?);
        let known = bridged::Pairs::new(&known).with_negatives(&denied);
        let model = fit::fit(py, &spec, &pools, known, Seed(seed), &host)?;
        let files: Vec<FileRead> = read(files)?;
        if files.is_empty() {
            return Ok(Self { model });
        }
        let event = model.fit_event(env!("CARGO_PKG_VERSION"), files);
        Ok(Self { model: model.with_event(event).dated(source_date()) })
    }

    /// Opens rows to predict from, all in memory.
    fn open(
        &self,
        py: Python<'_>,
        reverse: bool,
        source: Py<source::Source>,
        wanted: Wanted,
        host: Host,
    ) -> PyResult<OpenPool> {
        let fitted = self.model.from(direction(reverse)).fitted();
        open_all_at_once(py, source.get(), &wanted, fitted, &host)
    }

    /// Opens rows to predict from, which are read a few at a time.
    fn read(
        &self,
        py: Python<'_>,
        reverse: bool,
        source: Py<source::Source>,
        wanted: Wanted,
        batch: usize,
        host: Host,
    ) -> PyResult<Reader> {
        let fitted = self.model.from(direction(reverse)).fitted();
        Reader::open(py, source.get(), &wanted, fitted, batch, &host)
    }

    /// The rows of one batch to predict from, as pools of at most `batch` rows.
    fn pools(
        &self,
        py: Python<'_>,
        reverse: bool,
        named: (&str, usize),
        item: Bound<'_, PyAny>,
        wanted: Wanted,
        batch: usize,
    ) -> PyResult<Vec<OpenPool>> {
        let fitted = self.model.from(direction(reverse)).fitted();
        answers::pools(py, named, &item, &wanted, fitted, batch)
    }

    /// Predicts the rows of a pool, which it takes; the numbers of rows without ids begin at `first`.
    fn answer(
        &self,
        py: Python<'_>,
        reverse: bool,
        pool: Py<OpenPool>,
        first: usize,
        ask: (Option<f64>, Option<f64>),
        host: Host,
    ) -> PyResult<Answer> {
        let State::Held(pool) = pool.get().give() else {
            return Err(PyValueError::new_err("the rows were answered before"));
        };
        let (min_confidence, unfamiliar) = ask;
        let unfamiliar = unfamiliar.unwrap_or(Ask::default().unfamiliar);
        let ask = Ask { min_confidence, level: None, unfamiliar };
        let direction = direction(reverse);
        let found = host.run(py, |_| self.model.predict_asked(direction, pool.rows.view(), ask))?;
        Ok(Answer::new(found, *pool, first, self.model.to(direction).offset().clone()))
    }

    /// Predicts rows, those of the pool that it was fitted on if none are given: a dict with `value`
    /// and, with `details`, what says why. Asked for are the least confidence, below which rows are
    /// not answered, and the level of unfamiliar rows, by default the core's.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        reverse: bool,
        rows: Option<Rows<'py>>,
        details: bool,
        ask: (Option<f64>, Option<f64>),
        host: Host,
    ) -> PyResult<Bound<'py, PyDict>> {
        let rows = rows.as_ref().map(view).transpose()?;
        let (min_confidence, unfamiliar) = ask;
        let unfamiliar = unfamiliar.unwrap_or(Ask::default().unfamiliar);
        let ask = Ask { min_confidence, level: None, unfamiliar };
        let found = host.run(py, |_| match rows {
            Some(rows) => self.model.predict_asked(direction(reverse), rows, ask),
            None => self.model.predict_pool_asked(direction(reverse), ask),
        })?;
        let report = PyDict::new(py);
        if details {
            explain(&report, &found)?;
        }
        report.set_item("value", array(py, found.values))?;
        Ok(report)
    }

    /// The links of a direction, one line for each input cluster, as JSON.
    fn link_table(&self, reverse: bool) -> PyResult<String> {
        let table = self.model.link_table(direction(reverse));
        let line = |line: LinkRow<'_>| {
            let why = line.why;
            let links: Vec<(u32, f64)> = why.links.iter().map(|t| (t.cluster, t.weight)).collect();
            json!({
                "cluster": line.cluster,
                "rows": line.rows,
                "pairs": line.pairs,
                "support": why.support,
                "linked": why.links.first().map(|t| t.cluster),
                "weight": why.weight(),
                "probability": why.probability,
                "vote_share": why.vote_share,
                "status": why.status.name(),
                "answer": why.source.to_string(),
                "links": links,
            })
        };
        write(&table.rows().map(line).collect::<Vec<_>>())
    }

    /// The `wanted` real rows that belong to each row best, or all of the pool if it has fewer, and their
    /// distances to its value; −1 and NaN for a value that is NaN.
    fn retrieve<'py>(
        &self,
        py: Python<'py>,
        reverse: bool,
        inputs: Option<Rows<'py>>,
        values: Rows<'py>,
        wanted: usize,
        host: Host,
    ) -> PyResult<Found<'py>> {
        let values = view(&values)?;
        let n = values.rows();
        let wanted = wanted.min(self.model.to(direction(reverse)).len());
        // Without rows, they are those of the pool.
        let inputs = inputs.as_ref().map(view).transpose()?;
        let (model, direction) = (&self.model, direction(reverse));
        let found = host.run(py, |_| {
            let inputs = match inputs {
                Some(rows) => rows,
                None => model.from(direction).rows()?.view(),
            };
            model.retrieve(direction, inputs, values, wanted)
        })?;
        let mut rows = vec![-1i64; n * wanted];
        let mut distances = vec![f64::NAN; n * wanted];
        for (i, neighbors) in found.iter().enumerate() {
            for (at, neighbor) in neighbors.iter().enumerate() {
                rows[i * wanted + at] = i64::from(neighbor.row);
                distances[i * wanted + at] = neighbor.distance;
            }
        }
        let shape = [n, wanted];
        Ok((rows.into_pyarray(py).reshape(shape)?, distances.into_pyarray(py).reshape(shape)?))
    }

    /// The squared radius of a ball that holds the true output with probability `level`, ÷ the
    /// expected error of the prediction.
    fn ball(&self, reverse: bool, level: f64) -> PyResult<f64> {
        Ok(self.model.ball(direction(reverse), level).map_err(Failure::from)?)
    }

    /// The scores on aligned rows, as JSON.
    fn evaluate(
        &self,
        py: Python<'_>,
        x: Rows<'_>,
        y: Rows<'_>,
        classes: Option<PyReadonlyArray1<'_, i32>>,
        host: Host,
    ) -> PyResult<String> {
        let (x, y) = (view(&x)?, view(&y)?);
        let classes = classes.map(|classes| from_labels(&classes));
        write(&host.run(py, |_| self.model.evaluate(x, y, classes.as_deref()))?)
    }

    /// Whether new rows of x and of y, each with what they are compared with, are as those of the fit, as JSON.
    fn drift(
        &self,
        py: Python<'_>,
        x: BesideRows<'_>,
        y: BesideRows<'_>,
        pairs: Option<(Rows<'_>, Rows<'_>)>,
        level: f64,
        host: Host,
    ) -> PyResult<String> {
        let (x, y) = (views(&x)?, views(&y)?);
        let pairs = match &pairs {
            Some((x, y)) => Some(NewPairs { x: view(x)?, y: view(y)? }),
            None => None,
        };
        write(&host.run(py, |watch| {
            let ask = DriftAsk { x: new_rows(&x), y: new_rows(&y), pairs, level };
            self.model.drift(ask, watch)
        })?)
    }

    /// How another model differs from this one, as JSON; on these rows, if there are any.
    fn diff(
        &self,
        py: Python<'_>,
        other: Py<Self>,
        x: Option<Rows<'_>>,
        y: Option<Rows<'_>>,
        host: Host,
    ) -> PyResult<String> {
        let x = x.as_ref().map(view).transpose()?;
        let y = y.as_ref().map(view).transpose()?;
        let other = &other.get().model;
        write(&host.run(py, |_| self.model.diff(other, DiffRows { x, y }))?)
    }

    /// Everything that is not a vector, as JSON: what `bridged inspect --json` prints.
    fn describe(&self) -> String {
        self.model.describe().to_string()
    }

    /// What was done to it, as JSON; every event has its time as a date, if it is known.
    fn history(&self) -> PyResult<String> {
        let event = |event: &Event| {
            let mut said = json!(event);
            said["when"] = json!(event.when.map(date));
            said
        };
        write(&self.model.history().iter().map(event).collect::<Vec<_>>())
    }

    /// The same model, whose last event happened then if nothing is known of it.
    fn dated(&self, when: Option<u64>) -> Self {
        Self { model: self.model.clone().dated(when) }
    }

    /// What `bridged inspect --card` prints.
    fn card(&self, name: &str) -> PyResult<String> {
        Ok(self.model.card(name).map_err(Failure::from)?)
    }

    /// The labels of a pool and the mean of each cluster in the units of the data.
    fn side<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray2<f32>>) {
        let side = self.side_named(name);
        (labels(py, side.labels()), array(py, side.values().clone()))
    }

    /// The pairs: (row of x, row of y).
    fn pairs(&self) -> Vec<(u32, u32)> {
        self.model.pairs().to_vec()
    }

    /// The rows of negative answers: (row of x, row of y).
    fn negatives(&self) -> Vec<(u32, u32)> {
        self.model.negatives().to_vec()
    }

    /// The questions whose answers would help most, as JSON.
    fn suggest(
        &self,
        py: Python<'_>,
        count: usize,
        side: Option<&str>,
        kind: &str,
        host: Host,
    ) -> PyResult<String> {
        let side = side.map(|side| direction(side == "y"));
        let kind =
            if kind == "match" { bridged::Question::Match } else { bridged::Question::Partner };
        let wanted = bridged::Wanted { count, side, kind };
        let asked = host.run(py, |_| self.model.suggest(wanted))?;
        let id = |direction, row| self.model.from(direction).names().id(row);
        let described = asked.iter().map(|s| {
            let (own, other) = (direction(s.side == "y"), direction(s.side == "x"));
            let mut value = serde_json::json!(s);
            value["id"] = id(own, s.row).into();
            for (at, c) in s.candidates.iter().enumerate() {
                value["candidates"][at]["id"] = id(other, c.row).into();
            }
            value
        });
        Ok(serde_json::Value::from(described.collect::<Vec<_>>()).to_string())
    }

    /// What rows of a side are called.
    fn titles(&self, name: &str, rows: Vec<usize>) -> Vec<String> {
        let side = self.side_named(name);
        let known = side.len();
        rows.into_iter().filter(|&row| row < known).map(|row| side.title(row, None)).collect()
    }

    /// What rows of a side are called as members of their clusters.
    fn member_titles(&self, name: &str, rows: Vec<usize>) -> Vec<String> {
        let side = self.side_named(name);
        let known = side.len();
        let title = |row| side.member_title(row, None);
        rows.into_iter().filter(|&row| row < known).map(title).collect()
    }

    /// The rows of a cluster that are nearest to its centroid.
    fn members(&self, name: &str, cluster: u32, most: usize) -> PyResult<Vec<usize>> {
        Ok(self.side_named(name).members(cluster, most).map_err(Failure::from)?)
    }

    /// The names of the vector's columns on a side; empty if they have none.
    fn vector_names(&self, name: &str) -> Vec<String> {
        self.side_named(name).names().vector.clone()
    }

    /// What was taken off the columns of a side: its rows and values are without it.
    fn offset<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyArray1<f64>>> {
        let offset = self.side_named(name).offset();
        (!offset.is_none()).then(|| offset.get().to_vec().into_pyarray(py))
    }

    /// Writes the model file; over a file that is no model only if `force` says so.
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool, host: Host) -> PyResult<()> {
        host.run(py, |_| match force {
            true => self.model.save_over(&path),
            false => self.model.save(&path),
        })
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, host: Host) -> PyResult<Self> {
        Ok(Self { model: host.run(py, |_| BridgedModel::load(&path))? })
    }

    /// For pickle: the bytes of the model file.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let bytes = self.model.to_bytes().map_err(Failure::from)?;
        let again = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((again, (PyBytes::new(py, &bytes),)))
    }

    /// What [`Model::__reduce__`] gave.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let model = BridgedModel::from_bytes(bytes, Path::new("the pickle"));
        Ok(Self { model: model.map_err(Failure::from)? })
    }
}

impl Model {
    /// A model that was fitted elsewhere.
    pub fn of(model: BridgedModel) -> Self {
        Self { model }
    }

    pub fn model(&self) -> &BridgedModel {
        &self.model
    }

    fn side_named(&self, name: &str) -> &Side {
        if name == "y" { self.model.y() } else { self.model.x() }
    }
}

/// Why each row is predicted as it is, as arrays with one entry per row. Status and source are
/// numbers: positions in `statuses` and in `sources`.
pub fn explain(report: &Bound<'_, PyDict>, found: &Prediction) -> PyResult<()> {
    let py = report.py();
    let numbers = |of: &dyn Fn(Explanation<'_>) -> f64| {
        found.explanations().map(of).collect::<Vec<f64>>().into_pyarray(py)
    };
    let linked = |why: Explanation<'_>| why.linked.map_or(-1, |cluster| cluster as i32);
    let source = |why: Explanation<'_>| match why.source {
        Source::Link => 0u8,
        Source::Nearest(_) => 1,
        Source::Mean => 2,
        Source::Abstain => 3,
    };
    let mut statuses = Vec::new();
    let status: Vec<u8> =
        found.explanations().map(|why| position(&mut statuses, why.status.name())).collect();
    let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
    report.set_item("cluster", labels(py, &found.clusters))?;
    let linked: Vec<i32> = found.explanations().map(linked).collect();
    report.set_item("linked", linked.into_pyarray(py))?;
    report.set_item("weight", numbers(&|why| or_nan(why.weight())))?;
    report.set_item("probability", numbers(&|why| or_nan(why.probability)))?;
    report.set_item("vote_share", numbers(&|why| why.vote_share))?;
    report.set_item("expected_error", numbers(&|why| why.expected_error))?;
    report.set_item("novelty", numbers(&|why| or_nan(why.novelty)))?;
    let support: Vec<u32> = found.explanations().map(|why| why.support).collect();
    report.set_item("support", support.into_pyarray(py))?;
    report.set_item("status", status.into_pyarray(py))?;
    report.set_item("statuses", statuses)?;
    let source: Vec<u8> = found.explanations().map(source).collect();
    report.set_item("source", source.into_pyarray(py))?;
    report.set_item("sources", ["link", "nearest", "mean", "abstain"])
}

/// Where a name is in the list; it is put there if it is new.
fn position(names: &mut Vec<&'static str>, name: &'static str) -> u8 {
    let at = names.iter().position(|known| *known == name).unwrap_or(names.len());
    if at == names.len() {
        names.push(name);
    }
    at as u8
}
