//! Pools that are not in memory: what is fitted from parts is what is fitted from a matrix.

use crate::support::{blobs, names, sizes, spec};
use bridged::cluster::{ClusterError, Clusterer};
use bridged::scale::Scale;
use bridged::settings::{KeepRows, Members, PairRows};
use bridged::synth::{Mixture, Pairs, Sample};
use bridged::{BridgedClustering, BridgedModel, Keep, PartAt, Pool, Preset, RowsAt, StoredPool};
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
    StoredPool { rows, names: Names::default(), offset: Default::default(), keep: None }
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
fn a_model_of_pools_in_passes_keeps_some_rows_and_knows_where_all_are() {
    let mixture = Mixture { classes: 4, dim_x: 3, dim_y: 2, separation: 9.0, ..Mixture::default() };
    let s = mixture.draw(sizes(12_000, 10_500, 50, Pairs::Stratified(4)), Seed(3));
    let settings = with_clusters("kmeans", 4);
    let names = |rows: &[usize]| Names {
        ids: rows.iter().map(|row| format!("r{row}")).collect(),
        id: Some("id".into()),
        ..Names::default()
    };
    let names_of = |rows: &[usize]| Ok(names(rows));
    let part = |name: &str| PartAt {
        name: name.into(),
        rows: 1,
        bytes: 2,
        stamp: "now".into(),
        fingerprint: Some("44bc2cf5ad770999".into()),
    };
    let parts = vec![part("a"), part("b")];
    let at = RowsAt { names: vec!["parts/".into()], parts, missing: Some("drop".into()) };
    let (x, y) = (InParts::new(s.x.view(), 1_000), InParts::new(s.y.view(), 999));
    let keep = || Some(Keep { names_of: &names_of, at: at.clone() });
    let pools = |rows| StoredPool { keep: keep(), ..pool(rows) };
    let model =
        settings.fit_stored(pools(&x), pools(&y), &s.pairs, Seed(5), &Silent).expect("plain data");
    assert_eq!((model.x().total(), model.y().total()), (12_000, 10_500));
    assert!(model.x().len() > 9_999 && model.x().len() < 10_020, "{}", model.x().len());
    assert_eq!(model.x().rows_at(), Some(&at));
    for (&(x, y), &(kept_x, kept_y)) in s.pairs.iter().zip(model.pairs()) {
        assert_eq!(model.x().names().id(kept_x as usize), format!("r{x}"));
        assert_eq!(model.y().row_in_pool(kept_y as usize), y as usize);
        assert_eq!(model.y().rows().unwrap().row(kept_y as usize), s.y.row(y as usize));
    }

    let whole = in_memory(&settings, &s);
    let forward = bridged::Direction::Forward;
    let (a, b) = (model.predict(forward, s.test_x.view()), whole.predict(forward, s.test_x.view()));
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_eq!(a.values, b.values);
    let all = BridgedClustering { keep_rows: KeepRows::Yes, ..settings };
    let pool = |rows: &bridged::Matrix| Pool { rows: rows.clone(), ..Pool::default() };
    let whole = all.fit_pools(pool(&s.x), pool(&s.y), &s.pairs, Seed(5), &Silent).unwrap();
    let nearest = model.nearest_in(forward, &y, a.values.view(), 3).unwrap();
    assert_eq!(nearest, whole.nearest(forward, b.values.view(), 3).unwrap());

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.bridged");
    model.save(&path).unwrap();
    let loaded = BridgedModel::load(&path).unwrap();
    assert!(loaded == model);
    assert_eq!(loaded.x().rows_at(), Some(&at));
}

#[test]
fn rows_without_ids_keep_the_numbers_that_they_have_in_the_pool() {
    let mixture = Mixture { classes: 4, dim_x: 3, dim_y: 2, separation: 9.0, ..Mixture::default() };
    let s = mixture.draw(sizes(30_000, 25_000, 1, Pairs::Stratified(4)), Seed(3));
    let names_of = |_: &[usize]| Ok(Names::default());
    let (x, y) = (InParts::new(s.x.view(), 7_000), InParts::new(s.y.view(), 9_000));
    let keep = || Some(Keep { names_of: &names_of, at: RowsAt::default() });
    let pools = |rows| StoredPool { keep: keep(), ..pool(rows) };
    let settings = BridgedClustering { members: Members::One, ..with_clusters("kmeans", 4) };
    let model =
        settings.fit_stored(pools(&x), pools(&y), &s.pairs, Seed(5), &Silent).expect("plain data");
    for (&(x, y), &(kept_x, kept_y)) in s.pairs.iter().zip(model.pairs()) {
        assert_eq!(model.x().names().id(kept_x as usize), x.to_string());
        assert_eq!(model.y().names().id(kept_y as usize), y.to_string());
    }
    for direction in [bridged::Direction::Forward, bridged::Direction::Reverse] {
        assert_eq!(
            model.verdict(direction).covered,
            in_memory(&settings, &s).verdict(direction).covered
        );
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
