//! Collects named arrays and writes them as one safetensors file.

use super::checksum::seal_header;
use crate::Error;
use bridged_math::Matrix;
use safetensors::Dtype;
use safetensors::tensor::{View, serialize, serialize_to_file};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

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

impl View for &Tensor<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
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

    /// The file in memory.
    pub fn bytes(self, header: &str) -> Result<Vec<u8>, Error> {
        let tensors = self.tensors.iter().map(|(name, tensor)| (name, tensor));
        let mut bytes = serialize(tensors, Some(metadata(header))).map_err(|e| Error::Io {
            path: "memory".into(),
            source: std::io::Error::other(e.to_string()),
        })?;
        let header = 8 + length_of_header(&bytes);
        seal_header(&mut bytes[..header]);
        Ok(bytes)
    }

    /// Writes a temporary file beside `path` and renames it.
    pub fn finish(self, path: &Path, header: &str) -> Result<(), Error> {
        let io = |source| Error::Io { path: path.to_path_buf(), source };
        if path.is_dir() {
            return Err(io(std::io::Error::other("is a directory; name a file in it")));
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".bridged-").suffix(".tmp");
        #[cfg(unix)]
        {
            // A model is not a secret: whoever may read a new file here may read it.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(folder).map_err(io)?;
        let tensors = self.tensors.iter().map(|(name, tensor)| (name, tensor));
        serialize_to_file(tensors, Some(metadata(header)), temporary.path()).map_err(
            |e| match e {
                safetensors::SafeTensorError::IoError(e) => io(e),
                other => io(std::io::Error::other(other.to_string())),
            },
        )?;
        // The serialiser has put a file of its own at that path, private and not yet on the disk.
        let permissions = temporary.as_file().metadata().map_err(io)?.permissions();
        std::fs::set_permissions(temporary.path(), permissions).map_err(io)?;
        seal_file(temporary.path()).map_err(io)?;
        temporary.persist(path).map_err(|e| io(e.error))?;
        Ok(())
    }
}

/// Writes the checksum of a file's header into it, and the file to the disk.
fn seal_file(path: &Path) -> std::io::Result<()> {
    let mut file = std::fs::File::options().read(true).write(true).open(path)?;
    let mut header = vec![0; 8];
    file.read_exact(&mut header)?;
    header.resize(8 + length_of_header(&header), 0);
    file.read_exact(&mut header[8..])?;
    seal_header(&mut header);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&header)?;
    file.sync_all()
}

fn length_of_header(bytes: &[u8]) -> usize {
    u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize
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
