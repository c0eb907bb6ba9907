//! What a report is made from: data sets, each with its main study and the same under other
//! conditions.

use super::page::Colour;
use crate::contender::{Contender, DEFAULT, PAPER, POSTERIOR, VARIANTS};
use crate::record::{Outcome, RunRecord, RunScores};
use crate::stats::{Interval, Standings, mean_within, standings, wilson};
use crate::{Clusters, Experiment, LabError, Pairing, Results, Setting, Sizes, SplitBy};
use bridged::Direction;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// Everything that a report is made from.
#[derive(Debug)]
pub struct ReportData {
    pub sets: Vec<DatasetResults>,
    /// Data sets that were studied in natural sizes alone, where others were not: their pairs are
    /// counted otherwise, so they are not compared with the rest.
    pub apart: Vec<DatasetResults>,
    /// What the page says that it was made by.
    pub command: String,
}

/// The studies of one data set.
#[derive(Debug)]
pub struct DatasetResults {
    pub data: String,
    /// The study that the others are compared with.
    pub main: Results,
    pub others: Vec<OtherStudy>,
}

/// A study of the same data under another condition.
#[derive(Debug)]
pub struct OtherStudy {
    /// What is different, in words; empty where only cells or methods are.
    pub condition: String,
    pub kind: Difference,
    pub results: Results,
}

/// In what a study differs from the main one of its data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// In the vectors of a side alone.
    Encoder,
    /// In the number of rows per group alone.
    Rows,
    /// In how rows and pairs are drawn.
    Condition,
}

/// A data set in one direction and setting: what the paper calls an experiment.
#[derive(Debug)]
pub struct Part<'a> {
    pub data: &'a str,
    pub direction: Direction,
    pub setting: Setting,
    /// Its runs with the right number of clusters.
    pub runs: Vec<&'a RunRecord>,
}

impl ReportData {
    pub fn new(results: Vec<Results>, command: &str) -> Result<Self, LabError> {
        let mut by_data: BTreeMap<String, Vec<Results>> = BTreeMap::new();
        for one in results {
            if one.runs.is_empty() {
                let reason = "holds no runs yet; carry the study out first".to_string();
                return Err(LabError::BadFile { path: one.name.into(), reason });
            }
            by_data.entry(one.runs[0].data.clone()).or_default().push(one);
        }
        let sets = by_data.into_iter().map(|(data, mut studies)| {
            studies.sort_by_key(|r| (oddities(&r.study), std::cmp::Reverse(r.runs.len())));
            let main = studies.remove(0);
            let others = studies.into_iter().map(|results| {
                let (condition, kind) = difference(&main.study, &results.study);
                let condition = if condition.is_empty() { results.name.clone() } else { condition };
                OtherStudy { condition, kind, results }
            });
            let others = others.collect();
            DatasetResults { data, main, others }
        });
        let natural = |set: &DatasetResults| set.main.study.is_natural();
        let (apart, sets): (Vec<_>, Vec<_>) = sets.partition(natural);
        let (sets, apart) = if sets.is_empty() { (apart, sets) } else { (sets, apart) };
        Ok(Self { sets, apart, command: command.to_string() })
    }

    pub fn title(&self) -> String {
        let names: Vec<&str> = self.sets.iter().map(|s| s.data.as_str()).collect();
        match names.as_slice() {
            [one] => format!("Bridged Clustering and its rivals on {one}"),
            many => format!("Bridged Clustering and its rivals on {} data sets", many.len()),
        }
    }

    /// The studies in natural sizes, whatever else is on the page; not those with groups on one side
    /// only or with wrong pairs, which are conditions of their own.
    pub fn natural(&self) -> Vec<&Results> {
        let all = self.sets.iter().chain(&self.apart).flat_map(|set| {
            [&set.main].into_iter().chain(set.others.iter().map(|other| &other.results))
        });
        all.filter(|results| {
            let p = &results.study.protocol;
            results.study.is_natural() && p.missing == 0.0 && p.wrong_pairs == 0.0
        })
        .collect()
    }

