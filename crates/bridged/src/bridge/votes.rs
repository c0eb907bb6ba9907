//! What the pairs say: each names an input cluster, an output cluster, and how deep it sits in both.

use crate::cluster::Memberships;
use crate::cluster::NOISE;
use bridged_math::Matrix;
use bridged_math::distance::squared_distance;

/// The vote of one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairVote {
    /// The input cluster, or [`NOISE`].
    pub x: u32,
    /// The output cluster, or [`NOISE`].
    pub y: u32,
    /// How deep the input sits in its cluster, 0 (on the border) to 1 (on the centroid).
    pub x_depth: f64,
    /// How deep the output sits in its cluster.
    pub y_depth: f64,
}

impl PairVote {
    /// The evidence of the vote: a pair on a border on either side says little.
    pub fn evidence(&self) -> f64 {
        self.x_depth * self.y_depth
    }
}

/// The votes of all pairs, and the sizes of the clusters that they speak of.
#[derive(Clone, Debug, PartialEq)]
pub struct Votes {
    /// One entry a pair, in the order of the pairs.
    pub pairs: Vec<PairVote>,
    /// Rows in each input cluster.
    pub x_sizes: Vec<u32>,
    /// Rows in each output cluster.
    pub y_sizes: Vec<u32>,
    /// How the inputs of the pairs belong to the input clusters.
    pub x_members: Memberships,
    /// How their outputs belong to the output clusters.
    pub y_members: Memberships,
    /// Rows that do not belong together.
    pub negatives: Vec<Negative>,
}

/// A row of x and a row of y of which somebody said that they do not belong together, by their memberships.
///
/// With a link A and reliability q, the y row lies where the partner of the x row does with probability
/// (1 − q) ρ(y) + q Σ_i p(i|x) p(A(i)|y), ρ(y) = Σ_j ρ_j p(j|y). The answer "no" has what is missing to 1, which is
///
/// ```text
/// (1 − ρ(y)) · (1 − q + q m),   m = Σ_i p(i|x) (1 − p(A(i)|y)) / (1 − ρ(y))
/// ```
///
/// the factor of a pair whose output lies everywhere but there.
#[derive(Clone, Debug, PartialEq)]
pub struct Negative {
    /// p(i|x).
    pub x: Vec<f64>,
    /// p(j|y).
    pub y: Vec<f64>,
}

impl Negative {
    /// (1 − p(j|y)) / (1 − ρ(y)), the agreement of each output cluster of the given share; `None` where y lies
    /// everywhere, so that "no" says nothing.
    pub(crate) fn agreements(&self, shares: &[f64]) -> Option<Vec<f64>> {
        let chance: f64 = self.y.iter().zip(shares).map(|(p, share)| p * share).sum();
        (chance < 1.0 - 1e-9).then(|| self.y.iter().map(|p| (1.0 - p) / (1.0 - chance)).collect())
    }
}

/// All votes from one input cluster to one output cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoteCount {
    /// The input cluster.
    pub x: u32,
    /// The output cluster.
    pub y: u32,
    /// How many pairs connect the two.
    pub count: u32,
    /// The sum of their [evidence](PairVote::evidence).
    pub evidence: f64,
}

impl Votes {
    /// Votes of pairs that belong to their clusters alone.
    pub fn hard(pairs: Vec<PairVote>, x_sizes: Vec<u32>, y_sizes: Vec<u32>) -> Self {
        let x_members = Memberships::hard(pairs.iter().map(|p| p.x), &x_sizes);
        let y_members = Memberships::hard(pairs.iter().map(|p| p.y), &y_sizes);
        Self { pairs, x_sizes, y_sizes, x_members, y_members, negatives: Vec::new() }
    }

    /// The same votes for the reverse direction.
    pub fn flip(&self) -> Self {
        let flip =
            |p: &PairVote| PairVote { x: p.y, y: p.x, x_depth: p.y_depth, y_depth: p.x_depth };
        Self {
            pairs: self.pairs.iter().map(flip).collect(),
            x_sizes: self.y_sizes.clone(),
            y_sizes: self.x_sizes.clone(),
            x_members: self.y_members.clone(),
            y_members: self.x_members.clone(),
            negatives: (self.negatives.iter())
                .map(|n| Negative { x: n.y.clone(), y: n.x.clone() })
                .collect(),
        }
    }

