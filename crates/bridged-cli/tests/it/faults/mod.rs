//! The disk fails, memory ends, the process is killed: afterwards a file is the old one or the new one.
//!
//! The binary runs with a shim (`shim.c`) that makes the n-th write, sync, rename, open or allocation fail.
//! By default a few n are tried; the slow tests try every one, and kill the process at random times.

use crate::support::{Folder, Outcome, blobs};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What can fail. A write that is only done in part is not a failure: it must be finished.
const KINDS: [&str; 5] = ["write", "short", "sync", "rename", "open"];

/// The shim, compiled once.
fn shim() -> &'static PathBuf {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let library = folder.join("libfaults.so");
        let made = folder.join(format!("libfaults-{}.so", std::process::id()));
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/faults/shim.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&made).arg(&source).arg("-ldl");
        let done = compiler.status().expect("`cc`, a C compiler, as the README asks for");
        assert!(done.success(), "the shim is compiled");
        // Another run of the tests may be using it.
        std::fs::rename(&made, &library).expect("a writable folder");
        library
    })
}

/// A verb: what it is run on, and what must hold after it was made to fail.
struct Verb {
    name: &'static str,
    command: &'static str,
    folder: Folder,
    rule: Rule,
}

enum Rule {
    /// A file is the old one or the new one, and no other file is there.
    Replaces { target: &'static str, old: Vec<u8>, new: Vec<u8> },
    /// The same, but what was done stays in a log, and the same command goes on to the same end.
    GoesOn { target: &'static str, old: Vec<u8>, new: Vec<u8>, log: &'static str },
    /// Runs are added to a log, each once; the same command adds those that are missing.
    Adds { log: &'static str, runs: BTreeSet<String>, files: Vec<String> },
}

/// The pools, the pairs and rows to predict of a small problem.
fn pools() -> Folder {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 30, 3, 4));
    folder.write("y.csv", blobs("y", 30, 3, 5));
    folder.write("pairs.csv", "x_id,y_id\nx0,y2\nx1,y0\nx2,y1\n");
    folder
}

/// A verb that replaces `target`, which an earlier command wrote.
fn replaces(
    name: &'static str,
    folder: Folder,
    earlier: &str,
    command: &'static str,
    target: &'static str,
) -> Verb {
    folder.ok(earlier);
    let old = folder.read(target);
    folder.ok(command);
    let new = folder.read(target);
    assert_ne!(old, new, "the two can be told apart");
    Verb { name, command, folder, rule: Rule::Replaces { target, old, new } }
}

fn fit() -> Verb {
    const EARLIER: &str = "fit --x x.csv --y y.csv --pairs pairs.csv -k 2 -o m.bridged";
    const COMMAND: &str = "fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged";
    replaces("fit", pools(), EARLIER, COMMAND, "m.bridged")
}

fn predict() -> Verb {
    let folder = pools();
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged");
    const EARLIER: &str = "predict m.bridged x.csv -o out.csv";
    const COMMAND: &str = "predict m.bridged x.csv --nearest 2 -o out.csv";
    replaces("predict", folder, EARLIER, COMMAND, "out.csv")
}

fn cluster() -> Verb {
    const EARLIER: &str = "cluster x.csv -k 2 -o labels.parquet";
    const COMMAND: &str = "cluster x.csv -k 3 -o labels.parquet";
    replaces("cluster", pools(), EARLIER, COMMAND, "labels.parquet")
}

fn encode() -> Verb {
    let folder = Folder::new();
    let letter = |i: usize, at: usize| b"ACGT"[(i * 7 + at * at + at / 3) % 4] as char;
    let line = |i: usize| (0..40).map(|at| letter(i, at)).collect::<String>();
    // Three blocks.
    folder.write("b.fasta", (0..1100).map(|i| format!(">s{i}\n{}\n", line(i))).collect::<String>());
    const EARLIER: &str = "encode dna b.fasta --encoder kmer --k 1 -o v.parquet";
    const COMMAND: &str = "encode dna b.fasta --encoder kmer --k 2 -o v.parquet --force";
    let Verb { name, command, folder, rule } =
        replaces("encode", folder, EARLIER, COMMAND, "v.parquet");
    let Rule::Replaces { target, old, new } = rule else { unreachable!("made so above") };
    Verb { name, command, folder, rule: Rule::GoesOn { target, old, new, log: "v.parquet.part" } }
}

fn lab_run() -> Verb {
    let folder = Folder::new();
    let mut csv = String::from("x,y,group\n");
    for i in 0..120 {
        let (group, noise) = (i % 4, |j: usize| ((i * 31 + j * 17) % 23) as f64 / 46.0);
        let cell = |j: usize, far: usize| noise(j) + if j == (group * far) % 4 { 9.0 } else { 0.0 };
        let row =
            |far| (0..4).map(|j| format!("{:.2}", cell(j, far))).collect::<Vec<_>>().join(", ");
        csv += &format!("\"[{}]\",\"[{}]\",kind {group}\n", row(1), row(3));
    }
    folder.write("kinds.csv", csv);
    folder.write(
        "study.toml",
        "data = \"kinds.csv\"\ngroups = [2]\npairs = [1]\nseeds = 3\nmethods = [\"mean\", \"knn\"]\n",
    );
    const COMMAND: &str = "lab run study.toml --out results";
    folder.ok(COMMAND);
    let log = "results/runs.jsonl";
    let (runs, files) = (runs(&folder.text(log)), names(&folder, "results"));
    Verb { name: "lab run", command: COMMAND, folder, rule: Rule::Adds { log, runs, files } }
}

