//! How far apart the clusters are, and what theory promises from that (§7).
//!
//! From n rows in k clusters of d columns this estimates
//!
//! ```text
//! Δ̂ = min over a ≠ b of ‖c_a − c_b‖                  the two nearest centroids
//! σ̂ = √λ_max(W),  W = Σ (x − c)(x − c)ᵀ / (n − k)     the widest direction within clusters
//! bound = exp(−Δ̂² / 16 σ̂²)                            on the mis-clustering rate ε
//! ```
//!
//! The bound is that of Lu & Zhou (2016, *Statistical and Computational Guarantees of Lloyd's
//! Algorithm and its Variants*) for σ²-sub-Gaussian clusters after Lloyd's iterations from a good
//! start, with probability 1 − ν − 4/n − 2 exp(−Δ/σ), ν being the risk of a bad start. It needs
//! enough rows, and a signal-to-noise ratio
//!
//! ```text
//! r_k = Δ/σ · √(α / (1 + k d / n)) ≥ C √k,   n α² ≥ C k ln n
//! ```
//!
//! for a constant C that the theorem leaves open. [`Separation::applies`] takes C = 1 and measures
//! the smallest cluster against an equal share, α = k · (smallest size) / n; that is a practical
//! reading, not a proof.
//!
//! **All of it describes the clusters that were found, not those that exist.** A clustering cuts
//! between its clusters, so blurred classes come out narrower and farther apart than they are, and
//! k-means splits even a single round blob into halves that look separated. The estimate is
//! optimistic exactly where separation is poor; read a good value as "not contradicted". In the
//! other direction, λ_max of few rows in many columns overstates σ by up to 1 + √(d / n).
//!
//! Cost O(k² d) for Δ̂ and O(m d) for each of at most 100 Lanczos steps for σ̂, over at most
//! m = 20,000 evenly spaced rows.

use crate::cluster::NOISE;
use crate::metrics::MetricError;
use bridged_math::distance::squared_distance;
use bridged_math::{MatrixRef, Rows, RowsError, Seed, chunks};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// The most rows that σ̂ is estimated from.
const MAX_ROWS: usize = 20_000;
/// The most Lanczos steps.
const MAX_STEPS: usize = 100;
/// The largest eigenvalue is taken as found when `PATIENCE` steps raise it by a smaller share.
const TOL: f64 = 5e-4;
const PATIENCE: usize = 5;

/// How far apart the clusters of one side are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Separation {
    /// Δ̂, the smallest distance between two centroids; `None` for a single cluster.
    pub delta: Option<f64>,
    /// The two clusters at that distance, the smaller number first.
    pub between: Option<(u32, u32)>,
    /// σ̂, the standard deviation within clusters along the widest direction.
    pub sigma: f64,
    /// The standard deviation within clusters averaged over all directions.
    pub sigma_isotropic: f64,
    /// Δ̂/σ̂; `None` for a single cluster, or if all rows lie on their centroids.
    pub ratio: Option<f64>,
    /// exp(−Δ̂²/16σ̂²), at most this share of rows is in the wrong cluster; `None` with `delta`.
    pub bound: Option<f64>,
    /// Whether the signal is strong enough and the rows many enough for the bound to be meant.
    pub applies: bool,
}

/// Estimates the separation of a clustering: `centroids` (k, d) and the label of each row of `x`.
/// Rows labelled [`NOISE`] are left out.
///
/// ```
/// use bridged::Seed;
/// use bridged::separation::separation;
/// use bridged::synth::{Mixture, Pairs, Sizes};
/// let sizes = Sizes { x: 2000, y: 10, test: 0, pairs: Pairs::Stratified(1) };
/// let sample = Mixture { separation: 8.0, ..Mixture::default() }.draw(sizes, Seed(1));
/// let found = separation(sample.x.view(), &sample.latent_x, sample.means_x.view())?;
/// assert!((found.ratio.unwrap() - 8.0).abs() < 0.8);
/// assert!(found.bound.unwrap() < 0.04 && found.applies);
/// # Ok::<(), bridged::metrics::MetricError>(())
/// ```
pub fn separation(
    x: MatrixRef<'_>,
    labels: &[u32],
    centroids: MatrixRef<'_>,
) -> Result<Separation, MetricError> {
    if let Some((row, column)) = x.first_non_finite() {
        return Err(MetricError::NotFinite { row, column });
    }
    separation_of(&x, labels, centroids).map_err(|error| match error {
        Failed::Metric(error) => error,
        Failed::Rows(error) => unreachable!("rows in memory can be read: {error}"),
    })
}

