//! DBSCAN: clusters are regions where rows lie densely; rows outside them are noise.
//!
//! A row is a *core* row if at least `min_samples` rows, itself included, are within `eps` of it.
//! Core rows within `eps` of each other are in one cluster; another row belongs to the first cluster
//! that has a core row within `eps` of it, or is noise. Clusters are counted by their first core
//! row, which is the order in which scikit-learn's search reaches them.
//!
//! Neighbour lists are never held: one pass counts neighbours, a second joins core rows in a
//! union–find structure, so the memory is O(n) whatever `eps`. Time O(n² d) at the speed of a
//! matrix product. A row that was not seen joins the cluster of its nearest core row if that is
//! within `eps`, and is noise otherwise. Where no row is a core row there is no cluster: every row is
//! noise, seen or not.
//!
//! Choose it where the number of clusters is not known and outliers are expected.
//!
//! Ester, Kriegel, Sander & Xu 1996; Schubert et al. 2017.

use super::assign::AssignRule;
use super::clustering::{check_shape, relabel_by_first_appearance};
use super::forest::Forest;
use crate::cluster::{ClusterError, Clusterer, Clustering, Metric, NOISE};
use crate::settings::{Limits, Number};
use bridged_math::cancel::checkpoint;
use bridged_math::chunks::{self, map_blocks};
use bridged_math::neighbors::{Neighbors, Own};
use bridged_math::{Cancelled, MatrixRef, Seed, Stage, Watch};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Density-based clustering, which finds the number of clusters by itself.
///
/// ```
/// use bridged::cluster::{Clusterer, Dbscan, Eps, NOISE};
/// use bridged::{Matrix, Seed, Silent};
///
/// let x = Matrix::from_rows(&[[0.0], [0.1], [0.2], [7.0], [7.1], [7.2], [50.0]]);
/// let dbscan = Dbscan { eps: Eps::Distance(0.15), min_samples: 2, ..Dbscan::default() };
/// let clustering = dbscan.fit(x.view(), Seed(0), &Silent)?;
/// assert_eq!(clustering.labels, [0, 0, 0, 1, 1, 1, NOISE]);
/// # Ok::<(), bridged::cluster::ClusterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dbscan {
    /// How near neighbours are; under the cosine metric, 1 − the cosine of the angle.
    pub eps: Eps,
    /// How many rows, itself included, a core row has within `eps`.
    pub min_samples: usize,
    /// How near is measured.
    pub metric: Metric,
}

/// The radius of DBSCAN: a number, or `"auto"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EpsText", into = "EpsText")]
pub enum Eps {
    /// The elbow of the sorted distances of all rows to their `min_samples`-th neighbour
    /// (themselves counted): the point of that curve furthest below the straight line between its
    /// ends. Rows in clusters lie on the flat part before it, outliers on the steep part after it.
    #[default]
    Auto,
    /// This distance.
    Distance(f64),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum EpsText {
    Number(f64),
    Word(String),
}

impl TryFrom<EpsText> for Eps {
    type Error = String;

