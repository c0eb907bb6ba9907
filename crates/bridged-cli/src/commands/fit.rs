//! `bridged fit`: two pools and pairs in, a model out.

use crate::bridge_view::{self, Show};
use crate::options::{self, set, tune, usage};
use crate::pools::{self, Columns, Named};
use crate::printer::{count, plural};
use crate::progress::Talk;
use anyhow::Result;
use bridged::bridge::BridgeSpec;
use bridged::cluster::ClusterSpec;
use bridged::refine::{Alpha, Refine, RefineKind};
use bridged::scale::Scale;
use bridged::{
    BridgedClustering, BridgedModel, Direction, KeepRows, PairRows, Problem, SideSpec, Uncovered,
};
use bridged_math::Seed;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(long, value_name = "FILE", help = format!("The input pool: {}", bridged_io::format_names()))]
    x: PathBuf,
    /// The output pool
    #[arg(long, value_name = "FILE")]
    y: PathBuf,
    /// The known pairs: a table of two columns, an id of x and an id of y
    #[arg(long, value_name = "FILE")]
    pairs: PathBuf,
    /// Where the model goes
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Clusters on each side
    #[arg(long, short = 'k', value_name = "K", help_heading = "Clustering")]
    clusters: Option<usize>,
    /// Clusters of x, if other than --clusters
    #[arg(long, value_name = "K", help_heading = "Clustering")]
    x_clusters: Option<usize>,
    /// Clusters of y, if other than --clusters
    #[arg(long, value_name = "K", help_heading = "Clustering")]
    y_clusters: Option<usize>,
    /// The clustering of both sides; `bridged list` shows all [default: balanced]
    #[arg(long, value_name = "METHOD", value_parser = options::clusterings(), hide_possible_values = true, help_heading = "Clustering")]
    cluster: Option<String>,
    /// The clustering of x, if other than --cluster
    #[arg(long, value_name = "METHOD", value_parser = options::clusterings(), hide_possible_values = true, help_heading = "Clustering")]
    x_cluster: Option<String>,
    /// The clustering of y, if other than --cluster
    #[arg(long, value_name = "METHOD", value_parser = options::clusterings(), hide_possible_values = true, help_heading = "Clustering")]
    y_cluster: Option<String>,
    /// How pairs become links: posterior, majority, margin, hungarian or soft [default: posterior]
    #[arg(long, value_name = "RULE", value_parser = options::bridges(), hide_possible_values = true, help_heading = "Bridge")]
    bridge: Option<String>,
    /// What is predicted for a cluster without a link [default: mean]; a posterior bridge always has
    /// one, see predict --min-confidence
    #[arg(long, value_enum, help_heading = "Bridge")]
    uncovered: Option<UncoveredArg>,
    /// Regression on the pairs: none, supervised or supervised-centroid inside linked clusters, or
    /// residual for what the bridge leaves unexplained [default: residual with posterior, else none]
    #[arg(long, value_name = "KIND", value_parser = options::refine, help_heading = "Bridge")]
    refine: Option<RefineKind>,
    /// How far predictions follow that regression: auto, or 0 to 1 [default: auto]
    #[arg(long, value_name = "ALPHA", value_parser = options::alpha, help_heading = "Bridge")]
    alpha: Option<Alpha>,
    /// Scaling of both sides: none, standardize, l2 or pca:N [default: none]
    #[arg(long, value_name = "SCALE", value_parser = options::scale, help_heading = "Clustering")]
    scale: Option<Scale>,
    /// Scaling of x, if other than --scale
    #[arg(long, value_name = "SCALE", value_parser = options::scale, help_heading = "Clustering")]
    x_scale: Option<Scale>,
    /// Scaling of y, if other than --scale
    #[arg(long, value_name = "SCALE", value_parser = options::scale, help_heading = "Clustering")]
    y_scale: Option<Scale>,
    /// Runs of a clustering from different starts, of which the best is kept
    #[arg(long, value_name = "N", help_heading = "Clustering")]
    restarts: Option<u32>,
    /// The most iterations of a run
    #[arg(long, value_name = "N", help_heading = "Clustering")]
    max_iter: Option<u32>,
    /// `paper`: balanced k-means, majority vote, centroids, no scaling
    #[arg(long, value_enum)]
    preset: Option<Preset>,
    /// Any parameter by its name, as in x.cluster.tol=0 (see `bridged inspect --json`)
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Cluster without the rows of the pairs; they only vote
    #[arg(long, help_heading = "Clustering")]
    pairs_apart: bool,
    /// Leave the rows out of the model: a smaller file, but predictions cannot name real rows
    #[arg(long)]
    no_rows: bool,
    /// Where random numbers come from
    #[arg(long, default_value_t = 0, help_heading = "Clustering")]
    seed: u64,

    /// The id column of x [default: `id`, or the one that ends in `_id`, else the row number]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    x_id: Option<String>,
    /// The vector column of x [default: the list column, else all numeric columns]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    x_vector: Option<String>,
    /// The id column of y
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    y_id: Option<String>,
    /// The vector column of y
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    y_vector: Option<String>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Preset {
    Paper,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UncoveredArg {
    /// The mean of the other pool
    Mean,
    /// What the nearest cluster with a link predicts
    Nearest,
    /// Nothing
    Abstain,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let spec = args.spec()?;
    let stages = talk.watch();
    let column = |id, vector| Columns { id, vector };
    let (x, y, pairs) = stages.time("read", || -> Result<_> {
        let x_columns = column(args.x_id.as_deref(), args.x_vector.as_deref());
        let x = pools::read_pool(&args.x, x_columns, &["x".to_string()])?;
        let y_columns = column(args.y_id.as_deref(), args.y_vector.as_deref());
        let y = pools::read_pool(&args.y, y_columns, &["y".to_string()])?;
        let (x_named, y_named) =
            (Named { pool: &x, path: &args.x }, Named { pool: &y, path: &args.y });
        let pairs = pools::read_pairs(&args.pairs, x_named, y_named)?;
        Ok((x, y, pairs))
    })?;
    let problem = Problem::new(x.rows.view(), y.rows.view(), &pairs);
    let mut model = spec.fit(problem, Seed(args.seed), &stages)?;
    model.x.names = pools::names(&x);
    model.y.names = pools::names(&y);
    stages.time("write", || model.save(&args.output))?;

    let mut out = std::io::stdout().lock();
    if args.json {
        let seconds: serde_json::Map<String, Value> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let mut report = model.describe();
        report["model"] = json!(args.output);
        report["seconds"] = Value::Object(seconds);
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else if !talk.quiet {
        summarise(&model, &mut out)?;
        writeln!(out, "\nwrote {}", args.output.display())?;
    }
    Ok(())
}

fn summarise(model: &BridgedModel, out: &mut dyn Write) -> Result<()> {
    for (name, side, spec) in [("x", &model.x, &model.spec.x), ("y", &model.y, &model.spec.y)] {
        let rows = plural(side.clustering.labels.len(), "row");
        let (columns, k) = (count(side.cols()), side.k());
        let method = spec.cluster.name();
        writeln!(out, "{name}  {rows} × {columns}, {k} clusters by {method}")?;
    }
    writeln!(out)?;
    bridge_view::print(model, Direction::Forward, Show::default(), out)?;
    writeln!(out)?;
    bridge_view::print_checks(model, out)?;
    writeln!(out)?;
    bridge_view::print_verdict(model, out)?;
    bridge_view::print_warnings(model, out)?;
    Ok(())
}

impl Args {
    fn spec(&self) -> Result<BridgedClustering> {
        let base = match self.preset {
            Some(Preset::Paper) => BridgedClustering::paper(1),
            None => BridgedClustering::default(),
        };
        let rule = self.bridge.as_deref().and_then(BridgeSpec::named).unwrap_or(base.bridge);
        let mut refine = Refine::suited(self.refine, &rule);
        if self.alpha.is_some() && refine.kind == RefineKind::None {
            let kinds = "supervised, supervised-centroid or residual";
            return Err(usage(format!("--alpha needs --refine {kinds}")));
        }
        refine.alpha = self.alpha.unwrap_or_default();
        let spec = BridgedClustering {
            x: self.side(&self.x_cluster, self.x_clusters, self.x_scale, "x")?,
            y: self.side(&self.y_cluster, self.y_clusters, self.y_scale, "y")?,
            bridge: rule,
            uncovered: match self.uncovered {
                None | Some(UncoveredArg::Mean) => Uncovered::Mean,
                Some(UncoveredArg::Nearest) => Uncovered::Nearest,
                Some(UncoveredArg::Abstain) => Uncovered::Abstain,
            },
            refine,
            pair_rows: if self.pairs_apart { PairRows::Apart } else { PairRows::Pooled },
            keep_rows: if self.no_rows { KeepRows::No } else { KeepRows::Yes },
        };
        set(spec, &self.set)
    }

    fn side(
        &self,
        method: &Option<String>,
        k: Option<usize>,
        scale: Option<Scale>,
        name: &str,
    ) -> Result<SideSpec> {
        let mut cluster = match method.as_deref().or(self.cluster.as_deref()) {
            Some(name) => ClusterSpec::named(name).expect("clap accepts listed methods only"),
            None => SideSpec::default().cluster,
        };
        match k.or(self.clusters) {
            Some(k) => cluster = cluster.with_k(k),
            None if cluster.needs_k() => {
                return Err(usage(format!(
                    "how many clusters? Give --clusters K, or --{name}-clusters K"
                )));
            }
            None => {}
        }
        let options = [
            ("restarts", self.restarts.map(Value::from)),
            ("max-iter", self.max_iter.map(Value::from)),
        ];
        let scale = scale.or(self.scale).unwrap_or_default();
        Ok(SideSpec { cluster: tune(cluster, &options)?, scale })
    }
}
