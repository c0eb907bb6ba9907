//! GW: match the two pools by their inner distances alone, and take barycentres; and the fused form
//! that also uses the pairs.
//!
//! ```text
//! C1, C2   Euclidean distances within each pool, in standard scores, divided by their mean
//! T      = entropic Gromov–Wasserstein coupling of uniform weights, ε        (crate::transport::gromov)
//! ŷ_i    = Σ_j T_ij y_j / Σ_j T_ij
//! ```
//!
//! `gw` reads no pair: if the spaces have a symmetry, or their shapes differ, it may match them in a
//! way that keeps distances and means nothing. That is the paper's method. `fused-gw` adds
//! M_ij = ‖R(x_i) − y_j‖²/median with the ridge map R of the pairs, weighted 1 − `alpha`.
//!
//! **Rows not seen.** The cost of matching row i to y_j, given T, is
//!
//! ```text
//! cost_j(x) = α · 2 (Σ_l C2_jl² q_l − 2 Σ_k d(x, x_k) (T C2)_kj) + (1 − α) M(x, y_j) + a constant of x
//! ŷ(x)      = Σ_j softmax_j((g_j − cost_j(x))/ε) y_j
//! ```
//!
//! and needs only the distances of x to the pool. With the T of the last iteration's start and the
//! potentials g of its end, a row of the pool gets exactly the barycentre of the coupling.
//!
//! **Units.** Distances have mean 1 on either side, and `eps` is measured in their squares, as in POT.
//! **Cost.** 2 n m (n + m) an iteration; memory n² + m²: for pools of thousands, not more.
//!
//! Peyré, Cuturi & Solomon (2016); Vayer et al. (2020). The published experiment code used the pairs
//! to scale the spaces; here the pools do that, which are larger and need no pairs.

use crate::kernel::squared_distances;
use crate::limits::{POSITIVE, SHARE, check};
use crate::prepare::Standard;
use crate::transport::barycentre::{Barycentre, in_full_bands};
use crate::transport::gromov::{Gromov, Spaces, mean_squares};
use crate::transport::ridge_cost::{RidgeCost, typical};
use crate::transport::sinkhorn::{Eps, on_behalf_of};
use bridged::settings::{ITERATIONS, TOLERANCE};
use bridged::{Matrix, MatrixRef, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::cancel::carry;
use bridged_math::linalg::{Accum, View, par_product};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Entropic Gromov–Wasserstein with a barycentric map; it reads no pair.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Gw;
///
/// // The same shape twice, the second ten times as large and from right to left.
/// let x = Matrix::from_rows(&[[0.0], [1.0], [3.0], [9.0]]);
/// let y = Matrix::from_rows(&[[90.0], [80.0], [60.0], [0.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0)]);
/// let fitted = Gw::default().fit(problem, Seed(0), &Silent)?;
/// let found = fitted.predict(Matrix::from_rows(&[[9.1]]).view())?;
/// assert!(found.row(0)[0] < 5.0);
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gw {
    /// ε in squares of mean distances; `auto` is 5 % of the median of the first cost. Small ones send
    /// a row to few outputs, large ones to the mean of y.
    pub eps: Eps,
    /// Iterations at most, each with a Sinkhorn of its own.
    pub max_iter: u32,
    /// Stops once an iteration moves the coupling by no more than this (Frobenius norm).
    pub tol: f64,
}

/// Fused Gromov–Wasserstein: distances within the pools, and the ridge map of the pairs.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::FusedGw;
///
/// // Distances cannot tell left from right; the pairs can, and say that it is turned round.
/// let x = Matrix::from_rows(&[[-1.0], [1.0], [-1.2], [1.2]]);
/// let y = Matrix::from_rows(&[[-5.0], [5.0], [-6.0], [6.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 1), (1, 0)]);
/// let fitted = FusedGw::default().fit(problem, Seed(0), &Silent)?;
/// let found = fitted.predict(x.view())?;
/// assert!(found.row(2)[0] > 4.9 && found.row(3)[0] < -4.9);
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FusedGw {
    /// The weight of the inner distances, from 0 (EOT) to 1 (GW).
    pub alpha: f64,
    /// As for [`Gw`]; `auto` takes the fused cost.
    pub eps: Eps,
    /// α of the ridge map of the pairs: larger ones shrink it to the mean of the paired outputs.
    pub ridge_alpha: f64,
    /// Iterations at most.
    pub max_iter: u32,
    /// Stops once an iteration moves the coupling by no more than this (Frobenius norm).
    pub tol: f64,
}

impl Default for Gw {
    fn default() -> Self {
        Self { eps: Eps::Auto, max_iter: 200, tol: 1e-7 }
    }
}

impl Default for FusedGw {
    fn default() -> Self {
        Self { alpha: 0.5, eps: Eps::Auto, ridge_alpha: 1e-2, max_iter: 200, tol: 1e-7 }
    }
}

bridged::limits!(Gw { eps: POSITIVE, max_iter: ITERATIONS, tol: TOLERANCE });

bridged::limits!(FusedGw {
    alpha: SHARE,
    eps: POSITIVE,
    ridge_alpha: POSITIVE,
    max_iter: ITERATIONS,
    tol: TOLERANCE,
});

impl Gw {
    /// The 9 settings of the paper.
    pub fn grid() -> Vec<Self> {
        let mut grid = Vec::new();
        for max_iter in [200, 400, 800] {
            for tol in [1e-5, 1e-7, 1e-9] {
                grid.push(Self { max_iter, tol, ..Self::default() });
            }
        }
        grid
    }
}

impl FusedGw {
    /// Not in the paper: how much the pairs count.
    pub fn grid() -> Vec<Self> {
        [0.1, 0.5, 0.9].map(|alpha| Self { alpha, ..Self::default() }).to_vec()
    }
}

impl Method for Gw {
    fn name(&self) -> &'static str {
        "gw"
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        Search::memory(size, false)
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, "gw")?;
        problem.check()?;
        let Self { eps, max_iter, tol } = *self;
        Search { method: "gw", eps, max_iter, tol }.fit(problem, None, watch)
    }
}

