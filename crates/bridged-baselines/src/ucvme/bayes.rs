//! A Bayesian network by Monte-Carlo dropout: two hidden layers, a mean for every output and one
//! log-variance for the row.
//!
//! ```text
//! h = relu(W₂ (m ∘ relu(W₁ x + b₁)) + b₂),    μ = V h + c,    z = Z tanh((u·h + e)/Z)
//! ```
//!
//! with a dropout mask m. The bound |z| < Z keeps three pairs that are fitted exactly from claiming a
//! variance of 0. μ is linear in h, so the mean of μ over many masks is that of the mean h: an
//! ensemble passes V once, and W₁ once, since nothing is dropped before it.
//!
//! Nothing is dropped from h itself: there, dropout noise is proportional to μ, and networks
//! that shall agree under it agree on small outputs. With one pair a group that pulled all
//! predictions to the mean, the more the longer they trained.

use super::loss::{Belief, Rows};
use crate::nn::{Linear, Mask, Mlp, Real, Sharing, Tape};
use bridged::math::seed::Rng;

/// Z: variances stay between e^{−4} and e⁴ of those of the outputs.
pub(super) const BOUND: f64 = 4.0;

/// The shape of the network; its parameters are one vector.
#[derive(Clone, Debug)]
pub(super) struct Bayes {
    trunk: Mlp,
    mean: Linear,
    spread: Linear,
}

/// What a pass with gradients remembers. Its memory is kept from pass to pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Pass<T = f32> {
    trunk: Tape<T>,
    belief: Belief<T>,
    gradient: Belief<T>,
    d_hidden: Vec<T>,
}

impl<T: Real> Pass<T> {
    /// The log-variances of the rows.
    pub(super) fn z(&self) -> &[T] {
        &self.belief.z
    }

    /// The first `labelled` rows and the others, with the places for their gradients.
    pub(super) fn split(&mut self, labelled: usize) -> [Rows<'_, T>; 2] {
        let at = self.belief.mean.len() / self.belief.z.len() * labelled;
        let (mean, means) = self.belief.mean.split_at(at);
        let (z, zs) = self.belief.z.split_at(labelled);
        let (d_mean, d_means) = self.gradient.mean.split_at_mut(at);
        let (d_z, d_zs) = self.gradient.z.split_at_mut(labelled);
        [Rows { mean, z, d_mean, d_z }, Rows { mean: means, z: zs, d_mean: d_means, d_z: d_zs }]
    }
}

impl Bayes {
    pub(super) fn new(inputs: usize, hidden: usize, outputs: usize) -> Self {
        let trunk = Mlp::new(&[inputs, hidden, hidden]).activate_last();
        let mean = Linear { inputs: hidden, outputs, at: trunk.end() };
        let spread = Linear { inputs: hidden, outputs: 1, at: mean.end() };
        Self { trunk, mean, spread }
    }

    pub(super) fn inputs(&self) -> usize {
        self.trunk.inputs()
    }

    pub(super) fn outputs(&self) -> usize {
        self.mean.outputs
    }

    pub(super) fn init<T: Real>(&self, rng: &mut Rng) -> Vec<T> {
        let mut params = vec![T::ZERO; self.spread.end()];
        self.trunk.init_into(&mut params, rng);
        self.mean.init(&mut params, rng);
        self.spread.init(&mut params, rng);
        params
    }

    /// Leaves μ = 0, whatever the row.
    pub(super) fn forget<T: Real>(&self, params: &mut [T]) {
        params[self.mean.at..self.mean.end()].fill(T::ZERO);
    }

    /// Draws a mask of its own for every row of the next pass.
    pub(super) fn drop<T: Real>(&self, p: f64, rows: usize, pass: &mut Pass<T>, rng: &mut Rng) {
        let masks = &mut pass.trunk.masks;
        masks.resize(2, Mask::Keep);
        masks[0].draw(p, Sharing::EachRow, (rows, self.mean.inputs), rng);
    }

    /// Draws networks, into the memory of the old ones.
    pub(super) fn draw<T: Real>(&self, p: f64, draws: &mut [Mask<T>], rng: &mut Rng) {
        for mask in draws {
            mask.draw(p, Sharing::AllRows, (1, self.mean.inputs), rng);
        }
    }

    /// Takes rows `x` to the belief of the pass, with its masks.
    pub(super) fn forward<T: Real>(&self, params: &[T], x: &[T], pass: &mut Pass<T>) {
        self.trunk.forward(params, x, &mut pass.trunk);
        let hidden = pass.trunk.output();
        let rows = hidden.len() / self.mean.inputs;
        for place in [&mut pass.belief, &mut pass.gradient] {
            place.mean.resize(rows * self.outputs(), T::ZERO);
            place.z.resize(rows, T::ZERO);
        }
        self.mean.forward(params, hidden, &mut pass.belief.mean);
        self.spread.forward(params, hidden, &mut pass.belief.z);
        pass.belief.z.iter_mut().for_each(|z| *z = bounded(*z));
    }

