//! Whether new data are those of the fit, and how two models differ.

use crate::support::Folder;
use bridged_io::{Column, ColumnData, Select, Table};
use bridged_math::{Matrix, Seed};
use rand::seq::SliceRandom;
use serde_json::Value;

/// A table of rows around three centres, with noise by a seed, every number changed.
fn rows(prefix: &str, range: std::ops::Range<usize>, change: impl Fn(usize, f64) -> f64) -> String {
    let mut csv = String::from("id,a,b,c,d");
    let mut state = 88_172_645_463_325_252u64; // for x and y alike: row i of both has one group
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for i in 0..range.end {
        // Groups come at random as well, all equally likely.
        let group = (3.0 * uniform()) as usize;
        let numbers: Vec<String> = (0..4)
            .map(|c| if c % 3 == group { 12.0 } else { 2.0 } + 3.0 * (uniform() + uniform() + uniform()))
            .enumerate()
            .map(|(c, v)| change(c, v).to_string())
            .collect();
        if range.contains(&i) {
            csv += &format!("\n{prefix}{i},{}", numbers.join(","));
        }
    }
    csv + "\n"
}

fn as_is(_: usize, v: f64) -> f64 {
    v
}

/// Pairs of rows of one group.
fn pairs(range: std::ops::Range<usize>) -> String {
    let lines: String = range.map(|i| format!("x{i},y{i}\n")).collect();
    format!("x_id,y_id\n{lines}")
}

/// A model of 240 rows on each side and 24 pairs, and new rows.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("x.csv", rows("x", 0..240, as_is));
    folder.write("y.csv", rows("y", 0..240, as_is));
    folder.write("pairs.csv", pairs(0..24));
    folder.write("new.csv", rows("x", 240..400, as_is));
    folder.write("new-y.csv", rows("y", 240..400, as_is));
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged");
    folder
}

/// What is printed as JSON with this exit code, without the seconds.
fn json(folder: &Folder, code: i32, arguments: &str) -> Value {
    let outcome = folder.run(&format!("{arguments} --json"));
    assert_eq!(outcome.code, code, "{arguments}\n{}{}", outcome.stdout, outcome.stderr);
    let mut found: Value = serde_json::from_str(&outcome.stdout).expect("JSON on stdout");
    assert!(found.as_object_mut().unwrap().remove("seconds").is_some());
    found
}

fn reasons(found: &Value) -> String {
    found["reasons"].to_string()
}

#[test]
fn rows_of_the_same_kind_are_the_same_in_words_and_in_json() {
    let folder = folder();
    let out = folder.ok("drift m.bridged new.csv");
    for part in [
        "160 new rows of x beside 240 rows",
        "cluster",
        "members",
        "like none of the fit",
        "shares of x",
        "same – ",
    ] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
    let found = json(&folder, 0, "drift m.bridged new.csv");
    assert_eq!(
        (&found["verdict"], found["reasons"].as_array().unwrap().len()),
        (&"same".into(), 0)
    );
    let side = &found["sides"][0];
    assert_eq!((side["rows"].as_u64(), side["clusters"].as_array().unwrap().len()), (Some(160), 3));
    let share = |name: &str| {
        side["clusters"].as_array().unwrap().iter().map(|c| c[name].as_f64().unwrap()).sum::<f64>()
    };
    assert!((share("share") - 1.0).abs() < 1e-9 && (share("fit") - 1.0).abs() < 1e-9);
    assert_eq!(found["tests"].as_array().unwrap().len(), 3);
    let quiet = folder.ok("drift m.bridged new.csv --quiet");
    assert_eq!(quiet, "");
}

#[test]
fn the_way_that_rows_are_read_and_threads_change_nothing() {
    let folder = folder();
    let whole = json(&folder, 0, "drift m.bridged new.csv --other new-y.csv");
    for way in ["--in-passes", "--threads 1"] {
        let found = json(&folder, 0, &format!("drift m.bridged new.csv --other new-y.csv {way}"));
        assert_eq!(found, whole, "{way}");
    }
    folder.write("more.csv", pairs(240..280));
    let whole = json(&folder, 0, "drift m.bridged new.csv --other new-y.csv --pairs more.csv");
    let found =
        json(&folder, 0, "drift m.bridged new.csv --other new-y.csv --pairs more.csv --in-passes");
    assert_eq!(found, whole);
}

