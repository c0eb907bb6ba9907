//! A data set with its rows seen by encoders that need no weights, as columns beside the others.
//!
//! | column | from | vectors |
//! |---|---|---|
//! | `y_3mers`, `y_4mers`, `y_6mers` | `sequence` | shares of the words of k letters in A, C, G, T |
//! | `y_tfidf` | `text` | TF-IDF of the 1,000 most frequent words, in 256 numbers |
//!
//! A study takes another column by its key `x` or `y`; the draws stay the same.

use super::{CurateError, VOCABULARY};
use bridged::Matrix;
use bridged_encode::kmer::{Kmers, Strand};
use bridged_encode::tfidf::{ENGLISH, Tfidf};
use bridged_encode::{Encoder, lsa};
use bridged_io::{Column, ColumnData, Table};

/// Lengths of words in DNA.
const LENGTHS: [usize; 3] = [3, 4, 6];
/// Numbers that TF-IDF is reduced to.
const TEXT_DIM: usize = 256;

/// Adds the columns that the table has the texts for, and names them.
pub fn add(table: &mut Table) -> Result<Vec<String>, CurateError> {
    let mut added = Vec::new();
    if let Some(sequences) = texts(table, "sequence") {
        for k in LENGTHS {
            added.push((format!("y_{k}mers"), kmers(&sequences, k)));
        }
    }
    if let Some(texts) = texts(table, "text") {
        let tfidf =
            Tfidf { stop_words: ENGLISH, max_features: Some(VOCABULARY), ..Tfidf::default() };
        let rows = tfidf.fit(&texts).rows(&texts);
        if rows.cols() > 0 {
            added.push(("y_tfidf".to_string(), lsa::reduce(&rows, TEXT_DIM)));
        }
    }
    if added.is_empty() {
        return Err(CurateError::Nothing {
            path: table.source.clone(),
            reason: "has neither a column `sequence` nor a column `text` with words".into(),
            remedy: "add one, or encode the rows and give their vectors a column of their own"
                .into(),
        });
    }
    let names = added.iter().map(|(name, _)| name.clone()).collect();
    for (name, rows) in added {
        table.columns.retain(|c| c.name != name);
        table.columns.push(Column::new(name, ColumnData::Vector(rows)));
    }
    Ok(names)
}

/// The cells of a column of texts; an empty one where there is none.
fn texts(table: &Table, name: &str) -> Option<Vec<String>> {
    let column = table.column(name)?.to_text()?;
    Some(column.values.into_iter().map(Option::unwrap_or_default).collect())
}

/// The shares of words of k letters; a sequence without one is a row of zeros.
fn kmers(sequences: &[String], k: usize) -> Matrix {
    let encoder = Kmers::new(k, Strand::Given).expect("the lengths above are allowed");
    let mut out = Matrix::zeros(sequences.len(), encoder.dim());
    for (i, sequence) in sequences.iter().enumerate() {
        if let [Ok(row)] = encoder.encode(&[sequence]).as_slice() {
            out.row_mut(i).copy_from_slice(row);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, cells: &[&str]) -> Table {
        let cells = cells.iter().map(|c| Some(c.to_string())).collect();
        Table::new("t.parquet", vec![Column::new(name, ColumnData::Text(cells))]).unwrap()
    }

    #[test]
    fn words_of_dna_are_counted_as_shares() {
        let rows = kmers(&["AACA".into(), "aNac".into(), "".into()], 2);
        // AA, AC and CA once each; of the second only AC has known letters.
        assert_eq!(
            (rows.row(0)[0], rows.row(0)[1], rows.row(0)[4]),
            (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)
        );
        assert_eq!((rows.row(1)[1], rows.row(1).iter().sum::<f32>()), (1.0, 1.0));
        assert!(rows.row(2).iter().all(|v| *v == 0.0));
    }

    #[test]
    fn columns_are_added_for_what_is_there_and_only_once() {
        let mut dna = table("sequence", &["ACGTACGT", "TTTTTTTT"]);
        assert_eq!(add(&mut dna).unwrap(), ["y_3mers", "y_4mers", "y_6mers"]);
        add(&mut dna).unwrap();
        assert_eq!(dna.columns.len(), 4);
        let mut captions = table("text", &["a dog runs", "a cat sleeps"]);
        assert_eq!(add(&mut captions).unwrap(), ["y_tfidf"]);
        let error = add(&mut table("colour", &["red"])).unwrap_err().to_string();
        assert!(error.contains("neither a column `sequence` nor a column `text`"), "{error}");
    }
}
