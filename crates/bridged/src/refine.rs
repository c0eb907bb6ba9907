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

use crate::bridge::{BridgeRule, Reading};
use bridged_math::distance::dot;
use bridged_math::linalg::{cholesky, solve_cholesky};
use bridged_math::{Matrix, MatrixRef};
use serde::{Deserialize, Serialize};

/// What refines the prediction inside a linked pair of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Refine {
    /// Which examples the map is fitted to.
    pub kind: RefineKind,
    /// How far predictions follow the map.
    pub alpha: Alpha,
    /// λ, in units of the cluster's mean squared radius.
    pub ridge: f64,
}

impl Refine {
    /// The refinement of that kind, with its own penalty; none named, the one that suits the rule: the
    /// residual map where rows belong to several clusters, else none.
    pub fn suited(kind: Option<RefineKind>, bridge: &impl BridgeRule) -> Self {
        match (kind, bridge.reading()) {
            (Some(RefineKind::Residual), _) | (None, Reading::Mixture { .. }) => Self::residual(),
            (kind, _) => Self { kind: kind.unwrap_or_default(), ..Self::default() },
        }
    }

    /// The map of what the bridge leaves unexplained, as the default method uses it.
    pub fn residual() -> Self {
        Self { kind: RefineKind::Residual, alpha: Alpha::Auto, ridge: 4.0 }
    }
}

impl Default for Refine {
    fn default() -> Self {
        Self { kind: RefineKind::None, alpha: Alpha::Auto, ridge: 1.0 }
    }
}

/// Which examples a cluster-wise map is fitted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefineKind {
    /// No map: predictions are centroids.
    #[default]
    None,
    /// The pairs that lie in both clusters.
    Supervised,
    /// Those pairs and the linked centroids of all clusters.
    SupervisedCentroid,
    /// One map for all clusters, of what the bridge leaves unexplained: see
    /// [`Residual`](crate::residual::Residual).
    Residual,
}

/// How far predictions follow the map, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alpha {
    /// The value with the smallest leave-one-pair-out error.
    #[default]
    Auto,
    /// This value.
    Fixed(f64),
}

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

impl Anchor<'_> {
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
pub(crate) fn radii(x: MatrixRef<'_>, labels: &[u32], centroids: &Matrix) -> Vec<f64> {
    let (mut squares, mut sizes) = (vec![0.0; centroids.rows()], vec![0u32; centroids.rows()]);
    for (row, &label) in x.iter_rows().zip(labels) {
        if let Some(square) = squares.get_mut(label as usize) {
            let centroid = centroids.row(label as usize);
            *square += bridged_math::distance::squared_distance(row, centroid);
            sizes[label as usize] += 1;
        }
    }
    squares.iter().zip(&sizes).map(|(s, &n)| (s / f64::from(n.max(1))).sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::BridgeSpec;

    #[test]
    fn a_rule_with_soft_memberships_is_refined_by_the_residual_map() {
        let [majority, posterior] =
            ["majority", "posterior"].map(|n| BridgeSpec::named(n).unwrap());
        assert_eq!(Refine::suited(None, &posterior), Refine::residual());
        assert_eq!(Refine::suited(None, &majority), Refine::default());
        assert_eq!(Refine::suited(Some(RefineKind::Residual), &majority), Refine::residual());
        assert_eq!(Refine::suited(Some(RefineKind::None), &posterior), Refine::default());
    }

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