impl Method for FusedGw {
    fn name(&self) -> &'static str {
        "fused-gw"
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        Search::memory(size, true)
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        let method = "fused-gw";
        check(self, method)?;
        problem.check()?;
        let Self { alpha, eps, ridge_alpha, max_iter, tol } = *self;
        let (cost, pool) = RidgeCost::fit(method, problem, ridge_alpha)?;
        Search { method, eps, max_iter, tol }.fit(problem, Some((cost, pool, alpha)), watch)
    }
}

/// What both forms share.
struct Search {
    method: &'static str,
    eps: Eps,
    max_iter: u32,
    tol: f64,
}

struct Fitted {
    method: &'static str,
    space: Space,
    /// T C2, (n, m), and Σ_l C2_jl² q_l.
    pulled: Vec<f64>,
    squares: Vec<f64>,
    linear: Option<RidgeCost>,
    alpha: f64,
    map: Barycentre,
}

impl Search {
    /// The bytes of both tables of distances, and of plan, product, costs and kernel between them.
    fn memory(size: ProblemSize, fused: bool) -> u64 {
        let ((n, d), (m, e)) = (size.x, size.y);
        let (n, d, m, e) = (n as f64, d as f64, m as f64, e as f64);
        let between = if fused { 6.0 } else { 5.0 };
        let linear = if fused { RidgeCost::memory(size) } else { 0.0 };
        (8.0 * (n * n + m * m + between * n * m) + 24.0 * (n * d + m * e) + linear) as u64
    }

    fn fit(
        &self,
        problem: Problem<'_>,
        linear: Option<(RidgeCost, Vec<f64>, f64)>,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        let stage = Stage::begin(watch, self.method, Some(u64::from(self.max_iter)))?;
        let (space, c1) = Space::of(problem.x);
        let (_, c2) = Space::of(problem.y);
        let [p, q] = [problem.x, problem.y].map(|pool| vec![1.0 / pool.rows() as f64; pool.rows()]);
        let squares = mean_squares(&c2, &q);
        let linear_cost = linear.as_ref().map(|(_, pool, alpha)| (&pool[..], *alpha));
        let spaces = Spaces { c1: &c1, c2: &c2, p: &p, q: &q, linear: linear_cost };
        let eps = self.eps.or_auto(0.05 * typical(&spaces.first_cost()));
        let solver = Gromov { eps, max_iter: self.max_iter, tol: self.tol, ..Default::default() };
        let found =
            solver.run(spaces, &mut |done| stage.step(done)).map_err(on_behalf_of(self.method))?;
        let (linear, alpha) = match linear {
            Some((cost, _, alpha)) => (Some(cost), alpha),
            None => (None, 1.0),
        };
        let map = Barycentre::new(problem.y, found.g, eps);
        let (method, pulled) = (self.method, found.pulled);
        Ok(Box::new(Fitted { method, space, pulled, squares, linear, alpha, map }))
    }
}

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(self.method, rows, self.space.rows.cols())?;
        Ok(in_full_bands(rows, |rows| self.map.map(self.costs(rows))))
    }
}

impl Fitted {
    /// The costs of rows to every y, up to a constant in each row, (rows, m).
    fn costs(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let (n, m) = (self.space.rows.rows(), self.squares.len());
        let distances = self.space.distances(rows);
        let mut costs = vec![0.0; rows.rows() * m];
        let pulled = View::new(&self.pulled, n, m);
        par_product(View::new(&distances, rows.rows(), n), pulled, Accum::Replace, &mut costs);
        for row in costs.chunks_exact_mut(m) {
            for (c, s) in row.iter_mut().zip(&self.squares) {
                *c = 2.0 * self.alpha * (s - 2.0 * *c);
            }
        }
        if let Some(linear) = &self.linear {
            let linear = linear.of(rows);
            costs.iter_mut().zip(linear).for_each(|(c, l)| *c += (1.0 - self.alpha) * l);
        }
        costs
    }
}

