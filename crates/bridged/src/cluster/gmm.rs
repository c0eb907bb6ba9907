//! Gaussian mixture: soft clusters with weights, means and covariances of their own.
//!
//! ```text
//! maximise  Σ_i log Σ_j π_j N(x_i; μ_j, Σ_j)
//! ```
//!
//! Expectation–maximisation alternates responsibilities r_ij = P(j | x_i), in the log domain, with
//! the weighted counts, means and covariances; each iteration raises the likelihood. It starts from
//! a short k-means run and ends when the mean log-likelihood of a row gains less than `tol`. An
//! iteration costs O(n k d) for spherical and diagonal covariances, O(n k d²) for full ones.
//!
//! On large data, spherical and diagonal covariances are found in single precision as long as an
//! iteration gains much and no component is narrow and far out (`mixture_f32`); the last steps are in `f64`.
//!
//! To every variance on a diagonal `variance_floor` × the mean variance of the columns is added
//! (scikit-learn adds an absolute `reg_covar`), so that a component on a single row, or more columns
//! than rows, stay finite in any unit of measurement. A component that loses all weight is put back
//! at the row with the lowest likelihood.
//!
//! Choose it where clusters overlap or differ in extent along the axes (diagonal) or along any
//! direction (full; needs many more rows than columns).
//!
//! Dempster, Laird & Rubin 1977; as `sklearn.mixture.GaussianMixture`.

use super::assign::AssignRule;
use super::clustering::{check_shape, relabel_by_first_appearance};
use super::gaussian::{Densities, Gaussian, log_sum_exp};
use super::kmeans::run_memory;
use super::mixture_f32::MixtureF32;
use super::moments::Moments;
use crate::cluster::{ClusterError, Clusterer, Clustering, Init, KMeans};
use crate::settings::{ITERATIONS, Limits, RESTARTS, TOLERANCE};
use bridged_math::cancel::carry;
use bridged_math::chunks::map_blocks_mut;
use bridged_math::distance::nearest;
use bridged_math::linalg::{cholesky, invert_lower, scatter};
use bridged_math::{Matrix, MatrixRef, Seed, Stage, Watch, chunks};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// A Gaussian mixture fitted by expectation–maximisation.
///
/// ```
/// use bridged::cluster::{Clusterer, GaussianMixture};
/// use bridged::{Matrix, Seed, Silent};
///
/// // A narrow cluster beside a wide one: 3 is nearer to the mean of the first, yet out of its reach.
/// let x = Matrix::from_fn(60, 1, |i, _| if i < 30 { i as f32 * 0.01 } else { i as f32 - 28.0 });
/// let mixture = GaussianMixture { k: 2, ..GaussianMixture::default() };
/// let clustering = mixture.fit(x.view(), Seed(0), &Silent)?;
/// assert_eq!(clustering.sizes, [30, 30]);
/// assert_eq!(clustering.assign(Matrix::from_rows(&[[0.15], [3.0]]).view()), [0, 1]);
/// # Ok::<(), bridged::cluster::ClusterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GaussianMixture {
    /// The number of components.
    pub k: usize,
    /// The shape that a component may have.
    pub covariance: Covariance,
    /// Where the k-means run of at most ten iterations begins that gives the first labels; of
    /// given centroids, the nearest one is the first label.
    pub init: Init,
    /// The most iterations of a run.
    pub max_iter: u32,
    /// A run ends when the mean log-likelihood of a row changes by less.
    pub tol: f64,
    /// Runs from different starts, of which that with the highest likelihood is kept.
    pub restarts: u32,
    /// This share of the mean variance of the columns is added to every variance; above 0.
    pub variance_floor: f64,
}

/// The shape of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covariance {
    /// One variance for all columns.
    Spherical,
    /// A variance a column.
    #[default]
    Diagonal,
    /// Any ellipsoid.
    Full,
}

impl Default for GaussianMixture {
    fn default() -> Self {
        Self {
            k: 8,
            covariance: Covariance::Diagonal,
            init: Init::PlusPlus,
            max_iter: 100,
            tol: 1e-3,
            restarts: 1,
            variance_floor: 1e-6,
        }
    }
}

