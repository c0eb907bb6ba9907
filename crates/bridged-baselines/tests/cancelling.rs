//! Every clustering, bridge and baseline ends soon after the watch asks it to, wherever it is.
//!
//! The slow test takes data on which each of them works for seconds, and stops it at several times.

use bridged::cluster::{ClusterError, ClusterSpec, Clusterer};
use bridged::{BridgedClustering, Error, Event, Matrix, Method, MethodError, Problem, Seed, Watch};
use bridged_baselines::BaselineSpec;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Breaks from some time on.
struct After(Instant);

impl After {
    fn millis(millis: u64) -> Self {
        Self(Instant::now() + Duration::from_millis(millis))
    }
}

impl Watch for After {
    fn on(&self, _: Event<'_>) -> ControlFlow<()> {
        if Instant::now() >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn rows(n: usize, d: usize, seed: u64) -> Matrix {
    let mut state = seed;
    Matrix::from_fn(n, d, |i, _| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (i % 9) as f32 * 0.3 + (state >> 40) as f32 / (1u32 << 24) as f32
    })
}

/// How long the work went on after it was asked to stop at `millis`; `None` if it was done before.
fn late(millis: u64, work: impl FnOnce(&After) -> Ended) -> Option<Duration> {
    let watch = After::millis(millis);
    match work(&watch) {
        Ended::Cancelled => Some(watch.0.elapsed()),
        Ended::Done => None,
    }
}

enum Ended {
    Done,
    Cancelled,
}

fn of_clustering(spec: &ClusterSpec, x: &Matrix, watch: &After) -> Ended {
    match spec.fit(x.view(), Seed(1), watch) {
        Ok(_) => Ended::Done,
        Err(ClusterError::Cancelled(_)) => Ended::Cancelled,
        Err(error) => panic!("{}: {error}", spec.name()),
    }
}

fn of_method(method: &dyn Method, problem: Problem<'_>, watch: &After) -> Ended {
    match method.fit(problem, Seed(1), watch) {
        Ok(_) => Ended::Done,
        Err(MethodError::Cancelled(_)) => Ended::Cancelled,
        Err(error) => panic!("{}: {error}", method.name()),
    }
}

fn pairs(count: u32, step: u32) -> Vec<(u32, u32)> {
    (0..count).map(|i| (i * step, i * step)).collect()
}

#[test]
fn a_fit_that_is_stopped_says_so_at_once() {
    let x = rows(6_000, 20, 1);
    let mut stopped = 0;
    for entry in ClusterSpec::ALL {
        let spec = ClusterSpec::named(entry.name).expect("listed").with_k(40);
        if let Some(late) = late(20, |watch| of_clustering(&spec, &x, watch)) {
            stopped += 1;
            assert!(late < Duration::from_secs(1), "{} ended {late:?} later", entry.name);
        }
    }
    assert!(stopped >= 3, "{stopped} clusterings were stopped");
}

#[test]
#[ignore = "slow: some minutes on large data"]
fn everything_ends_within_a_second_of_being_asked_to() {
    let mut worst: Vec<(Duration, String)> = Vec::new();
    let mut check = |what: String, work: &dyn Fn(&After) -> Ended| {
        let mut reached = 0;
        for millis in [150, 900, 2_500, 6_000] {
            let Some(late) = late(millis, work) else { break };
            reached = millis;
            worst.push((late, format!("{what} at {millis} ms")));
        }
        eprintln!("{what}: stopped up to {reached} ms");
    };
    let x = rows(40_000, 64, 1);
    for entry in ClusterSpec::ALL {
        let spec = ClusterSpec::named(entry.name).expect("listed").with_k(150);
        check(entry.name.to_string(), &|watch| of_clustering(&spec, &x, watch));
    }
    let wide = rows(3_000, 1_500, 2);
    for spec in [
        r#"{"method": "agglomerative", "k": 9, "linkage": "average"}"#,
        r#"{"method": "gmm", "k": 9, "covariance": "full"}"#,
        r#"{"method": "spectral", "k": 200}"#,
    ] {
        let parsed: ClusterSpec = serde_json::from_str(spec).expect("a clustering");
        let data = if spec.contains("gmm") { &wide } else { &x };
        let data = if spec.contains("average") { rows(24_000, 16, 3) } else { data.clone() };
        check(spec.to_string(), &|watch| of_clustering(&parsed, &data, watch));
    }

    let (x, y) = (rows(5_000, 300, 4), rows(4_500, 250, 5));
    let pairs = pairs(600, 7);
    let problem = Problem::new(x.view(), y.view(), &pairs);
    for entry in BaselineSpec::ALL {
        let spec = BaselineSpec::named(entry.name).expect("listed");
        check(entry.name.to_string(), &|watch| of_method(&spec, problem, watch));
    }
    // Wide pools: principal components are most of the work.
    let (x, y) = (rows(2_600, 2_500, 6), rows(2_600, 2_400, 7));
    let problem = Problem::new(x.view(), y.view(), &pairs[..300]);
    for name in ["ridge", "pls", "cca", "em"] {
        let spec = BaselineSpec::named(name).expect("listed");
        check(format!("wide {name}"), &|watch| of_method(&spec, problem, watch));
    }
    // Many clusters and pairs: the chain of the posterior bridge, and leaving pairs out.
    let (x, y) = (rows(6_000, 16, 8), rows(6_000, 16, 9));
    let problem = Problem::new(x.view(), y.view(), &pairs);
    let bridged = BridgedClustering::with_k(600);
    check(
        "bridged, 600 clusters".to_string(),
        &|watch| match bridged.fit(problem, Seed(1), watch) {
            Ok(_) => Ended::Done,
            Err(Error::Cancelled(_)) => Ended::Cancelled,
            Err(error) => panic!("{error}"),
        },
    );

    worst.sort_by_key(|(late, _)| std::cmp::Reverse(*late));
    let slowest: Vec<String> =
        worst.iter().take(12).map(|(l, what)| format!("{what}: {l:?}")).collect();
    eprintln!("{}", slowest.join("\n"));
    let too_late = worst.iter().filter(|(late, _)| *late >= Duration::from_secs(1)).count();
    assert_eq!(too_late, 0, "{}", slowest.join("\n"));
}
