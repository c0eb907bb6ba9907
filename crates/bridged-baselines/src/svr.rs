//! ε-insensitive support vector regression of many outputs over one kernel matrix, by sequential
//! minimal optimisation.
//!
//! Every output y ∈ Rⁿ is a problem of its own,
//!
//! ```text
//! min_β  ½ βᵀKβ − yᵀβ + ε ‖β‖₁    subject to  Σ β = 0,  |β_i| ≤ C;     f(x) = Σ_i β_i k(x, x_i) + b
//! ```
//!
//! the usual dual with β = α − α*, of which never both differ from 0. The kernel matrix is computed
//! once and shared by all outputs; they are solved side by side.
//!
//! With g = Kβ − y, raising β_i costs `up_i` = g_i + ε (g_i − ε while β_i < 0) a unit, and lowering it
//! saves `down_i` = g_i − ε (g_i + ε while β_i > 0). A step raises the i of the smallest `up` and
//! lowers the j that promises the most by second-order information (Fan, Chen & Lin 2005),
//!
//! ```text
//! j = argmax (down_j − up_i)² / (K_ii + K_jj − 2 K_ij)    over  down_j > up_i
//! ```
//!
//! and goes to the exact minimum along that line, across the kinks at β = 0. It stops when
//! max `down` − min `up` < `tol`: the rule of LIBSVM, so that equal tolerances mean equal accuracy.
//! b is the mean of −g_i ∓ ε over 0 < |β_i| < C, else the middle of what is possible.
//!
//! A step takes two passes over n numbers and two rows of K, half of what 2n variables α, α* take;
//! a good `start` saves steps. Shrinking is not used: in the sizes at hand K stays in the cache, and
//! at small ε nearly every row supports, so that there is little to set aside.
//!
//! R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working set selection using second order information for
//! training support vector machines*, JMLR 6, 2005.

use bridged::Stage;
use bridged::{Cancelled, Watch};
use bridged_math::cancel::{carry, checkpoint};
use bridged_math::linalg::{Accum, View, par_product};
use bridged_math::simd::vectorize;
use rayon::prelude::*;

/// The least curvature of a step: two equal rows have none.
const FLAT: f64 = 1e-12;
/// Outputs that are solved between two reports of progress.
const BATCH: usize = 64;

/// Parameters of the regression; the same for every output.
///
/// ```
/// use bridged::Silent;
/// use bridged_baselines::svr::Svr;
///
/// // k(a, b) = ab at 0, 1, 2; the targets lie on the line 3x + 1.
/// let kernel = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 2.0, 4.0];
/// let svr = Svr { c: 100.0, epsilon: 0.0, ..Svr::default() };
/// let line = &svr.fit(&kernel, 3, &[1.0, 4.0, 7.0], None, &Silent)?[0];
/// let slope = line.beta[1] + 2.0 * line.beta[2];
/// assert!((slope - 3.0).abs() < 1e-3 && (line.intercept - 1.0).abs() < 1e-3);
/// # Ok::<(), bridged::Cancelled>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Svr {
    /// The most that one row may weigh; larger follows the targets more closely.
    pub c: f64,
    /// Half the width of the tube inside which an error costs nothing.
    pub epsilon: f64,
    /// Stops when no exchange between two rows gains more than this a unit.
    pub tol: f64,
    /// The most steps an output may take; one that needs more comes back as not converged.
    pub max_iter: usize,
}

impl Default for Svr {
    fn default() -> Self {
        Self { c: 1.0, epsilon: 0.1, tol: 1e-3, max_iter: 100_000 }
    }
}

/// What was found for one output.
#[derive(Clone, Debug, PartialEq)]
pub struct SvrSolution {
    /// The weight of every row, (n).
    pub beta: Vec<f64>,
    /// b.
    pub intercept: f64,
    /// Steps that were taken.
    pub iterations: usize,
    /// Whether the stopping rule was met.
    pub converged: bool,
}

