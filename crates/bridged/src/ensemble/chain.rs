//! Links between two cuts by a Markov chain over maps, with geometry and masses as priors.
//!
//! ```text
//! P(A, q) ∝ P(q) Π_s (1 − q + q m_s(A)) · exp(γ k G(A)) · Π_i ρ_A(i) · exp(−κ k Σ_j |Σ_{i→j} σ_i − ρ_j|)
//! G(A)    = Σ_ii' K_ii' L_A(i)A(i') + 2 Σ_is K_is L_A(i)s
//! P(j|i)  = E[q 1(A(i) = j)] + (1 − E[q]) ρ_j
//! ```
//!
//! The agreement m_s and the reliability q are those of the posterior bridge, K and L the
//! [`geometry`](super::geometry) of both sides, σ and ρ the shares of their clusters. Cuts into clusters of one
//! size are linked one-to-one; others many-to-one, where an output is linked as often as its share (or tiny clusters of
//! outliers would draw every prediction), the prior on masses (κ = 2) keeps clusters from crowding into one output,
//! and half of the moves exchange two outputs. Half of the proposals follow the
//! pairs. A chain over fewer pairs begins where that over all pairs ended. O(k (k + pairs nearby)) a sweep.

use super::geometry::Alikeness;
use crate::bridge::{GRID, Reliability, likelihood, pick, running_sums};
use bridged_math::Seed;
use bridged_math::assignment::{Goal, assign};
use bridged_math::cancel::checkpoint;
use bridged_math::seed::Rng;
use rand::RngExt;

/// γ: how much geometry counts.
const GEOMETRY: f64 = 4.0;
/// κ: how much masses count.
const MASS: f64 = 2.0;
/// Memberships below this play no part.
const SLIGHT: f64 = 1e-3;
/// Proposals of a sweep for each input cluster.
const PROPOSALS: usize = 2;

/// How long a chain runs.
#[derive(Clone, Copy)]
pub(super) struct Sweeps {
    pub warm_up: usize,
    pub counted: usize,
}

/// What is linked, seen from the input side.
pub(super) struct Task<'a> {
    /// Shares of the clusters: σ and ρ.
    pub shares: (&'a [f64], &'a [f64]),
    /// Memberships of all pairs on both sides, (pairs, k).
    pub members: (&'a [f64], &'a [f64]),
    /// The pairs that have a say.
    pub pairs: &'a [usize],
    /// K and L over the clusters and these pairs, if geometry has a say.
    pub geometry: Option<(&'a Alikeness, &'a Alikeness)>,
    /// Whether an output takes one input.
    pub one_to_one: bool,
    /// The mean of the prior of q.
    pub clarity: f64,
    /// Rows that do not belong together: p(i|x), and the agreement of each output.
    pub negatives: &'a [(Vec<f64>, Vec<f64>)],
}

/// The links, and where the chain ended.
pub(super) struct Linked {
    pub links: Vec<f64>,
    pub map: Vec<usize>,
}

/// Runs a chain; from `start`, or from what the pairs and geometry say at once.
pub(super) fn link(task: &Task<'_>, sweeps: Sweeps, seed: Seed, start: Option<&[usize]>) -> Linked {
    let mut rng = seed.rng();
    let mut chain = Chain::new(task, start);
    let prior = Reliability::new(task.clarity, 4.0);
    let (kx, ky) = (chain.kx, chain.ky);
    let (mut sums, mut reliable) = (vec![0.0; kx * ky], 0.0);
    for sweep in 0..sweeps.warm_up + sweeps.counted {
        checkpoint();
        for _ in 0..PROPOSALS * kx {
            chain.step(&mut rng);
        }
        chain.refresh();
        let weights = chain.reliabilities(&prior);
        let total: f64 = weights.iter().sum();
        let mean = weights.iter().zip(&prior.values).map(|(w, q)| w * q).sum::<f64>() / total;
        chain.set_reliability(prior.values[pick(&running_sums(weights), &mut rng)]);
        if sweep >= sweeps.warm_up {
            reliable += mean;
            chain.map.iter().enumerate().for_each(|(i, &j)| sums[i * ky + j] += mean);
        }
    }
    let counted = sweeps.counted.max(1) as f64;
    let reliability = reliable / counted;
    let share = |(at, s): (usize, &f64)| s / counted + (1.0 - reliability) * task.shares.1[at % ky];
    Linked { links: sums.iter().enumerate().map(share).collect(), map: chain.map }
}

