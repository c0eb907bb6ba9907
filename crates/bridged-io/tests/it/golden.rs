//! Files that pyarrow, NumPy and pandas wrote; `tests/golden/io.py` is the script.

use crate::{golden, pool, texts};
use bridged_io::{ColumnData, Select, read, read_pairs};
use bridged_math::Matrix;

fn rows() -> Matrix {
    Matrix::from_rows(&[[0.5, -1.0], [1.5, 2.0], [2.5, -3.0], [3.5, 4.0]])
}

#[test]
fn every_kind_of_list_is_a_vector() {
    for name in [
        "list_f16.parquet",
        "fixed_f64.parquet",
        "large_f32.parquet",
        "list_f32_brotli.parquet",
        "kinds.parquet",
        "lz4.feather",
        "zstd.feather",
        "kinds.feather",
        "stream.arrow",
        "lists.csv",
        "numpy_lists.csv",
    ] {
        let pool = pool(&golden(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(pool.rows, rows(), "{name}");
        assert_eq!(pool.ids, ["10", "11", "12", "13"], "{name}");
        assert_eq!(pool.vector_names, ["v"], "{name}");
        assert_eq!(pool.id_name.as_deref(), Some("id"), "{name}");
    }
}

#[test]
fn lists_of_integers_written_without_arrow_types_are_vectors_too() {
    let pool = pool(&golden("list_i16.parquet")).unwrap();
    assert_eq!(pool.rows.row(3), [7.0, 8.0]);
}

#[test]
fn every_npy_layout_gives_the_same_matrix() {
    for name in ["f2.npy", "f8.npy", "fortran.npy", "big.npy", "big_fortran_f2.npy"] {
        let pool = pool(&golden(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(pool.rows, rows(), "{name}");
        assert_eq!(pool.ids, ["0", "1", "2", "3"]);
        assert_eq!(pool.id_name, None);
    }
    let row = |name: &str, i| pool(&golden(name)).unwrap().rows.row(i).to_vec();
    assert_eq!(row("i8.npy", 3), [7.0, (1u64 << 40) as f32]);
    assert_eq!(row("u1.npy", 1), [3.0, 255.0]);
    assert_eq!(row("bool.npy", 1), [0.0, 1.0]);
}

#[test]
fn an_npy_vector_is_a_matrix_of_one_column() {
    let pool = pool(&golden("one.npy")).unwrap();
    assert_eq!((pool.rows.cols(), pool.rows.data()), (1, &[0.5, 1.5, 2.5, 3.5][..]));
}

#[test]
fn npy_files_that_are_no_table_of_numbers_are_refused_by_what_they_are() {
    let error = |name: &str| read(&golden(name)).unwrap_err().to_string();
    assert!(error("three.npy").contains("has 3 dimensions"));
    assert!(error("object.npy").contains("Python objects, which are never loaded"));
    assert!(error("complex.npy").contains("complex numbers"));
    assert!(error("text.npy").contains("texts"));
    assert!(error("record.npy").contains("structured array"));
}

#[test]
fn an_npy_of_two_integer_columns_is_a_table_of_pairs() {
    let pairs = read_pairs(&golden("i8.npy")).unwrap();
    assert_eq!(pairs.rows[3], ("7".to_owned(), (1u64 << 40).to_string()));
    assert!(read_pairs(&golden("one.npy")).unwrap_err().to_string().contains("1 columns"));
}

#[test]
fn every_kind_of_cell_has_a_text_or_is_skipped() {
    for name in ["kinds.parquet", "kinds.feather"] {
        let table = read(&golden(name)).unwrap();
        let colours = ["red", "blue", "-", "red"];
        assert_eq!(texts(&table, "dictionary"), colours);
        assert_eq!(texts(&table, "large"), colours);
        assert_eq!(texts(&table, "view"), colours);
        assert_eq!(texts(&table, "truth"), ["true", "false", "-", "true"]);
        assert_eq!(texts(&table, "small"), ["1", "-2", "-", "4"]);
        assert_eq!(
            texts(&table, "huge"),
            ["18446744073709551615", "1", "-", "9223372036854775808"]
        );
        assert_eq!(texts(&table, "half"), ["0.5", "-", "2", "-1"]);
        assert_eq!(texts(&table, "decimal"), ["-", "1.25", "2.5", "-3.75"]);
        assert_eq!(texts(&table, "day"), ["2024-02-29", "-", "1970-01-01", "1969-12-31"]);
        assert_eq!(texts(&table, "zoned")[2], "1970-01-02T00:00:00Z");
        assert_eq!(texts(&table, "local")[3], "1970-01-01T00:00:00.001");
        assert_eq!(texts(&table, "nothing"), ["-"; 4]);
        for skipped in ["picture", "record", "nested", "tags"] {
            let data = &table.column(skipped).unwrap().data;
            assert!(matches!(data, ColumnData::Other(_)), "{skipped}: {}", data.kind());
        }
    }
    let stream = read(&golden("stream.arrow")).unwrap();
    assert_eq!(texts(&stream, "colour"), ["red", "red", "blue", "blue"]);
    assert_eq!(texts(&stream, "word"), ["red", "blue", "-", "red"]);
}

#[test]
fn gaps_and_lengths_are_told_by_row_id_when_the_column_is_used() {
    let error = |vector| {
        let select = Select { vector: Some(vector), ..Select::default() };
        let error = read(&golden("gaps.parquet")).unwrap().into_pool(select).unwrap_err();
        error.to_string().split_once("gaps.parquet`, ").unwrap().1.to_owned()
    };
    assert_eq!(
        error("v"),
        "column `v`, row `11`: the vector is missing; repair or remove that row, or leave it out \
         with `--missing drop`"
    );
    assert_eq!(
        error("w"),
        "column `w`, position 1 (counted from 0), row `11`: the value is missing or not a number; \
         repair or remove that row, or say what to do with `--missing drop` or `--missing mean`"
    );
    assert_eq!(
        error("r"),
        "column `r`, row `12`: the vector has 1 entries, but the rows before it have 2; all \
         vectors must have one length"
    );
}

#[test]
fn text_by_pandas_reads_like_the_rest() {
    for name in ["pandas.csv", "pandas.tsv"] {
        let pool = pool(&golden(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(pool.rows, rows(), "{name}");
        assert_eq!(pool.ids, ["10", "11", "12", "13"], "{name}");
        assert_eq!(pool.vector_names, ["a", "b"]);
        let carried = &pool.texts()[0];
        assert_eq!((carried.name.as_str(), carried.values[2].as_deref()), ("name", None));
    }
}

#[test]
fn the_index_of_a_data_frame_is_not_a_measurement() {
    for name in ["pandas_index.csv", "pandas_index.parquet"] {
        let pool = pool(&golden(name)).unwrap();
        assert_eq!(pool.rows, rows(), "{name}");
        assert_eq!(pool.vector_names, ["a", "b"]);
    }
}
