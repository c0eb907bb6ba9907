//! Squared errors, with their gradients by the prediction.

use super::Real;

/// The mean of (p − t)² over all entries. Writes its gradient by p to `d`.
pub fn squared_error<T: Real>(predicted: &[T], target: &[T], d: &mut [T]) -> f64 {
    let factor = T::of(2.0 / predicted.len().max(1) as f64);
    let mut sum = 0.0;
    for ((d, &p), &t) in d.iter_mut().zip(predicted).zip(target) {
        let off = p - t;
        sum += off.wide() * off.wide();
        *d = factor * off;
    }
    sum / predicted.len().max(1) as f64
}

/// Σ_i w_i · mean over the columns of (p_i − t_i)², one weight a row. Writes its gradient by p to `d`.
pub fn weighted_squared_error<T: Real>(
    predicted: &[T],
    target: &[T],
    weights: &[T],
    d: &mut [T],
) -> f64 {
    let width = (predicted.len() / weights.len().max(1)).max(1);
    let rows = predicted.chunks_exact(width).zip(target.chunks_exact(width));
    let mut sum = 0.0;
    for ((d, (p, t)), &w) in d.chunks_exact_mut(width).zip(rows).zip(weights) {
        sum += w.wide() * squared_error(p, t, d);
        d.iter_mut().for_each(|d| *d *= w);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_gradient, random};
    use super::*;

    #[test]
    fn gradients_agree_with_central_differences() {
        let (p, t, w) = (random(12, 1), random(12, 2), [0.5, 0.0, 2.0]);
        let mut d = vec![0.0; 12];
        let loss = squared_error(&p, &t, &mut d);
        assert_gradient(&p, &d, |p| squared_error(p, &t, &mut [0.0; 12]));
        let equal = weighted_squared_error(&p, &t, &[1.0 / 3.0; 3], &mut d);
        assert!((loss - equal).abs() < 1e-12);
        weighted_squared_error(&p, &t, &w, &mut d);
        assert_gradient(&p, &d, |p| weighted_squared_error(p, &t, &w, &mut [0.0; 12]));
    }
}
