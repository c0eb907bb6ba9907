//! The few largest eigenpairs of a large symmetric operator, by a thick-restarted block Krylov
//! method with full orthogonalisation.
//!
//! V is an orthonormal basis. Each iteration solves the small problem (Vᵀ A V) y = θ y, takes the
//! Ritz vectors V y of the largest θ, and adds p(A) V y to the basis, where p is a Chebyshev
//! polynomial that is small below the Ritz values that are wanted and large above. When the basis is
//! full it is replaced by its best half. All of it lies in the Krylov space of the start block (block
//! Chebyshev–Davidson: Zhou & Saad 2007; thick restart: Wu & Simon 2000); the polynomial buys its
//! degree without the memory and the orthogonalisation of as many Lanczos vectors. A V is kept, so
//! that rounding never separates the basis from its products.
//!
//! The block is wider than the number of pairs that are wanted. That is what finds repeated
//! eigenvalues, such as the eigenvalue 1 of a graph in several pieces, where a single Lanczos
//! vector sees one direction only. A pair leaves the block when it has converged.
//!
//! Memory is 2 n c numbers for a basis of at most c vectors; an iteration costs 21 products
//! with A and O(n c b) for a block of b.

use super::{Accum, Eigen, View, fix_sign, product, symmetric_eigen};
use crate::chunks::{map_blocks, map_blocks_mut};
use crate::seed::Seed;
use crate::watch::{Cancelled, Stage, Watch};
use rand::RngExt;

/// When [`largest_eigenpairs`] stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Krylov {
    /// A pair has converged when ‖A v − θ v‖ ≤ `tol` × the largest |θ|.
    pub tol: f64,
    /// The most iterations.
    pub max_iter: u32,
    /// No eigenvalue is below this; −1 for the normalised adjacency of a graph.
    pub lower: f64,
}

impl Default for Krylov {
    fn default() -> Self {
        Self { tol: 1e-9, max_iter: 300, lower: -1.0 }
    }
}

/// The largest eigenpairs, descending.
#[derive(Clone, Debug, PartialEq)]
pub struct KrylovEigen {
    /// The eigenvalues and the unit eigenvectors, one a row.
    pub eigen: Eigen,
    /// Iterations that were made.
    pub iterations: u32,
    /// Whether every pair came within the tolerance.
    pub converged: bool,
}

/// At this size or below, a dense decomposition is faster.
const DENSE: usize = 256;

/// The `count` largest eigenpairs of the symmetric operator A of size `n`.
///
/// `apply(width, x, y)` must write A·X into `y`; both are row-major (n, width) blocks.
///
/// # Panics
/// If `count` exceeds `n`.
pub fn largest_eigenpairs(
    n: usize,
    count: usize,
    apply: impl Fn(usize, &[f64], &mut [f64]),
    options: Krylov,
    seed: Seed,
    watch: &dyn Watch,
) -> Result<KrylovEigen, Cancelled> {
    assert!(count <= n, "an operator of size {n} does not have {count} eigenpairs");
    let (block, capacity) = sizes(n, count);
    let stage = Stage::begin(watch, "eigenvectors", None)?;
    if n <= DENSE.max(2 * capacity) {
        return Ok(dense(n, count, apply));
    }

    let mut rng = seed.rng();
    let start: Vec<f64> = (0..n * block).map(|_| rng.random::<f64>() - 0.5).collect();
    let mut basis = Basis::new(n, capacity);
    basis.extend(start, block, &apply);
    let mut iterations = 1;
    loop {
        let ritz = basis.ritz(block);
        let largest = ritz.values.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
        let settled = |j: usize| ritz.residuals[j] <= options.tol * largest;
        let converged = (0..count).all(settled);
        let done = |converged| KrylovEigen { eigen: ritz.take(n, count), iterations, converged };
        if converged || iterations >= options.max_iter {
            return Ok(done(converged));
        }
        stage.step(u64::from(iterations))?;
        let open: Vec<usize> = (0..block).filter(|&j| !settled(j)).collect();
        let start: Vec<f64> = (ritz.vectors.chunks_exact(block))
            .flat_map(|row| open.iter().map(|&j| row[j]))
            .collect();
        let filter = Filter::new(options.lower, ritz.cut, ritz.values[0]);
        let filtered = filter.run(start.clone(), open.len(), &apply);
        if basis.len + open.len() > capacity {
            basis.restart(capacity / 2);
        }
        let mut new = basis.extend(filtered, open.len(), &apply);
        if new == 0 && open.len() < block {
            // Settled pairs that lie far above the others drown them in the filter: without them.
            let settled: Vec<usize> = (0..block).filter(|&j| settled(j)).collect();
            let deflated = ritz.deflated(n, &settled, &apply);
            let filter = Filter::new(options.lower, ritz.cut, ritz.values[open[0]]);
            new = basis.extend(filter.run(start, open.len(), &deflated), open.len(), &apply);
        }
        if new == 0 {
            // Nothing is new beside the basis: what is left is rounding, and nothing can lower it.
            return Ok(done(converged));
        }
        iterations += 1;
    }
}

