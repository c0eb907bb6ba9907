//! Clusters against classes: the contingency table that the scores of a clustering are read from.
//!
//! n_ij is the number of rows in cluster i and class j, with row sums a_i, column sums b_j and n
//! rows. From it follow
//!
//! ```text
//! MI = Σ n_ij/n · ln(n n_ij / (a_i b_j))      H(a) = −Σ a_i/n · ln(a_i/n)
//! ```
//!
//! and with them [AMI](fn@super::ami), [NMI](fn@super::nmi), [ARI](fn@super::ari) and the mis-clustering rate
//! [ε](fn@super::misclustering).
//!
//! Labels are any numbers; [`NOISE`](crate::cluster::NOISE) is a label of its own in AMI, NMI and
//! ARI. In ε it is no cluster: its rows are mapped to no class and count as errors.

use super::{MetricError, check_length};
use std::collections::BTreeMap;

/// How many rows each pair of cluster and class shares; only pairs that occur are stored.
///
/// ```
/// use bridged::metrics::Contingency;
/// let table = Contingency::new(&[0, 0, 1, 1, 2], &[7, 7, 7, 9, 9])?;
/// assert_eq!(table.clusters(), [0, 1, 2]);
/// assert_eq!(table.classes(), [7, 9]);
/// assert_eq!(table.count(1, 9), 1);
/// assert_eq!(table.matching().error, 0.4); // 0 ↔ 7 and 2 ↔ 9 (or 1 ↔ 9)
/// # Ok::<(), bridged::metrics::MetricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contingency {
    pub(super) clusters: Vec<u32>,
    pub(super) classes: Vec<u32>,
    /// (position in `clusters`, position in `classes`) → rows.
    pub(super) cells: BTreeMap<(usize, usize), u64>,
    pub(super) cluster_sizes: Vec<u64>,
    pub(super) class_sizes: Vec<u64>,
    pub(super) rows: u64,
}

impl Contingency {
    /// Counts rows by their label and their class.
    pub fn new(labels: &[u32], classes: &[u32]) -> Result<Self, MetricError> {
        check_length("classes", classes.len(), labels.len())?;
        if labels.is_empty() {
            return Err(MetricError::NoRows);
        }
        let mut rows: Vec<(u32, u32)> =
            labels.iter().copied().zip(classes.iter().copied()).collect();
        rows.sort_unstable();
        let (clusters, classes) = (distinct(labels), distinct(classes));
        let mut cluster_sizes = vec![0; clusters.len()];
        let mut class_sizes = vec![0; classes.len()];
        let mut cells = BTreeMap::new();
        for run in rows.chunk_by(|a, b| a == b) {
            let i = clusters.binary_search(&run[0].0).expect("taken from these labels");
            let j = classes.binary_search(&run[0].1).expect("taken from these classes");
            cells.insert((i, j), run.len() as u64);
            cluster_sizes[i] += run.len() as u64;
            class_sizes[j] += run.len() as u64;
        }
        let rows = labels.len() as u64;
        Ok(Self { clusters, classes, cells, cluster_sizes, class_sizes, rows })
    }

    /// The labels that occur, in order; [`NOISE`](crate::cluster::NOISE) comes last.
    pub fn clusters(&self) -> &[u32] {
        &self.clusters
    }

