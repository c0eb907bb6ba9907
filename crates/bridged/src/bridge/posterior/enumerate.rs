//! All maps, one by one: input clusters are placed in turn, and each placement adds to the
//! agreement of every pair, so that maps share what their beginnings have in common.

use super::evidence::Evidence;
use super::ledger::Ledger;

/// Enters every map of input clusters to output clusters with room into the ledger.
pub(super) fn all_maps(evidence: &Evidence, ledger: &mut Ledger<'_>) {
    ledger.expect(&evidence.best_map());
    let mut search = Search {
        evidence,
        map: vec![0; evidence.kx],
        taken: vec![0; evidence.ky],
        agreements: vec![vec![0.0; evidence.pairs]; evidence.kx + 1],
    };
    search.place(0, 1.0, ledger);
}

struct Search<'e> {
    evidence: &'e Evidence,
    map: Vec<usize>,
    taken: Vec<usize>,
    agreements: Vec<Vec<f64>>, // of the first i clusters, (kx + 1, pairs)
}

impl Search<'_> {
    /// Places cluster i and all after it; there are `many` ways to seat those before it.
    fn place(&mut self, i: usize, many: f64, ledger: &mut Ledger<'_>) {
        if i == self.map.len() {
            return ledger.add(&self.map, &self.agreements[i], many);
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
            self.place(i + 1, many * free as f64, ledger);
            self.taken[j] -= 1;
        }
    }
}
