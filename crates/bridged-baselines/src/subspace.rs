//! The principal components of a pool, as the place where a linear method looks.

use bridged::MatrixRef;
use bridged::settings::Number;
use bridged_math::linalg::{Accum, View, par_product, pca, pca_memory};
use serde::{Deserialize, Serialize};

/// How many principal components of a pool are kept before a linear map is fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Components {
    /// As few as hold 90 % of the pool's variance: what varies less is mostly noise.
    #[default]
    Auto,
    /// No PCA: every column as it is.
    All,
    /// So many, or all columns if they are fewer.
    Count(usize),
}

impl Components {
    /// The bytes that the subspace of a pool with these rows and columns takes to be found.
    pub(crate) fn memory(self, (rows, cols): (usize, usize)) -> f64 {
        match self {
            Components::All => 8.0 * rows as f64 * cols as f64,
            Components::Auto | Components::Count(_) => {
                pca_memory(rows, cols) + 8.0 * rows.min(cols) as f64 * cols as f64
            }
        }
    }
}

impl Number for Components {
    fn number(&self) -> Option<f64> {
        match self {
            Components::Auto | Components::All => None,
            Components::Count(count) => Some(*count as f64),
        }
    }
}

/// The share of a pool's variance that [`Components::Auto`] keeps.
const SHARE: f64 = 0.9;

/// Orthonormal directions of a pool, and how far its rows lie from their mean along them.
pub(crate) struct Subspace {
    /// (kept, d); none for all columns as they are.
    directions: Option<Vec<f64>>,
    cols: usize,
    /// The mean squared distance of a row of the pool from the pool's mean, inside the subspace.
    pub spread: f64,
}

impl Subspace {
    /// Of a pool.
    pub fn of(pool: MatrixRef<'_>, components: Components) -> Self {
        let (n, cols) = (pool.rows(), pool.cols());
        let wanted = match components {
            Components::All => {
                let spread = spread(pool);
                return Self { directions: None, cols, spread };
            }
            Components::Auto => n.saturating_sub(1).clamp(1, cols),
            Components::Count(count) => count,
        };
        let pca = pca(pool, wanted);
        let variance = &pca.explained_variance;
        let total: f64 = variance.iter().sum();
        let kept = match components {
            Components::Auto => {
                let mut sum = 0.0;
                let below = |v: &&f64| {
                    sum += **v;
                    sum < SHARE * total
                };
                (variance.iter().take_while(below).count() + 1).min(variance.len())
            }
            _ => variance.len(),
        };
        let directions = (0..kept).flat_map(|j| pca.components.row(j)).map(|&v| f64::from(v));
        // The variances of PCA have the divisor n − 1.
        let spread = variance[..kept].iter().sum::<f64>() * (n - 1) as f64 / n as f64;
        Self { directions: Some(directions.collect()), cols, spread }
    }

    /// How many directions there are.
    pub fn len(&self) -> usize {
        self.directions.as_ref().map_or(self.cols, |v| v.len() / self.cols)
    }

    /// Coordinates of `rows` (n, d) along the directions, (n, kept).
    pub fn project(&self, rows: Vec<f64>) -> Vec<f64> {
        let n = rows.len() / self.cols;
        match &self.directions {
            None => rows,
            Some(v) => times(&rows, n, View::new(v, self.len(), self.cols).t(), self.len()),
        }
    }

    /// Directions that are given in coordinates, (k, kept), as directions of the data, (k, d).
    pub fn lift(&self, coordinates: &[f64]) -> Vec<f64> {
        let k = coordinates.len() / self.len();
        match &self.directions {
            None => coordinates.to_vec(),
            Some(v) => times(coordinates, k, View::new(v, self.len(), self.cols), self.cols),
        }
    }
}

/// x − mean, in `f64`.
pub(crate) fn centred(x: MatrixRef<'_>, mean: &[f64]) -> Vec<f64> {
    x.iter_rows().flat_map(|r| r.iter().zip(mean).map(|(&v, m)| f64::from(v) - m)).collect()
}

/// A · B, row-major, for A with `rows` rows and B with `columns` columns, in parallel.
pub(crate) fn times(a: &[f64], rows: usize, b: View<'_>, columns: usize) -> Vec<f64> {
    let mut out = vec![0.0; rows * columns];
    par_product(View::new(a, rows, a.len() / rows.max(1)), b, Accum::Replace, &mut out);
    out
}

/// The mean squared distance of a row from the mean of all.
pub(crate) fn spread(pool: MatrixRef<'_>) -> f64 {
    let rows = centred(pool, &pool.mean_row());
    rows.iter().map(|v| v * v).sum::<f64>() / pool.rows() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::{Matrix, Seed};
    use rand::RngExt;

    #[test]
    fn auto_keeps_the_components_that_hold_nine_tenths_of_the_variance() {
        let mut rng = Seed(2).rng();
        let deviations = [3.0, 2.0, 0.5, 0.5, 0.5];
        let pool = Matrix::from_fn(500, 5, |_, j| deviations[j] * (rng.random::<f32>() - 0.5));
        let all = Subspace::of(pool.view(), Components::All);
        let auto = Subspace::of(pool.view(), Components::Auto);
        assert_eq!((all.len(), auto.len()), (5, 2));
        assert!(auto.spread > SHARE * all.spread && auto.spread < all.spread);
        let same = Subspace::of(Matrix::zeros(3, 4).view(), Components::Auto);
        assert_eq!((same.len(), same.spread), (1, 0.0));
    }

    #[test]
    fn lifted_coordinates_are_the_projection_onto_the_subspace() {
        let mut rng = Seed(3).rng();
        let pool = Matrix::from_fn(40, 6, |_, j| rng.random::<f32>() / (j + 1) as f32);
        let subspace = Subspace::of(pool.view(), Components::Count(6));
        let rows = centred(pool.view(), &pool.view().mean_row());
        let back = subspace.lift(&subspace.project(rows.clone()));
        assert!(back.iter().zip(&rows).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}
