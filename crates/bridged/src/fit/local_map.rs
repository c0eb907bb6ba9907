//! Cluster-wise regression (§6): a linear map inside each linked pair of clusters.
//!
//! ```text
//! ŷ(x) = (1 − α) μ_j + α f_ij(x)
//! f_ij(x) = μ_j + Σ_s (⟨(x − μ_i)/r_i, (x_s − μ_i)/r_i⟩ + 1) a_s,   a = (K + λ I)⁻¹ (Y − μ_j)
//! ```
//!
//! f is ridge regression with an intercept on the deviations from the two centroids, in its dual
//! form: m examples cost O(m² (m + d + d')), whatever the dimension. r_i is the root mean square
//! radius of cluster i, so that with λ = 1 a single typical example moves the prediction at its own
//! place by two thirds of its deviation, and elsewhere by less. Two pairs in 1,280 dimensions are
//! then harmless, and without examples f is the centroid. α = 0 gives exactly the centroid.

use crate::bridge::{Bridge, PairVote, Target};
use crate::settings::{Refine, RefineKind};
use crate::side::Side;
use bridged_math::distance::dot;
use bridged_math::linalg::{cholesky, solve_cholesky};
use bridged_math::{Matrix, MatrixRef, Rows, RowsError};

/// The map f_ij of one pair of clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalMap {
    /// (x_s − μ_i) / r_i, one row an example, (m, d).
    pub basis: Matrix,
    /// a_s, (m, d').
    pub coefficients: Matrix,
}

/// Where a map is anchored: both centroids and the radius of the input cluster.
#[derive(Clone, Copy, Debug)]
pub struct Anchor<'a> {
    /// μ_i, in the space in which the inputs were clustered.
    pub from: &'a [f32],
    /// r_i; 0 for a cluster whose rows are all equal.
    pub radius: f64,
    /// μ_j, in the units of the output.
    pub to: &'a [f32],
}

impl<'a> Anchor<'a> {
    /// The anchor between two clusters.
    pub(crate) fn between(from: &'a Side, to: &'a Side, i: u32, j: u32) -> Self {
        Self {
            from: from.clustering.centroids.row(i as usize),
            radius: from.radii[i as usize],
            to: to.values.row(j as usize),
        }
    }

    fn deviation(&self, x: &[f32]) -> Vec<f32> {
        let scale = if self.radius > 0.0 { 1.0 / self.radius } else { 0.0 };
        x.iter()
            .zip(self.from)
            .map(|(a, b)| ((f64::from(*a) - f64::from(*b)) * scale) as f32)
            .collect()
    }
}

impl LocalMap {
    /// Fits the map to examples (input, output); `None` without any.
    pub fn fit(anchor: Anchor<'_>, examples: &[(&[f32], &[f32])], ridge: f64) -> Option<Self> {
        if examples.is_empty() {
            return None;
        }
        let m = examples.len();
        let basis: Vec<Vec<f32>> = examples.iter().map(|(x, _)| anchor.deviation(x)).collect();
        let mut gram = vec![0.0f64; m * m];
        for s in 0..m {
            for t in 0..=s {
                let value = dot(&basis[s], &basis[t]) + 1.0;
                gram[s * m + t] = value;
                gram[t * m + s] = value;
            }
            gram[s * m + s] += ridge;
        }
        let factor = cholesky(&gram, m).expect("a Gram matrix plus a positive ridge");
        let width = anchor.to.len();
        let mut coefficients: Vec<f64> = examples
            .iter()
            .flat_map(|(_, y)| y.iter().zip(anchor.to).map(|(a, b)| f64::from(*a) - f64::from(*b)))
            .collect();
        solve_cholesky(&factor, m, &mut coefficients, width);
        Some(Self {
            basis: Matrix::from_rows(&basis),
            coefficients: Matrix::from_fn(m, width, |s, c| coefficients[s * width + c] as f32),
        })
    }

    /// f_ij(x) − μ_j.
    pub fn offset(&self, anchor: Anchor<'_>, x: &[f32]) -> Vec<f64> {
        let deviation = anchor.deviation(x);
        let mut offset = vec![0.0f64; self.coefficients.cols()];
        for s in 0..self.basis.rows() {
            let weight = dot(&deviation, self.basis.row(s)) + 1.0;
            for (o, &a) in offset.iter_mut().zip(self.coefficients.row(s)) {
                *o += weight * f64::from(a);
            }
        }
        offset
    }
}

/// The root mean square distance of the rows of each cluster to its centroid.
pub(crate) fn radii(
    rows: &dyn Rows,
    labels: &[u32],
    centroids: &Matrix,
) -> Result<Vec<f64>, RowsError> {
    let (mut squares, mut sizes) = (vec![0.0; centroids.rows()], vec![0u32; centroids.rows()]);
    rows.scan(&mut |first, part| {
        for (row, &label) in part.iter_rows().zip(&labels[first..]) {
            if let Some(square) = squares.get_mut(label as usize) {
                let centroid = centroids.row(label as usize);
                *square += bridged_math::distance::squared_distance(row, centroid);
                sizes[label as usize] += 1;
            }
        }
        Ok(())
    })?;
    Ok(squares.iter().zip(&sizes).map(|(s, &n)| (s / f64::from(n.max(1))).sqrt()).collect())
}

