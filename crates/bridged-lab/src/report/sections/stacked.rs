//! Wins setting by setting: one bar for each number of groups and of pairs.

use crate::record::RunRecord;
use crate::report::charts::bars::{Bar, bars};
use crate::report::data::{Part, ReportData, colours, field, relative};
use crate::report::page::{Colour, Figure, SERIES, Section, Table, TableCell, percent};
use crate::stats::win_shares;
use crate::{Setting, StudyCell};
use std::collections::BTreeMap;

pub fn section(data: &ReportData) -> Option<Section> {
    let mut figures = Vec::new();
    for variant in data.featured() {
        let parts: Vec<Part<'_>> = [Setting::Transductive, Setting::Inductive]
            .into_iter()
            .flat_map(|setting| data.parts(setting))
            .filter(|part| part.quick_methods().contains(&variant))
            .collect();
        let shares: Vec<Vec<Shares>> = parts.iter().map(|part| shares(part, variant)).collect();
        // The variant first, then whoever wins most; the rest is grey.
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for (method, share) in shares.iter().flatten().flat_map(|s| &s.of) {
            *sums.entry(method).or_default() += share;
        }
        let mut order: Vec<&str> = sums.keys().copied().collect();
        order.sort_by(|a, b| {
            (*b == variant).cmp(&(*a == variant)).then(sums[b].total_cmp(&sums[a]))
        });
        let palette = colours(&order[..order.len().min(SERIES - 1)]);
        let colour = |m: &str| palette.iter().find(|p| p.0 == m).map_or(Colour::Other, |p| p.1);

        let mut table = Table::new(["experiment", "C", data.pairs_name(), "draws", "wins"]);
        let mut panels = Vec::new();
        for (part, shares) in parts.iter().zip(&shares) {
            let stacks = shares.iter().map(|s| {
                let mut segments: Vec<(String, Colour, f64)> =
                    s.of.iter().map(|(m, share)| (m.to_string(), colour(m), *share)).collect();
                let place = |name: &str| order.iter().position(|m| *m == name);
                segments.sort_by_key(|segment| place(&segment.0));
                Bar {
                    group: format!("C = {}", s.groups),
                    tick: format!("{} {}", s.pairs, data.pairs_name()),
                    segments,
                }
            });
            let label = part.full_label();
            panels.push((label.clone(), bars(&stacks.collect::<Vec<_>>(), &label)));
            table.rows.extend(shares.iter().map(|s| {
                let mut of = s.of.clone();
                of.sort_by(|a, b| b.1.total_cmp(&a.1));
                let wins: Vec<String> =
                    of.iter().map(|(m, share)| format!("{m} {}", percent(*share))).collect();
                vec![
                    label.as_str().into(),
                    TableCell::number(s.groups.to_string()),
                    TableCell::number(s.pairs.to_string()),
                    TableCell::number(s.draws.to_string()),
                    wins.join(", ").into(),
                ]
            }));
        }
        if panels.is_empty() {
            continue;
        }
        let mut legend: Vec<(Colour, String)> =
            palette.iter().map(|(name, colour)| (*colour, name.to_string())).collect();
        if order.len() > palette.len() {
            legend.push((Colour::Other, "others".into()));
        }
        let caption = format!(
            "Wins of {variant} and the quick baselines. Each bar holds the draws of one setting; the \
             number below it is that of pairs a group."
        );
        figures.push(Figure { caption, legend, panels, table });
    }
    (!figures.is_empty()).then(|| Section {
        id: "stacked",
        title: "Wins by setting".into(),
        text: String::new(),
        figures,
    })
}

/// Who wins in one setting.
struct Shares {
    groups: usize,
    pairs: usize,
    draws: usize,
    /// Methods that win at all.
    of: Vec<(&'static str, f64)>,
}

fn shares(part: &Part<'_>, variant: &'static str) -> Vec<Shares> {
    let methods = field(variant, &part.quick_methods());
    let mut draws: BTreeMap<(usize, usize, usize), Vec<f64>> = BTreeMap::new();
    for (at, method) in methods.iter().enumerate() {
        for run in part.of(method) {
            let RunRecord { cell: StudyCell { groups, pairs, .. }, run: number, .. } = *run;
            let errors =
                draws.entry((groups, pairs, number)).or_insert(vec![f64::NAN; methods.len()]);
            errors[at] = relative(run).unwrap_or(f64::INFINITY);
        }
    }
    let mut cells: BTreeMap<(usize, usize), Vec<Vec<f64>>> = BTreeMap::new();
    for ((groups, pairs, _), errors) in draws {
        if errors.iter().all(|e| !e.is_nan()) {
            cells.entry((groups, pairs)).or_default().push(win_shares(&errors));
        }
    }
    cells
        .into_iter()
        .map(|((groups, pairs), wins)| {
            let share = |m: usize| wins.iter().map(|w| w[m]).sum::<f64>() / wins.len() as f64;
            let of = methods.iter().enumerate().map(|(m, name)| (*name, share(m)));
            let of = of.filter(|(_, share)| *share > 0.0).collect();
            Shares { groups, pairs, draws: wins.len(), of }
        })
        .collect()
}
