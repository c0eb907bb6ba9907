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
//! Rows that are not in memory are read in passes, one an iteration, for spherical and diagonal covariances: tile by
//! tile, in the blocks that rows in memory have, so that the result has the same bytes.
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
use super::mixture_f32::{MixtureF32, TILE};
use super::moments::{Moments, tiles_at_once};
use super::state::States;
use crate::cluster::{ClusterError, Clusterer, Clustering, Init, KMeans};
use crate::settings::{ITERATIONS, Limits, RESTARTS, TOLERANCE};
use bridged_math::cancel::carry;
use bridged_math::chunks::par_map;
use bridged_math::distance::nearest;
use bridged_math::linalg::{cholesky, invert_lower, scatter};
use bridged_math::rows::{Rows, RowsError, mean_row, scan_tiles, select_in_order};
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

    fn memory_of_passes(&self, rows: usize, cols: usize) -> Option<u64> {
        if self.covariance == Covariance::Full && cols > 1 {
            return None;
        }
        let (n, d, k) = (rows as f64, cols as f64, self.k.min(rows) as f64);
        let start = self.first_clusters(1).memory_of_passes(rows, cols)? as f64;
        let tiles = (tiles_at_once(self.k, 2 * cols) + 4) as f64;
        let em = 8.0 * k * (2.0 * d + 1.0) * tiles + 8.0 * k * d * 20.0 + 4.0 * n;
        Some((start.max(em) + 12.0 * n) as u64)
    }

    fn cluster_rows(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        match rows.in_memory() {
            Some(x) => self.cluster(x, seed, watch),
            None if self.covariance == Covariance::Full && rows.cols() > 1 => {
                Err(ClusterError::needs_memory(self, rows))
            }
            None => self.fit_all(rows, seed, watch),
        }
    }

    fn cluster(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        self.fit_all(&x, seed, watch)
    }
}

/// The name of the stage, and of its state.
const NAME: &str = "gmm";

/// The data with what every iteration needs to know of it.
struct Data<'a> {
    rows: &'a dyn Rows,
    about: About,
}

/// What iterations need to know of all rows.
pub(crate) struct About {
    pub n: usize,
    pub d: usize,
    /// The mean row.
    pub shift: Vec<f64>,
    /// The variance of each column, (d).
    overall: Vec<f64>,
    /// Added to every variance.
    floor: f64,
    /// Of the sums: d, or 2 d with squares.
    pub width: usize,
}

impl About {
    /// Of so many rows, from the variance of each column around `shift`.
    pub fn new(mixture: &GaussianMixture, n: usize, shift: Vec<f64>, overall: Vec<f64>) -> Self {
        let d = shift.len();
        let mean = overall.iter().sum::<f64>() / d as f64;
        // Constant data has no unit of its own.
        let floor = mixture.variance_floor * if mean > 0.0 { mean } else { 1.0 };
        let width = if mixture.covariance == Covariance::Full { d } else { 2 * d };
        Self { n, d, shift, overall, floor, width }
    }

    /// Whether so many products per pass are worth the rounding of single precision.
    pub fn is_large(&self, k: usize) -> bool {
        self.n * self.d * k >= LARGE
    }

    /// A mixture in single precision, where its moments are good enough.
    pub fn rough(&self, densities: &Densities) -> Option<MixtureF32> {
        MixtureF32::new(densities).filter(|mixture| mixture.has_good_moments(&self.overall))
    }
}

impl<'a> Data<'a> {
    fn new(rows: &'a dyn Rows, mixture: &GaussianMixture) -> Result<Self, RowsError> {
        let (n, d) = (rows.rows(), rows.cols());
        // A shift without more digits than the data: centred rows are as exact in single precision.
        let shift: Vec<f64> = mean_row(rows)?.into_iter().map(|m| f64::from(m as f32)).collect();
        let all = match rows.in_memory() {
            Some(x) => Moments::of_labels(x, &vec![0; n], 1, &shift, 2 * d),
            None => Moments::of_labelled_rows(rows, |_| 0, 1, &shift, 2 * d)?,
        };
        let mean = |c: usize| all.sums[c] / n as f64;
        let overall: Vec<f64> = (0..d).map(|c| (mean(d + c) - mean(c).powi(2)).max(0.0)).collect();
        Ok(Self { rows, about: About::new(mixture, n, shift, overall) })
    }

    fn of_labels(&self, labels: &[u32], k: usize) -> Result<Moments, RowsError> {
        match self.rows.in_memory() {
            Some(x) => Ok(Moments::of_labels(x, labels, k, &self.about.shift, self.about.width)),
            None => Moments::of_labelled_rows(
                self.rows,
                |i| labels[i],
                k,
                &self.about.shift,
                self.about.width,
            ),
        }
    }

