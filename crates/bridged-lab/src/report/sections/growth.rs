//! How time grows with the rows of the pools, against optimal transport and Gromov–Wasserstein.

use crate::Results;
use crate::record::RunRecord;
use crate::report::charts::curves::{Curve, Curves, curves};
use crate::report::charts::dots::Scale;
use crate::report::data::{Difference, ReportData, mean, methods, scores};
use crate::report::page::{Colour, Figure, Section, Table, TableCell};
use crate::stats::{Interval, line};

const FOLLOWED: [&str; 7] =
    ["bridged", "bridged-posterior", "bridged-default", "eot", "fused-gw", "gw", "laprls"];

pub fn section(data: &ReportData) -> Option<Section> {
    let mut table = Table::new(["data set", "method", "rows in both pools", "seconds", "exponent"]);
    let mut panels = Vec::new();
    for set in &data.sets {
        let others = set.others.iter().filter(|o| o.kind == Difference::Rows).map(|o| &o.results);
        let all: Vec<&Results> = others.chain([&set.main]).collect();
        if all.len() < 2 {
            continue;
        }
        let mut lines = Vec::new();
        for (at, method) in FOLLOWED.iter().enumerate() {
            let mut points: Vec<(f64, Interval)> =
                all.iter().filter_map(|r| point(r, method)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            if points.len() < 2 {
                continue;
            }
            let (x, y): (Vec<f64>, Vec<f64>) =
                points.iter().map(|p| (p.0.ln(), p.1.value.ln())).unzip();
            let exponent = line(&x, &y).map(|l| l.slope);
            for (rows, seconds) in &points {
                table.row(vec![
                    set.data.as_str().into(),
                    (*method).into(),
                    TableCell::number(format!("{rows:.0}")),
                    TableCell::value(Some(seconds.value)),
                    TableCell::number(exponent.map_or("–".into(), |e| format!("{e:.2}"))),
                ]);
            }
            lines.push(Curve { name: method.to_string(), colour: Colour::nth(at), points });
        }
        if !lines.is_empty() {
            let about = Curves {
                across: "rows in both pools, logarithmic",
                up: "seconds, logarithmic",
                scale: Scale::Log,
                line: None,
                label: &set.data,
            };
            panels.push((set.data.clone(), curves(&lines, &about)));
        }
    }
    (!panels.is_empty()).then(|| Section {
        id: "growth",
        title: "Growth".into(),
        text:
            "Seconds of one thread against the rows of the pools, both on logarithmic scales. An \
               exponent of 1 is linear growth, as the paper claims of Bridged Clustering; the \
               coupling of optimal transport grows with the product of the pools."
                .into(),
        figures: vec![Figure {
            caption: "Mean seconds to fit and predict at the largest C of every study.".into(),
            legend: Vec::new(),
            panels,
            table,
        }],
    })
}

/// Rows of both pools, and seconds, of a method in a study.
fn point(results: &Results, method: &str) -> Option<(f64, Interval)> {
    methods(results.runs.iter()).contains(&method).then_some(())?;
    let p = &results.study.protocol;
    let largest = results.runs.iter().map(|r| r.cell.groups).max()?;
    let runs = results.runs.iter().filter(|r| r.method == method && r.cell.groups == largest);
    let seconds = mean(runs, |r: &RunRecord| scores(r).map(|s| s.fit_seconds + s.predict_seconds))?;
    Some(((largest * p.rows_per_group) as f64, seconds))
}
