//! SOTAlign: linear maps that separate the pairs, and whose transport between the pools is that of a
//! teacher.
//!
//! ```text
//! teacher: ridge CCA of the pairs ([`teacher`]); the maps f and g begin as its projections
//! L = −1/p Σ_ij log σ(± (t ⟨f_i, g_j⟩ + c))  +  α KL(P* ‖ P)
//!     + for a pair, − for two rows of different pairs; t and c are trained, from 20 and −10
//! P  = the entropic transport (ε = 0.05) between batches of both pools for the similarities K = ⟨f, g⟩
//! P* = the same for the teacher's cosines (ε = 0.01)
//! ∂KL/∂K = (P − P*)/ε        both plans have equal marginals, so that nothing passes through Sinkhorn
//! ```
//!
//! Trained by Lion along half a cosine. A step costs O((p + b) (d + d') k + b² k) and Sinkhorn's O(b²) an
//! iteration, for batches of b rows and a shared space of k = min(d, d', p − 1) dimensions.
//!
//! **Choose it** with tens of pairs between two good embeddings.
//!
//! Roschmann et al. (2026), *SOTAlign*, arXiv 2602.23353: its loss from the published code, its training
//! from the paper as the Rosetta authors run it. What differs, for speed: 128 principal components where
//! there are more columns; 100 steps with a step size of 2e-3 instead of 2,000 with 1e-4, so that
//! parameters can go equally far; batches of 128 rows instead of 4,096; Sinkhorn stops early where the
//! marginals are within 0.1 %. One pair, for which CCA is undefined, is refused.

mod teacher;

use crate::limits::{BATCH, LEARNING_RATE, NOT_NEGATIVE, STEPS};
use crate::nn::Lion;
use crate::students::{self, Batch, Student, Students, Task, cosine_decay, inner, inner_backward};
use crate::transport::sinkhorn::{Sinkhorn, on_behalf_of};
use bridged::settings::Limits;
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged::{Seed, Watch};
use bridged_math::chunks::join;
use serde::{Deserialize, Serialize};
use teacher::ridge_cca;

/// The name in the list and in errors.
const NAME: &str = "sotalign";
/// t and c at the beginning.
const SCALE: f64 = 20.0;
const BIAS: f64 = -10.0;
/// What Lion takes away of the maps, times the step size.
const WEIGHT_DECAY: f64 = 1e-5;
/// The most iterations of a plan.
const SINKHORN: u32 = 100;
/// Cosines are within ±1: sharper than this they are a plain assignment.
const SHARPNESS: Limits = Limits::From(1e-3, 1e3);

/// Linear maps taught by the transport of ridge CCA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sotalign {
    /// The penalty of the teacher's CCA, in units of squared rows, which have length 1.
    pub ridge: f64,
    /// α: how much the teacher's transport counts beside the pairs.
    pub alpha: f64,
    /// ε of the maps' transport.
    pub eps: f64,
    /// ε of the teacher's transport: with less, the teacher is surer of its matches.
    pub eps_teacher: f64,
    /// Lion's step size.
    pub lr: f64,
    /// Rows of each pool in a step.
    pub batch_size: usize,
    /// Gradient steps; 0 leaves the teacher's maps.
    pub max_iter: usize,
}

impl Default for Sotalign {
    fn default() -> Self {
        let (ridge, alpha, eps, eps_teacher) = (0.1, 1e-4, 0.05, 0.01);
        Self { ridge, alpha, eps, eps_teacher, lr: 2e-3, batch_size: 128, max_iter: 100 }
    }
}

bridged::limits!(Sotalign {
    ridge: NOT_NEGATIVE,
    alpha: NOT_NEGATIVE,
    eps: SHARPNESS,
    eps_teacher: SHARPNESS,
    lr: LEARNING_RATE,
    batch_size: BATCH,
    max_iter: STEPS,
});

impl Sotalign {
    /// Not in the paper's appendix: the defaults.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }

