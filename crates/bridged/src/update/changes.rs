//! What an update has changed, as a person reads it.

use super::pool::NewPool;
use super::regions::Region;
use crate::model::{BridgedModel, Direction};
use crate::side::Side;
use serde::Serialize;

/// What an update has changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    /// The input pool.
    pub x: PoolChange,
    /// The output pool.
    pub y: PoolChange,
    /// The pairs.
    pub pairs: PairChange,
    /// The links from x to y before and after, one for each cluster of x.
    pub links: Vec<LinkChange>,
    /// Error of left-out pairs ÷ that of the better constant, y from x, before and after.
    pub error: [Option<f64>; 2],
}

/// What became of a pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolChange {
    /// Rows before and after.
    pub rows: [usize; 2],
    /// Clusters before and after.
    pub clusters: [usize; 2],
    /// Rows that came in.
    pub added: usize,
    /// Rows that went out.
    pub forgotten: usize,
    /// Rows that stayed, and are in another cluster now.
    pub moved: usize,
    /// New rows that no cluster explains.
    pub regions: Vec<Region>,
}

/// What became of the pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PairChange {
    /// How many there were.
    pub before: usize,
    /// How many there are.
    pub after: usize,
    /// Pairs that came in.
    pub added: usize,
    /// Pairs that came in and were there already.
    pub known: usize,
    /// Pairs that went with their rows.
    pub forgotten: usize,
    /// How many pairs of rows there are of which somebody said that they do not belong together.
    pub denied: usize,
}

/// The link of a cluster before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkChange {
    /// The cluster of x.
    pub cluster: u32,
    /// Its rows; none before it was there.
    pub rows: [Option<u32>; 2],
    /// Its pairs.
    pub pairs: [u32; 2],
    /// The cluster of y that it is linked to.
    pub linked: [Option<u32>; 2],
    /// How probable that is, if the bridge knows.
    pub probability: [Option<f64>; 2],
}

impl LinkChange {
    /// Whether a person should look at it: another link, other pairs, or a probability that moved by this much.
    pub fn is_worth_a_look(&self, by: f64) -> bool {
        let [before, after] = self.probability.map(|p| p.unwrap_or(0.0));
        self.linked[0] != self.linked[1]
            || self.pairs[0] != self.pairs[1]
            || self.rows[0].is_none()
            || (before - after).abs() >= by
    }
}

impl Changes {
    pub(super) fn between(
        before: &BridgedModel,
        after: &BridgedModel,
        pairs: PairChange,
        [(x, x_regions), (y, y_regions)]: [(&NewPool, &[Region]); 2],
    ) -> Self {
        let error = |model: &BridgedModel| model.verdict(Direction::Forward).error;
        Self {
            x: pool((&before.x, &after.x), x, x_regions),
            y: pool((&before.y, &after.y), y, y_regions),
            pairs,
            links: links(before, after),
            error: [error(before), error(after)],
        }
    }
}

fn pool((before, after): (&Side, &Side), pool: &NewPool, regions: &[Region]) -> PoolChange {
    let moved = |(new, &old): (usize, &usize)| {
        before.clustering.labels[old] != after.clustering.labels[new]
    };
    PoolChange {
        rows: [before.total(), before.total() + pool.added() - pool.forgotten()],
        clusters: [before.k(), after.k()],
        added: pool.added(),
        forgotten: pool.forgotten(),
        moved: pool.stay().iter().enumerate().filter(|&at| moved(at)).count(),
        regions: regions.to_vec(),
    }
}

fn links(before: &BridgedModel, after: &BridgedModel) -> Vec<LinkChange> {
    let old = before.link_table(Direction::Forward);
    let new = after.link_table(Direction::Forward);
    let mut old: Vec<_> = old.rows().map(Some).collect();
    old.resize(new.rows().len(), None);
    let change = |(new, old): (crate::LinkRow<'_>, &Option<crate::LinkRow<'_>>)| LinkChange {
        cluster: new.cluster,
        rows: [old.map(|row| row.rows), Some(new.rows)],
        pairs: [old.map_or(0, |row| row.pairs), new.pairs],
        linked: [old.and_then(|row| row.why.linked), new.why.linked],
        probability: [old.and_then(|row| row.why.probability), new.why.probability],
    };
    new.rows().zip(&old).map(change).collect()
}
