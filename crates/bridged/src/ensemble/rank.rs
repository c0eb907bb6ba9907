//! The real rows of the other pool that belong to a row best: by links, kernels and matchings, not by distance to a
//! value that is drawn to the mean.
//!
//! ```text
//! score(x, y) = z(Σ_m log Σ_ij p_m(i|x) P_m(j|i) p_m(j|y) / ρ_j)                          the links
//!             + (½ + P/600) [z(K_c(x, S) (K_c + λ I)⁻¹ L_c(S, y)) + P/(P + 20) z(the same, near)]  through P pairs
//!             + 3/2 z(⟨u W, v⟩) − ¾ Σ_walks z(‖u(x) − u(y)‖)                              rotation and walks
//!             − 3 P/(P + 300) z(E ‖x − X(y)‖²)                                            how y looks from the other side
//! ```
//!
//! z brings the scores of a row to mean 0 and deviation 1 over the pool. `near` is the local kernel on the input side and
//! one of a third of its width on the output side, so that rows like the outputs of pairs come first, not rows
//! between them. The more pairs there are, the more
//! those near a row tell. Pools of more than 20,000 rows are not ranked so: their rows come by distance to the
//! predicted value. A row of a pair is as likely under the links as its partner lies in the clusters of x, and looks as
//! its partner does ([`looks`](super::looks)).

use super::answer::{BAND, Oriented, full};
use super::kernel::{Kernel, Ridge, Seen};
use super::learn::learned_from;
use super::looks::{Looks, unexplained};
use super::matching::{By, Candidates, standardise};
use crate::Error;
use crate::model::{BridgedModel, Direction};
use bridged_math::linalg::{Accum, View, product};
use bridged_math::{MatrixRef, chunks};

/// The most rows of a pool that is ranked.
pub(crate) const MOST_RANKED: usize = 20_000;
/// What is added to a likelihood before its logarithm is taken.
const EPS: f64 = 1e-9;
/// What scores count where links count 1.
const ROTATION: f64 = 1.5;
const WALK: f64 = 0.75;

/// The squared width of the near kernel on the output side.
const NEAR: f64 = 0.1;

/// What similarity through this many pairs counts under a kernel.
fn through_pairs(kernel: Kernel, pairs: usize) -> f64 {
    let pairs = pairs as f64;
    let of_kernel = if kernel == Kernel::Local { pairs / (pairs + 20.0) } else { 1.0 };
    (0.5 + pairs / 600.0) * of_kernel
}

/// The rows of a pool, ready to be ranked for rows of the other.
#[derive(Clone, Debug)]
pub(crate) struct Ranker {
    rows: usize,
    /// p(j|y)/ρ_j of every linked cut, (k, rows).
    likely: Vec<(usize, Vec<f64>)>,
    /// (K + λ I)⁻¹ L(S, y), (pairs, rows), of the two kernels.
    through: Vec<(Kernel, Vec<f64>)>,
    /// The rows as matchings see them.
    candidates: Option<Candidates>,
    /// How they look on the input side.
    looks: Option<Looks>,
}

impl Ranker {
    /// Of the scaled rows of the output pool, which look so on the input side.
    pub fn new(oriented: &Oriented<'_>, scaled: MatrixRef<'_>, looks: Option<Looks>) -> Self {
        let rows = scaled.rows();
        let mut cuts: Vec<usize> = oriented.stack.bridges.iter().map(|m| m.partition).collect();
        cuts.dedup();
        let members: Vec<Vec<f64>> =
            chunks::par_map(oriented.to_cuts.len(), |c| oriented.to_cuts[c].memberships(scaled));
        let likely = cuts.into_iter().map(|c| {
            let (k, shares) = (oriented.to_cuts[c].k(), oriented.to_cuts[c].shares());
            let of = |j: usize| {
                let share = shares[j];
                members[c].iter().skip(j).step_by(k).map(move |p| p / share)
            };
            (c, (0..k).flat_map(of).collect())
        });
        let likely: Vec<(usize, Vec<f64>)> = likely.collect();
        let (side, of) = oriented.to;
        let seen = Seen::new(scaled, &oriented.to_cuts, &members, side.radius().powi(2));
        let outputs = of.seen(side, &oriented.to_cuts);
        let inputs = oriented.from.1.seen(oriented.from.0, &oriented.from_cuts);
        let pairs = of.paired.rows();
        let (among, apart) = (inputs.apart_from_each_other(), outputs.apart(&seen));
        let through = [Kernel::Clusters, Kernel::Local].map(|kernel| {
            let gram = inputs.kernels(kernel, &inputs, &among);
            let near = match kernel {
                Kernel::Local => apart.gaussians(NEAR),
                _ => outputs.kernels(kernel, &seen, &apart),
            };
            (kernel, Ridge::new(gram, pairs, kernel.ridge()).solve(near))
        });
        let candidates = of
            .nodes
            .as_ref()
            .map(|nodes| Candidates::rows(nodes, nodes.coordinates(&side.origin(), scaled).view()));
        Self { rows, likely, through: through.into(), candidates, looks }
    }