impl Svr {
    /// Solves every output: `kernel` is (n, n) and symmetric, `targets` (outputs, n), one output a
    /// row. `start` gives weights to begin from, in the shape of the targets, each row within ±C
    /// and with sum 0; else they are 0.
    ///
    /// # Panics
    /// If the shapes or the start do not fit, or a parameter is not positive (ε may be 0).
    pub fn fit(
        &self,
        kernel: &[f64],
        n: usize,
        targets: &[f64],
        start: Option<&[f64]>,
        watch: &dyn Watch,
    ) -> Result<Vec<SvrSolution>, Cancelled> {
        assert!(n > 0 && kernel.len() == n * n, "the kernel matrix is (n, n)");
        assert!(targets.len().is_multiple_of(n), "the targets are (outputs, n)");
        assert!(self.c > 0.0 && self.epsilon >= 0.0 && self.tol > 0.0, "positive parameters");
        let fits = |s: &[f64]| s.len() == targets.len() && s.iter().all(|b| b.abs() <= self.c);
        assert!(start.is_none_or(fits), "the start has the shape of the targets and is within ±C");
        let outputs = targets.len() / n;
        let mut beta = start.map_or_else(|| vec![0.0; targets.len()], <[f64]>::to_vec);
        let mut gradient: Vec<f64> = targets.iter().map(|y| -y).collect();
        if start.is_some() {
            par_product(
                View::new(&beta, outputs, n),
                View::new(kernel, n, n),
                Accum::Add,
                &mut gradient,
            );
        }
        let diagonal: Vec<f64> = (0..n).map(|i| kernel[i * n + i]).collect();
        let kernel = Kernel { rows: kernel, diagonal: &diagonal };
        let stage = Stage::begin(watch, "svr", Some(outputs as u64))?;
        let mut solutions = Vec::with_capacity(outputs);
        let batches = beta.chunks_mut(BATCH * n).zip(gradient.chunks_mut(BATCH * n));
        for (beta, gradient) in batches {
            let solved = beta.par_chunks_mut(n).zip(gradient.par_chunks_mut(n));
            let solve = |(beta, gradient): (&mut [f64], &mut [f64])| {
                let state = State::new(self, beta.to_vec(), gradient.to_vec());
                solve(self, kernel, state)
            };
            solutions.par_extend(solved.map(carry(solve)));
            stage.step(solutions.len() as u64)?;
        }
        Ok(solutions)
    }
}

/// β of every output, (outputs, n), and the intercepts: what predictions are made of.
pub fn coefficients(solutions: &[SvrSolution]) -> (Vec<f64>, Vec<f64>) {
    let beta = solutions.iter().flat_map(|s| &s.beta).copied().collect();
    (beta, solutions.iter().map(|s| s.intercept).collect())
}

/// f of every output at rows of which `cross` (rows, n) holds the kernel with the fitted rows:
/// (rows, outputs), by one matrix product.
pub fn predict(cross: &[f64], n: usize, beta: &[f64], intercept: &[f64]) -> Vec<f64> {
    let (rows, outputs) = (cross.len() / n, intercept.len());
    let mut out = intercept.repeat(rows);
    par_product(View::new(cross, rows, n), View::new(beta, outputs, n).t(), Accum::Add, &mut out);
    out
}

#[derive(Clone, Copy)]
struct Kernel<'a> {
    rows: &'a [f64],
    diagonal: &'a [f64],
}

impl<'a> Kernel<'a> {
    fn row(self, i: usize) -> &'a [f64] {
        let n = self.diagonal.len();
        &self.rows[i * n..(i + 1) * n]
    }
}

/// One output on its way: everything has n entries.
struct State {
    beta: Vec<f64>,
    /// Kβ − y.
    gradient: Vec<f64>,
    /// `up` − gradient: ±ε, or ∞ where β = C.
    raise: Vec<f64>,
    /// `down` − gradient: ±ε, or −∞ where β = −C.
    lower: Vec<f64>,
    up: Vec<f64>,
    down: Vec<f64>,
    /// What lowering each promises.
    gain: Vec<f64>,
}

impl State {
    fn new(svr: &Svr, beta: Vec<f64>, gradient: Vec<f64>) -> Self {
        let n = beta.len();
        let zeros = || vec![0.0; n];
        let (raise, lower, up, down, gain) = (zeros(), zeros(), zeros(), zeros(), zeros());
        let mut state = Self { beta, gradient, raise, lower, up, down, gain };
        (0..n).for_each(|i| state.set(svr, i, state.beta[i]));
        state.advance(0.0, &zeros(), &zeros());
        state
    }

    /// β_i becomes `value`; its prices follow.
    #[inline(always)]
    fn set(&mut self, svr: &Svr, i: usize, value: f64) {
        let (c, epsilon) = (svr.c, svr.epsilon);
        self.beta[i] = value.clamp(-c, c);
        self.raise[i] = match value {
            v if v >= c => f64::INFINITY,
            v if v >= 0.0 => epsilon,
            _ => -epsilon,
        };
        self.lower[i] = match value {
            v if v <= -c => f64::NEG_INFINITY,
            v if v <= 0.0 => -epsilon,
            _ => epsilon,
        };
    }

