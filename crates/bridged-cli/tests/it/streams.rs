//! Tables that are written as a stream: to standard output, and as folders of files of so many rows that go on where they
//! were stopped.

use crate::support::{Folder, blobs};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const FIT: &str =
    "fit --x x.csv --y y.csv --pairs pairs.csv --cluster kmeans --members one --clusters 3";

/// Pools, the model `m.bridged`, and `rows` rows to predict in `many.csv`.
fn folder(rows: usize) -> Folder {
    let folder = Folder::new();
    folder.write("pairs.csv", "x_id,y_id\nx0,y0\nx1,y1\nx2,y2\nx3,y3\nx61,y61\n");
    folder.write("x.csv", blobs("x", 90, 3, 4));
    folder.write("y.csv", blobs("y", 90, 3, 5));
    folder.write("many.csv", blobs("x", rows, 3, 4));
    folder.ok(&format!("{FIT} -o m.bridged"));
    folder
}

/// The bytes of all files of a folder, without its list.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let file = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, std::fs::read(entry.path()).expect("a file"))
    };
    entries.map(file).filter(|(name, _)| name != "_bridged.json").collect()
}

#[test]
fn a_table_on_standard_output_is_the_table_of_a_file() {
    let folder = folder(300);
    for (verb, extension, flags) in [
        ("predict m.bridged many.csv", "csv", ""),
        ("predict m.bridged many.csv --in-passes", "csv", " --format csv"),
        ("predict m.bridged many.csv", "tsv", " --format tsv"),
        ("cluster many.csv -k 3", "csv", ""),
        ("cluster many.csv -k 3 --in-passes", "tsv", " --format TSV"),
        ("inspect m.bridged", "csv", ""),
    ] {
        folder.ok(&format!("{verb} -o out.{extension} --force"));
        let out = folder.run(&format!("{verb} -o -{flags}"));
        assert_eq!(out.code, 0, "{verb}: {}", out.stderr);
        assert_eq!(out.stdout, folder.text(&format!("out.{extension}")), "{verb}");
        assert!(out.stderr.contains("wrote -"), "{verb}: {}", out.stderr);
    }
    // An Arrow stream is read from a pipe again.
    let piped = "$BRIDGED predict m.bridged many.csv -o - --format arrow -q \
                 | $BRIDGED cluster - -k 3 --columns 'value*' -o - -q | wc -l";
    let piped = piped.replace("--columns 'value*'", "--vector value");
    let out = folder.shell(&piped);
    assert_eq!((out.stdout.trim(), out.stderr.as_str()), ("301", ""));
}

