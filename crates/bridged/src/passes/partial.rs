//! What a partition answers, and how the answers of neighbours are added.

use super::PassError;
use super::wire::{Reader, Writer};
use bridged_math::Matrix;
use bridged_math::transport::large::{CLASSES, Tally};

/// What a pass came to over one partition, or over several that follow each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Partial {
    /// Of a look.
    Moments(Moments),
    /// Of a sample or a draw.
    Drawn(Drawn),
    /// Of an assignment.
    Sums(Sums),
    /// Of an assignment with prices.
    Prices(Prices),
    /// Of a mixture.
    Mixture(Shares),
}

/// Counts, and the moments of each column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    /// How many rows each partition has: (partition, rows), in order.
    pub parts: Vec<(u64, u64)>,
    /// Σ w.
    pub weight: f64,
    /// The mean of each column.
    pub mean: Vec<f64>,
    /// Σ w (x − mean)² of each column.
    pub scatter: Vec<f64>,
    /// The largest magnitude.
    pub largest: f64,
}

/// Rows, and where they lie.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// (partition, row in the partition) of each.
    pub at: Vec<(u64, u64)>,
    /// What they are ordered by: a number drawn for each, or a squared distance.
    pub keys: Vec<f64>,
    /// The columns of all, row by row.
    pub values: Vec<f32>,
}

/// Rows that were drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawn {
    /// Rows that were looked at.
    pub count: u64,
    /// Σ w ‖row − nearest centre‖² over all of them.
    pub cost: f64,
    /// Those that were drawn.
    pub rows: Rows,
}

/// Sums of the rows of each cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// Σ w x, (k, d).
    pub sums: Vec<f64>,
    /// Σ w, (k).
    pub weights: Vec<f64>,
    /// Rows, (k).
    pub sizes: Vec<u64>,
    /// Σ w ‖row − centroid‖², (k).
    pub costs: Vec<f64>,
    /// The rows that are farthest from their centroid, the farthest first.
    pub farthest: Rows,
    /// How many of them are wanted.
    pub wanted: u64,
}

/// What a pass with prices came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// Σ x, (k, d), without the rows in doubt.
    pub sums: Vec<f64>,
    /// Σ ‖row − centroid‖², (k), without them.
    pub costs: Vec<f64>,
    /// How many rows each cluster has, and how near to others they are; with them.
    pub tally: Tally,
    /// The rows in doubt, as they are in the data, with their margins.
    pub doubt: Rows,
    /// By how much the others cost more at the prices after.
    pub lacking: f64,
}

/// What a pass with a mixture came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// The rows that were seen.
    pub rows: u64,
    /// Σ r, (k).
    pub counts: Vec<f64>,
    /// Σ r [x̃, x̃²], (k, 2 d).
    pub sums: Vec<f64>,
    /// Σ log p(x).
    pub log_likelihood: f64,
    /// How many rows each component is the likeliest for, where that was asked for.
    pub sizes: Vec<u64>,
    /// The rows of least likelihood, with the negative of its logarithm.
    pub least: Rows,
    /// How many of them are wanted.
    pub wanted: u64,
}

impl Shares {
    fn add(&mut self, other: Shares) {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
        add(&mut self.counts, &other.counts);
        add(&mut self.sums, &other.sums);
        self.rows += other.rows;
        self.log_likelihood += other.log_likelihood;
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(t, f)| *t += f);
        self.least.append(other.least);
        self.least.keep_largest(self.wanted as usize);
    }
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Adds a row.
    pub(super) fn push(&mut self, at: (u64, u64), key: f64, row: &[f32]) {
        self.at.push(at);
        self.keys.push(key);
        self.values.extend_from_slice(row);
    }

    /// Adds all rows of another list.
    pub fn append(&mut self, mut other: Rows) {
        self.at.append(&mut other.at);
        self.keys.append(&mut other.keys);
        self.values.append(&mut other.values);
    }

    /// The columns of all; none if there is no row.
    pub fn cols(&self) -> usize {
        self.values.len() / self.len().max(1)
    }

    /// One of them.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.cols()..(i + 1) * self.cols()]
    }

    /// Those at these places, as often as they are named.
    pub(super) fn pick(&self, places: &[usize]) -> Self {
        let mut picked = Rows::default();
        places.iter().for_each(|&i| picked.push(self.at[i], self.keys[i], self.row(i)));
        picked
    }

    /// Keeps the `most` with the largest keys, in descending order; of equals those that come first.
    pub(super) fn keep_largest(&mut self, most: usize) {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|&a, &b| {
            self.keys[b].total_cmp(&self.keys[a]).then(self.at[a].cmp(&self.at[b]))
        });
        order.truncate(most);
        *self = self.pick(&order);
    }

    /// All of them.
    pub fn matrix(&self) -> Matrix {
        Matrix::new(self.len(), self.cols(), self.values.clone()).expect("rows of one width")
    }

    fn write(&self, to: &mut Writer) {
        to.u64s(&self.at.iter().map(|at| at.0).collect::<Vec<_>>());
        to.u64s(&self.at.iter().map(|at| at.1).collect::<Vec<_>>());
        to.f64s(&self.keys);
        to.f32s(&self.values);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, PassError> {
        let (parts, rows) = (from.u64s()?, from.u64s()?);
        let (keys, values) = (from.f64s()?, from.f32s()?);
        let fits = parts.len() == rows.len()
            && keys.len() == rows.len()
            && values.len().is_multiple_of(rows.len().max(1));
        if !fits {
            return Err(PassError::CutOff);
        }
        Ok(Self { at: parts.into_iter().zip(rows).collect(), keys, values })
    }
}

