//! Tables on their way in: columns by name, missing numbers, dialects, limits, numbers far from zero.

use crate::support::{Folder, blobs};

/// Pools of three groups, pairs, and the model `m.bridged`.
fn fitted() -> Folder {
    let folder = Folder::new();
    folder.write("x.csv", blobs("a", 60, 3, 4));
    folder.write("y.csv", blobs("b", 60, 3, 3));
    let pairs: String = (0..6).map(|i| format!("a{i},b{i}\n")).collect();
    folder.write("pairs.csv", format!("x_id,y_id\n{pairs}"));
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 --no-history -o m.bridged");
    folder
}

/// The columns of a CSV in the order of `places`, under other names where `rename` says so.
fn rearranged(csv: &str, places: &[usize], rename: &dyn Fn(&str) -> String) -> String {
    let line = |(i, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').collect();
        let cells = places.iter().map(|&at| match i {
            0 => rename(cells[at]),
            _ => cells[at].to_owned(),
        });
        cells.collect::<Vec<_>>().join(",") + "\n"
    };
    csv.lines().enumerate().map(line).collect()
}

#[test]
fn columns_are_matched_by_name_in_whatever_order_they_are() {
    let folder = fitted();
    let x = folder.text("x.csv");
    folder.ok("predict m.bridged x.csv -o straight.csv");
    folder.write("reversed.csv", rearranged(&x, &[0, 1, 5, 4, 3, 2], &str::to_owned));
    folder.ok("predict m.bridged reversed.csv -o reversed_out.csv");
    assert_eq!(folder.text("straight.csv"), folder.text("reversed_out.csv"));
}

