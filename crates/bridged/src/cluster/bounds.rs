//! The assignment step of k-means that skips rows which cannot change their centre.
//!
//! The centres are put into t groups. A row keeps an upper bound u on the distance to its own
//! centre and, for each group, a lower bound l on the distance to the nearest *other* centre of
//! that group, both true at the iteration in which they were measured. Now the row's centre is at
//! most u + ‖c(now) − c(then)‖ away and group g at least l_g − max_{j∈g} ‖c_j(now) − c_j(then)‖; while
//! the smallest of the latter exceeds the former, the row stays and costs O(t). This is Yinyang
//! k-means (Ding et al. 2015) with the displacement since the measurement in place of the summed
//! drifts (the ns-bounds of Newling & Fleuret 2016): skipped rows are not even written to.
//!
//! A row that fails first measures its own centre again, O(d); if that does not save it, it is
//! gathered with others into a tile whose scores are one matrix product. Rounding errors of the
//! product are inside the bounds, and centres that they cannot tell apart are measured in f64, so
//! the labels are those of a full pass, whatever tile a row is in.

use super::sums::Move;
use bridged_math::distance::{Centres, squared_distance};
use bridged_math::{Matrix, MatrixRef, chunks};
use rayon::prelude::*;

/// Rows gathered for one matrix product.
const TILE: usize = 256;
/// The most groups: their bounds are the memory that pruning takes, 4 bytes a row and group.
const MAX_GROUPS: usize = 32;
/// The most earlier sets of centres that are remembered; older measurements are made anew.
const MAX_HISTORY: usize = 128;

/// The iteration of a measurement that was not made.
const NEVER: u32 = u32::MAX;

/// Whether rows may be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pruning {
    On,
    Off,
}

/// What is known of one row.
#[derive(Clone, Copy, Debug)]
struct Row {
    label: u32,
    upper: f32,
    upper_at: u32, // iteration in which `upper` was measured
    lower_at: u32, // iteration in which its group bounds were measured
}

/// Labels of n rows that follow k moving centres.
pub(super) struct Assigner<'a> {
    x: MatrixRef<'a>,
    shift: Vec<f32>,
    order: Vec<u32>,  // internal position of a centre -> its number
    base: Vec<f32>,   // (n), ‖x − shift‖²
    rows: Vec<Row>,   // (n)
    lower: Vec<f32>,  // (n, t)
    groups: usize,    // t; internal position p is in group p % t
    history: History, // in internal order
    pruning: Pruning,
    epsilon: f32,
}

impl<'a> Assigner<'a> {
    /// Prepares for centres that start at `start`.
    pub fn new(x: MatrixRef<'a>, start: MatrixRef<'_>, pruning: Pruning) -> Self {
        let k = start.rows();
        let groups = (k / 8).next_multiple_of(8).clamp(8, MAX_GROUPS);
        let shift: Vec<f32> = start.mean_row().into_iter().map(|v| v as f32).collect();
        let mut base = vec![0.0f32; x.rows()];
        chunks::map_blocks_mut(&mut base, 1, |range, out| {
            for (o, i) in out.iter_mut().zip(range) {
                *o = squared_distance(x.row(i), &shift) as f32;
            }
        });
        let bounds = if pruning == Pruning::On { x.rows() * groups } else { 0 };
        Self {
            x,
            shift,
            order: group_similar(start, groups),
            base,
            rows: vec![Row { label: 0, upper: 0.0, upper_at: 0, lower_at: 0 }; x.rows()],
            lower: vec![0.0; bounds],
            groups,
            history: History::default(),
            pruning,
            // Rounding of a product of d terms, with room to spare.
            epsilon: f32::EPSILON * (8.0 + (x.cols() as f32).sqrt()),
        }
    }

    /// The labels now, numbered as the centres are.
    pub fn labels(&self) -> Vec<u32> {
        self.rows.iter().map(|r| self.order[r.label as usize]).collect()
    }

