//! Solutions against scikit-learn, optimality, brute force and warm starts.

use super::*;
use crate::kernel::{Width, rbf};
use bridged::{Event, Matrix, Seed, Silent};
use proptest::prelude::*;
use rand::RngExt;
use serde_json::Value;
use std::ops::ControlFlow;

fn objective(kernel: &[f64], y: &[f64], beta: &[f64], epsilon: f64) -> f64 {
    let n = y.len();
    let f = |i: usize| (0..n).map(|j| kernel[i * n + j] * beta[j]).sum::<f64>();
    (0..n).map(|i| beta[i] * (0.5 * f(i) - y[i]) + epsilon * beta[i].abs()).sum()
}

fn random(rows: usize, cols: usize, seed: u64) -> Matrix {
    let mut rng = Seed(seed).rng();
    Matrix::from_fn(rows, cols, |_, _| 2.0 * rng.random::<f32>() - 1.0)
}

fn targets(outputs: usize, n: usize, seed: u64) -> Vec<f64> {
    random(outputs, n, seed).data().iter().map(|&v| 3.0 * f64::from(v)).collect()
}

fn matrix(value: &Value) -> Matrix {
    Matrix::from_rows(&serde_json::from_value::<Vec<Vec<f32>>>(value.clone()).unwrap())
}

fn linear(a: &Matrix, b: &Matrix) -> Vec<f64> {
    let dot = |i: usize, j: usize| {
        a.row(i).iter().zip(b.row(j)).map(|(&u, &v)| f64::from(u) * f64::from(v)).sum()
    };
    (0..a.rows()).flat_map(|i| (0..b.rows()).map(move |j| dot(i, j))).collect()
}

