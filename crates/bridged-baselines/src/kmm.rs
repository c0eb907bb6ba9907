//! KMM: regression on the pairs, weighted so that they look like the pools.
//!
//! ```text
//! β^X: kernel mean of the paired x = that of the x pool,   β^Y: the same on the y side
//! w = ½ (β^X + β^Y)
//! minimise Σ_i w_i ‖y_i − b − f(x_i)‖² + α ‖f‖²_K,    ŷ(x) = b + f(x)
//! ```
//!
//! Few pairs are never a fair sample of two large pools. Kernel mean matching (`kmm/weights.rs`) makes
//! up for it on each side; kernel ridge regression with the weights does the rest. The two sides
//! are joined by their mean: it keeps the sum within the bounds of both, and a pair that one pool
//! asks for is never lost, while a product may vanish for every pair.
//!
//! **Width.** Rows are standard scores of their pool, and σ is in units of the median heuristic, as
//! in LapRLS: the kernel is exp(−‖a − b‖² / σ²μ²), μ² the median squared distance in the pool
//! ([`Width::relative_gamma`]). The published experiment code took σ = 0.5 and 1 in plain units,
//! where in 1,280 columns every kernel value is 0 and the method returns the mean of y; on this
//! scale the median distance gives e⁻⁴ and e⁻¹. The median heuristic, σ = 1, is the default.
//!
//! Cost: O(m n d) for the kernels of m pairs and n pool rows, O(m³) an iteration of the quadratic
//! program and for the regression. Choose it where pairs were picked with a bias; with a fair
//! sample it is kernel ridge regression.
//!
//! Huang, Smola, Gretton, Borgwardt & Schölkopf, NIPS 2006 (x side only; the paper of bridged
//! clustering matches both).

mod weights;

use crate::kernel::{Width, rbf};
use crate::kernel_ridge::{self, KernelRidge};
use crate::limits::{NOT_NEGATIVE, POSITIVE, check};
use crate::prepare::Standard;
use bridged::{Cancelled, Matrix, MatrixRef, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use serde::{Deserialize, Serialize};
use weights::{Limits, match_means};

/// The name in the list and in errors.
const NAME: &str = "kmm";

/// Kernel ridge regression on pairs that are weighted by kernel mean matching.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Kmm;
///
/// // Three pairs near 0 and one near 9, where most of the pool is: far away, that one counts more.
/// let x = Matrix::from_fn(30, 1, |i, _| if i < 3 { i as f32 * 0.1 } else { 9.0 });
/// let y = Matrix::from_fn(30, 1, |i, _| if i < 3 { -1.0 } else { 1.0 });
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 1), (2, 2), (3, 3)]);
/// let kmm = Kmm::default().fit(problem, Seed(0), &Silent)?;
/// let far = kmm.predict(Matrix::from_rows(&[[1e4]]).view())?;
/// assert!((far.data()[0] - 0.8).abs() < 0.02); // 27 of 30 rows are 1: the mean of the pool
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kmm {
    /// α, the ridge: how much the fit is held back towards the weighted mean of the outputs.
    pub alpha: f64,
    /// B (`kmm_B` in the paper's table), the largest weight of a pair; 1 weighs all the same. As the
    /// weights of m pairs sum to about m, it binds only below m.
    pub bound: f64,
    /// ε (`kmm_eps`): the mean weight may differ from 1 by this much.
    pub eps: f64,
    /// How wide the kernels are (`sigma`), for the weights of both sides and for the regression.
    /// `Sigma` is in units of the median heuristic; `Gamma` acts on standard scores.
    pub width: Width,
}

impl Default for Kmm {
    fn default() -> Self {
        Self { alpha: 0.1, bound: 1000.0, eps: 1e-2, width: Width::Median }
    }
}

bridged::limits!(Kmm { alpha: POSITIVE, bound: POSITIVE, eps: NOT_NEGATIVE, width: POSITIVE });

impl Kmm {
    /// The paper's grid, 16 settings.
    pub fn grid() -> Vec<Self> {
        let mut grid = Vec::new();
        for alpha in [1e-2, 1e-1] {
            for bound in [100.0, 1000.0] {
                for eps in [1e-3, 1e-2] {
                    for sigma in [0.5, 1.0] {
                        grid.push(Self { alpha, bound, eps, width: Width::Sigma(sigma) });
                    }
                }
            }
        }
        grid
    }
}

