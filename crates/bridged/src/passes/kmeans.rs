//! k-means by passes: k-means‖ to start, Lloyd's iteration to rest.
//!
//! 1. **Start.** From one row, each round draws about 2 k rows with a probability in proportion to their
//!    squared distance to those that were drawn before. A pass counts how many rows are nearest to each of them,
//!    and weighted k-means++ on these few, with Lloyd's iteration, gives k centroids.
//! 2. **Iterations.** Each is one pass: k · d sums, k sizes. A centroid without rows moves to the row that
//!    is farthest from its own.
//! 3. **End.** When centroids move by no more than `tol`, a last pass gives sizes and inertia of exactly those
//!    centroids.
//!
//! A draw needs the cost of the centres at hand, which only a pass can tell. That pass is saved: the cost
//! that the draw before it measured is scaled by how much the cost fell on a sample that the driver has. The
//! number of rows that are drawn is right on average then, which is all that k-means‖ asks for.
//!
//! Passes: a look, a sample, `rounds` draws, one to weigh, one an iteration, one at the end. Memory of the driver:
//! the sample and 2 k · rounds rows, whatever the number of rows.
//!
//! Bahmani et al. 2012 (k-means‖).

use super::look::{drawn, sample};
use super::partial::{Partial, Sums};
use super::pass::{Of, Pass, View, Work};
use super::{Look, Partitions, PassError};
use crate::cluster::{ClusterError, Metric};
use crate::cluster::{Clustering, KMeans, unit_rows};
use bridged_math::distance::{nearest, squared_distance};
use bridged_math::{Matrix, MatrixRef, Seed, Silent};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Rows that the driver has for guesses.
const SAMPLE: usize = 4_096;
/// Rows that a pass hands back for clusters that have none.
const FARTHEST: u64 = 8;
/// Passes that are spent at most on clusters without rows after the last iteration.
const REPAIRS: usize = 8;
/// Runs of weighted k-means on the rows that were drawn; the best is taken.
const RESTARTS: u32 = 4;

/// Where iterations start.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// k-means‖ with so many rounds.
    Parallel {
        /// Rounds.
        rounds: u32,
    },
    /// Distinct rows by chance.
    Random,
    /// These centroids, (k, d), as distances see them.
    Given(Matrix),
}

/// k-means over partitions.
#[derive(Clone, Debug, PartialEq)]
pub struct KMeansByPasses {
    /// The number of clusters.
    pub k: usize,
    /// Where iterations start.
    pub start: Start,
    /// The most iterations.
    pub max_iter: u32,
    /// Iterations end when Σ ‖shift of a centroid‖² falls to `tol` × the mean variance of the columns.
    pub tol: f64,
    /// Where chance comes from.
    pub seed: Seed,
}

/// Where a run is between two iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KMeansState {
    /// The centroids, as distances see them.
    pub centroids: Matrix,
    /// Iterations that are done.
    pub iterations: u32,
    /// Whether the centroids came to rest.
    pub converged: bool,
    /// Of which rows: how many, and the sum of their means and scatters.
    rows: u64,
    moments: f64,
    seed: u64,
}

/// Clusters of rows that lie on many machines.
#[derive(Clone, Debug, PartialEq)]
pub struct ByPasses {
    /// The centroids, as distances see them.
    pub centroids: Matrix,
    /// The means of the rows that are nearest to each.
    pub means: Matrix,
    /// How many rows are nearest to each.
    pub sizes: Vec<u64>,
    /// The weights of these rows.
    pub weights: Vec<f64>,
    /// Σ w ‖row − centroid‖² of each cluster.
    pub costs: Vec<f64>,
    /// Iterations that were made.
    pub iterations: u32,
    /// Whether the centroids came to rest.
    pub converged: bool,
}

impl ByPasses {
    /// Σ w ‖row − centroid‖² over all rows.
    pub fn inertia(&self) -> f64 {
        self.costs.iter().sum()
    }
}

/// What hears of the state after every iteration.
pub type Save<'a> = dyn FnMut(&KMeansState) -> Result<(), PassError> + 'a;

