//! TSVR: support vector regression that trains itself on the unlabelled rows it is most sure of.
//!
//! ```text
//! 1. f ← ε-SVR of the pairs, one for every output over one radial kernel
//! 2. S ← the `self_training_frac` of the unpaired rows of x with the smallest
//!        v(x) = k(x, x) − k_xᵀ (K + I/C)⁻¹ k_x                    k_x, K: the kernel with the pairs
//! 3. ỹ(x) ← mean of f over the `neighbors` rows of the pool nearest to x, x among them;  x ∈ S
//! 4. f ← ε-SVR of the pairs and (x, ỹ(x)), from the weights of before;  `rounds` times 3 and 4
//! ```
//!
//! v is the variance of the Gaussian process with the same kernel and noise 1/C (the least squares
//! twin of the SVR): small where the pairs say much about x, whatever they say. It is the confidence
//! that is meant here, and it depends on inputs alone.
//!
//! Why the mean in step 3: **a model that is trained on its own predictions does not change.** Where
//! ỹ = f the old weights, 0 on the new rows, still satisfy every condition of the optimum, since an
//! error of 0 lies inside the tube; and the optimum is unique. With `neighbors = 1` self-training is
//! therefore literally the SVR of the pairs (a test holds this), and its fraction a parameter without
//! effect. The mean over a neighbourhood of *real* rows carries what x without y can say (rows that
//! are close have close outputs), and is the least that makes the self-training act.
//!
//! Scales: x as standard scores of the pool, divided by one number such that its rows have a mean
//! square norm of 1; squared distances are then about 2 in any dimension, γ = 0.1 and 1 are a wide
//! and a medium kernel, and `scale` (scikit-learn's 1/(d · variance)) is γ = 1. Outputs are centred
//! and have a mean square of 1 over the pairs, so that ε is a share of their spread.
//!
//! Cost: r = pairs + chosen rows give r² d for the kernel and some thousand steps of 2r for every
//! output. Choose it as the classic kernel method with few pairs; LapRLS uses the unlabelled rows
//! more directly.
//!
//! The paper names the method and its grid (§5.3, appendix); the published code fixed γ to `scale`,
//! which here is the default beside the grid's two.

