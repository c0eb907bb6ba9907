//! Two-sided sub-Gaussian mixtures with known latent classes, for tests and examples.
//!
//! A row's class T is drawn with probabilities π; given T = t, the sides are independent (§3):
//!
//! ```text
//! X ~ N(μ_t^X, σ² I),   Y ~ N(μ_t^Y, σ² I),   min over t ≠ s of ‖μ_t − μ_s‖ = separation · σ
//! ```
//!
//! on each side. Where a side has at least as many columns as there are classes, the means are the
//! corners of a regular simplex in a random position, so that *all* distances are equal; otherwise
//! they are spread points of which the two nearest are at that distance. Every part draws from its
//! own named stream: asking for more test rows leaves the pools as they were.

use crate::metrics::{MetricError, mse};
use bridged_math::distance::squared_distance;
use bridged_math::seed::Rng;
use bridged_math::{Matrix, Seed};
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// How often each latent class occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// Every class has the same number of rows, or one more: the data sets of the paper.
    #[default]
    Balanced,
    /// Each row's class is drawn at random, all equally likely.
    Equal,
    /// Each row's class is drawn at random, the t-th with probability proportional to 1/t.
    Zipf,
}

/// How the classes of the known pairs come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Exactly this many pairs of every class: the experiments of the paper.
    Stratified(usize),
    /// This many pairs in all, each of a random class: the theory of the paper.
    Iid(usize),
}

/// A distribution over (x, y, latent class).
///
/// ```
/// use bridged::Seed;
/// use bridged::synth::{Mixture, Pairs, Sizes};
/// let mixture = Mixture { classes: 3, separation: 10.0, ..Mixture::default() };
/// let sizes = Sizes { x: 120, y: 90, test: 30, pairs: Pairs::Stratified(2) };
/// let sample = mixture.draw(sizes, Seed(1));
/// assert_eq!(sample.pairs.len(), 6);
/// for &(i, j) in &sample.pairs {
///     assert_eq!(sample.latent_x[i as usize], sample.latent_y[j as usize]);
/// }
/// // No method can beat the true class means by much: their error is the noise, σ² = 1.
/// assert!((sample.oracle_mse()? - 1.0).abs() < 0.3);
/// # Ok::<(), bridged::metrics::MetricError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mixture {
    /// C, the number of latent classes.
    pub classes: usize,
    /// d, the columns of x.
    pub dim_x: usize,
    /// d', the columns of y.
    pub dim_y: usize,
    /// Δ/σ: the smallest distance of two class means, in units of `sigma`, on each side.
    pub separation: f64,
    /// σ, the standard deviation of the noise in every column.
    pub sigma: f64,
    /// π, how often each class occurs.
    pub weights: Weights,
}

impl Default for Mixture {
    fn default() -> Self {
        let weights = Weights::default();
        Self { classes: 5, dim_x: 16, dim_y: 12, separation: 8.0, sigma: 1.0, weights }
    }
}

/// How much to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Rows of the input pool, the paired ones among them.
    pub x: usize,
    /// Rows of the output pool, the paired ones among them.
    pub y: usize,
    /// Aligned rows to test on.
    pub test: usize,
    /// The known pairs.
    pub pairs: Pairs,
}

/// What was drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The input pool.
    pub x: Matrix,
    /// The output pool.
    pub y: Matrix,
    /// The latent class of each row of `x`.
    pub latent_x: Vec<u32>,
    /// The latent class of each row of `y`.
    pub latent_y: Vec<u32>,
    /// The known pairs: (row of `x`, row of `y`), every row at most once.
    pub pairs: Vec<(u32, u32)>,
    /// Inputs to test on; row i belongs to row i of `test_y`.
    pub test_x: Matrix,
    /// Their true outputs.
    pub test_y: Matrix,
    /// Their latent classes.
    pub test_latent: Vec<u32>,
    /// μ^X, (C, d).
    pub means_x: Matrix,
    /// μ^Y, (C, d').
    pub means_y: Matrix,
}

