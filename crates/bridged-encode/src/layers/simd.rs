//! Eight numbers at a time: one kernel, compiled for AVX2 with FMA and for any machine.
//!
//! A kernel is written once over [`Lanes`] and [`dispatch`] picks the version that this processor runs. The two differ
//! in their last bits, because only one of them multiplies and adds with a single rounding; on one machine the choice
//! never changes. Kernels are plain loops and `#[inline(always)]` functions: a closure handed to the standard library
//! would be compiled without the wide vectors.
//!
//! eˣ = 2ⁿ eʳ with n = round(x / ln 2) and a polynomial of degree 7 for eʳ (Cephes `expf`, relative error 1e-7);
//! erf x = x P(x²) / Q(x²) on [−4, 4] (the rational fit of Eigen, absolute error 2e-7).

/// Numbers in a vector.
pub const LANES: usize = 8;

/// A vector of [`LANES`] numbers.
pub trait Lanes: Copy {
    /// The same number in every lane.
    fn splat(v: f32) -> Self;
    /// Reads eight numbers.
    ///
    /// # Safety
    /// Eight numbers must be readable from `from`.
    unsafe fn load(from: *const f32) -> Self;
    /// Writes eight numbers.
    ///
    /// # Safety
    /// Eight numbers must be writable at `to`.
    unsafe fn store(self, to: *mut f32);
    /// self · b + c.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// self + b.
    fn add(self, b: Self) -> Self;
    /// self · b.
    fn mul(self, b: Self) -> Self;
    /// self / b.
    fn div(self, b: Self) -> Self;
    /// The larger of each two.
    fn max(self, b: Self) -> Self;
    /// The smaller of each two.
    fn min(self, b: Self) -> Self;
    /// The nearest integers, of numbers below 2²².
    fn round(self) -> Self;
    /// 2ⁿ of integers between −126 and 127.
    fn power_of_two(self) -> Self;

    /// The first numbers of a slice; lanes beyond its end are 0.
    #[inline(always)]
    fn load_part(from: &[f32]) -> Self {
        if from.len() >= LANES {
            // SAFETY: the slice holds eight numbers.
            return unsafe { Self::load(from.as_ptr()) };
        }
        let mut all = [0.0; LANES];
        all[..from.len()].copy_from_slice(from);
        // SAFETY: the array holds eight numbers.
        unsafe { Self::load(all.as_ptr()) }
    }

    /// Writes as many numbers as the slice holds, at most eight.
    #[inline(always)]
    fn store_part(self, to: &mut [f32]) {
        if to.len() >= LANES {
            // SAFETY: the slice holds eight numbers.
            return unsafe { self.store(to.as_mut_ptr()) };
        }
        let mut all = [0.0; LANES];
        // SAFETY: the array holds eight numbers.
        unsafe { self.store(all.as_mut_ptr()) };
        let len = to.len();
        to.copy_from_slice(&all[..len]);
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
        let x = self.max(Self::splat(-87.0)).min(Self::splat(88.0));
        let n = x.mul(Self::splat(std::f32::consts::LOG2_E)).round();
        let r = n.mul_add(Self::splat(-0.693_359_4), x);
        let r = n.mul_add(Self::splat(2.121_944_4e-4), r);
        let p = r.polynomial([
            1.987_569_1e-4,
            1.398_2e-3,
            8.333_452e-3,
            4.166_579_6e-2,
            1.666_666_5e-1,
            0.5,
        ]);
        p.mul_add(r.mul(r), r.add(Self::splat(1.0))).mul(n.power_of_two())
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

/// Something to compute with whatever vectors the machine has.
pub trait Kernel {
    /// What comes out.
    type Out;
    /// The computation; mark it `#[inline(always)]`, so that it is compiled for each kind of vector.
    fn run<V: Lanes>(self) -> Self::Out;
}

/// Runs a kernel with the widest vectors that this processor has.
pub fn dispatch<K: Kernel>(kernel: K) -> K::Out {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both features.
        return unsafe { avx2::run(kernel) };
    }
    kernel.run::<Portable>()
}

/// Eight lanes in plain Rust, which the compiler turns into the vectors of the target.
#[derive(Clone, Copy)]
struct Portable([f32; LANES]);

impl Portable {
    #[inline(always)]
    fn zip(self, b: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], b.0[i])))
    }
}

