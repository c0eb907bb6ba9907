//! Which of many centres may be the nearest of a row, by products of whole numbers.
//!
//! With y = x − m for a fixed point m, c̃ = c − m, and both rounded to multiples of a step of their
//! own, y = ŷ + e and c̃ = ĉ + ε, the score s(c) = ½‖c̃‖² − y·c̃ orders the centres by their distance,
//! and the one that is computed, ŝ(c) = ½‖c̃‖² − ŷ·ĉ, is off by little:
//!
//! ```text
//! |(ŝ(c) − ŝ(a)) − (s(c) − s(a))| ≤ ‖e‖ ‖c − a‖ + ‖ŷ‖ (‖ε_c‖ + ‖ε_a‖)
//! ```
//!
//! With a the centre of the least ŝ, every centre whose ŝ is above ŝ(a) by more than this is further
//! than a. Bytes leave a handful of centres, words of 12 bits or more mostly one of them. Products of
//! whole numbers are exact, and those of bytes take less than half the time of single precision.
//!
//! By hand for AVX2: no library has products of bytes for machines without instructions made for
//! them.

mod registers;

use super::{LINE, Level, level};
use crate::cancel::carry;
use crate::distance::{squared_distance, squared_norm};
use crate::matrix::{Matrix, MatrixRef};
use rayon::prelude::*;
use registers::{dot, lanes, load, load_whole, store, sum};
use std::arch::x86_64::*;
use std::ops::RangeInclusive;

/// Numbers in a register of `f32` or `i32`.
const LANES: usize = 8;
/// Centres of a panel.
const WIDE: usize = 2 * LANES;
/// Bytes in a register: rows and centres are filled up with zeros to this many numbers.
const BYTES: usize = 32;
/// Words in a register.
const WORDS: usize = 16;
/// Neighbours whose products end in one lane.
const FOUR: usize = 4;
/// Rows that are looked at together: they stay in the second cache for all panels.
pub(crate) const ROWS: usize = 24;

/// The largest byte of a row. It is stored as 64 more, because one factor has no sign.
const BYTE_MOST: i32 = 63;
const OFFSET: i32 = 64;
/// A byte of a row is its word without this many bits.
const SHIFT: i32 = 6;
/// The largest word of a row.
const WORD_MOST: f32 = (BYTE_MOST << SHIFT) as f32;
/// The largest byte of a centre.
const CENTRE_MOST: f32 = 127.0;
/// The largest sum of four bytes of a centre whose products with a row are added in 16 bits, less
/// what rounding may add to it: (256 + 2) · 127 < 2¹⁵.
const GROUP_MOST: f32 = 256.0;

/// Fewer columns are not worth the search; with more, words of a centre would have too few bits.
const COLS: RangeInclusive<usize> = 64..=4096;
/// The distances between all centres are kept.
const CENTRES: RangeInclusive<usize> = 24..=1024;
/// With fewer rows for each centre, the distances between centres would take too much of the time.
const ROWS_A_CENTRE: usize = 32;
/// Squares of such centres neither underflow nor overflow.
const RADII: RangeInclusive<f32> = 1e-12..=1e15;
/// Lengths are computed in single precision; this is more than all their roundings.
const ROUNDING: f32 = 1.001;
/// Numbers that are smaller than this count as zero: one over their step would overflow.
const TINY: f32 = 1e-28;

/// Centres made ready to be searched.
#[derive(Clone, Debug)]
pub(crate) struct Coarse {
    shift: Vec<f32>,   // (cols), m
    bias: Vec<f32>,    // (padded), ½‖c̃‖², infinite for padding
    panels: Vec<i8>,   // panels of 16 centres, the last perhaps 8: (padded cols / 4, centres, 4)
    offsets: Vec<i32>, // (padded), what the offset of a row's bytes adds to a product, negative
    bytes: Steps,
    words: Vec<i16>, // (centres, padded cols)
    word: Steps,
    apart: Vec<f32>, // (centres, padded), distances between centres
    radius: f32,     // the longest c̃
    padded_cols: usize,
}

/// How centres are rounded.
#[derive(Clone, Debug)]
struct Steps {
    step: Vec<f32>,  // (padded)
    error: Vec<f32>, // (padded), ‖ε‖
}

/// How a row is rounded, to bytes or to words.
#[derive(Clone, Copy, Debug, Default)]
struct Rounded {
    step: f32,
    length: f32, // ‖ŷ‖
    error: f32,  // ‖e‖
}

