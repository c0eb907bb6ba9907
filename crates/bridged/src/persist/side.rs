//! One side of a model in the file: `x.*` or `y.*`.

use super::read::Reader;
use super::write::Writer;
use crate::Error;
use crate::cluster::{AssignRule, Clustering, Gaussian, Metric, NOISE, Spread};
use crate::kept::Cached;
use crate::novelty::Novelty;
use crate::offset::Offset;
use crate::rows_at::Kept;
use crate::scale::Scaler;
use crate::separation::Separation;
use crate::side::{Names, Side, TextColumn};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct SideHeader {
    scaler: ScalerKind,
    rule: RuleHeader,
    inertia: f64,
    iterations: u32,
    converged: bool,
    separation: Separation,
    /// The variance of one direction and of all inside clusters; none in files of version 1.
    #[serde(default)]
    blur: Option<(f64, f64)>,
    /// What the distances of new rows are compared with; none in files of earlier releases.
    #[serde(default)]
    novelty: Option<NoveltyHeader>,
    rows_kept: bool,
    ids: bool,
    texts: Vec<String>,
    vector: Vec<String>,
    /// The name of the id column; not in files of releases before 0.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Whether something was taken off the columns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    offset: bool,
    /// How many rows the pool has, if the model holds only some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// Whether older rows count less than newer ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    mass: bool,
}

/// Rows that were measured, and how fast their upper tail falls.
#[derive(Serialize, Deserialize)]
struct NoveltyHeader {
    rows: u64,
    tail: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ScalerKind {
    None,
    Affine,
    L2,
    Project,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RuleHeader {
    Nearest { metric: Metric },
    Mixture,
    Neighbors { neighbors: usize, radius: Option<f64>, metric: Metric },
}

pub(super) fn write<'a>(
    side: &'a Side,
    name: &str,
    writer: &mut Writer<'a>,
) -> Result<SideHeader, Error> {
    let clustering = &side.clustering;
    let at = |part: &str| format!("{name}.{part}");
    writer.matrix(&at("centroids"), &clustering.centroids);
    writer.matrix(&at("values"), &side.values);
    writer.f32s(&at("mean"), &[side.mean.len()], &side.mean);
    writer.f64s(&at("radii"), &[side.radii.len()], &side.radii);
    writer.f64s(&at("shrink"), &[side.spread.shrink.len()], &side.spread.shrink);
    writer.u32s(&at("labels"), &[clustering.labels.len()], &clustering.labels);
    writer.u32s(&at("sizes"), &[clustering.sizes.len()], &clustering.sizes);
    if side.keeps_rows() {
        writer.matrix(&at("rows"), side.rows()?);
    }
    if !side.offset.is_none() {
        writer.f64s(&at("offset"), &[side.offset.get().len()], side.offset.get());
    }
    if let Some(mass) = &side.mass {
        writer.f64s(&at("mass"), &[mass.len()], mass);
    }
    if let Some(kept) = &side.kept {
        let json = serde_json::to_vec(&kept.at).expect("names and numbers can be written");
        writer.u8s(&at("rows_at"), json);
        writer.u64s(&at("kept"), &kept.rows);
    }
    if !side.names.ids.is_empty() {
        writer.strings(&at("ids"), &side.names.ids);
    }
    for (i, column) in side.names.texts.iter().enumerate() {
        writer.strings(&at(&format!("text.{i}")), &column.values);
    }
    Ok(SideHeader {
        scaler: write_scaler(&side.scaler, name, writer),
        rule: write_rule(&clustering.rule, name, writer),
        inertia: clustering.inertia,
        iterations: clustering.iterations,
        converged: clustering.converged,
        separation: side.separation.clone(),
        blur: Some((side.spread.variance, side.spread.within)),
        novelty: side.novelty.as_ref().map(|n| write_novelty(n, name, writer)),
        rows_kept: side.keeps_rows(),
        ids: !side.names.ids.is_empty(),
        texts: side.names.texts.iter().map(|t| t.name.clone()).collect(),
        vector: side.names.vector.clone(),
        id: side.names.id.clone(),
        offset: !side.offset.is_none(),
        total: side.kept.as_ref().map(|kept| kept.total),
        mass: side.mass.is_some(),
    })
}

fn write_novelty(novelty: &Novelty, name: &str, writer: &mut Writer<'_>) -> NoveltyHeader {
    let Novelty { rows, radii, scores, ranks, tail } = novelty;
    writer.f64s(&format!("{name}.novelty.radii"), &[radii.len()], radii);
    writer.f64s(&format!("{name}.novelty.scores"), &[scores.len()], scores);
    writer.u64s(&format!("{name}.novelty.ranks"), ranks);
    NoveltyHeader { rows: *rows, tail: *tail }
}

fn write_scaler<'a>(scaler: &'a Scaler, name: &str, writer: &mut Writer<'a>) -> ScalerKind {
    match scaler {
        Scaler::None => ScalerKind::None,
        Scaler::L2 => ScalerKind::L2,
        Scaler::Affine { shift, factor } => {
            writer.f32s(&format!("{name}.scale.shift"), &[shift.len()], shift);
            writer.f32s(&format!("{name}.scale.factor"), &[factor.len()], factor);
            ScalerKind::Affine
        }
        Scaler::Project { mean, components } => {
            writer.f32s(&format!("{name}.scale.mean"), &[mean.len()], mean);
            writer.matrix(&format!("{name}.scale.components"), components);
            ScalerKind::Project
        }
    }
}

