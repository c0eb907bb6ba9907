//! STRUCTURE: linear maps that separate the pairs and keep the neighbourhoods of each pool.
//!
//! ```text
//! L = CLIP + λ/2 (R_x + R_y)
//! CLIP = −1/2p Σ_i [log softmax_j(⟨f_i, g_j⟩/τ)_i + log softmax_j(⟨f_j, g_i⟩/τ)_i]     over the pairs
//! O = softmax of ⟨u_i − ū, u_j − ū⟩/τ by rows,  A = the same of the mapped rows f      of a batch
//! R = 1/2n Σ_ij M (log M − log A) + M (log M − log O),   M = (O + A)/2
//! ```
//!
//! Trained by AdamW with warm-up and half a cosine; the gradient of each map is cut to length 1, and λ
//! grows during the first half. A step costs O((p + b) d k + (p + b)² k) for batches of b rows and a
//! shared space of k dimensions.
//!
//! **Choose it** with hundreds of pairs: with a handful the maps are mostly as they were drawn.
//!
//! Gröger et al. (2025), *With limited data for multimodal alignment, let the STRUCTURE guide you*, arXiv
//! 2506.16895: its loss from the published code (one level, mean centring), its training as the Rosetta
//! authors run it with few pairs. What differs, for speed: 128 principal components where there are more
//! columns; 100 steps with a step size of 1e-2 instead of 2,000 with 1e-3; batches of 64 rows instead of
//! 4,096; a shared space of 128 dimensions instead of 512. One pair, which no loss can separate from
//! anything, is refused.

use crate::limits::{BATCH, LEARNING_RATE, NOT_NEGATIVE, STEPS, UNITS};
use crate::nn::Adam;
use crate::students::{
    self, Batch, Embedded, Student, Students, Task, cosine_decay, inner, inner_backward,
};
use bridged::settings::Limits;
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged::{Seed, Watch};
use bridged_math::chunks::join;
use bridged_math::linalg::{Accum, View, product};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "structure";
const BETAS: (f64, f64) = (0.9, 0.95);
const WEIGHT_DECAY: f64 = 1e-4;
/// The longest gradient of a map.
const CLIP: f64 = 1.0;
/// Added to every probability before its logarithm.
const EPS: f64 = 1e-12;

/// Linear maps that keep neighbourhoods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Structure {
    /// τ: small temperatures make neighbourhoods narrow and ask for pairs that stand out.
    pub tau: f64,
    /// λ: how much the neighbourhoods count beside the pairs.
    pub lam: f64,
    /// Dimensions of the shared space.
    pub dim: usize,
    /// AdamW's step size.
    pub lr: f64,
    /// Rows of each pool in a step, beside the pairs.
    pub batch_size: usize,
    /// Gradient steps; 0 leaves the maps as they were drawn.
    pub max_iter: usize,
}

impl Default for Structure {
    fn default() -> Self {
        Self { tau: 0.05, lam: 10.0, dim: 128, lr: 1e-2, batch_size: 64, max_iter: 100 }
    }
}

bridged::limits!(Structure {
    tau: Limits::From(1e-3, 1e3),
    lam: NOT_NEGATIVE,
    dim: UNITS,
    lr: LEARNING_RATE,
    batch_size: BATCH,
    max_iter: STEPS,
});

impl Structure {
    /// Not in the paper's appendix: the defaults.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }

    fn train(&self, task: &Task<'_>) -> Result<Students, MethodError> {
        let mut rng = task.seed.child("maps").rng();
        let mut students = Students {
            x: Student::random(task.x.cols, self.dim, &mut rng),
            y: Student::random(task.y.cols, self.dim, &mut rng),
        };
        let with_structure = |batch: Batch| {
            let (x, y) = join(
                || Neighbourhoods::of(&batch.x, task.x.cols, self.tau),
                || Neighbourhoods::of(&batch.y, task.y.cols, self.tau),
            );
            (batch, x.shares, y.shares)
        };
        let batches: Vec<_> =
            task.batches(self.batch_size).into_iter().map(with_structure).collect();
        let adam = |params: &[f64]| {
            let mut adam = Adam::new(params.len(), self.lr);
            (adam.betas, adam.weight_decay) = (BETAS, WEIGHT_DECAY);
            adam
        };
        let (mut adam_x, mut adam_y) = (adam(&students.x.params), adam(&students.y.params));
        task.train(&batches, self.max_iter, |step, (batch, of_x, of_y)| {
            let grown = (2.0 * step as f64 / self.max_iter as f64).min(1.0);
            let mut found = self.gradients(&students, batch, (of_x, of_y), grown * self.lam);
            let lr = self.lr * pace(step, self.max_iter);
            (adam_x.lr, adam_y.lr) = (lr, lr);
            cut(&mut found.x);
            cut(&mut found.y);
            adam_x.step(&mut students.x.params, &found.x);
            adam_y.step(&mut students.y.params, &found.y);
            Ok(found.pairs)
        })?;
        Ok(students)
    }

