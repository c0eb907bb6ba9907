//! Pools that stay in their files: what is fitted and predicted in passes is what is fitted and predicted in memory.

use crate::support::{Folder, blobs};

const FIT: &str = "fit --pairs pairs.csv --cluster kmeans --members one --clusters 3";

/// Pools in one file each, and in parts of some rows.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("pairs.csv", "x_id,y_id\nx0,y0\nx1,y1\nx2,y2\nx3,y3\nx61,y61\n");
    for (side, columns) in [("x", 4), ("y", 5)] {
        let table = blobs(side, 90, 3, columns);
        folder.write(&format!("{side}.csv"), &table);
        std::fs::create_dir(folder.path(side)).expect("a folder");
        let lines: Vec<&str> = table.lines().collect();
        for (at, part) in lines[1..].chunks(25).enumerate() {
            let part = format!("{}\n{}\n", lines[0], part.join("\n"));
            folder.write(&format!("{side}/part-{at}.csv"), part);
        }
    }
    folder
}

#[test]
fn a_fit_in_passes_has_the_tables_and_predictions_of_the_fit_in_memory() {
    let folder = folder();
    let memory = folder.json(&format!("{FIT} --x x.csv --y y.csv -o a.bridged"));
    let passes = folder.json(&format!("{FIT} --in-passes --x x --y y/*.csv -o b.bridged"));
    for part in ["bridge", "forward", "reverse", "verdict"] {
        assert_eq!(memory[part], passes[part], "{part}");
    }
    let notes = passes["notes"].to_string();
    assert!(notes.contains("stay in their files and are read in passes"), "{notes}");
    folder.ok("predict a.bridged x.csv -o a.csv");
    folder.ok("predict b.bridged x.csv -o b.csv");
    assert_eq!(folder.text("a.csv"), folder.text("b.csv"));
    let shown = folder.ok("inspect b.bridged");
    assert!(shown.contains("x: 90 rows in 4 files, the first is "), "{shown}");
    assert!(shown.contains("the model holds 90 of them; unchanged since the fit"), "{shown}");
    std::fs::remove_file(folder.path("x/part-2.csv")).expect("a file");
    let shown = folder.ok("inspect b.bridged");
    assert!(shown.contains("part-2.csv is gone"), "{shown}");
}

#[test]
fn predictions_as_a_stream_are_the_predictions_at_once() {
    let folder = folder();
    folder.ok(&format!("{FIT} --x x.csv --y y.csv -o m.bridged"));
    for output in ["csv", "parquet", "tsv"] {
        folder.ok(&format!("predict m.bridged x.csv --nearest 2 --level 0.5 -o once.{output}"));
        folder.ok(&format!(
            "predict m.bridged x --in-passes --nearest 2 --level 0.5 -o stream.{output}"
        ));
        let read = |name: &str| {
            bridged_io::read(&folder.path(&format!("{name}.{output}"))).expect("a table")
        };
        let (once, stream) = (read("once"), read("stream"));
        let columns = |table: &bridged_io::Table| {
            table
                .columns
                .iter()
                .map(|c| (c.name.clone(), format!("{:?}", c.data)))
                .collect::<Vec<_>>()
        };
        assert_eq!(columns(&once), columns(&stream), "{output}");
    }
    let json = folder.json("predict m.bridged x --in-passes -o again.csv");
    assert_eq!(json["rows"], 90);
}

#[test]
fn rows_that_a_model_does_not_hold_are_not_passed_over_in_silence() {
    let folder = folder();
    folder.ok(&format!("{FIT} --in-passes --x x --y y -o m.bridged"));
    let note = "--nearest looks among the 90 of 90 rows of y that the model holds";
    let out = folder.run("predict m.bridged x.csv --nearest 1 -o out.csv");
    assert!(out.stderr.contains(note), "{}", out.stderr);
    let json = folder.json("predict m.bridged x.csv --nearest 1 -o out.csv");
    assert!(json["notes"].to_string().contains(note), "{json}");
}

#[test]
fn an_output_does_not_become_a_part_of_its_input() {
    let folder = folder();
    folder.ok(&format!("{FIT} --x x.csv --y y.csv -o m.bridged"));
    std::fs::create_dir(folder.path("x/deep")).expect("a folder");
    for command in ["cluster x -k 3", "predict m.bridged x"] {
        for output in ["x/out.csv", "x/deep/out.csv", "./x/../x/out.csv"] {
            let refused = ["`x`", "would be read with it"];
            folder.fails(2, &format!("{command} -o {output}"), &refused);
            folder.fails(2, &format!("{command} --force -o {output}"), &refused);
        }
    }
    folder.ok("cluster x -k 3 -o out.csv");
}

#[test]
fn a_part_that_breaks_in_a_stream_leaves_no_output() {
    let folder = folder();
    folder.ok(&format!("{FIT} --x x.csv --y y.csv -o m.bridged"));
    folder.write("x/part-3.csv", "id,name,v0,v1,v2,v3\nx75,last,1,2,oops,4\n");
    folder.fails(1, "predict m.bridged x --in-passes -o out.csv", &["part-3.csv"]);
    folder.write("out.csv", "mine\n");
    let refused = folder.run("predict m.bridged x --in-passes --force -o out.csv");
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert_eq!(folder.text("out.csv"), "mine\n");
}