#[test]
fn a_column_in_another_unit_stops_a_pipeline() {
    let folder = folder();
    folder.write("scaled.csv", rows("x", 240..400, |c, v| if c == 2 { 1000.0 * v } else { v }));
    let found = json(&folder, 3, "drift m.bridged scaled.csv");
    assert_eq!(found["verdict"], "broken");
    assert!(reasons(&found).contains("`c`"), "{found}");
    assert_eq!(found["sides"][0]["columns"][0]["name"], "c");
    let outcome = folder.run("drift m.bridged scaled.csv");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (3, ""), "all is on stdout");
    assert!(outcome.stdout.contains("broken – predictions of these data must not be trusted"));
    let outcome = folder.shell(
        "$BRIDGED drift m.bridged scaled.csv && $BRIDGED predict m.bridged scaled.csv -o out.csv",
    );
    assert!(outcome.code == 3 && !folder.path("out.csv").exists());
    json(&folder, 0, "drift m.bridged scaled.csv --fail-on never");
    folder.write("all.csv", rows("x", 240..400, |_, v| 1000.0 * v));
    let found = json(&folder, 3, "drift m.bridged all.csv");
    assert!(reasons(&found).contains("times as large as in the fit"), "{found}");
}

#[test]
fn a_shift_is_said_and_fails_only_if_asked() {
    let folder = folder();
    folder.write("moved.csv", rows("x", 240..400, |c, v| if c == 1 { v + 1.5 } else { v }));
    let found = json(&folder, 0, "drift m.bridged moved.csv");
    assert_eq!(found["verdict"], "shifted", "{found}");
    assert!(reasons(&found).contains("`b`"), "{found}");
    json(&folder, 3, "drift m.bridged moved.csv --fail-on shifted");
    json(&folder, 0, "drift m.bridged new.csv --fail-on shifted");
    // Beside rows that were fine and had moved already, nothing has.
    folder.write("before.csv", rows("x", 0..240, |c, v| if c == 1 { v + 1.5 } else { v }));
    let found = json(&folder, 0, "drift m.bridged moved.csv --against before.csv");
    assert_eq!(found["verdict"], "same", "{found}");
}

#[test]
fn other_columns_are_said_first_and_are_broken() {
    let folder = folder();
    let without = |csv: &str| -> String {
        csv.lines().map(|l| l.rsplit_once(',').unwrap().0.to_string() + "\n").collect()
    };
    folder.write("narrow.csv", without(&rows("x", 240..400, as_is)));
    let found = json(&folder, 3, "drift m.bridged narrow.csv");
    assert_eq!(found["verdict"], "broken");
    assert!(reasons(&found).contains("of which `d` is not there"), "{found}");
    assert_eq!(found["tests"].as_array().unwrap().len(), 0);
    folder.write("renamed.csv", rows("x", 240..400, as_is).replacen(",b,", ",bb,", 1));
    let found = json(&folder, 3, "drift m.bridged renamed.csv");
    assert!(
        reasons(&found).contains("`b` is not there") && reasons(&found).contains("bb"),
        "{found}"
    );
    folder.write("words.csv", "id,word\n1,one\n2,two\n");
    let found = json(&folder, 3, "drift m.bridged words.csv");
    assert_eq!(found["verdict"], "broken", "{found}");
}

#[test]
fn what_cannot_be_read_is_a_failure_and_no_verdict() {
    let folder = folder();
    folder.write("empty.csv", "");
    folder.fails(1, "drift m.bridged empty.csv", &["`empty.csv` is empty"]);
    folder.write("header.csv", "id,a,b,c,d\n");
    folder.fails(1, "drift m.bridged header.csv", &["no rows"]);
    folder.write("nan.csv", "id,a,b,c,d\n1,16.5,6.5,6.5,16.5\n2,1,NaN,3,4\n");
    folder.fails(1, "drift m.bridged nan.csv", &["`nan.csv`", "`b`", "row `2`"]);
    folder.fails(1, "drift m.bridged none.csv", &["`none.csv` does not exist"]);
    folder.fails(1, "drift x.csv new.csv", &["not a usable bridged model"]);
    folder.fails(2, "drift m.bridged new.csv --level 0", &["0.001 to 0.5"]);
    folder.fails(2, "drift m.bridged new.csv --side z", &["x, y"]);
    folder.fails(2, "drift m.bridged", &["<ROWS>"]);
    let outcome = folder.run("drift m.bridged nan.csv --missing drop");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}

