//! Estimates with their intervals, one row per item, several series per row.

use super::{bottom_axis, near};
use crate::report::page::{Colour, digits};
use crate::report::svg::{Anchor, Axis, Svg};
use crate::stats::Interval;

/// One row of the chart.
pub struct DotRow {
    pub name: String,
    /// Name, colour and estimate of each series.
    pub values: Vec<(String, Colour, Interval)>,
}

/// What is told of the chart apart from its rows.
pub struct Dots<'a> {
    pub scale: Scale,
    /// A dashed line, the value to compare with.
    pub line: Option<f64>,
    /// What the values are.
    pub name: &'a str,
    /// What the chart is called for those who cannot see it.
    pub label: &'a str,
    /// The row whose name is bold: the best.
    pub best: Option<usize>,
}

/// How values are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    /// Positive values by their logarithms.
    Log,
    /// From nothing to all, in percent.
    Share,
}

/// The least room for the names of rows, and the width of a letter in them.
const NAMES: f64 = 120.0;
const LETTER: f64 = 6.2;
const WIDTH: f64 = 320.0;
/// The room for a value that lies beyond the chart.
const FAR: f64 = 48.0;
const STEP: f64 = 9.0;

/// Errors, with a dashed line at that of the constant.
pub fn dots(rows: &[DotRow], line: Option<f64>, name: &str, label: &str) -> String {
    draw(rows, &Dots { scale: Scale::Linear, line, name, label, best: None })
}

pub fn draw(rows: &[DotRow], about: &Dots<'_>) -> String {
    let &Dots { scale, line, name, label, best } = about;
    let longest = rows.iter().map(|r| r.name.chars().count()).max().unwrap_or(0);
    let left = (LETTER * longest as f64 + 14.0).max(NAMES);
    let right = left + WIDTH;
    let top = 6.0;
    let height: f64 = rows.iter().map(|r| (r.values.len() as f64 * STEP).max(STEP) + 7.0).sum();
    let bottom = top + height;
    let ends = rows.iter().flat_map(|r| &r.values).flat_map(|v| [v.2.low, v.2.high, v.2.value]);
    let axis = match scale {
        Scale::Linear => Axis::linear(ends.chain(line), left, right),
        Scale::Log => {
            let values = rows.iter().flat_map(|r| &r.values).map(|v| v.2.value);
            let values: Vec<f64> = values.collect();
            Axis::log(near(&values, ends).into_iter().chain(line), left, right)
        }
        Scale::Share => Axis::exact(0.0, 100.0, left, right),
    };
    let place = |value: f64| axis.at(if scale == Scale::Share { 100.0 * value } else { value });
    let said = |value: f64| match scale {
        Scale::Share => format!("{:.1} %", 100.0 * value),
        Scale::Linear | Scale::Log => digits(value),
    };
    let mut svg = Svg::new(right + 16.0, bottom + 34.0);
    bottom_axis(&mut svg, &axis, top, bottom, name);
    if let Some(line) = line {
        svg.rule((place(line), top), (place(line), bottom), "one");
    }
    let mut y = top + 3.5;
    for (at, row) in rows.iter().enumerate() {
        let band = (row.values.len() as f64 * STEP).max(STEP);
        let class = if best == Some(at) { "label strong" } else { "label" };
        svg.text((left - 8.0, y + band / 2.0 + 3.5), Anchor::End, class, &row.name);
        for (series, colour, value) in &row.values {
            let middle = y + STEP / 2.0;
            let far = scale == Scale::Log && value.value > axis.ends().1;
            let mut about = row.name.clone();
            if !series.is_empty() {
                about += &format!(", {series}");
            }
            about += &format!("\n{}", said(value.value));
            if value.is_known() {
                about += &format!(" (95 %: {} to {})", said(value.low), said(value.high));
                let most = if far { right - FAR } else { right };
                let ends = [value.low, value.high].map(|v| (place(v).min(most), middle));
                svg.stroke(&ends, *colour, "whisker", &about);
            }
            if far {
                // Beyond the chart: an arrow and the value instead of a mark.
                let text = format!("{} →", said(value.value));
                svg.text((right, middle + 3.5), Anchor::End, "far", &text);
            } else {
                svg.circle((place(value.value), middle), 3.6, *colour, "dot", &about);
            }
            y += STEP;
        }
        y += 7.0;
    }
    svg.finish(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_has_room() {
        let value = Interval { value: 1.0, low: 0.9, high: 1.1 };
        let name = "pairs drawn at random, Zipf group sizes".to_string();
        let row = DotRow { name, values: vec![(String::new(), Colour::nth(0), value)] };
        let svg = dots(&[row], None, "n", "l");
        let label = svg.split("class=\"label\" x=\"").nth(1).and_then(|s| s.split('"').next());
        assert!(label.unwrap().parse::<f64>().unwrap() > 39.0 * 6.0, "{svg}");
    }

    #[test]
    fn what_lies_beyond_a_log_chart_is_an_arrow_with_its_value() {
        let at = |v: f64| Interval { value: v, low: 0.9 * v, high: 1.1 * v };
        let row = |v: f64| DotRow {
            name: "m".into(),
            values: vec![(String::new(), Colour::nth(0), at(v))],
        };
        let rows: Vec<DotRow> = [0.8, 0.9, 1.0, 50.0].map(row).into();
        let about =
            Dots { scale: Scale::Log, line: Some(1.0), name: "n", label: "l", best: Some(0) };
        let svg = draw(&rows, &about);
        assert!(svg.contains(">50.0 →<") && svg.matches("<circle").count() == 3, "{svg}");
        assert_eq!(svg.matches("label strong").count(), 1, "the best alone is bold");
    }
}
