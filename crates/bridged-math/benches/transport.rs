//! The cheapest assignment of rows to columns of bounded size, from prices of zero.

use bridged_math::transport::{Capacity, Transport};
use divan::Bencher;

fn main() {
    divan::main();
}

/// Rows and columns.
#[divan::bench(args = [(1400, 7), (4000, 12), (3000, 30), (2000, 100)], sample_count = 30)]
fn from_scratch(bencher: Bencher, (n, k): (usize, usize)) {
    let noise = |at: usize| (at * 7919 % 104_729) as f32 / 104_729.0;
    let costs: Vec<f32> = (0..n * k)
        .map(|at| noise(at) + if (at / k * 37) % (3 * k) / 2 > at % k { 0.5 } else { 0.0 })
        .collect();
    bencher.bench_local(|| {
        let mut transport = Transport::new(Capacity::even(n, k));
        transport.solve(&costs).map(|()| transport.labels().sum::<u32>())
    });
}
