//! All that answers: new rows get a cluster, the cluster an answer, the answer its reasons.
//!
//! | file | idea |
//! |---|---|
//! | `answer.rs` | what the rows of a cluster are answered with |
//! | `regressor.rs` | one direction: values for rows |
//! | `ready.rs` | one direction with everything made that does not depend on the rows |
//! | `mixture.rs` | rows that belong to several clusters, many at a time |
//! | `expected_error.rs` | where the output most likely lies, how far off the value may be |
//! | `explain.rs` | why a row, or a cluster, is answered as it is: the one type that says so |
//! | `nearest.rs` | real rows near a predicted value |
//! | `swapped.rs` | whether rows were given to the wrong side |

mod answer;
mod expected_error;
mod explain;
mod mixture;
mod nearest;
mod ready;
mod regressor;
mod swapped;

pub use answer::{Answer, Source};
pub use explain::{Explanation, LinkRow, LinkTable, Status};
pub use nearest::Neighbor;
pub use ready::Ready;
pub use regressor::Regressor;

pub(crate) use answer::Answers;
pub(crate) use expected_error::ExpectedErrors;
pub(crate) use regressor::{ALONE, dense, towards};

use crate::Error;
use crate::bridge::VoteCount;
use crate::check::{calibration, quantile};
use crate::model::{BridgedModel, Direction};
use crate::novelty::UNFAMILIAR;
use answer::AnswerOf;
use bridged_math::{Matrix, MatrixRef};
use expected_error::Likeliest;
use std::sync::Arc;

/// What is asked of a prediction besides its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    /// No answer where the output cluster is less probable than this, or the row is unfamiliar; of
    /// bridges that know probabilities.
    pub min_confidence: Option<f64>,
    /// A ball around each value that holds the true output with this probability.
    pub level: Option<f64>,
    /// A new row is [unfamiliar](Status::Unfamiliar) if no more than this share of the pool's rows are
    /// as far from their clusters; 0 calls none so.
    pub unfamiliar: f64,
}

impl Default for Ask {
    fn default() -> Self {
        Self { min_confidence: None, level: None, unfamiliar: UNFAMILIAR }
    }
}

/// What a model says about rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The predicted rows; NaN where the model abstains.
    pub values: Matrix,
    /// The input cluster of each row, or [`NOISE`](crate::cluster::NOISE).
    pub clusters: Vec<u32>,
    answers: Arc<Answers>,
    rows: Vec<PredictedRow>,
    votes: Arc<Vec<Vec<VoteCount>>>,
    knows: bool,
    ball: Option<f64>,
}

/// What is known of one predicted row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PredictedRow {
    of: AnswerOf,
    likeliest: Likeliest,
    /// The share of the pool's rows that are as far from their clusters.
    p_value: Option<f64>,
    unfamiliar: bool,
    unsure: bool,
}

impl Prediction {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// Whether row `i` has a value.
    pub fn answered(&self, i: usize) -> bool {
        let row = &self.rows[i];
        !row.unsure && self.answers.get(row.of).source != Source::Abstain
    }

    /// Whether rows have the probability that their output lies in the linked cluster: all but those
    /// that are unfamiliar.
    pub fn knows_probabilities(&self) -> bool {
        self.knows
    }
}

impl BridgedModel {
    /// Predicts rows that may be new: each takes the cluster that the clustering's own rule gives.
    pub fn predict(&self, direction: Direction, rows: MatrixRef<'_>) -> Result<Prediction, Error> {
        self.predict_asked(direction, rows, Ask::default())
    }

    /// The same with more asked of it.
    pub fn predict_asked(
        &self,
        direction: Direction,
        rows: MatrixRef<'_>,
        ask: Ask,
    ) -> Result<Prediction, Error> {
        self.check_rows(direction, rows)?;
        self.ready(direction).predict(rows, ask)
    }

    /// Predicts the rows of the pool that the model was fitted on (the transductive setting): they
    /// keep the cluster that the clustering gave them, and none of them is unfamiliar.
    pub fn predict_pool(&self, direction: Direction) -> Result<Prediction, Error> {
        self.predict_pool_asked(direction, Ask::default())
    }

    /// The same with more asked of it.
    pub fn predict_pool_asked(&self, direction: Direction, ask: Ask) -> Result<Prediction, Error> {
        self.predict_own(direction, self.from(direction).rows()?.view(), ask)
    }

    /// Like [`BridgedModel::predict_pool`], with the pool at hand.
    pub(crate) fn predict_own(
        &self,
        direction: Direction,
        pool: MatrixRef<'_>,
        ask: Ask,
    ) -> Result<Prediction, Error> {
        self.check_rows(direction, pool)?;
        let from = self.from(direction);
        let scaled = from.scaler.apply(pool);
        let novelty = from.novelty.as_ref();
        let p_values = novelty.map(|n| n.own_p_values(&from.clustering, scaled.view()));
        let ask = Ask { unfamiliar: 0.0, ..ask };
        self.ready(direction).answer(&scaled, from.clustering.labels.clone(), p_values, ask)
    }

    /// The squared radius of a ball that holds the true output with probability `level`, if new rows
    /// come like the pairs did, ÷ the expected error of the prediction that it is around. The pairs
    /// limit what can be promised.
    pub fn ball(&self, direction: Direction, level: f64) -> Result<f64, Error> {
        let scores = self.regressor(direction).scores();
        let factor = quantile(scores, level).map_err(|highest| Error::LevelTooHigh {
            pairs: scores.len(),
            level,
            highest,
        })?;
        Ok(factor * self.to(direction).cols() as f64 / calibration(scores))
    }

    fn check_rows(&self, direction: Direction, rows: MatrixRef<'_>) -> Result<(), Error> {
        let side = direction.input();
        let need = self.from(direction).cols();
        if rows.cols() != need {
            return Err(Error::Dimension { side, got: rows.cols(), need });
        }
        match rows.first_non_finite() {
            Some((row, column)) => Err(Error::NotFinite { side, row, column }),
            None => Ok(()),
        }
    }
}
