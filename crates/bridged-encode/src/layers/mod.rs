//! What networks are made of: dense layers, convolutions, pooling, norms and attention, for inference on one thread.
//!
//! Callers decide what runs in parallel: one image per task. Every layer computes a row from that row alone and in an
//! order that follows from the shapes, so a result has the same bits whatever is beside it and on any number of
//! threads. Pictures are row-major (height, width, channel).

pub mod attention;
pub mod conv;
pub mod dense;
pub mod depthwise;
pub mod load;
pub mod norm;
pub mod pool;

pub use attention::attention;
pub use conv::{Conv, Padding};
pub use dense::{Activation, Dense};
pub use depthwise::Depthwise;
pub use norm::LayerNorm;

/// A picture between two layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Numbers per pixel.
    pub channels: usize,
    /// The numbers, (height, width, channels).
    pub data: Vec<f32>,
}

impl Map {
    /// How many pixels it has.
    pub fn pixels(&self) -> usize {
        self.height * self.width
    }
}

/// Buffers that are used again, so that a network allocates for its first image only.
#[derive(Debug, Default)]
pub struct Arena {
    free: Vec<Vec<f32>>,
}

impl Arena {
    /// A buffer of `len` numbers with any content.
    pub fn take(&mut self, len: usize) -> Vec<f32> {
        // The smallest that is large enough, or else the largest, which then grows.
        let fits = |v: &Vec<f32>| (v.capacity() < len, v.capacity().abs_diff(len));
        let best = (0..self.free.len()).min_by_key(|&i| fits(&self.free[i]));
        let mut buffer = best.map(|i| self.free.swap_remove(i)).unwrap_or_default();
        buffer.resize(len, 0.0);
        buffer
    }

    /// A picture with any content.
    pub fn map(&mut self, height: usize, width: usize, channels: usize) -> Map {
        Map { height, width, channels, data: self.take(height * width * channels) }
    }

    /// Gives a buffer back.
    pub fn give(&mut self, buffer: Vec<f32>) {
        self.free.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_hands_a_returned_buffer_out_again() {
        let mut arena = Arena::default();
        let (large, small) = (arena.take(1000), arena.take(10));
        let at = large.as_ptr();
        arena.give(small);
        arena.give(large);
        let again = arena.take(500);
        assert_eq!((again.as_ptr(), again.len()), (at, 500));
        assert!(arena.take(8).capacity() < 500, "a small need does not take a large buffer");
    }
}
