//! What all requests share.

use crate::Log;
use crate::body::UNIT;
use crate::failure::Failure;
use crate::guard::Doors;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::models::Shelf;
use bridged_math::cancel::cancellable;
use bridged_math::{Event, Watch};
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::sync::Semaphore;

/// What all requests share. Handlers get it as axum's `State<Arc<App>>`.
pub struct App {
    shelf: Shelf,
    limits: Limits,
    doors: Doors,
    metrics: Metrics,
    log: Log,
    /// Bytes of bodies that may still be read, in [`UNIT`]s.
    bodies: Arc<Semaphore>,
    /// Requests that may still begin.
    requests: Arc<Semaphore>,
    /// Large computations that may still begin: each uses all cores.
    computing: Arc<Semaphore>,
    pub(crate) started: Instant,
    /// The OpenAPI document of the routes, once they are known.
    pub(crate) document: Value,
}

impl App {
    pub(crate) fn new(shelf: Shelf, limits: Limits, doors: Doors, log: Log) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let bodies = usize::try_from(limits.body).unwrap_or(usize::MAX).div_ceil(UNIT);
        let units = bodies.saturating_mul(4).min(Semaphore::MAX_PERMITS);
        Self {
            shelf,
            bodies: Arc::new(Semaphore::new(units)),
            requests: Arc::new(Semaphore::new(limits.requests.min(Semaphore::MAX_PERMITS))),
            computing: Arc::new(Semaphore::new(cores)),
            limits,
            doors,
            metrics: Metrics::default(),
            log,
            started: Instant::now(),
            document: Value::Null,
        }
    }

    /// The models.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// How much clients may ask for.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Says a line.
    pub fn log(&self) -> &Log {
        &self.log
    }

    pub(crate) fn doors(&self) -> &Doors {
        &self.doors
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn metrics_mut(&mut self) -> &mut Metrics {
        &mut self.metrics
    }

    pub(crate) fn bodies(&self) -> &Arc<Semaphore> {
        &self.bodies
    }

    pub(crate) fn requests(&self) -> &Arc<Semaphore> {
        &self.requests
    }

    /// Runs what takes long off the threads that talk to clients. It is stopped at its next checkpoint when the time is over
    /// or the client has gone.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let stop = StopOnDrop::default();
        let flag = Arc::clone(&stop.0);
        let run = async {
            let permit = Arc::clone(&self.computing).acquire_owned().await;
            let work = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                let stopped = |_| Failure::busy("the request was stopped");
                cancellable(&Stopped(flag), work).map_err(stopped)?
            });
            work.await.map_err(|_| Failure::defect("the request could not be answered"))?
        };
        self.in_time(run).await
    }

    /// What `answer` gives, unless it takes longer than requests may.
    pub(crate) async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let answered = tokio::time::timeout(self.limits.answer, answer).await;
        answered.unwrap_or_else(|_| {
            let seconds = self.limits.answer.as_secs();
            Err(Failure::busy(format!(
                "there was no answer within {seconds} seconds; send fewer rows at once, or come back later"
            )))
        })
    }
}

/// Work whose result nobody waits for any more.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Stopped(Arc<AtomicBool>);

impl Watch for Stopped {
    fn on(&self, _: Event<'_>) -> ControlFlow<()> {
        match self.0.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
