//! The memory that runs share. A fit asks whether it fits beside what is there already, but two fits that begin together
//! each see all of it free; so a run begins when what it says it needs fits beside what those under way said.

use bridged::{Cancelled, Event, Watch};
use bridged_math::cancel::TICK;
use bridged_math::memory;
use std::sync::{Condvar, Mutex, PoisonError};

/// What all runs may take together.
pub(crate) struct Room {
    /// Nothing where it is not known; then nobody waits.
    bytes: Option<u64>,
    taken: Mutex<Taken>,
    left: Condvar,
}

#[derive(Default)]
struct Taken {
    runs: usize,
    bytes: u64,
}

/// What a run takes of it, until it is dropped.
pub(crate) struct Place<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Room {
    /// What may be taken now.
    pub fn now() -> Self {
        Self::of(memory::free())
    }

    fn of(bytes: Option<u64>) -> Self {
        Self { bytes, taken: Mutex::default(), left: Condvar::new() }
    }

    /// Waits until this many bytes are left. A run that is alone never waits: whether it fits at all is its own question.
    pub fn enter(&self, bytes: u64, watch: &dyn Watch) -> Result<Place<'_>, Cancelled> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while taken.runs > 0
            && self.bytes.is_some_and(|all| taken.bytes.saturating_add(bytes) > all)
        {
            let waited = self.left.wait_timeout(taken, TICK);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
            if watch.on(Event::Ask).is_break() {
                return Err(Cancelled);
            }
        }
        taken.runs += 1;
        taken.bytes = taken.bytes.saturating_add(bytes);
        Ok(Place { room: self, bytes })
    }

    /// How many runs that take this many bytes fit beside each other; at least one.
    pub fn side_by_side(&self, bytes: u64) -> usize {
        let fit = self.bytes.map_or(u64::MAX, |all| all / bytes.max(1));
        usize::try_from(fit).unwrap_or(usize::MAX).max(1)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.room.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.runs -= 1;
        taken.bytes -= self.bytes.min(taken.bytes);
        drop(taken);
        self.room.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Silent;
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    #[test]
    fn runs_wait_until_what_they_need_is_left() {
        let room = Room::of(Some(100));
        let (held, most, done) = (AtomicU64::new(0), AtomicU64::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for bytes in [60, 50, 40, 60, 30, 100, 7] {
                let (room, held, most, done) = (&room, &held, &most, &done);
                scope.spawn(move || {
                    let _place = room.enter(bytes, &Silent).unwrap();
                    let now = held.fetch_add(bytes, Ordering::SeqCst) + bytes;
                    most.fetch_max(now, Ordering::SeqCst);
                    std::thread::sleep(TICK / 10);
                    held.fetch_sub(bytes, Ordering::SeqCst);
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(done.into_inner(), 7, "each had its turn");
        let most = most.into_inner();
        assert!((1..=100).contains(&most), "{most}");
    }

    #[test]
    fn a_run_that_fits_nowhere_begins_alone_and_is_refused_by_its_fit() {
        let room = Room::of(Some(100));
        drop(room.enter(u64::MAX, &Silent).unwrap());
        assert_eq!((room.side_by_side(u64::MAX), room.side_by_side(30)), (1, 3));
        // Where nothing is known, nobody waits.
        let open = Room::of(None);
        let _places = [open.enter(u64::MAX, &Silent).unwrap(), open.enter(1, &Silent).unwrap()];
        assert_eq!(open.side_by_side(u64::MAX), usize::MAX);
    }

    #[test]
    fn a_run_that_waits_can_be_stopped() {
        struct Stop;
        impl Watch for Stop {
            fn on(&self, _: Event<'_>) -> ControlFlow<()> {
                ControlFlow::Break(())
            }
        }
        let room = Room::of(Some(100));
        let _place = room.enter(90, &Silent).unwrap();
        assert!(room.enter(20, &Stop).is_err());
        assert!(room.enter(10, &Stop).is_ok(), "it need not wait");
    }
}