/// Buffers for one tile after the other.
pub(crate) struct Scratch {
    bytes: Vec<u8>,             // (ROWS, padded cols)
    words: Vec<i16>,            // (ROWS, padded cols)
    rounded: Vec<[Rounded; 2]>, // (ROWS), to bytes and to words
    products: Vec<i32>,         // (ROWS, padded)
    scores: Vec<f32>,           // (padded)
    candidates: Vec<u32>,
}

impl Coarse {
    /// Makes the centres ready, if that pays for `rows` rows on this machine.
    pub fn new(centres: MatrixRef<'_>, rows: usize) -> Option<Self> {
        let (k, cols) = (centres.rows(), centres.cols());
        let usable = level() >= Level::Avx2;
        let pays = CENTRES.contains(&k) && COLS.contains(&cols) && rows >= ROWS_A_CENTRE * k;
        if !usable || !pays || centres.first_non_finite().is_some() {
            return None;
        }
        let shift: Vec<f32> = centres.mean_row().into_iter().map(|v| v as f32).collect();
        let mut shifted = centres.to_matrix();
        for j in 0..k {
            shifted.row_mut(j).iter_mut().zip(&shift).for_each(|(c, m)| *c -= m);
        }
        let (padded_cols, padded) = (cols.next_multiple_of(BYTES), k.next_multiple_of(LANES));
        let steps = || Steps { step: vec![0.0; padded], error: vec![0.0; padded] };
        let mut coarse = Self {
            shift,
            bias: vec![f32::INFINITY; padded],
            panels: vec![0; padded * padded_cols],
            offsets: vec![0; padded],
            bytes: steps(),
            words: vec![0; k * padded_cols],
            word: steps(),
            apart: vec![0.0; k * padded],
            radius: 0.0,
            padded_cols,
        };
        for j in 0..k {
            coarse.put(j, shifted.row(j));
        }
        coarse.measure_apart(&shifted);
        RADII.contains(&coarse.radius).then_some(coarse)
    }

    /// Rounds centre `j`.
    fn put(&mut self, j: usize, shifted: &[f32]) {
        let norm = squared_norm(shifted);
        self.bias[j] = (0.5 * norm) as f32;
        self.radius = self.radius.max(norm.sqrt() as f32 * ROUNDING);
        let most = shifted.iter().fold(0.0f32, |most, c| most.max(c.abs()));
        // A lane sums the products of every sixteenth pair of columns, in 32 bits.
        let word_most =
            (2f32.powi(31) / (WORD_MOST * self.padded_cols as f32 / 16.0)).floor() - 1.0;
        let words = &mut self.words[j * self.padded_cols..];
        self.word.set(j, shifted, most / word_most.min(f32::from(i16::MAX)), |p, whole| {
            words[p] = whole as i16;
        });
        let (from, lane) = (j / WIDE * WIDE, j % WIDE);
        let width = WIDE.min(self.bias.len() - from);
        let panel = &mut self.panels[from * self.padded_cols..];
        let step = (most / CENTRE_MOST).max(heaviest(shifted) / GROUP_MOST);
        let mut sum = 0;
        self.bytes.set(j, shifted, step, |p, whole| {
            panel[(p / FOUR * width + lane) * FOUR + p % FOUR] = whole as i8;
            sum += whole as i32;
        });
        self.offsets[j] = -OFFSET * sum;
    }

    fn measure_apart(&mut self, shifted: &Matrix) {
        let padded = self.bias.len();
        let measure = |(a, apart): (usize, &mut [f32])| {
            for (apart, other) in apart.iter_mut().zip(shifted.view().iter_rows()) {
                *apart = squared_distance(shifted.row(a), other).sqrt() as f32 * ROUNDING;
            }
        };
        self.apart.par_chunks_mut(padded).enumerate().for_each(carry(measure));
    }

    pub fn scratch(&self) -> Scratch {
        let padded = self.bias.len();
        Scratch {
            bytes: vec![0; ROWS * self.padded_cols],
            words: vec![0; ROWS * self.padded_cols],
            rounded: vec![Default::default(); ROWS],
            products: vec![0; ROWS * padded],
            scores: vec![0.0; padded],
            candidates: Vec::with_capacity(padded),
        }
    }

