//! The folder of a study's results.
//!
//! | file | what it holds |
//! |---|---|
//! | `study.toml` | the study, so that a report needs nothing else |
//! | `runs.jsonl`, or `runs.jsonl.gz` where it is only read | one line per run |
//! | `spaces.json` | one draw in two dimensions, for the picture of both spaces |
//! | `made.json` | with which command, release and machine |
//! | `.bridged-lock` | while runs are added: one process at a time |

use crate::record::{self, Outcome, RunLog, RunRecord};
use crate::{Experiment, LabError, Spaces, StudyCell};
use bridged::Direction;
use bridged::files::FileLock;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const STUDY: &str = "study.toml";
const RUNS: &str = "runs.jsonl";
const PACKED: &str = "runs.jsonl.gz";
const SPACES: &str = "spaces.json";
const MADE: &str = "made.json";
const LOCK: &str = ".bridged-lock";

/// The files that a folder of results may hold.
pub const FILES: [&str; 5] = [STUDY, RUNS, PACKED, SPACES, MADE];

/// The most bytes of runs that are unpacked: more than a million runs.
const MOST_UNPACKED: u64 = 1 << 30;

/// The results of a study, as a report reads them.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The name of their folder.
    pub name: String,
    /// The study.
    pub study: Experiment,
    /// Its runs so far.
    pub runs: Vec<RunRecord>,
    /// One draw in two dimensions.
    pub spaces: Option<Spaces>,
    /// With what they were made.
    pub made: Option<Made>,
}

/// With what results were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The command.
    pub command: String,
    /// The release.
    pub version: String,
    /// The processor.
    pub processor: String,
    /// Runs at a time.
    pub threads: usize,
}

impl Made {
    /// This release on this machine.
    pub fn now(command: String, threads: usize) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_string();
        Self { command, version, processor: processor(), threads }
    }
}

/// What the system calls the processor; its architecture where it does not say.
fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or(std::env::consts::ARCH.to_string(), |(_, name)| name.trim().to_string())
}

/// A folder that runs are being added to, by one process at a time.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: FileLock,
}

impl Folder {
    /// Begins the results of a study, or goes on with them. What is there of another study or
    /// release is never mixed with new runs.
    pub fn begin(path: &Path, study: &Experiment) -> Result<Self, LabError> {
        let io = |source| LabError::Io { path: path.to_path_buf(), source };
        std::fs::create_dir_all(path).map_err(io)?;
        let folder = Self::locked(path)?;
        if path.join(PACKED).exists() {
            return Err(folder.taken("packed results, which are only read".into()));
        }
        let kept = path.join(STUDY);
        match kept.exists() {
            true => {
                if let Some(key) = study.conflict(&Experiment::parse_file(&kept)?) {
                    let why = format!("the results of another study: its `{key}` differs");
                    return Err(folder.taken(why));
                }
                if !written_by_us(&kept) {
                    let why = format!("a `{STUDY}` that was not written there by a study");
                    return Err(folder.taken(why));
                }
            }
            // The study is the first file that is written.
            false => folder.refuse_any(&[RUNS, SPACES, MADE])?,
        }
        let runs = if path.join(RUNS).exists() { folder.runs()? } else { Vec::new() };
        let this = env!("CARGO_PKG_VERSION");
        if let Some(other) = runs.iter().find(|r| r.version != this) {
            let why = format!("runs of bridged {}, and this is {this}", other.version);
            return Err(folder.taken(why));
        }
        // Where the data lie is a matter of the machine.
        let data = study.data.file_name().map_or(study.data.clone(), PathBuf::from);
        let text = toml::to_string_pretty(&Experiment { data, ..study.clone() });
        folder.write(STUDY, &text.expect("a study is plain data"))?;
        Ok(folder)
    }

    fn locked(path: &Path) -> Result<Self, LabError> {
        let lock = FileLock::acquire(&path.join(LOCK), path)?;
        Ok(Self { path: path.to_path_buf(), _lock: lock })
    }

    /// Refuses a folder that holds one of these files, other than empty.
    fn refuse_any(&self, names: &[&str]) -> Result<(), LabError> {
        let there = |name: &&&str| {
            std::fs::metadata(self.path.join(name)).is_ok_and(|found| found.len() > 0)
        };
        match names.iter().find(there) {
            Some(name) => Err(self.taken(format!("a `{name}`, but no results of a study"))),
            None => Ok(()),
        }
    }

    fn taken(&self, holds: String) -> LabError {
        LabError::Taken { path: self.path.clone(), holds }
    }

    /// The file that runs are added to.
    pub fn run_log(&self) -> Result<RunLog, LabError> {
        RunLog::open(&self.path.join(RUNS))
    }

    /// The runs that are there.
    pub fn runs(&self) -> Result<Vec<RunRecord>, LabError> {
        record::read(&self.path.join(RUNS))
    }

