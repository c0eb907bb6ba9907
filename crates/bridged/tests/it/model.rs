//! Fit, predict and diagnose: refinement, scaling, leave-one-out, warnings, neighbours, errors.

use crate::support::*;
use bridged::bridge::{BridgeSpec, LinkStatus};
use bridged::cluster::{ClusterSpec, NOISE};
use bridged::metrics::mse;
use bridged::scale::Scale;
use bridged::synth::{Mixture, Pairs, Sample};
use bridged::{Matrix, Seed, Silent};
use bridged_math::distance::squared_distance;

use bridged::{
    Alpha, Anchor, Ask, BridgedClustering, BridgedModel, Direction, Error, Explanation, Grade,
    LeaveOneOut, LocalMap, Names, PairRows, Pool, Preset, Problem, Refine, RefineKind, Source,
    Status, TextColumn, Uncovered,
};
use std::collections::BTreeSet;

const KINDS: [RefineKind; 2] = [RefineKind::Supervised, RefineKind::SupervisedCentroid];

fn refined(k: usize, kind: RefineKind, alpha: Alpha) -> BridgedClustering {
    let refine = Refine { kind, alpha, ridge: 1.0 };
    BridgedClustering { refine, ..Preset::Voting.with_k(k) }
}

fn forward_mse(model: &BridgedModel, s: &Sample) -> f64 {
    let prediction = model.predict(Direction::Forward, s.test_x.view()).unwrap();
    mse(prediction.values.view(), s.test_y.view()).unwrap()
}

/// Separated classes within which y is a linear function of x, plus a little noise.
fn linear_within_classes() -> Sample {
    let mixture =
        Mixture { classes: 3, dim_x: 3, dim_y: 3, separation: 14.0, ..Mixture::default() };
    let mut s = mixture.draw(sizes(240, 240, 120, Pairs::Stratified(25)), Seed(3));
    let follow = |x: &[f32], class: u32, y: &mut [f32], means_x: &Matrix, means_y: &Matrix| {
        let (from, to) = (means_x.row(class as usize), means_y.row(class as usize));
        for j in 0..3 {
            let along = x[(j + 1) % 3] - from[(j + 1) % 3];
            y[j] = to[j] + 1.5 * along + 0.2 * (y[j] - to[j]);
        }
    };
    for &(a, b) in &s.pairs {
        let class = s.latent_x[a as usize];
        follow(s.x.row(a as usize), class, s.y.row_mut(b as usize), &s.means_x, &s.means_y);
    }
    for i in 0..s.test_latent.len() {
        let class = s.test_latent[i];
        follow(s.test_x.row(i), class, s.test_y.row_mut(i), &s.means_x, &s.means_y);
    }
    s
}

#[test]
fn predictions_are_means_of_the_linked_cluster_and_pool_rows_keep_their_label() {
    let s = Mixture { separation: 3.0, ..Mixture::default() }
        .draw(sizes(200, 180, 40, Pairs::Stratified(3)), Seed(1));
    let model = fit_sample(&Preset::Voting.with_k(5), &s);
    for (direction, rows) in [(Direction::Forward, &s.test_x), (Direction::Reverse, &s.test_y)] {
        let prediction = model.predict(direction, rows.view()).unwrap();
        assert_eq!((prediction.len(), prediction.is_empty()), (40, false));
        assert_eq!(prediction.clusters, model.from(direction).assign(rows.view()));
        let values = model.to(direction).values();
        for i in 0..40 {
            let target = prediction.explain(i).links[0].cluster;
            assert_eq!(prediction.values.row(i), values.row(target as usize));
        }
        let pool = model.predict_pool(direction).unwrap();
        assert_eq!(pool.clusters, model.from(direction).labels());
    }
    let none = model.predict(Direction::Forward, Matrix::zeros(0, 16).view()).unwrap();
    assert!(none.is_empty() && none.values.rows() == 0);
}

#[test]
fn without_alpha_refinement_gives_exactly_the_centroid() {
    let s = linear_within_classes();
    let plain = fit_sample(&Preset::Voting.with_k(3), &s);
    for kind in KINDS {
        let model = fit_sample(&refined(3, kind, Alpha::Fixed(0.0)), &s);
        for (direction, rows) in [(Direction::Forward, &s.test_x), (Direction::Reverse, &s.test_y)]
        {
            let values = |m: &BridgedModel| m.predict(direction, rows.view()).unwrap().values;
            assert!(values(&model) == values(&plain), "{kind:?}");
        }
    }
}

#[test]
fn refinement_helps_where_y_follows_x_within_clusters() {
    let s = linear_within_classes();
    let plain = forward_mse(&fit_sample(&Preset::Voting.with_k(3), &s), &s);
    for kind in KINDS {
        let model = fit_sample(&refined(3, kind, Alpha::Auto), &s);
        let alpha = model.regressor(Direction::Forward).alpha();
        assert!((0.7..=1.0).contains(&alpha), "{kind:?}: α = {alpha}");
        let error = forward_mse(&model, &s);
        // The other clusters' centroids ask for a map between clusters as well as within.
        let share = if kind == RefineKind::Supervised { 0.25 } else { 0.7 };
        assert!(error < share * plain, "{kind:?}: {error} with, {plain} without");
        let check = model.regressor(Direction::Forward).leave_one_out().unwrap();
        assert!(check.bridge < 1.2 * share * plain, "leaving one out shows it, too: {check:?}");
        let half = fit_sample(&refined(3, kind, Alpha::Fixed(0.5)), &s);
        assert!((error..plain).contains(&forward_mse(&half, &s)), "half way is in between");
    }
}