impl KMeansByPasses {
    /// Clusters all rows as `view` shows them. Goes on from the state of an earlier run over the same rows if
    /// there is one, with the result that it would have had.
    ///
    /// ```
    /// use bridged::passes::{KMeansByPasses, Local, Start, View, look};
    /// use bridged::{Matrix, Seed};
    ///
    /// let x = Matrix::from_rows(&[[0.0], [1.0], [50.0], [51.0]]);
    /// let rows = Local::new(x.view(), 2);
    /// let start = Start::Parallel { rounds: 2 };
    /// let spec = KMeansByPasses { k: 2, start, max_iter: 20, tol: 1e-4, seed: Seed(0) };
    /// let found = spec.fit(&rows, &look(&rows)?, &View::default(), None, &mut |_| Ok(()))?;
    /// assert_eq!(found.sizes, [2, 2]);
    /// assert_eq!(found.inertia(), 1.0);
    /// # Ok::<(), bridged::passes::PassError>(())
    /// ```
    pub fn fit(
        &self,
        rows: &dyn Partitions,
        look: &Look,
        view: &View,
        resume: Option<KMeansState>,
        save: &mut Save<'_>,
    ) -> Result<ByPasses, PassError> {
        self.check(look)?;
        let run = Run { spec: self, rows, look, view };
        let mut state = match resume {
            Some(state) => run.resumed(state)?,
            None => {
                let state = run.state(run.start()?);
                save(&state)?;
                state
            }
        };
        let least = self.tol * run.variance()?;
        let mut last = None;
        while !state.converged && state.iterations < self.max_iter {
            let sums = run.assign(&state.centroids)?;
            let (next, repaired) = run.next(&sums, &state.centroids);
            let moved = squared_distance(next.data(), state.centroids.data());
            state.iterations += 1;
            state.converged = moved <= least && !repaired;
            // Sums of the very centroids that are kept.
            last = (moved == 0.0).then_some(sums);
            state.centroids = next;
            save(&state)?;
        }
        let mut sums = match last {
            Some(sums) => sums,
            None => run.assign(&state.centroids)?,
        };
        for _ in 0..REPAIRS {
            if sums.sizes.iter().all(|&size| size > 0) || sums.farthest.is_empty() {
                break;
            }
            run.repair(&sums, &mut state.centroids);
            sums = run.assign(&state.centroids)?;
        }
        let KMeansState { centroids, iterations, converged, .. } = state;
        let means = sums.means(&centroids);
        let Sums { sizes, weights, costs, .. } = sums;
        Ok(ByPasses { centroids, means, sizes, weights, costs, iterations, converged })
    }

    fn check(&self, look: &Look) -> Result<(), PassError> {
        let n = look.moments.rows();
        if self.k == 0 || self.k as u64 > n {
            return Err(PassError::BadK { k: self.k, distinct: n as usize });
        }
        let wrong = |what: &str| Err(PassError::BadParameter(what.to_string()));
        if self.max_iter == 0 {
            return wrong("`max_iter` must be at least 1, got 0");
        }
        if !(self.tol >= 0.0 && self.tol.is_finite()) {
            return wrong("`tol` must be 0 or more");
        }
        if self.start == (Start::Parallel { rounds: 0 }) {
            return wrong("the rounds of k-means|| must be at least 1, got 0");
        }
        if look.moments.weight <= 0.0 {
            return wrong("all weights are 0");
        }
        Ok(())
    }
}

struct Run<'a> {
    spec: &'a KMeansByPasses,
    rows: &'a dyn Partitions,
    look: &'a Look,
    view: &'a View,
}

