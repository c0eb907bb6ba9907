//! EM: a mixture of Gaussians whose components reach over both sides.
//!
//! ```text
//! T ~ π,   x | T = t ~ N(μ_t, diag σ²_t),   y | T = t ~ N(ν_t, diag τ²_t),   x ⟂ y | T
//! ŷ(x) = E[y | x] = Σ_t P(T = t | x) ν_t
//! ```
//!
//! Fitted to all that is known, the pairs and the unpaired rows of both sides, by
//! expectation–maximisation from the pairs: k-means on the joined rows of the pairs (each side at
//! unit scale) gives (μ_t, ν_t) that belong together, the pools refine them. `em/model.rs` holds the
//! steps and says why the likelihood cannot fall.
//!
//! In 1,280 columns every posterior is 0 or 1 after the first step, and the start is the result.
//! The mixture therefore lives on the first principal components of each pool, divided by one
//! number so that their mean variance is 1; `eps` is in these units. What is predicted are means of
//! whole rows of y. Columns are taken as they are, as in the clusterings: bring them to comparable
//! units first.
//!
//! Cost: the principal components, O(min(n, d)² max(n, d)) a side, then O((n_X + n_Y) k q) an
//! iteration.
//!
//! Choose it where groups overlap and rows of a group scatter like a Gaussian; it knows how unsure
//! it is. Where groups are separate, bridged clustering says the same with less.
//!
//! Dempster, Laird & Rubin 1977. The published experiment code started the two sides from unrelated
//! k-means runs, so that component t of x had nothing to do with component t of y, and counted
//! paired rows twice; here components are joint from the start and each row counts once.

mod model;
mod rows;

use crate::limits::{COUNT, POSITIVE, check};
use bridged::cluster::{Clusterer, KMeans};
use bridged::settings::{ITERATIONS, TOLERANCE};
use bridged::{Matrix, MatrixRef, Seed, Silent, Stage, Watch};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged_math::linalg::pca_memory;
use model::{EmRun, Gaussians, Limits, Model, normalise, values};
use rows::{Axes, MOST_DIMENSIONS, UnitRows, Units};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The name in the list and in errors.
const NAME: &str = "em";
/// Starts of the k-means run over the pairs.
const RESTARTS: u32 = 10;
/// The most components that `n_components` finds by itself.
const MOST_COMPONENTS: usize = 10;

/// A Gaussian mixture with one latent class behind both sides.
///
/// ```
/// use bridged::{Matrix, Seed, Silent};
/// use bridged::{Method, Problem};
/// use bridged_baselines::Em;
///
/// // Two groups a side, one pair each: unpaired rows settle what the groups are worth.
/// let x = Matrix::from_rows(&[[0.0], [0.2], [0.4], [8.0], [8.2], [8.4]]);
/// let y = Matrix::from_rows(&[[5.0], [5.2], [1.0], [1.4]]);
/// let problem = Problem::new(x.view(), y.view(), &[(0, 0), (5, 2)]);
/// let em = Em { n_components: Some(2), ..Em::default() }.fit(problem, Seed(0), &Silent)?;
/// let predicted = em.predict(Matrix::from_rows(&[[0.3], [8.1]]).view())?;
/// assert!((predicted.row(0)[0] - 5.1).abs() < 1e-3 && (predicted.row(1)[0] - 1.2).abs() < 1e-3);
/// # Ok::<(), bridged::MethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Em {
    /// Components of the mixture, at most one a pair; unless given, that number up to 10 with the
    /// lowest BIC, −2 log-likelihood + parameters · log units.
    pub n_components: Option<usize>,
    /// The most iterations of a run.
    pub max_iter: u32,
    /// A run ends when the mean log-likelihood of a unit gains less.
    pub tol: f64,
    /// The smallest variance, as a share of the mean variance of a side's principal components:
    /// larger values keep components from closing in on single rows.
    pub eps: f64,
    /// Principal components of each side; unless given 8, or as many as the pool has.
    pub pca: Option<usize>,
}

