//! One pass over all new rows: the model's cluster of each, how unlike the fit it is, and what the columns are like.
//!
//! Sums are taken in the blocks that follow from the number of rows, so rows that are read in parts give the same bytes.

use super::Reference;
use super::broken;
use super::columns::{ColumnDrift, Columns};
use super::intervals::{simultaneous, wilson};
use crate::Error;
use crate::cluster::NOISE;
use crate::novelty::{Novelty, UNFAMILIAR};
use crate::range;
use crate::side::Side;
use bridged_math::Rows;
use bridged_math::rows::{BlockSums, scan_until};
use serde::Serialize;
use std::ops::ControlFlow;

/// Shares of the fit's rows beyond which new rows are counted.
const BEYOND: [f64; 3] = [0.5, 0.1, 0.01];

/// The share of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterShare {
    /// The cluster of the model.
    pub cluster: u32,
    /// The share of the fit's rows that it would get if each were new.
    pub fit: f64,
    /// New rows in it.
    pub rows: u64,
    /// Their share.
    pub share: f64,
    /// The lower end of an interval for it.
    pub low: f64,
    /// The upper end. The intervals of all clusters hold together with probability 0.95 (Wilson, Bonferroni).
    pub high: f64,
}

/// How many of the new rows are as far from their clusters as some of the fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DistanceShare {
    /// This share of the fit's rows is at least as far from its clusters, had each been left out.
    pub fit: f64,
    /// The share of the new rows that is.
    pub new: f64,
}

/// Rows that are like none of the fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nowhere {
    /// How many.
    pub rows: u64,
    /// Their share.
    pub share: f64,
    /// A row is counted if no more than this share of the fit's rows is as far from its clusters.
    pub unfamiliar: f64,
}

/// What was seen of the new rows.
pub(super) struct Look {
    pub rows: u64,
    pub counts: Vec<u64>,
    pub outside: u64,
    /// Rows with p at most each of [`BEYOND`], and at most [`UNFAMILIAR`]; none of a model that has no p.
    beyond: Option<([u64; 3], u64)>,
    /// How many rows are nearer to their clusters than this many kept scores of the fit.
    places: Vec<u64>,
    /// Of each column Σ (v − m), Σ (v − m)², how many values are beyond all that the fit saw, and how many are not 0.
    sums: Vec<f64>,
    /// m of each column.
    around: Vec<f64>,
}

impl Look {
    /// Goes over the rows; a reason where they cannot be rows of this side.
    pub fn at(
        side: &Side,
        name: &'static str,
        rows: &dyn Rows,
        columns: Option<&Columns>,
    ) -> Result<Result<Self, String>, Error> {
        let d = rows.cols();
        let around: Vec<f64> = match columns {
            Some(columns) => columns.means.clone(),
            None => side.mean().iter().map(|&m| f64::from(m)).collect(),
        };
        let limits = columns.map(broken::limits);
        let mut look = Self {
            rows: rows.rows() as u64,
            counts: vec![0; side.k()],
            outside: 0,
            beyond: side.novelty.as_ref().map(|_| ([0; 3], 0)),
            places: vec![0; side.novelty.as_ref().map_or(0, |n| n.scores.len() + 1)],
            sums: Vec::new(),
            around,
        };
        let mut sums = BlockSums::new(rows.rows(), 4 * d);
        let mut wrong = None;
        scan_until(rows, &mut |first, part| {
            if let Some((row, column)) = part.first_non_finite() {
                wrong = Some(Err(Error::NotFinite { side: name, row: first + row, column }));
                return ControlFlow::Break(());
            }
            if let Err(problem) = range::check_most(range::largest(part)) {
                wrong = Some(Ok(format!("{name} {problem}")));
                return ControlFlow::Break(());
            }
            let scaled = side.scaler.apply(part);
            let labels = side.clustering.assign(scaled.view());
            for &label in &labels {
                match look.counts.get_mut(label as usize) {
                    Some(count) if label != NOISE => *count += 1,
                    _ => look.outside += 1,
                }
            }
            if let (Some(novelty), Some((beyond, nowhere))) = (&side.novelty, &mut look.beyond) {
                for score in novelty.scores_of(&side.clustering, scaled.view(), &labels) {
                    let p = novelty.p_of_score(score);
                    for (count, share) in beyond.iter_mut().zip(BEYOND) {
                        *count += u64::from(p <= share);
                    }
                    *nowhere += u64::from(p <= UNFAMILIAR);
                    look.places[novelty.scores.partition_point(|s| *s > score)] += 1;
                }
            }
            sums.add(first, part.rows(), |range, sums| {
                for i in range {
                    for (j, (&v, m)) in part.row(i).iter().zip(&look.around).enumerate() {
                        let away = f64::from(v) - m;
                        sums[j] += away;
                        sums[d + j] += away * away;
                        if limits.as_ref().is_some_and(|limits| away.abs() > limits[j]) {
                            sums[2 * d + j] += 1.0;
                        }
                        if side.offset.raise(j, v) != 0.0 {
                            sums[3 * d + j] += 1.0;
                        }
                    }
                }
            });
            ControlFlow::Continue(())
        })?;
        match wrong {
            Some(Err(error)) => Err(error),
            Some(Ok(reason)) => Ok(Err(reason)),
            None => Ok(Ok(Self { sums: sums.total(), ..look })),
        }
    }

