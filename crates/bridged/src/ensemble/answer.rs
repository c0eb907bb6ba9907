//! Values for rows, and how much each member has to do with them.

use super::kernel::Seen;
use super::matching::{Candidates, Matcher, soften};
use super::partition::Cut;
use super::{Ensemble, EnsembleSide, MemberShare, Stack};
use crate::model::{BridgedModel, Direction};
use crate::settings::BridgedClustering;
use crate::side::Side;
use bridged_math::linalg::{Accum, View, product};
use bridged_math::{Matrix, MatrixRef, chunks};

/// Rows that are matched at a time. A last band is filled up with zeros: the product of a row could be rounded
/// otherwise if it were alone.
pub(super) const BAND: usize = 64;

/// One direction of an ensemble, with the sides that it belongs to.
pub(crate) struct Oriented<'a> {
    pub stack: &'a Stack,
    pub from: (&'a Side, &'a EnsembleSide),
    pub to: (&'a Side, &'a EnsembleSide),
    pub from_cuts: Vec<Cut<'a>>,
    pub to_cuts: Vec<Cut<'a>>,
}

impl Ensemble {
    pub(crate) fn oriented<'a>(
        &'a self,
        settings: &BridgedClustering,
        (x, y): (&'a Side, &'a Side),
        direction: Direction,
    ) -> Oriented<'a> {
        let of_x = ((x, &self.x), self.x.cuts(x, &settings.x.cluster));
        let of_y = ((y, &self.y), self.y.cuts(y, &settings.y.cluster));
        let ((from, from_cuts), (to, to_cuts), stack) = match direction {
            Direction::Forward => (of_x, of_y, &self.forward),
            Direction::Reverse => (of_y, of_x, &self.reverse),
        };
        Oriented { stack, from, to, from_cuts, to_cuts }
    }
}

impl Oriented<'_> {
    /// Values of scaled rows; each depends on its own row alone.
    /// How far a row goes from the mean is up to `alone`, the probability by its memberships in the clusters that are
    /// read that it has no partner.
    pub fn predict(&self, scaled: MatrixRef<'_>, alone: impl Fn(&[f64]) -> f64 + Sync) -> Matrix {
        let (to, cols) = (self.to.0, self.to.0.cols());
        // Σ_m v_m P_m(j|i) (m_j − ȳ) of the members of each cut, (kx, d').
        let mixed: Vec<Option<Vec<f64>>> = self
            .from_cuts
            .iter()
            .enumerate()
            .map(|(c, cut)| {
                let members =
                    self.stack.bridges.iter().filter(|m| m.partition == c && m.weight > 0.0);
                let mut links: Option<Vec<f64>> = None;
                for member in members {
                    let sum = links.get_or_insert_with(|| vec![0.0; member.links.len()]);
                    sum.iter_mut().zip(&member.links).for_each(|(s, p)| *s += member.weight * p);
                }
                links.map(|links| {
                    let (kx, ky) = (cut.k(), self.to_cuts[c].k());
                    let means = self.to_cuts[c].deviations(&to.mean);
                    let mut out = vec![0.0; kx * cols];
                    product(
                        View::new(&links, kx, ky),
                        View::new(&means, ky, cols),
                        Accum::Replace,
                        &mut out,
                    );
                    out
                })
            })
            .collect();
        let used: Vec<_> = self.stack.regressions.iter().filter(|r| r.weight > 0.0).collect();
        let paired = (!used.is_empty()).then(|| self.from.1.seen(self.from.0, &self.from_cuts));
        let radius = self.from.0.radius().powi(2);
        let matched = self.matched();
        let mut values = Matrix::zeros(scaled.rows(), cols);
        chunks::map_blocks_mut(values.data_mut(), cols.max(1), |range, out| {
            let matched = matched.as_ref().map(|m| m.sums(scaled.slice(range.clone())));
            let start = range.start;
            for (i, out) in range.zip(out.chunks_exact_mut(cols.max(1))) {
                let row = scaled.slice(i..i + 1);
                let mut sum: Vec<f64> = to.mean.iter().map(|&m| f64::from(m)).collect();
                let needed = |c: usize| c == 0 || paired.is_some() || mixed[c].is_some();
                let members: Vec<Vec<f64>> = self
                    .from_cuts
                    .iter()
                    .enumerate()
                    .map(|(c, cut)| if needed(c) { cut.memberships(row) } else { Vec::new() })
                    .collect();
                for (members, mixed) in members.iter().zip(&mixed) {
                    let Some(mixed) = mixed else { continue };
                    for (p, mean) in
                        members.iter().zip(mixed.chunks_exact(cols)).filter(|(p, _)| **p > 0.0)
                    {
                        sum.iter_mut().zip(mean).for_each(|(s, m)| *s += p * m);
                    }
                }
                if let Some(matched) = &matched {
                    let own = &matched[(i - start) * cols..][..cols];
                    sum.iter_mut().zip(own).for_each(|(s, m)| *s += m);
                }
                if let Some(paired) = &paired {
                    let seen = Seen::new(row, &self.from_cuts, &members, radius);
                    for regression in &used {
                        let near = seen.kernels(regression.kernel, paired);
                        for (k, a) in near.iter().zip(regression.coefficients.view().iter_rows()) {
                            let share = regression.weight * k;
                            sum.iter_mut().zip(a).for_each(|(s, a)| *s += share * f64::from(*a));
                        }
                    }
                }
                let kept = 1.0 - alone(&members[0]);
                for ((o, s), &m) in out.iter_mut().zip(sum).zip(&to.mean) {
                    let m = f64::from(m);
                    *o = crate::fit::residual_map::to_f32(m + kept * (s - m));
                }
            }
        });
        values
    }
}