/// Iterations of the k-means run that gives the first labels.
const START_ITERATIONS: u32 = 10;
/// From this many products per pass on, single precision is worth its rounding…
const LARGE: usize = 1 << 22;
/// … until the mean log-likelihood gains less than this, or than what rounding makes of it: the last
/// steps are taken in `f64`.
const LEAST_ROUGH_GAIN: f64 = 1e-6;
/// A component with fewer rows than this has lost all weight.
const LEAST_COUNT: f64 = 1e-6;

crate::limits!(GaussianMixture {
    k: Limits::at_least(1),
    max_iter: ITERATIONS,
    tol: TOLERANCE,
    restarts: RESTARTS,
    variance_floor: Limits::Above(0.0, 1e6),
});

impl Clusterer for GaussianMixture {
    fn memory(&self, rows: usize, cols: usize) -> u64 {
        let (n, d, k) = (rows as f64, cols as f64, self.k.min(rows) as f64);
        let blocks = rows.div_ceil(chunks::block_len(rows).max(1)) as f64;
        let start = run_memory(rows, cols, self.k.min(rows));
        let em = match self.covariance {
            // Covariances and factors of this iteration, of the one before and of the best run, and
            // the responsibilities.
            Covariance::Full => {
                8.0 * (6.0 * k * d * d + 2.0 * n * k + n) + 8.0 * blocks * k * (d + 1.0)
            }
            _ => 8.0 * k * d * (2.0 * blocks + 20.0) + 16.0 * n,
        };
        (start.max(em) + 24.0 * n) as u64
    }

    fn uses_origin(&self) -> bool {
        matches!(self.init, Init::Given(_))
    }

    fn cluster(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        check_shape(&x, self.k)?;
        if x.cols() == 1 && self.covariance == Covariance::Full {
            // On one column the two are the same, and the diagonal is the faster.
            let diagonal = Self { covariance: Covariance::Diagonal, ..self.clone() };
            return diagonal.cluster(x, seed, watch);
        }
        let restarts = self.init.useful_restarts(self.restarts);
        let stage = Stage::begin(watch, "gmm", Some(u64::from(restarts * self.max_iter)))?;
        let data = Data::new(x, self);
        let mut best: Option<EmRun> = None;
        for r in 0..restarts {
            let labels = self.start(x, seed.nth(r as usize), watch)?;
            let mut done = u64::from(r * self.max_iter);
            let run = self.run(&data, &labels, || {
                done += 1;
                stage.step(done)
            })?;
            if best.as_ref().is_none_or(|b| run.log_likelihood > b.log_likelihood) {
                best = Some(run);
            }
        }
        Ok(finish(x, best.expect("at least one restart is made")))
    }
}

/// The data with what every iteration needs to know of it.
struct Data<'a> {
    x: MatrixRef<'a>,
    shift: Vec<f64>,   // the mean row
    overall: Vec<f64>, // (d), the variance of each column
    floor: f64,        // added to every variance
    width: usize,      // of the sums: d, or 2 d with squares
}

impl<'a> Data<'a> {
    fn new(x: MatrixRef<'a>, mixture: &GaussianMixture) -> Self {
        let d = x.cols();
        // A shift without more digits than the data: centred rows are as exact in single precision.
        let shift: Vec<f64> = x.mean_row().into_iter().map(|m| f64::from(m as f32)).collect();
        let all = Moments::of_labels(x, &vec![0; x.rows()], 1, &shift, 2 * d);
        let mean = |c: usize| all.sums[c] / x.rows() as f64;
        let overall: Vec<f64> = (0..d).map(|c| (mean(d + c) - mean(c).powi(2)).max(0.0)).collect();
        let mean = overall.iter().sum::<f64>() / d as f64;
        // Constant data has no unit of its own.
        let floor = mixture.variance_floor * if mean > 0.0 { mean } else { 1.0 };
        let width = if mixture.covariance == Covariance::Full { d } else { 2 * d };
        Self { x, shift, overall, floor, width }
    }
}

