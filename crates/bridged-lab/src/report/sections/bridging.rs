//! Bridging accuracy by the number of groups and of pairs.

use crate::Setting;
use crate::report::charts::heat::{Heat, heat};
use crate::report::data::{Part, ReportData, mean, mean_share, metric};
use crate::report::page::{Figure, Section, Table, TableCell};

pub fn section(data: &ReportData) -> Option<Section> {
    let mut panels = Vec::new();
    let mut table = Table::new([
        "experiment",
        "C",
        "pairs a group",
        "bridging accuracy",
        "95 %",
        "ε of the bridge",
    ]);
    let parts = [Setting::Transductive, Setting::Inductive].map(|s| data.parts(s));
    for part in parts.iter().flatten().filter(|p| p.of("bridged").next().is_some()) {
        panels.push((part.full_label(), one(part, &mut table)));
    }
    (!panels.is_empty()).then(|| Section {
        id: "bridging",
        title: "Bridging accuracy".into(),
        text: "The share of input clusters that the majority vote links to the right output \
               cluster, where right means: the pair of clusters that the same latent group \
               dominates. Rows are numbers of groups, columns pairs a group. The intervals are Wilson's, \
               every run counting once."
            .into(),
        figures: vec![Figure {
            caption: "Bridging accuracy of balanced k-means with majority vote.".into(),
            legend: Vec::new(),
            panels,
            table,
        }],
    })
}

fn one(part: &Part<'_>, table: &mut Table) -> String {
    let distinct = |value: fn(&crate::StudyCell) -> usize| {
        let mut all: Vec<usize> = part.of("bridged").map(|r| value(&r.cell)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (groups, pairs) = (distinct(|c| c.groups), distinct(|c| c.pairs));
    let mut values = Vec::new();
    for &c in &groups {
        let mut row = Vec::new();
        for &s in &pairs {
            let runs = || part.of("bridged").filter(|r| r.cell.groups == c && r.cell.pairs == s);
            let accuracy = mean_share(runs(), |r| metric(r, "accuracy"));
            let epsilon = mean(runs(), |r| metric(r, "epsilon_b"));
            row.push(accuracy.map(|a| a.value));
            if let (Some(a), Some(e)) = (accuracy, epsilon) {
                table.row(vec![
                    part.full_label().into(),
                    TableCell::number(c.to_string()),
                    TableCell::number(s.to_string()),
                    TableCell::number(format!("{:.3}", a.value)),
                    format!("{:.3} – {:.3}", a.low, a.high).into(),
                    TableCell::number(format!("{:.3}", e.value)),
                ]);
            }
        }
        values.push(row);
    }
    let names = |of: &[usize]| of.iter().map(usize::to_string).collect();
    let map = Heat { rows: ("C", names(&groups)), columns: ("pairs", names(&pairs)), values };
    heat(&map, &part.full_label())
}
