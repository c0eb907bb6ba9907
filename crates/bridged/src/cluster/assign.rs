//! How a fitted clustering assigns any row: by the nearest centre, by the densities of a Gaussian
//! mixture, or by a vote of the nearest training rows. O(k d), O(k d) to O(k d²), and O(m d) a row.

use super::clustering::{Metric, NOISE};
use super::gaussian::Gaussian;
use bridged_math::distance::nearest;
use bridged_math::neighbors::Neighbors;
use bridged_math::{Matrix, MatrixRef};

/// How a fitted clustering assigns any row. Size bounds are never re-imposed.
#[derive(Clone, Debug, PartialEq)]
pub enum AssignRule {
    /// The nearest of k centres.
    Nearest {
        /// (k, d); of unit length under the cosine metric.
        centres: Matrix,
        /// How near is measured.
        metric: Metric,
    },
    /// The component of a Gaussian mixture with the highest posterior probability.
    Mixture(Gaussian),
    /// The majority among the nearest training rows that were kept.
    Neighbors {
        /// The kept rows, (m, d); of unit length under the cosine metric.
        rows: Matrix,
        /// The cluster of each kept row.
        labels: Vec<u32>,
        /// How many neighbours vote; the nearest one decides a tie.
        neighbors: usize,
        /// Beyond this distance from every kept row, a row is [`NOISE`].
        radius: Option<f64>,
        /// How near is measured; under the cosine metric, between rows of unit length.
        metric: Metric,
    },
}

impl AssignRule {
    /// The cluster of each row of `x`.
    pub fn assign(&self, x: MatrixRef<'_>) -> Vec<u32> {
        match self {
            AssignRule::Nearest { centres, metric } => {
                let seen = metric.view(x);
                let x = MatrixRef::new(x.rows(), x.cols(), &seen).expect("same shape as x");
                nearest(x, centres.view())
            }
            AssignRule::Mixture(mixture) => mixture.assign(x),
            AssignRule::Neighbors { rows, .. } if rows.rows() == 0 => vec![NOISE; x.rows()],
            AssignRule::Neighbors { rows, labels, neighbors, radius, metric } => {
                let seen = metric.view(x);
                let x = MatrixRef::new(x.rows(), x.cols(), &seen).expect("same shape as x");
                let nearest = Neighbors::new(rows.view()).nearest(x, (*neighbors).max(1));
                let limit = radius.map_or(f64::INFINITY, |r| r * r);
                (0..x.rows())
                    .map(|i| match nearest.squared_of(i).first() {
                        Some(&squared) if squared <= limit => vote(nearest.rows_of(i), labels),
                        _ => NOISE,
                    })
                    .collect()
            }
        }
    }
}

/// The most frequent label among `rows`, which come by rising distance; of equally frequent ones
/// that of the nearest row.
fn vote(rows: &[u32], labels: &[u32]) -> u32 {
    let votes = |label: u32| rows.iter().filter(|&&r| labels[r as usize] == label).count();
    let mut best = (0, NOISE);
    for &row in rows {
        let label = labels[row as usize];
        if label != best.1 && votes(label) > best.0 {
            best = (votes(label), label);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(neighbors: usize, radius: Option<f64>, metric: Metric) -> AssignRule {
        let rows = match metric {
            Metric::Euclidean => {
                Matrix::from_rows(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [9.0, 0.0]])
            }
            Metric::Cosine => Matrix::from_rows(&[[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]]),
        };
        AssignRule::Neighbors { rows, labels: vec![0, 1, 1, 2], neighbors, radius, metric }
    }

    #[test]
    fn the_majority_of_the_neighbours_decides_and_the_nearest_breaks_a_tie() {
        let x = Matrix::from_rows(&[[-1.0, 0.0], [8.0, 0.0]]);
        assert_eq!(rule(1, None, Metric::Euclidean).assign(x.view()), [0, 2]);
        assert_eq!(rule(2, None, Metric::Euclidean).assign(x.view()), [0, 2]);
        assert_eq!(rule(3, None, Metric::Euclidean).assign(x.view()), [1, 1]);
        assert_eq!(rule(99, None, Metric::Euclidean).assign(x.view()), [1, 1]);
    }

    #[test]
    fn beyond_the_radius_there_is_noise() {
        let x = Matrix::from_rows(&[[3.0, 0.0], [3.001, 0.0], [9.5, 0.0]]);
        assert_eq!(rule(1, Some(1.0), Metric::Euclidean).assign(x.view()), [1, NOISE, 2]);
    }

    #[test]
    fn under_the_cosine_metric_length_does_not_matter() {
        let x = Matrix::from_rows(&[[50.0, 1.0], [0.0, 0.01]]);
        assert_eq!(rule(1, None, Metric::Cosine).assign(x.view()), [0, 1]);
    }
}
