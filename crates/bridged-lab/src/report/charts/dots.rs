//! Estimates with their intervals, one row per item, several series per row.

use super::bottom_axis;
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

const LEFT: f64 = 180.0;
const RIGHT: f64 = 500.0;
const STEP: f64 = 9.0;

/// Errors, with a dashed line at that of the constant.
pub fn dots(rows: &[DotRow], line: Option<f64>, name: &str, label: &str) -> String {
    draw(rows, &Dots { scale: Scale::Linear, line, name, label, best: None })
}

pub fn draw(rows: &[DotRow], about: &Dots<'_>) -> String {
    let &Dots { scale, line, name, label, best } = about;
    let top = 6.0;
    let height: f64 = rows.iter().map(|r| (r.values.len() as f64 * STEP).max(STEP) + 7.0).sum();
    let bottom = top + height;
    let ends = rows.iter().flat_map(|r| &r.values).flat_map(|v| [v.2.low, v.2.high, v.2.value]);
    let axis = match scale {
        Scale::Linear => Axis::linear(ends.chain(line), LEFT, RIGHT),
        Scale::Log => Axis::log(ends.chain(line), LEFT, RIGHT),
        Scale::Share => Axis::exact(0.0, 100.0, LEFT, RIGHT),
    };
    let place = |value: f64| axis.at(if scale == Scale::Share { 100.0 * value } else { value });
    let said = |value: f64| match scale {
        Scale::Share => format!("{:.1} %", 100.0 * value),
        Scale::Linear | Scale::Log => digits(value),
    };
    let mut svg = Svg::new(RIGHT + 16.0, bottom + 34.0);
    bottom_axis(&mut svg, &axis, top, bottom, name);
    if let Some(line) = line {
        svg.rule((place(line), top), (place(line), bottom), "one");
    }
    let mut y = top + 3.5;
    for (at, row) in rows.iter().enumerate() {
        let band = (row.values.len() as f64 * STEP).max(STEP);
        let class = if best == Some(at) { "label strong" } else { "label" };
        svg.text((LEFT - 8.0, y + band / 2.0 + 3.5), Anchor::End, class, &row.name);
        for (series, colour, value) in &row.values {
            let middle = y + STEP / 2.0;
            let mut about = row.name.clone();
            if !series.is_empty() {
                about += &format!(", {series}");
            }
            about += &format!("\n{}", said(value.value));
            if value.is_known() {
                about += &format!(" (95 %: {} to {})", said(value.low), said(value.high));
                let ends = [(place(value.low), middle), (place(value.high), middle)];
                svg.stroke(&ends, *colour, "whisker", &about);
            }
            svg.circle((place(value.value), middle), 3.6, *colour, "dot", &about);
            y += STEP;
        }
        y += 7.0;
    }
    svg.finish(label)
}
