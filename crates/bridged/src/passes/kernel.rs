//! A pass over the rows of one partition, which come in batches.
//!
//! Rows are taken one after the other, so the size of the batches changes no bit of the result.
//! Cost of an assignment: the products of rows and centroids, as for rows in memory.

use super::mixture::Shared;
use super::partial::{Drawn, Moments, Partial, Prices, Sums};
use super::pass::{Doubt, Mixture, Of, Pass, Priced, Work};
use bridged_math::distance::{Centres, nearest, squared_distance};
use bridged_math::transport::Choice;
use bridged_math::transport::large::{PricedCentres, Tally};
use bridged_math::{Matrix, MatrixRef, Seed, simd};
use thiserror::Error;

/// A row that no pass can use.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("row {row} {why}")]
pub struct BadRow {
    /// Its number in the partition.
    pub row: u64,
    /// What is wrong, and what to do.
    pub why: String,
}

/// What one pass makes of one partition.
pub struct Kernel {
    pass: Pass,
    part: u64,
    /// Rows that came so far.
    rows: u64,
    cols: Option<usize>,
    /// The centroids of a pass with prices, made ready once.
    priced: Option<PricedCentres>,
    /// The components of a pass with a mixture, and rows that wait for a tile to be full.
    shared: Option<Shared>,
    partial: Partial,
}

impl Kernel {
    /// Begins partition `part`.
    pub fn new(pass: Pass, part: u64) -> Self {
        let partial = match &pass.work {
            Work::Look => Partial::Moments(Moments::default()),
            Work::Sample { .. } | Work::Draw { .. } => Partial::Drawn(Drawn::default()),
            Work::Assign { centroids, farthest, .. } => {
                let k = centroids.rows();
                Partial::Sums(Sums {
                    weights: vec![0.0; k],
                    sizes: vec![0; k],
                    costs: vec![0.0; k],
                    wanted: *farthest,
                    ..Sums::default()
                })
            }
            Work::Mixture(work) => Partial::Mixture(work.no_rows()),
            Work::Price(Priced { centroids, .. }) => {
                let k = centroids.rows();
                let (costs, tally) = (vec![0.0; k], Tally::new(k));
                Partial::Prices(Prices { costs, tally, ..Prices::default() })
            }
        };
        let (mut priced, mut shared) = (None, None);
        match &pass.work {
            Work::Price(work) => priced = Some(work.centres()),
            Work::Mixture(work) => shared = Some(Shared::new(work, part)),
            _ => {}
        }
        Self { pass, part, rows: 0, cols: None, priced, shared, partial }
    }

    /// The next rows, and how often each counts.
    pub fn add(&mut self, rows: MatrixRef<'_>, weights: Option<&[f64]>) -> Result<(), BadRow> {
        let first = self.rows;
        let bad = |row: usize, why: String| Err(BadRow { row: first + row as u64, why });
        if weights.is_some_and(|w| w.len() != rows.rows()) {
            return bad(0, "has no weight".into());
        }
        if rows.rows() == 0 {
            return Ok(());
        }
        let cols = *self.cols.get_or_insert(rows.cols());
        if rows.cols() != cols {
            return bad(0, format!("has {} columns, but the rows before it {cols}", rows.cols()));
        }
        if cols == 0 {
            return bad(0, "has no columns".into());
        }
        if let Some(wanted) = self.wanted_cols(cols).filter(|&wanted| wanted != cols) {
            return bad(0, format!("has {cols} columns, but {wanted} are needed"));
        }
        let is_weight = |w: f64| w.is_finite() && w >= 0.0;
        if let Some(row) = weights.and_then(|w| w.iter().position(|&w| !is_weight(w))) {
            return bad(row, "has a weight that is negative or no number; repair it".into());
        }
        let seen = self.pass.view.of(rows);
        let width = self.pass.view.cols(cols);
        let seen = MatrixRef::new(rows.rows(), width, &seen).expect("one row for each");
        let at = (self.part, first);
        match (&self.pass.work, &mut self.partial) {
            (Work::Look, Partial::Moments(moments)) => {
                if let Some((row, column)) = rows.first_non_finite() {
                    let why =
                        format!("holds NaN or infinity in column {column}; remove or repair it");
                    return bad(row, why);
                }
                look(rows, weights, moments);
            }
            (Work::Sample { seed, share }, Partial::Drawn(drawn)) => {
                sample(rows, at, *seed, *share, drawn);
            }
            (Work::Draw { centres, seed, rate }, Partial::Drawn(drawn)) => {
                draw(seen, weights, at, (centres, *seed, *rate), drawn);
            }
            (Work::Assign { centroids, sums, .. }, Partial::Sums(all)) => {
                let added = if *sums == Of::Data { rows } else { seen };
                assign(seen, added, weights, at, centroids, all);
            }
            (Work::Mixture(_), Partial::Mixture(all)) => {
                self.shared.as_mut().expect("made with the kernel").add(seen, all);
            }
            (Work::Price(work), Partial::Prices(all)) => {
                let added = if work.sums == Of::Data { rows } else { seen };
                let centres = self.priced.as_ref().expect("made with the kernel");
                if !price((seen, added, rows), at, (work, centres), all) {
                    return bad(0, "or one soon after it is too far from the others to compare; scale the rows".into());
                }
            }
            _ => unreachable!("the partial result was made for the pass"),
        }
        self.rows += rows.rows() as u64;
        Ok(())
    }

