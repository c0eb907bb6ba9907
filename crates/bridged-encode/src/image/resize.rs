//! Pillow's resize of 8-bit pictures, to the bit.
//!
//! Each output number is a weighted mean of the inputs under a filter that is as wide as the pixels it stands for (so
//! shrinking does not alias), first along rows, rounded to bytes, then along columns. Weights are integers of 22 bits,
//! as in Pillow's `Resample.c`. Only the part of the output that is kept is computed.
//!
//! Cost: (input rows · kept columns + kept pixels) · taps.

use super::Picture;
use std::ops::Range;

/// What a new pixel sees of the old ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// A triangle over two pixels.
    Bilinear,
    /// Keys' cubic with a = −1/2, over four.
    Bicubic,
}

impl Filter {
    fn support(self) -> f64 {
        match self {
            Self::Bilinear => 1.0,
            Self::Bicubic => 2.0,
        }
    }

    fn at(self, x: f64) -> f64 {
        const A: f64 = -0.5;
        let x = x.abs();
        match self {
            Self::Bilinear => (1.0 - x).max(0.0),
            Self::Bicubic if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
            Self::Bicubic if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * A,
            Self::Bicubic => 0.0,
        }
    }
}

/// Bits of a weight behind its point.
const BITS: u32 = 32 - 8 - 2;

/// The inputs of one output and their weights.
struct Taps {
    first: usize,
    weights: Vec<i32>,
}

/// The taps of outputs `kept` of a line of `from` numbers that becomes one of `to`.
fn taps(from: usize, to: usize, kept: Range<usize>, filter: Filter) -> Vec<Taps> {
    if from == to {
        return kept.map(|i| Taps { first: i, weights: vec![1 << BITS] }).collect();
    }
    let scale = from as f64 / to as f64;
    let stretch = scale.max(1.0);
    let support = filter.support() * stretch;
    let one = |i: usize| {
        let centre = (i as f64 + 0.5) * scale;
        let first = (centre - support + 0.5).max(0.0) as usize;
        let last = ((centre + support + 0.5) as usize).min(from);
        let weight = |x: usize| filter.at((x as f64 - centre + 0.5) * (1.0 / stretch));
        let raw: Vec<f64> = (first..last).map(weight).collect();
        let total: f64 = raw.iter().sum();
        let fixed = |w: f64| {
            let w = w / total * f64::from(1 << BITS);
            (if w < 0.0 { w - 0.5 } else { w + 0.5 }) as i32
        };
        Taps { first, weights: raw.into_iter().map(fixed).collect() }
    };
    kept.map(one).collect()
}

fn byte(sum: i32) -> u8 {
    (sum >> BITS).clamp(0, 255) as u8
}

/// The window (`columns`, `rows`) of the picture resized to `width` × `height`.
///
/// # Panics
/// If a size is 0 or the window is not within the new picture.
pub fn resize(
    picture: &Picture,
    (width, height): (usize, usize),
    (columns, rows): (Range<usize>, Range<usize>),
    filter: Filter,
) -> Picture {
    assert!(columns.end <= width && rows.end <= height, "the window lies within the new picture");
    assert!(picture.width * picture.height * width * height > 0, "no picture is empty");
    let (across, down) = (columns.len(), rows.len());
    let horizontal = taps(picture.width, width, columns, filter);
    let vertical = taps(picture.height, height, rows, filter);
    let first = vertical.iter().map(|t| t.first).min().unwrap_or(0);
    let last = vertical.iter().map(|t| t.first + t.weights.len()).max().unwrap_or(0);

    let line = picture.width * 3;
    let mut narrow = vec![0u8; (last - first) * across * 3]; // rows first..last at their new width
    let old = picture.rgb[first * line..].chunks_exact(line);
    for (old, new) in old.zip(narrow.chunks_exact_mut((across * 3).max(1))) {
        for (taps, pixel) in horizontal.iter().zip(new.as_chunks_mut::<3>().0) {
            let mut sums = [1i32 << (BITS - 1); 3];
            let old = old[taps.first * 3..].as_chunks::<3>().0;
            for (w, old) in taps.weights.iter().zip(old) {
                sums.iter_mut().zip(old).for_each(|(s, &v)| *s += i32::from(v) * w);
            }
            *pixel = sums.map(byte);
        }
    }

    let mut rgb = Vec::with_capacity(down * across * 3);
    let mut sums = vec![0i32; across * 3];
    for taps in &vertical {
        sums.fill(1 << (BITS - 1));
        let lines = narrow[(taps.first - first) * across * 3..].chunks_exact((across * 3).max(1));
        for (w, line) in taps.weights.iter().zip(lines) {
            sums.iter_mut().zip(line).for_each(|(s, &v)| *s += i32::from(v) * w);
        }
        rgb.extend(sums.iter().map(|&s| byte(s)));
    }
    Picture { width: across, height: down, rgb }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: usize, height: usize) -> Picture {
        let rgb = (0..width * height * 3).map(|i| (i * i / 7 % 256) as u8).collect();
        Picture { width, height, rgb }
    }

    #[test]
    fn the_same_size_is_the_same_picture() {
        let p = picture(7, 5);
        assert_eq!(resize(&p, (7, 5), (0..7, 0..5), Filter::Bicubic), p);
    }

    #[test]
    fn a_flat_picture_stays_flat_at_any_size() {
        let flat = Picture { width: 9, height: 4, rgb: vec![201; 9 * 4 * 3] };
        for (size, filter) in [((3, 11), Filter::Bilinear), ((40, 1), Filter::Bicubic)] {
            let out = resize(&flat, size, (0..size.0, 0..size.1), filter);
            assert!(out.rgb.iter().all(|&v| v == 201), "{:?}", out.rgb);
        }
    }

    #[test]
    fn a_window_is_cut_from_the_whole() {
        let p = picture(31, 22);
        let whole = resize(&p, (17, 12), (0..17, 0..12), Filter::Bicubic);
        let part = resize(&p, (17, 12), (3..11, 5..12), Filter::Bicubic);
        for (y, line) in part.rgb.chunks(8 * 3).enumerate() {
            assert_eq!(line, &whole.rgb[((y + 5) * 17 + 3) * 3..][..8 * 3]);
        }
    }

    #[test]
    fn halving_bilinearly_weighs_four_pixels_a_side() {
        let p = Picture { width: 8, height: 1, rgb: (0..8).flat_map(|v| [v * 30; 3]).collect() };
        let out = resize(&p, (4, 1), (1..2, 0..1), Filter::Bilinear);
        assert_eq!(out.rgb[0], 75); // (30 + 3 · 60 + 3 · 90 + 120) / 8
    }
}
