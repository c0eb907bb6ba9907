//! A convolution as a product: each output pixel's patch is a row of k·k·c numbers.
//!
//! Patches are gathered for a block of pixels at a time, small enough to stay in cache until the product has used
//! them; a 1 × 1 convolution needs none and multiplies the picture itself. Cost: pixels · k² · inputs · outputs.

use super::{Activation, Arena, Dense, Map};

/// How far a window reaches beyond the picture, where it sees zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Not at all.
    Valid,
    /// (k − 1) / 2 on every side: PyTorch's habit.
    Symmetric,
    /// As little as gives ⌈size / stride⌉ outputs, the odd one at the end: TensorFlow's `SAME`.
    Same,
}

impl Padding {
    /// How many outputs a line of `size` pixels has, and how far before it the first window begins.
    pub fn place(self, size: usize, kernel: usize, stride: usize) -> (usize, usize) {
        let outputs =
            |padded: usize| if padded < kernel { 0 } else { (padded - kernel) / stride + 1 };
        match self {
            Self::Valid => (outputs(size), 0),
            Self::Symmetric => (outputs(size + 2 * ((kernel - 1) / 2)), (kernel - 1) / 2),
            Self::Same => {
                let many = size.div_ceil(stride);
                let reach = many.saturating_sub(1) * stride + kernel;
                (many, reach.saturating_sub(size) / 2)
            }
        }
    }
}

/// A convolution with its bias.
#[derive(Clone, Debug)]
pub struct Conv {
    kernel: usize,
    stride: usize,
    padding: Padding,
    channels: usize,
    dense: Dense,
}

impl Conv {
    /// From `weight` (outputs, channels, kernel, kernel), as PyTorch keeps it, and `bias` (outputs).
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn new(
        weight: &[f32],
        bias: &[f32],
        kernel: usize,
        stride: usize,
        padding: Padding,
    ) -> Self {
        let window = kernel * kernel;
        let channels = weight.len() / (bias.len() * window).max(1);
        let inputs = channels * window;
        let mut by_pixel = vec![0.0; weight.len()];
        for (from, to) in weight.chunks_exact(inputs).zip(by_pixel.chunks_exact_mut(inputs)) {
            for c in 0..channels {
                for at in 0..window {
                    to[at * channels + c] = from[c * window + at];
                }
            }
        }
        Self { kernel, stride, padding, channels, dense: Dense::new(&by_pixel, bias, inputs) }
    }

    /// f(x ∗ W + b), or f(x ∗ W + b + r) with a shortcut of the size of the output.
    pub fn forward(
        &self,
        x: &Map,
        shortcut: Option<&Map>,
        f: Activation,
        arena: &mut Arena,
    ) -> Map {
        assert_eq!(x.channels, self.channels, "the picture has the channels of the weights");
        let (height, top) = self.padding.place(x.height, self.kernel, self.stride);
        let (width, left) = self.padding.place(x.width, self.kernel, self.stride);
        let mut out = arena.map(height, width, self.dense.outputs());
        let shortcut = shortcut.map(|r| r.data.as_slice());
        if self.kernel == 1 && self.stride == 1 {
            self.dense.forward(&x.data, shortcut, f, &mut out.data);
            return out;
        }
        let (inputs, outputs) = (self.dense.inputs(), self.dense.outputs());
        let block = self.dense.block();
        let mut patches = arena.take(block.min(out.pixels()) * inputs);
        for (b, y) in out.data.chunks_mut(block * outputs).enumerate() {
            let pixels = b * block..b * block + y.len() / outputs;
            let patches = &mut patches[..pixels.len() * inputs];
            for (pixel, patch) in pixels.clone().zip(patches.chunks_exact_mut(inputs)) {
                self.gather(x, (pixel / width, top), (pixel % width, left), patch);
            }
            let shortcut = shortcut.map(|r| &r[pixels.start * outputs..pixels.end * outputs]);
            self.dense.forward(patches, shortcut, f, y);
        }
        arena.give(patches);
        out
    }

