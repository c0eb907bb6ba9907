//! Every metric of every method: the whole record of the main studies, in means.

use crate::Setting;
use crate::record::recorded_names;
use crate::report::data::{ReportData, metric};
use crate::report::page::{Figure, Section, Table, TableCell};
use bridged::metrics;

pub fn section(data: &ReportData) -> Option<Section> {
    let parts: Vec<_> = [Setting::Transductive, Setting::Inductive]
        .into_iter()
        .flat_map(|setting| data.parts(setting))
        .collect();
    let runs = || parts.iter().flat_map(|part| part.runs.iter().copied());
    let mut names: Vec<String> = metrics::ALL.iter().flat_map(recorded_names).collect();
    names.retain(|name| runs().any(|run| metric(run, name).is_some()));
    let columns = ["experiment", "method", "runs"].into_iter().map(str::to_string);
    let mut table = Table::new(columns.chain(names.iter().cloned()));
    for part in &parts {
        for method in part.methods() {
            let mut row = vec![
                part.full_label().into(),
                method.into(),
                TableCell::number(part.of(method).count().to_string()),
            ];
            row.extend(names.iter().map(|name| {
                let values: Vec<f64> =
                    part.of(method).filter_map(|run| metric(run, name)).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                TableCell::value((!values.is_empty()).then_some(mean))
            }));
            table.row(row);
        }
    }
    (!names.is_empty()).then(|| Section {
        id: "scores",
        title: "All metrics".into(),
        text: "The mean of every metric over the draws that a method ran on, by the names of \
               `bridged list`; `_x` is of the input clusters, `_y` of the output clusters."
            .into(),
        figures: vec![Figure {
            caption: "Mean metrics of every method.".into(),
            table,
            ..Figure::default()
        }],
    })
}
