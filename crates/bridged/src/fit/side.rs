//! One pool: scaled, clustered, measured.

use super::local_map::radii;
use crate::Error;
use crate::cluster::{ClusterError, ClusterSpec, Clusterer, Spread, check_finite};
use crate::kept::Cached;
use crate::novelty::Novelty;
use crate::offset::Offset;
use crate::scale::Scaler;
use crate::separation::separation;
use crate::settings::SideSpec;
use crate::side::{Names, Side};
use bridged_math::{MatrixRef, Scope, Seed, Watch};
use std::collections::BTreeSet;

impl Side {
    /// Clusters the pool of that name, which was checked. Rows in `apart` do not take part; they are
    /// assigned afterwards.
    pub(super) fn fit(
        settings: &SideSpec,
        pool: MatrixRef<'_>,
        apart: &BTreeSet<usize>,
        stream: (&'static str, Seed),
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        if apart.is_empty() {
            return Self::fit_pool(settings, pool, stream, watch);
        }
        let inside: Vec<usize> = (0..pool.rows()).filter(|i| !apart.contains(i)).collect();
        let part = pool.select(inside.iter().copied());
        let mut side = Self::fit_pool(settings, part.view(), stream, watch)?;
        let mut labels = vec![0; pool.rows()];
        for (&row, &label) in inside.iter().zip(&side.clustering.labels) {
            labels[row] = label;
        }
        let voters = pool.select(apart.iter().copied());
        for (&row, label) in apart.iter().zip(side.assign(voters.view())) {
            labels[row] = label;
        }
        side.clustering.labels = labels;
        Ok(side)
    }

    fn fit_pool(
        settings: &SideSpec,
        pool: MatrixRef<'_>,
        (name, seed): (&'static str, Seed),
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        let watch = Scope::new(watch, name);
        let scaler = settings.scale.fit(pool, name)?;
        let scaled = scaler.apply(pool);
        let clusterer = &settings.cluster;
        let wrong = |source| match source {
            ClusterError::Cancelled(cancelled) => Error::Cancelled(cancelled),
            source => Error::Cluster { side: name, source },
        };
        // Equal rows may differ in their last digits once they are projected.
        let distinct = clusterer.check_distinct(pool);
        distinct.and_then(|()| clusterer.check_distinct(scaled.view())).map_err(wrong)?;
        // Finite rows stay finite without scaling; otherwise they are checked again.
        let clustering = match scaler {
            Scaler::None => clusterer.fit_finite(scaled.view(), seed.child(name), &watch),
            _ => check_finite(scaled.view())
                .and_then(|()| clusterer.fit_finite(scaled.view(), seed.child(name), &watch)),
        };
        let clustering = clustering.map_err(wrong)?;
        if let (0, ClusterSpec::Dbscan(dbscan)) = (clustering.k(), clusterer) {
            return Err(wrong(dbscan.no_cluster(scaled.view())));
        }
        let values = match scaler {
            Scaler::None => clustering.centroids.clone(),
            _ => crate::cluster::means_of(pool, &clustering.labels, clustering.k()).0,
        };
        let mean: Vec<f32> = pool.mean_row().into_iter().map(|v| v as f32).collect();
        Ok(Self {
            radii: radii(scaled.view(), &clustering.labels, &clustering.centroids),
            separation: separation(scaled.view(), &clustering.labels, clustering.centroids.view())?,
            spread: Spread::measure(scaled.view(), &clustering, pool, &values, &mean),
            novelty: Novelty::measure(scaled.view(), &clustering),
            mean,
            rows: None,
            names: Names::default(),
            offset: Offset::default(),
            index: Cached::default(),
            label_column: Cached::default(),
            scaler,
            clustering,
            values,
        })
    }
}
