//! Where the pairs lie: their rows, selected and scaled once for everything that asks for them.

use crate::bridge::{BridgeRule, PairVote, Votes, depth};
use crate::cluster::{Memberships, spaced};
use crate::problem::Problem;
use crate::side::Side;
use bridged_math::{Matrix, MatrixRef, chunks};

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
    pub fn new(side: &Side, pool: MatrixRef<'_>, rows: Vec<usize>) -> Self {
        let labels = rows.iter().map(|&row| side.clustering.labels[row]).collect();
        let rows = pool.select(rows);
        let scaled = side.scaler.apply(rows.view()).into_owned();
        Self { labels, rows, scaled }
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

    /// How the rows belong to the clusters, soft at a temperature.
    fn memberships(
        &self,
        side: &Side,
        pool: MatrixRef<'_>,
        temperature: Option<f64>,
    ) -> Memberships {
        let Some(temperature) = temperature else {
            return Memberships::hard(self.labels.iter().copied(), &side.clustering.sizes);
        };
        let (clustering, spread) = (&side.clustering, &side.spread);
        let weights = spread.memberships(clustering, self.scaled(), &self.labels, temperature);
        let sample = pool.select(spaced(pool.rows()));
        let sample = side.scaler.apply(sample.view());
        let clarity = spread.clarity(clustering, sample.view(), temperature);
        Memberships { k: side.k(), weights, clarity }
    }
}

/// What the pairs say, as the rule will read it.
pub(super) fn votes(
    rule: &impl BridgeRule,
    (x, x_paired): (&Side, &PairedRows),
    (y, y_paired): (&Side, &PairedRows),
    problem: Problem<'_>,
) -> Votes {
    let temperature = rule.reading().temperature();
    let read = |side, paired: &PairedRows, pool| {
        (paired.depths(side), paired.memberships(side, pool, temperature))
    };
    let ((x_depths, x_members), (y_depths, y_members)) =
        chunks::join(|| read(x, x_paired, problem.x), || read(y, y_paired, problem.y));
    let vote = |s: usize| PairVote {
        x: x_paired.labels[s],
        y: y_paired.labels[s],
        x_depth: x_depths[s],
        y_depth: y_depths[s],
    };
    Votes {
        pairs: (0..problem.pairs.len()).map(vote).collect(),
        x_sizes: x.clustering.sizes.clone(),
        y_sizes: y.clustering.sizes.clone(),
        x_members,
        y_members,
    }
}
