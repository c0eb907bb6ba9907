//! `bridged cluster`: one table on its own, a label for each row.

use crate::options::{self, usage};
use crate::outputs;
use crate::pools::{self, Columns};
use crate::printer::{self, count, number, plural};
use crate::progress::{Talk, WRITE};
use crate::table_flags::{ColumnFlags, ReadFlags};
use crate::table_out::{TableOut, before_ours};
use anyhow::{Context, Result};
use bridged::cluster::{ClusterSpec, Clusterer, NOISE};
use bridged::scale::Scale;
use bridged::settings::{Count, Keys, SettingsError, SideSpec, overlay};
use bridged_io::{Column, ColumnData, Layout};
use bridged_math::Seed;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The rows: files, a folder, a pattern, a URL or -
    #[arg(required = true)]
    rows: Vec<PathBuf>,
    /// Where the labels go: a table of id and label
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Write over any file, not only over one that this command has made; never over an input
    #[arg(long)]
    force: bool,
    /// The algorithm; `bridged list` shows all
    #[arg(long, short, default_value = "kmeans", value_parser = options::clusterings(), hide_possible_values = true)]
    method: String,
    /// The number of clusters
    #[arg(short, long = "clusters", value_name = "K")]
    k: Option<usize>,
    /// The fewest rows a cluster may have (balanced)
    #[arg(long, value_name = "N")]
    min_size: Option<usize>,
    /// The most rows a cluster may have (balanced)
    #[arg(long, value_name = "N")]
    max_size: Option<usize>,
    /// Runs from different starts, of which the best is kept
    #[arg(long, value_name = "N")]
    restarts: Option<u32>,
    /// The most iterations of a run
    #[arg(long, value_name = "N")]
    max_iter: Option<u32>,
    /// euclidean or cosine
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Scaling: none, standardize, l2 or pca:N
    #[arg(long, value_name = "SCALE", default_value = "none", value_parser = scale)]
    scale: Scale,
    /// Any parameter of the algorithm by its name, as in linkage=average
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Where random numbers come from
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The id column
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// The vector column
    #[arg(long, value_name = "COLUMN")]
    vector: Option<String>,
    #[command(flatten)]
    columns: ColumnFlags,
    #[command(flatten)]
    read: ReadFlags,
    #[command(flatten)]
    out: TableOut,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let spec = args.spec()?;
    let inputs = pools::inputs(&[&args.rows], &[]);
    outputs::table(&args.output, outputs::LABELS, &inputs, args.force)?;
    let source = pools::find(&args.rows)?;
    let stages = talk.watch();
    let columns = Columns {
        id: args.id.as_deref(),
        vector: args.vector.as_deref(),
        columns: &args.columns.columns,
        exclude: &args.columns.exclude,
        missing: args.read.missing(),
        read: args.read.options()?,
        ..Columns::default()
    };
    let mut pool = stages.time("read", || pools::read_pool(&source, columns, &[]))?;
    let notes = talk.notes(source.name(), &pool.notes);
    let side =
        SideSpec { cluster: spec.clone(), scale: args.scale, count: Count::Told, sample: None };
    if side.uses_origin() {
        pool.rows = std::mem::take(&mut pool.offset).undo(pool.rows);
    }
    let scaler = args.scale.fit(pool.rows.view(), "the rows")?;
    let scaled = scaler.apply(pool.rows.view());
    spec.check_distinct(scaled.view()).with_context(|| format!("`{}`", source.name().display()))?;
    let clustering = spec
        .fit(scaled.view(), Seed(args.seed), &stages)
        .with_context(|| format!("`{}`", source.name().display()))?;

    let label = |&l: &u32| Some(if l == NOISE { -1 } else { i64::from(l) });
    let labels = clustering.labels.iter().map(label).collect();
    let mut columns = vec![Column::new("label", ColumnData::Integer(labels))];
    if bridged_io::format_of(&args.output)?.layout != Layout::Array {
        columns = before_ours(vec![pool.take_ids()], columns, talk);
    }
    stages.time(WRITE, || args.out.write(&args.output, columns))?;

    let noise = clustering.labels.iter().filter(|l| **l == NOISE).count();
    let mut out = printer::out();
    if args.json {
        let seconds: serde_json::Map<_, _> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let report = json!({
            "rows": pool.rows.rows(), "columns": pool.rows.cols(), "parameters": spec,
            "notes": notes,
            "clusters": clustering.k(), "sizes": clustering.sizes, "noise": noise,
            "inertia": clustering.inertia, "iterations": clustering.iterations,
            "converged": clustering.converged, "output": args.output, "seconds": seconds,
        });
        printer::print_json(&report, &mut out)?;
    } else if !talk.quiet {
        let rows = plural(pool.rows.rows(), "row");
        let clusters = plural(clustering.k(), "cluster");
        let (method, sizes) = (spec.name(), sizes(&clustering.sizes));
        if clustering.k() > 0 {
            writeln!(out, "{rows} in {clusters} by {method}: sizes {sizes}")?;
        } else {
            writeln!(
                out,
                "{rows} in {clusters} by {method}; a larger eps or fewer min_samples find some"
            )?;
        }
        if noise > 0 {
            writeln!(out, "{} in no cluster (label −1)", plural(noise, "row"))?;
        }
        let rest = if clustering.converged { "came to rest" } else { "stopped" };
        let iterations = plural(clustering.iterations as usize, "iteration");
        let inertia = number(clustering.inertia);
        writeln!(
            out,
            "inertia {inertia}, {rest} after {iterations}; wrote {}",
            args.output.display()
        )?;
    }
    Ok(())
}

/// `none`, `standardize`, `l2` or `pca:N`.
fn scale(text: &str) -> Result<Scale, String> {
    Scale::parse(text).map_err(|e| e.to_string())
}

/// All sizes of a few clusters, the range of many.
fn sizes(sizes: &[u32]) -> String {
    match (sizes.len(), sizes.iter().min(), sizes.iter().max()) {
        (21.., Some(least), Some(most)) => {
            format!("{} to {}", count(*least as usize), count(*most as usize))
        }
        _ => sizes.iter().map(|&n| count(n as usize)).collect::<Vec<_>>().join(" "),
    }
}

impl Args {
    fn spec(&self) -> Result<ClusterSpec> {
        let mut spec = ClusterSpec::named(&self.method).expect("clap accepts listed methods only");
        match self.k {
            Some(0) => return Err(usage("-k: there must be at least 1 cluster, got 0")),
            Some(k) => spec = spec.with_k(k),
            None if spec.needs_k() => return Err(usage("how many clusters? Give -k K")),
            None => {}
        }
        let mut keys = Keys::default();
        keys.set_some("min_size", self.min_size)
            .set_some("max_size", self.max_size)
            .set_some("restarts", self.restarts)
            .set_some("max_iter", self.max_iter)
            .set_some("metric", self.metric.clone());
        let wrong = |e: SettingsError| {
            // What was not set by name was set by the flag of that name.
            let named = |key: &str| self.set.iter().any(|s| s.starts_with(key));
            match e.key().filter(|key| !named(key)) {
                Some(key) => usage(format!("--{}: {e}", key.replace('_', "-"))),
                None => usage(format!("--set: {e}")),
            }
        };
        for setting in &self.set {
            keys.parse(setting).map_err(wrong)?;
        }
        overlay(spec, &keys).map_err(wrong)
    }
}
