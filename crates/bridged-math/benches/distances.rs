//! Distances of single rows, in f64 and to some centres in f32.

use bridged_math::Matrix;
use bridged_math::distance::{squared_distance, squared_to_some};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

fn rows(n: usize, d: usize) -> Matrix {
    Matrix::from_fn(n, d, |i, j| ((i * 31 + j * 17) % 101) as f32 * 0.02 - 1.0)
}

#[divan::bench(args = [8, 64, 768])]
fn one_pair(bencher: Bencher, d: usize) {
    let x = rows(2, d);
    bencher.bench_local(|| squared_distance(black_box(x.row(0)), black_box(x.row(1))));
}

#[divan::bench(args = [8, 64, 768])]
fn to_some_of_a_hundred_centres(bencher: Bencher, d: usize) {
    let (x, centres) = (rows(1, d), rows(100, d));
    let positions: Vec<u32> = (0..100).step_by(7).collect();
    let mut out = vec![0.0; positions.len()];
    bencher.bench_local(|| {
        squared_to_some(x.row(0), centres.view(), black_box(&positions), &mut out);
    });
}
