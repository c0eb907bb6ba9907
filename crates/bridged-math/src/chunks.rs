//! Parallel passes over rows whose result does not depend on the number of threads.
//!
//! The rows are cut into blocks whose borders follow from the number of rows alone. Each block is
//! worked on by one thread; what the blocks return is handed back in order, so that a floating
//! point sum over them is the same sum on one thread and on sixty-four. Every block begins with a
//! [`checkpoint`]: work that was stopped ends there.

use crate::cancel::{Context, carry, checkpoint};
use rayon::prelude::*;
use std::ops::Range;

/// The smallest block worth a task of its own.
const MIN_BLOCK: usize = 256;
/// The most blocks a pass is cut into: it bounds the memory of per-block partial sums.
const MAX_BLOCKS: usize = 64;

/// How many rows a block has when there are `n` of them.
pub fn block_len(n: usize) -> usize {
    n.div_ceil(MAX_BLOCKS).max(MIN_BLOCK)
}

/// The most threads that a pool should have. More than a few for every core only wait for each other,
/// and a system ends a program that asks it for a hundred thousand.
pub fn most_threads() -> usize {
    4 * std::thread::available_parallelism().map_or(16, usize::from).max(16)
}

/// Runs `f` on a thread of the pool. A parallel pass that starts outside of it hands its work over
/// and sleeps until it is done; many short ones in a row wake and sleep more than they work.
pub fn in_pool<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    let context = Context::current();
    rayon::scope(|_| context.enter(f))
}

/// Runs `f` over the blocks of `0..n` in parallel and returns what it gave, in block order.
pub fn map_blocks<T: Send>(n: usize, f: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let len = block_len(n);
    let range = |b: usize| b * len..((b + 1) * len).min(n);
    par_map(n.div_ceil(len), |b| f(range(b)))
}

/// Runs `f` for each of `0..count` in parallel and returns what it gave, in order: for few tasks of
/// some size, such as restarts.
pub fn par_map<T: Send>(count: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if count <= 1 {
        checkpoint();
        return (0..count).map(f).collect();
    }
    (0..count).into_par_iter().map(carry(&f)).collect()
}

/// Runs both at once and returns what they gave.
pub fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    let context = Context::current();
    rayon::join(|| context.enter(a), || context.enter(b))
}

/// Like [`map_blocks`], and hands each block its own part of `out`, `width` entries a row.
pub fn map_blocks_mut<T: Send, O: Send>(
    out: &mut [O],
    width: usize,
    f: impl Fn(Range<usize>, &mut [O]) -> T + Sync,
) -> Vec<T> {
    debug_assert!(width > 0 && out.len().is_multiple_of(width));
    let n = out.len() / width;
    let len = block_len(n);
    if n <= len {
        checkpoint();
        return if n == 0 { Vec::new() } else { vec![f(0..n, out)] };
    }
    let block = |(b, part): (usize, &mut [O])| f(b * len..b * len + part.len() / width, part);
    out.par_chunks_mut(len * width).enumerate().map(carry(block)).collect()
}

/// Rows of a part that is worth a task of its own where rows have nothing to do with each other.
const MIN_PART: usize = 120;

/// Hands each part of some rows its own part of `out`, `width` entries a row, in parallel. For work
/// whose result does not depend on the borders, which are finer here: few rows keep all threads busy.
pub fn for_each_part_mut<O: Send>(
    out: &mut [O],
    width: usize,
    f: impl Fn(Range<usize>, &mut [O]) + Sync,
) {
    debug_assert!(width > 0 && out.len().is_multiple_of(width));
    let len = (out.len() / width).div_ceil(MAX_BLOCKS).max(MIN_PART);
    let part = |(at, part): (usize, &mut [O])| f(at * len..at * len + part.len() / width, part);
    out.par_chunks_mut(len * width).enumerate().for_each(carry(part));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_every_row_once_and_in_order() {
        for n in [0, 1, 511, 512, 513, 100_000, 100_001] {
            let seen: Vec<usize> = map_blocks(n, |r| r.collect::<Vec<_>>()).concat();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
            assert!(map_blocks(n, |r| r.len()).len() <= MAX_BLOCKS);
        }
    }

    #[test]
    fn each_block_writes_its_own_part() {
        let fill = |range: Range<usize>, part: &mut [usize]| {
            range.zip(part.chunks_mut(3)).for_each(|(i, row)| row.fill(i));
        };
        for n in [0, 1, 119, 1_400, 70_000] {
            let (mut blocks, mut parts) = (vec![0usize; 3 * n], vec![0usize; 3 * n]);
            map_blocks_mut(&mut blocks, 3, fill);
            for_each_part_mut(&mut parts, 3, fill);
            assert!(blocks.iter().enumerate().all(|(at, &i)| at / 3 == i));
            assert_eq!(blocks, parts);
        }
    }
}