#[test]
fn automatic_alpha_stays_near_zero_where_the_sides_are_independent_within_clusters() {
    let mut alphas = Vec::new();
    for seed in 0..6 {
        let mixture =
            Mixture { classes: 3, dim_x: 4, dim_y: 4, separation: 14.0, ..Mixture::default() };
        let s = mixture.draw(sizes(300, 300, 300, Pairs::Stratified(12)), Seed(seed));
        let plain = forward_mse(&fit_sample(&Preset::Voting.with_k(3), &s), &s);
        for kind in KINDS {
            let model = fit_sample(&refined(3, kind, Alpha::Auto), &s);
            let alpha = model.regressor(Direction::Forward).alpha();
            assert!((0.0..0.5).contains(&alpha), "α = {alpha}");
            alphas.push(alpha);
            let error = forward_mse(&model, &s);
            assert!(error < 1.03 * plain, "{kind:?}, seed {seed}: {error} {plain}");
        }
    }
    assert!(alphas.iter().sum::<f64>() / 12.0 < 0.15, "{alphas:?}");
}

#[test]
fn two_pairs_in_1280_dimensions_do_not_blow_up() {
    let mixture =
        Mixture { classes: 2, dim_x: 1280, dim_y: 640, separation: 90.0, ..Mixture::default() };
    for pairs in [1, 2] {
        let s = mixture.draw(sizes(50, 50, 40, Pairs::Stratified(pairs)), Seed(4));
        let plain = forward_mse(&fit_sample(&Preset::Voting.with_k(2), &s), &s);
        for kind in KINDS {
            for alpha in [Alpha::Fixed(1.0), Alpha::Auto] {
                let error = forward_mse(&fit_sample(&refined(2, kind, alpha), &s), &s);
                assert!(error < 1.3 * plain, "{pairs} pairs, {kind:?} {alpha:?}: {error} {plain}");
            }
        }
    }
}

#[test]
fn predictions_are_in_the_units_of_the_data_whatever_the_scaling() {
    let mixture =
        Mixture { classes: 4, dim_x: 6, dim_y: 5, separation: 16.0, ..Mixture::default() };
    let mut s = mixture.draw(sizes(200, 160, 80, Pairs::Stratified(2)), Seed(5));
    let units = [1.0f32, 1000.0, 0.01, 30.0, 1.0];
    for m in [&mut s.y, &mut s.test_y] {
        for i in 0..m.rows() {
            m.row_mut(i).iter_mut().zip(units).for_each(|(v, u)| *v *= u);
        }
    }
    for scale in [Scale::None, Scale::Standardize, Scale::Pca { components: 4 }] {
        let mut method = Preset::Voting.with_k(4);
        (method.x.scale, method.y.scale) = (Scale::Standardize, scale);
        let model = fit_sample(&method, &s);
        let prediction = model.predict(Direction::Forward, s.test_x.view()).unwrap();
        for i in 0..10 {
            let target = prediction.explain(i).links[0].cluster;
            let members: Vec<usize> =
                (0..160).filter(|&r| model.y().labels()[r] == target).collect();
            let mean = s.y.view().select(members).view().mean_row();
            for (&got, mean) in prediction.values.row(i).iter().zip(mean) {
                assert_close(f64::from(got), mean, 1e-4, &format!("{scale:?}"));
            }
        }
        let values = prediction.values.view();
        let nearest = &model.nearest(Direction::Forward, values, 1).unwrap()[0];
        assert_eq!(
            model.y().labels()[nearest[0].row as usize],
            prediction.explain(0).links[0].cluster
        );
    }
}

#[test]
fn l2_scaling_sees_only_directions_and_predicts_rows_of_full_length() {
    let jitter = noise(60, 2, 6);
    let rows = Matrix::from_fn(60, 2, |i, j| {
        let length = 10f32.powi(i as i32 % 3);
        length * (if j == i % 2 { 5.0 } else { 0.0 } + 0.1 * jitter.row(i)[j])
    });
    let mut method = Preset::Voting.with_k(2);
    (method.x.scale, method.y.scale) = (Scale::L2, Scale::L2);
    let pairs = [(0, 0), (1, 1)];
    let problem = Problem::new(rows.view(), rows.view(), &pairs);
    let model = method.fit(problem, Seed(0), &Silent).unwrap();
    let parity: Vec<u32> = (0..60).map(|i| i % 2).collect();
    assert!(same_partition(model.x().labels(), &parity));
    let prediction = model.predict(Direction::Forward, rows.view().slice(0..2)).unwrap();
    let even = rows.view().select((0..60).step_by(2)).view().mean_row();
    assert_close(f64::from(prediction.values.row(0)[0]), even[0], 1e-5, "the mean of the rows");
    assert!(even[0] > 100.0, "rows of length 5, 50 and 500");
}

#[test]
fn with_standardised_columns_their_units_do_not_matter() {
    let mixture = Mixture { classes: 4, separation: 5.0, ..Mixture::default() };
    let s = mixture.draw(sizes(240, 200, 60, Pairs::Stratified(2)), Seed(7));
    let mut method = Preset::Voting.with_k(4);
    (method.x.scale, method.y.scale) = (Scale::Standardize, Scale::Standardize);
    let base = fit_sample(&method, &s).predict(Direction::Forward, s.test_x.view()).unwrap();
    let unit = |j: usize| 2f32.powi((j as i32 % 5 - 2) * 6);
    let scaled = |m: &Matrix| Matrix::from_fn(m.rows(), m.cols(), |i, j| m.row(i)[j] * unit(j));
    let other = Sample { x: scaled(&s.x), y: scaled(&s.y), test_x: scaled(&s.test_x), ..s.clone() };
    let prediction =
        fit_sample(&method, &other).predict(Direction::Forward, other.test_x.view()).unwrap();
    assert_eq!(prediction.clusters, base.clusters);
    for (got, want) in prediction.values.data().iter().zip(scaled(&base.values).data()) {
        assert_close(f64::from(*got), f64::from(*want), 1e-4, "predictions follow the units");
    }
    // Unscaled, a column in a small unit drowns the others.
    let unscaled = fit_sample(&Preset::Voting.with_k(4), &other);
    assert_ne!(
        unscaled.predict(Direction::Forward, other.test_x.view()).unwrap().clusters,
        base.clusters
    );
}

