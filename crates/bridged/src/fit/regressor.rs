//! One direction: links from the votes, maps from the pairs, and how far predictions follow them.

use super::alpha::choose_alpha;
use super::held_out::{self, HeldOutPairs};
use super::local_map::{Anchor, Examples, LocalMap, centroid_pairs, local_map};
use super::votes::PairedRows;
use crate::Error;
use crate::bridge::{Bridge, BridgeRule, LinkStatus, LinkedHeldOut, Votes};
use crate::check::{LeaveOneOut, chance, sureness};
use crate::ensemble::OnPairs;
use crate::predict::{ALONE, Answers, Regressor};
use crate::settings::{BridgedClustering, Refine, RefineKind};
use crate::side::Side;
use bridged_math::cancel::checkpoint;
use std::collections::BTreeMap;

impl BridgedClustering {
    /// Learns to predict `to` from `from`, of which the votes are seen.
    pub(super) fn regressor(
        &self,
        votes: &Votes,
        (from, inputs): (&Side, &PairedRows),
        (to, outputs): (&Side, &PairedRows),
        told: Option<&OnPairs>,
    ) -> Result<Regressor, Error> {
        let reading = self.bridge.reading();
        let left_out = held_out::left_out(votes.pairs.len());
        let LinkedHeldOut { mut bridge, held_out } = if reading.is_mixture() {
            self.bridge.link_held_out(votes, &left_out)?
        } else {
            LinkedHeldOut { bridge: self.bridge.link(votes)?, held_out: Vec::new() }
        };
        let partnerless = told.map_or(Vec::new(), |told| told.partnerless.clone());
        let alone = bridge.links.iter_mut().zip(&partnerless).filter(|(_, q)| **q > ALONE);
        alone.for_each(|(link, _)| link.status = LinkStatus::NoPartner);
        let examples =
            Examples { from: inputs.scaled(), to: outputs.rows.view(), votes: &votes.pairs };
        let mut trials = HeldOutPairs { settings: self, votes, from, to, examples: &examples }
            .predict(&left_out, &held_out)?;
        if let Some(told) = told {
            held_out::as_told(&mut trials, told, to, &examples, self.pair_rows);
        }
        let residual = match self.refine.kind {
            // The members have regressions of their own.
            RefineKind::Residual if told.is_none() => {
                held_out::learn_residual(&mut trials, from, &examples, self.refine.ridge)
            }
            _ => None,
        };
        let alpha = match told {
            None => choose_alpha(&self.refine, &trials),
            Some(_) => 0.0,
        };
        let agreement =
            left_out.iter().zip(&held_out).map(|(&s, w)| votes.agreement(s, w)).collect();
        // One clustering is as sure as its posterior.
        let told_count = self.told_count();
        let sureness = told.map_or(1.0, |_| sureness(votes, &left_out, &held_out, told_count));
        let mut check = LeaveOneOut::of(&trials, alpha, to.cols(), agreement);
        if let (Some(check), Some(told)) = (&mut check, told) {
            let truth = held_out::outputs(&told.pairs, to, &examples);
            check.chance = Some(chance(&told.said, &truth, to.cols()));
        }
        let maps = if alpha > 0.0 {
            local_maps(&self.refine, &bridge, from, to, &examples)
        } else {
            BTreeMap::new()
        };
        Ok(Regressor {
            answers: Answers::new(&bridge, self.uncovered, from),
            bridge,
            reading,
            maps,
            residual: residual.filter(|_| alpha > 0.0),
            alpha,
            sureness,
            partnerless,
            check,
        })
    }
}

/// The maps of all linked pairs of clusters that have examples.
fn local_maps(
    refine: &Refine,
    bridge: &Bridge,
    from: &Side,
    to: &Side,
    examples: &Examples<'_>,
) -> BTreeMap<(u32, u32), LocalMap> {
    let centroids = centroid_pairs(bridge, from, &to.values);
    let mut maps = BTreeMap::new();
    for (i, link) in bridge.links.iter().enumerate() {
        checkpoint();
        for t in &link.targets {
            let cell = (i as u32, t.cluster);
            let anchor = Anchor::between(from, to, cell.0, cell.1);
            if let Some(map) = local_map(refine, anchor, cell, examples, None, &centroids) {
                maps.insert(cell, map);
            }
        }
    }
    maps
}
