//! LapRLS: Laplacian-regularised least squares (Belkin, Niyogi & Sindhwani 2006, JMLR 7, §4.2).
//!
//! A function of a kernel space that fits the l pairs, is small, and changes little along the edges
//! of a neighbour graph of all n rows of the x pool:
//!
//! ```text
//! minimise 1/l Σ_i ‖y_i − b − f(x_i)‖² + γ_A ‖f‖²_K + γ_I tr(FᵀLF) / v,   F = f at the n rows
//! f(x) = Σ_{j ≤ n} k(x, x_j) α_j,   (Q K + γ_A l I) α = SᵀY,   Q = SᵀS + (γ_I l / v) L
//! ```
//!
//! where S (l, n) selects the paired rows and b is the mean of the paired outputs; `laprls/manifold.rs` solves
//! it exactly. Y only enters linearly: the system is solved for the l pairs, not for the outputs,
//! and α = A Y is kept as its two factors. Cost O(n² d + 2 n³), memory three n × n matrices; a
//! prediction O(n (d + l) + l · outputs) a row. Choose it when the groups of x are connected and
//! well apart, and pairs are few.
//!
//! What differs from Belkin et al. and from a plain reading of the paper's grid, and why:
//!
//! - Inputs are standard scores of the pool, and σ is in units of the median heuristic: the kernel
//!   is exp(−‖a − b‖² / σ²μ²), μ² the median squared distance. With σ = 0.5, 1 or 2 on raw scores in
//!   1,280 dimensions K would be the identity; on this scale a median distance gives e⁻⁴, e⁻¹, e^−¼.
//!   The heat weights of the graph are the same function.
//! - v is what makes the last term a mean over edges: Σ_ij W_ij for the plain Laplacian D − W, n for
//!   the normalised one. The (l + u)² of Belkin et al. is the same for a complete graph of unit
//!   weights; for a neighbour graph, which has only about n k edges, it would weaken the term by n/k.

mod manifold;

pub use manifold::{Kernel, Laplacian};

