use super::*;
use crate::cluster::testing::on_threads;
use bridged_math::Silent;
use bridged_math::rows::{InParts, RowsError};
use bridged_math::transport::{Transport, duality_gap};
use rand::RngExt;

fn blobs(n: usize, d: usize, k: usize, spread: f32, seed: u64) -> Matrix {
    let mut rng = Seed(seed).rng();
    let means = Matrix::from_fn(k, d, |_, _| 10.0 * rng.random::<f32>());
    Matrix::from_fn(n, d, |i, j| means.row((i * i) % k)[j] + spread * (rng.random::<f32>() - 0.5))
}

fn by_passes(spec: &BalancedKMeans, rows: &dyn Rows) -> BalancedFit {
    spec.fit_by_passes(rows, Seed(1), &Silent, None, &mut |_| Ok(())).unwrap()
}

fn spec(k: usize) -> BalancedKMeans {
    BalancedKMeans { k, restarts: 2, ..BalancedKMeans::default() }
}

/// Sizes, means and inertia agree with the labels.
fn check(x: &Matrix, fit: &BalancedFit, bounds: std::ops::RangeInclusive<u32>) {
    let c = &fit.clustering;
    let (k, rule) = (c.k(), c.rule.clone());
    let again = Clustering::from_labels(x.view(), c.labels.clone(), k, rule);
    assert_eq!((&again.centroids, &again.sizes), (&c.centroids, &c.sizes));
    assert_eq!(again.inertia.to_bits(), c.inertia.to_bits());
    assert!(c.sizes.iter().all(|s| bounds.contains(s)), "{:?} {bounds:?}", c.sizes);
    assert!(fit.relative_gap < 1e-6, "{}", fit.relative_gap);
}

#[test]
fn parts_and_threads_change_no_bit() {
    let x = blobs(40_000, 9, 12, 9.0, 1);
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let spec = BalancedKMeans { metric, max_iter: 12, ..spec(10) };
        let whole = on_threads(1, || by_passes(&spec, &x.view()));
        check(&x, &whole, 4_000..=4_000);
        assert_eq!(on_threads(2, || by_passes(&spec, &x.view())), whole);
        for len in [997, 30_000] {
            let parts = InParts::new(x.view(), len);
            assert_eq!(on_threads(2, || by_passes(&spec, &parts)), whole, "parts of {len}");
        }
    }
}

#[test]
fn labels_are_the_optimum_for_the_centroids_that_came_to_rest() {
    let x = blobs(5_000, 6, 14, 8.0, 2);
    // To the very end: the centroids are the means of labels that are optimal for them.
    let spec = BalancedKMeans { tol: 0.0, max_iter: 300, ..spec(20) };
    let fit = by_passes(&spec, &x.view());
    assert!(fit.clustering.converged);
    check(&x, &fit, 250..=250);
    let costs = Centres::new(fit.clustering.centroids.view()).squared_distances(x.view());
    let capacity = Capacity::even(5_000, 20);
    let mut transport = Transport::new(capacity.clone());
    transport.solve(&costs).unwrap();
    let cost = |labels: &[u32]| -> f64 {
        labels.iter().enumerate().map(|(i, &l)| f64::from(costs[i * 20 + l as usize])).sum()
    };
    let best: Vec<u32> = transport.labels().collect();
    let (ours, least) = (cost(&fit.clustering.labels), cost(&best));
    assert!(ours <= least * (1.0 + 1e-6), "{ours} {least}");
    let gap = duality_gap(&costs, &capacity, &fit.clustering.labels, transport.prices());
    assert!(gap <= 1e-6 * least, "{gap} {least}");
}

#[test]
fn the_sum_of_squares_is_that_of_the_iteration_in_memory() {
    for (seed, spread) in [(3, 12.0), (4, 24.0)] {
        let x = blobs(40_000, 12, 20, spread, seed);
        let spec = BalancedKMeans { restarts: 1, ..spec(50) };
        let passes = by_passes(&spec, &x.view());
        check(&x, &passes, 800..=800);
        let memory = spec.fit(x.view(), Seed(1), &Silent).unwrap();
        let (ours, theirs) = (passes.clustering.inertia, memory.inertia);
        assert!(ours <= theirs * 1.01, "{ours} {theirs}");
    }
}

