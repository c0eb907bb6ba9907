//! Checkpoints of PyTorch: `.pth`, `.pt`, `.bin`.
//!
//! Since version 1.6 a checkpoint is a zip archive of a pickle, which describes the tensors, and a file of raw numbers
//! for each storage. Before that it was five pickles in a row and the storages behind them. Only the storages of the
//! weights are read; those of an optimiser stay where they are.
//!
//! A checkpoint holds its numbers as they are, so tensors that have many more bytes than the file were not saved by
//! anybody: a zip that unpacks to a terabyte, or a thousand views of one storage.

use super::Tensor;
use super::pickle::{self, Node, Pickle, Storage, Strided, Value};
use bridged_math::memory;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::rc::Rc;

/// Where people keep the weights in a checkpoint that holds more.
const PLACES: [&str; 7] =
    ["state_dict", "model_state_dict", "model_state", "model", "module", "net", "params"];

/// The largest description of tensors that is read: models have less than a megabyte.
const MOST_DESCRIPTION: u64 = 64 << 20;

/// How many times the bytes of a file its tensors may have: half precision doubles, tied weights and deflate add.
const MOST_GROWTH: u64 = 16;

/// The tensors of a checkpoint, and what else it says, as JSON.
pub fn read(path: &Path) -> Result<(HashMap<String, Tensor>, Json), String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let len = file.metadata().map_err(|e| e.to_string())?.len();
    read_from(BufReader::new(file), len)
}

/// The same from anything that holds this many bytes.
pub fn read_from(
    mut file: impl Read + Seek,
    len: u64,
) -> Result<(HashMap<String, Tensor>, Json), String> {
    let mut start = [0; 4];
    file.read_exact(&mut start).map_err(|e| e.to_string())?;
    file.rewind().map_err(|e| e.to_string())?;
    let room = Room::of_file(len)?;
    if &start == b"PK\x03\x04" { zipped(file, room) } else { in_a_row(file, room) }
}

/// How many bytes of tensors may still come.
struct Room(u64);

impl Room {
    fn of_file(len: u64) -> Result<Self, String> {
        memory::require("its weights", len.saturating_mul(3)).map_err(|e| e.to_string())?;
        Ok(Self(len.saturating_mul(MOST_GROWTH)))
    }

    fn take(&mut self, bytes: u64) -> Result<(), String> {
        let left = self.0.checked_sub(bytes).ok_or_else(|| {
            format!(
                "its tensors have more than {MOST_GROWTH} times the bytes of the file, so it is damaged or made to harm"
            )
        })?;
        self.0 = left;
        Ok(())
    }
}

fn zipped(file: impl Read + Seek, room: Room) -> Result<(HashMap<String, Tensor>, Json), String> {
    let mut archive = zip::ZipArchive::new(file).map_err(|e| e.to_string())?;
    let mut names = archive.file_names().flatten();
    let name = names.find(|name| name.ends_with("/data.pkl")).map(|name| name.into_owned());
    drop(names);
    let name =
        name.ok_or("it is a zip archive, but not one that PyTorch saved: it has no `data.pkl`")?;
    let folder = name.trim_end_matches("data.pkl").to_string();
    let order = contents(&mut archive, &format!("{folder}byteorder"), 16).unwrap_or_default();
    if order == b"big" {
        return Err(
            "its numbers have their highest byte first; save it on a common processor".into()
        );
    }
    let pickle = pickle::read(&contents(&mut archive, &name, MOST_DESCRIPTION)?)?;
    tensors(&pickle, room, |storage, size, room| {
        let bytes = (storage.len as u64).saturating_mul(size as u64);
        room.take(bytes)?;
        contents(&mut archive, &format!("{folder}data/{}", storage.key), bytes)
    })
}

fn contents<R: Read + Seek>(
    archive: &mut zip::ZipArchive<R>,
    name: &str,
    most: u64,
) -> Result<Vec<u8>, String> {
    let entry = archive.by_name(name).map_err(|e| format!("`{name}` in it: {e}"))?;
    let mut bytes = Vec::new();
    entry.take(most).read_to_end(&mut bytes).map_err(|e| format!("`{name}` in it: {e}"))?;
    Ok(bytes)
}

