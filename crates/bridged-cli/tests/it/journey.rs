//! From files to a bridge, predictions and scores.

use crate::support::{Folder, blobs};
use bridged_io::{Column, ColumnData, Select, Table};
use bridged_math::Matrix;

fn blob_folder() -> Folder {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 60, 3, 4));
    folder.write("y.csv", blobs("y", 45, 3, 5));
    // Group 0 belongs to group 2, 1 to 0, 2 to 1.
    folder.write("pairs.csv", "x_id,y_id\nx0,y2\nx1,y0\nx2,y1\nx3,y5\n");
    folder
}

const FIT: &str = "fit --x x.csv --y y.csv --pairs pairs.csv --clusters 3 -o m.bridged";

#[test]
fn the_demo_shows_pools_bridge_predictions_and_scores_within_seconds() {
    let folder = Folder::new();
    let started = std::time::Instant::now();
    let out = folder.ok("demo");
    assert!(started.elapsed().as_secs() < 20);
    for part in ["known pairs", "x → y", "linked", "nearest real names", "mean of the pool", "🕐"]
    {
        assert!(out.contains(part), "{part} in\n{out}");
    }
    assert!(folder.files().is_empty(), "the demo writes nothing unless asked");
}

#[test]
fn the_commands_that_the_demo_suggests_work_as_printed() {
    let folder = Folder::new();
    let out = folder.ok("demo --save files");
    let commands: Vec<&str> =
        out.lines().filter_map(|l| l.trim().strip_prefix("bridged ")).collect();
    assert_eq!(commands.len(), 4);
    for command in commands {
        folder.ok(command);
    }
    let predictions = folder.text("files/out.csv");
    assert!(predictions.lines().next().unwrap().contains("nearest_1_name"));
}

#[test]
fn a_fit_links_the_right_clusters_and_predicts_both_ways() {
    let folder = blob_folder();
    let out = folder.ok(FIT);
    assert!(out.contains("wrote m.bridged") && !out.contains("note:"), "{out}");
    folder.ok("predict m.bridged x.csv -o forward.csv --nearest 2");
    let lines: Vec<String> = folder.text("forward.csv").lines().map(String::from).collect();
    let header: Vec<&str> = lines[0].split(',').collect();
    let column =
        |name: &str| header.iter().position(|h| *h == name).unwrap_or_else(|| panic!("{name}"));
    for (i, line) in lines[1..].iter().enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let expected = [2, 0, 1][i % 3];
        assert_eq!(cells[column("nearest_1_name")], format!("y of group {expected}"));
        assert_eq!(cells[column("status")], "linked");
        assert_eq!(cells[column("name")], format!("x of group {}", i % 3));
        let top: f64 = cells[column(&format!("value_{expected}"))].parse().unwrap();
        assert!((top - 10.0).abs() < 1.5, "{top}");
    }
    folder.ok("predict m.bridged y.csv -o back.parquet --reverse");
    folder.ok("cluster back.parquet --vector value -k 3 -o labels.csv");
    assert_eq!(folder.text("labels.csv").lines().count(), 46);
}

#[test]
fn inspect_shows_the_bridge_and_json_holds_all_of_it() {
    let folder = blob_folder();
    folder.ok(FIT);
    let out = folder.ok("inspect m.bridged");
    for part in ["x → y", "y → x", "linked", "leaving out one pair", "Δ/σ", "x of group 0"] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
    let json = folder.json("inspect m.bridged");
    assert_eq!(json["bridge"]["x_to_y"]["links"].as_array().unwrap().len(), 3);
    assert_eq!(json["pairs"], 4);
    assert_eq!(json["x"]["sizes"].as_array().unwrap().len(), 3);
}

