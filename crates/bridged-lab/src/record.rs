//! One run as one line of `runs.jsonl`: what was asked, what came out, and with what.

use crate::{Cell, LabError};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The result of one method on one draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The data set.
    pub data: String,
    /// The cell of the study.
    #[serde(flatten)]
    pub cell: Cell,
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
    Scores(Box<Scores>),
    /// Why there are none.
    Failed(String),
}

/// Everything that is measured in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Rows tested.
    pub tested: usize,
    /// Mean squared error; against the closest output of the entity where the study says so.
    pub mse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// R²; none where the true outputs do not vary.
    pub r2: Option<f64>,
    /// The mean squared error of the mean of the y pool on the same rows.
    pub mse_of_mean: f64,
    /// BLEU of the retrieved texts, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bleu: Option<f64>,
    /// Of methods that cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<Clusters>,
    /// Seconds of one thread to fit.
    pub fit_seconds: f64,
    /// Seconds of one thread to predict.
    pub predict_seconds: f64,
    /// The most bytes that it held beyond the data.
    pub peak_bytes: u64,
}

/// How the clusterings and the bridge agree with the latent groups.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clusters {
    /// Adjusted mutual information of the input side.
    pub ami_x: f64,
    /// Adjusted mutual information of the output side.
    pub ami_y: f64,
    /// ε_X.
    pub epsilon_x: f64,
    /// ε_Y.
    pub epsilon_y: f64,
    /// Bridging accuracy.
    pub accuracy: f64,
    /// ε_B.
    pub epsilon_b: f64,
}

impl Run {
    /// What tells it from every other run of a study.
    pub fn key(&self) -> Key {
        Key { cell: self.cell, run: self.run, method: self.method.clone() }
    }
}

/// What tells a run from every other one of its study.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The cell.
    pub cell: Cell,
    /// The number of the run in it.
    pub run: usize,
    /// The method.
    pub method: String,
}

/// The file of runs, open to be added to.
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
    done: HashSet<Key>,
}

impl Journal {
    /// Opens the runs of a study, or begins them. A last line that was cut off by a crash is dropped.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let io = |source| LabError::Io { path: path.to_path_buf(), source };
        let mut file =
            OpenOptions::new().create(true).read(true).append(true).open(path).map_err(io)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(io)?;
        let whole = whole_lines(&text);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(io)?;
            file.seek(SeekFrom::End(0)).map_err(io)?;
        }
        let done = parse(path, &text[..whole])?.iter().map(Run::key).collect();
        Ok(Self { path: path.to_path_buf(), file: Mutex::new(file), done })
    }

    /// Whether a run is there already.
    pub fn has(&self, key: &Key) -> bool {
        self.done.contains(key)
    }

    /// Adds a run: a whole line at once.
    pub fn add(&self, run: &Run) -> Result<(), LabError> {
        let mut line = serde_json::to_string(run).expect("runs are plain data");
        line.push('\n');
        let mut file = self.file.lock().expect("nothing panics while it writes");
        let io = |source| LabError::Io { path: self.path.clone(), source };
        file.write_all(line.as_bytes()).and_then(|()| file.flush()).map_err(io)
    }
}

/// Reads the runs of a study; a last line that was cut off does not count.
pub fn read(path: &Path) -> Result<Vec<Run>, LabError> {
    let io = |source| LabError::Io { path: path.to_path_buf(), source };
    let text = std::fs::read(path).map_err(io)?;
    parse(path, &text[..whole_lines(&text)])
}

/// The bytes up to the end of the last whole line.
fn whole_lines(text: &[u8]) -> usize {
    text.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1)
}

/// The runs of a file that was read from `path`.
pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<Vec<Run>, LabError> {
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

    fn run(method: &str, number: usize) -> Run {
        let cell = Cell {
            groups: 3,
            pairs: 1,
            setting: Setting::Inductive,
            direction: Direction::Forward,
            extra_clusters: 0,
        };
        let scores = Scores { mse: 0.5, r2: Some(0.1), ..Scores::default() };
        Run {
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
        let journal = Journal::open(&path).unwrap();
        journal.add(&run("knn", 0)).unwrap();
        let failed = Run { outcome: Outcome::Failed("no".into()), ..run("gw", 0) };
        journal.add(&failed).unwrap();
        let mut text = std::fs::read_to_string(&path).unwrap();
        let third = serde_json::to_string(&run("knn", 1)).unwrap();
        text.push_str(&third[..third.len() / 2]);
        std::fs::write(&path, &text).unwrap();

        let journal = Journal::open(&path).unwrap();
        assert!(journal.has(&run("knn", 0).key()) && journal.has(&failed.key()));
        assert!(!journal.has(&run("knn", 1).key()));
        journal.add(&run("knn", 1)).unwrap();
        assert_eq!(read(&path).unwrap(), [run("knn", 0), failed, run("knn", 1)]);
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
