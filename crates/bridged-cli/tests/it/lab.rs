//! Studies through the binary: search, run, go on, and what can be wrong with them.

use crate::support::Folder;

/// Eight groups of 30 paired rows, and a study of them.
pub fn study_folder() -> Folder {
    let folder = Folder::new();
    let mut csv = String::from("x,y,group\n");
    for i in 0..240 {
        let group = i % 8;
        let noise = |j: usize| ((i * 31 + j * 17) % 23) as f64 / 46.0;
        let row = |far: usize| -> String {
            let cell = |j: usize| noise(j) + if j == (group * far) % 8 { 9.0 } else { 0.0 };
            (0..8).map(|j| format!("{:.3}", cell(j))).collect::<Vec<_>>().join(", ")
        };
        csv += &format!("\"[{}]\",\"[{}]\",kind {group}\n", row(1), row(3));
    }
    folder.write("kinds.csv", csv);
    folder.write(
        "study.toml",
        "data = \"kinds.csv\"\ngroups = [2, 3]\npairs = [1, 2]\nseeds = 2\n\
         methods = [\"bridged\", \"knn\", \"laprls\", \"eot\"]\n",
    );
    folder
}

#[test]
fn a_study_runs_once_and_a_second_call_has_nothing_to_do() {
    let folder = study_folder();
    let out = folder.ok("lab run study.toml");
    assert!(out.contains("128 runs in results/study"), "{out}");
    let runs = folder.text("results/study/runs.jsonl");
    assert_eq!(runs.lines().count(), 128);
    for line in runs.lines() {
        let run: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let peak = run["scores"]["peak_bytes"].as_u64().expect("scores");
        assert!(peak > 100, "the binary counts memory: {line}");
        assert!(run["version"].is_string() && run["seed"].is_u64());
    }
    folder.ok("lab run study.toml");
    assert_eq!(folder.text("results/study/runs.jsonl"), runs, "not a byte more");

    // More of the same study is added; another study is not mixed in.
    let text = folder.text("study.toml");
    folder.write("study.toml", text.replace("seeds = 2", "seeds = 3"));
    folder.ok("lab run study.toml");
    let more = folder.text("results/study/runs.jsonl");
    assert_eq!(more.lines().count(), 192);
    assert!(more.starts_with(&runs));
    folder.write("study.toml", text.replace("seeds = 2", "seed = 9"));
    let parts = ["holds the results of another study", "its `seed` differs", "--out"];
    folder.fails(2, "lab run study.toml", &parts);
}

#[test]
fn a_search_is_kept_continued_and_used() {
    let folder = study_folder();
    let out = folder.ok("lab tune study.toml --methods laprls --draws 2 -o tuned.toml");
    assert!(out.contains("laprls") && out.contains("81"), "{out}");
    let first = folder.text("tuned.toml");
    assert_eq!(first.matches("[[choice]]").count(), 2, "one a direction\n{first}");
    folder.ok("lab tune study.toml --methods laprls,knn --draws 2 -o tuned.toml");
    let both = folder.text("tuned.toml");
    assert!(both.starts_with(&first[..200]) && both.matches("[[choice]]").count() == 4, "{both}");
    let parts = ["holds another search", "2 draws", "choose another --out"];
    folder.fails(2, "lab tune study.toml --methods knn --draws 3 -o tuned.toml", &parts);

    let study = folder.text("study.toml");
    folder.write("tuned-study.toml", format!("tuned = \"tuned.toml\"\n{study}"));
    folder.ok("lab run tuned-study.toml -o out");
    assert_eq!(folder.text("out/runs.jsonl").lines().count(), 128);
}

