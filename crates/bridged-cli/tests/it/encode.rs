//! From photographs, texts and DNA to tables: without weights by words, with real ones where they are at hand.

use crate::support::Folder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn repo(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).canonicalize().unwrap()
}

/// The real weights, or a line that says that a test is skipped.
fn weights() -> Option<String> {
    let folder = std::env::var("BRIDGED_ENCODER_WEIGHTS").ok();
    if folder.is_none() {
        eprintln!(
            "skipped: BRIDGED_ENCODER_WEIGHTS names no folder; tools/encoder_weights.sh makes one"
        );
    }
    folder
}

fn table(folder: &Folder, name: &str) -> bridged_io::Pool {
    bridged_io::read(&folder.path(name)).unwrap().into_pool(bridged_io::Select::default()).unwrap()
}

fn fasta(n: usize) -> String {
    let letter = |i: usize, at: usize| b"ACGT"[(i * 7 + at * at + at / 3) % 4] as char;
    let record =
        |i| format!(">s{i} a beetle\n{}\n", (0..60).map(|at| letter(i, at)).collect::<String>());
    (0..n).map(record).collect()
}

#[test]
fn sequences_become_a_table_and_those_that_cannot_are_listed() {
    let folder = Folder::new();
    folder.write("b.fasta", format!("{}>empty\n>n\nNNNNNNN\n", fasta(3)));
    let out = folder.ok("encode dna b.fasta --encoder kmer --k 2 -o y.parquet");
    assert!(
        out.contains("5 sequences by kmer, 16 numbers each") && out.contains("y.failed.csv"),
        "{out}"
    );
    let pool = table(&folder, "y.parquet");
    assert_eq!(pool.ids, ["s0", "s1", "s2"]);
    assert_eq!((pool.rows.cols(), pool.carried[0].name.as_str()), (16, "sequence"));
    assert!((pool.rows.row(1).iter().sum::<f32>() - 1.0).abs() < 1e-6);
    let failed = folder.text("y.failed.csv");
    assert!(failed.starts_with("id,reason\nempty,") && failed.contains("\nn,"), "{failed}");
    assert_eq!(folder.files(), ["b.fasta", "y.failed.csv", "y.parquet"]);

    folder.fails(
        2,
        "encode dna b.fasta --encoder kmer --k 2 -o y.parquet",
        &["y.parquet` is there already"],
    );
    folder.ok("encode dna b.fasta --encoder kmer --k 3 --both-strands -o y.parquet --force");
    assert_eq!(table(&folder, "y.parquet").rows.cols(), 32);
}

#[test]
fn what_is_longer_than_the_limit_is_listed_and_the_rest_goes_on() {
    let folder = Folder::new();
    let long = format!("{}>long\n{}\n>last\nACGTAC\n", fasta(1), "ACGT".repeat(100));
    folder.write("b.fasta", &long);
    let command = "encode dna b.fasta --encoder kmer --k 2 --max-letters 60";
    folder.ok(&format!("{command} -o y.parquet"));
    assert_eq!(table(&folder, "y.parquet").ids, ["s0", "last"]);
    let failed = folder.text("y.failed.csv");
    assert!(failed.contains("long,") && failed.contains("more than 60 letters"), "{failed}");
    assert!(failed.contains("raise --max-letters"), "{failed}");
    let strict = folder.shell(&format!("$BRIDGED {command} --strict -o z.parquet"));
    assert_eq!(strict.code, 1, "{}", strict.stderr);
    assert!(
        strict.stderr.contains("`long`: the sequence has more than 60 letters"),
        "{}",
        strict.stderr
    );
    folder.ok("encode dna b.fasta --encoder kmer --k 2 --max-letters 400 -o w.parquet");
    assert_eq!(table(&folder, "w.parquet").ids, ["s0", "long", "last"]);

    folder.write("t.txt", "a dog runs\na dog that runs and runs and runs\n\na cat\n");
    folder.ok("encode text t.txt --encoder tfidf --max-letters 10 -o t.parquet");
    assert_eq!(table(&folder, "t.parquet").ids, ["1", "4"]);
    let failed = folder.text("t.failed.csv");
    assert!(failed.contains("2,") && failed.contains("more than 10 letters"), "{failed}");
}

