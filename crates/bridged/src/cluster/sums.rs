//! Running sums of the rows of each cluster, kept up to date by the rows that moved.
//!
//! Late iterations move few rows, so the update step costs O(moved · d) instead of O(n · d). The
//! columns are cut into fixed blocks that run in parallel; each block adds its rows in row order,
//! so the sums do not depend on the number of threads.

use bridged_math::{Matrix, MatrixRef};
use rayon::prelude::*;

/// Columns in a block: two cache lines of `f32`.
const BLOCK: usize = 32;

/// A row that changes its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub row: u32,
    pub from: u32,
    pub to: u32,
}

/// Σ x over the rows of each cluster, and their number.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    blocks: Vec<Vec<f64>>, // a block of w columns is (k, w)
    sizes: Vec<u32>,
    cols: usize,
}

impl Sums {
    /// The sums of a labelling.
    pub fn new(x: MatrixRef<'_>, labels: &[u32], k: usize) -> Self {
        let widths = (0..x.cols()).step_by(BLOCK).map(|c| BLOCK.min(x.cols() - c));
        let blocks = widths.map(|w| vec![0.0; k * w]).collect();
        let mut sums = Self { blocks, sizes: vec![0; k], cols: x.cols() };
        labels.iter().for_each(|&l| sums.sizes[l as usize] += 1);
        sums.for_each_block(|columns, block| {
            for (i, &label) in labels.iter().enumerate() {
                add(block, label, &x.row(i)[columns.clone()], 1.0);
            }
        });
        sums
    }

    /// Moves rows between clusters.
    pub fn apply(&mut self, x: MatrixRef<'_>, moves: &[Move]) {
        for m in moves {
            self.sizes[m.from as usize] -= 1;
            self.sizes[m.to as usize] += 1;
        }
        self.for_each_block(|columns, block| {
            for m in moves {
                let row = &x.row(m.row as usize)[columns.clone()];
                add(block, m.from, row, -1.0);
                add(block, m.to, row, 1.0);
            }
        });
    }

    /// How many rows each cluster has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The mean of each cluster, (k, d).
    pub fn means(&self) -> Matrix {
        Matrix::from_fn(self.sizes.len(), self.cols, |j, c| {
            let block = &self.blocks[c / BLOCK];
            let width = block.len() / self.sizes.len();
            (block[j * width + c % BLOCK] / f64::from(self.sizes[j].max(1))) as f32
        })
    }

    fn for_each_block(&mut self, f: impl Fn(std::ops::Range<usize>, &mut [f64]) + Sync) {
        let cols = self.cols;
        self.blocks.par_iter_mut().enumerate().for_each(|(b, block)| {
            f(b * BLOCK..((b + 1) * BLOCK).min(cols), block);
        });
    }
}

fn add(block: &mut [f64], label: u32, row: &[f32], sign: f64) {
    let at = label as usize * row.len();
    let sums = &mut block[at..at + row.len()];
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn add_avx2(sums: &mut [f64], row: &[f32], sign: f64) {
            add_to(sums, row, sign);
        }
        // SAFETY: AVX2 was just found. The sums have the same bits with and without.
        return unsafe { add_avx2(sums, row, sign) };
    }
    add_to(sums, row, sign);
}

#[inline(always)]
fn add_to(sums: &mut [f64], row: &[f32], sign: f64) {
    for (s, &v) in sums.iter_mut().zip(row) {
        *s += sign * f64::from(v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::clustering::means_of;
    use bridged_math::Seed;
    use rand::RngExt;

    #[test]
    fn sums_kept_by_moves_equal_sums_from_scratch() {
        let mut rng = Seed(3).rng();
        let x = Matrix::from_fn(500, 71, |_, _| rng.random::<f32>() * 1e3);
        let mut labels: Vec<u32> = (0..500).map(|_| rng.random_range(0..9)).collect();
        let mut sums = Sums::new(x.view(), &labels, 9);
        for _ in 0..20 {
            let moves: Vec<Move> = (0..500)
                .step_by(7)
                .map(|i| Move { row: i as u32, from: labels[i], to: rng.random_range(0..9) })
                .collect();
            moves.iter().for_each(|m| labels[m.row as usize] = m.to);
            sums.apply(x.view(), &moves);
        }
        let (means, sizes) = means_of(x.view(), &labels, 9);
        assert_eq!(sums.sizes(), sizes);
        for (a, b) in sums.means().data().iter().zip(means.data()) {
            assert!((a - b).abs() <= 1e-6 * b.abs(), "{a} {b}");
        }
    }
}
