//! Entropic Gromov–Wasserstein: a soft matching of two spaces that keeps distances, and its fused
//! form that also minds a cost between the spaces.
//!
//! ```text
//! min_T  α Σ_ijkl (C1_ik − C2_jl)² T_ij T_kl + (1 − α) Σ_ij M_ij T_ij + ε Σ T log T,   T1 = p, Tᵀ1 = q
//! cost(T) = α · 2 (r_i + s_j − 2 (C1 T C2)_ij) + (1 − α) M_ij,    r = C1² p,  s = C2² q  (squares by entry)
//! T ← Sinkhorn(p, q, cost(T), ε)                                  from T = p qᵀ
//! ```
//!
//! This is projected gradient descent with the step 1/ε in the geometry of Kullback–Leibler. The
//! problem is not convex: the result is a stationary point that depends on the start. Each Sinkhorn
//! starts from the potentials of the one before, which changes how long it takes and nothing else.
//!
//! **Cost.** An iteration is two products, T C2 and C1 (T C2): 2 n m (n + m) operations, then a
//! Sinkhorn of n m an iteration. Memory is n² + m² + 4 n m numbers.
//!
//! References: Peyré, Cuturi & Solomon (2016), *Gromov–Wasserstein averaging of kernel and distance
//! matrices*; Vayer et al. (2020), *Fused Gromov–Wasserstein distance for structured objects*. The
//! couplings are those of POT's `entropic_gromov_wasserstein` and
//! `entropic_fused_gromov_wasserstein` (solver `PGD`, square loss), whose factor 2 before the
//! gradient is kept, so that ε means the same.

use crate::transport::sinkhorn::{Sinkhorn, Task};
use bridged::Cancelled;
use bridged::MethodError;
use bridged_math::cancel::carry;
use bridged_math::linalg::{Accum, View, par_product};
use rayon::prelude::*;

/// The solver and its limits.
///
/// ```
/// use bridged_baselines::transport::gromov::{Gromov, Spaces};
/// // Three points on a line, and the same three in another order: 0, 1, 5 and 5, 0, 1.
/// let c1 = [0.0, 1.0, 5.0, 1.0, 0.0, 4.0, 5.0, 4.0, 0.0];
/// let c2 = [0.0, 5.0, 4.0, 5.0, 0.0, 1.0, 4.0, 1.0, 0.0];
/// let third = [1.0 / 3.0; 3];
/// let spaces = Spaces { c1: &c1, c2: &c2, p: &third, q: &third, linear: None };
/// let found = Gromov { eps: 0.1, ..Default::default() }.solve(spaces)?;
/// for (i, j) in [(0, 1), (1, 2), (2, 0)] {
///     assert!(found.plan[3 * i + j] > 0.33);
/// }
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gromov {
    /// ε, in the units of squared distances. Large ones blur the coupling to p qᵀ.
    pub eps: f64,
    /// Iterations at most.
    pub max_iter: u32,
    /// Stops once ‖T − previous T‖ (Frobenius) is at most this.
    pub tol: f64,
    /// The marginal error at which each Sinkhorn stops.
    pub inner_tol: f64,
    /// The iterations of each Sinkhorn at most.
    pub inner_iter: u32,
}

impl Default for Gromov {
    fn default() -> Self {
        Self { eps: 0.1, max_iter: 1000, tol: 1e-9, inner_tol: 1e-9, inner_iter: 1000 }
    }
}

/// Two spaces to match.
#[derive(Clone, Copy, Debug)]
pub struct Spaces<'a> {
    /// Distances within the first, symmetric (n, n).
    pub c1: &'a [f64],
    /// Distances within the second, symmetric (m, m).
    pub c2: &'a [f64],
    /// The weights of the first, positive.
    pub p: &'a [f64],
    /// The weights of the second, positive, of the same sum.
    pub q: &'a [f64],
    /// M, (n, m), and α: the fused form.
    pub linear: Option<(&'a [f64], f64)>,
}

