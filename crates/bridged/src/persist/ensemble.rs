//! Several members in the file: `ensemble.*`.

use super::read::Reader;
use super::write::Writer;
use crate::cluster::{AssignRule, Clustering, Metric, Spread};
use crate::ensemble::{
    BridgeMember, By, Ensemble, EnsembleSide, Kernel, Matching, Nodes, Partition, Regression,
    Stack, WALKS,
};
use crate::side::Side;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct EnsembleHeader {
    x: Vec<PartitionHeader>,
    y: Vec<PartitionHeader>,
    forward: StackHeader,
    reverse: StackHeader,
}

#[derive(Serialize, Deserialize)]
struct PartitionHeader {
    balanced: bool,
    inertia: f64,
    iterations: u32,
    converged: bool,
    variance: f64,
    within: f64,
}

#[derive(Serialize, Deserialize)]
struct StackHeader {
    bridges: Vec<BridgeHeader>,
    regressions: Vec<RegressionHeader>,
    /// Version 5 had none.
    #[serde(default)]
    matchings: Vec<MatchingHeader>,
}

#[derive(Serialize, Deserialize)]
struct BridgeHeader {
    partition: usize,
    geometry: bool,
    weight: f64,
}

#[derive(Serialize, Deserialize)]
struct RegressionHeader {
    kernel: Kernel,
    weight: f64,
}

#[derive(Serialize, Deserialize)]
struct MatchingHeader {
    by: MatchedBy,
    weight: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MatchedBy {
    Rotation,
    Walk(usize),
}

pub(super) fn write<'a>(ensemble: &'a Ensemble, writer: &mut Writer<'a>) -> EnsembleHeader {
    EnsembleHeader {
        x: write_side(&ensemble.x, "ensemble.x", writer),
        y: write_side(&ensemble.y, "ensemble.y", writer),
        forward: write_stack(&ensemble.forward, "ensemble.forward", writer),
        reverse: write_stack(&ensemble.reverse, "ensemble.reverse", writer),
    }
}

fn write_side<'a>(
    side: &'a EnsembleSide,
    name: &str,
    writer: &mut Writer<'a>,
) -> Vec<PartitionHeader> {
    writer.matrix(&format!("{name}.paired"), &side.paired);
    if let Some(Nodes { axes, rows, values, ends }) = &side.nodes {
        if let Some(axes) = axes {
            writer.matrix(&format!("{name}.nodes.axes"), axes);
        }
        writer.matrix(&format!("{name}.nodes.rows"), rows);
        writer.matrix(&format!("{name}.nodes.values"), values);
        for (w, ends) in ends.iter().enumerate() {
            writer.matrix(&format!("{name}.nodes.ends.{w}"), ends);
        }
    }
    let partition = |(p, partition): (usize, &'a Partition)| {
        let Partition { clustering, spread, values, balanced } = partition;
        let at = |part: &str| format!("{name}.{p}.{part}");
        writer.matrix(&at("centroids"), &clustering.centroids);
        writer.matrix(&at("values"), values);
        writer.u32s(&at("sizes"), &[clustering.sizes.len()], &clustering.sizes);
        writer.f64s(&at("shrink"), &[spread.shrink.len()], &spread.shrink);
        PartitionHeader {
            balanced: *balanced,
            inertia: clustering.inertia,
            iterations: clustering.iterations,
            converged: clustering.converged,
            variance: spread.variance,
            within: spread.within,
        }
    };
    side.partitions.iter().enumerate().map(partition).collect()
}

