//! How much memory a piece of work holds at most, by counting what its thread allocates.
//!
//! [`Counting`] is the system's allocator with a count per thread. Work that is measured runs on one
//! thread of its own, so that runs beside it do not disturb the count. What C libraries allocate is
//! not seen; there are none in the methods.
//!
//! A program counts nothing until [`start_counting`]; until then an allocation costs one relaxed load
//! more than the system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, counted. A program that measures declares it as its global allocator.
pub struct Counting;

static STARTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Counts from now on what every thread allocates and frees, until the program ends.
pub fn start_counting() {
    STARTED.store(true, Ordering::Relaxed);
}

#[inline]
fn count(bytes: isize) {
    if STARTED.load(Ordering::Relaxed) {
        add(bytes);
    }
}

fn add(bytes: isize) {
    // While a thread ends its counts are gone; nobody asks for them any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises about `layout` hold for the system's allocator too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above; the block came from `System`.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Runs the work and returns the most bytes that its thread held beyond what it held before; 0 where
/// the program does not count.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = HELD.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    let done = work();
    let most = PEAK.with(Cell::get) - before;
    (done, most.max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static COUNTED: Counting = Counting;

    #[test]
    fn the_peak_is_what_was_held_at_once_not_in_all() {
        start_counting();
        let (sum, peak) = peak_of(|| {
            (0..10).map(|i| vec![i as u8; 1 << 20]).map(|v| u64::from(v[77])).sum::<u64>()
        });
        assert_eq!(sum, 45);
        assert!((1 << 20..3 << 20).contains(&peak), "{peak}");
        let (_, both) = peak_of(|| (vec![1u8; 1 << 20], vec![2u8; 2 << 20]));
        assert!((3 << 20..5 << 20).contains(&both), "{both}");
    }
}