    /// The votes without those of one pair.
    pub fn without(&self, pair: usize) -> Self {
        let mut pairs = self.pairs.clone();
        pairs.remove(pair);
        Self {
            pairs,
            x_sizes: self.x_sizes.clone(),
            y_sizes: self.y_sizes.clone(),
            x_members: self.x_members.without(pair),
            y_members: self.y_members.without(pair),
            negatives: self.negatives.clone(),
        }
    }

    /// How much likelier the output of a pair is under weights of the output clusters than by their
    /// sizes; 1 without weights.
    pub(crate) fn agreement(&self, pair: usize, weights: &[f64]) -> f64 {
        if weights.is_empty() {
            return 1.0;
        }
        let total: f64 = self.y_sizes.iter().map(|&n| f64::from(n)).sum();
        let row = self.y_members.row(pair).iter().zip(&self.y_sizes).zip(weights);
        row.map(|((p, &n), w)| w * p * total / f64::from(n.max(1))).sum()
    }

    /// The cells that hold a vote, by input then output cluster; pairs that are noise on either
    /// side have no say.
    pub fn cells(&self) -> Vec<VoteCount> {
        let mut votes: Vec<&PairVote> =
            self.pairs.iter().filter(|p| p.x != NOISE && p.y != NOISE).collect();
        // Within a cell by evidence, so that its sum does not depend on the order of the pairs.
        votes.sort_by(|a, b| {
            (a.x, a.y).cmp(&(b.x, b.y)).then(a.evidence().total_cmp(&b.evidence()))
        });
        votes
            .chunk_by(|a, b| (a.x, a.y) == (b.x, b.y))
            .map(|cell| VoteCount {
                x: cell[0].x,
                y: cell[0].y,
                count: cell.len() as u32,
                evidence: cell.iter().map(|p| p.evidence()).sum(),
            })
            .collect()
    }

    /// The cells of each input cluster.
    pub fn rows(&self) -> Vec<Vec<VoteCount>> {
        let mut rows = vec![Vec::new(); self.x_sizes.len()];
        for cell in self.cells() {
            rows[cell.x as usize].push(cell);
        }
        rows
    }
}

/// How deep a row sits in its cluster: (d₂ − d₁) / max(d₁, d₂), never below 0, where d₁ is the
/// distance to the own centroid and d₂ to the nearest other one. 1 with a single cluster.
pub fn depth(centroids: &Matrix, row: &[f32], label: u32) -> f64 {
    if label == NOISE {
        return 0.0;
    }
    let to = |j: usize| squared_distance(row, centroids.row(j)).sqrt();
    let own = to(label as usize);
    let others = (0..centroids.rows()).filter(|&j| j != label as usize);
    let other = others.map(to).fold(f64::INFINITY, f64::min);
    if other.is_infinite() {
        return 1.0;
    }
    let longest = own.max(other);
    if longest > 0.0 { ((other - own) / longest).max(0.0) } else { 0.0 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Votes of pairs (x cluster, y cluster), all equally deep, clusters all of ten rows.
    pub(crate) fn votes(kx: usize, ky: usize, pairs: &[(u32, u32)]) -> Votes {
        let vote = |&(x, y): &(u32, u32)| PairVote { x, y, x_depth: 0.5, y_depth: 0.5 };
        Votes::hard(pairs.iter().map(vote).collect(), vec![10; kx], vec![10; ky])
    }

    #[test]
    fn cells_count_pairs_and_leave_noise_out() {
        let v = votes(2, 2, &[(0, 1), (1, 0), (0, 1), (NOISE, 0), (1, NOISE)]);
        let cells: Vec<_> = v.cells().iter().map(|c| (c.x, c.y, c.count)).collect();
        assert_eq!(cells, [(0, 1, 2), (1, 0, 1)]);
    }

    #[test]
    fn flipping_twice_changes_nothing() {
        let v = votes(3, 2, &[(0, 1), (2, 0)]);
        assert_eq!(v.flip().flip(), v);
        assert_eq!(v.flip().cells()[0].x, 0);
        assert_eq!(v.flip().cells()[0].y, 2);
    }
}
