//! `bridged lab`: studies on data whose pairs are all known.

mod curate;
mod pack;
mod report;
mod run;
mod studies;
mod tune;

use crate::examples;
use crate::progress::Talk;
use anyhow::Result;
use bridged_lab::memory::Counting;

/// Lets `lab run` measure the memory of a method; the other verbs count nothing.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Make a data set of the paper from its public files and vectors of any encoder
    #[command(subcommand, after_help = examples::CURATE)]
    Curate(Box<curate::Source>),
    /// Carry out a study, or go on with it
    #[command(after_help = examples::LAB_RUN)]
    Run(run::Args),
    /// Keep results in little space
    #[command(after_help = examples::LAB_PACK)]
    Pack(pack::Args),
    /// Write the page of one or more studies: tables, charts, tests
    #[command(after_help = examples::LAB_REPORT)]
    Report(report::Args),
    /// Search the grids of the methods, on groups that no score is taken on
    #[command(after_help = examples::LAB_TUNE)]
    Tune(tune::Args),
}

pub fn run(verb: &Verb, talk: &Talk) -> Result<()> {
    match verb {
        Verb::Curate(source) => curate::run(source, talk),
        Verb::Run(args) => run::run(args, talk),
        Verb::Pack(args) => pack::run(args, talk),
        Verb::Report(args) => report::run(args, talk),
        Verb::Tune(args) => tune::run(args, talk),
    }
}
