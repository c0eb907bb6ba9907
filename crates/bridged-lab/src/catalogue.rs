//! A folder of studies: data sets × conditions.
//!
//! ```text
//! experiments/
//!   datasets/flickr8k.toml          the table, and what every study of it has in common
//!   conditions/random-pairs.toml    what the condition changes
//! ```
//!
//! Both hold keys of a study ([`Experiment`]) and `about`, one line for a list. The study of a data
//! set under a condition has the keys of both; where both have one, the condition's counts. A
//! condition may also have
//!
//! ```toml
//! datasets = ["emoji", "fashion"]   # the data sets that it is for; all of them where it is absent
//!
//! [dataset.fashion.protocol]        # what it changes on one data set alone
//! rows_per_group = 150
//! ```
//!
//! A study is called by its data set under the condition `base`, by both names otherwise
//! (`flickr8k-random-pairs`), or as `name` says in the table of a data set.

use crate::{Experiment, LabError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The condition of a study that names none.
pub const BASE: &str = "base";

/// What stands for every data set, or every condition.
pub const ALL: &str = "all";

/// Data sets and the conditions that they are studied under.
#[derive(Clone, Debug)]
pub struct Catalogue {
    folder: PathBuf,
    /// In the order of their names.
    pub datasets: Vec<CatalogueFile>,
    /// In the order of their names, `base` first.
    pub conditions: Vec<CatalogueFile>,
}

/// A data set or a condition: one file of a catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueFile {
    /// The name of its file.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// The data sets that a condition is for; none where it is for all of them.
    datasets: Option<Vec<String>>,
    /// What a condition changes on one data set alone.
    dataset: BTreeMap<String, Table>,
    /// Its keys of a study.
    keys: Table,
}

/// A study with the name that its results are kept under.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedStudy {
    /// The name.
    pub name: String,
    /// The study.
    pub study: Experiment,
}

impl Catalogue {
    /// Reads the data sets and conditions of a folder.
    pub fn read(folder: &Path) -> Result<Self, LabError> {
        let datasets = read_parts(&folder.join("datasets"))?;
        let mut conditions = read_parts(&folder.join("conditions"))?;
        conditions.sort_by_key(|c| c.name != BASE);
        for part in &datasets {
            if part.datasets.is_some() || !part.dataset.is_empty() {
                let reason = "`datasets` and `dataset` are keys of a condition".to_string();
                let path = folder.join("datasets").join(format!("{}.toml", part.name));
                return Err(LabError::BadFile { path, reason });
            }
        }
        let catalogue = Self { folder: folder.to_path_buf(), datasets, conditions };
        for condition in &catalogue.conditions {
            let listed = condition.datasets.iter().flatten().chain(condition.dataset.keys());
            for name in listed {
                catalogue.dataset(name)?;
            }
        }
        Ok(catalogue)
    }