#[test]
fn one_row_and_one_cluster_are_judged() {
    let folder = folder();
    folder.write("one.csv", rows("x", 300..301, as_is));
    let found = json(&folder, 0, "drift m.bridged one.csv");
    assert_eq!((&found["verdict"], &found["sides"][0]["rows"]), (&"same".into(), &1.into()));
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 1 -o one.bridged");
    let found = json(&folder, 0, "drift one.bridged new.csv");
    assert_eq!(found["sides"][0]["clusters"].as_array().unwrap().len(), 1);
    assert_eq!(found["verdict"], "same", "{found}");
}

#[test]
fn pairs_that_contradict_are_counted_and_break_the_model() {
    let folder = folder();
    // Rows of x that are new with rows of y that the model holds, and new ones of both.
    folder.write("right.csv", pairs(240..300));
    let found = json(&folder, 0, "drift m.bridged new.csv --other new-y.csv --pairs right.csv");
    assert_eq!(found["pairs"]["pairs"], 60);
    let wrong = "x_id,y_id\n".to_string()
        + &(240..300).map(|i| format!("x{i},y{}\n", (i * 7 + 11) % 240)).collect::<String>();
    folder.write("wrong.csv", wrong);
    let found = json(&folder, 3, "drift m.bridged new.csv --pairs wrong.csv");
    let pairs = &found["pairs"];
    assert!(2 * pairs["contradict"].as_u64().unwrap() >= 60, "{pairs}");
    assert!(reasons(&found).contains("contradict the links"), "{found}");
    assert!(
        folder
            .run("drift m.bridged new.csv --pairs wrong.csv")
            .stdout
            .contains("is linked to y cluster")
    );
    folder.write("unknown.csv", "x_id,y_id\nx250,y3\nx999,y4\n");
    folder.fails(
        1,
        "drift m.bridged new.csv --pairs unknown.csv",
        &["`x999`", "not an id of x", "`new.csv`"],
    );
    let found = json(&folder, 0, "drift m.bridged new.csv --pairs unknown.csv --skip-unknown");
    assert_eq!(found["pairs"]["pairs"], 1);
}

#[test]
fn a_model_without_rows_says_what_it_cannot_judge() {
    let folder = folder();
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 --no-rows -o bare.bridged");
    let found = json(&folder, 0, "drift bare.bridged new.csv");
    assert_eq!(found["tests"].as_array().unwrap().len(), 1);
    assert!(found["not_judged"].to_string().contains("keeps no rows of x"), "{found}");
    assert!(folder.ok("drift bare.bridged new.csv").contains("not judged: the shares"));
    let found = json(&folder, 0, "drift bare.bridged new.csv --against x.csv");
    assert_eq!((found["tests"].as_array().unwrap().len(), &found["verdict"]), (3, &"same".into()));
}

#[test]
fn models_are_compared_by_their_members() {
    let folder = folder();
    assert_eq!(folder.ok("diff m.bridged m.bridged"), "the models are identical\n");
    assert_eq!(json(&folder, 0, "diff m.bridged m.bridged --exit-code")["identical"], true);
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 4 -o four.bridged");
    let found = json(&folder, 0, "diff m.bridged four.bridged");
    assert_eq!(
        (&found["identical"], &found["sides"][0]["matched_by"]),
        (&false.into(), &"ids".into())
    );
    assert_eq!(found["sides"][0]["common"], 240);
    let alone = |c: &Value| c["this"].is_null();
    assert_eq!(
        found["sides"][0]["clusters"].as_array().unwrap().iter().filter(|c| alone(c)).count(),
        1
    );
    json(&folder, 3, "diff m.bridged four.bridged --exit-code");
    let out = folder.ok("diff m.bridged four.bridged --rows new.csv");
    for part in [
        "x.cluster.k",
        "the rows that were given; ",
        "y from x, 160 rows that were given",
        "predictions differ by",
    ] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
    folder.write("more.csv", pairs(240..264));
    folder.ok("fit --x new.csv --y new-y.csv --pairs more.csv -k 3 -o other.bridged");
    let out = folder.ok("diff m.bridged other.bridged");
    assert!(
        out.contains("share no rows of x") && out.contains("matched by their centroids"),
        "{out}"
    );
}

