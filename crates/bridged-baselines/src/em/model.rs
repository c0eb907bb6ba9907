//! Expectation–maximisation for one latent class behind two tables of which few rows are linked.
//!
//! ```text
//! T ~ π,   x | T = t ~ N(μ_t, diag σ²_t),   y | T = t ~ N(ν_t, diag τ²_t),   x ⟂ y | T
//! log-likelihood  Σ_u log Σ_t π_t Π_{x ∈ u} N(x; μ_t, σ²_t) Π_{y ∈ u} N(y; ν_t, τ²_t)
//! ```
//!
//! A unit u is what shares one draw of T: a pair, a row of x alone, a row of y alone; where pairs
//! have a row in common, all rows that they join. So every row counts once, however often it is
//! named. Responsibilities are taken in the log domain. A variance never goes below the floor; as
//! the likelihood has one peak in each variance, cutting it off there is still the best step, and
//! the likelihood never falls. A component without rows on a side keeps its place there.
//! O((n_X + n_Y) k q) an iteration.

use super::rows::UnitRows;
use bridged::{Cancelled, MatrixRef};
use bridged_math::chunks::{map_blocks, map_blocks_mut};
use bridged_math::linalg::{Accum, View, par_product};

/// The components of a side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gaussians {
    /// (k, q).
    pub means: Vec<f64>,
    /// (k, q).
    pub variances: Vec<f64>,
}

/// All that expectation–maximisation estimates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    /// log π, (k).
    pub log_weights: Vec<f64>,
    pub x: Gaussians,
    pub y: Gaussians,
}

/// Which component every unit belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Posterior {
    /// log P(t | unit), (units, k).
    pub log: Vec<f64>,
    /// The mean of log p(unit).
    pub log_likelihood: f64,
}

/// When a run ends, and how narrow a component may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub max_iter: u32,
    /// A run ends when the mean log-likelihood gains less.
    pub tol: f64,
    /// The smallest variance.
    pub floor: f64,
}

/// Where a run ended: the posterior is that of the model.
#[derive(Clone, Debug)]
pub(crate) struct EmRun {
    pub model: Model,
    pub posterior: Posterior,
}

/// The smallest share of a row that moves a component.
const LEAST_COUNT: f64 = 1e-9;

impl Gaussians {
    /// Given means; for all components the same variances, those of the rows around the nearest of
    /// the means.
    pub fn around(means: Vec<f64>, rows: &UnitRows<'_>, floor: f64) -> Self {
        let q = rows.q;
        let mut squares = vec![0.0; q];
        for row in rows.data.chunks_exact(q) {
            let distance =
                |m: &&[f64]| row.iter().zip(*m).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            let nearest = means
                .chunks_exact(q)
                .min_by(|a, b| distance(a).total_cmp(&distance(b)))
                .expect("there is a component");
            squares.iter_mut().zip(row).zip(nearest).for_each(|((s, a), b)| *s += (a - b).powi(2));
        }
        let n = rows.unit.len() as f64;
        let shared: Vec<f64> = squares.iter().map(|s| (s / n).max(floor)).collect();
        Self { variances: shared.repeat(means.len() / q), means }
    }

    /// log N(row; μ_t, σ²_t) for rows (n, q), (n, k).
    pub fn log_densities(&self, rows: &[f64], q: usize) -> Vec<f64> {
        let k = self.means.len() / q;
        let constants: Vec<f64> = self
            .variances
            .chunks_exact(q)
            .map(|v| -0.5 * v.iter().map(|v| (std::f64::consts::TAU * v).ln()).sum::<f64>())
            .collect();
        let halves: Vec<f64> = self.variances.iter().map(|v| 0.5 / v).collect();
        let mut out = vec![0.0; rows.len() / q * k];
        map_blocks_mut(&mut out, k, |range, out| {
            let rows = rows[range.start * q..range.end * q].chunks_exact(q);
            for (row, out) in rows.zip(out.chunks_exact_mut(k)) {
                for (t, o) in out.iter_mut().enumerate() {
                    let component = t * q..(t + 1) * q;
                    let terms = self.means[component.clone()].iter().zip(&halves[component]);
                    let square: f64 =
                        row.iter().zip(terms).map(|(v, (m, h))| (v - m) * (v - m) * h).sum();
                    *o = constants[t] - square;
                }
            }
        });
        out
    }

