//! A clustering on its own: labels, centroids, and what assigns new rows.

use crate::arrays::{Rows, array, labels, view};
use crate::errors::Failure;
use crate::host::Host;
use crate::open::{OpenPool, State, Wanted, to_cluster};
use crate::params;
use crate::source::Source;
use bridged::cluster::{
    AssignRule, ClusterError, ClusterSpec, Clusterer, Clustering as Found, Gaussian, Init,
};
use bridged::columns::Fitted;
use bridged::offset::Offset;
use bridged::settings::SideSpec;
use bridged::{Error, Matrix, Seed, Watch};
use bridged_math::rows::{InMemory, Rows as AllRows};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

/// How pickle makes it again: a function and its arguments.
type Pickled<'py> = (Bound<'py, PyAny>, (String, Bound<'py, PyDict>));

/// What assigns rows to clusters.
#[pyclass(frozen, module = "bridged._native")]
pub struct Clustering {
    rule: AssignRule,
    cols: usize,
}

#[pymethods]
impl Clustering {
    /// Clusters rows, of which each may have a weight (k-means only); gives the rule and a dict of `labels`, `centroids`, `sizes`, `inertia`,
    /// `iterations`, `converged`.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        method: (String, String),
        rows: Rows<'py>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        seed: u64,
        host: Host,
    ) -> PyResult<(Self, Bound<'py, PyDict>)> {
        let mut spec = params::clustering(&method.0, &method.1)?;
        let rows = view(&rows)?;
        // As scikit-learn does: fewer clusters, and a warning, where there are fewer distinct rows.
        let too_few = match host.run(py, |_| Ok::<_, Failure>(spec.check_distinct(rows)))? {
            Err(ClusterError::TooFewDistinct { distinct, k }) => {
                spec = with_fewer(spec, distinct);
                Some((distinct, k))
            }
            _ => None,
        };
        let weights = weights.map(|w| w.as_array().to_vec());
        let found = host.run(py, |watch| match (&spec, &weights) {
            (_, None) => spec.fit(rows, Seed(seed), watch),
            (ClusterSpec::KMeans(spec), Some(weights)) => {
                spec.fit_weighted(rows, weights, Seed(seed), watch)
            }
            (other, Some(_)) => {
                Err(ClusterError::Unfit(format!("`{}` knows no weights", other.name())))
            }
        })?;
        let (rule, report) = report(py, found, too_few)?;
        Ok((Self { rule, cols: rows.cols() }, report))
    }

    /// The same for rows that were opened from a source, in memory or in passes.
    #[staticmethod]
    fn fit_opened<'py>(
        py: Python<'py>,
        method: (String, String),
        pool: Py<OpenPool>,
        seed: u64,
        host: Host,
    ) -> PyResult<(Self, Bound<'py, PyDict>)> {
        let spec = params::clustering(&method.0, &method.1)?;
        let pool = pool.get();
        let (rows, offset): (Box<dyn AllRows>, Offset) = match pool.give() {
            State::Stored(rows) => {
                if spec.uses_origin() && !rows.offset().is_none() {
                    return Err(Failure::from(Error::OffsetInPasses { side: "X" }).into());
                }
                let offset = rows.offset().clone();
                (rows, offset)
            }
            State::Held(mut held) => {
                if spec.uses_origin() {
                    held.rows = std::mem::take(&mut held.offset).undo(held.rows);
                }
                (Box::new(InMemory(held.rows)), held.offset)
            }
            State::Given => return Err(PyValueError::new_err("the rows were clustered before")),
        };
        let cluster = |spec: &ClusterSpec| {
            let side = to_cluster(spec.clone());
            let found = host.run(py, |watch| cluster_rows(&side, rows.as_ref(), seed, watch));
            pool.raised.instead(found)
        };
        let (found, too_few) = match cluster(&spec)? {
            Err(ClusterError::TooFewDistinct { distinct, k }) => {
                (cluster(&with_fewer(spec, distinct))?, Some((distinct, k)))
            }
            found => (found, None),
        };
        let found = found.map_err(Failure::from)?;
        let (rule, report) = report(py, found, too_few)?;
        let taken = (!offset.is_none()).then(|| offset.get().to_vec().into_pyarray(py));
        report.set_item("offset", taken)?;
        Ok((Self { rule, cols: rows.cols() }, report))
    }

    /// The cluster of each row of a source, which is read a few rows at a time. Its columns are those of the fit: their
    /// names, and what was taken off them.
    fn assign_source<'py>(
        &self,
        py: Python<'py>,
        source: Py<Source>,
        wanted: Wanted,
        fitted: (Vec<String>, Option<Vec<f64>>),
        host: Host,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let (vector, offset) = (fitted.0, Offset::new(fitted.1.unwrap_or_default()));
        let fitted =
            Fitted { id: None, vector: &vector, cols: self.cols, offset: &offset, mean: &[] };
        let source = source.get();
        let (options, select) = (wanted.options()?, wanted.select(&[], Some(fitted))?);
        let found = host.run(py, |_| {
            let rows = source.stored(&options, select)?;
            let mut labels = Vec::with_capacity(rows.rows());
            rows.scan(&mut |_, part| {
                labels.extend(self.rule.assign(part));
                Ok(())
            })
            .map_err(|e| Failure::from(Error::Rows(e)))?;
            Ok::<_, Failure>(labels)
        });
        Ok(labels(py, &source.raised.instead(found)?))
    }

    /// The cluster of each row, which may be new.
    fn assign<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        host: Host,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let rows = view(&rows)?;
        if rows.cols() != self.cols {
            let (got, need) = (rows.cols(), self.cols);
            return Err(PyValueError::new_err(format!(
                "the rows have {got} columns, but the clustering was fitted on {need}"
            )));
        }
        if let Some((row, column)) = rows.first_non_finite() {
            return Err(Failure::from(ClusterError::NotFinite { row, column }).into());
        }
        let found = host.run(py, |_| Ok::<_, Failure>(self.rule.assign(rows)))?;
        Ok(labels(py, &found))
    }

    /// For pickle: everything in it as JSON and arrays.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let arrays = PyDict::new(py);
        let plain = match &self.rule {
            AssignRule::Nearest { centres, metric } => {
                arrays.set_item("centres", array(py, centres.clone()))?;
                json!({"rule": "nearest", "metric": metric})
            }
            AssignRule::Mixture(mixture) => {
                arrays.set_item("log_weights", mixture.log_weights.clone().into_pyarray(py))?;
                arrays.set_item("means", array(py, mixture.means.clone()))?;
                arrays.set_item("precisions", array(py, mixture.precisions.clone()))?;
                json!({"rule": "mixture"})
            }
            AssignRule::Neighbors { rows, labels, neighbors, radius, metric } => {
                arrays.set_item("rows", array(py, rows.clone()))?;
                arrays.set_item("labels", labels.clone().into_pyarray(py))?;
                json!({
                    "rule": "neighbors", "neighbors": neighbors, "radius": radius, "metric": metric,
                })
            }
        };
        let plain = json!({"cols": self.cols, "rule": plain}).to_string();
        let again = py.get_type::<Self>().getattr("from_state")?;
        Ok((again, (plain, arrays)))
    }

    /// What [`Clustering::__reduce__`] gave.
    #[staticmethod]
    fn from_state(plain: &str, arrays: &Bound<'_, PyDict>) -> PyResult<Self> {
        let state: Value = params::read(plain)?;
        let rule = &state["rule"];
        let of = |value: &Value| serde_json::from_value(value.clone());
        let broken = |e: serde_json::Error| PyValueError::new_err(e.to_string());
        let rule = match rule["rule"].as_str() {
            Some("nearest") => AssignRule::Nearest {
                centres: matrix(arrays, "centres")?,
                metric: of(&rule["metric"]).map_err(broken)?,
            },
            Some("mixture") => AssignRule::Mixture(Gaussian {
                log_weights: get::<PyReadonlyArray1<'_, f64>>(arrays, "log_weights")?
                    .as_array()
                    .to_vec(),
                means: matrix(arrays, "means")?,
                precisions: matrix(arrays, "precisions")?,
            }),
            Some("neighbors") => AssignRule::Neighbors {
                rows: matrix(arrays, "rows")?,
                labels: get::<PyReadonlyArray1<'_, u32>>(arrays, "labels")?.as_array().to_vec(),
                neighbors: serde_json::from_value(rule["neighbors"].clone()).map_err(broken)?,
                radius: serde_json::from_value(rule["radius"].clone()).map_err(broken)?,
                metric: of(&rule["metric"]).map_err(broken)?,
            },
            _ => return Err(PyValueError::new_err("this pickle holds no clustering")),
        };
        let cols = serde_json::from_value(state["cols"].clone()).map_err(broken)?;
        Ok(Self { rule, cols })
    }
}

