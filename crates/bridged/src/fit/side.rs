//! One pool: scaled, clustered, measured.

use super::local_map::radii;
use crate::Error;
use crate::cluster::{
    ClusterError, ClusterSpec, Clustering, Spread, check_finite, check_rows, means_of_rows,
};
use crate::kept::{Cached, KeptRows};
use crate::novelty::Novelty;
use crate::offset::Offset;
use crate::problem::{Keep, StoredPool};
use crate::rows_at::Kept;
use crate::scale::{Scale, Scaler};
use crate::separation::{Failed, separation_of};
use crate::settings::{KeepRows, SideSpec};
use crate::side::{Names, Side};
use bridged_math::cancel::cancellable;
use bridged_math::rows::{InMemory, Mapped, Without, mean_row};
use bridged_math::{Matrix, MatrixRef, Rows, Scope, Seed, Watch};
use std::collections::BTreeSet;

impl Side {
    /// Clusters the pool of that name, which was checked. Rows in `apart` do not take part; they are
    /// assigned afterwards.
    pub(crate) fn fit(
        settings: &SideSpec,
        pool: &dyn Rows,
        apart: &BTreeSet<usize>,
        stream: (&'static str, Seed),
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        if apart.is_empty() {
            return Self::fit_pool(settings, pool, stream, watch);
        }
        let part = without(pool, apart);
        let mut side = Self::fit_pool(settings, part.as_ref(), stream, watch)?;
        let apart: Vec<usize> = apart.iter().copied().collect();
        let of_apart = side.assign(pool.select(&apart)?.view());
        let mut inside = std::mem::take(&mut side.clustering.labels).into_iter();
        let mut outside = apart.iter().zip(of_apart).peekable();
        side.clustering.labels = (0..pool.rows())
            .map(|row| match outside.next_if(|(apart, _)| **apart == row) {
                Some((_, label)) => label,
                None => inside.next().expect("every row that is not apart was clustered"),
            })
            .collect();
        Ok(side)
    }

    /// Takes over what a pool that is not in memory is called, and the rows that the model keeps of it. Returns the
    /// numbers that rows in pairs have from now on.
    pub(super) fn keep(
        &mut self,
        pool: StoredPool<'_>,
        paired: &[usize],
        keep_rows: KeepRows,
    ) -> Result<impl Fn(usize) -> u32 + use<>, Error> {
        self.offset = pool.offset;
        let Some(Keep { names_of, at }) = pool.keep else {
            self.names = pool.names;
            return Ok(renumber(None));
        };
        let rows = Kept::choose(pool.rows.rows(), paired.iter().copied());
        self.names = names_of(&rows)?;
        if self.names.ids.is_empty() {
            // Without ids a row is called by its number in the pool, not by its place among those that are kept.
            self.names.ids = rows.iter().map(usize::to_string).collect();
        }
        let labels = &self.clustering.labels;
        self.clustering.labels = rows.iter().map(|&row| labels[row]).collect();
        if keep_rows == KeepRows::Yes {
            self.rows = Some(KeptRows::new(pool.rows.select(&rows)?));
        }
        let total = pool.rows.rows() as u64;
        self.kept = Some(Kept { total, rows: rows.iter().map(|&row| row as u64).collect(), at });
        Ok(renumber(Some(rows)))
    }

    fn fit_pool(
        settings: &SideSpec,
        pool: &dyn Rows,
        (name, seed): (&'static str, Seed),
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        let watch = Scope::new(watch, name);
        let scaler = settings.scale.fit_rows(pool, name)?;
        let seen = ScaledRows::new(&scaler, pool);
        let scaled = seen.rows(pool);
        let clusterer = &settings.cluster;
        let clustering = clusters_of(settings, (pool, scaled), seed.child(name), &watch)
            .map_err(|e| wrong(name, e))?;
        if let (0, ClusterSpec::Dbscan(dbscan)) = (clustering.k(), clusterer) {
            let few: Vec<usize> =
                (0..scaled.rows().min(settings.sample.unwrap_or(usize::MAX))).collect();
            return Err(wrong(name, dbscan.no_cluster(scaled.select(&few)?.view())));
        }
        let values = match scaler {
            Scaler::None => clustering.centroids.clone(),
            _ => means_of_rows(pool, &clustering.labels, clustering.k())?.0,
        };
        Self::measured(scaler.clone(), clustering, values, (pool, scaled))
    }

    /// A side whose clusters are known, with all that is measured on its rows: in the units of the data, and scaled.
    pub(crate) fn measured(
        scaler: Scaler,
        clustering: Clustering,
        values: Matrix,
        (pool, scaled): (&dyn Rows, &dyn Rows),
    ) -> Result<Self, Error> {
        let labels = &clustering.labels;
        let mean: Vec<f32> = mean_row(pool)?.into_iter().map(|v| v as f32).collect();
        let separation = separation_of(scaled, labels, clustering.centroids.view());
        let separation = separation.map_err(|failed| match failed {
            Failed::Metric(error) => Error::from(error),
            Failed::Rows(error) => Error::Rows(error),
        })?;
        let radii = radii(scaled, labels, &clustering.centroids)?;
        let spread = Spread::measure(scaled, &clustering, pool, &values, &mean)?;
        let novelty = Novelty::measure(scaled, &clustering)?;
        Ok(Self {
            radii,
            separation,
            spread,
            novelty,
            mean,
            mass: None,
            rows: None,
            kept: None,
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

impl SideSpec {
    /// Clusters rows that need not be in memory, as a side of a model would be.
    pub fn cluster_rows(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, Error> {
        let name = "the rows";
        cancellable(watch, || {
            let failed = |source| wrong(name, source);
            check_rows(rows).map_err(failed)?;
            let scaler = self.scale.fit_rows(rows, name)?;
            let seen = ScaledRows::new(&scaler, rows);
            clusters_of(self, (rows, seen.rows(rows)), seed, watch).map_err(failed)
        })?
    }
}

/// Clusters a pool that distances see scaled.
fn clusters_of(
    settings: &SideSpec,
    (pool, scaled): (&dyn Rows, &dyn Rows),
    seed: Seed,
    watch: &dyn Watch,
) -> Result<Clustering, ClusterError> {
    let clusterer = &settings.cluster;
    // Equal rows may differ in their last digits once they are projected.
    clusterer.check_distinct_rows(pool)?;
    clusterer.check_distinct_rows(scaled)?;
    // Finite rows stay finite without scaling; otherwise they are checked again.
    if settings.scale != Scale::None {
        check_finite(scaled)?;
    }
    clusterer.fit_sample(scaled, settings.sample.unwrap_or(usize::MAX), seed, watch)
}

fn wrong(side: &'static str, source: ClusterError) -> Error {
    match source {
        ClusterError::Cancelled(cancelled) => Error::Cancelled(cancelled),
        ClusterError::Rows(error) => Error::Rows(error),
        source => Error::Cluster { side, source },
    }
}

/// The number of a row among those that are kept; all if `None`.
fn renumber(kept: Option<Vec<usize>>) -> impl Fn(usize) -> u32 {
    move |row| match &kept {
        Some(kept) => kept.binary_search(&row).expect("the rows of pairs are kept") as u32,
        None => row as u32,
    }
}

/// The rows of a pool that are not apart.
pub(super) fn without<'a>(pool: &'a dyn Rows, apart: &BTreeSet<usize>) -> Box<dyn Rows + 'a> {
    match pool.in_memory() {
        Some(x) => {
            let inside = (0..x.rows()).filter(|row| !apart.contains(row));
            Box::new(InMemory(x.select(inside)))
        }
        None => Box::new(Without::new(pool, apart.iter().copied().collect())),
    }
}

/// A pool as distances see it: in memory if the pool is.
enum ScaledRows<'a> {
    /// As it is.
    Same,
    InMemory(InMemory),
    Mapped(Mapped<'a>),
}

impl<'a> ScaledRows<'a> {
    fn new(scaler: &'a Scaler, pool: &'a dyn Rows) -> Self {
        match (scaler, pool.in_memory()) {
            (Scaler::None, _) => Self::Same,
            (_, Some(x)) => Self::InMemory(InMemory(scaler.apply(x).into_matrix())),
            (_, None) => {
                let scale = |part: MatrixRef<'_>| scaler.apply(part).into_matrix();
                Self::Mapped(Mapped::new(pool, scaler.cols(pool.cols()), scale))
            }
        }
    }

    fn rows<'b>(&'b self, pool: &'b dyn Rows) -> &'b dyn Rows {
        match self {
            Self::Same => pool,
            Self::InMemory(rows) => rows,
            Self::Mapped(rows) => rows,
        }
    }
}
