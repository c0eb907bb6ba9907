//! What every clustering of the one list promises, whatever its name.

use crate::support::*;
use bridged::cluster::{ClusterError, ClusterSpec, Clusterer, Clustering, NOISE};
use bridged::metrics::ami;
use bridged::{Matrix, Seed, Silent};
use bridged_math::distance::squared_distance;
use std::collections::BTreeMap;

/// Labels, sizes, centroids and inertia belong to each other.
fn check(name: &str, x: &Matrix, k: usize, c: &Clustering) {
    assert_eq!(c.labels.len(), x.rows(), "{name}: a label for each row");
    if !finds_k(name) {
        assert_eq!(c.k(), k, "{name}: as many clusters as were asked for");
    }
    assert_eq!((c.centroids.rows(), c.centroids.cols()), (c.k(), x.cols()), "{name}");
    let mut sums = vec![vec![0.0f64; x.cols()]; c.k()];
    let mut counts = vec![0u32; c.k()];
    for (i, &label) in c.labels.iter().enumerate() {
        if label == NOISE {
            assert!(finds_k(name), "{name}: row {i} is noise");
            continue;
        }
        assert!((label as usize) < c.k(), "{name}: row {i} has label {label} of {}", c.k());
        counts[label as usize] += 1;
        sums[label as usize].iter_mut().zip(x.row(i)).for_each(|(s, &v)| *s += f64::from(v));
    }
    assert!(counts.iter().all(|&n| n > 0), "{name}: an empty cluster in {counts:?}");
    assert_eq!(c.sizes, counts, "{name}: sizes");
    let extent = x.data().iter().fold(0.0f64, |m, v| m.max(f64::from(v.abs())));
    for (j, sum) in sums.iter().enumerate() {
        for (&got, s) in c.centroids.row(j).iter().zip(sum) {
            let mean = s / f64::from(counts[j]);
            let allowed = 1e-5 * mean.abs() + 1e-6 * extent;
            assert!((f64::from(got) - mean).abs() <= allowed, "{name}: {got} is not mean {mean}");
        }
    }
    let rows = (0..x.rows()).filter(|&i| c.labels[i] != NOISE);
    let inertia: f64 =
        rows.map(|i| squared_distance(x.row(i), c.centroids.row(c.labels[i] as usize))).sum();
    assert!((c.inertia - inertia).abs() <= 1e-5 * inertia, "{name}: {} {inertia}", c.inertia);
}

fn assert_same_bits(name: &str, a: &Clustering, b: &Clustering) {
    let bits = |c: &Clustering| c.centroids.data().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(a.labels, b.labels, "{name}");
    assert_eq!(bits(a), bits(b), "{name}");
    assert_eq!(a.inertia.to_bits(), b.inertia.to_bits(), "{name}");
    assert_eq!(a, b, "{name}");
}

#[test]
fn labels_sizes_centroids_and_inertia_belong_together_on_clear_and_on_blurred_data() {
    for name in names() {
        for (separation, k) in [(20.0, 4), (3.0, 4), (0.0, 5)] {
            let (x, _) = blobs(4, 203, separation, 1);
            check(name, &x, k, &fit(&spec(name, k), &x));
        }
    }
}

#[test]
fn separated_groups_are_found() {
    for name in names() {
        for (k, seed) in [(2, 1), (3, 2), (5, 3), (6, 4)] {
            let (x, latent) = blobs(k, 60 * k, 20.0, seed);
            let c = fit(&spec(name, k), &x);
            let ami = ami(&c.labels, &latent).unwrap();
            assert!(ami > 0.99, "{name}: AMI {ami} with {k} groups");
        }
    }
}

