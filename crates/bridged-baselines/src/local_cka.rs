//! LocalCKA: how well a row of x and a row of y extend the pairs.
//!
//! ```text
//! s_j(x) = CKA([X̂; x], [Ŷ; y_j]),   X̂, Ŷ: the P pairs; columns divided by their deviation in the pool
//! CKA(A, B) = ‖AᵀHB‖² / (‖AᵀHA‖ ‖BᵀHB‖),   H = I − 11ᵀ/(P + 1)
//! ```
//!
//! CKA does not change when a side is moved, so both are taken around the mean of their pairs. One more
//! row then adds one outer product, and with γ = P/(P + 1)
//!
//! ```text
//! [X̂; x]ᵀ H [Ŷ; y] = X̂ᵀŶ + γ x yᵀ
//! ‖·‖² = Σ_st ⟨x_s, x_t⟩⟨y_s, y_t⟩ + 2γ Σ_s ⟨x, x_s⟩⟨y, y_s⟩ + γ² |x|² |y|²
//! ```
//!
//! so that all candidates of many rows cost one matrix product of inner size P. **Choose it** with good
//! embeddings and some dozens of pairs. Cost: O((n + m) d P + P² d), and O(P m) a row.
//!
//! Maniparambil et al. (2024), *Do Vision and Language Encoders Represent the World Similarly?*, whose
//! code computes one CKA for each candidate; the closed form of `dominik-schnaus/unpaired-rosetta` gives
//! the same numbers from kernels that are not centred. Columns that hardly vary in the pool are held
//! within what a row of the pool can have, as everywhere here.

use crate::prepare::{Paired, Standard};
use crate::retrieval::{Folds, Retrieval, Scores};
use crate::subspace::{centred, times};
use bridged::{MatrixRef, Seed, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::cancel::carry;
use bridged_math::linalg::View;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The name in the list and in errors.
const NAME: &str = "local-cka";

/// How well two rows extend the pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalCka {}

bridged::limits!(LocalCka {});

impl LocalCka {
    /// Not in the paper's appendix: it has nothing to set.
    pub fn grid() -> Vec<Self> {
        vec![Self::default()]
    }
}

/// One side of the pairs.
struct Side {
    standard: Standard,
    mean: Vec<f64>,
    /// Around their mean, (pairs, d).
    rows: Vec<f64>,
    /// ⟨x_s, x_t⟩, (pairs, pairs).
    gram: Vec<f64>,
}

/// Rows of one side as the pairs see them.
struct Seen {
    /// ⟨x, x_s⟩, (n, pairs).
    along: Vec<f64>,
    /// |x|².
    squared: Vec<f64>,
    /// One over ‖[X̂; x]ᵀ H [X̂; x]‖; 0 where that is 0.
    inverse: Vec<f64>,
}

impl Side {
    fn of(standard: Standard, paired: MatrixRef<'_>) -> Self {
        let scores = standard.apply(paired);
        let mean = scores.view().mean_row();
        let rows = centred(scores.view(), &mean);
        let (pairs, d) = (paired.rows(), paired.cols());
        let gram = times(&rows, pairs, View::new(&rows, pairs, d).t(), pairs);
        Self { standard, mean, rows, gram }
    }

    fn pairs(&self) -> usize {
        self.rows.len() / self.mean.len()
    }

    fn see(&self, rows: MatrixRef<'_>) -> Seen {
        let (pairs, d, n) = (self.pairs(), self.mean.len(), rows.rows());
        let around = centred(self.standard.apply(rows).view(), &self.mean);
        let along = times(&around, n, View::new(&self.rows, pairs, d).t(), pairs);
        let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
        let squared: Vec<f64> = around.chunks_exact(d).map(square).collect();
        let (own, gamma) = (square(&self.gram), gamma(pairs));
        let inverse = along.chunks_exact(pairs).zip(&squared).map(|(along, s)| {
            let norm = own + 2.0 * gamma * square(along) + (gamma * s).powi(2);
            if norm > 0.0 { norm.sqrt().recip() } else { 0.0 }
        });
        Seen { inverse: inverse.collect(), along, squared }
    }
}

/// P/(P + 1).
fn gamma(pairs: usize) -> f64 {
    pairs as f64 / (pairs + 1) as f64
}

struct Fitted {
    x: Side,
    candidates: Seen,
    /// Σ_st ⟨x_s, x_t⟩⟨y_s, y_t⟩.
    base: f64,
}

impl Fitted {
    fn new(x: Standard, y: Standard, problem: Problem<'_>) -> Self {
        let paired = Paired::of(problem);
        let (x, y) = (Side::of(x, paired.x.view()), Side::of(y, paired.y.view()));
        let base = x.gram.iter().zip(&y.gram).map(|(a, b)| a * b).sum();
        Self { candidates: y.see(problem.y), x, base }
    }
}

impl Method for LocalCka {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let (pairs, m) = (size.pairs as f64, size.y.0 as f64);
        let (d, e) = (size.x.1 as f64, size.y.1 as f64);
        let own = 12.0 * m * e + 8.0 * pairs * (m + 2.0 * pairs + 3.0 * (d + e)) + 24.0 * m;
        // Scores that were learned without a fold are made beside those of all pairs.
        (Retrieval::memory(size) + own + 8.0 * pairs * (m + 2.0 * pairs + d)) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        problem.check()?;
        let (x, y) = (Standard::fit(problem.x), Standard::fit(problem.y));
        let learn = |problem: Problem<'_>, _: &dyn Watch| -> Result<Box<dyn Scores>, MethodError> {
            Ok(Box::new(Fitted::new(x.clone(), y.clone(), problem)))
        };
        // One pair around its own mean is nothing: every candidate would extend it perfectly.
        Retrieval::fit(NAME, problem, 2, Folds::Each, (seed, watch), &learn)
    }
}

