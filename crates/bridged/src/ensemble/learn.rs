//! Learns an ensemble from two sides that were clustered, and their pairs.

use super::chain::{self, Sweeps, Task};
use super::geometry::Directions;
use super::kernel::{Apart, Kernel, Ridge, Seen};
use super::matching::{By, Candidates, Matching, soften, standardise};
use super::nodes::{Nodes, landmark_of, unit};
use super::partition::{Cut, Partition, is_balanced};
use super::partnerless::partnerless;
use super::rotation::{self, Linked, rotation};
use super::stack::{self, Products};
use super::walk::{WALKS, surprise};
use super::{BridgeMember, Ensemble, EnsembleSide, Regression, Stack};
use crate::Error;
use crate::bridge::Negative;
use crate::cluster::{BalancedKMeans, ClusterError, ClusterSpec, KMeans, Metric, distinct_rows};
use crate::settings::{BridgedClustering, RefineKind};
use crate::side::Side;
use bridged_math::linalg::{Accum, View, product};
use bridged_math::neighbors::Neighbors;
use bridged_math::{Matrix, MatrixRef, Rows, RowsError, Seed, Watch, chunks};
use std::collections::BTreeSet;

/// More rows than this do not make the cuts better than they need to be: they are of this many, evenly spaced.
const MOST_ROWS: usize = 10_000;
/// More pairs than this are not learned from; the links of the table are from all.
const MOST_PAIRS: usize = 1_000;
/// A pair is left out with a fifth of the others.
const FOLDS: usize = 5;
/// Runs of a clustering from different starts: several cuts stand in for several starts.
const RESTARTS: u32 = 1;
/// The levels, in roots of the number of rows. Cuts up to the second are linked; finer ones shape a kernel.
const COARSEST: f64 = 0.5;
const LINKED: f64 = 1.0;
const FINEST: f64 = 2.0;
/// The prior weight of clusters whose number somebody said: they know something.
const TOLD: f64 = 0.75;
/// The prior weight of each member that matches rows, where links and regressions together have 1. It goes to the mean
/// of the pool as far as the clusters of both sides are blurred: links are then believed less, and so are these.
const MATCHED: f64 = 0.4;
const ALL: Sweeps = Sweeps { warm_up: 50, counted: 200 };
const FOLD: Sweeps = Sweeps { warm_up: 20, counted: 80 };

/// How finely pools are cut.
pub(crate) struct Levels {
    rows: usize,
    distinct: usize,
}

impl Levels {
    /// Of two pools, of which the smaller decides.
    pub fn of(x: &dyn Rows, y: &dyn Rows) -> Result<Self, RowsError> {
        let rows = x.rows().min(y.rows()).min(MOST_ROWS);
        let most = (FINEST * (rows as f64).sqrt()).ceil() as usize;
        let distinct = |pool| distinct_rows(pool, Metric::Euclidean, most);
        Ok(Self { rows, distinct: distinct(x)?.min(distinct(y)?).max(1) })
    }

    /// √n times a factor, with at least eight rows in a cluster and a distinct row for each.
    fn k(&self, factor: f64) -> usize {
        let k = ((self.rows as f64).sqrt() * factor).round() as usize;
        k.clamp(2, (self.rows / 8).max(2)).min(self.distinct)
    }

    /// Every level by balanced and by plain k-means, but for the one that both sides are cut at already.
    fn beside(&self, own: [(usize, bool); 2]) -> Vec<(usize, bool)> {
        let mut wanted = Vec::new();
        for factor in [COARSEST, LINKED, FINEST] {
            for balanced in [true, false] {
                let level = (self.k(factor), balanced);
                if own != [level; 2] && !wanted.contains(&level) {
                    wanted.push(level);
                }
            }
        }
        wanted
    }

    /// The coarsest: as many clusters as a person reads if no number was said.
    pub fn coarsest(&self) -> usize {
        self.k(COARSEST)
    }
}

/// What the pairs were told by others: the values less the mean of the pool, and which pairs they are of.
pub(crate) struct OnPairs {
    pub pairs: Vec<usize>,
    /// (pairs, d').
    pub said: Vec<f64>,
    /// For each input cluster that is read, the probability that it has no partner.
    pub partnerless: Vec<f64>,
}