/// The old format: magic number, version, machine, tensors, keys of the storages, and the storages.
fn in_a_row(mut file: impl Read, room: Room) -> Result<(HashMap<String, Tensor>, Json), String> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    const MAGIC: &[u8] = &[0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
    if !bytes.get(..16).is_some_and(|start| start.windows(MAGIC.len()).any(|w| w == MAGIC)) {
        return Err("it is neither safetensors nor a checkpoint of PyTorch".into());
    }
    let mut at = 0;
    let mut next = |bytes: &[u8]| -> Result<Pickle, String> {
        let pickle = pickle::read(&bytes[at..])?;
        at += pickle.len;
        Ok(pickle)
    };
    let (_magic, _version, _machine) = (next(&bytes)?, next(&bytes)?, next(&bytes)?);
    let (pickle, keys) = (next(&bytes)?, next(&bytes)?);
    let sizes: HashMap<&str, usize> = pickle
        .nodes()
        .iter()
        .filter_map(|node| match node {
            Node::Storage(s) => Some((&*s.key, size_of_kind(&s.kind)?)),
            _ => None,
        })
        .collect();
    let mut places = HashMap::new();
    let Some(Node::List(keys)) = keys.node(&keys.root) else {
        return Err("its list of storages is damaged".into());
    };
    for key in keys {
        let Value::Text(key) = key else { return Err("its list of storages is damaged".into()) };
        let size = *sizes.get(&**key).ok_or("a storage has a type that is not known")?;
        let short = "it ends in the middle; copy or download the file again";
        let len = bytes.get(at..at + 8).ok_or(short)?;
        let len = u64::from_le_bytes(len.try_into().expect("eight bytes")) as usize;
        let end = len.checked_mul(size).and_then(|n| n.checked_add(at + 8)).ok_or(short)?;
        places.insert(key.to_string(), bytes.get(at + 8..end).ok_or(short)?);
        at = end;
    }
    tensors(&pickle, room, |storage, _, room| {
        let place = places.get(&*storage.key).ok_or("a storage is missing")?;
        room.take(place.len() as u64)?;
        Ok(place.to_vec())
    })
}

/// Bytes of a number in a storage.
fn size_of_kind(kind: &str) -> Option<usize> {
    Some(match kind {
        "DoubleStorage" | "LongStorage" | "ComplexFloatStorage" => 8,
        "FloatStorage" | "IntStorage" => 4,
        "HalfStorage" | "BFloat16Storage" | "ShortStorage" => 2,
        "ByteStorage" | "CharStorage" | "BoolStorage" => 1,
        _ => return None,
    })
}

/// The tensors of the weights in a pickle, whose storages `load` reads; counters and masks are left out.
fn tensors(
    pickle: &Pickle,
    mut room: Room,
    mut load: impl FnMut(&Storage, usize, &mut Room) -> Result<Vec<u8>, String>,
) -> Result<(HashMap<String, Tensor>, Json), String> {
    let mut storages: HashMap<Rc<str>, Vec<f32>> = HashMap::new();
    let mut tensors = HashMap::new();
    for (name, value) in pickle.entries(state(pickle, &pickle.root)) {
        let Some(Node::Tensor(view)) = pickle.node(value) else { continue };
        let storage = &view.storage;
        let read: fn(&[u8]) -> Vec<f32> = match &*storage.kind {
            "FloatStorage" => |b| super::numbers(b, f32::from_le_bytes),
            "DoubleStorage" => |b| super::numbers(b, |b| f64::from_le_bytes(b) as f32),
            "HalfStorage" => |b| super::numbers(b, |b| half::f16::from_le_bytes(b).to_f32()),
            "BFloat16Storage" => |b| super::numbers(b, |b| half::bf16::from_le_bytes(b).to_f32()),
            _ => continue,
        };
        if !storages.contains_key(&storage.key) {
            let size = size_of_kind(&storage.kind).expect("the four kinds above are known");
            storages.insert(storage.key.clone(), read(&load(storage, size, &mut room)?));
        }
        let numbers = view.shape.iter().try_fold(4u64, |n, &s| n.checked_mul(s as u64));
        room.take(numbers.unwrap_or(u64::MAX))?;
        let data = gather(view, &storages[&storage.key]).ok_or_else(|| {
            format!("`{name}` reaches beyond its numbers; copy or download the file again")
        })?;
        tensors.insert(name.to_string(), Tensor { shape: view.shape.clone(), data });
    }
    if tensors.is_empty() {
        return Err("it holds no table of weights, in Python `model.state_dict()`".into());
    }
    Ok((tensors, pickle.json(&pickle.root)))
}

