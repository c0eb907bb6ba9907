//! `bridged encode text`: captions, titles, descriptions.

use super::work::{Carried, Task, make_room, work};
use super::{Columns, Common, encoders, refuse, sources, weights};
use crate::options::{share, usage};
use crate::printer::count;
use crate::progress::Talk;
use anyhow::{Context, Result, bail};
use bridged_encode::bert::SentenceBert;
use bridged_encode::tfidf::{ENGLISH, Tfidf, Vocabulary};
use bridged_encode::{Encoder, Modality};
use bridged_io::{Column, ColumnData, Table};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Texts that are kept at once: BERT packs them by their tokens.
const BLOCK: usize = 512;
/// Words of a vocabulary beyond which a table of all of them is hardly meant.
const MANY_WORDS: usize = 50_000;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The texts: a table, or a .txt file with one on each line
    texts: PathBuf,
    /// sentence-bert or tfidf
    #[arg(long, short, value_parser = encoders(Modality::Text), hide_possible_values = true)]
    encoder: String,
    /// The folder of the model; for tfidf the vocabulary of an earlier run, so that new texts get the
    /// same columns
    #[arg(long, short, value_name = "PATH")]
    weights: Option<PathBuf>,
    /// Bring vectors to unit length, or do not [default: as the model says]
    #[arg(long, value_name = "true|false")]
    l2: Option<bool>,
    /// The most tokens of a text; the rest is not read [default: as the model says]
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Leave out words that fewer texts hold (tfidf) [default: 1]
    #[arg(long, value_name = "N")]
    min_df: Option<usize>,
    /// Leave out words that a larger share of the texts holds (tfidf) [default: 1]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_df: Option<f64>,
    /// Keep the N words that occur most (tfidf)
    #[arg(long, value_name = "N")]
    max_features: Option<usize>,
    /// Leave out the English stop words of scikit-learn (tfidf)
    #[arg(long)]
    stop_words: bool,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    common: Common,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    make_room(&args.common)?;
    let learns = [
        ("min-df", args.min_df.is_some()),
        ("max-df", args.max_df.is_some()),
        ("max-features", args.max_features.is_some()),
        ("stop-words", args.stop_words),
    ];
    let asked = json!({
        "l2": args.l2, "max_length": args.max_length, "min_df": args.min_df, "max_df": args.max_df,
        "max_features": args.max_features, "stop_words": args.stop_words, "weights": args.weights,
    });
    let text = Some(Carried { column: "text", text: String::as_str });
    let task = Task { common: &args.common, what: "text", block: BLOCK, text, asked };
    if args.encoder == "sentence-bert" {
        refuse(&args.encoder, &learns)?;
        let path = weights(&args.encoder, args.weights.as_deref())?;
        let texts = sources::texts(&args.texts, &args.columns)?;
        let mut encoder = SentenceBert::open(path)?;
        encoder.normalize = args.l2.unwrap_or(encoder.normalize);
        if let Some(most) = args.max_length {
            if most < 3 {
                return Err(usage(
                    "--max-length must be at least 3: a text has two tokens around it",
                ));
            }
            encoder.max_length = most;
        }
        return work(task, sources::in_memory(&args.texts, texts), &encoder, talk);
    }
    refuse(&args.encoder, &[("l2", args.l2.is_some()), ("max-length", args.max_length.is_some())])?;
    let texts = sources::texts(&args.texts, &args.columns)?;
    let vocabulary = match &args.weights {
        Some(path) => {
            refuse("a vocabulary that was learned before", &learns)?;
            read_vocabulary(path)?
        }
        None => {
            let vocabulary = args.learn(&texts.texts.iter().flatten().collect::<Vec<_>>())?;
            let path = args.common.output.with_extension("vocabulary.parquet");
            write_vocabulary(&vocabulary, &path)?;
            if !talk.quiet {
                eprintln!(
                    "{} words, kept in {}: give it as --weights for new texts",
                    count(vocabulary.dim()),
                    path.display()
                );
            }
            vocabulary
        }
    };
    work(task, sources::in_memory(&args.texts, texts), &vocabulary, talk)
}

impl Args {
    fn learn(&self, texts: &[&String]) -> Result<Vocabulary> {
        let tfidf = Tfidf {
            min_df: self.min_df.unwrap_or(1),
            max_df: self.max_df.unwrap_or(1.0),
            max_features: self.max_features,
            stop_words: if self.stop_words { ENGLISH } else { &[] },
        };
        let vocabulary = tfidf.fit(texts);
        match vocabulary.dim() {
            0 => bail!(
                "`{}` leaves no words to count; loosen --min-df and --max-df",
                self.texts.display()
            ),
            words @ MANY_WORDS.. => Err(usage(format!(
                "the texts have {} words, a column each; keep fewer with --max-features or --min-df",
                count(words)
            ))),
            _ => Ok(vocabulary),
        }
    }
}

fn write_vocabulary(vocabulary: &Vocabulary, path: &Path) -> Result<()> {
    let terms = vocabulary.terms.iter().cloned().map(Some).collect();
    let columns = vec![
        Column::new("term", ColumnData::Text(terms)),
        Column::new("idf", ColumnData::Number(vocabulary.idf.clone())),
    ];
    Ok(bridged_io::write(path, &Table::new(path, columns)?)?)
}

fn read_vocabulary(path: &Path) -> Result<Vocabulary> {
    let table = bridged_io::read(path)?;
    let terms = table.column("term").and_then(Column::to_text);
    let idf = table.column("idf").map(|column| &column.data);
    let (Some(terms), Some(ColumnData::Number(idf))) = (terms, idf) else {
        bail!(
            "`{}` is no vocabulary: it needs the columns term and idf, as `bridged encode text --encoder tfidf` writes them",
            path.display()
        );
    };
    let terms: Option<Vec<String>> = terms.values.into_iter().collect();
    let vocabulary = terms.and_then(|terms| Vocabulary::new(terms, idf.clone()));
    vocabulary.with_context(|| {
        format!(
            "`{}` is no vocabulary: a term is missing, is there twice, or weighs nothing",
            path.display()
        )
    })
}
