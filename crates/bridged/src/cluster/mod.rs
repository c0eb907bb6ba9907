//! Clustering of one side on its own.
//!
//! Every algorithm is a struct whose public fields are its parameters, with `Default` and serde;
//! the struct *is* the TOML table and the JSON header of the model. [`ClusterSpec`] is the one list
//! of them: a line there gives an algorithm its name on the command line, its entry in
//! `bridged list` and its conformance tests.

mod agglomerative;
mod assign;
pub(crate) mod balanced;
mod bounds;
mod clustering;
mod dbscan;
mod distinct;
mod error;
mod forest;
mod gaussian;
mod gmm;
#[cfg(test)]
mod golden;
mod history;
mod init;
mod kmeans;
mod memberships;
mod minibatch;
mod mixture_f32;
mod moments;
mod sampled;
pub(crate) mod soft;
mod softmax;
mod spectral;
mod spread;
pub(crate) mod state;
mod sums;
#[cfg(test)]
mod testing;
mod ward;
mod weighted;

pub use agglomerative::{Agglomerative, Linkage};
pub use assign::AssignRule;
pub use balanced::large::{BalancedFit, BalancedState, RELATIVE_GAP, SaveState};
pub use balanced::{BalancedKMeans, Descent};
pub use clustering::{Clustering, Metric, NOISE};
pub(crate) use clustering::{
    check_finite, check_rows, largest_of_finite, means_of, means_of_rows, unit_rows,
};
pub use dbscan::{Dbscan, Dense, Eps, Near, dense_regions};
pub(crate) use distinct::distinct_rows;
pub use error::ClusterError;
pub use gaussian::Gaussian;
pub(crate) use gaussian::{Densities, log_sum_exp};
pub(crate) use gmm::{About, EmRun, Parameters};
pub use gmm::{Covariance, GaussianMixture};
pub use init::Init;
pub use kmeans::{Algorithm, KMeans, SAMPLED_STARTS};
pub use memberships::Memberships;
pub use minibatch::MiniBatchKMeans;
pub(crate) use mixture_f32::{MixtureF32, TILE};
pub(crate) use moments::Moments;
pub use spectral::Spectral;
pub use spread::Spread;
pub(crate) use spread::spaced;

use crate::settings::{BadParameter, Check, Limits};
use bridged_math::cancel::cancellable;
use bridged_math::words::plural;
use bridged_math::{MatrixRef, Rows, Seed, Watch, memory};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// Groups the rows of one matrix. Equal input and seed give an equal result on any thread count.
pub trait Clusterer: Check + Debug + Send + Sync {
    /// Clusters the rows of `x`, after a check of the parameters and of the rows.
    ///
    /// Not converging within the iterations allowed is not an error:
    /// [`Clustering::converged`] says so.
    fn fit(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        self.check()?;
        check_rows(&x)?;
        self.fit_finite(x, seed, watch)
    }

    /// Clusters rows that need not be in memory. An algorithm that sees rows in passes gives the bytes that it
    /// gives for the same rows in memory; one that needs them all at once says so.
    fn fit_rows(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        self.check()?;
        cancellable(watch, || check_rows(rows))??;
        self.fit_finite_rows(rows, seed, watch)
    }

    /// The same for rows that are known to be finite, by parameters that were checked.
    fn fit_finite_rows(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        if let Some(x) = rows.in_memory() {
            return self.fit_finite(x, seed, watch);
        }
        let (n, d) = (rows.rows(), rows.cols());
        if let Some(bytes) = self.memory_of_passes(n, d) {
            // What is free decides how much may be taken beyond the least.
            memory::give_back();
            let what = format!("clustering {} in passes", plural(n, "row"));
            memory::require(what, bytes)?;
        }
        cancellable(watch, || self.cluster_rows(rows, seed, watch))?
    }

    /// Whether the result depends on where zero is: by angles, or by centroids that are given. Rows of
    /// such a clustering must not be moved; see [`crate::offset`].
    fn uses_origin(&self) -> bool {
        false
    }

    /// Clusters rows that are known to be finite by parameters that were checked: refuses what does
    /// not fit into memory, and stops soon after the watch breaks.
    fn fit_finite(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        let (rows, columns) = (plural(x.rows(), "row"), plural(x.cols(), "column"));
        let what = format!("clustering {rows} of {columns}");
        memory::require(what, self.memory(x.rows(), x.cols()))?;
        cancellable(watch, || self.cluster(x, seed, watch))?
    }

    /// About how many bytes it takes at its peak for rows and columns of these numbers, beside the
    /// rows themselves.
    fn memory(&self, rows: usize, cols: usize) -> u64;

    /// About how many bytes it takes at its peak where rows come in passes; `None` if it cannot work so.
    fn memory_of_passes(&self, rows: usize, cols: usize) -> Option<u64> {
        _ = (rows, cols);
        None
    }