fn write_rule<'a>(rule: &'a AssignRule, name: &str, writer: &mut Writer<'a>) -> RuleHeader {
    match rule {
        AssignRule::Nearest { centres, metric } => {
            writer.matrix(&format!("{name}.rule.centres"), centres);
            RuleHeader::Nearest { metric: *metric }
        }
        AssignRule::Mixture(mixture) => {
            let weights = &mixture.log_weights;
            writer.f64s(&format!("{name}.rule.log_weights"), &[weights.len()], weights);
            writer.matrix(&format!("{name}.rule.means"), &mixture.means);
            writer.matrix(&format!("{name}.rule.precisions"), &mixture.precisions);
            RuleHeader::Mixture
        }
        AssignRule::Neighbors { rows, labels, neighbors, radius, metric } => {
            writer.matrix(&format!("{name}.rule.rows"), rows);
            writer.u32s(&format!("{name}.rule.labels"), &[labels.len()], labels);
            RuleHeader::Neighbors { neighbors: *neighbors, radius: *radius, metric: *metric }
        }
    }
}

pub(super) fn read(header: SideHeader, name: &str, reader: &Reader) -> Result<Side, String> {
    let at = |part: &str| format!("{name}.{part}");
    let values = reader.matrix(&at("values"), None, None)?;
    let (k, cols) = (values.rows(), values.cols());
    if k == 0 || cols == 0 {
        return Err(format!("its {name} side has no clusters"));
    }
    let centroids = reader.matrix(&at("centroids"), Some(k), None)?;
    let labels = reader.u32s(&at("labels"), &[None])?;
    if labels.iter().any(|&l| l as usize >= k && l != NOISE) {
        return Err(format!("`{}` names a cluster that is not there", at("labels")));
    }
    let n = labels.len();
    let width = centroids.cols();
    let scaler = read_scaler(&header.scaler, name, reader, cols, width)?;
    let clustering = Clustering {
        rule: read_rule(header.rule, name, reader, k, width)?,
        sizes: reader.u32s(&at("sizes"), &[Some(k)])?,
        inertia: header.inertia,
        iterations: header.iterations,
        converged: header.converged,
        labels,
        centroids,
    };
    let rows = match header.rows_kept {
        true => Some(reader.rows_later(&at("rows"), n, cols)?),
        false => None,
    };
    let ids = if header.ids { reader.strings(&at("ids"), Some(n))? } else { Vec::new() };
    let texts = header.texts.into_iter().enumerate().map(|(i, text)| {
        let values = reader.strings(&at(&format!("text.{i}")), Some(n))?;
        Ok(TextColumn { name: text, values })
    });
    let spread = match header.blur {
        Some((variance, within)) => {
            Spread { variance, within, shrink: reader.f64s(&at("shrink"), &[Some(k)])? }
        }
        None => Spread::none(k),
    };
    if spread.shrink.iter().any(|s| !(0.0..=1.0).contains(s)) {
        return Err(format!("`{}` is not between 0 and 1", at("shrink")));
    }
    let mass = match header.mass {
        true => Some(reader.f64s(&at("mass"), &[Some(k)])?),
        false => None,
    };
    if mass.iter().flatten().any(|&m| m < 0.0) {
        return Err(format!("`{}` is negative", at("mass")));
    }
    let novelty = header.novelty.map(|n| read_novelty(&n, name, reader, k)).transpose()?;
    Ok(Side {
        spread,
        novelty,
        mass,
        index: Cached::default(),
        label_column: Cached::default(),
        mean: reader.f32s(&at("mean"), Some(cols))?,
        radii: reader.f64s(&at("radii"), &[Some(k)])?,
        separation: header.separation,
        offset: match header.offset {
            true => Offset::new(reader.f64s(&at("offset"), &[Some(cols)])?),
            false => Offset::default(),
        },
        names: Names {
            ids,
            texts: texts.collect::<Result<_, String>>()?,
            vector: header.vector,
            id: header.id,
        },
        kept: header.total.map(|total| read_kept(total, name, n, reader)).transpose()?,
        scaler,
        clustering,
        values,
        rows,
    })
}