/// The bytes that [`largest_eigenpairs`] takes at most.
pub fn krylov_memory(n: usize, count: usize) -> f64 {
    let (block, capacity) = sizes(n, count);
    let numbers = if n <= DENSE.max(2 * capacity) {
        6.0 * (n * n) as f64
    } else {
        // Both bases, the Ritz vectors and their products, the filter's three blocks, the new ones.
        n as f64 * (2.0 * capacity as f64 + 7.0 * (block + 1) as f64)
    };
    8.0 * numbers
}

/// The vectors of a block, and those of a full basis.
fn sizes(n: usize, count: usize) -> (usize, usize) {
    let block = (count + (count / 4).max(3)).min(n);
    (block, (4 * block).max(48))
}

/// A polynomial of A that is at most 1 in magnitude (before scaling) on [lower, cut] and grows as
/// fast as a polynomial of its degree can above: Chebyshev's, mapped to that interval, and scaled
/// to 1 at the largest Ritz value, so that it never overflows (Zhou & Saad 2007).
struct Filter {
    centre: f64,
    half_width: f64,
    sigma: f64,
}

impl Filter {
    const DEGREE: usize = 20;

    fn new(lower: f64, cut: f64, top: f64) -> Self {
        let half_width = (0.5 * (cut - lower)).max(1e-3 * (top - lower)).max(f64::MIN_POSITIVE);
        let centre = lower + half_width;
        Self { centre, half_width, sigma: half_width / (top - centre).max(half_width) }
    }

    /// The filter times `x` (n, width).
    fn run(
        &self,
        mut x: Vec<f64>,
        width: usize,
        apply: &impl Fn(usize, &[f64], &mut [f64]),
    ) -> Vec<f64> {
        let (mut previous, mut ax) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        let (mut sigma, mut gain) = (self.sigma, self.sigma / self.half_width);
        let mut back = 0.0;
        for _ in 0..Self::DEGREE {
            apply(width, &x, &mut ax);
            map_blocks_mut(&mut previous, width, |rows, part| {
                let at = rows.start * width;
                for (i, p) in part.iter_mut().enumerate() {
                    *p = gain * (ax[at + i] - self.centre * x[at + i]) - back * *p;
                }
            });
            std::mem::swap(&mut x, &mut previous);
            let next = 1.0 / (2.0 / self.sigma - sigma);
            gain = 2.0 * next / self.half_width;
            back = sigma * next;
            sigma = next;
        }
        x
    }
}