    /// Assigns every row to the nearest of `centroids` and returns the rows that moved, in order.
    pub fn assign(&mut self, centroids: MatrixRef<'_>) -> Vec<Move> {
        let first = self.history.is_empty();
        let internal = centroids.select(self.order.iter().map(|&j| j as usize));
        let centres = Centres::with_shift(internal.view(), self.shift.clone());
        self.history.push(internal, self.groups);
        let full = first || self.pruning == Pruning::Off;
        let pass = Pass {
            x: self.x,
            base: &self.base,
            radius: centres.radius(),
            centres: &centres,
            history: &self.history,
            groups: self.groups,
            epsilon: self.epsilon,
            pruning: self.pruning,
        };
        let len = chunks::block_len(self.x.rows());
        let lower_len = if self.pruning == Pruning::On { len * self.groups } else { 1 };
        let mut lowers: Vec<&mut [f32]> = self.lower.chunks_mut(lower_len).collect();
        lowers.resize_with(self.rows.len().div_ceil(len), Default::default);
        let moves: Vec<Vec<Move>> = self
            .rows
            .par_chunks_mut(len)
            .zip(lowers)
            .enumerate()
            .map(|(b, (rows, lower))| {
                if full {
                    pass.measure_all(b * len, rows, lower)
                } else {
                    pass.measure_some(b * len, rows, lower)
                }
            })
            .collect();
        let mut moves = moves.concat();
        for m in &mut moves {
            (m.from, m.to) = (self.order[m.from as usize], self.order[m.to as usize]);
        }
        moves
    }

    /// Puts a row into another cluster, whatever the distances say; it is measured anew next time.
    pub fn force(&mut self, m: Move) {
        let position = self.order.iter().position(|&j| j == m.to).expect("a known centre") as u32;
        // Its bounds leave out its old centre, which is now another one: they are void.
        self.rows[m.row as usize] =
            Row { label: position, upper: f32::INFINITY, upper_at: NEVER, lower_at: NEVER };
    }
}

/// One pass over the rows, shared by the threads.
struct Pass<'p> {
    x: MatrixRef<'p>,
    base: &'p [f32],
    centres: &'p Centres,
    radius: f32,
    history: &'p History,
    groups: usize,
    epsilon: f32,
    pruning: Pruning,
}

