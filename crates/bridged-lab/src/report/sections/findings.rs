//! The paper's findings, tested again on these data.

use crate::Setting;
use crate::record::RunRecord;
use crate::report::data::{Part, ReportData, is_usual, mean, range, relative};
use crate::report::page::{Figure, Section, Table, TableCell};
use crate::stats::spearman;
use bridged::Direction;

pub fn section(data: &ReportData) -> Option<Section> {
    let mut figures = Vec::new();
    for variant in data.featured() {
        figures.extend(settings(data, variant));
        figures.extend(trends(data, variant));
    }
    (!figures.is_empty()).then(|| Section {
        id: "findings",
        title: "The paper's findings, tested again".into(),
        text:
            "The paper says: seeing the test inputs helps a little; more groups are harder; more \
               pairs help little; and where clusters say little about the groups, the method is \
               weak (for the last see “Clusters and errors”). A finding holds where its interval \
               lies on one side of 0."
                .into(),
        figures,
    })
}

fn settings(data: &ReportData, variant: &str) -> Option<Figure> {
    let mut table = Table::new([
        "experiment",
        "transductive",
        "95 %",
        "inductive",
        "95 %",
        "does seeing the inputs help?",
    ]);
    let (seen, unseen) = (data.parts(Setting::Transductive), data.parts(Setting::Inductive));
    for part in &seen {
        let same = |p: &&Part<'_>| p.data == part.data && p.direction == part.direction;
        let Some(other) = unseen.iter().find(same) else { continue };
        let (Some(a), Some(b)) =
            (mean(part.of(variant), relative), mean(other.of(variant), relative))
        else {
            continue;
        };
        let answer = match (a.high < b.low, b.high < a.low) {
            (true, _) => "yes",
            (_, true) => "no, it is worse",
            _ => "cannot be told",
        };
        table.row(vec![
            part.label().into(),
            TableCell::value(Some(a.value)),
            range(a).into(),
            TableCell::value(Some(b.value)),
            range(b).into(),
            answer.into(),
        ]);
    }
    let caption =
        format!("Mean error ÷ mean's of {variant} with and without sight of the test inputs.");
    (!table.rows.is_empty()).then(|| Figure { caption, table, ..Figure::default() })
}

fn trends(data: &ReportData, variant: &str) -> Option<Figure> {
    let mut table =
        Table::new(["experiment", "runs", "error with C", "95 %", "error with pairs", "95 %"]);
    for set in &data.sets {
        for direction in [Direction::Forward, Direction::Reverse] {
            let same = |r: &&RunRecord| r.method == variant && r.cell.direction == direction;
            let usual = |r: &&RunRecord| is_usual(r);
            let runs: Vec<&RunRecord> = set.main.runs.iter().filter(same).filter(usual).collect();
            let of = |value: fn(&RunRecord) -> usize| -> (Vec<f64>, Vec<f64>) {
                runs.iter().filter_map(|r| Some((value(r) as f64, relative(r)?))).unzip()
            };
            let cells = |(x, y): (Vec<f64>, Vec<f64>)| match spearman(&x, &y) {
                None => [TableCell::number("–"), "".into()],
                Some(c) => [
                    TableCell::number(format!("{:+.2}", c.r.value)),
                    format!("{:+.2} to {:+.2}", c.r.low, c.r.high).into(),
                ],
            };
            if runs.is_empty() {
                continue;
            }
            let label = match direction {
                Direction::Forward => set.data.clone(),
                Direction::Reverse => format!("{}, reversed", set.data),
            };
            let [c, c_range] = cells(of(|r| r.cell.groups));
            let [s, s_range] = cells(of(|r| r.cell.pairs));
            let runs = TableCell::number(runs.len().to_string());
            table.row(vec![label.into(), runs, c, c_range, s, s_range]);
        }
    }
    let caption = format!(
        "Spearman's correlation of the error ÷ mean's of {variant} with the number of groups, and with \
         the number of pairs a group; below 0: the error falls."
    );
    (!table.rows.is_empty()).then(|| Figure { caption, table, ..Figure::default() })
}
