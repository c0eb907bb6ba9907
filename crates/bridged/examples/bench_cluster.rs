//! Times one piece of work on rows read from a file: our side of `benches/run.py`.
//!
//! ```text
//! echo '{}' | bench_cluster '{"rows": "x.f32", "n": 1400, "d": 1280,
//!                             "work": {"fit": {"method": "balanced", "k": 7}}}'
//! ```
//!
//! | `work` | what is timed |
//! |---|---|
//! | `{"fit": SPEC}` | a clustering, `SPEC` as in a TOML file, from the given centroids if there are any |
//! | `"predict"` | the clusters of all rows by the rule of a model with the given centroids |
//! | `"assign"` | one assignment pass: the nearest of the given centroids for every row |
//! | `"gemm"` | rows · centroidsᵀ alone, blocks of rows on all threads: what a pass cannot beat |
//!
//! Files hold little-endian `f32`, row-major; of `rows` the first `n` are read. Optional:
//! `centroids` (a file; several times k of them are several starts, and the seed of a run says which),
//! `labels` (a file to write, `u32`), `passes` (the work is done so often, and
//! the mean time reported). Once the data are in memory the program prints `{"ready": true}`; then
//! every line on standard input, such as `{"seed": 3}`, makes one run and prints one line with its
//! seconds. The caller thus decides when this program runs and when another does.

use bridged::cluster::{AssignRule, ClusterSpec, Clusterer, Clustering, Metric};
use bridged::{Matrix, Seed, Silent};
use bridged_math::chunks;
use bridged_math::distance::{nearest, product_transposed};
use serde::Deserialize;
use serde_json::{Value, json};
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    rows: PathBuf,
    n: usize,
    d: usize,
    work: Work,
    centroids: Option<PathBuf>,
    labels: Option<PathBuf>,
    passes: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Work {
    Fit(Value),
    Predict,
    Assign,
    Gemm,
}

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    seed: u64,
}

/// What a run leaves for the caller to look at; making it ready is not timed.
enum Outcome {
    Fitted(Box<Clustering>),
    Labels(Vec<u32>),
    Product,
}

fn main() -> Result<(), Box<dyn Error>> {
    let job = std::env::args().nth(1).ok_or("usage: bench_cluster JOB (a JSON object)")?;
    let job: Job = serde_json::from_str(&job)?;
    let x = read(&job.rows, Some(job.n), job.d)?;
    let centroids = job.centroids.as_deref().map(|path| read(path, None, job.d)).transpose()?;
    let mut run = prepare(job.work, &x, centroids)?;
    say(&json!({ "ready": true }))?;
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let passes = job.passes.unwrap_or(1).max(1);
        let start = Instant::now();
        let mut outcome = run(Seed(request.seed))?;
        for _ in 1..passes {
            outcome = run(Seed(request.seed))?;
        }
        let seconds = start.elapsed().as_secs_f64() / f64::from(passes);
        let mut answer = outcome.describe();
        answer["seconds"] = json!(seconds);
        if let (Some(path), Some(labels)) = (&job.labels, outcome.labels()) {
            let bytes: Vec<u8> = labels.iter().flat_map(|l| l.to_le_bytes()).collect();
            std::fs::write(path, bytes)?;
        }
        say(&answer)?;
    }
    Ok(())
}

type Run<'a> = Box<dyn FnMut(Seed) -> Result<Outcome, Box<dyn Error>> + 'a>;

/// Everything that need not be timed, and the rest as a function.
fn prepare<'a>(
    work: Work,
    x: &'a Matrix,
    centroids: Option<Matrix>,
) -> Result<Run<'a>, Box<dyn Error>> {
    let needed = "this work needs `centroids`";
    Ok(match work {
        Work::Fit(spec) => {
            let specs = specs(spec, centroids)?;
            Box::new(move |seed| {
                let spec = &specs[seed.0 as usize % specs.len()];
                Ok(Outcome::Fitted(Box::new(spec.fit(x.view(), seed, &Silent)?)))
            })
        }
        Work::Predict => {
            let centres = centroids.ok_or(needed)?;
            let rule = AssignRule::Nearest { centres, metric: Metric::Euclidean };
            Box::new(move |_| Ok(Outcome::Labels(rule.assign(x.view()))))
        }
        Work::Assign => {
            let centres = centroids.ok_or(needed)?;
            Box::new(move |_| Ok(Outcome::Labels(nearest(x.view(), centres.view()))))
        }
        Work::Gemm => {
            let centres = centroids.ok_or(needed)?;
            let mut out = vec![0.0f32; x.rows() * centres.rows()];
            Box::new(move |_| {
                chunks::map_blocks_mut(&mut out, centres.rows(), |range, part| {
                    product_transposed(x.view().slice(range), centres.view(), part);
                });
                Ok(Outcome::Product)
            })
        }
    })
}

/// The specification, once for each start that is given.
fn specs(mut spec: Value, starts: Option<Matrix>) -> Result<Vec<ClusterSpec>, Box<dyn Error>> {
    let Some(starts) = starts else { return Ok(vec![serde_json::from_value(spec)?]) };
    let k = spec["k"].as_u64().ok_or("a start needs `k`")? as usize;
    let sets = (0..starts.rows()).step_by(k.max(1));
    sets.map(|from| {
        spec["init"] = json!({ "given": starts.view().select(from..from + k) });
        Ok(serde_json::from_value(spec.clone())?)
    })
    .collect()
}

impl Outcome {
    fn labels(&self) -> Option<&[u32]> {
        match self {
            Outcome::Fitted(clustering) => Some(&clustering.labels),
            Outcome::Labels(labels) => Some(labels),
            Outcome::Product => None,
        }
    }

    fn describe(&self) -> Value {
        let Outcome::Fitted(clustering) = self else { return json!({}) };
        let mut answer =
            json!({ "iterations": clustering.iterations, "converged": clustering.converged });
        if let AssignRule::Mixture(mixture) = &clustering.rule {
            answer["mixture"] = json!({
                "log_weights": mixture.log_weights,
                "means": mixture.means.data(),
                "precisions": mixture.precisions.data(),
            });
        }
        answer
    }
}

/// Prints a line at once: the caller waits for it.
fn say(answer: &Value) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{answer}")?;
    out.flush()
}

/// The first `rows` rows of a file, or all; in pieces, so that no second copy spoils the peak of
/// memory.
fn read(path: &Path, rows: Option<usize>, columns: usize) -> Result<Matrix, Box<dyn Error>> {
    let file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let all = file.metadata()?.len() as usize / (4 * columns.max(1));
    let rows = rows.unwrap_or(all);
    let mut reader = BufReader::new(file);
    let mut data = vec![0.0f32; rows * columns];
    let mut bytes = vec![0u8; 1 << 16];
    for part in data.chunks_mut(bytes.len() / 4) {
        let bytes = &mut bytes[..part.len() * 4];
        reader.read_exact(bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        for (v, b) in part.iter_mut().zip(bytes.chunks_exact(4)) {
            *v = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        }
    }
    Ok(Matrix::new(rows, columns, data)?)
}
