//! Whether rows were given to the wrong side: those of y where rows of x are asked for.
//!
//! Where both sides have as many columns, nothing else tells. Each side is taken for a mixture of equal spheres around its
//! centroids, R² being the mean squared distance of its pool, and each row is asked which of the two is denser there:
//!
//! ```text
//! g = ln(R_x² / R_y²) + d_x² / R_x² − d_y² / R_y²        d: the distance to the centroid of the row's cluster
//! ```
//!
//! which is 2/d times the logarithm of the densities' ratio. For rows of x its mean is at most 0 (1 + ln t ≤ t), for rows
//! of y at least 0, also where one side lies inside the other. Rows far from both would be given to the wider side; so the
//! output side must find them ordinary, too: a [p-value](crate::novelty) is uniform for rows that come like the pool's.

use crate::model::{BridgedModel, Direction};
use crate::scale::Scaler;
use crate::side::Side;
use bridged_math::distance::squared_distance;
use bridged_math::{Matrix, MatrixRef};

/// Rows that are looked at, evenly spaced.
const LOOKED_AT: usize = 256;
/// A median g above this is clear.
const CLEAR: f64 = 0.5;
/// Rows with a median p of at least this are ordinary.
const ORDINARY: f64 = 0.05;

impl BridgedModel {
    /// Whether these rows look like the output of a direction rather than its input. Never so where the sides have
    /// different columns or are scaled, or where a pool has one row.
    pub fn looks_swapped(&self, direction: Direction, rows: MatrixRef<'_>) -> bool {
        let (from, to) = (self.from(direction), self.to(direction));
        let plain = |side: &Side| matches!(side.scaler, Scaler::None) && side.cols() == rows.cols();
        if !plain(from) || !plain(to) || rows.rows() == 0 {
            return false;
        }
        let step = rows.rows().div_ceil(LOOKED_AT);
        let rows = rows.select((0..rows.rows()).step_by(step));
        let raised = from.offset().raise_rows(rows.view());
        let entry = |i: usize, j: usize| to.offset().lower(j, raised[i * rows.cols() + j]);
        let as_output = Matrix::from_fn(rows.rows(), rows.cols(), entry);
        let (input, output) = (from.beside(rows.view()), to.beside(as_output.view()));
        let g = input.iter().zip(&output).map(|(x, y)| y.density - x.density);
        let p_values = output.iter().map(|y| y.p_value);
        median(g).is_some_and(|g| g > CLEAR) && median(p_values).is_some_and(|p| p >= ORDINARY)
    }
}

/// A row beside the pool of a side.
struct Beside {
    /// −ln R² − d²/R².
    density: f64,
    p_value: f64,
}

impl Side {
    /// Rows beside the pool of this side; none if it does not know how far its own rows lie, or they lie nowhere.
    fn beside(&self, rows: MatrixRef<'_>) -> Vec<Beside> {
        let Some(novelty) = &self.novelty else { return Vec::new() };
        let labels = self.clustering.assign(rows);
        let p_values = novelty.p_values(&self.clustering, rows, &labels);
        let of = |sum: f64, (&n, radius): (&u32, &f64)| sum + f64::from(n) * radius * radius;
        let count: f64 = self.sizes().iter().map(|&n| f64::from(n)).sum();
        let spread = self.sizes().iter().zip(&self.radii).fold(0.0, of) / count;
        if spread.is_nan() || spread <= 0.0 {
            return Vec::new();
        }
        let row = |(i, p_value): (usize, f64)| {
            let centroid = labels[i] as usize;
            let inside = centroid < self.k(); // noise has no centroid
            let squared = inside.then(|| squared_distance(rows.row(i), self.values.row(centroid)));
            let density = squared.map_or(f64::NEG_INFINITY, |d| -spread.ln() - d / spread);
            Beside { density, p_value }
        };
        p_values.into_iter().enumerate().map(row).collect()
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|v| !v.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;
    use crate::settings::BridgedClustering;
    use bridged_math::{Seed, Silent};

    /// Rows around two centres, `at` from the origin and `wide` apart.
    fn pool(at: f32, wide: f32, rows: usize) -> Matrix {
        let noise = |i: usize, j: usize| ((i * 37 + j * 101) % 17) as f32 / 17.0 - 0.5;
        Matrix::from_fn(rows, 4, |i, j| at + wide * (i % 2) as f32 + noise(i, j))
    }

    #[test]
    fn rows_of_the_other_side_are_recognised_and_own_rows_are_not() {
        // y lies beside x, and y lies inside x.
        for y in [pool(3.0, -9.0, 80), inside()] {
            check(&pool(0.0, 6.0, 60), &y);
        }
    }

    fn inside() -> Matrix {
        let rows = pool(0.0, 6.0, 80);
        Matrix::from_fn(80, 4, |i, j| 3.0 + rows.row(i)[j] / 60.0)
    }

    fn check(x: &Matrix, y: &Matrix) {
        let pairs: Vec<(u32, u32)> = (0..8).map(|i| (i, i)).collect();
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let model = BridgedClustering::with_k(2).fit(problem, Seed(0), &Silent).unwrap();
        for (direction, own, other) in [(Direction::Forward, x, y), (Direction::Reverse, y, x)] {
            assert!(model.looks_swapped(direction, other.view()));
            assert!(!model.looks_swapped(direction, own.view()));
        }
        assert!(
            !model.looks_swapped(Direction::Forward, pool(100.0, 1.0, 9).view()),
            "like neither"
        );
    }
}
