//! The posterior bridge as a whole: with every clustering, in both directions, through the file.

use crate::support::{fit_sample, on_threads};
use bridged::bridge::{BridgeRule, BridgeSpec, LinkStatus, Posterior, Reading};
#[cfg(feature = "persist")]
use bridged::cluster::ClusterSpec;
use bridged::metrics::mse;
use bridged::synth::{Mixture, Pairs, Sample, Sizes};
use bridged::{Ask, BridgedClustering, BridgedModel, Direction, Members, Preset, Problem};
use bridged::{Matrix, Seed, Silent};

fn sample(separation: f64, pairs: Pairs, seed: u64) -> Sample {
    let mixture = Mixture { classes: 4, dim_x: 12, dim_y: 7, separation, ..Mixture::default() };
    mixture.draw(Sizes { x: 160, y: 90, test: 60, pairs }, Seed(seed))
}

/// Error of the model ÷ error of the mean of the pool.
fn against_mean(model: &BridgedModel, s: &Sample) -> f64 {
    let values = model.predict(Direction::Forward, s.test_x.view()).unwrap().values;
    let mean = s.y.view().mean_row();
    let constant = Matrix::from_fn(s.test_y.rows(), mean.len(), |_, c| mean[c] as f32);
    mse(values.view(), s.test_y.view()).unwrap() / mse(constant.view(), s.test_y.view()).unwrap()
}

#[test]
fn it_is_the_default_and_the_paper_keeps_the_vote() {
    let rule = |spec: &BridgedClustering| spec.bridge.name();
    assert_eq!(rule(&BridgedClustering::default()), "posterior");
    assert_eq!(rule(&BridgedClustering::with_k(3)), "posterior");
    assert_eq!(rule(&Preset::Paper.with_k(3)), "majority");
    assert_eq!(Preset::Paper.with_k(3).bridge.reading(), Reading::Cluster);
}

#[cfg(feature = "persist")]
#[test]
fn it_works_with_every_clustering_in_both_directions_and_survives_the_file() {
    let s = sample(8.0, Pairs::Stratified(2), 1);
    let folder = tempfile::tempdir().unwrap();
    for entry in ClusterSpec::ALL {
        let mut method = BridgedClustering::default();
        method.x.cluster = ClusterSpec::named(entry.name).unwrap().with_k(4);
        method.y.cluster = method.x.cluster.clone();
        let model = fit_sample(&method, &s);
        let path = folder.path().join("m.bridged");
        model.save(&path).unwrap();
        let back = BridgedModel::load(&path).unwrap();
        assert_eq!(back, model, "{}", entry.name);
        for (direction, rows) in [(Direction::Forward, &s.test_x), (Direction::Reverse, &s.test_y)]
        {
            let values = model.predict(direction, rows.view()).unwrap().values;
            assert!(values.data().iter().all(|v| v.is_finite()), "{}", entry.name);
            assert_eq!(back.predict(direction, rows.view()).unwrap().values, values);
            // A row is answered alike alone and among others.
            let alone = model.predict(direction, rows.view().slice(7..8)).unwrap().values;
            assert_eq!(alone.row(0), values.row(7), "{}", entry.name);
        }
    }
}

#[test]
fn the_result_is_the_same_on_any_number_of_threads() {
    let s = sample(3.0, Pairs::Iid(9), 2);
    let fit = || {
        let method = BridgedClustering::with_k(9); // maps are sampled, not summed over
        let model = fit_sample(&method, &s);
        let values = model.predict(Direction::Forward, s.test_x.view()).unwrap().values;
        (model.regressor(Direction::Forward).bridge().clone(), values)
    };
    assert_eq!(on_threads(1, fit), on_threads(4, fit));
}

#[test]
fn clear_groups_are_predicted_as_well_as_by_the_vote() {
    for seed in 0..4 {
        let s = sample(12.0, Pairs::Stratified(2), seed);
        let several = BridgedClustering::with_k(4);
        let one = BridgedClustering { members: Members::One, ..several.clone() };
        let voting = against_mean(&fit_sample(&Preset::Voting.with_k(4), &s), &s);
        // With eight pairs, other members still have some of their prior weight.
        for (method, most) in [(one, 1.01), (several, 1.08)] {
            let posterior = against_mean(&fit_sample(&method, &s), &s);
            assert!(posterior < most * voting, "{posterior} {voting}");
        }
    }
}

