//! What EM is fitted to: rows on the principal axes of their pool, and which rows share a draw of
//! the latent class.
//!
//! ```text
//! z = V (x − m) / s,    V the first q principal components,   s² their mean variance
//! ```

use bridged::MatrixRef;
use bridged::Problem;
use bridged_math::cancel::carry;
use bridged_math::linalg::pca;
use rayon::prelude::*;

/// The most principal components that `pca` takes by itself.
pub(super) const MOST_DIMENSIONS: usize = 8;

/// The principal axes of a pool, scaled so that its mean variance along them is 1.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    /// The mean of the pool, (d).
    pub mean: Vec<f64>,
    directions: Vec<f64>, // (q, d), divided by the scale
    /// How many there are.
    pub q: usize,
}

impl Axes {
    /// The first of them, at most as many as the pool has; unless a number is given, 8.
    pub fn fit(pool: MatrixRef<'_>, components: Option<usize>) -> Self {
        let most = pool.cols().min(pool.rows().saturating_sub(1)).max(1);
        let q = components.unwrap_or(MOST_DIMENSIONS).min(most);
        let fitted = pca(pool, q);
        let scale = (fitted.explained_variance.iter().sum::<f64>() / q as f64).sqrt();
        // The rest of rounding around a mean is no scale.
        let size = fitted.mean.iter().fold(0.0f64, |a, m| a.max(m.abs()));
        let scale = if scale > 1e-6 * size && scale > 1e-30 { scale } else { f64::INFINITY };
        let directions = fitted.components.data().iter().map(|&v| f64::from(v) / scale).collect();
        Self { mean: fitted.mean, directions, q }
    }

    /// (rows, q); a row's result has nothing to do with the others.
    pub fn apply(&self, rows: MatrixRef<'_>) -> Vec<f64> {
        let d = self.mean.len();
        let mut out = vec![0.0; rows.rows() * self.q];
        let project = |(out, row): (&mut [f64], &[f32])| {
            let centred: Vec<f64> =
                row.iter().zip(&self.mean).map(|(&v, m)| f64::from(v) - m).collect();
            for (o, axis) in out.iter_mut().zip(self.directions.chunks_exact(d)) {
                *o = axis.iter().zip(&centred).map(|(a, v)| a * v).sum();
            }
        };
        out.par_chunks_mut(self.q).zip(rows.data().par_chunks(d)).for_each(carry(project));
        out
    }
}

/// Which rows share a draw of the latent class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    /// The unit of each row of x.
    pub of_x: Vec<u32>,
    /// The unit of each row of y.
    pub of_y: Vec<u32>,
    /// How many there are.
    pub count: usize,
}

impl Units {
    /// The rows that pairs join, directly or through others; every other row on its own.
    pub fn of(problem: Problem<'_>) -> Self {
        let n = problem.x.rows();
        let mut parent: Vec<usize> = (0..n + problem.y.rows()).collect();
        fn root(parent: &mut [usize], mut i: usize) -> usize {
            while parent[i] != i {
                parent[i] = parent[parent[i]];
                i = parent[i];
            }
            i
        }
        for (x, y) in problem.pairs.iter() {
            let (a, b) = (root(&mut parent, x), root(&mut parent, n + y));
            parent[a.max(b)] = a.min(b);
        }
        // A root is the first of its rows, so it has its number before they ask for it.
        let (mut number, mut count) = (vec![0u32; parent.len()], 0);
        for i in 0..parent.len() {
            let first = root(&mut parent, i);
            if first == i {
                number[i] = count;
                count += 1;
            } else {
                number[i] = number[first];
            }
        }
        let of_y = number.split_off(n);
        Self { of_x: number, of_y, count: count as usize }
    }
}

/// The rows of a side, (n, q), and the unit of each.
#[derive(Clone, Debug)]
pub(crate) struct UnitRows<'a> {
    pub data: &'a [f64],
    pub q: usize,
    pub unit: &'a [u32],
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Matrix;

    #[test]
    fn projected_pools_have_mean_zero_and_mean_variance_one_and_constant_ones_vanish() {
        let x = Matrix::from_fn(40, 12, |i, j| 50.0 + ((i * (j + 3)) % 17) as f32 * 1e-3);
        for (components, q) in [(None, 8), (Some(3), 3), (Some(99), 12)] {
            let axes = Axes::fit(x.view(), components);
            let z = axes.apply(x.view());
            assert_eq!((axes.q, z.len()), (q, 40 * q));
            let mean = z.iter().sum::<f64>() / z.len() as f64;
            let square = z.iter().map(|v| v * v).sum::<f64>() / (39 * q) as f64;
            assert!(mean.abs() < 1e-6 && (square - 1.0).abs() < 1e-3, "{mean} {square}");
        }
        let constant = Matrix::from_fn(5, 3, |_, _| 0.1);
        assert_eq!(Axes::fit(constant.view(), None).apply(constant.view()), [0.0; 15]);
        let single = constant.view().slice(0..1);
        assert_eq!(Axes::fit(single, None).apply(single), [0.0]);
    }

    #[test]
    fn rows_that_pairs_join_share_a_unit_and_every_row_has_one() {
        let (x, y) = (Matrix::zeros(5, 1), Matrix::zeros(4, 1));
        let pairs = [(1, 0), (1, 2), (4, 2), (3, 3)];
        let units = Units::of(Problem::new(x.view(), y.view(), &pairs));
        assert_eq!(units.of_x, [0, 1, 2, 3, 1]);
        assert_eq!(units.of_y, [1, 4, 1, 3]);
        assert_eq!(units.count, 5);
    }
}
