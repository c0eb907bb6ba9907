//! Exact nearest neighbours and radius neighbours of many rows.
//!
//! Rows are shifted to their common mean, x̃ = x − m, and met in tiles: one matrix product in `f32`
//! gives ‖x̃‖² + ‖ỹ‖² − 2 x̃·ỹ for a whole tile. That number is off by at most
//!
//! ```text
//! δ = (d + 16) 2⁻²⁴ (‖x̃‖ + ‖ỹ‖)²
//! ```
//!
//! so it only decides where it is clear; a pair that may belong to the answer is measured again in
//! `f64` from the rows themselves. The answer is therefore the exact one: neighbours ordered by
//! (distance, row), whatever the tiles or threads. Cost O(n m d) at the speed of the product.

use crate::cancel::checkpoint;
use crate::chunks::{map_blocks, map_blocks_mut};
use crate::distance::{product_transposed, squared_distance, squared_norm};
use crate::matrix::{Matrix, MatrixRef};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Queries and rows of a tile: the products of one fit into the second-level cache.
const QUERIES: usize = 128;
const ROWS: usize = 1024;

/// Whether a row counts among its own neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// It does; at distance zero, yet after equal rows that come before it.
    Included,
    /// It does not.
    Excluded,
}

/// The k nearest rows of each query, by rising distance; of equally near ones the first row.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// How many there are of each query: what was asked for, or all rows if they are fewer.
    pub k: usize,
    /// The rows, (queries, k).
    pub rows: Vec<u32>,
    /// The squared distances, (queries, k).
    pub squared: Vec<f64>,
}

impl Nearest {
    /// The neighbours of query `i`.
    pub fn rows_of(&self, i: usize) -> &[u32] {
        &self.rows[i * self.k..(i + 1) * self.k]
    }

    /// Their squared distances.
    pub fn squared_of(&self, i: usize) -> &[f64] {
        &self.squared[i * self.k..(i + 1) * self.k]
    }
}

/// The rows within a radius of each query, by rising row.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    /// Where the neighbours of each query begin in `rows`; one more entry than queries.
    pub offsets: Vec<usize>,
    /// The rows.
    pub rows: Vec<u32>,
    /// The squared distances.
    pub squared: Vec<f64>,
}

impl Within {
    /// The neighbours of query `i`.
    pub fn rows_of(&self, i: usize) -> &[u32] {
        &self.rows[self.offsets[i]..self.offsets[i + 1]]
    }

    /// Their squared distances.
    pub fn squared_of(&self, i: usize) -> &[f64] {
        &self.squared[self.offsets[i]..self.offsets[i + 1]]
    }
}

/// Rows made ready to be searched.
///
/// ```
/// use bridged_math::neighbors::{Neighbors, Own};
/// use bridged_math::Matrix;
///
/// let x = Matrix::from_rows(&[[0.0], [1.0], [5.0]]);
/// let nearest = Neighbors::new(x.view()).nearest_of_own(1, Own::Excluded);
/// assert_eq!(nearest.rows, [1, 0, 1]);
/// assert_eq!(nearest.squared, [1.0, 1.0, 16.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Neighbors<'a> {
    rows: MatrixRef<'a>,
    shift: Cow<'a, [f64]>,
    shifted: Cow<'a, Shifted>,
}

/// The same with the rows themselves, to be kept and searched again and again.
#[derive(Clone, Debug)]
pub struct NeighborIndex {
    rows: Arc<Matrix>,
    shift: Vec<f64>,
    shifted: Shifted,
}

impl NeighborIndex {
    /// Prepares `rows`: one shifted copy of them.
    pub fn new(rows: Arc<Matrix>) -> Self {
        let shift = rows.view().mean_row();
        let shifted = Shifted::new(rows.view(), &shift);
        Self { rows, shift, shifted }
    }

    /// The rows, ready to be searched; nothing is computed or copied.
    pub fn neighbors(&self) -> Neighbors<'_> {
        Neighbors {
            rows: self.rows.view(),
            shift: Cow::Borrowed(&self.shift),
            shifted: Cow::Borrowed(&self.shifted),
        }
    }
}

/// Rows minus the shift, with their squared lengths.
#[derive(Clone, Debug)]
struct Shifted {
    rows: Matrix,
    squared: Vec<f32>,
    largest: Vec<f64>, // the length of the longest row in each group of `ROWS`
}

