//! Files that cannot be used: each is told what is wrong with it in one sentence.

use crate::{Scratch, complaint, golden};
use bridged_io::{Column, ColumnData, Table, read, write};
use bridged_math::Matrix;
use std::fs;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[test]
fn a_missing_file_a_directory_and_an_unknown_extension() {
    let scratch = Scratch::new();
    let error = |name: &str| read(&scratch.path(name)).unwrap_err().to_string();
    assert!(error("no.csv").ends_with("no.csv` does not exist"));
    fs::create_dir(scratch.path("d.parquet")).unwrap();
    assert!(error("d.parquet").ends_with("d.parquet` is a directory, not a file"));
    assert!(complaint("t.ods", "a").starts_with(
        "`t.ods` has no extension that is known; use one of .parquet, .pq, .arrow, .feather, \
         .ipc, .npy, .csv, .tsv"
    ));
    assert!(complaint("table", "a").contains("no extension that is known"));
    assert!(complaint("t.parquet.gz", "a").contains("no extension that is known"));
}

#[test]
fn an_empty_file_a_lone_header_and_no_columns() {
    for name in ["t.csv", "t.tsv", "t.npy", "t.parquet", "t.arrow"] {
        assert_eq!(complaint(name, ""), format!("`{name}` is empty (0 bytes)"));
    }
    assert_eq!(complaint("t.csv", "a,b\n"), "`t.csv` has columns but no rows");
    assert_eq!(complaint("t.csv", "\n\n"), "`t.csv` has no columns");
    let scratch = Scratch::new();
    let empty = Table::new("t", vec![Column::new("v", ColumnData::Number(vec![]))]).unwrap();
    for name in ["t.parquet", "t.arrow", "t.npy", "t.csv"] {
        let path = scratch.path(name);
        write(&path, &empty).unwrap();
        assert!(read(&path).unwrap_err().to_string().ends_with("has columns but no rows"));
    }
}

#[test]
fn nothing_numeric_is_told_with_what_there_is() {
    assert_eq!(
        complaint("t.csv", "id,name\n1,a\n"),
        "`t.csv` has no list column and no numeric column to use as vectors; it has `id` (whole \
         numbers), `name` (texts)"
    );
    assert!(complaint("t.csv", "v\n[]\n").ends_with("column `v`: the vectors have no entries"));
}

#[test]
fn a_file_that_is_not_what_its_name_says_is_told_what_it_looks_like() {
    let parquet = fs::read(golden("list_f16.parquet")).unwrap();
    let feather = fs::read(golden("lz4.feather")).unwrap();
    let npy = fs::read(golden("f8.npy")).unwrap();
    for (name, content, found) in [
        ("t.parquet", PNG, "a PNG picture"),
        ("t.npy", PNG, "a PNG picture"),
        ("t.csv", &parquet[..], "Parquet"),
        ("t.tsv", &feather[..], "Arrow IPC"),
        ("t.feather", &npy[..], "npy"),
        ("t.parquet", &feather[..], "Arrow IPC"),
        ("t.npy", b"PK\x03\x04", "a ZIP archive (npz and xlsx files are such)"),
        ("t.csv", b"\x1f\x8b\x08", "a gzip file"),
        ("t.csv", b"\xff\xfea\0,\0b\0", "UTF-16 text"),
        ("t.npy", b"\x80\x04\x95", "a Python pickle"),
        ("t.parquet", b"id,v\n1,2\n", "text"),
        ("t.npy", b"id,v\n1,2\n", "text"),
    ] {
        let error = complaint(name, content);
        assert!(error.contains(&format!("this looks like {found};")), "{name}: {error}");
    }
    assert!(complaint("t.feather", b"FEA1....FEA1").contains("Feather version 1"));
    assert!(complaint("t.arrow", b"id,v\n1,2\n").contains("not a readable Arrow IPC file"));
}

#[test]
fn a_file_that_was_cut_off_is_told_so() {
    let cut = |name: &str| {
        let bytes = fs::read(golden(name)).unwrap();
        complaint(name, &bytes[..bytes.len() * 2 / 3])
    };
    assert!(cut("list_f16.parquet").contains("its end is missing; it was cut off"));
    assert!(cut("lz4.feather").contains("its end is missing; it was cut off"));
    assert!(cut("stream.arrow").contains("it is cut off inside a message"));
    assert!(cut("f8.npy").contains("cut off"));
    let mut long = fs::read(golden("f8.npy")).unwrap();
    long.push(0);
    assert!(complaint("t.npy", long).contains("4 × 2 entries are only 64"));
}

