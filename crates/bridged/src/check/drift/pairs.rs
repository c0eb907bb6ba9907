//! New pairs that contradict the links.
//!
//! ```text
//! a(x, y) = Σ_j w_j(x) p(j|y) / ρ_j        how much likelier the links make the clusters of y than chance does
//! a pair contradicts if √(a(x, y) · a(y, x)) < 1
//! ```
//!
//! w_j(x) is the weight of output cluster j by the links, p(j|y) how far y belongs to it, ρ_j its share. It is the measure by which the
//! fit itself calls a pair that it left out a [contradiction](crate::Contradiction), so the two are comparable: by Fisher's
//! exact test, are more of the new pairs contradictions than of those that the fit left out in turn?

use super::{Findings, broken};
use crate::Error;
use crate::model::{BridgedModel, Direction};
use bridged_math::MatrixRef;
use bridged_math::words::{count, plural};
use serde::Serialize;

/// The most contradictions that are listed.
const LISTED: usize = 20;
/// The most that chance may have to do with a broken model.
const CHANCE: f64 = 0.001;

/// Known pairs that the fit did not have: row i of x belongs to row i of y.
#[derive(Clone, Copy, Debug)]
pub struct NewPairs<'a> {
    /// Rows of x.
    pub x: MatrixRef<'a>,
    /// Rows of y.
    pub y: MatrixRef<'a>,
}

/// New pairs beside the links of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairDrift {
    /// New pairs.
    pub pairs: usize,
    /// Those that contradict the links.
    pub contradict: usize,
    /// Pairs that the fit left out in turn.
    pub fit_pairs: usize,
    /// Those of them that contradicted the others.
    pub fit_contradict: usize,
    /// The worst contradictions, at most twenty.
    pub worst: Vec<PairContradiction>,
}

/// A new pair whose clusters are linked elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairContradiction {
    /// Its place among the new pairs, from 0.
    pub pair: usize,
    /// How much likelier the links make it than chance does: below 1.
    pub agreement: f64,
    /// The cluster of its x; `None` outside all clusters.
    pub x_cluster: Option<u32>,
    /// The cluster of its y.
    pub y_cluster: Option<u32>,
    /// The cluster of y that its x is linked to instead.
    pub linked: Option<u32>,
    /// How probable that link is; `None` of an unfamiliar row.
    pub probability: Option<f64>,
}

impl BridgedModel {
    pub(super) fn pair_drift(
        &self,
        new: NewPairs<'_>,
        found: &mut Findings,
    ) -> Result<Option<PairDrift>, Error> {
        let (x, y) = (new.x, new.y);
        if x.rows() != y.rows() {
            return Err(Error::NotAligned { x: x.rows(), y: y.rows() });
        }
        if x.rows() == 0 {
            return Ok(None);
        }
        for (side, name, rows) in [(&self.x, "x", x), (&self.y, "y", y)] {
            if let Some(reason) = broken::width(side, name, rows.cols()) {
                if !found.broken.contains(&reason) {
                    found.broken.push(reason);
                }
                return Ok(None);
            }
        }
        let temperatures =
            Direction::BOTH.map(|direction| self.regressor(direction).reading.temperature());
        let checks = Direction::BOTH.map(|direction| self.regressor(direction).leave_one_out());
        let ([Some(_), Some(_)], [Some(forward), Some(reverse)]) = (temperatures, checks) else {
            found.not_judged.push(format!(
                "whether the new pairs contradict: a {} bridge of {} does not know how likely its links are",
                self.settings.bridge.name(),
                plural(self.pairs.len(), "pair"),
            ));
            return Ok(None);
        };
        let prediction = self.predict(Direction::Forward, x)?;
        let y_clusters = self.predict(Direction::Reverse, y)?.clusters;
        let agreement = self.agreement(x, y);
        let mut worst: Vec<PairContradiction> = (agreement.iter().enumerate())
            .filter(|(_, a)| **a < 1.0)
            .map(|(pair, &agreement)| {
                let why = prediction.explain(pair);
                let y_cluster = Some(y_clusters[pair]).filter(|&b| b != crate::cluster::NOISE);
                let (linked, probability) = (why.linked, why.probability);
                PairContradiction {
                    pair,
                    agreement,
                    x_cluster: why.cluster,
                    y_cluster,
                    linked,
                    probability,
                }
            })
            .collect();
        worst.sort_by(|a, b| a.agreement.total_cmp(&b.agreement).then(a.pair.cmp(&b.pair)));
        let of_fit = forward.agreement.iter().zip(&reverse.agreement);
        let (pairs, contradict) = (agreement.len(), worst.len());
        let fit_pairs = of_fit.len();
        let fit_contradict = of_fit.filter(|(a, b)| (**a * **b).sqrt() < 1.0).count();
        if fit_pairs == 0 {
            found
                .not_judged
                .push("whether the new pairs contradict: the fit could leave out none".into());
        } else {
            let p = fisher((contradict, pairs), (fit_contradict, fit_pairs));
            found.test("pairs", None, p);
            if 2 * contradict >= pairs && p <= CHANCE {
                found.broken.push(format!(
                    "{} of {} contradict the links, but only {} of {} that the fit left out did",
                    count(contradict),
                    plural(pairs, "new pair"),
                    count(fit_contradict),
                    plural(fit_pairs, "pair"),
                ));
            }
        }
        worst.truncate(LISTED);
        Ok(Some(PairDrift { pairs, contradict, fit_pairs, fit_contradict, worst }))
    }

