//! The win tables: who has the smallest error how often.

use crate::Setting;
use crate::report::data::{Part, ReportData, field, setting_name};
use crate::report::page::{Figure, Section, Table, TableCell, digits, percent};
use crate::stats::Standings;

pub fn section(data: &ReportData) -> Option<Section> {
    let mut figures = Vec::new();
    for (i, setting) in [Setting::Transductive, Setting::Inductive].into_iter().enumerate() {
        let parts = data.parts(setting);
        let letter = ["a", "b"][i];
        for variant in data.featured() {
            let all = |part: &Part<'_>| field(variant, &part.methods());
            let quick = |part: &Part<'_>| field(variant, &part.quick_methods());
            let name = setting_name(setting);
            let slow = parts.iter().any(|part| all(part) != quick(part));
            let title = format!("({letter}) Wins, {name}, {variant} among the baselines");
            let more =
                if slow { ", all methods, on the draws that all of them ran on" } else { "" };
            figures.extend(wins(&parts, all, format!("{title}{more}.")));
            if slow {
                figures.extend(wins(&parts, quick, format!("{title}, quick methods, all draws.")));
            }
        }
        for variant in data.featured() {
            figures.extend(tests(&parts, variant, setting));
        }
    }
    (!figures.is_empty()).then(|| Section {
        id: "wins",
        title: "Who wins".into(),
        text: "The share of draws on which a method has the smallest error; equals share a win, \
               each row adds up to 100 %, the best of a row is bold. Point at a number for its 95 % \
               interval, from a bootstrap that resamples the draws of every setting by themselves. \
               Like is held against like: a row counts only draws that all its methods ran on.\n\n\
               Below the win tables: mean ranks (1 is best on every draw), errors, and Wilcoxon's \
               signed-rank test against Bridged Clustering with Holm's correction. Draws of one \
               data set share rows, so p-values flatter whoever is ahead; the sizes of the \
               differences count."
            .into(),
        figures,
    })
}

/// One row per experiment, one column per method.
fn wins(
    parts: &[Part<'_>],
    methods: impl Fn(&Part<'_>) -> Vec<&'static str>,
    caption: String,
) -> Option<Figure> {
    let mut names: Vec<&str> = Vec::new();
    for name in parts.iter().flat_map(&methods) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut table = Table::new(["experiment", "draws"].into_iter().chain(names.iter().copied()));
    for part in parts {
        let Some(standings) = part.standings(&methods(part)) else { continue };
        let best = standings.lines.iter().map(|l| l.wins.value).fold(0.0, f64::max);
        let mut row =
            vec![TableCell::from(part.label()), TableCell::number(standings.draws.to_string())];
        row.extend(names.iter().map(|name| {
            let Some(line) = standings.lines.iter().find(|l| l.method == *name) else {
                return TableCell::number("–");
            };
            let tip = format!(
                "{name}\n95 %: {} to {}\nmean rank {:.2}, error ÷ mean's {}",
                percent(line.wins.low),
                percent(line.wins.high),
                line.rank,
                digits(line.error)
            );
            let text = format!("{:.1}", 100.0 * line.wins.value);
            TableCell::number(text).strong(line.wins.value == best).tip(tip)
        }));
        table.row(row);
    }
    (!table.rows.is_empty()).then(|| Figure { caption, table, ..Figure::default() })
}

/// Ranks, errors and tests of every experiment.
fn tests(parts: &[Part<'_>], variant: &'static str, setting: Setting) -> Option<Figure> {
    let against = format!("p against {variant}");
    let mut table = Table::new([
        "experiment",
        "method",
        "wins",
        "95 %",
        "mean rank",
        "error ÷ mean's",
        against.as_str(),
        "failed",
    ]);
    for part in parts {
        let methods = field(variant, &part.methods());
        let Some(Standings { lines, .. }) = part.standings(&methods) else { continue };
        for line in lines {
            table.row(vec![
                part.label().into(),
                TableCell::from(line.method.as_str()).strong(line.method == variant),
                TableCell::number(percent(line.wins.value)),
                format!("{} – {}", percent(line.wins.low), percent(line.wins.high)).into(),
                TableCell::number(format!("{:.2}", line.rank)),
                TableCell::number(digits(line.error)),
                TableCell::number(line.p.map_or(String::new(), p_value)),
                TableCell::number(line.failed.to_string()),
            ]);
        }
    }
    let caption =
        format!("Ranks and tests, {}, {variant} among the baselines.", setting_name(setting));
    (!table.rows.is_empty()).then(|| Figure { caption, table, ..Figure::default() })
}

pub fn p_value(p: f64) -> String {
    if p < 1e-4 { "< 0.0001".to_string() } else { format!("{p:.4}") }
}