/// Why the separation of rows that need not be in memory could not be estimated.
#[derive(Debug)]
pub(crate) enum Failed {
    Metric(MetricError),
    Rows(RowsError),
}

impl From<MetricError> for Failed {
    fn from(error: MetricError) -> Self {
        Self::Metric(error)
    }
}

impl From<RowsError> for Failed {
    fn from(error: RowsError) -> Self {
        Self::Rows(error)
    }
}

/// The same for finite rows that need not be in memory.
pub(crate) fn separation_of(
    rows: &dyn Rows,
    labels: &[u32],
    centroids: MatrixRef<'_>,
) -> Result<Separation, Failed> {
    let sizes = check(rows, labels, centroids)?;
    let (k, d) = (centroids.rows(), rows.cols());
    let clustered: Vec<u32> =
        (0..rows.rows() as u32).filter(|&i| labels[i as usize] != NOISE).collect();
    let n = clustered.len();
    let m = n.min(MAX_ROWS);
    let sample: Vec<usize> = (0..m).map(|i| clustered[i * n / m] as usize).collect();
    let labels: Vec<u32> = sample.iter().map(|&i| labels[i]).collect();
    let x = rows.select(&sample)?;

    // A row's residual has 1 − 1/(size of its cluster) of the variance, as its centroid follows it.
    let freedom = m as f64 * n.saturating_sub(k) as f64 / n as f64;
    let residuals = Residuals { x: x.view(), labels: &labels, centroids };
    let variance = |sum: f64| if freedom > 0.0 { (sum / freedom).max(0.0) } else { 0.0 };
    let sigma = variance(residuals.largest_eigenvalue()).sqrt();
    let sigma_isotropic = (variance(residuals.sum_of_squares()) / d as f64).sqrt();

    let nearest = nearest_two(centroids);
    let delta = nearest.map(|(delta, _)| delta);
    let ratio = delta.filter(|_| sigma > 0.0).map(|delta| delta / sigma);
    let bound = delta.map(|delta| match ratio {
        Some(ratio) => (-ratio * ratio / 16.0).exp(),
        // No scatter at all: certain if the centroids differ, nothing known if they coincide.
        None => f64::from(u8::from(delta == 0.0)),
    });
    let smallest = sizes.iter().copied().min().unwrap_or(0) as f64;
    let (n, k) = (n as f64, k as f64);
    let alpha = k * smallest / n;
    let signal = match (delta, ratio) {
        (Some(delta), None) if delta > 0.0 => f64::INFINITY,
        (_, ratio) => ratio.unwrap_or(0.0) * (alpha / (1.0 + k * d as f64 / n)).sqrt(),
    };
    let applies = delta.is_some() && signal >= k.sqrt() && n * alpha * alpha >= k * n.ln();
    let between = nearest.map(|(_, between)| between);
    Ok(Separation { delta, between, sigma, sigma_isotropic, ratio, bound, applies })
}

/// The probability that one pair votes for the right link: both of its rows in the right cluster,
/// p = (1 − ε_X)(1 − ε_Y), as the sides are independent given the class.
pub fn pair_is_right(epsilon_x: f64, epsilon_y: f64) -> f64 {
    (1.0 - epsilon_x) * (1.0 - epsilon_y)
}

