//! Fits over partitions that an engine such as Spark has.
//!
//! On the driver, Rust asks for passes and Python runs them: the work is done on a thread of the pool, and
//! the calling thread waits beside it, takes each pass and hands it to the callable, with the GIL and where Ctrl-C
//! arrives. On the machines that hold the rows, [`PassKernel`] goes over Arrow batches where they lie.

use crate::arrays::{Rows, array, labels, view};
use crate::errors::Failure;
use crate::host::Host;
use crate::model::Model;
use crate::params::read;
use crate::pool;
use bridged::cluster::{BalancedKMeans, Gaussian, GaussianMixture, Init, Metric};
use bridged::passes::{
    self, Balanced, BalancedByPasses, BalancedState, ByPasses, HeldRows, KMeansByPasses,
    KMeansState, Kernel, Labelling, MixtureByPasses, MixtureFound, MixtureState, Partial,
    Partitions, Pass, PassError, SideState, Start, View,
};
use bridged::scale::Scaler;
use bridged::settings::SideSpec;
use bridged::{BridgedClustering, Names, RowsAt, Seed};
use bridged_math::distance::nearest;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::cell::RefCell;
use std::sync::mpsc::{self, Receiver, Sender};

impl From<PassError> for Failure {
    fn from(error: PassError) -> Self {
        Failure::Sentence(error.to_string())
    }
}

fn sentence(error: PassError) -> PyErr {
    Failure::from(error).into()
}

/// What the driver asks of Python.
enum Request {
    Run(Vec<u8>),
    Save(String),
}

/// Partial results as bytes; none after a save.
type Answer = Result<Vec<Vec<u8>>, ()>;

/// The partitions as the driver sees them from its thread.
struct Asked {
    ask: Sender<Request>,
    answers: RefCell<Receiver<Answer>>,
}

impl Asked {
    fn ask(&self, request: Request) -> Result<Vec<Vec<u8>>, PassError> {
        // What went wrong is known to the thread that called Python.
        let stopped = || PassError::Engine("the engine stopped".into());
        self.ask.send(request).map_err(|_| stopped())?;
        self.answers.borrow().recv().map_err(|_| stopped())?.map_err(|()| stopped())
    }

    fn save(&self, state: &impl Serialize) -> Result<(), PassError> {
        let text = serde_json::to_string(state)
            .map_err(|e| PassError::Engine(format!("the checkpoint cannot be written: {e}")))?;
        self.ask(Request::Save(text)).map(|_| ())
    }
}

impl Partitions for Asked {
    fn run(&self, pass: &Pass) -> Result<Vec<Partial>, PassError> {
        let partials = self.ask(Request::Run(pass.to_bytes()))?;
        partials.iter().map(|bytes| Partial::from_bytes(bytes)).collect()
    }
}

/// Runs a driver whose passes Python runs.
fn drive<T: Send>(
    py: Python<'_>,
    run: &Bound<'_, PyAny>,
    save: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Asked) -> Result<T, PassError> + Send,
) -> PyResult<T> {
    let pool = pool::of(None)?;
    let (ask, asked) = mpsc::channel();
    let (answer, answers) = mpsc::channel::<Answer>();
    let mut result = None;
    let mut failed = None;
    let (run, save) = (run.clone().unbind(), save.map(|save| save.clone().unbind()));
    py.detach(|| {
        let asked = asked; // moved: a receiver cannot be shared
        pool.in_place_scope(|scope| {
            let slot = &mut result;
            scope.spawn(move |_| {
                *slot = Some(work(&Asked { ask, answers: RefCell::new(answers) }));
            });
            while let Ok(request) = asked.recv() {
                let done = Python::attach(|py| -> PyResult<Vec<Vec<u8>>> {
                    py.check_signals()?;
                    match (request, &save) {
                        (Request::Run(pass), _) => {
                            run.call1(py, (PyBytes::new(py, &pass),))?.extract(py)
                        }
                        (Request::Save(state), Some(save)) => {
                            save.call1(py, (state,)).map(|_| Vec::new())
                        }
                        (Request::Save(_), None) => Ok(Vec::new()),
                    }
                });
                let said = done.map_err(|error| failed = Some(error));
                if answer.send(said).is_err() {
                    break;
                }
            }
        });
    });
    match failed {
        Some(error) => Err(error),
        None => result.expect("a scope ends after its work").map_err(sentence),
    }
}

