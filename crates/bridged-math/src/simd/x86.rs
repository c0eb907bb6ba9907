//! Vectors in registers of AVX2, and in the lower halves of those of AVX-512.

use super::Kernel;
use super::lanes::{LANES, Lanes, sealed::Sealed};
use std::arch::x86_64::*;

/// Which lanes a part of a vector has: eight numbers from `LANES - len` on.
static PART: [i32; 2 * LANES] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

macro_rules! lanewise {
    ($($name:ident = $intrinsic:ident),*) => {$(
        #[inline(always)]
        fn $name(self, b: Self) -> Self {
            // SAFETY: the processor has AVX2, see the type.
            Self(unsafe { $intrinsic(self.0, b.0) })
        }
    )*};
}

/// Declares a level: its type of vector, and how a kernel or a closure is compiled for it.
macro_rules! level {
    ($vector:ident, $run:ident, $call:ident, $features:literal) => {
        /// Runs a kernel compiled for the level; the processor must have it.
        #[target_feature(enable = $features)]
        pub(super) fn $run<K: Kernel>(kernel: K) -> K::Out {
            kernel.run::<$vector>()
        }

        /// Calls a closure compiled for the level; the processor must have it.
        #[target_feature(enable = $features)]
        pub(super) fn $call<R>(f: impl FnOnce() -> R) -> R {
            f()
        }

        /// One register. Only a kernel that the level runs holds this type, and only a processor
        /// that has the level gets there: that is what makes every block below sound.
        #[derive(Clone, Copy)]
        pub(super) struct $vector(__m256);

        impl Sealed for $vector {}

        impl Lanes for $vector {
            const FUSED: bool = true;

            #[inline(always)]
            fn splat(v: f32) -> Self {
                // SAFETY: the processor has AVX2, see the type.
                Self(unsafe { _mm256_set1_ps(v) })
            }
            #[inline(always)]
            fn load(from: &[f32; LANES]) -> Self {
                // SAFETY: the processor has AVX2, and eight numbers are there.
                Self(unsafe { _mm256_loadu_ps(from.as_ptr()) })
            }
            #[inline(always)]
            fn store(self, to: &mut [f32; LANES]) {
                // SAFETY: the processor has AVX2, and there is room for eight numbers.
                unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
            }
            #[inline(always)]
            fn load_part(from: &[f32]) -> Self {
                if let Some(eight) = from.first_chunk() {
                    return Self::load(eight);
                }
                // SAFETY: the processor has AVX2. Fewer than eight numbers are there, and the mask
                // lets no others be read; it lies inside `PART` because `len` is at most 8.
                Self(unsafe {
                    let mask = PART.as_ptr().add(LANES - from.len());
                    _mm256_maskload_ps(from.as_ptr(), _mm256_loadu_si256(mask.cast()))
                })
            }
            #[inline(always)]
            fn load_strided<const N: usize>(from: &[f32], stride: usize) -> [Self; N] {
                assert!(
                    N == 0
                        || stride.checked_mul(N - 1).is_some_and(|last| {
                            from.len() >= LANES && last <= from.len() - LANES
                        }),
                    "the last vector lies inside the slice"
                );
                let mut vectors = [Self::splat(0.0); N];
                for n in 0..N {
                    // SAFETY: the processor has AVX2, and the last vector ends inside the slice.
                    vectors[n] = Self(unsafe { _mm256_loadu_ps(from.as_ptr().add(n * stride)) });
                }
                vectors
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: the processor has FMA, see the type.
                Self(unsafe { _mm256_fmadd_ps(self.0, b.0, c.0) })
            }
            lanewise!(
                add = _mm256_add_ps,
                sub = _mm256_sub_ps,
                mul = _mm256_mul_ps,
                div = _mm256_div_ps,
                max = _mm256_max_ps,
                min = _mm256_min_ps
            );
            #[inline(always)]
            fn where_greater(self, a: Self, b: Self) -> Self {
                // SAFETY: the processor has AVX2, see the type.
                Self(unsafe { _mm256_and_ps(self.0, _mm256_cmp_ps::<_CMP_GT_OQ>(a.0, b.0)) })
            }
            #[inline(always)]
            fn equal(self, b: Self) -> u32 {
                // SAFETY: the processor has AVX2, see the type.
                unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, b.0)) as u32 }
            }
            #[inline(always)]
            fn power_of_two(self) -> Self {
                // SAFETY: the processor has AVX2, see the type.
                Self(unsafe {
                    let bits =
                        _mm256_add_epi32(_mm256_castps_si256(self.0), _mm256_set1_epi32(127));
                    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(bits))
                })
            }
            #[inline(always)]
            fn sums([s, t, u, v]: [Self; 4]) -> [f32; 4] {
                let mut out = [0.0; 4];
                // SAFETY: the processor has AVX2, and four numbers go into an array of four.
                unsafe {
                    let both = _mm256_hadd_ps(_mm256_hadd_ps(s.0, t.0), _mm256_hadd_ps(u.0, v.0));
                    let high = _mm256_extractf128_ps::<1>(both);
                    _mm_storeu_ps(out.as_mut_ptr(), _mm_add_ps(_mm256_castps256_ps128(both), high));
                }
                out
            }
            #[inline(always)]
            fn sum(self) -> f32 {
                // SAFETY: the processor has AVX2, see the type.
                unsafe {
                    let high = _mm256_extractf128_ps::<1>(self.0);
                    let four = _mm_add_ps(_mm256_castps256_ps128(self.0), high);
                    let two = _mm_hadd_ps(four, four);
                    _mm_cvtss_f32(_mm_hadd_ps(two, two))
                }
            }
            #[inline(always)]
            fn two_least(least: Self, next: Self) -> (f32, f32) {
                let fold = |(least, next): (Self, Self), l: Self, n: Self| {
                    (least.min(l), next.min(n).min(least.max(l)))
                };
                // SAFETY: the processor has AVX2, see the type.
                unsafe {
                    let swap = |v: Self| Self(_mm256_permute2f128_ps::<1>(v.0, v.0));
                    let (l, n) = fold((least, next), swap(least), swap(next));
                    let swap = |v: Self| Self(_mm256_permute_ps::<0b01_00_11_10>(v.0));
                    let (l, n) = fold((l, n), swap(l), swap(n));
                    let swap = |v: Self| Self(_mm256_permute_ps::<0b10_11_00_01>(v.0));
                    let (l, n) = fold((l, n), swap(l), swap(n));
                    (_mm256_cvtss_f32(l.0), _mm256_cvtss_f32(n.0))
                }
            }
        }
    };
}

level!(Avx2, run_avx2, call_avx2, "avx2,fma");
level!(Avx512, run_avx512, call_avx512, "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl");
