//! What one more pair is expected to do to the regressions on the pairs.
//!
//! ```text
//! φ(x)   = memberships of the row in all cuts, each of length 1/√cuts            K(x, x') = ⟨φ(x), φ(x')⟩
//! Σ      = (I + Σ_s φ_s φ_sᵀ / λ)⁻¹                                              what the pairs leave open
//! fall   = φᵀ Σ M Σ φ / (λ + φᵀ Σ φ),     M = mean over the pool of φ φᵀ          of the mean of φᵀ Σ φ over the pool
//! ```
//!
//! The error of a ridge regression with that kernel, whatever the outputs turn out to be, falls by that share of their
//! variance (Cohn et al. 1996). After an answer Σ is smaller by Σ φ φᵀ Σ / (λ + φᵀ Σ φ).
//! O(width³) a question, and the square of the few clusters that a row belongs to for a row.

use bridged_math::linalg::{Accum, View, cholesky, invert_lower, product};

/// λ, as of the regressions.
const RIDGE: f64 = 0.3;
/// Memberships below this play no part.
const SLIGHT: f64 = 0.05;

/// The features of a row that are not slight.
pub(super) type Features = Vec<(u32, f64)>;

/// What the pairs leave open.
pub(super) struct Coverage {
    width: usize,
    open: Vec<f64>,  // Σ
    mean: Vec<f64>,  // M
    falls: Vec<f64>, // Σ M Σ
}

impl Coverage {
    /// Of a pool whose rows have these features, after these pairs.
    pub fn new(width: usize, pool: &[Features], pairs: &[&Features]) -> Self {
        let mut mean = vec![0.0; width * width];
        for row in pool {
            add_outer(&mut mean, width, row, 1.0 / pool.len() as f64);
        }
        let mut precision = vec![0.0; width * width];
        (0..width).for_each(|at| precision[at * width + at] = 1.0);
        for row in pairs {
            add_outer(&mut precision, width, row, 1.0 / RIDGE);
        }
        let factor = cholesky(&precision, width).expect("the identity plus squares");
        let inverse = invert_lower(&factor, width);
        let mut open = vec![0.0; width * width];
        let lower = View::new(&inverse, width, width);
        product(lower.t(), lower, Accum::Replace, &mut open);
        let mut coverage = Self { width, open, mean, falls: vec![0.0; width * width] };
        coverage.refresh();
        coverage
    }

    fn refresh(&mut self) {
        let (w, mut half) = (self.width, vec![0.0; self.width * self.width]);
        let open = View::new(&self.open, w, w);
        product(open, View::new(&self.mean, w, w), Accum::Replace, &mut half);
        product(View::new(&half, w, w), open, Accum::Replace, &mut self.falls);
    }

    /// The share of the variance by which the error falls.
    pub fn fall(&self, row: &Features) -> f64 {
        quadratic(&self.falls, self.width, row) / (RIDGE + quadratic(&self.open, self.width, row))
    }

    /// Goes on after an answer about this row.
    pub fn answered(&mut self, row: &Features) {
        let w = self.width;
        let mut along = vec![0.0; w];
        for &(at, value) in row {
            let column = &self.open[at as usize * w..][..w];
            along.iter_mut().zip(column).for_each(|(a, o)| *a += value * o);
        }
        let scale = 1.0 / (RIDGE + row.iter().map(|&(at, v)| v * along[at as usize]).sum::<f64>());
        for (a, out) in along.iter().zip(self.open.chunks_exact_mut(w)) {
            out.iter_mut().zip(&along).for_each(|(o, b)| *o -= scale * a * b);
        }
        self.refresh();
    }
}

fn add_outer(to: &mut [f64], width: usize, row: &Features, scale: f64) {
    for &(a, u) in row {
        for &(b, v) in row {
            to[a as usize * width + b as usize] += scale * u * v;
        }
    }
}

