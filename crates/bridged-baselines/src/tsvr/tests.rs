//! What self-training does and does not do, scales, and bad input.

use super::*;
use bridged::Silent;
use rand::RngExt;

/// Two groups of rows in four dimensions whose outputs differ, 40 rows, the first `s` of each
/// paired.
fn groups(s: u32) -> (Matrix, Matrix, Vec<(u32, u32)>) {
    let mut rng = Seed(4).rng();
    let mut noise = move || rng.random::<f32>() - 0.5;
    let x = Matrix::from_fn(40, 4, |i, j| (i % 2) as f32 * 3.0 + 0.5 * j as f32 + noise());
    let y = Matrix::from_fn(40, 3, |i, j| [5.0, -2.0][i % 2] * (j + 1) as f32);
    (x, y, (0..2 * s).map(|i| (i, i)).collect())
}

fn predict(spec: &Tsvr, problem: Problem<'_>) -> Matrix {
    spec.fit(problem, Seed(0), &Silent).unwrap().predict_pool(problem.x).unwrap()
}

fn worst(a: &Matrix, b: &Matrix) -> f32 {
    a.data().iter().zip(b.data()).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

#[test]
fn groups_with_one_pair_each_are_told_apart() {
    let (x, y, pairs) = groups(1);
    let problem = Problem::new(x.view(), y.view(), &pairs);
    let predicted = predict(&Tsvr::default(), problem);
    let mean = Matrix::from_fn(40, 3, |_, j| 1.5 * (j + 1) as f32);
    let square =
        |a: &Matrix| -> f32 { a.data().iter().zip(y.data()).map(|(a, b)| (a - b).powi(2)).sum() };
    let share = square(&predicted) / square(&mean);
    assert!(share < 0.25, "{share}");
    let back = predict(&Tsvr::default(), problem.flip());
    assert_eq!((back.rows(), back.cols()), (40, 4));
}

#[test]
fn training_on_its_own_predictions_changes_nothing_and_on_neighbourhoods_it_does() {
    let (x, y, pairs) = groups(3);
    let problem = Problem::new(x.view(), y.view(), &pairs);
    let plain = predict(&Tsvr { rounds: 0, ..Tsvr::default() }, problem);
    for spec in Tsvr::grid().into_iter().step_by(5) {
        let plain = predict(&Tsvr { rounds: 0, ..spec.clone() }, problem);
        let own = predict(&Tsvr { neighbors: 1, rounds: 2, ..spec }, problem);
        assert!(worst(&own, &plain) < 1e-3 * 20.0);
    }
    let half = Tsvr { self_training_frac: 0.5, epsilon: 0.01, neighbors: 8, ..Tsvr::default() };
    assert!(worst(&predict(&half, problem), &plain) > 0.05);
    let none = Tsvr { self_training_frac: 0.0, ..Tsvr::default() };
    assert_eq!(predict(&none, problem), plain);
}

#[test]
fn the_surest_rows_are_those_near_a_pair() {
    let x = Matrix::from_fn(30, 1, |i, _| i as f32);
    let y = Matrix::zeros(30, 1);
    let problem = Problem::new(x.view(), y.view(), &[(10, 0), (20, 1)]);
    let pool = Inputs::fit(x.view()).apply(x.view());
    let rows = pool.view().select([10, 20]);
    let model = Model { rows, gamma: 1.0, beta: vec![0.0; 2], intercept: vec![0.0] };
    let spec = Tsvr { self_training_frac: 4.0 / 28.0, ..Tsvr::default() };
    let mut surest = spec.surest(problem, pool.view(), &model);
    surest.sort_unstable();
    assert_eq!(surest, [9, 11, 19, 21]);
}

#[test]
fn on_the_scale_of_the_inputs_the_width_scale_is_one() {
    let (x, ..) = groups(1);
    let wide = Matrix::from_fn(40, 7, |i, j| x.row(i).get(j).map_or(3.0, |v| 100.0 * v));
    let pool = Inputs::fit(wide.view()).apply(wide.view());
    assert!((Width::Scale.gamma(pool.view()) - 1.0).abs() < 1e-5);
}

#[test]
fn degenerate_problems_have_finite_predictions() {
    for (n, d, outputs, pairs) in
        [(1, 1, 1, 1), (2, 3, 1, 1), (3, 1, 2, 3), (5, 2, 2, 1), (9, 2, 1, 9)]
    {
        for constant in [true, false] {
            let x = Matrix::from_fn(n, d, |i, j| if constant { 7.0 } else { (i / 2 + j) as f32 });
            let y = Matrix::from_fn(n, outputs, |i, _| 1e3 + i as f32);
            let pairs: Vec<(u32, u32)> = (0..pairs).map(|i| (i, i)).collect();
            let problem = Problem::new(x.view(), y.view(), &pairs);
            let predicted = predict(&Tsvr { rounds: 3, ..Tsvr::default() }, problem);
            assert!(predicted.data().iter().all(|v| (1e3 - 0.1..1e3 + 9.0).contains(v)));
        }
    }
}

#[test]
fn bad_parameters_are_named() {
    let (x, y, pairs) = groups(1);
    let problem = Problem::new(x.view(), y.view(), &pairs);
    let base = Tsvr::default;
    for (spec, name) in [
        (Tsvr { c: 0.0, ..base() }, "`c`"),
        (Tsvr { epsilon: f64::NAN, ..base() }, "`epsilon`"),
        (Tsvr { gamma: Width::Gamma(-1.0), ..base() }, "`gamma`"),
        (Tsvr { self_training_frac: 1.5, ..base() }, "`self_training_frac`"),
        (Tsvr { neighbors: 0, ..base() }, "`neighbors`"),
    ] {
        let error = spec.fit(problem, Seed(0), &Silent).err().unwrap().to_string();
        assert!(error.starts_with("tsvr") && error.contains(name), "{error}");
    }
    assert_eq!(Tsvr::grid().len(), 36);
}
