//! MASH: a random walk on both pools, which the pairs join, compared row by row.
//!
//! ```text
//! K = [K_X + I, C; Cᵀ, K_Y + I]   K_X, K_Y: k nearest neighbours with weights that follow the density
//! C: a pair joins its two rows with weight 1, and each of them to the other's neighbours
//! P = D⁻¹K,   u(i) = −ln(ε + (Pᵗ)_i),   ε = 10⁻⁵
//! s_j(x) = −‖u(x) − u(y_j)‖,   (Pᵗ)_x = Σ_i p_i(x) (Pᵗ⁻¹)_i for any row x
//! ```
//!
//! Where walks from a row and from a candidate end up is alike if they belong together. **Choose it**
//! with a hundred pairs or more, on pools that hang together. Each u has an entry for every row of both
//! pools; here it has those of at most `landmarks` rows, drawn at random, so that memory is
//! O((n + m) landmarks), three times 8 bytes of each while it is learned. Cost: O((n² + m²) d) for the
//! graphs, O(t (n + m) k landmarks) for a walk, O(m landmarks) a row.
//!
//! Rustad et al. (2024), *Graph Integration for Diffusion-Based Manifold Alignment*, with the code
//! `rustadadam/mashspud`. What differs: the number of steps is given, where the authors look for a bend
//! in the entropy of all singular values, which costs O((n + m)³); rows that were not in the pool take
//! their first step by their own neighbours; the distances are not embedded in the plane. The authors'
//! search for further pairs afterwards is left out.

use crate::limits::{COUNT, POSITIVE};
use crate::manifold::Pool;
use crate::retrieval::{Folds, Retrieval, Scores};
use crate::subspace::times;
use bridged::settings::Limits;
use bridged::{MatrixRef, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::cancel::carry;
use bridged_math::graph::Graph;
use bridged_math::linalg::View;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name in the list and in errors.
const NAME: &str = "mash";

/// What is added to a probability before its logarithm is taken.
const EPS: f64 = 1e-5;

/// Random walks on both pools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mash {
    /// Neighbours that each row is joined to, or all others where there are fewer.
    pub k: usize,
    /// α in exp(−(d/σ)^α): large ones weigh all neighbours but the last alike.
    pub decay: f64,
    /// t: steps of the walk. Few see what is near the pairs, many forget where they began.
    pub steps: u32,
    /// Rows of both pools at which walks are compared; all where there are fewer.
    pub landmarks: usize,
}

impl Default for Mash {
    fn default() -> Self {
        Self { k: 5, decay: 40.0, steps: 10, landmarks: 1000 }
    }
}

bridged::limits!(Mash {
    k: COUNT,
    decay: POSITIVE,
    steps: Limits::Whole(1, 100_000),
    landmarks: COUNT,
});

impl Mash {
    /// Not in the paper's appendix: the defaults.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }

    /// Rows of both pools, those of y after those of x, ascending.
    fn landmarks(&self, nodes: usize, seed: Seed) -> Vec<usize> {
        let mut order: Vec<usize> = (0..nodes).collect();
        if self.landmarks < nodes {
            order.shuffle(&mut seed.rng());
            order.truncate(self.landmarks);
            order.sort_unstable();
        }
        order
    }
}

/// Both graphs in one, the rows of y after those of x.
fn joined(x: &Graph, y: &Graph, pairs: impl Iterator<Item = (usize, usize)>) -> Graph {
    let n = x.len();
    let own = |graph: &Graph, i: usize, from: usize| -> Vec<(u32, f64)> {
        let edges = graph.edges_of(i).map(|(j, w)| ((from + j) as u32, w));
        edges.chain([((from + i) as u32, 1.0)]).collect()
    };
    let mut lists: Vec<Vec<(u32, f64)>> =
        (0..n).map(|i| own(x, i, 0)).chain((0..y.len()).map(|j| own(y, j, n))).collect();
    let mut join = |i: usize, j: usize, weight: f64| {
        lists[i].push((j as u32, weight));
        lists[j].push((i as u32, weight));
    };
    for (s, t) in pairs {
        join(s, n + t, 1.0);
        x.edges_of(s).for_each(|(i, weight)| join(i, n + t, weight));
        y.edges_of(t).for_each(|(j, weight)| join(s, n + j, weight));
    }
    Graph::from_lists(lists)
}

