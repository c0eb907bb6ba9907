//! Stacked bars in groups: shares that add up to one.

use crate::report::page::{Colour, percent};
use crate::report::svg::{Anchor, Axis, Svg};

/// One bar.
pub struct Bar {
    /// Bars of one group stand together above its name.
    pub group: String,
    /// What stands below the bar.
    pub tick: String,
    /// Name, colour and share of each segment, from the bottom.
    pub segments: Vec<(String, Colour, f64)>,
}

const WIDTH: f64 = 13.0;
const GAP: f64 = 3.0;
const BETWEEN: f64 = 12.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 158.0;
const LEFT: f64 = 34.0;

pub fn bars(bars: &[Bar], label: &str) -> String {
    let groups: Vec<&[Bar]> = bars.chunk_by(|a, b| a.group == b.group).collect();
    let inner: f64 =
        groups.iter().map(|g| g.len() as f64 * (WIDTH + GAP) + BETWEEN).sum::<f64>().max(60.0);
    let mut svg = Svg::new(LEFT + inner, BOTTOM + 36.0);
    let axis = Axis::exact(0.0, 1.0, BOTTOM, TOP);
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let y = axis.at(share);
        svg.rule((LEFT, y), (LEFT + inner, y), "grid");
        svg.text((LEFT - 5.0, y + 3.5), Anchor::End, "tick", &format!("{:.0}", 100.0 * share));
    }
    svg.text((4.0, 10.0), Anchor::Start, "axis", "% of wins");
    let mut x = LEFT + BETWEEN / 2.0;
    for group in groups {
        let middle = x + group.len() as f64 * (WIDTH + GAP) / 2.0;
        svg.text((middle, BOTTOM + 30.0), Anchor::Middle, "axis", &group[0].group);
        for bar in group {
            let mut below = 0.0;
            for (name, colour, share) in &bar.segments {
                let (top, foot) = (axis.at(below + share), axis.at(below));
                let about =
                    format!("{name}: {} of the wins\n{}, {}", percent(*share), bar.group, bar.tick);
                svg.rect((x, top), (WIDTH, foot - top), &colour.css(), &about);
                below += share;
            }
            let tick = bar.tick.split_whitespace().next().unwrap_or_default();
            svg.text((x + WIDTH / 2.0, BOTTOM + 14.0), Anchor::Middle, "tick", tick);
            x += WIDTH + GAP;
        }
        x += BETWEEN;
    }
    svg.finish(label)
}
