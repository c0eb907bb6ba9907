//! Drivers over partitions in memory.

use super::*;
use crate::cluster::{Algorithm, Clusterer, Init, KMeans, Metric};
use crate::rows_at::RowsAt;
use crate::scale::{Scale, Scaler};
use crate::settings::{BridgedClustering, Preset};
use crate::side::Names;
use crate::{Direction, Matrix, Seed, Silent};
use bridged_math::MatrixRef;
use rand::RngExt;
use std::cell::Cell;

fn blobs(n: usize, d: usize, groups: usize, spread: f32, seed: u64) -> Matrix {
    let mut rng = Seed(seed).rng();
    let means = Matrix::from_fn(groups, d, |_, _| 10.0 * rng.random::<f32>());
    Matrix::from_fn(n, d, |i, j| {
        means.row(i % groups)[j] + spread * (rng.random::<f32>() + rng.random::<f32>() - 1.0)
    })
}

fn spec(k: usize, start: Start) -> KMeansByPasses {
    KMeansByPasses { k, start, max_iter: 300, tol: 0.0, seed: Seed(3) }
}

fn fit(spec: &KMeansByPasses, rows: &dyn Partitions, view: &View) -> Result<ByPasses, PassError> {
    spec.fit(rows, &look(rows)?, view, None, &mut |_| Ok(()))
}

fn parallel() -> Start {
    Start::Parallel { rounds: 2 }
}

const NOBODY: Doubt = Doubt { below: 0.0, some_below: 0.0, share: 0.0, seed: 0 };
const SOME: Doubt = Doubt { below: 0.5, some_below: 4.0, share: 0.4, seed: 9 };

fn priced(centroids: Matrix, doubt: Doubt, after: Vec<f64>) -> Priced {
    Priced {
        shift: vec![0.25; centroids.cols()],
        prices: vec![0.5, -1.0, 0.25],
        reach: 3.0,
        every: 3,
        sums: if after.is_empty() { Of::Seen } else { Of::Data },
        centroids,
        doubt,
        after,
    }
}

fn mixture(centroids: &Matrix, least: u64) -> Mixture {
    Mixture {
        log_weights: vec![-1.0, -0.9, -1.4],
        means: centroids.data().iter().map(|&v| f64::from(v)).collect(),
        precisions: vec![0.5, 0.7, 0.4],
        shift: vec![0.5; centroids.cols()],
        rough: false,
        counts: false,
        least,
    }
}

fn every_pass(x: &Matrix) -> Vec<Pass> {
    let centroids = x.view().select([0, 7, 9]);
    let affine = Scaler::Affine { shift: vec![1.0; x.cols()], factor: vec![0.5; x.cols()] };
    let views = [
        View::default(),
        View { scaler: affine, metric: Metric::Euclidean },
        View { scaler: Scaler::L2, metric: Metric::Cosine },
    ];
    let works = [
        Work::Look,
        Work::Sample { seed: 5, share: 0.3 },
        Work::Draw { centres: centroids.clone(), seed: 6, rate: 0.01 },
        Work::Assign { centroids: centroids.clone(), sums: Of::Seen, farthest: 4 },
        Work::Assign { centroids: centroids.clone(), sums: Of::Data, farthest: 0 },
        Work::Price(priced(centroids.clone(), NOBODY, Vec::new())),
        Work::Price(priced(centroids.clone(), SOME, vec![1.0, -0.5, 0.25])),
        Work::Mixture(mixture(&centroids, 0)),
        Work::Mixture(Mixture { rough: true, ..mixture(&centroids, 0) }),
        Work::Mixture(Mixture { counts: true, ..mixture(&centroids, 0) }),
        Work::Mixture(mixture(&centroids, 5)),
    ];
    let passes = views.iter().flat_map(|view| {
        works.iter().map(move |work| Pass { view: view.clone(), work: work.clone() })
    });
    passes.collect()
}

#[test]
fn batches_change_no_bit_of_a_partial_result() {
    let x = blobs(700, 6, 4, 3.0, 1);
    let weights: Vec<f64> = (0..700).map(|i| f64::from(i % 5)).collect();
    for pass in every_pass(&x) {
        let weighs = !matches!(pass.work, Work::Price(_) | Work::Mixture(_));
        for weights in [None, weighs.then_some(&weights[..])] {
            let rows = |batch| {
                let rows = Local::new(x.view(), 3).in_batches(batch);
                match weights {
                    Some(weights) => rows.weighted(weights),
                    None => rows,
                }
            };
            let whole = rows(1000).run(&pass).unwrap();
            assert_eq!(whole.len(), 3);
            for batch in [1, 17, 256] {
                assert_eq!(rows(batch).run(&pass).unwrap(), whole, "batches of {batch}");
            }
        }
    }
}

