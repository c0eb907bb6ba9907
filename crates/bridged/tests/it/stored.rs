//! Pools that are not in memory: what is fitted from parts is what is fitted from a matrix.

use crate::support::{blobs, names, sizes, spec};
use bridged::cluster::{ClusterError, Clusterer};
use bridged::scale::Scale;
use bridged::settings::{KeepRows, Members, PairRows};
use bridged::synth::{Mixture, Pairs, Sample};
use bridged::{BridgedClustering, BridgedModel, Pool, Preset, StoredPool};
use bridged::{Names, Seed, Silent};
use bridged_math::rows::{InParts, Rows, RowsError, Visit};

fn sample() -> Sample {
    let mixture = Mixture { classes: 4, dim_x: 6, dim_y: 5, separation: 6.0, ..Mixture::default() };
    mixture.draw(sizes(700, 610, 1, Pairs::Stratified(4)), Seed(3))
}

fn in_memory(settings: &BridgedClustering, s: &Sample) -> BridgedModel {
    let settings = BridgedClustering { keep_rows: KeepRows::No, ..settings.clone() };
    let pool = |rows: &bridged::Matrix| Pool { rows: rows.clone(), ..Pool::default() };
    settings.fit_pools(pool(&s.x), pool(&s.y), &s.pairs, Seed(5), &Silent).expect("plain data")
}

fn in_parts(settings: &BridgedClustering, s: &Sample, len: usize) -> BridgedModel {
    let (x, y) = (InParts::new(s.x.view(), len), InParts::new(s.y.view(), len / 2 + 1));
    let settings = BridgedClustering { keep_rows: KeepRows::No, ..settings.clone() };
    settings.fit_stored(pool(&x), pool(&y), &s.pairs, Seed(5), &Silent).expect("plain data")
}

fn pool(rows: &dyn Rows) -> StoredPool<'_> {
    StoredPool { rows, names: Names::default(), offset: Default::default() }
}

fn with_clusters(name: &str, k: usize) -> BridgedClustering {
    let mut settings = Preset::Default.with_k(k);
    (settings.x.cluster, settings.y.cluster) = (spec(name, k), spec(name, k));
    settings
}

#[test]
fn a_model_from_parts_is_the_model_from_memory() {
    let s = sample();
    for name in ["kmeans", "minibatch"] {
        for members in [Members::One, Members::Ladder] {
            let settings = BridgedClustering { members, ..with_clusters(name, 4) };
            let expected = in_memory(&settings, &s);
            for len in [1, 64, 500, 10_000] {
                assert!(in_parts(&settings, &s, len) == expected, "{name}, parts of {len}");
            }
        }
    }
}

#[test]
fn scaling_and_pairs_that_stay_apart_are_the_same_from_parts() {
    let s = sample();
    let scales = [Scale::Standardize, Scale::L2, Scale::Pca { components: 3 }];
    for (scale, pair_rows) in
        scales.into_iter().zip([PairRows::Apart, PairRows::Pooled, PairRows::Apart])
    {
        let mut settings = BridgedClustering { pair_rows, ..with_clusters("kmeans", 4) };
        (settings.x.scale, settings.y.scale) = (scale, scale);
        assert!(in_parts(&settings, &s, 90) == in_memory(&settings, &s), "{scale:?}");
    }
}

#[test]
fn every_clustering_takes_rows_in_passes_or_says_that_it_cannot() {
    let (x, _) = blobs(5, 900, 8.0, 1);
    for name in names() {
        let spec = spec(name, 5);
        let parts = InParts::new(x.view(), 100);
        let passes = spec.memory_of_passes(900, 6).is_some();
        match spec.fit_rows(&parts, Seed(2), &Silent) {
            Ok(found) => {
                assert!(passes, "{name} says what memory it takes");
                assert_eq!(found, spec.fit(x.view(), Seed(2), &Silent).unwrap(), "{name}");
            }
            Err(ClusterError::NeedsMemory { .. }) => assert!(!passes, "{name}"),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

/// A source that breaks after some passes.
struct Breaks<'a> {
    rows: InParts<'a>,
    passes: std::sync::atomic::AtomicUsize,
    good: usize,
}

impl Rows for Breaks<'_> {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn cols(&self) -> usize {
        self.rows.cols()
    }

    fn scan(&self, visit: &mut Visit<'_>) -> Result<(), RowsError> {
        let before = self.passes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut parts = 0;
        self.rows.scan(&mut |first, part| {
            parts += 1;
            if before >= self.good && parts > 2 {
                return Err(RowsError("`x/part-2.parquet` has changed".into()));
            }
            visit(first, part)
        })
    }
}

#[test]
fn a_source_that_breaks_in_any_pass_is_named_and_gives_no_model() {
    let s = sample();
    let settings = with_clusters("kmeans", 4);
    let y = InParts::new(s.y.view(), 100);
    let run = |good: usize| {
        let rows = InParts::new(s.x.view(), 100);
        let x = Breaks { rows, passes: 0.into(), good };
        let fitted = settings.fit_stored(pool(&x), pool(&y), &s.pairs, Seed(5), &Silent);
        (fitted.map(|_| ()).map_err(|e| e.to_string()), x.passes.into_inner())
    };
    let (whole, passes) = run(usize::MAX);
    assert_eq!(whole, Ok(()));
    for good in 0..passes {
        assert_eq!(run(good).0, Err("`x/part-2.parquet` has changed".to_string()), "pass {good}");
    }
}
