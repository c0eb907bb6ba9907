//! Gaussian mixtures by passes: each iteration of expectation–maximisation is one.
//!
//! 1. **Start.** k-means by passes, at most ten iterations: its sizes, centroids and, as variances, how far rows are
//!    from their centroids.
//! 2. **Iterations.** A partition sums the rows and their squares by their shares in the components, tile by tile. Single
//!    precision serves as long as an iteration gains much, as for rows in memory. A component that lost all weight is put
//!    at the row of lowest likelihood, which a pass of its own finds.
//! 3. **End.** A pass counts for how many rows each component is the likeliest.
//!
//! Passes: those of k-means, one an iteration, one at the end. Partial results: 16 k d bytes.

use super::kmeans::{KMeansByPasses, Start};
use super::partial::{Partial, Shares};
use super::pass::{Mixture, Pass, View, Work};
use super::{Look, Partitions, PassError};
use crate::cluster::{
    About, Covariance, Densities, EmRun, Gaussian, GaussianMixture, Init, MixtureF32, Moments,
    Parameters, TILE, log_sum_exp,
};
use crate::settings::Check;
use bridged_math::{MatrixRef, Seed};
use serde::{Deserialize, Serialize};

/// Iterations of the k-means that a mixture begins with.
const START_ITERATIONS: u32 = 10;

/// A Gaussian mixture over partitions; its covariances are diagonal or spherical.
#[derive(Clone, Debug, PartialEq)]
pub struct MixtureByPasses {
    /// Components, their shape, and when iterations end. There are no restarts.
    pub spec: GaussianMixture,
    /// Where chance comes from.
    pub seed: Seed,
}

/// Where a run is between two iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixtureState {
    run: EmRun,
    /// Of which rows: how many, and the sum of their means and scatters.
    rows: u64,
    moments: f64,
    seed: u64,
}

/// A mixture of rows that lie on many machines.
#[derive(Clone, Debug, PartialEq)]
pub struct MixtureFound {
    /// The components.
    pub mixture: Gaussian,
    /// For how many rows each is the likeliest.
    pub sizes: Vec<u64>,
    /// The mean log-likelihood of a row.
    pub log_likelihood: f64,
    /// Iterations that were made.
    pub iterations: u32,
    /// Whether the likelihood came to rest.
    pub converged: bool,
}

/// What hears of the state after every iteration.
pub type SaveMixture<'a> = dyn FnMut(&MixtureState) -> Result<(), PassError> + 'a;

impl MixtureByPasses {
    /// Fits all rows as `view` shows them. Goes on from the state of an earlier run over the same rows if there is
    /// one, with the result that it would have had.
    ///
    /// ```
    /// use bridged::cluster::GaussianMixture;
    /// use bridged::passes::{Local, MixtureByPasses, look};
    /// use bridged::{Matrix, Seed};
    ///
    /// let x = Matrix::from_fn(60, 1, |i, _| if i < 30 { i as f32 * 0.01 } else { i as f32 - 28.0 });
    /// let rows = Local::new(x.view(), 3);
    /// let spec = GaussianMixture { k: 2, ..GaussianMixture::default() };
    /// let spec = MixtureByPasses { spec, seed: Seed(0) };
    /// let mut found = spec.fit(&rows, &look(&rows)?, None, &mut |_| Ok(()))?;
    /// assert_eq!(found.sizes, [30, 30]);
    /// # Ok::<(), bridged::passes::PassError>(())
    /// ```
    pub fn fit(
        &self,
        rows: &dyn Partitions,
        look: &Look,
        resume: Option<MixtureState>,
        save: &mut SaveMixture<'_>,
    ) -> Result<MixtureFound, PassError> {
        let wrong = |what: &str| Err(PassError::BadParameter(what.to_string()));
        self.spec.check().map_err(|e| PassError::BadParameter(e.to_string()))?;
        if self.spec.covariance == Covariance::Full && look.moments.mean.len() > 1 {
            return wrong("on a cluster, covariances are \"diagonal\" or \"spherical\"");
        }
        let moments = &look.moments;
        if moments.weight != moments.rows() as f64 {
            return wrong("a mixture takes no weights");
        }
        let n = moments.rows() as usize;
        let shift = moments.mean.iter().map(|&m| f64::from(m as f32)).collect();
        let overall = moments.scatter.iter().map(|s| (s / moments.weight).max(0.0)).collect();
        let about = About::new(&self.spec, n, shift, overall);
        let sum = moments.mean.iter().chain(&moments.scatter).sum::<f64>() + moments.weight;
        let state = |run: EmRun| {
            let (rows, seed) = (moments.rows(), self.seed.0);
            MixtureState { run, rows, moments: sum, seed }
        };
        let mut run = match resume {
            Some(saved) => {
                let other = |what| Err(PassError::OtherCheckpoint { what });
                let shape =
                    (saved.run.parameters.log_weights.len(), saved.run.parameters.means.len());
                if (saved.rows, saved.moments) != (moments.rows(), sum) {
                    return other("its rows");
                } else if shape != (self.spec.k, self.spec.k * about.d) {
                    return other("its clusters or columns");
                } else if saved.seed != self.seed.0 {
                    return other("the seeds");
                }
                saved.run
            }
            None => EmRun::new(self.start(rows, look, &about)?, about.is_large(self.spec.k)),
        };
        while run.iterations < self.spec.max_iter && !run.converged {
            self.iterate(rows, look, &about, &mut run)?;
            save(&state(run.clone()))?;
        }
        let told = Mixture { counts: true, ..told(&run.parameters, &about) };
        let Shares { sizes, .. } = pass(rows, look, told)?;
        let EmRun { parameters, log_likelihood, iterations, converged, .. } = run;
        let mixture = parameters.into_gaussian(about.d);
        Ok(MixtureFound { mixture, sizes, log_likelihood, iterations, converged })
    }

