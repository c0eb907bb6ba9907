//! Rows that are named by several files, a folder, a pattern or `-` give the model of the one file.

use crate::support::{Folder, Outcome, blobs};
use std::io::Write;
use std::process::Stdio;

/// Pools in one file each and the same in parts, and pairs.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("y.csv", blobs("y", 30, 3, 5));
    folder.write("x.csv", blobs("x", 40, 3, 4));
    folder.write("pairs.csv", "x_id,y_id\nx0,y0\nx1,y1\nx2,y2\nx20,y20\n");
    std::fs::create_dir(folder.path("parts")).unwrap();
    let text = folder.text("x.csv");
    let lines: Vec<&str> = text.lines().collect();
    for (i, rows) in [&lines[1..11], &[], &lines[11..41]].into_iter().enumerate() {
        let part = std::iter::once(&lines[0]).chain(rows).fold(String::new(), |t, l| t + l + "\n");
        folder.write(&format!("parts/part-{i}.csv"), part);
    }
    folder.write("parts/_SUCCESS", "");
    folder.write("parts/.part-0.csv.crc", "x");
    folder
}

const FIT: &str = "--y y.csv --pairs pairs.csv -k 3";

/// Runs the binary with that on its standard input.
fn piped(folder: &Folder, arguments: &str, input: &[u8]) -> Outcome {
    let mut command = folder.command(arguments);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn a_fit_of_parts_has_the_bytes_of_the_fit_of_one_file() {
    let folder = folder();
    folder.ok(&format!("fit --x x.csv {FIT} --no-history -o one.bridged"));
    let one = folder.read("one.bridged");
    for x in [
        "--x parts",
        "--x parts/",
        "--x parts/*.csv",
        "--x parts/part-0.csv parts/part-1.csv parts/part-2.csv",
        "--x parts/part-0.csv --x parts/part-1.csv --x parts/part-2.csv",
    ] {
        folder.ok(&format!("fit {x} {FIT} --no-history -o many.bridged"));
        assert!(folder.read("many.bridged") == one, "{x}");
    }
    let fit = format!("fit --x - {FIT} --no-history -o many.bridged");
    let outcome = piped(&folder, &fit, &folder.read("x.csv"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(folder.read("many.bridged") == one, "standard input");
}

#[test]
fn predict_cluster_and_evaluate_take_folders_and_patterns() {
    let folder = folder();
    folder.ok(&format!("fit --x parts {FIT} -o m.bridged"));
    folder.ok("predict m.bridged x.csv -o one.csv");
    folder.ok("predict m.bridged parts -o many.csv");
    assert_eq!(folder.text("one.csv"), folder.text("many.csv"));
    folder.ok("predict m.bridged parts/part-0.csv parts/part-2.csv -o many.csv");
    assert_eq!(folder.text("one.csv"), folder.text("many.csv"));
    folder.ok("cluster x.csv -k 3 -o one_labels.csv");
    folder.ok("cluster parts/part-*.csv -k 3 -o many_labels.csv");
    assert_eq!(folder.text("one_labels.csv"), folder.text("many_labels.csv"));
    let one = folder.json("evaluate m.bridged --x x.csv --y y.csv --pairs pairs.csv");
    let many = folder.json("evaluate m.bridged --x parts --y y.csv --pairs pairs.csv");
    assert_eq!(one["forward"], many["forward"]);
}

#[test]
fn no_part_of_an_input_is_written_over() {
    let folder = folder();
    let before = folder.read("parts/part-2.csv");
    for force in ["", " --force"] {
        let is_input = ["it is the input", "part-2.csv"];
        folder.fails(2, &format!("cluster parts -k 3 -o parts/part-2.csv{force}"), &is_input);
        folder.fails(2, &format!("fit --x parts {FIT} -o parts/part-2.csv{force}"), &is_input);
    }
    assert!(folder.read("parts/part-2.csv") == before);
}

#[test]
fn what_cannot_be_read_together_is_told_in_a_sentence() {
    let folder = folder();
    let fit = |x: &str| format!("fit --x {x} {FIT} -o m.bridged");
    folder.fails(1, &fit("none/*.parquet"), &["`none/*.parquet` matches no file"]);
    std::fs::create_dir(folder.path("empty")).unwrap();
    folder.fails(1, &fit("empty"), &["`empty` holds no table: no file in it ends in .parquet"]);
    folder.fails(1, &fit("nowhere.csv"), &["`nowhere.csv` does not exist"]);
    folder.write("other.tsv", "id\tv0\na\t1\n");
    let mixed = ["`x.csv` is CSV and `other.tsv` is TSV"];
    folder.fails(1, &fit("x.csv other.tsv"), &mixed);
    folder.write("other.csv", "id,name,v0,v1,v2\na,b,1,2,3\n");
    let differs = ["`other.csv` does not fit `x.csv`: it has no column `v3`"];
    folder.fails(1, &fit("x.csv other.csv"), &differs);
    let twice = [
        "the id `x0` (column `id`) occurs in `x.csv`, row 0, and again in `parts/part-0.csv`, row 0",
    ];
    folder.fails(1, &fit("x.csv parts"), &twice);
    folder.ok("cluster x.csv parts --id row -k 3 -o labels.csv");
    assert!(folder.text("labels.csv").lines().count() == 81);
    let unread = match cfg!(feature = "remote") {
        true => "this kind of URL is not known",
        false => "this build reads files of this machine only",
    };
    folder.fails(1, &fit("ftp://host/x.csv"), &[unread]);
    let both =
        piped(&folder, "fit --x - --y - --pairs pairs.csv -k 3 -o m.bridged", b"id,a\nx,1\n");
    assert!(
        both.stderr.contains("`-` is standard input, which can be read for one table only"),
        "{}",
        both.stderr
    );
    assert_eq!(both.code, 1);
    let empty = piped(&folder, &fit("-"), b"");
    assert!(empty.stderr.contains("`standard input` is empty (0 bytes)"), "{}", empty.stderr);
}

#[test]
fn partition_folders_are_carried_into_the_predictions() {
    let folder = folder();
    folder.ok(&format!("fit --x x.csv {FIT} -o m.bridged"));
    let text = folder.text("x.csv");
    let lines: Vec<&str> = text.lines().collect();
    for (day, rows) in [("2026-01-01", &lines[1..21]), ("2026-01-02", &lines[21..])] {
        std::fs::create_dir_all(folder.path(&format!("days/date={day}"))).unwrap();
        folder.write(
            &format!("days/date={day}/rows.csv"),
            format!("{}\n{}\n", lines[0], rows.join("\n")),
        );
    }
    folder.ok("predict m.bridged days -o out.csv");
    let out = folder.text("out.csv");
    assert!(out.lines().next().unwrap().starts_with("id,name,date,"), "{out}");
    assert!(out.lines().nth(1).unwrap().contains(",2026-01-01,"));
    assert!(out.lines().nth(40).unwrap().contains(",2026-01-02,"));
}
