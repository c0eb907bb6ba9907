//! Growth: one line per method, both axes by their logarithms.

use super::{bottom_axis, left_axis};
use crate::report::page::{Colour, digits};
use crate::report::svg::{Axis, Svg};

/// One line.
pub struct Curve {
    pub name: String,
    pub colour: Colour,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
}

const LEFT: f64 = 48.0;
const RIGHT: f64 = 380.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 230.0;

pub fn curves(curves: &[Curve], names: (&str, &str), label: &str) -> String {
    let all = || curves.iter().flat_map(|c| &c.points);
    let across = Axis::log(all().map(|p| p.0), LEFT, RIGHT);
    let up = Axis::log(all().map(|p| p.1), BOTTOM, TOP);
    let mut svg = Svg::new(RIGHT + 12.0, BOTTOM + 34.0);
    bottom_axis(&mut svg, &across, TOP, BOTTOM, names.0);
    left_axis(&mut svg, &up, LEFT, RIGHT, names.1);
    for curve in curves {
        let points: Vec<(f64, f64)> =
            curve.points.iter().map(|p| (across.at(p.0), up.at(p.1))).collect();
        svg.stroke(&points, curve.colour, "line", &curve.name);
        for (value, place) in curve.points.iter().zip(&points) {
            let about = format!(
                "{}\n{} {}: {} {}",
                curve.name,
                digits(value.0),
                names.0,
                digits(value.1),
                names.1
            );
            svg.circle(*place, 3.4, curve.colour, "dot", &about);
        }
    }
    svg.finish(label)
}
