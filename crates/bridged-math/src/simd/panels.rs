//! Products of many rows with a few columns that are packed once: A·B, B (depth, cols).
//!
//! A general product packs both factors anew in every call, which few columns do not pay back, and
//! rounds the columns up to whole tiles. Here B is cut into panels of 16 columns, each with its
//! numbers in the order in which they are used, and A is read where it lies. A tile of sums stays in
//! registers, one column per lane:
//!
//! | level | wide panel, 16 columns | narrow last panel, 5 to 8 columns |
//! |---|---|---|
//! | AVX-512 | 12 rows × 32 (two panels) or 12 × 16 | 8 × 8 |
//! | AVX2 | 6 × 16 | 8 × 8 |
//! | plain | 3 × 16 (6 × 16 on AArch64) | 4 × 8 |
//!
//! A last panel of up to 4 columns is [`Thin`](Tail::Thin) where that is wanted: 3 rows × 4 columns
//! with eight running sums along the depth, which wastes no lane.
//!
//! The order of a sum follows from its column alone, so it has the same bytes in any tile and for
//! any number of rows: one chain of multiply-adds from zero along the depth, to which `start` is
//! added at the end. AVX2 and AVX-512 give the same bytes; plain multiplies and adds with two
//! roundings.
//!
//! Goto & van de Geijn 2008 (anatomy of high-performance matrix multiplication).

use super::lanes::{LANES, Lanes, Portable};
use super::{Kernel, LINE, Level, level, run_at};
use crate::matrix::MatrixRef;

/// Columns of a panel, except that the last may have fewer.
const WIDE: usize = 2 * LANES;
/// Columns of a last panel whose sums run along the depth.
const THIN: usize = 4;
/// Depth that is worked on at once: the panels of it stay in the second cache.
const DEPTH: usize = 768;
/// Numbers of A that are worked on at once: they stay in the second cache for all panels.
const BLOCK: usize = 60 * DEPTH;
/// Rows that are worked on at once, at least: whole tiles of every level.
const ROWS: usize = 60;

/// How a last panel of up to four columns is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// In eight running sums: twice as fast, in another order than the other columns.
    Thin,
    /// As the other columns, in the order of the depth.
    InOrder,
}

/// A factor B of products A·B, packed for many of them.
#[derive(Clone, Debug)]
pub struct Panels {
    depth: usize,
    cols: usize,
    tail: Tail,
    /// One panel after the other, (depth, 16), last perhaps (depth, 8) or (4, depth), filled up
    /// with zeros.
    numbers: Vec<f32>,
}

/// What becomes of sums while they are in the cache.
pub trait Epilogue {
    /// Works on `sums`, which lie at `position` of the row-major output, at most 32 of one row.
    /// Mark it `#[inline(always)]`.
    fn finish<V: Lanes>(&self, position: usize, sums: &mut [f32]);

    /// Whether there is nothing to do.
    fn is_nothing(&self) -> bool {
        false
    }
}

/// Leaves the sums as they are.
struct Nothing;

impl Epilogue for Nothing {
    #[inline(always)]
    fn finish<V: Lanes>(&self, _: usize, _: &mut [f32]) {}

    fn is_nothing(&self) -> bool {
        true
    }
}

impl Panels {
    /// Packs B = `rows`ᵀ.
    pub fn of_rows(rows: MatrixRef<'_>, tail: Tail) -> Self {
        let (depth, cols) = (rows.cols(), rows.rows());
        let mut numbers = vec![0.0; depth * cols.next_multiple_of(WIDE)];
        for from in (0..cols).step_by(WIDE) {
            let shape = Shape::of(from, cols, tail);
            let some: Vec<&[f32]> =
                (from..(from + shape.width()).min(cols)).map(|c| rows.row(c)).collect();
            let panel = &mut numbers[depth * from..];
            match shape {
                Shape::Thin => {
                    some.iter().zip(panel.chunks_mut(depth.max(1))).for_each(|(row, p)| {
                        p.copy_from_slice(row);
                    })
                }
                _ => interleave(&some, panel, shape.width()),
            }
        }
        Self { depth, cols, tail, numbers }
    }