impl Shifted {
    fn new(x: MatrixRef<'_>, shift: &[f64]) -> Self {
        let mut rows = Matrix::zeros(x.rows(), x.cols());
        let d = x.cols().max(1);
        map_blocks_mut(rows.data_mut(), d, |range, part| {
            for (i, out) in range.zip(part.chunks_exact_mut(d)) {
                for ((o, &v), m) in out.iter_mut().zip(x.row(i)).zip(shift) {
                    *o = (f64::from(v) - m) as f32;
                }
            }
        });
        let squared: Vec<f32> = map_blocks(x.rows(), |range| {
            range.map(|i| squared_norm(rows.row(i)) as f32).collect::<Vec<_>>()
        })
        .concat();
        let largest = squared.chunks(ROWS).map(|g| g.iter().copied().fold(0.0, f32::max));
        let largest = largest.map(|v| f64::from(v).sqrt()).collect();
        Self { rows, squared, largest }
    }
}

/// What one tile says about one query: the rows `first..` with their approximate
/// ‖ỹ‖² − 2 x̃·ỹ, the term ‖x̃‖² that is missing, and how far off the sum may be.
struct Strip<'s> {
    query: usize,
    first: usize,
    partial: &'s [f32],
    norm: f64,
    error: f64,
}

impl Strip<'_> {
    /// Calls `f` with every row whose squared distance may be at most `limit()`, which may fall on
    /// the way.
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // NaN, from numbers too large to square, is a "may"
    fn candidates(&self, limit: impl Fn() -> f64, mut f: impl FnMut(usize)) {
        let bound = |limit: f64| (limit + self.error - self.norm) as f32;
        // Rounding the bound itself to f32 is covered by the slack in δ.
        let mut at_most = bound(limit());
        for (j, &p) in self.partial.iter().enumerate() {
            if !(p > at_most) {
                f(self.first + j);
                at_most = bound(limit());
            }
        }
    }
}

impl<'a> Neighbors<'a> {
    /// The bytes that rows of these numbers take to be searched, and those of the `k` nearest rows of
    /// `queries` others.
    pub fn memory(rows: usize, cols: usize, queries: usize, k: usize) -> f64 {
        let shifted = |rows: usize| rows as f64 * (4.0 * cols as f64 + 8.0);
        let tiles = (QUERIES * ROWS * 4 * rayon::current_num_threads()) as f64;
        shifted(rows) + shifted(queries) + tiles + 28.0 * queries as f64 * k.min(rows) as f64
    }

    /// Prepares `rows`: one shifted copy of them.
    pub fn new(rows: MatrixRef<'a>) -> Self {
        let shift = rows.mean_row();
        let shifted = Shifted::new(rows, &shift);
        Self { rows, shift: Cow::Owned(shift), shifted: Cow::Owned(shifted) }
    }

    /// The `k` nearest rows of each query, in parallel.
    ///
    /// # Panics
    /// If the queries have other columns than the rows.
    pub fn nearest(&self, queries: MatrixRef<'_>, k: usize) -> Nearest {
        assert_eq!(queries.cols(), self.rows.cols(), "queries have the columns of the rows");
        let shifted = Shifted::new(queries, &self.shift);
        self.search(queries, &shifted, k.min(self.rows.rows()), |_| usize::MAX)
    }

    /// The `k` nearest rows of each of the rows themselves, in parallel.
    pub fn nearest_of_own(&self, k: usize, own: Own) -> Nearest {
        match own {
            Own::Included => {
                self.search(self.rows, &self.shifted, k.min(self.rows.rows()), |_| usize::MAX)
            }
            Own::Excluded => {
                let k = k.min(self.rows.rows().saturating_sub(1));
                self.search(self.rows, &self.shifted, k, |query| query)
            }
        }
    }