/// Every eigenpair of the operator written out as a matrix.
fn dense(n: usize, count: usize, apply: impl Fn(usize, &[f64], &mut [f64])) -> KrylovEigen {
    let (mut identity, mut a) = (vec![0.0; n * n], vec![0.0; n * n]);
    (0..n).for_each(|i| identity[i * n + i] = 1.0);
    apply(n, &identity, &mut a);
    let all = symmetric_eigen(&a, n);
    let values = all.values.iter().rev().take(count).copied().collect();
    let vectors = all.vectors.chunks_exact(n.max(1)).rev().take(count).flatten().copied().collect();
    KrylovEigen { eigen: Eigen { values, vectors }, iterations: 1, converged: true }
}

/// An orthonormal basis V, its products A V, and T = Vᵀ A V.
struct Basis {
    n: usize,
    capacity: usize,
    len: usize,
    v: Vec<f64>,  // (n, capacity), the first `len` columns are in use
    av: Vec<f64>, // (n, capacity)
    t: Vec<f64>,  // (capacity, capacity)
}

/// The Ritz pairs of the largest values, descending, with their residuals.
struct Ritz {
    values: Vec<f64>,
    vectors: Vec<f64>,   // (n, block)
    residuals: Vec<f64>, // ‖A v − θ v‖
    cut: f64,            // the largest Ritz value that is not among them
}

impl Ritz {
    /// A without some of the pairs, A − Σ θ v vᵀ: their eigenvalues become 0.
    fn deflated<F: Fn(usize, &[f64], &mut [f64])>(
        &self,
        n: usize,
        pairs: &[usize],
        apply: &F,
    ) -> impl Fn(usize, &[f64], &mut [f64]) {
        let (block, count) = (self.values.len(), pairs.len());
        let rows = self.vectors.chunks_exact(block);
        let v: Vec<f64> = rows.flat_map(|row| pairs.iter().map(|&j| row[j])).collect(); // (n, count)
        let values: Vec<f64> = pairs.iter().map(|&j| self.values[j]).collect();
        move |width, x, y| {
            apply(width, x, y);
            let mut along = sum_over_rows(n, count * width, |rows, out| {
                let v = View::new(&v[rows.start * count..rows.end * count], rows.len(), count);
                let x = View::new(&x[rows.start * width..rows.end * width], rows.len(), width);
                product(v.t(), x, Accum::Replace, out);
            });
            for (row, value) in along.chunks_exact_mut(width).zip(&values) {
                row.iter_mut().for_each(|a| *a *= -value);
            }
            map_blocks_mut(y, width, |rows, part| {
                let v = View::new(&v[rows.start * count..rows.end * count], rows.len(), count);
                product(v, View::new(&along, count, width), Accum::Add, part);
            });
        }
    }

    /// The first `count` pairs, one vector a row.
    fn take(&self, n: usize, count: usize) -> Eigen {
        let block = self.values.len();
        let mut vectors: Vec<f64> =
            (0..count * n).map(|at| self.vectors[(at % n) * block + at / n]).collect();
        vectors.chunks_exact_mut(n).for_each(fix_sign);
        Eigen { values: self.values[..count].to_vec(), vectors }
    }
}

impl Basis {
    fn new(n: usize, capacity: usize) -> Self {
        let (v, av) = (vec![0.0; n * capacity], vec![0.0; n * capacity]);
        Self { n, capacity, len: 0, v, av, t: vec![0.0; capacity * capacity] }
    }

    /// Adds the directions of `w` (n, width) that are new; returns how many those were.
    fn extend(
        &mut self,
        w: Vec<f64>,
        width: usize,
        apply: &impl Fn(usize, &[f64], &mut [f64]),
    ) -> usize {
        let (w, width) = self.orthonormalise(w, width);
        if width == 0 {
            return 0;
        }
        let mut aw = vec![0.0; self.n * width];
        apply(width, &w, &mut aw);
        let (from, capacity) = (self.len, self.capacity);
        for (buffer, block) in [(&mut self.v, &w), (&mut self.av, &aw)] {
            for (row, new) in buffer.chunks_exact_mut(capacity).zip(block.chunks_exact(width)) {
                row[from..from + width].copy_from_slice(new);
            }
        }
        self.len += width;
        let cross = self.cross(&aw, width); // (len, width)
        for i in 0..self.len {
            for j in 0..width {
                let value = cross[i * width + j];
                self.t[i * capacity + from + j] = value;
                self.t[(from + j) * capacity + i] = value;
            }
        }
        width
    }

