//! The method as its parameters: what is clustered how, and what links the clusters.

use super::{Preset, Refine};
use crate::bridge::{BridgeRule, BridgeSpec};
use crate::cluster::{ClusterSpec, Clusterer};
use crate::ensemble::Levels;
use crate::scale::Scale;
use bridged_math::{Rows, RowsError};
use serde::{Deserialize, Serialize};

/// Bridged Clustering with all of its choices. The defaults are balanced k-means with ten restarts on
/// both sides, the posterior bridge, several members and no scaling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BridgedClustering {
    /// The input side.
    pub x: SideSpec,
    /// The output side.
    pub y: SideSpec,
    /// How pairs become links.
    pub bridge: BridgeSpec,
    /// What is predicted where the bridge has no link.
    pub uncovered: Uncovered,
    /// Regression inside linked clusters.
    pub refine: Refine,
    /// Whether the rows of the pairs are clustered with the pools.
    pub pair_rows: PairRows,
    /// Whether the model keeps the rows of both pools, to answer with real rows.
    pub keep_rows: KeepRows,
    /// Whether one clustering of each side predicts, or several together.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub members: Members,
}

/// What predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Members {
    /// The clustering of each side and the links between them, as in the paper.
    One,
    /// These, clusterings at other levels of detail, and regressions on the pairs, each by how well it predicts
    /// pairs that were left out. Of the posterior bridge.
    Ladder,
}

/// A model that says nothing of its members has one.
fn one() -> Members {
    Members::One
}

fn is_one(members: &Members) -> bool {
    *members == Members::One
}

/// Who says how many clusters a side has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// The parameters of its clustering.
    Told,
    /// The size of the smaller pool: half of its root, and at most 50. Of a [ladder](Members::Ladder); one
    /// clustering is told.
    Auto,
}

fn told() -> Count {
    Count::Told
}

fn is_told(count: &Count) -> bool {
    *count == Count::Told
}

/// How one side is clustered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SideSpec {
    /// The algorithm; balanced k-means by default. Equal sizes keep blurred data from falling into
    /// crumbs that a pair links by accident, and cost little where groups are not equal.
    pub cluster: ClusterSpec,
    /// What is done to the rows first.
    pub scale: Scale,
    /// Who says how many clusters there are.
    #[serde(default = "told", skip_serializing_if = "is_told")]
    pub count: Count,
    /// Cluster only so many rows, drawn by chance, and assign the others; none clusters all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<usize>,
}

impl SideSpec {
    /// Whether lengths or angles of rows, or given centroids, play a part, so that a pool must not be
    /// moved; see [`crate::offset`].
    pub fn uses_origin(&self) -> bool {
        self.scale == Scale::L2 || self.cluster.uses_origin()
    }
}

impl Default for SideSpec {
    fn default() -> Self {
        let cluster = ClusterSpec::named("balanced").expect("listed");
        Self { cluster, scale: Scale::default(), count: Count::Auto, sample: None }
    }
}

/// What is predicted for an input cluster without a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Uncovered {
    /// The mean of the other pool.
    #[default]
    Mean,
    /// What the nearest cluster that has a link predicts.
    Nearest,
    /// Nothing.
    Abstain,
}

/// Whether the rows of the pairs are clustered with the pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairRows {
    /// They are: more data.
    #[default]
    Pooled,
    /// They only vote; the clusterings never saw them.
    Apart,
}

/// Whether a model keeps the rows of its pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepRows {
    /// It does: predictions can name the real rows nearest to them.
    #[default]
    Yes,
    /// It does not: a smaller model file.
    No,
}

impl Default for BridgedClustering {
    fn default() -> Self {
        Self {
            x: SideSpec::default(),
            y: SideSpec::default(),
            bridge: BridgeSpec::default(),
            uncovered: Uncovered::default(),
            refine: Refine::residual(),
            pair_rows: PairRows::default(),
            keep_rows: KeepRows::default(),
            members: Members::Ladder,
        }
    }
}

impl BridgedClustering {
    /// k clusters on both sides, otherwise the defaults.
    pub fn with_k(k: usize) -> Self {
        Preset::Default.with_k(k)
    }

    /// The same with a number of clusters where none was said, for these pools.
    pub(crate) fn counted(&self, x: &dyn Rows, y: &dyn Rows) -> Result<Self, RowsError> {
        let mut settings = self.clone();
        let auto = [&self.x, &self.y].iter().any(|side| side.count == Count::Auto);
        if !auto || !self.is_ladder() {
            return Ok(settings);
        }
        let k = Levels::of(x, y)?.coarsest();
        for side in [&mut settings.x, &mut settings.y] {
            if side.count == Count::Auto {
                side.cluster = side.cluster.clone().with_k(k);
            }
        }
        Ok(settings)
    }

    /// Whether several members predict.
    pub(crate) fn is_ladder(&self) -> bool {
        self.members == Members::Ladder && self.bridge.reading().is_mixture()
    }

    /// Whether somebody said how many clusters both sides have.
    pub(crate) fn told_count(&self) -> bool {
        [&self.x, &self.y].iter().all(|side| side.count == Count::Told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterative_clusterings_stop_after_100_iterations_by_default_as_in_the_paper() {
        let mut iterative = 0;
        for entry in ClusterSpec::ALL {
            let spec = ClusterSpec::named(entry.name).expect("listed by this name");
            let json = serde_json::to_value(spec).expect("parameters are plain data");
            if let Some(most) = json.get("max_iter") {
                assert_eq!(most, 100, "{}", entry.name);
                iterative += 1;
            }
        }
        assert!(iterative >= 4);
    }
}
