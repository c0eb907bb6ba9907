//! The model file `*.bridged`: safetensors, with what is not an array as JSON in its header.
//!
//! | in the file | holds |
//! |---|---|
//! | header key `bridged` | format, checksums, all parameters, names of columns |
//! | `x.*`, `y.*` | centroids, values, labels, scaler, rule, rows and their ids |
//! | `pairs`, `votes.*` | the pairs, how deep they sit, and their memberships |
//! | `negatives`, `votes.negatives.*` | rows that do not belong together, and their memberships; only if there are any |
//! | `forward.*`, `reverse.*` | links, checks and maps of a direction |
//! | `ensemble.*` | the members beside these: clusterings, links, regressions |
//!
//! Version 2 added soft memberships and the posterior bridge, version 3 checksums, and links as
//! arrays, so that the header stays small at any number of clusters. Version 4 is a model of pools that
//! were moved ([`crate::offset`]); other models are written as version 3 still, so that the release
//! before can use them. Version 5 has several members, version 6 members
//! that match rows too. Files of all versions are read.
//!
//! | file | idea |
//! |---|---|
//! | `file.rs` | the bytes: in memory or in a file, header first, arrays on demand |
//! | `checksum.rs` | a flipped bit is found: CRC-32 of the header and of every array |
//! | `read.rs`, `write.rs` | named arrays in and out, each checked |
//! | `side.rs` | one side |
//! | `regressor.rs` | one direction |
//! | `ensemble.rs` | several members |
//! | `reseal.rs` | makes checksums right again, for fuzzing |
//! | `earlier.rs` | what versions 1 and 2 kept in the header instead |
//!
//! Writing goes to a temporary file beside the target, which is read back and then renamed: a crash
//! leaves the old model or none, and what cannot be read never takes a model's place. Reading checks the version, the checksums, every shape, every index and
//! that numbers are finite, and answers a damaged file with an error. The rows of the pools stay in
//! the file until they are asked for.

mod checksum;
mod earlier;
mod ensemble;
mod file;
mod read;
mod regressor;
pub(crate) mod reseal;
mod side;
mod write;

use crate::bridge::{Negative, PairVote, Votes};
use crate::cluster::Memberships;
use crate::files::{Kind, Output, Overwrite, Replacement};
use crate::history::Event;
use crate::kept::Cached;
use crate::model::BridgedModel;
use crate::settings::BridgedClustering;
use crate::side::Side;
use crate::{Error, NEWEST_MODEL_VERSION};
use bridged_math::Seed;
use ensemble::EnsembleHeader;
use file::ModelBytes;
use read::Reader;
use regressor::RegressorHeader;
use serde::{Deserialize, Serialize};
use side::SideHeader;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use write::{Layout, Writer};

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
    /// Of models with several members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ensemble: Option<EnsembleHeader>,
    /// What was done to it; none in files of earlier releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    history: Vec<Event>,
    /// How many negative answers there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    negatives: usize,
    /// Of every array.
    #[serde(default)]
    checksums: BTreeMap<String, u32>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What holds a number that is not finite, if no array does.
const IN_HEADER: &str = "its header";

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

/// The kind of file that [`BridgedModel::save`] writes.
pub const MODEL_FILE: Kind =
    Kind { name: "a bridged model", extension: Some("bridged"), holds: is_model };

/// Whether a file begins as a model of any version does.
fn is_model(path: &Path) -> bool {
    ModelBytes::open(path).is_ok_and(|bytes| bytes.header().is_ok())
}

