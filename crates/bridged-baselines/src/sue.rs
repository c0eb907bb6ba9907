//! SUE: each pool's own slow directions, joined by canonical correlation on the pairs.
//!
//! ```text
//! K v = λ D v          the largest λ of each pool's random walk D⁻¹K (30 nearest neighbours)
//! φ_c(x) = Σ_i p_i(x) v_c(i)   one step of the walk from any row; λ_c v_c(i) for rows i of y
//! A, B: ridge CCA of φ over the pairs, min(components, P − 1) variates
//! s_j(x) = cos(Aᵀ(φ(x) − φ̄), Bᵀ(φ(y_j) − φ̄))
//! ```
//!
//! The slow directions need no pair: they come from the pools alone, and are of about the same meaning
//! on both sides if what is alike on one is alike on the other. The pairs only say which is which.
//! **Choose it** with fifty pairs or more and pools of a thousand rows. The eigenvectors are found once
//! and serve all folds. Cost: O((n² + m²) d) for the graphs, some hundred products with them for the
//! eigenvectors, O(P e²) for the CCA of e directions, O(m · components) a row.
//!
//! Yacobi et al. (2025), *Learning Shared Representations from Unpaired Data* (arXiv 2505.21524). What
//! differs: there, a network learns the eigenvectors (SpectralNet) and so extends them to unseen rows;
//! here they are exact, and a step of the walk extends them. That step multiplies direction c by λ_c,
//! so the same is done on the other side: fast directions, which are mostly noise, count less. The CCA
//! is regularised, which a handful of pairs needs. The network that fits the two distributions to each
//! other in the end (MMD) is left out.

use crate::limits::{COUNT, NOT_NEGATIVE};
use crate::linear::{Thin, left_singular};
use crate::manifold::Pool;
use crate::retrieval::{Folds, Retrieval, Scores};
use crate::subspace::times;
use bridged::{MatrixRef, Scope, Seed, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::linalg::{Krylov, View, krylov_memory, largest_eigenpairs};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name in the list and in errors.
const NAME: &str = "sue";

/// α of the weights: Gaussian ones.
const DECAY: f64 = 2.0;

/// Slow directions of both pools, joined by the pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sue {
    /// Neighbours that each row is joined to, or all others where there are fewer.
    pub k: usize,
    /// Eigenvectors of each pool, or as many as it has rows.
    pub eigenvectors: usize,
    /// Canonical variates; one less than pairs where there are fewer.
    pub components: usize,
    /// The penalty of the CCA, in units of a direction's variance over its pool.
    pub regularization: f64,
}

impl Default for Sue {
    fn default() -> Self {
        Self { k: 30, eigenvectors: 30, components: 8, regularization: 0.1 }
    }
}

bridged::limits!(Sue {
    k: COUNT,
    eigenvectors: COUNT,
    components: COUNT,
    regularization: NOT_NEGATIVE,
});

impl Sue {
    /// Not in the paper's appendix: the defaults.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }

