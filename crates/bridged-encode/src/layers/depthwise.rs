//! A depthwise convolution: every channel has a window of its own, y[p, c] = f(Σ_d x[p + d, c] w[d, c] + b[c]).
//!
//! There are too few products a number for a matrix product; memory decides. Rows of the output go one after the other
//! over channels 16 at a time, with four neighbouring pixels in registers where no window leaves the picture and one
//! pixel elsewhere. Cost: pixels · k² · channels.

use super::conv::inside;
use super::simd::{Kernel, LANES, Lanes, dispatch};
use super::{Activation, Arena, Map, Padding};
use std::ops::Range;

/// Pixels in registers at a time.
const TILE: usize = 4;
/// Vectors of channels in registers at a time.
const WIDE: usize = 2;

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

    /// How many rows of the output can be made from so many rows of a picture.
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
            dispatch(Row { layer: self, x, taps, width: size.1, left, f, out });
        }
    }
}

/// One row of the output.
struct Row<'a> {
    layer: &'a Depthwise,
    x: &'a [f32],       // the rows of the picture that it reads, (taps, width, channels)
    taps: Range<usize>, // which rows of the window those are
    width: usize,
    left: usize,
    f: Activation,
    out: &'a mut [f32],
}

impl Kernel for Row<'_> {
    type Out = ();

    #[inline(always)]
    fn run<V: Lanes>(mut self) {
        let channels = self.layer.bias.len();
        let mut channel = 0;
        while channel + WIDE * LANES <= channels {
            self.columns::<V, WIDE>(channel);
            channel += WIDE * LANES;
        }
        while channel < channels {
            self.columns::<V, 1>(channel);
            channel += LANES;
        }
    }
}

impl Row<'_> {
    /// All pixels, for W vectors of channels.
    #[inline(always)]
    fn columns<V: Lanes, const W: usize>(&mut self, channel: usize) {
        let Depthwise { kernel, stride, .. } = *self.layer;
        let pixels = self.out.len() / self.layer.bias.len();
        // Pixels from `low` on see no column before the picture, those before `high` none behind it.
        let low = self.left.div_ceil(stride);
        let high = ((self.width + self.left + stride).saturating_sub(kernel) / stride).min(pixels);
        let mut pixel = 0;
        while pixel < pixels {
            let whole = pixel >= low
                && pixel + TILE <= high
                && channel + W * LANES <= self.layer.bias.len();
            pixel += match (whole, kernel) {
                (true, 3) => self.tile::<V, TILE, W>(pixel, channel, 0..3),
                (true, 5) => self.tile::<V, TILE, W>(pixel, channel, 0..5),
                (true, _) => self.tile::<V, TILE, W>(pixel, channel, 0..kernel),
                (false, _) => {
                    let columns = inside(pixel * stride, self.left, self.width, kernel);
                    self.tile::<V, 1, W>(pixel, channel, columns)
                }
            };
        }
    }

    /// T pixels × W vectors of channels, over the columns of the window that lie within the picture; returns T.
    #[inline(always)]
    fn tile<V: Lanes, const T: usize, const W: usize>(
        &mut self,
        pixel: usize,
        channel: usize,
        columns: Range<usize>,
    ) -> usize {
        let Depthwise { kernel, stride, .. } = *self.layer;
        let channels = self.layer.bias.len();
        let mut sums = [[V::splat(0.0); W]; T];
        for w in 0..W {
            let bias = self.channels::<V, W>(&self.layer.bias, 0, channel, w);
            for t in 0..T {
                sums[t][w] = bias;
            }
        }
        for (row, dy) in self.taps.clone().enumerate() {
            for dx in columns.clone() {
                let tap = (dy * kernel + dx) * channels;
                let start = (row * self.width + pixel * stride + dx - self.left) * channels;
                for w in 0..W {
                    let weight = self.channels::<V, W>(&self.layer.weight, tap, channel, w);
                    for t in 0..T {
                        let x = self.channels::<V, W>(
                            self.x,
                            start + t * stride * channels,
                            channel,
                            w,
                        );
                        sums[t][w] = x.mul_add(weight, sums[t][w]);
                    }
                }
            }
        }
        for t in 0..T {
            for w in 0..W {
                let first = channel + w * LANES;
                let at = (pixel + t) * channels + first;
                let end = at + LANES.min(channels - first);
                self.f.apply(sums[t][w]).store_part(&mut self.out[at..end]);
            }
        }
        T
    }

    /// Vector `w` of the channels from `channel` on, of the pixel or tap that begins at `at`.
    #[inline(always)]
    fn channels<V: Lanes, const W: usize>(
        &self,
        numbers: &[f32],
        at: usize,
        channel: usize,
        w: usize,
    ) -> V {
        let (channels, from) = (self.layer.bias.len(), at + channel + w * LANES);
        if channel + W * LANES <= channels {
            debug_assert!(from + LANES <= numbers.len(), "a pixel within the picture");
            // SAFETY: windows were cut to the picture, so a pixel with all its channels begins at `at`, and these
            // eight are among them.
            return unsafe { V::load(numbers.as_ptr().add(from)) };
        }
        V::load_part(&numbers[from..(at + channels).min(from + LANES)])
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
