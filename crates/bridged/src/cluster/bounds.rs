//! The assignment step of k-means that skips distances which cannot change a row's centre.
//!
//! The centres are put into t groups, where memory allows one for each centre. A row keeps an upper
//! bound u on the distance to its own centre and, for each group, a lower bound l on the distance
//! to the nearest *other* centre of that group, each true at the iteration in which it was
//! measured. Now the row's centre is at most u + ‖c(now) − c(then)‖ away and group g at least
//! l_g − max_{j∈g} ‖c_j(now) − c_j(then)‖; only the groups whose bound does not exceed the former can
//! hold a nearer centre. This is Elkan's k-means (2003), with groups that of Yinyang (Ding et al.
//! 2015), with the displacement since the measurement in place of the summed drifts (the ns-bounds
//! of Newling & Fleuret 2016): bounds that hold are not even written to.
//!
//! A row with suspect groups first measures its own centre again, O(d), which clears most of them.
//! The centres of those that remain are measured one by one; if they are many, the row is gathered
//! with others into a tile whose scores to all centres are one matrix product. Rounding errors are
//! inside the bounds, and centres that they cannot tell apart are measured in f64, so the labels are
//! those of a full pass, whatever way a row took; of equal distances the centre of the lowest number is
//! taken. Labels follow from a row and the centres alone: not from the groups, which follow from the memory
//! that is free, nor from earlier passes.

use super::history::History;
use super::sums::Move;
use bridged_math::cancel::carry;
use bridged_math::distance::{
    Centres, least, least_and_close, squared_distance, squared_norm, squared_to_some,
};
use bridged_math::{MatrixRef, Rows, RowsError, chunks};
use rayon::prelude::*;
use std::ops::Range;

/// Rows gathered for one matrix product.
const TILE: usize = 128;
/// Bytes that a bound takes: the distance, and when it was measured.
const BOUND: usize = 5;
/// The fewest and the most groups where there are too many centres for a bound each.
const GROUPS: (usize, usize) = (8, 32);
/// Distances one by one cost about twice those of a product: from this share of the centres on, a
/// row is measured against all of them.
const MANY: f32 = 0.5;
/// Rows of a block that are looked at to see whether bounds are worth a look at the others.
const PROBES: usize = 32;

/// Whether distances may be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pruning {
    On,
    Off,
}

/// What is known of one row besides the bounds of the groups. Bounds hold at an entry of the history.
#[derive(Clone, Copy, Debug)]
struct RowState {
    label: u32,
    upper: f32, // on the distance to its own centre
    other: f32, // below the distance to every other centre: the least of the groups
    upper_at: u8,
    other_at: u8,
}

impl RowState {
    /// Nothing is known but the centre.
    fn unknown(label: u32, now: u8) -> Self {
        Self { label, upper: f32::INFINITY, other: 0.0, upper_at: now, other_at: now }
    }

    /// A bound on the distance to its own centre as it is now.
    fn upper_now(&self, history: &History) -> f32 {
        self.upper + history.moved(self.upper_at, self.label)
    }
}

/// Labels of n rows that follow k moving centres. The rows themselves come by in every pass.
pub(super) struct Assigner {
    cols: usize,
    shift: Vec<f32>,
    origin: f32,         // ‖shift‖
    order: Vec<u32>,     // internal position of a centre -> its number
    base: Vec<f32>,      // (n), ‖x − shift‖²
    rows: Vec<RowState>, // (n)
    lower: Vec<f32>,     // (n, t)
    since: Vec<u8>,      // (n, t): the entries of the history at which `lower` was measured
    groups: usize,       // t; internal position p is in group p % t
    history: History,    // in internal order
    pruning: Pruning,
    epsilon: f32,
}

impl Assigner {
    /// Prepares for `rows` rows and centres that start at `start`. Bounds take at most `room` bytes: with
    /// fewer of them more distances are measured, and the labels are the same.
    pub fn new(rows: usize, start: MatrixRef<'_>, pruning: Pruning, room: u64) -> Self {
        let (k, cols) = (start.rows(), start.cols());
        let affordable = (room / (BOUND * rows.max(1)) as u64) as usize;
        let groups = groups_for(k, cols).min(affordable.max(1));
        let pruning = if affordable == 0 { Pruning::Off } else { pruning };
        let shift: Vec<f32> = start.mean_row().into_iter().map(|v| v as f32).collect();
        let bounds = if pruning == Pruning::On { rows * groups } else { 0 };
        Self {
            cols,
            origin: squared_norm(&shift).sqrt() as f32,
            shift,
            order: group_similar(start, groups),
            base: vec![0.0; rows],
            rows: vec![RowState::unknown(0, 0); rows],
            lower: vec![0.0; bounds],
            since: vec![0; bounds],
            groups,
            history: History::new(rows, k, groups),
            pruning,
            // Rounding of a product of d terms, with room to spare.
            epsilon: f32::EPSILON * (8.0 + (cols as f32).sqrt()),
        }
    }