    /// The means and variances of highest likelihood for given responsibilities.
    fn maximise(&mut self, rows: &UnitRows<'_>, responsibilities: &[f64], floor: f64) {
        let (q, k) = (rows.q, self.means.len() / rows.q);
        let weighted = Weighted { unit: rows.unit, responsibilities, k };
        let counts = weighted.sums(1, |_, _, _| 1.0);
        let first = weighted.sums(q, |i, _, c| rows.data[i * q + c]);
        for at in (0..k * q).filter(|at| counts[at / q] > LEAST_COUNT) {
            self.means[at] = first[at] / counts[at / q];
        }
        let means = &self.means;
        let second = weighted.sums(q, |i, t, c| (rows.data[i * q + c] - means[t * q + c]).powi(2));
        for at in (0..k * q).filter(|at| counts[at / q] > LEAST_COUNT) {
            self.variances[at] = (second[at] / counts[at / q]).max(floor);
        }
    }
}

/// UnitRows with the responsibilities of their units, (units, k).
struct Weighted<'a> {
    unit: &'a [u32],
    responsibilities: &'a [f64],
    k: usize,
}

impl Weighted<'_> {
    /// Σ_i r_it term(i, t, c), (k, width), folded over blocks in order.
    fn sums(&self, width: usize, term: impl Fn(usize, usize, usize) -> f64 + Sync) -> Vec<f64> {
        let zeros = || vec![0.0; self.k * width];
        let parts = map_blocks(self.unit.len(), |range| {
            let mut part = zeros();
            for i in range {
                let shares = &self.responsibilities[self.unit[i] as usize * self.k..][..self.k];
                for (t, part) in part.chunks_exact_mut(width).enumerate() {
                    if shares[t] > 0.0 {
                        let sums = part.iter_mut().enumerate();
                        sums.for_each(|(c, p)| *p += shares[t] * term(i, t, c));
                    }
                }
            }
            part
        });
        parts.into_iter().fold(zeros(), |mut total, part| {
            total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
            total
        })
    }
}

impl Model {
    /// Alternates the steps; `tick` hears the log-likelihood before each and may stop it.
    pub fn run(
        mut self,
        x: &UnitRows<'_>,
        y: &UnitRows<'_>,
        units: usize,
        limits: Limits,
        mut tick: impl FnMut(f64) -> Result<(), Cancelled>,
    ) -> Result<EmRun, Cancelled> {
        let mut posterior = self.expect(x, y, units);
        let (mut iterations, mut converged) = (0, false);
        while iterations < limits.max_iter && !converged {
            tick(posterior.log_likelihood)?;
            self.maximise(x, y, &posterior, limits.floor);
            let next = self.expect(x, y, units);
            converged = next.log_likelihood - posterior.log_likelihood < limits.tol;
            posterior = next;
            iterations += 1;
        }
        Ok(EmRun { model: self, posterior })
    }

    /// The responsibilities of all units.
    pub fn expect(&self, x: &UnitRows<'_>, y: &UnitRows<'_>, units: usize) -> Posterior {
        let k = self.log_weights.len();
        let mut log = self.log_weights.repeat(units);
        for (rows, side) in [(x, &self.x), (y, &self.y)] {
            let densities = side.log_densities(rows.data, rows.q);
            for (&unit, row) in rows.unit.iter().zip(densities.chunks_exact(k)) {
                let at = unit as usize * k;
                log[at..at + k].iter_mut().zip(row).for_each(|(l, d)| *l += d);
            }
        }
        let total: f64 = log.chunks_exact_mut(k).map(normalise).sum();
        Posterior { log, log_likelihood: total / units as f64 }
    }

