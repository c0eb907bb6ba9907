//! Both pools in two dimensions beside each other, with lines between the rows of the pairs.

use crate::Spaces;
use crate::report::page::Colour;
use crate::report::svg::{Anchor, Axis, Svg};
use crate::spaces::Point;

const SIZE: f64 = 330.0;
const BETWEEN: f64 = 110.0;
const TOP: f64 = 24.0;

pub fn spaces(spaces: &Spaces, label: &str) -> String {
    let mut svg = Svg::new(2.0 * SIZE + BETWEEN, TOP + SIZE + 6.0);
    let place = |points: &[Point], left: f64| -> Vec<(f64, f64)> {
        let across = Axis::linear(points.iter().map(|p| f64::from(p.a)), left, left + SIZE);
        let up = Axis::linear(points.iter().map(|p| f64::from(p.b)), TOP + SIZE, TOP);
        points.iter().map(|p| (across.at(p.a.into()), up.at(p.b.into()))).collect()
    };
    let (left, right) = (place(&spaces.x, 0.0), place(&spaces.y, SIZE + BETWEEN));
    svg.text((SIZE / 2.0, 13.0), Anchor::Middle, "strong", "inputs");
    svg.text((SIZE * 1.5 + BETWEEN, 13.0), Anchor::Middle, "strong", "outputs");
    for (points, places, side) in [(&spaces.x, &left, "input"), (&spaces.y, &right, "output")] {
        for (point, place) in points.iter().zip(places) {
            let about = format!("{}: an {side}", spaces.groups[point.group]);
            svg.circle(*place, 2.6, Colour::nth(point.group), "point", &about);
        }
    }
    for &(i, j) in &spaces.links {
        let group = spaces.x[i].group;
        let about = format!("a pair of {}", spaces.groups[group]);
        svg.stroke(&[left[i], right[j]], Colour::nth(group), "link", &about);
        for place in [left[i], right[j]] {
            svg.circle(place, 4.4, Colour::nth(group), "end", &about);
        }
    }
    svg.finish(label)
}
