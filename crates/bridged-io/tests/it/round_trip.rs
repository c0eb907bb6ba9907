//! What is written is read again, whatever the cells hold, and always as the same bytes.

use crate::{Scratch, bits};
use bridged_io::{Column, ColumnData, FORMATS, Select, Table, read, write};
use bridged_math::Matrix;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Any `f32` but NaN, whose bits no text format keeps.
fn float() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => -1e3f32..1e3,
        1 => any::<f32>().prop_filter("NaN is a gap", |v| !v.is_nan()),
    ]
}

fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => any::<f64>().prop_filter("NaN is a gap", |v| !v.is_nan()),
        1 => (-50i32..50).prop_map(f64::from),
        1 => Just(f64::NAN),
    ]
}

/// Columns of every kind that can be written, all with `n` rows.
fn columns(n: usize) -> impl Strategy<Value = Vec<Column>> {
    let matrix = |n| (1usize..5).prop_flat_map(move |d| (Just(d), vec(float(), n * d)));
    let vector =
        matrix(n).prop_map(move |(d, data)| ColumnData::Vector(Matrix::new(n, d, data).unwrap()));
    let optional = (matrix(n), vec(any::<bool>(), n)).prop_map(move |((d, data), valid)| {
        ColumnData::OptionalVector { values: Matrix::new(n, d, data).unwrap(), valid }
    });
    let number = vec(double(), n).prop_map(ColumnData::Number);
    let integer = vec(option::of(any::<i64>()), n).prop_map(ColumnData::Integer);
    // With quotes, separators, line ends and letters of other scripts; text files do not tell an
    // empty text from none.
    let text = vec(option::of("[a-zA-Zé漢\"',;\t\n\r 0-9]{1,8}"), n).prop_map(ColumnData::Text);
    (vector, optional, number, integer, text).prop_map(|(v, o, n, i, t)| {
        [("v", v), ("o", o), ("n", n), ("i", i), ("t", t)]
            .map(|(name, data)| Column::new(name, data))
            .to_vec()
    })
}

fn any_columns() -> impl Strategy<Value = Vec<Column>> {
    (1usize..40).prop_flat_map(columns)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn binary_formats_keep_every_column(columns in any_columns()) {
        let scratch = Scratch::new();
        let table = Table::new("t", columns).unwrap();
        for name in ["t.parquet", "t.pq", "t.arrow", "t.feather", "t.ipc"] {
            let path = scratch.path(name);
            write(&path, &table).unwrap();
            let back = read(&path).unwrap();
            prop_assert_eq!(back.columns.len(), table.columns.len());
            for (a, b) in table.columns.iter().zip(&back.columns) {
                prop_assert_eq!(&a.name, &b.name);
                prop_assert_eq!(bits(&a.data), bits(&b.data));
            }
        }
    }

    #[test]
    fn text_formats_keep_every_cell(columns in any_columns()) {
        let scratch = Scratch::new();
        let table = Table::new("t", columns).unwrap();
        for name in ["t.csv", "t.tsv"] {
            let path = scratch.path(name);
            write(&path, &table).unwrap();
            let back = read(&path).unwrap();
            prop_assert_eq!(back.rows(), table.rows());
            for column in &table.columns {
                check_text(column, &back)?;
            }
        }
    }

    #[test]
    fn npy_keeps_vectors_and_numbers(columns in any_columns()) {
        let scratch = Scratch::new();
        let path = scratch.path("t.npy");
        for column in columns.into_iter().filter(|c| ["v", "o", "n"].contains(&c.name.as_str())) {
            let expected: Vec<f32> = match &column.data {
                ColumnData::Vector(m) => m.data().to_vec(),
                ColumnData::OptionalVector { values, valid } => {
                    let row = |i| values.row(i).iter().copied();
                    let gap = |i| (0..values.cols()).map(move |_| (i, f32::NAN).1);
                    (0..values.rows())
                        .flat_map(|i| if valid[i] { row(i).collect() } else { gap(i).collect::<Vec<_>>() })
                        .collect()
                }
                ColumnData::Number(v) => v.iter().map(|&v| v as f32).collect(),
                _ => unreachable!("filtered"),
            };
            write(&path, &Table::new("t", vec![column]).unwrap()).unwrap();
            let back = read(&path).unwrap();
            let back = back.in_singles(); // numbers are written, and read, in 64 bits
            let ColumnData::Vector(m) = &back.columns[0].data else { panic!("npy holds vectors") };
            prop_assert_eq!(format!("{:?}", m.data()), format!("{expected:?}"));
        }
    }
}

