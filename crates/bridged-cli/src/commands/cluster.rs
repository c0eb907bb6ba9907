//! `bridged cluster`: one table on its own, a label for each row.

use crate::checkpoints::{CheckpointFlags, optimality};
use crate::options::{self, usage};
use crate::outputs;
use crate::passes::{self, PassFlags};
use crate::peak::{self, Then};
use crate::pools::{self, Columns};
use crate::printer::{self, count, number, plural};
use crate::progress::{Stages, Talk, WRITE};
use crate::table_flags::{ColumnFlags, ReadFlags};
use crate::table_out::{TableOut, before_ours};
use anyhow::Result;
use bridged::Error;
use bridged::cluster::{ClusterSpec, Clustering, NOISE};
use bridged::scale::Scale;
use bridged::settings::{Count, Keys, SettingsError, SideSpec, overlay};
use bridged_io::{Column, ColumnData, Layout, Source, StoredRows};
use bridged_math::{Rows, Seed};
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
    /// Cluster so many rows, drawn by chance, and assign the others [default: all]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,
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
    #[command(flatten)]
    passes: PassFlags,
    #[command(flatten)]
    checkpoint: CheckpointFlags,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let spec = args.spec()?;
    let inputs = pools::inputs(&[&args.rows], &[]);
    outputs::table(&args.output, outputs::LABELS, &inputs, args.force)?;
    outputs::not_among_rows(&args.output, &args.rows)?;
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
    let side = SideSpec {
        cluster: spec.clone(),
        scale: args.scale,
        count: Count::Told,
        sample: args.sample.map(|rows| rows as usize),
    };
    let stored = match args.passes.may_be_large(&[&source]) {
        true => Some(stages.time("read", || source.stored(&columns.read, columns.select(&[])))?),
        false => None,
    };
    let streams = bridged_io::format_of(&args.output)?.writes_pieces();
    let large = |rows: &StoredRows| streams && args.passes.is_large_to_cluster(rows, &side);
    let Labelled { clustering, columns: width, notes, peak } = match stored.filter(large) {
        Some(rows) => args.in_passes(&rows, &side, talk, &stages)?,
        None => args.in_memory(&source, columns, &side, talk, &stages)?,
    };
    let optimality = optimality(&stages);
    let noise = clustering.labels.iter().filter(|l| **l == NOISE).count();
    let mut out = printer::out();
    if args.json {
        let seconds: serde_json::Map<_, _> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let mut report = json!({
            "rows": clustering.labels.len(), "columns": width, "parameters": spec,
            "notes": notes,
            "clusters": clustering.k(), "sizes": clustering.sizes, "noise": noise,
            "inertia": clustering.inertia, "iterations": clustering.iterations,
            "converged": clustering.converged, "output": args.output, "seconds": seconds,
        });
        if let Some(peak) = peak {
            report["predicted_peak"] = json!(peak);
        }
        if let Some((_, gap)) = optimality.figures.into_iter().next() {
            report["relative_gap"] = gap;
        }
        printer::print_json(&report, &mut out)?;
    } else if !talk.quiet {
        let rows = plural(clustering.labels.len(), "row");
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
        for sentence in optimality.sentences {
            writeln!(out, "{sentence}")?;
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

/// Rows that were clustered, and whose labels are written.
struct Labelled {
    clustering: Clustering,
    columns: usize,
    notes: Vec<String>,
    /// The bytes that were predicted for work in passes.
    peak: Option<u64>,
}

fn labels(labels: &[u32]) -> Column {
    let label = |&l: &u32| Some(if l == NOISE { -1 } else { i64::from(l) });
    Column::new("label", ColumnData::Integer(labels.iter().map(label).collect()))
}

impl Args {
    /// With all rows in memory.
    fn in_memory(
        &self,
        source: &Source,
        columns: Columns<'_>,
        side: &SideSpec,
        talk: &Talk,
        stages: &Stages,
    ) -> Result<Labelled> {
        let mut pool = stages.time("read", || pools::read_pool(source, columns, &[]))?;
        let notes = talk.notes(source.name(), &pool.notes);
        if side.uses_origin() {
            pool.rows = std::mem::take(&mut pool.offset).undo(pool.rows);
        }
        let clustering = side.cluster_rows(&pool.rows.view(), Seed(self.seed), stages);
        let clustering = named(clustering, source)?;
        let mut columns = vec![labels(&clustering.labels)];
        if bridged_io::format_of(&self.output)?.layout != Layout::Array {
            columns = before_ours(vec![pool.take_ids()], columns, talk);
        }
        stages.time(WRITE, || self.out.write(&self.output, columns))?;
        Ok(Labelled { clustering, columns: pool.rows.cols(), notes, peak: None })
    }

    /// With the rows left in their files.
    fn in_passes(
        &self,
        rows: &StoredRows,
        side: &SideSpec,
        talk: &Talk,
        stages: &Stages,
    ) -> Result<Labelled> {
        if side.uses_origin() && !rows.offset().is_none() {
            return Err(Error::OffsetInPasses { side: "the rows" }.into());
        }
        let pool = peak::Pool { name: "the pool", rows, side };
        let peak = peak::predict(&[pool], Then::Labels)?;
        stages.time("read ids", || rows.check_ids())?;
        let mut notes = talk.notes(rows.source().name(), rows.notes());
        notes.extend(talk.notes(rows.source().name(), &[passes::stay("the rows", rows)]));
        notes.extend(peak::note(peak, rows, talk));
        let settings = json!({
            "cluster": side.cluster, "scale": side.scale, "sample": side.sample, "seed": self.seed,
            "columns": [rows.vector_names(), &[rows.id_name().unwrap_or_default().to_string()]],
            "missing": format!("{:?}", self.read.missing()), "dropped": rows.dropped(),
        });
        let checkpoints = self.checkpoint.begin(&self.output, settings, &[rows], (talk, stages))?;
        let clustering = side.cluster_rows(rows, Seed(self.seed), stages);
        let clustering = checkpoints.told(named(clustering, rows.source()))?;
        notes.extend(checkpoints.notes.iter().cloned());
        bridged_math::memory::give_back();
        let quiet = talk.quietly();
        stages.time(WRITE, || {
            passes::write_stream(self.out, &self.output, |write| {
                rows.for_each_pool(passes::BATCH, |first, mut pool| {
                    let ours = vec![labels(&clustering.labels[first..first + pool.rows.rows()])];
                    let talk = if first == 0 { talk } else { &quiet };
                    write(before_ours(vec![pool.take_ids()], ours, talk))
                })
            })
        })?;
        checkpoints.finish();
        Ok(Labelled { clustering, columns: rows.cols(), notes, peak: Some(peak) })
    }
}

/// An error of a clustering names the files.
fn named(clustering: Result<Clustering, Error>, source: &Source) -> Result<Clustering> {
    clustering.map_err(|error| {
        let error = match error {
            Error::Cluster { source, .. } => anyhow::Error::from(source),
            error => error.into(),
        };
        error.context(format!("`{}`", source.name().display()))
    })
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