    fn try_from(text: EpsText) -> Result<Self, String> {
        match text {
            EpsText::Number(eps) => Ok(Eps::Distance(eps)),
            EpsText::Word(word) if word == "auto" => Ok(Eps::Auto),
            EpsText::Word(word) => {
                Err(format!("`eps` must be a number or \"auto\", got \"{word}\""))
            }
        }
    }
}

impl From<Eps> for EpsText {
    fn from(eps: Eps) -> Self {
        match eps {
            Eps::Auto => EpsText::Word("auto".into()),
            Eps::Distance(eps) => EpsText::Number(eps),
        }
    }
}

impl Default for Dbscan {
    fn default() -> Self {
        Self { eps: Eps::Auto, min_samples: 5, metric: Metric::Euclidean }
    }
}

/// Rows between two reports of progress.
const SLAB: usize = 8192;

impl Number for Eps {
    fn number(&self) -> Option<f64> {
        match self {
            Eps::Auto => None,
            Eps::Distance(eps) => Some(*eps),
        }
    }
}

crate::limits!(Dbscan { eps: Limits::Above(0.0, 1e30), min_samples: Limits::at_least(1) });

impl Clusterer for Dbscan {
    fn memory(&self, rows: usize, cols: usize) -> u64 {
        let n = rows as f64;
        let copy = if self.metric == Metric::Cosine { 4.0 * n * cols as f64 } else { 0.0 };
        let auto = if self.eps == Eps::Auto { 28.0 * n * self.min_samples as f64 } else { 0.0 };
        // A forest of all rows for each block of a slab; core rows are copied at the end.
        let forests = 4.0 * n * (SLAB.min(rows)).div_ceil(chunks::block_len(SLAB)) as f64;
        let core = 4.0 * n * cols as f64 + 32.0 * n;
        (copy + Neighbors::memory(rows, cols, 0, 0) + auto.max(forests).max(core) + 40.0 * n) as u64
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
        check_shape(&x, 1)?;
        let seen = self.metric.view(x);
        let rows = MatrixRef::new(x.rows(), x.cols(), &seen).expect("the metric keeps the shape");
        let neighbors = Neighbors::new(rows);
        let radius = self.radius(&neighbors);

        let near = Within { neighbors: &neighbors, radius };
        let Dense { core, labels, k } = dense_regions(&near, x.rows(), self.min_samples, watch)?;
        let kept: Vec<usize> = (0..x.rows()).filter(|&i| core[i]).collect();
        let rule = AssignRule::Neighbors {
            labels: kept.iter().map(|&i| labels[i]).collect(),
            rows: rows.select(kept),
            neighbors: 1,
            radius: Some(radius),
            metric: self.metric,
        };
        let mut clustering = Clustering::from_labels(x, labels, k, rule);
        clustering.iterations = 1;
        Ok(clustering)
    }
}

impl Dbscan {
    /// `eps` as a distance between the rows that the metric sees.
    fn radius(&self, neighbors: &Neighbors<'_>) -> f64 {
        match (self.eps, self.metric) {
            (Eps::Distance(eps), Metric::Euclidean) => eps,
            // ‖u − v‖² = 2 (1 − u·v) for rows of unit length.
            (Eps::Distance(eps), Metric::Cosine) => (2.0 * eps).sqrt(),
            (Eps::Auto, _) => elbow(&self.neighbor_distances(neighbors)),
        }
    }

    /// The distance of every row to its `min_samples`-th neighbour, itself counted; sorted.
    fn neighbor_distances(&self, neighbors: &Neighbors<'_>) -> Vec<f64> {
        let nearest = neighbors.nearest_of_own(self.min_samples - 1, Own::Excluded);
        if nearest.k == 0 {
            return vec![0.0];
        }
        let mut distances: Vec<f64> =
            nearest.squared.chunks_exact(nearest.k).map(|d| d[nearest.k - 1].sqrt()).collect();
        distances.sort_by(f64::total_cmp);
        distances
    }

    /// Why rows are all noise, and what to change, for whoever needs a cluster.
    pub(crate) fn no_cluster(&self, x: MatrixRef<'_>) -> ClusterError {
        let seen = self.metric.view(x);
        let rows = MatrixRef::new(x.rows(), x.cols(), &seen).expect("the metric keeps the shape");
        let neighbors = &Neighbors::new(rows);
        let radius = self.radius(neighbors);
        let shown = |radius: f64| match self.metric {
            Metric::Euclidean => radius,
            Metric::Cosine => radius * radius / 2.0,
        };
        let distances = self.neighbor_distances(neighbors);
        let median = distances[distances.len() / 2];
        let (eps, median, m) = (shown(radius), shown(median), self.min_samples);
        ClusterError::Unfit(format!(
            "no row has {m} rows within `eps` = {eps:.4} of it (itself counted), so all would be \
             noise; raise `eps` (half of the rows have that many, or all there are, within \
             {median:.4}) or lower `min_samples`"
        ))
    }
}

/// Which rows are near to which: what density-based clustering asks of the data.
pub trait Near: Sync {
    /// Calls `f(row, neighbour)` for the rows `range` and every row near to them, themselves
    /// included, on the calling thread. A row is near to another if that one is near to it.
    fn visit(&self, range: Range<usize>, f: impl FnMut(usize, usize));
}

/// Rows within a radius.
struct Within<'a> {
    neighbors: &'a Neighbors<'a>,
    radius: f64,
}

