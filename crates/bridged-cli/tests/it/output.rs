//! What leaves the command as a table: types, names, formats, and what a spreadsheet makes of it.

use crate::support::Folder;
use bridged_io::{Column, ColumnData, Table, read, write};
use bridged_math::Matrix;
#[cfg(feature = "xlsx")]
use std::io::Read;

/// Pools of three groups; the rows to predict carry a column of every type, some with names of ours.
fn folder() -> Folder {
    let folder = Folder::new();
    let vectors = |shift: usize| {
        let entry = move |i: usize, j: usize| {
            let centre = if j == (i + shift) % 3 { 10.0 } else { 0.0 };
            centre + ((i * 37 + j * 11) % 17) as f32 / 17.0
        };
        ColumnData::Vector(Matrix::from_fn(30, 3, entry))
    };
    let text = |f: &dyn Fn(usize) -> Option<String>| ColumnData::Text((0..30).map(f).collect());
    let numbers = ColumnData::Number(
        (0..30).map(|i| if i == 4 { f64::NAN } else { i as f64 / 4.0 }).collect(),
    );
    let x = vec![
        Column::new("specimen", ColumnData::Integer((0..30).map(|i| Some(1000 + i)).collect())),
        Column::new("count", ColumnData::Integer((0..30).map(|i| (i != 3).then_some(i)).collect())),
        Column::new("length", numbers),
        Column::new(
            "wild",
            ColumnData::Bool((0..30).map(|i| (i != 5).then_some(i % 2 == 0)).collect()),
        ),
        Column::new("note", text(&|i| (i != 6).then(|| format!("=1+{i}")))),
        Column::new("status", text(&|i| Some(format!("kept {i}")))),
        Column::new("v", vectors(0)),
    ];
    let y = vec![
        Column::new("id", text(&|i| Some(format!("y{i}")))),
        Column::new(
            "year",
            ColumnData::Integer((0..30).map(|i| (i != 0).then_some(1900 + i)).collect()),
        ),
        Column::new("v", vectors(1)),
    ];
    let save = |name: &str, columns| {
        let path = folder.path(name);
        write(&path, &Table::new(&path, columns).unwrap()).unwrap();
    };
    save("x.parquet", x);
    save("y.parquet", y);
    let pairs: String = (0..9).map(|i| format!("{},y{i}\n", 1000 + i)).collect();
    folder.write("pairs.csv", format!("specimen,y\n{pairs}"));
    folder
        .ok("fit --x x.parquet --x-id specimen --y y.parquet --pairs pairs.csv -k 3 -o m.bridged");
    folder
}

const PREDICT: &str = "predict m.bridged x.parquet --id specimen";

fn data(folder: &Folder, name: &str, column: &str) -> ColumnData {
    let table = read(&folder.path(name)).unwrap();
    let known: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
    let found = table.column(column).unwrap_or_else(|| panic!("no {column} in {known:?}"));
    found.data.clone()
}

fn header(folder: &Folder, name: &str) -> String {
    folder.text(name).lines().next().unwrap().to_string()
}

