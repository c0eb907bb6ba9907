//! A dense layer: out = x Wᵀ + b, with W (outputs, inputs) and b in one slice, as PyTorch's `Linear`.

use super::Real;
use bridged::Rng;
use bridged_math::linalg::{Accum, View, product};
use rand::RngExt;
use rayon::prelude::*;

/// Where a layer's numbers are: W begins at `at`, b follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Columns that come in.
    pub inputs: usize,
    /// Columns that go out.
    pub outputs: usize,
    /// The place of its first weight in the parameters.
    pub at: usize,
}

impl Linear {
    /// One past its last parameter.
    pub fn end(&self) -> usize {
        self.at + (self.inputs + 1) * self.outputs
    }

    fn split<'p, T>(&self, params: &'p [T]) -> (&'p [T], &'p [T]) {
        params[self.at..self.end()].split_at(self.inputs * self.outputs)
    }

    /// Draws weights and biases from U(±1/√inputs).
    pub fn init<T: Real>(&self, params: &mut [T], rng: &mut Rng) {
        let bound = 1.0 / (self.inputs.max(1) as f64).sqrt();
        for p in &mut params[self.at..self.end()] {
            *p = T::of(rng.random_range(-bound..=bound));
        }
    }

    /// `out` (rows, outputs) of `x` (rows, inputs).
    pub fn forward<T: Real>(&self, params: &[T], x: &[T], out: &mut [T]) {
        let (weight, bias) = self.split(params);
        let rows = out.len() / self.outputs;
        out.chunks_exact_mut(self.outputs).for_each(|row| row.copy_from_slice(bias));
        let weight = View::new(weight, self.outputs, self.inputs);
        multiply((View::new(x, rows, self.inputs), weight.t()), rows, Accum::Add, out);
    }

    /// Adds the gradients of W and b to `grads`, and writes that of `x` to `dx` where it is wanted.
    pub fn backward<T: Real>(
        &self,
        params: &[T],
        x: &[T],
        d_out: &[T],
        grads: &mut [T],
        dx: Option<&mut [T]>,
    ) {
        let rows = d_out.len() / self.outputs;
        let delta = View::new(d_out, rows, self.outputs);
        let grads = &mut grads[self.at..self.end()];
        let (d_weight, d_bias) = grads.split_at_mut(self.inputs * self.outputs);
        let x = View::new(x, rows, self.inputs);
        multiply((delta.t(), x), self.outputs, Accum::Add, d_weight);
        for row in d_out.chunks_exact(self.outputs) {
            d_bias.iter_mut().zip(row).for_each(|(b, &d)| *b += d);
        }
        if let Some(dx) = dx {
            let weight = View::new(self.split(params).0, self.outputs, self.inputs);
            multiply((delta, weight), rows, Accum::Replace, dx);
        }
    }
}

/// Rows of a product that one task computes: of a (128 × 1,280) · (1,280 × 128), which every step
/// takes several of, halves cost a tenth more, since each packs the second factor for itself.
const BAND: usize = 128;
/// Numbers of the result below which handing bands to other threads costs more than it gives.
const WORTH_SHARING: usize = 1 << 13;

/// a · b with this many rows: on this thread where it is small, over bands in parallel where not.
/// Both follow from the shape, so the bits are the same on any number of threads.
fn multiply<T: Real>((a, b): (View<'_, T>, View<'_, T>), rows: usize, accum: Accum, out: &mut [T]) {
    if rows <= BAND || out.len() < WORTH_SHARING {
        return product(a, b, accum, out);
    }
    let cols = out.len() / rows;
    out.par_chunks_mut(BAND * cols).enumerate().for_each(|(band, part)| {
        let start = band * BAND;
        product(a.rows(start..start + part.len() / cols), b, accum, part);
    });
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_gradient, random};
    use super::*;
    use bridged::Seed;

    const LAYER: Linear = Linear { inputs: 3, outputs: 2, at: 4 };

    /// Σ c ∘ (x Wᵀ + b) for fixed c: its gradient by the output is c.
    fn weighted_sum(params: &[f64], x: &[f64], c: &[f64]) -> f64 {
        let mut out = vec![0.0; c.len()];
        LAYER.forward(params, x, &mut out);
        out.iter().zip(c).map(|(o, c)| o * c).sum()
    }

    #[test]
    fn gradients_agree_with_central_differences_and_are_added() {
        let (params, x, c) = (random(LAYER.end(), 1), random(15, 2), random(10, 3));
        let (mut grads, mut dx) = (vec![0.0; params.len()], vec![9.0; 15]);
        LAYER.backward(&params, &x, &c, &mut grads, Some(&mut dx));
        assert_gradient(&params, &grads, |p| weighted_sum(p, &x, &c));
        assert_gradient(&x, &dx, |x| weighted_sum(&params, x, &c));
        let once = grads.clone();
        LAYER.backward(&params, &x, &c, &mut grads, None);
        assert!(grads.iter().zip(&once).all(|(two, one)| (two - 2.0 * one).abs() < 1e-12));
    }

    #[test]
    fn a_layer_in_bands_agrees_with_plain_sums() {
        let layer = Linear { inputs: 5, outputs: 150, at: 0 };
        let (params, x) = (random(layer.end(), 5), random(200 * 5, 6));
        let mut out = vec![0.0; 200 * 150];
        layer.forward(&params, &x, &mut out);
        for (i, o) in [(0, 0), (63, 149), (64, 7), (199, 100)] {
            let inner: f64 = (0..5).map(|j| x[i * 5 + j] * params[o * 5 + j]).sum();
            assert!((out[i * 150 + o] - inner - params[750 + o]).abs() < 1e-12);
        }
    }

    #[test]
    fn it_starts_uniform_within_one_over_the_root_of_the_inputs() {
        let layer = Linear { inputs: 25, outputs: 400, at: 0 };
        let mut params = vec![0.0f32; layer.end()];
        layer.init(&mut params, &mut Seed(4).rng());
        assert!(params.iter().all(|p| p.abs() <= 0.2));
        let square = params.iter().map(|p| p * p).sum::<f32>() / params.len() as f32;
        assert!((square - 0.04 / 3.0).abs() < 5e-4, "{square}");
    }
}