#[test]
fn work_that_was_cut_off_goes_on_and_ends_with_the_same_bytes() {
    let folder = Folder::new();
    folder.write("b.fasta", fasta(1300));
    folder.ok("encode dna b.fasta -e kmer -o whole.parquet");
    // The work of a run that died in its third block, as its resume log holds it.
    let line = "$BRIDGED encode dna b.fasta -e kmer -o y.parquet";
    let outcome = folder.shell(&format!("ulimit -f 9500; trap '' XFSZ; {line}"));
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("what it holds is kept"), "{}", outcome.stderr);
    assert!(folder.files().contains(&"y.parquet.part".to_string()));
    folder.fails(
        1,
        "encode dna b.fasta -e kmer --k 4 -o y.parquet",
        &["was begun by another command", "`k` was null and is 4"],
    );
    let outcome = folder.shell(line);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("1,024 of 1,300 sequences are done already"),
        "{}",
        outcome.stderr
    );
    assert!(folder.read("y.parquet") == folder.read("whole.parquet"));
    assert!(!folder.files().contains(&"y.parquet.part".to_string()));
}

#[test]
fn new_texts_get_the_columns_of_the_vocabulary_that_was_learned() {
    let folder = Folder::new();
    folder.write("c.csv", "id,author,caption\na,me,a dog runs\nb,you,a dog sleeps\nc,me,\n");
    folder.ok("encode text c.csv --encoder tfidf -o y.parquet");
    assert!(folder.text("y.failed.csv").contains("c,there is no text"));
    let vocabulary = folder.read("y.vocabulary.parquet");
    folder.write("d.csv", "id,text\na,other words\n");
    folder.fails(2, "encode text d.csv --encoder tfidf -o y.parquet", &["is there already"]);
    assert!(folder.read("y.vocabulary.parquet") == vocabulary, "what is refused changes nothing");
    folder.write("new.txt", "the dog swims\n\nhe runs\n");
    folder.ok("encode text new.txt --encoder tfidf --weights y.vocabulary.parquet -o new.parquet");
    let pool = table(&folder, "new.parquet");
    assert_eq!(pool.ids, ["1", "3"]);
    assert_eq!(pool.rows.row(0), [1.0, 0.0, 0.0]); // dog, runs, sleeps
    assert_eq!(pool.rows.row(1), [0.0, 1.0, 0.0]);
    assert_eq!(pool.texts()[0].values[1].as_deref(), Some("he runs"));
}

#[test]
fn what_is_wrong_is_said_before_the_work_begins() {
    let folder = Folder::new();
    folder.write("b.fasta", ">a\nACGTACGT\n>a\nACGT\n");
    folder.write("c.csv", "id,one,two\na,x,y\n");
    folder.write("notes.txt", "a dog\n");
    std::fs::create_dir(folder.path("photos")).unwrap();
    let kmer = "encode dna b.fasta --encoder kmer";
    folder.fails(
        1,
        &format!("{kmer} -o y.parquet"),
        &["line 3: the id `a` was there before, in line 1"],
    );
    folder.fails(2, &format!("{kmer} --k 9 -o y.parquet"), &["`k` must be between 1 and 8, got 9"]);
    folder.fails(2, &format!("{kmer} -o y.csv"), &["ends in .parquet"]);
    folder.fails(
        2,
        &format!("{kmer} --weights c.csv -o y.parquet"),
        &["--weights does not apply to `kmer`"],
    );
    folder.fails(
        1,
        "encode dna nowhere.fasta -e kmer -o y.parquet",
        &["nowhere.fasta", "cannot be read"],
    );
    folder.fails(
        1,
        "encode text c.csv -e tfidf -o y.parquet",
        &["several columns of texts (`one`, `two`)"],
    );
    folder.fails(
        2,
        "encode text c.csv -e sentence-bert -o y.parquet",
        &["needs its weights", "all-MiniLM-L6-v2"],
    );
    folder.fails(
        1,
        "encode text notes.txt -e sentence-bert --weights nowhere -o y.parquet",
        &["no weights of sentence-bert at `nowhere`", "model.safetensors"],
    );
    folder.fails(
        2,
        "encode images photos -e resnet50 -o x.parquet",
        &["needs its weights", "torchvision"],
    );
    folder.fails(
        1,
        "encode images photos -e resnet50 --weights c.csv -o x.parquet",
        &["no pictures in `photos`"],
    );
}

