//! CCA: canonical correlation analysis of the pairs, after PCA of both pools.
//!
//! The canonical variates of x are the directions that are best predicted from y and predict it
//! best; the outputs are regressed on the first of them:
//!
//! ```text
//! A = the first left singular vectors of (XᵀX + ρ_x)^{-1/2} XᵀY (YᵀY + ρ_y)^{-1/2}, times (XᵀX + ρ_x)^{-1/2}
//! ŷ(x) = ȳ + Cᵀ Aᵀ (x − x̄),   C = argmin ‖Y − X A C‖² + ρ_x ‖A C‖² = Aᵀ XᵀY
//! ρ = regularization · r²,   r² = mean of ‖z − m‖² over the pool (as for ridge)
//! ```
//!
//! With ρ = 0 this is classic CCA (Hotelling 1936) followed by least squares; scikit-learn's
//! `CCA.transform` and a `LinearRegression` give the same. Its `CCA.predict` does not: it takes the
//! variates of x for those of y although their scales differ. With ρ > 0 it is ridge CCA (Vinod
//! 1976), whose regression has the same penalty, so that few pairs in many columns, where every
//! correlation is 1 without a penalty, are harmless. With as many variates as directions it is
//! exactly ridge.
//!
//! With X = U_x diag(s_x) V_x the matrix is diag(s_x/√(s_x² + ρ_x)) U_xᵀ U_y diag(s_y/√(s_y² + ρ_y)):
//! no inverse is taken, and nothing is divided by what may be zero. Cost of m pairs O(m³) after the
//! PCA. It has no counterpart in the paper.

use crate::limits::{COUNT, NOT_NEGATIVE, check};
use crate::linear::{Reduced, left_singular, linear_memory};
use crate::prepare::Paired;
use crate::subspace::Components;
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged::{Seed, Stage, Watch};
use bridged_math::linalg::{Accum, View, product};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "cca";

/// Regression on canonical variates.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::{Cca, Components};
///
/// let x = Matrix::from_rows(&[[9.0, 0.0], [-9.0, 0.0], [9.0, 1.0], [-9.0, 1.0]]);
/// let y = Matrix::from_rows(&[[0.0], [0.0], [8.0], [8.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 1), (2, 2), (3, 3)]);
/// let cca = Cca { components: 1, regularization: 0.0, pca: Components::All };
/// let fitted = cca.fit(problem, Seed(0), &Silent)?;
/// // Correlation decides, not variance.
/// let predicted = fitted.predict(Matrix::from_rows(&[[9.0, 0.5]]).view())?.data()[0];
/// assert!((predicted - 4.0).abs() < 1e-5);
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cca {
    /// How many variates are used, or as many as there are.
    pub components: usize,
    /// The penalty on both sides, in units of the mean squared distance of a pool's rows from their
    /// mean. 0 is classic CCA, which needs many more pairs than components.
    pub regularization: f64,
    /// How many principal components of each pool it sees.
    pub pca: Components,
}

impl Default for Cca {
    fn default() -> Self {
        Self { components: 4, regularization: 1.0, pca: Components::Auto }
    }
}

bridged::limits!(Cca { components: COUNT, regularization: NOT_NEGATIVE, pca: COUNT });

impl Cca {
    /// The paper does not have it; the defaults alone.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }
}

