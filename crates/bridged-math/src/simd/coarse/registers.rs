//! Registers of AVX2 in and out of slices, with their lengths checked, and sums over their lanes.

use super::{BYTES, LANES, WORDS};
use std::arch::x86_64::*;

/// Σ a·b over whole registers.
#[target_feature(enable = "avx2")]
#[inline]
pub fn dot(a: &[i16], b: &[i16]) -> i64 {
    let mut sums = [_mm256_setzero_si256(); 2];
    let (a, b) = (a.as_chunks::<BYTES>().0, b.as_chunks::<BYTES>().0);
    for (a, b) in a.iter().zip(b) {
        for (half, sum) in sums.iter_mut().enumerate() {
            // SAFETY: two registers in each.
            let product = unsafe {
                _mm256_madd_epi16(
                    _mm256_loadu_si256(a.as_ptr().add(half * WORDS).cast()),
                    _mm256_loadu_si256(b.as_ptr().add(half * WORDS).cast()),
                )
            };
            *sum = _mm256_add_epi32(*sum, product);
        }
    }
    // A lane has room for its own sum, not for that of all.
    let lanes = sums.map(|s| {
        let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(s));
        _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(s)), high)
    });
    let four = _mm256_add_epi64(lanes[0], lanes[1]);
    let two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256::<1>(four));
    _mm_extract_epi64::<0>(two) + _mm_extract_epi64::<1>(two)
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn sum(numbers: __m256i) -> i32 {
    let four =
        _mm_add_epi32(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256::<1>(numbers));
    let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b00_00_11_10>(four));
    _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b00_00_00_01>(two)))
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn lanes(numbers: __m256) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    store(&mut out, 0, numbers);
    out
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn load(numbers: &[f32], at: usize) -> __m256 {
    let eight = &numbers[at..at + LANES];
    // SAFETY: eight numbers, as was just checked.
    unsafe { _mm256_loadu_ps(eight.as_ptr()) }
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn load_whole(numbers: &[i32], at: usize) -> __m256i {
    let eight = &numbers[at..at + LANES];
    // SAFETY: eight numbers, as was just checked.
    unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn store(numbers: &mut [f32], at: usize, eight: __m256) {
    let to = &mut numbers[at..at + LANES];
    // SAFETY: room for eight numbers, as was just checked.
    unsafe { _mm256_storeu_ps(to.as_mut_ptr(), eight) };
}
