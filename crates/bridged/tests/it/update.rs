//! A model that goes on living: more pairs, new rows, rows that must go.

use crate::support::{names, sizes, spec};
use bridged::settings::{KeepRows, Members, PairRows};
use bridged::synth::{Mixture, Pairs, Sample};
use bridged::update::{Update, Updated};
use bridged::{
    BridgedClustering, BridgedModel, Direction, Error, Keep, Matrix, Names, PartAt, Pool, Preset,
    RowsAt, Seed, Silent, StoredPool,
};
use bridged_math::rows::InParts;

fn sample(x: usize, y: usize, pairs: usize) -> Sample {
    let mixture = Mixture { classes: 4, dim_x: 5, dim_y: 3, separation: 9.0, ..Mixture::default() };
    mixture.draw(sizes(x, y, 200, Pairs::Stratified(pairs)), Seed(3))
}

fn named(rows: &Matrix, from: usize, to: usize) -> Pool {
    let names = Names {
        ids: (from..to).map(|row| format!("row-{row}")).collect(),
        id: Some("id".into()),
        ..Names::default()
    };
    Pool { rows: rows.view().select(from..to), names, ..Pool::default() }
}

fn fit(
    settings: &BridgedClustering,
    s: &Sample,
    n: (usize, usize),
    pairs: &[(u32, u32)],
) -> BridgedModel {
    let (x, y) = (named(&s.x, 0, n.0), named(&s.y, 0, n.1));
    settings.fit_pools(x, y, pairs, Seed(5), &Silent).expect("plain data")
}

