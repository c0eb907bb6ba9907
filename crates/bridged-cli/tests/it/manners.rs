//! The manners of the command: examples that work, errors that say a thing once, nothing raw on the terminal.

use crate::support::{Folder, Outcome, blobs};
use std::collections::BTreeSet;

/// Every verb, those of several verbs too, as words to type; the command itself is the empty one.
fn verbs(folder: &Folder) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(path) = open.pop() {
        let help = folder.ok(format!("{path} --help").trim_start());
        let commands = help.split_once("\nCommands:\n").map(|(_, rest)| rest);
        let names: Vec<&str> = commands
            .into_iter()
            .flat_map(|rest| rest.lines().take_while(|line| !line.is_empty()))
            .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
            .filter(|name| !name.is_empty() && *name != "help")
            .collect();
        open.extend(names.iter().map(|name| format!("{path} {name}").trim().to_string()));
        found.push(path);
    }
    found
}

/// The examples that the help of a verb ends with; a line that ends with `\` goes on.
fn examples(folder: &Folder, verb: &str) -> Vec<String> {
    let help = folder.ok(format!("{verb} --help").trim_start());
    let Some((_, text)) = help.split_once("\nExamples:\n") else {
        panic!("{verb} has no examples")
    };
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().take_while(|line| !line.is_empty());
    lines.map(|line| line.trim().strip_prefix("bridged ").expect("a command").to_string()).collect()
}

/// The folder that the examples of a verb are run in: the files of the demo, and what else it reads.
fn files_for(verb: &str) -> Folder {
    match verb {
        #[cfg(feature = "lab")]
        "lab curate bioscan" => crate::curate::bioscan(),
        #[cfg(feature = "lab")]
        "lab curate wit" => crate::curate::wit(),
        #[cfg(feature = "lab")]
        "lab curate flickr30k" => crate::curate::flickr(),
        #[cfg(feature = "lab")]
        "lab curate coco" => crate::curate::coco(),
        #[cfg(feature = "lab")]
        "lab curate" | "lab curate overlap" | "lab curate encoders" => {
            let folder = Folder::new();
            let words = ["red", "blue"];
            let row = |i: usize| {
                format!("\"[{i}, 1]\",\"[1, {i}]\",kind,a {} bird {}\n", words[i % 2], i % 5)
            };
            let rows: String = (0..40).map(row).collect();
            folder.write("texts.csv", format!("x,y,group,text\n{rows}"));
            let table = bridged_io::read(&folder.path("texts.csv")).unwrap();
            bridged_io::write(&folder.path("texts.parquet"), &table).unwrap();
            folder
        }
        #[cfg(feature = "lab")]
        "lab" => crate::lab::study_folder(),
        #[cfg(feature = "lab")]
        "lab run" | "lab tune" => crate::lab::catalogue_folder(),
        #[cfg(feature = "lab")]
        "lab report" | "lab pack" => {
            let folder = crate::lab::study_folder();
            folder.ok("lab run study.toml");
            folder
        }
        // It saves the files that the other examples use, and never over files that are there.
        "" | "demo" => Folder::new(),
        _ => {
            let folder = Folder::new();
            folder.ok("demo --save .");
            let model = "--x pictures.parquet --y names.parquet --pairs pairs.csv -k 7";
            folder.ok(&format!("fit {model} -o emoji.bridged"));
            let dna: String =
                (0..5).map(|i| format!(">s{i}\n{}\n", "ACGT".repeat(9 + i))).collect();
            folder.write("barcodes.fasta", dna);
            folder.write("ids.txt", "1f562\n");
            folder
        }
    }
}

