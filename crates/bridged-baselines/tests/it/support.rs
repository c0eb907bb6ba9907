//! Problems, predictors and watches that the tests share.

use bridged::synth::{Mixture, Pairs, Sample, Sizes};
use bridged::{Event, Matrix, Seed, Silent, Watch};
use bridged::{Method, MethodError, Predictor, Problem};
use bridged_baselines::BaselineSpec;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Every baseline with its defaults.
pub fn all() -> impl Iterator<Item = BaselineSpec> {
    BaselineSpec::ALL.iter().map(|e| BaselineSpec::named(e.name).expect("listed by this name"))
}

/// Well separated groups on both sides, the paper's way: `groups` × `per_group` pairs.
pub fn sample(groups: usize, per_group: usize, seed: u64) -> Sample {
    let mixture =
        Mixture { classes: groups, dim_x: 10, dim_y: 6, separation: 12.0, ..Mixture::default() };
    let pairs = Pairs::Stratified(per_group);
    mixture.draw(Sizes { x: 25 * groups, y: 12 * groups, test: 8 * groups, pairs }, Seed(seed))
}

pub fn problem(sample: &Sample) -> Problem<'_> {
    Problem::new(sample.x.view(), sample.y.view(), &sample.pairs)
}

pub fn fit(spec: &BaselineSpec, problem: Problem<'_>) -> Result<Box<dyn Predictor>, MethodError> {
    spec.fit(problem, Seed(7), &Silent)
}

/// Fits, and panics with the name of the method if that fails.
#[track_caller]
pub fn fitted(spec: &BaselineSpec, problem: Problem<'_>) -> Box<dyn Predictor> {
    fit(spec, problem).unwrap_or_else(|e| panic!("{}: {e}", spec.name()))
}

pub fn bits(m: &Matrix) -> Vec<u32> {
    m.data().iter().map(|v| v.to_bits()).collect()
}

pub fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// Asks the work to stop at its n-th event.
pub struct StopAt {
    pub event: usize,
    heard: AtomicUsize,
}

impl StopAt {
    pub fn new(event: usize) -> Self {
        Self { event, heard: AtomicUsize::new(0) }
    }

    pub fn heard(&self) -> usize {
        self.heard.load(Ordering::Relaxed)
    }
}

impl Watch for StopAt {
    fn on(&self, event: Event<'_>) -> ControlFlow<()> {
        if matches!(event, Event::End { .. } | Event::Ask) {
            return ControlFlow::Continue(());
        }
        let at = self.heard.fetch_add(1, Ordering::Relaxed);
        if at >= self.event { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
