//! Poor data: a finite answer or an error that names the method, never NaN and never a panic.

use crate::support::*;
use bridged::Matrix;
use bridged::{MethodError, Problem};
use rayon::prelude::*;

/// What is poor about it, x, y and the pairs.
type Poor = (&'static str, Matrix, Matrix, Vec<(u32, u32)>);

/// Problems that are poor in one way each.
fn poor() -> Vec<Poor> {
    let wave = |n: usize, d: usize, step: f32| {
        Matrix::from_fn(n, d, |i, j| ((i * 7 + j * 3) as f32 * step).sin() * 4.0)
    };
    let with = |mut m: Matrix, f: &dyn Fn(usize, usize, f32) -> f32| {
        for i in 0..m.rows() {
            let row = m.row_mut(i);
            (0..row.len()).for_each(|j| row[j] = f(i, j, row[j]));
        }
        m
    };
    let three = vec![(0, 0), (5, 4), (9, 8)];
    vec![
        ("one pair", wave(20, 5, 0.7), wave(15, 4, 0.3), vec![(2, 3)]),
        ("two rows a side", wave(2, 3, 0.7), wave(2, 3, 0.3), vec![(0, 0), (1, 1)]),
        ("one row a side", wave(1, 3, 0.7), wave(1, 2, 0.3), vec![(0, 0)]),
        ("one column", wave(20, 1, 0.7), wave(15, 1, 0.3), three.clone()),
        (
            "constant columns",
            with(wave(20, 5, 0.7), &|_, j, v| if j < 2 { 8.0 } else { v }),
            with(wave(15, 4, 0.3), &|_, j, v| if j == 1 { -3.0 } else { v }),
            three.clone(),
        ),
        (
            "all rows equal",
            Matrix::from_fn(20, 5, |_, j| j as f32),
            wave(15, 4, 0.3),
            three.clone(),
        ),
        (
            "all outputs equal",
            wave(20, 5, 0.7),
            Matrix::from_fn(15, 4, |_, j| j as f32),
            three.clone(),
        ),
        (
            "duplicates",
            with(wave(20, 5, 0.7), &|i, j, _| ((i % 3) * 7 + j) as f32),
            with(wave(15, 4, 0.3), &|i, j, _| ((i % 2) * 5 + j) as f32),
            three.clone(),
        ),
        (
            "large numbers",
            with(wave(20, 5, 0.7), &|_, _, v| 1e6 + 1e3 * v),
            with(wave(15, 4, 0.3), &|_, _, v| -1e6 + 1e3 * v),
            three.clone(),
        ),
        (
            "small numbers",
            with(wave(20, 5, 0.7), &|_, _, v| 1e-6 * v),
            with(wave(15, 4, 0.3), &|_, _, v| 1e-6 * v),
            three.clone(),
        ),
        ("more columns than rows", wave(12, 90, 0.7), wave(10, 70, 0.3), three),
        (
            "one input with two outputs",
            wave(20, 5, 0.7),
            wave(15, 4, 0.3),
            vec![(0, 0), (0, 1), (3, 2)],
        ),
    ]
}

#[test]
fn poor_data_give_a_finite_answer_or_an_error_that_names_the_method() {
    // The slow methods side by side.
    all().collect::<Vec<_>>().into_par_iter().for_each(|spec| {
        for (what, x, y, pairs) in poor() {
            for problem in [
                Problem::new(x.view(), y.view(), &pairs),
                Problem::new(x.view(), y.view(), &pairs).flip(),
            ] {
                let name = spec.name();
                match fit(&spec, problem) {
                    Ok(predictor) => {
                        let far = Matrix::from_fn(3, problem.x.cols(), |i, _| 1e4 * i as f32);
                        for rows in [problem.x, far.view()] {
                            let predicted = predictor.predict(rows).unwrap();
                            let bad = predicted.view().first_non_finite();
                            assert_eq!(bad, None, "{name}: {what}");
                        }
                        let pool = predictor.predict_pool(problem.x).unwrap();
                        assert_eq!(pool.view().first_non_finite(), None, "{name}: {what}, pool");
                    }
                    Err(e) => {
                        let text = e.to_string();
                        assert!(text.starts_with(name) && text.contains("; "), "{what}: {text}");
                    }
                }
            }
        }
    });
}

#[test]
fn what_is_wrong_with_a_problem_or_with_new_rows_is_said_by_every_method() {
    let s = sample(3, 1, 1);
    let mut broken = s.test_x.clone();
    broken.row_mut(4)[2] = f32::INFINITY;
    for spec in all() {
        let name = spec.name();
        let none = fit(&spec, Problem::new(s.x.view(), s.y.view(), &[])).err().unwrap();
        assert!(none.to_string().starts_with("there are no pairs"), "{name}: {none}");
        let mut x = s.x.clone();
        x.row_mut(3)[0] = f32::NAN;
        let nan = fit(&spec, Problem::new(x.view(), s.y.view(), &s.pairs)).err().unwrap();
        assert!(nan.to_string().starts_with("x holds NaN"), "{name}: {nan}");

        let predictor = fitted(&spec, problem(&s));
        let error = |m: &Matrix| predictor.predict(m.view()).unwrap_err().to_string();
        let columns = format!("{name}: the rows have 6 columns, but x had 10 when it was fitted");
        assert_eq!(error(&s.test_y), columns);
        let infinite =
            format!("{name}: row 4 holds NaN or infinity in column 2; remove or repair it");
        assert_eq!(error(&broken), infinite);
    }
}

#[test]
fn parameters_out_of_range_are_refused_with_their_name() {
    let s = sample(3, 1, 1);
    let mut tried = 0;
    for spec in all() {
        let json = serde_json::to_value(&spec).unwrap();
        let numbers = json.as_object().unwrap().iter().filter(|(_, v)| v.is_number());
        for (field, _) in numbers {
            let mut bad = json.clone();
            bad[field] = serde_json::json!(-1);
            // A count that cannot be negative is refused by its type already.
            let Ok(bad) = serde_json::from_value::<bridged_baselines::BaselineSpec>(bad) else {
                continue;
            };
            tried += 1;
            let refused = fit(&bad, problem(&s)).err();
            assert!(
                matches!(&refused, Some(MethodError::BadParameter { source, .. }) if source.name == *field),
                "{}: {field} = -1 gives {refused:?}",
                spec.name()
            );
        }
    }
    assert!(tried >= 10, "{tried} parameters");
}
