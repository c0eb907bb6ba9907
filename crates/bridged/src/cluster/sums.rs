//! Running sums of the rows of each cluster, kept up to date by the rows that moved.
//!
//! Late iterations move few rows, so the update step costs O(moved · d) instead of O(n · d). The
//! columns are cut into fixed blocks that run in parallel; each block adds its rows in row order,
//! so the sums do not depend on the number of threads. Several labellings of the same rows are
//! summed in one pass, which reads each row once for all of them.

use bridged_math::cancel::carry;
use bridged_math::{Matrix, MatrixRef, chunks, simd};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Columns in a block: two cache lines of `f32`.
const BLOCK: usize = 32;
/// A row is fetched this many moves before it is needed.
const AHEAD: usize = 8;

/// A row that changes its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Move {
    pub row: u32,
    pub from: u32,
    pub to: u32,
}

/// Σ x over the rows of each cluster, and their number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sums {
    blocks: Vec<Vec<[f64; BLOCK]>>, // (columns / BLOCK, k); the last block ends with zeros
    sizes: Vec<u32>,
    cols: usize,
}

impl Sums {
    /// The sums of several labellings, each what [`Sums::join`] gives.
    pub fn of_each(x: MatrixRef<'_>, labellings: &[&[u32]], k: usize) -> Vec<Self> {
        let blocks: Vec<Vec<[f64; BLOCK]>> = chunks::par_map(x.cols().div_ceil(BLOCK), |b| {
            let mut block = vec![[0.0; BLOCK]; labellings.len() * k];
            add(&mut block, x, b, Changes::All { labellings, k });
            block
        });
        let of = |(t, labels): (usize, &&[u32])| {
            let mut sizes = vec![0; k];
            labels.iter().for_each(|&l| sizes[l as usize] += 1);
            let blocks = blocks.iter().map(|block| block[t * k..(t + 1) * k].to_vec()).collect();
            Self { blocks, sizes, cols: x.cols() }
        };
        labellings.iter().enumerate().map(of).collect()
    }

    /// No rows yet.
    pub fn zeros(k: usize, cols: usize) -> Self {
        let blocks = vec![vec![[0.0; BLOCK]; k]; cols.div_ceil(BLOCK)];
        Self { blocks, sizes: vec![0; k], cols }
    }

    /// Adds the next rows with their labels. Parts one after the other give the sums of all rows at once.
    pub fn join(&mut self, part: MatrixRef<'_>, labels: &[u32]) {
        labels.iter().for_each(|&l| self.sizes[l as usize] += 1);
        let (labellings, k) = (&[labels], self.sizes.len());
        let join = |(b, block): (usize, &mut Vec<_>)| {
            add(block, part, b, Changes::All { labellings, k });
        };
        self.blocks.par_iter_mut().enumerate().for_each(carry(join));
    }

    /// Moves rows between clusters.
    pub fn apply(&mut self, x: MatrixRef<'_>, moves: &[Move]) {
        self.apply_part(0, x, moves);
    }

    /// The same for rows of a part that begins with row `first`.
    pub fn apply_part(&mut self, first: usize, part: MatrixRef<'_>, moves: &[Move]) {
        for m in moves {
            self.sizes[m.from as usize] -= 1;
            self.sizes[m.to as usize] += 1;
        }
        let changes = Changes::Some { first, moves };
        let apply = |(b, block): (usize, &mut Vec<_>)| add(block, part, b, changes);
        self.blocks.par_iter_mut().enumerate().for_each(carry(apply));
    }

    /// How many rows each cluster has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The mean of each cluster, (k, d).
    pub fn means(&self) -> Matrix {
        let mut means = Matrix::zeros(self.sizes.len(), self.cols);
        for (j, &size) in self.sizes.iter().enumerate() {
            let size = f64::from(size.max(1));
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
        self.sizes.iter().enumerate().map(of).sum()
    }
}

/// Which rows join and leave which sums.
#[derive(Clone, Copy)]
enum Changes<'a> {
    /// Every row joins its cluster of each labelling; their sums follow one another.
    All { labellings: &'a [&'a [u32]], k: usize },
    /// These rows move; the rows at hand begin with row `first`.
    Some { first: usize, moves: &'a [Move] },
}

