//! `bridged suggest`, and answers on their way back into a fit.

use crate::support::{Folder, blobs};
use serde_json::Value;
use std::collections::HashSet;

const FIT: &str = "fit --x x.csv --y y.csv --pairs pairs.csv --clusters 5 -o m.bridged";

/// Five groups, of which two have a pair, and an outlier on the side of x.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("x.csv", format!("{}far,far,13,3,3,3\n", blobs("x", 100, 5, 4)));
    folder.write("y.csv", blobs("y", 100, 5, 5));
    folder.write("pairs.csv", "x_id,y_id\nx0,y0\nx1,y1\n");
    folder.ok(FIT);
    folder
}

fn questions(json: &Value) -> Vec<Value> {
    json["questions"].as_array().expect("a list").clone()
}

/// The group of a row: rows are dealt out to the groups in turn.
fn group(id: &str) -> usize {
    id.trim_start_matches(['x', 'y']).parse::<usize>().expect("a numbered row") % 5
}

#[test]
fn clusters_without_a_pair_are_asked_for_first_and_no_question_comes_twice() {
    let folder = folder();
    let asked = questions(&folder.json("suggest m.bridged -n 30 --side x"));
    let first: HashSet<usize> =
        asked[..3].iter().map(|q| group(q["x_id"].as_str().unwrap())).collect();
    assert_eq!(first, HashSet::from([2, 3, 4]));
    assert!(asked[0]["why"].as_str().unwrap().contains("has no pair and 20 % of the rows"));
    let ids: Vec<&str> = asked.iter().map(|q| q["x_id"].as_str().unwrap()).collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    assert!(!ids.contains(&"far") && !ids.contains(&"x0") && !ids.contains(&"x1"), "{ids:?}");
    assert!(asked.iter().all(|q| q["side"] == "x" && q["y_id"].is_null()));
    let gains: Vec<f64> = asked.iter().map(|q| q["gain"].as_f64().unwrap()).collect();
    assert!(gains.is_sorted_by(|a, b| a >= b) && gains[0] < 1.0, "{gains:?}");
}

