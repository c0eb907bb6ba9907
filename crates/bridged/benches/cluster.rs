//! Every clustering with its defaults: 2,000 rows of 64 columns into 10 clusters.
//!
//! ```text
//! cargo bench -p bridged --bench cluster
//! ```

use bridged::cluster::{ClusterSpec, Clusterer};
use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{Seed, Silent};
use divan::Bencher;

const K: usize = 10;

fn main() {
    divan::main();
}

#[divan::bench(args = ClusterSpec::ALL.iter().map(|entry| entry.name), sample_count = 10)]
fn fit(bencher: Bencher, name: &str) {
    let mixture = Mixture { classes: K, dim_x: 64, dim_y: 1, ..Mixture::default() };
    let sizes = Sizes { x: 2_000, y: 0, test: 0, pairs: Pairs::Iid(0) };
    let sample = mixture.draw(sizes, Seed(1));
    let method = ClusterSpec::named(name).expect("a listed name").with_k(K);
    bencher.bench(|| method.fit(sample.x.view(), Seed(0), &Silent).expect("rows can be clustered"));
}
