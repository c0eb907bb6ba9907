//! Photographs to vectors: [`read`] a file, [`prepare`] its pixels, run a network.
//!
//! ```no_run
//! use bridged_encode::image::{ImageEncoder, Output, efficientnet, read};
//! let weights = std::path::Path::new("efficientnet_b0.safetensors");
//! let encoder = ImageEncoder::open(efficientnet::B0, weights, Output::Features)?;
//! let pictures = vec![read::open(std::path::Path::new("photos/beetle.jpg"))?];
//! let rows = encoder.encode(&pictures);
//! assert_eq!(rows.len(), encoder.width());
//! # Ok::<(), bridged_encode::EncodeError>(())
//! ```

pub mod efficientnet;
pub mod prepare;
pub mod read;
pub mod resize;
pub mod resnet;
pub mod vit;

pub use prepare::Preset;
pub use read::Picture;

use crate::entry::{EncoderOption, Made, OptionValue, Settings};
use crate::error::finite;
use crate::layers::{Activation, Arena, Dense, Map};
use crate::{EncodeError, Encoder, ItemError, Weights};
use rayon::prelude::*;
use serde::Deserialize;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What a network gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// What its classifier would read: the mean over the picture, or the class token.
    #[default]
    Features,
    /// What its classifier says, before any softmax.
    Logits,
}

/// A network with its weights: a prepared picture in, features or logits out.
pub trait Network: Debug + Send + Sync {
    /// How many numbers come out.
    fn width(&self) -> usize;

    /// Features, or logits where they were asked for, of a prepared picture.
    fn forward(&self, x: &Map, arena: &mut Arena) -> Vec<f32>;
}

/// A kind of network, by name.
#[derive(Clone, Copy, Debug)]
pub struct Architecture {
    /// Its name in the list of encoders.
    pub name: &'static str,
    /// Takes its weights out of a checkpoint; shape details and preset follow from whose names they have.
    pub build: fn(&mut Weights, Output) -> Result<Built, EncodeError>,
}

/// A network, and how its pictures are prepared.
pub type Built = (Box<dyn Network>, Preset);

/// The options of every network, in the list of encoders.
pub(crate) const OPTIONS: &[EncoderOption] = &[
    EncoderOption {
        name: "logits",
        about: "What the classifier says instead of what it reads",
        default: "",
        value: OptionValue::Flag,
    },
    EncoderOption {
        name: "preset",
        about: "How pictures are resized, cropped and normalised",
        default: "as the origin of the weights does",
        value: OptionValue::Choice(Preset::NAMES),
    },
    EncoderOption {
        name: "max-pixels",
        about: "Pixels of the largest picture that is read; larger ones are listed beside the output",
        default: "64000000",
        value: OptionValue::Count(1),
    },
];

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Parameters {
    logits: bool,
    preset: Option<String>,
    max_pixels: Option<u64>,
}

/// The encoder of a network with these options.
pub(crate) fn open(architecture: Architecture, settings: &Settings, path: &Path) -> Made<[u8]> {
    let Parameters { logits, preset, max_pixels } = settings.parse()?;
    let output = if logits { Output::Logits } else { Output::Features };
    let mut encoder = ImageEncoder::open(architecture, path, output)?;
    encoder.max_pixels = max_pixels.unwrap_or(encoder.max_pixels);
    if let Some(name) = preset {
        let crop = encoder.preset.crop;
        let fits = |(known, preset): &(&str, Preset)| *known == name && preset.crop == crop;
        let Some((_, preset)) = Preset::ALL.into_iter().find(fits) else {
            let need = format!("a preset that crops to {crop} pixels");
            return Err(EncodeError::BadOption { name: "preset", need, got: name });
        };
        encoder.preset = preset;
    }
    Ok(Box::new(encoder))
}

/// A network with its weights and the way its pictures are prepared.
#[derive(Debug)]
pub struct ImageEncoder {
    /// How pictures become numbers. What the weights' origin says by default; names cannot tell torchvision's two
    /// ResNet50 from each other or from timm's, so it may be replaced (by a preset of the same crop).
    pub preset: Preset,
    /// Pixels of the largest picture that is decoded.
    pub max_pixels: u64,
    architecture: Architecture,
    network: Box<dyn Network>,
    arenas: Mutex<Vec<Arena>>, // those that no task uses now
}

impl ImageEncoder {
    /// Reads the weights of a network.
    pub fn open(
        architecture: Architecture,
        path: &Path,
        output: Output,
    ) -> Result<Self, EncodeError> {
        Self::new(architecture, &mut Weights::open(path, architecture.name)?, output)
    }

    /// Takes the weights of a network; shape details and preset follow from whose names they have.
    pub fn new(
        architecture: Architecture,
        w: &mut Weights,
        output: Output,
    ) -> Result<Self, EncodeError> {
        let (network, preset) = (architecture.build)(w, output)?;
        let (max_pixels, arenas) = (read::MAX_PIXELS, Mutex::default());
        Ok(Self { preset, max_pixels, architecture, network, arenas })
    }

    /// How many numbers a picture becomes.
    pub fn width(&self) -> usize {
        self.network.width()
    }

    /// The vectors of some pictures, (pictures, width): one picture per task, through all layers.
    pub fn encode(&self, pictures: &[Picture]) -> Vec<f32> {
        let row = |picture| self.row(&self.preset.prepare(picture));
        pictures.par_iter().map(row).collect::<Vec<_>>().concat()
    }

    /// The vectors of pictures that are prepared already.
    pub fn encode_prepared(&self, pictures: &[Map]) -> Vec<f32> {
        pictures.par_iter().map(|x| self.row(x)).collect::<Vec<_>>().concat()
    }

    fn row(&self, x: &Map) -> Vec<f32> {
        let arenas = || self.arenas.lock().unwrap_or_else(PoisonError::into_inner);
        let mut arena = arenas().pop().unwrap_or_default();
        let row = self.network.forward(x, &mut arena);
        arenas().push(arena);
        row
    }
}

/// Held while a large picture is decoded.
static LARGE_TURN: Mutex<()> = Mutex::new(());

/// Pictures as the bytes of their files: while one task decodes, others are in the network.
impl Encoder<[u8]> for ImageEncoder {
    fn name(&self) -> &'static str {
        self.architecture.name
    }

    fn dim(&self) -> usize {
        self.width()
    }

    fn encode(&self, items: &[&[u8]]) -> Vec<Result<Vec<f32>, ItemError>> {
        let row = |bytes: &&[u8]| {
            let prepared = {
                // Large pictures one at a time: threads that each decode one would need their memory at once.
                let large = read::claimed_pixels(bytes).is_some_and(|pixels| pixels > read::LARGE);
                let turn = || LARGE_TURN.lock().unwrap_or_else(PoisonError::into_inner);
                let _turn = large.then(turn);
                let picture = read::decode_within(bytes, self.max_pixels).map_err(ItemError)?;
                self.preset.prepare(&picture)
            };
            finite(self.row(&prepared))
        };
        items.par_iter().map(row).collect()
    }
}

/// The features themselves, or what a classifier says about them.
fn classify(features: Vec<f32>, classifier: Option<&Dense>) -> Vec<f32> {
    let Some(dense) = classifier else {
        return features;
    };
    let mut logits = vec![0.0; dense.outputs()];
    dense.forward(&features, None, Activation::Identity, &mut logits);
    logits
}
