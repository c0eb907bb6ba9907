//! What a clustering returns, and how it assigns rows that it has not seen.

use super::assign::AssignRule;
use crate::cluster::ClusterError;
use bridged_math::distance::squared_distance;
use bridged_math::rows::{BlockSums, scan_until};
use bridged_math::{Matrix, MatrixRef, Rows, RowsError, chunks};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// The label of a row that belongs to no cluster (DBSCAN only).
pub const NOISE: u32 = u32::MAX;

/// How far apart two rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// ‖a − b‖.
    #[default]
    Euclidean,
    /// The angle alone: rows are brought to length 1 first (spherical k-means). A zero row stays
    /// zero.
    Cosine,
}

impl Metric {
    /// The rows as the metric sees them: unit length under `Cosine`, otherwise as they are.
    pub fn view<'a>(self, x: MatrixRef<'a>) -> std::borrow::Cow<'a, [f32]> {
        match self {
            Metric::Euclidean => std::borrow::Cow::Borrowed(x.data()),
            Metric::Cosine => std::borrow::Cow::Owned(unit_rows(x).into_data()),
        }
    }
}

/// A copy of `x` whose rows have length 1; zero rows stay zero.
pub(crate) fn unit_rows(x: MatrixRef<'_>) -> Matrix {
    let mut unit = x.to_matrix();
    if x.cols() > 0 {
        chunks::map_blocks_mut(unit.data_mut(), x.cols(), |_, part| {
            part.chunks_exact_mut(x.cols()).for_each(normalise);
        });
    }
    unit
}

fn normalise(row: &mut [f32]) {
    let norm = bridged_math::distance::squared_norm(row).sqrt();
    if norm > 0.0 {
        row.iter_mut().for_each(|v| *v = (f64::from(*v) / norm) as f32);
    }
}

/// A finished clustering of n rows into k clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    /// The cluster of each row, `0..k`, or [`NOISE`].
    pub labels: Vec<u32>,
    /// The mean of the rows of each cluster, (k, d).
    pub centroids: Matrix,
    /// How many rows each cluster has; noise is in none.
    pub sizes: Vec<u32>,
    /// Σ ‖row − centroid of its cluster‖² over all rows that are not noise.
    pub inertia: f64,
    /// Iterations of the run that was kept.
    pub iterations: u32,
    /// Whether that run came to rest before it ran out of iterations.
    pub converged: bool,
    /// How rows outside the training data are assigned.
    pub rule: AssignRule,
}

impl Clustering {
    /// Completes a labelling: centroids are the means of the labelled rows, in `f64` sums.
    ///
    /// # Panics
    /// If a label is neither below `k` nor [`NOISE`], or a cluster is empty: an algorithm repairs
    /// those before it gets here.
    pub fn from_labels(x: MatrixRef<'_>, labels: Vec<u32>, k: usize, rule: AssignRule) -> Self {
        Self::from_labels_of(&x, labels, k, rule).expect("rows in memory can be read")
    }

    /// The same for rows that need not be in memory.
    pub(crate) fn from_labels_of(
        rows: &dyn Rows,
        labels: Vec<u32>,
        k: usize,
        rule: AssignRule,
    ) -> Result<Self, RowsError> {
        let (centroids, sizes) = means_of_rows(rows, &labels, k)?;
        assert!(sizes.iter().all(|&s| s > 0), "every cluster has a row");
        let inertia = inertia_of(rows, &labels, &centroids)?;
        Ok(Self { labels, centroids, sizes, inertia, iterations: 0, converged: true, rule })
    }

    /// The number of clusters.
    pub fn k(&self) -> usize {
        self.centroids.rows()
    }

    /// The cluster of each row of `x`, which may be new: see [`AssignRule`].
    pub fn assign(&self, x: MatrixRef<'_>) -> Vec<u32> {
        self.rule.assign(x)
    }
}

/// What every algorithm needs of the shape of its rows: some rows, some columns, 1 ≤ k ≤ rows.
pub(crate) fn check_shape(x: &dyn Rows, k: usize) -> Result<(), ClusterError> {
    if x.rows() == 0 {
        return Err(ClusterError::NoRows);
    }
    if x.cols() == 0 {
        return Err(ClusterError::NoColumns);
    }
    if k == 0 || k > x.rows() {
        return Err(ClusterError::BadK { k, rows: x.rows() });
    }
    Ok(())
}

/// What every algorithm needs of the numbers: none is NaN or infinite.
pub(crate) fn check_finite(rows: &dyn Rows) -> Result<(), ClusterError> {
    largest_of_finite(rows).map(|_| ())
}

/// Rows that are finite and whose distances fit 32-bit floats.
pub(crate) fn check_rows(rows: &dyn Rows) -> Result<(), ClusterError> {
    Ok(crate::range::check_largest(largest_of_finite(rows)?)?)
}

/// The largest magnitude of rows that are finite.
pub(crate) fn largest_of_finite(rows: &dyn Rows) -> Result<f64, ClusterError> {
    let (mut largest, mut wrong) = (0.0, None);
    scan_until(rows, &mut |first, part| {
        if let Some((row, column)) = part.first_non_finite() {
            wrong = Some((first + row, column));
            return ControlFlow::Break(());
        }
        largest = f64::max(largest, crate::range::largest(part));
        ControlFlow::Continue(())
    })?;
    match wrong {
        Some((row, column)) => Err(ClusterError::NotFinite { row, column }),
        None => Ok(largest),
    }
}

