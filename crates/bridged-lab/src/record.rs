//! One run as one line of `runs.jsonl`: what was asked, what came out, and with what.

use crate::{LabError, StudyCell};
use bridged::metrics::{Score, Scorer};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The result of one method on one draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The data set.
    pub data: String,
    /// The cell of the study.
    #[serde(flatten)]
    pub cell: StudyCell,
    /// The number of the run in its cell.
    pub run: usize,
    /// The seed of its draw.
    pub seed: u64,
    /// The method's name in the study.
    pub method: String,
    /// The release that ran it.
    pub version: String,
    /// What came out; or why nothing did.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came out of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Its scores.
    Scores(Box<RunScores>),
    /// Why there are none.
    Failed(String),
}

/// Everything that is measured in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunScores {
    /// Rows tested.
    pub tested: usize,
    /// The mean squared error of the mean of the y pool on the same rows.
    pub mse_of_mean: f64,
    /// How the clusterings and the bridge agree with the latent groups, of methods that cluster:
    /// `ami_x` is the metric `ami` of the input side, `ami_y` that of the output side, and a metric
    /// of the bridge has its own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<BTreeMap<String, f64>>,
    /// Seconds of one thread to fit.
    pub fit_seconds: f64,
    /// Seconds of one thread to predict.
    pub predict_seconds: f64,
    /// The most bytes that it held beyond the data.
    pub peak_bytes: u64,
    /// Metrics of the predicted values and of the retrieved texts, by name; null where one is not
    /// defined. Errors are against the closest output of the entity where the study says so.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, Option<f64>>,
}

impl RunScores {
    /// A metric of the predictions, or one of the clusters (`ami_x`).
    pub fn metric(&self, name: &str) -> Option<f64> {
        let predictions = || self.metrics.get(name).copied().flatten();
        let clusters = || self.clusters.as_ref()?.get(name).copied();
        predictions().or_else(clusters)
    }

    /// The mean squared error ÷ that of the mean of the y pool.
    pub fn relative_error(&self) -> Option<f64> {
        Some(self.metric("mse")? / self.mse_of_mean)
    }
}

/// The names that runs keep a metric under, each with the side that it is of.
pub fn recorded_names(scorer: &Scorer) -> Vec<String> {
    match scorer.score {
        Score::Labels(_) => ["x", "y"].map(|side| format!("{}_{side}", scorer.name)).to_vec(),
        _ => vec![scorer.name.to_string()],
    }
}

impl RunRecord {
    /// What tells it from every other run of a study.
    pub fn key(&self) -> RunKey {
        RunKey { cell: self.cell, run: self.run, method: self.method.clone() }
    }
}

/// What tells a run from every other one of its study.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunKey {
    /// The cell.
    pub cell: StudyCell,
    /// The number of the run in it.
    pub run: usize,
    /// The method.
    pub method: String,
}

/// The file of runs, open to be added to.
pub struct RunLog {
    path: PathBuf,
    file: Mutex<Appended>,
    done: HashSet<RunKey>,
}

/// A file, and where its last whole line ends.
struct Appended {
    file: File,
    end: u64,
}

impl RunLog {
    /// Opens the runs of a study, or begins them. A last line that was cut off by a crash is dropped.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let io = |source| LabError::Io { path: path.to_path_buf(), source };
        let mut file =
            OpenOptions::new().create(true).read(true).append(true).open(path).map_err(io)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(io)?;
        let whole = whole_lines(&text);
        // A file of something else is left as it is.
        let done = parse(path, &text[..whole])?.iter().map(RunRecord::key).collect();
        let end = whole as u64;
        if whole < text.len() {
            file.set_len(end).map_err(io)?;
        }
        Ok(Self { path: path.to_path_buf(), file: Mutex::new(Appended { file, end }), done })
    }

    /// Whether a run is there already.
    pub fn has(&self, key: &RunKey) -> bool {
        self.done.contains(key)
    }

    /// Adds a run: a whole line at once, or nothing.
    pub fn add(&self, run: &RunRecord) -> Result<(), LabError> {
        let mut line = serde_json::to_string(run).expect("runs are plain data");
        line.push('\n');
        let mut log = self.file.lock().expect("nothing panics while it writes");
        match log.file.write_all(line.as_bytes()) {
            Ok(()) => {
                log.end += line.len() as u64;
                Ok(())
            }
            Err(source) => {
                // Half a line must not stand before the line of another thread.
                let _ = log.file.set_len(log.end);
                Err(LabError::Io { path: self.path.clone(), source })
            }
        }
    }
}