fn settings() -> [(&'static str, BridgedClustering); 4] {
    let one = BridgedClustering { members: Members::One, ..Preset::Default.with_k(4) };
    let mut plain = BridgedClustering::with_k(4);
    (plain.x.cluster, plain.y.cluster) = (spec("kmeans", 4), spec("kmeans", 4));
    [
        ("default", BridgedClustering::default()),
        ("one member", one),
        ("k-means", plain),
        ("paper", Preset::Paper.with_k(4)),
    ]
}

/// Nothing but these pairs.
fn with_pairs(model: &BridgedModel, pairs: &[(u32, u32)]) -> Updated {
    let (x, y) = (model.x().changed("x", None, &[]), model.y().changed("y", None, &[]));
    let update = model.begin_update(x.unwrap(), y.unwrap());
    model.update(Update { pairs: pairs.to_vec(), ..update }, &Silent).unwrap()
}

#[test]
fn more_pairs_give_the_bytes_of_a_fit_with_all_pairs() {
    let s = sample(400, 380, 12);
    let n = (s.x.rows(), s.y.rows());
    for (name, settings) in settings() {
        let (few, more) = s.pairs.split_at(5);
        let model = fit(&settings, &s, n, few);
        let expected = fit(&settings, &s, n, &s.pairs);
        let updated = with_pairs(&model, more);
        assert_eq!(updated.model.to_bytes().unwrap(), expected.to_bytes().unwrap(), "{name}");
        assert_eq!(updated.changes.pairs.added, more.len());
        // One by one, and some that are known.
        let step = with_pairs(&model, &s.pairs[3..8]).model;
        let steps = with_pairs(&step, &s.pairs[6..]);
        assert_eq!(steps.changes.pairs.known, 2, "{name}");
        assert_eq!(steps.model.to_bytes().unwrap(), expected.to_bytes().unwrap(), "{name}");
    }
}

#[test]
fn an_update_with_nothing_new_changes_no_byte() {
    let s = sample(300, 300, 8);
    for (name, settings) in settings() {
        let model = fit(&settings, &s, (300, 300), &s.pairs);
        let same = with_pairs(&model, &s.pairs);
        assert_eq!(same.model.to_bytes().unwrap(), model.to_bytes().unwrap(), "{name}");
        assert!(same.changes.links.iter().all(|link| !link.is_worth_a_look(1e-12)), "{name}");
    }
}

#[test]
fn new_rows_end_where_k_means_with_all_rows_ends_and_clusters_keep_their_numbers() {
    let s = sample(600, 560, 8);
    let pairs: Vec<(u32, u32)> =
        s.pairs.iter().copied().filter(|p| p.0 < 300 && p.1 < 280).collect();
    assert!(pairs.len() >= 2, "some pairs are of the first rows");
    for (name, settings) in settings() {
        let model = fit(&settings, &s, (300, 280), &pairs);
        let all = fit(&settings, &s, (600, 560), &pairs);
        let x = model.x().changed("x", Some(named(&s.x, 300, 600)), &[]).unwrap();
        let y = model.y().changed("y", Some(named(&s.y, 280, 560)), &[]).unwrap();
        let updated = model.update(model.begin_update(x, y), &Silent).unwrap();
        let (now, changes) = (&updated.model, &updated.changes);
        assert_eq!((now.x().len(), now.y().len()), (600, 560), "{name}");
        assert_eq!((changes.x.added, changes.x.forgotten), (300, 0));
        assert_eq!(now.x().names().id(599), "row-599");
        // The groups lie far apart, so that most rows stay where they were.
        assert!(changes.x.moved * 20 < 300 || name == "default", "{name}: {}", changes.x.moved);
        if name != "default" {
            let worse = now.x().clustering().inertia / all.x().clustering().inertia;
            assert!(worse < 1.02, "{name}: {worse}");
        }
        let error = |model: &BridgedModel| {
            let said = model.predict(Direction::Forward, s.test_x.view()).unwrap();
            let off = |i: usize| {
                let row = said.values.row(i).iter().zip(s.test_y.row(i));
                row.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
            };
            (0..s.test_x.rows()).map(off).sum::<f64>()
        };
        let ratio = error(now) / error(&all);
        assert!(ratio < 1.05, "{name}: {ratio}");
        assert_eq!(BridgedModel::from_bytes(&now.to_bytes().unwrap(), "m".as_ref()).unwrap(), *now);
    }
}

#[test]
fn a_row_that_is_forgotten_leaves_nothing_in_the_file() {
    let s = sample(200, 200, 8);
    let model = fit(&BridgedClustering::default(), &s, (200, 200), &s.pairs);
    let gone = s.pairs[0];
    let x = model.x().changed("x", None, &[gone.0 as usize]).unwrap();
    let y = model.y().changed("y", None, &[]).unwrap();
    let updated = model.update(model.begin_update(x, y), &Silent).unwrap();
    let of_row = s.pairs.iter().filter(|p| p.0 == gone.0).count();
    assert_eq!(updated.changes.pairs.forgotten, of_row);
    assert_eq!(updated.model.pairs().len(), s.pairs.len() - of_row);
    assert_eq!(updated.model.x().len(), 199);
    // Neither its name nor one of its numbers, wherever they stood.
    let bytes = updated.model.to_bytes().unwrap();
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|w| w == part);
    let row: Vec<u8> = s.x.row(gone.0 as usize).iter().flat_map(|v| v.to_le_bytes()).collect();
    assert!(holds(&model.to_bytes().unwrap(), &row), "the model held the row");
    assert!(!holds(&bytes, &row));
    // Pairs name the rows that they named before.
    let ids = |model: &BridgedModel| -> Vec<(String, String)> {
        let id = |p: &(u32, u32)| {
            (model.x().names().id(p.0 as usize), model.y().names().id(p.1 as usize))
        };
        model.pairs().iter().map(id).collect()
    };
    let stay: Vec<_> =
        ids(&model).into_iter().filter(|p| p.0 != format!("row-{}", gone.0)).collect();
    assert_eq!(ids(&updated.model), stay);
}

#[test]
fn the_last_pair_cannot_be_forgotten() {
    let s = sample(60, 60, 1);
    let model = fit(&BridgedClustering::with_k(4), &s, (60, 60), &s.pairs[..1]);
    let x = model.x().changed("x", None, &[s.pairs[0].0 as usize]).unwrap();
    let y = model.y().changed("y", None, &[]).unwrap();
    let error = model.update(model.begin_update(x, y), &Silent).unwrap_err();
    assert!(matches!(error, Error::NoPairs), "{error}");
}