/// The kernel of a pass over one partition.
#[pyclass(module = "bridged._native")]
pub struct PassKernel {
    kernel: Option<Kernel>,
    threads: usize,
}

#[pymethods]
impl PassKernel {
    #[new]
    fn new(pass: &[u8], part: u64, threads: usize) -> PyResult<Self> {
        let pass = Pass::from_bytes(pass).map_err(sentence)?;
        Ok(Self { kernel: Some(Kernel::new(pass, part)), threads })
    }

    /// The next rows and their weights. Returns the row that cannot be used, and why, if there is one.
    #[pyo3(signature = (rows, weights=None))]
    fn add(
        &mut self,
        py: Python<'_>,
        rows: Rows<'_>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Option<(u64, String)>> {
        let rows = view(&rows)?;
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
        let kernel = self.kernel.as_mut().ok_or_else(finished)?;
        let pool = pool::of(Some(self.threads))?;
        let added = py.detach(|| pool.install(|| kernel.add(rows, weights)));
        Ok(added.err().map(|bad| (bad.row, bad.why)))
    }

    /// What all rows came to.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let kernel = self.kernel.take().ok_or_else(finished)?;
        Ok(PyBytes::new(py, &kernel.finish().to_bytes()))
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the kernel of this partition has finished")
}

/// Partial results of partitions that follow each other, as one.
#[pyfunction]
pub fn merge_partials<'py>(
    py: Python<'py>,
    partials: Vec<Vec<u8>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let partials: Result<Vec<_>, _> = partials.iter().map(|b| Partial::from_bytes(b)).collect();
    let merged = partials.and_then(Partial::merged).map_err(sentence)?;
    Ok(PyBytes::new(py, &merged.to_bytes()))
}

/// Of `rows` rows of a partition from `first` on, those that a sample takes, each with the number that it drew.
#[pyfunction]
pub fn sampled(seed: u64, share: f64, part: u64, first: u64, rows: u64) -> Vec<(u64, f64)> {
    let drawn = (first..first + rows).map(|row| (row, passes::chance(seed, (part, row))));
    drawn.filter(|(_, chance)| *chance < share).collect()
}

/// The nearest of some centres to each row.
#[pyfunction]
pub fn nearest_centre<'py>(
    py: Python<'py>,
    rows: Rows<'py>,
    centres: Rows<'py>,
    cosine: bool,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let (rows, centres) = (view(&rows)?, view(&centres)?);
    if rows.cols() != centres.cols() {
        let (got, need) = (rows.cols(), centres.cols());
        return Err(PyValueError::new_err(format!(
            "rows have {got} columns, but {need} are needed"
        )));
    }
    let pool = pool::of(Some(threads))?;
    let metric = if cosine { Metric::Cosine } else { Metric::Euclidean };
    let found = py.detach(|| {
        pool.install(|| {
            let seen = metric.view(rows);
            let seen = bridged::MatrixRef::new(rows.rows(), rows.cols(), &seen);
            nearest(seen.expect("one row for each"), centres)
        })
    });
    Ok(labels(py, &found))
}

/// What the first pass found.
#[pyclass(frozen, module = "bridged._native")]
pub struct Look {
    look: passes::Look,
}

#[pymethods]
impl Look {
    /// Counts and checks the rows of all partitions. `run` takes a pass and returns the partial results, all as
    /// bytes.
    #[new]
    fn new(py: Python<'_>, run: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { look: drive(py, run, None, |rows| passes::look(rows))? })
    }

    /// How many rows there are.
    fn rows(&self) -> u64 {
        self.look.moments.rows()
    }

    /// How many columns they have.
    fn columns(&self) -> usize {
        self.look.moments.mean.len()
    }