    /// √(a(x, y) · a(y, x)) of each pair.
    fn agreement(&self, x: MatrixRef<'_>, y: MatrixRef<'_>) -> Vec<f64> {
        let members =
            [(Direction::Forward, x), (Direction::Reverse, y)].map(|(direction, rows)| {
                let side = self.from(direction);
                let scaled = side.scaler.apply(rows);
                let labels = side.clustering.assign(scaled.view());
                let temperature =
                    self.regressor(direction).reading.temperature().unwrap_or_default();
                side.spread.memberships(&side.clustering, scaled.view(), &labels, temperature)
            });
        let of = |direction: Direction, from: &[f64], to: &[f64]| -> f64 {
            let sizes = self.to(direction).sizes();
            let total: f64 = sizes.iter().map(|&n| f64::from(n)).sum();
            let links = &self.regressor(direction).bridge.links;
            let linked = links.iter().zip(from).flat_map(|(link, member)| {
                link.targets.iter().map(move |t| (t.cluster as usize, member * t.weight))
            });
            linked.map(|(j, w)| w * to[j] * total / f64::from(sizes[j].max(1))).sum()
        };
        let (kx, ky) = (self.x.k(), self.y.k());
        let [x, y] = &members;
        x.chunks_exact(kx)
            .zip(y.chunks_exact(ky))
            .map(|(x, y)| (of(Direction::Forward, x, y) * of(Direction::Reverse, y, x)).sqrt())
            .collect()
    }
}

/// The probability that chance puts at least a of a + c contradictions among the n new pairs: Fisher's exact test of
/// a of n against c of m.
fn fisher((a, n): (usize, usize), (c, m): (usize, usize)) -> f64 {
    let hits = a + c;
    let logs: Vec<f64> = (0..=n + m)
        .scan(0.0f64, |sum, i| {
            *sum += (i.max(1) as f64).ln();
            Some(*sum)
        })
        .collect();
    let choose = |n: usize, k: usize| logs[n] - logs[k] - logs[n - k];
    let of = |a: usize| (choose(n, a) + choose(m, hits - a) - choose(n + m, hits)).exp();
    (a..=hits.min(n)).filter(|a| hits - a <= m).map(of).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_lady_tasting_tea() {
        assert!((fisher((3, 4), (1, 4)) - 17.0 / 70.0).abs() < 1e-12);
        assert!((fisher((4, 4), (0, 4)) - 1.0 / 70.0).abs() < 1e-12);
        assert!((fisher((0, 4), (0, 9)) - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn p_is_that_of_all_ways_to_choose(a in 0usize..5, more in 0usize..5, c in 0usize..5, rest in 1usize..5) {
            let (n, m) = (a + more.max(1), c + rest);
            let hits = a + c;
            // Every choice of `hits` among n + m pairs is equally likely; the first n are the new ones.
            let (mut reached, mut all) = (0u32, 0u32);
            for choice in 0u32..1 << (n + m) {
                if choice.count_ones() as usize == hits {
                    all += 1;
                    reached += u32::from((choice & ((1 << n) - 1)).count_ones() as usize >= a);
                }
            }
            let p = f64::from(reached) / f64::from(all);
            prop_assert!((fisher((a, n), (c, m)) - p).abs() < 1e-9);
        }
    }
}
