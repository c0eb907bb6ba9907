//! The core's scores.

use crate::arrays::{Rows, from_labels, view};
use crate::errors::Failure;
use crate::host::Host;
use crate::params::write;
use bridged::metrics::calibration::expected_calibration_error;
use bridged::metrics::{self, Claim, Contingency, LabelledRows, ScoredRows as Scored};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

type Labels<'py> = PyReadonlyArray1<'py, i32>;

/// MSE, MAE and R² as JSON, over the rows with `answered`.
#[pyfunction]
fn regression(
    py: Python<'_>,
    predicted: Rows<'_>,
    truth: Rows<'_>,
    answered: Option<PyReadonlyArray1<'_, bool>>,
) -> PyResult<String> {
    let answered = answered.map(|a| a.as_array().to_vec());
    let rows = answered.as_deref().map_or(Scored::All, Scored::Where);
    let (predicted, truth) = (view(&predicted)?, view(&truth)?);
    let scores = Host::plain().run(py, |_| metrics::regression(predicted, truth, rows))?;
    write(&scores)
}

/// AMI, NMI, ARI and the mis-clustering rate.
#[pyfunction]
fn agreement(labels: Labels<'_>, classes: Labels<'_>) -> PyResult<(f64, f64, f64, f64)> {
    let (labels, classes) = (from_labels(&labels), from_labels(&classes));
    let table = Contingency::new(&labels, &classes).map_err(Failure::from)?;
    Ok((table.ami(), table.nmi(), table.ari(), table.matching().error))
}

/// Bridging accuracy, mis-bridging rate and the true links, as JSON.
#[pyfunction]
fn bridging(
    from: (Labels<'_>, Labels<'_>),
    to: (Labels<'_>, Labels<'_>),
    links: Labels<'_>,
) -> PyResult<String> {
    let from = (from_labels(&from.0), from_labels(&from.1));
    let to = (from_labels(&to.0), from_labels(&to.1));
    let links: Vec<Option<u32>> = links.as_array().iter().map(|&b| u32::try_from(b).ok()).collect();
    let scores = metrics::bridging(
        LabelledRows { labels: &from.0, classes: &from.1 },
        LabelledRows { labels: &to.0, classes: &to.1 },
        &links,
    )
    .map_err(Failure::from)?;
    write(&scores)
}

/// BLEU of texts, each against all of its references.
#[pyfunction]
fn bleu(candidates: Vec<String>, references: Vec<Vec<String>>) -> PyResult<f64> {
    Ok(metrics::bleu(&candidates, &references).map_err(Failure::from)?)
}

/// The expected calibration error of probabilities; none without any.
#[pyfunction]
fn ece(probability: Vec<f64>, came_true: Vec<bool>) -> Option<f64> {
    let claims = probability.into_iter().zip(came_true);
    let claims = claims.map(|(probability, came_true)| Claim { probability, came_true });
    expected_calibration_error(&claims.collect::<Vec<_>>())
}

/// Puts them into the module.
pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(regression, m)?)?;
    m.add_function(wrap_pyfunction!(agreement, m)?)?;
    m.add_function(wrap_pyfunction!(bridging, m)?)?;
    m.add_function(wrap_pyfunction!(bleu, m)?)?;
    m.add_function(wrap_pyfunction!(ece, m)?)
}
