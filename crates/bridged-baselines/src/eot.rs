//! EOT: transport the inputs, mapped into the output space, onto the outputs, and take barycentres.
//!
//! ```text
//! R      ridge regression of y on x over the pairs
//! C_ij = ‖R(x_i) − y_j‖² / median                    every row of both pools
//! P    = entropic plan between uniform weights, ε    (crate::transport::sinkhorn)
//! ŷ_i  = Σ_j P_ij y_j / Σ_j P_ij = Σ_j softmax_j((g_j − C_ij)/ε) y_j
//! ```
//!
//! A few pairs make R point roughly right and no more; that all of y must be used once pulls the
//! predictions apart to where outputs really are. **Choose it** if both pools follow the same mixture
//! of kinds; where x holds kinds that y lacks, it sends them somewhere all the same.
//!
//! **Units.** x enters as standard scores of its pool, y centred and of unit scale. Costs are divided
//! by the median over the two pools, and `eps` is measured in that: 1 blurs over typical costs, 0.05
//! is the `auto` of every data set.
//!
//! **Rows not seen** use the last form above, which depends on no other row and is the barycentric map
//! on the pool. Cost: n m an iteration, and n m numbers twice.
//!
//! **Small ε** is reached from larger ones ([`Sinkhorn::anneal`]).
//!
//! Cuturi (2013); Seguy et al. (2018), *Large-scale optimal transport and mapping estimation*. The
//! published experiment code replaced the tuned ε by 5 % of a median cost whatever the grid said, and
//! coupled the rows of the test to y; here a given ε is honoured, and the x pool is coupled.