    /// The parameters of highest likelihood for given responsibilities.
    pub fn maximise(
        &mut self,
        x: &UnitRows<'_>,
        y: &UnitRows<'_>,
        posterior: &Posterior,
        floor: f64,
    ) {
        let k = self.log_weights.len();
        let responsibilities: Vec<f64> = posterior.log.iter().map(|l| l.exp()).collect();
        let mut counts = vec![0.0; k];
        for row in responsibilities.chunks_exact(k) {
            counts.iter_mut().zip(row).for_each(|(c, r)| *c += r);
        }
        let units = (responsibilities.len() / k) as f64;
        self.log_weights = counts.iter().map(|c| (c / units).ln()).collect();
        self.x.maximise(x, &responsibilities, floor);
        self.y.maximise(y, &responsibilities, floor);
    }
}

/// The mean of the whole rows of y that each component answers for, (k, d').
///
/// Shares are relative to the largest of a component, so that one with hardly any rows has the mean
/// of those nearest to being its own; one that cannot be is worth the mean of the pool.
pub(crate) fn values(y: MatrixRef<'_>, unit: &[u32], posterior: &Posterior, k: usize) -> Vec<f64> {
    let mut shares = vec![0.0; k * y.rows()]; // (k, n_Y)
    for (t, row) in shares.chunks_exact_mut(y.rows()).enumerate() {
        let log = |j: usize| posterior.log[unit[j] as usize * k + t];
        let largest = (0..y.rows()).map(log).fold(f64::NEG_INFINITY, f64::max);
        let possible = largest.is_finite();
        row.iter_mut().enumerate().for_each(|(j, s)| {
            *s = if possible { (log(j) - largest).exp() } else { 1.0 };
        });
        let total: f64 = row.iter().sum();
        row.iter_mut().for_each(|s| *s /= total);
    }
    let rows: Vec<f64> = y.data().iter().map(|&v| f64::from(v)).collect();
    let mut out = vec![0.0; k * y.cols()];
    let (shares, rows) = (View::new(&shares, k, y.rows()), View::new(&rows, y.rows(), y.cols()));
    par_product(shares, rows, Accum::Replace, &mut out);
    out
}

/// Takes log Σ exp off a row and returns it.
pub(crate) fn normalise(row: &mut [f64]) -> f64 {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = largest + row.iter().map(|v| (v - largest).exp()).sum::<f64>().ln();
    row.iter_mut().for_each(|v| *v -= total);
    total
}

#[cfg(test)]
mod tests {
    use super::super::rows::Units;
    use super::*;
    use bridged::Problem;
    use bridged::{Matrix, Seed};
    use rand::RngExt;
    use serde_json::Value;

    struct Data {
        x: Matrix,
        y: Matrix,
        pairs: Vec<(u32, u32)>,
    }

    fn doubles(m: &Matrix) -> Vec<f64> {
        m.data().iter().map(|&v| f64::from(v)).collect()
    }

    /// Some rows, a start from the first of them, and a run of this many iterations.
    fn run(data: &Data, k: usize, max_iter: u32, floor: f64) -> (EmRun, Vec<f64>) {
        let units = Units::of(Problem::new(data.x.view(), data.y.view(), &data.pairs));
        let (data_x, data_y) = (doubles(&data.x), doubles(&data.y));
        let x = UnitRows { data: &data_x, q: data.x.cols(), unit: &units.of_x };
        let y = UnitRows { data: &data_y, q: data.y.cols(), unit: &units.of_y };
        let model = Model {
            log_weights: vec![-(k as f64).ln(); k],
            x: Gaussians::around(data_x[..k * x.q].to_vec(), &x, floor),
            y: Gaussians::around(data_y[..k * y.q].to_vec(), &y, floor),
        };
        let mut history = Vec::new();
        let limits = Limits { max_iter, tol: f64::NEG_INFINITY, floor };
        let run = model.run(&x, &y, units.count, limits, |log_likelihood| {
            history.push(log_likelihood);
            Ok(())
        });
        let run = run.unwrap();
        history.push(run.posterior.log_likelihood);
        (run, history)
    }

