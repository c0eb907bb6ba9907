//! Work in passes that is killed goes on where it was, and ends with the bytes of work that was not.

use crate::support::Folder;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Rows that no clustering comes to rest on soon.
fn folder() -> Folder {
    let folder = Folder::new();
    for (side, columns) in [("x", 4), ("y", 5)] {
        let mut csv = String::from("id");
        (0..columns).for_each(|c| csv += &format!(",v{c}"));
        csv.push('\n');
        let mut state = 12_345u64 + columns as u64;
        for i in 0..6_000 {
            csv += &format!("{side}{i}");
            for _ in 0..columns {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                csv += &format!(",{}", (state >> 40) as f64 / 1e7);
            }
            csv.push('\n');
        }
        folder.write(&format!("{side}.csv"), csv);
    }
    let pairs: String = (0..9).map(|i| format!("x{i},y{i}\n")).collect();
    folder.write("pairs.csv", format!("x_id,y_id\n{pairs}"));
    folder
}

/// Runs a command that saves its state after every pass, and kills it when the state has been written so often; whether
/// it was still at work then.
fn killed(folder: &Folder, arguments: &str, states: &Path, writes: usize) -> bool {
    let mut command = folder.command(arguments);
    command.env("BRIDGED_CHECKPOINT_SECONDS", "0").stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let (mut seen, mut last, began) = (0, None, Instant::now());
    while child.try_wait().expect("a child").is_none() && began.elapsed().as_secs() < 120 {
        let newest = std::fs::read_dir(states).into_iter().flatten().filter_map(|entry| {
            let entry = entry.ok().filter(|e| e.path().extension().is_some_and(|x| x == "state"));
            entry?.metadata().ok()?.modified().ok()
        });
        let newest = newest.max();
        if newest.is_some() && newest != last {
            (seen, last) = (seen + 1, newest);
        }
        if seen == writes {
            break;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    let alive = child.try_wait().expect("a child").is_none();
    child.kill().expect("SIGKILL");
    child.wait().expect("a child");
    alive
}

#[test]
fn a_killed_clustering_goes_on_to_the_same_labels() {
    let folder = folder();
    for (method, set, killed_at) in [
        ("kmeans", "tol=0 --max-iter 25", &[1, 3, 9, 17][..]),
        // A batch is of all rows; some twenty are drawn in one pass, with a state before each pass.
        ("minibatch", "max_no_improvement=1000 --set batch_size=6000 --max-iter 400", &[1, 5]),
    ] {
        let cluster = format!("cluster x.csv --in-passes -m {method} -k 12 --set {set}");
        let cluster = format!("{cluster} --restarts 2");
        folder.ok(&format!("{cluster} -o whole.csv"));
        assert!(!folder.path("whole.csv.checkpoint").exists(), "a minute has not passed");
        let states = folder.path("out.csv.checkpoint");
        for &writes in killed_at {
            assert!(killed(&folder, &format!("{cluster} -o out.csv"), &states, writes), "{writes}");
            assert!(!folder.path("out.csv").exists());
            let again = folder.run(&format!("{cluster} -o out.csv"));
            assert_eq!(again.code, 0, "{}", again.stderr);
            let note = "an earlier run was stopped; this one goes on from its state";
            assert!(again.stderr.contains(note), "{method}, {writes}: {}", again.stderr);
            assert_eq!(folder.text("out.csv"), folder.text("whole.csv"), "{method}, {writes}");
            assert!(!states.exists(), "the state is removed with success");
            std::fs::remove_file(folder.path("out.csv")).expect("a file");
        }
    }
}

#[test]
fn a_killed_fit_goes_on_with_the_side_that_it_was_at() {
    let folder = folder();
    let fit = "fit --in-passes --x x.csv --y y.csv --pairs pairs.csv --cluster kmeans --members one --clusters 5 --restarts 2 --max-iter 15";
    folder.ok(&format!("{fit} -o whole.bridged"));
    let states = folder.path("states");
    for writes in [2, 20, 40] {
        let fit = format!("{fit} --checkpoint states -o m.bridged");
        killed(&folder, &fit, &states, writes);
        let note = format!("{:?}", folder.json(&fit)["notes"]);
        if folder.read("m.bridged") != folder.read("whole.bridged") {
            panic!("{writes}: {note}");
        }
        assert_eq!(std::fs::read_dir(&states).expect("the folder that was named").count(), 0);
    }
}

#[test]
fn a_state_of_other_work_is_not_taken_and_says_so() {
    let folder = folder();
    let cluster = |k: usize| format!("cluster x.csv --in-passes --restarts 1 -k {k} -o out.csv");
    let states = folder.path("out.csv.checkpoint");
    assert!(killed(&folder, &format!("{} --set tol=0", cluster(12)), &states, 2));
    for (change, said) in [
        (cluster(11), "is of other settings"),
        (format!("{} --set tol=0 --seed 1", cluster(12)), "is of other settings"),
    ] {
        let stopped = folder.read("out.csv.checkpoint/kmeans.state");
        let fresh = change.replace("out.csv", "fresh.csv");
        folder.ok(&fresh);
        let out = folder.run(&change);
        assert!(out.stderr.contains(said) && out.stderr.contains("begins anew"), "{}", out.stderr);
        assert_eq!(folder.text("out.csv"), folder.text("fresh.csv"));
        std::fs::create_dir(&states).expect("it was removed");
        folder.write("out.csv.checkpoint/kmeans.state", stopped);
    }
    let rows = folder.text("x.csv");
    folder.write("x.csv", rows.replace("x7,", "x7,9"));
    let out = folder.run(&format!("{} --set tol=0", cluster(12)));
    assert!(out.stderr.contains("is of other files, or they have changed"), "{}", out.stderr);
}

#[test]
fn a_file_that_is_no_state_is_left_alone() {
    let folder = folder();
    std::fs::create_dir(folder.path("mine")).expect("a folder");
    folder.write("mine/kmeans.state", "the state of Ohio");
    let mut command = folder.command("cluster x.csv --in-passes -k 5 --checkpoint mine -o out.csv");
    let out = command.env("BRIDGED_CHECKPOINT_SECONDS", "0").output().expect("it starts");
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && stderr.contains("is no state"), "{stderr}");
    assert_eq!(folder.text("mine/kmeans.state"), "the state of Ohio");
    folder.ok("cluster x.csv --in-passes -k 5 --no-checkpoint -o out.csv");
}

#[test]
fn the_peak_is_said_and_too_little_memory_is_refused_before_the_work() {
    let folder = folder();
    let cluster = "cluster x.csv --in-passes --restarts 1 -k 5 -o out.csv";
    let json = folder.json(cluster);
    assert!(json["predicted_peak"].as_u64().is_some_and(|bytes| bytes > 1_000_000), "{json}");
    assert!(json["notes"].to_string().contains("of memory at its peak"), "{json}");
    std::fs::remove_file(folder.path("out.csv")).expect("a file");
    let refused =
        ["clustering 6,000 rows of the pool in passes: this needs about", "--memory SIZE"];
    // The distances between so many centroids alone take more.
    let many = cluster.replace("-k 5", "-k 5000");
    folder.fails(1, &format!("{many} --memory 120MB"), &refused);
}
