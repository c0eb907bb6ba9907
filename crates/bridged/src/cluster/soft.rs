//! Memberships of many rows at once: p(i|x) of [`Spread`](super::Spread) by one product for a band of rows.
//!
//! ```text
//! p(i|x) ∝ exp(b_i + (x − m)·a_i),   a_i = 2 (c_i − m) / 2τv,   b_i = ln n_i − ‖c_i − m‖² / 2τv
//! ```
//!
//! m is the mean of the centres, so that data far from the origin lose no digits; ‖x − m‖² is the same for every
//! cluster and drops out. Products, exponentials and sums are in f64. A band always has the same shape and is filled
//! up with zeros, so the memberships of a row depend on the row alone. O(k d) a row.

use super::memberships::push_hard;
use super::{AssignRule, Clustering, Metric, NOISE, Spread};
use bridged_math::MatrixRef;
use bridged_math::linalg::{Accum, View, product};
use bridged_math::simd::{exp, vectorize_wide};

/// Rows of a band: enough for the product to pay back that both factors are packed.
pub(crate) const BAND: usize = 128;

/// Running sums of a row: one alone would be a chain of dependent additions.
const LANES: usize = 8;

/// The clusters of a side, made ready for the memberships of many rows.
pub(crate) struct SoftAssign<'a> {
    spread: &'a Spread,
    clustering: &'a Clustering,
    temperature: f64,
    /// None where memberships are hard, or where nothing spreads.
    ready: Option<Ready>,
}

struct Ready {
    metric: Metric,
    mean: Vec<f64>,   // (d), m
    slopes: Vec<f64>, // (k, d), a
    starts: Vec<f64>, // (k), b
}

/// What a thread works in.
#[derive(Default)]
pub(crate) struct Scratch {
    shifted: Vec<f64>, // (BAND, d)
    /// The memberships of the rows of the last band, (BAND, k).
    pub members: Vec<f64>,
}

impl<'a> SoftAssign<'a> {
    pub fn new(spread: &'a Spread, clustering: &'a Clustering, temperature: f64) -> Self {
        let heat = 2.0 * temperature * spread.variance;
        let ready = match &clustering.rule {
            AssignRule::Nearest { centres, metric } if heat > 0.0 && centres.cols() > 0 => {
                let mean = centres.view().mean_row();
                let mut slopes = Vec::with_capacity(centres.rows() * centres.cols());
                let mut starts = Vec::with_capacity(centres.rows());
                for (row, &n) in centres.view().iter_rows().zip(&clustering.sizes) {
                    let away = row.iter().zip(&mean).map(|(&c, m)| f64::from(c) - m);
                    starts.push(
                        f64::from(n.max(1)).ln() - away.clone().map(|a| a * a).sum::<f64>() / heat,
                    );
                    slopes.extend(away.map(|a| 2.0 * a / heat));
                }
                Some(Ready { metric: *metric, mean, slopes, starts })
            }
            _ => None,
        };
        Self { spread, clustering, temperature, ready }
    }

    /// The memberships of a whole band of scaled rows, (BAND, k).
    pub fn members(&self, band: MatrixRef<'_>, scratch: &mut Scratch) -> Vec<f64> {
        // Rows of centres have a label only where they are in one cluster alone.
        let labels = match self.ready {
            Some(_) => vec![0; band.rows()],
            None => self.clustering.assign(band),
        };
        self.band(band, &labels, scratch);
        std::mem::take(&mut scratch.members)
    }

    /// Fills `scratch.members` with the memberships of at most [`BAND`] scaled rows with these labels.
    pub fn band(&self, rows: MatrixRef<'_>, labels: &[u32], scratch: &mut Scratch) {
        let (k, d) = (self.clustering.k(), rows.cols());
        let members = &mut scratch.members;
        let Some(ready) = &self.ready else {
            members.clear();
            for (row, &label) in rows.iter_rows().zip(labels) {
                let (spread, temperature) = (self.spread, self.temperature);
                spread.push_memberships(self.clustering, row, label, temperature, members);
            }
            return;
        };
        let seen = ready.metric.view(rows);
        scratch.shifted.resize(BAND * d, 0.0);
        let (own, rest) = scratch.shifted.split_at_mut(rows.rows() * d);
        for (shifted, row) in own.chunks_exact_mut(d).zip(seen.chunks_exact(d)) {
            let numbers = row.iter().zip(&ready.mean).zip(shifted);
            numbers.for_each(|((&x, m), shifted)| *shifted = f64::from(x) - m);
        }
        rest.fill(0.0);
        members.resize(BAND * k, 0.0);
        let slopes = View::new(&ready.slopes, k, d);
        product(View::new(&scratch.shifted, BAND, d), slopes.t(), Accum::Replace, members);
        members.truncate(rows.rows() * k);
        for (weights, &label) in members.chunks_exact_mut(k).zip(labels) {
            if label == NOISE || !softmax(weights, &ready.starts) {
                let mut hard = Vec::with_capacity(k);
                push_hard(&mut hard, label, &self.clustering.sizes);
                weights.copy_from_slice(&hard);
            }
        }
    }
}