impl Moments {
    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.parts.iter().map(|p| p.1).sum()
    }

    /// Adds the moments of rows that follow (Chan, Golub and LeVeque 1979).
    fn add(&mut self, other: Moments) {
        if self.mean.is_empty() {
            let parts = std::mem::take(&mut self.parts);
            *self = other;
            self.parts.splice(0..0, parts);
            return;
        }
        self.parts.extend(other.parts);
        self.largest = self.largest.max(other.largest);
        if other.mean.is_empty() {
            return;
        }
        let total = self.weight + other.weight;
        let (share, both) = match total > 0.0 {
            true => (other.weight / total, self.weight * other.weight / total),
            false => (0.0, 0.0),
        };
        for (c, mean) in self.mean.iter_mut().enumerate() {
            let apart = other.mean[c] - *mean;
            *mean += share * apart;
            self.scatter[c] += other.scatter[c] + both * apart * apart;
        }
        self.weight = total;
    }
}

impl Sums {
    /// The rows that were added up.
    pub fn count(&self) -> u64 {
        self.sizes.iter().sum()
    }

    /// Σ w ‖row − centroid‖² over all clusters.
    pub fn inertia(&self) -> f64 {
        self.costs.iter().sum()
    }

    /// The mean of each cluster, (k, d); where one has no weight, its row of `otherwise`.
    pub fn means(&self, otherwise: &Matrix) -> Matrix {
        let d = self.sums.len() / self.sizes.len().max(1);
        Matrix::from_fn(self.sizes.len(), d, |j, c| match self.weights[j] > 0.0 {
            true => (self.sums[j * d + c] / self.weights[j]) as f32,
            false => otherwise.row(j)[c],
        })
    }

    fn add(&mut self, other: Sums) {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
        add(&mut self.sums, &other.sums);
        add(&mut self.weights, &other.weights);
        add(&mut self.costs, &other.costs);
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(t, f)| *t += f);
        self.farthest.append(other.farthest);
        self.farthest.keep_largest(self.wanted as usize);
    }
}

impl Prices {
    /// The rows that were seen.
    pub fn count(&self) -> u64 {
        self.tally.sizes.iter().sum()
    }

    fn add(&mut self, other: Prices) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(t, f)| *t += f);
        self.costs.iter_mut().zip(&other.costs).for_each(|(t, f)| *t += f);
        self.tally.add(other.tally);
        self.doubt.append(other.doubt);
        self.lacking += other.lacking;
    }
}

impl Partial {
    /// Adds what the same pass came to over the partitions that follow.
    pub fn merge(&mut self, next: Partial) -> Result<(), PassError> {
        match (self, next) {
            (Self::Moments(all), Self::Moments(next)) => {
                let fits = all.mean.len() == next.mean.len() || next.mean.is_empty();
                if !(fits || all.mean.is_empty()) {
                    return Err(differ(all.mean.len(), next.mean.len(), &next));
                }
                all.add(next);
            }
            (Self::Drawn(all), Self::Drawn(next)) => {
                all.count += next.count;
                all.cost += next.cost;
                all.rows.append(next.rows);
            }
            // Nothing says how many columns no rows have.
            (Self::Sums(_), Self::Sums(next)) if next.count() == 0 => {}
            (Self::Sums(all), Self::Sums(next)) if all.count() == 0 => *all = next,
            (Self::Sums(all), Self::Sums(next)) => {
                if all.sums.len() != next.sums.len() || all.sizes.len() != next.sizes.len() {
                    return Err(PassError::CutOff);
                }
                all.add(next);
            }
            (Self::Mixture(all), Self::Mixture(next)) => {
                if all.sums.len() != next.sums.len() || all.sizes.len() != next.sizes.len() {
                    return Err(PassError::CutOff);
                }
                all.add(next);
            }
            (Self::Prices(_), Self::Prices(next)) if next.count() == 0 => {}
            (Self::Prices(all), Self::Prices(next)) if all.count() == 0 => *all = next,
            (Self::Prices(all), Self::Prices(next)) => {
                if all.sums.len() != next.sums.len() || all.costs.len() != next.costs.len() {
                    return Err(PassError::CutOff);
                }
                all.add(next);
            }
            _ => return Err(PassError::OtherVersion),
        }
        Ok(())
    }