#[test]
fn evaluate_scores_both_directions_and_classes() {
    let folder = blob_folder();
    folder.ok(FIT);
    // Aligned rows: the partner of a row of group g is a row of group [2, 0, 1][g].
    let y = folder.text("y.csv");
    let lines: Vec<&str> = y.lines().collect();
    let mut aligned = format!("{}\n", lines[0]);
    for i in 0..60 {
        let row = 3 * (i % 15) + [2, 0, 1][i % 3];
        aligned += &lines[1 + row].replacen(&format!("y{row}"), &format!("a{i}"), 1);
        aligned.push('\n');
    }
    folder.write("aligned.csv", aligned);
    let classes: String = (0..60).map(|i| format!("class {}\n", i % 3)).collect();
    folder.write("classes.csv", format!("class\n{classes}"));
    let json = folder
        .json("evaluate m.bridged --x x.csv --y aligned.csv --by-position --labels classes.csv");
    assert!(json["forward"]["model"]["r2"].as_f64().unwrap() > 0.95);
    assert!(json["reverse"]["model"]["r2"].as_f64().unwrap() > 0.95);
    assert_eq!(json["latent"]["x"]["ami"].as_f64().unwrap(), 1.0);
    assert_eq!(json["latent"]["forward"]["accuracy"].as_f64().unwrap(), 1.0);
    // A carried column does as well as a file.
    let out = folder.ok("evaluate m.bridged --x x.csv --y aligned.csv --by-position --labels name");
    assert!(out.contains("bridging accuracy"), "{out}");
}

#[test]
fn every_listed_clustering_bridge_and_refinement_runs_through_the_command() {
    let folder = blob_folder();
    let list = folder.json("list");
    let names = |section: &str| -> Vec<String> {
        let entries = list[section].as_array().unwrap_or_else(|| panic!("{section}"));
        entries.iter().map(|e| e["name"].as_str().unwrap().to_string()).collect()
    };
    for method in names("clusterings") {
        let k = if method == "dbscan" { "" } else { " -k 3" };
        folder.ok(&format!("cluster x.csv --method {method}{k} -o {method}.csv"));
        folder.ok(&format!(
            "fit --x x.csv --y y.csv --pairs pairs.csv --clusters 3 --cluster {method} -o {method}.bridged"
        ));
        folder.ok(&format!("predict {method}.bridged x.csv -o {method}-out.csv"));
    }
    for bridge in names("bridges") {
        folder.ok(&format!("{FIT} --bridge {bridge}"));
    }
    for refine in names("refinements").into_iter().skip(1) {
        folder.ok(&format!("{FIT} --refine {refine} --alpha 0.5 --scale standardize"));
        folder.ok("predict m.bridged x.csv -o refined.npy --force");
    }
    for uncovered in names("answers without evidence") {
        folder.ok(&format!("{FIT} --uncovered {uncovered} --scale pca:2 --pairs-apart --no-rows"));
    }
}

#[test]
fn a_cluster_without_a_pair_says_so_everywhere() {
    let folder = blob_folder();
    folder.write("pairs.csv", "x_id,y_id\nx0,y2\nx1,y0\n");
    let out = folder.ok(&format!("{FIT} --bridge majority --uncovered abstain"));
    assert!(out.contains("1 of 3 x clusters have no pair; rows in them get no answer"), "{out}");
    assert!(out.contains("no evidence"), "{out}");
    folder.ok("predict m.bridged x.csv -o out.csv");
    let predictions = folder.text("out.csv");
    let abstained = predictions.lines().filter(|l| l.contains("no evidence,abstain")).count();
    assert_eq!(abstained, 20);
    let json = folder.json("predict m.bridged x.csv -o out.parquet");
    assert_eq!((json["answered"].as_u64(), json["rows"].as_u64()), (Some(40), Some(60)));
}

#[test]
fn predictions_say_how_sure_they_are_and_give_no_answer_below_a_confidence() {
    let folder = blob_folder();
    let out = folder.ok(FIT);
    assert!(out.contains("will it work?"), "{out}");
    folder.ok("predict m.bridged x.csv -o out.csv");
    assert!(folder.text("out.csv").lines().next().unwrap().contains("probability,expected_error"));
    let json = folder.json("predict m.bridged x.csv --min-confidence 1 -o out.csv");
    assert_eq!((json["answered"].as_u64(), json["status"]["unsure"].as_u64()), (Some(0), Some(60)));
    folder.fails(1, "predict m.bridged x.csv --level 0.99 -o out.csv", &["highest level"]);
    folder.ok("predict m.bridged x.csv --level 0.7 -o out.csv");
    assert!(folder.text("out.csv").lines().next().unwrap().contains("radius"));
    folder.ok(&format!("{FIT} --preset paper"));
    let refused = ["majority", "--bridge posterior"];
    folder.fails(2, "predict m.bridged x.csv --min-confidence 0.5 -o out.csv", &refused);
}