    /// The window of output (row, column), whose picture begins `top` and `left` of the first window.
    fn gather(
        &self,
        x: &Map,
        (row, top): (usize, usize),
        (column, left): (usize, usize),
        patch: &mut [f32],
    ) {
        let c = self.channels;
        let columns = inside(column * self.stride, left, x.width, self.kernel);
        let rows = inside(row * self.stride, top, x.height, self.kernel);
        for (dy, line) in patch.chunks_exact_mut(self.kernel * c).enumerate() {
            if !rows.contains(&dy) || columns.is_empty() {
                line.fill(0.0);
                continue;
            }
            let y = row * self.stride + dy - top;
            let from = (y * x.width + column * self.stride + columns.start - left) * c;
            line[..columns.start * c].fill(0.0);
            line[columns.start * c..columns.end * c]
                .copy_from_slice(&x.data[from..from + columns.len() * c]);
            line[columns.end * c..].fill(0.0);
        }
    }
}

/// Which taps of a window that begins at `start − before` lie within a line of `size` pixels.
pub fn inside(start: usize, before: usize, size: usize, kernel: usize) -> std::ops::Range<usize> {
    let low = before.saturating_sub(start).min(kernel);
    let high = (size + before).saturating_sub(start).min(kernel);
    low..high.max(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, in double precision.
    fn plain(x: &Map, w: &[f32], outputs: usize, k: usize, s: usize, padding: Padding) -> Vec<f64> {
        let (height, top) = padding.place(x.height, k, s);
        let (width, left) = padding.place(x.width, k, s);
        let pixel = |y: isize, column: isize, c: usize| {
            let within =
                (0..x.height as isize).contains(&y) && (0..x.width as isize).contains(&column);
            let at = (y * x.width as isize + column) * x.channels as isize + c as isize;
            if within { f64::from(x.data[at as usize]) } else { 0.0 }
        };
        let mut out = vec![0.0; height * width * outputs];
        for (at, out) in out.iter_mut().enumerate() {
            let (p, o) = (at / outputs, at % outputs);
            for (dy, dx) in (0..k * k).map(|i| (i / k, i % k)) {
                let y = (p / width * s + dy) as isize - top as isize;
                let column = (p % width * s + dx) as isize - left as isize;
                for c in 0..x.channels {
                    let weight = w[((o * x.channels + c) * k + dy) * k + dx];
                    *out += f64::from(weight) * pixel(y, column, c);
                }
            }
        }
        out
    }

    proptest! {
        #[test]
        fn a_convolution_agrees_with_its_definition(
            height in 1usize..12, width in 1usize..12, channels in 1usize..6, outputs in 1usize..20,
            k in 1usize..6, s in 1usize..4, padding in 0usize..3,
        ) {
            let padding = [Padding::Valid, Padding::Symmetric, Padding::Same][padding];
            let data = (0..height * width * channels).map(|i| (i * i % 23) as f32 / 11.0 - 1.0).collect();
            let x = Map { height, width, channels, data };
            let w: Vec<f32> =
                (0..outputs * channels * k * k).map(|i| (i * 7 % 19) as f32 / 9.0 - 1.0).collect();
            let bias: Vec<f32> = (0..outputs).map(|o| o as f32 / 8.0).collect();
            let conv = Conv::new(&w, &bias, k, s, padding);
            let out = conv.forward(&x, None, Activation::Identity, &mut Arena::default());
            let exact = plain(&x, &w, outputs, k, s, padding);
            prop_assert_eq!(out.data.len(), exact.len());
            for (at, (y, exact)) in out.data.iter().zip(exact).enumerate() {
                let exact = exact + f64::from(bias[at % outputs]);
                prop_assert!((f64::from(*y) - exact).abs() < 1e-4, "{} {}", y, exact);
            }
        }
    }

    #[test]
    fn the_two_habits_of_padding_differ_where_they_should() {
        assert_eq!(Padding::Symmetric.place(224, 3, 2), (112, 1));
        assert_eq!(Padding::Same.place(224, 3, 2), (112, 0));
        assert_eq!(Padding::Symmetric.place(56, 5, 2), (28, 2));
        assert_eq!(Padding::Same.place(56, 5, 2), (28, 1));
        assert_eq!(Padding::Same.place(14, 5, 1), (14, 2));
        assert_eq!(Padding::Valid.place(224, 16, 16), (14, 0));
        assert_eq!(Padding::Valid.place(3, 16, 16), (0, 0));
    }
}
