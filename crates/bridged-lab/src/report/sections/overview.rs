//! What was studied, and the answer in one table.

use crate::report::data::{ReportData, is_usual, mean, range, relative};
use crate::report::page::{Figure, Section, Table, TableCell};
use crate::{Pairing, Sizes};
use std::collections::HashSet;

pub fn section(data: &ReportData) -> Option<Section> {
    let featured = data.featured();
    let mut columns =
        vec!["data set", "runs", "draws", "methods", "rows a group", "output only", "drawn"];
    let names: Vec<String> = featured.iter().map(|h| format!("{h}: error ÷ mean's")).collect();
    columns.extend(names.iter().map(String::as_str));
    let mut table = Table::new(columns);
    for set in &data.sets {
        let draws: HashSet<_> = set.main.runs.iter().map(|r| (r.cell, r.run)).collect();
        let p = &set.main.study.protocol;
        let mut drawn = vec![match p.pairing {
            Pairing::Stratified => "pairs in every group",
            Pairing::Iid => "pairs at random",
            Pairing::Suggested => "pairs where the model asks",
            Pairing::Chance => "pairs asked for at random",
        }];
        drawn.extend((p.sizes == Sizes::Zipf).then_some("Zipf sizes"));
        let methods = crate::report::data::methods(set.main.runs.iter());
        let mut row = vec![
            set.data.as_str().into(),
            TableCell::number(set.main.runs.len().to_string()),
            TableCell::number(draws.len().to_string()),
            TableCell::number(methods.len().to_string()),
            TableCell::number(p.rows_per_group.to_string()),
            TableCell::number(format!("{:.0} %", 100.0 * p.output_share)),
            drawn.join(", ").into(),
        ];
        row.extend(featured.iter().map(|variant| {
            let usual = set.main.runs.iter().filter(|r| is_usual(r));
            let value = mean(usual.filter(|r| r.method == *variant), relative);
            let tip = value.map_or(String::new(), |v| format!("95 %: {}", range(v)));
            TableCell::value(value.map(|v| v.value)).tip(tip)
        }));
        table.row(row);
    }
    let caption = "Below 1 a method is better than a constant, the mean of the output pool, which \
                   needs no pair at all."
        .to_string();
    Some(Section {
        id: "overview",
        title: "What was studied".into(),
        text:
            "Every run draws groups, pools, pairs and test rows anew; a draw is the same for all \
               methods. Errors are mean squared errors on rows whose partner the method has not \
               seen, divided by the error of the mean of the output pool on the same rows."
                .into(),
        figures: vec![Figure { caption, table, ..Figure::default() }],
    })
}