    fn train(&self, task: &Task<'_>) -> Result<Students, MethodError> {
        let (x, y) = task.paired();
        let (wx, wy) = ridge_cca(&x, &y, task.pairs.len(), self.ridge);
        let mut students =
            Students { x: Student::linear(wx, task.x.cols), y: Student::linear(wy, task.y.cols) };
        let teach = |batch: Batch| -> Result<(Batch, Vec<f64>), MethodError> {
            let (x, y) = students.embed(&batch);
            let cosines = pool_cosines(&x.unit, &y.unit, batch.pairs, students.x.layer.outputs);
            let of_x = batch.x.len() / task.x.cols - batch.pairs;
            let plan = plan(&cosines, of_x, self.eps_teacher)?;
            Ok((batch, plan))
        };
        let batches = task.batches(self.batch_size).into_iter().map(teach);
        let batches = batches.collect::<Result<Vec<_>, _>>()?;

        let lion = |params: &[f64]| {
            let mut lion = Lion::new(params.len(), self.lr);
            lion.weight_decay = WEIGHT_DECAY;
            lion
        };
        let mut logit = [SCALE.ln(), BIAS];
        let (mut lion_x, mut lion_y) = (lion(&students.x.params), lion(&students.y.params));
        let mut lion_logit = lion(&logit);
        task.train(&batches, self.max_iter, |step, (batch, taught)| {
            let found = self.gradients(&students, logit, batch, taught)?;
            let lr = self.lr * cosine_decay(step, self.max_iter);
            (lion_x.lr, lion_y.lr, lion_logit.lr) = (lr, lr, lr);
            lion_x.step(&mut students.x.params, &found.x);
            lion_y.step(&mut students.y.params, &found.y);
            lion_logit.step(&mut logit, &found.logit);
            Ok(found.loss)
        })?;
        Ok(students)
    }

    /// The loss on the pairs, and the gradients of the whole loss.
    fn gradients(
        &self,
        students: &Students,
        logit: [f64; 2],
        batch: &Batch,
        taught: &[f64],
    ) -> Result<Gradients, MethodError> {
        let k = students.x.layer.outputs;
        let (x, y) = students.embed(batch);
        let ((x_pairs, x_pool), (y_pairs, y_pool)) =
            (x.unit.split_at(batch.pairs * k), y.unit.split_at(batch.pairs * k));
        let pairs = siglip(&inner(x_pairs, y_pairs, k), batch.pairs, logit);
        let mut d_pool = plan(&inner(x_pool, y_pool, k), x_pool.len() / k, self.eps)?;
        let weight = self.alpha / self.eps;
        d_pool.iter_mut().zip(taught).for_each(|(p, t)| *p = weight * (*p - t));
        let (mut dx, mut dy) = inner_backward(&pairs.d_cosines, x_pairs, y_pairs, k);
        let (dx_pool, dy_pool) = inner_backward(&d_pool, x_pool, y_pool, k);
        dx.extend(dx_pool);
        dy.extend(dy_pool);
        let (dx, dy) = join(
            || students.x.gradient(&batch.x, &x, dx),
            || students.y.gradient(&batch.y, &y, dy),
        );
        Ok(Gradients { loss: pairs.loss, x: dx, y: dy, logit: pairs.d_logit })
    }
}

struct Gradients {
    loss: f64,
    x: Vec<f64>,
    y: Vec<f64>,
    logit: [f64; 2],
}

/// The cosines of a batch's rows that come after the pairs.
fn pool_cosines(x: &[f64], y: &[f64], pairs: usize, k: usize) -> Vec<f64> {
    inner(&x[pairs * k..], &y[pairs * k..], k)
}

/// The entropic plan between equally weighted rows and columns for similarities (rows, columns).
fn plan(cosines: &[f64], rows: usize, eps: f64) -> Result<Vec<f64>, MethodError> {
    plan_within(cosines, rows, eps, (1e-3, SINKHORN))
}

/// Until the marginals are right within this share, or so many iterations are over.
fn plan_within(
    cosines: &[f64],
    rows: usize,
    eps: f64,
    (share, max_iter): (f64, u32),
) -> Result<Vec<f64>, MethodError> {
    let cols = cosines.len() / rows;
    let costs: Vec<f64> = cosines.iter().map(|c| -c).collect();
    let even = |n: usize| vec![1.0 / n as f64; n];
    let sinkhorn = Sinkhorn { eps, tol: share / (cols as f64).sqrt(), max_iter };
    let found = sinkhorn.solve(&costs, &even(rows), &even(cols)).map_err(on_behalf_of(NAME))?;
    Ok(found.into_plan())
}

struct Siglip {
    loss: f64,
    d_cosines: Vec<f64>,
    d_logit: [f64; 2],
}

/// −1/p Σ_ij log σ(± (t K_ij + c)) for cosines (p, p) and (log t, c).
fn siglip(cosines: &[f64], p: usize, [log_scale, bias]: [f64; 2]) -> Siglip {
    let scale = log_scale.exp();
    let (mut loss, mut d_logit) = (0.0, [0.0; 2]);
    let mut d_cosines = cosines.to_vec();
    for (at, d) in d_cosines.iter_mut().enumerate() {
        let cosine = *d;
        let sign = if at / p == at % p { 1.0 } else { -1.0 };
        let margin = sign * (scale * cosine + bias);
        // log(1 + e^{−m}) and its slope, without overflow.
        let small = (-margin.abs()).exp();
        loss += small.ln_1p() + (-margin).max(0.0);
        let slope = if margin > 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) };
        let d_score = -sign * slope / p as f64;
        *d = scale * d_score;
        d_logit[0] += d_score * scale * cosine;
        d_logit[1] += d_score;
    }
    Siglip { loss: loss / p as f64, d_cosines, d_logit }
}

