//! What a model asks for.

use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{
    BridgedClustering, BridgedModel, Direction, Matrix, Members, Problem, Question, Seed, Silent,
    Wanted,
};
use std::collections::BTreeSet;

/// Six groups, of which the pairs tell of two; rows 0 to 4 of x are far from their groups.
fn model(members: Members) -> (BridgedModel, Vec<usize>) {
    let mixture = Mixture { classes: 6, dim_x: 10, separation: 12.0, ..Mixture::default() };
    let drawn =
        mixture.draw(Sizes { x: 300, y: 240, test: 1, pairs: Pairs::Stratified(1) }, Seed(4));
    let far = |i: usize, c: usize| drawn.x.row(i)[c] + if i < 5 { 2.0 } else { 0.0 };
    let x = Matrix::from_fn(drawn.x.rows(), drawn.x.cols(), far);
    let pairs: Vec<(u32, u32)> =
        drawn.pairs.iter().copied().filter(|(x, _)| *x >= 5).take(2).collect();
    let method = BridgedClustering { members, ..BridgedClustering::with_k(6) };
    let problem = Problem::new(x.view(), drawn.y.view(), &pairs);
    let paired = pairs.iter().map(|p| p.0 as usize).collect();
    (method.fit(problem, Seed(0), &Silent).unwrap(), paired)
}

fn asked(model: &BridgedModel, count: usize, kind: Question) -> Vec<bridged::Suggestion> {
    model.suggest(Wanted { count, side: Some(Direction::Forward), kind }).unwrap()
}

#[test]
fn a_batch_asks_for_no_row_twice_for_no_outlier_and_for_no_row_of_a_pair() {
    for members in [Members::One, Members::Ladder] {
        let (model, paired) = model(members);
        for kind in Question::ALL {
            let asked = asked(&model, 60, kind);
            let rows: BTreeSet<usize> = asked.iter().map(|s| s.row).collect();
            assert_eq!(rows.len(), asked.len(), "{members:?} {kind:?}");
            assert!(asked.len() > 3, "{members:?} {kind:?}: {}", asked.len());
            assert!(rows.iter().all(|row| *row >= 5 && !paired.contains(row)), "{rows:?}");
            assert!(asked.is_sorted_by(|a, b| a.gain >= b.gain - 1e-12), "{members:?} {kind:?}");
            for s in &asked {
                assert!(s.gain > 0.0 && s.gain < 1.0 && s.error_falls_by > 0.0);
                assert!(s.candidates.iter().all(|c| c.probability > 0.0 && c.probability <= 1.0));
                let of_row = model.x().labels()[s.row];
                assert_eq!((s.side, s.cluster), ("x", of_row));
            }
        }
    }
}

#[test]
fn every_cluster_without_a_pair_is_asked_for_before_any_is_asked_for_again() {
    for members in [Members::One, Members::Ladder] {
        let (model, _) = model(members);
        let without: BTreeSet<u32> = model
            .link_table(Direction::Forward)
            .rows()
            .filter(|line| line.pairs == 0 && line.rows > 20)
            .map(|line| line.cluster)
            .collect();
        let first: BTreeSet<u32> =
            asked(&model, without.len(), Question::Partner).iter().map(|s| s.cluster).collect();
        assert!(
            without.len() >= 3 && without.is_subset(&first),
            "{members:?}: {without:?} {first:?}"
        );
    }
}

#[test]
fn a_match_is_between_two_rows_and_is_worth_no_more_than_a_partner() {
    let (model, _) = model(Members::One);
    let (partner, judged) =
        (asked(&model, 1, Question::Partner), asked(&model, 1, Question::Match));
    assert_eq!(judged[0].candidates.len(), 1);
    assert!(judged[0].gain < partner[0].gain, "{} {}", judged[0].gain, partner[0].gain);
}

#[test]
fn questions_are_the_same_whoever_asks_and_none_are_none() {
    let (model, _) = model(Members::Ladder);
    let few = asked(&model, 4, Question::Partner);
    assert_eq!(few[..], asked(&model, 9, Question::Partner)[..4]);
    assert!(asked(&model, 0, Question::Partner).is_empty());
    let both = model.suggest(Wanted { count: 30, ..Wanted::default() }).unwrap();
    assert!(both.iter().any(|s| s.side == "y") && both.iter().any(|s| s.side == "x"));
}

#[test]
fn negative_answers_stay_in_the_file_and_contradictions_are_refused() {
    let x = Matrix::from_fn(60, 2, |i, c| [0.0, 9.0, 20.0][i / 20] + ((i + c) % 3) as f32 * 0.1);
    let (pairs, method) = ([(0, 0)], BridgedClustering::with_k(3));
    let problem = Problem::new(x.view(), x.view(), &pairs);
    let fit =
        |negatives: &[(u32, u32)]| method.fit(problem.with_negatives(negatives), Seed(0), &Silent);
    let (plain, told) = (fit(&[]).unwrap(), fit(&[(25, 45), (25, 45)]).unwrap());
    assert_eq!(told.negatives(), [(25, 45)], "twice counts once");
    let read = |model: &BridgedModel| {
        let bytes = model.to_bytes().unwrap();
        BridgedModel::from_bytes(&bytes, "m".as_ref()).unwrap()
    };
    assert_eq!(read(&told), told);
    assert!(!plain.to_bytes().unwrap().windows(9).any(|w| w == b"negatives"));
    let weight = |model: &BridgedModel| {
        let (from, to) = (model.x().labels()[25], model.y().labels()[45]);
        let link = &model.regressor(Direction::Forward).bridge().links[from as usize];
        link.targets.iter().find(|t| t.cluster == to).map_or(0.0, |t| t.weight)
    };
    assert!(weight(&told) < weight(&plain) - 0.2, "{} {}", weight(&told), weight(&plain));
    let new = x.view().select([25]);
    let value = |model: &BridgedModel| {
        model.predict(Direction::Forward, new.view()).unwrap().values.row(0)[0]
    };
    assert!(value(&told) < value(&plain), "it is further from 20 than before");
    let said = fit(&[(1, 2), (0, 0)]).unwrap_err().to_string();
    assert_eq!(
        said,
        "pair 0 says that row 0 of x belongs with row 0 of y, and negative answer 1 says that it does not; \
         take one of them out"
    );
    let said = fit(&[(1, 99)]).unwrap_err().to_string();
    assert_eq!(said, "negative answer 0 names row 99 of y, which has 60 rows (0 to 59)");
}
