//! A study that is stopped and goes on gives the runs of one that was not.

use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{Event, Seed, Silent, Watch};
use bridged_lab::record::{self, Outcome, RunKey, RunLog, RunRecord};
use bridged_lab::tune::{self, Tuned};
use bridged_lab::{Clusters, Dataset, Experiment, LabError, Runner, Setting};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ten groups of thirty rows, two rows per entity.
fn data() -> Dataset {
    let mixture = Mixture { classes: 10, separation: 12.0, ..Mixture::default() };
    let sizes = Sizes { x: 10, y: 10, test: 300, pairs: Pairs::Stratified(1) };
    let sample = mixture.draw(sizes, Seed(5));
    let mut last = [0; 10];
    let entities = sample.test_latent.iter().map(|&g| {
        last[g as usize] += 1;
        g * 100 + last[g as usize] / 2
    });
    Dataset {
        name: "mixture".into(),
        entities: Some(entities.collect()),
        x: sample.test_x,
        y: sample.test_y,
        groups: sample.test_latent,
        group_names: (0..10).map(|g| format!("g{g}")).collect(),
        texts: None,
    }
}

fn study(text: &str) -> Experiment {
    let common = "data = \"mixture.parquet\"\ngroups = [2, 3]\npairs = [1]\nseeds = 2\n\
                  methods = [\"bridged\", \"mean\", \"knn\", \"laprls\"]\n";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("study.toml");
    std::fs::write(&path, format!("{common}{text}")).unwrap();
    Experiment::parse_file(&path).unwrap()
}

/// Runs on this many threads and gives the runs in the order of their keys, without their times.
fn run(study: &Experiment, data: &Dataset, path: &Path, threads: usize) -> Vec<RunRecord> {
    let runner = Runner::new(study, data).unwrap();
    runner.run(&RunLog::open(path).unwrap(), threads, &Silent).unwrap();
    runs(path)
}

fn runs(path: &Path) -> Vec<RunRecord> {
    let mut runs = record::read(path).unwrap();
    for run in &mut runs {
        if let Outcome::Scores(s) = &mut run.outcome {
            (s.fit_seconds, s.predict_seconds, s.peak_bytes) = (0.0, 0.0, 0);
        }
    }
    runs.sort_by_key(|r| format!("{:?} {} {}", r.cell, r.run, r.method));
    runs
}

struct StopAfter(AtomicU64);