/// At least how probable it is that the majority of `pairs` votes, each right with probability `p`,
/// picks the right link: Pr[Binomial(pairs, p) > pairs / 2].
///
/// This is the worst case, in which all wrong votes agree on one wrong cluster and a tie is lost.
/// For p > ½ the remaining risk is below exp(−2 · pairs · (p − ½)²) (Hoeffding 1963): the reason
/// why a handful of pairs is enough once clusters are reliable. No pairs, no link: 0.
///
/// ```
/// use bridged::separation::{majority_is_right, pair_is_right};
/// let p = pair_is_right(0.05, 0.05); // 0.9025
/// assert_eq!(majority_is_right(1, p), p);
/// assert!(majority_is_right(3, p) > 0.97);
/// assert!(majority_is_right(5, p) > 0.99);
/// ```
pub fn majority_is_right(pairs: u32, p: f64) -> f64 {
    let p = p.clamp(0.0, 1.0);
    if pairs == 0 || p == 0.0 {
        return 0.0;
    }
    if p == 1.0 {
        return 1.0;
    }
    if pairs == 1 {
        return p;
    }
    // Weights relative to the most probable count, by the ratio of neighbours: no factorials.
    let mode = ((f64::from(pairs) + 1.0) * p).floor().min(f64::from(pairs)) as u32;
    let odds = p / (1.0 - p);
    let ratio = |m: u32| f64::from(pairs - m) / f64::from(m + 1) * odds; // P(m + 1) / P(m)
    let (mut all, mut right) = (0.0, 0.0);
    let mut add = |m: u32, weight: f64| {
        all += weight;
        if 2 * u64::from(m) > u64::from(pairs) {
            right += weight;
        }
    };
    add(mode, 1.0);
    let mut weight = 1.0;
    for m in mode..pairs {
        weight *= ratio(m);
        add(m + 1, weight);
    }
    weight = 1.0;
    for m in (0..mode).rev() {
        weight /= ratio(m);
        add(m, weight);
    }
    right / all
}

/// The sizes of the clusters, if everything fits together.
fn check(
    x: &dyn Rows,
    labels: &[u32],
    centroids: MatrixRef<'_>,
) -> Result<Vec<usize>, MetricError> {
    if labels.len() != x.rows() {
        let (got, need) = (labels.len(), x.rows());
        return Err(MetricError::Length { name: "labels", got, need });
    }
    if centroids.cols() != x.cols() {
        return Err(MetricError::Columns { got: centroids.cols(), need: x.cols() });
    }
    let mut sizes = vec![0usize; centroids.rows()];
    for (row, &label) in labels.iter().enumerate().filter(|(_, l)| **l != NOISE) {
        match sizes.get_mut(label as usize) {
            Some(size) => *size += 1,
            None => return Err(MetricError::BadLabel { row, label, k: sizes.len() }),
        }
    }
    match sizes.iter().sum() {
        0 => Err(MetricError::NoRows),
        _ if x.cols() == 0 => Err(MetricError::NoRows),
        _ => Ok(sizes),
    }
}

fn nearest_two(centroids: MatrixRef<'_>) -> Option<(f64, (u32, u32))> {
    let mut best: Option<(f64, (u32, u32))> = None;
    for b in 0..centroids.rows() {
        for a in 0..b {
            let distance = squared_distance(centroids.row(a), centroids.row(b)).sqrt();
            if best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, (a as u32, b as u32)));
            }
        }
    }
    best
}

/// R, rows minus their centroids; never stored.
struct Residuals<'a> {
    x: MatrixRef<'a>,
    labels: &'a [u32],
    centroids: MatrixRef<'a>,
}