/// A side on its way into an ensemble.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub side: &'a Side,
    pub spec: &'a ClusterSpec,
    /// The rows that were clustered, in the units of the data.
    pub pool: &'a dyn Rows,
    /// The rows of all pairs in the units of the data.
    pub paired: MatrixRef<'a>,
    /// The rows of negative answers in the units of the data.
    pub denied: MatrixRef<'a>,
    /// Whether the pool holds the rows of the pairs.
    pub pooled: bool,
    pub name: &'static str,
    /// The further cuts, if they are known.
    pub cuts: Option<&'a EnsembleSide>,
}

/// What a direction is learned from.
struct SideData<'a> {
    cuts: Vec<Cut<'a>>,
    /// Memberships of the pairs in each cut.
    members: Vec<Vec<f64>>,
    /// Memberships of the rows of negative answers in each cut.
    denied: Vec<Vec<f64>>,
    /// The likeliest cluster of each pair in each cut, where its row counted.
    labels: Option<Vec<Vec<u32>>>,
    clarity: Vec<f64>,
    directions: Vec<Directions>,
    seen: Seen<'a>,
    /// The rows of the pairs less the mean, in the units of the data.
    outputs: Vec<f64>,
    mean: &'a [f32],
    cols: usize,
    matched: Option<MatchedSide<'a>>,
}

/// What rows are matched by.
struct MatchedSide<'a> {
    nodes: &'a Nodes,
    candidates: Candidates,
    /// Values of the nodes less the mean of the pool, (nodes, cols).
    values: Vec<f64>,
    /// Mean directions of the clusters of each cut, (k, r).
    centres: Vec<Vec<f64>>,
    /// Directions of the pairs, (pairs, r).
    directions: Vec<f64>,
    /// u of the pairs for each walk, (pairs, landmarks).
    surprise: Vec<Vec<f64>>,
}

impl Ensemble {
    /// Learns both directions, and what the members say together of pairs that they have not seen.
    pub fn learn(
        settings: &BridgedClustering,
        (x, y): (Input<'_>, Input<'_>),
        pairs: &[(u32, u32)],
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<(Self, [OnPairs; 2]), Error> {
        let order = learned_from(pairs);
        let folds = folds(&order.iter().map(|&s| pairs[s].0).collect::<Vec<u32>>());
        let levels = Levels::of(x.pool, y.pool)?;
        let wanted = levels.beside([x, y].map(|side| (side.side.k(), is_balanced(side.spec))));
        // Who wants links alone gets links alone.
        let beyond_links = settings.refine.kind == RefineKind::Residual && !order.is_empty();
        let of = |input: Input<'_>, rows: BTreeSet<usize>| {
            let mut side = EnsembleSide::cut(&wanted, input, &order, seed, watch)?;
            side.nodes = beyond_links.then(|| Nodes::new(input, &order, &rows)).transpose()?;
            Ok::<_, Error>(side)
        };
        let (of_x, of_y) = chunks::join(
            || of(x, pairs.iter().map(|p| p.0 as usize).collect()),
            || of(y, pairs.iter().map(|p| p.1 as usize).collect()),
        );
        let (of_x, of_y) = (of_x?, of_y?);
        let (data_x, data_y) =
            chunks::join(|| SideData::new(x, &of_x, &order), || SideData::new(y, &of_y, &order));
        let (data_x, data_y) = (data_x?, data_y?);
        let told_count = settings.told_count();
        let learn = |from: &SideData<'_>, to: &SideData<'_>, name: &str| {
            Direction { from, to, folds: &folds, linked: levels.k(LINKED), told_count }
                .learn(beyond_links, seed.child("ensemble").child(name))
        };
        let ((forward, of_forward), (reverse, of_reverse)) = chunks::join(
            || learn(&data_x, &data_y, "forward"),
            || learn(&data_y, &data_x, "reverse"),
        );
        let told = |from: &SideData<'_>, said| OnPairs {
            pairs: order.clone(),
            said,
            partnerless: partnerless(&from.cuts[0].shares(), &from.members[0]),
        };
        let told = [told(&data_x, of_forward), told(&data_y, of_reverse)];
        Ok((Self { x: of_x, y: of_y, forward, reverse }, told))
    }
}

/// The pairs that are learned from: by their rows, so that the order of the pairs does not matter.
pub(super) fn learned_from(pairs: &[(u32, u32)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|&s| (pairs[s], s));
    if order.len() > MOST_PAIRS {
        order = (0..MOST_PAIRS).map(|at| order[at * order.len() / MOST_PAIRS]).collect();
    }
    order
}