    /// The columns that rows must have, if the pass says so.
    fn wanted_cols(&self, cols: usize) -> Option<usize> {
        use crate::scale::Scaler;
        match (&self.pass.view.scaler, &self.pass.work) {
            (Scaler::Affine { shift: mean, .. } | Scaler::Project { mean, .. }, _) => {
                Some(mean.len())
            }
            (
                _,
                Work::Draw { centres: c, .. }
                | Work::Assign { centroids: c, .. }
                | Work::Price(Priced { centroids: c, .. }),
            ) => Some(c.cols()),
            (_, Work::Mixture(Mixture { shift, .. })) => Some(shift.len()),
            (_, Work::Look | Work::Sample { .. }) => Some(cols),
        }
    }

    /// What all rows came to.
    pub fn finish(mut self) -> Partial {
        if let Partial::Moments(moments) = &mut self.partial {
            moments.parts.push((self.part, self.rows));
        }
        if let (Some(mut shared), Partial::Mixture(all)) = (self.shared.take(), &mut self.partial) {
            shared.end(all);
        }
        self.partial
    }
}

/// A number from 0 to 1 that belongs to a row, (partition, row), whatever else is in its partition. A row is in
/// a [sample](super::Work::Sample) if it is below the share.
pub fn chance(seed: u64, (part, row): (u64, u64)) -> f64 {
    let Seed(bits) = Seed(seed).nth(part as usize).nth(row as usize);
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Welford's update, row by row.
fn look(rows: MatrixRef<'_>, weights: Option<&[f64]>, moments: &mut Moments) {
    let d = rows.cols();
    if moments.mean.is_empty() {
        (moments.mean, moments.scatter) = (vec![0.0; d], vec![0.0; d]);
    }
    moments.largest = moments.largest.max(crate::range::largest(rows));
    let Moments { weight, mean, scatter, .. } = moments;
    simd::vectorize(
        #[inline(always)]
        || {
            for (i, row) in rows.iter_rows().enumerate() {
                let w = weights.map_or(1.0, |w| w[i]);
                *weight += w;
                let share = if *weight > 0.0 { w / *weight } else { 0.0 };
                for ((m, s), &v) in mean.iter_mut().zip(&mut *scatter).zip(row) {
                    let apart = f64::from(v) - *m;
                    *m += share * apart;
                    *s += w * apart * (f64::from(v) - *m);
                }
            }
        },
    );
}

fn sample(rows: MatrixRef<'_>, (part, first): (u64, u64), seed: u64, share: f64, out: &mut Drawn) {
    for (at, row) in (first..).zip(rows.iter_rows()) {
        let key = chance(seed, (part, at));
        if key < share {
            out.rows.push((part, at), key, row);
        }
    }
    out.count += rows.rows() as u64;
}

fn draw(
    rows: MatrixRef<'_>,
    weights: Option<&[f64]>,
    (part, first): (u64, u64),
    (centres, seed, rate): (&Matrix, u64, f64),
    out: &mut Drawn,
) {
    let labels = nearest(rows, centres.view());
    for (i, (row, label)) in rows.iter_rows().zip(labels).enumerate() {
        let at = (part, first + i as u64);
        let weight = weights.map_or(1.0, |w| w[i]);
        let cost = weight * squared_distance(row, centres.row(label as usize));
        out.cost += cost;
        let key = chance(seed, at);
        if key < rate * cost {
            out.rows.push(at, key, row);
        }
    }
    out.count += rows.rows() as u64;
}

fn assign(
    seen: MatrixRef<'_>,
    added: MatrixRef<'_>,
    weights: Option<&[f64]>,
    (part, first): (u64, u64),
    centroids: &Matrix,
    all: &mut Sums,
) {
    let d = added.cols();
    all.sums.resize(centroids.rows() * d, 0.0);
    let labels = nearest(seen, centroids.view());
    let farthest = &mut all.farthest;
    let wanted = all.wanted as usize;
    for (i, &label) in labels.iter().enumerate() {
        let j = label as usize;
        let weight = weights.map_or(1.0, |w| w[i]);
        let cost = weight * squared_distance(seen.row(i), centroids.row(j));
        all.sizes[j] += 1;
        all.weights[j] += weight;
        all.costs[j] += cost;
        // Rows come in order, so of equals the first is kept.
        let least = (farthest.len() >= wanted).then(|| farthest.keys.last().copied()).flatten();
        if wanted > 0 && cost > 0.0 && least.is_none_or(|least| cost > least) {
            farthest.push((part, first + i as u64), cost, seen.row(i));
            farthest.keep_largest(wanted);
        }
    }
    let sums = &mut all.sums;
    simd::vectorize(
        #[inline(always)]
        || {
            for (i, &label) in labels.iter().enumerate() {
                let weight = weights.map_or(1.0, |w| w[i]);
                let sum = &mut sums[label as usize * d..(label as usize + 1) * d];
                for (s, &v) in sum.iter_mut().zip(added.row(i)) {
                    *s += weight * f64::from(v);
                }
            }
        },
    );
}

impl Priced {
    /// The centroids with their prices.
    pub(super) fn centres(&self) -> PricedCentres {
        let centres = Centres::with_shift(self.centroids.clone(), self.shift.clone());
        PricedCentres::new(centres, self.prices.clone(), (self.reach, self.every as usize))
    }
}

impl Doubt {
    /// Whether a row with this margin is in doubt.
    pub(super) fn holds(&self, at: (u64, u64), margin: f32) -> bool {
        margin < self.below || (margin < self.some_below && chance(self.seed, at) < self.share)
    }
}

/// Rows for which distances are measured, that are added up, and as they are in the data.
type Forms<'a> = (MatrixRef<'a>, MatrixRef<'a>, MatrixRef<'a>);

