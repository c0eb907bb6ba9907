//! `bridged update`, `inspect --history` and `inspect --card`: models that go on living.

use crate::support::{Folder, blobs};
use bridged::files::FileLock;
use serde_json::Value;

/// Pools of 90 rows in three groups; models of the first 60 rows with six pairs.
fn folder() -> Folder {
    let folder = Folder::new();
    for (side, prefix, columns) in [("x", "a", 4), ("y", "b", 3)] {
        let all = blobs(prefix, 90, 3, columns);
        let lines: Vec<&str> = all.lines().collect();
        folder.write(&format!("{side}-all.csv"), &all);
        folder.write(&format!("{side}.csv"), lines[..61].join("\n"));
        folder.write(&format!("{side}-new.csv"), [&lines[..1], &lines[61..]].concat().join("\n"));
    }
    let pairs = |range: std::ops::Range<usize>| -> String {
        let line = |i: usize| format!("a{i},b{i}\n");
        std::iter::once("x_id,y_id\n".to_string()).chain(range.map(line)).collect()
    };
    folder.write("pairs.csv", pairs(0..6));
    folder.write("more.csv", pairs(6..9));
    folder.write("new-pairs.csv", pairs(70..73));
    folder.write("all-pairs.csv", pairs(0..9));
    folder.ok(&format!("{FIT} --pairs pairs.csv -o m.bridged"));
    folder
}

const FIT: &str = "fit --x x.csv --y y.csv -k 3";

#[test]
fn more_pairs_give_the_model_of_a_fit_with_all_of_them() {
    let folder = folder();
    folder.ok(&format!("{FIT} --pairs all-pairs.csv --no-history -o all.bridged"));
    let said = folder.ok("update m.bridged --pairs more.csv --no-history -o m2.bridged");
    assert!(said.contains("pairs: 3 added, 0 known already, 0 gone with their rows"), "{said}");
    assert!(said.contains("6 → ") || said.contains("2 → 3"), "pairs before and now: {said}");
    assert!(folder.read("m2.bridged") == folder.read("all.bridged"));
    // In place, and what is known counts once.
    folder.ok("update m.bridged --pairs all-pairs.csv --no-history --in-place");
    assert!(folder.read("m.bridged") == folder.read("all.bridged"));
    assert!(!folder.files().iter().any(|name| name.ends_with(".lock")), "{:?}", folder.files());
}

#[test]
fn new_rows_and_their_pairs_come_in_and_the_history_tells_of_it() {
    let folder = folder();
    let report = folder
        .json("update m.bridged --x x-new.csv --y y-new.csv --pairs new-pairs.csv -o m2.bridged");
    let changes = &report["changes"];
    assert_eq!((&changes["x"]["added"], &changes["pairs"]["after"]), (&30.into(), &9.into()));
    assert_eq!(changes["links"].as_array().map(Vec::len), Some(3));
    let about = folder.json("inspect m2.bridged");
    assert_eq!((&about["x"]["rows"], &about["pairs"]), (&90.into(), &9.into()));
    let history = folder.ok("inspect m2.bridged --history");
    for part in [
        "fit",
        "update",
        "90 +30",
        "x-new.csv",
        "new-pairs.csv",
        "(the file's time)",
        env!("CARGO_PKG_VERSION"),
        "pairs of fit 1",
        "x of update 2",
    ] {
        assert!(history.contains(part), "{part} in\n{history}");
    }
    // What was the file's time is written down now, and only then.
    assert!(history.lines().any(|line| line.contains("fit") && line.contains("Z  ")), "{history}");
    let fingerprint = bridged::files::fingerprint(&folder.path("x-new.csv")).unwrap();
    assert!(history.contains(&fingerprint));
}

#[test]
fn nothing_new_changes_no_byte_but_the_history() {
    let folder = folder();
    folder.ok(&format!("{FIT} --pairs pairs.csv --no-history -o plain.bridged"));
    folder.ok("update m.bridged --pairs pairs.csv --no-history -o same.bridged");
    assert!(folder.read("same.bridged") == folder.read("plain.bridged"));
    let said = folder.ok("update m.bridged --pairs pairs.csv -o m2.bridged");
    assert!(said.contains("no link has changed"), "{said}");
    assert!(said.contains("0 added, 6 known already"), "{said}");
    folder.ok("update m2.bridged --no-history -o bare.bridged");
    assert!(folder.read("bare.bridged") == folder.read("plain.bridged"));
}

