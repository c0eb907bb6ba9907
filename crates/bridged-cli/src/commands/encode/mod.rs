//! `bridged encode`: photographs, texts and DNA to the tables that `fit` reads.
//!
//! Each verb reads one kind of item; which encoders it knows, with which options, follows from the list of encoders
//! ([`choice`]), and so does how one is made ([`encode`]). [`sources`] names the items in an order that is always the same, [`work`] reads them ahead, encodes
//! them block by block and keeps every block in a [`resume_log`], from which the table is made at the end.

mod choice;
mod dna;
mod images;
mod resume_log;
mod sources;
mod text;
mod vocabulary;
mod work;

use crate::examples;
use crate::options::usage;
use crate::printer::{self, Align, Grid, bold, count};
use crate::progress::Talk;
use anyhow::Result;
use bridged_encode::{ALL, Construct, EncodeError, Modality};
use choice::{Choice, Kind};
use sources::Source;
use std::borrow::Borrow;
use std::io::Write;
use std::path::PathBuf;
use work::{Task, work};

#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Photographs of a folder: JPEG, PNG, WebP, GIF
    #[command(after_help = examples::ENCODE_IMAGES)]
    Images(images::Args),
    /// Texts of a table, or the lines of a text file
    #[command(after_help = examples::ENCODE_TEXT)]
    Text(text::Args),
    /// Sequences of a FASTA or FASTQ file, plain or gzip, or of a table
    #[command(after_help = examples::ENCODE_DNA)]
    Dna(dna::Args),
    /// Show every encoder, and where its weights are
    #[command(after_help = examples::ENCODE_LIST)]
    List,
}

/// What every kind of item has in common.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// Where the vectors go: a Parquet table of id and vector. What is done so far is kept beside it;
    /// the same command goes on after a stop
    #[arg(long, short, value_name = "FILE", value_parser = output)]
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
    /// Letters of the longest text or sequence that is read; longer ones are listed beside the output
    /// [default: 100000000]
    #[arg(long, value_name = "N")]
    max_letters: Option<usize>,
}

impl Columns {
    /// Letters of the longest item that is read.
    fn most_letters(&self) -> usize {
        self.max_letters.unwrap_or(bridged_encode::fasta::MAX_LETTERS)
    }
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
    let mut out = printer::out();
    for (at, modality) in Modality::ALL.into_iter().enumerate() {
        let title = format!("bridged encode {}", modality.name());
        writeln!(out, "{}{}", if at > 0 { "\n" } else { "" }, bold(&title))?;
        let mut grid = Grid::new(&[("", Align::Left), ("", Align::Left)]);
        for entry in ALL.iter().filter(|entry| entry.modality() == modality) {
            grid.row(vec![entry.name.into(), entry.about.into()]);
            if let Some(weights) = entry.weights() {
                grid.row(vec![String::new(), format!("weights: {weights}")]);
            }
        }
        grid.print(&mut out)?;
    }
    Ok(())
}

/// Makes the encoder that was chosen and encodes what `read` gives. What is wrong with the options is said first,
/// then what is wrong with the items, and weights are read last, as that may take a while.
fn encode<K: Kind, T>(
    choice: &Choice<K>,
    task: Task<'_, T>,
    read: impl FnOnce() -> Result<Source<T>>,
    talk: &Talk,
) -> Result<()>
where
    T: Borrow<K::Item> + Send + Sync + 'static,
{
    let settings = choice.settings()?;
    match choice.construct() {
        Construct::Plain(make) => {
            if choice.weights.is_some() {
                return Err(refuse(choice.entry.name, "weights"));
            }
            let encoder = make(&settings).map_err(wrong_option)?;
            work(task, read()?, encoder.as_ref(), || Ok(()), talk)
        }
        Construct::Pretrained { weights, open } => {
            let path = choice.needed_weights(weights)?;
            let source = read()?;
            let encoder = open(&settings, path).map_err(wrong_option)?;
            work(task, source, encoder.as_ref(), || Ok(()), talk)
        }
        Construct::Vocabulary { fit, make } => {
            let source = read()?;
            if let Some(path) = &choice.weights {
                choice.refuse_given("a vocabulary that was learned before", |_| true)?;
                let encoder = make(vocabulary::read(path)?);
                return work(task, source, encoder.as_ref(), || Ok(()), talk);
            }
            let from = source.path.clone();
            let items = source.load()?;
            let known = items.iter().filter_map(|(_, item)| item.as_ref().ok());
            let known: Vec<&K::Item> = known.map(Borrow::<K::Item>::borrow).collect();
            let vocabulary = fit(&settings, &known).map_err(|error| match error {
                EncodeError::TooManyColumns { reason } => usage(reason),
                EncodeError::BadOption { .. } => wrong_option(error),
                error => anyhow::Error::new(error).context(format!("`{}`", from.display())),
            })?;
            let path = vocabulary::path_for(&task.common.output);
            let encoder = make(vocabulary.clone());
            // Beside the vectors of another command it would be wrong: first this one has the output.
            let keep = || -> Result<()> {
                vocabulary::write(&vocabulary, &path)?;
                if !talk.quiet {
                    printer::say(&format!(
                        "{} words, kept in {}: give it as --weights for new items",
                        count(vocabulary.terms.len()),
                        path.display()
                    ));
                }
                Ok(())
            };
            work(task, Source::in_memory(&from, items), encoder.as_ref(), keep, talk)
        }
    }
}

/// The error for an option with a value that it cannot have; any other error stays what it is.
fn wrong_option(error: EncodeError) -> anyhow::Error {
    match error {
        EncodeError::BadOption { .. } | EncodeError::BadSettings { .. } => usage(error.to_string()),
        error => error.into(),
    }
}

/// The error for an option that an encoder does not have.
fn refuse(what: &str, option: &str) -> anyhow::Error {
    usage(format!("--{option} does not apply to `{what}`"))
}

/// A file that vectors can be written to block by block.
fn output(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    // A text of a thousand numbers per row helps nobody.
    let holds_vectors = |format: &bridged_io::Format| {
        format.writes_pieces() && format.layout == bridged_io::Layout::Columns
    };
    if bridged_io::known_format(&path).is_some_and(holds_vectors) {
        return Ok(path);
    }
    let known = bridged_io::extensions(holds_vectors).join(" or ");
    Err(format!("vectors are written block by block; give a name that ends in {known}"))
}
