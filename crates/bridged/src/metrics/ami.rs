//! Adjusted mutual information (Vinh, Epps & Bailey 2010),
//!
//! ```text
//! AMI = (MI − E[MI]) / (mean(H(a), H(b)) − E[MI])
//! ```
//!
//! `E[MI]` is over all tables with these sums, so n_ij is hypergeometric. Its weights are computed
//! from their mode outwards by the ratio of neighbours until they vanish: exact to rounding, with no
//! logarithms of factorials to cancel. Equal sums are done once, so a million rows in a million
//! clusters cost no more than a few. Normalised by the arithmetic mean, as by default in
//! scikit-learn.

use super::{Better, Contingency, MetricError, Score, Scorer};
use std::collections::BTreeMap;

pub(super) const SCORER: Scorer = Scorer {
    name: "ami",
    title: "AMI",
    about: "adjusted mutual information of clusters and classes",
    better: Better::Higher,
    score: Score::Labels(Contingency::ami),
};

impl Contingency {
    /// Adjusted mutual information: 0 for chance, 1 for equal partitions.
    pub fn ami(&self) -> f64 {
        match (self.clusters.len(), self.classes.len()) {
            (1, 1) => return 1.0,
            (1, _) | (_, 1) => return 0.0,
            _ => {}
        }
        let expected = self.expected_mutual_information();
        // Where the expectation reaches the maximum (all rows alone), 0/0 means equal: 1.
        let guard = |v: f64| if v < 0.0 { v.min(-f64::EPSILON) } else { v.max(f64::EPSILON) };
        guard(self.mutual_information() - expected) / guard(self.mean_entropy() - expected)
    }

    /// `E[MI]` in nats over all tables with the same row and column sums.
    pub fn expected_mutual_information(&self) -> f64 {
        let (a, b) = (multiplicities(&self.cluster_sizes), multiplicities(&self.class_sizes));
        let mut sum = 0.0;
        for (&a, &times_a) in &a {
            for (&b, &times_b) in &b {
                sum += (times_a * times_b) as f64 * expected_cell(self.rows, a, b);
            }
        }
        sum
    }
}

/// Adjusted mutual information of two labellings of the same rows; see [`Contingency::ami`].
///
/// ```
/// use bridged::metrics::ami;
/// assert!((ami(&[1, 1, 0, 0], &[5, 5, 8, 8])? - 1.0).abs() < 1e-12);
/// assert!(ami(&[0, 1, 0, 1], &[5, 5, 8, 8])? < 0.0);
/// # Ok::<(), bridged::metrics::MetricError>(())
/// ```
pub fn ami(labels: &[u32], classes: &[u32]) -> Result<f64, MetricError> {
    Ok(Contingency::new(labels, classes)?.ami())
}

fn multiplicities(sizes: &[u64]) -> BTreeMap<u64, u64> {
    let mut times = BTreeMap::new();
    for &s in sizes {
        *times.entry(s).or_insert(0) += 1;
    }
    times
}

/// `E[m/n · ln(n m / (a b))]` for a hypergeometric m: of n rows, a are in the cluster, b in the class.
fn expected_cell(n: u64, a: u64, b: u64) -> f64 {
    /// Weights below this share of the largest one no longer matter in `f64`.
    const VANISHED: f64 = 1e-20;
    let (lowest, highest) = ((a + b).saturating_sub(n), a.min(b));
    let mode = ((a as u128 + 1) * (b as u128 + 1) / (n as u128 + 2)) as u64;
    let mode = mode.clamp(lowest, highest);
    // P(m + 1) / P(m)
    let ratio = |m: u64| {
        let up = (a - m) as f64 * (b - m) as f64;
        let down = (m + 1) as f64 * (n + m + 1 - a - b) as f64;
        up / down
    };
    let scale = n as f64 / (a as f64 * b as f64);
    let term = |m: u64| if m == 0 { 0.0 } else { m as f64 * (m as f64 * scale).ln() };
    let (mut weights, mut sum) = (1.0, term(mode));
    let mut weight = 1.0;
    for m in mode..highest {
        weight *= ratio(m);
        weights += weight;
        sum += weight * term(m + 1);
        if weight < VANISHED {
            break;
        }
    }
    weight = 1.0;
    for m in (lowest..mode).rev() {
        weight /= ratio(m);
        weights += weight;
        sum += weight * term(m);
        if weight < VANISHED {
            break;
        }
    }
    sum / weights / n as f64
}
