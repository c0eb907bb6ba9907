//! Pictures as SVG text: shapes with tips, and axes.

use super::page::Colour;
use std::fmt::Write;

/// A picture that grows shape by shape.
#[derive(Clone, Debug)]
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Where a text is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Escapes what HTML and SVG give a meaning to.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// A coordinate without needless digits.
fn at(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_string)
}

fn tip(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" data-tip=\"{}\"", escape(text)) }
}

impl Svg {
    /// An empty picture.
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// A line of the grid or of an axis.
    pub fn rule(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let (x1, y1, x2, y2) = (at(x1), at(y1), at(x2), at(y2));
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        );
    }

    /// A line in a colour.
    pub fn stroke(&mut self, points: &[(f64, f64)], colour: Colour, class: &str, about: &str) {
        let points: Vec<String> =
            points.iter().map(|(x, y)| format!("{},{}", at(*x), at(*y))).collect();
        let _ = write!(
            self.body,
            "<polyline class=\"{class}\" style=\"stroke:{}\" points=\"{}\"{}/>",
            colour.css(),
            points.join(" "),
            tip(about)
        );
    }

    /// A filled rectangle.
    pub fn rect(&mut self, corner: (f64, f64), size: (f64, f64), fill: &str, about: &str) {
        let (x, y, w, h) = (at(corner.0), at(corner.1), at(size.0), at(size.1));
        let _ = write!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" style=\"fill:{fill}\"{}/>",
            tip(about)
        );
    }

    /// A filled circle.
    pub fn circle(&mut self, centre: (f64, f64), r: f64, colour: Colour, class: &str, about: &str) {
        let (x, y, r) = (at(centre.0), at(centre.1), at(r));
        let _ = write!(
            self.body,
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\" style=\"fill:{}\"{}/>",
            colour.css(),
            tip(about)
        );
    }

    /// A text; `class` tells its size and weight.
    pub fn text(&mut self, place: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.body,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            at(place.0),
            at(place.1),
            escape(text)
        );
    }

    /// The name of a line in its colour.
    pub fn coloured_text(&mut self, place: (f64, f64), colour: Colour, text: &str) {
        let _ = write!(
            self.body,
            "<text class=\"name\" x=\"{}\" y=\"{}\" style=\"fill:{}\">{}</text>",
            at(place.0),
            at(place.1),
            colour.css(),
            escape(text)
        );
    }

    /// The picture; `label` is what it is called for those who cannot see it.
    pub fn finish(self, label: &str) -> String {
        let (w, h) = (at(self.width), at(self.height));
        format!(
            "<svg viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
             aria-label=\"{}\">{}</svg>",
            escape(label),
            self.body
        )
    }
}

/// Values on a line of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Axis {
    /// From the least to the greatest of the values, a little wider, between two coordinates.
    pub fn linear(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = range(values).unwrap_or((0.0, 1.0));
        let margin = if high > low { 0.04 * (high - low) } else { 0.5 * low.abs().max(1.0) };
        Self { low: low - margin, high: high + margin, from, to, log: false }
    }

    /// Exactly between two values.
    pub fn exact(low: f64, high: f64, from: f64, to: f64) -> Self {
        Self { low, high, from, to, log: false }
    }

    /// The same for positive values, by their logarithms.
    pub fn log(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Self {
        let positive = values.into_iter().filter(|v| *v > 0.0).map(f64::ln);
        let Self { low, high, .. } = Self::linear(positive, from, to);
        // At least a fifth of a decade, so that there is a tick.
        let widen = ((0.5 - (high - low)) / 2.0).max(0.0);
        Self { low: low - widen, high: high + widen, from, to, log: true }
    }

    /// The coordinate of a value, held within the line.
    pub fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + share * (self.to - self.from)
    }

    /// The values at the ends.
    pub fn ends(&self) -> (f64, f64) {
        if self.log { (self.low.exp(), self.high.exp()) } else { (self.low, self.high) }
    }

    /// Round values on the line with what is written at them. A logarithmic line has the finest of several steps that
    /// leaves room for what is written, and at least two ticks however short its range is.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let (low, high) = self.ends();
        let inside = |values: Vec<f64>| -> Vec<(f64, String)> {
            let inside = values.into_iter().filter(|v| (low..=high).contains(v));
            inside.map(|v| (v, tick(v))).collect()
        };
        let even = |parts: f64| {
            let step = round_step((high - low) / parts);
            let first = (low / step).ceil() as i64;
            (first..).map(|i| i as f64 * step).take_while(|v| *v <= high).collect()
        };
        if !self.log {
            return inside(even(5.0));
        }
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let mut best: Vec<(f64, String)> = Vec::new();
        for steps in LOG_STEPS {
            let decades = decades.clone().filter(|d| d.rem_euclid(steps.decades) == 0);
            let values = decades.flat_map(|d| steps.within.iter().map(move |s| s * 10f64.powi(d)));
            let ticks = inside(values.collect());
            if ticks.len() > best.len() && ticks.len() <= MOST_TICKS && self.has_room(&ticks) {
                best = ticks;
            }
        }
        // Within less than an octave round steps are evenly spaced.
        for parts in [3.0, 5.0] {
            let ticks = inside(even(parts));
            if best.len() < 3 && ticks.len() > best.len() && self.has_room(&ticks) {
                best = ticks;
            }
        }
        best
    }

    /// These values as ticks, such as the numbers of pairs of a study; round ones where there is no room for them.
    pub fn ticks_at(&self, values: &[f64]) -> Vec<(f64, String)> {
        let ticks: Vec<(f64, String)> = values.iter().map(|v| (*v, tick(*v))).collect();
        if self.has_room(&ticks) { ticks } else { self.ticks() }
    }

    /// Whether the labels of these ticks do not touch.
    fn has_room(&self, ticks: &[(f64, String)]) -> bool {
        // Digits of 10 pixels are 6 wide; lines going up need the height of one only.
        let upright = self.from > self.to;
        let width = |text: &str| if upright { 11.0 } else { 6.0 * text.chars().count() as f64 };
        ticks.windows(2).all(|pair| {
            let apart = (self.at(pair[1].0) - self.at(pair[0].0)).abs();
            apart >= (width(&pair[0].1) + width(&pair[1].1)) / 2.0 + 5.0
        })
    }
}

