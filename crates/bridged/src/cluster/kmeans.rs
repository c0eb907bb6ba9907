//! k-means.

use crate::cluster::{ClusterError, Clusterer, Clustering};
use bridged_math::{MatrixRef, Seed, Watch};
use serde::{Deserialize, Serialize};

/// k-means.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KMeans {
    /// The number of clusters.
    pub k: usize,
}

impl Clusterer for KMeans {
    fn fit(&self, _: MatrixRef<'_>, _: Seed, _: &dyn Watch) -> Result<Clustering, ClusterError> {
        Err(ClusterError::NoRows)
    }
}
