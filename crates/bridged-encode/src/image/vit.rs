//! ViT-B/16: patches of 16 × 16 pixels as tokens of a transformer, and the class token at its end as features.
//!
//! x += attention(norm x); x += W₂ gelu(W₁ norm x), twelve times, with a norm at the end. torchvision, timm and Hugging
//! Face each have their own names; only ε differs (1e-6, 1e-6, 1e-12). Cost at 224 × 224: 17 billion multiply-adds.
//!
//! Dosovitskiy et al.: *An Image is Worth 16x16 Words* (2021).

use super::{Architecture, Network, OPTIONS, Output, Preset, open};
use crate::entry::{Construct, Entry, Reads};
use crate::layers::load::{dense, layer_norm};
use crate::layers::{Activation, Arena, Conv, Dense, LayerNorm, Map, Padding, attention};
use crate::{EncodeError, Weights};

/// ViT-B/16, 768 features.
pub const B16: Architecture = Architecture {
    name: "vit-b-16",
    build: |w, output| {
        let preset = match Origin::of(w) {
            Origin::Torchvision => Preset::TORCHVISION,
            Origin::Timm => Preset::TIMM_VIT,
            Origin::HuggingFace => Preset::HUGGING_FACE_VIT,
        };
        Ok((Box::new(Vit::new(&Config::b16(), w, output)?), preset))
    },
};

/// ViT-B/16 in the list of encoders.
pub const B16_ENTRY: Entry = Entry {
    name: B16.name,
    about: "ViT-B/16 on ImageNet, 768 numbers (Dosovitskiy et al. 2021)",
    options: OPTIONS,
    reads: Reads::Images(Construct::Pretrained {
        weights: "torchvision and timm publish them (`vit_b_16`)",
        open: |settings, path| open(B16, settings, path),
    }),
};

/// The shape of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The side of the picture.
    pub picture: usize,
    /// The side of a patch.
    pub patch: usize,
    /// Numbers per token.
    pub width: usize,
    /// Numbers inside the second half of a layer.
    pub hidden: usize,
    /// Heads of attention.
    pub heads: usize,
    /// Layers.
    pub layers: usize,
    /// Classes of the classifier, which only logits need.
    pub classes: usize,
}

impl Config {
    /// ViT-B/16.
    pub fn b16() -> Self {
        Self {
            picture: 224,
            patch: 16,
            width: 768,
            hidden: 3072,
            heads: 12,
            layers: 12,
            classes: 1000,
        }
    }
}

/// Whose names a checkpoint has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `conv_proj.weight`, `encoder.layers.encoder_layer_0.ln_1.weight`, …
    Torchvision,
    /// `patch_embed.proj.weight`, `blocks.0.norm1.weight`, …
    Timm,
    /// `vit.embeddings.patch_embeddings.projection.weight`, `vit.encoder.layer.0.…`, with or without `vit.`; also
    /// `vit.layers.0.…`, as transformers 5 names them.
    HuggingFace,
}

impl Origin {
    /// Whose names these are; torchvision's, if nobody's.
    pub fn of(weights: &Weights) -> Self {
        let hugging_face = "embeddings.patch_embeddings.projection.weight";
        if weights.has("patch_embed.proj.weight") {
            Self::Timm
        } else if weights.has(hugging_face) || weights.has(&format!("vit.{hugging_face}")) {
            Self::HuggingFace
        } else {
            Self::Torchvision
        }
    }

    /// Class token, positions, patches, last norm, classifier.
    fn outside(self, w: &Weights) -> [String; 5] {
        match self {
            Self::Torchvision => {
                ["class_token", "encoder.pos_embedding", "conv_proj", "encoder.ln", "heads.head"]
                    .map(String::from)
            }
            Self::Timm => {
                ["cls_token", "pos_embed", "patch_embed.proj", "norm", "head"].map(String::from)
            }
            Self::HuggingFace => {
                let prefix = prefix(w);
                let inner = [
                    "embeddings.cls_token",
                    "embeddings.position_embeddings",
                    "embeddings.patch_embeddings.projection",
                    "layernorm",
                ];
                let [class, positions, patches, norm] = inner.map(|name| format!("{prefix}{name}"));
                [class, positions, patches, norm, "classifier".into()]
            }
        }
    }