struct Chain<'a> {
    task: &'a Task<'a>,
    kx: usize,
    ky: usize,
    map: Vec<usize>,
    of_output: Vec<usize>, // the input of each output, where links are one-to-one
    load: Vec<f64>,        // Σ_{i→j} σ_i
    x: Vec<f64>,           // p(i|x_s), (kx, pairs and negatives)
    y: Vec<f64>,           // p(j|y_s) / ρ_j, (ky, the same)
    near: Vec<Vec<u32>>,   // the pairs that belong to an input cluster more than slightly
    votes: Vec<f64>,       // mean_s p(i|x_s) p(j|y_s), (kx, ky)
    anchors: Vec<f64>,     // Σ_s K_is L_js, (kx, ky)
    x_sums: Vec<Vec<f64>>, // running sums of p(·|x_s)
    y_sums: Vec<Vec<f64>>,
    agreements: Vec<f64>,
    rates: Vec<f64>, // q / (1 − q + q m_s)
    reliability: f64,
}

impl<'a> Chain<'a> {
    fn new(task: &'a Task<'a>, start: Option<&[usize]>) -> Self {
        let (kx, ky) = (task.shares.0.len(), task.shares.1.len());
        let n = task.pairs.len() + task.negatives.len();
        let column = |members: &[f64], k: usize, c: usize| -> Vec<f64> {
            task.pairs.iter().map(|s| members[s * k + c]).collect()
        };
        let x: Vec<f64> = (0..kx)
            .flat_map(|i| {
                let negatives = task.negatives.iter().map(move |(x, _)| x[i]);
                column(task.members.0, kx, i).into_iter().chain(negatives)
            })
            .collect();
        let y: Vec<f64> = (0..ky)
            .flat_map(|j| {
                let share = task.shares.1[j];
                let negatives = task.negatives.iter().map(move |(_, y)| y[j]);
                column(task.members.1, ky, j).into_iter().map(move |p| p / share).chain(negatives)
            })
            .collect();
        let near: Vec<Vec<u32>> = (0..kx)
            .map(|i| (0..n as u32).filter(|&s| x[i * n + s as usize] >= SLIGHT).collect())
            .collect();
        let mut votes = vec![0.0; kx * ky];
        for i in 0..kx {
            for j in 0..ky {
                let of = |&s: &u32| x[i * n + s as usize] * y[j * n + s as usize];
                let sum: f64 = near[i].iter().map(of).sum();
                votes[i * ky + j] = sum * task.shares.1[j] / n.max(1) as f64;
            }
        }
        let mut anchors = vec![0.0; kx * ky];
        if let Some((k, l)) = task.geometry {
            for i in 0..kx {
                for j in 0..ky {
                    let products = k.to_pairs(i).iter().zip(l.to_pairs(j));
                    anchors[i * ky + j] = products.map(|(a, b)| a * b).sum();
                }
            }
        }
        let map = start.map_or_else(
            || {
                let scale = GEOMETRY * kx as f64;
                let gain = votes.iter().zip(&anchors).map(|(v, a)| v * n as f64 + scale * a);
                let best = assign(&gain.collect::<Vec<f64>>(), kx, ky, Goal::Maximise).row_to_col;
                best.iter().enumerate().map(|(i, j)| j.unwrap_or(i % ky)).collect()
            },
            <[usize]>::to_vec,
        );
        let mut of_output = vec![0; ky];
        let mut load = vec![0.0; ky];
        for (i, &j) in map.iter().enumerate() {
            of_output[j] = i;
            load[j] += task.shares.0[i];
        }
        let sums = |members: &[f64], k: usize| -> Vec<Vec<f64>> {
            task.pairs
                .iter()
                .map(|s| running_sums(members[s * k..(s + 1) * k].iter().copied()))
                .collect()
        };
        let (mut x_sums, mut y_sums) = (sums(task.members.0, kx), sums(task.members.1, ky));
        for (x, y) in task.negatives {
            x_sums.push(running_sums(x.iter().copied()));
            y_sums.push(running_sums(y.iter().zip(task.shares.1).map(|(y, share)| y * share)));
        }
        let mut chain = Self {
            x_sums,
            y_sums,
            task,
            kx,
            ky,
            map,
            of_output,
            load,
            x,
            y,
            near,
            votes,
            anchors,
            agreements: vec![0.0; n],
            rates: vec![0.0; n],
            reliability: 0.5,
        };
        chain.refresh();
        chain.set_reliability(0.5);
        chain
    }