/// The columns of Pᵗ⁻¹ that are landmarks at the rows of x, and those of Pᵗ at the rows of y.
fn walk(
    graph: &Graph,
    landmarks: &[usize],
    (n, steps): (usize, u32),
    watch: &dyn Watch,
) -> Result<(Vec<f64>, Vec<f64>), MethodError> {
    let stage = Stage::begin(watch, "diffusion", Some(u64::from(steps)))?;
    let width = landmarks.len();
    // P = D^{-1/2} N D^{1/2} for N = D^{-1/2} K D^{-1/2}.
    let mut now = vec![0.0; graph.len() * width];
    for (c, &at) in landmarks.iter().enumerate() {
        now[at * width + c] = 1.0 / graph.scale()[at];
    }
    let mut next = vec![0.0; now.len()];
    for step in 1..steps {
        graph.apply(width, &now, &mut next);
        std::mem::swap(&mut now, &mut next);
        stage.step(u64::from(step))?;
    }
    graph.apply(width, &now, &mut next);
    for values in [&mut now, &mut next] {
        for (row, scale) in values.chunks_exact_mut(width).zip(graph.scale()) {
            row.iter_mut().for_each(|v| *v *= scale);
        }
    }
    now.truncate(n * width);
    now.shrink_to_fit();
    let at_y = next.split_off(n * width);
    stage.step(u64::from(steps))?;
    Ok((now, at_y))
}

/// u of each row of probabilities in place, and its squared length.
fn potentials(probabilities: &mut [f64], width: usize) -> Vec<f64> {
    let row = |row: &mut [f64]| {
        row.iter_mut().for_each(|p| *p = -(EPS + *p).ln());
        row.iter().map(|u| u * u).sum::<f64>()
    };
    probabilities.par_chunks_mut(width).map(carry(row)).collect()
}

struct Fitted {
    pool: Arc<Pool>,
    decay: f64,
    /// Pᵗ⁻¹ at the rows of x, (n, landmarks).
    walks: Vec<f64>,
    /// u of the rows of y, (m, landmarks), and its squared length.
    candidates: (Vec<f64>, Vec<f64>),
    width: usize,
}

impl Method for Mash {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let nodes = (size.x.0 + size.y.0) as f64;
        let width = nodes.min(self.landmarks as f64);
        let k = self.k.min(size.x.0.max(size.y.0)) as f64;
        let lists = 120.0 * nodes * (k + 1.0);
        let graphs = Pool::memory(size.x, self.k).max(Pool::memory(size.y, self.k));
        // The walks of all pairs, and those of a fold with the step that is under way.
        let walks = 8.0 * nodes * width * 3.0;
        (Retrieval::memory(size) + graphs.max(lists + walks)) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        problem.check()?;
        let of_y = Pool::new(problem.y, self.k).kernel(self.decay);
        let pool = Arc::new(Pool::new(problem.x, self.k));
        let of_x = pool.kernel(self.decay);
        let landmarks = self.landmarks(of_x.len() + of_y.len(), seed.child("landmarks"));
        let learn =
            |problem: Problem<'_>, watch: &dyn Watch| -> Result<Box<dyn Scores>, MethodError> {
                let graph = joined(&of_x, &of_y, problem.pairs.iter());
                let (walks, mut at_y) = walk(&graph, &landmarks, (pool.len(), self.steps), watch)?;
                let squared = potentials(&mut at_y, landmarks.len());
                Ok(Box::new(Fitted {
                    pool: Arc::clone(&pool),
                    decay: self.decay,
                    walks,
                    candidates: (at_y, squared),
                    width: landmarks.len(),
                }))
            };
        Retrieval::fit(NAME, problem, 1, Folds::Few, (seed, watch), &learn)
    }
}

