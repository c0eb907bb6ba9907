//! How tables are read: dialects, compression, missing numbers, columns by name, 64-bit numbers, limits.

use crate::Scratch;
use bridged::columns::Fitted;
use bridged::offset::Offset;
use bridged_io::{
    Column, ColumnData, DoubleRows, Missing, Pool, ReadOptions, Select, Table, TableError, read,
    read_pairs_with, read_with, write,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

fn pick(content: &str, select: Select<'_>) -> Result<Pool, TableError> {
    let scratch = Scratch::new();
    read(&scratch.file("t.csv", content))?.into_pool(select)
}

fn error(content: &str, select: Select<'_>) -> String {
    pick(content, select).unwrap_err().to_string()
}

#[test]
fn semicolons_and_decimal_commas_are_recognised_and_said() {
    let scratch = Scratch::new();
    let path = scratch.file("t.csv", "id;f0;f1;note\na;0,5;-1,25;x, y\nb;2;1e3;z\n");
    let table = read(&path).unwrap();
    assert_eq!(table.notes, ["read with semicolons between the cells, and decimal commas"]);
    let pool = table.into_pool(Select::default()).unwrap();
    assert_eq!(pool.rows.data(), [0.5, -1.25, 2.0, 1000.0]);
    assert_eq!(pool.vector_names, ["f0", "f1"]);
    // Points are decimals too, but not both in one column.
    let path = scratch.file("p.csv", "id;f0\na;0.5\nb;1.5\n");
    let table = read(&path).unwrap();
    assert_eq!(table.notes, ["read with semicolons between the cells"]);
    assert_eq!(table.into_pool(Select::default()).unwrap().rows.data(), [0.5, 1.5]);
}

#[test]
fn what_the_user_says_goes_before_what_the_file_looks_like() {
    let scratch = Scratch::new();
    let path = scratch.file("t.csv", "a|b\n0,5|1\n1,5|2\n");
    let options =
        ReadOptions { separator: Some(b'|'), decimal: Some(','), ..ReadOptions::default() };
    let table = read_with(&path, &options).unwrap();
    assert!(table.notes.is_empty());
    assert_eq!(table.into_pool(Select::default()).unwrap().rows.data(), [0.5, 1.0, 1.5, 2.0]);
    let path = scratch.file("c.csv", "a,b\n\"0,5\",1\n");
    let options = ReadOptions { decimal: Some(','), ..ReadOptions::default() };
    let pool = read_with(&path, &options).unwrap().into_pool(Select::default()).unwrap();
    assert_eq!(pool.rows.data(), [0.5, 1.0]);
}

#[test]
fn compressed_text_is_read_as_if_it_were_not() {
    let scratch = Scratch::new();
    let gzip = |content: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let mut bytes = gzip("id,f\na,1\n");
    bytes.extend(gzip("b,2\n")); // members one after the other, as `cat` makes them
    let pool = crate::pool(&scratch.file("t.csv.gz", bytes)).unwrap();
    assert_eq!((pool.ids, pool.rows.data()), (vec!["a".into(), "b".into()], &[1.0f32, 2.0][..]));
    let pool = crate::pool(&scratch.file("t.TSV.GZ", gzip("id\tf\na\t3\n"))).unwrap();
    assert_eq!(pool.rows.data(), [3.0]);
    let plain = crate::pool(&scratch.file("p.csv.gz", "id,f\na,1\n")).unwrap_err().to_string();
    assert!(plain.contains("is named like a gzip file, but this looks like text"), "{plain}");
    let cut = &gzip("id,f\na,1\n")[..20];
    let cut = crate::pool(&scratch.file("c.csv.gz", cut)).unwrap_err().to_string();
    assert!(cut.contains("could not be read"), "{cut}");
}

#[test]
fn missing_numbers_are_refused_dropped_or_filled_as_asked() {
    let content = "id,name,a,b\nr,p,1,10\ns,q,,20\nt,r,3,30\n";
    let by = |missing| Select { missing, ..Select::default() };
    let refusal = error(content, by(Missing::Refuse));
    assert!(refusal.contains("column `a`, row `s`"), "{refusal}");
    assert!(refusal.contains("`--missing drop` or `--missing mean`"), "{refusal}");

    let pool = pick(content, by(Missing::Drop)).unwrap();
    assert_eq!(
        (pool.ids.as_slice(), pool.dropped.as_slice()),
        (&["r", "t"].map(String::from)[..], &["s".to_owned()][..])
    );
    assert_eq!(pool.rows.data(), [1.0, 10.0, 3.0, 30.0]);
    assert_eq!(pool.texts()[0].values, [Some("p".to_owned()), Some("r".to_owned())]);
    assert!(pool.notes.iter().any(|n| n.starts_with("left out 1 of 3 rows")), "{:?}", pool.notes);

    let pool = pick(content, by(Missing::Mean)).unwrap();
    assert_eq!(pool.rows.data(), [1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
    // A model's mean stands in afterwards, whatever the file holds.
    let (vector, offset, mean) = (["a", "b"].map(String::from), Offset::default(), [7.0, 8.0]);
    let fitted = Fitted { id: None, vector: &vector, cols: 2, offset: &offset, mean: &mean };
    let select = Select { fitted: Some(fitted), ..by(Missing::Mean) };
    assert_eq!(pick("id,a,b\nr,,5\n", select).unwrap().rows.data(), [7.0, 5.0]);

    assert!(error("id,a\nr,\ns,\n", by(Missing::Drop)).contains("no list column and no numeric"));
    let none = error("id,a,b\nr,1,\ns,,2\n", by(Missing::Drop));
    assert!(none.contains("numbers are missing in each of its 2 rows"), "{none}");
}

#[test]
fn a_vector_that_is_missing_can_be_dropped_but_not_filled() {
    let content = "id,v\na,\"[1, 2]\"\nb,\nc,\"[3, 4]\"\n";
    let by = |missing| Select { missing, ..Select::default() };
    let pool = pick(content, by(Missing::Drop)).unwrap();
    assert_eq!(
        (pool.rows.data(), pool.dropped.as_slice()),
        (&[1.0f32, 2.0, 3.0, 4.0][..], &["b".to_owned()][..])
    );
    for missing in [Missing::Refuse, Missing::Mean] {
        assert!(error(content, by(missing)).contains("`--missing drop`"));
    }
}

#[test]
fn a_table_is_read_by_the_names_that_a_model_was_fitted_on() {
    let vector = ["f1", "f2"].map(String::from);
    let offset = Offset::default();
    let fitted =
        Fitted { id: Some("code"), vector: &vector, cols: 2, offset: &offset, mean: &[0.0, 0.0] };
    let by = Select { fitted: Some(fitted), ..Select::default() };
    let pool = pick("f2,other,code,f1\n2,9,a,1\n", by).unwrap();
    assert_eq!(
        (pool.rows.data(), pool.ids.as_slice()),
        (&[1.0f32, 2.0][..], &["a".to_owned()][..])
    );
    assert_eq!(pool.notes, ["left out what the model was not fitted on: `other`"]);
    let missing = error("f2,F_1,code\n2,1,a\n", by);
    assert!(
        missing.contains("fitted on 2 columns, of which `f1` is not there; is `F_1` your `f1`?"),
        "{missing}"
    );
    let text = error("f1,f2\nx,2\n", by);
    assert!(text.contains("column `f1` holds texts"), "{text}");
}

#[test]
fn a_wide_table_says_what_was_taken_and_what_looks_like_a_counter() {
    let rows: String =
        (0..12).map(|i| format!("r{i},{i},{},{}.5\n", 1990 + i % 3, i * i)).collect();
    let pool = pick(&format!("id,n,year,width\n{rows}"), Select::default()).unwrap();
    assert_eq!(pool.notes[0], "took 3 numeric columns as the vector: `n`, `year`, `width`");
    assert!(pool.notes[1].starts_with("`n` (counts the rows), `year` (by its name) look like"));
    let exclude = ["n", "y*"].map(String::from);
    let select = Select { exclude: &exclude, ..Select::default() };
    let pool = pick(&format!("id,n,year,width\n{rows}"), select).unwrap();
    assert_eq!(pool.notes, ["took 1 numeric column as the vector: `width`"]);
    assert_eq!(pool.texts().len(), 2, "what is left out is carried");
}

#[test]
fn sixty_four_bit_numbers_keep_their_differences_in_every_format() {
    let far = [[1.7e9, 0.5], [1.7e9 + 60.0, 0.25], [1.7e9 + 30.0, 0.0]];
    let scratch = Scratch::new();
    let values = DoubleRows::new(3, 2, far.concat()).unwrap();
    let column = Column::new("v", ColumnData::DoubleVector { values, valid: Vec::new() });
    let table = Table::new("t", vec![column]).unwrap();
    let mut paths = Vec::new();
    for name in ["t.parquet", "t.arrow", "t.npy", "t.csv"] {
        write(&scratch.path(name), &table).unwrap();
        paths.push(scratch.path(name));
    }
    let lists = "v\n\"[1700000000, 0.5]\"\n\"[1700000060, 0.25]\"\n\"[1700000030, 0]\"\n";
    paths.push(scratch.file("lists.csv", lists));
    for path in paths {
        let pool = crate::pool(&path).unwrap();
        assert_eq!(pool.offset.get(), [1.7e9 + 30.0, 0.0], "{}", path.display());
        assert_eq!(pool.rows.data(), [-30.0, 0.5, 30.0, 0.25, 0.0, 0.0], "{}", path.display());
        assert_eq!(pool.offset.raise_rows(pool.rows.view()), far.concat());
    }
}

#[test]
fn a_model_s_offset_is_taken_off_new_rows_whatever_they_would_need_themselves() {
    let (vector, offset) = (["t".to_owned()], Offset::new(vec![1.7e9 + 30.0]));
    let fitted = Fitted { id: None, vector: &vector, cols: 1, offset: &offset, mean: &[0.0] };
    let select = Select { fitted: Some(fitted), ..Select::default() };
    // By themselves these rows would not be moved: zero makes their spread large.
    let pool = pick("t\n1700000060\n0\n", select).unwrap();
    assert_eq!(pool.rows.data(), [30.0, -(1.7e9f32) - 30.0]);
    assert_eq!(pool.offset, offset);
    assert!(pick("t\n1700000060\n0\n", Select::default()).unwrap().offset.is_none());
}

#[test]
fn numbers_that_vanish_in_32_bits_are_refused() {
    let vanished = error("v\n1e-50\n2e-50\n", Select::default());
    assert!(vanished.contains("holds numbers up to"), "{vanished}");
    assert!(vanished.contains("multiply all by 1e50"), "{vanished}");
    assert!(pick("v\n0\n0\n", Select::default()).is_ok());
}

#[test]
fn pairs_can_be_named_by_their_columns() {
    let scratch = Scratch::new();
    let path = scratch.file("p.csv", "photo;species;note\na;1;x\nb;2;y\n");
    let named = |x, y| {
        let options = ReadOptions { pairs_x: x, pairs_y: y, ..ReadOptions::default() };
        read_pairs_with(&path, &options).map_err(|e| e.to_string())
    };
    let pairs = named(Some("species"), Some("photo")).unwrap();
    assert_eq!(pairs.rows, [("1".into(), "a".into()), ("2".into(), "b".into())]);
    assert_eq!(pairs.notes, ["read with semicolons between the cells"]);
    let typo = named(Some("spices"), Some("photo")).unwrap_err();
    assert!(typo.contains("has no column `spices`; did you mean `species`?"), "{typo}");
    assert!(named(Some("photo"), None).unwrap_err().contains("`--pairs-x` and `--pairs-y`"));
    assert!(named(Some("photo"), Some("photo")).is_err());
}

#[test]
fn a_hundred_thousand_columns_take_seconds_not_hours() {
    let start = std::time::Instant::now();
    let names: Vec<String> = (0..100_000).map(|i| format!("f{i}")).collect();
    let numbers: Vec<String> = (0..100_000).map(|i| format!("0.{i}")).collect();
    let content = format!("{}\n{}\n{}\n", names.join(","), numbers.join(","), numbers.join(","));
    let offset = Offset::default();
    let fitted = Fitted { id: None, vector: &names, cols: names.len(), offset: &offset, mean: &[] };
    let pool = pick(&content, Select { fitted: Some(fitted), ..Select::default() }).unwrap();
    assert_eq!(pool.rows.cols(), 100_000);
    let pool = pick(&content, Select::default()).unwrap();
    assert!(pool.notes[0].len() < 200, "{}", pool.notes[0]);
    // The quadratic way took minutes in this build.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn names_and_ids_of_megabytes_are_cut_in_messages() {
    let long = "n".repeat(10_000_000);
    for content in [
        format!("id,v\n{long},1\n{long},2\n"),
        format!("id,{long}\na,1\nb,inf\n"),
        format!("{long}\nx\n"),
        format!("id,v\n{long},inf\n"),
    ] {
        let error = error(&content, Select::default());
        assert!(error.len() < 600, "{} bytes", error.len());
    }
}

#[test]
#[cfg(unix)]
fn a_line_without_an_end_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.path("zero.csv");
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    let error = crate::pool(&path).unwrap_err().to_string();
    assert!(error.contains("line 1 is longer than 268 MB"), "{error}");
}