#[test]
fn the_history_of_a_fit_is_the_same_in_any_folder_and_at_any_time() {
    let (here, there) = (folder(), folder());
    assert!(here.read("m.bridged") == there.read("m.bridged"));
    let dated = |seconds: &str| {
        let line = format!(
            "SOURCE_DATE_EPOCH={seconds} $BRIDGED {FIT} --pairs pairs.csv -o dated.bridged > /dev/null && $BRIDGED inspect dated.bridged --history"
        );
        here.shell(&line).stdout
    };
    assert!(dated("1795000000").contains("2026-11-18T11:06:40Z"));
    assert!(dated("99999999999999999").contains("–"), "no panic");
    let outcome = here.shell(&format!("$BRIDGED {FIT} --pairs pairs.csv --no-history -o b.bridged; $BRIDGED inspect b.bridged --history"));
    assert!(outcome.stdout.contains("has no history"), "{}", outcome.stdout);
}

#[test]
fn rows_are_forgotten_with_their_pairs() {
    let folder = folder();
    folder.write("ids.txt", "a0\n\n b7 \n");
    let said = folder.ok("update m.bridged --forget ids.txt -o m2.bridged");
    assert!(said.contains("x: 59 rows (1 forgotten); y: 59 rows (1 forgotten); 5 pairs"), "{said}");
    let text = String::from_utf8_lossy(&folder.read("m2.bridged")).into_owned();
    assert!(!text.contains("ids.txt"), "who was forgotten is in no file");
    folder.ok("predict m2.bridged x.csv --nearest 59 -o near.csv");
    let near = folder.text("near.csv");
    assert!(!near.contains(",b7,") && !near.contains("b7;"), "b7 is no answer any more");
    folder.write("who.txt", "a1\nnobody\n");
    folder.fails(
        1,
        "update m.bridged --forget who.txt -o m3.bridged",
        &["`who.txt`", "`nobody`", "x or y", "--skip-unknown"],
    );
    folder.ok("update m.bridged --forget who.txt --skip-unknown -o m3.bridged");
    folder.fails(1, "update m.bridged --forget-y who.txt -o m4.bridged", &["is not an id of y"]);
    folder.write("none.txt", "\n");
    folder.fails(1, "update m.bridged --forget none.txt -o m4.bridged", &["names no id"]);
    folder.write("pairs-gone.txt", (0..6).map(|i| format!("a{i}\n")).collect::<String>());
    folder.fails(1, "update m.bridged --forget pairs-gone.txt -o m4.bridged", &["no pairs"]);
}

#[test]
fn a_new_group_is_offered_and_added_on_demand() {
    let folder = folder();
    let mut far = String::from("id,name,v0,v1,v2,v3\n");
    (0..12)
        .for_each(|i| far += &format!("far{i},far,{0},{0},{0},{0}\n", 900.0 + f64::from(i) * 0.01));
    folder.write("far.csv", &far);
    let said = folder.ok("update m.bridged --x far.csv -o m2.bridged");
    assert!(said.contains("x: 12 new rows lie together"), "{said}");
    assert!(said.contains("far0, far1, far2, …"), "{said}");
    assert!(said.contains("--new-clusters makes them a cluster"), "{said}");
    assert_eq!(folder.json("inspect m2.bridged")["x"]["clusters"], 3);
    let said = folder.ok("update m.bridged --x far.csv --new-clusters -o m3.bridged");
    assert!(said.contains("they are a cluster of their own now") && said.contains("new"), "{said}");
    assert_eq!(folder.json("inspect m3.bridged")["x"]["clusters"], 4);
}