#[test]
fn solutions_are_those_of_scikit_learn_and_of_an_interior_point_method() {
    let golden: Value =
        serde_json::from_str(include_str!("../../../../tests/golden/baselines_svr.json")).unwrap();
    let [x, y, test] = ["x", "y", "test"].map(|name| matrix(&golden[name]));
    let n = x.rows();
    let y: Vec<f64> = (0..y.cols() * n).map(|at| f64::from(y.row(at % n)[at / n])).collect();
    for case in golden["cases"].as_array().unwrap() {
        let number = |name: &str| case[name].as_f64().unwrap();
        let svr = Svr { c: number("c"), epsilon: number("epsilon"), tol: 1e-8, ..Svr::default() };
        let (kernel, cross) = if case["kernel"] == "rbf" {
            let width = case["gamma"].as_f64().map_or(Width::Scale, Width::Gamma);
            let gamma = width.gamma(x.view());
            assert!((gamma - number("width")).abs() < 1e-9);
            (rbf(x.view(), x.view(), gamma), rbf(test.view(), x.view(), gamma))
        } else {
            (linear(&x, &x), linear(&test, &x))
        };
        let solutions = svr.fit(&kernel, n, &y, None, &Silent).unwrap();
        let (beta, intercept) = coefficients(&solutions);
        let predicted = predict(&cross, n, &beta, &intercept);
        for (o, expected) in case["outputs"].as_array().unwrap().iter().enumerate() {
            let list = |name: &str| -> Vec<f64> {
                serde_json::from_value(expected[name].clone()).unwrap()
            };
            assert!(solutions[o].converged);
            let theirs = expected["objective"].as_f64().unwrap();
            let ours = objective(&kernel, &y[o * n..][..n], &solutions[o].beta, svr.epsilon);
            assert!(ours <= theirs + 1e-7 * theirs.abs(), "{ours} {theirs}");
            let (error, beta_of_theirs) = (expected["error"].as_f64().unwrap(), list("beta"));
            let expected = list("predicted").into_iter().zip(list("exact"));
            for (t, (theirs, exact)) in expected.enumerate() {
                let found = predicted[t * intercept.len() + o];
                assert!((found - theirs).abs() < 1e-5 + 2.0 * error, "{found} {theirs}");
                assert!((found - intercept[o] - exact).abs() < 1e-6, "{found} {exact}");
            }
            if case["kernel"] == "rbf" {
                let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-4;
                assert!(solutions[o].beta.iter().zip(&beta_of_theirs).all(close));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn optimality_holds_within_the_tolerance(
        n in 1usize..50, seed in 0u64..1000, c in 0.05f64..20.0, epsilon in 0.0f64..0.5,
        linear_kernel: bool, repeated: bool,
    ) {
        let mut x = random(n, 3, seed);
        if repeated {
            (1..n).step_by(2).for_each(|i| {
                let previous = x.row(i - 1).to_vec();
                x.row_mut(i).copy_from_slice(&previous);
            });
        }
        let kernel = if linear_kernel { linear(&x, &x) } else { rbf(x.view(), x.view(), 2.0) };
        let y = targets(2, n, seed + 1);
        let svr = Svr { c, epsilon, ..Svr::default() };
        for (s, y) in svr.fit(&kernel, n, &y, None, &Silent).unwrap().iter().zip(y.chunks(n)) {
            prop_assert!(s.converged);
            prop_assert!(s.beta.iter().sum::<f64>().abs() < 1e-9 * (1.0 + c));
            let f = predict(&kernel, n, &s.beta, &[s.intercept]);
            for ((&b, f), y) in s.beta.iter().zip(f).zip(y) {
                prop_assert!(b.abs() <= c);
                let error = y - f;
                let slack = svr.tol + 1e-9;
                let most = if b < 0.0 { -epsilon } else { epsilon };
                let least = if b > 0.0 { epsilon } else { -epsilon };
                prop_assert!(b == c || error <= most + slack);
                prop_assert!(b == -c || error >= least - slack);
            }
        }
    }
}

#[test]
fn no_point_of_a_fine_grid_is_better_on_three_rows() {
    for seed in 0..20 {
        let x = random(3, 2, seed);
        let (kernel, y) = (rbf(x.view(), x.view(), 1.0), targets(1, 3, seed + 100));
        let svr = Svr { c: 0.8, epsilon: 0.2, tol: 1e-9, ..Svr::default() };
        let found = &svr.fit(&kernel, 3, &y, None, &Silent).unwrap()[0];
        let best = objective(&kernel, &y, &found.beta, svr.epsilon);
        let grid = |k: i32| 0.8 * f64::from(k) / 60.0;
        for (a, b) in (-60..=60).flat_map(|a| (-60..=60).map(move |b| (grid(a), grid(b)))) {
            if (a + b).abs() <= svr.c {
                let other = objective(&kernel, &y, &[a, b, -a - b], svr.epsilon);
                assert!(best <= other + 1e-9, "{seed}: {best} {other}");
            }
        }
    }
}

#[test]
fn one_row_is_its_target_and_equal_targets_need_no_weights() {
    let one = &Svr::default().fit(&[1.0], 1, &[4.0], None, &Silent).unwrap()[0];
    assert_eq!((one.beta[0], one.intercept), (0.0, 4.0));
    let x = random(9, 2, 5);
    let kernel = rbf(x.view(), x.view(), 1.0);
    let equal = &Svr::default().fit(&kernel, 9, &[2.5; 9], None, &Silent).unwrap()[0];
    assert_eq!((equal.iterations, equal.intercept), (0, 2.5));
}

#[test]
fn a_start_changes_the_way_and_not_the_end() {
    let (n, svr) = (60, Svr { c: 5.0, tol: 1e-8, ..Svr::default() });
    let x = random(n, 3, 7);
    let (kernel, y) = (rbf(x.view(), x.view(), 1.0), targets(70, n, 8));
    let cold = svr.fit(&kernel, n, &y, None, &Silent).unwrap();
    let (start, _) = coefficients(&cold);
    let warm = svr.fit(&kernel, n, &y, Some(&start), &Silent).unwrap();
    for (a, b) in cold.iter().zip(&warm) {
        assert!(b.iterations < 10 && a.iterations > 50);
        assert!(a.beta.iter().zip(&b.beta).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}

#[test]
fn what_takes_too_long_says_that_it_did_not_converge() {
    let x = random(30, 3, 9);
    let (kernel, y) = (rbf(x.view(), x.view(), 1.0), targets(1, 30, 10));
    let svr = Svr { c: 10.0, max_iter: 3, ..Svr::default() };
    let stopped = &svr.fit(&kernel, 30, &y, None, &Silent).unwrap()[0];
    assert!(!stopped.converged && stopped.iterations == 3);
    assert!(stopped.beta.iter().sum::<f64>().abs() < 1e-12);
}

#[test]
fn threads_change_no_bit() {
    let x = random(80, 3, 11);
    let (kernel, y) = (rbf(x.view(), x.view(), 1.0), targets(150, 80, 12));
    let start = vec![0.0; y.len()];
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Svr::default().fit(&kernel, 80, &y, Some(&start), &Silent).unwrap())
    };
    assert_eq!(on(1), on(4));
}

#[test]
fn it_reports_progress_and_stops_on_request() {
    struct After(u64);
    impl Watch for After {
        fn on(&self, event: Event<'_>) -> ControlFlow<()> {
            match event {
                Event::Step { done, .. } if done >= self.0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let (kernel, y) = ([1.0, 0.5, 0.5, 1.0], targets(200, 2, 13));
    let fit = |after| Svr::default().fit(&kernel, 2, &y, None, &After(after));
    assert!(fit(100).is_err());
    assert_eq!(fit(201).unwrap().len(), 200);
}
