//! Kernels that are compiled for the instructions of the processor, and the choice between them.
//!
//! This is the only module that asks the processor what it has, and the only one with `unsafe`
//! kernels. Everything else is safe code that is handed to [`dispatch`] or [`vectorize`].
//!
//! # Levels
//!
//! A [`Level`] is decided once per process: the best that the processor has, or what the environment
//! variable `BRIDGED_SIMD` asks for (`plain`, `avx2`, `avx512`). Programs call [`check_environment`]
//! when they start, which says in a sentence what is wrong with the variable; a library does not
//! print, and kernels fall back to the best level. Products of `f64` matrices and decompositions are
//! those of gemm and faer, which choose their instructions by themselves.
//!
//! # How a kernel is written
//!
//! - As a plain loop in a closure for [`vectorize`]: the compiler turns it into vectors. It neither
//!   reorders nor fuses floating-point operations, so the bytes are the same at every level.
//! - As a [`Kernel`] over [`Lanes`], vectors of eight `f32`, for [`dispatch`]: where operations must
//!   be fused or lanes combined.
//! - With intrinsics, in this module, where neither is enough.
//!
//! | kernel | where | same bytes at |
//! |---|---|---|
//! | [`Panels`]: A·B for a packed B | `simd/panels.rs` | AVX2 and AVX-512 |
//! | the nearest of many centres by whole numbers | `simd/coarse.rs` | all: what is in doubt is decided in `f64` |
//! | [`subtract_from_rows`] | `simd/gather.rs` | all |
//! | [`Lanes::exp`], [`Lanes::sigmoid`], [`Lanes::erf`] | `simd/lanes.rs` | AVX2 and AVX-512 |
//! | [`exp`] in `f64` | `simd/exp.rs` | all |
//! | distances and dot products in `f64` | `distance.rs` | all |
//! | distances to some centres in `f32` | `distance/some.rs` | AVX2 and AVX-512 |
//! | the two least of costs and prices | `transport/pass.rs` | all |
//! | running sums, moments (crate `bridged`) | `cluster/sums.rs`, `cluster/moments.rs` | all |
//! | a mixture in `f32` (crate `bridged`) | `cluster/mixture_f32.rs`, `cluster/softmax.rs` | AVX2 and AVX-512 |
//! | Sinkhorn, support vectors (crate `bridged-baselines`) | `transport/sinkhorn/`, `svr.rs` | all |
//! | layers of networks (crate `bridged-encode`) | `layers/` | AVX2 and AVX-512 |
//!
//! Plain differs where multiply-adds are fused, by the roundings of a sum in `f32`. Labels of
//! clusterings do not: `tests/simd_levels.rs` of the crate `bridged` compares them.
//!
//! # What was measured
//!
//! On a Zen 4 (EPYC, two cores), medians of `cargo bench -p bridged-math`:
//!
//! | loop | plain | AVX2 | AVX-512 |
//! |---|---|---|---|
//! | `exp`: 1024 × eˣ in `f32`, eight lanes | 966 ns | 387 ns | 370 ns |
//! | `exp`: 1024 × eˣ in `f64`, by the compiler | 4.32 µs | 2.53 µs | 1.53 µs |
//! | `sums`: 256 rows of 64 added in `f64`, by the compiler | 3.06 µs | 2.29 µs | 3.08 µs |
//! | `sums`: 256 rows of 768 added in `f64`, by the compiler | 33.8 µs | 16.0 µs | 17.1 µs |
//!
//! So [`vectorize`] stays with AVX2, and exponentials take [`vectorize_wide`].
//!
//! The crate pulp offers the same dispatch, and was not chosen for its bytes rather than its speed,
//! which was not measured: its vectors are as wide as the level, 1, 8 or 16 lanes, so that a sum over
//! lanes would differ between AVX2 and AVX-512.

#[cfg(target_arch = "x86_64")]
pub(crate) mod coarse;
mod exp;
mod gather;
mod lanes;
mod level;
mod panels;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use exp::exp;
pub use gather::subtract_from_rows;
pub use lanes::{LANES, Lanes};
pub use level::{Level, VARIABLE, check_environment, level};
pub use panels::{Epilogue, Panels, Tail};

use lanes::Portable;

/// A computation over vectors, compiled once for each level.
pub trait Kernel {
    /// What comes out.
    type Out;
    /// The computation. Mark it and what it calls `#[inline(always)]`: a function that is not
    /// inlined is compiled without the instructions of the level.
    fn run<V: Lanes>(self) -> Self::Out;
}

/// Runs a kernel at the level of the process.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Out {
    // SAFETY: the level of the process is available.
    unsafe { run_at(level(), kernel) }
}

/// Runs a kernel at a level of choice: for tests and benchmarks.
///
/// # Panics
/// If this processor does not have the level.
pub fn dispatch_at<K: Kernel>(level: Level, kernel: K) -> K::Out {
    assert!(level.is_available(), "this processor does not have {level}");
    // SAFETY: the level is available.
    unsafe { run_at(level, kernel) }
}

/// # Safety
/// The processor must have the level.
#[inline]
unsafe fn run_at<K: Kernel>(level: Level, kernel: K) -> K::Out {
    match level {
        // SAFETY: the caller vouches for the level.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::run_avx512(kernel) },
        // SAFETY: the caller vouches for the level.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::run_avx2(kernel) },
        _ => kernel.run::<Portable>(),
    }
}

/// Calls a closure compiled for the level of the process, for loops that the compiler vectorises
/// by itself. Write `vectorize(#[inline(always)] || …)`: see [`Kernel::run`].
///
/// At AVX-512 the closure is compiled for AVX2: loops over a row are short, and wider vectors leave
/// a longer rest of them to single numbers. [`vectorize_wide`] is for the others.
///
/// The compiler neither reorders nor fuses floating-point operations, so the result has the same
/// bytes at every level.
#[inline]
pub fn vectorize<R>(f: impl FnOnce() -> R) -> R {
    match level() {
        // SAFETY: the level of the process is available, and AVX-512 includes AVX2.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 => unsafe { x86::call_avx2(f) },
        _ => f(),
    }
}

/// Like [`vectorize`], with vectors of 512 bits at AVX-512: for long loops with many operations on
/// each number, such as exponentials.
#[inline]
pub fn vectorize_wide<R>(f: impl FnOnce() -> R) -> R {
    match level() {
        // SAFETY: the level of the process is available.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::call_avx512(f) },
        _ => vectorize(f),
    }
}

/// Numbers in a line of the cache.
const LINE: usize = 16;

/// Asks for some numbers to be brought into the first cache, where there is such an instruction.
#[inline(always)]
pub fn prefetch(numbers: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in numbers.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and nothing is read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = numbers;
}