    /// The folder that it was read from.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The data sets that a condition is for.
    pub fn datasets_of<'a>(
        &'a self,
        condition: &'a CatalogueFile,
    ) -> impl Iterator<Item = &'a CatalogueFile> {
        self.datasets.iter().filter(|dataset| condition.is_for(dataset))
    }

    /// The studies of some data sets under some conditions, by name. `all` stands for every data
    /// set, or for every condition, and leaves out what a condition is not for.
    pub fn select(
        &self,
        datasets: &[String],
        conditions: &[String],
    ) -> Result<Vec<NamedStudy>, LabError> {
        let any = |names: &[String]| names.iter().any(|name| name == ALL);
        let chosen_datasets: Vec<&CatalogueFile> = match any(datasets) {
            true => self.datasets.iter().collect(),
            false => datasets.iter().map(|name| self.dataset(name)).collect::<Result<_, _>>()?,
        };
        let chosen_conditions: Vec<&CatalogueFile> = match any(conditions) {
            true => self.conditions.iter().collect(),
            false => {
                conditions.iter().map(|name| self.condition(name)).collect::<Result<_, _>>()?
            }
        };
        let mut studies: Vec<NamedStudy> = Vec::new();
        for condition in chosen_conditions {
            for dataset in &chosen_datasets {
                if !condition.is_for(dataset) && (any(datasets) || any(conditions)) {
                    continue;
                }
                let study = self.study(dataset, condition)?;
                if studies.iter().all(|other| other.name != study.name) {
                    studies.push(study);
                }
            }
        }
        Ok(studies)
    }

    fn dataset(&self, name: &str) -> Result<&CatalogueFile, LabError> {
        find(&self.datasets, "data set", name)
    }

    fn condition(&self, name: &str) -> Result<&CatalogueFile, LabError> {
        find(&self.conditions, "condition", name)
    }

    fn study(
        &self,
        dataset: &CatalogueFile,
        condition: &CatalogueFile,
    ) -> Result<NamedStudy, LabError> {
        let path = self.folder.join("conditions").join(format!("{}.toml", condition.name));
        if !condition.is_for(dataset) {
            let names: Vec<&str> = self.datasets_of(condition).map(|d| d.name.as_str()).collect();
            let reason = format!(
                "this condition is not for {}; it is for {}",
                dataset.name,
                names.join(", ")
            );
            return Err(LabError::BadFile { path, reason });
        }
        let mut keys = dataset.keys.clone();
        overlay(&mut keys, &condition.keys);
        if let Some(own) = condition.dataset.get(&dataset.name) {
            overlay(&mut keys, own);
        }
        let name = match keys.remove("name") {
            Some(Value::String(name)) => name,
            Some(other) => {
                let got = other.to_string();
                return Err(LabError::BadValue { name: "name", need: "a text", got });
            }
            None if condition.name == BASE => dataset.name.clone(),
            None => format!("{}-{}", dataset.name, condition.name),
        };
        let study = Experiment::from_table(keys).map_err(|error| match error {
            LabError::BadFile { reason, .. } => {
                LabError::BadFile { path, reason: format!("with {}: {reason}", dataset.name) }
            }
            error => error,
        })?;
        Ok(NamedStudy { name, study })
    }
}

impl CatalogueFile {
    fn is_for(&self, dataset: &CatalogueFile) -> bool {
        self.datasets.as_ref().is_none_or(|names| names.contains(&dataset.name))
    }

    fn parse(name: String, text: &str) -> Result<Self, String> {
        let mut keys: Table = toml::from_str(text).map_err(|e| e.to_string())?;
        let about = match keys.remove("about") {
            Some(Value::String(about)) => about,
            _ => return Err("needs `about`, a line that says what it is".to_string()),
        };
        let datasets = keys.remove("datasets").map(Value::try_into).transpose();
        let datasets = datasets.map_err(|e| format!("`datasets`: {}", e.message()))?;
        let dataset = keys.remove("dataset").map_or(Ok(BTreeMap::new()), Value::try_into);
        let dataset = dataset.map_err(|e| format!("`dataset`: {}", e.message()))?;
        Ok(Self { name, about, datasets, dataset, keys })
    }
}

/// Replaces keys by those of another table; tables in both are taken key by key.
fn overlay(keys: &mut Table, changes: &Table) {
    for (key, value) in changes {
        match (keys.get_mut(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => overlay(old, new),
            _ => {
                keys.insert(key.clone(), value.clone());
            }
        }
    }
}

fn find<'a>(
    parts: &'a [CatalogueFile],
    kind: &'static str,
    name: &str,
) -> Result<&'a CatalogueFile, LabError> {
    let known = || parts.iter().map(|part| part.name.as_str());
    let found = parts.iter().find(|part| part.name == name);
    found.ok_or_else(|| LabError::unknown(kind, name, known()))
}

