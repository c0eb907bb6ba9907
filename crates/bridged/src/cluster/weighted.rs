//! k-means of rows that count more or less than once.
//!
//! ```text
//! minimise  Σ_i w_i ‖x_i − c_{a(i)}‖²   over labels a and centroids c,   w_i ≥ 0
//! ```
//!
//! Lloyd's iteration as in `kmeans`: a row still takes its nearest centroid, and the centroids become
//! weighted means. The first centroids are drawn with the weights, so that a row of weight 3 is three
//! equal rows, and a row of weight 0 is not there: it is only labelled at the end. All weights times a
//! constant give the same clusters. Every pass meets every row and centroid, O(n k d).

use super::clustering::{check_rows, check_shape};
use super::kmeans::{KMeans, KMeansRun, best_of};
use super::{AssignRule, ClusterError, Clustering, Metric};
use crate::settings::{BadParameter, Check};
use bridged_math::distance::{nearest, squared_distance};
use bridged_math::{Matrix, MatrixRef, Seed, Stage, Watch, chunks};

impl KMeans {
    /// Clusters rows of which row i counts `weights[i]` times.
    ///
    /// The inertia is the weighted sum, the centroids are weighted means; sizes count rows.
    ///
    /// ```
    /// use bridged::cluster::KMeans;
    /// use bridged::{Matrix, Seed, Silent};
    ///
    /// let x = Matrix::from_rows(&[[0.0], [1.0], [9.0]]);
    /// let one = KMeans { k: 1, ..KMeans::default() };
    /// let found = one.fit_weighted(x.view(), &[3.0, 1.0, 0.0], Seed(0), &Silent)?;
    /// assert_eq!(found.centroids.data(), [0.25]);
    /// # Ok::<(), bridged::cluster::ClusterError>(())
    /// ```
    pub fn fit_weighted(
        &self,
        x: MatrixRef<'_>,
        weights: &[f64],
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        self.check()?;
        check_rows(&x)?;
        check_shape(&x, self.k)?;
        let most = check_weights(x, weights, self.k)?;
        let seen = self.metric.view(x);
        let rows = MatrixRef::new(x.rows(), x.cols(), &seen).expect("same shape as x");
        let present: Vec<usize> = (0..x.rows()).filter(|&i| weights[i] > 0.0).collect();
        let part = (present.len() < x.rows()).then(|| rows.select(present.iter().copied()));
        let active = part.as_ref().map_or(rows, Matrix::view);
        // Relative to the largest, so that no unit of weight overflows a sum.
        let share: Vec<f64> = present.iter().map(|&i| weights[i] / most).collect();

        let least_shift = self.tol * weighted_variance(active, &share);
        let restarts = self.init.useful_restarts(self.restarts) as usize;
        let total = restarts as u64 * u64::from(self.max_iter);
        let stage = Stage::begin(watch, "kmeans", Some(total))?;
        let draws: Vec<f32> = share.iter().map(|&w| (w as f32).max(f32::MIN_POSITIVE)).collect();
        let run = |r: usize| -> Result<KMeansRun, ClusterError> {
            let start = self.init.weighted(active, &draws, self.k, seed.nth(r))?;
            let before = r as u64 * u64::from(self.max_iter);
            self.run_weighted(active, &share, start, least_shift, &|done| {
                stage.step(before + u64::from(done))
            })
        };
        let best = best_of((0..restarts).map(run))?.pop().expect("at least one restart is made");
        Ok(self.finish_weighted(x, rows, weights, best))
    }

    fn run_weighted(
        &self,
        x: MatrixRef<'_>,
        weights: &[f64],
        start: Matrix,
        least_shift: f64,
        tick: &dyn Fn(u32) -> Result<(), bridged_math::Cancelled>,
    ) -> Result<KMeansRun, ClusterError> {
        let mut centroids = self.on_sphere(start);
        let mut labels = labels_of(x, weights, &centroids);
        let (mut iterations, mut at_rest) = (1, false);
        let converged = loop {
            let next = self.on_sphere(weighted_means(x, &labels, weights, self.k));
            let shift = squared_distance(next.data(), centroids.data());
            centroids = next;
            tick(iterations)?;
            if shift <= least_shift || iterations >= self.max_iter {
                break shift <= least_shift;
            }
            let now = labels_of(x, weights, &centroids);
            iterations += 1;
            if now == labels {
                at_rest = true;
                break true;
            }
            labels = now;
        };
        // After a run that ended on the way, rows are labelled by the centroids that are kept; one
        // that is nearest to no row moves to the row that it is given.
        let rounds = if at_rest { 0 } else { self.k + 1 };
        for round in 0..rounds {
            let now = labels_of(x, weights, &centroids);
            let near = nearest(x, centroids.view());
            at_rest = round == 0 && now == labels && now == near;
            labels = now;
            for i in (0..x.rows()).filter(|&i| labels[i] != near[i]) {
                centroids.row_mut(labels[i] as usize).copy_from_slice(x.row(i));
            }
            if labels == near {
                break;
            }
        }
        let inertia = weighted_inertia(x, &labels, weights, &centroids);
        Ok(KMeansRun { labels, centroids, inertia, iterations, converged, at_rest })
    }