/// π, μ and the inverse Cholesky factors of Σ, as in [`Gaussian`] but in `f64`.
struct Parameters {
    log_weights: Vec<f64>,
    means: Vec<f64>,
    precisions: Vec<f64>,
}

struct EmRun {
    parameters: Parameters,
    log_likelihood: f64,
    iterations: u32,
    converged: bool,
}

impl GaussianMixture {
    /// The first labels; every component has a row.
    fn start(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Vec<u32>, ClusterError> {
        if let Init::Given(_) = self.init {
            let given = self.init.centroids(&x, self.k, seed)?;
            let labels = nearest(x, given.view());
            let mut sizes = vec![0u32; self.k];
            labels.iter().for_each(|&l| sizes[l as usize] += 1);
            if !sizes.contains(&0) {
                return Ok(labels);
            }
            // k-means gives a row to every centroid that is nowhere the nearest.
        }
        let max_iter = match self.init {
            Init::Given(_) => 1,
            _ => START_ITERATIONS,
        };
        let start = KMeans {
            k: self.k,
            init: self.init.clone(),
            max_iter,
            restarts: 1,
            ..KMeans::default()
        };
        Ok(start.cluster(x, seed, watch)?.labels)
    }

    fn run(
        &self,
        data: &Data<'_>,
        labels: &[u32],
        mut tick: impl FnMut() -> Result<(), bridged_math::Cancelled>,
    ) -> Result<EmRun, ClusterError> {
        let k = self.k;
        // Full covariances need the responsibilities once more, after the means.
        let mut kept = match self.covariance {
            Covariance::Full => vec![0.0; data.x.rows() * k],
            _ => Vec::new(),
        };
        if self.covariance == Covariance::Full {
            labels.iter().enumerate().for_each(|(i, &j)| kept[i * k + j as usize] = 1.0);
        }
        let moments = Moments::of_labels(data.x, labels, k, &data.shift, data.width);
        let mut parameters = self.maximise(data, &moments, &kept);
        let (mut before, mut iterations, mut converged) = (f64::NEG_INFINITY, 0, false);
        let mut rough = data.x.data().len() * k >= LARGE;
        // A log density is about as large as there are columns, and rounded by itself.
        let rounding = 8.0 * f64::from(f32::EPSILON) * data.x.cols() as f64;
        let least_gain = LEAST_ROUGH_GAIN.max(rounding / (data.x.rows() as f64).sqrt());
        while iterations < self.max_iter && !converged {
            let densities = parameters.densities(data);
            let keep = (!kept.is_empty()).then_some(&mut kept[..]);
            let mixture = if rough { MixtureF32::new(&densities) } else { None };
            let mixture = mixture.filter(|s| s.has_good_moments(&data.overall));
            let moments = match &mixture {
                Some(mixture) => mixture.moments(data.x),
                None => Moments::of_densities(data.x, &densities, k, data.width, keep),
            };
            parameters = self.maximise(data, &moments, &kept);
            self.reseed_empty(data, &moments.counts, &densities, &mut parameters);
            let log_likelihood = moments.log_likelihood / data.x.rows() as f64;
            iterations += 1;
            let gain = (log_likelihood - before).abs();
            converged = gain < self.tol && (mixture.is_none() || self.tol >= least_gain);
            rough &= gain >= least_gain;
            before = log_likelihood;
            tick()?;
        }
        Ok(EmRun { parameters, log_likelihood: before, iterations, converged })
    }

    /// The parameters of highest likelihood for given responsibilities.
    fn maximise(&self, data: &Data<'_>, moments: &Moments, kept: &[f64]) -> Parameters {
        let (k, d) = (self.k, data.x.cols());
        let total: f64 = moments.counts.iter().sum();
        let counts: Vec<f64> = moments.counts.iter().map(|c| c.max(LEAST_COUNT)).collect();
        let log_weights = counts.iter().map(|c| (c / total).ln()).collect();
        let centred = |j: usize, c: usize| moments.sums[j * data.width + c] / counts[j];
        let means: Vec<f64> =
            (0..k * d).map(|at| centred(at / d, at % d) + data.shift[at % d]).collect();
        let variance = |j: usize, c: usize| {
            let second = moments.sums[j * data.width + d + c] / counts[j];
            (second - centred(j, c).powi(2)).max(0.0) + data.floor
        };
        let precisions = match self.covariance {
            Covariance::Diagonal => {
                (0..k * d).map(|at| variance(at / d, at % d).sqrt().recip()).collect()
            }
            Covariance::Spherical => (0..k)
                .map(|j| (0..d).map(|c| variance(j, c)).sum::<f64>() / d as f64)
                .map(|v| v.sqrt().recip())
                .collect(),
            Covariance::Full => {
                let covariances: Vec<Vec<f64>> = (0..k)
                    .map(|j| {
                        let weights: Vec<f64> = kept.iter().skip(j).step_by(k).copied().collect();
                        let mut sum = scatter(data.x, &means[j * d..(j + 1) * d], Some(&weights));
                        sum.iter_mut().for_each(|v| *v /= counts[j]);
                        sum
                    })
                    .collect();
                let factors: Vec<Vec<f64>> = covariances
                    .into_par_iter()
                    .map(carry(|covariance| inverse_factor(covariance, d, data.floor)))
                    .collect();
                factors.concat()
            }
        };
        Parameters { log_weights, means, precisions }
    }

    /// Puts components that lost all weight at the rows of lowest likelihood, with the variances of
    /// the whole data and the weight of a row.
    fn reseed_empty(
        &self,
        data: &Data<'_>,
        counts: &[f64],
        densities: &Densities,
        parameters: &mut Parameters,
    ) {
        let empty: Vec<usize> = (0..self.k).filter(|&j| counts[j] < LEAST_COUNT).collect();
        if empty.is_empty() {
            return;
        }
        let (n, d) = (data.x.rows(), data.x.cols());
        let mut log = vec![(0.0, 0usize); n];
        map_blocks_mut(&mut log, 1, |rows, out| {
            let start = rows.start;
            densities.for_each_tile(data.x.slice(rows), |first, tile| {
                for (i, joint) in tile.log_joint.chunks_exact(self.k).enumerate() {
                    out[first + i] = (log_sum_exp(joint), start + first + i);
                }
            });
        });
        log.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let each = parameters.precisions.len() / self.k;
        for (&j, &(_, row)) in empty.iter().zip(&log) {
            parameters.log_weights[j] = -(n as f64).ln();
            for (m, &v) in parameters.means[j * d..(j + 1) * d].iter_mut().zip(data.x.row(row)) {
                *m = f64::from(v);
            }
            let wide: Vec<f64> =
                data.overall.iter().map(|v| (v + data.floor).sqrt().recip()).collect();
            let precisions = &mut parameters.precisions[j * each..(j + 1) * each];
            match self.covariance {
                Covariance::Diagonal => precisions.copy_from_slice(&wide),
                Covariance::Spherical => {
                    let mean = data.overall.iter().sum::<f64>() / d as f64 + data.floor;
                    precisions[0] = mean.sqrt().recip();
                }
                Covariance::Full => {
                    precisions.fill(0.0);
                    (0..d).for_each(|c| precisions[c * d + c] = wide[c]);
                }
            }
        }
        let total = log_sum_exp(&parameters.log_weights);
        parameters.log_weights.iter_mut().for_each(|w| *w -= total);
    }
}

/// L⁻¹ of a covariance with `floor` added to its diagonal.
fn inverse_factor(mut covariance: Vec<f64>, d: usize, floor: f64) -> Vec<f64> {
    let mut added = floor;
    (0..d).for_each(|c| covariance[c * d + c] += added);
    loop {
        match cholesky(&covariance, d) {
            Ok(l) => return invert_lower(&l, d),
            // Rounding can outweigh a floor that is tiny beside the largest variance. Ten times as
            // much ends this: once it exceeds the trace, the matrix is diagonally dominant.
            Err(_) => {
                (0..d).for_each(|c| covariance[c * d + c] += 9.0 * added);
                added *= 10.0;
            }
        }
    }
}

impl Parameters {
    fn densities(&self, data: &Data<'_>) -> Densities {
        Densities::new(&self.log_weights, &self.means, &self.precisions, &data.shift)
    }

