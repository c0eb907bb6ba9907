//! Tables and numbers as a terminal shows them. Whatever is printed goes through [`out`], which lets no control
//! character of an id, a name or a path reach the terminal.

use crate::visible::{self, is_hidden, visible};
pub use bridged_math::words::{count, plural};
use serde::Serialize;
use std::io::{self, IsTerminal, StdoutLock, Write};
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
        self.rows.push(cells.into_iter().map(|cell| visible(&cell).into_owned()).collect());
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

/// Whether text is printed bold and dim.
fn has_styles() -> bool {
    std::env::var_os("NO_COLOR").is_none() && io::stdout().is_terminal()
}

/// The sequences that [`bold`] and [`dim`] write.
const STYLES: [&str; 3] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m"];

fn styled(text: &str, code: &str) -> String {
    let text = visible(text);
    if has_styles() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.into_owned() }
}

/// Standard output, on which hidden characters are visible.
pub fn out() -> Out<StdoutLock<'static>> {
    Out { to: io::stdout().lock(), styles: has_styles() }
}

/// Standard output for a table: its bytes as they are, and on a terminal without hidden characters.
pub fn table_out() -> Box<dyn Write + Send> {
    let to = io::stdout();
    match to.is_terminal() {
        true => Box::new(Out { to, styles: false }),
        false => Box::new(io::BufWriter::with_capacity(1 << 16, to)),
    }
}

/// A writer that makes hidden characters visible, but for the end of a line and its own styles.
pub struct Out<W> {
    to: W,
    styles: bool,
}

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let mut rest = text.as_ref();
        while let Some(at) = rest.find(|c| c != '\n' && is_hidden(c)) {
            let (before, hidden) = rest.split_at(at);
            self.to.write_all(before.as_bytes())?;
            let style = STYLES.iter().find(|s| self.styles && hidden.starts_with(**s));
            let length = match style {
                Some(style) => style.len(),
                None => hidden.chars().next().map_or(0, char::len_utf8),
            };
            match style {
                Some(style) => self.to.write_all(style.as_bytes())?,
                None => self.to.write_all(visible(&hidden[..length]).as_bytes())?,
            }
            rest = &hidden[length..];
        }
        self.to.write_all(rest.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize, out: &mut dyn Write) -> anyhow::Result<()> {
    Ok(writeln!(out, "{}", visible::json(&serde_json::to_string_pretty(value)?))?)
}

/// Says something on stderr.
pub fn say(text: &str) {
    eprintln!("{}", visible::message(text));
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
    let text = &visible(text);
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
    fn hidden_characters_are_visible_and_columns_still_line_up() {
        let mut grid = Grid::new(&[("what", Align::Left), ("n", Align::Right)]);
        grid.row(vec!["a\u{1b}[1mb\nc".into(), "7".into()]);
        let mut out = Out { to: Vec::new(), styles: true };
        grid.print(&mut out).unwrap();
        let note = "\u{1b}[1mnote:\u{1b}[0m";
        writeln!(out, "{note} wrote \u{202e}x\u{1b}[2J").unwrap();
        let text = String::from_utf8(out.to).unwrap();
        let said = "\u{1b}[1mnote:\u{1b}[0m wrote \\u{202e}x\\u{1b}[2J\n";
        assert_eq!(text, format!("  what            n\n  a\\u{{1b}}[1mb\\nc  7\n{said}"));
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
