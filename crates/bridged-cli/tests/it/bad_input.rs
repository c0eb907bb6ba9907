//! Every kind of bad input gets a sentence and an exit code, never a panic or half a file.

use crate::support::{Folder, blobs};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 30, 3, 4));
    folder.write("y.csv", blobs("y", 30, 3, 5));
    folder.write("pairs.csv", "x_id,y_id\nx0,y2\nx1,y0\nx2,y1\n");
    folder
}

const FIT: &str = "fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged";

#[test]
fn nan_and_infinity_are_named_by_file_column_and_row_id() {
    for bad in ["NaN", "inf", "-inf", "1e99"] {
        let folder = folder();
        folder.write("x.csv", format!("id,a,b\np,1,2\nq,3,{bad}\nr,5,6\n"));
        folder.fails(1, FIT, &["x.csv", "`b`", "q"]);
    }
}

#[test]
fn a_missing_number_is_named_by_file_column_and_row_id() {
    let folder = folder();
    folder.write("y.csv", "id,a,b\np,1,2\nq,,4\nr,5,6\n");
    folder.fails(1, FIT, &["y.csv", "`a`", "q"]);
}

#[test]
fn ragged_vectors_are_named_by_row_and_length() {
    let folder = folder();
    folder.write("x.csv", "id,v\np,\"[1, 2, 3]\"\nq,\"[1, 2]\"\n");
    folder.fails(1, FIT, &["x.csv", "`v`", "q", "3", "2"]);
}

#[test]
fn a_table_without_numbers_is_refused() {
    let folder = folder();
    folder.write("x.csv", "id,word\np,hello\nq,world\n");
    folder.fails(1, FIT, &["x.csv", "no numeric column", "`word`"]);
}

#[test]
fn rows_of_another_dimension_than_the_model_s_are_refused() {
    let folder = folder();
    folder.ok(FIT);
    folder.fails(
        1,
        "predict m.bridged x.csv --reverse -o out.csv",
        &["x.csv", "fitted on 5 columns", "`v4` is not there"],
    );
}

#[test]
fn unknown_pair_ids_are_named_with_what_ids_look_like() {
    let folder = folder();
    folder.write("pairs.csv", "x_id,y_id\nx0,y2\nnobody,y0\n");
    folder.fails(1, FIT, &["pairs.csv", "pair 2", "`nobody`", "x.csv", "30 rows", "x0, x1, x2"]);
}

#[test]
fn swapped_pair_columns_are_recognised() {
    let folder = folder();
    folder.write("pairs.csv", "a,b\ny2,x0\ny0,x1\n");
    folder.fails(1, FIT, &["pairs.csv", "swap the two columns"]);
}

#[test]
fn duplicate_ids_are_named() {
    let folder = folder();
    folder.write("x.csv", "id,a\np,1\nq,2\np,3\n");
    folder.fails(1, FIT, &["x.csv", "`p`"]);
}

#[test]
fn a_pair_named_twice_counts_once_and_is_noted() {
    let folder = folder();
    folder.write("pairs.csv", "x_id,y_id\nx0,y2\nx1,y0\n");
    let fit = format!("{FIT} --no-history");
    folder.ok(&fit);
    let once = folder.read("m.bridged");
    folder.write("pairs.csv", "x_id,y_id\nx0,y2\nx1,y0\nx0,y2\n");
    let outcome = folder.run(&fit);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let note = "left out 1 of 3 pairs: an earlier pair names the same rows, and counts once";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    assert!(folder.read("m.bridged") == once);
}

#[test]
fn no_pairs_are_refused() {
    let folder = folder();
    folder.write("pairs.csv", "x_id,y_id\n");
    folder.fails(1, FIT, &["pairs.csv", "no pairs"]);
    folder.write("pairs.csv", "");
    folder.fails(1, FIT, &["pairs.csv", "empty"]);
}

#[test]
fn more_clusters_than_rows_are_refused() {
    let folder = folder();
    folder.fails(
        1,
        "fit --x x.csv --y y.csv --pairs pairs.csv -k 31 -o m.bridged",
        &["cannot cluster x", "between 1 and 30", "got 31"],
    );
    folder.fails(1, "cluster x.csv -k 31 -o l.csv", &["x.csv", "between 1 and 30", "got 31"]);
    folder.fails(2, "cluster x.csv -k 0 -o l.csv", &["-k", "at least 1", "got 0"]);
}

#[test]
fn size_bounds_that_cannot_hold_are_refused() {
    let folder = folder();
    for bounds in ["--min-size 11", "--max-size 9", "--min-size 9 --max-size 3"] {
        let command = format!("cluster x.csv --method balanced -k 3 {bounds} -o l.csv");
        folder.fails(1, &command, &["30 rows cannot be split into 3 clusters"]);
    }
}

#[test]
fn an_option_that_a_method_does_not_have_is_a_usage_error() {
    let folder = folder();
    folder.fails(2, "cluster x.csv -k 3 --min-size 4 -o l.csv", &["--min-size", "kmeans"]);
    folder.fails(2, "cluster x.csv -o l.csv", &["-k"]);
    folder.fails(2, &format!("{FIT} --bridge majority --alpha 0.5"), &["--alpha", "`refine`"]);
    folder.fails(2, &format!("{FIT} --set x.speed=9"), &["speed", "cluster"]);
    folder.fails(2, &format!("{FIT} --bridge telepathy"), &["telepathy", "majority"]);
}