    /// What the numbers of pairs of the main studies count.
    pub fn pairs_name(&self) -> &'static str {
        let natural = self.sets.iter().all(|set| set.main.study.is_natural());
        if natural { "pairs" } else { "pairs a group" }
    }

    /// The parts of all main studies in a setting.
    pub fn parts(&self, setting: Setting) -> Vec<Part<'_>> {
        let parts = self.sets.iter().flat_map(|set| parts(&set.data, &set.main));
        parts.filter(|part| part.setting == setting).collect()
    }

    /// Every method that any main study has.
    pub fn methods(&self) -> Vec<&'static str> {
        methods(self.sets.iter().flat_map(|set| &set.main.runs))
    }

    /// The variants of Bridged Clustering that are compared with the baselines, where they ran: the
    /// paper's, the posterior bridge on the paper's clusterings, and the default of `bridged fit`.
    pub fn featured(&self) -> Vec<&'static str> {
        let methods = self.methods();
        [PAPER, POSTERIOR, DEFAULT].into_iter().filter(|v| methods.contains(v)).collect()
    }
}

/// What is unusual in a study; the plainest one is the main one of its data set.
fn oddities(study: &Experiment) -> usize {
    let p = &study.protocol;
    [
        study.x != "x",
        study.y != "y",
        p.pairing != Pairing::Stratified,
        p.sizes != Sizes::Equal,
        p.split_by != SplitBy::Entity,
        p.wrong_pairs > 0.0,
        p.missing > 0.0,
        study.groups.iter().any(|&g| g > 7),
    ]
    .into_iter()
    .filter(|odd| *odd)
    .count()
}

/// What a study does otherwise than the main one, in words.
fn difference(main: &Experiment, other: &Experiment) -> (String, Difference) {
    let (p, q) = (&main.protocol, &other.protocol);
    let mut encoder = Vec::new();
    if main.x != other.x {
        encoder.push(format!("inputs {}", other.x));
    }
    if main.y != other.y {
        encoder.push(format!("outputs {}", other.y));
    }
    let mut rows = Vec::new();
    if p.rows_per_group != q.rows_per_group {
        rows.push(format!("{} rows a group", q.rows_per_group));
    }
    let mut words = Vec::new();
    let most = |study: &Experiment| study.groups.iter().copied().max().unwrap_or(0);
    if most(other) > most(main) {
        let least = other.groups.iter().min().unwrap_or(&0);
        words.push(format!("C = {least} … {}", most(other)));
    }
    if p.pairing != q.pairing {
        words.push(match q.pairing {
            Pairing::Iid => "pairs drawn at random".to_string(),
            Pairing::Stratified => "pairs in every group".to_string(),
            Pairing::Suggested => "pairs where the model asks".to_string(),
            Pairing::Chance => "pairs asked for at random".to_string(),
        });
    }
    if p.sizes != q.sizes {
        words.push(match q.sizes {
            Sizes::Zipf => "Zipf group sizes".to_string(),
            Sizes::Equal => "equal group sizes".to_string(),
            Sizes::Natural => "natural group sizes".to_string(),
        });
    }
    if p.wrong_pairs != q.wrong_pairs {
        words.push(format!("{:.0} % wrong pairs", 100.0 * q.wrong_pairs));
    }
    if p.missing != q.missing {
        words.push(format!("{:.0} % of the groups on one side only", 100.0 * q.missing));
    }
    if p.split_by != q.split_by {
        words.push("split by row".to_string());
    }
    let kind = match (encoder.is_empty(), rows.is_empty(), words.is_empty()) {
        (false, true, true) => Difference::Encoder,
        (true, false, true) => Difference::Rows,
        _ => Difference::Condition,
    };
    ([words, encoder, rows].concat().join(", "), kind)
}

