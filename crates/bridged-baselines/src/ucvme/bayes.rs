//! A Bayesian network by Monte-Carlo dropout: two hidden layers, a mean for every output and one
//! log-variance for the row.
//!
//! ```text
//! h = relu(W₂ (m ∘ relu(W₁ x + b₁)) + b₂),    μ = V h + c,    z = Z tanh((u·h + e)/Z)
//! ```
//!
//! with a dropout mask m. The bound |z| < Z keeps three pairs that are fitted exactly from claiming a
//! variance of 0.
//!
//! W₁ is nearly all of the work, and nothing is dropped before it: it sees every distinct row of a
//! step once, however many rows of the batch are copies of it and however many masks are drawn on top
//! of it. μ is linear in h, so the mean of μ over many masks is that of the mean h, and an ensemble
//! passes V once.
//!
//! Nothing is dropped from h itself: there, dropout noise is proportional to μ, and networks
//! that shall agree under it agree on small outputs. With one pair a group that pulled all
//! predictions to the mean, the more the longer they trained.

use super::loss::{Belief, BeliefGradients};
use crate::nn::{Linear, Mask, Real, Sharing, relu, relu_backward};
use bridged::Rng;

/// Z: variances stay between e^{−4} and e⁴ of those of the outputs.
pub(super) const BOUND: f64 = 4.0;

/// The shape of the network; its parameters are one vector.
#[derive(Clone, Debug)]
pub(super) struct Bayes {
    first: Linear,
    second: Linear,
    mean: Linear,
    spread: Linear,
}

/// What a pass with gradients remembers. Its memory is kept from pass to pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Pass<T = f32> {
    /// relu(W₁ x + b₁) of the distinct rows, and the gradient by it.
    early: Vec<T>,
    d_early: Vec<T>,
    mask: Mask<T>,
    /// m ∘ the former, for each row of the batch.
    dropped: Vec<T>,
    d_dropped: Vec<T>,
    /// h.
    late: Vec<T>,
    d_late: Vec<T>,
    /// What the log-variance adds to that.
    d_spread: Vec<T>,
    belief: Belief<T>,
    gradient: Belief<T>,
}

impl<T: Real> Pass<T> {
    /// The first layer's values of the distinct rows from `start` on.
    pub(super) fn early(&self, start: usize, net: &Bayes) -> &[T] {
        &self.early[start * net.first.outputs..]
    }

    /// The log-variances of the rows.
    pub(super) fn z(&self) -> &[T] {
        &self.belief.z
    }

    /// The first `labelled` rows and the others, with the places for their gradients.
    pub(super) fn split(&mut self, labelled: usize) -> [BeliefGradients<'_, T>; 2] {
        let at = self.belief.mean.len() / self.belief.z.len() * labelled;
        let (mean, means) = self.belief.mean.split_at(at);
        let (z, zs) = self.belief.z.split_at(labelled);
        let (d_mean, d_means) = self.gradient.mean.split_at_mut(at);
        let (d_z, d_zs) = self.gradient.z.split_at_mut(labelled);
        [
            BeliefGradients { mean, z, d_mean, d_z },
            BeliefGradients { mean: means, z: zs, d_mean: d_means, d_z: d_zs },
        ]
    }
}

impl Bayes {
    pub(super) fn new(inputs: usize, hidden: usize, outputs: usize) -> Self {
        let first = Linear { inputs, outputs: hidden, at: 0 };
        let second = Linear { inputs: hidden, outputs: hidden, at: first.end() };
        let mean = Linear { inputs: hidden, outputs, at: second.end() };
        let spread = Linear { inputs: hidden, outputs: 1, at: mean.end() };
        Self { first, second, mean, spread }
    }

    pub(super) fn outputs(&self) -> usize {
        self.mean.outputs
    }

    pub(super) fn init<T: Real>(&self, rng: &mut Rng) -> Vec<T> {
        let mut params = vec![T::ZERO; self.spread.end()];
        let layers = [&self.first, &self.second, &self.mean, &self.spread];
        layers.into_iter().for_each(|layer| layer.init(&mut params, rng));
        params
    }

    /// Leaves μ = 0, whatever the row.
    pub(super) fn forget<T: Real>(&self, params: &mut [T]) {
        params[self.mean.at..self.mean.end()].fill(T::ZERO);
    }

    /// Draws a mask of its own for every row of the next pass.
    pub(super) fn drop<T: Real>(&self, p: f64, rows: usize, pass: &mut Pass<T>, rng: &mut Rng) {
        pass.mask.draw(p, Sharing::EachRow, (rows, self.second.inputs), rng);
    }

    /// Draws networks, into the memory of the old ones.
    pub(super) fn draw<T: Real>(&self, p: f64, draws: &mut [Mask<T>], rng: &mut Rng) {
        for mask in draws {
            mask.draw(p, Sharing::AllRows, (1, self.second.inputs), rng);
        }
    }

    /// Takes the rows `of` the distinct rows `x` to the belief of the pass, with its mask.
    pub(super) fn forward<T: Real>(
        &self,
        params: &[T],
        (x, of): (&[T], &[usize]),
        pass: &mut Pass<T>,
    ) {
        let Pass { early, mask, dropped, late, belief, .. } = pass;
        self.begin(params, x, early);
        let hidden = self.second.inputs;
        dropped.clear();
        of.iter().for_each(|&i| dropped.extend_from_slice(&early[i * hidden..][..hidden]));
        mask.apply(hidden, dropped);
        late.resize(dropped.len(), T::ZERO);
        self.second.forward(params, dropped, late);
        relu(late);
        belief.mean.resize(of.len() * self.outputs(), T::ZERO);
        belief.z.resize(of.len(), T::ZERO);
        self.mean.forward(params, late, &mut belief.mean);
        self.spread.forward(params, late, &mut belief.z);
        belief.z.iter_mut().for_each(|z| *z = bounded(*z));
        pass.gradient.mean.resize(belief.mean.len(), T::ZERO);
        pass.gradient.z.resize(of.len(), T::ZERO);
    }

