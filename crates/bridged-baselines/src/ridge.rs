//! Ridge regression on the pairs, after PCA of the x pool.
//!
//! ```text
//! minimise Σ_i ‖y_i − b − Wᵀ z_i‖² + α r² ‖W‖²,   z = P (x − x̄)
//! r² = mean of ‖P (x − m)‖² over the x pool, m its mean
//! ```
//!
//! where P is the PCA of the pool (or the identity), x̄ and b = ȳ are the means of the pairs. The
//! penalty is in units of the pool's spread r², so that α means the same for pixels and for unit
//! vectors: a single pair at a typical distance, alone in its direction, is followed by 1/(1 + α) of
//! its deviation. It is scikit-learn's `Ridge(alpha)` on z/r.
//!
//! With the decomposition Z = U diag(s) V of m pairs, V W = diag(s/(s² + α r²)) Uᵀ Y: the Gram
//! matrix of the pairs or of the columns, whichever is smaller, is decomposed once, O(m d · min(m,
//! d)), after O(n d · min(n, d)) for the PCA. α = 0 is the least-squares map of smallest norm. The
//! plain rival for any linear relation; it has no counterpart in the paper.

use crate::limits::{COUNT, NOT_NEGATIVE, check};
use crate::linear::{Reduced, linear_memory};
use crate::prepare::Paired;
use crate::subspace::Components;
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged::{Seed, Stage, Watch};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "ridge";

/// A linear map with an intercept and a penalty.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Ridge;
///
/// let x = Matrix::from_rows(&[[0.0], [1.0], [2.0]]);
/// let y = Matrix::from_rows(&[[1.0], [3.0], [5.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 1), (2, 2)]);
/// let line = Ridge { alpha: 0.0, ..Default::default() }.fit(problem, Seed(0), &Silent)?;
/// let at_ten = line.predict(Matrix::from_rows(&[[10.0]]).view())?.data()[0];
/// assert!((at_ten - 21.0).abs() < 1e-4);
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ridge {
    /// The penalty, in units of the mean squared distance of the pool's rows from their mean; more
    /// pulls predictions towards the mean of the paired outputs. The default of 1 follows a lone
    /// pair halfway, which six real data sets like about as well as any one number.
    pub alpha: f64,
    /// How many principal components of the x pool the map sees.
    pub pca: Components,
}

impl Default for Ridge {
    fn default() -> Self {
        Self { alpha: 1.0, pca: Components::Auto }
    }
}

bridged::limits!(Ridge { alpha: NOT_NEGATIVE, pca: COUNT });

impl Ridge {
    /// The paper does not have it; the defaults alone.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }
}

impl Method for Ridge {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        (self.pca.memory(size.x) + linear_memory(size)) as u64
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
        let pairs = Paired::of(problem);
        let x = Reduced::of(problem.x, pairs.x.view(), self.pca);
        let intercept = pairs.y.view().mean_row();
        let mut coefficients = x.targets(pairs.y.view(), &intercept);
        for (row, s) in coefficients.chunks_exact_mut(intercept.len()).zip(&x.thin.singular) {
            let factor = s / (s * s + self.alpha * x.spread);
            row.iter_mut().for_each(|v| *v *= factor);
        }
        stage.step(1)?;
        Ok(Box::new(x.map(NAME, coefficients, intercept)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::testing::{Case, all_pairs, assert_close, golden, spread_of};
    use bridged::{Matrix, Silent};

    #[test]
    fn without_pca_it_is_the_ridge_of_scikit_learn() {
        for Case { x, y, rows, number, predicted } in golden("ridge", "alpha") {
            let pairs = all_pairs(&x);
            let problem = Problem::new(x.view(), y.view(), &pairs);
            let ridge = Ridge { alpha: number / spread_of(&x), pca: Components::All };
            let fitted = ridge.fit(problem, Seed(0), &Silent).unwrap();
            assert_close(&fitted.predict(rows.view()).unwrap(), &predicted, 1e-6);
        }
    }

    #[test]
    fn the_penalty_does_not_depend_on_the_units_of_the_inputs() {
        let at = |unit: f32| {
            let x = Matrix::from_fn(9, 4, |i, j| unit * ((i * 7 + j * j * 3) % 11) as f32);
            let y = Matrix::from_fn(9, 2, |i, j| (i * i + j) as f32);
            let problem = Problem::new(x.view(), y.view(), &[(0, 1), (3, 4), (8, 8), (5, 0)]);
            let fitted = Ridge::default().fit(problem, Seed(0), &Silent).unwrap();
            fitted.predict(x.view()).unwrap()
        };
        assert_close(&at(1.0), &at(1024.0), 1e-5);
    }

    #[test]
    fn one_pair_and_equal_rows_give_the_mean_of_the_pairs() {
        let x = Matrix::from_fn(3, 2, |_, j| [12345.678, 0.1][j]);
        let y = Matrix::from_rows(&[[4.0], [6.0]]);
        let rows = Matrix::from_rows(&[[12345.678, 0.1], [12346.0, 0.1], [0.0, 9.0]]);
        for (pairs, mean) in [(&[(0, 0)][..], 4.0), (&[(0, 0), (1, 1)], 5.0)] {
            for alpha in [0.0, 1.0] {
                let ridge = Ridge { alpha, ..Default::default() };
                let problem = Problem::new(x.view(), y.view(), pairs);
                let fitted = ridge.fit(problem, Seed(0), &Silent).unwrap();
                assert_eq!(fitted.predict(rows.view()).unwrap().data(), [mean; 3]);
            }
        }
    }

    #[test]
    fn a_negative_penalty_is_refused_by_name() {
        let x = Matrix::zeros(1, 1);
        let ridge = Ridge { alpha: -1.0, ..Default::default() };
        let problem = Problem::new(x.view(), x.view(), &[(0, 0)]);
        let error = ridge.fit(problem, Seed(0), &Silent).err().expect("an error");
        assert_eq!(error.to_string(), "ridge: `alpha` must be between 0 and 1e9, got -1");
    }
}
