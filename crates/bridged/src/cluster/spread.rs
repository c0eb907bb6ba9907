//! How far the rows of a side spread inside its clusters, and what follows: soft memberships,
//! shrunk means.
//!
//! ```text
//! p(i|x) ∝ n_i · exp(−‖x − c_i‖² / 2τv)          τ the temperature, n_i the size of cluster i
//! v      = mean ‖V ᵀ(x − c(x))‖² / r              V (d, r): an orthonormal basis of the centroids' span
//! m_j    = m + s / (s + t/n_j) · (μ_j − m)        t the variance inside clusters, s between them
//! ```
//!
//! A Gaussian posterior divides by the variance of one direction. In 1,280 dimensions the mean over
//! all of them is far too small, and every row would belong to one cluster with probability 1. Only
//! directions in which centroids differ can tell clusters apart, so v is measured in those: the
//! effective dimension is that of the span of the centroids, at most k − 1.
//!
//! The mean of a small cluster is itself uncertain by t/n_j. Means are therefore shrunk towards the
//! mean m of the pool by the share of their scatter that this noise does not explain
//! (James and Stein 1961; s is estimated by moments and never below 0).
//!
//! Both are measured on at most 256 rows, evenly spaced: O(256 k d).

use super::memberships::push_hard;
use super::{AssignRule, Clustering, Metric, NOISE};
use bridged_math::distance::{dot, squared_distance};
use bridged_math::linalg::symmetric_eigen;
use bridged_math::{Matrix, MatrixRef, Rows, RowsError, chunks};

/// More rows than this do not make a mean more certain than it needs to be.
const MOST: usize = 256;

/// What was measured on a side.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// v; 0 where memberships are hard: of rules that are no distances to centres.
    pub variance: f64,
    /// t, the summed variance of all columns inside clusters, in the units of the data.
    pub within: f64,
    /// s / (s + t/n_j) of each cluster, 0 to 1.
    pub shrink: Vec<f64>,
}

impl Spread {
    /// Measures a side: the scaled rows and their clustering, the rows in the units of the data, the
    /// means of their clusters and of all.
    pub(crate) fn measure(
        scaled: &dyn Rows,
        clustering: &Clustering,
        pool: &dyn Rows,
        values: &Matrix,
        mean: &[f32],
    ) -> Result<Self, RowsError> {
        let labels = &clustering.labels;
        // Of all rows; those at hand may be some of them.
        let inside = clustering.sizes.iter().map(|&n| n as usize).sum::<usize>();
        let rows = spaced(labels.len());
        let rows: Vec<usize> = rows.filter(|&i| labels[i] != NOISE).collect();
        // Means were fitted to the rows: k of them are spent.
        let free = inside.saturating_sub(clustering.k()) as f64 / inside.max(1) as f64;
        let per_row =
            |sum: f64| if free > 0.0 { sum / (rows.len().max(1) as f64 * free) } else { 0.0 };

        let variance = match &clustering.rule {
            AssignRule::Nearest { centres, metric } => {
                let chosen = scaled.select(&rows)?;
                let seen = metric.view(chosen.view());
                let seen = MatrixRef::new(rows.len(), scaled.cols(), &seen).expect("same shape");
                let span = Span::of(centres);
                let centre = |s: usize| centres.row(labels[rows[s]] as usize);
                let away = Matrix::from_fn(rows.len(), centres.cols(), |s, c| {
                    seen.row(s)[c] - centre(s)[c]
                });
                let sum = span.squared_lengths(away.view());
                per_row(sum) / span.rank().max(1) as f64
            }
            AssignRule::Mixture(_) | AssignRule::Neighbors { .. } => 0.0,
        };
        let chosen = pool.select(&rows)?;
        let scatter = |(s, &i): (usize, &usize)| {
            squared_distance(chosen.row(s), values.row(labels[i] as usize))
        };
        let within = per_row(rows.iter().enumerate().map(scatter).sum());
        let sizes: Vec<f64> = clustering.sizes.iter().map(|&n| f64::from(n.max(1))).collect();
        let total: f64 = sizes.iter().sum();
        let between: f64 = (0..sizes.len())
            .map(|j| sizes[j] / total * (squared_distance(values.row(j), mean) - within / sizes[j]))
            .sum();
        let signal = between.max(0.0);
        let shrink = sizes.iter().map(|n| match within {
            0.0 => 1.0,
            _ => signal / (signal + within / n),
        });
        Ok(Self { variance, within, shrink: shrink.collect() })
    }

