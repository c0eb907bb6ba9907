//! What a comparison compares: anything that learns to predict y from x out of a [`Problem`].
//!
//! [`BridgedClustering`] is one such method, the baselines of `bridged-baselines` are others. A
//! method predicts x → y; the reverse direction is the same method on [`Problem::flip`].

use crate::cluster::Clusterer;
use crate::predict::Ask;
use crate::settings::{BadParameter, Check, Limits, SideSpec};
use crate::{BridgedClustering, BridgedModel, Direction, Error, Problem, ProblemSize};
use bridged_math::cancel::cancellable;
use bridged_math::memory::{self, TooLarge};
use bridged_math::neighbors::Neighbors;
use bridged_math::{Cancelled, Matrix, MatrixRef, Seed, Watch};
use std::fmt::Debug;
use thiserror::Error as ThisError;

/// Learns to predict y from x. Equal input and seed give equal predictions on any thread count.
pub trait Method: Check + Debug + Send + Sync {
    /// Learns from two pools and a few pairs: refuses what does not fit into memory, and stops soon
    /// after the watch breaks.
    fn fit(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        let bad = |source| MethodError::BadParameter { method: self.name(), source };
        self.check().map_err(bad)?;
        let size = problem.size();
        let what = format!("{} on {} rows of x and {} of y", self.name(), size.x.0, size.y.0);
        memory::require(what, self.memory(size))?;
        cancellable(watch, || self.learn(problem, seed, watch))?
    }

    /// Its name in commands, TOML and Python.
    fn name(&self) -> &'static str;

    /// About how many bytes [`fit`](Self::fit) takes at its peak for a problem of this size, beside
    /// the problem itself.
    fn memory(&self, size: ProblemSize) -> u64;

    /// The method itself, which [`fit`](Self::fit) calls.
    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError>;
}

/// What a method learned.
///
/// The prediction of a row never depends on the other rows that are asked for with it.
pub trait Predictor: Send + Sync {
    /// Predicts rows that were not seen (the inductive setting).
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError>;

    /// Predicts the rows of the x pool that it was fitted on, given in the same order (the
    /// transductive setting).
    fn predict_pool(&self, x: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        self.predict(x)
    }

    /// The rows of the y pool that the method itself ranks first for each row, best first: `n` for
    /// each row, or all where the pool has fewer. `None` if it ranks nothing: the rows nearest to
    /// what it predicts are then its answer.
    fn retrieve(&self, rows: MatrixRef<'_>, n: usize) -> Result<Option<Vec<u32>>, MethodError> {
        let _ = (rows, n);
        Ok(None)
    }
}

/// The `n` rows of the y pool that belong to each row best, best first: by the method's own ranking, or
/// those nearest to what it predicts.
pub fn retrieve(
    predictor: &dyn Predictor,
    rows: MatrixRef<'_>,
    y: MatrixRef<'_>,
    n: usize,
) -> Result<Vec<u32>, MethodError> {
    match predictor.retrieve(rows, n)? {
        Some(ranked) => Ok(ranked),
        None => Ok(Neighbors::new(y).nearest(predictor.predict(rows)?.view(), n).rows),
    }
}

