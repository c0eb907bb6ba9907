//! One pass of expectation–maximisation in single precision: the sums of `moments` at several times
//! the speed, for data and components that single precision can tell apart.
//!
//! With x̃ = x − m and P the inverse deviations of a component, a log density is a constant less
//! ½ Σ (P x̃ − P μ̃)², summed for eight rows and eight components at a time; it is no difference of
//! large numbers. Responsibilities come from `softmax`; features weighted by them are summed for some
//! components and columns at a time, which measures faster than a general product of as few rows.
//! Sums over tiles, and the log-likelihood, are in `f64`.
//!
//! A variance is the difference of Σ r x̃² and the square of a mean, numbers κ = (μ̃² + s²) / σ² times
//! its size (s² the variance of the column). So [`MixtureF32::has_good_moments`] refuses components that
//! are narrow and far out, and the caller stays with `f64`.

use super::gaussian::Densities;
use super::moments::Moments;
use super::softmax::to_responsibilities;
use bridged_math::MatrixRef;
use bridged_math::chunks::map_blocks;
use bridged_math::simd::{self, Kernel, LANES, Lanes, dispatch};

/// WeightedFeatures whose densities are computed at once.
const ROWS: usize = 8;
/// Features that are summed at once.
const WIDE: usize = 2 * LANES;
/// WeightedFeatures whose features are summed at once: these stay in the first cache for all components.
const DEPTH: usize = 32;
/// WeightedFeatures of a tile, whole [`ROWS`]: their features stay in cache, and no more than this many are summed in `f32`.
pub(crate) const TILE: usize = 256;
/// The largest κ: a variance is then good to about 1e-5 of itself.
const LARGEST: f64 = 64.0;
/// Squares of centred rows neither overflow nor vanish if the mean variance is within these.
const VARIANCES: std::ops::Range<f64> = 1e-25..1e25;

/// A mixture with diagonal or spherical covariances, ready for a pass in single precision.
#[derive(Clone, Debug)]
pub(crate) struct MixtureF32 {
    k: usize,
    shift: Vec<f32>,     // (d)
    forms: Vec<Form>,    // (k / LANES, d)
    constants: Vec<f32>, // (k up to whole lanes); what fills up is no row's component
    far: f32,            // the largest ‖P μ̃‖
}

/// Room for a tile.
struct Work {
    features: Vec<f32>,
    joint: Vec<f32>,
    sums: Vec<f32>,
}

/// P and −P μ̃ of one column, for some components.
#[derive(Clone, Copy, Debug, Default)]
struct Form {
    scale: [f32; LANES],
    offset: [f32; LANES],
}

impl MixtureF32 {
    /// None if a covariance is full or the numbers are beyond single precision.
    pub fn new(densities: &Densities) -> Option<Self> {
        let (coefficients, constants, shift) = densities.diagonal()?;
        let (k, d) = (constants.len(), shift.len());
        if shift.iter().any(|&m| f64::from(m as f32) != m) {
            return None;
        }
        let padded = k.next_multiple_of(LANES);
        let mut forms = vec![Form::default(); padded / LANES * d];
        let mut constants_f32 = vec![f32::MIN; padded];
        let mut far = 0.0f64;
        for (j, (row, constant)) in coefficients.chunks_exact(2 * d).zip(constants).enumerate() {
            let mut squares = 0.0; // Σ μ̃²/σ²
            for c in 0..d {
                let precision = -2.0 * row[d + c]; // 1/σ²
                squares += row[c] * row[c] / precision;
                let form = &mut forms[j / LANES * d + c];
                form.scale[j % LANES] = precision.sqrt() as f32;
                form.offset[j % LANES] = (-row[c] / precision.sqrt()) as f32;
            }
            constants_f32[j] = (constant + 0.5 * squares) as f32;
            far = far.max(squares);
        }
        let numbers = || forms.iter().flat_map(|f| f.scale.iter().chain(&f.offset));
        if !numbers().chain(&constants_f32).all(|v| v.is_finite()) {
            return None;
        }
        let shift = shift.iter().map(|&m| m as f32).collect();
        Some(Self { k, shift, forms, constants: constants_f32, far: far.sqrt() as f32 })
    }

    /// Whether moments of data whose columns have these variances are good enough.
    pub fn has_good_moments(&self, variances: &[f64]) -> bool {
        let d = variances.len();
        let mean = variances.iter().sum::<f64>() / d as f64;
        let kappa = |form: &Form, l: usize, variance: f64| {
            f64::from(form.offset[l]).powi(2) + variance * f64::from(form.scale[l]).powi(2)
        };
        let is_good = |(form, &variance): (&Form, &f64)| {
            (0..LANES).all(|l| kappa(form, l, variance) <= LARGEST)
        };
        VARIANCES.contains(&mean)
            && self.forms.chunks_exact(d).all(|forms| forms.iter().zip(variances).all(is_good))
    }