/// Reads the runs of a study; a last line that was cut off does not count.
pub fn read(path: &Path) -> Result<Vec<RunRecord>, LabError> {
    let io = |source| LabError::Io { path: path.to_path_buf(), source };
    let text = std::fs::read(path).map_err(io)?;
    parse(path, &text[..whole_lines(&text)])
}

/// The bytes up to the end of the last whole line.
fn whole_lines(text: &[u8]) -> usize {
    text.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1)
}

/// The runs of a file that was read from `path`.
pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<Vec<RunRecord>, LabError> {
    let lines = text.lines().enumerate();
    lines
        .map(|(at, line)| {
            let bad = |reason: String| LabError::BadFile {
                path: path.to_path_buf(),
                reason: format!("line {} is not a run of this release: {reason}", at + 1),
            };
            let line = line.map_err(|e| bad(e.to_string()))?;
            serde_json::from_str(&line).map_err(|e| bad(e.to_string()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;
    use bridged::Direction;

    fn run(method: &str, number: usize) -> RunRecord {
        let cell = StudyCell {
            groups: 3,
            pairs: 1,
            setting: Setting::Inductive,
            direction: Direction::Forward,
            ..StudyCell::default()
        };
        let metrics = [("mse".to_string(), Some(0.5)), ("r2".to_string(), None)].into();
        let scores = RunScores { metrics, ..RunScores::default() };
        RunRecord {
            data: "d".into(),
            cell,
            run: number,
            seed: u64::MAX,
            method: method.into(),
            version: "0".into(),
            outcome: Outcome::Scores(Box::new(scores)),
        }
    }

    #[test]
    fn runs_come_back_and_a_line_that_was_cut_off_is_run_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.jsonl");
        let log = RunLog::open(&path).unwrap();
        log.add(&run("knn", 0)).unwrap();
        let failed = RunRecord { outcome: Outcome::Failed("no".into()), ..run("gw", 0) };
        log.add(&failed).unwrap();
        let mut text = std::fs::read_to_string(&path).unwrap();
        let third = serde_json::to_string(&run("knn", 1)).unwrap();
        text.push_str(&third[..third.len() / 2]);
        std::fs::write(&path, &text).unwrap();

        let log = RunLog::open(&path).unwrap();
        assert!(log.has(&run("knn", 0).key()) && log.has(&failed.key()));
        assert!(!log.has(&run("knn", 1).key()));
        log.add(&run("knn", 1)).unwrap();
        assert_eq!(read(&path).unwrap(), [run("knn", 0), failed, run("knn", 1)]);
    }

    #[test]
    fn a_run_of_an_earlier_release_is_read_with_all_its_scores() {
        let line = r#"{"data":"emoji","groups":3,"pairs":1,"setting":"inductive","direction":"forward","extra_clusters":0,"run":0,"seed":7,"method":"bridged","version":"0.1.0","scores":{"tested":48,"mse":0.5,"mae":0.25,"r2":null,"mse_of_mean":1.0,"bleu":3.5,"clusters":{"ami_x":0.75,"ami_y":1.0,"epsilon_x":0.125,"epsilon_y":0.0,"accuracy":1.0,"epsilon_b":0.0},"fit_seconds":0.5,"predict_seconds":0.25,"peak_bytes":1024}}"#;
        let run: RunRecord = serde_json::from_str(line).unwrap();
        let Outcome::Scores(scores) = &run.outcome else { panic!("{run:?}") };
        let expected =
            [("mse", Some(0.5)), ("r2", None), ("bleu", Some(3.5)), ("ami_x", Some(0.75))];
        for (name, value) in expected {
            assert_eq!(scores.metric(name), value, "{name}");
        }
        assert_eq!((scores.tested, scores.peak_bytes), (48, 1024));
        assert_eq!(scores.relative_error(), Some(0.5));
        let (again, line): (serde_json::Value, serde_json::Value) =
            (serde_json::to_value(&run).unwrap(), serde_json::from_str(line).unwrap());
        assert_eq!(again, line, "the same keys and values as it had");
    }

    #[test]
    fn a_line_that_is_no_run_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.jsonl");
        std::fs::write(&path, "{\"old\": 1}\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("line 1 is not a run of this release"), "{error}");
    }
}
