//! EOT: transport the inputs, mapped into the output space, onto the outputs, and take barycentres.
//!
//! ```text
//! R      ridge regression of y on x over the pairs
//! C_ij = ‖R(x_i) − y_j‖² / median                    every row of both pools
//! P    = entropic plan between uniform weights, ε    (crate::sinkhorn)
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
//! **Small ε** is reached from larger ones: from ε = 1 in steps of a quarter, each starting from the
//! potentials of the one before. The plan is the same, and found in far fewer iterations.
//!
//! Cuturi (2013); Seguy et al. (2018), *Large-scale optimal transport and mapping estimation*. The
//! published experiment code replaced the tuned ε by 5 % of a median cost whatever the grid said, and
//! coupled the rows of the test to y; here a given ε is honoured, and the x pool is coupled.

use crate::barycentre::Barycentre;
use crate::ridge_cost::RidgeCost;
use crate::sinkhorn::{Eps, Sinkhorn, Task};
use bridged::math::{Matrix, MatrixRef, Seed, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem};
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "eot";

/// Entropic transport with a barycentric map.
///
/// ```
/// use bridged::math::{Matrix, Seed, Silent};
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
    fn fit(
        &self,
        problem: Problem<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        problem.check()?;
        let eps = self.eps.or_auto(NAME, 0.05)?;
        check_limits(NAME, self.tol, self.max_iter)?;
        let (cost, pool) = RidgeCost::fit(NAME, problem, self.ridge_alpha)?;
        let stage = Stage::begin(watch, NAME, Some(u64::from(self.max_iter)))?;
        let [a, b] = [problem.x, problem.y].map(|pool| vec![1.0 / pool.rows() as f64; pool.rows()]);
        let (mut f, mut g) = (vec![0.0; a.len()], vec![0.0; b.len()]);
        let mut buffer = Vec::new();
        for warmer in std::iter::successors(Some(1.0), |e| Some(e / 4.0)).take_while(|e| *e > eps) {
            let sinkhorn =
                Sinkhorn { eps: warmer, tol: 1e-3 / (b.len() as f64).sqrt(), max_iter: 100 };
            let task = Task { cost: &pool, a: &a, b: &b, start: Some((&f, &g)), buffer };
            let mut found = sinkhorn.run(task, &mut |_| stage.step(0))?;
            (f, g) = (std::mem::take(&mut found.f), std::mem::take(&mut found.g));
            buffer = found.into_plan();
        }
        let sinkhorn = Sinkhorn { eps, tol: self.tol, max_iter: self.max_iter };
        let task = Task { cost: &pool, a: &a, b: &b, start: Some((&f, &g)), buffer };
        let found = sinkhorn.run(task, &mut |done| stage.step(done))?;
        let map = Barycentre::new(problem.y, found.g, eps);
        Ok(Box::new(Fitted { cost, map, cols: problem.x.cols() }))
    }
}

/// `tol` is not negative and `max_iter` is positive.
pub(crate) fn check_limits(
    method: &'static str,
    tol: f64,
    max_iter: u32,
) -> Result<(), MethodError> {
    let bad = |name, need: &str, got| {
        Err(MethodError::BadParameter { method, name, need: need.to_string(), got })
    };
    if tol.is_nan() || tol < 0.0 {
        return bad("tol", "0 or more", tol);
    }
    if max_iter == 0 {
        return bad("max_iter", "at least 1", 0.0);
    }
    Ok(())
}

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(NAME, rows, self.cols)?;
        Ok(self.map.map(self.cost.of(rows)))
    }
}
