//! `bridged lab pack`: results in little space, to be kept beside a text that cites them.

use crate::printer::{self, plural};
use crate::progress::Talk;
use anyhow::Result;
use bridged_lab::Results;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders of results, or folders of such folders
    #[arg(required = true, value_name = "FOLDER")]
    results: Vec<PathBuf>,
    /// The folder that a packed folder of every study goes into
    #[arg(long, short, value_name = "FOLDER")]
    out: PathBuf,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let stages = talk.watch();
    let all = stages.time("read results", || Results::read_all(&args.results))?;
    for results in &all {
        results.pack(&args.out.join(&results.name))?;
        let (runs, name) = (plural(results.runs.len(), "run"), &results.name);
        writeln!(printer::out(), "{name}: {runs}")?;
    }
    Ok(())
}
