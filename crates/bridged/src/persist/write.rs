//! Collects named arrays and lays them out as one safetensors file.

use super::checksum::seal_header;
use bridged_math::Matrix;
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;

/// The longest header, in bytes, that every reader of safetensors accepts.
const LONGEST_HEADER: usize = 100_000_000;

/// Arrays on their way into a file.
#[derive(Default)]
pub(super) struct Writer<'a> {
    tensors: Vec<(String, Tensor<'a>)>,
}

struct Tensor<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl Tensor<'_> {
    fn is_finite(&self) -> bool {
        let bytes = &self.bytes;
        match self.dtype {
            Dtype::F32 => bytes.as_chunks().0.iter().all(|v| f32::from_le_bytes(*v).is_finite()),
            Dtype::F64 => bytes.as_chunks().0.iter().all(|v| f64::from_le_bytes(*v).is_finite()),
            _ => true,
        }
    }
}

impl<'a> Writer<'a> {
    pub fn matrix(&mut self, name: &str, m: &'a Matrix) {
        self.f32s(name, &[m.rows(), m.cols()], m.data());
    }

    pub fn f32s(&mut self, name: &str, shape: &[usize], values: &'a [f32]) {
        self.push(name, Dtype::F32, shape, little_endian(values, |v| v.to_le_bytes()));
    }

    pub fn f64s(&mut self, name: &str, shape: &[usize], values: &[f64]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.push(name, Dtype::F64, shape, Cow::Owned(bytes));
    }

    pub fn u32s(&mut self, name: &str, shape: &[usize], values: &[u32]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.push(name, Dtype::U32, shape, Cow::Owned(bytes));
    }

    pub fn u64s(&mut self, name: &str, values: &[u64]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.push(name, Dtype::U64, &[values.len()], Cow::Owned(bytes));
    }

    pub fn u8s(&mut self, name: &str, values: Vec<u8>) {
        self.push(name, Dtype::U8, &[values.len()], Cow::Owned(values));
    }

    /// Strings as one run of bytes and the position at which each ends.
    pub fn strings(&mut self, name: &str, values: &[String]) {
        let ends = values.iter().scan(0u64, |end, v| {
            *end += v.len() as u64;
            Some(*end)
        });
        let ends: Vec<u64> = ends.collect();
        self.u8s(name, values.concat().into_bytes());
        self.u64s(&format!("{name}.ends"), &ends);
    }

    /// The checksum of every array.
    pub fn checksums(&self) -> BTreeMap<String, u32> {
        self.tensors.iter().map(|(name, t)| (name.clone(), crc32fast::hash(&t.bytes))).collect()
    }

    fn push(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: Cow<'a, [u8]>) {
        self.tensors.push((name.to_string(), Tensor { dtype, shape: shape.to_vec(), bytes }));
    }

    /// The first array that holds a number that is not finite.
    pub fn not_finite(&self) -> Option<&str> {
        let found = self.tensors.iter().find(|(_, tensor)| !tensor.is_finite());
        found.map(|(name, _)| name.as_str())
    }

    /// The file, ready to be written.
    pub fn layout(mut self, header: &str) -> Result<Layout<'a>, String> {
        // As the safetensors crate orders them: wide types first, so that each array is aligned.
        self.tensors.sort_by(|(a, left), (b, right)| right.dtype.cmp(&left.dtype).then(a.cmp(b)));
        let mut end = 0;
        let infos = self.tensors.iter().map(|(name, tensor)| {
            let start = end;
            end += tensor.bytes.len();
            let (dtype, shape) = (tensor.dtype, tensor.shape.clone());
            (name.clone(), TensorInfo { dtype, shape, data_offsets: (start, end) })
        });
        let metadata = Metadata::new(Some(metadata(header)), infos.collect());
        let metadata = metadata.map_err(|e| e.to_string())?;
        let mut text = serde_json::to_vec(&metadata).map_err(|e| e.to_string())?;
        text.resize(text.len().next_multiple_of(8), b' ');
        if text.len() > LONGEST_HEADER {
            let most = LONGEST_HEADER / 1_000_000;
            return Err(format!("its header would be larger than {most} MB"));
        }
        let mut header = (text.len() as u64).to_le_bytes().to_vec();
        header.extend(text);
        seal_header(&mut header);
        Ok(Layout { header, tensors: self.tensors })
    }
}

/// The bytes of a file, one part after the other.
pub(super) struct Layout<'a> {
    header: Vec<u8>,
    tensors: Vec<(String, Tensor<'a>)>,
}

impl Layout<'_> {
    /// Writes the file.
    pub fn write(&self, sink: &mut dyn Write) -> std::io::Result<()> {
        sink.write_all(&self.header)?;
        self.tensors.iter().try_for_each(|(_, tensor)| sink.write_all(&tensor.bytes))
    }

    /// The length of the file.
    pub fn len(&self) -> usize {
        self.header.len() + self.tensors.iter().map(|(_, t)| t.bytes.len()).sum::<usize>()
    }
}

/// A map of one key: the order of its keys cannot vary.
fn metadata(header: &str) -> HashMap<String, String> {
    HashMap::from([("bridged".to_string(), header.to_string())])
}

/// The bytes of `f32`s: borrowed on a little-endian machine, as rows may be gigabytes.
fn little_endian(values: &[f32], to_bytes: impl Fn(&f32) -> [u8; 4]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(bytemuck::cast_slice(values))
    } else {
        Cow::Owned(values.iter().flat_map(to_bytes).collect())
    }
}
