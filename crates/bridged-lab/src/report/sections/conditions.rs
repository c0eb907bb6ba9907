//! Harder conditions: miscounted and many groups, unequal sizes, pairs at random, wrong pairs.

use crate::Results;
use crate::record::RunRecord;
use crate::report::charts::dots::{DotRow, dots};
use crate::report::data::{DatasetResults, Difference, ReportData, mean, methods, range, relative};
use crate::report::page::{Colour, Figure, Section, Table, TableCell};
use std::collections::HashSet;

/// Methods that are followed through the conditions, where they ran.
const FOLLOWED: [&str; 11] = [
    "bridged",
    "bridged-default",
    "bridged-posterior",
    "bridged-posterior-kmeans",
    "bridged-soft",
    "bridged-supervised-centroid",
    "bridged-kmeans",
    "eot",
    "knn",
    "ridge",
    "laprls",
];

pub fn section(data: &ReportData) -> Option<Section> {
    let mut table =
        Table::new(["data set", "condition", "method", "runs", "error ÷ mean's", "95 %"]);
    let mut panels = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let all = data.sets.iter().flat_map(|set| {
        let others = set.others.iter().flat_map(|other| &other.results.runs);
        set.main.runs.iter().chain(others)
    });
    let there = methods(all);
    let followed: Vec<&str> = FOLLOWED.into_iter().filter(|m| there.contains(m)).collect();
    for set in &data.sets {
        let conditions = conditions(set);
        if conditions.len() < 2 {
            continue;
        }
        let rows = conditions.iter().map(|(name, runs)| {
            let there = methods(runs.iter().copied());
            let mut values = Vec::new();
            for (at, method) in followed.iter().enumerate().filter(|(_, m)| there.contains(m)) {
                let of = || runs.iter().copied().filter(|r| r.method == *method);
                let Some(value) = mean(of(), relative) else { continue };
                if !seen.contains(method) {
                    seen.push(method);
                }
                table.row(vec![
                    set.data.as_str().into(),
                    name.as_str().into(),
                    (*method).into(),
                    TableCell::number(of().count().to_string()),
                    TableCell::value(Some(value.value)),
                    range(value).into(),
                ]);
                values.push((method.to_string(), Colour::nth(at), value));
            }
            DotRow { name: name.clone(), values }
        });
        let rows: Vec<DotRow> = rows.collect();
        panels.push((
            set.data.clone(),
            dots(&rows, Some(1.0), "error ÷ that of the mean", &set.data),
        ));
    }
    let legend = followed.iter().enumerate().filter(|(_, m)| seen.contains(m));
    let legend = legend.map(|(at, m)| (Colour::nth(at), m.to_string())).collect();
    (!panels.is_empty()).then(|| Section {
        id: "conditions",
        title: "Harder conditions".into(),
        text: "The same study with more or fewer clusters than groups, with many groups, with group \
               sizes that fall as 1, 1/2, 1/3 …, with pairs that fall where they may, and with pairs \
               whose outputs were exchanged. Both directions and settings together."
            .into(),
        figures: vec![Figure {
            caption: "Mean error under each condition, with 95 % intervals.".into(),
            legend,
            panels,
            table,
        }],
    })
}

/// The conditions of a data set with their runs, the usual one first: of that only the draws that
/// the others have too.
fn conditions(set: &DatasetResults) -> Vec<(String, Vec<&RunRecord>)> {
    let mut others = Vec::new();
    for other in set.others.iter().filter(|o| o.kind == Difference::Condition) {
        others.extend(by_count(&other.condition, &other.results));
    }
    let mut all = by_count("", &set.main);
    let draws: HashSet<(usize, usize, usize)> =
        others.iter().flat_map(|(_, runs)| runs).map(|r| draw(r)).collect();
    if all.iter().flat_map(|(_, runs)| runs).any(|r| draws.contains(&draw(r))) {
        all.iter_mut().for_each(|(_, runs)| runs.retain(|r| draws.contains(&draw(r))));
    }
    let usual = all.first().map(|(name, _)| name.clone());
    // A study of miscounted clusters has the usual draws with the right count again.
    others.retain(|(name, _)| Some(name) != usual.as_ref());
    all.extend(others);
    all
}

fn draw(run: &RunRecord) -> (usize, usize, usize) {
    (run.cell.groups, run.cell.pairs, run.run)
}

/// The runs of a study by how many clusters there are too many.
fn by_count<'a>(condition: &str, results: &'a Results) -> Vec<(String, Vec<&'a RunRecord>)> {
    let mut extras: Vec<i64> = results.runs.iter().map(|r| r.cell.extra_clusters).collect();
    extras.sort_by_key(|e| (*e != 0, *e));
    extras.dedup();
    let named = extras.into_iter().map(|extra| {
        let runs = results.runs.iter().filter(|r| r.cell.extra_clusters == extra).collect();
        let name = match (extra, condition) {
            (0, "") => "as usual".to_string(),
            (0, condition) => condition.to_string(),
            (_, "") => count(extra),
            (_, condition) => format!("{condition}, {}", count(extra)),
        };
        (name, runs)
    });
    named.collect()
}

fn count(extra: i64) -> String {
    let clusters = if extra.abs() == 1 { "cluster" } else { "clusters" };
    let direction = if extra > 0 { "too many" } else { "too few" };
    format!("{} {clusters} {direction}", extra.abs())
}
