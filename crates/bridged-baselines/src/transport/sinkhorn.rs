//! Entropic optimal transport: the cheapest plan between two histograms that is not too sharp.
//!
//! ```text
//! min_P  Σ_ij P_ij C_ij + ε Σ_ij P_ij (log P_ij − 1)     subject to  P 1 = a,  Pᵀ 1 = b,  P ≥ 0
//! P_ij = exp((f_i + g_j − C_ij)/ε) = u_i K_ij v_j
//! Sinkhorn:  v ← b / Kᵀu,   u ← a / K v
//! ```
//!
//! The potentials f and g hold the weights too, so that a row of the plan is aᵢ times
//! softmax_j((g_j − C_ij)/ε); that sentence is what extends a plan to rows not seen.
//!
//! **Any ε.** With a small one K = exp(−C/ε) is 0 in every digit and plain scaling fails. Here K is
//! taken around potentials, K_ij = exp((f_i + g_j − C_ij)/ε), and u and v stay within 10^±100: a half
//! step that would leave that range absorbs the scalings into the potentials (Schmitzer 2019), makes
//! the potential that it is about to compute the hard minimum f_i = min_j (C_ij − g_j), so that every
//! row of K holds a 1, and is done again. Then most iterations are products with K and take no
//! exponential, and none can underflow.
//!
//! **Cost.** An iteration reads K once: a row is multiplied by v, gives its u_i, and is added to Kᵀu
//! while it is in the cache. That sum also is the marginal of the columns, so the error is known after
//! each iteration for nothing. Rows go in bands that follow from the shape, folded in order.
//!
//! References: Cuturi (2013), *Sinkhorn distances*; Schmitzer (2019), *Stabilized sparse scaling
//! algorithms for entropy regularized transport problems*. Checked against POT 0.9.7.

mod scaling;

use crate::limits::check;
use bridged::Cancelled;
use bridged::MethodError;
use bridged::settings::{BadParameter, ITERATIONS, Limits, Number, TOLERANCE};
use rayon::prelude::*;
use scaling::{Scaling, absorb};
use serde::{Deserialize, Serialize};

/// The name in errors.
const NAME: &str = "sinkhorn";

/// How sharp a plan is: ε chosen from the costs, or given.
///
/// In TOML the word `"auto"` or a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum Eps {
    /// The method's own choice; each says which.
    #[default]
    Auto,
    /// This one, in the units that the method documents.
    Value(f64),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Word(Word),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Auto,
}

impl From<Written> for Eps {
    fn from(written: Written) -> Self {
        match written {
            Written::Number(value) => Eps::Value(value),
            Written::Word(Word::Auto) => Eps::Auto,
        }
    }
}

impl From<Eps> for Written {
    fn from(eps: Eps) -> Self {
        match eps {
            Eps::Value(value) => Written::Number(value),
            Eps::Auto => Written::Word(Word::Auto),
        }
    }
}

impl Eps {
    /// The value that was given, or `auto`.
    pub fn or_auto(self, auto: f64) -> f64 {
        match self {
            Eps::Auto => auto,
            Eps::Value(value) => value,
        }
    }
}

impl Number for Eps {
    fn number(&self) -> Option<f64> {
        match self {
            Eps::Auto => None,
            Eps::Value(value) => Some(*value),
        }
    }
}

/// Puts the name of a method that uses this solver into its errors.
pub(crate) fn on_behalf_of(method: &'static str) -> impl Fn(MethodError) -> MethodError {
    move |mut error| {
        if let MethodError::BadParameter { method: name, .. }
        | MethodError::NoSolution { method: name, .. } = &mut error
        {
            *name = method;
        }
        error
    }
}

