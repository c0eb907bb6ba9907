//! Tables are written as every file is: whole or not at all, in [`bridged::files`].

use crate::ReadOptions;
use crate::error::TableError;
use crate::format::{Layout, is_gzip, known_format};
use bridged::files::Kind;
pub use bridged::files::{Sink, WriteError};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Replaces `path` by what `content` writes; see [`bridged::files::replace`].
pub fn replace(
    path: &Path,
    content: impl FnOnce(&mut Sink<'_>) -> Result<(), WriteError>,
) -> Result<(), TableError> {
    Ok(bridged::files::replace(path, content)?)
}

/// The kind of file that [`write`](crate::write()) writes: an existing one is a table if it begins as the
/// format of its extension does.
pub const TABLE_FILE: Kind =
    Kind { name: "a table of the format that its name says", extension: None, holds: is_table };

fn is_table(path: &Path) -> bool {
    let Some(format) = known_format(path) else { return false };
    let mut head = Vec::new();
    if File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head)).is_err() {
        return false;
    }
    match format.layout {
        _ if is_gzip(path) => head.starts_with(b"\x1f\x8b"),
        Layout::Sheet => head.starts_with(b"PK\x03\x04"),
        layout => {
            let begins = crate::open(path, &ReadOptions::default(), |_, _| Ok(())).is_ok();
            begins && (layout != Layout::Text || is_text(&head))
        }
    }
}

/// Whether the first bytes of a file are text in UTF-8.
fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(e) => e.error_len().is_none(), // only the last letter is cut off
    };
    valid && !head.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_table_is_known_by_its_first_bytes_and_its_extension() {
        let folder = tempfile::tempdir().unwrap();
        let is = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            is_table(&path)
        };
        assert!(is("a.csv", "id,näme\n1,é\n".as_bytes()));
        assert!(is("a.csv", &[b"id\n".to_vec(), vec![b'x'; 4092], "é".into()].concat()));
        assert!(is("a.parquet", b"PAR1 and so on"));
        assert!(!is("a.csv", b"PAR1 and so on"));
        assert!(!is("a.csv", b"\x10\x00\x00\x00\x00\x00\x00\x00{}"), "a model, for instance");
        assert!(!is("a.parquet", b"id,name\n"));
        assert!(!is("a.doc", b"id,name\n"));
        assert!(is("a.xlsx", b"PK\x03\x04 and so on") && !is("a.xlsx", b"id,name\n"));
        assert!(is("a.csv.gz", b"\x1f\x8b\x08 and so on") && !is("a.csv.gz", b"id,name\n"));
    }
}
