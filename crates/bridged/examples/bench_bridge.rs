//! What the posterior bridge adds to the time of clustering, by the default or by another method.
//!
//! ```text
//! cargo run --release -p bridged --example bench_bridge -- [--cluster kmeans] [--threads 2] [--runs 5]
//! ```
//!
//! One line a case, medians over the runs: seconds to cluster both pools, seconds for everything
//! after that (memberships, links of both directions with every pair left out once, the residual map)
//! and their ratio.

use bridged::BridgedClustering;
use bridged::Event;
use bridged::Problem;
use bridged::cluster::ClusterSpec;
use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{Seed, Watch};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

/// Rows of the x pool and of the y pool, columns of both, clusters, pairs a cluster.
const CASES: [(usize, usize, usize, usize, usize, usize); 7] = [
    (300, 50, 1280, 768, 7, 2),
    (1_015, 168, 1280, 768, 7, 1),
    (1_015, 168, 1280, 768, 7, 4),
    (10_000, 10_000, 128, 64, 20, 4),
    (100_000, 100_000, 64, 64, 50, 4),
    (20_000, 20_000, 64, 64, 200, 2),
    (100_000, 100_000, 64, 64, 200, 5),
];

/// Notes when the bridge begins.
struct Clock(Mutex<Option<Instant>>);

impl Watch for Clock {
    fn on(&self, event: Event<'_>) -> ControlFlow<()> {
        if matches!(event, Event::Begin { stage: "bridge", .. }) {
            *self.0.lock().expect("only stores") = Some(Instant::now());
        }
        ControlFlow::Continue(())
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: usize| {
        let at = args.iter().position(|a| a == name);
        at.map_or(default, |at| args[at + 1].parse().expect("a number"))
    };
    let cluster = args.iter().position(|a| a == "--cluster").map(|at| args[at + 1].as_str());
    let (threads, runs) = (number("--threads", 2), number("--runs", 5));
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("the first pool");
    println!("rows x   rows y   columns    clusters  pairs  cluster s  bridge s  bridge %");
    for (x, y, dim_x, dim_y, k, each) in CASES {
        // In many columns clusters of the same distance overlap less: as blurred in every case.
        let separation = 3.0 * (dim_x.min(dim_y) as f64).powf(0.25);
        let mixture = Mixture { classes: k, dim_x, dim_y, separation, ..Mixture::default() };
        let sizes = Sizes { x, y, test: 1, pairs: Pairs::Stratified(each) };
        let sample = mixture.draw(sizes, Seed(1));
        let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
        let mut method = BridgedClustering::default();
        for side in [&mut method.x, &mut method.y] {
            if let Some(name) = cluster {
                side.cluster = ClusterSpec::named(name).expect("a listed clustering");
            }
            side.cluster = side.cluster.clone().with_k(k);
        }
        let mut seconds: Vec<(f64, f64)> = Vec::new();
        for run in 0..runs {
            let clock = Clock(Mutex::new(None));
            let start = Instant::now();
            method.fit(problem, Seed(run as u64), &clock).expect("a fit");
            let begun = clock.0.into_inner().expect("only stores").expect("a bridge was made");
            seconds.push(((begun - start).as_secs_f64(), begun.elapsed().as_secs_f64()));
        }
        seconds.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let (cluster, bridge) = seconds[runs / 2];
        let (columns, pairs) = (format!("{dim_x} → {dim_y}"), sample.pairs.len());
        let share = 100.0 * bridge / cluster;
        println!(
            "{x:<8} {y:<8} {columns:<11} {k:<8} {pairs:<6} {cluster:<10.4} {bridge:<9.4} {share:.1}"
        );
    }
}
