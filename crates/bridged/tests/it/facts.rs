//! One test for each way in which the published experiment code departs from the paper, where it
//! concerns the core. Each would fail on that code.

use crate::support::*;
use bridged::bridge::LinkStatus;
use bridged::cluster::{ClusterSpec, Clusterer};
use bridged::metrics::{LabelledRows, bridging};
use bridged::synth::{Mixture, Pairs};
use bridged::{BridgedClustering, Direction, PairRows, Preset, Problem, Source, Status};
use bridged::{Matrix, Seed, Silent};

/// Three groups of five rows on each side, at 0, 100 and 200 (x) and 0, 1000 and 2000 (y).
fn three_groups() -> (Matrix, Matrix) {
    let at =
        |unit: f32| Matrix::from_fn(15, 1, |i, _| (i / 5) as f32 * unit + (i % 5) as f32 - 2.0);
    (at(100.0), at(1000.0))
}

fn fit_pairs(x: &Matrix, y: &Matrix, pairs: &[(u32, u32)], seed: u64) -> bridged::BridgedModel {
    let problem = Problem::new(x.view(), y.view(), pairs);
    Preset::Voting.with_k(3).fit(problem, Seed(seed), &Silent).unwrap()
}

#[test]
fn an_input_cluster_without_a_pair_never_maps_to_output_cluster_0() {
    let (x, y) = three_groups();
    for seed in 0..12 {
        let model = fit_pairs(&x, &y, &[(0, 0), (5, 10)], seed);
        let prediction = model.predict(Direction::Forward, x.view().slice(10..15)).unwrap();
        let why = prediction.explain(0);
        assert_eq!(why.status, Status::Link(LinkStatus::NoEvidence));
        assert_eq!(why.source, Source::Mean);
        assert!(why.links.is_empty() && why.linked.is_none());
        assert!(prediction.values.data().iter().all(|&v| v == 1000.0), "the mean of the pool");
    }
}

#[test]
fn a_tie_never_takes_the_lowest_index() {
    let (x, y) = three_groups();
    let mut winners = std::collections::BTreeSet::new();
    for seed in 0..12 {
        // Group 0 of x has a pair on the border of y group 0, and one on the mean of y group 2.
        let model = fit_pairs(&x, &y, &[(2, 4), (2, 12), (7, 7)], seed);
        let prediction = model.predict(Direction::Forward, x.view().slice(0..1)).unwrap();
        assert_eq!(prediction.values.data(), [2000.0], "the deeper pair decides");
        assert_eq!(prediction.explain(0).status, Status::Link(LinkStatus::Tied));
        winners.insert(prediction.explain(0).links[0].cluster);
    }
    assert!(winners.len() > 1, "the test saw several numberings");
}

#[test]
fn seven_pairs_at_random_leave_a_third_of_seven_clusters_without_any_and_stratified_ones_none() {
    let mixture = Mixture { classes: 7, separation: 14.0, ..Mixture::default() };
    let uncovered = |pairs: Pairs| {
        let share = |seed: u64| {
            let s = mixture.draw(sizes(280, 280, 0, pairs), Seed(seed));
            let model = fit_sample(&Preset::Voting.with_k(7), &s);
            let links = &model.regressor(Direction::Forward).bridge().links;
            links.iter().filter(|l| l.status == LinkStatus::NoEvidence).count() as f64 / 7.0
        };
        (0..30).map(share).sum::<f64>() / 30.0
    };
    let iid = uncovered(Pairs::Iid(7));
    assert!((iid - (6.0f64 / 7.0).powi(7)).abs() < 0.06, "{iid} of the clusters, .34 expected");
    assert_eq!(uncovered(Pairs::Stratified(1)), 0.0);
}

