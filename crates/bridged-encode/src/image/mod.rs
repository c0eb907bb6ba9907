//! Photographs to vectors: [`read`] a file, [`prepare`] its pixels, run a network.
//!
//! ```no_run
//! use bridged_encode::image::{Architecture, ImageEncoder, Output, read};
//! let weights = std::path::Path::new("efficientnet_b0.safetensors");
//! let encoder = ImageEncoder::open(Architecture::EfficientNetB0, weights, Output::Features)?;
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

use crate::error::finite;
use crate::layers::{Activation, Arena, Dense, Map};
use crate::{EncodeError, Encoder, ItemError, Weights};
use efficientnet::EfficientNet;
use rayon::prelude::*;
use resnet::ResNet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use vit::Vit;

/// What a network gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// What its classifier would read: the mean over the picture, or the class token.
    #[default]
    Features,
    /// What its classifier says, before any softmax.
    Logits,
}

/// The networks that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// EfficientNet-B0, 1280 features.
    EfficientNetB0,
    /// EfficientNet-Lite0, 1280 features.
    EfficientNetLite0,
    /// ResNet50, 2048 features.
    ResNet50,
    /// ViT-B/16, 768 features.
    VitB16,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::EfficientNetB0, Self::EfficientNetLite0, Self::ResNet50, Self::VitB16];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::EfficientNetB0 => "efficientnet-b0",
            Self::EfficientNetLite0 => "efficientnet-lite0",
            Self::ResNet50 => "resnet50",
            Self::VitB16 => "vit-b-16",
        }
    }
}

#[derive(Debug)]
enum Network {
    EfficientNet(EfficientNet),
    ResNet(ResNet),
    Vit(Vit),
}

impl From<EfficientNet> for Network {
    fn from(net: EfficientNet) -> Self {
        Self::EfficientNet(net)
    }
}

impl From<ResNet> for Network {
    fn from(net: ResNet) -> Self {
        Self::ResNet(net)
    }
}

impl From<Vit> for Network {
    fn from(net: Vit) -> Self {
        Self::Vit(net)
    }
}

/// A network with its weights and the way its pictures are prepared.
#[derive(Debug)]
pub struct ImageEncoder {
    /// How pictures become numbers. What the weights' origin says by default; names cannot tell torchvision's two
    /// ResNet50 from each other or from timm's, so it may be replaced (by a preset of the same crop).
    pub preset: Preset,
    architecture: Architecture,
    network: Network,
    arenas: Mutex<Vec<Arena>>, // those that no task uses now
}

impl ImageEncoder {
    /// Reads the weights of a network.
    pub fn open(
        architecture: Architecture,
        path: &Path,
        output: Output,
    ) -> Result<Self, EncodeError> {
        Self::new(architecture, &mut Weights::open(path, architecture.name())?, output)
    }

    /// Takes the weights of a network; shape details and preset follow from whose names they have.
    pub fn new(
        architecture: Architecture,
        w: &mut Weights,
        output: Output,
    ) -> Result<Self, EncodeError> {
        use efficientnet::{Config, Origin};
        let (network, preset): (Network, Preset) = match architecture {
            Architecture::EfficientNetB0 => {
                let package = Origin::of(w) == Origin::Package;
                let config = if package { Config::tf_b0() } else { Config::b0() };
                (EfficientNet::new(&config, w, output)?.into(), Preset::EFFICIENTNET)
            }
            Architecture::EfficientNetLite0 => {
                let timm = Origin::of(w) == Origin::Timm;
                let preset = if timm { Preset::TIMM_LITE } else { Preset::LITE };
                (EfficientNet::new(&Config::lite0(), w, output)?.into(), preset)
            }
            Architecture::ResNet50 => {
                (ResNet::new(&resnet::Config::resnet50(), w, output)?.into(), Preset::TORCHVISION)
            }
            Architecture::VitB16 => {
                let preset = match vit::Origin::of(w) {
                    vit::Origin::Torchvision => Preset::TORCHVISION,
                    vit::Origin::Timm => Preset::TIMM_VIT,
                    vit::Origin::HuggingFace => Preset::HUGGING_FACE_VIT,
                };
                (Vit::new(&vit::Config::b16(), w, output)?.into(), preset)
            }
        };
        Ok(Self { preset, architecture, network, arenas: Mutex::default() })
    }

    /// How many numbers a picture becomes.
    pub fn width(&self) -> usize {
        match &self.network {
            Network::EfficientNet(net) => net.width(),
            Network::ResNet(net) => net.width(),
            Network::Vit(net) => net.width(),
        }
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
        let row = match &self.network {
            Network::EfficientNet(net) => net.forward(x, &mut arena),
            Network::ResNet(net) => net.forward(x, &mut arena),
            Network::Vit(net) => net.forward(x, &mut arena),
        };
        arenas().push(arena);
        row
    }
}

/// Pictures as the bytes of their files: while one task decodes, others are in the network.
impl Encoder<[u8]> for ImageEncoder {
    fn name(&self) -> &'static str {
        self.architecture.name()
    }

    fn dim(&self) -> usize {
        self.width()
    }

    fn encode(&self, items: &[&[u8]]) -> Vec<Result<Vec<f32>, ItemError>> {
        let row = |bytes: &&[u8]| {
            let picture = read::decode(bytes).map_err(ItemError)?;
            finite(self.row(&self.preset.prepare(&picture)))
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
