//! Agglomerative clustering: every row on its own, then the two closest clusters merge until k are
//! left.
//!
//! | linkage | distance between two clusters | time | memory |
//! |---|---|---|---|
//! | `Ward` | what merging adds to the inertia | n² d | n d |
//! | `Average` | mean over all pairs of their rows | n² d + n² | n²/2 distances |
//! | `Complete` | that of the furthest pair | n² d + n² | n²/2 distances |
//! | `Single` | that of the nearest pair | n² d + n² | n²/2 distances |
//!
//! Ward has its own file; the others run on all distances (kodama: nearest-neighbour chain, and a
//! minimum spanning tree for single linkage). New rows go to the nearest centroid; under single
//! linkage, whose clusters need not be round, to the cluster of the nearest training row.
//!
//! Choose Ward where k-means would do but its dependence on a start does not; average where
//! clusters differ in size; single for chains, if there is no noise between them.
//!
//! Ward 1963; Müllner 2011. As scikit-learn's `AgglomerativeClustering` without connectivity.

use super::assign::AssignRule;
use super::clustering::{check_shape, means_of, relabel_by_first_appearance, unit_rows};
use super::forest::Forest;
use super::ward::{Merge, ward};
use crate::cluster::{ClusterError, Clusterer, Clustering, Metric};
use crate::settings::Limits;
use bridged_math::cancel::{carry, interruptible};
use bridged_math::linalg::{Accum, View, product};
use bridged_math::{Cancelled, MatrixRef, Seed, Stage, Watch};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Agglomerative clustering, cut at `k` clusters.
///
/// ```
/// use bridged::cluster::{Agglomerative, Clusterer, Linkage};
/// use bridged::{Matrix, Seed, Silent};
///
/// // A chain with one wider gap at its end: single linkage follows the chain.
/// let x = Matrix::from_rows(&[[0.0], [1.0], [2.1], [3.0], [4.2], [5.0], [6.5]]);
/// let cut = |linkage| Agglomerative { k: 2, linkage, ..Agglomerative::default() }
///     .fit(x.view(), Seed(0), &Silent).map(|c| c.labels);
/// assert_eq!(cut(Linkage::Single)?, [0, 0, 0, 0, 0, 0, 1]);
/// assert_eq!(cut(Linkage::Complete)?, [0, 0, 0, 0, 1, 1, 1]);
/// # Ok::<(), bridged::cluster::ClusterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agglomerative {
    /// The number of clusters.
    pub k: usize,
    /// How far apart two clusters are.
    pub linkage: Linkage,
    /// How far apart two rows are. Under `Cosine`, Ward works on rows of unit length, and the
    /// others on 1 − the cosine of the angle.
    pub metric: Metric,
}

/// How far apart two clusters are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linkage {
    /// What merging them adds to the sum of squared distances to centroids.
    #[default]
    Ward,
    /// The mean distance between their rows.
    Average,
    /// The largest distance between their rows.
    Complete,
    /// The smallest distance between their rows.
    Single,
}

impl Default for Agglomerative {
    fn default() -> Self {
        Self { k: 8, linkage: Linkage::Ward, metric: Metric::Euclidean }
    }
}

/// The most memory that distances may take, in bytes: about 65,000 rows.
const MEMORY_LIMIT: u64 = 8 << 30;
/// Up to this many rows, distances are held in double precision (1 GB).
const DOUBLE_LIMIT: usize = 16_384;

crate::limits!(Agglomerative { k: Limits::at_least(1) });

impl Clusterer for Agglomerative {
    fn memory(&self, rows: usize, cols: usize) -> u64 {
        let (n, d) = (rows as f64, cols as f64);
        let copy = if self.metric == Metric::Cosine { 4.0 * n * d } else { 0.0 };
        let distances = match self.linkage {
            Linkage::Ward => 0.0,
            _ if rows <= DOUBLE_LIMIT => 4.0 * n * n,
            _ => 2.0 * n * n,
        };
        (copy + distances + 8.0 * n * d + 4.0 * n * d + 160.0 * n) as u64
    }

    fn uses_origin(&self) -> bool {
        self.metric == Metric::Cosine
    }