#[test]
fn every_encoder_is_listed_with_where_its_weights_are() {
    let out = Folder::new().ok("encode list");
    for name in
        ["efficientnet-b0", "resnet50", "vit-b-16", "sentence-bert", "tfidf", "barcodebert", "kmer"]
    {
        assert!(out.contains(name), "{name} in\n{out}");
    }
    assert!(out.contains("weights: "), "{out}");
}

#[test]
fn real_pictures_go_on_after_a_stop_and_broken_ones_are_listed() {
    let Some(weights) = weights() else { return };
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("photos/more")).unwrap();
    for entry in std::fs::read_dir(repo("examples/emoji/pictures")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path("photos").join(entry.file_name())).unwrap();
    }
    let photo = std::fs::read(repo("tests/golden/photographs/china.jpg")).unwrap();
    folder.write("photos/more/china.JPG", &photo);
    folder.write("photos/more/cut.jpg", &photo[..photo.len() / 2]);
    folder.write("photos/more/notes.txt", "not a picture");
    let encode = format!(
        "encode images photos -e efficientnet-lite0 --weights {weights}/efficientnet-lite0"
    );
    let strict = folder.run(&format!("{encode} --strict -q -o x.parquet"));
    assert_eq!(strict.code, 1);
    assert!(
        strict.stderr.contains("more/cut.jpg") && strict.stderr.contains("--strict"),
        "{}",
        strict.stderr
    );
    let outcome = folder.run(&format!("{encode} -o x.parquet"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("1 file left out, which end like no picture: more/notes.txt"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("64 of 100 pictures are done already"), "{}", outcome.stderr);
    let pool = table(&folder, "x.parquet");
    assert_eq!((pool.rows.rows(), pool.rows.cols()), (99, 1280));
    assert_eq!(pool.ids.last().unwrap(), "more/china.JPG");
    assert!(folder.text("x.failed.csv").starts_with("id,reason\nmore/cut.jpg,"));
    for threads in [1, 3] {
        folder.ok(&format!("{encode} --threads {threads} -o {threads}.parquet"));
        assert!(
            folder.read(&format!("{threads}.parquet")) == folder.read("x.parquet"),
            "{threads}"
        );
    }
}

/// The whole way: a folder of pictures and a table of names, encoded, linked by 21 pairs, predicted both ways.
#[test]
fn the_example_names_new_pictures_and_finds_pictures_for_new_names() {
    let Some(weights) = weights() else { return };
    let folder = Folder::new();
    let script = repo("examples/emoji/run.sh");
    let outcome = folder.shell(&format!("{} {weights} out", script.display()));
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
    let demo = bridged_io::read(&repo("crates/bridged-cli/demo/emoji.parquet")).unwrap();
    let column = |name: &str| demo.column(name).unwrap().to_text().unwrap().values;
    let groups: BTreeMap<String, String> =
        column("id").into_iter().flatten().zip(column("group").into_iter().flatten()).collect();
    let group = |id: &str| groups[id.trim_end_matches(".png")].clone();
    for file in ["out/names.csv", "out/pictures.csv"] {
        let table = bridged_io::read(&folder.path(file)).unwrap();
        let column = |name: &str| {
            table.column(name).unwrap_or_else(|| panic!("{name}")).to_text().unwrap().values
        };
        let (asked, found) = (column("id"), column("nearest_1_id"));
        let right = asked
            .iter()
            .flatten()
            .zip(found.iter().flatten())
            .filter(|(a, f)| group(a) == group(f))
            .count();
        eprintln!("{file}: {right} of {} in the right group", asked.len());
        assert_eq!(asked.len(), 42);
        assert!(right >= 28, "{file}: {right} of 42 in the right group");
    }
}
