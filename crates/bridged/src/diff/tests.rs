//! Two models, side by side.

use super::*;
use crate::synth::{Mixture, Pairs, Sample, Sizes};
use crate::{BridgedClustering, KeepRows, Names, Preset, Problem};
use bridged_math::{Matrix, Seed, Silent};
use proptest::prelude::*;

fn sample(seed: u64) -> Sample {
    let mixture =
        Mixture { classes: 4, dim_x: 6, dim_y: 5, separation: 12.0, ..Mixture::default() };
    mixture.draw(Sizes { x: 160, y: 120, test: 40, pairs: Pairs::Stratified(3) }, Seed(seed))
}

fn fitted(
    settings: &BridgedClustering,
    x: &Matrix,
    y: &Matrix,
    pairs: &[(u32, u32)],
) -> BridgedModel {
    settings.fit(Problem::new(x.view(), y.view(), pairs), Seed(1), &Silent).expect("plain data")
}

fn voting(k: usize) -> BridgedClustering {
    Preset::Voting.with_k(k)
}

fn model(s: &Sample) -> BridgedModel {
    fitted(&voting(4), &s.x, &s.y, &s.pairs)
}

#[test]
fn a_model_is_identical_to_itself() {
    let model = model(&sample(1));
    let diff = model.diff(&model, DiffRows::default()).unwrap();
    assert!(diff.identical && diff.notes.is_empty() && diff.sides.is_empty());
}

#[cfg(feature = "persist")]
#[test]
fn a_model_is_identical_to_its_file() {
    let model = model(&sample(1));
    let bytes = model.to_bytes().unwrap();
    let read = BridgedModel::from_bytes(&bytes, std::path::Path::new("memory")).unwrap();
    assert!(model.diff(&read, DiffRows::default()).unwrap().identical);
}

#[test]
fn how_a_model_was_made_is_no_difference() {
    let model = model(&sample(1));
    let told = model.clone().with_event(model.fit_event("0.1.0", Vec::new()));
    assert!(model != told && model.diff(&told, DiffRows::default()).unwrap().identical);
}

#[test]
fn clusters_in_another_order_are_the_same_clusters() {
    let s = sample(2);
    let a = model(&s);
    // The rows of both pools the other way round: clusters are numbered as rows meet them.
    let turned = |m: &Matrix| m.view().select((0..m.rows()).rev());
    let (nx, ny) = (s.x.rows() as u32, s.y.rows() as u32);
    let pairs: Vec<(u32, u32)> = s.pairs.iter().map(|&(i, j)| (nx - 1 - i, ny - 1 - j)).collect();
    let b = fitted(&voting(4), &turned(&s.x), &turned(&s.y), &pairs);
    let diff = a.diff(&b, DiffRows::default()).unwrap();
    assert!(!diff.identical && diff.parameters.is_empty());
    for (side, rows) in diff.sides.iter().zip([160, 120]) {
        assert_eq!((side.matched_by, side.common, side.agree), (MatchedBy::Content, rows, rows));
        assert!(side.clusters.iter().all(|c| c.rows[0] == c.rows[1] && c.moved.unwrap() < 1e-3));
    }
    assert!(diff.sides[0].clusters.iter().any(|c| c.this != c.other), "the order did change");
    assert!(diff.links.iter().all(|l| l.same) && diff.links.len() == 8);
    for p in &diff.predictions {
        assert_eq!((p.linked_alike, p.answered_by_one), (p.rows, 0));
        assert!(p.relative.unwrap() < 1e-3, "{p:?}");
    }
}

#[test]
fn a_link_that_changed_is_the_one_that_is_named() {
    let s = sample(3);
    let a = model(&s);
    // The pairs of two groups change places.
    let group = |j: u32| s.latent_y[j as usize];
    let swapped = |g: u32| match g {
        0 => 1,
        1 => 0,
        g => g,
    };
    let mut by_group = [const { Vec::new() }; 4];
    s.pairs.iter().for_each(|&(_, j)| by_group[group(j) as usize].push(j));
    let pairs: Vec<(u32, u32)> = s
        .pairs
        .iter()
        .map(|&(i, j)| {
            let at = by_group[group(j) as usize].iter().position(|&other| other == j).unwrap();
            (i, by_group[swapped(group(j)) as usize][at])
        })
        .collect();
    let b = fitted(&voting(4), &s.x, &s.y, &pairs);
    let diff = a.diff(&b, DiffRows { x: Some(s.test_x.view()), y: None }).unwrap();
    assert_eq!(diff.links.iter().filter(|l| !l.same).count(), 4, "two in each direction");
    let forward = &diff.predictions[0];
    let moved = s.test_latent.iter().filter(|&&t| t < 2).count();
    assert_eq!((forward.of, forward.rows, forward.given), ("y", 40, true));
    assert_eq!(forward.linked_alike, 40 - moved);
    assert!(forward.relative.unwrap() > 0.3);
    assert_eq!(diff.sides[0].matched_by, MatchedBy::Rows);
}