impl Scores for Fitted {
    fn scores(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let mut own = self.pool.average(rows, self.decay, &self.walks);
        let squared = potentials(&mut own, self.width);
        let (candidates, of_y) = &self.candidates;
        let m = of_y.len();
        let mut out = times(&own, rows.rows(), View::new(candidates, m, self.width).t(), m);
        for (row, x) in out.chunks_exact_mut(m).zip(&squared) {
            for (v, y) in row.iter_mut().zip(of_y) {
                *v = -(x + y - 2.0 * *v).max(0.0).sqrt();
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::{Matrix, Silent};
    use rand::RngExt;

    #[test]
    fn scores_are_distances_between_rows_of_the_walk_written_out() {
        let mut rng = Seed(2).rng();
        let (n, m, k) = (20, 15, 4);
        let x = Matrix::from_fn(n, 3, |_, _| rng.random());
        let y = Matrix::from_fn(m, 2, |_, _| rng.random());
        let pairs = [(0usize, 2usize), (11, 9), (11, 3)];
        let (of_x, of_y) = (Pool::new(x.view(), k), Pool::new(y.view(), k));
        let (gx, gy) = (of_x.kernel(40.0), of_y.kernel(40.0));
        // K, dense.
        let nodes = n + m;
        let mut kernel = vec![0.0; nodes * nodes];
        for i in 0..n {
            gx.edges_of(i).for_each(|(j, w)| kernel[i * nodes + j] = w);
        }
        for i in 0..m {
            gy.edges_of(i).for_each(|(j, w)| kernel[(n + i) * nodes + n + j] = w);
        }
        let within = kernel.clone();
        for i in 0..nodes {
            kernel[i * nodes + i] = 1.0;
        }
        for (s, t) in pairs {
            let t = n + t;
            for i in 0..nodes {
                let of = if i < n { s } else { t };
                let other = if i < n { t } else { s };
                let weight = within[i * nodes + of];
                kernel[i * nodes + other] += weight;
                kernel[other * nodes + i] += weight;
            }
            kernel[s * nodes + t] += 1.0;
            kernel[t * nodes + s] += 1.0;
        }
        for row in kernel.chunks_exact_mut(nodes) {
            let degree: f64 = row.iter().sum();
            row.iter_mut().for_each(|v| *v /= degree);
        }
        let times = |a: &[f64]| -> Vec<f64> {
            let entry = |at: usize| {
                let (i, j) = (at / nodes, at % nodes);
                (0..nodes).map(|l| kernel[i * nodes + l] * a[l * nodes + j]).sum()
            };
            (0..nodes * nodes).map(entry).collect()
        };
        let before = times(&times(&kernel));
        let last = times(&before);
        let mean = of_x.average(x.view(), 40.0, &before[..n * nodes]);

        let graph = joined(&gx, &gy, pairs.into_iter());
        let landmarks: Vec<usize> = (0..nodes).collect();
        let (walks, mut at_y) = walk(&graph, &landmarks, (n, 4), &Silent).unwrap();
        let squared = potentials(&mut at_y, nodes);
        let candidates = (at_y, squared);
        let fitted = Fitted { pool: Arc::new(of_x), decay: 40.0, walks, candidates, width: nodes };
        let scores = fitted.scores(x.view());
        for i in 0..n {
            for j in 0..m {
                let (a, b) = (&mean[i * nodes..][..nodes], &last[(n + j) * nodes..][..nodes]);
                let u = |p: &f64| -(1e-5 + p).ln();
                let exact = a.iter().zip(b).map(|(a, b)| (u(a) - u(b)).powi(2)).sum::<f64>().sqrt();
                let found = -scores[i * m + j];
                assert!((found - exact).abs() < 1e-5, "{i} {j}: {found} {exact}");
            }
        }
    }

    #[test]
    fn landmarks_are_all_rows_or_some_of_them() {
        let some = Mash { landmarks: 10, ..Mash::default() }.landmarks(50, Seed(1));
        assert_eq!(some.len(), 10);
        assert!(some.windows(2).all(|w| w[0] < w[1]) && some[9] < 50);
        assert_eq!(Mash::default().landmarks(4, Seed(1)), [0, 1, 2, 3]);
    }
}
