//! The posterior bridge on real data: balls hold what they promise, and surer rows are better.

use bridged::Silent;
use bridged::{Ask, BridgedModel, Direction};
use bridged_lab::{Contender, Dataset, Draw, Protocol, Setting, StudyCell, TestRows};
use bridged_math::distance::squared_distance;
use std::path::{Path, PathBuf};

/// A data set of the development data, if they are there.
fn data(name: &str) -> Option<Dataset> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = root.ancestors().skip(1).map(|a| a.join("shared/data")).find(|d| d.is_dir());
    let Some(folder) = std::env::var_os("BRIDGED_DATA").map(PathBuf::from).or(beside) else {
        eprintln!("skipped: no ../shared/data and no $BRIDGED_DATA");
        return None;
    };
    Some(Dataset::read(&folder.join(format!("{name}.parquet"))).unwrap())
}

/// Models of five groups with four pairs each, and the draws that they were fitted to.
fn fits(data: &Dataset, protocol: &Protocol, direction: Direction) -> Vec<(BridgedModel, Draw)> {
    let cell = StudyCell {
        groups: 5,
        pairs: 4,
        setting: Setting::Inductive,
        direction,
        ..StudyCell::default()
    };
    let groups: Vec<u32> = (0..data.group_names.len() as u32).collect();
    let Some(Contender::Bridged(method)) = Contender::named("bridged-posterior") else {
        panic!("it is a variant")
    };
    let Contender::Bridged(method) = Contender::Bridged(method).with_k(5) else { unreachable!() };
    let seed = bridged::Seed(11);
    (0..16)
        .map(|run| {
            let draw = protocol.draw(data, &groups, cell, seed.nth(run)).unwrap();
            (method.fit(draw.problem(), seed.nth(run), &Silent).unwrap(), draw)
        })
        .collect()
}

fn check(name: &str, protocol: &Protocol) {
    let Some(data) = data(name) else { return };
    for direction in [Direction::Forward, Direction::Reverse] {
        let (mut inside, mut all) = (0, 0);
        let mut rows: Vec<(f64, f64)> = Vec::new(); // expected and true error
        for (model, draw) in fits(&data, protocol, direction) {
            let TestRows::Unseen(test) = &draw.test else { panic!("the setting is inductive") };
            let ask = Ask { level: Some(0.9), unfamiliar: 0.0, ..Ask::default() };
            let prediction = model.predict_asked(Direction::Forward, test.view(), ask).unwrap();
            for (i, why) in prediction.explanations().enumerate() {
                let error = squared_distance(prediction.values.row(i), draw.truth.row(i));
                inside += usize::from(error.sqrt() <= why.radius.unwrap());
                all += 1;
                rows.push((why.expected_error, error));
            }
        }
        let coverage = inside as f64 / all as f64;
        assert!((coverage - 0.9).abs() <= 0.03, "{name} {direction:?}: {coverage}");
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let risk = |part: &[(f64, f64)]| part.iter().map(|r| r.1).sum::<f64>() / part.len() as f64;
        let (sure, unsure) = rows.split_at(rows.len() / 2);
        assert!(risk(sure) < risk(unsure), "{name} {direction:?}");
        eprintln!("{name} {direction:?}: {coverage:.3}, {:.4} {:.4}", risk(sure), risk(unsure));
    }
}

#[test]
fn nine_of_ten_balls_on_digits_hold_the_truth() {
    check("digits", &Protocol { rows_per_group: 100, output_share: 0.2, ..Protocol::default() });
}

#[test]
fn nine_of_ten_balls_on_emoji_hold_the_truth() {
    check("emoji", &Protocol { rows_per_group: 80, output_share: 0.2, ..Protocol::default() });
}
