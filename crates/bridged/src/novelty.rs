//! How unlike its pool a row is: how far it lies from its cluster, set against the pool's own rows.
//!
//! ```text
//! s(x) = a(x) / r_j                        a: the distance to cluster j, r_j: the root mean square of a in j
//! p(x) = (1 + #{i : s_i ≥ s(x)}) / (n + 1)    the novelty is 1 − p
//! ```
//!
//! p is a conformal p-value: a row that comes like those of the pool has p ≤ α with probability α
//! (Vovk et al. 2005). All rows are ranked together, each in units of its own cluster: ranks inside
//! one cluster of 50 rows could never say less than 1/51, and distances without units would let a
//! wide cluster hide what is far from a narrow one. r_j is drawn towards that of all rows, as by four
//! more rows, since it is uncertain in a small cluster.
//!
//! | rule of the clustering | a(x) |
//! |---|---|
//! | nearest centre | ‖x − c_j‖, as the metric sees it |
//! | Gaussian mixture | the Mahalanobis distance ‖L_j⁻¹ (x − μ_j)‖ |
//! | nearest training rows | the distance to the nearest of them |
//!
//! The rows of the pool are measured as if each had been left out, since a row draws its own centre
//! towards itself. Without it, the mean of n_j rows is n_j/(n_j − 1) times as far away, and the row
//! belongs to another centre if that is nearer now. For a Gaussian with n rows and z = L⁻¹(x − μ), the
//! squared distance is n q/(n − 1 − q): by Sherman and Morrison with q = ‖z‖² for a full covariance,
//! with q = z² column by column for a diagonal one. Of kept rows, the nearest other one counts.
//!
//! Beyond the farthest row of the pool ranks say 1/(n + 1) of everything. From there on the upper tail
//! is continued as an exponential, p · exp(−(s − s_max)/β), β being the mean excess of the upper tenth
//! (at least ten rows) over its least: distances of rows that cluster at all have lighter tails than
//! that, so p errs on the high side. A pool of 50 rows can thus still call a row unfamiliar at 0.001.
//!
//! O(n k d) once, for at most 100,000 rows, evenly spaced; the summary holds at most 1,024 scores: the 256 highest, and the others at ranks that
//! grow by a constant factor, so that p is exact where it is small and within some per cent elsewhere.

use crate::cluster::{AssignRule, Clustering, Gaussian, NOISE};
use bridged_math::distance::{Centres, squared_distance};
use bridged_math::neighbors::Neighbors;
use bridged_math::{MatrixRef, Rows, RowsError, chunks};

/// A row is called unfamiliar if no more than this share of the pool's rows are as far out.
pub const UNFAMILIAR: f64 = 0.001;

/// Rows that the radius of all weighs in that of a cluster.
const PRIOR: f64 = 4.0;
/// The highest scores, each of which is kept.
const HIGHEST: usize = 256;
/// The most scores that are kept.
const MOST: usize = 1024;
/// The least part of the largest score by which its tail falls to 1/e: equal scores have no tail.
const LEAST_TAIL: f64 = 0.05;
/// This many rows of the pool are measured at most: more say no more about a share of 0.001.
const MEASURED: usize = 100_000;
/// The same of rules that look at training rows.
const MEASURED_BY_NEIGHBORS: usize = 4096;

/// How far the rows of a pool lie from their clusters: what new rows are compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Novelty {
    /// Rows that were measured.
    pub rows: u64,
    /// r_j, (k).
    pub radii: Vec<f64>,
    /// Scores of rows of the pool, descending.
    pub scores: Vec<f64>,
    /// How many rows of the pool are at least as far as each score.
    pub ranks: Vec<u64>,
    /// β.
    pub tail: f64,
}

/// How far a row is from the cluster that it is nearest to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Away {
    cluster: u32,
    distance: f64,
}

impl Novelty {
    /// Measures the rows of a pool, scaled as they were clustered; `None` for a single row.
    pub fn measure(scaled: &dyn Rows, clustering: &Clustering) -> Result<Option<Self>, RowsError> {
        Ok(Self::of(own_distances(scaled, clustering)?, clustering))
    }

