//! Exponentials of many numbers at every level.

use bridged_math::simd::{Kernel, LANES, Lanes, Level, dispatch_at, exp, vectorize_wide};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

struct Exponentials<'a>(&'a mut [[f32; LANES]]);

impl Kernel for Exponentials<'_> {
    type Out = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        for eight in self.0 {
            V::load(eight).exp().store(eight);
        }
    }
}

#[divan::bench(args = Level::available())]
fn of_1024_f32(bencher: Bencher, level: Level) {
    let mut x = vec![[0.0; LANES]; 128];
    bencher.bench_local(|| {
        x.iter_mut().enumerate().for_each(|(i, eight)| eight.fill(-0.07 * i as f32));
        dispatch_at(level, Exponentials(black_box(&mut x)));
    });
}

/// At the level of the process; `BRIDGED_SIMD` chooses another.
#[divan::bench]
fn of_1024_f64(bencher: Bencher) {
    let mut x = vec![0.0; 1024];
    bencher.bench_local(|| {
        x.iter_mut().enumerate().for_each(|(i, v)| *v = -0.01 * i as f64);
        let x = black_box(&mut x);
        vectorize_wide(
            #[inline(always)]
            || x.iter_mut().for_each(|v| *v = exp(*v)),
        );
    });
}