/// Steps of a logarithmic line.
struct LogSteps {
    /// Decades that have ticks: every one, every second, …
    decades: i32,
    /// Ticks in a decade.
    within: &'static [f64],
}

/// From coarse to fine.
const LOG_STEPS: &[LogSteps] = &[
    LogSteps { decades: 6, within: &[1.0] },
    LogSteps { decades: 3, within: &[1.0] },
    LogSteps { decades: 2, within: &[1.0] },
    LogSteps { decades: 1, within: &[1.0] },
    LogSteps { decades: 1, within: &[1.0, 3.0] },
    LogSteps { decades: 1, within: &[1.0, 2.0, 5.0] },
    LogSteps { decades: 1, within: &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0] },
    LogSteps { decades: 1, within: &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0] },
];

/// More ticks than this are a ruler.
const MOST_TICKS: usize = 9;

fn tick(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        // A product with a power of ten may be off in its last digit.
        let text = format!("{value:.3e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// 1, 2 or 5 times a power of ten, at least the value.
fn round_step(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-300).log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= value).unwrap_or(power)
}

fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|v| v.is_finite());
    finite.fold(None, |ends, v| match ends {
        None => Some((v, v)),
        Some((low, high)) => Some((f64::min(low, v), f64::max(high, v))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_on_the_line() {
        let axis = Axis::linear([0.13, 0.87], 0.0, 100.0);
        let ticks: Vec<String> = axis.ticks().into_iter().map(|t| t.1).collect();
        assert_eq!(ticks, ["0.2", "0.4", "0.6", "0.8"]);
        let axis = Axis::log([0.3, 40.0], 0.0, 60.0);
        let ticks: Vec<String> = axis.ticks().into_iter().map(|t| t.1).collect();
        assert_eq!(ticks, ["1", "10"], "there is room for two");
        assert!(axis.at(1e9) == 60.0 && axis.at(0.0) == 0.0, "held within the line");
        for odd in
            [Axis::linear([], 0.0, 1.0), Axis::linear([3.0], 0.0, 1.0), Axis::log([2.0], 0.0, 1.0)]
        {
            assert!(!odd.ticks().is_empty() && odd.at(2.0).is_finite());
        }
    }

    #[test]
    fn a_log_axis_of_any_range_has_ticks_worth_reading() {
        let labels = |low: f64, high: f64, width: f64| -> Vec<String> {
            Axis::log([low, high], 0.0, width).ticks().into_iter().map(|t| t.1).collect()
        };
        assert_eq!(labels(0.45, 3.2, 320.0), ["0.5", "0.7", "1", "1.5", "2", "3"]);
        assert_eq!(labels(0.3, 40.0, 320.0), ["0.5", "1", "2", "5", "10", "20"]);
        assert_eq!(labels(0.9, 2.1, 320.0), ["0.9", "1", "1.2", "1.5", "2"]);
        for low in [1e-9, 3e-4, 0.07, 0.45, 0.93, 1.0, 17.0, 2.3e4] {
            for ratio in [1.0, 1.01, 1.3, 2.0, 3.7, 12.0, 150.0, 4e3, 1e6, 1e12] {
                let labels = labels(low, low * ratio, 320.0);
                assert!((2..=MOST_TICKS).contains(&labels.len()), "{low} × {ratio}: {labels:?}");
                let mut apart = labels.clone();
                apart.dedup();
                assert_eq!(apart, labels, "no label twice");
            }
        }
    }

    #[test]
    fn ticks_stand_at_the_values_of_a_study_where_there_is_room() {
        let values = [1.0, 3.0, 4.0];
        let at = |width: f64| -> Vec<String> {
            let axis = Axis::log(values, 0.0, width);
            axis.ticks_at(&values).into_iter().map(|t| t.1).collect()
        };
        assert_eq!(at(300.0), ["1", "3", "4"]);
        assert_ne!(at(30.0), ["1", "3", "4"]);
    }

    #[test]
    fn names_cannot_break_the_page() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text((1.0, 1.0), Anchor::Start, "label", "<script>\"&");
        svg.circle((1.0, 1.0), 1.0, Colour::Other, "point", "a \"b\" <c>");
        let text = svg.finish("l");
        assert!(!text.contains("<script>") && text.contains("a &quot;b&quot; &lt;c&gt;"));
    }
}