    /// Calls `f(row, the centres that may be nearest)` for up to [`ROWS`] rows, on the calling
    /// thread; there are no centres if the row's numbers do not allow a bound. Returns how many
    /// centres bytes left, all rows together. The rows of `next` are fetched meanwhile.
    pub fn search(
        &self,
        x: MatrixRef<'_>,
        next: MatrixRef<'_>,
        scratch: &mut Scratch,
        mut f: impl FnMut(usize, &[u32]),
    ) -> usize {
        assert!(x.rows() <= ROWS && x.cols() == self.shift.len(), "a tile of rows");
        let mut left = 0;
        // SAFETY: this is made only at a level that has AVX2 and FMA.
        unsafe {
            for (i, row) in x.iter_rows().enumerate() {
                self.round(i, row, scratch);
            }
            self.multiply(x.rows(), next.data(), scratch);
            for i in 0..x.rows() {
                self.select_by_bytes(i, scratch);
                left += scratch.candidates.len();
                if scratch.candidates.len() > 1 {
                    self.select_by_words(i, scratch);
                }
                f(i, &scratch.candidates);
            }
        }
        left
    }

    /// Rounds y = x − m to words, and these to bytes.
    #[target_feature(enable = "avx2,fma")]
    fn round(&self, i: usize, x: &[f32], scratch: &mut Scratch) {
        let range = i * self.padded_cols..(i + 1) * self.padded_cols;
        let (words, bytes) = (&mut scratch.words[range.clone()], &mut scratch.bytes[range]);
        let sign = _mm256_set1_ps(-0.0);
        let mut most = [_mm256_setzero_ps(); 4];
        self.for_each_part(x, |_, part| {
            for (most, y) in most.iter_mut().zip(part) {
                *most = _mm256_max_ps(_mm256_andnot_ps(sign, y), *most);
            }
        });
        let most = _mm256_max_ps(_mm256_max_ps(most[0], most[1]), _mm256_max_ps(most[2], most[3]));
        let most = lanes(most).into_iter().fold(0.0, f32::max);
        // All of a tiny row is error.
        let (step, inverse) =
            if most > TINY { (most / WORD_MOST, WORD_MOST / most) } else { (0.0, 0.0) };
        let inverse = _mm256_set1_ps(inverse);
        let half = _mm256_set1_epi16(1 << (SHIFT - 1));
        let offset = _mm256_set1_epi8(OFFSET as i8);
        let (mut kept, mut lost) = ([_mm256_setzero_si256(); 2], [_mm256_setzero_si256(); 2]);
        self.for_each_part(x, |at, part| {
            let numbers = part.map(|y| _mm256_cvtps_epi32(_mm256_mul_ps(y, inverse)));
            // Packing works on halves of registers, which the permutation sets right.
            let pack = |a, b| _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(a, b));
            let word = [pack(numbers[0], numbers[1]), pack(numbers[2], numbers[3])];
            let byte = word.map(|w| _mm256_srai_epi16::<SHIFT>(_mm256_add_epi16(w, half)));
            for q in 0..2 {
                let rest = _mm256_sub_epi16(word[q], _mm256_slli_epi16::<SHIFT>(byte[q]));
                lost[q] = _mm256_add_epi32(lost[q], _mm256_madd_epi16(rest, rest));
                kept[q] = _mm256_add_epi32(kept[q], _mm256_madd_epi16(byte[q], byte[q]));
            }
            let packed = _mm256_packs_epi16(byte[0], byte[1]);
            let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
            let (words, bytes) = (&mut words[at..at + BYTES], &mut bytes[at..at + BYTES]);
            // SAFETY: 32 words and as many bytes, as was just checked.
            unsafe {
                _mm256_storeu_si256(words.as_mut_ptr().cast(), word[0]);
                _mm256_storeu_si256(words.as_mut_ptr().add(WORDS).cast(), word[1]);
                _mm256_storeu_si256(bytes.as_mut_ptr().cast(), _mm256_add_epi8(packed, offset));
            }
        });
        let [kept, lost] = [kept, lost].map(|[a, b]| sum(_mm256_add_epi32(a, b)));
        // NaN becomes a byte that no number becomes.
        let regular = most.is_finite() && kept <= BYTE_MOST * BYTE_MOST * x.len() as i32;
        let [kept, lost] = [kept, lost].map(|squares| (squares as f32).sqrt() * ROUNDING);
        let byte_step = step * (1 << SHIFT) as f32;
        // A word is off by half a step, and a little for the roundings on the way there.
        let off = if most > TINY { 0.51 * step } else { TINY };
        let word_error = if regular { off * (x.len() as f32).sqrt() } else { f32::INFINITY };
        scratch.rounded[i] = [
            Rounded { step: byte_step, length: byte_step * kept, error: step * lost + word_error },
            Rounded { step, length: byte_step * kept + step * lost, error: word_error },
        ];
    }

    /// Calls `f(position, y)` for 32 numbers after the other, the last filled up with zeros.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn for_each_part(&self, x: &[f32], mut f: impl FnMut(usize, [__m256; 4])) {
        assert_eq!(x.len(), self.shift.len());
        let away = |x: &[f32; BYTES], m: &[f32; BYTES]| {
            std::array::from_fn(|q| _mm256_sub_ps(load(x, q * LANES), load(m, q * LANES)))
        };
        let (parts, rest) = x.as_chunks::<BYTES>();
        let (shifts, shift_rest) = self.shift.as_chunks::<BYTES>();
        for (at, (x, m)) in parts.iter().zip(shifts).enumerate() {
            f(at * BYTES, away(x, m));
        }
        if !rest.is_empty() {
            let (mut last, mut m) = ([0.0; BYTES], [0.0; BYTES]);
            last[..rest.len()].copy_from_slice(rest);
            m[..rest.len()].copy_from_slice(shift_rest);
            f(parts.len() * BYTES, away(&last, &m));
        }
    }

    /// The products of the bytes of the first `rows` rows with those of all centres.
    #[target_feature(enable = "avx2,fma")]
    fn multiply(&self, rows: usize, next: &[f32], scratch: &mut Scratch) {
        let (cols, padded) = (self.padded_cols, self.bias.len());
        // As many lines with each product, so that the memory is busy all the time.
        let products = padded.div_ceil(WIDE) * rows.div_ceil(3);
        let mut lines = next.chunks(LINE);
        let at_once = lines.len().div_ceil(products);
        for from in (0..padded).step_by(WIDE) {
            let (panel, offsets) = (&self.panels[from * cols..], &self.offsets[from..]);
            let mut row = 0;
            while row < rows {
                for line in lines.by_ref().take(at_once) {
                    _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast());
                }
                let bytes = &scratch.bytes[row * cols..rows * cols];
                let out = &mut scratch.products[row * padded + from..];
                row += match (padded - from >= WIDE, rows - row) {
                    (true, 3..) => self.products::<3, 2>(bytes, panel, offsets, out),
                    (true, _) => self.products::<1, 2>(bytes, panel, offsets, out),
                    (false, 6..) => self.products::<6, 1>(bytes, panel, offsets, out),
                    (false, _) => self.products::<1, 1>(bytes, panel, offsets, out),
                };
            }
        }
    }

    /// M rows times 8 N centres; returns M.
    #[target_feature(enable = "avx2,fma")]
    #[inline(never)]
    fn products<const M: usize, const N: usize>(
        &self,
        rows: &[u8],
        panel: &[i8],
        offsets: &[i32],
        out: &mut [i32],
    ) -> usize {
        let (cols, stride) = (self.padded_cols, self.bias.len());
        assert!(rows.len() >= M * cols && panel.len() >= N * LANES * cols);
        assert!(offsets.len() >= N * LANES && out.len() >= (M - 1) * stride + N * LANES);
        let ones = _mm256_set1_epi16(1);
        // SAFETY: the lengths were just checked; a panel has N registers for each four bytes.
        unsafe {
            let start: [__m256i; N] =
                std::array::from_fn(|n| _mm256_loadu_si256(offsets.as_ptr().add(n * LANES).cast()));
            let mut sums = [start; M];
            let (mut row, mut centre) = (rows.as_ptr(), panel.as_ptr());
            for _ in 0..cols / (2 * FOUR) {
                let centres: [[__m256i; 2]; N] = std::array::from_fn(|n| {
                    [0, N].map(|part| _mm256_loadu_si256(centre.add((part + n) * BYTES).cast()))
                });
                for m in 0..M {
                    let fours = [0, FOUR].map(|part| {
                        _mm256_set1_epi32(row.add(m * cols + part).cast::<i32>().read_unaligned())
                    });
                    for n in 0..N {
                        let pairs = _mm256_add_epi16(
                            _mm256_maddubs_epi16(fours[0], centres[n][0]),
                            _mm256_maddubs_epi16(fours[1], centres[n][1]),
                        );
                        sums[m][n] = _mm256_add_epi32(sums[m][n], _mm256_madd_epi16(pairs, ones));
                    }
                }
                (row, centre) = (row.add(2 * FOUR), centre.add(2 * N * BYTES));
            }
            for m in 0..M {
                for n in 0..N {
                    let to = out.as_mut_ptr().add(m * stride + n * LANES);
                    _mm256_storeu_si256(to.cast(), sums[m][n]);
                }
            }
        }
        M
    }

    /// The centres that may be nearest to row `i` for all that bytes can tell, in order.
    #[target_feature(enable = "avx2,fma")]
    fn select_by_bytes(&self, i: usize, scratch: &mut Scratch) {
        let padded = self.bias.len();
        let row = scratch.rounded[i][0];
        let products = &scratch.products[i * padded..(i + 1) * padded];
        let scores = &mut scratch.scores[..padded];
        let step = _mm256_set1_ps(row.step);
        let mut least = _mm256_set1_ps(f32::INFINITY);
        for at in (0..padded).step_by(LANES) {
            let score = _mm256_fnmadd_ps(
                _mm256_mul_ps(step, load(&self.bytes.step, at)),
                _mm256_cvtepi32_ps(load_whole(products, at)),
                load(&self.bias, at),
            );
            least = _mm256_min_ps(score, least);
            store(scores, at, score);
        }
        let least = lanes(least).into_iter().fold(f32::INFINITY, f32::min);
        let wide_least = _mm256_set1_ps(least);
        let position = |at: usize| {
            let is_least = _mm256_cmp_ps::<_CMP_EQ_OQ>(load(scores, at), wide_least);
            let mask = _mm256_movemask_ps(is_least);
            (mask != 0).then(|| at + mask.trailing_zeros() as usize)
        };
        let best = (0..padded).step_by(LANES).find_map(position).unwrap_or(0);
        scratch.candidates.clear();
        let Some(limit) = self.limit(&row, &self.bytes, best, least) else { return };
        let (limit, length) = (_mm256_set1_ps(limit), _mm256_set1_ps(row.length));
        let (error, apart) = (_mm256_set1_ps(row.error), &self.apart[best * padded..]);
        for from in (0..padded).step_by(64) {
            // All comparisons first: a jump for each would often be guessed wrong.
            let mut near = 0u64;
            for at in (from..padded.min(from + 64)).step_by(LANES) {
                let limit = _mm256_fmadd_ps(length, load(&self.bytes.error, at), limit);
                let limit = _mm256_fmadd_ps(error, load(apart, at), limit);
                let below = _mm256_cmp_ps::<_CMP_LE_OQ>(load(scores, at), limit);
                near |= (_mm256_movemask_ps(below) as u64) << (at - from);
            }
            while near != 0 {
                scratch.candidates.push(from as u32 + near.trailing_zeros());
                near &= near - 1;
            }
        }
    }

    /// Keeps the candidates that may be nearest to row `i` for all that words can tell.
    #[target_feature(enable = "avx2,fma")]
    fn select_by_words(&self, i: usize, scratch: &mut Scratch) {
        let (cols, padded) = (self.padded_cols, self.bias.len());
        let Scratch { words, rounded, scores, candidates, .. } = scratch;
        let (words, row) = (&words[i * cols..(i + 1) * cols], rounded[i][1]);
        let (mut best, mut least) = (0, f32::INFINITY);
        for &c in &*candidates {
            let j = c as usize;
            let product = dot(words, &self.words[j * cols..(j + 1) * cols]) as f32;
            scores[j] = self.bias[j] - row.step * self.word.step[j] * product;
            if scores[j] < least {
                (best, least) = (j, scores[j]);
            }
        }
        let Some(limit) = self.limit(&row, &self.word, best, least) else { return };
        let apart = &self.apart[best * padded..];
        candidates.retain(|&c| {
            let j = c as usize;
            scores[j] <= limit + row.length * self.word.error[j] + row.error * apart[j]
        });
    }

    /// Above this, a centre is further than `best`, of the score `least`, but for what is to be
    /// added for the centre itself. None if numbers are too large.
    fn limit(&self, row: &Rounded, steps: &Steps, best: usize, least: f32) -> Option<f32> {
        // More than the roundings of scores, of y and of c̃.
        let rounding = self.radius * (self.radius + row.length + row.error) * f32::powi(2.0, -20);
        let limit = least + rounding + row.length * steps.error[best];
        (limit + 2.0 * row.error * self.radius).is_finite().then_some(limit)
    }
}

