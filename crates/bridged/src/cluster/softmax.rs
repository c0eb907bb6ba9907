//! Responsibilities in single precision: exponentials of log densities, scaled to sum to one.
//!
//! ```text
//! r_ij = exp(l_ij − max_j l_ij) / Σ_l exp(l_il − max_j l_ij)
//! ```
//!
//! Eight components of a row are worked on at once, so rows are padded to whole eights.
//!
//! AVX2 and AVX-512 give the same bytes; plain differs by the roundings of its exponential.

use bridged_math::simd::{self, Kernel, LANES, Lanes};

/// Rows whose logarithms are taken together: a product of this many sums of k does not overflow.
const LOGARITHM: usize = 16;
/// Below this logarithm, a responsibility is 0: it could not be seen beside 1.
const LEAST: f32 = -60.0;

/// Replaces log joint densities without their constants, (m, constants), by responsibilities;
/// returns Σ log p(x) and the sum of the responsibilities.
pub(super) fn to_responsibilities(joint: &mut [f32], constants: &[f32]) -> (f64, Vec<f32>) {
    simd::dispatch(Softmax { joint, constants })
}

struct Softmax<'a> {
    joint: &'a mut [f32],
    constants: &'a [f32],
}

impl Kernel for Softmax<'_> {
    type Out = (f64, Vec<f32>);

    #[inline(always)]
    fn run<V: Lanes>(self) -> (f64, Vec<f32>) {
        let (joint, k) = (self.joint, self.constants.len());
        let mut log_likelihood = 0.0;
        let (constants, _) = self.constants.as_chunks::<LANES>();
        for row in joint.chunks_exact_mut(k) {
            let (row, _) = row.as_chunks_mut::<LANES>();
            let mut tops = [f32::MIN; LANES];
            for (v, c) in row.iter_mut().zip(constants) {
                (0..LANES).for_each(|l| v[l] += c[l]);
                (0..LANES).for_each(|l| tops[l] = if v[l] > tops[l] { v[l] } else { tops[l] });
            }
            let largest = fold(tops, |a, b| if a > b { a } else { b });
            row.as_flattened_mut().iter_mut().for_each(|v| *v -= largest);
            log_likelihood += f64::from(largest);
        }
        // All rows in one loop: exponentials take long, and several are under way at once.
        for eight in joint.as_chunks_mut::<LANES>().0 {
            let x = V::load(eight);
            x.exp().where_greater(x, V::splat(LEAST)).store(eight);
        }
        let mut counts = vec![0.0f32; k];
        for rows in joint.chunks_mut(LOGARITHM * k) {
            let mut totals = 1.0f64;
            for row in rows.chunks_exact_mut(k) {
                let (row, _) = row.as_chunks_mut::<LANES>();
                let mut sums = [0.0f32; LANES];
                row.iter().for_each(|v| (0..LANES).for_each(|l| sums[l] += v[l]));
                let total = fold(sums, |a, b| a + b);
                let part = 1.0 / total;
                let (counts, _) = counts.as_chunks_mut::<LANES>();
                for (v, c) in row.iter_mut().zip(counts) {
                    (0..LANES).for_each(|l| v[l] *= part);
                    (0..LANES).for_each(|l| c[l] += v[l]);
                }
                totals *= f64::from(total);
            }
            log_likelihood += totals.ln();
        }
        (log_likelihood, counts)
    }
}

/// Combines lanes by halves.
#[inline(always)]
fn fold(v: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> f32 {
    let four = [f(v[0], v[4]), f(v[1], v[5]), f(v[2], v[6]), f(v[3], v[7])];
    f(f(four[0], four[2]), f(four[1], four[3]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::simd::Level;

    #[test]
    fn responsibilities_of_all_levels_agree() {
        let (k, m) = (24, 50);
        let constants = vec![-1.5f32; k];
        let start: Vec<f32> = (0..m * k).map(|i| (i * 7919 % 701) as f32 * -0.11).collect();
        let at = |level| {
            let mut joint = start.clone();
            let softmax = Softmax { joint: &mut joint, constants: &constants };
            let (log_likelihood, counts) = simd::dispatch_at(level, softmax);
            (joint, log_likelihood, counts)
        };
        let all: Vec<_> = Level::available().into_iter().map(at).collect();
        for (joint, log_likelihood, _) in &all {
            assert!((log_likelihood - all[0].1).abs() < 1e-4);
            for (a, b) in joint.iter().zip(&all[0].0) {
                assert!((a - b).abs() <= 4e-7 * b.abs(), "{a} {b}");
            }
        }
        if let [_, avx2, avx512] = &all[..] {
            assert_eq!(avx2, avx512);
        }
    }

    #[test]
    fn responsibilities_sum_to_one_and_padding_gets_none() {
        let (k, m) = (16, 37);
        let mut constants = vec![0.5f32; k];
        constants[11..].fill(f32::MIN);
        let log = |i: usize| (i * 7919 % 501) as f32 * -0.1;
        let mut joint: Vec<f32> = (0..m * k).map(log).collect();
        let (log_likelihood, counts) = to_responsibilities(&mut joint, &constants);
        let mut exact = 0.0;
        for i in 0..m {
            let all: Vec<f64> = (0..11).map(|j| f64::from(log(i * k + j)).exp()).collect();
            let total: f64 = all.iter().sum();
            exact += total.ln() + 0.5;
            for (r, v) in joint[i * k..].iter().zip(&all) {
                assert!((f64::from(*r) - v / total).abs() < 1e-6);
            }
            assert_eq!(joint[i * k + 11..(i + 1) * k], [0.0; 5]);
        }
        assert!((log_likelihood - exact).abs() < 1e-4);
        assert!((counts.iter().sum::<f32>() - m as f32).abs() < 1e-4);
    }
}