use crate::kernel::{Width, rbf};
use crate::limits::{COUNT, NOT_NEGATIVE, POSITIVE, SHARE, check};
use crate::prepare::{Centred, Paired, Standard};
use crate::svr::{self, Svr};
use bridged::settings::Limits;
use bridged::{Matrix, MatrixRef, Scope, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::linalg::{cholesky, solve_cholesky};
use bridged_math::neighbors::Neighbors;
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "tsvr";
/// Rows that are predicted at a time: bounds the kernel between them and the fitted rows.
const BLOCK: usize = 2048;

/// ε-SVR with self-training; see the file's head for the steps.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Tsvr;
///
/// // y = x² is known at five of 41 points between −1 and 1.
/// let x = Matrix::from_fn(41, 1, |i, _| i as f32 / 20.0 - 1.0);
/// let y = Matrix::from_fn(41, 1, |i, _| x.row(i)[0].powi(2));
/// let pairs = [(0, 0), (10, 10), (20, 20), (30, 30), (40, 40)];
/// let problem = Problem::new(x.view(), y.view(), &pairs);
/// let fitted = Tsvr::default().fit(problem, Seed(0), &Silent)?;
/// let between = fitted.predict(Matrix::from_rows(&[[0.75]]).view())?;
/// assert!((between.data()[0] - 0.5625).abs() < 0.1);
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tsvr {
    /// C: the most that one row may weigh. Outputs have spread 1, so weights of 1 to 2 reach a lone
    /// pair; below that it is shrunk towards the mean.
    pub c: f64,
    /// ε: errors up to this share of the outputs' spread are free.
    pub epsilon: f64,
    /// How far a row is heard: wide kernels (small γ) generalise, narrow ones remember. Acts on
    /// inputs with mean square norm 1.
    pub gamma: Width,
    /// The share of the unpaired rows of x that receive a pseudo-label; 0 is the SVR of the pairs.
    pub self_training_frac: f64,
    /// How often pseudo-labels are made, each time by the latest model, and the model refitted.
    pub rounds: usize,
    /// Rows of the pool over which a pseudo-label is averaged, the row itself among them. More
    /// smooth more; 1 leaves the SVR of the pairs as it is.
    pub neighbors: usize,
}

impl Default for Tsvr {
    fn default() -> Self {
        Self {
            c: 10.0,
            epsilon: 0.1,
            gamma: Width::Scale,
            self_training_frac: 0.2,
            rounds: 1,
            neighbors: 5,
        }
    }
}

bridged::limits!(Tsvr {
    c: POSITIVE,
    epsilon: NOT_NEGATIVE,
    gamma: POSITIVE,
    self_training_frac: SHARE,
    rounds: Limits::Whole(0, 10_000),
    neighbors: COUNT,
});

impl Tsvr {
    /// The paper's 36 settings.
    pub fn grid() -> Vec<Self> {
        let mut grid = Vec::with_capacity(36);
        for c in [0.1, 1.0, 10.0] {
            for epsilon in [0.01, 0.1] {
                for gamma in [Width::Gamma(0.1), Width::Gamma(1.0)] {
                    for self_training_frac in [0.1, 0.2, 0.5] {
                        let rest = Self::default();
                        grid.push(Self { c, epsilon, gamma, self_training_frac, ..rest });
                    }
                }
            }
        }
        grid
    }

    /// Rows of the pool that receive a pseudo-label, the surest first: step 2.
    fn surest(&self, problem: Problem<'_>, pool: MatrixRef<'_>, pairs: &Model) -> Vec<usize> {
        let mut paired = vec![false; pool.rows()];
        problem.pairs.iter().for_each(|(x, _)| paired[x] = true);
        let free: Vec<usize> = (0..pool.rows()).filter(|&i| !paired[i]).collect();
        let wanted = (self.self_training_frac * free.len() as f64).ceil() as usize;
        if wanted == 0 {
            return Vec::new();
        }
        let variance = pairs.variance(pool.select(free.iter().copied()).view(), 1.0 / self.c);
        let mut order: Vec<usize> = (0..free.len()).collect();
        order.sort_by(|&a, &b| variance[a].total_cmp(&variance[b]));
        order[..wanted].iter().map(|&i| free[i]).collect()
    }
}

impl Method for Tsvr {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let (n, d, e) = (size.x.0 as f64, size.x.1 as f64, size.y.1 as f64);
        let pairs = size.pairs as f64;
        let trained = pairs + (self.self_training_frac * n).ceil();
        let kernel = 8.0 * trained * trained;
        let surest = 8.0 * (3.0 * pairs * pairs + 4.0 * pairs * n) + 12.0 * n * d;
        let round = kernel + 8.0 * trained * e * 12.0;
        let predicted = 8.0 * n * (trained + e + d) + 8.0 * trained * d;
        (8.0 * n * d + surest.max(round).max(predicted + 8.0 * trained * e) + 1.6e7) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, NAME)?;
        problem.check()?;
        let stage = Stage::begin(watch, NAME, Some(1 + self.rounds as u64))?;
        let scope = Scope::new(watch, NAME);
        let inputs = Inputs::fit(problem.x);
        let pool = inputs.apply(problem.x);
        let gamma = self.gamma.gamma(pool.view());
        let Paired { y, .. } = Paired::of(problem);
        let outputs = Centred::fit(y.view());
        let labels = columns(&outputs.encode(y.view()));
        let svr = Svr { c: self.c, epsilon: self.epsilon, ..Svr::default() };

        let rows = pool.view().select(problem.pairs.iter().map(|(x, _)| x));
        let none = vec![0.0; labels.len()];
        let mut model = Model::fit(&svr, rows, gamma, &labels, &none, &scope)?;
        stage.step(1)?;
        let chosen = self.surest(problem, pool.view(), &model);
        if !chosen.is_empty() {
            let pairs = y.rows();
            let near = Neighbors::new(pool.view()).nearest(
                pool.view().select(chosen.iter().copied()).view(),
                self.neighbors.min(pool.rows()),
            );
            let train = problem.pairs.iter().map(|(x, _)| x).chain(chosen.iter().copied());
            let train = pool.view().select(train);
            for round in 0..self.rounds {
                let predicted = model.predict(pool.view());
                let (mut targets, mut start) = (Vec::new(), Vec::new());
                for (j, labels) in labels.chunks_exact(pairs).enumerate() {
                    let pseudo = |i: usize| {
                        let near = near.rows_of(i);
                        let sum: f64 =
                            near.iter().map(|&r| predicted[r as usize * y.cols() + j]).sum();
                        sum / near.len() as f64
                    };
                    targets.extend_from_slice(labels);
                    targets.extend((0..chosen.len()).map(pseudo));
                    start.extend_from_slice(model.weights_of(j));
                    start.resize(targets.len(), 0.0);
                }
                model = Model::fit(&svr, train.clone(), gamma, &targets, &start, &scope)?;
                stage.step(2 + round as u64)?;
            }
        }
        Ok(Box::new(Fitted { inputs, outputs, model }))
    }
}

