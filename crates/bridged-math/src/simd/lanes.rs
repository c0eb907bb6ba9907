//! Eight numbers at a time, and functions of them that are not instructions.
//!
//! A vector has eight lanes at every level. At [`Avx512`](super::Level::Avx512) that is half a
//! register; in return a sum over lanes has the same order, and so the same bytes, as with AVX2.
//!
//! | function | how | error |
//! |---|---|---|
//! | [`exp`](Lanes::exp) | eˣ = 2ⁿ eʳ, \|r\| ≤ ½ ln 2, a polynomial for eʳ (Cephes, Moshier 1992) | 2e-7 of the result |
//! | [`sigmoid`](Lanes::sigmoid) | 1 / (1 + e⁻ˣ) | 5e-7 of the result |
//! | [`erf`](Lanes::erf) | x P(x²) / Q(x²) on [−4, 4] (the rational fit of Eigen) | 3e-7 |

/// Numbers in a vector.
pub const LANES: usize = 8;

/// Nobody else makes vectors: a kernel that holds one was entered by [`dispatch`](super::dispatch),
/// so the processor has the instructions.
pub(super) mod sealed {
    pub trait Sealed {}
}

/// A vector of [`LANES`] numbers.
pub trait Lanes: Copy + sealed::Sealed {
    /// Whether [`mul_add`](Lanes::mul_add) rounds once.
    const FUSED: bool;

    /// The same number in every lane.
    fn splat(v: f32) -> Self;
    /// Reads eight numbers.
    fn load(from: &[f32; LANES]) -> Self;
    /// Writes eight numbers.
    fn store(self, to: &mut [f32; LANES]);
    /// Reads the first numbers of a slice; lanes beyond its end are 0.
    fn load_part(from: &[f32]) -> Self;
    /// N vectors that begin `stride` numbers apart.
    ///
    /// # Panics
    /// If the slice is too short.
    fn load_strided<const N: usize>(from: &[f32], stride: usize) -> [Self; N];
    /// self · b + c, with one rounding if [`FUSED`](Lanes::FUSED).
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// self + b.
    fn add(self, b: Self) -> Self;
    /// self − b.
    fn sub(self, b: Self) -> Self;
    /// self · b.
    fn mul(self, b: Self) -> Self;
    /// self / b.
    fn div(self, b: Self) -> Self;
    /// The larger of each two; `b` if either is NaN.
    fn max(self, b: Self) -> Self;
    /// The smaller of each two; `b` if either is NaN.
    fn min(self, b: Self) -> Self;
    /// `self` where `a > b`, otherwise 0.
    fn where_greater(self, a: Self, b: Self) -> Self;
    /// A bit for each lane in which both are equal, the first lane lowest.
    fn equal(self, b: Self) -> u32;
    /// 2ⁿ, n the last bits of self: a whole number between −126 and 127 plus 1.5 · 2²³.
    fn power_of_two(self) -> Self;
    /// For each of four vectors ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)) over its lanes.
    fn sums(four: [Self; 4]) -> [f32; 4];
    /// ((0 + 4) + (1 + 5)) + ((2 + 6) + (3 + 7)) over the lanes.
    fn sum(self) -> f32;
    /// The two least numbers of both vectors, given the least and the next of each lane.
    fn two_least(least: Self, next: Self) -> (f32, f32);

    /// Writes as many numbers as the slice holds, at most eight.
    #[inline(always)]
    fn store_part(self, to: &mut [f32]) {
        match to.first_chunk_mut() {
            Some(eight) => self.store(eight),
            None => {
                let mut all = [0.0; LANES];
                self.store(&mut all);
                let len = to.len();
                to.copy_from_slice(&all[..len]);
            }
        }
    }

    /// a · b + c of single numbers, rounded as [`mul_add`](Lanes::mul_add) does.
    #[inline(always)]
    fn mul_add_one(a: f32, b: f32, c: f32) -> f32 {
        // Without the instruction, `f32::mul_add` would be a slow call.
        if Self::FUSED { a.mul_add(b, c) } else { a * b + c }
    }

    /// A polynomial in x, highest power first.
    #[inline(always)]
    fn polynomial<const N: usize>(self, coefficients: [f32; N]) -> Self {
        let mut sum = Self::splat(coefficients[0]);
        for c in &coefficients[1..] {
            sum = sum.mul_add(self, Self::splat(*c));
        }
        sum
    }

