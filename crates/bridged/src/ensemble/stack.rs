//! How much each member counts: what it says of pairs that were left out, against a prior.
//!
//! ```text
//! minimise ‖T − Σ_m v_m R_m‖² + s ‖v − v⁰‖²   over v ≥ 0, Σ v ≤ 1,    s = ν/P · mean_m ‖T − R_m‖²
//! ```
//!
//! T holds the outputs of the pairs less the mean of the pool, R_m what member m says of them without having
//! seen them. The prior weighs ν = 6 pairs. What is missing to Σ v = 1 is the mean of the pool, so nothing keeps
//! the members where none of them is any good (Wolpert 1992, Breiman 1996).

use bridged_math::linalg::{Accum, View, product};

/// ν.
const PRIOR: f64 = 6.0;
/// Steps of the projected gradient, accelerated; a dozen weights need far fewer.
const STEPS: usize = 1000;

/// Inner products of what members say of some left-out pairs, and of the truth: all that weights depend on.
#[derive(Clone)]
pub(super) struct Products {
    /// ⟨R_a, R_b⟩, (m, m).
    gram: Vec<f64>,
    /// ⟨R_a, T⟩.
    along: Vec<f64>,
    /// ⟨T, T⟩.
    square: f64,
    pairs: usize,
}

impl Products {
    /// Of the predictions `said` of so many pairs and the `truth`, all of one length.
    pub fn new(said: &[Vec<f64>], truth: &[f64], pairs: usize) -> Self {
        let (m, n) = (said.len(), truth.len());
        let all: Vec<f64> = said.iter().flatten().chain(truth).copied().collect();
        let all = View::new(&all, m + 1, n);
        let mut every = vec![0.0; (m + 1) * (m + 1)];
        product(all, all.t(), Accum::Replace, &mut every);
        let gram = (0..m * m).map(|at| every[at / m * (m + 1) + at % m]).collect();
        let along = (0..m).map(|a| every[a * (m + 1) + m]).collect();
        Self { gram, along, square: every[m * (m + 1) + m], pairs }
    }

    /// Those of all pairs of several, which are of other pairs each; `None` of none.
    pub fn sum<'a>(mut parts: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let mut sum = parts.next()?.clone();
        for part in parts {
            let all = |a: &mut Vec<f64>, b: &[f64]| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            };
            all(&mut sum.gram, &part.gram);
            all(&mut sum.along, &part.along);
            sum.square += part.square;
            sum.pairs += part.pairs;
        }
        Some(sum)
    }
}

/// Weights of members.
pub(super) fn weights(products: &Products, prior: &[f64]) -> Vec<f64> {
    let Products { gram, along, square, pairs } = products;
    let m = along.len();
    let errors = (0..m).map(|a| (square - 2.0 * along[a] + gram[a * m + a]).max(0.0));
    let hold = PRIOR / (*pairs).max(1) as f64 * errors.sum::<f64>() / m.max(1) as f64;
    let trace: f64 = (0..m).map(|a| gram[a * m + a] + hold).sum();
    if trace.is_nan() || trace <= 0.0 {
        return prior.to_vec();
    }
    // The trace bounds the largest eigenvalue; the largest row sum is often smaller.
    let row_sum = |a: usize| (0..m).map(|b| gram[a * m + b].abs()).sum::<f64>() + hold;
    let lipschitz = (0..m).map(row_sum).fold(0.0, f64::max).min(trace);
    let mut v = prior.to_vec();
    let (mut ahead, mut t) = (v.clone(), 1.0f64);
    for _ in 0..STEPS {
        let next: Vec<f64> = (0..m)
            .map(|a| {
                let slope = (0..m).map(|b| gram[a * m + b] * ahead[b]).sum::<f64>()
                    + hold * (ahead[a] - prior[a])
                    - along[a];
                ahead[a] - slope / lipschitz
            })
            .collect();
        let next = onto_simplex(next);
        let t_next = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
        let push = (t - 1.0) / t_next;
        ahead = next.iter().zip(&v).map(|(n, v)| n + push * (n - v)).collect();
        (v, t) = (next, t_next);
    }
    v
}