    /// The slow directions at the rows of a pool.
    fn directions(
        &self,
        pool: &Pool,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Directions, MethodError> {
        let (graph, n) = (pool.kernel(DECAY), pool.len());
        let count = self.eigenvectors.min(n);
        let apply = |width: usize, x: &[f64], out: &mut [f64]| graph.apply(width, x, out);
        let options = Krylov { tol: 1e-6, ..Krylov::default() };
        let found = largest_eigenpairs(n, count, apply, options, seed, watch)?.eigen;
        let mut at_rows = vec![0.0; n * count];
        for (c, vector) in found.vectors.chunks_exact(n).enumerate() {
            let mut square = 0.0;
            for (i, (v, scale)) in vector.iter().zip(graph.scale()).enumerate() {
                at_rows[i * count + c] = v * scale;
                square += (v * scale).powi(2) / n as f64;
            }
            let factor = if square > 0.0 { square.sqrt().recip() } else { 0.0 };
            (0..n).for_each(|i| at_rows[i * count + c] *= factor);
        }
        Ok(Directions { at_rows, values: found.values })
    }
}

/// Eigenvectors of a walk with a mean square of 1, (n, count), and their eigenvalues.
struct Directions {
    at_rows: Vec<f64>,
    values: Vec<f64>,
}

impl Directions {
    /// One step of the walk from each row of the pool.
    fn step(mut self) -> Vec<f64> {
        for row in self.at_rows.chunks_exact_mut(self.values.len()) {
            row.iter_mut().zip(&self.values).for_each(|(v, lambda)| *v *= lambda);
        }
        self.at_rows
    }
}

/// What comes from the pools alone.
struct Spectra {
    pool: Arc<Pool>,
    /// The slow directions at the rows of x, (n, count).
    at_x: Arc<Vec<f64>>,
    /// φ at the rows of y, (m, count).
    at_y: Vec<f64>,
}

impl Spectra {
    fn of(
        sue: &Sue,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Self, MethodError> {
        let y = Pool::new(problem.y, sue.k);
        let at_y = sue.directions(&y, seed.child("y"), &Scope::new(watch, "y"))?.step();
        drop(y);
        let pool = Arc::new(Pool::new(problem.x, sue.k));
        let at_x = sue.directions(&pool, seed.child("x"), &Scope::new(watch, "x"))?.at_rows;
        Ok(Self { pool, at_x: Arc::new(at_x), at_y })
    }

    /// Finds by the pairs of a problem which directions belong together.
    fn link(&self, sue: &Sue, problem: Problem<'_>) -> Fitted {
        let (pairs, m) = (problem.pairs.len(), problem.y.rows());
        let inputs = problem.x.select(problem.pairs.iter().map(|p| p.0));
        let x = self.pool.average(inputs.view(), DECAY, &self.at_x);
        let width = self.at_y.len() / m;
        let y = problem.pairs.iter().flat_map(|(_, j)| &self.at_y[j * width..][..width]);
        let (y, penalty) = (y.copied().collect(), sue.regularization * pairs as f64);
        let (map, other) = canonical(pairs, x, y, sue.components.min(pairs - 1), penalty);
        let candidates = other.apply(self.at_y.clone());
        let (pool, at_x) = (Arc::clone(&self.pool), Arc::clone(&self.at_x));
        Fitted { pool, at_x, map, candidates, rows: m }
    }
}

/// Into the shared space: unit rows of (φ − mean) Aᵀ.
struct Map {
    mean: Vec<f64>,
    /// (components, directions).
    a: Vec<f64>,
}

impl Map {
    fn apply(&self, mut rows: Vec<f64>) -> Vec<f64> {
        let width = self.mean.len();
        let (n, kept) = (rows.len() / width, self.a.len() / width);
        subtract(&mut rows, &self.mean);
        let mut out = times(&rows, n, View::new(&self.a, kept, width).t(), kept);
        for row in out.chunks_exact_mut(kept.max(1)) {
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            let factor = if length > 0.0 { 1.0 / length } else { 0.0 };
            row.iter_mut().for_each(|v| *v *= factor);
        }
        out
    }
}

fn subtract(rows: &mut [f64], mean: &[f64]) {
    for row in rows.chunks_exact_mut(mean.len()) {
        row.iter_mut().zip(mean).for_each(|(v, m)| *v -= m);
    }
}

/// The maps of ridge CCA for the rows of the pairs, (pairs, width) on each side: singular vectors of
/// (XᵀX + ρ)^{-1/2} XᵀY (YᵀY + ρ)^{-1/2}, with ρ = `penalty`.
fn canonical(
    pairs: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    components: usize,
    penalty: f64,
) -> (Map, Map) {
    struct Side {
        mean: Vec<f64>,
        thin: Thin,
        roots: Vec<f64>,
    }
    let side = |mut rows: Vec<f64>| {
        let width = rows.len() / pairs;
        let mut mean = vec![0.0; width];
        for row in rows.chunks_exact(width) {
            mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / pairs as f64);
        }
        subtract(&mut rows, &mean);
        // What eigenvectors of mean square 1 differ by this little is rounding.
        let thin = Thin::of(&rows, (pairs, width), 1e-20);
        let roots = thin.singular.iter().map(|s| (s * s + penalty).sqrt()).collect();
        Side { mean, thin, roots }
    };
    let (x, y) = (side(x), side(y));
    let (r, q) = (x.thin.rank, y.thin.rank);
    let mut whitened = x.thin.scaled_overlap(&y.thin);
    for (i, row) in whitened.chunks_exact_mut(q.max(1)).enumerate() {
        let factor = x.thin.singular[i] / x.roots[i];
        row.iter_mut().zip(&y.roots).for_each(|(v, root)| *v *= factor / root);
    }
    let left = left_singular(&whitened, r, q, components); // (kept, r)
    let kept = left.len() / r.max(1);
    let mut right = times(&left, kept, View::new(&whitened, r, q), q); // (kept, q)
    for row in right.chunks_exact_mut(q.max(1)) {
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v /= length);
    }
    let map = |side: Side, mut vectors: Vec<f64>| {
        let (rank, width) = (side.thin.rank, side.mean.len());
        for row in vectors.chunks_exact_mut(rank.max(1)) {
            row.iter_mut().zip(&side.roots).for_each(|(v, root)| *v /= root);
        }
        let a = times(&vectors, kept, View::new(&side.thin.right, rank, width), width);
        Map { mean: side.mean, a }
    };
    (map(x, left), map(y, right))
}