/// The TOML files of a folder, in the order of their names.
fn read_parts(folder: &Path) -> Result<Vec<CatalogueFile>, LabError> {
    let bad = |reason: &str| LabError::BadFile { path: folder.into(), reason: reason.into() };
    let entries = std::fs::read_dir(folder).map_err(|_| {
        bad("there is no such folder; a folder of studies holds `datasets/` and `conditions/`")
    })?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    paths.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    if paths.is_empty() {
        return Err(bad("holds no TOML file"));
    }
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path)
            .map_err(|source| LabError::Io { path: path.clone(), source })?;
        let name = path.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        CatalogueFile::parse(name, &text).map_err(|reason| LabError::BadFile { path, reason })
    };
    paths.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two data sets; a base, a condition for both and one for the second alone.
    fn folder() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let dataset = |name: &str, rows: usize| {
            format!(
                "about = \"{name}\"\ndata = \"{name}.parquet\"\n[protocol]\nrows_per_group = {rows}\n"
            )
        };
        write("datasets/digits.toml", &dataset("digits", 200));
        write("datasets/emoji.toml", &dataset("emoji", 80));
        write("conditions/base.toml", "about = \"plain\"\nseeds = 10\nmethods = [\"knn\"]\n");
        write(
            "conditions/random-pairs.toml",
            "about = \"pairs at random\"\nseeds = 3\n[protocol]\npairing = \"iid\"\n\
             [dataset.emoji.protocol]\nrows_per_group = 70\n",
        );
        write(
            "conditions/tfidf.toml",
            "about = \"other vectors\"\ndatasets = [\"emoji\"]\ny = \"y_tfidf\"\n\
             [dataset.emoji]\nname = \"emoji-words\"\n",
        );
        directory
    }

    fn names(studies: &[NamedStudy]) -> Vec<&str> {
        studies.iter().map(|s| s.name.as_str()).collect()
    }

    fn select(data: &[&str], conditions: &[&str]) -> Result<Vec<NamedStudy>, LabError> {
        let directory = folder();
        let of = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        Catalogue::read(directory.path()).unwrap().select(&of(data), &of(conditions))
    }

    #[test]
    fn a_condition_replaces_keys_of_the_data_set_and_may_differ_on_one_of_them() {
        let studies = select(&["digits", "emoji"], &["random-pairs"]).unwrap();
        assert_eq!(names(&studies), ["digits-random-pairs", "emoji-random-pairs"]);
        let rows: Vec<usize> = studies.iter().map(|s| s.study.protocol.rows_per_group).collect();
        assert_eq!(rows, [200, 70]);
        for NamedStudy { study, .. } in &studies {
            assert_eq!((study.seeds, study.protocol.pairing), (3, crate::Pairing::Iid));
        }
    }

    #[test]
    fn all_stands_for_every_study_that_there_is_and_base_comes_first() {
        let studies = select(&["all"], &["all"]).unwrap();
        let expected =
            ["digits", "emoji", "digits-random-pairs", "emoji-random-pairs", "emoji-words"];
        assert_eq!(names(&studies), expected);
        assert_eq!(names(&select(&["all"], &["tfidf"]).unwrap()), ["emoji-words"]);
        assert_eq!(names(&select(&["emoji", "emoji"], &["base"]).unwrap()), ["emoji"]);
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        let error =
            |data: &str, condition: &str| select(&[data], &[condition]).unwrap_err().to_string();
        assert_eq!(error("digts", "base"), "there is no data set `digts`; did you mean `digits`?");
        let unknown = error("digits", "random-pair");
        assert_eq!(unknown, "there is no condition `random-pair`; did you mean `random-pairs`?");
        let not_for = error("digits", "tfidf");
        assert!(
            not_for.ends_with("this condition is not for digits; it is for emoji"),
            "{not_for}"
        );
    }

    #[test]
    fn a_mistake_in_a_file_is_said_with_its_name() {
        let directory = folder();
        let conditions = directory.path().join("conditions");
        std::fs::write(conditions.join("new.toml"), "about = \"new\"\ngruops = [3]\n").unwrap();
        let catalogue = Catalogue::read(directory.path()).unwrap();
        let error = catalogue.select(&["emoji".into()], &["new".into()]).unwrap_err().to_string();
        assert!(error.contains("new.toml`: with emoji: unknown field `gruops`"), "{error}");
        assert!(error.contains("did you mean `groups`?"), "{error}");
        std::fs::write(conditions.join("new.toml"), "seeds = 3\n").unwrap();
        let error = Catalogue::read(directory.path()).unwrap_err().to_string();
        assert!(error.contains("new.toml`: needs `about`"), "{error}");
        std::fs::write(conditions.join("new.toml"), "about = \"a\"\ndatasets = [\"emojis\"]\n")
            .unwrap();
        let error = Catalogue::read(directory.path()).unwrap_err().to_string();
        assert_eq!(error, "there is no data set `emojis`; did you mean `emoji`?");
        let error = Catalogue::read(&conditions).unwrap_err().to_string();
        assert!(error.contains("a folder of studies holds `datasets/` and `conditions/`"));
    }
}
