//! Squared Euclidean distances from many rows to a few centres, by one matrix product.
//!
//! With any fixed shift m and c̃ = c − m,
//!
//! ```text
//! ½‖x − c‖² = ½‖x − m‖² + s(x, c),   s(x, c) = ½‖c̃‖² + m·c̃ − x·c̃
//! ```
//!
//! so the nearest centre is the one with the smallest *score* s, which costs one product X·C̃ᵀ.
//! Shifting the centres to their own mean keeps the score small where the data lie far from the
//! origin, without a shifted copy of the data.

mod nearest;
mod some;

pub use nearest::{nearest, nearest_exactly};
pub use some::squared_to_some;

use crate::chunks::map_blocks_mut;
use crate::linalg::{Accum, View, product};
use crate::matrix::{Matrix, MatrixRef};
use crate::simd::{Panels, Tail, vectorize};

/// Rows whose scores are held at once: large enough for the product to run at full speed, small
/// enough for the scores to stay in cache.
const TILE: usize = 120;

/// Σ (a − b)², summed in `f64`.
pub fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    sum_of(a, b, |x, y| (x - y) * (x - y))
}

/// Σ a·b, summed in `f64`.
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    sum_of(a, b, |x, y| x * y)
}

/// Σ a², summed in `f64`.
pub fn squared_norm(a: &[f32]) -> f64 {
    dot(a, a)
}

/// Σ term(a, b), with the same bytes at every level.
#[inline]
fn sum_of(a: &[f32], b: &[f32], term: impl Fn(f64, f64) -> f64) -> f64 {
    vectorize(
        #[inline(always)]
        || eight_sums(a, b, term),
    )
}

