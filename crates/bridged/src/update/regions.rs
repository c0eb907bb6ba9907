//! New rows that lie together, far from every cluster: a group that nobody had seen at the fit.
//!
//! Rows that are unfamiliar ([`crate::novelty`]) are grouped by DBSCAN. Two of them are neighbours within 1.5 times the
//! root mean square distance r of the pool's rows to their centroids: rows of one group as wide as the clusters are √2 r
//! apart. A group is a region if its mean is unfamiliar too, so that the fringe around a cluster, whose mean is its
//! middle, is none.

use crate::Error;
use crate::cluster::{ClusterError, Clusterer, Dbscan, Eps, NOISE, means_of};
use crate::novelty::UNFAMILIAR;
use crate::side::Side;
use bridged_math::{MatrixRef, Seed, Watch};
use serde::Serialize;

/// Fewer rows are no group.
const LEAST: usize = 5;
/// How far apart neighbours are at most, in r.
const NEAR: f64 = 1.5;

/// A group of new rows that no cluster explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Region {
    /// What its rows are called.
    pub ids: Vec<String>,
    /// Their places among the new rows.
    #[serde(skip)]
    pub rows: Vec<usize>,
    /// How many of the new rows would be unfamiliar by chance.
    pub by_chance: f64,
    /// The cluster that its mean is nearest to.
    pub nearest: u32,
    /// How far its mean is from there, where the rows of that cluster are 1 away in the mean.
    pub away: f64,
    /// Whether it became a cluster.
    pub added: bool,
}

/// The regions among new rows of a side, which has these clusters for them; the largest first.
pub(super) fn find(
    side: &Side,
    rows: MatrixRef<'_>,
    labels: &[u32],
    watch: &dyn Watch,
) -> Result<Vec<Region>, Error> {
    let Some(novelty) = &side.novelty else { return Ok(Vec::new()) };
    let scaled = side.scaler.apply(rows);
    let p_values = novelty.p_values(&side.clustering, scaled.view(), labels);
    let far: Vec<usize> = (0..rows.rows()).filter(|&i| p_values[i] <= UNFAMILIAR).collect();
    let radius = mean_radius(side);
    if far.len() < LEAST || radius <= 0.0 {
        return Ok(Vec::new());
    }
    let outside = scaled.view().select(far.iter().copied());
    let eps = Eps::Distance(NEAR * radius);
    let dbscan = Dbscan { eps, min_samples: LEAST, ..Dbscan::default() };
    let groups = match dbscan.fit(outside.view(), Seed(0), watch) {
        Err(ClusterError::Cancelled(cancelled)) => return Err(Error::Cancelled(cancelled)),
        Err(source) => return Err(Error::Cluster { side: "the new rows", source }),
        Ok(groups) => groups,
    };
    let (means, _) = means_of(outside.view(), &groups.labels, groups.k());
    let nearest = side.clustering.assign(means.view());
    let of_means = novelty.p_values(&side.clustering, means.view(), &nearest);
    let region = |j: usize| {
        let is_in = |at: &usize| groups.labels[*at] == j as u32 && groups.labels[*at] != NOISE;
        let centre = side.clustering.centroids.row(nearest[j] as usize);
        let away = bridged_math::distance::squared_distance(means.row(j), centre).sqrt();
        Region {
            ids: Vec::new(),
            rows: (0..far.len()).filter(is_in).map(|at| far[at]).collect(),
            by_chance: UNFAMILIAR * rows.rows() as f64,
            nearest: nearest[j],
            away: away / novelty.radii[nearest[j] as usize].max(f64::MIN_POSITIVE),
            added: false,
        }
    };
    let mut found: Vec<Region> =
        (0..groups.k()).filter(|&j| of_means[j] <= UNFAMILIAR).map(region).collect();
    found.sort_by(|a, b| b.rows.len().cmp(&a.rows.len()).then(a.rows.cmp(&b.rows)));
    Ok(found)
}

/// The root mean square distance of the rows of a side to their centroids.
fn mean_radius(side: &Side) -> f64 {
    let sizes = side.sizes().iter().map(|&n| f64::from(n));
    let total: f64 = sizes.clone().sum();
    (sizes.zip(&side.radii).map(|(n, r)| n * r * r).sum::<f64>() / total.max(1.0)).sqrt()
}
