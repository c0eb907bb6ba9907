//! `bridged encode`: photographs, texts and DNA to the tables that `fit` reads.
//!
//! [`sources`] names the items in an order that is always the same, [`work`] reads them ahead, encodes
//! them block by block and keeps every block in a [`resume_log`], from which the table is made at the end.

mod dna;
mod images;
mod resume_log;
mod sources;
mod text;
mod work;

use crate::options::usage;
use crate::printer::{Align, Grid, bold};
use crate::progress::Talk;
use anyhow::Result;
use bridged_encode::{ALL, Known, Modality};
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Photographs of a folder: JPEG, PNG, WebP, GIF
    Images(images::Args),
    /// Texts of a table, or the lines of a text file
    Text(text::Args),
    /// Sequences of a FASTA or FASTQ file, plain or gzip, or of a table
    Dna(dna::Args),
    /// Show every encoder, and where its weights are
    List,
}

/// What every kind of item has in common.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// Where the vectors go: a Parquet table of id and vector. What is done so far is kept beside it;
    /// the same command goes on after a stop
    #[arg(long, short, value_name = "FILE", value_parser = parquet)]
    output: PathBuf,
    /// Stop at the first item that cannot be encoded, instead of listing it beside the output
    #[arg(long)]
    strict: bool,
    /// Begin anew, also if the output is there already
    #[arg(long)]
    force: bool,
}

/// Which columns of a table to read.
#[derive(Debug, clap::Args)]
pub struct Columns {
    /// The column to encode, of a table [default: the only one with texts, or one called text,
    /// caption, title, description, sentence, sequence or nucleotides]
    #[arg(long, value_name = "COLUMN")]
    column: Option<String>,
    /// The id column, of a table
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
}

pub fn run(verb: &Verb, talk: &Talk) -> Result<()> {
    match verb {
        Verb::Images(args) => images::run(args, talk),
        Verb::Text(args) => text::run(args, talk),
        Verb::Dna(args) => dna::run(args, talk),
        Verb::List => list(),
    }
}

fn list() -> Result<()> {
    let mut out = std::io::stdout().lock();
    let sections = [
        ("bridged encode images", Modality::Images),
        ("bridged encode text", Modality::Text),
        ("bridged encode dna", Modality::Dna),
    ];
    for (at, (title, of)) in sections.into_iter().enumerate() {
        writeln!(out, "{}{}", if at > 0 { "\n" } else { "" }, bold(title))?;
        let mut grid = Grid::new(&[("", Align::Left), ("", Align::Left)]);
        for known in ALL.iter().filter(|known| known.of == of) {
            grid.row(vec![known.name.into(), known.about.into()]);
            if !known.weights.is_empty() {
                grid.row(vec![String::new(), format!("weights: {}", known.weights)]);
            }
        }
        grid.print(&mut out)?;
    }
    Ok(())
}

/// The names of the encoders of one kind of item.
fn encoders(of: Modality) -> PossibleValuesParser {
    let known = ALL.iter().filter(move |known| known.of == of);
    PossibleValuesParser::new(known.map(|known| PossibleValue::new(known.name).help(known.about)))
}

fn known(name: &str) -> &'static Known {
    ALL.iter().find(|known| known.name == name).expect("clap accepts listed encoders only")
}

/// The weights that were given, or where people get them.
fn weights<'a>(encoder: &str, given: Option<&'a Path>) -> Result<&'a Path> {
    given.ok_or_else(|| {
        let from = known(encoder).weights;
        usage(format!(
            "`{encoder}` needs its weights: give --weights with a file or folder; {from}"
        ))
    })
}

/// Refuses options that an encoder does not have.
fn refuse(encoder: &str, options: &[(&str, bool)]) -> Result<()> {
    match options.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(usage(format!("--{name} does not apply to `{encoder}`"))),
        None => Ok(()),
    }
}

fn parquet(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|e| e.to_str()) {
        Some("parquet" | "pq") => Ok(path),
        _ => Err("vectors are written as Parquet; give a name that ends in .parquet".to_string()),
    }
}
