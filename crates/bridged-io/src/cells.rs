//! The cells of text files: what those of a column have in common, and the column that they become.

use crate::dialect::{Decimals, number_with_comma};
use crate::table::ColumnData;
use crate::vectors::VectorBuilder;

/// What the cells of a column have had in common so far.
#[derive(Clone, Debug)]
pub(crate) struct Guess {
    any: bool,
    list: bool,
    /// All are numbers with a decimal point.
    point: bool,
    /// All are numbers with a decimal comma.
    comma: bool,
    integer: bool,
    /// Every whole number is spelled as it would be printed.
    plain: bool,
    /// All letters of the cells.
    letters: u64,
    /// All entries of the lists.
    entries: u64,
}

impl Guess {
    pub fn new(decimals: Decimals) -> Self {
        Self {
            any: false,
            list: true,
            point: decimals != Decimals::Comma,
            comma: decimals != Decimals::Point,
            integer: true,
            plain: true,
            letters: 0,
            entries: 0,
        }
    }

    pub fn see(&mut self, cell: &str) {
        self.letters += cell.len() as u64;
        let number = self.point || self.comma;
        if cell.is_empty() || (!self.list && !number) {
            return;
        }
        if self.list && parse_list(cell, |_| self.entries += 1).is_none() {
            self.list = is_gap(cell);
        }
        if number && !is_gap(cell) {
            self.any = true;
            let digits = cell.strip_prefix(['-', '+']).unwrap_or(cell);
            if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
                self.plain &= cell.parse::<i64>().is_ok_and(|v| v.to_string() == cell);
            } else {
                self.integer = false;
                self.point = self.point && cell.parse::<f64>().is_ok();
                self.comma = self.comma && number_with_comma(cell).is_some();
            }
        }
    }

    /// Also what the cells of another file have in common.
    pub fn merge(&mut self, other: Self) {
        self.any |= other.any;
        self.list &= other.list;
        self.point &= other.point;
        self.comma &= other.comma;
        self.integer &= other.integer;
        self.plain &= other.plain;
        self.letters += other.letters;
        self.entries += other.entries;
    }

    /// Whether its numbers have decimal commas.
    pub fn has_commas(&self) -> bool {
        self.any && !self.list && self.comma && !self.point
    }

    /// The bytes that the column will take, as a column and as rows.
    pub fn bytes(&self, rows: u64) -> u64 {
        match self.fill(0) {
            Fill::List(..) => self.entries * 8 + rows,
            Fill::Number(..) => rows * 12,
            Fill::Integer(_) => rows * 20,
            Fill::Code(..) => rows * 60 + self.letters,
            Fill::Text(_) => rows * 40 + self.letters,
        }
    }

    pub fn fill(&self, rows: usize) -> Fill {
        match self {
            Self { any: false, .. } => Fill::Text(Vec::with_capacity(rows)),
            Self { list: true, .. } => Fill::List(VectorBuilder::default(), Vec::new()),
            Self { point: false, comma: false, .. } => Fill::Text(Vec::with_capacity(rows)),
            Self { integer: false, .. } => {
                Fill::Number(Vec::with_capacity(rows), self.has_commas())
            }
            Self { plain: true, .. } => Fill::Integer(Vec::with_capacity(rows)),
            _ => Fill::Code(Vec::with_capacity(rows), Vec::with_capacity(rows)),
        }
    }
}

/// A column that is being filled. A cell that does not fit what the first pass saw (the file has
/// changed meanwhile) becomes a gap.
pub(crate) enum Fill {
    List(VectorBuilder<f64>, Vec<f64>),
    /// Also whether their decimals follow a comma.
    Number(Vec<f64>, bool),
    Integer(Vec<Option<i64>>),
    Code(Vec<Option<String>>, Vec<f64>),
    Text(Vec<Option<String>>),
}

impl Fill {
    pub fn push(&mut self, raw: &str) {
        let cell = raw.trim();
        let text = |cell: &str| (!cell.is_empty()).then(|| cell.to_owned());
        match self {
            Self::List(builder, row) => {
                row.clear();
                match parse_list(cell, |v| row.push(v)) {
                    Some(()) => builder.push(row),
                    None => builder.push_null(),
                }
            }
            Self::Number(v, true) => v.push(number_with_comma(cell).unwrap_or(f64::NAN)),
            Self::Number(v, false) => v.push(cell.parse().unwrap_or(f64::NAN)),
            Self::Integer(v) => v.push(cell.parse().ok()),
            Self::Code(texts, numbers) => {
                texts.push(text(cell).filter(|cell| !is_gap(cell)));
                numbers.push(cell.parse().unwrap_or(f64::NAN));
            }
            Self::Text(v) => v.push(text(raw)),
        }
    }

