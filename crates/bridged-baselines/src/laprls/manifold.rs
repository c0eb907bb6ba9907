//! Least squares in a kernel space that are smooth along a graph, solved exactly.
//!
//! ```text
//! minimise 1/l ‖S F − I‖² + λ tr(AᵀKA) + tr(Fᵀ E F),   F = K A,   E = γ L / v
//! (Q K + λ l I) A = Sᵀ,   Q = SᵀS + l E
//! ```
//!
//! for l right-hand sides at once, one for each pair: S (l, n) selects their rows, and A Y solves it
//! for outputs Y. Q K is not symmetric; with K = G Gᵀ the same solution is
//!
//! ```text
//! F = G (GᵀQG + λ l I)⁻¹ GᵀSᵀ,   A = (Sᵀ − Q F) / (λ l)
//! ```
//!
//! which needs a Cholesky factor of a positive definite matrix and never one of Q, which is singular
//! where a piece of the graph holds no pair. Cost O(n m² + m³/3) for G (n, m).

use crate::kernel::rbf;
use crate::subspace::times;
use bridged::MatrixRef;
use bridged_math::cancel::carry;
use bridged_math::graph::Graph;
use bridged_math::linalg::{
    Accum, NotPositiveDefinite, View, cholesky, par_product, solve_cholesky,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The kernel of the function space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// k(a, b) = exp(−‖a − b‖² / σ²μ²).
    #[default]
    Rbf,
    /// k(a, b) = aᵀb / d: linear functions, scaled so that k(x, x) is about 1.
    Linear,
}

/// The operator that measures how much f changes along the graph W with degrees D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Laplacian {
    /// D − W, the one of the paper: constants cost nothing.
    #[default]
    Plain,
    /// I − D^{-1/2} W D^{-1/2}: a row counts the same whatever its degree.
    Normalized,
}

/// E = γ L / v: what it costs to change along the edges, as a mean over them.
pub(crate) struct Energy<'g> {
    graph: &'g Graph,
    laplacian: Laplacian,
    /// L_ii.
    diagonal: Vec<f64>,
    /// γ / v; 0 for a graph without edges.
    factor: f64,
}

impl<'g> Energy<'g> {
    /// v is the sum of all weights for the plain Laplacian, n for the normalised one.
    pub fn new(graph: &'g Graph, laplacian: Laplacian, gamma: f64) -> Self {
        let degree = |i| graph.edges_of(i).map(|(_, weight)| weight).sum::<f64>();
        let degrees: Vec<f64> = (0..graph.len()).map(degree).collect();
        let total: f64 = degrees.iter().sum();
        let (diagonal, v) = match laplacian {
            Laplacian::Plain => (degrees, total),
            Laplacian::Normalized => {
                let joined = degrees.iter().map(|&d| f64::from(d > 0.0));
                (joined.collect(), graph.len() as f64)
            }
        };
        Self { graph, laplacian, diagonal, factor: if total > 0.0 { gamma / v } else { 0.0 } }
    }

    /// Q B = (diag(counts) + l E) B for B (n, width), in parallel by rows.
    fn apply(&self, counts: &[f64], l: f64, width: usize, b: &[f64]) -> Vec<f64> {
        let (factor, scale) = (l * self.factor, self.graph.scale());
        let mut out = vec![0.0; b.len()];
        let row = |(i, out): (usize, &mut [f64])| {
            let own = counts[i] + factor * self.diagonal[i];
            out.iter_mut().zip(&b[i * width..]).for_each(|(o, v)| *o = own * v);
            for (j, weight) in self.graph.edges_of(i) {
                let weight = match self.laplacian {
                    Laplacian::Plain => factor * weight,
                    Laplacian::Normalized => factor * weight * scale[i] * scale[j],
                };
                out.iter_mut().zip(&b[j * width..]).for_each(|(o, v)| *o -= weight * v);
            }
        };
        out.par_chunks_mut(width.max(1)).enumerate().for_each(carry(row));
        out
    }
}

impl Kernel {
    /// G of all rows of a pool of standard scores: the rows themselves for a linear kernel with
    /// fewer columns than rows, otherwise the Cholesky factor of K.
    pub(crate) fn basis(self, z: MatrixRef<'_>, gamma: f64) -> Result<Basis, NotPositiveDefinite> {
        let (n, d) = (z.rows(), z.cols());
        let scaled = || z.data().iter().map(|&v| f64::from(v) / (d as f64).sqrt()).collect();
        let kernel = match self {
            Kernel::Linear if d < n => return Ok(Basis { g: scaled(), n }),
            Kernel::Linear => {
                let rows: Vec<f64> = scaled();
                times(&rows, n, View::new(&rows, n, d).t(), n)
            }
            Kernel::Rbf => rbf(z, z, gamma),
        };
        Basis::factor(kernel, n)
    }
}

/// G with K = G Gᵀ, (n, m).
pub(crate) struct Basis {
    g: Vec<f64>,
    n: usize,
}

/// What is added to the diagonal of a kernel matrix, in units of its mean, until it has a factor.
const JITTERS: [f64; 3] = [1e-11, 1e-9, 1e-7];

impl Basis {
    /// The Cholesky factor of K, (n, n). Equal rows make K singular and rounding may make it worse,
    /// so a little is added to its diagonal, which acts as that much more of the penalty λ.
    fn factor(mut kernel: Vec<f64>, n: usize) -> Result<Self, NotPositiveDefinite> {
        let mean = (0..n).map(|i| kernel[i * n + i]).sum::<f64>() / n as f64;
        let unit = if mean > 0.0 { mean } else { 1.0 };
        for jitter in JITTERS {
            (0..n).for_each(|i| kernel[i * n + i] += jitter * unit);
            if let Ok(g) = cholesky(&kernel, n) {
                return Ok(Self { g, n });
            }
        }
        Err(NotPositiveDefinite)
    }

