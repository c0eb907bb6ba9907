//! Layers from a checkpoint, for every network, with batch norms folded into the convolutions before them.
//!
//! Every tensor comes from [`Weights::take`], which checks its shape and that its numbers are finite.
//!
//! γ (W ∗ x − μ) / √(σ² + ε) + β = (s W) ∗ x + (β − s μ) with s = γ / √(σ² + ε): at inference a batch norm costs
//! nothing.

use super::{Conv, Dense, Depthwise, LayerNorm, Padding};
use crate::{EncodeError, Weights};

/// Window, step and border of a convolution.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its side.
    pub kernel: usize,
    /// Pixels from one to the next.
    pub stride: usize,
    /// What it sees beyond the picture.
    pub padding: Padding,
}

/// The window of a 1 × 1 convolution.
pub const POINT: Window = Window { kernel: 1, stride: 1, padding: Padding::Valid };

/// The names of a convolution and of the batch norm behind it in a checkpoint.
#[derive(Clone, Debug)]
pub struct ConvNorm {
    /// The convolution, without `.weight`.
    pub conv: String,
    /// The batch norm.
    pub norm: String,
}

impl ConvNorm {
    /// Two names.
    pub fn new(conv: impl Into<String>, norm: impl Into<String>) -> Self {
        Self { conv: conv.into(), norm: norm.into() }
    }

    /// The folded weight (of `shape`) and bias.
    fn folded(
        &self,
        w: &mut Weights,
        shape: [usize; 4],
        eps: f64,
    ) -> Result<[Vec<f32>; 2], EncodeError> {
        let outputs = shape[0];
        let mut weight = w.take(&format!("{}.weight", self.conv), &shape)?;
        let mut of = |part: &str| w.take(&format!("{}.{part}", self.norm), &[outputs]);
        let (gamma, beta) = (of("weight")?, of("bias")?);
        let (mean, variance) = (of("running_mean")?, of("running_var")?);
        let mut bias = Vec::with_capacity(outputs);
        for (o, kernel) in weight.chunks_exact_mut(shape[1..].iter().product()).enumerate() {
            let scale = f64::from(gamma[o]) / (f64::from(variance[o]).max(0.0) + eps).sqrt();
            kernel.iter_mut().for_each(|v| *v = (f64::from(*v) * scale) as f32);
            bias.push((f64::from(beta[o]) - f64::from(mean[o]) * scale) as f32);
        }
        Ok([weight, bias])
    }

    /// A convolution with its batch norm.
    pub fn conv(
        &self,
        w: &mut Weights,
        (inputs, outputs): (usize, usize),
        window: Window,
        eps: f64,
    ) -> Result<Conv, EncodeError> {
        let Window { kernel, stride, padding } = window;
        let [weight, bias] = self.folded(w, [outputs, inputs, kernel, kernel], eps)?;
        Ok(Conv::new(&weight, &bias, kernel, stride, padding))
    }

    /// A 1 × 1 convolution with its batch norm, as a dense layer over pixels.
    pub fn dense(
        &self,
        w: &mut Weights,
        (inputs, outputs): (usize, usize),
        eps: f64,
    ) -> Result<Dense, EncodeError> {
        let [weight, bias] = self.folded(w, [outputs, inputs, 1, 1], eps)?;
        Ok(Dense::new(&weight, &bias, inputs))
    }

    /// A depthwise convolution with its batch norm.
    pub fn depthwise(
        &self,
        w: &mut Weights,
        channels: usize,
        window: Window,
        eps: f64,
    ) -> Result<Depthwise, EncodeError> {
        let Window { kernel, stride, padding } = window;
        let [weight, bias] = self.folded(w, [channels, 1, kernel, kernel], eps)?;
        Ok(Depthwise::new(&weight, &bias, kernel, stride, padding))
    }
}

/// A dense layer: `weight` (outputs, inputs) and `bias` (outputs).
pub fn dense(
    w: &mut Weights,
    name: &str,
    (inputs, outputs): (usize, usize),
) -> Result<Dense, EncodeError> {
    let weight = w.take(&format!("{name}.weight"), &[outputs, inputs])?;
    Ok(Dense::new(&weight, &w.take(&format!("{name}.bias"), &[outputs])?, inputs))
}

/// A dense layer that the checkpoint keeps as a 1 × 1 convolution.
pub fn dense_of_conv(
    w: &mut Weights,
    name: &str,
    (inputs, outputs): (usize, usize),
) -> Result<Dense, EncodeError> {
    let weight = w.take(&format!("{name}.weight"), &[outputs, inputs, 1, 1])?;
    Ok(Dense::new(&weight, &w.take(&format!("{name}.bias"), &[outputs])?, inputs))
}

/// A layer norm over `width` numbers.
pub fn layer_norm(
    w: &mut Weights,
    name: &str,
    width: usize,
    eps: f32,
) -> Result<LayerNorm, EncodeError> {
    let weight = w.take(&format!("{name}.weight"), &[width])?;
    Ok(LayerNorm { weight, bias: w.take(&format!("{name}.bias"), &[width])?, eps })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::{Activation, Arena, Map};
    use safetensors::{Dtype, tensor::TensorView};

    fn weights(tensors: &[(&str, Vec<usize>, Vec<f32>)]) -> Weights {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.safetensors");
        let bytes: Vec<Vec<u8>> =
            tensors.iter().map(|t| t.2.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
        let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
            (*name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap())
        });
        safetensors::serialize_to_file(views, None, &path).unwrap();
        Weights::open(&path, "a test").unwrap()
    }

    #[test]
    fn a_folded_convolution_is_the_convolution_and_its_batch_norm() {
        let mut w = weights(&[
            ("c.weight", vec![2, 1, 1, 1], vec![2.0, -3.0]),
            ("n.weight", vec![2], vec![0.5, 4.0]),
            ("n.bias", vec![2], vec![1.0, -1.0]),
            ("n.running_mean", vec![2], vec![0.25, 2.0]),
            ("n.running_var", vec![2], vec![3.0, 0.0]),
        ]);
        let conv = ConvNorm::new("c", "n").conv(&mut w, (1, 2), POINT, 1.0).unwrap();
        let x = Map { height: 1, width: 1, channels: 1, data: vec![5.0] };
        let y = conv.forward(&x, None, Activation::Identity, &mut Arena::default()).data;
        assert_eq!(y, [(10.0 - 0.25) / 2.0 * 0.5 + 1.0, (-15.0 - 2.0) * 4.0 - 1.0]);
    }
}
