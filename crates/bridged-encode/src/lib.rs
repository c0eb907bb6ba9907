//! From photographs, captions and DNA to the vectors that Bridged Clustering reads.
//!
//! An [`Encoder`] turns items into vectors, one each, whatever else is encoded with them: the same item has the same
//! bits in any batch and on any number of threads. [`ALL`] lists the encoders and makes them by name.
//!
//! | items | encoders |
//! |---|---|
//! | photographs | [`image::ImageEncoder`] |
//! | texts | [`bert::SentenceBert`], [`tfidf::Vocabulary`] |
//! | DNA | [`barcode::BarcodeBert`], [`kmer::Kmers`]; sequences come from [`fasta`] |

#![forbid(unsafe_code)]

pub mod barcode;
pub mod bert;
mod dna;
mod entry;
pub mod error;
pub mod fasta;
pub mod image;
pub mod kmer;
pub mod layers;
pub mod lsa;
pub mod sparse;
pub mod tfidf;
mod tokens;
pub mod weights;

pub use entry::{Construct, EncoderOption, Entry, Made, Modality, OptionValue, Reads, Settings};
pub use error::{EncodeError, ItemError};
pub use weights::Weights;

/// What the fuzz targets need of the inside; no part of the interface.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::barcode::fuzz_words as barcode_words;
    pub use crate::tokens::fuzz_tokens as tokens;
    pub use crate::weights::fuzz_pickle as pickle;
}

/// What turns items into vectors: texts and sequences are `str`, photographs are the bytes of their files.
pub trait Encoder<Item: ?Sized>: Sync {
    /// Its name in [`ALL`].
    fn name(&self) -> &'static str;

    /// How many numbers a vector has.
    fn dim(&self) -> usize;

    /// A vector for each item, or why it has none.
    fn encode(&self, items: &[&Item]) -> Vec<Result<Vec<f32>, ItemError>>;
}

/// Every encoder, in the order in which `bridged list` shows them. A line here gives an encoder its name and its options
/// on the command line, its place in the lists and its conformance tests.
pub const ALL: &[&Entry] = &[
    &image::efficientnet::B0_ENTRY,
    &image::efficientnet::LITE0_ENTRY,
    &image::resnet::RESNET50_ENTRY,
    &image::vit::B16_ENTRY,
    &bert::ENTRY,
    &tfidf::ENTRY,
    &barcode::ENTRY,
    &kmer::ENTRY,
];

/// The encoder of that name.
pub fn named(name: &str) -> Option<&'static Entry> {
    ALL.iter().copied().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_encoder_has_a_name_of_its_own_and_a_line() {
        for (i, entry) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|other| other.name != entry.name), "{}", entry.name);
            assert!(!entry.about.is_empty() && !entry.about.contains('\n'), "{}", entry.name);
            assert_eq!(
                entry.weights().is_none(),
                entry.about.contains("no weights"),
                "{}",
                entry.name
            );
            assert_eq!(named(entry.name).map(|e| e.about), Some(entry.about));
        }
        assert!(named("nobody").is_none());
    }

    #[test]
    fn every_kind_of_item_has_an_encoder_and_options_of_one_name_mean_one_thing() {
        for modality in Modality::ALL {
            let of = || ALL.iter().filter(|entry| entry.modality() == modality);
            assert!(of().next().is_some(), "{}", modality.name());
            for option in of().flat_map(|entry| entry.options) {
                let same = of().flat_map(|e| e.options).filter(|o| o.name == option.name);
                assert!(same.into_iter().all(|other| other == option), "{}", option.name);
            }
        }
    }

    /// Makes an encoder as far as that goes without weights, and checks what it says of itself.
    fn check<Item: ?Sized + 'static>(entry: &Entry, construct: Construct<Item>, corpus: &[&Item]) {
        let none = Settings::default();
        let unknown = Settings([("colour".to_string(), "red".into())].into_iter().collect());
        let nowhere = Path::new("nowhere");
        match construct {
            Construct::Plain(make) => {
                let encoder = make(&none).unwrap();
                assert_eq!(encoder.name(), entry.name);
                assert!(encoder.dim() > 0, "{}", entry.name);
                assert!(make(&unknown).is_err(), "{}", entry.name);
            }
            Construct::Pretrained { weights, open } => {
                let error = open(&none, nowhere).err().unwrap().to_string();
                assert!(error.contains(entry.name) && error.contains(weights), "{error}");
                let error = open(&unknown, nowhere).err().unwrap().to_string();
                assert!(error.contains("colour"), "{}: {error}", entry.name);
            }
            Construct::Vocabulary { fit, make } => {
                let encoder = make(fit(&none, corpus).unwrap());
                assert_eq!(encoder.name(), entry.name);
                assert!(encoder.encode(corpus).iter().all(Result::is_ok), "{}", entry.name);
                assert!(fit(&unknown, corpus).is_err(), "{}", entry.name);
            }
        }
    }

    #[test]
    fn every_encoder_is_made_by_its_entry_and_refuses_options_that_it_does_not_have() {
        for entry in ALL {
            match entry.reads {
                Reads::Images(construct) => check(entry, construct, &[b"no picture".as_slice()]),
                Reads::Text(construct) => check(entry, construct, &["a dog runs", "a cat"]),
                Reads::Dna(construct) => check(entry, construct, &["ACGTACGT"]),
            }
        }
    }
}