fn write_stack<'a>(stack: &'a Stack, name: &str, writer: &mut Writer<'a>) -> StackHeader {
    let bridge = |(m, member): (usize, &'a BridgeMember)| {
        let BridgeMember { partition, geometry, ref links, weight } = *member;
        writer.f64s(&format!("{name}.links.{m}"), &[links.len()], links);
        BridgeHeader { partition, geometry, weight }
    };
    let bridges = stack.bridges.iter().enumerate().map(bridge).collect();
    let regression = |(r, regression): (usize, &'a Regression)| {
        let Regression { kernel, ref coefficients, weight } = *regression;
        writer.matrix(&format!("{name}.coefficients.{r}"), coefficients);
        RegressionHeader { kernel, weight }
    };
    let regressions = stack.regressions.iter().enumerate().map(regression).collect();
    let matching = |matching: &'a Matching| {
        let by = match &matching.by {
            By::Rotation(map) => {
                writer.matrix(&format!("{name}.rotation"), map);
                MatchedBy::Rotation
            }
            By::Walk(walk) => MatchedBy::Walk(*walk),
        };
        MatchingHeader { by, weight: matching.weight }
    };
    let matchings = stack.matchings.iter().map(matching).collect();
    StackHeader { bridges, regressions, matchings }
}

pub(super) fn read(
    header: EnsembleHeader,
    reader: &Reader,
    (x, y): (&Side, &Side),
) -> Result<Ensemble, String> {
    let EnsembleHeader { x: x_header, y: y_header, forward, reverse } = header;
    if x_header.len() != y_header.len() {
        return Err("its sides are not cut equally often".to_string());
    }
    let matches = |stack: &StackHeader| !stack.matchings.is_empty();
    let matches = matches(&forward) || matches(&reverse);
    let of_x = read_side(x_header, "ensemble.x", reader, x, (None, matches))?;
    let of_y = read_side(y_header, "ensemble.y", reader, y, (Some(of_x.paired.rows()), matches))?;
    let ks = |side: &Side, of: &EnsembleSide| -> Vec<usize> {
        std::iter::once(side.k()).chain(of.partitions.iter().map(|p| p.clustering.k())).collect()
    };
    let shape = |side: &Side, of: &EnsembleSide| Shape {
        clusters: ks(side, of),
        cols: side.cols(),
        coordinates: of.nodes.as_ref().map(|nodes| nodes.rows.cols()),
        pairs: of.paired.rows(),
    };
    let (shape_x, shape_y) = (shape(x, &of_x), shape(y, &of_y));
    let forward = read_stack(forward, "ensemble.forward", reader, (&shape_x, &shape_y))?;
    let reverse = read_stack(reverse, "ensemble.reverse", reader, (&shape_y, &shape_x))?;
    Ok(Ensemble { x: of_x, y: of_y, forward, reverse })
}

fn read_side(
    header: Vec<PartitionHeader>,
    name: &str,
    reader: &Reader,
    side: &Side,
    (pairs, matches): (Option<usize>, bool),
) -> Result<EnsembleSide, String> {
    let width = side.clustering.centroids.cols();
    let paired = reader.matrix(&format!("{name}.paired"), pairs, Some(width))?;
    let partition = |(p, header): (usize, PartitionHeader)| -> Result<Partition, String> {
        let at = |part: &str| format!("{name}.{p}.{part}");
        let centroids = reader.matrix(&at("centroids"), None, Some(width))?;
        let k = centroids.rows();
        if k == 0 {
            return Err(format!("`{}` has no rows", at("centroids")));
        }
        let values = reader.matrix(&at("values"), Some(k), Some(side.cols()))?;
        let sizes = reader.u32s(&at("sizes"), &[Some(k)])?;
        let shrink = reader.f64s(&at("shrink"), &[Some(k)])?;
        let rule = AssignRule::Nearest { centres: centroids.clone(), metric: Metric::Euclidean };
        let PartitionHeader { balanced, inertia, iterations, converged, variance, within } = header;
        if variance.is_nan()
            || variance < 0.0
            || sizes.iter().map(|&n| u64::from(n)).sum::<u64>() == 0
        {
            return Err(format!("`{name}.{p}` is no clustering"));
        }
        let labels = Vec::new();
        let clustering =
            Clustering { labels, centroids, sizes, inertia, iterations, converged, rule };
        Ok(Partition { clustering, spread: Spread { variance, within, shrink }, values, balanced })
    };
    let partitions = header.into_iter().enumerate().map(partition).collect::<Result<_, _>>()?;
    let nodes = matches.then(|| read_nodes(&format!("{name}.nodes"), reader, side, paired.rows()));
    Ok(EnsembleSide { partitions, paired, nodes: nodes.transpose()? })
}

