//! `bridged inspect`: the bridge of a model as a table, as a file or as JSON.

use crate::bridge_view::{self, Show};
use crate::history;
use crate::passes;
use crate::progress::{Talk, WRITE};
use crate::table_out::TableOut;
use crate::{links_table, outputs, printer};
use anyhow::Result;
use bridged::{BridgedModel, Direction};
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    model: PathBuf,
    /// Print everything but the vectors as JSON
    #[arg(long)]
    json: bool,
    /// The carried column that stands for rows of x [default: the one that tells clusters apart best]
    #[arg(long, value_name = "COLUMN")]
    show_x: Option<String>,
    /// The carried column that stands for rows of y [default: the one that tells clusters apart best]
    #[arg(long, value_name = "COLUMN")]
    show_y: Option<String>,
    /// Read the files of pools that were fitted from there, and say whether their contents have changed; without it, sizes
    /// and times are looked at
    #[arg(long, conflicts_with_all = ["json", "output"])]
    verify: bool,
    /// Show what was done to the model: fitted from which files and when, and every update since
    #[arg(long, conflicts_with_all = ["json", "output", "verify"])]
    history: bool,
    /// Print a model card in Markdown: what it was made of, how good it is, and what it must not be used for
    #[arg(long, conflicts_with_all = ["json", "output", "verify", "history"])]
    card: bool,
    /// Write the links to a table instead, one row per link; the extension tells the format, and - is
    /// standard output
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// Write over any file, not only over one that this command has made; never over an input
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    out: TableOut,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    if let Some(output) = &args.output {
        args.out.format_of(output)?;
        outputs::table(output, outputs::LINKS, &[&args.model], args.force)?;
    }
    let stages = talk.watch();
    let model = stages.time("read model", || BridgedModel::load(&args.model))?;
    let show = Show { x: args.show_x.as_deref(), y: args.show_y.as_deref() };
    show.check(&model)?;
    let mut out = printer::out();
    if args.history {
        return Ok(history::print(&model, &args.model, &mut out)?);
    }
    if args.card {
        let name = args.model.file_stem().unwrap_or_default().to_string_lossy();
        let card =
            stages.time("card", || model.dated(history::written(&args.model)).card(&name))?;
        return Ok(write!(out, "{card}")?);
    }
    if args.json {
        let description = stages.time("describe", || anyhow::Ok(model.describe()))?;
        printer::print_json(&description, &mut out)?;
        return Ok(());
    }
    if let Some(output) = &args.output {
        let columns = stages.time("links", || links_table::columns(&model, show))?;
        stages.time(WRITE, || args.out.write(output, columns))?;
        if !talk.quiet {
            args.out.say(output, &format!("wrote {}", output.display()))?;
        }
        return Ok(());
    }
    // Rows are read from the model when they are first shown, and may be damaged: nothing is printed before.
    let view = stages.time("links", || view(&model, show, args.verify))?;
    Ok(out.write_all(&view)?)
}

/// The bridge as it is printed.
fn view(model: &BridgedModel, show: Show<'_>, verify: bool) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for direction in [Direction::Forward, Direction::Reverse] {
        bridge_view::print(model, direction, show, &mut out)?;
        writeln!(out)?;
    }
    bridge_view::print_shown(model, show, &mut out)?;
    bridge_view::print_members(model, &mut out)?;
    bridge_view::print_checks(model, &mut out)?;
    writeln!(out)?;
    bridge_view::print_verdict(model, &mut out)?;
    bridge_view::print_contradictions(model, show, &mut out)?;
    bridge_view::print_warnings(model, &mut out)?;
    for (name, side) in [("x", model.x()), ("y", model.y())] {
        if let Some(at) = side.rows_at() {
            writeln!(out, "{}", passes::where_rows_are(name, side, at, verify)?)?;
        }
    }
    Ok(out)
}
