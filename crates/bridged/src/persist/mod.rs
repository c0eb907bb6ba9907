//! The model file `*.bridged`: safetensors with everything that is not a number array as JSON in
//! its header.
//!
//! | in the file | holds |
//! |---|---|
//! | header key `bridged` | format, version, all parameters, links, names of columns |
//! | `x.*`, `y.*` | centroids, values, labels, scaler, rule, rows and their ids |
//! | `pairs`, `votes.*` | the pairs, how deep they sit, and their memberships |
//! | `forward.*`, `reverse.*` | the maps of refinements |
//!
//! Version 2 added soft memberships and the posterior bridge; files of version 1 are read.
//!
//! Writing goes to a temporary file beside the target, which is renamed at the end: a crash leaves
//! the old model or none. Reading checks the version, every shape, every index and that numbers are
//! finite, and answers a damaged file with an error.

mod read;
mod side;
mod write;

use crate::blur::Members;
use crate::bridge::{Bridge, PairVote, Reading, Votes};
use crate::leave_one_out::LeaveOneOut;
use crate::model::BridgedModel;
use crate::refine::LocalMap;
use crate::residual::Residual;
use crate::route::{Answer, Route};
use crate::side::Side;
use crate::spec::BridgedClustering;
use crate::{Error, MODEL_VERSION as VERSION};
use bridged_math::Seed;
use read::Reader;
use serde::{Deserialize, Serialize};
use side::SideHeader;
use std::path::Path;
use write::Writer;

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    spec: BridgedClustering,
    seed: Seed,
    x: SideHeader,
    y: SideHeader,
    forward: RouteHeader,
    reverse: RouteHeader,
    /// The clarity of x and y, of models with soft memberships.
    #[serde(default)]
    clarity: Option<(f64, f64)>,
}

/// What is read first: a newer file may not have the rest.
#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct RouteHeader {
    bridge: Bridge,
    #[serde(default)]
    reading: Reading,
    answers: Vec<Answer>,
    maps: Vec<(u32, u32)>,
    /// The radius of the map of what the bridge leaves unexplained.
    #[serde(default)]
    residual: Option<f64>,
    alpha: f64,
    check: Option<LeaveOneOut>,
}

impl BridgedModel {
    /// Writes the model; the file appears whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let (writer, header) = self.collect();
        writer.finish(path, header)
    }

    /// The bytes that [`save`](Self::save) writes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let (writer, header) = self.collect();
        writer.bytes(header)
    }

    /// The arrays and the header of the file.
    fn collect(&self) -> (Writer<'_>, String) {
        let mut writer = Writer::default();
        let header = Header {
            version: VERSION,
            spec: self.spec.clone(),
            seed: self.seed,
            x: side::write(&self.x, "x", &mut writer),
            y: side::write(&self.y, "y", &mut writer),
            forward: write_route(&self.forward, "forward", &mut writer),
            reverse: write_route(&self.reverse, "reverse", &mut writer),
            clarity: Some((self.votes.x_members.clarity, self.votes.y_members.clarity)),
        };
        let pairs: Vec<u32> = self.pairs.iter().flat_map(|&(x, y)| [x, y]).collect();
        writer.u32s("pairs", &[self.pairs.len(), 2], &pairs);
        let depths: Vec<f64> =
            self.votes.pairs.iter().flat_map(|p| [p.x_depth, p.y_depth]).collect();
        writer.f64s("votes.depth", &[self.pairs.len(), 2], &depths);
        for (name, members) in
            [("votes.x_members", &self.votes.x_members), ("votes.y_members", &self.votes.y_members)]
        {
            writer.f64s(name, &[self.pairs.len(), members.k], &members.weights);
        }
        let header = serde_json::to_string(&header).expect("a header is plain data");
        (writer, header)
    }

    /// Reads a model that [`save`](Self::save) wrote.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let bytes =
            std::fs::read(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
        Self::from_bytes(&bytes, path)
    }

    /// Reads a model from memory; `path` is named in errors.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        parse(bytes).map_err(|problem| match problem {
            Problem::Newer(found) => {
                Error::NewerModel { path: path.to_path_buf(), found, known: VERSION }
            }
            Problem::Damaged(reason) => Error::BadModel { path: path.to_path_buf(), reason },
        })
    }
}

/// Why bytes are not a model.
enum Problem {
    Newer(u32),
    Damaged(String),
}

impl From<String> for Problem {
    fn from(reason: String) -> Self {
        Problem::Damaged(reason)
    }
}

fn parse(bytes: &[u8]) -> Result<BridgedModel, Problem> {
    let (reader, header) = Reader::new(bytes)?;
    let damaged = |e: serde_json::Error| format!("its header cannot be read ({e})");
    let VersionOnly { version } = serde_json::from_str(&header).map_err(damaged)?;
    if version > VERSION {
        return Err(Problem::Newer(version));
    }
    let header: Header = serde_json::from_str(&header).map_err(damaged)?;
    let x = side::read(header.x, "x", &reader)?;
    let y = side::read(header.y, "y", &reader)?;
    let (pairs, votes) = read_votes(&reader, &x, &y, header.clarity)?;
    let forward = read_route(header.forward, "forward", &reader, &x, &y)?;
    let reverse = read_route(header.reverse, "reverse", &reader, &y, &x)?;
    let (spec, seed) = (header.spec, header.seed);
    Ok(BridgedModel { spec, seed, x, y, pairs, votes, forward, reverse })
}

