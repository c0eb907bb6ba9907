//! Why a question is worth asking, and where on the other side the answer may be.

use super::batch::{Asked, Chosen};
use super::cuts::{LinkedCut, variance};
use super::{Candidate, Question, Suggestion};
use crate::Error;
use crate::bridge::LinkStatus;
use crate::ensemble::Cut;
use crate::model::{BridgedModel, Direction};
use bridged_math::words::plural;
use std::collections::BTreeMap;

/// Clusters of the other side that are named as candidates, at most.
const MOST: usize = 5;
/// Less likely ones are not named.
const UNLIKELY: f64 = 0.02;

/// Where the partners of rows lie: in which clusters of the other side.
pub(super) struct Likely {
    members: Vec<f64>, // (rows, kx)
    links: Vec<f64>,   // (kx, ky)
    kx: usize,
    ky: usize,
}

impl Likely {
    pub fn new(model: &BridgedModel, direction: Direction, links: Vec<f64>) -> Result<Self, Error> {
        let side = model.from(direction);
        let spec = match direction {
            Direction::Forward => &model.settings.x.cluster,
            Direction::Reverse => &model.settings.y.cluster,
        };
        let scaled = side.scaler().apply(side.rows()?.view());
        let members = Cut::of(side, spec).memberships(scaled.view());
        Ok(Self { members, links, kx: side.k(), ky: model.to(direction).k() })
    }

    /// The likeliest clusters of a row's partner, with their probabilities.
    pub fn of(&self, row: usize) -> Vec<(u32, f64)> {
        let mut weights = vec![0.0; self.ky];
        for (i, p) in self.members[row * self.kx..(row + 1) * self.kx].iter().enumerate() {
            for (w, l) in weights.iter_mut().zip(&self.links[i * self.ky..]) {
                *w += p * l;
            }
        }
        let mut likely: Vec<(u32, f64)> = (0u32..).zip(weights).collect();
        likely.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        likely.truncate(MOST);
        let first = likely.first().copied();
        likely.retain(|l| l.1 >= UNLIKELY || Some(*l) == first);
        likely
    }
}

/// A typical row of each cluster of the other side: the one nearest to its centroid.
pub(super) struct Typical(Vec<Option<usize>>);

impl Typical {
    pub fn new(model: &BridgedModel, direction: Direction) -> Result<Self, Error> {
        let side = model.to(direction);
        let of = |j: usize| Ok(side.members(j as u32, 1)?.first().copied());
        Ok(Self((0..side.k()).map(of).collect::<Result<_, Error>>()?))
    }

    pub fn row(&self, cluster: u32) -> Option<usize> {
        self.0.get(cluster as usize).copied().flatten()
    }

    /// The cluster of each typical row in every cut.
    pub fn clusters(
        &self,
        model: &BridgedModel,
        direction: Direction,
        cuts: &[LinkedCut<'_>],
    ) -> Result<BTreeMap<usize, Vec<u32>>, Error> {
        let side = model.to(direction);
        let rows: Vec<usize> = self.0.iter().flatten().copied().collect();
        let chosen = side.rows()?.view().select(rows.iter().copied());
        let scaled = side.scaler().apply(chosen.view());
        let labels: Vec<Vec<u32>> =
            cuts.iter().map(|cut| cut.to.clustering.assign(scaled.view())).collect();
        let of = |(at, &y): (usize, &usize)| (y, labels.iter().map(|of_cut| of_cut[at]).collect());
        Ok(rows.iter().enumerate().map(of).collect())
    }
}

impl Asked<'_> {
    /// A question as it is told.
    pub fn explain(&self, model: &BridgedModel, chosen: &Chosen) -> Result<Suggestion, Error> {
        let (from, to) = (model.from(self.direction), model.to(self.direction));
        let cluster = from.labels()[chosen.row];
        let link = model.regressor(self.direction).bridge().links.get(cluster as usize);
        let pairs = link.map_or(0, |l| l.pairs);
        let total: f64 = from.sizes().iter().map(|&n| f64::from(n)).sum();
        let share = from.sizes().get(cluster as usize).map_or(0.0, |&n| f64::from(n) / total);
        let likely = self.likely.of(chosen.row);
        let candidates = likely.iter().filter_map(|&(j, probability)| {
            Some(Candidate { row: self.typical.row(j)?, cluster: j, probability })
        });
        let candidates: Vec<Candidate> = match (self.kind, chosen.with) {
            (Question::Match, Some(with)) => candidates.filter(|c| c.row == with).collect(),
            _ => candidates.collect(),
        };
        let input = self.direction.input();
        let percent = |p: f64| format!("{:.0} %", 100.0 * p);
        let sure = percent(likely.first().map_or(0.0, |l| l.1));
        let (count, link) = match (pairs, link.map(|l| l.status)) {
            (0, _) => ("no pair".to_string(), String::new()),
            (n, Some(LinkStatus::Tied)) => (plural(n as usize, "pair"), "; they disagree".into()),
            (n, _) => (plural(n as usize, "pair"), format!("; its link is {sure} sure")),
        };
        let rows = percent(share);
        let why = format!("cluster {cluster} of {input} has {count} and {rows} of the rows{link}");
        Ok(Suggestion {
            side: input,
            row: chosen.row,
            cluster,
            share,
            pairs,
            candidates,
            gain: chosen.gain,
            error_falls_by: chosen.gain * variance(to) / to.cols() as f64,
            why,
        })
    }
}