    fn search(
        &self,
        queries: MatrixRef<'_>,
        shifted: &Shifted,
        k: usize,
        skip: impl Fn(usize) -> usize + Sync,
    ) -> Nearest {
        if k == 0 {
            return Nearest { k, rows: Vec::new(), squared: Vec::new() };
        }
        let mut best = vec![(f64::INFINITY, u32::MAX); queries.rows() * k];
        map_blocks_mut(&mut best, k, |range, best| {
            let start = range.start;
            self.for_each_strip(shifted, range, |strip| {
                let (query, skipped) = (queries.row(strip.query), skip(strip.query));
                let best = &mut best[(strip.query - start) * k..][..k];
                let cell = std::cell::Cell::from_mut(best).as_slice_of_cells();
                strip.candidates(
                    || cell[k - 1].get().0,
                    |row| {
                        if row != skipped {
                            let exact = squared_distance(query, self.rows.row(row));
                            insert(cell, (exact, row as u32));
                        }
                    },
                );
            });
        });
        let (squared, rows) = best.into_iter().unzip();
        Nearest { k, rows, squared }
    }

    /// The rows within `radius` of each query (at it included), in parallel.
    ///
    /// # Panics
    /// If the queries have other columns than the rows.
    pub fn within(&self, queries: MatrixRef<'_>, radius: f64) -> Within {
        assert_eq!(queries.cols(), self.rows.cols(), "queries have the columns of the rows");
        let shifted = Shifted::new(queries, &self.shift);
        let parts = map_blocks(queries.rows(), |range| {
            let mut found = vec![Vec::new(); range.len()];
            let start = range.start;
            self.visit(queries, &shifted, range, radius, |query, row| {
                found[query - start].push(row as u32);
            });
            found
        });
        let mut all = Within { offsets: vec![0], rows: Vec::new(), squared: Vec::new() };
        for (query, found) in parts.into_iter().flatten().enumerate() {
            let query = queries.row(query);
            let exact = found.iter().map(|&r| squared_distance(query, self.rows.row(r as usize)));
            all.squared.extend(exact);
            all.rows.extend(found);
            all.offsets.push(all.rows.len());
        }
        all
    }

    /// Calls `f(row, neighbour)` for the rows `range` and every row within `radius` of them,
    /// themselves included, on the calling thread: for passes that need no lists.
    pub fn visit_own_within(&self, range: Range<usize>, radius: f64, f: impl FnMut(usize, usize)) {
        self.visit(self.rows, &self.shifted, range, radius, f);
    }

    fn visit(
        &self,
        queries: MatrixRef<'_>,
        shifted: &Shifted,
        range: Range<usize>,
        radius: f64,
        mut f: impl FnMut(usize, usize),
    ) {
        let limit = radius * radius;
        self.for_each_strip(shifted, range, |strip| {
            let query = queries.row(strip.query);
            let surely = (limit - strip.error - strip.norm) as f32;
            strip.candidates(
                || limit,
                |row| {
                    let sure = strip.partial[row - strip.first] < surely;
                    if sure || squared_distance(query, self.rows.row(row)) <= limit {
                        f(strip.query, row);
                    }
                },
            );
        });
    }

