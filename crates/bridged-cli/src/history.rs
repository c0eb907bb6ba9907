//! What is written into the history of a model, and how it is printed.

use crate::pools;
use crate::printer::{Align, Grid, count, plural};
use anyhow::Result;
use bridged::BridgedModel;
use bridged::history::{Event, FileRead, PoolThen, date};
use bridged_io::Source;
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

/// The files that a verb has read: rows by their source, pairs by their file.
pub fn files(rows: &[(&str, &Source)], pairs: Option<&Path>) -> Result<Vec<FileRead>> {
    let mut files = Vec::new();
    for (role, source) in rows {
        files.extend(source.files_read(role)?);
    }
    if let Some(pairs) = pairs {
        files.extend(pools::find(&[pairs.to_path_buf()])?.files_read("pairs")?);
    }
    Ok(files)
}

/// The version that events are written with.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// When a file was last written, in seconds since 1970.
pub fn written(path: &Path) -> Option<u64> {
    let time = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    time.duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// Prints what was done to the model in that file.
pub fn print(model: &BridgedModel, path: &Path, out: &mut dyn Write) -> io::Result<()> {
    let history = model.history();
    if history.is_empty() {
        return writeln!(
            out,
            "this model has no history: it was written with --no-history, by an earlier release, or from arrays"
        );
    }
    let mut grid = Grid::new(&[
        ("what", Align::Left),
        ("when", Align::Left),
        ("version", Align::Left),
        ("x", Align::Right),
        ("y", Align::Right),
        ("pairs", Align::Right),
        ("clusters", Align::Right),
    ]);
    for (at, event) in history.iter().enumerate() {
        let is_last = at + 1 == history.len();
        let when = event.when.map(date).or_else(|| {
            let written = written(path).filter(|_| is_last)?;
            Some(format!("{} (the file's time)", date(written)))
        });
        grid.row(vec![
            event.action.name().to_string(),
            when.unwrap_or_else(|| "–".to_string()),
            event.version.clone(),
            rows(&event.x),
            rows(&event.y),
            count(event.pairs as usize),
            format!("{} · {}", event.x.clusters, event.y.clusters),
        ]);
    }
    grid.print(out)?;
    if history.iter().any(|event| !event.files.is_empty()) {
        writeln!(out)?;
        files_grid(history).print(out)?;
    }
    Ok(())
}

/// Rows, and what came and went.
fn rows(pool: &PoolThen) -> String {
    let mut text = count(pool.rows as usize);
    if pool.added > 0 {
        text.push_str(&format!(" +{}", count(pool.added as usize)));
    }
    if pool.forgotten > 0 {
        text.push_str(&format!(" −{}", count(pool.forgotten as usize)));
    }
    text
}

fn files_grid(history: &[Event]) -> Grid {
    let mut grid = Grid::new(&[
        ("files", Align::Left),
        ("", Align::Left),
        ("bytes", Align::Right),
        ("xxh64", Align::Left),
    ]);
    for (at, event) in history.iter().enumerate() {
        for file in &event.files {
            grid.row(vec![
                format!("{} of {} {}", file.role, event.action.name(), at + 1),
                file.name.clone(),
                file.bytes.map_or("–".to_string(), |bytes| count(bytes as usize)),
                file.fingerprint.clone().unwrap_or_else(|| "–".to_string()),
            ]);
        }
    }
    grid
}

/// What an update did, in a sentence.
pub fn in_words(event: &Event) -> String {
    let of = |name: &str, pool: &PoolThen| {
        let changes = [("added", pool.added), ("forgotten", pool.forgotten)];
        let said = changes.into_iter().filter(|(_, n)| *n > 0);
        let said: Vec<String> =
            said.map(|(what, n)| format!("{} {what}", count(n as usize))).collect();
        let rows = plural(pool.rows as usize, "row");
        match said.is_empty() {
            true => format!("{name}: {rows} as before"),
            false => format!("{name}: {rows} ({})", said.join(", ")),
        }
    };
    format!(
        "{}; {}; {}",
        of("x", &event.x),
        of("y", &event.y),
        plural(event.pairs as usize, "pair")
    )
}