fn read_nodes(name: &str, reader: &Reader, side: &Side, pairs: usize) -> Result<Nodes, String> {
    let width = side.clustering.centroids.cols();
    let axes = match Nodes::has_axes(width) {
        true => Some(reader.matrix(&format!("{name}.axes"), None, Some(width))?),
        false => None,
    };
    let r = axes.as_ref().map_or(width, |axes| axes.rows());
    let rows = reader.matrix(&format!("{name}.rows"), None, Some(r))?;
    let landmarks = Nodes::landmarks(pairs);
    if rows.rows() < landmarks.max(1) {
        return Err(format!("`{name}.rows` are fewer than its landmarks"));
    }
    let values = reader.matrix(&format!("{name}.values"), Some(rows.rows()), Some(side.cols()))?;
    let ends = |w: usize| {
        let name = format!("{name}.ends.{w}");
        let ends = reader.matrix(&name, Some(rows.rows()), Some(landmarks))?;
        match ends.data().iter().all(|p| (0.0..=1.0 + 1e-3).contains(p)) {
            true => Ok(ends),
            false => Err(format!("`{name}` are no probabilities")),
        }
    };
    let ends = (0..WALKS.len()).map(ends).collect::<Result<_, String>>()?;
    Ok(Nodes { axes, rows, values, ends })
}

/// What a stack must fit to, of one side.
struct Shape {
    /// Clusters of each cut.
    clusters: Vec<usize>,
    cols: usize,
    /// Coordinates of its nodes.
    coordinates: Option<usize>,
    pairs: usize,
}

fn read_stack(
    header: StackHeader,
    name: &str,
    reader: &Reader,
    (from, to): (&Shape, &Shape),
) -> Result<Stack, String> {
    let share = |weight: f64| match (0.0..=1.0 + 1e-9).contains(&weight) {
        true => Ok(weight),
        false => Err(format!("a member of `{name}` has the weight {weight}")),
    };
    let bridge = |(m, header): (usize, BridgeHeader)| -> Result<BridgeMember, String> {
        let BridgeHeader { partition, geometry, weight } = header;
        let (Some(kx), Some(ky)) = (from.clusters.get(partition), to.clusters.get(partition))
        else {
            return Err(format!("`{name}` links a clustering that is not there"));
        };
        let links = reader.f64s(&format!("{name}.links.{m}"), &[Some(kx * ky)])?;
        if links.iter().any(|p| !(0.0..=1.0 + 1e-9).contains(p)) {
            return Err(format!("`{name}.links.{m}` are no probabilities"));
        }
        Ok(BridgeMember { partition, geometry, links, weight: share(weight)? })
    };
    let bridges = header.bridges.into_iter().enumerate().map(bridge).collect::<Result<_, _>>()?;
    let regression = |(r, header): (usize, RegressionHeader)| -> Result<Regression, String> {
        let RegressionHeader { kernel, weight } = header;
        let name = format!("{name}.coefficients.{r}");
        let coefficients = reader.matrix(&name, Some(from.pairs), Some(to.cols))?;
        Ok(Regression { kernel, coefficients, weight: share(weight)? })
    };
    let regressions =
        header.regressions.into_iter().enumerate().map(regression).collect::<Result<_, _>>()?;
    let matching = |header: MatchingHeader| -> Result<Matching, String> {
        let by = match header.by {
            MatchedBy::Rotation => {
                let name = format!("{name}.rotation");
                By::Rotation(reader.matrix(&name, from.coordinates, to.coordinates)?)
            }
            MatchedBy::Walk(walk) if walk < WALKS.len() => By::Walk(walk),
            MatchedBy::Walk(walk) => return Err(format!("`{name}` has no walk {walk}")),
        };
        Ok(Matching { by, weight: share(header.weight)? })
    };
    let matchings = header.matchings.into_iter().map(matching).collect::<Result<_, _>>()?;
    Ok(Stack { bridges, regressions, matchings })
}
