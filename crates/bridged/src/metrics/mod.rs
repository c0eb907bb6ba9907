//! How good a prediction, a clustering and a bridge are.
//!
//! A metric is one file and one line in [`ALL`], which says what it is, which way is better, and
//! what it is computed from:
//!
//! | computed from | metrics | shared work |
//! |---|---|---|
//! | [`Predictions`]: predicted and true outputs | MSE, MAE, R² | [`regression()`] |
//! | [`Texts`]: retrieved texts and their references | BLEU | |
//! | [`Retrieved`]: classes of retrieved rows and of true ones | right group | |
//! | [`Confidence`]: what predictions say of themselves, and what came true | calibration error, coverage | |
//! | [`Contingency`]: clusters and latent classes of one side | AMI, NMI, ARI, mis-clustering rate ε | |
//! | [`Links`]: clusters and classes of both sides, and the bridge | bridging accuracy, mis-bridging rate ε_B | [`bridging()`] |
//!
//! `bridged list`, the runs of a study and their report go through the list. All sums are `f64` and
//! folded in a fixed order: a score does not depend on the thread count.

pub mod accuracy;
pub mod ami;
pub mod ari;
pub mod bleu;
pub mod bridging;
pub mod calibration;
pub mod contingency;
pub mod mae;
pub mod misbridging;
pub mod misclustering;
pub mod mse;
pub mod nmi;
pub mod r2;
pub mod regression;
pub mod right_group;
mod scorer;

pub use ami::ami;
pub use ari::ari;
pub use bleu::bleu;
pub use bridging::{Bridging, LabelledRows, bridging};
pub use calibration::{Claim, Confidence};
pub use contingency::Contingency;
pub use mae::mae;
pub use misclustering::{Matching, misclustering};
pub use mse::mse;
pub use nmi::nmi;
pub use r2::r2;
pub use regression::{Regression, ScoredRows, regression};
pub use right_group::Retrieved;
pub use scorer::{Better, Links, Predictions, Score, Scorer, Texts};

use thiserror::Error;

/// Every metric, in the order in which `bridged list` shows them.
pub const ALL: &[Scorer] = &[
    mse::SCORER,
    mae::SCORER,
    r2::SCORER,
    bleu::SCORER,
    right_group::SCORER,
    calibration::ECE,
    calibration::COVERAGE_80,
    calibration::COVERAGE_90,
    ami::SCORER,
    nmi::SCORER,
    ari::SCORER,
    misclustering::SCORER,
    accuracy::SCORER,
    misbridging::SCORER,
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
    /// A list that should have one entry per row has another length.
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
