//! Where iterations start: greedy k-means++, random rows, or centroids that are given.
//!
//! k-means++ (Arthur & Vassilvitskii 2007) draws each next centre with probability proportional to
//! the squared distance to the nearest one so far. The greedy form draws ℓ = 2 + ⌊ln k⌋ candidates
//! and keeps the one that lowers the potential Σ min_j ‖x − c_j‖² most. Cost O(n k ℓ d).
//!
//! On large data the draw is made from a sample of max(16,384, 256 k) rows: the D² weights of so
//! many rows differ from those of all rows by less than two draws do from each other, and the start
//! would otherwise cost more than the iterations that follow.

use super::kmeans::Scatter;
use crate::cluster::ClusterError;
use bridged_math::cancel::carry;
use bridged_math::distance::Centres;
use bridged_math::rows::select_in_order;
use bridged_math::seed::Rng;
use bridged_math::{Matrix, MatrixRef, Rows, Seed, chunks};
use rand::RngExt;
use rand::seq::index;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How the first centroids are found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// Greedy k-means++.
    #[default]
    PlusPlus,
    /// Distinct rows, drawn uniformly.
    Random,
    /// These centroids, (k, d); every restart is then the same, so one is made.
    Given(Matrix),
}

impl Init {
    /// The first centroids, (k, d). The data are finite and `k` is at most their rows.
    pub fn centroids(&self, rows: &dyn Rows, k: usize, seed: Seed) -> Result<Matrix, ClusterError> {
        match self {
            Init::PlusPlus => {
                if let Some(x) = rows.in_memory() {
                    return Ok(plus_plus(x, None, k, &[seed], Keep::Centroids).remove(0).centroids);
                }
                // As in memory: on all rows if they are few, else on a sample.
                let few = rows.rows() <= sample_of(k);
                let chosen =
                    if few { (0..rows.rows()).collect() } else { sample(rows.rows(), k, seed) };
                let chosen = rows.select(&chosen)?;
                let mut one = plus_plus_on(chosen.view(), None, k, &[seed], Keep::Centroids);
                Ok(one.remove(0).centroids)
            }
            Init::Random => {
                let drawn = index::sample(&mut seed.rng(), rows.rows(), k).into_vec();
                Ok(select_in_order(rows, &drawn)?)
            }
            Init::Given(given) if (given.rows(), given.cols()) == (k, rows.cols()) => {
                Ok(given.clone())
            }
            Init::Given(given) => Err(ClusterError::BadInit {
                got_rows: given.rows(),
                got_cols: given.cols(),
                rows: k,
                cols: rows.cols(),
            }),
        }
    }

    /// The first centroids of several runs, each what [`Init::centroids`] gives for its seed;
    /// on small data the draws of all runs share their distance computations.
    pub(super) fn starts(
        &self,
        x: MatrixRef<'_>,
        scatter: &Scatter,
        k: usize,
        seeds: &[Seed],
    ) -> Result<Vec<Start>, ClusterError> {
        if *self == Init::PlusPlus && x.rows() <= sample_of(k) {
            let origin = Origin { x, scatter, weights: None };
            return Ok(plus_plus_from(&origin, k, seeds, Keep::Distances));
        }
        let start = |seed: &Seed| {
            Ok(Start { centroids: self.centroids(&x, k, *seed)?, half_distances: None })
        };
        seeds.iter().map(start).collect()
    }

    /// The first centroids where row i counts `weights[i]` times; the weights are positive.
    pub(super) fn weighted(
        &self,
        x: MatrixRef<'_>,
        weights: &[f32],
        k: usize,
        seed: Seed,
    ) -> Result<Matrix, ClusterError> {
        match self {
            Init::PlusPlus => {
                let mut one = plus_plus(x, Some(weights), k, &[seed], Keep::Centroids);
                Ok(one.remove(0).centroids)
            }
            Init::Random => {
                // The k largest of ln(u)/w are a draw without replacement (Efraimidis & Spirakis).
                let mut rng = seed.rng();
                let mut keys: Vec<(f64, usize)> = (weights.iter().enumerate())
                    .map(|(i, &w)| (rng.random::<f64>().ln() / f64::from(w), i))
                    .collect();
                keys.sort_by(|a, b| b.0.total_cmp(&a.0));
                Ok(x.select(keys[..k].iter().map(|&(_, i)| i)))
            }
            Init::Given(_) => self.centroids(&x, k, seed),
        }
    }

    /// How many of `restarts` differ from each other.
    pub fn useful_restarts(&self, restarts: u32) -> u32 {
        match self {
            Init::Given(_) => 1,
            _ => restarts.max(1),
        }
    }
}

