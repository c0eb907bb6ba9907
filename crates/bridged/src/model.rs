//! The fitted model: both sides, the votes, and a route in each direction.

use crate::Error;
use crate::bridge::{BridgeRule, PairVote, Reading, Votes};
use crate::confidence::{Confidence, calibration, quantile};
use crate::leave_one_out::{Checked, leave_one_out, left_out};
use crate::problem::Problem;
use crate::refine::{Alpha, Refine, RefineKind};
use crate::route::{Answer, Examples, Route, Source, anchor, answers, centroid_pairs, local_map};
use crate::scale::Scaled;
use crate::side::{PairRow, Side};
use crate::spec::{BridgedClustering, PairRows};
use bridged_math::neighbors::Neighbors;
use bridged_math::{Matrix, MatrixRef, Seed, Stage, Watch};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Which side is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// y from x.
    Forward,
    /// x from y.
    Reverse,
}

impl Direction {
    /// The name of the side that is given.
    pub fn input(self) -> &'static str {
        match self {
            Direction::Forward => "x",
            Direction::Reverse => "y",
        }
    }

    /// The name of the side that is predicted.
    pub fn output(self) -> &'static str {
        match self {
            Direction::Forward => "y",
            Direction::Reverse => "x",
        }
    }
}

/// A fitted bridge between two pools.
#[derive(Clone, Debug, PartialEq)]
pub struct BridgedModel {
    /// The parameters that it was fitted with.
    pub spec: BridgedClustering,
    /// The seed that it was fitted with.
    pub seed: Seed,
    /// The input side.
    pub x: Side,
    /// The output side.
    pub y: Side,
    /// The rows of the pairs, (row of x, row of y).
    pub pairs: Vec<(u32, u32)>,
    /// What the pairs said.
    pub votes: Votes,
    /// y from x.
    pub forward: Route,
    /// x from y.
    pub reverse: Route,
}

/// What a model says about rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The predicted rows; NaN where the model abstains.
    pub values: Matrix,
    /// The input cluster of each row, or [`NOISE`](crate::cluster::NOISE).
    pub clusters: Vec<u32>,
    answers: Vec<Answer>,
    rows: Vec<(u32, Confidence)>,
}

/// A real row near a predicted value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbor {
    /// Its row in the pool.
    pub row: u32,
    /// How far it is from the value.
    pub distance: f64,
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

    /// Why row `i` is answered as it is: targets, weights, support, status.
    pub fn answer(&self, i: usize) -> &Answer {
        &self.answers[self.rows[i].0 as usize]
    }

    /// How sure row `i` is.
    pub fn confidence(&self, i: usize) -> Confidence {
        self.rows[i].1
    }

    /// Whether row `i` has a value.
    pub fn answered(&self, i: usize) -> bool {
        self.answer(i).source != Source::Abstain
    }
}

