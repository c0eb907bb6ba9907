//! One run of k-means from one start, and where it is between two passes.
//!
//! The labels of a pass are those of the nearest centroids, but for the rows that empty clusters were given. So a
//! [`RunState`] needs no labels: a pass finds them again, and the sums, which depend on the way that they were come
//! by in their last bits, are in the state.

use super::super::bounds::{Assigner, Pruning, least_memory};
use super::super::clustering::inertia_of;
use super::super::state::bits;
use super::super::sums::{Move, Sums};
use super::{Algorithm, KMeans, KMeansRun, furthest};
use crate::cluster::ClusterError;
use bridged_math::distance::squared_distance;
use bridged_math::{Cancelled, Matrix, MatrixRef, Rows, RowsError, memory};
use serde::{Deserialize, Serialize};

/// A run under way.
pub(super) struct Run<'a> {
    spec: &'a KMeans,
    rows: &'a dyn Rows,
    assigner: Assigner,
    sums: Sums,
    /// Those of the last pass.
    centroids: Matrix,
    /// The rows that empty clusters were given after it.
    forced: Vec<Move>,
    iterations: u32,
}

/// Where a run is between two passes.
#[derive(Serialize, Deserialize)]
pub(super) struct RunState {
    sums: Sums,
    #[serde(with = "bits")]
    centroids: Matrix,
    forced: Vec<Move>,
    pub iterations: u32,
}

/// A run that has ended, without its labels.
#[derive(Serialize, Deserialize)]
pub(super) struct EndedState {
    #[serde(with = "bits")]
    centroids: Matrix,
    forced: Vec<Move>,
    inertia: f64,
    iterations: u32,
    converged: bool,
    at_rest: bool,
}

/// A run that has ended.
pub(super) struct Ended {
    pub run: KMeansRun,
    forced: Vec<Move>,
}

/// What hears of a run between two passes.
type Between<'a> = dyn FnMut(&Run<'_>) -> Result<(), Cancelled> + 'a;

impl<'a> Run<'a> {
    /// The first pass.
    pub fn begin(spec: &'a KMeans, rows: &'a dyn Rows, start: Matrix) -> Result<Self, RowsError> {
        let centroids = spec.on_sphere(start);
        let mut assigner = spec.assigner(rows, &centroids);
        let mut sums = Sums::zeros(spec.k, rows.cols());
        assigner.assign(rows, centroids.view(), &mut |assigner, part| {
            let range = part.first..part.first + part.rows.rows();
            sums.join(part.rows, &assigner.labels_of(range));
        })?;
        let mut run =
            Self { spec, rows, assigner, sums, centroids, forced: Vec::new(), iterations: 1 };
        run.repair_empty()?;
        Ok(run)
    }

    /// Goes on from where a run was, by a pass for its labels.
    pub fn resume(
        spec: &'a KMeans,
        rows: &'a dyn Rows,
        state: RunState,
    ) -> Result<Self, RowsError> {
        let RunState { sums, centroids, forced, iterations } = state;
        let assigner = spec.assigned(rows, &centroids, &forced)?;
        Ok(Self { spec, rows, assigner, sums, centroids, forced, iterations })
    }

    /// Where it is, after a pass.
    pub fn state(&self) -> RunState {
        RunState {
            sums: self.sums.clone(),
            centroids: self.centroids.clone(),
            forced: self.forced.clone(),
            iterations: self.iterations,
        }
    }

    /// Iterates to the end; `between` is called after every pass.
    pub fn finish(
        mut self,
        least_shift: f64,
        between: &mut Between<'_>,
    ) -> Result<Ended, ClusterError> {
        let (mut converged, mut at_rest) = (false, false);
        loop {
            between(&self)?;
            let next = self.spec.on_sphere(self.sums.means());
            let shift = squared_distance(next.data(), self.centroids.data());
            self.centroids = next;
            if shift <= least_shift || self.iterations >= self.spec.max_iter {
                converged |= shift <= least_shift;
                break;
            }
            let moved = self.follow()?;
            self.iterations += 1;
            let repaired = self.repair_empty()?;
            if moved == 0 && repaired.is_empty() {
                (converged, at_rest) = (true, true);
                break;
            }
        }
        if !at_rest {
            at_rest = self.settle()?;
        }
        let Self { rows, assigner, centroids, forced, iterations, .. } = self;
        let labels = assigner.labels();
        drop(assigner);
        let inertia = inertia_of(rows, &labels, &centroids)?;
        let run = KMeansRun { labels, centroids, inertia, iterations, converged, at_rest };
        Ok(Ended { run, forced })
    }

    /// After a run that ended on the way: labels every row by the centroids that are kept. A centroid
    /// that is nearest to no row moves to the one that is worst off. Returns whether nothing changed.
    fn settle(&mut self) -> Result<bool, RowsError> {
        // Equal rows cannot be parted by centroids: with too few distinct ones there is no end.
        for round in 0..=self.spec.k {
            let moved = self.follow()?;
            let repaired = self.repair_empty()?;
            if repaired.is_empty() {
                return Ok(round == 0 && moved == 0);
            }
            for (to, row) in repaired {
                self.centroids.row_mut(to as usize).copy_from_slice(&row);
            }
        }
        Ok(false)
    }

