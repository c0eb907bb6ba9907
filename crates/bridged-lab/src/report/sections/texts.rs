//! BLEU of the texts that are nearest to the predictions.

use crate::Setting;
use crate::record::Run;
use crate::report::bench::{Bench, mean, scores, setting_name};
use crate::report::charts::dots::{Row, dots};
use crate::report::page::{Cell, Colour, Figure, Section, Table};

pub fn section(bench: &Bench) -> Option<Section> {
    let bleu = |r: &Run| scores(r)?.bleu;
    let mut panels = Vec::new();
    let mut table = Table::new(["experiment", "method", "pairs a group", "runs", "BLEU", "95 %"]);
    for part in [Setting::Transductive, Setting::Inductive].into_iter().flat_map(|s| bench.parts(s))
    {
        if !part.runs.iter().any(|r| bleu(r).is_some()) {
            continue;
        }
        let mut pairs: Vec<usize> = part.runs.iter().map(|r| r.cell.pairs).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut rows = Vec::new();
        for method in part.methods() {
            let mut values = Vec::new();
            for (at, &n) in pairs.iter().enumerate() {
                let of = || part.of(method).filter(|r| r.cell.pairs == n);
                let Some(value) = mean(of(), bleu) else { continue };
                let title = format!("{n} pairs a group");
                values.push((title, Colour::nth(at), value));
                table.row(vec![
                    part.full_label().into(),
                    method.into(),
                    Cell::number(n.to_string()),
                    Cell::number(of().count().to_string()),
                    Cell::value(Some(value.value)),
                    format!("{:.2} – {:.2}", value.low, value.high).into(),
                ]);
            }
            rows.push(Row { name: method.to_string(), values });
        }
        let label = format!("{}, {}", part.label(), setting_name(part.setting));
        panels.push((label.clone(), dots(&rows, None, "BLEU", &label)));
    }
    let legend = (0..4).map(|i| (Colour::nth(i), format!("{} pairs a group", i + 1))).collect();
    (!panels.is_empty()).then(|| Section {
        id: "texts",
        title: "Retrieved texts".into(),
        text: "Each prediction retrieves the nearest text of the output pool; its BLEU is taken \
               against the row's own text, or against all texts of its entity. Larger is better. A \
               method that predicts one centroid a cluster retrieves one text a cluster."
            .into(),
        figures: vec![Figure {
            caption: "BLEU by the number of pairs a group, with 95 % intervals.".into(),
            legend,
            panels,
            table,
        }],
    })
}
