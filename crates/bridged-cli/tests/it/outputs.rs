//! What a command may write over: never an input, and a file of another kind only when it is told to.

use crate::support::{Folder, blobs};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 30, 3, 4));
    folder.write("y.csv", blobs("y", 30, 3, 5));
    folder.write("pairs.csv", "x_id,y_id\nx0,y2\nx1,y0\nx2,y1\n");
    folder
}

const FIT: &str = "fit --x x.csv --y y.csv --pairs pairs.csv -k 3";

/// Runs a command that must refuse its output, with and without --force, and leave the file as it is.
fn refuses(folder: &Folder, command: &str, file: &str, parts: &[&str]) {
    let before = folder.read(file);
    for force in ["", " --force"] {
        folder.fails(2, &format!("{command}{force}"), parts);
        assert!(folder.read(file) == before, "{command}: `{file}` is another");
    }
}

#[test]
fn a_fit_never_writes_over_its_inputs() {
    let folder = folder();
    for input in ["x.csv", "y.csv", "pairs.csv"] {
        refuses(&folder, &format!("{FIT} -o {input}"), input, &[input, "it is the input"]);
        refuses(&folder, &format!("{FIT} -o ./{input}"), input, &["it is the input"]);
    }
}

#[cfg(unix)]
#[test]
fn links_to_an_input_are_seen_through() {
    let folder = folder();
    std::fs::hard_link(folder.path("pairs.csv"), folder.path("hard.bridged")).unwrap();
    std::os::unix::fs::symlink("x.csv", folder.path("soft.bridged")).unwrap();
    refuses(&folder, &format!("{FIT} -o hard.bridged"), "pairs.csv", &["the input `pairs.csv`"]);
    refuses(&folder, &format!("{FIT} -o soft.bridged"), "x.csv", &["the input `x.csv`"]);
}

#[test]
fn predict_and_cluster_never_write_over_their_inputs() {
    let folder = folder();
    folder.ok(&format!("{FIT} -o m.bridged"));
    refuses(&folder, "predict m.bridged x.csv -o x.csv", "x.csv", &["it is the input"]);
    refuses(&folder, "cluster x.csv -k 3 -o x.csv", "x.csv", &["it is the input"]);
    std::fs::hard_link(folder.path("m.bridged"), folder.path("out.csv")).unwrap();
    refuses(&folder, "predict m.bridged x.csv -o out.csv", "m.bridged", &["it is the input"]);
}

#[test]
fn a_file_of_another_kind_is_only_written_over_when_forced() {
    let folder = folder();
    let fit = format!("{FIT} -o thesis.bridged");
    folder.write("thesis.bridged", "years of work");
    folder.fails(2, &fit, &["is there already and is not a bridged model", "--force"]);
    assert_eq!(folder.text("thesis.bridged"), "years of work");
    folder.ok(&format!("{fit} --force"));
    folder.ok(&fit);
    folder.fails(2, &format!("{FIT} -o model.bin"), &["should end in `.bridged`", "--force"]);
    folder.ok(&format!("{FIT} -o model.bin --force"));

    let predict = "predict thesis.bridged x.csv -o out.csv";
    folder.write("out.csv", folder.read("model.bin"));
    folder.fails(2, predict, &["out.csv", "is not a table of predictions", "--force"]);
    folder.ok(&format!("{predict} --force"));
    folder.ok(predict);
    folder.write("empty.csv", "");
    folder.ok("cluster x.csv -k 3 -o empty.csv");
}

#[cfg(unix)]
#[test]
fn inspect_never_writes_over_its_model_nor_over_a_file_of_another_kind() {
    let folder = folder();
    folder.ok(&format!("{FIT} -o m.bridged"));
    folder.ok(&format!("{FIT} -o other.bridged"));
    std::os::unix::fs::symlink("m.bridged", folder.path("link.csv")).unwrap();
    std::fs::hard_link(folder.path("m.bridged"), folder.path("hard.parquet")).unwrap();
    for link in ["link.csv", "hard.parquet"] {
        refuses(
            &folder,
            &format!("inspect m.bridged -o {link}"),
            "m.bridged",
            &["it is the input"],
        );
    }
    // Of another command they are models still.
    let inspect = "inspect other.bridged -o link.csv";
    folder.fails(2, inspect, &["link.csv", "is not a table of links", "--force"]);
    folder.ok("inspect m.bridged -o links.csv");
    folder.ok("inspect m.bridged -o links.csv");
    folder.fails(1, "inspect m.bridged -o no/links.csv", &["the directory `no` does not exist"]);
    folder.fails(2, "inspect m.bridged -o links.foo", &["links.foo", "use one of"]);
}