    /// Rows of B: numbers in a row of A.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Columns of B: numbers in a row of the product.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// `out = a · B + start`, row-major, on the calling thread; `start` is added to every row.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn product(&self, a: MatrixRef<'_>, start: &[f32], out: &mut [f32]) {
        assert_eq!(a.cols(), self.depth, "the inner sizes of a product agree");
        self.product_then(a.data(), start, &Nothing, out);
    }

    /// Like [`product`](Panels::product) for the row-major numbers of A, with something to be done
    /// with the sums while they are in the cache.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn product_then(&self, a: &[f32], start: &[f32], then: &impl Epilogue, out: &mut [f32]) {
        // SAFETY: the level of the process is available.
        unsafe { self.product_at(level(), a, start, then, out) }
    }

    /// # Safety
    /// The processor must have the level.
    unsafe fn product_at(
        &self,
        level: Level,
        a: &[f32],
        start: &[f32],
        then: &impl Epilogue,
        out: &mut [f32],
    ) {
        let (depth, cols) = (self.depth, self.cols);
        let rows = out.len() / cols.max(1);
        assert_eq!(start.len(), cols, "one start per column");
        assert_eq!(out.len(), rows * cols, "the product has whole rows");
        assert_eq!(a.len(), rows * depth, "one row of a for each row of the product");
        if depth == 0 {
            out.chunks_exact_mut(cols.max(1)).for_each(|row| row.copy_from_slice(start));
        }
        let block = (BLOCK / depth.max(1) / ROWS * ROWS).max(ROWS);
        for first in (0..rows).step_by(block) {
            let end = (first + block).min(rows);
            // Without depth there is one empty step, after which the epilogue runs.
            for k in (0..depth.max(1)).step_by(DEPTH) {
                let mut from = 0;
                while from < cols {
                    let mut shape = Shape::of(from, cols, self.tail);
                    let next = Shape::of((from + WIDE).min(cols - 1), cols, self.tail);
                    if level == Level::Avx512
                        && (shape, next) == (Shape::Wide, Shape::Wide)
                        && from + WIDE < cols
                    {
                        shape = Shape::Pair;
                    }
                    let width = shape.width().min(cols - from);
                    let is_last = k + DEPTH >= depth;
                    let tile = Tile {
                        depth: DEPTH.min(depth - k),
                        stride: depth,
                        width,
                        out_stride: cols,
                        fetch: from == 0,
                        resume: k > 0,
                        start: is_last.then(|| &start[from..from + width]),
                    };
                    let step = match shape {
                        Shape::Pair => WIDE,
                        Shape::Thin => 1,
                        other => other.width(),
                    };
                    let panel = &self.numbers[depth * from + k * step..];
                    let mut row = first;
                    while row < end && depth > 0 {
                        let (a, out) = (&a[row * depth + k..], &mut out[row * cols + from..]);
                        // SAFETY: the caller vouches for the level.
                        let done = unsafe { tile.multiply(level, shape, end - row, a, panel, out) };
                        if is_last && !then.is_nothing() {
                            let rows = FinishRows {
                                then,
                                first: row * cols + from,
                                done,
                                tile: &tile,
                                out,
                            };
                            // SAFETY: the caller vouches for the level.
                            unsafe { run_at(level, rows) };
                        }
                        row += done;
                    }
                    from += shape.width();
                }
            }
        }
        if depth == 0 && !then.is_nothing() {
            for (row, sums) in out.chunks_exact_mut(cols.max(1)).enumerate() {
                for (at, sums) in sums.chunks_mut(WIDE).enumerate() {
                    then.finish::<Portable>(row * cols + at * WIDE, sums);
                }
            }
        }
    }
}

/// Runs an epilogue on the rows of a tile.
struct FinishRows<'a, E> {
    then: &'a E,
    first: usize, // position of the first sum in the whole output
    done: usize,
    tile: &'a Tile<'a>,
    out: &'a mut [f32],
}

