//! Scores of a model on rows whose partners are known.

use crate::Error;
use crate::metrics::{self, Bridging, MetricError, Regression, Rows};
use crate::model::{BridgedModel, Direction, Prediction};
use bridged_math::{Matrix, MatrixRef};
use serde::{Deserialize, Serialize};

/// How well a model does on aligned rows, in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The aligned rows.
    pub rows: usize,
    /// y from x.
    pub forward: Scores,
    /// x from y.
    pub reverse: Scores,
    /// Scores against latent classes, where those are known.
    pub latent: Option<Latent>,
}

/// Errors of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Rows that were answered; the errors are over these.
    pub answered: usize,
    /// Of the model.
    pub model: Regression,
    /// Of the mean of the pool that the model was fitted on.
    pub pool_mean: Regression,
    /// Of the mean of the paired rows; `None` if the model holds no rows.
    pub paired_mean: Option<Regression>,
}

/// Scores against latent classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latent {
    /// The clusters of x.
    pub x: Agreement,
    /// The clusters of y.
    pub y: Agreement,
    /// The bridge from x to y.
    pub forward: Bridging,
    /// The bridge from y to x.
    pub reverse: Bridging,
}

/// How well clusters agree with classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Adjusted mutual information.
    pub ami: f64,
    /// Normalised mutual information.
    pub nmi: f64,
    /// Adjusted Rand index.
    pub ari: f64,
    /// The mis-clustering rate ε.
    pub epsilon: f64,
}

impl BridgedModel {
    /// Scores the model on rows of x and y of which row i belongs to row i, and against `classes`
    /// of those rows where given.
    pub fn evaluate(
        &self,
        x: MatrixRef<'_>,
        y: MatrixRef<'_>,
        classes: Option<&[u32]>,
    ) -> Result<Evaluation, Error> {
        if x.rows() != y.rows() {
            return Err(Error::NotAligned { x: x.rows(), y: y.rows() });
        }
        let forward = self.predict(Direction::Forward, x)?;
        let reverse = self.predict(Direction::Reverse, y)?;
        let latent = match classes {
            Some(classes) => Some(self.latent(&forward, &reverse, classes)?),
            None => None,
        };
        Ok(Evaluation {
            rows: x.rows(),
            forward: self.scores(Direction::Forward, &forward, y)?,
            reverse: self.scores(Direction::Reverse, &reverse, x)?,
            latent,
        })
    }

    fn scores(
        &self,
        direction: Direction,
        prediction: &Prediction,
        truth: MatrixRef<'_>,
    ) -> Result<Scores, MetricError> {
        let to = self.to(direction);
        let answered: Vec<bool> = (0..prediction.len()).map(|i| prediction.answered(i)).collect();
        let rows = Rows::Where(&answered);
        let constant = |row: &[f32]| {
            let repeated = Matrix::from_fn(truth.rows(), truth.cols(), |_, j| row[j]);
            metrics::regression(repeated.view(), truth, rows)
        };
        let paired_mean = to.rows.as_ref().map(|rows| {
            let paired = self.pairs.iter().map(|&(x, y)| match direction {
                Direction::Forward => y as usize,
                Direction::Reverse => x as usize,
            });
            let mean = rows.view().select(paired).view().mean_row();
            mean.into_iter().map(|v| v as f32).collect::<Vec<f32>>()
        });
        Ok(Scores {
            answered: answered.iter().filter(|a| **a).count(),
            model: metrics::regression(prediction.values.view(), truth, rows)?,
            pool_mean: constant(&to.mean)?,
            paired_mean: paired_mean.map(|mean| constant(&mean)).transpose()?,
        })
    }

    fn latent(
        &self,
        forward: &Prediction,
        reverse: &Prediction,
        classes: &[u32],
    ) -> Result<Latent, MetricError> {
        let x = metrics::LabelledRows { labels: &forward.clusters, classes };
        let y = metrics::LabelledRows { labels: &reverse.clusters, classes };
        Ok(Latent {
            x: agreement(x)?,
            y: agreement(y)?,
            forward: metrics::bridging(x, y, &self.forward.bridge.best())?,
            reverse: metrics::bridging(y, x, &self.reverse.bridge.best())?,
        })
    }
}

fn agreement(side: metrics::LabelledRows<'_>) -> Result<Agreement, MetricError> {
    let table = metrics::Contingency::new(side.labels, side.classes)?;
    Ok(Agreement {
        ami: table.ami(),
        nmi: table.nmi(),
        ari: table.ari(),
        epsilon: table.matching().error,
    })
}
