//! All that learns: both sides, the votes of the pairs, the links, the maps and their strength.
//!
//! | file | what it learns |
//! |---|---|
//! | `side.rs` | scaling and clusters of one pool |
//! | `votes.rs` | where the pairs lie in the clusters of both sides |
//! | `regressor.rs` | one direction: links, maps, how far predictions follow them |
//! | `held_out.rs` | what each pair is answered by the others |
//! | `local_map.rs` | a linear map inside one linked pair of clusters |
//! | `residual_map.rs` | one map of what the bridge leaves unexplained |
//! | `alpha.rs` | how far predictions follow the maps |

mod alpha;
pub(crate) mod held_out;
pub(crate) mod local_map;
mod regressor;
pub(crate) mod residual_map;
pub(crate) mod side;
mod votes;

use crate::Error;
use crate::bridge::BridgeRule;
use crate::ensemble::{Ensemble, Input};
use crate::kept::{Cached, KeptRows};
use crate::model::BridgedModel;
use crate::problem::{Pairs, Pool, Pools, Problem, StoredPool};
use crate::settings::{BridgedClustering, KeepRows, PairRows, SideSpec};
use crate::side::Side;
use bridged_math::cancel::cancellable;
use bridged_math::{Rows, Seed, Stage, Watch, chunks, memory};
use std::collections::BTreeSet;
use votes::PairedRows;

impl BridgedClustering {
    /// Clusters both pools, lets the pairs vote, and checks how well they predict each other.
    ///
    /// The model keeps a copy of the rows, unless [`keep_rows`](Self::keep_rows) says otherwise; see
    /// [`fit_pools`](Self::fit_pools) for pools that need not be copied, and for names.
    pub fn fit(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<BridgedModel, Error> {
        let mut model = problem.pools(|pools| self.learn(pools, seed, watch))?;
        if self.keep_rows == KeepRows::Yes {
            model.x.rows = Some(KeptRows::new(problem.x.to_matrix()));
            model.y.rows = Some(KeptRows::new(problem.y.to_matrix()));
        }
        Ok(model)
    }

    /// The same for pools that are given away: their rows move into the model, and their names with
    /// them.
    pub fn fit_pools<'p>(
        &self,
        x: Pool,
        y: Pool,
        pairs: impl Into<Pairs<'p>>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<BridgedModel, Error> {
        // Lengths and angles are taken from zero; a pool that is clustered by them is not moved.
        let unmoved = |pool: Pool, spec: &SideSpec| {
            if spec.uses_origin() { pool.unmoved() } else { pool }
        };
        let (x, y) = (unmoved(x, &self.x), unmoved(y, &self.y));
        x.names.check("x", x.rows.rows())?;
        y.names.check("y", y.rows.rows())?;
        let problem = Problem { x: x.rows.view(), y: y.rows.view(), pairs: pairs.into() };
        let mut model = problem.pools(|pools| self.learn(pools, seed, watch))?;
        for (side, pool) in [(&mut model.x, x), (&mut model.y, y)] {
            side.names = pool.names;
            side.offset = pool.offset;
            side.rows = (self.keep_rows == KeepRows::Yes).then(|| KeptRows::new(pool.rows));
        }
        Ok(model)
    }

