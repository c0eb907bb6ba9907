//! Random walks on the graph of nearest neighbours of each pool: rows whose walks end at the same pairs belong
//! together.
//!
//! ```text
//! K = I + (N + Nᵀ)/2,   N_ij = exp(−d_ij²/σ_i²) for the neighbours j of i, σ_i the distance to the last of them
//! P = D⁻¹ K,   F(i, s) = (Pᵗ)_is at the rows s of the pairs
//! u(i) = −ln(1/n + F(i, ·)),   score(x, y) = −‖u(x) − u(y)‖
//! ```
//!
//! A walk follows the shape of its pool, which no distance between far rows does, and the pairs make the ends of
//! walks on one side comparable with those on the other. 1/n is where a walk that knows nothing ends.
//! After MASH (Rustad et al. 2024, *arXiv 2410.22978*), in which one walk runs over both pools: here each pool has
//! its own, so that a pair is left out by leaving out its column.

use bridged_math::Matrix;
use bridged_math::graph::Graph;
use bridged_math::neighbors::Nearest;

/// A walk of so many steps among so many neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Walk {
    pub neighbours: usize,
    pub steps: usize,
}

/// A far walk along few neighbours, and a near one along many.
pub(crate) const WALKS: [Walk; 2] =
    [Walk { neighbours: 5, steps: 10 }, Walk { neighbours: 10, steps: 5 }];

/// exp(−d²/σ²), where σ is the last of the distances; 1 among rows that are all equal.
pub(super) fn weight(squared: f64, all: &[f64]) -> f64 {
    let sigma = all.last().copied().unwrap_or(0.0);
    if sigma > 0.0 { (-squared / sigma).exp() } else { 1.0 }
}

impl Walk {
    /// F of the nodes, of which the first are the landmarks, from the nearest others of each.
    pub fn ends(self, nearest: &Nearest, nodes: usize, landmarks: usize) -> Matrix {
        let mut lists: Vec<Vec<(u32, f64)>> = (0..nodes).map(|i| vec![(i as u32, 1.0)]).collect();
        let count = self.neighbours.min(nearest.k);
        for i in 0..nodes {
            let squared = &nearest.squared_of(i)[..count];
            for (&j, &s) in nearest.rows_of(i).iter().zip(squared) {
                let half = 0.5 * weight(s, squared);
                lists[i].push((j, half));
                lists[j as usize].push((i as u32, half));
            }
        }
        let graph = Graph::from_lists(lists);
        // P = D^{-1/2} N D^{1/2} for N = D^{-1/2} K D^{-1/2}.
        let mut now = vec![0.0; nodes * landmarks];
        for l in 0..landmarks {
            now[l * landmarks + l] = graph.scale()[l].recip();
        }
        let mut next = vec![0.0; now.len()];
        for _ in 0..self.steps {
            graph.apply(landmarks, &now, &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        Matrix::from_fn(nodes, landmarks, |i, l| (now[i * landmarks + l] * graph.scale()[i]) as f32)
    }
}

/// u of the ends of walks: −ln(1/n + F).
pub(super) fn surprise(ends: impl Iterator<Item = f64>, nodes: usize) -> Vec<f64> {
    let floor = 1.0 / nodes.max(1) as f64;
    ends.map(|end| -(floor + end).ln()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::neighbors::{Neighbors, Own};

    #[test]
    fn the_ends_of_walks_are_powers_of_the_matrix_of_steps() {
        let x = Matrix::from_fn(9, 2, |i, c| ((i * (5 + 2 * c)) % 11) as f32);
        let nearest = Neighbors::new(x.view()).nearest_of_own(4, Own::Excluded);
        let walk = Walk { neighbours: 3, steps: 4 };
        let found = walk.ends(&nearest, 9, 2);
        let mut k = vec![vec![0.0; 9]; 9];
        for i in 0..9 {
            k[i][i] += 1.0;
            let squared = &nearest.squared_of(i)[..3];
            for (&j, &s) in nearest.rows_of(i).iter().zip(squared) {
                k[i][j as usize] += 0.5 * (-s / squared[2]).exp();
                k[j as usize][i] += 0.5 * (-s / squared[2]).exp();
            }
        }
        let mut now = vec![[1.0, 0.0], [0.0, 1.0]];
        now.resize(9, [0.0, 0.0]);
        for _ in 0..4 {
            let step = |i: usize| {
                let total: f64 = k[i].iter().sum();
                [0, 1].map(|l| (0..9).map(|j| k[i][j] * now[j][l]).sum::<f64>() / total)
            };
            now = (0..9).map(step).collect();
        }
        for i in 0..9 {
            for l in 0..2 {
                assert!((f64::from(found.row(i)[l]) - now[i][l]).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn walks_do_not_leave_what_hangs_together() {
        // Two groups of four, and one landmark in each.
        let place = [0.0, 50.0, 1.0, 2.0, 3.0, 51.0, 52.0, 53.0];
        let x = Matrix::from_fn(8, 1, |i, _| place[i]);
        let nearest = Neighbors::new(x.view()).nearest_of_own(3, Own::Excluded);
        let ends = Walk { neighbours: 3, steps: 6 }.ends(&nearest, 8, 2);
        for i in 0..8 {
            let own = usize::from(place[i] > 25.0);
            assert!(ends.row(i)[own] > 0.1 && ends.row(i)[1 - own] == 0.0);
        }
    }
}