#[test]
fn columns_carried_along_keep_their_types_names_and_gaps() {
    let folder = folder();
    let outcome = folder.run(&format!("{PREDICT} --nearest 1 -o out.parquet"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("note: column `status` of the input is `status_input` in the output"),
        "{}",
        outcome.stderr
    );
    let ColumnData::Integer(ids) = data(&folder, "out.parquet", "specimen") else { panic!("ids") };
    assert_eq!(ids[..2], [Some(1000), Some(1001)]);
    let ColumnData::Integer(counts) = data(&folder, "out.parquet", "count") else {
        panic!("count")
    };
    assert_eq!(counts[2..5], [Some(2), None, Some(4)]);
    let ColumnData::Number(lengths) = data(&folder, "out.parquet", "length") else {
        panic!("length")
    };
    assert!(lengths[4].is_nan() && lengths[5] == 1.25);
    let ColumnData::Bool(wild) = data(&folder, "out.parquet", "wild") else { panic!("wild") };
    assert_eq!(wild[4..7], [Some(true), None, Some(true)]);
    let ColumnData::Text(notes) = data(&folder, "out.parquet", "note") else { panic!("note") };
    assert_eq!((notes[6].as_deref(), notes[7].as_deref()), (None, Some("=1+7")));
    let ColumnData::Text(own) = data(&folder, "out.parquet", "status") else { panic!("status") };
    assert!(own.iter().all(|s| s.as_deref() == Some("linked")), "{own:?}");
    let ColumnData::Text(kept) = data(&folder, "out.parquet", "status_input") else {
        panic!("kept")
    };
    assert_eq!(kept[0].as_deref(), Some("kept 0"));
    // What the model carries has its type too, and what was missing is missing.
    let ColumnData::Integer(years) = data(&folder, "out.parquet", "nearest_1_year") else {
        panic!("year")
    };
    assert!(years.iter().flatten().all(|y| (1900..1930).contains(y)), "{years:?}");
    folder.ok("cluster x.parquet --id specimen -k 3 -o labels.parquet --quiet");
    assert!(matches!(data(&folder, "labels.parquet", "specimen"), ColumnData::Integer(_)));
}

#[test]
fn times_are_carried_along_as_they_were() {
    let folder = Folder::new();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../bridged-io/tests/data/kinds.parquet");
    let before = read(golden.as_ref()).unwrap();
    let times: Vec<String> = (before.columns.iter())
        .filter(|c| matches!(c.data, ColumnData::Time(_)))
        .map(|c| c.name.clone())
        .collect();
    assert!(!times.is_empty(), "the golden file has dates or times");
    std::fs::copy(golden, folder.path("kinds.parquet")).unwrap();
    let pool = bridged_io::read(&folder.path("kinds.parquet")).unwrap();
    let columns = pool.columns.into_iter().filter(|c| times.contains(&c.name));
    let rows = before.rows();
    let all: Vec<Column> = columns
        .chain([Column::new(
            "v",
            ColumnData::Vector(Matrix::from_fn(rows, 2, |i, j| (i * 7 + j) as f32)),
        )])
        .collect();
    write(&folder.path("t.parquet"), &Table::new("t", all).unwrap()).unwrap();
    folder.ok("cluster t.parquet -k 1 -o l.csv");
    let pairs = "x,y\n0,0\n";
    folder.write("pairs.csv", pairs);
    folder.ok("fit --x t.parquet --y t.parquet --pairs pairs.csv -k 1 -o m.bridged");
    folder.ok("predict m.bridged t.parquet -o out.parquet");
    let after = read(&folder.path("out.parquet")).unwrap();
    for name in times {
        let (ColumnData::Time(was), ColumnData::Time(is)) =
            (&before.column(&name).unwrap().data, &after.column(&name).unwrap().data)
        else {
            panic!("{name} is no longer a time")
        };
        assert_eq!(was.text, is.text, "{name}");
    }
}

#[test]
fn rows_that_are_unsure_have_no_answer_and_no_nearest_names() {
    let folder = folder();
    let json = folder.json(&format!("{PREDICT} --min-confidence 1 --nearest 2 -o out.parquet"));
    assert_eq!((json["answered"].as_u64(), json["status"]["unsure"].as_u64()), (Some(0), Some(30)));
    let ColumnData::Text(answers) = data(&folder, "out.parquet", "answer") else {
        panic!("answer")
    };
    assert!(answers.iter().all(|a| a.as_deref() == Some("abstain")), "{answers:?}");
    let ColumnData::Text(names) = data(&folder, "out.parquet", "nearest_1_id") else {
        panic!("id")
    };
    assert!(names.iter().all(Option::is_none), "{names:?}");
}

#[test]
fn a_vector_is_left_out_where_nobody_reads_it() {
    let folder = folder();
    folder.ok(&format!("{PREDICT} -o with.csv --quiet"));
    assert!(header(&folder, "with.csv").ends_with("answer,value_0,value_1,value_2"));
    folder.ok(&format!("{PREDICT} --no-values -o without.csv --quiet"));
    assert!(
        header(&folder, "without.csv").ends_with(",answer"),
        "{}",
        header(&folder, "without.csv")
    );
    folder.fails(2, &format!("{PREDICT} --no-values -o out.npy"), &["--no-values", "npy"]);
}

#[test]
fn more_neighbours_than_rows_are_all_rows() {
    let folder = folder();
    let outcome = folder.run(&format!("{PREDICT} --nearest 1000000000000 -o out.csv"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("note: --nearest 30: the pool has no more rows"),
        "{}",
        outcome.stderr
    );
    let header = header(&folder, "out.csv");
    assert!(header.contains("nearest_30_id") && !header.contains("nearest_31_id"), "{header}");
}

#[test]
fn text_that_a_spreadsheet_would_run_has_an_apostrophe_on_request() {
    let folder = folder();
    folder.ok(&format!("{PREDICT} -o raw.csv --quiet"));
    assert!(folder.text("raw.csv").contains(",=1+7,"));
    folder.ok(&format!("{PREDICT} --safe-csv -o safe.csv --quiet"));
    let safe = folder.text("safe.csv");
    assert!(safe.contains(",'=1+7,") && !safe.contains(",=1+"), "{safe}");
    // Numbers stay as they are, below zero too.
    let negative = |text: &str| text.split([',', '\n']).filter(|c| c.starts_with('-')).count();
    assert_eq!(negative(&folder.text("raw.csv")), negative(&safe));
}

#[test]
fn a_compressed_table_is_the_table_compressed() {
    let folder = folder();
    for ending in ["csv", "tsv"] {
        folder.ok(&format!("{PREDICT} -o out.{ending} --quiet"));
        folder.ok(&format!("{PREDICT} -o out.{ending}.gz --quiet"));
        let bytes = folder.read(&format!("out.{ending}.gz"));
        assert_eq!(bytes[..2], [0x1f, 0x8b]);
        let plain = folder.shell(&format!("gzip -dc out.{ending}.gz")).stdout;
        assert_eq!(plain, folder.text(&format!("out.{ending}")));
    }
    folder.fails(2, &format!("{PREDICT} -o out.parquet.gz"), &["out.parquet.gz", "extension"]);
}

/// A file inside a workbook.
#[cfg(feature = "xlsx")]
fn part(folder: &Folder, workbook: &str, name: &str) -> String {
    let bytes = std::io::Cursor::new(folder.read(workbook));
    let mut parts = zip::ZipArchive::new(bytes).expect("a workbook is a zip file");
    let mut text = String::new();
    parts.by_name(name).expect("the part is there").read_to_string(&mut text).unwrap();
    text
}

#[cfg(feature = "xlsx")]
#[test]
fn a_workbook_holds_the_table_without_formulas_and_without_the_vector() {
    let folder = folder();
    folder.ok(&format!("{PREDICT} --nearest 1 -o out.xlsx --quiet"));
    let sheet = part(&folder, "out.xlsx", "xl/worksheets/sheet1.xml");
    assert!(!sheet.contains("<f>"), "no cell is a formula");
    assert!(
        sheet.contains("=1+7")
            && sheet.contains("nearest_1_year")
            && sheet.contains("status_input")
    );
    assert!(!sheet.contains("value_0"), "the vector is left out");
    assert!(sheet.contains("<v>1000</v>") && sheet.contains("t=\"b\""), "numbers and truth values");
    folder.ok(&format!("{PREDICT} --values -o values.xlsx --quiet"));
    assert!(part(&folder, "values.xlsx", "xl/worksheets/sheet1.xml").contains("value_2"));
    folder.ok("cluster x.parquet --id specimen -k 3 -o labels.xlsx");
    folder.ok("inspect m.bridged -o links.xlsx");
    // Equal tables give equal bytes.
    folder.ok(&format!("{PREDICT} --nearest 1 -o again.xlsx --quiet"));
    assert_eq!(folder.read("out.xlsx"), folder.read("again.xlsx"));
}

#[test]
fn links_go_to_a_table_in_any_format() {
    let folder = Folder::with_demo();
    for ending in ["csv", "parquet", "csv.gz"] {
        let out = folder.ok(&format!("inspect m.bridged -o links.{ending}"));
        assert_eq!(out, format!("wrote links.{ending}\n"));
    }
    let links = folder.text("links.csv");
    let names = "direction,cluster,rows,pairs,members,linked,share,linked_rows,linked_members,\
                 support,expected_error,status,answer";
    assert_eq!(links.lines().next(), Some(names));
    assert!(links.contains("\nx to y,0,") && links.contains("\ny to x,0,"), "{links}");
    let ColumnData::Integer(clusters) = data(&folder, "links.parquet", "cluster") else { panic!() };
    let distinct: std::collections::BTreeSet<_> = clusters.iter().flatten().collect();
    assert_eq!(distinct.len(), 7);
    assert_eq!(folder.read("links.csv.gz")[..2], [0x1f, 0x8b]);
}

#[test]
fn a_column_to_show_that_is_not_there_is_refused() {
    let folder = Folder::with_demo();
    folder.ok("inspect m.bridged --show-y name");
    let parts = ["--show-y", "`nmae`", "did you mean `name`?"];
    folder.fails(2, "inspect m.bridged --show-y nmae", &parts);
    folder.fails(2, "inspect m.bridged --show-x nmae --json", &["--show-x", "it carries glyph"]);
}