    /// The most likely component of each row, on the calling thread; returns the rows for which
    /// single precision cannot tell it.
    pub fn assign(&self, x: MatrixRef<'_>, labels: &mut [u32]) -> Vec<usize> {
        if self.k == 1 {
            labels.fill(0);
            return Vec::new();
        }
        let (padded, d) = (self.constants.len(), x.cols());
        let highest = self.constants[..self.k].iter().copied().fold(f32::MIN, f32::max);
        // How far a log density may be off: in t = P x̃ − P μ̃ by a few roundings of both terms, in
        // the sum of its squares by d more.
        let doubt = |log: f32| {
            let squares = 2.0 * (highest - log);
            let rounded = (d as f32 + 16.0) * squares + 8.0 * squares.sqrt() * self.far;
            f32::EPSILON * (rounded + highest.abs() + log.abs())
        };
        let mut features = vec![0.0f32; TILE * self.stride()];
        let mut joint = vec![0.0f32; TILE * padded];
        let mut open = Vec::new();
        for start in (0..x.rows()).step_by(TILE) {
            let tile = x.slice(start..(start + TILE).min(x.rows()));
            self.fill(tile, &mut features, &mut joint);
            let joint = &mut joint[..tile.rows() * padded];
            rank(joint, &self.constants, |i, largest, [first, second]| {
                labels[start + i] = largest as u32;
                let is_sure = first - second > doubt(first) + doubt(second);
                if !is_sure {
                    open.push(start + i);
                }
            });
        }
        open
    }

    /// The sums over all rows, in parallel.
    pub fn moments(&self, x: MatrixRef<'_>) -> Moments {
        let width = 2 * x.cols();
        let parts = map_blocks(x.rows(), |rows| {
            let mut part = Moments::zeros(self.k, width);
            let mut work = self.work();
            for start in rows.clone().step_by(TILE) {
                self.add_tile(x.slice(start..(start + TILE).min(rows.end)), &mut work, &mut part);
            }
            part
        });
        Moments::total(parts, self.k, width)
    }

    /// The sums over the rows of a tile.
    pub fn of_tile(&self, tile: MatrixRef<'_>) -> Moments {
        let mut one = Moments::zeros(self.k, 2 * tile.cols());
        self.add_tile(tile, &mut self.work(), &mut one);
        one
    }

    fn work(&self) -> Work {
        let stride = self.stride();
        Work {
            features: vec![0.0; TILE * stride],
            joint: vec![0.0; TILE * self.constants.len()],
            sums: vec![0.0; self.k * stride],
        }
    }

    fn add_tile(&self, tile: MatrixRef<'_>, work: &mut Work, part: &mut Moments) {
        let (padded, width, stride) = (self.constants.len(), 2 * tile.cols(), self.stride());
        let Work { features, joint, sums } = work;
        self.fill(tile, features, joint);
        let joint = &mut joint[..tile.rows() * padded];
        let (log_likelihood, counts) = to_responsibilities(joint, &self.constants);
        part.log_likelihood += log_likelihood;
        add(&mut part.counts, &counts);
        sums.fill(0.0);
        self.add_weighted(joint, features, sums);
        for (part, sums) in part.sums.chunks_exact_mut(width).zip(sums.chunks(stride)) {
            add(part, sums);
        }
    }

    /// From row to row of the features, [x̃, x̃²] and zeros up to a whole number of [`WIDE`].
    fn stride(&self) -> usize {
        (2 * self.shift.len()).next_multiple_of(WIDE)
    }

    /// [x̃, x̃²] of each row, (m, stride), and its log densities less the constants, (m, padded k); both
    /// buffers have whole [`ROWS`].
    fn fill(&self, x: MatrixRef<'_>, features: &mut [f32], joint: &mut [f32]) {
        dispatch(Fill { mixture: self, x, features, joint });
    }

    /// Adds Rᵀ F to `sums` (k, stride), for responsibilities R (m, padded k) and features F.
    fn add_weighted(&self, responsibilities: &[f32], features: &[f32], sums: &mut [f32]) {
        dispatch(AddWeighted { mixture: self, responsibilities, features, sums });
    }