impl<E: Epilogue> Kernel for FinishRows<'_, E> {
    type Out = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (stride, width) = (self.tile.out_stride, self.tile.width);
        for row in 0..self.done {
            let sums = &mut self.out[row * stride..row * stride + width];
            self.then.finish::<V>(self.first + row * stride, sums);
        }
    }
}

/// How a panel is laid out and worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Two wide panels at once.
    Pair,
    Wide,
    Narrow,
    Thin,
}

impl Shape {
    /// Of the panel that begins with column `from`.
    fn of(from: usize, cols: usize, tail: Tail) -> Self {
        if cols - from <= THIN && tail == Tail::Thin {
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
            Shape::Pair => 2 * WIDE,
            Shape::Wide => WIDE,
            Shape::Narrow => LANES,
            Shape::Thin => THIN,
        }
    }
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

/// Some rows times a part of a panel.
struct Tile<'a> {
    depth: usize,
    stride: usize,            // from row to row of a
    width: usize,             // columns that are not padding
    out_stride: usize,        // from row to row of the output
    fetch: bool,              // the rows that follow are not in the cache yet
    resume: bool,             // the output holds the sums of the depth so far
    start: Option<&'a [f32]>, // (width), to be added when the sums are complete
}

/// Calls a tile function for as many rows as there are, in tiles that are as even as can be: fewer
/// rows leave the multipliers waiting.
macro_rules! even {
    ($left:expr, $most:literal, $tile:ident, $n:literal, $args:tt, [$($m:literal)*]) => {
        match $left.div_ceil($left.div_ceil($most)) {
            // SAFETY: the caller vouches for the level, and `check` for the lengths.
            $($m => unsafe { even!(@call $tile, $m, $n, $args) },)*
            other => unreachable!("{other} rows are no tile"),
        }
    };
    (@call $tile:ident, $m:literal, $n:literal, ($($arg:expr),*)) => { $tile::<$m, $n>($($arg),*) };
}

