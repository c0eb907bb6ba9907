//! One fitted side: scaled, clustered, measured.

use crate::Error;
use crate::blur::{Blur, Members, spaced};
use crate::bridge::{Reading, depth};
use crate::cluster::{ClusterError, Clusterer, Clustering};
use crate::refine::radii;
use crate::scale::Scaler;
use crate::separation::{Separation, separation};
use crate::spec::{KeepRows, SideSpec};
use bridged_math::distance::squared_distance;
use bridged_math::{Matrix, MatrixRef, Scope, Seed, Watch};
use std::collections::BTreeSet;

/// A pool after it was clustered.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// How rows are scaled before distances are taken.
    pub scaler: Scaler,
    /// The clustering of the scaled pool; labels cover every row of the pool.
    pub clustering: Clustering,
    /// The mean of the rows of each cluster in the units of the data, (k, d): what is predicted.
    pub values: Matrix,
    /// The mean of the pool.
    pub mean: Vec<f32>,
    /// The root mean square distance of each cluster's rows to its centroid.
    pub radii: Vec<f64>,
    /// How far apart the clusters are.
    pub separation: Separation,
    /// How blurred they are.
    pub blur: Blur,
    /// The rows of the pool, if they were kept.
    pub rows: Option<Matrix>,
    /// What the rows are called.
    pub names: Names,
}

/// What the rows and columns of a pool are called: for tables, predictions and the next file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// The id of each row of the pool; empty if row numbers are the ids.
    pub ids: Vec<String>,
    /// Columns that are carried along: a caption, a species.
    pub texts: Vec<TextColumn>,
    /// The columns that hold the vector.
    pub vector: Vec<String>,
}

/// A column of text that belongs to the rows of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct TextColumn {
    /// The column's name.
    pub name: String,
    /// One value a row; empty where it was missing.
    pub values: Vec<String>,
}

impl Names {
    /// The id of a row.
    pub fn id(&self, row: usize) -> String {
        self.ids.get(row).cloned().unwrap_or_else(|| row.to_string())
    }
}

/// Pair rows and their depth in the clusters that they fell into.
pub(crate) struct PairRow {
    pub label: u32,
    pub depth: f64,
}