/// One side: its paired rows as standard scores of the pool, their kernel and their weights.
struct ReweightedPairs {
    standard: Standard,
    rows: Matrix,
    gamma: f64,
    kernel: Vec<f64>,  // (m, m)
    weights: Vec<f64>, // (m), β
}

impl ReweightedPairs {
    fn fit(
        spec: &Kmm,
        pool: MatrixRef<'_>,
        paired: impl IntoIterator<Item = usize>,
        tick: impl FnMut() -> Result<(), Cancelled>,
    ) -> Result<Self, MethodError> {
        let standard = Standard::fit(pool);
        let pool = standard.apply(pool);
        let rows = pool.view().select(paired);
        let gamma = spec.width.relative_gamma(pool.view());
        let kernel = rbf(rows.view(), rows.view(), gamma);
        let share = rows.rows() as f64 / pool.rows() as f64;
        let across = rbf(rows.view(), pool.view(), gamma);
        let kappa: Vec<f64> =
            across.chunks_exact(pool.rows()).map(|r| share * r.iter().sum::<f64>()).collect();
        let limits = Limits { bound: spec.bound, eps: spec.eps };
        let weights = match_means(NAME, &kernel, &kappa, limits, tick)?;
        Ok(Self { standard, rows, gamma, kernel, weights })
    }
}

struct Fitted {
    standard: Standard,
    rows: Matrix,
    gamma: f64,
    ridge: KernelRidge,
}

