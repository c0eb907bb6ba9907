//! How errors are distributed, by the number of pairs per group.

use crate::Setting;
use crate::report::charts::boxes::{BoxRow, boxes, summary};
use crate::report::data::{Part, ReportData, field, mean, metric, range, relative, setting_name};
use crate::report::page::{Colour, Figure, Section, Table, TableCell, digits};

pub fn section(data: &ReportData) -> Option<Section> {
    let featured = data.featured();
    let mut figures = Vec::new();
    for setting in [Setting::Transductive, Setting::Inductive] {
        let parts = data.parts(setting);
        figures.extend(means(data, &parts, setting));
        let mut table = Table::new([
            "experiment",
            "method",
            data.pairs_name(),
            "runs",
            "median error ÷ mean's",
            "quartiles",
            "median MSE",
        ]);
        let mut panels = Vec::new();
        for part in &parts {
            let rows = rows(part, &featured, data.pairs_name());
            for row in &rows {
                for (title, values) in &row.boxes {
                    let Some([_, q1, median, q3, _]) = summary(values) else { continue };
                    let pairs = title.split_whitespace().next().unwrap_or_default();
                    let number = pairs.parse().ok();
                    let mse: Vec<f64> = part
                        .of(&row.name)
                        .filter(|r| Some(r.cell.pairs) == number)
                        .filter_map(|r| metric(r, "mse"))
                        .collect();
                    table.row(vec![
                        part.full_label().into(),
                        row.name.as_str().into(),
                        TableCell::number(pairs),
                        TableCell::number(values.len().to_string()),
                        TableCell::number(digits(median)),
                        format!("{} – {}", digits(q1), digits(q3)).into(),
                        TableCell::value(summary(&mse).map(|s| s[2])),
                    ]);
                }
            }
            let label = part.full_label();
            panels
                .push((label.clone(), boxes(&rows, Some(1.0), "error ÷ that of the mean", &label)));
        }
        if panels.is_empty() {
            continue;
        }
        let caption =
            "Boxes from quartile to quartile with the median, whiskers from 5 % to 95 %; \
                       from top to bottom of a method: few to many pairs; the method with \
                       the smallest mean error comes first. The dashed line is the error of the \
                       constant."
                .to_string();
        figures.push(Figure { caption, legend: Vec::new(), panels, table });
    }
    (!figures.is_empty()).then(|| Section {
        id: "errors",
        title: "How large the errors are".into(),
        text: "Mean squared errors, divided by that of the mean of the output pool on the same \
               rows, on a logarithmic scale. The numbers hold the plain mean squared errors too."
            .into(),
        figures,
    })
}

/// One row per method, one column per experiment: the mean error over all draws that a method ran on.
fn means(data: &ReportData, parts: &[Part<'_>], setting: Setting) -> Option<Figure> {
    let columns = ["method".to_string()].into_iter().chain(parts.iter().map(Part::label));
    let mut table = Table::new(columns);
    let of = |part: &Part<'_>, method: &str| mean(part.of(method), relative);
    let methods = data.methods();
    let best: Vec<f64> = parts
        .iter()
        .map(|p| methods.iter().filter_map(|m| of(p, m)).map(|i| i.value).fold(f64::NAN, f64::min))
        .collect();
    for method in methods {
        let mut row = vec![TableCell::from(method)];
        row.extend(parts.iter().zip(&best).map(|(part, best)| match of(part, method) {
            None => TableCell::number("–"),
            Some(i) => {
                let runs = part.of(method).count();
                let tip = format!("95 %: {}, {runs} runs", range(i));
                TableCell::number(format!("{:.3}", i.value)).best(i.value == *best).tip(tip)
            }
        }));
        table.row(row);
    }
    let name = setting_name(setting);
    let caption = format!(
        "Mean error ÷ mean's, {name}; slow methods ran on fewer draws. The least of a column is bold."
    );
    (!parts.is_empty()).then(|| Figure { caption, table, ..Figure::default() })
}

fn rows(part: &Part<'_>, featured: &[&'static str], pairs_name: &str) -> Vec<BoxRow> {
    let mut pairs: Vec<usize> = part.runs.iter().map(|r| r.cell.pairs).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let there = part.methods();
    let featured: Vec<&'static str> =
        featured.iter().copied().filter(|h| there.contains(h)).collect();
    let baselines = field("", &there).into_iter().skip(1);
    let colour = |m: &str| match featured.iter().position(|h| *h == m) {
        Some(at) => Colour::nth(at),
        None => Colour::nth(9),
    };
    let error = |m: &str| mean(part.of(m), relative).map_or(f64::INFINITY, |e| e.value);
    let mut methods: Vec<&str> = featured.iter().copied().chain(baselines).collect();
    methods.sort_by(|a, b| error(a).total_cmp(&error(b)));
    methods
        .into_iter()
        .map(|method| {
            let of = |n: usize| {
                part.of(method).filter(|r| r.cell.pairs == n).filter_map(relative).collect()
            };
            let boxes = pairs.iter().map(|&n| (format!("{n} {pairs_name}"), of(n)));
            let boxes = boxes.filter(|(_, values): &(String, Vec<f64>)| !values.is_empty());
            BoxRow { name: method.to_string(), colour: colour(method), boxes: boxes.collect() }
        })
        .filter(|row| !row.boxes.is_empty())
        .collect()
}