/// Σ term(a, b) in eight running sums: one alone would be a chain of dependent additions.
#[inline(always)]
fn eight_sums(a: &[f32], b: &[f32], term: impl Fn(f64, f64) -> f64) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let term = |x: &f32, y: &f32| term(f64::from(*x), f64::from(*y));
    let mut sums = [0.0f64; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| term(x, y)).sum();
    for (x, y) in a8.zip(b8) {
        for lane in 0..8 {
            sums[lane] += term(&x[lane], &y[lane]);
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// `out = a · bᵀ` for row-major `a` (m, d) and `b` (n, d), on the calling thread.
pub fn product_transposed(a: MatrixRef<'_>, b: MatrixRef<'_>, out: &mut [f32]) {
    product(View::from(a), View::from(b).t(), Accum::Replace, out);
}

/// Centres made ready for many distance computations.
#[derive(Clone, Debug)]
pub struct Centres {
    shifted: Panels, // −c̃ as columns, (d, k)
    bias: Vec<f32>,  // (k), ½‖c̃‖² + m·c̃
    shift: Vec<f32>, // (d), m
    radius: f32,     // max ‖c̃‖
}

impl Centres {
    /// Shifts the centres to their own mean.
    pub fn new(centres: MatrixRef<'_>) -> Self {
        let shift: Vec<f32> = centres.mean_row().into_iter().map(|v| v as f32).collect();
        Self::with_shift(centres.to_matrix(), shift)
    }

    /// Shifts the centres by a given point, which a caller keeps over several sets of centres.
    pub fn with_shift(centres: Matrix, shift: Vec<f32>) -> Self {
        let mut negative = centres; // −c̃
        let mut bias = Vec::with_capacity(negative.rows());
        let mut radius = 0.0f64;
        for j in 0..negative.rows() {
            negative.row_mut(j).iter_mut().zip(&shift).for_each(|(c, m)| *c = m - *c);
            let (row, m) = (negative.row(j), &shift);
            bias.push(sum_of(row, m, |c, m| c * (0.5 * c - m)) as f32);
            radius = radius.max(squared_norm(row));
        }
        let shifted = Panels::of_rows(negative.view(), Tail::Thin);
        Self { shifted, bias, shift, radius: radius.sqrt() as f32 }
    }

    /// The number of centres.
    pub fn len(&self) -> usize {
        self.bias.len()
    }

    /// Whether there is no centre.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shift m; ½‖x − m‖² + score is half the squared distance.
    pub fn shift(&self) -> &[f32] {
        &self.shift
    }

    /// The length of the longest shifted centre: rounding errors of a score grow with it.
    pub fn radius(&self) -> f32 {
        self.radius
    }

    /// The scores of `x` (m, d) on the calling thread, into `out` (m, k).
    pub fn scores(&self, x: MatrixRef<'_>, out: &mut [f32]) {
        self.shifted.product(x, &self.bias, out);
    }

    /// Calls `f(row, its scores)` for each row of `x` in order, on the calling thread.
    pub fn for_each_scores(&self, x: MatrixRef<'_>, mut f: impl FnMut(usize, &[f32])) {
        let k = self.len();
        let mut scores = vec![0.0f32; TILE.min(x.rows()) * k];
        for start in (0..x.rows()).step_by(TILE) {
            let tile = x.slice(start..(start + TILE).min(x.rows()));
            let scores = &mut scores[..tile.rows() * k];
            self.scores(tile, scores);
            for (i, row) in scores.chunks_exact(k).enumerate() {
                f(start + i, row);
            }
        }
    }

    /// All squared distances (n, k), in parallel, never below zero.
    pub fn squared_distances(&self, x: MatrixRef<'_>) -> Vec<f32> {
        let k = self.len();
        let mut out = vec![0.0f32; x.rows() * k];
        map_blocks_mut(&mut out, k, |range, out| {
            let rows = x.slice(range);
            self.for_each_scores(rows, |i, scores| {
                let base = squared_distance(rows.row(i), &self.shift);
                for (o, &s) in out[i * k..(i + 1) * k].iter_mut().zip(scores) {
                    *o = (base + 2.0 * f64::from(s)).max(0.0) as f32;
                }
            });
        });
        out
    }
}

/// The position of the smallest number, the first of equals; of NaNs alone, the first.
pub fn argmin(values: &[f32]) -> usize {
    let least = least(values);
    values.iter().position(|&v| v == least).unwrap_or(0)
}

/// The least of some numbers, whatever NaNs there are; infinite if there are none. Eight running
/// minima by comparisons, which unlike `f32::min` are one instruction each.
#[inline]
pub fn least(values: &[f32]) -> f32 {
    let lesser = |a: f32, b: f32| if a < b { a } else { b };
    let (eights, rest) = values.as_chunks::<8>();
    let mut least = [f32::INFINITY; 8];
    for eight in eights {
        (0..8).for_each(|lane| least[lane] = lesser(eight[lane], least[lane]));
    }
    least.iter().chain(rest).fold(f32::INFINITY, |a, &b| lesser(b, a))
}

/// The position of the least number, the first of equals, and how many are within `doubt` of it;
/// of NaNs alone, the first and none.
#[inline]
pub fn least_and_close(values: &[f32], doubt: f32) -> (usize, usize) {
    let least = least(values);
    let mut close = 0u32;
    values.iter().for_each(|&v| close += u32::from(v <= least + doubt));
    (values.iter().position(|&v| v == least).unwrap_or(0), close as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use proptest::prelude::*;
    use rand::RngExt;

    fn random(rows: usize, cols: usize, offset: f32, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        Matrix::from_fn(rows, cols, |_, _| offset + rng.random::<f32>() - 0.5)
    }

    proptest! {
        #[test]
        fn distances_by_product_agree_with_plain_loops(
            n in 1usize..600, k in 1usize..20, d in 1usize..70, offset in -100.0f32..100.0, seed in 0u64..1000,
        ) {
            let (x, c) = (random(n, d, offset, seed), random(k, d, offset, seed + 1));
            let centres = Centres::new(c.view());
            let distances = centres.squared_distances(x.view());
            for i in 0..n {
                let exact: Vec<f64> = (0..k).map(|j| squared_distance(x.row(i), c.row(j))).collect();
                for j in 0..k {
                    prop_assert!((f64::from(distances[i * k + j]) - exact[j]).abs() < 2e-3 * d as f64);
                }
            }
        }
    }

    #[test]
    fn a_score_does_not_depend_on_which_other_rows_are_in_the_tile() {
        // What pruned k-means relies on: it recomputes some rows, gathered into other tiles.
        for (d, k) in [(1, 3), (5, 7), (64, 33), (300, 100)] {
            let (x, c) = (random(700, d, 3.0, 1), random(k, d, 3.0, 2));
            let centres = Centres::new(c.view());
            let mut all = vec![0.0; 700 * k];
            centres.for_each_scores(x.view(), |i, s| all[i * k..(i + 1) * k].copy_from_slice(s));
            for step in [2, 3, 7] {
                let some: Vec<usize> = (0..700).step_by(step).collect();
                let gathered = x.view().select(some.iter().copied());
                centres.for_each_scores(gathered.view(), |i, s| {
                    assert_eq!(s, &all[some[i] * k..(some[i] + 1) * k], "d {d} k {k}");
                });
            }
        }
    }
}
