//! Times one clustering of rows read from a file of raw little-endian `f32`, row-major.
//!
//! ```text
//! bench_cluster ROWS.f32 COLUMNS SPEC.json [REPEATS] [CENTROIDS.f32]
//! ```
//!
//! `SPEC.json` is a clustering as in a TOML file, such as `{"method": "balanced", "k": 7}`; given
//! centroids become its start. Prints one JSON line: seconds of each repeat, inertia, iterations
//! and the peak of memory.

use bridged::cluster::{ClusterSpec, Clusterer};
use bridged::math::{Matrix, Seed, Silent};
use std::io::Read;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rows, columns, spec, rest @ ..] = &arguments[..] else {
        return Err(
            "usage: bench_cluster ROWS.f32 COLUMNS SPEC.json [REPEATS] [CENTROIDS.f32]".into()
        );
    };
    let columns: usize = columns.parse()?;
    let x = read(rows, columns)?;
    let mut spec: serde_json::Value = serde_json::from_str(spec)?;
    let repeats: u64 = rest.first().map_or(Ok(1), |r| r.parse())?;
    if let Some(centroids) = rest.get(1) {
        spec["init"] = serde_json::json!({ "given": read(centroids, columns)? });
    }
    let spec: ClusterSpec = serde_json::from_value(spec)?;
    let mut seconds = Vec::new();
    let (mut inertia, mut iterations, mut converged) = (0.0, 0, false);
    for repeat in 0..repeats {
        let start = Instant::now();
        let clustering = spec.fit(x.view(), Seed(repeat), &Silent)?;
        seconds.push(start.elapsed().as_secs_f64());
        (inertia, iterations, converged) =
            (clustering.inertia, clustering.iterations, clustering.converged);
    }
    println!(
        "{}",
        serde_json::json!({
            "seconds": seconds, "inertia": inertia, "iterations": iterations,
            "converged": converged, "peak_bytes": peak_bytes(), "data_bytes": x.data().len() * 4,
        })
    );
    Ok(())
}

fn read(path: &str, columns: usize) -> Result<Matrix, Box<dyn std::error::Error>> {
    let mut file = std::fs::File::open(path)?;
    let mut data = Vec::with_capacity(file.metadata()?.len() as usize / 4);
    let mut buffer = vec![0u8; 4 * columns];
    while data.len() < data.capacity() {
        file.read_exact(&mut buffer)?;
        data.extend(buffer.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
    }
    Ok(Matrix::new(data.len() / columns, columns, data)?)
}

/// The most memory that was resident, where the system tells.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
