//! Tables and numbers as a terminal shows them.

use std::io::{self, IsTerminal, Write};
use unicode_width::UnicodeWidthStr;

/// On which side a column is padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A table without lines: columns two spaces apart, the header dim where the terminal can.
#[derive(Debug, Default)]
pub struct Grid {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// An empty table.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| (name.to_string(), *align)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Prints it.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = |c: usize| {
            let cells = self.rows.iter().map(|r| r[c].width());
            cells.chain([self.columns[c].0.width()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let names: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        if names.iter().any(|name| !name.is_empty()) {
            writeln!(out, "{}", dim(&self.line(&names, &widths)))?;
        }
        for row in &self.rows {
            writeln!(out, "{}", self.line(row, &widths))?;
        }
        Ok(())
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.iter().zip(widths).zip(&self.columns) {
            let pad = " ".repeat(width - cell.width());
            line.push_str("  ");
            match align {
                Align::Left => line.extend([cell.as_str(), &pad]),
                Align::Right => line.extend([pad.as_str(), cell]),
            }
        }
        line.trim_end().to_string()
    }
}

fn styled(text: &str, code: &str) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some() || !io::stdout().is_terminal();
    if plain { text.to_string() } else { format!("\u{1b}[{code}m{text}\u{1b}[0m") }
}

/// Dim where the terminal can.
pub fn dim(text: &str) -> String {
    styled(text, "2")
}

/// Bold where the terminal can.
pub fn bold(text: &str) -> String {
    styled(text, "1")
}

/// A text cut to a width, with an ellipsis.
pub fn cut(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_string();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if format!("{kept}{c}…").width() > most {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// A number with four significant digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        a if !(1e-4..1e6).contains(&a) => format!("{value:.3e}"),
        a => {
            let decimals = (3 - a.log10().floor() as i32).clamp(0, 7) as usize;
            format!("{value:.decimals$}")
        }
    }
}

/// A whole number with commas: 1,234,567.
pub fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "1 pair", "7 pairs".
pub fn plural(n: usize, one: &str) -> String {
    format!("{} {one}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_the_width_of_the_characters() {
        let mut grid = Grid::new(&[("what", Align::Left), ("n", Align::Right)]);
        grid.row(vec!["🕐🕑".into(), "7".into()]);
        grid.row(vec!["é".into(), "12".into()]);
        let mut out = Vec::new();
        grid.print(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "  what   n\n  🕐🕑   7\n  é     12\n");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(number(0.012_345_6), "0.01235");
        assert_eq!(number(1234.56), "1235");
        assert_eq!(number(1.5e-9), "1.500e-9");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(plural(1, "pair"), "1 pair");
        assert_eq!(cut("a long caption", 8), "a long…");
    }
}