    /// About how many bytes it takes at its peak where rows come in passes and so many are free: more than the least
    /// if more makes it faster.
    fn memory_wanted(&self, rows: usize, cols: usize, free: u64) -> Option<u64> {
        _ = free;
        self.memory_of_passes(rows, cols)
    }

    /// The algorithm for rows that need not be in memory, which [`fit_finite_rows`](Self::fit_finite_rows) calls.
    fn cluster_rows(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        match rows.in_memory() {
            Some(x) => self.cluster(x, seed, watch),
            None => Err(ClusterError::needs_memory(self, rows)),
        }
    }

    /// The algorithm itself, which [`fit_finite`](Self::fit_finite) calls.
    fn cluster(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError>;
}

/// One line of `bridged list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in commands, TOML and Python.
    pub name: &'static str,
    /// What it is, in half a line.
    pub about: &'static str,
}

macro_rules! clusterings {
    ($($variant:ident($name:literal, $about:literal, $k:ident),)+) => {
        /// Any of the clustering algorithms with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "method")]
        pub enum ClusterSpec {
            $(#[doc = $about] #[serde(rename = $name)] $variant($variant),)+
        }

        impl ClusterSpec {
            /// Every algorithm, in the order in which `bridged list` shows them.
            pub const ALL: &[Entry] = &[$(Entry { name: $name, about: $about },)+];

            /// The algorithm of that name with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant($variant::default())),)+
                    _ => None,
                }
            }

            /// Its name in commands, TOML and Python.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }

            /// Sets the number of clusters; an algorithm that finds it by itself ignores it.
            pub fn with_k(mut self, k: usize) -> Self {
                match &mut self { $(Self::$variant(c) => clusterings!(@set $k c k),)+ }
                self
            }

            /// The number of clusters; `None` for an algorithm that finds it by itself.
            pub fn k(&self) -> Option<usize> {
                match self { $(Self::$variant(_c) => clusterings!(@get $k _c),)+ }
            }

            /// Whether the number of clusters must be said.
            pub fn needs_k(&self) -> bool {
                match self { $(Self::$variant(_) => clusterings!(@needs $k),)+ }
            }

            fn clusterer(&self) -> &dyn Clusterer {
                match self { $(Self::$variant(c) => c,)+ }
            }
        }

        impl Check for ClusterSpec {
            fn limits(&self) -> &'static [(&'static str, Limits)] {
                match self { $(Self::$variant(c) => c.limits(),)+ }
            }

            fn check(&self) -> Result<(), BadParameter> {
                match self { $(Self::$variant(c) => c.check(),)+ }
            }
        }
    };
    (@get given $c:ident) => { Some($c.k) };
    (@get found $c:ident) => { None };
    (@set given $c:ident $k:ident) => { $c.k = $k };
    (@set found $c:ident $k:ident) => { _ = $c };
    (@needs given) => { true };
    (@needs found) => { false };
}

// Name, what it is, and whether the number of clusters is given or found.
clusterings! {
    KMeans("kmeans", "k-means: greedy k-means++ starts, Lloyd's iterations, pruned by bounds", given),
    BalancedKMeans("balanced", "balanced k-means: cluster sizes within bounds, each step an exact optimum", given),
    MiniBatchKMeans("minibatch", "mini-batch k-means: learns from random batches, for very many rows", given),
    GaussianMixture("gmm", "Gaussian mixture: soft, elliptical clusters by expectation–maximisation", given),
    Spectral("spectral", "spectral clustering: k-means on the eigenvectors of a neighbour graph", given),
    Agglomerative("agglomerative", "agglomerative: merges the closest clusters until k are left", given),
    Dbscan("dbscan", "DBSCAN: dense regions, any number of them; the rest is noise", found),
}

impl Clusterer for ClusterSpec {
    fn memory(&self, rows: usize, cols: usize) -> u64 {
        self.clusterer().memory(rows, cols)
    }

    fn cluster(
        &self,
        x: MatrixRef<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        self.clusterer().cluster(x, seed, watch)
    }

    fn memory_of_passes(&self, rows: usize, cols: usize) -> Option<u64> {
        self.clusterer().memory_of_passes(rows, cols)
    }

    fn memory_wanted(&self, rows: usize, cols: usize, free: u64) -> Option<u64> {
        self.clusterer().memory_wanted(rows, cols, free)
    }

    fn cluster_rows(
        &self,
        rows: &dyn Rows,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Clustering, ClusterError> {
        self.clusterer().cluster_rows(rows, seed, watch)
    }

    fn uses_origin(&self) -> bool {
        self.clusterer().uses_origin()
    }
}

impl Default for ClusterSpec {
    fn default() -> Self {
        Self::KMeans(KMeans::default())
    }
}