    /// Sums the agreements up afresh, so that rounding does not pile up.
    fn refresh(&mut self) {
        let n = self.agreements.len();
        self.agreements.fill(0.0);
        for (i, near) in self.near.iter().enumerate() {
            let (x, y) = (&self.x[i * n..][..n], &self.y[self.map[i] * n..][..n]);
            for &s in near {
                self.agreements[s as usize] += x[s as usize] * y[s as usize];
            }
        }
    }

    fn rate(&self, agreement: f64) -> f64 {
        let q = self.reliability;
        q / (1.0 - q + q * agreement.max(0.0))
    }

    fn set_reliability(&mut self, q: f64) {
        self.reliability = q;
        for s in 0..self.rates.len() {
            self.rates[s] = self.rate(self.agreements[s]);
        }
    }

    /// P(q | A), up to a factor.
    fn reliabilities(&self, prior: &Reliability) -> [f64; GRID] {
        likelihood(prior, &self.agreements).0
    }

    /// How often a link is proposed.
    fn proposed(&self, i: usize, j: usize) -> f64 {
        0.5 / self.votes.len() as f64 + 0.5 * self.votes[i * self.ky + j]
    }

    fn step(&mut self, rng: &mut Rng) {
        let n = self.agreements.len();
        let guided = n > 0 && rng.random::<f64>() < 0.5;
        let (i, to) = if guided {
            let s = rng.random_range(0..n);
            (pick(&self.x_sums[s], rng), pick(&self.y_sums[s], rng))
        } else {
            (rng.random_range(0..self.kx), rng.random_range(0..self.ky))
        };
        if self.task.one_to_one {
            let other = self.of_output[to];
            let from = self.map[i];
            if from == to {
                return;
            }
            let back = self.proposed(i, from) + self.proposed(other, to);
            let there = self.proposed(i, to) + self.proposed(other, from);
            self.try_exchange(i, other, back / there, rng);
        } else if !guided && rng.random::<f64>() < 0.5 {
            let other = rng.random_range(0..self.kx);
            if self.map[i] != self.map[other] {
                self.try_exchange(i, other, 1.0, rng);
            }
        } else if self.map[i] != to {
            // Half of the blind proposals were exchanges.
            let blind = 0.25 / self.votes.len() as f64;
            let proposed = |j: usize| blind + 0.5 * self.votes[i * self.ky + j];
            self.try_move(i, to, proposed(self.map[i]) / proposed(to), rng);
        }
    }

    /// Exchanges the outputs of two inputs, or not.
    fn try_exchange(&mut self, i: usize, other: usize, odds: f64, rng: &mut Rng) {
        let n = self.agreements.len();
        let (from, to) = (self.map[i], self.map[other]);
        let mut log = 0.0;
        if let Some((k, l)) = self.task.geometry {
            let (ki, ko, lt, lf) = (k.row(i), k.row(other), l.row(to), l.row(from));
            let mut gain = 0.0;
            for (a, &j) in self.map.iter().enumerate() {
                gain += (ki[a] - ko[a]) * (lt[j] - lf[j]);
            }
            gain -= (ki[i] - ko[i]) * (lt[from] - lf[from]);
            gain -= (ki[other] - ko[other]) * (lt[to] - lf[to]);
            let own = (k.of(i, i) - k.of(other, other)) * (l.of(to, to) - l.of(from, from));
            let anchor = |a: usize, j: usize| self.anchors[a * self.ky + j];
            let anchors = anchor(i, to) - anchor(i, from) - anchor(other, to) + anchor(other, from);
            log += GEOMETRY * self.kx as f64 * (2.0 * gain + own + 2.0 * anchors);
        }
        let moved = self.task.shares.0[i] - self.task.shares.0[other];
        if !self.task.one_to_one {
            log -= self.mass_gain(from, to, moved);
        }
        let (xi, xo) = (&self.x[i * n..][..n], &self.x[other * n..][..n]);
        let (yf, yt) = (&self.y[from * n..][..n], &self.y[to * n..][..n]);
        let mut ratio = odds * log.exp();
        for &s in &self.near[i] {
            let s = s as usize;
            ratio *= 1.0 + self.rates[s] * (xi[s] - xo[s]) * (yt[s] - yf[s]);
        }
        for &s in &self.near[other] {
            let s = s as usize;
            if xi[s] < SLIGHT {
                ratio *= 1.0 - self.rates[s] * xo[s] * (yt[s] - yf[s]);
            }
        }
        if rng.random::<f64>() >= ratio {
            return;
        }
        (self.map[i], self.map[other]) = (to, from);
        (self.of_output[to], self.of_output[from]) = (i, other);
        self.load[from] -= moved;
        self.load[to] += moved;
        self.rejoin(i, from, to, 1.0);
        self.rejoin(other, from, to, -1.0);
    }