/// The nearest weights that are not negative and sum to at most 1.
fn onto_simplex(mut v: Vec<f64>) -> Vec<f64> {
    let sum: f64 = v.iter().map(|w| w.max(0.0)).sum();
    let mut shift = 0.0;
    if sum > 1.0 {
        let mut sorted = v.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mut running = 0.0;
        for (at, w) in sorted.iter().enumerate() {
            running += w;
            let level = (running - 1.0) / (at + 1) as f64;
            if *w > level {
                shift = level;
            }
        }
    }
    v.iter_mut().for_each(|w| *w = (*w - shift).max(0.0));
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights from predictions of pairs with one output.
    fn weights(said: &[&[f64]], truth: &[f64], pairs: usize, prior: &[f64]) -> Vec<f64> {
        let said: Vec<Vec<f64>> = said.iter().map(|r| r.to_vec()).collect();
        super::weights(&Products::new(&said, truth, pairs), prior)
    }

    #[test]
    fn products_of_all_pairs_are_those_of_their_parts() {
        let said = [vec![1.0, -2.0, 0.5, 3.0], vec![0.0, 1.0, 2.0, -1.0]];
        let truth = [2.0, 1.0, -1.0, 0.5];
        let part = |range: std::ops::Range<usize>| {
            let said: Vec<Vec<f64>> = said.iter().map(|r| r[range.clone()].to_vec()).collect();
            Products::new(&said, &truth[range.clone()], range.len())
        };
        let (whole, parts) = (part(0..4), [part(0..1), part(1..4)]);
        let sum = Products::sum(parts.iter()).expect("two parts");
        assert_eq!((sum.gram, sum.along), (whole.gram, whole.along));
        assert_eq!((sum.square, sum.pairs), (whole.square, 4));
        assert_eq!((whole.square, part(0..4).along[0]), (6.25, 1.0));
        assert!(Products::sum(parts[..0].iter()).is_none());
    }

    #[test]
    fn the_member_that_is_right_gets_the_weight_once_there_are_pairs() {
        let truth: Vec<f64> = (0..200).map(|i| f64::from(i % 7) - 3.0).collect();
        let noise: Vec<f64> = (0..200).map(|i| f64::from((i * 37) % 11) - 5.0).collect();
        let found = weights(&[&truth, &noise], &truth, 200, &[0.5, 0.5]);
        assert!(found[0] > 0.95 && found[1] < 0.05, "{found:?}");
        let few = weights(&[&truth[..3], &noise[..3]], &truth[..3], 3, &[0.5, 0.5]);
        assert!(few[0] > 0.5 && few[0] < found[0], "{few:?}");
    }

    #[test]
    fn members_that_know_nothing_give_way_to_the_mean() {
        let truth: Vec<f64> = (0..300).map(|i| f64::from(i % 7) - 3.0).collect();
        let against: Vec<f64> = truth.iter().map(|t| -t).collect();
        let found = weights(&[&against], &truth, 300, &[1.0]);
        assert!(found[0] < 0.01, "{found:?}");
    }

    #[test]
    fn weights_are_where_no_other_weights_are_better() {
        let said: Vec<Vec<f64>> = (0..3)
            .map(|m| (0..40).map(|i| f64::from((i * (m + 3)) % 13) / 6.0).collect())
            .collect();
        let truth: Vec<f64> = (0..40).map(|i| f64::from((i * 5) % 13) / 5.0).collect();
        let prior = [0.5, 0.3, 0.2];
        let loss = |v: &[f64]| {
            let errors: f64 = said
                .iter()
                .map(|r| r.iter().zip(&truth).map(|(a, b)| (b - a).powi(2)).sum::<f64>())
                .sum();
            let hold = PRIOR / 40.0 * errors / 3.0;
            let miss: f64 = (0..40)
                .map(|i| (truth[i] - (0..3).map(|m| v[m] * said[m][i]).sum::<f64>()).powi(2))
                .sum();
            miss + hold * v.iter().zip(&prior).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        let all: Vec<&[f64]> = said.iter().map(Vec::as_slice).collect();
        let found = weights(&all, &truth, 40, &prior);
        assert!(found.iter().all(|w| *w >= 0.0) && found.iter().sum::<f64>() <= 1.0 + 1e-12);
        let best = loss(&found);
        for a in 0..=20 {
            for b in 0..=20 - a {
                for c in 0..=20 - a - b {
                    let v = [a, b, c].map(|w| f64::from(w) / 20.0);
                    assert!(loss(&v) >= best - 1e-9, "{v:?} {found:?}");
                }
            }
        }
    }
}