use crate::limits::{POSITIVE, check};
use crate::transport::barycentre::{Barycentre, in_full_bands};
use crate::transport::ridge_cost::RidgeCost;
use crate::transport::sinkhorn::{Eps, Sinkhorn, Task, on_behalf_of};
use bridged::settings::{ITERATIONS, TOLERANCE};
use bridged::{Matrix, MatrixRef, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "eot";

/// Entropic transport with a barycentric map.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Eot;
///
/// // Two groups. The pairs know their direction only: the first outputs of each group.
/// let x = Matrix::from_rows(&[[0.0], [0.1], [5.0], [5.1]]);
/// let y = Matrix::from_rows(&[[20.0], [24.0], [80.0], [84.0]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (2, 2)]);
/// let fitted = Eot::default().fit(problem, Seed(0), &Silent)?;
/// let found = fitted.predict(Matrix::from_rows(&[[0.05], [5.05]]).view())?;
/// assert!((found.row(0)[0] - 22.0).abs() < 0.5 && (found.row(1)[0] - 82.0).abs() < 0.5);
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Eot {
    /// ε in median costs; `auto` is 0.05. Small ones send a row to few outputs, large ones to the
    /// mean of y.
    pub eps: Eps,
    /// α of the ridge map: larger ones shrink it to the mean of the paired outputs.
    pub ridge_alpha: f64,
    /// The marginal error ‖Pᵀ1 − b‖₂ at which Sinkhorn's iteration stops.
    pub tol: f64,
    /// Its iterations at most; the paper's cap.
    pub max_iter: u32,
}

impl Default for Eot {
    fn default() -> Self {
        Self { eps: Eps::Auto, ridge_alpha: 1e-2, tol: 1e-7, max_iter: 2000 }
    }
}

bridged::limits!(Eot {
    eps: POSITIVE,
    ridge_alpha: POSITIVE,
    tol: TOLERANCE,
    max_iter: ITERATIONS,
});

impl Eot {
    /// The 45 settings of the paper.
    pub fn grid() -> Vec<Self> {
        let mut grid = Vec::new();
        for eps in [1e-3, 1e-2, 1e-1, 1.0, 10.0].map(Eps::Value) {
            for ridge_alpha in [1e-2, 1e-3, 1e-4] {
                for tol in [1e-5, 1e-7, 1e-9] {
                    grid.push(Self { eps, ridge_alpha, tol, ..Self::default() });
                }
            }
        }
        grid
    }
}

struct Fitted {
    cost: RidgeCost,
    map: Barycentre,
    cols: usize,
}

impl Method for Eot {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let (n, m) = (size.x.0 as f64, size.y.0 as f64);
        // The costs, and the kernel; while the costs are made, what the median is taken of.
        (2.0 * 8.0 * n * m + RidgeCost::memory(size) + 400.0 * (n + m)) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, NAME)?;
        problem.check()?;
        let eps = self.eps.or_auto(0.05);
        let (cost, pool) = RidgeCost::fit(NAME, problem, self.ridge_alpha)?;
        let stage = Stage::begin(watch, NAME, None)?;
        let mut done = 0;
        let mut step = |_| {
            done += 1;
            stage.step(done)
        };
        let [a, b] = [problem.x, problem.y].map(|pool| vec![1.0 / pool.rows() as f64; pool.rows()]);
        let task = Task { cost: &pool, a: &a, b: &b, start: None, buffer: Vec::new() };
        let sinkhorn = Sinkhorn { eps, tol: self.tol, max_iter: self.max_iter };
        let found = sinkhorn.anneal(1.0, task, &mut step).map_err(on_behalf_of(NAME))?;
        let map = Barycentre::new(problem.y, found.g, eps);
        Ok(Box::new(Fitted { cost, map, cols: problem.x.cols() }))
    }
}

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(NAME, rows, self.cols)?;
        Ok(in_full_bands(rows, |rows| self.map.map(self.cost.of(rows))))
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use bridged::{Cancelled, Event, Silent};
    use rand::RngExt;
    use std::ops::ControlFlow;

    /// `groups` blobs on either side, row i in blob i mod groups; the blobs of y are a linear map of
    /// those of x.
    pub(crate) fn blobs(n: usize, m: usize, groups: usize) -> (Matrix, Matrix) {
        let mut rng = Seed(3).rng();
        let centre = |g: usize, j: usize| ((g * (2 * j + 3) * 7 + j) % 11) as f32;
        let mut noise = move || rng.random::<f32>() - 0.5;
        let x = Matrix::from_fn(n, 3, |i, j| centre(i % groups, j) + noise());
        let y = Matrix::from_fn(m, 2, |i, j| {
            let at = |k| centre(i % groups, k);
            5.0 + 2.0 * at(j) - at(j + 1) + noise()
        });
        (x, y)
    }

    /// The share of rows whose prediction is nearer to the mean of their own group than of others.
    pub(crate) fn right(predicted: &Matrix, y: &Matrix, groups: usize) -> f64 {
        let mean = |g: usize| y.view().select((g..y.rows()).step_by(groups)).view().mean_row();
        let means: Vec<Vec<f64>> = (0..groups).map(mean).collect();
        let far = |row: &[f32], g: usize| -> f64 {
            row.iter().zip(&means[g]).map(|(&v, m)| (f64::from(v) - m).powi(2)).sum()
        };
        let own = |i: usize| {
            let row = predicted.row(i);
            (0..groups).all(|g| far(row, i % groups) <= far(row, g))
        };
        (0..predicted.rows()).filter(|&i| own(i)).count() as f64 / predicted.rows() as f64
    }

    pub(crate) fn fit(
        method: &dyn Method,
        x: &Matrix,
        y: &Matrix,
        pairs: usize,
    ) -> Box<dyn Predictor> {
        let pairs: Vec<(u32, u32)> = (0..pairs as u32).map(|i| (i, i)).collect();
        method.fit(Problem::new(x.view(), y.view(), &pairs), Seed(0), &Silent).unwrap()
    }

    /// Pools of one to three rows, one column, equal rows, constant columns, one pair, very
    /// different sizes, both directions: the predictions lie between the outputs.
    pub(crate) fn works_on_the_smallest_and_dullest_pools(method: &dyn Method) {
        let vary = |n: usize, d: usize| Matrix::from_fn(n, d, |i, j| ((i * 3 + j * 5) % 7) as f32);
        let equal = |n: usize, d: usize| Matrix::from_fn(n, d, |_, j| 2.5 + j as f32);
        let pools = [
            (vary(1, 1), vary(1, 1)),
            (vary(2, 1), vary(3, 2)),
            (vary(3, 4), vary(1, 2)),
            (equal(5, 3), vary(4, 2)),
            (vary(5, 3), equal(4, 1)),
            (equal(3, 2), equal(3, 2)),
            (vary(150, 2), vary(2, 9)),
        ];
        for (x, y) in &pools {
            for (x, y) in [(x, y), (y, x)] {
                let predicted = fit(method, x, y, 1).predict_pool(x.view()).unwrap();
                for j in 0..y.cols() {
                    let column = || (0..y.rows()).map(|i| y.row(i)[j]);
                    let (low, high) =
                        (column().fold(f32::MAX, f32::min), column().fold(f32::MIN, f32::max));
                    for i in 0..x.rows() {
                        let v = predicted.row(i)[j];
                        assert!(v >= low - 1e-3 && v <= high + 1e-3, "{v} in {low}..{high}");
                    }
                }
            }
        }
    }

    pub(crate) fn a_row_alone_is_predicted_as_among_others(method: &dyn Method) {
        let mut rng = Seed(4).rng();
        let x = Matrix::from_fn(150, 70, |_, _| rng.random());
        let y = Matrix::from_fn(61, 40, |_, _| rng.random());
        let fitted = fit(method, &x, &y, 5);
        let all = fitted.predict(x.view()).unwrap();
        for i in (0..150).step_by(7) {
            let alone = fitted.predict(x.view().slice(i..i + 1)).unwrap();
            assert_eq!(alone.data(), all.row(i));
        }
    }

    struct Impatient;

    impl Watch for Impatient {
        fn on(&self, event: Event<'_>) -> ControlFlow<()> {
            match event {
                Event::Step { .. } => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    pub(crate) fn can_be_stopped(method: &dyn Method) {
        let (x, y) = blobs(9, 9, 3);
        let stopped = method.fit(Problem::new(x.view(), y.view(), &[(0, 0)]), Seed(0), &Impatient);
        assert!(matches!(stopped.err(), Some(MethodError::Cancelled(Cancelled))));
    }

    pub(crate) fn error(method: &dyn Method) -> String {
        let (x, y) = blobs(9, 9, 3);
        let problem = Problem::new(x.view(), y.view(), &[(0, 0)]);
        method.fit(problem, Seed(0), &Silent).err().expect("an error").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::*;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_grid_is_that_of_the_paper() {
        let grid = Eot::grid();
        assert_eq!(grid.iter().map(|e| format!("{e:?}")).collect::<HashSet<_>>().len(), 45);
        let text = r#"{"eps": 0.001, "ridge_alpha": 0.0001, "tol": 1e-9}"#;
        assert!(grid.contains(&serde_json::from_str(text).unwrap()));
    }

    #[test]
    fn three_pairs_are_enough_to_send_blobs_to_blobs() {
        let (x, y) = blobs(90, 33, 3);
        let fitted = fit(&Eot::default(), &x, &y, 3);
        assert_eq!(right(&fitted.predict(x.view()).unwrap(), &y, 3), 1.0);
    }

    #[test]
    fn the_given_eps_is_honoured() {
        let (x, y) = blobs(60, 30, 3);
        let spread = |eps: f64| {
            let eps = Eps::Value(eps);
            let predicted =
                fit(&Eot { eps, ..Default::default() }, &x, &y, 3).predict(x.view()).unwrap();
            let mean = y.view().mean_row();
            let far = |row: &[f32]| (f64::from(row[0]) - mean[0]).powi(2);
            predicted.view().iter_rows().map(far).sum::<f64>() / 60.0
        };
        let found = [1e-3, 1e-1, 1.0, 1e3].map(spread);
        assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
        assert!(found[3] < 1e-4 * found[0], "{found:?}");
    }

    #[test]
    fn an_eps_at_which_plain_scaling_underflows_gives_a_sharp_map() {
        let (x, y) = blobs(30, 30, 3);
        let fitted = fit(&Eot { eps: Eps::Value(1e-6), ..Default::default() }, &x, &y, 4);
        let predicted = fitted.predict(x.view()).unwrap();
        assert!(predicted.view().first_non_finite().is_none());
        assert_eq!(right(&predicted, &y, 3), 1.0);
    }

    #[test]
    fn small_pools_single_rows_and_stopping_are_no_trouble() {
        for eps in [Eps::Auto, Eps::Value(1e-3), Eps::Value(10.0)] {
            works_on_the_smallest_and_dullest_pools(&Eot { eps, ..Default::default() });
        }
        a_row_alone_is_predicted_as_among_others(&Eot::default());
        can_be_stopped(&Eot::default());
    }

    #[test]
    fn bad_parameters_are_named() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let eps = Eps::Value(bad);
            let said = error(&Eot { eps, ..Default::default() });
            assert!(said.starts_with("eot: `eps` must be above 0 and at most 1e9"), "{said}");
            let said = error(&Eot { ridge_alpha: bad, ..Default::default() });
            assert!(
                said.starts_with("eot: `ridge_alpha` must be above 0 and at most 1e9"),
                "{said}"
            );
        }
        let tiny = error(&Eot { eps: Eps::Value(1e-14), ..Default::default() });
        assert!(tiny.starts_with("eot: `eps` must be at least"), "{tiny}");
        assert!(error(&Eot { tol: -1.0, ..Default::default() }).starts_with("eot: `tol`"));
        assert!(error(&Eot { max_iter: 0, ..Default::default() }).starts_with("eot: `max_iter`"));
    }
}