    fn random(rows: usize, cols: usize, seed: u64) -> Matrix {
        let mut rng = Seed(seed).rng();
        Matrix::from_fn(rows, cols, |i, _| (i % 3) as f32 + rng.random::<f32>())
    }

    #[test]
    fn the_likelihood_never_falls() {
        let pairs: Vec<(u32, u32)> = (0..6).map(|i| (i, i)).chain([(0, 7), (9, 1)]).collect();
        for seed in 0..3 {
            let data =
                Data { x: random(600, 3, seed), y: random(90, 2, seed + 50), pairs: pairs.clone() };
            // The last floor is wider than the groups are, and binds in every component.
            for floor in [1e-6, 1e-3, 0.3] {
                for k in [1, 2, 5] {
                    let (_, history) = run(&data, k, 25, floor);
                    for pair in history.windows(2) {
                        assert!(pair[1] >= pair[0] - 1e-9, "{k} {floor}: {} {}", pair[0], pair[1]);
                    }
                    assert!(k == 1 || history[25] > history[0] + 0.01, "{k}: {history:?}");
                }
            }
        }
    }

    #[test]
    fn one_iteration_agrees_with_the_formulas() {
        let data =
            Data { x: random(7, 2, 1), y: random(5, 1, 2), pairs: vec![(0, 0), (1, 1), (5, 3)] };
        let (k, floor) = (2, 1e-3);
        let start = run(&data, k, 0, floor).0.model;
        let after = run(&data, k, 1, floor).0.model;
        let normal = |v: f32, m: f64, s: f64| {
            (-(f64::from(v) - m).powi(2) / (2.0 * s)).exp() / (std::f64::consts::TAU * s).sqrt()
        };
        let density = |side: &Gaussians, rows: &Matrix, i: usize, t: usize| -> f64 {
            let q = rows.cols();
            (0..q)
                .map(|c| normal(rows.row(i)[c], side.means[t * q + c], side.variances[t * q + c]))
                .product()
        };
        // P(t | unit) without logarithms; a row's unit is its pair or itself.
        let posterior = |x: Option<usize>, y: Option<usize>, t: usize| {
            let joint = |t: usize| {
                start.log_weights[t].exp()
                    * x.map_or(1.0, |i| density(&start.x, &data.x, i, t))
                    * y.map_or(1.0, |j| density(&start.y, &data.y, j, t))
            };
            joint(t) / (0..k).map(joint).sum::<f64>()
        };
        let pairs: Vec<(usize, usize)> =
            data.pairs.iter().map(|&(x, y)| (x as usize, y as usize)).collect();
        let of_x =
            |i: usize, t| posterior(Some(i), pairs.iter().find(|p| p.0 == i).map(|p| p.1), t);
        let of_y =
            |j: usize, t| posterior(pairs.iter().find(|p| p.1 == j).map(|p| p.0), Some(j), t);
        for t in 0..k {
            let units: f64 = (0..7).map(|i| of_x(i, t)).sum::<f64>()
                + [2, 4].iter().map(|&j| of_y(j, t)).sum::<f64>();
            assert!((after.log_weights[t].exp() - units / 9.0).abs() < 1e-12);
            let weighted = |n: usize, r: &dyn Fn(usize) -> f64, v: &dyn Fn(usize) -> f64| {
                (0..n).map(|i| r(i) * v(i)).sum::<f64>() / (0..n).map(r).sum::<f64>()
            };
            for c in 0..2 {
                let value = |i: usize| f64::from(data.x.row(i)[c]);
                let mean = weighted(7, &|i| of_x(i, t), &value);
                let square = weighted(7, &|i| of_x(i, t), &|i| (value(i) - mean).powi(2));
                assert!((after.x.means[t * 2 + c] - mean).abs() < 1e-12);
                assert!((after.x.variances[t * 2 + c] - square.max(floor)).abs() < 1e-12);
            }
            let value = |j: usize| f64::from(data.y.row(j)[0]);
            let mean = weighted(5, &|j| of_y(j, t), &value);
            let square = weighted(5, &|j| of_y(j, t), &|j| (value(j) - mean).powi(2));
            assert!((after.y.means[t] - mean).abs() < 1e-12);
            assert!((after.y.variances[t] - square.max(floor)).abs() < 1e-12);
        }
    }

