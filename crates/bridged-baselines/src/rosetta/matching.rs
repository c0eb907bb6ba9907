//! Which centre of one side belongs to which of the other: a quadratic assignment with anchors.
//!
//! ```text
//! max_π  Σ_ik K_ik L_π(i)π(k) + Σ_i B_iπ(i)      over permutations π
//! K, L: inner products of the centres of either side;  B = 2 K₁₂ L₁₂ᵀ, K₁₂, L₁₂: centres with pairs
//! ```
//!
//! All inner products are taken around the mean of centres and pairs together. Up to a constant factor
//! this is the CKA of [centres; pairs] of either side, in which the pairs are matched already.
//!
//! K and L have no negative eigenvalue, so the sum is convex in the permutation matrix, and the
//! Frank–Wolfe method (FAQ) always takes its whole step: from π the next is the best assignment of
//! 2 K P_π L + B, and each is better than the one before. Where that rests, exchanges of two partners
//! go on. From several starts (the best assignment of B alone, then random ones) the best is kept.
//! An iteration costs O(c³), a round of exchanges too.
//!
//! The paper solves it with MPOpt, a dual solver of which no Rust version exists.

use bridged::Rng;
use bridged_math::assignment::{Goal, assign};
use bridged_math::linalg::{Accum, View, product};
use rand::seq::SliceRandom;

/// The problem for c centres a side.
pub(super) struct Quadratic {
    k: Vec<f64>,
    l: Vec<f64>,
    anchor: Vec<f64>,
    c: usize,
}

/// Centres and pairs of one side, (c, d) and (pairs, d).
pub(super) struct Side<'a> {
    pub centres: &'a [f64],
    pub pairs: &'a [f64],
    pub cols: usize,
}

impl Side<'_> {
    /// The inner products among centres and those of centres with pairs, around the common mean.
    fn kernels(&self) -> (Vec<f64>, Vec<f64>) {
        let d = self.cols;
        let (c, p) = (self.centres.len() / d, self.pairs.len() / d);
        let mut mean = vec![0.0; d];
        for row in self.centres.chunks_exact(d).chain(self.pairs.chunks_exact(d)) {
            mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / (c + p) as f64);
        }
        let around = |rows: &[f64]| -> Vec<f64> {
            rows.chunks_exact(d).flat_map(|r| r.iter().zip(&mean).map(|(v, m)| v - m)).collect()
        };
        let (centres, pairs) = (around(self.centres), around(self.pairs));
        let (centres, pairs) = (View::new(&centres, c, d), View::new(&pairs, p, d));
        let (mut own, mut cross) = (vec![0.0; c * c], vec![0.0; c * p]);
        product(centres, centres.t(), Accum::Replace, &mut own);
        product(centres, pairs.t(), Accum::Replace, &mut cross);
        (own, cross)
    }
}

impl Quadratic {
    /// For two sides with equally many centres, and pairs in the same order.
    pub fn of(x: &Side<'_>, y: &Side<'_>) -> Self {
        let c = x.centres.len() / x.cols;
        let ((k, k_pairs), (l, l_pairs)) = (x.kernels(), y.kernels());
        let p = k_pairs.len() / c;
        let mut anchor = vec![0.0; c * c];
        let (a, b) = (View::new(&k_pairs, c, p), View::new(&l_pairs, c, p));
        product(a, b.t(), Accum::Replace, &mut anchor);
        anchor.iter_mut().for_each(|v| *v *= 2.0);
        Self { k, l, anchor, c }
    }

    /// The sum for a permutation.
    pub fn value(&self, pi: &[usize]) -> f64 {
        let c = self.c;
        let row = |i: usize| -> f64 {
            let (k, l) = (&self.k[i * c..(i + 1) * c], &self.l[pi[i] * c..(pi[i] + 1) * c]);
            k.iter().zip(pi).map(|(k, &j)| k * l[j]).sum::<f64>() + self.anchor[i * c + pi[i]]
        };
        (0..c).map(row).sum()
    }

