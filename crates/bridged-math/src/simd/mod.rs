//! The instructions of the processor: which it has, and kernels that are compiled for each of them.

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
/// The compiler neither reorders nor fuses floating-point operations, so the result has the same
/// bytes at every level.
#[inline]
pub fn vectorize<R>(f: impl FnOnce() -> R) -> R {
    match level() {
        // SAFETY: the level of the process is available.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::call_avx512(f) },
        // SAFETY: the level of the process is available.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::call_avx2(f) },
        _ => f(),
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