/// What tells the runs of a log apart; panics if one is there twice.
fn runs(log: &str) -> BTreeSet<String> {
    let key = |line: &str| {
        let run: serde_json::Value = serde_json::from_str(line).expect("a whole run");
        ["method", "run", "setting", "direction"].map(|part| run[part].to_string()).join(" ")
    };
    let keys: Vec<String> = log.lines().map(key).collect();
    let distinct: BTreeSet<String> = keys.iter().cloned().collect();
    assert_eq!(distinct.len(), keys.len(), "a run is there twice");
    distinct
}

fn names(folder: &Folder, inside: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path(inside)).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Whether a process that ended by itself may leave a file of this name.
fn is_temporary(name: &str) -> bool {
    name.starts_with(".bridged-")
}

/// How a run ended.
enum End {
    /// By itself, with an exit code.
    Exit(i32),
    /// By a signal: temporary files may be left.
    Killed,
}

impl Verb {
    /// Everything as it was before the command was run for the first time.
    fn reset(&self) {
        match &self.rule {
            Rule::Replaces { target, old, .. } => self.folder.write(target, old),
            Rule::GoesOn { target, old, log, .. } => {
                self.folder.write(target, old);
                let _ = std::fs::remove_file(self.folder.path(log));
            }
            Rule::Adds { .. } => {
                let _ = std::fs::remove_dir_all(self.folder.path("results"));
            }
        }
    }

    /// Checks what is there after a run that failed or was killed.
    fn check(&self, end: &End, what: &str) {
        let folder = &self.folder;
        let clean = matches!(end, End::Exit(_));
        match &self.rule {
            Rule::Replaces { target, old, new } | Rule::GoesOn { target, old, new, .. } => {
                let found = folder.read(target);
                assert!(found == *old || found == *new, "{what}: `{target}` is neither");
                if let End::Exit(0) = end {
                    assert!(found == *new, "{what}: exit code 0, but the old file");
                }
                let files = folder.files();
                assert!(!clean || !files.iter().any(|f| is_temporary(f)), "{what}: {files:?}");
            }
            Rule::Adds { log, runs: all, .. } => {
                let text = std::fs::read_to_string(folder.path(log)).unwrap_or_default();
                // A process that is killed may leave half of the last line.
                let whole =
                    if clean { &text } else { &text[..text.rfind('\n').map_or(0, |n| n + 1)] };
                let found = runs(whole);
                assert!(found.is_subset(all), "{what}: unknown runs");
                if let End::Exit(0) = end {
                    assert!(found == *all, "{what}: exit code 0, but runs are missing");
                }
                let left = folder.path("results").exists().then(|| names(folder, "results"));
                let left = left.unwrap_or_default();
                assert!(!clean || !left.iter().any(|f| is_temporary(f)), "{what}: {left:?}");
            }
        }
    }

    /// Runs the command until its end: all is done, and nothing is left behind.
    fn finish(&self, what: &str) {
        let folder = &self.folder;
        match &self.rule {
            Rule::Replaces { target, new, .. } => {
                folder.ok(self.command);
                assert!(folder.read(target) == *new, "{what}");
            }
            Rule::GoesOn { target, new, log, .. } => {
                if folder.path(log).exists() {
                    folder.ok(self.command.strip_suffix(" --force").expect("it is forced"));
                } else if folder.read(target) != *new {
                    folder.ok(self.command);
                }
                assert!(folder.read(target) == *new, "{what}");
                assert!(!folder.path(log).exists(), "{what}");
            }
            Rule::Adds { log, runs: all, files } => {
                folder.ok(self.command);
                assert!(runs(&folder.text(log)) == *all, "{what}");
                assert_eq!(&names(folder, "results"), files, "{what}");
            }
        }
        let files = folder.files();
        assert!(!files.iter().any(|f| is_temporary(f)), "{what}: {files:?}");
    }

    /// Runs the command with the n-th call of a kind failing; whether there was one.
    fn fail(&self, kind: &str, n: usize) -> bool {
        let scratch = Folder::new();
        let (mark, number) = (scratch.path("mark"), PathBuf::from(n.to_string()));
        self.reset();
        let outcome = self.folder.run_with(
            self.command,
            &[
                ("LD_PRELOAD", shim()),
                ("FAULT_KIND", &PathBuf::from(kind)),
                ("FAULT_AT", &number),
                ("FAULT_MARK", &mark),
            ],
        );
        if !mark.exists() {
            assert_eq!(outcome.code, 0, "nothing failed: {}", outcome.stderr);
            return false;
        }
        let Outcome { code, stdout, stderr } = outcome;
        let what = format!("{}, {kind} {n}, code {code}\n{stdout}{stderr}", self.name);
        // Rust ends the process when there is no memory; nothing else may.
        let end = if code < 0 { End::Killed } else { End::Exit(code) };
        assert!(code >= 0 || kind == "alloc", "{what}");
        assert!(code == 0 || kind != "short", "a short write is finished: {what}");
        self.check(&end, &what);
        self.finish(&what);
        true
    }

