//! How much each member counts: what it says of pairs that were left out, against a prior.
//!
//! ```text
//! minimise ‖T − Σ_m v_m R_m‖² + s ‖v − v⁰‖²   over v ≥ 0, Σ v ≤ 1,    s = ν/P · mean_m ‖T − R_m‖²
//! ```
//!
//! T holds the outputs of the pairs less the mean of the pool, R_m what member m says of them without having
//! seen them. The prior weighs ν = 6 pairs. What is missing to Σ v = 1 is the mean of the pool, so nothing keeps
//! the members where none of them is any good (Wolpert 1992, Breiman 1996).

/// ν.
const PRIOR: f64 = 6.0;
/// Steps of the projected gradient, accelerated; a dozen weights need far fewer.
const STEPS: usize = 1000;

/// Weights of members, given their predictions `said` of left-out pairs and the `truth`, all of one length.
pub(super) fn weights(said: &[&[f64]], truth: &[f64], pairs: usize, prior: &[f64]) -> Vec<f64> {
    let m = said.len();
    let product = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
    let mut gram = vec![0.0; m * m];
    for a in 0..m {
        for b in 0..=a {
            let value = product(said[a], said[b]);
            gram[a * m + b] = value;
            gram[b * m + a] = value;
        }
    }
    let along: Vec<f64> = said.iter().map(|r| product(r, truth)).collect();
    let square = product(truth, truth);
    let errors = (0..m).map(|a| (square - 2.0 * along[a] + gram[a * m + a]).max(0.0));
    let hold = PRIOR / pairs.max(1) as f64 * errors.sum::<f64>() / m.max(1) as f64;
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
