//! Times balanced k-means by passes beside plain k-means and balanced k-means in memory.
//!
//! ```text
//! cargo run --release -p bridged --example bench_balanced -- 100000x64x400 1000000x64x1000
//! ```
//!
//! Each argument is rows × columns × clusters. The rows are a mixture of as many blobs as clusters, with
//! weights between ½ and 1½, centres `--spread` · N(0, I) (by default 0.3) and unit noise. One start each.
//! `--only WHAT` leaves out the others: `plain`, `passes`, `memory`, `lloyd` (in memory without Hartigan's
//! correction). `--parts N` hands the rows out N at a time. Peak memory is that of the process so far, so the
//! work that needs least comes first.

use bridged::cluster::{BalancedKMeans, Clusterer, Descent, KMeans};
use bridged::{Matrix, Seed, Silent};
use bridged_math::Rows;
use bridged_math::rows::InParts;
use rand::RngExt;
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut spread, mut only, mut parts, mut restarts) = (0.3f32, None, None, 1);
    let mut sizes = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--spread" => spread = value()?.parse()?,
            "--only" => only = Some(value()?),
            "--parts" => parts = Some(value()?.parse::<usize>()?),
            "--restarts" => restarts = value()?.parse()?,
            size => {
                let numbers: Vec<usize> =
                    size.split('x').map(str::parse).collect::<Result<_, _>>()?;
                let [n, d, k] = numbers[..] else {
                    return Err("sizes are like 100000x64x400".into());
                };
                sizes.push((n, d, k));
            }
        }
    }
    for (n, d, k) in sizes {
        let x = mixture(n, d, k, spread);
        println!("{n} x {d}, k = {k}, spread {spread}; {} of data, peak {}", mb(4 * n * d), peak());
        let wanted =
            |what: &str| only.as_deref().is_none_or(|only| only.split(',').any(|o| o == what));
        if wanted("plain") {
            let spec = KMeans { k, restarts, ..KMeans::default() };
            let start = Instant::now();
            let fit = spec.fit(x.view(), Seed(1), &Silent)?;
            report("plain", start, fit.inertia, fit.iterations, fit.converged, "");
        }
        let spec = BalancedKMeans { k, restarts, ..BalancedKMeans::default() };
        if wanted("passes") {
            let in_parts = InParts::new(x.view(), parts.unwrap_or(n));
            let view = x.view();
            let rows: &dyn Rows = if parts.is_some() { &in_parts } else { &view };
            let start = Instant::now();
            let fit = spec.fit_by_passes(rows, Seed(1), &Silent, None, &mut |_| Ok(()))?;
            let (c, gap) = (&fit.clustering, fit.relative_gap);
            let (least, most) = (c.sizes.iter().min(), c.sizes.iter().max());
            let more = format!("gap {gap:.1e}, sizes {least:?} to {most:?}");
            report("passes", start, c.inertia, c.iterations, c.converged, &more);
        }
        for (name, descent) in [("memory", Descent::Hartigan), ("lloyd", Descent::Lloyd)] {
            if wanted(name) {
                let spec = BalancedKMeans { descent, ..spec.clone() };
                let start = Instant::now();
                let fit = spec.fit(x.view(), Seed(1), &Silent)?;
                report(name, start, fit.inertia, fit.iterations, fit.converged, "");
            }
        }
    }
    Ok(())
}

fn report(name: &str, start: Instant, inertia: f64, iterations: u32, converged: bool, more: &str) {
    let seconds = start.elapsed().as_secs_f64();
    let rest = if converged { "at rest" } else { "not at rest" };
    println!(
        "{name:8} {seconds:8.2} s  {iterations:4} iterations, {rest}, inertia {inertia:.8e}, peak {} {more}",
        peak()
    );
}

fn mb(bytes: usize) -> String {
    format!("{} MB", bytes / 1_000_000)
}

/// The most memory that the process has held, where the system says so.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<usize>().ok());
    kilobytes.map_or("unknown".into(), |kb| mb(kb * 1024))
}

fn mixture(n: usize, d: usize, blobs: usize, spread: f32) -> Matrix {
    let mut rng = Seed(7).rng();
    let mut normal = move || {
        let (u, v) = (1.0 - rng.random::<f32>(), rng.random::<f32>());
        (-2.0 * u.ln()).sqrt() * (std::f32::consts::TAU * v).cos()
    };
    let centres = Matrix::from_fn(blobs, d, |_, _| spread * normal());
    let mut draw = Seed(8).rng();
    let weights: Vec<f64> = (0..blobs).map(|_| 0.5 + draw.random::<f64>()).collect();
    let mut ends = Vec::with_capacity(blobs);
    weights.iter().fold(0.0, |sum, w| {
        ends.push(sum + w);
        sum + w
    });
    let mut data = Vec::with_capacity(n * d);
    for _ in 0..n {
        let at = draw.random::<f64>() * ends[blobs - 1];
        let blob = ends.partition_point(|&end| end < at).min(blobs - 1);
        data.extend(centres.row(blob).iter().map(|c| c + normal()));
    }
    Matrix::new(n, d, data).expect("n whole rows")
}
