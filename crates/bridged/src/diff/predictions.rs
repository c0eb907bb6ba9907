//! Which rows are answered otherwise, and by how much.

use super::clusters::{SideDiff, as_seen_by, check};
use crate::Error;
use crate::model::{BridgedModel, Direction};
use bridged_math::MatrixRef;
use serde::Serialize;

/// Rows that are predicted, at most, where none are given.
const MOST: usize = 10_000;

/// What rows are answered by two models.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictionDiff {
    /// The side that is predicted: `y` or `x`.
    pub of: &'static str,
    /// Rows that both models were shown.
    pub rows: usize,
    /// Whether they were given; else they are rows that this model holds.
    pub given: bool,
    /// Rows whose output most likely lies in clusters that are matched with each other.
    pub linked_alike: usize,
    /// Rows that only one of the models answers.
    pub answered_by_one: usize,
    /// The root mean square difference of an entry of the predictions, over rows that both answer; none without any.
    pub difference: Option<f64>,
    /// The same ÷ the root mean square deviation of this model's predictions from their mean; none where they do not vary.
    pub relative: Option<f64>,
}

/// Predicts in a direction by both models; `None` if there are no rows to predict from.
pub(super) fn diff(
    a: &BridgedModel,
    b: &BridgedModel,
    direction: Direction,
    given: Option<MatrixRef<'_>>,
    (_, to): (&SideDiff, &SideDiff),
) -> Result<Option<PredictionDiff>, Error> {
    let side = a.from(direction);
    let held = match given {
        Some(_) => None,
        None if !side.keeps_rows() => return Ok(None),
        None => {
            let n = side.len();
            let many = n.min(MOST);
            Some(side.rows()?.view().select((0..many).map(|s| s * n / many)))
        }
    };
    let Some(rows) = given.or(held.as_ref().map(|rows| rows.view())) else { return Ok(None) };
    check(direction.input(), side, rows)?;
    let seen = as_seen_by(side, b.from(direction), rows);
    let (of_a, of_b) = (a.predict(direction, rows)?, b.predict(direction, seen.view())?);
    let (to_a, to_b) = (a.to(direction).offset(), b.to(direction).offset());
    let cols = a.to(direction).cols();
    let alike = |i: usize| match (of_a.explain(i).linked, of_b.explain(i).linked) {
        (Some(a), Some(b)) => to.to_other(a) == Some(b),
        (None, None) => true,
        _ => false,
    };
    let both: Vec<usize> =
        (0..rows.rows()).filter(|&i| of_a.answered(i) && of_b.answered(i)).collect();
    let one = (0..rows.rows()).filter(|&i| of_a.answered(i) != of_b.answered(i)).count();
    let entries = (both.len() * cols) as f64;
    let mut means = vec![0.0f64; cols];
    for &i in &both {
        let row = of_a.values.row(i).iter().enumerate();
        row.for_each(|(c, &v)| means[c] += to_a.raise(c, v) / both.len() as f64);
    }
    let (mut difference, mut spread) = (0.0f64, 0.0f64);
    for &i in &both {
        for (c, (&a, &b)) in of_a.values.row(i).iter().zip(of_b.values.row(i)).enumerate() {
            let (a, b) = (to_a.raise(c, a), to_b.raise(c, b));
            difference += (a - b).powi(2);
            spread += (a - means[c]).powi(2);
        }
    }
    Ok(Some(PredictionDiff {
        of: direction.output(),
        rows: rows.rows(),
        given: given.is_some(),
        linked_alike: (0..rows.rows()).filter(|&i| alike(i)).count(),
        answered_by_one: one,
        difference: (entries > 0.0).then(|| (difference / entries).sqrt()),
        relative: (spread > 0.0).then(|| (difference / spread).sqrt()),
    }))
}