impl Watch for StopAfter {
    fn on(&self, event: Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Step { done, .. } if done >= self.0.load(Ordering::Relaxed) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn a_study_that_was_stopped_goes_on_and_repeats_nothing() {
    let (data, study) = (data(), study(""));
    let directory = tempfile::tempdir().unwrap();
    let whole = run(&study, &data, &directory.path().join("whole.jsonl"), 1);
    // 2 directions × 2 settings × 2 numbers of groups × 2 seeds × 4 methods.
    assert_eq!(whole.len(), 64);
    assert!(whole.iter().all(|r| matches!(r.outcome, Outcome::Scores(_))));

    let path = directory.path().join("runs.jsonl");
    let runner = Runner::new(&study, &data).unwrap();
    let stop = StopAfter(AtomicU64::new(10));
    let stopped = runner.run(&RunLog::open(&path).unwrap(), 2, &stop);
    assert!(matches!(stopped, Err(LabError::Cancelled(_))));
    let before = runs(&path).len();
    assert!((5..=20).contains(&before), "{before} runs before the stop");
    // A crash in the middle of a line.
    let mut text = std::fs::read(&path).unwrap();
    text.extend(b"{\"data\": \"mix");
    std::fs::write(&path, text).unwrap();

    let resumed = run(&study, &data, &path, 3);
    assert_eq!(resumed.len(), whole.len());
    for (a, b) in resumed.iter().zip(&whole) {
        assert_eq!(a, b, "the same runs on any number of threads, stopped or not");
    }
    let keys: HashSet<RunKey> = resumed.iter().map(RunRecord::key).collect();
    assert_eq!(keys.len(), resumed.len(), "none is there twice");
}

#[test]
fn every_run_has_a_seed_of_its_own_and_methods_share_their_draw() {
    let (data, study) = (data(), study(""));
    let directory = tempfile::tempdir().unwrap();
    let runs = run(&study, &data, &directory.path().join("runs.jsonl"), 2);
    let seeds: HashSet<u64> = runs.iter().map(|r| r.seed).collect();
    assert_eq!(seeds.len(), runs.len() / 4);
}

#[test]
fn the_bridge_beats_the_mean_where_groups_are_clear_and_its_clusters_are_scored() {
    let (data, study) = (data(), study(""));
    let directory = tempfile::tempdir().unwrap();
    let mut better = 0;
    for run in run(&study, &data, &directory.path().join("runs.jsonl"), 2) {
        let Outcome::Scores(s) = run.outcome else { panic!("{run:?}") };
        assert_eq!(s.clusters.is_some(), run.method == "bridged");
        if run.method == "mean" {
            assert!((s.metric("mse").unwrap() - s.mse_of_mean).abs() < 1e-9);
        }
        if let Some(clusters) = &s.clusters {
            assert!(clusters["ami_x"] > 0.8, "{clusters:?}");
            better += usize::from(s.metric("mse").unwrap() < 0.5 * s.mse_of_mean);
        }
    }
    assert!(better >= 14, "{better} of 16");
}

const NATURAL: &str = "settings = [\"inductive\"]\n[protocol]\nsizes = \"natural\"\npairing = \"iid\"\n\
                       output_share = 0.5";

#[test]
fn in_natural_sizes_what_is_told_about_the_count_changes_the_bridge_and_nothing_is_run_twice() {
    let data = data();
    let directory = tempfile::tempdir().unwrap();
    let study = study(&format!("clusters = [\"known\", \"hidden\", \"double\"]\n{NATURAL}"));
    let runs = run(&study, &data, &directory.path().join("runs.jsonl"), 2);
    // 2 directions × 2 seeds, of the bridge twice, since it must be told, and of the others once.
    assert_eq!(runs.len(), 4 * (2 + 3));
    let seeds: HashSet<u64> = runs.iter().map(|r| r.seed).collect();
    assert_eq!(seeds.len(), 4, "the draw is the same whatever is told");
    let hidden = self::study(&format!("clusters = \"hidden\"\n{NATURAL}"));
    let hidden = run(&hidden, &data, &directory.path().join("hidden.jsonl"), 2);
    assert_eq!(hidden.iter().filter(|r| matches!(r.outcome, Outcome::Failed(_))).count(), 4);
    for run in runs.iter().chain(&hidden) {
        assert_eq!((run.cell.groups, run.cell.pairs), (10, 1));
        match (&run.outcome, run.cell.clusters) {
            (Outcome::Failed(why), Clusters::Hidden) => {
                assert_eq!(why, "bridged needs the number of clusters, which is hidden");
            }
            (Outcome::Scores(scores), _) => {
                let right = scores.metric("right_group").unwrap();
                assert!((0.0..=1.0).contains(&right), "{right}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_method_that_needs_more_pairs_is_left_out_of_the_cell_alone() {
    let data = data();
    let directory = tempfile::tempdir().unwrap();
    let text = format!("directions = [\"forward\"]\n{NATURAL}");
    let mut study = study(&text);
    study.pairs = vec![1, 20];
    study.methods = vec!["cca".into(), "bridged-default".into()];
    let runs = run(&study, &data, &directory.path().join("runs.jsonl"), 2);
    for run in &runs {
        let few = run.method == "cca" && run.cell.pairs == 1;
        match &run.outcome {
            Outcome::Failed(why) => {
                assert!(few && why.starts_with("cca needs at least"), "{run:?}");
            }
            Outcome::Scores(scores) => {
                let said = ["ece", "claimed", "came_true"].map(|name| scores.metric(name));
                assert_eq!(said.iter().all(Option::is_some), run.method == "bridged-default");
                // Twenty pairs promise a level of .9, one does not.
                let ball = scores.metric("coverage_90").is_some();
                assert_eq!(ball, run.method == "bridged-default" && run.cell.pairs == 20);
            }
        }
    }
}

#[test]
fn a_miscounted_number_of_clusters_changes_the_bridge_and_nothing_else() {
    let data = data();
    let directory = tempfile::tempdir().unwrap();
    let study = study("extra_clusters = [0, -1, 2]");
    let runs = run(&study, &data, &directory.path().join("runs.jsonl"), 2);
    assert_eq!(runs.len(), 3 * 64);
    let mut differ = 0;
    for right in runs.iter().filter(|r| r.cell.extra_clusters == 0) {
        for extra in [-1, 2] {
            let cell = bridged_lab::StudyCell { extra_clusters: extra, ..right.cell };
            let key = RunKey { cell, ..right.key() };
            let other = runs.iter().find(|r| r.key() == key).expect("a run of the same draw");
            assert_eq!(other.seed, right.seed);
            match right.method.as_str() {
                "bridged" => differ += usize::from(other.outcome != right.outcome),
                _ => assert_eq!(other.outcome, right.outcome),
            }
        }
    }
    assert!(differ >= 28, "{differ} of 32");
}

#[test]
fn retrieved_texts_are_scored_where_outputs_have_them() {
    let mut data = data();
    let name = |&g: &u32| format!("a picture that shows group number g{g} and nothing else");
    data.texts = Some(data.groups.iter().map(name).collect());
    let directory = tempfile::tempdir().unwrap();
    let mut sums = [0.0; 2];
    for run in run(&study(""), &data, &directory.path().join("runs.jsonl"), 2) {
        let Outcome::Scores(s) = run.outcome else { panic!("{run:?}") };
        assert_eq!(s.metric("bleu").is_some(), run.cell.direction == bridged::Direction::Forward);
        match run.method.as_str() {
            "bridged" => sums[0] += s.metric("bleu").unwrap_or(0.0) / 8.0,
            "mean" => sums[1] += s.metric("bleu").unwrap_or(0.0) / 8.0,
            _ => {}
        }
    }
    assert!(sums[0] > 99.0 && sums[1] < 90.0, "the right group's text word by word: {sums:?}");
}

#[test]
fn the_closest_output_of_an_entity_is_never_farther_than_its_own() {
    let data = data();
    let directory = tempfile::tempdir().unwrap();
    let own = run(&study(""), &data, &directory.path().join("own.jsonl"), 2);
    let closest = study("truth = \"closest\"");
    let closest = run(&closest, &data, &directory.path().join("closest.jsonl"), 2);
    let errors = |runs: &[RunRecord]| -> Vec<f64> {
        let error = |r: &RunRecord| match &r.outcome {
            Outcome::Scores(s) => s.metric("mse").unwrap(),
            Outcome::Failed(e) => panic!("{e}"),
        };
        runs.iter().map(error).collect()
    };
    let pairs: Vec<(f64, f64)> = errors(&own).into_iter().zip(errors(&closest)).collect();
    assert!(pairs.iter().all(|(own, closest)| closest <= own));
    assert!(pairs.iter().filter(|(own, closest)| closest < own).count() > 32);
}

#[test]
fn scores_are_never_taken_on_groups_that_were_tuned_on() {
    let data = data();
    let plain = study("");
    let directory = tempfile::tempdir().unwrap();
    let mut tuned = Tuned::begin(&plain, &data, 2);
    let method = plain.baseline("laprls").unwrap();
    for &direction in &plain.directions {
        let draws = tune::draws(&plain, &data, direction, 2).unwrap();
        let choice = tune::search(&method, &draws, direction, Seed(1), &Silent).unwrap();
        tuned.choices.push(choice);
    }
    let path = directory.path().join("tuned.toml");
    tuned.write(&path).unwrap();
    let study = Experiment { tuned: Some(path), ..plain };
    let runner = Runner::new(&study, &data).unwrap();
    assert_eq!(runner.groups.len() + tuned.groups.len(), 10);
    for group in &runner.groups {
        assert!(!tuned.groups.contains(&data.group_names[*group as usize]));
    }
    let runs = run(&study, &data, &directory.path().join("runs.jsonl"), 2);
    assert_eq!(runs.iter().filter(|r| r.cell.setting == Setting::Inductive).count(), 32);
}
