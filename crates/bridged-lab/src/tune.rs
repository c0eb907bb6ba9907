//! The search over a method's grid, on groups and seeds that the scores never see.
//!
//! Every setting is fitted to the same draws; its score is the mean over them of
//!
//! ```text
//! error of the setting ÷ error of the mean of y
//! ```
//!
//! so that a draw that is hard for everybody does not decide. A setting that fails on some draw is
//! out. Ties go to the setting that is listed first.

use crate::progress::Progress;
use crate::room::Room;
use crate::{Dataset, Draw, Experiment, LabError, StudyCell};
use bridged::files::Kind;
use bridged::metrics::mse;
use bridged::{Direction, Method, MethodError};
use bridged::{Matrix, Seed, Watch};
use bridged_baselines::BaselineSpec;
use bridged_math::cancel::carry;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a search chose for one method in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Which side is predicted.
    pub direction: Direction,
    /// Its score: below 1 is better than the mean of y.
    pub score: f64,
    /// The score of the method's defaults on the same draws; none if they failed.
    pub default_score: Option<f64>,
    /// How many settings were tried.
    pub tried: usize,
    /// How many of them failed on some draw.
    pub failed: usize,
    /// The setting.
    pub setting: BaselineSpec,
}

/// The choices of a search, with what they were made on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The release that searched.
    pub version: String,
    /// The data set.
    pub data: String,
    /// The seed of the study.
    pub seed: u64,
    /// Draws that every setting was fitted to, in each direction.
    pub draws: usize,
    /// The groups that the search saw; no score may be taken on them.
    pub groups: Vec<String>,
    /// What was chosen.
    #[serde(default, rename = "choice")]
    pub choices: Vec<Choice>,
}

/// The kind of file that [`Tuned::write`] writes.
pub const TUNED_FILE: Kind = Kind {
    name: "what `bridged lab tune` chose",
    extension: None,
    holds: |path| Tuned::read(path).is_ok(),
};

/// The file that is there while a search writes to `path`.
pub fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

impl Tuned {
    /// Nothing chosen yet.
    pub fn begin(study: &Experiment, data: &Dataset, draws: usize) -> Self {
        let groups = data.split_groups(Seed(study.seed)).tuning;
        Self {
            version: env!("CARGO_PKG_VERSION").to_string(),
            data: data.name.clone(),
            seed: study.seed,
            draws,
            groups: groups.iter().map(|&g| data.group_names[g as usize].clone()).collect(),
            choices: Vec::new(),
        }
    }

    /// Reads what a search wrote.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let io = |source| LabError::Io { path: path.to_path_buf(), source };
        let text = std::fs::read_to_string(path).map_err(io)?;
        toml::from_str(&text).map_err(|e| LabError::BadFile {
            path: path.to_path_buf(),
            reason: e.to_string().trim_end().to_string(),
        })
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), LabError> {
        let text = toml::to_string_pretty(self).expect("choices are plain data");
        let header = "# What `bridged lab tune` chose, on groups that no score is taken on.\n";
        bridged_io::replace(path, |sink| {
            sink.write_all(format!("{header}{text}").as_bytes()).map_err(Into::into)
        })?;
        Ok(())
    }

    /// Whether it belongs to another study than this one; says why.
    pub fn differs_from(&self, other: &Tuned) -> Option<String> {
        let facts = |t: &Tuned| (t.data.clone(), t.seed, t.draws, t.groups.clone());
        (facts(self) != facts(other)).then(|| {
            format!(
                "it was made on {} with seed {} and {} draws, not on {} with seed {} and {} draws",
                self.data, self.seed, self.draws, other.data, other.seed, other.draws
            )
        })
    }

    /// The choice for a method in a direction.
    pub fn choice(&self, method: &str, direction: Direction) -> Option<&Choice> {
        self.choices.iter().find(|c| c.setting.name() == method && c.direction == direction)
    }
}