#[test]
fn a_clustering_that_needs_all_rows_says_so_and_a_sample_of_them_is_enough() {
    let folder = folder();
    let fit = "fit --in-passes --x x --y y --pairs pairs.csv --cluster spectral --clusters 3 --members one -o m.bridged";
    folder.fails(1, fit, &["needs all rows in memory", "--sample N"]);
    folder.ok(&format!("{fit} --sample 60"));
    folder.fails(2, &format!("{fit} --sample 0"), &["--sample"]);
}

#[test]
fn ids_that_two_parts_share_are_named_and_row_numbers_are_enough_if_asked_for() {
    let folder = folder();
    folder.write("x/part-9.csv", "id,name,v0,v1,v2,v3\nx7,again,1,2,3,4\n");
    let fit = format!("{FIT} --in-passes --x x --y y -o m.bridged");
    folder.fails(1, &fit, &["x7", "part-9.csv"]);
    folder.write("pairs.csv", "x_id,y_id\n0,y0\n1,y1\n2,y2\n");
    folder.ok(&format!("{fit} --x-id row"));
}

#[test]
fn labels_in_passes_are_the_labels_in_memory() {
    let folder = folder();
    for scale in ["none", "standardize", "l2", "pca:2"] {
        let cluster = format!("cluster --scale {scale} -k 3");
        folder.ok(&format!("{cluster} x.csv -o once.csv"));
        folder.ok(&format!("{cluster} x --in-passes -o stream.csv"));
        assert_eq!(folder.text("once.csv"), folder.text("stream.csv"), "{scale}");
    }
    folder.ok("cluster x --in-passes -m dbscan --sample 60 -o sampled.csv");
    folder.fails(1, "cluster x --in-passes -m dbscan -o none.csv", &["--sample N"]);
}

#[test]
fn mixtures_in_passes_are_the_mixtures_in_memory() {
    let folder = folder();
    for shape in ["diagonal", "spherical"] {
        let cluster = format!("cluster -m gmm --set covariance={shape} -k 3");
        folder.ok(&format!("{cluster} x.csv -o once.csv"));
        folder.ok(&format!("{cluster} x --in-passes -o stream.csv"));
        assert_eq!(folder.text("once.csv"), folder.text("stream.csv"), "{shape}");
    }
    let full = "cluster -m gmm --set covariance=full -k 3 x --in-passes -o none.csv";
    folder.fails(1, full, &["needs all rows in memory", "diagonal or spherical"]);
}

#[test]
fn rows_kept_in_a_scratch_folder_change_no_byte_and_leave_nothing() {
    let folder = folder();
    std::fs::create_dir(folder.path("scratch")).expect("a folder");
    for method in ["kmeans", "minibatch", "gmm", "balanced"] {
        let cluster = format!("cluster -m {method} -k 3 x --in-passes");
        folder.ok(&format!("{cluster} -o without.csv"));
        folder.ok(&format!("{cluster} --scratch scratch -o with.csv"));
        assert_eq!(folder.text("with.csv"), folder.text("without.csv"), "{method}");
    }
    let fit = format!("{FIT} --in-passes --x x --y y");
    folder.ok(&format!("{fit} -o without.bridged"));
    folder.ok(&format!("{fit} --scratch scratch -o with.bridged"));
    assert_eq!(folder.read("with.bridged"), folder.read("without.bridged"));
    // Gaps are filled, and rows left out, before they are kept.
    folder.write("x/part-4.csv", "id,name,v0,v1,v2,v3\nx90,gap,1,,3,4\nx91,last,1,2,3,4\n");
    for missing in ["mean", "drop"] {
        let cluster = format!("cluster -k 3 x --in-passes --missing {missing}");
        folder.ok(&format!("{cluster} -o without.csv"));
        folder.ok(&format!("{cluster} --scratch scratch -o with.csv"));
        assert_eq!(folder.text("with.csv"), folder.text("without.csv"), "{missing}");
    }
    let left = std::fs::read_dir(folder.path("scratch")).expect("a folder").count();
    assert_eq!(left, 0);
}

#[test]
fn a_scratch_folder_that_cannot_take_the_rows_is_told_before_the_work() {
    let folder = folder();
    let cluster = "cluster -k 3 x --in-passes --scratch nowhere -o out.csv";
    folder.fails(1, cluster, &["`nowhere` cannot take the rows", "leave --scratch out"]);
    folder.write("file", "");
    let cluster = "cluster -k 3 x --in-passes --scratch file -o out.csv";
    folder.fails(1, cluster, &["`file` cannot take the rows"]);
    assert!(!folder.path("out.csv").exists());
    // Rows that are read into memory need none.
    folder.ok("cluster -k 3 x --scratch nowhere -o out.csv");
}
