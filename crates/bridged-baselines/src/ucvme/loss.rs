//! The losses of one network of the two, with their gradients by its mean and log-variance.
//!
//! A row has d' means and one log-variance z. All are means over rows, and `off` is the mean square
//! over the columns of a row:
//!
//! ```text
//! heteroscedastic   ½ e^{−z} off(μ, y) + ½ z                          by μ and z
//! pseudo            ½ e^{−z̃} off(μ, μ̃) + ½ z̃ + (z − z̃)²               by μ and z; μ̃, z̃ are constants
//! agreement         (z_a − z_b)²                                      by z_a; that by z_b is its negative
//! ```

use crate::nn::{Real, squared_error};

/// What is believed of some rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Belief<T = f32> {
    /// (rows, outputs).
    pub(super) mean: Vec<T>,
    /// The logarithm of the variance around that, one a row.
    pub(super) z: Vec<T>,
}

impl<T: Real> Belief<T> {
    /// The mean of two beliefs.
    pub(super) fn together(mut self, other: &Self) -> Self {
        let meet = |a: &mut [T], b: &[T]| {
            a.iter_mut().zip(b).for_each(|(a, &b)| *a = T::of(0.5) * (*a + b));
        };
        meet(&mut self.mean, &other.mean);
        meet(&mut self.z, &other.z);
        self
    }
}

/// A borrowed belief of some rows with the places of its gradients.
pub(super) struct BeliefGradients<'a, T> {
    pub(super) mean: &'a [T],
    pub(super) z: &'a [T],
    pub(super) d_mean: &'a mut [T],
    pub(super) d_z: &'a mut [T],
}

impl<T: Real> BeliefGradients<'_, T> {
    /// The mean of ½ e^{−z} off(μ, target) + ½ z over rows with the log-variances `z`, times `weight`.
    /// Writes its gradient by μ to `d_mean`, and e^{−z} off of each row to `d_z`.
    fn likelihood(&mut self, target: &[T], z: &[T], weight: f64) -> f64 {
        let width = (self.mean.len() / z.len().max(1)).max(1);
        let share = 0.5 * weight / z.len().max(1) as f64;
        let rows = self.mean.chunks_exact(width).zip(target.chunks_exact(width)).zip(z);
        let places = self.d_mean.chunks_exact_mut(width).zip(&mut *self.d_z);
        let mut sum = 0.0;
        for ((d, off), ((mean, target), &z)) in places.zip(rows) {
            let precision = (-z).exp();
            *off = precision * T::of(squared_error(mean, target, d));
            d.iter_mut().for_each(|d| *d *= T::of(share) * precision);
            sum += off.wide() + z.wide();
        }
        share * sum
    }

    /// The heteroscedastic loss; writes both gradients.
    pub(super) fn heteroscedastic(&mut self, target: &[T]) -> f64 {
        let loss = self.likelihood(target, self.z, 1.0);
        let share = T::of(0.5 / self.z.len().max(1) as f64);
        self.d_z.iter_mut().for_each(|d| *d = share * (T::ONE - *d));
        loss
    }

    /// The loss of pseudo-targets, times `weight`; writes both gradients.
    pub(super) fn pseudo(&mut self, target: &Belief<T>, weight: f64) -> f64 {
        let loss = self.likelihood(&target.mean, &target.z, weight);
        let off = squared_error(self.z, &target.z, self.d_z);
        self.d_z.iter_mut().for_each(|d| *d *= T::of(weight));
        loss + weight * off
    }

    /// The disagreement with the other network's log-variances; adds the gradient by z.
    pub(super) fn agreement(&mut self, other: &[T]) -> f64 {
        let mut d = vec![T::ZERO; other.len()];
        let loss = squared_error(self.z, other, &mut d);
        self.d_z.iter_mut().zip(d).for_each(|(to, d)| *to += d);
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{assert_gradient, random};

    type Loss<'a> = dyn Fn(&mut BeliefGradients<'_, f64>) -> f64 + 'a;

    /// The loss of `f` at (mean, z) in one vector, and its gradient.
    fn at(both: &[f64], f: &Loss<'_>) -> (f64, Vec<f64>) {
        let (mean, z) = both.split_at(12);
        let mut gradient = vec![0.0; 16];
        let (d_mean, d_z) = gradient.split_at_mut(12);
        let loss = f(&mut BeliefGradients { mean, z, d_mean, d_z });
        (loss, gradient)
    }

    #[test]
    fn gradients_agree_with_central_differences() {
        let (both, target, other) = (random(16, 1), random(12, 2), random(4, 3));
        let belief = Belief { mean: target.clone(), z: other.clone() };
        let losses: [&Loss<'_>; 3] =
            [&|r| r.heteroscedastic(&target), &|r| r.pseudo(&belief, 3.0), &|r| {
                r.heteroscedastic(&target) + r.agreement(&other)
            }];
        for f in losses {
            let (_, gradient) = at(&both, f);
            assert!(gradient.iter().all(|&g| g != 0.0));
            assert_gradient(&both, &gradient, |p| at(p, f).0);
        }
    }

    #[test]
    fn the_best_variance_is_the_squared_error() {
        let target = vec![0.5; 12];
        let loss = |z: f64| {
            let both = [vec![0.0; 12], vec![z; 4]].concat();
            at(&both, &|r| r.heteroscedastic(&target))
        };
        let best = 0.25f64.ln();
        assert!(loss(best).1[12..].iter().all(|d| d.abs() < 1e-12));
        assert!(loss(best).0 < loss(best + 0.1).0 && loss(best).0 < loss(best - 0.1).0);
    }
}
