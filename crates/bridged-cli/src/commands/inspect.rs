//! `bridged inspect`: the bridge of a model as a table or as JSON.

use crate::bridge_view::{self, Show};
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
}

pub fn run(args: &Args) -> Result<()> {
    let model = BridgedModel::load(&args.model)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&model.describe())?)?;
        return Ok(());
    }
    let show = Show { x: args.show_x.as_deref(), y: args.show_y.as_deref() };
    for direction in [Direction::Forward, Direction::Reverse] {
        bridge_view::print(&model, direction, show, &mut out)?;
        writeln!(out)?;
    }
    bridge_view::print_shown(&model, show, &mut out)?;
    bridge_view::print_checks(&model, &mut out)?;
    writeln!(out)?;
    bridge_view::print_verdict(&model, &mut out)?;
    bridge_view::print_contradictions(&model, show, &mut out)?;
    bridge_view::print_warnings(&model, &mut out)?;
    Ok(())
}