use crate::kernel::{Width, rbf};
use crate::limits::{COUNT, NOT_NEGATIVE, POSITIVE, check};
use crate::prepare::{Paired, Standard};
use crate::subspace::{centred, times};
use bridged::{Matrix, MatrixRef, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::graph::Graph;
use bridged_math::linalg::{Accum, View, par_product};
use manifold::{Energy, smooth};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "laprls";

/// Kernel least squares that are smooth along the x pool.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Laprls;
///
/// // Two chains of rows; the pairs are at the left end of one and the right end of the other.
/// let x = Matrix::from_fn(40, 2, |i, j| if j == 0 { (i % 20) as f32 } else { (i / 20 * 8) as f32 });
/// let y = Matrix::from_rows(&[[-1.0], [1.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (39, 1)]);
/// let spec = Laprls { k: 2, ..Default::default() };
/// let predicted = spec.fit(problem, Seed(0), &Silent)?.predict(x.view())?;
/// assert!((0..40).all(|i| (predicted.data()[i] > 0.0) == (i >= 20)));
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Laprls {
    /// γ_A, the penalty on the size of f; must be positive. More pulls predictions towards the mean
    /// of the paired outputs.
    pub lam: f64,
    /// γ_I, the penalty on differences along the graph; 0 is kernel ridge on the pairs alone.
    pub gamma: f64,
    /// Nearest neighbours of a row in the graph, or all others where there are fewer.
    pub k: usize,
    /// The width of the radial kernel and of the heat weights. `Sigma` is in units of the median
    /// heuristic, so that 1 is the default; `Gamma` acts on standard scores.
    pub width: Width,
    /// The kernel of the function space.
    pub kernel: Kernel,
    /// The operator that measures smoothness.
    pub laplacian: Laplacian,
    /// Whether the mean of the paired outputs is taken out first and added again. Without it
    /// predictions far from the pairs go to 0.
    pub intercept: bool,
}

impl Default for Laprls {
    fn default() -> Self {
        Self {
            lam: 1e-3,
            gamma: 1.0,
            k: 10,
            width: Width::Median,
            kernel: Kernel::Rbf,
            laplacian: Laplacian::Plain,
            intercept: true,
        }
    }
}

bridged::limits!(Laprls { lam: POSITIVE, gamma: NOT_NEGATIVE, k: COUNT, width: POSITIVE });

impl Laprls {
    /// The grid of the paper's appendix, 81 settings.
    pub fn grid() -> Vec<Self> {
        let mut grid = Vec::with_capacity(81);
        for lam in [1e-5, 1e-3, 1e-1] {
            for gamma in [1e-3, 1e-1, 1.0] {
                for k in [5, 10, 20] {
                    for sigma in [0.5, 1.0, 2.0] {
                        let width = Width::Sigma(sigma);
                        grid.push(Self { lam, gamma, k, width, ..Self::default() });
                    }
                }
            }
        }
        grid
    }
}

impl Method for Laprls {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let (n, d, pairs) = (size.x.0 as f64, size.x.1 as f64, size.pairs as f64);
        let graph = Graph::memory(size.x.0, size.x.1, self.k);
        let solve = match self.kernel {
            // K, its factor and its copies while it is made, G and Q G, and the system they make.
            Kernel::Rbf => 8.0 * (4.0 * n * n + 4.0 * n * pairs + 2.0 * n * d),
            Kernel::Linear => {
                let m = d.min(n);
                8.0 * (4.0 * n * m + 3.0 * m * m + 4.0 * n * pairs + n * d)
            }
        };
        (4.0 * n * d + graph.max(28.0 * n * self.k.min(size.x.0) as f64 + solve) + 3.2e7) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, NAME)?;
        problem.check()?;
        let stage = Stage::begin(watch, NAME, Some(4))?;
        let standard = Standard::fit(problem.x);
        let z = standard.apply(problem.x);
        let gamma = self.width.relative_gamma(z.view());
        let graph = Graph::nearest_neighbors(z.view(), self.k, |squared| (-gamma * squared).exp());
        stage.step(1)?;
        let energy = Energy::new(&graph, self.laplacian, self.gamma);
        let basis = self.kernel.basis(z.view(), gamma).map_err(|_| no_solution())?;
        stage.step(2)?;
        let Paired { y, .. } = Paired::of(problem);
        let paired: Vec<usize> = problem.pairs.iter().map(|(x, _)| x).collect();
        let alpha = smooth(&basis, &energy, &paired, self.lam).map_err(|_| no_solution())?;
        stage.step(3)?;
        let function = match self.kernel {
            Kernel::Rbf => Function::Expansion { rows: z, gamma, alpha },
            Kernel::Linear => Function::linear(z.view(), &alpha, paired.len()),
        };
        let mean = if self.intercept { y.view().mean_row() } else { vec![0.0; y.cols()] };
        let y = centred(y.view(), &mean);
        stage.step(4)?;
        Ok(Box::new(Fitted { standard, function, pairs: paired.len(), y, mean }))
    }
}

fn no_solution() -> MethodError {
    MethodError::NoSolution {
        method: NAME,
        reason: "the penalty is lost in rounding beside the kernel".to_string(),
        remedy: "take a larger `lam`".to_string(),
    }
}

/// f / Y: a row's answer is this, (pairs), times the centred outputs of the pairs.
enum Function {
    /// Σ_j k(x, x_j) A_j, for A (n, pairs).
    Expansion { rows: Matrix, gamma: f64, alpha: Vec<f64> },
    /// xᵀ W, for W (d, pairs).
    Linear { weights: Vec<f64> },
}

impl Function {
    /// W = ZᵀA / d.
    fn linear(z: MatrixRef<'_>, alpha: &[f64], pairs: usize) -> Self {
        let (n, d) = (z.rows(), z.cols());
        let scaled: Vec<f64> = z.data().iter().map(|&v| f64::from(v) / d as f64).collect();
        let mut weights = vec![0.0; d * pairs];
        let (z, alpha) = (View::new(&scaled, n, d), View::new(alpha, n, pairs));
        par_product(z.t(), alpha, Accum::Replace, &mut weights);
        Self::Linear { weights }
    }

