//! Seconds of every method on one run of the paper's largest setting: 7 groups of 200 rows, a tenth
//! of them outputs only, 4 pairs a group, 1,280 → 768 dimensions.
//!
//! ```text
//! cargo run --release -p bridged-baselines --example time_methods -- [--threads 2] [name …]
//! ```
//!
//! One JSON line a method: its name, seconds to fit and to predict unseen rows and the pool, and its
//! error divided by that of the mean of y.

use bridged::metrics::mse;
use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{Matrix, Seed, Silent};
use bridged::{Method, Preset, Problem};
use bridged_baselines::BaselineSpec;
use std::time::Instant;

fn main() {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let mut threads = 2;
    if names.first().is_some_and(|a| a == "--threads") {
        threads = names[1].parse().expect("a number of threads");
        names.drain(..2);
    }
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("the first pool");

    let mixture =
        Mixture { classes: 7, dim_x: 1280, dim_y: 768, separation: 60.0, ..Mixture::default() };
    // 200 rows a group: 4 pairs, 20 outputs only; of the 176 others a fifth is unseen.
    let sizes = Sizes { x: 7 * 145, y: 7 * 24, test: 7 * 35, pairs: Pairs::Stratified(4) };
    let sample = mixture.draw(sizes, Seed(1));
    let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
    let mean = sample.y.view().mean_row();
    let constant = Matrix::from_fn(sample.test_y.rows(), mean.len(), |_, j| mean[j] as f32);
    let of_mean = mse(constant.view(), sample.test_y.view()).expect("aligned");

    let mut methods: Vec<(&str, Box<dyn Method>)> =
        vec![("bridged", Box::new(Preset::Paper.with_k(7)))];
    for entry in BaselineSpec::ALL {
        methods.push((entry.name, Box::new(BaselineSpec::named(entry.name).expect("listed"))));
    }
    methods.retain(|(name, _)| names.is_empty() || names.iter().any(|n| n == name));
    for (name, method) in methods {
        let start = Instant::now();
        let predictor = method.fit(problem, Seed(2), &Silent).expect("a problem that all can fit");
        let fit = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let predicted = predictor.predict(sample.test_x.view()).expect("rows of x");
        predictor.predict_pool(sample.x.view()).expect("the pool");
        let predict = start.elapsed().as_secs_f64();
        let error = mse(predicted.view(), sample.test_y.view()).expect("aligned") / of_mean;
        println!(
            r#"{{"method": "{name}", "fit": {fit:.4}, "predict": {predict:.4}, "error": {error:.4}}}"#
        );
    }
}