#[test]
fn a_column_that_is_missing_or_not_known_is_named() {
    let folder = fitted();
    let x = folder.text("x.csv");
    let renamed = |name: &str| if name == "v2" { "v_2".to_owned() } else { name.to_owned() };
    folder.write("renamed.csv", rearranged(&x, &[0, 1, 2, 3, 4, 5], &renamed));
    let parts = ["of which `v2` is not there", "is `v_2` your `v2`?", "`renamed.csv`"];
    folder.fails(1, "predict m.bridged renamed.csv -o out.csv", &parts);
    folder.fails(1, "evaluate m.bridged --x renamed.csv --y y.csv", &parts[..2]);
    let more: String = x
        .lines()
        .enumerate()
        .map(|(i, l)| if i == 0 { format!("{l},w9\n") } else { format!("{l},7\n") })
        .collect();
    folder.write("more.csv", more);
    let outcome = folder.run("predict m.bridged more.csv -o out.csv");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("left out what the model was not fitted on: `w9`"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_fit_says_which_columns_it_took_and_a_counter_can_be_left_out() {
    let folder = Folder::new();
    let numbered = |csv: String| -> String {
        let line = |(i, l): (usize, &str)| match i {
            0 => format!("{l},number\n"),
            i => format!("{l},{i}\n"),
        };
        csv.lines().enumerate().map(line).collect()
    };
    folder.write("x.csv", numbered(blobs("a", 60, 3, 4)));
    folder.write("y.csv", blobs("b", 60, 3, 3));
    folder.write("pairs.csv", "a0,b0\na1,b1\na2,b2\n");
    let fit = "fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged";
    let outcome = folder.run(fit);
    for part in [
        "note: `x.csv`: took 5 numeric columns as the vector: `v0`, `v1`, `v2`, `v3`, `number`",
        "`number` (counts the rows) looks like an id",
        "note: `y.csv`: took 3 numeric columns",
    ] {
        assert!(outcome.stderr.contains(part), "{part}\n{}", outcome.stderr);
    }
    for choice in ["--x-exclude number", "--x-columns v*"] {
        let outcome = folder.run(&format!("{fit} {choice}"));
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("took 4 numeric columns"), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("counts the rows"), "{}", outcome.stderr);
    }
    let typo = "fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o n.bridged --x-exclude numbr";
    folder.fails(1, typo, &["has no column `numbr`; did you mean `number`?"]);
    let quiet = folder.run("cluster x.csv -k 3 -o labels.csv --exclude number -q");
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
}

#[test]
fn missing_numbers_are_a_choice() {
    let folder = fitted();
    let gap = |csv: &str, id: &str| -> String {
        let line = |l: &str| match l.split_once(',') {
            Some((first, _)) if first == id => {
                let mut cells: Vec<&str> = l.split(',').collect();
                cells[2] = "";
                cells.join(",") + "\n"
            }
            _ => format!("{l}\n"),
        };
        csv.lines().map(line).collect()
    };
    folder.write("gap.csv", gap(&folder.text("x.csv"), "a1"));
    let fit = "fit --x gap.csv --y y.csv --pairs pairs.csv -k 3";
    folder.fails(
        1,
        &format!("{fit} -o g.bridged"),
        &["row `a1`", "`--missing drop` or `--missing mean`"],
    );
    let outcome = folder.run(&format!("{fit} -o d.bridged --missing drop"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("left out 1 of 60 rows"), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("left out 1 of 6 pairs: they name rows in which"),
        "{}",
        outcome.stderr
    );
    let outcome = folder.run(&format!("{fit} -o f.bridged --missing mean"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("1 missing value is the mean"), "{}", outcome.stderr);
    // New rows are filled with the mean of the model, not of their file.
    folder.write("one.csv", "id,v0,v1,v2,v3\nn,,10,0,0\n");
    folder.fails(1, "predict f.bridged one.csv -o p.csv", &["column `v0`, row `n`", "--missing"]);
    folder.ok("predict f.bridged one.csv -o p.csv --missing mean");
    folder.ok("cluster gap.csv -k 3 -o labels.csv --missing drop");
    assert_eq!(folder.text("labels.csv").lines().count(), 60);
}

#[test]
fn the_id_column_of_the_fit_is_that_of_new_rows() {
    let folder = Folder::new();
    let named = |csv: String| csv.replacen("id,name", "code,other_id", 1);
    folder.write("x.csv", named(blobs("a", 30, 3, 3)));
    folder.write("y.csv", blobs("b", 30, 3, 3));
    folder.write("pairs.csv", "a0,b0\na1,b1\na2,b2\n");
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 --x-id code -o m.bridged");
    folder.ok("predict m.bridged x.csv -o out.csv");
    let first = folder.text("out.csv").lines().nth(1).unwrap_or_default().to_owned();
    assert!(first.starts_with("a0,"), "{first}");
}

#[test]
fn semicolon_files_of_a_spreadsheet_give_the_same_model() {
    let folder = fitted();
    for name in ["x", "y"] {
        let csv = folder.text(&format!("{name}.csv"));
        folder.write(&format!("{name}_de.csv"), csv.replace(',', ";").replace('.', ","));
    }
    folder.write("pairs_de.csv", folder.text("pairs.csv").replace(',', ";"));
    let outcome = folder
        .run("fit --x x_de.csv --y y_de.csv --pairs pairs_de.csv -k 3 --no-history -o de.bridged");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("read with semicolons between the cells, and decimal commas"));
    assert_eq!(folder.read("m.bridged"), folder.read("de.bridged"));
    let explicit = "fit --x x_de.csv --y y_de.csv --pairs pairs_de.csv -k 3 --no-history -o ex.bridged --sep ; --decimal ,";
    folder.ok(explicit);
    assert_eq!(folder.read("m.bridged"), folder.read("ex.bridged"));
    folder.fails(2, "cluster x.csv -k 3 -o l.csv --sep ab", &["--sep ab: give one character"]);
    let zipped = folder.shell("gzip -k x.csv && $BRIDGED predict m.bridged x.csv.gz -o z.csv");
    assert_eq!(zipped.code, 0, "{}", zipped.stderr);
    folder.ok("predict m.bridged x.csv -o plain.csv");
    assert_eq!(folder.text("z.csv"), folder.text("plain.csv"));
}

#[test]
fn unknown_pairs_are_skipped_when_asked_and_their_columns_can_be_named() {
    let folder = fitted();
    folder.write("more.csv", "note,photo,species\nhm,a0,b0\nhm,zz,b1\nhm,a2,b2\nhm,a1,b1\n");
    let fit = "fit --x x.csv --y y.csv --pairs more.csv -k 3 -o n.bridged --pairs-x photo";
    folder.fails(1, &format!("{fit} --pairs-y specis"), &["did you mean `species`?"]);
    let fit = format!("{fit} --pairs-y species");
    folder.fails(1, &fit, &["pair 2 names `zz`, which is not an id of x", "--skip-unknown"]);
    let outcome = folder.run(&format!("{fit} --skip-unknown"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("left out 1 of 4 pairs: they name ids that no row has"));
}

/// Two groups of 50 rows, a minute apart, in seconds since 1970.
fn seconds() -> String {
    let row = |i: usize| {
        let noise = ((i * 37) % 17) as f64 / 17.0;
        format!("r{i},{}\n", 1.7e9 + 60.0 * (i % 2) as f64 + noise)
    };
    format!("id,t\n{}", (0..100).map(row).collect::<String>())
}

#[test]
fn clusters_far_from_zero_are_told_apart() {
    let folder = Folder::new();
    folder.write("t.csv", seconds());
    for method in ["kmeans", "balanced", "gmm", "agglomerative"] {
        let report = folder.json(&format!("cluster t.csv -k 2 -m {method} -o {method}.csv"));
        assert_eq!(report["sizes"], serde_json::json!([50, 50]), "{method}");
    }
}

#[test]
fn a_model_of_numbers_far_from_zero_predicts_them() {
    let folder = Folder::new();
    folder.write("x.csv", seconds());
    folder.write("y.csv", seconds().replace("id,t", "id,u").replace('r', "s"));
    folder.write("pairs.csv", "r0,s0\nr1,s1\nr2,s2\nr3,s3\n");
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 2 --members one -o m.bridged");
    folder.write("new.csv", "id,t\nn,1700000060.5\nzero,0\n");
    folder.ok("predict m.bridged new.csv -o out.csv --nearest 1");
    let line = folder.text("out.csv").lines().nth(1).unwrap_or_default().to_owned();
    let value: f64 = line.rsplit(',').next().and_then(|v| v.parse().ok()).expect("a number");
    assert!((value - 1_700_000_060.5).abs() < 1.0, "{line}");
    let scores = folder.json("evaluate m.bridged --x x.csv --y y.csv --by-position");
    let mse = scores["forward"]["model"]["mse"].as_f64().expect("a score");
    assert!(mse < 0.5, "{mse}");
    // An earlier release would misread it, and must refuse it.
    let model = String::from_utf8_lossy(&folder.read("m.bridged")).into_owned();
    assert!(model.contains(r#"\"version\":4,"#));
}

#[test]
fn numbers_that_distances_cannot_bear_are_refused() {
    let folder = Folder::new();
    for (unit, advice) in [
        ("1e19", "divide all by 1e"),
        ("1e20", "divide all by 1e"),
        ("1e-30", "multiply all by 1e"),
        ("1e-41", "multiply all by 1e"),
    ] {
        let rows: String =
            (0..20).map(|i| format!("r{i},{}{}\n", 1 + i % 2, unit.replacen('1', "", 1))).collect();
        let rows = format!("id,v\n{rows}");
        folder.write("far.csv", &rows);
        for method in ["kmeans", "balanced", "gmm"] {
            folder.fails(
                1,
                &format!("cluster far.csv -k 2 -m {method} -o l.csv"),
                &["distances between them do not fit", advice],
            );
        }
        folder.write("pairs.csv", "r0,r0\nr1,r1\n");
        folder.fails(
            1,
            "fit --x far.csv --y far.csv --pairs pairs.csv -k 2 -o m.bridged",
            &["distances", advice],
        );
    }
}

#[test]
fn a_memory_limit_is_kept_and_named() {
    let folder = Folder::new();
    folder.write("x.csv", blobs("a", 2000, 3, 4));
    folder.fails(
        1,
        "cluster x.csv -k 3 -o l.csv --memory 1kB",
        &[
            "`x.csv`, the ids of 2,000 rows: this needs about",
            "of the limit of 1.0 kB",
            "--memory SIZE",
        ],
    );
    folder.ok("cluster x.csv -k 3 -o l.csv --memory 2GB");
    folder.fails(2, "cluster x.csv -k 3 -o m.csv --memory much", &["`much` is no size"]);
}

/// The pool of [`fitted`] with another cell in a column.
fn with_cells(folder: &Folder, name: &str, column: usize, cells: &[(usize, &str)]) {
    let x = folder.text("x.csv");
    let line = |(i, line): (usize, &str)| {
        let mut parts: Vec<&str> = line.split(',').collect();
        if let Some((_, cell)) = cells.iter().find(|(row, _)| row + 1 == i) {
            parts[column] = cell;
        }
        parts.join(",") + "\n"
    };
    folder.write(name, x.lines().enumerate().map(line).collect::<String>());
}

#[test]
fn a_cell_that_is_no_number_is_named_and_never_costs_a_column() {
    let folder = fitted();
    let fit = "fit --x bad.csv --y y.csv --pairs pairs.csv -k 3 -o other.bridged";
    for cell in ["<LOD", "-", "\"1.234,5\""] {
        with_cells(&folder, "bad.csv", 3, &[(5, cell)]);
        let shown = cell.trim_matches('"');
        let cell = format!("`{shown}` in row `a5`");
        let parts = ["bad.csv", "column `v1`", "1 of 60 cells is no number", &cell];
        let advice = ["--missing mean", "--exclude"];
        folder.fails(1, fit, &[&parts[..], &advice].concat());
        folder.fails(1, "cluster bad.csv -k 3 -o l.csv", &parts);
        folder.fails(1, "predict m.bridged bad.csv -o out.csv", &parts);
        folder.fails(1, "evaluate m.bridged --x bad.csv --y y.csv --by-position", &parts);
        folder.fails(1, &format!("{fit} --x-columns v*"), &parts);
        folder.fails(1, &format!("{fit} --x-vector v"), &parts);
    }
    folder.ok(&format!("{fit} --x-exclude v1"));
    with_cells(&folder, "bad.csv", 3, &[(5, "<LOD"), (7, "n.d.")]);
    let parts = ["2 of 60 cells are no numbers, the first is `<LOD` in row `a5`"];
    folder.fails(1, fit, &parts);
    with_cells(&folder, "bad.csv", 3, &[(5, ""), (7, "NA")]);
    folder.ok(&format!("{fit} --missing mean"));
}

#[test]
fn a_column_that_is_half_numbers_is_left_out_with_a_note() {
    let folder = fitted();
    let codes: Vec<(usize, String)> = (0..24).map(|i| (2 * i, format!("B{i}"))).collect();
    let codes: Vec<(usize, &str)> = codes.iter().map(|(i, c)| (*i, c.as_str())).collect();
    with_cells(&folder, "mixed.csv", 3, &codes);
    let note = "left out of the vector: `v1` (24 of 60 cells are no numbers, the first is `B0` in row `a0`)";
    let outcome = folder.run("cluster mixed.csv -k 3 -o l.csv");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    // A column of names says nothing.
    let outcome = folder.run("cluster x.csv -k 3 -o l.csv");
    assert!(!outcome.stderr.contains("left out"), "{}", outcome.stderr);
}

#[test]
fn decimal_commas_in_quotes_are_not_dropped_in_silence() {
    let folder = Folder::new();
    let rows: String = (0..30).map(|i| format!("r{i},{}.5,\"{},25\"\n", i % 7, i % 5)).collect();
    folder.write("t.csv", format!("id,a,b\n{rows}"));
    folder.fails(
        1,
        "cluster t.csv -k 2 -o l.csv",
        &["column `b`", "`0,25` in row `r0`", "--decimal ,"],
    );
}

#[test]
fn one_gap_is_one_missing_value() {
    let folder = fitted();
    with_cells(&folder, "gap.csv", 3, &[(5, "")]);
    let said = |arguments: &str| folder.run(arguments).stderr;
    let filled = said("cluster gap.csv -k 3 --missing mean -o l.csv");
    assert!(filled.contains("1 missing value is the mean of their column"), "{filled}");
    let dropped = said("cluster gap.csv -k 3 --missing drop -o l.csv");
    assert!(dropped.contains("left out 1 of 60 rows: numbers are missing in them"), "{dropped}");
}