#[test]
fn every_verb_has_examples_that_work_as_printed() {
    let anywhere = Folder::new();
    let verbs = verbs(&anywhere);
    assert!(verbs.len() >= 10, "{verbs:?}");
    for verb in verbs {
        let folder = files_for(&verb);
        for example in examples(&anywhere, &verb) {
            assert!(example.starts_with(&verb), "{verb}: {example}");
            // The networks for pictures need weights of 100 MB; what can be checked is that the words are right.
            if verb == "encode images" {
                let outcome = folder.run(&example);
                assert_eq!(outcome.code, 1, "{example}\n{}", outcome.stderr);
                assert!(outcome.stderr.contains("photos"), "{}", outcome.stderr);
                continue;
            }
            // A server answers until it is stopped; another one may listen where the example does.
            if verb == "serve" {
                let outcome = folder.shell(&format!("timeout -s INT 2 $BRIDGED {example}"));
                let said = &outcome.stderr;
                let listened = said.contains("listening on http://127.0.0.1:");
                assert!(
                    listened || said.contains("in use by another program"),
                    "{example}\n{said}"
                );
                continue;
            }
            let outcome = folder.shell(&format!("$BRIDGED {example}"));
            assert_eq!(outcome.code, 0, "bridged {example}\n{}{}", outcome.stdout, outcome.stderr);
        }
    }
}

#[cfg(not(feature = "serve"))]
#[test]
fn a_build_without_a_server_says_how_to_get_one() {
    let folder = Folder::new();
    folder.fails(
        2,
        "serve m.bridged --port 0",
        &["was built without the HTTP server", "--features serve"],
    );
    assert!(!folder.ok("--help").contains("serve"));
}

#[test]
fn the_help_says_what_exit_codes_mean() {
    let help = Folder::new().ok("--help");
    for part in ["Exit codes:", "\n  0 ", "\n  1 ", "\n  2 ", "\n  130 ", "\"exit_code\""] {
        assert!(help.contains(part), "{part} in\n{help}");
    }
}

#[cfg(feature = "man")]
#[test]
fn every_verb_has_a_page_of_the_manual() {
    let folder = Folder::new();
    let page = folder.ok("man");
    assert!(page.contains(".TH bridged 1") && page.contains("Exit codes"), "{page}");
    folder.ok("man pages");
    let pages: BTreeSet<String> = std::fs::read_dir(folder.path("pages"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    for verb in verbs(&folder).iter().filter(|verb| !verb.is_empty()) {
        let name = format!("bridged-{}.1", verb.replace(' ', "-"));
        assert!(pages.contains(&name), "{name} in {pages:?}");
        let page = folder.text(&format!("pages/{name}"));
        assert!(page.contains(".SH EXAMPLES\n.nf\nExamples:"), "{page}");
    }
    assert!(pages.contains("bridged.1"));
    folder.ok("man pages");
    folder.write("pages/bridged.1", "notes of mine");
    folder.fails(2, "man pages", &["bridged.1", "is not a page of this manual"]);
}

/// A folder with a model and much that is wrong.
fn broken() -> Folder {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 30, 3, 4));
    folder.write("y.csv", blobs("y", 30, 3, 5));
    folder.write("pairs.csv", "x_id,y_id\nx0,y2\nx1,y0\nx2,y1\n");
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged");
    folder.write("empty.csv", "");
    folder.write("words.csv", "id,word\na,b\n");
    folder.write("ragged.csv", "id,a,b\np,1,2\nq,3\n");
    folder.write("gap.csv", "id,a\np,1\nq,\n");
    folder.write("twice.csv", "id,a\np,1\np,2\n");
    folder.write("latin.csv", b"id,a\n\xff\xfe,1\n");
    folder.write("text.parquet", "id,a\n1,2\n");
    folder.write("cut.npy", b"\x93NUMPY\x01\x00");
    folder.write("unknown.csv", "x_id,y_id\nnobody,y0\n");
    folder.write("nothing.csv", "x_id,y_id\n");
    folder.write("one.csv", "x_id\nx0\n");
    folder.write("no.bridged", "hello");
    folder.write("bad.toml", "data = \"none.parquet\"\n");
    folder.write("odd.toml", "data = 3\nseedlings = 2\n");
    std::fs::create_dir(folder.path("folder.csv")).unwrap();
    folder
}

