//! Where weights lie: a file, a folder, a folder of shards, or the cache of Hugging Face.
//!
//! The cache keeps a model in `models--owner--name/snapshots/<revision>/`, and names the current revision in
//! `refs/main`.

use crate::EncodeError;
use std::fs;
use std::path::{Path, PathBuf};

/// Names of weights, the first that is there is taken.
const NAMES: [&str; 4] = [
    "model.safetensors",
    "pytorch_model.bin",
    "model.safetensors.index.json",
    "pytorch_model.bin.index.json",
];

/// Endings of weights under other names.
const ENDINGS: [&str; 4] = ["safetensors", "pth", "pt", "bin"];

/// The files that hold the weights at `path`, at least one.
pub fn locate(path: &Path, encoder: &'static str) -> Result<Vec<PathBuf>, EncodeError> {
    let file = if path.is_file() { path.to_path_buf() } else { in_folder(path, encoder, 4)? };
    if file.extension().is_some_and(|e| e == "json") { shards(&file) } else { Ok(vec![file]) }
}

fn in_folder(folder: &Path, encoder: &'static str, depth: usize) -> Result<PathBuf, EncodeError> {
    let missing = || EncodeError::no_weights(folder, encoder);
    if depth == 0 {
        return Err(missing());
    }
    if let Some(file) = NAMES.iter().map(|name| folder.join(name)).find(|file| file.is_file()) {
        return Ok(file);
    }
    let revision = fs::read_to_string(folder.join("refs/main")).unwrap_or_default();
    let current = folder.join("snapshots").join(revision.trim());
    if !revision.trim().is_empty() && current.is_dir() {
        return in_folder(&current, encoder, depth - 1);
    }
    let entries: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(|_| missing())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    let one_of = |kind: &str, mut found: Vec<PathBuf>| match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => {
            found.sort();
            let names: Vec<String> = found.iter().map(|f| format!("`{}`", f.display())).collect();
            let reason = format!("it holds several {kind}; name one: {}", names.join(", "));
            Err(EncodeError::BadWeights { path: folder.to_path_buf(), reason })
        }
    };
    for ending in ENDINGS {
        let fits = |f: &PathBuf| f.is_file() && f.extension().is_some_and(|e| e == ending);
        if let Some(file) =
            one_of("files of weights", entries.iter().filter(|f| fits(f)).cloned().collect())?
        {
            return Ok(file);
        }
    }
    let name = |f: &Path| f.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let within = name(folder) == "snapshots";
    let inner = |f: &PathBuf| {
        let name = name(f);
        let known = name.starts_with("models--") || name == "snapshots" || name == "0_Transformer";
        f.is_dir() && (known || within || name == "hub")
    };
    match one_of("models", entries.iter().filter(|f| inner(f)).cloned().collect())? {
        Some(inner) => in_folder(&inner, encoder, depth - 1),
        None => Err(missing()),
    }
}

/// The files that an index names.
fn shards(index: &Path) -> Result<Vec<PathBuf>, EncodeError> {
    let bad = |reason: String| EncodeError::BadWeights { path: index.to_path_buf(), reason };
    let text = fs::read_to_string(index).map_err(|e| bad(e.to_string()))?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
    let map = json["weight_map"].as_object().into_iter().flat_map(|m| m.values());
    let mut files: Vec<&str> = map.filter_map(|file| file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    if files.is_empty() {
        return Err(bad("it names no files; give the weights themselves".into()));
    }
    files
        .into_iter()
        .map(|file| {
            let path = index.with_file_name(file);
            let here = Path::new(file).components().count() == 1;
            if here && path.is_file() {
                return Ok(path);
            }
            Err(bad(format!("it names `{file}`, which is not beside it")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::save;
    use super::*;
    use crate::Weights;

    #[test]
    fn the_cache_of_hugging_face_is_searched_from_any_of_its_folders() {
        let cache = tempfile::tempdir().unwrap();
        let model = cache.path().join("models--sentence-transformers--tiny");
        for revision in ["aaa", "bbb"] {
            fs::create_dir_all(model.join("snapshots").join(revision)).unwrap();
        }
        fs::create_dir_all(model.join("refs")).unwrap();
        fs::write(model.join("refs/main"), "bbb\n").unwrap();
        let file = model.join("snapshots/bbb/model.safetensors");
        save(&file, &["a"]);
        for at in [cache.path(), &model, &model.join("snapshots/bbb"), &file] {
            let found = locate(at, "sentence-bert").unwrap();
            assert_eq!(found, std::slice::from_ref(&file), "{}", at.display());
        }
        fs::create_dir(cache.path().join("models--other--one")).unwrap();
        let error = locate(cache.path(), "sentence-bert").unwrap_err().to_string();
        assert!(
            error.contains("several models; name one") && error.contains("models--other--one"),
            "{error}"
        );
    }

    #[test]
    fn shards_are_read_as_one() {
        let folder = tempfile::tempdir().unwrap();
        save(&folder.path().join("one.safetensors"), &["a"]);
        save(&folder.path().join("two.safetensors"), &["b"]);
        let index = folder.path().join("model.safetensors.index.json");
        let map = r#"{"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}"#;
        fs::write(&index, map).unwrap();
        let weights = Weights::open(folder.path(), "sentence-bert").unwrap();
        assert!(weights.has("a") && weights.has("b"));
        fs::write(&index, r#"{"weight_map": {"a": "../one.safetensors"}}"#).unwrap();
        let error = Weights::open(folder.path(), "sentence-bert").unwrap_err().to_string();
        assert!(error.contains("`../one.safetensors`, which is not beside it"), "{error}");
    }

    #[test]
    fn a_folder_without_weights_says_what_is_wanted_and_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path(), &folder.path().join("nowhere")] {
            let error = locate(path, "sentence-bert").unwrap_err().to_string();
            assert!(error.contains("no weights of sentence-bert"), "{error}");
            assert!(
                error.contains("model.safetensors") && error.contains("all-MiniLM-L6-v2"),
                "{error}"
            );
        }
    }
}
