//! Which cluster of one model is which of another: by rows that both know, else by their centroids.
//!
//! ```text
//! max Σ n_{a π(a)}       n_ab: common rows that one model puts into a and the other into b
//! min Σ ‖μ_a − μ_π(a)‖²  where there are no common rows
//! ```
//!
//! over one-to-one matchings π (the Hungarian method). Common rows are those that were given; else rows with the same id
//! that both hold; of pools without ids, rows with the same numbers.

use crate::Error;
use crate::cluster::NOISE;
use crate::model::{BridgedModel, Direction};
use crate::side::Side;
use bridged_math::assignment::{Goal, assign};
use bridged_math::{Matrix, MatrixRef};
use serde::Serialize;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// By what clusters are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchedBy {
    /// The rows that were given.
    Rows,
    /// The ids of rows that both models hold.
    Ids,
    /// The numbers of rows that both models hold, of pools without ids.
    Content,
    /// Their centroids: no row is known to both.
    Centroids,
}

/// The clusters of one side of two models.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideDiff {
    /// `x` or `y`.
    pub side: &'static str,
    /// The rows of both pools.
    pub rows: [usize; 2],
    /// By what the clusters are matched.
    pub matched_by: MatchedBy,
    /// Rows that both models know, or that were given.
    pub common: usize,
    /// Those of them that lie in clusters that are matched with each other.
    pub agree: usize,
    /// All clusters: matched ones, then those of this model alone, then those of the other alone.
    pub clusters: Vec<ClusterMatch>,
}

/// A cluster of this model and the one of the other that it is matched with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterMatch {
    /// Of this model; `None` of a cluster that only the other has.
    pub this: Option<u32>,
    /// Of the other model.
    pub other: Option<u32>,
    /// Their rows in the fits; 0 of none.
    pub rows: [usize; 2],
    /// Common rows in both.
    pub common: usize,
    /// How far their centroids are from each other.
    pub moved: Option<f64>,
}

impl SideDiff {
    /// The cluster of the other model that is matched with one of this.
    pub(super) fn to_other(&self, cluster: u32) -> Option<u32> {
        self.clusters.iter().find(|m| m.this == Some(cluster)).and_then(|m| m.other)
    }
}

/// Matches the clusters of the side that a direction starts from, and says what to know about it.
pub(super) fn diff(
    a: &BridgedModel,
    b: &BridgedModel,
    direction: Direction,
    given: Option<MatrixRef<'_>>,
) -> Result<(SideDiff, Option<String>), Error> {
    let name = direction.input();
    let (this, other) = (a.from(direction), b.from(direction));
    let (matched_by, labels) = match given {
        Some(rows) => {
            check(name, this, rows)?;
            let moved = as_seen_by(this, other, rows);
            (
                MatchedBy::Rows,
                this.assign(rows).into_iter().zip(other.assign(moved.view())).collect(),
            )
        }
        None => common_labels(this, other)?,
    };
    let (ka, kb) = (this.k(), other.k());
    let mut counts = vec![0usize; ka * kb];
    for &(a, b) in labels.iter().filter(|(a, b)| *a != NOISE && *b != NOISE) {
        counts[a as usize * kb + b as usize] += 1;
    }
    let away = |i: usize, j: usize| -> f64 {
        let (a, b) = (this.values.row(i), other.values.row(j));
        let numbers = a.iter().zip(b).enumerate();
        numbers
            .map(|(c, (&a, &b))| (this.offset.raise(c, a) - other.offset.raise(c, b)).powi(2))
            .sum()
    };
    let by_rows = counts.iter().any(|&n| n > 0);
    let matching = match by_rows {
        true => {
            let counts: Vec<f64> = counts.iter().map(|&n| n as f64).collect();
            assign(&counts, ka, kb, Goal::Maximise)
        }
        false => {
            let costs: Vec<f64> = (0..ka * kb).map(|at| away(at / kb, at % kb)).collect();
            assign(&costs, ka, kb, Goal::Minimise)
        }
    };
    let mut clusters = Vec::with_capacity(ka.max(kb));
    let rows = |side: &Side, j: usize| side.sizes()[j] as usize;
    let found = |i: usize| matching.row_to_col[i].filter(|&j| !by_rows || counts[i * kb + j] > 0);
    for i in 0..ka {
        if let Some(j) = found(i) {
            clusters.push(ClusterMatch {
                this: Some(i as u32),
                other: Some(j as u32),
                rows: [rows(this, i), rows(other, j)],
                common: counts[i * kb + j],
                moved: Some(away(i, j).sqrt()),
            });
        }
    }
    let agree = clusters.iter().map(|c| c.common).sum();
    let taken: Vec<Option<u32>> = clusters.iter().map(|c| c.other).collect();
    let alone = |this, other, rows| ClusterMatch { this, other, rows, common: 0, moved: None };
    let of_this = (0..ka).filter(|&i| found(i).is_none());
    clusters.extend(of_this.map(|i| alone(Some(i as u32), None, [rows(this, i), 0])));
    let of_other = (0..kb).filter(|&j| !taken.contains(&Some(j as u32)));
    clusters.extend(of_other.map(|j| alone(None, Some(j as u32), [0, rows(other, j)])));
    let note = (!by_rows).then(|| {
        format!(
            "the models share no rows of {name}, so its clusters are matched by their centroids; rows that both are shown \
             tell more"
        )
    });
    let side = SideDiff {
        side: name,
        rows: [this.total(), other.total()],
        matched_by: if by_rows { matched_by } else { MatchedBy::Centroids },
        common: labels.len(),
        agree,
        clusters,
    };
    Ok((side, note))
}