    /// The number of a row of a partition among all rows.
    fn number(&self, part: u64, row: u64) -> u64 {
        self.look.number((part, row))
    }
}

/// k-means as Python says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    k: usize,
    /// `parallel` or `random`; otherwise the centroids are given.
    start: String,
    rounds: u32,
    max_iter: u32,
    tol: f64,
    seed: u64,
    metric: Metric,
}

/// Where an earlier fit stood.
fn state<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|e| {
        let why = format!("the checkpoint cannot be read ({e}); remove it to start again");
        PyValueError::new_err(why)
    })
}

/// Clusters, and their centroids.
type Found<'py> = (String, Bound<'py, PyArray2<f32>>);

/// Clusters the rows of all partitions: a report as JSON, and the centroids. `save` is called with every state from
/// which a run can go on; `resume` is one of them.
#[pyfunction]
pub fn kmeans_by_passes<'py>(
    py: Python<'py>,
    spec: &str,
    look: &Look,
    given: Option<Rows<'py>>,
    resume: Option<&str>,
    run: &Bound<'py, PyAny>,
    save: Option<&Bound<'py, PyAny>>,
) -> PyResult<Found<'py>> {
    let Spec { k, start, rounds, max_iter, tol, seed, metric } = read(spec)?;
    let start = match (&start[..], given) {
        (_, Some(given)) => Start::Given(view(&given)?.to_matrix()),
        ("random", None) => Start::Random,
        (_, None) => Start::Parallel { rounds },
    };
    let resume = resume.map(state::<KMeansState>).transpose()?;
    let spec = KMeansByPasses { k, start, max_iter, tol, seed: Seed(seed) };
    let view = View { scaler: Scaler::None, metric };
    let found = drive(py, run, save, |rows| {
        spec.fit(rows, &look.look, &view, resume, &mut |state| rows.save(state))
    })?;
    Ok((report(&found, None), array(py, found.centroids)))
}

/// What a fit came to, as JSON.
fn report(found: &ByPasses, relative_gap: Option<f64>) -> String {
    let mut report = json!({
        "sizes": found.sizes,
        "weights": found.weights,
        "costs": found.costs,
        "inertia": found.inertia(),
        "iterations": found.iterations,
        "converged": found.converged,
    });
    if let Some(gap) = relative_gap {
        report["relative_gap"] = gap.into();
    }
    report.to_string()
}

/// Balanced k-means as Python says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BalancedSpec {
    k: usize,
    min_size: Option<usize>,
    max_size: Option<usize>,
    restarts: u32,
    max_iter: u32,
    tol: f64,
    seed: u64,
    metric: Metric,
}

/// Clusters, their centroids, and which row is in which.
type FoundBalanced<'py> = (String, Bound<'py, PyArray2<f32>>, Bound<'py, PyBytes>);

/// Clusters the rows of all partitions within bounds of the sizes, as `kmeans_by_passes` does without.
#[pyfunction]
pub fn balanced_by_passes<'py>(
    py: Python<'py>,
    spec: &str,
    look: &Look,
    given: Option<Rows<'py>>,
    resume: Option<&str>,
    run: &Bound<'py, PyAny>,
    save: Option<&Bound<'py, PyAny>>,
) -> PyResult<FoundBalanced<'py>> {
    let BalancedSpec { k, min_size, max_size, restarts, max_iter, tol, seed, metric } = read(spec)?;
    let init = match given {
        Some(given) => Init::Given(view(&given)?.to_matrix()),
        None => Init::PlusPlus,
    };
    let spec = BalancedKMeans {
        k,
        min_size,
        max_size,
        init,
        restarts,
        max_iter,
        tol,
        metric,
        ..BalancedKMeans::default()
    };
    let resume = resume.map(state::<BalancedState>).transpose()?;
    let spec = BalancedByPasses { spec, seed: Seed(seed) };
    let view = View { scaler: Scaler::None, metric };
    let Balanced { clusters, labels, relative_gap } = drive(py, run, save, |rows| {
        spec.fit(rows, &look.look, &view, resume, &mut |state| rows.save(state))
    })?;
    let labels = PyBytes::new(py, &labels.to_bytes());
    Ok((report(&clusters, Some(relative_gap)), array(py, clusters.centroids), labels))
}