    /// In single precision, as the model keeps it.
    fn into_gaussian(self, d: usize) -> Gaussian {
        let k = self.log_weights.len();
        let single = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        let cols = if self.precisions.len() == k { 1 } else { d };
        let rows = self.precisions.len() / cols;
        let shaped = |rows, cols, v| Matrix::new(rows, cols, v).expect("k rows a parameter");
        Gaussian {
            means: shaped(k, d, single(&self.means)),
            precisions: shaped(rows, cols, single(&self.precisions)),
            log_weights: self.log_weights,
        }
    }
}

/// The last expectation step: labels are what the kept mixture says, except that a component which
/// is nowhere the most likely one takes the row that is most likely to be its.
fn finish(x: MatrixRef<'_>, run: EmRun) -> Clustering {
    let mixture = run.parameters.into_gaussian(x.cols());
    let k = mixture.log_weights.len();
    let mut labels = mixture.assign(x);
    let mut sizes = vec![0u32; k];
    labels.iter().for_each(|&l| sizes[l as usize] += 1);
    let empty: Vec<usize> = (0..k).filter(|&j| sizes[j] == 0).collect();
    if !empty.is_empty() {
        let posteriors = mixture.log_posteriors(x, &empty); // (n, empty)
        for (e, &j) in empty.iter().enumerate() {
            let row = (0..x.rows())
                .filter(|&i| sizes[labels[i] as usize] > 1)
                .reduce(|a, b| {
                    let at = |i: usize| posteriors[i * empty.len() + e];
                    if at(b) > at(a) { b } else { a }
                })
                .expect("k ≤ n: while a cluster is empty another has two rows");
            sizes[labels[row] as usize] -= 1;
            labels[row] = j as u32;
            sizes[j] = 1;
        }
    }
    let order = relabel_by_first_appearance(&mut labels, k);
    let rule = AssignRule::Mixture(mixture.reordered(&order));
    let mut clustering = Clustering::from_labels(x, labels, k, rule);
    clustering.iterations = run.iterations;
    clustering.converged = run.converged;
    clustering
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::testing::{self, on_threads};
    use bridged_math::Silent;
    use rand::RngExt;

    const SHAPES: [Covariance; 3] = [Covariance::Spherical, Covariance::Diagonal, Covariance::Full];

    fn fit(x: &Matrix, k: usize, covariance: Covariance) -> Clustering {
        let mixture = GaussianMixture { k, covariance, ..GaussianMixture::default() };
        mixture.fit(x.view(), Seed(1), &Silent).unwrap()
    }

    #[test]
    fn separate_blobs_are_found_by_every_shape() {
        let (x, truth) = testing::blobs(600, 5, 4, 0.5);
        for covariance in SHAPES {
            let c = fit(&x, 4, covariance);
            assert!(testing::same_partition(&c.labels, &truth), "{covariance:?}");
            assert!(c.converged);
            assert_eq!(c.assign(x.view()), c.labels);
        }
    }

    #[test]
    fn edge_cases_give_every_cluster_a_row_and_finite_numbers() {
        for covariance in SHAPES {
            for (x, k) in testing::edge_cases() {
                let c = fit(&x, k, covariance);
                testing::check_clustering(&x, k, &c);
                let AssignRule::Mixture(mixture) = &c.rule else { panic!("a mixture") };
                assert!(mixture.log_likelihood(x.view()).is_finite());
                assert!(mixture.precisions.data().iter().all(|v| v.is_finite()));
            }
        }
    }

    #[test]
    fn more_columns_than_rows_stay_finite() {
        let (x, truth) = testing::blobs(100, 1280, 4, 1.0);
        for covariance in [Covariance::Spherical, Covariance::Diagonal] {
            let c = fit(&x, 4, covariance);
            assert!(testing::same_partition(&c.labels, &truth), "{covariance:?}");
        }
        let (x, _) = testing::blobs(60, 150, 3, 1.0);
        let c = fit(&x, 3, Covariance::Full);
        testing::check_clustering(&x, 3, &c);
        assert_eq!(c.assign(x.view()), c.labels);
    }

    #[test]
    fn the_likelihood_never_falls() {
        let (x, _) = testing::blobs(500, 3, 4, 4.0);
        for covariance in SHAPES {
            let mut before = f64::NEG_INFINITY;
            for max_iter in 1..15 {
                let mixture =
                    GaussianMixture { k: 4, covariance, max_iter, tol: 0.0, ..Default::default() };
                let c = mixture.fit(x.view(), Seed(3), &Silent).unwrap();
                let AssignRule::Mixture(mixture) = &c.rule else { panic!("a mixture") };
                let now = mixture.log_likelihood(x.view());
                assert!(now > before - 1e-6, "{covariance:?} {max_iter}: {now} < {before}");
                before = now;
            }
        }
    }

    #[test]
    fn a_component_that_lost_all_weight_is_put_at_the_least_likely_row() {
        let mut x = testing::blobs(200, 2, 1, 1.0).0;
        x.row_mut(77).copy_from_slice(&[500.0, 500.0]);
        let mixture = GaussianMixture { k: 2, ..GaussianMixture::default() };
        let data = Data::new(x.view(), &mixture);
        let mut parameters = Parameters {
            log_weights: vec![0.0, -700.0],
            means: vec![0.0, 0.0, 1e9, 1e9],
            precisions: vec![1.0, 1.0, 1.0, 1.0],
        };
        let densities = parameters.densities(&data);
        mixture.reseed_empty(&data, &[200.0, 0.0], &densities, &mut parameters);
        assert_eq!(parameters.means[2..], [500.0, 500.0]);
        assert!((log_sum_exp(&parameters.log_weights)).abs() < 1e-12);
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let (x, _) = testing::blobs(3000, 6, 5, 3.0);
        for covariance in SHAPES {
            assert_eq!(
                on_threads(1, || fit(&x, 5, covariance)),
                on_threads(4, || fit(&x, 5, covariance))
            );
        }
    }

    #[test]
    fn large_data_in_single_precision_agree_with_double_and_do_not_mind_an_offset() {
        let (n, d, k) = (21_000, 20, 10);
        let mut rng = Seed(8).rng();
        let mut normal = || (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
        let centres = Matrix::from_fn(k, d, |_, _| normal());
        let near = Matrix::from_fn(n, d, |i, c| centres.row(i % k)[c] + normal());
        let far = Matrix::from_fn(n, d, |i, c| near.row(i)[c] + 1e4);
        // The first iterations are rough, the last ones are not: a tolerance tells them apart.
        let fit = |x: &Matrix, tol: f64, max_iter: u32| {
            let init = Init::Given(x.view().select(0..k));
            let mixture = GaussianMixture { k, init, tol, max_iter, ..Default::default() };
            mixture.fit(x.view(), Seed(0), &Silent).unwrap()
        };
        let rough = on_threads(1, || fit(&near, 1e-3, 100));
        assert_eq!(rough, on_threads(3, || fit(&near, 1e-3, 100)));
        assert!(rough.converged);
        let fine = fit(&near, 1e-9, 400);
        let offset = fit(&far, 1e-3, 100);
        let differ = |c: &Clustering| {
            c.labels.iter().zip(&fine.labels).filter(|(a, b)| a != b).count() as f64 / n as f64
        };
        assert!(differ(&rough) < 0.01, "{}", differ(&rough));
        assert!(differ(&offset) < 0.01, "{}", differ(&offset));
        for (a, b) in offset.centroids.data().iter().zip(rough.centroids.data()) {
            assert!((a - 1e4 - b).abs() < 0.02, "{a} {b}");
        }
    }

    #[test]
    fn a_bad_floor_is_refused_and_the_watch_can_stop_it() {
        let (x, _) = testing::blobs(50, 2, 2, 1.0);
        let mixture = GaussianMixture { k: 2, variance_floor: 0.0, ..Default::default() };
        let error = mixture.fit(x.view(), Seed(0), &Silent).unwrap_err();
        let need = "`variance_floor` must be above 0 and at most 1e6, got 0";
        assert_eq!(error.to_string(), need);
        testing::check_cancellation(&GaussianMixture { k: 2, ..Default::default() }, "gmm");
    }
}