impl Residuals<'_> {
    /// Adds up what `f(residual, sum)` makes of each residual, in a fixed order.
    fn fold(&self, width: usize, f: impl Fn(&[f64], &mut [f64]) + Sync) -> Vec<f64> {
        let partials = chunks::map_blocks(self.x.rows(), |range| {
            let mut sum = vec![0.0f64; width];
            let mut residual = vec![0.0f64; self.x.cols()];
            for i in range {
                let centroid = self.centroids.row(self.labels[i] as usize);
                for ((r, &v), &c) in residual.iter_mut().zip(self.x.row(i)).zip(centroid) {
                    *r = f64::from(v) - f64::from(c);
                }
                f(&residual, &mut sum);
            }
            sum
        });
        let mut total = vec![0.0f64; width];
        for partial in partials {
            total.iter_mut().zip(partial).for_each(|(t, p)| *t += p);
        }
        total
    }

    fn sum_of_squares(&self) -> f64 {
        self.fold(1, |r, sum| sum[0] += dot(r, r))[0]
    }

    /// RᵀR v.
    fn scatter_times(&self, v: &[f64]) -> Vec<f64> {
        self.fold(v.len(), |r, sum| {
            let along = dot(r, v);
            sum.iter_mut().zip(r).for_each(|(s, r)| *s += along * r);
        })
    }

    /// λ_max(RᵀR) by Lanczos' method with full reorthogonalisation: power iteration that keeps the
    /// best of all vectors it has seen, so round clusters with no widest direction converge too.
    fn largest_eigenvalue(&self) -> f64 {
        let d = self.x.cols();
        let mut rng = Seed(0).child("separation").rng();
        let mut v: Vec<f64> = (0..d).map(|_| rng.random::<f64>() - 0.5).collect();
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let (mut diagonal, mut beside) = (Vec::new(), Vec::new()); // α and β of the tridiagonal
        let mut found: Vec<f64> = Vec::new();
        let mut norm = dot(&v, &v).sqrt();
        while basis.len() < d.min(MAX_STEPS) {
            v.iter_mut().for_each(|a| *a /= norm);
            let mut next = self.scatter_times(&v);
            diagonal.push(dot(&next, &v));
            basis.push(v);
            // Twice is enough to keep the basis orthogonal to rounding.
            for other in basis.iter().chain(&basis) {
                let along = dot(&next, other);
                next.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
            let largest = largest_of_tridiagonal(&diagonal, &beside);
            found.push(largest);
            norm = dot(&next, &next).sqrt();
            let earlier = found.len().checked_sub(PATIENCE + 1).map(|at| found[at]);
            let settled = earlier.is_some_and(|e| largest - e <= TOL * largest);
            if settled || norm <= 1e-12 * largest {
                return largest;
            }
            beside.push(norm);
            v = next;
        }
        found.last().copied().unwrap_or(0.0)
    }
}

