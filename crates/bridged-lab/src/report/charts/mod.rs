//! One kind of chart per file; each gives SVG.

pub mod bars;
pub mod boxes;
pub mod curves;
pub mod dots;
pub mod heat;
pub mod scatter;
pub mod spaces;

use super::svg::{Anchor, Axis, Svg};

/// An estimate this many times the median would press all others together.
const FAR: f64 = 3.0;

/// The values that a logarithmic axis must show, of estimates and the ends of their intervals: estimates up to three
/// times their median, and intervals up to half as far again. What lies beyond is drawn at the edge.
fn near(estimates: &[f64], ends: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut shown: Vec<f64> =
        estimates.iter().copied().filter(|v| v.is_finite() && *v > 0.0).collect();
    shown.sort_by(f64::total_cmp);
    let Some(&median) = shown.get(shown.len() / 2) else { return Vec::new() };
    shown.retain(|v| *v <= FAR * median);
    let (low, high) = (shown[0] / 1.5, shown[shown.len() - 1] * 1.5);
    let ends = ends.into_iter().filter(|v| *v > 0.0 && v.is_finite());
    shown.extend(ends.map(|v| v.clamp(low, high)));
    shown
}

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

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn one_estimate_far_off_does_not_press_the_others_together() {
        let shown = near(&[0.8, 0.9, 1.0, 1.1, 40.0], [0.7, 1.2, 400.0, -3.0]);
        let most = shown.iter().copied().fold(0.0, f64::max);
        assert!((most - 1.65).abs() < 1e-12, "{shown:?}");
        assert!(shown.contains(&0.7) && shown.iter().all(|v| *v > 0.5), "{shown:?}");
        assert!(near(&[], [1.0]).is_empty());
    }
}