    fn layer(self, w: &mut Weights, i: usize, c: &Config) -> Result<Layer, EncodeError> {
        let (d, hidden) = (c.width, c.hidden);
        let renamed = w.has(&format!("{}layers.{i}.attention.q_proj.weight", prefix(w)));
        let (at, [norm1, out, norm2, up, down]) = match self {
            Self::Torchvision => {
                let at = format!("encoder.layers.encoder_layer_{i}");
                // Checkpoints of before torchvision 0.12 call the two layers by name.
                let old = w.has(&format!("{at}.mlp.linear_1.weight"));
                let [up, down] =
                    if old { ["mlp.linear_1", "mlp.linear_2"] } else { ["mlp.0", "mlp.3"] };
                (at, ["ln_1", "self_attention.out_proj", "ln_2", up, down])
            }
            Self::Timm => {
                (format!("blocks.{i}"), ["norm1", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2"])
            }
            Self::HuggingFace if renamed => (
                format!("{}layers.{i}", prefix(w)),
                ["layernorm_before", "attention.o_proj", "layernorm_after", "mlp.fc1", "mlp.fc2"],
            ),
            Self::HuggingFace => (
                format!("{}encoder.layer.{i}", prefix(w)),
                [
                    "layernorm_before",
                    "attention.output.dense",
                    "layernorm_after",
                    "intermediate.dense",
                    "output.dense",
                ],
            ),
        };
        let fused = match self {
            Self::Torchvision => {
                let weight = w.take(&format!("{at}.self_attention.in_proj_weight"), &[3 * d, d])?;
                Dense::new(
                    &weight,
                    &w.take(&format!("{at}.self_attention.in_proj_bias"), &[3 * d])?,
                    d,
                )
            }
            Self::Timm => dense(w, &format!("{at}.attn.qkv"), (d, 3 * d))?,
            Self::HuggingFace => {
                let (mut weight, mut bias) = (Vec::new(), Vec::new());
                let old = ["attention.query", "attention.key", "attention.value"];
                for third in if renamed { ["q_proj", "k_proj", "v_proj"] } else { old } {
                    let name = format!("{at}.attention.{third}");
                    weight.extend(w.take(&format!("{name}.weight"), &[d, d])?);
                    bias.extend(w.take(&format!("{name}.bias"), &[d])?);
                }
                Dense::new(&weight, &bias, d)
            }
        };
        let eps = self.eps();
        Ok(Layer {
            norm1: layer_norm(w, &format!("{at}.{norm1}"), d, eps)?,
            qkv: fused,
            out: dense(w, &format!("{at}.{out}"), (d, d))?,
            norm2: layer_norm(w, &format!("{at}.{norm2}"), d, eps)?,
            up: dense(w, &format!("{at}.{up}"), (d, hidden))?,
            down: dense(w, &format!("{at}.{down}"), (hidden, d))?,
        })
    }

    fn eps(self) -> f32 {
        match self {
            Self::Torchvision | Self::Timm => 1e-6,
            Self::HuggingFace => 1e-12,
        }
    }
}

/// What Hugging Face writes before the names of the encoder in a file that also holds a classifier.
fn prefix(w: &Weights) -> &'static str {
    if w.has("vit.layernorm.weight") { "vit." } else { "" }
}

#[derive(Debug)]
struct Layer {
    norm1: LayerNorm,
    qkv: Dense,
    out: Dense,
    norm2: LayerNorm,
    up: Dense,
    down: Dense,
}

impl Layer {
    /// Replaces the tokens x (n, width).
    fn forward(&self, x: &mut [f32], heads: usize, arena: &mut Arena) {
        let width = self.out.outputs();
        let n = x.len() / width;
        let (mut normed, mut next) = (arena.take(x.len()), arena.take(x.len()));
        let mut wide = arena.take(n * self.qkv.outputs());
        self.norm1.forward(x, &mut normed);
        self.qkv.forward(&normed, None, Activation::Identity, &mut wide);
        attention(&wide, width, heads, &mut normed, arena);
        self.out.forward(&normed, Some(x), Activation::Identity, &mut next);
        self.norm2.forward(&next, &mut normed);
        wide.resize(n * self.up.outputs(), 0.0);
        self.up.forward(&normed, None, Activation::Gelu, &mut wide);
        self.down.forward(&wide, Some(&next), Activation::Identity, x);
        [normed, next, wide].into_iter().for_each(|buffer| arena.give(buffer));
    }
}

/// A network with its weights.
#[derive(Debug)]
pub struct Vit {
    config: Config,
    patches: Conv,
    class: Vec<f32>,
    positions: Vec<f32>,
    layers: Vec<Layer>,
    norm: LayerNorm,
    classifier: Option<Dense>,
}

impl Vit {
    /// Takes the weights of a network out of a checkpoint; those of the classifier only for logits.
    pub fn new(config: &Config, w: &mut Weights, output: Output) -> Result<Self, EncodeError> {
        let c = config;
        let origin = Origin::of(w);
        let [class, positions, patches, norm, classifier] = origin.outside(w);
        let layers: Result<Vec<Layer>, EncodeError> =
            (0..c.layers).map(|i| origin.layer(w, i, c)).collect();
        let layers = layers?;
        let tokens = (c.picture / c.patch).pow(2) + 1;
        let weight = w.take(&format!("{patches}.weight"), &[c.width, 3, c.patch, c.patch])?;
        let bias = w.take(&format!("{patches}.bias"), &[c.width])?;
        Ok(Self {
            patches: Conv::new(&weight, &bias, c.patch, c.patch, Padding::Valid),
            class: w.take(&class, &[1, 1, c.width])?,
            positions: w.take(&positions, &[1, tokens, c.width])?,
            layers,
            norm: layer_norm(w, &norm, c.width, origin.eps())?,
            classifier: match output {
                Output::Features => None,
                Output::Logits => Some(dense(w, &classifier, (c.width, c.classes))?),
            },
            config: c.clone(),
        })
    }
}

impl Network for Vit {
    fn forward(&self, x: &Map, arena: &mut Arena) -> Vec<f32> {
        assert_eq!(
            (x.height, x.width),
            (self.config.picture, self.config.picture),
            "a position for every patch"
        );
        let patches = self.patches.forward(x, None, Activation::Identity, arena);
        let mut tokens = arena.take(self.positions.len());
        let embedded = self.class.iter().chain(&patches.data).zip(&self.positions);
        tokens.iter_mut().zip(embedded).for_each(|(token, (v, position))| *token = v + position);
        arena.give(patches.data);
        for layer in &self.layers {
            layer.forward(&mut tokens, self.config.heads, arena);
        }
        let mut features = vec![0.0; self.config.width];
        self.norm.forward(&tokens[..self.config.width], &mut features);
        arena.give(tokens);
        super::classify(features, self.classifier.as_ref())
    }

    fn width(&self) -> usize {
        self.classifier.as_ref().map_or(self.config.width, Dense::outputs)
    }
}
