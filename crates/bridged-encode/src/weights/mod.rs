//! Weights by name, from local files: safetensors, or checkpoints of PyTorch read without running them.
//!
//! Wrappers put their own name before every tensor's (`bert.`, `module.`, `0.auto_model.`); a tensor is found with or
//! without. Numbers of half or double precision become `f32`; counters and position numbers are left out.

mod locate;
mod pickle;
mod torch;

use crate::EncodeError;
use bridged_math::memory;
use safetensors::{Dtype, SafeTensors};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// A number array with its shape, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The sizes of its axes.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub data: Vec<f32>,
}

/// All tensors of a checkpoint by the names that its authors gave them.
#[derive(Clone, Debug)]
pub struct Weights {
    /// The file, or the first of several, for errors and for what lies beside it.
    pub path: PathBuf,
    /// The encoder that they are for, for errors.
    pub encoder: &'static str,
    /// What else a checkpoint of PyTorch says, such as its configuration.
    pub notes: serde_json::Value,
    tensors: HashMap<String, Tensor>,
    wrappers: Vec<String>,
}

/// What wrappers put before the names of tensors.
const WRAPPERS: [&str; 6] =
    ["module.", "model.", "0.auto_model.", "auto_model.", "backbone.", "bert."];

impl Weights {
    /// Reads the weights of an encoder from a file, a folder that holds it, or the cache of Hugging Face.
    pub fn open(path: &Path, encoder: &'static str) -> Result<Self, EncodeError> {
        let files = locate::locate(path, encoder)?;
        let mut tensors = HashMap::new();
        let mut notes = serde_json::Value::Null;
        for file in &files {
            let bad = |reason| EncodeError::BadWeights { path: file.clone(), reason };
            if file.extension().is_some_and(|e| e == "safetensors") {
                tensors.extend(safe(file).map_err(bad)?);
            } else {
                let (more, said) = torch::read(file).map_err(bad)?;
                tensors.extend(more);
                notes = said;
            }
        }
        let path = files.into_iter().next().expect("locate gives at least one file");
        Ok(Self::from_tensors(path, encoder, tensors, notes))
    }

    /// The weights in the bytes of a safetensors file or of a checkpoint of PyTorch; `path` is named in errors, and its
    /// ending says which of the two.
    pub fn from_bytes(
        bytes: &[u8],
        path: &Path,
        encoder: &'static str,
    ) -> Result<Self, EncodeError> {
        let bad = |reason| EncodeError::BadWeights { path: path.to_path_buf(), reason };
        let (tensors, notes) = if path.extension().is_some_and(|e| e == "safetensors") {
            (safe_from(bytes).map_err(bad)?, serde_json::Value::Null)
        } else {
            let len = bytes.len() as u64;
            torch::read_from(std::io::Cursor::new(bytes), len).map_err(bad)?
        };
        Ok(Self::from_tensors(path.to_path_buf(), encoder, tensors, notes))
    }

    fn from_tensors(
        path: PathBuf,
        encoder: &'static str,
        tensors: HashMap<String, Tensor>,
        notes: serde_json::Value,
    ) -> Self {
        // The first BERT called the parameters of its norms gamma and beta.
        let tensors: HashMap<String, Tensor> = tensors
            .into_iter()
            .map(|(name, tensor)| match name.rsplit_once("LayerNorm.") {
                Some((start, "gamma")) => (format!("{start}LayerNorm.weight"), tensor),
                Some((start, "beta")) => (format!("{start}LayerNorm.bias"), tensor),
                _ => (name, tensor),
            })
            .collect();
        let wrappers: BTreeSet<String> = tensors.keys().map(|name| wrapper(name)).collect();
        Self { path, encoder, notes, tensors, wrappers: wrappers.into_iter().collect() }
    }

    /// A file beside the weights, such as `config.json`.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    /// Whether there is a tensor of that name.
    pub fn has(&self, name: &str) -> bool {
        self.key(name).is_some()
    }

