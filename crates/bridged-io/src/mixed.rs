//! Columns of a text file that hold numbers but for a few cells.

use crate::cells::is_gap;
use crate::dialect::number_with_comma;
use bridged::columns::shown;
use bridged_math::words::count;
use std::path::{Path, PathBuf};

/// A column of texts of which this share are numbers is a measurement with bad cells.
const SURELY_NUMERIC: f64 = 0.9;
/// One of which this share are may be one.
const PERHAPS_NUMERIC: f64 = 0.5;

/// A column of texts some of which are numbers, all with a decimal point or all with a decimal comma.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mixed {
    /// The cells that are not empty.
    cells: usize,
    first: Option<Cell>,
    point: Odd,
    comma: Odd,
}

/// The cells that are no numbers.
#[derive(Clone, Debug, Default)]
struct Odd {
    count: usize,
    first: Option<Cell>,
}

#[derive(Clone, Debug)]
struct Cell {
    path: PathBuf,
    row: usize,
    text: String,
}

impl Mixed {
    /// Looks at cells of a file whose first has that row number.
    pub fn add(&mut self, cells: &[Option<String>], path: &Path, first: usize) {
        for (at, text) in cells.iter().enumerate() {
            let Some(text) = text.as_deref().map(str::trim) else { continue };
            if text.is_empty() || is_gap(text) {
                continue;
            }
            let cell = || Cell { path: path.to_path_buf(), row: first + at, text: text.to_owned() };
            self.cells += 1;
            self.first.get_or_insert_with(cell);
            let (point, comma) = (text.parse::<f64>().is_ok(), number_with_comma(text).is_some());
            for (odd, is_number) in [(&mut self.point, point), (&mut self.comma, comma)] {
                if !is_number {
                    odd.count += 1;
                    odd.first.get_or_insert_with(cell);
                }
            }
        }
    }

    /// By the decimals that fit more cells.
    fn odd(&self) -> &Odd {
        if self.comma.count < self.point.count { &self.comma } else { &self.point }
    }

    /// The share of numbers.
    fn share(&self) -> f64 {
        (self.cells - self.odd().count) as f64 / self.cells.max(1) as f64
    }

    /// Whether it is a measurement with bad cells.
    pub fn is_sure(&self) -> bool {
        self.share() >= SURELY_NUMERIC
    }

    /// Whether it may be one.
    pub fn is_likely(&self) -> bool {
        self.share() >= PERHAPS_NUMERIC
    }

    /// Whether every cell is a number, so that only the way in which they are written is odd.
    pub fn is_all_numbers(&self) -> bool {
        self.odd().count == 0
    }

    fn cell(&self) -> Option<&Cell> {
        self.odd().first.as_ref().or(self.first.as_ref())
    }

    /// The file of the cell that the sentence is about.
    pub fn path(&self) -> Option<&Path> {
        self.cell().map(|cell| cell.path.as_path())
    }

    /// What is wrong with the column, and where; `ids` are those of the rows of `source`.
    pub fn sentence(&self, source: &Path, ids: &[String]) -> String {
        let Some(Cell { path, row, text }) = self.cell() else { return String::new() };
        let number = row.to_string();
        let id = ids.get(*row).filter(|_| path == source).unwrap_or(&number);
        let (id, cell) = (shown(id), shown(text));
        let (cells, odd) = (count(self.cells), self.odd().count);
        match odd {
            0 => format!("its numbers are written as `{cell}` in row `{id}`"),
            1 => format!("1 of {cells} cells is no number: `{cell}` in row `{id}`"),
            _ => format!(
                "{} of {cells} cells are no numbers, the first is `{cell}` in row `{id}`",
                count(odd)
            ),
        }
    }
}