    /// The same for pools that need not be in memory: their rows come in passes, and stay where they are. The
    /// model has the bytes of the model of the same pools in memory that keeps no rows.
    pub fn fit_stored<'p>(
        &self,
        x: StoredPool<'_>,
        y: StoredPool<'_>,
        pairs: impl Into<Pairs<'p>>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<BridgedModel, Error> {
        for (name, pool, spec) in [("x", &x, &self.x), ("y", &y, &self.y)] {
            if pool.keep.is_none() {
                pool.names.check(name, pool.rows.rows())?;
            }
            if spec.uses_origin() && !pool.offset.is_none() {
                return Err(Error::OffsetInPasses { side: name });
            }
        }
        let settings = Self { keep_rows: KeepRows::No, ..self.clone() };
        let pools = Pools { x: x.rows, y: y.rows, pairs: pairs.into() };
        let mut model = settings.learn(pools, seed, watch)?;
        let named = pools.pairs.iter().chain(pools.pairs.negatives());
        let (x_rows, y_rows): (Vec<usize>, Vec<usize>) = named.unzip();
        let of_x = model.x.keep(x, &x_rows, self.keep_rows)?;
        let of_y = model.y.keep(y, &y_rows, self.keep_rows)?;
        for (x, y) in model.pairs.iter_mut().chain(&mut model.negatives) {
            (*x, *y) = (of_x(*x as usize), of_y(*y as usize));
        }
        model.settings.keep_rows = self.keep_rows;
        Ok(model)
    }

    /// The model without the rows of the pools.
    fn learn(
        &self,
        pools: Pools<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<BridgedModel, Error> {
        self.check()?;
        cancellable(watch, || {
            pools.check()?;
            self.counted(pools.x, pools.y)?.learn_counted(pools, seed, watch)
        })?
    }

    fn learn_counted(
        &self,
        pools: Pools<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<BridgedModel, Error> {
        let (x_apart, y_apart) = self.apart(pools);
        let x = Side::fit(&self.x, pools.x, &x_apart, ("x", seed), watch)?;
        let y = Side::fit(&self.y, pools.y, &y_apart, ("y", seed), watch)?;
        self.link((x, y), pools, None, seed, watch)
    }

    /// The rows of both pools that only vote.
    fn apart(&self, pools: Pools<'_>) -> (BTreeSet<usize>, BTreeSet<usize>) {
        match self.pair_rows {
            PairRows::Pooled => Default::default(),
            PairRows::Apart => pools.pairs.iter().unzip(),
        }
    }

    /// The model of two sides that were clustered. The further cuts of the members are those of an earlier model of the
    /// same rows, if one is given.
    pub(crate) fn link(
        &self,
        (x, y): (Side, Side),
        pools: Pools<'_>,
        cuts: Option<&Ensemble>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<BridgedModel, Error> {
        let (x_rows, y_rows): (Vec<usize>, Vec<usize>) = pools.pairs.iter().unzip();
        let (x_apart, y_apart) = self.apart(pools);
        let stage = Stage::begin(watch, "bridge", Some(1))?;
        let (kx, ky) = (x.k(), y.k());
        // Both directions are linked at the same time.
        let bytes = self.bridge.memory(kx, ky, x_rows.len()).saturating_mul(2);
        memory::require(
            format!("a {} bridge of {kx} and {ky} clusters", self.bridge.name()),
            bytes,
        )?;
        let (x_paired, y_paired) = chunks::join(
            || PairedRows::new(&x, pools.x, &x_rows),
            || PairedRows::new(&y, pools.y, &y_rows),
        );
        let (x_paired, y_paired) = (x_paired?, y_paired?);
        let negatives: BTreeSet<(usize, usize)> = pools.pairs.negatives().collect();
        let (x_no, y_no): (Vec<usize>, Vec<usize>) = negatives.iter().copied().unzip();
        let x_no = PairedRows::new(&x, pools.x, &x_no)?;
        let y_no = PairedRows::new(&y, pools.y, &y_no)?;
        let of_no = (&x_no, &y_no);
        let votes = votes::votes(&self.bridge, (&x, &x_paired), (&y, &y_paired), of_no, pools)?;
        let negatives = negatives.into_iter().map(|(a, b)| (a as u32, b as u32)).collect();
        let pairs: Vec<(u32, u32)> =
            pools.pairs.iter().map(|(a, b)| (a as u32, b as u32)).collect();
        let (ensemble, told) = match self.is_ladder() {
            true => {
                let inside = |pool, apart: &BTreeSet<usize>| {
                    (!apart.is_empty()).then(|| side::without(pool, apart))
                };
                let (x_pool, y_pool) = (inside(pools.x, &x_apart), inside(pools.y, &y_apart));
                let x_pool = x_pool.as_deref().unwrap_or(pools.x);
                let y_pool = y_pool.as_deref().unwrap_or(pools.y);
                let (x_cuts, y_cuts) = cuts.map(|of| (&of.x, &of.y)).unzip();
                let sides = (
                    Input {
                        cuts: x_cuts,
                        ..self.input(&self.x, &x, x_pool, (&x_paired, &x_no), "x")
                    },
                    Input {
                        cuts: y_cuts,
                        ..self.input(&self.y, &y, y_pool, (&y_paired, &y_no), "y")
                    },
                );
                let (ensemble, told) = Ensemble::learn(self, sides, &pairs, seed, watch)?;
                (Some(ensemble), told.map(Some))
            }
            false => (None, [None, None]),
        };
        let [of_forward, of_reverse] = &told;
        let (forward, reverse) = chunks::join(
            || self.regressor(&votes, (&x, &x_paired), (&y, &y_paired), of_forward.as_ref()),
            || self.regressor(&votes.flip(), (&y, &y_paired), (&x, &x_paired), of_reverse.as_ref()),
        );
        let (forward, reverse) = (forward?, reverse?);
        stage.step(1)?;
        let (settings, rankers) = (self.clone(), [Cached::default(), Cached::default()]);
        Ok(BridgedModel {
            settings,
            seed,
            x,
            y,
            pairs,
            negatives,
            votes,
            forward,
            reverse,
            ensemble,
            rankers,
            history: Vec::new(),
        })
    }

    /// A side as an ensemble learns from it.
    fn input<'a>(
        &self,
        spec: &'a SideSpec,
        side: &'a Side,
        pool: &'a dyn Rows,
        (paired, no): (&'a PairedRows, &'a PairedRows),
        name: &'static str,
    ) -> Input<'a> {
        let pooled = self.pair_rows == PairRows::Pooled;
        let (spec, paired, denied) = (&spec.cluster, paired.rows.view(), no.rows.view());
        Input { side, spec, pool, paired, denied, pooled, name, cuts: None }
    }
}
