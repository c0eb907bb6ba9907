//! R², the share of the variance that is explained; [`regression`](mod@super::regression) has its formula.

use super::{Better, MetricError, Score, ScoredRows, Scorer, regression};
use bridged_math::MatrixRef;

pub(super) const SCORER: Scorer = Scorer {
    name: "r2",
    title: "R²",
    about: "share of the variance that is explained, columns by their variance",
    better: Better::Higher,
    score: Score::Values(|predictions| predictions.errors.r2),
};

/// R² over all rows, columns weighted by their variance; `None` for a single row.
pub fn r2(predicted: MatrixRef<'_>, truth: MatrixRef<'_>) -> Result<Option<f64>, MetricError> {
    Ok(regression(predicted, truth, ScoredRows::All)?.r2)
}