impl Default for Em {
    fn default() -> Self {
        Self { n_components: None, max_iter: 200, tol: 1e-4, eps: 1e-3, pca: None }
    }
}

bridged::limits!(Em {
    n_components: COUNT,
    max_iter: ITERATIONS,
    tol: TOLERANCE,
    eps: POSITIVE,
    pca: COUNT,
});

impl Em {
    /// The paper's grid, 16 settings.
    pub fn grid() -> Vec<Self> {
        let mut grid = Vec::new();
        for n_components in [2, 3] {
            for max_iter in [100, 200] {
                for tol in [1e-3, 1e-4] {
                    for eps in [1e-3, 1e-4] {
                        let n_components = Some(n_components);
                        grid.push(Self { n_components, max_iter, tol, eps, ..Self::default() });
                    }
                }
            }
        }
        grid
    }

    /// Every component starts from pairs of its own.
    fn check_pairs(&self, pairs: usize) -> Result<(), MethodError> {
        match self.n_components {
            Some(need) if need > pairs => {
                let remedy = format!(
                    "each component starts from pairs: lower `n_components` to {pairs}, or leave it out"
                );
                Err(MethodError::TooFewPairs { method: NAME, need, got: pairs, remedy })
            }
            _ => Ok(()),
        }
    }
}

struct Fitted {
    axes: Axes,
    log_weights: Vec<f64>,
    x: Gaussians,
    values: Vec<f64>,     // ν in the units and dimension of y, (k, d')
    posteriors: Vec<f64>, // P(t | all that is known of a row of the pool), (n_X, k)
}

impl Method for Em {
    fn name(&self) -> &'static str {
        NAME
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        let q = self.pca.unwrap_or(MOST_DIMENSIONS) as f64;
        let k = self.n_components.unwrap_or(size.pairs.min(MOST_COMPONENTS)) as f64;
        let (n, m) = (size.x.0 as f64, size.y.0 as f64);
        let axes = pca_memory(size.x.0, size.x.1).max(pca_memory(size.y.0, size.y.1));
        let iterate = 8.0 * (n + m) * (q + 5.0 * k + 4.0) + 24.0 * k * size.y.1 as f64;
        (axes.max(iterate) + 8.0 * (n + m) * q) as u64
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        check(self, NAME)?;
        problem.check()?;
        let pairs = problem.pairs.len();
        self.check_pairs(pairs)?;
        let (axes, axes_y) = (Axes::fit(problem.x, self.pca), Axes::fit(problem.y, self.pca));
        let (data_x, data_y) = (axes.apply(problem.x), axes_y.apply(problem.y));
        let units = Units::of(problem);
        let x = UnitRows { data: &data_x, q: axes.q, unit: &units.of_x };
        let y = UnitRows { data: &data_y, q: axes_y.q, unit: &units.of_y };
        let joined = Matrix::from_fn(pairs, x.q + y.q, |i, c| {
            let (row_x, row_y) = problem.pairs.get(i);
            let value =
                if c < x.q { data_x[row_x * x.q + c] } else { data_y[row_y * y.q + c - x.q] };
            value as f32
        });
        let tried = match self.n_components {
            Some(k) => k..=k,
            None => 1..=pairs.min(MOST_COMPONENTS),
        };
        let stage = Stage::begin(
            watch,
            NAME,
            Some(tried.clone().count() as u64 * u64::from(self.max_iter)),
        )?;
        let mut best: Option<(f64, EmRun)> = None;
        for (done, k) in tried.enumerate() {
            let seed = seed.child(NAME).nth(k);
            let start = self.start(joined.view(), &x, &y, k, seed);
            let limits = Limits { max_iter: self.max_iter, tol: self.tol, floor: self.eps };
            let mut steps = done as u64 * u64::from(self.max_iter);
            let run = start.run(&x, &y, units.count, limits, |_| {
                steps += 1;
                stage.step(steps)
            })?;
            let parameters = (k * (2 * x.q + 2 * y.q + 1) - 1) as f64;
            let count = units.count as f64;
            let bic = parameters * count.ln() - 2.0 * count * run.posterior.log_likelihood;
            if best.as_ref().is_none_or(|(least, _)| bic < *least) {
                best = Some((bic, run));
            }
        }
        let (_, EmRun { model, posterior }) = best.expect("at least one number of components");
        let k = model.log_weights.len();
        let posteriors = units
            .of_x
            .iter()
            .flat_map(|&u| posterior.log[u as usize * k..][..k].iter().map(|l| l.exp()));
        Ok(Box::new(Fitted {
            values: values(problem.y, &units.of_y, &posterior, k),
            posteriors: posteriors.collect(),
            log_weights: model.log_weights,
            x: model.x,
            axes,
        }))
    }
}