#[test]
fn empty_and_missing_files_are_refused() {
    let folder = folder();
    folder.write("x.csv", "");
    folder.fails(1, FIT, &["x.csv", "empty"]);
    folder.write("x.csv", "id,a,b\n");
    folder.fails(1, FIT, &["x.csv", "no rows"]);
    std::fs::remove_file(folder.path("x.csv")).unwrap();
    folder.fails(1, FIT, &["x.csv", "does not exist"]);
}

#[test]
fn a_truncated_parquet_file_is_refused() {
    let folder = Folder::with_demo();
    let whole = folder.read("names.parquet");
    for part in [1, 4, whole.len() / 2, whole.len() - 1] {
        folder.write("cut.parquet", &whole[..part]);
        folder.fails(1, "predict m.bridged cut.parquet --reverse -o out.csv", &["cut.parquet"]);
    }
}

#[test]
fn a_file_that_is_not_what_its_extension_says_is_refused() {
    let folder = Folder::with_demo();
    std::fs::copy(folder.path("names.parquet"), folder.path("names.csv")).unwrap();
    folder.fails(1, "cluster names.csv -k 2 -o l.csv", &["names.csv", "Parquet"]);
    folder.write("text.parquet", "id,a\n1,2\n");
    folder.fails(1, "cluster text.parquet -k 2 -o l.csv", &["text.parquet", "text"]);
    folder.write("rows.xlsx", "PK");
    let unread = ["rows.xlsx", "written but not read", ".parquet"];
    folder.fails(1, "cluster rows.xlsx -k 2 -o l.csv", &unread);
}

#[test]
fn a_model_of_a_newer_version_asks_for_an_update() {
    let folder = Folder::with_demo();
    let mut bytes = folder.read("m.bridged");
    let mark = format!(r#"\"version\":{},"#, bridged::ENSEMBLE_VERSION).into_bytes();
    let at = bytes
        .windows(mark.len())
        .position(|w| w == &mark[..])
        .expect("the version is in the header");
    bytes[at + mark.len() - 2] = b'7';
    folder.write("newer.bridged", bytes);
    folder.fails(1, "inspect newer.bridged", &["newer.bridged", "newer release", "format 7"]);
}

#[test]
fn a_file_that_is_no_model_is_refused() {
    let folder = Folder::with_demo();
    folder.write("no.bridged", "hello");
    folder.fails(1, "inspect no.bridged", &["no.bridged", "not a usable bridged model"]);
    let whole = folder.read("m.bridged");
    folder.write("cut.bridged", &whole[..whole.len() / 2]);
    folder.fails(1, "inspect cut.bridged", &["cut.bridged", "not a usable bridged model"]);
    folder.fails(1, "inspect nowhere.bridged", &["nowhere.bridged"]);
}

#[test]
fn a_disk_that_is_full_leaves_the_old_file_and_no_half_of_a_new_one() {
    let folder = Folder::with_demo();
    let old = folder.read("m.bridged");
    let before = folder.files();
    // A limit on the size of files stands in for a full disk: writing fails in the middle.
    let limited = "trap '' XFSZ; ulimit -f 16; $BRIDGED";
    let fit = "fit --x pictures.parquet --y names.parquet --pairs pairs.csv -k 7 -o m.bridged";
    let predict = "predict m.bridged names.parquet --reverse --nearest 9 -o out.csv";
    for command in [fit, predict] {
        let outcome = folder.shell(&format!("{limited} {command}"));
        assert_eq!(outcome.code, 1, "{}{}", outcome.stdout, outcome.stderr);
        let file = command.rsplit(' ').next().unwrap();
        assert!(outcome.stderr.contains(file), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
    }
    assert_eq!(folder.files(), before);
    assert_eq!(folder.read("m.bridged"), old);
}

#[test]
fn an_output_path_that_is_a_directory_is_refused() {
    let folder = Folder::with_demo();
    for name in ["d.bridged", "d.csv"] {
        std::fs::create_dir(folder.path(name)).unwrap();
    }
    let fit = "fit --x pictures.parquet --y names.parquet --pairs pairs.csv -k 7 -o d.bridged";
    folder.fails(1, fit, &["d.bridged", "directory"]);
    folder.fails(1, "predict m.bridged pictures.parquet -o d.csv", &["d.csv", "directory"]);
    folder.fails(1, "predict m.bridged pictures.parquet -o no/where.csv", &["no/where.csv"]);
}

#[test]
fn evaluation_needs_aligned_rows_and_as_many_classes() {
    let folder = folder();
    folder.ok(FIT);
    folder.write("few.csv", blobs("y", 20, 3, 5));
    let few = "evaluate m.bridged --x x.csv --y few.csv --by-position";
    folder.fails(1, few, &["x has 30 rows and y has 20"]);
    folder.write("classes.csv", "class\na\nb\n");
    let evaluate = "evaluate m.bridged --x x.csv --y y.csv --by-position --labels";
    folder.fails(1, &format!("{evaluate} classes.csv"), &["2 classes for 30 rows"]);
    folder.fails(1, &format!("{evaluate} species"), &["species", "name"]);
}
