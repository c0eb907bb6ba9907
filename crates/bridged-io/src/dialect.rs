//! How a text file separates its cells and writes its decimals.
//!
//! `.csv` means commas and decimal points. Excel in much of Europe writes semicolons and decimal commas
//! under the same extension; such a file is recognised where it is unambiguous: its first lines split
//! into two or more cells by `;`, the same number each, and do not by `,`. What the user says
//! ([`ReadOptions`]) goes before.

use crate::error::TableError;
use crate::{Input, ReadOptions};
use csv::ByteRecord;
use std::io::Read;

/// As much of a file as is looked at.
const SAMPLE: u64 = 1 << 16;

/// How decimals are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decimals {
    /// 0.5
    Point,
    /// 0,5
    Comma,
    /// Either, but one of them in a column.
    Either,
}

/// How cells are separated and decimals written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub separator: u8,
    pub decimals: Decimals,
    /// Nobody said so.
    found: bool,
}

impl Dialect {
    /// As the user said, else as the file looks; `usual` is what its extension stands for.
    pub fn of(input: &Input<'_>, usual: u8) -> Result<Self, TableError> {
        let &ReadOptions { separator, decimal, .. } = input.options;
        let found = separator.is_none() && usual == b',' && has_semicolons(&sample(input)?);
        let separator = separator.unwrap_or(if found { b';' } else { usual });
        let decimals = match decimal {
            Some(',') => Decimals::Comma,
            Some(_) => Decimals::Point,
            None if separator == b';' => Decimals::Either,
            None => Decimals::Point,
        };
        Ok(Self { separator, decimals, found })
    }

    /// What was found out about the file without being told, in a sentence.
    pub fn note(&self, commas: bool) -> Option<String> {
        let decimals = if commas { ", and decimal commas" } else { "" };
        self.found.then(|| format!("read with semicolons between the cells{decimals}"))
    }
}

/// The first lines of a file, whole.
pub(crate) fn sample(input: &Input<'_>) -> Result<Vec<u8>, TableError> {
    let unreadable = |source| TableError::Unreadable { path: input.path.to_path_buf(), source };
    let mut bytes = Vec::new();
    let content = input.content().map_err(unreadable)?;
    content.take(SAMPLE).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 == SAMPLE {
        let end = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(end);
    }
    Ok(bytes)
}

fn has_semicolons(sample: &[u8]) -> bool {
    cells(sample, b';').is_some_and(|n| n > 1) && cells(sample, b',').is_none_or(|n| n == 1)
}

/// Into how many whole cells a separator splits every line; none if they differ.
fn cells(sample: &[u8], separator: u8) -> Option<usize> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .from_reader(sample);
    let (mut record, mut count) = (ByteRecord::new(), None);
    while reader.read_byte_record(&mut record).ok()? {
        // A quote inside a cell belongs to a cell that this separator has cut.
        let cut = record.iter().any(|cell| cell.contains(&b'"'));
        if cut || *count.get_or_insert(record.len()) != record.len() {
            return None;
        }
    }
    count
}

/// The number that a cell with a decimal comma holds; nothing for one with a point.
pub(crate) fn number_with_comma(cell: &str) -> Option<f64> {
    if cell.contains('.') {
        return None;
    }
    match cell.split_once(',') {
        Some((whole, fraction)) => format!("{whole}.{fraction}").parse().ok(),
        None => cell.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_are_recognised_where_nothing_else_fits() {
        assert!(has_semicolons(b"id;f0;f1\na;0,5;1,25\nb;1;2,5\n"));
        assert!(has_semicolons(b"id;f0\na;0.5\n"));
        assert!(has_semicolons(b"id;\"Breite, mm\"\na;0,5\n"));
        for other in [
            &b"id,f0\na,0.5\n"[..],
            b"id,note\na,1;2\n",
            b"a;b,c;d\n1;2,3;4\n",
            b"id;f0\na;0,5;7\n",
            b"text\nno; really\n",
            b"",
        ] {
            assert!(!has_semicolons(other), "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn a_decimal_comma_stands_for_a_point() {
        assert_eq!(number_with_comma("-1,5"), Some(-1.5));
        assert_eq!(number_with_comma("3"), Some(3.0));
        assert_eq!(number_with_comma("2,5e3"), Some(2500.0));
        for wrong in ["1.5", "1,2,3", "1.000,5", "x", ","] {
            assert_eq!(number_with_comma(wrong), None, "{wrong}");
        }
    }
}
