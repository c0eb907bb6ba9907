//! Constants: what a method must beat to have learned anything.

use crate::limits::check;
use bridged::{Matrix, MatrixRef, Seed, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use serde::{Deserialize, Serialize};

/// Predicts the mean of the y pool. No constant has a smaller expected squared error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mean {}

/// Predicts the mean of the paired outputs: the constant of somebody without a y pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PairedMean {}

bridged::limits!(Mean {});
bridged::limits!(PairedMean {});

struct Constant {
    method: &'static str,
    cols: usize,
    value: Vec<f32>,
}

impl Mean {
    /// There is nothing to choose.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }
}

impl PairedMean {
    /// There is nothing to choose.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }
}

impl Method for Mean {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        16 * size.y.1 as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        _: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, "mean")?;
        problem.check()?;
        Ok(Box::new(Constant::of("mean", problem, problem.y)))
    }
}

impl Method for PairedMean {
    fn name(&self) -> &'static str {
        "paired-mean"
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        4 * (size.pairs as u64 + 4) * size.y.1 as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        _: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, "paired-mean")?;
        problem.check()?;
        let paired = problem.y.select(problem.pairs.iter().map(|(_, y)| y));
        Ok(Box::new(Constant::of("paired-mean", problem, paired.view())))
    }
}

impl Constant {
    fn of(method: &'static str, problem: Problem<'_>, outputs: MatrixRef<'_>) -> Self {
        let value = outputs.mean_row().into_iter().map(|v| v as f32).collect();
        Self { method, cols: problem.x.cols(), value }
    }
}

impl Predictor for Constant {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(self.method, rows, self.cols)?;
        Ok(Matrix::from_fn(rows.rows(), self.value.len(), |_, j| self.value[j]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Silent;

    #[test]
    fn one_is_the_mean_of_the_pool_and_one_of_the_pairs() {
        let x = Matrix::zeros(3, 2);
        let y = Matrix::from_rows(&[[1.0], [2.0], [6.0]]);
        let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 1)]);
        let mean = Mean {}.fit(problem, Seed(0), &Silent).unwrap();
        assert_eq!(mean.predict(x.view()).unwrap().data(), [3.0; 3]);
        let mean = PairedMean {}.fit(problem, Seed(0), &Silent).unwrap();
        assert_eq!(mean.predict(x.view()).unwrap().data(), [1.5; 3]);
    }
}