    fn cluster(
        &self,
        x: MatrixRef<'_>,
        _: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        check_shape(&x, self.k)?;
        let n = x.rows();
        let seen = self.metric.view(x);
        let rows = MatrixRef::new(n, x.cols(), &seen).expect("the metric keeps the shape");
        let mut merges = match self.linkage.method() {
            None => {
                let stage = Stage::begin(watch, "agglomerative", Some(n as u64 - 1))?;
                ward(rows, &stage)?
            }
            Some(method) => {
                check_memory(n, self.linkage)?;
                let stage = Stage::begin(watch, "agglomerative", Some(n as u64))?;
                if n <= DOUBLE_LIMIT {
                    link(rows, self.metric, method, &stage, |v| v)?
                } else {
                    link(rows, self.metric, method, &stage, |v| v as f32)?
                }
            }
        };
        merges.sort_by(|a, b| a.height.total_cmp(&b.height));
        let labels = cut(n, self.k, &merges);
        Ok(self.finish(x, rows, labels))
    }
}

impl Linkage {
    /// What kodama calls it; Ward needs no distances.
    fn method(self) -> Option<kodama::Method> {
        match self {
            Linkage::Ward => None,
            Linkage::Average => Some(kodama::Method::Average),
            Linkage::Complete => Some(kodama::Method::Complete),
            Linkage::Single => Some(kodama::Method::Single),
        }
    }
}

impl Agglomerative {
    fn finish(&self, x: MatrixRef<'_>, rows: MatrixRef<'_>, labels: Vec<u32>) -> Clustering {
        let rule = match self.linkage {
            Linkage::Single => AssignRule::Neighbors {
                rows: rows.to_matrix(),
                labels: labels.clone(),
                neighbors: 1,
                radius: None,
                metric: self.metric,
            },
            _ => {
                let means = means_of(rows, &labels, self.k).0;
                let centres = match self.metric {
                    Metric::Euclidean => means,
                    Metric::Cosine => unit_rows(means.view()),
                };
                AssignRule::Nearest { centres, metric: self.metric }
            }
        };
        let mut clustering = Clustering::from_labels(x, labels, self.k, rule);
        clustering.iterations = 1;
        clustering
    }
}

fn check_memory(n: usize, linkage: Linkage) -> Result<(), ClusterError> {
    let need = (n as u64) * (n as u64 - 1) / 2 * 4;
    if need <= MEMORY_LIMIT {
        return Ok(());
    }
    let (need, limit) = (need as f64 / (1u64 << 30) as f64, MEMORY_LIMIT >> 30);
    Err(ClusterError::Unfit(format!(
        "{linkage:?} linkage of {n} rows needs {need:.1} GB for the distances between all of them, \
         above the limit of {limit} GB; use ward linkage, which needs none of them, or fewer rows"
    )))
}

/// The first n − k merges, which come by rising height, as labels.
fn cut(n: usize, k: usize, merges: &[Merge]) -> Vec<u32> {
    let mut forest = Forest::new(n);
    for merge in &merges[..n - k] {
        forest.union(merge.a as usize, merge.b as usize);
    }
    let mut labels: Vec<u32> = (0..n).map(|i| forest.find(i) as u32).collect();
    relabel_by_first_appearance(&mut labels, n);
    labels
}

/// The merges of a linkage on all distances.
fn link<T: kodama::Float + Send + Into<f64> + 'static>(
    x: MatrixRef<'_>,
    metric: Metric,
    method: kodama::Method,
    stage: &Stage<'_>,
    round: fn(f64) -> T,
) -> Result<Vec<Merge>, Cancelled> {
    let n = x.rows();
    let mut distances = all_distances(x, metric, stage, round)?;
    // kodama knows no checkpoint; it takes O(n²) steps of a few operations.
    let tree = interruptible(move || kodama::linkage(&mut distances, n, method));
    stage.step(n as u64)?;
    let mut member: Vec<u32> = (0..n as u32).collect(); // a row of each cluster of the tree
    Ok(tree
        .steps()
        .iter()
        .map(|step| {
            let (a, b) = (member[step.cluster1], member[step.cluster2]);
            member.push(a);
            Merge { height: step.dissimilarity.into(), a, b }
        })
        .collect())
}