impl BridgedClustering {
    /// Clusters both pools, lets the pairs vote, and checks how well they predict each other.
    pub fn fit(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<BridgedModel, Error> {
        problem.check()?;
        self.check()?;
        let (x_rows, y_rows): (Vec<usize>, Vec<usize>) = problem.pairs.iter().unzip();
        let apart = |rows: &[usize]| match self.pair_rows {
            PairRows::Pooled => BTreeSet::new(),
            PairRows::Apart => rows.iter().copied().collect(),
        };
        let keep = self.keep_rows;
        let x = Side::fit(&self.x, problem.x, &apart(&x_rows), keep, ("x", seed), watch)?;
        let y = Side::fit(&self.y, problem.y, &apart(&y_rows), keep, ("y", seed), watch)?;

        let stage = Stage::begin(watch, "bridge", Some(1))?;
        let reading = self.bridge.reading();
        let read = |side: &Side, pool, rows: &[usize]| {
            (side.pair_rows(pool, rows), side.memberships(pool, rows, reading))
        };
        let ((x_votes, x_members), (y_votes, y_members)) =
            rayon::join(|| read(&x, problem.x, &x_rows), || read(&y, problem.y, &y_rows));
        let vote = |(a, b): (&PairRow, &PairRow)| PairVote {
            x: a.label,
            y: b.label,
            x_depth: a.depth,
            y_depth: b.depth,
        };
        let votes = Votes {
            pairs: x_votes.iter().zip(&y_votes).map(vote).collect(),
            x_sizes: x.clustering.sizes.clone(),
            y_sizes: y.clustering.sizes.clone(),
            x_members,
            y_members,
        };
        let (forward, reverse) = rayon::join(
            || self.route(problem, &votes, &x, &y),
            || self.route(problem.flip(), &votes.flip(), &y, &x),
        );
        stage.step(1)?;
        let pairs = problem.pairs.iter().map(|(a, b)| (a as u32, b as u32)).collect();
        Ok(BridgedModel { spec: self.clone(), seed, x, y, pairs, votes, forward, reverse })
    }

    fn check(&self) -> Result<(), Error> {
        if let Alpha::Fixed(alpha) = self.refine.alpha
            && !(0.0..=1.0).contains(&alpha)
        {
            let need = "between 0 and 1, or auto".to_string();
            return Err(Error::BadParameter { name: "alpha", need, got: alpha });
        }
        let ridge = self.refine.ridge;
        if !(ridge.is_finite() && ridge > 0.0) {
            let need = "a positive number".to_string();
            return Err(Error::BadParameter { name: "ridge", need, got: ridge });
        }
        Ok(())
    }

    fn route(&self, problem: Problem<'_>, votes: &Votes, from: &Side, to: &Side) -> Route {
        let reading = self.bridge.reading();
        let (bridge, held_out) = match reading {
            Reading::Cluster => (self.bridge.link(votes), Vec::new()),
            Reading::Mixture { .. } => {
                self.bridge.link_held_out(votes, &left_out(votes.pairs.len()))
            }
        };
        let inputs = problem.x.select(problem.pairs.iter().map(|(x, _)| x));
        let outputs = problem.y.select(problem.pairs.iter().map(|(_, y)| y));
        let scaled = from.scaler.apply(inputs.view());
        let examples = Examples { from: scaled.view(), to: outputs.view(), votes: &votes.pairs };
        let checked = leave_one_out(self, votes, from, to, &examples, &held_out);
        let fixed = match self.refine.alpha {
            Alpha::Fixed(alpha) => alpha,
            Alpha::Auto => 0.0,
        };
        let alpha = match self.refine.kind {
            RefineKind::None => 0.0,
            _ => checked.as_ref().map_or(fixed, |c| c.alpha),
        };
        let (check, residual) = match checked {
            Some(Checked { check, residual, .. }) => (Some(check), residual),
            None => (None, None),
        };
        let mut maps = BTreeMap::new();
        if alpha > 0.0 {
            let centroids = centroid_pairs(&bridge, from, &to.values);
            for (i, link) in bridge.links.iter().enumerate() {
                for t in &link.targets {
                    let cell = (i as u32, t.cluster);
                    let anchor = anchor(from, to, cell.0, cell.1);
                    let Refine { kind, ridge, .. } = self.refine;
                    if let Some(map) =
                        local_map(kind, ridge, anchor, cell, &examples, None, &centroids)
                    {
                        maps.insert(cell, map);
                    }
                }
            }
        }
        Route {
            answers: answers(&bridge, self.uncovered, from),
            bridge,
            reading,
            maps,
            residual: residual.filter(|_| alpha > 0.0),
            alpha,
            check,
        }
    }
}

impl BridgedModel {
    /// The side that predictions in this direction start from.
    pub fn from(&self, direction: Direction) -> &Side {
        match direction {
            Direction::Forward => &self.x,
            Direction::Reverse => &self.y,
        }
    }

    /// The side that is predicted.
    pub fn to(&self, direction: Direction) -> &Side {
        match direction {
            Direction::Forward => &self.y,
            Direction::Reverse => &self.x,
        }
    }

    /// The links and answers of a direction.
    pub fn route(&self, direction: Direction) -> &Route {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }

