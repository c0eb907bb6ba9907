//! Pairs: which row of x belongs to which row of y, as a table of two columns of ids.
//!
//! Which two columns, [`pair_columns`] decides. The first row of a CSV or TSV file is taken as its header;
//! whether it is not rather a pair, only somebody who knows the ids can tell, so
//! [`PairsTable::names`] holds these two cells as they are in the file.

use crate::error::TableError;
use crate::table::{ColumnData, Table};
use crate::{Input, ReadOptions};
use bridged::columns::{pair_columns, similar};
use std::path::Path;

/// The pairs of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairsTable {
    /// The header's cells, that of x first.
    pub names: [String; 2],
    /// The ids, that of x first; may be empty.
    pub rows: Vec<(String, String)>,
    /// What to know about how it was read, each in a sentence.
    pub notes: Vec<String>,
}

impl Table {
    /// Reads the table as pairs of ids, of the columns that the options name.
    pub fn into_pairs(self, options: &ReadOptions<'_>) -> Result<PairsTable, TableError> {
        let names: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
        if let [column] = self.columns.as_slice()
            && let ColumnData::Vector(m) = &column.data
            && m.cols() == 2
        {
            return vector_pairs(&self.source, m.data().iter().map(|&v| f64::from(v)));
        }
        if let [column] = self.columns.as_slice()
            && let ColumnData::DoubleVector { values, .. } = &column.data
            && values.cols() == 2
        {
            return vector_pairs(&self.source, values.iter_rows().flatten().copied());
        }
        let [x, y] = which(&names, &self.source, options)?;
        let rows = self.ids(x)?.into_iter().zip(self.ids(y)?).collect();
        let names = [names[x].to_owned(), names[y].to_owned()];
        Ok(PairsTable { names, rows, notes: Vec::new() })
    }
}

/// The columns of x and y among those names: those that were given, else by the rule.
fn which(names: &[&str], path: &Path, options: &ReadOptions<'_>) -> Result<[usize; 2], TableError> {
    let known = || crate::error::list(names.iter().copied());
    let given = |name: Option<&str>| -> Result<Option<usize>, TableError> {
        let Some(name) = name else { return Ok(None) };
        let (path, column) = (path.to_path_buf(), name.to_owned());
        let mut places = (0..names.len()).filter(|&at| names[at] == name);
        match (places.next(), places.next()) {
            (Some(at), None) => Ok(Some(at)),
            (Some(_), Some(_)) => Err(TableError::SameName { path, column }),
            (None, _) => {
                let similar = similar(name, names.iter().copied());
                Err(TableError::NoSuchColumn { path, column, similar, known: known() })
            }
        }
    };
    let other = |at: usize| (names.len() == 2).then(|| 1 - at);
    let rule = pair_columns(names);
    let places = match (given(options.pairs_x)?, given(options.pairs_y)?) {
        (Some(x), Some(y)) => Some([x, y]),
        (Some(x), None) => other(x).or(rule.map(|[_, y]| y)).map(|y| [x, y]),
        (None, Some(y)) => other(y).or(rule.map(|[x, _]| x)).map(|x| [x, y]),
        (None, None) => rule,
    };
    if let Some(places) = places.filter(|[x, y]| x != y) {
        return Ok(places);
    }
    Err(TableError::NotPairs { path: path.to_path_buf(), known: known() })
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
    Ok(PairsTable { names: ["x".to_owned(), "y".to_owned()], rows, notes: Vec::new() })
}

/// Pairs from the cells of a text file, the header's first.
///
/// Cells are taken as they are spelled, unless all of a column are whole numbers such as 12.0, which
/// pandas makes of 12 where a column has a gap.
pub(crate) fn from_cells(
    input: &Input<'_>,
    columns: Vec<Vec<String>>,
) -> Result<PairsTable, TableError> {
    let path = input.path;
    if columns.is_empty() {
        return Err(TableError::NoColumns { path: path.to_path_buf() });
    }
    let names: Vec<&str> = columns.iter().map(|cells| cells[0].as_str()).collect();
    let [x, y] = which(&names, path, input.options)?;
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
    let names = [names[x].to_owned(), names[y].to_owned()];
    Ok(PairsTable { names, rows, notes: Vec::new() })
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
