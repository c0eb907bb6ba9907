//! Stopping in the middle of a pass.
//!
//! A [`Stage`](crate::Stage) asks the watch between steps, and a step over a million rows takes its
//! time. So [`cancellable`] asks beside the work, every [`TICK`], and raises a flag when the watch
//! breaks; [`checkpoint`], which every pass of [`chunks`](crate::chunks) calls before each block and
//! every long loop calls by itself, looks at the flag and unwinds to `cancellable`, which returns
//! [`Cancelled`]. Nothing in between has to hand a flag or an error around, so a new pass can be
//! stopped without knowing of it. (The same mechanism stops the queries of rust-analyzer.)
//!
//! The flag belongs to the thread that works. A parallel pass carries it to the threads that help by
//! [`Context`]: rayon's workers serve many masters, and one that waits in one piece of work may pick
//! up a task of another. Passes of `chunks` do so by themselves; a closure that is handed to rayon
//! directly goes through [`carry`].
//!
//! Decompositions of other crates know no checkpoint. [`interruptible`] runs one on a thread of its
//! own; when the work is stopped, that thread is left behind and ends when it is done.

use crate::watch::{Cancelled, Event, Watch};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How often the watch is asked beside the work.
pub const TICK: Duration = Duration::from_millis(50);

thread_local! {
    static CURRENT: RefCell<Context> = const { RefCell::new(Context(None)) };
}

/// The work that the current thread is part of, to be carried to other threads.
#[derive(Clone)]
pub struct Context(Option<Arc<Flag>>);

struct Flag {
    stopped: AtomicBool,
    outer: Context,
}

impl Context {
    /// Of the current thread.
    pub fn current() -> Self {
        CURRENT.with(|current| current.borrow().clone())
    }

    /// Runs `work` as part of this, on whatever thread.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Puts the former context back, also when `work` unwinds.
        struct Restore(Context);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.with(|current| current.replace(Context(self.0.0.take())));
            }
        }
        let _restore = Restore(CURRENT.with(|current| current.replace(self.clone())));
        work()
    }

    fn is_stopped(&self) -> bool {
        let mut at = self;
        while let Some(flag) = &at.0 {
            if flag.stopped.load(Ordering::Relaxed) {
                return true;
            }
            at = &flag.outer;
        }
        false
    }
}

/// Runs `work`, which ends soon after `watch` breaks, wherever it is: its passes are stopped at
/// their next [`checkpoint`].
pub fn cancellable<T>(watch: &dyn Watch, work: impl FnOnce() -> T) -> Result<T, Cancelled> {
    let flag = Arc::new(Flag { stopped: AtomicBool::new(false), outer: Context::current() });
    let context = Context(Some(Arc::clone(&flag)));
    let result = std::thread::scope(|scope| {
        let (alive, over) = mpsc::channel::<()>();
        let theirs = Arc::clone(&flag);
        let ask = move || {
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if watch.on(Event::Ask).is_break() {
                    return theirs.stopped.store(true, Ordering::Relaxed);
                }
            }
        };
        // A system that gives no thread leaves the questions between the steps.
        let _ = std::thread::Builder::new().name("bridged-watch".into()).spawn_scoped(scope, ask);
        let result = catch_unwind(AssertUnwindSafe(|| context.enter(work)));
        drop(alive);
        result
    });
    match result {
        Ok(done) => Ok(done),
        Err(panic) if panic.is::<Cancelled>() && flag.stopped.load(Ordering::Relaxed) => {
            Err(Cancelled)
        }
        // A panic, or work around this one that was stopped.
        Err(panic) => resume_unwind(panic),
    }
}

/// `f` as part of what the current thread works on, with a checkpoint before each call: for closures
/// that are handed to rayon.
pub fn carry<A, T>(f: impl Fn(A) -> T + Sync + Send) -> impl Fn(A) -> T + Sync + Send {
    let context = Context::current();
    move |task| {
        context.enter(|| {
            checkpoint();
            f(task)
        })
    }
}