/// The directions and settings of a study.
pub fn parts<'a>(data: &'a str, results: &'a Results) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for direction in [Direction::Forward, Direction::Reverse] {
        for setting in [Setting::Transductive, Setting::Inductive] {
            let runs: Vec<&RunRecord> = results
                .runs
                .iter()
                .filter(|r| r.cell.direction == direction && r.cell.setting == setting)
                .filter(|r| is_usual(r))
                .collect();
            if !runs.is_empty() {
                parts.push(Part { data, direction, setting, runs });
            }
        }
    }
    parts
}

impl Part<'_> {
    /// As the paper calls it.
    pub fn label(&self) -> String {
        match self.direction {
            Direction::Forward => self.data.to_string(),
            Direction::Reverse => format!("{}, reversed", self.data),
        }
    }

    /// With the setting.
    pub fn full_label(&self) -> String {
        format!("{}, {}", self.label(), setting_name(self.setting))
    }

    /// The runs of one method.
    pub fn of<'b>(&'b self, method: &'b str) -> impl Iterator<Item = &'b RunRecord> {
        self.runs.iter().copied().filter(move |r| r.method == method)
    }

    pub fn methods(&self) -> Vec<&'static str> {
        methods(self.runs.iter().copied())
    }

    /// The methods that have a run on every draw.
    pub fn quick_methods(&self) -> Vec<&'static str> {
        quick_methods(&self.runs)
    }

    /// Who stands where among these methods, on the draws that they share.
    pub fn standings(&self, methods: &[&str]) -> Option<Standings> {
        let runs: Vec<&RunRecord> =
            self.runs.iter().copied().filter(|r| methods.contains(&r.method.as_str())).collect();
        standings(&runs, methods.first()?)
    }
}

pub fn setting_name(setting: Setting) -> &'static str {
    match setting {
        Setting::Transductive => "transductive",
        Setting::Inductive => "inductive",
    }
}

/// The methods of runs, in the order of the list.
pub fn methods<'a>(runs: impl Iterator<Item = &'a RunRecord>) -> Vec<&'static str> {
    let there: std::collections::HashSet<&str> = runs.map(|r| r.method.as_str()).collect();
    Contender::names().filter(|name| there.contains(name)).collect()
}

/// The methods that have a run on every draw.
pub fn quick_methods(runs: &[&RunRecord]) -> Vec<&'static str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    runs.iter().for_each(|r| *counts.entry(&r.method).or_default() += 1);
    let most = counts.values().max().copied();
    let all = methods(runs.iter().copied());
    all.into_iter().filter(|m| counts.get(m).copied() == most).collect()
}

/// The share of draws of a study on which `name` has a smaller error than `first`, with Wilson's interval; equals count
/// half.
pub fn better(runs: &[&RunRecord], first: &str, name: &str) -> Option<Interval> {
    let of = |method: &str| {
        let method = method.to_string();
        runs.iter().filter(move |r| r.method == method)
    };
    let draw = |r: &RunRecord| (r.cell, r.run);
    let firsts: HashMap<_, f64> = of(first).filter_map(|r| Some((draw(r), relative(r)?))).collect();
    let shares: Vec<f64> = of(name)
        .filter_map(|r| {
            let theirs = firsts.get(&draw(r))?;
            let ours = relative(r).unwrap_or(f64::INFINITY);
            Some(match ours.total_cmp(theirs) {
                Ordering::Less => 1.0,
                Ordering::Equal => 0.5,
                Ordering::Greater => 0.0,
            })
        })
        .collect();
    wilson(shares.iter().sum(), shares.len())
}

/// One variant of Bridged Clustering and all baselines: what wins are counted among.
pub fn field(variant: &'static str, methods: &[&'static str]) -> Vec<&'static str> {
    let is_variant = |name: &str| VARIANTS.iter().any(|v| v.name == name);
    let others = methods.iter().copied().filter(|m| !is_variant(m));
    [variant].into_iter().chain(others).collect()
}