/// Leave-one-out as its definition has it, by hand: majority votes, means and maps made anew
/// without the pair; the clusterings are kept. `s` is the sample as the direction sees it: its
/// inputs are `x`.
fn leave_one_out_by_hand(model: &BridgedModel, direction: Direction, s: &Sample) -> LeaveOneOut {
    let (votes, method) = (model.votes(direction), model.settings());
    let (from, to) = (model.from(direction), model.to(direction));
    let alpha = model.regressor(direction).alpha();
    let (voters, paired): (BTreeSet<usize>, BTreeSet<usize>) =
        s.pairs.iter().map(|&(a, b)| (a as usize, b as usize)).unzip();
    let apart = method.pair_rows == PairRows::Apart;
    let centroids = &from.clustering().centroids;
    let radius = |cluster: u32| -> f64 {
        let rows = (0..s.x.rows())
            .filter(|&r| from.labels()[r] == cluster && !(apart && voters.contains(&r)));
        let squared: Vec<f64> =
            rows.map(|r| squared_distance(s.x.row(r), centroids.row(cluster as usize))).collect();
        (squared.iter().sum::<f64>() / squared.len().max(1) as f64).sqrt()
    };
    let mean_of = |rows: &dyn Fn(usize) -> bool| -> Vec<f64> {
        let chosen = (0..s.y.rows()).filter(|&r| rows(r) && !(apart && paired.contains(&r)));
        s.y.view().select(chosen).view().mean_row()
    };
    let squared = |a: &[f64], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, &b)| (a - f64::from(b)).powi(2)).sum()
    };
    let (mut answered, mut bridge, mut pool_mean, mut paired_mean) = (0, 0.0, 0.0, 0.0);
    for (left_out, &(a, b)) in s.pairs.iter().enumerate() {
        let (input, truth) = (s.x.row(a as usize), s.y.row(b as usize));
        let rest = || (0..s.pairs.len()).filter(move |&i| i != left_out);
        let links: Vec<Vec<u32>> = (0..from.k() as u32)
            .map(|cluster| {
                let cell = |y: u32| {
                    let of = rest().map(|i| votes.pairs[i]).filter(|v| (v.x, v.y) == (cluster, y));
                    (of.clone().count(), of.map(|v| v.x_depth * v.y_depth).sum::<f64>())
                };
                let cells: Vec<_> = (0..to.k() as u32).map(|y| (y, cell(y))).collect();
                let most = cells.iter().map(|c| c.1.0).max().unwrap();
                let tied = cells.iter().filter(|c| c.1.0 == most && most > 0);
                let key = |c: &(u32, (usize, f64))| (c.1.1, to.sizes()[c.0 as usize]);
                let best = tied.clone().map(key).fold((-1.0, 0), |m, k| if k > m { k } else { m });
                tied.filter(|c| key(c) == best).map(|c| c.0).collect()
            })
            .collect();
        let value = |target: u32| mean_of(&|r| to.labels()[r] == target && r != b as usize);
        let blend = |targets: &[u32]| -> Vec<f64> {
            let values: Vec<Vec<f64>> = targets.iter().map(|&t| value(t)).collect();
            (0..s.y.cols())
                .map(|j| values.iter().map(|v| v[j]).sum::<f64>() / targets.len() as f64)
                .collect()
        };
        let own = votes.pairs[left_out].x;
        let own_link: &[u32] = if own == NOISE { &[] } else { &links[own as usize] };
        let point = if own == NOISE { input } else { centroids.row(own as usize) };
        let nearest = (0..links.len()).filter(|&c| !links[c].is_empty()).min_by(|&p, &q| {
            let away = |c: usize| squared_distance(point, centroids.row(c));
            away(p).total_cmp(&away(q))
        });
        let mean = mean_of(&|r| r != b as usize);
        let mut predicted = match (own_link, method.uncovered, nearest) {
            ([], Uncovered::Abstain, _) => continue,
            ([], Uncovered::Nearest, Some(n)) => blend(&links[n]),
            ([], ..) => mean.clone(),
            _ => blend(own_link),
        };
        // Only a cluster with a link of its own has a map.
        for &t in own_link {
            let mean: Vec<f32> = value(t).iter().map(|&v| v as f32).collect();
            let anchor =
                Anchor { from: centroids.row(own as usize), radius: radius(own), to: &mean };
            let mut examples: Vec<(Vec<f32>, Vec<f32>)> = rest()
                .filter(|&i| (votes.pairs[i].x, votes.pairs[i].y) == (own, t))
                .map(|i| s.pairs[i])
                .map(|(a, b)| (s.x.row(a as usize).to_vec(), s.y.row(b as usize).to_vec()))
                .collect();
            if method.refine.kind == RefineKind::SupervisedCentroid {
                let linked = (0..links.len()).filter(|&c| !links[c].is_empty());
                examples.extend(linked.map(|c| {
                    let to = blend(&links[c]).iter().map(|&v| v as f32).collect();
                    (centroids.row(c).to_vec(), to)
                }));
            }
            let examples: Vec<(&[f32], &[f32])> =
                examples.iter().map(|(x, y)| (&x[..], &y[..])).collect();
            if method.refine.kind != RefineKind::None
                && let Some(map) = LocalMap::fit(anchor, &examples, method.refine.ridge)
            {
                let share = alpha / own_link.len() as f64;
                let offset = map.offset(anchor, input);
                predicted.iter_mut().zip(offset).for_each(|(p, o)| *p += share * o);
            }
        }
        let others = rest().map(|i| s.pairs[i].1 as usize);
        answered += 1;
        bridge += squared(&predicted, truth);
        pool_mean += squared(&mean, truth);
        paired_mean += squared(&s.y.view().select(others).view().mean_row(), truth);
    }
    let entries = (answered * s.y.cols()) as f64;
    LeaveOneOut {
        pairs: s.pairs.len(),
        answered,
        bridge: bridge / entries,
        pool_mean: pool_mean / entries,
        paired_mean: paired_mean / entries,
        scores: Vec::new(),
        agreement: Vec::new(),
        chance: None,
    }
}

