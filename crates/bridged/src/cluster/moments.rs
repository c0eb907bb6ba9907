//! One pass of expectation–maximisation over the rows: responsibilities from the densities, and at
//! once the sums that the new parameters need.
//!
//! ```text
//! r_ij = exp(log_joint_ij − log Σ_l exp log_joint_il)
//! counts_j = Σ_i r_ij,   first_j = Σ_i r_ij x̃_i,   second_j = Σ_i r_ij x̃_i²
//! ```
//!
//! Responsibilities live for one tile only, unless the caller wants them; the sums are one product
//! Rᵀ·[x̃, x̃²] per tile, folded over blocks in order. O(n k d) beside the densities.

use super::gaussian::Densities;
use bridged_math::MatrixRef;
use bridged_math::chunks::{map_blocks, map_blocks_mut, par_map};
use bridged_math::linalg::{Accum, View, product};
use bridged_math::rows::{BlockSums, Rows, RowsError, scan_tiles};
use bridged_math::simd;
use std::ops::Range;

/// Sums over all rows, weighted by responsibilities.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moments {
    /// Σ r, (k).
    pub counts: Vec<f64>,
    /// Σ r [x̃, x̃²], (k, width); the squares only where a width of 2 d was asked for.
    pub sums: Vec<f64>,
    /// Σ log p(x); zero for labels.
    pub log_likelihood: f64,
}

impl Moments {
    pub fn zeros(k: usize, width: usize) -> Self {
        Self { counts: vec![0.0; k], sums: vec![0.0; k * width], log_likelihood: 0.0 }
    }

    /// From labels: responsibilities of 0 and 1.
    pub fn of_labels(
        x: MatrixRef<'_>,
        labels: &[u32],
        k: usize,
        shift: &[f64],
        width: usize,
    ) -> Self {
        let parts = map_blocks(x.rows(), |rows| {
            let mut part = Self::zeros(k, width);
            for i in rows {
                let j = labels[i] as usize;
                part.counts[j] += 1.0;
                add_row(x.row(i), shift, &mut part.sums[j * width..(j + 1) * width]);
            }
            part
        });
        Self::total(parts, k, width)
    }

    /// From densities; `keep`, if given, receives the responsibilities, (n, k).
    pub fn of_densities(
        x: MatrixRef<'_>,
        densities: &Densities,
        k: usize,
        width: usize,
        keep: Option<&mut [f64]>,
    ) -> Self {
        let work = |rows: Range<usize>, mut keep: Option<&mut [f64]>| {
            let (mut part, mut one) = (Self::zeros(k, width), Self::zeros(k, width));
            densities.for_each_tile(x.slice(rows), |first, tile| {
                one.fill(&mut *tile.log_joint, tile.features);
                part.add(&one);
                if let Some(keep) = keep.as_deref_mut() {
                    let m = tile.log_joint.len() / k;
                    keep[first * k..(first + m) * k].copy_from_slice(tile.log_joint);
                }
            });
            part
        };
        let parts = match keep {
            Some(keep) => map_blocks_mut(keep, k, |rows, part| work(rows, Some(part))),
            None => map_blocks(x.rows(), |rows| work(rows, None)),
        };
        Self::total(parts, k, width)
    }

    /// Those of one tile: log joint densities (m, k) become responsibilities, features are (m, width).
    fn fill(&mut self, log_joint: &mut [f64], features: View<'_>) {
        let k = self.counts.len();
        self.log_likelihood = 0.0;
        self.counts.fill(0.0);
        for row in log_joint.chunks_exact_mut(k) {
            self.log_likelihood += to_responsibilities(row);
            self.counts.iter_mut().zip(&*row).for_each(|(c, r)| *c += r);
        }
        let responsibilities = View::new(log_joint, log_joint.len() / k, k);
        product(responsibilities.t(), features, Accum::Replace, &mut self.sums);
    }

    /// Those of the rows of a tile.
    pub fn of_tile(tile: MatrixRef<'_>, densities: &Densities, k: usize, width: usize) -> Self {
        let mut one = Self::zeros(k, width);
        densities.for_each_tile(tile, |_, tile| one.fill(tile.log_joint, tile.features));
        one
    }

    /// From labels of rows that need not be in memory, with the bytes of [`of_labels`](Self::of_labels).
    pub fn of_labelled_rows(
        rows: &dyn Rows,
        label: impl Fn(usize) -> u32,
        k: usize,
        shift: &[f64],
        width: usize,
    ) -> Result<Self, RowsError> {
        let mut sums = BlockSums::new(rows.rows(), k * (1 + width));
        rows.scan(&mut |first, part| {
            sums.add(first, part.rows(), |range, all| {
                let (counts, sums) = all.split_at_mut(k);
                for i in range {
                    let j = label(first + i) as usize;
                    counts[j] += 1.0;
                    add_row(part.row(i), shift, &mut sums[j * width..(j + 1) * width]);
                }
            });
            Ok(())
        })?;
        let mut counts = sums.total();
        let sums = counts.split_off(k);
        Ok(Self { counts, sums, log_likelihood: 0.0 })
    }

