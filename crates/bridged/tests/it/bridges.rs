//! Bridge rules through whole fits: what the votes say, what is done where they say nothing, and
//! that neither depends on how clusters are numbered.

use crate::support::*;
use Direction::{Forward, Reverse};
use bridged::bridge::{BridgeRule, BridgeSpec, LinkStatus, PairVote, Reading, Votes};
use bridged::cluster::NOISE;
use bridged::{
    BridgedClustering, BridgedModel, Direction, Prediction, Preset, Problem, Source, Status,
    Uncovered,
};
use bridged::{Matrix, Seed, Silent};

/// A pool of groups on a line: group g is `sizes[g]` rows around `centres[g]`, whose first row is
/// exactly the mean of the group (offsets are 0, +1, −1, +2, −2, …).
struct Pool {
    rows: Vec<f32>,
    starts: Vec<usize>,
    centres: Vec<f32>,
}

impl Pool {
    fn new(groups: &[(f32, usize)]) -> Self {
        let (mut rows, mut starts) = (Vec::new(), Vec::new());
        for &(centre, size) in groups {
            assert!(size % 2 == 1, "offsets cancel out");
            starts.push(rows.len());
            let offset = |i: usize| i.div_ceil(2) as f32 * if i % 2 == 1 { 1.0 } else { -1.0 };
            rows.extend((0..size).map(|i| centre + offset(i)));
        }
        Self { rows, starts, centres: groups.iter().map(|g| g.0).collect() }
    }

    /// Row `i` of group `g`.
    fn at(&self, g: usize, i: usize) -> u32 {
        (self.starts[g] + i) as u32
    }

    fn mean(&self) -> f32 {
        (self.rows.iter().map(|&v| f64::from(v)).sum::<f64>() / self.rows.len() as f64) as f32
    }
}

struct Case {
    x: Pool,
    y: Pool,
    pairs: Vec<(u32, u32)>,
}

impl Case {
    fn method(&self, bridge: &str) -> BridgedClustering {
        let mut method = Preset::Voting.with_k(1);
        method.x.cluster = method.x.cluster.with_k(self.x.centres.len());
        method.y.cluster = method.y.cluster.with_k(self.y.centres.len());
        method.bridge = BridgeSpec::named(bridge).unwrap();
        method
    }

    fn fit(&self, method: &BridgedClustering) -> BridgedModel {
        self.fit_shuffled(method, None, 0)
    }

    /// Fits with the rows of both pools in another order, and so with other cluster numbers.
    fn fit_shuffled(
        &self,
        method: &BridgedClustering,
        shuffle: Option<u64>,
        seed: u64,
    ) -> BridgedModel {
        let order = |n: usize, stream: u64| match shuffle {
            Some(s) => permutation(n, 2 * s + stream),
            None => (0..n).collect(),
        };
        let (order_x, order_y) = (order(self.x.rows.len(), 0), order(self.y.rows.len(), 1));
        let take = |pool: &Pool, order: &[usize]| {
            Matrix::from_fn(order.len(), 1, |i, _| pool.rows[order[i]])
        };
        let (x, y) = (take(&self.x, &order_x), take(&self.y, &order_y));
        let place = |order: &[usize], row: u32| {
            order.iter().position(|&i| i == row as usize).unwrap() as u32
        };
        let pairs: Vec<(u32, u32)> =
            self.pairs.iter().map(|&(a, b)| (place(&order_x, a), place(&order_y, b))).collect();
        method.fit(Problem::new(x.view(), y.view(), &pairs), Seed(seed), &Silent).unwrap()
    }

    /// The prediction for each group's centre.
    fn of_groups(&self, model: &BridgedModel, direction: Direction) -> Prediction {
        let pool = if direction == Forward { &self.x } else { &self.y };
        let centres = Matrix::new(pool.centres.len(), 1, pool.centres.clone()).unwrap();
        model.predict(direction, centres.view()).unwrap()
    }

    fn values(&self, model: &BridgedModel, direction: Direction) -> Vec<f32> {
        self.of_groups(model, direction).values.into_data()
    }
}

