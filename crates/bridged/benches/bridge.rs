//! The links of both rules that people choose most, by the number of clusters.
//!
//! ```text
//! cargo bench -p bridged --bench bridge
//! ```
//!
//! Up to a few clusters the posterior enumerates all maps of clusters, above that it samples them.

use bridged::bridge::{BridgeRule, Majority, PairVote, Posterior, Votes};
use divan::Bencher;

fn main() {
    divan::main();
}

/// Three pairs per cluster, of which every seventh points to the next cluster.
fn votes(k: u32) -> Votes {
    let pairs = (0..3 * k).map(|i| {
        let x = i % k;
        let y = if i % 7 == 6 { (x + 1) % k } else { x };
        PairVote { x, y, x_depth: 0.9, y_depth: 0.8 }
    });
    let sizes = vec![100; k as usize];
    Votes::hard(pairs.collect(), sizes.clone(), sizes)
}

#[divan::bench(args = [7, 50, 200], sample_count = 10)]
fn posterior_links(bencher: Bencher, k: u32) {
    let votes = votes(k);
    bencher.bench(|| Posterior::default().link(&votes));
}

#[divan::bench(args = [7, 50, 200], sample_count = 10)]
fn posterior_links_with_every_pair_held_out(bencher: Bencher, k: u32) {
    let votes = votes(k);
    let pairs: Vec<usize> = (0..votes.pairs.len()).collect();
    bencher.bench(|| Posterior::default().link_held_out(&votes, &pairs));
}

#[divan::bench(args = [7, 50, 200])]
fn majority_links(bencher: Bencher, k: u32) {
    let votes = votes(k);
    bencher.bench(|| Majority.link(&votes));
}