#[test]
fn where_pairs_are_shuffled_it_stays_near_the_mean_and_the_vote_does_not() {
    let (mut posterior, mut voting) = (Vec::new(), Vec::new());
    for seed in 0..12 {
        let mut s = sample(2.5, Pairs::Stratified(2), seed);
        let ys: Vec<u32> = s.pairs.iter().map(|p| p.1).collect();
        s.pairs.iter_mut().enumerate().for_each(|(i, p)| p.1 = ys[(i + 3) % ys.len()]);
        posterior.push(against_mean(&fit_sample(&BridgedClustering::with_k(4), &s), &s));
        voting.push(against_mean(&fit_sample(&Preset::Voting.with_k(4), &s), &s));
    }
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(mean(&posterior) < 1.03 && mean(&voting) > 1.1, "{posterior:?} {voting:?}");
    assert!(posterior.iter().all(|&e| e < 1.1), "{posterior:?}");
}

#[test]
fn a_cluster_without_a_pair_is_found_by_elimination() {
    let s = sample(12.0, Pairs::Stratified(2), 5);
    let class = s.latent_x[s.pairs[0].0 as usize];
    let pairs: Vec<(u32, u32)> =
        s.pairs.iter().filter(|p| s.latent_x[p.0 as usize] != class).copied().collect();
    let problem = Problem::new(s.x.view(), s.y.view(), &pairs);
    let model = BridgedClustering::with_k(4).fit(problem, Seed(0), &Silent).unwrap();
    let of_class =
        |labels: &[u32], classes: &[u32]| labels[classes.iter().position(|c| *c == class).unwrap()];
    let x = of_class(model.x().labels(), &s.latent_x);
    let y = of_class(model.y().labels(), &s.latent_y);
    let link = &model.regressor(Direction::Forward).bridge().links[x as usize];
    assert_eq!((link.best(), link.status), (Some(y), LinkStatus::Eliminated));
}

/// Fits of blurred samples with 20 pairs each.
fn blurred_fits(fits: u64) -> Vec<(BridgedModel, Sample)> {
    let fit = |seed| {
        let s = sample(4.0, Pairs::Stratified(5), 100 + seed);
        (fit_sample(&BridgedClustering::with_k(4), &s), s)
    };
    (0..fits).map(fit).collect()
}

fn squared_error(a: &[f32], b: &[f32]) -> f64 {
    bridged_math::distance::squared_distance(a, b)
}

#[test]
fn balls_hold_the_truth_as_often_as_they_promise() {
    let fits = blurred_fits(40);
    for level in [0.7, 0.8, 0.9] {
        let (mut inside, mut all) = (0, 0);
        for (model, s) in &fits {
            let ask = Ask { level: Some(level), unfamiliar: 0.0, ..Ask::default() };
            let prediction = model.predict_asked(Direction::Forward, s.test_x.view(), ask).unwrap();
            for (i, why) in prediction.explanations().enumerate() {
                let away = squared_error(prediction.values.row(i), s.test_y.row(i)).sqrt();
                inside += usize::from(away <= why.radius.unwrap());
                all += 1;
            }
        }
        let coverage = inside as f64 / all as f64;
        // Weights that have not seen a pair are a little worse than those of all pairs: balls err on the safe side.
        assert!((level - 0.03..level + 0.05).contains(&coverage), "{level}: {coverage}");
    }
}

#[test]
fn a_level_that_the_pairs_cannot_promise_is_refused_with_the_highest_that_they_can() {
    let (model, s) = blurred_fits(1).remove(0);
    let ask = Ask { level: Some(0.99), ..Ask::default() };
    let error = model.predict_asked(Direction::Forward, s.test_x.view(), ask).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("20 pairs") && error.contains("0.952"), "{error}");
}