/// At most so many of n rows, evenly spaced.
fn spaced_rows(n: usize, most: usize) -> impl Iterator<Item = usize> {
    let many = n.min(most);
    (0..many).map(move |at| at * n / many)
}

/// Prior weights that give the first members, those of the clusters that somebody asked for, [`TOLD`] of the whole.
fn favour(mut prior: Vec<f64>, shown: &[bool]) -> Vec<f64> {
    let of = |wanted: bool| -> f64 {
        let is = |at: usize| shown.get(at).copied().unwrap_or(false) == wanted;
        prior.iter().enumerate().filter(|(at, _)| is(*at)).map(|(_, p)| p).sum()
    };
    let (own, others) = (of(true), of(false));
    let factor = if own > 0.0 { TOLD / (1.0 - TOLD) * others / own } else { 1.0 };
    prior.iter_mut().zip(shown).filter(|(_, s)| **s).for_each(|(p, _)| *p *= factor.max(1.0));
    prior
}

/// Pairs that are left out together: those of one row stay together, and the rest is dealt out.
fn folds(rows: &[u32]) -> Vec<Vec<usize>> {
    let mut distinct = rows.to_vec();
    distinct.dedup();
    let count = distinct.len().min(FOLDS);
    let mut folds = vec![Vec::new(); count];
    let mut rank = 0;
    for (s, row) in rows.iter().enumerate() {
        if s > 0 && *row != rows[s - 1] {
            rank += 1;
        }
        folds[rank % count].push(s);
    }
    if count < 2 { Vec::new() } else { folds }
}

impl EnsembleSide {
    /// Cuts a pool into so many clusters, balanced or not.
    fn cut(
        wanted: &[(usize, bool)],
        input: Input<'_>,
        order: &[usize],
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        let side = input.side;
        let paired = input.paired.select(order.iter().copied());
        let paired = side.scaler.apply(paired.view()).into_matrix();
        if let Some(known) = input.cuts {
            return Ok(Self { partitions: known.partitions.clone(), paired, nodes: None });
        }
        let (rows, many) = (input.pool.rows(), input.pool.rows().min(MOST_ROWS));
        let sample = match input.pool.in_memory().filter(|_| many == rows) {
            Some(_) => None,
            None => {
                let spaced: Vec<usize> = (0..many).map(|at| at * rows / many).collect();
                Some(input.pool.select(&spaced)?)
            }
        };
        let pool = match &sample {
            Some(sample) => sample.view(),
            None => input.pool.in_memory().expect("no sample is drawn of a small pool in memory"),
        };
        let scaled = side.scaler.apply(pool);
        let fit = |&(k, balanced): &(usize, bool)| {
            let spec = if balanced {
                let spec = BalancedKMeans { k, restarts: RESTARTS, ..BalancedKMeans::default() };
                ClusterSpec::BalancedKMeans(spec)
            } else {
                ClusterSpec::KMeans(KMeans { k, restarts: RESTARTS, ..KMeans::default() })
            };
            let seed =
                seed.child(input.name).child(if balanced { "balanced" } else { "plain" }).nth(k);
            Partition::fit(&spec, (scaled.view(), pool), &side.mean, seed, watch)
        };
        let wrong = |source| match source {
            ClusterError::Cancelled(cancelled) => Error::Cancelled(cancelled),
            ClusterError::Rows(error) => Error::Rows(error),
            source => Error::Cluster { side: input.name, source },
        };
        let partitions = wanted.iter().map(fit).collect::<Result<_, _>>().map_err(wrong)?;
        Ok(Self { partitions, paired, nodes: None })
    }

    /// All cuts of a side: the one that is read, then the others.
    pub(super) fn cuts<'a>(&'a self, side: &'a Side, spec: &ClusterSpec) -> Vec<Cut<'a>> {
        let own = std::iter::once(Cut::of(side, spec));
        own.chain(self.partitions.iter().map(Partition::cut)).collect()
    }

