//! §7 on synthetic mixtures: separated classes are recovered from one pair each, the bound holds
//! where it is meant, and more pairs give better bridges.

use crate::support::*;
use bridged::Seed;
use bridged::bridge::BridgeSpec;
use bridged::metrics::{misclustering, mse};
use bridged::separation::{majority_is_right, pair_is_right, separation};
use bridged::synth::{Mixture, Pairs};
use bridged::{BridgedClustering, Direction, Preset};

#[test]
fn separated_classes_reach_the_oracle_from_one_pair_each_in_both_directions() {
    for classes in 3..=7 {
        for seed in 0..4 {
            let mixture = Mixture { classes, separation: 14.0, ..Mixture::default() };
            let s = mixture.draw(sizes(400, 350, 600, Pairs::Stratified(1)), Seed(seed));
            let model = fit_sample(&Preset::Voting.with_k(classes), &s);
            let scores =
                model.evaluate(s.test_x.view(), s.test_y.view(), Some(&s.test_latent)).unwrap();
            let latent = scores.latent.unwrap();
            let at = format!("{classes} classes, seed {seed}");
            assert_eq!(
                (latent.x.get("epsilon"), latent.y.get("epsilon")),
                (Some(0.0), Some(0.0)),
                "{at}"
            );
            for bridging in [&latent.forward, &latent.reverse] {
                assert_eq!(
                    (
                        bridging.metrics.get("epsilon_b").unwrap(),
                        bridging.metrics.get("accuracy").unwrap()
                    ),
                    (0.0, 1.0),
                    "{at}"
                );
            }
            // A centroid of n/C rows is off by σ² C/n on average; nothing else is lost.
            let margin = |pool: usize| 1.0 + 3.0 * classes as f64 / pool as f64;
            let oracle = s.oracle_mse().unwrap();
            assert!(
                scores.forward.model.metrics.get("mse").unwrap() <= oracle * margin(350),
                "{at}"
            );
            let means = s.means_x.view().select(s.test_latent.iter().map(|&t| t as usize));
            let oracle = mse(means.view(), s.test_x.view()).unwrap();
            assert!(
                scores.reverse.model.metrics.get("mse").unwrap() <= oracle * margin(400),
                "{at}"
            );
            assert!(
                scores.forward.model.metrics.get("mse").unwrap()
                    < 0.2 * scores.forward.pool_mean.metrics.get("mse").unwrap(),
                "{at}"
            );
        }
    }
}

#[test]
fn every_clustering_and_bridge_reaches_the_oracle_on_separated_classes() {
    let mixture =
        Mixture { classes: 4, dim_x: 6, dim_y: 5, separation: 20.0, ..Mixture::default() };
    let s = mixture.draw(sizes(240, 200, 300, Pairs::Stratified(1)), Seed(9));
    for cluster in names() {
        for bridge in BridgeSpec::ALL {
            let mut method = both(spec(cluster, 4));
            method.bridge = BridgeSpec::named(bridge.name).unwrap();
            let model = fit_sample(&method, &s);
            let prediction = model.predict(Direction::Forward, s.test_x.view()).unwrap();
            let error = mse(prediction.values.view(), s.test_y.view()).unwrap();
            let oracle = s.oracle_mse().unwrap();
            assert!(error < 1.06 * oracle, "{cluster} {}: {error} {oracle}", bridge.name);
        }
    }
}

#[test]
fn mis_clustering_stays_under_the_bound_where_the_bound_applies() {
    let (mut applied, mut blurred) = (0, 0);
    for classes in [3, 5] {
        for separation_of_classes in [14.0, 10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.0] {
            for seed in 0..3 {
                let mixture =
                    Mixture { classes, separation: separation_of_classes, ..Mixture::default() };
                let s = mixture.draw(sizes(1500, 100, 0, Pairs::Stratified(1)), Seed(seed));
                let c = fit(&spec("kmeans", classes), &s.x);
                let epsilon = misclustering(&c.labels, &s.latent_x).unwrap();
                blurred += usize::from(epsilon > 0.05);
                let found = separation(s.x.view(), &c.labels, c.centroids.view()).unwrap();
                let at = format!("{classes} classes {separation_of_classes}σ apart, seed {seed}");
                if found.applies {
                    applied += 1;
                    assert!(epsilon <= found.bound.unwrap(), "{at}: {epsilon} {found:?}");
                }
                // The bound of the true mixture, which is what the theorem speaks of.
                let true_bound = (-separation_of_classes * separation_of_classes / 16.0).exp();
                if separation_of_classes >= 4.0 {
                    assert!(epsilon <= true_bound, "{at}: {epsilon} {true_bound}");
                }
            }
        }
    }
    assert!(applied >= 12, "the bound applied only {applied} times");
    assert!(blurred >= 6, "the data were never hard: {blurred}");
}

/// The mean bridging accuracy over many draws of blurred classes.
fn bridging_accuracy(pairs: usize) -> f64 {
    let draws = 40;
    let accuracy = |seed: u64| {
        let mixture =
            Mixture { classes: 4, dim_x: 6, dim_y: 6, separation: 3.2, ..Mixture::default() };
        let s = mixture.draw(sizes(240, 240, 0, Pairs::Stratified(pairs)), Seed(seed));
        let model = fit_sample(&BridgedClustering::with_k(4), &s);
        let x = bridged::metrics::LabelledRows { labels: model.x().labels(), classes: &s.latent_x };
        let y = bridged::metrics::LabelledRows { labels: model.y().labels(), classes: &s.latent_y };
        let links = model.regressor(Direction::Forward).bridge().best();
        bridged::metrics::bridging(x, y, &links).unwrap().accuracy
    };
    (0..draws).map(accuracy).sum::<f64>() / draws as f64
}

#[test]
fn bridging_accuracy_rises_with_pairs_as_the_majority_argument_says() {
    let (one, three, nine) = (bridging_accuracy(1), bridging_accuracy(3), bridging_accuracy(9));
    assert!(one + 0.02 < three && three < nine, "{one} {three} {nine}");
    assert!(nine > 0.98, "{nine}");
    // A pair is right if both of its rows are; ε is about .08 here on each side.
    let p = pair_is_right(0.08, 0.08);
    assert!((one - p).abs() < 0.12, "{one} {p}");
    assert!(three >= majority_is_right(3, p) - 0.05, "{three}");
}
