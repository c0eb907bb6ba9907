//! What every partition is told.

use super::PassError;
use super::wire::{Reader, Writer};
use crate::cluster::{Metric, unit_rows};
use crate::scale::Scaler;
use bridged_math::{Matrix, MatrixRef};
use std::borrow::Cow;

/// How distances see rows.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// What is done to their columns.
    pub scaler: Scaler,
    /// Whether lengths count.
    pub metric: Metric,
}

impl Default for View {
    fn default() -> Self {
        Self { scaler: Scaler::None, metric: Metric::Euclidean }
    }
}

impl View {
    /// Rows as distances see them; no copy where nothing is done to them.
    pub fn of<'a>(&self, rows: MatrixRef<'a>) -> Cow<'a, [f32]> {
        let scaled = match self.scaler {
            Scaler::None => Cow::Borrowed(rows.data()),
            _ => Cow::Owned(self.scaler.apply(rows).into_matrix().into_data()),
        };
        match self.metric {
            Metric::Euclidean => scaled,
            Metric::Cosine => {
                let cols = self.cols(rows.cols());
                let seen = MatrixRef::new(rows.rows(), cols, &scaled).expect("one row for each");
                Cow::Owned(unit_rows(seen).into_data())
            }
        }
    }

    /// How many columns the rows have then.
    pub fn cols(&self, cols: usize) -> usize {
        self.scaler.cols(cols)
    }
}

/// One pass over all rows: what it does, and how it sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// How distances see rows.
    pub view: View,
    /// What is done.
    pub work: Work,
}

/// What a pass does.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Checks that rows are finite, counts them, and takes the moments of their columns, as they are.
    Look,
    /// Takes rows by chance, each with the same probability, as they are.
    Sample {
        /// Where chance comes from.
        seed: u64,
        /// The probability.
        share: f64,
    },
    /// Measures how far rows are from their nearest centre, and draws rows with a probability in proportion
    /// to that: a round of k-means‖.
    Draw {
        /// The centres so far, (m, d).
        centres: Matrix,
        /// Where chance comes from, and the round.
        seed: u64,
        /// The probability for each unit of squared distance.
        rate: f64,
    },
    /// Gives rows to the nearest of some centroids and adds them up: a step of Lloyd's iteration.
    Assign {
        /// The centroids, (k, d).
        centroids: Matrix,
        /// Whether rows are added up as distances see them, or as they are.
        sums: Of,
        /// How many of the rows that are farthest from their centroid are handed back.
        farthest: u64,
    },
}

/// Which form of the rows is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// As distances see them.
    Seen,
    /// As they are in the data.
    Data,
}

impl Pass {
    /// A pass that sees rows as they are.
    pub fn plain(work: Work) -> Self {
        Self { view: View::default(), work }
    }

    /// For the way to another machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let kind = match &self.work {
            Work::Look => 0,
            Work::Sample { .. } => 1,
            Work::Draw { .. } => 2,
            Work::Assign { .. } => 3,
        };
        let mut to = Writer::new(kind);
        match &self.view.scaler {
            Scaler::None => to.u64(0),
            Scaler::Affine { shift, factor } => {
                to.u64(1);
                to.f32s(shift);
                to.f32s(factor);
            }
            Scaler::L2 => to.u64(2),
            Scaler::Project { mean, components } => {
                to.u64(3);
                to.f32s(mean);
                to.matrix(components);
            }
        }
        to.u64(u64::from(self.view.metric == Metric::Cosine));
        match &self.work {
            Work::Look => {}
            Work::Sample { seed, share } => {
                to.u64(*seed);
                to.f64(*share);
            }
            Work::Draw { centres, seed, rate } => {
                to.matrix(centres);
                to.u64(*seed);
                to.f64(*rate);
            }
            Work::Assign { centroids, sums, farthest } => {
                to.matrix(centroids);
                to.u64(u64::from(*sums == Of::Data));
                to.u64(*farthest);
            }
        }
        to.finish()
    }

    /// What [`Pass::to_bytes`] gave.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PassError> {
        let (kind, mut from) = Reader::new(bytes)?;
        let scaler = match from.u64()? {
            0 => Scaler::None,
            1 => Scaler::Affine { shift: from.f32s()?, factor: from.f32s()? },
            2 => Scaler::L2,
            3 => Scaler::Project { mean: from.f32s()?, components: from.matrix()? },
            _ => return Err(PassError::OtherVersion),
        };
        let metric = if from.u64()? == 1 { Metric::Cosine } else { Metric::Euclidean };
        let work = match kind {
            0 => Work::Look,
            1 => Work::Sample { seed: from.u64()?, share: from.f64()? },
            2 => Work::Draw { centres: from.matrix()?, seed: from.u64()?, rate: from.f64()? },
            3 => Work::Assign {
                centroids: from.matrix()?,
                sums: if from.u64()? == 1 { Of::Data } else { Of::Seen },
                farthest: from.u64()?,
            },
            _ => return Err(PassError::OtherVersion),
        };
        from.end()?;
        Ok(Self { view: View { scaler, metric }, work })
    }
}
