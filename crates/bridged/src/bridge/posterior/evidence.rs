//! The pairs as factors of the likelihood, in an order of their own.
//!
//! A pair that is noise on either side has no say. Pairs are sorted by what they say, so that the
//! result does not depend on the order in which they were given. Rows that do not belong together follow them: each is
//! the factor of a pair whose output lies everywhere but there ([`Negative`](crate::bridge::Negative)).

use crate::bridge::Votes;
use crate::cluster::NOISE;
use bridged_math::assignment::{Goal, assign};
use bridged_math::cancel::checkpoint;

/// As many maps × pairs are summed over one by one; beyond, they are sampled.
const FEW: f64 = 250_000.0;

/// Memberships below this play no part where there are many clusters.
const SLIGHT: f64 = 1e-6;

/// What the pairs say of the links.
pub(super) struct Evidence {
    /// The numbers of clusters on both sides.
    pub kx: usize,
    pub ky: usize,
    /// Pairs that have a say, and negative answers.
    pub pairs: usize,
    /// p(i|x_s), (pairs, kx).
    pub x: Vec<f64>,
    /// p(j|y_s) / ρ_j, and (1 − p(j|y_s)) / (1 − ρ(y_s)) of negative answers, (pairs, ky).
    pub y: Vec<f64>,
    /// The input clusters that each pair belongs to more than slightly.
    pub near: Vec<Vec<usize>>,
    /// ρ, the share of each output cluster.
    pub share: Vec<f64>,
    /// How many input clusters an output cluster has room for.
    pub seats: usize,
    /// The pairs that are held out in turn: their place here if they have a say, and p(i|x).
    pub held_out: Vec<HeldOut>,
}

/// A pair that the others predict.
pub(super) struct HeldOut {
    pub place: Option<usize>,
    pub x: Vec<f64>,
}

impl Evidence {
    pub fn new(votes: &Votes, held_out: &[usize]) -> Self {
        let (kx, ky) = (votes.x_sizes.len(), votes.y_sizes.len());
        let total: f64 = votes.y_sizes.iter().map(|&n| f64::from(n)).sum();
        let share: Vec<f64> = votes.y_sizes.iter().map(|&n| f64::from(n) / total).collect();
        let speaks = |s: &usize| votes.pairs[*s].x != NOISE && votes.pairs[*s].y != NOISE;
        let (mx, my) = (&votes.x_members, &votes.y_members);
        let mut order: Vec<usize> = (0..votes.pairs.len()).filter(speaks).collect();
        order.sort_by(|&a, &b| {
            let said = |s: usize| mx.row(s).iter().chain(my.row(s));
            said(a)
                .zip(said(b))
                .map(|(u, v)| v.total_cmp(u))
                .find(|o| o.is_ne())
                .unwrap_or(a.cmp(&b))
        });
        let mut place = vec![None; votes.pairs.len()];
        order.iter().enumerate().for_each(|(at, &s)| place[s] = Some(at));
        let held_out = held_out.iter().map(|&s| HeldOut { place: place[s], x: mx.row(s).to_vec() });
        let mut x: Vec<f64> = order.iter().flat_map(|&s| mx.row(s)).copied().collect();
        let mut y: Vec<f64> =
            order.iter().flat_map(|&s| my.row(s).iter().zip(&share).map(|(p, r)| p / r)).collect();
        for (of_x, of_y) in negatives(votes, &share) {
            x.extend(of_x);
            y.extend(of_y);
        }
        Self {
            kx,
            ky,
            pairs: x.len() / kx.max(1),
            near: x
                .chunks_exact(kx.max(1))
                .map(|row| (0..kx).filter(|&i| row[i] >= SLIGHT).collect())
                .collect(),
            x,
            y,
            held_out: held_out.collect(),
            seats: kx.div_ceil(ky),
            share,
        }
    }

    /// Whether nobody has a say.
    pub fn is_empty(&self) -> bool {
        self.pairs == 0
    }

    /// Whether there are few enough maps to sum over all.
    pub fn maps_are_few(&self) -> bool {
        let seats = self.ky * self.seats;
        let one_to_one: f64 = (0..self.kx).map(|i| (seats - i) as f64).product();
        let any = (self.ky as f64).powi(self.kx as i32);
        one_to_one.min(any) * self.pairs.max(1) as f64 <= FEW
    }

    /// mean_s p(i|x_s) p(j|y_s), up to slight memberships, (kx, ky).
    pub fn votes(&self) -> Vec<f64> {
        let mut votes = vec![0.0; self.kx * self.ky];
        for (s, near) in self.near.iter().enumerate() {
            checkpoint();
            for &i in near {
                for j in 0..self.ky {
                    votes[i * self.ky + j] +=
                        self.agreement(s, i, j) * self.share[j] / self.pairs as f64;
                }
            }
        }
        votes
    }

    /// A seat for every input cluster such that the soft votes agree most; seat t is of output
    /// t / seats.
    pub fn best_seats(&self) -> Vec<usize> {
        let (votes, width) = (self.votes(), self.ky * self.seats);
        let places: Vec<f64> = (0..self.kx * width)
            .map(|at| votes[at / width * self.ky + at % width / self.seats])
            .collect();
        let best = assign(&places, self.kx, width, Goal::Maximise);
        best.row_to_col.iter().map(|t| t.expect("there are as many seats as clusters")).collect()
    }

    /// The map of the best seats.
    pub fn best_map(&self) -> Vec<usize> {
        self.best_seats().iter().map(|t| t / self.seats).collect()
    }

    /// What input cluster i adds to the agreement of pair s if it is linked to output j.
    pub fn agreement(&self, s: usize, i: usize, j: usize) -> f64 {
        self.x[s * self.kx + i] * self.y[s * self.ky + j]
    }

    /// m_s(A) of every pair, up to slight memberships.
    pub fn agreements(&self, map: &[usize], out: &mut [f64]) {
        for (s, m) in out.iter_mut().enumerate() {
            *m = self.near[s].iter().map(|&i| self.agreement(s, i, map[i])).sum();
        }
    }
}

/// The memberships of x and the agreements of y of every negative answer that says something, sorted by them.
fn negatives<'v>(votes: &'v Votes, share: &[f64]) -> Vec<(&'v [f64], Vec<f64>)> {
    let said = votes.negatives.iter().filter_map(|n| Some((n.x.as_slice(), n.agreements(share)?)));
    let mut said: Vec<(&[f64], Vec<f64>)> = said.collect();
    said.sort_by(|a, b| {
        let pairs = a.0.iter().chain(&a.1).zip(b.0.iter().chain(&b.1));
        pairs.map(|(u, v)| v.total_cmp(u)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    said
}