fn read_votes(
    reader: &Reader<'_>,
    x: &Side,
    y: &Side,
    clarity: Option<(f64, f64)>,
) -> Result<(Vec<(u32, u32)>, Votes), String> {
    let rows = reader.u32s("pairs", &[None, Some(2)])?;
    let depths = reader.f64s("votes.depth", &[Some(rows.len() / 2), Some(2)])?;
    let mut pairs = Vec::with_capacity(rows.len() / 2);
    let mut votes = Vec::with_capacity(rows.len() / 2);
    for (row, depth) in rows.chunks_exact(2).zip(depths.chunks_exact(2)) {
        let label = |side: &Side, row: u32| {
            let label = side.clustering.labels.get(row as usize).copied();
            label.ok_or_else(|| format!("a pair names row {row}, which its pool does not have"))
        };
        pairs.push((row[0], row[1]));
        votes.push(PairVote {
            x: label(x, row[0])?,
            y: label(y, row[1])?,
            x_depth: depth[0],
            y_depth: depth[1],
        });
    }
    let sizes = |side: &Side| side.clustering.sizes.clone();
    let mut votes = Votes::hard(votes, sizes(x), sizes(y));
    if let Some((of_x, of_y)) = clarity {
        let members = |name: &str, k: usize, clarity: f64| -> Result<Members, String> {
            let weights = reader.f64s(name, &[Some(pairs.len()), Some(k)])?;
            Ok(Members { k, weights, clarity })
        };
        votes.x_members = members("votes.x_members", x.k(), of_x)?;
        votes.y_members = members("votes.y_members", y.k(), of_y)?;
    }
    Ok((pairs, votes))
}

fn write_route<'a>(route: &'a Route, name: &str, writer: &mut Writer<'a>) -> RouteHeader {
    for ((i, j), map) in &route.maps {
        writer.matrix(&format!("{name}.map.{i}.{j}.basis"), &map.basis);
        writer.matrix(&format!("{name}.map.{i}.{j}.coefficients"), &map.coefficients);
    }
    if let Some(map) = &route.residual {
        writer.f32s(&format!("{name}.residual.origin"), &[map.origin.len()], &map.origin);
        writer.matrix(&format!("{name}.residual.basis"), &map.basis);
        writer.matrix(&format!("{name}.residual.coefficients"), &map.coefficients);
    }
    RouteHeader {
        reading: route.reading,
        residual: route.residual.as_ref().map(|map| map.radius),
        bridge: route.bridge.clone(),
        answers: route.answers.clone(),
        maps: route.maps.keys().copied().collect(),
        alpha: route.alpha,
        check: route.check.clone(),
    }
}

fn read_route(
    header: RouteHeader,
    name: &str,
    reader: &Reader<'_>,
    from: &Side,
    to: &Side,
) -> Result<Route, String> {
    let (k, most) = (from.k(), to.k());
    if header.bridge.links.len() != k || header.answers.len() != 2 * k + 1 {
        return Err(format!("its {name} bridge does not have one link for each of {k} clusters"));
    }
    let links = header.bridge.links.iter().flat_map(|l| &l.targets);
    let answers = header.answers.iter().flat_map(|a| &a.targets);
    let mut targets = links.chain(answers);
    if targets.any(|t| t.cluster as usize >= most || !(0.0..=1.0 + 1e-9).contains(&t.weight)) {
        return Err(format!("its {name} bridge links to a cluster that is not there"));
    }
    if !(0.0..=1.0).contains(&header.alpha) {
        return Err(format!("its {name} refinement has the strength {}", header.alpha));
    }
    let mut maps = std::collections::BTreeMap::new();
    for (i, j) in header.maps {
        if i as usize >= k || j as usize >= most {
            return Err(format!("it has a {name} map between clusters that are not there"));
        }
        let width = from.clustering.centroids.cols();
        let basis = reader.matrix(&format!("{name}.map.{i}.{j}.basis"), None, Some(width))?;
        let coefficients = reader.matrix(
            &format!("{name}.map.{i}.{j}.coefficients"),
            Some(basis.rows()),
            Some(to.cols()),
        )?;
        maps.insert((i, j), LocalMap { basis, coefficients });
    }
    let width = from.clustering.centroids.cols();
    let read_residual = |radius: f64| -> Result<Residual, String> {
        let at = |part: &str| format!("{name}.residual.{part}");
        let basis = reader.matrix(&at("basis"), None, Some(width))?;
        let coefficients =
            reader.matrix(&at("coefficients"), Some(basis.rows()), Some(to.cols()))?;
        Ok(Residual {
            origin: reader.f32s(&at("origin"), Some(width))?,
            radius,
            basis,
            coefficients,
        })
    };
    Ok(Route {
        reading: header.reading,
        residual: header.residual.map(read_residual).transpose()?,
        bridge: header.bridge,
        answers: header.answers,
        maps,
        alpha: header.alpha,
        check: header.check,
    })
}
