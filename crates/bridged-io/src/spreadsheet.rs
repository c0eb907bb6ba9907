//! Texts that a spreadsheet would take for formulas.
//!
//! A cell of CSV or TSV that begins with `=`, `+`, `-`, `@`, a tab or a carriage return is run as a formula when the
//! file is opened in a spreadsheet, and whoever wrote the cell decides what it does. An apostrophe in front makes it
//! a text. What is a number stays one.

use crate::table::{ColumnData, Table};

/// Puts an apostrophe in front of every text, and every name of a column, that a spreadsheet would take for a formula.
///
/// ```
/// use bridged_io::{Column, ColumnData, Table, spreadsheet};
///
/// let cells = ["=1+1", "-3.5", "plain"].map(|cell| Some(cell.to_owned()));
/// let mut table = Table::new("t", vec![Column::new("c", ColumnData::Text(cells.to_vec()))])?;
/// spreadsheet::without_formulas(&mut table);
/// let text = table.columns[0].to_text().unwrap();
/// assert_eq!(text.values[0].as_deref(), Some("'=1+1"));
/// assert_eq!(text.values[1].as_deref(), Some("-3.5"));
/// assert_eq!(text.values[2].as_deref(), Some("plain"));
/// # Ok::<(), bridged_io::TableError>(())
/// ```
pub fn without_formulas(table: &mut Table) {
    for column in &mut table.columns {
        if is_formula(&column.name) {
            column.name.insert(0, '\'');
        }
        let cells: Box<dyn Iterator<Item = &mut String>> = match &mut column.data {
            ColumnData::Text(cells) => Box::new(cells.iter_mut().flatten()),
            ColumnData::Words { words, .. } => Box::new(words.iter_mut()),
            _ => continue,
        };
        cells.filter(|cell| is_formula(cell)).for_each(|cell| cell.insert(0, '\''));
    }
}

/// Whether a spreadsheet would run that cell.
pub fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.trim().parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_like_a_formula_is_one_unless_it_is_a_number() {
        for cell in ["=1", "+a", "-cmd", "@sum", "\t=1", "\r1+1", "-", "=HYPERLINK(\"x\")"] {
            assert!(is_formula(cell), "{cell:?}");
        }
        for cell in ["", "a=b", "-3", "+4.5e3", "-inf", "'=1", " =1"] {
            assert!(!is_formula(cell), "{cell:?}");
        }
    }
}