    /// The labels now, numbered as the centres are.
    pub fn labels(&self) -> Vec<u32> {
        self.labels_of(0..self.rows.len())
    }

    /// The labels of some rows.
    pub fn labels_of(&self, rows: Range<usize>) -> Vec<u32> {
        self.rows[rows].iter().map(|r| self.order[r.label as usize]).collect()
    }

    /// Assigns every row to the nearest of `centroids`; `each` sees the parts with the rows that moved, in order.
    pub fn assign(
        &mut self,
        rows: &dyn Rows,
        centroids: MatrixRef<'_>,
        each: &mut dyn FnMut(&Self, Part<'_>),
    ) -> Result<(), RowsError> {
        let first_pass = self.history.is_empty();
        let full = first_pass || self.pruning == Pruning::Off;
        if self.history.is_full() {
            self.forget();
        }
        let internal = centroids.select(self.order.iter().map(|&j| j as usize));
        let centres = Centres::with_shift(internal.clone(), self.shift.clone());
        self.history.push(internal);
        rows.scan(&mut |first, part| {
            if first_pass {
                self.measure_base(first, part);
            }
            let moves = self.assign_part(first, part, &centres, full);
            each(self, Part { first, rows: part, moves: &moves });
            Ok(())
        })
    }

    /// ‖x − shift‖² of the rows of a part.
    fn measure_base(&mut self, first: usize, part: MatrixRef<'_>) {
        let shift = &self.shift;
        chunks::map_blocks_mut(&mut self.base[first..first + part.rows()], 1, |range, out| {
            for (o, i) in out.iter_mut().zip(range) {
                *o = squared_distance(part.row(i), shift) as f32;
            }
        });
    }

    fn assign_part(
        &mut self,
        first: usize,
        x: MatrixRef<'_>,
        centres: &Centres,
        full: bool,
    ) -> Vec<Move> {
        debug_assert_eq!(x.cols(), self.cols);
        let end = first + x.rows();
        let pass = Pass {
            x,
            base: &self.base[first..end],
            radius: centres.radius(),
            origin: self.origin,
            centres,
            order: &self.order,
            history: &self.history,
            groups: self.groups,
            epsilon: self.epsilon,
        };
        let len = chunks::block_len(x.rows());
        let blocks = x.rows().div_ceil(len);
        let of_part = |bounds: usize| match bounds {
            0 => 0..0,
            _ => first * self.groups..end * self.groups,
        };
        let (lower, since) = (of_part(self.lower.len()), of_part(self.since.len()));
        let bounds = LowerBounds::blocks(
            &mut self.lower[lower],
            &mut self.since[since],
            self.groups,
            len,
            blocks,
        );
        let measure = |(b, (rows, bounds))| {
            let mut block = Block { pass: &pass, start: b * len, rows, bounds, moves: vec![] };
            if full || block.is_hopeless() {
                block.measure_all()
            } else {
                block.measure_some()
            }
            block.moves
        };
        let blocks = self.rows[first..end].par_chunks_mut(len).zip(bounds).enumerate();
        let moves: Vec<Vec<Move>> = blocks.map(carry(measure)).collect();
        let mut moves = moves.concat();
        for m in &mut moves {
            m.row += first as u32;
            (m.from, m.to) = (self.order[m.from as usize], self.order[m.to as usize]);
        }
        moves
    }

    /// Puts a row into another cluster, whatever the distances say; it is measured anew next time.
    pub fn force(&mut self, m: Move) {
        let position = self.order.iter().position(|&j| j == m.to).expect("a known centre") as u32;
        let (row, t) = (m.row as usize, self.groups);
        self.rows[row] = RowState::unknown(position, self.history.now());
        if self.pruning == Pruning::On {
            // Its bounds leave out its old centre, which is now another one: they are void.
            self.lower[row * t..(row + 1) * t].fill(0.0);
        }
    }

    /// Brings every bound up to the latest centres, so that the earlier ones can go.
    fn forget(&mut self) {
        let (history, t) = (&self.history, self.groups);
        self.rows.par_iter_mut().for_each(|row| {
            row.upper = row.upper_now(history);
            row.other -= history.all_moved(row.other_at);
            (row.upper_at, row.other_at) = (0, 0);
        });
        let bounds = self.lower.par_chunks_mut(t).zip(self.since.par_chunks_mut(t));
        bounds.for_each(|(lower, since)| {
            for g in 0..lower.len() {
                lower[g] -= history.group_moved(since[g], g);
                since[g] = 0;
            }
        });
        self.history.keep_latest();
    }
}

/// What a pass shows of a part of the rows.
pub(super) struct Part<'a> {
    /// The number of its first row.
    pub first: usize,
    pub rows: MatrixRef<'a>,
    /// The rows that moved, numbered among all.
    pub moves: &'a [Move],
}

