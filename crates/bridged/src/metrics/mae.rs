//! The mean absolute error, Σ |p − t| / (n d).

use super::{Better, MetricError, Score, ScoredRows, Scorer, regression};
use bridged_math::MatrixRef;

pub(super) const SCORER: Scorer = Scorer {
    name: "mae",
    title: "MAE",
    about: "mean absolute error over all entries",
    better: Better::Lower,
    score: Score::Values(|predictions| Some(predictions.errors.mae)),
};

/// The mean absolute error over all entries of all rows.
pub fn mae(predicted: MatrixRef<'_>, truth: MatrixRef<'_>) -> Result<f64, MetricError> {
    Ok(regression(predicted, truth, ScoredRows::All)?.mae)
}
