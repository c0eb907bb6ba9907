//! The same rows seen through other encoders.

use crate::record::RunRecord;
use crate::report::charts::dots::{DotRow, dots};
use crate::report::data::{Difference, ReportData, mean, methods, metric, parts, range, relative};
use crate::report::page::{Colour, Figure, Section, Table, TableCell};
use crate::{Experiment, Results};

const FOLLOWED: [&str; 6] =
    ["bridged", "bridged-posterior", "bridged-soft", "eot", "knn", "bridged-default"];

pub fn section(data: &ReportData) -> Option<Section> {
    let mut table = Table::new([
        "experiment",
        "inputs",
        "outputs",
        "method",
        "error ÷ mean's",
        "95 %",
        "AMI of inputs",
        "AMI of outputs",
    ]);
    let mut panels = Vec::new();
    for set in &data.sets {
        let others =
            set.others.iter().filter(|o| o.kind == Difference::Encoder).map(|o| &o.results);
        let all: Vec<&Results> = [&set.main].into_iter().chain(others).collect();
        if all.len() < 2 {
            continue;
        }
        let labels: Vec<String> =
            parts(&set.data, &set.main).iter().map(|p| p.full_label()).collect();
        for label in labels {
            let mut rows = Vec::new();
            for results in &all {
                let Some(part) =
                    parts(&set.data, results).into_iter().find(|p| p.full_label() == label)
                else {
                    continue;
                };
                let there = methods(part.runs.iter().copied());
                let mut values = Vec::new();
                let followed = FOLLOWED.iter().enumerate();
                for (at, method) in followed.filter(|(_, m)| there.contains(m)) {
                    let Some(value) = mean(part.of(method), relative) else { continue };
                    let ami = |name: &str| {
                        let value = |r: &RunRecord| metric(r, name);
                        TableCell::value(mean(part.of(method), value).map(|i| i.value))
                    };
                    table.row(vec![
                        label.as_str().into(),
                        results.study.x.as_str().into(),
                        results.study.y.as_str().into(),
                        (*method).into(),
                        TableCell::value(Some(value.value)),
                        range(value).into(),
                        ami("ami_x"),
                        ami("ami_y"),
                    ]);
                    values.push((method.to_string(), Colour::nth(at), value));
                }
                rows.push(DotRow { name: sides(&results.study), values });
            }
            panels
                .push((label.clone(), dots(&rows, Some(1.0), "error ÷ that of the mean", &label)));
        }
    }
    let there = data.methods();
    let legend = FOLLOWED.iter().enumerate().filter(|(_, m)| there.contains(m));
    let legend = legend.map(|(at, m)| (Colour::nth(at), m.to_string()));
    (!panels.is_empty()).then(|| Section {
        id: "encoders",
        title: "Encoders".into(),
        text:
            "The same draws with the vectors of another encoder on one side. Errors are relative \
               to the constant of the same outputs, so they can be compared across encoders."
                .into(),
        figures: vec![Figure {
            caption: "Mean error with each encoder, with 95 % intervals.".into(),
            legend: legend.collect(),
            panels,
            table,
        }],
    })
}

fn sides(study: &Experiment) -> String {
    format!("{} → {}", study.x, study.y)
}