/// The pairs of a fit from one direction: rows in the space of the maps, and votes.
pub(crate) struct Examples<'a> {
    /// Scaled inputs, one row per pair.
    pub from: MatrixRef<'a>,
    /// Outputs in the units of the data, one row per pair.
    pub to: MatrixRef<'a>,
    /// Their clusters.
    pub votes: &'a [PairVote],
}

/// The map of one pair of clusters, fitted without the pair `left_out`.
pub(crate) fn local_map(
    refine: &Refine,
    anchor: Anchor<'_>,
    cell: (u32, u32),
    examples: &Examples<'_>,
    left_out: Option<usize>,
    centroids: &[(Vec<f32>, Vec<f32>)],
) -> Option<LocalMap> {
    let Refine { kind, ridge, .. } = *refine;
    if matches!(kind, RefineKind::None | RefineKind::Residual) {
        return None;
    }
    let in_cell =
        |s: &usize| Some(*s) != left_out && (examples.votes[*s].x, examples.votes[*s].y) == cell;
    let mut chosen: Vec<(&[f32], &[f32])> = (0..examples.votes.len())
        .filter(in_cell)
        .map(|s| (examples.from.row(s), examples.to.row(s)))
        .collect();
    if kind == RefineKind::SupervisedCentroid {
        chosen.extend(centroids.iter().map(|(a, b)| (&a[..], &b[..])));
    }
    LocalMap::fit(anchor, &chosen, ridge)
}

/// The linked centroids of every linked cluster: inputs in scaled space, outputs blended from
/// `values`, the means of the output clusters in data units.
pub(crate) fn centroid_pairs(
    bridge: &Bridge,
    from: &Side,
    values: &Matrix,
) -> Vec<(Vec<f32>, Vec<f32>)> {
    bridge
        .links
        .iter()
        .enumerate()
        .filter(|(_, link)| !link.targets.is_empty())
        .map(|(a, link)| {
            let centroid = from.clustering.centroids.row(a).to_vec();
            (centroid, blend(&link.targets, values))
        })
        .collect()
}

/// Σ_j w_j · row j.
pub(crate) fn blend(targets: &[Target], values: &Matrix) -> Vec<f32> {
    if let [only] = targets {
        return values.row(only.cluster as usize).to_vec(); // exactly the centroid, no rounding
    }
    let mut sum = vec![0.0f64; values.cols()];
    for t in targets {
        for (s, &v) in sum.iter_mut().zip(values.row(t.cluster as usize)) {
            *s += t.weight * f64::from(v);
        }
    }
    sum.into_iter().map(|v| v as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_examples_there_is_no_map() {
        let anchor = Anchor { from: &[0.0], radius: 1.0, to: &[0.0] };
        assert_eq!(LocalMap::fit(anchor, &[], 1.0), None);
    }

    #[test]
    fn many_examples_of_a_linear_relation_recover_it() {
        let inputs: Vec<[f32; 2]> =
            (0..200).map(|i| [(i % 17) as f32 - 8.0, (i % 23) as f32 - 11.0]).collect();
        let outputs: Vec<[f32; 1]> = inputs.iter().map(|x| [2.0 * x[0] - x[1] + 5.0]).collect();
        let examples: Vec<(&[f32], &[f32])> =
            inputs.iter().zip(&outputs).map(|(x, y)| (&x[..], &y[..])).collect();
        let anchor = Anchor { from: &[0.0, 0.0], radius: 8.0, to: &[5.0] };
        let map = LocalMap::fit(anchor, &examples, 1.0).unwrap();
        let predicted = 5.0 + map.offset(anchor, &[3.0, -4.0])[0];
        assert!((predicted - 15.0).abs() < 0.3, "{predicted}");
    }

    #[test]
    fn one_pair_in_many_dimensions_moves_its_own_prediction_by_at_most_two_thirds() {
        // On the shell of the cluster: ⟨d, d⟩ = 1, so the pair's own weight is (1 + 1) / (1 + 1 + λ).
        let d = 1280;
        let x: Vec<f32> = (0..d).map(|_| 1.0 / (d as f32).sqrt()).collect();
        let zeros = vec![0.0; d];
        let anchor = Anchor { from: &zeros, radius: 1.0, to: &[0.0] };
        let map = LocalMap::fit(anchor, &[(&x, &[9.0])], 1.0).unwrap();
        let at_itself = map.offset(anchor, &x)[0];
        let elsewhere = map.offset(anchor, &x.iter().map(|v| -v).collect::<Vec<_>>())[0];
        assert!(
            (at_itself - 6.0).abs() < 1e-3 && elsewhere.abs() < 1e-3,
            "{at_itself} {elsewhere}"
        );
    }

    #[test]
    fn equal_rows_in_a_cluster_do_not_divide_by_zero() {
        let anchor = Anchor { from: &[2.0], radius: 0.0, to: &[1.0] };
        let map = LocalMap::fit(anchor, &[(&[2.0], &[3.0])], 1.0).unwrap();
        assert!((map.offset(anchor, &[2.0])[0] - 1.0).abs() < 1e-6);
    }
}