/// A column of a text file holds what was written: numbers as they were, texts as they were.
fn check_text(column: &Column, back: &Table) -> Result<(), TestCaseError> {
    let matrix = match &column.data {
        ColumnData::Vector(m) => Some((m, None)),
        ColumnData::OptionalVector { values, valid } => Some((values, Some(valid))),
        _ => None,
    };
    if let Some((m, valid)) = matrix {
        for j in 0..m.cols() {
            let cells = numbers(&back.column(&format!("{}_{j}", column.name)).unwrap().data);
            for i in 0..m.rows() {
                let expected = valid.is_none_or(|v| v[i]).then(|| m.row(i)[j]);
                prop_assert_eq!(cells[i].map(|v| v as f32), expected);
            }
        }
        return Ok(());
    }
    let read = &back.column(&column.name).unwrap().data;
    match &column.data {
        ColumnData::Number(v) => {
            let expected: Vec<_> = v.iter().map(|&v| (!v.is_nan()).then_some(v)).collect();
            prop_assert_eq!(numbers(read), expected);
        }
        ColumnData::Integer(v) if v.iter().any(Option::is_some) => {
            prop_assert_eq!(bits(read), bits(&column.data));
        }
        // A column of texts that all look like numbers is one of numbers; only then is it another.
        ColumnData::Text(_) if matches!(read, ColumnData::Text(_)) => {
            prop_assert_eq!(bits(read), bits(&column.data));
        }
        _ => {}
    }
    Ok(())
}

fn numbers(data: &ColumnData) -> Vec<Option<f64>> {
    match data {
        ColumnData::Number(v) => v.iter().map(|&v| (!v.is_nan()).then_some(v)).collect(),
        ColumnData::Integer(v) => v.iter().map(|v| v.map(|v| v as f64)).collect(),
        // All gaps.
        ColumnData::Text(v) => v.iter().map(|_| None).collect(),
        other => panic!("{}", other.kind()),
    }
}

fn sample() -> Table {
    let values = Matrix::from_fn(300, 3, |i, j| (i * 3 + j) as f32 / 7.0);
    let valid = (0..300).map(|i| i % 5 != 0).collect();
    let texts = (0..300).map(|i| (i % 7 != 0).then(|| format!("row {i}"))).collect();
    let columns = vec![
        Column::new("id", ColumnData::Integer((0..300).map(Some).collect())),
        Column::new("value", ColumnData::OptionalVector { values, valid }),
        Column::new("text", ColumnData::Text(texts)),
    ];
    Table::new("t", columns).unwrap()
}

#[test]
fn equal_tables_give_equal_bytes() {
    let scratch = Scratch::new();
    for extension in FORMATS.iter().flat_map(|f| f.extensions).filter(|e| **e != "npy") {
        let paths = ["a", "b"].map(|name| scratch.path(&format!("{name}.{extension}")));
        paths.iter().for_each(|path| write(path, &sample()).unwrap());
        let [a, b] = paths.map(|path| std::fs::read(path).unwrap());
        assert_eq!(a, b, "{extension}");
    }
}

#[test]
fn what_stands_in_for_a_missing_row_does_not_reach_the_file() {
    let scratch = Scratch::new();
    for extension in ["parquet", "arrow", "csv", "tsv"] {
        let files = [0.0, 7.5].map(|stand_in| {
            let mut table = sample();
            let ColumnData::OptionalVector { values, valid } = &mut table.columns[1].data else {
                panic!("the sample has gaps")
            };
            for i in (0..300).filter(|&i| !valid[i]) {
                values.row_mut(i).fill(stand_in);
            }
            let path = scratch.path(&format!("t.{extension}"));
            write(&path, &table).unwrap();
            std::fs::read(path).unwrap()
        });
        assert_eq!(files[0], files[1], "{extension}");
    }
}

#[test]
fn our_own_csv_gives_its_vectors_back_by_name() {
    let scratch = Scratch::new();
    let path = scratch.path("t.csv");
    let values = Matrix::from_fn(4, 12, |i, j| (i * 12 + j) as f32 / 3.0);
    let columns = vec![
        Column::new("id", ColumnData::Integer((0..4).map(Some).collect())),
        Column::new("value", ColumnData::Vector(values.clone())),
        Column::new("confidence", ColumnData::Number(vec![0.5; 4])),
    ];
    write(&path, &Table::new("t", columns).unwrap()).unwrap();
    let pool = read(&path)
        .unwrap()
        .into_pool(Select { vector: Some("value"), ..Select::default() })
        .unwrap();
    assert_eq!(pool.rows, values);
    assert_eq!(pool.carried.len(), 1);
}

#[test]
fn tables_of_many_batches_keep_their_order() {
    let scratch = Scratch::new();
    let n = 40_000;
    let columns = vec![
        Column::new("id", ColumnData::Integer((0..n as i64).map(Some).collect())),
        Column::new("v", ColumnData::Vector(Matrix::from_fn(n, 2, |i, j| (2 * i + j) as f32))),
    ];
    let table = Table::new("t", columns).unwrap();
    for name in ["t.parquet", "t.arrow", "t.csv"] {
        let path = scratch.path(name);
        write(&path, &table).unwrap();
        let select = Select { vector: Some("v"), ..Select::default() };
        let pool = read(&path).unwrap().into_pool(select).unwrap();
        assert!(pool.ids.iter().enumerate().all(|(i, id)| *id == i.to_string()), "{name}");
        assert!(pool.rows.data().iter().enumerate().all(|(k, &v)| v == k as f32), "{name}");
    }
}
