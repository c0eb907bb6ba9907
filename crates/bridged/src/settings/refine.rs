//! What refines the predictions of the bridge, and how far they follow it.

use super::{Limits, Number};
use crate::bridge::BridgeRule;
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
        match (kind, bridge.reading().is_mixture()) {
            (Some(RefineKind::Residual), _) | (None, true) => Self::residual(),
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
    /// One map for all clusters, of what the bridge leaves unexplained.
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

impl Number for Alpha {
    fn number(&self) -> Option<f64> {
        match self {
            Alpha::Auto => None,
            Alpha::Fixed(alpha) => Some(*alpha),
        }
    }
}

crate::limits!(Refine { alpha: Limits::From(0.0, 1.0), ridge: Limits::Above(0.0, 1e9) });

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
}
