//! A model of two pools that lie on many machines.
//!
//! Centroids, sizes, means and radii are those of all rows. What is measured on some rows anyway (how far rows
//! spread, what is novel, how far apart clusters are, the further cuts of an ensemble, the links and their
//! check) is measured on the rows that the driver holds: a sample of both pools and the rows of the pairs.
//! The model is the same type as that of pools in files, and holds the same rows.

use super::balanced::{BalancedByPasses, BalancedState};
use super::kmeans::{ByPasses, KMeansByPasses, KMeansState, Start};
use super::partial::Partial;
use super::pass::{Of, Pass, View, Work};
use super::{Look, Partitions, PassError};
use crate::Error;
use crate::cluster::{AssignRule, ClusterSpec, Clustering, Init, KMeans, Metric, Spread};
use crate::kept::{Cached, KeptRows};
use crate::model::BridgedModel;
use crate::novelty::Novelty;
use crate::offset::Offset;
use crate::problem::{Pairs, Pools};
use crate::rows_at::{Kept, RowsAt};
use crate::scale::{Scale, Scaler};
use crate::separation::{Failed, separation_of};
use crate::settings::{BridgedClustering, Check, KeepRows, PairRows, SideSpec};
use crate::side::{Names, Side};
use bridged_math::{Matrix, Seed, Watch, cancel::cancellable};
use serde::{Deserialize, Serialize};

/// Rounds of k-means‖.
const ROUNDS: u32 = 2;

/// The rows of a pool that the driver holds.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldRows {
    /// The rows, (m, d): a sample of the pool and all rows of the pairs.
    pub rows: Matrix,
    /// Their numbers among all rows, which ascend.
    pub numbers: Vec<u64>,
    /// What they are called.
    pub names: Names,
    /// What the pool is called.
    pub at: RowsAt,
}

/// A side that was clustered by passes.
#[derive(Clone, Debug, PartialEq)]
pub struct SideByPasses {
    scaler: Scaler,
    clusters: ByPasses,
    /// The clusters of the rows that are held, where they are not the nearest.
    labels: Option<Vec<u32>>,
    /// The means of the clusters and of all rows, in the units of the data.
    values: Matrix,
    mean: Vec<f32>,
    total: u64,
}

/// Where the clustering of a side is between two iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SideState {
    /// Of balanced k-means.
    Balanced(BalancedState),
    /// Of k-means.
    KMeans(KMeansState),
}

/// What hears of the state of a side after every iteration.
pub type SaveSide<'a> = dyn FnMut(&SideState) -> Result<(), PassError> + 'a;