    #[test]
    fn with_a_y_that_says_nothing_it_is_the_mixture_of_scikit_learn() {
        let golden = include_str!("../../../../tests/golden/baselines_em.json");
        let golden: Value = serde_json::from_str(golden).unwrap();
        let matrix = |v: &Value| {
            Matrix::from_rows(&serde_json::from_value::<Vec<Vec<f32>>>(v.clone()).unwrap())
        };
        let flat = |v: &Value| -> Vec<f64> {
            serde_json::from_value::<Vec<Vec<f64>>>(v.clone()).unwrap().concat()
        };
        let (x, y) = (matrix(&golden["x"]), Matrix::zeros(2, 1));
        let units = Units::of(Problem::new(x.view(), y.view(), &[(0, 0), (5, 1)]));
        let (data_x, data_y) = (doubles(&x), doubles(&y));
        let rows_x = UnitRows { data: &data_x, q: x.cols(), unit: &units.of_x };
        let rows_y = UnitRows { data: &data_y, q: 1, unit: &units.of_y };
        let k = 3;
        let start = Model {
            log_weights: vec![-(k as f64).ln(); k],
            x: Gaussians {
                means: flat(&golden["start"]["means"]),
                variances: flat(&golden["start"]["variances"]),
            },
            y: Gaussians { means: vec![0.0; k], variances: vec![1.0; k] },
        };
        let iterations = golden["iterations"].as_u64().unwrap() as u32;
        let limits = Limits { max_iter: iterations, tol: f64::NEG_INFINITY, floor: 1e-12 };
        let run = start.run(&rows_x, &rows_y, units.count, limits, |_| Ok(())).unwrap();
        let close = |found: &[f64], expected: &[f64]| {
            for (a, b) in found.iter().zip(expected) {
                assert!((a - b).abs() < 1e-9, "{a} {b}");
            }
        };
        close(&run.model.x.means, &flat(&golden["means"]));
        close(&run.model.x.variances, &flat(&golden["variances"]));
        let weights: Vec<f64> = run.model.log_weights.iter().map(|w| w.exp()).collect();
        close(&weights, &serde_json::from_value::<Vec<f64>>(golden["weights"].clone()).unwrap());
        // Two units hold a row of y with density N(0; 0, 1e-12), the floor, which scikit-learn has not.
        let constant = -0.5 * (std::f64::consts::TAU * 1e-12).ln() * 2.0 / units.count as f64;
        let expected = golden["log_likelihood"].as_f64().unwrap();
        assert!((run.posterior.log_likelihood - constant - expected).abs() < 1e-9);
    }

    #[test]
    fn a_component_without_rows_keeps_its_place_and_stays_finite() {
        let x = [0.0, 1.0, 2.0];
        let rows = UnitRows { data: &x, q: 1, unit: &[0, 1, 2] };
        let mut side = Gaussians { means: vec![1.0, 1e9], variances: vec![1.0, 2.0] };
        side.maximise(&rows, &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0], 1e-3);
        assert_eq!(side.means, [1.0, 1e9]);
        assert_eq!(side.variances, [2.0 / 3.0, 2.0]);
        let mut impossible = [f64::NEG_INFINITY, -4.0];
        assert_eq!(normalise(&mut impossible), -4.0);
        assert_eq!(impossible, [f64::NEG_INFINITY, 0.0]);
    }
}