#[test]
fn answers_that_are_filled_in_make_the_next_model_and_the_next_questions() {
    let folder = folder();
    folder.ok("suggest m.bridged -n 3 --side x -o ask.csv");
    let filled = |answer: &dyn Fn(&str) -> String| {
        let text = folder.text("ask.csv");
        let lines = text.lines().enumerate().map(|(at, line)| match (at, line.split_once(",,,")) {
            (0, _) | (_, None) => line.to_string(),
            (_, Some((x, rest))) => format!("{x},{},{rest}", answer(x)),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let known = "x0,y0,yes,,,,,,\nx1,y1,yes,,,,,,\n";
    folder.write(
        "answers.csv",
        format!("{}\n{known}", filled(&|x| format!("{},yes", x.replace('x', "y")))),
    );
    let before = folder.json(FIT);
    folder.write("pairs.csv", folder.text("answers.csv"));
    let after = folder.json(FIT);
    let shares = |model: &Value| model["forward"]["leave_one_out"]["pairs"].clone();
    assert!(before["pairs"] != after["pairs"] || shares(&before) != shares(&after));
    let still: Vec<usize> = questions(&folder.json("suggest m.bridged -n 3 --side x"))
        .iter()
        .map(|q| q["pairs"].as_u64().unwrap() as usize)
        .collect();
    assert!(still.iter().all(|pairs| *pairs >= 1), "every cluster has a pair now: {still:?}");
    // Nobody has answered: nothing to learn, and that is said.
    folder.write("pairs.csv", format!("{}\n{known}", folder.text("ask.csv").trim_end()));
    let note = folder.run(FIT).stderr;
    assert!(note.contains("left out 3 of 5 rows: their answer is unsure or empty"), "{note}");
}

#[test]
fn a_no_moves_the_link_and_stays_in_the_model() {
    let folder = folder();
    let probability = |id: &str, group_of_y: usize| -> f64 {
        folder.write("one.csv", {
            let text = folder.text("x.csv");
            let row = text.lines().find(|l| l.starts_with(&format!("{id},"))).unwrap().to_string();
            format!("{}\n{row}\n", text.lines().next().unwrap())
        });
        let asked = folder.json("suggest m.bridged -n 90 --side x");
        let of_group = |q: &&Value| q["x_id"].as_str().map(group) == Some(group(id));
        let asked = questions(&asked);
        let question = asked.iter().find(of_group).expect("its group is open");
        let found = question["candidates"]
            .as_array()
            .unwrap()
            .iter()
            .find(|c| group(c["id"].as_str().unwrap()) == group_of_y);
        found.map_or(0.0, |c| c["probability"].as_f64().unwrap())
    };
    let before = probability("x2", 3);
    folder.write("pairs.csv", "x_id,y_id,answer\nx0,y0,yes\nx1,y1,Yes\nx2,y3,no\nx7,y8,no\n");
    folder.ok(FIT);
    let after = probability("x2", 3);
    assert!(after < before - 0.1, "{before} {after}");
    assert!(probability("x2", 2) > before);
    let links = |folder: &Folder| folder.ok("inspect m.bridged -o -");
    let before = links(&folder);
    folder.write(
        "pairs.csv",
        "answer,y_id,x_id\nno,y8,x7\nno,y3,x2\nyes,y1,x1\nunsure,y9,x9\nyes,y0,x0\nno,y3,x2\n",
    );
    let stderr = folder.run(FIT).stderr;
    assert!(stderr.contains("left out 1 of 6 rows: their answer is unsure or empty"), "{stderr}");
    assert!(
        stderr.contains("left out 1 of 5 pairs: an earlier pair names the same rows"),
        "{stderr}"
    );
    assert_eq!(links(&folder), before, "the order of answers does not matter");
}

#[test]
fn pairs_to_be_judged_name_two_rows() {
    let folder = folder();
    let asked = questions(&folder.json("suggest m.bridged -n 5 --kind match"));
    assert!(!asked.is_empty());
    for q in &asked {
        assert!(q["x_id"].is_string() && q["y_id"].is_string(), "{q}");
        assert_eq!(q["candidates"].as_array().unwrap().len(), 1);
        let p = q["candidates"][0]["probability"].as_f64().unwrap();
        assert!(p > 0.0 && p < 1.0);
    }
    let printed = folder.ok("suggest m.bridged -n 5 --kind match --side y");
    assert!(printed.contains("pairs that are worth judging") && printed.contains("belongs with"));
}

#[test]
fn what_is_wrong_with_answers_is_said() {
    let folder = folder();
    let before = folder.read("m.bridged");
    for (pairs, parts) in [
        (
            "x_id,y_id,answer\nx0,y0,yes\nx1,y1,yes\nx0,y0,no\n",
            &["yes and no to the same two rows", "`x0` of x", "`y0` of y"][..],
        ),
        ("x_id,y_id,answer\nx0,y0,yes\nx1,y1,maybe\n", &["row 1", "`maybe`", "yes, no or unsure"]),
        ("x_id,y_id,answer\nx0,y0,yes\nx1,nobody,no\n", &["answer no, 1", "`nobody`"]),
        ("x_id,y_id,answer\nx0,y0,yes\nx1,,yes\n", &["row 1", "no id"]),
        ("x_id,y_id,answer\nx0,y0,no\n", &["no pairs in it"]),
        ("x_id,y_id,answer\nx0,y0,\n", &["no pairs in it"]),
    ] {
        folder.write("pairs.csv", pairs);
        folder.fails(1, FIT, parts);
    }
    assert_eq!(folder.read("m.bridged"), before);
}

#[test]
fn answers_are_never_written_over_and_a_model_without_rows_says_what_it_lacks() {
    let folder = folder();
    folder.ok("suggest m.bridged -n 3 -o ask.csv");
    folder.ok("suggest m.bridged -n 4 -o ask.csv");
    let answered = folder.text("ask.csv").replacen(",,", ",y2,", 1).replacen(",,", ",yes,", 1);
    folder.write("ask.csv", &answered);
    folder.fails(2, "suggest m.bridged -n 3 -o ask.csv", &["ask.csv", "--force"]);
    assert_eq!(folder.text("ask.csv"), answered);
    folder.fails(2, "suggest m.bridged -o - --json", &["--json", "standard output"]);
    folder.ok(&format!("{FIT} --no-rows --force"));
    folder.fails(1, "suggest m.bridged", &["rows"]);
}
