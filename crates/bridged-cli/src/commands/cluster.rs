//! `bridged cluster`: one table on its own, a label for each row.

use crate::checkpoints::{CheckpointFlags, Checkpoints, optimality};
use crate::options::{self, usage};
use crate::outputs;
use crate::parts_out::{self, Folder, PartsFlags, PartsOut};
use crate::passes::{self, PassFlags, Pieces, ScratchFlags};
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
    /// Where the labels go, a table of id and label: a file whose extension tells the format, - for standard output, or a
    /// folder with --rows-per-file
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
    parts: PartsFlags,
    #[command(flatten)]
    passes: PassFlags,
    #[command(flatten)]
    scratch: ScratchFlags,
    #[command(flatten)]
    checkpoint: CheckpointFlags,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let spec = args.spec()?;
    let inputs = pools::inputs(&[&args.rows], &[]);
    let rows_per_file = args.parts.rows_per_file;
    let output = (&args.out, args.output.as_path());
    let format =
        args.parts.check_output(output, outputs::LABELS, (&args.rows, &inputs), args.force)?;
    args.out.check_json(&args.output, args.json)?;
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
    let mut stored = match args.passes.may_be_large(&[&source]) || rows_per_file.is_some() {
        true => Some(stages.time("read", || source.stored(&columns.read, columns.select(&[])))?),
        false => None,
    };
    let mut folder = None;
    if let (Some(rows), Some(stored)) = (rows_per_file, &stored) {
        let made_of = args.made_of(stored, &side)?;
        match Folder::open(&args.output, format, rows, made_of, args.force)? {
            Folder::Finished { files, rows } => {
                return parts_out::say_finished(&args.output, files, rows, args.json);
            }
            Folder::Open(open) => folder = Some(open),
        }
    }
    let is_large =
        |rows: &StoredRows| format.writes_pieces() && args.passes.is_large_to_cluster(rows, &side);
    if let Some(rows) = stored.as_mut().filter(|rows| is_large(rows)) {
        args.scratch.apply(&mut [rows])?;
    }
    let labelled = match stored.as_ref().filter(|rows| is_large(rows)) {
        Some(rows) => args.in_passes(rows, &side, talk, &stages)?,
        None => args.in_memory(&source, columns, &side, talk, &stages)?,
    };
    let Labelled { clustering, columns: width, notes, ids, peak, checkpoints } = labelled;
    match (ids, &stored) {
        (Some(ids), _) if folder.is_none() => {
            let mut columns = vec![labels(&clustering.labels)];
            if format.layout != Layout::Array {
                columns = before_ours(vec![ids], columns, talk);
            }
            stages.time(WRITE, || args.out.write(&args.output, columns))?;
        }
        (_, Some(rows)) => {
            stages.time(WRITE, || args.write(rows, &clustering.labels, folder.as_mut(), talk))?;
        }
        _ => unreachable!("rows in a folder of files and rows in passes are stored"),
    }
    if let Some(checkpoints) = checkpoints {
        checkpoints.finish();
    }
    let optimality = optimality(&stages);
    let noise = clustering.labels.iter().filter(|l| **l == NOISE).count();
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
        if let Some(folder) = &folder {
            report["files"] = json!(folder.files());
        }
        printer::print_json(&report, &mut printer::out())?;
    } else if !talk.quiet {
        let mut out = Vec::new();
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
        let wrote = match &folder {
            Some(folder) => {
                format!("{} in {}", plural(folder.files(), "file"), args.output.display())
            }
            None => args.output.display().to_string(),
        };
        write!(out, "inertia {inertia}, {rest} after {iterations}; wrote {wrote}")?;
        args.out.say(&args.output, &String::from_utf8_lossy(&out))?;
    }
    Ok(())
}

/// Rows that were clustered, and whose labels are written.
struct Labelled<'a> {
    clustering: Clustering,
    columns: usize,
    notes: Vec<String>,
    /// The ids, if all rows were in memory.
    ids: Option<Column>,
    /// The bytes that were predicted for work in passes.
    peak: Option<u64>,
    /// The states of work in passes, until its output is written.
    checkpoints: Option<Checkpoints<'a>>,
}