    /// The classes that occur, in order.
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// The rows in that cluster and class.
    pub fn count(&self, cluster: u32, class: u32) -> u64 {
        let at = (self.clusters.binary_search(&cluster), self.classes.binary_search(&class));
        match at {
            (Ok(i), Ok(j)) => self.cells.get(&(i, j)).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// The share of the rows that have this class.
    pub fn class_share(&self, class: u32) -> f64 {
        let size = self.classes.binary_search(&class).map_or(0, |j| self.class_sizes[j]);
        size as f64 / self.rows as f64
    }

    /// The most frequent classes of a cluster: several in a tie, none if the cluster has no rows.
    pub fn majority(&self, cluster: u32) -> Vec<u32> {
        let Ok(i) = self.clusters.binary_search(&cluster) else { return Vec::new() };
        let row = || self.cells.range((i, 0)..(i + 1, 0));
        let most = row().map(|(_, &n)| n).max();
        row().filter(|(_, n)| Some(**n) == most).map(|(&(_, j), _)| self.classes[j]).collect()
    }

    /// MI in nats.
    pub fn mutual_information(&self) -> f64 {
        let n = self.rows as f64;
        let mut sum = 0.0;
        for (&(i, j), &rows) in &self.cells {
            let product = self.cluster_sizes[i] as f64 * self.class_sizes[j] as f64;
            sum += rows as f64 / n * (n * rows as f64 / product).ln();
        }
        // Rounding alone takes it below zero or above an entropy.
        sum.clamp(0.0, entropy(&self.cluster_sizes, n).min(entropy(&self.class_sizes, n)))
    }

    /// Mean of the entropies of clusters and classes, in nats.
    pub(super) fn mean_entropy(&self) -> f64 {
        let n = self.rows as f64;
        0.5 * (entropy(&self.cluster_sizes, n) + entropy(&self.class_sizes, n))
    }
}

fn distinct(values: &[u32]) -> Vec<u32> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    values
}

fn entropy(sizes: &[u64], n: f64) -> f64 {
    -sizes.iter().map(|&s| s as f64 / n * (s as f64 / n).ln()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::NOISE;
    use crate::metrics::{ami, ari};
    use bridged_math::Seed;
    use proptest::prelude::*;
    use rand::RngExt;
    use rand::seq::SliceRandom;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Golden {
        clustering: Vec<Case>,
        large_ami: Large,
    }

    #[derive(Deserialize)]
    struct Case {
        name: String,
        labels: Vec<u32>,
        classes: Vec<u32>,
        ami: f64,
        nmi: f64,
        ari: f64,
        error: f64,
    }

    #[derive(Deserialize)]
    struct Large {
        n: u64,
        ami: f64,
    }

    fn golden() -> Golden {
        serde_json::from_str(include_str!("../../../../tests/golden/metrics.json")).unwrap()
    }

    #[test]
    fn scores_agree_with_scikit_learn() {
        let cases = golden().clustering;
        assert!(cases.len() >= 20);
        for case in cases {
            let table = Contingency::new(&case.labels, &case.classes).unwrap();
            let near = |what: &str, a: f64, b: f64| {
                assert!((a - b).abs() < 1e-11, "{what} of {}: {a}, not {b}", case.name);
            };
            near("AMI", table.ami(), case.ami);
            near("NMI", table.nmi(), case.nmi);
            near("ARI", table.ari(), case.ari);
            near("ε", table.matching().error, case.error);
        }
    }

    #[test]
    fn a_million_rows_are_scored_quickly_and_as_in_scikit_learn() {
        let large = golden().large_ami;
        let classes: Vec<u32> = (0..large.n).map(|i| (i * i / 7 % 50) as u32).collect();
        let labels: Vec<u32> =
            classes.iter().zip(0u32..).map(|(c, i)| (c + i / 3 % 3) % 60).collect();
        let start = std::time::Instant::now();
        let got = ami(&labels, &classes).unwrap();
        let took = start.elapsed();
        // Logarithms of factorials of a million leave 1e-8 of noise in the reference.
        assert!((got - large.ami).abs() < 1e-8, "{got} is not {}", large.ami);
        assert!(took.as_secs() < 5, "took {took:?}");
    }

    #[test]
    fn a_million_rows_in_as_many_clusters_are_no_trouble() {
        let labels: Vec<u32> = (0..1_000_000).collect();
        let classes: Vec<u32> = labels.iter().map(|i| i % 1000).collect();
        assert!(ami(&labels, &classes).unwrap().abs() < 1e-9);
        assert_eq!(ari(&labels, &classes).unwrap(), 0.0);
        assert_eq!(ari(&labels, &labels).unwrap(), 1.0);
    }

    #[test]
    fn expected_information_agrees_with_the_mean_over_all_orders() {
        let labels = [0u32, 0, 0, 1, 1, 2];
        let mut classes = vec![0u32, 0, 1, 1, 1, 1];
        let expected = Contingency::new(&labels, &classes).unwrap().expected_mutual_information();
        let mut orders = Vec::new();
        permutations(&mut classes, 0, &mut |order| {
            orders.push(Contingency::new(&labels, order).unwrap().mutual_information());
        });
        assert_eq!(orders.len(), 720);
        let mean = orders.iter().sum::<f64>() / 720.0;
        assert!((mean - expected).abs() < 1e-14);
    }

    #[test]
    fn noise_is_a_label_for_information_and_an_error_for_the_rate() {
        let labels = [0, 0, NOISE, NOISE];
        let classes = [4, 4, 5, 5];
        assert!((ami(&labels, &classes).unwrap() - 1.0).abs() < 1e-12);
        let table = Contingency::new(&labels, &classes).unwrap();
        assert_eq!(table.matching().error, 0.5);
        assert_eq!(table.matching().class_of, BTreeMap::from([(0, 4)]));
    }

    #[test]
    fn a_cluster_and_a_class_that_share_no_row_stay_unmatched() {
        // Class 2 has no cluster of its own; cluster 2 is another piece of class 0.
        let labels = [0, 0, 0, 1, 1, 1, 2];
        let classes = [0, 0, 0, 1, 1, 2, 0];
        let matching = Contingency::new(&labels, &classes).unwrap().matching();
        assert_eq!(matching.class_of, BTreeMap::from([(0, 0), (1, 1)]));
        assert!((matching.error - 2.0 / 7.0).abs() < 1e-15);
    }

    #[test]
    fn labels_and_classes_of_different_lengths_are_refused() {
        let error = ami(&[0, 1], &[0]).unwrap_err();
        assert_eq!(error, MetricError::Length { name: "classes", got: 1, need: 2 });
        assert_eq!(ami(&[], &[]), Err(MetricError::NoRows));
    }

    fn permutations(items: &mut Vec<u32>, at: usize, f: &mut dyn FnMut(&[u32])) {
        if at == items.len() {
            return f(items);
        }
        for i in at..items.len() {
            items.swap(at, i);
            permutations(items, at + 1, f);
            items.swap(at, i);
        }
    }

    proptest! {
        #[test]
        fn scores_do_not_depend_on_names_order_or_sides(
            n in 1usize..60, k in 1u32..8, c in 1u32..8, seed in 0u64..1_000_000,
        ) {
            let mut rng = Seed(seed).rng();
            let labels: Vec<u32> = (0..n).map(|_| rng.random_range(0..k)).collect();
            let classes: Vec<u32> = (0..n).map(|_| rng.random_range(0..c)).collect();
            let mut names: Vec<u32> = (0..k).map(|i| 100 + i * 17).collect();
            names.shuffle(&mut rng);
            let mut order: Vec<usize> = (0..n).collect();
            order.shuffle(&mut rng);
            let renamed: Vec<u32> = order.iter().map(|&i| names[labels[i] as usize]).collect();
            let moved: Vec<u32> = order.iter().map(|&i| classes[i]).collect();
            let (one, two) =
                (Contingency::new(&labels, &classes).unwrap(), Contingency::new(&renamed, &moved).unwrap());
            let other_side = Contingency::new(&classes, &labels).unwrap();
            for table in [two, other_side] {
                prop_assert!((one.ami() - table.ami()).abs() < 1e-9);
                prop_assert!((one.nmi() - table.nmi()).abs() < 1e-12);
                prop_assert!((one.ari() - table.ari()).abs() < 1e-12);
                prop_assert!((one.matching().error - table.matching().error).abs() < 1e-12);
            }
        }

        #[test]
        fn the_rate_is_the_least_over_all_maps(
            n in 1usize..40, k in 1u32..=6, c in 1u32..=6, seed in 0u64..1_000_000,
        ) {
            let mut rng = Seed(seed).rng();
            let labels: Vec<u32> = (0..n).map(|_| rng.random_range(0..k)).collect();
            let classes: Vec<u32> = (0..n).map(|_| rng.random_range(0..c)).collect();
            // Permutations of max(k, c) names cover all injective maps; names ≥ c are no class.
            let mut least = n;
            permutations(&mut (0..k.max(c)).collect(), 0, &mut |map| {
                let wrong = labels.iter().zip(&classes).filter(|(l, t)| map[**l as usize] != **t).count();
                least = least.min(wrong);
            });
            let matching = Contingency::new(&labels, &classes).unwrap().matching();
            prop_assert!((matching.error - least as f64 / n as f64).abs() < 1e-12);
            let wrong = labels.iter().zip(&classes).filter(|(l, t)| matching.class_of.get(*l) != Some(*t)).count();
            prop_assert_eq!(wrong, least);
            prop_assert_eq!(matching.cluster_of().len(), matching.class_of.len());
        }
    }
}