#[test]
fn passes_and_partial_results_survive_the_wire() {
    let x = blobs(90, 4, 3, 2.0, 2);
    for pass in every_pass(&x) {
        let again = Pass::from_bytes(&pass.to_bytes()).unwrap();
        assert_eq!(again, pass);
        for partial in Local::new(x.view(), 2).run(&again).unwrap() {
            let bytes = partial.to_bytes();
            assert_eq!(Partial::from_bytes(&bytes).unwrap(), partial);
            assert!(Partial::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        }
    }
}

#[test]
fn a_look_finds_the_moments_of_all_rows_however_they_are_divided() {
    let mut x = blobs(1000, 3, 5, 2.0, 3);
    x.data_mut().iter_mut().for_each(|v| *v += 5e3); // far from the origin
    let mean = x.view().mean_row();
    for parts in [1, 7, 64] {
        let found = look(&Local::new(x.view(), parts)).unwrap();
        assert_eq!(found.moments.rows(), 1000);
        for c in 0..3 {
            let scatter: f64 = (0..1000).map(|i| (f64::from(x.row(i)[c]) - mean[c]).powi(2)).sum();
            assert!((found.moments.mean[c] - mean[c]).abs() < 1e-8);
            assert!((found.moments.scatter[c] - scatter).abs() < 1e-8 * scatter);
        }
    }
}

#[test]
fn a_sample_has_as_many_rows_as_are_wanted_and_is_spread_over_all() {
    let x = Matrix::from_fn(20_000, 1, |i, _| i as f32);
    let rows = Local::new(x.view(), 9);
    let found = look(&rows).unwrap();
    let some = sample(&rows, &found, 2_000, 1).unwrap();
    assert_eq!(some.len(), 2_000);
    let numbers: Vec<u64> = some.at.iter().map(|&at| found.number(at)).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b));
    assert!(numbers.iter().zip(&some.values).all(|(&n, &v)| n as f32 == v));
    let mean = numbers.iter().sum::<u64>() as f64 / 2_000.0;
    assert!((mean - 10_000.0).abs() < 500.0, "{mean}"); // four standard errors
    assert_eq!(sample(&rows, &found, 30_000, 1).unwrap().len(), 20_000);
}

#[test]
fn from_the_same_start_it_ends_as_lloyds_iteration_in_memory() {
    for seed in 0..4 {
        let x = blobs(3_000, 7, 9, 4.0, seed);
        let start = Init::Random.centroids(&x.view(), 12, Seed(seed)).unwrap();
        let in_memory = KMeans {
            k: 12,
            algorithm: Algorithm::Lloyd,
            init: Init::Given(start.clone()),
            max_iter: 300,
            tol: 0.0,
            ..KMeans::default()
        };
        let expected = in_memory.fit(x.view(), Seed(0), &Silent).unwrap();
        for parts in [1, 5] {
            let rows = Local::new(x.view(), parts);
            let found =
                fit(&spec(12, Start::Given(start.clone())), &rows, &View::default()).unwrap();
            assert!((found.inertia() - expected.inertia).abs() < 1e-6 * expected.inertia);
            let sizes: Vec<u64> = expected.sizes.iter().map(|&s| s.into()).collect();
            assert_eq!(found.sizes, sizes);
            assert!(found.converged);
        }
    }
}

#[test]
fn k_means_parallel_starts_as_well_as_k_means_plus_plus() {
    let (mut by_passes, mut in_memory) = (0.0, 0.0);
    for seed in 0..5 {
        let x = blobs(4_000, 5, 25, 1.0, seed);
        let one = KMeans { k: 25, restarts: 1, ..KMeans::default() };
        in_memory += one.fit(x.view(), Seed(seed), &Silent).unwrap().inertia;
        let one = KMeansByPasses { seed: Seed(seed), ..spec(25, parallel()) };
        by_passes += fit(&one, &Local::new(x.view(), 4), &View::default()).unwrap().inertia();
    }
    assert!(by_passes < 1.1 * in_memory, "{by_passes} {in_memory}");
}