#[test]
fn surer_predictions_are_better_and_expected_errors_are_about_right() {
    let mut rows: Vec<(f64, f64, f64, bool)> = Vec::new();
    for (model, s) in blurred_fits(20) {
        let prediction = model.predict(Direction::Forward, s.test_x.view()).unwrap();
        let truth = model.y().assign(s.test_y.view());
        for i in 0..prediction.len() {
            let why = prediction.explain(i);
            let error = squared_error(prediction.values.row(i), s.test_y.row(i)) / 7.0;
            let right = why.linked == Some(truth[i]);
            rows.push((why.probability.unwrap(), why.expected_error, error, right));
        }
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mean = |part: &[(f64, f64, f64, bool)], f: fn(&(f64, f64, f64, bool)) -> f64| {
        part.iter().map(f).sum::<f64>() / part.len() as f64
    };
    // Risk falls with coverage.
    let thirds: Vec<f64> = rows.chunks(rows.len().div_ceil(3)).map(|c| mean(c, |r| r.2)).collect();
    assert!(thirds[0] < thirds[1] && thirds[1] < thirds[2], "{thirds:?}");
    let ratio = mean(&rows, |r| r.1) / mean(&rows, |r| r.2);
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
    // A probability is never much higher than the share of rows that it is right for.
    for part in rows.chunks(rows.len().div_ceil(4)) {
        let (said, was) = (mean(part, |r| r.0), mean(part, |r| f64::from(u8::from(r.3))));
        assert!(said < was + 0.06, "{said} {was}");
    }
}

/// A clear sample of which this many pairs have their outputs exchanged in a circle.
fn with_wrong_pairs(seed: u64, wrong: usize) -> (Sample, Vec<usize>) {
    let mut s = sample(8.0, Pairs::Stratified(5), 200 + seed);
    // Pairs of one class are next to each other or not: take those of different classes in turn.
    let mut chosen: Vec<usize> = Vec::new();
    for i in 0..s.pairs.len() {
        let class = |p: usize| s.latent_x[s.pairs[p].0 as usize];
        if chosen.len() < wrong && chosen.iter().all(|&c| class(c) != class(i)) {
            chosen.push(i);
        }
    }
    let ys: Vec<u32> = chosen.iter().map(|&i| s.pairs[i].1).collect();
    for (at, &i) in chosen.iter().enumerate() {
        s.pairs[i].1 = ys[(at + 1) % ys.len()];
    }
    (s, chosen)
}

#[test]
fn wrong_pairs_cost_little_and_are_the_first_that_contradict() {
    let (mut worse, mut found, mut all) = (Vec::new(), 0, 0);
    for seed in 0..8 {
        let error = |wrong: usize| {
            let (s, chosen) = with_wrong_pairs(seed, wrong);
            let model = fit_sample(&BridgedClustering::with_k(4), &s);
            (against_mean(&model, &s), model, chosen)
        };
        let clean = error(0).0;
        for wrong in [2, 4] {
            let (with, model, chosen) = error(wrong);
            worse.push(with / clean);
            let first = model.contradictions(wrong);
            found += first.iter().filter(|c| chosen.contains(&c.pair)).count();
            all += wrong;
        }
    }
    let mean = worse.iter().sum::<f64>() / worse.len() as f64;
    assert!(mean < 1.3, "{worse:?}");
    assert!(found as f64 > 0.9 * all as f64, "{found} of {all}");
}

#[test]
fn the_verdict_tells_clear_pairs_from_shuffled_ones() {
    use bridged::Grade;
    let (mut good, mut bad) = (0, 0);
    for seed in 0..6 {
        let mut s = sample(8.0, Pairs::Stratified(4), 300 + seed);
        let verdict =
            |s: &Sample| fit_sample(&BridgedClustering::with_k(4), s).verdict(Direction::Forward);
        let clear = verdict(&s);
        good += usize::from(clear.grade == Grade::Good && clear.covered > 0.99);
        let ys: Vec<u32> = s.pairs.iter().map(|p| p.1).collect();
        let n = ys.len();
        s.pairs.iter_mut().enumerate().for_each(|(i, p)| p.1 = ys[(i * 7 + 3) % n]);
        bad += usize::from(verdict(&s).grade != Grade::Good);
    }
    assert_eq!(good, 6);
    assert!(bad >= 5, "{bad}");
}

#[test]
fn a_prior_that_weighs_any_number_of_pairs_gives_finite_predictions() {
    // Its density underflowed, and every prediction was NaN.
    let s = sample(4.0, Pairs::Stratified(2), 400);
    for prior in [0.0, 1e-9, 1e2, 1e4, 1e6] {
        for reliability in [None, Some(0.0), Some(0.5), Some(1.0)] {
            let mut method = BridgedClustering::with_k(4);
            let posterior = Posterior { prior, reliability, ..Posterior::default() };
            method.bridge = BridgeSpec::Posterior(posterior);
            let model = fit_sample(&method, &s);
            for (direction, rows) in
                [(Direction::Forward, &s.test_x), (Direction::Reverse, &s.test_y)]
            {
                let what = format!("prior {prior}, {reliability:?}, {direction:?}");
                let prediction = model.predict(direction, rows.view()).unwrap();
                assert!(prediction.values.data().iter().all(|v| v.is_finite()), "{what}");
                let q = model.regressor(direction).bridge().reliability.unwrap();
                assert!((0.0..=1.0).contains(&q), "{what}: {q}");
                for why in prediction.explanations() {
                    assert!((0.0..=1.0 + 1e-9).contains(&why.probability.unwrap()), "{what}");
                    assert!(why.expected_error.is_finite(), "{what}");
                }
            }
            // So much of a prior is all there is to know.
            if let (true, Some(mean)) = (prior >= 1e4, reliability) {
                let q = model.regressor(Direction::Forward).bridge().reliability.unwrap();
                assert!((q - mean).abs() < 0.1, "{q} {mean}");
            }
        }
    }
}
