//! What a page consists of, whatever it is written as.

use crate::contender::VARIANTS;
use crate::stats::Interval;

/// A chapter of the page.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its anchor.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// What is shown and how to read it.
    pub text: String,
    /// What is shown.
    pub figures: Vec<Figure>,
}

/// Charts with the table behind them.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// What it shows.
    pub caption: String,
    /// Colours and what they stand for.
    pub legend: Vec<(Colour, String)>,
    /// The charts, as SVG, each below its heading.
    pub panels: Vec<(String, String)>,
    /// The numbers.
    pub table: Table,
}

/// Rows of cells under named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, as long as the columns.
    pub rows: Vec<Vec<TableCell>>,
}

/// One cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableCell {
    /// What it says.
    pub text: String,
    /// Whether it is a number, to be aligned as one.
    pub number: bool,
    /// Whether it is the best of its comparison; that alone is bold.
    pub best: bool,
    /// What a pointer over it tells.
    pub tip: String,
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        Self { text: text.to_string(), ..Self::default() }
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl TableCell {
    /// A number that is written already.
    pub fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), number: true, ..Self::default() }
    }

    /// A number, or a dash.
    pub fn value(value: Option<f64>) -> Self {
        Self::number(value.map_or("–".to_string(), digits))
    }

    /// The same with a tip.
    pub fn tip(self, tip: impl Into<String>) -> Self {
        Self { tip: tip.into(), ..self }
    }

    /// The same, best of its comparison or not.
    pub fn best(self, best: bool) -> Self {
        Self { best, ..self }
    }

    /// A share with the ends of its interval as its tip.
    pub fn share(share: Option<Interval>) -> Self {
        let Some(i) = share else { return Self::number("–") };
        let tip = format!("95 %: {} to {}", percent(i.low), percent(i.high));
        Self::number(percent(i.value)).tip(tip)
    }
}

impl Table {
    /// An empty table.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<TableCell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }
}

/// A colour of the page: one of ten, or the grey of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// One of the ten that tell series apart.
    Series(usize),
    /// What is not told apart.
    Other,
}

/// Colours that there are to tell series apart.
pub const SERIES: usize = 10;

impl Colour {
    /// The n-th colour; grey beyond the last.
    pub fn nth(n: usize) -> Self {
        if n < SERIES { Self::Series(n) } else { Self::Other }
    }

    /// As CSS.
    pub fn css(self) -> String {
        match self {
            Self::Series(n) => format!("var(--s{n})"),
            Self::Other => "var(--other)".to_string(),
        }
    }
}

/// Three significant digits; more before the point where there are.
pub fn digits(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_string();
    }
    let size = value.abs();
    let places = if size == 0.0 { 0 } else { (2 - size.log10().floor() as i32).clamp(0, 12) };
    let text = format!("{value:.*}", places as usize);
    match size >= 1e6 || (size < 1e-4 && size > 0.0) {
        true => format!("{value:.2e}"),
        false => text,
    }
}

/// Whether a text is the name of a form of Bridged Clustering: ours, which the page marks with a dot.
pub fn is_ours(text: &str) -> bool {
    VARIANTS.iter().any(|v| v.name == text)
}

/// A share as percent with one digit.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let cases = [
            (0.0, "0"),
            (0.12345, "0.123"),
            (1.0, "1.00"),
            (12.345, "12.3"),
            (12345.6, "12346"),
            (-0.5, "-0.500"),
            (1.5e-7, "1.50e-7"),
            (f64::NAN, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(digits(value), text);
        }
        assert_eq!(percent(0.1234), "12.3 %");
    }

    #[test]
    fn beyond_the_last_colour_is_grey() {
        assert_eq!(Colour::nth(9).css(), "var(--s9)");
        assert_eq!(Colour::nth(10), Colour::Other);
    }
}
