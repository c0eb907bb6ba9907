//! The iteration of balanced k-means, for several starts side by side: distances, the cheapest labels
//! within the bounds, means. Only centroids that moved are multiplied with the rows, and only rows
//! that moved are added to the means.

use super::hartigan::{self, Correction, Step};
use crate::cluster::clustering::unit_rows;
use crate::cluster::init::Start;
use crate::cluster::kmeans::{KMeansRun, Scatter};
use crate::cluster::sums::{Move, Sums};
use crate::cluster::{ClusterError, Descent, Metric};
use bridged_math::cancel::carry;
use bridged_math::distance::{Centres, squared_distance};
use bridged_math::transport::{Transport, TransportError};
use bridged_math::{Cancelled, Matrix, MatrixRef, chunks};
use rayon::prelude::*;

/// Under the cosine metric, centroids are directions.
fn on_sphere(centroids: Matrix, metric: Metric) -> Matrix {
    match metric {
        Metric::Euclidean => centroids,
        Metric::Cosine => unit_rows(centroids.view()),
    }
}

/// What the iterations of all runs share.
pub struct Lloyd<'a> {
    pub x: MatrixRef<'a>,
    pub scatter: &'a Scatter,
    pub least_shift: f64,
    pub max_iter: u32,
    pub metric: Metric,
    pub descent: Descent,
}

/// One run under way.
pub struct Restart {
    centroids: Matrix,
    /// Which centroids the costs do not know yet.
    moved: Vec<bool>,
    costs: Vec<f32>, // (n, k)
    transport: Transport,
    labels: Vec<u32>,
    sums: Option<Sums>,
    correction: Correction,
    iterations: u32,
    converged: bool,
    finished: bool,
}

impl Restart {
    pub fn new(start: Start, metric: Metric, transport: Transport) -> Self {
        Self {
            moved: vec![start.half_distances.is_none(); start.centroids.rows()],
            costs: start.half_distances.unwrap_or_default(),
            centroids: on_sphere(start.centroids, metric),
            transport,
            labels: Vec::new(),
            sums: None,
            correction: Correction::default(),
            iterations: 0,
            converged: false,
            finished: false,
        }
    }

    fn append_moved(&self, out: &mut Vec<f32>) {
        let rows = self.centroids.view().iter_rows().zip(&self.moved);
        rows.filter(|(_, moved)| **moved).for_each(|(row, _)| out.extend_from_slice(row));
    }
}

