//! With what the page was made.

use crate::record::Outcome;
use crate::report::data::ReportData;
use crate::report::page::{Figure, Section, Table, TableCell};
use crate::results::Results;
use std::collections::BTreeMap;

pub fn section(data: &ReportData) -> Option<Section> {
    let all = || {
        data.sets
            .iter()
            .flat_map(|s| [&s.main].into_iter().chain(s.others.iter().map(|o| &o.results)))
    };
    let mut table =
        Table::new(["results", "made by", "release", "processor", "threads", "seed", "runs"]);
    for results in all() {
        let made = results.made.as_ref();
        table.row(vec![
            results.name.as_str().into(),
            made.map_or("–", |m| m.command.as_str()).into(),
            versions(results).into(),
            made.map_or("–", |m| m.processor.as_str()).into(),
            TableCell::number(made.map_or("–".into(), |m| m.threads.to_string())),
            TableCell::number(results.study.seed.to_string()),
            TableCell::number(results.runs.len().to_string()),
        ]);
    }
    let mut figures = vec![Figure {
        caption: "The studies, and the commands that ran them.".into(),
        table,
        ..Figure::default()
    }];
    let mut failures: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for results in all() {
        for run in &results.runs {
            if let Outcome::Failed(why) = &run.outcome {
                *failures.entry((&results.name, &run.method, why)).or_default() += 1;
            }
        }
    }
    if !failures.is_empty() {
        let mut table = Table::new(["results", "method", "runs", "what it said"]);
        for ((name, method, why), count) in failures {
            let count = TableCell::number(count.to_string());
            table.row(vec![name.into(), method.into(), count, why.into()]);
        }
        let caption = "Runs that failed; they count as losses.".into();
        figures.push(Figure { caption, table, ..Figure::default() });
    }
    Some(Section {
        id: "made",
        title: "How this was made".into(),
        text: format!(
            "{}\n\nbridged {}. A study's folder holds its TOML file and every run as a line \
             of JSON; the same study and seed give the same runs on any machine.",
            data.command,
            env!("CARGO_PKG_VERSION")
        ),
        figures,
    })
}

fn versions(results: &Results) -> String {
    let mut versions: Vec<&str> = results.runs.iter().map(|r| r.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    versions.join(", ")
}