#[test]
fn a_run_that_was_stopped_ends_as_if_it_had_not_been() {
    let x = blobs(2_000, 4, 9, 5.0, 7);
    let rows = Local::new(x.view(), 3);
    let (found, spec) = (look(&rows).unwrap(), spec(9, parallel()));
    let mut states = Vec::new();
    let view = View::default();
    let whole = spec
        .fit(&rows, &found, &view, None, &mut |state| {
            states.push(serde_json::to_vec(state).unwrap());
            Ok(())
        })
        .unwrap();
    assert!(states.len() > 4, "{}", states.len());
    for state in states {
        let state = Some(serde_json::from_slice(&state).unwrap());
        let again = spec.fit(&rows, &found, &view, state, &mut |_| Ok(())).unwrap();
        assert_eq!(again, whole);
    }
}

#[test]
fn a_checkpoint_of_another_fit_is_refused() {
    let x = blobs(200, 4, 3, 2.0, 7);
    let rows = Local::new(x.view(), 3);
    let found = look(&rows).unwrap();
    let mut state = None;
    let mut keep = |now: &KMeansState| {
        state = Some(now.clone());
        Ok(())
    };
    spec(3, parallel()).fit(&rows, &found, &View::default(), None, &mut keep).unwrap();
    let other = blobs(200, 4, 3, 2.0, 8);
    let other = Local::new(other.view(), 3);
    let view = View::default();
    let error = |spec: KMeansByPasses, rows: &Local<'_>, state: &Option<KMeansState>| {
        let found = look(rows).unwrap();
        spec.fit(rows, &found, &view, state.clone(), &mut |_| Ok(())).unwrap_err()
    };
    let differs = |what| PassError::OtherCheckpoint { what };
    assert_eq!(error(spec(3, parallel()), &other, &state), differs("its rows"));
    assert_eq!(error(spec(4, parallel()), &rows, &state), differs("its clusters or columns"));
    let seeded = KMeansByPasses { seed: Seed(4), ..spec(3, parallel()) };
    assert_eq!(error(seeded, &rows, &state), differs("the seeds"));
}

#[test]
fn a_row_of_weight_three_is_three_equal_rows() {
    let x = blobs(300, 3, 3, 3.0, 5);
    let weights: Vec<f64> = (0..300).map(|i| [1.0, 3.0, 0.0][i % 7 % 3]).collect();
    let times = (0..300).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize));
    let repeated = x.view().select(times.collect::<Vec<_>>());
    let start = Start::Given(x.view().select([0, 1, 2]));
    let view = View::default();
    let weighted = Local::new(x.view(), 4).weighted(&weights);
    let weighted = fit(&spec(3, start.clone()), &weighted, &view).unwrap();
    let plain = fit(&spec(3, start), &Local::new(repeated.view(), 2), &view).unwrap();
    assert!((weighted.inertia() - plain.inertia()).abs() < 1e-6 * plain.inertia());
    for (a, b) in weighted.centroids.data().iter().zip(plain.centroids.data()) {
        assert!((a - b).abs() < 1e-5);
    }
    let counts: Vec<f64> = plain.sizes.iter().map(|&s| s as f64).collect();
    assert_eq!(weighted.weights, counts);
}

#[test]
fn a_centroid_without_rows_moves_to_the_farthest_row() {
    let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [50.0]]);
    let start = Start::Given(Matrix::from_rows(&[[0.0], [1e6], [1e6]]));
    let found = fit(&spec(3, start), &Local::new(x.view(), 2), &View::default()).unwrap();
    assert!(found.sizes.iter().all(|&s| s > 0), "{:?}", found.sizes);
    assert!(found.centroids.data().contains(&50.0));
}

