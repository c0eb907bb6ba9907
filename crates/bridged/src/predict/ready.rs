//! One direction of a model with everything made that does not depend on the rows: for whoever asks again and again, a
//! few rows at a time.
//!
//! [`BridgedModel::predict`] makes it anew at every call, which costs as much as some hundred rows. The answers are the same.

use super::answer::{Answers, Source};
use super::regressor::{Predicted, ReadyRegressor};
use super::{Ask, PredictedRow, Prediction};
use crate::Error;
use crate::bridge::VoteCount;
use crate::ensemble::Together;
use crate::model::{BridgedModel, Direction};
use crate::scale::Scaled;
use crate::settings::{Limits, within};
use bridged_math::MatrixRef;
use std::sync::Arc;

/// One direction of a model that is ready to predict.
///
/// ```
/// use bridged::{BridgedClustering, Direction, Matrix, Problem, Seed, Silent};
///
/// let pool = Matrix::from_fn(40, 2, |i, j| if i < 20 { 0.0 } else { 9.0 } + ((i + j) % 3) as f32);
/// let problem = Problem::new(pool.view(), pool.view(), &[(0, 0), (39, 39)]);
/// let model = BridgedClustering::with_k(2).fit(problem, Seed(0), &Silent)?;
/// let ready = model.ready(Direction::Forward);
/// for row in pool.view().iter_rows() {
///     let row = Matrix::from_rows(&[[row[0], row[1]]]);
///     let once = ready.predict(row.view(), Default::default())?;
///     assert_eq!(once, model.predict(Direction::Forward, row.view())?);
/// }
/// # Ok::<(), bridged::Error>(())
/// ```
pub struct Ready<'a> {
    model: &'a BridgedModel,
    direction: Direction,
    regressor: ReadyRegressor<'a>,
    together: Option<Together<'a>>,
    answers: Arc<Answers>,
    votes: Arc<Vec<Vec<VoteCount>>>,
}

impl BridgedModel {
    /// Makes a direction ready to be asked many times.
    pub fn ready(&self, direction: Direction) -> Ready<'_> {
        let regressor = self.regressor(direction);
        let (from, to) = (self.from(direction), self.to(direction));
        Ready {
            model: self,
            direction,
            regressor: regressor.ready(from, to, self.settings.uncovered),
            together: self.together(direction),
            answers: Arc::new(regressor.answers.clone()),
            votes: Arc::new(self.votes(direction).rows()),
        }
    }
}

impl Ready<'_> {
    /// What [`BridgedModel::predict_asked`] says of these rows.
    pub fn predict(&self, rows: MatrixRef<'_>, ask: Ask) -> Result<Prediction, Error> {
        self.model.check_rows(self.direction, rows)?;
        let from = self.model.from(self.direction);
        let scaled = from.scaler.apply(rows);
        let clusters = from.clustering.assign(scaled.view());
        let novelty = from.novelty.as_ref();
        let p_values = novelty.map(|n| n.p_values(&from.clustering, scaled.view(), &clusters));
        self.answer(&scaled, clusters, p_values, ask)
    }

    /// Answers scaled rows that lie in these clusters.
    pub(super) fn answer(
        &self,
        scaled: &Scaled<'_>,
        clusters: Vec<u32>,
        p_values: Option<Vec<f64>>,
        ask: Ask,
    ) -> Result<Prediction, Error> {
        within("unfamiliar", &ask.unfamiliar, Limits::From(0.0, 1.0))?;
        let (model, direction) = (self.model, self.direction);
        let regressor = model.regressor(direction);
        let knows = regressor.knows_probabilities();
        let least = match ask.min_confidence {
            Some(_) if !knows => {
                return Err(Error::NoProbabilities { rule: model.settings.bridge.name() });
            }
            least => least.unwrap_or(0.0),
        };
        let ball = ask.level.map(|level| model.ball(direction, level)).transpose()?;
        let Predicted { mut values, rows } = self.regressor.predict(scaled.view(), &clusters);
        if let Some(together) = &self.together {
            let together = together.predict(scaled.view(), |members| regressor.alone(members));
            for (i, (of, _)) in rows.iter().enumerate() {
                // What an explanation calls the mean, or nothing, is that.
                if self.answers.get(*of).source == Source::Link {
                    values.row_mut(i).copy_from_slice(together.row(i));
                }
            }
        }
        let rows = rows.into_iter().enumerate().map(|(i, (of, likeliest))| {
            let p_value = p_values.as_ref().map(|p| p[i]);
            let unfamiliar = ask.unfamiliar > 0.0 && p_value.is_some_and(|p| p <= ask.unfamiliar);
            // What a row that is like none of the pool has for an output, nobody knows.
            let known = if unfamiliar { 0.0 } else { likeliest.probability };
            PredictedRow { of, likeliest, p_value, unfamiliar, unsure: knows && known < least }
        });
        let rows: Vec<PredictedRow> = rows.collect();
        for (i, _) in rows.iter().enumerate().filter(|(_, row)| row.unsure) {
            values.row_mut(i).fill(f32::NAN);
        }
        let (answers, votes) = (Arc::clone(&self.answers), Arc::clone(&self.votes));
        Ok(Prediction { values, clusters, answers, rows, votes, knows, ball })
    }
}
