//! The `bridged` command: two unlinked collections and a few pairs in, a readable bridge and
//! predictions both ways out.
//!
//! Data go to stdout, talk goes to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 judged not to pass, 130 stopped.

mod bridge_view;
mod checkpoints;
mod commands;
mod examples;
mod failure;
mod history;
mod links_table;
mod options;
mod outputs;
mod parts_out;
mod passes;
mod peak;
mod pools;
mod printer;
mod progress;
mod setting_flags;
mod stored_nearest;
mod table_flags;
mod table_out;
mod visible;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Link two unlinked collections by a few known pairs, and predict either side from the other.
#[derive(Debug, Parser)]
#[command(name = "bridged", version, max_term_width = 100, after_long_help = examples::BRIDGED)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Threads to use; the result does not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,

    /// How much memory may be used, as in 4GB [default: what the machine has free]
    #[arg(long, global = true, value_name = "SIZE", value_parser = bridged_math::memory::parse)]
    memory: Option<u64>,

    /// Say nothing but errors
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the main job on embedded real data, offline, in seconds
    #[command(after_help = examples::DEMO)]
    Demo(commands::demo::Args),
    /// Cluster both pools, let the pairs link them, and write a model
    #[command(after_help = examples::FIT)]
    Fit(commands::fit::Args),
    /// Predict the other side of new rows
    #[command(after_help = examples::PREDICT)]
    Predict(commands::predict::Args),
    /// Show the bridge of a model as a table
    #[command(after_help = examples::INSPECT)]
    Inspect(commands::inspect::Args),
    /// Add pairs and rows to a model, or take rows out
    #[command(after_help = examples::UPDATE)]
    Update(commands::update::Args),
    /// Score a model on rows whose partners are known
    #[command(after_help = examples::EVALUATE)]
    Evaluate(commands::evaluate::Args),
    /// Tell whether new data are as those that a model was fitted on: same, shifted or broken
    #[command(after_help = examples::DRIFT)]
    Drift(commands::drift::Args),
    /// Show how two models differ: clusters, links and predictions
    #[command(after_help = examples::DIFF)]
    Diff(commands::diff::Args),
    /// Say which pairs would help a model most
    #[command(after_help = examples::SUGGEST)]
    Suggest(commands::suggest::Args),
    /// Turn photographs, texts or DNA into the tables that `fit` reads
    #[cfg(feature = "encode")]
    #[command(subcommand, after_help = examples::ENCODE)]
    Encode(commands::encode::Verb),
    /// Cluster one table on its own
    #[command(after_help = examples::CLUSTER)]
    Cluster(commands::cluster::Args),
    /// Study methods on paired data: make data sets, run studies, search parameters
    #[cfg(feature = "lab")]
    #[command(subcommand, after_help = examples::LAB)]
    Lab(commands::lab::Verb),
    /// Answer predictions over HTTP
    #[cfg(feature = "serve")]
    #[command(after_help = examples::SERVE)]
    Serve(commands::serve::Args),
    /// Answer predictions over HTTP
    #[cfg(not(feature = "serve"))]
    #[command(hide = true, disable_help_flag = true)]
    Serve {
        /// Whatever would be served
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<std::ffi::OsString>,
    },
    /// List every clustering, bridge, baseline, encoder, metric and format by name
    #[command(after_help = examples::LIST)]
    List(commands::list::Args),
    /// Print a completion script for your shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual, or write the pages of all commands into a folder
    #[cfg(feature = "man")]
    #[command(after_help = examples::MAN)]
    Man(commands::man::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::report_usage(suggest(error)),
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}

/// The error with the verb that is most like one that is unknown, where clap sees none.
fn suggest(mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let command = Cli::command();
    let verbs = command.get_subcommands().map(clap::Command::get_name);
    if let Some(verb) = bridged::columns::similar(given, verbs)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
    {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![verb]));
    }
    error
}

fn run(cli: Cli) -> anyhow::Result<()> {
    let talk = progress::Talk::new(cli.quiet);
    bridged_math::memory::name_option("--memory SIZE");
    if let Some(bytes) = cli.memory {
        bridged_math::memory::set_limit(bytes);
    }
    if let Some(asked) = cli.threads {
        let threads = options::threads(asked, &talk);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|e| options::usage(format!("cannot use {threads} threads: {e}")))?;
    }
    bridged_math::simd::check_environment().map_err(|e| options::usage(e.to_string()))?;
    match cli.command {
        Command::Demo(args) => commands::demo::run(&args, &talk),
        Command::Fit(args) => commands::fit::run(&args, &talk),
        Command::Predict(args) => commands::predict::run(&args, &talk),
        Command::Inspect(args) => commands::inspect::run(&args, &talk),
        Command::Update(args) => commands::update::run(&args, &talk),
        Command::Evaluate(args) => commands::evaluate::run(&args, &talk),
        Command::Drift(args) => commands::drift::run(&args, &talk),
        Command::Diff(args) => commands::diff::run(&args, &talk),
        Command::Suggest(args) => commands::suggest::run(&args, &talk),
        #[cfg(feature = "encode")]
        Command::Encode(verb) => commands::encode::run(&verb, &talk),
        Command::Cluster(args) => commands::cluster::run(&args, &talk),
        #[cfg(feature = "lab")]
        Command::Lab(verb) => commands::lab::run(&verb, &talk),
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::run(&args, &talk),
        #[cfg(not(feature = "serve"))]
        Command::Serve { .. } => Err(options::usage(
            "this `bridged` was built without the HTTP server; build it with `--features serve`, as in \
             `cargo install --path crates/bridged-cli --features serve`",
        )),
        Command::List(args) => commands::list::run(&args),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "bridged", &mut std::io::stdout());
            Ok(())
        }
        #[cfg(feature = "man")]
        Command::Man(args) => commands::man::run(&args, Cli::command()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