    /// Of rows that need not be in memory, tile by tile, with the bytes of a pass over rows in memory whose
    /// tiles are `of_tile`.
    pub fn by_passes(
        rows: &dyn Rows,
        tile: usize,
        (k, width): (usize, usize),
        of_tile: &(dyn Fn(MatrixRef<'_>) -> Self + Sync),
    ) -> Result<Self, RowsError> {
        let (mut total, mut block) = (Self::zeros(k, width), Self::zeros(k, width));
        let at_once = tiles_at_once(k, width) * tile;
        scan_tiles(rows, tile, &mut |_, run, block_ends| {
            for first in (0..run.rows()).step_by(at_once) {
                let some = run.slice(first..(first + at_once).min(run.rows()));
                let tiles = par_map(some.rows().div_ceil(tile), |t| {
                    of_tile(some.slice(t * tile..((t + 1) * tile).min(some.rows())))
                });
                tiles.iter().for_each(|one| block.add(one));
            }
            if block_ends {
                total.add(&block);
                block = Self::zeros(k, width);
            }
            Ok(())
        })?;
        Ok(total)
    }

    /// Adds those of rows that follow.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(t, p)| *t += p);
        self.sums.iter_mut().zip(&other.sums).for_each(|(t, p)| *t += p);
        self.log_likelihood += other.log_likelihood;
    }

    /// Adds parts in order.
    pub fn total(parts: Vec<Self>, k: usize, width: usize) -> Self {
        parts.into_iter().fold(Self::zeros(k, width), |mut total, part| {
            total.add(&part);
            total
        })
    }
}

/// How many tiles are summed side by side: no more than 64 MB of sums.
pub(super) fn tiles_at_once(k: usize, width: usize) -> usize {
    ((64 << 20) / (8 * k * (width + 1)).max(1)).clamp(2, 64)
}

/// Adds x̃, and its squares if there is room for them; the same bytes at every level.
fn add_row(row: &[f32], shift: &[f64], sums: &mut [f64]) {
    simd::vectorize(
        #[inline(always)]
        || {
            let (first, second) = sums.split_at_mut(row.len());
            let centred = || row.iter().zip(shift).map(|(&v, m)| f64::from(v) - m);
            first.iter_mut().zip(centred()).for_each(|(s, v)| *s += v);
            second.iter_mut().zip(centred()).for_each(|(s, v)| *s += v * v);
        },
    );
}

/// Replaces log joint densities by responsibilities and returns log p(x).
fn to_responsibilities(row: &mut [f64]) -> f64 {
    // e⁻⁶⁰ of a row is below the last bit of any sum it could join; leaving it out saves most of
    // the exponentials, for most components are far from most rows.
    const NEGLIGIBLE: f64 = -60.0;
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for v in row.iter_mut() {
        let log = *v - largest;
        *v = if log < NEGLIGIBLE { 0.0 } else { log.exp() };
        sum += *v;
    }
    row.iter_mut().for_each(|v| *v /= sum);
    largest + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::{Matrix, Seed};
    use rand::RngExt;

    #[test]
    fn sums_over_tiles_and_blocks_agree_with_plain_loops() {
        let mut rng = Seed(2).rng();
        let (n, d, k) = (1500, 3, 2);
        let x = Matrix::from_fn(n, d, |_, _| rng.random::<f32>());
        let shift = x.view().mean_row();
        let densities =
            Densities::new(&[-0.5, -1.0], &[0.2, 0.3, 0.4, 0.8, 0.7, 0.6], &[2.0, 3.0], &shift);
        let mut kept = vec![0.0; n * k];
        let m = Moments::of_densities(x.view(), &densities, k, 2 * d, Some(&mut kept));
        for j in 0..k {
            let count: f64 = (0..n).map(|i| kept[i * k + j]).sum();
            assert!((m.counts[j] - count).abs() < 1e-9);
            for c in 0..d {
                let value = |i: usize| f64::from(x.row(i)[c]) - shift[c];
                let first: f64 = (0..n).map(|i| kept[i * k + j] * value(i)).sum();
                let second: f64 = (0..n).map(|i| kept[i * k + j] * value(i).powi(2)).sum();
                assert!((m.sums[j * 2 * d + c] - first).abs() < 1e-9);
                assert!((m.sums[j * 2 * d + d + c] - second).abs() < 1e-9);
            }
        }
        assert!(kept.chunks(k).all(|r| (r.iter().sum::<f64>() - 1.0).abs() < 1e-12));

        let labels: Vec<u32> = (0..n as u32).map(|i| i % 2).collect();
        let m = Moments::of_labels(x.view(), &labels, k, &shift, d);
        assert_eq!(m.counts, [750.0, 750.0]);
        let first: f64 = (1..n).step_by(2).map(|i| f64::from(x.row(i)[2]) - shift[2]).sum();
        assert!((m.sums[d + 2] - first).abs() < 1e-9);
    }
}