/// The rules that answer a row by the link of its cluster alone.
fn rules() -> impl Iterator<Item = &'static str> {
    let named = |name: &&str| BridgeSpec::named(name).unwrap();
    BridgeSpec::ALL.iter().map(|e| e.name).filter(move |n| named(n).reading() == Reading::Cluster)
}

/// How the link of each row was decided.
fn statuses(prediction: &Prediction) -> Vec<LinkStatus> {
    (0..prediction.len()).map(|i| status(prediction, i)).collect()
}

/// How the link of a row was decided.
fn status(prediction: &Prediction, i: usize) -> LinkStatus {
    match prediction.explain(i).status {
        Status::Link(status) => status,
        Status::Unsure => panic!("nobody asked for a probability"),
        Status::Unfamiliar => panic!("the row is one of the pool"),
    }
}

#[test]
fn every_rule_predicts_the_mean_of_the_linked_group_both_ways() {
    let x = Pool::new(&[(0.0, 9), (100.0, 7), (200.0, 11)]);
    let y = Pool::new(&[(-500.0, 5), (0.0, 9), (900.0, 7)]);
    let pairs = vec![
        (x.at(0, 0), y.at(2, 1)),
        (x.at(0, 3), y.at(2, 2)),
        (x.at(1, 1), y.at(0, 0)),
        (x.at(2, 5), y.at(1, 6)),
    ];
    let case = Case { x, y, pairs };
    for rule in rules() {
        let model = case.fit(&case.method(rule));
        assert_eq!(case.values(&model, Forward), [900.0, -500.0, 0.0], "{rule}");
        assert_eq!(case.values(&model, Reverse), [100.0, 200.0, 0.0], "{rule}");
        let prediction = case.of_groups(&model, Forward);
        assert_eq!(statuses(&prediction), [LinkStatus::Linked; 3], "{rule}");
        let support: Vec<u32> = (0..3).map(|i| prediction.explain(i).support).collect();
        assert_eq!(support, [2, 1, 1], "{rule}");
    }
}

#[test]
fn the_sides_may_have_different_numbers_of_clusters_and_links_may_be_many_to_one() {
    let x = Pool::new(&[(0.0, 5), (100.0, 5), (200.0, 5), (300.0, 5)]);
    let y = Pool::new(&[(0.0, 7), (1000.0, 7)]);
    let pairs = vec![
        (x.at(0, 0), y.at(0, 0)),
        (x.at(1, 0), y.at(0, 1)),
        (x.at(2, 0), y.at(1, 0)),
        (x.at(3, 0), y.at(1, 1)),
        (x.at(3, 1), y.at(1, 2)),
    ];
    let case = Case { x, y, pairs };
    for rule in ["majority", "margin", "soft"] {
        let model = case.fit(&case.method(rule));
        assert_eq!((model.x().k(), model.y().k()), (4, 2));
        assert_eq!(case.values(&model, Forward), [0.0, 0.0, 1000.0, 1000.0], "{rule}");
        assert_eq!(model.regressor(Reverse).bridge().links.len(), 2);
    }
    // Backwards one cluster must stand for two: the one with more pairs.
    let model = case.fit(&case.method("majority"));
    assert_eq!(case.values(&model, Reverse)[1], 300.0);
    // One-to-one leaves two input clusters without a link.
    let model = case.fit(&case.method("hungarian"));
    let linked = model.regressor(Forward).bridge().best().iter().flatten().count();
    assert_eq!(linked, 2);
}

#[test]
fn the_reverse_bridge_is_not_the_inverse_of_the_forward_one() {
    let x = Pool::new(&[(0.0, 9), (100.0, 9)]);
    let y = Pool::new(&[(0.0, 9), (1000.0, 9)]);
    // x0 → y0 three times, x1 → y0 twice, x1 → y1 once.
    let pairs = vec![
        (x.at(0, 0), y.at(0, 0)),
        (x.at(0, 1), y.at(0, 1)),
        (x.at(0, 2), y.at(0, 2)),
        (x.at(1, 0), y.at(0, 3)),
        (x.at(1, 1), y.at(0, 4)),
        (x.at(1, 2), y.at(1, 0)),
    ];
    let case = Case { x, y, pairs };
    let model = case.fit(&case.method("majority"));
    assert_eq!(case.values(&model, Forward), [0.0, 0.0], "both lead to y0");
    assert_eq!(case.values(&model, Reverse), [0.0, 100.0], "yet y1 leads back to x1");
}