impl Mixture {
    /// Draws both pools, the pairs and the test rows.
    ///
    /// # Panics
    /// If there are no classes or columns, or more pairs than rows in a pool; this is for tests.
    pub fn draw(&self, sizes: Sizes, seed: Seed) -> Sample {
        assert!(self.classes > 0 && self.dim_x > 0 && self.dim_y > 0, "classes and columns exist");
        let paired = self.pair_classes(sizes.pairs, seed.child("pairs"));
        let pool = |n: usize, dim: usize, seed: Seed| {
            assert!(paired.len() <= n, "the pairs are among the rows of each pool");
            let means = means(self.classes, dim, self.separation * self.sigma, seed.child("means"));
            let drawn = self.classes_of(n, &paired, seed.child("classes"));
            let mut place: Vec<usize> = (0..n).collect();
            place.shuffle(&mut seed.child("order").rng());
            let mut latent = vec![0; n];
            place.iter().zip(drawn).for_each(|(&row, class)| latent[row] = class);
            let rows = self.rows_of(&latent, &means, seed.child("noise"));
            (rows, latent, place, means)
        };
        let (x, latent_x, place_x, means_x) = pool(sizes.x, self.dim_x, seed.child("x"));
        let (y, latent_y, place_y, means_y) = pool(sizes.y, self.dim_y, seed.child("y"));
        let pairs = (0..paired.len()).map(|i| (place_x[i] as u32, place_y[i] as u32)).collect();
        let test = seed.child("test");
        let test_latent = self.classes_of(sizes.test, &[], test.child("classes"));
        let test_x = self.rows_of(&test_latent, &means_x, test.child("x"));
        let test_y = self.rows_of(&test_latent, &means_y, test.child("y"));
        Sample { x, y, latent_x, latent_y, pairs, test_x, test_y, test_latent, means_x, means_y }
    }

    fn pair_classes(&self, pairs: Pairs, seed: Seed) -> Vec<u32> {
        let mut rng = seed.rng();
        match pairs {
            Pairs::Stratified(each) => {
                (0..self.classes as u32).flat_map(|t| std::iter::repeat_n(t, each)).collect()
            }
            Pairs::Iid(pairs) => (0..pairs).map(|_| self.random_class(&mut rng)).collect(),
        }
    }

    /// The classes of n rows, of which the first are given.
    fn classes_of(&self, n: usize, given: &[u32], seed: Seed) -> Vec<u32> {
        let mut rng = seed.rng();
        let mut classes = given.to_vec();
        let mut sizes = vec![0usize; self.classes];
        given.iter().for_each(|&t| sizes[t as usize] += 1);
        while classes.len() < n {
            let t = match self.weights {
                Weights::Balanced => {
                    let least = (0..self.classes).min_by_key(|&t| sizes[t]);
                    least.expect("there are classes: draw checked") as u32
                }
                Weights::Equal | Weights::Zipf => self.random_class(&mut rng),
            };
            sizes[t as usize] += 1;
            classes.push(t);
        }
        classes
    }

    fn random_class(&self, rng: &mut Rng) -> u32 {
        let weight = |t: usize| match self.weights {
            Weights::Balanced | Weights::Equal => 1.0,
            Weights::Zipf => 1.0 / (t + 1) as f64,
        };
        let mut left = rng.random::<f64>() * (0..self.classes).map(weight).sum::<f64>();
        for t in 0..self.classes - 1 {
            left -= weight(t);
            if left < 0.0 {
                return t as u32;
            }
        }
        self.classes as u32 - 1
    }

    fn rows_of(&self, latent: &[u32], means: &Matrix, seed: Seed) -> Matrix {
        let mut normals = Normals::new(seed);
        Matrix::from_fn(latent.len(), means.cols(), |i, j| {
            let mean = f64::from(means.row(latent[i] as usize)[j]);
            (mean + self.sigma * normals.draw()) as f32
        })
    }
}

impl Sample {
    /// What someone who knew the class of every test row and the true means would predict.
    pub fn oracle(&self) -> Matrix {
        self.means_y.view().select(self.test_latent.iter().map(|&t| t as usize))
    }

