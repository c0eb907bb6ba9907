//! Carries out a study: every method on every draw, in parallel, each run written down as it ends.
//!
//! Each worker is one thread that does one draw at a time, so that the seconds and bytes of a
//! method are its own. A run that is in the log already is not repeated; what is killed loses
//! the runs in flight and nothing else.

use crate::confidence::{CAME_TRUE, CLAIMED, SaidOfItself};
use crate::contender::{Contender, DEFAULT};
use crate::memory::{peak_of, start_counting};
use crate::progress::Progress;
use crate::record::{Outcome, RunKey, RunLog, RunRecord, RunScores, recorded_names};
use crate::room::Room;
use crate::tune::Tuned;
use crate::{Dataset, Draw, Experiment, LabError, Spaces, StudyCell, Truth};
use bridged::metrics::{
    self, Contingency, LabelledRows, Links, MetricError, Predictions, Retrieved, Score, ScoredRows,
    Texts,
};
use bridged::{
    BridgedClustering, BridgedModel, Direction, Method, MethodError, Predictor, Question, Wanted,
};
use bridged::{Matrix, Seed, Silent, Watch};
use bridged_math::distance::squared_distance;
use cpu_time::ThreadTime;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A study with its data, ready to be carried out.
pub struct Runner<'a> {
    /// The study.
    pub study: &'a Experiment,
    /// Its data set.
    pub data: &'a Dataset,
    /// The groups that scores may be taken on.
    pub groups: Vec<u32>,
    /// What is compared: name and method. Tuned methods differ from one direction to the other.
    pub contenders: Vec<(String, Tuning)>,
    /// The rows that were asked for in each run that cells share.
    asked: Mutex<HashMap<u64, Arc<OnceLock<Vec<usize>>>>>,
}

/// A method as it runs in each direction.
pub struct Tuning {
    forward: Contender,
    reverse: Contender,
}

/// One draw and the methods that still have to run on it.
struct Job {
    cell: StudyCell,
    run: usize,
    missing: Vec<usize>,
}

impl<'a> Runner<'a> {
    /// A study on its data: methods with their parameters, as they were tuned where the study says
    /// so, on groups that were not tuned on.
    pub fn new(study: &'a Experiment, data: &'a Dataset) -> Result<Self, LabError> {
        let tuned = study.tuned.as_deref().map(Tuned::read).transpose()?;
        let seen = tuned.as_ref().map_or(&[][..], |t| &t.groups);
        let groups = (0..data.group_names.len() as u32)
            .filter(|&g| !seen.contains(&data.group_names[g as usize]))
            .collect();
        let contenders = study.methods.iter().map(|name| {
            let plain = study.contender(name)?;
            let chosen = |direction| match tuned.as_ref().and_then(|t| t.choice(name, direction)) {
                Some(choice) => Contender::Baseline(choice.setting.clone()),
                None => plain.clone(),
            };
            let (forward, reverse) = (chosen(Direction::Forward), chosen(Direction::Reverse));
            Ok((name.clone(), Tuning { forward, reverse }))
        });
        let contenders = contenders.collect::<Result<_, LabError>>()?;
        let runner = Self { study, data, groups, contenders, asked: Mutex::default() };
        for cell in runner.cells() {
            // Whatever is too small is said before anything runs.
            for run in 0..study.seeds {
                let seed = runner.seed(cell, run);
                match study.protocol.pairing.is_asked() {
                    true => study.protocol.check_asked(data, &runner.groups, cell, seed)?,
                    false => drop(study.protocol.divide(data, &runner.groups, cell, seed)?),
                }
            }
        }
        Ok(runner)
    }

    /// Every cell of the study.
    pub fn cells(&self) -> Vec<StudyCell> {
        self.study.cells(self.groups.len())
    }

    /// The seed of a draw: its own for every run of every cell, whatever else is in the study. Where pairs are asked for,
    /// cells with more pairs go on from those with fewer.
    pub fn seed(&self, cell: StudyCell, run: usize) -> Seed {
        let cell = match self.study.protocol.pairing.is_asked() {
            true => cell.start(),
            false => cell,
        };
        let StudyCell { groups, pairs, setting, direction, .. } = cell;
        let name = format!("{direction:?}/{setting:?}/{groups}/{pairs}");
        Seed(self.study.seed).child(&self.data.name).child(&name).nth(run)
    }

