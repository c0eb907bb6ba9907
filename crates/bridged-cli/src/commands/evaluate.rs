//! `bridged evaluate`: scores of a model on rows whose partners are known.

use crate::options::{did_you_mean, usage};
use crate::pools::{self, Columns, Named, Unknown};
use crate::printer::{self, Align, Grid, bold, count, number, plural};
use crate::progress::Talk;
use crate::table_flags::{ReadFlags, SideColumnFlags};
use anyhow::{Context, Result, bail};
use bridged::align::Alignment;
use bridged::{BridgedModel, ByMetric, Direction, Evaluation, Scores, ValueScores};
use bridged_io::{Pool, TextCells};
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    model: PathBuf,
    /// Rows of x; each belongs to the row of y with its id
    #[arg(long, value_name = "ROWS", num_args = 1.., required = true)]
    x: Vec<PathBuf>,
    /// Rows of y
    #[arg(long, value_name = "ROWS", num_args = 1.., required = true)]
    y: Vec<PathBuf>,
    /// Which rows belong together: a table of two columns, an id of x and an id of y
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Row i of x belongs to row i of y, whatever their ids
    #[arg(long, conflicts_with = "pairs")]
    by_position: bool,
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
    let (x_source, y_source) = (pools::find(&args.x)?, pools::find(&args.y)?);
    let (x, y) = stages.time("read rows", || -> Result<_> {
        let (missing, read) = (args.read.missing(), args.read.options()?);
        let fitted = Some(model.x().fitted());
        let named = args.columns.x(&args.x_id, &args.x_vector);
        let columns = Columns { fitted, missing, read, ..named };
        let x = pools::read_pool(&x_source, columns, &["x".to_string()])?;
        let fitted = Some(model.y().fitted());
        let named = args.columns.y(&args.y_id, &args.y_vector);
        let columns = Columns { fitted, missing, read, ..named };
        let y = pools::read_pool(&y_source, columns, &["y".to_string()])?;
        Ok((x, y))
    })?;
    let mut notes = talk.notes(x_source.name(), &x.notes);
    notes.extend(talk.notes(y_source.name(), &y.notes));
    for (direction, source, pool) in
        [(Direction::Forward, &x_source, &x), (Direction::Reverse, &y_source, &y)]
    {
        if let Some(why) = pools::wrong_side(&model, direction, pool) {
            notes.extend(talk.notes(source.name(), &[format!("{why}; are --x and --y swapped?")]));
        }
    }
    let named =
        [Named { pool: &x, path: x_source.name() }, Named { pool: &y, path: y_source.name() }];
    let one_source = x_source.is_same(&y_source);
    let aligned = align(args, named, one_source, talk, &mut notes)?;
    let classes =
        args.labels.as_ref().map(|labels| classes(labels, &x, &y, &aligned)).transpose()?;
    let (x, y) = match &aligned.rows {
        Some(rows) => (
            x.rows.view().select(rows.x.iter().copied()),
            y.rows.view().select(rows.y.iter().copied()),
        ),
        None => (x.rows, y.rows),
    };
    let scores =
        stages.time("evaluate", || model.evaluate(x.view(), y.view(), classes.as_deref()))?;

    let mut out = printer::out();
    if args.json {
        let seconds: serde_json::Map<_, _> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let mut report = serde_json::to_value(&scores)?;
        report["alignment"] = aligned.describe();
        report["notes"] = json!(notes);
        report["seconds"] = seconds.into();
        printer::print_json(&report, &mut out)?;
        return Ok(());
    }
    print(&scores, &mut out)?;
    Ok(writeln!(out, "\n{}", aligned.sentence())?)
}

/// Which rows belong together, and what told so.
struct Aligned {
    by: &'static str,
    /// None: row i belongs to row i.
    rows: Option<Alignment>,
}

impl Aligned {
    fn alone(&self) -> (usize, usize) {
        self.rows.as_ref().map_or((0, 0), |rows| (rows.x_alone, rows.y_alone))
    }

    fn describe(&self) -> serde_json::Value {
        let (x_alone, y_alone) = self.alone();
        json!({"by": self.by, "x_alone": x_alone, "y_alone": y_alone})
    }