    /// The rows of the pairs as kernels see them.
    pub(super) fn seen<'a>(&'a self, side: &Side, cuts: &[Cut<'_>]) -> Seen<'a> {
        let members: Vec<Vec<f64>> =
            cuts.iter().map(|cut| cut.memberships(self.paired.view())).collect();
        Seen::new(self.paired.view(), cuts, &members, side.radius().powi(2))
    }
}

impl<'a> SideData<'a> {
    fn new(input: Input<'a>, of: &'a EnsembleSide, order: &[usize]) -> Result<Self, RowsError> {
        let side = input.side;
        let cuts = of.cuts(side, input.spec);
        let paired = of.paired.view();
        let members: Vec<Vec<f64>> = chunks::par_map(cuts.len(), |c| cuts[c].memberships(paired));
        let denied = input.denied.select(spaced_rows(input.denied.rows(), MOST_PAIRS));
        let denied = side.scaler.apply(denied.view());
        let denied = cuts.iter().map(|cut| cut.memberships(denied.view())).collect();
        let labels =
            input.pooled.then(|| cuts.iter().map(|cut| cut.clustering.assign(paired)).collect());
        let sample = crate::cluster::spaced(input.pool.rows()).collect::<Vec<_>>();
        let sample = input.pool.select(&sample)?;
        let sample = side.scaler.apply(sample.view());
        let clarity = cuts.iter().map(|cut| cut.clarity(sample.view())).collect();
        let origin = side.origin();
        let directions = chunks::par_map(cuts.len(), |c| Directions::new(cuts[c], &origin, paired));
        let seen = Seen::new(paired, &cuts, &members, side.radius().powi(2));
        let matched = of.nodes.as_ref().map(|nodes| MatchedSide::new(side, nodes, &cuts, paired));
        let outputs = order
            .iter()
            .flat_map(|&s| {
                let row = input.paired.row(s).iter().zip(&side.mean);
                row.map(|(&v, &m)| f64::from(v) - f64::from(m))
            })
            .collect();
        Ok(Self {
            cuts,
            members,
            denied,
            labels,
            clarity,
            directions,
            seen,
            outputs,
            mean: &side.mean,
            cols: side.cols(),
            matched,
        })
    }

    /// The outputs of the pairs as the cuts see them: Σ_j p(j|y_s) (m_j − ȳ), the mean over all cuts.
    fn smoothed(&self) -> Vec<f64> {
        let pairs = self.outputs.len() / self.cols.max(1);
        let mut sum = vec![0.0; self.outputs.len()];
        for (cut, members) in self.cuts.iter().zip(&self.members) {
            let means = cut.deviations(self.mean);
            times(members, pairs, cut.k(), &means, self.cols, &mut sum);
        }
        let cuts = self.cuts.len() as f64;
        sum.iter_mut().for_each(|v| *v /= cuts);
        sum
    }
}

impl<'a> MatchedSide<'a> {
    fn new(side: &Side, nodes: &'a Nodes, cuts: &[Cut<'_>], paired: MatrixRef<'_>) -> Self {
        let origin = side.origin();
        let scaled = side.scaler.apply(nodes.values.view());
        let (count, r) = (nodes.rows.rows(), nodes.rows.cols());
        let candidates = Candidates::nodes(nodes);
        let centres = chunks::par_map(cuts.len(), |c| {
            let k = cuts[c].k();
            let mut members = cuts[c].memberships(scaled.view());
            let mut mass = vec![0.0; k];
            for row in members.chunks_exact(k) {
                mass.iter_mut().zip(row).for_each(|(m, p)| *m += p);
            }
            for row in members.chunks_exact_mut(k) {
                let shares = row.iter_mut().zip(&mass).filter(|(_, m)| **m > 0.0);
                shares.for_each(|(p, m)| *p /= m);
            }
            let mut centres = vec![0.0; k * r];
            let members = View::new(&members, count, k);
            let directions = View::new(candidates.directions(), count, r);
            product(members.t(), directions, Accum::Replace, &mut centres);
            centres
        });
        let coordinates = nodes.coordinates(&origin, paired);
        let neighbours = Neighbors::new(nodes.rows.view());
        let landmarks = landmark_of(paired.rows());
        let of_walk = |walk: usize| {
            let mut ends = nodes.ends_of(&neighbours, walk, coordinates.view());
            let own = &nodes.ends[walk];
            let rows = ends.chunks_exact_mut(own.cols().max(1)).zip(&landmarks);
            // A landmark is a node and walks from there.
            for (row, landmark) in rows.filter_map(|(row, l)| Some((row, (*l)?))) {
                row.iter_mut().zip(own.row(landmark)).for_each(|(e, &o)| *e = f64::from(o));
            }
            surprise(ends.into_iter(), count)
        };
        let values =
            nodes.values.view().iter_rows().flat_map(|row| {
                row.iter().zip(&side.mean).map(|(&v, &m)| f64::from(v) - f64::from(m))
            });
        Self {
            nodes,
            values: values.collect(),
            centres,
            directions: unit(coordinates.view()),
            surprise: (0..WALKS.len()).map(of_walk).collect(),
            candidates,
        }
    }

