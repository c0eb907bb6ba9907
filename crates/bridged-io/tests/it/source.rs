//! Rows in many files: read as one table, or left where they are.

use crate::Scratch;
use bridged::columns::Missing;
use bridged_io::{
    Column, ColumnData, DoubleRows, Pool, ReadOptions, Select, Source, StoredRows, Table,
    TableError, write,
};
use bridged_math::Matrix;
use bridged_math::rows::Rows;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const COLS: usize = 3;

/// A table of some rows of a larger one: ids, vectors and a note.
fn table(rows: std::ops::Range<usize>) -> Table {
    let ids = rows.clone().map(|i| Some(format!("r{i}"))).collect();
    let notes = rows.clone().map(|i| (i % 3 > 0).then(|| format!("note {i}"))).collect();
    let entry = |i: usize, j: usize| ((rows.start + i) * COLS + j) as f32 * 0.5;
    let vectors = Matrix::from_fn(rows.len(), COLS, entry);
    let columns = vec![
        Column::new("id", ColumnData::Text(ids)),
        Column::new("v", ColumnData::Vector(vectors)),
        Column::new("note", ColumnData::Text(notes)),
    ];
    Table::new("t", columns).unwrap()
}

/// Parts of those lengths in a folder, of that format.
fn parts(scratch: &Scratch, lengths: &[usize], extension: &str) -> PathBuf {
    let folder = scratch.path("parts");
    std::fs::create_dir_all(&folder).unwrap();
    let mut first = 0;
    for (i, len) in lengths.iter().enumerate() {
        write(&folder.join(format!("part-{i:03}.{extension}")), &table(first..first + len))
            .unwrap();
        first += len;
    }
    folder
}

fn source(name: &Path) -> Source {
    Source::find(&[name]).unwrap()
}

fn pool(source: &Source) -> Result<Pool, TableError> {
    source.read_pool(&ReadOptions::default(), Select::default())
}

fn stored(source: &Source) -> Result<StoredRows, TableError> {
    source.stored(&ReadOptions::default(), Select::default())
}

/// All rows of a pass.
fn scanned(rows: &dyn Rows) -> Result<Matrix, String> {
    let mut data = Vec::new();
    let scan = rows.scan(&mut |first, part| {
        assert_eq!(first * rows.cols(), data.len());
        data.extend_from_slice(part.data());
        Ok(())
    });
    scan.map_err(|e| e.to_string())?;
    Ok(Matrix::new(rows.rows(), rows.cols(), data).unwrap())
}

fn without(scratch: &Scratch, text: impl ToString) -> String {
    text.to_string().replace(&format!("{}/", scratch.path("").display()).replace("//", "/"), "")
}

#[test]
fn a_folder_is_read_as_the_one_table_that_it_is_in_every_format() {
    for extension in ["parquet", "arrow", "csv"] {
        let scratch = Scratch::new();
        let folder = parts(&scratch, &[40, 0, 1, 59], extension);
        let source = source(&folder);
        assert_eq!(source.parts().len(), 4);
        let all = pool(&source).unwrap();
        let one = scratch.path(&format!("one.{extension}"));
        write(&one, &table(0..100)).unwrap();
        let expected = crate::pool(&one).unwrap();
        assert_eq!(all.rows, expected.rows, "{extension}");
        assert_eq!(all.ids, expected.ids);
        assert_eq!(all.texts(), expected.texts());
        let stored = stored(&source).unwrap();
        assert_eq!((stored.rows(), stored.cols()), (100, COLS));
        assert_eq!(scanned(&stored).unwrap(), expected.rows, "{extension}");
        let wanted = [0, 39, 39, 40, 41, 99];
        assert_eq!(stored.select(&wanted).unwrap(), expected.rows.view().select(wanted));
        let some = stored.pool_of(&[3, 40, 77]).unwrap();
        assert_eq!(some.ids, ["r3", "r40", "r77"]);
        assert_eq!(some.texts()[0].values[1].as_deref(), Some("note 40"));
        assert!(stored.pool_bytes() > 100 * 4 * COLS as u64);
        let mut ids = Vec::new();
        stored
            .for_each_pool(7, |first, pool| -> Result<(), TableError> {
                assert_eq!(first, ids.len());
                assert!(pool.rows.rows() <= 7);
                ids.extend(pool.ids);
                Ok(())
            })
            .unwrap();
        assert_eq!(ids, expected.ids);
    }
}