#[test]
fn a_cluster_that_only_one_model_has_is_said_to_be_alone() {
    let s = sample(4);
    let (a, b) = (model(&s), fitted(&voting(3), &s.x, &s.y, &s.pairs));
    let diff = a.diff(&b, DiffRows::default()).unwrap();
    let x = &diff.sides[0];
    assert_eq!(x.clusters.iter().filter(|c| c.other.is_none()).count(), 1);
    assert!(x.clusters.iter().all(|c| c.this.is_some()) && x.agree < x.common);
    let names: Vec<&str> = diff.parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["x.cluster.k", "y.cluster.k"]);
    let back = b.diff(&a, DiffRows::default()).unwrap();
    assert_eq!(back.sides[0].clusters.iter().filter(|c| c.this.is_none()).count(), 1);
}

#[test]
fn ids_tell_which_rows_are_common() {
    let s = sample(5);
    let named = |model: BridgedModel, first: usize| {
        let ids = |n: usize| Names {
            ids: (first..first + n).map(|i| i.to_string()).collect(),
            ..Names::default()
        };
        model.with_names(ids(160), ids(120)).unwrap()
    };
    let all = model(&s);
    // Rows 60 to 219 of the second are not those of the first, but for their names.
    let (a, b) = (named(all.clone(), 0), named(all, 60));
    let diff = a.diff(&b, DiffRows::default()).unwrap();
    assert_eq!((diff.sides[0].matched_by, diff.sides[0].common), (MatchedBy::Ids, 100));
    assert_eq!(diff.sides[1].common, 60);
}

#[test]
fn without_common_rows_centroids_tell_and_a_note_says_so() {
    let (s, t) = (sample(6), sample(6));
    let no_rows = BridgedClustering { keep_rows: KeepRows::No, ..voting(4) };
    let b = fitted(&no_rows, &t.x, &t.y, &t.pairs);
    let diff = model(&s).diff(&b, DiffRows::default()).unwrap();
    let x = &diff.sides[0];
    assert_eq!((x.matched_by, x.common), (MatchedBy::Centroids, 0));
    assert!(x.clusters.iter().all(|c| c.this == c.other && c.moved == Some(0.0)), "{x:?}");
    assert!(diff.notes[0].contains("share no rows of x"), "{:?}", diff.notes);
    assert_eq!(diff.predictions.len(), 2);
    let back = b.diff(&model(&s), DiffRows::default()).unwrap();
    assert!(back.predictions.is_empty(), "it holds no rows to predict");
}

#[test]
fn models_of_another_width_are_told_apart_in_a_sentence() {
    let s = sample(7);
    let narrow = Matrix::from_fn(160, 3, |i, j| s.x.row(i)[j]);
    let b = fitted(&voting(4), &narrow, &s.y, &s.pairs);
    let diff = model(&s).diff(&b, DiffRows::default()).unwrap();
    let said = "the models cannot be compared: x has 6 columns in the first and 3 in the second";
    assert_eq!(diff.notes, [said]);
    assert!(diff.sides.is_empty() && diff.links.is_empty() && !diff.identical);
    let rows = DiffRows { x: Some(narrow.view()), y: None };
    let c = fitted(&voting(3), &s.x, &s.y, &s.pairs);
    assert!(model(&s).diff(&c, rows).unwrap_err().to_string().contains("have 3 columns"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_other_matching_shares_more_rows(seed in 0u64..1000, ka in 1usize..5, kb in 1usize..5) {
        let mixture = Mixture { classes: 3, dim_x: 3, dim_y: 2, separation: 2.0, ..Mixture::default() };
        let s = mixture.draw(Sizes { x: 40, y: 20, test: 1, pairs: Pairs::Iid(4) }, Seed(seed));
        let (a, b) = (fitted(&voting(ka), &s.x, &s.y, &s.pairs), fitted(&voting(kb), &s.x, &s.y, &s.pairs));
        let diff = a.diff(&b, DiffRows::default()).unwrap();
        prop_assume!(!diff.identical);
        let (la, lb) = (a.x().labels(), b.x().labels());
        // Every one-to-one map of the fewer clusters into the more, as digits.
        let (few, many, swap) = if ka <= kb { (ka, kb, false) } else { (kb, ka, true) };
        let mut best = 0;
        for code in 0..many.pow(few as u32) {
            let map: Vec<usize> = (0..few).map(|i| code / many.pow(i as u32) % many).collect();
            let mut distinct = map.clone();
            distinct.sort_unstable();
            distinct.dedup();
            if distinct.len() == few {
                let (from, to) = if swap { (lb, la) } else { (la, lb) };
                best = best.max((0..40).filter(|&i| map[from[i] as usize] == to[i] as usize).count());
            }
        }
        prop_assert_eq!(diff.sides[0].agree, best);
    }
}
