//! Values for rows, and how much each member has to do with them.

use super::kernel::{Apart, Kernel, Seen};
use super::matching::{Candidates, Matcher, soften};
use super::partition::{Cut, TEMPERATURE};
use super::{Ensemble, EnsembleSide, MemberShare, Stack};
use crate::cluster::soft::{Scratch, SoftAssign};
use crate::model::{BridgedModel, Direction};
use crate::settings::BridgedClustering;
use crate::side::Side;
use bridged_math::linalg::{Accum, View, product};
use bridged_math::{Matrix, MatrixRef, chunks};

/// Rows that are answered at a time, as memberships are. A last band is filled up with zeros: the product of a row could be rounded
/// otherwise if it were alone.
pub(super) use crate::cluster::soft::BAND;

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

/// One direction with everything made that does not depend on the rows.
pub(crate) struct Together<'a> {
    oriented: Oriented<'a>,
    /// Σ_m v_m P_m(j|i) (m_j − ȳ) of the members of each cut, (kx, d').
    mixed: Vec<Option<Vec<f64>>>,
    /// The coefficients of each regression times its weight; of [`Kernel::Clusters`] by memberships.
    regressions: Vec<(Kernel, Vec<f64>)>,
    /// The rows of the pairs, where there are regressions.
    paired: Option<Seen<'a>>,
    /// How far rows are from them, where a regression asks.
    pairs: Option<Distances>,
    /// r² of the input pool.
    radius: f64,
    soft: Vec<SoftAssign<'a>>,
    matched: Option<Matched<'a>>,
}

impl<'a> Oriented<'a> {
    /// Makes everything that does not depend on the rows.
    fn ready(self) -> Together<'a> {
        let Self { stack, from, to: (to, _), .. } = self;
        let (from_cuts, to_cuts, cols) = (&self.from_cuts, &self.to_cuts, to.cols());
        let mixed: Vec<Option<Vec<f64>>> = self
            .from_cuts
            .iter()
            .enumerate()
            .map(|(c, cut)| {
                let members = stack.bridges.iter().filter(|m| m.partition == c && m.weight > 0.0);
                let mut links: Option<Vec<f64>> = None;
                for member in members {
                    let sum = links.get_or_insert_with(|| vec![0.0; member.links.len()]);
                    sum.iter_mut().zip(&member.links).for_each(|(s, p)| *s += member.weight * p);
                }
                links.map(|links| {
                    let (kx, ky) = (cut.k(), to_cuts[c].k());
                    let means = to_cuts[c].deviations(&to.mean);
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
        // The coefficients of each regression times its weight.
        let regressions: Vec<(Kernel, Vec<f64>)> = (stack.regressions.iter())
            .filter(|r| r.weight > 0.0)
            .map(|r| {
                let of = |a: &f32| r.weight * f64::from(*a);
                (r.kernel, r.coefficients.data().iter().map(of).collect())
            })
            .collect();
        let paired = (!regressions.is_empty()).then(|| from.1.seen(from.0, from_cuts));
        // K_clusters · a = members · (membersᵀ of the pairs · a): the pairs need not be looked at again.
        let regressions: Vec<(Kernel, Vec<f64>)> = (regressions.into_iter())
            .map(|(kernel, a)| match (kernel, &paired) {
                (Kernel::Clusters, Some(paired)) => (kernel, paired.through(&a)),
                _ => (kernel, a),
            })
            .collect();
        let by_distance = regressions.iter().any(|(kernel, _)| *kernel != Kernel::Clusters);
        let pairs = by_distance.then(|| Distances::to(from.1.paired.view()));
        let radius = from.0.radius().powi(2);
        let soft: Vec<SoftAssign<'_>> = (from_cuts.iter())
            .map(|cut| SoftAssign::new(cut.spread, cut.clustering, TEMPERATURE))
            .collect();
        let matched = self.matched();
        Together { mixed, regressions, paired, pairs, radius, soft, matched, oriented: self }
    }
}

impl Together<'_> {
    /// Values of scaled rows; each depends on its own row alone.
    /// How far a row goes from the mean is up to `alone`, the probability by its memberships in the clusters that are
    /// read that it has no partner.
    pub fn predict(&self, scaled: MatrixRef<'_>, alone: impl Fn(&[f64]) -> f64 + Sync) -> Matrix {
        let (to, cols) = (self.oriented.to.0, self.oriented.to.0.cols());
        let mut values = Matrix::zeros(scaled.rows(), cols);
        chunks::map_blocks_mut(values.data_mut(), cols.max(1), |range, out| {
            let mut scratch = Scratch::default();
            for (start, out) in range.clone().step_by(BAND).zip(out.chunks_mut(BAND * cols.max(1)))
            {
                let band = full(scaled.slice(start..(start + BAND).min(range.end)));
                let members: Vec<Vec<f64>> = (self.soft.iter().enumerate())
                    .map(|(c, soft)| match self.needed(c) {
                        true => soft.members(band.view(), &mut scratch),
                        false => Vec::new(),
                    })
                    .collect();
                // What the members say, less the mean.
                let mut sums = vec![0.0; BAND * cols];
                for ((cut, members), mixed) in
                    self.oriented.from_cuts.iter().zip(&members).zip(&self.mixed)
                {
                    if let Some(mixed) = mixed {
                        add((members, cut.k()), mixed, &mut sums);
                    }
                }
                if let Some(paired) = &self.paired {
                    let seen =
                        Seen::new(band.view(), &self.oriented.from_cuts, &members, self.radius);
                    let apart = self
                        .pairs
                        .as_ref()
                        .map(|pairs| Apart::new(pairs.of(band.view()), self.radius));
                    for (kernel, coefficients) in &self.regressions {
                        match &apart {
                            Some(apart) if *kernel != Kernel::Clusters => {
                                let near = seen.kernels(*kernel, paired, apart);
                                add((&near, paired.len()), coefficients, &mut sums);
                            }
                            _ => add(seen.members(), coefficients, &mut sums),
                        }
                    }
                }
                if let Some(matched) = &self.matched {
                    matched.add(band.view(), &mut sums);
                }
                let k = self.oriented.from_cuts[0].k();
                let rows = out.chunks_exact_mut(cols.max(1)).zip(sums.chunks_exact(cols.max(1)));
                for ((out, sums), members) in rows.zip(members[0].chunks_exact(k)) {
                    let kept = 1.0 - alone(members);
                    for ((o, s), &m) in out.iter_mut().zip(sums).zip(&to.mean) {
                        *o = crate::fit::residual_map::to_f32(f64::from(m) + kept * s);
                    }
                }
            }
        });
        values
    }

    /// Whether memberships in this cut are asked for.
    fn needed(&self, cut: usize) -> bool {
        cut == 0 || self.paired.is_some() || self.mixed[cut].is_some()
    }
}

/// Squared distances of bands of rows to some rows, by one product for a band: ‖x − m‖² + ‖c − m‖² − 2 (x − m)·(c − m)
/// with the mean m of those rows, so that data far from the origin lose no digits.
struct Distances {
    mean: Vec<f64>,
    centred: Vec<f64>, // (n, d)
    norms: Vec<f64>,   // (n)
}

impl Distances {
    fn to(rows: MatrixRef<'_>) -> Self {
        let mean = rows.mean_row();
        let centred = centred(rows, &mean);
        let norms = norms(&centred, rows.rows());
        Self { mean, centred, norms }
    }

    /// Of a whole band, (BAND, n).
    fn of(&self, band: MatrixRef<'_>) -> Vec<f64> {
        let (n, d) = (self.norms.len(), self.mean.len());
        let rows = centred(band, &self.mean);
        let mut out = vec![0.0; BAND * n];
        let those = View::new(&self.centred, n, d);
        product(View::new(&rows, BAND, d), those.t(), Accum::Replace, &mut out);
        for (out, own) in out.chunks_exact_mut(n.max(1)).zip(norms(&rows, BAND)) {
            for (o, norm) in out.iter_mut().zip(&self.norms) {
                *o = (own + norm - 2.0 * *o).max(0.0);
            }
        }
        out
    }
}

fn centred(rows: MatrixRef<'_>, mean: &[f64]) -> Vec<f64> {
    let away = |row| std::iter::zip(row, mean).map(|(&x, m): (&f32, &f64)| f64::from(x) - m);
    rows.iter_rows().flat_map(away).collect()
}

fn norms(rows: &[f64], n: usize) -> Vec<f64> {
    let d = rows.len() / n.max(1);
    rows.chunks_exact(d.max(1)).map(|row| row.iter().map(|v| v * v).sum()).collect()
}

/// out += a band of rows (BAND, k) · b.
fn add((band, k): (&[f64], usize), b: &[f64], out: &mut [f64]) {
    let columns = out.len() / BAND;
    product(View::new(band, BAND, k), View::new(b, k, columns), Accum::Add, out);
}

/// Members that match rows, ready to predict.
struct Matched<'a> {
    matcher: Matcher<'a>,
    stack: &'a Stack,
    /// Values of the nodes less the mean of the pool, (nodes, d').
    values: Vec<f64>,
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
        let values = values.collect();
        let matcher = self.matcher(Candidates::nodes(nodes))?;
        let pairs = self.to.1.paired.rows();
        Some(Matched { matcher, stack: self.stack, values, pairs })
    }
}