/// One group for each centre while the bounds take at most a third of what the rows do, or fewer.
fn groups_for(k: usize, cols: usize) -> usize {
    let affordable = cols * size_of::<f32>() / 3 / BOUND;
    let few = (k / 8).next_multiple_of(8).clamp(GROUPS.0, GROUPS.1);
    k.min(affordable.max(few))
}

/// The bytes of what is known of all rows without any bound.
pub(super) fn least_memory(rows: usize) -> f64 {
    (rows * (size_of::<RowState>() + size_of::<f32>())) as f64
}

/// The bytes of the bounds of all rows.
pub(super) fn bounds_memory(rows: usize, cols: usize, k: usize) -> f64 {
    rows as f64 * (size_of::<RowState>() + BOUND * groups_for(k.max(1), cols)) as f64
}

/// The lower bounds of a block of rows; without any when nothing is to be skipped.
struct LowerBounds<'b> {
    lower: &'b mut [f32],
    since: &'b mut [u8],
    groups: usize,
}

impl<'b> LowerBounds<'b> {
    /// Those of `count` blocks of `len` rows.
    fn blocks(
        lower: &'b mut [f32],
        since: &'b mut [u8],
        groups: usize,
        len: usize,
        count: usize,
    ) -> Vec<Self> {
        let size = len * groups;
        let parts = lower.chunks_mut(size).zip(since.chunks_mut(size));
        let mut blocks: Vec<Self> =
            parts.map(|(lower, since)| Self { lower, since, groups }).collect();
        blocks.resize_with(count, || Self { lower: &mut [], since: &mut [], groups });
        blocks
    }

    fn is_empty(&self) -> bool {
        self.lower.is_empty()
    }

    fn of(&mut self, i: usize) -> (&mut [f32], &mut [u8]) {
        let range = i * self.groups..(i + 1) * self.groups;
        (&mut self.lower[range.clone()], &mut self.since[range])
    }
}

/// One pass over the rows, shared by the threads.
struct Pass<'p> {
    x: MatrixRef<'p>,
    base: &'p [f32],
    centres: &'p Centres,
    order: &'p [u32],
    radius: f32,
    origin: f32, // how far the shift is from the origin
    history: &'p History,
    groups: usize,
    epsilon: f32,
}

impl Pass<'_> {
    /// A bound on the rounding error of a squared distance of row i. A score sums products of x and
    /// c̃, and x is as long as the shift where the data lie far from the origin.
    fn slack(&self, i: usize) -> f32 {
        self.epsilon * (self.base[i] + self.radius * (self.radius + self.origin))
    }

    /// How far a centre must be from row i to be certainly further than `upper`.
    fn reach(&self, i: usize, upper: f32) -> f32 {
        (upper * upper + 2.0 * self.slack(i)).sqrt()
    }

    /// The squared distance of row i to each of some centres, within the slack.
    fn squared(&self, i: usize, positions: &[u32], out: &mut [f32]) {
        squared_to_some(self.x.row(i), self.history.latest().view(), positions, out);
    }

    /// The nearest by distances in f64 among some centres; of equals the one of the lowest number.
    fn nearest_exactly(&self, i: usize, positions: impl Iterator<Item = u32>) -> u32 {
        let (row, centres) = (self.x.row(i), self.history.latest());
        let measured = positions.map(|p| (squared_distance(row, centres.row(p as usize)), p));
        let number = |p: u32| self.order[p as usize];
        let nearest =
            measured.min_by(|a, b| a.0.total_cmp(&b.0).then(number(a.1).cmp(&number(b.1))));
        nearest.expect("there is a position").1
    }
}

/// A block of rows in the hands of one thread.
struct Block<'b, 'p> {
    pass: &'b Pass<'p>,
    start: usize, // the number of its first row
    rows: &'b mut [RowState],
    bounds: LowerBounds<'b>,
    moves: Vec<Move>,
}