    #[inline(always)]
    fn add_weighted_with<V: Lanes>(&self, r: &[f32], features: &[f32], sums: &mut [f32]) {
        let (padded, stride) = (self.constants.len(), self.stride());
        for (r, features) in r.chunks(DEPTH * padded).zip(features.chunks(DEPTH * stride)) {
            let rows = WeightedFeatures { r, padded, features, stride };
            let mut j = 0;
            while j < self.k {
                let (left, sums) = (self.k - j, &mut sums[j * stride..]);
                // As even as can be: fewer sums leave the multipliers waiting.
                j += match left.div_ceil(left.div_ceil(6)) {
                    6 => rows.add::<V, 6>(j, sums),
                    5 => rows.add::<V, 5>(j, sums),
                    4 => rows.add::<V, 4>(j, sums),
                    3 => rows.add::<V, 3>(j, sums),
                    2 => rows.add::<V, 2>(j, sums),
                    _ => rows.add::<V, 1>(j, sums),
                };
            }
        }
    }

    #[inline(always)]
    fn fill_with<V: Lanes>(&self, x: MatrixRef<'_>, features: &mut [f32], joint: &mut [f32]) {
        let (d, stride) = (x.cols(), self.stride());
        let features = features.chunks_exact_mut(ROWS * stride);
        let joint = joint.chunks_exact_mut(ROWS * self.constants.len());
        // A few rows at a time, so that the next ones come from memory while these are worked on.
        for ((x, rows), out) in x.data().chunks(ROWS * d).zip(features).zip(joint) {
            for (row, out) in x.chunks_exact(d).zip(rows.chunks_exact_mut(stride)) {
                let (linear, square) = out[..2 * d].split_at_mut(d);
                // Two loops vectorise where one of both does not.
                linear.iter_mut().zip(row).zip(&self.shift).for_each(|((l, v), m)| *l = v - m);
                square.iter_mut().zip(linear).for_each(|(s, l)| *s = *l * *l);
            }
            for (group, forms) in self.forms.chunks_exact(d).enumerate() {
                let squares = squared_norms::<V>(rows, stride, forms);
                for (squares, out) in squares.iter().zip(out.chunks_exact_mut(self.constants.len()))
                {
                    let out = &mut out[group * LANES..(group + 1) * LANES];
                    out.iter_mut().zip(squares).for_each(|(o, s)| *o = -0.5 * s);
                }
            }
        }
    }
}

/// [`MixtureF32::fill`] as a kernel. AVX2 and AVX-512 give the same bytes, plain rounds more often.
struct Fill<'a> {
    mixture: &'a MixtureF32,
    x: MatrixRef<'a>,
    features: &'a mut [f32],
    joint: &'a mut [f32],
}

impl Kernel for Fill<'_> {
    type Out = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        self.mixture.fill_with::<V>(self.x, self.features, self.joint);
    }
}

/// [`MixtureF32::add_weighted`] as a kernel, with bytes as those of [`Fill`].
struct AddWeighted<'a> {
    mixture: &'a MixtureF32,
    responsibilities: &'a [f32],
    features: &'a [f32],
    sums: &'a mut [f32],
}

impl Kernel for AddWeighted<'_> {
    type Out = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        self.mixture.add_weighted_with::<V>(self.responsibilities, self.features, self.sums);
    }
}

/// Σ (P x̃ − P μ̃)² of some rows for some components.
#[inline(always)]
fn squared_norms<V: Lanes>(rows: &[f32], stride: usize, forms: &[Form]) -> [[f32; LANES]; ROWS] {
    let rows: [&[f32]; ROWS] = std::array::from_fn(|r| &rows[r * stride..][..forms.len()]);
    let mut sums = [[0.0f32; LANES]; ROWS];
    for (c, form) in forms.iter().enumerate() {
        for r in 0..ROWS {
            let v = rows[r][c];
            for l in 0..LANES {
                let t = V::mul_add_one(v, form.scale[l], form.offset[l]);
                sums[r][l] = V::mul_add_one(t, t, sums[r][l]);
            }
        }
    }
    sums
}

/// Responsibilities and features of some rows.
#[derive(Clone, Copy)]
struct WeightedFeatures<'a> {
    r: &'a [f32],
    padded: usize,
    features: &'a [f32],
    stride: usize,
}