#[test]
fn arrays_are_read_in_slices_in_either_order_of_memory() {
    let scratch = Scratch::new();
    let array = |name: &str, rows: std::ops::Range<usize>, fortran: bool| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        let shape = format!("({}, {COLS})", rows.len());
        let order = if fortran { "True" } else { "False" };
        let text = format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': {shape}, }}");
        let text = format!("{text:<117}\n");
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        let entry = |i: usize, j: usize| ((i * COLS + j) as f32).to_le_bytes();
        match fortran {
            false => rows.for_each(|i| (0..COLS).for_each(|j| bytes.extend(entry(i, j)))),
            true => (0..COLS).for_each(|j| rows.clone().for_each(|i| bytes.extend(entry(i, j)))),
        }
        scratch.file(name, bytes)
    };
    let files = [array("a.npy", 0..50, false), array("b.npy", 50..130, true)];
    let source = Source::find(&files).unwrap();
    let expected = Matrix::from_fn(130, COLS, |i, j| (i * COLS + j) as f32);
    let stored = stored(&source).unwrap();
    assert_eq!(scanned(&stored).unwrap(), expected);
    assert_eq!(stored.select(&[49, 50, 129]).unwrap(), expected.view().select([49, 50, 129]));
    assert_eq!(pool(&source).unwrap().rows, expected);
    assert_eq!(stored.pool_of(&[51]).unwrap().ids, ["51"]);
}

#[test]
fn numbers_in_64_bits_are_moved_alike_in_memory_and_in_passes() {
    let scratch = Scratch::new();
    let folder = scratch.path("parts");
    std::fs::create_dir(&folder).unwrap();
    for part in 0..3 {
        let number = |i: usize| 1.7e9 + (part * 20 + i) as f64 * 0.25;
        let values = DoubleRows::new(20, 1, (0..20).map(number).collect()).unwrap();
        let data = ColumnData::DoubleVector { values, valid: Vec::new() };
        let table = Table::new("t", vec![Column::new("v", data)]).unwrap();
        write(&folder.join(format!("{part}.parquet")), &table).unwrap();
    }
    let source = source(&folder);
    let (all, stored) = (pool(&source).unwrap(), stored(&source).unwrap());
    assert!(!all.offset.is_none());
    assert_eq!(stored.offset(), &all.offset);
    assert_eq!(scanned(&stored).unwrap(), all.rows);
}

#[test]
fn gaps_are_refused_filled_or_left_out_as_in_memory() {
    let scratch = Scratch::new();
    let files = [
        scratch.file("a.csv", "id,f,g\na,1,2\nb,,4\n"),
        scratch.file("b.csv", "id,f,g\nc,5,NA\nd,7,8.5\ne,9,10\n"),
    ];
    let source = Source::find(&files).unwrap();
    let options = ReadOptions::default();
    for missing in [Missing::Mean, Missing::Drop] {
        let select = Select { missing, ..Select::default() };
        let all = source.read_pool(&options, select).unwrap();
        let stored = source.stored(&options, select).unwrap();
        assert_eq!(scanned(&stored).unwrap(), all.rows);
        assert_eq!(stored.notes(), all.notes);
        assert_eq!(stored.dropped(), all.dropped.len());
        let mut ids = Vec::new();
        let scan: Result<(), TableError> = stored.scan_ids(|first, some| {
            assert_eq!(first, ids.len());
            ids.extend_from_slice(some);
            Ok(())
        });
        scan.unwrap();
        assert_eq!(ids, all.ids);
        let last = all.rows.rows() - 1;
        assert_eq!(stored.select(&[0, last]).unwrap(), all.rows.view().select([0, last]));
        assert_eq!(stored.pool_of(&[last]).unwrap().ids, ["e"]);
        let found = stored.find_ids(&HashSet::from(["d", "b", "z"])).unwrap();
        assert_eq!(found["d"], last - 1);
        assert_eq!(found.contains_key("b"), missing == Missing::Mean);
    }
    let refused =
        [scanned(&stored(&source).unwrap()).unwrap_err(), pool(&source).unwrap_err().to_string()];
    for error in refused {
        let expected = "`a.csv`, column `f`, row `b`: the value is missing or not a number; repair or remove that \
                        row, or say what to do with `--missing drop` or `--missing mean`";
        assert_eq!(without(&scratch, error), expected);
    }
}

