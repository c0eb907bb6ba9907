//! Tables: every format, the choice of columns, and pairs.

use crate::file::with_file;
use crate::{Target, seeds};
use bridged::columns::{ColumnInfo, ColumnKind, Columns, Wanted, pair_columns};
use bridged_io::{ColumnData, ReadOptions, Select, Source, Table};
use bridged_math::Matrix;
use bridged_math::rows::Rows;
use std::path::Path;

pub const PARQUET: Target = Target {
    name: "parquet",
    run: |bytes| table(bytes, "parquet"),
    seeds: || seeds::tables("parquet"),
    words: &["PAR1", "zstd", "value", "list", "element"],
    rounds: 1500,
};

pub const ARROW: Target = Target {
    name: "arrow",
    run: |bytes| table(bytes, "arrow"),
    seeds: || seeds::tables("arrow"),
    words: &["ARROW1", "\u{fffd}"],
    rounds: 1500,
};

pub const NPY: Target = Target {
    name: "npy",
    run: |bytes| table(bytes, "npy"),
    seeds: || seeds::tables("npy"),
    words: &[
        "NUMPY",
        "'descr'",
        "'<f4'",
        "'>f8'",
        "'|b1'",
        "'fortran_order'",
        "True",
        "'shape'",
        "(3, 2)",
        "(9,)",
        ", }",
    ],
    rounds: 3000,
};

pub const CSV: Target = Target {
    name: "csv",
    run: |bytes| table(bytes, "csv"),
    seeds: || seeds::tables("csv"),
    words: &[
        ",",
        "\"",
        "\"\"",
        "\r\n",
        "[1.0, 2.0]",
        "[1 2]",
        "nan",
        "1e400",
        ";",
        "id",
        "_id",
        "\u{feff}",
        "0,5",
    ],
    rounds: 3000,
};

pub const TSV: Target = Target {
    name: "tsv",
    run: |bytes| table(bytes, "tsv"),
    seeds: || seeds::tables("tsv"),
    words: &["\t", "\"", "\r\n", "[1.0, 2.0]", "nan", "-inf", "id", "\u{feff}"],
    rounds: 2000,
};

pub const PAIRS: Target = Target {
    name: "pairs",
    run: |bytes| {
        let read = |ending: &str| {
            with_file(bytes, ending, |path| {
                let pairs = bridged_io::read_pairs(path).ok()?;
                assert!(pairs.rows.iter().all(|(x, y)| !x.is_empty() && !y.is_empty()));
                Some(pairs)
            })
        };
        ["csv", "tsv", "npy"].map(read).iter().any(Option::is_some)
    },
    seeds: seeds::pairs,
    words: &[",", "\t", "x_id", "y_id", "x", "y", "12.0", "\"", "\r\n"],
    rounds: 2000,
};

pub const COLUMNS: Target = Target {
    name: "columns",
    run: columns,
    seeds: seeds::columns,
    words: &["id", "_id", "value_0", "value1", "__index_level_0__", "x", "y", "#row"],
    rounds: 3000,
};

/// Reads a table and all that is made of one.
fn table(bytes: &[u8], ending: &str) -> bool {
    with_file(bytes, ending, |path| {
        let Ok(table) = bridged_io::read(path) else { return false };
        check(&table);
        if let Ok(texts) = table.clone().into_texts(None, None) {
            assert_eq!(texts.ids.len(), texts.texts.len());
        }
        if let Ok(pool) = table.into_pool(Select::default()) {
            assert_eq!(pool.ids.len(), pool.rows.rows());
            assert!(
                pool.rows.data().iter().all(|v| v.is_finite()),
                "a pool with a number that is none"
            );
            if let Some(rows) = in_passes(path) {
                assert_eq!(rows, pool.rows, "a pass gives other rows than the pool in memory");
            }
        }
        true
    })
}

/// The rows of a file that stays where it is. One that lies about its rows is read by nobody else so strictly.
fn in_passes(path: &Path) -> Option<Matrix> {
    let source = Source::find(&[path]).ok()?;
    let stored = source.stored(&ReadOptions::default(), Select::default()).ok()?;
    let mut data = Vec::new();
    let scan = stored.scan(&mut |_, part| {
        data.extend_from_slice(part.data());
        Ok(())
    });
    scan.ok()?;
    Matrix::new(stored.rows(), stored.cols(), data).ok()
}

/// Every column has a cell for every row.
fn check(table: &Table) {
    let rows = table.rows();
    assert!(rows > 0 && !table.columns.is_empty());
    for column in &table.columns {
        if let Some(text) = column.to_text() {
            assert_eq!(text.values.len(), rows, "{}", column.name);
        }
        if let ColumnData::Vector(matrix) = &column.data {
            assert_eq!(matrix.rows(), rows, "{}", column.name);
        }
    }
}

/// Lines are columns: the first letter says the kind, the rest is the name. The first two lines are what is wanted.
fn columns(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let mut wanted = || lines.next().filter(|line| !line.is_empty());
    let (id, vector) = (wanted(), wanted());
    let kind = |letter: char| match letter {
        't' => ColumnKind::Text,
        'i' => ColumnKind::Integer,
        'f' => ColumnKind::Float,
        'b' => ColumnKind::Bool,
        'l' => ColumnKind::List(Some(3)),
        'r' => ColumnKind::List(None),
        other => ColumnKind::Other(other.to_string()),
    };
    let column =
        |line: &'_ str| line.chars().next().map(|c| (kind(c), line[c.len_utf8()..].to_owned()));
    let all: Vec<(ColumnKind, String)> = lines.filter_map(column).collect();
    let table: Vec<ColumnInfo<'_>> =
        all.iter().map(|(kind, name)| ColumnInfo { name, kind: kind.clone() }).collect();
    if let Ok(chosen) = Columns::choose(&table, Wanted { id, vector, ..Wanted::default() }) {
        let places = chosen.vector.places();
        assert!(!places.is_empty() && places.iter().all(|at| *at < table.len()));
        // Unless both were named.
        let apart = |at: usize| (id.is_some() && vector.is_some()) || !places.contains(&at);
        assert!(chosen.id.is_none_or(|at| at < table.len() && apart(at)));
        assert!(chosen.carried.iter().all(|at| *at < table.len() && !places.contains(at)));
    }
    let names: Vec<&str> = all.iter().map(|(_, name)| name.as_str()).collect();
    if let Some([x, y]) = pair_columns(&names) {
        assert!(x != y && x.max(y) < names.len());
    }
    !table.is_empty()
}