/// Makes the changes in the columns of block `b`, in row order; the same bytes at every level.
fn add(block: &mut [[f64; BLOCK]], x: MatrixRef<'_>, b: usize, changes: Changes<'_>) {
    simd::vectorize(
        #[inline(always)]
        || add_to(block, x, b, changes),
    );
}

#[inline(always)]
fn add_to(block: &mut [[f64; BLOCK]], x: MatrixRef<'_>, b: usize, changes: Changes<'_>) {
    let columns = b * BLOCK..((b + 1) * BLOCK).min(x.cols());
    match changes {
        Changes::All { labellings, k } => {
            for i in 0..x.rows() {
                let row = widen(&x.row(i)[columns.clone()]);
                for (sums, labels) in block.chunks_exact_mut(k).zip(labellings) {
                    add_row(&mut sums[labels[i] as usize], &row, 1.0);
                }
            }
        }
        Changes::Some { first, moves } => {
            for (at, m) in moves.iter().enumerate() {
                // Rows that move lie anywhere: no cache guesses which is next.
                if let Some(next) = moves.get(at + AHEAD) {
                    simd::prefetch(&x.row(next.row as usize - first)[columns.clone()]);
                }
                let row = widen(&x.row(m.row as usize - first)[columns.clone()]);
                add_row(&mut block[m.from as usize], &row, -1.0);
                add_row(&mut block[m.to as usize], &row, 1.0);
            }
        }
    }
}

/// A row of a block in double precision, followed by zeros if it is the last block.
#[inline(always)]
fn widen(row: &[f32]) -> [f64; BLOCK] {
    let mut wide = [0.0; BLOCK];
    match <&[f32; BLOCK]>::try_from(row) {
        Ok(row) => (0..BLOCK).for_each(|c| wide[c] = f64::from(row[c])),
        Err(_) => wide.iter_mut().zip(row).for_each(|(w, &v)| *w = f64::from(v)),
    }
    wide
}

#[inline(always)]
fn add_row(sums: &mut [f64; BLOCK], row: &[f64; BLOCK], sign: f64) {
    for c in 0..BLOCK {
        sums[c] += sign * row[c];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::clustering::means_of;
    use bridged_math::Seed;
    use rand::RngExt;

    #[test]
    fn parts_one_after_the_other_have_the_bytes_of_all_rows_at_once() {
        let mut rng = Seed(4).rng();
        let x = Matrix::from_fn(300, 40, |_, _| rng.random::<f32>() * 1e3);
        let labels: Vec<u32> = (0..300).map(|_| rng.random_range(0..5)).collect();
        let moves: Vec<Move> = (0..300)
            .step_by(3)
            .map(|i| Move { row: i as u32, from: labels[i], to: rng.random_range(0..5) })
            .collect();
        let mut whole = Sums::of_each(x.view(), &[&labels], 5).remove(0);
        whole.apply(x.view(), &moves);
        let mut parts = Sums::zeros(5, 40);
        let ranges = || (0..300).step_by(70).map(|from| from..(from + 70).min(300));
        ranges().for_each(|r| parts.join(x.view().slice(r.clone()), &labels[r]));
        for r in ranges() {
            let mine: Vec<Move> =
                moves.iter().copied().filter(|m| r.contains(&(m.row as usize))).collect();
            parts.apply_part(r.start, x.view().slice(r), &mine);
        }
        assert_eq!((parts.means(), parts.sizes()), (whole.means(), whole.sizes()));
    }

    #[test]
    fn sums_kept_by_moves_equal_sums_from_scratch() {
        let mut rng = Seed(3).rng();
        let x = Matrix::from_fn(500, 71, |_, _| rng.random::<f32>() * 1e3);
        let mut labels: Vec<u32> = (0..500).map(|_| rng.random_range(0..9)).collect();
        let mut sums = Sums::zeros(9, 71);
        sums.join(x.view(), &labels);
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