/// The largest eigenvalue of the symmetric tridiagonal matrix (α; β), by bisection on the number of
/// negative pivots of T − λI (Sturm's sequence).
fn largest_of_tridiagonal(alpha: &[f64], beta: &[f64]) -> f64 {
    let size = alpha.len();
    let radius = |i: usize| {
        let left = if i > 0 { beta[i - 1] } else { 0.0 };
        let right = if i + 1 < size { beta[i] } else { 0.0 };
        left + right
    };
    let mut high = (0..size).map(|i| alpha[i] + radius(i)).fold(f64::NEG_INFINITY, f64::max);
    let mut low = alpha.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all_below = |lambda: f64| {
        let mut pivot = 1.0;
        (0..size).all(|i| {
            let coupling = if i > 0 { beta[i - 1] * beta[i - 1] / pivot } else { 0.0 };
            pivot = alpha[i] - lambda - coupling;
            pivot < 0.0
        })
    };
    while high - low > 1e-9 * high.abs().max(f64::MIN_POSITIVE) {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if all_below(middle) { high = middle } else { low = middle }
    }
    high
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{AssignRule, Clustering, Metric};
    use crate::metrics::misclustering;
    use crate::synth::{Mixture, Pairs, Sizes};
    use bridged_math::Matrix;
    use bridged_math::distance::nearest;

    fn sizes(x: usize) -> Sizes {
        Sizes { x, y: 10, test: 0, pairs: Pairs::Stratified(1) }
    }

    fn centroids(x: &Matrix, labels: &[u32], k: usize) -> Matrix {
        let rule = AssignRule::Nearest { centres: Matrix::zeros(k, 1), metric: Metric::Euclidean };
        Clustering::from_labels(x.view(), labels.to_vec(), k, rule).centroids
    }

    #[test]
    fn the_nearest_mean_errs_less_than_the_bound_says() {
        for ratio in [4.0, 6.0, 8.0, 10.0] {
            let mixture = Mixture { separation: ratio, sigma: 0.7, ..Mixture::default() };
            let s = mixture.draw(sizes(20_000), Seed(ratio as u64));
            let labels = nearest(s.x.view(), s.means_x.view());
            let error = misclustering(&labels, &s.latent_x).unwrap();
            let found = separation(s.x.view(), &s.latent_x, s.means_x.view()).unwrap();
            let bound = found.bound.unwrap();
            assert!(error <= bound, "Δ/σ = {ratio}: ε = {error} but the bound is {bound}");
            // The estimate from the data is near the bound of the true Δ and σ.
            let true_bound = (-ratio * ratio / 16.0_f64).exp();
            assert!((bound.ln() / true_bound.ln() - 1.0).abs() < 0.15, "{bound} {true_bound}");
            assert!(found.applies);
        }
    }

    #[test]
    fn sigma_is_found_within_a_tenth_for_round_and_for_stretched_clusters() {
        let mixture = Mixture { sigma: 0.5, separation: 12.0, dim_x: 24, ..Mixture::default() };
        let mut s = mixture.draw(sizes(8_000), Seed(2));
        let c = centroids(&s.x, &s.latent_x, 5);
        let round = separation(s.x.view(), &s.latent_x, c.view()).unwrap();
        assert!((round.sigma / 0.5 - 1.0).abs() < 0.1, "{}", round.sigma);
        assert!((round.sigma_isotropic / 0.5 - 1.0).abs() < 0.02, "{}", round.sigma_isotropic);
        // Stretch the diagonal direction (1, 1)/√2 of the first two columns by 3.
        for i in 0..s.x.rows() {
            let row = s.x.row_mut(i);
            let along = row[0] + row[1];
            row[0] += along;
            row[1] += along;
        }
        let c = centroids(&s.x, &s.latent_x, 5);
        let stretched = separation(s.x.view(), &s.latent_x, c.view()).unwrap();
        assert!((stretched.sigma / 1.5 - 1.0).abs() < 0.1, "{}", stretched.sigma);
        let mean_square: f64 = (23.0 * 0.25 + 2.25) / 24.0;
        assert!((stretched.sigma_isotropic / mean_square.sqrt() - 1.0).abs() < 0.02);
    }

    #[test]
    fn the_largest_eigenvalue_agrees_with_a_long_power_iteration() {
        for (d, n) in [(1, 50), (2, 40), (7, 300), (40, 3000), (120, 600)] {
            let mixture = Mixture { classes: 3, dim_x: d, ..Mixture::default() };
            let s = mixture.draw(sizes(n), Seed(d as u64));
            let c = centroids(&s.x, &s.latent_x, 3);
            let residuals = Residuals { x: s.x.view(), labels: &s.latent_x, centroids: c.view() };
            let mut v: Vec<f64> = (0..d).map(|i| 1.0 + (i as f64 * 0.37).sin()).collect();
            let mut exact = 0.0;
            for _ in 0..2000 {
                let next = residuals.scatter_times(&v);
                exact = dot(&next, &next).sqrt();
                v = next.iter().map(|a| a / exact).collect();
            }
            let got = residuals.largest_eigenvalue();
            assert!((got / exact - 1.0).abs() < 1e-3, "d = {d}: {got}, not {exact}");
        }
    }

    #[test]
    fn the_two_nearest_clusters_are_named() {
        let x = Matrix::from_rows(&[[0.0f32, 0.0], [9.0, 0.0], [9.0, 4.0], [0.0, 0.2]]);
        let c = Matrix::from_rows(&[[0.0f32, 0.1], [9.0, 0.0], [9.0, 4.0]]);
        let found = separation(x.view(), &[0, 1, 2, 0], c.view()).unwrap();
        assert_eq!((found.delta, found.between), (Some(4.0), Some((1, 2))));
        assert!(!found.applies, "four rows promise nothing");
    }

    #[test]
    fn one_cluster_has_a_width_but_no_separation() {
        let s = Mixture { classes: 1, ..Mixture::default() }.draw(sizes(2000), Seed(3));
        let found = separation(s.x.view(), &s.latent_x, s.means_x.view()).unwrap();
        assert_eq!(
            (found.delta, found.between, found.ratio, found.bound),
            (None, None, None, None)
        );
        assert!(!found.applies);
        assert!((found.sigma - 1.0).abs() < 0.1);
    }

    #[test]
    fn rows_on_their_centroids_are_certain() {
        let x = Matrix::from_fn(60, 2, |i, _| (i % 2) as f32);
        let labels: Vec<u32> = (0..60).map(|i| i % 2).collect();
        let c = Matrix::from_rows(&[[0.0f32, 0.0], [1.0, 1.0]]);
        let found = separation(x.view(), &labels, c.view()).unwrap();
        assert_eq!((found.sigma, found.ratio, found.bound), (0.0, None, Some(0.0)));
        assert!(found.applies);
    }

    #[test]
    fn a_blurred_mixture_does_not_satisfy_the_theorem() {
        let mixture = Mixture { separation: 1.0, ..Mixture::default() };
        let s = mixture.draw(sizes(2000), Seed(4));
        let found = separation(s.x.view(), &s.latent_x, s.means_x.view()).unwrap();
        assert!(!found.applies && found.bound.unwrap() > 0.9);
    }

    #[test]
    fn noise_has_no_say_and_the_thread_count_neither() {
        let s = Mixture::default().draw(sizes(3000), Seed(5));
        let (mut x, mut labels) = (s.x.clone(), s.latent_x.clone());
        for i in (0..3000).step_by(10) {
            x.row_mut(i).fill(1e6);
            labels[i] = NOISE;
        }
        let kept = || (0..3000).filter(|i| i % 10 != 0);
        let clean = s.x.view().select(kept());
        let clean_labels: Vec<u32> = kept().map(|i| s.latent_x[i]).collect();
        let c = s.means_x.view();
        let with_noise = separation(x.view(), &labels, c).unwrap();
        assert_eq!(with_noise, separation(clean.view(), &clean_labels, c).unwrap());
        let threads = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        for n in [1, 4] {
            let again = threads(n).install(|| separation(x.view(), &labels, c).unwrap());
            assert_eq!(with_noise, again);
        }
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let (x, c) = (Matrix::zeros(3, 2), Matrix::zeros(2, 2));
        let refused = |labels: &[u32], c: &Matrix| separation(x.view(), labels, c.view());
        assert!(matches!(refused(&[0], &c), Err(MetricError::Length { .. })));
        assert!(matches!(refused(&[0, 1, 2], &c), Err(MetricError::BadLabel { row: 2, .. })));
        assert_eq!(refused(&[NOISE; 3], &c), Err(MetricError::NoRows));
        let wide = Matrix::zeros(2, 5);
        assert_eq!(refused(&[0; 3], &wide), Err(MetricError::Columns { got: 5, need: 2 }));
    }

    #[test]
    fn the_vote_is_right_as_often_as_in_a_simulation_of_the_worst_case() {
        let mut rng = Seed(6).rng();
        for (pairs, p) in [(1, 0.6), (2, 0.9), (3, 0.7), (4, 0.8), (7, 0.55), (7, 0.3)] {
            let trials = 40_000;
            let mut won = 0;
            let mut won_spread = 0;
            for _ in 0..trials {
                let (mut right, mut wrong) = (0u32, [0u32; 4]);
                for _ in 0..pairs {
                    if rng.random::<f64>() < p {
                        right += 1;
                    } else {
                        wrong[rng.random_range(0..4)] += 1;
                    }
                }
                won += u32::from(right > wrong.iter().sum());
                won_spread += u32::from(right > wrong.into_iter().max().unwrap_or(0));
            }
            let share = |won: u32| f64::from(won) / f64::from(trials);
            let promised = majority_is_right(pairs, p);
            assert!((share(won) - promised).abs() < 0.01, "{pairs} pairs, p = {p}: {promised}");
            // Wrong votes that spread over several clusters only help.
            assert!(share(won_spread) >= promised - 0.01);
        }
    }

    #[test]
    fn the_risk_of_the_vote_falls_as_hoeffding_says() {
        for p in [0.55, 0.7, 0.95] {
            for pairs in [1u32, 2, 5, 20, 301, 100_000] {
                let risk = 1.0 - majority_is_right(pairs, p);
                let hoeffding = (-2.0 * f64::from(pairs) * (p - 0.5) * (p - 0.5)).exp();
                assert!(risk <= hoeffding + 1e-12, "{pairs} pairs, p = {p}: {risk} > {hoeffding}");
            }
        }
        assert_eq!(majority_is_right(0, 0.9), 0.0);
        assert_eq!((majority_is_right(9, 0.0), majority_is_right(9, 1.0)), (0.0, 1.0));
        assert!(majority_is_right(1001, 0.4) < 1e-9);
    }
}