    /// The best permutation that was found from so many starts.
    pub fn solve(&self, starts: usize, rng: &mut Rng) -> Vec<usize> {
        let mut best = self.climb(assignment(&self.anchor, self.c));
        let mut value = self.value(&best);
        for _ in 1..starts {
            let mut pi: Vec<usize> = (0..self.c).collect();
            pi.shuffle(rng);
            let pi = self.climb(pi);
            let found = self.value(&pi);
            if found > value {
                (best, value) = (pi, found);
            }
        }
        best
    }

    /// Assignments until none is better, then exchanges until none is.
    fn climb(&self, mut pi: Vec<usize>) -> Vec<usize> {
        let c = self.c;
        let mut value = self.value(&pi);
        let mut slopes = vec![0.0; c * c];
        loop {
            let moved: Vec<f64> =
                pi.iter().flat_map(|&j| &self.l[j * c..(j + 1) * c]).map(|v| 2.0 * v).collect();
            slopes.copy_from_slice(&self.anchor);
            let k = View::new(&self.k, c, c);
            product(k, View::new(&moved, c, c), Accum::Add, &mut slopes);
            let next = assignment(&slopes, c);
            let found = self.value(&next);
            if found <= value + 1e-12 * value.abs() {
                break;
            }
            (pi, value) = (next, found);
        }
        let least = 1e-12 * value.abs().max(f64::MIN_POSITIVE);
        let mut improved = true;
        while improved {
            improved = false;
            for r in 0..c {
                for s in r + 1..c {
                    if self.gain(&pi, r, s) > least {
                        pi.swap(r, s);
                        improved = true;
                    }
                }
            }
        }
        pi
    }

    /// How much the sum grows if r and s exchange their partners.
    fn gain(&self, pi: &[usize], r: usize, s: usize) -> f64 {
        let c = self.c;
        let (k, l) =
            (|i: usize, j: usize| self.k[i * c + j], |i: usize, j: usize| self.l[i * c + j]);
        let (pr, ps) = (pi[r], pi[s]);
        let (kr, ks) = (&self.k[r * c..(r + 1) * c], &self.k[s * c..(s + 1) * c]);
        let (lr, ls) = (&self.l[pr * c..(pr + 1) * c], &self.l[ps * c..(ps + 1) * c]);
        let others: f64 = (0..c)
            .filter(|&i| i != r && i != s)
            .map(|i| (kr[i] - ks[i]) * (ls[pi[i]] - lr[pi[i]]))
            .sum();
        let own = (k(r, r) - k(s, s)) * (l(ps, ps) - l(pr, pr));
        let anchor = |i: usize, j: usize| self.anchor[i * c + j];
        own + 2.0 * others + anchor(r, ps) + anchor(s, pr) - anchor(r, pr) - anchor(s, ps)
    }
}