#[test]
fn angles_are_compared_without_lengths() {
    let x = Matrix::from_rows(&[[1.0, 0.1], [100.0, 9.0], [0.1, 1.0], [0.2, 50.0]]);
    let view = View { scaler: Scaler::None, metric: Metric::Cosine };
    let found = fit(&spec(2, parallel()), &Local::new(x.view(), 2), &view).unwrap();
    assert_eq!(found.sizes, [2, 2]);
    for row in found.centroids.view().iter_rows() {
        assert!((row.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-6);
    }
}

#[test]
fn what_cannot_be_clustered_is_said_in_a_sentence() {
    let x = Matrix::from_fn(40, 2, |i, _| (i % 4) as f32);
    let rows = Local::new(x.view(), 2);
    let error = |k, start| fit(&spec(k, start), &rows, &View::default()).unwrap_err().to_string();
    let said = "`k` must be between 1 and 4 (different rows that were found), got 5";
    assert_eq!(error(5, parallel()), said);
    assert_eq!(error(5, Start::Random), said);
    assert_eq!(
        error(2, Start::Given(Matrix::zeros(3, 2))),
        "the given centroids are (3, 2) (clusters, columns), but (2, 2) are needed"
    );
    assert_eq!(look(&Local::new(Matrix::zeros(0, 2).view(), 3)), Err(PassError::NoRows));
    let mut bad = x.clone();
    bad.row_mut(25)[1] = f32::NAN;
    let error = look(&Local::new(bad.view(), 2)).unwrap_err().to_string();
    assert_eq!(error, "partition 1, row 5 holds NaN or infinity in column 1; remove or repair it");
    let weights: Vec<f64> = (0..40).map(|i| if i == 3 { -1.0 } else { 1.0 }).collect();
    let error = look(&Local::new(x.view(), 2).weighted(&weights)).unwrap_err().to_string();
    assert_eq!(error, "partition 0, row 3 has a weight that is negative or no number; repair it");
}

/// Rows of which a partition is gone after some passes.
struct Shrinking<'a>(MatrixRef<'a>, Cell<u32>);

impl Partitions for Shrinking<'_> {
    fn run(&self, pass: &Pass) -> Result<Vec<Partial>, PassError> {
        self.1.set(self.1.get() + 1);
        let mut partials = Local::new(self.0, 4).run(pass)?;
        partials.truncate(if self.1.get() > 5 { 3 } else { 4 });
        Ok(partials)
    }
}

#[test]
fn rows_that_change_between_passes_are_noticed() {
    let x = blobs(400, 3, 4, 3.0, 1);
    let rows = Shrinking(x.view(), Cell::new(0));
    let error = fit(&spec(4, parallel()), &rows, &View::default()).unwrap_err();
    assert_eq!(error, PassError::Changed { before: 400, now: 300 });
}

/// Two pools of groups that belong together, pairs of their rows, and new rows with what they should give.
fn task(seed: u64) -> (Matrix, Matrix, Vec<(u32, u32)>) {
    let (x, y) = (blobs(2_400, 6, 4, 1.0, seed), blobs(2_000, 3, 4, 1.0, seed + 100));
    let pairs = (0..12).map(|p| (p, p + 4)).collect();
    (x, y, pairs)
}

/// Every row of a pool in `every`, and those of the pairs.
fn held(pool: &Matrix, every: usize, paired: impl Iterator<Item = u32>) -> HeldRows {
    let mut numbers: Vec<u64> = (0..pool.rows() as u64).step_by(every).collect();
    numbers.extend(paired.map(u64::from));
    numbers.sort_unstable();
    numbers.dedup();
    let rows = pool.view().select(numbers.iter().map(|&n| n as usize).collect::<Vec<_>>());
    let names =
        Names { ids: numbers.iter().map(|n| format!("r{n}")).collect(), ..Names::default() };
    HeldRows { rows, numbers, names, at: RowsAt::default() }
}

fn model(
    settings: &BridgedClustering,
    (x, y, pairs): &(Matrix, Matrix, Vec<(u32, u32)>),
    every: usize,
) -> crate::BridgedModel {
    let side = |pool: &Matrix, spec, held: &HeldRows, name: &str| {
        let rows = Local::new(pool.view(), 5).in_batches(100);
        let found = look(&rows).unwrap();
        let seed = Seed(0).child(name);
        cluster_side(spec, &rows, &found, held, seed, None, &mut |_| Ok(())).unwrap()
    };
    let of_x = held(x, every, pairs.iter().map(|p| p.0));
    let of_y = held(y, every, pairs.iter().map(|p| p.1));
    let place = |held: &HeldRows, row: u32| {
        held.numbers.binary_search(&u64::from(row)).expect("held") as u32
    };
    let pairs: Vec<_> = pairs.iter().map(|p| (place(&of_x, p.0), place(&of_y, p.1))).collect();
    let settings = settings.counted_for(&of_x, &of_y).unwrap();
    let (sx, sy) = (side(x, &settings.x, &of_x, "x"), side(y, &settings.y, &of_y, "y"));
    settings.fit_by_passes((sx, of_x), (sy, of_y), &pairs, Seed(0), &Silent).unwrap()
}