/// Buffers for one row after the other.
struct Scratch {
    low: Vec<f32>,       // (t), the lower bounds as of now
    suspects: Vec<u32>,  // groups that may hold a nearer centre
    positions: Vec<u32>, // the row's own centre, and those of the suspects
    squared: Vec<f32>,   // how far they are
}

impl Scratch {
    fn new(groups: usize) -> Self {
        Self { low: vec![0.0; groups], suspects: vec![], positions: vec![], squared: vec![] }
    }
}

impl Block<'_, '_> {
    /// Whether most rows, by a look at some, would have to be measured against all centres.
    fn is_hopeless(&mut self) -> bool {
        let step = self.rows.len().div_ceil(PROBES);
        let mut scratch = Scratch::new(self.pass.groups);
        let probes = (0..self.rows.len()).step_by(step);
        let all = probes.len();
        let many = probes.filter(|&i| {
            self.suspect(i, &mut scratch);
            self.are_many(&scratch)
        });
        2 * many.count() > all
    }

    fn are_many(&self, scratch: &Scratch) -> bool {
        scratch.suspects.len() as f32 > MANY * self.pass.groups as f32
    }

    fn measure_all(&mut self) {
        let (pass, start) = (self.pass, self.start);
        pass.centres.for_each_scores(pass.x.slice(start..start + self.rows.len()), |i, scores| {
            self.settle(i, scores);
        });
    }

    fn measure_some(&mut self) {
        let (x, k) = (self.pass.x, self.pass.centres.len());
        let d = x.cols();
        let mut waiting: Vec<usize> = Vec::with_capacity(TILE);
        let mut tile = vec![0.0f32; TILE.min(self.rows.len()) * d];
        let mut scores = vec![0.0f32; TILE.min(self.rows.len()) * k];
        let mut scratch = Scratch::new(self.pass.groups);
        let mut flush = |block: &mut Self, waiting: &mut Vec<usize>| {
            let m = waiting.len();
            for (slot, &i) in tile.chunks_exact_mut(d).zip(waiting.iter()) {
                slot.copy_from_slice(x.row(block.start + i));
            }
            let gathered = MatrixRef::new(m, d, &tile[..m * d]).expect("the tile has m rows");
            block.pass.centres.scores(gathered, &mut scores[..m * k]);
            for (&i, scores) in waiting.iter().zip(scores.chunks_exact(k)) {
                block.settle(i, scores);
            }
            waiting.clear();
        };
        for i in self.doubtful().into_iter().map(|i| i as usize) {
            let own = self.suspect(i, &mut scratch);
            if self.are_many(&scratch) {
                waiting.push(i);
            } else if !scratch.suspects.is_empty() {
                self.measure(i, own, &mut scratch);
            }
            if waiting.len() == TILE {
                flush(self, &mut waiting);
            }
        }
        flush(self, &mut waiting);
        self.moves.sort_unstable_by_key(|m| m.row);
    }

    /// The rows that might move, as far as one bound on all other centres tells.
    fn doubtful(&self) -> Vec<u32> {
        let history = self.pass.history;
        let doubtful = |&i: &u32| {
            let row = &self.rows[i as usize];
            let (upper, other) =
                (row.upper_now(history), row.other - history.all_moved(row.other_at));
            let slack = self.pass.slack(self.start + i as usize);
            other <= 0.0 || other * other <= upper * upper + 2.0 * slack
        };
        (0..self.rows.len() as u32).filter(doubtful).collect()
    }

    /// Finds the groups that may hold a nearer centre. If there are any, the squared distance to
    /// the row's own centre was measured and is returned.
    fn suspect(&mut self, i: usize, scratch: &mut Scratch) -> f32 {
        let (pass, at, row) = (self.pass, self.start + i, &mut self.rows[i]);
        let history = pass.history;
        let reach = pass.reach(at, row.upper_now(history));
        scratch.suspects.clear();
        let (lower, since) = self.bounds.of(i);
        row.other = history.bring_up(lower, since, &mut scratch.low);
        row.other_at = history.now();
        if row.other > reach {
            return f32::NAN;
        }
        let mut own = [0.0];
        pass.squared(at, &[row.label], &mut own);
        let [own] = own;
        row.upper = (own + pass.slack(at)).sqrt();
        row.upper_at = history.now();
        let reach = pass.reach(at, row.upper);
        if row.other <= reach {
            at_most(&scratch.low, reach, &mut scratch.suspects);
        }
        own
    }

