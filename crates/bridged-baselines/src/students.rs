//! Two linear maps into one space, trained by gradients: what SOTAlign and STRUCTURE share.
//!
//! ```text
//! f(u) = z/|z|,  z = W u + b        of either side; u as in [`crate::directions`]
//! s_j(x) = ⟨f(x), g(y_j)⟩
//! backward:  ∂z = (∂f − f ⟨f, ∂f⟩)/|z|,   ∂W = Σ ∂z uᵀ,   ∂b = Σ ∂z
//! ```
//!
//! A step sees all pairs (at most [`PAIRS`]) and a batch of each pool. As many batches as cover the pools
//! are drawn once and used in turn, so that what depends on a batch alone (a teacher's plan, the
//! neighbourhoods before the map) is computed once. Everything is in `f64`: after PCA the maps are small.

use crate::directions::{Directions, Rows};
use crate::nn::{Epochs, Linear, Record};
use crate::retrieval::{Folds, Retrieval, Scores};
use crate::subspace::times;
use bridged::{MatrixRef, Rng, Seed, Stage, Watch};
use bridged::{MethodError, Predictor, Problem, ProblemSize};
use bridged_math::cancel::checkpoint;
use bridged_math::chunks::join;
use bridged_math::linalg::{Accum, View, product};
use std::sync::Arc;

/// The most pairs of a step.
pub(crate) const PAIRS: usize = 256;
/// The most batches that are kept.
const BATCHES: usize = 64;

/// The map of one side, z = W u + b.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Student {
    pub layer: Linear,
    /// W (k, d), then b.
    pub params: Vec<f64>,
}

/// Rows under a map, at unit length (or 0).
pub(crate) struct Embedded {
    /// (n, k)
    pub unit: Vec<f64>,
    /// 1/|z|, or 0.
    inverse: Vec<f64>,
}

impl Student {
    /// From W, (k, d), and without b.
    pub fn linear(mut weights: Vec<f64>, inputs: usize) -> Self {
        let outputs = weights.len() / inputs;
        weights.resize((inputs + 1) * outputs, 0.0);
        Self { layer: Linear { inputs, outputs, at: 0 }, params: weights }
    }

    /// Drawn as PyTorch draws a linear layer.
    pub fn random(inputs: usize, outputs: usize, rng: &mut Rng) -> Self {
        let layer = Linear { inputs, outputs, at: 0 };
        let mut params = vec![0.0; layer.end()];
        layer.init(&mut params, rng);
        Self { layer, params }
    }

    /// Rows (n, d), mapped.
    pub fn embed(&self, rows: &[f64]) -> Embedded {
        let k = self.layer.outputs;
        let mut unit = vec![0.0; rows.len() / self.layer.inputs * k];
        self.layer.forward(&self.params, rows, &mut unit);
        let mut inverse = Vec::with_capacity(unit.len() / k);
        for row in unit.chunks_exact_mut(k) {
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            let factor = if length > 1e-12 { 1.0 / length } else { 0.0 };
            row.iter_mut().for_each(|v| *v *= factor);
            inverse.push(factor);
        }
        Embedded { unit, inverse }
    }

    /// The gradient of the parameters from that of the mapped rows, (n, k).
    pub fn gradient(&self, rows: &[f64], embedded: &Embedded, mut d_unit: Vec<f64>) -> Vec<f64> {
        let k = self.layer.outputs;
        let each = d_unit.chunks_exact_mut(k).zip(embedded.unit.chunks_exact(k));
        for ((d, f), inverse) in each.zip(&embedded.inverse) {
            let along = d.iter().zip(f).map(|(d, f)| d * f).sum::<f64>();
            d.iter_mut().zip(f).for_each(|(d, f)| *d = (*d - along * f) * inverse);
        }
        let mut grads = vec![0.0; self.params.len()];
        self.layer.backward(&self.params, rows, &d_unit, &mut grads, None);
        grads
    }
}

/// Both maps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Students {
    pub x: Student,
    pub y: Student,
}

/// The rows of a step: first the pairs, then rows of the pool.
pub(crate) struct Batch {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub pairs: usize,
}

impl Students {
    /// Both sides of a batch.
    pub fn embed(&self, batch: &Batch) -> (Embedded, Embedded) {
        join(|| self.x.embed(&batch.x), || self.y.embed(&batch.y))
    }
}

/// A · Bᵀ for rows (n, k) and (m, k).
pub(crate) fn inner(a: &[f64], b: &[f64], k: usize) -> Vec<f64> {
    let (n, m) = (a.len() / k, b.len() / k);
    let mut out = vec![0.0; n * m];
    product(View::new(a, n, k), View::new(b, m, k).t(), Accum::Replace, &mut out);
    out
}