    /// Vᵀ W, (len, width).
    fn cross(&self, w: &[f64], width: usize) -> Vec<f64> {
        sum_over_rows(self.n, self.len * width, |rows, out| {
            let v = &self.v[rows.start * self.capacity..rows.end * self.capacity];
            let v = View::with_stride(v, rows.len(), self.len, self.capacity);
            let w = View::new(&w[rows.start * width..rows.end * width], rows.len(), width);
            product(v.t(), w, Accum::Replace, out);
        })
    }

    /// Makes the columns of `w` orthonormal, and orthogonal to the basis; drops those that are not
    /// new. Twice is enough (Parlett 1980); inside the block by the eigenvectors of its Gram matrix
    /// (Stathopoulos & Wu 2002).
    fn orthonormalise(&self, mut w: Vec<f64>, mut width: usize) -> (Vec<f64>, usize) {
        for _ in 0..2 {
            if width == 0 {
                break;
            }
            if self.len > 0 {
                let mut minus = self.cross(&w, width);
                minus.iter_mut().for_each(|c| *c = -*c);
                map_blocks_mut(&mut w, width, |rows, part| {
                    let v = &self.v[rows.start * self.capacity..rows.end * self.capacity];
                    let v = View::with_stride(v, rows.len(), self.len, self.capacity);
                    product(v, View::new(&minus, self.len, width), Accum::Add, part);
                });
            }
            let gram = sum_over_rows(self.n, width * width, |rows, out| {
                let w = View::new(&w[rows.start * width..rows.end * width], rows.len(), width);
                product(w.t(), w, Accum::Replace, out);
            });
            // Columns came in with length of order one; what is left of one in the basis is noise.
            let scale: Vec<f64> = (0..width)
                .map(|j| gram[j * width + j].sqrt())
                .map(|norm| if norm > 1e-13 { 1.0 / norm } else { 0.0 })
                .collect();
            let scaled: Vec<f64> = (0..width * width)
                .map(|at| gram[at] * scale[at / width] * scale[at % width])
                .collect();
            let eigen = symmetric_eigen(&scaled, width);
            let kept: Vec<usize> = (0..width).rev().filter(|&j| eigen.values[j] > 1e-10).collect();
            let mut mix = vec![0.0; width * kept.len()];
            for i in 0..width {
                for (c, &j) in kept.iter().enumerate() {
                    mix[i * kept.len() + c] =
                        scale[i] * eigen.vectors[j * width + i] / eigen.values[j].sqrt();
                }
            }
            w = combine(&w, (self.n, width, width), &mix, kept.len());
            width = kept.len();
        }
        (w, width)
    }

    /// The Ritz pairs of the `block` largest values.
    fn ritz(&self, block: usize) -> Ritz {
        let (mut values, mix) = self.largest(block + 1);
        let (cut, width) = (values[values.len() - 1], values.len());
        values.truncate(block);
        let shape = (self.n, self.len, self.capacity);
        let (wide, products) =
            (combine(&self.v, shape, &mix, width), combine(&self.av, shape, &mix, width));
        let squares: Vec<Vec<f64>> = map_blocks(self.n, |rows| {
            let mut squares = vec![0.0; block];
            for i in rows {
                for j in 0..block {
                    let r = products[i * width + j] - values[j] * wide[i * width + j];
                    squares[j] += r * r;
                }
            }
            squares
        });
        let residuals =
            (0..block).map(|j| squares.iter().map(|s| s[j]).sum::<f64>().sqrt()).collect();
        let vectors = wide.chunks_exact(width).flat_map(|row| &row[..block]).copied().collect();
        Ritz { values, vectors, residuals, cut }
    }