    fn of(away: Vec<Away>, clustering: &Clustering) -> Option<Self> {
        let k = clustering.k();
        if away.len() < 2 || away.iter().any(|a| !a.distance.is_finite()) {
            return None;
        }
        let (mut sums, mut counts) = (vec![0.0f64; k], vec![0.0f64; k]);
        for a in &away {
            sums[a.cluster as usize] += a.distance * a.distance;
            counts[a.cluster as usize] += 1.0;
        }
        let overall = sums.iter().sum::<f64>() / away.len() as f64;
        let radius = |sum: f64, count: f64| {
            ((sum.max(0.0) + PRIOR * overall) / (count.max(0.0) + PRIOR)).sqrt()
        };
        // A new row has no part in the radius of its cluster; nor has a row that is left out.
        let score = |a: &Away| {
            let j = a.cluster as usize;
            in_units(a.distance, radius(sums[j] - a.distance * a.distance, counts[j] - 1.0))
        };
        let mut scores: Vec<f64> = away.iter().map(score).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        if !scores[0].is_finite() {
            return None;
        }
        let upper = &scores[..scores.len().div_ceil(10).max(10).min(scores.len())];
        let least = upper[upper.len() - 1];
        let excess = upper.iter().map(|s| s - least).sum::<f64>() / upper.len() as f64;
        let kept = kept_ranks(scores.len());
        Some(Self {
            rows: scores.len() as u64,
            radii: (0..k).map(|j| radius(sums[j], counts[j])).collect(),
            tail: excess.max(LEAST_TAIL * scores[0]),
            scores: kept.iter().map(|&rank| scores[rank - 1]).collect(),
            ranks: kept.into_iter().map(|rank| rank as u64).collect(),
        })
    }

    /// The p-value of each of these rows, which may be new, scaled as the pool was, with their labels.
    pub fn p_values(
        &self,
        clustering: &Clustering,
        scaled: MatrixRef<'_>,
        labels: &[u32],
    ) -> Vec<f64> {
        let away = distances(&clustering.rule, scaled, labels);
        away.iter().map(|a| self.p_value(a)).collect()
    }

    /// The p-value of each row of the pool itself, as if it had been left out.
    pub fn own_p_values(&self, clustering: &Clustering, scaled: MatrixRef<'_>) -> Vec<f64> {
        let away = leave_one_out(scaled, &clustering.labels, clustering);
        away.iter().map(|a| self.p_value(a)).collect()
    }

    /// How far each of these rows is from its cluster, in units of it.
    pub fn scores_of(
        &self,
        clustering: &Clustering,
        scaled: MatrixRef<'_>,
        labels: &[u32],
    ) -> Vec<f64> {
        let away = distances(&clustering.rule, scaled, labels);
        away.iter().map(|a| self.score(a)).collect()
    }

    fn score(&self, away: &Away) -> f64 {
        in_units(away.distance, self.radii[away.cluster as usize])
    }

    fn p_value(&self, away: &Away) -> f64 {
        self.p_of_score(self.score(away))
    }

    /// The p-value of a row so far from its cluster.
    pub fn p_of_score(&self, score: f64) -> f64 {
        let as_far = self.scores.partition_point(|s| *s >= score); // of the kept scores
        let one_more = self.rows as f64 + 1.0;
        if as_far == 0 {
            let beyond = score - self.scores[0];
            return (-beyond / self.tail).exp() / one_more;
        }
        // Between two kept ranks, as many as there can be.
        let count = self.ranks.get(as_far).map_or(self.rows, |rank| rank - 1);
        (count as f64 + 1.0) / one_more
    }
}

/// A distance in units of a radius; anything is infinitely far from a cluster without extent.
fn in_units(distance: f64, radius: f64) -> f64 {
    if distance > 0.0 { distance / radius } else { 0.0 }
}

/// The ranks that are kept of n scores, from 1: the highest one by one, then by a constant factor.
fn kept_ranks(n: usize) -> Vec<usize> {
    if n <= MOST {
        return (1..=n).collect();
    }
    let more = MOST - HIGHEST;
    let factor = (n as f64 / HIGHEST as f64).ln() / more as f64;
    let rank = |i: usize| (HIGHEST as f64 * (factor * i as f64).exp()).round() as usize;
    let mut ranks: Vec<usize> = (1..=HIGHEST).chain((1..=more).map(rank)).collect();
    ranks.dedup();
    ranks.iter_mut().for_each(|r| *r = (*r).min(n));
    ranks.dedup();
    ranks
}

