//! The win tables: who has the smallest error how often.

use crate::Setting;
use crate::report::data::{Part, ReportData, field, range, setting_name};
use crate::report::page::{Figure, Section, Table, TableCell, digits, percent};
use crate::stats::{PValue, Standing, Standings};

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
               interval, which is Wilson's. \
               Like is held against like: a row counts only draws that all its methods ran on.\n\n\
               Below the win tables: mean ranks (1 is best on every draw), errors, and Wilcoxon's \
               signed-rank test against Bridged Clustering with Holm's correction; methods come by their \
               mean error. Where all draws agree and there are few, the text says that no smaller \
               p-value is possible. Draws of one \
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
                line.error.map_or("–".into(), |e| digits(e.value))
            );
            let text = format!("{:.1}", 100.0 * line.wins.value);
            TableCell::number(text).best(line.wins.value == best && best > 0.0).tip(tip)
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
        "error ÷ mean's",
        "95 %",
        "wins",
        "95 % of wins",
        "mean rank",
        against.as_str(),
        "failed",
    ]);
    for part in parts {
        let methods = field(variant, &part.methods());
        let Some(Standings { mut lines, .. }) = part.standings(&methods) else { continue };
        let error = |line: &Standing| line.error.map_or(f64::INFINITY, |e| e.value);
        lines.sort_by(|a, b| error(a).total_cmp(&error(b)));
        for line in lines {
            table.row(vec![
                part.label().into(),
                line.method.as_str().into(),
                TableCell::value(line.error.map(|e| e.value)),
                line.error.map_or(String::new(), range).into(),
                TableCell::number(percent(line.wins.value)),
                format!("{} – {}", percent(line.wins.low), percent(line.wins.high)).into(),
                TableCell::number(format!("{:.2}", line.rank)),
                line.p.map_or(TableCell::default(), p_value),
                TableCell::number(line.failed.to_string()),
            ]);
        }
    }
    let caption =
        format!("Ranks and tests, {}, {variant} among the baselines.", setting_name(setting));
    (!table.rows.is_empty()).then(|| Figure { caption, table, ..Figure::default() })
}

/// A p-value; one that no smaller one is possible with so few draws says so.
pub fn p_value(p: PValue) -> TableCell {
    let floor = match p.draws {
        1 => "the smallest possible with 1 draw".to_string(),
        draws => format!("the smallest possible with {draws} draws"),
    };
    match (p.p < 1e-4, p.at_floor) {
        (true, true) => TableCell::number("< 0.0001").tip(floor),
        (true, false) => TableCell::number("< 0.0001"),
        (false, true) if p.draws > 0 => TableCell::number(format!("{:.4}, {floor}", p.p)),
        (false, _) => TableCell::number(format!("{:.4}", p.p)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_p_value_at_the_floor_of_its_sample_size_says_so() {
        let said = |p, draws, at_floor| p_value(PValue { p, draws, at_floor }).text;
        assert_eq!(said(0.0625, 5, true), "0.0625, the smallest possible with 5 draws");
        assert_eq!(said(0.0625, 6, false), "0.0625");
        assert_eq!(said(0.00001, 30, true), "< 0.0001", "more draws would not say more");
        assert_eq!(said(1.0, 0, true), "1.0000", "no draw differs");
    }
}
