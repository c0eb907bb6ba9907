//! The `bridged` command: two unlinked collections and a few pairs in, a readable bridge and
//! predictions both ways out.
//!
//! Data go to stdout, talk goes to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped.

mod bridge_view;
mod commands;
mod options;
mod pools;
mod printer;
mod progress;
mod setting_flags;

use bridged_math::chunks::most_threads;
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Link two unlinked collections by a few known pairs, and predict either side from the other.
#[derive(Debug, Parser)]
#[command(name = "bridged", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Threads to use; the result does not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,

    /// Say nothing but errors
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the main job on embedded real data, offline, in seconds
    Demo(commands::demo::Args),
    /// Cluster both pools, let the pairs link them, and write a model
    Fit(commands::fit::Args),
    /// Predict the other side of new rows
    Predict(commands::predict::Args),
    /// Show the bridge of a model as a table
    Inspect(commands::inspect::Args),
    /// Score a model on rows whose partners are known
    Evaluate(commands::evaluate::Args),
    /// Turn photographs, texts or DNA into the tables that `fit` reads
    #[cfg(feature = "encode")]
    #[command(subcommand)]
    Encode(commands::encode::Verb),
    /// Cluster one table on its own
    Cluster(commands::cluster::Args),
    /// Study methods on paired data: make data sets, run studies, search parameters
    #[cfg(feature = "lab")]
    #[command(subcommand)]
    Lab(commands::lab::Verb),
    /// List every clustering, bridge, baseline, encoder, metric and format by name
    List(commands::list::Args),
    /// Print a completion script for your shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let talk = progress::Talk::new(cli.quiet);
    if let Some(threads) = cli.threads.map(|threads| threads.min(most_threads()))
        && let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()
    {
        eprintln!("error: cannot use {threads} threads: {error}");
        return ExitCode::from(2);
    }
    if let Err(error) = bridged_math::simd::check_environment() {
        eprintln!("error: {error}");
        return ExitCode::from(2);
    }
    let done = match cli.command {
        Command::Demo(args) => commands::demo::run(&args, &talk),
        Command::Fit(args) => commands::fit::run(&args, &talk),
        Command::Predict(args) => commands::predict::run(&args, &talk),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Evaluate(args) => commands::evaluate::run(&args, &talk),
        #[cfg(feature = "encode")]
        Command::Encode(verb) => commands::encode::run(&verb, &talk),
        Command::Cluster(args) => commands::cluster::run(&args, &talk),
        #[cfg(feature = "lab")]
        Command::Lab(verb) => commands::lab::run(&verb, &talk),
        Command::List(args) => commands::list::run(&args),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "bridged", &mut std::io::stdout());
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}

/// Prints what went wrong in one sentence, with hints, and chooses the exit code.
fn report(error: &anyhow::Error) -> ExitCode {
    if progress::was_stopped() {
        let kept = error.downcast_ref::<progress::Kept>().map(progress::Kept::to_string);
        eprintln!("stopped; {}", kept.as_deref().unwrap_or("nothing was written"));
        return ExitCode::from(130);
    }
    if broken_pipe(error) {
        return ExitCode::SUCCESS; // `bridged inspect | head` is not a failure
    }
    eprintln!("error: {error:#}");
    let usage = error.downcast_ref::<options::Usage>().is_some();
    ExitCode::from(if usage { 2 } else { 1 })
}

fn broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