    fn rotated(&self) -> rotation::Side<'_> {
        let cols = self.nodes.rows.cols();
        rotation::Side { centres: &self.centres, pairs: &self.directions, cols }
    }
}

/// out += a (n, k) · b (k, m).
fn times(a: &[f64], n: usize, k: usize, b: &[f64], m: usize, out: &mut [f64]) {
    product(View::new(a, n, k), View::new(b, k, m), Accum::Add, out);
}

/// One direction on its way.
struct Direction<'a, 'd> {
    from: &'a SideData<'d>,
    to: &'a SideData<'d>,
    folds: &'a [Vec<usize>],
    /// The most clusters of a cut that is linked.
    linked: usize,
    /// Whether somebody said how many clusters there are.
    told_count: bool,
}

/// A member with what it says of the pairs that it did not see.
struct Tried<M> {
    member: M,
    said: Vec<f64>,
    prior: f64,
    /// The links without each fold, of a member that has links.
    of_folds: Vec<Vec<f64>>,
}

impl Direction<'_, '_> {
    fn pairs(&self) -> usize {
        self.from.outputs.len() / self.from.cols.max(1)
    }

    fn learn(&self, beyond_links: bool, seed: Seed) -> (Stack, Vec<f64>) {
        // The clusters that are read are linked by the pairs alone too, as their table is.
        let linked: Vec<(usize, bool)> = (0..self.from.cuts.len())
            .filter(|&c| c == 0 || self.from.cuts[c].k().max(self.to.cuts[c].k()) <= self.linked)
            .flat_map(|c| [(c, false), (c, true)])
            .filter(|&(c, geometry)| c == 0 || geometry)
            .collect();
        let kernels = if beyond_links { Kernel::of(self.pairs()) } else { Vec::new() };
        let (bridges, regressions) = chunks::join(
            || chunks::par_map(linked.len(), |at| self.bridge(linked[at].0, linked[at].1, seed)),
            || {
                if kernels.is_empty() {
                    return Vec::new();
                }
                let smoothed = self.to.smoothed();
                let apart = self.from.seen.apart_from_each_other();
                let tried = |at: usize| self.regression(kernels[at], &smoothed, &apart);
                chunks::par_map(kernels.len(), tried)
            },
        );
        let matchings = self.matchings(&bridges);
        let prior = bridges.iter().map(|b| b.prior).chain(regressions.iter().map(|r| r.prior));
        let total: f64 = prior.clone().sum();
        let prior: Vec<f64> =
            prior.map(|p| p / total).chain(matchings.iter().map(|m| m.prior)).collect();
        let shown: Vec<bool> = bridges.iter().map(|b| b.member.partition == 0).collect();
        let prior = match self.told_count {
            true => favour(prior, &shown),
            false => prior,
        };
        let total: f64 = prior.iter().sum();
        let clarity = self.from.clarity[0] * self.to.clarity[0];
        let links = prior.len() - matchings.len();
        let believed = |m: usize| if m < links { 1.0 } else { clarity };
        let prior: Vec<f64> =
            prior.iter().enumerate().map(|(m, p)| p / total * believed(m)).collect();
        let said: Vec<&[f64]> = (bridges.iter().map(|b| b.said.as_slice()))
            .chain(regressions.iter().map(|r| r.said.as_slice()))
            .chain(matchings.iter().map(|m| m.said.as_slice()))
            .collect();
        let products = self.products(&said);
        let told = self.told(&said, &products, &prior);
        let weights = match Products::sum(products.iter()) {
            None => prior,
            Some(all) => stack::weights(&all, &prior),
        };
        let mut weights = weights.into_iter();
        let mut weight = || weights.next().expect("a weight for each member");
        let stack = Stack {
            bridges: (bridges.into_iter())
                .map(|b| BridgeMember { weight: weight(), ..b.member })
                .collect(),
            regressions: (regressions.into_iter())
                .map(|r| Regression { weight: weight(), ..r.member })
                .collect(),
            matchings: (matchings.into_iter())
                .map(|m| Matching { weight: weight(), ..m.member })
                .collect(),
        };
        (stack, told)
    }

