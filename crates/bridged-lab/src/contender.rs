//! What a study compares, by name: Bridged Clustering in its variants, and the baselines.
//!
//! Every variant differs from the paper's own setting (balanced k-means with ten restarts on both
//! sides, majority vote, centroids as predictions) in what its name says.

use crate::{Experiment, LabError};
use bridged::bridge::BridgeSpec;
use bridged::cluster::{ClusterSpec, Entry};
use bridged::settings::{Keys, overlay};
use bridged::{BridgedClustering, Count, KeepRows, Members, Method, Preset, Refine, RefineKind};
use bridged_baselines::BaselineSpec;
use serde::{Deserialize, Serialize};

/// Bridged Clustering as in the paper.
pub const PAPER: &str = "bridged";

/// Bridged Clustering as `bridged fit` does it unless told otherwise.
pub const DEFAULT: &str = "bridged-default";

/// The default with one clustering of each side, the model that a person reads: needs the number of groups.
pub const ONE: &str = "bridged-one";

/// The posterior bridge and the residual map of that, on the clusterings of the paper.
pub const POSTERIOR: &str = "bridged-posterior";

/// The same on plain k-means.
pub const POSTERIOR_KMEANS: &str = "bridged-posterior-kmeans";

/// The variants of Bridged Clustering, the paper's own first.
pub const VARIANTS: &[Entry] = &[
    Entry { name: PAPER, about: "as in the paper: balanced k-means, majority vote" },
    Entry { name: DEFAULT, about: "what `bridged fit` does unless told otherwise" },
    Entry { name: ONE, about: "that with one clustering of each side" },
    Entry { name: POSTERIOR, about: "its posterior bridge and residual map alone" },
    Entry { name: POSTERIOR_KMEANS, about: "that on plain k-means" },
    Entry { name: "bridged-margin", about: "margin-based vote" },
    Entry { name: "bridged-hungarian", about: "one-to-one vote" },
    Entry { name: "bridged-soft", about: "soft bridging" },
    Entry { name: "bridged-supervised", about: "supervised refinement" },
    Entry { name: "bridged-supervised-centroid", about: "supervised and centroid refinement" },
    Entry { name: "bridged-kmeans", about: "plain k-means on both sides" },
    Entry { name: "bridged-minibatch", about: "mini-batch k-means on both sides" },
    Entry { name: "bridged-gmm", about: "Gaussian mixtures on both sides" },
    Entry { name: "bridged-spectral", about: "spectral clustering on both sides" },
    Entry { name: "bridged-agglomerative", about: "agglomerative clustering on both sides" },
];

/// One of the methods of a study, before the number of groups is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "a study holds a few dozen of them")]
pub enum Contender {
    /// A baseline with its parameters.
    Baseline(BaselineSpec),
    /// A variant of Bridged Clustering; its k is that of the run.
    Bridged(BridgedClustering),
}

impl Contender {
    /// The names of everything that can be compared.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let variants = VARIANTS.iter().map(|e| e.name);
        variants.chain(BaselineSpec::ALL.iter().map(|e| e.name))
    }

    /// The method of that name with its defaults.
    pub fn named(name: &str) -> Option<Self> {
        if let Some(spec) = BaselineSpec::named(name) {
            return Some(Self::Baseline(spec));
        }
        VARIANTS.iter().find(|e| e.name == name)?;
        let mut spec = BridgedClustering { keep_rows: KeepRows::No, ..Preset::Paper.with_k(1) };
        let one = || BridgedClustering {
            keep_rows: KeepRows::No,
            members: Members::One,
            ..BridgedClustering::with_k(1)
        };
        match name.strip_prefix("bridged").unwrap_or_default().trim_start_matches('-') {
            "" => {}
            // It ranks the rows of the output pool, so it keeps them.
            "default" => spec = BridgedClustering::default(),
            "one" => spec = one(),
            "posterior" => {
                spec = BridgedClustering { x: spec.x, y: spec.y, ..one() };
            }
            "posterior-kmeans" => {
                spec = one();
                (spec.x.cluster, spec.y.cluster) = (ClusterSpec::default(), ClusterSpec::default());
            }
            "supervised" => spec.refine = refine(RefineKind::Supervised),
            "supervised-centroid" => spec.refine = refine(RefineKind::SupervisedCentroid),
            other => match (BridgeSpec::named(other), ClusterSpec::named(other)) {
                (Some(bridge), _) => spec.bridge = bridge,
                (None, Some(cluster)) => {
                    spec.x.cluster = cluster.clone();
                    spec.y.cluster = cluster;
                }
                (None, None) => return None,
            },
        }
        Some(Self::Bridged(spec))
    }

    /// The method for a run that tells this number of clusters, or hides it; `None` if the method
    /// cannot do without.
    pub fn told(&self, k: Option<usize>) -> Option<Self> {
        match (self, k) {
            (_, Some(k)) => Some(self.with_k(k)),
            (Self::Baseline(_), None) => Some(self.clone()),
            (Self::Bridged(spec), None) => match spec.members {
                Members::Ladder => Some(self.clone()),
                Members::One => None,
            },
        }
    }

    /// The method itself.
    pub fn method(&self) -> &dyn Method {
        match self {
            Self::Baseline(spec) => spec,
            Self::Bridged(spec) => spec,
        }
    }

    /// The method for a run with k clusters on each side.
    pub fn with_k(&self, k: usize) -> Self {
        let mut method = self.clone();
        if let Self::Bridged(spec) = &mut method {
            for side in [&mut spec.x, &mut spec.y] {
                side.cluster = side.cluster.clone().with_k(k);
                side.count = Count::Told;
            }
        }
        method
    }
}

