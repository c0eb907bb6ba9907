//! The same rows clustered at every level of instructions, each in a process of its own.
//!
//! The level is decided once per process, so the test starts itself again with `BRIDGED_SIMD` set
//! and reads what the child found. Labels are the same at all levels. Of centroids, k-means gives
//! the same bytes at all levels: a label is decided in f64 and sums are in f64. So do the other
//! clusterings where their labels are all that the centroids depend on. The parameters of a
//! mixture, which `f32` sums lead to on large data, agree to 1e-4 of the scale of the data with
//! plain, and have the same bytes with AVX2 and AVX-512.

use bridged::cluster::{AssignRule, ClusterSpec, Clusterer};
use bridged::{Matrix, Seed, Silent};
use bridged_math::simd::{Level, VARIABLE};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::process::Command;

/// Where a child writes what it found.
const OUTPUT: &str = "BRIDGED_TEST_FITS";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Fit {
    name: String,
    labels: Vec<u32>,
    centroids: Vec<f32>,
    inertia: f64,
    iterations: u32,
    /// Means of a mixture.
    means: Vec<f32>,
    /// Labels of other rows.
    assigned: Vec<u32>,
}

/// Overlapping groups, the same on every machine.
fn rows(n: usize, d: usize, groups: usize, seed: u64) -> Matrix {
    let mut state = seed;
    let mut uniform = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 24) as f32
    };
    let centres = Matrix::from_fn(groups, d, |_, _| 4.0 * uniform());
    Matrix::from_fn(n, d, |i, j| {
        centres.row(i % groups)[j] + uniform() + uniform() + uniform() - 1.5
    })
}

fn fits() -> Vec<Fit> {
    let mut fits = Vec::new();
    let mut fit = |n: usize, d: usize, spec: serde_json::Value| {
        let all = rows(n + 500, d, 12, (n * d) as u64);
        let (x, others) = (all.view().slice(0..n), all.view().slice(n..n + 500));
        let clusterer: ClusterSpec = serde_json::from_value(spec.clone()).expect("a clustering");
        let found = clusterer.fit(x, Seed(7), &Silent).expect("it fits");
        let means = match &found.rule {
            AssignRule::Mixture(mixture) => mixture.means.data().to_vec(),
            _ => Vec::new(),
        };
        fits.push(Fit {
            name: format!("{spec} {n} × {d}"),
            assigned: found.assign(others),
            labels: found.labels,
            centroids: found.centroids.data().to_vec(),
            inertia: found.inertia,
            iterations: found.iterations,
            means,
        });
    };
    for (n, d, k) in [(4_000, 2, 12), (2_500, 19, 3), (3_000, 64, 30), (1_200, 768, 100)] {
        for method in ["kmeans", "balanced", "minibatch"] {
            fit(n, d, json!({ "method": method, "k": k, "restarts": 2 }));
        }
        fit(n, d, json!({ "method": "balanced", "k": k, "restarts": 2, "descent": "lloyd" }));
        fit(n, d, json!({ "method": "kmeans", "k": k, "restarts": 1, "metric": "cosine" }));
    }
    // Large enough for single precision, too small for it, and full covariances.
    fit(40_000, 12, json!({ "method": "gmm", "k": 12, "restarts": 1 }));
    fit(1_500, 12, json!({ "method": "gmm", "k": 12, "restarts": 1 }));
    fit(1_500, 6, json!({ "method": "gmm", "k": 5, "restarts": 1, "covariance": "full" }));
    fit(600, 10, json!({ "method": "spectral", "k": 6 }));
    for linkage in ["ward", "average"] {
        fit(500, 10, json!({ "method": "agglomerative", "k": 6, "linkage": linkage }));
    }
    fit(800, 3, json!({ "method": "dbscan" }));
    fits
}

fn fits_at(level: Level) -> Vec<Fit> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fits.json");
    let status = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "every_level_finds_the_same_clusters"])
        .env(VARIABLE, level.name())
        .env(OUTPUT, &path)
        .status()
        .expect("the test starts itself");
    assert!(status.success(), "the fits at {level} fail");
    serde_json::from_slice(&std::fs::read(path).expect("what the child wrote")).expect("fits")
}

#[test]
fn every_level_finds_the_same_clusters() {
    if let Some(path) = std::env::var_os(OUTPUT) {
        let found = serde_json::to_vec(&fits()).expect("numbers");
        return std::fs::write(path, found).expect("a file");
    }
    let levels: Vec<Vec<Fit>> = Level::available().into_iter().map(fits_at).collect();
    for other in &levels[1..] {
        for (plain, other) in levels[0].iter().zip(other) {
            let name = &plain.name;
            assert_eq!(plain.labels, other.labels, "{name}");
            assert_eq!(plain.assigned, other.assigned, "{name}");
            assert_eq!(plain.centroids, other.centroids, "{name}");
            assert_eq!(plain.inertia, other.inertia, "{name}");
            for (a, b) in plain.means.iter().zip(&other.means) {
                assert!((a - b).abs() <= 1e-4 * 4.0, "{name}: {a} {b}");
            }
        }
    }
    if let [_, avx2, avx512] = &levels[..] {
        assert_eq!(avx2, avx512);
    }
}
