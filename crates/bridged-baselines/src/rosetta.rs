//! Rosetta: Wasserstein Procrustes, a rotation of one pool onto the other, from clusters that are
//! matched by their geometry.
//!
//! ```text
//! max_{W, T}  Tr(X W Yᵀ Tᵀ)     W a partial isometry (d, d'), T a one-to-one matching of rows
//! start:   s = 1 … S:  A_s, B_s = k-means centres of either pool, matched by P_s ([`matching`])
//!          M = 1/(S c) Σ_s A_sᵀ P_s B_s;   T = the best matching for the scores X M Yᵀ
//! rounds:  W = polar(Xᵀ T Y + (k/p) X̂ᵀ Ŷ),   T = the best matching for X W Yᵀ
//! s_j(x) = ⟨u W, u_j⟩            rows around the mean of their pool, of unit length
//! ```
//!
//! for k matched rows and p pairs X̂, Ŷ, which together weigh as much as the matched rows. Rows are
//! matched in random blocks, so a round costs O(n d d' + n b²) for blocks of b rows.
//!
//! **Choose it** where both sides are good embeddings and pairs are very few.
//!
//! Schnaus et al. (2026), *arXiv 2610.09411*, with its published code. What differs, for speed: 128
//! principal components where there are more columns; 10 restarts instead of 30 and 10 rounds instead
//! of 100; blocks of 256 rows, several in a round, instead of one batch of 10,000; exchanges and
//! assignments instead of MPOpt for the centres. Directions that no matched row tells anything about are
//! mapped to 0, not at random.

mod matching;

use crate::directions::{Directions, Rows};
use crate::limits::{BATCH, COUNT, STEPS};
use crate::retrieval::{Folds, Retrieval, Scores};
use crate::subspace::times;
use bridged::cluster::{Clusterer, KMeans};
use bridged::settings::RESTARTS;
use bridged::{Matrix, MatrixRef, Rng, Seed, Silent, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::assignment::{Goal, assign};
use bridged_math::chunks::par_map;
use bridged_math::linalg::{Accum, View, par_product, polar, product};
use matching::{Quadratic, Side};
use rand::seq::index;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name in the list and in errors.
const NAME: &str = "rosetta";
/// Rows that k-means sees of a side.
const CLUSTERED: usize = 10_000;
/// Starts of each matching of centres.
const STARTS: usize = 10;
/// Rows of a block that is matched at once.
const BLOCK: usize = 256;

/// A rotation of x onto y.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rosetta {
    /// Clusters of each pool that are matched for the start; as many as there are rows where those
    /// are fewer.
    pub k: usize,
    /// How often both pools are clustered and matched; the start is the mean of all.
    pub restarts: u32,
    /// Rows of each pool that a round matches.
    pub batch_size: usize,
    /// Rounds of matching and rotating; 0 leaves the rotation of the start.
    pub max_iter: usize,
}

impl Default for Rosetta {
    fn default() -> Self {
        Self { k: 30, restarts: 10, batch_size: 1024, max_iter: 10 }
    }
}

bridged::limits!(Rosetta { k: COUNT, restarts: RESTARTS, batch_size: BATCH, max_iter: STEPS });

impl Rosetta {
    /// Not in the paper's appendix: the defaults.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }
}

/// Both pools, and what of the start no pair is needed for.
struct Pools {
    x: Rows,
    y: Rows,
    /// The centres of each restart, (c, d) and (c, d').
    centres: Vec<(Vec<f64>, Vec<f64>)>,
}

/// The rows of the pairs, in one order.
struct Pairs {
    x: Vec<f64>,
    y: Vec<f64>,
    count: usize,
}