#[test]
fn every_choice_that_an_algorithm_offers_keeps_the_promises() {
    let choices = [
        ("covariance", ["spherical", "diagonal", "full"].as_slice()),
        ("linkage", &["ward", "average", "complete", "single"]),
        ("algorithm", &["pruned", "lloyd"]),
        ("init", &["plus-plus", "random"]),
        ("eps", &["auto"]),
    ];
    let (x, latent) = blobs(4, 1100, 20.0, 23);
    let (blurred, _) = blobs(4, 220, 2.0, 24);
    let mut tried = 0;
    for name in names() {
        for (field, words) in choices {
            for &word in words {
                let choice = [(field, serde_json::json!(word))];
                let Some(spec) = with_fields(&spec(name, 4), &choice) else { continue };
                tried += 1;
                let c = on_threads(1, || fit(&spec, &x));
                check(name, &x, 4, &c);
                assert_same_bits(name, &c, &on_threads(4, || fit(&spec, &x)));
                check(name, &blurred, 4, &fit(&spec, &blurred));
                if !finds_k(name) && word != "random" {
                    let ami = ami(&c.labels, &latent).unwrap();
                    assert!(ami > 0.99, "{name}, {field} {word}: AMI {ami}");
                    assert_eq!(c.assign(x.view()), c.labels, "{name}, {field} {word}");
                }
            }
        }
    }
    assert!(tried >= 10, "{tried} choices");
}

#[test]
fn groups_far_from_the_origin_are_found() {
    // Distances by ‖x‖² − 2 x·c + ‖c‖² in f32 would be off by more than the groups are apart.
    for name in names() {
        let (mut x, latent) = blobs(4, 200, 20.0, 5);
        x.data_mut().iter_mut().for_each(|v| *v += 1e5);
        let c = fit(&spec(name, 4), &x);
        check(name, &x, 4, &c);
        let (of_labels, of_assign) = (ami(&c.labels, &latent), ami(&c.assign(x.view()), &latent));
        assert!(of_labels.unwrap() > 0.99, "{name}: labels");
        assert!(of_assign.unwrap() > 0.99, "{name}: assign");
    }
}

#[test]
fn the_unit_of_measurement_does_not_matter() {
    for name in names().filter(|n| !finds_k(n)) {
        let (x, _) = blobs(4, 160, 4.0, 6);
        let labels = fit(&spec(name, 4), &x).labels;
        for unit in [2f32.powi(-30), 2f32.powi(30)] {
            let mut scaled = x.clone();
            scaled.data_mut().iter_mut().for_each(|v| *v *= unit);
            let c = fit(&spec(name, 4), &scaled);
            assert!(same_partition(&c.labels, &labels), "{name}: in units of {unit}");
        }
    }
}

#[test]
fn where_the_cosine_metric_is_offered_length_does_not_matter() {
    for name in names() {
        let mut fields = vec![("metric", serde_json::json!("cosine"))];
        if finds_k(name) {
            fields.push(("eps", serde_json::json!(0.05)));
        }
        let Some(cosine) = with_fields(&spec(name, 3), &fields) else { continue };
        // Three directions, lengths from 1 to 1000.
        let jitter = noise(90, 4, 22);
        let x = Matrix::from_fn(90, 4, |i, j| {
            let direction = if j == i % 3 { 1.0 } else { 0.0 };
            (direction + 0.02 * jitter.row(i)[j]) * 10f32.powi(i as i32 % 4)
        });
        let c = fit(&cosine, &x);
        check(name, &x, 3, &c);
        assert!(same_partition(&c.labels, &(0..90).map(|i| i % 3).collect::<Vec<_>>()), "{name}");
        let mut longer = x.clone();
        longer.data_mut().iter_mut().for_each(|v| *v *= 37.0);
        assert_eq!(c.assign(longer.view()), c.labels, "{name}");
    }
}

#[test]
fn equal_input_and_seed_give_equal_results() {
    for name in names() {
        let (x, _) = blobs(5, 240, 3.0, 7);
        assert_same_bits(name, &fit(&spec(name, 5), &x), &fit(&spec(name, 5), &x));
    }
}

#[test]
fn one_thread_and_four_give_the_same_bits() {
    for name in names() {
        // More than two blocks of rows, so that sums over blocks are really folded.
        let (x, _) = blobs(5, 1300, 3.0, 8);
        let spec = spec(name, 5);
        let one = on_threads(1, || fit(&spec, &x));
        let four = on_threads(4, || fit(&spec, &x));
        assert_same_bits(name, &one, &four);
        let (new, _) = blobs(5, 1300, 3.0, 9);
        let assigned = |threads| on_threads(threads, || one.assign(new.view()));
        assert_eq!(assigned(1), assigned(4), "{name}: assign");
    }
}