/// Whether a method was told the right number of clusters, or needs none.
pub fn is_usual(run: &RunRecord) -> bool {
    let told = match run.cell.clusters {
        Clusters::Known => true,
        Clusters::Hidden => matches!(run.outcome, Outcome::Scores(_)),
        Clusters::Half | Clusters::Double => false,
    };
    told && run.cell.extra_clusters == 0
}

/// The scores of a run that did not fail.
pub fn scores(run: &RunRecord) -> Option<&RunScores> {
    match &run.outcome {
        Outcome::Scores(scores) => Some(scores),
        Outcome::Failed(_) => None,
    }
}

/// Error ÷ that of the mean of the output pool.
pub fn relative(run: &RunRecord) -> Option<f64> {
    scores(run)?.relative_error()
}

/// A metric of a run by the name that the run keeps it under.
pub fn metric(run: &RunRecord, name: &str) -> Option<f64> {
    scores(run)?.metric(name)
}

/// The mean of a value over runs, with Student's interval from the spread within cells.
pub fn mean<'a>(
    runs: impl Iterator<Item = &'a RunRecord>,
    value: impl Fn(&RunRecord) -> Option<f64>,
) -> Option<Interval> {
    let mut cells: BTreeMap<(usize, usize, i64, String), Vec<f64>> = BTreeMap::new();
    for run in runs {
        let c = run.cell;
        let other = format!("{:?}{:?}", c.direction, c.setting);
        if let Some(value) = value(run).filter(|v| v.is_finite()) {
            cells.entry((c.groups, c.pairs, c.extra_clusters, other)).or_default().push(value);
        }
    }
    let cells: Vec<Vec<f64>> = cells.into_values().collect();
    let negative = cells.iter().flatten().any(|v| *v < 0.0);
    mean_within(&cells).map(|i| if negative { i } else { i.not_negative() })
}

/// The mean of a share over runs, with Wilson's interval that counts every run once.
pub fn mean_share<'a>(
    runs: impl Iterator<Item = &'a RunRecord>,
    value: impl Fn(&RunRecord) -> Option<f64>,
) -> Option<Interval> {
    let values: Vec<f64> = runs.filter_map(value).filter(|v| v.is_finite()).collect();
    wilson(values.iter().sum(), values.len())
}

/// An interval in words.
pub fn range(i: Interval) -> String {
    match i.is_known() {
        true => format!("{} to {}", super::page::digits(i.low), super::page::digits(i.high)),
        false => "one draw, no interval".to_string(),
    }
}

/// A colour for each of the methods that matter most, in the order given; grey for the others.
pub fn colours<'a>(methods: &[&'a str]) -> Vec<(&'a str, Colour)> {
    methods.iter().enumerate().map(|(i, m)| (*m, Colour::nth(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(text: &str) -> Experiment {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.toml");
        std::fs::write(&path, format!("data = \"d.parquet\"\n{text}")).unwrap();
        Experiment::parse_file(&path).unwrap()
    }

    #[test]
    fn a_condition_is_said_in_words() {
        let main = study("");
        let other = |text| difference(&main, &study(text));
        assert_eq!(other("x = \"x_vit\""), ("inputs x_vit".into(), Difference::Encoder));
        assert_eq!(
            other("[protocol]\nrows_per_group = 50"),
            ("50 rows a group".into(), Difference::Rows)
        );
        assert_eq!(
            other("groups = [8, 12]\n[protocol]\npairing = \"iid\"\nwrong_pairs = 0.1"),
            ("C = 8 … 12, pairs drawn at random, 10 % wrong pairs".into(), Difference::Condition)
        );
        assert!(oddities(&main) < oddities(&study("y = \"z\"")));
    }

    #[test]
    fn wins_are_counted_among_one_variant_and_the_baselines() {
        let methods = ["bridged", "bridged-soft", "knn", "eot"];
        assert_eq!(field("bridged-soft", &methods), ["bridged-soft", "knn", "eot"]);
    }
}