/// Why a method could not be fitted or used, with what to do about it.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum MethodError {
    /// The problem itself, or the bridge.
    #[error(transparent)]
    Problem(Error),
    /// The method needs more pairs than there are.
    #[error("{method} needs at least {need} pairs, got {got}; {remedy}")]
    TooFewPairs {
        /// The method's name.
        method: &'static str,
        /// Pairs it needs.
        need: usize,
        /// Pairs there are.
        got: usize,
        /// What to do.
        remedy: String,
    },
    /// A parameter out of its limits.
    #[error("{method}: {source}")]
    BadParameter {
        /// The method's name.
        method: &'static str,
        /// The parameter, and what it must be.
        source: BadParameter,
    },
    /// Rows of another dimension than those that were learned from.
    #[error("{method}: the rows have {got} columns, but x had {need} when it was fitted")]
    Dimension {
        /// The method's name.
        method: &'static str,
        /// Columns given.
        got: usize,
        /// Columns needed.
        need: usize,
    },
    /// Something other than the pool was given as the pool.
    #[error("{method}: the pool had {need} rows when it was fitted, got {got}")]
    NotThePool {
        /// The method's name.
        method: &'static str,
        /// Rows given.
        got: usize,
        /// Rows of the pool.
        need: usize,
    },
    /// Rows to predict that hold NaN or infinity.
    #[error("{method}: row {row} holds NaN or infinity in column {column}; remove or repair it")]
    NotFinite {
        /// The method's name.
        method: &'static str,
        /// The first such row.
        row: usize,
        /// Its first such column.
        column: usize,
    },
    /// A solver found no answer.
    #[error("{method}: {reason}; {remedy}")]
    NoSolution {
        /// The method's name.
        method: &'static str,
        /// What went wrong.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// More memory is needed than may be taken.
    #[error("{0}; take fewer rows, or another method")]
    TooLarge(#[from] TooLarge),
    /// Stopped by the watch.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<Error> for MethodError {
    fn from(error: Error) -> Self {
        match error {
            Error::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Problem(error),
        }
    }
}

impl MethodError {
    /// The rows have the columns of the pool and are finite.
    pub fn check_rows(
        method: &'static str,
        rows: MatrixRef<'_>,
        need: usize,
    ) -> Result<(), MethodError> {
        if rows.cols() != need {
            return Err(MethodError::Dimension { method, got: rows.cols(), need });
        }
        match rows.first_non_finite() {
            Some((row, column)) => Err(MethodError::NotFinite { method, row, column }),
            None => Ok(()),
        }
    }

    /// The pool has the shape that it had: (rows, columns).
    pub fn check_pool(
        method: &'static str,
        pool: MatrixRef<'_>,
        (rows, cols): (usize, usize),
    ) -> Result<(), MethodError> {
        if pool.rows() != rows {
            return Err(MethodError::NotThePool { method, got: pool.rows(), need: rows });
        }
        Self::check_rows(method, pool, cols)
    }
}

impl Check for BridgedClustering {
    /// Those of its clusterings, its bridge and its refinement have their own.
    fn limits(&self) -> &'static [(&'static str, Limits)] {
        &[]
    }

    fn check(&self) -> Result<(), BadParameter> {
        BridgedClustering::check(self)
    }
}

impl Method for BridgedClustering {
    fn name(&self) -> &'static str {
        "bridged"
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let side = |spec: &SideSpec, (rows, cols): (usize, usize)| spec.cluster.memory(rows, cols);
        side(&self.x, size.x).max(side(&self.y, size.y))
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        Ok(Box::new(BridgedClustering::fit(self, problem, seed, watch)?))
    }
}

impl Predictor for BridgedModel {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        Ok(BridgedModel::predict(self, Direction::Forward, rows)?.values)
    }

    fn predict_pool(&self, x: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_pool("bridged", x, (self.x.len(), self.x.cols()))?;
        Ok(self.predict_own(Direction::Forward, x, Ask::default())?.values)
    }

    fn retrieve(&self, rows: MatrixRef<'_>, n: usize) -> Result<Option<Vec<u32>>, MethodError> {
        if !self.ranks(Direction::Forward) {
            return Ok(None);
        }
        let n = n.min(self.y.len());
        let ranked = self.rank(Direction::Forward, self.x.scaler.apply(rows).view(), n)?;
        Ok(Some(ranked.into_iter().flatten().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::{Event, Silent};
    use std::ops::ControlFlow;

    struct Stop;

    impl Watch for Stop {
        fn on(&self, _: Event<'_>) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }

    fn rows() -> Matrix {
        Matrix::from_fn(12, 1, |i, _| (i / 6 * 10) as f32 + i as f32 * 0.1)
    }

    #[test]
    fn the_bridge_as_a_method_says_that_it_was_stopped() {
        let x = rows();
        let problem = Problem::new(x.view(), x.view(), &[(0, 0), (11, 11)]);
        let method: &dyn Method = &BridgedClustering::with_k(2);
        let stopped = method.fit(problem, Seed(0), &Stop);
        assert!(matches!(stopped, Err(MethodError::Cancelled(_))));
    }

    #[test]
    fn the_pool_keeps_its_clusters_and_must_be_the_pool() {
        let x = rows();
        let problem = Problem::new(x.view(), x.view(), &[(0, 0), (11, 11)]);
        let method: &dyn Method = &BridgedClustering::with_k(2);
        let predictor = method.fit(problem, Seed(0), &Silent).unwrap();
        let (pool, unseen) = (predictor.predict_pool(x.view()), predictor.predict(x.view()));
        assert_eq!(pool.unwrap(), unseen.unwrap());
        let found = retrieve(predictor.as_ref(), x.view().slice(0..1), x.view(), 2).unwrap();
        assert!(found.len() == 2 && found.iter().all(|&row| row < 6), "its own group: {found:?}");
        let error = predictor.predict_pool(x.view().slice(0..3)).unwrap_err();
        assert_eq!(error.to_string(), "bridged: the pool had 12 rows when it was fitted, got 3");
    }
}
