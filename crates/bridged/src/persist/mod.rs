//! The model file `*.bridged`: safetensors, with what is not an array as JSON in its header.
//!
//! | in the file | holds |
//! |---|---|
//! | header key `bridged` | format, checksums, all parameters, names of columns |
//! | `x.*`, `y.*` | centroids, values, labels, scaler, rule, rows and their ids |
//! | `pairs`, `votes.*` | the pairs, how deep they sit, and their memberships |
//! | `forward.*`, `reverse.*` | links, checks and maps of a direction |
//!
//! Version 2 added soft memberships and the posterior bridge, version 3 checksums, and links as
//! arrays, so that the header stays small at any number of clusters. Version 4 is a model of pools that
//! were moved ([`crate::offset`]); other models are written as version 3 still, so that the release
//! before can use them. Files of all versions are read.
//!
//! | file | idea |
//! |---|---|
//! | `file.rs` | the bytes: in memory or in a file, header first, arrays on demand |
//! | `checksum.rs` | a flipped bit is found: CRC-32 of the header and of every array |
//! | `read.rs`, `write.rs` | named arrays in and out, each checked |
//! | `side.rs` | one side |
//! | `regressor.rs` | one direction |
//! | `earlier.rs` | what versions 1 and 2 kept in the header instead |
//!
//! Writing goes to a temporary file beside the target, which is renamed at the end: a crash leaves
//! the old model or none. Reading checks the version, the checksums, every shape, every index and
//! that numbers are finite, and answers a damaged file with an error. The rows of the pools stay in
//! the file until they are asked for.

mod checksum;
mod earlier;
mod file;
mod read;
mod regressor;
mod side;
mod write;

use crate::bridge::{PairVote, Votes};
use crate::cluster::Memberships;
use crate::model::BridgedModel;
use crate::settings::BridgedClustering;
use crate::side::Side;
use crate::{Error, NEWEST_MODEL_VERSION};
use bridged_math::Seed;
use file::ModelBytes;
use read::Reader;
use regressor::RegressorHeader;
use serde::{Deserialize, Serialize};
use side::SideHeader;
use std::collections::BTreeMap;
use std::path::Path;
use write::Writer;

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    /// Of the file's own header, with zeros in this place.
    #[serde(default)]
    crc32: String,
    spec: BridgedClustering,
    seed: Seed,
    x: SideHeader,
    y: SideHeader,
    forward: RegressorHeader,
    reverse: RegressorHeader,
    /// The clarity of x and y, of models with soft memberships.
    #[serde(default)]
    clarity: Option<(f64, f64)>,
    /// Of every array.
    #[serde(default)]
    checksums: BTreeMap<String, u32>,
}

/// What is read first: a newer file may not have the rest.
#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

/// What the arrays are checked by.
#[derive(Default, Deserialize)]
struct ChecksumsOnly {
    #[serde(default)]
    checksums: BTreeMap<String, u32>,
}

impl BridgedModel {
    /// Writes the model; the file appears whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let (writer, header) = self.collect()?;
        writer.finish(path, &header)
    }

    /// The bytes that [`save`](Self::save) writes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let (writer, header) = self.collect()?;
        writer.bytes(&header)
    }

    /// The arrays and the header of the file.
    fn collect(&self) -> Result<(Writer<'_>, String), Error> {
        let mut writer = Writer::default();
        let mut header = Header {
            version: self.version(),
            crc32: checksum::ZEROS.to_string(),
            spec: self.settings.clone(),
            seed: self.seed,
            x: side::write(&self.x, "x", &mut writer)?,
            y: side::write(&self.y, "y", &mut writer)?,
            forward: regressor::write(&self.forward, "forward", &mut writer),
            reverse: regressor::write(&self.reverse, "reverse", &mut writer),
            clarity: Some((self.votes.x_members.clarity, self.votes.y_members.clarity)),
            checksums: BTreeMap::new(),
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
        header.checksums = writer.checksums();
        Ok((writer, serde_json::to_string(&header).expect("a header is plain data")))
    }

    /// Reads a model that [`save`](Self::save) wrote; the rows of its pools when they are asked for.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let bytes = ModelBytes::open(path)?;
        parse(bytes).map_err(|problem| problem.of(path))
    }

    /// Reads a model from memory; `path` is named in errors.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        let model = ModelBytes::in_memory(bytes, path).and_then(parse);
        let model = model.map_err(|problem| problem.of(path))?;
        // The bytes are gone after this call.
        for side in [&model.x, &model.y] {
            if side.keeps_rows() {
                side.rows()?;
            }
        }
        Ok(model)
    }
}

/// Why bytes are not a model.
enum Problem {
    Newer(u32),
    Damaged(String),
    Io(std::io::Error),
}

impl Problem {
    fn of(self, path: &Path) -> Error {
        let path = path.to_path_buf();
        match self {
            Problem::Newer(found) => Error::NewerModel { path, found, known: NEWEST_MODEL_VERSION },
            Problem::Damaged(reason) => Error::BadModel { path, reason },
            Problem::Io(source) => Error::Io { path, source },
        }
    }
}

impl From<String> for Problem {
    fn from(reason: String) -> Self {
        Problem::Damaged(reason)
    }
}

fn parse(bytes: ModelBytes) -> Result<BridgedModel, Problem> {
    let damaged = |e: serde_json::Error| format!("its header cannot be read ({e})");
    let text = bytes.header()?;
    let VersionOnly { version } = serde_json::from_str(text).map_err(damaged)?;
    if version > NEWEST_MODEL_VERSION {
        return Err(Problem::Newer(version));
    }
    let mut checksums = None;
    // A header that has a checksum is checked by it, whatever version it claims to be.
    if version >= checksum::SINCE || checksum::is_sealed(bytes.raw_header()) {
        checksum::check_header(bytes.raw_header())?;
        let found: ChecksumsOnly = serde_json::from_str(text).map_err(damaged)?;
        checksums = Some(found.checksums);
    }
    let text = match version {
        0..3 => earlier::bring_up(text)?,
        _ => text.to_string(),
    };
    let header: Header = serde_json::from_str(&text).map_err(damaged)?;
    let reader = Reader::new(bytes, checksums);
    let x = side::read(header.x, "x", &reader)?;
    let y = side::read(header.y, "y", &reader)?;
    let (pairs, votes) = read_votes(&reader, &x, &y, header.clarity)?;
    let uncovered = header.spec.uncovered;
    let forward = regressor::read(header.forward, "forward", &reader, (&x, &y), uncovered)?;
    let reverse = regressor::read(header.reverse, "reverse", &reader, (&y, &x), uncovered)?;
    let (settings, seed) = (header.spec, header.seed);
    Ok(BridgedModel { settings, seed, x, y, pairs, votes, forward, reverse })
}

fn read_votes(
    reader: &Reader,
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
        let members = |name: &str, k: usize, clarity: f64| -> Result<Memberships, String> {
            let weights = reader.f64s(name, &[Some(pairs.len()), Some(k)])?;
            Ok(Memberships { k, weights, clarity })
        };
        votes.x_members = members("votes.x_members", x.k(), of_x)?;
        votes.y_members = members("votes.y_members", y.k(), of_y)?;
    }
    Ok((pairs, votes))
}