impl Pass<'_> {
    fn measure_all(&self, start: usize, rows: &mut [Row], lower: &mut [f32]) -> Vec<Move> {
        let mut moves = Vec::new();
        self.centres.for_each_scores(self.x.slice(start..start + rows.len()), |i, scores| {
            self.settle(
                start + i,
                scores,
                &mut rows[i],
                bounds_of(lower, i, self.groups),
                &mut moves,
            );
        });
        moves
    }

    fn measure_some(&self, start: usize, rows: &mut [Row], lower: &mut [f32]) -> Vec<Move> {
        let (d, k) = (self.x.cols(), self.centres.len());
        let mut moves = Vec::new();
        let mut waiting: Vec<usize> = Vec::with_capacity(TILE);
        let mut tile = vec![0.0f32; TILE.min(rows.len()) * d];
        let mut scores = vec![0.0f32; TILE.min(rows.len()) * k];
        let mut flush = |waiting: &mut Vec<usize>, rows: &mut [Row], lower: &mut [f32]| {
            let m = waiting.len();
            for (slot, &i) in tile.chunks_exact_mut(d).zip(waiting.iter()) {
                slot.copy_from_slice(self.x.row(start + i));
            }
            let gathered = MatrixRef::new(m, d, &tile[..m * d]).expect("the tile has m rows");
            self.centres.scores(gathered, &mut scores[..m * k]);
            for (&i, s) in waiting.iter().zip(scores.chunks_exact(k)) {
                let bounds = bounds_of(lower, i, self.groups);
                self.settle(start + i, s, &mut rows[i], bounds, &mut moves);
            }
            waiting.clear();
        };
        for i in 0..rows.len() {
            let bounds = &lower[i * self.groups..(i + 1) * self.groups];
            if self.stays(start + i, &mut rows[i], bounds) {
                continue;
            }
            waiting.push(i);
            if waiting.len() == TILE {
                flush(&mut waiting, rows, lower);
            }
        }
        flush(&mut waiting, rows, lower);
        moves
    }

    /// Whether the bounds prove that the row keeps its centre.
    fn stays(&self, i: usize, row: &mut Row, bounds: &[f32]) -> bool {
        let Some(away) = self.history.group_displacements(row.lower_at) else { return false };
        let mut nearest_other = f32::INFINITY;
        for (l, a) in bounds.iter().zip(away) {
            nearest_other = nearest_other.min(l - a);
        }
        if nearest_other <= 0.0 {
            return false;
        }
        let limit = nearest_other * nearest_other - 2.0 * self.slack(i);
        let moved = self.history.displacement(row.upper_at, row.label).unwrap_or(f32::INFINITY);
        let upper = row.upper + moved;
        if upper * upper < limit {
            return true;
        }
        let own = self.history.latest().row(row.label as usize);
        let exact = distance_f32(self.x.row(i), own);
        row.upper = (exact + self.slack(i)).sqrt();
        row.upper_at = self.history.now();
        row.upper * row.upper < limit
    }

    /// Takes the nearest centre by freshly computed scores and renews the bounds.
    fn settle(
        &self,
        i: usize,
        scores: &[f32],
        row: &mut Row,
        lower: &mut [f32],
        moves: &mut Vec<Move>,
    ) {
        let t = self.groups;
        let nearest = group_minima(scores, t);
        let best = nearest[..t].iter().copied().fold(f32::INFINITY, f32::min);
        let mut position =
            scores.iter().position(|&s| s == best).expect("the minimum is one of them");
        let mut others = without(nearest, scores, position, t);
        let slack = self.slack(i);
        // ‖x‖² + 2 × score is a squared distance, so this much of a score is in doubt.
        let doubt = best + slack;
        if others[..t].iter().any(|&s| s <= doubt) {
            position = self.nearest_exactly(i, scores, doubt);
            others = without(nearest, scores, position, t);
        }
        if position as u32 != row.label {
            moves.push(Move { row: i as u32, from: row.label, to: position as u32 });
        }
        row.label = position as u32;
        if self.pruning == Pruning::Off {
            return;
        }
        let base = self.base[i];
        row.upper = (base + 2.0 * scores[position] + slack).max(0.0).sqrt();
        row.upper_at = self.history.now();
        row.lower_at = self.history.now();
        for (l, &s) in lower.iter_mut().zip(&others[..t]) {
            *l = (base + 2.0 * s - slack).max(0.0).sqrt();
        }
    }

    /// The nearest by distances in f64 among the centres whose score is at most `doubt`; of equals
    /// the first.
    fn nearest_exactly(&self, i: usize, scores: &[f32], doubt: f32) -> usize {
        let to = |&p: &usize| squared_distance(self.x.row(i), self.history.latest().row(p));
        (0..scores.len())
            .filter(|&p| scores[p] <= doubt)
            .min_by(|a, b| to(a).total_cmp(&to(b)))
            .expect("the best score is below the doubt")
    }

    /// A bound on the rounding error of a squared distance of row i.
    fn slack(&self, i: usize) -> f32 {
        self.epsilon * (self.base[i] + self.radius * self.radius)
    }
}

/// The lowest score of each of t groups. Group g holds positions g, g + t, g + 2t, …: one vertical
/// minimum over slices of t.
fn group_minima(scores: &[f32], t: usize) -> [f32; MAX_GROUPS] {
    let mut nearest = [f32::INFINITY; MAX_GROUPS];
    for slice in scores.chunks(t) {
        for (n, &s) in nearest[..t].iter_mut().zip(slice) {
            *n = n.min(s);
        }
    }
    nearest
}