#[test]
fn the_pairs_belong_to_both_pools_unless_that_is_switched_off() {
    // The rows of the pair lie far from everything: a clustering that saw them shows it.
    let (mut x, mut y) = three_groups();
    x.row_mut(14)[0] = 290.0;
    y.row_mut(14)[0] = 2900.0;
    let pairs = [(0, 0), (5, 5), (14, 14)];
    let fit = |pair_rows: PairRows| {
        let method = BridgedClustering { pair_rows, ..Preset::Voting.with_k(3) };
        method.fit(Problem::new(x.view(), y.view(), &pairs), Seed(0), &Silent).unwrap()
    };
    let pooled = fit(PairRows::Pooled);
    assert_eq!(pooled.x().sizes(), [5, 5, 5]);
    assert!((pooled.y().mean()[0] - y.view().mean_row()[0] as f32).abs() < 0.01);

    let apart = fit(PairRows::Apart);
    let mut sizes = apart.x().sizes().to_vec();
    sizes.sort_unstable();
    assert_eq!(sizes, [4, 4, 4], "the clustering did not see the paired rows");
    // Exactly what a fit on the other rows alone gives.
    let rest = |m: &Matrix| m.view().select((0..15).filter(|i| ![0, 5, 14].contains(i)));
    let (rest_x, rest_y) = (rest(&x), rest(&y));
    let alone = |m: &Matrix, side: &str| {
        spec("kmeans", 3).fit(m.view(), Seed(0).child(side), &Silent).unwrap()
    };
    assert_eq!(apart.x().clustering().centroids, alone(&rest_x, "x").centroids);
    assert_eq!(apart.y().clustering().centroids, alone(&rest_y, "y").centroids);
    assert_eq!(apart.y().mean()[0], rest_y.view().mean_row()[0] as f32);
    // They vote all the same, and every row of the pool has a label.
    assert_eq!(apart.votes(Direction::Forward).pairs.len(), 3);
    assert_eq!(apart.x().labels().len(), 15);
    assert_eq!(apart.x().labels()[14], apart.x().labels()[13]);
    let far = apart.predict(Direction::Forward, x.view().slice(14..15)).unwrap();
    assert_eq!(far.values.data(), [1999.5], "the mean of y rows 10 to 13");
}

#[test]
fn pairs_vote_with_the_label_of_the_clustering_and_later_points_use_assign() {
    // Balanced sizes force row 3, which is nearest to the left centroid, into the right cluster.
    let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [8.0], [50.0], [51.0]]);
    let y = Matrix::from_rows(&[[0.0], [1.0], [2.0], [100.0], [101.0], [102.0]]);
    let method = Preset::Paper.with_k(2);
    let pairs = [(0, 0), (3, 4)];
    let model = method.fit(Problem::new(x.view(), y.view(), &pairs), Seed(0), &Silent).unwrap();
    let labels = model.x().labels();
    assert_eq!(labels[3], labels[4], "its size-constrained label");
    assert_ne!(labels[3], labels[0]);
    let assigned = model.x().assign(x.view());
    assert_eq!(assigned[3], labels[0], "assign does not re-impose the sizes");
    // The pair voted for the right cluster, so that cluster leads to 101.
    assert_eq!(model.votes(Direction::Forward).pairs[1].x, labels[3]);
    let links = model.predict(Direction::Forward, x.view()).unwrap();
    assert_eq!(links.values.data()[4], 101.0);
    // As a new row the same point is assigned to the left; as a row of the pool it stays.
    assert_eq!(links.values.data()[3], 1.0);
    let pool = model.predict_pool(Direction::Forward).unwrap();
    assert_eq!((pool.values.data()[3], pool.clusters[3]), (101.0, labels[3]));
}

#[test]
fn the_preset_paper_is_balanced_k_means_with_ten_restarts_and_equal_sizes() {
    let method = Preset::Paper.with_k(4);
    for side in [&method.x, &method.y] {
        assert_eq!(side.cluster.name(), "balanced");
        let json = serde_json::to_value(&side.cluster).unwrap();
        assert_eq!((&json["k"], &json["restarts"]), (&4.into(), &10.into()));
        assert_eq!(side.scale, bridged::scale::Scale::None);
    }
    assert_eq!(method.bridge.name(), "majority");
    assert_eq!(method.refine.kind, bridged::RefineKind::None);
    assert_eq!(method.pair_rows, PairRows::Pooled);
    // Sizes ⌊n/C⌋ to ⌈n/C⌉ even where the groups are not.
    for (n, lo, hi) in [(83, 20, 21), (80, 20, 20), (82, 20, 21)] {
        let x =
            Matrix::from_fn(n, 1, |i, _| if i < 60 { i as f32 * 0.01 } else { 500.0 + i as f32 });
        let sizes = fit(&method.x.cluster, &x).sizes;
        assert!(sizes.iter().all(|s| (lo..=hi).contains(s)), "{sizes:?}");
    }
}