impl Run<'_> {
    fn pass(&self, work: Work) -> Pass {
        Pass { view: self.view.clone(), work }
    }

    fn state(&self, centroids: Matrix) -> KMeansState {
        KMeansState {
            centroids,
            iterations: 0,
            converged: false,
            rows: self.look.moments.rows(),
            moments: self.moments(),
            seed: self.spec.seed.0,
        }
    }

    /// What tells rows from others.
    fn moments(&self) -> f64 {
        let all = &self.look.moments;
        all.mean.iter().chain(&all.scatter).sum::<f64>() + all.weight
    }

    fn resumed(&self, state: KMeansState) -> Result<KMeansState, PassError> {
        let what = if state.rows != self.look.moments.rows() || state.moments != self.moments() {
            "its rows"
        } else if (state.centroids.rows(), state.centroids.cols()) != (self.spec.k, self.cols()) {
            "its clusters or columns"
        } else if state.seed != self.spec.seed.0 {
            "the seeds"
        } else {
            return Ok(state);
        };
        Err(PassError::OtherCheckpoint { what })
    }

    fn cols(&self) -> usize {
        self.view.cols(self.look.moments.mean.len())
    }

    /// The mean over the columns of their variance, as distances see them: of all rows where they are seen as they
    /// are, else of a sample.
    fn variance(&self) -> Result<f64, PassError> {
        if *self.view == View::default() {
            return Ok(self.look.variance());
        }
        let some = self.sample()?;
        let mean: Vec<f32> = some.view().mean_row().into_iter().map(|v| v as f32).collect();
        let sum: f64 = some.view().iter_rows().map(|row| squared_distance(row, &mean)).sum();
        Ok(sum / some.data().len().max(1) as f64)
    }

    /// Some rows as distances see them.
    fn sample(&self) -> Result<Matrix, PassError> {
        let some = sample(self.rows, self.look, SAMPLE, self.spec.seed.child("sample").0)?;
        let some = some.matrix();
        let seen = self.view.of(some.view()).into_owned();
        Ok(Matrix::new(some.rows(), self.cols(), seen).expect("one row for each"))
    }

    fn assign(&self, centroids: &Matrix) -> Result<Sums, PassError> {
        let centroids = centroids.clone();
        let pass = self.pass(Work::Assign { centroids, sums: Of::Seen, farthest: FARTHEST });
        match Partial::merged(self.rows.run(&pass)?)? {
            Partial::Sums(sums) => {
                self.look.check(sums.count())?;
                Ok(sums)
            }
            _ => Err(PassError::OtherVersion),
        }
    }

    /// The centroids of the next iteration, and whether some were moved to rows far away.
    fn next(&self, sums: &Sums, centroids: &Matrix) -> (Matrix, bool) {
        let mut next = self.on_sphere(sums.means(centroids));
        let repaired = self.repair(sums, &mut next);
        (next, repaired)
    }

    /// Under the cosine metric, centroids are directions.
    fn on_sphere(&self, centroids: Matrix) -> Matrix {
        match self.view.metric {
            Metric::Euclidean => centroids,
            Metric::Cosine => unit_rows(centroids.view()),
        }
    }

    /// Moves centroids without rows to the rows that are farthest from theirs.
    fn repair(&self, sums: &Sums, centroids: &mut Matrix) -> bool {
        let empty = (0..sums.sizes.len()).filter(|&j| sums.weights[j] <= 0.0);
        let mut repaired = false;
        let mut taken: Vec<&[f32]> = Vec::new();
        let mut rows = (0..sums.farthest.len()).map(|i| sums.farthest.row(i));
        for j in empty {
            // Equal rows would leave one of the clusters empty again.
            let Some(row) = rows.find(|row| !taken.contains(row)) else { break };
            centroids.row_mut(j).copy_from_slice(row);
            taken.push(row);
            repaired = true;
        }
        repaired
    }

    fn start(&self) -> Result<Matrix, PassError> {
        let (k, cols) = (self.spec.k, self.cols());
        match &self.spec.start {
            Start::Given(given) if (given.rows(), given.cols()) == (k, cols) => {
                Ok(self.on_sphere(given.clone()))
            }
            Start::Given(given) => {
                let got = (given.rows(), given.cols());
                Err(PassError::BadStart { got, need: (k, cols) })
            }
            Start::Random => {
                let seed = self.spec.seed.child("random").0;
                let mut found = sample(self.rows, self.look, SAMPLE.max(2 * k), seed)?;
                // In the order of the draw, so that every row is as likely to be among the first.
                found.keep_largest(found.len());
                let found = found.matrix();
                let seen = self.view.of(found.view()).into_owned();
                let seen = Matrix::new(found.rows(), cols, seen).expect("one row for each");
                let distinct = distinct(seen.view());
                match distinct.rows() >= k {
                    true => Ok(distinct.view().select(0..k)),
                    false => Err(PassError::BadK { k, distinct: distinct.rows() }),
                }
            }
            Start::Parallel { rounds } => self.parallel(*rounds),
        }
    }

    /// k-means‖.
    fn parallel(&self, rounds: u32) -> Result<Matrix, PassError> {
        let k = self.spec.k;
        let some = self.sample()?;
        let first = self.spec.seed.child("first").0 % some.rows() as u64;
        let mut centres = some.view().select([first as usize]);
        // What the cost is of the centres at hand, by a guess and as the last draw measured it.
        let on_sample = |centres: &Matrix| cost(some.view(), centres);
        let scale = self.look.moments.weight / some.rows() as f64;
        let mut guess = scale * on_sample(&centres);
        for round in 0..rounds {
            let rate = if guess > 0.0 { 2.0 * k as f64 / guess } else { 0.0 };
            let seed = self.spec.seed.child("draw").nth(round as usize).0;
            let pass = self.pass(Work::Draw { centres: centres.clone(), seed, rate });
            let found = drawn(self.rows, &pass)?;
            self.look.check(found.count)?;
            if found.cost <= 0.0 {
                break;
            }
            let before = on_sample(&centres);
            if !found.rows.is_empty() {
                let rows = found.rows.matrix();
                let all = [centres.data(), rows.data()].concat();
                let all = Matrix::new(centres.rows() + rows.rows(), centres.cols(), all);
                centres = distinct(all.expect("rows of one width").view());
            }
            // The sample may have none of the rows that are still far from all centres.
            let fell = if before > 0.0 { on_sample(&centres) / before } else { 1.0 };
            guess = found.cost * fell.clamp(0.02, 1.0);
        }
        if centres.rows() < k {
            // Few rows, or few that differ.
            let all = [centres.data(), some.data()].concat();
            let all = Matrix::new(centres.rows() + some.rows(), centres.cols(), all);
            centres = distinct(all.expect("rows of one width").view());
        }
        if centres.rows() < k {
            return Err(PassError::BadK { k, distinct: centres.rows() });
        }
        if centres.rows() == k {
            return Ok(self.on_sphere(centres));
        }
        let weights = self.assign(&centres)?.weights;
        let with_weight: Vec<usize> = (0..centres.rows()).filter(|&j| weights[j] > 0.0).collect();
        if with_weight.len() <= k {
            // Those without weight are nearest to no row that counts; they fill up.
            let mut order: Vec<usize> = (0..centres.rows()).collect();
            order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
            return Ok(self.on_sphere(centres.view().select(order.into_iter().take(k))));
        }
        let weights: Vec<f64> = with_weight.iter().map(|&j| weights[j]).collect();
        let centres = centres.view().select(with_weight);
        let spec = KMeans { k, restarts: RESTARTS, metric: self.view.metric, ..KMeans::default() };
        let seed = self.spec.seed.child("start");
        let found = spec.fit_weighted(centres.view(), &weights, seed, &Silent);
        let Clustering { centroids, .. } = found.map_err(|error| match error {
            ClusterError::BadK { k, rows } => PassError::BadK { k, distinct: rows },
            other => PassError::BadParameter(other.to_string()),
        })?;
        Ok(self.on_sphere(centroids))
    }
}

/// Σ ‖row − nearest centre‖².
fn cost(rows: MatrixRef<'_>, centres: &Matrix) -> f64 {
    let labels = nearest(rows, centres.view());
    let own = rows.iter_rows().zip(labels);
    own.map(|(row, label)| squared_distance(row, centres.row(label as usize))).sum()
}

/// The rows without those that come again, in their order.
fn distinct(rows: MatrixRef<'_>) -> Matrix {
    let mut seen = HashSet::new();
    // −0 and 0 are one number.
    let key = |row: &[f32]| row.iter().map(|v| (v + 0.0).to_bits()).collect::<Vec<u32>>();
    rows.select((0..rows.rows()).filter(|&i| seen.insert(key(rows.row(i)))).collect::<Vec<_>>())
}