    fn sentence(&self) -> String {
        let (x, y) = self.alone();
        let left = match x + y {
            0 => String::new(),
            _ => format!("; {} of x and {} of y have no partner", plural(x, "row"), count(y)),
        };
        format!("rows aligned by {}{left}", self.by)
    }
}

/// Rows are paired as the user says, else by their ids, never silently by their position.
fn align(
    args: &Args,
    [x_named, y_named]: [Named<'_>; 2],
    one_source: bool,
    talk: &Talk,
    notes: &mut Vec<String>,
) -> Result<Aligned> {
    let (x, y) = (x_named.pool, y_named.pool);
    if let Some(pairs) = &args.pairs {
        let (path, read) = (pairs, args.read.options()?);
        let pairs = pools::read_pairs(path, &read, x_named, y_named, Unknown::Refuse)?;
        notes.extend(talk.notes(path, &pairs.notes));
        let rows = Alignment::by_pairs(&pairs.rows, x.rows.rows(), y.rows.rows());
        return Ok(Aligned { by: "pairs", rows: Some(rows) });
    }
    if args.by_position || one_source {
        if !(x.dropped.is_empty() && y.dropped.is_empty()) && x.dropped != y.dropped {
            return Err(usage(
                "--missing drop: rows were left out of one side only, so positions no longer fit; \
                 align the rows by id or by --pairs, or take --missing mean",
            ));
        }
        return Ok(Aligned { by: "position", rows: None });
    }
    let (x_file, y_file) = (x_named.path.display(), y_named.path.display());
    let how = "give --pairs FILE with an id of x and an id of y per row, name the id columns with \
               --x-id and --y-id, or say --by-position if row i of x belongs to row i of y";
    if x.id_name.is_none() || y.id_name.is_none() {
        let without = match (&x.id_name, &y.id_name) {
            (None, None) => format!("neither `{x_file}` nor `{y_file}` has"),
            (None, _) => format!("`{x_file}` does not have"),
            _ => format!("`{y_file}` does not have"),
        };
        return Err(usage(format!(
            "which rows belong together cannot be told: {without} an id column; {how}"
        )));
    }
    let rows = Alignment::by_id(&x.ids, &y.ids);
    if rows.is_empty() {
        return Err(usage(format!(
            "which rows belong together cannot be told: `{x_file}` and `{y_file}` share no id; {how}"
        )));
    }
    Ok(Aligned { by: "id", rows: Some(rows) })
}

/// Numbers for the classes of the aligned rows, from a carried column or from a file in the order of x or y.
fn classes(labels: &str, x: &Pool, y: &Pool, aligned: &Aligned) -> Result<Vec<u32>> {
    let (x_texts, y_texts) = (x.texts(), y.texts());
    let of =
        |texts: &[TextCells]| texts.iter().find(|t| t.name == labels).map(|t| t.values.clone());
    let (texts, of_x) = match (of(&x_texts), of(&y_texts)) {
        (Some(texts), _) => (texts, true),
        (None, Some(texts)) => (texts, false),
        (None, None) if Path::new(labels).exists() => {
            let texts = read_classes(Path::new(labels))?;
            let of_x = texts.len() == x.rows.rows();
            if !of_x && texts.len() != y.rows.rows() {
                let (classes, rows) = (count(texts.len()), plural(x.rows.rows(), "row"));
                bail!("--labels {labels}: {classes} classes for {rows}");
            }
            (texts, of_x)
        }
        (None, None) => {
            let known: Vec<&str> =
                x_texts.iter().chain(&y_texts).map(|t| t.name.as_str()).collect();
            bail!(
                "--labels {labels}: neither a file nor a column of x or y{} (columns: {})",
                did_you_mean(labels, &known),
                if known.is_empty() { "none".to_string() } else { known.join(", ") }
            )
        }
    };
    let rows: Vec<usize> = match &aligned.rows {
        Some(rows) if of_x => rows.x.clone(),
        Some(rows) => rows.y.clone(),
        None => (0..texts.len()).collect(),
    };
    let mut numbers = HashMap::new();
    rows.into_iter()
        .map(|i| {
            let text = texts[i].as_deref();
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
        let mut cells = vec![name.to_string(), count(s.answered)];
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
