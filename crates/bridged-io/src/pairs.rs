//! Pairs: which row of x belongs to which row of y, as a table of two columns of ids.
//!
//! Which two columns, [`pair_columns`] decides. The first row of a CSV or TSV file is taken as its header;
//! whether it is not rather a pair, only somebody who knows the ids can tell, so
//! [`PairsTable::names`] holds these two cells as they are in the file.

use crate::error::TableError;
use crate::table::{ColumnData, Table};
use bridged::columns::pair_columns;
use std::path::Path;

/// The pairs of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairsTable {
    /// The header's cells, that of x first.
    pub names: [String; 2],
    /// The ids, that of x first; may be empty.
    pub rows: Vec<(String, String)>,
}

impl Table {
    /// Reads the table as pairs of ids.
    pub fn into_pairs(self) -> Result<PairsTable, TableError> {
        let names: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
        if let [column] = self.columns.as_slice()
            && let ColumnData::Vector(m) = &column.data
            && m.cols() == 2
        {
            return vector_pairs(&self.source, m.data().iter().map(|&v| f64::from(v)));
        }
        let [x, y] = which(&names, &self.source)?;
        let rows = self.ids(x)?.into_iter().zip(self.ids(y)?).collect();
        Ok(PairsTable { names: [names[x].to_owned(), names[y].to_owned()], rows })
    }
}

/// The columns of x and y among those names.
pub(crate) fn which(names: &[&str], path: &Path) -> Result<[usize; 2], TableError> {
    if let Some(places) = pair_columns(names) {
        return Ok(places);
    }
    let known = crate::error::list(names.iter().copied());
    Err(TableError::NotPairs { path: path.to_path_buf(), known })
}

/// Pairs from the numbers of an n × 2 array.
pub(crate) fn vector_pairs(
    path: &Path,
    numbers: impl Iterator<Item = f64>,
) -> Result<PairsTable, TableError> {
    let mut ids = Vec::new();
    for v in numbers {
        if v != v.trunc() || v.abs() > 9_007_199_254_740_992.0 {
            return Err(TableError::NotAnId {
                path: path.to_path_buf(),
                column: "value".to_owned(),
                detail: format!("it holds the number {v}"),
            });
        }
        ids.push(format!("{}", v as i64));
    }
    let rows = ids.chunks_exact(2).map(|p| (p[0].clone(), p[1].clone())).collect();
    Ok(PairsTable { names: ["x".to_owned(), "y".to_owned()], rows })
}

/// Pairs from the cells of a text file, the header's first.
///
/// Cells are taken as they are spelled, unless all of a column are whole numbers such as 12.0, which
/// pandas makes of 12 where a column has a gap.
pub(crate) fn from_cells(path: &Path, columns: Vec<Vec<String>>) -> Result<PairsTable, TableError> {
    if columns.is_empty() {
        return Err(TableError::NoColumns { path: path.to_path_buf() });
    }
    let names: Vec<&str> = columns.iter().map(|cells| cells[0].as_str()).collect();
    let [x, y] = which(&names, path)?;
    let ids = |at: usize| -> Result<Vec<String>, TableError> {
        let cells = &columns[at][1..];
        if let Some(row) = cells.iter().position(String::is_empty) {
            let (path, column) = (path.to_path_buf(), names[at].to_owned());
            return Err(TableError::NullId { path, column, row });
        }
        let whole: Option<Vec<String>> = cells.iter().map(|cell| without_point(cell)).collect();
        Ok(whole.unwrap_or_else(|| cells.to_vec()))
    };
    let rows = ids(x)?.into_iter().zip(ids(y)?).collect();
    Ok(PairsTable { names: [names[x].to_owned(), names[y].to_owned()], rows })
}

/// `12` for `12` and `12.0`; nothing for what is no whole number or spelled in a way of its own.
fn without_point(cell: &str) -> Option<String> {
    let (whole, fraction) = cell.split_once('.').unwrap_or((cell, ""));
    let plain = whole.parse::<i64>().is_ok_and(|v| v.to_string() == whole);
    (plain && fraction.bytes().all(|b| b == b'0')).then(|| whole.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_lose_their_point_and_other_spellings_stay() {
        assert_eq!(without_point("12.0").as_deref(), Some("12"));
        assert_eq!(without_point("-3").as_deref(), Some("-3"));
        assert_eq!(without_point("007"), None);
        assert_eq!(without_point("1.10"), None);
        assert_eq!(without_point("a.0"), None);
    }
}