impl Tile<'_> {
    /// Some of the `left` rows of `a` times a panel; returns how many.
    ///
    /// # Safety
    /// The processor must have the level.
    #[inline]
    unsafe fn multiply(
        &self,
        level: Level,
        shape: Shape,
        left: usize,
        a: &[f32],
        b: &[f32],
        out: &mut [f32],
    ) -> usize {
        // SAFETY of every block: the caller vouches for the level.
        match (shape, level) {
            #[cfg(target_arch = "x86_64")]
            (Shape::Pair, _) => {
                even!(left, 12, tile_zmm, 2, (self, a, b, out), [12 11 10 9 8 7 6 5 4 3 2 1])
            }
            #[cfg(target_arch = "x86_64")]
            (Shape::Wide, Level::Avx512) => {
                even!(left, 12, tile_zmm, 1, (self, a, b, out), [12 11 10 9 8 7 6 5 4 3 2 1])
            }
            #[cfg(target_arch = "x86_64")]
            (Shape::Wide, Level::Avx2) => {
                even!(left, 6, tile_avx2, 2, (self, a, b, out), [6 5 4 3 2 1])
            }
            #[cfg(target_arch = "x86_64")]
            (Shape::Narrow, Level::Avx512) => {
                even!(left, 8, tile_avx512, 1, (self, a, b, out), [8 7 6 5 4 3 2 1])
            }
            #[cfg(target_arch = "x86_64")]
            (Shape::Narrow, Level::Avx2) => {
                even!(left, 8, tile_avx2, 1, (self, a, b, out), [8 7 6 5 4 3 2 1])
            }
            #[cfg(target_arch = "aarch64")]
            (Shape::Wide, _) => {
                even!(left, 6, tile_plain, 2, (self, a, b, out), [6 5 4 3 2 1])
            }
            #[cfg(not(target_arch = "aarch64"))]
            (Shape::Wide, _) => even!(left, 3, tile_plain, 2, (self, a, b, out), [3 2 1]),
            (Shape::Narrow, _) => even!(left, 4, tile_plain, 1, (self, a, b, out), [4 3 2 1]),
            (_, level) => {
                let rows = Dots { tile: self, a, b, out };
                match left {
                    3.. => unsafe { run_at(level, ThinTile::<3>(rows)) },
                    _ => unsafe { run_at(level, ThinTile::<1>(rows)) },
                }
            }
        }
    }

    /// Checks that M rows and N vectors of `span` columns lie inside their slices.
    #[inline(always)]
    fn check<const M: usize, const N: usize>(
        &self,
        span: usize,
        a: &[f32],
        b: &[f32],
        out: &[f32],
    ) {
        assert!(a.len() >= (M - 1) * self.stride + self.depth);
        // The second of two panels that are not narrow begins a whole panel further on.
        let apart = if span == WIDE { (N - 1) * self.stride * WIDE } else { 0 };
        let step = if span == WIDE { WIDE } else { N * LANES };
        assert!(b.len() >= apart + self.depth * step);
        assert!(out.len() >= (M - 1) * self.out_stride + self.width);
        assert!(self.width <= N * span && self.start.is_none_or(|s| s.len() == self.width));
    }

    /// M rows times N registers of columns.
    ///
    /// # Safety
    /// [`check`](Tile::check) must have passed, and the processor must have the register.
    #[inline(always)]
    unsafe fn sums<R: Register, const M: usize, const N: usize>(
        &self,
        a: &[f32],
        b: &[f32],
        out: &mut [f32],
    ) -> usize {
        let is_whole = self.width == N * R::SPAN;
        let part = |n: usize| self.width.saturating_sub(n * R::SPAN).min(R::SPAN);
        let (step, apart) = match R::SPAN {
            WIDE => (WIDE, self.stride * WIDE),
            _ => (N * LANES, LANES),
        };
        // SAFETY: the lengths were checked.
        unsafe {
            let mut sums = [[R::zero(); N]; M];
            if self.resume {
                for m in 0..M {
                    for n in 0..N {
                        let from = out.as_ptr().add(m * self.out_stride).wrapping_add(n * R::SPAN);
                        sums[m][n] =
                            if is_whole { R::read(from) } else { R::read_part(from, part(n)) };
                    }
                }
            }
            let (mut a, mut b) = (a.as_ptr(), b.as_ptr());
            for from in (0..self.depth).step_by(LINE) {
                #[cfg(target_arch = "x86_64")]
                if self.fetch {
                    for m in M..2 * M {
                        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                        // No harm is done behind the last row: nothing is read.
                        _mm_prefetch::<_MM_HINT_T0>(a.wrapping_add(m * self.stride).cast());
                    }
                }
                for _ in from..self.depth.min(from + LINE) {
                    let mut columns = [R::zero(); N];
                    for n in 0..N {
                        columns[n] = R::read(b.add(n * apart));
                    }
                    for m in 0..M {
                        let v = R::splat(*a.add(m * self.stride));
                        for n in 0..N {
                            sums[m][n] = v.mul_add(columns[n], sums[m][n]);
                        }
                    }
                    (a, b) = (a.wrapping_add(1), b.wrapping_add(step));
                }
            }
            if let Some(start) = self.start {
                for n in 0..N {
                    let from = start.as_ptr().wrapping_add(n * R::SPAN);
                    let start = if is_whole { R::read(from) } else { R::read_part(from, part(n)) };
                    (0..M).for_each(|m| sums[m][n] = sums[m][n].add(start));
                }
            }
            for m in 0..M {
                for n in 0..N {
                    let to = out.as_mut_ptr().add(m * self.out_stride).wrapping_add(n * R::SPAN);
                    if is_whole {
                        sums[m][n].write(to);
                    } else {
                        sums[m][n].write_part(to, part(n));
                    }
                }
            }
        }
        M
    }
}

/// A register of numbers that are summed side by side.
trait Register: Copy {
    const SPAN: usize;
    fn zero() -> Self;
    fn splat(v: f32) -> Self;
    fn add(self, b: Self) -> Self;
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// # Safety
    /// `SPAN` numbers must be readable there.
    unsafe fn read(from: *const f32) -> Self;
    /// # Safety
    /// `len` numbers must be readable there; at most `SPAN`.
    unsafe fn read_part(from: *const f32, len: usize) -> Self;
    /// # Safety
    /// `SPAN` numbers must be writable there.
    unsafe fn write(self, to: *mut f32);
    /// # Safety
    /// `len` numbers must be writable there; at most `SPAN`.
    unsafe fn write_part(self, to: *mut f32, len: usize);
}

