//! Data, specs and watches that the tests share. All data are synthetic and seeded.

use bridged::Rng;
use bridged::cluster::{ClusterSpec, Clusterer, Clustering};
use bridged::synth::{Mixture, Pairs, Sample, Sizes};
use bridged::{BridgedClustering, BridgedModel, Preset, Problem, SideSpec};
use bridged::{Event, Matrix, Seed, Silent, Watch};
use rand::RngExt;
use rand::seq::SliceRandom;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The names of all clusterings.
pub fn names() -> impl Iterator<Item = &'static str> {
    ClusterSpec::ALL.iter().map(|e| e.name)
}

/// Whether the algorithm finds the number of clusters by itself.
pub fn finds_k(name: &str) -> bool {
    name == "dbscan"
}

/// The algorithm of that name with its defaults and k clusters; where it finds k by itself, with a
/// radius that suits groups of standard deviation 1 in a few columns.
pub fn spec(name: &str, k: usize) -> ClusterSpec {
    let spec = ClusterSpec::named(name).expect("listed by this name").with_k(k);
    if finds_k(name) {
        with_fields(&spec, &[("eps", serde_json::json!(4.5))]).expect("a radius")
    } else {
        spec
    }
}

/// A spec with some of its JSON fields replaced; `None` if the result is not a spec.
pub fn with_fields(
    spec: &ClusterSpec,
    fields: &[(&str, serde_json::Value)],
) -> Option<ClusterSpec> {
    let mut json = serde_json::to_value(spec).unwrap();
    for (name, value) in fields {
        json[*name] = value.clone();
    }
    serde_json::from_value(json).ok()
}

pub fn fit(spec: &ClusterSpec, x: &Matrix) -> Clustering {
    spec.fit(x.view(), Seed(7), &Silent).unwrap_or_else(|e| panic!("{}: {e}", spec.name()))
}

/// `n` rows of `k` round groups whose centres are `separation` standard deviations apart.
pub fn blobs(k: usize, n: usize, separation: f64, seed: u64) -> (Matrix, Vec<u32>) {
    let mixture = Mixture { classes: k, dim_x: 6, separation, ..Mixture::default() };
    let sample = mixture.draw(sizes(n, k, 0, Pairs::Stratified(0)), Seed(seed));
    (sample.x, sample.latent_x)
}

pub fn sizes(x: usize, y: usize, test: usize, pairs: Pairs) -> Sizes {
    Sizes { x, y, test, pairs }
}

/// Independent uniform numbers in −1..1.
pub fn noise(rows: usize, cols: usize, seed: u64) -> Matrix {
    let mut rng = Seed(seed).rng();
    Matrix::from_fn(rows, cols, |_, _| 2.0 * rng.random::<f32>() - 1.0)
}

/// `0..n` in a random order.
pub fn permutation(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut rng(seed));
    order
}

pub fn rng(seed: u64) -> Rng {
    Seed(seed).rng()
}

/// Runs on a pool of this many threads.
pub fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// The same clustering of both sides.
pub fn both(cluster: ClusterSpec) -> BridgedClustering {
    let side = SideSpec { cluster, ..SideSpec::default() };
    BridgedClustering { x: side.clone(), y: side, ..Preset::Voting.with_k(1) }
}

pub fn fit_sample(method: &BridgedClustering, sample: &Sample) -> BridgedModel {
    let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
    method.fit(problem, Seed(7), &Silent).unwrap()
}

/// Whether two labellings are the same up to the numbers of the clusters.
pub fn same_partition(a: &[u32], b: &[u32]) -> bool {
    let both: BTreeSet<(u32, u32)> = a.iter().copied().zip(b.iter().copied()).collect();
    let one: BTreeSet<u32> = a.iter().copied().collect();
    let other: BTreeSet<u32> = b.iter().copied().collect();
    a.len() == b.len() && both.len() == one.len() && both.len() == other.len()
}

/// Equal to `share` of the larger one, or of 1e-30.
#[track_caller]
pub fn assert_close(a: f64, b: f64, share: f64, what: &str) {
    let allowed = share * a.abs().max(b.abs()).max(1e-30);
    assert!((a - b).abs() <= allowed, "{what}: {a} and {b}");
}

/// An event that outlives its stage.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    Begin(String, Option<u64>),
    Step(String, u64),
    End(String),
}

/// Writes down every event.
#[derive(Default)]
pub struct Recorder(Mutex<Vec<Seen>>);

impl Recorder {
    pub fn seen(self) -> Vec<Seen> {
        self.0.into_inner().unwrap()
    }
}

impl Watch for Recorder {
    fn on(&self, event: Event<'_>) -> ControlFlow<()> {
        if event == Event::Ask {
            return ControlFlow::Continue(());
        }
        let stage = event.stage().to_string();
        self.0.lock().unwrap().push(match event {
            Event::Begin { total, .. } => Seen::Begin(stage, total),
            Event::Step { done, .. } => Seen::Step(stage, done),
            _ => Seen::End(stage),
        });
        ControlFlow::Continue(())
    }
}

/// Lets this many events pass and breaks at every one after them.
pub struct StopAfter {
    pub events: usize,
    seen: AtomicUsize,
}

impl StopAfter {
    pub fn events(events: usize) -> Self {
        Self { events, seen: AtomicUsize::new(0) }
    }
}

impl Watch for StopAfter {
    fn on(&self, event: Event<'_>) -> ControlFlow<()> {
        // Questions come by the clock; they are answered, not counted.
        let counted = usize::from(event != Event::Ask);
        if self.seen.fetch_add(counted, Ordering::Relaxed) >= self.events {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
