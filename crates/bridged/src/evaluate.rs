//! Scores of a model on rows whose partners are known.

use crate::Error;
use crate::metrics::{
    self, LabelledRows, Links, MetricError, Predictions, Score, ScoredRows, Scorer,
};
use crate::model::{BridgedModel, Direction};
use crate::predict::{Prediction, Status};
use bridged_math::{Matrix, MatrixRef};
use serde::{Serialize, Serializer};

/// How well a model does on aligned rows, in both directions.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// Scores of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scores {
    /// Rows that were answered; the errors are over these.
    pub answered: usize,
    /// Rows that are like none of the pool that the model was fitted on.
    pub unfamiliar: usize,
    /// Of the model.
    pub model: ValueScores,
    /// Of the mean of the pool that the model was fitted on.
    pub pool_mean: ValueScores,
    /// Of the mean of the paired rows; `None` if the model holds no rows.
    pub paired_mean: Option<ValueScores>,
}

/// Every listed metric of predicted values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueScores {
    /// By their names.
    #[serde(flatten)]
    pub metrics: ByMetric,
    /// R², columns weighted equally; `None` for a single row.
    pub r2_uniform: Option<f64>,
    /// The number of rows that were scored.
    pub rows: usize,
}

/// Scores against latent classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Latent {
    /// Every listed metric of the clusters of x.
    pub x: ByMetric,
    /// Of the clusters of y.
    pub y: ByMetric,
    /// The bridge from x to y.
    pub forward: BridgeScores,
    /// The bridge from y to x.
    pub reverse: BridgeScores,
}

/// Every listed metric of a bridge.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BridgeScores {
    /// By their names.
    #[serde(flatten)]
    pub metrics: ByMetric,
    /// The share of input clusters that link to an output cluster with the same majority class.
    pub by_majority: f64,
    /// The right link of each input cluster; `None` if it stands for no class of its own.
    pub truth: Vec<Option<u32>>,
}

/// Scores by the names of their metrics, in the order of [`metrics::ALL`].
#[derive(Clone, Debug, Default)]
pub struct ByMetric(Vec<(&'static Scorer, Option<f64>)>);

impl ByMetric {
    /// The metrics that `score` knows how to take.
    fn of(score: impl Fn(&Score) -> Option<Option<f64>>) -> Self {
        let all = metrics::ALL.iter();
        Self(all.filter_map(|scorer| Some((scorer, score(&scorer.score)?))).collect())
    }

    /// The score of that name; `None` if it is not defined or there is none.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(scorer, _)| scorer.name == name).and_then(|(_, value)| *value)
    }

    /// Every metric with its score; `None` where it is not defined.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Scorer, Option<f64>)> {
        self.0.iter().copied()
    }
}

impl PartialEq for ByMetric {
    fn eq(&self, other: &Self) -> bool {
        let named = |scores: &Self| -> Vec<_> { scores.iter().map(|(s, v)| (s.name, v)).collect() };
        named(self) == named(other)
    }
}

impl Serialize for ByMetric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(scorer, value)| (scorer.name, value)))
    }
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
    ) -> Result<Scores, Error> {
        let to = self.to(direction);
        let answered: Vec<bool> = (0..prediction.len()).map(|i| prediction.answered(i)).collect();
        let rows = ScoredRows::Where(&answered);
        let constant = |row: &[f32]| {
            let repeated = Matrix::from_fn(truth.rows(), truth.cols(), |_, j| row[j]);
            value_scores(repeated.view(), truth, rows)
        };
        let paired_mean = to.keeps_rows().then(|| to.rows()).transpose()?.map(|rows| {
            let paired = self.pairs.iter().map(|&(x, y)| match direction {
                Direction::Forward => y as usize,
                Direction::Reverse => x as usize,
            });
            let mean = rows.view().select(paired).view().mean_row();
            mean.into_iter().map(|v| v as f32).collect::<Vec<f32>>()
        });
        Ok(Scores {
            answered: answered.iter().filter(|a| **a).count(),
            unfamiliar: prediction
                .explanations()
                .filter(|why| why.status == Status::Unfamiliar)
                .count(),
            model: value_scores(prediction.values.view(), truth, rows)?,
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
            x: label_scores(x)?,
            y: label_scores(y)?,
            forward: bridge_scores(x, y, &self.forward.bridge.best())?,
            reverse: bridge_scores(y, x, &self.reverse.bridge.best())?,
        })
    }
}

fn value_scores(
    predicted: MatrixRef<'_>,
    truth: MatrixRef<'_>,
    rows: ScoredRows<'_>,
) -> Result<ValueScores, MetricError> {
    let predictions = Predictions::new(predicted, truth, rows)?;
    Ok(ValueScores {
        metrics: ByMetric::of(|score| match score {
            Score::Values(score) => Some(score(&predictions)),
            _ => None,
        }),
        r2_uniform: predictions.errors.r2_uniform,
        rows: predictions.errors.rows,
    })
}

fn label_scores(side: LabelledRows<'_>) -> Result<ByMetric, MetricError> {
    let table = metrics::Contingency::new(side.labels, side.classes)?;
    Ok(ByMetric::of(|score| match score {
        Score::Labels(score) => Some(Some(score(&table))),
        _ => None,
    }))
}

fn bridge_scores(
    from: LabelledRows<'_>,
    to: LabelledRows<'_>,
    bridge: &[Option<u32>],
) -> Result<BridgeScores, MetricError> {
    let links = Links::new(from, to, bridge)?;
    Ok(BridgeScores {
        metrics: ByMetric::of(|score| match score {
            Score::Links(score) => Some(Some(score(&links))),
            _ => None,
        }),
        by_majority: links.scores.by_majority,
        truth: links.scores.truth.clone(),
    })
}
