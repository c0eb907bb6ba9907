//! BarcodeBERT: a DNA barcode as the mean of what its words mean in it.
//!
//! A sequence is cut after 660 letters and into words of k letters that do not overlap; letters that do not fill a word are left
//! out. This is the authors' tokeniser: it pads to 660 letters with N and masks every word that is not full, and what is
//! masked changes nothing. Words are numbered in the order of the alphabet behind the special tokens, and the size of the
//! vocabulary says which kind of model it is:
//!
//! | vocabulary | special | a word with another letter than A, C, G, T |
//! |---|---|---|
//! | 4^k + 2 | `<MASK>`, `<UNK>` | `<UNK>` |
//! | 4^k + 3 | `<MASK>`, `<CLS>`, `<UNK>` (the first models) | `<UNK>` |
//! | 5^k + 1 | `<MASK>` | has its own number, with N as the fourth of five letters |
//!
//! Codes of IUPAC and gaps are N, as when the authors read FASTA. A sequence without a word in A, C, G and T is an error
//! of its row. The body is [`crate::bert`].
//!
//! Millan Arias et al. 2023, *BarcodeBERT: Transformers for Biodiversity Analyses*; github.com/bioscan-ml/BarcodeBERT.

use crate::bert::{Bert, Config, Pooling};
use crate::dna::{Gaps, letters};
use crate::entry::{Construct, Entry, Reads};
use crate::error::finite;
use crate::kmer::digit;
use crate::{EncodeError, Encoder, ItemError, Weights};
use rayon::prelude::*;
use serde::Deserialize;
use std::path::Path;

/// In the list of encoders.
pub const ENTRY: Entry = Entry {
    name: "barcodebert",
    about: "BarcodeBERT: words of DNA barcodes, 768 numbers (Millan Arias et al. 2023)",
    options: &[],
    reads: Reads::Dna(Construct::Pretrained {
        weights: "Hugging Face has them as bioscan-ml/BarcodeBERT, and so has the repository of its authors",
        open: |settings, path| {
            let Parameters {} = settings.parse()?;
            Ok(Box::new(BarcodeBert::open(path)?))
        },
    }),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {}

/// Letters that are read of a sequence.
const MAX_LEN: usize = 660;

/// How words are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Words {
    k: usize,
    /// The number of every word with an ambiguous letter; without one they have their own.
    unknown: Option<u32>,
    /// The number of the first word.
    first: u32,
}

impl Words {
    /// Which numbering has this many numbers.
    fn of_size(size: usize) -> Option<Self> {
        (1..=8).find_map(|k| match size.checked_sub(4usize.pow(k as u32)) {
            Some(2) => Some(Self { k, unknown: Some(1), first: 2 }),
            Some(3) => Some(Self { k, unknown: Some(2), first: 3 }),
            _ if size == 5usize.pow(k as u32) + 1 => Some(Self { k, unknown: None, first: 1 }),
            _ => None,
        })
    }

    fn ids(&self, sequence: &str, most: usize) -> Result<Vec<u32>, ItemError> {
        let letters = letters(sequence, Gaps::Unknown)?;
        let letters = &letters[..letters.len().min(MAX_LEN)];
        let plain = |word: &[u8]| word.iter().try_fold(0, |n, &l| Some(4 * n + digit(l)?));
        let words = letters.chunks_exact(self.k).take(most);
        if !words.clone().any(|word| plain(word).is_some()) {
            let k = self.k;
            return Err(ItemError(format!(
                "the sequence has no word of {k} letters in A, C, G and T"
            )));
        }
        let id = |word: &[u8]| match self.unknown {
            Some(unknown) => plain(word).map_or(unknown, |number| self.first + number as u32),
            None => {
                let digit =
                    |l: u8| b"ACGNT".iter().position(|d| *d == l).expect("one of five letters");
                self.first + word.iter().fold(0, |n, &l| 5 * n + digit(l) as u32)
            }
        };
        Ok(words.map(id).collect())
    }
}

/// The numbers of a sequence's words under a vocabulary of that size, all of them inside of it; for fuzzing.
#[doc(hidden)]
pub fn fuzz_words(size: usize, sequence: &str) -> Option<Vec<u32>> {
    let ids = Words::of_size(size)?.ids(sequence, 512).ok()?;
    assert!(ids.iter().all(|id| (*id as usize) < size), "a word beyond the vocabulary");
    Some(ids)
}

/// The encoder.
#[derive(Clone, Debug)]
pub struct BarcodeBert {
    bert: Bert,
    words: Words,
}

