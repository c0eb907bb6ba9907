//! What the tests of the neural methods share.

use bridged::metrics::mse;
use bridged::synth::{Mixture, Pairs, Sample, Sizes};
use bridged::{Matrix, Seed, Silent};
use bridged::{Method, Predictor, Problem};
use rand::RngExt;

/// Uniform on ±1.
pub(crate) fn random(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = Seed(seed).rng();
    (0..n).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect()
}

/// Asserts that `gradient` is that of `f` at `at`, by central differences.
pub(crate) fn assert_gradient(at: &[f64], gradient: &[f64], f: impl Fn(&[f64]) -> f64) {
    const STEP: f64 = 1e-6;
    let scale = gradient.iter().fold(1e-3f64, |m, g| m.max(g.abs()));
    let mut moved = at.to_vec();
    for (i, g) in gradient.iter().enumerate() {
        moved[i] = at[i] + STEP;
        let above = f(&moved);
        moved[i] = at[i] - STEP;
        let slope = (above - f(&moved)) / (2.0 * STEP);
        moved[i] = at[i];
        assert!((slope - g).abs() < 1e-6 * scale, "{i}: {g} instead of {slope}");
    }
}

/// The paper's smallest setting: three groups with one pair each.
pub(crate) fn smallest_setting() -> Sample {
    let mixture = Mixture { classes: 3, ..Mixture::default() };
    mixture.draw(Sizes { x: 75, y: 30, test: 60, pairs: Pairs::Stratified(1) }, Seed(7))
}

pub(crate) fn problem(sample: &Sample) -> Problem<'_> {
    Problem::new(sample.x.view(), sample.y.view(), &sample.pairs)
}

/// The mean squared distance of predictions to the true means of the test rows' groups: what is left
/// to learn, without the noise that nobody can predict.
pub(crate) fn test_error(predictor: &dyn Predictor, sample: &Sample) -> f64 {
    let predicted = predictor.predict(sample.test_x.view()).unwrap();
    mse(predicted.view(), sample.oracle().view()).unwrap()
}

/// Asserts that a method gives numbers on pools of one to three rows, single columns, constant
/// columns, duplicate rows and a single pair, for the pool and for other rows.
pub(crate) fn assert_survives(method: &dyn Method) {
    let pools = [
        Matrix::from_rows(&[[2.0]]),
        Matrix::from_rows(&[[1.0, 5.0], [1.0, 5.0]]),
        Matrix::from_rows(&[[0.0, 1e4, 3.0], [1.0, 1e4, 3.0], [2.0, 1e4, 3.0]]),
        Matrix::from_fn(9, 2, |i, j| if j == 0 { 7.0 } else { (i % 3) as f32 }),
    ];
    for x in &pools {
        for y in &pools {
            let last = (x.rows() as u32 - 1, y.rows() as u32 - 1);
            for pairs in [vec![(0, 0)], vec![(0, 0), last]] {
                let problem = Problem::new(x.view(), y.view(), &pairs);
                let Ok(fitted) = method.fit(problem, Seed(0), &Silent) else {
                    // Two pairs of one row each are a duplicate pair, which the problem may refuse.
                    problem.check().expect_err("a problem that is fine is fitted");
                    continue;
                };
                let far = Matrix::from_fn(3, x.cols(), |i, j| (i + j) as f32 * 10.0 - 5.0);
                let (pool, other) = (fitted.predict_pool(x.view()), fitted.predict(far.view()));
                let (pool, other) = (pool.unwrap(), other.unwrap());
                assert_eq!((pool.rows(), pool.cols()), (x.rows(), y.cols()));
                assert!(pool.data().iter().chain(other.data()).all(|v| v.is_finite()));
            }
        }
    }
}

/// Asserts that a method gives the same bits on one thread and on three, in a problem that is large
/// enough for its products and updates to be shared.
pub(crate) fn assert_same_bits_on_any_threads(method: &dyn Method) {
    let mixture = Mixture { classes: 3, dim_x: 300, dim_y: 70, ..Mixture::default() };
    let sizes = Sizes { x: 200, y: 40, test: 70, pairs: Pairs::Stratified(9) };
    let sample = mixture.draw(sizes, Seed(8));
    let problem = problem(&sample);
    let [one, three] = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let fitted = method.fit(problem, Seed(1), &Silent).unwrap();
            fitted.predict(sample.test_x.view()).unwrap()
        })
    });
    assert_eq!(one, three);
}
