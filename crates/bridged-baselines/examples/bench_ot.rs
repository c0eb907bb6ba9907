//! Times transport on costs read from a file: our side of `benches/ot.py`.
//!
//! ```text
//! echo run | bench_ot '{"work": "sinkhorn", "costs": ["c.f64"], "n": 2000, "m": 2000, "eps": 0.05, "iterations": 100}'
//! ```
//!
//! | `work` | `costs` | what is timed |
//! |---|---|---|
//! | `sinkhorn` | C (n, m) | this many iterations between uniform weights, and the plan |
//! | `gromov` | C1 (n, n), C2 (m, m) | `iterations` outer ones, each with `inner` of Sinkhorn at most, down to `tol` |
//! | `fit` | x (n, `cols[0]`), y (m, `cols[1]`), f32 | a baseline by `spec`, with `pairs`, and the prediction of its pool |
//!
//! Files are little-endian `f64` unless said otherwise. Every line on standard input makes one run and
//! prints `{"seconds": …}`; `out` names a file that the plan of the last run goes to.

use bridged::{Matrix, Seed, Silent};
use bridged::{Method, Problem};
use bridged_baselines::BaselineSpec;
use bridged_baselines::transport::gromov::{Gromov, Spaces};
use bridged_baselines::transport::sinkhorn::Sinkhorn;
use serde::Deserialize;
use serde_json::{Value, json};
use std::error::Error;
use std::io::BufRead;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    work: String,
    costs: Vec<PathBuf>,
    n: usize,
    m: usize,
    #[serde(default)]
    eps: f64,
    #[serde(default)]
    iterations: u32,
    #[serde(default)]
    inner: u32,
    #[serde(default)]
    tol: f64,
    #[serde(default)]
    cols: Vec<usize>,
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    pairs: Vec<(u32, u32)>,
    out: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let job: Job = serde_json::from_str(&std::env::args().nth(1).ok_or("a job as JSON")?)?;
    let files = job.costs.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
    println!("{}", json!({ "ready": true, "threads": rayon::current_num_threads() }));
    for line in std::io::stdin().lock().lines() {
        line?;
        let (seconds, plan) = match job.work.as_str() {
            "sinkhorn" => sinkhorn(&job, &wide(&files[0]))?,
            "gromov" => gromov(&job, &wide(&files[0]), &wide(&files[1]))?,
            "fit" => fit(&job, &files)?,
            other => return Err(format!("`work` is sinkhorn, gromov or fit, not {other}").into()),
        };
        if let Some(out) = &job.out {
            std::fs::write(out, plan.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?;
        }
        println!("{}", json!({ "seconds": seconds }));
    }
    Ok(())
}

type Run = Result<(f64, Vec<f64>), Box<dyn Error>>;

fn sinkhorn(job: &Job, cost: &[f64]) -> Run {
    let (a, b) = (uniform(job.n), uniform(job.m));
    let solver = Sinkhorn { eps: job.eps, tol: job.tol, max_iter: job.iterations };
    let begin = Instant::now();
    let plan = solver.solve(cost, &a, &b)?.into_plan();
    Ok((begin.elapsed().as_secs_f64(), plan))
}

fn gromov(job: &Job, c1: &[f64], c2: &[f64]) -> Run {
    let (p, q) = (uniform(job.n), uniform(job.m));
    let (inner_tol, inner_iter) = (job.tol, job.inner);
    // A change is never below 0, so every iteration is made.
    let solver =
        Gromov { eps: job.eps, max_iter: job.iterations, tol: -1.0, inner_tol, inner_iter };
    let begin = Instant::now();
    let plan = solver.solve(Spaces { c1, c2, p: &p, q: &q, linear: None })?.plan;
    Ok((begin.elapsed().as_secs_f64(), plan))
}

fn fit(job: &Job, files: &[Vec<u8>]) -> Run {
    let x = Matrix::new(job.n, job.cols[0], narrow(&files[0]))?;
    let y = Matrix::new(job.m, job.cols[1], narrow(&files[1]))?;
    let spec: BaselineSpec = serde_json::from_value(job.spec.clone())?;
    let begin = Instant::now();
    let problem = Problem::new(x.view(), y.view(), &job.pairs);
    let predicted = spec.fit(problem, Seed(0), &Silent)?.predict_pool(x.view())?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok((seconds, predicted.data().iter().map(|&v| f64::from(v)).collect()))
}

fn uniform(n: usize) -> Vec<f64> {
    vec![1.0 / n as f64; n]
}

fn wide(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

fn narrow(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}