/// The permutation with the largest sum of scores (c, c).
fn assignment(scores: &[f64], c: usize) -> Vec<usize> {
    let found = assign(scores, c, c, Goal::Maximise).row_to_col;
    found.into_iter().map(|j| j.expect("as many rows as columns")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::random;
    use bridged::Seed;

    fn permutations(c: usize) -> Vec<Vec<usize>> {
        if c == 0 {
            return vec![vec![]];
        }
        let shorter = permutations(c - 1);
        let insert = |at: usize, p: &Vec<usize>| {
            let mut p = p.clone();
            p.insert(at, c - 1);
            p
        };
        (0..c).flat_map(|at| shorter.iter().map(move |p| insert(at, p))).collect()
    }

    /// Tr(K P L Pᵀ) + 2 Tr(K₁₂ L₁₂ᵀ Pᵀ) as CKA sees it: Σ of the products of two centred kernels over
    /// centres and pairs, less what no permutation changes.
    fn by_hand(x: &Side<'_>, y: &Side<'_>, pi: &[usize]) -> f64 {
        let kernel = |side: &Side<'_>, order: &dyn Fn(usize) -> usize| -> Vec<f64> {
            let all = [side.centres, side.pairs].concat();
            let n = all.len() / side.cols;
            let row = |i: usize| &all[order(i) * side.cols..(order(i) + 1) * side.cols];
            let gram: Vec<f64> = (0..n * n)
                .map(|at| row(at / n).iter().zip(row(at % n)).map(|(a, b)| a * b).sum())
                .collect();
            let mean = |i: usize| (0..n).map(|j| gram[i * n + j]).sum::<f64>() / n as f64;
            let total = (0..n).map(mean).sum::<f64>() / n as f64;
            (0..n * n).map(|at| gram[at] - mean(at / n) - mean(at % n) + total).collect()
        };
        let c = pi.len();
        let k = kernel(x, &|i| i);
        let l = kernel(y, &|i| if i < c { pi[i] } else { i });
        let n = c + x.pairs.len() / x.cols;
        let among_pairs = |at: usize| at / n >= c && at % n >= c;
        (0..n * n).filter(|&at| !among_pairs(at)).map(|at| k[at] * l[at]).sum()
    }

    #[test]
    fn the_best_of_all_permutations_of_five_centres_is_found() {
        for seed in 0..20 {
            let numbers = random(100, seed);
            let x = Side { centres: &numbers[..15], pairs: &numbers[15..21], cols: 3 };
            let y = Side { centres: &numbers[30..50], pairs: &numbers[50..58], cols: 4 };
            let problem = Quadratic::of(&x, &y);
            let all = permutations(5);
            assert_eq!(all.len(), 120);
            let mut best = f64::NEG_INFINITY;
            for pi in &all {
                let value = problem.value(pi);
                assert!((value - by_hand(&x, &y, pi)).abs() < 1e-9);
                best = best.max(value);
            }
            let found = problem.solve(10, &mut Seed(seed).rng());
            assert!(problem.value(&found) > best - 1e-9, "{seed}");
        }
    }

    #[test]
    fn an_exchange_gains_what_it_says() {
        let numbers = random(80, 3);
        let x = Side { centres: &numbers[..24], pairs: &numbers[24..28], cols: 4 };
        let y = Side { centres: &numbers[30..48], pairs: &numbers[48..51], cols: 3 };
        let problem = Quadratic::of(&x, &y);
        let pi = vec![3, 1, 5, 0, 2, 4];
        for (r, s) in [(0, 1), (2, 5), (3, 4)] {
            let mut other = pi.clone();
            other.swap(r, s);
            let gain = problem.value(&other) - problem.value(&pi);
            assert!((problem.gain(&pi, r, s) - gain).abs() < 1e-9);
        }
    }

    #[test]
    fn thirty_centres_that_are_rotated_are_found_by_three_pairs() {
        let d = 6;
        let a = random(33 * d, 4);
        let order = |i: usize| if i < 30 { (i * 7 + 3) % 30 } else { i };
        // Another order, and a rotation of the first two columns.
        let mut b = vec![0.0; 33 * d];
        for (i, from) in a.chunks_exact(d).enumerate() {
            let row = &mut b[order(i) * d..(order(i) + 1) * d];
            row.copy_from_slice(from);
            (row[0], row[1]) = (0.6 * from[0] - 0.8 * from[1], 0.8 * from[0] + 0.6 * from[1]);
        }
        let x = Side { centres: &a[..30 * d], pairs: &a[30 * d..], cols: d };
        let y = Side { centres: &b[..30 * d], pairs: &b[30 * d..], cols: d };
        let found = Quadratic::of(&x, &y).solve(10, &mut Seed(1).rng());
        assert_eq!(found, (0..30).map(order).collect::<Vec<_>>());
    }
}