    /// The shape of a tensor, if there is one of that name.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        Some(&self.tensors[&self.key(name)?].shape)
    }

    /// Takes a tensor out, which must have that shape and hold finite numbers.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncodeError> {
        let found = self.key(name).and_then(|key| self.tensors.remove(&key));
        match found {
            Some(t) if t.shape == shape && t.data.iter().all(|v| v.is_finite()) => Ok(t.data),
            Some(t) if t.shape == shape => Err(EncodeError::BadWeights {
                path: self.path.clone(),
                reason: format!(
                    "`{name}` holds numbers that are not finite; the file is damaged, take another copy"
                ),
            }),
            Some(t) => Err(self.other(format!("`{name}` is {:?}, not {shape:?}", t.shape))),
            None => Err(self.other(format!("`{name}` is missing"))),
        }
    }

    /// The error for weights of something else.
    pub fn other(&self, reason: String) -> EncodeError {
        EncodeError::OtherWeights { path: self.path.clone(), encoder: self.encoder, reason }
    }

    /// The full name of a tensor, with what a wrapper put before it.
    fn key(&self, name: &str) -> Option<String> {
        if self.tensors.contains_key(name) {
            return Some(name.to_string());
        }
        self.wrappers
            .iter()
            .map(|w| format!("{w}{name}"))
            .find(|key| self.tensors.contains_key(key))
    }
}

/// What wrappers put before this name.
fn wrapper(name: &str) -> String {
    let mut rest = name;
    while let Some(shorter) = WRAPPERS.iter().find_map(|w| rest.strip_prefix(w)) {
        rest = shorter;
    }
    name[..name.len() - rest.len()].to_string()
}

/// The tensors of a safetensors file.
fn safe(path: &Path) -> Result<HashMap<String, Tensor>, String> {
    let len = std::fs::metadata(path).map_err(|e| e.to_string())?.len();
    // The file and its numbers; those of half precision become twice as long.
    memory::require("its weights", len.saturating_mul(3)).map_err(|e| e.to_string())?;
    safe_from(&std::fs::read(path).map_err(|e| e.to_string())?)
}

/// The same from the bytes of the file.
fn safe_from(bytes: &[u8]) -> Result<HashMap<String, Tensor>, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
    let mut tensors = HashMap::new();
    for (name, view) in file.tensors() {
        let data: Vec<f32> = match view.dtype() {
            Dtype::F32 => numbers(view.data(), f32::from_le_bytes),
            Dtype::F64 => numbers(view.data(), |b| f64::from_le_bytes(b) as f32),
            Dtype::F16 => numbers(view.data(), |b| half::f16::from_le_bytes(b).to_f32()),
            Dtype::BF16 => numbers(view.data(), |b| half::bf16::from_le_bytes(b).to_f32()),
            _ => continue, // counters of batches and position numbers
        };
        tensors.insert(name, Tensor { shape: view.shape().to_vec(), data });
    }
    Ok(tensors)
}

/// Reads a pickle and tells it as JSON; for fuzzing.
#[doc(hidden)]
pub fn fuzz_pickle(bytes: &[u8]) -> Result<serde_json::Value, String> {
    let pickle = pickle::read(bytes)?;
    assert!(pickle.len <= bytes.len());
    Ok(pickle.json(&pickle.root))
}

