//! The start of a run over very many rows: the best of several runs on a sample.
//!
//! A pass over all rows may take a minute, and the centroids of a few hundred rows per cluster are close to those of
//! all rows. So the restarts are runs on a sample, and only the best of them goes on over all rows, from where the
//! sample left it: a run has to learn what the sample could not tell, and no more.

use super::super::init::sample_of;
use super::run::Run;
use super::{KMeans, mean_variance};
use crate::cluster::{ClusterError, Init};
use bridged_math::{Matrix, Rows, Seed, Stage};
use rand::seq::index;

/// Beyond this many products in a pass, starts are compared on a sample.
const LONG: f64 = if cfg!(test) { 4e7 } else { 4e9 };
/// The most iterations on a sample.
const ITERATIONS: u32 = 60;
/// Runs on a sample end when the centroids move by less than this part of the variance.
const TOLERANCE: f64 = 1e-4;

impl KMeans {
    /// Whether the starts for so many rows are compared on a sample: where n k d is beyond 4 · 10⁹, unless the start is
    /// given. In memory as well as in passes, so that both have the same result.
    pub fn starts_on_sample(&self, rows: usize, cols: usize) -> bool {
        let products = rows as f64 * cols as f64 * self.k as f64;
        let given = matches!(self.init, Init::Given(_));
        !given && products > LONG && rows > 2 * sample_of(self.k)
    }

    /// The centroids of the best run on a sample.
    pub(super) fn start_on_sample(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        stage: &Stage<'_>,
    ) -> Result<Matrix, ClusterError> {
        let sample = sample_of(self.k);
        let drawn = seed.child("starts");
        let mut chosen = index::sample(&mut drawn.rng(), rows.rows(), sample).into_vec();
        chosen.sort_unstable();
        let sample = rows.select(&chosen)?;
        let seen = sample.view();
        let spec = Self { max_iter: ITERATIONS, ..self.clone() };
        let least_shift = self.tol.max(TOLERANCE) * mean_variance(&seen)?;
        let mut best: Option<(f64, Matrix)> = None;
        for restart in 0..self.restarts.max(1) as usize {
            let start = self.init.centroids(&seen, self.k, seed.nth(restart))?;
            let run = Run::begin(&spec, &seen, start)?;
            let run = run.finish(least_shift, &mut |_| stage.step(0))?.run;
            if best.as_ref().is_none_or(|(least, _)| run.inertia < *least) {
                best = Some((run.inertia, run.centroids));
            }
        }
        Ok(best.expect("at least one start is made").1)
    }
}