/// How far any rows are from their clusters.
fn distances(rule: &AssignRule, x: MatrixRef<'_>, labels: &[u32]) -> Vec<Away> {
    match rule {
        AssignRule::Nearest { centres, metric } => {
            let seen = metric.view(x);
            let seen = MatrixRef::new(x.rows(), x.cols(), &seen).expect("same shape as x");
            per_row(x.rows(), |i| {
                let distance = squared_distance(seen.row(i), centres.row(labels[i] as usize));
                Away { cluster: labels[i], distance: distance.sqrt() }
            })
        }
        AssignRule::Mixture(mixture) => per_row(x.rows(), |i| {
            let mut squared = 0.0;
            mixture.for_each_deviation(x.row(i), labels[i], |z| squared += z * z);
            Away { cluster: labels[i], distance: squared.sqrt() }
        }),
        AssignRule::Neighbors { rows, labels, metric, .. } => {
            let seen = metric.view(x);
            let seen = MatrixRef::new(x.rows(), x.cols(), &seen).expect("same shape as x");
            let nearest = Neighbors::new(rows.view()).nearest(seen, 1);
            per_row(x.rows(), |i| Away {
                cluster: labels[nearest.rows_of(i)[0] as usize],
                distance: nearest.squared_of(i)[0].sqrt(),
            })
        }
    }
}

/// How far rows of the pool are from their clusters, each as if it had been left out: all of them, or so many
/// that are evenly spaced.
fn own_distances(rows: &dyn Rows, clustering: &Clustering) -> Result<Vec<Away>, RowsError> {
    let n = rows.rows();
    let many = n.min(match clustering.rule {
        AssignRule::Neighbors { .. } => MEASURED_BY_NEIGHBORS,
        _ => MEASURED,
    });
    if let Some(x) = rows.in_memory().filter(|_| many == n) {
        return Ok(leave_one_out(x, &clustering.labels, clustering));
    }
    let chosen: Vec<usize> = (0..many).map(|s| s * n / many).collect();
    let labels: Vec<u32> = chosen.iter().map(|&i| clustering.labels[i]).collect();
    Ok(leave_one_out(rows.select(&chosen)?.view(), &labels, clustering))
}

/// How far these rows of the pool, which have these labels, are from their clusters, each as if it had been
/// left out.
fn leave_one_out(x: MatrixRef<'_>, labels: &[u32], clustering: &Clustering) -> Vec<Away> {
    let sizes = &clustering.sizes;
    match &clustering.rule {
        AssignRule::Nearest { centres, metric } => {
            let seen = metric.view(x);
            let seen = MatrixRef::new(x.rows(), x.cols(), &seen).expect("same shape as x");
            let scored = Centres::new(centres.view());
            let to =
                |i: usize, j: u32| squared_distance(seen.row(i), centres.row(j as usize)).sqrt();
            let blocks = chunks::map_blocks(x.rows(), |range| {
                let mut out = Vec::with_capacity(range.len());
                scored.for_each_scores(seen.slice(range.clone()), |s, scores| {
                    let (i, own) = (range.start + s, labels[range.start + s]);
                    let others = (0u32..).zip(scores).filter(|(j, _)| *j != own);
                    let other = others.reduce(|a, b| if b.1 < a.1 { b } else { a });
                    let other = other.map(|(j, _)| Away { cluster: j, distance: to(i, j) });
                    out.push(match f64::from(sizes[own as usize]) {
                        1.0 => other.unwrap_or(Away { cluster: own, distance: f64::INFINITY }),
                        n => {
                            let left = Away { cluster: own, distance: to(i, own) * n / (n - 1.0) };
                            other.filter(|o| o.distance < left.distance).unwrap_or(left)
                        }
                    });
                });
                out
            });
            blocks.concat()
        }
        AssignRule::Mixture(mixture) => per_row(x.rows(), |i| {
            let label = labels[i];
            let n = mixture.log_weights[label as usize].exp() * clustering.labels.len() as f64;
            let distance = left_out_of_component(mixture, x.row(i), label, n);
            Away { cluster: label, distance }
        }),
        AssignRule::Neighbors { rows: kept, labels: of_kept, metric, .. } => {
            let seen = metric.view(x);
            let seen = MatrixRef::new(x.rows(), x.cols(), &seen).expect("same shape as x");
            let nearest = Neighbors::new(kept.view()).nearest(seen, 2);
            per_row(x.rows(), |i| {
                let (found, squared) = (nearest.rows_of(i), nearest.squared_of(i));
                // A row at no distance is the row itself, or one like it that is kept beside it.
                let at = usize::from(squared[0] == 0.0 && squared.len() > 1);
                Away { cluster: of_kept[found[at] as usize], distance: squared[at].sqrt() }
            })
        }
    }
}

