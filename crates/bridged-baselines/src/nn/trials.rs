//! What a method that trains networks is tried on.

use bridged::math::{Matrix, Seed, Silent};
use bridged::metrics::mse;
use bridged::synth::{Mixture, Pairs, Sample, Sizes};
use bridged::{Method, Predictor, Problem};

/// The paper's smallest setting: three groups, one pair each.
pub(crate) fn smallest() -> Sample {
    let mixture = Mixture { classes: 3, separation: 12.0, ..Mixture::default() };
    mixture.draw(Sizes { x: 60, y: 60, test: 60, pairs: Pairs::Stratified(1) }, Seed(3))
}

pub(crate) fn problem(s: &Sample) -> Problem<'_> {
    Problem::new(s.x.view(), s.y.view(), &s.pairs)
}

/// The mean squared error on the test rows.
pub(crate) fn score(fitted: &dyn Predictor, s: &Sample) -> f64 {
    mse(fitted.predict(s.test_x.view()).unwrap().view(), s.test_y.view()).unwrap()
}

/// Asserts equal bits on one and on three threads, and for a row that is asked for alone.
pub(crate) fn assert_same_bits(method: &dyn Method) {
    let s = smallest();
    let predict = |threads, rows: std::ops::Range<usize>| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fitted = pool.install(|| method.fit(problem(&s), Seed(1), &Silent).unwrap());
        fitted.predict(s.test_x.view().slice(rows)).unwrap()
    };
    let all = predict(1, 0..60);
    assert_eq!(all, predict(3, 0..60));
    assert_eq!(predict(1, 7..8).data(), all.row(7));
}

/// Asserts numbers, in both directions, for pools of one to three rows, one column, constant columns.
pub(crate) fn assert_finite_on_odd_shapes(method: &dyn Method) {
    for (rows, columns, pairs) in [(1, 1, 1), (2, 3, 2), (3, 1, 2)] {
        for step in [0.0, 1e6] {
            let x = Matrix::from_fn(rows, columns, |i, _| step * i as f32);
            let y = Matrix::from_fn(pairs, 1, |i, _| i as f32);
            let pairs: Vec<_> = (0..pairs as u32).map(|i| (i, i)).collect();
            let problem = Problem::new(x.view(), y.view(), &pairs);
            for p in [problem, problem.flip()] {
                let out = method.fit(p, Seed(0), &Silent).unwrap().predict(p.x).unwrap();
                assert!(out.data().iter().all(|v| v.is_finite()), "{rows} {columns} {step}");
            }
        }
    }
}
