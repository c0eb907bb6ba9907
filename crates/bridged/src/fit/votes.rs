//! Where the pairs lie: their rows, selected and scaled once for everything that asks for them.

use crate::bridge::{BridgeRule, Negative, PairVote, Votes, depth};
use crate::cluster::{Memberships, NOISE, spaced};
use crate::problem::Pools;
use crate::side::Side;
use bridged_math::rows::select_in_order;
use bridged_math::{Matrix, MatrixRef, Rows, RowsError, chunks};

/// The rows of the pairs on one side.
pub(super) struct PairedRows {
    /// Their clusters.
    pub labels: Vec<u32>,
    /// In the units of the data, one row per pair.
    pub rows: Matrix,
    /// In the space in which the side was clustered; `None` where that is the same.
    scaled: Option<Matrix>,
}

impl PairedRows {
    pub fn new(side: &Side, pool: &dyn Rows, rows: &[usize]) -> Result<Self, RowsError> {
        let labels = rows.iter().map(|&row| side.clustering.labels[row]).collect();
        let rows = select_in_order(pool, rows)?;
        let scaled = side.scaler.apply(rows.view()).into_owned();
        Ok(Self { labels, rows, scaled })
    }

    /// In the space in which the side was clustered.
    pub fn scaled(&self) -> MatrixRef<'_> {
        self.scaled.as_ref().unwrap_or(&self.rows).view()
    }

    /// How deep each row sits in its cluster.
    fn depths(&self, side: &Side) -> Vec<f64> {
        let scaled = self.scaled();
        let of =
            |(i, &label): (usize, &u32)| depth(&side.clustering.centroids, scaled.row(i), label);
        self.labels.iter().enumerate().map(of).collect()
    }

    /// p(·|row) of each row.
    fn membership_rows(&self, side: &Side, temperature: Option<f64>) -> Vec<f64> {
        let (clustering, spread) = (&side.clustering, &side.spread);
        match temperature {
            Some(temperature) => {
                spread.memberships(clustering, self.scaled(), &self.labels, temperature)
            }
            None => Memberships::hard(self.labels.iter().copied(), &clustering.sizes).weights,
        }
    }

    /// How the rows belong to the clusters, soft at a temperature.
    fn memberships(
        &self,
        side: &Side,
        pool: &dyn Rows,
        temperature: Option<f64>,
    ) -> Result<Memberships, RowsError> {
        let Some(temperature) = temperature else {
            return Ok(Memberships::hard(self.labels.iter().copied(), &side.clustering.sizes));
        };
        let (clustering, spread) = (&side.clustering, &side.spread);
        let weights = self.membership_rows(side, Some(temperature));
        let sample = pool.select(&spaced(pool.rows()).collect::<Vec<_>>())?;
        let sample = side.scaler.apply(sample.view());
        let clarity = spread.clarity(clustering, sample.view(), temperature);
        Ok(Memberships { k: side.k(), weights, clarity })
    }
}

/// What the pairs say, as the rule will read it.
pub(super) fn votes(
    rule: &impl BridgeRule,
    (x, x_paired): (&Side, &PairedRows),
    (y, y_paired): (&Side, &PairedRows),
    of_no: (&PairedRows, &PairedRows),
    pools: Pools<'_>,
) -> Result<Votes, RowsError> {
    let temperature = rule.reading().temperature();
    let read = |side, paired: &PairedRows, pool| {
        let members = paired.memberships(side, pool, temperature)?;
        Ok::<_, RowsError>((paired.depths(side), members))
    };
    let (of_x, of_y) = chunks::join(|| read(x, x_paired, pools.x), || read(y, y_paired, pools.y));
    let ((x_depths, x_members), (y_depths, y_members)) = (of_x?, of_y?);
    let vote = |s: usize| PairVote {
        x: x_paired.labels[s],
        y: y_paired.labels[s],
        x_depth: x_depths[s],
        y_depth: y_depths[s],
    };
    let negatives = match temperature {
        _ if of_no.0.labels.is_empty() => Vec::new(),
        temperature => {
            let of_x = of_no.0.membership_rows(x, temperature);
            let of_y = of_no.1.membership_rows(y, temperature);
            let inside = |s: &usize| of_no.0.labels[*s] != NOISE && of_no.1.labels[*s] != NOISE;
            let of = |s: usize| {
                let row = |all: &[f64], k: usize| all[s * k..(s + 1) * k].to_vec();
                Negative { x: row(&of_x, x.k()), y: row(&of_y, y.k()) }
            };
            (0..of_no.0.labels.len()).filter(inside).map(of).collect()
        }
    };
    Ok(Votes {
        negatives,
        pairs: (0..pools.pairs.len()).map(vote).collect(),
        x_sizes: x.clustering.sizes.clone(),
        y_sizes: y.clustering.sizes.clone(),
        x_members,
        y_members,
    })
}
