//! All maps that matter, one by one: input clusters are placed in turn, and each placement adds to
//! the agreement of every pair, so that maps share what their beginnings have in common.
//!
//! A beginning is given up when even the best agreement that the remaining clusters could add,
//! Σ p(i|x_s) · max_j p(j|y_s)/ρ_j over them, leaves every map with it negligible: the likelihood
//! rises with each agreement whatever q is.

use super::evidence::Evidence;
use super::sums::PosteriorSums;

/// Enters every map of input clusters to output clusters with room into the sums.
pub(super) fn all_maps(evidence: &Evidence, sums: &mut PosteriorSums<'_>) {
    sums.expect(&evidence.best_map());
    let Evidence { kx, ky, pairs, .. } = *evidence;
    let mut best = vec![vec![0.0; pairs]; kx + 1];
    for i in (0..kx).rev() {
        for s in 0..pairs {
            let most = evidence.y[s * ky..(s + 1) * ky].iter().fold(0.0, |a: f64, &b| a.max(b));
            best[i][s] = best[i + 1][s] + evidence.x[s * kx + i] * most;
        }
    }
    let mut search = Search {
        evidence,
        map: vec![0; kx],
        taken: vec![0; ky],
        agreements: vec![vec![0.0; pairs]; kx + 1],
        best,
    };
    search.place(0, 1.0, sums);
}

struct Search<'e> {
    evidence: &'e Evidence,
    map: Vec<usize>,
    taken: Vec<usize>,
    agreements: Vec<Vec<f64>>, // of the first i clusters, (kx + 1, pairs)
    best: Vec<Vec<f64>>,       // what clusters from i on can add at most, (kx + 1, pairs)
}

impl Search<'_> {
    /// Places cluster i and all after it; there are `many` ways to seat those before it.
    fn place(&mut self, i: usize, many: f64, sums: &mut PosteriorSums<'_>) {
        let left = self.map.len() - i;
        if left == 0 {
            return sums.add(&self.map, &self.agreements[i], many);
        }
        if i > 0 && left > 2 {
            let most: Vec<f64> =
                self.agreements[i].iter().zip(&self.best[i]).map(|(a, b)| a + b).collect();
            if sums.passes_over(&most, many * (self.evidence.seats as f64).powi(left as i32)) {
                return;
            }
        }
        for j in 0..self.evidence.ky {
            let free = self.evidence.seats - self.taken[j];
            if free == 0 {
                continue;
            }
            let (before, after) = self.agreements.split_at_mut(i + 1);
            for (s, (next, now)) in after[0].iter_mut().zip(&before[i]).enumerate() {
                *next = now + self.evidence.agreement(s, i, j);
            }
            self.map[i] = j;
            self.taken[j] += 1;
            self.place(i + 1, many * free as f64, sums);
            self.taken[j] -= 1;
        }
    }
}