/// Whether the work that this thread is part of was asked to stop; cheap enough for inner loops.
pub fn is_stopped() -> bool {
    CURRENT.with(|current| current.borrow().is_stopped())
}

/// Ends the work here if it was asked to stop: unwinds to the [`cancellable`] around it, and does
/// nothing without one. No panic is reported.
pub fn checkpoint() {
    if is_stopped() {
        resume_unwind(Box::new(Cancelled));
    }
}

/// Runs `work`, which knows no checkpoint, so that it can be stopped: on a thread of its own, which
/// is left behind if the work around it is stopped. For what takes long; it costs a thread.
pub fn interruptible<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let context = Context::current();
    if context.0.is_none() {
        return work();
    }
    // The closure is taken back if the system gives no thread.
    let slot = Arc::new(std::sync::Mutex::new(Some(work)));
    let take = |slot: &std::sync::Mutex<Option<_>>| {
        slot.lock().ok().and_then(|mut work| work.take()).expect("the work is taken once")
    };
    let (send, done) = mpsc::channel();
    let theirs = Arc::clone(&slot);
    let run = move || {
        let work = take(&theirs);
        // Nobody waits for the result of work that was stopped.
        let _ = send.send(catch_unwind(AssertUnwindSafe(work)));
    };
    if std::thread::Builder::new().name("bridged-work".into()).spawn(run).is_err() {
        return take(&slot)();
    }
    loop {
        match done.recv_timeout(TICK / 2) {
            Ok(Ok(result)) => return result,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => checkpoint(),
            Err(RecvTimeoutError::Disconnected) => unreachable!("a result or a panic is sent"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks;
    use crate::watch::Silent;
    use std::ops::ControlFlow;
    use std::time::Instant;

    /// Breaks from some time on.
    struct After(Instant);

    impl Watch for After {
        fn on(&self, _: Event<'_>) -> ControlFlow<()> {
            if Instant::now() >= self.0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }

    fn soon() -> After {
        After(Instant::now() + Duration::from_millis(100))
    }

    #[test]
    fn a_loop_without_end_stops_at_its_checkpoint() {
        let endless = || -> () {
            loop {
                checkpoint();
            }
        };
        assert_eq!(cancellable(&soon(), endless), Err(Cancelled));
        assert_eq!(cancellable(&Silent, || 7), Ok(7));
        assert!(!is_stopped());
    }

    #[test]
    fn a_pass_stops_in_all_its_blocks_and_an_inner_piece_with_the_outer_one() {
        let endless = || {
            loop {
                chunks::map_blocks(10_000, |rows| rows.len());
            }
        };
        let inner = || cancellable(&Silent, || -> () { endless() });
        assert_eq!(cancellable(&soon(), inner), Err(Cancelled));
        let nested = || {
            chunks::map_blocks(10_000, |_| -> () {
                loop {
                    checkpoint();
                }
            });
        };
        assert_eq!(cancellable(&soon(), nested), Err(Cancelled));
    }

    #[test]
    fn work_without_a_checkpoint_is_left_behind() {
        let (send, over) = mpsc::channel();
        let start = Instant::now();
        let slow = || {
            interruptible(move || {
                std::thread::sleep(Duration::from_secs(2));
                let _ = send.send(());
            });
        };
        assert_eq!(cancellable(&soon(), slow), Err(Cancelled));
        assert!(start.elapsed() < Duration::from_secs(1));
        over.recv().expect("it ends by itself");
        assert_eq!(cancellable(&Silent, || interruptible(|| 3)), Ok(3));
        assert_eq!(interruptible(|| 4), 4);
    }

    #[test]
    fn a_panic_stays_a_panic() {
        let panics = || cancellable(&Silent, || interruptible(|| -> () { panic!("real") }));
        let payload = catch_unwind(panics).expect_err("it panicked");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"real"));
    }
}