    /// Leads an input to another output, or not.
    fn try_move(&mut self, i: usize, to: usize, odds: f64, rng: &mut Rng) {
        let (n, from) = (self.agreements.len(), self.map[i]);
        let mut log = 0.0;
        if let Some((k, l)) = self.task.geometry {
            let (ki, lt, lf) = (k.row(i), l.row(to), l.row(from));
            let mut gain = 0.0;
            for (a, &j) in self.map.iter().enumerate() {
                gain += ki[a] * (lt[j] - lf[j]);
            }
            gain -= ki[i] * (lt[from] - lf[from]);
            let own = k.of(i, i) * (l.of(to, to) - l.of(from, from));
            let anchors = self.anchors[i * self.ky + to] - self.anchors[i * self.ky + from];
            log += GEOMETRY * self.kx as f64 * (2.0 * gain + own + 2.0 * anchors);
        }
        let share = self.task.shares.0[i];
        log -= self.mass_gain(from, to, share);
        let x = &self.x[i * n..][..n];
        let (yf, yt) = (&self.y[from * n..][..n], &self.y[to * n..][..n]);
        // Without evidence an output is linked as often as its share.
        let mut ratio = odds * log.exp() * self.task.shares.1[to] / self.task.shares.1[from];
        for &s in &self.near[i] {
            let s = s as usize;
            ratio *= 1.0 + self.rates[s] * x[s] * (yt[s] - yf[s]);
        }
        if rng.random::<f64>() >= ratio {
            return;
        }
        self.map[i] = to;
        self.load[from] -= share;
        self.load[to] += share;
        self.rejoin(i, from, to, 1.0);
    }

    /// κ k times what the masses of two outputs are further from theirs when `moved` goes over.
    fn mass_gain(&self, from: usize, to: usize, moved: f64) -> f64 {
        let away = |j: usize, more: f64| (self.load[j] + more - self.task.shares.1[j]).abs();
        let change = away(from, -moved) + away(to, moved) - away(from, 0.0) - away(to, 0.0);
        MASS * self.kx as f64 * change
    }

