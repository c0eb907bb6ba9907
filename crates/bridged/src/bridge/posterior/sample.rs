//! Maps drawn from their posterior by a Markov chain, where there are too many to sum over.
//!
//! Output clusters have seats; a state seats every input cluster. A step takes an input cluster i
//! and a seat t and exchanges what is on t with i (Metropolis and Hastings). Half of the proposals
//! are uniform, half follow the pairs:
//!
//! ```text
//! g(i, j) = ½ / (kx · ky) + ½ · mean_s p(i|x_s) p(j|y_s)
//! ```
//!
//! i ↔ i' is proposed as (i, j') or as (i', j), so the ratio of proposals is that of
//! g(i, j) + g(i', j') to g(i, j') + g(i', j). After each sweep q is drawn given the map, and the map
//! enters the ledger with q summed over (Rao and Blackwell). Starts from the best assignment of the
//! soft votes. O(sweeps · (kx · pairs of two clusters + pairs · grid)).

use super::evidence::Evidence;
use super::ledger::Ledger;
use super::reliability::Reliability;
use bridged_math::Seed;
use bridged_math::seed::Rng;
use rand::RngExt;

/// Sweeps before the first one that counts, and those that count.
const WARM_UP: usize = 60;
const SWEEPS: usize = 400;
/// Proposals of a sweep for each input cluster.
const PROPOSALS: usize = 2;

/// Enters draws from the posterior into the ledger.
pub(super) fn maps(evidence: &Evidence, prior: &Reliability, ledger: &mut Ledger<'_>) {
    let mut rng = Seed(0).child("links of the posterior bridge").rng();
    let mut chain = Chain::new(evidence);
    let mut reliability = 0.5;
    for sweep in 0..WARM_UP + SWEEPS {
        for _ in 0..PROPOSALS * evidence.kx {
            chain.step(reliability, &mut rng);
        }
        evidence.agreements(&chain.map, &mut chain.agreements);
        let (weights, _) = Ledger::likelihood(prior, &chain.agreements);
        reliability = prior.values[pick(&weights, &mut rng)];
        if sweep >= WARM_UP {
            ledger.add_draw(&chain.map, &chain.agreements);
        }
    }
}

struct Chain<'e> {
    evidence: &'e Evidence,
    map: Vec<usize>,            // output of each input cluster
    seat: Vec<usize>,           // its seat; seat t belongs to output t / seats
    sitter: Vec<Option<usize>>, // who is on a seat
    agreements: Vec<f64>,       // m_s
    voters: Vec<Vec<usize>>,    // pairs that belong to each input cluster at all
    votes: Vec<f64>,            // mean_s p(i|x_s) p(j|y_s), (kx, ky)
}

impl<'e> Chain<'e> {
    fn new(evidence: &'e Evidence) -> Self {
        let Evidence { kx, ky, pairs, seats, .. } = *evidence;
        let (mut voters, seat) = (vec![Vec::new(); kx], evidence.best_seats());
        for (s, near) in evidence.near.iter().enumerate() {
            near.iter().for_each(|&i| voters[i].push(s));
        }
        let mut sitter = vec![None; ky * seats];
        seat.iter().enumerate().for_each(|(i, &t)| sitter[t] = Some(i));
        let map: Vec<usize> = seat.iter().map(|t| t / seats).collect();
        let mut agreements = vec![0.0; pairs];
        evidence.agreements(&map, &mut agreements);
        Self { evidence, map, seat, sitter, agreements, voters, votes: evidence.votes() }
    }

    /// g(i, j).
    fn proposed(&self, i: usize, j: usize) -> f64 {
        let cells = self.votes.len() as f64;
        0.5 / cells + 0.5 * self.votes[i * self.evidence.ky + j]
    }

    fn step(&mut self, q: f64, rng: &mut Rng) {
        let Evidence { kx, ky, pairs, seats, .. } = *self.evidence;
        let (i, to) = if pairs == 0 || rng.random::<f64>() < 0.5 {
            (rng.random_range(0..kx), rng.random_range(0..ky))
        } else {
            let s = rng.random_range(0..pairs);
            let x = &self.evidence.x[s * kx..(s + 1) * kx];
            let y: Vec<f64> =
                (0..ky).map(|j| self.evidence.y[s * ky + j] * self.evidence.share[j]).collect();
            (pick(x, rng), pick(&y, rng))
        };
        let seat = to * seats + if seats > 1 { rng.random_range(0..seats) } else { 0 };
        let (from, other) = (self.map[i], self.sitter[seat]);
        if from == to {
            return;
        }
        let (mut there, mut back) = (self.proposed(i, to), self.proposed(i, from));
        if let Some(o) = other {
            there += self.proposed(o, from);
            back += self.proposed(o, to);
        }
        if rng.random::<f64>() * there < back * self.gain(i, other, from, to, q) {
            self.exchange(i, other, from, to);
            let left = self.seat[i];
            self.sitter[left] = other;
            self.sitter[seat] = Some(i);
            self.seat[i] = seat;
            if let Some(o) = other {
                self.seat[o] = left;
            }
        }
    }

