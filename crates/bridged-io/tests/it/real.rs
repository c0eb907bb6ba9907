//! The real tables that experiments run on, where they are at hand.

use bridged_io::{Select, read};
use std::path::{Path, PathBuf};

/// `$BRIDGED_DATA`, or `shared/data` beside a directory above the repository.
fn data() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("BRIDGED_DATA") {
        return Some(PathBuf::from(given));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    root.ancestors().skip(1).map(|a| a.join("shared/data")).find(|d| d.is_dir())
}

#[test]
fn the_real_tables_have_the_shapes_their_readme_says() {
    let Some(directory) = data() else {
        eprintln!("skipped: no ../shared/data and no $BRIDGED_DATA");
        return;
    };
    for (name, rows, x, y, carried) in [
        ("fashion", 4846, 1280, 384, &["group", "text"][..]),
        ("flickr8k", 1225, 1280, 384, &["group", "entity", "text"]),
        ("butterflies", 2039, 1280, 1024, &["group", "image", "barcode", "sequence"]),
        ("wikipedia", 2866, 128, 10, &["group"]),
        ("digits", 2000, 76, 64, &["group"]),
        ("emoji", 1906, 1280, 384, &["group", "subgroup", "glyph", "text"]),
    ] {
        let path = directory.join(format!("{name}.parquet"));
        if !path.exists() {
            eprintln!("skipped: no {}", path.display());
            continue;
        }
        let table = read(&path).unwrap();
        for (side, width) in [("x", x), ("y", y)] {
            let select = Select { vector: Some(side), ..Select::default() };
            let pool = table.clone().into_pool(select).unwrap();
            assert_eq!((pool.rows.rows(), pool.rows.cols()), (rows, width), "{name}");
            assert_eq!(pool.id_name.as_deref(), Some("id"));
            let names: Vec<&str> = pool.carried.iter().map(|t| t.name.as_str()).collect();
            assert_eq!(names, carried, "{name}");
        }
        let error = table.into_pool(Select::default()).unwrap_err().to_string();
        assert!(error.contains("several vector columns: `x`, `y`"), "{error}");
    }
}