#[test]
fn models_of_another_width_are_told_apart_in_a_sentence() {
    let folder = folder();
    folder.ok("fit --x x.csv --x-columns a,b --y y.csv --pairs pairs.csv -k 3 -o narrow.bridged");
    let out = folder.ok("diff m.bridged narrow.bridged");
    assert_eq!(
        out,
        "the models cannot be compared: x has 4 columns in the first and 2 in the second\n"
    );
    let found = json(&folder, 3, "diff m.bridged narrow.bridged --rows new.csv --exit-code");
    assert_eq!(found["identical"], false);
    folder.fails(1, "diff m.bridged x.csv", &["not a usable bridged model"]);
    folder.fails(1, "diff m.bridged none.bridged", &["none.bridged"]);
    folder.write("empty.csv", "");
    folder.fails(1, "diff m.bridged m.bridged --rows empty.csv", &["`empty.csv` is empty"]);
}

#[test]
fn halves_of_real_data_are_not_broken_and_another_unit_is() {
    let data = std::env::var("BRIDGED_DATA").map(std::path::PathBuf::from).unwrap_or_else(|_| {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data")
    });
    let mut alarms = 0;
    let names = ["digits", "segments", "wikipedia", "emoji", "butterflies", "flickr8k", "fashion"];
    for name in names {
        let file = data.join(format!("{name}.parquet"));
        if !file.exists() {
            eprintln!(
                "skipped: {} is not here; set BRIDGED_DATA to the folder with the data",
                file.display()
            );
            continue;
        }
        let folder = Folder::new();
        let select = Select { vector: Some("x"), ..Select::default() };
        let pool = bridged_io::read(&file).unwrap().into_pool(select).unwrap();
        let mut order: Vec<usize> = (0..pool.rows.rows()).collect();
        order.shuffle(&mut Seed(3).rng());
        let (old, new) = order.split_at(order.len() / 2);
        let write = |to: &str, rows: &[usize], times: &dyn Fn(usize) -> f32| {
            let of = |i: usize, c: usize| times(c) * pool.rows.row(rows[i])[c];
            let vector = Matrix::from_fn(rows.len(), pool.rows.cols(), of);
            let ids = rows.iter().map(|row| Some(format!("r{row}"))).collect();
            let columns = vec![
                Column::new("id", ColumnData::Text(ids)),
                Column::new("v", ColumnData::Vector(vector)),
            ];
            let path = folder.path(to);
            bridged_io::write(&path, &Table::new(&path, columns).unwrap()).unwrap();
        };
        write("old.parquet", old, &|_| 1.0);
        write("new.parquet", new, &|_| 1.0);
        write("scaled.parquet", new, &|c| if c == 3 { 1000.0 } else { 1.0 });
        write("all.parquet", new, &|_| 1000.0);
        let pairs: String = old.iter().take(30).map(|row| format!("r{row},r{row}\n")).collect();
        folder.write("pairs.csv", format!("x_id,y_id\n{pairs}"));
        folder.ok("fit --x old.parquet --y old.parquet --pairs pairs.csv -k 7 --preset voting -o m.bridged");
        let found = json(&folder, 0, "drift m.bridged new.parquet");
        alarms += usize::from(found["verdict"] != "same");
        json(&folder, 3, "drift m.bridged all.parquet");
        let found = json(&folder, 3, "drift m.bridged scaled.parquet");
        assert!(reasons(&found).contains("`v[3]`"), "{name}: {}", reasons(&found));
    }
    assert!(alarms <= 2, "{alarms} of seven at .05");
}
