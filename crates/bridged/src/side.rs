//! One fitted side: a pool that was scaled and clustered, and what its rows are called.

use crate::Error;
use crate::cluster::{Clustering, Spread};
use crate::columns::Fitted;
use crate::kept::{Cached, KeptRows};
use crate::label_column::label_column;
use crate::novelty::Novelty;
use crate::offset::Offset;
use crate::rows_at::{Kept, RowsAt};
use crate::scale::Scaler;
use crate::separation::Separation;
use bridged_math::distance::squared_distance;
use bridged_math::neighbors::NeighborIndex;
use bridged_math::{Matrix, MatrixRef};

/// A pool after it was clustered.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    pub(crate) scaler: Scaler,
    pub(crate) clustering: Clustering,
    pub(crate) values: Matrix,
    pub(crate) mean: Vec<f32>,
    pub(crate) radii: Vec<f64>,
    pub(crate) separation: Separation,
    pub(crate) spread: Spread,
    pub(crate) novelty: Option<Novelty>,
    /// How many rows each centroid stands for, where older rows count less than newer ones.
    pub(crate) mass: Option<Vec<f64>>,
    pub(crate) rows: Option<KeptRows>,
    /// Of which rows labels, names and rows are, if not of all.
    pub(crate) kept: Option<Kept>,
    pub(crate) names: Names,
    pub(crate) offset: Offset,
    pub(crate) index: Cached<NeighborIndex>,
    pub(crate) label_column: Cached<Option<usize>>,
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
    /// The column that held the ids; none if it is not known or there was none.
    pub id: Option<String>,
}

/// A column of text that belongs to the rows of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct TextColumn {
    /// The column's name.
    pub name: String,
    /// One value per row; empty where it was missing.
    pub values: Vec<String>,
}

impl Names {
    /// The id of a row.
    pub fn id(&self, row: usize) -> String {
        self.ids.get(row).cloned().unwrap_or_else(|| row.to_string())
    }

    /// Whether every id and every carried value belongs to one of `rows` rows.
    pub(crate) fn check(&self, side: &'static str, rows: usize) -> Result<(), Error> {
        let texts =
            self.texts.iter().map(|t| (format!("the values of `{}`", t.name), t.values.len()));
        let ids = (!self.ids.is_empty()).then(|| ("the ids".to_string(), self.ids.len()));
        match ids.into_iter().chain(texts).find(|(_, got)| *got != rows) {
            Some((what, got)) => Err(Error::NamesDoNotFit { side, what, got, rows }),
            None => Ok(()),
        }
    }
}

impl Side {
    /// How rows are scaled before distances are taken.
    pub fn scaler(&self) -> &Scaler {
        &self.scaler
    }

    /// The clustering of the scaled pool; labels cover every row of the pool.
    pub fn clustering(&self) -> &Clustering {
        &self.clustering
    }

    /// The cluster of each row of the pool.
    pub fn labels(&self) -> &[u32] {
        &self.clustering.labels
    }

    /// How many rows each cluster has.
    pub fn sizes(&self) -> &[u32] {
        &self.clustering.sizes
    }

    /// The number of rows that the model knows the clusters and names of: all of the pool, unless it was read in
    /// passes; see [`total`](Self::total).
    pub fn len(&self) -> usize {
        self.clustering.labels.len()
    }

    /// The number of rows of the pool.
    pub fn total(&self) -> usize {
        self.kept.as_ref().map_or(self.len(), |kept| kept.total as usize)
    }

    /// Where all rows of the pool are, if the model holds only some.
    pub fn rows_at(&self) -> Option<&RowsAt> {
        self.kept.as_ref().map(|kept| &kept.at)
    }

    /// The number that a row of the model has in the pool.
    pub fn row_in_pool(&self, row: usize) -> usize {
        let of = |kept: &Kept| kept.rows.get(row).map(|&row| row as usize);
        self.kept.as_ref().and_then(of).unwrap_or(row)
    }