fn kmeans_settings() -> BridgedClustering {
    let mut settings = BridgedClustering::default();
    settings.x.cluster = crate::cluster::ClusterSpec::KMeans(KMeans::default());
    settings.y.cluster = settings.x.cluster.clone();
    settings
}

#[test]
fn a_model_of_partitions_predicts_as_one_of_rows_in_memory() {
    let task = task(1);
    let mut settings = Preset::Default.with_k(4);
    settings.x.cluster = kmeans_settings().x.cluster.with_k(4);
    settings.y.cluster = settings.x.cluster.clone();
    let by_passes = model(&settings, &task, 5);
    let (x, y, pairs) = &task;
    let problem = crate::Problem::new(x.view(), y.view(), pairs);
    let in_memory = settings.fit(problem, Seed(0), &Silent).unwrap();
    assert_eq!(by_passes.x().total(), 2_400);
    assert!(by_passes.x().len() < 600);
    let mut sizes = [by_passes.x().sizes().to_vec(), in_memory.x().sizes().to_vec()];
    sizes.iter_mut().for_each(|s| s.sort_unstable());
    assert_eq!(sizes[0], sizes[1]);
    let new = blobs(200, 6, 4, 1.0, 1);
    let found = by_passes.predict(Direction::Forward, new.view()).unwrap().values;
    let expected = in_memory.predict(Direction::Forward, new.view()).unwrap().values;
    for (a, b) in found.view().iter_rows().zip(expected.view().iter_rows()) {
        let apart = bridged_math::distance::squared_distance(a, b).sqrt();
        assert!(apart < 0.6, "{a:?} {b:?}"); // groups are several units apart
    }
}

#[test]
fn radii_and_means_are_those_of_all_rows_and_not_of_the_sample() {
    let task = task(2);
    let mut settings = kmeans_settings();
    settings.members = crate::Members::One;
    settings.x.cluster = settings.x.cluster.clone().with_k(4);
    settings.y.cluster = settings.x.cluster.clone();
    for scale in [Scale::None, Scale::Standardize] {
        (settings.x.scale, settings.y.scale) = (scale, scale);
        let found = model(&settings, &task, 50);
        let labels = found.x().clustering().assign(found.x().scaler().apply(task.0.view()).view());
        let (means, sizes) = crate::cluster::means_of(task.0.view(), &labels, 4);
        assert_eq!(found.x().sizes(), sizes);
        for (a, b) in found.x().values().data().iter().zip(means.data()) {
            assert!((a - b).abs() < 1e-4, "{scale:?}: {a} {b}");
        }
    }
}

#[cfg(feature = "persist")]
#[test]
fn a_model_of_partitions_is_a_model_file_like_any_other() {
    let found = model(&kmeans_settings(), &task(3), 4);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.bridged");
    found.save(&path).unwrap();
    let again = crate::BridgedModel::load(&path).unwrap();
    assert_eq!(again, found);
    // Rows 0 to 11 are in pairs; of the others one in four is held.
    assert_eq!(again.x().row_in_pool(13), 16);
    assert_eq!(again.x().names().id(13), "r16");
}

/// Counts the bytes that partitions answer with.
struct Counting<'a>(Local<'a>, Cell<usize>);

impl Partitions for Counting<'_> {
    fn run(&self, pass: &Pass) -> Result<Vec<Partial>, PassError> {
        let partials = self.0.run(pass)?;
        let bytes: usize = partials.iter().map(|p| p.to_bytes().len()).sum();
        self.1.set(self.1.get().max(bytes));
        Ok(partials)
    }
}

#[test]
fn what_the_driver_receives_does_not_grow_with_the_rows() {
    let most = |n: usize| {
        let x = blobs(n, 4, 8, 3.0, 2);
        let rows = Counting(Local::new(x.view(), 4), Cell::new(0));
        let spec = KMeansByPasses { max_iter: 3, ..spec(8, parallel()) };
        fit(&spec, &rows, &View::default()).unwrap();
        rows.1.get()
    };
    let (few, many) = (most(8_000), most(80_000));
    assert!(many < few + few / 4, "{few} and {many} bytes");
}