/// Which rows of a pool of `total` the model holds, `n` of them.
fn read_kept(total: u64, name: &str, n: usize, reader: &Reader) -> Result<Kept, String> {
    let at = |part: &str| format!("{name}.{part}");
    let rows = reader.u64s(&at("kept"), Some(n))?;
    if !rows.is_sorted_by(|a, b| a < b) || rows.last().is_some_and(|&last| last >= total) {
        return Err(format!("`{}` names rows that the pool does not have", at("kept")));
    }
    let json = reader.u8s(&at("rows_at"), None)?;
    let place = serde_json::from_slice(&json).map_err(|e| format!("`{}`: {e}", at("rows_at")))?;
    Ok(Kept { total, rows, at: place })
}

fn read_novelty(
    header: &NoveltyHeader,
    name: &str,
    reader: &Reader,
    k: usize,
) -> Result<Novelty, String> {
    let at = |part: &str| format!("{name}.novelty.{part}");
    let radii = reader.f64s(&at("radii"), &[Some(k)])?;
    let scores = reader.f64s(&at("scores"), &[None])?;
    let ranks = reader.u64s(&at("ranks"), Some(scores.len()))?;
    let NoveltyHeader { rows, tail } = *header;
    let ordered = scores.windows(2).all(|w| w[0] >= w[1])
        && ranks.windows(2).all(|w| w[0] < w[1])
        && ranks.first().is_some_and(|&first| first > 0)
        && ranks.last().is_some_and(|&last| last <= rows);
    let positive = radii.iter().chain(scores.last()).chain([&tail]).all(|v| *v >= 0.0);
    match ordered && positive {
        true => Ok(Novelty { rows, radii, scores, ranks, tail }),
        false => Err(format!("`{}` is not a list of distances", at("scores"))),
    }
}

/// The scaler, which takes rows of `cols` columns to rows of `width`.
fn read_scaler(
    kind: &ScalerKind,
    name: &str,
    reader: &Reader,
    cols: usize,
    width: usize,
) -> Result<Scaler, String> {
    let at = |part: &str| format!("{name}.scale.{part}");
    let scaler = match kind {
        ScalerKind::None => Scaler::None,
        ScalerKind::L2 => Scaler::L2,
        ScalerKind::Affine => Scaler::Affine {
            shift: reader.f32s(&at("shift"), Some(cols))?,
            factor: reader.f32s(&at("factor"), Some(cols))?,
        },
        ScalerKind::Project => {
            let components = reader.matrix(&at("components"), Some(width), Some(cols))?;
            return Ok(Scaler::Project { mean: reader.f32s(&at("mean"), Some(cols))?, components });
        }
    };
    if width == cols {
        Ok(scaler)
    } else {
        Err(format!("its {name} centroids have {width} columns instead of {cols}"))
    }
}

fn read_rule(
    header: RuleHeader,
    name: &str,
    reader: &Reader,
    k: usize,
    width: usize,
) -> Result<AssignRule, String> {
    let at = |part: &str| format!("{name}.rule.{part}");
    Ok(match header {
        RuleHeader::Nearest { metric } => AssignRule::Nearest {
            centres: reader.matrix(&at("centres"), Some(k), Some(width))?,
            metric,
        },
        RuleHeader::Mixture => {
            let precisions = reader.matrix(&at("precisions"), None, None)?;
            let shape = (precisions.rows(), precisions.cols());
            if ![(k, 1), (k, width), (k * width, width)].contains(&shape) {
                return Err(format!("`{}` has an unexpected shape", at("precisions")));
            }
            AssignRule::Mixture(Gaussian {
                log_weights: reader.f64s(&at("log_weights"), &[Some(k)])?,
                means: reader.matrix(&at("means"), Some(k), Some(width))?,
                precisions,
            })
        }
        RuleHeader::Neighbors { neighbors, radius, metric } => {
            let rows = reader.matrix(&at("rows"), None, Some(width))?;
            let labels = reader.u32s(&at("labels"), &[Some(rows.rows())])?;
            if rows.rows() == 0 || neighbors == 0 || labels.iter().any(|&l| l as usize >= k) {
                return Err(format!("`{}` cannot assign rows", at("rule")));
            }
            AssignRule::Neighbors { rows, labels, neighbors, radius, metric }
        }
    })
}