/// Members that match rows, ready to predict.
struct Matched<'a> {
    matcher: Matcher<'a>,
    stack: &'a Stack,
    /// Values of the nodes less the mean of the pool, (nodes, d').
    values: Vec<f64>,
    cols: usize,
    pairs: usize,
}

impl<'a> Oriented<'a> {
    /// Rows of the input side, to be matched with these candidates; `None` without members that do.
    pub(super) fn matcher(&self, candidates: Candidates) -> Option<Matcher<'a>> {
        let nodes = self.from.1.nodes.as_ref()?;
        Some(Matcher::new(nodes, self.from.0.origin(), candidates))
    }

    fn matched(&self) -> Option<Matched<'a>> {
        let nodes = self.to.1.nodes.as_ref()?;
        if self.stack.matchings.iter().all(|m| m.weight == 0.0) {
            return None;
        }
        let mean = &self.to.0.mean;
        let values = nodes
            .values
            .view()
            .iter_rows()
            .flat_map(|row| row.iter().zip(mean).map(|(&v, &m)| f64::from(v) - f64::from(m)));
        let (values, cols) = (values.collect(), nodes.values.cols());
        let matcher = self.matcher(Candidates::nodes(nodes))?;
        let pairs = self.to.1.paired.rows();
        Some(Matched { matcher, stack: self.stack, values, cols, pairs })
    }
}

impl Matched<'_> {
    /// Σ_q v_q Σ_n w_q(n|x) (y_n − ȳ) of scaled rows, (rows, d').
    fn sums(&self, scaled: MatrixRef<'_>) -> Vec<f64> {
        let (nodes, cols) = (self.matcher.candidates(), self.cols);
        let mut out = Vec::with_capacity(scaled.rows() * cols);
        for start in (0..scaled.rows()).step_by(BAND) {
            let band = scaled.slice(start..(start + BAND).min(scaled.rows()));
            let mut weights = vec![0.0; BAND * nodes];
            let seen = self.matcher.seen(full(band).view());
            for matching in self.stack.matchings.iter().filter(|m| m.weight > 0.0) {
                let mut scores = self.matcher.scores(&matching.by, seen.view());
                let sharpness = matching.by.sharpness(self.pairs);
                scores.chunks_exact_mut(nodes).for_each(|row| soften(row, sharpness, None));
                weights.iter_mut().zip(&scores).for_each(|(w, s)| *w += matching.weight * s);
            }
            let mut sums = vec![0.0; BAND * cols];
            let values = View::new(&self.values, nodes, cols);
            product(View::new(&weights, BAND, nodes), values, Accum::Replace, &mut sums);
            out.extend_from_slice(&sums[..band.rows() * cols]);
        }
        out
    }
}

/// A band of rows, filled up with rows of zeros.
pub(super) fn full(band: MatrixRef<'_>) -> Matrix {
    let mut data = band.data().to_vec();
    data.resize(BAND * band.cols(), 0.0);
    Matrix::new(BAND, band.cols(), data).expect("whole rows were added")
}

impl BridgedModel {
    pub(super) fn oriented(&self, direction: Direction) -> Option<Oriented<'_>> {
        let ensemble = self.ensemble.as_ref()?;
        Some(ensemble.oriented(&self.settings, (&self.x, &self.y), direction))
    }

    /// What the members say of scaled rows together; `None` of a model that is one member.
    pub(crate) fn predict_together(
        &self,
        direction: Direction,
        scaled: MatrixRef<'_>,
    ) -> Option<Matrix> {
        let regressor = self.regressor(direction);
        Some(self.oriented(direction)?.predict(scaled, |members| regressor.alone(members)))
    }

    /// The members of a direction and how much of its predictions each stands for, the largest first; empty
    /// of a model that is one member.
    pub fn members(&self, direction: Direction) -> Vec<MemberShare> {
        let Some(oriented) = self.oriented(direction) else { return Vec::new() };
        let clusters: Vec<usize> = oriented.from_cuts.iter().map(|cut| cut.k()).collect();
        let balanced: Vec<bool> = oriented.from_cuts.iter().map(|cut| cut.balanced).collect();
        let mut shares = oriented.stack.shares(&clusters, &balanced);
        shares.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        shares
    }
}
