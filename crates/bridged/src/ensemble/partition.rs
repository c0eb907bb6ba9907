//! One cut of one pool into clusters.

use crate::cluster::{
    AssignRule, ClusterError, ClusterSpec, Clusterer, Clustering, Metric, Spread, means_of, spaced,
};
use crate::side::Side;
use bridged_math::{Matrix, MatrixRef, Seed, Watch};

/// τ of all memberships, as of the posterior bridge.
pub(super) const TEMPERATURE: f64 = 4.0;

/// A clustering without the labels of its rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Partition {
    pub clustering: Clustering,
    pub spread: Spread,
    /// The means of the clusters in the units of the data.
    pub values: Matrix,
    pub balanced: bool,
}

/// The clustering that is read, or another one.
#[derive(Clone, Copy)]
pub(crate) struct Cut<'a> {
    pub clustering: &'a Clustering,
    pub spread: &'a Spread,
    pub values: &'a Matrix,
    pub balanced: bool,
}

impl Partition {
    /// Clusters the rows of a pool: scaled, and in the units of the data.
    pub fn fit(
        spec: &ClusterSpec,
        (scaled, pool): (MatrixRef<'_>, MatrixRef<'_>),
        mean: &[f32],
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Self, ClusterError> {
        let mut clustering = spec.fit_finite(scaled, seed, watch)?;
        let values = means_of(pool, &clustering.labels, clustering.k()).0;
        let spread = Spread::measure(&scaled, &clustering, &pool, &values, mean)?;
        // Rows are assigned to the nearest centroid, whatever sizes the clusters were held to.
        let centres = clustering.centroids.clone();
        clustering.rule = AssignRule::Nearest { centres, metric: Metric::Euclidean };
        clustering.labels = Vec::new();
        Ok(Self { clustering, spread, values, balanced: is_balanced(spec) })
    }

    pub(super) fn cut(&self) -> Cut<'_> {
        let Self { clustering, spread, values, balanced } = self;
        Cut { clustering, spread, values, balanced: *balanced }
    }
}

pub(super) fn is_balanced(spec: &ClusterSpec) -> bool {
    matches!(spec, ClusterSpec::BalancedKMeans(_))
}

impl<'a> Cut<'a> {
    /// The clustering that is read.
    pub fn of(side: &'a Side, spec: &ClusterSpec) -> Self {
        let Side { clustering, spread, values, .. } = side;
        Cut { clustering, spread, values, balanced: is_balanced(spec) }
    }

    pub fn k(self) -> usize {
        self.clustering.k()
    }

    /// p(·|row) of scaled rows, (rows, k).
    pub fn memberships(self, scaled: MatrixRef<'_>) -> Vec<f64> {
        let labels = self.clustering.assign(scaled);
        self.spread.memberships(self.clustering, scaled, &labels, TEMPERATURE)
    }

    /// How surely rows of the pool belong to their clusters.
    pub fn clarity(self, scaled: MatrixRef<'_>) -> f64 {
        let sample = scaled.select(spaced(scaled.rows()));
        self.spread.clarity(self.clustering, sample.view(), TEMPERATURE)
    }

    /// The share of each cluster.
    pub fn shares(self) -> Vec<f64> {
        let sizes = self.clustering.sizes.iter().map(|&n| f64::from(n.max(1)));
        let total: f64 = sizes.clone().sum();
        sizes.map(|n| n / total).collect()
    }

    /// Shrunk means less the mean of the pool, (k, d).
    pub fn deviations(self, mean: &[f32]) -> Vec<f64> {
        let of = |j: usize| {
            let kept = self.spread.shrink[j];
            let row = self.values.row(j).iter().zip(mean);
            row.map(move |(&v, &m)| kept * (f64::from(v) - f64::from(m)))
        };
        (0..self.k()).flat_map(of).collect()
    }
}
