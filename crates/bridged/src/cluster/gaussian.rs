//! The densities of a Gaussian mixture, evaluated for many rows by matrix products.
//!
//! With the inverse Cholesky factor P of a covariance, Σ = L Lᵀ and P = L⁻¹,
//!
//! ```text
//! log π + log N(x; μ, Σ) = log π − d/2 log 2π + log det P − ½ ‖P (x − μ)‖²
//! ```
//!
//! For diagonal P the norm is a linear form of x̃ = x − m and its squares, m a common shift, so k
//! components cost one product [x̃, x̃²]·Cᵀ, O(n k d); a full P costs a product each, O(n k d²). All
//! in `f64`: the form is a difference of large numbers where a component is narrow and far away.

use super::mixture_f32::MixtureF32;
use bridged_math::chunks::{map_blocks, map_blocks_mut};
use bridged_math::linalg::{Accum, View, product};
use bridged_math::{Matrix, MatrixRef};

/// A Gaussian mixture: log π_j + log N(x; μ_j, Σ_j) for each component j.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    /// log π, (k).
    pub log_weights: Vec<f64>,
    /// μ, (k, d).
    pub means: Matrix,
    /// Inverse Cholesky factors: of Σ_j = L Lᵀ, the matrix L⁻¹. (k, 1) for spherical, (k, d) for
    /// diagonal, (k · d, d) lower triangular for full.
    pub precisions: Matrix,
}

impl Gaussian {
    /// The component with the highest posterior probability for each row; of equals the first.
    pub fn assign(&self, x: MatrixRef<'_>) -> Vec<u32> {
        let densities = self.densities();
        let mixture = MixtureF32::new(&densities);
        let exactly = |x: MatrixRef<'_>, out: &mut [u32]| {
            densities.for_each_tile(x, |first, tile| {
                for (i, log) in tile.log_joint.chunks_exact(tile.k).enumerate() {
                    out[first + i] = argmax(log) as u32;
                }
            });
        };
        let mut labels = vec![0u32; x.rows()];
        map_blocks_mut(&mut labels, 1, |rows, out| {
            let x = x.slice(rows);
            let Some(mixture) = &mixture else { return exactly(x, out) };
            let open = mixture.assign(x, out);
            let mut decided = vec![0; open.len()];
            exactly(x.select(open.iter().copied()).view(), &mut decided);
            open.into_iter().zip(decided).for_each(|(i, label)| out[i] = label);
        });
        labels
    }

    /// The mean of log p(x) over the rows.
    pub fn log_likelihood(&self, x: MatrixRef<'_>) -> f64 {
        let densities = self.densities();
        let sums = map_blocks(x.rows(), |rows| {
            let mut sum = 0.0;
            densities.for_each_tile(x.slice(rows), |_, tile| {
                sum += tile.log_joint.chunks_exact(tile.k).map(log_sum_exp).sum::<f64>();
            });
            sum
        });
        sums.into_iter().sum::<f64>() / x.rows().max(1) as f64
    }

    /// P(component | row), (n, k).
    pub fn posteriors(&self, x: MatrixRef<'_>) -> Matrix {
        let k = self.log_weights.len();
        let all: Vec<usize> = (0..k).collect();
        let values = self.log_posteriors(x, &all).into_iter().map(|log| log.exp() as f32).collect();
        Matrix::new(x.rows(), k, values).expect("one row for each")
    }

    /// log P(component `j` | row) for every row and each component of `which`, (n, which).
    pub(crate) fn log_posteriors(&self, x: MatrixRef<'_>, which: &[usize]) -> Vec<f64> {
        let densities = self.densities();
        let mut out = vec![0.0; x.rows() * which.len()];
        map_blocks_mut(&mut out, which.len(), |rows, out| {
            densities.for_each_tile(x.slice(rows), |first, tile| {
                let out = out[first * which.len()..].chunks_exact_mut(which.len());
                for (log, out) in tile.log_joint.chunks_exact(tile.k).zip(out) {
                    let total = log_sum_exp(log);
                    out.iter_mut().zip(which).for_each(|(o, &j)| *o = log[j] - total);
                }
            });
        });
        out
    }

    /// The entries of L⁻¹ (x − μ) for a row and one component: how far it deviates, in units of that
    /// component.
    pub(crate) fn for_each_deviation(&self, row: &[f32], label: u32, mut f: impl FnMut(f64)) {
        let (k, d, j) = (self.means.rows(), self.means.cols(), label as usize);
        let away = |c: usize| f64::from(row[c]) - f64::from(self.means.row(j)[c]);
        if self.precisions.rows() == k {
            let factors = self.precisions.row(j); // one for all columns, or one each
            (0..d).for_each(|c| f(f64::from(factors[c % factors.len()]) * away(c)));
            return;
        }
        let away: Vec<f64> = (0..d).map(away).collect();
        for c in 0..d {
            let factor = &self.precisions.row(j * d + c)[..=c]; // lower triangular
            f(factor.iter().zip(&away).map(|(p, a)| f64::from(*p) * a).sum());
        }
    }

    /// The components in another order.
    pub(super) fn reordered(&self, order: &[usize]) -> Self {
        let each = self.precisions.rows() / order.len();
        let rows = order.iter().flat_map(|&j| j * each..(j + 1) * each);
        Self {
            log_weights: order.iter().map(|&j| self.log_weights[j]).collect(),
            means: self.means.view().select(order.iter().copied()),
            precisions: self.precisions.view().select(rows),
        }
    }

    fn densities(&self) -> Densities {
        let double = |m: &Matrix| m.data().iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let (means, precisions) = (double(&self.means), double(&self.precisions));
        // A shift without more digits than the data: centred rows are as exact in single precision.
        let shift: Vec<f64> =
            self.means.view().mean_row().into_iter().map(|m| f64::from(m as f32)).collect();
        Densities::new(&self.log_weights, &means, &precisions, &shift)
    }
}