impl<V: Lanes> Register for V {
    const SPAN: usize = LANES;
    #[inline(always)]
    fn zero() -> Self {
        V::splat(0.0)
    }
    #[inline(always)]
    fn splat(v: f32) -> Self {
        V::splat(v)
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Lanes::add(self, b)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Lanes::mul_add(self, b, c)
    }
    #[inline(always)]
    unsafe fn read(from: *const f32) -> Self {
        // SAFETY: the caller vouches for eight numbers.
        V::load(unsafe { &*from.cast() })
    }
    #[inline(always)]
    unsafe fn read_part(from: *const f32, len: usize) -> Self {
        // SAFETY: the caller vouches for `len` numbers.
        V::load_part(unsafe { std::slice::from_raw_parts(from, len) })
    }
    #[inline(always)]
    unsafe fn write(self, to: *mut f32) {
        // SAFETY: the caller vouches for room for eight numbers.
        self.store(unsafe { &mut *to.cast() });
    }
    #[inline(always)]
    unsafe fn write_part(self, to: *mut f32, len: usize) {
        // SAFETY: the caller vouches for room for `len` numbers.
        self.store_part(unsafe { std::slice::from_raw_parts_mut(to, len) });
    }
}

/// Declares the tiles of a level. They are not inlined: each keeps its addresses in registers.
macro_rules! tiles {
    ($(#[$attribute:meta])* $name:ident, $register:ty) => {
        $(#[$attribute])*
        #[inline(never)]
        unsafe fn $name<const M: usize, const N: usize>(
            tile: &Tile<'_>,
            a: &[f32],
            b: &[f32],
            out: &mut [f32],
        ) -> usize {
            tile.check::<M, N>(<$register>::SPAN, a, b, out);
            // SAFETY: that was just checked, and the function is compiled for the register.
            unsafe { tile.sums::<$register, M, N>(a, b, out) }
        }
    };
}

tiles!(tile_plain, Portable);
#[cfg(target_arch = "x86_64")]
tiles!(
    #[target_feature(enable = "avx2,fma")]
    tile_avx2,
    super::x86::Avx2
);
#[cfg(target_arch = "x86_64")]
tiles!(
    #[target_feature(enable = "avx2,fma,avx512f,avx512vl")]
    tile_avx512,
    super::x86::Avx512
);
#[cfg(target_arch = "x86_64")]
tiles!(
    #[target_feature(enable = "avx512f")]
    tile_zmm,
    zmm::Sixteen
);

#[cfg(target_arch = "x86_64")]
mod zmm {
    use super::{Register, WIDE};
    use std::arch::x86_64::*;

    /// A whole register of AVX-512. Only tiles of that level hold it, which is what makes every
    /// block below sound.
    #[derive(Clone, Copy)]
    pub struct Sixteen(__m512);

    /// The first lanes.
    #[inline(always)]
    fn mask(len: usize) -> __mmask16 {
        ((1u32 << len) - 1) as __mmask16
    }

    impl Register for Sixteen {
        const SPAN: usize = WIDE;
        #[inline(always)]
        fn zero() -> Self {
            // SAFETY: the processor has AVX-512, see the type; so below.
            Self(unsafe { _mm512_setzero_ps() })
        }
        #[inline(always)]
        fn splat(v: f32) -> Self {
            Self(unsafe { _mm512_set1_ps(v) })
        }
        #[inline(always)]
        fn add(self, b: Self) -> Self {
            Self(unsafe { _mm512_add_ps(self.0, b.0) })
        }
        #[inline(always)]
        fn mul_add(self, b: Self, c: Self) -> Self {
            Self(unsafe { _mm512_fmadd_ps(self.0, b.0, c.0) })
        }
        #[inline(always)]
        unsafe fn read(from: *const f32) -> Self {
            Self(unsafe { _mm512_loadu_ps(from) })
        }
        #[inline(always)]
        unsafe fn read_part(from: *const f32, len: usize) -> Self {
            Self(unsafe { _mm512_maskz_loadu_ps(mask(len), from) })
        }
        #[inline(always)]
        unsafe fn write(self, to: *mut f32) {
            unsafe { _mm512_storeu_ps(to, self.0) }
        }
        #[inline(always)]
        unsafe fn write_part(self, to: *mut f32, len: usize) {
            unsafe { _mm512_mask_storeu_ps(to, mask(len), self.0) }
        }
    }
}

/// The factors and the output of a thin tile.
struct Dots<'a> {
    tile: &'a Tile<'a>,
    a: &'a [f32],
    b: &'a [f32],
    out: &'a mut [f32],
}

/// M rows times four columns that lie one after the other, in eight sums each; returns M.
struct ThinTile<'a, const M: usize>(Dots<'a>);