    /// The mean squared error of [`Sample::oracle`]: σ² in expectation, which no method improves on.
    pub fn oracle_mse(&self) -> Result<f64, MetricError> {
        mse(self.oracle().view(), self.test_y.view())
    }
}

/// `classes` points of which the two nearest are exactly `gap` apart (to `f32` rounding).
fn means(classes: usize, dim: usize, gap: f64, seed: Seed) -> Matrix {
    let mut normals = Normals::new(seed);
    let mut points = Matrix::zeros(classes, dim);
    if dim >= classes {
        let mut basis: Vec<Vec<f64>> = Vec::with_capacity(classes);
        while basis.len() < classes {
            let mut v: Vec<f64> = (0..dim).map(|_| normals.draw()).collect();
            // Twice, so that rounding in the first round is repaired in the second.
            for other in basis.iter().chain(&basis) {
                let along: f64 = v.iter().zip(other).map(|(a, b)| a * b).sum();
                v.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
            let norm = v.iter().map(|a| a * a).sum::<f64>().sqrt();
            if norm > 1e-6 {
                v.iter_mut().for_each(|a| *a /= norm);
                basis.push(v);
            }
        }
        for (t, v) in basis.iter().enumerate() {
            let scaled = v.iter().map(|a| (a * gap / 2f64.sqrt()) as f32);
            points.row_mut(t).iter_mut().zip(scaled).for_each(|(p, a)| *p = a);
        }
        return points;
    }
    // The farthest of some candidates from the points so far: plain draws would put two of them so
    // close that all others end up absurdly far apart once the gap is scaled.
    const CANDIDATES: usize = 32;
    for t in 0..classes {
        let mut best = f64::NEG_INFINITY;
        for _ in 0..CANDIDATES {
            let candidate: Vec<f32> = (0..dim).map(|_| normals.draw() as f32).collect();
            let distances = (0..t).map(|s| squared_distance(&candidate, points.row(s)));
            let nearest = distances.fold(f64::INFINITY, f64::min);
            if nearest > best {
                best = nearest;
                points.row_mut(t).copy_from_slice(&candidate);
            }
        }
    }
    let least = (0..classes)
        .flat_map(|t| (0..t).map(move |s| (s, t)))
        .map(|(s, t)| squared_distance(points.row(s), points.row(t)))
        .fold(f64::INFINITY, f64::min);
    points.data_mut().iter_mut().for_each(|p| *p = (f64::from(*p) * gap / least.sqrt()) as f32);
    points
}

/// Standard normal deviates by Marsaglia's polar method.
struct Normals {
    rng: Rng,
    spare: Option<f64>,
}

impl Normals {
    fn new(seed: Seed) -> Self {
        Self { rng: seed.rng(), spare: None }
    }

    fn draw(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) =
                (2.0 * self.rng.random::<f64>() - 1.0, 2.0 * self.rng.random::<f64>() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let factor = (-2.0 * s.ln() / s).sqrt();
                self.spare = Some(v * factor);
                return u * factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(means: &Matrix) -> Vec<f64> {
        (0..means.rows())
            .flat_map(|t| (0..t).map(move |s| (s, t)))
            .map(|(s, t)| squared_distance(means.row(s), means.row(t)).sqrt())
            .collect()
    }

    const SIZES: Sizes = Sizes { x: 700, y: 500, test: 4000, pairs: Pairs::Stratified(3) };

    #[test]
    fn the_nearest_means_are_exactly_the_separation_apart() {
        for (classes, dim) in [(2, 1), (7, 1), (7, 2), (5, 4), (5, 5), (7, 64), (30, 8)] {
            let gaps = gaps(&means(classes, dim, 6.0, Seed(classes as u64)));
            let least = gaps.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((least - 6.0).abs() < 1e-4, "{classes} classes in {dim} columns: {least}");
            if dim >= classes {
                assert!(gaps.iter().all(|g| (g - 6.0).abs() < 1e-4));
            }
        }
    }

    #[test]
    fn deviates_have_the_moments_of_a_standard_normal() {
        let mut normals = Normals::new(Seed(3));
        let draws: Vec<f64> = (0..200_000).map(|_| normals.draw()).collect();
        let moment = |p: i32| draws.iter().map(|z| z.powi(p)).sum::<f64>() / 200_000.0;
        assert!(moment(1).abs() < 0.01 && moment(3).abs() < 0.05);
        assert!((moment(2) - 1.0).abs() < 0.02 && (moment(4) - 3.0).abs() < 0.1);
    }

    #[test]
    fn rows_scatter_around_their_class_mean_by_sigma() {
        let mixture = Mixture { sigma: 2.5, ..Mixture::default() };
        let s = mixture.draw(SIZES, Seed(4));
        let own_mean = s.means_x.view().select(s.latent_x.iter().map(|&t| t as usize));
        let variance = mse(own_mean.view(), s.x.view()).unwrap();
        assert!((variance - 6.25).abs() < 0.25, "{variance}");
        assert!((s.oracle_mse().unwrap() - 6.25).abs() < 0.25);
    }

    #[test]
    fn given_the_class_the_two_sides_are_independent() {
        let s = Mixture::default().draw(SIZES, Seed(5));
        let (mean_x, mean_y) =
            (s.means_x.view().select(s.test_latent.iter().map(|&t| t as usize)), s.oracle());
        let n = s.test_latent.len();
        let covariance: f64 = (0..n)
            .map(|i| {
                f64::from(s.test_x.row(i)[0] - mean_x.row(i)[0])
                    * f64::from(s.test_y.row(i)[0] - mean_y.row(i)[0])
            })
            .sum::<f64>()
            / n as f64;
        assert!(covariance.abs() < 4.0 / (n as f64).sqrt());
    }

    #[test]
    fn balanced_classes_differ_by_one_row_at_most_and_zipf_falls() {
        let count = |latent: &[u32]| {
            (0..5).map(|t| latent.iter().filter(|&&l| l == t).count()).collect::<Vec<_>>()
        };
        let balanced = Mixture::default().draw(Sizes { x: 703, ..SIZES }, Seed(6));
        let sizes = count(&balanced.latent_x);
        assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        let zipf = Mixture { weights: Weights::Zipf, ..Mixture::default() };
        let sizes = count(&zipf.draw(Sizes { x: 20_000, ..SIZES }, Seed(6)).latent_x);
        assert!(sizes.windows(2).all(|w| w[0] > w[1]));
        let share = sizes[0] as f64 / 20_000.0; // 1 / (1 + 1/2 + … + 1/5) = 0.438
        assert!((share - 0.438).abs() < 0.02, "{share}");
    }

    #[test]
    fn pairs_join_rows_of_one_class_and_use_each_row_once() {
        for (pairs, many) in [(Pairs::Stratified(4), 20), (Pairs::Iid(33), 33)] {
            for weights in [Weights::Balanced, Weights::Equal, Weights::Zipf] {
                let mixture = Mixture { weights, ..Mixture::default() };
                let s = mixture.draw(Sizes { pairs, ..SIZES }, Seed(7));
                assert_eq!(s.pairs.len(), many);
                let classes =
                    |(i, j): &(u32, u32)| (s.latent_x[*i as usize], s.latent_y[*j as usize]);
                assert!(s.pairs.iter().map(classes).all(|(a, b)| a == b));
                let mut rows: Vec<u32> = s.pairs.iter().map(|p| p.0).collect();
                rows.sort_unstable();
                rows.dedup();
                assert_eq!(rows.len(), many);
                if let Pairs::Stratified(each) = pairs {
                    let of = |t: u32| s.pairs.iter().filter(|p| classes(p).0 == t).count();
                    assert!((0..5).all(|t| of(t) == each));
                }
            }
        }
    }

    #[test]
    fn more_test_rows_leave_the_pools_as_they_were() {
        let mixture = Mixture::default();
        let (few, many) = (
            mixture.draw(Sizes { test: 10, ..SIZES }, Seed(8)),
            mixture.draw(Sizes { test: 99, ..SIZES }, Seed(8)),
        );
        assert_eq!((few.x, few.y, few.pairs), (many.x, many.y, many.pairs));
        assert_ne!(mixture.draw(SIZES, Seed(9)).means_x, many.means_x);
    }
}