/// Commands that fail in every way that can be reached without a special machine.
const FAILURES: &[&str] = &[
    "fit --x none.csv --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x empty.csv --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x words.csv --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x ragged.csv --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x gap.csv --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x twice.csv --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x latin.csv --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x text.parquet --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x cut.npy --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x folder.csv --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x x.txt --y y.csv --pairs pairs.csv -k 3 -o a.bridged",
    "fit --x x.csv --y y.csv --pairs unknown.csv -k 3 -o a.bridged",
    "fit --x x.csv --y y.csv --pairs nothing.csv -k 3 -o a.bridged",
    "fit --x x.csv --y y.csv --pairs one.csv -k 3 -o a.bridged",
    "fit --x x.csv --y y.csv --pairs pairs.csv -k 31 -o a.bridged",
    "fit --x x.csv --y y.csv --pairs pairs.csv -k 0 -o a.bridged",
    "fit --x x.csv --y y.csv --pairs pairs.csv -k 3 --set x.speed=9 -o a.bridged",
    "fit --x x.csv --y y.csv --pairs pairs.csv -k 3 --bridge telepathy -o a.bridged",
    "fit --x x.csv --y y.csv --pairs pairs.csv -k 3 --x-id nobody -o a.bridged",
    "fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o no/where/a.bridged",
    "fit --x x.csv --y y.csv",
    "predict no.bridged x.csv -o out.csv",
    "predict none.bridged x.csv -o out.csv",
    "predict m.bridged x.csv --reverse -o out.csv",
    "predict m.bridged x.csv --level 0.99 -o out.csv",
    "predict m.bridged x.csv --level 7 -o out.csv",
    "predict m.bridged x.csv --vector nobody -o out.csv",
    "predict m.bridged x.csv -o out.txt",
    "predict m.bridged x.csv -o folder.csv",
    "predict m.bridged x.csv -o no/where.csv",
    "predict m.bridged x.csv -o /dev/full",
    "predict m.bridged x.csv -o full.csv",
    "inspect none.bridged",
    "inspect no.bridged",
    "inspect m.bridged --show-y nobody",
    "inspect m.bridged -o links.txt",
    "evaluate m.bridged --x x.csv --y y.csv",
    "evaluate m.bridged --x x.csv --y y.csv --by-position --labels nobody",
    "evaluate m.bridged --x x.csv --y y.csv --pairs unknown.csv",
    "cluster x.csv -o l.csv",
    "cluster x.csv -k 31 -o l.csv",
    "cluster x.csv -k 3 --min-size 4 -o l.csv",
    "cluster x.csv -k 3 --scale odd -o l.csv",
    "cluster x.csv -k 3 -o /dev/full/l.csv",
    "cluster gap.csv -k 3 -o l.csv",
    "completions klingon",
    "nonsense",
    "lab run none.toml",
    "lab run bad.toml",
    "lab run odd.toml",
    "lab run x.csv",
    "lab tune none.toml -o t.toml",
    "lab report none -o r.html",
    "lab report . -o r.html",
    "lab report . -o r.txt",
    "lab pack none -o packed",
    "lab curate overlap x.csv --words a,b -o o.parquet",
    "lab curate coco --captions odd.toml --instances odd.toml --images x.csv -o c.parquet",
    "encode text x.csv --encoder tfidf --column nobody -o t.parquet",
    "encode text none.txt --encoder tfidf -o t.parquet",
    "encode dna none.fasta --encoder kmer -o t.parquet",
    "encode dna x.csv --encoder kmer --k 99 -o t.parquet",
    "encode images . --encoder resnet50 --weights no.bridged -o t.parquet",
    "encode images none --encoder resnet50 --weights none -o t.parquet",
    "encode text x.csv --encoder sentence-bert --weights no.bridged -o t.parquet",
];

/// The clauses of a message: what stands between colons and semicolons. Short ones may well occur twice.
fn clauses(message: &str) -> Vec<&str> {
    message.split([':', ';', '\n']).map(str::trim).filter(|c| c.len() > 12).collect()
}

