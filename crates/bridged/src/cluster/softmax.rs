//! Responsibilities in single precision: exponentials of log densities, scaled to sum to one.
//!
//! ```text
//! r_ij = exp(l_ij − max_j l_ij) / Σ_l exp(l_il − max_j l_ij)
//! ```
//!
//! Eight components of a row are worked on at once, so rows are padded to whole eights.

/// Components that are worked on at once.
pub(super) const LANES: usize = 8;
/// Rows whose logarithms are taken together: a product of so many sums of k does not overflow.
const LOGARITHM: usize = 16;

/// Replaces log joint densities without their constants, (m, constants), by responsibilities;
/// returns Σ log p(x) and the sum of the responsibilities.
pub(super) fn to_responsibilities(joint: &mut [f32], constants: &[f32]) -> (f64, Vec<f32>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        #[target_feature(enable = "avx2,fma")]
        fn respond_fma(joint: &mut [f32], constants: &[f32]) -> (f64, Vec<f32>) {
            respond::<true>(joint, constants)
        }
        // SAFETY: AVX2 and FMA were just found.
        return unsafe { respond_fma(joint, constants) };
    }
    respond::<{ cfg!(target_arch = "aarch64") }>(joint, constants)
}

#[inline(always)]
fn respond<const FUSED: bool>(joint: &mut [f32], constants: &[f32]) -> (f64, Vec<f32>) {
    let k = constants.len();
    let mut log_likelihood = 0.0;
    let (constants, _) = constants.as_chunks::<LANES>();
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
    // All rows in one loop, which is what vectorises best.
    joint.iter_mut().for_each(|v| *v = exp::<FUSED>(*v));
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

/// Combines lanes by halves.
#[inline(always)]
fn fold(v: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> f32 {
    let four = [f(v[0], v[4]), f(v[1], v[5]), f(v[2], v[6]), f(v[3], v[7])];
    f(f(four[0], four[2]), f(four[1], four[3]))
}

/// eˣ for x ≤ 0, to about 1e-7 of itself, and 0 where it could not be seen beside 1: eˣ = 2ⁿ eʳ
/// with |r| ≤ ½ ln 2 and a polynomial for eʳ (Cephes, Moshier 1992). No branch, so it vectorises.
#[inline(always)]
fn exp<const FUSED: bool>(x: f32) -> f32 {
    const LEAST: f32 = -60.0;
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4]; // the first has few digits
    const COEFFICIENTS: [f32; 5] = [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³: adding it leaves a whole number in the last bits
    let within = if x > LEAST { x } else { LEAST };
    let shifted = multiply_add::<FUSED>(within, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = multiply_add::<FUSED>(-n, LN_2[0], within);
    let r = multiply_add::<FUSED>(-n, LN_2[1], r);
    let mut p = 1.987_569_1e-4;
    for c in COEFFICIENTS {
        p = multiply_add::<FUSED>(p, r, c);
    }
    let power = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    let v = (multiply_add::<FUSED>(p * r, r, r) + 1.0) * f32::from_bits(power);
    if x > LEAST { v } else { 0.0 }
}

/// a b + c, in one instruction where there is one; elsewhere `mul_add` would be a slow call.
#[inline(always)]
pub(super) fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_good_to_single_precision() {
        for exp in [exp::<false>, exp::<true>] {
            for i in 0..600_000 {
                let x = i as f32 * -1e-4;
                let exact = f64::from(x).exp();
                assert!((f64::from(exp(x)) - exact).abs() <= 2e-7 * exact, "{x}");
            }
            assert_eq!(exp(0.0), 1.0);
            assert_eq!([exp(-60.1), exp(f32::MIN), exp(f32::NEG_INFINITY)], [0.0; 3]);
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