    /// Labels every row, also those without weight, and takes means in the units of the data.
    fn finish_weighted(
        &self,
        x: MatrixRef<'_>,
        seen: MatrixRef<'_>,
        weights: &[f64],
        run: KMeansRun,
    ) -> Clustering {
        let mut kept = run.labels.into_iter();
        let mut labels = nearest(seen, run.centroids.view());
        for (label, _) in labels.iter_mut().zip(weights).filter(|(_, w)| **w > 0.0) {
            *label = kept.next().expect("one label for each row with a weight");
        }
        let centroids = weighted_means(x, &labels, weights, self.k);
        let mut sizes = vec![0; self.k];
        labels.iter().for_each(|&l| sizes[l as usize] += 1);
        let inertia = weighted_inertia(x, &labels, weights, &centroids);
        let centres = match self.metric {
            Metric::Euclidean if run.at_rest => centroids.clone(),
            _ => run.centroids,
        };
        let rule = AssignRule::Nearest { centres, metric: self.metric };
        let (iterations, converged) = (run.iterations, run.converged);
        Clustering { labels, centroids, sizes, inertia, iterations, converged, rule }
    }
}

/// One finite weight per row, none negative, at least k positive; the largest.
fn check_weights(x: MatrixRef<'_>, weights: &[f64], k: usize) -> Result<f64, ClusterError> {
    if weights.len() != x.rows() {
        let (got, need) = (weights.len(), x.rows());
        return Err(ClusterError::Unfit(format!(
            "there are {got} weights for {need} rows; give one for each row"
        )));
    }
    if let Some(&bad) = weights.iter().find(|w| !w.is_finite() || **w < 0.0) {
        return Err(BadParameter::new("weights", "0 or more, and finite", bad).into());
    }
    let positive = weights.iter().filter(|w| **w > 0.0).count();
    if positive < k {
        return Err(ClusterError::Unfit(format!(
            "only {positive} rows have a weight above 0, too few for {k} clusters; \
             give more rows a weight or ask for fewer clusters"
        )));
    }
    Ok(weights.iter().copied().fold(0.0, f64::max))
}