#[test]
fn a_fit_of_the_flipped_problem_is_the_flipped_model() {
    let x = Pool::new(&[(0.0, 9), (100.0, 9), (200.0, 9)]);
    let y = Pool::new(&[(0.0, 9), (1000.0, 9)]);
    let pairs = vec![
        (x.at(0, 3), y.at(0, 0)),
        (x.at(0, 1), y.at(1, 1)),
        (x.at(1, 2), y.at(0, 2)),
        (x.at(2, 0), y.at(1, 3)),
    ];
    let case = Case { x, y, pairs };
    let flipped = Case {
        x: Pool::new(&[(0.0, 9), (1000.0, 9)]),
        y: Pool::new(&[(0.0, 9), (100.0, 9), (200.0, 9)]),
        pairs: case.pairs.iter().map(|&(a, b)| (b, a)).collect(),
    };
    for rule in rules() {
        let (a, b) = (case.fit(&case.method(rule)), flipped.fit(&flipped.method(rule)));
        assert_eq!(case.values(&a, Forward), flipped.values(&b, Reverse), "{rule}");
        assert_eq!(case.values(&a, Reverse), flipped.values(&b, Forward), "{rule}");
    }
}

fn with_an_uncovered_cluster() -> Case {
    // Group 1 of x has no pair; group 2 is the nearest that has one.
    let x = Pool::new(&[(0.0, 9), (200.0, 9), (260.0, 9)]);
    let y = Pool::new(&[(0.0, 5), (500.0, 5), (900.0, 15)]);
    let pairs = vec![(x.at(0, 0), y.at(1, 0)), (x.at(2, 0), y.at(2, 1)), (x.at(2, 1), y.at(2, 2))];
    Case { x, y, pairs }
}

#[test]
fn without_evidence_the_mean_of_the_other_pool_is_predicted() {
    let case = with_an_uncovered_cluster();
    for rule in ["majority", "margin", "soft"] {
        let model = case.fit(&case.method(rule));
        let prediction = case.of_groups(&model, Forward);
        assert_eq!(prediction.values.data()[0], 500.0);
        assert_eq!(prediction.values.data()[1], case.y.mean(), "{rule}");
        let why = prediction.explain(1);
        assert_eq!((why.status, why.source), (Status::Link(LinkStatus::NoEvidence), Source::Mean));
        assert_eq!((why.support, why.links.len()), (0, 0));
        assert!(prediction.answered(1));
        assert!(model.warnings().iter().any(|w| w.contains("1 of 3 x clusters have no pair")));
    }
}

#[test]
fn without_evidence_the_nearest_covered_cluster_may_answer() {
    let case = with_an_uncovered_cluster();
    let method = BridgedClustering { uncovered: Uncovered::Nearest, ..case.method("majority") };
    for shuffle in 0..6 {
        let model = case.fit_shuffled(&method, Some(shuffle), shuffle);
        let prediction = case.of_groups(&model, Forward);
        assert_eq!(prediction.values.data(), [500.0, 900.0, 900.0]);
        let why = prediction.explain(1);
        assert_eq!(
            why.status,
            Status::Link(LinkStatus::NoEvidence),
            "whoever answers, it has no evidence"
        );
        assert_eq!(why.source, Source::Nearest(prediction.clusters[2]));
        assert_eq!(why.support, 2);
    }
}