#[test]
fn permuted_rows_give_permuted_labels() {
    for name in names() {
        let (x, _) = blobs(4, 200, 20.0, 10);
        let order = permutation(x.rows(), 1);
        let permuted = x.view().select(order.iter().copied());
        let (a, b) = (fit(&spec(name, 4), &x), fit(&spec(name, 4), &permuted));
        let expected: Vec<u32> = order.iter().map(|&i| a.labels[i]).collect();
        assert!(same_partition(&expected, &b.labels), "{name}");
    }
}

#[test]
fn duplicate_rows_are_no_trouble() {
    for name in names() {
        // Three distinct rows, thirty times each; with k = 5 some equal rows must part.
        let x = Matrix::from_fn(90, 2, |i, j| ((i % 3) * 40 + j) as f32);
        let c = fit(&spec(name, 3), &x);
        check(name, &x, 3, &c);
        assert!(c.inertia == 0.0, "{name}: {}", c.inertia);
        assert!((0..90).all(|i| c.labels[i] == c.labels[i % 3]), "{name}");
        check(name, &x, 5, &fit(&spec(name, 5), &x));
    }
}

#[test]
fn as_many_clusters_as_rows_leave_every_row_alone() {
    for name in names().filter(|n| !finds_k(n)) {
        for n in [1, 2, 7, 12] {
            let x = noise(n, 3, 11);
            let c = fit(&spec(name, n), &x);
            check(name, &x, n, &c);
            assert!(c.inertia <= 1e-9, "{name}: {}", c.inertia);
        }
    }
}

#[test]
fn a_single_cluster_holds_everything() {
    for name in names().filter(|n| !finds_k(n)) {
        let (x, _) = blobs(3, 75, 6.0, 12);
        let c = fit(&spec(name, 1), &x);
        check(name, &x, 1, &c);
        assert!(c.assign(noise(9, 6, 1).view()).iter().all(|&l| l == 0), "{name}");
    }
}

#[test]
fn one_column_is_enough() {
    for name in names() {
        let jitter = noise(120, 1, 13);
        let x = Matrix::from_fn(120, 1, |i, _| (i % 3) as f32 * 50.0 + jitter.row(i)[0]);
        let c = fit(&spec(name, 3), &x);
        check(name, &x, 3, &c);
        assert!(same_partition(&c.labels, &(0..120).map(|i| i % 3).collect::<Vec<_>>()), "{name}");
    }
}

#[test]
fn more_columns_than_rows_are_no_trouble() {
    for name in names() {
        let jitter = noise(24, 300, 14);
        let far = |i: usize, j: usize| if j % 3 == i % 3 { 9.0 } else { 0.0 };
        let x = Matrix::from_fn(24, 300, |i, j| far(i, j) + 0.1 * jitter.row(i)[j]);
        let c = fit(&spec(name, 3), &x);
        check(name, &x, 3, &c);
        assert!(same_partition(&c.labels, &(0..24).map(|i| i % 3).collect::<Vec<_>>()), "{name}");
    }
}

#[test]
fn constant_data_are_clustered_without_an_empty_cluster() {
    for name in names() {
        let x = Matrix::from_fn(40, 3, |_, j| j as f32 + 0.3);
        for k in [1, 4, 40] {
            let c = fit(&spec(name, k), &x);
            check(name, &x, k, &c);
            assert!(c.assign(x.view()).iter().all(|&l| (l as usize) < c.k()), "{name}");
        }
    }
}

#[test]
fn assign_agrees_with_the_labels_on_separated_data() {
    for name in names() {
        let (x, _) = blobs(5, 300, 20.0, 15);
        let c = fit(&spec(name, 5), &x);
        assert_eq!(c.assign(x.view()), c.labels, "{name}");
    }
}