/// A mixture made ready for evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Densities {
    d: usize,
    shift: Vec<f64>,
    constants: Vec<f64>, // (k), everything that does not depend on x
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Diagonal { coefficients: Vec<f64> }, // (k, 2d), of [x̃, x̃²]
    Full { factors: Vec<f64>, offsets: Vec<f64> }, // (k, d, d) P, (k, d) P (μ − m)
}

/// Some rows with what was computed of them.
pub(crate) struct Tile<'t> {
    pub k: usize,
    /// log π_j + log N(x; μ_j, Σ_j), (rows, k).
    pub log_joint: &'t mut [f64],
    /// [x̃, x̃²] of each row for a diagonal form, x̃ for a full one.
    pub features: View<'t>,
}

impl Densities {
    /// For means (k, d) and precisions (k, 1), (k, d) or (k, d, d); see [`Gaussian`].
    pub fn new(log_weights: &[f64], means: &[f64], precisions: &[f64], shift: &[f64]) -> Self {
        let (k, d) = (log_weights.len(), shift.len());
        let normal = -0.5 * d as f64 * std::f64::consts::TAU.ln();
        let mut constants: Vec<f64> = log_weights.iter().map(|w| w + normal).collect();
        let centred: Vec<f64> = means.iter().enumerate().map(|(at, m)| m - shift[at % d]).collect(); // μ − m
        let form = if precisions.len() == k * d * d && d > 1 {
            let mut offsets = vec![0.0; k * d];
            for j in 0..k {
                let factor = &precisions[j * d * d..(j + 1) * d * d];
                let offset = &mut offsets[j * d..(j + 1) * d];
                let centre = View::new(&centred[j * d..(j + 1) * d], d, 1);
                product(View::new(factor, d, d), centre, Accum::Replace, offset);
                constants[j] += (0..d).map(|c| factor[c * d + c].ln()).sum::<f64>();
            }
            Form::Full { factors: precisions.to_vec(), offsets }
        } else {
            let each = precisions.len() / k; // 1 for spherical, d for diagonal
            let mut coefficients = vec![0.0; k * 2 * d];
            for j in 0..k {
                for c in 0..d {
                    let p = precisions[j * each + c % each];
                    let mean = centred[j * d + c];
                    coefficients[j * 2 * d + c] = mean * p * p;
                    coefficients[j * 2 * d + d + c] = -0.5 * p * p;
                    constants[j] += p.ln() - 0.5 * mean * mean * p * p;
                }
            }
            Form::Diagonal { coefficients }
        };
        Self { d, shift: shift.to_vec(), constants, form }
    }

    /// Calls `f(first row, tile)` for the rows of `x`, some at a time, on the calling thread.
    pub fn for_each_tile(&self, x: MatrixRef<'_>, mut f: impl FnMut(usize, Tile<'_>)) {
        let (k, d) = (self.constants.len(), self.d);
        let width = self.feature_width();
        let len = self.tile_rows();
        let mut features = Vec::with_capacity(len * width);
        let mut log_joint = vec![0.0; len * k];
        let mut whitened = Vec::new();
        for first in (0..x.rows()).step_by(len) {
            let rows = x.slice(first..(first + len).min(x.rows()));
            let (m, log_joint) = (rows.rows(), &mut log_joint[..rows.rows() * k]);
            fill_features(rows, &self.shift, width, &mut features);
            let features = View::new(&features, m, width);
            match &self.form {
                Form::Diagonal { coefficients } => {
                    let coefficients = View::new(coefficients, k, width).t();
                    product(features, coefficients, Accum::Replace, log_joint);
                }
                Form::Full { factors, offsets } => {
                    whitened.resize(m * d, 0.0);
                    for j in 0..k {
                        let factor = View::new(&factors[j * d * d..(j + 1) * d * d], d, d);
                        product(features, factor.t(), Accum::Replace, &mut whitened);
                        let offset = &offsets[j * d..(j + 1) * d];
                        for (i, row) in whitened.chunks_exact(d).enumerate() {
                            let squares = row.iter().zip(offset).map(|(y, o)| (y - o) * (y - o));
                            log_joint[i * k + j] = -0.5 * squares.sum::<f64>();
                        }
                    }
                }
            }
            for row in log_joint.chunks_exact_mut(k) {
                row.iter_mut().zip(&self.constants).for_each(|(l, c)| *l += c);
            }
            f(first, Tile { k, log_joint, features });
        }
    }

    /// Rows of a tile.
    pub fn tile_rows(&self) -> usize {
        tile_len(self.feature_width().max(self.constants.len()))
    }

    /// Coefficients (k, 2d) of [x̃, x̃²], constants (k) and shift (d), unless a covariance is full.
    pub fn diagonal(&self) -> Option<(&[f64], &[f64], &[f64])> {
        match &self.form {
            Form::Diagonal { coefficients } => Some((coefficients, &self.constants, &self.shift)),
            Form::Full { .. } => None,
        }
    }

    fn feature_width(&self) -> usize {
        match self.form {
            Form::Diagonal { .. } => 2 * self.d,
            Form::Full { .. } => self.d,
        }
    }
}

