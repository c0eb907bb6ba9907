//! One kind of chart per file; each gives SVG.

pub mod bars;
pub mod boxes;
pub mod curves;
pub mod dots;
pub mod heat;
pub mod scatter;
pub mod spaces;

use super::svg::{Anchor, Axis, Svg};

/// Draws the ticks of a horizontal axis with lines up to `top`, and its name below.
fn bottom_axis(svg: &mut Svg, axis: &Axis, top: f64, bottom: f64, name: &str) {
    bottom_axis_at(svg, axis, axis.ticks(), (top, bottom), name);
}

/// The same with these ticks.
fn bottom_axis_at(
    svg: &mut Svg,
    axis: &Axis,
    ticks: Vec<(f64, String)>,
    (top, bottom): (f64, f64),
    name: &str,
) {
    for (value, text) in ticks {
        let x = axis.at(value);
        svg.rule((x, top), (x, bottom), "grid");
        svg.text((x, bottom + 13.0), Anchor::Middle, "tick", &text);
    }
    let (low, high) = axis.ends();
    let middle = (axis.at(low) + axis.at(high)) / 2.0;
    svg.text((middle, bottom + 28.0), Anchor::Middle, "axis", name);
}

/// Draws the ticks of a vertical axis with lines to `right`, and its name above.
fn left_axis(svg: &mut Svg, axis: &Axis, left: f64, right: f64, name: &str) {
    for (value, text) in axis.ticks() {
        let y = axis.at(value);
        svg.rule((left, y), (right, y), "grid");
        svg.text((left - 5.0, y + 3.5), Anchor::End, "tick", &text);
    }
    svg.text((4.0, 11.0), Anchor::Start, "axis", name);
}
