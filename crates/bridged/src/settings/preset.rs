//! Settings by name: where an overlay of keys begins.

use super::{BridgedClustering, Count, Members, Refine};
use crate::bridge::{BridgeSpec, Majority};
use crate::cluster::{BalancedKMeans, ClusterSpec, Descent, Entry, KMeans};

/// A complete set of parameters with a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// What `bridged fit` does unless told otherwise.
    #[default]
    Default,
    /// What the paper ran.
    Paper,
    /// The paper's vote on plain k-means.
    Voting,
}

const PRESETS: [(Preset, Entry); 3] = [
    (
        Preset::Default,
        Entry { name: "default", about: "balanced k-means, posterior bridge, residual map" },
    ),
    (
        Preset::Paper,
        Entry {
            name: "paper",
            about: "balanced k-means by Lloyd's iteration, majority vote, centroids, no scaling",
        },
    ),
    (
        Preset::Voting,
        Entry { name: "voting", about: "plain k-means, majority vote, centroids, no scaling" },
    ),
];

impl Preset {
    /// Every preset with its name, in the order in which `bridged list` shows them.
    pub const ALL: [Entry; 3] = [PRESETS[0].1, PRESETS[1].1, PRESETS[2].1];

    /// The preset of that name.
    pub fn named(name: &str) -> Option<Self> {
        PRESETS.iter().find(|(_, entry)| entry.name == name).map(|(preset, _)| *preset)
    }

    /// Its name in commands, TOML and Python.
    pub fn name(self) -> &'static str {
        PRESETS.iter().find(|(preset, _)| *preset == self).map_or("", |(_, entry)| entry.name)
    }

    /// Its parameters, with the default number of clusters.
    pub fn settings(self) -> BridgedClustering {
        match self {
            Self::Default => BridgedClustering::default(),
            Self::Paper => voting_on(ClusterSpec::BalancedKMeans(BalancedKMeans {
                descent: Descent::Lloyd,
                ..BalancedKMeans::default()
            })),
            Self::Voting => voting_on(ClusterSpec::KMeans(KMeans::default())),
        }
    }

    /// Its parameters with k clusters on both sides.
    ///
    /// ```
    /// use bridged::settings::{Keys, Preset};
    ///
    /// let mut keys = Keys::default();
    /// keys.set("cluster.restarts", 3).set("y.scale", "l2");
    /// let settings = Preset::Paper.with_k(7).overlay(&keys)?;
    /// assert_eq!(settings.bridge.name(), "majority");
    /// # Ok::<(), bridged::settings::SettingsError>(())
    /// ```
    pub fn with_k(self, k: usize) -> BridgedClustering {
        let mut settings = self.settings();
        for side in [&mut settings.x, &mut settings.y] {
            side.cluster = side.cluster.clone().with_k(k);
            side.count = Count::Told;
        }
        settings
    }
}

/// One clustering on both sides, majority vote, centroids as predictions.
fn voting_on(cluster: ClusterSpec) -> BridgedClustering {
    let mut settings = BridgedClustering {
        bridge: BridgeSpec::Majority(Majority),
        refine: Refine::default(),
        members: Members::One,
        ..BridgedClustering::default()
    };
    settings.x.cluster = cluster.clone();
    settings.y.cluster = cluster;
    (settings.x.count, settings.y.count) = (Count::Told, Count::Told);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_preset_is_found_by_its_name() {
        for entry in Preset::ALL {
            assert_eq!(Preset::named(entry.name).expect("listed").name(), entry.name);
        }
        assert_eq!(Preset::named("papyrus"), None);
    }

    #[test]
    fn the_papers_preset_is_what_the_paper_ran_field_by_field() {
        let side = json!({
            "cluster": {
                "method": "balanced", "k": 7, "min_size": null, "max_size": null,
                "init": "plus-plus", "max_iter": 100, "tol": 0.0001, "restarts": 10,
                "metric": "euclidean", "descent": "lloyd",
            },
            "scale": "none",
        });
        let expected = json!({
            "x": side, "y": side,
            "bridge": { "rule": "majority" },
            "uncovered": "mean",
            "refine": { "kind": "none", "alpha": "auto", "ridge": 1.0 },
            "pair_rows": "pooled",
            "keep_rows": "yes",
        });
        let paper = serde_json::to_value(Preset::Paper.with_k(7)).expect("plain data");
        assert_eq!(paper, expected);
    }

    #[test]
    fn voting_differs_from_the_paper_in_the_clustering_alone() {
        let (mut voting, paper) = (Preset::Voting.with_k(5), Preset::Paper.with_k(5));
        assert_eq!(voting.x.cluster.name(), "kmeans");
        (voting.x, voting.y) = (paper.x.clone(), paper.y.clone());
        assert_eq!(voting, paper);
    }
}
