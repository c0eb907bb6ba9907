//! Predictions of 1,000 new rows, and the nearest real rows to them.
//!
//! ```text
//! cargo bench -p bridged --bench predict
//! ```

use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{BridgedClustering, BridgedModel, Direction, Problem};
use bridged::{Matrix, Seed, Silent};
use divan::Bencher;

fn main() {
    divan::main();
}

/// A model of two pools of 5,000 rows, and new rows of x.
fn model(k: usize) -> (BridgedModel, Matrix) {
    let mixture = Mixture { classes: k, dim_x: 64, dim_y: 32, ..Mixture::default() };
    let sizes = Sizes { x: 5_000, y: 5_000, test: 1_000, pairs: Pairs::Stratified(2) };
    let sample = mixture.draw(sizes, Seed(1));
    let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
    let model = BridgedClustering::with_k(k).fit(problem, Seed(0), &Silent).expect("a fit");
    (model, sample.test_x)
}

#[divan::bench(args = [7, 50])]
fn predict(bencher: Bencher, k: usize) {
    let (model, rows) = model(k);
    bencher.bench(|| model.predict(Direction::Forward, rows.view()));
}

#[divan::bench(args = [1, 10])]
fn nearest(bencher: Bencher, n: usize) {
    let (model, rows) = model(7);
    let prediction = model.predict(Direction::Forward, rows.view()).expect("rows fit the model");
    bencher.bench(|| model.nearest(Direction::Forward, prediction.values.view(), n));
}
