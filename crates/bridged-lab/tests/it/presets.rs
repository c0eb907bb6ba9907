//! The studies in `experiments/` can be carried out.

use crate::studies;
use bridged_lab::{Dataset, NamedStudy, Runner};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

#[test]
fn every_preset_is_a_study_whose_draws_its_data_allow() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = studies::all();
    assert!(all.len() > 40, "{}", all.len());
    let mut names: Vec<_> = all.iter().map(|s| &s.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all.len(), "results of two presets would share a folder");

    let given = std::env::var_os("BRIDGED_DATA").map(PathBuf::from);
    let folder = given.unwrap_or(root.join("../shared/data"));
    let mut read: HashMap<PathBuf, Dataset> = HashMap::new();
    for NamedStudy { name, study } in all {
        let beside = root.join("experiments").join(&study.data);
        // Columns of other encoders and overlapping classes are made by `lab curate` first.
        let made = (study.x.as_str(), study.y.as_str()) != ("x", "y");
        let file = if made || beside.exists() { beside } else { folder.join(&study.data) };
        if !file.exists() {
            eprintln!("skipped: {name} needs {}", file.display());
            continue;
        }
        let columns = || Dataset::read_columns(&file, &study.x, &study.y).unwrap();
        let own;
        let data = match made {
            true => {
                own = columns();
                &own
            }
            false => read.entry(file.clone()).or_insert_with(columns),
        };
        Runner::new(&study, data).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}
