//! The studies of `experiments/` are those whose results are published, key by key.
//!
//! `tests/golden/studies.json` holds every `study.toml` as `bridged lab run` wrote it when a study
//! was still a file of its own.

use bridged_lab::catalogue::{ALL, Catalogue};
use bridged_lab::{Experiment, NamedStudy};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

/// Every data set under every condition, and the studies that are files of their own.
pub fn all() -> Vec<NamedStudy> {
    let folder = experiments();
    let all = [ALL.to_string()];
    let mut studies = Catalogue::read(&folder).unwrap().select(&all, &all).unwrap();
    for name in ["smoke", "smoke-natural"] {
        let study = Experiment::parse_file(&folder.join(format!("{name}.toml"))).unwrap();
        studies.push(NamedStudy { name: name.into(), study });
    }
    studies
}

#[test]
fn every_data_set_under_every_condition_is_the_study_that_was_published() {
    let found: BTreeMap<String, Value> = all()
        .into_iter()
        .map(|NamedStudy { name, study }| {
            // As `study.toml` keeps it: without the place of the data on this machine.
            let data = PathBuf::from(study.data.file_name().unwrap());
            let keys = toml::Table::try_from(Experiment { data, ..study }).unwrap();
            (name, serde_json::to_value(keys).unwrap())
        })
        .collect();
    let golden: BTreeMap<String, Value> =
        serde_json::from_str(include_str!("../../../../tests/golden/studies.json")).unwrap();
    assert_eq!(golden.len(), 67);
    // What came later: natural conditions, the seventh data set, and pairs that a model asks for.
    let later = |name: &str| {
        name.contains("natural")
            || name.starts_with("segments")
            || name.ends_with("-suggested")
            || name.ends_with("-by-chance")
    };
    let earlier: Vec<&String> = found.keys().filter(|name| !later(name)).collect();
    assert_eq!(earlier, golden.keys().collect::<Vec<_>>());
    for (name, study) in &golden {
        assert_eq!(&found[name], study, "{name}");
    }
}
