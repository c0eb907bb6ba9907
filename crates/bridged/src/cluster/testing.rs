//! Data and checks that the tests of several clusterings share.

use crate::cluster::{ClusterError, Clusterer, Clustering, NOISE};
use bridged_math::{Event, Matrix, Seed, Silent, Watch};
use rand::RngExt;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// `n` rows around `k` centres on a coarse grid, 20 apart, each column off by up to ± `spread`; with
/// the number of the centre of each row.
pub(super) fn blobs(n: usize, d: usize, k: usize, spread: f32) -> (Matrix, Vec<u32>) {
    let mut rng = Seed(11).rng();
    let truth: Vec<u32> = (0..n as u32).map(|i| (i * 7 + i / 5) % k as u32).collect();
    let x = Matrix::from_fn(n, d, |i, c| {
        let centre = (truth[i] as usize >> (c % 3)) as f32 * 20.0;
        centre + spread * (rng.random::<f32>() * 2.0 - 1.0)
    });
    (x, truth)
}

/// Two interleaved half circles with a little noise, and which of them each row is from.
pub(super) fn moons(n: usize) -> (Matrix, Vec<u32>) {
    let mut rng = Seed(12).rng();
    let truth: Vec<u32> = (0..n as u32).map(|i| i % 2).collect();
    let x = Matrix::from_fn(n, 2, |i, c| {
        let angle = std::f32::consts::PI * (i / 2) as f32 / (n / 2) as f32;
        let value = match (truth[i], c) {
            (0, 0) => angle.cos(),
            (0, _) => angle.sin(),
            (_, 0) => 1.0 - angle.cos(),
            _ => 0.5 - angle.sin(),
        };
        value + 0.05 * (rng.random::<f32>() - 0.5)
    });
    (x, truth)
}

/// One cluster, as many as rows, one row, one column, duplicates, constant data.
pub(super) fn edge_cases() -> Vec<(Matrix, usize)> {
    let plain = blobs(30, 3, 4, 1.0).0;
    let column = blobs(40, 1, 3, 1.0).0;
    let twice = Matrix::from_fn(40, 2, |i, c| ((i / 2 * (c + 3)) % 7) as f32);
    let constant = Matrix::from_fn(12, 3, |_, _| 4.5);
    vec![
        (plain.clone(), 1),
        (plain, 30),
        (Matrix::zeros(1, 2), 1),
        (column, 3),
        (twice.clone(), 4),
        (twice, 40),
        (constant.clone(), 1),
        (constant.clone(), 5),
        (constant, 12),
    ]
}

/// Labels are canonical and in range, every cluster has a row, centroids are means, and new rows
/// get labels in range.
pub(super) fn check_clustering(x: &Matrix, k: usize, c: &Clustering) {
    assert_eq!((c.k(), c.labels.len()), (k, x.rows()));
    let mut next = 0;
    for &label in c.labels.iter().filter(|l| **l != NOISE) {
        assert!(label <= next, "clusters are numbered by first appearance");
        next = next.max(label + 1);
    }
    assert_eq!(next as usize, k, "every cluster has a row");
    for j in 0..k {
        let rows: Vec<usize> = (0..x.rows()).filter(|&i| c.labels[i] as usize == j).collect();
        assert_eq!(c.sizes[j] as usize, rows.len());
        for col in 0..x.cols() {
            let sum: f64 = rows.iter().map(|&i| f64::from(x.row(i)[col])).sum();
            let mean = (sum / rows.len() as f64) as f32;
            assert!((c.centroids.row(j)[col] - mean).abs() <= 1e-5 * mean.abs().max(1.0));
        }
    }
    assert!(c.assign(x.view()).iter().all(|&l| l == NOISE || (l as usize) < k));
}

/// Whether two labellings group the rows alike, whatever the numbers.
pub(super) fn same_partition(a: &[u32], b: &[u32]) -> bool {
    let (mut there, mut back) = (HashMap::new(), HashMap::new());
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(x, y)| there.entry(x).or_insert(y) == &y && back.entry(y).or_insert(x) == &x)
}

/// Runs `f` on a pool of its own.
pub(super) fn on_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

/// The clusterer reports the stage `name`, and stops when the watch breaks at its first step.
pub(super) fn check_cancellation(clusterer: &dyn Clusterer, name: &str) {
    struct StopAt<'a>(&'a str);
    impl Watch for StopAt<'_> {
        fn on(&self, event: Event<'_>) -> ControlFlow<()> {
            match event {
                Event::Step { stage, .. } if stage == self.0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let (x, _) = moons(400);
    let stopped = clusterer.fit(x.view(), Seed(0), &StopAt(name));
    assert!(matches!(stopped, Err(ClusterError::Cancelled(_))), "{stopped:?}");
    assert!(clusterer.fit(x.view(), Seed(0), &Silent).is_ok());
}