    fn of_mixture(&self, mixture: &MixtureF32, k: usize) -> Result<Moments, RowsError> {
        match self.rows.in_memory() {
            Some(x) => Ok(mixture.moments(x)),
            None => {
                Moments::by_passes(self.rows, TILE, (k, self.about.width), &|t| mixture.of_tile(t))
            }
        }
    }

    fn of_densities(
        &self,
        densities: &Densities,
        k: usize,
        keep: Option<&mut [f64]>,
    ) -> Result<Moments, RowsError> {
        let width = self.about.width;
        match self.rows.in_memory() {
            Some(x) => Ok(Moments::of_densities(x, densities, k, width, keep)),
            None => Moments::by_passes(self.rows, densities.tile_rows(), (k, width), &|tile| {
                Moments::of_tile(tile, densities, k, width)
            }),
        }
    }

    /// What full covariances need beside moments: the rows, and the responsibilities.
    fn full<'b>(&'b self, kept: &'b [f64]) -> Option<(MatrixRef<'b>, &'b [f64])> {
        Some((self.rows.in_memory()?, kept))
    }

    /// The `most` rows of least likelihood, the least likely first; of equals the first.
    fn least_likely(&self, densities: &Densities, most: usize) -> Result<Vec<usize>, RowsError> {
        let mut least: Vec<(f64, usize)> = Vec::new();
        let tile = densities.tile_rows();
        scan_tiles(self.rows, tile, &mut |first, run, _| {
            // Parts of whole tiles, so that a density does not depend on the part.
            let parts = par_map(run.rows().div_ceil(16 * tile), |p| {
                let at = p * 16 * tile;
                let part = run.slice(at..(at + 16 * tile).min(run.rows()));
                let mut log = Vec::with_capacity(part.rows());
                densities.for_each_tile(part, |_, tile| {
                    log.extend(tile.log_joint.chunks_exact(tile.k).map(log_sum_exp));
                });
                log
            });
            least.extend(parts.concat().into_iter().zip(first..));
            least.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            least.truncate(most);
            Ok(())
        })?;
        Ok(least.into_iter().map(|(_, row)| row).collect())
    }
}

/// π, μ and the inverse Cholesky factors of Σ, as in [`Gaussian`] but in `f64`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Parameters {
    pub log_weights: Vec<f64>,
    pub means: Vec<f64>,
    pub precisions: Vec<f64>,
}

/// A run of expectation–maximisation, under way or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EmRun {
    pub parameters: Parameters,
    pub log_likelihood: f64,
    pub iterations: u32,
    pub converged: bool,
    /// Whether single precision is still good enough.
    pub rough: bool,
}

impl EmRun {
    /// Before the first iteration.
    pub fn new(parameters: Parameters, rough: bool) -> Self {
        let (log_likelihood, iterations, converged) = (f64::NEG_INFINITY, 0, false);
        Self { parameters, log_likelihood, iterations, converged, rough }
    }

    /// Hears the mean log-likelihood of a row at the parameters of an iteration, and how it was found.
    pub fn hear(&mut self, log_likelihood: f64, tol: f64, about: &About, was_rough: bool) {
        // A log density is about as large as there are columns, and rounded by itself.
        let rounding = 8.0 * f64::from(f32::EPSILON) * about.d as f64;
        let least_gain = LEAST_ROUGH_GAIN.max(rounding / (about.n as f64).sqrt());
        let gain = (log_likelihood - self.log_likelihood).abs();
        self.iterations += 1;
        self.converged = gain < tol && (!was_rough || tol >= least_gain);
        self.rough &= gain >= least_gain;
        self.log_likelihood = log_likelihood;
    }
}

/// Where the work is between two iterations.
#[derive(Serialize, Deserialize)]
struct GmmState {
    restart: u32,
    best: Option<EmRun>,
    run: EmRun,
}

