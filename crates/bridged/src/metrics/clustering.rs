//! How well a clustering recovers latent classes: AMI, NMI, ARI and the mis-clustering rate ε.
//!
//! All four are functions of the contingency table n_ij = rows in cluster i and class j, with row
//! sums a_i, column sums b_j and n rows:
//!
//! ```text
//! MI  = Σ n_ij/n · ln(n n_ij / (a_i b_j))          H(a) = −Σ a_i/n · ln(a_i/n)
//! NMI = MI / mean(H(a), H(b))
//! AMI = (MI − E[MI]) / (mean(H(a), H(b)) − E[MI])  (Vinh, Epps & Bailey 2010)
//! ARI = the same correction of the share of row pairs on which both agree (Hubert & Arabie 1985)
//! ε   = 1 − max over injective maps σ: cluster → class of Σ_i n_{i σ(i)} / n        (§4)
//! ```
//!
//! `E[MI]` is over all tables with these sums, so n_ij is hypergeometric. Its weights are computed
//! from their mode outwards by the ratio of neighbours until they vanish: exact to rounding, with no
//! logarithms of factorials to cancel. Equal sums are done once, so a million rows in a million
//! clusters cost no more than a few. AMI and NMI are normalised by the arithmetic mean, as by
//! default in scikit-learn.
//!
//! Labels are any numbers; [`NOISE`] is a label of its own in AMI, NMI and ARI. In ε it is no
//! cluster: its rows are mapped to no class and count as errors.

use super::{MetricError, check_length};
use crate::cluster::NOISE;
use bridged_math::assignment::{Goal, assign};
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
    clusters: Vec<u32>,
    classes: Vec<u32>,
    /// (position in `clusters`, position in `classes`) → rows.
    cells: BTreeMap<(usize, usize), u64>,
    cluster_sizes: Vec<u64>,
    class_sizes: Vec<u64>,
    rows: u64,
}

/// The best one-to-one map from clusters to classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Matching {
    /// ε, the share of rows whose cluster is not mapped to their class.
    pub error: f64,
    /// σ: the class of each cluster, as (cluster, class); a cluster without a class is not listed.
    pub class_of: BTreeMap<u32, u32>,
}

impl Matching {
    /// σ⁻¹: the cluster of each class.
    pub fn cluster_of(&self) -> BTreeMap<u32, u32> {
        self.class_of.iter().map(|(&cluster, &class)| (class, cluster)).collect()
    }
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

    /// The labels that occur, in order; [`NOISE`] comes last.
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

    /// Adjusted mutual information: 0 for chance, 1 for equal partitions.
    pub fn ami(&self) -> f64 {
        match (self.clusters.len(), self.classes.len()) {
            (1, 1) => return 1.0,
            (1, _) | (_, 1) => return 0.0,
            _ => {}
        }
        let expected = self.expected_mutual_information();
        // Where the expectation reaches the maximum (all rows alone), 0/0 means equal: 1.
        let guard = |v: f64| if v < 0.0 { v.min(-f64::EPSILON) } else { v.max(f64::EPSILON) };
        guard(self.mutual_information() - expected) / guard(self.mean_entropy() - expected)
    }

    /// Normalised mutual information: 1 for equal partitions, not corrected for chance.
    pub fn nmi(&self) -> f64 {
        match (self.clusters.len(), self.classes.len()) {
            (1, 1) => 1.0,
            (1, _) | (_, 1) => 0.0,
            _ => self.mutual_information() / self.mean_entropy(),
        }
    }

    /// Adjusted Rand index: 0 for chance, 1 for equal partitions.
    pub fn ari(&self) -> f64 {
        let squares = |sizes: &mut dyn Iterator<Item = &u64>| -> i128 {
            sizes.map(|&s| i128::from(s) * i128::from(s)).sum()
        };
        // Ordered pairs of distinct rows: together in both, in one only, in neither.
        let n = i128::from(self.rows);
        let (cells, a, b) = (
            squares(&mut self.cells.values()),
            squares(&mut self.cluster_sizes.iter()),
            squares(&mut self.class_sizes.iter()),
        );
        let (both, only_a, only_b) = (cells - n, a - cells, b - cells);
        let neither = n * n - a - b + cells;
        if only_a == 0 && only_b == 0 {
            return 1.0;
        }
        // The products reach n⁴, which fits up to n = 2³¹.
        let above = 2 * (both * neither - only_a * only_b);
        let below = (both + only_b) * (only_b + neither) + (both + only_a) * (only_a + neither);
        above as f64 / below as f64
    }