    /// The largest eigenpairs of T, descending, at most `count`; vectors as columns, (len, count).
    fn largest(&self, count: usize) -> (Vec<f64>, Vec<f64>) {
        let m = self.len;
        let t: Vec<f64> = (0..m)
            .flat_map(|i| &self.t[i * self.capacity..i * self.capacity + m])
            .copied()
            .collect();
        let eigen = symmetric_eigen(&t, m);
        let count = count.min(m);
        let mix = (0..m * count).map(|at| eigen.vectors[(m - 1 - at % count) * m + at / count]);
        (eigen.values.iter().rev().take(count).copied().collect(), mix.collect())
    }

    /// Keeps the Ritz vectors of the `keep` largest values.
    fn restart(&mut self, keep: usize) {
        let keep = keep.min(self.len);
        let (values, mix) = self.largest(keep);
        for buffer in [&mut self.v, &mut self.av] {
            let kept = combine(buffer, (self.n, self.len, self.capacity), &mix, keep);
            for (row, new) in buffer.chunks_exact_mut(self.capacity).zip(kept.chunks_exact(keep)) {
                row[..keep].copy_from_slice(new);
            }
        }
        self.t.fill(0.0);
        (0..keep).for_each(|j| self.t[j * self.capacity + j] = values[j]);
        self.len = keep;
    }
}

/// The first `cols` columns of `a`, rows `stride` apart, times `mix` (cols, width): (n, width).
fn combine(
    a: &[f64],
    (n, cols, stride): (usize, usize, usize),
    mix: &[f64],
    width: usize,
) -> Vec<f64> {
    let mut out = vec![0.0; n * width];
    if width > 0 {
        map_blocks_mut(&mut out, width, |rows, part| {
            let a = View::with_stride(
                &a[rows.start * stride..rows.end * stride],
                rows.len(),
                cols,
                stride,
            );
            product(a, View::new(mix, cols, width), Accum::Replace, part);
        });
    }
    out
}

