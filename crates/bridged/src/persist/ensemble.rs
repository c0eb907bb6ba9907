//! Several members in the file: `ensemble.*`.

use super::read::Reader;
use super::write::Writer;
use crate::cluster::{AssignRule, Clustering, Metric, Spread};
use crate::ensemble::{BridgeMember, Ensemble, EnsembleSide, Kernel, Partition, Regression, Stack};
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
    StackHeader { bridges, regressions }
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
    let of_x = read_side(x_header, "ensemble.x", reader, x, None)?;
    let of_y = read_side(y_header, "ensemble.y", reader, y, Some(of_x.paired.rows()))?;
    let ks = |side: &Side, of: &EnsembleSide| -> Vec<usize> {
        std::iter::once(side.k()).chain(of.partitions.iter().map(|p| p.clustering.k())).collect()
    };
    let (kx, ky, pairs) = (ks(x, &of_x), ks(y, &of_y), of_x.paired.rows());
    let stack = |header, name, (from, to): (&[usize], &[usize]), cols| {
        read_stack(header, name, reader, (from, to), (pairs, cols))
    };
    let forward = stack(forward, "ensemble.forward", (&kx, &ky), y.cols())?;
    let reverse = stack(reverse, "ensemble.reverse", (&ky, &kx), x.cols())?;
    Ok(Ensemble { x: of_x, y: of_y, forward, reverse })
}

fn read_side(
    header: Vec<PartitionHeader>,
    name: &str,
    reader: &Reader,
    side: &Side,
    pairs: Option<usize>,
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
    Ok(EnsembleSide { partitions, paired })
}

fn read_stack(
    header: StackHeader,
    name: &str,
    reader: &Reader,
    (from, to): (&[usize], &[usize]),
    (pairs, cols): (usize, usize),
) -> Result<Stack, String> {
    let share = |weight: f64| match (0.0..=1.0 + 1e-9).contains(&weight) {
        true => Ok(weight),
        false => Err(format!("a member of `{name}` has the weight {weight}")),
    };
    let bridge = |(m, header): (usize, BridgeHeader)| -> Result<BridgeMember, String> {
        let BridgeHeader { partition, geometry, weight } = header;
        let (Some(kx), Some(ky)) = (from.get(partition), to.get(partition)) else {
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
        let coefficients = reader.matrix(&name, Some(pairs), Some(cols))?;
        Ok(Regression { kernel, coefficients, weight: share(weight)? })
    };
    let regressions =
        header.regressions.into_iter().enumerate().map(regression).collect::<Result<_, _>>()?;
    Ok(Stack { bridges, regressions })
}