    /// Predicts rows that may be new: each takes the cluster that the clustering's own rule gives.
    pub fn predict(&self, direction: Direction, rows: MatrixRef<'_>) -> Result<Prediction, Error> {
        let from = self.from(direction);
        self.check_rows(direction, rows)?;
        let scaled = from.scaler.apply(rows);
        let clusters = from.clustering.assign(scaled.view());
        Ok(self.answer(direction, &scaled, clusters))
    }

    /// Predicts the rows of the pool that the model was fitted on (the transductive setting): they
    /// keep the cluster that the clustering gave them.
    pub fn predict_pool(&self, direction: Direction) -> Result<Prediction, Error> {
        let rows = self.from(direction).rows.as_ref().ok_or(Error::NoRowsKept)?;
        self.predict_own(direction, rows.view())
    }

    /// Like [`BridgedModel::predict_pool`], with the pool at hand.
    pub(crate) fn predict_own(
        &self,
        direction: Direction,
        pool: MatrixRef<'_>,
    ) -> Result<Prediction, Error> {
        self.check_rows(direction, pool)?;
        let from = self.from(direction);
        let scaled = from.scaler.apply(pool);
        Ok(self.answer(direction, &scaled, from.clustering.labels.clone()))
    }

    fn answer(&self, direction: Direction, scaled: &Scaled<'_>, clusters: Vec<u32>) -> Prediction {
        let (from, to, route) = (self.from(direction), self.to(direction), self.route(direction));
        let (values, rows) = route.predict(from, to, scaled.view(), &clusters, self.spec.uncovered);
        Prediction { values, clusters, answers: route.answers.clone(), rows }
    }

    /// The radius of a ball around each predicted value that holds the true one with probability
    /// `level`, if new rows come like the pairs did. The pairs limit what can be promised.
    pub fn radii(
        &self,
        direction: Direction,
        prediction: &Prediction,
        level: f64,
    ) -> Result<Vec<f64>, Error> {
        let factor = self.ball(direction, level)?;
        let radius = |i: usize| (factor * prediction.confidence(i).error).sqrt();
        Ok((0..prediction.len()).map(radius).collect())
    }

    /// The squared radius of such a ball ÷ the expected error of the prediction that it is around.
    pub fn ball(&self, direction: Direction, level: f64) -> Result<f64, Error> {
        let scores = self.route(direction).check.as_ref().map_or(&[][..], |c| &c.scores);
        let factor = quantile(scores, level).map_err(|highest| Error::LevelTooHigh {
            pairs: scores.len(),
            level,
            highest,
        })?;
        Ok(factor * self.to(direction).cols() as f64 / calibration(scores))
    }

    /// For each predicted value, the `n` real rows of the other pool that are nearest to it, in the
    /// space in which that pool was clustered. A value that is NaN has none.
    pub fn nearest(
        &self,
        direction: Direction,
        values: MatrixRef<'_>,
        n: usize,
    ) -> Result<Vec<Vec<Neighbor>>, Error> {
        let to = self.to(direction);
        let rows = to.rows.as_ref().ok_or(Error::NoRowsKept)?;
        if values.cols() != to.cols() {
            let (got, need) = (values.cols(), to.cols());
            return Err(Error::Dimension { side: direction.output(), got, need });
        }
        let answered: Vec<usize> =
            (0..values.rows()).filter(|&i| values.row(i).iter().all(|v| v.is_finite())).collect();
        let queries = values.select(answered.iter().copied());
        let (pool, queries) = (to.scaler.apply(rows.view()), to.scaler.apply(queries.view()));
        let found = Neighbors::new(pool.view()).nearest(queries.view(), n);
        let mut nearest = vec![Vec::new(); values.rows()];
        for (q, i) in answered.into_iter().enumerate() {
            let neighbors = found.rows_of(q).iter().zip(found.squared_of(q));
            nearest[i] = neighbors
                .map(|(&row, squared)| Neighbor { row, distance: squared.sqrt() })
                .collect();
        }
        Ok(nearest)
    }

    pub(crate) fn check_rows(
        &self,
        direction: Direction,
        rows: MatrixRef<'_>,
    ) -> Result<(), Error> {
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
