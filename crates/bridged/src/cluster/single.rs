//! One pass of expectation–maximisation in single precision: the sums of `moments` at several times
//! the speed, for data and components that single precision can tell apart.
//!
//! With x̃ = x − m and P the inverse deviations of a component, a log density is a constant less
//! ½ Σ (P x̃ − P μ̃)², summed for eight rows and eight components at a time; it is no difference of
//! large numbers. Responsibilities come from `softmax`, and one product gives the sums of a tile of
//! rows. Sums over tiles, and the log-likelihood, are in `f64`.
//!
//! A variance is the difference of Σ r x̃² and the square of a mean, numbers κ = (μ̃² + s²) / σ² times
//! its size (s² the variance of the column). So [`Single::new`] refuses components that are narrow
//! and far out, and the caller stays with `f64`.

use super::gaussian::Densities;
use super::moments::Moments;
use super::softmax::{LANES, to_responsibilities};
use bridged_math::MatrixRef;
use bridged_math::chunks::map_blocks;
use bridged_math::linalg::{Accum, View, product};

/// Rows whose densities are computed at once.
const ROWS: usize = 8;
/// Rows of a tile, whole [`ROWS`]: their features stay in cache, and so few are summed in `f32`.
const TILE: usize = 256;
/// The largest κ: a variance is then good to about 1e-5 of itself.
const LARGEST: f64 = 64.0;
/// Squares of centred rows neither overflow nor vanish if the mean variance is within these.
const VARIANCES: std::ops::Range<f64> = 1e-25..1e25;

/// A mixture with diagonal or spherical covariances, ready for a pass in single precision.
#[derive(Clone, Debug)]
pub(super) struct Single {
    k: usize,
    shift: Vec<f32>,     // (d)
    forms: Vec<Form>,    // (k / LANES, d)
    constants: Vec<f32>, // (k up to whole lanes); what fills up is no row's component
}

/// P and −P μ̃ of one column, for some components.
#[derive(Clone, Copy, Debug, Default)]
struct Form {
    scale: [f32; LANES],
    offset: [f32; LANES],
}

impl Single {
    /// `variances` are those of the columns. None if single precision is not enough.
    pub fn new(densities: &Densities, variances: &[f64]) -> Option<Self> {
        let (coefficients, constants, shift) = densities.diagonal()?;
        let (k, d) = (constants.len(), shift.len());
        let mean = variances.iter().sum::<f64>() / d as f64;
        if !VARIANCES.contains(&mean) || shift.iter().any(|&m| f64::from(m as f32) != m) {
            return None;
        }
        let padded = k.next_multiple_of(LANES);
        let mut forms = vec![Form::default(); padded / LANES * d];
        let mut single = vec![f32::MIN; padded];
        for (j, (row, constant)) in coefficients.chunks_exact(2 * d).zip(constants).enumerate() {
            let mut constant = *constant;
            for c in 0..d {
                let precision = -2.0 * row[d + c]; // 1/σ²
                let square = row[c] * row[c] / precision; // μ̃²/σ²
                let kappa = square + variances[c] * precision;
                if kappa > LARGEST || kappa.is_nan() {
                    return None;
                }
                constant += 0.5 * square;
                let form = &mut forms[j / LANES * d + c];
                form.scale[j % LANES] = precision.sqrt() as f32;
                form.offset[j % LANES] = (-row[c] / precision.sqrt()) as f32;
            }
            single[j] = constant as f32;
        }
        let shift = shift.iter().map(|&m| m as f32).collect();
        Some(Self { k, shift, forms, constants: single })
    }

    /// The sums over all rows, in parallel.
    pub fn moments(&self, x: MatrixRef<'_>) -> Moments {
        let (padded, width) = (self.constants.len(), 2 * x.cols());
        let parts = map_blocks(x.rows(), |rows| {
            let mut part = Moments::zeros(self.k, width);
            let mut features = vec![0.0f32; TILE * width];
            let mut joint = vec![0.0f32; TILE * padded];
            let mut sums = vec![0.0f32; self.k * width];
            for start in rows.clone().step_by(TILE) {
                let tile = x.slice(start..(start + TILE).min(rows.end));
                let m = tile.rows();
                self.fill(tile, &mut features, &mut joint);
                let joint = &mut joint[..m * padded];
                let (log_likelihood, counts) = to_responsibilities(joint, &self.constants);
                part.log_likelihood += log_likelihood;
                add(&mut part.counts, &counts);
                let responsibilities = View::with_stride(joint, m, self.k, padded).t();
                let features = View::new(&features, m, width);
                product(responsibilities, features, Accum::Replace, &mut sums);
                add(&mut part.sums, &sums);
            }
            part
        });
        Moments::total(parts, self.k, width)
    }