#[test]
fn a_bad_number_is_told_by_its_part_and_its_row() {
    let scratch = Scratch::new();
    let folder = parts(&scratch, &[10, 10], "parquet");
    let mut bad = table(20..30);
    let ColumnData::Vector(m) = &mut bad.columns[1].data else { panic!("vectors") };
    m.row_mut(4)[1] = f32::INFINITY;
    write(&folder.join("part-002.parquet"), &bad).unwrap();
    let source = source(&folder);
    let expected = "`parts/part-002.parquet`, column `v`, position 1 (counted from 0), row `r24`: the value is infinite \
                    or too large for a 32-bit float; remove or repair that row";
    assert_eq!(without(&scratch, scanned(&stored(&source).unwrap()).unwrap_err()), expected);
    assert_eq!(without(&scratch, pool(&source).unwrap_err()), expected);
    // A row is told by its number in its part where there are no ids.
    let options = ReadOptions::default();
    let by_number = Select { id: Some("row"), ..Select::default() };
    let by_number = source.stored(&options, by_number).unwrap();
    assert!(
        scanned(&by_number)
            .unwrap_err()
            .contains("part-002.parquet`, column `v`, position 1 (counted from 0), row `4`")
    );
}

#[test]
fn an_id_in_two_parts_is_an_error_unless_rows_are_numbered() {
    let scratch = Scratch::new();
    let folder = parts(&scratch, &[10, 10], "parquet");
    write(&folder.join("part-002.parquet"), &table(7..9)).unwrap();
    let source = source(&folder);
    let expected = "the id `r7` (column `id`) occurs in `parts/part-000.parquet`, row 7, and again in \
                    `parts/part-002.parquet`, row 0 (both counted from 0); ids must differ, or name `#row` as the id to \
                    number the rows";
    assert_eq!(without(&scratch, pool(&source).unwrap_err()), expected);
    let stored = stored(&source).unwrap();
    assert_eq!(without(&scratch, stored.check_ids().unwrap_err()), expected);
    assert_eq!(without(&scratch, stored.find_ids(&HashSet::from(["r7"])).unwrap_err()), expected);
    let numbered = Select { id: Some("row"), ..Select::default() };
    let options = ReadOptions::default();
    assert_eq!(source.read_pool(&options, numbered).unwrap().ids[21], "21");
    let numbered = source.stored(&options, numbered).unwrap();
    numbered.check_ids().unwrap();
    assert_eq!(numbered.find_ids(&HashSet::from(["21", "22"])).unwrap().len(), 1);
    assert_eq!(numbered.first_ids(2).unwrap(), ["0", "1"]);
}

#[test]
fn partition_folders_are_a_column_but_no_measurement() {
    let scratch = Scratch::new();
    for (year, rows) in [(2025, "a,1,2\n"), (2026, "b,3,4\n")] {
        std::fs::create_dir_all(scratch.path(&format!("t/year={year}"))).unwrap();
        scratch.file(&format!("t/year={year}/rows.csv"), format!("id,f,g\n{rows}"));
    }
    let source = source(&scratch.path("t"));
    let all = pool(&source).unwrap();
    assert_eq!(all.vector_names, ["f", "g"]);
    assert!(
        matches!(&all.carried[0].data, ColumnData::Integer(v) if *v == [Some(2025), Some(2026)])
    );
    let stored = stored(&source).unwrap();
    let some = stored.pool_of(&[1]).unwrap();
    assert_eq!(some.carried[0].name, "year");
    assert!(matches!(&some.carried[0].data, ColumnData::Integer(v) if *v == [Some(2026)]));
    assert_eq!(scanned(&stored).unwrap(), all.rows);
}

#[test]
fn a_part_that_does_not_fit_is_named_with_what_differs() {
    let scratch = Scratch::new();
    let a = scratch.file("a.csv", "id,f\na,1\n");
    let b = scratch.file("b.csv", "id,g\nb,1\n");
    let source = Source::find(&[&a, &b]).unwrap();
    for error in [pool(&source).unwrap_err(), stored(&source).unwrap_err()] {
        assert_eq!(without(&scratch, error), "`b.csv` does not fit `a.csv`: it has no column `f`");
    }
    let c = scratch.file("c.tsv", "id\tf\nb\t1\n");
    let mixed = without(&scratch, Source::find(&[&a, &c]).unwrap_err());
    let expected = "`a.csv` is CSV and `c.tsv` is TSV: rows that are read together have one format; name those of one, \
                    as in '*.csv'";
    assert_eq!(mixed, expected);
    let none = Source::find(&[scratch.file("n1.csv", "id,f\n"), scratch.file("n2.csv", "id,f\n")])
        .unwrap();
    assert!(pool(&none).unwrap_err().to_string().ends_with("has columns but no rows"));
}