/// What Python keeps of a clustering, and the rule apart. `too_few` tells of distinct rows and clusters that were asked for.
fn report(
    py: Python<'_>,
    found: Found,
    too_few: Option<(usize, usize)>,
) -> PyResult<(AssignRule, Bound<'_, PyDict>)> {
    let report = PyDict::new(py);
    report.set_item("distinct", too_few)?;
    report.set_item("labels", labels(py, &found.labels))?;
    report.set_item("sizes", labels(py, &found.sizes))?;
    report.set_item("inertia", found.inertia)?;
    report.set_item("iterations", found.iterations)?;
    report.set_item("converged", found.converged)?;
    report.set_item("centroids", array(py, found.centroids))?;
    Ok((found.rule, report))
}

/// Clusters rows; what a clustering says is apart from what else may go wrong.
fn cluster_rows(
    side: &SideSpec,
    rows: &dyn AllRows,
    seed: u64,
    watch: &dyn Watch,
) -> Result<Result<Found, ClusterError>, Failure> {
    match side.cluster_rows(rows, Seed(seed), watch) {
        Ok(found) => Ok(Ok(found)),
        Err(Error::Cluster { source: ClusterError::TooLarge(e), .. }) => {
            Err(ClusterError::TooLarge(e).into())
        }
        Err(Error::Cluster { source, .. }) => Ok(Err(source)),
        Err(other) => Err(other.into()),
    }
}

