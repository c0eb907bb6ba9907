//! Seconds and memory of every method.

use crate::record::RunRecord;
use crate::report::charts::boxes::{BoxRow, boxes};
use crate::report::data::{ReportData, mean, methods, scores};
use crate::report::page::{Colour, Figure, Section, Table, TableCell};

pub fn section(data: &ReportData) -> Option<Section> {
    let seconds = |r: &RunRecord| scores(r).map(|s| s.fit_seconds + s.predict_seconds);
    let mut table = Table::new([
        "data set",
        "method",
        "runs",
        "seconds to fit",
        "seconds to predict",
        "most MB beyond the data",
        "failed",
    ]);
    let mut panels = Vec::new();
    for set in &data.sets {
        let rows = methods(set.main.runs.iter()).into_iter().map(|method| {
            let of = || set.main.runs.iter().filter(|r| r.method == method);
            let value = |f: fn(&crate::record::RunScores) -> f64| {
                TableCell::value(mean(of(), |r| scores(r).map(f)).map(|i| i.value))
            };
            let peak = of().filter_map(|r| Some(scores(r)?.peak_bytes)).max();
            table.row(vec![
                set.data.as_str().into(),
                method.into(),
                TableCell::number(of().count().to_string()),
                value(|s| s.fit_seconds),
                value(|s| s.predict_seconds),
                TableCell::value(peak.map(|b| b as f64 / 1e6)),
                TableCell::number(of().filter(|r| scores(r).is_none()).count().to_string()),
            ]);
            let colour = Colour::nth(if method.starts_with("bridged") { 0 } else { 9 });
            let values = of().filter_map(seconds).collect();
            BoxRow { name: method.to_string(), colour, boxes: vec![("seconds".into(), values)] }
        });
        let rows: Vec<BoxRow> = rows.collect();
        let chart = boxes(&rows, None, "seconds of one thread, to fit and predict", &set.data);
        panels.push((set.data.clone(), chart));
    }
    (!panels.is_empty()).then(|| Section {
        id: "cost",
        title: "Seconds and memory".into(),
        text:
            "Processor seconds of the one thread that a run has, over all draws of the study, and \
               the most memory that a fit held beyond its data."
                .into(),
        figures: vec![Figure {
            caption: "Seconds a run: boxes from quartile to quartile with the median, whiskers from 5 % to 95 %.".into(),
            legend: Vec::new(),
            panels,
            table,
        }],
    })
}