impl Method for Kmm {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let pairs = size.pairs as f64;
        let side = |(n, d): (usize, usize)| {
            let (n, d) = (n as f64, d as f64);
            4.0 * n * d + 8.0 * (2.0 * pairs * n + n * d) + 1.6e7
        };
        // The quadratic program holds its matrix, a factor and their patterns.
        (side(size.x).max(side(size.y)) + 8.0 * 14.0 * pairs * pairs) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, NAME)?;
        problem.check()?;
        let stage = Stage::begin(watch, NAME, None)?;
        let mut steps = 0;
        let mut tick = || {
            steps += 1;
            stage.step(steps)
        };
        let x =
            ReweightedPairs::fit(self, problem.x, problem.pairs.iter().map(|(x, _)| x), &mut tick)?;
        let y =
            ReweightedPairs::fit(self, problem.y, problem.pairs.iter().map(|(_, y)| y), &mut tick)?;
        let weights: Vec<f64> =
            x.weights.iter().zip(&y.weights).map(|(a, b)| 0.5 * (a + b)).collect();
        let outputs = problem.y.select(problem.pairs.iter().map(|(_, y)| y));
        let ridge =
            kernel_ridge::fit(&x.kernel, weights.len(), Some(&weights), self.alpha, outputs.view())
                .map_err(|e| MethodError::NoSolution {
                    method: NAME,
                    reason: format!("the ridge `alpha` = {} is lost in rounding ({e})", self.alpha),
                    remedy: "raise it to 1e-8 or more".to_string(),
                })?;
        Ok(Box::new(Fitted { standard: x.standard, rows: x.rows, gamma: x.gamma, ridge }))
    }
}

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(NAME, rows, self.standard.cols())?;
        let kernel = rbf(self.standard.apply(rows).view(), self.rows.view(), self.gamma);
        Ok(self.ridge.predict(&kernel, rows.rows()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Silent;
    use bridged::metrics::mse;
    use bridged::synth::{Mixture, Pairs, Sizes};

    fn fit(spec: &Kmm, problem: Problem<'_>) -> Box<dyn Predictor> {
        spec.fit(problem, Seed(0), &Silent).unwrap()
    }

    #[test]
    fn weights_make_up_for_pairs_that_are_not_a_fair_sample() {
        // Eight pairs of the first group and two of the second; in the pool it is one to nine.
        let pool = Matrix::from_fn(100, 2, |i, j| {
            let centre = if i < 10 { 0.0 } else { 6.0 };
            centre + ((i * 7 + j * 3) % 5) as f32 * 0.1
        });
        let spec = Kmm { eps: 0.0, ..Kmm::default() };
        let side =
            ReweightedPairs::fit(&spec, pool.view(), (0..8).chain(50..52), || Ok(())).unwrap();
        let second: f64 = side.weights[8..].iter().sum();
        assert!((8.0..9.5).contains(&second), "{:?}", side.weights); // unweighted: 2
    }

    #[test]
    fn every_setting_of_the_grid_sees_something_in_1280_columns() {
        let mixture =
            Mixture { classes: 3, dim_x: 1280, dim_y: 40, separation: 60.0, ..Default::default() };
        let sizes = Sizes { x: 60, y: 30, test: 30, pairs: Pairs::Stratified(2) };
        let s = mixture.draw(sizes, Seed(3));
        let problem = Problem::new(s.x.view(), s.y.view(), &s.pairs);
        let mean = Matrix::from_fn(30, 40, |_, j| s.y.view().mean_row()[j] as f32);
        let constant = mse(mean.view(), s.test_y.view()).unwrap();
        let grid = Kmm::grid();
        assert_eq!(grid.len(), 16);
        for spec in grid.iter().chain([&Kmm::default()]) {
            let predicted = fit(spec, problem).predict(s.test_x.view()).unwrap();
            let error = mse(predicted.view(), s.test_y.view()).unwrap();
            assert!(error < 0.8 * constant, "{spec:?}: {error} of {constant}");
            let back = fit(spec, problem.flip()).predict(s.test_y.view()).unwrap();
            assert!(back.data().iter().all(|v| v.is_finite()));
        }
    }

    #[test]
    fn degenerate_pools_give_finite_answers() {
        let constant = Matrix::from_fn(5, 3, |_, _| 4.0);
        let one = Matrix::from_rows(&[[1.0], [1.0], [3.0], [1.0], [1.0]]);
        let pairs: &[&[(u32, u32)]] =
            &[&[(0, 0)], &[(0, 0), (1, 1), (3, 4)], &[(0, 2), (0, 1), (2, 2)]];
        for (x, y) in [(&constant, &one), (&one, &constant), (&one, &one), (&constant, &constant)] {
            for pairs in pairs {
                for spec in Kmm::grid().iter().chain([&Kmm::default()]) {
                    let fitted = fit(spec, Problem::new(x.view(), y.view(), pairs));
                    let predicted = fitted.predict(x.view()).unwrap();
                    assert!(predicted.data().iter().all(|v| v.is_finite()));
                    if pairs.len() == 1 {
                        assert_eq!(predicted.row(4), y.row(0));
                    }
                }
            }
        }
        let single = Matrix::from_rows(&[[2.0]]);
        let fitted = fit(&Kmm::default(), Problem::new(single.view(), single.view(), &[(0, 0)]));
        assert_eq!(fitted.predict(single.view()).unwrap().data(), [2.0]);
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let s = Mixture { dim_x: 70, ..Mixture::default() }
            .draw(Sizes { x: 600, y: 200, test: 20, pairs: Pairs::Stratified(3) }, Seed(4));
        let problem = Problem::new(s.x.view(), s.y.view(), &s.pairs);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit(&Kmm::default(), problem).predict(s.test_x.view()).unwrap())
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn a_row_is_predicted_the_same_alone() {
        let s = Mixture::default()
            .draw(Sizes { x: 80, y: 60, test: 70, pairs: Pairs::Stratified(3) }, Seed(2));
        let fitted = fit(&Kmm::default(), Problem::new(s.x.view(), s.y.view(), &s.pairs));
        let all = fitted.predict(s.test_x.view()).unwrap();
        for i in [0, 33, 69] {
            let alone = fitted.predict(s.test_x.view().slice(i..i + 1)).unwrap();
            for (a, b) in alone.data().iter().zip(all.row(i)) {
                assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{a} {b}");
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_remedy() {
        let x = Matrix::from_fn(6, 2, |i, j| (i * i + j) as f32);
        let problem = Problem::new(x.view(), x.view(), &[(0, 0), (3, 3)]);
        let error = |spec: Kmm| match spec.fit(problem, Seed(0), &Silent) {
            Err(e) => e.to_string(),
            Ok(_) => panic!("{spec:?} was fitted"),
        };
        let default = Kmm::default;
        assert_eq!(
            error(Kmm { alpha: 0.0, ..default() }),
            "kmm: `alpha` must be above 0 and at most 1e9, got 0"
        );
        assert_eq!(
            error(Kmm { eps: -1.0, ..default() }),
            "kmm: `eps` must be between 0 and 1e9, got -1"
        );
        assert_eq!(
            error(Kmm { width: Width::Sigma(0.0), ..default() }),
            "kmm: `width` must be above 0 and at most 1e9, got 0"
        );
        let impossible = error(Kmm { bound: 0.5, ..default() });
        assert!(impossible.ends_with("raise `bound` to 1 or more"), "{impossible}");
    }
}
