//! `bridged fit`: two pools and pairs in, a model out.

use crate::bridge_view::{self, Show};
use crate::outputs;
use crate::pools::{self, Columns, Named, Unknown};
use crate::printer::{self, count, plural};
use crate::progress::{Talk, WRITE};
use crate::setting_flags::SettingFlags;
use crate::table_flags::{ReadFlags, SideColumnFlags};
use anyhow::Result;
use bridged::{BridgedModel, Direction};
use bridged_io::ReadOptions;
use bridged_math::Seed;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(
        long, value_name = "ROWS", num_args = 1.., required = true,
        help = format!("The input pool: files, a folder, a pattern, a URL or - ({})", bridged_io::format_names())
    )]
    x: Vec<PathBuf>,
    /// The output pool
    #[arg(long, value_name = "ROWS", num_args = 1.., required = true)]
    y: Vec<PathBuf>,
    /// The known pairs: a table of two columns, an id of x and an id of y
    #[arg(long, value_name = "FILE")]
    pairs: PathBuf,
    /// Where the model goes, a .bridged file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Write over a file of any kind and under any name; an input is never written over
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    settings: SettingFlags,
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

    #[command(flatten)]
    columns: SideColumnFlags,
    /// The column of the pairs that holds ids of x [default: `x_id` or `x`, else the first of two]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pairs_x: Option<String>,
    /// The column of the pairs that holds ids of y
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pairs_y: Option<String>,
    /// Leave out pairs that name an id that no row has
    #[arg(long, help_heading = "Tables")]
    skip_unknown: bool,
    #[command(flatten)]
    read: ReadFlags,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let settings = args.settings.settings()?;
    let inputs = pools::inputs(&[&args.x, &args.y], &[&args.pairs]);
    outputs::model(&args.output, &inputs, args.force)?;
    let (x_source, y_source) = (pools::find(&args.x)?, pools::find(&args.y)?);
    let stages = talk.watch();
    let read = ReadOptions {
        pairs_x: args.pairs_x.as_deref(),
        pairs_y: args.pairs_y.as_deref(),
        ..args.read.options()?
    };
    let common = Columns { missing: args.read.missing(), read, ..Columns::default() };
    let (x, y, pairs) = stages.time("read", || -> Result<_> {
        let x_columns = Columns {
            id: args.x_id.as_deref(),
            vector: args.x_vector.as_deref(),
            columns: &args.columns.x_columns,
            exclude: &args.columns.x_exclude,
            ..common
        };
        let x = pools::read_pool(&x_source, x_columns, &["x".to_string()])?;
        let y_columns = Columns {
            id: args.y_id.as_deref(),
            vector: args.y_vector.as_deref(),
            columns: &args.columns.y_columns,
            exclude: &args.columns.y_exclude,
            ..common
        };
        let y = pools::read_pool(&y_source, y_columns, &["y".to_string()])?;
        let (x_named, y_named) =
            (Named { pool: &x, path: x_source.name() }, Named { pool: &y, path: y_source.name() });
        let unknown = if args.skip_unknown { Unknown::Skip } else { Unknown::Refuse };
        let pairs = pools::read_pairs(&args.pairs, &read, x_named, y_named, unknown)?;
        Ok((x, y, pairs))
    })?;
    let mut notes = talk.notes(x_source.name(), &x.notes);
    notes.extend(talk.notes(y_source.name(), &y.notes));
    notes.extend(talk.notes(&args.pairs, &pairs.notes));
    let distinct = [&x, &y].map(|pool| pools::distinct_rows(pool.rows.view()));
    let (x, y) = (pools::into_pool(x), pools::into_pool(y));
    let model = settings.fit_pools(x, y, &pairs.rows, Seed(args.seed), &stages)?;
    for (name, source, side, distinct) in
        [("x", &x_source, model.x(), distinct[0]), ("y", &y_source, model.y(), distinct[1])]
    {
        notes.extend(talk.notes(source.name(), pools::few_rows(name, side, distinct).as_slice()));
    }
    stages.time(WRITE, || match args.force {
        true => model.save_over(&args.output),
        false => model.save(&args.output),
    })?;

    let mut out = printer::out();
    if args.json {
        let seconds: serde_json::Map<String, Value> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let mut report = model.describe();
        report["model"] = json!(args.output);
        report["notes"] = json!(notes);
        report["seconds"] = Value::Object(seconds);
        printer::print_json(&report, &mut out)?;
    } else if !talk.quiet {
        summarise(&model, &mut out)?;
        writeln!(out, "\nwrote {}", args.output.display())?;
    }
    Ok(())
}

fn summarise(model: &BridgedModel, out: &mut dyn Write) -> Result<()> {
    let settings = model.settings();
    for (name, side, spec) in [("x", model.x(), &settings.x), ("y", model.y(), &settings.y)] {
        let rows = plural(side.len(), "row");
        let (columns, clusters) = (count(side.cols()), plural(side.k(), "cluster"));
        let method = spec.cluster.name();
        writeln!(out, "{name}  {rows} × {columns}, {clusters} by {method}")?;
    }
    writeln!(out)?;
    bridge_view::print(model, Direction::Forward, Show::default(), out)?;
    writeln!(out)?;
    bridge_view::print_share(model, out)?;
    bridge_view::print_checks(model, out)?;
    writeln!(out)?;
    bridge_view::print_verdict(model, out)?;
    bridge_view::print_warnings(model, out)?;
    Ok(())
}
