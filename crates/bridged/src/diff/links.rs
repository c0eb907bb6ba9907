//! Which clusters are linked elsewhere.

use super::clusters::SideDiff;
use crate::model::{BridgedModel, Direction};
use serde::Serialize;

/// The link of a cluster in two models.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkDiff {
    /// The side that it leads from: `x` or `y`.
    pub from: &'static str,
    /// In this model; `None` of a cluster that only the other has.
    pub this: Option<LinkEnd>,
    /// In the other model.
    pub other: Option<LinkEnd>,
    /// Whether it leads to the same cluster, or in both models to none.
    pub same: bool,
}

/// Where a cluster leads in one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkEnd {
    /// The cluster.
    pub cluster: u32,
    /// The cluster that it is linked to.
    pub linked: Option<u32>,
    /// How probable that is, of bridges that know it.
    pub probability: Option<f64>,
    /// How it was decided.
    pub status: String,
    /// Pairs in the cluster.
    pub pairs: u32,
}

/// The links in both directions, of sides whose clusters are matched.
pub(super) fn diff(
    a: &BridgedModel,
    b: &BridgedModel,
    (x, y): (&SideDiff, &SideDiff),
) -> Vec<LinkDiff> {
    let mut links = Vec::new();
    for direction in Direction::BOTH {
        let (from, to) = if direction == Direction::Forward { (x, y) } else { (y, x) };
        let (of_a, of_b) = (ends(a, direction), ends(b, direction));
        for matched in &from.clusters {
            let this = matched.this.and_then(|c| of_a.get(c as usize)).cloned();
            let other = matched.other.and_then(|c| of_b.get(c as usize)).cloned();
            let same = match (&this, &other) {
                (Some(this), Some(other)) => match (this.linked, other.linked) {
                    (Some(a), Some(b)) => to.to_other(a) == Some(b),
                    (None, None) => true,
                    _ => false,
                },
                _ => false,
            };
            links.push(LinkDiff { from: from.side, this, other, same });
        }
    }
    links
}

/// Where each cluster leads.
fn ends(model: &BridgedModel, direction: Direction) -> Vec<LinkEnd> {
    let table = model.link_table(direction);
    let end = |line: crate::LinkRow<'_>| LinkEnd {
        cluster: line.cluster,
        linked: line.why.linked,
        probability: line.why.probability,
        status: line.why.status.to_string(),
        pairs: line.pairs,
    };
    table.rows().map(end).collect()
}