/// The nearest centroid of each row; a cluster that is left empty gets the row that adds most to the
/// sum, of equals the first, from a cluster that has another.
fn labels_of(x: MatrixRef<'_>, weights: &[f64], centroids: &Matrix) -> Vec<u32> {
    let mut labels = nearest(x, centroids.view());
    let mut sizes = vec![0u32; centroids.rows()];
    labels.iter().for_each(|&l| sizes[l as usize] += 1);
    if sizes.iter().all(|&s| s > 0) {
        return labels;
    }
    let adds =
        |i: usize| weights[i] * squared_distance(x.row(i), centroids.row(labels[i] as usize));
    let mut rows: Vec<(f64, usize)> = (0..x.rows()).map(|i| (adds(i), i)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut rows = rows.into_iter().map(|(_, i)| i);
    for to in 0..sizes.len() {
        if sizes[to] == 0 {
            let row = rows
                .find(|&i| sizes[labels[i] as usize] > 1)
                .expect("k is at most the number of rows, so some cluster has two");
            sizes[labels[row] as usize] -= 1;
            sizes[to] = 1;
            labels[row] = to as u32;
        }
    }
    labels
}

/// Σ w x / Σ w over the rows of each label, the same on any thread count.
fn weighted_means(x: MatrixRef<'_>, labels: &[u32], weights: &[f64], k: usize) -> Matrix {
    let d = x.cols();
    let partials = chunks::map_blocks(x.rows(), |range| {
        let (mut sums, mut mass) = (vec![0.0f64; k * d], vec![0.0f64; k]);
        for i in range {
            let j = labels[i] as usize;
            mass[j] += weights[i];
            for (s, &v) in sums[j * d..(j + 1) * d].iter_mut().zip(x.row(i)) {
                *s += weights[i] * f64::from(v);
            }
        }
        (sums, mass)
    });
    let (mut sums, mut mass) = (vec![0.0f64; k * d], vec![0.0f64; k]);
    for (partial_sums, partial_mass) in partials {
        sums.iter_mut().zip(partial_sums).for_each(|(s, p)| *s += p);
        mass.iter_mut().zip(partial_mass).for_each(|(m, p)| *m += p);
    }
    Matrix::from_fn(k, d, |j, c| (sums[j * d + c] / mass[j]) as f32)
}

fn weighted_inertia(x: MatrixRef<'_>, labels: &[u32], weights: &[f64], centroids: &Matrix) -> f64 {
    let away = |i: usize| squared_distance(x.row(i), centroids.row(labels[i] as usize));
    chunks::map_blocks(x.rows(), |range| range.map(|i| weights[i] * away(i)).sum::<f64>())
        .into_iter()
        .sum()
}

/// The mean over the columns of their weighted variance.
fn weighted_variance(x: MatrixRef<'_>, weights: &[f64]) -> f64 {
    let mean = weighted_means(x, &vec![0; x.rows()], weights, 1);
    let total = weighted_inertia(x, &vec![0; x.rows()], weights, &mean);
    let mass: f64 = weights.iter().sum();
    total / (mass * x.cols() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{blobs, on_threads};
    use super::super::{Clusterer, Init};
    use super::*;
    use bridged_math::Silent;

    fn fit(spec: &KMeans, x: &Matrix, weights: &[f64]) -> Clustering {
        spec.fit_weighted(x.view(), weights, Seed(3), &Silent).unwrap()
    }

    #[test]
    fn a_row_of_weight_three_is_three_rows_and_one_of_weight_zero_is_none() {
        let (x, _) = blobs(90, 4, 3, 8.0);
        let weights: Vec<f64> = (0..90).map(|i| f64::from(i % 4)).collect();
        let repeated = x.view().select((0..90usize).flat_map(|i| vec![i; i % 4]));
        for init in [Init::PlusPlus, Init::Given(x.view().select([1, 2, 3, 5, 6]))] {
            let spec = KMeans { k: 5, tol: 0.0, init, restarts: 3, ..KMeans::default() };
            let weighted = fit(&spec, &x, &weights);
            let plain = fit(&spec, &repeated, &vec![1.0; repeated.rows()]);
            let of_repeated: Vec<u32> =
                (0..90usize).flat_map(|i| vec![weighted.labels[i]; i % 4]).collect();
            assert_eq!(of_repeated, plain.labels);
            assert!((weighted.inertia / plain.inertia - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn equal_weights_of_any_size_give_the_clusters_of_k_means() {
        let (x, _) = blobs(300, 6, 4, 12.0);
        let init = Init::Given(x.view().select([0, 1, 2, 3]));
        let spec = KMeans { k: 4, init, ..KMeans::default() };
        let plain = spec.fit(x.view(), Seed(0), &Silent).unwrap();
        for weight in [1e-200, 0.5, 1e200] {
            let weighted = fit(&spec, &x, &[weight; 300]);
            assert_eq!(weighted.labels, plain.labels);
            assert_eq!(weighted.sizes, plain.sizes);
            assert!((weighted.inertia / weight / plain.inertia - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let (x, _) = blobs(3000, 5, 4, 12.0);
        let weights: Vec<f64> = (0..3000).map(|i| f64::from(i % 7) * 0.3).collect();
        for metric in [Metric::Euclidean, Metric::Cosine] {
            for init in [Init::PlusPlus, Init::Random] {
                let spec = KMeans { k: 9, restarts: 2, metric, init, ..KMeans::default() };
                assert_eq!(
                    on_threads(1, || fit(&spec, &x, &weights)),
                    on_threads(4, || fit(&spec, &x, &weights))
                );
            }
        }
    }

    #[test]
    fn more_clusters_than_places_leave_none_empty() {
        let x = Matrix::from_rows(&[[0.0], [0.0], [0.0], [5.0]]);
        let found = fit(&KMeans { k: 4, ..KMeans::default() }, &x, &[1.0, 2.0, 0.5, 1.0]);
        assert_eq!(found.sizes, [1; 4]);
    }

    #[test]
    fn bad_weights_are_refused_in_a_sentence() {
        let x = Matrix::from_rows(&[[0.0], [1.0], [2.0]]);
        let error = |k: usize, weights: &[f64]| {
            let spec = KMeans { k, ..KMeans::default() };
            spec.fit_weighted(x.view(), weights, Seed(0), &Silent).unwrap_err().to_string()
        };
        assert_eq!(error(1, &[1.0]), "there are 1 weights for 3 rows; give one for each row");
        assert_eq!(error(1, &[1.0, -1.0, 1.0]), "`weights` must be 0 or more, and finite, got -1");
        assert!(error(1, &[1.0, f64::NAN, 1.0]).ends_with("got NaN"));
        assert!(error(2, &[0.0, 0.0, 1.0]).starts_with("only 1 rows have a weight above 0"));
    }
}
