//! A depthwise convolution: every channel has a window of its own, `y[p, c] = f(Σ_d x[p + d, c] w[d, c] + b[c])`.
//!
//! There are too few products per number for a matrix product. Rows of the output go one after the other over eight
//! channels at a time, with the sums of eight neighbouring pixels in registers. Cost: pixels · k² · channels.

use super::conv::inside;
use super::{Activation, Arena, Map, Padding};
use bridged_math::simd::{Kernel, LANES, Lanes, dispatch};
use std::ops::Range;

/// Pixels in registers at a time.
const TILE: usize = 8;

/// A depthwise convolution with its bias.
#[derive(Clone, Debug)]
pub struct Depthwise {
    kernel: usize,
    stride: usize,
    padding: Padding,
    weight: Vec<f32>, // (kernel · kernel, channels)
    bias: Vec<f32>,
}

impl Depthwise {
    /// From `weight` (channels, 1, kernel, kernel), as PyTorch keeps it, and `bias` (channels).
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
        let (channels, window) = (bias.len(), kernel * kernel);
        assert_eq!(weight.len(), channels * window, "a window for every channel");
        let by_tap = (0..weight.len()).map(|at| weight[at % channels * window + at / channels]);
        Self { kernel, stride, padding, weight: by_tap.collect(), bias: bias.to_vec() }
    }

    /// Rows and columns that come out of a picture.
    pub fn size(&self, height: usize, width: usize) -> (usize, usize) {
        let out = |size| self.padding.place(size, self.kernel, self.stride).0;
        (out(height), out(width))
    }

    /// The rows of a picture of that height that output row `y` reads.
    pub fn reads(&self, y: usize, height: usize) -> Range<usize> {
        let top = self.padding.place(height, self.kernel, self.stride).1;
        let taps = inside(y * self.stride, top, height, self.kernel);
        let row = |tap: usize| (y * self.stride + tap).saturating_sub(top);
        row(taps.start)..row(taps.end)
    }

    /// How many rows of the output can be made from this many rows of a picture.
    pub fn rows_from(&self, rows: usize) -> usize {
        Padding::Valid.place(rows, self.kernel, self.stride).0
    }

    /// f(x ∗ w + b).
    pub fn forward(&self, x: &Map, f: Activation, arena: &mut Arena) -> Map {
        let (rows, width) = self.size(x.height, x.width);
        let mut out = arena.map(rows, width, x.channels);
        self.strip(&x.data, 0, (x.height, x.width), 0..rows, f, &mut out.data);
        out
    }

    /// Some rows of the output, of a picture (height, width) of which `x` holds the rows from `first` on.
    pub fn strip(
        &self,
        x: &[f32],
        first: usize,
        size: (usize, usize),
        rows: Range<usize>,
        f: Activation,
        out: &mut [f32],
    ) {
        let channels = self.bias.len();
        let (width, left) = self.padding.place(size.1, self.kernel, self.stride);
        assert_eq!(out.len(), rows.len() * width * channels, "whole rows come out");
        let top = self.padding.place(size.0, self.kernel, self.stride).1;
        for (y, out) in rows.zip(out.chunks_exact_mut((width * channels).max(1))) {
            let taps = inside(y * self.stride, top, size.0, self.kernel);
            let start = self.reads(y, size.0).start;
            assert!(start >= first, "the strip holds the rows that its output reads");
            let x = &x[(start - first) * size.1 * channels..][..taps.len() * size.1 * channels];
            let row = OutputRow { layer: self, x, taps, width: size.1, left, f, out };
            match (self.kernel, self.stride) {
                (3, 1) => dispatch(Fixed::<3, 1>(row)),
                (3, 2) => dispatch(Fixed::<3, 2>(row)),
                (5, 1) => dispatch(Fixed::<5, 1>(row)),
                (5, 2) => dispatch(Fixed::<5, 2>(row)),
                _ => dispatch(Any(row)),
            }
        }
    }
}

/// One row of the output.
struct OutputRow<'a> {
    layer: &'a Depthwise,
    x: &'a [f32],       // the rows of the picture that it reads, (taps, width, channels)
    taps: Range<usize>, // which rows of the window those are
    width: usize,
    left: usize,
    f: Activation,
    out: &'a mut [f32],
}

/// A row for any window.
struct Any<'a>(OutputRow<'a>);

impl Kernel for Any<'_> {
    type Out = ();

    #[inline(always)]
    fn run<V: Lanes>(mut self) {
        for channel in (0..self.0.layer.bias.len()).step_by(LANES) {
            self.0.any::<V>(channel);
        }
    }
}

/// A row for windows of K columns, S apart.
struct Fixed<'a, const K: usize, const S: usize>(OutputRow<'a>);