impl Near for Within<'_> {
    fn visit(&self, range: Range<usize>, f: impl FnMut(usize, usize)) {
        self.neighbors.visit_own_within(range, self.radius, f);
    }
}

/// The dense regions of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dense {
    /// Which rows have enough rows near to them.
    pub core: Vec<bool>,
    /// The region of each row, counted by first appearance; [`NOISE`] outside of all.
    pub labels: Vec<u32>,
    /// How many regions there are; 0 where no row is a core row.
    pub k: usize,
}

/// DBSCAN on anything that can tell its neighbours, such as sparse rows with an inverted index.
pub fn dense_regions(
    near: &impl Near,
    n: usize,
    min_samples: usize,
    watch: &dyn Watch,
) -> Result<Dense, Cancelled> {
    let stage = Stage::begin(watch, "dbscan", Some(2 * n as u64))?;
    let counts = count_neighbors(near, n, &stage)?;
    let core: Vec<bool> = counts.iter().map(|&c| c as usize >= min_samples).collect();
    let (mut labels, k) = join(near, &core, &stage)?;
    relabel_by_first_appearance(&mut labels, k);
    Ok(Dense { core, labels, k })
}

/// The value of a sorted curve that is furthest below the line between its ends.
fn elbow(sorted: &[f64]) -> f64 {
    let last = sorted.len() - 1;
    let (low, high) = (sorted[0], sorted[last]);
    let below = |i: usize| low + (high - low) * i as f64 / last.max(1) as f64 - sorted[i];
    let at = (0..=last).reduce(|a, b| if below(b) > below(a) { b } else { a });
    sorted[at.expect("a clustering has at least one row")]
}

/// Works through the rows in slabs, reporting between them; blocks of a slab run in parallel.
fn in_slabs<T: Send>(
    n: usize,
    before: u64,
    stage: &Stage<'_>,
    work: impl Fn(Range<usize>) -> T + Sync,
    mut take: impl FnMut(T),
) -> Result<(), Cancelled> {
    for start in (0..n).step_by(SLAB) {
        let len = SLAB.min(n - start);
        map_blocks(len, |r| work(start + r.start..start + r.end)).into_iter().for_each(&mut take);
        stage.step(before + (start + len) as u64)?;
    }
    Ok(())
}

/// How many rows, itself included, are near to each row.
fn count_neighbors(near: &impl Near, n: usize, stage: &Stage<'_>) -> Result<Vec<u32>, Cancelled> {
    let count = |rows: Range<usize>| {
        let mut counts = vec![0u32; rows.len()];
        let start = rows.start;
        near.visit(rows, |i, _| counts[i - start] += 1);
        counts
    };
    let mut all = Vec::with_capacity(n);
    in_slabs(n, 0, stage, count, |counts| all.extend(counts))?;
    Ok(all)
}

/// What a block of rows says about connections.
struct Links {
    /// Core rows that are joined, as a forest.
    joined: Forest,
    /// For each row that is no core row: the core rows it is near to (fewer than `min_samples`).
    border: Vec<(usize, Vec<u32>)>,
}

