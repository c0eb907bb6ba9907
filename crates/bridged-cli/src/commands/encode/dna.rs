//! `bridged encode dna`: barcodes and other sequences.

use super::work::{Carried, Task, make_room, work};
use super::{Columns, Common, encoders, refuse, sources, weights};
use crate::progress::Talk;
use anyhow::Result;
use bridged_encode::Modality;
use bridged_encode::barcode::BarcodeBert;
use bridged_encode::kmer::{Kmers, Strand};
use serde_json::json;
use std::path::PathBuf;

/// Sequences that are kept at once.
const BLOCK: usize = 512;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The sequences: FASTA or FASTQ, plain or gzip, or a table
    sequences: PathBuf,
    /// barcodebert or kmer
    #[arg(long, short, value_parser = encoders(Modality::Dna), hide_possible_values = true)]
    encoder: String,
    /// The folder or file of the model (barcodebert)
    #[arg(long, short, value_name = "PATH")]
    weights: Option<PathBuf>,
    /// Letters of a word, 1 to 8 (kmer) [default: 5]
    #[arg(long, value_name = "N")]
    k: Option<usize>,
    /// Count a word and its reverse complement as one (kmer)
    #[arg(long)]
    both_strands: bool,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    common: Common,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    make_room(&args.common)?;
    let name = args.encoder.as_str();
    let asked = json!({"k": args.k, "both_strands": args.both_strands, "weights": args.weights});
    let text = Some(Carried { column: "sequence", text: String::as_str });
    let task = Task { common: &args.common, what: "sequence", block: BLOCK, text, asked };
    if name == "barcodebert" {
        refuse(name, &[("k", args.k.is_some()), ("both-strands", args.both_strands)])?;
        let path = weights(name, args.weights.as_deref())?;
        let source = sources::sequences(&args.sequences, &args.columns)?;
        return work(task, source, &BarcodeBert::open(path)?, talk);
    }
    refuse(name, &[("weights", args.weights.is_some())])?;
    let strand = if args.both_strands { Strand::Either } else { Strand::Given };
    let encoder = Kmers::new(args.k.unwrap_or(5), strand)?;
    work(task, sources::sequences(&args.sequences, &args.columns)?, &encoder, talk)
}