impl Lloyd<'_> {
    /// Iterates all restarts to their end, and calls `tick` with the number of steps now and then.
    pub fn run(
        &self,
        mut restarts: Vec<Restart>,
        tick: impl Fn(u64) -> Result<(), Cancelled>,
    ) -> Result<Vec<KMeansRun>, ClusterError> {
        let mut scratch = Vec::new();
        loop {
            let mut active: Vec<&mut Restart> =
                restarts.iter_mut().filter(|t| !t.finished).collect();
            if active.is_empty() {
                break;
            }
            let steps = active.len() as u64;
            self.step(&mut active, &mut scratch)?;
            tick(steps)?;
        }
        Ok(restarts.into_iter().map(|restart| self.conclude(restart)).collect())
    }

    /// One iteration of all restarts.
    fn step(
        &self,
        restarts: &mut [&mut Restart],
        scratch: &mut Vec<f32>,
    ) -> Result<(), ClusterError> {
        self.score(restarts, scratch);
        restarts
            .par_iter_mut()
            .try_for_each(carry(|restart: &mut &mut Restart| self.assign(restart)))?;
        if restarts[0].sums.is_none() {
            self.first_sums(restarts);
        }
        restarts
            .par_iter_mut()
            .for_each(carry(|restart: &mut &mut Restart| self.recentre(restart)));
        Ok(())
    }

    /// Brings the costs of all restarts up to date: half the squared distance of every row to each
    /// centroid, less a part that is the same for all centroids of a row. Late iterations leave
    /// many centroids where they are; only the others are multiplied with the rows, those of all
    /// restarts at once.
    fn score(&self, restarts: &mut [&mut Restart], scratch: &mut Vec<f32>) {
        let (n, d) = (self.x.rows(), self.x.cols());
        let mut moved = Vec::new();
        restarts.iter().for_each(|t| t.append_moved(&mut moved));
        let width = moved.len() / d;
        if width == 0 {
            return; // The start came with its distances.
        }
        let moved = Matrix::new(width, d, moved).expect("whole centroids");
        // A fixed shift: a cost does not depend on which other centroids are in the product.
        let centres = Centres::with_shift(moved, self.scatter.mean.clone());
        if let [restart] = restarts {
            restart.costs.resize(n * restart.moved.len(), 0.0);
            return self.refresh(&centres, &restart.moved, &mut restart.costs);
        }
        scratch.resize(n * width, 0.0);
        self.product(&centres, scratch);
        let mut next = 0;
        let from: Vec<usize> = restarts
            .iter()
            .map(|t| {
                let from = next;
                next += t.moved.iter().filter(|&&moved| moved).count();
                from
            })
            .collect();
        restarts.par_iter_mut().zip(from).for_each(|(restart, from)| {
            let k = restart.moved.len();
            let columns: Vec<usize> = (0..k).filter(|&j| restart.moved[j]).collect();
            restart.costs.resize(n * k, 0.0);
            let rows = restart.costs.chunks_exact_mut(k).zip(scratch.chunks_exact(width));
            for (costs, new) in rows {
                columns.iter().zip(&new[from..]).for_each(|(&j, &v)| costs[j] = v);
            }
        });
    }

    /// Puts the scores of all rows into the columns of `costs` whose centroids moved; a few rows at a
    /// time, because large data have no room for a second matrix of costs.
    fn refresh(&self, centres: &Centres, moved: &[bool], costs: &mut [f32]) {
        let k = moved.len();
        let columns: Vec<usize> = (0..k).filter(|&j| moved[j]).collect();
        if columns.len() == k {
            return self.product(centres, costs);
        }
        chunks::for_each_part_mut(costs, k, |range, costs| {
            centres.for_each_scores(self.x.slice(range), |i, scores| {
                let costs = &mut costs[i * k..(i + 1) * k];
                columns.iter().zip(scores).for_each(|(&j, &v)| costs[j] = v);
            });
        });
    }

    /// The scores of all rows, (n, centres).
    fn product(&self, centres: &Centres, out: &mut [f32]) {
        let k = centres.len();
        chunks::for_each_part_mut(out, k, |range, out| centres.scores(self.x.slice(range), out));
    }

    /// Gives the rows the cheapest labels, and says whether that is the end.
    fn assign(&self, restart: &mut Restart) -> Result<(), ClusterError> {
        restart.iterations += 1;
        let Restart { costs, transport, labels, sums, correction, .. } = restart;
        let Some(sums) = sums else {
            transport.solve(costs).map_err(unfit)?;
            *labels = transport.labels().collect();
            return Ok(());
        };
        let (k, mean) = (sums.sizes().len(), &self.scatter.mean);
        loop {
            let corrected = self.descent == Descent::Hartigan && correction.is_active();
            let squares = &self.scatter.squares;
            let own = corrected.then(|| correction.apply(costs, labels, sums.sizes(), squares));
            let solved = transport.solve(costs).map_err(unfit);
            let moves = moves(labels, transport);
            let expected = gain(costs, k, &moves);
            own.iter().for_each(|own| hartigan::restore(costs, labels, own));
            solved?;
            if expected <= 0.0 {
                // The labels are still optimal, and the centroids are their means.
                restart.converged = true;
                restart.finished = true;
                return Ok(());
            }
            let before = corrected.then(|| sums.clone());
            sums.apply(self.x, &moves);
            if let Some(before) = before {
                let gained = 0.5 * (sums.spread(mean) - before.spread(mean));
                if correction.update(expected, gained) == Step::Reject {
                    *sums = before;
                    continue;
                }
            }
            moves.iter().for_each(|m| labels[m.row as usize] = m.to);
            return Ok(());
        }
    }

    /// The sums of the first labels of all restarts, in one pass over the rows.
    fn first_sums(&self, restarts: &mut [&mut Restart]) {
        let labellings: Vec<&[u32]> = restarts.iter().map(|t| &t.labels[..]).collect();
        let all = Sums::of_each(self.x, &labellings, restarts[0].centroids.rows());
        restarts.iter_mut().zip(all).for_each(|(restart, sums)| restart.sums = Some(sums));
    }

    /// Moves the centroids of a restart that goes on to the means.
    fn recentre(&self, restart: &mut Restart) {
        if restart.finished {
            return;
        }
        let sums = restart.sums.as_ref().expect("a restart that was assigned has sums");
        let next = on_sphere(sums.means(), self.metric);
        let rests = squared_distance(next.data(), restart.centroids.data()) <= self.least_shift;
        for (j, moved) in restart.moved.iter_mut().enumerate() {
            // Costs that came with the start are distances, and not to be mixed with scores.
            *moved = restart.iterations == 1 || next.row(j) != restart.centroids.row(j);
        }
        restart.centroids = next;
        // Once the centroids rest, the rows are assigned to them one last time.
        let still = !restart.moved.contains(&true);
        restart.finished = still || restart.converged || restart.iterations >= self.max_iter;
        restart.converged |= rests || still;
    }

    /// Σ ‖row − c‖² = Σ ‖row − m‖² + Σ_j n_j (‖c_j − m‖² − 2 (mean_j − m)·(c_j − m)), which needs no
    /// look at the rows.
    fn conclude(&self, restart: Restart) -> KMeansRun {
        let Restart { centroids, labels, sums, iterations, converged, .. } = restart;
        let sums = sums.expect("every restart makes a step");
        let (means, m) = (sums.means(), &self.scatter.mean);
        let mut inertia = self.scatter.sum;
        for (j, &size) in sums.sizes().iter().enumerate() {
            let columns = centroids.row(j).iter().zip(means.row(j)).zip(m);
            let sum: f64 = columns
                .map(|((&c, &mean), &m)| {
                    let (c, mean) = (f64::from(c) - f64::from(m), f64::from(mean) - f64::from(m));
                    c * (c - 2.0 * mean)
                })
                .sum();
            inertia += f64::from(size) * sum;
        }
        KMeansRun { labels, centroids, inertia, iterations, converged, at_rest: true }
    }
}