#[test]
fn what_is_wrong_with_an_update_is_said_and_the_old_file_stays() {
    let folder = folder();
    let old = folder.read("m.bridged");
    folder.write("wide.csv", blobs("w", 5, 3, 6).replace("v4", "w4"));
    folder.write("narrow.csv", blobs("w", 5, 3, 2));
    folder.write("unknown.csv", "x_id,y_id\na1,nobody\n");
    for (arguments, parts) in [
        ("--x x.csv", &["x.csv", "x has a row `a0` already", "forget that row to replace it"][..]),
        ("--x narrow.csv", &["narrow.csv", "v2"]),
        ("--pairs unknown.csv", &["unknown.csv", "`nobody`", "not an id of y"]),
        ("--pairs new-pairs.csv", &["new-pairs.csv", "`a70`", "not an id of x", "60 rows"]),
    ] {
        folder.fails(1, &format!("update m.bridged {arguments} --in-place"), parts);
        folder.fails(1, &format!("update m.bridged {arguments} -o other.bridged"), parts);
    }
    folder.fails(2, "update m.bridged --pairs more.csv", &["--output"]);
    folder.fails(2, "update m.bridged --pairs more.csv -o more.csv --force", &["more.csv"]);
    folder.fails(2, "update m.bridged --pairs more.csv --forgetting 1 --in-place", &["below 1"]);
    folder.fails(2, "update m.bridged --pairs more.csv -o m.bridged", &["m.bridged", "input"]);
    folder.ok(&format!("{FIT} --pairs pairs.csv --cluster spectral --members one -o s.bridged"));
    folder.fails(
        1,
        "update s.bridged --x x-new.csv --in-place",
        &["spectral", "fit again with all rows"],
    );
    folder.ok(&format!("{FIT} --pairs pairs.csv --no-rows -o bare.bridged"));
    folder.fails(1, "update bare.bridged --pairs more.csv --in-place", &["holds no rows"]);
    folder.ok(&format!("{FIT} --pairs pairs.csv --in-passes --cluster kmeans -o far.bridged"));
    folder.write("ids.txt", "a0\n");
    let parts = ["60 of the 60 rows of x", "fit again"];
    folder.fails(1, "update far.bridged --forget ids.txt --in-place", &parts);
    folder.ok("update far.bridged --pairs more.csv --in-place");
    assert!(folder.read("m.bridged") == old);
}

#[test]
fn rows_of_a_model_that_left_them_in_their_files_come_from_files_too() {
    let folder = folder();
    folder.ok(&format!("{FIT} --pairs pairs.csv --in-passes --cluster kmeans -o far.bridged"));
    folder.ok("update far.bridged --x x-new.csv --y y-new.csv --pairs new-pairs.csv -o m2.bridged");
    let about = folder.json("inspect m2.bridged");
    assert_eq!((&about["x"]["rows"], &about["pairs"]), (&90.into(), &9.into()));
    let seen = folder.ok("inspect m2.bridged");
    assert!(seen.contains("x.csv; the model holds 90 of them; unchanged since"), "{seen}");
    // Among all rows, wherever they are.
    folder.ok("predict m2.bridged x-all.csv --nearest 90 -o near.csv");
    let near = folder.text("near.csv");
    assert!((0..90).all(|i| near.contains(&format!(",b{i},"))), "{near}");
    // One fit of everything ends in the same clusters.
    folder.ok("fit --x x.csv x-new.csv --y y.csv y-new.csv -k 3 --pairs pairs.csv --in-passes --cluster kmeans -o all.bridged");
    let (a, b) = (folder.json("inspect all.bridged"), folder.json("inspect m2.bridged"));
    let of = |about: &Value| about["x"]["inertia"].as_f64().unwrap();
    assert!((of(&a) / of(&b) - 1.0).abs() < 1e-3, "{} and {}", of(&a), of(&b));
}

