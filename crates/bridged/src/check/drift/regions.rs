//! Old and new rows clustered together, and whether both lie in these regions alike.
//!
//! ```text
//! X² ∝ Σ_j (o_j − s t_j / n)² / t_j        o_j of the t_j rows of region j are chosen, s of n in all
//! D  = max_z |F_chosen(z) − F_others(z)|   z = ‖row − centroid‖ / root mean square of the region
//! ```
//!
//! k-means finds as many regions as the model has clusters, but no more than leave ten rows to each, so that a region is
//! about what a person knows as a cluster. O(n k d) per iteration, O(n) per relabelling.

use super::permute::{Relabellings, p_value};
use super::pooled::Pooled;
use crate::Error;
use crate::cluster::{Clusterer, KMeans, Metric};
use crate::scale::Scale;
use crate::side::Side;
use bridged_math::distance::squared_distance;
use bridged_math::{MatrixRef, Seed, Watch};

/// Rows of a region in the mean, at least.
const ROWS_OF_A_REGION: usize = 10;
/// The most regions.
const MOST: usize = 200;
/// Runs from different starts.
const STARTS: u32 = 2;

/// Regions of old and new rows together.
pub(super) struct Regions {
    /// The region of each row.
    labels: Vec<u32>,
    /// How many rows each region has.
    sizes: Vec<u32>,
    /// The rows by rising distance, and whether the next one is farther: equal distances are one step.
    order: Vec<(u32, bool)>,
}

impl Regions {
    pub fn of(
        pooled: &Pooled,
        side: &Side,
        metric: Metric,
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        let n = pooled.rows.rows();
        // Learned from old and new rows alike, as the regions are.
        let scale = match scale_of(side) {
            Scale::Pca { components } => {
                Scale::Pca { components: components.min(n).min(pooled.rows.cols()) }
            }
            scale => scale,
        };
        let scaler = scale.fit(pooled.rows.view(), "the rows")?;
        let scaled = scaler.apply(pooled.rows.view());
        let k = side.k().min(n / ROWS_OF_A_REGION).clamp(1, MOST);
        let kmeans = KMeans { k, restarts: STARTS, metric, ..KMeans::default() };
        let seed = Seed(0).child("regions");
        let found = kmeans.fit(scaled.view(), seed, watch);
        let found = found.map_err(|source| Error::Cluster { side: "the rows", source })?;
        let seen = metric.view(scaled.view());
        let seen = MatrixRef::new(n, scaled.view().cols(), &seen).expect("same shape");
        let away: Vec<f64> = (0..n)
            .map(|i| squared_distance(seen.row(i), found.centroids.row(found.labels[i] as usize)))
            .collect();
        let mut sums = vec![0.0; k];
        found.labels.iter().zip(&away).for_each(|(&j, a)| sums[j as usize] += a);
        let in_units = |i: usize| {
            let j = found.labels[i] as usize;
            let mean = sums[j] / f64::from(found.sizes[j].max(1));
            if mean > 0.0 { away[i] / mean } else { 0.0 }
        };
        let scores: Vec<f64> = (0..n).map(in_units).collect();
        Ok(Self::with(found.labels, k, &scores))
    }

    /// Rows with these regions, each so far from its centroid.
    pub fn with(labels: Vec<u32>, k: usize, scores: &[f64]) -> Self {
        let n = labels.len();
        let mut sizes = vec![0u32; k];
        labels.iter().for_each(|&j| sizes[j as usize] += 1);
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by(|&a, &b| scores[a as usize].total_cmp(&scores[b as usize]));
        let is_last = |at: usize| {
            let next = order.get(at + 1);
            next.is_none_or(|&next| scores[next as usize] > scores[order[at] as usize])
        };
        let order = (0..n).map(|at| (order[at], is_last(at))).collect();
        Self { labels, sizes, order }
    }

    /// p of the shares and of the distances.
    pub fn test(&self, pooled: &Pooled, draws: &Relabellings) -> (f64, f64) {
        let statistics = |chosen: &[u32]| (self.shares(chosen), self.distances(chosen));
        let (shares, distances) = statistics(&pooled.smaller());
        let (of_shares, of_distances): (Vec<f64>, Vec<f64>) =
            draws.map(statistics).into_iter().unzip();
        (p_value(shares, of_shares), p_value(distances, of_distances))
    }

    fn shares(&self, chosen: &[u32]) -> f64 {
        let mut counts = vec![0.0f64; self.sizes.len()];
        chosen.iter().for_each(|&i| counts[self.labels[i as usize] as usize] += 1.0);
        let share = chosen.len() as f64 / self.labels.len() as f64;
        let of = |(count, &size): (&f64, &u32)| {
            let size = f64::from(size);
            if size > 0.0 { (count - share * size).powi(2) / size } else { 0.0 }
        };
        counts.iter().zip(&self.sizes).map(of).sum()
    }

    fn distances(&self, chosen: &[u32]) -> f64 {
        let n = self.labels.len();
        let mut is_chosen = vec![false; n];
        chosen.iter().for_each(|&i| is_chosen[i as usize] = true);
        let others = (n - chosen.len()).max(1) as f64;
        let (up, down) = (1.0 / chosen.len().max(1) as f64, 1.0 / others);
        let (mut counts, mut most) = ([0u32; 2], 0.0f64);
        for &(row, is_last) in &self.order {
            counts[usize::from(is_chosen[row as usize])] += 1;
            if is_last {
                most = most.max((f64::from(counts[1]) * up - f64::from(counts[0]) * down).abs());
            }
        }
        most
    }
}

/// The kind of scaling that a side was fitted with.
fn scale_of(side: &Side) -> Scale {
    use crate::scale::Scaler;
    match &side.scaler {
        Scaler::None => Scale::None,
        Scaler::Affine { .. } => Scale::Standardize,
        Scaler::L2 => Scale::L2,
        Scaler::Project { components, .. } => Scale::Pca { components: components.rows() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn statistics_are_those_of_the_text_book(
            rows in proptest::collection::vec((0u32..4, 0u8..6, any::<bool>()), 2..40)
        ) {
            let n = rows.len();
            let labels: Vec<u32> = rows.iter().map(|r| r.0).collect();
            let scores: Vec<f64> = rows.iter().map(|r| f64::from(r.1)).collect();
            let regions = Regions::with(labels.clone(), 4, &scores);
            let sizes = regions.sizes.clone();
            let chosen: Vec<u32> = (0..n as u32).filter(|&i| rows[i as usize].2).collect();
            prop_assume!(!chosen.is_empty() && chosen.len() < n);

            // Pearson: Σ (observed − expected)² / expected over both samples, up to a constant.
            let (s, m) = (chosen.len() as f64, (n - chosen.len()) as f64);
            let mut pearson = 0.0;
            for j in 0..4 {
                let t = f64::from(sizes[j]);
                let o = chosen.iter().filter(|&&i| labels[i as usize] as usize == j).count() as f64;
                for (observed, share) in [(o, s / n as f64), (t - o, m / n as f64)] {
                    if t > 0.0 { pearson += (observed - t * share).powi(2) / (t * share) }
                }
            }
            let constant = n as f64 * n as f64 / (s * m);
            prop_assert!((regions.shares(&chosen) * constant - pearson).abs() < 1e-9);

            let below = |z: u8, new: bool| rows.iter().filter(|r| r.2 == new && r.1 <= z).count() as f64;
            let d = (0..6).map(|z| (below(z, true) / s - below(z, false) / m).abs()).fold(0.0, f64::max);
            prop_assert!((regions.distances(&chosen) - d).abs() < 1e-12);
        }
    }
}