    fn at(&self, z: MatrixRef<'_>, pairs: usize) -> Vec<f64> {
        let (inputs, factor) = match self {
            Self::Expansion { rows, gamma, alpha } => (rbf(z, rows.view(), *gamma), alpha),
            Self::Linear { weights } => (z.data().iter().map(|&v| f64::from(v)).collect(), weights),
        };
        times(&inputs, z.rows(), View::new(factor, factor.len() / pairs, pairs), pairs)
    }
}

struct Fitted {
    standard: Standard,
    function: Function,
    pairs: usize,
    /// The outputs of the pairs around their mean, (pairs, outputs).
    y: Vec<f64>,
    mean: Vec<f64>,
}

/// Rows that are predicted together: it bounds the memory of their kernel values.
const BLOCK: usize = 1024;

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(NAME, rows, self.standard.cols())?;
        let outputs = self.mean.len();
        let y = View::new(&self.y, self.pairs, outputs);
        let mut out = Vec::with_capacity(rows.rows() * outputs);
        for start in (0..rows.rows()).step_by(BLOCK) {
            let block = rows.slice(start..(start + BLOCK).min(rows.rows()));
            let shares = self.function.at(self.standard.apply(block).view(), self.pairs);
            let mut values = self.mean.repeat(block.rows());
            let shares = View::new(&shares, block.rows(), self.pairs);
            par_product(shares, y, Accum::Add, &mut values);
            out.extend(values.into_iter().map(|v| v as f32));
        }
        Ok(Matrix::new(rows.rows(), outputs, out).expect("one value a row and output"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::testing::{Case, assert_close, golden};
    use bridged::Silent;
    use rand::RngExt;

    fn predict(spec: &Laprls, problem: Problem<'_>, rows: &Matrix) -> Matrix {
        spec.fit(problem, Seed(0), &Silent).unwrap().predict(rows.view()).unwrap()
    }

    /// Two half circles of `n` rows each that reach into each other.
    fn moons(n: usize) -> Matrix {
        let mut rng = Seed(1).rng();
        let mut noise = || 0.05 * (rng.random::<f32>() - 0.5);
        let rows = (0..2 * n).map(|i| {
            let angle = std::f32::consts::PI * (i % n) as f32 / (n - 1) as f32;
            let (x, y) = (angle.cos(), angle.sin());
            let (x, y) = if i < n { (x, y) } else { (1.0 - x, 0.4 - y) };
            [x + noise(), y + noise()]
        });
        Matrix::from_rows(&rows.collect::<Vec<_>>())
    }

    #[test]
    fn without_the_graph_it_is_the_kernel_ridge_of_scikit_learn_on_centred_outputs() {
        for Case { x, y, rows, number, predicted } in golden("laprls", "width") {
            let pairs: Vec<(u32, u32)> = (0..y.rows() as u32).map(|i| (i, i)).collect();
            let width = Width::Gamma(number);
            let spec = Laprls { lam: 0.01, gamma: 0.0, width, ..Default::default() };
            let problem = Problem::new(x.view(), y.view(), &pairs);
            assert_close(&predict(&spec, problem, &rows), &predicted, 2e-6);
        }
    }

    #[test]
    fn rows_without_outputs_tell_two_moons_apart_from_one_pair_each() {
        let x = moons(60);
        let y = Matrix::from_rows(&[[-1.0], [1.0]]);
        let problem = Problem::new(x.view(), y.view(), &[(5, 0), (65, 1)]);
        let wrong = |gamma: f64, laplacian| {
            let width = Width::Sigma(0.5);
            let spec = Laprls { gamma, laplacian, width, lam: 1e-5, k: 5, ..Default::default() };
            let found = predict(&spec, problem, &x);
            (0..120).filter(|&i| (found.data()[i] > 0.0) != (i >= 60)).count()
        };
        for laplacian in [Laplacian::Plain, Laplacian::Normalized] {
            assert_eq!(wrong(1.0, laplacian), 0);
            assert!(wrong(0.0, laplacian) > 15, "{}", wrong(0.0, laplacian));
        }
    }

    #[test]
    fn repeated_columns_change_nothing_so_the_primal_and_the_dual_agree() {
        let mut rng = Seed(3).rng();
        let x = Matrix::from_fn(30, 4, |_, _| rng.random());
        let y = Matrix::from_fn(6, 2, |_, _| rng.random());
        let wide = Matrix::from_fn(30, 40, |i, j| x.row(i)[j % 4]);
        let pairs: Vec<(u32, u32)> = (0..6).map(|i| (4 * i, i)).collect();
        let spec = Laprls { kernel: Kernel::Linear, k: 4, ..Default::default() };
        let primal = predict(&spec, Problem::new(x.view(), y.view(), &pairs), &x);
        let dual = predict(&spec, Problem::new(wide.view(), y.view(), &pairs), &wide);
        assert_close(&primal, &dual, 1e-4);
    }

    #[test]
    fn predictions_depend_neither_on_the_threads_nor_on_the_rows_asked_for_together() {
        let x = moons(300);
        let y = Matrix::from_fn(9, 3, |i, j| (i * i + j) as f32);
        let pairs: Vec<(u32, u32)> = (0..9).map(|i| (60 * i, i)).collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let problem = Problem::new(x.view(), y.view(), &pairs);
            pool.install(|| predict(&Laprls::default(), problem, &x))
        };
        let all = on(1);
        assert_eq!(all, on(4));
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let some = x.view().select([17, 500]);
        let some = predict(&Laprls::default(), problem, &some);
        assert_close(&some, &all.view().select([17, 500]), 1e-6);
    }

    #[test]
    fn the_grid_is_that_of_the_paper_and_each_of_its_widths_gives_a_kernel_that_says_something() {
        let grid = Laprls::grid();
        assert_eq!(grid.len(), 81);
        let mut rng = Seed(4).rng();
        let x = Matrix::from_fn(50, 1280, |_, _| rng.random());
        let z = Standard::fit(x.view()).apply(x.view());
        for (spec, value) in grid.iter().zip([-4.0f64, -1.0, -0.25]) {
            let gamma = spec.width.relative_gamma(z.view());
            let found = rbf(z.view().slice(0..1), z.view().slice(1..2), gamma)[0];
            assert!((found / value.exp() - 1.0).abs() < 0.5, "{found} {value}");
        }
    }

    #[test]
    fn tiny_pools_equal_rows_and_one_column_give_finite_answers() {
        let y = Matrix::from_rows(&[[4.0], [6.0]]);
        for (x, pairs) in [
            (Matrix::zeros(1, 3), &[(0, 0)][..]),
            (Matrix::from_fn(3, 2, |_, _| 7.1), &[(0, 0), (1, 1)]),
            (Matrix::from_rows(&[[1.0], [2.0], [1.0]]), &[(0, 0), (0, 1), (2, 1)]),
        ] {
            for (kernel, laplacian) in
                [(Kernel::Rbf, Laplacian::Plain), (Kernel::Linear, Laplacian::Normalized)]
            {
                let spec = Laprls { kernel, laplacian, ..Default::default() };
                let found = predict(&spec, Problem::new(x.view(), y.view(), pairs), &x);
                assert!(found.data().iter().all(|v| (4.0..=6.0).contains(v)), "{found:?}");
            }
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let x = Matrix::zeros(2, 1);
        let message = |spec: Laprls| {
            let problem = Problem::new(x.view(), x.view(), &[(0, 0)]);
            spec.fit(problem, Seed(0), &Silent).err().unwrap().to_string()
        };
        let lam = Laprls { lam: 0.0, ..Default::default() };
        assert_eq!(message(lam), "laprls: `lam` must be above 0 and at most 1e9, got 0");
        let width = Laprls { width: Width::Sigma(-1.0), ..Default::default() };
        assert_eq!(message(width), "laprls: `width` must be above 0 and at most 1e9, got -1");
    }
}