#[test]
fn answers_of_yes_and_no_come_in_and_must_not_contradict() {
    let folder = folder();
    folder.write("no.csv", "x_id,y_id,answer\na10,b11,no\na12,b13,unsure\n");
    folder.ok("update m.bridged --pairs no.csv --no-history -o m2.bridged");
    folder.write(
        "both.csv",
        format!(
            "x_id,y_id,answer\n{}a10,b11,no\n",
            (0..6).map(|i| format!("a{i},b{i},yes\n")).collect::<String>()
        ),
    );
    folder.ok(&format!("{FIT} --pairs both.csv --no-history -o fit.bridged"));
    assert!(folder.read("m2.bridged") == folder.read("fit.bridged"), "as a fit with all answers");
    folder.ok("update m2.bridged --pairs no.csv --no-history -o m3.bridged");
    assert!(folder.read("m3.bridged") == folder.read("m2.bridged"), "an answer counts once");
    folder.write("yes.csv", "x_id,y_id\na10,b11\n");
    let parts = ["`a10` of x", "`b11` of y", "was told no"];
    folder.fails(1, "update m2.bridged --pairs yes.csv --in-place", &parts);
    folder.write("never.csv", "x_id,y_id,answer\na0,b0,no\n");
    let parts = ["`a0` of x", "`b0` of y", "was told yes"];
    folder.fails(1, "update m2.bridged --pairs never.csv --in-place", &parts);
    folder.write("open.csv", "x_id,y_id,answer\na10,,\n");
    folder.fails(
        1,
        "update m2.bridged --pairs open.csv --in-place",
        &["open.csv", "no answer yes or no"],
    );
    let said = folder.ok("update m2.bridged --pairs more.csv -o m5.bridged");
    assert!(said.contains("rows that do not belong together: 1 answer known"), "{said}");
    // With the row its answers go.
    folder.write("ids.txt", "a10\n");
    folder.ok("update m2.bridged --forget ids.txt -o m4.bridged");
    folder.write("again.csv", "x_id,y_id\na9,b11\n");
    folder.ok("update m4.bridged --pairs again.csv --in-place");
}

#[test]
fn two_updates_at_once_do_not_lose_one_of_them() {
    let folder = folder();
    let lock =
        FileLock::acquire(&folder.path(".m.bridged.lock"), &folder.path("m.bridged")).unwrap();
    let outcome = folder.run("update m.bridged --pairs more.csv --in-place");
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("another process is writing"), "{}", outcome.stderr);
    assert_eq!(folder.json("inspect m.bridged")["pairs"], 6);
    drop(lock);
    folder.ok("update m.bridged --pairs more.csv --in-place");
    assert_eq!(folder.json("inspect m.bridged")["pairs"], 9);
}

#[test]
fn a_card_says_what_the_model_is_and_is_markdown_whatever_columns_are_called() {
    let folder = Folder::new();
    let odd = |csv: String| csv.replacen("id,name", "id,a|b*c", 1);
    folder.write("x.csv", odd(blobs("a", 60, 3, 4)));
    folder.write("y.csv", blobs("b", 60, 3, 3));
    folder.write(
        "pairs.csv",
        (0..12)
            .map(|i| format!("a{i},b{i}\n"))
            .fold("x_id,y_id\n".to_string(), |all, line| all + &line),
    );
    folder.ok(&format!("{FIT} --pairs pairs.csv -o m.bridged"));
    let card = folder.ok("inspect m.bridged --card");
    for part in [
        "# m\n",
        "## Data",
        "| x | 60 | 4 | 3 |",
        "a\\|b\\*c",
        "## How it was made",
        "x.csv (x, xxh64 ",
        "## How good it is",
        "**good**",
        "## Where it ends",
        "## Before it decides about people",
    ] {
        assert!(card.contains(part), "{part} in\n{card}");
    }
    // Every table has as many cells in each line as in its header.
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = card.lines().collect();
    for (header, rule) in lines.iter().zip(&lines[1..]).filter(|(_, rule)| rule.starts_with("|---"))
    {
        assert_eq!(cells(header), cells(rule), "{header}");
    }
    let figures: Value = folder.json("inspect m.bridged");
    let error = figures["bridge"]["x_to_y"]["verdict"]["error"].as_f64().unwrap();
    assert!(card.contains(&format!("| {error:.2} |")), "{card}");
    folder.fails(2, "inspect m.bridged --card --json", &["--json"]);
}