    /// Takes the gradients of the pass back: adds those of all parameters to `grads`.
    pub(super) fn backward<T: Real>(
        &self,
        params: &[T],
        (x, of): (&[T], &[usize]),
        pass: &mut Pass<T>,
        grads: &mut [T],
    ) {
        let Pass { belief, gradient, .. } = pass;
        for (d, z) in gradient.z.iter_mut().zip(&belief.z) {
            *d *= T::of(1.0 - (z.wide() / BOUND).powi(2));
        }
        let Pass { late, d_late, d_spread, .. } = pass;
        d_late.resize(late.len(), T::ZERO);
        d_spread.resize(late.len(), T::ZERO);
        self.mean.backward(params, late, &gradient.mean, grads, Some(d_late));
        self.spread.backward(params, late, &gradient.z, grads, Some(d_spread));
        add(d_late, d_spread);
        relu_backward(late, d_late);

        let Pass { early, d_early, mask, dropped, d_dropped, .. } = pass;
        d_dropped.resize(dropped.len(), T::ZERO);
        self.second.backward(params, dropped, d_late, grads, Some(d_dropped));
        let hidden = self.second.inputs;
        mask.apply(hidden, d_dropped);
        d_early.clear();
        d_early.resize(early.len(), T::ZERO);
        for (d, &i) in d_dropped.chunks_exact(hidden).zip(of) {
            add(&mut d_early[i * hidden..][..hidden], d);
        }
        relu_backward(early, d_early);
        self.first.backward(params, x, d_early, grads, None);
    }

    /// The first layer's values of rows `x`.
    pub(super) fn begin<T: Real>(&self, params: &[T], x: &[T], early: &mut Vec<T>) {
        early.resize(x.len() / self.first.inputs * self.first.outputs, T::ZERO);
        self.first.forward(params, x, early);
        relu(early);
    }

    /// The means over the drawn networks, a mask each, of their means and log-variances, from the
    /// first layer's values on.
    pub(super) fn ensemble<T: Real>(
        &self,
        params: &[T],
        early: &[T],
        draws: &[Mask<T>],
    ) -> Belief<T> {
        let rows = early.len() / self.second.inputs;
        let [mut late, mut sum] = [(); 2].map(|()| vec![T::ZERO; early.len()]);
        let mut belief =
            Belief { mean: vec![T::ZERO; rows * self.outputs()], z: vec![T::ZERO; rows] };
        let (mut dropped, mut z) = (early.to_vec(), vec![T::ZERO; rows]);
        let share = T::of(1.0 / draws.len() as f64);
        for mask in draws {
            dropped.copy_from_slice(early);
            mask.apply(self.second.inputs, &mut dropped);
            self.second.forward(params, &dropped, &mut late);
            relu(&mut late);
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

fn add<T: Real>(to: &mut [T], from: &[T]) {
    to.iter_mut().zip(from).for_each(|(to, &from)| *to += from);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_gradient, random};
    use bridged::Seed;

    #[test]
    fn gradients_of_the_whole_loss_agree_with_central_differences() {
        let net = Bayes::new(3, 6, 2);
        let mut rng = Seed(1).rng();
        let params: Vec<f64> = net.init(&mut rng);
        // Three distinct rows; the second is in the batch twice among the pairs, and once in the pool.
        let (x, of) = (random(9, 2), [1, 1, 0, 2, 1]);
        let (y, other) = (random(4, 3), random(2, 4));
        let pseudo = Belief { mean: random(6, 5), z: random(3, 6) };
        let mut pass = Pass::default();
        net.drop(0.2, 5, &mut pass, &mut rng);
        let loss = |params: &[f64], pass: &mut Pass<f64>| {
            net.forward(params, (&x, &of), pass);
            let [mut labelled, mut unlabelled] = pass.split(2);
            let known = labelled.heteroscedastic(&y) + labelled.agreement(&other);
            known + unlabelled.pseudo(&pseudo, 2.0)
        };
        let mut grads = vec![0.0; params.len()];
        loss(&params, &mut pass);
        net.backward(&params, (&x, &of), &mut pass, &mut grads);
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
        let mut early = Vec::new();
        net.begin(&params, &x, &mut early);
        let ensemble = net.ensemble(&params, &early, &draws);
        let mut mean = Belief { mean: vec![0.0; 15], z: vec![0.0; 5] };
        for mask in &draws {
            let mut pass = Pass { mask: mask.clone(), ..Pass::default() };
            net.forward(&params, (&x, &[0, 1, 2, 3, 4]), &mut pass);
            mean.mean.iter_mut().zip(&pass.belief.mean).for_each(|(m, v)| *m += v / 6.0);
            mean.z.iter_mut().zip(pass.z()).for_each(|(m, v)| *m += v / 6.0);
        }
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&ensemble.mean, &mean.mean) && near(&ensemble.z, &mean.z));
        let other = net.ensemble(&params, &early, &draws[..1]);
        assert!(!near(&other.mean, &ensemble.mean), "masks matter");
    }

    #[test]
    fn log_variances_stay_within_their_bound() {
        assert!([-1e6f32, -50.0, 50.0, 1e6].map(bounded).iter().all(|z| z.abs() <= 4.0));
        assert!((bounded(0.1f64) - 0.1).abs() < 1e-4);
    }
}