/// log-weights less their starts → weights that sum to 1; whether there was a finite one.
fn softmax(logs: &mut [f64], starts: &[f64]) -> bool {
    vectorize_wide(
        #[inline(always)]
        || {
            logs.iter_mut().zip(starts).for_each(|(l, s)| *l += s);
            let mut tops = [f64::NEG_INFINITY; LANES];
            let eights = logs.chunks_exact(LANES);
            let rest = eights.remainder().iter().fold(f64::NEG_INFINITY, |a, &b| larger(a, b));
            for eight in eights {
                (0..LANES).for_each(|l| tops[l] = larger(tops[l], eight[l]));
            }
            let top = tops.iter().fold(rest, |a, &b| larger(a, b));
            logs.iter_mut().for_each(|l| *l = exp(*l - top));
            let mut sums = [0.0f64; LANES];
            let eights = logs.chunks_exact(LANES);
            let rest = eights.remainder().iter().sum::<f64>();
            for eight in eights {
                (0..LANES).for_each(|l| sums[l] += eight[l]);
            }
            let share = 1.0 / (sums.iter().sum::<f64>() + rest);
            logs.iter_mut().for_each(|l| *l *= share);
            top.is_finite() && share.is_finite()
        },
    )
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{ClusterSpec, Clusterer};
    use bridged_math::{Matrix, Seed, Silent};

    fn rows(n: usize, d: usize, offset: f32) -> Matrix {
        Matrix::from_fn(n, d, |i, c| {
            offset + ((i * 37 + c * 101) % 17) as f32 / 17.0 + (i % 5) as f32
        })
    }

    /// The memberships of all rows, in bands that begin where the caller says.
    fn in_bands(soft: &SoftAssign<'_>, x: &Matrix, labels: &[u32], band: usize) -> Vec<f64> {
        let (mut scratch, mut all) = (Scratch::default(), Vec::new());
        for start in (0..x.rows()).step_by(band) {
            let end = (start + band).min(x.rows());
            soft.band(x.view().slice(start..end), &labels[start..end], &mut scratch);
            all.extend_from_slice(&scratch.members);
        }
        all
    }

    #[test]
    fn bands_give_what_rows_give_one_by_one_wherever_they_begin() {
        for (method, metric, offset) in
            [("kmeans", "euclidean", 0.0), ("kmeans", "cosine", 3.0), ("kmeans", "euclidean", 4e3)]
        {
            let x = rows(300, 7, offset);
            let mut keys = crate::settings::Keys::default();
            keys.set_some("metric", Some(metric.to_owned()));
            let spec = ClusterSpec::named(method).expect("listed").with_k(11);
            let spec = crate::settings::overlay(spec, &keys).expect("a metric");
            let clustering = spec.fit(x.view(), Seed(1), &Silent).expect("plain data");
            let mean: Vec<f32> = x.view().mean_row().into_iter().map(|v| v as f32).collect();
            let values = &clustering.centroids;
            let spread = Spread::measure(&x.view(), &clustering, &x.view(), values, &mean).unwrap();
            let mut labels = clustering.labels.clone();
            labels[3] = NOISE;
            let soft = SoftAssign::new(&spread, &clustering, 4.0);
            let all = in_bands(&soft, &x, &labels, BAND);
            for band in [1, 7, 100] {
                assert_eq!(in_bands(&soft, &x, &labels, band), all, "{method} {metric} {band}");
            }
            let one_by_one = spread.memberships(&clustering, x.view(), &labels, 4.0);
            for (at, (a, b)) in all.iter().zip(&one_by_one).enumerate() {
                assert!((a - b).abs() < 1e-9 * b.max(1e-3), "{method} {metric} {at}: {a} {b}");
            }
        }
    }

    #[test]
    fn hard_rules_and_points_without_extent_are_as_one_by_one() {
        let x = rows(120, 3, 0.0);
        let spec = ClusterSpec::named("gmm").expect("listed").with_k(3);
        let clustering = spec.fit(x.view(), Seed(1), &Silent).expect("plain data");
        let spread = Spread::none(3);
        let soft = SoftAssign::new(&spread, &clustering, 4.0);
        let labels = &clustering.labels;
        let expected = spread.memberships(&clustering, x.view(), labels, 4.0);
        assert_eq!(in_bands(&soft, &x, labels, BAND), expected);
    }
}