/// A coupling of two spaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    /// T, (n, m).
    pub plan: Vec<f64>,
    /// The potentials of the second space: T_ij ∝ exp((g_j − cost_ij)/ε) in every row.
    pub g: Vec<f64>,
    /// T C2, (n, m), of the T that the last cost was taken at: with the distances of another row to
    /// the first space it gives that row's cost.
    pub pulled: Vec<f64>,
    /// Iterations that were made.
    pub iterations: u32,
    /// Whether `tol` was reached.
    pub converged: bool,
    /// How far the last iteration moved T.
    pub change: f64,
}

/// Σ_k C_ik² w_k for every row i of distances (any rows, w.len()).
pub fn mean_squares(distances: &[f64], w: &[f64]) -> Vec<f64> {
    let square = |row: &[f64]| row.iter().zip(w).map(|(c, w)| c * c * w).sum();
    distances.par_chunks(w.len()).map(carry(square)).collect()
}

/// Σ_k C_ik w_k for every row i.
fn weighted(distances: &[f64], w: &[f64]) -> Vec<f64> {
    let dot = |row: &[f64]| row.iter().zip(w).map(|(c, w)| c * w).sum();
    distances.par_chunks(w.len()).map(carry(dot)).collect()
}

/// a bᵀ, row-major.
fn outer(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().flat_map(|a| b.iter().map(move |b| a * b)).collect()
}

impl Gromov {
    /// A coupling from the start p qᵀ.
    pub fn solve(&self, spaces: Spaces<'_>) -> Result<Coupling, MethodError> {
        self.run(spaces, &mut |_| Ok(()))
    }

    /// Like [`solve`](Self::solve); calls `step` after each iteration of either kind with the number
    /// of outer ones that are done.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn run(
        &self,
        spaces: Spaces<'_>,
        step: &mut dyn FnMut(u64) -> Result<(), Cancelled>,
    ) -> Result<Coupling, MethodError> {
        let Spaces { c1, c2, p, q, .. } = spaces;
        let (n, m) = (p.len(), q.len());
        assert_eq!((c1.len(), c2.len()), (n * n, m * m), "distances are square");
        let sinkhorn = Sinkhorn { eps: self.eps, tol: self.inner_tol, max_iter: self.inner_iter };
        let (r, s) = (mean_squares(c1, p), mean_squares(c2, q));
        // At p qᵀ both products are outer ones.
        let (mut plan, mut pulled) = (outer(p, q), outer(p, &weighted(c2, q)));
        let mut cost = spaces.first_cost();
        let mut buffer = Vec::new();
        let mut potentials: Option<(Vec<f64>, Vec<f64>)> = None;
        let (mut iterations, mut change) = (0, f64::INFINITY);
        while iterations < self.max_iter && change > self.tol {
            if iterations > 0 {
                let t = View::new(&plan, n, m);
                par_product(t, View::new(c2, m, m), Accum::Replace, &mut pulled);
                let h = View::new(&pulled, n, m);
                par_product(View::new(c1, n, n), h, Accum::Replace, &mut cost);
                spaces.finish(&mut cost, &r, &s);
            }
            let start = potentials.as_ref().map(|(f, g)| (&f[..], &g[..]));
            let task = Task { cost: &cost, a: p, b: q, start, buffer };
            let mut found = sinkhorn.run(task, &mut |_| step(u64::from(iterations)))?;
            potentials = Some((std::mem::take(&mut found.f), std::mem::take(&mut found.g)));
            buffer = std::mem::replace(&mut plan, found.into_plan());
            change = distance(&plan, &buffer);
            iterations += 1;
            step(u64::from(iterations))?;
        }
        let g = potentials.map_or_else(|| vec![0.0; m], |(_, g)| g);
        Ok(Coupling { plan, g, pulled, iterations, converged: change <= self.tol, change })
    }
}