    /// What the members say of every pair together, with weights that have not seen the pair either: those that
    /// the other folds give.
    fn told(&self, said: &[&[f64]], products: &[Products], prior: &[f64]) -> Vec<f64> {
        let cols = self.to.cols;
        let mut told = vec![0.0; self.to.outputs.len()];
        let of_folds = chunks::par_map(self.folds.len(), |f| {
            let others = products.iter().enumerate().filter(|(other, _)| *other != f);
            let rest = Products::sum(others.map(|(_, p)| p));
            rest.map_or_else(|| prior.to_vec(), |rest| stack::weights(&rest, prior))
        });
        for (fold, weights) in self.folds.iter().zip(&of_folds) {
            for at in fold.iter().flat_map(|s| s * cols..(s + 1) * cols) {
                told[at] = said.iter().zip(weights).map(|(m, w)| w * m[at]).sum();
            }
        }
        told
    }

    /// The inner products of what the members say of each fold.
    fn products(&self, said: &[&[f64]]) -> Vec<Products> {
        let cols = self.to.cols;
        chunks::par_map(self.folds.len(), |f| {
            let fold = &self.folds[f];
            let rows = |all: &[f64]| -> Vec<f64> {
                fold.iter().flat_map(|s| &all[s * cols..(s + 1) * cols]).copied().collect()
            };
            let part: Vec<Vec<f64>> = said.iter().map(|m| rows(m)).collect();
            Products::new(&part, &rows(&self.to.outputs), fold.len())
        })
    }

    /// Links one cut to its partner.
    fn bridge(&self, cut: usize, geometry: bool, seed: Seed) -> Tried<BridgeMember> {
        let (from, to) = (self.from.cuts[cut], self.to.cuts[cut]);
        let (sigma, rho) = (from.shares(), to.shares());
        let (kx, ky) = (from.k(), to.k());
        let negatives = self.negatives(cut, &rho);
        let run = |pairs: &[usize], sweeps: Sweeps, start: Option<&[usize]>| {
            let kernels = geometry.then(|| {
                let of = |side: &SideData<'_>| side.directions[cut].kernel(pairs);
                (of(self.from), of(self.to))
            });
            let task = Task {
                shares: (&sigma, &rho),
                members: (&self.from.members[cut], &self.to.members[cut]),
                pairs,
                geometry: kernels.as_ref().map(|(k, l)| (k, l)),
                one_to_one: from.balanced && to.balanced && kx == ky,
                clarity: self.from.clarity[cut] * self.to.clarity[cut],
                negatives: &negatives,
            };
            chain::link(&task, sweeps, seed.nth(2 * cut + usize::from(geometry)), start)
        };
        let all: Vec<usize> = (0..self.pairs()).collect();
        let found = run(&all, ALL, None);
        let means = to.deviations(self.to.mean);
        let mut said = vec![0.0; self.to.outputs.len()];
        let of_folds = chunks::par_map(self.folds.len(), |f| {
            let fold = &self.folds[f];
            let rest: Vec<usize> = all.iter().copied().filter(|s| !fold.contains(s)).collect();
            run(&rest, FOLD, Some(&found.map)).links
        });
        for (fold, links) in self.folds.iter().zip(&of_folds) {
            for &s in fold {
                let mut weights = vec![0.0; ky];
                let members = &self.from.members[cut][s * kx..(s + 1) * kx];
                times(members, 1, kx, links, ky, &mut weights);
                let told = &mut said[s * self.to.cols..(s + 1) * self.to.cols];
                times(&weights, 1, ky, &means, self.to.cols, told);
                self.take_out(cut, s, &weights, &means, told);
            }
        }
        let member = BridgeMember { partition: cut, geometry, links: found.links, weight: 0.0 };
        Tried { member, said, prior: 1.0 / kx as f64, of_folds }
    }

    /// The negative answers as a chain over a cut sees them. Rows of different groups are in different clusters of
    /// every cut that is fine enough; where a cut is not, they speak against its reliability.
    fn negatives(&self, cut: usize, shares: &[f64]) -> Vec<(Vec<f64>, Vec<f64>)> {
        let (kx, ky) = (self.from.cuts[cut].k(), self.to.cuts[cut].k());
        let rows = self.from.denied[cut].chunks_exact(kx).zip(self.to.denied[cut].chunks_exact(ky));
        let said = rows.filter_map(|(x, y)| {
            let negative = Negative { x: x.to_vec(), y: y.to_vec() };
            let agreements = negative.agreements(shares)?;
            Some((negative.x, agreements))
        });
        let mut said: Vec<(Vec<f64>, Vec<f64>)> = said.collect();
        // The order in which answers came does not matter.
        said.sort_by(|a, b| {
            let cells = a.0.iter().chain(&a.1).zip(b.0.iter().chain(&b.1));
            let order = cells.map(|(u, v)| v.total_cmp(u)).find(|o| o.is_ne());
            order.unwrap_or(std::cmp::Ordering::Equal)
        });
        said
    }