fn numbers<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.chunks_exact(N).map(|b| read(b.try_into().expect("N bytes"))).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use safetensors::tensor::TensorView;

    /// Weights that were never in a file.
    pub fn from_memory(
        encoder: &'static str,
        tensors: impl IntoIterator<Item = (String, Vec<usize>, Vec<f32>)>,
    ) -> Weights {
        let tensors = tensors.into_iter().map(|(name, shape, data)| (name, Tensor { shape, data }));
        Weights::from_tensors("memory".into(), encoder, tensors.collect(), serde_json::Value::Null)
    }

    impl Weights {
        /// The names of all tensors, sorted.
        pub fn names(&self) -> Vec<String> {
            let mut names: Vec<String> = self.tensors.keys().cloned().collect();
            names.sort_unstable();
            names
        }

        /// Replaces the last number of a tensor.
        pub fn spoil(&mut self, name: &str, with: f32) {
            *self.tensors.get_mut(name).unwrap().data.last_mut().unwrap() = with;
        }
    }

    /// Writes a safetensors file with one tensor of two numbers under each name.
    pub fn save(path: &Path, names: &[&str]) {
        let bytes: Vec<u8> = [1.0f32, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = |_| TensorView::new(Dtype::F32, vec![2], &bytes).unwrap();
        safetensors::serialize_to_file(names.iter().map(|n| (*n, view(n))), None, path).unwrap();
    }

    #[test]
    fn a_tensor_is_found_with_and_without_what_wrappers_put_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        save(&path, &["module.bert.pooler.bias", "classifier.bias", "module.bert.LayerNorm.gamma"]);
        let mut weights = Weights::open(&path, "sentence-bert").unwrap();
        assert!(weights.has("pooler.bias") && weights.has("module.bert.pooler.bias"));
        assert!(weights.has("LayerNorm.weight") && !weights.has("bias"));
        assert_eq!(weights.shape("classifier.bias"), Some(&[2][..]));
        assert_eq!(weights.take("pooler.bias", &[2]).unwrap(), [1.0, 2.0]);
        let error = weights.take("pooler.bias", &[2]).unwrap_err().to_string();
        assert!(
            error.ends_with("holds no weights of sentence-bert: `pooler.bias` is missing"),
            "{error}"
        );
        let error = weights.take("classifier.bias", &[3]).unwrap_err().to_string();
        assert!(error.ends_with("`classifier.bias` is [2], not [3]"), "{error}");
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused_by_name() {
        let mut w = from_memory("a test", [("x.weight".into(), vec![2], vec![1.0, f32::NAN])]);
        let error = w.take("x.weight", &[2]).unwrap_err().to_string();
        assert!(error.contains("`x.weight` holds numbers that are not finite"), "{error}");
    }

    #[test]
    fn checkpoints_of_pytorch_are_read_in_both_formats() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/golden/checkpoints.json"))
                .unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (name, file) in golden["files"].as_object().unwrap() {
            let hex = file.as_str().unwrap().as_bytes();
            let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
            let bytes: Vec<u8> = hex.chunks(2).map(|d| digit(d[0]) << 4 | digit(d[1])).collect();
            let path = folder.path().join(name);
            std::fs::write(&path, &bytes).unwrap();
            let mut weights = Weights::open(&path, "sentence-bert").unwrap();
            for tensor in golden["tensors"].as_array().unwrap() {
                let key = tensor["name"].as_str().unwrap();
                let numbers = |key: &str| {
                    let numbers = tensor[key].as_array().unwrap().iter();
                    numbers.map(|v| v.as_f64().unwrap()).collect::<Vec<_>>()
                };
                let shape: Vec<usize> = numbers("shape").iter().map(|v| *v as usize).collect();
                let data: Vec<f32> = numbers("data").iter().map(|v| *v as f32).collect();
                assert_eq!(weights.take(key, &shape).unwrap(), data, "{name} {key}");
            }
            assert!(!weights.has("counter"), "whole numbers are left out");
            assert_eq!(weights.notes["bert_config"]["num_attention_heads"], 4, "{name}");
            // Whatever is cut off or changed is an error or other numbers, never a panic.
            for end in (0..bytes.len()).step_by(7) {
                std::fs::write(&path, &bytes[..end]).unwrap();
                assert!(Weights::open(&path, "sentence-bert").is_err(), "{name} {end}");
            }
        }
    }
}