    /// Keeps what a report shows beside the runs.
    pub fn keep(&self, made: &Made, spaces: Option<&Spaces>) -> Result<(), LabError> {
        let json = |value: serde_json::Result<String>| value.expect("plain data") + "\n";
        self.write(MADE, &json(serde_json::to_string_pretty(made)))?;
        match spaces {
            Some(spaces) => self.write(SPACES, &json(serde_json::to_string(spaces))),
            None => Ok(()),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), LabError> {
        let content = |sink: &mut bridged_io::Sink<'_>| Ok(sink.write_all(text.as_bytes())?);
        Ok(bridged_io::replace(&self.path.join(name), content)?)
    }
}

impl Results {
    /// Reads a folder of results.
    pub fn read(folder: &Path) -> Result<Self, LabError> {
        let packed = folder.join(PACKED);
        let runs = match packed.exists() {
            true => record::parse(&packed, &unpacked(&packed)?)?,
            false => record::read(&folder.join(RUNS))?,
        };
        Ok(Self {
            name: folder.file_name().map_or("study".into(), |n| n.to_string_lossy().into_owned()),
            study: Experiment::parse_file(&folder.join(STUDY))?,
            runs,
            spaces: optional(&folder.join(SPACES))?,
            made: optional(&folder.join(MADE))?,
        })
    }

    /// Reads folders of results, or folders of such folders, in the order of their names.
    pub fn read_all(folders: &[PathBuf]) -> Result<Vec<Self>, LabError> {
        let mut all = Vec::new();
        for folder in folders {
            if folder.join(STUDY).exists() {
                all.push(Self::read(folder)?);
                continue;
            }
            let io = |source| LabError::Io { path: folder.clone(), source };
            let entries = std::fs::read_dir(folder).map_err(io)?;
            let mut below: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
            below.retain(|path| path.join(STUDY).exists());
            if below.is_empty() {
                let reason = "holds no results; carry out a study first (`bridged lab run`)".into();
                return Err(LabError::BadFile { path: folder.clone(), reason });
            }
            below.sort();
            for folder in below {
                all.push(Self::read(&folder)?);
            }
        }
        Ok(all)
    }
}

impl Results {
    /// Writes them into a new folder in little space: runs in the order of their draws, squared
    /// errors rounded to seven digits, other scores to four, seconds to two, compressed.
    pub fn pack(&self, folder: &Path) -> Result<(), LabError> {
        let io = |source| LabError::Io { path: folder.to_path_buf(), source };
        std::fs::create_dir_all(folder).map_err(io)?;
        let packed = Folder::locked(folder)?;
        if folder.join(RUNS).exists() || folder.join(PACKED).exists() {
            return Err(packed.taken("results already".into()));
        }
        let text = toml::to_string_pretty(&self.study).expect("a study is plain data");
        // What was begun and not ended is done again.
        if std::fs::read_to_string(folder.join(STUDY)).ok().as_ref() != Some(&text) {
            packed.refuse_any(&[STUDY, SPACES, MADE])?;
        }
        packed.write(STUDY, &text)?;
        if let Some(made) = &self.made {
            packed.keep(made, self.spaces.as_ref())?;
        }
        let mut runs: Vec<RunRecord> = self.runs.iter().map(rounded).collect();
        runs.sort_by_cached_key(|r| {
            let StudyCell { groups, pairs, setting, direction, extra_clusters, clusters } = r.cell;
            let direction = direction == Direction::Reverse;
            (direction, setting, extra_clusters, clusters, groups, pairs, r.run, r.method.clone())
        });
        let content = |sink: &mut bridged_io::Sink<'_>| {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
            for run in &runs {
                serde_json::to_writer(&mut gzip, run).expect("runs are plain data");
                gzip.write_all(b"\n")?;
            }
            Ok(sink.write_all(&gzip.finish()?)?)
        };
        Ok(bridged_io::replace(&folder.join(PACKED), content)?)
    }
}

/// Whether a study's file reads as one that was written by a study, and not by a person.
fn written_by_us(path: &Path) -> bool {
    let ours = |study: Experiment| toml::to_string_pretty(&study).ok();
    let text = std::fs::read_to_string(path).ok();
    text.is_some() && text == Experiment::parse_file(path).ok().and_then(ours)
}

/// A run with as many digits as its numbers mean.
fn rounded(run: &RunRecord) -> RunRecord {
    let digits = |value: f64, digits: usize| -> f64 {
        format!("{value:.*e}", digits - 1).parse().expect("a number that was just written")
    };
    let mut run = run.clone();
    if let Outcome::Scores(s) = &mut run.outcome {
        s.mse_of_mean = digits(s.mse_of_mean, 7);
        for (name, value) in &mut s.metrics {
            let kept = if name == "mse" { 7 } else { 4 };
            *value = value.map(|v| digits(v, kept));
        }
        for value in s.clusters.iter_mut().flat_map(|c| c.values_mut()) {
            *value = digits(*value, 4);
        }
        for value in [&mut s.fit_seconds, &mut s.predict_seconds] {
            *value = digits(*value, 2);
        }
        s.peak_bytes = digits(s.peak_bytes as f64, 2) as u64;
    }
    run
}