    /// Takes the nearest of the row's own centre, at the squared distance `own`, and those of the
    /// suspect groups.
    fn measure(&mut self, i: usize, own: f32, scratch: &mut Scratch) {
        let (pass, at) = (self.pass, self.start + i);
        let (t, k, now) = (pass.groups, pass.centres.len() as u32, pass.history.now());
        let (slack, label) = (pass.slack(at), self.rows[i].label);
        let Scratch { low, suspects, positions, squared } = scratch;
        positions.clear();
        positions.push(label);
        for &g in suspects.iter() {
            positions.extend((g..k).step_by(t).filter(|&p| p != label));
            low[g as usize] = f32::INFINITY;
        }
        squared.resize(positions.len(), 0.0);
        squared[0] = own;
        pass.squared(at, &positions[1..], &mut squared[1..]);
        let (best, close) = least_and_close(squared, 2.0 * slack);
        let mut nearest = best;
        if close > 1 {
            let doubt = squared[best] + 2.0 * slack;
            let close = positions.iter().zip(&*squared).filter(|m| *m.1 <= doubt).map(|m| *m.0);
            let position = pass.nearest_exactly(at, close);
            nearest = positions.iter().position(|&p| p == position).expect("one of them");
        }
        let (position, upper) = (positions[nearest], squared[nearest]);
        // The row's own centre is another one if it is left, and else none of a group's others.
        squared[nearest] = f32::INFINITY;
        for (&p, &squared) in positions.iter().zip(&*squared) {
            let bound = &mut low[p as usize % t];
            *bound = lesser(*bound, (squared - slack).max(0.0).sqrt());
        }
        let (lower, since) = self.bounds.of(i);
        // The centre that it leaves is another one from now on.
        let left = (position != label).then_some(label % t as u32);
        for g in suspects.iter().copied().chain(left) {
            (lower[g as usize], since[g as usize]) = (low[g as usize], now);
        }
        if position != label {
            self.moves.push(Move { row: at as u32, from: label, to: position });
        }
        self.rows[i] = RowState {
            label: position,
            upper: (upper + slack).sqrt(),
            other: least(low),
            upper_at: now,
            other_at: now,
        };
    }

    /// Takes the nearest centre by the scores of all and renews the bounds.
    fn settle(&mut self, i: usize, scores: &[f32]) {
        let (pass, at) = (self.pass, self.start + i);
        let (t, now, slack) = (pass.groups, pass.history.now(), pass.slack(at));
        // ‖x‖² + 2 × score is a squared distance, so this much of a score is in doubt.
        let (best, close) = least_and_close(scores, slack);
        let mut position = best as u32;
        if close > 1 {
            let doubt = scores[best] + slack;
            let close = (0u32..).zip(scores).filter(|s| *s.1 <= doubt).map(|s| s.0);
            position = pass.nearest_exactly(at, close);
        }
        let label = std::mem::replace(&mut self.rows[i].label, position);
        if position != label {
            self.moves.push(Move { row: at as u32, from: label, to: position });
        }
        if self.bounds.is_empty() {
            return;
        }
        let base = pass.base[at];
        let upper = (base + 2.0 * scores[position as usize] + slack).max(0.0).sqrt();
        let (lower, since) = self.bounds.of(i);
        since.fill(now);
        lower.fill(f32::INFINITY);
        for slice in scores.chunks(t) {
            lower.iter_mut().zip(slice).for_each(|(l, &s)| *l = lesser(*l, s));
        }
        let group = position as usize % t;
        let others = scores.iter().enumerate().skip(group).step_by(t);
        lower[group] = others
            .filter(|&(p, _)| p != position as usize)
            .fold(f32::INFINITY, |least, (_, &s)| least.min(s));
        lower.iter_mut().for_each(|l| *l = (base + 2.0 * *l - slack).max(0.0).sqrt());
        let other = least(lower);
        self.rows[i] = RowState { label: position, upper, other, upper_at: now, other_at: now };
    }
}

/// The lesser of two numbers. Unlike `f32::min` it is one instruction, because it does not care for
/// NaN, which does not occur here.
#[inline(always)]
fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The positions of the numbers that are at most `limit`, in order.
fn at_most(values: &[f32], limit: f32, out: &mut Vec<u32>) {
    out.clear();
    let mut from = 0;
    for eight in values.chunks(8) {
        let mut mask = 0u32;
        (0..eight.len()).for_each(|lane| mask |= u32::from(eight[lane] <= limit) << lane);
        while mask != 0 {
            out.push(from + mask.trailing_zeros());
            mask &= mask - 1;
        }
        from += 8;
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