impl Side {
    /// Clusters the pool of that name. Rows in `apart` do not take part; they are assigned
    /// afterwards.
    pub(crate) fn fit(
        spec: &SideSpec,
        pool: MatrixRef<'_>,
        apart: &BTreeSet<usize>,
        keep: KeepRows,
        stream: (&'static str, Seed),
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        if apart.is_empty() {
            return Self::fit_pool(spec, pool, keep, stream, watch);
        }
        let inside: Vec<usize> = (0..pool.rows()).filter(|i| !apart.contains(i)).collect();
        let part = pool.select(inside.iter().copied());
        let mut side = Self::fit_pool(spec, part.view(), KeepRows::No, stream, watch)?;
        let mut labels = vec![0; pool.rows()];
        for (&row, &label) in inside.iter().zip(&side.clustering.labels) {
            labels[row] = label;
        }
        let voters = pool.select(apart.iter().copied());
        for (&row, label) in apart.iter().zip(side.assign(voters.view())) {
            labels[row] = label;
        }
        side.clustering.labels = labels;
        side.rows = (keep == KeepRows::Yes).then(|| pool.to_matrix());
        Ok(side)
    }

    fn fit_pool(
        spec: &SideSpec,
        pool: MatrixRef<'_>,
        keep: KeepRows,
        (name, seed): (&'static str, Seed),
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        let watch = Scope::new(watch, name);
        let scaler = spec.scale.fit(pool, name)?;
        let scaled = scaler.apply(pool);
        let clustering = spec.cluster.fit(scaled.view(), seed.child(name), &watch).map_err(
            |source| match source {
                ClusterError::Cancelled(cancelled) => Error::Cancelled(cancelled),
                source => Error::Cluster { side: name, source },
            },
        )?;
        let values = match scaler {
            Scaler::None => clustering.centroids.clone(),
            _ => crate::cluster::means_of(pool, &clustering.labels, clustering.k()).0,
        };
        let mean: Vec<f32> = pool.mean_row().into_iter().map(|v| v as f32).collect();
        Ok(Self {
            radii: radii(scaled.view(), &clustering.labels, &clustering.centroids),
            separation: separation(scaled.view(), &clustering.labels, clustering.centroids.view())?,
            blur: Blur::measure(scaled.view(), &clustering, pool, &values, &mean),
            mean,
            rows: (keep == KeepRows::Yes).then(|| pool.to_matrix()),
            names: Names::default(),
            scaler,
            clustering,
            values,
        })
    }

    /// The mean of the scaled rows that are in a cluster.
    pub(crate) fn origin(&self) -> Vec<f32> {
        let (centroids, sizes) = (&self.clustering.centroids, &self.clustering.sizes);
        let total: f64 = sizes.iter().map(|&n| f64::from(n)).sum();
        let column = |c: usize| {
            let sum: f64 =
                (0..self.k()).map(|j| f64::from(sizes[j]) * f64::from(centroids.row(j)[c])).sum();
            (sum / total.max(1.0)) as f32
        };
        (0..centroids.cols()).map(column).collect()
    }

    /// The root mean square distance of those rows to it.
    pub(crate) fn radius(&self) -> f64 {
        let (origin, sizes) = (self.origin(), &self.clustering.sizes);
        let total: f64 = sizes.iter().map(|&n| f64::from(n)).sum();
        let between = |j: usize| squared_distance(self.clustering.centroids.row(j), &origin);
        let of = |j: usize| f64::from(sizes[j]) * (between(j) + self.radii[j] * self.radii[j]);
        ((0..self.k()).map(of).sum::<f64>() / total.max(1.0)).sqrt()
    }

    /// The dimension of its rows, in the units of the data.
    pub fn cols(&self) -> usize {
        self.values.cols()
    }

    /// The number of clusters.
    pub fn k(&self) -> usize {
        self.values.rows()
    }

    /// The members of a cluster that are nearest to its centroid, else its first.
    pub fn members(&self, cluster: u32, most: usize) -> Vec<usize> {
        let labels = self.clustering.labels.iter().enumerate();
        let mut rows: Vec<usize> = labels.filter(|(_, l)| **l == cluster).map(|(i, _)| i).collect();
        if let Some(pool) = &self.rows {
            let centre = self.values.row(cluster as usize);
            let mut near: Vec<(f64, usize)> =
                rows.iter().map(|&i| (squared_distance(pool.row(i), centre), i)).collect();
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            rows = near.into_iter().map(|(_, i)| i).collect();
        }
        rows.truncate(most);
        rows
    }

    /// What a row is called: the named column, else the first one that is carried, else its id.
    pub fn title(&self, row: usize, column: Option<&str>) -> String {
        let texts = &self.names.texts;
        let chosen = match column {
            Some(name) => texts.iter().find(|t| t.name == name),
            None => texts.first(),
        };
        match chosen.and_then(|t| t.values.get(row)) {
            Some(text) if !text.is_empty() => text.clone(),
            _ => self.names.id(row),
        }
    }

    /// The cluster of any rows.
    pub fn assign(&self, rows: MatrixRef<'_>) -> Vec<u32> {
        self.clustering.assign(self.scaler.apply(rows).view())
    }

    /// How rows of the pool, given with it, belong to the clusters.
    pub(crate) fn memberships(
        &self,
        pool: MatrixRef<'_>,
        rows: &[usize],
        reading: Reading,
    ) -> Members {
        let labels = &self.clustering.labels;
        match reading {
            Reading::Cluster => {
                Members::hard(rows.iter().map(|&r| labels[r]), &self.clustering.sizes)
            }
            Reading::Mixture { temperature, .. } => {
                let selected = pool.select(rows.iter().copied());
                let scaled = self.scaler.apply(selected.view());
                let labels: Vec<u32> = rows.iter().map(|&r| labels[r]).collect();
                let clustering = &self.clustering;
                let weights = self.blur.members(clustering, scaled.view(), &labels, temperature);
                let sample = pool.select(spaced(pool.rows()));
                let sample = self.scaler.apply(sample.view());
                let clarity = self.blur.clarity(clustering, sample.view(), temperature);
                Members { k: self.k(), weights, clarity }
            }
        }
    }

    /// The clusters of pool rows, and how deep the rows sit in them.
    pub(crate) fn pair_rows(&self, pool: MatrixRef<'_>, rows: &[usize]) -> Vec<PairRow> {
        let selected = pool.select(rows.iter().copied());
        let scaled = self.scaler.apply(selected.view());
        rows.iter()
            .enumerate()
            .map(|(i, &row)| {
                let label = self.clustering.labels[row];
                PairRow {
                    label,
                    depth: depth(&self.clustering.centroids, scaled.view().row(i), label),
                }
            })
            .collect()
    }
}