#[test]
fn no_error_says_anything_twice() {
    let folder = broken();
    std::os::unix::fs::symlink("/dev/full", folder.path("full.csv")).unwrap();
    for command in FAILURES {
        let Outcome { code, stderr, .. } = folder.run(command);
        assert!(code == 1 || code == 2, "bridged {command}: code {code}\n{stderr}");
        // Usage and hints follow clap's messages after an empty line.
        let said = stderr.split("\n\n").next().unwrap_or_default();
        let clauses = clauses(said);
        let distinct: BTreeSet<&&str> = clauses.iter().collect();
        assert_eq!(distinct.len(), clauses.len(), "bridged {command}\n{stderr}");
        assert_eq!(stderr.matches("error:").count(), 1, "bridged {command}\n{stderr}");
    }
}

#[test]
fn errors_are_one_line_of_json_where_json_was_asked_for() {
    let folder = broken();
    let error = |command: &str| {
        let Outcome { code, stdout, stderr } = folder.run(command);
        assert_eq!(stdout, "", "bridged {command}");
        assert_eq!(stderr.lines().count(), 1, "bridged {command}\n{stderr}");
        let value: serde_json::Value =
            serde_json::from_str(&stderr).unwrap_or_else(|e| panic!("{e}\n{stderr}"));
        assert_eq!(value["error"]["exit_code"], code, "{stderr}");
        let text = |key: &str| value["error"][key].as_str().expect("a text").to_string();
        (text("kind"), text("message"))
    };
    let (kind, message) = error("cluster none.csv -k 3 -o l.csv --json");
    assert_eq!((kind.as_str(), message.as_str()), ("table", "`none.csv` does not exist"));
    assert_eq!(error("inspect no.bridged --json").0, "model");
    assert_eq!(error("cluster x.csv -o l.csv --json").0, "usage");
    assert_eq!(error("cluster x.csv -k 31 -o l.csv --json").0, "failed");
    let (kind, message) = error("predict m.bridged --nonsense --json");
    assert_eq!(kind, "usage");
    assert!(message.starts_with("unexpected argument '--nonsense'"), "{message}");
    assert_eq!(error("fit --json").0, "usage");
}

#[test]
fn the_highest_level_that_an_error_offers_is_accepted_when_typed_as_shown() {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 90, 3, 4));
    folder.write("y.csv", blobs("y", 90, 3, 5));
    for pairs in [3, 7, 12, 25, 26, 60, 90] {
        let lines: String = (0..pairs).map(|i| format!("x{i},y{i}\n")).collect();
        folder.write("pairs.csv", format!("x_id,y_id\n{lines}"));
        folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged");
        let said = folder.run("predict m.bridged x.csv --level 0.9999 -o out.csv").stderr;
        let offered =
            said.split("the highest level is ").nth(1).unwrap_or_else(|| panic!("{said}"));
        let offered = offered.split(';').next().unwrap();
        folder.ok(&format!("predict m.bridged x.csv --level {offered} -o out.csv"));
    }
}