fn quadratic(of: &[f64], width: usize, row: &Features) -> f64 {
    let along = |&(a, u): &(u32, f64)| {
        u * row.iter().map(|&(b, v)| of[a as usize * width + b as usize] * v).sum::<f64>()
    };
    row.iter().map(along).sum()
}

/// The features of rows with these memberships in each cut, (rows, k) each.
pub(super) fn features(members: &[Vec<f64>], widths: &[usize]) -> Vec<Features> {
    let rows = members.first().zip(widths.first()).map_or(0, |(m, k)| m.len() / k.max(&1));
    let scale = 1.0 / (widths.len() as f64).sqrt();
    (0..rows)
        .map(|row| {
            let mut found = Vec::new();
            let mut start = 0;
            for (all, &k) in members.iter().zip(widths) {
                let of = &all[row * k..(row + 1) * k];
                let length = of.iter().map(|p| p * p).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
                let near = of.iter().enumerate().filter(|(_, p)| **p / length > SLIGHT);
                found.extend(near.map(|(i, p)| ((start + i) as u32, scale * p / length)));
                start += k;
            }
            found
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUTS: [usize; 2] = [2, 3];

    fn pool() -> Vec<Features> {
        let of = |s: usize| {
            let p = 0.55 + 0.06 * (s % 7) as f64;
            let (q, r) = (0.3 + 0.1 * (s % 3) as f64, 0.2);
            ([p, 1.0 - p], [[q, r, 1.0 - q - r], [1.0 - q - r, q, r]][s % 2])
        };
        let coarse: Vec<f64> = (0..12).flat_map(|s| of(s).0).collect();
        let fine: Vec<f64> = (0..12).flat_map(|s| of(s).1).collect();
        features(&[coarse, fine], &CUTS)
    }

    fn kernel(a: &Features, b: &Features) -> f64 {
        a.iter().flat_map(|(i, u)| b.iter().filter(move |o| o.0 == *i).map(move |o| u * o.1)).sum()
    }

    /// The mean over the pool of the variance that a Gaussian process keeps after these rows, by its textbook formula.
    fn left(pool: &[Features], known: &[&Features]) -> f64 {
        let n = known.len();
        let mut gram: Vec<f64> =
            (0..n * n).map(|at| kernel(known[at / n], known[at % n])).collect();
        (0..n).for_each(|s| gram[s * n + s] += RIDGE);
        let factor = cholesky(&gram, n).unwrap();
        let of = |row: &Features| {
            let along: Vec<f64> = known.iter().map(|k| kernel(row, k)).collect();
            let mut solved = along.clone();
            bridged_math::linalg::solve_cholesky(&factor, n, &mut solved, 1);
            kernel(row, row) - along.iter().zip(&solved).map(|(a, b)| a * b).sum::<f64>()
        };
        pool.iter().map(of).sum::<f64>() / pool.len() as f64
    }

    #[test]
    fn the_fall_is_the_variance_that_one_more_pair_takes_away() {
        let pool = pool();
        let known = [&pool[0], &pool[5]];
        let mut coverage = Coverage::new(5, &pool, &known);
        for row in [3, 8] {
            let more = [&known[..], &[&pool[row]]].concat();
            let fall = left(&pool, &known) - left(&pool, &more);
            assert!((coverage.fall(&pool[row]) - fall).abs() < 1e-9);
        }
        coverage.answered(&pool[3]);
        let known = [known[0], known[1], &pool[3]];
        let fall = left(&pool, &known) - left(&pool, &[&known[..], &[&pool[8]]].concat());
        assert!((coverage.fall(&pool[8]) - fall).abs() < 1e-9, "after an answer");
    }

    #[test]
    fn a_row_of_length_one_in_every_cut_has_length_one() {
        for row in pool() {
            let length: f64 = row.iter().map(|(_, v)| v * v).sum();
            assert!((length - 1.0).abs() < 0.01, "slight memberships play no part: {length}");
        }
    }
}