/// The mean and the number of the rows of each label, the same on any thread count.
pub(crate) fn means_of(x: MatrixRef<'_>, labels: &[u32], k: usize) -> (Matrix, Vec<u32>) {
    let d = x.cols();
    let partials = chunks::map_blocks(x.rows(), |range| {
        let mut sums = vec![0.0f64; k * d];
        let mut sizes = vec![0u32; k];
        for i in range {
            if labels[i] == NOISE {
                continue;
            }
            let j = labels[i] as usize;
            sizes[j] += 1;
            for (s, &v) in sums[j * d..(j + 1) * d].iter_mut().zip(x.row(i)) {
                *s += f64::from(v);
            }
        }
        (sums, sizes)
    });
    let (mut sums, mut sizes) = (vec![0.0f64; k * d], vec![0u32; k]);
    for (partial_sums, partial_sizes) in partials {
        sums.iter_mut().zip(partial_sums).for_each(|(s, p)| *s += p);
        sizes.iter_mut().zip(partial_sizes).for_each(|(s, p)| *s += p);
    }
    let means = Matrix::from_fn(k, d, |j, c| (sums[j * d + c] / f64::from(sizes[j].max(1))) as f32);
    (means, sizes)
}

/// The same for rows that need not be in memory, with the same bytes.
pub(crate) fn means_of_rows(
    rows: &dyn Rows,
    labels: &[u32],
    k: usize,
) -> Result<(Matrix, Vec<u32>), RowsError> {
    if let Some(x) = rows.in_memory() {
        return Ok(means_of(x, labels, k));
    }
    let d = rows.cols();
    let mut sums = BlockSums::new(rows.rows(), k * d);
    rows.scan(&mut |first, part| {
        sums.add(first, part.rows(), |range, sums| {
            for i in range.filter(|i| labels[first + i] != NOISE) {
                let j = labels[first + i] as usize;
                let sum = sums[j * d..(j + 1) * d].iter_mut();
                sum.zip(part.row(i)).for_each(|(s, &v)| *s += f64::from(v));
            }
        });
        Ok(())
    })?;
    let mut sizes = vec![0u32; k];
    labels.iter().filter(|l| **l != NOISE).for_each(|&l| sizes[l as usize] += 1);
    let sums = sums.total();
    let means = Matrix::from_fn(k, d, |j, c| (sums[j * d + c] / f64::from(sizes[j].max(1))) as f32);
    Ok((means, sizes))
}

/// Σ ‖row − centroid of its label‖² over labelled rows.
pub(crate) fn inertia_of(
    rows: &dyn Rows,
    labels: &[u32],
    centroids: &Matrix,
) -> Result<f64, RowsError> {
    let own = |i: usize| (labels[i] != NOISE).then(|| centroids.row(labels[i] as usize));
    if let Some(x) = rows.in_memory() {
        let blocks = chunks::map_blocks(x.rows(), |range| {
            range.filter_map(|i| Some(squared_distance(x.row(i), own(i)?))).sum::<f64>()
        });
        return Ok(blocks.into_iter().sum());
    }
    let mut sum = BlockSums::new(rows.rows(), 1);
    for_each_distance(rows, own, |first, squared| {
        sum.add(first, squared.len(), |range, sum| {
            squared[range].iter().for_each(|s| sum[0] += s);
        });
    })?;
    Ok(sum.total()[0])
}

/// Calls `each` with the number of the first row of a part, and ‖row − `to(row)`‖² of its rows; 0 where there is
/// nothing to measure to.
pub(super) fn for_each_distance<'a>(
    rows: &dyn Rows,
    to: impl Fn(usize) -> Option<&'a [f32]> + Sync,
    mut each: impl FnMut(usize, &[f64]),
) -> Result<(), RowsError> {
    let mut squared = Vec::new();
    rows.scan(&mut |first, part| {
        squared.resize(part.rows(), 0.0);
        chunks::map_blocks_mut(&mut squared, 1, |range, out| {
            for (out, i) in out.iter_mut().zip(range) {
                *out = to(first + i).map_or(0.0, |to| squared_distance(part.row(i), to));
            }
        });
        each(first, &squared);
        Ok(())
    })
}

/// Numbers the clusters in the order in which the rows first meet them, so that equal partitions
/// have equal labels; noise stays noise. Returns the old label of each new one; clusters without
/// rows come last.
pub(crate) fn relabel_by_first_appearance(labels: &mut [u32], k: usize) -> Vec<usize> {
    let mut new = vec![NOISE; k];
    let mut old = Vec::with_capacity(k);
    for label in labels.iter_mut().filter(|l| **l != NOISE) {
        let at = *label as usize;
        if new[at] == NOISE {
            new[at] = old.len() as u32;
            old.push(at);
        }
        *label = new[at];
    }
    old.extend((0..k).filter(|&j| new[j] == NOISE));
    old
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_numbered_as_the_rows_meet_them() {
        let mut labels = [3, NOISE, 3, 0, 2, 0];
        assert_eq!(relabel_by_first_appearance(&mut labels, 5), [3, 0, 2, 1, 4]);
        assert_eq!(labels, [0, NOISE, 0, 1, 2, 1]);
    }
}