    /// How many calls of a kind there are.
    fn calls(&self, kind: &str) -> usize {
        let scratch = Folder::new();
        let count = scratch.path("count");
        self.reset();
        let outcome = self.folder.run_with(
            self.command,
            &[
                ("LD_PRELOAD", shim()),
                ("FAULT_KIND", &PathBuf::from(kind)),
                ("FAULT_COUNT", &count),
            ],
        );
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        std::fs::read_to_string(&count).expect("the shim was loaded").parse().expect("a number")
    }

    /// Every n of every kind; gives how many there were of each.
    fn fail_everywhere(&self) -> Vec<(&'static str, usize)> {
        let all = |&kind: &&'static str| {
            let mut n = 1;
            while self.fail(kind, n) {
                n += 1;
            }
            (kind, n - 1)
        };
        KINDS.iter().map(all).collect()
    }

    /// The first, the middle and the last call of every kind.
    fn fail_at_some(&self) {
        for kind in KINDS {
            let calls = self.calls(kind);
            let some = BTreeSet::from([1, calls.div_ceil(2), calls]);
            for n in some.into_iter().filter(|n| (1..=calls).contains(n)) {
                // Threads may make a call more or less.
                assert!(self.fail(kind, n) || n == calls, "{}: {kind} {n}", self.name);
            }
        }
    }

    /// Allocations: so many evenly over all, and each of so many at the end, when files are written.
    fn fail_allocations(&self, evenly: usize, last: usize) -> usize {
        let calls = self.calls("alloc");
        let mut points: BTreeSet<usize> = (1..=evenly).map(|p| calls * p / (evenly + 1)).collect();
        points.extend(calls.saturating_sub(last) + 1..=calls);
        points.into_iter().filter(|&n| self.fail("alloc", n)).count()
    }

    /// Kills the process at random times, again and again, and lets it end once.
    fn kill(&self, times: usize) -> usize {
        self.reset();
        let started = Instant::now();
        self.folder.ok(self.command);
        let whole = started.elapsed();
        let (mut random, mut killed) = (0x2545_f491_4f6c_dd1d_u64, 0);
        for time in 0..times {
            if time % 5 == 0 {
                self.reset(); // else what is there is gone on with
            }
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
            let mut command = self.folder.command(self.command);
            let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let mut child = child.expect("it starts");
            std::thread::sleep(Duration::from_secs_f64(1.1 * share * whole.as_secs_f64()));
            let ended = child.try_wait().expect("a child");
            if ended.is_none() {
                child.kill().expect("SIGKILL");
                child.wait().expect("a child");
                killed += 1;
            }
            let end = ended.map_or(End::Killed, |status| End::Exit(status.code().unwrap_or(-1)));
            // A log that was begun is only begun anew when it is asked for; here it always is.
            self.check(
                &match end {
                    End::Exit(code) => {
                        assert_eq!(code, 0, "{}: it was not killed", self.name);
                        End::Killed // of earlier kills, something may be left
                    }
                    End::Killed => End::Killed,
                },
                self.name,
            );
        }
        self.finish(self.name);
        killed
    }
}

fn verbs() -> [Verb; 5] {
    [fit(), predict(), cluster(), encode(), lab_run()]
}

#[test]
fn a_call_that_fails_leaves_the_old_file_or_the_new_one() {
    verbs().iter().for_each(Verb::fail_at_some);
}

#[test]
fn an_allocation_that_fails_leaves_the_old_file_or_the_new_one() {
    for verb in verbs() {
        verb.fail_allocations(2, 2);
    }
}

#[test]
fn a_killed_process_leaves_the_old_file_or_the_new_one() {
    for verb in verbs() {
        verb.kill(3);
    }
}

#[test]
#[ignore = "slow: every write, sync, rename and open of five verbs fails once"]
fn every_call_that_fails_leaves_the_old_file_or_the_new_one() {
    for verb in verbs() {
        let points = verb.fail_everywhere();
        println!("{}: {points:?}", verb.name);
        let reached = |kind: &str| points.iter().any(|(k, n)| *k == kind && *n > 0);
        assert!(["write", "sync", "rename", "open"].into_iter().all(reached), "{}", verb.name);
    }
}

#[test]
#[ignore = "slow: 300 allocations of each of five verbs fail"]
fn many_allocations_that_fail_leave_the_old_file_or_the_new_one() {
    for verb in verbs() {
        println!("{}: {} of {}", verb.name, verb.fail_allocations(200, 100), verb.calls("alloc"));
    }
}

#[test]
#[ignore = "slow: five verbs are killed 100 times each"]
fn many_killed_processes_leave_the_old_file_or_the_new_one() {
    for verb in verbs() {
        println!("{}: {} kills", verb.name, verb.kill(100));
    }
}
