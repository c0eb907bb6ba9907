//! The nearest of many centres for every row, with a rough look first.

use bridged_math::Matrix;
use bridged_math::distance::nearest;
use divan::Bencher;

fn main() {
    divan::main();
}

/// Columns and centres.
#[divan::bench(args = [(2, 12), (64, 30), (768, 7), (768, 100)], sample_count = 30)]
fn of_4096_rows(bencher: Bencher, (d, k): (usize, usize)) {
    let noise = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1009) as f32 / 1009.0;
    let centres = Matrix::from_fn(k, d, |i, j| 2.0 * noise(i + 5000, j));
    let x = Matrix::from_fn(4096, d, |i, j| centres.row(i % k)[j] + noise(i, j));
    bencher.bench_local(|| nearest(x.view(), centres.view()));
}
