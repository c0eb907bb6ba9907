//! Model files of two pools that keep their rows: bytes out, bytes in, and the file itself.
//!
//! ```text
//! cargo bench -p bridged --bench persist
//! ```

use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{BridgedClustering, BridgedModel, Problem};
use bridged::{Seed, Silent};
use divan::Bencher;
use divan::counter::BytesCount;
use std::path::Path;

const ROWS: [usize; 2] = [1_000, 20_000];

fn main() {
    divan::main();
}

/// A model of two pools of this many rows with 64 columns.
fn model(rows: usize) -> BridgedModel {
    let mixture = Mixture { classes: 7, dim_x: 64, dim_y: 64, ..Mixture::default() };
    let sizes = Sizes { x: rows, y: rows, test: 0, pairs: Pairs::Stratified(2) };
    let sample = mixture.draw(sizes, Seed(1));
    let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
    BridgedClustering::with_k(7).fit(problem, Seed(0), &Silent).expect("a fit")
}

#[divan::bench(args = ROWS)]
fn to_bytes(bencher: Bencher, rows: usize) {
    let model = model(rows);
    let bytes = model.to_bytes().expect("a model fits in memory").len();
    bencher.counter(BytesCount::new(bytes)).bench(|| model.to_bytes());
}

#[divan::bench(args = ROWS)]
fn from_bytes(bencher: Bencher, rows: usize) {
    let bytes = model(rows).to_bytes().expect("a model fits in memory");
    let count = BytesCount::new(bytes.len());
    bencher.counter(count).bench(|| BridgedModel::from_bytes(&bytes, Path::new("model.bridged")));
}

#[divan::bench(args = ROWS)]
fn save_and_load(bencher: Bencher, rows: usize) {
    let model = model(rows);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("model.bridged");
    bencher.bench(|| {
        model.save(&path).expect("the folder can be written");
        BridgedModel::load(&path).expect("the file was just written")
    });
}
