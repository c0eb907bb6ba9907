//! A study as a TOML file: which data, which cells, how rows are drawn, which methods.
//!
//! ```toml
//! data = "flickr8k.parquet"       # beside this file, or in the folder of data sets
//! seed = 0
//! groups = [3, 4, 5, 6, 7]        # C
//! pairs = [1, 2, 3, 4]            # per group
//! seeds = 30                      # runs of every cell
//! settings = ["inductive", "transductive"]
//! directions = ["forward", "reverse"]
//! methods = ["bridged", "knn", "eot"]
//!
//! [protocol]
//! rows_per_group = 25
//! output_share = 0.2
//!
//! [parameters.eot]                # what differs from a method's defaults
//! ridge_alpha = 0.001
//!
//! [slow]                          # methods that run on fewer of the draws
//! methods = ["ucvme"]
//! groups = [3, 5, 7]
//! pairs = [1, 2, 4]
//! seeds = 3
//! ```

use crate::contender::{DEFAULT, PAPER};
use crate::protocol::{Clusters, Sizes};
use crate::{Contender, LabError, Protocol, Setting, StudyCell};
use bridged::Direction;
use bridged_baselines::BaselineSpec;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The table of paired rows.
    pub data: PathBuf,
    /// The column of its inputs: another encoder of the same rows is another column.
    #[serde(default = "column_x")]
    pub x: String,
    /// The column of its outputs.
    #[serde(default = "column_y")]
    pub y: String,
    /// What every draw of the study derives from.
    #[serde(default)]
    pub seed: u64,
    /// The numbers of groups, C.
    #[serde(default = "paper_groups")]
    pub groups: Vec<usize>,
    /// The numbers of pairs per group.
    #[serde(default = "paper_pairs")]
    pub pairs: Vec<usize>,
    /// Runs of every cell.
    #[serde(default = "paper_seeds")]
    pub seeds: usize,
    /// Whether test rows are visible.
    #[serde(default = "both_settings")]
    pub settings: Vec<Setting>,
    /// Which side is predicted.
    #[serde(default = "both_directions")]
    pub directions: Vec<Direction>,
    /// Which methods are compared, by name.
    #[serde(default = "all_methods")]
    pub methods: Vec<String>,
    /// By how much the clusters that Bridged Clustering is told to find exceed the groups.
    #[serde(default = "no_extra_clusters")]
    pub extra_clusters: Vec<i64>,
    /// What it is told about their number: one answer, or several to compare.
    #[serde(default = "known_clusters", deserialize_with = "one_or_many")]
    #[serde(skip_serializing_if = "are_known")]
    pub clusters: Vec<Clusters>,
    /// What a prediction is compared with.
    #[serde(default)]
    pub truth: Truth,
    /// What `bridged lab tune` chose; its groups are left out of the scores.
    #[serde(default)]
    pub tuned: Option<PathBuf>,
    /// How rows are drawn.
    #[serde(default)]
    pub protocol: Protocol,
    /// Methods that run on fewer of the draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<Slow>,
    /// Cells with many pairs, which have fewer runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub many_pairs: Option<ManyPairs>,
    /// What differs from the defaults of a method.
    #[serde(default)]
    pub parameters: BTreeMap<String, toml::Table>,
}

/// Methods that take long, and the draws that they run on: those of the study that are also here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// The methods.
    pub methods: Vec<String>,
    /// Their numbers of groups.
    pub groups: Vec<usize>,
    /// Their numbers of pairs per group.
    pub pairs: Vec<usize>,
    /// Their runs of every cell.
    pub seeds: usize,
}

/// Cells with many pairs: they differ less from one another, and take longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManyPairs {
    /// From so many pairs on,
    pub from: usize,
    /// a cell has so many runs.
    pub seeds: usize,
}

/// What a prediction is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truth {
    /// The row's own output.
    #[default]
    Own,
    /// The closest of the outputs of its entity, as for photographs with several captions.
    Closest,
}

fn column_x() -> String {
    "x".into()
}

fn column_y() -> String {
    "y".into()
}

fn known_clusters() -> Vec<Clusters> {
    vec![Clusters::Known]
}

fn are_known(clusters: &[Clusters]) -> bool {
    clusters == [Clusters::Known]
}

fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Clusters>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "\"known\", \"hidden\", \"half\" or \"double\", or a list of them"
    )]
    enum OneOrMany {
        One(Clusters),
        Many(Vec<Clusters>),
    }
    Ok(match OneOrMany::deserialize(from)? {
        OneOrMany::One(clusters) => vec![clusters],
        OneOrMany::Many(clusters) => clusters,
    })
}

fn no_extra_clusters() -> Vec<i64> {
    vec![0]
}

fn paper_groups() -> Vec<usize> {
    vec![3, 4, 5, 6, 7]
}

fn paper_pairs() -> Vec<usize> {
    vec![1, 2, 3, 4]
}

fn paper_seeds() -> usize {
    30
}

fn both_settings() -> Vec<Setting> {
    vec![Setting::Transductive, Setting::Inductive]
}

fn both_directions() -> Vec<Direction> {
    vec![Direction::Forward, Direction::Reverse]
}

fn all_methods() -> Vec<String> {
    let baselines = BaselineSpec::ALL.iter().map(|e| e.name);
    [PAPER, DEFAULT].into_iter().chain(baselines).map(str::to_string).collect()
}

impl Experiment {
    /// Reads a TOML file and finds its data set, beside the file or in `data_folder`.
    pub fn read(path: &Path, data_folder: Option<&Path>) -> Result<Self, LabError> {
        let mut experiment = Self::parse_file(path)?;
        experiment.locate(path.parent().unwrap_or(Path::new(".")), data_folder)?;
        Ok(experiment)
    }

    /// Finds the files that the study names: its data set in `folder`, or else in `data_folder`,
    /// and what a search chose in `folder`.
    pub fn locate(&mut self, folder: &Path, data_folder: Option<&Path>) -> Result<(), LabError> {
        self.data = find_data(&self.data, folder, data_folder)?;
        self.tuned = self.tuned.take().map(|tuned| folder.join(tuned));
        Ok(())
    }

    /// Reads a TOML file as it is.
    pub fn parse_file(path: &Path) -> Result<Self, LabError> {
        let io = |source| LabError::Io { path: path.to_path_buf(), source };
        let text = std::fs::read_to_string(path).map_err(io)?;
        Self::parse(&text).map_err(|error| match error {
            LabError::BadFile { reason, .. } => {
                LabError::BadFile { path: path.to_path_buf(), reason }
            }
            error => error,
        })
    }

