//! `bridged diff`: how two models differ.

use crate::failure::Judged;
use crate::options::usage;
use crate::pools::{self, Columns};
use crate::printer::{self, Align, Grid, bold, count, number, plural};
use crate::progress::Talk;
use crate::table_flags::ReadFlags;
use anyhow::{Context, Result, anyhow};
use bridged::{
    BridgedModel, DiffRows, Direction, LinkDiff, LinkEnd, MatchedBy, ModelDiff, PredictionDiff,
    SideDiff,
};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Parameters that are printed.
const PARAMETERS: usize = 12;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The first model
    a: PathBuf,
    /// The second model
    b: PathBuf,
    /// Rows that both models are shown, to match clusters and to compare predictions by [default: the rows that they hold]
    #[arg(long, value_name = "ROWS", num_args = 1..)]
    rows: Vec<PathBuf>,
    /// The side that --rows belong to
    #[arg(long, value_name = "SIDE", default_value = "x", value_parser = ["x", "y"])]
    side: String,
    /// The id column of --rows
    #[arg(long, value_name = "COLUMN", requires = "rows")]
    id: Option<String>,
    /// The vector column of --rows [default: the one that the first model was fitted on, else the only one]
    #[arg(long, value_name = "COLUMN", requires = "rows")]
    vector: Option<String>,
    #[command(flatten)]
    read: ReadFlags,
    /// End with exit code 3 if the models differ
    #[arg(long)]
    exit_code: bool,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let stages = talk.watch();
    let (a, b) = stages.time("read models", || -> Result<_> {
        Ok((BridgedModel::load(&args.a)?, BridgedModel::load(&args.b)?))
    })?;
    let direction = if args.side == "y" { Direction::Reverse } else { Direction::Forward };
    let (mut notes, mut given) = (Vec::new(), None);
    // Rows cannot be those of two models of another width; that is what is to be said then.
    let same_width = a.from(direction).cols() == b.from(direction).cols();
    if !args.rows.is_empty() && same_width {
        let source = pools::find(&args.rows)?;
        if pools::inputs(&[&args.rows], &[]).iter().any(|file| file == &args.a || file == &args.b) {
            return Err(usage("--rows names one of the models; name a table of rows"));
        }
        let columns = Columns {
            id: args.id.as_deref(),
            vector: args.vector.as_deref(),
            fitted: Some(a.from(direction).fitted()),
            missing: args.read.missing(),
            read: args.read.options()?,
            ..Columns::default()
        };
        let pool = stages.time("read rows", || pools::read_pool(&source, columns, &[]))?;
        notes.extend(talk.notes(source.name(), &pool.notes));
        if let Some(why) = pools::wrong_side(&a, direction, &pool) {
            notes.extend(talk.notes(source.name(), &[format!("{why}; is it the right --side?")]));
        }
        given = Some(pool.rows);
    }
    let rows = match direction {
        Direction::Forward => DiffRows { x: given.as_ref().map(|r| r.view()), y: None },
        Direction::Reverse => DiffRows { x: None, y: given.as_ref().map(|r| r.view()) },
    };
    let diff = stages.time("compare", || a.diff(&b, rows).context("comparing the models"))?;
    let mut out = printer::out();
    if args.json {
        let seconds: serde_json::Map<_, _> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let mut report = serde_json::to_value(&diff)?;
        if let Some(of_models) = report["notes"].as_array_mut() {
            of_models.extend(notes.into_iter().map(|note| json!(note)));
        }
        report["seconds"] = seconds.into();
        printer::print_json(&report, &mut out)?;
    } else if !talk.quiet || !diff.identical {
        print(&diff, &mut out)?;
    }
    out.flush()?;
    if args.exit_code && !diff.identical { Err(anyhow!(Judged)) } else { Ok(()) }
}

