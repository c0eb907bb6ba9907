//! Takes named arrays out of a safetensors file and checks them.

use bridged_math::Matrix;
use safetensors::{Dtype, SafeTensors};

/// An opened model file.
pub(super) struct Reader<'a> {
    tensors: SafeTensors<'a>,
}

impl<'a> Reader<'a> {
    /// Opens the bytes of a file; also gives its JSON header.
    pub fn new(bytes: &'a [u8]) -> Result<(Self, String), String> {
        let broken = |e| format!("it is damaged, cut off, or of another kind ({e})");
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
        let header = metadata.metadata().as_ref().and_then(|m| m.get("bridged")).cloned();
        let header = header.ok_or("it is a safetensors file, but one without a bridged header")?;
        let tensors = SafeTensors::deserialize(bytes).map_err(broken)?;
        Ok((Self { tensors }, header))
    }

    /// A tensor's bytes and shape, if it has the type and the known sizes.
    fn get(
        &self,
        name: &str,
        dtype: Dtype,
        need: &[Option<usize>],
    ) -> Result<(&'a [u8], Vec<usize>), String> {
        let view = self.tensors.tensor(name).map_err(|_| format!("it has no `{name}`"))?;
        let (kind, shape) = (view.dtype(), view.shape().to_vec());
        let fits = |(got, need): (&usize, &Option<usize>)| need.is_none_or(|n| n == *got);
        if kind != dtype || shape.len() != need.len() || !shape.iter().zip(need).all(fits) {
            return Err(format!("`{name}` has an unexpected type or shape ({kind:?} {shape:?})"));
        }
        Ok((view.data(), shape))
    }

    pub fn matrix(
        &self,
        name: &str,
        rows: Option<usize>,
        cols: Option<usize>,
    ) -> Result<Matrix, String> {
        let (bytes, shape) = self.get(name, Dtype::F32, &[rows, cols])?;
        let data = finite(name, numbers(bytes, f32::from_le_bytes), |v| v.is_finite())?;
        Matrix::new(shape[0], shape[1], data).map_err(|e| format!("`{name}`: {e}"))
    }

    pub fn f32s(&self, name: &str, len: Option<usize>) -> Result<Vec<f32>, String> {
        let (bytes, _) = self.get(name, Dtype::F32, &[len])?;
        finite(name, numbers(bytes, f32::from_le_bytes), |v| v.is_finite())
    }

    pub fn f64s(&self, name: &str, need: &[Option<usize>]) -> Result<Vec<f64>, String> {
        let (bytes, _) = self.get(name, Dtype::F64, need)?;
        finite(name, numbers(bytes, f64::from_le_bytes), |v| v.is_finite())
    }

    pub fn u32s(&self, name: &str, need: &[Option<usize>]) -> Result<Vec<u32>, String> {
        let (bytes, _) = self.get(name, Dtype::U32, need)?;
        Ok(numbers(bytes, u32::from_le_bytes))
    }

    pub fn strings(&self, name: &str, len: Option<usize>) -> Result<Vec<String>, String> {
        let (bytes, _) = self.get(name, Dtype::U8, &[None])?;
        let (ends, _) = self.get(&format!("{name}.ends"), Dtype::U64, &[len])?;
        let mut start = 0usize;
        numbers(ends, u64::from_le_bytes)
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

fn numbers<T, const N: usize>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.chunks_exact(N).map(|c| from(c.try_into().expect("chunks of N bytes"))).collect()
}

fn finite<T>(name: &str, values: Vec<T>, ok: impl Fn(&T) -> bool) -> Result<Vec<T>, String> {
    if values.iter().all(ok) { Ok(values) } else { Err(format!("`{name}` holds NaN or infinity")) }
}
