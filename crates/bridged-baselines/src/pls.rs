//! PLS: partial least squares regression on the pairs, after PCA of both pools.
//!
//! Directions of x are found one after the other, each with the largest covariance with y:
//!
//! ```text
//! w = the first left singular vector of XᵀY,   t = X w,   p = Xᵀt / tᵀt,   X ← X − t pᵀ
//! ŷ(x) = ȳ + Σ_a (r_aᵀ (x − x̄)) Yᵀt_a / t_aᵀt_a,   r_a = w_a − Σ_{b<a} (p_bᵀ w_a) r_b
//! ```
//!
//! This is PLS2 with the regression deflation (Wold 1975; Wegelin 2000), scikit-learn's
//! `PLSRegression(components, scale=False)`: columns are not scaled, because after PCA that would
//! blow up the noise. The singular vector comes from a full decomposition instead of a power
//! iteration, so that there is nothing to converge. The directions are found between the components
//! of both pools; the outputs themselves are regressed, so PCA of y costs no accuracy.
//!
//! The number of directions is chosen by cross-validation over the pairs, from none (the mean of the
//! pairs) to ten, as users of scikit-learn do by `GridSearchCV`: with a handful of pairs a fixed number
//! follows directions along which they hardly vary, and misses by many times what the mean does.
//!
//! Cost of m pairs: O(a · min(m, k)³) for a directions among k components. Choose it before ridge
//! when a few shared factors explain both sides. It has no counterpart in the paper.

use crate::limits::{COUNT, check};
use crate::linear::{Reduced, Thin, left_singular, linear_memory};
use crate::prepare::Paired;
use crate::subspace::{Components, centred};
use bridged::{MatrixRef, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::cancel::checkpoint;
use bridged_math::linalg::{Accum, View, product};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "pls";

/// Regression on the directions of largest covariance.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Pls;
///
/// // y follows the second column; the first is noise that has nothing to do with it.
/// let x = Matrix::from_rows(&[[1.0, 0.0], [-1.0, 0.0], [1.0, 4.0], [-1.0, 4.0]]);
/// let y = Matrix::from_rows(&[[0.0], [0.0], [8.0], [8.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 1), (2, 2), (3, 3)]);
/// let pls = Pls { components: Some(1), ..Default::default() }.fit(problem, Seed(0), &Silent)?;
/// let predicted = pls.predict(Matrix::from_rows(&[[9.0, 3.0]]).view())?.data()[0];
/// assert!((predicted - 6.0).abs() < 1e-5);
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pls {
    /// How many directions are used, or as many as the pairs can tell apart; fewer shrink more. By
    /// default the number, 0 to 10, that predicts pairs best that were left out in turn (each tenth of
    /// them where they are more than ten). With 0 every answer is the mean of the paired outputs.
    pub components: Option<usize>,
    /// How many principal components of each pool it sees.
    pub pca: Components,
}

impl Default for Pls {
    fn default() -> Self {
        Self { components: None, pca: Components::Auto }
    }
}

bridged::limits!(Pls { components: COUNT, pca: COUNT });

impl Pls {
    /// The paper does not have it; the defaults alone.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }
}

impl Method for Pls {
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
        let pairs = Paired::of(problem);
        let stage = Stage::begin(watch, NAME, Some(4))?;
        let x = Reduced::of(problem.x, pairs.x.view(), self.pca);
        stage.step(1)?;
        let y = Reduced::of(problem.y, pairs.y.view(), self.pca);
        stage.step(2)?;
        let components = match self.components {
            Some(components) => components,
            None => by_cross_validation(&x, &y, pairs.y.view()),
        };
        stage.step(3)?;
        let intercept = pairs.y.view().mean_row();
        let targets = x.targets(pairs.y.view(), &intercept); // UᵀY, (r, outputs)
        let mut coefficients = vec![0.0; targets.len()];
        descend(&x.thin, &y.thin, &targets, components, |_, found| {
            coefficients.copy_from_slice(found);
        });
        stage.step(4)?;
        Ok(Box::new(x.map(NAME, coefficients, intercept)))
    }
}

/// Parts that the pairs are cut into to choose the number of directions.
const FOLDS: usize = 10;
/// The most directions that are tried.
const MOST: usize = 10;

/// The number of directions, 0 included, that predicts pairs best from the others: each pair left out
/// in turn, or each tenth of many pairs. Of equally good numbers the smallest.
fn by_cross_validation(x: &Reduced, y: &Reduced, outputs: MatrixRef<'_>) -> usize {
    let (n, columns) = (outputs.rows(), outputs.cols());
    let most = x.thin.rank.min(MOST);
    if n < 3 || most == 0 {
        return 0; // Two pairs tell nothing of how well one predicts the other.
    }
    let folds = n.min(FOLDS);
    let mut errors = vec![0.0; most + 1];
    for fold in 0..folds {
        checkpoint();
        let (others, kept): (Vec<usize>, Vec<usize>) = (0..n).partition(|i| i % folds == fold);
        let (in_x, in_y) = (x.fold(&kept, &others), y.fold(&kept, &others));
        let intercept = outputs.select(kept.iter().copied()).view().mean_row();
        let around =
            |rows: &[usize]| centred(outputs.select(rows.iter().copied()).view(), &intercept);
        let (known, missing) = (around(&kept), around(&others));
        let mut of_fold = vec![missing.iter().map(|v| v * v).sum::<f64>(); most + 1];
        let targets = in_x.thin.targets(&known, columns);
        let rank = in_x.thin.rank;
        descend(&in_x.thin, &in_y.thin, &targets, most, |a, coefficients| {
            let mut left = missing.clone();
            for (row, left) in in_x.others.chunks_exact(rank).zip(left.chunks_exact_mut(columns)) {
                for (z, c) in row.iter().zip(coefficients.chunks_exact(columns)) {
                    left.iter_mut().zip(c).for_each(|(v, c)| *v -= z * c);
                }
            }
            // Where the directions end early, more of them change nothing.
            of_fold[a..].fill(left.iter().map(|v| v * v).sum());
        });
        errors.iter_mut().zip(of_fold).for_each(|(e, f)| *e += f);
    }
    let best = errors.iter().copied().fold(f64::INFINITY, f64::min);
    errors.iter().position(|&e| e <= best).unwrap_or(0)
}