    fn len(&self) -> usize {
        self.g.len() / self.n
    }
}

/// A, (n, pairs): the coefficients of one solution for each pair, whose row of the pool `paired`
/// names.
pub(crate) fn smooth(
    basis: &Basis,
    energy: &Energy<'_>,
    paired: &[usize],
    lambda: f64,
) -> Result<Vec<f64>, NotPositiveDefinite> {
    let (n, m, l) = (basis.n, basis.len(), paired.len());
    let penalty = lambda * l as f64;
    let mut counts = vec![0.0; n];
    paired.iter().for_each(|&i| counts[i] += 1.0);
    let g = View::new(&basis.g, n, m);

    let qg = energy.apply(&counts, l as f64, m, &basis.g);
    let mut system = vec![0.0; m * m];
    par_product(g.t(), View::new(&qg, n, m), Accum::Replace, &mut system);
    (0..m).for_each(|i| system[i * m + i] += penalty);
    let factor = cholesky(&system, m)?;
    let mut u = vec![0.0; m * l]; // GᵀSᵀ, then the solution
    for (p, &row) in paired.iter().enumerate() {
        (0..m).for_each(|c| u[c * l + p] = basis.g[row * m + c]);
    }
    solve_cholesky(&factor, m, &mut u, l);

    let mut f = vec![0.0; n * l];
    par_product(g, View::new(&u, m, l), Accum::Replace, &mut f);
    let mut alpha = energy.apply(&counts, l as f64, l, &f);
    alpha.iter_mut().for_each(|v| *v = -*v);
    paired.iter().enumerate().for_each(|(p, &row)| alpha[row * l + p] += 1.0);
    alpha.iter_mut().for_each(|v| *v /= penalty);
    Ok(alpha)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::{Matrix, Seed};
    use rand::RngExt;

    /// The objective for one right-hand side, by plain loops over all pairs of rows.
    struct Objective<'a> {
        kernel: &'a [f64],
        graph: &'a Graph,
        laplacian: Laplacian,
        paired: &'a [usize],
        lambda: f64,
        gamma: f64,
    }

    impl Objective<'_> {
        fn at(&self, alpha: &[f64], target: usize) -> f64 {
            let n = alpha.len();
            let f: Vec<f64> =
                (0..n).map(|i| (0..n).map(|j| self.kernel[i * n + j] * alpha[j]).sum()).collect();
            let misfit = |(p, &row): (usize, &usize)| (f64::from(p == target) - f[row]).powi(2);
            let fit: f64 = self.paired.iter().enumerate().map(misfit).sum();
            let size: f64 = f.iter().zip(alpha).map(|(f, a)| f * a).sum();
            let (mut change, mut total) = (0.0, 0.0);
            for i in 0..n {
                for (j, weight) in self.graph.edges_of(i) {
                    let scale = |i: usize| match self.laplacian {
                        Laplacian::Plain => 1.0,
                        Laplacian::Normalized => self.graph.scale()[i],
                    };
                    change += 0.5 * weight * (scale(i) * f[i] - scale(j) * f[j]).powi(2);
                    total += weight;
                }
            }
            let v = if self.laplacian == Laplacian::Plain { total } else { n as f64 };
            fit / self.paired.len() as f64 + self.lambda * size + self.gamma * change / v
        }
    }

    #[test]
    fn the_gradient_of_the_objective_is_zero_at_the_solution() {
        let mut rng = Seed(1).rng();
        let x = Matrix::from_fn(25, 3, |_, _| rng.random());
        let kernel = rbf(x.view(), x.view(), 2.0);
        let graph = Graph::nearest_neighbors(x.view(), 4, |squared| (-2.0 * squared).exp());
        let paired = [3, 11, 20, 11];
        for laplacian in [Laplacian::Plain, Laplacian::Normalized] {
            let (lambda, gamma) = (0.02, 0.7);
            let energy = Energy::new(&graph, laplacian, gamma);
            let basis = Basis::factor(kernel.clone(), 25).unwrap();
            let a = smooth(&basis, &energy, &paired, lambda).unwrap();
            let objective = Objective {
                kernel: &kernel,
                graph: &graph,
                laplacian,
                paired: &paired,
                lambda,
                gamma,
            };
            for target in 0..4 {
                let mut alpha: Vec<f64> = (0..25).map(|i| a[i * 4 + target]).collect();
                let lowest = objective.at(&alpha, target);
                for i in 0..25 {
                    let mut moved = |by: f64| {
                        alpha[i] += by;
                        let value = objective.at(&alpha, target);
                        alpha[i] -= by;
                        value
                    };
                    let (up, down) = (moved(1e-3), moved(-1e-3));
                    assert!(((up - down) / 2e-3).abs() < 1e-8, "{laplacian:?} {i}");
                    assert!(up > lowest && down > lowest);
                }
            }
        }
    }

    #[test]
    fn equal_rows_have_a_factor_and_share_what_they_are_told() {
        let x = Matrix::from_rows(&[[0.0], [0.0], [3.0], [3.0]]);
        let graph = Graph::nearest_neighbors(x.view(), 1, |_| 1.0);
        let energy = Energy::new(&graph, Laplacian::Plain, 0.5);
        let basis = Kernel::Rbf.basis(x.view(), 1.0).unwrap();
        let a = smooth(&basis, &energy, &[0, 1], 1e-5).unwrap();
        let kernel = rbf(x.view(), x.view(), 1.0);
        let f = times(&kernel, 4, View::new(&a, 4, 2), 2);
        assert!(f[..4].iter().all(|v| (v - 0.5).abs() < 1e-4), "{f:?}");
    }
}
