//! What a model says of its predictions on a draw, beside what is true.

use crate::{Draw, TestRows};
use bridged::metrics::{Claim, Confidence};
use bridged::{Ask, BridgedModel, Direction, Matrix};
use bridged_math::distance::squared_distance;

/// The name that runs keep the mean probability of the linked cluster under.
pub const CLAIMED: &str = "claimed";

/// The name that runs keep the share of outputs in the linked cluster under.
pub const CAME_TRUE: &str = "came_true";

/// Probabilities and balls, each with whether it came true.
pub(crate) struct SaidOfItself {
    claims: Vec<Claim>,
    balls_80: Vec<bool>,
    balls_90: Vec<bool>,
}

impl SaidOfItself {
    /// Of the unseen rows of a draw; `None` of bridges that know no probabilities, and of rows of the
    /// pool.
    pub fn by(model: &BridgedModel, draw: &Draw, truth: &Matrix) -> Option<Self> {
        let TestRows::Unseen(rows) = &draw.test else { return None };
        // Every unseen row counts, also one that would be called unfamiliar.
        let ask = |level| Ask { level, unfamiliar: 0.0, ..Ask::default() };
        let predict = |level| model.predict_asked(Direction::Forward, rows.view(), ask(level)).ok();
        let prediction = predict(None).filter(|p| p.knows_probabilities())?;
        let lies_in = model.y().assign(truth.view());
        let claims = prediction.explanations().zip(&lies_in).filter_map(|(why, &cluster)| {
            let came_true = why.linked == Some(cluster);
            Some(Claim { probability: why.probability?, came_true })
        });
        // Few pairs cannot promise a high level: then there are no balls.
        let balls = |level| -> Vec<bool> {
            let Some(prediction) = predict(Some(level)) else { return Vec::new() };
            let inside = |(i, why): (usize, bridged::Explanation<'_>)| {
                let error = squared_distance(prediction.values.row(i), truth.row(i));
                Some(error.sqrt() <= why.radius?)
            };
            prediction.explanations().enumerate().filter_map(inside).collect()
        };
        Some(Self { claims: claims.collect(), balls_80: balls(0.8), balls_90: balls(0.9) })
    }

    /// For the metrics of it.
    pub fn confidence(&self) -> Confidence<'_> {
        let Self { claims, balls_80, balls_90 } = self;
        Confidence { claims, balls_80, balls_90 }
    }

    /// The mean probability, and the share that came true: over many draws they should agree.
    pub fn means(&self) -> Option<(f64, f64)> {
        let n = self.claims.len() as f64;
        let claimed: f64 = self.claims.iter().map(|c| c.probability).sum();
        let came_true = self.claims.iter().filter(|c| c.came_true).count() as f64;
        (n > 0.0).then(|| (claimed / n, came_true / n))
    }
}