impl Steps {
    /// Rounds the numbers of centre `j` to multiples of `step` and gives each to `put`.
    fn set(&mut self, j: usize, shifted: &[f32], step: f32, mut put: impl FnMut(usize, f32)) {
        let step = if step > TINY { step } else { 0.0 };
        let mut error = 0.0f64;
        for (p, &c) in shifted.iter().enumerate() {
            let whole = if step > 0.0 { (c / step).round() } else { 0.0 };
            error += (f64::from(c) - f64::from(whole) * f64::from(step)).powi(2);
            put(p, whole);
        }
        self.step[j] = step;
        self.error[j] = error.sqrt() as f32 * ROUNDING;
    }
}

/// The largest Σ |c| over numbers whose products are added in 16 bits: two neighbours, and the two
/// that are four further on.
fn heaviest(shifted: &[f32]) -> f32 {
    let at = |p: usize| shifted.get(p).map_or(0.0, |c| c.abs());
    let first = (0..shifted.len()).filter(|p| p % (2 * FOUR) < FOUR && p % 2 == 0);
    first.map(|p| at(p) + at(p + 1) + at(p + FOUR) + at(p + FOUR + 1)).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::nearest_exactly;
    use crate::seed::Seed;
    use rand::RngExt;

    fn random(rows: usize, cols: usize, seed: u64, number: impl Fn(f32) -> f32) -> Matrix {
        let mut rng = Seed(seed).rng();
        Matrix::from_fn(rows, cols, |_, _| number(rng.random::<f32>() - 0.5))
    }

    /// The candidates of every row, and how many bytes alone left.
    fn candidates(x: &Matrix, centres: &Matrix) -> Option<(Vec<Vec<u32>>, usize)> {
        let coarse = Coarse::new(centres.view(), usize::MAX)?;
        let mut scratch = coarse.scratch();
        let (mut all, mut left) = (Vec::new(), 0);
        for start in (0..x.rows()).step_by(ROWS) {
            let tile = x.view().slice(start..(start + ROWS).min(x.rows()));
            left += coarse.search(tile, tile, &mut scratch, |_, some| all.push(some.to_vec()));
        }
        Some((all, left))
    }

    #[test]
    fn the_nearest_is_always_a_candidate() {
        let cubed = |v: f32| 8.0 * v * v * v;
        let shapes = [(24, 64), (25, 65), (31, 95), (33, 96), (40, 127), (100, 300)];
        for (seed, (k, d)) in shapes.into_iter().enumerate() {
            for (offset, scale) in
                [(0.0, 1.0), (1e4, 1.0), (-3.0, 1e-11), (7.0, 1e12), (0.0, 1e-30)]
            {
                let number = |v: f32| scale * (offset + cubed(v));
                let centres = random(k, d, seed as u64, number);
                let x = random(101, d, 99 + seed as u64, number);
                let Some((all, _)) = candidates(&x, &centres) else { continue };
                for (i, some) in all.iter().enumerate() {
                    let nearest = nearest_exactly(x.row(i), centres.view(), 0..k as u32);
                    assert!(some.is_empty() || some.contains(&nearest), "{k} {d} {offset} {scale}");
                }
            }
        }
    }

    #[test]
    fn few_candidates_are_left() {
        let centres = random(100, 256, 1, |v| v);
        let x = random(500, 256, 2, |v| v);
        let Some((all, left)) = candidates(&x, &centres) else { return };
        assert!(left < 500 * 20, "{left} of 50000 are left by bytes");
        let alone = all.iter().filter(|some| some.len() == 1).count();
        assert!(alone > 450, "{alone} of 500 rows are decided by words");
    }

    #[test]
    fn numbers_that_allow_no_bound_leave_no_candidate() {
        let centres = random(30, 64, 1, |v| v);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = random(3, 64, 2, |v| v);
            x.row_mut(1)[17] = bad;
            let Some((all, _)) = candidates(&x, &centres) else { return };
            assert!(!all[0].is_empty() && all[1].is_empty() && !all[2].is_empty(), "{bad}");
        }
    }

    #[test]
    fn sums_of_bytes_do_not_overflow() {
        // The heaviest centre and row: all numbers as large as can be.
        let centres = Matrix::from_fn(24, 64, |j, p| if (j + p) % 24 < 12 { 1.0 } else { -1.0 });
        let x = Matrix::from_fn(48, 64, |i, p| if (i + p) % 24 < 12 { 1.0 } else { -1.0 });
        let Some((all, _)) = candidates(&x, &centres) else { return };
        for (i, some) in all.iter().enumerate() {
            assert_eq!(some, &[i as u32 % 24]);
        }
    }
}
