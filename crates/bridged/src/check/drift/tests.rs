//! How often there is an alarm, with and without a reason.

use super::*;
use crate::synth::{Mixture, Pairs, Sizes, Weights};
use crate::{BridgedClustering, KeepRows, Preset, Problem};
use bridged_math::rows::InParts;
use bridged_math::{Seed, Silent};
use rand::RngExt;

/// Rows of both sides with their groups, of which some are fitted and the others are new.
struct Drawn {
    x: Matrix,
    y: Matrix,
    groups: Vec<u32>,
}

fn drawn(classes: usize, dim: usize, rows: usize, seed: u64) -> Drawn {
    let weights = Weights::Equal;
    let mixture =
        Mixture { classes, dim_x: dim, dim_y: 6, separation: 7.0, weights, ..Mixture::default() };
    let sizes = Sizes { x: 1, y: 1, test: rows, pairs: Pairs::Iid(0) };
    let sample = mixture.draw(sizes, Seed(seed));
    Drawn { x: sample.test_x, y: sample.test_y, groups: sample.test_latent }
}

fn first(rows: &Matrix, range: std::ops::Range<usize>) -> Matrix {
    rows.view().select(range)
}

fn fitted(settings: &BridgedClustering, x: &Matrix, y: &Matrix, pairs: usize) -> BridgedModel {
    let n = x.rows();
    let pairs: Vec<(u32, u32)> =
        (0..pairs).map(|i| (i * n / pairs) as u32).map(|i| (i, i)).collect();
    settings.fit(Problem::new(x.view(), y.view(), &pairs), Seed(1), &Silent).expect("plain data")
}

fn voting(k: usize) -> BridgedClustering {
    Preset::Voting.with_k(k)
}

fn ask<'a>(x: &'a dyn Rows) -> DriftAsk<'a> {
    DriftAsk { x: Some(NewRows { rows: x, against: None }), ..DriftAsk::default() }
}

fn drift(model: &BridgedModel, x: &Matrix) -> Drift {
    model.drift(ask(&x.view()), &Silent).expect("plain rows")
}

/// A kind of data, and how much of it is fitted and new.
struct Case {
    name: &'static str,
    fit: usize,
    new: usize,
    k: usize,
    rows: fn(usize, u64) -> Matrix,
}

/// Marks in few rows, counts with a long tail, and constants.
fn sparse(rows: usize, seed: u64) -> Matrix {
    let mut rng = Seed(seed).child("sparse").rng();
    Matrix::from_fn(rows, 40, |_, j| match j {
        0 => 3.0,
        1..20 => f32::from(u8::from(rng.random::<f32>() < 0.02)),
        _ => (1.0 / (rng.random::<f32>() + 1e-4)).floor(),
    })
}

const CASES: [Case; 4] = [
    Case { name: "groups", fit: 200, new: 100, k: 4, rows: |n, s| drawn(4, 8, n, s).x },
    Case {
        name: "no groups, 300 columns",
        fit: 60,
        new: 40,
        k: 6,
        rows: |n, s| drawn(1, 300, n, s).x,
    },
    Case { name: "small pool", fit: 25, new: 150, k: 3, rows: |n, s| drawn(3, 20, n, s).x },
    Case { name: "marks and counts", fit: 150, new: 60, k: 5, rows: sparse },
];

