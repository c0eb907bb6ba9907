//! Scores are taken on rows that belong together, and only on those.

use crate::support::{Folder, blobs};

const FIT: &str = "fit --x x.csv --y y.csv --pairs pairs.csv --clusters 3 -o m.bridged";

/// Pools, a model, and a test table of y with the ids of x.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 60, 3, 4));
    folder.write("y.csv", blobs("y", 60, 3, 5));
    folder.write("pairs.csv", "x_id,y_id\nx0,y0\nx1,y1\nx2,y2\nx3,y3\n");
    folder.ok(FIT);
    folder.write("same.csv", folder.text("y.csv").replace("\ny", "\nx"));
    folder
}

fn rows_of(folder: &Folder, name: &str) -> Vec<String> {
    folder.text(name).lines().map(str::to_string).collect()
}

#[test]
fn rows_are_paired_by_their_ids_wherever_they_stand() {
    let folder = folder();
    let straight = folder.json("evaluate m.bridged --x x.csv --y same.csv --labels name");
    assert_eq!(straight["alignment"], serde_json::json!({"by": "id", "x_alone": 0, "y_alone": 0}));
    let mut lines = rows_of(&folder, "same.csv");
    lines[1..].reverse();
    folder.write("turned.csv", lines.join("\n"));
    let turned = folder.json("evaluate m.bridged --x x.csv --y turned.csv --labels name");
    for part in ["forward", "reverse", "latent", "rows"] {
        assert_eq!(straight[part], turned[part], "{part}");
    }
    assert!(turned["forward"]["model"]["r2"].as_f64().unwrap() > 0.9);
}

#[test]
fn rows_without_a_partner_are_counted_and_said() {
    let folder = folder();
    let lines = rows_of(&folder, "same.csv");
    folder.write("few.csv", format!("{}\n{}", lines[..41].join("\n"), "z9,alone,1,2,3,4,5\n"));
    let out = folder.ok("evaluate m.bridged --x x.csv --y few.csv");
    assert!(out.contains("40 rows with known partners"), "{out}");
    assert!(out.contains("rows aligned by id; 20 rows of x and 1 of y have no partner"), "{out}");
    let json = folder.json("evaluate m.bridged --x x.csv --y few.csv");
    assert_eq!(json["alignment"], serde_json::json!({"by": "id", "x_alone": 20, "y_alone": 1}));
}

#[test]
fn pools_that_share_no_row_are_refused_with_what_to_do() {
    let folder = folder();
    let how = ["share no id", "--pairs FILE", "--by-position"];
    folder.fails(2, "evaluate m.bridged --x x.csv --y y.csv", &how);
    let without = |name: &str| {
        let cut = |line: &str| line.split_once(',').unwrap().1.to_string();
        let lines: Vec<String> = folder.text(name).lines().map(cut).collect();
        lines.join("\n")
    };
    folder.write("bare-x.csv", without("x.csv"));
    folder.write("bare-y.csv", without("y.csv"));
    let neither = ["neither", "bare-x.csv", "has an id column", "--by-position"];
    folder.fails(2, "evaluate m.bridged --x bare-x.csv --y bare-y.csv", &neither);
    let one = ["`bare-y.csv` does not have an id column", "--by-position"];
    folder.fails(2, "evaluate m.bridged --x x.csv --y bare-y.csv", &one);
    let json = folder.json("evaluate m.bridged --x bare-x.csv --y bare-y.csv --by-position");
    assert_eq!(json["alignment"]["by"], "position");
}

#[test]
fn pairs_say_which_rows_belong_together() {
    let folder = folder();
    folder.write("known.csv", "x_id,y_id\nx5,y5\nx9,y9\nx9,y12\nx10,y10\n");
    let json =
        folder.json("evaluate m.bridged --x x.csv --y y.csv --pairs known.csv --labels name");
    assert_eq!(json["rows"], 4);
    assert_eq!(json["alignment"], serde_json::json!({"by": "pairs", "x_alone": 57, "y_alone": 56}));
    folder.write("wrong.csv", "x_id,y_id\nx5,nobody\n");
    let wrong = "evaluate m.bridged --x x.csv --y y.csv --pairs wrong.csv";
    folder.fails(1, wrong, &["wrong.csv", "`nobody`"]);
    let both = "evaluate m.bridged --x x.csv --y y.csv --pairs known.csv --by-position";
    folder.fails(2, both, &["--by-position"]);
}

#[test]
fn rows_of_the_other_side_are_noted() {
    let folder = Folder::new();
    let (mut x, y) = (blobs("x", 60, 3, 6), blobs("y", 60, 3, 6));
    // The same columns, elsewhere and closer together.
    let near = |cell: &str| {
        cell.parse::<f64>().map_or(cell.to_string(), |v| format!("{}", 20.0 + v / 9.0))
    };
    x = x.lines().map(|l| l.split(',').map(near).collect::<Vec<_>>().join(",") + "\n").collect();
    folder.write("x.csv", &x);
    folder.write("y.csv", &y);
    let pairs: String = (0..9).map(|i| format!("x{i},y{i}\n")).collect();
    folder.write("pairs.csv", format!("x_id,y_id\n{pairs}"));
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged");
    let said = |arguments: &str| {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stderr
    };
    let ids = "its ids are all ids of y, and none is one of x; did you mean to say --reverse?";
    assert!(said("predict m.bridged y.csv -o out.csv").contains(ids));
    let rows = "its rows look like those of y, not like those of x; did you mean to say --reverse?";
    folder.write("new.csv", y.replace("\ny", "\nnew"));
    assert!(said("predict m.bridged new.csv -o out.csv").contains(rows));
    let reverse = "none is one of y; did you mean to leave out --reverse?";
    assert!(said("predict m.bridged x.csv --reverse -o out.csv").contains(reverse));
    for right in ["x.csv", "y.csv --reverse", "new.csv --reverse"] {
        let stderr = said(&format!("predict m.bridged {right} -o out.csv"));
        assert!(!stderr.contains("did you mean"), "{stderr}");
    }
    let swapped = said("evaluate m.bridged --x y.csv --y x.csv --by-position");
    assert_eq!(swapped.matches("are --x and --y swapped?").count(), 2, "{swapped}");
    assert!(!said("evaluate m.bridged --x x.csv --y y.csv --by-position").contains("swapped"));
}

#[test]
fn names_given_for_pictures_are_noted_though_they_lie_among_them() {
    let folder = Folder::with_demo();
    let said = |arguments: &str| folder.run(arguments).stderr;
    let hint = "did you mean to say --reverse?";
    assert!(said("predict m.bridged unseen-names.parquet -o out.csv").contains(hint));
    let right = ["unseen-pictures.parquet", "unseen-names.parquet --reverse"];
    for rows in right {
        let stderr = said(&format!("predict m.bridged {rows} -o out.csv"));
        assert!(!stderr.contains("did you mean"), "{stderr}");
    }
    let swapped = said("evaluate m.bridged --x unseen-names.parquet --y unseen-pictures.parquet");
    assert_eq!(swapped.matches("are --x and --y swapped?").count(), 2, "{swapped}");
}
