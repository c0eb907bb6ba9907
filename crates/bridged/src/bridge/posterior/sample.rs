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
//! enters the sums with q summed over (Rao and Blackwell). Starts from the best assignment of the
//! soft votes.
//!
//! With f_s = 1 − q + q m_s, an exchange multiplies the likelihood by
//!
//! ```text
//! Π_s (1 + q / f_s · (p(i|x_s) − p(i'|x_s)) · (p(j'|y_s)/ρ_j' − p(j|y_s)/ρ_j))
//! ```
//!
//! a pass over four columns of memberships, which lie in memory as such: O(sweeps · pairs · (kx + grid)).

use super::evidence::Evidence;
use super::reliability::Reliability;
use super::sums::{PosteriorSums, likelihood};
use bridged_math::Seed;
use bridged_math::cancel::checkpoint;
use bridged_math::seed::Rng;
use rand::RngExt;

/// Sweeps before the first one that counts, and those that count.
const WARM_UP: usize = 60;
const SWEEPS: usize = 400;
/// Proposals of a sweep for each input cluster.
const PROPOSALS: usize = 2;
/// Sweeps after which agreements are summed up again, so that rounding does not pile up.
const AFRESH: usize = 16;
/// Products that are formed side by side, since one has to wait for the one before it.
const LANES: usize = 8;

/// Enters draws from the posterior into the sums.
pub(super) fn maps(evidence: &Evidence, prior: &Reliability, sums: &mut PosteriorSums<'_>) {
    let mut rng = Seed(0).child("links of the posterior bridge").rng();
    let mut chain = Chain::new(evidence);
    chain.set_reliability(0.5);
    for sweep in 0..WARM_UP + SWEEPS {
        checkpoint();
        for _ in 0..PROPOSALS * evidence.kx {
            chain.step(&mut rng);
        }
        if sweep % AFRESH == 0 {
            evidence.agreements(&chain.map, &mut chain.agreements);
        }
        let (weights, _) = likelihood(prior, &chain.agreements);
        chain.set_reliability(prior.values[pick(&running_sums(weights), &mut rng)]);
        if sweep >= WARM_UP {
            sums.add_draw(&chain.map, &chain.agreements, &weights);
        }
    }
}

struct Chain<'e> {
    evidence: &'e Evidence,
    map: Vec<usize>,              // output of each input cluster
    seat: Vec<usize>,             // its seat; seat t belongs to output t / seats
    occupant: Vec<Option<usize>>, // the input cluster on a seat
    reliability: f64,             // q
    agreements: Vec<f64>,         // m_s
    rates: Vec<f64>,              // q / f_s
    x: Vec<f64>,                  // p(i|x_s), (kx + 1, pairs); 0 for nobody, the last
    y: Vec<f64>,                  // p(j|y_s) / ρ_j, (ky, pairs)
    votes: Vec<f64>,              // mean_s p(i|x_s) p(j|y_s), (kx, ky)
    x_sums: Vec<f64>,             // running sums of p(i|x_s) over i, (pairs, kx)
    y_sums: Vec<f64>,             // running sums of p(j|y_s) over j, (pairs, ky)
}

/// An input cluster, who is where it wants to go, and both outputs.
#[derive(Clone, Copy)]
struct Exchange {
    i: usize,
    other: Option<usize>,
    from: usize,
    to: usize,
}

impl<'e> Chain<'e> {
    fn new(evidence: &'e Evidence) -> Self {
        let Evidence { kx, ky, pairs, seats, .. } = *evidence;
        let seat = evidence.best_seats();
        let mut occupant = vec![None; ky * seats];
        seat.iter().enumerate().for_each(|(i, &t)| occupant[t] = Some(i));
        let map: Vec<usize> = seat.iter().map(|t| t / seats).collect();
        let mut agreements = vec![0.0; pairs];
        evidence.agreements(&map, &mut agreements);
        let mut x = columns(&evidence.x, pairs, kx);
        x.resize((kx + 1) * pairs, 0.0);
        let of_y = |row: &[f64]| running_sums(row.iter().zip(&evidence.share).map(|(y, r)| y * r));
        Self {
            map,
            seat,
            occupant,
            reliability: 0.0,
            agreements,
            rates: vec![0.0; pairs],
            x,
            y: columns(&evidence.y, pairs, ky),
            votes: evidence.votes(),
            x_sums: evidence
                .x
                .chunks(kx)
                .flat_map(|row| running_sums(row.iter().copied()))
                .collect(),
            y_sums: evidence.y.chunks(ky).flat_map(of_y).collect(),
            evidence,
        }
    }

