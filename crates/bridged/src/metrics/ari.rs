//! The adjusted Rand index (Hubert & Arabie 1985): the share of pairs of rows on which clusters and
//! classes agree, corrected for chance as AMI is.

use super::{Better, Contingency, MetricError, Score, Scorer};

pub(super) const SCORER: Scorer = Scorer {
    name: "ari",
    title: "ARI",
    about: "adjusted Rand index of clusters and classes",
    better: Better::Higher,
    score: Score::Labels(Contingency::ari),
};

impl Contingency {
    /// Adjusted Rand index: 0 for chance, 1 for equal partitions.
    pub fn ari(&self) -> f64 {
        let squares = |sizes: &mut dyn Iterator<Item = &u64>| -> i128 {
            sizes.map(|&s| i128::from(s) * i128::from(s)).sum()
        };
        // Ordered pairs of distinct rows: together in both, in one only, in neither.
        let n = i128::from(self.rows);
        let (cells, a, b) = (
            squares(&mut self.cells.values()),
            squares(&mut self.cluster_sizes.iter()),
            squares(&mut self.class_sizes.iter()),
        );
        let (both, only_a, only_b) = (cells - n, a - cells, b - cells);
        let neither = n * n - a - b + cells;
        if only_a == 0 && only_b == 0 {
            return 1.0;
        }
        // The products reach n⁴, which fits up to n = 2³¹.
        let above = 2 * (both * neither - only_a * only_b);
        let below = (both + only_b) * (only_b + neither) + (both + only_a) * (only_a + neither);
        above as f64 / below as f64
    }
}

/// Adjusted Rand index of two labellings of the same rows; see [`Contingency::ari`].
pub fn ari(labels: &[u32], classes: &[u32]) -> Result<f64, MetricError> {
    Ok(Contingency::new(labels, classes)?.ari())
}