#[test]
fn a_constant_that_beats_the_bridge_is_called_out() {
    let folder = blob_folder();
    // Pairs that contradict each other in every cluster.
    folder.write(
        "pairs.csv",
        "x_id,y_id\nx0,y0\nx3,y1\nx6,y2\nx1,y3\nx4,y4\nx7,y5\nx2,y6\nx5,y7\nx8,y8\n",
    );
    let out = folder.ok(FIT);
    assert!(out.contains("A constant predicts y better than the bridge"), "{out}");
}

#[test]
fn balanced_clusters_on_the_command_line_have_the_sizes_asked_for() {
    let folder = blob_folder();
    let json =
        folder.json("cluster x.csv --method balanced -k 7 --min-size 8 --max-size 9 -o l.csv");
    let sizes: Vec<u64> =
        json["sizes"].as_array().unwrap().iter().filter_map(|s| s.as_u64()).collect();
    assert_eq!(sizes.iter().sum::<u64>(), 60);
    assert!(sizes.iter().all(|s| (8..=9).contains(s)), "{sizes:?}");
}

#[test]
fn pairs_without_a_header_are_read_too() {
    let folder = blob_folder();
    folder.write("pairs.csv", "x0,y2\nx1,y0\nx2,y1\n");
    assert_eq!(folder.json(FIT)["pairs"], 3);
}

#[test]
fn several_list_columns_are_told_apart_by_the_name_of_the_side() {
    let folder = Folder::new();
    let rows: String = (0..12)
        .map(|i| format!("r{i},\"[{0}, {0}]\",\"[{1}]\"\n", i % 2 * 10 + i / 9, i % 2 * 5))
        .collect();
    folder.write("both.csv", format!("id,x,y\n{rows}"));
    folder.write("pairs.csv", "a,b\nr0,r0\nr1,r1\n");
    let json = folder.json("fit --x both.csv --y both.csv --pairs pairs.csv -k 2 -o m.bridged");
    assert_eq!((json["x"]["columns"].as_u64(), json["y"]["columns"].as_u64()), (Some(2), Some(1)));
    folder.ok("predict m.bridged both.csv -o out.csv");
    folder.ok("evaluate m.bridged --x both.csv --y both.csv");
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let folder = blob_folder();
    folder.ok(FIT);
    let outcome = folder.shell("$BRIDGED inspect m.bridged --json | head -1");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
}

#[test]
fn completions_are_written_for_every_shell() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(folder.ok(&format!("completions {shell}")).contains("bridged"), "{shell}");
    }
}

#[test]
fn real_data_of_the_paper_s_kind_fit_when_they_are_here() {
    let data = std::env::var("BRIDGED_DATA").map(std::path::PathBuf::from).unwrap_or_else(|_| {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data")
    });
    let file = data.join("digits.parquet");
    if !file.exists() {
        eprintln!(
            "skipped: {} is not here; set BRIDGED_DATA to the folder with the data",
            file.display()
        );
        return;
    }
    let folder = Folder::new();
    let data = file.display();
    // Two pairs of each digit, spread over the table.
    let labels = folder.json(&format!("cluster {data} --vector x -k 10 -o l.csv"));
    assert_eq!(labels["rows"], 2000);
    let ids: Vec<String> = folder
        .text("l.csv")
        .lines()
        .skip(1)
        .map(|l| l.split(',').next().unwrap().to_string())
        .collect();
    let pairs: String = ids.iter().step_by(67).map(|id| format!("{id},{id}\n")).collect();
    folder.write("pairs.csv", format!("x_id,y_id\n{pairs}"));
    let fit =
        format!("fit --x {data} --y {data} --pairs pairs.csv -k 10 --preset paper -o m.bridged");
    assert_eq!(folder.json(&fit)["x"]["sizes"], serde_json::json!(vec![200; 10]));
    let json = folder.json(&format!("evaluate m.bridged --x {data} --y {data} --labels group"));
    let ratio = |direction: &str| {
        let mse = |of: &str| json[direction][of]["mse"].as_f64().expect("a score");
        mse("model") / mse("pool_mean")
    };
    assert!(ratio("forward") < 0.97, "{}", ratio("forward"));
    assert!(ratio("reverse") < 0.85, "{}", ratio("reverse"));
    assert!(json["latent"]["x"]["ami"].as_f64().unwrap() > 0.6);
}