impl<const M: usize> Kernel for ThinTile<'_, M> {
    type Out = usize;

    #[inline(always)]
    fn run<V: Lanes>(self) -> usize {
        let Dots { tile, a, b, out } = self.0;
        let (depth, stride) = (tile.depth, tile.stride);
        let mut sums = [[V::splat(0.0); THIN]; M];
        let mut rows: [&[[f32; LANES]]; M] = [&[]; M];
        let mut columns: [&[[f32; LANES]]; THIN] = [&[]; THIN];
        for m in 0..M {
            rows[m] = a[m * stride..m * stride + depth].as_chunks().0;
        }
        for w in 0..THIN {
            columns[w] = b[w * stride..w * stride + depth].as_chunks().0;
        }
        for k in 0..depth / LANES {
            let mut x = [V::splat(0.0); M];
            for m in 0..M {
                x[m] = V::load(&rows[m][k]);
            }
            for w in 0..THIN {
                let column = V::load(&columns[w][k]);
                for m in 0..M {
                    sums[m][w] = x[m].mul_add(column, sums[m][w]);
                }
            }
        }
        let whole = depth / LANES * LANES;
        for m in 0..M {
            let dots = V::sums(sums[m]);
            let out = &mut out[m * tile.out_stride..][..tile.width];
            for (w, (o, dot)) in out.iter_mut().zip(dots).enumerate() {
                let row = &a[m * stride + whole..m * stride + depth];
                let column = &b[w * stride + whole..w * stride + depth];
                let rest: f32 = row.iter().zip(column).map(|(x, c)| x * c).sum();
                let before = if tile.resume { *o } else { 0.0 };
                *o = before + (dot + rest) + tile.start.map_or(0.0, |start| start[w]);
            }
        }
        M
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
            m in 0usize..40, depth in 0usize..1000, cols in 1usize..60, thin: bool, seed in 0u64..1000,
        ) {
            let mut rng = Seed(seed).rng();
            let a = Matrix::from_fn(m, depth, |_, _| rng.random::<f32>() - 0.5);
            let b = Matrix::from_fn(cols, depth, |_, _| rng.random::<f32>() - 0.5);
            let start: Vec<f32> = (0..cols).map(|_| rng.random()).collect();
            let tail = if thin { Tail::Thin } else { Tail::InOrder };
            let panels = Panels::of_rows(b.view(), tail);
            let at_level = |level: Level| {
                let mut out = vec![f32::NAN; m * cols];
                // SAFETY: the level is available.
                unsafe { panels.product_at(level, a.data(), &start, &Nothing, &mut out) };
                out
            };
            let outs: Vec<Vec<f32>> = Level::available().into_iter().map(at_level).collect();
            for (at, &v) in outs.iter().flat_map(|out| out.iter().enumerate()) {
                let terms = a.row(at / cols).iter().zip(b.row(at % cols));
                let exact: f64 = terms.map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
                let exact = exact + f64::from(start[at % cols]);
                prop_assert!((f64::from(v) - exact).abs() < 1e-4, "{v} {exact}");
            }
            if let [_, avx2, avx512] = &outs[..] {
                prop_assert_eq!(avx2, avx512);
            }
        }
    }
}