impl Method for Rosetta {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let cols = |cols: usize| cols.min(128) as f64;
        let (d, e) = (cols(size.x.1), cols(size.y.1));
        let (n, m) = (size.x.0 as f64, size.y.0 as f64);
        let c = self.k.min(size.x.0).min(size.y.0) as f64;
        let centres = f64::from(self.restarts) * c * (d + e);
        let batch = self.batch_size as f64;
        // The first matching takes all rows; a block is held twice while it is solved.
        let matched =
            3.0 * n.min(m).max(batch) * (d + e) + 4.0 * BLOCK as f64 * batch.min(n.min(m));
        let k_means = 4.0 * (n * d + m * e);
        let sides = Directions::memory(size.x).max(8.0 * n * d + Directions::memory(size.y));
        (Retrieval::memory(size)
            + sides
            + k_means
            + 8.0 * (centres + matched + 6.0 * d.max(e) * d.max(e))) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        problem.check()?;
        let stage = Stage::begin(watch, "centres", Some(2))?;
        let (x, y) = (Directions::fit(problem.x), Directions::fit(problem.y));
        let (rows_x, rows_y) = (x.apply(problem.x), y.apply(problem.y));
        stage.step(1)?;
        let centres = self.centres(&rows_x, &rows_y, seed.child("centres"));
        stage.step(2)?;
        drop(stage);
        let pools = Pools { x: rows_x, y: rows_y, centres };
        let (x, candidates) = (Arc::new(x), Arc::new(pools.y.data.clone()));
        let learn =
            |problem: Problem<'_>, watch: &dyn Watch| -> Result<Box<dyn Scores>, MethodError> {
                let pairs = Pairs {
                    x: pools.x.select(problem.pairs.iter().map(|p| p.0)),
                    y: pools.y.select(problem.pairs.iter().map(|p| p.1)),
                    count: problem.pairs.len(),
                };
                let map = self.rotate(&pools, &pairs, seed, watch)?;
                let (x, candidates) = (Arc::clone(&x), Arc::clone(&candidates));
                Ok(Box::new(Fitted { x, map, candidates, cols: pools.y.cols }))
            };
        Retrieval::fit(NAME, problem, 1, Folds::Few, (seed, watch), &learn)
    }
}

impl Rosetta {
    /// The centres of each restart: no pair has a say in them.
    fn centres(&self, x: &Rows, y: &Rows, seed: Seed) -> Vec<(Vec<f64>, Vec<f64>)> {
        let k = self.k.min(x.len()).min(y.len());
        let clusters = KMeans { k, restarts: 1, ..KMeans::default() };
        let of = |rows: &Rows, seed: Seed| -> Vec<f64> {
            let (n, d) = (rows.len(), rows.cols);
            let picked = sorted(index::sample(&mut seed.rng(), n, n.min(CLUSTERED)).into_vec());
            let data = rows.select(picked).into_iter().map(|v| v as f32).collect();
            let sample = Matrix::new(n.min(CLUSTERED), d, data).expect("whole rows were picked");
            let found = clusters.fit(sample.view(), seed.child("kmeans"), &Silent);
            let found = found.expect("1 ≤ k ≤ rows, unit rows are finite, nobody stops it");
            found.centroids.data().iter().map(|&v| f64::from(v)).collect()
        };
        par_map(self.restarts as usize, |s| {
            (of(x, seed.child("x").nth(s)), of(y, seed.child("y").nth(s)))
        })
    }

