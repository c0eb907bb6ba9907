//! `bridged encode text`: captions, titles, descriptions.

use super::choice::{Choice, Text};
use super::work::{Carried, Task, make_room};
use super::{Columns, Common, encode, sources};
use crate::progress::Talk;
use anyhow::Result;
use std::path::PathBuf;

/// Texts that are kept at once: BERT packs them by their tokens.
const BLOCK: usize = 512;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The texts: a table, or a .txt file with one on each line
    texts: PathBuf,
    #[command(flatten)]
    choice: Choice<Text>,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    common: Common,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    make_room(&args.common, &args.choice, &args.texts)?;
    let text = Some(Carried { column: "text", text: String::as_str });
    let mut asked = args.choice.asked();
    asked["max_letters"] = args.columns.max_letters.into();
    let bytes = String::len;
    let task = Task { common: &args.common, what: "text", block: BLOCK, bytes, text, asked };
    encode(&args.choice, task, || sources::texts(&args.texts, &args.columns), talk)
}