/// The minima of the groups when the centre at `position` is left out.
fn without(
    mut nearest: [f32; MAX_GROUPS],
    scores: &[f32],
    position: usize,
    t: usize,
) -> [f32; MAX_GROUPS] {
    let group = position % t;
    let others = scores.iter().enumerate().skip(group).step_by(t).filter(|&(p, _)| p != position);
    nearest[group] = others.map(|(_, &s)| s).fold(f32::INFINITY, f32::min);
    nearest
}

fn bounds_of(lower: &mut [f32], i: usize, groups: usize) -> &mut [f32] {
    if lower.is_empty() { lower } else { &mut lower[i * groups..(i + 1) * groups] }
}

/// ‖a − b‖² in `f32`, with sixteen running sums.
fn distance_f32(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; 16];
    let (a16, b16) = (a.chunks_exact(16), b.chunks_exact(16));
    let rest: f32 =
        a16.remainder().iter().zip(b16.remainder()).map(|(x, y)| (x - y) * (x - y)).sum();
    for (x, y) in a16.zip(b16) {
        for lane in 0..16 {
            let d = x[lane] - y[lane];
            sums[lane] += d * d;
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// The centres of earlier iterations and how far they are from those of now.
#[derive(Default)]
struct History {
    first: u32,              // the iteration of the oldest entry
    centres: Vec<Matrix>,    // one (k, d) an iteration
    moved: Vec<Vec<f32>>,    // (k): ‖c_j(now) − c_j(then)‖, rounded up
    by_group: Vec<Vec<f32>>, // (t): their maxima
}

impl History {
    fn is_empty(&self) -> bool {
        self.centres.is_empty()
    }

    fn now(&self) -> u32 {
        self.first + self.centres.len() as u32 - 1
    }

    fn latest(&self) -> &Matrix {
        self.centres.last().expect("a pass has centres")
    }

    fn push(&mut self, centres: Matrix, groups: usize) {
        if self.centres.len() == MAX_HISTORY {
            self.centres.remove(0);
            self.first += 1;
        }
        self.centres.push(centres);
        let now = self.latest();
        self.moved = self
            .centres
            .par_iter()
            .map(|then| {
                let distances = then.view().iter_rows().zip(now.view().iter_rows());
                distances.map(|(a, b)| squared_distance(a, b).sqrt() as f32 * 1.000_001).collect()
            })
            .collect();
        self.by_group = self
            .moved
            .iter()
            .map(|moved| {
                let mut furthest = vec![0.0f32; groups];
                for slice in moved.chunks(groups) {
                    furthest.iter_mut().zip(slice).for_each(|(f, &m)| *f = f.max(m));
                }
                furthest
            })
            .collect();
    }

    fn displacement(&self, since: u32, position: u32) -> Option<f32> {
        let entry = since.checked_sub(self.first)? as usize;
        Some(self.moved.get(entry)?[position as usize])
    }

    fn group_displacements(&self, since: u32) -> Option<&[f32]> {
        let entry = since.checked_sub(self.first)? as usize;
        self.by_group.get(entry).map(Vec::as_slice)
    }
}

/// An order of the centres in which positions p, p + t, p + 2t, … are close to each other.
fn group_similar(centres: MatrixRef<'_>, groups: usize) -> Vec<u32> {
    let k = centres.rows();
    let mut order = vec![0u32; k];
    let mut free: Vec<usize> = (0..k).collect();
    for g in 0..groups.min(k) {
        let members: Vec<usize> = (g..k).step_by(groups).collect();
        let leader = free[0];
        free.sort_by(|&a, &b| {
            let to = |j: usize| squared_distance(centres.row(j), centres.row(leader));
            to(a).total_cmp(&to(b)).then(a.cmp(&b))
        });
        for (p, j) in members.iter().zip(free.drain(..members.len())) {
            order[*p] = j as u32;
        }
        free.sort_unstable();
    }
    order
}