    /// W, (d, d').
    fn rotate(
        &self,
        pools: &Pools,
        pairs: &Pairs,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Vec<f64>, MethodError> {
        let stage = Stage::begin(watch, "rotation", Some(self.max_iter as u64 + 1))?;
        let start = start(pools, pairs, seed.child("matching"));
        let mut rng = seed.child("blocks").rng();
        let (n, m) = (pools.x.len(), pools.y.len());
        let all = (sample(n, n, &mut rng), sample(m, m, &mut rng));
        let mut map = procrustes(pools, pairs, &matched(pools, &all, &start));
        stage.step(1)?;
        for round in 0..self.max_iter {
            let batch =
                (sample(n, self.batch_size, &mut rng), sample(m, self.batch_size, &mut rng));
            map = procrustes(pools, pairs, &matched(pools, &batch, &map));
            stage.step(round as u64 + 2)?;
        }
        Ok(map)
    }
}

/// M, (d, d'): what belongs together by the matched centres of all restarts.
fn start(pools: &Pools, pairs: &Pairs, seed: Seed) -> Vec<f64> {
    let (d, e) = (pools.x.cols, pools.y.cols);
    let restarts = pools.centres.len();
    let partners = par_map(restarts, |s| {
        let (a, b) = &pools.centres[s];
        let x = Side { centres: a, pairs: &pairs.x, cols: d };
        let y = Side { centres: b, pairs: &pairs.y, cols: e };
        Quadratic::of(&x, &y).solve(STARTS, &mut seed.nth(s).rng())
    });
    let mut mean = vec![0.0; d * e];
    for ((a, b), pi) in pools.centres.iter().zip(&partners) {
        let b: Vec<f64> = pi.iter().flat_map(|&j| &b[j * e..(j + 1) * e]).copied().collect();
        product(View::new(a, pi.len(), d).t(), View::new(&b, pi.len(), e), Accum::Add, &mut mean);
    }
    let c = partners.first().map_or(1, Vec::len);
    mean.iter_mut().for_each(|v| *v /= (restarts * c) as f64);
    mean
}

/// At most `count` of `0..n`, in random order.
fn sample(n: usize, count: usize, rng: &mut Rng) -> Vec<usize> {
    index::sample(rng, n, n.min(count)).into_vec()
}

fn sorted(mut rows: Vec<usize>) -> Vec<usize> {
    rows.sort_unstable();
    rows
}

/// The best one-to-one matching of a batch for the scores X M Yᵀ, block by block.
fn matched(pools: &Pools, (x, y): &(Vec<usize>, Vec<usize>), map: &[f64]) -> Vec<(usize, usize)> {
    let (d, e) = (pools.x.cols, pools.y.cols);
    // Blocks of about equal size on either side, so that every row of the shorter side has a partner.
    let blocks = x.len().min(y.len()).div_ceil(BLOCK);
    let cut = |rows: &[usize], b: usize| -> Vec<usize> {
        rows[rows.len() * b / blocks..rows.len() * (b + 1) / blocks].to_vec()
    };
    let block = |b: usize| -> Vec<(usize, usize)> {
        // Of a much longer side, only as many as a block holds.
        let cap = |mut rows: Vec<usize>| {
            rows.truncate(2 * BLOCK);
            rows
        };
        let (x, y) = (cap(cut(x, b)), cap(cut(y, b)));
        let (left, right) = (pools.x.select(x.iter().copied()), pools.y.select(y.iter().copied()));
        let mut moved = vec![0.0; x.len() * e];
        product(View::new(&left, x.len(), d), View::new(map, d, e), Accum::Replace, &mut moved);
        let mut scores = vec![0.0; x.len() * y.len()];
        let right = View::new(&right, y.len(), e);
        product(View::new(&moved, x.len(), e), right.t(), Accum::Replace, &mut scores);
        let partners = assign(&scores, x.len(), y.len(), Goal::Maximise).row_to_col;
        x.iter().zip(partners).filter_map(|(&i, j)| Some((i, y[j?]))).collect()
    };
    par_map(blocks, block).concat()
}

/// polar(Xᵀ T Y + (k/p) X̂ᵀ Ŷ).
fn procrustes(pools: &Pools, pairs: &Pairs, matched: &[(usize, usize)]) -> Vec<f64> {
    let (d, e) = (pools.x.cols, pools.y.cols);
    let k = matched.len();
    let x = pools.x.select(matched.iter().map(|p| p.0));
    let y = pools.y.select(matched.iter().map(|p| p.1));
    let mut cross = vec![0.0; d * e];
    let (left, right) = (View::new(&pairs.x, pairs.count, d), View::new(&pairs.y, pairs.count, e));
    product(left.t(), right, Accum::Replace, &mut cross);
    cross.iter_mut().for_each(|v| *v *= k as f64 / pairs.count as f64);
    par_product(View::new(&x, k, d).t(), View::new(&y, k, e), Accum::Add, &mut cross);
    polar(&cross, d, e)
}

struct Fitted {
    x: Arc<Directions>,
    /// W, (d, d').
    map: Vec<f64>,
    /// The y pool, (m, d').
    candidates: Arc<Vec<f64>>,
    cols: usize,
}

impl Scores for Fitted {
    fn scores(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let n = rows.rows();
        let given = self.x.apply(rows);
        let moved = times(&given.data, n, View::new(&self.map, given.cols, self.cols), self.cols);
        let m = self.candidates.len() / self.cols;
        times(&moved, n, View::new(&self.candidates, m, self.cols).t(), m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::random;
    use serde_json::Value;

    /// What numpy gave; see `tests/golden/baselines_alignment.py`.
    pub(super) fn golden() -> Value {
        let golden = include_str!("../../../tests/golden/baselines_alignment.json");
        serde_json::from_str(golden).unwrap()
    }

    /// Two pools of the same rows but for a rotation, noise and their order, and of unequal lengths.
    fn rotated(noise: f64) -> (Matrix, Matrix, usize) {
        let (n, m, d) = (500, 400, 8);
        let (z, off) = (random(n * d, 1), random(n * d, 2));
        let turn = polar(&random(d * d, 3), d, d);
        // Columns of unequal spread and a skew, so that no other rotation fits as well.
        let x: Vec<f64> =
            z.iter().enumerate().map(|(at, v)| v.exp() / (1 + at % d) as f64).collect();
        let mut y = vec![0.0; n * d];
        product(View::new(&x, n, d), View::new(&turn, d, d), Accum::Replace, &mut y);
        let matrix =
            |rows: usize, data: &[f64]| Matrix::from_fn(rows, d, |i, j| data[i * d + j] as f32);
        let noisy: Vec<f64> = y.iter().zip(&off).map(|(v, o)| v + noise * o).collect();
        (matrix(n, &x), matrix(m, &noisy[(n - m) * d..]), n - m)
    }

    #[test]
    fn the_polar_factor_is_the_one_of_numpy() {
        for case in golden()["polar"].as_array().unwrap() {
            let matrix = |name: &str| -> Vec<Vec<f64>> {
                serde_json::from_value(case[name].clone()).unwrap()
            };
            let (a, expected) = (matrix("a"), matrix("polar"));
            let found = polar(&a.concat(), a.len(), a[0].len());
            for (f, e) in found.iter().zip(expected.concat()) {
                assert!((f - e).abs() < 1e-9, "{f} {e}");
            }
        }
    }

    #[test]
    fn a_rotation_with_noise_is_found_by_three_pairs() {
        let (x, y, shift) = rotated(0.05);
        let pairs: Vec<(u32, u32)> =
            [150, 300, 450].map(|i| (i as u32, (i - shift) as u32)).to_vec();
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let fitted = Rosetta::default().fit(problem, Seed(1), &Silent).unwrap();
        let found = fitted.retrieve(x.view(), 10).unwrap().unwrap();
        let right = (shift..500)
            .filter(|&i| found[i * 10..(i + 1) * 10].contains(&((i - shift) as u32)))
            .count();
        assert!(right > 360, "{right} of 400 have their partner among the first ten");
    }

    #[test]
    fn pools_of_any_lengths_are_matched_one_to_one() {
        for (n, m) in [(600, 70), (70, 600), (1, 5), (513, 512)] {
            let rows = |n: usize, seed: u64| Rows { data: random(n * 3, seed), cols: 3 };
            let pools = Pools { x: rows(n, 1), y: rows(m, 2), centres: Vec::new() };
            let all = ((0..n).collect(), (0..m).collect());
            let map = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
            let found = matched(&pools, &all, &map);
            assert_eq!(found.len(), n.min(m), "{n} {m}");
            let distinct = |rows: Vec<usize>| {
                let mut rows = sorted(rows);
                rows.dedup();
                rows.len()
            };
            assert_eq!(distinct(found.iter().map(|p| p.0).collect()), n.min(m));
            assert_eq!(distinct(found.iter().map(|p| p.1).collect()), n.min(m));
        }
    }
}
