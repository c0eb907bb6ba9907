//! Natural conditions: error and retrieval against the number of pairs, and whether what a model says of itself holds.

use crate::Clusters;
use crate::confidence::{CAME_TRUE, CLAIMED};
use crate::contender::{DEFAULT, PAPER};
use crate::record::{RunRecord, RunScores};
use crate::report::charts::curves::{Curve, Curves, curves, highlight};
use crate::report::charts::dots::Scale;
use crate::report::data::{ReportData, scores};
use crate::report::page::{Colour, Figure, Section, Table, TableCell, digits, is_ours, percent};
use crate::stats::{Interval, mean_within};
use bridged::Direction;
use std::collections::{BTreeMap, BTreeSet};

/// Rivals whose lines stand out.
const LINES: usize = 4;

/// What is drawn against the number of pairs.
struct Quantity {
    title: &'static str,
    up: &'static str,
    scale: Scale,
    /// The value of a constant prediction.
    line: Option<f64>,
    lower_is_better: bool,
    of: fn(&RunScores) -> Option<f64>,
}

impl Quantity {
    /// The part of an interval that the quantity can have: Student's is symmetric and knows no ends.
    fn possible(&self, mean: Interval) -> Interval {
        match self.scale {
            Scale::Share => Interval { high: mean.high.min(1.0), ..mean.not_negative() },
            _ => mean.not_negative(),
        }
    }
}

const ERROR: Quantity = Quantity {
    title: "Error",
    up: "error ÷ the constant's",
    scale: Scale::Log,
    line: Some(1.0),
    lower_is_better: true,
    of: RunScores::relative_error,
};

const RIGHT_GROUP: Quantity = Quantity {
    title: "Retrieval",
    up: "% right group",
    scale: Scale::Share,
    line: None,
    lower_is_better: false,
    of: |scores| scores.metric("right_group"),
};

pub fn section(data: &ReportData) -> Option<Section> {
    let studies = data.natural();
    let runs: Vec<&RunRecord> = studies.iter().flat_map(|results| &results.runs).collect();
    if runs.is_empty() {
        return None;
    }
    let mut figures = Vec::new();
    for quantity in [&ERROR, &RIGHT_GROUP] {
        figures.push(overall(&runs, quantity));
        figures.extend(each(&runs, quantity));
    }
    figures.push(best(&runs));
    figures.extend(confidence(&runs));
    Some(Section {
        id: "natural",
        title: "Natural conditions".into(),
        text: "All groups in their own sizes, and a few pairs wherever chance puts them: fewer pairs than groups is \
               the usual case. A form of Bridged Clustering is told the number of groups C, or a wrong one where its \
               name says so (k = C/2, k = 2C); the others need none. The right group is that of the real row that a method retrieves: \
               by its own ranking, or the row nearest to what it predicts. Intervals are 95 %."
            .into(),
        figures,
    })
}

/// A method with what it was told.
fn line_name(run: &RunRecord) -> String {
    let told = match run.cell.clusters {
        Clusters::Known => "",
        Clusters::Hidden if !is_ours(&run.method) => "",
        Clusters::Hidden if run.method == DEFAULT => "",
        Clusters::Hidden => ", k hidden",
        Clusters::Half => ", k = C/2",
        Clusters::Double => ", k = 2C",
    };
    format!("{}{told}", run.method)
}

/// The data set and the direction of a run.
fn part(run: &RunRecord) -> String {
    match run.cell.direction {
        Direction::Forward => run.data.clone(),
        Direction::Reverse => format!("{}, reversed", run.data),
    }
}

/// The means of a quantity: by line, then by number of pairs. Cells are data sets and directions. A line that lacks a
/// cell of a number of pairs, or failed there, has no mean for it: it would be one over other draws.
fn means(runs: &[&RunRecord], quantity: &Quantity) -> BTreeMap<String, BTreeMap<usize, Interval>> {
    let mut values: BTreeMap<(String, usize), BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    let mut cells: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        cells.entry(run.cell.pairs).or_default().insert(part(run));
        if let Some(value) = scores(run).and_then(quantity.of).filter(|v| v.is_finite()) {
            let line = values.entry((line_name(run), run.cell.pairs)).or_default();
            line.entry(part(run)).or_default().push(value);
        }
    }
    let mut found: BTreeMap<String, BTreeMap<usize, Interval>> = BTreeMap::new();
    for ((line, pairs), by_part) in values {
        if by_part.len() < cells[&pairs].len() {
            continue;
        }
        let by_part: Vec<Vec<f64>> = by_part.into_values().collect();
        if let Some(mean) = mean_within(&by_part).map(|mean| quantity.possible(mean)) {
            found.entry(line).or_default().insert(pairs, mean);
        }
    }
    found
}

