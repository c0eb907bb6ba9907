//! Distributions side by side: for each row of the chart, several boxes from the lower to the upper
//! quartile with the median, and whiskers from the 5th to the 95th percentile.

use super::bottom_axis;
use crate::report::page::{Colour, digits};
use crate::report::svg::{Anchor, Axis, Svg};

/// The boxes of one line of the chart.
pub struct BoxRow {
    pub name: String,
    pub colour: Colour,
    /// Name and values of each box, in order.
    pub boxes: Vec<(String, Vec<f64>)>,
}

const LEFT: f64 = 150.0;
const RIGHT: f64 = 510.0;
const BAND: f64 = 5.5;

/// The q-th quantile of sorted values, between the two that it falls between.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (place - place.floor()) * (high - low)
}

/// With a dashed line at `line`, the value to compare with.
pub fn boxes(rows: &[BoxRow], line: Option<f64>, name: &str, label: &str) -> String {
    let height: f64 = rows.iter().map(|r| r.boxes.len() as f64 * BAND + 6.0).sum();
    let top = 6.0;
    let bottom = top + height;
    let summaries: Vec<Vec<Option<[f64; 5]>>> = rows
        .iter()
        .map(|row| row.boxes.iter().map(|(_, values)| summary(values)).collect())
        .collect();
    let ends = summaries.iter().flatten().flatten().flatten().copied();
    let axis = Axis::log(ends.chain(line), LEFT, RIGHT);
    let mut svg = Svg::new(RIGHT + 12.0, bottom + 34.0);
    bottom_axis(&mut svg, &axis, top, bottom, name);
    if let Some(line) = line {
        svg.rule((axis.at(line), top), (axis.at(line), bottom), "one");
    }
    let mut y = top + 3.0;
    for (row, summaries) in rows.iter().zip(&summaries) {
        let band = row.boxes.len() as f64 * BAND;
        svg.text((LEFT - 8.0, y + band / 2.0 + 3.5), Anchor::End, "label", &row.name);
        for ((title, values), summary) in row.boxes.iter().zip(summaries) {
            let middle = y + BAND / 2.0;
            if let Some([p5, q1, median, q3, p95]) = *summary {
                let about = format!(
                    "{}, {title}\nmedian {}, quartiles {} to {}\n5 % to 95 %: {} to {}, {} runs",
                    row.name,
                    digits(median),
                    digits(q1),
                    digits(q3),
                    digits(p5),
                    digits(p95),
                    values.len()
                );
                let [a, b, m, c, d] = [p5, q1, median, q3, p95].map(|v| axis.at(v));
                svg.stroke(&[(a, middle), (d, middle)], row.colour, "whisker", &about);
                let size = ((c - b).max(1.0), BAND - 1.5);
                svg.rect((b, y + 0.75), size, &row.colour.css(), &about);
                svg.rule((m, y), (m, y + BAND), "end");
            }
            y += BAND;
        }
        y += 6.0;
    }
    svg.finish(label)
}

/// The five numbers of a box; none without values.
pub fn summary(values: &[f64]) -> Option<[f64; 5]> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some([0.05, 0.25, 0.5, 0.75, 0.95].map(|q| quantile(&sorted, q)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        let summary = summary(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        let expected = [1.15, 1.75, 2.5, 3.25, 3.85];
        summary.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{a} {b}"));
        assert!(super::summary(&[]).is_none());
    }
}