/// Labels in the order of the first core row of each cluster, and the number of clusters.
fn join(
    near: &impl Near,
    core: &[bool],
    stage: &Stage<'_>,
) -> Result<(Vec<u32>, usize), Cancelled> {
    let n = core.len();
    let link = |rows: Range<usize>| {
        let (mut joined, mut border) = (Forest::new(n), Vec::new());
        near.visit(rows, |i, j| match (core[i], core[j]) {
            (true, true) if j < i => joined.union(i, j),
            (false, true) => match border.last_mut() {
                Some((row, near)) if *row == i => Vec::push(near, j as u32),
                _ => border.push((i, vec![j as u32])),
            },
            _ => {}
        });
        Links { joined, border }
    };
    let (mut forest, mut border) = (Forest::new(n), Vec::new());
    in_slabs(n, n as u64, stage, link, |mut links| {
        checkpoint();
        for i in 0..n {
            let root = links.joined.find(i);
            if root != i {
                forest.union(i, root);
            }
        }
        border.extend(links.border);
    })?;

    let mut labels = vec![NOISE; n];
    let mut k = 0;
    for i in (0..n).filter(|&i| core[i]) {
        // The root of a tree is its first row, so its label is known before those of the others.
        let root = forest.find(i);
        if root == i {
            labels[i] = k;
            k += 1;
        } else {
            labels[i] = labels[root];
        }
    }
    for (row, near) in border {
        // A row may be met in several tiles; every one of them names some of its core rows.
        let first = near.iter().map(|&j| labels[j as usize]).min().unwrap_or(NOISE);
        labels[row] = labels[row].min(first);
    }
    Ok((labels, k as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::testing::{self, on_threads};
    use bridged_math::distance::squared_distance;
    use bridged_math::{Matrix, Silent};
    use proptest::prelude::*;
    use rand::RngExt;

    fn fit(x: &Matrix, eps: Eps, min_samples: usize) -> Result<Clustering, ClusterError> {
        Dbscan { eps, min_samples, metric: Metric::Euclidean }.fit(x.view(), Seed(0), &Silent)
    }

    /// The search of the 1996 paper, on neighbour lists.
    fn naive(x: &Matrix, eps: f64, min_samples: usize) -> (Vec<u32>, usize) {
        let n = x.rows();
        let near: Vec<Vec<usize>> = (0..n)
            .map(|i| {
                (0..n).filter(|&j| squared_distance(x.row(i), x.row(j)) <= eps * eps).collect()
            })
            .collect();
        let (mut labels, mut k) = (vec![NOISE; n], 0);
        for i in 0..n {
            if labels[i] != NOISE || near[i].len() < min_samples {
                continue;
            }
            let mut stack = vec![i];
            while let Some(j) = stack.pop() {
                if labels[j] == NOISE {
                    labels[j] = k;
                    if near[j].len() >= min_samples {
                        stack.extend(&near[j]);
                    }
                }
            }
            k += 1;
        }
        (labels, k as usize)
    }

    proptest! {
        #[test]
        fn labels_agree_with_the_search_of_the_paper(
            n in 1usize..300, d in 1usize..4, min_samples in 1usize..8, eps in 0.01f64..0.4,
            levels in prop_oneof![Just(8u32), Just(100_000)], seed in 0u64..1000,
        ) {
            let mut rng = Seed(seed).rng();
            let x = Matrix::from_fn(n, d, |_, _| rng.random_range(0..levels) as f32 / levels as f32);
            let (mut expected, k) = naive(&x, eps, min_samples);
            relabel_by_first_appearance(&mut expected, k);
            match fit(&x, Eps::Distance(eps), min_samples) {
                Ok(c) => {
                    prop_assert_eq!(&c.labels, &expected);
                    prop_assert_eq!(c.k(), k);
                }
                Err(error) => prop_assert!(k == 0, "{}", error),
            }
        }
    }

    #[test]
    fn rows_in_several_tiles_and_blocks_are_joined() {
        let (x, truth) = testing::blobs(3000, 2, 4, 1.0);
        let c = fit(&x, Eps::Distance(0.5), 5).unwrap();
        assert!(testing::same_partition(&c.labels, &truth));
        assert_eq!(c.assign(x.view()), c.labels);
        testing::check_clustering(&x, 4, &c);
    }

    #[test]
    fn the_elbow_finds_moons_and_leaves_outliers_out() {
        let (mut x, truth) = testing::moons(400);
        for i in 0..4 {
            x.row_mut(i * 100).copy_from_slice(&[10.0 + 5.0 * i as f32, -8.0]);
        }
        let c = fit(&x, Eps::Auto, 5).unwrap();
        for i in 0..400 {
            let outlier = i % 100 == 0;
            assert_eq!(c.labels[i] == NOISE, outlier, "row {i}");
        }
        let rest: Vec<usize> = (0..400).filter(|i| i % 100 != 0).collect();
        let pick = |v: &[u32]| rest.iter().map(|&i| v[i]).collect::<Vec<_>>();
        assert!(testing::same_partition(&pick(&c.labels), &pick(&truth)));
    }

    #[test]
    fn constant_data_is_one_cluster_and_one_row_is_none() {
        let x = Matrix::from_fn(12, 3, |_, _| 4.5);
        assert_eq!(fit(&x, Eps::Auto, 5).unwrap().sizes, [12]);
        assert_eq!(fit(&x, Eps::Distance(0.1), 12).unwrap().sizes, [12]);
        let one = Matrix::zeros(1, 1);
        assert_eq!(fit(&one, Eps::Auto, 1).unwrap().labels, [0]);
        assert_eq!(fit(&one, Eps::Auto, 5).unwrap().labels, [NOISE]);
    }

    #[test]
    fn where_all_is_noise_there_is_no_cluster_and_it_is_said_what_to_change() {
        let x = Matrix::from_fn(10, 1, |i, _| i as f32);
        let c = fit(&x, Eps::Distance(0.5), 3).unwrap();
        assert_eq!((c.k(), c.labels.clone(), c.inertia), (0, vec![NOISE; 10], 0.0));
        assert_eq!((c.centroids.rows(), c.centroids.cols()), (0, 1));
        assert_eq!(c.assign(x.view()), [NOISE; 10]);
        let dbscan = Dbscan { eps: Eps::Distance(0.5), min_samples: 3, ..Dbscan::default() };
        assert_eq!(
            dbscan.no_cluster(x.view()).to_string(),
            "no row has 3 rows within `eps` = 0.5000 of it (itself counted), so all would be noise; \
             raise `eps` (half of the rows have that many, or all there are, within 1.0000) or lower \
             `min_samples`"
        );
        let error = fit(&x, Eps::Distance(-1.0), 3).unwrap_err();
        assert_eq!(error.to_string(), "`eps` must be above 0 and at most 1e30, got -1");
        assert!(fit(&x, Eps::Distance(1.0), 0).is_err());
    }

    #[test]
    fn eps_under_the_cosine_metric_is_the_cosine_distance() {
        let x = Matrix::from_rows(&[[1.0, 0.0], [3.0, 3.0], [0.0, 9.0], [-1.0, 0.0]]);
        let at = |eps: f64| {
            let dbscan = Dbscan { eps: Eps::Distance(eps), min_samples: 2, metric: Metric::Cosine };
            dbscan.fit(x.view(), Seed(0), &Silent).map(|c| c.labels)
        };
        assert_eq!(at(0.29).unwrap(), [NOISE; 4]); // 1 − cos 45° is 0.2929
        assert_eq!(at(0.30).unwrap(), [0, 0, 0, NOISE]);
        assert_eq!(at(1.01).unwrap(), [0, 0, 0, 0]);
    }

    #[test]
    fn eps_is_written_as_a_number_or_a_word() {
        let text = r#"{"eps":0.25,"min_samples":3,"metric":"euclidean"}"#;
        let dbscan: Dbscan = serde_json::from_str(text).unwrap();
        assert_eq!(dbscan.eps, Eps::Distance(0.25));
        assert_eq!(serde_json::to_string(&dbscan).unwrap(), text);
        let auto: Dbscan = serde_json::from_str(r#"{"eps":"auto"}"#).unwrap();
        assert_eq!(auto, Dbscan::default());
        assert!(serde_json::to_string(&auto).unwrap().contains(r#""eps":"auto""#));
        assert!(serde_json::from_str::<Dbscan>(r#"{"eps":"big"}"#).is_err());
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads_and_the_watch_can_stop_it() {
        let (x, _) = testing::moons(2000);
        let run = || fit(&x, Eps::Auto, 5).unwrap();
        assert_eq!(on_threads(1, run), on_threads(4, run));
        testing::check_cancellation(&Dbscan::default(), "dbscan");
    }
}