#[test]
fn a_new_group_is_offered_and_becomes_a_cluster_on_demand_only() {
    let s = sample(300, 300, 6);
    for (name, settings) in settings().into_iter().skip(1) {
        let model = fit(&settings, &s, (300, 300), &s.pairs);
        let far = Matrix::from_fn(40, 5, |i, j| 400.0 + ((i * 7 + j * 3) % 11) as f32 * 0.1);
        let mut pool = named(&s.x, 0, 40);
        pool.names.ids = (0..40).map(|row| format!("new-{row}")).collect();
        pool.rows = far;
        let update = |new_clusters: bool, forgetting: f64| {
            let x = model.x().changed("x", Some(pool.clone()), &[]).unwrap();
            let y = model.y().changed("y", None, &[]).unwrap();
            let update = Update { new_clusters, forgetting, ..model.begin_update(x, y) };
            model.update(update, &Silent).unwrap()
        };
        let offered = update(false, 0.0);
        let region = &offered.changes.x.regions[0];
        assert_eq!((region.ids.len(), region.added), (40, false), "{name}");
        assert!(region.away > 5.0 && region.by_chance < 1.0, "{name}: {region:?}");
        assert_eq!(offered.model.x().k(), 4, "{name}");
        let added = update(true, 0.0);
        assert_eq!(added.model.x().k(), 5, "{name}");
        assert_eq!(added.changes.links.len(), 5, "{name}");
        assert!(added.changes.links[4].rows[0].is_none(), "{name}");
        let running = update(true, 0.5);
        assert!(running.model.x().labels()[300..].iter().all(|&label| label == 4), "{name}");
        assert_eq!(running.changes.x.moved, 0, "{name}: what stays keeps its cluster");
    }
}

#[test]
fn older_rows_count_less_by_the_rate_each_time() {
    let x = Matrix::from_rows(&[[0.0f32], [2.0], [100.0], [102.0]]);
    let mut settings = BridgedClustering { members: Members::One, ..Preset::Default.with_k(2) };
    (settings.x.cluster, settings.y.cluster) = (spec("kmeans", 2), spec("kmeans", 2));
    let pool = |rows: &[[f32; 1]]| Pool { rows: Matrix::from_rows(rows), ..Pool::default() };
    let whole = Pool { rows: x, ..Pool::default() };
    let pairs = [(0, 0), (2, 2)];
    let model = settings.fit_pools(whole.clone(), whole, &pairs, Seed(0), &Silent).unwrap();
    let near = model.x().labels()[0] as usize;
    assert_eq!(model.x().values().row(near)[0], 1.0);
    let add = |model: &BridgedModel, rows: &[[f32; 1]]| {
        let x = model.x().changed("x", Some(pool(rows)), &[]).unwrap();
        let y = model.y().changed("y", None, &[]).unwrap();
        let update = Update { forgetting: 0.5, ..model.begin_update(x, y) };
        model.update(update, &Silent).unwrap().model
    };
    // Two rows of mean 1 count as one; one new row.
    let once = add(&model, &[[3.0]]);
    assert_eq!(once.x().values().row(near)[0], 2.0);
    // What counted as two counts as one.
    let read = BridgedModel::from_bytes(&once.to_bytes().unwrap(), "m".as_ref()).unwrap();
    let twice = add(&read, &[[4.0]]);
    assert_eq!(twice.x().values().row(near)[0], 3.0);
    assert_eq!(twice.x().len(), 6);
}