#[test]
fn every_primitive_can_stand_in_for_balanced_k_means() {
    let mixture =
        Mixture { classes: 3, dim_x: 5, dim_y: 4, separation: 20.0, ..Mixture::default() };
    let s = mixture.draw(sizes(120, 90, 30, Pairs::Stratified(1)), Seed(3));
    assert!(ClusterSpec::ALL.len() >= 6);
    for name in names() {
        let model = fit_sample(&both(spec(name, 3)), &s);
        let scores =
            model.evaluate(s.test_x.view(), s.test_y.view(), Some(&s.test_latent)).unwrap();
        assert_eq!(scores.latent.unwrap().forward.metrics.get("accuracy"), Some(1.0), "{name}");
    }
}

#[test]
fn reversed_bridging_accuracy_is_not_scored_with_the_forward_truth_or_its_inverse() {
    // Three classes whose clusters are numbered in a cycle, so that no map is its own inverse; the
    // bridge of class 2 is learned wrongly in one direction only.
    let classes: Vec<u32> = (0..30).map(|i| i / 10).collect();
    let x = Matrix::from_fn(30, 1, |i, _| classes[i] as f32 * 100.0 + (i % 10) as f32);
    let y = Matrix::from_fn(30, 1, |i, _| classes[i] as f32 * 1000.0 + (i % 10) as f32);
    let pairs = [(0, 0), (1, 1), (10, 10), (20, 11), (21, 12), (22, 20), (11, 13), (12, 14)];
    for seed in 0..10 {
        let model = fit_pairs(&x, &y, &pairs, seed);
        let latent = model.evaluate(x.view(), y.view(), Some(&classes)).unwrap().latent.unwrap();
        // x2 → y1 by two votes to one; y1 → x1 by three votes to two; y2 → x2.
        assert!((latent.forward.metrics.get("accuracy").unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(
            latent.reverse.metrics.get("accuracy").unwrap(),
            1.0,
            "the reverse bridge is right in all classes"
        );
        assert_close(
            latent.forward.metrics.get("epsilon_b").unwrap(),
            1.0 / 3.0,
            1e-12,
            "a third of the rows",
        );
        assert_eq!(latent.reverse.metrics.get("epsilon_b").unwrap(), 0.0);
        let truth = &latent.reverse.truth;
        for (a, b) in truth.iter().enumerate() {
            let class = |labels: &[u32], cluster: usize| {
                classes[labels.iter().position(|&l| l as usize == cluster).unwrap()]
            };
            let (from, to) = (model.y().labels(), model.x().labels());
            assert_eq!(class(from, a), class(to, b.unwrap() as usize));
        }
        // Scored against the forward truth, as the published code does, it would often be wrong.
        let (sx, sy) = (
            LabelledRows { labels: model.x().labels(), classes: &classes },
            LabelledRows { labels: model.y().labels(), classes: &classes },
        );
        let links = model.regressor(Direction::Reverse).bridge().best();
        let rescored = bridging(sy, sx, &links).unwrap();
        assert_eq!(rescored.truth, latent.reverse.truth);
        let by_name = |name| latent.reverse.metrics.get(name);
        assert_eq!(Some(rescored.accuracy), by_name("accuracy"));
        assert_eq!(Some(rescored.epsilon_b), by_name("epsilon_b"));
        assert_eq!(rescored.by_majority, latent.reverse.by_majority);
    }
}

#[test]
fn test_rows_are_assigned_and_never_clustered() {
    // The inductive setting is what its name says: unseen rows change nothing in the model.
    let (x, y) = three_groups();
    let model = fit_pairs(&x, &y, &[(0, 0), (5, 5), (10, 10)], 1);
    let before = model.clone();
    let new = Matrix::from_rows(&[[150.0], [-1e6], [1e6]]);
    let one_by_one: Vec<f32> = (0..3)
        .flat_map(|i| {
            model
                .predict(Direction::Forward, new.view().slice(i..i + 1))
                .unwrap()
                .values
                .into_data()
        })
        .collect();
    let together = model.predict(Direction::Forward, new.view()).unwrap();
    assert_eq!(together.values.data(), one_by_one, "rows are predicted on their own");
    assert_eq!(model, before);
}