/// The gradients of rows a (n, k) and b (m, k) from that of their inner products, (n, m).
pub(crate) fn inner_backward(d: &[f64], a: &[f64], b: &[f64], k: usize) -> (Vec<f64>, Vec<f64>) {
    let (n, m) = (a.len() / k, b.len() / k);
    let d = View::new(d, n, m);
    let (mut da, mut db) = (vec![0.0; n * k], vec![0.0; m * k]);
    product(d, View::new(b, m, k), Accum::Replace, &mut da);
    product(d.t(), View::new(a, n, k), Accum::Replace, &mut db);
    (da, db)
}

/// What a method trains on.
pub(crate) struct Task<'a> {
    pub method: &'static str,
    pub x: &'a Rows,
    pub y: &'a Rows,
    pub pairs: Vec<(usize, usize)>,
    pub seed: Seed,
    pub watch: &'a dyn Watch,
}

impl Task<'_> {
    /// The pairs' rows, (pairs, d) and (pairs, d').
    pub fn paired(&self) -> (Vec<f64>, Vec<f64>) {
        let (x, y) = (self.pairs.iter().map(|p| p.0), self.pairs.iter().map(|p| p.1));
        (self.x.select(x), self.y.select(y))
    }

    /// The batches of a training.
    pub fn batches(&self, batch_size: usize) -> Vec<Batch> {
        let mut rng = self.seed.child("batches").rng();
        let (n, m) = (self.x.len(), self.y.len());
        let mut of_pairs = vec![0; self.pairs.len().min(PAIRS)];
        let (mut of_x, mut of_y) = (vec![0; n.min(batch_size)], vec![0; m.min(batch_size)]);
        let count = n.div_ceil(of_x.len()).max(m.div_ceil(of_y.len())).min(BATCHES);
        let [mut pairs, mut x, mut y] = [self.pairs.len(), n, m].map(Epochs::new);
        let mut draw = || {
            pairs.fill(&mut of_pairs, &mut rng);
            x.fill(&mut of_x, &mut rng);
            y.fill(&mut of_y, &mut rng);
            let (px, py) = (|&i: &usize| self.pairs[i].0, |&i: &usize| self.pairs[i].1);
            Batch {
                x: self.x.select(of_pairs.iter().map(px).chain(of_x.iter().copied())),
                y: self.y.select(of_pairs.iter().map(py).chain(of_y.iter().copied())),
                pairs: of_pairs.len(),
            }
        };
        (0..count).map(|_| draw()).collect()
    }

    /// So many steps over the batches in turn; `step` gets its number and gives the loss on the pairs.
    pub fn train<B>(
        &self,
        batches: &[B],
        steps: usize,
        mut step: impl FnMut(usize, &B) -> Result<f64, MethodError>,
    ) -> Result<Record, MethodError> {
        let stage = Stage::begin(self.watch, "training", Some(steps as u64))?;
        let mut record = Record::default();
        for at in 0..steps {
            checkpoint();
            record.push(self.method, step(at, &batches[at % batches.len()])?)?;
            stage.step(at as u64 + 1)?;
        }
        Ok(record)
    }
}

/// Half a cosine: from 1 at the beginning to 0 at the end.
pub(crate) fn cosine_decay(step: usize, steps: usize) -> f64 {
    let share = (step as f64 / steps.max(1) as f64).min(1.0);
    0.5 * (1.0 + (std::f64::consts::PI * share).cos())
}

/// The bytes of a training with this shared dimension and these rows of each pool in a step.
pub(crate) fn memory(size: ProblemSize, k: usize, batch_size: usize) -> f64 {
    let cols = |cols: usize| cols.min(128) as f64;
    let (d, e) = (cols(size.x.1), cols(size.y.1));
    let (n, m) = (size.x.0 as f64, size.y.0 as f64);
    let k = k as f64;
    let pairs = size.pairs.min(PAIRS) as f64;
    let rows = |n: f64| n.min(batch_size as f64) + pairs;
    let (bx, by) = (rows(n), rows(m));
    let count = (n / (bx - pairs)).max(m / (by - pairs)).ceil().min(BATCHES as f64);
    let sides = Directions::memory(size.x).max(8.0 * n * d + Directions::memory(size.y));
    let kept = count * (bx * d + by * e + bx.max(by) * (bx + by));
    let step = 4.0 * (bx + by) * k + 4.0 * bx.max(by) * (bx + by);
    Retrieval::memory(size) + sides + 8.0 * (kept + step + 5.0 * (d + e) * k + 2.0 * m * k)
}

