//! A pool whose rows stay in their files, of which a model holds some, after new rows came.
//!
//! Old rows are not read again: each centroid moves to the mean of what it stood for and its new rows, which is exact, and
//! so are sizes, means and radii. What is measured on some rows anyway is measured on those that the model holds from
//! then on, old and new in proportion.

use crate::rows_at::{Kept, MOST_KEPT, RowsAt};
use crate::side::{Names, Side};
use bridged_math::distance::squared_distance;
use bridged_math::rows::mean_row;
use bridged_math::{Matrix, MatrixRef, RowsError};

/// New rows of such a pool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InFiles {
    /// Where they are.
    at: RowsAt,
    /// What all of them are called.
    pub ids: Vec<String>,
    /// All of them, once the model is to hold some only.
    pub new: Option<Matrix>,
    /// The numbers in the pool of all rows that it holds then.
    pub numbers: Vec<u64>,
}

impl InFiles {
    /// New rows behind `old` others.
    pub fn new(at: RowsAt, names: &Names, old: usize) -> Self {
        let ids = names.ids.get(old..).unwrap_or_default().to_vec();
        Self { at, ids, new: None, numbers: Vec::new() }
    }

    /// Which rows the model holds now.
    pub fn kept(self, before: &Kept) -> Kept {
        let mut at = before.at.clone();
        at.names.extend(self.at.names);
        at.parts.extend(self.at.parts);
        let total = before.total + self.new.map_or(0, |new| new.rows() as u64);
        Kept { total, rows: self.numbers, at }
    }
}

/// The rows to hold of so many that were held, of a pool of `total`, and of so many new ones: evenly spaced, and those
/// of pairs.
pub(super) fn chosen(
    (held, total): (usize, usize),
    new: usize,
    paired: impl Iterator<Item = usize>,
) -> Vec<usize> {
    let most = MOST_KEPT.min(total + new);
    let of_old = (most as u128 * total as u128 / (total + new) as u128) as usize;
    let (of_old, of_new) = (of_old.min(held), (most - of_old).min(new));
    let old = (0..of_old).map(|at| at * held / of_old);
    let fresh = (0..of_new).map(|at| held + at * new / of_new);
    let mut rows: Vec<usize> = old.chain(fresh).chain(paired).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// What is known of all rows of a pool: sizes, radii and the mean.
pub(super) struct OfAll {
    pub sizes: Vec<u32>,
    pub radii: Vec<f64>,
    pub mean: Vec<f32>,
}

impl OfAll {
    /// Of what a side knew of its rows, and new ones in the units of the data and scaled, with their clusters; centroids
    /// have moved.
    pub fn new(
        side: &Side,
        centroids: &Matrix,
        (new, scaled): (MatrixRef<'_>, MatrixRef<'_>),
        labels: &[u32],
    ) -> Result<Self, RowsError> {
        let k = centroids.rows();
        let was = &side.clustering.centroids;
        let mut sizes = side.sizes().to_vec();
        sizes.resize(k, 0);
        let of_old = |j: usize| match j < was.rows() {
            true => {
                let moved = squared_distance(was.row(j), centroids.row(j));
                f64::from(sizes[j]) * (side.radii[j] * side.radii[j] + moved)
            }
            false => 0.0,
        };
        let mut squares: Vec<f64> = (0..k).map(of_old).collect();
        for (row, &label) in scaled.iter_rows().zip(labels) {
            let j = label as usize;
            squares[j] += squared_distance(row, centroids.row(j));
            sizes[j] = sizes[j].saturating_add(1);
        }
        let radius = |(square, &n): (f64, &u32)| (square / f64::from(n.max(1))).sqrt();
        let radii = squares.into_iter().zip(&sizes).map(radius).collect();
        let (before, more) = (side.total() as f64, new.rows() as f64);
        let of_new = mean_row(&new)?;
        let mean =
            side.mean.iter().zip(of_new).map(|(&old, new)| {
                ((f64::from(old) * before + new * more) / (before + more)) as f32
            });
        Ok(Self { radii, mean: mean.collect(), sizes })
    }

    /// The sum of squares inside the clusters.
    pub fn inertia(&self) -> f64 {
        let sizes = self.sizes.iter().map(|&n| f64::from(n));
        sizes.zip(&self.radii).map(|(n, r)| n * r * r).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_rows_are_held_in_proportion_and_rows_of_pairs_always() {
        let rows = chosen((10_000, 90_000), 10_000, [9, 19_999].into_iter());
        let old = rows.iter().filter(|&&row| row < 10_000).count();
        assert_eq!((old, rows.len() - old), (9_001, 1_001), "and one of each in pairs");
        // Few rows are all held.
        assert_eq!(chosen((5, 5), 3, std::iter::empty()), (0..8).collect::<Vec<_>>());
    }
}
