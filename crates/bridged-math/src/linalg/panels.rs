//! Products of many rows with a few columns that are packed once: A·B, B (depth, cols).
//!
//! A general product packs both factors anew in every call, which the few columns do not pay back,
//! and rounds the columns up to whole tiles. Here B is cut into panels of 16 columns, each with its
//! numbers in the order in which they are used, and A is read where it lies. A tile of 6 × 16 sums
//! stays in registers, one column a lane. If the last panel has at most 8 columns, its tiles are
//! 8 × 8; if it has at most 4, they are 3 × 4 with eight running sums along the depth, which wastes
//! nothing. The order of a sum follows from its column alone: it has the same bits in any tile.
//!
//! By hand for AVX2 with FMA, because it measures faster than gemm and OpenBLAS (row `assign` of
//! docs/benchmarks.md). Other machines, those with AVX-512 included, use gemm.

use super::{Accum, View, product};
use crate::matrix::MatrixRef;

/// A factor B of products A·B, packed for many of them.
#[derive(Clone, Debug)]
pub struct Panels {
    depth: usize,
    cols: usize,
    packed: Packed,
}

#[derive(Clone, Debug)]
enum Packed {
    /// Bᵀ, row-major, for gemm.
    Rows(Vec<f32>),
    /// One panel after the other, (depth, 16), last (depth, 8) or (4, depth), filled up with zeros.
    #[cfg(target_arch = "x86_64")]
    Panels(Vec<f32>),
}

impl Panels {
    /// Packs B = `rows`ᵀ.
    pub fn of_rows(rows: MatrixRef<'_>) -> Self {
        let (depth, cols) = (rows.cols(), rows.rows());
        #[cfg(target_arch = "x86_64")]
        if fma::is_best() {
            return Self { depth, cols, packed: Packed::Panels(fma::pack(rows)) };
        }
        Self { depth, cols, packed: Packed::Rows(rows.data().to_vec()) }
    }