#[test]
fn without_evidence_the_model_may_abstain() {
    let case = with_an_uncovered_cluster();
    let method = BridgedClustering { uncovered: Uncovered::Abstain, ..case.method("majority") };
    let model = case.fit(&method);
    let prediction = case.of_groups(&model, Forward);
    assert_eq!(prediction.values.data()[0], 500.0);
    assert!(prediction.values.data()[1].is_nan());
    assert!(!prediction.answered(1) && prediction.answered(2));
    let why = prediction.explain(1);
    assert_eq!((why.status, why.source), (Status::Link(LinkStatus::NoEvidence), Source::Abstain));
    // No real row is near to nothing.
    let nearest = model.nearest(Forward, prediction.values.view(), 2).unwrap();
    assert_eq!(nearest.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0, 2]);
    // Scores are over what was answered.
    let x = Matrix::from_rows(&[[0.0], [200.0]]);
    let y = Matrix::from_rows(&[[501.0], [0.0]]);
    let scores = model.evaluate(x.view(), y.view(), None).unwrap().forward;
    assert_eq!((scores.answered, scores.model.metrics.get("mse")), (1, Some(1.0)));
}

#[test]
fn a_tie_is_decided_by_the_deeper_pair_however_clusters_are_numbered() {
    let x = Pool::new(&[(0.0, 9), (40.0, 9)]);
    let y = Pool::new(&[(0.0, 9), (30.0, 9), (60.0, 9)]);
    for (shallow, deep) in [(0, 1), (1, 0), (2, 0), (0, 2), (1, 2), (2, 1)] {
        // Offsets 0 and ±4: the first row of a group is its mean, row 7 and 8 are its borders.
        let pairs = vec![
            (x.at(0, 0), y.at(shallow, 7)),
            (x.at(0, 0), y.at(deep, 0)),
            (x.at(1, 0), y.at(1, 0)),
        ];
        let case = Case {
            x: Pool::new(&[(0.0, 9), (40.0, 9)]),
            y: Pool::new(&[(0.0, 9), (30.0, 9), (60.0, 9)]),
            pairs,
        };
        for shuffle in 0..8 {
            let model = case.fit_shuffled(&case.method("majority"), Some(shuffle), shuffle);
            let prediction = case.of_groups(&model, Forward);
            assert_eq!(prediction.values.data()[0], case.y.centres[deep]);
            assert_eq!(status(&prediction, 0), LinkStatus::Tied);
            assert_eq!(prediction.explain(0).support, 1);
            assert!(model.warnings().iter().any(|w| w.contains("1 of 2 x clusters are tied")));
        }
    }
}

#[test]
fn a_tie_of_equal_depth_is_decided_by_size_however_clusters_are_numbered() {
    for (small, large) in [(0, 1), (1, 0)] {
        let groups = |g: usize| if g == large { 11 } else { 7 };
        let y = Pool::new(&[(0.0, groups(0)), (300.0, groups(1)), (600.0, 21)]);
        let x = Pool::new(&[(0.0, 9), (400.0, 9)]);
        let pairs = vec![
            (x.at(0, 0), y.at(small, 0)),
            (x.at(0, 0), y.at(large, 0)),
            (x.at(1, 0), y.at(2, 0)),
        ];
        let case = Case { x, y, pairs };
        for shuffle in 0..8 {
            let model = case.fit_shuffled(&case.method("majority"), Some(shuffle), shuffle);
            let prediction = case.of_groups(&model, Forward);
            assert_eq!(prediction.values.data()[0], case.y.centres[large]);
            assert_eq!(status(&prediction, 0), LinkStatus::Tied);
        }
    }
}

#[test]
fn a_tie_in_everything_is_shared_and_never_decided_by_index() {
    let x = Pool::new(&[(0.0, 9), (400.0, 9)]);
    let y = Pool::new(&[(0.0, 9), (300.0, 9), (600.0, 21)]);
    let pairs = vec![(x.at(0, 0), y.at(0, 0)), (x.at(0, 0), y.at(1, 0)), (x.at(1, 0), y.at(2, 0))];
    let case = Case { x, y, pairs };
    for shuffle in 0..8 {
        let model = case.fit_shuffled(&case.method("majority"), Some(shuffle), shuffle);
        let prediction = case.of_groups(&model, Forward);
        assert_eq!(prediction.values.data()[0], 150.0);
        let why = prediction.explain(0);
        assert_eq!((why.status, why.support), (Status::Link(LinkStatus::Tied), 2));
        assert!(why.links.iter().all(|t| t.weight == 0.5));
    }
}

