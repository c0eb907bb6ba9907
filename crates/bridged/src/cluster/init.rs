//! Where iterations start: greedy k-means++, random rows, or centroids that are given.
//!
//! k-means++ (Arthur & Vassilvitskii 2007) draws each next centre with probability proportional to
//! the squared distance to the nearest one so far. The greedy form draws ℓ = 2 + ⌊ln k⌋ candidates
//! and keeps the one that lowers the potential Σ min_j ‖x − c_j‖² most. Cost O(n k ℓ d).
//!
//! On large data the draw is made from a sample of max(16,384, 256 k) rows: the D² weights of so
//! many rows differ from those of all rows by less than two draws do from each other, and the start
//! would otherwise cost more than the iterations that follow.

use crate::cluster::ClusterError;
use bridged_math::distance::Centres;
use bridged_math::seed::Rng;
use bridged_math::{Matrix, MatrixRef, Seed};
use rand::RngExt;
use rand::seq::index;
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
    pub fn centroids(
        &self,
        x: MatrixRef<'_>,
        k: usize,
        seed: Seed,
    ) -> Result<Matrix, ClusterError> {
        match self {
            Init::PlusPlus => Ok(plus_plus(x, k, seed)),
            Init::Random => {
                let rows = index::sample(&mut seed.rng(), x.rows(), k);
                Ok(x.select(rows))
            }
            Init::Given(given) if (given.rows(), given.cols()) == (k, x.cols()) => {
                Ok(given.clone())
            }
            Init::Given(given) => Err(ClusterError::BadInit {
                got_rows: given.rows(),
                got_cols: given.cols(),
                rows: k,
                cols: x.cols(),
            }),
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

fn plus_plus(x: MatrixRef<'_>, k: usize, seed: Seed) -> Matrix {
    let sample = 16_384.max(256 * k);
    if x.rows() <= sample {
        return plus_plus_on(x, k, &mut seed.rng());
    }
    let mut rng = seed.child("sample").rng();
    let mut rows = index::sample(&mut rng, x.rows(), sample).into_vec();
    rows.sort_unstable();
    plus_plus_on(x.select(rows).view(), k, &mut seed.rng())
}

fn plus_plus_on(x: MatrixRef<'_>, k: usize, rng: &mut Rng) -> Matrix {
    let n = x.rows();
    let trials = 2 + (k as f64).ln() as usize;
    let mut chosen = vec![rng.random_range(0..n)];
    let mut closest = squared_distances_to(x, &chosen); // (n)
    while chosen.len() < k {
        let potential: f64 = closest.iter().map(|&v| f64::from(v)).sum();
        if potential <= 0.0 {
            // Fewer distinct rows than clusters: any rows not yet taken will do.
            chosen.extend(
                (0..n).filter(|i| !chosen.contains(i)).take(k - chosen.len()).collect::<Vec<_>>(),
            );
            break;
        }
        let candidates: Vec<usize> =
            (0..trials).map(|_| draw(&closest, rng.random::<f64>() * potential)).collect();
        let distances = squared_distances_to(x, &candidates); // (n, trials)
        let mut potentials = vec![0.0f64; trials];
        for (row, &c) in distances.chunks_exact(trials).zip(&closest) {
            for (p, &d) in potentials.iter_mut().zip(row) {
                *p += f64::from(d.min(c));
            }
        }
        let best = (0..trials)
            .min_by(|&a, &b| potentials[a].total_cmp(&potentials[b]))
            .expect("there are at least two trials");
        for (c, row) in closest.iter_mut().zip(distances.chunks_exact(trials)) {
            *c = c.min(row[best]);
        }
        closest[candidates[best]] = 0.0;
        chosen.push(candidates[best]);
    }
    x.select(chosen)
}

/// The squared distance of every row to each of the rows `to`, (n, to.len()).
fn squared_distances_to(x: MatrixRef<'_>, to: &[usize]) -> Vec<f32> {
    Centres::new(x.select(to.iter().copied()).view()).squared_distances(x)
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

    #[test]
    fn plus_plus_hits_every_well_separated_blob() {
        let x = Matrix::from_fn(300, 2, |i, j| (i % 6) as f32 * 100.0 + (i * (j + 3) % 7) as f32);
        for s in 0..20 {
            let c = Init::PlusPlus.centroids(x.view(), 6, Seed(s)).unwrap();
            let mut blobs: Vec<i32> = (0..6).map(|j| (c.row(j)[0] / 100.0) as i32).collect();
            blobs.sort_unstable();
            assert_eq!(blobs, [0, 1, 2, 3, 4, 5], "seed {s}");
        }
    }

    #[test]
    fn duplicates_leave_enough_centroids() {
        let x = Matrix::zeros(5, 3);
        assert_eq!(Init::PlusPlus.centroids(x.view(), 5, Seed(0)).unwrap().rows(), 5);
    }

    #[test]
    fn given_centroids_must_fit() {
        let x = Matrix::zeros(5, 3);
        let error = Init::Given(Matrix::zeros(2, 4)).centroids(x.view(), 2, Seed(0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the initial centroids are 2 × 4, but 2 × 3 are needed (`k` × the columns of the data)"
        );
    }
}
