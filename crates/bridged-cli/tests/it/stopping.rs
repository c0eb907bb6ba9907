//! Ctrl-C: whatever a verb does, it ends within about a second, says so with code 130, and writes nothing.

use crate::support::{Folder, blobs};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A machine that compiles something else answers later than the second that is promised.
const PROMISED: Duration = Duration::from_secs(4);

/// Small pools, pairs, and the model `m.bridged`.
fn fitted(folder: &Folder) {
    folder.write("x.csv", blobs("x", 30, 3, 4));
    folder.write("y.csv", blobs("y", 30, 3, 5));
    folder.write("pairs.csv", "x_id,y_id\nx0,y2\nx1,y0\nx2,y1\n");
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged");
}

/// A table that is read for long: parts of a gzip file, of a megabyte each, follow each other.
fn endless(header: &str, line: &str, parts: usize) -> Vec<u8> {
    let zip = |text: &str| {
        let mut part = GzEncoder::new(Vec::new(), Compression::default());
        part.write_all(text.as_bytes()).unwrap();
        part.finish().unwrap()
    };
    let part = zip(&line.repeat((1 << 20) / line.len()));
    [zip(header), part.repeat(parts)].concat()
}

/// Runs a verb, presses Ctrl-C after a while, and looks at how it ends.
fn stops(folder: &Folder, arguments: &str, after: Duration) {
    let before = folder.files();
    let mut command = folder.command(arguments);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(after);
    let id = child.id().to_string();
    let pressed = Instant::now();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (took, stderr) = (pressed.elapsed(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!(output.status.code(), Some(130), "{arguments}\n{stderr}");
    assert!(stderr.ends_with("stopped; nothing was written\n"), "{arguments}\n{stderr}");
    assert!(took < PROMISED, "{arguments}: {took:?}");
    assert_eq!(folder.files(), before, "{arguments}");
}

#[test]
fn reading_a_table_is_stopped_in_every_verb() {
    let folder = Folder::new();
    fitted(&folder);
    folder.write("long.csv.gz", endless("v0,v1,v2,v3\n", "1,2,3,4\n", 5_000));
    folder.write("pairs.csv.gz", endless("x_id,y_id\n", "x0,y1\n", 5_000));
    for arguments in [
        "predict m.bridged long.csv.gz -o out.csv",
        "evaluate m.bridged --x long.csv.gz --y y.csv --by-position",
        "cluster long.csv.gz -k 2 -o out.csv",
        "fit --x x.csv --y y.csv --pairs pairs.csv.gz -k 3 -o other.bridged",
    ] {
        stops(&folder, arguments, Duration::from_millis(400));
    }
}

#[test]
#[ignore = "slow: pools of 60,000 rows"]
fn predicting_and_evaluating_are_stopped_at_any_time() {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 60_000, 3, 8));
    folder.write("y.csv", blobs("y", 60_000, 3, 8));
    let pairs: String = (0..60).map(|i| format!("x{i},y{i}\n")).collect();
    folder.write("pairs.csv", format!("x_id,y_id\n{pairs}"));
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged");
    for arguments in [
        "predict m.bridged x.csv --nearest 3 -o out.csv",
        "evaluate m.bridged --x x.csv --y y.csv --by-position",
    ] {
        let started = Instant::now();
        folder.ok(arguments);
        let whole = started.elapsed();
        let _ = std::fs::remove_file(folder.path("out.csv"));
        for share in [0.2, 0.4, 0.6, 0.8] {
            stops(&folder, arguments, whole.mul_f64(share));
        }
    }
}

#[test]
#[ignore = "slow: a gigabyte is expanded"]
fn a_compressed_table_that_expands_without_end_is_refused() {
    let folder = Folder::new();
    folder.write("bomb.csv.gz", endless("a,b\n", "1,2\n", 1_100));
    let parts = ["bomb.csv.gz", "expands to more than 1.1 GB", "gunzip", "--memory"];
    folder.fails(1, "cluster bomb.csv.gz -k 2 -o out.csv", &parts);
}
