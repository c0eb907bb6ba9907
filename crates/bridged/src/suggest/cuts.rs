//! The linked cuts of one direction: what is known of their links, and how much each counts.
//!
//! A model of one member has one cut, the table that is read. A model of several has more; a cut counts as its
//! members do before any pair was seen, by 1/k. How much they count now would say what the pairs of now have shown of
//! them, and the question is about what pairs have not shown.

use super::Known;
use super::links::{ClusterLinks, reliability};
use crate::ensemble::Cut;
use crate::model::{BridgedModel, Direction};
use crate::predict::dense;
use bridged_math::linalg::{Accum, View, product};

/// A cut with its links.
pub(super) struct LinkedCut<'a> {
    pub from: Cut<'a>,
    pub to: Cut<'a>,
    /// w.
    pub weight: f64,
    /// Of each input cluster.
    pub links: Vec<ClusterLinks>,
}

impl<'a> LinkedCut<'a> {
    /// All of a direction. Their weights sum to 1.
    pub fn all(model: &'a BridgedModel, direction: Direction) -> Vec<Self> {
        let (from, to) = (model.from(direction), model.to(direction));
        let (of_from, of_to) = match direction {
            Direction::Forward => (&model.settings.x, &model.settings.y),
            Direction::Reverse => (&model.settings.y, &model.settings.x),
        };
        let own = (Cut::of(from, &of_from.cluster), Cut::of(to, &of_to.cluster));
        let mut cuts = match model.oriented(direction) {
            None => vec![Self::new(own, &table(model, direction), model, direction)],
            Some(oriented) => {
                let linked = |c: usize| {
                    let members: Vec<_> =
                        oriented.stack.bridges.iter().filter(|m| m.partition == c).collect();
                    let mut links = vec![0.0; members.first()?.links.len()];
                    for member in &members {
                        let mean = members.len() as f64;
                        links.iter_mut().zip(&member.links).for_each(|(l, p)| *l += p / mean);
                    }
                    let cuts = (oriented.from_cuts[c], oriented.to_cuts[c]);
                    Some(Self::new(cuts, &links, model, direction))
                };
                (0..oriented.from_cuts.len()).filter_map(linked).collect()
            }
        };
        let total: f64 = cuts.iter().map(|cut| cut.weight).sum();
        cuts.iter_mut().for_each(|cut| cut.weight /= total);
        cuts
    }

    fn new(
        (from, to): (Cut<'a>, Cut<'a>),
        links: &[f64],
        model: &'a BridgedModel,
        direction: Direction,
    ) -> Self {
        let (k, side) = (to.k(), model.to(direction));
        let (sigma, rho) = (from.shares(), to.shares());
        let means = to.deviations(side.mean());
        let mut gram = vec![0.0; k * k];
        let all = View::new(&means, k, side.cols());
        product(all, all.t(), Accum::Replace, &mut gram);
        let known = Known { gram, k, variance: variance(side) };
        let q = reliability(links, &rho);
        let of = |(i, p): (usize, &[f64])| ClusterLinks::new(sigma[i], p, &rho, q, &known);
        let links = links.chunks_exact(k).enumerate().map(of).collect();
        Self { weight: 1.0 / from.k() as f64, from, to, links }
    }
}

/// P(j|i) of the table that is read; the shares of the output clusters where there is no link.
pub(super) fn table(model: &BridgedModel, direction: Direction) -> Vec<f64> {
    let to = model.to(direction);
    let total: f64 = to.sizes().iter().map(|&n| f64::from(n)).sum();
    let shares: Vec<f64> = to.sizes().iter().map(|&n| f64::from(n) / total).collect();
    let of =
        |targets: &[_]| if targets.is_empty() { shares.clone() } else { dense(targets, to.k()) };
    let links = &model.regressor(direction).bridge().links;
    links.iter().flat_map(|link| of(&link.targets)).collect()
}

/// The summed variance of all columns of a side, from its clusters; never 0.
pub(super) fn variance(side: &crate::side::Side) -> f64 {
    let total: f64 = side.sizes().iter().map(|&n| f64::from(n)).sum();
    let between = |j: usize| {
        let away = bridged_math::distance::squared_distance(side.values().row(j), side.mean());
        f64::from(side.sizes()[j]) / total * away
    };
    let sum = side.spread().within + (0..side.k()).map(between).sum::<f64>();
    if sum > 0.0 { sum } else { 1.0 }
}
