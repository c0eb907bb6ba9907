//! Weights by name, from a local file.

use crate::EncodeError;
use safetensors::{Dtype, SafeTensors};
use std::collections::HashMap;
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
    /// The file, for errors.
    pub path: PathBuf,
    /// The encoder that they are for, for errors.
    pub encoder: &'static str,
    tensors: HashMap<String, Tensor>,
}

impl Weights {
    /// Reads a safetensors file for an encoder.
    pub fn open(path: &Path, encoder: &'static str) -> Result<Self, EncodeError> {
        let bad = |reason: String| EncodeError::BadWeights { path: path.to_path_buf(), reason };
        let bytes = std::fs::read(path).map_err(|e| bad(e.to_string()))?;
        let file = SafeTensors::deserialize(&bytes).map_err(|e| bad(e.to_string()))?;
        let mut tensors = HashMap::new();
        for (name, view) in file.tensors() {
            let data: Vec<f32> = match view.dtype() {
                Dtype::F32 => numbers(view.data(), f32::from_le_bytes),
                Dtype::F16 => numbers(view.data(), |b| half::f16::from_le_bytes(b).to_f32()),
                Dtype::BF16 => numbers(view.data(), |b| half::bf16::from_le_bytes(b).to_f32()),
                _ => continue, // counters of batches and position numbers
            };
            tensors.insert(name, Tensor { shape: view.shape().to_vec(), data });
        }
        Ok(Self { path: path.to_path_buf(), encoder, tensors })
    }

    /// Whether there is a tensor of that name.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Takes a tensor out, which must have that shape.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncodeError> {
        let other = |reason: String| EncodeError::OtherWeights {
            path: self.path.clone(),
            encoder: self.encoder,
            reason,
        };
        match self.tensors.remove(name) {
            Some(t) if t.shape == shape => Ok(t.data),
            Some(t) => Err(other(format!("`{name}` is {:?}, not {shape:?}", t.shape))),
            None => Err(other(format!("`{name}` is missing"))),
        }
    }
}

fn numbers<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.chunks_exact(N).map(|b| read(b.try_into().expect("N bytes"))).collect()
}
