//! One direction of a model in the file: `forward.*` or `reverse.*`.

use super::read::Reader;
use super::write::Writer;
use crate::bridge::{Bridge, Link, LinkStatus, Reading, Target};
use crate::check::LeaveOneOut;
use crate::fit::local_map::LocalMap;
use crate::fit::residual_map::ResidualMap;
use crate::predict::{Answers, Regressor};
use crate::settings::Uncovered;
use crate::side::Side;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize)]
pub(super) struct RegressorHeader {
    #[serde(default)]
    reading: Reading,
    reliability: Option<f64>,
    maps: Vec<(u32, u32)>,
    /// The radius of the map of what the bridge leaves unexplained.
    #[serde(default)]
    residual: Option<f64>,
    alpha: f64,
    /// How far probabilities are believed; of models with several members.
    #[serde(default = "wholly", skip_serializing_if = "is_whole")]
    sureness: f64,
    check: Option<CheckHeader>,
    /// Whether clusters may have no partner; of models with several members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partnerless: bool,
    /// The links, of files before version 3.
    #[serde(default, skip_serializing)]
    links: Option<Vec<Link>>,
}

fn wholly() -> f64 {
    1.0
}

fn is_whole(sureness: &f64) -> bool {
    *sureness == 1.0
}

/// How well the pairs predict each other; what there is of each pair is an array.
#[derive(Serialize, Deserialize)]
struct CheckHeader {
    pairs: usize,
    answered: usize,
    bridge: f64,
    pool_mean: f64,
    paired_mean: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chance: Option<f64>,
    /// Scores and agreements, of files before version 3.
    #[serde(default, skip_serializing)]
    scores: Option<Vec<f64>>,
    #[serde(default, skip_serializing)]
    agreement: Option<Vec<f64>>,
}

/// Statuses by their number in the file.
const STATUSES: [LinkStatus; 7] = [
    LinkStatus::Linked,
    LinkStatus::Tied,
    LinkStatus::Eliminated,
    LinkStatus::Outvoted,
    LinkStatus::NoEvidence,
    LinkStatus::Noise,
    LinkStatus::NoPartner,
];

pub(super) fn write<'a>(
    regressor: &'a Regressor,
    name: &str,
    writer: &mut Writer<'a>,
) -> RegressorHeader {
    write_links(&regressor.bridge.links, name, writer);
    for ((i, j), map) in &regressor.maps {
        writer.matrix(&format!("{name}.map.{i}.{j}.basis"), &map.basis);
        writer.matrix(&format!("{name}.map.{i}.{j}.coefficients"), &map.coefficients);
    }
    if let Some(map) = &regressor.residual {
        writer.f32s(&format!("{name}.residual.origin"), &[map.origin.len()], &map.origin);
        writer.matrix(&format!("{name}.residual.basis"), &map.basis);
        writer.matrix(&format!("{name}.residual.coefficients"), &map.coefficients);
    }
    if !regressor.partnerless.is_empty() {
        let (k, values) = (regressor.partnerless.len(), &regressor.partnerless);
        writer.f64s(&format!("{name}.partnerless"), &[k], values);
    }
    let check = regressor.check.as_ref().map(|check| {
        writer.f64s(&format!("{name}.check.scores"), &[check.scores.len()], &check.scores);
        let agreement = &check.agreement;
        writer.f64s(&format!("{name}.check.agreement"), &[agreement.len()], agreement);
        CheckHeader {
            pairs: check.pairs,
            answered: check.answered,
            bridge: check.bridge,
            pool_mean: check.pool_mean,
            paired_mean: check.paired_mean,
            chance: check.chance,
            scores: None,
            agreement: None,
        }
    });
    RegressorHeader {
        reading: regressor.reading,
        reliability: regressor.bridge.reliability,
        maps: regressor.maps.keys().copied().collect(),
        residual: regressor.residual.as_ref().map(|map| map.radius),
        alpha: regressor.alpha,
        sureness: regressor.sureness,
        check,
        partnerless: !regressor.partnerless.is_empty(),
        links: None,
    }
}

/// Links as arrays: the targets of all one after the other, and where those of each link end.
fn write_links(links: &[Link], name: &str, writer: &mut Writer<'_>) {
    let at = |part: &str| format!("{name}.links.{part}");
    let k = links.len();
    let number = |status| STATUSES.iter().position(|s| *s == status).unwrap_or(0) as u8;
    let targets = || links.iter().flat_map(|l| &l.targets);
    let clusters: Vec<u32> = targets().map(|t| t.cluster).collect();
    let weights: Vec<f64> = targets().map(|t| t.weight).collect();
    let ends: Vec<u64> = links
        .iter()
        .scan(0, |end, link| {
            *end += link.targets.len() as u64;
            Some(*end)
        })
        .collect();
    let numbers: Vec<u32> = links.iter().flat_map(|l| [l.support, l.pairs]).collect();
    writer.u32s(&at("clusters"), &[clusters.len()], &clusters);
    writer.f64s(&at("weights"), &[weights.len()], &weights);
    writer.u64s(&at("ends"), &ends);
    writer.u32s(&at("pairs"), &[k, 2], &numbers);
    writer.u8s(&at("status"), links.iter().map(|l| number(l.status)).collect());
}

