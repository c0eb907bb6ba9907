//! Means, sums of squares and inertia of rows that come in parts.

use crate::cluster::clustering::{Clustering, check_finite};
use crate::cluster::{AssignRule, ClusterError};
use bridged_math::cancel::carry;
use bridged_math::distance::squared_distance;
use bridged_math::rows::{BlockSums, Rows, RowsError};
use bridged_math::transport::Choice;
use bridged_math::{Matrix, MatrixRef, chunks, simd};
use rayon::prelude::*;

/// Columns in a block: two cache lines of `f32`.
const BLOCK: usize = 32;

/// Σ x over the rows of each cluster, and their number. Blocks of columns run in parallel, each in row
/// order, so that the sums depend neither on parts nor on threads.
pub(super) struct Running {
    blocks: Vec<Vec<[f64; BLOCK]>>, // (columns / BLOCK, k)
    sizes: Vec<u32>,
    cols: usize,
}

impl Running {
    pub fn new(k: usize, cols: usize) -> Self {
        let blocks = vec![vec![[0.0; BLOCK]; k]; cols.div_ceil(BLOCK)];
        Self { blocks, sizes: vec![0; k], cols }
    }

    /// Adds the rows of a part to the clusters that they chose.
    pub fn add(&mut self, part: MatrixRef<'_>, chosen: &[Choice]) {
        chosen.iter().for_each(|c| self.sizes[c.label as usize] += 1);
        let cols = self.cols;
        let add = |(b, block): (usize, &mut Vec<[f64; BLOCK]>)| {
            let columns = b * BLOCK..((b + 1) * BLOCK).min(cols);
            simd::vectorize(
                #[inline(always)]
                || {
                    for (i, choice) in chosen.iter().enumerate() {
                        let row = &part.row(i)[columns.clone()];
                        let sums = &mut block[choice.label as usize];
                        match <&[f32; BLOCK]>::try_from(row) {
                            Ok(row) => (0..BLOCK).for_each(|c| sums[c] += f64::from(row[c])),
                            Err(_) => {
                                sums.iter_mut().zip(row).for_each(|(s, &v)| *s += f64::from(v));
                            }
                        }
                    }
                },
            );
        };
        self.blocks.par_iter_mut().enumerate().for_each(carry(add));
    }

    /// How many rows each cluster has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The mean of each cluster; one without rows stays where it is.
    pub fn means(&self, before: &Matrix) -> Matrix {
        let mut means = before.clone();
        for (j, &size) in self.sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
            let size = f64::from(size);
            for (means, block) in means.row_mut(j).chunks_mut(BLOCK).zip(&self.blocks) {
                means.iter_mut().zip(&block[j]).for_each(|(m, s)| *m = (s / size) as f32);
            }
        }
        means
    }

    /// Σ_j n_j ‖mean_j − m‖²: what the clusters explain of the scatter around m.
    pub fn spread(&self, m: &[f32]) -> f64 {
        let of = |(j, &size): (usize, &u32)| {
            let size = f64::from(size.max(1));
            let columns = m.chunks(BLOCK).zip(&self.blocks).flat_map(|(m, b)| m.iter().zip(&b[j]));
            size * columns.map(|(&m, sum)| (sum / size - f64::from(m)).powi(2)).sum::<f64>()
        };
        self.sizes.iter().enumerate().filter(|(_, size)| **size > 0).map(of).sum()
    }
}

/// Σ ‖row − m‖² over all rows, and around their own mean; rows that are not finite are refused.
pub(super) struct Scatter {
    pub around: f64,
    pub own: f64,
}

impl Scatter {
    pub fn of(rows: &dyn Rows, m: &[f32]) -> Result<Self, ClusterError> {
        let (n, d) = (rows.rows(), rows.cols());
        let mut sums = BlockSums::new(n, d + 1);
        let mut refused = None;
        let scanned = rows.scan(&mut |first, part| {
            if let Err(error) = check_finite(&part) {
                refused = Some(match error {
                    ClusterError::NotFinite { row, column } => {
                        ClusterError::NotFinite { row: first + row, column }
                    }
                    other => other,
                });
                return Err(RowsError(String::new()));
            }
            sums.add(first, part.rows(), |range, sums| {
                let (sums, square) = sums.split_at_mut(d);
                for i in range {
                    for ((s, &v), &m) in sums.iter_mut().zip(part.row(i)).zip(m) {
                        *s += f64::from(v) - f64::from(m);
                    }
                    square[0] += squared_distance(part.row(i), m);
                }
            });
            Ok(())
        });
        if let Some(error) = refused {
            return Err(error);
        }
        scanned?;
        let sums = sums.total();
        let off: f64 = sums[..d].iter().map(|s| (s / n as f64).powi(2)).sum();
        Ok(Self { around: sums[d], own: (sums[d] - n as f64 * off).max(0.0) })
    }
}

/// Completes a labelling by two scans, with the bytes of [`Clustering::from_labels`].
pub(super) fn complete(
    rows: &dyn Rows,
    labels: Vec<u32>,
    k: usize,
    rule: AssignRule,
) -> Result<Clustering, ClusterError> {
    let (n, d) = (rows.rows(), rows.cols());
    let mut sums = BlockSums::new(n, k * d);
    let mut sizes = vec![0u32; k];
    labels.iter().for_each(|&l| sizes[l as usize] += 1);
    rows.scan(&mut |first, part| {
        sums.add(first, part.rows(), |range, sums| {
            for i in range {
                let j = labels[first + i] as usize;
                let sums = &mut sums[j * d..(j + 1) * d];
                sums.iter_mut().zip(part.row(i)).for_each(|(s, &v)| *s += f64::from(v));
            }
        });
        Ok(())
    })?;
    let sums = sums.total();
    let centroids =
        Matrix::from_fn(k, d, |j, c| (sums[j * d + c] / f64::from(sizes[j].max(1))) as f32);
    let mut inertia = BlockSums::new(n, 1);
    rows.scan(&mut |first, part| {
        let distances = chunks::map_blocks(part.rows(), |range| {
            let of =
                |i: usize| squared_distance(part.row(i), centroids.row(labels[first + i] as usize));
            range.map(of).collect::<Vec<f64>>()
        })
        .concat();
        inertia.add(first, part.rows(), |range, sum| {
            range.for_each(|i| sum[0] += distances[i]);
        });
        Ok(())
    })?;
    let inertia = inertia.total()[0];
    Ok(Clustering { labels, centroids, sizes, inertia, iterations: 0, converged: true, rule })
}