fn check_leave_one_out(method: &BridgedClustering, s: &Sample) {
    let what = format!("{:?} {:?} {:?}", method.pair_rows, method.uncovered, method.refine);
    let model = fit_sample(method, s);
    // The reverse direction is the same question of the flipped sample.
    let flipped = Sample {
        x: s.y.clone(),
        y: s.x.clone(),
        pairs: s.pairs.iter().map(|&(a, b)| (b, a)).collect(),
        ..s.clone()
    };
    for (direction, s) in [(Direction::Forward, s), (Direction::Reverse, &flipped)] {
        let got = model.regressor(direction).leave_one_out().unwrap();
        let want = leave_one_out_by_hand(&model, direction, s);
        assert_eq!((got.pairs, got.answered), (want.pairs, want.answered), "{what}");
        assert_close(got.pool_mean, want.pool_mean, 1e-4, &format!("{what}: pool mean"));
        assert_close(got.paired_mean, want.paired_mean, 1e-4, &format!("{what}: paired mean"));
        assert_close(got.bridge, want.bridge, 1e-4, &format!("{what}: bridge"));
    }
}

fn choices() -> impl Iterator<Item = (PairRows, Uncovered, Refine)> {
    let refines = [RefineKind::None, RefineKind::Supervised, RefineKind::SupervisedCentroid]
        .map(|kind| Refine { kind, alpha: Alpha::Fixed(0.6), ridge: 0.5 });
    [PairRows::Pooled, PairRows::Apart].into_iter().flat_map(move |pair_rows| {
        [Uncovered::Mean, Uncovered::Nearest, Uncovered::Abstain].into_iter().flat_map(
            move |uncovered| refines.into_iter().map(move |refine| (pair_rows, uncovered, refine)),
        )
    })
}

#[test]
fn leave_one_out_errors_are_those_of_a_vote_by_hand() {
    for seed in 0..3 {
        let mixture =
            Mixture { classes: 4, dim_x: 4, dim_y: 3, separation: 2.5, ..Mixture::default() };
        let s = mixture.draw(sizes(50, 40, 0, Pairs::Iid(12)), Seed(seed));
        for (pair_rows, uncovered, refine) in choices() {
            let method =
                BridgedClustering { pair_rows, uncovered, refine, ..Preset::Voting.with_k(5) };
            check_leave_one_out(&method, &s);
        }
    }
}

#[test]
fn leave_one_out_treats_noise_as_prediction_does() {
    let mixture =
        Mixture { classes: 3, dim_x: 3, dim_y: 3, separation: 10.0, ..Mixture::default() };
    let s = mixture.draw(sizes(120, 110, 0, Pairs::Iid(40)), Seed(8));
    let eps = [("eps", serde_json::json!(1.1))];
    for (pair_rows, uncovered, refine) in choices() {
        let cluster = with_fields(&spec("dbscan", 3), &eps).unwrap();
        let method = BridgedClustering { pair_rows, uncovered, refine, ..both(cluster) };
        let model = fit_sample(&method, &s);
        assert!(
            model.votes(Direction::Forward).pairs.iter().any(|v| v.x == NOISE),
            "some pairs are noise"
        );
        assert!(model.warnings().iter().any(|w| w.contains("outside all clusters")));
        check_leave_one_out(&method, &s);
    }
}

#[test]
fn automatic_alpha_is_the_best_of_a_grid() {
    let s = linear_within_classes();
    for kind in KINDS {
        let error_and_alpha = |alpha: Alpha| {
            let model = fit_sample(&refined(3, kind, alpha), &s);
            let regressor = model.regressor(Direction::Forward);
            (regressor.leave_one_out().unwrap().bridge, regressor.alpha())
        };
        let (error, chosen) = error_and_alpha(Alpha::Auto);
        for step in 0..=10 {
            let alpha = f64::from(step) / 10.0;
            let (fixed, _) = error_and_alpha(Alpha::Fixed(alpha));
            assert!(error <= fixed + 1e-9, "{kind:?}: {chosen} is worse than {alpha}");
        }
    }
}

