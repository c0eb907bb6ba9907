//! Tables of pairs.

use crate::Scratch;
use bridged_io::{Column, ColumnData, PairsTable, Table, read_pairs, write};

fn table(names: [&str; 2], rows: &[[&str; 2]]) -> PairsTable {
    PairsTable {
        negatives: Vec::new(),
        names: names.map(str::to_owned),
        rows: rows.iter().map(|[x, y]| (x.to_string(), y.to_string())).collect(),
        notes: Vec::new(),
    }
}

fn read(name: &str, content: &str) -> Result<PairsTable, String> {
    let scratch = Scratch::new();
    read_pairs(&scratch.file(name, content)).map_err(|e| e.to_string())
}

#[test]
fn two_columns_are_pairs_whatever_they_are_called() {
    let expected = table(["left", "right"], &[["a", "1"], ["b", "2"]]);
    assert_eq!(read("p.csv", "left,right\na,1\nb,2\n"), Ok(expected.clone()));
    assert_eq!(read("p.tsv", "left\tright\r\na\t1\r\nb\t2\r\n"), Ok(expected));
}

#[test]
fn among_more_columns_names_decide() {
    let expected = table(["X_ID", "y_id"], &[["a", "1"]]);
    assert_eq!(read("p.csv", "note,y_id,X_ID\nhm,1,a\n"), Ok(expected));
    let error = read("p.csv", "a,b,c\n1,2,3\n").unwrap_err();
    assert!(error.ends_with(
        "is not a table of pairs: it has `a`, `b`, `c`; give it two columns of ids, or columns \
         named `x_id` and `y_id`, or name them with `--pairs-x` and `--pairs-y`"
    ));
}

#[test]
fn a_file_without_a_header_keeps_its_first_pair_as_names() {
    let pairs = read("p.csv", "7,7\n8,9\n").unwrap();
    assert_eq!(pairs, table(["7", "7"], &[["8", "9"]]));
    assert_eq!(read("p.csv", "a,b\n").unwrap().rows, []);
}

#[test]
fn ids_keep_their_spelling_but_lose_a_point_that_says_nothing() {
    let pairs = read("p.csv", "x,y\n1.0,007\n2.0,12\n").unwrap();
    assert_eq!(pairs.rows, table(["", ""], &[["1", "007"], ["2", "12"]]).rows);
    let pairs = read("p.csv", "x,y\n1.10,a\n1.0,b\n").unwrap();
    assert_eq!(pairs.rows[1].0, "1.0");
}

#[test]
fn a_gap_and_a_ragged_line_are_errors() {
    assert!(read("p.csv", "x,y\na,\n").unwrap_err().contains("row 0 (counted from 0) has no id"));
    assert!(read("p.csv", "x,y\na,b\nc\n").unwrap_err().contains("line 3: 1 cells"));
}

#[test]
fn pairs_survive_every_format_that_holds_texts() {
    let scratch = Scratch::new();
    let text = |v: [&str; 2]| ColumnData::Text(v.map(|v| Some(v.to_owned())).to_vec());
    let columns = vec![
        Column::new("y_id", ColumnData::Integer(vec![Some(1), Some(2)])),
        Column::new("x_id", text(["a", "b"])),
    ];
    let written = Table::new("pairs", columns).unwrap();
    for name in ["p.parquet", "p.feather", "p.csv", "p.tsv"] {
        let path = scratch.path(name);
        write(&path, &written).unwrap();
        let expected = table(["x_id", "y_id"], &[["a", "1"], ["b", "2"]]);
        assert_eq!(read_pairs(&path).unwrap(), expected, "{name}");
    }
}