    /// Takes a pair's own output out of the mean of its cluster: μ − y is 1/(n − 1) of it further away.
    fn take_out(&self, cut: usize, s: usize, weights: &[f64], means: &[f64], told: &mut [f64]) {
        let Some(labels) = &self.to.labels else { return };
        let (to, label) = (self.to.cuts[cut], labels[cut][s] as usize);
        let Some(&size) = to.clustering.sizes.get(label) else { return };
        if size < 2 {
            return;
        }
        let (kept, cols) = (to.spread.shrink[label], self.to.cols);
        let step = weights[label] / f64::from(size - 1);
        let (mean, own) = (&means[label * cols..][..cols], &self.to.outputs[s * cols..][..cols]);
        for ((t, m), y) in told.iter_mut().zip(mean).zip(own) {
            *t += step * (m - kept * y);
        }
    }

    /// The pairs that are not in a fold, or all.
    fn without(&self, fold: Option<usize>) -> Vec<usize> {
        let left: &[usize] = fold.map_or(&[], |f| &self.folds[f]);
        (0..self.pairs()).filter(|s| !left.contains(s)).collect()
    }

    /// Members that match rows with rows.
    fn matchings(&self, bridges: &[Tried<BridgeMember>]) -> Vec<Tried<Matching>> {
        let (Some(from), Some(to)) = (&self.from.matched, &self.to.matched) else {
            return Vec::new();
        };
        let shares: Vec<Vec<f64>> = self.from.cuts.iter().map(|cut| cut.shares()).collect();
        let (x, y) = (from.rotated(), to.rotated());
        let turned = |fold: Option<usize>| {
            let linked = bridges.iter().filter(|b| b.member.geometry).map(|b| {
                let (cut, links) =
                    (b.member.partition, fold.map_or(&b.member.links, |f| &b.of_folds[f]));
                Linked { cut, shares: &shares[cut], links }
            });
            rotation(&x, &y, &linked.collect::<Vec<_>>(), &self.without(fold))
        };
        let landmarks = landmark_of(self.pairs());
        let rows = |all: &[f64], fold: &[usize]| -> Vec<f64> {
            let width = all.len() / self.pairs().max(1);
            fold.iter().flat_map(|s| &all[s * width..(s + 1) * width]).copied().collect()
        };
        // A task for each member and fold; the last of each kind learns from all pairs.
        let folds = self.folds.len();
        let rotated = || {
            let maps = chunks::par_map(folds + 1, |f| turned((f < folds).then_some(f)));
            let scores = |f: usize| {
                let directions = rows(&from.directions, &self.folds[f]);
                to.candidates.by_rotation(&maps[f], &directions, x.cols)
            };
            let map = Matrix::from_fn(x.cols, y.cols, |i, j| maps[folds][i * y.cols + j] as f32);
            let by = By::Rotation(map);
            let said = self.matched(to, &by, &landmarks, &scores);
            (by, said)
        };
        let walked = |walk: usize| {
            let scores = |f: usize| {
                let kept: Vec<usize> =
                    self.without(Some(f)).into_iter().filter_map(|s| landmarks[s]).collect();
                let surprise = rows(&from.surprise[walk], &self.folds[f]);
                to.candidates.by_walk(walk, &surprise, Some(&kept))
            };
            let by = By::Walk(walk);
            let said = self.matched(to, &by, &landmarks, &scores);
            (by, said)
        };
        let found = chunks::par_map(1 + WALKS.len(), |at| match at {
            0 => rotated(),
            walk => walked(walk - 1),
        });
        let tried = |(by, said)| {
            let member = Matching { by, weight: 0.0 };
            Tried { member, said, prior: MATCHED, of_folds: Vec::new() }
        };
        found.into_iter().map(tried).collect()
    }

