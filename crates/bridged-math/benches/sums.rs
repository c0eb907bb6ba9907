//! Rows added to sums in f64, as the update step of k-means does it, at the level of the process;
//! `BRIDGED_SIMD` chooses another.

use bridged_math::Matrix;
use bridged_math::simd::vectorize;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

#[divan::bench(args = [2, 20, 64, 768])]
fn of_256_rows(bencher: Bencher, d: usize) {
    let x = Matrix::from_fn(256, d, |i, j| ((i * 31 + j * 17) % 101) as f32);
    let mut sums = vec![0.0f64; d];
    bencher.bench_local(|| {
        for row in black_box(&x).view().iter_rows() {
            vectorize(
                #[inline(always)]
                || sums.iter_mut().zip(row).for_each(|(s, &v)| *s += f64::from(v)),
            );
        }
    });
}
