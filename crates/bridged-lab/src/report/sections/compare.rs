//! Methods of one kind beside each other on every data set: their mean errors, and how often each
//! beats the first.

use crate::Setting;
use crate::report::charts::dots::{DotRow, dots};
use crate::report::data::{
    Part, ReportData, better, mean, metric, range, relative, scores, setting_name,
};
use crate::report::page::{Colour, Figure, Table, TableCell};
use bridged::Direction;

/// The figure for these methods; none where fewer than two of them ran.
pub fn figure(data: &ReportData, names: &[&str], caption: &str) -> Option<Figure> {
    let settings = [Setting::Transductive, Setting::Inductive];
    let mut table = Table::new([
        "experiment",
        "method",
        "error ÷ mean's",
        "95 %",
        "better than the first",
        "mean rank",
        "p against the first",
        "AMI of inputs",
        "AMI of outputs",
        "bridging accuracy",
        "seconds",
    ]);
    let mut panels = Vec::new();
    for set in &data.sets {
        for direction in [Direction::Forward, Direction::Reverse] {
            let parts: Vec<Part<'_>> = crate::report::data::parts(&set.data, &set.main)
                .into_iter()
                .filter(|p| p.direction == direction)
                .collect();
            let there: Vec<&str> = names
                .iter()
                .copied()
                .filter(|n| parts.iter().any(|p| p.of(n).next().is_some()))
                .collect();
            if there.len() < 2 {
                continue;
            }
            let rows = there.iter().map(|name| {
                let values = parts.iter().filter_map(|part| {
                    let colour = settings.iter().position(|s| *s == part.setting).unwrap_or(0);
                    let value = mean(part.of(name), relative)?;
                    Some((setting_name(part.setting).to_string(), Colour::nth(colour), value))
                });
                DotRow { name: name.to_string(), values: values.collect() }
            });
            let label = parts.first().map_or(set.data.clone(), Part::label);
            let chart =
                dots(&rows.collect::<Vec<_>>(), Some(1.0), "error ÷ that of the mean", &label);
            panels.push((label, chart));
            parts.iter().for_each(|part| lines(&mut table, part, &there));
        }
    }
    let legend = settings
        .iter()
        .enumerate()
        .map(|(i, s)| (Colour::nth(i), setting_name(*s).to_string()))
        .collect();
    (!panels.is_empty()).then(|| Figure { caption: caption.to_string(), legend, panels, table })
}

fn lines(table: &mut Table, part: &Part<'_>, names: &[&str]) {
    let Some(standings) = part.standings(names) else { return };
    let least = |a: f64, b: f64| a.min(b);
    let best = standings.lines.iter().filter_map(|l| Some(l.error?.value)).fold(f64::NAN, least);
    for name in names {
        let Some(line) = standings.lines.iter().find(|l| l.method == *name) else { continue };
        let of_clusters =
            |key: &str| TableCell::value(mean(part.of(name), |r| metric(r, key)).map(|i| i.value));
        table.row(vec![
            part.full_label().into(),
            (*name).into(),
            TableCell::value(line.error.map(|e| e.value))
                .best(line.error.is_some_and(|e| e.value == best)),
            line.error.map_or(String::new(), range).into(),
            match line.p {
                None => TableCell::number(""),
                Some(_) => TableCell::share(better(&part.runs, names[0], name)),
            },
            TableCell::number(format!("{:.2}", line.rank)),
            line.p.map_or(TableCell::default(), super::wins::p_value),
            of_clusters("ami_x"),
            of_clusters("ami_y"),
            of_clusters("accuracy"),
            TableCell::value(
                mean(part.of(name), |r| scores(r).map(|s| s.fit_seconds + s.predict_seconds))
                    .map(|i| i.value),
            ),
        ]);
    }
}