#[test]
fn nothing_from_a_file_acts_on_the_terminal() {
    let folder = Folder::new();
    // A title that clears the screen, an id that turns around, a name that rings.
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}";
    folder.write(
        "x.csv",
        blobs("x", 30, 3, 4).replace("x of", &format!("x{evil} of")).replace("name", "na\u{9b}me"),
    );
    folder.write("y.csv", blobs(&format!("y{evil}"), 30, 3, 5));
    folder.write(
        "pairs.csv",
        format!("x_id,y_id\nx0,y{evil}2\nx1,y{evil}0\nx2,y{evil}1\nx3,y{evil}0\n"),
    );
    folder.write("wrong.csv", format!("x_id,y_id\nx0{evil},y0\n"));
    let path = "m\u{1b}[31m\u{202e}.bridged";
    let clean = |what: &str, text: &str| {
        let raw = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(raw), "{what}\n{text:?}");
    };
    let pools = "--x x.csv --y y.csv -k 3";
    let commands = [
        format!("fit {pools} --pairs pairs.csv -o {path}"),
        format!("fit {pools} --pairs pairs.csv -o {path} --json"),
        format!("inspect {path}"),
        format!("inspect {path} --json"),
        format!("predict {path} x.csv --nearest 1 -o out{evil}.csv"),
        format!("cluster x.csv -k 3 -o l{evil}.csv --json"),
        format!("fit {pools} --pairs wrong.csv -o a.bridged"),
        format!("fit {pools} --pairs wrong.csv -o a.bridged --json"),
        format!("inspect none{evil}.bridged"),
        format!("inspect {path} --show-x no{evil}"),
        format!("evaluate {path} --x x.csv --y y.csv --by-position --labels no{evil}"),
        format!("cluster x.csv --method no{evil} -k 3 -o l.csv"),
        format!("nonsense{evil}"),
        format!("encode text x.csv --encoder tfidf --column no{evil} -o t.parquet"),
        format!("lab run no{evil}.toml"),
    ];
    for command in commands {
        let Outcome { stdout, stderr, .. } = folder.run(&command);
        assert!(!(stdout.is_empty() && stderr.is_empty()), "{command:?} says nothing");
        clean(&command, &stdout);
        clean(&command, &stderr);
    }
    let table = folder.ok(&format!("inspect {path}"));
    assert!(table.contains("\\u{1b}[2J"), "what is hidden is shown\n{table}");
}

#[test]
fn a_name_of_ten_megabytes_does_not_fill_the_screen() {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 30, 3, 4));
    folder.write("y.csv", blobs("y", 30, 3, 5));
    let long = "n".repeat(10 << 20);
    folder.write("pairs.csv", format!("x_id,y_id\n{long},y2\n"));
    let outcome = folder.run("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.len() < 2000, "{} bytes", outcome.stderr.len());
    assert!(outcome.stderr.contains("is not an id of x"), "{}", outcome.stderr);
}

#[test]
fn a_log_hears_of_progress_line_by_line() {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 4000, 3, 16));
    let work = "cluster x.csv -k 40 --restarts 30 -o l.csv";
    let loud = folder.shell(&format!("BRIDGED_PROGRESS_SECONDS=0.01 $BRIDGED {work}"));
    assert_eq!(loud.code, 0, "{}", loud.stderr);
    let said: Vec<&str> = loud.stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
    assert!(said.len() > 2, "{}", loud.stderr);
    for line in said {
        assert!(line.starts_with("progress: ") && line.ends_with(" s"), "{line}");
    }
    let quiet = folder.shell(&format!("BRIDGED_PROGRESS_SECONDS=0.01 $BRIDGED {work} --quiet"));
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
    // Unless told otherwise a line comes every 30 s, so short work says nothing.
    let short = folder.shell(&format!("$BRIDGED {work}"));
    assert_eq!((short.code, short.stderr.contains("progress")), (0, false), "{}", short.stderr);
}

#[test]
fn threads_are_no_more_than_the_cores() {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 30, 3, 4));
    let outcome = folder.run("cluster x.csv -k 3 -o l.csv --threads 100000");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let cores = std::thread::available_parallelism().unwrap();
    let note = format!("note: --threads {cores}: there are no more cores\n");
    assert!(outcome.stderr.starts_with(&note), "{}", outcome.stderr);
}

#[test]
fn a_slip_of_the_finger_is_understood() {
    let folder = Folder::new();
    for (typed, meant) in [("fti", "fit"), ("predcit", "predict")] {
        folder.fails(2, typed, &[typed, &format!("similar subcommand exists: '{meant}'")]);
    }
}

#[test]
fn a_damaged_model_is_refused_before_anything_of_it_is_printed() {
    let folder = broken();
    let mut bytes = folder.read("m.bridged");
    let end = bytes.len() - 8;
    bytes[end] ^= 1; // in the rows, which are read when they are shown
    folder.write("m.bridged", bytes);
    let outcome = folder.run("inspect m.bridged");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("damaged"), "{}", outcome.stderr);
}