    /// All of them as one, in this order.
    pub fn merged(partials: Vec<Partial>) -> Result<Partial, PassError> {
        let mut partials = partials.into_iter();
        let mut all = partials.next().ok_or(PassError::NoRows)?;
        partials.try_for_each(|next| all.merge(next))?;
        Ok(all)
    }

    /// For the way to the driver.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Moments(m) => {
                let mut to = Writer::new(0);
                to.u64s(&m.parts.iter().map(|p| p.0).collect::<Vec<_>>());
                to.u64s(&m.parts.iter().map(|p| p.1).collect::<Vec<_>>());
                to.f64(m.weight);
                to.f64s(&m.mean);
                to.f64s(&m.scatter);
                to.f64(m.largest);
                to.finish()
            }
            Self::Drawn(d) => {
                let mut to = Writer::new(1);
                to.u64(d.count);
                to.f64(d.cost);
                d.rows.write(&mut to);
                to.finish()
            }
            Self::Sums(s) => {
                let mut to = Writer::new(2);
                to.f64s(&s.sums);
                to.f64s(&s.weights);
                to.u64s(&s.sizes);
                to.f64s(&s.costs);
                s.farthest.write(&mut to);
                to.u64(s.wanted);
                to.finish()
            }
            Self::Mixture(m) => {
                let mut to = Writer::new(4);
                to.u64(m.rows);
                to.f64s(&m.counts);
                to.f64s(&m.sums);
                to.f64(m.log_likelihood);
                to.u64s(&m.sizes);
                m.least.write(&mut to);
                to.u64(m.wanted);
                to.finish()
            }
            Self::Prices(p) => {
                let mut to = Writer::new(3);
                to.f64s(&p.sums);
                to.f64s(&p.costs);
                to.u64s(&p.tally.sizes);
                to.u64s(&p.tally.hits);
                to.u64s(&p.tally.margins);
                p.doubt.write(&mut to);
                to.f64(p.lacking);
                to.finish()
            }
        }
    }

    /// What [`Partial::to_bytes`] gave.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PassError> {
        let (kind, mut from) = Reader::new(bytes)?;
        let partial = match kind {
            0 => {
                let (parts, rows) = (from.u64s()?, from.u64s()?);
                let moments = Moments {
                    parts: parts.into_iter().zip(rows).collect(),
                    weight: from.f64()?,
                    mean: from.f64s()?,
                    scatter: from.f64s()?,
                    largest: from.f64()?,
                };
                if moments.mean.len() != moments.scatter.len() {
                    return Err(PassError::CutOff);
                }
                Self::Moments(moments)
            }
            1 => Self::Drawn(Drawn {
                count: from.u64()?,
                cost: from.f64()?,
                rows: Rows::read(&mut from)?,
            }),
            2 => {
                let sums = Sums {
                    sums: from.f64s()?,
                    weights: from.f64s()?,
                    sizes: from.u64s()?,
                    costs: from.f64s()?,
                    farthest: Rows::read(&mut from)?,
                    wanted: from.u64()?,
                };
                let k = sums.sizes.len();
                let fits = sums.weights.len() == k
                    && sums.costs.len() == k
                    && sums.sums.len().is_multiple_of(k.max(1));
                if !fits {
                    return Err(PassError::CutOff);
                }
                Self::Sums(sums)
            }
            4 => Self::Mixture(Shares {
                rows: from.u64()?,
                counts: from.f64s()?,
                sums: from.f64s()?,
                log_likelihood: from.f64()?,
                sizes: from.u64s()?,
                least: Rows::read(&mut from)?,
                wanted: from.u64()?,
            }),
            3 => {
                let prices = Prices {
                    sums: from.f64s()?,
                    costs: from.f64s()?,
                    tally: Tally { sizes: from.u64s()?, hits: from.u64s()?, margins: from.u64s()? },
                    doubt: Rows::read(&mut from)?,
                    lacking: from.f64()?,
                };
                let (k, tally) = (prices.costs.len(), &prices.tally);
                let fits = tally.sizes.len() == k
                    && tally.margins.len() == CLASSES
                    && prices.sums.len().is_multiple_of(k.max(1));
                if !fits {
                    return Err(PassError::CutOff);
                }
                Self::Prices(prices)
            }
            _ => return Err(PassError::OtherVersion),
        };
        from.end()?;
        Ok(partial)
    }
}

/// Partitions whose rows have different numbers of columns.
fn differ(before: usize, now: usize, next: &Moments) -> PassError {
    let part = next.parts.first().map_or(0, |p| p.0);
    let why = format!("has {now} columns, but rows before it have {before}");
    PassError::BadRow { part, row: 0, why }
}
