//! Every method of the list: the same promises.

use crate::support::*;
use bridged::metrics::mse;
use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{Matrix, Seed};
use bridged::{Method, MethodError, Problem};
use bridged_baselines::{BaselineSpec, Uses};

/// Those that have nothing to iterate and so nothing to report.
const INSTANT: [&str; 3] = ["mean", "paired-mean", "knn"];
/// Those that no pair tells what belongs together, or that ignore the input.
const BLIND: [&str; 3] = ["mean", "paired-mean", "gw"];
/// Those that choose how much to trust the pairs by leaving some out, and trust none that stands alone
/// for its group. So do all that rank the rows of y.
const CAUTIOUS: [&str; 1] = ["pls"];

#[test]
fn predictions_have_the_shape_of_the_other_side_in_both_directions() {
    let s = sample(3, 2, 1);
    for spec in all() {
        for (direction, problem, test) in
            [("forward", problem(&s), &s.test_x), ("reverse", problem(&s).flip(), &s.test_y)]
        {
            let predictor = fitted(&spec, problem);
            let unseen = predictor.predict(test.view()).unwrap();
            assert_eq!((unseen.rows(), unseen.cols()), (test.rows(), problem.y.cols()));
            let pool = predictor.predict_pool(problem.x).unwrap();
            assert_eq!((pool.rows(), pool.cols()), (problem.x.rows(), problem.y.cols()));
            for m in [&unseen, &pool] {
                assert_eq!(m.view().first_non_finite(), None, "{} {direction}", spec.name());
            }
        }
    }
}

#[test]
fn what_can_learn_beats_the_mean_on_groups_that_are_clear() {
    for spec in all().filter(|s| !BLIND.contains(&s.name())) {
        for (groups, per_group, seed) in [(3, 1, 2), (4, 3, 3)] {
            let s = sample(groups, per_group, seed);
            let predictor = fitted(&spec, problem(&s));
            let ranks = predictor.retrieve(s.test_x.view(), 1).unwrap().is_some();
            if per_group == 1 && (ranks || CAUTIOUS.contains(&spec.name())) {
                continue;
            }
            let mean = Matrix::from_fn(s.test_y.rows(), s.test_y.cols(), |_, j| {
                s.y.view().mean_row()[j] as f32
            });
            let of_mean = mse(mean.view(), s.test_y.view()).unwrap();
            let unseen = predictor.predict(s.test_x.view()).unwrap();
            let error = mse(unseen.view(), s.test_y.view()).unwrap();
            assert!(error < 0.75 * of_mean, "{}: {error} against {of_mean}", spec.name());
        }
    }
}

#[test]
fn what_ranks_the_rows_of_y_finds_the_right_group_also_by_one_pair_for_each() {
    let mut ranking = 0;
    for spec in all() {
        let s = sample(3, 1, 2);
        let predictor = fitted(&spec, problem(&s));
        let Some(found) = predictor.retrieve(s.test_x.view(), 2).unwrap() else { continue };
        ranking += 1;
        assert_eq!(found.len(), 2 * s.test_x.rows(), "{}", spec.name());
        let first = found.chunks_exact(2).zip(&s.test_latent);
        let right = first.filter(|(best, group)| s.latent_y[best[0] as usize] == **group).count();
        assert!(
            10 * right >= 9 * s.test_x.rows(),
            "{}: {right} of {}",
            spec.name(),
            found.len() / 2
        );
        let alone = predictor.retrieve(s.test_x.view().slice(5..6), 2).unwrap().unwrap();
        assert_eq!(alone, found[10..12], "{}", spec.name());
        let all = predictor.retrieve(s.test_x.view().slice(0..1), usize::MAX).unwrap().unwrap();
        assert_eq!(all.len(), s.y.rows(), "{}", spec.name());
    }
    assert!(ranking >= 1);
}

#[test]
fn equal_seeds_give_equal_bits_on_one_and_on_four_threads() {
    let s = sample(3, 2, 4);
    for spec in all() {
        let run = |threads| {
            on_threads(threads, || {
                let predictor = fitted(&spec, problem(&s));
                let pool = predictor.predict_pool(s.x.view()).unwrap();
                [bits(&predictor.predict(s.test_x.view()).unwrap()), bits(&pool)]
            })
        };
        assert_eq!(run(1), run(4), "{}", spec.name());
    }
}

