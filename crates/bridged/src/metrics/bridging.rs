//! How many latent classes a bridge carries to the right output cluster (§4, App. B).
//!
//! With the best one-to-one maps σ_X and σ_Y of clusters to classes
//! ([`Contingency::matching`]), class t dominates input cluster σ_X⁻¹(t) and output cluster
//! σ_Y⁻¹(t), and the *truth*, class by class, links the two. Of a bridge Â,
//!
//! ```text
//! accuracy = share of classes t with Â(σ_X⁻¹(t)) = σ_Y⁻¹(t)
//! ε_B      = Pr_T[σ_Y(Â(σ_X⁻¹(T))) ≠ T],   T by the class shares of the input rows
//! ```
//!
//! A class that dominates no cluster on one side has no true link and counts as wrong in both.
//! That is harsh where the numbers of clusters and classes differ, so `by_majority` also gives the
//! share of *input clusters* that link to an output cluster with the same most frequent class; it
//! lets several clusters share a class.
//!
//! The reverse direction is the same question with the sides exchanged: `bridging(y, x, reverse)`.
//! It is not the forward truth read backwards; see the tests.

use super::{Contingency, Matching, MetricError, check_length};
use crate::cluster::NOISE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The rows of one side, each with its cluster and its latent class. The rows of the two sides need
/// not be aligned, nor be equally many.
#[derive(Clone, Copy, Debug)]
pub struct LabelledRows<'a> {
    /// The cluster of each row, or [`NOISE`], which links to nothing.
    pub labels: &'a [u32],
    /// The latent class of each row.
    pub classes: &'a [u32],
}

/// How right a bridge is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bridging {
    /// The share of latent classes whose link is right, every class counting the same.
    pub accuracy: f64,
    /// ε_B: the share of input rows (by latent class) whose class has a wrong link.
    pub epsilon_b: f64,
    /// The share of input clusters that link to an output cluster with the same majority class.
    pub by_majority: f64,
    /// The right link of each input cluster; `None` if it stands for no class of its own.
    pub truth: Vec<Option<u32>>,
}

/// Scores a bridge from the clusters of `from` to those of `to`: `bridge[a]` is the output cluster
/// that input cluster a links to, `None` if it links to none, which is never right.
///
/// ```
/// use bridged::metrics::{LabelledRows, bridging};
/// let x = LabelledRows { labels: &[0, 0, 1, 1, 2, 2], classes: &[7, 7, 8, 8, 9, 9] };
/// let y = LabelledRows { labels: &[1, 1, 2, 2, 0, 0], classes: &[7, 7, 8, 8, 9, 9] };
/// let score = bridging(x, y, &[Some(1), Some(2), Some(1)])?;
/// assert_eq!(score.truth, [Some(1), Some(2), Some(0)]);
/// assert_eq!(score.accuracy, 2.0 / 3.0);
/// # Ok::<(), bridged::metrics::MetricError>(())
/// ```
pub fn bridging(
    from: LabelledRows<'_>,
    to: LabelledRows<'_>,
    bridge: &[Option<u32>],
) -> Result<Bridging, MetricError> {
    let (x, y) = (from.table(bridge.len())?, to.table(usize::MAX)?);
    let (cluster_x, cluster_y) = (x.matching().cluster_of(), y.matching().cluster_of());
    let link = |a: u32| bridge[a as usize];

    let classes: BTreeSet<u32> = x.classes().iter().chain(y.classes()).copied().collect();
    let mut truth = vec![None; bridge.len()];
    let (mut right, mut right_share) = (0, 0.0);
    for &t in &classes {
        let (Some(&a), Some(&b)) = (cluster_x.get(&t), cluster_y.get(&t)) else { continue };
        truth[a as usize] = Some(b);
        if link(a) == Some(b) {
            right += 1;
            right_share += x.class_share(t);
        }
    }
    Ok(Bridging {
        accuracy: f64::from(right) / classes.len() as f64,
        // Only rounding of the summed shares takes it below 0.
        epsilon_b: if right as usize == classes.len() { 0.0 } else { (1.0 - right_share).max(0.0) },
        by_majority: by_majority(&x, &y, link),
        truth,
    })
}