#[test]
fn soft_links_weigh_output_clusters_by_their_share_of_the_pairs() {
    let x = Pool::new(&[(0.0, 9), (400.0, 9)]);
    let y = Pool::new(&[(0.0, 9), (800.0, 9)]);
    let pairs = vec![
        (x.at(0, 0), y.at(1, 0)),
        (x.at(0, 1), y.at(1, 1)),
        (x.at(0, 2), y.at(1, 2)),
        (x.at(0, 3), y.at(0, 3)),
        (x.at(1, 0), y.at(0, 0)),
    ];
    let case = Case { x, y, pairs };
    for shuffle in 0..4 {
        let model = case.fit_shuffled(&case.method("soft"), Some(shuffle), shuffle);
        let prediction = case.of_groups(&model, Forward);
        assert_eq!(prediction.values.data(), [600.0, 0.0]);
        let weights: Vec<f64> = prediction.explain(0).links.iter().map(|t| t.weight).collect();
        assert_eq!(weights, [0.75, 0.25]);
        assert_eq!(case.values(&model, Reverse), [200.0, 0.0], "y0 has one pair in either");
    }
}

#[test]
fn margin_votes_let_one_deep_pair_beat_two_on_the_border() {
    let x = Pool::new(&[(0.0, 25), (32.0, 9)]);
    let y = Pool::new(&[(0.0, 9), (800.0, 9)]);
    // Rows 23 of x0 lies at +12, close to the border with x1; row 0 is the centroid.
    let pairs = vec![
        (x.at(0, 23), y.at(0, 0)),
        (x.at(0, 21), y.at(0, 1)),
        (x.at(0, 0), y.at(1, 0)),
        (x.at(1, 0), y.at(0, 2)),
    ];
    let case = Case { x, y, pairs };
    let by = |rule: &str| case.values(&case.fit(&case.method(rule)), Forward)[0];
    assert_eq!((by("majority"), by("margin")), (0.0, 800.0));
}

#[test]
fn hungarian_links_are_one_to_one_and_losers_follow_the_policy() {
    let x = Pool::new(&[(0.0, 9), (100.0, 9), (500.0, 9)]);
    let y = Pool::new(&[(0.0, 9), (800.0, 9), (1600.0, 9), (2400.0, 9)]);
    let pairs = vec![
        (x.at(0, 0), y.at(0, 0)),
        (x.at(0, 1), y.at(0, 1)),
        (x.at(1, 0), y.at(0, 2)),
        (x.at(2, 0), y.at(2, 0)),
    ];
    let case = Case { x, y, pairs };
    let fit = |uncovered| case.fit(&BridgedClustering { uncovered, ..case.method("hungarian") });
    let model = fit(Uncovered::Mean);
    let prediction = case.of_groups(&model, Forward);
    assert_eq!(prediction.values.data(), [0.0, case.y.mean(), 1600.0]);
    assert_eq!(status(&prediction, 1), LinkStatus::Outvoted);
    assert!(model.warnings().iter().any(|w| w.contains("1 of 3 x clusters lost their votes")));
    assert_eq!(case.values(&fit(Uncovered::Nearest), Forward), [0.0, 0.0, 1600.0]);
    assert!(case.values(&fit(Uncovered::Abstain), Forward)[1].is_nan());
}

#[test]
fn hungarian_gives_the_last_cluster_to_the_last_place_in_a_square_problem() {
    let x = Pool::new(&[(0.0, 9), (100.0, 9), (500.0, 9)]);
    let y = Pool::new(&[(0.0, 9), (800.0, 9), (1600.0, 9)]);
    let pairs = vec![(x.at(0, 0), y.at(1, 0)), (x.at(2, 0), y.at(0, 0))];
    let case = Case { x, y, pairs };
    let model = case.fit(&case.method("hungarian"));
    let prediction = case.of_groups(&model, Forward);
    assert_eq!(prediction.values.data(), [800.0, 1600.0, 0.0]);
    assert_eq!(
        (status(&prediction, 1), prediction.explain(1).support),
        (LinkStatus::Eliminated, 0)
    );
}