/// The rows of a table of the demo, changed.
fn changed(folder: &Folder, from: &str, to: &str, change: impl Fn(f32) -> f32) {
    let select = Select { vector: Some("vector"), ..Select::default() };
    let pool = bridged_io::read(&folder.path(from)).unwrap().into_pool(select).unwrap();
    let (rows, ids) = (pool.rows, pool.ids.into_iter().map(Some).collect());
    let far = Matrix::from_fn(rows.rows(), rows.cols(), |i, c| change(rows.row(i)[c]));
    let columns = vec![
        Column::new("id", ColumnData::Text(ids)),
        Column::new("vector", ColumnData::Vector(far)),
    ];
    let path = folder.path(to);
    bridged_io::write(&path, &Table::new(&path, columns).unwrap()).unwrap();
}

#[test]
fn rows_far_from_everything_are_unfamiliar_and_unseen_ones_of_the_same_kind_are_not() {
    let folder = Folder::with_demo();
    for (file, reverse) in [("unseen-pictures.parquet", ""), ("unseen-names.parquet", " --reverse")]
    {
        let json = folder.json(&format!("predict m.bridged {file}{reverse} -o near.csv"));
        let unfamiliar = json["status"]["unfamiliar"].as_u64().unwrap_or(0);
        assert!(unfamiliar <= 1, "{file}: {json}");
        changed(&folder, file, "far.parquet", |v| -50.0 * v + 1000.0);
        let outcome = folder.run(&format!(
            "predict m.bridged far.parquet{reverse} --level 0.8 --nearest 1 -o far.csv"
        ));
        assert!(
            outcome.stdout.starts_with("42 rows: 42 unfamiliar; wrote "),
            "{file}: {}",
            outcome.stdout
        );
        assert!(outcome.stderr.contains("hint: unfamiliar rows are farther"), "{}", outcome.stderr);
        let text = folder.text("far.csv");
        let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        for line in text.lines().skip(1) {
            let cell = |name: &str| {
                line.split(',').nth(header.iter().position(|h| *h == name).unwrap()).unwrap()
            };
            assert_eq!(cell("status"), "unfamiliar");
            assert_eq!([cell("probability"), cell("radius"), cell("expected_error")], [""; 3]);
            assert!(cell("novelty").parse::<f64>().unwrap() > 0.999);
            assert!(!cell("value_0").is_empty(), "people look");
        }
        let asked = |flags: &str| {
            folder.json(&format!("predict m.bridged far.parquet{reverse} {flags} -o a.csv"))
        };
        assert_eq!(asked("--min-confidence 0.01")["answered"], 0);
        assert_eq!(asked("--unfamiliar 0")["status"]["linked"], 42);
    }
    let scores = "evaluate m.bridged --x unseen-pictures.parquet --y far.parquet";
    assert_eq!(folder.json(scores)["reverse"]["unfamiliar"], 42);
    assert!(folder.ok(scores).contains("42 rows of y unfamiliar"));
}

#[test]
fn a_side_needs_a_distinct_row_for_each_cluster_and_noise_alone_is_no_error_of_a_clustering() {
    let folder = blob_folder();
    let rows: String = (0..60).map(|i| format!("x{i},{},1\n", i % 3)).collect();
    folder.write("few.csv", format!("id,a,b\n{rows}"));
    let need =
        "there are 3 distinct rows, and 7 clusters need at least 7; ask for 3 clusters or fewer";
    let fit = folder.run("fit --x few.csv --y y.csv --pairs pairs.csv -k 7 -o m.bridged");
    assert!(
        fit.code == 1 && fit.stderr.contains(&format!("cannot cluster x: {need}")),
        "{}",
        fit.stderr
    );
    let cluster = folder.run("cluster few.csv -k 7 -o l.csv");
    assert!(cluster.code == 1 && cluster.stderr.contains(need), "{}", cluster.stderr);
    assert!(!folder.files().contains(&"l.csv".to_string()));

    let out = folder.ok("cluster x.csv --method dbscan --set eps=1e-6 -o l.csv");
    assert!(out.starts_with("60 rows in 0 clusters by dbscan; a larger eps"), "{out}");
    assert!(folder.text("l.csv").lines().skip(1).all(|line| line.ends_with(",-1")));
    let lone = "fit --x x.csv --y y.csv --pairs pairs.csv --cluster dbscan --set x.cluster.eps=1e-6 -o m.bridged";
    let fit = folder.run(lone);
    assert!(fit.code == 1 && fit.stderr.contains("raise `eps`"), "{}", fit.stderr);
}