    /// The loss, that of the pairs alone, and the gradients of both maps.
    fn gradients(
        &self,
        students: &Students,
        batch: &Batch,
        (of_x, of_y): (&[f64], &[f64]),
        lambda: f64,
    ) -> Gradients {
        let k = self.dim;
        let (x, y) = students.embed(batch);
        let pairs = batch.pairs * k;
        let (x_pairs, y_pairs) = (&x.unit[..pairs], &y.unit[..pairs]);
        let (loss, d_cosines) = clip(&inner(x_pairs, y_pairs, k), batch.pairs, self.tau);
        let (dx_pairs, dy_pairs) = inner_backward(&d_cosines, x_pairs, y_pairs, k);
        let side = |student: &Student,
                    rows: &[f64],
                    embedded: &Embedded,
                    before: &[f64],
                    d_pairs: &[f64]| {
            let (kept, mut d) = kept_structure(&embedded.unit, k, before, self.tau);
            d.iter_mut().for_each(|v| *v *= 0.5 * lambda);
            d.iter_mut().zip(d_pairs).for_each(|(d, p)| *d += p);
            (kept, student.gradient(rows, embedded, d))
        };
        let ((kept_x, dx), (kept_y, dy)) = join(
            || side(&students.x, &batch.x, &x, of_x, &dx_pairs),
            || side(&students.y, &batch.y, &y, of_y, &dy_pairs),
        );
        let total = loss + 0.5 * lambda * (kept_x + kept_y);
        Gradients { total, pairs: loss, x: dx, y: dy }
    }
}

struct Gradients {
    #[cfg_attr(not(test), expect(dead_code, reason = "its gradient is what training needs"))]
    total: f64,
    pairs: f64,
    x: Vec<f64>,
    y: Vec<f64>,
}

/// Which part of the step size a step has: a twentieth of them to warm up, then half a cosine.
fn pace(step: usize, steps: usize) -> f64 {
    let warm = steps.div_ceil(20);
    if step < warm {
        (step + 1) as f64 / warm as f64
    } else {
        cosine_decay(step - warm, steps - warm)
    }
}

/// To a length of at most [`CLIP`].
fn cut(gradient: &mut [f64]) {
    let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    if length > CLIP {
        gradient.iter_mut().for_each(|g| *g *= CLIP / length);
    }
}

/// The contrastive loss of cosines (p, p) in both directions, and its gradient.
fn clip(cosines: &[f64], p: usize, tau: f64) -> (f64, Vec<f64>) {
    let half = 0.5 / p as f64;
    let (mut loss, mut d) = (0.0, vec![0.0; p * p]);
    let mut scores = vec![0.0; p];
    for i in 0..p {
        for place in [|i: usize, j: usize, p: usize| i * p + j, |i, j, p| j * p + i] {
            (0..p).for_each(|j| scores[j] = cosines[place(i, j, p)] / tau);
            let own = scores[i];
            let log_sum = softmax(&mut scores);
            loss += half * (log_sum - own);
            for (j, share) in scores.iter().enumerate() {
                let wrong = share - if i == j { 1.0 } else { 0.0 };
                d[place(i, j, p)] += half * wrong / tau;
            }
        }
    }
    (loss, d)
}

/// From scores to shares that sum to 1; gives the logarithm of the sum of exponentials.
fn softmax(scores: &mut [f64]) -> f64 {
    let best = scores.iter().fold(f64::NEG_INFINITY, |m, &s| m.max(s));
    scores.iter_mut().for_each(|s| *s = (*s - best).exp());
    let total: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|s| *s /= total);
    best + total.ln()
}

/// How much each row of a batch is a neighbour of each other.
struct Neighbourhoods {
    /// The rows around their mean, (n, k).
    rows: Vec<f64>,
    /// Softmax of their inner products by rows, (n, n).
    shares: Vec<f64>,
}

impl Neighbourhoods {
    fn of(unit: &[f64], k: usize, tau: f64) -> Self {
        let rows = around_mean(unit, k);
        let mut shares = inner(&rows, &rows, k);
        shares.iter_mut().for_each(|s| *s /= tau);
        shares.chunks_exact_mut(rows.len() / k).for_each(|row| {
            softmax(row);
        });
        Self { rows, shares }
    }
}