/// Clusters one side. Where its clustering stood before can be given, and is handed out.
pub fn cluster_side(
    spec: &SideSpec,
    rows: &dyn Partitions,
    look: &Look,
    held: &HeldRows,
    seed: Seed,
    resume: Option<SideState>,
    save: &mut SaveSide<'_>,
) -> Result<SideByPasses, PassError> {
    supported(spec)?;
    let scaler = scaler(spec.scale, look, held)?;
    let view = View { scaler: scaler.clone(), metric: Metric::Euclidean };
    let other = || PassError::OtherCheckpoint { what: "the clusterings" };
    let (clusters, labelling) = match &spec.cluster {
        ClusterSpec::BalancedKMeans(balanced) => {
            let resume = match resume {
                None => None,
                Some(SideState::Balanced(state)) => Some(state),
                Some(SideState::KMeans(_)) => return Err(other()),
            };
            let by_passes = BalancedByPasses { spec: balanced.clone(), seed };
            let mut save = |state: &BalancedState| save(&SideState::Balanced(state.clone()));
            let found = by_passes.fit(rows, look, &view, resume, &mut save)?;
            (found.clusters, Some(found.labels))
        }
        ClusterSpec::KMeans(kmeans) => {
            let resume = match resume {
                None => None,
                Some(SideState::KMeans(state)) => Some(state),
                Some(SideState::Balanced(_)) => return Err(other()),
            };
            let by_passes = kmeans_by_passes(kmeans, seed)?;
            let mut save = |state: &KMeansState| save(&SideState::KMeans(state.clone()));
            (by_passes.fit(rows, look, &view, resume, &mut save)?, None)
        }
        _ => return Err(PassError::OtherVersion),
    };
    let k = clusters.sizes.len();
    if let Some(j) = clusters.sizes.iter().position(|&size| size == 0) {
        return Err(PassError::BadParameter(format!(
            "cluster {j} of {k} has no rows: the rows have fewer groups that differ; choose a smaller k"
        )));
    }
    if clusters.sizes.iter().any(|&size| u32::try_from(size).is_err()) {
        let most = u32::MAX;
        return Err(PassError::BadParameter(format!(
            "a cluster has more than {most} rows, which is the most that a model counts; choose a larger k"
        )));
    }
    let values = match (&scaler, &labelling) {
        (Scaler::None, _) => clusters.means.clone(),
        (_, Some(labelling)) => labelling.means_of_data(rows, look)?,
        (_, None) => {
            let centroids = clusters.centroids.clone();
            let pass = Pass { view, work: Work::Assign { centroids, sums: Of::Data, farthest: 0 } };
            match Partial::merged(rows.run(&pass)?)? {
                Partial::Sums(sums) => {
                    look.check(sums.count())?;
                    sums.means(&Matrix::zeros(k, held.rows.cols()))
                }
                _ => return Err(PassError::OtherVersion),
            }
        }
    };
    let at = |i: usize| look.place(held.numbers[i]);
    let labels = labelling.map(|l| l.labels_at(&at, held.rows.view())).transpose()?;
    let mean = look.moments.mean.iter().map(|&v| v as f32).collect();
    Ok(SideByPasses { scaler, clusters, labels, values, mean, total: look.moments.rows() })
}

fn kmeans_by_passes(kmeans: &KMeans, seed: Seed) -> Result<KMeansByPasses, PassError> {
    kmeans.check().map_err(|e| PassError::BadParameter(e.to_string()))?;
    let start = match &kmeans.init {
        Init::PlusPlus => Start::Parallel { rounds: ROUNDS },
        Init::Random => Start::Random,
        Init::Given(given) => Start::Given(given.clone()),
    };
    let KMeans { k, max_iter, tol, .. } = *kmeans;
    Ok(KMeansByPasses { k, start, max_iter, tol, seed })
}

/// The clustering of a side, if passes over partitions can make it.
fn supported(spec: &SideSpec) -> Result<(), PassError> {
    let metric = match &spec.cluster {
        ClusterSpec::KMeans(kmeans) => kmeans.metric,
        ClusterSpec::BalancedKMeans(balanced) => balanced.metric,
        other => {
            return Err(PassError::BadParameter(format!(
                "on a cluster, sides are clustered by \"kmeans\" or \"balanced\", not by \"{}\"",
                other.name()
            )));
        }
    };
    match metric {
        Metric::Euclidean => Ok(()),
        Metric::Cosine => Err(PassError::BadParameter(
            "on a cluster, angles are compared by `scale=\"l2\"` in place of the metric \"cosine\""
                .into(),
        )),
    }
}

/// Scaling as for rows in memory; principal components are those of the rows that are held.
fn scaler(scale: Scale, look: &Look, held: &HeldRows) -> Result<Scaler, PassError> {
    if scale == Scale::Standardize {
        let moments = &look.moments;
        let weight = moments.weight.max(f64::MIN_POSITIVE);
        let factor = moments.scatter.iter().zip(&moments.mean).map(|(s, m)| {
            let deviation = (s / weight).sqrt();
            let is_constant = deviation <= 1e-6 * m.abs() || deviation < 1e-30;
            if is_constant { 0.0 } else { (1.0 / deviation) as f32 }
        });
        let factor = factor.collect();
        return Ok(Scaler::Affine {
            shift: moments.mean.iter().map(|&v| v as f32).collect(),
            factor,
        });
    }
    let fitted = scale.fit(held.rows.view(), "the rows");
    fitted.map_err(|e| PassError::BadParameter(e.to_string()))
}