#[test]
fn members_are_shown_by_the_column_that_tells_clusters_apart_and_contradictions_by_their_ids() {
    let folder = Folder::new();
    let rows = |side: &str, n: usize| -> String {
        let row = |i: usize| {
            let (city, dna) = (["Rome", "Oslo"][i / 8 % 2], "ACGT".repeat(20));
            let v = (i % 3 * 10) as f64 + (i * 7 % 5) as f64 * 0.1;
            format!("{side}{i},{city},{dna}{i},kind {},{v},{}\n", i % 3, -v)
        };
        format!("id,city,dna,kind,a,b\n{}", (0..n).map(row).collect::<String>())
    };
    folder.write("x.csv", rows("x", 60));
    folder.write("y.csv", rows("y", 60));
    let pair = |i: usize| format!("x{i},y{}\n", if i == 4 { 30 } else { i });
    folder.write("pairs.csv", format!("x_id,y_id\n{}", (0..15).map(pair).collect::<String>()));
    folder.ok(FIT);
    let out = folder.ok("inspect m.bridged");
    assert!(out.contains("members by `kind` of x and `kind` of y; --show-x"), "{out}");
    assert!(out.contains("  kind 0  ") && !out.contains("ACGT"), "{out}");
    let listed = out.split("pairs that contradict the others").nth(1).expect("one is wrong");
    assert!(listed.contains("x4") && listed.contains("y30") && listed.contains("kind 1"), "{out}");
    let json = folder.json("inspect m.bridged");
    assert_eq!((&json["x"]["label"], &json["y"]["label"]), (&"kind".into(), &"kind".into()));
    let first = &json["contradictions"][0];
    assert_eq!((&first["x"], &first["y"]), (&"x4".into(), &"y30".into()));
    let out = folder.ok("inspect m.bridged --show-x city");
    assert!(
        out.contains("members by `city` of x and `kind` of y") && out.contains("Rome"),
        "{out}"
    );
}

#[test]
fn pools_of_few_or_equal_rows_are_noted() {
    let folder = Folder::new();
    let table = |prefix: &str, rows: usize, distinct: usize| -> String {
        let row = |i: usize| format!("{prefix}{i},{},{}\n", i % distinct, (i % distinct) * 3);
        std::iter::once("id,a,b\n".to_string()).chain((0..rows).map(row)).collect()
    };
    folder.write("y.csv", blobs("y", 60, 3, 4));
    let fit = |x: String, pairs: &str| {
        folder.write("x.csv", x);
        folder.write("pairs.csv", format!("x_id,y_id\n{pairs}"));
        let outcome = folder.run("fit --x x.csv --y y.csv --pairs pairs.csv -o m.bridged");
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome
    };
    let three = fit(table("x", 60, 3), "x0,y0\nx1,y1\nx2,y2\n");
    let note = "x has only 3 distinct rows, so it has at most 3 clusters";
    assert!(three.stderr.contains(note), "{}", three.stderr);
    let same = "every row of x gets the same answer, and every prediction of x is that row";
    let equal = fit(table("x", 12, 1), "x0,y0\nx1,y1\nx2,y2\n");
    assert!(
        equal.stderr.contains(&format!("the 12 rows of x are all equal: {same}")),
        "{}",
        equal.stderr
    );
    assert!(equal.stdout.contains("x  12 rows × 2, 1 cluster by"), "{}", equal.stdout);
    let one = fit(table("x", 1, 1), "x0,y0\n");
    assert!(one.stderr.contains(&format!("x has one row: {same}")), "{}", one.stderr);
    let usual = fit(blobs("x", 60, 3, 4), "x0,y0\nx1,y1\nx2,y2\n");
    assert!(!usual.stderr.contains("same answer"), "{}", usual.stderr);
}