impl Em {
    /// Components around the k-means clusters of the joined pairs, all equally likely.
    fn start(
        &self,
        joined: MatrixRef<'_>,
        x: &UnitRows<'_>,
        y: &UnitRows<'_>,
        k: usize,
        seed: Seed,
    ) -> Model {
        let clusters = KMeans { k, restarts: RESTARTS, ..KMeans::default() };
        let centroids = clusters
            .fit(joined, seed, &Silent)
            .expect("1 ≤ k ≤ pairs was checked, projected rows are finite, nobody stops it")
            .centroids;
        let columns = |range: Range<usize>| -> Vec<f64> {
            let rows = centroids.view();
            (0..k).flat_map(|t| rows.row(t)[range.clone()].iter().map(|&v| f64::from(v))).collect()
        };
        Model {
            log_weights: vec![-(k as f64).ln(); k],
            x: Gaussians::around(columns(0..x.q), x, self.eps),
            y: Gaussians::around(columns(x.q..x.q + y.q), y, self.eps),
        }
    }
}

impl Fitted {
    /// Σ_t P(t | row) ν_t for posteriors (rows, k).
    fn answer(&self, posteriors: &[f64]) -> Matrix {
        let (k, cols) = (self.log_weights.len(), self.values.len() / self.log_weights.len());
        let mut out = Matrix::zeros(posteriors.len() / k, cols);
        let mut sum = vec![0.0; cols];
        for (i, posterior) in posteriors.chunks_exact(k).enumerate() {
            sum.fill(0.0);
            for (p, value) in posterior.iter().zip(self.values.chunks_exact(cols)) {
                sum.iter_mut().zip(value).for_each(|(s, v)| *s += p * v);
            }
            out.row_mut(i).iter_mut().zip(&sum).for_each(|(o, s)| *o = *s as f32);
        }
        out
    }
}

impl Predictor for Fitted {
    fn predict(&self, rows: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        MethodError::check_rows(NAME, rows, self.axes.mean.len())?;
        let mut log = self.x.log_densities(&self.axes.apply(rows), self.axes.q);
        for row in log.chunks_exact_mut(self.log_weights.len()) {
            row.iter_mut().zip(&self.log_weights).for_each(|(l, w)| *l += w);
            normalise(row);
        }
        log.iter_mut().for_each(|l| *l = l.exp());
        Ok(self.answer(&log))
    }

