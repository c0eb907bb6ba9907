//! Where the clusters of a side are after its rows changed.
//!
//! All rows count alike: k-means goes on, over all rows, from the means of what the clusters hold now, so that it ends
//! where k-means with all rows ends from there. Older rows count less:
//!
//! ```text
//! m_j ← (1 − f) m_j + n_j            n_j: new rows that are nearest to c_j
//! c_j ← ((1 − f) m_j c_j + Σ new) / ((1 − f) m_j + n_j)
//! ```
//!
//! with m_j the rows that c_j stands for. That is one pass over the new rows, whatever there was before; the scaling
//! stays as it was. Of a pool whose old rows stay in their files, the same is done with f = 0.

use super::files::OfAll;
use super::pool::NewPool;
use super::regions::{self, Region};
use crate::Error;
use crate::cluster::{
    AssignRule, BalancedKMeans, ClusterSpec, Clustering, Init, KMeans, MiniBatchKMeans, means_of,
};
use crate::kept::KeptRows;
use crate::settings::{Count, SideSpec};
use crate::side::Side;
use bridged_math::distance::squared_distance;
use bridged_math::{Matrix, MatrixRef, Rows, Seed, Watch};
use std::collections::BTreeSet;

/// How an update goes.
#[derive(Clone, Copy)]
pub(super) struct How<'a> {
    pub forgetting: f64,
    pub new_clusters: bool,
    pub seed: Seed,
    pub watch: &'a dyn Watch,
}

/// A side after an update.
pub(super) struct SideNow {
    pub side: Side,
    /// What was found of rows that no cluster explains.
    pub regions: Vec<Region>,
}

