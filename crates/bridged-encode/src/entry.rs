//! What the list of encoders holds of each: its name, what it reads, its options, and how it is made.
//!
//! The command line, `bridged list` and the errors about weights follow from these entries alone, so an encoder is one
//! file with an [`Entry`] and one line in [`crate::ALL`].

use crate::tfidf::Vocabulary;
use crate::{EncodeError, Encoder};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::path::Path;

/// An encoder as a person chooses it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is called.
    pub name: &'static str,
    /// What it gives, in a line.
    pub about: &'static str,
    /// What may be set about it.
    pub options: &'static [EncoderOption],
    /// What it reads, and how it is made.
    pub reads: Reads,
}

/// What an encoder reads, with what makes it.
#[derive(Clone, Copy, Debug)]
pub enum Reads {
    /// Photographs, as the bytes of their files.
    Images(Construct<[u8]>),
    /// Texts.
    Text(Construct<str>),
    /// Sequences of DNA, as letters.
    Dna(Construct<str>),
}

/// How an encoder is made.
#[derive(Debug)]
pub enum Construct<Item: ?Sized + 'static> {
    /// From its options alone.
    Plain(fn(&Settings) -> Made<Item>),
    /// From weights that somebody trained.
    Pretrained {
        /// Where people get them.
        weights: &'static str,
        /// Reads them from a file or folder.
        open: fn(&Settings, &Path) -> Made<Item>,
    },
    /// From a vocabulary, which it learns from the items unless it has one of an earlier run.
    Vocabulary {
        /// Learns it.
        fit: fn(&Settings, &[&Item]) -> Result<Vocabulary, EncodeError>,
        /// The encoder with this vocabulary.
        make: fn(Vocabulary) -> Box<dyn Encoder<Item>>,
    },
}

/// An encoder, or why there is none.
pub type Made<Item> = Result<Box<dyn Encoder<Item>>, EncodeError>;

// Derived, these would ask for an `Item` that can be copied.
impl<Item: ?Sized + 'static> Clone for Construct<Item> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Item: ?Sized + 'static> Copy for Construct<Item> {}

impl<Item: ?Sized + 'static> Construct<Item> {
    /// Where people get the weights that it needs; none if it needs none.
    pub fn weights(&self) -> Option<&'static str> {
        match self {
            Self::Pretrained { weights, .. } => Some(weights),
            Self::Plain(_) | Self::Vocabulary { .. } => None,
        }
    }
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

impl Modality {
    /// Every kind of item, in the order of `bridged encode list`.
    pub const ALL: [Self; 3] = [Self::Images, Self::Text, Self::Dna];

    /// Its name, which is also the verb of `bridged encode`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Images => "images",
            Self::Text => "text",
            Self::Dna => "dna",
        }
    }
}

impl Entry {
    /// What it reads.
    pub fn modality(&self) -> Modality {
        match self.reads {
            Reads::Images(_) => Modality::Images,
            Reads::Text(_) => Modality::Text,
            Reads::Dna(_) => Modality::Dna,
        }
    }

    /// Where people get its weights; none if it needs none.
    pub fn weights(&self) -> Option<&'static str> {
        match self.reads {
            Reads::Images(construct) => construct.weights(),
            Reads::Text(construct) | Reads::Dna(construct) => construct.weights(),
        }
    }
}

/// One option of an encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderOption {
    /// Its name on the command line, without the dashes before it.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What happens without it; empty if that goes without saying.
    pub default: &'static str,
    /// What may be given.
    pub value: OptionValue,
}

impl EncoderOption {
    /// Its name in [`Settings`], with `_` for `-`.
    pub fn key(&self) -> String {
        self.name.replace('-', "_")
    }
}

/// What may be given for an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionValue {
    /// Nothing: it is given or not.
    Flag,
    /// `true` or `false`.
    Switch,
    /// A whole number of at least this.
    Count(usize),
    /// A number from 0 to 1.
    Share,
    /// One of these names.
    Choice(&'static [&'static str]),
}

/// The options that were given, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(pub Map<String, Value>);

impl Settings {
    /// The parameters of an encoder; what was not given has its default.
    pub fn parse<P: DeserializeOwned>(&self) -> Result<P, EncodeError> {
        serde_json::from_value(Value::Object(self.0.clone()))
            .map_err(|e| EncodeError::BadSettings { reason: e.to_string() })
    }
}