fn unfit(error: TransportError) -> ClusterError {
    ClusterError::Unfit(format!("the rows are too far apart to compare ({error}); scale them"))
}

/// The rows whose label the solution changes, in row order.
fn moves(labels: &[u32], transport: &Transport) -> Vec<Move> {
    let rows = labels.iter().zip(transport.labels()).enumerate();
    rows.filter(|(_, (from, to))| *from != to)
        .map(|(i, (&from, to))| Move { row: i as u32, from, to })
        .collect()
}

/// By how much the moves lower the cost; at most zero if that is nothing but rounding.
fn gain(costs: &[f32], k: usize, moves: &[Move]) -> f64 {
    let (mut gain, mut scale) = (0.0, 0.0);
    for m in moves {
        let row = &costs[m.row as usize * k..(m.row as usize + 1) * k];
        let (from, to) = (f64::from(row[m.from as usize]), f64::from(row[m.to as usize]));
        gain += from - to;
        scale += from.abs() + to.abs();
    }
    gain - 1e-12 * scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::transport::Capacity;

    #[test]
    fn a_centroid_that_stays_at_its_first_row_keeps_its_rows() {
        // Eight equal rows: their mean is the row that the run starts from, while the other centroids
        // move. What a row costs there must be on the scale of the others.
        let x = Matrix::from_fn(24, 1, |i, _| match i {
            0..8 => 104.0,
            8..16 => 99.0 + (i % 3) as f32,
            _ => (i % 3) as f32,
        });
        let centroids = Matrix::from_rows(&[[104.0], [99.0], [0.0]]);
        let half = |(x, c): (&[f32], &[f32])| 0.5 * (x[0] - c[0]).powi(2);
        let (rows, centres) = (x.view(), centroids.view());
        let pairs = rows.iter_rows().flat_map(|x| centres.iter_rows().map(move |c| (x, c)));
        let half_distances = Some(pairs.map(half).collect());
        let scatter = Scatter::of(x.view());
        for descent in [Descent::Lloyd, Descent::Hartigan] {
            let lloyd = Lloyd {
                x: x.view(),
                scatter: &scatter,
                least_shift: 0.0,
                max_iter: 2,
                metric: Metric::Euclidean,
                descent,
            };
            let start = Start {
                centroids: centroids.clone(),
                half_distances: Option::clone(&half_distances),
            };
            let restart =
                Restart::new(start, Metric::Euclidean, Transport::new(Capacity::even(24, 3)));
            let run = lloyd.run(vec![restart], |_| Ok(())).unwrap().remove(0);
            assert_eq!(run.labels, [[0; 8], [1; 8], [2; 8]].concat());
        }
    }
}
