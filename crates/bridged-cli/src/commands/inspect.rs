//! `bridged inspect`: the bridge of a model as a table, as a file or as JSON.

use crate::bridge_view::{self, Show};
use crate::progress::Talk;
use crate::table_out::TableOut;
use crate::{links_table, printer};
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
    /// Write the links to a table instead, one row per link; the extension tells the format
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
    #[command(flatten)]
    out: TableOut,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let model = BridgedModel::load(&args.model)?;
    let show = Show { x: args.show_x.as_deref(), y: args.show_y.as_deref() };
    show.check(&model)?;
    let mut out = printer::out();
    if args.json {
        printer::print_json(&model.describe(), &mut out)?;
        return Ok(());
    }
    if let Some(output) = &args.output {
        args.out.write(output, links_table::columns(&model, show)?)?;
        if !talk.quiet {
            writeln!(out, "wrote {}", output.display())?;
        }
        return Ok(());
    }
    for direction in [Direction::Forward, Direction::Reverse] {
        bridge_view::print(&model, direction, show, &mut out)?;
        writeln!(out)?;
    }
    bridge_view::print_shown(&model, show, &mut out)?;
    bridge_view::print_members(&model, &mut out)?;
    bridge_view::print_checks(&model, &mut out)?;
    writeln!(out)?;
    bridge_view::print_verdict(&model, &mut out)?;
    bridge_view::print_contradictions(&model, show, &mut out)?;
    bridge_view::print_warnings(&model, &mut out)?;
    Ok(())
}