    /// A side of which nothing is known: hard memberships, means as they are.
    #[cfg(any(feature = "persist", test))]
    pub(crate) fn none(k: usize) -> Self {
        Self { variance: 0.0, within: 0.0, shrink: vec![1.0; k] }
    }

    /// Adds p(·|row) of one scaled row, whose cluster is `label`.
    pub(crate) fn push_memberships(
        &self,
        clustering: &Clustering,
        row: &[f32],
        label: u32,
        temperature: f64,
        weights: &mut Vec<f64>,
    ) {
        let AssignRule::Nearest { centres, metric } = &clustering.rule else {
            return push_hard(weights, label, &clustering.sizes);
        };
        if label == NOISE || temperature <= 0.0 {
            return push_hard(weights, label, &clustering.sizes);
        }
        let heat = 2.0 * temperature * self.variance;
        let seen = match metric {
            Metric::Euclidean => std::borrow::Cow::Borrowed(row),
            Metric::Cosine => {
                let row = MatrixRef::new(1, row.len(), row).expect("one row");
                std::borrow::Cow::Owned(metric.view(row).into_owned())
            }
        };
        let start = weights.len();
        if heat <= 0.0 {
            // Nothing spreads: the nearest centre alone, and of equally near ones each its share.
            let to = |i: usize| squared_distance(&seen, centres.row(i));
            let least = (0..centres.rows()).map(to).fold(f64::INFINITY, f64::min);
            let share = |(i, &n): (usize, &u32)| if to(i) <= least { f64::from(n) } else { 0.0 };
            weights.extend(clustering.sizes.iter().enumerate().map(share));
            let total: f64 = weights[start..].iter().sum();
            weights[start..].iter_mut().for_each(|w| *w /= total);
            return;
        }
        weights.extend(clustering.sizes.iter().enumerate().map(|(i, &n)| {
            f64::from(n.max(1)).ln() - squared_distance(&seen, centres.row(i)) / heat
        }));
        if !softmax(&mut weights[start..]) {
            weights.truncate(start);
            push_hard(weights, label, &clustering.sizes);
        }
    }

    /// The memberships of scaled rows with these labels, (rows, k).
    pub(crate) fn memberships(
        &self,
        clustering: &Clustering,
        scaled: MatrixRef<'_>,
        labels: &[u32],
        temperature: f64,
    ) -> Vec<f64> {
        let blocks = chunks::map_blocks(labels.len(), |range| {
            let mut weights = Vec::with_capacity(range.len() * clustering.k());
            for i in range {
                self.push_memberships(
                    clustering,
                    scaled.row(i),
                    labels[i],
                    temperature,
                    &mut weights,
                );
            }
            weights
        });
        blocks.concat()
    }