/// The same with as many clusters as there are distinct rows, each of which is then one; those that
/// part equal rows on purpose, or by merging, keep their number.
fn with_fewer(mut spec: ClusterSpec, distinct: usize) -> ClusterSpec {
    match &mut spec {
        ClusterSpec::KMeans(c) => (c.k, c.init) = (distinct, Init::PlusPlus),
        ClusterSpec::MiniBatchKMeans(c) => (c.k, c.init) = (distinct, Init::PlusPlus),
        ClusterSpec::GaussianMixture(c) => (c.k, c.init) = (distinct, Init::PlusPlus),
        ClusterSpec::BalancedKMeans(_)
        | ClusterSpec::Spectral(_)
        | ClusterSpec::Agglomerative(_)
        | ClusterSpec::Dbscan(_) => {}
    }
    spec
}

fn get<'py, T: for<'a> FromPyObject<'a, 'py>>(
    arrays: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<T> {
    let found = arrays.get_item(name)?;
    let found = found.ok_or_else(|| PyValueError::new_err(format!("the pickle lacks {name}")))?;
    found.extract().map_err(|_| PyValueError::new_err(format!("the pickle's {name} is damaged")))
}

fn matrix(arrays: &Bound<'_, PyDict>, name: &str) -> PyResult<Matrix> {
    let rows: PyReadonlyArray2<'_, f32> = get(arrays, name)?;
    let [n, d] = [rows.shape()[0], rows.shape()[1]];
    let data = rows.as_array().iter().copied().collect();
    Ok(Matrix::new(n, d, data).expect("an array has as many entries as its shape says"))
}