/// Whether rows can be rows of a side.
pub(super) fn check(name: &'static str, side: &Side, rows: MatrixRef<'_>) -> Result<(), Error> {
    if rows.cols() != side.cols() {
        return Err(Error::Dimension { side: name, got: rows.cols(), need: side.cols() });
    }
    match rows.first_non_finite() {
        Some((row, column)) => Err(Error::NotFinite { side: name, row, column }),
        None => Ok(()),
    }
}

/// Rows of one model as another counts them.
pub(super) fn as_seen_by(this: &Side, other: &Side, rows: MatrixRef<'_>) -> Matrix {
    if this.offset == other.offset {
        return rows.to_matrix();
    }
    let at = |i: usize, j: usize| other.offset.lower(j, this.offset.raise(j, rows.row(i)[j]));
    Matrix::from_fn(rows.rows(), rows.cols(), at)
}

/// The clusters of rows that both models hold, one of each.
fn common_labels(this: &Side, other: &Side) -> Result<(MatchedBy, Vec<(u32, u32)>), Error> {
    let ids = (&this.names.ids, &other.names.ids);
    let labels = (this.labels(), other.labels());
    if !ids.0.is_empty() && !ids.1.is_empty() {
        let places: HashMap<&str, usize> =
            ids.1.iter().enumerate().map(|(row, id)| (id.as_str(), row)).collect();
        let both = ids.0.iter().enumerate();
        let both = both.filter_map(|(row, id)| Some((row, *places.get(id.as_str())?)));
        return Ok((MatchedBy::Ids, both.map(|(a, b)| (labels.0[a], labels.1[b])).collect()));
    }
    if !this.keeps_rows() || !other.keeps_rows() {
        return Ok((MatchedBy::Centroids, Vec::new()));
    }
    // Rows without names are the same if their numbers are; of equal ones, the first of each.
    let (rows, of_other) = (this.rows()?, other.rows()?);
    let raised = |side: &Side, row: &[f32]| -> Vec<u64> {
        let numbers = row.iter().enumerate();
        numbers.map(|(c, &v)| (side.offset.raise(c, v) + 0.0).to_bits()).collect() // −0 is 0
    };
    let hash = |numbers: &[u64]| {
        let mut hasher = DefaultHasher::new();
        numbers.hash(&mut hasher);
        hasher.finish()
    };
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for place in (0..of_other.rows()).rev() {
        places.entry(hash(&raised(other, of_other.row(place)))).or_default().push(place);
    }
    let both = rows.view().iter_rows().enumerate().filter_map(|(place, row)| {
        let numbers = raised(this, row);
        let found = places.get_mut(&hash(&numbers))?;
        found.last().filter(|&&at| raised(other, of_other.row(at)) == numbers)?;
        Some((labels.0[place], labels.1[found.pop()?]))
    });
    Ok((MatchedBy::Content, both.collect()))
}
