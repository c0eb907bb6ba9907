//! Rows that are like none of the pool are said to be, in both directions, by every clustering.

use crate::support::*;
use bridged::synth::{Mixture, Pairs, Sample};
use bridged::{Ask, BridgedModel, Direction, Matrix, Preset, Seed, Source, Status};

fn sample(classes: usize, rows: usize) -> Sample {
    Mixture { classes, separation: 8.0, ..Mixture::default() }
        .draw(sizes(rows, rows, 200, Pairs::Stratified(3)), Seed(31))
}

/// Rows that were never seen, of the side that a direction starts from.
fn unseen(s: &Sample, direction: Direction) -> &Matrix {
    match direction {
        Direction::Forward => &s.test_x,
        Direction::Reverse => &s.test_y,
    }
}

fn far_away(rows: &Matrix) -> Matrix {
    Matrix::from_fn(rows.rows(), rows.cols(), |i, c| -50.0 * rows.row(i)[c] + 1000.0)
}

fn unfamiliar(model: &BridgedModel, direction: Direction, rows: &Matrix) -> usize {
    let prediction = model.predict(direction, rows.view()).unwrap();
    prediction.explanations().filter(|why| why.status == Status::Unfamiliar).count()
}

#[test]
fn rows_far_from_everything_are_unfamiliar_and_unseen_rows_of_the_same_kind_are_not() {
    for rows in [60, 300] {
        let s = sample(4, rows);
        for name in names() {
            let model = fit_sample(&both(spec(name, 4)), &s);
            for direction in Direction::BOTH {
                let new = unseen(&s, direction);
                let (ours, far) = (
                    unfamiliar(&model, direction, new),
                    unfamiliar(&model, direction, &far_away(new)),
                );
                assert_eq!(far, new.rows(), "{name}, {rows} rows, {direction:?}");
                assert!(ours <= 6, "{name}, {rows} rows, {direction:?}: {ours} of 200");
            }
        }
    }
}

#[test]
fn an_unfamiliar_row_has_a_value_and_neither_probability_nor_radius() {
    let s = sample(4, 120);
    let model = fit_sample(&Preset::Default.with_k(4), &s);
    let far = far_away(&s.test_x);
    let ask = Ask { level: Some(0.8), ..Ask::default() };
    let prediction = model.predict_asked(Direction::Forward, far.view(), ask).unwrap();
    for (i, why) in prediction.explanations().enumerate() {
        assert_eq!((why.status, why.source), (Status::Unfamiliar, Source::Link));
        assert_eq!((why.probability, why.radius), (None, None));
        assert!(why.expected_error.is_nan() && why.novelty.unwrap() > 0.999);
        assert!(why.linked.is_some() && prediction.answered(i));
    }
    assert!(prediction.values.data().iter().all(|v| v.is_finite()));

    // Whoever asks for confidence gets none.
    let ask = Ask { min_confidence: Some(0.01), ..Ask::default() };
    let prediction = model.predict_asked(Direction::Forward, far.view(), ask).unwrap();
    for (i, why) in prediction.explanations().enumerate() {
        assert_eq!((why.status, why.source), (Status::Unfamiliar, Source::Abstain));
        assert!(!prediction.answered(i) && prediction.values.row(i).iter().all(|v| v.is_nan()));
    }

    // Switched off, they are answered as before, and their novelty is still told.
    let ask = Ask { level: Some(0.8), unfamiliar: 0.0, ..Ask::default() };
    let prediction = model.predict_asked(Direction::Forward, far.view(), ask).unwrap();
    for why in prediction.explanations() {
        assert!(matches!(why.status, Status::Link(_)));
        assert!(why.probability.is_some() && why.radius.is_some() && why.novelty.unwrap() > 0.999);
    }
    let ask = Ask { unfamiliar: 1.5, ..Ask::default() };
    let error = model.predict_asked(Direction::Forward, far.view(), ask).unwrap_err();
    assert_eq!(error.to_string(), "`unfamiliar` must be between 0 and 1, got 1.5");
}

#[test]
fn the_level_is_the_share_of_ordinary_rows_that_are_called_unfamiliar() {
    let s = sample(4, 1000);
    let model = fit_sample(&Preset::Default.with_k(4), &s);
    for level in [0.5, 0.1] {
        let ask = Ask { unfamiliar: level, ..Ask::default() };
        let prediction = model.predict_asked(Direction::Forward, s.test_x.view(), ask).unwrap();
        let called =
            prediction.explanations().filter(|why| why.status == Status::Unfamiliar).count();
        let share = called as f64 / 200.0;
        assert!((share - level).abs() < 4.0 * (level * (1.0 - level) / 200.0).sqrt(), "{share}");
    }
}

#[test]
fn no_row_of_the_pool_itself_is_unfamiliar() {
    let s = sample(4, 120);
    let model = fit_sample(&Preset::Default.with_k(4), &s);
    let ask = Ask { unfamiliar: 0.5, ..Ask::default() };
    let prediction = model.predict_pool_asked(Direction::Forward, ask).unwrap();
    assert!(prediction.explanations().all(|why| matches!(why.status, Status::Link(_))));
    let highest = prediction.explanations().filter_map(|why| why.novelty).fold(0.0, f64::max);
    assert!((0.95..1.0).contains(&highest), "{highest}");
}

#[test]
fn an_evaluation_counts_unfamiliar_rows() {
    let s = sample(4, 120);
    let model = fit_sample(&Preset::Default.with_k(4), &s);
    let scores = model.evaluate(far_away(&s.test_x).view(), s.test_y.view(), None).unwrap();
    assert_eq!((scores.forward.unfamiliar, scores.forward.answered), (200, 200));
    assert!(scores.reverse.unfamiliar <= 4, "{}", scores.reverse.unfamiliar);
}
