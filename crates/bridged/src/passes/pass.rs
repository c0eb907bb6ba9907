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
    /// Shares rows among the components of a mixture and adds them up: a step of expectation–maximisation.
    Mixture(Mixture),
    /// Gives rows to the centroid of least ½‖x − c‖² + price and adds them up: a step of balanced k-means.
    Price(Priced),
}

/// What a pass with prices is told: see [`Work::Price`].
#[derive(Clone, Debug, PartialEq)]
pub struct Priced {
    /// The centroids, (k, d).
    pub centroids: Matrix,
    /// The point that distances are counted from, (d).
    pub shift: Vec<f32>,
    /// The price of each cluster.
    pub prices: Vec<f64>,
    /// Rows whose margin is up to `reach` are counted at the walls, one in `every`.
    pub reach: f64,
    /// See `reach`.
    pub every: u64,
    /// Which rows are handed back.
    pub doubt: Doubt,
    /// Whether rows are added up as distances see them, or as they are.
    pub sums: Of,
    /// Other prices, at which it is measured by how much the rows that stay cost more than the least; none if this
    /// is empty.
    pub after: Vec<f64>,
}

/// What a pass with a mixture is told: see [`Work::Mixture`].
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// log π, (k).
    pub log_weights: Vec<f64>,
    /// μ, (k, d).
    pub means: Vec<f64>,
    /// Inverse deviations, (k) or (k, d).
    pub precisions: Vec<f64>,
    /// The point that sums are taken around, (d).
    pub shift: Vec<f64>,
    /// Whether single precision is good enough.
    pub rough: bool,
    /// Whether rows are counted by their likeliest component, in place of the sums.
    pub counts: bool,
    /// How many of the rows of least likelihood are handed back, in place of the sums.
    pub least: u64,
}

/// Rows of small margins, which are handed back instead of being added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Doubt {
    /// All rows whose margin is below this are in doubt …
    pub below: f32,
    /// … and of those below this some by chance, …
    pub some_below: f32,
    /// … with this probability.
    pub share: f64,
    /// Where chance comes from.
    pub seed: u64,
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
            Work::Price(_) => 4,
            Work::Mixture(_) => 5,
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
            Work::Mixture(mixture) => {
                to.f64s(&mixture.log_weights);
                to.f64s(&mixture.means);
                to.f64s(&mixture.precisions);
                to.f64s(&mixture.shift);
                to.u64(u64::from(mixture.rough));
                to.u64(u64::from(mixture.counts));
                to.u64(mixture.least);
            }
            Work::Price(priced) => {
                to.matrix(&priced.centroids);
                to.f32s(&priced.shift);
                to.f64s(&priced.prices);
                to.f64(priced.reach);
                to.u64(priced.every);
                to.f32s(&[priced.doubt.below, priced.doubt.some_below]);
                to.f64(priced.doubt.share);
                to.u64(priced.doubt.seed);
                to.u64(u64::from(priced.sums == Of::Data));
                to.f64s(&priced.after);
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
            4 => Work::Price(Priced::read(&mut from)?),
            5 => Work::Mixture(Mixture::read(&mut from)?),
            _ => return Err(PassError::OtherVersion),
        };
        from.end()?;
        Ok(Self { view: View { scaler, metric }, work })
    }
}

impl Priced {
    fn read(from: &mut Reader<'_>) -> Result<Self, PassError> {
        let centroids = from.matrix()?;
        let (shift, prices) = (from.f32s()?, from.f64s()?);
        let (reach, every) = (from.f64()?, from.u64()?);
        let &[below, some_below] = &from.f32s()?[..] else { return Err(PassError::CutOff) };
        let doubt = Doubt { below, some_below, share: from.f64()?, seed: from.u64()? };
        let sums = if from.u64()? == 1 { Of::Data } else { Of::Seen };
        let after = from.f64s()?;
        let k = centroids.rows();
        let fits = prices.len() == k && (after.is_empty() || after.len() == k);
        if !fits || shift.len() != centroids.cols() {
            return Err(PassError::CutOff);
        }
        Ok(Self { centroids, shift, prices, reach, every, doubt, sums, after })
    }
}

impl Mixture {
    fn read(from: &mut Reader<'_>) -> Result<Self, PassError> {
        let mixture = Self {
            log_weights: from.f64s()?,
            means: from.f64s()?,
            precisions: from.f64s()?,
            shift: from.f64s()?,
            rough: from.u64()? == 1,
            counts: from.u64()? == 1,
            least: from.u64()?,
        };
        let (k, d) = (mixture.log_weights.len(), mixture.shift.len());
        let each = mixture.precisions.len();
        match k > 0 && d > 0 && mixture.means.len() == k * d && (each == k || each == k * d) {
            true => Ok(mixture),
            false => Err(PassError::CutOff),
        }
    }
}
