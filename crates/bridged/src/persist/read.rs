//! Takes named arrays out of a model file and checks them.

use super::checksum::check_array;
use super::file::ModelBytes;
use crate::Error;
use crate::kept::{KeptRows, RowSource};
use bridged_math::Matrix;
use safetensors::Dtype;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An opened model file, and what its arrays are checked by.
pub(super) struct Reader {
    bytes: ModelBytes,
    checksums: Option<BTreeMap<String, u32>>,
}

impl Reader {
    /// Reads from these bytes; of a version without checksums, there are none.
    pub fn new(bytes: ModelBytes, checksums: Option<BTreeMap<String, u32>>) -> Self {
        Self { bytes, checksums }
    }

    /// An array's bytes and shape, if it has the type and the known sizes.
    fn get(
        &self,
        name: &str,
        dtype: Dtype,
        need: &[Option<usize>],
    ) -> Result<(Vec<u8>, Vec<usize>), String> {
        let shape = self.shape(name, dtype, need)?;
        let bytes = self.bytes.read(&self.bytes.array(name)?);
        let bytes = bytes.map_err(|e| format!("`{name}` cannot be read ({e})"))?;
        if let Some(checksums) = &self.checksums {
            check_array(name, &bytes, checksums.get(name).copied())?;
        }
        Ok((bytes, shape))
    }

    /// An array's shape, if it has the type and the known sizes.
    fn shape(
        &self,
        name: &str,
        dtype: Dtype,
        need: &[Option<usize>],
    ) -> Result<Vec<usize>, String> {
        let array = self.bytes.array(name)?;
        let (kind, shape) = (array.dtype, array.shape);
        let fits = |(got, need): (&usize, &Option<usize>)| need.is_none_or(|n| n == *got);
        if kind != dtype || shape.len() != need.len() || !shape.iter().zip(need).all(fits) {
            return Err(format!("`{name}` has an unexpected type or shape ({kind:?} {shape:?})"));
        }
        Ok(shape)
    }

    pub fn matrix(
        &self,
        name: &str,
        rows: Option<usize>,
        cols: Option<usize>,
    ) -> Result<Matrix, String> {
        let (bytes, shape) = self.get(name, Dtype::F32, &[rows, cols])?;
        to_matrix(name, &bytes, &shape)
    }

    /// Rows that are read, and checked, when they are asked for.
    pub fn rows_later(&self, name: &str, rows: usize, cols: usize) -> Result<KeptRows, String> {
        self.shape(name, Dtype::F32, &[Some(rows), Some(cols)])?;
        let checksum = match &self.checksums {
            Some(checksums) => {
                let found = checksums.get(name).copied();
                Some(found.ok_or_else(|| format!("it is damaged: `{name}` has no checksum"))?)
            }
            None => None,
        };
        let source = InFile { bytes: self.bytes.clone(), name: name.to_string(), checksum };
        Ok(KeptRows::later((rows, cols), Arc::new(source)))
    }

    pub fn f32s(&self, name: &str, len: Option<usize>) -> Result<Vec<f32>, String> {
        let (bytes, _) = self.get(name, Dtype::F32, &[len])?;
        finite(name, numbers(&bytes, f32::from_le_bytes), |v| v.is_finite())
    }

    pub fn f64s(&self, name: &str, need: &[Option<usize>]) -> Result<Vec<f64>, String> {
        let (bytes, _) = self.get(name, Dtype::F64, need)?;
        finite(name, numbers(&bytes, f64::from_le_bytes), |v| v.is_finite())
    }

    pub fn u32s(&self, name: &str, need: &[Option<usize>]) -> Result<Vec<u32>, String> {
        let (bytes, _) = self.get(name, Dtype::U32, need)?;
        Ok(numbers(&bytes, u32::from_le_bytes))
    }

    pub fn u64s(&self, name: &str, len: Option<usize>) -> Result<Vec<u64>, String> {
        let (bytes, _) = self.get(name, Dtype::U64, &[len])?;
        Ok(numbers(&bytes, u64::from_le_bytes))
    }

    pub fn u8s(&self, name: &str, len: Option<usize>) -> Result<Vec<u8>, String> {
        Ok(self.get(name, Dtype::U8, &[len])?.0)
    }

    pub fn strings(&self, name: &str, len: Option<usize>) -> Result<Vec<String>, String> {
        let bytes = self.u8s(name, None)?;
        let mut start = 0usize;
        self.u64s(&format!("{name}.ends"), len)?
            .into_iter()
            .map(|end| {
                let part = usize::try_from(end).ok().and_then(|end| bytes.get(start..end));
                let text = part.and_then(|p| std::str::from_utf8(p).ok());
                let text = text.ok_or_else(|| format!("`{name}` is not a list of texts"))?;
                start = end as usize;
                Ok(text.to_string())
            })
            .collect()
    }
}

/// Rows that are still in the file.
struct InFile {
    bytes: ModelBytes,
    name: String,
    checksum: Option<u32>,
}

impl RowSource for InFile {
    fn read(&self) -> Result<Matrix, Error> {
        let Self { bytes, name, checksum } = self;
        let path = || bytes.path().to_path_buf();
        let damaged = |reason| Error::BadModel { path: path(), reason };
        let array = bytes.array(name).map_err(damaged)?;
        let found = bytes.read(&array).map_err(|source| Error::Io { path: path(), source })?;
        if checksum.is_some() {
            check_array(name, &found, *checksum).map_err(damaged)?;
        }
        to_matrix(name, &found, &array.shape).map_err(damaged)
    }
}

fn to_matrix(name: &str, bytes: &[u8], shape: &[usize]) -> Result<Matrix, String> {
    let data = finite(name, numbers(bytes, f32::from_le_bytes), |v| v.is_finite())?;
    Matrix::new(shape[0], shape[1], data).map_err(|e| format!("`{name}`: {e}"))
}

fn numbers<T, const N: usize>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.chunks_exact(N).map(|c| from(c.try_into().expect("chunks of N bytes"))).collect()
}

fn finite<T>(name: &str, values: Vec<T>, ok: impl Fn(&T) -> bool) -> Result<Vec<T>, String> {
    if values.iter().all(ok) { Ok(values) } else { Err(format!("`{name}` holds NaN or infinity")) }
}
