//! Damaged files: cut at every length and with bytes flipped, nothing panics and nothing aborts.

use crate::{Scratch, golden};
use bridged_io::{Select, Table, read, read_pairs};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

const FILES: &[&str] = &[
    "list_f16.parquet",
    "fixed_f64.parquet",
    "large_f32.parquet",
    "list_f32_brotli.parquet",
    "gaps.parquet",
    "lz4.feather",
    "zstd.feather",
    "stream.arrow",
    "big_fortran_f2.npy",
    "i8.npy",
    "pandas.csv",
    "pandas.tsv",
    "lists.csv",
];

/// Uses the file in every way; an error is as good as a table, a panic is not.
fn survive(path: &Path, bytes: &[u8], what: &str) {
    std::fs::write(path, bytes).unwrap();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let table: Result<Table, _> = read(path);
        if let Ok(table) = table {
            let _ = table.clone().into_pool(Select { vector: Some("v"), ..Select::default() });
            let _ = table.into_pool(Select::default());
        }
        let _ = read_pairs(path);
    }));
    assert!(outcome.is_ok(), "{what} panicked");
}

fn with_copy(name: &str, test: impl FnOnce(PathBuf, Vec<u8>)) {
    let scratch = Scratch::new();
    test(scratch.path(name), std::fs::read(golden(name)).unwrap());
}

#[test]
fn cut_at_any_length_a_file_is_an_error_or_a_table() {
    for name in FILES {
        with_copy(name, |path, bytes| {
            for len in 0..bytes.len() {
                survive(&path, &bytes[..len], &format!("{name} cut to {len} bytes"));
            }
        });
    }
}

#[test]
fn a_binary_file_that_was_cut_is_never_a_table() {
    for name in FILES.iter().filter(|n| !n.ends_with("csv") && !n.ends_with("tsv")) {
        with_copy(name, |path, bytes| {
            // A stream may end after any whole message; its end mark is optional.
            let whole = if name.ends_with(".arrow") { bytes.len() / 2 } else { bytes.len() };
            for len in (0..whole).step_by(3) {
                std::fs::write(&path, &bytes[..len]).unwrap();
                assert!(read(&path).is_err(), "{name} cut to {len} bytes");
            }
        });
    }
}

#[test]
fn with_any_byte_flipped_a_file_is_an_error_or_a_table() {
    for name in FILES {
        with_copy(name, |path, bytes| {
            for at in 0..bytes.len() {
                // All bits, the lowest, the highest: in turn, since every byte costs a file.
                let mask = [0xff, 0x01, 0x80][at % 3];
                let mut damaged = bytes.clone();
                damaged[at] ^= mask;
                survive(&path, &damaged, &format!("{name}, byte {at} ^ {mask:#x}"));
            }
        });
    }
}