fn labels(labels: &[u32]) -> Column {
    let label = |&l: &u32| Some(if l == NOISE { -1 } else { i64::from(l) });
    Column::new("label", ColumnData::Integer(labels.iter().map(label).collect()))
}

impl Args {
    /// What the files of a folder are made of: with anything else, others would come out.
    fn made_of(
        &self,
        rows: &StoredRows,
        side: &SideSpec,
    ) -> Result<serde_json::Map<String, serde_json::Value>> {
        let read = self.read.options()?;
        let settings = json!({
            "side": side, "seed": self.seed, "id": self.id, "vector": self.vector,
            "columns": self.columns.columns, "exclude": self.columns.exclude,
            "missing": self.read.missing().name(), "separator": read.separator, "decimal": read.decimal,
            "safe_csv": self.out.is_safe(),
        });
        let format = self.out.format_of_parts()?.name;
        let files = json!({"format": format, "rows": self.parts.rows_per_file});
        let all = [
            ("command", json!("cluster")),
            ("version of bridged", json!(env!("CARGO_PKG_VERSION"))),
            ("rows", parts_out::rows_of(rows)),
            ("settings", settings),
            ("files", files),
        ];
        Ok(all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// With all rows in memory.
    fn in_memory(
        &self,
        source: &Source,
        columns: Columns<'_>,
        side: &SideSpec,
        talk: &Talk,
        stages: &Stages,
    ) -> Result<Labelled<'static>> {
        let mut pool = stages.time("read", || pools::read_pool(source, columns, &[]))?;
        let notes = talk.notes(source.name(), &pool.notes);
        if side.uses_origin() {
            pool.rows = std::mem::take(&mut pool.offset).undo(pool.rows);
        }
        let clustering = side.cluster_rows(&pool.rows.view(), Seed(self.seed), stages);
        let clustering = named(clustering, source)?;
        let (ids, columns) = (Some(pool.take_ids()), pool.rows.cols());
        Ok(Labelled { clustering, columns, notes, ids, peak: None, checkpoints: None })
    }

    /// With the rows left in their files.
    fn in_passes<'a>(
        &self,
        rows: &StoredRows,
        side: &SideSpec,
        talk: &Talk,
        stages: &'a Stages,
    ) -> Result<Labelled<'a>> {
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
            "missing": self.read.missing().name(), "dropped": rows.dropped(),
        });
        let checkpoints = self.checkpoint.begin(&self.output, settings, &[rows], (talk, stages))?;
        let clustering = side.cluster_rows(rows, Seed(self.seed), stages);
        let clustering = checkpoints.told(named(clustering, rows.source()))?;
        notes.extend(checkpoints.notes.iter().cloned());
        bridged_math::memory::give_back();
        Ok(Labelled {
            clustering,
            columns: rows.cols(),
            notes,
            ids: None,
            peak: Some(peak),
            checkpoints: Some(checkpoints),
        })
    }

    /// Writes the labels of stored rows some at a time, into a folder what is not there yet.
    fn write(
        &self,
        rows: &StoredRows,
        all: &[u32],
        folder: Option<&mut PartsOut>,
        talk: &Talk,
    ) -> Result<()> {
        let quiet = talk.quietly();
        let start = folder.as_ref().map_or(0, |folder| folder.start());
        let write = |pieces: Pieces| match folder {
            Some(folder) => folder.write_columns(&self.out, pieces),
            None => self.out.write_pieces(&self.output, pieces),
        };
        passes::stream(write, |write| {
            rows.for_each_pool_from(start, passes::BATCH, |first, mut pool| {
                let ours = vec![labels(&all[first..first + pool.rows.rows()])];
                let talk = if first == start { talk } else { &quiet };
                write(before_ours(vec![pool.take_ids()], ours, talk))
            })
        })
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