impl Lanes for Portable {
    #[inline(always)]
    fn splat(v: f32) -> Self {
        Self([v; LANES])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller vouches for eight numbers; an array of them needs no more than their alignment.
        Self(unsafe { *from.cast() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as above.
        unsafe { *to.cast() = self.0 }
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.mul(b).add(c)
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        self.zip(b, |x, y| x + y)
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
    fn round(self) -> Self {
        const SHIFT: f32 = 12_582_912.0; // 1.5 · 2²³: the next sum has no room for a fraction
        Self(self.0.map(|x| (x + SHIFT) - SHIFT))
    }
    #[inline(always)]
    fn power_of_two(self) -> Self {
        Self(self.0.map(|n| f32::from_bits(((n as i32 + 127) << 23) as u32)))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Kernel, Lanes};
    use std::arch::x86_64::*;

    /// Compiles a kernel for AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub fn run<K: Kernel>(kernel: K) -> K::Out {
        kernel.run::<Avx2>()
    }

    /// One register. Only [`run`] names this type, and only a processor that has it gets there.
    #[derive(Clone, Copy)]
    pub struct Avx2(__m256);

    macro_rules! lanewise {
        ($($name:ident = $intrinsic:ident),*) => {$(
            #[inline(always)]
            fn $name(self, b: Self) -> Self {
                // SAFETY: `run` was entered, so the processor has AVX2.
                Self(unsafe { $intrinsic(self.0, b.0) })
            }
        )*};
    }

    // SAFETY of every block below: `run` was entered, so the processor has AVX2 and FMA.
    impl Lanes for Avx2 {
        lanewise!(
            add = _mm256_add_ps,
            mul = _mm256_mul_ps,
            div = _mm256_div_ps,
            max = _mm256_max_ps,
            min = _mm256_min_ps
        );
        #[inline(always)]
        fn splat(v: f32) -> Self {
            Self(unsafe { _mm256_set1_ps(v) })
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            Self(unsafe { _mm256_loadu_ps(from) })
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { _mm256_storeu_ps(to, self.0) }
        }
        #[inline(always)]
        fn mul_add(self, b: Self, c: Self) -> Self {
            Self(unsafe { _mm256_fmadd_ps(self.0, b.0, c.0) })
        }
        #[inline(always)]
        fn round(self) -> Self {
            Self(unsafe {
                _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0)
            })
        }
        #[inline(always)]
        fn power_of_two(self) -> Self {
            Self(unsafe {
                let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(self.0), _mm256_set1_epi32(127));
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// eˣ, erf x and σ(x) of eight numbers.
    struct Functions([f32; LANES]);

    impl Kernel for Functions {
        type Out = [[f32; LANES]; 3];
        #[inline(always)]
        fn run<V: Lanes>(self) -> Self::Out {
            let x = V::load_part(&self.0);
            let mut out = [[0.0; LANES]; 3];
            x.exp().store_part(&mut out[0]);
            x.erf().store_part(&mut out[1]);
            x.sigmoid().store_part(&mut out[2]);
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
    fn exponential_error_function_and_sigmoid_agree_with_double_precision() {
        for version in [dispatch::<Functions>, |k: Functions| k.run::<Portable>()] {
            for step in -600..600 {
                let x = step as f32 / 200.0;
                let [e, f, s] = version(Functions([x; LANES])).map(|lanes| f64::from(lanes[5]));
                let x = f64::from(x);
                assert!((e / x.exp() - 1.0).abs() < 3e-7, "exp {x}: {e}");
                assert!((f - erf(x)).abs() < 3e-7, "erf {x}: {f}");
                assert!((s * (1.0 + (-x).exp()) - 1.0).abs() < 5e-7, "sigmoid {x}: {s}");
            }
        }
    }

    #[test]
    fn far_numbers_stay_finite() {
        for version in [dispatch::<Functions>, |k: Functions| k.run::<Portable>()] {
            let [e, f, s] =
                version(Functions([-1e30, -100.0, -87.5, -0.0, 0.0, 87.5, 100.0, 1e30]));
            assert!(e.iter().chain(&f).chain(&s).all(|v| v.is_finite()), "{e:?} {f:?} {s:?}");
            assert!(f[0] >= -1.000_001 && f[7] <= 1.000_001 && s[0] < 1e-30 && s[7] == 1.0);
        }
    }

    #[test]
    fn a_part_of_a_vector_is_read_and_written_alone() {
        struct Double<'a>(&'a mut [f32]);
        impl Kernel for Double<'_> {
            type Out = ();
            #[inline(always)]
            fn run<V: Lanes>(self) {
                let x = V::load_part(self.0);
                x.add(x).store_part(self.0);
            }
        }
        let mut numbers = [1.0, 2.0, 3.0, 4.0];
        dispatch(Double(&mut numbers[..3]));
        assert_eq!(numbers, [2.0, 4.0, 6.0, 4.0]);
    }
}
