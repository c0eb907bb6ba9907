//! Normalised mutual information, MI / mean(H(a), H(b)): by the arithmetic mean, as by default in
//! scikit-learn.

use super::{Better, Contingency, MetricError, Score, Scorer};

pub(super) const SCORER: Scorer = Scorer {
    name: "nmi",
    title: "NMI",
    about: "normalised mutual information of clusters and classes",
    better: Better::Higher,
    score: Score::Labels(Contingency::nmi),
};

impl Contingency {
    /// Normalised mutual information: 1 for equal partitions, not corrected for chance.
    pub fn nmi(&self) -> f64 {
        match (self.clusters.len(), self.classes.len()) {
            (1, 1) => 1.0,
            (1, _) | (_, 1) => 0.0,
            _ => self.mutual_information() / self.mean_entropy(),
        }
    }
}

/// Normalised mutual information of two labellings of the same rows; see [`Contingency::nmi`].
pub fn nmi(labels: &[u32], classes: &[u32]) -> Result<f64, MetricError> {
    Ok(Contingency::new(labels, classes)?.nmi())
}