    /// The first key in which this study differs from another so that their runs must not be
    /// mixed. More cells, seeds or methods are no conflict.
    pub fn conflict(&self, other: &Self) -> Option<&'static str> {
        [
            ("data", self.data.file_name() != other.data.file_name()),
            ("x", self.x != other.x),
            ("y", self.y != other.y),
            ("seed", self.seed != other.seed),
            ("truth", self.truth != other.truth),
            ("tuned", self.tuned != other.tuned),
            ("protocol", self.protocol != other.protocol),
            ("parameters", self.parameters != other.parameters),
        ]
        .into_iter()
        .find_map(|(key, differs)| differs.then_some(key))
    }

    fn parse(text: &str) -> Result<Self, LabError> {
        let study: Self = toml::from_str(text).map_err(|e| not_a_study(&e))?;
        study.checked()
    }

    /// The study with these keys.
    pub(crate) fn from_table(keys: toml::Table) -> Result<Self, LabError> {
        let study: Self = keys.try_into().map_err(|e| not_a_study(&e))?;
        study.checked()
    }

    /// The study, if it can be carried out.
    fn checked(self) -> Result<Self, LabError> {
        for (name, empty) in [
            ("groups", self.groups.is_empty()),
            ("pairs", self.pairs.is_empty()),
            ("settings", self.settings.is_empty()),
            ("directions", self.directions.is_empty()),
            ("methods", self.methods.is_empty()),
            ("extra_clusters", self.extra_clusters.is_empty()),
            ("clusters", self.clusters.is_empty()),
            ("seeds", self.seeds == 0),
            ("many_pairs.seeds", self.many_pairs.is_some_and(|many| many.seeds == 0)),
        ] {
            if empty {
                return Err(LabError::BadValue { name, need: "at least one", got: "none".into() });
            }
        }
        if self.x == self.y {
            let got = format!("`{}`", self.y);
            return Err(LabError::BadValue { name: "y", need: "another column than `x`", got });
        }
        for name in self.methods.iter().chain(self.parameters.keys()) {
            self.contender(name)?;
        }
        for name in self.slow.iter().flat_map(|slow| &slow.methods) {
            if !self.methods.contains(name) {
                let methods = self.methods.iter().map(String::as_str);
                return Err(LabError::unknown("method in this study called", name, methods));
            }
        }
        Ok(self)
    }

    /// The baseline of that name with the parameters of this study.
    pub fn baseline(&self, name: &str) -> Result<BaselineSpec, LabError> {
        match self.contender(name)? {
            Contender::Baseline(spec) => Ok(spec),
            Contender::Bridged(_) => Err(LabError::NoGrid { method: name.to_string() }),
        }
    }

    /// Whether a method is asked for on a draw.
    pub fn asks(&self, method: &str, cell: StudyCell, run: usize) -> bool {
        let most = match self.many_pairs {
            Some(many) if cell.pairs >= many.from => many.seeds,
            _ => self.seeds,
        };
        // Baselines are told nothing, so the first answer about the count is theirs.
        let same = BaselineSpec::named(method).is_some() && cell.clusters != self.clusters[0];
        if run >= most || same || !self.tells(method, cell) {
            return false;
        }
        match &self.slow {
            Some(slow) if slow.methods.iter().any(|m| m == method) => {
                run < slow.seeds
                    && (self.is_natural() || slow.groups.contains(&cell.groups))
                    && slow.pairs.contains(&cell.pairs)
            }
            _ => true,
        }
    }

    /// Whether a form of Bridged Clustering is told so much: where a study also hides the number of groups, one
    /// that needs no number is told none, and one that does is always told.
    fn tells(&self, method: &str, cell: StudyCell) -> bool {
        let several = self.clusters.len() > 1 && self.clusters.contains(&Clusters::Hidden);
        match Contender::named(method) {
            Some(contender @ Contender::Bridged(_)) if several => {
                contender.told(None).is_some() == (cell.clusters == Clusters::Hidden)
            }
            _ => true,
        }
    }

    /// Whether all groups come as they are, so that `groups` does not count.
    pub fn is_natural(&self) -> bool {
        self.protocol.sizes == Sizes::Natural
    }

    /// Every cell of the study on a data set with so many groups that it may use.
    pub fn cells(&self, available: usize) -> Vec<StudyCell> {
        let all = [available];
        let counts = if self.is_natural() { &all[..] } else { &self.groups };
        let mut cells = Vec::new();
        for &direction in &self.directions {
            for &setting in &self.settings {
                for &groups in counts {
                    for &pairs in &self.pairs {
                        for &extra_clusters in &self.extra_clusters {
                            cells.extend(self.clusters.iter().map(|&clusters| StudyCell {
                                groups,
                                pairs,
                                setting,
                                direction,
                                extra_clusters,
                                clusters,
                            }));
                        }
                    }
                }
            }
        }
        cells
    }
}

/// The data set in the folder of its study, or in the folder of data sets.
fn find_data(data: &Path, folder: &Path, data_folder: Option<&Path>) -> Result<PathBuf, LabError> {
    let places: Vec<PathBuf> =
        [Some(folder), data_folder].into_iter().flatten().map(|place| place.join(data)).collect();
    if let Some(found) = places.iter().find(|p| p.exists()) {
        return Ok(found.clone());
    }
    let looked: Vec<String> = places.iter().map(|p| format!("`{}`", p.display())).collect();
    Err(LabError::NoData { data: data.to_path_buf(), looked: looked.join(", ") })
}

/// Why the keys of a file are not those of a study, with the nearest known key.
fn not_a_study(error: &toml::de::Error) -> LabError {
    let reason = error.to_string().trim_end().to_string();
    let reason = match nearest_key(error.message()) {
        Some(key) => format!("{reason} (did you mean `{key}`?)"),
        None => reason,
    };
    LabError::BadFile { path: PathBuf::new(), reason }
}