/// Standard scores of a pool, divided so that its rows have a mean square norm of 1.
struct Inputs {
    standard: Standard,
    factor: f32,
}

impl Inputs {
    fn fit(x: MatrixRef<'_>) -> Self {
        let standard = Standard::fit(x);
        let scores = standard.apply(x);
        let square = scores.data().iter().map(|&v| f64::from(v).powi(2)).sum::<f64>();
        let norm = (square / x.rows() as f64).sqrt();
        Self { standard, factor: if norm > 0.0 { (1.0 / norm) as f32 } else { 1.0 } }
    }

    fn apply(&self, x: MatrixRef<'_>) -> Matrix {
        let mut out = self.standard.apply(x);
        out.data_mut().iter_mut().for_each(|v| *v *= self.factor);
        out
    }
}

/// One output a row: (columns of y, rows of y).
fn columns(y: &Matrix) -> Vec<f64> {
    let n = y.rows();
    (0..y.cols() * n).map(|at| f64::from(y.row(at % n)[at / n])).collect()
}

/// The regressions of all outputs, in scaled inputs and outputs.
struct Model {
    rows: Matrix,
    gamma: f64,
    /// (outputs, rows).
    beta: Vec<f64>,
    intercept: Vec<f64>,
}

impl Model {
    fn fit(
        svr: &Svr,
        rows: Matrix,
        gamma: f64,
        targets: &[f64],
        start: &[f64],
        watch: &dyn Watch,
    ) -> Result<Self, MethodError> {
        let kernel = rbf(rows.view(), rows.view(), gamma);
        let solutions = svr.fit(&kernel, rows.rows(), targets, Some(start), watch)?;
        let (beta, intercept) = svr::coefficients(&solutions);
        Ok(Self { rows, gamma, beta, intercept })
    }

    fn weights_of(&self, output: usize) -> &[f64] {
        &self.beta[output * self.rows.rows()..(output + 1) * self.rows.rows()]
    }

    /// (rows, outputs).
    fn predict(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let cross = rbf(rows, self.rows.view(), self.gamma);
        svr::predict(&cross, self.rows.rows(), &self.beta, &self.intercept)
    }

    /// v(x) of the file's head.
    fn variance(&self, rows: MatrixRef<'_>, noise: f64) -> Vec<f64> {
        let n = self.rows.rows();
        let mut kernel = rbf(self.rows.view(), self.rows.view(), self.gamma);
        (0..n).for_each(|i| kernel[i * n + i] += noise);
        let factor = cholesky(&kernel, n).expect("a kernel matrix plus noise is positive definite");
        let cross = rbf(self.rows.view(), rows, self.gamma);
        let mut solved = cross.clone();
        solve_cholesky(&factor, n, &mut solved, rows.rows());
        let mut variance = vec![1.0; rows.rows()];
        for (k, s) in cross.chunks(rows.rows()).zip(solved.chunks(rows.rows())) {
            variance.iter_mut().zip(k.iter().zip(s)).for_each(|(v, (k, s))| *v -= k * s);
        }
        variance
    }
}

struct Fitted {
    inputs: Inputs,
    outputs: Centred,
    model: Model,
}

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(NAME, rows, self.inputs.standard.cols())?;
        let mut out = Vec::with_capacity(rows.rows() * self.outputs.cols());
        for start in (0..rows.rows()).step_by(BLOCK) {
            let block = rows.slice(start..(start + BLOCK).min(rows.rows()));
            let predicted = self.model.predict(self.inputs.apply(block).view());
            out.extend(predicted.into_iter().map(|v| v as f32));
        }
        let mut out = Matrix::new(rows.rows(), self.outputs.cols(), out)
            .expect("one prediction for every row and output");
        self.outputs.decode(&mut out);
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
