//! Could chance have done as well? What several members say of pairs that were left out, against shuffled outputs.
//!
//! ```text
//! T(π) = Σ_s ⟨y_π(s) − ȳ, ŷ_s − ȳ⟩        ŷ_s from the other pairs
//! p    = the share of T(π) ≥ T(identity) over shuffles π, the identity being one of them
//! ```
//!
//! It asks the predictions themselves, so it needs no cluster with two pairs, and ten pairs can tell. Under
//! chance a left-out pair is predicted slightly against its own output, which makes the test cautious.
//! O(pairs² d' + 999 · pairs).

use bridged_math::Seed;
use bridged_math::linalg::{Accum, View, product};
use rand::seq::SliceRandom;

/// Shuffles.
pub(super) const SHUFFLES: usize = 999;
/// More pairs than this do not make the test sharper.
const MOST: usize = 500;

/// p of what was `said` of pairs whose outputs are the `truth`, both less the mean of the pool, (pairs, cols).
pub(crate) fn chance(said: &[f64], truth: &[f64], cols: usize) -> f64 {
    let pairs = (said.len() / cols.max(1)).min(MOST);
    let (said, truth) = (&said[..pairs * cols], &truth[..pairs * cols]);
    let mut products = vec![0.0; pairs * pairs]; // ⟨truth of a, said of b⟩
    let said = View::new(said, pairs, cols);
    product(View::new(truth, pairs, cols), said.t(), Accum::Replace, &mut products);
    let fit = |order: &[usize]| -> f64 {
        order.iter().enumerate().map(|(s, &a)| products[a * pairs + s]).sum()
    };
    let mut order: Vec<usize> = (0..pairs).collect();
    let found = fit(&order);
    let size: f64 = products.iter().map(|p| p.abs()).sum::<f64>() / pairs.max(1) as f64;
    let mut rng = Seed(0).child("shuffled outputs").rng();
    let reached = (0..SHUFFLES).filter(|_| {
        order.shuffle(&mut rng);
        fit(&order) >= found - 1e-9 * size
    });
    (1 + reached.count()) as f64 / (1 + SHUFFLES) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(pairs: usize) -> Vec<f64> {
        (0..pairs * 2).map(|at| f64::from(((at * 37) % 17) as u32) - 8.0).collect()
    }

    #[test]
    fn predictions_that_fit_are_no_chance_with_ten_pairs() {
        let truth = outputs(10);
        let said: Vec<f64> = truth.iter().map(|t| 0.3 * t).collect();
        assert!(chance(&said, &truth, 2) < 0.01);
        let against: Vec<f64> = truth.iter().map(|t| -0.3 * t).collect();
        assert!(chance(&against, &truth, 2) > 0.9);
    }

    #[test]
    fn one_answer_for_all_fits_every_pairing() {
        assert_eq!(chance(&[0.5; 20], &outputs(10), 2), 1.0);
        assert_eq!(chance(&[0.0; 20], &outputs(10), 2), 1.0);
        assert_eq!(chance(&[1.0, 2.0], &[1.0, 2.0], 2), 1.0);
        assert_eq!(chance(&[], &[], 2), 1.0);
    }

    #[test]
    fn under_chance_few_are_taken_for_more() {
        let mut rng = Seed(5).rng();
        let mut alarms = 0;
        for _ in 0..200 {
            let mut truth = outputs(12);
            truth.shuffle(&mut rng);
            let mut said = truth.clone();
            said.shuffle(&mut rng);
            alarms += usize::from(chance(&said, &truth, 2) <= 0.05);
        }
        assert!(alarms <= 20, "{alarms} of 200 at .05");
    }
}