#[test]
fn bad_text_is_told_by_its_line() {
    assert_eq!(
        complaint("t.csv", b"id,v\na,1\n\xe9,2\n"),
        "`t.csv`, line 3: the text is not UTF-8; save the file as UTF-8"
    );
    assert_eq!(
        complaint("t.csv", "id,v\na,1\nb,2,3\n"),
        "`t.csv`, line 3: 3 cells, but the header has 2; quote cells that contain the separator"
    );
    assert!(complaint("t.csv", "id,v\n\"a\nb\",1\nc\n").contains("line 4: 1 cells"));
    let error = complaint("t.csv", "id\tv\na\t1\n");
    assert!(error.contains("separate its cells by tabs, but a comma"), "{error}");
    assert!(error.contains("`--sep`"), "{error}");
    assert!(complaint("t.tsv", "id,v\na,1\n").contains("by commas, but a tab"));
}

const MISSING: &str = "missing or not a number; repair or remove that row, or say what to do with \
                       `--missing drop` or `--missing mean`";

#[test]
fn a_number_that_is_none_is_told_by_column_and_row_id() {
    let message = |what: &str| format!("`t.csv`, column `w`, row `b`: the value is {what}");
    for cell in ["", "nan", "NA", "null", "None"] {
        let error = complaint("t.csv", format!("id,v,w\na,1,2\nb,3,{cell}\n"));
        assert_eq!(error, message(MISSING), "{cell}");
    }
    for cell in ["inf", "-inf", "1e39", "-1e300"] {
        let error = complaint("t.csv", format!("id,v,w\na,1,2.5\nb,3,{cell}\n"));
        assert_eq!(
            error,
            message("infinite or too large for a 32-bit float; remove or repair that row"),
            "{cell}"
        );
    }
    let error = complaint("t.csv", "id,v\na,\"[1, 2]\"\nb,\"[1, 1e39]\"\n");
    assert!(error.contains("column `v`, position 1 (counted from 0), row `b`"), "{error}");
    let error = complaint("t.csv", "v\n\"[1, 2]\"\n[1]\n");
    assert!(error.contains("column `v`, row `1`: the vector has 1 entries"), "{error}");
}

#[test]
fn what_a_format_cannot_hold_is_refused_before_anything_is_written() {
    let scratch = Scratch::new();
    let refused = |name: &str, columns: Vec<Column>| {
        let error = write(&scratch.path(name), &Table::new("t", columns).unwrap()).unwrap_err();
        assert_eq!(fs::read_dir(scratch.directory.path()).unwrap().count(), 0);
        error.to_string().split_once("` cannot be written: ").unwrap().1.to_owned()
    };
    let vector = |name: &str| Column::new(name, ColumnData::Vector(Matrix::zeros(1, 2)));
    let number = |name: &str| Column::new(name, ColumnData::Number(vec![1.0]));
    assert_eq!(
        refused("t.npy", vec![number("id"), vector("value")]),
        "an npy file holds one column of vectors or numbers, this table has `id`, `value`; write \
         `.parquet`, `.arrow` or `.csv` instead"
    );
    let text = Column::new("name", ColumnData::Text(vec![Some("a".to_owned())]));
    assert!(refused("t.npy", vec![text]).contains("`name` holds texts"));
    let gap = Column::new("n", ColumnData::Integer(vec![None]));
    assert!(refused("t.npy", vec![gap]).contains("no gaps between whole numbers"));
    assert_eq!(refused("t.csv", vec![]), "the table has no columns");
    assert_eq!(refused("t.parquet", vec![number("a"), number("a")]), "two columns are called `a`");
    assert_eq!(
        refused("t.csv", vec![vector("v"), number("v_1")]),
        "two columns would be called `v_1`"
    );
    let empty = Column::new("v", ColumnData::Vector(Matrix::zeros(1, 0)));
    assert!(refused("t.parquet", vec![empty]).contains("have no entries"));
    let other = Column::new("o", ColumnData::Other("Binary".to_owned()));
    assert!(refused("t.csv", vec![other]).contains("column `o` holds Binary"));
    let error = write(&scratch.path("t.xls"), &Table::new("t", vec![number("a")]).unwrap());
    assert!(error.unwrap_err().to_string().contains("no extension that is known"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_in_every_format() {
    let scratch = Scratch::new();
    let values = Matrix::from_fn(5000, 16, |i, j| ((i * 31 + j * 17) % 97) as f32 * 0.37);
    let table = Table::new("t", vec![Column::new("v", ColumnData::Vector(values))]).unwrap();
    for name in ["t.parquet", "t.arrow", "t.npy", "t.csv", "t.tsv"] {
        let path = scratch.path(name);
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let error = write(&path, &table).unwrap_err().to_string();
        assert!(
            error.contains("could not be written") && error.contains("No space left"),
            "{error}"
        );
    }
}

#[test]
fn an_npy_header_that_claims_more_than_can_be_counted_is_refused() {
    let sides = "9223372036854775808, 9223372036854775808"; // times four bytes: nothing in 128 bits
    for shape in ["18446744073709551615, 18446744073709551615", sides, "1000000000000000000, 0"] {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let mut file = b"\x93NUMPY\x01\0".to_vec();
        file.extend((text.len() as u16).to_le_bytes());
        file.extend(text.bytes());
        assert!(complaint("t.npy", &file).contains("its header claims"), "{shape}");
    }
}