impl Method for Sotalign {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let k = size.x.1.min(size.y.1).min(128).min(size.pairs);
        students::memory(size, k, self.batch_size) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        students::fit(NAME, problem, (seed, watch), &|task| self.train(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_gradient, random};
    use serde_json::Value;

    /// What numpy gave; see `tests/golden/baselines_alignment.py`.
    pub(super) fn golden() -> Value {
        let golden = include_str!("../../../tests/golden/baselines_alignment.json");
        serde_json::from_str(golden).unwrap()
    }

    pub(super) fn rows(value: &Value) -> Vec<Vec<f64>> {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn the_loss_of_the_pairs_is_that_of_numpy_and_its_gradient_that_of_central_differences() {
        let golden = &golden()["siglip"];
        let cosines = rows(&golden["cosines"]).concat();
        let logit = [golden["log_scale"].as_f64().unwrap(), golden["bias"].as_f64().unwrap()];
        let found = siglip(&cosines, 4, logit);
        assert!((found.loss - golden["loss"].as_f64().unwrap()).abs() < 1e-9);
        assert_gradient(&cosines, &found.d_cosines, |k| siglip(k, 4, logit).loss);
        assert_gradient(&logit, &found.d_logit, |l| siglip(&cosines, 4, [l[0], l[1]]).loss);
        let far = siglip(&[1.0, -1.0, -1.0, 1.0], 2, [9.0, 0.0]);
        assert!(far.loss.is_finite() && far.d_cosines.iter().all(|d| d.is_finite()));
    }

    const EXACT: (f64, u32) = (1e-13, 100_000);

    #[test]
    fn the_gradient_of_the_divergence_of_plans_is_their_difference_over_epsilon() {
        let (n, m, eps) = (5, 4, 0.2);
        let (student, teacher) = (random(n * m, 1), random(n * m, 2));
        let target = plan_within(&teacher, n, 0.1, EXACT).unwrap();
        let divergence = |k: &[f64]| -> f64 {
            let plan = plan_within(k, n, eps, EXACT).unwrap();
            target.iter().zip(&plan).map(|(t, p)| t * (t / p).ln()).sum()
        };
        let plan = plan_within(&student, n, eps, EXACT).unwrap();
        let gradient: Vec<f64> = plan.iter().zip(&target).map(|(p, t)| (p - t) / eps).collect();
        assert_gradient(&student, &gradient, divergence);
    }

    #[test]
    fn the_gradient_of_the_maps_is_that_of_central_differences() {
        let (p, b, d, e, k) = (3, 6, 4, 5, 2);
        let spec = Sotalign { eps: 0.5, alpha: 0.7, ..Sotalign::default() };
        let batch = Batch { x: random((p + b) * d, 1), y: random((p + b) * e, 2), pairs: p };
        let students = Students {
            x: Student::linear(random(k * d, 3), d),
            y: Student::linear(random(k * e, 4), e),
        };
        let target = plan_within(&random(b * b, 5), b, 0.5, EXACT).unwrap();
        let logit = [3.0, -2.0];
        let loss = |x: &[f64], y: &[f64]| -> f64 {
            let of = |student: &Student, params: &[f64], rows: &[f64]| {
                Student { params: params.to_vec(), ..student.clone() }.embed(rows).unit
            };
            let (x, y) = (of(&students.x, x, &batch.x), of(&students.y, y, &batch.y));
            let pairs = inner(&x[..p * k], &y[..p * k], k);
            let plan = plan_within(&pool_cosines(&x, &y, p, k), b, spec.eps, EXACT).unwrap();
            let kl: f64 = target.iter().zip(&plan).map(|(t, p)| t * (t / p).ln()).sum();
            siglip(&pairs, p, logit).loss + spec.alpha * kl
        };
        let found = spec.gradients(&students, logit, &batch, &target).unwrap();
        // Sinkhorn stops at 0.1 % of the marginals.
        let close = |a: &[f64], f: &dyn Fn(&[f64]) -> f64, at: &[f64]| {
            let mut moved = at.to_vec();
            for (i, g) in a.iter().enumerate() {
                let slope = {
                    moved[i] = at[i] + 1e-5;
                    let above = f(&moved);
                    moved[i] = at[i] - 1e-5;
                    (above - f(&moved)) / 2e-5
                };
                moved[i] = at[i];
                assert!((slope - g).abs() < 2e-3, "{i}: {g} instead of {slope}");
            }
        };
        close(&found.x, &|x| loss(x, &students.y.params), &students.x.params);
        close(&found.y, &|y| loss(&students.x.params, y), &students.y.params);
    }
}
