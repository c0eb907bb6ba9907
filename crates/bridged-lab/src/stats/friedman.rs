//! Friedman's test: whether several methods rank differently over many draws.
//!
//! ```text
//! χ² = (12/(n k (k+1)) Σ_j R_j² − 3 n (k+1)) / (1 − ΣΣ(t³ − t)/(n (k³ − k))),   R_j the rank sums
//! ```
//!
//! with k − 1 degrees of freedom. As SciPy's `friedmanchisquare`.

use super::ranks;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The result of the test.
#[derive(Clone, Debug, PartialEq)]
pub struct Friedman {
    /// The mean rank of each method; 1 is best on every draw.
    pub mean_ranks: Vec<f64>,
    /// χ².
    pub statistic: f64,
    /// Its p-value; 1 where no ranks differ.
    pub p: f64,
}

/// Tests rows of errors, one row a draw and one column a method; none with fewer than two methods
/// or no draw.
pub fn friedman(rows: &[Vec<f64>]) -> Option<Friedman> {
    let (n, k) = (rows.len(), rows.first()?.len());
    if k < 2 {
        return None;
    }
    let (mut sums, mut ties) = (vec![0.0; k], 0.0);
    for row in rows {
        let (ranks, tied) = ranks(row);
        sums.iter_mut().zip(ranks).for_each(|(s, r)| *s += r);
        ties += tied;
    }
    let (nf, kf) = (n as f64, k as f64);
    let squares: f64 = sums.iter().map(|s| s * s).sum();
    let correction = 1.0 - ties / (nf * (kf * kf * kf - kf));
    let raw = 12.0 / (nf * kf * (kf + 1.0)) * squares - 3.0 * nf * (kf + 1.0);
    let statistic = if correction > 1e-12 { raw / correction } else { 0.0 };
    let chi = ChiSquared::new(kf - 1.0).expect("k is at least 2");
    let p = if statistic > 0.0 { chi.sf(statistic) } else { 1.0 };
    Some(Friedman { mean_ranks: sums.iter().map(|s| s / nf).collect(), statistic, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_scipy() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/golden/stats.json")).unwrap();
        for case in golden["friedman"].as_array().unwrap() {
            let rows: Vec<Vec<f64>> = serde_json::from_value(case["rows"].clone()).unwrap();
            let found = friedman(&rows).unwrap();
            assert!((found.statistic - case["statistic"].as_f64().unwrap()).abs() < 1e-9);
            assert!((found.p - case["p"].as_f64().unwrap()).abs() < 1e-9);
        }
    }

    #[test]
    fn who_is_always_best_has_rank_one_and_equals_do_not_differ() {
        let rows = vec![vec![1.0, 2.0, 3.0]; 8];
        let found = friedman(&rows).unwrap();
        assert_eq!(found.mean_ranks, [1.0, 2.0, 3.0]);
        assert!(found.p < 0.001);
        assert_eq!(friedman(&vec![vec![1.0, 1.0]; 5]).unwrap().p, 1.0);
        assert_eq!(friedman(&[]), None);
    }
}