    /// Takes the gradients of the pass back: adds those of all parameters to `grads`.
    pub(super) fn backward<T: Real>(
        &self,
        params: &[T],
        x: &[T],
        pass: &mut Pass<T>,
        grads: &mut [T],
    ) {
        let Pass { trunk, belief, gradient, d_hidden } = pass;
        for (d, z) in gradient.z.iter_mut().zip(&belief.z) {
            *d *= T::of(1.0 - (z.wide() / BOUND).powi(2));
        }
        let (hidden, d_trunk) = trunk.output_and_gradient();
        d_hidden.resize(hidden.len(), T::ZERO);
        self.mean.backward(params, hidden, &gradient.mean, grads, Some(d_trunk));
        self.spread.backward(params, hidden, &gradient.z, grads, Some(d_hidden));
        d_trunk.iter_mut().zip(d_hidden).for_each(|(d, &mut from)| *d += from);
        self.trunk.backward(params, x, trunk, grads, None);
    }

    /// The means over the drawn networks, a mask each, of their means and log-variances.
    pub(super) fn ensemble<T: Real>(&self, params: &[T], x: &[T], draws: &[Mask<T>]) -> Belief<T> {
        let [first, second] = self.trunk.layers() else { unreachable!("new made two layers") };
        let rows = x.len() / first.inputs;
        let len = rows * second.outputs;
        let [mut early, mut dropped, mut late, mut sum] = [(); 4].map(|()| vec![T::ZERO; len]);
        let mut belief =
            Belief { mean: vec![T::ZERO; rows * self.outputs()], z: vec![T::ZERO; rows] };
        first.forward(params, x, &mut early);
        activate(&mut early);
        let mut z = vec![T::ZERO; rows];
        let share = T::of(1.0 / draws.len() as f64);
        for mask in draws {
            dropped.copy_from_slice(&early);
            mask.apply(first.outputs, &mut dropped);
            second.forward(params, &dropped, &mut late);
            activate(&mut late);
            sum.iter_mut().zip(&late).for_each(|(s, &h)| *s += share * h);
            self.spread.forward(params, &late, &mut z);
            belief.z.iter_mut().zip(&z).for_each(|(to, &z)| *to += share * bounded(z));
        }
        self.mean.forward(params, &sum, &mut belief.mean);
        belief
    }
}

fn bounded<T: Real>(raw: T) -> T {
    T::of(BOUND * (raw.wide() / BOUND).tanh())
}

fn activate<T: Real>(values: &mut [T]) {
    values.iter_mut().for_each(|v| *v = if *v > T::ZERO { *v } else { T::ZERO });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_gradient, random};
    use bridged::math::Seed;

    #[test]
    fn gradients_of_the_whole_loss_agree_with_central_differences() {
        let net = Bayes::new(3, 6, 2);
        let mut rng = Seed(1).rng();
        let params: Vec<f64> = net.init(&mut rng);
        let (x, y, other) = (random(15, 2), random(4, 3), random(2, 4));
        let pseudo = Belief { mean: random(6, 5), z: random(3, 6) };
        let mut pass = Pass::default();
        net.drop(0.2, 5, &mut pass, &mut rng);
        let loss = |params: &[f64], pass: &mut Pass<f64>| {
            net.forward(params, &x, pass);
            let [mut labelled, mut unlabelled] = pass.split(2);
            let known = labelled.heteroscedastic(&y) + labelled.agreement(&other);
            known + unlabelled.pseudo(&pseudo, 2.0)
        };
        let mut grads = vec![0.0; params.len()];
        loss(&params, &mut pass);
        net.backward(&params, &x, &mut pass, &mut grads);
        assert!(grads.iter().filter(|&&g| g != 0.0).count() > grads.len() / 3);
        assert_gradient(&params, &grads, |p| loss(p, &mut pass.clone()));
    }

    #[test]
    fn an_ensemble_is_the_mean_of_its_passes() {
        let net = Bayes::new(4, 7, 3);
        let mut rng = Seed(2).rng();
        let params: Vec<f64> = net.init(&mut rng);
        let x = random(20, 3);
        let mut draws = vec![Mask::default(); 6];
        net.draw(0.3, &mut draws, &mut rng);
        let ensemble = net.ensemble(&params, &x, &draws);
        let mut mean = Belief { mean: vec![0.0; 15], z: vec![0.0; 5] };
        for mask in &draws {
            let mut pass = Pass::default();
            pass.trunk.masks = vec![mask.clone()];
            net.forward(&params, &x, &mut pass);
            mean.mean.iter_mut().zip(&pass.belief.mean).for_each(|(m, v)| *m += v / 6.0);
            mean.z.iter_mut().zip(pass.z()).for_each(|(m, v)| *m += v / 6.0);
        }
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&ensemble.mean, &mean.mean) && near(&ensemble.z, &mean.z));
        let other = net.ensemble(&params, &x, &draws[..1]);
        assert!(!near(&other.mean, &ensemble.mean), "masks matter");
    }

    #[test]
    fn log_variances_stay_within_their_bound() {
        assert!([-1e6f32, -50.0, 50.0, 1e6].map(bounded).iter().all(|z| z.abs() <= 4.0));
        assert!((bounded(0.1f64) - 0.1).abs() < 1e-4);
    }
}