impl GaussianMixture {
    fn fit_all(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        check_shape(rows, self.k)?;
        if rows.cols() == 1 && self.covariance == Covariance::Full {
            // On one column the two are the same, and the diagonal is the faster.
            let diagonal = Self { covariance: Covariance::Diagonal, ..self.clone() };
            return diagonal.fit_all(rows, seed, watch);
        }
        let restarts = self.init.useful_restarts(self.restarts);
        let stage = Stage::begin(watch, NAME, Some(u64::from(restarts * self.max_iter)))?;
        let states = States::of(NAME, self, (rows, seed), watch);
        let data = Data::new(rows, self)?;
        let (mut first, mut best, mut going) = (0, None, None);
        if let Some(GmmState { restart, best: kept, run }) = states.resume() {
            (first, best, going) = (restart, kept, Some(run));
        }
        for r in first..restarts {
            // Full covariances need the responsibilities once more, after the means.
            let mut kept = Vec::new();
            let mut run = match going.take() {
                Some(run) => run,
                None => {
                    let labels = self.start(rows, seed.nth(r as usize), watch)?;
                    self.begin(&data, &labels, &mut kept)?
                }
            };
            while run.iterations < self.max_iter && !run.converged {
                self.iterate(&data, &mut run, &mut kept)?;
                if states.are_wanted() {
                    states.save(&GmmState { restart: r, best: best.clone(), run: run.clone() });
                }
                stage.step(u64::from(r * self.max_iter + run.iterations))?;
            }
            if best.as_ref().is_none_or(|b: &EmRun| run.log_likelihood > b.log_likelihood) {
                best = Some(run);
            }
        }
        finish(rows, best.expect("at least one restart is made"))
    }

    /// The k-means run that gives the first labels.
    fn first_clusters(&self, max_iter: u32) -> KMeans {
        KMeans { k: self.k, init: self.init.clone(), max_iter, restarts: 1, ..KMeans::default() }
    }