#[test]
fn labels_are_those_of_assign_however_early_a_run_ends() {
    // Balanced k-means keeps sizes that new rows need not, and spectral clustering asks neighbours.
    let follows_its_rule = |name: &&str| !["balanced", "spectral"].contains(name);
    let mut tried = 0;
    for name in names().filter(follows_its_rule) {
        for (seed, separation) in [(1, 0.0), (2, 2.0), (3, 4.0)] {
            let (x, _) = blobs(6, 700, separation, seed);
            for max_iter in [1, 2, 5] {
                for init in ["plus-plus", "random"] {
                    let fields = [("max_iter", max_iter.into()), ("init", init.into())];
                    let Some(spec) = with_fields(&spec(name, 9), &fields) else { continue };
                    tried += 1;
                    let c = fit(&spec, &x);
                    check(name, &x, 9, &c);
                    assert_eq!(c.assign(x.view()), c.labels, "{name}, {max_iter}, {init}");
                }
            }
        }
    }
    assert!(tried >= 54, "k-means, mini-batch and mixtures: {tried}");
}

#[test]
fn a_distinct_row_for_each_cluster_is_asked_for() {
    let x = Matrix::from_fn(90, 2, |i, j| ((i % 3) * 40 + j) as f32);
    for name in names() {
        let checked = |k: usize| spec(name, k).check_distinct(x.view());
        assert_eq!(checked(3), Ok(()), "{name}");
        let too_few = ClusterError::TooFewDistinct { distinct: 3, k: 7 };
        assert_eq!(checked(7), if finds_k(name) { Ok(()) } else { Err(too_few) }, "{name}");
    }
    let one = ClusterError::TooFewDistinct { distinct: 1, k: 2 }.to_string();
    assert_eq!(one, "there is 1 distinct row, and 2 clusters need at least 2; ask for 1 cluster");
}

#[test]
fn assign_gives_new_rows_a_cluster_near_by() {
    for name in names() {
        let (x, _) = blobs(4, 200, 20.0, 16);
        let c = fit(&spec(name, 4), &x);
        // Near a centroid: that cluster.
        let jitter = noise(400, 6, 2);
        let near =
            Matrix::from_fn(400, 6, |i, j| c.centroids.row(i % c.k())[j] + 0.5 * jitter.row(i)[j]);
        for (i, label) in c.assign(near.view()).into_iter().enumerate() {
            assert_eq!(label as usize, i % c.k(), "{name}");
        }
        // Anywhere: some cluster.
        let anywhere = Matrix::from_fn(400, 6, |i, j| 1e4 * jitter.row(i)[j]);
        let in_range = |&l: &u32| (l as usize) < c.k() || (finds_k(name) && l == NOISE);
        assert!(c.assign(anywhere.view()).iter().all(in_range), "{name}");
        assert!(c.assign(Matrix::zeros(0, 6).view()).is_empty(), "{name}: no rows, no labels");
    }
}

#[test]
fn what_is_wrong_with_the_input_is_said() {
    for name in names() {
        let (x, _) = blobs(3, 30, 20.0, 17);
        let error =
            |k: usize, x: &Matrix| spec(name, k).fit(x.view(), Seed(0), &Silent).unwrap_err();
        if !finds_k(name) {
            assert_eq!(error(31, &x), ClusterError::BadK { k: 31, rows: 30 }, "{name}");
            let none = error(0, &x).to_string();
            assert_eq!(none, "`k` must be a whole number of at least 1, got 0", "{name}");
        }
        assert_eq!(error(3, &Matrix::zeros(0, 4)), ClusterError::NoRows, "{name}");
        assert_eq!(error(3, &Matrix::zeros(9, 0)), ClusterError::NoColumns, "{name}");
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = x.clone();
            x.row_mut(21)[4] = bad;
            assert_eq!(error(3, &x), ClusterError::NotFinite { row: 21, column: 4 }, "{name}");
        }
    }
}

