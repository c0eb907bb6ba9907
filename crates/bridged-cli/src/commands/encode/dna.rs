//! `bridged encode dna`: barcodes and other sequences.

use super::choice::{Choice, Dna};
use super::work::{Carried, Task, make_room};
use super::{Columns, Common, encode, sources};
use crate::progress::Talk;
use anyhow::Result;
use std::path::PathBuf;

/// Sequences that are kept at once.
const BLOCK: usize = 512;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The sequences: FASTA or FASTQ, plain or gzip, or a table
    sequences: PathBuf,
    #[command(flatten)]
    choice: Choice<Dna>,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    common: Common,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    make_room(&args.common, &args.choice, &args.sequences)?;
    let text = Some(Carried { column: "sequence", text: String::as_str });
    let mut asked = args.choice.asked();
    asked["max_letters"] = args.columns.max_letters.into();
    let bytes = String::len;
    let task = Task { common: &args.common, what: "sequence", block: BLOCK, bytes, text, asked };
    encode(&args.choice, task, || sources::sequences(&args.sequences, &args.columns), talk)
}