/// Lines by their mean over the numbers of pairs, the best first; those that lack some come last.
fn ranked(means: &BTreeMap<String, BTreeMap<usize, Interval>>, quantity: &Quantity) -> Vec<String> {
    let most = means.values().map(BTreeMap::len).max().unwrap_or(0);
    let mut lines: Vec<(usize, f64, String)> = means
        .iter()
        .map(|(line, values)| {
            let mean = values.values().map(|i| i.value).sum::<f64>() / values.len() as f64;
            let sign = if quantity.lower_is_better { 1.0 } else { -1.0 };
            (most - values.len(), sign * mean, line.clone())
        })
        .collect();
    lines.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    lines.into_iter().map(|(.., line)| line).collect()
}

fn chart(
    means: &BTreeMap<String, BTreeMap<usize, Interval>>,
    order: &[String],
    quantity: &Quantity,
    label: &str,
) -> String {
    // The other forms of ours stay grey: rivals are what a reader looks for.
    let ours = |name: &str| is_ours(name.split(',').next().unwrap_or(name));
    let follow = [DEFAULT, PAPER];
    let shown = |name: &&str| follow.contains(name) || !ours(name);
    let names: Vec<&str> = order.iter().map(String::as_str).filter(shown).collect();
    let colours = highlight(&names, &follow, LINES);
    let colour =
        |name: &str| names.iter().position(|n| *n == name).map_or(Colour::Other, |at| colours[at]);
    let lines: Vec<Curve> = order
        .iter()
        .filter_map(|name| {
            let colour = colour(name);
            let points = means.get(name)?.iter().map(|(pairs, mean)| (*pairs as f64, *mean));
            Some(Curve { name: name.clone(), colour, points: points.collect() })
        })
        .collect();
    let about = Curves {
        across: "pairs",
        up: quantity.up,
        scale: quantity.scale,
        line: quantity.line,
        label,
    };
    curves(&lines, &about)
}

/// One chart over all data sets and directions, with the numbers of every line.
fn overall(runs: &[&RunRecord], quantity: &Quantity) -> Figure {
    let means = means(runs, quantity);
    let order = ranked(&means, quantity);
    let mut pairs: Vec<usize> = runs.iter().map(|r| r.cell.pairs).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let columns = pairs.iter().map(|p| format!("P = {p}"));
    let mut table = Table::new(["method".to_string()].into_iter().chain(columns));
    let best: Vec<Option<f64>> = pairs
        .iter()
        .map(|p| {
            let values = means.values().filter_map(|line| line.get(p)).map(|i| i.value);
            match quantity.lower_is_better {
                true => values.min_by(f64::total_cmp),
                false => values.max_by(f64::total_cmp),
            }
        })
        .collect();
    for line in &order {
        let cells = pairs.iter().zip(&best).map(|(p, best)| {
            let mean = means[line].get(p);
            let is_best = mean.is_some_and(|m| Some(m.value) == *best);
            value(mean.copied(), quantity).best(is_best)
        });
        table.row([TableCell::from(line.as_str())].into_iter().chain(cells).collect());
    }
    let parts: BTreeSet<String> = runs.iter().map(|r| part(r)).collect();
    let caption = format!(
        "{} against the number of pairs, the mean of {} data sets and directions; with more pairs fewer of them allow \
         that many.",
        quantity.title,
        parts.len()
    );
    let panels = vec![(quantity.title.to_string(), chart(&means, &order, quantity, &caption))];
    Figure { caption, legend: Vec::new(), panels, table }
}