/// R for mapped rows (n, k) and the neighbourhoods before the map, and its gradient by those rows.
fn kept_structure(unit: &[f64], k: usize, before: &[f64], tau: f64) -> (f64, Vec<f64>) {
    let n = unit.len() / k;
    let Neighbourhoods { rows, mut shares } = Neighbourhoods::of(unit, k, tau);
    let mut loss = 0.0;
    let half = 0.5 / n as f64;
    for (a, o) in shares.chunks_exact_mut(n).zip(before.chunks_exact(n)) {
        // By a share A of a row, then by the score under its softmax.
        let mut along = 0.0;
        let slopes: Vec<f64> = a
            .iter()
            .zip(o)
            .map(|(&a, &o)| {
                let (m, a_eps) = (0.5 * (o + a) + EPS, a + EPS);
                let gap = m.ln() - 0.5 * (a_eps.ln() + (o + EPS).ln());
                loss += half * 2.0 * m * gap;
                let slope = half * (gap + 1.0 - m / a_eps);
                along += a * slope;
                slope
            })
            .collect();
        a.iter_mut().zip(slopes).for_each(|(a, slope)| *a *= (slope - along) / tau);
    }
    // A score is that of two rows, so each row has the slopes of its row and of its column.
    for i in 0..n {
        for j in 0..=i {
            let both = shares[i * n + j] + shares[j * n + i];
            (shares[i * n + j], shares[j * n + i]) = (both, both);
        }
    }
    let mut d = vec![0.0; n * k];
    product(View::new(&shares, n, n), View::new(&rows, n, k), Accum::Replace, &mut d);
    (loss, around_mean(&d, k))
}

/// Rows (n, k) less their mean; also what takes a gradient back through that.
fn around_mean(rows: &[f64], k: usize) -> Vec<f64> {
    let n = (rows.len() / k) as f64;
    let mut mean = vec![0.0; k];
    for row in rows.chunks_exact(k) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / n);
    }
    rows.chunks_exact(k).flat_map(|r| r.iter().zip(&mean).map(|(v, m)| v - m)).collect()
}

impl Method for Structure {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        students::memory(size, self.dim, self.batch_size) as u64
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

    fn golden() -> Value {
        let golden = include_str!("../../../tests/golden/baselines_alignment.json");
        serde_json::from_str(golden).unwrap()
    }

    fn rows(value: &Value) -> Vec<f64> {
        serde_json::from_value::<Vec<Vec<f64>>>(value.clone()).unwrap().concat()
    }

    #[test]
    fn the_loss_of_the_pairs_is_that_of_numpy_and_its_gradient_that_of_central_differences() {
        let golden = &golden()["clip"];
        let (cosines, tau) = (rows(&golden["cosines"]), golden["tau"].as_f64().unwrap());
        let (loss, d) = clip(&cosines, 4, tau);
        assert!((loss - golden["loss"].as_f64().unwrap()).abs() < 1e-9);
        assert_gradient(&cosines, &d, |k| clip(k, 4, tau).0);
    }

    #[test]
    fn the_regulariser_is_that_of_numpy_and_its_gradient_that_of_central_differences() {
        let golden = &golden()["structure"];
        let (before, after) = (rows(&golden["before"]), rows(&golden["after"]));
        let tau = golden["tau"].as_f64().unwrap();
        let shares = Neighbourhoods::of(&before, 5, tau).shares;
        let (loss, _) = kept_structure(&after, 3, &shares, tau);
        assert!((loss - golden["loss"].as_f64().unwrap()).abs() < 1e-9);
        for tau in [tau, 0.5] {
            let shares = Neighbourhoods::of(&before, 5, tau).shares;
            let (_, d) = kept_structure(&after, 3, &shares, tau);
            assert_gradient(&after, &d, |rows| kept_structure(rows, 3, &shares, tau).0);
        }
        assert!(kept_structure(&before, 5, &shares, tau).0.abs() < 1e-9, "nothing has changed");
    }

    #[test]
    fn the_gradient_of_the_maps_is_that_of_central_differences() {
        let (p, b, d, e) = (3, 5, 4, 6);
        let spec = Structure { dim: 3, tau: 0.4, ..Structure::default() };
        let batch = Batch { x: random((p + b) * d, 1), y: random((p + b) * e, 2), pairs: p };
        let mut rng = Seed(3).rng();
        let students =
            Students { x: Student::random(d, 3, &mut rng), y: Student::random(e, 3, &mut rng) };
        let before = |rows: &[f64], d: usize| Neighbourhoods::of(rows, d, spec.tau).shares;
        let (of_x, of_y) = (before(&batch.x, d), before(&batch.y, e));
        let at = |x: &[f64], y: &[f64]| {
            let mut moved = students.clone();
            (moved.x.params, moved.y.params) = (x.to_vec(), y.to_vec());
            spec.gradients(&moved, &batch, (&of_x, &of_y), 2.0)
        };
        let (x, y) = (&students.x.params, &students.y.params);
        let found = at(x, y);
        assert_gradient(x, &found.x, |x| at(x, y).total);
        assert_gradient(y, &found.y, |y| at(x, y).total);
    }

    #[test]
    fn the_step_size_warms_up_and_ends_at_nothing() {
        assert_eq!((pace(0, 100), pace(4, 100), pace(5, 100)), (0.2, 1.0, 1.0));
        assert!(pace(99, 100) < 1e-3 && pace(0, 1) == 1.0);
        let mut gradient = vec![3.0, 4.0];
        cut(&mut gradient);
        assert!((gradient[0] - 0.6).abs() < 1e-12 && (gradient[1] - 0.8).abs() < 1e-12);
    }
}