/// The dictionary of weights: the value itself, or where people keep it.
fn state<'a>(pickle: &'a Pickle, root: &'a Value) -> &'a Value {
    let is_tensor = |v: &Value| matches!(pickle.node(v), Some(Node::Tensor(_)));
    let mut at = root;
    for _ in 0..4 {
        let inner = PLACES.iter().find_map(|place| {
            let found = pickle.entries(at).find(|(key, _)| key == place);
            found.map(|(_, v)| v).filter(|v| pickle.entries(v).next().is_some())
        });
        let weights = pickle.entries(at).filter(|(_, v)| is_tensor(v)).count();
        match inner {
            Some(inner) if weights <= 1 => at = inner,
            _ => break,
        }
    }
    at
}

/// The numbers of a view in row-major order, if its storage has them all.
fn gather(view: &Strided, storage: &[f32]) -> Option<Vec<f32>> {
    let len = view.shape.iter().try_fold(1usize, |n, &s| n.checked_mul(s))?;
    if len == 0 {
        return Some(Vec::new());
    }
    let reach =
        view.shape.iter().zip(&view.strides).try_fold(view.offset, |last, (&size, &stride)| {
            last.checked_add((size - 1).checked_mul(stride)?)
        })?;
    // A view that repeats numbers could be of any size; no weights are.
    if reach >= storage.len() || len > storage.len() {
        return None;
    }
    let mut at = vec![view.offset];
    for (&size, &stride) in view.shape.iter().zip(&view.strides) {
        at = at.iter().flat_map(|&start| (0..size).map(move |i| start + i * stride)).collect();
    }
    Some(at.into_iter().map(|i| storage[i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(offset: usize, shape: &[usize], strides: &[usize]) -> Strided {
        let storage = Storage { kind: "FloatStorage".into(), key: "0".into(), len: 6 };
        Strided { storage, offset, shape: shape.to_vec(), strides: strides.to_vec() }
    }

    #[test]
    fn strides_and_offsets_are_followed() {
        let numbers = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let gathered = |offset, shape: &[usize], strides: &[usize]| {
            gather(&view(offset, shape, strides), &numbers)
        };
        assert_eq!(gathered(0, &[2, 3], &[3, 1]).unwrap(), numbers);
        assert_eq!(gathered(0, &[3, 2], &[1, 3]).unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(gathered(4, &[], &[]).unwrap(), [4.0]);
        assert_eq!(gathered(4, &[0, 3], &[3, 1]).unwrap(), [0.0; 0]);
        assert_eq!(gathered(1, &[2, 3], &[3, 1]), None);
        assert_eq!(gathered(0, &[1 << 40], &[0]), None);
        assert_eq!(gathered(0, &[usize::MAX, usize::MAX], &[1, 1]), None);
    }

    /// A zip as PyTorch saves it: tensors of these names, each all of one storage of `len` numbers, which are zeros.
    fn checkpoint(names: &[String], len: u32, method: zip::CompressionMethod) -> Vec<u8> {
        use std::io::Write;
        let text = |text: &str| {
            [b"X".as_slice(), &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
        };
        let number = |n: u32| [b"J".as_slice(), &n.to_le_bytes()].concat();
        let mut pickle = b"\x80\x02}(".to_vec();
        for name in names {
            pickle.extend(text(name));
            pickle.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((");
            pickle.extend([text("storage"), b"ctorch\nFloatStorage\n".to_vec()].concat());
            pickle.extend([text("0"), text("cpu"), number(len), b"tQ".to_vec()].concat());
            pickle.extend([number(0), number(len), b"\x85".to_vec(), number(1)].concat());
            pickle.extend(b"\x85\x89NtR");
        }
        pickle.extend(b"u.");
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        for (name, bytes) in [("m/data.pkl", pickle), ("m/data/0", vec![0; 4 * len as usize])] {
            archive.start_file(name, options).unwrap();
            archive.write_all(&bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn tensors_of_many_times_the_bytes_of_the_file_are_refused() {
        use zip::CompressionMethod::{Deflated, Stored};
        let names = |n: usize| (0..n).map(|i| format!("w{i}")).collect::<Vec<_>>();
        let read = |file: Vec<u8>| {
            let len = file.len() as u64;
            read_from(std::io::Cursor::new(file), len).map(|(tensors, _)| tensors.len())
        };
        assert_eq!(read(checkpoint(&names(2), 1000, Stored)), Ok(2));
        assert_eq!(read(checkpoint(&names(1), 300, Deflated)), Ok(1));
        // A zip bomb, and a thousand views of one storage.
        for bomb in
            [checkpoint(&names(1), 4 << 20, Deflated), checkpoint(&names(1000), 100_000, Stored)]
        {
            let error = read(bomb).unwrap_err();
            assert!(error.contains("more than 16 times the bytes of the file"), "{error}");
        }
    }
}
