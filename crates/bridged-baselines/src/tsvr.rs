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
use crate::prepare::{Centred, Paired, Standard};
use crate::svr::{self, Svr};
use bridged::math::linalg::{cholesky, solve_cholesky};
use bridged::math::neighbors::Neighbors;
use bridged::math::{Matrix, MatrixRef, Scope, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "tsvr";
/// Rows that are predicted at a time: bounds the kernel between them and the fitted rows.
const BLOCK: usize = 2048;

/// ε-SVR with self-training; see the file's head for the steps.
///
/// ```
/// use bridged::math::{Matrix, Seed, Silent};
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

    fn check(&self) -> Result<(), MethodError> {
        let gamma = match self.gamma {
            Width::Gamma(v) | Width::Sigma(v) => v,
            Width::Median | Width::Scale => 1.0,
        };
        let checks = [
            ("c", self.c.is_finite() && self.c > 0.0, "positive", self.c),
            ("epsilon", self.epsilon.is_finite() && self.epsilon >= 0.0, "0 or more", self.epsilon),
            ("gamma", self.gamma.is_valid(), "positive", gamma),
            (
                "self_training_frac",
                (0.0..=1.0).contains(&self.self_training_frac),
                "between 0 and 1",
                self.self_training_frac,
            ),
            ("neighbors", self.neighbors > 0, "at least 1", self.neighbors as f64),
        ];
        match checks.into_iter().find(|(_, good, ..)| !good) {
            Some((name, _, need, got)) => {
                let need = need.to_string();
                Err(MethodError::BadParameter { method: NAME, name, need, got })
            }
            None => Ok(()),
        }
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
    fn fit(
        &self,
        problem: Problem<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        problem.check()?;
        self.check()?;
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
mod tests {
    use super::*;
    use bridged::math::Silent;
    use rand::RngExt;

    /// Two groups of rows in four dimensions whose outputs differ, 40 rows, the first `s` of each
    /// paired.
    fn groups(s: u32) -> (Matrix, Matrix, Vec<(u32, u32)>) {
        let mut rng = Seed(4).rng();
        let mut noise = move || rng.random::<f32>() - 0.5;
        let x = Matrix::from_fn(40, 4, |i, j| (i % 2) as f32 * 3.0 + 0.5 * j as f32 + noise());
        let y = Matrix::from_fn(40, 3, |i, j| [5.0, -2.0][i % 2] * (j + 1) as f32);
        (x, y, (0..2 * s).map(|i| (i, i)).collect())
    }

    fn predict(spec: &Tsvr, problem: Problem<'_>) -> Matrix {
        spec.fit(problem, Seed(0), &Silent).unwrap().predict_pool(problem.x).unwrap()
    }

    fn worst(a: &Matrix, b: &Matrix) -> f32 {
        a.data().iter().zip(b.data()).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
    }

    #[test]
    fn groups_with_one_pair_each_are_told_apart() {
        let (x, y, pairs) = groups(1);
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let predicted = predict(&Tsvr::default(), problem);
        let mean = Matrix::from_fn(40, 3, |_, j| 1.5 * (j + 1) as f32);
        let square = |a: &Matrix| -> f32 {
            a.data().iter().zip(y.data()).map(|(a, b)| (a - b).powi(2)).sum()
        };
        let share = square(&predicted) / square(&mean);
        assert!(share < 0.25, "{share}");
        let back = predict(&Tsvr::default(), problem.flip());
        assert_eq!((back.rows(), back.cols()), (40, 4));
    }

    #[test]
    fn training_on_its_own_predictions_changes_nothing_and_on_neighbourhoods_it_does() {
        let (x, y, pairs) = groups(3);
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let plain = predict(&Tsvr { rounds: 0, ..Tsvr::default() }, problem);
        for spec in Tsvr::grid().into_iter().step_by(5) {
            let plain = predict(&Tsvr { rounds: 0, ..spec.clone() }, problem);
            let own = predict(&Tsvr { neighbors: 1, rounds: 2, ..spec }, problem);
            assert!(worst(&own, &plain) < 1e-3 * 20.0);
        }
        let half = Tsvr { self_training_frac: 0.5, epsilon: 0.01, neighbors: 8, ..Tsvr::default() };
        assert!(worst(&predict(&half, problem), &plain) > 0.05);
        let none = Tsvr { self_training_frac: 0.0, ..Tsvr::default() };
        assert_eq!(predict(&none, problem), plain);
    }

    #[test]
    fn the_surest_rows_are_those_near_a_pair() {
        let x = Matrix::from_fn(30, 1, |i, _| i as f32);
        let y = Matrix::zeros(30, 1);
        let problem = Problem::new(x.view(), y.view(), &[(10, 0), (20, 1)]);
        let pool = Inputs::fit(x.view()).apply(x.view());
        let rows = pool.view().select([10, 20]);
        let model = Model { rows, gamma: 1.0, beta: vec![0.0; 2], intercept: vec![0.0] };
        let spec = Tsvr { self_training_frac: 4.0 / 28.0, ..Tsvr::default() };
        let mut surest = spec.surest(problem, pool.view(), &model);
        surest.sort_unstable();
        assert_eq!(surest, [9, 11, 19, 21]);
    }

    #[test]
    fn on_the_scale_of_the_inputs_the_width_scale_is_one() {
        let (x, ..) = groups(1);
        let wide = Matrix::from_fn(40, 7, |i, j| x.row(i).get(j).map_or(3.0, |v| 100.0 * v));
        let pool = Inputs::fit(wide.view()).apply(wide.view());
        assert!((Width::Scale.gamma(pool.view()) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn degenerate_problems_have_finite_predictions() {
        for (n, d, outputs, pairs) in
            [(1, 1, 1, 1), (2, 3, 1, 1), (3, 1, 2, 3), (5, 2, 2, 1), (9, 2, 1, 9)]
        {
            for constant in [true, false] {
                let x =
                    Matrix::from_fn(n, d, |i, j| if constant { 7.0 } else { (i / 2 + j) as f32 });
                let y = Matrix::from_fn(n, outputs, |i, _| 1e3 + i as f32);
                let pairs: Vec<(u32, u32)> = (0..pairs).map(|i| (i, i)).collect();
                let problem = Problem::new(x.view(), y.view(), &pairs);
                let predicted = predict(&Tsvr { rounds: 3, ..Tsvr::default() }, problem);
                assert!(predicted.data().iter().all(|v| (1e3 - 0.1..1e3 + 9.0).contains(v)));
            }
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let (x, y, pairs) = groups(1);
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let base = Tsvr::default;
        for (spec, name) in [
            (Tsvr { c: 0.0, ..base() }, "`c`"),
            (Tsvr { epsilon: f64::NAN, ..base() }, "`epsilon`"),
            (Tsvr { gamma: Width::Gamma(-1.0), ..base() }, "`gamma`"),
            (Tsvr { self_training_frac: 1.5, ..base() }, "`self_training_frac`"),
            (Tsvr { neighbors: 0, ..base() }, "`neighbors`"),
        ] {
            let error = spec.fit(problem, Seed(0), &Silent).err().unwrap().to_string();
            assert!(error.starts_with("tsvr") && error.contains(name), "{error}");
        }
        assert_eq!(Tsvr::grid().len(), 36);
    }
}
