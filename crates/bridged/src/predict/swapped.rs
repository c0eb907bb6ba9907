//! Whether rows were given to the wrong side: those of y where rows of x are asked for.
//!
//! Where both sides have as many columns, nothing else tells. A row that comes like those of a pool has a
//! [p-value](crate::novelty) that is uniform, so the median of many is near a half. Rows are called swapped if their
//! median is low beside the pool that they were given for and much higher beside the other one.

use crate::model::{BridgedModel, Direction};
use crate::side::Side;
use bridged_math::{Matrix, MatrixRef};

/// Rows that are looked at, evenly spaced.
const LOOKED_AT: usize = 256;
/// A median of p below this is low.
const LOW: f64 = 0.1;
/// How many times higher it must be beside the other pool.
const HIGHER: f64 = 4.0;

impl BridgedModel {
    /// Whether these rows look like the output of a direction rather than its input. Never so where the sides have
    /// different columns, or a pool has one row.
    pub fn looks_swapped(&self, direction: Direction, rows: MatrixRef<'_>) -> bool {
        let (from, to) = (self.from(direction), self.to(direction));
        if from.cols() != to.cols() || rows.cols() != from.cols() || rows.rows() == 0 {
            return false;
        }
        let step = rows.rows().div_ceil(LOOKED_AT);
        let rows = rows.select((0..rows.rows()).step_by(step));
        let raised = from.offset().raise_rows(rows.view());
        let entry = |i: usize, j: usize| to.offset().lower(j, raised[i * rows.cols() + j]);
        let as_output = Matrix::from_fn(rows.rows(), rows.cols(), entry);
        match (from.median_p_value(rows.view()), to.median_p_value(as_output.view())) {
            (Some(input), Some(output)) => input < LOW && output > HIGHER * input,
            _ => false,
        }
    }
}

impl Side {
    /// The median p-value of rows beside the pool of this side; none if it knows none.
    fn median_p_value(&self, rows: MatrixRef<'_>) -> Option<f64> {
        let novelty = self.novelty.as_ref()?;
        let scaled = self.scaler.apply(rows);
        let labels = self.clustering.assign(scaled.view());
        let mut p_values = novelty.p_values(&self.clustering, scaled.view(), &labels);
        p_values.sort_by(f64::total_cmp);
        p_values.get(p_values.len() / 2).copied()
    }
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
        let (x, y) = (pool(0.0, 6.0, 60), pool(3.0, -9.0, 80));
        let pairs: Vec<(u32, u32)> = (0..8).map(|i| (i, i)).collect();
        let problem = Problem::new(x.view(), y.view(), &pairs);
        let model = BridgedClustering::with_k(2).fit(problem, Seed(0), &Silent).unwrap();
        for (direction, own, other) in [(Direction::Forward, &x, &y), (Direction::Reverse, &y, &x)]
        {
            assert!(model.looks_swapped(direction, other.view()));
            assert!(!model.looks_swapped(direction, own.view()));
        }
        assert!(
            !model.looks_swapped(Direction::Forward, pool(100.0, 1.0, 9).view()),
            "like neither"
        );
    }
}
