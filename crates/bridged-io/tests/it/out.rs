//! What is written keeps its type, and what a format cannot hold is refused with a sentence.

use crate::Scratch;
use bridged_io::{Column, ColumnData, Select, Table, read, write};
use bridged_math::Matrix;
use std::path::Path;

/// Every narrow type of Arrow, truth values, dates and times: what a file has, a file that is written from it has.
#[test]
fn what_was_read_is_written_with_the_same_types() {
    let scratch = Scratch::new();
    for source in ["kinds.parquet", "kinds.feather", "gaps.parquet"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(source);
        let mut table = read(&source).unwrap();
        table
            .columns
            .retain(|c| !matches!(c.data, ColumnData::Ragged { .. } | ColumnData::Other(_)));
        for ending in ["parquet", "arrow"] {
            let path = scratch.path(&format!("again.{ending}"));
            write(&path, &table).unwrap();
            let again = read(&path).unwrap();
            for (was, is) in table.columns.iter().zip(&again.columns) {
                let shown = format!("{}, column `{}`", source.display(), was.name);
                assert_eq!(was.data.kind(), is.data.kind(), "{shown}");
                let (was, is) = (was.to_text(), is.to_text());
                assert_eq!(was.map(|t| t.values), is.map(|t| t.values), "{shown}");
            }
            // Nothing is widened on the way: a second copy has the bytes of the first.
            let twice = scratch.path(&format!("twice.{ending}"));
            write(&twice, &again).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&twice).unwrap());
        }
    }
}

#[test]
fn a_pool_gives_its_ids_back_as_the_file_has_them() {
    let numbers = ColumnData::Integer(vec![Some(7), Some(8)]);
    let vectors = ColumnData::Vector(Matrix::zeros(2, 2));
    let columns = vec![Column::new("photo_id", numbers), Column::new("v", vectors.clone())];
    let mut pool = Table::new("t", columns).unwrap().into_pool(Select::default()).unwrap();
    let ids = pool.take_ids();
    assert_eq!(ids.name, "photo_id");
    assert!(matches!(ids.data, ColumnData::Integer(v) if v == [Some(7), Some(8)]));
    let columns = vec![Column::new("v", vectors)];
    let mut pool = Table::new("t", columns).unwrap().into_pool(Select::default()).unwrap();
    let ids = pool.take_ids();
    assert_eq!(ids.name, "id");
    assert!(matches!(ids.data, ColumnData::Integer(v) if v == [Some(0), Some(1)]));
}

#[cfg(feature = "xlsx")]
#[test]
fn what_a_sheet_cannot_hold_is_refused_with_its_limit() {
    let scratch = Scratch::new();
    let path = scratch.path("t.xlsx");
    let refused = |column: Column| {
        let table = Table::new("t", vec![column]).unwrap();
        let error = write(&path, &table).unwrap_err().to_string();
        assert!(!path.exists(), "nothing is left behind");
        error
    };
    let rows = refused(Column::new("n", ColumnData::Integer(vec![None; 1_048_576])));
    assert!(
        rows.contains("holds 1,048,575 rows below its header, this table has 1,048,576"),
        "{rows}"
    );
    let wide = refused(Column::new("v", ColumnData::Vector(Matrix::zeros(1, 16_385))));
    assert!(wide.contains("holds 16,384 columns, this table has 16,385"), "{wide}");
    let long = Some("x".repeat(32_768));
    let long = refused(Column::new("note", ColumnData::Text(vec![None, long])));
    assert!(long.contains("32767 characters, row 1 (counted from 0) of column `note`"), "{long}");
    assert!(long.ends_with("write `.parquet` or `.csv` instead"), "{long}");
    let fits = ColumnData::Text(vec![Some("x".repeat(32_767))]);
    write(&path, &Table::new("t", vec![Column::new("note", fits)]).unwrap()).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("is Excel, which is written but not read"), "{error}");
}
