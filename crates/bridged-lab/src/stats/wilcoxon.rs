//! Wilcoxon's signed-rank test: whether paired differences lie around 0, two-sided.
//!
//! ```text
//! W⁺ = Σ ranks of |d_i| over d_i > 0;   exact for n ≤ 50, otherwise normal with mean n(n+1)/4 and
//! variance n(n+1)(2n+1)/24 − Σ(t³ − t)/48
//! ```
//!
//! Differences of 0 say nothing and are left out (Wilcoxon 1945). As SciPy's `wilcoxon`, which turns
//! to the normal distribution at 14 where some |d_i| are equal; here the distribution of W⁺ over all
//! signs is counted with the shared ranks as they are.
//!
//! With n differences the least p-value that there is is 2/2ⁿ, when all have the same sign: 0.0625 with 5.

use super::ranks;
use statrs::function::erf::erfc;

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wilcoxon {
    /// Differences that are not 0.
    pub n: usize,
    /// W⁺, the sum of the ranks of the positive differences.
    pub positive: f64,
    /// The two-sided p-value; 1 where nothing differs.
    pub p: f64,
}

impl Wilcoxon {
    /// The least p-value that this many differences can have.
    pub fn least(&self) -> f64 {
        (1.0 - self.n as f64).exp2().min(1.0)
    }

    /// Whether no p-value could be smaller, all differences having the same sign: more draws might say more.
    pub fn at_floor(&self) -> bool {
        self.p <= self.least() * (1.0 + 1e-9)
    }
}

/// The most differences of which the distribution is computed exactly.
const EXACT: usize = 50;

/// Tests whether the differences lie around 0.
pub fn wilcoxon(differences: &[f64]) -> Wilcoxon {
    let kept: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let n = kept.len();
    if n == 0 {
        return Wilcoxon { n, positive: 0.0, p: 1.0 };
    }
    let sizes: Vec<f64> = kept.iter().map(|d| d.abs()).collect();
    let (ranks, ties) = ranks(&sizes);
    let positive: f64 = kept.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, r)| r).sum();
    let all = (n * (n + 1)) as f64 / 2.0;
    let smaller = positive.min(all - positive);
    let p = if n <= EXACT {
        2.0 * lower_tail(&ranks, smaller)
    } else {
        let n = n as f64;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
        let z = (smaller - all / 2.0) / variance.sqrt();
        erfc(-z / std::f64::consts::SQRT_2)
    };
    Wilcoxon { n, positive, p: p.min(1.0) }
}

/// Pr(W⁺ ≤ w) when every sign is a fair coin: of 2ⁿ signs, those whose positive ranks add up to at
/// most w. Shared ranks are halves, so everything is counted twice.
fn lower_tail(ranks: &[f64], w: f64) -> f64 {
    let most = (2.0 * w) as usize;
    let mut ways = vec![0.0f64; most + 1];
    ways[0] = 1.0;
    for rank in ranks.iter().map(|r| (2.0 * r) as usize) {
        for sum in (rank..=most).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways.iter().sum::<f64>() / (ranks.len() as f64).exp2()
}

/// Holm's correction of several p-values: each as it would be were it tested with all the others.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut corrected = vec![0.0; p.len()];
    let mut least = 0.0f64;
    for (at, i) in order.into_iter().enumerate() {
        least = least.max(p[i] * (p.len() - at) as f64).min(1.0);
        corrected[i] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_samples_agree_with_counting_all_signs() {
        let d: [f64; 7] = [1.0, -2.0, 3.5, 4.0, 5.0, -6.5, 7.0];
        let w = wilcoxon(&d);
        assert_eq!((w.n, w.positive), (7, 20.0));
        let mut as_far = 0;
        for signs in 0u32..128 {
            let sum: u32 = (0..7).filter(|i| signs >> i & 1 == 1).map(|i| i + 1).sum();
            as_far += u32::from(sum <= 8 || sum >= 20);
        }
        assert!((w.p - f64::from(as_far) / 128.0).abs() < 1e-12, "{}", w.p);
    }

    #[test]
    fn it_agrees_with_scipy() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/golden/stats.json")).unwrap();
        let cases = golden["wilcoxon"].as_array().unwrap();
        assert!(cases.len() >= 6);
        for case in cases {
            let d: Vec<f64> = serde_json::from_value(case["differences"].clone()).unwrap();
            let expected = case["p"].as_f64().unwrap();
            let p = wilcoxon(&d).p;
            assert!((p - expected).abs() <= 1e-9 + 1e-6 * expected, "{}: {p} {expected}", d.len());
        }
    }

    #[test]
    fn differences_of_one_sign_are_at_the_floor_of_their_number() {
        let w = wilcoxon(&[0.3, 1.0, 2.0, 0.0, 2.0, 5.0]);
        assert_eq!((w.n, w.p, w.least()), (5, 0.0625, 0.0625));
        assert!(w.at_floor());
        assert!(!wilcoxon(&[-0.3, 1.0, 2.0, 2.5, 5.0]).at_floor());
        assert!(!wilcoxon(&[1.0; 60]).at_floor(), "the normal distribution has no floor");
        assert_eq!(wilcoxon(&[]).least(), 1.0);
    }

    #[test]
    fn equal_samples_do_not_differ() {
        assert_eq!(wilcoxon(&[0.0; 9]).p, 1.0);
        assert_eq!(wilcoxon(&[]).p, 1.0);
    }

    #[test]
    fn holm_multiplies_by_what_is_left_and_never_reverses_an_order() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (c, e) in corrected.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((c - e).abs() < 1e-12);
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
