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

const LEFT: f64 = 190.0;
const RIGHT: f64 = 510.0;
const STEP: f64 = 9.0;

/// With a dashed line at `line`, the value to compare with.
pub fn dots(rows: &[DotRow], line: Option<f64>, name: &str, label: &str) -> String {
    let top = 6.0;
    let height: f64 = rows.iter().map(|r| (r.values.len() as f64 * STEP).max(STEP) + 7.0).sum();
    let bottom = top + height;
    let ends = rows.iter().flat_map(|r| &r.values).flat_map(|v| [v.2.low, v.2.high, v.2.value]);
    let axis = Axis::linear(ends.chain(line), LEFT, RIGHT);
    let mut svg = Svg::new(RIGHT + 12.0, bottom + 34.0);
    bottom_axis(&mut svg, &axis, top, bottom, name);
    if let Some(line) = line {
        svg.rule((axis.at(line), top), (axis.at(line), bottom), "one");
    }
    let mut y = top + 3.5;
    for row in rows {
        let band = (row.values.len() as f64 * STEP).max(STEP);
        svg.text((LEFT - 8.0, y + band / 2.0 + 3.5), Anchor::End, "label", &row.name);
        for (series, colour, value) in &row.values {
            let middle = y + STEP / 2.0;
            let about = format!(
                "{}, {series}\n{} (95 %: {} to {})",
                row.name,
                digits(value.value),
                digits(value.low),
                digits(value.high)
            );
            let ends = [(axis.at(value.low), middle), (axis.at(value.high), middle)];
            svg.stroke(&ends, *colour, "whisker", &about);
            svg.circle((axis.at(value.value), middle), 3.6, *colour, "dot", &about);
            y += STEP;
        }
        y += 7.0;
    }
    svg.finish(label)
}
