//! One line per method over a logarithmic axis, with 95 % intervals at their points.
//!
//! Lines that stand out are named at their right ends; the others are grey, and a pointer over them tells who they are.
//! So the chart can be read with two methods and with thirty.

use super::dots::Scale;
use super::{bottom_axis_at, left_axis};
use crate::report::page::{Colour, digits};
use crate::report::svg::{Axis, Svg};
use crate::stats::Interval;

/// One line.
pub struct Curve {
    pub name: String,
    /// A colour of its own, or the grey of those that are not told apart.
    pub colour: Colour,
    /// Points from left to right.
    pub points: Vec<(f64, Interval)>,
}

/// What is told of the chart apart from its lines.
pub struct Curves<'a> {
    /// What is counted from left to right.
    pub across: &'a str,
    /// What the values are.
    pub up: &'a str,
    pub scale: Scale,
    /// A dashed line, the value to compare with.
    pub line: Option<f64>,
    /// What the chart is called for those who cannot see it.
    pub label: &'a str,
}

const LEFT: f64 = 44.0;
const RIGHT: f64 = 350.0;
/// Where the names of the lines begin, and their room.
const NAMES: f64 = RIGHT + 10.0;
const ROOM: f64 = 160.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 250.0;
/// How many times the largest value of those that stand out is still shown of intervals and of grey lines.
const BEYOND: f64 = 1.6;
/// Between the intervals of two lines.
const STEP_ASIDE: f64 = 3.0;
/// Between the names of two lines.
const LINE_HEIGHT: f64 = 13.0;

/// Colours for curves by their names: those to follow always, then the first few of the others, who come best first;
/// grey for the rest.
pub fn highlight(names: &[&str], follow: &[&str], few: usize) -> Vec<Colour> {
    let (mut taken, mut left) = (0, few);
    let mut colours = vec![Colour::Other; names.len()];
    for (name, colour) in names.iter().zip(&mut colours) {
        let followed = follow.contains(name);
        if followed || left > 0 {
            left -= usize::from(!followed);
            *colour = Colour::nth(taken);
            taken += 1;
        }
    }
    colours
}

