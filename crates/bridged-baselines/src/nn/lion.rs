//! Lion: steps of one length, in the direction in which the sign of the averaged gradient points.
//!
//! ```text
//! θ ← θ (1 − lr · decay) − lr · sign(β₁ m + (1 − β₁) g);   m ← β₂ m + (1 − β₂) g
//! ```
//!
//! Chen et al. (2023), *Symbolic discovery of optimization algorithms*.

use super::Real;

/// The state of an optimiser for one flat vector of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Lion<T = f32> {
    /// How far every parameter goes in a step.
    pub lr: f64,
    /// How much of the mean counts in a step, and how much of it is kept.
    pub betas: (f64, f64),
    /// How much of the parameters each step takes away, times `lr`.
    pub weight_decay: f64,
    mean: Vec<T>,
}

impl<T: Real> Lion<T> {
    /// For `len` parameters, with β = (0.9, 0.99) and no decay.
    pub fn new(len: usize, lr: f64) -> Self {
        Self { lr, betas: (0.9, 0.99), weight_decay: 0.0, mean: vec![T::ZERO; len] }
    }

    /// Moves `params` against `grads`.
    ///
    /// # Panics
    /// If either has another length than the optimiser was made for.
    pub fn step(&mut self, params: &mut [T], grads: &[T]) {
        assert_eq!(params.len(), self.mean.len(), "the parameters it was made for");
        assert_eq!(grads.len(), self.mean.len(), "a gradient for every parameter");
        let (b1, b2) = (T::of(self.betas.0), T::of(self.betas.1));
        let (rate, kept) = (T::of(self.lr), T::of(1.0 - self.lr * self.weight_decay));
        for ((p, &g), m) in params.iter_mut().zip(grads).zip(&mut self.mean) {
            let towards = b1 * *m + (T::ONE - b1) * g;
            *p *= kept;
            if towards > T::ZERO {
                *p -= rate;
            } else if towards < T::ZERO {
                *p += rate;
            }
            *m = b2 * *m + (T::ONE - b2) * g;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn four_steps_agree_with_numpy() {
        let golden = include_str!("../../../../tests/golden/baselines_alignment.json");
        let golden: Value = serde_json::from_str(golden).unwrap();
        let golden = &golden["lion"];
        let rows =
            |name: &str| -> Vec<Vec<f64>> { serde_json::from_value(golden[name].clone()).unwrap() };
        let mut params: Vec<f64> = serde_json::from_value(golden["start"].clone()).unwrap();
        let mut lion = Lion::new(params.len(), golden["lr"].as_f64().unwrap());
        lion.weight_decay = golden["weight_decay"].as_f64().unwrap();
        for (grads, expected) in rows("gradients").iter().zip(rows("params")) {
            lion.step(&mut params, grads);
            assert!(params.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }
}