    /// The parameters that k-means gives.
    fn start(
        &self,
        rows: &dyn Partitions,
        look: &Look,
        about: &About,
    ) -> Result<Parameters, PassError> {
        let (start, max_iter) = match &self.spec.init {
            Init::PlusPlus => (Start::Parallel { rounds: 2 }, START_ITERATIONS),
            Init::Random => (Start::Random, START_ITERATIONS),
            Init::Given(given) => (Start::Given(given.clone()), 1),
        };
        let (k, seed) = (self.spec.k, self.seed);
        let kmeans = KMeansByPasses { k, start, max_iter, tol: 1e-4, seed };
        let found = kmeans.fit(rows, look, &View::default(), None, &mut |_| Ok(()))?;
        let (d, mut moments) = (about.d, Moments::zeros(k, about.width));
        for j in 0..k {
            let size = found.sizes[j] as f64;
            let variance = found.costs[j] / (size.max(1.0) * d as f64);
            moments.counts[j] = size;
            for (c, &mean) in found.centroids.row(j).iter().enumerate() {
                let mean = f64::from(mean) - about.shift[c];
                moments.sums[j * about.width + c] = size * mean;
                moments.sums[j * about.width + d + c] = size * (mean * mean + variance);
            }
        }
        Ok(self.spec.maximise(about, &moments, None))
    }

    fn iterate(
        &self,
        rows: &dyn Partitions,
        look: &Look,
        about: &About,
        run: &mut EmRun,
    ) -> Result<(), PassError> {
        let densities = run.parameters.densities(about);
        let rough = run.rough && about.rough(&densities).is_some();
        let plain = told(&run.parameters, about);
        let found = pass(rows, look, Mixture { rough, ..plain.clone() })?;
        let Shares { counts, sums, log_likelihood, .. } = found;
        let moments = Moments { counts, sums, log_likelihood };
        run.parameters = self.spec.maximise(about, &moments, None);
        let empty = self.spec.empty(&moments);
        if !empty.is_empty() {
            let least = pass(rows, look, Mixture { least: empty.len() as u64, ..plain })?.least;
            let seen = least.matrix();
            self.spec.reseed(about, &empty, &seen, &mut run.parameters);
        }
        run.hear(moments.log_likelihood / about.n as f64, self.spec.tol, about, rough);
        Ok(())
    }
}

fn told(parameters: &Parameters, about: &About) -> Mixture {
    Mixture {
        log_weights: parameters.log_weights.clone(),
        means: parameters.means.clone(),
        precisions: parameters.precisions.clone(),
        shift: about.shift.clone(),
        rough: false,
        counts: false,
        least: 0,
    }
}

fn pass(rows: &dyn Partitions, look: &Look, told: Mixture) -> Result<Shares, PassError> {
    match Partial::merged(rows.run(&Pass::plain(Work::Mixture(told)))?)? {
        Partial::Mixture(found) => {
            look.check(found.rows)?;
            Ok(found)
        }
        _ => Err(PassError::OtherVersion),
    }
}