    /// Takes the pairs near an input over from one output to another.
    fn rejoin(&mut self, i: usize, from: usize, to: usize, sign: f64) {
        let n = self.agreements.len();
        for at in 0..self.near[i].len() {
            let s = self.near[i][at] as usize;
            let step = self.x[i * n + s] * (self.y[to * n + s] - self.y[from * n + s]);
            self.agreements[s] += sign * step;
            self.rates[s] = self.rate(self.agreements[s]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::Directions;
    use super::super::partition::Partition;
    use super::*;
    use crate::bridge::Negative;
    use crate::cluster::ClusterSpec;
    use bridged_math::{Matrix, Silent};

    const LONG: Sweeps = Sweeps { warm_up: 500, counted: 60_000 };

    /// Memberships of pairs, soft and even where `sure` is small.
    fn members(of: &[usize], k: usize, sure: f64) -> Vec<f64> {
        let row = |&at: &usize| {
            (0..k).map(move |c| if c == at { sure } else { (1.0 - sure) / (k - 1) as f64 })
        };
        of.iter().flat_map(row).collect()
    }

    fn geometry() -> (Directions, Directions) {
        let rows = |turn: usize| {
            Matrix::from_fn(16, 2, |i, c| {
                let at = (i / 4 + turn) % 4;
                ([[0.0, 1.0], [1.5, 0.2], [3.0, -1.0], [-4.0, 0.5]][at][c] + 0.01 * (i % 4) as f64)
                    as f32
            })
        };
        let directions = |turn: usize| {
            let x = rows(turn);
            let spec = ClusterSpec::named("kmeans").expect("listed").with_k(4);
            let mean: Vec<f32> = x.view().mean_row().iter().map(|m| *m as f32).collect();
            let part = Partition::fit(&spec, (x.view(), x.view()), &mean, Seed(1), &Silent)
                .expect("plain");
            Directions::new(part.cut(), &mean, x.view().slice(0..3))
        };
        (directions(0), directions(1))
    }

    /// The posterior by all maps, one by one.
    fn exact(task: &Task<'_>) -> Vec<f64> {
        let (kx, ky) = (task.shares.0.len(), task.shares.1.len());
        let prior = Reliability::new(task.clarity, 4.0);
        let (mut sums, mut total, mut reliable) = (vec![0.0; kx * ky], 0.0, 0.0);
        for code in 0..ky.pow(kx as u32) {
            let map: Vec<usize> = (0..kx).map(|i| code / ky.pow(i as u32) % ky).collect();
            let mut sorted = map.clone();
            sorted.sort_unstable();
            sorted.dedup();
            if task.one_to_one && sorted.len() < kx {
                continue;
            }
            let mut log = 0.0;
            if let Some((k, l)) = task.geometry {
                let mut gain = 0.0;
                for a in 0..kx {
                    for b in 0..kx {
                        gain += k.of(a, b) * l.of(map[a], map[b]);
                    }
                    gain += 2.0
                        * k.to_pairs(a)
                            .iter()
                            .zip(l.to_pairs(map[a]))
                            .map(|(u, v)| u * v)
                            .sum::<f64>();
                }
                log += GEOMETRY * kx as f64 * gain;
            }
            if !task.one_to_one {
                for j in 0..ky {
                    let load: f64 =
                        (0..kx).filter(|&i| map[i] == j).map(|i| task.shares.0[i]).sum();
                    log -= MASS * kx as f64 * (load - task.shares.1[j]).abs();
                }
                log += map.iter().map(|&j| task.shares.1[j].ln()).sum::<f64>();
            }
            for (q, w) in prior.values.iter().zip(&prior.weights) {
                let factor = |&s: &usize| {
                    let m: f64 = (0..kx)
                        .map(|i| {
                            task.members.0[s * kx + i] * task.members.1[s * ky + map[i]]
                                / task.shares.1[map[i]]
                        })
                        .sum();
                    1.0 - q + q * m
                };
                let denied = |(x, y): &(Vec<f64>, Vec<f64>)| {
                    1.0 - q + q * (0..kx).map(|i| x[i] * y[map[i]]).sum::<f64>()
                };
                let said = task.pairs.iter().map(factor).chain(task.negatives.iter().map(denied));
                let weight = w * log.exp() * said.product::<f64>();
                total += weight;
                reliable += weight * q;
                (0..kx).for_each(|i| sums[i * ky + map[i]] += weight * q);
            }
        }
        let rest = 1.0 - reliable / total;
        sums.iter().enumerate().map(|(at, s)| s / total + rest * task.shares.1[at % ky]).collect()
    }

    #[test]
    fn chains_agree_with_the_sum_over_all_maps() {
        let (x, y) = geometry();
        let (mx, my) = (members(&[0, 1, 2], 4, 0.8), members(&[1, 2, 0], 4, 0.7));
        let pairs = [0, 1, 2];
        let (k, l) = (x.kernel(&pairs), y.kernel(&pairs));
        let (even, uneven) = ([0.25; 4], [0.4, 0.3, 0.2, 0.1]);
        let no = |shares: &[f64]| {
            let negative = Negative { x: vec![0.0, 0.1, 0.1, 0.8], y: vec![0.0, 0.1, 0.2, 0.7] };
            let agreements = negative.agreements(shares).expect("it says something");
            vec![(negative.x, agreements)]
        };
        for (one_to_one, denies) in [(true, false), (false, false), (true, true), (false, true)] {
            for geometry in [None, Some((&k, &l))] {
                let shares: (&[f64], &[f64]) =
                    if one_to_one { (&even, &even) } else { (&even, &uneven) };
                let denied = no(shares.1);
                let task = Task {
                    shares,
                    members: (&mx, &my),
                    pairs: &pairs,
                    geometry,
                    one_to_one,
                    clarity: 0.6,
                    negatives: if denies { &denied } else { &[] },
                };
                let (found, sum) = (link(&task, LONG, Seed(3), None).links, exact(&task));
                let worst = found.iter().zip(&sum).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(
                    worst < 0.03,
                    "one-to-one {one_to_one}, no {denies}, geometry {}: {worst}\n{found:?}\n{sum:?}",
                    geometry.is_some()
                );
            }
        }
    }

    #[test]
    fn links_of_a_cluster_sum_to_one() {
        let (mx, my) = (members(&[0, 1], 3, 0.9), members(&[2, 0], 3, 0.9));
        let task = Task {
            shares: (&[0.5, 0.3, 0.2], &[0.2, 0.2, 0.6]),
            members: (&mx, &my),
            pairs: &[0, 1],
            geometry: None,
            one_to_one: false,
            clarity: 0.8,
            negatives: &[],
        };
        let found = link(&task, Sweeps { warm_up: 5, counted: 20 }, Seed(1), None);
        for row in found.links.chunks_exact(3) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{row:?}");
        }
    }
}
