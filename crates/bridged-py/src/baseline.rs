//! A fitted baseline.

use crate::arrays::{PairRows, Rows, array, pairs, view};
use crate::host::Host;
use crate::params;
use bridged::Seed;
use bridged::retrieve;
use bridged::{Method, Predictor, Problem};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

#[pyclass(frozen, module = "bridged._native")]
pub struct Baseline {
    fitted: Box<dyn Predictor>,
}

#[pymethods]
impl Baseline {
    /// Learns by the method of that name.
    #[staticmethod]
    fn fit(
        py: Python<'_>,
        method: (String, String),
        x: Rows<'_>,
        y: Rows<'_>,
        known: PairRows<'_>,
        seed: u64,
        host: Host,
    ) -> PyResult<Self> {
        let spec = params::baseline(&method.0, &method.1)?;
        let (x, y, known) = (view(&x)?, view(&y)?, pairs(&known)?);
        let problem = Problem::new(x, y, &known);
        let fitted = host.run(py, |watch| spec.fit(problem, Seed(seed), watch))?;
        Ok(Self { fitted })
    }

    /// Predicts rows that were not seen.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        host: Host,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let rows = view(&rows)?;
        let values = host.run(py, |_| self.fitted.predict(rows))?;
        Ok(array(py, values))
    }

    /// Predicts the rows of the x pool that it was fitted on.
    fn predict_pool<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        host: Host,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let x = view(&x)?;
        let values = host.run(py, |_| self.fitted.predict_pool(x))?;
        Ok(array(py, values))
    }

    /// The rows of the y pool that belong to each row best, best first, row after row.
    fn retrieve<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        y: Rows<'py>,
        n: usize,
        host: Host,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let (rows, y) = (view(&rows)?, view(&y)?);
        let found = host.run(py, |_| retrieve(self.fitted.as_ref(), rows, y, n))?;
        Ok(PyArray1::from_vec(py, found))
    }
}