    /// The best injective map of clusters to classes and its mis-clustering rate ε.
    ///
    /// A cluster and a class that share no row are never mapped to each other, noise is mapped to
    /// no class, and the rows of a cluster left without a class are errors. Cost O(k C min(k, C)).
    pub fn matching(&self) -> Matching {
        let k = self.clusters.iter().filter(|&&c| c != NOISE).count();
        let classes = self.classes.len();
        let mut counts = vec![0.0f64; k * classes];
        for (&(i, j), &rows) in self.cells.iter().filter(|((i, _), _)| *i < k) {
            counts[i * classes + j] = rows as f64;
        }
        let best = assign(&counts, k, classes, Goal::Maximise);
        let mut class_of = BTreeMap::new();
        for (i, j) in best.row_to_col.iter().enumerate() {
            match *j {
                Some(j) if counts[i * classes + j] > 0.0 => {
                    class_of.insert(self.clusters[i], self.classes[j]);
                }
                _ => {}
            }
        }
        let error = (self.rows as f64 - best.total) / self.rows as f64;
        Matching { error, class_of }
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

    /// `E[MI]` in nats over all tables with the same row and column sums.
    pub fn expected_mutual_information(&self) -> f64 {
        let (a, b) = (multiplicities(&self.cluster_sizes), multiplicities(&self.class_sizes));
        let mut sum = 0.0;
        for (&a, &times_a) in &a {
            for (&b, &times_b) in &b {
                sum += (times_a * times_b) as f64 * expected_cell(self.rows, a, b);
            }
        }
        sum
    }

    fn mean_entropy(&self) -> f64 {
        let n = self.rows as f64;
        0.5 * (entropy(&self.cluster_sizes, n) + entropy(&self.class_sizes, n))
    }
}

/// Adjusted mutual information of two labellings of the same rows; see [`Contingency::ami`].
///
/// ```
/// use bridged::metrics::ami;
/// assert!((ami(&[1, 1, 0, 0], &[5, 5, 8, 8])? - 1.0).abs() < 1e-12);
/// assert!(ami(&[0, 1, 0, 1], &[5, 5, 8, 8])? < 0.0);
/// # Ok::<(), bridged::metrics::MetricError>(())
/// ```
pub fn ami(labels: &[u32], classes: &[u32]) -> Result<f64, MetricError> {
    Ok(Contingency::new(labels, classes)?.ami())
}

/// Normalised mutual information of two labellings of the same rows; see [`Contingency::nmi`].
pub fn nmi(labels: &[u32], classes: &[u32]) -> Result<f64, MetricError> {
    Ok(Contingency::new(labels, classes)?.nmi())
}

/// Adjusted Rand index of two labellings of the same rows; see [`Contingency::ari`].
pub fn ari(labels: &[u32], classes: &[u32]) -> Result<f64, MetricError> {
    Ok(Contingency::new(labels, classes)?.ari())
}

/// The mis-clustering rate ε; see [`Contingency::matching`].
pub fn misclustering(labels: &[u32], classes: &[u32]) -> Result<f64, MetricError> {
    Ok(Contingency::new(labels, classes)?.matching().error)
}

fn distinct(values: &[u32]) -> Vec<u32> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    values
}

fn multiplicities(sizes: &[u64]) -> BTreeMap<u64, u64> {
    let mut times = BTreeMap::new();
    for &s in sizes {
        *times.entry(s).or_insert(0) += 1;
    }
    times
}

fn entropy(sizes: &[u64], n: f64) -> f64 {
    -sizes.iter().map(|&s| s as f64 / n * (s as f64 / n).ln()).sum::<f64>()
}

/// `E[m/n · ln(n m / (a b))]` for a hypergeometric m: of n rows, a are in the cluster, b in the class.
fn expected_cell(n: u64, a: u64, b: u64) -> f64 {
    /// Weights below this share of the largest one no longer matter in `f64`.
    const VANISHED: f64 = 1e-20;
    let (lowest, highest) = ((a + b).saturating_sub(n), a.min(b));
    let mode = ((a as u128 + 1) * (b as u128 + 1) / (n as u128 + 2)) as u64;
    let mode = mode.clamp(lowest, highest);
    // P(m + 1) / P(m)
    let ratio = |m: u64| {
        let up = (a - m) as f64 * (b - m) as f64;
        let down = (m + 1) as f64 * (n + m + 1 - a - b) as f64;
        up / down
    };
    let scale = n as f64 / (a as f64 * b as f64);
    let term = |m: u64| if m == 0 { 0.0 } else { m as f64 * (m as f64 * scale).ln() };
    let (mut weights, mut sum) = (1.0, term(mode));
    let mut weight = 1.0;
    for m in mode..highest {
        weight *= ratio(m);
        weights += weight;
        sum += weight * term(m + 1);
        if weight < VANISHED {
            break;
        }
    }
    weight = 1.0;
    for m in (lowest..mode).rev() {
        weight /= ratio(m);
        weights += weight;
        sum += weight * term(m);
        if weight < VANISHED {
            break;
        }
    }
    sum / weights / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
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