    /// The first draw of the middle cell, in two dimensions.
    pub fn spaces(&self) -> Result<Option<Spaces>, LabError> {
        let cells = self.cells();
        let same =
            |c: &&StudyCell| c.direction == cells[0].direction && c.setting == cells[0].setting;
        let alike: Vec<&StudyCell> = cells.iter().filter(same).collect();
        let cell = *alike[alike.len() / 2];
        // A pool without any extent has no components; then there is no picture.
        Ok(Spaces::of(self.data, cell, &self.draw(cell, 0)?).ok())
    }

    /// Runs what the log does not have, on this many threads.
    pub fn run(&self, log: &RunLog, threads: usize, watch: &dyn Watch) -> Result<(), LabError> {
        start_counting();
        let jobs = self.jobs(log);
        let total: usize = jobs.iter().map(|j| j.missing.len()).sum();
        let progress = Progress::begin(watch, "runs", total)?;
        let room = Room::now();
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1).min(jobs.len()) {
                scope.spawn(|| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                    let pool = pool.expect("a thread can be started");
                    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let done = pool.install(|| self.carry_out(job, log, &room, &progress));
                        if let Err(error) = done {
                            progress.stop();
                            failure.lock().expect("only stores").get_or_insert(error);
                            return;
                        }
                    }
                });
            }
        });
        match failure.into_inner().expect("only stores") {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// What is left to do; the largest draws first, so that none of them is left over at the end.
    fn jobs(&self, log: &RunLog) -> Vec<Job> {
        let mut jobs = Vec::new();
        for cell in self.cells() {
            for run in 0..self.study.seeds {
                let missing = |m: &usize| {
                    let method = self.contenders[*m].0.clone();
                    self.study.asks(&method, cell, run) && !log.has(&RunKey { cell, run, method })
                };
                let missing: Vec<usize> = (0..self.contenders.len()).filter(missing).collect();
                if !missing.is_empty() {
                    jobs.push(Job { cell, run, missing });
                }
            }
        }
        jobs.sort_by_key(|j| (j.run, std::cmp::Reverse(j.cell.groups)));
        jobs
    }

    fn draw(&self, cell: StudyCell, run: usize) -> Result<Draw, LabError> {
        let (protocol, seed) = (&self.study.protocol, self.seed(cell, run));
        match protocol.pairing.is_asked() {
            false => protocol.draw(self.data, &self.groups, cell, seed),
            true => {
                let asked = self.rows_asked_for(cell, seed)?;
                protocol.draw_asked(self.data, &self.groups, cell, seed, &asked)
            }
        }
    }

    /// The rows that the run of this seed asks for, up to the most pairs of the study.
    fn rows_asked_for(&self, cell: StudyCell, seed: Seed) -> Result<Vec<usize>, LabError> {
        let mut runs = self.asked.lock().expect("only looked up");
        let place = Arc::clone(runs.entry(seed.0).or_default());
        drop(runs);
        if let Some(found) = place.get() {
            return Ok(found.clone());
        }
        let most = self.study.pairs.iter().copied().max().unwrap_or(cell.pairs);
        let mut ask = |draw: &Draw, many: usize| suggested(draw, many, cell, seed);
        let last = StudyCell { pairs: most, ..cell };
        let protocol = &self.study.protocol;
        let found = protocol.rows_asked_for(self.data, &self.groups, last, seed, &mut ask)?;
        Ok(place.get_or_init(|| found).clone())
    }

    fn carry_out(
        &self,
        job: &Job,
        log: &RunLog,
        room: &Room,
        progress: &Progress<'_>,
    ) -> Result<(), LabError> {
        let draw = self.draw(job.cell, job.run)?;
        for &m in &job.missing {
            let (name, tuning) = &self.contenders[m];
            let contender = match job.cell.direction {
                Direction::Forward => &tuning.forward,
                Direction::Reverse => &tuning.reverse,
            };
            let seed = self.seed(job.cell, job.run);
            let outcome = match contender.told(job.cell.k()) {
                None => {
                    Outcome::Failed(format!("{name} needs the number of clusters, which is hidden"))
                }
                Some(told) => {
                    let needs = told.method().memory(draw.problem().size());
                    let _place = room.enter(needs, progress)?;
                    match self.score(&told, job.cell, &draw, seed.child(name), progress) {
                        Ok(scores) => Outcome::Scores(Box::new(scores)),
                        Err(MethodError::Cancelled(cancelled)) => return Err(cancelled.into()),
                        Err(error) => Outcome::Failed(error.to_string()),
                    }
                }
            };
            log.add(&RunRecord {
                data: self.data.name.clone(),
                cell: job.cell,
                run: job.run,
                seed: seed.0,
                method: name.clone(),
                version: env!("CARGO_PKG_VERSION").to_string(),
                outcome,
            })?;
            progress.one_more()?;
        }
        Ok(())
    }

    fn score(
        &self,
        contender: &Contender,
        cell: StudyCell,
        draw: &Draw,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<RunScores, MethodError> {
        let start = ThreadTime::now();
        let (fitted, peak_bytes) = peak_of(|| fit(contender, draw, seed, watch));
        let fitted = fitted?;
        let fit_seconds = start.elapsed().as_secs_f64();
        let start = ThreadTime::now();
        let predicted = draw.predict(fitted.predictor())?;
        let predict_seconds = start.elapsed().as_secs_f64();

        let retrieved = draw.retrieve(fitted.predictor(), &predicted)?;

        let mean = draw.constant();
        let truth = self.truth(&mean, cell, draw);
        let mse_of_mean = metrics::mse(mean.view(), truth.view()).map_err(core)?;
        Ok(RunScores {
            tested: predicted.rows(),
            mse_of_mean,
            clusters: fitted
                .model()
                .map(|model| self.cluster_metrics(model, draw))
                .transpose()
                .map_err(core)?,
            fit_seconds,
            predict_seconds,
            peak_bytes,
            metrics: self
                .prediction_metrics(&predicted, &retrieved, fitted.model(), cell, draw)
                .map_err(core)?,
        })
    }

    /// Every metric of the predicted values, of the rows that were retrieved, and of what a model
    /// says of its predictions.
    fn prediction_metrics(
        &self,
        predicted: &Matrix,
        retrieved: &[u32],
        model: Option<&BridgedModel>,
        cell: StudyCell,
        draw: &Draw,
    ) -> Result<BTreeMap<String, Option<f64>>, MetricError> {
        let truth = self.truth(predicted, cell, draw);
        let predictions = Predictions::new(predicted.view(), truth.view(), ScoredRows::All)?;
        let texts = self.texts(retrieved, cell, draw);
        let texts = texts.as_ref().map(|(retrieved, references)| Texts { retrieved, references });
        let group = |&row: &usize| self.data.groups[row];
        let groups: Vec<u32> =
            retrieved.iter().map(|&at| group(&draw.y_rows[at as usize])).collect();
        let true_groups: Vec<u32> = draw.test_rows.iter().map(group).collect();
        let rows = Retrieved { found: &groups, truth: &true_groups };
        let said = model.and_then(|model| SaidOfItself::by(model, draw, &truth));
        let mut found = BTreeMap::new();
        for scorer in metrics::ALL {
            let value = match (scorer.score, &texts, &said) {
                (Score::Values(score), ..) => score(&predictions),
                (Score::Texts(score), Some(texts), _) => Some(score(texts)?),
                (Score::Retrieved(score), ..) => score(&rows),
                (Score::Confidence(score), _, Some(said)) => match score(&said.confidence()) {
                    Some(value) => Some(value),
                    None => continue,
                },
                _ => continue,
            };
            found.insert(scorer.name.to_string(), value);
        }
        if let Some((claimed, came_true)) = said.as_ref().and_then(SaidOfItself::means) {
            found.insert(CLAIMED.to_string(), Some(claimed));
            found.insert(CAME_TRUE.to_string(), Some(came_true));
        }
        Ok(found)
    }

    /// What a prediction is compared with: the row's own output, or the closest output of its entity.
    fn truth(&self, predicted: &Matrix, cell: StudyCell, draw: &Draw) -> Matrix {
        let (_, to) = self.data.sides(cell.direction);
        let rows = draw.test_rows.iter().enumerate().map(|(i, &row)| {
            let distance = |&other: &usize| squared_distance(to.row(other), predicted.row(i));
            let closest =
                self.same(row).into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
            closest.expect("a row is its own partner")
        });
        to.select(rows.collect::<Vec<_>>())
    }

    /// The texts of the rows that were retrieved, each with the texts that it is compared with: the
    /// row's own, or all of its entity. None where outputs have no texts.
    fn texts(
        &self,
        retrieved: &[u32],
        cell: StudyCell,
        draw: &Draw,
    ) -> Option<(Vec<&str>, Vec<Vec<&str>>)> {
        let (Some(texts), Direction::Forward) = (&self.data.texts, cell.direction) else {
            return None;
        };
        let retrieved =
            retrieved.iter().map(|&at| texts[draw.y_rows[at as usize]].as_str()).collect();
        let references = draw
            .test_rows
            .iter()
            .map(|&row| self.same(row).into_iter().map(|other| texts[other].as_str()).collect())
            .collect();
        Some((retrieved, references))
    }

    /// The rows whose outputs count as right for a row: itself, or all of its entity.
    fn same(&self, row: usize) -> Vec<usize> {
        match &self.data.entities {
            Some(entities) if self.study.truth == Truth::Closest => {
                (0..entities.len()).filter(|&other| entities[other] == entities[row]).collect()
            }
            _ => vec![row],
        }
    }

    /// Every metric of the clusters of both sides and of the bridge between them.
    fn cluster_metrics(
        &self,
        model: &BridgedModel,
        draw: &Draw,
    ) -> Result<BTreeMap<String, f64>, MetricError> {
        let groups = |rows: &[usize]| -> Vec<u32> {
            rows.iter().map(|&row| self.data.groups[row]).collect()
        };
        let (x_groups, y_groups) = (groups(&draw.x_rows), groups(&draw.y_rows));
        let x = LabelledRows { labels: model.x().labels(), classes: &x_groups };
        let y = LabelledRows { labels: model.y().labels(), classes: &y_groups };
        let tables =
            [Contingency::new(x.labels, x.classes)?, Contingency::new(y.labels, y.classes)?];
        let bridge = model.regressor(Direction::Forward).bridge().best();
        let links = Links::new(x, y, &bridge)?;
        let mut found = BTreeMap::new();
        for scorer in metrics::ALL {
            let values = match scorer.score {
                Score::Labels(score) => tables.iter().map(score).collect(),
                Score::Links(score) => vec![score(&links)],
                _ => Vec::new(),
            };
            found.extend(recorded_names(scorer).into_iter().zip(values));
        }
        Ok(found)
    }
}

/// The rows of x whose partners the default model asks for.
fn suggested(
    draw: &Draw,
    many: usize,
    cell: StudyCell,
    seed: Seed,
) -> Result<Vec<usize>, LabError> {
    let default = Contender::named(DEFAULT).and_then(|method| method.told(cell.k()));
    let Some(Contender::Bridged(method)) = default else {
        unreachable!("the default needs no number of clusters");
    };
    let model = method.fit(draw.problem(), seed.child("asking"), &Silent)?;
    let wanted = Wanted { count: many, side: Some(Direction::Forward), kind: Question::Partner };
    Ok(model.suggest(wanted)?.into_iter().map(|s| s.row).collect())
}

fn core(error: MetricError) -> MethodError {
    bridged::Error::from(error).into()
}

/// A fitted method; of Bridged Clustering the whole model.
enum Fitted {
    Bridged(Box<BridgedModel>),
    Other(Box<dyn Predictor>),
}

fn fit(
    contender: &Contender,
    draw: &Draw,
    seed: Seed,
    watch: &dyn Watch,
) -> Result<Fitted, MethodError> {
    Ok(match contender {
        Contender::Bridged(spec) => {
            let model = BridgedClustering::fit(spec, draw.problem(), seed, watch)?;
            Fitted::Bridged(Box::new(model))
        }
        Contender::Baseline(spec) => Fitted::Other(spec.fit(draw.problem(), seed, watch)?),
    })
}

impl Fitted {
    fn predictor(&self) -> &dyn Predictor {
        match self {
            Self::Bridged(model) => model.as_ref(),
            Self::Other(predictor) => predictor.as_ref(),
        }
    }

    fn model(&self) -> Option<&BridgedModel> {
        match self {
            Self::Bridged(model) => Some(model),
            Self::Other(_) => None,
        }
    }
}