    /// eˣ, of x cut to [−87, 88].
    #[inline(always)]
    fn exp(self) -> Self {
        const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³: adding it leaves a whole number in the last bits
        const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4]; // the first has few digits
        let x = self.max(Self::splat(-87.0)).min(Self::splat(88.0));
        let shifted = x.mul_add(Self::splat(std::f32::consts::LOG2_E), Self::splat(ROUND));
        let n = shifted.sub(Self::splat(ROUND));
        let r = n.mul_add(Self::splat(-LN_2[0]), x);
        let r = n.mul_add(Self::splat(-LN_2[1]), r);
        let p = r.polynomial([
            1.987_569_1e-4,
            1.398_2e-3,
            8.333_452e-3,
            4.166_579_6e-2,
            1.666_666_5e-1,
            0.5,
        ]);
        let tail = p.mul(r).mul_add(r, r);
        tail.add(Self::splat(1.0)).mul(shifted.power_of_two())
    }

    /// 1 / (1 + e⁻ˣ).
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let one = Self::splat(1.0);
        one.div(self.mul(Self::splat(-1.0)).exp().add(one))
    }

    /// The error function.
    #[inline(always)]
    fn erf(self) -> Self {
        let x = self.max(Self::splat(-4.0)).min(Self::splat(4.0));
        let square = x.mul(x);
        let p = square.polynomial([
            -2.726_142_3e-10,
            2.770_681_4e-8,
            -2.101_024e-6,
            -5.692_506_3e-5,
            -7.349_906_4e-4,
            -2.954_6e-3,
            -1.609_603_3e-2,
        ]);
        let q = square.polynomial([
            -1.456_607_2e-5,
            -2.133_740_6e-4,
            -1.682_827e-3,
            -7.373_329_3e-3,
            -1.426_473_9e-2,
        ]);
        x.mul(p).div(q)
    }
}

/// Eight lanes in plain Rust, which the compiler turns into the vectors of the target.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; LANES]);

impl Portable {
    #[inline(always)]
    fn zip(self, b: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|l| f(self.0[l], b.0[l])))
    }
}

impl sealed::Sealed for Portable {}

impl Lanes for Portable {
    const FUSED: bool = cfg!(target_arch = "aarch64");