/// A Gaussian mixture of the rows of all partitions, by parameters as the core has them; the seed is apart.
#[pyfunction]
pub fn mixture_by_passes(
    py: Python<'_>,
    spec: &str,
    seed: u64,
    look: &Look,
    resume: Option<&str>,
    run: &Bound<'_, PyAny>,
    save: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Components)> {
    let spec: GaussianMixture = read(spec)?;
    let resume = resume.map(state::<MixtureState>).transpose()?;
    let spec = MixtureByPasses { spec, seed: Seed(seed) };
    let found = drive(py, run, save, |rows| {
        spec.fit(rows, &look.look, resume, &mut |state| rows.save(state))
    })?;
    let MixtureFound { mixture, sizes, log_likelihood, iterations, converged } = found;
    let report = json!({
        "sizes": sizes,
        "log_likelihood": log_likelihood,
        "iterations": iterations,
        "converged": converged,
    });
    Ok((report.to_string(), Components { mixture }))
}

/// The components of a mixture with diagonal or spherical covariances.
#[pyclass(frozen, module = "bridged._native")]
pub struct Components {
    mixture: Gaussian,
}

#[pymethods]
impl Components {
    /// From log π (k), μ (k, d) and inverse deviations, (k, 1) or (k, d).
    #[new]
    fn new(log_weights: Vec<f64>, means: Rows<'_>, precisions: Rows<'_>) -> PyResult<Self> {
        let (means, precisions) = (view(&means)?.to_matrix(), view(&precisions)?.to_matrix());
        let k = log_weights.len();
        let fits = means.rows() == k
            && precisions.rows() == k
            && [1, means.cols()].contains(&precisions.cols());
        match fits && k > 0 {
            true => Ok(Self { mixture: Gaussian { log_weights, means, precisions } }),
            false => Err(PyValueError::new_err("a mixture needs one row for each component")),
        }
    }

    /// Log π, μ and inverse deviations.
    fn parts<'py>(&self, py: Python<'py>) -> Parts<'py> {
        let Gaussian { log_weights, means, precisions } = &self.mixture;
        (log_weights.clone(), array(py, means.clone()), array(py, precisions.clone()))
    }

    /// P(component | row), (n, k).
    fn posteriors<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (rows, need) = (view(&rows)?, self.mixture.means.cols());
        if rows.cols() != need {
            let got = rows.cols();
            return Err(PyValueError::new_err(format!(
                "rows have {got} columns, but {need} are needed"
            )));
        }
        let pool = pool::of(Some(1))?;
        Ok(array(py, py.detach(|| pool.install(|| self.mixture.posteriors(rows)))))
    }
}

/// What a mixture is made of.
type Parts<'py> = (Vec<f64>, Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f32>>);

/// The clusters of the rows that a balanced fit was given.
#[pyclass(frozen, module = "bridged._native")]
pub struct BalancedLabels {
    labels: Labelling,
}

#[pymethods]
impl BalancedLabels {
    /// From the bytes of `balanced_by_passes`.
    #[new]
    fn new(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { labels: Labelling::from_bytes(bytes).map_err(sentence)? })
    }

    /// The clusters of rows of a partition that follow each other from number `first` on.
    fn of<'py>(
        &self,
        py: Python<'py>,
        part: u64,
        first: u64,
        rows: Rows<'py>,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let rows = view(&rows)?;
        let pool = pool::of(Some(1))?;
        let found = py.detach(|| pool.install(|| self.labels.labels((part, first), rows)));
        Ok(labels(py, &found.map_err(sentence)?))
    }
}

/// The rows of a pool that the driver holds.
#[pyclass(frozen, module = "bridged._native")]
pub struct Held {
    held: HeldRows,
}

