//! Runs work of the core on behalf of Python: without the GIL, on our own threads, with progress,
//! and so that Ctrl-C stops it.
//!
//! The work runs in the pool. The calling thread, which alone may ask Python for signals, waits
//! beside it and every few milliseconds takes the GIL, looks for Ctrl-C and hands on progress. No
//! thread of the pool ever touches Python.

use crate::errors::Failure;
use crate::pool;
use bridged::{Cancelled, Event, Watch};
use bridged_math::cancel::cancellable;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// How long Ctrl-C may go unnoticed.
const TICK: Duration = Duration::from_millis(10);

/// What Python says about how to run: `(threads, progress)`. `progress` is called with a list of
/// (stage, steps done, steps in all or none) of the stages under way.
#[derive(FromPyObject)]
pub struct Host(Option<usize>, Option<Py<PyAny>>);

/// Hears of progress on the threads of the pool.
struct Ear {
    stop: AtomicBool,
    /// The stages under way, kept only if somebody asks for them.
    stages: Option<Mutex<Vec<Running>>>,
}

#[derive(Clone)]
struct Running {
    stage: String,
    done: u64,
    total: Option<u64>,
}

impl Host {
    /// All cores, and nobody who asks for progress.
    pub fn plain() -> Self {
        Self(None, None)
    }

    /// Runs work that can be watched and stopped.
    pub fn run<T, E>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Watch) -> Result<T, E> + Send,
    ) -> PyResult<T>
    where
        T: Send,
        E: Into<Failure> + Send,
    {
        let pool = pool::of(self.0)?;
        let progress = self.1.as_ref();
        let ear =
            Ear { stop: AtomicBool::new(false), stages: progress.map(|_| Mutex::new(Vec::new())) };
        let mut interrupted = None;
        let result = py.detach(|| {
            let mut result = None;
            let (alive, over) = mpsc::channel::<()>();
            pool.in_place_scope(|scope| {
                let (slot, ear) = (&mut result, &ear);
                scope.spawn(move |_| {
                    let _alive = alive; // dropped when the work ends, however it ends
                    *slot = Some(cancellable(ear, || work(ear)));
                });
                while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    if interrupted.is_none() {
                        interrupted = Python::attach(|py| ear.heed(py, progress)).err();
                    }
                    if interrupted.is_some() {
                        ear.stop.store(true, Ordering::Relaxed);
                    }
                }
            });
            result.expect("a scope ends after its work")
        });
        match (interrupted, result) {
            (Some(error), _) => Err(error),
            (None, Err(Cancelled)) => Err(Failure::Stopped.into()),
            (None, Ok(Err(error))) => Err(error.into().into()),
            (None, Ok(Ok(result))) => {
                if let Some(progress) = progress {
                    progress.call1(py, (Vec::<(String, u64, Option<u64>)>::new(),))?;
                }
                Ok(result)
            }
        }
    }
}

impl Ear {
    /// Looks for signals and hands on progress.
    fn heed(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        if let (Some(progress), Some(stages)) = (progress, &self.stages) {
            let running = lock(stages).clone();
            let told: Vec<_> = running.into_iter().map(|r| (r.stage, r.done, r.total)).collect();
            progress.call1(py, (told,))?;
        }
        Ok(())
    }
}

impl Watch for Ear {
    fn on(&self, event: Event<'_>) -> ControlFlow<()> {
        if let Some(stages) = &self.stages {
            let mut stages = lock(stages);
            let at = stages.iter().rposition(|r| r.stage == event.stage());
            match (event, at) {
                (Event::Begin { stage, total }, _) => {
                    stages.push(Running { stage: stage.to_string(), done: 0, total });
                }
                (Event::Step { done, .. }, Some(at)) => {
                    stages[at].done = stages[at].done.max(done);
                }
                (Event::End { .. }, Some(at)) => {
                    stages.remove(at);
                }
                (Event::Ask, _) | (_, None) => {}
            }
        }
        match self.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

fn lock<T>(stages: &Mutex<T>) -> MutexGuard<'_, T> {
    stages.lock().expect("nothing panics while it holds the lock")
}
