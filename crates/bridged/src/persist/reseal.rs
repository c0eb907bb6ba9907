//! Makes the checksums of a changed model file right again, so that a fuzzer gets behind them.
//!
//! Nothing of the library calls this: without it, whatever a fuzzer changes is found by a checksum, and the code
//! that reads arrays is never reached with values that it does not expect.

use super::checksum::{ZEROS, seal_header};
use serde_json::Value;

/// The most bytes of arrays that are made up where a header asks for more than there are.
const MOST_DATA: usize = 1 << 20;

/// The file with a header of the right length, arrays of the length that the header says, and checksums that
/// hold; nothing if it has no header of JSON.
pub fn reseal(bytes: &[u8]) -> Option<Vec<u8>> {
    let rest = bytes.get(8..)?;
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Value>();
    let mut meta = values.next()?.ok()?;
    // Writers pad a header with spaces.
    let padding = rest[values.byte_offset()..].iter().take_while(|b| **b == b' ').count();
    let mut data = rest[values.byte_offset() + padding..].to_vec();
    let inner = meta.get("__metadata__")?.get("bridged")?.as_str()?;
    let mut header: Value = serde_json::from_str(inner).ok()?;
    let place = |value: &Value| -> Option<(usize, usize)> {
        let offsets = value.get("data_offsets")?;
        let at = |i: usize| usize::try_from(offsets.get(i)?.as_u64()?).ok();
        Some((at(0)?, at(1)?))
    };
    let arrays: Vec<(String, (usize, usize))> = meta
        .as_object()?
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), place(value)?)))
        .collect();
    let end = arrays.iter().map(|(_, (_, end))| *end).max().unwrap_or(0);
    if end <= MOST_DATA {
        data.resize(end, 0);
    }
    let object = header.as_object_mut()?;
    let sums = arrays.into_iter().filter_map(|(name, (from, to))| {
        Some((name, Value::from(crc32fast::hash(data.get(from..to)?))))
    });
    object.insert("checksums".into(), Value::Object(sums.collect()));
    object.insert("crc32".into(), ZEROS.into());
    meta["__metadata__"]["bridged"] = Value::from(header.to_string());
    let mut text = meta.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut file = (text.len() as u64).to_le_bytes().to_vec();
    file.extend(text);
    seal_header(&mut file);
    file.extend(data);
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BridgedClustering, BridgedModel, Matrix, Problem, Seed, Silent};
    use std::path::Path;

    #[test]
    fn a_changed_model_is_refused_by_its_checksums_and_read_when_they_are_made_right() {
        let rows = Matrix::from_fn(12, 2, |i, j| (i / 6 * 9) as f32 + ((i * 7 + j) % 5) as f32);
        let problem = Problem::new(rows.view(), rows.view(), &[(0, 0), (11, 11)]);
        let model = BridgedClustering::with_k(2).fit(problem, Seed(0), &Silent).unwrap();
        let whole = model.to_bytes().unwrap();
        let read = |bytes: &[u8]| BridgedModel::from_bytes(bytes, Path::new("m.bridged"));
        assert_eq!(read(&reseal(&whole).unwrap()).unwrap(), model);
        let mut changed = whole.clone();
        let last = changed.len() - 1;
        changed[last] ^= 1;
        assert!(read(&changed).unwrap_err().to_string().contains("checksum"));
        let other = read(&reseal(&changed).unwrap());
        assert!(!other.is_err_and(|e| e.to_string().contains("checksum")));
        assert_eq!(reseal(b"plainly no model"), None);
    }
}