#[test]
fn a_constant_that_predicts_better_than_the_bridge_is_said_and_no_other_time() {
    let clear = Mixture { classes: 4, separation: 12.0, ..Mixture::default() }
        .draw(sizes(200, 200, 0, Pairs::Stratified(3)), Seed(9));
    assert_eq!(fit_sample(&Preset::Voting.with_k(4), &clear).warnings(), [""; 0]);

    // Blurred data and pairs that join anything with anything.
    let mut blurred = Mixture { classes: 4, separation: 1.0, ..Mixture::default() }
        .draw(sizes(200, 200, 0, Pairs::Iid(20)), Seed(10));
    let order = permutation(200, 11);
    blurred.pairs = (0..20).map(|i| (i as u32, order[i] as u32)).collect();
    let model = fit_sample(&Preset::Voting.with_k(4), &blurred);
    let warnings = model.warnings();
    assert!(
        warnings[0].starts_with("A constant predicts y better than the bridge"),
        "{warnings:?}"
    );
    assert!(
        warnings[1].starts_with("A constant predicts x better than the bridge"),
        "{warnings:?}"
    );

    let single = Sample { pairs: clear.pairs[..1].to_vec(), ..clear };
    let warnings = fit_sample(&Preset::Voting.with_k(4), &single).warnings();
    assert!(warnings[0].starts_with("With a single pair there is no way to check"), "{warnings:?}");
}

#[test]
fn nearest_returns_the_real_rows_that_brute_force_finds() {
    let s = Mixture { classes: 3, separation: 4.0, ..Mixture::default() }
        .draw(sizes(90, 70, 25, Pairs::Stratified(2)), Seed(12));
    for kind in [RefineKind::None, RefineKind::SupervisedCentroid] {
        let model = fit_sample(&refined(3, kind, Alpha::Fixed(0.5)), &s);
        for (direction, queries, pool) in
            [(Direction::Forward, &s.test_x, &s.y), (Direction::Reverse, &s.test_y, &s.x)]
        {
            let values = model.predict(direction, queries.view()).unwrap().values;
            for n in [0, 1, 5, 1000] {
                let nearest = model.nearest(direction, values.view(), n).unwrap();
                for (i, found) in nearest.iter().enumerate() {
                    let away =
                        |r: u32| squared_distance(values.row(i), pool.row(r as usize)).sqrt();
                    let mut all: Vec<u32> = (0..pool.rows() as u32).collect();
                    all.sort_by(|&a, &b| away(a).total_cmp(&away(b)).then(a.cmp(&b)));
                    all.truncate(n);
                    assert_eq!(found.iter().map(|f| f.row).collect::<Vec<_>>(), all);
                    for f in found {
                        assert_close(f.distance, away(f.row), 1e-4, "distance");
                    }
                }
            }
        }
    }
}

#[test]
fn rows_of_another_dimension_or_with_nan_are_refused_in_a_sentence() {
    let s = Mixture { classes: 3, dim_x: 4, dim_y: 3, ..Mixture::default() }
        .draw(sizes(60, 60, 10, Pairs::Stratified(2)), Seed(13));
    let model = fit_sample(&Preset::Voting.with_k(3), &s);
    let sentence = |r: Result<_, Error>| r.map(|_: ()| ()).unwrap_err().to_string();
    let predict = |d, m: &Matrix| sentence(model.predict(d, m.view()).map(|_| ()));
    assert_eq!(
        predict(Direction::Forward, &s.test_y),
        "the rows have 3 columns, but the model's x side has 4"
    );
    assert_eq!(
        predict(Direction::Reverse, &s.test_x),
        "the rows have 4 columns, but the model's y side has 3"
    );
    let mut bad = s.test_x.clone();
    bad.row_mut(6)[2] = f32::NAN;
    assert_eq!(
        predict(Direction::Forward, &bad),
        "x holds NaN or infinity in row 6, column 2; remove or repair that row"
    );
    let wide = Matrix::zeros(2, 4);
    assert_eq!(
        sentence(model.nearest(Direction::Forward, wide.view(), 1).map(|_| ())),
        "the rows have 4 columns, but the model's y side has 3"
    );
    let short = s.test_y.view().slice(0..9);
    assert_eq!(
        sentence(model.evaluate(s.test_x.view(), short, None).map(|_| ())),
        "x has 10 rows and y has 9: evaluation needs row i of x and row i of y to belong together"
    );
    assert!(model.evaluate(s.test_x.view(), s.test_y.view(), Some(&[0, 1])).is_err());
}

#[test]
fn parameters_out_of_range_are_refused_in_a_sentence() {
    let s = Mixture { classes: 3, dim_x: 4, dim_y: 3, ..Mixture::default() }
        .draw(sizes(60, 50, 0, Pairs::Stratified(2)), Seed(14));
    let error = |method: &BridgedClustering| {
        let problem = Problem::new(s.x.view(), s.y.view(), &s.pairs);
        method.fit(problem, Seed(0), &Silent).unwrap_err().to_string()
    };
    let alpha = |alpha| error(&refined(3, RefineKind::Supervised, Alpha::Fixed(alpha)));
    assert_eq!(alpha(1.5), "`refine.alpha` must be between 0 and 1, got 1.5");
    assert_eq!(alpha(f64::NAN), "`refine.alpha` must be between 0 and 1, got NaN");
    let mut method = Preset::Voting.with_k(3);
    method.refine.ridge = 0.0;
    assert_eq!(error(&method), "`refine.ridge` must be above 0 and at most 1e9, got 0");
    let mut method = Preset::Voting.with_k(3);
    method.y.cluster = spec("kmeans", 51);
    assert_eq!(
        error(&method),
        "cannot cluster y: `k` must be between 1 and 50 (the number of rows), got 51"
    );
    method.y.cluster = spec("kmeans", 3);
    method.x.scale = Scale::Pca { components: 5 };
    assert_eq!(error(&method), "`pca` must be between 1 and 4 for x (60 rows, 4 columns), got 5");
}

