//! Tells a file by its first bytes, to notice one that is not what its extension says.

use crate::FORMATS;

/// Beginnings of files that people confuse with tables; those of tables are in [`FORMATS`].
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"PARE", "an encrypted Parquet file"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (npz and xlsx files are such)"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"\x04\x22\x4d\x18", "an lz4 file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"Obj\x01", "an Avro file"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
];

/// What a file with these first bytes seems to be.
pub(crate) fn sniff(head: &[u8]) -> Option<&'static str> {
    let other = BEGINNINGS.iter().find(|(start, _)| head.starts_with(start));
    FORMATS.iter().find_map(|format| format.sniff(head)).or(other.map(|&(_, name)| name))
}
