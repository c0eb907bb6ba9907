//! How good a prediction, a clustering and a bridge are.
//!
//! | module | scores | needs |
//! |---|---|---|
//! | [`mod@regression`] | MSE, MAE, R² | true outputs |
//! | [`clustering`] | AMI, NMI, ARI, mis-clustering rate ε | latent classes |
//! | [`text`] | BLEU | texts of the outputs |
//! | [`mod@bridging`] | bridging accuracy, mis-bridging rate ε_B | latent classes of both sides |
//!
//! All sums are `f64` and folded in a fixed order: a score does not depend on the thread count.

pub mod bridging;
pub mod clustering;
pub mod regression;
pub mod text;

pub use bridging::{Bridging, Side, bridging};
pub use clustering::{Contingency, Matching, ami, ari, misclustering, nmi};
pub use regression::{Regression, Rows, mae, mse, r2, regression};
pub use text::bleu;

use crate::cluster::Entry;
use thiserror::Error;

/// Every metric, in the order in which `bridged list` shows them.
pub const ALL: &[Entry] = &[
    Entry { name: "mse", about: "mean squared error over all entries" },
    Entry { name: "mae", about: "mean absolute error over all entries" },
    Entry {
        name: "r2",
        about: "share of the variance that is explained, columns by their variance",
    },
    Entry {
        name: "bleu",
        about: "wording that retrieved texts share with their references, 0 to 100",
    },
    Entry { name: "ami", about: "adjusted mutual information of clusters and classes" },
    Entry { name: "nmi", about: "normalised mutual information of clusters and classes" },
    Entry { name: "ari", about: "adjusted Rand index of clusters and classes" },
    Entry {
        name: "epsilon",
        about: "mis-clustering rate: the least share of rows in a wrong cluster",
    },
    Entry {
        name: "accuracy",
        about: "bridging accuracy: the share of classes whose link is right",
    },
    Entry {
        name: "epsilon_b",
        about: "mis-bridging rate: the share of rows whose class has a wrong link",
    },
];

/// Why a score could not be computed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MetricError {
    /// Nothing to score.
    #[error("there is nothing to score: no rows are left, or they have no columns")]
    NoRows,
    /// Predictions and truth differ in shape.
    #[error(
        "the predictions are {got_rows} × {got_cols}, but the true values are {rows} × {cols}; \
         both need one row for each prediction and the same columns"
    )]
    Shape {
        /// Rows predicted.
        got_rows: usize,
        /// Columns predicted.
        got_cols: usize,
        /// Rows of the truth.
        rows: usize,
        /// Columns of the truth.
        cols: usize,
    },
    /// A list that should have one entry a row has another length.
    #[error("`{name}` has {got} entries, but {need} are needed: one for each row")]
    Length {
        /// The list.
        name: &'static str,
        /// Its length.
        got: usize,
        /// The number of rows.
        need: usize,
    },
    /// NaN or infinity in a row that is scored.
    #[error("row {row}, column {column} is not a finite number; leave that row out or repair it")]
    NotFinite {
        /// The first such row.
        row: usize,
        /// Its first such column.
        column: usize,
    },
    /// Centroids of other rows than these.
    #[error("the centroids have {got} columns, but the rows have {need}")]
    Columns {
        /// Columns of the centroids.
        got: usize,
        /// Columns of the rows.
        need: usize,
    },
    /// A label beyond the clusters there are.
    #[error("row {row} has label {label}, but there are {k} clusters (0 to k − 1)")]
    BadLabel {
        /// The first such row.
        row: usize,
        /// Its label.
        label: u32,
        /// The number of clusters.
        k: usize,
    },
}

/// That `name` has one entry for each of `need` rows.
pub(crate) fn check_length(name: &'static str, got: usize, need: usize) -> Result<(), MetricError> {
    if got == need { Ok(()) } else { Err(MetricError::Length { name, got, need }) }
}