impl BarcodeBert {
    /// Reads the weights from where [`Weights::open`] looks. The shape of the model is in the `config.json` beside
    /// them, in the checkpoint itself, or else that of the authors' first models.
    pub fn open(path: &Path) -> Result<Self, EncodeError> {
        let mut weights = Weights::open(path, ENTRY.name)?;
        let config = if weights.beside("config.json").is_file() {
            Config::beside(&weights)?
        } else if weights.notes["bert_config"].is_object() {
            let said = weights.notes["bert_config"].clone();
            Config::from_json(said)
                .map_err(|reason| EncodeError::BadWeights { path: weights.path.clone(), reason })?
        } else {
            from_shapes(&weights)
        };
        Self::new(config, &mut weights)
    }

    fn new(config: Config, weights: &mut Weights) -> Result<Self, EncodeError> {
        let size = config.vocab_size;
        let words = Words::of_size(size).ok_or_else(|| {
            let reason = "words, and none of BarcodeBERT's vocabularies has this many (4^k + 2, 4^k + 3 or 5^k + 1)";
            weights.other(format!("it has {size} {reason}"))
        })?;
        Ok(Self { bert: Bert::new(config, weights)?, words })
    }
}

/// The shape of a model without a configuration: that of the base model, with the sizes of its tensors.
fn from_shapes(weights: &Weights) -> Config {
    let mut config = Config::default();
    let size = |name: &str| weights.shape(name).and_then(|shape| shape.first().copied());
    let sizes = [
        ("embeddings.word_embeddings.weight", &mut config.vocab_size),
        ("embeddings.position_embeddings.weight", &mut config.max_position_embeddings),
        ("embeddings.LayerNorm.weight", &mut config.hidden_size),
        ("encoder.layer.0.intermediate.dense.bias", &mut config.intermediate_size),
    ];
    for (name, value) in sizes {
        *value = size(name).unwrap_or(*value);
    }
    let layer = |i: &usize| weights.has(&format!("encoder.layer.{i}.output.dense.bias"));
    config.num_hidden_layers = (0..).take_while(layer).count().max(1);
    config
}

impl Encoder<str> for BarcodeBert {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn dim(&self) -> usize {
        self.bert.config().hidden_size
    }

    fn encode(&self, items: &[&str]) -> Vec<Result<Vec<f32>, ItemError>> {
        let most = self.bert.config().max_position_embeddings;
        let ids: Vec<_> = items.par_iter().map(|sequence| self.words.ids(sequence, most)).collect();
        let known: Vec<&[u32]> = ids.iter().flatten().map(Vec::as_slice).collect();
        let mut vectors = self.bert.pool(&known, Pooling::Mean).into_iter();
        let mut next = || vectors.next().expect("a vector for each sequence with words");
        ids.into_iter().map(|ids| ids.and_then(|_| finite(next()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bert::tests::{agree, golden, numbers, seeded};

    #[test]
    fn vocabularies_are_known_by_their_size() {
        assert_eq!(Words::of_size(258), Some(Words { k: 4, unknown: Some(1), first: 2 }));
        assert_eq!(Words::of_size(1027), Some(Words { k: 5, unknown: Some(2), first: 3 }));
        assert_eq!(Words::of_size(626), Some(Words { k: 4, unknown: None, first: 1 }));
        assert_eq!(Words::of_size(30_522), None);
    }

    #[test]
    fn barcodes_agree_with_the_authors_tokeniser_and_transformers() {
        for case in golden()["barcodes"].as_array().unwrap() {
            let config = Config::from_json(case["config"].clone()).unwrap();
            let model =
                BarcodeBert::new(config.clone(), &mut seeded("barcodebert", &config)).unwrap();
            for item in case["items"].as_array().unwrap() {
                let sequence = item["sequence"].as_str().unwrap();
                let ids: Vec<f64> = model
                    .words
                    .ids(sequence, 512)
                    .unwrap()
                    .iter()
                    .map(|&id| f64::from(id))
                    .collect();
                assert_eq!(ids, numbers(&item["ids"]), "{sequence}");
                agree(model.encode(&[sequence])[0].as_ref().unwrap(), &item["mean"]);
            }
        }
    }

    #[test]
    fn sequences_without_words_are_errors_of_their_rows() {
        let words = Words::of_size(258).unwrap();
        assert!(words.ids("ACG", 512).unwrap_err().0.contains("no word of 4 letters"));
        assert!(words.ids("NNNNNNNNACNGRYKM", 512).unwrap_err().0.contains("no word of 4 letters"));
        assert_eq!(words.ids("", 512).unwrap_err().0, "the sequence is empty");
        assert_eq!(words.ids("AAAAAAACNACG-TTT", 512).unwrap(), [2, 3, 1, 1]);
        assert_eq!(words.ids(&"ACGT".repeat(400), 512).unwrap().len(), 165, "660 letters are read");
        assert_eq!(words.ids(&"ACGT".repeat(400), 100).unwrap().len(), 100);
    }
}
