//! The mis-clustering rate (§4),
//!
//! ```text
//! ε = 1 − max over injective maps σ: cluster → class of Σ_i n_{i σ(i)} / n
//! ```

use super::{Better, Contingency, MetricError, Score, Scorer};
use crate::cluster::NOISE;
use bridged_math::assignment::{Goal, assign};
use std::collections::BTreeMap;

pub(super) const SCORER: Scorer = Scorer {
    name: "epsilon",
    title: "ε",
    about: "mis-clustering rate: the least share of rows in a wrong cluster",
    better: Better::Lower,
    score: Score::Labels(|table| table.matching().error),
};

/// The best one-to-one map from clusters to classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Matching {
    /// ε, the share of rows whose cluster is not mapped to their class.
    pub error: f64,
    /// σ: the class of each cluster, as (cluster, class); a cluster without a class is not listed.
    pub class_of: BTreeMap<u32, u32>,
}

impl Matching {
    /// σ⁻¹: the cluster of each class.
    pub fn cluster_of(&self) -> BTreeMap<u32, u32> {
        self.class_of.iter().map(|(&cluster, &class)| (class, cluster)).collect()
    }
}

impl Contingency {
    /// The best injective map of clusters to classes and its mis-clustering rate ε.
    ///
    /// A cluster and a class that share no row are never mapped to each other, noise is mapped to
    /// no class, and the rows of a cluster left without a class are errors. Cost O(k C min(k, C)).
    pub fn matching(&self) -> Matching {
        let k = self.clusters.iter().filter(|&&c| c != NOISE).count();
        let classes = self.classes.len();
        let mut counts = vec![0.0f64; k * classes];
        for (&(i, j), &rows) in self.cells.iter().filter(|((i, _), _)| *i < k) {
            counts[i * classes + j] = rows as f64;
        }
        let best = assign(&counts, k, classes, Goal::Maximise);
        let mut class_of = BTreeMap::new();
        for (i, j) in best.row_to_col.iter().enumerate() {
            match *j {
                Some(j) if counts[i * classes + j] > 0.0 => {
                    class_of.insert(self.clusters[i], self.classes[j]);
                }
                _ => {}
            }
        }
        let error = (self.rows as f64 - best.total) / self.rows as f64;
        Matching { error, class_of }
    }
}

/// The mis-clustering rate ε; see [`Contingency::matching`].
pub fn misclustering(labels: &[u32], classes: &[u32]) -> Result<f64, MetricError> {
    Ok(Contingency::new(labels, classes)?.matching().error)
}
