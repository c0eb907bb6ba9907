//! Errors of predicted rows, all in two passes: what [MSE](fn@super::mse), [MAE](fn@super::mae) and
//! [R²](fn@super::r2) are read from.
//!
//! With predictions p and true values t, both (n, d), over the rows that were predicted,
//!
//! ```text
//! MSE = Σ (p − t)² / (n d)      MAE = Σ |p − t| / (n d)
//! R²_c = 1 − Σ_i (p_ic − t_ic)² / Σ_i (t_ic − mean_c)²      for each column c
//! ```
//!
//! R² of several columns is averaged with the
//! variance of each column as its weight (`r2`, scikit-learn's `"variance_weighted"`) or plainly
//! (`r2_uniform`, `"uniform_average"`). A column whose true values are all equal scores 1 if it was
//! predicted exactly and 0 otherwise, as in scikit-learn; it has no weight in `r2` unless every
//! column is like that, in which case `r2` is the plain average. Two passes, O(n d).

use super::{MetricError, check_length};
use bridged_math::{MatrixRef, chunks};
use serde::{Deserialize, Serialize};

/// Which rows are scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScoredRows<'a> {
    /// All of them.
    #[default]
    All,
    /// Those with `true`: the rest were abstained from, and may hold anything.
    Where(&'a [bool]),
}

impl ScoredRows<'_> {
    fn has(self, i: usize) -> bool {
        match self {
            ScoredRows::All => true,
            ScoredRows::Where(mask) => mask[i],
        }
    }
}

/// The errors of a set of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    /// The mean squared error over all entries.
    pub mse: f64,
    /// The mean absolute error over all entries.
    pub mae: f64,
    /// R², columns weighted by their variance; `None` for a single row.
    pub r2: Option<f64>,
    /// R², columns weighted equally; `None` for a single row.
    pub r2_uniform: Option<f64>,
    /// The number of rows that were scored.
    pub rows: usize,
}

/// All errors of `predicted` against `truth`, both (n, d).
///
/// ```
/// use bridged::Matrix;
/// use bridged::metrics::{ScoredRows, regression};
/// let truth = Matrix::from_rows(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
/// let predicted = Matrix::from_rows(&[[1.0, 2.0], [3.0, 6.0], [f32::NAN, f32::NAN]]);
/// let answered = [true, true, false];
/// let errors = regression(predicted.view(), truth.view(), ScoredRows::Where(&answered))?;
/// assert_eq!((errors.mse, errors.mae, errors.rows), (1.0, 0.5, 2));
/// assert_eq!(errors.r2, Some(0.0)); // 1 − (0 + 4) / (2 + 2)
/// # Ok::<(), bridged::metrics::MetricError>(())
/// ```
pub fn regression(
    predicted: MatrixRef<'_>,
    truth: MatrixRef<'_>,
    rows: ScoredRows<'_>,
) -> Result<Regression, MetricError> {
    let (n, d) = (truth.rows(), truth.cols());
    if (predicted.rows(), predicted.cols()) != (n, d) {
        let (got_rows, got_cols) = (predicted.rows(), predicted.cols());
        return Err(MetricError::Shape { got_rows, got_cols, rows: n, cols: d });
    }
    if let ScoredRows::Where(mask) = rows {
        check_length("rows", mask.len(), n)?;
    }
    let scored = (0..n).filter(|&i| rows.has(i)).count();
    if scored == 0 || d == 0 {
        return Err(MetricError::NoRows);
    }
    let mut errors = column_sums(n, 3 * d, rows, |i, sums| {
        for (c, (&p, &t)) in predicted.row(i).iter().zip(truth.row(i)).enumerate() {
            let difference = f64::from(p) - f64::from(t);
            sums[c] += difference * difference;
            sums[d + c] += difference.abs();
            sums[2 * d + c] += f64::from(t);
        }
    });
    if errors.iter().any(|e| !e.is_finite()) {
        return Err(first_not_finite(predicted, truth, rows));
    }
    let mut mean = errors.split_off(2 * d);
    mean.iter_mut().for_each(|m| *m /= scored as f64);
    let (squared, absolute) = errors.split_at(d);
    let spread = column_sums(n, d, rows, |i, sums| {
        for ((s, &t), m) in sums.iter_mut().zip(truth.row(i)).zip(&mean) {
            *s += (f64::from(t) - m).powi(2);
        }
    });
    let entries = (scored * d) as f64;
    let (r2, r2_uniform) = match scored {
        1 => (None, None),
        _ => {
            let (weighted, uniform) = explained(squared, &spread);
            (Some(weighted), Some(uniform))
        }
    };
    Ok(Regression {
        mse: squared.iter().sum::<f64>() / entries,
        mae: absolute.iter().sum::<f64>() / entries,
        r2,
        r2_uniform,
        rows: scored,
    })
}

/// Sums `width` numbers that `add` collects from each scored row, in a fixed order.
fn column_sums(
    n: usize,
    width: usize,
    rows: ScoredRows<'_>,
    add: impl Fn(usize, &mut [f64]) + Sync,
) -> Vec<f64> {
    let partials = chunks::map_blocks(n, |range| {
        let mut sums = vec![0.0f64; width];
        range.filter(|&i| rows.has(i)).for_each(|i| add(i, &mut sums));
        sums
    });
    let mut total = vec![0.0f64; width];
    for partial in partials {
        total.iter_mut().zip(partial).for_each(|(t, p)| *t += p);
    }
    total
}

