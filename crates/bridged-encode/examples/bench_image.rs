//! Pictures a second: `cargo run --release -p bridged-encode --example bench_image -- WEIGHTS FOLDER [THREADS]`.
//!
//! Encodes the pictures of a folder with EfficientNet-Lite0 in batches of 32, once from pixels that are prepared already
//! and once from the files. `benches/encode_image.py` calls it and does the same with PyTorch.

use bridged_encode::image::{ImageEncoder, Output, efficientnet, read};
use cpu_time::ProcessTime;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Instant;

const BATCH: usize = 32;
const SECONDS: f64 = 8.0;

/// Pictures a second of the fastest third of all batches, as other work may disturb, and pictures a second of processor
/// time, which it disturbs less.
fn rate(mut batch: impl FnMut()) -> [f64; 2] {
    batch();
    let (start, processor) = (Instant::now(), ProcessTime::now());
    let mut times = Vec::new();
    while start.elapsed().as_secs_f64() < SECONDS || times.len() < 3 {
        let one = Instant::now();
        batch();
        times.push(one.elapsed().as_secs_f64());
    }
    let processor = (BATCH * times.len()) as f64 / processor.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    let best = &times[..times.len().div_ceil(3)];
    [(BATCH * best.len()) as f64 / best.iter().sum::<f64>(), processor]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, weights, folder, ..] = &args[..] else {
        return Err("usage: bench_image WEIGHTS FOLDER [THREADS]".into());
    };
    let threads = args.get(3).map_or(Ok(2), |t| t.parse())?;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let encoder = ImageEncoder::open(efficientnet::LITE0, Path::new(weights), Output::Features)?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?.flatten().map(|f| f.path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "jpg"));
    files.sort();
    let files: Vec<PathBuf> = files.into_iter().cycle().take(BATCH).collect();
    let pictures: Result<Vec<_>, _> = files.iter().map(|file| read::open(file)).collect();
    let prepared: Vec<_> = pictures?.iter().map(|p| encoder.preset.prepare(p)).collect();

    let inference = rate(|| drop(encoder.encode_prepared(&prepared)));
    let with_decoding = rate(|| {
        let pictures: Vec<_> = files.par_iter().map(|file| read::open(file)).collect();
        let pictures: Vec<_> = pictures.into_iter().flatten().collect();
        drop(encoder.encode(&pictures));
    });
    println!("{{\"inference\": {inference:.1?}, \"with decoding\": {with_decoding:.1?}}}");
    Ok(())
}