    /// Goes on with another q.
    fn set_reliability(&mut self, q: f64) {
        self.reliability = q;
        for (rate, &m) in self.rates.iter_mut().zip(&self.agreements) {
            *rate = q / (1.0 - q + q * m.max(0.0));
        }
    }

    /// g(i, j).
    fn proposed(&self, i: usize, j: usize) -> f64 {
        let cells = self.votes.len() as f64;
        0.5 / cells + 0.5 * self.votes[i * self.evidence.ky + j]
    }

    fn step(&mut self, rng: &mut Rng) {
        let Evidence { kx, ky, pairs, seats, .. } = *self.evidence;
        let (i, to) = if pairs == 0 || rng.random::<f64>() < 0.5 {
            (rng.random_range(0..kx), rng.random_range(0..ky))
        } else {
            let s = rng.random_range(0..pairs);
            let (x, y) = (&self.x_sums[s * kx..][..kx], &self.y_sums[s * ky..][..ky]);
            (pick(x, rng), pick(y, rng))
        };
        let seat = to * seats + if seats > 1 { rng.random_range(0..seats) } else { 0 };
        let (from, other) = (self.map[i], self.occupant[seat]);
        if from == to {
            return;
        }
        let (mut there, mut back) = (self.proposed(i, to), self.proposed(i, from));
        if let Some(o) = other {
            there += self.proposed(o, from);
            back += self.proposed(o, to);
        }
        let exchange = Exchange { i, other, from, to };
        if rng.random::<f64>() * there < back * self.gain(exchange) {
            self.make(exchange);
            let left = self.seat[i];
            self.occupant[left] = other;
            self.occupant[seat] = Some(i);
            self.seat[i] = seat;
            if let Some(o) = other {
                self.seat[o] = left;
            }
        }
    }

    /// The columns that an exchange reads: of the two input and of the two output clusters.
    fn columns(&self, Exchange { i, other, from, to }: Exchange) -> [&[f64]; 4] {
        let pairs = self.evidence.pairs;
        let nobody = self.evidence.kx;
        let x = |c: usize| &self.x[c * pairs..][..pairs];
        let y = |c: usize| &self.y[c * pairs..][..pairs];
        [x(i), x(other.unwrap_or(nobody)), y(from), y(to)]
    }

    /// The likelihood after the exchange ÷ before it.
    fn gain(&self, exchange: Exchange) -> f64 {
        let [xi, xo, from, to] = self.columns(exchange);
        let n = xi.len();
        // Slices of one length, so that the loop has no checks and runs in vector registers.
        let (xo, from, to, rates) = (&xo[..n], &from[..n], &to[..n], &self.rates[..n]);
        let factor = |s: usize| 1.0 + rates[s] * (xi[s] - xo[s]) * (to[s] - from[s]);
        let mut products = [1.0; LANES];
        for start in (0..n - n % LANES).step_by(LANES) {
            for (lane, product) in products.iter_mut().enumerate() {
                *product *= factor(start + lane);
            }
        }
        let rest: f64 = (n - n % LANES..n).map(factor).product();
        products.iter().product::<f64>() * rest
    }

    fn make(&mut self, exchange: Exchange) {
        let mut agreements = std::mem::take(&mut self.agreements);
        let [xi, xo, from, to] = self.columns(exchange);
        for (s, m) in agreements.iter_mut().enumerate() {
            *m += (xi[s] - xo[s]) * (to[s] - from[s]);
        }
        self.agreements = agreements;
        self.set_reliability(self.reliability);
        let Exchange { i, other, from, to } = exchange;
        self.map[i] = to;
        if let Some(o) = other {
            self.map[o] = from;
        }
    }
}

/// The columns of a (rows, width) matrix, one after the other.
fn columns(matrix: &[f64], rows: usize, width: usize) -> Vec<f64> {
    (0..width).flat_map(|j| (0..rows).map(move |s| matrix[s * width + j])).collect()
}

/// The sums of the first one, two, … values.
pub(crate) fn running_sums(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let sums = values.into_iter().scan(0.0, |sum, v| {
        *sum += v;
        Some(*sum)
    });
    sums.collect()
}

/// An index with probability proportional to its weight, given the running sums of those.
pub(crate) fn pick(sums: &[f64], rng: &mut Rng) -> usize {
    let at = rng.random::<f64>() * sums[sums.len() - 1];
    sums.partition_point(|&sum| sum <= at).min(sums.len() - 1)
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
                (PosteriorSums::new(&evidence, &prior), PosteriorSums::new(&evidence, &prior));
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