    #[inline(always)]
    fn splat(v: f32) -> Self {
        Self([v; LANES])
    }
    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        Self(*from)
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        *to = self.0;
    }
    #[inline(always)]
    fn load_part(from: &[f32]) -> Self {
        match from.first_chunk() {
            Some(eight) => Self(*eight),
            None => Self(std::array::from_fn(|l| from.get(l).copied().unwrap_or(0.0))),
        }
    }
    #[inline(always)]
    fn load_strided<const N: usize>(from: &[f32], stride: usize) -> [Self; N] {
        std::array::from_fn(|n| Self::load(from[n * stride..].first_chunk().expect("eight more")))
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Self(std::array::from_fn(|l| Self::mul_add_one(self.0[l], b.0[l], c.0[l])))
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        self.zip(b, |x, y| x + y)
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        self.zip(b, |x, y| x - y)
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        self.zip(b, |x, y| x * y)
    }
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        self.zip(b, |x, y| x / y)
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        self.zip(b, |x, y| if x > y { x } else { y })
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        self.zip(b, |x, y| if x < y { x } else { y })
    }
    #[inline(always)]
    fn where_greater(self, a: Self, b: Self) -> Self {
        Self(std::array::from_fn(|l| if a.0[l] > b.0[l] { self.0[l] } else { 0.0 }))
    }
    #[inline(always)]
    fn equal(self, b: Self) -> u32 {
        (0..LANES).fold(0, |mask, l| mask | u32::from(self.0[l] == b.0[l]) << l)
    }
    #[inline(always)]
    fn power_of_two(self) -> Self {
        // The exponent bits begin at 23; what lies above the whole number leaves on the left.
        Self(self.0.map(|n| f32::from_bits(n.to_bits().wrapping_add(127) << 23)))
    }
    #[inline(always)]
    fn sums(four: [Self; 4]) -> [f32; 4] {
        four.map(|Self(v)| ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        let v = self.0;
        ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]))
    }
    #[inline(always)]
    fn two_least(Self(mut least): Self, Self(mut next): Self) -> (f32, f32) {
        let lesser = |a: f32, b: f32| if a < b { a } else { b };
        let greater = |a: f32, b: f32| if a > b { a } else { b };
        for half in [4, 2, 1] {
            for l in 0..half {
                let between = greater(least[l], least[l + half]);
                next[l] = lesser(lesser(next[l], next[l + half]), between);
                least[l] = lesser(least[l], least[l + half]);
            }
        }
        (least[0], next[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, Level, dispatch_at};

    /// eˣ, erf x and σ(x) of eight numbers.
    struct Functions([f32; LANES]);

    impl Kernel for Functions {
        type Out = [[f32; LANES]; 3];
        #[inline(always)]
        fn run<V: Lanes>(self) -> Self::Out {
            let x = V::load(&self.0);
            let mut out = [[0.0; LANES]; 3];
            x.exp().store(&mut out[0]);
            x.erf().store(&mut out[1]);
            x.sigmoid().store(&mut out[2]);
            out
        }
    }

    /// erf by its Maclaurin series, which is exact enough below 3.
    fn erf(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..80 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn exponentials_are_good_to_single_precision_at_every_level() {
        for level in Level::available() {
            for i in (-870_000..880_000).step_by(LANES) {
                let x = std::array::from_fn(|l| (i + l as i32) as f32 * 1e-4);
                let [found, ..] = dispatch_at(level, Functions(x));
                for (x, found) in x.into_iter().zip(found) {
                    let exact = f64::from(x).exp();
                    assert!((f64::from(found) - exact).abs() <= 2e-7 * exact, "{level} {x}");
                }
            }
            assert_eq!(dispatch_at(level, Functions([0.0; LANES]))[0], [1.0; LANES]);
        }
    }

    #[test]
    fn the_error_function_and_the_sigmoid_agree_with_double_precision_at_every_level() {
        for level in Level::available() {
            for step in -600..600 {
                let x = step as f32 / 200.0;
                let [_, f, s] = dispatch_at(level, Functions([x; LANES])).map(|v| f64::from(v[5]));
                let x = f64::from(x);
                assert!((f - erf(x)).abs() < 3e-7, "erf {x}: {f}");
                assert!((s * (1.0 + (-x).exp()) - 1.0).abs() < 5e-7, "sigmoid {x}: {s}");
            }
        }
    }

    #[test]
    fn far_numbers_stay_finite() {
        for level in Level::available() {
            let [e, f, s] =
                dispatch_at(level, Functions([-1e30, -100.0, -87.5, -0.0, 0.0, 87.5, 100.0, 1e30]));
            assert!(e.iter().chain(&f).chain(&s).all(|v| v.is_finite()), "{e:?} {f:?} {s:?}");
            assert!(f[0] >= -1.000_001 && f[7] <= 1.000_001 && s[0] < 1e-30 && s[7] == 1.0);
        }
    }

    /// What every operation that is not tested above does with two vectors.
    struct Operations<'a> {
        a: &'a [f32],
        b: [f32; LANES],
    }

    impl Kernel for Operations<'_> {
        type Out = Vec<f32>;
        #[inline(always)]
        fn run<V: Lanes>(self) -> Vec<f32> {
            let (a, b) = (V::load_part(self.a), V::load(&self.b));
            let mut out = Vec::new();
            let mut put = |v: V| {
                let mut eight = [0.0; LANES];
                v.store(&mut eight);
                out.extend(eight);
            };
            [a.add(b), a.sub(b), a.mul(b), a.div(b), a.max(b), a.min(b)]
                .into_iter()
                .for_each(&mut put);
            put(b.where_greater(a, b));
            V::load_strided::<3>(&[self.b, self.b].concat(), 4).into_iter().for_each(&mut put);
            let mut part = [f32::MAX; 5];
            b.store_part(&mut part);
            out.extend(part);
            out.extend(V::sums([a, b, a.add(b), b.sub(a)]));
            let two = V::two_least(a.min(b), a.max(b));
            out.extend([a.sum(), two.0, two.1, a.equal(b) as f32]);
            out
        }
    }

    #[test]
    fn operations_give_the_same_bytes_at_every_level() {
        let b = [0.5, -3.0, 7.25, 4.0, 1e-3, 2.0, -8.0, 3.0];
        for len in 0..=LANES {
            let a: Vec<f32> = [0.5, 3.0, 7.0, -0.0, 1e3, 2.0, 8.0, 5.5][..len].to_vec();
            let at = |level| dispatch_at(level, Operations { a: &a, b });
            let plain: Vec<u32> = at(Level::Plain).iter().map(|v| v.to_bits()).collect();
            for level in Level::available() {
                let found: Vec<u32> = at(level).iter().map(|v| v.to_bits()).collect();
                assert_eq!(found, plain, "{level} {len}");
            }
        }
    }
}
