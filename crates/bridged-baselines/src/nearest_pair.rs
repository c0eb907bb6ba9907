//! Nearest pair with retrieval: what somebody with a search index would do.
//!
//! ```text
//! i = argmin_i ‖x − x_i‖ over the pairs;   ŷ(x) = mean of the `rows` rows of the y pool nearest to y_i
//! ```
//!
//! The output of the nearest pair is itself a row of the y pool, so with one row this is KNN with
//! one neighbour; with more, the noise of a single output averages out, which is all that the y pool
//! is used for. Distances are in the units of the data, as for KNN. Cost O(pairs · n_Y · d') to fit,
//! since every answer is the answer of some pair, and O(pairs · d) a prediction. It has no
//! counterpart in the paper.

use crate::limits::{COUNT, check};
use crate::prepare::{Paired, pairs_memory};
use bridged::{Matrix, MatrixRef, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::neighbors::Neighbors;
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "nearest-pair";

/// The mean of the real outputs around the output of the nearest pair.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::NearestPair;
///
/// let x = Matrix::from_rows(&[[0.0], [9.0]]);
/// let y = Matrix::from_rows(&[[1.0], [2.0], [3.0], [70.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 3)]);
/// let nearest = NearestPair { rows: 3 }.fit(problem, Seed(0), &Silent)?;
/// assert_eq!(nearest.predict(Matrix::from_rows(&[[1.5]]).view())?.data(), [2.0]);
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NearestPair {
    /// How many rows of the y pool are averaged, the paired one included; all of them where there
    /// are fewer. More lower the variance, until they reach beyond the group. The default of 5 fits
    /// into the smallest groups of the paper.
    pub rows: usize,
}

impl Default for NearestPair {
    fn default() -> Self {
        Self { rows: 5 }
    }
}

bridged::limits!(NearestPair { rows: COUNT });

impl NearestPair {
    /// The paper does not have it; the defaults alone.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }
}

struct Fitted {
    /// The inputs of the pairs, and the answer of each.
    x: Matrix,
    answers: Matrix,
}

impl Method for NearestPair {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let found = Neighbors::memory(size.y.0, size.y.1, size.pairs, self.rows);
        let rows = self.rows.min(size.y.0) as f64 * size.y.1 as f64;
        (found + 4.0 * rows + pairs_memory(size)) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, NAME)?;
        problem.check()?;
        let stage = Stage::begin(watch, NAME, Some(1))?;
        let Paired { x, y } = Paired::of(problem);
        let found = Neighbors::new(problem.y).nearest(y.view(), self.rows);
        let mut answers = Matrix::zeros(y.rows(), y.cols());
        for i in 0..y.rows() {
            let rows = problem.y.select(found.rows_of(i).iter().map(|&r| r as usize));
            let mean = rows.view().mean_row();
            answers.row_mut(i).iter_mut().zip(mean).for_each(|(a, m)| *a = m as f32);
        }
        stage.step(1)?;
        Ok(Box::new(Fitted { x, answers }))
    }
}

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(NAME, rows, self.x.cols())?;
        let nearest = Neighbors::new(self.x.view()).nearest(rows, 1);
        Ok(self.answers.view().select(nearest.rows.iter().map(|&pair| pair as usize)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Knn;
    use bridged::Silent;

    #[test]
    fn with_one_row_it_is_the_nearest_neighbour_and_with_all_the_mean_of_the_pool() {
        let x = Matrix::from_fn(9, 2, |i, j| (i * i + 3 * j) as f32);
        let y = Matrix::from_fn(6, 3, |i, j| ((i * 5 + j) % 7) as f32);
        let problem = Problem::new(x.view(), y.view(), &[(0, 5), (4, 2), (7, 3)]);
        let predict = |method: &dyn Method| {
            method.fit(problem, Seed(0), &Silent).unwrap().predict(x.view()).unwrap()
        };
        assert_eq!(predict(&NearestPair { rows: 1 }), predict(&Knn::default()));
        assert_eq!(predict(&NearestPair { rows: 99 }), predict(&crate::Mean {}));
    }

    #[test]
    fn no_rows_are_refused_by_name() {
        let x = Matrix::zeros(1, 1);
        let problem = Problem::new(x.view(), x.view(), &[(0, 0)]);
        let error = NearestPair { rows: 0 }.fit(problem, Seed(0), &Silent).err().unwrap();
        let need = "nearest-pair: `rows` must be a whole number of at least 1, got 0";
        assert_eq!(error.to_string(), need);
    }
}