/// One chart for each data set and direction; none where there is one.
fn each(runs: &[&RunRecord], quantity: &Quantity) -> Option<Figure> {
    let parts: BTreeSet<String> = runs.iter().map(|r| part(r)).collect();
    if parts.len() < 2 {
        return None;
    }
    let mut panels = Vec::new();
    let mut table = Table::new(["data set", "method", "pairs", "mean", "95 %"]);
    for name in &parts {
        let own: Vec<&RunRecord> = runs.iter().copied().filter(|r| part(r) == *name).collect();
        let means = means(&own, quantity);
        let order = ranked(&means, quantity);
        panels.push((name.clone(), chart(&means, &order, quantity, name)));
        for line in &order {
            for (pairs, mean) in &means[line] {
                let range = match mean.is_known() {
                    true => {
                        format!("{} to {}", said(mean.low, quantity), said(mean.high, quantity))
                    }
                    false => "–".to_string(),
                };
                table.row(vec![
                    name.as_str().into(),
                    line.as_str().into(),
                    TableCell::number(pairs.to_string()),
                    TableCell::number(said(mean.value, quantity)),
                    TableCell::number(range),
                ]);
            }
        }
    }
    let caption = format!("{} on each data set and direction.", quantity.title);
    Some(Figure { caption, legend: Vec::new(), panels, table })
}

/// Who is best on each data set at each number of pairs, by error and by retrieval.
fn best(runs: &[&RunRecord]) -> Figure {
    let mut table = Table::new([
        "data set",
        "pairs",
        "smallest error",
        "error",
        "the default's error",
        "best retrieval",
        "right group",
        "the default's",
    ]);
    let parts: BTreeSet<String> = runs.iter().map(|r| part(r)).collect();
    for name in &parts {
        let own: Vec<&RunRecord> = runs.iter().copied().filter(|r| part(r) == *name).collect();
        let tables = [&ERROR, &RIGHT_GROUP].map(|quantity| (quantity, means(&own, quantity)));
        let pairs: BTreeSet<usize> = own.iter().map(|r| r.cell.pairs).collect();
        for p in pairs {
            let mut row = vec![name.as_str().into(), TableCell::number(p.to_string())];
            for (quantity, means) in &tables {
                let at = means.iter().filter_map(|(line, m)| Some((line, m.get(&p)?)));
                let first = at.min_by(|a, b| match quantity.lower_is_better {
                    true => a.1.value.total_cmp(&b.1.value),
                    false => b.1.value.total_cmp(&a.1.value),
                });
                row.push(first.map_or("–".into(), |(line, _)| line.as_str().into()));
                row.push(value(first.map(|(_, m)| *m), quantity));
                row.push(value(means.get(DEFAULT).and_then(|m| m.get(&p)).copied(), quantity));
            }
            table.row(row);
        }
    }
    let caption =
        "Who has the smallest mean error, and who retrieves the right group most often.".into();
    Figure { caption, legend: Vec::new(), panels: Vec::new(), table }
}