#[test]
fn noise_rows_follow_the_policy_and_pairs_in_the_noise_do_not_vote() {
    // Two dense groups and one row far from both on each side; the lone rows are a pair.
    let groups = |unit: f32| {
        let at = |i: usize| if i < 20 { (i % 2) as f32 * unit + (i / 2) as f32 * 0.1 } else { 9e3 };
        Matrix::from_fn(21, 1, |i, _| at(i))
    };
    let (x, y) = (groups(100.0), groups(1000.0));
    let pairs = [(0, 1), (2, 3), (1, 0), (20, 20)];
    let new = Matrix::from_rows(&[[0.3], [40.0], [60.0], [9e3], [-50.0]]);
    let answers = |uncovered: Uncovered| {
        let method = BridgedClustering { uncovered, ..both(spec("dbscan", 2)) };
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let model = method.fit(problem, Seed(0), &Silent).unwrap();
        assert_eq!(model.x().k(), 2);
        assert!(
            model
                .regressor(Direction::Forward)
                .bridge()
                .links
                .iter()
                .all(|l| l.status == LinkStatus::Linked)
        );
        assert_eq!(model.regressor(Forward).bridge().links.iter().map(|l| l.pairs).sum::<u32>(), 3);
        assert!(model.warnings().iter().any(|w| w.starts_with("1 of 4 pairs have a row outside")));
        let prediction = model.predict(Forward, new.view()).unwrap();
        assert_eq!(statuses(&prediction)[1..], [LinkStatus::Noise; 4]);
        assert_eq!(status(&prediction, 0), LinkStatus::Linked);
        assert!(prediction.clusters[1..].iter().all(|&c| c == NOISE));
        let pool = model.predict_pool(Forward).unwrap();
        assert_eq!((pool.clusters[20], status(&pool, 20)), (NOISE, LinkStatus::Noise));
        prediction
    };
    let near = |value: f32, want: f32| (value - want).abs() < 1e-3 * want.abs().max(1.0);

    let mean = answers(Uncovered::Mean);
    let of_pool = y.view().mean_row()[0] as f32;
    assert!(mean.values.data()[1..].iter().all(|&v| near(v, of_pool)), "{:?}", mean.values);
    assert_eq!(mean.explain(1).source, Source::Mean);

    let nearest = answers(Uncovered::Nearest);
    let want = [1000.45, 1000.45, 0.45, 0.45, 1000.45];
    for (i, (&value, want)) in nearest.values.data().iter().zip(want).enumerate() {
        assert!(near(value, want), "row {i}: {value} {want}");
        assert_eq!(matches!(nearest.explain(i).source, Source::Nearest(_)), i > 0);
    }

    let abstain = answers(Uncovered::Abstain);
    assert!(abstain.values.data()[1..].iter().all(|v| v.is_nan()));
    assert!(abstain.answered(0) && !abstain.answered(3));
}

fn votes(kx: usize, ky: usize, pairs: &[(u32, u32)]) -> Votes {
    let vote = |&(x, y): &(u32, u32)| PairVote { x, y, x_depth: 0.5, y_depth: 0.5 };
    let pairs = pairs.iter().map(vote).collect();
    Votes::hard(pairs, vec![10; kx], vec![10; ky])
}

#[test]
fn hungarian_eliminates_only_where_one_to_one_forces_it() {
    let hungarian = BridgeSpec::named("hungarian").unwrap();
    // x0 and x1 draw for y0: whoever loses it may belong to y1, as may x2.
    let link = &hungarian.link(&votes(3, 2, &[(0, 0), (1, 0)])).unwrap().links[2];
    assert_eq!((link.status, link.best()), (LinkStatus::NoEvidence, None));
    // The same with a place too many: x2 draws between y1 and y2, so y3 is not the last place.
    let link = &hungarian.link(&votes(4, 4, &[(0, 0), (1, 0), (2, 1), (2, 2)])).unwrap().links[3];
    assert_eq!((link.status, link.best()), (LinkStatus::NoEvidence, None));
    // x0 and x1 draw for y0 and y1, but between them: x2 is left with y2.
    let link = &hungarian.link(&votes(3, 3, &[(0, 0), (0, 1), (1, 0), (1, 1)])).unwrap().links[2];
    assert_eq!((link.status, link.best()), (LinkStatus::Eliminated, Some(2)));
}