/// Finds up to `most` directions one after the other; `each` sees how many there are and the
/// coefficients by them, (rank, outputs), for the targets UᵀY.
fn descend(x: &Thin, y: &Thin, targets: &[f64], most: usize, mut each: impl FnMut(usize, &[f64])) {
    let (r, q, singular) = (x.rank, y.rank, &x.singular);
    let outputs = targets.len() / r.max(1);
    // In the basis U of the pairs the deflated inputs are a square E, at first diag(s).
    let mut e = vec![0.0; r * r];
    (0..r).for_each(|i| e[i * r + i] = singular[i]);
    let ey = x.scaled_overlap(y); // Uᵀ (Y inside its components), (r, q)
    let mut cross = vec![0.0; r * q];
    let mut directions: Vec<(Vec<f64>, Vec<f64>)> = Vec::new(); // r_a and p_a
    let mut coefficients = vec![0.0; r * outputs];
    for a in 0..most.min(r) {
        product(View::new(&e, r, r).t(), View::new(&ey, r, q), Accum::Replace, &mut cross);
        let w = left_singular(&cross, r, q, 1);
        let t: Vec<f64> = e.chunks_exact(r).map(|row| dot(row, &w)).collect();
        let tt = dot(&t, &t);
        // What is left of the inputs after they were used up is rounding.
        if tt <= 1e-14 * singular[0] * singular[0] {
            break;
        }
        let mut p = vec![0.0; r];
        product(View::new(&t, 1, r), View::new(&e, r, r), Accum::Replace, &mut p);
        p.iter_mut().for_each(|v| *v /= tt);
        for (row, t) in e.chunks_exact_mut(r).zip(&t) {
            row.iter_mut().zip(&p).for_each(|(v, p)| *v -= t * p);
        }
        let mut rotated = w.clone();
        for (other, p) in &directions {
            let overlap = dot(p, &w);
            rotated.iter_mut().zip(other).for_each(|(v, o)| *v -= overlap * o);
        }
        let mut slope = vec![0.0; outputs];
        let targets = View::new(targets, r, outputs);
        product(View::new(&t, 1, r), targets, Accum::Replace, &mut slope);
        for (row, direction) in coefficients.chunks_exact_mut(outputs).zip(&rotated) {
            row.iter_mut().zip(&slope).for_each(|(c, s)| *c += direction * s / tt);
        }
        directions.push((rotated, p));
        each(a + 1, &coefficients);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::testing::{Case, all_pairs, assert_close, golden};
    use bridged::{Matrix, Silent};

    fn fit(pls: Pls, x: &Matrix, y: &Matrix, pairs: &[(u32, u32)]) -> Box<dyn Predictor> {
        pls.fit(Problem::new(x.view(), y.view(), pairs), Seed(0), &Silent).unwrap()
    }

    #[test]
    fn without_pca_it_is_the_pls_regression_of_scikit_learn() {
        for Case { x, y, rows, number, predicted } in golden("pls", "components") {
            let pls = Pls { components: Some(number as usize), pca: Components::All };
            let fitted = fit(pls, &x, &y, &all_pairs(&x));
            assert_close(&fitted.predict(rows.view()).unwrap(), &predicted, 1e-5);
        }
    }

    #[test]
    fn with_all_directions_it_is_least_squares() {
        let Case { x, y, rows, .. } = golden("pls", "components").swap_remove(0);
        let pairs = all_pairs(&x);
        let pls = fit(Pls { components: Some(99), ..Default::default() }, &x, &y, &pairs);
        let least = crate::Ridge { alpha: 0.0, pca: Components::Auto };
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let least = least.fit(problem, Seed(0), &Silent).unwrap();
        let (a, b) = (pls.predict(rows.view()).unwrap(), least.predict(rows.view()).unwrap());
        assert_close(&a, &b, 1e-4);
    }

    #[test]
    fn one_pair_equal_rows_and_outputs_that_do_not_vary_give_the_mean_of_the_pairs() {
        let x = Matrix::from_fn(5, 3, |i, j| (i * j) as f32);
        let y = Matrix::from_rows(&[[4.0, 1.0], [4.0, 1.0]]);
        for pairs in [&[(0, 0)][..], &[(1, 0), (4, 1), (2, 1)]] {
            let fitted = fit(Pls::default(), &x, &y, pairs);
            assert_eq!(fitted.predict(x.view()).unwrap().data(), [4.0, 1.0].repeat(5));
        }
        let equal = fit(Pls::default(), &Matrix::zeros(3, 2), &y, &[(0, 0), (1, 1)]);
        assert_eq!(equal.predict(Matrix::zeros(1, 2).view()).unwrap().data(), [4.0, 1.0]);
    }
}