/// The distances of every row to all rows after it, row after row (a condensed matrix).
fn all_distances<T: Copy + Send>(
    x: MatrixRef<'_>,
    metric: Metric,
    stage: &Stage<'_>,
    round: fn(f64) -> T,
) -> Result<Vec<T>, Cancelled> {
    /// Rows that one task fills, against this many others at a time.
    const BAND: usize = 64;
    const CHUNK: usize = 512;
    let (n, d) = (x.rows(), x.cols());
    let mean = match metric {
        Metric::Euclidean => x.mean_row(),
        Metric::Cosine => vec![0.0; d],
    };
    let rows: Vec<f64> =
        x.iter_rows().flat_map(|r| r.iter().zip(&mean).map(|(&v, m)| f64::from(v) - m)).collect();
    let row = |i: usize| &rows[i * d..(i + 1) * d];
    let norms: Vec<f64> = (0..n).map(|i| row(i).iter().map(|v| v * v).sum()).collect();
    let between = |i: usize, j: usize, dot: f64| match metric {
        Metric::Cosine => (1.0 - dot).clamp(0.0, 2.0),
        Metric::Euclidean => {
            let squared = norms[i] + norms[j] - 2.0 * dot;
            // Where two rows nearly coincide the difference above is mostly rounding.
            let squared = if squared < 1e-6 * (norms[i] + norms[j]) {
                row(i).iter().zip(row(j)).map(|(a, b)| (a - b) * (a - b)).sum()
            } else {
                squared
            };
            squared.sqrt()
        }
    };

    let mut all = vec![round(0.0); n * n.saturating_sub(1) / 2];
    let mut rest = &mut all[..];
    let mut bands = Vec::with_capacity(n.div_ceil(BAND));
    for start in (0..n).step_by(BAND) {
        let band = start..(start + BAND).min(n);
        let len = band.clone().map(|i| n - 1 - i).sum();
        let (part, after) = rest.split_at_mut(len);
        bands.push((band, part));
        rest = after;
    }
    for group in bands.chunks_mut(64) {
        let fill = |(band, part): &mut (std::ops::Range<usize>, &mut [T])| {
            let mut dots = vec![0.0; band.len() * CHUNK];
            let left = View::new(&rows[band.start * d..band.end * d], band.len(), d);
            for start in (band.start..n).step_by(CHUNK) {
                let chunk = start..(start + CHUNK).min(n);
                let right = View::new(&rows[chunk.start * d..chunk.end * d], chunk.len(), d);
                let dots = &mut dots[..band.len() * chunk.len()];
                product(left, right.t(), Accum::Replace, dots);
                let mut offset = 0;
                for (i, dots) in band.clone().zip(dots.chunks_exact(chunk.len())) {
                    for j in chunk.start.max(i + 1)..chunk.end {
                        part[offset + j - i - 1] = round(between(i, j, dots[j - chunk.start]));
                    }
                    offset += n - 1 - i;
                }
            }
        };
        group.par_iter_mut().for_each(carry(fill));
        stage.step(group.last().map_or(0, |(band, _)| band.end as u64 - 1))?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::testing::{self, on_threads};
    use bridged_math::distance::squared_distance;
    use bridged_math::{Matrix, Silent};
    use proptest::prelude::*;
    use rand::RngExt;

    const ALL: [Linkage; 4] = [Linkage::Ward, Linkage::Average, Linkage::Complete, Linkage::Single];

    fn fit(x: &Matrix, k: usize, linkage: Linkage) -> Clustering {
        let agglomerative = Agglomerative { k, linkage, ..Agglomerative::default() };
        agglomerative.fit(x.view(), Seed(0), &Silent).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn single_linkage_gives_the_pieces_of_a_threshold_graph(
            n in 2usize..150, d in 1usize..4, k in 1usize..8, seed in 0u64..1000,
        ) {
            let mut rng = Seed(seed).rng();
            let x = Matrix::from_fn(n, d, |_, _| rng.random::<f32>());
            let k = k.min(n);
            let labels = fit(&x, k, Linkage::Single).labels;
            // Join pairs by rising distance until k pieces are left.
            let mut pairs: Vec<(f64, usize, usize)> = (0..n)
                .flat_map(|i| (0..i).map(move |j| (i, j)))
                .map(|(i, j)| (squared_distance(x.row(i), x.row(j)), i, j))
                .collect();
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (mut forest, mut pieces) = (Forest::new(n), n);
            for (_, i, j) in pairs {
                if pieces > k && forest.find(i) != forest.find(j) {
                    forest.union(i, j);
                    pieces -= 1;
                }
            }
            let expected: Vec<u32> = (0..n).map(|i| forest.find(i) as u32).collect();
            prop_assert!(testing::same_partition(&labels, &expected));
        }

        #[test]
        fn distances_agree_with_plain_loops(n in 1usize..200, d in 1usize..6, seed in 0u64..100) {
            let mut rng = Seed(seed).rng();
            let x = Matrix::from_fn(n, d, |i, _| 1e3 + (i % 7) as f32 + 1e-3 * rng.random::<f32>());
            let stage = Stage::begin(&Silent, "test", None).unwrap();
            let all = all_distances(x.view(), Metric::Euclidean, &stage, |v| v).unwrap();
            let mut at = 0;
            for i in 0..n {
                for j in i + 1..n {
                    let exact = squared_distance(x.row(i), x.row(j)).sqrt();
                    prop_assert!((all[at] - exact).abs() < 1e-9 * exact.max(1e-3));
                    at += 1;
                }
            }
        }
    }

    #[test]
    fn separate_blobs_are_found_by_every_linkage() {
        let (x, truth) = testing::blobs(400, 3, 5, 1.0);
        for linkage in ALL {
            let c = fit(&x, 5, linkage);
            assert!(testing::same_partition(&c.labels, &truth), "{linkage:?}");
            assert_eq!(c.assign(x.view()), c.labels);
        }
    }

    #[test]
    fn edge_cases_give_every_cluster_a_row() {
        for linkage in ALL {
            for (x, k) in testing::edge_cases() {
                testing::check_clustering(&x, k, &fit(&x, k, linkage));
            }
        }
    }

    #[test]
    fn single_precision_distances_give_the_same_cut() {
        let (x, _) = testing::blobs(200, 3, 4, 6.0);
        let stage = Stage::begin(&Silent, "test", None).unwrap();
        let run = |merges: Vec<Merge>| cut(200, 6, &merges);
        for method in [kodama::Method::Average, kodama::Method::Complete, kodama::Method::Single] {
            let double = link(x.view(), Metric::Euclidean, method, &stage, |v| v).unwrap();
            let single = link(x.view(), Metric::Euclidean, method, &stage, |v| v as f32).unwrap();
            assert_eq!(run(double), run(single));
        }
    }

    #[test]
    fn under_the_cosine_metric_length_does_not_matter() {
        let x = Matrix::from_fn(60, 2, |i, c| {
            let angle = (i % 3) as f32 * 2.0 + (i / 3) as f32 * 0.01;
            (1.0 + i as f32) * if c == 0 { angle.cos() } else { angle.sin() }
        });
        for linkage in ALL {
            let cosine = Agglomerative { k: 3, linkage, metric: Metric::Cosine };
            let c = cosine.fit(x.view(), Seed(0), &Silent).unwrap();
            assert!(c.labels.iter().enumerate().all(|(i, &l)| l as usize == i % 3), "{linkage:?}");
            assert_eq!(c.assign(x.view()), c.labels);
        }
    }

    #[test]
    fn too_many_rows_for_all_distances_are_refused_with_the_memory_they_need() {
        assert_eq!(check_memory(60_000, Linkage::Average), Ok(()));
        assert_eq!(
            check_memory(100_000, Linkage::Average).unwrap_err().to_string(),
            "Average linkage of 100000 rows needs 18.6 GB for the distances between all of them, \
             above the limit of 8 GB; use ward linkage, which needs none of them, or fewer rows"
        );
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads_and_the_watch_can_stop_it() {
        let (x, _) = testing::blobs(900, 3, 5, 8.0);
        for linkage in ALL {
            let run = || fit(&x, 7, linkage);
            assert_eq!(on_threads(1, run), on_threads(4, run));
            let agglomerative = Agglomerative { k: 2, linkage, ..Agglomerative::default() };
            testing::check_cancellation(&agglomerative, "agglomerative");
        }
    }
}