    /// [x̃, x̃²] of each row, (m, 2d), and its log densities less the constants, (m, padded k); both
    /// buffers have whole [`ROWS`].
    fn fill(&self, x: MatrixRef<'_>, features: &mut [f32], joint: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            #[target_feature(enable = "avx2,fma")]
            fn fill_fma(it: &Single, x: MatrixRef<'_>, features: &mut [f32], joint: &mut [f32]) {
                it.fill_with::<true>(x, features, joint);
            }
            // SAFETY: AVX2 and FMA were just found.
            return unsafe { fill_fma(self, x, features, joint) };
        }
        self.fill_with::<{ cfg!(target_arch = "aarch64") }>(x, features, joint);
    }

    #[inline(always)]
    fn fill_with<const FUSED: bool>(
        &self,
        x: MatrixRef<'_>,
        features: &mut [f32],
        joint: &mut [f32],
    ) {
        let d = x.cols();
        for (row, out) in x.iter_rows().zip(features.chunks_exact_mut(2 * d)) {
            let (linear, square) = out.split_at_mut(d);
            // Two loops vectorise where one of both does not.
            linear.iter_mut().zip(row).zip(&self.shift).for_each(|((l, v), m)| *l = v - m);
            square.iter_mut().zip(linear).for_each(|(s, l)| *s = *l * *l);
        }
        let used = x.rows().next_multiple_of(ROWS);
        let features = features[..used * 2 * d].chunks_exact(ROWS * 2 * d);
        for (rows, out) in features.zip(joint.chunks_exact_mut(ROWS * self.constants.len())) {
            for (group, forms) in self.forms.chunks_exact(d).enumerate() {
                let squares = squared_norms::<FUSED>(rows, forms);
                for (squares, out) in squares.iter().zip(out.chunks_exact_mut(self.constants.len()))
                {
                    let out = &mut out[group * LANES..(group + 1) * LANES];
                    out.iter_mut().zip(squares).for_each(|(o, s)| *o = -0.5 * s);
                }
            }
        }
    }
}

/// Σ (P x̃ − P μ̃)² of some rows for some components; the rows begin every 2d numbers.
#[inline(always)]
fn squared_norms<const FUSED: bool>(rows: &[f32], forms: &[Form]) -> [[f32; LANES]; ROWS] {
    let d = forms.len();
    let rows: [&[f32]; ROWS] = std::array::from_fn(|r| &rows[2 * r * d..(2 * r + 1) * d]);
    let mut sums = [[0.0f32; LANES]; ROWS];
    for (c, form) in forms.iter().enumerate() {
        for r in 0..ROWS {
            let v = rows[r][c];
            for l in 0..LANES {
                let t = multiply_add::<FUSED>(v, form.scale[l], form.offset[l]);
                sums[r][l] = multiply_add::<FUSED>(t, t, sums[r][l]);
            }
        }
    }
    sums
}

/// a b + c, in one instruction where there is one; elsewhere `mul_add` would be a slow call.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Adds what belongs to components; of the counts, the padding is at the end.
fn add(sums: &mut [f64], part: &[f32]) {
    sums.iter_mut().zip(part).for_each(|(s, &p)| *s += f64::from(p));
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::{Matrix, Seed};
    use proptest::prelude::*;
    use rand::RngExt;

    /// Rows, and a mixture whose components lie among them.
    fn mixture(
        n: usize,
        d: usize,
        k: usize,
        offset: f32,
        seed: u64,
    ) -> (Matrix, Densities, Vec<f64>) {
        let mut rng = Seed(seed).rng();
        let mut normal = || (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
        let centres = Matrix::from_fn(k, d, |_, _| normal());
        let x = Matrix::from_fn(n, d, |i, c| offset + centres.row(i % k)[c] + normal());
        let shift: Vec<f64> = x.view().mean_row().iter().map(|&m| f64::from(m as f32)).collect();
        let variances = vec![2.0; d];
        let means: Vec<f64> =
            centres.data().iter().map(|&c| f64::from(offset) + f64::from(c)).collect();
        let precisions: Vec<f64> =
            (0..k * d).map(|_| f64::from(0.7 + normal().abs() / 10.0)).collect();
        let weights = vec![-(k as f64).ln(); k];
        (x, Densities::new(&weights, &means, &precisions, &shift), variances)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn sums_agree_with_those_in_double_precision(
            n in 1usize..2000, d in 1usize..20, k in 1usize..20, far in 0u8..2, seed in 0u64..1000,
        ) {
            let (x, densities, variances) = mixture(n, d, k, 1e4 * f32::from(far), seed);
            let double = Moments::of_densities(x.view(), &densities, k, 2 * d, None);
            let single = Single::new(&densities, &variances).expect("wide components").moments(x.view());
            let scale = n as f64;
            prop_assert!((single.log_likelihood - double.log_likelihood).abs() < 1e-4 * scale);
            for (s, t) in single.counts.iter().zip(&double.counts) {
                prop_assert!((s - t).abs() < 1e-4 * scale, "{s} {t}");
            }
            for (s, t) in single.sums.iter().zip(&double.sums) {
                prop_assert!((s - t).abs() < 1e-3 * scale, "{s} {t}");
            }
        }
    }

    #[test]
    fn narrow_components_far_out_are_refused() {
        let refused = |mean: f64, precision: f64| {
            let densities = Densities::new(&[0.0], &[mean, 0.0], &[precision, 1.0], &[0.0, 0.0]);
            Single::new(&densities, &[1.0, 1.0]).is_none()
        };
        assert!(!refused(2.0, 1.0));
        assert!(refused(2.0, 10.0));
        assert!(refused(20.0, 1.0));
        assert!(refused(f64::NAN, 1.0));
        let full = Densities::new(&[0.0], &[0.0; 2], &[1.0, 0.0, 0.0, 1.0], &[0.0, 0.0]);
        assert!(Single::new(&full, &[1.0, 1.0]).is_none());
    }
}