impl Method for Cca {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        (self.pca.memory(size.x).max(self.pca.memory(size.y)) + linear_memory(size)) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, NAME)?;
        problem.check()?;
        let stage = Stage::begin(watch, NAME, Some(3))?;
        let pairs = Paired::of(problem);
        let x = Reduced::of(problem.x, pairs.x.view(), self.pca);
        stage.step(1)?;
        let y = Reduced::of(problem.y, pairs.y.view(), self.pca);
        stage.step(2)?;
        let intercept = pairs.y.view().mean_row();
        let outputs = intercept.len();
        let (r, q) = (x.thin.rank, y.thin.rank);
        let (root_x, root_y) = (self.roots(&x), self.roots(&y));

        // diag(s_x/root_x) U_xᵀ U_y diag(s_y/root_y), (r, q)
        let mut whitened = x.thin.scaled_overlap(&y.thin);
        for (i, row) in whitened.chunks_exact_mut(q.max(1)).enumerate() {
            let factor = x.thin.singular[i] / root_x[i];
            row.iter_mut().zip(&root_y).for_each(|(v, root)| *v *= factor / root);
        }
        let variates = left_singular(&whitened, r, q, self.components); // (kept, r)
        let kept = variates.len() / r.max(1);

        // C = G diag(s/root) UᵀY; the coefficients are diag(1/root) Gᵀ C for variates G.
        let mut targets = x.targets(pairs.y.view(), &intercept);
        for ((row, s), root) in targets.chunks_exact_mut(outputs).zip(&x.thin.singular).zip(&root_x)
        {
            row.iter_mut().for_each(|v| *v *= s / root);
        }
        let view = View::new(&variates, kept, r);
        let mut slopes = vec![0.0; kept * outputs];
        product(view, View::new(&targets, r, outputs), Accum::Replace, &mut slopes);
        let mut coefficients = vec![0.0; r * outputs];
        product(view.t(), View::new(&slopes, kept, outputs), Accum::Replace, &mut coefficients);
        for (row, root) in coefficients.chunks_exact_mut(outputs).zip(&root_x) {
            row.iter_mut().for_each(|v| *v /= root);
        }
        stage.step(3)?;
        Ok(Box::new(x.map(NAME, coefficients, intercept)))
    }
}

impl Cca {
    /// √(s² + ρ) of each direction.
    fn roots(&self, side: &Reduced) -> Vec<f64> {
        let rho = self.regularization * side.spread;
        side.thin.singular.iter().map(|s| (s * s + rho).sqrt()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ridge;
    use crate::linear::testing::{Case, all_pairs, assert_close, golden};
    use bridged::{Matrix, Silent};
    use rand::RngExt;

    fn predict(method: &dyn Method, x: &Matrix, y: &Matrix, pairs: &[(u32, u32)]) -> Matrix {
        let problem = Problem::new(x.view(), y.view(), pairs);
        method.fit(problem, Seed(0), &Silent).unwrap().predict(x.view()).unwrap()
    }

    #[test]
    fn without_pca_and_penalty_it_regresses_on_the_variates_of_scikit_learn() {
        for Case { x, y, rows, number, predicted } in golden("cca", "components") {
            let components = number as usize;
            let cca = Cca { components, regularization: 0.0, pca: Components::All };
            let pairs = all_pairs(&x);
            let problem = Problem::new(x.view(), y.view(), &pairs);
            let fitted = cca.fit(problem, Seed(0), &Silent).unwrap();
            assert_close(&fitted.predict(rows.view()).unwrap(), &predicted, 1e-4);
        }
    }

    #[test]
    fn with_all_variates_it_is_ridge() {
        let Case { x, y, .. } = golden("cca", "components").swap_remove(2);
        let pairs = all_pairs(&x);
        let cca = Cca { components: 99, regularization: 0.3, pca: Components::All };
        let ridge = Ridge { alpha: 0.3, pca: Components::All };
        assert_close(&predict(&cca, &x, &y, &pairs), &predict(&ridge, &x, &y, &pairs), 1e-5);
    }

    #[test]
    fn a_few_pairs_in_many_columns_never_predict_far_outside_the_outputs() {
        let mut rng = Seed(5).rng();
        let x = Matrix::from_fn(60, 40, |_, _| rng.random::<f32>());
        let y = Matrix::from_fn(50, 30, |_, _| rng.random::<f32>());
        for pairs in [&[(0, 0)][..], &[(0, 0), (7, 7)], &[(0, 0), (7, 7), (8, 8), (9, 9), (20, 30)]]
        {
            for regularization in [0.0, 1.0] {
                let cca = Cca { regularization, ..Default::default() };
                let largest =
                    predict(&cca, &x, &y, pairs).data().iter().fold(0.0f32, |m, v| m.max(v.abs()));
                assert!(largest < 4.0, "{largest}");
            }
        }
        let constant = predict(&Cca::default(), &Matrix::zeros(3, 2), &y, &[(0, 0), (1, 0)]);
        assert_eq!(constant.row(2), y.row(0));
    }
}
