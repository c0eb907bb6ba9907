//! Sums over maps: the links, the reliability, and both as they would be without each pair.
//!
//! With w_g = P(q_g) Π_s f_sg and f_sg = 1 + q_g (m_s − 1), a map A adds
//!
//! ```text
//! Σ_g w_g q_g            to link (i, A(i)) for every i
//! Σ_g w_g q_g / f_sg     to the same of pair s, as if it had not been there
//! ```
//!
//! so leaving out any pair costs no second sum over maps. Weights are kept relative to the largest
//! that was met; a map that is 10⁸ times less likely is passed over. O(pairs · grid) a map.

use super::evidence::Evidence;
use super::reliability::{GRID, Reliability};

/// Weights below this share of the largest are passed over.
const NEGLIGIBLE: f64 = 1e-8;
/// Factors that are multiplied before the product is brought back to a size near 1.
const BATCH: usize = 16;

/// P(q_g) Π_s f_sg for agreements m, divided by exp of the second value.
pub(crate) fn likelihood(prior: &Reliability, agreements: &[f64]) -> ([f64; GRID], f64) {
    let (mut weights, mut scale) = (prior.weights, 0.0);
    for batch in agreements.chunks(BATCH) {
        for &m in batch {
            for (w, q) in weights.iter_mut().zip(&prior.values) {
                *w *= 1.0 + q * (m - 1.0);
            }
        }
        let top = weights.iter().fold(0.0, |a: f64, &b| a.max(b));
        weights.iter_mut().for_each(|w| *w /= top);
        scale += top.ln();
    }
    (weights, scale)
}

/// Running sums.
pub(super) struct PosteriorSums<'a> {
    evidence: &'a Evidence,
    prior: &'a Reliability,
    scale: f64, // the logarithm of what a weight of 1 stands for
    total: f64,
    reliable: f64,
    links: Vec<f64>, // (kx, ky), Σ w q
    held_out: Vec<Sums>,
}

/// The sums that a left-out pair needs: its own output shares instead of all links.
struct Sums {
    total: f64,
    reliable: f64,
    outputs: Vec<f64>, // (ky)
}

impl<'a> PosteriorSums<'a> {
    pub fn new(evidence: &'a Evidence, prior: &'a Reliability) -> Self {
        let empty = || Sums { total: 0.0, reliable: 0.0, outputs: vec![0.0; evidence.ky] };
        Self {
            evidence,
            prior,
            scale: f64::NEG_INFINITY,
            total: 0.0,
            reliable: 0.0,
            links: vec![0.0; evidence.kx * evidence.ky],
            held_out: evidence.held_out.iter().map(|_| empty()).collect(),
        }
    }

    /// Weighs all maps relative to this one, a likely one: what is negligible is known at once.
    pub fn expect(&mut self, map: &[usize]) {
        let mut agreements = vec![0.0; self.evidence.pairs];
        self.evidence.agreements(map, &mut agreements);
        self.scale = likelihood(self.prior, &agreements).1;
    }

    /// A map with its agreements that stands for `many` maps.
    pub fn add(&mut self, map: &[usize], agreements: &[f64], many: f64) {
        let (weights, scale) = likelihood(self.prior, agreements);
        self.add_weighted(map, agreements, &weights, scale + many.ln());
    }

    /// Whether maps with at most these agreements, standing for at most this many, are negligible.
    pub fn passes_over(&self, agreements: &[f64], many: f64) -> bool {
        let (_, scale) = likelihood(self.prior, agreements);
        (scale + many.ln() - self.scale).exp() < NEGLIGIBLE
    }

    /// A map that was drawn from the posterior, with its likelihood by q: all draws weigh alike.
    pub fn add_draw(&mut self, map: &[usize], agreements: &[f64], weights: &[f64; GRID]) {
        self.add_weighted(map, agreements, weights, -weights.iter().sum::<f64>().ln());
    }

    fn add_weighted(&mut self, map: &[usize], agreements: &[f64], w: &[f64; GRID], scale: f64) {
        if scale > self.scale {
            let shrink = (self.scale - scale).exp();
            self.scale = scale;
            self.total *= shrink;
            self.reliable *= shrink;
            self.links.iter_mut().for_each(|l| *l *= shrink);
            for sums in &mut self.held_out {
                sums.total *= shrink;
                sums.reliable *= shrink;
                sums.outputs.iter_mut().for_each(|o| *o *= shrink);
            }
        }
        let size = (scale - self.scale).exp();
        if size < NEGLIGIBLE {
            return;
        }
        let weights = w.map(|w| w * size);
        let q = &self.prior.values;
        let total: f64 = weights.iter().sum();
        let reliable: f64 = weights.iter().zip(q).map(|(w, q)| w * q).sum();
        self.total += total;
        self.reliable += reliable;
        for (i, &j) in map.iter().enumerate() {
            self.links[i * self.evidence.ky + j] += reliable;
        }
        for (sums, pair) in self.held_out.iter_mut().zip(&self.evidence.held_out) {
            let (mut all, mut follows) = (total, reliable);
            if let Some(s) = pair.place {
                let m = agreements[s] - 1.0;
                (all, follows) = (0.0, 0.0);
                for (w, q) in weights.iter().zip(q) {
                    let rest = w / (1.0 + q * m);
                    all += rest;
                    follows += rest * q;
                }
            }
            sums.total += all;
            sums.reliable += follows;
            for (&j, p) in map.iter().zip(&pair.x) {
                sums.outputs[j] += follows * p;
            }
        }
    }

    /// P(j|i), (kx, ky), and E[q].
    pub fn links(&self) -> (Vec<f64>, f64) {
        let reliability = self.reliable / self.total;
        let ky = self.evidence.ky;
        let link = |(at, l): (usize, &f64)| {
            l / self.total + (1.0 - reliability) * self.evidence.share[at % ky]
        };
        (self.links.iter().enumerate().map(link).collect(), reliability)
    }

    /// Σ_i p(i|x) P(j|i) of each pair that is held out, from the other pairs.
    pub fn held_out(&self) -> Vec<Vec<f64>> {
        let of = |sums: &Sums| {
            let unreliable = 1.0 - sums.reliable / sums.total;
            let shares = sums.outputs.iter().zip(&self.evidence.share);
            shares.map(|(o, share)| o / sums.total + unreliable * share).collect()
        };
        self.held_out.iter().map(of).collect()
    }
}
