//! Distances of one row to some centres, one by one: for callers who need few of them and would
//! waste a matrix product. By hand, because no library takes a list of rows; four centres at a
//! time, so that a number of the row is loaded once for all four.
//!
//! AVX2 and AVX-512 give the same bytes, plain others within the rounding of a sum in `f32`.

use crate::matrix::MatrixRef;
use crate::simd::{Kernel, LANES, Lanes, dispatch};

/// ‖x − c‖² in `f32` for each of the centres at `positions`, into `out`.
///
/// # Panics
/// If there is no such centre, or the lengths do not fit.
pub fn squared_to_some(x: &[f32], centres: MatrixRef<'_>, positions: &[u32], out: &mut [f32]) {
    dispatch(SquaredToSome::new(x, centres, positions, out));
}

struct SquaredToSome<'a> {
    x: &'a [f32],
    centres: MatrixRef<'a>,
    positions: &'a [u32],
    out: &'a mut [f32],
}

impl<'a> SquaredToSome<'a> {
    fn new(x: &'a [f32], centres: MatrixRef<'a>, positions: &'a [u32], out: &'a mut [f32]) -> Self {
        assert_eq!(x.len(), centres.cols(), "a row is as long as the centres");
        assert_eq!(positions.len(), out.len(), "one distance for each position");
        Self { x, centres, positions, out }
    }
}

impl Kernel for SquaredToSome<'_> {
    type Out = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { x, centres, positions, out } = self;
        let (fours, ones) = positions.as_chunks::<4>();
        let (out_fours, out_ones) = out.as_chunks_mut::<4>();
        for (o, p) in out_fours.iter_mut().zip(fours) {
            let mut rows: [&[f32]; 4] = [&[]; 4];
            for w in 0..4 {
                rows[w] = centres.row(p[w] as usize);
            }
            let [s, t, u, v] = sums::<V, 4, 2>(x, rows);
            *o = V::sums([s[0].add(s[1]), t[0].add(t[1]), u[0].add(u[1]), v[0].add(v[1])]);
            for w in 0..4 {
                o[w] += rest(x, rows[w]);
            }
        }
        for (o, &p) in out_ones.iter_mut().zip(ones) {
            let row = centres.row(p as usize);
            let [[s, t, u, v]] = sums::<V, 1, 4>(x, [row]);
            *o = s.add(t).add(u.add(v)).sum() + rest(x, row);
        }
    }
}

/// Σ (x − c)² over the whole vectors of x, for W centres with U running sums each.
#[inline(always)]
fn sums<V: Lanes, const W: usize, const U: usize>(x: &[f32], c: [&[f32]; W]) -> [[V; U]; W] {
    let x = x.as_chunks::<LANES>().0;
    let mut centres: [&[[f32; LANES]]; W] = [&[]; W];
    for w in 0..W {
        // As many as x has, which spares a check for each.
        centres[w] = &c[w].as_chunks::<LANES>().0[..x.len()];
    }
    let mut sums = [[V::splat(0.0); U]; W];
    let whole = x.len() / U * U;
    for step in (0..whole).step_by(U) {
        for u in 0..U {
            for w in 0..W {
                sums[w][u] = square(&x[step + u], &centres[w][step + u], sums[w][u]);
            }
        }
    }
    for step in whole..x.len() {
        for w in 0..W {
            sums[w][0] = square(&x[step], &centres[w][step], sums[w][0]);
        }
    }
    sums
}

/// sum + (x − c)².
#[inline(always)]
fn square<V: Lanes>(x: &[f32; LANES], c: &[f32; LANES], sum: V) -> V {
    let away = V::load(x).sub(V::load(c));
    away.mul_add(away, sum)
}

/// Σ (x − c)² over the numbers that fill no vector.
#[inline(always)]
fn rest(x: &[f32], c: &[f32]) -> f32 {
    let whole = x.len() / LANES * LANES;
    x[whole..].iter().zip(&c[whole..]).map(|(x, c)| (x - c) * (x - c)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::squared_distance;
    use crate::matrix::Matrix;
    use crate::seed::Seed;
    use proptest::prelude::*;
    use rand::RngExt;

    proptest! {
        #[test]
        fn they_are_the_distances_to_the_listed_centres(
            d in 1usize..70, k in 1usize..12, many in 0usize..14, seed in 0u64..1000,
        ) {
            let mut rng = Seed(seed).rng();
            let centres = Matrix::from_fn(k, d, |_, _| rng.random::<f32>());
            let x: Vec<f32> = (0..d).map(|_| rng.random()).collect();
            let positions: Vec<u32> = (0..many).map(|_| rng.random_range(0..k as u32)).collect();
            let mut out = vec![f32::NAN; many];
            squared_to_some(&x, centres.view(), &positions, &mut out);
            for (o, p) in out.into_iter().zip(positions) {
                let exact = squared_distance(&x, centres.row(p as usize));
                prop_assert!((f64::from(o) - exact).abs() <= 1e-5 * d as f64);
            }
        }
    }
}