#[test]
fn a_prediction_does_not_depend_on_the_other_rows_asked_for() {
    let s = sample(3, 2, 5);
    for spec in all() {
        let predictor = fitted(&spec, problem(&s));
        let together = predictor.predict(s.test_x.view()).unwrap();
        let scale = together.data().iter().fold(0.0f32, |m, v| m.max(v.abs()));
        for i in [0, 7, 23] {
            let alone = predictor.predict(s.test_x.view().slice(i..i + 1)).unwrap();
            for (a, b) in alone.data().iter().zip(together.row(i)) {
                assert!((a - b).abs() <= 1e-5 * scale, "{} row {i}: {a} {b}", spec.name());
            }
        }
        let none = predictor.predict(s.test_x.view().slice(0..0)).unwrap();
        assert_eq!((none.rows(), none.cols()), (0, s.y.cols()), "{}", spec.name());
    }
}

#[test]
fn what_a_method_says_it_does_not_use_does_not_change_it() {
    // Many columns, so that principal components of a pool are fewer.
    let mixture = Mixture { classes: 3, dim_x: 30, dim_y: 25, ..Mixture::default() };
    let s = mixture.draw(Sizes { x: 75, y: 36, test: 24, pairs: Pairs::Stratified(2) }, Seed(6));
    // Other unpaired rows on one side; the paired ones stay as they are.
    let other = |m: &Matrix, paired: Vec<u32>| {
        Matrix::from_fn(m.rows(), m.cols(), |i, j| {
            if paired.contains(&(i as u32)) { m.row(i)[j] } else { 3.0 - m.row(i)[j] }
        })
    };
    let x = other(&s.x, s.pairs.iter().map(|p| p.0).collect());
    let y = other(&s.y, s.pairs.iter().map(|p| p.1).collect());
    for (entry, spec) in BaselineSpec::ALL.iter().zip(all()) {
        let predict = |x: &Matrix, y: &Matrix| {
            let problem = Problem::new(x.view(), y.view(), &s.pairs);
            bits(&fitted(&spec, problem).predict(s.test_x.view()).unwrap())
        };
        let plain = predict(&s.x, &s.y);
        let uses_x = matches!(entry.uses, Uses::X | Uses::Both);
        let uses_y = matches!(entry.uses, Uses::Y | Uses::Both);
        assert_eq!(predict(&x, &s.y) != plain, uses_x, "{} and x", entry.name);
        assert_eq!(predict(&s.x, &y) != plain, uses_y, "{} and y", entry.name);
    }
}

#[test]
fn long_work_reports_progress_and_stops_on_request() {
    let s = sample(3, 1, 7);
    for spec in all().filter(|s| !INSTANT.contains(&s.name())) {
        let never = StopAt::new(usize::MAX);
        spec.fit(problem(&s), Seed(7), &never).unwrap();
        assert!(never.heard() >= 2, "{} reports {} events", spec.name(), never.heard());
        for event in [0, 1, never.heard() / 2] {
            let stop = StopAt::new(event);
            let stopped = spec.fit(problem(&s), Seed(7), &stop);
            assert!(matches!(stopped, Err(MethodError::Cancelled(_))), "{} {event}", spec.name());
            assert_eq!(stop.heard(), event + 1, "{} went on after it was stopped", spec.name());
        }
    }
}

#[test]
fn parameters_come_back_from_json_and_unknown_ones_are_refused() {
    for spec in all() {
        for setting in spec.grid().into_iter().chain([spec.clone()]) {
            let json = serde_json::to_value(&setting).unwrap();
            assert_eq!(json["method"], spec.name());
            assert_eq!(serde_json::from_value::<BaselineSpec>(json).unwrap(), setting);
        }
        let unknown = serde_json::json!({"method": spec.name(), "colour": "blue"});
        assert!(serde_json::from_value::<BaselineSpec>(unknown).is_err(), "{}", spec.name());
    }
}

#[test]
fn the_grids_are_the_362_settings_of_the_papers_appendix() {
    let expected = [
        ("fixmatch", 96),
        ("laprls", 81),
        ("tnnr", 27),
        ("tsvr", 36),
        ("ucvme", 18),
        ("gcn", 18),
        ("kmm", 16),
        ("em", 16),
        ("eot", 45),
        ("gw", 9),
    ];
    assert_eq!(expected.iter().map(|(_, n)| n).sum::<usize>(), 362);
    for (name, settings) in expected {
        let grid = BaselineSpec::named(name).expect("one of the paper's").grid();
        assert_eq!(grid.len(), settings, "{name}");
        for (i, a) in grid.iter().enumerate() {
            assert!(!grid[..i].contains(a), "{name}: {a:?} is there twice");
        }
    }
    assert_eq!(BaselineSpec::named("knn").unwrap().grid().len(), 1, "KNN needs no tuning");
}