    pub fn finish(self) -> ColumnData {
        match self {
            Self::List(builder, _) => builder.finish(),
            Self::Number(v, _) => ColumnData::Number(v),
            Self::Integer(v) => ColumnData::Integer(v),
            Self::Code(text, numbers) => ColumnData::Code { text, numbers },
            Self::Text(v) => ColumnData::Text(v),
        }
    }
}

/// A word that stands for no number.
pub(crate) fn is_gap(cell: &str) -> bool {
    ["na", "n/a", "null", "none"].iter().any(|gap| cell.eq_ignore_ascii_case(gap))
}

/// The numbers of `[0.1, 0.2]` or `[0.1 0.2]`; nothing if the cell is anything else.
pub(crate) fn parse_list(cell: &str, mut each: impl FnMut(f64)) -> Option<()> {
    let inner = cell.strip_prefix('[')?.strip_suffix(']')?;
    for part in inner.split([',', ' ', '\t', '\n', '\r']).filter(|part| !part.is_empty()) {
        each(if is_gap(part) { f64::NAN } else { part.parse().ok()? });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(cells: &[&str]) -> &'static str {
        kind_by(Decimals::Point, cells)
    }

    fn kind_by(decimals: Decimals, cells: &[&str]) -> &'static str {
        let mut guess = Guess::new(decimals);
        cells.iter().for_each(|cell| guess.see(cell));
        match guess.fill(0) {
            Fill::List(..) => "list",
            Fill::Number(_, false) => "number",
            Fill::Number(_, true) => "number with commas",
            Fill::Integer(_) => "integer",
            Fill::Code(..) => "code",
            Fill::Text(_) => "text",
        }
    }

    #[test]
    fn a_column_is_what_all_its_cells_are() {
        assert_eq!(kind(&["1", "-2", ""]), "integer");
        assert_eq!(kind(&["1", "2.0", "NA"]), "number");
        assert_eq!(kind(&["1e5", "nan", "inf"]), "number");
        assert_eq!(kind(&["007", "12"]), "code");
        assert_eq!(kind(&["18446744073709551615"]), "code");
        assert_eq!(kind(&["1", "x"]), "text");
        assert_eq!(kind(&["", ""]), "text");
        assert_eq!(kind(&["None", "null"]), "text");
        assert_eq!(kind(&["[1, 2]", "", "[3 4]"]), "list");
        assert_eq!(kind(&["[1, 2]", "3"]), "text");
        assert_eq!(kind(&["[[1], [2]]"]), "text");
        assert_eq!(kind(&["[0.1 ... 0.9]"]), "text");
        assert_eq!(kind(&["true", "false"]), "text");
        assert_eq!(kind(&["-"]), "text");
    }

    #[test]
    fn decimals_may_follow_a_comma_but_not_both() {
        let either = |cells: &[&str]| kind_by(Decimals::Either, cells);
        assert_eq!(either(&["0,5", "-1,25", "3", "1e5", ""]), "number with commas");
        assert_eq!(either(&["0.5", "3"]), "number");
        assert_eq!(either(&["0.5", "0,5"]), "text");
        assert_eq!(either(&["1.234,5"]), "text");
        assert_eq!(either(&["1,2,3"]), "text");
        assert_eq!(either(&["1", "2"]), "integer");
        assert_eq!(kind_by(Decimals::Comma, &["0.5"]), "text");
        assert_eq!(kind(&["0,5"]), "text");
    }

    #[test]
    fn a_list_may_be_written_by_json_or_by_numpy() {
        let parse = |cell: &str| {
            let mut row = Vec::new();
            parse_list(cell, |v| row.push(v)).map(|()| row)
        };
        assert_eq!(parse("[0.5, -1e3]"), Some(vec![0.5, -1000.0]));
        assert_eq!(parse("[ 0.5\n -2. ]"), Some(vec![0.5, -2.0]));
        assert_eq!(parse("[]"), Some(vec![]));
        assert!(parse("[null]").unwrap()[0].is_nan());
        assert_eq!(parse("[a]"), None);
        assert_eq!(parse("["), None);
    }
}