#[test]
fn pairs_apart_that_leave_too_few_rows_are_refused_and_not_a_panic() {
    let x = noise(4, 2, 15);
    let pairs = [(0, 0), (1, 1), (2, 2), (3, 3)];
    for scale in [Scale::None, Scale::Standardize, Scale::L2, Scale::Pca { components: 1 }] {
        let mut method = Preset::Voting.with_k(1);
        method.pair_rows = PairRows::Apart;
        (method.x.scale, method.y.scale) = (scale, scale);
        let problem = Problem::new(x.view(), x.view(), &pairs);
        assert!(method.fit(problem, Seed(0), &Silent).is_err(), "{scale:?}");
    }
}

#[test]
fn a_fit_reports_both_sides_and_the_bridge_and_can_be_stopped_anywhere() {
    let s = Mixture { classes: 3, separation: 3.0, ..Mixture::default() }
        .draw(sizes(90, 80, 0, Pairs::Stratified(2)), Seed(16));
    let problem = Problem::new(s.x.view(), s.y.view(), &s.pairs);
    let method = Preset::Voting.with_k(3);
    let recorder = Recorder::default();
    on_threads(1, || method.fit(problem, Seed(0), &recorder)).unwrap();
    let seen = recorder.seen();
    let begun: Vec<&str> = seen
        .iter()
        .filter_map(|e| match e {
            Seen::Begin(stage, _) => Some(stage.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(begun, ["x/kmeans", "y/kmeans", "bridge"]);
    for (at, event) in seen.iter().enumerate() {
        if matches!(event, Seen::End(_)) {
            continue;
        }
        let stopped = on_threads(1, || method.fit(problem, Seed(0), &StopAfter::events(at)));
        assert!(matches!(stopped, Err(Error::Cancelled(_))), "{event:?}: {:?}", stopped.err());
    }
}

#[test]
fn equal_input_and_seed_give_equal_models_and_another_seed_may_not() {
    let s = Mixture { classes: 4, separation: 2.0, ..Mixture::default() }
        .draw(sizes(120, 120, 0, Pairs::Stratified(2)), Seed(17));
    for name in names() {
        let method = both(spec(name, 4));
        assert!(fit_sample(&method, &s) == fit_sample(&method, &s), "{name}");
    }
}

#[test]
fn fewer_distinct_rows_than_clusters_are_refused_whatever_the_scaling() {
    let constant = Matrix::from_fn(40, 3, |_, j| j as f32 + 0.1);
    let three = Matrix::from_fn(40, 3, |i, j| (i % 3 * (j + 1)) as f32 + 0.1);
    let other = noise(40, 2, 18);
    let pairs: Vec<(u32, u32)> = (0..12).map(|i| (3 * i, 3 * i)).collect();
    let scales = [Scale::None, Scale::Standardize, Scale::L2, Scale::Pca { components: 1 }];
    for (x, distinct) in [(&constant, 1), (&three, 3)] {
        for scale in scales {
            for preset in [Preset::Default, Preset::Paper, Preset::Voting] {
                let mut method = preset.with_k(7);
                (method.x.scale, method.y.scale) = (scale, scale);
                let error = |x: &Matrix, y: &Matrix| {
                    let problem = Problem::new(x.view(), y.view(), &pairs);
                    method.fit(problem, Seed(0), &Silent).unwrap_err().to_string()
                };
                for (side, error) in [("x", error(x, &other)), ("y", error(&other, x))] {
                    assert!(
                        error.starts_with(&format!("cannot cluster {side}: there ")),
                        "{error}"
                    );
                    assert!(error.contains(&format!(" {distinct} distinct row")), "{error}");
                    assert!(error.contains("7 clusters need at least 7; ask for "), "{error}");
                }
            }
        }
    }
}

#[test]
fn a_side_that_hardly_varies_never_gets_the_verdict_good() {
    // Pools in the order of their groups: if equal rows are parted by their order, clusters of them
    // would seem to predict y.
    let y = Matrix::from_fn(84, 2, |i, j| (i / 12 * 10) as f32 + ((i * 7 + j) % 5) as f32 * 0.1);
    let nearly = Matrix::from_fn(84, 3, |i, j| if i < 7 { (i + j) as f32 } else { 3.0 });
    let rounded = Matrix::from_fn(84, 3, |i, _| 1000.0 + (i % 2) as f32 * 1e-4);
    let pairs: Vec<(u32, u32)> = (0..42).map(|i| (2 * i, 2 * i)).collect();
    for preset in [Preset::Default, Preset::Paper, Preset::Voting] {
        for (x, k) in [(&nearly, 7), (&rounded, 2)] {
            let mut method = preset.with_k(7);
            method.x.cluster = method.x.cluster.with_k(k);
            let problem = Problem::new(x.view(), y.view(), &pairs);
            let model = method.fit(problem, Seed(0), &Silent).unwrap();
            for direction in Direction::BOTH {
                let verdict = model.verdict(direction);
                assert_ne!(verdict.grade, Grade::Good, "{preset:?} {direction:?}: {verdict:?}");
            }
        }
    }
    // One cluster on a constant side predicts it exactly, and says nothing of the other.
    let constant = Matrix::from_fn(84, 3, |_, _| 0.1);
    let mut method = Preset::Default.with_k(7);
    method.x.cluster = method.x.cluster.with_k(1);
    let model = method.fit(Problem::new(constant.view(), y.view(), &pairs), Seed(0), &Silent);
    let model = model.unwrap();
    for direction in Direction::BOTH {
        assert_eq!(model.verdict(direction).grade, Grade::None, "{direction:?}");
    }
}

#[test]
fn where_dbscan_calls_all_rows_noise_the_fit_says_what_to_change() {
    let s = Mixture { classes: 3, separation: 14.0, ..Mixture::default() }
        .draw(sizes(60, 60, 0, Pairs::Stratified(2)), Seed(20));
    let lone = bridged::cluster::Dbscan {
        eps: bridged::cluster::Eps::Distance(1e-3),
        ..Default::default()
    };
    let method = both(ClusterSpec::Dbscan(lone));
    let problem = Problem::new(s.x.view(), s.y.view(), &s.pairs);
    let error = method.fit(problem, Seed(0), &Silent).unwrap_err().to_string();
    assert!(error.starts_with("cannot cluster x: no row has 5 rows within `eps`"), "{error}");
    assert!(error.contains("raise `eps`") && error.contains("lower `min_samples`"), "{error}");
}

#[test]
fn degenerate_pools_are_modelled_without_a_panic() {
    // All the same but for one row: as many distinct rows as clusters.
    let constant = Matrix::from_fn(12, 3, |i, j| if i < 11 { j as f32 } else { 9.0 });
    let other = noise(10, 2, 18);
    let pairs = [(0, 0), (1, 5), (2, 9)];
    for scale in [Scale::None, Scale::Standardize, Scale::L2, Scale::Pca { components: 1 }] {
        for kind in [RefineKind::None, RefineKind::Supervised, RefineKind::SupervisedCentroid] {
            let mut method = refined(2, kind, Alpha::Fixed(0.5));
            (method.x.scale, method.y.scale) = (scale, scale);
            let problem = Problem::new(constant.view(), other.view(), &pairs);
            let model = method.fit(problem, Seed(0), &Silent).unwrap();
            for (direction, rows) in [(Direction::Forward, &constant), (Direction::Reverse, &other)]
            {
                let values = model.predict(direction, rows.view()).unwrap().values;
                assert!(values.data().iter().all(|v| v.is_finite()), "{scale:?} {kind:?}");
            }
        }
    }
}

#[test]
fn one_row_may_be_in_several_pairs() {
    let s = Mixture { classes: 3, separation: 14.0, ..Mixture::default() }
        .draw(sizes(60, 60, 20, Pairs::Stratified(1)), Seed(19));
    // Every pair again with another row of the same class on the other side.
    let mut pairs = s.pairs.clone();
    for &(a, b) in &s.pairs {
        let class = s.latent_x[a as usize];
        let other = (0..60).find(|&r| s.latent_y[r] == class && r != b as usize).unwrap();
        pairs.push((a, other as u32));
    }
    for pair_rows in [PairRows::Pooled, PairRows::Apart] {
        let method = BridgedClustering { pair_rows, ..Preset::Voting.with_k(3) };
        let model = fit_sample(&method, &Sample { pairs: pairs.clone(), ..s.clone() });
        assert!(model.regressor(Direction::Forward).bridge().links.iter().all(|l| l.support == 2));
        assert!(forward_mse(&model, &s) < 1.3 * s.oracle_mse().unwrap());
    }
}

/// The pools of a sample, with the ids that are given.
fn pools(s: &Sample, ids: usize) -> (Pool, Pool) {
    let names = Names { ids: (0..ids).map(|i| format!("r{i}")).collect(), ..Names::default() };
    let x = Pool { rows: s.x.clone(), names, ..Pool::default() };
    (x, Pool { rows: s.y.clone(), ..Pool::default() })
}

#[test]
fn pools_that_are_given_away_are_fitted_like_borrowed_ones_and_bring_their_names() {
    let s = Mixture { classes: 3, ..Mixture::default() }
        .draw(sizes(40, 30, 0, Pairs::Stratified(2)), Seed(20));
    for method in [BridgedClustering::with_k(3), Preset::Voting.with_k(3)] {
        let fit_pools = |ids: usize| {
            let (x, y) = pools(&s, ids);
            method.fit_pools(x, y, &s.pairs, Seed(7), &Silent)
        };
        assert!(fit_pools(0).unwrap() == fit_sample(&method, &s), "without names");
        let named = fit_pools(40).unwrap();
        assert_eq!((named.x().names().id(3), named.y().names().id(3)), ("r3".into(), "3".into()));
    }
}

#[test]
fn names_that_are_not_one_per_row_are_refused() {
    let s = Mixture { classes: 3, ..Mixture::default() }
        .draw(sizes(40, 30, 0, Pairs::Stratified(2)), Seed(20));
    let method = BridgedClustering::with_k(3);
    for ids in [1, 39, 41] {
        let (x, y) = pools(&s, ids);
        let error = method.fit_pools(x, y, &s.pairs, Seed(7), &Silent).unwrap_err();
        assert!(matches!(error, Error::NamesDoNotFit { side: "x", rows: 40, .. }), "{error}");
        let sentence = format!("the ids of x have {ids} entries, but the pool has 40 rows");
        assert_eq!(error.to_string(), sentence);
    }
    let (x, mut y) = pools(&s, 40);
    y.names.texts = vec![TextColumn { name: "caption".into(), values: vec![String::new(); 29] }];
    let error = method.fit_pools(x, y, &s.pairs, Seed(7), &Silent).unwrap_err().to_string();
    assert_eq!(error, "the values of `caption` of y have 29 entries, but the pool has 30 rows");
}

#[test]
fn asking_for_the_nearest_rows_twice_gives_the_same() {
    let s = Mixture { classes: 3, separation: 4.0, ..Mixture::default() }
        .draw(sizes(90, 70, 25, Pairs::Stratified(2)), Seed(21));
    for scale in [Scale::None, Scale::Standardize] {
        let mut method = BridgedClustering::with_k(3);
        (method.x.scale, method.y.scale) = (scale, scale);
        let model = fit_sample(&method, &s);
        for (direction, rows) in [(Direction::Forward, &s.test_x), (Direction::Reverse, &s.test_y)]
        {
            let values = model.predict(direction, rows.view()).unwrap().values;
            let first = model.nearest(direction, values.view(), 4).unwrap();
            assert_eq!(model.nearest(direction, values.view(), 4).unwrap(), first);
            // Also of a copy that has its index from the original, and of one that makes its own.
            let fresh = fit_sample(&method, &s);
            for other in [model.clone(), fresh] {
                assert_eq!(other.nearest(direction, values.view(), 4).unwrap(), first);
                assert!(other == model, "an index is no part of what a model is");
            }
        }
    }
}

#[test]
fn the_link_table_says_what_rows_are_told_of_their_clusters() {
    let s = Mixture { classes: 4, separation: 3.0, ..Mixture::default() }
        .draw(sizes(90, 70, 0, Pairs::Iid(7)), Seed(22));
    for uncovered in [Uncovered::Mean, Uncovered::Nearest, Uncovered::Abstain] {
        let method = BridgedClustering { uncovered, ..Preset::Voting.with_k(6) };
        let model = fit_sample(&method, &s);
        for direction in Direction::BOTH {
            let (table, pool) =
                (model.link_table(direction), model.predict_pool(direction).unwrap());
            let lines: Vec<_> = table.rows().collect();
            assert_eq!(lines.len(), model.from(direction).k());
            assert!(!pool.knows_probabilities());
            for (i, why) in pool.explanations().enumerate() {
                let line = lines[pool.clusters[i] as usize];
                assert!(why.novelty.is_some(), "rows are near or far, clusters are not");
                let of_row = Explanation { novelty: None, ..why };
                assert_eq!((line.cluster, line.why), (pool.clusters[i], of_row));
                assert_eq!((why.probability, why.radius), (None, None));
            }
            let rows = lines.iter().map(|l| l.rows).sum::<u32>();
            let pairs = lines.iter().map(|l| l.pairs).sum::<u32>();
            assert_eq!((rows as usize, pairs), (pool.len(), 7));
            assert!(lines.iter().any(|l| l.why.status == Status::Link(LinkStatus::NoEvidence)));
        }
    }
}

#[test]
fn below_the_confidence_asked_for_there_is_no_answer() {
    let s = Mixture { classes: 4, separation: 2.5, ..Mixture::default() }
        .draw(sizes(90, 70, 60, Pairs::Stratified(2)), Seed(23));
    let model = fit_sample(&BridgedClustering::with_k(4), &s);
    for (direction, rows) in [(Direction::Forward, &s.test_x), (Direction::Reverse, &s.test_y)] {
        let plain = model.predict(direction, rows.view()).unwrap();
        let mut sure: Vec<f64> = plain.explanations().map(|w| w.probability.unwrap()).collect();
        sure.sort_by(f64::total_cmp);
        let least = sure[30];
        let ask = Ask { min_confidence: Some(least), ..Ask::default() };
        let asked = model.predict_asked(direction, rows.view(), ask).unwrap();
        let mut unsure = 0;
        for (i, (why, before)) in asked.explanations().zip(plain.explanations()).enumerate() {
            assert_eq!((why.probability, why.links), (before.probability, before.links));
            if before.probability.unwrap() < least {
                unsure += 1;
                assert_eq!((why.status, why.source), (Status::Unsure, Source::Abstain));
                assert_eq!(why.status.to_string(), "unsure");
                assert!(!asked.answered(i) && asked.values.row(i).iter().all(|v| v.is_nan()));
            } else {
                assert_eq!(why, before);
                assert!(asked.answered(i));
                assert_eq!(asked.values.row(i), plain.values.row(i));
            }
        }
        assert!((1..=30).contains(&unsure), "{unsure}");
        let nearest = model.nearest(direction, asked.values.view(), 1).unwrap();
        assert_eq!(nearest.iter().filter(|n| n.is_empty()).count(), unsure);
    }
}

#[test]
fn a_bridge_without_probabilities_refuses_to_be_asked_for_one() {
    let s = Mixture { classes: 3, ..Mixture::default() }
        .draw(sizes(40, 30, 5, Pairs::Stratified(2)), Seed(24));
    for rule in ["majority", "margin", "hungarian", "soft"] {
        let mut method = Preset::Voting.with_k(3);
        method.bridge = BridgeSpec::named(rule).unwrap();
        let model = fit_sample(&method, &s);
        for min_confidence in [0.0, 0.5] {
            let ask = Ask { min_confidence: Some(min_confidence), ..Ask::default() };
            let error = model.predict_asked(Direction::Forward, s.test_x.view(), ask).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "a {rule} bridge does not know how likely its links are; fit the model with \
                     the posterior bridge"
                )
            );
        }
    }
}

#[test]
fn noise_that_is_answered_by_the_mean_gets_the_mean_from_several_members_too() {
    let groups =
        |far: f32| {
            Matrix::from_fn(41, 1, |i, _| {
                if i == 40 { far } else { (i / 20 * 50) as f32 + (i % 5) as f32 }
            })
        };
    let (x, y) = (groups(900.0), groups(3.0));
    let mut method = BridgedClustering::default();
    let dbscan = serde_json::json!({ "method": "dbscan", "eps": 3.0, "min_samples": 3 });
    method.x.cluster = serde_json::from_value(dbscan).unwrap();
    let pairs = [(0, 0), (5, 7), (25, 30), (33, 22)];
    let model = method.fit(Problem::new(x.view(), y.view(), &pairs), Seed(0), &Silent).unwrap();
    let found = model.predict_pool(Direction::Forward).unwrap();
    assert_eq!(found.explain(40).source, Source::Mean);
    assert_eq!(found.values.row(40), model.y().mean());
    assert_eq!(found.explain(0).source, Source::Link);
    assert_ne!(found.values.row(0), model.y().mean());
}
