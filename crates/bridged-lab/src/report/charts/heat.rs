//! A table of shares as shades.

use crate::report::svg::{Anchor, Svg};

const CELL: (f64, f64) = (42.0, 26.0);
const LEFT: f64 = 46.0;
const TOP: f64 = 22.0;

/// Values between 0 and 1; none where there is nothing.
pub struct Heat {
    /// What the rows count, and their names.
    pub rows: (&'static str, Vec<String>),
    /// What the columns count, and their names.
    pub columns: (&'static str, Vec<String>),
    /// Row by row.
    pub values: Vec<Vec<Option<f64>>>,
}

pub fn heat(heat: &Heat, label: &str) -> String {
    let (rows, columns) = (heat.rows.1.len() as f64, heat.columns.1.len() as f64);
    let mut svg = Svg::new(LEFT + columns * CELL.0 + 8.0, TOP + rows * CELL.1 + 22.0);
    svg.text((4.0, 12.0), Anchor::Start, "axis", heat.rows.0);
    for (r, (name, values)) in heat.rows.1.iter().zip(&heat.values).enumerate() {
        let y = TOP + r as f64 * CELL.1;
        svg.text((LEFT - 8.0, y + CELL.1 / 2.0 + 4.0), Anchor::End, "tick", name);
        for (c, value) in values.iter().enumerate() {
            let x = LEFT + c as f64 * CELL.0;
            let Some(value) = value else { continue };
            // From a faint to a full shade; what is below a half looks faint.
            let shade = format!("rgba(var(--heat), {:.2})", 0.08 + 0.62 * value * value);
            let about = format!(
                "{} {name}, {} {}: {value:.3}",
                heat.rows.0, heat.columns.0, heat.columns.1[c]
            );
            svg.rect((x, y), (CELL.0 - 2.0, CELL.1 - 2.0), &shade, &about);
            let place = (x + CELL.0 / 2.0 - 1.0, y + CELL.1 / 2.0 + 3.0);
            svg.text(place, Anchor::Middle, "label", &format!("{value:.2}"));
        }
    }
    let foot = TOP + rows * CELL.1 + 13.0;
    for (c, name) in heat.columns.1.iter().enumerate() {
        let x = LEFT + c as f64 * CELL.0 + CELL.0 / 2.0 - 1.0;
        svg.text((x, foot), Anchor::Middle, "tick", name);
    }
    let right = LEFT + columns * CELL.0;
    svg.text((right, 12.0), Anchor::End, "axis", &format!("by {}", heat.columns.0));
    svg.finish(label)
}
