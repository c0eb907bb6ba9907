//! A fitted bridge between two pools.

use crate::arrays::{PairRows, Rows, array, from_labels, labels, pairs, view};
use crate::errors::Failure;
use crate::host::Host;
use crate::params::{read, write};
use bridged::math::Seed;
use bridged::{
    BridgedClustering, BridgedModel, Direction, Names, Prediction, Problem, Side, Source,
    TextColumn,
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::{Path, PathBuf};

/// The rows of a side, how far each is from a value: (n, wanted).
type Found<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>);

/// How pickle makes it again: a function and its arguments.
type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

#[pyclass(frozen, module = "bridged._native")]
pub struct Model {
    model: BridgedModel,
}

/// What a pool is called: ids, carried columns (name, values), names of the vector's columns.
type Called = (Vec<String>, Vec<(String, Vec<String>)>, Vec<String>);

fn names((ids, texts, vector): Called) -> Names {
    let texts = texts.into_iter().map(|(name, values)| TextColumn { name, values }).collect();
    Names { ids, texts, vector }
}

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
        known: PairRows<'_>,
        called: (Called, Called),
        seed: u64,
        host: Host,
    ) -> PyResult<Self> {
        let spec: BridgedClustering = read(spec)?;
        let (x, y, known) = (view(&pools.0)?, view(&pools.1)?, pairs(&known)?);
        let problem = Problem::new(x, y, &known);
        let mut model = host.run(py, |watch| spec.fit(problem, Seed(seed), watch))?;
        model.x.names = names(called.0);
        model.y.names = names(called.1);
        Ok(Self { model })
    }

    /// Predicts rows, those of the pool that it was fitted on if none are given: a dict with `value`
    /// and, with `details`, what says why.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        reverse: bool,
        rows: Option<Rows<'py>>,
        details: bool,
        host: Host,
    ) -> PyResult<Bound<'py, PyDict>> {
        let rows = rows.as_ref().map(view).transpose()?;
        let found = host.run(py, |_| match rows {
            Some(rows) => self.model.predict(direction(reverse), rows),
            None => self.model.predict_pool(direction(reverse)),
        })?;
        let report = PyDict::new(py);
        if details {
            self.explain(&report, reverse, &found)?;
        }
        report.set_item("value", array(py, found.values))?;
        Ok(report)
    }

    /// The `wanted` real rows that are nearest to each value, and their distances; −1 and NaN for a
    /// value that is NaN, or where the pool has fewer rows.
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        reverse: bool,
        values: Rows<'py>,
        wanted: usize,
        host: Host,
    ) -> PyResult<Found<'py>> {
        let values = view(&values)?;
        let n = values.rows();
        let found = host.run(py, |_| self.model.nearest(direction(reverse), values, wanted))?;
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

    /// Whether the bridge knows how likely its links are.
    fn knows(&self, reverse: bool) -> bool {
        self.model.route(direction(reverse)).bridge.reliability.is_some()
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

    /// Everything that is not a vector, as JSON: what `bridged inspect --json` prints.
    fn describe(&self) -> String {
        self.model.describe().to_string()
    }

    /// The labels of a pool and the mean of each cluster in the units of the data.
    fn side<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray2<f32>>) {
        let side = self.side_named(name);
        (labels(py, &side.clustering.labels), array(py, side.values.clone()))
    }

    /// The pairs: (row of x, row of y).
    fn pairs(&self) -> Vec<(u32, u32)> {
        self.model.pairs.clone()
    }

    /// What rows of a side are called.
    fn titles(&self, name: &str, rows: Vec<usize>) -> Vec<String> {
        let side = self.side_named(name);
        let known = side.clustering.labels.len();
        rows.into_iter().filter(|&row| row < known).map(|row| side.title(row, None)).collect()
    }

    /// The rows of a cluster that are nearest to its centroid.
    fn members(&self, name: &str, cluster: u32, most: usize) -> Vec<usize> {
        let side = self.side_named(name);
        if (cluster as usize) < side.k() { side.members(cluster, most) } else { Vec::new() }
    }

    /// The names of the vector's columns on a side; empty if they have none.
    fn vector_names(&self, name: &str) -> Vec<String> {
        self.side_named(name).names.vector.clone()
    }

    /// Writes the model file.
    fn save(&self, py: Python<'_>, path: PathBuf, host: Host) -> PyResult<()> {
        host.run(py, |_| self.model.save(&path))
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
    fn side_named(&self, name: &str) -> &Side {
        if name == "y" { &self.model.y } else { &self.model.x }
    }

    /// Why each row is predicted as it is, as arrays with one entry a row. Status and source are
    /// numbers: positions in `statuses` and in `sources`.
    fn explain(
        &self,
        report: &Bound<'_, PyDict>,
        reverse: bool,
        found: &Prediction,
    ) -> PyResult<()> {
        let py = report.py();
        let n = found.len();
        let votes = match reverse {
            false => self.model.votes.rows(),
            true => self.model.votes.flip().rows(),
        };
        // The share of the pairs in input cluster a that lie in output cluster b.
        let share = |a: u32, b: u32| {
            let cells = votes.get(a as usize).map_or(&[][..], Vec::as_slice);
            let all: u32 = cells.iter().map(|c| c.count).sum();
            let for_b: u32 = cells.iter().filter(|c| c.y == b).map(|c| c.count).sum();
            f64::from(for_b) / f64::from(all.max(1))
        };
        let knows = self.knows(reverse);
        let mut linked = Vec::with_capacity(n);
        let mut weight = Vec::with_capacity(n);
        let mut confidence = Vec::with_capacity(n);
        let mut expected_error = Vec::with_capacity(n);
        let mut support = Vec::with_capacity(n);
        let (mut status, mut statuses) = (Vec::with_capacity(n), Vec::new());
        let mut source = Vec::with_capacity(n);
        for i in 0..n {
            let answer = found.answer(i);
            let best = answer.targets.first();
            let (kind, by) = match answer.source {
                Source::Link => (0u8, found.clusters[i]),
                Source::Nearest(cluster) => (1, cluster),
                Source::Mean => (2, found.clusters[i]),
                Source::Abstain => (3, found.clusters[i]),
            };
            let sure = found.confidence(i);
            let (to, how) = match knows {
                true => (sure.cluster, sure.probability),
                false => (best.map(|t| t.cluster), best.map_or(0.0, |t| share(by, t.cluster))),
            };
            linked.push(to.map_or(-1, |cluster| cluster as i32));
            weight.push(best.map_or(f64::NAN, |t| t.weight));
            confidence.push(how);
            expected_error.push(sure.error);
            support.push(answer.support);
            status.push(position(&mut statuses, answer.status.name()));
            source.push(kind);
        }
        report.set_item("cluster", labels(py, &found.clusters))?;
        report.set_item("linked", linked.into_pyarray(py))?;
        report.set_item("weight", weight.into_pyarray(py))?;
        report.set_item("confidence", confidence.into_pyarray(py))?;
        report.set_item("expected_error", expected_error.into_pyarray(py))?;
        report.set_item("support", support.into_pyarray(py))?;
        report.set_item("status", status.into_pyarray(py))?;
        report.set_item("statuses", statuses)?;
        report.set_item("source", source.into_pyarray(py))?;
        report.set_item("sources", ["link", "nearest", "mean", "abstain"])
    }
}

/// Where a name is in the list; it is put there if it is new.
fn position(names: &mut Vec<&'static str>, name: &'static str) -> u8 {
    let at = names.iter().position(|known| *known == name).unwrap_or(names.len());
    if at == names.len() {
        names.push(name);
    }
    at as u8
}
