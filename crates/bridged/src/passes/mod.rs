//! Fits over rows that lie on many machines, by passes over their partitions.
//!
//! A [`Pass`] is a few numbers that say what to do with every row: centroids, a seed. A [`Kernel`] does it
//! for the rows of one partition and ends with a [`Partial`], which is small whatever the rows. The drivers
//! ([`KMeansByPasses`], [`BalancedByPasses`], and `BridgedClustering::fit_by_passes`) turn the partial results of one pass into
//! the next pass. They know rows only by [`Partitions`], which an engine implements: Spark, Ray, or here
//! [`Local`].
//!
//! Partial results are added in the order of the partitions, and rows in the order of their partition.
//! So a result depends on the rows, on how they are divided into partitions, and on the seed; not on how many
//! machines there are, which of them worked on what, in which batches rows came, or what was done twice
//! because a machine was lost. A partition that is computed again must give the same rows in the same order.
//!
//! | file | what it holds |
//! |---|---|
//! | `pass.rs` | what a pass is told |
//! | `partial.rs` | what a partition answers, and how answers are added |
//! | `kernel.rs` | from one to the other |
//! | `look.rs` | the first two passes of every fit: counts, moments, a sample |
//! | `kmeans.rs` | k-means‖ and Lloyd's iteration |
//! | `balanced.rs` | balanced k-means by prices |
//! | `mixture.rs` | Gaussian mixtures |
//! | `bridge.rs` | both sides of a model, and the model from samples of them |
//! | `local.rs` | partitions of a matrix in memory |
//! | `wire.rs` | all of it as bytes |

mod balanced;
mod bridge;
mod kernel;
mod kmeans;
mod local;
mod look;
mod mixture;
mod partial;
mod pass;
#[cfg(test)]
mod tests;
mod wire;

pub use balanced::{Balanced, BalancedByPasses, BalancedState, Labelling, SaveBalanced};
pub use bridge::{HeldRows, SaveSide, SideByPasses, SideState, cluster_side};
pub use kernel::{BadRow, Kernel, chance};
pub use kmeans::{ByPasses, KMeansByPasses, KMeansState, Save, Start};
pub use local::Local;
pub use look::{Look, look, sample};
pub use mixture::{MixtureByPasses, MixtureFound, MixtureState, SaveMixture};
pub use partial::{Drawn, Moments, Partial, Prices, Rows, Shares, Sums};
pub use pass::{Doubt, Mixture, Of, Pass, Priced, View, Work};

use thiserror::Error;

/// All partitions of some rows.
pub trait Partitions {
    /// Runs a pass over every partition. The partial results come in the order of the partitions; those of
    /// partitions without rows may be left out, and neighbours may have been added already, always the same.
    fn run(&self, pass: &Pass) -> Result<Vec<Partial>, PassError>;
}

/// Why a fit over partitions ended without a result.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PassError {
    /// The engine could not run a pass.
    #[error("{0}")]
    Engine(String),
    /// A row that no pass can use.
    #[error("partition {part}, row {row} {why}")]
    BadRow {
        /// Its partition.
        part: u64,
        /// Its number in the partition, from 0.
        row: u64,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// No partition has a row.
    #[error("there are no rows")]
    NoRows,
    /// More clusters than rows that differ.
    #[error("`k` must be between 1 and {distinct} (different rows that were found), got {k}")]
    BadK {
        /// Clusters that were asked for.
        k: usize,
        /// Rows that differ, as far as the passes saw.
        distinct: usize,
    },
    /// A parameter that cannot be.
    #[error("{0}")]
    BadParameter(String),
    /// Given centroids of another shape.
    #[error("the given centroids are {got:?} (clusters, columns), but {need:?} are needed")]
    BadStart {
        /// Their shape.
        got: (usize, usize),
        /// The shape that fits.
        need: (usize, usize),
    },
    /// A state to go on from that belongs to another fit.
    #[error(
        "the checkpoint belongs to another fit ({what} differ): give another path, or remove it to start again"
    )]
    OtherCheckpoint {
        /// What differs.
        what: &'static str,
    },
    /// Rows changed between two passes.
    #[error(
        "the data changed while they were read: a pass saw {now} rows, the first {before}; write the data frame \
         to a table first, or cache it, if it does not give the same rows twice"
    )]
    Changed {
        /// Rows of the first pass.
        before: u64,
        /// Rows of this one.
        now: u64,
    },
    /// Bytes that end too early.
    #[error("a partial result is incomplete")]
    CutOff,
    /// Bytes of another release.
    #[error(
        "a partial result has another format: the same version of `bridged` must be installed on all machines"
    )]
    OtherVersion,
}