    /// Whether the pool has no rows; never so after a fit.
    pub fn is_empty(&self) -> bool {
        self.clustering.labels.is_empty()
    }

    /// The number of clusters.
    pub fn k(&self) -> usize {
        self.values.rows()
    }

    /// The dimension of its rows, in the units of the data.
    pub fn cols(&self) -> usize {
        self.values.cols()
    }

    /// The mean of the rows of each cluster in the units of the data, (k, d): what is predicted.
    pub fn values(&self) -> &Matrix {
        &self.values
    }

    /// The mean of the pool.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// How far apart the clusters are.
    pub fn separation(&self) -> &Separation {
        &self.separation
    }

    /// How far the rows spread inside the clusters.
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// What the rows are called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// What was taken off its columns: rows, centroids and predictions of this side are without it.
    pub fn offset(&self) -> &Offset {
        &self.offset
    }

    /// What the next file of this side is read by: its columns, its offset, its mean.
    pub fn fitted(&self) -> Fitted<'_> {
        let Names { vector, id, .. } = &self.names;
        Fitted {
            id: id.as_deref(),
            vector,
            cols: self.cols(),
            offset: &self.offset,
            mean: &self.mean,
        }
    }

    /// Whether the rows of the pool were kept.
    pub fn keeps_rows(&self) -> bool {
        self.rows.is_some()
    }

    /// The rows of the pool. Of a model that was loaded, they are read from its file at the first
    /// call; an error if they were not kept.
    pub fn rows(&self) -> Result<&Matrix, Error> {
        self.rows.as_ref().ok_or(Error::NoRowsKept)?.get()
    }

    /// The members of a cluster that are nearest to its centroid, else its first.
    pub fn members(&self, cluster: u32, most: usize) -> Result<Vec<usize>, Error> {
        let labels = self.labels().iter().enumerate();
        let mut rows: Vec<usize> = labels.filter(|(_, l)| **l == cluster).map(|(i, _)| i).collect();
        if self.keeps_rows() && (cluster as usize) < self.k() {
            let pool = self.rows()?;
            let centre = self.values.row(cluster as usize);
            let mut near: Vec<(f64, usize)> =
                rows.iter().map(|&i| (squared_distance(pool.row(i), centre), i)).collect();
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            rows = near.into_iter().map(|(_, i)| i).collect();
        }
        rows.truncate(most);
        Ok(rows)
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

    /// The carried column that tells a person best what the clusters are; `None` where ids say as much.
    pub fn label_column(&self) -> Option<&str> {
        let texts = &self.names.texts;
        let find = || Ok(label_column(texts, self.labels()));
        let found = self.label_column.get_or_make(find).ok().copied().flatten();
        found.and_then(|at| texts.get(at)).map(|column| column.name.as_str())
    }

    /// What a row is called as a member of its cluster: by the named column, else by
    /// [`label_column`](Self::label_column), else its id.
    pub fn member_title(&self, row: usize, column: Option<&str>) -> String {
        match column.or_else(|| self.label_column()) {
            Some(column) => self.title(row, Some(column)),
            None => self.names.id(row),
        }
    }

    /// The cluster of any rows.
    pub fn assign(&self, rows: MatrixRef<'_>) -> Vec<u32> {
        self.clustering.assign(self.scaler.apply(rows).view())
    }

    /// The mean of the scaled rows that are in a cluster.
    pub(crate) fn origin(&self) -> Vec<f32> {
        let (centroids, sizes) = (&self.clustering.centroids, self.sizes());
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
        let (origin, sizes) = (self.origin(), self.sizes());
        let total: f64 = sizes.iter().map(|&n| f64::from(n)).sum();
        let between = |j: usize| squared_distance(self.clustering.centroids.row(j), &origin);
        let of = |j: usize| f64::from(sizes[j]) * (between(j) + self.radii[j] * self.radii[j]);
        ((0..self.k()).map(of).sum::<f64>() / total.max(1.0)).sqrt()
    }
}