/// Entropic transport by Sinkhorn's iteration.
///
/// ```
/// use bridged_baselines::transport::sinkhorn::Sinkhorn;
/// let costs = [0.0, 1.0, 1.0, 0.0];
/// let half = [0.5, 0.5];
/// let blurred = Sinkhorn { eps: 1.0, ..Default::default() }.solve(&costs, &half, &half)?;
/// assert!((blurred.plan()[0] - 0.36552929).abs() < 1e-8);
/// let sharp = Sinkhorn { eps: 1e-6, ..Default::default() }.solve(&costs, &half, &half)?;
/// assert_eq!(sharp.plan(), [0.5, 0.0, 0.0, 0.5]);
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sinkhorn {
    /// ε, in the units of the costs: near 0 the plan is an optimal one, at infinity it is a bᵀ.
    pub eps: f64,
    /// Stops once ‖Pᵀ1 − b‖₂ is below it; the rows hold exactly. 0 runs `max_iter` iterations.
    pub tol: f64,
    /// Iterations at most; not to have converged by then is told, not an error.
    pub max_iter: u32,
}

impl Default for Sinkhorn {
    fn default() -> Self {
        Self { eps: 0.1, tol: 1e-9, max_iter: 1000 }
    }
}

// Costs may be in any unit, and with them ε.
bridged::limits!(Sinkhorn { eps: Limits::Above(0.0, 1e300), tol: TOLERANCE, max_iter: ITERATIONS });

/// What [`Sinkhorn::run`] works on.
pub struct Task<'a> {
    /// C, row-major (a.len(), b.len()).
    pub cost: &'a [f64],
    /// The weights of the rows, positive.
    pub a: &'a [f64],
    /// The weights of the columns, positive, of the same sum.
    pub b: &'a [f64],
    /// The potentials f and g to start from; without them both are 0.
    pub start: Option<(&'a [f64], &'a [f64])>,
    /// Memory to use again; its content does not matter.
    pub buffer: Vec<f64>,
}

/// An entropic plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// The potentials of the rows.
    pub f: Vec<f64>,
    /// The potentials of the columns.
    pub g: Vec<f64>,
    /// Iterations that were made.
    pub iterations: u32,
    /// Whether `tol` was reached.
    pub converged: bool,
    /// ‖Pᵀ1 − b‖₂.
    pub marginal_error: f64,
    kernel: Vec<f64>,
    u: Vec<f64>,
    v: Vec<f64>,
}

impl Transport {
    /// P, row-major.
    pub fn plan(&self) -> Vec<f64> {
        self.clone().into_plan()
    }

    /// P, row-major, in the memory of the kernel.
    pub fn into_plan(mut self) -> Vec<f64> {
        let m = self.v.len();
        self.kernel.par_chunks_mut(m).zip(&self.u).for_each(|(row, u)| {
            row.iter_mut().zip(&self.v).for_each(|(k, v)| *k *= u * v);
        });
        self.kernel
    }
}

impl Sinkhorn {
    /// The plan between weights `a` and `b` for row-major costs (a.len(), b.len()).
    pub fn solve(&self, cost: &[f64], a: &[f64], b: &[f64]) -> Result<Transport, MethodError> {
        self.run(Task { cost, a, b, start: None, buffer: Vec::new() }, &mut |_| Ok(()))
    }