/// The draws that a search is made on: the cells of the study in one direction, in turn, from the
/// groups set apart for searching and with seeds of their own.
pub fn draws(
    study: &Experiment,
    data: &Dataset,
    direction: Direction,
    count: usize,
) -> Result<Vec<Draw>, LabError> {
    let groups = data.split_groups(Seed(study.seed)).tuning;
    let mut cells: Vec<StudyCell> =
        study.cells(groups.len()).into_iter().filter(|c| c.direction == direction).collect();
    // As many groups as there are to search on, where the study has more.
    cells.iter_mut().for_each(|c| c.groups = c.groups.min(groups.len()));
    let seed = Seed(study.seed).child("tune");
    // A stride that has no factor in common with the cells visits them all, far ones first.
    let stride = (cells.len() / 2..).find(|s| gcd(*s, cells.len()) == 1).expect("some number is");
    (0..count)
        .map(|i| {
            let cell = cells[i * stride % cells.len()];
            study.protocol.draw(data, &groups, cell, seed.child(direction.input()).nth(i))
        })
        .collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Fits every setting of the method's grid, and its defaults, to every draw in parallel, and
/// chooses the best.
pub fn search(
    method: &BaselineSpec,
    draws: &[Draw],
    direction: Direction,
    seed: Seed,
    watch: &dyn Watch,
) -> Result<Choice, LabError> {
    let mut settings = method.grid();
    let tried = settings.len();
    if !settings.contains(method) {
        settings.push(method.clone());
    }
    let jobs: Vec<(usize, usize)> =
        (0..settings.len()).flat_map(|s| (0..draws.len()).map(move |d| (s, d))).collect();
    let progress = Progress::begin(watch, method.name(), jobs.len())?;
    let job = |&(s, d): &(usize, usize)| {
        let score = score(&settings[s], &draws[d], seed.nth(d), &progress);
        progress.one_more()?;
        score
    };
    // A fit that waits for memory would keep a thread of the pool that another may need, so as many as
    // fit go at once.
    let needs = |&(s, d): &(usize, usize)| settings[s].memory(draws[d].problem().size());
    let at_once = Room::now().side_by_side(jobs.iter().map(needs).max().unwrap_or(0));
    let mut scores: Vec<Result<f64, MethodError>> = Vec::with_capacity(jobs.len());
    for some in jobs.chunks(at_once) {
        scores.par_extend(some.par_iter().map(carry(job)));
    }

    let mut means = vec![Some(0.0); settings.len()];
    let mut first_failure = None;
    for (&(s, _), score) in jobs.iter().zip(scores) {
        match score {
            Ok(score) => means[s] = means[s].map(|m| m + score / draws.len() as f64),
            Err(MethodError::Cancelled(cancelled)) => return Err(cancelled.into()),
            Err(error) => {
                means[s] = None;
                first_failure.get_or_insert(error);
            }
        }
    }
    let of_default = settings.iter().position(|s| s == method).and_then(|at| means[at]);
    let failed = means[..tried].iter().filter(|m| m.is_none()).count();
    let best = means[..tried]
        .iter()
        .enumerate()
        .filter_map(|(s, m)| m.map(|m| (s, m)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    match (best, first_failure) {
        (Some((best, score)), _) => Ok(Choice {
            direction,
            score,
            default_score: of_default,
            tried,
            failed,
            setting: settings.swap_remove(best),
        }),
        (None, Some(source)) => {
            Err(LabError::NothingWorked { method: method.name(), tried, source })
        }
        (None, None) => unreachable!("a setting without a score has failed"),
    }
}

/// error ÷ error of the mean of y.
fn score(
    setting: &BaselineSpec,
    draw: &Draw,
    seed: Seed,
    watch: &dyn Watch,
) -> Result<f64, MethodError> {
    let predictor = setting.fit(draw.problem(), seed, watch)?;
    let predicted = draw.predict(predictor.as_ref())?;
    let error = |m: &Matrix| mse(m.view(), draw.truth.view()).map_err(bridged::Error::from);
    Ok(error(&predicted)? / error(&draw.constant())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Protocol, Setting};
    use bridged::synth::{Mixture, Pairs, Sizes, Weights};
    use bridged::{Event, Silent};
    use std::ops::ControlFlow;
    use std::sync::Mutex;

    /// Twelve groups of forty rows, paired row by row.
    fn data() -> Dataset {
        let mixture = Mixture { classes: 12, weights: Weights::Balanced, ..Mixture::default() };
        let sizes = Sizes { x: 12, y: 12, test: 480, pairs: Pairs::Stratified(1) };
        let sample = mixture.draw(sizes, Seed(5));
        Dataset {
            name: "mixture".into(),
            x: sample.test_x,
            y: sample.test_y,
            groups: sample.test_latent,
            group_names: (0..12).map(|g| format!("g{g}")).collect(),
            entities: None,
            texts: None,
        }
    }

    fn study() -> Experiment {
        Experiment {
            data: "mixture".into(),
            x: "x".into(),
            y: "y".into(),
            seed: 3,
            groups: vec![3, 7],
            pairs: vec![1, 2],
            seeds: 2,
            settings: vec![Setting::Inductive],
            directions: vec![Direction::Forward, Direction::Reverse],
            methods: vec!["knn".into()],
            extra_clusters: vec![0],
            clusters: vec![Default::default()],
            truth: Default::default(),
            tuned: None,
            protocol: Protocol::default(),
            slow: None,
            many_pairs: None,
            parameters: Default::default(),
        }
    }

    #[test]
    fn a_search_sees_no_row_of_a_group_that_is_scored() {
        let (study, data) = (study(), data());
        let split = data.split_groups(Seed(study.seed));
        let draws = draws(&study, &data, Direction::Forward, 8).unwrap();
        assert_eq!(draws.len(), 8);
        for draw in &draws {
            for row in draw.x_rows.iter().chain(&draw.y_rows).chain(&draw.test_rows) {
                assert!(split.tuning.contains(&data.groups[*row]));
            }
        }
        // Every cell is visited, each draw is another.
        let sizes: std::collections::BTreeSet<_> = draws.iter().map(|d| d.pairs.len()).collect();
        assert!(sizes.len() >= 3, "{sizes:?}");
        assert_ne!(draws[0].x_rows, draws[4].x_rows);
    }

    #[test]
    fn the_best_setting_of_the_grid_is_chosen() {
        let (study, data) = (study(), data());
        let draws = draws(&study, &data, Direction::Reverse, 3).unwrap();
        let method = BaselineSpec::named("laprls").unwrap();
        let choice = search(&method, &draws, Direction::Reverse, Seed(1), &Silent).unwrap();
        assert_eq!(choice.tried, method.grid().len());
        let of = |setting: &BaselineSpec| {
            let scores = draws.iter().enumerate();
            let scores = scores.map(|(d, draw)| score(setting, draw, Seed(1).nth(d), &Silent));
            scores.map(|s| s.unwrap()).sum::<f64>() / draws.len() as f64
        };
        assert!((of(&choice.setting) - choice.score).abs() < 1e-12);
        assert!(method.grid().iter().step_by(9).all(|s| of(s) >= choice.score));
        assert!((of(&method) - choice.default_score.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn a_search_reports_every_fit_and_stops_on_request() {
        struct Hears(Mutex<Vec<u64>>, u64);
        impl Watch for Hears {
            fn on(&self, event: Event<'_>) -> ControlFlow<()> {
                let Event::Step { done, .. } = event else { return ControlFlow::Continue(()) };
                self.0.lock().unwrap().push(done);
                if done >= self.1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        }
        let (study, data) = (study(), data());
        let draws = draws(&study, &data, Direction::Forward, 4).unwrap();
        let method = BaselineSpec::named("knn").unwrap();
        let all = Hears(Mutex::default(), u64::MAX);
        search(&method, &draws, Direction::Forward, Seed(0), &all).unwrap();
        assert_eq!(all.0.into_inner().unwrap().into_iter().max(), Some(4));
        let stop = Hears(Mutex::default(), 2);
        let stopped = search(&method, &draws, Direction::Forward, Seed(0), &stop);
        assert!(matches!(stopped, Err(LabError::Cancelled(_))));
    }

    #[test]
    fn what_was_chosen_is_read_back_as_it_was_written() {
        let (study, data) = (study(), data());
        let mut tuned = Tuned::begin(&study, &data, 3);
        assert_eq!(tuned.groups.len(), 5);
        for setting in ["knn", "eot", "laprls"] {
            tuned.choices.push(Choice {
                direction: Direction::Forward,
                score: 0.25,
                default_score: None,
                tried: 1,
                failed: 0,
                setting: BaselineSpec::named(setting).unwrap(),
            });
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tuned.toml");
        tuned.write(&path).unwrap();
        assert_eq!(Tuned::read(&path).unwrap(), tuned);
        assert!(tuned.choice("knn", Direction::Forward).is_some());
        assert!(tuned.choice("knn", Direction::Reverse).is_none());
        let other = Tuned { seed: 9, ..tuned.clone() };
        assert!(tuned.differs_from(&other).unwrap().contains("with seed 3"));
        assert_eq!(tuned.differs_from(&tuned), None);
    }
}