/// Over the input clusters that have rows; in a tie, any majority class in common is enough.
fn by_majority(x: &Contingency, y: &Contingency, link: impl Fn(u32) -> Option<u32>) -> f64 {
    let clusters: Vec<u32> = x.clusters().iter().copied().filter(|&a| a != NOISE).collect();
    let agrees = |a: u32| {
        link(a).is_some_and(|b| {
            let theirs = y.majority(b);
            x.majority(a).iter().any(|class| theirs.contains(class))
        })
    };
    match clusters.len() {
        0 => 0.0,
        k => clusters.iter().filter(|&&a| agrees(a)).count() as f64 / k as f64,
    }
}

impl<'a> LabelledRows<'a> {
    fn table(self, k: usize) -> Result<Contingency, MetricError> {
        check_length("classes", self.classes.len(), self.labels.len())?;
        let bad = |&(_, &label): &(usize, &u32)| label != NOISE && label as usize >= k;
        match self.labels.iter().enumerate().find(bad) {
            Some((row, &label)) => Err(MetricError::BadLabel { row, label, k }),
            None => Contingency::new(self.labels, self.classes),
        }
    }

    /// The best map of this side's clusters to classes and its mis-clustering rate.
    pub fn matching(self) -> Result<Matching, MetricError> {
        Ok(self.table(usize::MAX)?.matching())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::Seed;
    use proptest::prelude::*;
    use rand::RngExt;
    use rand::seq::SliceRandom;

    fn some(bridge: &[u32]) -> Vec<Option<u32>> {
        bridge.iter().copied().map(Some).collect()
    }

    #[test]
    fn the_reverse_direction_is_scored_with_the_sides_exchanged() {
        // Classes 0, 1, 2 are x clusters 0, 1, 2 and y clusters 1, 2, 0: a map that is not its own
        // inverse. Comparing the reverse bridge with the forward truth would give 0.
        let classes = [0, 0, 1, 1, 2, 2];
        let x = LabelledRows { labels: &[0, 0, 1, 1, 2, 2], classes: &classes };
        let y = LabelledRows { labels: &[1, 1, 2, 2, 0, 0], classes: &classes };
        let forward = bridging(x, y, &some(&[1, 2, 0])).unwrap();
        let reverse = bridging(y, x, &some(&[2, 0, 1])).unwrap();
        assert_eq!((forward.accuracy, reverse.accuracy), (1.0, 1.0));
        assert_eq!(forward.truth, some(&[1, 2, 0]));
        assert_eq!(reverse.truth, some(&[2, 0, 1]));
        let wrong_way = reverse.truth.iter().zip(&forward.truth).filter(|(a, b)| a == b).count();
        assert_eq!(wrong_way, 0);
    }

    #[test]
    fn many_to_one_bridges_score_differently_in_each_direction() {
        let classes = [0, 0, 1, 1, 2, 2];
        let x = LabelledRows { labels: &[0, 0, 1, 1, 2, 2], classes: &classes };
        let y = LabelledRows { labels: &[1, 1, 2, 2, 0, 0], classes: &classes };
        // Forward, all inputs go to y cluster 1 (class 0): one right. In reverse, two are right.
        let forward = bridging(x, y, &some(&[1, 1, 1])).unwrap();
        let reverse = bridging(y, x, &some(&[2, 0, 2])).unwrap();
        assert!((forward.accuracy - 1.0 / 3.0).abs() < 1e-15);
        assert!((reverse.accuracy - 2.0 / 3.0).abs() < 1e-15);
        // The reverse bridge scored as a forward one is another number.
        let confused = bridging(x, y, &some(&[2, 0, 2])).unwrap();
        assert_eq!(confused.accuracy, 0.0);
    }

    #[test]
    fn the_rate_weights_classes_by_their_input_rows() {
        // Class 0 has 6 of 8 input rows but 1 of 2 output rows; its link is wrong.
        let x =
            LabelledRows { labels: &[0, 0, 0, 0, 0, 0, 1, 1], classes: &[0, 0, 0, 0, 0, 0, 1, 1] };
        let y = LabelledRows { labels: &[0, 1], classes: &[0, 1] };
        let score = bridging(x, y, &some(&[1, 1])).unwrap();
        assert_eq!((score.accuracy, score.epsilon_b, score.by_majority), (0.5, 0.75, 0.5));
    }

    #[test]
    fn a_missing_link_is_wrong() {
        let x = LabelledRows { labels: &[0, 1], classes: &[0, 1] };
        let score = bridging(x, x, &[Some(0), None]).unwrap();
        assert_eq!((score.accuracy, score.epsilon_b, score.by_majority), (0.5, 0.5, 0.5));
        assert_eq!(score.truth, some(&[0, 1]));
    }

    #[test]
    fn more_clusters_than_classes_are_judged_by_their_majority() {
        // Two clusters share class 0 on the input side; both link to its only output cluster.
        let x = LabelledRows { labels: &[0, 0, 0, 1, 1, 2, 2], classes: &[0, 0, 0, 0, 0, 1, 1] };
        let y = LabelledRows { labels: &[1, 1, 0, 0], classes: &[0, 0, 1, 1] };
        let score = bridging(x, y, &some(&[1, 1, 0])).unwrap();
        assert_eq!((score.accuracy, score.epsilon_b, score.by_majority), (1.0, 0.0, 1.0));
        assert_eq!(score.truth, [Some(1), None, Some(0)]);
    }

    #[test]
    fn a_class_without_a_cluster_on_one_side_counts_as_wrong() {
        let x = LabelledRows { labels: &[0, 0, 1, 1, 2, 2], classes: &[0, 0, 1, 1, 2, 2] };
        let y = LabelledRows { labels: &[0, 0, 0, 1, 1, 1, 1], classes: &[0, 0, 0, 1, 1, 1, 2] };
        let score = bridging(x, y, &some(&[0, 1, 1])).unwrap();
        assert!((score.accuracy - 2.0 / 3.0).abs() < 1e-15);
        assert!((score.epsilon_b - 1.0 / 3.0).abs() < 1e-15);
        assert!((score.by_majority - 2.0 / 3.0).abs() < 1e-15);
        assert_eq!(score.truth, [Some(0), Some(1), None]);
    }

    #[test]
    fn a_label_that_the_bridge_does_not_know_is_refused() {
        let x = LabelledRows { labels: &[0, NOISE, 3], classes: &[0, 0, 1] };
        let error = bridging(x, x, &[Some(0), None]).unwrap_err();
        assert_eq!(error, MetricError::BadLabel { row: 2, label: 3, k: 2 });
    }

    proptest! {
        #[test]
        fn perfect_clusters_with_the_true_links_are_all_right_in_both_directions(
            k in 1u32..12, seed in 0u64..1_000_000,
        ) {
            let mut rng = Seed(seed).rng();
            let mut names: Vec<Vec<u32>> = vec![(0..k).collect(), (0..k).collect()];
            names.iter_mut().for_each(|n| n.shuffle(&mut rng));
            let classes: Vec<u32> = (0..k).chain((0..30).map(|_| rng.random_range(0..k))).collect();
            let labels: Vec<Vec<u32>> =
                names.iter().map(|n| classes.iter().map(|&t| n[t as usize]).collect()).collect();
            let (x, y) = (
                LabelledRows { labels: &labels[0], classes: &classes },
                LabelledRows { labels: &labels[1], classes: &classes },
            );
            let truth = bridging(x, y, &vec![None; k as usize]).unwrap().truth;
            let back = bridging(y, x, &vec![None; k as usize]).unwrap().truth;
            for (a, b) in truth.iter().enumerate() {
                prop_assert_eq!(back[b.unwrap() as usize], Some(a as u32));
            }
            let all = (1.0, 0.0, 1.0);
            let score = |b: &Bridging| (b.accuracy, b.epsilon_b, b.by_majority);
            prop_assert_eq!(score(&bridging(x, y, &truth).unwrap()), all);
            prop_assert_eq!(score(&bridging(y, x, &back).unwrap()), all);
        }
    }
}
