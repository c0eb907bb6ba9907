//! Pooling: the mean of all pixels, the largest of a window, and gates made from the mean.

use super::conv::inside;
use super::{Activation, Arena, Dense, Map, Padding};

/// The mean of every channel, (channels). Rows are summed first, so that rounding grows with their number only.
pub fn mean(x: &Map) -> Vec<f32> {
    let mut total = vec![0.0f32; x.channels];
    let mut line = vec![0.0f32; x.channels];
    for row in x.data.chunks_exact((x.width * x.channels).max(1)) {
        line.fill(0.0);
        for pixel in row.chunks_exact(x.channels) {
            line.iter_mut().zip(pixel).for_each(|(sum, v)| *sum += v);
        }
        total.iter_mut().zip(&line).for_each(|(sum, v)| *sum += v);
    }
    let pixels = x.pixels().max(1) as f32;
    total.iter_mut().for_each(|sum| *sum /= pixels);
    total
}

/// The largest number of every channel in windows of `kernel` pixels, `stride` apart, with symmetric padding.
pub fn max(x: &Map, kernel: usize, stride: usize, arena: &mut Arena) -> Map {
    let (height, top) = Padding::Symmetric.place(x.height, kernel, stride);
    let (width, left) = Padding::Symmetric.place(x.width, kernel, stride);
    let c = x.channels;
    let mut out = arena.map(height, width, c);
    for (pixel, out) in out.data.chunks_exact_mut(c.max(1)).enumerate() {
        let (y, column) = (pixel / width * stride, pixel % width * stride);
        out.fill(f32::NEG_INFINITY);
        for dy in inside(y, top, x.height, kernel) {
            for dx in inside(column, left, x.width, kernel) {
                let from = ((y + dy - top) * x.width + column + dx - left) * c;
                out.iter_mut().zip(&x.data[from..from + c]).for_each(|(m, &v)| *m = v.max(*m));
            }
        }
    }
    out
}

/// Squeeze and excitation: channels scaled by σ(W₂ f(W₁ mean + b₁) + b₂). Hu, Shen, Sun (2018).
#[derive(Clone, Debug)]
pub struct Squeeze {
    /// W₁, b₁.
    pub reduce: Dense,
    /// W₂, b₂.
    pub expand: Dense,
}

impl Squeeze {
    /// Scales a picture in place.
    pub fn scale(&self, x: &mut Map, f: Activation) {
        let mut hidden = vec![0.0; self.reduce.outputs()];
        let mut gates = vec![0.0; self.expand.outputs()];
        self.reduce.forward(&mean(x), None, f, &mut hidden);
        self.expand.forward(&hidden, None, Activation::Sigmoid, &mut gates);
        for pixel in x.data.chunks_exact_mut(x.channels.max(1)) {
            pixel.iter_mut().zip(&gates).for_each(|(v, gate)| *v *= gate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Map {
        let data = (0..5 * 4 * 2).map(|i| ((i * 7) % 11) as f32 - 5.0).collect();
        Map { height: 5, width: 4, channels: 2, data }
    }

    #[test]
    fn the_mean_is_that_of_each_channel() {
        let x = picture();
        let exact = |c| x.data.iter().skip(c).step_by(2).sum::<f32>() / 20.0;
        assert_eq!(mean(&x), [exact(0), exact(1)]);
    }

    #[test]
    fn the_largest_of_a_window_looks_only_at_the_picture() {
        let x = picture();
        let out = max(&x, 3, 2, &mut Arena::default());
        assert_eq!((out.height, out.width), (3, 2));
        for (at, &m) in out.data.iter().enumerate() {
            let (y, column, c) = ((at / 4 * 2) as isize, (at / 2 % 2 * 2) as isize, at % 2);
            let seen =
                (0..20isize).filter(|p| (p / 4 - y).abs() <= 1 && (p % 4 - column).abs() <= 1);
            let exact = seen.map(|p| x.data[p as usize * 2 + c]).fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(m, exact, "{at}");
        }
    }

    #[test]
    fn a_squeeze_without_weights_halves_every_channel() {
        let squeeze = Squeeze {
            reduce: Dense::new(&[0.0; 2], &[0.0], 2),
            expand: Dense::new(&[0.0; 2], &[0.0; 2], 1),
        };
        let (before, mut x) = (picture(), picture());
        squeeze.scale(&mut x, Activation::Silu);
        assert!(x.data.iter().zip(&before.data).all(|(a, b)| *a == b / 2.0));
    }
}