impl Side {
    /// A side of which all rows were clustered and some are here.
    fn by_passes(found: SideByPasses, held: &HeldRows) -> Result<Self, Error> {
        let SideByPasses { scaler, clusters, labels, values, mean, total } = found;
        let scaled = scaler.apply(held.rows.view());
        let rule =
            AssignRule::Nearest { centres: clusters.centroids.clone(), metric: Metric::Euclidean };
        let count = |&size: &u64| u32::try_from(size).expect("checked when it was clustered");
        let sizes = clusters.sizes.iter().map(count);
        let clustering = Clustering {
            labels: labels.unwrap_or_else(|| rule.assign(scaled.view())),
            centroids: clusters.means.clone(),
            sizes: sizes.collect(),
            inertia: clusters.inertia(),
            iterations: clusters.iterations,
            converged: clusters.converged,
            rule,
        };
        let rows = scaled.view();
        let separation = separation_of(&rows, &clustering.labels, clustering.centroids.view());
        let separation = separation.map_err(|failed| match failed {
            Failed::Metric(error) => Error::from(error),
            Failed::Rows(error) => Error::Rows(error),
        })?;
        let of_all = |(cost, &size): (&f64, &u64)| (cost / size.max(1) as f64).sqrt();
        let spread = Spread::measure(&rows, &clustering, &held.rows.view(), &values, &mean)?;
        let novelty = Novelty::measure(&rows, &clustering)?;
        Ok(Self {
            radii: clusters.costs.iter().zip(&clusters.sizes).map(of_all).collect(),
            separation,
            spread,
            novelty,
            mass: None,
            mean,
            rows: None,
            kept: Some(Kept { total, rows: held.numbers.clone(), at: held.at.clone() }),
            names: held.names.clone(),
            offset: Offset::default(),
            index: Cached::default(),
            label_column: Cached::default(),
            scaler: scaler.clone(),
            clustering,
            values,
        })
    }
}

impl BridgedClustering {
    /// The method with a number of clusters where none was said, for pools of which these rows are held.
    pub fn counted_for(&self, x: &HeldRows, y: &HeldRows) -> Result<Self, Error> {
        self.check()?;
        Ok(self.counted(&x.rows.view(), &y.rows.view())?)
    }

    /// Links two sides that were clustered by passes. Pairs are places among the rows that are held.
    pub fn fit_by_passes<'p>(
        &self,
        x: (SideByPasses, HeldRows),
        y: (SideByPasses, HeldRows),
        pairs: impl Into<Pairs<'p>>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<BridgedModel, Error> {
        self.check()?;
        if self.pair_rows == PairRows::Apart {
            let why =
                "on a cluster, the rows of pairs are clustered with the pools: leave `pair_rows`";
            let source = PassError::BadParameter(why.into());
            return Err(Error::Passes { side: "pairs", source });
        }
        for (side, held) in [("x", &x.1), ("y", &y.1)] {
            held.names.check(side, held.rows.rows())?;
        }
        let ((x_found, x_held), (y_found, y_held)) = (x, y);
        let keeps = self.keep_rows == KeepRows::Yes;
        let mut model = cancellable(watch, || {
            let (x_rows, y_rows) = (x_held.rows.view(), y_held.rows.view());
            let pools = Pools { x: &x_rows, y: &y_rows, pairs: pairs.into() };
            pools.check()?;
            let x = Side::by_passes(x_found, &x_held)?;
            let y = Side::by_passes(y_found, &y_held)?;
            self.link((x, y), pools, None, seed, watch)
        })??;
        model.x.rows = keeps.then(|| KeptRows::new(x_held.rows));
        model.y.rows = keeps.then(|| KeptRows::new(y_held.rows));
        Ok(model)
    }
}