    /// How far to go from β_i up and from β_j down, for the minimum along that line: what it gains
    /// a unit at first shrinks by `curvature` a unit, and by 2ε where either weight crosses 0.
    #[inline(always)]
    fn step(&self, svr: &Svr, (i, j): (usize, usize), curvature: f64) -> f64 {
        let limit = (svr.c - self.beta[i]).min(self.beta[j] + svr.c);
        let crossing = |at: f64| if at > 0.0 { at } else { f64::INFINITY };
        let (a, b) = (crossing(-self.beta[i]), crossing(self.beta[j]));
        let (mut at, mut gain) = (0.0, self.down[j] - self.up[i]);
        for kink in [a.min(b), a.max(b)] {
            if kink >= limit || gain <= curvature * (kink - at) {
                break;
            }
            gain -= curvature * (kink - at) + 2.0 * svr.epsilon;
            at = kink;
        }
        (at + gain.max(0.0) / curvature).min(limit)
    }

    /// The gradient and the prices after β_i rose and β_j fell by `step`.
    #[inline(always)]
    fn advance(&mut self, step: f64, row_i: &[f64], row_j: &[f64]) {
        let rows = row_i.iter().zip(row_j).map(|(a, b)| step * (a - b));
        let prices = self.raise.iter().zip(&self.lower);
        let sums = self.up.iter_mut().zip(&mut self.down);
        for (((g, change), (raise, lower)), (up, down)) in
            self.gradient.iter_mut().zip(rows).zip(prices).zip(sums)
        {
            *g += change;
            (*up, *down) = (*g + raise, *g + lower);
        }
    }

    fn intercept(&self, svr: &Svr) -> f64 {
        let free = |&i: &usize| self.beta[i] != 0.0 && self.beta[i].abs() < svr.c;
        let n = self.beta.len();
        let count = (0..n).filter(free).count();
        if count > 0 {
            return -(0..n).filter(free).map(|i| self.up[i]).sum::<f64>() / count as f64;
        }
        let lowest = self.up.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = self.down.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        -0.5 * (lowest + highest)
    }
}

fn solve(svr: &Svr, kernel: Kernel<'_>, state: State) -> SvrSolution {
    vectorize(
        #[inline(always)]
        || descend(svr, kernel, state),
    )
}

/// The descent itself: single entries, minima and maxima, so that it gives the same bytes at every
/// level.
#[inline(always)]
fn descend(svr: &Svr, kernel: Kernel<'_>, mut s: State) -> SvrSolution {
    let mut iterations = 0;
    let converged = loop {
        let lowest = extreme(&s.up, f64::INFINITY, |a, b| a < b);
        let highest = extreme(&s.down, f64::NEG_INFINITY, |a, b| a > b);
        let converged = highest - lowest < svr.tol;
        if converged || iterations == svr.max_iter {
            break converged;
        }
        if iterations % 256 == 0 {
            checkpoint();
        }
        let i = position(&s.up, lowest);
        let row_i = kernel.row(i);
        let curve = row_i.iter().zip(kernel.diagonal).map(|(k, d)| d + row_i[i] - 2.0 * k);
        for ((gain, down), curve) in s.gain.iter_mut().zip(&s.down).zip(curve) {
            let slope = (down - lowest).max(0.0);
            *gain = slope * slope / curve.max(FLAT);
        }
        let j = position(&s.gain, extreme(&s.gain, 0.0, |a, b| a > b));
        let row_j = kernel.row(j);
        let curvature = (kernel.diagonal[j] + row_i[i] - 2.0 * row_i[j]).max(FLAT);
        let step = s.step(svr, (i, j), curvature);
        s.set(svr, i, if step == svr.c - s.beta[i] { svr.c } else { s.beta[i] + step });
        s.set(svr, j, if step == s.beta[j] + svr.c { -svr.c } else { s.beta[j] - step });
        s.advance(step, row_i, row_j);
        iterations += 1;
    };
    SvrSolution { intercept: s.intercept(svr), beta: s.beta, iterations, converged }
}

/// The entry that is `better` than all others, in lanes that a compiler turns into registers.
#[inline(always)]
fn extreme(values: &[f64], worst: f64, better: impl Fn(f64, f64) -> bool) -> f64 {
    let pick = |a: f64, b: f64| if better(b, a) { b } else { a };
    let (chunks, rest) = values.as_chunks::<16>();
    let mut lanes = [worst; 16];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(l, &v)| *l = pick(*l, v));
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(worst, pick)
}

/// The first entry that is `value`.
#[inline(always)]
fn position(values: &[f64], value: f64) -> usize {
    let holds = |c: &[f64]| c.iter().fold(false, |found, &v| found | (v == value));
    let chunk = values.chunks(16).position(holds).unwrap_or(0) * 16;
    chunk + values[chunk..].iter().position(|&v| v == value).unwrap_or(0)
}

#[cfg(test)]
mod tests;