    /// What the exchange adds to the agreement of pair s.
    fn change(&self, s: usize, i: usize, other: Option<usize>, from: usize, to: usize) -> f64 {
        let Evidence { kx, ky, .. } = *self.evidence;
        let x = |c: usize| self.evidence.x[s * kx + c];
        let weight = x(i) - other.map_or(0.0, x);
        weight * (self.evidence.y[s * ky + to] - self.evidence.y[s * ky + from])
    }

    /// Pairs of i, and those of the other that are not pairs of i.
    fn affected(&self, i: usize, other: Option<usize>) -> impl Iterator<Item = usize> {
        let more = other.map_or(&[][..], |o| &self.voters[o]);
        let more = more.iter().filter(move |s| !self.evidence.near[**s].contains(&i));
        self.voters[i].iter().chain(more).copied()
    }

    /// The likelihood after the exchange ÷ before it.
    fn gain(&self, i: usize, other: Option<usize>, from: usize, to: usize, q: f64) -> f64 {
        self.affected(i, other)
            .map(|s| {
                let (m, change) = (self.agreements[s], self.change(s, i, other, from, to));
                (1.0 - q + q * (m + change).max(0.0)) / (1.0 - q + q * m.max(0.0))
            })
            .product()
    }

    fn exchange(&mut self, i: usize, other: Option<usize>, from: usize, to: usize) {
        for s in self.affected(i, other).collect::<Vec<_>>() {
            self.agreements[s] += self.change(s, i, other, from, to);
        }
        self.map[i] = to;
        if let Some(o) = other {
            self.map[o] = from;
        }
    }
}

/// An index with probability proportional to its weight.
fn pick(weights: &[f64], rng: &mut Rng) -> usize {
    let mut at = rng.random::<f64>() * weights.iter().sum::<f64>();
    let found = weights.iter().position(|w| {
        at -= w;
        at < 0.0
    });
    found.unwrap_or(weights.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::super::enumerate::all_maps;
    use super::*;
    use crate::bridge::{PairVote, Votes};

    /// Pairs with random soft memberships that follow the identity three times of four.
    fn blurred(kx: usize, ky: usize, pairs: usize, seed: u64) -> Votes {
        let mut rng = Seed(seed).rng();
        let all = (0..pairs).map(|_| {
            let x = rng.random_range(0..kx);
            let y = if rng.random::<f64>() < 0.75 { x % ky } else { rng.random_range(0..ky) };
            PairVote { x: x as u32, y: y as u32, x_depth: 1.0, y_depth: 1.0 }
        });
        let all: Vec<PairVote> = all.collect();
        let mut votes = Votes::hard(all, vec![10; kx], (0..ky as u32).map(|j| 8 + j).collect());
        for members in [&mut votes.x_members, &mut votes.y_members] {
            for row in members.weights.chunks_exact_mut(members.k) {
                row.iter_mut().for_each(|w| *w += 0.4 * rng.random::<f64>());
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|w| *w /= sum);
            }
            members.clarity = 0.8;
        }
        votes
    }

    #[test]
    fn sampled_links_agree_with_the_sum_over_all_maps() {
        let prior = Reliability::new(0.6, 4.0);
        for (kx, ky, pairs) in [(3, 3, 3), (5, 5, 9), (7, 7, 14), (4, 6, 8), (6, 3, 10), (7, 7, 0)]
        {
            let votes = blurred(kx, ky, pairs, 40 + pairs as u64);
            let held: Vec<usize> = (0..pairs.min(4)).collect();
            let evidence = Evidence::new(&votes, &held);
            let (mut exact, mut drawn) =
                (Ledger::new(&evidence, &prior), Ledger::new(&evidence, &prior));
            all_maps(&evidence, &mut exact);
            maps(&evidence, &prior, &mut drawn);
            let ((a, q), (b, r)) = (exact.links(), drawn.links());
            assert!((q - r).abs() < 0.03, "{kx} {ky}: {q} {r}");
            let worst = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 0.08, "{kx} {ky}: {worst}");
            for (a, b) in exact.held_out().iter().zip(&drawn.held_out()) {
                let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 0.1, "{kx} {ky}: {worst}");
            }
        }
    }
}
