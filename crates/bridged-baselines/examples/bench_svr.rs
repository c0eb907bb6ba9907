//! Times support vector regression on rows read from files: our side of `benches/svr.py`.
//!
//! ```text
//! echo go | bench_svr '{"x": "x.f32", "y": "y.f32", "n": 700, "d": 1280, "outputs": 768,
//!                       "work": {"svr": {"c": 10.0, "epsilon": 0.1, "gamma": 1.0, "tol": 0.001}}}'
//! ```
//!
//! | `work` | what is timed |
//! |---|---|
//! | `{"svr": …}` | kernel matrix, all outputs; γ acts on the rows as they are |
//! | `{"tsvr": {"spec": …, "pairs": 28}}` | `Tsvr` as in a TOML file, on both pools; the first rows are the pairs |
//!
//! Files hold little-endian `f32`, row-major. Once they are in memory the program prints
//! `{"ready": true}`; then every line on standard input makes one run and prints one line with its
//! seconds. `predicted` (a file) receives what the last run predicts for the rows, `f32`.

use bridged::{Matrix, Seed, Silent};
use bridged::{Method, Problem};
use bridged_baselines::Tsvr;
use bridged_baselines::kernel::rbf;
use bridged_baselines::svr::{self, Svr};
use serde::Deserialize;
use serde_json::json;
use std::error::Error;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    x: PathBuf,
    y: PathBuf,
    n: usize,
    d: usize,
    outputs: usize,
    work: Work,
    predicted: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Work {
    Svr { c: f64, epsilon: f64, gamma: f64, tol: f64 },
    Tsvr { spec: Tsvr, pairs: u32 },
}

/// What a run took, found, and how many steps of SMO an output needed at most and in the mean.
struct Run {
    seconds: f64,
    predicted: Vec<f32>,
    steps: Option<(usize, f64)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let job = std::env::args().nth(1).ok_or("usage: bench_svr JOB, a JSON object")?;
    let job: Job = serde_json::from_str(&job)?;
    let (x, y) = (read(&job.x, job.n, job.d)?, read(&job.y, job.n, job.outputs)?);
    let mut out = std::io::stdout();
    writeln!(out, "{}", json!({"ready": true}))?;
    for line in std::io::stdin().lock().lines() {
        line?;
        let run = match &job.work {
            Work::Svr { c, epsilon, gamma, tol } => {
                let svr = Svr { c: *c, epsilon: *epsilon, tol: *tol, ..Svr::default() };
                plain(&svr, *gamma, &x, &y)?
            }
            Work::Tsvr { spec, pairs } => transductive(spec, *pairs, &x, &y)?,
        };
        if let Some(path) = &job.predicted {
            let bytes: Vec<u8> = run.predicted.iter().flat_map(|v| v.to_le_bytes()).collect();
            std::fs::write(path, bytes)?;
        }
        writeln!(out, "{}", json!({"seconds": run.seconds, "steps": run.steps}))?;
    }
    Ok(())
}

fn plain(svr: &Svr, gamma: f64, x: &Matrix, y: &Matrix) -> Result<Run, Box<dyn Error>> {
    let began = Instant::now();
    let n = x.rows();
    let kernel = rbf(x.view(), x.view(), gamma);
    let targets: Vec<f64> = (0..n * y.cols()).map(|at| f64::from(y.row(at % n)[at / n])).collect();
    let solutions = svr.fit(&kernel, n, &targets, None, &Silent)?;
    let (beta, intercept) = svr::coefficients(&solutions);
    let seconds = began.elapsed().as_secs_f64();
    let predicted = svr::predict(&kernel, n, &beta, &intercept);
    let most = solutions.iter().map(|s| s.iterations).max().unwrap_or(0);
    let total: usize = solutions.iter().map(|s| s.iterations).sum();
    let steps = Some((most, total as f64 / solutions.len() as f64));
    Ok(Run { seconds, predicted: predicted.into_iter().map(|v| v as f32).collect(), steps })
}

/// Fits on the pools and predicts the x pool.
fn transductive(spec: &Tsvr, pairs: u32, x: &Matrix, y: &Matrix) -> Result<Run, Box<dyn Error>> {
    let pairs: Vec<(u32, u32)> = (0..pairs).map(|i| (i, i)).collect();
    let began = Instant::now();
    let fitted = spec.fit(Problem::new(x.view(), y.view(), &pairs), Seed(0), &Silent)?;
    let predicted = fitted.predict_pool(x.view())?.into_data();
    Ok(Run { seconds: began.elapsed().as_secs_f64(), predicted, steps: None })
}

fn read(path: &Path, rows: usize, cols: usize) -> Result<Matrix, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let values = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
    Ok(Matrix::new(rows, cols, values.take(rows * cols).collect())?)
}
