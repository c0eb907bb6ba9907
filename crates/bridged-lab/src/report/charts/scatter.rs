//! Points with the least-squares line through all of them.

use super::{bottom_axis, left_axis};
use crate::report::page::Colour;
use crate::report::svg::{Axis, Svg};
use crate::stats::line;

/// One point, with what a pointer over it tells.
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub colour: Colour,
    pub about: String,
}

/// Points that are drawn at most; the line is through all.
const MOST: usize = 240;

const LEFT: f64 = 40.0;
const RIGHT: f64 = 300.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 190.0;

pub fn scatter(points: &[Point], names: (&str, &str), label: &str) -> String {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|p| (p.x, p.y)).unzip();
    let across = Axis::linear(x.iter().copied(), LEFT, RIGHT);
    let up = Axis::linear(y.iter().copied(), BOTTOM, TOP);
    let mut svg = Svg::new(RIGHT + 12.0, BOTTOM + 34.0);
    bottom_axis(&mut svg, &across, TOP, BOTTOM, names.0);
    left_axis(&mut svg, &up, LEFT, RIGHT, names.1);
    for point in points.iter().step_by(points.len().div_ceil(MOST).max(1)) {
        let place = (across.at(point.x), up.at(point.y));
        svg.circle(place, 2.4, point.colour, "point", &point.about);
    }
    if let Some(fit) = line(&x, &y) {
        let (low, high) = across.ends();
        let (least, most) = up.ends();
        // Only where it is inside the picture.
        let ends: Vec<(f64, f64)> = (0..=40)
            .map(|i| low + (high - low) * f64::from(i) / 40.0)
            .map(|x| (x, fit.intercept + fit.slope * x))
            .filter(|(_, y)| (least..=most).contains(y))
            .map(|(x, y)| (across.at(x), up.at(y)))
            .collect();
        if let (Some(&first), Some(&last)) = (ends.first(), ends.last()) {
            svg.rule(first, last, "end");
        }
    }
    svg.finish(label)
}
