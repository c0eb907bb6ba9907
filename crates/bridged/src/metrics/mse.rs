//! The mean squared error, Σ (p − t)² / (n d): the loss of every table of the paper.

use super::{Better, MetricError, Score, ScoredRows, Scorer, regression};
use bridged_math::MatrixRef;

pub(super) const SCORER: Scorer = Scorer {
    name: "mse",
    title: "MSE",
    about: "mean squared error over all entries",
    better: Better::Lower,
    score: Score::Values(|predictions| Some(predictions.errors.mse)),
};

/// The mean squared error over all entries of all rows.
pub fn mse(predicted: MatrixRef<'_>, truth: MatrixRef<'_>) -> Result<f64, MetricError> {
    Ok(regression(predicted, truth, ScoredRows::All)?.mse)
}