    /// The best `n` rows for each scaled row of the input side.
    pub fn rank(&self, oriented: &Oriented<'_>, scaled: MatrixRef<'_>, n: usize) -> Vec<Vec<u32>> {
        let paired = oriented.from.1.seen(oriented.from.0, &oriented.from_cuts);
        let radius = oriented.from.0.radius().powi(2);
        let matcher = self.candidates.clone().and_then(|c| oriented.matcher(c));
        let bands = chunks::par_map(scaled.rows().div_ceil(BAND), |band| {
            let start = band * BAND;
            let band = scaled.slice(start..(start + BAND).min(scaled.rows()));
            let filled = full(band);
            let members: Vec<Vec<f64>> =
                oriented.from_cuts.iter().map(|cut| cut.memberships(filled.view())).collect();
            let mut scores = vec![0.0; BAND * self.rows];
            for member in &oriented.stack.bridges {
                let c = member.partition;
                let Some((_, likely)) = self.likely.iter().find(|(cut, _)| *cut == c) else {
                    continue;
                };
                let (kx, ky) = (oriented.from_cuts[c].k(), oriented.to_cuts[c].k());
                let shares = times(&members[c], kx, &member.links, ky);
                let mut together = times(&shares, ky, likely, self.rows);
                together.iter_mut().for_each(|t| *t = (*t + EPS).ln());
                if let Some(looks) = &self.looks {
                    looks.link(c, &members[c], &mut together);
                }
                scores.iter_mut().zip(together).for_each(|(s, t)| *s += t);
            }
            scores.chunks_exact_mut(self.rows).for_each(standardise);
            let mut add = |weight: f64, more: &[f64]| {
                scores.iter_mut().zip(more).for_each(|(s, m)| *s += weight * m);
            };
            let seen = Seen::new(filled.view(), &oriented.from_cuts, &members, radius);
            let apart = seen.apart(&paired);
            for (kernel, through) in &self.through {
                let near = seen.kernels(*kernel, &paired, &apart);
                let mut along = times(&near, paired.len(), through, self.rows);
                along.chunks_exact_mut(self.rows).for_each(standardise);
                add(through_pairs(*kernel, paired.len()), &along);
            }
            if let Some(matcher) = &matcher {
                let seen = matcher.seen(filled.view());
                for matching in &oriented.stack.matchings {
                    let weight = match matching.by {
                        By::Rotation(_) => ROTATION,
                        By::Walk(_) => WALK,
                    };
                    add(weight, &matcher.scores(&matching.by, seen.view()));
                }
            }
            if let Some(looks) = &self.looks {
                let mut seen = looks.scores(filled.view());
                seen.chunks_exact_mut(self.rows).for_each(standardise);
                add(looks.weight(), &seen);
            }
            let rows = scores.chunks_exact(self.rows).take(band.rows());
            rows.map(|row| best(row, n)).collect::<Vec<_>>()
        });
        bands.concat()
    }
}

impl BridgedModel {
    /// Whether rows of the output pool are ranked by several members.
    pub(crate) fn ranks(&self, direction: Direction) -> bool {
        let to = self.to(direction);
        self.ensemble.is_some() && to.keeps_rows() && to.len() <= MOST_RANKED
    }

    /// What ranking takes: likelihoods of all cuts, and kernels through the pairs.
    pub(crate) fn ranker_bytes(&self, direction: Direction) -> f64 {
        let Some(oriented) = self.oriented(direction) else { return 0.0 };
        let clusters: usize = oriented.to_cuts.iter().map(|cut| cut.k()).sum();
        let pairs = oriented.to.1.paired.rows();
        // Likelihoods, kernels through the pairs, directions and ends of walks; looks, in f32, also while they are
        // predicted; then the scores of a few bands.
        let looks = 1.5 * self.from(direction).cols() as f64;
        let of_row = 3.0 * clusters as f64 + 5.0 * pairs as f64 + looks + 128.0 + 8.0 * BAND as f64;
        8.0 * self.to(direction).len() as f64 * of_row
    }

    /// How the scaled rows of the output pool look on the input side.
    fn looks(
        &self,
        direction: Direction,
        oriented: &Oriented<'_>,
        scaled: MatrixRef<'_>,
    ) -> Option<Looks> {
        let back = match direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        };
        let row = |s: usize| match direction {
            Direction::Forward => self.pairs[s].1,
            Direction::Reverse => self.pairs[s].0,
        };
        let predicted = self.predict_together(back, scaled)?;
        let predicted = self.from(direction).scaler.apply(predicted.view());
        let unexplained = unexplained(self.regressor(back).leave_one_out());
        let pairs = learned_from(&self.pairs).into_iter().map(row).collect();
        Looks::new(oriented, predicted.view(), unexplained, pairs)
    }

    /// The best `n` rows of the output pool for each scaled row.
    pub(crate) fn rank(
        &self,
        direction: Direction,
        scaled: MatrixRef<'_>,
        n: usize,
    ) -> Result<Vec<Vec<u32>>, Error> {
        let Some(oriented) = self.oriented(direction) else { return Ok(Vec::new()) };
        let to = self.to(direction);
        let ranker = &self.rankers[usize::from(direction == Direction::Reverse)];
        let ranker = ranker.get_or_make(|| {
            let rows = to.scaler.apply(to.rows()?.view());
            let looks = self.looks(direction, &oriented, rows.view());
            Ok(Ranker::new(&oriented, rows.view(), looks))
        })?;
        Ok(ranker.rank(&oriented, scaled, n))
    }
}

/// Rows of a band times b (k, m).
fn times(band: &[f64], k: usize, b: &[f64], m: usize) -> Vec<f64> {
    let mut out = vec![0.0; BAND * m];
    product(View::new(band, BAND, k), View::new(b, k, m), Accum::Replace, &mut out);
    out
}

/// The places of the largest scores, the first of equal ones.
fn best(scores: &[f64], n: usize) -> Vec<u32> {
    let by = |a: &u32, b: &u32| scores[*b as usize].total_cmp(&scores[*a as usize]).then(a.cmp(b));
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    if n < order.len() {
        order.select_nth_unstable_by(n, by);
        order.truncate(n);
    }
    order.sort_unstable_by(by);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_equal_ones_in_their_order() {
        assert_eq!(best(&[1.0, 3.0, 3.0, 2.0], 3), [1, 2, 3]);
        assert_eq!(best(&[1.0, 3.0], 9), [1, 0]);
    }
}