/// The clusters that these rows of the pool, scaled, with these labels, would get if each had been left out; noise
/// stays noise.
pub(crate) fn left_out_clusters(
    x: MatrixRef<'_>,
    labels: &[u32],
    clustering: &Clustering,
) -> Vec<u32> {
    match &clustering.rule {
        AssignRule::Nearest { .. } if !labels.contains(&NOISE) => {
            leave_one_out(x, labels, clustering).into_iter().map(|away| away.cluster).collect()
        }
        _ => labels.to_vec(),
    }
}

/// The Mahalanobis distance of a row to a component of `n` rows that it is taken out of.
fn left_out_of_component(mixture: &Gaussian, row: &[f32], label: u32, n: f64) -> f64 {
    let (mut squared, mut by_column) = (0.0, 0.0);
    let without = |q: f64| if q < n - 1.0 { n * q / (n - 1.0 - q) } else { f64::INFINITY };
    mixture.for_each_deviation(row, label, |z| {
        squared += z * z;
        by_column += without(z * z);
    });
    let (k, d) = (mixture.means.rows(), mixture.means.cols());
    let left_out = match (mixture.precisions.rows(), mixture.precisions.cols()) {
        (rows, cols) if rows == k && cols == d => by_column,
        // One variance of all columns: the row is d of n · d entries.
        (rows, _) if rows == k => d as f64 * without(squared / d as f64),
        _ => without(squared),
    };
    // A component that is this row alone has no extent to measure by.
    if left_out.is_finite() { left_out.sqrt() } else { squared.sqrt().max((d as f64).sqrt()) }
}

