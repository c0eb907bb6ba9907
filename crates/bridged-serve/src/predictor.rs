//! One thread per direction of a model answers requests of a few rows, as many at once as are waiting.
//!
//! A prediction costs little more for a hundred rows than for one: rows are worked on in bands, and what does not depend on
//! them is [made once](bridged::Ready). So whatever arrives while rows are being predicted is predicted together next, and
//! nobody waits for company. What is said of a row depends on the row alone.

use crate::failure::Failure;
use bridged::{Ask, BridgedModel, Direction, Matrix, Prediction, Ready};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;

/// Requests of more rows are predicted on their own, on all cores.
pub(crate) const FEW: usize = 64;
/// Rows that are predicted together.
const MOST: usize = 256;

/// The rows of one request among those that were predicted with them.
#[derive(Clone)]
pub(crate) struct Predicted {
    pub prediction: Arc<Prediction>,
    pub rows: Range<usize>,
}

impl From<Prediction> for Predicted {
    fn from(prediction: Prediction) -> Self {
        let rows = 0..prediction.len();
        Self { prediction: Arc::new(prediction), rows }
    }
}

struct Job {
    rows: Matrix,
    ask: Ask,
    reply: oneshot::Sender<Result<Predicted, Failure>>,
}

/// Where rows are given to the thread, which ends when this is dropped.
pub(crate) struct Predictor {
    jobs: mpsc::Sender<Job>,
}

impl Predictor {
    /// Starts the thread.
    pub fn start(model: Arc<BridgedModel>, direction: Direction) -> std::io::Result<Self> {
        let (jobs, waiting) = mpsc::channel();
        std::thread::Builder::new().name(format!("predict-{}", direction.output())).spawn(
            move || {
                // A pool of this thread alone: few rows are not worth handing to another.
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
                let _pool = pool.build();
                work(&model.ready(direction), &waiting);
            },
        )?;
        Ok(Self { jobs })
    }

    /// Predicts a few rows, of the right width and all finite.
    pub async fn predict(&self, rows: Matrix, ask: Ask) -> Result<Predicted, Failure> {
        let (reply, predicted) = oneshot::channel();
        let gone = || Failure::defect("the rows could not be predicted");
        self.jobs.send(Job { rows, ask, reply }).map_err(|_| gone())?;
        predicted.await.map_err(|_| gone())?
    }
}

/// Answers jobs until nobody can send one.
fn work(ready: &Ready<'_>, waiting: &mpsc::Receiver<Job>) {
    while let Ok(first) = waiting.recv() {
        let mut rows = first.rows.rows();
        let mut jobs = vec![first];
        while rows < MOST
            && let Ok(job) = waiting.try_recv()
        {
            rows += job.rows.rows();
            jobs.push(job);
        }
        jobs.retain(|job| !job.reply.is_closed()); // whose client has gone
        while let Some(ask) = jobs.first().map(|job| job.ask) {
            let (same, others): (Vec<Job>, Vec<Job>) =
                jobs.into_iter().partition(|job| job.ask == ask);
            answer(ready, ask, same);
            jobs = others;
        }
    }
}

/// Predicts the rows of some jobs together.
fn answer(ready: &Ready<'_>, ask: Ask, jobs: Vec<Job>) {
    let predicted = catch_unwind(AssertUnwindSafe(|| {
        let cols = jobs.first().map_or(0, |job| job.rows.cols());
        let all: Vec<f32> = jobs.iter().flat_map(|job| job.rows.data()).copied().collect();
        let all = Matrix::new(all.len() / cols.max(1), cols, all);
        let all = all.map_err(|e| Failure::defect(e.to_string()))?;
        ready.predict(all.view(), ask).map(Arc::new).map_err(Failure::from)
    }));
    let predicted = predicted.unwrap_or_else(|_| Err(Failure::defect("the prediction failed")));
    let mut start = 0;
    for Job { rows, reply, .. } in jobs {
        let range = start..start + rows.rows();
        start = range.end;
        let part = predicted.clone().map(|prediction| Predicted { prediction, rows: range });
        let _ = reply.send(part); // its client may have gone
    }
}