fn read_links(name: &str, reader: &Reader, k: usize) -> Result<Vec<Link>, String> {
    let at = |part: &str| format!("{name}.links.{part}");
    let ends = reader.u64s(&at("ends"), Some(k))?;
    let clusters = reader.u32s(&at("clusters"), &[None])?;
    let weights = reader.f64s(&at("weights"), &[Some(clusters.len())])?;
    let numbers = reader.u32s(&at("pairs"), &[Some(k), Some(2)])?;
    let statuses = reader.u8s(&at("status"), Some(k))?;
    let mut start = 0usize;
    let mut links = Vec::with_capacity(k);
    for i in 0..k {
        let end = usize::try_from(ends[i]).ok().filter(|e| (start..=clusters.len()).contains(e));
        let end = end.ok_or_else(|| format!("`{}` are not in order", at("ends")))?;
        let status = STATUSES.get(statuses[i] as usize).copied();
        let status = status.ok_or_else(|| format!("`{}` is not known", at("status")))?;
        let target = |t: usize| Target { cluster: clusters[t], weight: weights[t] };
        links.push(Link {
            targets: (start..end).map(target).collect(),
            status,
            support: numbers[2 * i],
            pairs: numbers[2 * i + 1],
        });
        start = end;
    }
    match start == clusters.len() {
        true => Ok(links),
        false => Err(format!("`{}` do not cover all links", at("ends"))),
    }
}

pub(super) fn read(
    header: RegressorHeader,
    name: &str,
    reader: &Reader,
    (from, to): (&Side, &Side),
    uncovered: Uncovered,
) -> Result<Regressor, String> {
    let (k, most) = (from.k(), to.k());
    let links = match header.links {
        Some(links) => links,
        None => read_links(name, reader, k)?,
    };
    if links.len() != k {
        return Err(format!("its {name} bridge does not have one link for each of {k} clusters"));
    }
    let mut targets = links.iter().flat_map(|l| &l.targets);
    if targets.any(|t| t.cluster as usize >= most || !(0.0..=1.0 + 1e-9).contains(&t.weight)) {
        return Err(format!("its {name} bridge links to a cluster that is not there"));
    }
    if !(0.0..=1.0).contains(&header.alpha) {
        return Err(format!("its {name} refinement has the strength {}", header.alpha));
    }
    if !(0.0..=1.0).contains(&header.sureness) {
        return Err(format!("its {name} probabilities are believed by {}", header.sureness));
    }
    let width = from.clustering.centroids.cols();
    let mut maps = BTreeMap::new();
    for (i, j) in header.maps {
        if i as usize >= k || j as usize >= most {
            return Err(format!("it has a {name} map between clusters that are not there"));
        }
        let basis = reader.matrix(&format!("{name}.map.{i}.{j}.basis"), None, Some(width))?;
        let coefficients = reader.matrix(
            &format!("{name}.map.{i}.{j}.coefficients"),
            Some(basis.rows()),
            Some(to.cols()),
        )?;
        maps.insert((i, j), LocalMap { basis, coefficients });
    }
    let read_residual = |radius: f64| -> Result<ResidualMap, String> {
        let at = |part: &str| format!("{name}.residual.{part}");
        let basis = reader.matrix(&at("basis"), None, Some(width))?;
        let coefficients =
            reader.matrix(&at("coefficients"), Some(basis.rows()), Some(to.cols()))?;
        let origin = reader.f32s(&at("origin"), Some(width))?;
        Ok(ResidualMap { origin, radius, basis, coefficients })
    };
    let read_check = |check: CheckHeader| -> Result<LeaveOneOut, String> {
        let array = |kept: Option<Vec<f64>>, part: &str| match kept {
            Some(values) => Ok(values),
            None => reader.f64s(&format!("{name}.check.{part}"), &[None]),
        };
        Ok(LeaveOneOut {
            pairs: check.pairs,
            answered: check.answered,
            bridge: check.bridge,
            pool_mean: check.pool_mean,
            paired_mean: check.paired_mean,
            chance: check.chance,
            scores: array(check.scores, "scores")?,
            agreement: array(check.agreement, "agreement")?,
        })
    };
    let partnerless = match header.partnerless {
        true => reader.f64s(&format!("{name}.partnerless"), &[Some(from.k())])?,
        false => Vec::new(),
    };
    if partnerless.iter().any(|q| !(0.0..=1.0).contains(q)) {
        return Err(format!("`{name}.partnerless` are no probabilities"));
    }
    let bridge = Bridge { links, reliability: header.reliability };
    Ok(Regressor {
        reading: header.reading,
        residual: header.residual.map(read_residual).transpose()?,
        answers: Answers::new(&bridge, uncovered, from),
        bridge,
        maps,
        alpha: header.alpha,
        sureness: header.sureness,
        partnerless,
        check: header.check.map(read_check).transpose()?,
    })
}