    /// Assigns every row to the nearest centroid and brings the sums up to date. Returns how many moved.
    fn follow(&mut self) -> Result<usize, RowsError> {
        self.forced.clear();
        follow(self.rows, &mut self.assigner, &mut self.sums, &self.centroids)
    }

    /// Gives every empty cluster the row that is furthest from its own centroid, of equals the first.
    /// Returns those clusters with their rows.
    fn repair_empty(&mut self) -> Result<Vec<(u32, Vec<f32>)>, RowsError> {
        let k = self.centroids.rows();
        let empty: Vec<u32> =
            (0..k as u32).filter(|&j| self.sums.sizes()[j as usize] == 0).collect();
        if empty.is_empty() {
            return Ok(Vec::new());
        }
        let labels = self.assigner.labels();
        let mut candidates = furthest(self.rows, &labels, &self.centroids, 2 * k)?.into_iter();
        let mut moves = Vec::with_capacity(empty.len());
        let mut sizes = self.sums.sizes().to_vec();
        for to in empty {
            // A cluster of one row keeps it. There are at most k of those, so that 2 k candidates do.
            let row = candidates
                .find(|&i| sizes[labels[i] as usize] > 1)
                .expect("k is at most the number of rows, so some cluster has two");
            (sizes[labels[row] as usize], sizes[to as usize]) =
                (sizes[labels[row] as usize] - 1, 1);
            moves.push(Move { row: row as u32, from: labels[row], to });
        }
        let mut ascending: Vec<usize> = moves.iter().map(|m| m.row as usize).collect();
        ascending.sort_unstable();
        let found = self.rows.select(&ascending)?;
        let mut repaired = Vec::with_capacity(moves.len());
        for m in moves {
            let at = ascending.binary_search(&(m.row as usize)).expect("selected above");
            let row = MatrixRef::new(1, found.cols(), found.row(at)).expect("one row");
            self.assigner.force(m);
            self.sums.apply_part(m.row as usize, row, &[m]);
            self.forced.push(m);
            repaired.push((m.to, found.row(at).to_vec()));
        }
        Ok(repaired)
    }
}

impl Ended {
    /// What is needed to have it again.
    pub fn state(&self) -> EndedState {
        let KMeansRun { centroids, inertia, iterations, converged, at_rest, .. } = &self.run;
        EndedState {
            centroids: centroids.clone(),
            forced: self.forced.clone(),
            inertia: *inertia,
            iterations: *iterations,
            converged: *converged,
            at_rest: *at_rest,
        }
    }

    /// The run again, by a pass for its labels.
    pub fn restore(spec: &KMeans, rows: &dyn Rows, state: EndedState) -> Result<Self, RowsError> {
        let EndedState { centroids, forced, inertia, iterations, converged, at_rest } = state;
        let labels = spec.assigned(rows, &centroids, &forced)?.labels();
        let run = KMeansRun { labels, centroids, inertia, iterations, converged, at_rest };
        Ok(Self { run, forced })
    }

    /// The one with the lower inertia; of equals the earlier.
    pub fn better(self, other: Self) -> Self {
        if other.run.inertia < self.run.inertia { other } else { self }
    }
}

impl KMeans {
    fn assigner(&self, rows: &dyn Rows, start: &Matrix) -> Assigner {
        let pruning = match self.algorithm {
            Algorithm::Pruned => Pruning::On,
            Algorithm::Lloyd => Pruning::Off,
        };
        Assigner::new(rows.rows(), start.view(), pruning, room_for_bounds(rows))
    }

    /// Every row at the nearest of the centroids, but those that were given to empty clusters.
    fn assigned(
        &self,
        rows: &dyn Rows,
        centroids: &Matrix,
        forced: &[Move],
    ) -> Result<Assigner, RowsError> {
        let mut assigner = self.assigner(rows, centroids);
        assigner.assign(rows, centroids.view(), &mut |_, _| ())?;
        forced.iter().for_each(|&m| assigner.force(m));
        Ok(assigner)
    }
}

/// The bytes that bounds may take: all that they want beside rows in memory, which were asked for; beside rows
/// that come in passes, what is left of the memory.
fn room_for_bounds(rows: &dyn Rows) -> u64 {
    match (rows.in_memory(), memory::free()) {
        (Some(_), _) | (None, None) => u64::MAX,
        (None, Some(free)) => bounds_within(rows.rows(), free),
    }
}

/// What bounds take of so much free memory.
pub(super) fn bounds_within(rows: usize, free: u64) -> u64 {
    let taken = least_memory(rows) as u64 + 4 * rows as u64;
    free.saturating_sub(taken) / 2
}

/// Assigns every row to the nearest centroid and brings the sums up to date. Returns how many moved.
pub(super) fn follow(
    rows: &dyn Rows,
    assigner: &mut Assigner,
    sums: &mut Sums,
    centroids: &Matrix,
) -> Result<usize, RowsError> {
    let mut moved = 0;
    assigner.assign(rows, centroids.view(), &mut |_, part| {
        moved += part.moves.len();
        sums.apply_part(part.first, part.rows, part.moves);
    })?;
    Ok(moved)
}
