//! ResNet50: a stem, four stages of bottlenecks (1 × 1, 3 × 3 with the stride, 1 × 1) with shortcuts, 2048 features.
//!
//! ConvNorm are those of torchvision, which timm shares. Cost at 224 × 224: 4.1 billion multiply-adds.
//!
//! He, Zhang, Ren, Sun: *Deep Residual Learning for Image Recognition* (2016), with the stride in the middle convolution
//! as both packages have it.

use super::{Architecture, Network, OPTIONS, Output, Preset, open};
use crate::entry::{Construct, Entry, Reads};
use crate::layers::load::{ConvNorm, POINT, Window, dense};
use crate::layers::pool::{max, mean};
use crate::layers::{Activation, Arena, Conv, Dense, Map, Padding};
use crate::{EncodeError, Weights};

/// ResNet50, 2,048 features.
pub const RESNET50: Architecture = Architecture {
    name: "resnet50",
    build: |w, output| {
        Ok((Box::new(ResNet::new(&Config::resnet50(), w, output)?), Preset::TORCHVISION))
    },
};

/// ResNet50 in the list of encoders.
pub const RESNET50_ENTRY: Entry = Entry {
    name: RESNET50.name,
    about: "ResNet-50 on ImageNet, 2,048 numbers (He et al. 2016)",
    options: OPTIONS,
    reads: Reads::Images(Construct::Pretrained {
        weights: "torchvision and timm publish them (`resnet50`)",
        open: |settings, path| open(RESNET50, settings, path),
    }),
};

/// The shape of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Channels of the stem.
    pub stem: usize,
    /// Inner channels and number of the bottlenecks of each stage; they give four times their inner channels.
    pub stages: Vec<(usize, usize)>,
    /// ε of batch norms.
    pub eps: f64,
    /// Classes of the classifier, which only logits need.
    pub classes: usize,
}

impl Config {
    /// ResNet50.
    pub fn resnet50() -> Self {
        Self {
            stem: 64,
            stages: vec![(64, 3), (128, 4), (256, 6), (512, 3)],
            eps: 1e-5,
            classes: 1000,
        }
    }
}

/// How many times more channels a bottleneck gives than it has inside.
const EXPANSION: usize = 4;

#[derive(Debug)]
struct Bottleneck {
    convs: [Conv; 3],
    downsample: Option<Conv>,
}

impl Bottleneck {
    fn forward(&self, x: Map, arena: &mut Arena) -> Map {
        let f = Activation::Relu;
        let [first, second, third] = &self.convs;
        let a = first.forward(&x, None, f, arena);
        let b = second.forward(&a, None, f, arena);
        arena.give(a.data);
        let identity = Activation::Identity;
        let side = self.downsample.as_ref().map(|conv| conv.forward(&x, None, identity, arena));
        let out = third.forward(&b, Some(side.as_ref().unwrap_or(&x)), f, arena);
        [Some(x), side, Some(b)].into_iter().flatten().for_each(|map| arena.give(map.data));
        out
    }
}

/// A network with its weights.
#[derive(Debug)]
pub struct ResNet {
    stem: Conv,
    blocks: Vec<Bottleneck>,
    classifier: Option<Dense>,
    features: usize,
}

impl ResNet {
    /// Takes the weights of a network out of a checkpoint; those of the classifier only for logits.
    pub fn new(config: &Config, w: &mut Weights, output: Output) -> Result<Self, EncodeError> {
        let eps = config.eps;
        let window = |kernel, stride| Window { kernel, stride, padding: Padding::Symmetric };
        let stem = ConvNorm::new("conv1", "bn1").conv(w, (3, config.stem), window(7, 2), eps)?;
        let mut blocks = Vec::new();
        let mut inputs = config.stem;
        for (s, &(inner, repeats)) in config.stages.iter().enumerate() {
            for i in 0..repeats {
                let prefix = format!("layer{}.{i}", s + 1);
                let names = |n: usize| {
                    ConvNorm::new(format!("{prefix}.conv{n}"), format!("{prefix}.bn{n}"))
                };
                let stride = if i == 0 && s > 0 { 2 } else { 1 };
                let outputs = inner * EXPANSION;
                let convs = [
                    names(1).conv(w, (inputs, inner), POINT, eps)?,
                    names(2).conv(w, (inner, inner), window(3, stride), eps)?,
                    names(3).conv(w, (inner, outputs), POINT, eps)?,
                ];
                let downsample = (i == 0)
                    .then(|| {
                        ConvNorm::new(
                            format!("{prefix}.downsample.0"),
                            format!("{prefix}.downsample.1"),
                        )
                        .conv(
                            w,
                            (inputs, outputs),
                            Window { stride, ..POINT },
                            eps,
                        )
                    })
                    .transpose()?;
                blocks.push(Bottleneck { convs, downsample });
                inputs = outputs;
            }
        }
        let classifier = match output {
            Output::Features => None,
            Output::Logits => Some(dense(w, "fc", (inputs, config.classes))?),
        };
        Ok(Self { stem, blocks, classifier, features: inputs })
    }
}

impl Network for ResNet {
    fn forward(&self, x: &Map, arena: &mut Arena) -> Vec<f32> {
        let stem = self.stem.forward(x, None, Activation::Relu, arena);
        let mut x = max(&stem, 3, 2, arena);
        arena.give(stem.data);
        for block in &self.blocks {
            x = block.forward(x, arena);
        }
        let features = mean(&x);
        arena.give(x.data);
        super::classify(features, self.classifier.as_ref())
    }

    fn width(&self) -> usize {
        self.classifier.as_ref().map_or(self.features, Dense::outputs)
    }
}
