//! `bridged encode images`: a folder of photographs.

use super::work::{Task, make_room, work};
use super::{Common, encoders, sources, weights};
use crate::options::usage;
use crate::progress::Talk;
use anyhow::Result;
use bridged_encode::Modality;
use bridged_encode::image::{Architecture, ImageEncoder, Output, Preset};
use clap::builder::PossibleValuesParser;
use serde_json::json;
use std::path::PathBuf;

/// Pictures that are read ahead and kept at once.
const BLOCK: usize = 64;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder, with all that are in it, or one picture; ids are the paths inside the folder
    photos: PathBuf,
    /// The network; `bridged encode list` shows all
    #[arg(long, short, value_parser = encoders(Modality::Images), hide_possible_values = true)]
    encoder: String,
    /// Its weights: a safetensors or PyTorch file, a folder, or a Hugging Face cache
    #[arg(long, short, value_name = "PATH")]
    weights: Option<PathBuf>,
    /// What the classifier says instead of what it reads
    #[arg(long)]
    logits: bool,
    /// How pictures are resized, cropped and normalised [default: as the origin of the weights does]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Preset::ALL.map(|(name, _)| name)))]
    preset: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    make_room(&args.common)?;
    let name = args.encoder.as_str();
    let weights = weights(name, args.weights.as_deref())?;
    let source = sources::pictures(&args.photos, talk)?;
    let architecture = Architecture::ALL.into_iter().find(|a| a.name() == name);
    let architecture = architecture.expect("every encoder of images is an architecture");
    let output = if args.logits { Output::Logits } else { Output::Features };
    let mut encoder = ImageEncoder::open(architecture, weights, output)?;
    if let Some((chosen, preset)) =
        args.preset.as_ref().and_then(|name| Preset::ALL.into_iter().find(|(n, _)| n == name))
    {
        if preset.crop != encoder.preset.crop {
            return Err(usage(format!(
                "--preset {chosen} crops to another size than `{name}` reads"
            )));
        }
        encoder.preset = preset;
    }
    let asked = json!({"logits": args.logits, "preset": args.preset, "weights": weights});
    let task = Task { common: &args.common, what: "picture", block: BLOCK, text: None, asked };
    work(task, source, &encoder, talk)
}