impl<const K: usize, const S: usize> Kernel for Fixed<'_, K, S> {
    type Out = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let mut row = self.0;
        let channels = row.layer.bias.len();
        let pixels = row.out.len() / channels;
        for channel in (0..channels).step_by(LANES) {
            if channel + LANES > channels {
                row.any::<V>(channel);
                continue;
            }
            for pixel in (0..pixels).step_by(TILE) {
                // The last tile overlaps the one before it instead of leaving the row.
                row.tile::<V, K, S>(pixel.min(pixels.saturating_sub(TILE)), channel);
            }
        }
    }
}

impl OutputRow<'_> {
    /// Eight pixels, or as many as the row has, and eight channels.
    #[inline(always)]
    fn tile<V: Lanes, const K: usize, const S: usize>(&mut self, pixel: usize, channel: usize) {
        let (channels, width) = (self.layer.bias.len(), self.width);
        let mut sums = [V::load_part(&self.layer.bias[channel..]); TILE];
        for (row, dy) in self.taps.clone().enumerate() {
            let line = &self.x[row * width * channels..(row + 1) * width * channels];
            let taps = &self.layer.weight[dy * K * channels..(dy + 1) * K * channels];
            for dx in 0..K {
                let weight = V::load_part(&taps[dx * channels + channel..]);
                // The column that the first pixel sees, which may lie before the picture.
                let column = (pixel * S + dx).wrapping_sub(self.left);
                if column < width && column + (TILE - 1) * S < width {
                    let x: [V; TILE] =
                        V::load_strided(&line[column * channels + channel..], S * channels);
                    for t in 0..TILE {
                        sums[t] = x[t].mul_add(weight, sums[t]);
                    }
                } else {
                    for t in 0..TILE {
                        let column = column.wrapping_add(t * S);
                        if column < width {
                            let x = V::load_part(&line[column * channels + channel..]);
                            sums[t] = x.mul_add(weight, sums[t]);
                        }
                    }
                }
            }
        }
        let pixels = self.out.len() / channels;
        for t in 0..TILE {
            if pixel + t < pixels {
                let at = (pixel + t) * channels + channel;
                self.f.apply(sums[t]).store_part(&mut self.out[at..at + LANES]);
            }
        }
    }

    /// All pixels, for up to eight channels and any window.
    #[inline(always)]
    fn any<V: Lanes>(&mut self, channel: usize) {
        let Depthwise { kernel, stride, .. } = *self.layer;
        let channels = self.layer.bias.len();
        let part = channel..(channel + LANES).min(channels);
        for (pixel, out) in self.out.chunks_exact_mut(channels).enumerate() {
            let mut sum = V::load_part(&self.layer.bias[part.clone()]);
            for (row, dy) in self.taps.clone().enumerate() {
                for dx in inside(pixel * stride, self.left, self.width, kernel) {
                    let tap = &self.layer.weight[(dy * kernel + dx) * channels..][part.clone()];
                    let at = row * self.width + pixel * stride + dx - self.left;
                    let x = &self.x[at * channels..][part.clone()];
                    sum = V::load_part(x).mul_add(V::load_part(tap), sum);
                }
            }
            self.f.apply(sum).store_part(&mut out[part.clone()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::Conv;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_depthwise_convolution_is_a_convolution_with_a_diagonal(
            height in 1usize..14, width in 1usize..14, channels in 1usize..36,
            k in 1usize..6, s in 1usize..3, same in any::<bool>(),
        ) {
            let padding = if same { Padding::Same } else { Padding::Symmetric };
            let data = (0..height * width * channels).map(|i| (i * i % 23) as f32 / 11.0 - 1.0).collect();
            let x = Map { height, width, channels, data };
            let w: Vec<f32> = (0..channels * k * k).map(|i| (i * 7 % 19) as f32 / 9.0 - 1.0).collect();
            let bias: Vec<f32> = (0..channels).map(|c| c as f32 / 8.0).collect();
            let mut full = vec![0.0; channels * channels * k * k];
            for (at, &v) in w.iter().enumerate() {
                let (c, tap) = (at / (k * k), at % (k * k));
                full[(c * channels + c) * k * k + tap] = v;
            }
            let arena = &mut Arena::default();
            let layer = Depthwise::new(&w, &bias, k, s, padding);
            let out = layer.forward(&x, Activation::Relu, arena);
            let expected = Conv::new(&full, &bias, k, s, padding).forward(&x, None, Activation::Relu, arena);
            prop_assert_eq!((out.height, out.width), (expected.height, expected.width));
            for (a, b) in out.data.iter().zip(&expected.data) {
                prop_assert!((a - b).abs() < 2e-5, "{} {}", a, b);
            }
            // Any strip of rows gives the same bits from the rows that it says it reads.
            prop_assume!(out.height > 0);
            let half = out.height / 2..out.height;
            let from = layer.reads(half.start, height).start..layer.reads(half.end - 1, height).end;
            let line = width * channels;
            let mut strip = vec![0.0; half.len() * out.width * channels];
            layer.strip(
                &x.data[from.start * line..from.end * line],
                from.start, (height, width), half.clone(), Activation::Relu, &mut strip,
            );
            prop_assert_eq!(&strip[..], &out.data[half.start * out.width * channels..]);
        }
    }
}