    /// The mean over scaled rows of their largest membership.
    pub(crate) fn clarity(
        &self,
        clustering: &Clustering,
        scaled: MatrixRef<'_>,
        temperature: f64,
    ) -> f64 {
        let heat = temperature * self.variance;
        let AssignRule::Nearest { centres, metric } = &clustering.rule else { return 1.0 };
        if heat <= 0.0 || scaled.rows() == 0 {
            return 1.0;
        }
        let seen = metric.view(scaled);
        let seen = MatrixRef::new(scaled.rows(), scaled.cols(), &seen).expect("same shape");
        let logs: Vec<f64> = clustering.sizes.iter().map(|&n| f64::from(n.max(1)).ln()).collect();
        // By distances in f64, which are the same on every processor; the rows are few.
        let largest = |row: &[f32]| {
            let away = centres.view().iter_rows().map(|c| 0.5 * squared_distance(row, c));
            let mut weights: Vec<f64> =
                logs.iter().zip(away).map(|(log, s)| log - s / heat).collect();
            let sure = softmax(&mut weights);
            if sure { weights.iter().fold(0.0, |a: f64, &b| a.max(b)) } else { 1.0 }
        };
        let blocks = chunks::map_blocks(seen.rows(), |range| {
            range.map(|i| largest(seen.row(i))).sum::<f64>()
        });
        blocks.into_iter().sum::<f64>() / scaled.rows() as f64
    }
}

/// At most [`MOST`] of n rows, evenly spaced.
pub(crate) fn spaced(n: usize) -> impl Iterator<Item = usize> {
    let many = n.min(MOST);
    (0..many).map(move |s| s * n / many)
}

/// log-weights → weights that sum to 1; whether there was a finite one.
fn softmax(logs: &mut [f64]) -> bool {
    let top = logs.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
    logs.iter_mut().for_each(|l| *l = (*l - top).exp());
    let sum: f64 = logs.iter().sum();
    logs.iter_mut().for_each(|l| *l /= sum);
    top.is_finite()
}

/// The span of centred centres: z = Λ^(−½) Uᵀ C̃ x are coordinates in it, where C̃ C̃ᵀ = U Λ Uᵀ.
struct Span {
    centred: Matrix,     // (k, d), C̃
    axes: Vec<Vec<f64>>, // (r, k), Λ^(−½) Uᵀ
}

impl Span {
    fn of(centres: &Matrix) -> Self {
        let (k, mean) = (centres.rows(), centres.view().mean_row());
        let centred = Matrix::from_fn(k, centres.cols(), |i, c| {
            (f64::from(centres.row(i)[c]) - mean[c]) as f32
        });
        let gram: Vec<f64> =
            (0..k * k).map(|at| dot(centred.row(at / k), centred.row(at % k))).collect();
        let eigen = symmetric_eigen(&gram, k);
        let top = eigen.values.iter().fold(0.0, |a: f64, &b| a.max(b));
        // Centres are f32: what is smaller than their rounding is no direction.
        let axes = (0..k).filter(|&a| eigen.values[a] > 1e-9 * top).map(|a| {
            let scale = eigen.values[a].sqrt();
            eigen.vectors[a * k..(a + 1) * k].iter().map(|u| u / scale).collect()
        });
        Self { axes: axes.collect(), centred }
    }

    fn rank(&self) -> usize {
        self.axes.len()
    }