impl BridgedModel {
    /// Writes the model; the file appears whole or not at all, and only after it was read back.
    ///
    /// An existing file is replaced if it is a model; see [`save_over`](Self::save_over).
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let named = Kind { extension: None, ..MODEL_FILE };
        Output::check::<&Path>(path, named, &[], Overwrite::SameKind)?;
        self.save_over(path)
    }

    /// As [`save`](Self::save), whatever file is there.
    pub fn save_over(&self, path: &Path) -> Result<(), Error> {
        let layout = self.layout()?;
        let mut replacement = Replacement::begin(path)?;
        replacement.write(|sink| Ok(layout.write(sink)?))?;
        if let Some(written) = replacement.written() {
            let written = written.map_err(|source| Error::Io { path: path.into(), source })?;
            self.check_read_back(ModelBytes::of_file(written, path)?)?;
        }
        Ok(replacement.finish()?)
    }

    /// The bytes that [`save`](Self::save) writes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let layout = self.layout()?;
        let mut bytes = Vec::with_capacity(layout.len());
        layout.write(&mut bytes).map_err(|e| Error::NotReadBack { reason: e.to_string() })?;
        let path = Path::new("memory");
        let bytes = Arc::new(bytes);
        let read = ModelBytes::in_memory(Arc::clone(&bytes), path);
        self.check_read_back(read.map_err(|problem| problem.of(path))?)?;
        Ok(Arc::unwrap_or_clone(bytes))
    }

    /// The file in parts, if everything in it is finite.
    fn layout(&self) -> Result<Layout<'_>, Error> {
        let (writer, header) = self.collect()?;
        if let Some(name) = writer.not_finite() {
            return Err(Error::ModelNotFinite { what: format!("`{name}`") });
        }
        // JSON has neither NaN nor infinity: null stands for them, which is no number.
        if serde_json::from_str::<Header>(&header).is_err() {
            return Err(Error::ModelNotFinite { what: IN_HEADER.to_string() });
        }
        writer.layout(&header).map_err(|reason| Error::NotReadBack { reason })
    }

    /// Whether what was written is this model: every array by its checksum, all but the rows of the
    /// pools also by what is read from them.
    fn check_read_back(&self, bytes: ModelBytes) -> Result<(), Error> {
        let reason = |problem: Problem| match problem {
            Problem::Newer(version) => format!("it has version {version}"),
            Problem::Damaged(reason) => reason,
            Problem::Io(error) => error.to_string(),
        };
        let refuse = |problem| Error::NotReadBack { reason: reason(problem) };
        check_all(&bytes).map_err(refuse)?;
        let mut read = parse(bytes).map_err(refuse)?;
        (read.x.rows, read.y.rows) = (self.x.rows.clone(), self.y.rows.clone());
        // Every array is as it was by now. Where a number may be absent, null is read as that.
        match read == *self {
            true => Ok(()),
            false => Err(Error::ModelNotFinite { what: IN_HEADER.to_string() }),
        }
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
            ensemble: self.ensemble.as_ref().map(|e| ensemble::write(e, &mut writer)),
            history: self.history.clone(),
            negatives: self.negatives.len(),
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
        if !self.negatives.is_empty() {
            let rows: Vec<u32> = self.negatives.iter().flat_map(|&(x, y)| [x, y]).collect();
            writer.u32s("negatives", &[self.negatives.len(), 2], &rows);
            let said = &self.votes.negatives;
            for (name, k, of_x) in
                [("votes.negatives.x", self.x.k(), true), ("votes.negatives.y", self.y.k(), false)]
            {
                let rows = said.iter().flat_map(|n| if of_x { &n.x } else { &n.y });
                let weights: Vec<f64> = rows.copied().collect();
                writer.f64s(name, &[said.len(), k], &weights);
            }
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
        let model = ModelBytes::in_memory(Arc::new(bytes.to_vec()), path).and_then(parse);
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

/// Checks every array of a file of this version by its checksum.
fn check_all(bytes: &ModelBytes) -> Result<(), Problem> {
    checksum::check_header(bytes.raw_header())?;
    let text = bytes.header()?;
    let ChecksumsOnly { checksums } =
        serde_json::from_str(text).map_err(|e| format!("its header cannot be read ({e})"))?;
    for (name, expected) in checksums {
        if bytes.checksum(&bytes.array(&name)?).map_err(Problem::Io)? != expected {
            return Err(format!("`{name}` does not match its checksum").into());
        }
    }
    Ok(())
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
    let (pairs, mut votes) = read_votes(&reader, &x, &y, header.clarity)?;
    let negatives = match header.negatives {
        0 => Vec::new(),
        count => read_negatives(&reader, (&x, &y), count, &mut votes)?,
    };
    let uncovered = header.spec.uncovered;
    let forward = regressor::read(header.forward, "forward", &reader, (&x, &y), uncovered)?;
    let reverse = regressor::read(header.reverse, "reverse", &reader, (&y, &x), uncovered)?;
    let ensemble =
        header.ensemble.map(|header| ensemble::read(header, &reader, (&x, &y))).transpose()?;
    Ok(BridgedModel {
        settings: header.spec,
        seed: header.seed,
        x,
        y,
        pairs,
        negatives,
        votes,
        forward,
        reverse,
        ensemble,
        rankers: [Cached::default(), Cached::default()],
        history: header.history,
    })
}

fn read_negatives(
    reader: &Reader,
    (x, y): (&Side, &Side),
    count: usize,
    votes: &mut Votes,
) -> Result<Vec<(u32, u32)>, String> {
    let rows = reader.u32s("negatives", &[Some(count), Some(2)])?;
    let outside =
        rows.chunks_exact(2).find(|row| row[0] as usize >= x.len() || row[1] as usize >= y.len());
    if outside.is_some() {
        return Err("a negative answer names a row that its pool does not have".to_string());
    }
    let (kx, ky) = (x.k(), y.k());
    let of_x = reader.f64s("votes.negatives.x", &[None, Some(kx)])?;
    let of_y = reader.f64s("votes.negatives.y", &[Some(of_x.len() / kx.max(1)), Some(ky)])?;
    let said = of_x.chunks_exact(kx.max(1)).zip(of_y.chunks_exact(ky.max(1)));
    votes.negatives = said.map(|(x, y)| Negative { x: x.to_vec(), y: y.to_vec() }).collect();
    Ok(rows.chunks_exact(2).map(|row| (row[0], row[1])).collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BridgedClustering, Problem};
    use bridged_math::{Matrix, Silent};

    fn model() -> BridgedModel {
        let x = Matrix::from_fn(30, 2, |i, j| if i < 15 { 0.0 } else { 9.0 } + (i % 3 + j) as f32);
        let pairs = [(0, 0), (7, 3), (20, 21), (29, 29)];
        let problem = Problem::new(x.view(), x.view(), &pairs);
        BridgedClustering::with_k(2).fit(problem, Seed(0), &Silent).unwrap()
    }

    #[test]
    fn what_is_not_finite_is_never_written_and_the_older_model_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.bridged");
        model().save(&path).unwrap();
        let older = std::fs::read(&path).unwrap();
        type Spoil = fn(&mut BridgedModel);
        let spoils: [(&str, Spoil); 7] = [
            ("`x.values`", |m| m.x.values.row_mut(1)[0] = f32::INFINITY),
            ("`y.radii`", |m| m.y.radii[0] = f64::NAN),
            ("`forward.links.weights`", |m| m.forward.bridge.links[0].targets[0].weight = f64::NAN),
            ("header", |m| m.x.clustering.inertia = f64::INFINITY),
            ("header", |m| m.forward.alpha = f64::NAN),
            ("header", |m| m.forward.bridge.reliability = Some(f64::NAN)),
            ("header", |m| m.x.separation.ratio = Some(f64::INFINITY)),
        ];
        for (what, spoil) in spoils {
            let mut spoiled = model();
            spoil(&mut spoiled);
            for error in [spoiled.save(&path).unwrap_err(), spoiled.to_bytes().unwrap_err()] {
                let said = error.to_string();
                assert!(said.starts_with("the model cannot be kept: "), "{what}: {said}");
                assert!(said.contains(what), "{what}: {said}");
            }
            assert_eq!(std::fs::read(&path).unwrap(), older, "{what}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{what}");
        }
    }
}