#[test]
fn a_text_column_is_what_the_cells_of_all_parts_are() {
    let scratch = Scratch::new();
    let files = [
        scratch.file("a.csv", "id,f,code\n1,1,7\n2,2,8\n"),
        scratch.file("b.csv", "id,f,code\n3,2.5,x\n"),
    ];
    let source = Source::find(&files).unwrap();
    let select = Select { vector: Some("f"), ..Select::default() };
    let all = source.read_pool(&ReadOptions::default(), select).unwrap();
    assert_eq!(all.rows.data(), [1.0, 2.0, 2.5]);
    let stored = source.stored(&ReadOptions::default(), select).unwrap();
    assert_eq!(scanned(&stored).unwrap(), all.rows);
    let many: String = (0..5000).map(|i| format!("{i},{i}.5,1\n")).collect();
    let good = scratch.file("good.csv", format!("id,f,g\n{many}"));
    let bad = scratch.file("wrong.csv", "id,f,g\nz,1.5,oops\n");
    let source = Source::find(&[good, bad]).unwrap();
    let expected = "`wrong.csv`, column `g`: 1 of 5,001 cells is no number: `oops` in row `z`";
    let in_memory = without(&scratch, pool(&source).unwrap_err());
    assert!(
        in_memory
            .starts_with("`wrong.csv`, column `g`: 1 of 5,001 cells is no number: `oops` in row "),
        "{in_memory}"
    );
    let in_passes = without(&scratch, self::stored(&source).unwrap_err());
    assert!(in_passes.starts_with(&expected[..expected.len() - 4]), "{in_passes}");
}

#[test]
fn a_part_that_changes_or_goes_between_two_passes_is_named() {
    let scratch = Scratch::new();
    let folder = parts(&scratch, &[10, 10], "parquet");
    let source = source(&folder);
    let stored = stored(&source).unwrap();
    scanned(&stored).unwrap();
    let part = folder.join("part-001.parquet");
    let bytes = std::fs::read(&part).unwrap();
    std::fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
    let error = without(&scratch, scanned(&stored).unwrap_err());
    assert!(
        error.starts_with("`parts/part-001.parquet` has changed since the work began (it had "),
        "{error}"
    );
    let error = without(&scratch, stored.select(&[12]).unwrap_err());
    assert!(error.starts_with("`parts/part-001.parquet` has changed"), "{error}");
    stored.select(&[2]).expect("the other part is as it was");
    std::fs::remove_file(&part).unwrap();
    let error = without(&scratch, scanned(&stored).unwrap_err());
    assert_eq!(
        error,
        "`parts/part-001.parquet` was there when the work began and is gone now; nothing goes on without it"
    );
}

#[test]
fn a_truncated_part_is_named() {
    let scratch = Scratch::new();
    let folder = parts(&scratch, &[10, 10], "parquet");
    let part = folder.join("part-001.parquet");
    let bytes = std::fs::read(&part).unwrap();
    std::fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
    let error = without(&scratch, stored(&source(&folder)).unwrap_err());
    let expected = "`parts/part-001.parquet` is not a readable Parquet file: its end is missing; it was cut off while \
                    being written";
    assert_eq!(error, expected);
}

#[test]
fn one_large_row_group_is_read_in_small_pieces() {
    let scratch = Scratch::new();
    let path = scratch.path("one.parquet");
    let rows = 100_000;
    let values = Matrix::from_fn(rows, 64, |i, j| (i % 1000) as f32 + j as f32);
    let table = Table::new("t", vec![Column::new("v", ColumnData::Vector(values))]).unwrap();
    write(&path, &table).unwrap();
    let stored = stored(&source(&path)).unwrap();
    let (mut pieces, mut largest) = (0, 0);
    stored
        .scan(&mut |_, part| {
            pieces += 1;
            largest = largest.max(part.data().len() * 4);
            Ok(())
        })
        .unwrap();
    assert!(pieces >= 3 && largest <= 8 << 20, "{pieces} pieces, the largest of {largest} bytes");
}

#[test]
fn a_visitor_that_fails_ends_the_pass() {
    let scratch = Scratch::new();
    let stored = stored(&source(&parts(&scratch, &[10, 10, 10], "parquet"))).unwrap();
    let mut seen = 0;
    let ended = stored.scan(&mut |_, _| {
        seen += 1;
        Err(bridged_math::rows::RowsError("enough".into()))
    });
    assert_eq!((ended.unwrap_err().0.as_str(), seen), ("enough", 1));
}