impl Spaces<'_> {
    /// The cost at the start p qᵀ.
    pub fn first_cost(&self) -> Vec<f64> {
        let mut cost = outer(&weighted(self.c1, self.p), &weighted(self.c2, self.q));
        self.finish(&mut cost, &mean_squares(self.c1, self.p), &mean_squares(self.c2, self.q));
        cost
    }

    /// From C1 T C2 to the cost, in place.
    fn finish(&self, cost: &mut [f64], r: &[f64], s: &[f64]) {
        let m = s.len();
        let (alpha, linear) = match self.linear {
            Some((linear, alpha)) => (alpha, linear),
            None => (1.0, &[][..]),
        };
        let finish = |(i, (row, r)): (usize, (&mut [f64], &f64))| {
            for (c, s) in row.iter_mut().zip(s) {
                *c = 2.0 * alpha * (r + s - 2.0 * *c);
            }
            if !linear.is_empty() {
                let linear = &linear[i * m..(i + 1) * m];
                row.iter_mut().zip(linear).for_each(|(c, l)| *c += (1.0 - alpha) * l);
            }
        };
        cost.par_chunks_mut(m).zip(r).enumerate().for_each(carry(finish));
    }
}

/// ‖a − b‖, summed in an order that follows from the length alone.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    const PART: usize = 16_384;
    let parts = a.par_chunks(PART).zip(b.par_chunks(PART));
    let squares =
        |(a, b): (&[f64], &[f64])| -> f64 { a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum() };
    parts.map(carry(squares)).collect::<Vec<_>>().iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::sinkhorn::golden::{agree, golden, numbers};

    #[test]
    fn couplings_agree_with_pot() {
        let golden = &golden()["gromov"];
        let [c1, c2, p, q] = ["c1", "c2", "p", "q"].map(|name| numbers(&golden[name]));
        let spaces = Spaces { c1: &c1, c2: &c2, p: &p, q: &q, linear: None };
        for case in golden["gromov"].as_array().unwrap() {
            let found = solver(case).solve(spaces).unwrap();
            assert_eq!(case["max_iter"], found.iterations);
            agree(&found.plan, &numbers(&case["plan"]), 1e-8);
        }
    }

    #[test]
    fn fused_couplings_agree_with_pot() {
        let golden = &golden()["gromov"];
        let [c1, c2, p, q] = ["c1", "c2", "p", "q"].map(|name| numbers(&golden[name]));
        let linear = numbers(&golden["linear"]);
        for case in golden["fused"].as_array().unwrap() {
            let linear = Some((&linear[..], case["alpha"].as_f64().unwrap()));
            let spaces = Spaces { c1: &c1, c2: &c2, p: &p, q: &q, linear };
            agree(&solver(case).solve(spaces).unwrap().plan, &numbers(&case["plan"]), 1e-8);
        }
    }

    fn solver(case: &serde_json::Value) -> Gromov {
        Gromov {
            eps: case["eps"].as_f64().unwrap(),
            max_iter: case["max_iter"].as_u64().unwrap() as u32,
            tol: -1.0,
            inner_tol: 1e-13,
            inner_iter: 100_000,
        }
    }

    #[test]
    fn a_row_of_the_coupling_is_the_softmax_of_its_cost() {
        let golden = &golden()["gromov"];
        let [c1, c2, p, q] = ["c1", "c2", "p", "q"].map(|name| numbers(&golden[name]));
        let spaces = Spaces { c1: &c1, c2: &c2, p: &p, q: &q, linear: None };
        let eps = 0.05;
        let found = Gromov { eps, max_iter: 3, ..Default::default() }.solve(spaces).unwrap();
        assert!(!found.converged);
        let s = mean_squares(&c2, &q);
        for i in 0..11 {
            let cost = |j: usize| {
                let dot: f64 = (0..11).map(|k| c1[i * 11 + k] * found.pulled[k * 9 + j]).sum();
                2.0 * (s[j] - 2.0 * dot)
            };
            let weights: Vec<f64> = (0..9).map(|j| ((found.g[j] - cost(j)) / eps).exp()).collect();
            let total: f64 = weights.iter().sum();
            let row: Vec<f64> = weights.iter().map(|w| p[i] * w / total).collect();
            agree(&row, &found.plan[i * 9..(i + 1) * 9], 1e-9);
        }
    }
}