    /// The first labels; every component has a row.
    fn start(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Vec<u32>, ClusterError> {
        if let Init::Given(_) = self.init {
            let given = self.init.centroids(rows, self.k, seed)?;
            let mut labels = Vec::with_capacity(rows.rows());
            rows.scan(&mut |_, part| {
                labels.extend(nearest(part, given.view()));
                Ok(())
            })?;
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
        Ok(self.first_clusters(max_iter).cluster_rows(rows, seed, watch)?.labels)
    }

    /// The parameters of the first labels.
    fn begin(
        &self,
        data: &Data<'_>,
        labels: &[u32],
        kept: &mut Vec<f64>,
    ) -> Result<EmRun, ClusterError> {
        let k = self.k;
        if self.covariance == Covariance::Full {
            *kept = vec![0.0; data.about.n * k];
            labels.iter().enumerate().for_each(|(i, &j)| kept[i * k + j as usize] = 1.0);
        }
        let parameters = self.maximise(&data.about, &data.of_labels(labels, k)?, data.full(kept));
        Ok(EmRun::new(parameters, data.about.is_large(k)))
    }

    fn iterate(
        &self,
        data: &Data<'_>,
        run: &mut EmRun,
        kept: &mut [f64],
    ) -> Result<(), ClusterError> {
        let k = self.k;
        let densities = run.parameters.densities(&data.about);
        let mixture = if run.rough { data.about.rough(&densities) } else { None };
        let moments = match &mixture {
            Some(mixture) => data.of_mixture(mixture, k)?,
            None => data.of_densities(&densities, k, (!kept.is_empty()).then_some(&mut *kept))?,
        };
        run.parameters = self.maximise(&data.about, &moments, data.full(kept));
        let empty = self.empty(&moments);
        if !empty.is_empty() {
            let least_likely = data.least_likely(&densities, empty.len())?;
            let found = select_in_order(data.rows, &least_likely)?;
            self.reseed(&data.about, &empty, &found, &mut run.parameters);
        }
        let log_likelihood = moments.log_likelihood / data.about.n as f64;
        run.hear(log_likelihood, self.tol, &data.about, mixture.is_some());
        Ok(())
    }

    /// The parameters of highest likelihood for given responsibilities.
    pub(crate) fn maximise(
        &self,
        data: &About,
        moments: &Moments,
        full: Option<(MatrixRef<'_>, &[f64])>,
    ) -> Parameters {
        let (k, d) = (self.k, data.d);
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
                let (x, kept) = full.expect("rows of full covariances are in memory");
                let covariances: Vec<Vec<f64>> = (0..k)
                    .map(|j| {
                        let weights: Vec<f64> = kept.iter().skip(j).step_by(k).copied().collect();
                        let mut sum = scatter(x, &means[j * d..(j + 1) * d], Some(&weights));
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

    /// The components that lost all weight.
    pub(crate) fn empty(&self, moments: &Moments) -> Vec<usize> {
        (0..self.k).filter(|&j| moments.counts[j] < LEAST_COUNT).collect()
    }

    /// Puts components that lost all weight at these rows, those of lowest likelihood, with the variances of
    /// the whole data and the weight of a row.
    pub(crate) fn reseed(
        &self,
        data: &About,
        empty: &[usize],
        found: &Matrix,
        parameters: &mut Parameters,
    ) {
        let (n, d) = (data.n, data.d);
        let each = parameters.precisions.len() / self.k;
        for (&j, row) in empty.iter().zip(found.view().iter_rows()) {
            parameters.log_weights[j] = -(n as f64).ln();
            for (m, &v) in parameters.means[j * d..(j + 1) * d].iter_mut().zip(row) {
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
    pub fn densities(&self, data: &About) -> Densities {
        Densities::new(&self.log_weights, &self.means, &self.precisions, &data.shift)
    }

    /// In single precision, as the model keeps it.
    pub fn into_gaussian(self, d: usize) -> Gaussian {
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
fn finish(rows: &dyn Rows, run: EmRun) -> Result<Clustering, ClusterError> {
    let mixture = run.parameters.into_gaussian(rows.cols());
    let k = mixture.log_weights.len();
    let mut labels = Vec::with_capacity(rows.rows());
    rows.scan(&mut |_, part| {
        labels.extend(mixture.assign(part));
        Ok(())
    })?;
    let mut sizes = vec![0u32; k];
    labels.iter().for_each(|&l| sizes[l as usize] += 1);
    for j in (0..k).filter(|&j| sizes[j] == 0).collect::<Vec<_>>() {
        let mut best: Option<(f64, usize)> = None;
        rows.scan(&mut |first, part| {
            let posteriors = mixture.log_posteriors(part, &[j]);
            for (row, &posterior) in (first..).zip(&posteriors) {
                let is_free = sizes[labels[row] as usize] > 1;
                if is_free && best.is_none_or(|(most, _)| posterior > most) {
                    best = Some((posterior, row));
                }
            }
            Ok(())
        })?;
        let (_, row) = best.expect("k ≤ n: while a cluster is empty another has two rows");
        sizes[labels[row] as usize] -= 1;
        labels[row] = j as u32;
        sizes[j] = 1;
    }
    let order = relabel_by_first_appearance(&mut labels, k);
    let rule = AssignRule::Mixture(mixture.reordered(&order));
    let mut clustering = Clustering::from_labels_of(rows, labels, k, rule)?;
    clustering.iterations = run.iterations;
    clustering.converged = run.converged;
    Ok(clustering)
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
        let view = x.view();
        let data = Data::new(&view, &mixture).unwrap();
        let mut parameters = Parameters {
            log_weights: vec![0.0, -700.0],
            means: vec![0.0, 0.0, 1e9, 1e9],
            precisions: vec![1.0, 1.0, 1.0, 1.0],
        };
        let densities = parameters.densities(&data.about);
        let empty = mixture.empty(&Moments { counts: vec![200.0, 0.0], ..Moments::zeros(2, 4) });
        assert_eq!(empty, [1]);
        let least_likely = data.least_likely(&densities, 1).unwrap();
        assert_eq!(least_likely, [77]);
        let found = x.view().select(least_likely);
        mixture.reseed(&data.about, &empty, &found, &mut parameters);
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

    #[test]
    fn rows_in_parts_give_the_bytes_of_rows_in_memory() {
        use bridged_math::rows::InParts;
        let few = Matrix::from_fn(40, 2, |i, _| (i % 4) as f32); // components run empty
        // Few rows stay in double precision, many begin in single.
        for (x, k) in [
            (testing::blobs(3_000, 5, 4, 3.0).0, 6),
            (testing::blobs(30_000, 20, 7, 9.0).0, 8),
            (few, 6),
        ] {
            for covariance in [Covariance::Spherical, Covariance::Diagonal] {
                let restarts = if x.rows() < 10_000 { 2 } else { 1 };
                let mixture = GaussianMixture { k, covariance, restarts, ..Default::default() };
                let whole = mixture.fit(x.view(), Seed(3), &Silent).unwrap();
                for len in [37, 700, 9_999] {
                    let parts = InParts::new(x.view(), len);
                    let found = mixture.fit_rows(&parts, Seed(3), &Silent).unwrap();
                    assert_eq!(found, whole, "{covariance:?} {len}");
                }
            }
        }
        let x = testing::blobs(900, 3, 4, 6.0).0;
        let init = Init::Given(x.view().select([0, 1, 2]));
        let given = GaussianMixture { k: 3, init, ..Default::default() };
        assert_eq!(
            given.fit_rows(&InParts::new(x.view(), 70), Seed(3), &Silent).unwrap(),
            given.fit(x.view(), Seed(3), &Silent).unwrap()
        );
        let full = GaussianMixture { k: 3, covariance: Covariance::Full, ..Default::default() };
        let error = full.fit_rows(&InParts::new(x.view(), 70), Seed(3), &Silent).unwrap_err();
        assert!(matches!(error, ClusterError::NeedsMemory { .. }), "{error}");
    }
}
