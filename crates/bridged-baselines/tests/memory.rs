//! What every clustering, bridge and baseline says it needs, beside what it takes.
//!
//! A test of its own, since it counts every byte of the process: one test, one thing at a time.

use bridged::bridge::{BridgeRule, BridgeSpec, PairVote, Votes};
use bridged::cluster::{ClusterError, ClusterSpec, Clusterer};
use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{Matrix, Method, MethodError, Problem, ProblemSize, Seed, Silent};
use bridged_baselines::BaselineSpec;
use bridged_math::memory;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, counted.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    PEAK.fetch_max(HELD.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as the caller promised.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD.fetch_sub(layout.size(), Relaxed);
        grow(size);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What is taken whatever the size: tiles of products, scratch of solvers, a sample for a median.
const CONSTANT: f64 = 6e6;

/// The most bytes that `work` held at once beyond what was there before.
fn peak<T>(work: impl FnOnce() -> T) -> f64 {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    drop(work());
    (PEAK.load(Relaxed) - before) as f64
}

/// Collects what does not hold, so that one run shows all of it.
#[derive(Default)]
struct Report(Vec<String>);

impl Report {
    /// The peak is below one and a half times the estimate, and the estimate is no wild guess: a method
    /// must not be refused that would take a fraction of what it says.
    fn compare(&mut self, what: String, said: u64, took: f64) {
        let said = said as f64;
        eprintln!("{what}: said {:.1} MB, took {:.1} MB", said / 1e6, took / 1e6);
        if took > 1.5 * said + CONSTANT {
            self.0.push(format!("{what}: said {said:.3e}, took {took:.3e}"));
        }
        if said > 4.0 * took + 2.0 * CONSTANT {
            self.0.push(format!("{what}: said {said:.3e}, took only {took:.3e}"));
        }
    }
}

fn rows(n: usize, d: usize) -> Matrix {
    let mut state = 9u64;
    Matrix::from_fn(n, d, |i, _| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (i % 7) as f32 + (state >> 40) as f32 / (1u32 << 24) as f32
    })
}

fn clusterings(report: &mut Report) {
    for entry in ClusterSpec::ALL {
        for (n, d, k) in [(3_000, 8, 5), (4_000, 3, 200), (1_200, 150, 20)] {
            let x = rows(n, d);
            let spec = ClusterSpec::named(entry.name).expect("listed").with_k(k);
            let took = peak(|| spec.fit(x.view(), Seed(1), &Silent));
            report.compare(format!("{} {n} × {d}, k = {k}", entry.name), spec.memory(n, d), took);
        }
    }
    for spec in [
        r#"{"method": "gmm", "k": 6, "covariance": "full", "max_iter": 3, "restarts": 1}"#,
        r#"{"method": "agglomerative", "k": 6, "linkage": "average"}"#,
        r#"{"method": "kmeans", "k": 6, "metric": "cosine"}"#,
    ] {
        let spec: ClusterSpec = serde_json::from_str(spec).expect("a clustering");
        let (n, d) = (1_500, 300);
        let x = rows(n, d);
        let took = peak(|| spec.fit(x.view(), Seed(1), &Silent));
        report.compare(format!("{spec:?} {n} × {d}"), spec.memory(n, d), took);
    }
}

fn bridges(report: &mut Report) {
    for entry in BridgeSpec::ALL {
        let spec = BridgeSpec::named(entry.name).expect("listed");
        let (k, pairs) = (700u32, 60u32);
        let vote = |s: u32| PairVote { x: s * 7 % k, y: s * 11 % k, x_depth: 1.0, y_depth: 1.0 };
        let sizes = vec![3; k as usize];
        let votes = Votes::hard((0..pairs).map(vote).collect(), sizes.clone(), sizes);
        let took = peak(|| spec.link(&votes));
        let said = spec.memory(k as usize, k as usize, pairs as usize);
        report.compare(format!("{} bridge of {k} clusters", entry.name), said, took);
    }
}

fn baselines(report: &mut Report) {
    for entry in BaselineSpec::ALL {
        for (n, m, d, e) in [(1_500, 900, 20, 12), (500, 400, 300, 200)] {
            let mixture = Mixture { classes: 4, dim_x: d, dim_y: e, ..Mixture::default() };
            let sizes = Sizes { x: n, y: m, test: 1, pairs: Pairs::Stratified(5) };
            let s = mixture.draw(sizes, Seed(2));
            let problem = Problem::new(s.x.view(), s.y.view(), &s.pairs);
            let short = short(entry.name);
            let took = peak(|| short.fit(problem, Seed(1), &Silent).map(|_| ()));
            report.compare(
                format!("{} {n} × {d}, {m} × {e}", entry.name),
                short.memory(problem.size()),
                took,
            );
        }
    }
}

/// With few iterations, which change nothing in what it holds.
fn short(name: &str) -> BaselineSpec {
    let mut json = serde_json::to_value(BaselineSpec::named(name).expect("listed")).expect("JSON");
    for field in ["max_iter", "epochs"] {
        if json[field].is_number() {
            json[field] = 5.into();
        }
    }
    serde_json::from_value(json).expect("a baseline")
}

fn refusals() {
    memory::set_limit(8_000_000_000);
    let size = ProblemSize { x: (30_000, 64), y: (30_000, 64), pairs: 40 };
    for name in ["eot", "gw", "fused-gw", "laprls"] {
        let need = BaselineSpec::named(name).expect("listed").memory(size);
        assert!(need > 8_000_000_000, "{name}: {need}");
    }
    memory::set_limit(1_000_000_000);
    let large = rows(20_001, 2);
    let balanced = ClusterSpec::named("balanced").expect("listed").with_k(20_000);
    let error = balanced.fit(large.view(), Seed(0), &Silent).expect_err("it needs 25 GB");
    assert!(matches!(error, ClusterError::TooLarge(_)), "{error}");
    let sentence = error.to_string();
    assert!(
        sentence.starts_with("clustering 20,001 rows of 2 columns: this needs about "),
        "{sentence}"
    );
    assert!(sentence.contains(" GB of memory, and "), "{sentence}");
    let full = r#"{"method": "gmm", "k": 8, "covariance": "full"}"#;
    let full: ClusterSpec = serde_json::from_str(full).expect("a clustering");
    assert!(full.memory(6_000, 5_000) > 4_000_000_000);

    let pool = rows(9_000, 2);
    let problem = Problem::new(pool.view(), pool.view(), &[(0, 0), (5, 5)]);
    let eot = BaselineSpec::named("eot").expect("listed");
    let error = eot.fit(problem, Seed(0), &Silent).err().expect("it needs 1.3 GB");
    assert!(matches!(error, MethodError::TooLarge(_)), "{error}");
    assert!(
        error.to_string().starts_with("eot on 9000 rows of x and 9000 of y: this needs about 1.")
    );
}

#[test]
fn what_is_said_to_be_needed_is_what_is_taken_and_too_much_is_refused_with_the_figure() {
    let mut report = Report::default();
    clusterings(&mut report);
    bridges(&mut report);
    baselines(&mut report);
    assert!(report.0.is_empty(), "{}", report.0.join("\n"));
    refusals();
}
