//! Distances of one row to some centres, one by one: for callers who need few of them and would
//! waste a matrix product. By hand, because no library takes a list of rows; four centres at a
//! time, so that a number of the row is loaded once for all four.

use super::squared_distance;
use crate::matrix::MatrixRef;

/// ‖x − c‖² in `f32` for each of the centres at `positions`, into `out`.
///
/// # Panics
/// If there is no such centre, or the lengths do not fit.
pub fn squared_to_some(x: &[f32], centres: MatrixRef<'_>, positions: &[u32], out: &mut [f32]) {
    assert_eq!(x.len(), centres.cols(), "a row is as long as the centres");
    assert_eq!(positions.len(), out.len(), "one distance for each position");
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: AVX2 and FMA were just found.
        return unsafe { fma::squared_to_some(x, centres, positions, out) };
    }
    for (o, &p) in out.iter_mut().zip(positions) {
        *o = squared_distance(x, centres.row(p as usize)) as f32;
    }
}

#[cfg(target_arch = "x86_64")]
mod fma {
    use crate::matrix::MatrixRef;
    use std::arch::x86_64::*;

    /// Numbers in a register.
    const LANES: usize = 8;

    #[target_feature(enable = "avx2,fma")]
    pub fn squared_to_some(x: &[f32], centres: MatrixRef<'_>, positions: &[u32], out: &mut [f32]) {
        let row = |p: u32| centres.row(p as usize);
        let (fours, ones) = positions.as_chunks::<4>();
        let (out_fours, out_ones) = out.as_chunks_mut::<4>();
        for (o, p) in out_fours.iter_mut().zip(fours) {
            let [a, b, c, d] = p.map(row);
            let sums = sums::<4, 2>(x, [a, b, c, d]).map(|[u, v]| _mm256_add_ps(u, v));
            let [s, t] =
                [[sums[0], sums[1]], [sums[2], sums[3]]].map(|[u, v]| _mm256_hadd_ps(u, v));
            let both = _mm256_hadd_ps(s, t);
            let four = _mm_add_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps::<1>(both));
            // SAFETY: `o` has room for four numbers.
            unsafe { _mm_storeu_ps(o.as_mut_ptr(), four) };
            (0..4).for_each(|w| o[w] += rest(x, [a, b, c, d][w]));
        }
        for (o, &p) in out_ones.iter_mut().zip(ones) {
            let [[s, t, u, v]] = sums::<1, 4>(x, [row(p)]);
            let eight = _mm256_add_ps(_mm256_add_ps(s, t), _mm256_add_ps(u, v));
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_hadd_ps(four, four);
            *o = _mm_cvtss_f32(_mm_hadd_ps(two, two)) + rest(x, row(p));
        }
    }

    /// Σ (x − c)² over the whole registers of x, for W centres with U running sums each.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn sums<const W: usize, const U: usize>(x: &[f32], c: [&[f32]; W]) -> [[__m256; U]; W] {
        assert!(c.iter().all(|c| c.len() == x.len()));
        let mut sums = [[_mm256_setzero_ps(); U]; W];
        let whole = x.len() / LANES;
        // SAFETY: `from + LANES` is at most the length of x, which is that of each c.
        let square = |sum: __m256, from: usize, w: usize| unsafe {
            let x = _mm256_loadu_ps(x.as_ptr().add(from));
            let away = _mm256_sub_ps(x, _mm256_loadu_ps(c[w].as_ptr().add(from)));
            _mm256_fmadd_ps(away, away, sum)
        };
        for step in (0..whole / U * U).step_by(U) {
            for u in 0..U {
                for w in 0..W {
                    sums[w][u] = square(sums[w][u], (step + u) * LANES, w);
                }
            }
        }
        for step in whole / U * U..whole {
            for w in 0..W {
                sums[w][0] = square(sums[w][0], step * LANES, w);
            }
        }
        sums
    }

    /// Σ (x − c)² over the numbers that fill no register.
    #[inline]
    fn rest(x: &[f32], c: &[f32]) -> f32 {
        let whole = x.len() / LANES * LANES;
        x[whole..].iter().zip(&c[whole..]).map(|(x, c)| (x - c) * (x - c)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