impl Mixture {
    /// What no rows come to.
    pub(super) fn no_rows(&self) -> Shares {
        let k = self.log_weights.len();
        Shares {
            counts: vec![0.0; k],
            sums: vec![0.0; k * 2 * self.shift.len()],
            sizes: vec![0; k],
            wanted: self.least,
            ..Shares::default()
        }
    }
}

/// The components on a machine that holds rows, which are taken tile by tile: so the batches in which they come change
/// no bit.
pub(super) struct Shared {
    densities: Densities,
    rough: Option<MixtureF32>,
    /// The mixture as a model keeps it, where rows are counted by it.
    counts: Option<Gaussian>,
    least: bool,
    /// Rows of a tile that is not full, (m, d).
    begun: Vec<f32>,
    /// The next row of the partition.
    at: (u64, u64),
}

impl Shared {
    pub fn new(told: &Mixture, part: u64) -> Self {
        let densities =
            Densities::new(&told.log_weights, &told.means, &told.precisions, &told.shift);
        let parameters = || Parameters {
            log_weights: told.log_weights.clone(),
            means: told.means.clone(),
            precisions: told.precisions.clone(),
        };
        Self {
            rough: told.rough.then(|| MixtureF32::new(&densities)).flatten(),
            counts: told.counts.then(|| parameters().into_gaussian(told.shift.len())),
            least: told.least > 0,
            densities,
            begun: Vec::new(),
            at: (part, 0),
        }
    }

    fn tile(&self) -> usize {
        if self.rough.is_some() { TILE } else { self.densities.tile_rows() }
    }

    /// The next rows of the partition.
    pub fn add(&mut self, rows: MatrixRef<'_>, all: &mut Shares) {
        let (d, tile) = (rows.cols(), self.tile());
        let mut first = 0;
        if !self.begun.is_empty() {
            first = (tile - self.begun.len() / d).min(rows.rows());
            self.begun.extend_from_slice(rows.slice(0..first).data());
            if self.begun.len() == tile * d {
                self.end(all);
            }
        }
        while rows.rows() - first >= tile {
            self.see(rows.slice(first..first + tile), all);
            first += tile;
        }
        self.begun.extend_from_slice(rows.slice(first..rows.rows()).data());
    }

    /// The rows that still wait.
    pub fn end(&mut self, all: &mut Shares) {
        let begun = std::mem::take(&mut self.begun);
        let d = all.sums.len() / (2 * all.counts.len()).max(1);
        if !begun.is_empty() {
            self.see(MatrixRef::new(begun.len() / d, d, &begun).expect("whole rows"), all);
        }
    }

    fn see(&mut self, tile: MatrixRef<'_>, all: &mut Shares) {
        let (k, at) = (all.counts.len(), self.at);
        all.rows += tile.rows() as u64;
        self.at.1 += tile.rows() as u64;
        if let Some(mixture) = &self.counts {
            mixture.assign(tile).into_iter().for_each(|label| all.sizes[label as usize] += 1);
            return;
        }
        if self.least {
            self.densities.for_each_tile(tile, |first, part| {
                for (i, joint) in part.log_joint.chunks_exact(k).enumerate() {
                    let row = first + i;
                    let place = (at.0, at.1 + row as u64);
                    all.least.push(place, -log_sum_exp(joint), tile.row(row));
                }
            });
            all.least.keep_largest(all.wanted as usize);
            return;
        }
        let one = match &self.rough {
            Some(mixture) => mixture.of_tile(tile),
            None => Moments::of_tile(tile, &self.densities, k, 2 * tile.cols()),
        };
        all.counts.iter_mut().zip(one.counts).for_each(|(t, o)| *t += o);
        all.sums.iter_mut().zip(one.sums).for_each(|(t, o)| *t += o);
        all.log_likelihood += one.log_likelihood;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Local, look};
    use super::*;
    use crate::cluster::{AssignRule, Clusterer};
    use bridged_math::{Matrix, Silent};
    use rand::RngExt;

    fn blobs(n: usize, d: usize, k: usize) -> Matrix {
        let mut rng = Seed(4).rng();
        let means = Matrix::from_fn(k, d, |_, _| 12.0 * rng.random::<f32>());
        Matrix::from_fn(n, d, |i, c| {
            let noise = (0..4).map(|_| rng.random::<f32>() - 0.5).sum::<f32>();
            means.row(i % k)[c] + (1 + i % k) as f32 * noise
        })
    }