#[test]
fn what_is_wrong_with_a_study_is_said_in_a_sentence() {
    let folder = study_folder();
    let good = folder.text("study.toml");
    let cases = [
        ("knn", "knm", "there is no method `knm`; did you mean `knn`?"),
        ("kinds.csv", "kids.csv", "there is no such data set"),
        ("seeds", "seedlings", "unknown field `seedlings`"),
        (
            "[2, 3]",
            "[2, 30]",
            "kinds has 8 groups with enough rows for this protocol, 30 are needed",
        ),
        ("[1, 2]", "[0]", "`pairs` must be at least 1, got 0"),
        ("[1, 2]", "[]", "`pairs` must be at least one, got none"),
    ];
    for (old, new, said) in cases {
        folder.write("bad.toml", good.replace(old, new));
        let outcome = folder.run("lab run bad.toml -o none");
        assert_eq!(outcome.code, 1, "{new}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{new}: {}", outcome.stderr);
    }
    folder.write("small.toml", format!("{good}[protocol]\nrows_per_group = 31\n"));
    let outcome = folder.run("lab run small.toml -o none");
    assert!(outcome.stderr.contains("kind 3 has 30, needs 31"), "{}", outcome.stderr);
    folder.write("table.csv", "x,y\n\"[1]\",\"[2]\"\n");
    folder.write("bad.toml", "data = \"table.csv\"");
    folder.fails(1, "lab run bad.toml -o none", &["`", "table.csv", "has no column `group`"]);
    folder.fails(1, "lab run missing.toml", &["missing.toml"]);
}

/// The table of `study_folder` as a data set of a folder of studies, with two conditions.
pub fn catalogue_folder() -> Folder {
    let folder = study_folder();
    for part in ["datasets", "conditions"] {
        std::fs::create_dir_all(folder.path("studies").join(part)).expect("a writable folder");
    }
    let dataset = "about = \"Eight kinds\"\ndata = \"kinds.csv\"\ngroups = [2]\npairs = [2]\n";
    folder.write("studies/datasets/kinds.toml", dataset);
    folder.write("studies/datasets/others.toml", dataset.replace("Eight", "Other"));
    let methods = "seeds = 1\nmethods = [\"bridged\", \"knn\"]\n";
    folder.write("studies/conditions/base.toml", format!("about = \"As it is\"\n{methods}"));
    let condition = "[protocol]\npairing = \"iid\"\n";
    folder.write(
        "studies/conditions/random-pairs.toml",
        format!("about = \"Pairs at random\"\ndatasets = [\"kinds\"]\n{methods}{condition}"),
    );
    folder
}

#[test]
fn studies_of_a_folder_are_chosen_by_data_set_and_condition() {
    let folder = catalogue_folder();
    let list = folder.ok("lab run studies --list");
    assert!(list.contains("kinds") && list.contains("Eight kinds"), "{list}");
    assert!(list.contains("random-pairs  Pairs at random (kinds only)"), "{list}");

    let out = folder.ok("lab run studies --data kinds --data-dir .");
    assert!(out.contains("8 runs in results/kinds\n"), "{out}");
    let out = folder.ok("lab run studies --data all --condition base,random-pairs --data-dir .");
    for name in ["kinds", "others", "kinds-random-pairs"] {
        assert!(out.contains(&format!("8 runs in results/{name}\n")), "{name}: {out}");
    }
    let study = folder.text("results/kinds-random-pairs/study.toml");
    assert!(
        study.contains("pairing = \"iid\"") && study.contains("data = \"kinds.csv\""),
        "{study}"
    );
    let page = folder.ok("lab report results -o report.md");
    assert!(page.contains("24 runs of 3 studies"), "{page}");
    folder.ok("lab tune studies --data kinds --data-dir . --methods knn --draws 1 -o tuned.toml");
}

#[test]
fn what_a_folder_of_studies_does_not_have_is_said_in_a_sentence() {
    let folder = catalogue_folder();
    let choose = ["is a folder of studies", "--data kinds", "--list"];
    folder.fails(2, "lab run studies", &choose);
    let unknown = ["there is no data set `kind`; did you mean `kinds`?"];
    folder.fails(1, "lab run studies --data kind", &unknown);
    let not_for = ["random-pairs.toml", "not for others; it is for kinds"];
    folder.fails(1, "lab run studies --data others --condition random-pairs", &not_for);
    folder.fails(1, "lab run studies --data kinds", &["no such data set", "--data-dir"]);
    folder.fails(2, "lab run study.toml --data kinds", &["choose from a folder of studies"]);
    let two = "lab tune studies --data all --data-dir . -o tuned.toml";
    folder.fails(2, two, &["a search is made for one study; 2 are named"]);
    let out = "lab run studies --data all --data-dir . -o one";
    folder.fails(2, out, &["--out names the folder of one study"]);
}