fn unpacked(path: &Path) -> Result<Vec<u8>, LabError> {
    let io = |source| LabError::Io { path: path.to_path_buf(), source };
    let file = std::fs::File::open(path).map_err(io)?;
    let mut text = Vec::new();
    // Gzip packs a thousand bytes into one.
    let mut unpacked = flate2::read::MultiGzDecoder::new(file).take(MOST_UNPACKED + 1);
    unpacked.read_to_end(&mut text).map_err(io)?;
    if text.len() as u64 > MOST_UNPACKED {
        let reason = format!("unpacks to more than {MOST_UNPACKED} bytes, which no study has");
        return Err(LabError::BadFile { path: path.to_path_buf(), reason });
    }
    Ok(text)
}

fn optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, LabError> {
    if !path.exists() {
        return Ok(None);
    }
    let text =
        std::fs::read(path).map_err(|source| LabError::Io { path: path.to_path_buf(), source })?;
    serde_json::from_slice(&text).map(Some).map_err(|e| LabError::BadFile {
        path: path.to_path_buf(),
        reason: format!("was not written by this release ({e}); run the study again"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(text: &str) -> Experiment {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("study.toml");
        std::fs::write(&path, format!("data = \"/far/away/d.parquet\"\n{text}")).unwrap();
        Experiment::parse_file(&path).unwrap()
    }

    fn run(study: &Experiment, version: &str) -> RunRecord {
        RunRecord {
            data: "d".into(),
            cell: study.cells(3)[0],
            run: 0,
            seed: 1,
            method: "knn".into(),
            version: version.into(),
            outcome: Outcome::Failed("no".into()),
        }
    }

    #[test]
    fn results_of_another_study_or_release_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r");
        let plain = study("");
        Folder::begin(&path, &plain).unwrap();
        let folder = Folder::begin(&path, &study("seeds = 3")).expect("the same study");
        let error = Folder::begin(&path, &plain).unwrap_err().to_string();
        assert!(error.starts_with("another process is writing"), "{error}");
        folder.run_log().unwrap().add(&run(&plain, "0.0.1")).unwrap();
        drop(folder);
        let error = Folder::begin(&path, &study("seed = 3")).unwrap_err().to_string();
        assert!(error.contains("another study: its `seed` differs"), "{error}");
        let error = Folder::begin(&path, &plain).unwrap_err().to_string();
        assert!(
            error.contains("holds runs of bridged 0.0.1") && error.contains("--out"),
            "{error}"
        );
        assert_eq!(Results::read(&path).unwrap().runs.len(), 1, "a report reads them all the same");
    }

    #[test]
    fn packed_results_are_read_and_not_added_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("all/one");
        let plain = study("");
        let folder = Folder::begin(&path, &plain).unwrap();
        folder.run_log().unwrap().add(&run(&plain, env!("CARGO_PKG_VERSION"))).unwrap();
        folder.keep(&Made::now("bridged lab run".into(), 2), None).unwrap();
        drop(folder);
        let before = Results::read(&path).unwrap();
        assert_eq!(before.study.data, Path::new("d.parquet"), "without the place on this machine");

        let kept = directory.path().join("kept/one");
        before.pack(&kept).unwrap();
        assert!(before.pack(&kept).unwrap_err().to_string().contains("results already"));
        let all = Results::read_all(&[directory.path().join("kept")]).unwrap();
        assert_eq!(all, [before]);
        assert!(Folder::begin(&kept, &plain).unwrap_err().to_string().contains("packed results"));
    }

    #[test]
    fn files_of_the_user_in_the_folder_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let plain = study("");
        for (name, content) in [
            ("runs.jsonl", "{\"a log of\": \"mine\"}\n{\"no\": \"newline\"}"),
            ("made.json", "[1]"),
            ("study.toml", "# my notes\ndata = \"d.parquet\"\n"),
        ] {
            let path = directory.path().join(name.replace('.', "-"));
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join(name), content).unwrap();
            let error = Folder::begin(&path, &plain).unwrap_err();
            assert!(matches!(error, LabError::Taken { .. }), "{name}: {error}");
            assert_eq!(std::fs::read_to_string(path.join(name)).unwrap(), content);
            assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1, "{name}");
        }
    }

    #[test]
    fn a_folder_without_results_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = Results::read_all(&[directory.path().to_path_buf()]).unwrap_err().to_string();
        assert!(error.contains("holds no results"), "{error}");
    }
}