#[test]
fn what_cannot_be_written_to_standard_output_is_said_before_any_work() {
    let folder = folder(3);
    let to = |flags: &str| format!("predict m.bridged many.csv -o - {flags}");
    folder.fails(2, &to("--format parquet"), &["Parquet cannot be written into a pipe", "csv"]);
    folder.fails(2, &to("--format npy"), &["npy cannot be written into a pipe"]);
    folder.fails(2, &to("--format word"), &["unknown format", "arrow"]);
    folder.fails(2, &to("--json"), &["--json prints on standard output"]);
    folder.fails(2, &to("--rows-per-file 3"), &["--rows-per-file writes a folder"]);
    folder.fails(2, "predict m.bridged many.csv -o out.csv --format csv", &["the extension of"]);
    folder.fails(
        2,
        "cluster many.csv -k 2 -o - --format parquet",
        &["cannot be written into a pipe"],
    );
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_ends_the_work_quietly() {
    let folder = folder(40_000);
    for passes in ["", "--in-passes"] {
        let line = format!(
            "{{ $BRIDGED predict m.bridged many.csv -o - {passes}; echo code $? >&2; }} | head -n 1"
        );
        let out = folder.shell(&line);
        assert!(out.stdout.starts_with("id,name,cluster"), "{}", out.stdout);
        assert_eq!(out.stderr, "code 0\n", "{passes}");
    }
}

#[test]
fn a_folder_of_files_holds_the_table_in_order() {
    let folder = folder(2_500);
    for (verb, rows) in [("predict m.bridged many.csv", 700), ("cluster many.csv -k 3", 1_000)] {
        for (format, extension) in
            [("", "parquet"), ("--format csv", "csv"), ("--format arrow", "arrow")]
        {
            let out = format!("out-{rows}-{extension}");
            folder.ok(&format!("{verb} -o once.{extension} --force"));
            let said = folder.ok(&format!("{verb} -o {out} --rows-per-file {rows} {format}")
                .trim_end()
                .replace("  ", " "));
            let files = 2_500usize.div_ceil(rows);
            assert!(said.contains(&format!("wrote {files} files in {out}")), "{said}");
            let names: Vec<String> = contents(&folder.path(&out)).into_keys().collect();
            let expected = (0..files).map(|at| format!("part-{at:05}.{extension}"));
            assert_eq!(names, expected.collect::<Vec<_>>());
            let once =
                bridged_io::read(&folder.path(&format!("once.{extension}"))).expect("a table");
            let source = bridged_io::Source::find(&[folder.path(&out)]).expect("parts");
            let parts = source.read(&bridged_io::ReadOptions::default()).expect("a table");
            let columns = |table: &bridged_io::Table| {
                let column = |c: &bridged_io::Column| (c.name.clone(), format!("{:?}", c.data));
                table.columns.iter().map(column).collect::<Vec<_>>()
            };
            assert_eq!(columns(&parts), columns(&once), "{verb} {extension}");
        }
    }
}

#[test]
fn the_files_have_the_same_bytes_however_the_rows_are_cut() {
    let folder = folder(2_500);
    std::fs::create_dir(folder.path("cut")).expect("a folder");
    let table = folder.text("many.csv");
    let lines: Vec<&str> = table.lines().collect();
    for (at, part) in lines[1..].chunks(617).enumerate() {
        folder.write(&format!("cut/{at}.csv"), format!("{}\n{}\n", lines[0], part.join("\n")));
    }
    for threads in [1, 2] {
        for rows in ["many.csv", "cut"] {
            let out = format!("{rows}-{threads}");
            let command = format!("predict m.bridged {rows} --threads {threads}");
            folder.ok(&format!("{command} -o {out} --rows-per-file 700"));
            folder.ok(&format!("{command} --in-passes -o {out}.parquet"));
            assert_eq!(contents(&folder.path(&out)), contents(&folder.path("many.csv-1")), "{out}");
            assert!(folder.read(&format!("{out}.parquet")) == folder.read("many.csv-1.parquet"));
        }
    }
}

#[test]
fn rows_that_break_off_end_the_work_and_leave_what_is_complete() {
    let folder = folder(3);
    // Numbers of 32 bits are looked at when they are read.
    let value = |i, c| if (i, c) == (39_000, 2) { f32::INFINITY } else { (i % 11 + c) as f32 };
    let ids = (0..40_000).map(|i| Some(format!("x{i}"))).collect();
    let columns = vec![
        bridged_io::Column::new("id", bridged_io::ColumnData::Text(ids)),
        bridged_io::Column::new(
            "v",
            bridged_io::ColumnData::Vector(bridged_math::Matrix::from_fn(40_000, 4, value)),
        ),
    ];
    let table = bridged_io::Table::new("t", columns).expect("a table");
    bridged_io::write(&folder.path("bad.parquet"), &table).expect("a file");
    let error = ["`bad.parquet`", "x39000", "infinite"];
    folder.fails(1, "predict m.bridged bad.parquet --in-passes -o out.csv", &error);
    folder.fails(1, "predict m.bridged bad.parquet --in-passes -o out.parquet", &error);
    let out = folder.run("predict m.bridged bad.parquet -o out --rows-per-file 1000");
    assert_eq!(out.code, 1, "{}", out.stderr);
    assert!(out.stderr.contains("x39000"), "{}", out.stderr);
    let files = contents(&folder.path("out"));
    assert!((1..40).contains(&files.len()), "{}", files.len());
    let out = folder.run("predict m.bridged bad.parquet --in-passes -o -");
    assert_eq!(out.code, 1, "{}", out.stderr);
}

/// Starts a command, and kills it as soon as a file is there.
fn kill_at(folder: &Folder, arguments: &str, file: &Path) -> bool {
    let mut command = folder.command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let started = Instant::now();
    while !file.exists() {
        assert!(started.elapsed() < Duration::from_secs(120), "{} comes", file.display());
        if child.try_wait().expect("a child").is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = child.kill();
    child.wait().expect("it ends");
    true
}

#[test]
fn a_run_that_is_killed_goes_on_and_has_the_bytes_of_one_that_was_not() {
    let folder = folder(30_000);
    for (verb, format) in [
        ("predict m.bridged many.csv", "parquet"),
        ("predict m.bridged many.csv", "csv"),
        ("cluster many.csv -k 3", "parquet"),
    ] {
        let command = |out: &str| format!("{verb} -o {out} --rows-per-file 1000 --format {format}");
        let remove = |out: &str| drop(std::fs::remove_dir_all(folder.path(out)));
        remove("whole");
        folder.ok(&command("whole"));
        let whole = contents(&folder.path("whole"));
        assert_eq!(whole.len(), 30);
        let mut killed = 0;
        for at in ["_bridged.json", "part-00000", "part-00003", "part-00017"] {
            remove("out");
            let name = if at.starts_with('_') { at.to_owned() } else { format!("{at}.{format}") };
            killed += usize::from(kill_at(
                &folder,
                &command("out"),
                &folder.path(&format!("out/{name}")),
            ));
            let said = folder.ok(&command("out"));
            let done = said.contains("were there already") || said.contains("wrote 30 files");
            assert!(done || said.contains("is finished"), "{at}: {said}");
            assert!(contents(&folder.path("out")) == whole, "{verb} {format} killed at {at}");
        }
        assert!(killed > 0, "no run was killed");
    }
}

#[test]
fn a_folder_that_is_finished_or_of_something_else_is_left_alone() {
    let folder = folder(250);
    let command = "predict m.bridged many.csv -o out --rows-per-file 100";
    folder.ok(command);
    let before = contents(&folder.path("out"));
    let said = folder.ok(command);
    assert!(
        said.contains("`out` is finished: 250 rows in 3 files; --force writes them again"),
        "{said}"
    );
    assert_eq!(folder.json(command)["finished_before"], true);
    folder.fails(2, &format!("{command} --level 0.5"), &["other settings", "--force"]);
    folder.fails(2, "predict m.bridged many.csv -o out --rows-per-file 90", &["other files"]);
    folder.fails(2, "predict m.bridged x.csv -o out --rows-per-file 100", &["other rows"]);
    folder.fails(2, "cluster many.csv -k 3 -o out --rows-per-file 100", &["other command"]);
    folder.ok(&format!("{FIT} --seed 7 --max-iter 1 -o m.bridged"));
    folder.fails(2, command, &["other model"]);
    assert_eq!(contents(&folder.path("out")), before);
    // Files of others stay, also when ours are written again.
    folder.write("out/notes.txt", "mine");
    folder.ok(&format!("{command} --force"));
    assert_eq!(folder.text("out/notes.txt"), "mine");
    folder.write("theirs.txt", "");
    std::fs::create_dir(folder.path("theirs")).expect("a folder");
    folder.write("theirs/part-00000.parquet", "mine");
    let theirs = "predict m.bridged many.csv -o theirs --rows-per-file 100";
    folder.fails(2, theirs, &["`part-00000.parquet`, which this command has not made"]);
    folder.fails(2, &format!("{theirs} --force"), &["which this command has not made"]);
    assert_eq!(folder.text("theirs/part-00000.parquet"), "mine");
    folder.fails(2, "predict m.bridged many.csv -o x.csv --rows-per-file 100", &["is a file"]);
    folder.fails(2, "predict m.bridged out -o out --rows-per-file 100", &["would be read with it"]);
    folder.fails(
        2,
        "predict m.bridged theirs -o theirs/new --rows-per-file 100",
        &["would be read"],
    );
}

#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_says_what_is_kept() {
    let folder = folder(60_000);
    let command = "predict m.bridged many.csv -o out --rows-per-file 500";
    let mut child = folder.command(command);
    let child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let started = Instant::now();
    while !folder.path("out/part-00003.parquet").exists() {
        assert!(started.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill");
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("are complete, the same command goes on after them"), "{stderr}");
    let said = folder.ok(command);
    assert!(said.contains("rows were there already"), "{said}");
    assert_eq!(contents(&folder.path("out")).len(), 120);
}

#[test]
fn the_nearest_rows_are_looked_for_among_all_that_are_stored() {
    let folder = Folder::new();
    folder.write("pairs.csv", "x_id,y_id\nx0,y0\nx1,y1\nx2,y2\nx3,y3\n");
    folder.write("x.csv", blobs("x", 60, 3, 4));
    std::fs::create_dir(folder.path("y")).expect("a folder");
    let table = blobs("y", 12_000, 3, 5);
    let lines: Vec<&str> = table.lines().collect();
    for (at, part) in lines[1..].chunks(5_000).enumerate() {
        folder.write(&format!("y/{at}.csv"), format!("{}\n{}\n", lines[0], part.join("\n")));
    }
    let fit = "fit --x x.csv --y y --pairs pairs.csv --cluster kmeans --members one --clusters 3 --restarts 1";
    folder.ok(&format!("{fit} --in-passes -o stored.bridged"));
    folder.ok(&format!("{fit} -o held.bridged"));
    folder.write("new.csv", blobs("n", 7, 3, 4));
    folder.ok("predict held.bridged new.csv --nearest 5 -o held.csv");
    folder.ok("predict stored.bridged new.csv --nearest 5 -o stored.csv");
    assert_eq!(folder.text("held.csv"), folder.text("stored.csv"));
    let some = folder.run("predict stored.bridged new.csv --nearest 5 --among held -o some.csv");
    let note = "--nearest looks among the 10,00";
    assert!(some.stderr.contains(note), "{}", some.stderr);
    // Where the files are not what they were, no row of them is named.
    let shown = folder.ok("inspect stored.bridged --verify");
    assert!(shown.contains("their contents are those of the fit"), "{shown}");
    let text = folder.text("y/1.csv");
    folder.write("y/1.csv", text.replace("y5001,", "y5O01,"));
    let shown = folder.ok("inspect stored.bridged --verify");
    assert!(shown.contains("1.csv has another content"), "{shown}");
    let nearest = "predict stored.bridged new.csv --nearest 5 -o more.csv";
    folder.fails(2, nearest, &["1.csv was written again since the fit", "--among held"]);
    std::fs::remove_file(folder.path("y/1.csv")).expect("a file");
    folder.fails(2, nearest, &["1.csv is gone since the fit", "--among held"]);
    folder.ok(&format!("{nearest} --among held"));
}
