//! One stage over many fits: the stage counts those that are done, the fits only hear whether to stop.

use bridged::{Cancelled, Event, Stage, Watch};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counts fits, and is the watch of each of them.
pub(crate) struct Progress<'a> {
    stage: Stage<'a>,
    done: AtomicU64,
    stopped: AtomicBool,
}

impl<'a> Progress<'a> {
    /// Begins a stage of this many fits.
    pub fn begin(watch: &'a dyn Watch, name: &'a str, total: usize) -> Result<Self, Cancelled> {
        let stage = Stage::begin(watch, name, Some(total as u64))?;
        Ok(Self { stage, done: AtomicU64::new(0), stopped: AtomicBool::new(false) })
    }

    /// One more fit is done.
    pub fn one_more(&self) -> Result<(), Cancelled> {
        self.stage.step(self.done.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Asks all that is under way to stop.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

impl Watch for Progress<'_> {
    fn on(&self, _: Event<'_>) -> ControlFlow<()> {
        let stopped = self.stopped.load(Ordering::Relaxed)
            || self.stage.step(self.done.load(Ordering::Relaxed)).is_err();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
