//! `bridged lab report`: the page of one or more studies.

use crate::options::usage;
use crate::printer::{self, plural};
use crate::progress::Talk;
use anyhow::Result;
use bridged_lab::{Report, Results};
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders of results, or folders of such folders
    #[arg(required = true, value_name = "FOLDER")]
    results: Vec<PathBuf>,
    /// The page (.html), or its tables only (.md, .tex or .csv)
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let write: fn(&Report) -> String = match args.output.extension().and_then(|e| e.to_str()) {
        Some("html" | "htm") => Report::html,
        Some("md") => Report::markdown,
        Some("tex") => Report::latex,
        Some("csv") => Report::csv,
        _ => {
            return Err(usage(format!(
                "`{}` must end in .html (a page with charts), .md, .tex or .csv (its tables)",
                args.output.display()
            )));
        }
    };
    let stages = talk.watch();
    let results = stages.time("read results", || Results::read_all(&args.results))?;
    let (studies, runs) = (results.len(), results.iter().map(|r| r.runs.len()).sum());
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let report = stages.time("analyse", || Report::new(results, &command))?;
    let text = write(&report);
    bridged_io::replace(&args.output, |sink| Ok(sink.write_all(text.as_bytes())?))?;
    let studies = if studies == 1 { "one study".into() } else { format!("{studies} studies") };
    let of = format!("{} of {studies}", plural(runs, "run"));
    writeln!(printer::out(), "{} shows {of}", args.output.display())?;
    Ok(())
}
