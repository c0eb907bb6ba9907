//! Rows that stand for a pool where rows are matched with rows: those of the pairs, and others evenly spaced.
//!
//! What matching costs then does not grow with the pool. Rows are seen in at most 128 coordinates, the
//! principal components of the scaled rows around the mean of the pool.

use super::learn::Input;
use super::walk::{self, WALKS};
use bridged_math::linalg::{Accum, View, pca, product};
use bridged_math::neighbors::{Neighbors, Own};
use bridged_math::{Matrix, MatrixRef, RowsError};
use std::collections::BTreeSet;

/// The most rows that stand for a pool.
const MOST_NODES: usize = 1_000;
/// The most pairs whose rows are landmarks: places that walks are asked whether they end at.
const MOST_LANDMARKS: usize = 300;
/// The most coordinates of a row.
const MOST_AXES: usize = 128;
/// More rows than this do not find better axes.
const ROWS_FOR_AXES: usize = 512;

/// The rows that stand for one pool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Nodes {
    /// The principal components, (r, d); `None` where the columns themselves are few enough.
    pub axes: Option<Matrix>,
    /// The coordinates of the nodes, (nodes, r), the landmarks first.
    pub rows: Matrix,
    /// The same rows in the units of the data.
    pub values: Matrix,
    /// How likely a walk from each node ends at each landmark, (nodes, landmarks), for each of [`WALKS`].
    pub ends: Vec<Matrix>,
}

/// The pairs whose rows are landmarks, evenly spaced among this many.
pub(super) fn landmarks(pairs: usize) -> Vec<usize> {
    let count = pairs.min(MOST_LANDMARKS);
    (0..count).map(|l| l * pairs / count).collect()
}

/// The landmark that each of this many pairs is, if any.
pub(super) fn landmark_of(pairs: usize) -> Vec<Option<usize>> {
    let mut of = vec![None; pairs];
    for (l, s) in landmarks(pairs).into_iter().enumerate() {
        of[s] = Some(l);
    }
    of
}

impl Nodes {
    /// How many landmarks this many pairs give.
    pub fn landmarks(pairs: usize) -> usize {
        landmarks(pairs).len()
    }

    /// Whether rows of this many columns are seen along axes.
    pub fn has_axes(cols: usize) -> bool {
        cols > MOST_AXES
    }

    /// Of a side, with the pairs in this order; `rows` are the rows of the pool that the pairs have.
    pub fn new(
        input: Input<'_>,
        order: &[usize],
        rows: &BTreeSet<usize>,
    ) -> Result<Self, RowsError> {
        let (side, pool) = (input.side, input.pool);
        let chosen = landmarks(order.len());
        let others: Vec<usize> =
            (0..pool.rows()).filter(|i| !(input.pooled && rows.contains(i))).collect();
        let count = others.len().min(MOST_NODES - chosen.len());
        let others: Vec<usize> = (0..count).map(|at| others[at * others.len() / count]).collect();
        let marks = input.paired.select(chosen.iter().map(|&l| order[l]));
        let mut values = marks.into_data();
        values.extend_from_slice(pool.select(&others)?.data());
        let nodes = chosen.len() + count;
        let values = Matrix::new(nodes, pool.cols(), values).expect("whole rows");
        let scaled = side.scaler.apply(values.view());
        let scaled = scaled.view();
        let axes = Self::has_axes(scaled.cols()).then(|| {
            let count = nodes.min(ROWS_FOR_AXES);
            let sample = scaled.select((0..count).map(|at| at * nodes / count));
            pca(sample.view(), MOST_AXES).components
        });
        let rows = coordinates(axes.as_ref(), &side.origin(), scaled);
        let most = WALKS.iter().map(|walk| walk.neighbours).max().unwrap_or(0);
        let nearest = Neighbors::new(rows.view()).nearest_of_own(most, Own::Excluded);
        let ends = WALKS.iter().map(|walk| walk.ends(&nearest, nodes, chosen.len())).collect();
        Ok(Self { axes, rows, values, ends })
    }

    /// Scaled rows in the coordinates of the nodes.
    pub fn coordinates(&self, origin: &[f32], scaled: MatrixRef<'_>) -> Matrix {
        coordinates(self.axes.as_ref(), origin, scaled)
    }

    /// How likely walks from new rows, given in coordinates, end at each landmark, (rows, landmarks): they take
    /// their first step to the nodes nearest to them.
    pub fn ends_of(
        &self,
        neighbours: &Neighbors<'_>,
        walk: usize,
        rows: MatrixRef<'_>,
    ) -> Vec<f64> {
        let nearest = neighbours.nearest(rows, WALKS[walk].neighbours);
        let ends = &self.ends[walk];
        let mut out = vec![0.0; rows.rows() * ends.cols()];
        for (i, out) in out.chunks_exact_mut(ends.cols().max(1)).enumerate() {
            let squared = nearest.squared_of(i);
            let weights: Vec<f64> = squared.iter().map(|&s| walk::weight(s, squared)).collect();
            let total: f64 = weights.iter().sum();
            for (&j, weight) in nearest.rows_of(i).iter().zip(weights) {
                let end = ends.row(j as usize).iter();
                out.iter_mut().zip(end).for_each(|(o, &e)| *o += weight / total * f64::from(e));
            }
        }
        out
    }
}

fn coordinates(axes: Option<&Matrix>, origin: &[f32], scaled: MatrixRef<'_>) -> Matrix {
    let (n, d) = (scaled.rows(), scaled.cols());
    let around = Matrix::from_fn(n, d, |i, c| scaled.row(i)[c] - origin[c]);
    let Some(axes) = axes else { return around };
    let mut out = vec![0.0; n * axes.rows()];
    product(around.view().into(), View::from(axes.view()).t(), Accum::Replace, &mut out);
    Matrix::new(n, axes.rows(), out).expect("a coordinate for each axis")
}

/// Rows of length 1 in f64; a row of zeros stays one.
pub(super) fn unit(rows: MatrixRef<'_>) -> Vec<f64> {
    let mut out: Vec<f64> = rows.data().iter().map(|&v| f64::from(v)).collect();
    for row in out.chunks_exact_mut(rows.cols().max(1)) {
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|v| *v /= length);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landmarks_are_all_pairs_or_evenly_spaced_ones() {
        assert_eq!(landmarks(3), [0, 1, 2]);
        let many = landmarks(1000);
        assert_eq!((many.len(), many[0], many[299]), (300, 0, 996));
        assert_eq!(landmark_of(1000).iter().flatten().count(), 300);
        assert_eq!(landmark_of(1000)[many[7]], Some(7));
        assert!(landmarks(0).is_empty());
    }

    #[test]
    fn directions_have_length_one_or_zero() {
        let rows = Matrix::from_rows(&[[3.0, 4.0], [0.0, 0.0]]);
        assert_eq!(unit(rows.view()), [0.6, 0.8, 0.0, 0.0]);
    }
}