/// A pool as a space: its standard scores, and the mean of their distances.
struct Space {
    standard: Standard,
    rows: Matrix,
    mean: f64,
}

impl Space {
    /// The space and its distances, (n, n).
    fn of(pool: MatrixRef<'_>) -> (Self, Vec<f64>) {
        let standard = Standard::fit(pool);
        let rows = standard.apply(pool);
        let mut space = Self { standard, rows, mean: 1.0 };
        let mut distances = space.distances(pool);
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        // Below this all rows are equal, and what is left is rounding.
        space.mean = if mean > 1e-5 { mean } else { f64::INFINITY };
        distances.iter_mut().for_each(|d| *d /= space.mean);
        (space, distances)
    }

    /// From these rows to those of the pool, (rows, n).
    fn distances(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let scores = self.standard.apply(rows);
        let mut all = squared_distances(scores.view(), self.rows.view());
        let root = |part: &mut [f64]| part.iter_mut().for_each(|d| *d = d.sqrt() / self.mean);
        all.par_chunks_mut(1 << 14).for_each(carry(root));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eot::testing::*;
    use rand::RngExt;

    #[test]
    fn the_grid_is_that_of_the_paper() {
        assert_eq!(Gw::grid().len(), 9);
        let text = r#"{"eps": "auto", "max_iter": 800, "tol": 1e-9}"#;
        assert!(Gw::grid().contains(&serde_json::from_str(text).unwrap()));
    }

    /// Blobs of different sizes and spacing, the second pool a rotation of the first: distances
    /// alone tell which is which.
    fn rotated() -> (Matrix, Matrix) {
        let mut rng = Seed(5).rng();
        let centres = [[0.0, 0.0], [4.0, 0.0], [0.0, 9.0]];
        let x = Matrix::from_fn(60, 2, |i, j| centres[i % 3][j] + rng.random::<f32>() - 0.5);
        let y = Matrix::from_fn(60, 2, |i, j| 3.0 * [-x.row(i)[1], x.row(i)[0]][j] + 40.0);
        (x, y)
    }

    #[test]
    fn without_pairs_it_finds_a_rotation() {
        let (x, y) = rotated();
        let fitted = fit(&Gw::default(), &x, &y, 1);
        assert_eq!(right(&fitted.predict_pool(x.view()).unwrap(), &y, 3), 1.0);
    }

    #[test]
    fn the_pairs_decide_where_distances_cannot() {
        // An equilateral triangle of blobs: any matching keeps the distances.
        let mut rng = Seed(6).rng();
        let mut blob = |i: usize, j: usize| 5.0 * f32::from(i % 3 == j) + rng.random::<f32>();
        let x = Matrix::from_fn(45, 3, &mut blob);
        let y = Matrix::from_fn(30, 3, &mut blob);
        let fused = fit(&FusedGw::default(), &x, &y, 3);
        assert_eq!(right(&fused.predict_pool(x.view()).unwrap(), &y, 3), 1.0);
    }

    #[test]
    fn the_smallest_and_dullest_pools_are_no_trouble() {
        works_on_the_smallest_and_dullest_pools(&Gw::default());
        works_on_the_smallest_and_dullest_pools(&FusedGw::default());
        let eps = Eps::Value(1e-3);
        works_on_the_smallest_and_dullest_pools(&Gw { eps, ..Default::default() });
    }

    #[test]
    fn rows_are_predicted_alone_and_work_can_be_stopped() {
        let fused = FusedGw { max_iter: 5, ..Default::default() };
        for method in [&Gw { max_iter: 5, ..Default::default() } as &dyn Method, &fused] {
            a_row_alone_is_predicted_as_among_others(method);
            can_be_stopped(method);
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        for bad in [0.0, -1.0, f64::NAN] {
            let eps = Eps::Value(bad);
            let said = error(&Gw { eps, ..Default::default() });
            assert!(said.starts_with("gw: `eps` must be above 0 and at most 1e9"), "{said}");
            let said = error(&FusedGw { eps, ..Default::default() });
            assert!(said.starts_with("fused-gw: `eps`"), "{said}");
        }
        let said = error(&FusedGw { alpha: 1.5, ..Default::default() });
        assert!(said.starts_with("fused-gw: `alpha` must be between 0 and 1"), "{said}");
        assert!(error(&Gw { max_iter: 0, ..Default::default() }).starts_with("gw: `max_iter`"));
        assert!(error(&Gw { tol: f64::NAN, ..Default::default() }).starts_with("gw: `tol`"));
    }
}