#[test]
fn bounds_that_are_given_hold() {
    let x = blobs(6_000, 3, 5, 2.0, 5);
    let with = |min_size, max_size| {
        by_passes(&BalancedKMeans { min_size, max_size, ..spec(7) }, &x.view())
    };
    check(&x, &with(Some(700), None), 700..=6_000);
    check(&x, &with(None, Some(1_000)), 1..=1_000);
    check(&x, &with(Some(600), Some(1_100)), 600..=1_100);
    let uneven = by_passes(&spec(11), &x.view());
    check(&x, &uneven, 545..=546);
}

#[test]
fn one_cluster_as_many_as_rows_duplicates_and_equal_rows() {
    let x = blobs(500, 4, 3, 3.0, 6);
    let one = by_passes(&spec(1), &x.view());
    check(&x, &one, 500..=500);
    let few = blobs(40, 2, 40, 1.0, 7);
    let all = by_passes(&spec(40), &few.view());
    check(&few, &all, 1..=1);
    assert_eq!(all.clustering.inertia, 0.0);
    let equal = Matrix::from_fn(3_000, 2, |_, j| j as f32);
    check(&equal, &by_passes(&spec(7), &equal.view()), 428..=429);
    let twice = Matrix::from_fn(4_000, 2, |i, j| (i % 5 * (j + 1)) as f32);
    check(&twice, &by_passes(&spec(8), &twice.view()), 500..=500);
}

#[test]
fn a_run_that_was_stopped_goes_on_to_the_same_end() {
    let x = blobs(40_000, 5, 9, 8.0, 8);
    let spec = BalancedKMeans { max_iter: 22, tol: 0.0, ..spec(9) };
    let mut states = Vec::new();
    let keep = &mut |state: &BalancedState| {
        states.push(serde_json::to_string(state).unwrap());
        Ok(())
    };
    let whole = spec.fit_by_passes(&x.view(), Seed(1), &Silent, None, keep).unwrap();
    assert!(states.len() >= 2);
    for state in [&states[0], &states[states.len() / 2], &states[states.len() - 1]] {
        let state = Some(serde_json::from_str(state).unwrap());
        let rows = InParts::new(x.view(), 7_000);
        let fit = spec.fit_by_passes(&rows, Seed(1), &Silent, state, &mut |_| Ok(())).unwrap();
        assert_eq!(fit, whole);
    }
}

#[test]
fn a_part_that_is_gone_is_named_and_a_nan_is_found() {
    struct Gone(Matrix);
    impl Rows for Gone {
        fn rows(&self) -> usize {
            self.0.rows()
        }
        fn cols(&self) -> usize {
            self.0.cols()
        }
        fn scan(&self, _: &mut bridged_math::rows::Visit<'_>) -> Result<(), RowsError> {
            Err(RowsError("part-7.parquet is gone; put it back".into()))
        }
    }
    let x = blobs(300, 2, 3, 1.0, 9);
    let error = spec(3).fit_by_passes(&Gone(x.clone()), Seed(0), &Silent, None, &mut |_| Ok(()));
    assert_eq!(error.unwrap_err().to_string(), "part-7.parquet is gone; put it back");
    let mut bad = x;
    bad.row_mut(250)[1] = f32::NAN;
    let rows = InParts::new(bad.view(), 100);
    let error = spec(3).fit_by_passes(&rows, Seed(0), &Silent, None, &mut |_| Ok(()));
    assert_eq!(error.unwrap_err(), ClusterError::NotFinite { row: 250, column: 1 });
}

#[test]
fn a_watch_can_stop_it() {
    use bridged_math::{Cancelled, Event};
    use std::ops::ControlFlow;
    struct Stop;
    impl Watch for Stop {
        fn on(&self, event: Event<'_>) -> ControlFlow<()> {
            match event {
                Event::Step { done: 1.., .. } => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let x = blobs(2_000, 3, 4, 5.0, 4);
    let error = spec(4).fit_by_passes(&x.view(), Seed(0), &Stop, None, &mut |_| Ok(()));
    assert_eq!(error.unwrap_err(), ClusterError::Cancelled(Cancelled));
}
