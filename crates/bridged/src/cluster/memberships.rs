//! How rows belong to clusters: a weight for every cluster, hard or soft.

use super::NOISE;

/// Memberships of some rows in k clusters; each row sums to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Memberships {
    /// The number of clusters.
    pub k: usize,
    /// p(i|row), (rows, k).
    pub weights: Vec<f64>,
    /// The mean over the pool of the largest membership of a row: 1 where nothing is blurred.
    pub clarity: f64,
}

impl Memberships {
    /// Every row in its own cluster alone, noise in all of them by `sizes`.
    pub fn hard(labels: impl Iterator<Item = u32>, sizes: &[u32]) -> Self {
        let mut weights = Vec::new();
        labels.for_each(|label| push_hard(&mut weights, label, sizes));
        Self { k: sizes.len(), weights, clarity: 1.0 }
    }

    /// The memberships of row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.weights[i * self.k..(i + 1) * self.k]
    }

    /// The memberships without those of one row.
    pub fn without(&self, i: usize) -> Self {
        let mut rest = self.clone();
        rest.weights.drain(i * self.k..(i + 1) * self.k);
        rest
    }
}

pub(super) fn push_hard(weights: &mut Vec<f64>, label: u32, sizes: &[u32]) {
    let total: f64 = sizes.iter().map(|&n| f64::from(n)).sum();
    weights.extend(sizes.iter().enumerate().map(|(i, &n)| match label {
        NOISE => f64::from(n) / total,
        label => f64::from(u8::from(i == label as usize)),
    }));
}