fn refine(kind: RefineKind) -> Refine {
    Refine { kind, ..Refine::default() }
}

impl Experiment {
    /// The method of that name with the parameters of this study.
    pub fn contender(&self, name: &str) -> Result<Contender, LabError> {
        let contender = Contender::named(name)
            .ok_or_else(|| LabError::unknown("method", name, Contender::names()))?;
        match self.parameters.get(name) {
            None => Ok(contender),
            Some(changes) => change(contender, name, changes),
        }
    }
}

/// Replaces parameters by what a study says of them.
fn change(contender: Contender, name: &str, changes: &toml::Table) -> Result<Contender, LabError> {
    let bad =
        |reason: String| LabError::BadFile { path: format!("parameters.{name}").into(), reason };
    let tables = serde_json::to_value(changes).map_err(|e| bad(e.to_string()))?;
    let keys = Keys::from_tables(tables.as_object().expect("a table of TOML is one of JSON"));
    let changed = match contender {
        Contender::Baseline(spec) => overlay(spec, &keys).map(Contender::Baseline),
        Contender::Bridged(spec) => spec.overlay(&keys).map(Contender::Bridged),
    };
    changed.map_err(|e| bad(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::cluster::Descent;

    #[test]
    fn the_default_differs_from_the_posterior_bridge_of_the_studies_in_the_descent_alone() {
        let spec = |name| match Contender::named(name) {
            Some(Contender::Bridged(spec)) => spec,
            other => panic!("{other:?}"),
        };
        assert_eq!(spec("bridged-default"), BridgedClustering::default());
        let (default, mut posterior) = (spec("bridged-one"), spec("bridged-posterior"));
        assert_ne!(posterior, default);
        for side in [&mut posterior.x, &mut posterior.y] {
            let ClusterSpec::BalancedKMeans(balanced) = &mut side.cluster else { panic!() };
            assert_eq!(balanced.descent, Descent::Lloyd);
            balanced.descent = Descent::default();
        }
        assert_eq!(posterior, default);
    }

    #[test]
    fn every_name_is_a_method_and_none_is_there_twice() {
        let names: Vec<&str> = Contender::names().collect();
        for (i, name) in names.iter().enumerate() {
            assert!(Contender::named(name).is_some(), "{name}");
            assert!(!names[..i].contains(name), "{name}");
        }
        assert!(Contender::named("bridged-sooft").is_none());
        assert!(Contender::named("bridged-dbscan").is_none(), "it is not in the list");
    }

    #[test]
    fn a_variant_differs_from_the_paper_in_what_its_name_says() {
        let paper = BridgedClustering { keep_rows: KeepRows::No, ..Preset::Paper.with_k(5) };
        let of = |name: &str| match Contender::named(name).unwrap().with_k(5) {
            Contender::Bridged(spec) => spec,
            Contender::Baseline(_) => panic!("{name} is a variant"),
        };
        assert_eq!(of("bridged"), paper);
        let soft = of("bridged-soft");
        assert_eq!(soft.bridge.name(), "soft");
        assert_eq!(BridgedClustering { bridge: paper.bridge.clone(), ..soft }, paper);
        let spectral = of("bridged-spectral");
        assert_eq!(spectral.x.cluster.name(), "spectral");
        assert_eq!(BridgedClustering { x: paper.x.clone(), y: paper.y.clone(), ..spectral }, paper);
    }
}