#[pymethods]
impl Held {
    /// Rows, their numbers among all rows, their ids, the names of the id column and of the pool.
    #[new]
    fn new(
        rows: Rows<'_>,
        numbers: Vec<u64>,
        ids: Vec<String>,
        id: Option<String>,
        place: String,
    ) -> PyResult<Self> {
        let rows = view(&rows)?.to_matrix();
        let ascend = numbers.is_sorted_by(|a, b| a < b) && numbers.len() == rows.rows();
        if !ascend || ids.len() != rows.rows() {
            return Err(PyValueError::new_err(
                "the rows that are held need a number and an id each",
            ));
        }
        let names = Names { ids, id, ..Names::default() };
        let at = RowsAt { names: vec![place], ..RowsAt::default() };
        Ok(Self { held: HeldRows { rows, numbers, names, at } })
    }
}

/// A side that was clustered by passes.
#[pyclass(frozen, module = "bridged._native")]
pub struct SideByPasses {
    found: passes::SideByPasses,
}

#[pymethods]
impl SideByPasses {
    /// Clusters the side of that name of the method.
    #[new]
    fn new(
        py: Python<'_>,
        spec: &str,
        side: (String, u64),
        pool: (PyRef<'_, Look>, PyRef<'_, Held>),
        resume: Option<&str>,
        run: &Bound<'_, PyAny>,
        save: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (side, seed) = side;
        let settings: BridgedClustering = read(spec)?;
        let side_spec: SideSpec = if side == "y" { settings.y } else { settings.x };
        let resume = resume.map(state::<SideState>).transpose()?;
        let (look, held) = (&pool.0.look, &pool.1.held);
        let seed = Seed(seed).child(&side);
        let found = drive(py, run, save, |rows| {
            let mut keep = |state: &SideState| rows.save(state);
            passes::cluster_side(&side_spec, rows, look, held, seed, resume, &mut keep)
        });
        Ok(Self { found: found? })
    }
}

/// The parameters of the method with a number of clusters where none was said.
#[pyfunction]
pub fn counted(spec: &str, x: &Held, y: &Held) -> PyResult<String> {
    let settings: BridgedClustering = read(spec)?;
    let counted = settings.counted_for(&x.held, &y.held).map_err(Failure::from)?;
    crate::params::write(&counted)
}

/// Links two sides by pairs of places among the rows that are held.
#[pyfunction]
pub fn bridge_by_passes(
    py: Python<'_>,
    spec: &str,
    x: (PyRef<'_, SideByPasses>, PyRef<'_, Held>),
    y: (PyRef<'_, SideByPasses>, PyRef<'_, Held>),
    pairs: Vec<(u32, u32)>,
    seed: u64,
    host: Host,
) -> PyResult<Model> {
    let settings: BridgedClustering = read(spec)?;
    let side =
        |of: &(PyRef<'_, SideByPasses>, PyRef<'_, Held>)| (of.0.found.clone(), of.1.held.clone());
    let (x, y) = (side(&x), side(&y));
    let fit = |watch: &dyn bridged::Watch| settings.fit_by_passes(x, y, &pairs, Seed(seed), watch);
    Ok(Model::of(host.run(py, fit)?))
}

/// Adds all of it to the module.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(merge_partials, m)?)?;
    m.add_function(wrap_pyfunction!(sampled, m)?)?;
    m.add_function(wrap_pyfunction!(nearest_centre, m)?)?;
    m.add_function(wrap_pyfunction!(kmeans_by_passes, m)?)?;
    m.add_function(wrap_pyfunction!(balanced_by_passes, m)?)?;
    m.add_function(wrap_pyfunction!(mixture_by_passes, m)?)?;
    m.add_function(wrap_pyfunction!(counted, m)?)?;
    m.add_function(wrap_pyfunction!(bridge_by_passes, m)?)?;
    m.add_class::<PassKernel>()?;
    m.add_class::<Look>()?;
    m.add_class::<BalancedLabels>()?;
    m.add_class::<Components>()?;
    m.add_class::<Held>()?;
    m.add_class::<SideByPasses>()
}