fn per_row(n: usize, of: impl Fn(usize) -> Away + Sync) -> Vec<Away> {
    chunks::map_blocks(n, |range| range.map(&of).collect::<Vec<_>>()).concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{ClusterSpec, Clusterer};
    use crate::synth::{Mixture, Pairs, Sizes};
    use bridged_math::{Matrix, Seed, Silent};

    fn groups(rows: usize, dim: usize, seed: u64) -> Matrix {
        let mixture = Mixture { classes: 4, dim_x: dim, separation: 8.0, ..Mixture::default() };
        let sizes = Sizes { x: rows, y: 8, test: 1, pairs: Pairs::Stratified(1) };
        mixture.draw(sizes, Seed(seed)).x
    }

    fn fitted(name: &str, x: &Matrix) -> (Clustering, Novelty) {
        let spec = ClusterSpec::named(name).expect("listed").with_k(4);
        let clustering = spec.fit(x.view(), Seed(1), &Silent).expect("plain data");
        let novelty = Novelty::measure(&x.view(), &clustering).unwrap().expect("more than one row");
        (clustering, novelty)
    }

    fn p_values(x: &Matrix, (clustering, novelty): &(Clustering, Novelty)) -> Vec<f64> {
        novelty.p_values(clustering, x.view(), &clustering.assign(x.view()))
    }

    #[test]
    fn new_rows_of_the_same_kind_are_as_unlike_the_pool_as_its_own_by_every_clustering() {
        for entry in ClusterSpec::ALL {
            for dim in [2, 30] {
                // Both from one draw: half is clustered, half is new.
                let all = groups(2400, dim, 3);
                let half = |odd: usize| all.view().select((0..1200).map(|i| 2 * i + odd));
                let fit = fitted(entry.name, &half(0));
                let p = p_values(&half(1), &fit);
                for level in [0.5, 0.1, 0.02] {
                    let share = p.iter().filter(|p| **p <= level).count() as f64 / p.len() as f64;
                    let (name, off) = (entry.name, 4.0 * (level * (1.0 - level) / 600.0).sqrt());
                    assert!((share - level).abs() < off, "{name}, {dim}: {share} at {level}");
                }
            }
        }
    }

    #[test]
    fn rows_far_from_everything_are_unlike_every_pool_by_every_clustering() {
        for entry in ClusterSpec::ALL {
            for rows in [40, 300] {
                let x = groups(rows, 6, 4);
                let fit = fitted(entry.name, &x);
                let far = Matrix::from_fn(rows, 6, |i, c| -50.0 * x.row(i)[c] + 1000.0);
                let least = p_values(&far, &fit).into_iter().fold(0.0, f64::max);
                assert!(least < 1e-6, "{}, {rows} rows: {least}", entry.name);
            }
        }
    }

    #[test]
    fn a_wide_cluster_does_not_hide_a_narrow_one() {
        // Half of the rows within 0.1 of 0, half within 10 of 100.
        let mut rng = Seed(5).rng();
        let mut jitter = || rand::RngExt::random_range(&mut rng, -1.0f32..1.0);
        let x = Matrix::from_fn(400, 2, |i, _| match i % 2 {
            0 => 0.1 * jitter(),
            _ => 100.0 + 10.0 * jitter(),
        });
        let spec = ClusterSpec::named("kmeans").expect("listed").with_k(2);
        let clustering = spec.fit(x.view(), Seed(0), &Silent).expect("plain data");
        let novelty = Novelty::measure(&x.view(), &clustering).unwrap().expect("400 rows");
        let new = Matrix::from_rows(&[[5.0f32, 5.0], [105.0, 105.0]]);
        let p = novelty.p_values(&clustering, new.view(), &clustering.assign(new.view()));
        assert!(p[0] < 1e-6 && p[1] > 0.1, "{p:?}");
    }

    #[test]
    fn few_ranks_stand_for_many_rows() {
        for n in [2, 1024, 1025, 5000, 10_000_000] {
            let ranks = kept_ranks(n);
            assert!(ranks.len() <= MOST && ranks[0] == 1 && ranks.last() == Some(&n), "{n}");
            assert!(ranks.windows(2).all(|w| w[0] < w[1]), "{n}");
            assert!(ranks.windows(2).all(|w| w[1] <= w[0] + 1 + w[0] / 50), "{n}");
        }
        let x = groups(3000, 5, 6);
        let (clustering, novelty) = fitted("kmeans", &x);
        assert!(novelty.scores.len() <= MOST);
        let mut own = novelty.own_p_values(&clustering, x.view());
        own.sort_by(f64::total_cmp);
        for (i, p) in own.iter().enumerate() {
            // Scores of left-out rows have their own radii: ranks agree but for those.
            let rank = (i + 2) as f64 / 3001.0;
            assert!((p - rank).abs() < 0.05 * rank + 3e-3, "{p} at {i}");
        }
    }

    #[test]
    fn pools_without_extent_know_only_their_own_rows() {
        let x = Matrix::from_fn(12, 1, |i, _| (i % 2) as f32);
        let spec = ClusterSpec::named("kmeans").expect("listed").with_k(2);
        let clustering = spec.fit(x.view(), Seed(0), &Silent).expect("two distinct rows");
        let novelty = Novelty::measure(&x.view(), &clustering).unwrap().expect("12 rows");
        let new = Matrix::from_rows(&[[0.0f32], [1.0], [0.3]]);
        let p = novelty.p_values(&clustering, new.view(), &clustering.assign(new.view()));
        assert_eq!(p, [1.0, 1.0, 0.0]);
        let one = Matrix::zeros(1, 2);
        let spec = ClusterSpec::named("kmeans").expect("listed").with_k(1);
        let clustering = spec.fit(one.view(), Seed(0), &Silent).expect("one row");
        assert_eq!(Novelty::measure(&one.view(), &clustering).unwrap(), None);
    }
}