    fn spec(k: usize, covariance: Covariance) -> MixtureByPasses {
        let spec =
            GaussianMixture { k, covariance, tol: 1e-7, max_iter: 200, ..Default::default() };
        MixtureByPasses { spec, seed: Seed(1) }
    }

    fn fit(spec: &MixtureByPasses, rows: &dyn Partitions) -> MixtureFound {
        spec.fit(rows, &look(rows).unwrap(), None, &mut |_| Ok(())).unwrap()
    }

    #[test]
    fn it_ends_where_the_fit_in_memory_ends_from_the_same_centroids() {
        let x = blobs(6_000, 4, 3);
        let init = Init::Given(x.view().select([0, 1, 2]));
        for covariance in [Covariance::Spherical, Covariance::Diagonal] {
            let given = GaussianMixture { init: init.clone(), ..spec(3, covariance).spec };
            let in_memory = given.fit(x.view(), Seed(1), &Silent).unwrap();
            let AssignRule::Mixture(expected) = &in_memory.rule else { panic!("a mixture") };
            let by_passes = MixtureByPasses { spec: given, seed: Seed(1) };
            let found = fit(&by_passes, &Local::new(x.view(), 5));
            assert!(found.converged);
            let expected = expected.log_likelihood(x.view());
            assert!((found.log_likelihood - expected).abs() < 1e-5, "{covariance:?}");
            assert_eq!(found.sizes.iter().sum::<u64>(), 6_000);
            let own = found.mixture.log_likelihood(x.view());
            assert!((found.log_likelihood - own).abs() < 1e-4);
        }
    }

    #[test]
    fn batches_change_nothing_and_a_stopped_fit_goes_on() {
        let x = blobs(30_000, 20, 7); // begins in single precision
        let spec = MixtureByPasses {
            spec: GaussianMixture { max_iter: 6, ..spec(8, Covariance::Diagonal).spec },
            seed: Seed(2),
        };
        let rows = Local::new(x.view(), 3);
        let found = look(&rows).unwrap();
        let mut states = Vec::new();
        let mut keep = |state: &MixtureState| {
            states.push(serde_json::to_string(state).unwrap());
            Ok(())
        };
        let whole = spec.fit(&rows, &found, None, &mut keep).unwrap();
        assert_eq!(fit(&spec, &rows.clone().in_batches(77)), whole);
        for state in &states {
            let state = serde_json::from_str(state).unwrap();
            assert_eq!(spec.fit(&rows, &found, Some(state), &mut |_| Ok(())).unwrap(), whole);
        }
        let state: MixtureState = serde_json::from_str(&states[0]).unwrap();
        let other = MixtureByPasses { seed: Seed(3), ..spec };
        let error = other.fit(&rows, &found, Some(state), &mut |_| Ok(())).unwrap_err();
        assert_eq!(error, PassError::OtherCheckpoint { what: "the seeds" });
    }

    #[test]
    fn a_component_that_lost_all_weight_is_put_at_the_least_likely_row() {
        let mut x = blobs(300, 2, 1);
        x.row_mut(77).copy_from_slice(&[500.0, 500.0]);
        let rows = Local::new(x.view(), 4);
        let found = look(&rows).unwrap();
        let spec = spec(2, Covariance::Diagonal);
        let shift = vec![0.0; 2];
        let about = About::new(&spec.spec, 300, shift, vec![1.0, 1.0]);
        let parameters = Parameters {
            log_weights: vec![0.0, -700.0],
            means: vec![0.0, 0.0, 1e6, 1e6],
            precisions: vec![0.01, 0.01, 1.0, 1.0],
        };
        let mut run = EmRun::new(parameters, false);
        spec.iterate(&rows, &found, &about, &mut run).unwrap();
        assert_eq!(run.parameters.means[2..], [500.0, 500.0]);
    }

    #[test]
    fn what_cannot_be_is_said() {
        let x = blobs(30, 2, 2);
        let rows = Local::new(x.view(), 2);
        let found = look(&rows).unwrap();
        let error = spec(2, Covariance::Full).fit(&rows, &found, None, &mut |_| Ok(()));
        assert!(error.unwrap_err().to_string().contains("\"diagonal\" or \"spherical\""));
        let error = spec(31, Covariance::Diagonal).fit(&rows, &found, None, &mut |_| Ok(()));
        assert!(matches!(error.unwrap_err(), PassError::BadK { k: 31, .. }));
    }
}
