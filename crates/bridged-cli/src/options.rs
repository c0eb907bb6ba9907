//! What several verbs share: names that can be chosen, and mistakes on the command line.

use crate::printer::say;
use crate::progress::Talk;
use anyhow::anyhow;
use bridged::bridge::BridgeSpec;
use bridged::cluster::{ClusterSpec, Entry};
use bridged::settings::Preset;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::fmt;

/// A mistake on the command line that clap cannot see: exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The error for a mistake on the command line.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    anyhow!(Usage(message.into()))
}

fn names(entries: &[Entry]) -> PossibleValuesParser {
    let value = |e: &Entry| PossibleValue::new(e.name).help(e.about);
    PossibleValuesParser::new(entries.iter().map(value))
}

/// The names of the clusterings.
pub fn clusterings() -> PossibleValuesParser {
    names(ClusterSpec::ALL)
}

/// The names of the bridges.
pub fn bridges() -> PossibleValuesParser {
    names(BridgeSpec::ALL)
}

/// The names of the presets.
pub fn presets() -> PossibleValuesParser {
    names(&Preset::ALL)
}

/// As many threads as were asked for and there are cores; fewer are said.
pub fn threads(asked: usize, talk: &Talk) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if asked > cores && !talk.quiet {
        say(&format!("note: --threads {cores}: there are no more cores"));
    }
    asked.min(cores)
}

/// The end of a sentence about a name that is unknown: the known one that is most like it, if one is.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    let like = bridged::columns::similar(name, known.iter().copied());
    like.map_or(String::new(), |like| format!(" (did you mean `{like}`?)"))
}

/// A probability.
pub fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    number.ok_or_else(|| "give a number from 0 to 1".to_string())
}
