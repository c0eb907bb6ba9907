//! Scores of a tile of rows with centres that are packed once, and the same product by gemm.

use bridged_math::Matrix;
use bridged_math::distance::{Centres, product_transposed};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

/// Columns and centres.
const SHAPES: [(usize, usize); 8] =
    [(2, 12), (12, 12), (64, 30), (64, 3), (768, 3), (768, 7), (768, 100), (1280, 64)];

fn rows(n: usize, d: usize) -> Matrix {
    Matrix::from_fn(n, d, |i, j| ((i * 31 + j * 17) % 101) as f32 * 0.02 - 1.0)
}

#[divan::bench(args = SHAPES)]
fn panels(bencher: Bencher, (d, k): (usize, usize)) {
    let (x, centres) = (rows(120, d), Centres::new(rows(k, d).view()));
    let mut out = vec![0.0; 120 * k];
    bencher.bench_local(|| centres.scores(black_box(x.view()), &mut out));
}

#[divan::bench(args = SHAPES)]
fn gemm(bencher: Bencher, (d, k): (usize, usize)) {
    let (x, centres) = (rows(120, d), rows(k, d));
    let mut out = vec![0.0; 120 * k];
    bencher.bench_local(|| product_transposed(black_box(x.view()), centres.view(), &mut out));
}
