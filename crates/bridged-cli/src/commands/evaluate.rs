//! `bridged evaluate`: scores of a model on rows whose partners are known.

use crate::pools::{self, Columns};
use crate::printer::{Align, Grid, bold, number, plural};
use crate::progress::Talk;
use crate::table_flags::{ReadFlags, SideColumnFlags};
use anyhow::{Context, Result, bail};
use bridged::{BridgedModel, ByMetric, Evaluation, Scores, ValueScores};
use bridged_io::Pool;
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    model: PathBuf,
    /// Rows of x; row i belongs to row i of y
    #[arg(long, value_name = "FILE")]
    x: PathBuf,
    /// Rows of y
    #[arg(long, value_name = "FILE")]
    y: PathBuf,
    /// The latent class of each row: a column of x or y, or a file with one column of classes
    #[arg(long, value_name = "COLUMN|FILE")]
    labels: Option<String>,
    /// The vector column of x
    #[arg(long, value_name = "COLUMN")]
    x_vector: Option<String>,
    /// The vector column of y
    #[arg(long, value_name = "COLUMN")]
    y_vector: Option<String>,
    /// The id column of x
    #[arg(long, value_name = "COLUMN")]
    x_id: Option<String>,
    /// The id column of y
    #[arg(long, value_name = "COLUMN")]
    y_id: Option<String>,
    #[command(flatten)]
    columns: SideColumnFlags,
    #[command(flatten)]
    read: ReadFlags,
    /// Print the scores as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let stages = talk.watch();
    let model = stages.time("read model", || BridgedModel::load(&args.model))?;
    let (x, y) = stages.time("read rows", || -> Result<_> {
        let (missing, read) = (args.read.missing(), args.read.options()?);
        let columns = Columns {
            id: args.x_id.as_deref(),
            vector: args.x_vector.as_deref(),
            columns: &args.columns.x_columns,
            exclude: &args.columns.x_exclude,
            fitted: Some(model.x().fitted()),
            missing,
            read,
        };
        let x = pools::read_pool(&args.x, columns, &["x".to_string()])?;
        let columns = Columns {
            id: args.y_id.as_deref(),
            vector: args.y_vector.as_deref(),
            columns: &args.columns.y_columns,
            exclude: &args.columns.y_exclude,
            fitted: Some(model.y().fitted()),
            missing,
            read,
        };
        let y = pools::read_pool(&args.y, columns, &["y".to_string()])?;
        Ok((x, y))
    })?;
    talk.notes(&args.x, &x.notes);
    talk.notes(&args.y, &y.notes);
    let classes = args.labels.as_ref().map(|labels| classes(labels, &x, &y)).transpose()?;
    let scores = stages
        .time("evaluate", || model.evaluate(x.rows.view(), y.rows.view(), classes.as_deref()))?;

    let mut out = std::io::stdout().lock();
    if args.json {
        let seconds: serde_json::Map<_, _> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let mut report = serde_json::to_value(&scores)?;
        report["seconds"] = seconds.into();
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    print(&scores, &mut out)
}

/// Numbers for the classes of the rows, from a file or from a carried column.
fn classes(labels: &str, x: &Pool, y: &Pool) -> Result<Vec<u32>> {
    let carried = x.texts.iter().chain(&y.texts).find(|t| t.name == labels);
    let texts: Vec<Option<String>> = match carried {
        Some(column) => column.values.clone(),
        None if Path::new(labels).exists() => read_classes(Path::new(labels))?,
        None => {
            let known: Vec<&str> =
                x.texts.iter().chain(&y.texts).map(|t| t.name.as_str()).collect();
            bail!(
                "--labels {labels}: neither a file nor a column of x or y (columns: {})",
                if known.is_empty() { "none".to_string() } else { known.join(", ") }
            )
        }
    };
    if texts.len() != x.rows.rows() {
        bail!("--labels {labels}: {} classes for {} rows", texts.len(), x.rows.rows());
    }
    let mut numbers = HashMap::new();
    texts
        .into_iter()
        .enumerate()
        .map(|(i, text)| {
            let text = text.with_context(|| format!("--labels {labels}: row {i} has no class"))?;
            let next = numbers.len() as u32;
            Ok(*numbers.entry(text).or_insert(next))
        })
        .collect()
}

fn read_classes(path: &Path) -> Result<Vec<Option<String>>> {
    let mut columns = bridged_io::read(path)?.text_columns();
    if columns.len() > 1 {
        columns.retain(|c| c.name != "id" && !c.name.ends_with("_id"));
    }
    match columns.len() {
        1 => Ok(columns.remove(0).values),
        n => bail!("`{}` has {n} columns that could be classes; leave one", path.display()),
    }
}

/// Prints the scores beside the two constants.
pub fn print(scores: &Evaluation, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", bold(&format!("{} with known partners", plural(scores.rows, "row"))))?;
    let of_values = || scores.forward.model.metrics.iter().map(|(scorer, _)| scorer.title);
    let columns = ["", "answered"].into_iter().chain(of_values());
    let columns: Vec<&str> = columns.chain(["MSE of the mean", "of the paired mean"]).collect();
    let mut grid = Grid::new(&aligned(&columns));
    let mut row = |name: &str, s: &Scores| {
        let mut cells = vec![name.to_string(), s.answered.to_string()];
        cells.extend(s.model.metrics.iter().map(|(_, value)| or_dash(value)));
        cells.push(mse(&s.pool_mean));
        cells.push(s.paired_mean.as_ref().map_or("–".to_string(), mse));
        grid.row(cells);
    };
    row("y from x", &scores.forward);
    row("x from y", &scores.reverse);
    grid.print(out)?;
    for (side, scores) in [("x", &scores.forward), ("y", &scores.reverse)] {
        if scores.unfamiliar > 0 {
            let rows = plural(scores.unfamiliar, "row");
            writeln!(out, "{rows} of {side} unfamiliar: like none that the model was fitted on")?;
        }
    }
    if let Some(latent) = &scores.latent {
        writeln!(out)?;
        let titles = |scores: &ByMetric| scores.iter().map(|(s, _)| s.title).collect::<Vec<_>>();
        let columns =
            [vec!["against the classes"], titles(&latent.x), titles(&latent.forward.metrics)];
        let mut grid = Grid::new(&aligned(&columns.concat()));
        let rows = [("x", &latent.x, &latent.forward), ("y", &latent.y, &latent.reverse)];
        for (name, clusters, bridge) in rows {
            let other = if name == "x" { "y" } else { "x" };
            let values = clusters.iter().chain(bridge.metrics.iter()).map(|(_, v)| or_dash(v));
            let label = format!("clusters of {name}, bridge to {other}");
            grid.row(std::iter::once(label).chain(values).collect());
        }
        grid.print(out)?;
    }
    Ok(())
}

/// The first column to the left, numbers to the right.
fn aligned<'a>(columns: &[&'a str]) -> Vec<(&'a str, Align)> {
    let align = |i: usize| if i == 0 { Align::Left } else { Align::Right };
    columns.iter().enumerate().map(|(i, column)| (*column, align(i))).collect()
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or("–".to_string(), number)
}

/// The mean squared error, as tables print it.
pub fn mse(scores: &ValueScores) -> String {
    or_dash(scores.metrics.get("mse"))
}