/// False if a cost is no number.
fn price(
    (seen, added, data): Forms<'_>,
    (part, first): (u64, u64),
    (work, centres): (&Priced, &PricedCentres),
    all: &mut Prices,
) -> bool {
    let d = added.cols();
    all.sums.resize(work.centroids.rows() * d, 0.0);
    let mut chosen = vec![Choice::default(); seen.rows()];
    if !centres.choose(first as usize, seen, &mut chosen, &mut all.tally) {
        return false;
    }
    let mut stay = Vec::with_capacity(chosen.len());
    for (i, choice) in chosen.iter().enumerate() {
        let at = (part, first + i as u64);
        if work.doubt.holds(at, choice.margin) {
            all.doubt.push(at, f64::from(choice.margin), data.row(i));
        } else {
            let j = choice.label as usize;
            all.costs[j] += squared_distance(seen.row(i), work.centroids.row(j));
            stay.push(i);
        }
    }
    let sums = &mut all.sums;
    simd::vectorize(
        #[inline(always)]
        || {
            for &i in &stay {
                let j = chosen[i].label as usize;
                let sum = &mut sums[j * d..(j + 1) * d];
                sum.iter_mut().zip(added.row(i)).for_each(|(s, &v)| *s += f64::from(v));
            }
        },
    );
    if !work.after.is_empty() {
        let (rows, chosen) = match stay.len() == chosen.len() {
            true => (None, chosen),
            false => {
                let rows = seen.select(stay.iter().copied());
                (Some(rows), stay.iter().map(|&i| chosen[i]).collect())
            }
        };
        let rows = rows.as_ref().map_or(seen, Matrix::view);
        centres.lacking(rows, &chosen, &work.after, |cost| all.lacking += cost);
    }
    true
}
