//! The studies in `experiments/` can be carried out.

use bridged_lab::{Dataset, Experiment, Runner};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Every TOML file below a folder.
fn studies(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(studies(&path)),
            false if path.extension().is_some_and(|e| e == "toml") => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

#[test]
fn every_preset_is_a_study_whose_draws_its_data_allow() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = studies(&root.join("experiments"));
    assert!(all.len() > 40, "{}", all.len());
    let mut names: Vec<_> = all.iter().map(|p| p.file_name().unwrap()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all.len(), "results of two presets would share a folder");

    let given = std::env::var_os("BRIDGED_DATA").map(PathBuf::from);
    let folder = given.unwrap_or(root.join("../shared/data"));
    let mut read: HashMap<PathBuf, Dataset> = HashMap::new();
    for path in all {
        let study = Experiment::parse_file(&path).unwrap();
        let beside = path.with_file_name(&study.data);
        // Columns of other encoders and overlapping classes are made by `lab curate` first.
        let made = (study.x.as_str(), study.y.as_str()) != ("x", "y");
        let file = if made || beside.exists() { beside } else { folder.join(&study.data) };
        if !file.exists() {
            eprintln!("skipped: {} needs {}", path.display(), file.display());
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
        Runner::new(&study, data).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}