    /// How many values of a column are beyond all that the fit saw, and how many are not 0.
    pub fn out_of_range(&self, column: usize) -> (u64, u64) {
        let count = |sum: usize| self.sums[sum * self.around.len() + column] as u64;
        (count(2), count(3))
    }

    /// Every cluster with its share.
    pub fn clusters(&self, side: &Side, old: Option<&Reference>) -> Vec<ClusterShare> {
        let k = side.k();
        let fit: Vec<u64> = match old {
            Some(old) => {
                let mut counts = vec![0u64; k];
                let inside = old.labels.iter().filter(|l| **l != NOISE);
                inside.for_each(|&l| counts[l as usize] += 1);
                counts
            }
            None => side.sizes().iter().map(|&n| u64::from(n)).collect(),
        };
        let total = match old {
            Some(old) => old.labels.len() as u64,
            None => side.total() as u64,
        };
        let z = simultaneous(k);
        let of = |(cluster, (&rows, fit)): (u32, (&u64, u64))| {
            let (low, high) = wilson(rows, self.rows, z);
            let fit = fit as f64 / total.max(1) as f64;
            let share = rows as f64 / self.rows as f64;
            ClusterShare { cluster, fit, rows, share, low, high }
        };
        (0..).zip(self.counts.iter().zip(fit)).map(of).collect()
    }

    /// p of the distances beside those of the fit, each row left out, where its rows are not there any more: the test of
    /// Kolmogorov and Smirnov by its limit, at the scores that the model has kept.
    pub fn test_distances(&self, novelty: &Novelty) -> f64 {
        let (n, m) = (novelty.rows as f64, self.rows as f64);
        let (mut reached, mut most) = (0u64, 0.0f64);
        for (count, &rank) in self.places.iter().zip(&novelty.ranks) {
            reached += count; // new rows at least as far as this score
            most = most.max((reached as f64 / m - rank as f64 / n).abs());
        }
        let root = (n * m / (n + m)).sqrt();
        kolmogorov((root + 0.12 + 0.11 / root) * most)
    }

    /// How far the rows are from their clusters.
    pub fn distances(&self) -> Vec<DistanceShare> {
        let Some((beyond, _)) = self.beyond else { return Vec::new() };
        let of =
            |(fit, count): (f64, u64)| DistanceShare { fit, new: count as f64 / self.rows as f64 };
        BEYOND.into_iter().zip(beyond).map(of).collect()
    }

    /// Rows that are like none of the fit.
    pub fn nowhere(&self) -> Option<Nowhere> {
        let (_, rows) = self.beyond?;
        Some(Nowhere { rows, share: rows as f64 / self.rows as f64, unfamiliar: UNFAMILIAR })
    }

    /// Every column beside the fit.
    pub fn columns(&self, side: &Side, columns: Option<&Columns>) -> Vec<ColumnDrift> {
        let (d, n) = (self.around.len(), self.rows as f64);
        let raise = |j: usize| side.offset().get().get(j).copied().unwrap_or(0.0);
        let of = |j: usize| {
            let mean = self.sums[j] / n;
            ColumnDrift {
                column: j,
                name: column_name(side, j),
                fit_mean: self.around[j] + raise(j),
                new_mean: self.around[j] + mean + raise(j),
                fit_deviation: columns.map(|c| c.deviations[j]),
                new_deviation: (self.sums[d + j] / n - mean * mean).max(0.0).sqrt(),
                p: None,
            }
        };
        (0..d).map(of).collect()
    }
}

/// P(K > λ) of Kolmogorov's distribution.
fn kolmogorov(lambda: f64) -> f64 {
    if lambda < 0.2 {
        return 1.0; // the series does not converge; the true value is above 1 − 10⁻¹²
    }
    let term = |k: i32| (-2.0 * (f64::from(k) * lambda).powi(2)).exp();
    let sum: f64 = (1..=100).map(|k| if k % 2 == 1 { term(k) } else { -term(k) }).sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

/// What a column is called: one of several by its name, one of a list by its place.
pub(super) fn column_name(side: &Side, column: usize) -> String {
    let names = &side.names().vector;
    match (names.len(), names.get(column), names.first()) {
        (n, Some(name), _) if n == side.cols() => name.clone(),
        (1, _, Some(list)) => format!("{list}[{column}]"),
        _ => format!("column {column}"),
    }
}

#[cfg(test)]
mod tests {
    use super::kolmogorov;

    #[test]
    fn the_limit_is_that_of_the_tables() {
        for (lambda, p) in [(0.1, 1.0), (0.8276, 0.5), (1.3581, 0.05), (1.6276, 0.01)] {
            assert!((kolmogorov(lambda) - p).abs() < 1e-4, "{lambda}: {}", kolmogorov(lambda));
        }
    }
}
