//! A vocabulary as a table, so that items of a later run get the same columns.

use anyhow::{Context, Result, bail};
use bridged::files::Kind;
use bridged_encode::tfidf::Vocabulary;
use bridged_io::{Column, ColumnData, Table};
use std::path::{Path, PathBuf};

/// The kind of file that [`write`] writes.
pub const FILE: Kind =
    Kind { name: "a vocabulary", extension: None, holds: |path| read(path).is_ok() };

/// Where the vocabulary that an output was made with is kept.
pub fn path_for(output: &Path) -> PathBuf {
    output.with_extension("vocabulary.parquet")
}

pub fn write(vocabulary: &Vocabulary, path: &Path) -> Result<()> {
    let terms = vocabulary.terms.iter().cloned().map(Some).collect();
    let columns = vec![
        Column::new("term", ColumnData::Text(terms)),
        Column::new("idf", ColumnData::Number(vocabulary.idf.clone())),
    ];
    Ok(bridged_io::write(path, &Table::new(path, columns)?)?)
}

pub fn read(path: &Path) -> Result<Vocabulary> {
    let table = bridged_io::read(path)?;
    let terms = table.column("term").and_then(Column::to_text);
    let idf = table.column("idf").map(|column| &column.data);
    let (Some(terms), Some(ColumnData::Number(idf))) = (terms, idf) else {
        bail!(
            "`{}` is no vocabulary: it needs the columns term and idf, as `bridged encode text --encoder tfidf` writes them",
            path.display()
        );
    };
    let terms: Option<Vec<String>> = terms.values.into_iter().collect();
    let vocabulary = terms.and_then(|terms| Vocabulary::new(terms, idf.clone()));
    vocabulary.with_context(|| {
        format!(
            "`{}` is no vocabulary: a term is missing, is there twice, or weighs nothing",
            path.display()
        )
    })
}