pub fn curves(curves: &[Curve], about: &Curves<'_>) -> String {
    let &Curves { across: x_name, up: y_name, scale, line, label } = about;
    let factor = if scale == Scale::Share { 100.0 } else { 1.0 };
    let all = || curves.iter().flat_map(|c| &c.points);
    let mut places: Vec<f64> = all().map(|p| p.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let across = Axis::log(places.iter().copied(), LEFT, RIGHT);
    let up = height(curves, about, factor);
    let mut svg = Svg::new(NAMES + ROOM, BOTTOM + 34.0);
    bottom_axis_at(&mut svg, &across, across.ticks_at(&places), (TOP, BOTTOM), x_name);
    left_axis(&mut svg, &up, LEFT, RIGHT, y_name);
    if let Some(line) = line {
        let y = up.at(factor * line);
        svg.rule((LEFT, y), (RIGHT, y), "one");
    }
    // Grey lines lie below those that stand out.
    let mut order: Vec<&Curve> = curves.iter().filter(|c| !c.points.is_empty()).collect();
    order.sort_by_key(|c| c.colour != Colour::Other);
    let shown = order.iter().filter(|c| c.colour != Colour::Other).count() as f64;
    let mut beside = -(shown - 1.0) / 2.0;
    for curve in &order {
        // Lines that stand out step aside, so that their intervals do not cover each other.
        let aside = if curve.colour == Colour::Other { 0.0 } else { STEP_ASIDE * beside };
        let place = |x: f64, y: f64| (across.at(x) + aside, up.at(factor * y));
        draw(&mut svg, curve, about, place, factor);
        beside += if curve.colour == Colour::Other { 0.0 } else { 1.0 };
    }
    let mut names: Vec<(f64, &Curve)> = order
        .iter()
        .filter(|c| c.colour != Colour::Other)
        .filter_map(|c| Some((up.at(factor * c.points.last()?.1.value), *c)))
        .collect();
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = spread(&names.iter().map(|n| n.0).collect::<Vec<_>>(), TOP, BOTTOM);
    for ((end, curve), place) in names.iter().zip(places) {
        svg.stroke(&[(RIGHT + 1.0, *end), (NAMES - 2.0, place)], curve.colour, "lead", &curve.name);
        svg.coloured_text((NAMES, place + 3.5), curve.colour, &curve.name);
    }
    svg.finish(label)
}

/// The vertical axis: all of the lines that stand out, and of the grey ones what is not far above them; the rest is at
/// the edge.
fn height(curves: &[Curve], about: &Curves<'_>, factor: f64) -> Axis {
    let of = |grey: bool| {
        let lines = curves.iter().filter(move |c| (c.colour == Colour::Other) == grey);
        lines.flat_map(|c| &c.points).map(|p| p.1)
    };
    let values: Vec<f64> = of(false).map(|i| i.value).collect();
    let most = values.iter().copied().fold(f64::NAN, f64::max);
    let least = values.iter().copied().fold(f64::NAN, f64::min);
    let grey = of(true).map(|i| i.value).filter(|v| most.is_nan() || *v <= BEYOND * most);
    let line = about.line.into_iter();
    if about.scale == Scale::Log {
        let ends = of(false).flat_map(|i| [i.low, i.high]).filter(|v| *v > 0.0);
        let ends = ends.map(|v| v.clamp(least / BEYOND, most * BEYOND));
        return Axis::log(ends.chain(values.iter().copied()).chain(grey).chain(line), BOTTOM, TOP);
    }
    let ends = of(false).flat_map(|i| [i.low, i.high]);
    let all = ends.chain(values.iter().copied()).chain(grey).chain(line);
    Axis::linear(all.map(|v| factor * v), BOTTOM, TOP)
}

fn draw(
    svg: &mut Svg,
    curve: &Curve,
    about: &Curves<'_>,
    place: impl Fn(f64, f64) -> (f64, f64),
    factor: f64,
) {
    let grey = curve.colour == Colour::Other;
    let points: Vec<(f64, f64)> = curve.points.iter().map(|p| place(p.0, p.1.value)).collect();
    svg.stroke(&points, curve.colour, if grey { "faint" } else { "line" }, &curve.name);
    for ((x, value), at) in curve.points.iter().zip(&points) {
        let said = |v: f64| digits(factor * v);
        let range = match value.is_known() {
            true => format!(" (95 %: {} to {})", said(value.low), said(value.high)),
            false => String::new(),
        };
        let tip = format!("{}\n{} at {x} {}{range}", curve.name, said(value.value), about.across);
        if value.is_known() && !grey {
            let ends = [place(*x, value.low), place(*x, value.high)];
            svg.stroke(&ends, curve.colour, "whisker", &tip);
        }
        svg.circle(*at, if grey { 2.0 } else { 3.2 }, curve.colour, "dot", &tip);
    }
}

/// Heights as near to those wanted as lines of text allow, in the same order. Wanted ones ascend.
fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut places = wanted.to_vec();
    // Down from the top, then up again from the bottom.
    for i in 0..places.len() {
        let least = if i == 0 { top } else { places[i - 1] + LINE_HEIGHT };
        places[i] = places[i].max(least);
    }
    for i in (0..places.len()).rev() {
        let most = if i + 1 == places.len() { bottom } else { places[i + 1] - LINE_HEIGHT };
        places[i] = places[i].min(most);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_at_the_ends_of_lines_never_overlap() {
        let places = spread(&[30.0, 31.0, 32.0, 200.0, 249.0, 249.5], TOP, BOTTOM);
        assert!(places.windows(2).all(|p| p[1] - p[0] >= LINE_HEIGHT - 1e-9), "{places:?}");
        assert!(places[0] >= TOP && places[5] <= BOTTOM);
        assert_eq!(places[3], 200.0, "who has room stays");
    }

    #[test]
    fn of_twenty_lines_ours_and_the_best_few_stand_out() {
        let names: Vec<String> = (0..20).map(|i| format!("m{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let colours = highlight(&names, &["m7", "m19"], 3);
        let stand_out: Vec<usize> = (0..20).filter(|i| colours[*i] != Colour::Other).collect();
        assert_eq!(stand_out, [0, 1, 2, 7, 19]);
    }

    #[test]
    fn a_chart_of_twenty_lines_names_those_that_stand_out_and_has_intervals() {
        let value = |v: f64| Interval { value: v, low: 0.9 * v, high: 1.1 * v };
        let one = |i: usize| Curve {
            name: format!("method-{i}"),
            colour: if i < 3 { Colour::nth(i) } else { Colour::Other },
            points: [1.0, 4.0, 16.0].map(|x| (x, value(0.5 + i as f64 / x))).to_vec(),
        };
        let lines: Vec<Curve> = (0..20).map(one).collect();
        let about =
            Curves { across: "pairs", up: "error", scale: Scale::Log, line: Some(1.0), label: "l" };
        let svg = curves(&lines, &about);
        assert_eq!(svg.matches("class=\"whisker\"").count(), 9, "three points on each of three");
        assert_eq!(svg.matches("class=\"name\"").count(), 3);
        assert_eq!(svg.matches("<polyline class=\"faint\"").count(), 17);
        assert!(!svg.contains("NaN"));
        let unknown = Interval { value: 1.0, low: f64::NAN, high: f64::NAN };
        let lone = Curve { name: "a".into(), colour: Colour::nth(0), points: vec![(1.0, unknown)] };
        assert!(!curves(&[lone], &about).contains("NaN"), "a draw without an interval");
    }
}
