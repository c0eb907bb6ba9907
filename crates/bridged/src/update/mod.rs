//! A model that goes on living: more pairs, new rows, rows that must go.
//!
//! | what comes | what is learned again |
//! |---|---|
//! | pairs | links, maps, checks; both clusterings and all further cuts stay as they are |
//! | rows, or rows to forget | k-means goes on from the centroids it had, over all rows; the further cuts are cut anew |
//! | rows, where older ones count less or stay in their files | each centroid moves to the weighted mean of what it stood for and its new rows |
//!
//! A model with more pairs has the bytes of a fit with those clusterings and all pairs. Clusters keep their numbers. New
//! rows that no cluster explains are offered as clusters of their own (`regions.rs`), and only added on demand.
//!
//! | file | idea |
//! |---|---|
//! | `pool.rs` | a pool after rows came and went: names, numbers, no id twice |
//! | `answers.rs` | pairs, and rows that do not belong together: old ones, new ones, none that contradict |
//! | `centres.rs` | where its clusters are then |
//! | `files.rs` | of a pool whose rows stay in their files |
//! | `regions.rs` | new rows that lie together far from every cluster |
//! | `changes.rs` | what has changed, for a person |

mod answers;
mod centres;
mod changes;
mod files;
mod pool;
mod regions;

pub use changes::{Changes, LinkChange, PairChange, PoolChange};
pub use pool::NewPool;
pub use regions::Region;

use crate::Error;
use crate::history::{Action, Event, FileRead, PoolThen};
use crate::model::BridgedModel;
use crate::problem::{Pairs, Pools};
use crate::settings::{BadParameter, PairRows};
use answers::Answers;
use bridged_math::Watch;
use bridged_math::cancel::cancellable;
use centres::How;

/// What a model learns anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The input pool as it is now.
    pub x: NewPool,
    /// The output pool as it is now.
    pub y: NewPool,
    /// New pairs, by the numbers of their rows in these pools. Pairs that are known count once.
    pub pairs: Vec<(u32, u32)>,
    /// New answers that rows do not belong together, by the same numbers.
    pub negatives: Vec<(u32, u32)>,
    /// How much less all that was learned before counts, 0 to 1: 0 counts old rows like new ones.
    pub forgetting: f64,
    /// Whether regions of new rows that no cluster explains become clusters.
    pub new_clusters: bool,
}

/// A model after an update.
#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    /// The model.
    pub model: BridgedModel,
    /// What has changed.
    pub changes: Changes,
}

impl Updated {
    /// The update as the history of the model tells it.
    pub fn event(&self, version: &str, files: Vec<FileRead>) -> Event {
        let then = |now: PoolThen, change: &PoolChange| PoolThen {
            added: change.added as u64,
            forgotten: change.forgotten as u64,
            ..now
        };
        let now = self.model.fit_event(version, files);
        let (x, y) = (then(now.x, &self.changes.x), then(now.y, &self.changes.y));
        Event { action: Action::Update, x, y, ..now }
    }
}

impl BridgedModel {
    /// An update to these pools, which [`Side::changed`](crate::Side::changed) makes.
    pub fn begin_update(&self, x: NewPool, y: NewPool) -> Update {
        Update {
            x,
            y,
            pairs: Vec::new(),
            negatives: Vec::new(),
            forgetting: 0.0,
            new_clusters: false,
        }
    }

    /// The model with these rows and pairs. Without anything new it is the same.
    pub fn update(&self, update: Update, watch: &dyn Watch) -> Result<Updated, Error> {
        if !(0.0..1.0).contains(&update.forgetting) {
            let need = "at least 0 and below 1";
            return Err(BadParameter::new("forgetting", need, update.forgetting).into());
        }
        if self.settings.pair_rows == PairRows::Apart {
            return Err(Error::PairsApart);
        }
        cancellable(watch, || self.updated(update, watch))?
    }

    fn updated(&self, update: Update, watch: &dyn Watch) -> Result<Updated, Error> {
        let Update { x, y, pairs, negatives, forgetting, new_clusters } = update;
        let answers = Answers::of(self, (&x, &y)).with(&pairs, &negatives, (&x, &y))?;
        let Answers { yes: mut all, no: mut denied, change } = answers;
        let rows_stay = x.is_unchanged() && y.is_unchanged();
        if rows_stay && change.added == 0 && denied.len() == self.negatives.len() {
            let changes = Changes::between(self, self, change, [(&x, &[]), (&y, &[])]);
            return Ok(Updated { model: self.clone(), changes });
        }
        // Of pools in files, the model goes on with some of their rows.
        let named = || all.iter().chain(&denied);
        let (x, x_chosen) = x.thinned(&self.x, named().map(|p| p.0 as usize));
        let (y, y_chosen) = y.thinned(&self.y, named().map(|p| p.1 as usize));
        let renumbered = |row: u32, chosen: &Option<Vec<usize>>| match chosen {
            Some(chosen) => chosen.binary_search(&(row as usize)).map_or(row, |at| at as u32),
            None => row,
        };
        for (a, b) in all.iter_mut().chain(&mut denied) {
            (*a, *b) = (renumbered(*a, &x_chosen), renumbered(*b, &y_chosen));
        }
        let (x_rows, y_rows) = (x.rows(&self.x)?, y.rows(&self.y)?);
        let (of_x, of_y) = (x_rows.view(), y_rows.view());
        let pairs = Pairs::new(&all).with_negatives(&denied);
        let pools = Pools { x: &of_x, y: &of_y, pairs };
        pools.check()?;
        let mut settings = self.settings.clone();
        let how = How { forgetting, new_clusters, seed: self.seed, watch };
        let x_now = centres::update(&mut settings.x, (&self.x, "x"), (&x, of_x), how)?;
        let y_now = centres::update(&mut settings.y, (&self.y, "y"), (&y, of_y), how)?;
        // A cut of one pool belongs to one of the other, so that either both stay or none.
        let cuts = self.ensemble.as_ref().filter(|_| rows_stay);
        let mut model = settings.link((x_now.side, y_now.side), pools, cuts, self.seed, watch)?;
        model.history = self.history.clone();
        let changes =
            Changes::between(self, &model, change, [(&x, &x_now.regions), (&y, &y_now.regions)]);
        let (x_rows, y_rows) = (x.keep(&self.x, x_rows), y.keep(&self.y, y_rows));
        model.x.take(&self.x, x, x_rows);
        model.y.take(&self.y, y, y_rows);
        Ok(Updated { model, changes })
    }
}