/// Learns two maps from all pairs and from folds of them, and ranks the y pool by cosine.
pub(crate) fn fit(
    method: &'static str,
    problem: Problem<'_>,
    (seed, watch): (Seed, &dyn Watch),
    train: &dyn Fn(&Task<'_>) -> Result<Students, MethodError>,
) -> Result<Box<dyn Predictor>, MethodError> {
    problem.check()?;
    let (x, y) = (Directions::fit(problem.x), Directions::fit(problem.y));
    let (rows_x, rows_y) = (x.apply(problem.x), y.apply(problem.y));
    let x = Arc::new(x);
    let learn = |problem: Problem<'_>, watch: &dyn Watch| -> Result<Box<dyn Scores>, MethodError> {
        let pairs = problem.pairs.iter().collect();
        let task = Task { method, x: &rows_x, y: &rows_y, pairs, seed, watch };
        let students = train(&task)?;
        let candidates = students.y.embed(&rows_y.data).unit;
        Ok(Box::new(Fitted { directions: Arc::clone(&x), student: students.x, candidates }))
    };
    // One pair has nobody to be told from.
    Retrieval::fit(method, problem, 2, Folds::Few, (seed, watch), &learn)
}

struct Fitted {
    directions: Arc<Directions>,
    student: Student,
    /// The y pool under its map, (m, k).
    candidates: Vec<f64>,
}

impl Scores for Fitted {
    fn scores(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let k = self.student.layer.outputs;
        let found = self.student.embed(&self.directions.apply(rows).data).unit;
        let m = self.candidates.len() / k;
        times(&found, rows.rows(), View::new(&self.candidates, m, k).t(), m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_gradient, random};
    use bridged::Silent;

    #[test]
    fn the_gradient_of_unit_rows_is_that_of_central_differences() {
        let student = Student::random(4, 3, &mut Seed(1).rng());
        let (rows, c) = (random(5 * 4, 2), random(5 * 3, 3));
        let loss = |params: &[f64]| {
            let moved = Student { params: params.to_vec(), ..student.clone() };
            moved.embed(&rows).unit.iter().zip(&c).map(|(u, c)| u * c).sum()
        };
        let gradient = student.gradient(&rows, &student.embed(&rows), c.clone());
        assert_gradient(&student.params, &gradient, loss);
    }

    #[test]
    fn the_gradient_of_inner_products_is_that_of_central_differences() {
        let (a, b, c) = (random(4 * 3, 1), random(2 * 3, 2), random(4 * 2, 3));
        let loss = |a: &[f64], b: &[f64]| -> f64 {
            inner(a, b, 3).iter().zip(&c).map(|(v, c)| v * c).sum()
        };
        let (da, db) = inner_backward(&c, &a, &b, 3);
        assert_gradient(&a, &da, |a| loss(a, &b));
        assert_gradient(&b, &db, |b| loss(&a, b));
    }

    #[test]
    fn batches_begin_with_the_pairs_and_cover_both_pools() {
        let rows = |n: usize| Rows { data: (0..n).map(|i| i as f64).collect(), cols: 1 };
        let (x, y) = (rows(100), rows(30));
        let pairs = vec![(5, 7), (6, 8)];
        let task = Task { method: "net", x: &x, y: &y, pairs, seed: Seed(1), watch: &Silent };
        let batches = task.batches(40);
        assert_eq!(batches.len(), 3);
        let mut seen: Vec<f64> = Vec::new();
        for batch in &batches {
            assert_eq!((batch.pairs, batch.x.len(), batch.y.len()), (2, 42, 32));
            let pair = |at: usize| (batch.x[at], batch.y[at]);
            assert!(
                [pair(0), pair(1)].contains(&(5.0, 7.0))
                    && [pair(0), pair(1)].contains(&(6.0, 8.0))
            );
            seen.extend(&batch.x[2..]);
        }
        seen.sort_by(f64::total_cmp);
        seen.dedup();
        assert_eq!(seen.len(), 100);
    }

    #[test]
    fn a_row_that_is_mapped_to_zero_stays_finite_and_has_no_gradient() {
        let student = Student::linear(vec![0.0; 6], 3);
        let rows = random(6, 1);
        let embedded = student.embed(&rows);
        assert_eq!(embedded.unit, [0.0; 4]);
        assert!(student.gradient(&rows, &embedded, vec![1.0; 4]).iter().all(|&g| g == 0.0));
    }
}