/// Where a run starts.
pub(super) struct Start {
    pub centroids: Matrix,
    /// ½‖x − c‖² of every row to each of them, (n, k), where the draw came by it.
    pub half_distances: Option<Vec<f32>>,
}

/// What a draw hands back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Centroids,
    Distances,
}

/// The draw is made from at most this many rows.
pub(super) fn sample_of(k: usize) -> usize {
    16_384.max(256 * k)
}

/// The rows of such a draw among n, ascending.
fn sample(n: usize, k: usize, seed: Seed) -> Vec<usize> {
    let mut rows = index::sample(&mut seed.child("sample").rng(), n, sample_of(k)).into_vec();
    rows.sort_unstable();
    rows
}

fn plus_plus(
    x: MatrixRef<'_>,
    weights: Option<&[f32]>,
    k: usize,
    seeds: &[Seed],
    keep: Keep,
) -> Vec<Start> {
    if x.rows() <= sample_of(k) {
        return plus_plus_on(x, weights, k, seeds, keep);
    }
    let start = |seed: &Seed| {
        let rows = sample(x.rows(), k, *seed);
        let weights = weights.map(|w| rows.iter().map(|&i| w[i]).collect::<Vec<f32>>());
        plus_plus_on(x.select(rows).view(), weights.as_deref(), k, &[*seed], Keep::Centroids)
    };
    seeds.iter().flat_map(start).collect()
}

fn plus_plus_on(
    x: MatrixRef<'_>,
    weights: Option<&[f32]>,
    k: usize,
    seeds: &[Seed],
    keep: Keep,
) -> Vec<Start> {
    let scatter = Scatter::of(x);
    plus_plus_from(&Origin { x, scatter: &scatter, weights }, k, seeds, keep)
}

fn plus_plus_from(from: &Origin<'_>, k: usize, seeds: &[Seed], keep: Keep) -> Vec<Start> {
    let Origin { x, weights, .. } = *from;
    let n = x.rows();
    let trials = 2 + (k as f64).ln() as usize;
    let mut draws: Vec<Draw> = seeds
        .iter()
        .map(|seed| {
            let mut rng = seed.rng();
            let first = match weights {
                None => rng.random_range(0..n),
                Some(w) => {
                    draw(w, rng.random::<f64>() * w.iter().map(|&w| f64::from(w)).sum::<f64>())
                }
            };
            let kept = (keep == Keep::Distances).then(|| vec![0.0; n * k]);
            Draw { k, rng, chosen: vec![first], closest: vec![f32::INFINITY; n], kept }
        })
        .collect();
    let first: Vec<usize> = draws.iter().map(|d| d.chosen[0]).collect();
    let distances = from.squared_distances(&first); // (n, runs)
    let take = |(at, draw): (usize, &mut Draw)| draw.take(&distances, first.len(), at);
    draws.par_iter_mut().enumerate().for_each(carry(take));
    for _ in 1..k {
        let candidates: Vec<usize> =
            draws.par_iter_mut().flat_map_iter(|d| d.candidates(trials)).collect();
        let distances = from.squared_distances(&candidates); // (n, runs · trials)
        let choose = |(at, draw): (usize, &mut Draw)| {
            draw.choose(&distances, &candidates, at * trials, trials);
        };
        draws.par_iter_mut().enumerate().for_each(carry(choose));
    }
    let start = |d: Draw| Start { centroids: x.select(d.chosen), half_distances: d.kept };
    draws.into_iter().map(start).collect()
}

/// One run's draw under way.
struct Draw {
    k: usize,
    rng: Rng,
    chosen: Vec<usize>,
    closest: Vec<f32>,      // (n), the squared distance to the nearest chosen row
    kept: Option<Vec<f32>>, // (n, k), half the squared distances to the chosen rows
}

impl Draw {
    /// Rows drawn with probability proportional to the distance.
    fn candidates(&mut self, trials: usize) -> Vec<usize> {
        let potential: f64 = self.closest.iter().map(|&v| f64::from(v)).sum();
        if potential <= 0.0 {
            // Fewer distinct rows than clusters: any row not yet taken will do.
            let any = (0..self.closest.len()).find(|i| !self.chosen.contains(i));
            return vec![any.expect("k is at most the number of rows"); trials];
        }
        (0..trials).map(|_| draw(&self.closest, self.rng.random::<f64>() * potential)).collect()
    }

    /// Chooses the best of the candidates whose distances are in `trials` columns from `at` on.
    fn choose(&mut self, distances: &[f32], candidates: &[usize], at: usize, trials: usize) {
        let mut potentials = vec![0.0f64; trials];
        for (row, &c) in distances.chunks_exact(candidates.len()).zip(&self.closest) {
            for (p, &d) in potentials.iter_mut().zip(&row[at..]) {
                *p += f64::from(d.min(c));
            }
        }
        let best = (0..trials)
            .min_by(|&a, &b| potentials[a].total_cmp(&potentials[b]))
            .expect("there are at least two trials");
        self.chosen.push(candidates[at + best]);
        self.take(distances, candidates.len(), at + best);
    }

