//! Pairs: which row of x belongs to which row of y, as a table of two columns of ids.
//!
//! Which two columns, [`pair_columns`] decides. The first row of a CSV or TSV file is taken as its header;
//! whether it is not rather a pair, only somebody who knows the ids can tell, so
//! [`PairsTable::names`] holds these two cells as they are in the file.
//!
//! A column `answer` says of each line whether the two rows belong together: yes, no or unsure.

use crate::error::TableError;
use crate::pair_answers::{self, Answer, answer};
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
    /// The ids of rows that do not belong together, as the answers say.
    pub negatives: Vec<(String, String)>,
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
        let answers = match answer_column(&names) {
            None => vec![Answer::Yes; self.rows()],
            Some(at) => {
                let cells = self.columns[at].to_text().map_or_else(Vec::new, |cells| cells.values);
                let cells = cells.iter().enumerate();
                let read = |(row, cell): (usize, &Option<String>)| {
                    answer(cell.as_deref().unwrap_or_default(), &self.source, row)
                };
                cells.map(read).collect::<Result<_, _>>()?
            }
        };
        let said = |row: usize| answers.get(row).is_some_and(|a| *a != Answer::Open);
        let ids = self.ids_where(x, said)?.into_iter().zip(self.ids_where(y, said)?).collect();
        Ok(PairsTable::answered([names[x], names[y]], ids, &answers))
    }
}

/// The column of the answers, if there is one.
fn answer_column(names: &[&str]) -> Option<usize> {
    names.iter().position(|name| name.eq_ignore_ascii_case(pair_answers::COLUMN))
}

impl PairsTable {
    /// Pairs of these ids, of which those that are not open were `answers`.
    fn answered(names: [&str; 2], ids: Vec<(String, String)>, answers: &[Answer]) -> Self {
        let (mut rows, mut negatives) = (Vec::new(), Vec::new());
        for (pair, answer) in ids.into_iter().zip(answers.iter().filter(|a| **a != Answer::Open)) {
            if *answer == Answer::Yes { &mut rows } else { &mut negatives }.push(pair);
        }
        let notes = pair_answers::note(answers).into_iter().collect();
        Self { names: names.map(str::to_owned), rows, negatives, notes }
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
    // The column of the answers is neither.
    let answers = answer_column(names);
    let ids: Vec<usize> = (0..names.len()).filter(|at| Some(*at) != answers).collect();
    let other = |at: usize| match ids[..] {
        [a, b] => Some(if at == a { b } else { a }),
        _ => None,
    };
    let rule = pair_columns(&ids.iter().map(|&at| names[at]).collect::<Vec<_>>());
    let rule = rule.map(|places| places.map(|at| ids[at]));
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
    let names = ["x".to_owned(), "y".to_owned()];
    Ok(PairsTable { names, rows, negatives: Vec::new(), notes: Vec::new() })
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
    let answers: Vec<Answer> = match answer_column(&names) {
        None => vec![Answer::Yes; columns[x].len().saturating_sub(1)],
        Some(at) => {
            let cells = columns[at][1..].iter().enumerate();
            cells.map(|(row, cell)| answer(cell, path, row)).collect::<Result<_, _>>()?
        }
    };
    let ids = |at: usize| -> Result<Vec<String>, TableError> {
        let cells = columns[at][1..].iter().enumerate();
        let said: Vec<(usize, &String)> =
            cells.filter(|(row, _)| answers[*row] != Answer::Open).collect();
        if let Some((row, _)) = said.iter().find(|(_, cell)| cell.is_empty()) {
            let (path, column) = (path.to_path_buf(), names[at].to_owned());
            return Err(TableError::NullId { path, column, row: *row });
        }
        let whole: Option<Vec<String>> = said.iter().map(|(_, cell)| without_point(cell)).collect();
        Ok(whole.unwrap_or_else(|| said.into_iter().map(|(_, cell)| cell.clone()).collect()))
    };
    let pairs = ids(x)?.into_iter().zip(ids(y)?).collect();
    Ok(PairsTable::answered([names[x], names[y]], pairs, &answers))
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
