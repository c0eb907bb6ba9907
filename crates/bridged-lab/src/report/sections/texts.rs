//! Metrics of the texts that are nearest to the predictions.

use crate::Setting;
use crate::report::charts::dots::{DotRow, dots};
use crate::report::data::{ReportData, mean, metric, range};
use crate::report::page::{Colour, Figure, Section, Table, TableCell};
use bridged::metrics::{self, Score, Scorer};

pub fn section(data: &ReportData) -> Option<Section> {
    let of_texts = metrics::ALL.iter().filter(|scorer| matches!(scorer.score, Score::Texts(_)));
    let figures: Vec<Figure> = of_texts.filter_map(|scorer| figure(data, scorer)).collect();
    (!figures.is_empty()).then(|| Section {
        id: "texts",
        title: "Retrieved texts".into(),
        text: "Each prediction retrieves the nearest text of the output pool; its BLEU is taken \
               against the row's own text, or against all texts of its entity. Larger is better. A \
               method that predicts one centroid a cluster retrieves one text a cluster."
            .into(),
        figures,
    })
}

/// One metric by the number of pairs per group; none where no run has it.
fn figure(data: &ReportData, scorer: &Scorer) -> Option<Figure> {
    let name = scorer.name.to_uppercase();
    let mut panels = Vec::new();
    let mut legend: Vec<usize> = Vec::new();
    let mut table =
        Table::new(["experiment", "method", data.pairs_name(), "runs", name.as_str(), "95 %"]);
    for part in [Setting::Transductive, Setting::Inductive].into_iter().flat_map(|s| data.parts(s))
    {
        if !part.runs.iter().any(|r| metric(r, scorer.name).is_some()) {
            continue;
        }
        let mut pairs: Vec<usize> = part.runs.iter().map(|r| r.cell.pairs).collect();
        pairs.sort_unstable();
        pairs.dedup();
        if pairs.len() > legend.len() {
            legend.clone_from(&pairs);
        }
        let mut rows = Vec::new();
        for method in part.methods() {
            let mut values = Vec::new();
            for (at, &n) in pairs.iter().enumerate() {
                let of = || part.of(method).filter(|r| r.cell.pairs == n);
                let Some(value) = mean(of(), |r| metric(r, scorer.name)) else { continue };
                let title = format!("{n} {}", data.pairs_name());
                values.push((title, Colour::nth(at), value));
                table.row(vec![
                    part.full_label().into(),
                    method.into(),
                    TableCell::number(n.to_string()),
                    TableCell::number(of().count().to_string()),
                    TableCell::value(Some(value.value)),
                    range(value).into(),
                ]);
            }
            rows.push(DotRow { name: method.to_string(), values });
        }
        let label = part.full_label();
        panels.push((label.clone(), dots(&rows, None, &name, &label)));
    }
    let legend = legend.into_iter().enumerate();
    let legend = legend.map(|(at, n)| (Colour::nth(at), format!("{n} {}", data.pairs_name())));
    let legend = legend.collect();
    let caption = format!("{name} by the number of {}, with 95 % intervals.", data.pairs_name());
    (!panels.is_empty()).then_some(Figure { caption, legend, panels, table })
}