/// Verdicts that are not `same`, verdicts of broken, and the p-values of each test.
fn alarms(
    case: &Case,
    draws: usize,
    relabellings: usize,
) -> (usize, usize, Vec<(&'static str, f64)>) {
    let (mut alarms, mut broken, mut p) = (0, 0, Vec::new());
    for draw in 0..draws {
        let rows = (case.rows)(case.fit + case.new, 1000 + draw as u64);
        let fit = first(&rows, 0..case.fit);
        let model = fitted(&voting(case.k), &fit, &fit, 6);
        let new = first(&rows, case.fit..case.fit + case.new);
        let found = model.drift_by(ask(&new.view()), relabellings, &Silent).expect("plain rows");
        alarms += usize::from(found.verdict != DriftVerdict::Same);
        broken += usize::from(found.verdict == DriftVerdict::Broken);
        p.extend(found.tests.iter().map(|test| (test.name, test.p)));
    }
    (alarms, broken, p)
}

fn false_alarms_are_as_rare_as_the_level_says(draws: usize, relabellings: usize) {
    for case in &CASES {
        let (alarms, broken, p) = alarms(case, draws, relabellings);
        let (name, n) = (case.name, draws as f64);
        let most = |share: f64| share * n + 3.0 * (share * (1.0 - share) * n).sqrt();
        println!("{name}: {alarms} alarms in {draws} draws, {broken} broken");
        assert!(alarms as f64 <= most(0.05), "{name}: {alarms} of {draws}");
        assert!(broken as f64 <= most(0.001), "{name}: {broken} of {draws} are broken");
        // Each test by itself, where it is not held back by others.
        for test in ["shares", "distances", "columns"] {
            for level in [0.05, 0.2] {
                let of_test = p.iter().filter(|(of, p)| *of == test && *p <= level).count();
                println!("  {test}: {of_test} at {level}");
                assert!(of_test as f64 <= most(level), "{name}, {test}: {of_test} at {level}");
                let least = level * n - 3.5 * (level * (1.0 - level) * n).sqrt();
                // Statistics of few values are cautious.
                let smooth = name != "marks and counts";
                assert!(!smooth || of_test as f64 >= least, "{name}, {test}: {of_test} at {level}");
            }
        }
    }
}

#[test]
fn new_rows_of_the_same_kind_are_the_same() {
    false_alarms_are_as_rare_as_the_level_says(120, 199);
}

#[test]
#[ignore = "slow: four thousand models"]
fn new_rows_of_the_same_kind_are_the_same_in_many_draws() {
    false_alarms_are_as_rare_as_the_level_says(1000, 399);
}

/// How often rows of the same kind raise an alarm at 0.05 if the clusters of the model are taken for the regions: with the
/// rows of the fit as they are, and as if each had been left out.
fn alarms_by_the_models_own_clusters(fit: usize, new: usize, dim: usize, k: usize) -> [usize; 4] {
    let mut alarms = [0; 4];
    for draw in 0..60 {
        let rows = drawn(1, dim, fit + new, draw).x;
        let (old, fresh) = (first(&rows, 0..fit), first(&rows, fit..fit + new));
        let model = fitted(&voting(k), &old, &old, 6);
        let (side, draws) = (&model.x, Relabellings::new(fit, new, 199));
        let clustering = &side.clustering;
        let novelty = side.novelty.as_ref().expect("several rows");
        let away = |rows: &Matrix, labels: &[u32]| -> Vec<f64> {
            let to = |i: usize| clustering.centroids.row(labels[i] as usize);
            let away = (0..rows.rows())
                .map(|i| bridged_math::distance::squared_distance(rows.row(i), to(i)));
            away.collect()
        };
        let of_new = side.assign(fresh.view());
        let left_out = crate::novelty::left_out_clusters(old.view(), side.labels(), clustering);
        let own_p = novelty.own_p_values(clustering, old.view());
        let new_p = novelty.p_values(clustering, fresh.view(), &of_new);
        let ways = [
            (side.labels().to_vec(), away(&old, side.labels()), away(&fresh, &of_new)),
            (left_out, own_p, new_p),
        ];
        for (way, (labels, old_scores, new_scores)) in ways.into_iter().enumerate() {
            let (labels, scores) =
                ([labels, of_new.clone()].concat(), [old_scores, new_scores].concat());
            let rows = Matrix::from_fn(fit + new, 1, |i, _| i as f32);
            let pooled = Pooled { rows, new: (fit as u32..(fit + new) as u32).collect() };
            let regions = Regions::with(labels, k, &scores);
            let (shares, distances) = regions.test(&pooled, &draws);
            alarms[2 * way] += usize::from(shares <= 0.05);
            alarms[2 * way + 1] += usize::from(distances <= 0.05);
        }
    }
    println!("{fit} rows of {dim} columns in {k} clusters: {alarms:?} of 60");
    alarms
}

/// Why the tests do not compare new rows with the rows of the fit in the clusters of the model.
#[test]
fn the_models_own_clusters_would_raise_false_alarms() {
    let small = alarms_by_the_models_own_clusters(60, 60, 300, 6);
    let large = alarms_by_the_models_own_clusters(600, 600, 300, 6);
    assert!(small[1] >= 50 && large[1] >= 50, "distances as they are: {small:?} {large:?}");
    assert!(small[0] >= 50, "shares as they are: {small:?}");
    // 3 expected of 60: what a model without rows is judged by is about right.
    assert!(small[3] <= 10 && large[3] <= 10, "left out: {small:?} {large:?}");
}

#[test]
fn a_share_that_grew_by_a_third_is_found() {
    let mut seen = 0;
    for draw in 0..10 {
        let all = drawn(4, 16, 6000, draw);
        let fit = first(&all.x, 0..1500);
        let model = fitted(&voting(4), &fit, &first(&all.y, 0..1500), 20);
        // Group 0 has a quarter of the fit, and a third of the new rows.
        let (mut of_zero, mut others) = (Vec::new(), Vec::new());
        (1500..6000)
            .for_each(|i| if all.groups[i] == 0 { of_zero.push(i) } else { others.push(i) });
        let rows = of_zero.into_iter().take(500).chain(others.into_iter().take(1000));
        let found = drift(&model, &all.x.view().select(rows));
        let shares = &found.tests[0];
        assert_eq!(shares.name, "shares");
        seen += usize::from(found.verdict == DriftVerdict::Shifted && shares.adjusted <= 0.05);
        let side = &found.sides[0];
        let out = side.clusters.iter().filter(|c| c.fit < c.low || c.fit > c.high).count();
        assert!(out >= 1, "{:?}", side.clusters);
    }
    assert!(seen >= 9, "{seen} of 10");
}

#[test]
fn a_group_that_the_fit_never_saw_is_found() {
    let all = drawn(4, 16, 3000, 5);
    let is_new = |i: &usize| all.groups[*i] == 3;
    let fit: Vec<usize> = (0..3000).filter(|i| !is_new(i)).collect();
    let x = all.x.view().select(fit.iter().copied());
    let model = fitted(&voting(3), &x, &all.y.view().select(fit.iter().copied()), 12);
    let few = (0..3000).filter(is_new).take(40).chain(fit.iter().copied().take(360));
    let found = drift(&model, &all.x.view().select(few));
    assert_eq!(found.verdict, DriftVerdict::Shifted);
    let most = (0..3000).filter(is_new).take(300).chain(fit.iter().copied().take(100));
    let found = drift(&model, &all.x.view().select(most));
    assert_eq!(found.verdict, DriftVerdict::Broken, "{:?}", found.reasons);
    assert!(found.reasons[0].contains("of 400 new rows"), "{:?}", found.reasons);
}

fn model_and_new() -> (BridgedModel, Matrix) {
    let all = drawn(4, 12, 700, 9);
    let (x, y) = (first(&all.x, 0..400), first(&all.y, 0..400));
    (fitted(&voting(4), &x, &y, 12), first(&all.x, 400..700))
}

#[test]
fn another_unit_breaks_the_model_and_is_named() {
    let (model, new) = model_and_new();
    assert_eq!(drift(&model, &new).verdict, DriftVerdict::Same);
    let changed = |change: &dyn Fn(usize, f32) -> f32| {
        Matrix::from_fn(new.rows(), new.cols(), |i, j| change(j, new.row(i)[j]))
    };
    type Change = fn(usize, f32) -> f32;
    let changes: [(Change, &str); 5] = [
        (|j, v| if j == 5 { 1000.0 * v } else { v }, "`column 5`"),
        (|j, v| if j == 2 { v + 500.0 } else { v }, "`column 2`"),
        (|_, v| 1000.0 * v, "as large as in the fit"),
        (|_, v| v / 1000.0, "times smaller than in the fit"),
        (|_, v| v * 1e16, "change the unit"),
    ];
    for (change, says) in changes {
        let found = drift(&model, &changed(&change));
        assert_eq!(found.verdict, DriftVerdict::Broken, "{says}");
        assert!(found.reasons.iter().any(|r| r.contains(says)), "{says}: {:?}", found.reasons);
    }
    let found = drift(&model, &changed(&|j, v| if j == 5 { 1000.0 * v } else { v }));
    assert!(!found.reasons.iter().any(|r| r.contains("as large as")), "{:?}", found.reasons);
    assert_eq!(found.sides[0].columns[0].column, 5, "{:?}", found.sides[0].columns);
    assert_eq!(found.sides[0].columns.len(), 5);
    // A column that was only measured a little differently shifts.
    let found = drift(&model, &changed(&|j, v| if j == 5 { v + 1.0 } else { v }));
    assert_eq!(found.verdict, DriftVerdict::Shifted);
    assert!(found.reasons.iter().any(|r| r.contains("`column 5`")), "{:?}", found.reasons);
}

#[test]
fn a_column_that_is_mostly_zero_is_told_to_be_in_another_unit_too() {
    let mut rng = Seed(8).rng();
    let rows = Matrix::from_fn(500, 9, |_, j| {
        let v = rng.random::<f32>() + rng.random::<f32>();
        if j == 4 && v < 1.4 { 0.0 } else { v }
    });
    let (fit, mut new) = (first(&rows, 0..300), first(&rows, 300..500));
    let model = fitted(&voting(3), &fit, &fit, 6);
    assert_eq!(drift(&model, &new).verdict, DriftVerdict::Same);
    (0..200).for_each(|i| new.row_mut(i)[4] *= 1000.0);
    let found = drift(&model, &new);
    assert_eq!(found.verdict, DriftVerdict::Broken);
    assert!(
        found.reasons[0].starts_with("1 column of x") && found.reasons[0].ends_with("`column 4`")
    );
}

#[test]
fn another_width_is_said_first_and_breaks_the_model() {
    let (model, new) = model_and_new();
    let narrow = Matrix::from_fn(new.rows(), 3, |i, j| new.row(i)[j]);
    let found = drift(&model, &narrow);
    assert_eq!(found.verdict, DriftVerdict::Broken);
    assert_eq!(found.reasons, ["the new rows of x have 3 columns, but the model was fitted on 12"]);
    assert!(found.sides.is_empty() && found.tests.is_empty());
}

#[test]
fn what_cannot_be_rows_is_an_error() {
    let (model, mut new) = model_and_new();
    let none = Matrix::zeros(0, 12);
    let error = model.drift(ask(&none.view()), &Silent).unwrap_err().to_string();
    assert_eq!(error, "x is empty: it has 0 rows and 12 columns");
    new.row_mut(4)[2] = f32::NAN;
    let error = model.drift(ask(&new.view()), &Silent).unwrap_err().to_string();
    assert_eq!(error, "x holds NaN or infinity in row 4, column 2; remove or repair that row");
    let rows = new.view();
    let level = DriftAsk { level: 0.0, ..ask(&rows) };
    let error = model.drift(level, &Silent).unwrap_err().to_string();
    assert_eq!(error, "`level` must be between 0.001 and 0.5, got 0");
}

#[test]
fn one_row_or_one_cluster_is_enough() {
    let (model, new) = model_and_new();
    let found = drift(&model, &first(&new, 0..1));
    assert_eq!(found.verdict, DriftVerdict::Same, "{:?}", found.reasons);
    assert_eq!(found.sides[0].rows, 1);
    let (all, same) = (drawn(1, 5, 200, 3).x, first(&drawn(1, 5, 200, 3).x, 0..100));
    let model = fitted(&voting(1), &same, &same, 4);
    let found = drift(&model, &first(&all, 100..200));
    assert_eq!((found.verdict, found.sides[0].clusters.len()), (DriftVerdict::Same, 1));
    // A pool of one row, which nothing can be known of.
    let one = Matrix::from_rows(&[[1.0f32, 2.0]]);
    let model = fitted(&voting(1), &one, &one, 1);
    assert_eq!(drift(&model, &one).verdict, DriftVerdict::Same);
}

#[test]
fn the_rows_of_the_fit_are_the_same_as_themselves() {
    let (model, _) = model_and_new();
    let rows = model.x().rows().unwrap().clone();
    let found = drift(&model, &rows);
    assert_eq!(found.verdict, DriftVerdict::Same);
    assert!(found.tests.iter().all(|t| t.p > 0.5), "{:?}", found.tests);
}

#[test]
fn rows_that_come_in_parts_give_the_same() {
    let (model, new) = model_and_new();
    let whole = drift(&model, &new);
    for part in [1, 7, 299] {
        let parts = InParts::new(new.view(), part);
        assert_eq!(model.drift(ask(&parts), &Silent).unwrap(), whole, "{part}");
    }
}

#[test]
fn a_model_without_rows_says_what_it_cannot_judge_unless_rows_are_given() {
    let all = drawn(4, 12, 700, 9);
    let (x, y) = (first(&all.x, 0..400), first(&all.y, 0..400));
    let settings = BridgedClustering { keep_rows: KeepRows::No, ..voting(4) };
    let (model, new) = (fitted(&settings, &x, &y, 12), first(&all.x, 400..700));
    let found = drift(&model, &new);
    assert_eq!((found.verdict, found.tests.len()), (DriftVerdict::Same, 1));
    assert_eq!(found.tests[0].name, "distances");
    assert!(found.not_judged[0].contains("keeps no rows of x"), "{:?}", found.not_judged);
    assert_eq!(found.sides[0].against, 0);
    let far = Matrix::from_fn(300, 12, |i, j| 1000.0 * new.row(i)[j]);
    assert_eq!(drift(&model, &far).verdict, DriftVerdict::Broken);
    let wider = Matrix::from_fn(300, 12, |i, j| 1.2 * new.row(i)[j]);
    assert_eq!(drift(&model, &wider).verdict, DriftVerdict::Shifted);
    let mut old = model.clone();
    old.x.novelty = None;
    let found = drift(&old, &new);
    assert_eq!((found.verdict, found.tests.len()), (DriftVerdict::Unknown, 0));
    let (x, new) = (x.view(), new.view());
    let against = NewRows { rows: &new, against: Some(&x) };
    let found = model.drift(DriftAsk { x: Some(against), ..DriftAsk::default() }, &Silent).unwrap();
    assert_eq!((found.verdict, found.sides[0].against), (DriftVerdict::Same, 400));
    let narrow = Matrix::zeros(3, 2);
    let narrow = narrow.view();
    let against = NewRows { rows: &new, against: Some(&narrow) };
    let ask = DriftAsk { x: Some(against), ..DriftAsk::default() };
    assert!(model.drift(ask, &Silent).unwrap_err().to_string().contains("have 2 columns"));
}

#[test]
fn without_rows_false_alarms_are_about_as_rare_as_the_level_says() {
    for case in &CASES {
        let settings = BridgedClustering { keep_rows: KeepRows::No, ..voting(case.k) };
        let (mut alarms, mut broken) = (0, 0);
        for draw in 0..120 {
            let rows = (case.rows)(case.fit + case.new, 5000 + draw);
            let fit = first(&rows, 0..case.fit);
            let model = fitted(&settings, &fit, &fit, 6);
            let found = drift(&model, &first(&rows, case.fit..case.fit + case.new));
            alarms += usize::from(found.verdict != DriftVerdict::Same);
            broken += usize::from(found.verdict == DriftVerdict::Broken);
        }
        println!("{} without rows: {alarms} alarms in 120 draws", case.name);
        assert!(alarms <= 16 && broken == 0, "{}: {alarms} of 120, {broken} broken", case.name);
    }
}

#[test]
fn pairs_that_are_linked_elsewhere_contradict() {
    let all = drawn(5, 12, 800, 4);
    let (x, y) = (first(&all.x, 0..500), first(&all.y, 0..500));
    let settings =
        BridgedClustering { members: crate::Members::One, ..BridgedClustering::with_k(5) };
    let model = fitted(&settings, &x, &y, 40);
    let (new_x, new_y) = (first(&all.x, 500..540), first(&all.y, 500..540));
    let with = |y: &Matrix| {
        let pairs = Some(NewPairs { x: new_x.view(), y: y.view() });
        model.drift(DriftAsk { pairs, ..DriftAsk::default() }, &Silent).unwrap()
    };
    let found = with(&new_y);
    let pairs = found.pairs.as_ref().unwrap();
    assert_eq!((found.verdict, pairs.pairs), (DriftVerdict::Same, 40));
    assert!(pairs.contradict <= 2, "{pairs:?}");
    // Every output is that of the pair before.
    let moved = new_y.view().select((0..40).map(|i| (i + 39) % 40));
    let found = with(&moved);
    let pairs = found.pairs.as_ref().unwrap();
    assert_eq!(found.verdict, DriftVerdict::Broken, "{pairs:?}");
    let group = |i: usize| all.groups[500 + i];
    let wrong = (0..40).filter(|&i| group(i) != group((i + 39) % 40)).count();
    assert!(pairs.contradict.abs_diff(wrong) <= 2, "{} {wrong}", pairs.contradict);
    let worst = &pairs.worst[0];
    assert!(worst.linked != worst.y_cluster && worst.probability.unwrap() > 0.8, "{worst:?}");
    let narrow = Matrix::zeros(40, 2);
    let found = with(&narrow);
    assert_eq!((found.verdict, found.reasons.len()), (DriftVerdict::Broken, 1));
    let short = first(&new_y, 0..3);
    let pairs = Some(NewPairs { x: new_x.view(), y: short.view() });
    assert!(model.drift(DriftAsk { pairs, ..DriftAsk::default() }, &Silent).is_err());
}

#[test]
fn new_pairs_of_the_same_kind_contradict_no_more_than_those_of_the_fit() {
    let (mut alarms, draws) = (0, 60);
    for draw in 0..draws {
        let all = drawn(4, 60, 160, 100 + draw);
        let settings =
            BridgedClustering { members: crate::Members::One, ..BridgedClustering::with_k(4) };
        let model = fitted(&settings, &first(&all.x, 0..100), &first(&all.y, 0..100), 20);
        let (x, y) = (first(&all.x, 100..160), first(&all.y, 100..160));
        let pairs = Some(NewPairs { x: x.view(), y: y.view() });
        let found = model.drift_by(DriftAsk { pairs, ..DriftAsk::default() }, 99, &Silent).unwrap();
        alarms += usize::from(found.verdict != DriftVerdict::Same);
    }
    assert!(alarms <= 8, "{alarms} of {draws} at .05");
}

#[test]
fn the_adjustment_is_that_of_holm() {
    let test = |p| DriftTest { name: "shares", side: None, p, adjusted: p };
    let mut tests = [test(0.01), test(0.04), test(0.03), test(0.005)];
    holm(&mut tests);
    let adjusted = tests.map(|t| t.adjusted);
    for (got, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
    }
}