impl Matched<'_> {
    /// Adds Σ_q v_q Σ_n w_q(n|x) (y_n − ȳ) of a band of scaled rows.
    fn add(&self, band: MatrixRef<'_>, sums: &mut [f64]) {
        let nodes = self.matcher.candidates();
        let mut weights = vec![0.0; BAND * nodes];
        let seen = self.matcher.seen(band);
        for matching in self.stack.matchings.iter().filter(|m| m.weight > 0.0) {
            let mut scores = self.matcher.scores(&matching.by, seen.view());
            let sharpness = matching.by.sharpness(self.pairs);
            scores.chunks_exact_mut(nodes).for_each(|row| soften(row, sharpness, None));
            weights.iter_mut().zip(&scores).for_each(|(w, s)| *w += matching.weight * s);
        }
        add((&weights, nodes), &self.values, sums);
    }
}

/// A band of rows, filled up with rows of zeros.
pub(super) fn full(band: MatrixRef<'_>) -> Matrix {
    let mut data = band.data().to_vec();
    data.resize(BAND * band.cols(), 0.0);
    Matrix::new(BAND, band.cols(), data).expect("whole rows were added")
}

impl BridgedModel {
    pub(crate) fn oriented(&self, direction: Direction) -> Option<Oriented<'_>> {
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
        Some(self.together(direction)?.predict(scaled, |members| regressor.alone(members)))
    }

    /// The members made ready to predict; `None` of a model that is one member.
    pub(crate) fn together(&self, direction: Direction) -> Option<Together<'_>> {
        Some(self.oriented(direction)?.ready())
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