#[test]
fn a_pool_in_files_takes_new_rows_and_knows_what_a_fit_of_all_knows() {
    let mixture = Mixture { classes: 4, dim_x: 3, dim_y: 2, separation: 9.0, ..Mixture::default() };
    let s = mixture.draw(sizes(15_000, 10_500, 50, Pairs::Stratified(4)), Seed(3));
    let mut settings = BridgedClustering { members: Members::One, ..Preset::Default.with_k(4) };
    (settings.x.cluster, settings.y.cluster) = (spec("kmeans", 4), spec("kmeans", 4));
    let at = |name: &str, rows: u64| RowsAt {
        names: vec![name.into()],
        parts: vec![PartAt {
            name: name.into(),
            rows,
            bytes: 1,
            stamp: "1".into(),
            fingerprint: None,
        }],
        missing: None,
    };
    let names = |rows: &[usize]| Names {
        ids: rows.iter().map(|row| format!("row-{row}")).collect(),
        id: Some("id".into()),
        ..Names::default()
    };
    let names_of = |rows: &[usize]| Ok(names(rows));
    let fit = |n: usize, pairs: &[(u32, u32)]| {
        let x = s.x.view().select(0..n);
        let (x, y) = (InParts::new(x.view(), 777), InParts::new(s.y.view(), 999));
        let keep = |name, rows| Some(Keep { names_of: &names_of, at: at(name, rows) });
        let pool = |rows, keep| StoredPool {
            rows,
            names: Names::default(),
            offset: Default::default(),
            keep,
        };
        let (x_keep, y_keep) = (keep("x.csv", n as u64), keep("y.csv", 10_500));
        settings.fit_stored(pool(&x, x_keep), pool(&y, y_keep), pairs, Seed(5), &Silent).unwrap()
    };
    let early: Vec<(u32, u32)> = s.pairs.iter().copied().filter(|p| p.0 < 12_000).collect();
    let (model, all) = (fit(12_000, &early), fit(15_000, &early));
    let added = named(&s.x, 12_000, 15_000);
    let x = model.x().changed_in_files("x", added, at("more.csv", 3_000)).unwrap();
    let place = |id: String| (0..13_100).position(|row| x.names().id(row) == id).unwrap() as u32;
    let pair = (place("row-14000".into()), 0);
    let y = model.y().changed("y", None, &[]).unwrap();
    let update = Update { pairs: vec![pair], ..model.begin_update(x.clone(), y) };
    let updated = model.update(update, &Silent).unwrap();
    let now = &updated.model;
    assert_eq!((now.x().total(), updated.changes.x.added), (15_000, 3_000));
    assert_eq!(now.x().sizes().iter().sum::<u32>(), 15_000);
    let (last, held) = (now.pairs().last().unwrap(), now.x().len());
    assert_eq!(now.x().names().id(last.0 as usize), "row-14000");
    assert_eq!(now.x().row_in_pool(last.0 as usize), 14_000);
    assert!((10_000..10_000 + 20).contains(&held), "{held}");
    let at = now.x().rows_at().unwrap();
    assert_eq!(at.parts.iter().map(|part| part.rows).collect::<Vec<_>>(), [12_000, 3_000]);
    // Rows, names and numbers belong together still.
    for row in [0, 5_000, held - 1] {
        let number = now.x().row_in_pool(row);
        assert_eq!(now.x().names().id(row), format!("row-{number}"));
        assert_eq!(now.x().rows().unwrap().row(row), s.x.row(number));
    }
    for (a, b) in now.x().mean().iter().zip(all.x().mean()) {
        assert!((a - b).abs() < 1e-4, "the mean of all rows: {a} and {b}");
    }
    let matched = |row: usize| {
        let away = |other: usize| {
            let pairs = now.x().values().row(row).iter().zip(all.x().values().row(other));
            pairs.map(|(a, b)| (a - b).powi(2)).sum::<f32>()
        };
        (0..4).map(away).fold(f32::INFINITY, f32::min)
    };
    assert!((0..4).all(|row| matched(row) < 1e-3), "means of clusters");
    let off = now.x().clustering().inertia / all.x().clustering().inertia - 1.0;
    assert!(off.abs() < 1e-3, "{off}");
    assert_eq!(BridgedModel::from_bytes(&now.to_bytes().unwrap(), "m".as_ref()).unwrap(), *now);
}

#[test]
fn what_cannot_be_updated_says_what_to_do() {
    let s = sample(80, 80, 3);
    let say = |model: &BridgedModel, rows: bool| {
        let added = rows.then(|| named(&s.x, 0, 1)).map(|mut pool| {
            pool.names.ids = vec!["new".into()];
            pool
        });
        let x = model.x().changed("x", added, &[]).unwrap();
        let y = model.y().changed("y", None, &[]).unwrap();
        let update = Update { pairs: vec![(79, 79)], ..model.begin_update(x, y) };
        model.update(update, &Silent).map(|_| ()).map_err(|e| e.to_string())
    };
    for name in names() {
        let mut settings = BridgedClustering { members: Members::One, ..Preset::Default.with_k(4) };
        settings.x.cluster = spec(name, 4);
        let model = fit(&settings, &s, (80, 80), &s.pairs);
        assert_eq!(say(&model, false), Ok(()), "{name}: pairs are no matter of the clustering");
        match ["kmeans", "balanced", "minibatch"].contains(&name) {
            true => assert_eq!(say(&model, true), Ok(()), "{name}"),
            false => {
                let said = say(&model, true).unwrap_err();
                assert!(said.contains(name) && said.contains("fit again with all rows"), "{said}");
            }
        }
    }
    let apart = BridgedClustering { pair_rows: PairRows::Apart, ..Preset::Default.with_k(4) };
    let said = say(&fit(&apart, &s, (80, 80), &s.pairs), false).unwrap_err();
    assert!(said.contains("fit again with all pairs"), "{said}");
    let bare = BridgedClustering { keep_rows: KeepRows::No, ..Preset::Default.with_k(4) };
    let said = say(&fit(&bare, &s, (80, 80), &s.pairs), false).unwrap_err();
    assert!(said.contains("holds no rows"), "{said}");
}