/// Σ over blocks of rows of what `f` writes, in block order.
fn sum_over_rows(
    n: usize,
    len: usize,
    f: impl Fn(std::ops::Range<usize>, &mut [f64]) + Sync,
) -> Vec<f64> {
    let parts = map_blocks(n, |rows| {
        let mut part = vec![0.0; len];
        f(rows, &mut part);
        part
    });
    parts
        .into_iter()
        .reduce(|mut sum, part| {
            sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
            sum
        })
        .unwrap_or_else(|| vec![0.0; len])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Event, Silent};
    use std::ops::ControlFlow;

    /// Disjoint cycles of the given lengths: the normalised adjacency of a cycle of m nodes has
    /// the eigenvalues cos(2πj/m), all but the first (and the last, for even m) twice.
    fn cycles(lengths: &[usize]) -> (usize, impl Fn(usize, &[f64], &mut [f64])) {
        let mut neighbours = Vec::new();
        for &m in lengths {
            let from = neighbours.len();
            neighbours.extend((0..m).map(|i| (from + (i + 1) % m, from + (i + m - 1) % m)));
        }
        let n = neighbours.len();
        let apply = move |width: usize, x: &[f64], y: &mut [f64]| {
            for (i, row) in y.chunks_exact_mut(width).enumerate() {
                let (a, b) = neighbours[i];
                for j in 0..width {
                    row[j] = 0.5 * (x[a * width + j] + x[b * width + j]);
                }
            }
        };
        (n, apply)
    }

    fn solve(lengths: &[usize], count: usize) -> KrylovEigen {
        let (n, apply) = cycles(lengths);
        largest_eigenpairs(n, count, apply, Krylov::default(), Seed(1), &Silent).unwrap()
    }

    fn check_pairs(lengths: &[usize], found: &KrylovEigen) {
        let (n, apply) = cycles(lengths);
        let mut expected: Vec<f64> = lengths
            .iter()
            .flat_map(|&m| (0..m).map(move |j| (std::f64::consts::TAU * j as f64 / m as f64).cos()))
            .collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        assert!(found.converged, "{} iterations", found.iterations);
        let vectors: Vec<&[f64]> = found.eigen.vectors.chunks(n).collect();
        for (i, v) in vectors.iter().enumerate() {
            assert!((found.eigen.values[i] - expected[i]).abs() < 1e-10, "value {i}");
            let mut av = vec![0.0; n];
            apply(1, v, &mut av);
            for (a, x) in av.iter().zip(*v) {
                assert!((a - found.eigen.values[i] * x).abs() < 1e-8);
            }
            for (j, w) in vectors.iter().enumerate() {
                let dot: f64 = v.iter().zip(*w).map(|(a, b)| a * b).sum();
                assert!((dot - f64::from(i == j)).abs() < 1e-10, "{i} {j} {dot}");
            }
        }
    }

    #[test]
    fn repeated_eigenvalues_are_found_as_often_as_they_occur() {
        // Six pieces: the eigenvalue 1 six times; all eigenvalues below it come in pairs.
        let lengths = [150, 40, 300, 90, 201, 77];
        check_pairs(&lengths, &solve(&lengths, 10));
        // More pieces than pairs that are asked for.
        check_pairs(&[100; 9], &solve(&[100; 9], 4));
    }

    #[test]
    fn small_operators_are_solved_densely() {
        check_pairs(&[5, 7], &solve(&[5, 7], 12));
        check_pairs(&[1], &solve(&[1], 1));
    }

    #[test]
    fn a_diagonal_operator_agrees_with_its_diagonal() {
        let n = 2000;
        let diagonal = |i: usize| ((i * 7919) % n) as f64 / n as f64;
        let apply = |width: usize, x: &[f64], y: &mut [f64]| {
            for at in 0..n * width {
                y[at] = diagonal(at / width) * x[at];
            }
        };
        let found = largest_eigenpairs(
            n,
            20,
            apply,
            Krylov { lower: 0.0, ..Krylov::default() },
            Seed(3),
            &Silent,
        )
        .unwrap();
        assert!(found.converged, "{} iterations", found.iterations);
        for (j, v) in found.eigen.values.iter().enumerate() {
            assert!((v - (n - 1 - j) as f64 / n as f64).abs() < 1e-12, "{j} {v}");
        }
        for v in found.eigen.vectors.chunks(n) {
            assert!(v.iter().any(|&x| x > 1.0 - 1e-6));
        }
    }

    #[test]
    fn eigenvalues_far_below_the_largest_are_found_too() {
        // Seven groups that nothing joins: 1 seven times, and noise far below.
        let n = 1400;
        let diagonal = |i: usize| if i < 7 { 1.0 } else { 0.36 * (i as f64 / n as f64 - 0.5) };
        let apply = |width: usize, x: &[f64], y: &mut [f64]| {
            for at in 0..n * width {
                y[at] = diagonal(at / width) * x[at];
            }
        };
        let options = Krylov { tol: 1e-6, ..Krylov::default() };
        let found = largest_eigenpairs(n, 30, apply, options, Seed(2), &Silent).unwrap();
        assert!(found.converged, "{} iterations", found.iterations);
        for (j, v) in found.eigen.values.iter().enumerate() {
            let expected = if j < 7 { 1.0 } else { diagonal(n - 1 - (j - 7)) };
            assert!((v - expected).abs() < 1e-6, "{j}: {v} {expected}");
        }
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| solve(&[900, 700], 5))
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn the_watch_can_stop_it() {
        struct Stop;
        impl Watch for Stop {
            fn on(&self, event: Event<'_>) -> ControlFlow<()> {
                match event {
                    Event::Step { done: 2, .. } => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            }
        }
        let (n, apply) = cycles(&[1000]);
        let found = largest_eigenpairs(n, 3, apply, Krylov::default(), Seed(1), &Stop);
        assert_eq!(found, Err(Cancelled));
    }
}