    /// What is said of the pairs of each fold, given the `scores` of its pairs with all nodes: the mean of the nodes
    /// that match, the pair's own not among them.
    fn matched(
        &self,
        to: &MatchedSide<'_>,
        by: &By,
        landmarks: &[Option<usize>],
        scores: &(dyn Fn(usize) -> Vec<f64> + Sync),
    ) -> Vec<f64> {
        let (nodes, cols) = (to.nodes.rows.rows(), self.to.cols);
        let sharpness = by.sharpness(self.pairs());
        let of_folds = chunks::par_map(self.folds.len(), |f| {
            let fold = &self.folds[f];
            let mut weights = scores(f);
            for (row, &s) in weights.chunks_exact_mut(nodes).zip(fold) {
                standardise(row);
                soften(row, sharpness, landmarks[s]);
            }
            let mut said = vec![0.0; fold.len() * cols];
            times(&weights, fold.len(), nodes, &to.values, cols, &mut said);
            said
        });
        let mut out = vec![0.0; self.to.outputs.len()];
        for (fold, said) in self.folds.iter().zip(&of_folds) {
            for (s, row) in fold.iter().zip(said.chunks_exact(cols.max(1))) {
                out[s * cols..(s + 1) * cols].copy_from_slice(row);
            }
        }
        out
    }

    /// Kernel ridge regression of the outputs.
    fn regression(&self, kernel: Kernel, smoothed: &[f64], apart: &Apart) -> Tried<Regression> {
        let (pairs, cols) = (self.pairs(), self.to.cols);
        let targets = if kernel.smooths() { smoothed } else { &self.to.outputs };
        let gram = self.from.seen.kernels(kernel, &self.from.seen, apart);
        let ridge = Ridge::new(gram, pairs, kernel.ridge());
        let solved = ridge.solve(targets.to_vec());
        let missed = ridge.left_out(&solved, self.folds);
        let said = targets.iter().zip(&missed).map(|(t, m)| t - m).collect();
        let coefficients = Matrix::from_fn(pairs, cols, |s, c| solved[s * cols + c] as f32);
        let member = Regression { kernel, coefficients, weight: 0.0 };
        // An eighth of what the coarsest cut counts, as a cut eight times as fine.
        let coarsest = self.from.cuts.iter().map(|cut| cut.k()).min().unwrap_or(1);
        Tried { member, said, prior: 1.0 / (8.0 * coarsest as f64), of_folds: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;
    use crate::settings::PairRows;
    use bridged_math::Silent;

    #[test]
    fn levels_follow_the_smaller_pool_and_leave_out_what_is_read_already() {
        let rows = |n: usize| Matrix::from_fn(n, 1, |i, _| i as f32);
        let (small, large) = (rows(400), rows(3000));
        let levels = Levels::of(&large.view(), &small.view()).unwrap();
        assert_eq!(levels.coarsest(), 10);
        let all = [(10, true), (10, false), (20, true), (20, false), (40, true), (40, false)];
        assert_eq!(levels.beside([(7, true), (7, true)]), all);
        assert_eq!(levels.beside([(10, true), (7, true)]), all, "one side alone does not count");
        assert_eq!(levels.beside([(10, true), (10, true)]), all[1..]);
    }

    #[test]
    fn there_is_a_distinct_row_for_every_cluster() {
        let few = Matrix::from_fn(400, 1, |i, _| (i % 3) as f32);
        let levels = Levels::of(&few.view(), &few.view()).unwrap();
        assert_eq!(levels.beside([(9, true), (9, true)]), [(3, true), (3, false)]);
    }

    #[test]
    fn rows_that_are_apart_are_in_no_clustering() {
        let pool = Matrix::from_fn(90, 2, |i, c| ((i * (7 + c)) % 31) as f32);
        let pairs = [(0, 3), (40, 7), (80, 70)];
        for (pair_rows, inside) in [(PairRows::Pooled, 90), (PairRows::Apart, 87)] {
            let method = BridgedClustering { pair_rows, ..BridgedClustering::default() };
            let problem = Problem::new(pool.view(), pool.view(), &pairs);
            let model = method.fit(problem, Seed(0), &Silent).expect("plain data");
            let ensemble = model.ensemble.as_ref().expect("several members");
            for partition in ensemble.x.partitions.iter().chain(&ensemble.y.partitions) {
                assert_eq!(partition.clustering.sizes.iter().sum::<u32>(), inside);
            }
        }
    }

    #[test]
    fn pairs_of_one_row_are_left_out_together() {
        assert_eq!(folds(&[1, 1, 4, 5, 5, 9]), [vec![0, 1], vec![2], vec![3, 4], vec![5]]);
        assert_eq!(folds(&(0..7).collect::<Vec<u32>>())[0], [0, 5]);
        assert!(folds(&[3, 3]).is_empty(), "nothing is left to learn from");
    }
}