#[test]
fn parameters_of_nothing_are_refused_or_harmless() {
    for name in names() {
        let (x, _) = blobs(3, 45, 6.0, 18);
        let default = spec(name, 3);
        let json = serde_json::to_value(&default).unwrap();
        for (field, value) in json.as_object().unwrap() {
            if !value.is_number() && !value.is_null() {
                continue;
            }
            for odd in [serde_json::json!(0), serde_json::json!(1), serde_json::json!(-1.0)] {
                let Some(spec) = with_fields(&default, &[(field, odd.clone())]) else { continue };
                if let Ok(c) = spec.fit(x.view(), Seed(0), &Silent) {
                    check(name, &x, if field == "k" { 1 } else { 3 }, &c);
                }
            }
        }
    }
}

#[test]
fn a_watch_that_breaks_at_once_stops_the_fit() {
    for name in names() {
        let (x, _) = blobs(4, 200, 3.0, 19);
        let stopped = spec(name, 4).fit(x.view(), Seed(0), &StopAfter::events(0));
        assert!(matches!(stopped, Err(ClusterError::Cancelled(_))), "{name}: {stopped:?}");
    }
}

#[test]
fn a_watch_that_breaks_after_any_step_stops_the_fit() {
    for name in names() {
        let (x, _) = blobs(4, 200, 3.0, 20);
        let spec = spec(name, 4);
        let recorder = Recorder::default();
        on_threads(1, || spec.fit(x.view(), Seed(0), &recorder)).unwrap();
        let seen = recorder.seen();
        let steps: Vec<usize> =
            (0..seen.len()).filter(|&i| matches!(seen[i], Seen::Step(..))).collect();
        assert!(!steps.is_empty(), "{name} can be stopped only before it begins");
        for &at in [steps.first(), steps.get(steps.len() / 2), steps.last()].into_iter().flatten() {
            let watch = StopAfter::events(at);
            let stopped = on_threads(1, || spec.fit(x.view(), Seed(0), &watch));
            assert!(matches!(stopped, Err(ClusterError::Cancelled(_))), "{name} at {at}");
        }
    }
}

#[test]
fn progress_is_well_formed() {
    for name in names() {
        let (x, _) = blobs(4, 200, 3.0, 21);
        for threads in [1, 4] {
            let recorder = Recorder::default();
            on_threads(threads, || spec(name, 4).fit(x.view(), Seed(0), &recorder)).unwrap();
            well_formed(name, &recorder.seen(), threads == 1);
        }
    }
}

/// Stages begin, step forwards, never beyond their total, and end.
fn well_formed(name: &str, events: &[Seen], ordered: bool) {
    let mut open: BTreeMap<String, (Option<u64>, u64)> = BTreeMap::new();
    let mut begun = 0;
    for event in events {
        match event {
            Seen::Begin(stage, total) => {
                begun += 1;
                let before = open.insert(stage.clone(), (*total, 0));
                assert!(before.is_none(), "{name}: {stage} begins twice");
            }
            Seen::Step(stage, done) => {
                let Some((total, last)) = open.get_mut(stage) else {
                    panic!("{name}: {stage} steps but is not under way")
                };
                assert!(total.is_none_or(|t| *done <= t), "{name}: {done} of {total:?} {stage}");
                // Threads may overtake each other on the way to the watch, one cannot.
                assert!(!ordered || done >= last, "{name}: {stage} went from {last} to {done}");
                *last = *done;
            }
            Seen::End(stage) => {
                assert!(open.remove(stage).is_some(), "{name}: {stage} ends but never began");
            }
        }
    }
    assert!(begun > 0 && open.is_empty(), "{name}: {open:?} never ended");
}

#[test]
fn specs_survive_json_and_are_found_by_name() {
    for name in names() {
        let spec = spec(name, 6);
        assert_eq!(spec.name(), name);
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<ClusterSpec>(&json).unwrap(), spec, "{json}");
        let short = format!(r#"{{"method":"{name}"}}"#);
        let default = serde_json::from_str::<ClusterSpec>(&short).unwrap();
        assert_eq!(Some(default), ClusterSpec::named(name), "the defaults need not be written");
        let typo = format!(r#"{{"method":"{name}","restartz":3}}"#);
        assert!(serde_json::from_str::<ClusterSpec>(&typo).is_err(), "{name}: a typo is said");
    }
    assert_eq!(ClusterSpec::named("no-such-thing"), None);
}
