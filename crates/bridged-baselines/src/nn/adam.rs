//! Adam with decoupled weight decay (AdamW), in PyTorch's arithmetic, and a teacher that follows.
//!
//! ```text
//! θ ← θ (1 − lr · decay);   m ← β₁ m + (1 − β₁) g;   v ← β₂ v + (1 − β₂) g²
//! θ ← θ − lr/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + ε)
//! ```
//!
//! Without decay this is plain Adam (Kingma & Ba 2015; the decay of Loshchilov & Hutter 2019).

use super::Real;
use rayon::prelude::*;

/// The state of an optimiser for one flat vector of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam<T = f32> {
    /// The step size.
    pub lr: f64,
    /// How fast the mean of the gradients forgets is 1 − β₁; of their squares 1 − β₂.
    pub betas: (f64, f64),
    /// Keeps a step finite where gradients are 0.
    pub eps: f64,
    /// How much of the parameters each step takes away, times `lr`.
    pub weight_decay: f64,
    steps: i32,
    mean: Vec<T>,
    square: Vec<T>,
}

/// Parameters that one task updates.
const CHUNK: usize = 1 << 15;

impl<T: Real> Adam<T> {
    /// For `len` parameters, with β = (0.9, 0.999), ε = 1e-8 and no decay.
    pub fn new(len: usize, lr: f64) -> Self {
        let zeros = vec![T::ZERO; len];
        let (betas, eps, weight_decay) = ((0.9, 0.999), 1e-8, 0.0);
        Self { lr, betas, eps, weight_decay, steps: 0, mean: zeros.clone(), square: zeros }
    }

    /// Steps that were taken.
    pub fn steps(&self) -> u64 {
        self.steps as u64
    }

    /// Moves `params` against `grads`.
    ///
    /// # Panics
    /// If either has another length than the optimiser was made for.
    pub fn step(&mut self, params: &mut [T], grads: &[T]) {
        assert_eq!(params.len(), self.mean.len(), "the parameters it was made for");
        assert_eq!(grads.len(), self.mean.len(), "a gradient for every parameter");
        self.steps += 1;
        let (b1, b2) = self.betas;
        let kept = T::of(1.0 - self.lr * self.weight_decay);
        let rate = T::of(self.lr / (1.0 - b1.powi(self.steps)));
        let root = T::of((1.0 - b2.powi(self.steps)).sqrt().recip());
        let (c1, c2, b2, eps) = (T::of(1.0 - b1), T::of(1.0 - b2), T::of(b2), T::of(self.eps));
        let part = |params: &mut [T], grads: &[T], mean: &mut [T], square: &mut [T]| {
            let n = params.len();
            // Slices of one length, so that the loop has no checks and runs in vector registers.
            let (grads, mean, square) = (&grads[..n], &mut mean[..n], &mut square[..n]);
            for i in 0..n {
                let (m, v) = (mean[i] + c1 * (grads[i] - mean[i]), b2 * square[i]);
                let v = v + c2 * grads[i] * grads[i];
                (mean[i], square[i]) = (m, v);
                params[i] = kept * params[i] - rate * m / (v.sqrt() * root + eps);
            }
        };
        if params.len() <= CHUNK {
            return part(params, grads, &mut self.mean, &mut self.square);
        }
        let states = self.mean.par_chunks_mut(CHUNK).zip(self.square.par_chunks_mut(CHUNK));
        let chunks = params.par_chunks_mut(CHUNK).zip(grads.par_chunks(CHUNK)).zip(states);
        chunks.for_each(|((params, grads), (mean, square))| part(params, grads, mean, square));
    }
}

/// teacher ← α · teacher + (1 − α) · student: an exponential moving average.
pub fn follow<T: Real>(teacher: &mut [T], student: &[T], alpha: f64) {
    let rest = T::of(1.0 - alpha);
    teacher.iter_mut().zip(student).for_each(|(t, &s)| *t += rest * (s - *t));
}

#[cfg(test)]
mod tests {
    use super::super::{Mlp, Tape, squared_error};
    use super::*;
    use serde_json::Value;

    fn numbers(value: &Value) -> Vec<f32> {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn five_steps_agree_with_pytorch_from_given_weights() {
        let golden: Value =
            serde_json::from_str(include_str!("../../../../tests/golden/baselines_nn.json"))
                .unwrap();
        let widths: Vec<usize> = serde_json::from_value(golden["widths"].clone()).unwrap();
        let (net, x, y) = (Mlp::new(&widths), numbers(&golden["x"]), numbers(&golden["y"]));
        for case in golden["cases"].as_array().unwrap() {
            let mut params = numbers(&golden["start"]);
            let mut adam = Adam::new(params.len(), case["lr"].as_f64().unwrap());
            adam.weight_decay = case["weight_decay"].as_f64().unwrap();
            let (mut grads, mut tape) = (vec![0.0; params.len()], Tape::default());
            for step in case["steps"].as_array().unwrap() {
                net.forward(&params, &x, &mut tape);
                let (output, d_output) = tape.output_and_gradient();
                let loss = squared_error(output, &y, d_output);
                grads.fill(0.0);
                net.backward(&params, &x, &mut tape, &mut grads, None);
                adam.step(&mut params, &grads);
                assert!((loss - step["loss"].as_f64().unwrap()).abs() < 1e-5, "{loss}");
                for (found, expected) in [(&grads, "gradient"), (&params, "params")] {
                    let expected = numbers(&step[expected]);
                    assert_eq!(found.len(), expected.len());
                    let off = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
                    assert!(off.fold(0.0, f32::max) < 1e-5, "step {}", adam.steps());
                }
            }
            assert_eq!(adam.steps(), 5);
        }
    }

    #[test]
    fn a_teacher_moves_by_one_minus_alpha_of_the_way() {
        let mut teacher = [0.0f64, 4.0];
        follow(&mut teacher, &[1.0, 0.0], 0.75);
        assert_eq!(teacher, [0.25, 3.0]);
    }
}