#[test]
fn a_table_is_only_replaced_by_the_command_that_makes_such_tables() {
    let folder = folder();
    folder.ok(&format!("{FIT} -o m.bridged"));
    folder.write("classes.csv", "id,label\nx0,larva\nx1,adult\n");
    let vectors = bridged_io::read(&folder.path("y.csv")).unwrap();
    bridged_io::write(&folder.path("y.parquet"), &vectors).unwrap();
    let commands = [
        ("predict m.bridged x.csv -o", "a table of predictions"),
        ("cluster x.csv -k 3 -o", "a table of labels"),
        ("inspect m.bridged -o", "a table of links"),
    ];
    for (command, kind) in commands {
        for name in ["pairs.csv", "classes.csv", "y.parquet"] {
            let before = folder.read(name);
            folder.fails(2, &format!("{command} {name}"), &[name, kind, "--force"]);
            assert!(folder.read(name) == before, "{command} {name}");
        }
        // What it made itself it makes again, in every format that has columns.
        let formats = bridged_io::FORMATS.iter().filter(|f| f.name != "npy");
        for extension in formats.flat_map(|f| f.extensions).chain([&"csv.gz"]) {
            let own = format!("{command} own-{}.{extension}", kind.replace(' ', "-"));
            folder.ok(&own);
            folder.ok(&own);
        }
    }
    // One command's table is another kind for the others.
    folder.fails(2, "cluster x.csv -k 3 -o own-a-table-of-links.csv", &["a table of labels"]);
    folder.ok("cluster x.csv -k 3 -o own-a-table-of-links.csv --force");
    folder.ok("predict m.bridged x.csv -o values.npy");
    folder.fails(2, "predict m.bridged x.csv -o values.npy", &["--force"]);
    folder.fails(2, "predict m.bridged x.csv -o out.foo", &["out.foo", "use one of"]);
}