    /// Like [`solve`](Self::solve), from given potentials; calls `step` after each iteration.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn run(
        &self,
        task: Task<'_>,
        step: &mut dyn FnMut(u64) -> Result<(), Cancelled>,
    ) -> Result<Transport, MethodError> {
        self.check_task(&task)?;
        let mut scaling = Scaling::new(task, self.eps);
        let mut iterations = 0;
        let mut marginal_error = f64::INFINITY;
        while iterations < self.max_iter && marginal_error >= self.tol {
            scaling.update_columns();
            scaling.update_rows();
            marginal_error = scaling.column_error();
            iterations += 1;
            step(u64::from(iterations))?;
        }
        let converged = marginal_error < self.tol;
        let Scaling { mut f, mut g, u, v, kernel, .. } = scaling;
        absorb(&mut f, &u, self.eps);
        absorb(&mut g, &v, self.eps);
        Ok(Transport { f, g, iterations, converged, marginal_error, kernel, u, v })
    }

    /// Like [`run`](Self::run), but reaches `eps` from the larger `from` in steps of a quarter, each
    /// roughly solved from the potentials of the one before: the same plan, where ε is small in about
    /// a quarter fewer iterations, and where `max_iter` ends it closer to the weights. That limit and
    /// the iterations told are those of the last step.
    pub fn anneal(
        &self,
        from: f64,
        task: Task<'_>,
        step: &mut dyn FnMut(u64) -> Result<(), Cancelled>,
    ) -> Result<Transport, MethodError> {
        let Task { cost, a, b, start, mut buffer } = task;
        let (mut f, mut g) = match start {
            Some((f, g)) => (f.to_vec(), g.to_vec()),
            None => (vec![0.0; a.len()], vec![0.0; b.len()]),
        };
        // An ε that is out of range is for the last run to refuse.
        let mut eps = if self.eps > 0.0 { from } else { 0.0 };
        while eps > self.eps {
            let rough = Self { eps, tol: 1e-3 / (b.len() as f64).sqrt(), max_iter: 100 };
            let task = Task { cost, a, b, start: Some((&f, &g)), buffer };
            let mut found = rough.run(task, step)?;
            (f, g) = (std::mem::take(&mut found.f), std::mem::take(&mut found.g));
            buffer = found.into_plan();
            eps /= 4.0;
        }
        self.run(Task { cost, a, b, start: Some((&f, &g)), buffer }, step)
    }

    fn check_task(&self, task: &Task<'_>) -> Result<(), MethodError> {
        check(self, NAME)?;
        let Task { cost, a, b, start, .. } = task;
        assert_eq!(cost.len(), a.len() * b.len(), "costs are (rows, columns)");
        if let Some((f, g)) = start {
            assert_eq!((f.len(), g.len()), (a.len(), b.len()), "a potential for each weight");
        }
        let unsolvable = |reason: &str, remedy: &str| MethodError::NoSolution {
            method: NAME,
            reason: reason.into(),
            remedy: remedy.into(),
        };
        if !a.iter().chain(*b).all(|w| w.is_finite() && *w > 0.0) {
            return Err(unsolvable("a weight is not positive", "leave out what weighs nothing"));
        }
        let (left, right) = (a.iter().sum::<f64>(), b.iter().sum::<f64>());
        if a.is_empty() || b.is_empty() || (left - right).abs() > 1e-6 * left {
            return Err(unsolvable("the weights differ in sum", "divide each by its sum"));
        }
        // Below this the rounding of the costs is larger than ε, and no plan means anything.
        let largest = scaling::largest(cost);
        let least = 1e-12 * largest;
        if !largest.is_finite() {
            return Err(unsolvable("a cost is NaN or infinite", "use a large finite cost"));
        }
        if self.eps < least {
            let need = format!("at least {least:.1e}, 1e-12 of the largest cost");
            let source = BadParameter::new("eps", need, self.eps);
            return Err(MethodError::BadParameter { method: NAME, source });
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod golden {
    //! What POT gave; see `tests/golden/baselines_ot.py`.
    use serde_json::Value;

    pub(crate) fn golden() -> Value {
        serde_json::from_str(include_str!("../../../../tests/golden/baselines_ot.json")).unwrap()
    }

    pub(crate) fn numbers(value: &Value) -> Vec<f64> {
        serde_json::from_value(value.clone()).unwrap()
    }

    pub(crate) fn agree(found: &[f64], expected: &[f64], tol: f64) {
        assert_eq!(found.len(), expected.len());
        for (at, (f, e)) in found.iter().zip(expected).enumerate() {
            assert!((f - e).abs() <= tol, "entry {at}: {f}, not {e}");
        }
    }
}

#[cfg(test)]
mod tests;