struct Fitted {
    pool: Arc<Pool>,
    /// The slow directions at the rows of x.
    at_x: Arc<Vec<f64>>,
    map: Map,
    /// The rows of y in the shared space, (m, components).
    candidates: Vec<f64>,
    rows: usize,
}

impl Method for Sue {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let side = |(rows, cols): (usize, usize)| {
            let solve = Pool::memory((rows, cols), self.k)
                + krylov_memory(rows, self.eigenvectors.min(rows));
            (solve, 8.0 * rows as f64 * self.eigenvectors.min(rows) as f64)
        };
        let (x, y) = (side(size.x), side(size.y));
        (Retrieval::memory(size) + x.0.max(y.0) + 2.0 * x.1 + 3.0 * y.1) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        problem.check()?;
        let spectra = Spectra::of(self, problem, seed, watch)?;
        let learn = |problem: Problem<'_>, _: &dyn Watch| -> Result<Box<dyn Scores>, MethodError> {
            Ok(Box::new(spectra.link(self, problem)))
        };
        Retrieval::fit(NAME, problem, 2, Folds::Each, (seed, watch), &learn)
    }
}

impl Scores for Fitted {
    fn scores(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let own = self.map.apply(self.pool.average(rows, DECAY, &self.at_x));
        let (n, m) = (rows.rows(), self.rows);
        let kept = self.candidates.len() / m;
        if kept == 0 {
            return vec![0.0; n * m];
        }
        times(&own, n, View::new(&self.candidates, m, kept).t(), m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::{Matrix, Silent};
    use serde_json::Value;

    #[test]
    fn scores_are_those_of_numpy() {
        let golden = include_str!("../../../tests/golden/baselines_graph.json");
        let golden: Value = serde_json::from_str(golden).unwrap();
        for case in golden["sue"].as_array().unwrap() {
            let matrix = |name: &str| {
                let rows: Vec<Vec<f32>> = serde_json::from_value(case[name].clone()).unwrap();
                Matrix::from_rows(&rows)
            };
            let number = |name: &str| case[name].as_u64().unwrap() as usize;
            let pairs: Vec<(u32, u32)> = serde_json::from_value(case["pairs"].clone()).unwrap();
            let (x, y, rows) = (matrix("x"), matrix("y"), matrix("rows"));
            let sue = Sue {
                k: number("k"),
                eigenvectors: number("eigenvectors"),
                components: number("components"),
                regularization: case["regularization"].as_f64().unwrap(),
            };
            let problem = Problem::new(x.view(), y.view(), &pairs);
            let spectra = Spectra::of(&sue, problem, Seed(1), &Silent).unwrap();
            let scores = spectra.link(&sue, problem).scores(rows.view());
            let expected: Vec<Vec<f64>> = serde_json::from_value(case["scores"].clone()).unwrap();
            for (at, (found, exact)) in scores.iter().zip(expected.iter().flatten()).enumerate() {
                assert!((found - exact).abs() < 1e-6, "{at}: {found} {exact}");
            }
        }
    }

    #[test]
    fn equal_rows_prefer_nobody() {
        let x = Matrix::zeros(12, 3);
        let y = Matrix::from_fn(10, 2, |i, j| (i * (j + 1)) as f32);
        let problem = Problem::new(x.view(), y.view(), &[(0, 0), (3, 7), (5, 5)]);
        let sue = Sue { k: 11, ..Sue::default() };
        let spectra = Spectra::of(&sue, problem, Seed(1), &Silent).unwrap();
        let scores = spectra.link(&sue, problem).scores(x.view());
        assert!(scores.iter().all(|s| s.is_finite() && s.abs() < 1.0 + 1e-9));
    }
}