#[test]
fn an_output_that_cannot_be_written_is_said_before_anything_is_read() {
    let folder = Folder::new();
    let fit = "fit --x no.csv --y no.csv --pairs no.csv -k 3 -o";
    folder.fails(1, &format!("{fit} no/m.bridged"), &["the directory `no` does not exist"]);
    folder.fails(1, "predict no.bridged no.csv -o no/out.csv", &["the directory `no`"]);
    folder.fails(1, "cluster no.csv -k 3 -o no/out.csv", &["the directory `no`"]);
    std::fs::create_dir(folder.path("d.bridged")).unwrap();
    folder.fails(1, &format!("{fit} d.bridged"), &["is a directory"]);
    #[cfg(target_os = "linux")]
    folder.fails(1, &format!("{fit} /proc/m.bridged"), &["/proc/m.bridged` could not be written"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_and_a_pipe_are_written_to_and_stay_what_they_are() {
    use std::os::unix::fs::FileTypeExt;
    let folder = folder();
    folder.ok(&format!("{FIT} -o m.bridged"));
    let null = folder.path("null.bridged");
    std::os::unix::fs::symlink("/dev/null", &null).unwrap();
    folder.ok(&format!("{FIT} -o null.bridged"));
    folder.ok(&format!("{FIT} -o /dev/null"));
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(std::fs::symlink_metadata(null).unwrap().is_symlink());
    let line = format!("$BRIDGED -q {FIT} -o /dev/stdout | cat > piped.bridged");
    assert_eq!(folder.shell(&line).code, 0);
    assert!(folder.read("piped.bridged") == folder.read("m.bridged"));
}

#[test]
fn a_demo_leaves_files_of_the_same_names_alone() {
    let folder = Folder::new();
    folder.write("pairs.csv", "mine");
    folder.fails(2, "demo --save .", &["pairs.csv` is there already", "--force"]);
    assert_eq!(folder.text("pairs.csv"), "mine");
    folder.ok("demo --save . --force");
    assert_ne!(folder.text("pairs.csv"), "mine");
}

#[cfg(feature = "encode")]
#[test]
fn an_encoder_leaves_files_of_the_user_beside_its_output_alone() {
    let folder = Folder::new();
    let fasta = ">a\nACGTACGT\n>b\nGGGTACGA\n";
    let encode = "encode dna b.fasta --encoder kmer --k 2 -o y.parquet";
    folder.write("b.fasta", fasta);
    for (name, content) in [
        ("y.parquet.part", "half of a download"),
        ("y.failed.csv", "experiment,why\n7,the lamp broke\n"),
    ] {
        folder.write(name, content);
        refuses(&folder, encode, name, &[name, "is there already"]);
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    // Its own files can be inputs, too.
    folder.write("z.parquet.part", fasta);
    let own = "encode dna z.parquet.part --encoder kmer --k 2 -o z.parquet";
    refuses(&folder, own, "z.parquet.part", &["it is the input"]);
    folder.write("w.failed.csv", "id,reason\n1,a text\n2,another text of words\n");
    let text = "encode text w.failed.csv --column reason --encoder tfidf -o w.parquet";
    refuses(&folder, text, "w.failed.csv", &["it is the input"]);
    folder.ok(encode);
    refuses(
        &folder,
        "encode text y.parquet --column sequence --encoder tfidf -o y.parquet",
        "y.parquet",
        &["it is the input"],
    );
}

#[cfg(all(unix, feature = "encode"))]
#[test]
fn a_photograph_is_never_written_over() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("photos")).unwrap();
    folder.write("photos/a.png", "a picture");
    std::os::unix::fs::symlink("photos/a.png", folder.path("v.parquet")).unwrap();
    let encode = "encode images photos --encoder resnet50 --weights none -o v.parquet";
    refuses(&folder, encode, "photos/a.png", &["the input `photos/a.png`"]);
}

#[cfg(feature = "lab")]
mod lab {
    use super::*;
    use bridged::files::FileLock;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    fn study_folder(seeds: usize) -> Folder {
        let folder = Folder::new();
        let mut csv = String::from("x,y,group\n");
        for i in 0..120 {
            let row = |far: usize| {
                let cell = |j| (i * 31 + j * 17) % 23 + if j == (i * far) % 4 { 99 } else { 0 };
                (0..4).map(|j| cell(j).to_string()).collect::<Vec<_>>().join(", ")
            };
            csv += &format!("\"[{}]\",\"[{}]\",kind {}\n", row(1), row(3), i % 4);
        }
        folder.write("kinds.csv", csv);
        let study = "data = \"kinds.csv\" # my data\ngroups = [2]\npairs = [1]\n";
        folder.write(
            "study.toml",
            format!("{study}seeds = {seeds}\nmethods = [\"mean\", \"knn\"]\n"),
        );
        folder
    }

    #[test]
    fn a_study_is_never_written_over_by_its_results() {
        let folder = study_folder(2);
        let before = folder.text("study.toml");
        folder.fails(2, "lab run study.toml --out .", &["it is the input `study.toml`"]);
        std::fs::create_dir(folder.path("other")).unwrap();
        folder.write("other/study.toml", &before);
        folder.fails(2, "lab run study.toml --out other", &["not written there by a study"]);
        assert_eq!(folder.text("study.toml"), before);
        assert_eq!(folder.text("other/study.toml"), before);
        folder.fails(2, "lab tune study.toml --methods knn -o study.toml", &["it is the input"]);
        folder.fails(2, "lab tune study.toml --methods knn -o kinds.csv", &["it is the input"]);
        folder.write("notes.toml", "a = 1\n");
        let tune = "lab tune study.toml --methods knn --draws 1 -o notes.toml";
        folder.fails(2, tune, &["notes.toml` is there already"]);
    }

    #[test]
    fn a_report_leaves_a_page_of_the_user_alone() {
        let folder = study_folder(2);
        folder.ok("lab run study.toml");
        for name in ["README.md", "page.html"] {
            let report = format!("lab report results/study -o {name}");
            folder.write(name, "# A page of mine, about bridged lab report\n");
            folder.fails(2, &report, &["is there already", "--force"]);
            folder.ok(&format!("{report} --force"));
            folder.ok(&report);
        }
    }

    #[test]
    fn one_process_at_a_time_adds_runs_to_a_folder() {
        let folder = study_folder(2);
        folder.ok("lab run study.toml");
        let (runs, results) =
            (folder.text("results/study/runs.jsonl"), folder.path("results/study"));
        let lock = FileLock::acquire(&results.join(".bridged-lock"), &results).unwrap();
        folder.fails(1, "lab run study.toml", &["another process is writing `results/study`"]);
        drop(lock);
        folder.ok("lab run study.toml");
        assert_eq!(folder.text("results/study/runs.jsonl"), runs);
        assert!(!results.join(".bridged-lock").exists());
    }

    #[test]
    fn a_killed_study_lets_go_of_its_folder() {
        let folder = study_folder(4000);
        let mut child = folder.command("lab run study.toml");
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (log, started) = (folder.path("results/study/runs.jsonl"), Instant::now());
        while !std::fs::metadata(&log).is_ok_and(|m| m.len() > 0) {
            assert!(started.elapsed() < Duration::from_secs(120), "runs are added");
            std::thread::sleep(Duration::from_millis(5));
        }
        folder.fails(1, "lab run study.toml", &["another process is writing `results/study`"]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            folder.path("results/study/.bridged-lock").exists(),
            "as a killed process leaves it"
        );
        let study = folder.text("study.toml");
        folder.write("study.toml", study.replace("4000", "2"));
        folder.ok("lab run study.toml");
        assert!(!folder.path("results/study/.bridged-lock").exists());
    }

    #[test]
    fn a_data_set_is_never_written_over_by_the_one_that_is_made_of_it() {
        let folder = Folder::new();
        folder.write("d.csv", "id,sequence,group\na,ACGT,1\nb,GGTA,1\n");
        folder.ok("lab curate encoders d.csv -o d.parquet");
        let again = "lab curate encoders d.parquet -o d.parquet";
        refuses(&folder, again, "d.parquet", &["it is the input"]);
    }
}
