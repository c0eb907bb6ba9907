//! `bridged encode images`: a folder of photographs.

use super::choice::{Choice, Images};
use super::work::{Task, make_room};
use super::{Common, encode, sources};
use crate::progress::Talk;
use anyhow::Result;
use std::path::PathBuf;

/// Pictures that are read ahead and kept at once.
const BLOCK: usize = 64;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder, with all that are in it, or one picture; ids are the paths inside the folder
    photos: PathBuf,
    #[command(flatten)]
    choice: Choice<Images>,
    #[command(flatten)]
    common: Common,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    make_room(&args.common, &args.choice, &args.photos)?;
    let asked = args.choice.asked();
    let (bytes, text) = (Vec::len as fn(&Vec<u8>) -> usize, None);
    let task = Task { common: &args.common, what: "picture", block: BLOCK, bytes, text, asked };
    encode(&args.choice, task, || sources::pictures(&args.photos, talk), talk)
}