    /// Lowers the distances to those of the row chosen last, in column `at` of `width`.
    fn take(&mut self, distances: &[f32], width: usize, at: usize) {
        for (c, row) in self.closest.iter_mut().zip(distances.chunks_exact(width)) {
            *c = c.min(row[at]);
        }
        let last = self.chosen.len() - 1;
        self.closest[self.chosen[last]] = 0.0;
        if let Some(kept) = &mut self.kept {
            let rows = kept.chunks_exact_mut(self.k).zip(distances.chunks_exact(width));
            rows.for_each(|(kept, row)| kept[last] = 0.5 * row[at]);
        }
    }
}

/// Distances between rows, with what does not change from draw to draw computed once.
struct Origin<'a> {
    x: MatrixRef<'a>,
    scatter: &'a Scatter,
    /// How much each row counts. min_j w d_j = w min_j d_j, so weighted distances are all it takes.
    weights: Option<&'a [f32]>,
}

impl Origin<'_> {
    /// The weighted squared distance of every row to each of the rows `to`, (n, to.len()).
    fn squared_distances(&self, to: &[usize]) -> Vec<f32> {
        let to = self.x.select(to.iter().copied());
        let centres = Centres::with_shift(to, self.scatter.mean.clone());
        let k = centres.len();
        let mut out = vec![0.0f32; self.x.rows() * k];
        chunks::for_each_part_mut(&mut out, k, |range, out| {
            let base = &self.scatter.squares[range.clone()];
            let weights = self.weights.map(|w| &w[range.clone()]);
            centres.for_each_scores(self.x.slice(range), |i, scores| {
                let weight = weights.map_or(1.0, |w| w[i]);
                for (o, &s) in out[i * k..(i + 1) * k].iter_mut().zip(scores) {
                    *o = weight * (base[i] + 2.0 * f64::from(s)).max(0.0) as f32;
                }
            });
        });
        out
    }
}

/// The first position at which the running sum of `weights` exceeds `at`; never one of weight 0.
fn draw(weights: &[f32], at: f64) -> usize {
    let mut sum = 0.0;
    let mut last = 0;
    for (i, &w) in weights.iter().enumerate() {
        if w > 0.0 {
            sum += f64::from(w);
            last = i;
            if sum > at {
                break;
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::distance::squared_distance;

    #[test]
    fn plus_plus_hits_every_well_separated_blob() {
        let x = Matrix::from_fn(300, 2, |i, j| (i % 6) as f32 * 100.0 + (i * (j + 3) % 7) as f32);
        for s in 0..20 {
            let c = Init::PlusPlus.centroids(&x.view(), 6, Seed(s)).unwrap();
            let mut blobs: Vec<i32> = (0..6).map(|j| (c.row(j)[0] / 100.0) as i32).collect();
            blobs.sort_unstable();
            assert_eq!(blobs, [0, 1, 2, 3, 4, 5], "seed {s}");
        }
    }

    #[test]
    fn duplicates_leave_enough_centroids() {
        let x = Matrix::zeros(5, 3);
        assert_eq!(Init::PlusPlus.centroids(&x.view(), 5, Seed(0)).unwrap().rows(), 5);
    }

    #[test]
    fn starts_are_those_of_single_draws_and_know_their_distances() {
        let mut rng = Seed(5).rng();
        let x = Matrix::from_fn(700, 9, |_, _| 20.0 + rng.random::<f32>());
        let seeds: Vec<Seed> = (0..4).map(|r| Seed(1).nth(r)).collect();
        let starts = Init::PlusPlus.starts(x.view(), &Scatter::of(x.view()), 6, &seeds).unwrap();
        for (start, seed) in starts.into_iter().zip(seeds) {
            assert_eq!(start.centroids, Init::PlusPlus.centroids(&x.view(), 6, seed).unwrap());
            let half = start.half_distances.expect("few rows: no sample was drawn");
            for (at, h) in half.into_iter().enumerate() {
                let exact = squared_distance(x.row(at / 6), start.centroids.row(at % 6));
                assert!((2.0 * f64::from(h) - exact).abs() < 1e-4, "{h} {exact}");
            }
        }
    }

    #[test]
    fn given_centroids_must_fit() {
        let x = Matrix::zeros(5, 3);
        let error = Init::Given(Matrix::zeros(2, 4)).centroids(&x.view(), 2, Seed(0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the initial centroids are 2 × 4, but 2 × 3 are needed (`k` × the columns of the data)"
        );
    }
}