    /// Σ ‖Vᵀ row‖² over rows.
    fn squared_lengths(&self, rows: MatrixRef<'_>) -> f64 {
        // By sums in f64, which are the same on every processor; the rows are few.
        let of_row = |row: &[f32]| {
            let products: Vec<f64> = self.centred.view().iter_rows().map(|c| dot(row, c)).collect();
            let along =
                |axis: &Vec<f64>| axis.iter().zip(&products).map(|(a, p)| a * p).sum::<f64>();
            self.axes.iter().map(|axis| along(axis).powi(2)).sum::<f64>()
        };
        chunks::map_blocks(rows.rows(), |range| range.map(|i| of_row(rows.row(i))).sum::<f64>())
            .into_iter()
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{ClusterSpec, Clusterer};
    use crate::synth::{Mixture, Pairs, Sizes};
    use bridged_math::{Seed, Silent};

    fn clustered(separation: f64, dim: usize, cluster: &str) -> (Matrix, Clustering, Spread) {
        let mixture = Mixture { classes: 3, dim_x: dim, separation, ..Mixture::default() };
        let sizes = Sizes { x: 300, y: 30, test: 1, pairs: Pairs::Stratified(1) };
        let x = mixture.draw(sizes, Seed(5)).x;
        let spec = ClusterSpec::named(cluster).expect("listed").with_k(3);
        let clustering = spec.fit(x.view(), Seed(1), &Silent).expect("plain data");
        let mean: Vec<f32> = x.view().mean_row().into_iter().map(|v| v as f32).collect();
        let spread =
            Spread::measure(&x.view(), &clustering, &x.view(), &clustering.centroids, &mean)
                .unwrap();
        (x, clustering, spread)
    }

    #[test]
    fn the_variance_is_that_of_one_direction_in_any_dimension() {
        for dim in [4, 40, 400] {
            let (_, _, spread) = clustered(12.0, dim, "kmeans");
            assert!((spread.variance - 1.0).abs() < 0.2, "{dim}: {}", spread.variance);
            assert!((spread.within / dim as f64 - 1.0).abs() < 0.1, "{dim}: {}", spread.within);
        }
    }

    #[test]
    fn memberships_are_sure_of_separated_clusters_and_unsure_of_blurred_ones() {
        let clarity = |separation| {
            let (x, clustering, spread) = clustered(separation, 200, "kmeans");
            let members = spread.memberships(&clustering, x.view(), &clustering.labels, 4.0);
            for row in members.chunks_exact(3) {
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            }
            let largest = |row: &[f64]| row.iter().fold(0.0, |a: f64, &b| a.max(b));
            let mean = members.chunks_exact(3).map(largest).sum::<f64>() / 300.0;
            let clarity = spread.clarity(&clustering, x.view(), 4.0);
            assert!((clarity - mean).abs() < 1e-3, "{clarity} {mean}");
            clarity
        };
        assert!(clarity(30.0) > 0.99);
        assert!((0.4..0.8).contains(&clarity(3.0)), "{}", clarity(3.0));
    }

    #[test]
    fn a_rule_that_is_no_distance_has_hard_memberships() {
        let (x, clustering, spread) = clustered(6.0, 4, "gmm");
        let members = spread.memberships(&clustering, x.view(), &clustering.labels, 4.0);
        assert_eq!(spread.clarity(&clustering, x.view(), 4.0), 1.0);
        assert_eq!(members[clustering.labels[0] as usize], 1.0);
    }

    #[test]
    fn small_clusters_without_signal_shrink_to_the_mean_and_clear_ones_stay() {
        let (_, _, clear) = clustered(30.0, 20, "kmeans");
        assert!(clear.shrink.iter().all(|&s| s > 0.99), "{:?}", clear.shrink);
        // Three rows in two clusters: the noise of their means explains most of their distance.
        let x = Matrix::from_rows(&[[0.0f32, 3.0], [3.0, 0.0], [-3.0, 0.0]]);
        let labels = vec![0, 0, 1];
        let rule = AssignRule::Nearest {
            centres: x.view().slice(0..2).to_matrix(),
            metric: Metric::Euclidean,
        };
        let clustering = Clustering::from_labels(x.view(), labels, 2, rule);
        let spread =
            Spread::measure(&x.view(), &clustering, &x.view(), &clustering.centroids, &[0.0, 1.0])
                .unwrap();
        assert!(spread.shrink.iter().all(|&s| s < 0.2), "{:?}", spread.shrink);
    }

    #[test]
    fn as_many_clusters_as_rows_leave_nothing_to_shrink_or_blur() {
        let x = Matrix::from_rows(&[[0.0f32], [1.0], [5.0]]);
        let rule = AssignRule::Nearest { centres: x.clone(), metric: Metric::Euclidean };
        let clustering = Clustering::from_labels(x.view(), vec![0, 1, 2], 3, rule);
        let spread = Spread::measure(&x.view(), &clustering, &x.view(), &x, &[2.0]).unwrap();
        assert_eq!(spread, Spread::none(3));
    }
}