    /// A row with a partner is answered for with the partner's y in view.
    fn predict_pool(&self, x: MatrixRef<'_>) -> Result<Matrix, MethodError> {
        let rows = self.posteriors.len() / self.log_weights.len();
        MethodError::check_pool(NAME, x, (rows, self.axes.mean.len()))?;
        Ok(self.answer(&self.posteriors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::metrics::mse;
    use bridged::synth::{Mixture, Pairs, Sample, Sizes};
    use bridged::{Cancelled, Event};
    use std::ops::ControlFlow;

    fn fit(spec: &Em, problem: Problem<'_>) -> Box<dyn Predictor> {
        spec.fit(problem, Seed(0), &Silent).unwrap()
    }

    fn problem(s: &Sample) -> Problem<'_> {
        Problem::new(s.x.view(), s.y.view(), &s.pairs)
    }

    fn error(predicted: &Matrix, truth: &Matrix) -> f64 {
        mse(predicted.view(), truth.view()).unwrap()
    }

    #[test]
    fn one_pair_a_group_is_enough_where_groups_are_separate() {
        let mixture =
            Mixture { classes: 4, dim_x: 200, dim_y: 90, separation: 30.0, ..Default::default() };
        let s =
            mixture.draw(Sizes { x: 200, y: 80, test: 60, pairs: Pairs::Stratified(1) }, Seed(5));
        let mean = Matrix::from_fn(60, 90, |_, j| s.y.view().mean_row()[j] as f32);
        for n_components in [None, Some(4)] {
            let spec = Em { n_components, ..Em::default() };
            let predicted = fit(&spec, problem(&s)).predict(s.test_x.view()).unwrap();
            let (found, best) = (error(&predicted, &s.test_y), s.oracle_mse().unwrap());
            assert!(found < 1.2 * best && found < 0.5 * error(&mean, &s.test_y), "{found} {best}");
        }
        // And backwards.
        let back = fit(&Em::default(), problem(&s).flip()).predict(s.test_y.view()).unwrap();
        assert!(error(&back, &s.test_x) < 1.2);
    }

    #[test]
    fn unpaired_rows_of_both_sides_improve_on_the_pairs() {
        let mixture = Mixture { classes: 3, separation: 5.0, ..Mixture::default() };
        let s =
            mixture.draw(Sizes { x: 300, y: 150, test: 300, pairs: Pairs::Stratified(2) }, Seed(1));
        let spec = Em { n_components: Some(3), ..Em::default() };
        let all = fit(&spec, problem(&s)).predict(s.test_x.view()).unwrap();
        let x = s.x.view().select(s.pairs.iter().map(|p| p.0 as usize));
        let y = s.y.view().select(s.pairs.iter().map(|p| p.1 as usize));
        let own: Vec<(u32, u32)> = (0..6).map(|i| (i, i)).collect();
        let alone = fit(&spec, Problem::new(x.view(), y.view(), &own));
        let alone = alone.predict(s.test_x.view()).unwrap();
        let (all, alone) = (error(&all, &s.test_y), error(&alone, &s.test_y));
        assert!(all < 0.8 * alone, "{all} {alone}");
    }

    #[test]
    fn every_setting_of_the_grid_gives_finite_answers_on_degenerate_pools() {
        assert_eq!(Em::grid().len(), 16);
        let constant = Matrix::from_fn(6, 3, |_, _| 0.1);
        let one = Matrix::from_rows(&[[1.0], [1.0], [3.0], [1.0], [1.0], [1e6]]);
        let wide = Matrix::from_fn(6, 40, |i, j| ((i * j) % 7) as f32 * 1e-8);
        let pairs = [(0, 0), (1, 1), (2, 1), (5, 5)];
        for x in [&constant, &one, &wide] {
            for y in [&constant, &one, &wide] {
                let problem = Problem::new(x.view(), y.view(), &pairs);
                for spec in Em::grid().iter().chain([&Em::default()]) {
                    let fitted = fit(spec, problem);
                    for out in [fitted.predict(x.view()), fitted.predict_pool(x.view())] {
                        let out = out.unwrap();
                        assert!(out.data().iter().all(|v| v.is_finite()), "{spec:?} {out:?}");
                        let inside = |v: f32, j: usize| {
                            let column = || y.view().iter_rows().map(|r| r[j]);
                            let least = column().fold(f32::INFINITY, f32::min);
                            let most = column().fold(f32::NEG_INFINITY, f32::max);
                            (least..=most).contains(&v) || (v - least).abs() < 1e-6 * least.abs()
                        };
                        assert!(
                            out.view()
                                .iter_rows()
                                .all(|r| { r.iter().enumerate().all(|(j, &v)| inside(v, j)) })
                        );
                    }
                }
            }
        }
        let far = fit(&Em::default(), Problem::new(one.view(), one.view(), &pairs));
        let far = far.predict(Matrix::from_rows(&[[f32::MAX], [f32::MIN]]).view()).unwrap();
        assert!(far.data().iter().all(|v| v.is_finite()));
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let s = Mixture { separation: 3.0, ..Mixture::default() }
            .draw(Sizes { x: 1100, y: 200, test: 20, pairs: Pairs::Stratified(2) }, Seed(4));
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit(&Em::default(), problem(&s)).predict(s.test_x.view()).unwrap())
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn a_single_pair_predicts_the_mean_of_the_pool() {
        let (x, y) = (Matrix::from_rows(&[[1.0], [2.0]]), Matrix::from_rows(&[[1.0], [5.0]]));
        let fitted = fit(&Em::default(), Problem::new(x.view(), y.view(), &[(0, 0)]));
        assert_eq!(fitted.predict(x.view()).unwrap().data(), [3.0, 3.0]);
        let single = Problem::new(x.view().slice(0..1), y.view().slice(0..1), &[(0, 0)]);
        assert_eq!(fit(&Em::default(), single).predict(x.view()).unwrap().data(), [1.0, 1.0]);
    }

    #[test]
    fn a_row_is_predicted_the_same_alone_and_a_paired_one_better_in_its_pool() {
        let s = Mixture { separation: 2.0, ..Mixture::default() }
            .draw(Sizes { x: 90, y: 60, test: 30, pairs: Pairs::Stratified(4) }, Seed(8));
        let fitted = fit(&Em { n_components: Some(5), ..Em::default() }, problem(&s));
        let all = fitted.predict(s.test_x.view()).unwrap();
        for i in [0, 17, 29] {
            let alone = fitted.predict(s.test_x.view().slice(i..i + 1)).unwrap();
            assert_eq!(alone.data(), all.row(i));
        }
        let (unseen, pool) =
            (fitted.predict(s.x.view()).unwrap(), fitted.predict_pool(s.x.view()).unwrap());
        let paired: Vec<usize> = s.pairs.iter().map(|p| p.0 as usize).collect();
        for i in (0..90).filter(|i| !paired.contains(i)) {
            for (a, b) in unseen.row(i).iter().zip(pool.row(i)) {
                assert!((a - b).abs() < 1e-5);
            }
        }
        let truth = s.y.view().select(s.pairs.iter().map(|p| p.1 as usize));
        let of = |m: &Matrix| error(&m.view().select(paired.iter().copied()), &truth);
        assert!(of(&pool) < of(&unseen));
        assert!(fitted.predict_pool(s.test_x.view()).is_err());
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_remedy_and_the_watch_can_stop_it() {
        let x = Matrix::from_fn(6, 2, |i, j| (i * i + j) as f32);
        let problem = Problem::new(x.view(), x.view(), &[(0, 0), (3, 3)]);
        let error = |spec: Em, watch: &dyn Watch| match spec.fit(problem, Seed(0), watch) {
            Err(e) => e.to_string(),
            Ok(_) => panic!("{spec:?} was fitted"),
        };
        let default = Em::default;
        assert_eq!(
            error(Em { n_components: Some(3), ..default() }, &Silent),
            "em needs at least 3 pairs, got 2; each component starts from pairs: lower \
             `n_components` to 2, or leave it out"
        );
        assert_eq!(
            error(Em { eps: 0.0, ..default() }, &Silent),
            "em: `eps` must be above 0 and at most 1e9, got 0"
        );
        struct Second;
        impl Watch for Second {
            fn on(&self, event: Event<'_>) -> ControlFlow<()> {
                match event {
                    Event::Step { done: 2, .. } => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            }
        }
        assert_eq!(error(Em { tol: 0.0, ..default() }, &Second), Cancelled.to_string());
    }
}