    /// Meets the queries `range` with all rows, in tiles; each query sees the rows in order.
    fn for_each_strip(&self, queries: &Shifted, range: Range<usize>, mut f: impl FnMut(Strip<'_>)) {
        let n = self.rows.rows();
        let per_length = (self.rows.cols() + 16) as f64 * f64::from(f32::EPSILON) / 2.0;
        let mut products = vec![0.0f32; QUERIES * ROWS];
        for from in range.clone().step_by(QUERIES) {
            let tile = from..(from + QUERIES).min(range.end);
            for (group, first) in (0..n).step_by(ROWS).enumerate() {
                checkpoint();
                let others = first..(first + ROWS).min(n);
                let products = &mut products[..tile.len() * others.len()];
                let (a, b) = (queries.rows.view(), self.shifted.rows.view());
                product_transposed(a.slice(tile.clone()), b.slice(others.clone()), products);
                let norms = &self.shifted.squared[others.clone()];
                for (query, partial) in tile.clone().zip(products.chunks_exact_mut(others.len())) {
                    for (p, norm) in partial.iter_mut().zip(norms) {
                        *p = norm - 2.0 * *p;
                    }
                    let norm = f64::from(queries.squared[query]);
                    let reach = norm.sqrt() + self.shifted.largest[group];
                    let error = per_length * reach * reach;
                    f(Strip { query, first, partial, norm, error });
                }
            }
        }
    }
}

/// Puts an entry into its place among the k best, of which the last falls out.
fn insert(best: &[std::cell::Cell<(f64, u32)>], entry: (f64, u32)) {
    let before = |a: (f64, u32), b: (f64, u32)| a.0 < b.0 || (a.0 == b.0 && a.1 < b.1);
    let mut at = best.len();
    while at > 0 && before(entry, best[at - 1].get()) {
        if at < best.len() {
            best[at].set(best[at - 1].get());
        }
        at -= 1;
    }
    if at < best.len() {
        best[at].set(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use proptest::prelude::*;
    use rand::RngExt;

    /// Rows on a coarse grid far from the origin: many duplicates and equal distances.
    fn sample(rows: usize, cols: usize, levels: u32, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        Matrix::from_fn(rows, cols, |_, _| {
            1000.0 + rng.random_range(0..levels) as f32 / levels as f32
        })
    }

    fn by_distance(x: &Matrix, query: &[f32], skip: Option<usize>) -> Vec<(f64, u32)> {
        let mut all: Vec<(f64, u32)> = (0..x.rows())
            .filter(|&j| Some(j) != skip)
            .map(|j| (squared_distance(query, x.row(j)), j as u32))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn nearest_neighbours_agree_with_sorting_all_distances(
            n in 1usize..1300, m in 1usize..40, d in 1usize..20, k in 1usize..12,
            levels in prop_oneof![Just(3u32), Just(1_000_000)], seed in 0u64..100,
        ) {
            let (x, q) = (sample(n, d, levels, seed), sample(m, d, levels, seed + 1));
            let index = Neighbors::new(x.view());
            let found = index.nearest(q.view(), k);
            prop_assert_eq!(found.k, k.min(n));
            for i in 0..m {
                let expected = by_distance(&x, q.row(i), None);
                for (at, e) in expected.iter().take(k).enumerate() {
                    prop_assert_eq!((found.squared_of(i)[at], found.rows_of(i)[at]), *e);
                }
            }
            let others = index.nearest_of_own(k, Own::Excluded);
            let own = index.nearest_of_own(k, Own::Included);
            for i in (0..n).step_by(97) {
                let rows = |all: Vec<(f64, u32)>| -> Vec<u32> {
                    all.into_iter().take(k).map(|e| e.1).collect()
                };
                let expected = rows(by_distance(&x, x.row(i), Some(i)));
                prop_assert_eq!(others.rows_of(i), &expected[..]);
                prop_assert_eq!(own.rows_of(i), &rows(by_distance(&x, x.row(i), None))[..]);
            }
        }

        #[test]
        fn radius_neighbours_agree_with_all_distances(
            n in 1usize..1300, m in 1usize..40, d in 1usize..8, radius in 0.0f64..1.0,
            levels in prop_oneof![Just(4u32), Just(1_000_000)], seed in 0u64..100,
        ) {
            let (x, q) = (sample(n, d, levels, seed), sample(m, d, levels, seed + 1));
            // On the grid of quarters this radius is met exactly by many pairs.
            let radius = if levels == 4 { (radius * 4.0).round() / 4.0 } else { radius };
            let found = Neighbors::new(x.view()).within(q.view(), radius);
            for i in 0..m {
                let mut expected: Vec<(u32, f64)> = by_distance(&x, q.row(i), None)
                    .into_iter()
                    .filter(|e| e.0 <= radius * radius)
                    .map(|(squared, row)| (row, squared))
                    .collect();
                expected.sort_by_key(|e| e.0);
                let (rows, squared): (Vec<u32>, Vec<f64>) = expected.into_iter().unzip();
                prop_assert_eq!(found.rows_of(i), &rows[..]);
                prop_assert_eq!(found.squared_of(i), &squared[..]);
            }
        }
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let x = sample(3000, 5, 50, 1);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Neighbors::new(x.view()).nearest_of_own(7, Own::Excluded))
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn numbers_too_large_to_square_in_single_precision_are_still_found() {
        let x = Matrix::from_rows(&[[1e30, 0.0], [-1e30, 0.0], [9e29, 1.0]]);
        let nearest = Neighbors::new(x.view()).nearest_of_own(1, Own::Excluded);
        assert_eq!(nearest.rows, [2, 2, 0]);
    }

    #[test]
    fn one_row_has_no_other() {
        let x = Matrix::zeros(1, 2);
        assert_eq!(Neighbors::new(x.view()).nearest_of_own(3, Own::Excluded).k, 0);
        assert_eq!(Neighbors::new(x.view()).nearest_of_own(3, Own::Included).rows, [0]);
    }
}
