//! Parallel passes over rows whose result does not depend on the number of threads.
//!
//! The rows are cut into blocks whose borders follow from the number of rows alone. Each block is
//! worked on by one thread; what the blocks return is handed back in order, so that a floating
//! point sum over them is the same sum on one thread and on sixty-four.

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

/// Runs `f` on a thread of the pool. A parallel pass that starts outside of it hands its work over
/// and sleeps until it is done; many short ones in a row wake and sleep more than they work.
pub fn in_pool<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    rayon::scope(|_| f())
}

/// Runs `f` over the blocks of `0..n` in parallel and returns what it gave, in block order.
pub fn map_blocks<T: Send>(n: usize, f: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let len = block_len(n);
    let range = |b: usize| b * len..((b + 1) * len).min(n);
    let blocks = n.div_ceil(len);
    if blocks <= 1 {
        return (0..blocks).map(|b| f(range(b))).collect();
    }
    (0..blocks).into_par_iter().map(|b| f(range(b))).collect()
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
        return if n == 0 { Vec::new() } else { vec![f(0..n, out)] };
    }
    out.par_chunks_mut(len * width)
        .enumerate()
        .map(|(b, part)| f(b * len..b * len + part.len() / width, part))
        .collect()
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
        let mut out = vec![0usize; 3 * 70_000];
        map_blocks_mut(&mut out, 3, |range, part| {
            for (i, row) in range.zip(part.chunks_mut(3)) {
                row.fill(i);
            }
        });
        assert!(out.iter().enumerate().all(|(at, &i)| at / 3 == i));
    }
}