fn print(diff: &ModelDiff, out: &mut dyn Write) -> Result<()> {
    if diff.identical {
        return Ok(writeln!(out, "the models are identical")?);
    }
    diff.notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    if diff.sides.is_empty() {
        return Ok(());
    }
    if !diff.parameters.is_empty() {
        writeln!(out, "{}", bold("parameters"))?;
        let columns = [("", Align::Left), ("first", Align::Left), ("second", Align::Left)];
        let mut grid = Grid::new(&columns);
        for parameter in diff.parameters.iter().take(PARAMETERS) {
            let (this, other) = (parameter.this.to_string(), parameter.other.to_string());
            grid.row(vec![
                parameter.name.clone(),
                printer::cut(&this, 30),
                printer::cut(&other, 30),
            ]);
        }
        grid.print(out)?;
        if diff.parameters.len() > PARAMETERS {
            writeln!(out, "  and {} more", count(diff.parameters.len() - PARAMETERS))?;
        }
        writeln!(out)?;
    }
    for side in &diff.sides {
        print_side(side, out)?;
        print_links(side.side, &diff.links, out)?;
        writeln!(out)?;
    }
    diff.predictions.iter().try_for_each(|p| print_predictions(p, out))
}

fn print_side(side: &SideDiff, out: &mut dyn Write) -> Result<()> {
    let [first, second] = side.rows;
    writeln!(
        out,
        "{}",
        bold(&format!("{}: {} and {}", side.side, plural(first, "row"), count(second)))
    )?;
    let by = match side.matched_by {
        MatchedBy::Rows => "the rows that were given",
        MatchedBy::Ids => "the ids of rows that both hold",
        MatchedBy::Content => "equal rows that both hold",
        MatchedBy::Centroids => "their centroids",
    };
    write!(out, "clusters are matched by {by}")?;
    match side.matched_by {
        MatchedBy::Centroids => writeln!(out)?,
        _ => writeln!(
            out,
            "; {} of {} lie in clusters that are matched",
            count(side.agree),
            plural(side.common, "row")
        )?,
    }
    let mut grid = Grid::new(&[
        ("first", Align::Right),
        ("second", Align::Right),
        ("rows", Align::Right),
        ("rows", Align::Right),
        ("in both", Align::Right),
        ("centroid moved by", Align::Right),
    ]);
    for c in &side.clusters {
        let counted =
            |cluster: Option<u32>, rows: usize| cluster.map_or("–".into(), |_| count(rows));
        grid.row(vec![
            named(c.this),
            named(c.other),
            counted(c.this, c.rows[0]),
            counted(c.other, c.rows[1]),
            match side.matched_by {
                MatchedBy::Centroids => "–".to_string(),
                _ => count(c.common),
            },
            c.moved.map_or("–".to_string(), number),
        ]);
    }
    Ok(grid.print(out)?)
}

/// The links of one side that are not the same.
fn print_links(from: &str, links: &[LinkDiff], out: &mut dyn Write) -> Result<()> {
    let of_side = links.iter().filter(|link| link.from == from);
    let (same, other): (Vec<_>, Vec<_>) = of_side.partition(|link| link.same);
    if other.is_empty() {
        return Ok(writeln!(out, "all {} lead to the same clusters", plural(same.len(), "link"))?);
    }
    writeln!(out, "{} the same; these are not:", plural(same.len(), "link"))?;
    let mut grid = Grid::new(&[("first", Align::Left), ("second", Align::Left)]);
    for link in other {
        grid.row(vec![end(link.this.as_ref()), end(link.other.as_ref())]);
    }
    Ok(grid.print(out)?)
}

fn end(end: Option<&LinkEnd>) -> String {
    let Some(end) = end else { return "–".to_string() };
    let sure = end.probability.map_or(String::new(), |p| format!(" ({p:.2})"));
    format!("{} → {}{sure}, {}", end.cluster, named(end.linked), end.status)
}

fn print_predictions(p: &PredictionDiff, out: &mut dyn Write) -> Result<()> {
    let from = if p.of == "y" { "x" } else { "y" };
    let held = if p.given { "that were given" } else { "that the first model holds" };
    let rows = format!("{} {held}", plural(p.rows, "row"));
    writeln!(out, "{}", bold(&format!("{} from {from}, {rows}", p.of)))?;
    writeln!(out, "  linked to matched clusters: {} of {}", count(p.linked_alike), count(p.rows))?;
    if p.answered_by_one > 0 {
        writeln!(out, "  answered by one model only: {}", count(p.answered_by_one))?;
    }
    if let Some(difference) = p.difference {
        let relative = p.relative.map_or(String::new(), |r| {
            format!(", {r:.2} of how far the first model's predictions spread")
        });
        writeln!(
            out,
            "  predictions differ by {} in the root mean square{relative}",
            number(difference)
        )?;
    }
    Ok(())
}

fn named(cluster: Option<u32>) -> String {
    cluster.map_or("–".to_string(), |c| c.to_string())
}