/// Clusters the rows of a side as they are now; `spec` takes the number of its clusters.
pub(super) fn update(
    spec: &mut SideSpec,
    (side, name): (&Side, &'static str),
    (pool, rows): (&NewPool, MatrixRef<'_>),
    how: How<'_>,
) -> Result<SideNow, Error> {
    if pool.is_unchanged() {
        return Ok(SideNow { side: side.clone(), regions: Vec::new() });
    }
    let cluster = spec.cluster.clone();
    let Some(warm) = warm(&cluster) else {
        return Err(Error::RowsAreFixed { side: name, method: spec.cluster.name() });
    };
    let stay = pool.stay();
    let new = pool.new_rows(rows);
    let labels = side.assign(new.view());
    let mut regions = regions::find(side, new.view(), &labels, how.watch)?;
    for region in &mut regions {
        let id = |&row: &usize| pool.new_id(row);
        (region.ids, region.added) = (region.rows.iter().map(id).collect(), how.new_clusters);
    }
    let added: Vec<&Region> = regions.iter().filter(|region| region.added).collect();
    let k = side.k() + added.len();
    let mut labels = labels;
    for (region, j) in added.iter().zip(side.k()..) {
        region.rows.iter().for_each(|&row| labels[row] = j as u32);
    }
    let side = if how.forgetting > 0.0 || pool.in_files().is_some() {
        moved((side, pool), (rows, new.view()), &labels, k, how.forgetting)?
    } else {
        let old = stay.iter().map(|&row| side.clustering.labels[row]);
        let labels: Vec<u32> = old.chain(labels).collect();
        let scaler = spec.scale.fit_rows(&rows, name)?;
        let (mut start, sizes) = means_of(scaler.apply(rows).view(), &labels, k);
        // A cluster whose rows all went starts where it was.
        let was = scaler.apply(side.values.view());
        for j in (0..side.k()).filter(|&j| sizes[j] == 0) {
            start.row_mut(j).copy_from_slice(was.view().row(j));
        }
        let warm = SideSpec { cluster: warm(start), count: Count::Told, ..spec.clone() };
        Side::fit(&warm, &rows, &BTreeSet::new(), (name, how.seed), how.watch)?
    };
    spec.cluster = cluster.clone().with_k(k);
    Ok(SideNow { side, regions })
}

/// The same algorithm from given centroids, if it can go on from there.
fn warm(spec: &ClusterSpec) -> Option<Box<dyn FnOnce(Matrix) -> ClusterSpec + '_>> {
    Some(match spec {
        ClusterSpec::KMeans(of) => Box::new(|start| {
            let (k, init) = (start.rows(), Init::Given(start));
            ClusterSpec::KMeans(KMeans { k, init, restarts: 1, ..of.clone() })
        }),
        ClusterSpec::BalancedKMeans(of) => Box::new(|start| {
            let (k, init) = (start.rows(), Init::Given(start));
            ClusterSpec::BalancedKMeans(BalancedKMeans { k, init, restarts: 1, ..of.clone() })
        }),
        ClusterSpec::MiniBatchKMeans(of) => Box::new(|start| {
            let (k, init) = (start.rows(), Init::Given(start));
            ClusterSpec::MiniBatchKMeans(MiniBatchKMeans { k, init, restarts: 1, ..of.clone() })
        }),
        ClusterSpec::GaussianMixture(_)
        | ClusterSpec::Spectral(_)
        | ClusterSpec::Agglomerative(_)
        | ClusterSpec::Dbscan(_) => return None,
    })
}

/// The side with every centroid moved towards its new rows.
fn moved(
    (side, pool): (&Side, &NewPool),
    (rows, new): (MatrixRef<'_>, MatrixRef<'_>),
    labels: &[u32],
    k: usize,
    forgetting: f64,
) -> Result<Side, Error> {
    let sizes = || side.sizes().iter().map(|&n| f64::from(n)).collect();
    let mut mass: Vec<f64> = side.mass.clone().unwrap_or_else(sizes);
    mass.resize(k, 0.0);
    mass.iter_mut().for_each(|m| *m *= 1.0 - forgetting);
    let scaled_new = side.scaler.apply(new);
    let (of_scaled, counts) = means_of(scaled_new.view(), labels, k);
    let (of_values, _) = means_of(new, labels, k);
    let centroids = towards(&side.clustering.centroids, &of_scaled, (&mass, &counts));
    let values = towards(&side.values, &of_values, (&mass, &counts));
    mass.iter_mut().zip(&counts).for_each(|(m, &n)| *m += f64::from(n));
    let AssignRule::Nearest { metric, .. } = side.clustering.rule else {
        unreachable!("k-means assigns rows to the nearest centre");
    };
    let unit = metric.view(centroids.view()).into_owned();
    let centres = Matrix::new(k, centroids.cols(), unit).expect("as many as before");
    let rule = AssignRule::Nearest { centres, metric };
    let scaled = side.scaler.apply(rows);
    let of_new = labels;
    let labels = rule.assign(scaled.view());
    let of_all = match pool.in_files() {
        Some(_) => Some(OfAll::new(side, &centroids, (new, scaled_new.view()), of_new)?),
        None => None,
    };
    let (sizes, inertia) = match &of_all {
        Some(all) => (all.sizes.clone(), all.inertia()),
        None => {
            let mut sizes = vec![0u32; k];
            labels.iter().for_each(|&label| sizes[label as usize] += 1);
            let rows = labels.iter().zip(scaled.view().iter_rows());
            let square = |(&label, row): (&u32, &[f32])| {
                squared_distance(row, centroids.row(label as usize))
            };
            (sizes, rows.map(square).sum())
        }
    };
    let clustering =
        Clustering { labels, centroids, sizes, inertia, iterations: 0, converged: true, rule };
    let measured_on: (&dyn Rows, &dyn Rows) = (&rows, &scaled.view());
    let mut now = Side::measured(side.scaler.clone(), clustering, values, measured_on)?;
    if let Some(all) = of_all {
        (now.radii, now.mean) = (all.radii, all.mean);
    }
    // Where nothing counts less, the sizes say it.
    now.mass = (forgetting > 0.0 || side.mass.is_some()).then_some(mass);
    Ok(now)
}

/// Weighted means of old means and new ones; of a cluster without old rows, the new ones.
fn towards(old: &Matrix, new: &Matrix, (mass, counts): (&[f64], &[u32])) -> Matrix {
    Matrix::from_fn(new.rows(), new.cols(), |j, c| {
        let (m, n) = (mass[j], f64::from(counts[j]));
        let before = if j < old.rows() { f64::from(old.row(j)[c]) } else { 0.0 };
        let total = m + n;
        if total > 0.0 {
            ((m * before + n * f64::from(new.row(j)[c])) / total) as f32
        } else {
            before as f32
        }
    })
}

impl Side {
    /// Takes over what the rows of a side are called and were moved by, and the rows.
    pub(super) fn take(&mut self, before: &Side, pool: NewPool, rows: Option<KeptRows>) {
        self.offset = before.offset.clone();
        (self.names, self.kept) = pool.into_names(before);
        self.rows = rows;
    }
}