    /// `out = a · B + start`, row-major, on the calling thread; `start` is added to every row.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn product(&self, a: MatrixRef<'_>, start: &[f32], out: &mut [f32]) {
        assert_eq!(a.cols(), self.depth, "the inner sizes of a product agree");
        assert_eq!(start.len(), self.cols, "one start a column");
        assert_eq!(out.len(), a.rows() * self.cols, "the product is (rows of a) × (columns of b)");
        out.chunks_exact_mut(self.cols).for_each(|row| row.copy_from_slice(start));
        match &self.packed {
            Packed::Rows(rows) => {
                let b = View::new(rows, self.cols, self.depth).t();
                product(View::from(a), b, Accum::Add, out);
            }
            // SAFETY: panels are made only where AVX2 and FMA were found; the lengths were checked.
            #[cfg(target_arch = "x86_64")]
            Packed::Panels(panels) => unsafe { fma::add_product(a, panels, self.cols, out) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod fma {
    use crate::matrix::MatrixRef;
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    /// Numbers in a register.
    const LANES: usize = 8;
    /// Columns of a panel, except that the last may have fewer.
    const WIDE: usize = 2 * LANES;
    /// Columns of a last panel whose sums run along the depth.
    const THIN: usize = 4;
    /// Rows that are worked on at once: they stay in the second cache for all panels.
    const ROWS: usize = 60;
    /// Depth that is worked on at once: the panels of it stay in the second cache.
    const DEPTH: usize = 768;
    /// Numbers in a line of the cache.
    const LINE: usize = 16;

    /// Whether this is the fastest kernel that the machine can run.
    pub fn is_best() -> bool {
        let usable = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        usable && !is_x86_feature_detected!("avx512f")
    }

    /// How the panel that begins with column `from` is laid out.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Shape {
        Wide,
        Narrow,
        Thin,
    }

    impl Shape {
        fn of(from: usize, cols: usize) -> Self {
            if cols - from <= THIN {
                Shape::Thin
            } else if cols - from <= LANES {
                Shape::Narrow
            } else {
                Shape::Wide
            }
        }

        /// Columns with padding.
        fn width(self) -> usize {
            match self {
                Shape::Wide => WIDE,
                Shape::Narrow => LANES,
                Shape::Thin => THIN,
            }
        }
    }

    pub fn pack(rows: MatrixRef<'_>) -> Vec<f32> {
        let (depth, cols) = (rows.cols(), rows.rows());
        let mut panels = vec![0.0; depth * cols.next_multiple_of(WIDE)];
        for from in (0..cols).step_by(WIDE) {
            let shape = Shape::of(from, cols);
            let some: Vec<&[f32]> =
                (from..(from + shape.width()).min(cols)).map(|c| rows.row(c)).collect();
            let panel = &mut panels[depth * from..];
            match shape {
                Shape::Thin => {
                    some.iter().zip(panel.chunks_mut(depth.max(1))).for_each(|(row, p)| {
                        p.copy_from_slice(row);
                    })
                }
                _ => interleave(&some, panel, shape.width()),
            }
        }
        panels
    }

    /// Writes the rows as columns of a panel that has `width` of them.
    fn interleave(rows: &[&[f32]], panel: &mut [f32], width: usize) {
        // Some numbers of each row at a time: what is written then stays in the first cache.
        const SOME: usize = 128;
        let depth = rows[0].len();
        for from in (0..depth).step_by(SOME) {
            let to = (from + SOME).min(depth);
            for (c, row) in rows.iter().enumerate() {
                let numbers = panel[from * width..to * width].chunks_exact_mut(width);
                numbers.zip(&row[from..to]).for_each(|(p, &v)| p[c] = v);
            }
        }
    }

    /// `out += a · B` for B packed by [`pack`].
    #[target_feature(enable = "avx2,fma")]
    pub fn add_product(a: MatrixRef<'_>, panels: &[f32], cols: usize, out: &mut [f32]) {
        let depth = a.cols();
        let tiles = a.data().chunks(ROWS * depth.max(1)).zip(out.chunks_mut(ROWS * cols));
        for (a, out) in tiles {
            for start in (0..depth).step_by(DEPTH) {
                for from in (0..cols).step_by(WIDE) {
                    let shape = Shape::of(from, cols);
                    let tile = Tile {
                        depth: DEPTH.min(depth - start),
                        stride: depth,
                        width: shape.width().min(cols - from),
                        out_stride: cols,
                        fetch: from == 0,
                    };
                    let step = if shape == Shape::Thin { 1 } else { shape.width() };
                    let panel = &panels[depth * from + start * step..];
                    let mut row = 0;
                    while row * cols < out.len() {
                        let (a, out) = (&a[row * depth + start..], &mut out[row * cols + from..]);
                        let left = a.len().div_ceil(depth);
                        row += match shape {
                            Shape::Wide => tile.wide(left, a, panel, out),
                            Shape::Narrow => tile.narrow(left, a, panel, out),
                            Shape::Thin => tile.thin(left, a, panel, out),
                        };
                    }
                }
            }
        }
    }

    /// Some rows times a part of a panel.
    struct Tile {
        depth: usize,
        stride: usize,     // from row to row of a
        width: usize,      // columns that are not padding
        out_stride: usize, // from row to row of the output
        fetch: bool,       // the rows that follow are not in the cache yet
    }

    impl Tile {
        /// Up to six rows times 16 columns; returns how many rows.
        #[target_feature(enable = "avx2,fma")]
        #[inline]
        fn wide(&self, left: usize, a: &[f32], b: &[f32], out: &mut [f32]) -> usize {
            // As even as can be: fewer rows leave the multipliers waiting.
            match left.div_ceil(left.div_ceil(6)) {
                6 => self.sums::<6, 2>(a, b, out),
                5 => self.sums::<5, 2>(a, b, out),
                4 => self.sums::<4, 2>(a, b, out),
                3 => self.sums::<3, 2>(a, b, out),
                2 => self.sums::<2, 2>(a, b, out),
                _ => self.sums::<1, 2>(a, b, out),
            }
        }

        /// Up to eight rows times 8 columns; returns how many rows.
        #[target_feature(enable = "avx2,fma")]
        #[inline]
        fn narrow(&self, left: usize, a: &[f32], b: &[f32], out: &mut [f32]) -> usize {
            match left {
                8.. => self.sums::<8, 1>(a, b, out),
                4..=7 => self.sums::<4, 1>(a, b, out),
                2..=3 => self.sums::<2, 1>(a, b, out),
                _ => self.sums::<1, 1>(a, b, out),
            }
        }

        /// Up to three rows times 4 columns; returns how many rows.
        #[target_feature(enable = "avx2,fma")]
        #[inline]
        fn thin(&self, left: usize, a: &[f32], b: &[f32], out: &mut [f32]) -> usize {
            match left {
                3.. => self.dots::<3>(a, b, out),
                _ => self.dots::<1>(a, b, out),
            }
        }

        /// M rows times four columns that lie one after the other, in eight sums each.
        #[target_feature(enable = "avx2,fma")]
        #[inline(never)]
        fn dots<const M: usize>(&self, a: &[f32], b: &[f32], out: &mut [f32]) -> usize {
            let (depth, stride) = (self.depth, self.stride);
            assert!(a.len() >= (M - 1) * stride + depth);
            assert!(b.len() >= (THIN - 1) * stride + depth);
            let mut sums = [[_mm256_setzero_ps(); THIN]; M];
            let whole = depth / LANES * LANES;
            let (mut x, mut c) = (a.as_ptr(), b.as_ptr());
            for _ in 0..depth / LANES {
                // SAFETY: the lengths of both were just checked.
                unsafe {
                    let rows: [__m256; M] =
                        std::array::from_fn(|m| _mm256_loadu_ps(x.add(m * stride)));
                    for w in 0..THIN {
                        let column = _mm256_loadu_ps(c.add(w * stride));
                        for m in 0..M {
                            sums[m][w] = _mm256_fmadd_ps(rows[m], column, sums[m][w]);
                        }
                    }
                    (x, c) = (x.add(LANES), c.add(LANES));
                }
            }
            for m in 0..M {
                let [s, t, u, v] = sums[m];
                let four = _mm256_hadd_ps(_mm256_hadd_ps(s, t), _mm256_hadd_ps(u, v));
                let high = _mm256_extractf128_ps::<1>(four);
                let mut dots = [0.0f32; THIN];
                // SAFETY: four numbers into an array of four.
                unsafe {
                    let four = _mm_add_ps(_mm256_castps256_ps128(four), high);
                    _mm_storeu_ps(dots.as_mut_ptr(), four);
                }
                let out = &mut out[m * self.out_stride..][..self.width];
                for (w, (o, dot)) in out.iter_mut().zip(dots).enumerate() {
                    let row = &a[m * stride + whole..m * stride + depth];
                    let column = &b[w * stride + whole..w * stride + depth];
                    let rest: f32 = row.iter().zip(column).map(|(x, c)| x * c).sum();
                    *o += dot + rest;
                }
            }
            M
        }

        /// M rows times V registers of columns. Not inlined: each keeps its addresses in registers.
        #[target_feature(enable = "avx2,fma")]
        #[inline(never)]
        fn sums<const M: usize, const V: usize>(
            &self,
            a: &[f32],
            b: &[f32],
            out: &mut [f32],
        ) -> usize {
            assert!(a.len() >= (M - 1) * self.stride + self.depth);
            assert!(b.len() >= self.depth * V * LANES);
            assert!(out.len() >= (M - 1) * self.out_stride + self.width);
            let whole = self.width == V * LANES;
            let mut sums = [[_mm256_setzero_ps(); V]; M];
            // SAFETY: the three lengths were just checked.
            unsafe {
                for m in 0..M {
                    let from = out.as_ptr().add(m * self.out_stride);
                    sums[m] = if whole { load(from) } else { self.load_part(from) };
                }
                let (mut a, mut b) = (a.as_ptr(), b.as_ptr());
                for from in (0..self.depth).step_by(LINE) {
                    if self.fetch {
                        for m in M..2 * M {
                            // No harm is done behind the last row: nothing is read.
                            let next = a.wrapping_add(m * self.stride);
                            _mm_prefetch::<_MM_HINT_T0>(next.cast());
                        }
                    }
                    for _ in from..self.depth.min(from + LINE) {
                        let columns: [__m256; V] = load(b);
                        for m in 0..M {
                            let v = _mm256_broadcast_ss(&*a.add(m * self.stride));
                            for w in 0..V {
                                sums[m][w] = _mm256_fmadd_ps(v, columns[w], sums[m][w]);
                            }
                        }
                        (a, b) = (a.add(1), b.add(V * LANES));
                    }
                }
                for m in 0..M {
                    let to = out.as_mut_ptr().add(m * self.out_stride);
                    if whole { store(to, sums[m]) } else { self.store_part(to, sums[m]) }
                }
            }
            M
        }

        /// The columns that are not padding, and zeros.
        #[target_feature(enable = "avx2,fma")]
        #[inline]
        unsafe fn load_part<const V: usize>(&self, from: *const f32) -> [__m256; V] {
            let mut numbers = [0.0f32; WIDE];
            // SAFETY: `width` numbers can be read there.
            unsafe {
                std::ptr::copy_nonoverlapping(from, numbers.as_mut_ptr(), self.width);
                load(numbers.as_ptr())
            }
        }

        #[target_feature(enable = "avx2,fma")]
        #[inline]
        unsafe fn store_part<const V: usize>(&self, to: *mut f32, sums: [__m256; V]) {
            let mut numbers = [0.0f32; WIDE];
            // SAFETY: `width` numbers can be written there.
            unsafe {
                store(numbers.as_mut_ptr(), sums);
                std::ptr::copy_nonoverlapping(numbers.as_ptr(), to, self.width);
            }
        }
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    unsafe fn load<const V: usize>(from: *const f32) -> [__m256; V] {
        // SAFETY: the caller has V registers of numbers there.
        std::array::from_fn(|w| unsafe { _mm256_loadu_ps(from.add(w * LANES)) })
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    unsafe fn store<const V: usize>(to: *mut f32, sums: [__m256; V]) {
        for w in 0..V {
            // SAFETY: the caller has room for V registers of numbers there.
            unsafe { _mm256_storeu_ps(to.add(w * LANES), sums[w]) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::seed::Seed;
    use proptest::prelude::*;
    use rand::RngExt;

    proptest! {
        #[test]
        fn a_product_by_panels_agrees_with_plain_loops(
            m in 0usize..40, depth in 0usize..600, cols in 1usize..60, seed in 0u64..1000,
        ) {
            let mut rng = Seed(seed).rng();
            let a = Matrix::from_fn(m, depth, |_, _| rng.random::<f32>() - 0.5);
            let b = Matrix::from_fn(cols, depth, |_, _| rng.random::<f32>() - 0.5);
            let start: Vec<f32> = (0..cols).map(|_| rng.random()).collect();
            // What this machine takes, and what it would take without AVX2.
            let plain = Panels { depth, cols, packed: Packed::Rows(b.data().to_vec()) };
            let [mut out, mut other] = [vec![f32::NAN; m * cols], vec![f32::NAN; m * cols]];
            Panels::of_rows(b.view()).product(a.view(), &start, &mut out);
            plain.product(a.view(), &start, &mut other);
            for (at, &v) in out.iter().enumerate() {
                prop_assert!((v - other[at]).abs() < 1e-4, "{v} {}", other[at]);
                let terms = a.row(at / cols).iter().zip(b.row(at % cols));
                let exact: f64 = terms.map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
                let exact = exact + f64::from(start[at % cols]);
                prop_assert!((f64::from(v) - exact).abs() < 1e-4, "{v} {exact}");
            }
        }
    }
}