impl Scores for Fitted {
    fn scores(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let (pairs, m) = (self.x.pairs(), self.candidates.squared.len());
        let (seen, gamma) = (self.x.see(rows), gamma(pairs));
        let candidates = View::new(&self.candidates.along, m, pairs);
        let mut out = times(&seen.along, rows.rows(), candidates.t(), m);
        let row = |(i, out): (usize, &mut [f64])| {
            let (x, inverse) = (seen.squared[i], seen.inverse[i]);
            let y = self.candidates.squared.iter().zip(&self.candidates.inverse);
            for (v, (y, of_y)) in out.iter_mut().zip(y) {
                *v = (self.base + 2.0 * gamma * *v + gamma * gamma * x * y) * inverse * of_y;
            }
        };
        out.par_chunks_mut(m).enumerate().for_each(carry(row));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Matrix;
    use rand::RngExt;

    /// Σ of squares of AᵀHB, term by term.
    fn hsic(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
        let n = a.len();
        let around = |rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let d = rows[0].len();
            let mean: Vec<f64> =
                (0..d).map(|c| rows.iter().map(|r| r[c]).sum::<f64>() / n as f64).collect();
            rows.iter().map(|r| r.iter().zip(&mean).map(|(v, m)| v - m).collect()).collect()
        };
        let (a, b) = (around(a), around(b));
        let mut sum = 0.0;
        for i in 0..a[0].len() {
            for j in 0..b[0].len() {
                sum += (0..n).map(|s| a[s][i] * b[s][j]).sum::<f64>().powi(2);
            }
        }
        sum
    }

    #[test]
    fn the_closed_form_is_the_cka_of_the_pairs_and_one_more() {
        let mut rng = Seed(3).rng();
        let x = Matrix::from_fn(20, 4, |_, j| rng.random::<f32>() * 10f32.powi(j as i32) + 3.0);
        let y = Matrix::from_fn(15, 3, |_, _| rng.random::<f32>() - 7.0);
        let pairs = [(0, 0), (4, 9), (11, 3), (17, 14), (2, 2)];
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let (of_x, of_y) = (Standard::fit(x.view()), Standard::fit(y.view()));
        let scaled = |s: &Standard, m: &Matrix| -> Vec<Vec<f64>> {
            let z = s.apply(m.view());
            (0..z.rows()).map(|i| z.row(i).iter().map(|&v| f64::from(v)).collect()).collect()
        };
        let (zx, zy) = (scaled(&of_x, &x), scaled(&of_y, &y));
        let scores = Fitted::new(of_x, of_y, problem).scores(x.view());
        for i in 0..20 {
            for j in 0..15 {
                let mut a: Vec<_> = pairs.iter().map(|p| zx[p.0 as usize].clone()).collect();
                let mut b: Vec<_> = pairs.iter().map(|p| zy[p.1 as usize].clone()).collect();
                a.push(zx[i].clone());
                b.push(zy[j].clone());
                let exact = hsic(&a, &b) / (hsic(&a, &a) * hsic(&b, &b)).sqrt();
                let found = scores[i * 15 + j];
                assert!((found - exact).abs() < 1e-9, "{i} {j}: {found} {exact}");
            }
        }
    }

    #[test]
    fn equal_rows_have_finite_scores() {
        let (x, y) = (Matrix::zeros(6, 2), Matrix::from_fn(5, 2, |i, _| i as f32));
        let problem = Problem::new(x.view(), y.view(), &[(0, 0), (1, 4)]);
        let fitted = Fitted::new(Standard::fit(x.view()), Standard::fit(y.view()), problem);
        assert!(fitted.scores(x.view()).iter().all(|s| s.is_finite()));
    }
}