/// R² from each column's squared error and spread: (variance-weighted, plain) averages.
fn explained(squared: &[f64], spread: &[f64]) -> (f64, f64) {
    let mut plain = 0.0;
    for (&error, &spread) in squared.iter().zip(spread) {
        plain += match (error == 0.0, spread == 0.0) {
            (true, true) => 1.0,
            (false, true) => 0.0,
            (_, false) => 1.0 - error / spread,
        };
    }
    let plain = plain / squared.len() as f64;
    let total_spread: f64 = spread.iter().sum();
    if total_spread == 0.0 {
        return (plain, plain);
    }
    // Weighted by spread, 1 − error / spread adds up to this; constant columns drop out.
    let error: f64 =
        squared.iter().zip(spread).filter(|(_, s)| **s > 0.0).map(|(error, _)| error).sum();
    (1.0 - error / total_spread, plain)
}

fn first_not_finite(p: MatrixRef<'_>, t: MatrixRef<'_>, rows: ScoredRows<'_>) -> MetricError {
    for row in (0..t.rows()).filter(|&i| rows.has(i)) {
        let bad = |(a, b): (&f32, &f32)| !a.is_finite() || !b.is_finite();
        if let Some(column) = p.row(row).iter().zip(t.row(row)).position(bad) {
            return MetricError::NotFinite { row, column };
        }
    }
    unreachable!("finite f32 entries have finite f64 sums of squares")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{mae, mse, r2};
    use bridged_math::Matrix;

    #[derive(Deserialize)]
    struct Golden {
        regression: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        rows: usize,
        cols: usize,
        predicted: Vec<f32>,
        truth: Vec<f32>,
        mse: f64,
        mae: f64,
        r2: f64,
        r2_uniform: f64,
    }

    #[test]
    fn errors_agree_with_scikit_learn() {
        let golden: Golden =
            serde_json::from_str(include_str!("../../../../tests/golden/metrics.json")).unwrap();
        assert_eq!(golden.regression.len(), 8);
        for case in golden.regression {
            let predicted = Matrix::new(case.rows, case.cols, case.predicted).unwrap();
            let truth = Matrix::new(case.rows, case.cols, case.truth).unwrap();
            let r = regression(predicted.view(), truth.view(), ScoredRows::All).unwrap();
            let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0));
            near(r.mse, case.mse);
            near(r.mae, case.mae);
            near(r.r2.unwrap(), case.r2);
            near(r.r2_uniform.unwrap(), case.r2_uniform);
        }
    }

    #[test]
    fn rows_left_out_count_as_if_they_did_not_exist() {
        let truth = Matrix::from_fn(1500, 3, |i, j| ((i * 7 + j * 3) % 11) as f32);
        let predicted = Matrix::from_fn(1500, 3, |i, j| ((i * 5 + j) % 11) as f32);
        let mask: Vec<bool> = (0..1500).map(|i| i % 3 != 0).collect();
        let kept = || (0..1500).filter(|i| i % 3 != 0);
        let some = regression(predicted.view(), truth.view(), ScoredRows::Where(&mask)).unwrap();
        let fewer = regression(
            predicted.view().select(kept()).view(),
            truth.view().select(kept()).view(),
            ScoredRows::All,
        )
        .unwrap();
        assert_eq!(some.rows, 1000);
        assert!((some.mse - fewer.mse).abs() < 1e-12 && (some.mae - fewer.mae).abs() < 1e-12);
        assert!((some.r2.unwrap() - fewer.r2.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn a_single_row_has_an_error_but_no_r2() {
        let (p, t) = (Matrix::from_rows(&[[1.0f32]]), Matrix::from_rows(&[[3.0f32]]));
        assert_eq!(mse(p.view(), t.view()), Ok(4.0));
        assert_eq!(mae(p.view(), t.view()), Ok(2.0));
        assert_eq!(r2(p.view(), t.view()), Ok(None));
    }

    #[test]
    fn what_cannot_be_scored_is_refused_with_a_reason() {
        let a = Matrix::zeros(2, 3);
        let b = Matrix::zeros(2, 4);
        let error = mse(a.view(), b.view()).unwrap_err();
        assert!(error.to_string().contains("2 × 3") && error.to_string().contains("2 × 4"));
        let short = regression(a.view(), a.view(), ScoredRows::Where(&[true])).unwrap_err();
        assert_eq!(short, MetricError::Length { name: "rows", got: 1, need: 2 });
        let none = regression(a.view(), a.view(), ScoredRows::Where(&[false, false]));
        assert_eq!(none, Err(MetricError::NoRows));
        let mut bad = a.clone();
        bad.row_mut(1)[2] = f32::NAN;
        let not_finite = MetricError::NotFinite { row: 1, column: 2 };
        assert_eq!(mse(bad.view(), a.view()), Err(not_finite.clone()));
        assert_eq!(mse(a.view(), bad.view()), Err(not_finite));
    }
}