/// Whether the probabilities and balls of a model hold; none where no model states them.
fn confidence(runs: &[&RunRecord]) -> Option<Figure> {
    let mut table = Table::new([
        "method",
        "data set",
        "pairs",
        "probability said",
        "came true",
        "calibration error",
        "balls at 80 %",
        "balls at 90 %",
    ]);
    let mut cells: BTreeMap<(String, String, usize), Vec<&RunScores>> = BTreeMap::new();
    for run in runs {
        let Some(scores) = scores(run).filter(|s| s.metric(CLAIMED).is_some()) else { continue };
        cells.entry((line_name(run), part(run), run.cell.pairs)).or_default().push(scores);
    }
    for ((line, part, pairs), scores) in &cells {
        let mean = |name: &str| -> Option<f64> {
            let values: Vec<f64> = scores.iter().filter_map(|s| s.metric(name)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let share = |name| TableCell::number(mean(name).map_or("–".into(), percent));
        let mut row =
            vec![line.as_str().into(), part.as_str().into(), TableCell::number(pairs.to_string())];
        row.extend([CLAIMED, CAME_TRUE, "ece", "coverage_80", "coverage_90"].map(share));
        table.row(row);
    }
    (!cells.is_empty()).then(|| Figure {
        caption: "What models say of their predictions on unseen rows, and what came true: the mean probability of the \
                  linked cluster beside the share of outputs that lie in it, and the share of balls that hold the true \
                  output. With few tested rows the calibration error is above 0 by chance alone."
            .into(),
        legend: Vec::new(),
        panels: Vec::new(),
        table,
    })
}

fn said(value: f64, quantity: &Quantity) -> String {
    if quantity.scale == Scale::Share { percent(value) } else { digits(value) }
}

fn value(mean: Option<Interval>, quantity: &Quantity) -> TableCell {
    let Some(mean) = mean else { return TableCell::number("–") };
    let cell = TableCell::number(said(mean.value, quantity));
    match mean.is_known() {
        true => {
            cell.tip(format!("95 %: {} to {}", said(mean.low, quantity), said(mean.high, quantity)))
        }
        false => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;
    use crate::{Experiment, Results, StudyCell};

    fn run(data: &str, method: &str, pairs: usize, clusters: Clusters, mse: f64) -> RunRecord {
        let metrics = [("mse", mse), ("right_group", 1.0 - mse / 2.0), (CLAIMED, 0.75)];
        let metrics = metrics.map(|(name, value)| (name.to_string(), Some(value))).into();
        let scores = RunScores { mse_of_mean: 1.0, metrics, ..RunScores::default() };
        RunRecord {
            data: data.into(),
            cell: StudyCell { groups: 4, pairs, clusters, ..StudyCell::default() },
            run: 0,
            seed: 0,
            method: method.into(),
            version: "0".into(),
            outcome: Outcome::Scores(Box::new(scores)),
        }
    }

    fn report(runs: Vec<RunRecord>, protocol: &str) -> ReportData {
        let mut by_data: BTreeMap<String, Vec<RunRecord>> = BTreeMap::new();
        for run in runs {
            by_data.entry(run.data.clone()).or_default().push(run);
        }
        let results = by_data.into_iter().map(|(data, runs)| {
            let text = format!("data = \"{data}.parquet\"\n[protocol]\n{protocol}");
            let keys: toml::Table = toml::from_str(&text).unwrap();
            let study = Experiment::from_table(keys).unwrap();
            Results { name: data, study, runs, spaces: None, made: None }
        });
        ReportData::new(results.collect(), "test").unwrap()
    }

    const NATURAL: &str = "sizes = \"natural\"\npairing = \"iid\"";

    #[test]
    fn every_line_is_there_and_the_best_of_each_number_of_pairs_is_bold() {
        let mut runs = Vec::new();
        for data in ["a", "b"] {
            for (pairs, ours, theirs) in [(3, 0.9, 0.8), (30, 0.5, 0.6)] {
                runs.push(run(data, DEFAULT, pairs, Clusters::Known, ours));
                runs.push(run(data, DEFAULT, pairs, Clusters::Double, ours + 0.1));
                runs.push(run(data, "spud", pairs, Clusters::Known, theirs));
            }
        }
        // A method that lacks a data set has no mean over all of them.
        runs.push(run("a", "eot", 3, Clusters::Known, 0.1));
        let section = section(&report(runs, NATURAL)).unwrap();
        let table = &section.figures[0].table;
        let lines: Vec<&str> = table.rows.iter().map(|row| row[0].text.as_str()).collect();
        assert_eq!(lines, [DEFAULT, "spud", "bridged-default, k = 2C"]);
        let bold: Vec<(usize, usize)> = (0..3)
            .flat_map(|i| (1..3).map(move |j| (i, j)))
            .filter(|&(i, j)| table.rows[i][j].best)
            .collect();
        assert_eq!(bold, [(0, 2), (1, 1)]);
        assert!(section.figures.iter().all(|f| !f.panels.iter().any(|p| p.1.contains("NaN"))));
        let best = section.figures.iter().find(|f| f.caption.starts_with("Who has")).unwrap();
        assert_eq!(best.table.rows[0][2].text, "eot", "on its own data set it counts");
    }

    #[test]
    fn other_studies_have_no_such_section() {
        let runs = vec![run("a", "knn", 3, Clusters::Known, 0.9)];
        assert!(section(&report(runs, "sizes = \"equal\"")).is_none());
    }

    #[test]
    fn shares_stay_between_none_and_all() {
        let wide = Interval { value: 0.5, low: -0.2, high: 1.4 };
        let share = RIGHT_GROUP.possible(wide);
        assert_eq!((share.low, share.high), (0.0, 1.0));
        assert_eq!(ERROR.possible(wide).high, 1.4);
    }
}