impl WeightedFeatures<'_> {
    /// Adds the features, weighted for C components from `j` on; returns C.
    #[inline(always)]
    fn add<V: Lanes, const C: usize>(self, j: usize, sums: &mut [f32]) -> usize {
        for at in (0..self.stride).step_by(WIDE) {
            let mut wide = [[0.0f32; WIDE]; C];
            for c in 0..C {
                wide[c].copy_from_slice(&sums[c * self.stride + at..][..WIDE]);
            }
            let rows =
                self.r.chunks_exact(self.padded).zip(self.features.chunks_exact(self.stride));
            for (r, features) in rows {
                let features: &[f32; WIDE] = features[at..at + WIDE].try_into().expect("this many");
                let r: &[f32; C] = r[j..j + C].try_into().expect("this many");
                for c in 0..C {
                    for l in 0..WIDE {
                        wide[c][l] = V::mul_add_one(r[c], features[l], wide[c][l]);
                    }
                }
            }
            for c in 0..C {
                sums[c * self.stride + at..][..WIDE].copy_from_slice(&wide[c]);
            }
        }
        C
    }
}

/// Adds the constants to every row, and calls `f(row, position of its largest number, the two
/// largest)`; the same bytes at every level.
fn rank(joint: &mut [f32], constants: &[f32], mut f: impl FnMut(usize, usize, [f32; 2])) {
    simd::vectorize(
        #[inline(always)]
        || {
            for (i, row) in joint.chunks_exact_mut(constants.len()).enumerate() {
                let largest = two_largest(row, constants);
                let position = row.iter().position(|&v| v == largest[0]);
                f(i, position.unwrap_or(0), largest);
            }
        },
    );
}

#[inline(always)]
fn two_largest(row: &mut [f32], constants: &[f32]) -> [f32; 2] {
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let lesser = |a: f32, b: f32| if a > b { b } else { a };
    let (mut first, mut second) = ([f32::MIN; LANES], [f32::MIN; LANES]);
    let (row, constants) = (row.as_chunks_mut::<LANES>().0, constants.as_chunks::<LANES>().0);
    for (v, c) in row.iter_mut().zip(constants) {
        (0..LANES).for_each(|l| v[l] += c[l]);
        (0..LANES).for_each(|l| second[l] = larger(second[l], lesser(v[l], first[l])));
        (0..LANES).for_each(|l| first[l] = larger(v[l], first[l]));
    }
    for half in [4, 2, 1] {
        for l in 0..half {
            let next = larger(second[l], second[l + half]);
            second[l] = larger(next, lesser(first[l], first[l + half]));
            first[l] = larger(first[l], first[l + half]);
        }
    }
    [first[0], second[0]]
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

    /// WeightedFeatures, and a mixture whose components lie among them.
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
            let single = MixtureF32::new(&densities).unwrap();
            prop_assert!(single.has_good_moments(&variances));
            let single = single.moments(x.view());
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn rows_are_assigned_as_in_double_precision_or_left_open(
            n in 1usize..600, d in 1usize..40, k in 1usize..20, far in 0u8..2, seed in 0u64..1000,
        ) {
            let (x, densities, _) = mixture(n, d, k, 1e4 * f32::from(far), seed);
            let mut labels = vec![u32::MAX; n];
            let open = MixtureF32::new(&densities).unwrap().assign(x.view(), &mut labels);
            prop_assert!(open.len() <= 2 + n / 50, "{} of {n} are open", open.len());
            densities.for_each_tile(x.view(), |first, tile| {
                for (i, log) in tile.log_joint.chunks_exact(k).enumerate() {
                    let most = (0..k).max_by(|&a, &b| log[a].total_cmp(&log[b])).unwrap();
                    assert!(labels[first + i] == most as u32 || open.contains(&(first + i)));
                }
            });
        }
    }

    #[test]
    fn equal_components_and_rows_beyond_all_numbers_are_left_open() {
        let densities = Densities::new(&[-0.7, -0.7], &[1.0, 1.0], &[1.0, 1.0], &[0.0]);
        let x = Matrix::from_rows(&[[1.0], [3e38], [-5.0]]);
        let open = MixtureF32::new(&densities).unwrap().assign(x.view(), &mut [0; 3]);
        assert_eq!(open, [0, 1, 2]);
    }

    #[test]
    fn narrow_components_far_out_are_refused() {
        let refused = |mean: f64, precision: f64| {
            let densities = Densities::new(&[0.0], &[mean, 0.0], &[precision, 1.0], &[0.0, 0.0]);
            MixtureF32::new(&densities).is_none_or(|s| !s.has_good_moments(&[1.0, 1.0]))
        };
        assert!(!refused(2.0, 1.0));
        assert!(refused(2.0, 10.0));
        assert!(refused(20.0, 1.0));
        assert!(refused(f64::NAN, 1.0));
        let full = Densities::new(&[0.0], &[0.0; 2], &[1.0, 0.0, 0.0, 1.0], &[0.0, 0.0]);
        assert!(MixtureF32::new(&full).is_none());
    }
}