/// Rows of a tile whose features are `width` wide: half a megabyte of them at most.
fn tile_len(width: usize) -> usize {
    (65_536 / width.max(1)).clamp(16, 512)
}

/// Replaces `out` by x̃ for each row, followed by its squares if `width` is twice the columns.
fn fill_features(x: MatrixRef<'_>, shift: &[f64], width: usize, out: &mut Vec<f64>) {
    out.clear();
    for row in x.iter_rows() {
        let at = out.len();
        out.extend(row.iter().zip(shift).map(|(&v, m)| f64::from(v) - m));
        if width > x.cols() {
            out.extend_from_within(at..);
            out[at + x.cols()..].iter_mut().for_each(|v| *v *= *v);
        }
    }
}

/// log Σ exp(v), without overflow.
pub(crate) fn log_sum_exp(v: &[f64]) -> f64 {
    let largest = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + v.iter().map(|x| (x - largest).exp()).sum::<f64>().ln()
}

fn argmax(v: &[f64]) -> usize {
    let mut best = 0;
    for (i, x) in v.iter().enumerate() {
        if *x > v[best] {
            best = i;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::Seed;
    use rand::RngExt;

    /// log N by the formula, for a lower triangular P.
    fn by_formula(x: &[f32], mean: &[f32], p: &[Vec<f64>]) -> f64 {
        let d = x.len();
        let diff: Vec<f64> = (0..d).map(|c| f64::from(x[c]) - f64::from(mean[c])).collect();
        let square = |i: usize| (0..d).map(|c| p[i][c] * diff[c]).sum::<f64>().powi(2);
        -0.5 * (d as f64 * std::f64::consts::TAU.ln() + (0..d).map(square).sum::<f64>())
            + (0..d).map(|i| p[i][i].ln()).sum::<f64>()
    }

    #[test]
    fn every_form_agrees_with_the_formula() {
        let mut rng = Seed(1).rng();
        for (d, k) in [(1, 2), (3, 1), (5, 4), (20, 3)] {
            let x = Matrix::from_fn(700, d, |_, _| 100.0 + 3.0 * rng.random::<f32>());
            let means = Matrix::from_fn(k, d, |_, _| 100.0 + 3.0 * rng.random::<f32>());
            let weights: Vec<f64> = (1..=k).map(|j| (j as f64 / 10.0).ln()).collect();
            for (rows, cols) in [(k, 1), (k, d), (k * d, d)] {
                let precisions = Matrix::from_fn(rows, cols, |i, c| {
                    let v = 0.5 + rng.random::<f32>();
                    if rows == k * d && d > 1 && c > i % d { 0.0 } else { v }
                });
                let entry = |j: usize, i: usize, c: usize| -> f64 {
                    f64::from(match (rows == k, i == c) {
                        (true, false) => 0.0,
                        (true, true) => precisions.row(j)[c.min(cols - 1)],
                        (false, _) => precisions.row(j * d + i)[c],
                    })
                };
                let mixture = Gaussian {
                    log_weights: weights.clone(),
                    means: means.clone(),
                    precisions: precisions.clone(),
                };
                let labels = mixture.assign(x.view());
                let mut total = 0.0;
                for i in 0..700 {
                    let log: Vec<f64> = (0..k)
                        .map(|j| {
                            let p: Vec<Vec<f64>> =
                                (0..d).map(|r| (0..d).map(|c| entry(j, r, c)).collect()).collect();
                            weights[j] + by_formula(x.row(i), means.row(j), &p)
                        })
                        .collect();
                    total += log_sum_exp(&log);
                    assert_eq!(labels[i] as usize, argmax(&log));
                }
                assert!((mixture.log_likelihood(x.view()) - total / 700.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn posteriors_sum_to_one_even_where_every_density_underflows() {
        let mixture = Gaussian {
            log_weights: vec![0.5f64.ln(); 2],
            means: Matrix::from_rows(&[[0.0], [1.0]]),
            precisions: Matrix::from_rows(&[[1.0], [1.0]]),
        };
        let x = Matrix::from_rows(&[[1e6], [-300.0], [0.5]]);
        for row in mixture.log_posteriors(x.view(), &[0, 1]).chunks(2) {
            assert!((row[0].exp() + row[1].exp() - 1.0).abs() < 1e-12);
        }
        assert_eq!(mixture.assign(x.view()), [1, 0, 0]);
    }
}