/// The known name that is most like the unknown one, from a message of serde's that lists both.
fn nearest_key(message: &str) -> Option<String> {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next().filter(|_| message.starts_with("unknown"))?;
    match LabError::unknown("key", unknown, names) {
        LabError::Unknown { nearest, .. } => nearest,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_without_wishes_is_that_of_the_paper() {
        let study = Experiment::parse("data = \"d.parquet\"").unwrap();
        assert_eq!(study.cells(7).len(), 2 * 2 * 20);
        assert_eq!(study.seeds, 30);
        assert_eq!(
            study.methods.len(),
            BaselineSpec::ALL.len() + 2,
            "and the paper's and the default"
        );
    }

    #[test]
    fn parameters_of_a_method_can_be_changed() {
        let study = "data = \"d.parquet\"\n[parameters.knn]\nk = 3\nweights = \"distance\"";
        let BaselineSpec::Knn(knn) = Experiment::parse(study).unwrap().baseline("knn").unwrap()
        else {
            panic!("knn is knn")
        };
        assert_eq!((knn.k, knn.weights), (3, bridged_baselines::Weights::Distance));
    }

    #[test]
    fn slow_methods_are_asked_for_on_fewer_draws() {
        let text = "data = \"d.parquet\"\nmethods = [\"knn\", \"gw\"]\n[slow]\n\
                    methods = [\"gw\"]\ngroups = [3]\npairs = [1, 2]\nseeds = 2";
        let study = Experiment::parse(text).unwrap();
        let cell = |groups| *study.cells(7).iter().find(|c| c.groups == groups).unwrap();
        assert!(study.asks("gw", cell(3), 1) && study.asks("knn", cell(4), 29));
        assert!(!study.asks("gw", cell(3), 2) && !study.asks("gw", cell(4), 0));
        let stranger = Experiment::parse(&text.replace("[\"gw\"]", "[\"em\"]")).unwrap_err();
        assert!(stranger.to_string().contains("no method in this study called `em`"), "{stranger}");
    }

    #[test]
    fn a_study_in_natural_sizes_has_all_groups_and_may_hide_their_number() {
        let text = "data = \"d.parquet\"\npairs = [3, 300]\nseeds = 10\nclusters = \"hidden\"\n\
                    directions = [\"forward\"]\nsettings = [\"inductive\"]\n\
                    [protocol]\nsizes = \"natural\"\npairing = \"iid\"\n\
                    [many_pairs]\nfrom = 300\nseeds = 5";
        let study = Experiment::parse(text).unwrap();
        let cells = study.cells(26);
        let told: Vec<_> = cells.iter().map(|c| (c.groups, c.pairs, c.k())).collect();
        assert_eq!(told, [(26, 3, None), (26, 300, None)]);
        assert!(study.asks("knn", cells[0], 9) && study.asks("knn", cells[1], 4));
        assert!(!study.asks("knn", cells[1], 5));
        let several = text.replace("\"hidden\"", "[\"known\", \"half\", \"double\"]");
        let cells = Experiment::parse(&several).unwrap().cells(7);
        let told: Vec<_> = cells[..3].iter().map(StudyCell::k).collect();
        let study = Experiment::parse(&several).unwrap();
        assert!(study.asks("bridged", cells[1], 0) && study.asks("knn", cells[0], 0));
        assert!(!study.asks("knn", cells[1], 0), "it is told nothing");
        assert_eq!(told, [Some(7), Some(4), Some(14)]);
        let typo = Experiment::parse(&text.replace("hidden", "hiden")).unwrap_err().to_string();
        assert!(typo.contains("\"known\", \"hidden\", \"half\" or \"double\""), "{typo}");
    }

    #[test]
    fn mistakes_are_answered_with_the_nearest_name() {
        let error = |text: &str| {
            Experiment::parse(&format!("data = \"d.parquet\"\n{text}")).unwrap_err().to_string()
        };
        let typo = error("gruops = [3]");
        assert!(typo.contains("did you mean `groups`?"), "{typo}");
        assert_eq!(error("methods = [\"knm\"]"), "there is no method `knm`; did you mean `knn`?");
        assert!(
            error("[parameters.knn]\ncolour = 1")
                .contains("`colour` does not apply: `knn` has k, weights")
        );
        assert_eq!(error("groups = []"), "`groups` must be at least one, got none");
        let protocol = error("[protocol]\nrow_per_group = 3");
        assert!(protocol.contains("did you mean `rows_per_group`?"), "{protocol}");
    }
}
